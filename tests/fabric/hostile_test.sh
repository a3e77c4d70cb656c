#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Peers that do no provider's work but an attacker's, over rxe and over siw, as one TAP stream. In one guest.
# hostile_test.sh [WORDS] runs those of hostile_test and grasp_test whose name holds these words.
# shellcheck source-path=SCRIPTDIR
set -u
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/fabric/joined.sh"

# A test may wait for as long as an accept may be unconfirmed, which is shorter for these adapters.
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
