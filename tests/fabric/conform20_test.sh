#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs all clauses of datconform as a program of DAT 2.0 over rxe and over siw, as one TAP stream. Runs in one guest.
# conform20_test.sh [GLOB...] runs only the clauses whose id or function matches.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

only=()
for glob; do
	only+=(--only "$glob")
done

{
	judged ib-rxe0 'rxe, 2.0' ./datconform --api 2.0 "${only[@]}"
	judged iwarp-siw0 'siw, 2.0' ./datconform --api 2.0 "${only[@]}"
} | joined
