#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Between two hosts: conversations with our own library and with OFED's on the other host.
# In two guests; this runs on the first.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"

qual=2100

# serves NAME COMMAND...: starts it on the other host, and waits until it says that it listens. Sets server, and said, which is
# all that it prints: a file that both hosts see.
serves()
{
	said=$LAB_SHARED/$1
	shift
	: >"$said"
	# shellcheck disable=SC2016 # for the other host's shell
	lab-peer bash -c 'exec timeout -k 5 150 "${@:2}" >"$1" 2>&1' _ "$said" "$@" >"$dir/peer" 2>&1 &
	server=$!
	until_printed '^listening$| listens: ' $server "$said"
}

# talks ADAPTER ADDRESS SERVER...: our client here, with that server on the other host
talks()
{
	local adapter=$1 address=$2 server said
	shift 2
	qual=$((qual + 1))
	serves "wire.$qual" "$@" serve $qual 'from the other host' || return
	run timeout -k 5 100 tests/fabric/wire12 "$adapter" "$address" $qual 'from this host'
	exits_with 0
	prints '^accepted with: [0-9]+ bytes: from the other host'
	prints '^read: 65536 bytes$'
	prints '^disconnected$'
	wait $server || fails "the server: $(tr '\n' ' ' <"$said")"
	out=$said prints '^requested with: [0-9]+ bytes: from this host'
	out=$said prints '^written: 65536 bytes$'
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

# Linux tells of a neighbour with another hardware address as "unreachable", of connections too. Only the side that knows such a
# neighbour hears of it; its message that the connection has ended cannot get there at first, and is repeated until it has.
a_neighbour_with_another_hardware_address_breaks_the_connection()
{
	local server said client held mac
	qual=$((qual + 1))
	serves "wire.$qual" tests/fabric/wire12 ib-rxe0 serve $qual 'from the other host' || return
	mkfifo "$dir/held" || return
	: >"$dir/client"
	timeout -k 5 100 tests/fabric/wire12 ib-rxe0 "$LAB_PEER_IB" $qual 'from this host' hold <"$dir/held" >"$dir/client" 2>&1 &
	client=$!
	exec {held}>"$dir/held"
	until_printed '^holding$' $client "$dir/client" || return
	mac=$(ip neigh show "$LAB_PEER_IB" dev eth0 | sed -n 's/.* lladdr \([0-9a-f:]*\).*/\1/p')
	ip neigh replace "$LAB_PEER_IB" lladdr 52:54:00:09:00:99 dev eth0 || return
	until_printed '^broken$' $client "$dir/client"
	! grep -q '^disconnected$' "$said" || fails 'the server has heard of it through a neighbour that is not there'
	ip neigh replace "$LAB_PEER_IB" lladdr "$mac" dev eth0 || return
	until_printed '^disconnected$' $server "$said"
	exec {held}>&-
	wait $client || fails "the client: $(tr '\n' ' ' <"$dir/client")"
	wait $server || fails "the server: $(tr '\n' ' ' <"$said")"
}

# breaks ADAPTER ADDRESS: the server on the other host is killed while our client writes to it; the next pair is as good as new
breaks()
{
	local server said client
	qual=$((qual + 1))
	serves "wire.$qual" tests/fabric/wire12 "$1" serve $qual 'from the other host' || return
	: >"$dir/client"
	timeout -k 5 100 tests/fabric/wire12 "$1" "$2" $qual 'from this host' stream >"$dir/client" 2>&1 &
	client=$!
	until_printed '^streaming$' $client "$dir/client" || return
	lab-peer pkill -KILL -x wire12 || fails 'there is no server to kill'
	until_printed '^ended$' $client "$dir/client"
	wait $client || fails "the client: $(tr '\n' ' ' <"$dir/client")"
	wait $server
	talks "$1" "$2" tests/fabric/wire12 "$1"
}

a_server_killed_amid_a_transfer_ends_the_connection_over_rxe()
{
	breaks ib-rxe0 "$LAB_PEER_IB"
}

a_server_killed_amid_a_transfer_ends_the_connection_over_siw()
{
	breaks iwarp-siw0 "$LAB_PEER_IW"
}

datperf_runs_between_hosts()
{
	local pair server said
	for pair in "ib-rxe0 $LAB_PEER_IB" "iwarp-siw0 $LAB_PEER_IW"; do
		serves "datperf.${pair% *}" ./datperf --ia "${pair% *}" --server --timeout 60 || return
		run timeout -k 5 150 ./datperf --ia "${pair% *}" --connect "${pair#* }" --test send-lat --size 4096 --iters 50 \
			--warmup 5 --timeout 60 --json
		exits_with 0
		prints '"verified": ?true'
		wait $server
	done
}

tests two_hosts_exchange_over_rxe two_hosts_exchange_over_siw an_ofed_host_is_understood_over_rxe \
	a_neighbour_with_another_hardware_address_breaks_the_connection \
	a_server_killed_amid_a_transfer_ends_the_connection_over_rxe \
	a_server_killed_amid_a_transfer_ends_the_connection_over_siw \
	datperf_runs_between_hosts
