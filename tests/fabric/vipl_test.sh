#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libvipl over rxe and over siw: the programs of tests/vipl, as one TAP stream. In one guest.
# vipl_test.sh [PROGRAM...] runs some of them.
set -u

# over ADAPTER KIND PROGRAM...: their TAP, each line named after the kind
over()
{
	local adapter=$1 kind=$2 program
	shift 2
	for program; do
		OPENDAT_TEST_IA=$adapter CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "tests/vipl/${program}_test" |
			sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $kind: /"
	done
}

[ $# -gt 0 ] || set -- cancel conn cq data nic peer proc vi
{
	over ib-rxe0 rxe "$@"
	over iwarp-siw0 siw "$@"
} | awk '
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") }
	{ print; fflush() }
	END { print "1.." planned }'
