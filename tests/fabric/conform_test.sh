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

{
	judged ib-rxe0 rxe ./datconform "${only[@]}"
	judged iwarp-siw0 siw ./datconform "${only[@]}"
} | joined
