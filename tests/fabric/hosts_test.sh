#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Between two hosts: conversations with our own library and with OFED's on the other host.
# In two guests; this runs on the first.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"

qual=2100

until_peer_listens()
{
	local i
	for ((i = 0; i < 100; i++)); do
		! lab-peer rdma resource show cm_id | grep -q 'state LISTEN' || return 0
		sleep 0.3
	done
	fails 'nothing listens on the other host'
	return 1
}

# talks ADAPTER ADDRESS SERVER...: our client here, with that server on the other host
talks()
{
	local adapter=$1 address=$2 server
	shift 2
	qual=$((qual + 1))
	lab-peer timeout -k 5 100 "$@" serve $qual 'from the other host' >"$dir/server" 2>&1 &
	server=$!
	until_peer_listens || return
	run timeout -k 5 100 tests/fabric/wire12 "$adapter" "$address" $qual 'from this host'
	exits_with 0
	prints '^accepted with: [0-9]+ bytes: from the other host'
	prints '^read: 65536 bytes$'
	prints '^disconnected$'
	wait $server || fails "the server: $(tr '\n' ' ' <"$dir/server")"
	out="$dir/server" prints '^requested with: [0-9]+ bytes: from this host'
	out="$dir/server" prints '^written: 65536 bytes$'
}

two_hosts_exchange_over_rxe()
{
	talks ib-rxe0 "$LAB_PEER_IB" tests/fabric/wire12 ib-rxe0
}

two_hosts_exchange_over_siw()
{
	talks iwarp-siw0 "$LAB_PEER_IW" tests/fabric/wire12 iwarp-siw0
}

an_ofed_host_is_understood_over_rxe()
{
	[ -x tests/fabric/wire20 ] || { skips 'built without OFED: install libdapl-dev and configure again'; return; }
	talks ib-rxe0 "$LAB_PEER_IB" env DAT_OVERRIDE="$LAB_OFED_CONF" tests/fabric/wire20 ofa-rxe0
}

datperf_runs_between_hosts()
{
	local pair server
	for pair in "ib-rxe0 $LAB_PEER_IB" "iwarp-siw0 $LAB_PEER_IW"; do
		lab-peer timeout -k 5 150 ./datperf --ia "${pair% *}" --server --timeout 60 >"$dir/server" 2>&1 &
		server=$!
		until_peer_listens || return
		run timeout -k 5 150 ./datperf --ia "${pair% *}" --connect "${pair#* }" --test send-lat --size 4096 --iters 50 \
			--warmup 5 --timeout 60 --json
		exits_with 0
		prints '"verified": ?true'
		wait $server
	done
}

tests two_hosts_exchange_over_rxe two_hosts_exchange_over_siw an_ofed_host_is_understood_over_rxe \
	datperf_runs_between_hosts
