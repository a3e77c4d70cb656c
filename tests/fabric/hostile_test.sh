#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Attacks by peers, hostile_test and grasp_test, over rxe and over siw, as one TAP stream. Runs in one guest.
# hostile_test.sh [WORDS] runs only the tests whose name holds these words.
# shellcheck source-path=SCRIPTDIR
set -u
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/fabric/joined.sh"

# Some tests wait until the provider gives up an unconfirmed accept, so these adapters have a short handshake_ms.
conf=$(mktemp)
cp "$DAT_OVERRIDE" "$conf"
sed -n 's/^ib-\(rxe0 .*"rxe0 1\)/brief-\1 handshake_ms=3000/p; s/^iwarp-\(siw0 .*"siw0 1\)/brief-\1 handshake_ms=3000/p' "$DAT_OVERRIDE" >>"$conf"
export DAT_OVERRIDE=$conf

over_rxe()
{
	over brief-rxe0 rxe fabric/hostile "$@"
	over brief-rxe0 rxe fabric/grasp "$@"
}

over_siw()
{
	over brief-siw0 siw fabric/hostile "$@"
	over brief-siw0 siw fabric/grasp "$@"
}

words=("$@")
rxe() { over_rxe "${words[@]}"; }
siw() { over_siw "${words[@]}"; }
side_by_side rxe siw | joined
