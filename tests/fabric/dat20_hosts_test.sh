#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of DAT 2.0 between two hosts, one of which has our libdat2 and the other one OFED's, over rxe and siw. The adapters have
# the same names on both sides. Needs two guests, and runs on the first, whose programs are the clients.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/dat20/pair.sh"

bound=100

ofed() { DAT_OVERRIDE=$LAB_OFED_CONF "$@"; }
ours_there() { lab-peer env LD_LIBRARY_PATH="$PWD/.libs" "$@"; }
ofed_there() { lab-peer env DAT_OVERRIDE="$LAB_OFED_CONF" "$@"; }
# The server itself has to end, because another one could not listen beside it; then the process of this side ends as well.
end_server() { lab-peer pkill -x "$2"; }
by_tcp() { lab-peer grep -q ' 00000000:3DD4 00000000:0000 0A ' /proc/net/tcp; }

# Checks which libdat2 the programs of the other host load.
the_other_host_has_both()
{
	ours_there ldd "$(command -v dtest)" | grep -F "$PWD/.libs/libdat2.so.2" && ! ofed_there ldd "$(command -v dtest)" | grep -F "$PWD"
}

tap 'the other host runs programs on our libdat2 and on the one of OFED' the_other_host_has_both

server=ours_there client=ours
dtest_passes 'rxe: dtest runs between two hosts' ofa-rxe0 "$LAB_PEER_IB"
dtestx_passes 'rxe: dtestx runs between two hosts' ofa-rxe0 "$LAB_PEER_IB"
dtest_passes 'siw: dtest runs between two hosts' ofa-siw0 "$LAB_PEER_IW"
server=ours_there client=ofed
dtest_passes "rxe: OFED's dtest is a client of ours on another host" ofa-rxe0 "$LAB_PEER_IB"
dtest_passes "siw: OFED's dtest is a client of ours on another host" ofa-siw0 "$LAB_PEER_IW"
server=ofed_there client=ours
dtest_passes "rxe: OFED's dtest is the server of ours on another host" ofa-rxe0 "$LAB_PEER_IB"
# dtest of OFED's does not work as a server over siw: see dat20_test.sh
dtestcm_passes "siw: OFED's dtestcm is the server of ours on another host" ofa-siw0 "$LAB_PEER_IW"
tap_end
