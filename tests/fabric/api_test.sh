#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The behaviour that the standard requires, over rxe and over siw: runs the programs of tests/api that are quick there, as one TAP
# stream. Runs in one guest. api_test.sh [PROGRAM[:WORDS]...] runs these programs instead, or their tests whose name holds the
# words; api_test.sh --as NAME [PROGRAM...] runs them over an imitated device. All programs together take a quarter of an hour in
# a guest.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

device=
[ "${1-}" != --as ] || { device=$2; shift 2; }

# With late_ms=0 an accept over siw does not wait for a first receive. A peer can then leave so early that a post finds the TCP
# connection closed.
conf=$(mktemp)
sed 'p; s/^iwarp-siw0 \(.*"siw0 1\)"/iwarp-prompt \1 late_ms=0"/; t; s/^ib-rxe0 \(.*"rxe0 1\)"/ib-windows \1 rmr=device"/; t; d' \
	"$DAT_OVERRIDE" >"$conf"
export DAT_OVERRIDE=$conf

# This parameter delays siw between its check of a region and the copy into it.
slow=/sys/module/siw/parameters/slow_place_ms

prompt=() slowly=() windows=()
[ $# -gt 0 ] || {
	set -- ia evd cno mem rmr sp flags allow diag limit srq data bias ep ep_state consumers habits \
		"conn:disconnect right after accept" "conn:aborts a connect" "conn:goes stale" "conn:loopback" \
		"conn:nobodys" "conn:conn between processes: private data of every size"
	prompt=("race:requests are posted while the endpoint is freed")
	windows=(mem rmr)
	slowly=("peer:freed region is touched no more" "rmr:unbound window is written through no more")
}
programs=("$@")
if [ -n "$device" ]; then
	imitate=$top_srcdir/tests/fabric/imitate
	imitated=("$imitate" "$device")
	all_over "$("$imitate" --adapter "$device")" "$device" api "${programs[@]}" | joined
	exit
fi
over_rxe()
{
	all_over ib-rxe0 rxe api "${programs[@]}"
	all_over ib-windows "rxe, windows" api "${windows[@]}"
}
over_siw()
{
	all_over iwarp-siw0 siw api "${programs[@]}"
	all_over iwarp-prompt siw api "${prompt[@]}"
	echo 2 >"$slow"
	all_over iwarp-siw0 siw api "${slowly[@]}"
	echo 0 >"$slow"
}
side_by_side over_rxe over_siw | joined
