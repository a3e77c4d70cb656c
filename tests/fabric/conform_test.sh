#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs all clauses of datconform over rxe and over siw, as one TAP stream. Runs in one guest.
# conform_test.sh [GLOB...] runs only the clauses whose id or function matches.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

only=()
for glob; do
	only+=(--only "$glob")
done

# judged ADAPTER KIND: runs datconform and prints its TAP with KIND in each line. Events take longer in an emulated guest.
judged()
{
	./datconform --ia "$1" --patience 20 --tap "${only[@]}" | sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /"
	[ "${PIPESTATUS[0]}" -le 1 ] || printf '1..1\nnot ok - %s: datconform comes to its end\n' "$2"
}

{
	judged ib-rxe0 rxe
	judged iwarp-siw0 siw
} | joined
