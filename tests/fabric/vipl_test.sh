#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the programs of tests/vipl, which test libvipl, over rxe and over siw, as one TAP stream. Runs in one guest.
# vipl_test.sh [PROGRAM...] runs only these programs.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

[ $# -gt 0 ] || set -- cancel conn cq data habit hostile leave nic peer proc refused vi
programs=("$@")
over_rxe() { all_over ib-rxe0 rxe vipl "${programs[@]}"; }
over_siw() { all_over iwarp-siw0 siw vipl "${programs[@]}"; }
side_by_side over_rxe over_siw | joined
