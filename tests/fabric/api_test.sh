#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The standard's behaviour over rxe and over siw: those programs of tests/api that are quick there, as one TAP stream. In one guest.
# api_test.sh [PROGRAM...] runs others; the whole of them takes a guest a quarter of an hour.
set -u

# over ADAPTER KIND PROGRAM...: their TAP, each line named after the kind
over()
{
	local adapter=$1 kind=$2 program
	shift 2
	for program; do
		OPENDAT_TEST_IA=$adapter CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "tests/api/${program}_test" |
			sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $kind: /"
	done
}

[ $# -gt 0 ] || set -- ia evd cno mem rmr sp flags srq data
{
	over ib-rxe0 rxe "$@"
	over iwarp-siw0 siw "$@"
} | awk '
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") }
	{ print; fflush() }
	END { print "1.." planned }'
