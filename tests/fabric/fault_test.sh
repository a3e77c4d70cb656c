#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fault_test over rxe and over siw, as one TAP stream. In one guest.
set -u

# over ADAPTER KIND: its TAP, each line named after the kind
over()
{
	OPENDAT_TEST_IA=$1 CHECK_WATCHDOG=100 CHECK_PATIENCE=40 tests/fabric/fault_test |
		sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /"
}

# As long as a program of a slow guest may take to post its first receive.
conf=$(mktemp)
sed 's/"siw0 1"/"siw0 1 late_ms=2500"/' "$DAT_OVERRIDE" >"$conf"
export DAT_OVERRIDE=$conf

{
	over ib-rxe0 rxe
	over iwarp-siw0 siw
} | awk '
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") }
	{ print; fflush() }
	END { print "1.." planned }'
