#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks with programs of rdma-core and perftest that the guest's devices carry data. A failure here is not the fault of our
# libraries. Runs in one guest.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/tools/tap.sh"

pings()
{
	local server
	command -v rping >/dev/null || { skips 'no rping: install rdmacm-utils'; return; }
	timeout 60 rping -s -a "$1" -C 5 >"$dir/server" 2>&1 &
	server=$!
	lab-listens rping || return
	run timeout 60 rping -c -a "$1" -C 5 -v
	prints '^ping data: rdma-ping-4'
	wait $server
}

verbs_finds_both_devices()
{
	command -v ibv_devices >/dev/null || { skips 'no ibv_devices: install ibverbs-utils'; return; }
	run ibv_devices
	exits_with 0
	prints ' rxe0 '
	prints ' siw0 '
}

rping_runs_over_rxe()
{
	pings "$LAB_IB"
}

# rping sends as soon as it is connected. siw may miss such a message unless `looks_again` is set.
rping_runs_over_siw()
{
	echo 1 >/sys/module/siw/parameters/looks_again
	pings "$LAB_IW"
}

ib_send_lat_runs_over_rxe()
{
	local server
	command -v ib_send_lat >/dev/null || { skips 'no ib_send_lat: install perftest'; return; }
	timeout 60 ib_send_lat -R -d rxe0 -n 100 >"$dir/server" 2>&1 &
	server=$!
	lab-listens ib_send_lat || return
	run timeout 60 ib_send_lat -R -d rxe0 -n 100 "$LAB_IB"
	exits_with 0
	wait $server
}

tests verbs_finds_both_devices rping_runs_over_rxe rping_runs_over_siw ib_send_lat_runs_over_rxe
