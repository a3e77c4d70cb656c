#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Conversations between two hosts, with our library or OFED's on the other host, and faults between them. Needs two guests, and runs
# on the first.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"

qual=2100

# serves NAME COMMAND...: starts the command on the other host, and waits until it prints that it listens. Sets server, its process,
# and said, a file with its output that both hosts see.
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

# talks ADAPTER ADDRESS SERVER...: runs our client on this host with that server on the other host
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

# If a neighbour's hardware address changes, Linux reports UNREACHABLE for connections too, but only on the host whose neighbour
# table has changed. That host's disconnect request cannot reach the peer at first, and is repeated until it does.
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

# streams ADAPTER ADDRESS SERVE THEN: starts a server on the other host, and our client, which writes to it. Sets server, said,
# client, and heard, a file with the client's output. SERVE and THEN are arguments of wire.c.
streams()
{
	qual=$((qual + 1))
	serves "wire.$1.$qual" tests/fabric/wire12 "$1" "$3" $qual 'from the other host' || return
	heard=$dir/client.$1.$qual
	: >"$heard"
	timeout -k 5 100 tests/fabric/wire12 "$1" "$2" $qual 'from this host' "$4" >"$heard" 2>&1 &
	client=$!
	until_printed '^streaming$' $client "$heard"
}

# ends PATTERN: checks that our client prints such a line in the end, and that it closes its adapter
ends()
{
	until_printed "$1" $client "$heard"
	wait $client || fails "the client: $(tr '\n' ' ' <"$heard")"
}

