#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs all clauses of datconform over rxe and over siw, as one TAP stream. Runs in one guest.
# conform_test.sh [GLOB...] runs only the clauses whose id or function matches; CONFORM_API is 1.2 or 2.0.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

words=''
[ -z "${CONFORM_API-}" ] || words=", $CONFORM_API"
only=()
for glob; do
	only+=(--only "$glob")
done

{
	judged ib-rxe0 "rxe$words" ./datconform --api "${CONFORM_API-1.2}" "${only[@]}"
	judged iwarp-siw0 "siw$words" ./datconform --api "${CONFORM_API-1.2}" "${only[@]}"
} | joined
