#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The standard's behaviour over rxe and over siw: those programs of tests/api that are quick there, as one TAP stream. In one guest.
# api_test.sh [PROGRAM[:WORDS]...] runs others, or their tests whose name holds these words; the whole of them takes a guest a
# quarter of an hour.
set -u

# over ADAPTER KIND PROGRAM...: their TAP, each line named after the kind
over()
{
	local adapter=$1 kind=$2 program words
	shift 2
	for program; do
		words=${program#"${program%%:*}"}
		words=${words#:}
		OPENDAT_TEST_IA=$adapter CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "tests/api/${program%%:*}_test" \
			${words:+"$words"} |
			sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $kind: /"
	done
}

[ $# -gt 0 ] || set -- ia evd cno mem rmr sp flags srq data "conn:disconnect right after accept"
{
	over ib-rxe0 rxe "$@"
	over iwarp-siw0 siw "$@"
} | awk '
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") }
	{ print; fflush() }
	END { print "1.." planned }'