# breaks ADAPTER ADDRESS: kills the server on the other host while our client writes to it, and then checks that another pair works
breaks()
{
	local server said client heard
	streams "$1" "$2" serve stream || return
	lab-peer pkill -KILL -x wire12 || fails 'there is no server to kill'
	ends '^(broken|disconnected)$'
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

judged()
{
	verdict=0
	"$@" || fails "$* returned $?"
	return "$verdict"
}

# both TEST: runs TEST ADAPTER ADDRESS DEVICE KIND NETDEV over rxe and over siw at the same time
both()
{
	local ib iw
	judged "$1" ib-rxe0 "$LAB_PEER_IB" rxe0 rxe eth0 &
	ib=$!
	judged "$1" iwarp-siw0 "$LAB_PEER_IW" siw0 siw eth1 &
	iw=$!
	wait $ib || verdict=1
	wait $iw || verdict=1
	qual=$((qual + 1)) # each test counts the qualifiers in a subshell of its own, so both have used the same ones
}

# The side whose device is removed gets both the end of the connection and the loss of the device, and can close its adapter. The
# device is then added again, and the next test shows that connections over it work.
removes_theirs()
{
	local server said client heard renewed
	streams "$1" "$2" lose stream || return
	lab-peer bash -c "$(declare -f renew); renew ${*:3}" &
	renewed=$!
	ends '^(broken|disconnected)$'
	wait $server || fails "the server: $(tr '\n' ' ' <"$said")"
	out=$said prints '^broken$'
	wait $renewed
}

removes_ours()
{
	local server said client heard renewed
	streams "$1" "$2" serve lose || return
	renew "${@:3}" &
	renewed=$!
	ends '^device lost$'
	out=$heard prints '^broken$'
	wait $server || fails "the server: $(tr '\n' ' ' <"$said")"
	out=$said prints '^disconnected$'
	wait $renewed
}

# requests KIND DEVICE ADDRESS: prints how many connection attempts TCP makes to this address (siw), or how many packets the device
# has sent (rxe)
requests()
{
	if [ "$1" = siw ]; then
		ss -Htn state syn-sent dst "$3" | wc -l
	else
		cat "/sys/class/infiniband/$2/ports/1/hw_counters/sent_pkts"
	fi
}

# The requests first go to a hardware address that no host has. The neighbour's right address is set while the client waits for an
# answer. Over rxe this is after the connection manager has repeated its request, which it does after four seconds.
moves_while_we_connect()
{
	local server said client heard many mac
	qual=$((qual + 1))
	serves "wire.$1.$qual" tests/fabric/wire12 "$1" serve $qual 'from the other host' || return
	mac=$(lab-peer cat "/sys/class/net/$5/address") && [ -n "$mac" ] || return
	ip neigh replace "$2" lladdr 52:54:00:09:00:99 nud permanent dev "$5" || return
	many=1
	[ "$4" = siw ] || many=$(($(requests "$4" "$3" "$2") + 2))
	heard=$dir/client.$1.$qual
	timeout -k 5 100 tests/fabric/wire12 "$1" "$2" $qual 'from this host' >"$heard" 2>&1 &
	client=$!
	until [ "$(requests "$4" "$3" "$2")" -ge "$many" ]; do
		kill -0 $client || { fails "the client has ended: $(tr '\n' ' ' <"$heard")"; break; }
		nap
	done
	ip neigh replace "$2" lladdr "$mac" nud reachable dev "$5" || return
	ends '^disconnected$'
	wait $server || fails "the server: $(tr '\n' ' ' <"$said")"
}

# This host's link goes down and its device is renewed. The next test shows that connections work again.
unplugs_ours()
{
	local server said client heard
	streams "$1" "$2" serve stream || return
	ip link set "$5" down || return
	# Each packet that the card still holds keeps a reference to the queue pair, and the card drops them only when it is up
	# again. Closing the adapter waits for them. If it gave up that wait (after 50 s), the packets would refer to a freed queue
	# pair.
	until_printed '^(broken|disconnected)$' $client "$heard"
	ip link set "$5" up || return
	ends '^(broken|disconnected)$'
	renew "${@:3}"
	# The server only waits for messages and may get no event, so it is killed.
	lab-peer pkill -KILL -f "wire12 $1 serve"
	wait $server || :
}

# Succeeds if siw ends its connections when its link goes down. siw of Linux 6.12 does not, so a side that only waits for messages
# gets no event then.
siw_ends_with_its_link()
{
	[ "$(printf '%s\n' 6.12 "$(uname -r)" | sort -V | head -n 1)" != 6.12 ]
}

# The other host's cable is unplugged, and then its interface goes down. Our side gets no notice, but no answers either.
unplugs_theirs()
{
	local server said client heard
	streams "$1" "$2" serve stream || return
	lab-peer --unplug "$5" && lab-peer ip link set "$5" down || return
	ends '^(broken|disconnected)$'
	if [ "$4" = siw ] && siw_ends_with_its_link; then
		until_printed '^disconnected$' $server "$said" # the server may end before it reports the link
	else
		[ "$(grep -c 'the link is down: .*connect its cable' "$said")" -eq 1 ] ||
			fails "the server: $(tr '\n' ' ' <"$said")"
	fi
	lab-peer --plug "$5"
	lab-peer bash -c "$(declare -f renew); renew ${*:3}"
	# The server only waits for messages and may get no event, so it is killed.
	lab-peer pkill -KILL -f "wire12 $1 serve"
	wait $server || :
}

a_device_removed_on_the_other_host_breaks_the_connection()
{
	both removes_theirs
}

a_device_removed_on_this_host_breaks_the_connection()
{
	both removes_ours
}

# impatient COMMAND...: runs the command with few TCP retries, because siw uses TCP, which would retry for a quarter of an hour
impatient()
{
	local retries
	retries=$(cat /proc/sys/net/ipv4/tcp_retries2)
	echo 3 >/proc/sys/net/ipv4/tcp_retries2 || return
	"$@"
	echo "$retries" >/proc/sys/net/ipv4/tcp_retries2
}

a_neighbour_that_moves_while_it_is_asked_fails_no_attempt()
{
	both moves_while_we_connect
}

a_link_down_on_this_host_breaks_the_connection()
{
	impatient both unplugs_ours
}

a_link_down_on_the_other_host_breaks_the_connection()
{
	impatient both unplugs_theirs
	two_hosts_exchange_over_rxe
	two_hosts_exchange_over_siw
}

# watches CLIENT FILE: if the client still runs after 80 of its 100 seconds, writes the state of the devices and the kernel to the
# file: the queue pairs, and their counters twice, which shows whether they still change
watches()
{
	local i
	for ((i = 0; i < 80; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 1
	done
	{
		rdma resource show qp
		rdma statistic show
		sleep 5
		rdma statistic show
		ss -tin
		dmesg | tail -n 20
	} >"$2" 2>&1
}

# shows FILE...: prints the files' contents as TAP comments
shows()
{
	local file
	for file; do
		[ ! -s "$file" ] || sed "s|^|# ${file##*/}: |" "$file"
	done
}

# The other host's siw takes long between the last segment of a message and its completion. A client that has heard the message may
# answer it and end the connection before that, and then siw completes the message with an error.
a_server_whose_last_message_completes_after_the_end_is_content()
{
	local server said slow=/sys/module/siw/parameters/slow_send_ms
	[ -e $slow ] || { skips 'the siw of this kernel does not take the parameter that the lab adds'; return; }
	lab-peer bash -c "echo 100 >$slow" || return
	talks iwarp-siw0 "$LAB_PEER_IW" tests/fabric/wire12 iwarp-siw0
	serves datperf.late ./datperf --ia iwarp-siw0 --server --timeout 60 || return
	run timeout -k 5 100 ./datperf --ia iwarp-siw0 --connect "$LAB_PEER_IW" --test read-lat --iters 3 --warmup 0 --timeout 60
	exits_with 0
	wait $server || fails "datperf's server: $(tr '\n' ' ' <"$said")"
	serves ping.late ./datctl ping --server --timeout 60 --qual 7941 iwarp-siw0 || return
	run timeout -k 5 100 ./datctl ping --timeout 60 --qual 7941 iwarp-siw0 "$LAB_PEER_IW"
	exits_with 0
	lab-peer pkill -f 'ping --[s]erver'
	wait $server
	[ "$(wc -l <"$said")" -eq 1 ] || fails "the server of datctl ping: $(tr '\n' ' ' <"$said")"
	lab-peer bash -c "echo 0 >$slow"
}

# This test comes last, because it turns the other host off. It lowers the TCP retries for the same reason as impatient().
a_host_without_power_is_given_up()
{
	local server said client heard first files
	echo 3 >/proc/sys/net/ipv4/tcp_retries2 || { fails 'tcp_retries2 cannot be written to'; return; }
	streams iwarp-siw0 "$LAB_PEER_IW" serve stream || { fails 'no stream over siw'; shows "$said" "$heard"; return; }
	first=("$client" "$heard")
	files=("$said" "$heard")
	streams ib-rxe0 "$LAB_PEER_IB" serve stream || { fails 'no stream over rxe'; shows "${files[@]}" "$said" "$heard"; return; }
	lab-peer --off || fails "the other host is still there: lab-peer returned $?"
	files+=("$said" "$heard" "$dir/watched.rxe" "$dir/watched.siw")
	watches "$client" "$dir/watched.rxe" &
	watches "${first[0]}" "$dir/watched.siw" &
	ends '^broken$'
	client=${first[0]} heard=${first[1]}
	ends '^(broken|disconnected)$'
	[ "$verdict" = 0 ] || shows "${files[@]}"
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
	a_neighbour_that_moves_while_it_is_asked_fails_no_attempt \
	a_server_killed_amid_a_transfer_ends_the_connection_over_rxe \
	a_server_killed_amid_a_transfer_ends_the_connection_over_siw \
	a_device_removed_on_the_other_host_breaks_the_connection \
	a_device_removed_on_this_host_breaks_the_connection \
	a_link_down_on_this_host_breaks_the_connection \
	a_link_down_on_the_other_host_breaks_the_connection \
	datperf_runs_between_hosts \
	a_server_whose_last_message_completes_after_the_end_is_content \
	a_host_without_power_is_given_up
