#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs libvipl's example program between two processes of a host, and between two hosts. Needs two guests, and runs on the first.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"

# alone ADAPTER: runs both sides on this host
alone()
{
	run timeout -k 5 100 examples/vipl_exchange "$1"
	exits_with 0
	prints '^All bytes were checked'
}

# meets ADAPTER ADDRESS: runs the client on this host and the server on the other one
meets()
{
	local server
	lab-peer timeout -k 5 100 examples/vipl_exchange --server "$1" >"$dir/server" 2>&1 &
	server=$!
	run timeout -k 5 100 examples/vipl_exchange --connect "$2" "$1"
	exits_with 0
	prints '^PASS  peers '
	wait $server || fails "the server: $(tr '\n' ' ' <"$dir/server")"
	out="$dir/server" prints '^PASS  two segments '
	out="$dir/server" prints '^PASS  RDMA write '
	out="$dir/server" prints '^PASS  peers '
}

two_processes_exchange_over_rxe()
{
	alone ib-rxe0
}

two_processes_exchange_over_siw()
{
	alone iwarp-siw0
}

# siw reports an error for a last message whose completion is late if the connection is ending. The program's two connections must
# end in an order that avoids this.
connections_end_in_order_where_a_completion_is_late()
{
	local slow=/sys/module/siw/parameters/slow_send_ms
	echo 300 2>/dev/null >$slow || { skips 'the siw of this kernel does not take the parameter that the lab adds'; return; }
	alone iwarp-siw0
	echo 0 >$slow
}

two_hosts_exchange_over_rxe()
{
	meets ib-rxe0 "$LAB_PEER_IB"
}

two_hosts_exchange_over_siw()
{
	meets iwarp-siw0 "$LAB_PEER_IW"
}

tests two_processes_exchange_over_rxe two_processes_exchange_over_siw connections_end_in_order_where_a_completion_is_late \
	two_hosts_exchange_over_rxe two_hosts_exchange_over_siw
