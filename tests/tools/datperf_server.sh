#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datperf --server and its clients: a program of another API is served as well; what clients ask for that are no datperf is
# bounded, and they cannot keep others out.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

adapter=soft0	# of the server

# start_server OPTION...: in the background; sets server, address and qual once it listens
start_server()
{
	local line='' tries=0
	rm -f "$dir/server"
	: >"$dir/server"
	timeout -k 5 "${CHECK_WATCHDOG:-120}" ./datperf --ia $adapter --server --qual $((200000 + $$)) "$@" >"$dir/server.out" \
		2>"$dir/server" </dev/null &
	server=$!
	while ! grep -q listens "$dir/server" && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	line=$(head -n 1 "$dir/server")
	address=$(sed -n 's/.*--connect \([^ ]*\) .*/\1/p' <<<"$line")
	qual=$(sed -n 's/.*--qual \([0-9]*\).*/\1/p' <<<"$line")
	[ -n "$address" ] && [ -n "$qual" ] || fails "the server says: $line"
}

# served OPTION...: an honest client is served, and the server ends well after it
served()
{
	run ./datperf --ia soft0 --timeout 60 --connect "$address" --qual "$qual" --json --test send-lat --iters 20 "$@"
	exits_with 0
	prints '"verified": (true|null)'
	wait "$server"
	status=$?
	exits_with 0
}

server_says()
{
	grep -qE -- "$1" "$dir/server" || fails "the server says no '$1': $(cat "$dir/server")"
}

# The words of a control message: 1 is TEST; then test, size, window, wait, endpoints, threads, memory
rogue() { run tests/tools/rogue "$address" "$qual" "$@"; }

sizes_are_bounded_by_the_limit_of_the_server()
{
	start_server --timeout 30
	rogue 1 0 1073741824 1 0 64 1 0	# 128 GiB
	exits_with 0
	prints '^7 1073741824 '
	server_says 'asks for 13[0-9]* bytes of memory and is refused: --limit gives a test 1073741824$'
	rogue 1 0 100000000000000 1 0 1 1 0
	exits_with 0
	prints '^ended'
	rogue 1 3 4096 4096 0 1 1 0
	exits_with 0
	prints '^ended'
	served
}

the_limit_is_an_option_and_the_client_says_what_to_do()
{
	start_server --timeout 30 --limit 2m
	run ./datperf --ia soft0 --connect "$address" --qual "$qual" --json --test send-lat --size 4m --iters 5
	exits_with 1
	says 'the server allows a test 2097152 bytes of memory, and this one needs 8[0-9]{6}; give a smaller --size'
	served --size 64k
}

# A thousand endpoints with long queues take much memory, however short the messages are.
queues_count_for_the_limit_as_well()
{
	start_server --timeout 30 --limit 140m
	rogue 1 4 1 1024 0 1024 1 0
	exits_with 0
	prints '^7 146800640 '
	server_says 'asks for [0-9]{10} bytes of memory and is refused'
	served
}

a_client_that_says_nothing_loses_its_place()
{
	start_server --timeout 2 --limit 1m
	rogue
	exits_with 0
	prints '^ended'
	server_says 'the client starts no test; it is disconnected, and the next one is served$'
	served
}

a_client_that_says_good_bye_or_nonsense_is_not_the_one_that_is_served()
{
	start_server --timeout 10
	rogue 5
	rogue 77 1 2 3
	prints '^7 0 '
	served
}

clients_that_are_silent_are_turned_away_at_the_fifth_time()
{
	local i
	start_server --timeout 1 --limit 1m
	for i in 1 2 3 4; do
		rogue
		prints '^ended'
	done
	rogue
	prints '^turned away'
	server_says 'a client of the address [0-9.]+ is rejected, because 4 others of it have started no test; one .* each minute$'
	[ "$(wc -l <"$dir/server")" -lt 14 ] || fails "the server says too much: $(wc -l <"$dir/server") lines"
	kill "$server"
	wait "$server" || return 0
}

# Each of them leaves before the server's patience has ended.
clients_that_leave_in_time_are_turned_away_as_well()
{
	local i
	start_server --timeout 1 --limit 1m
	for i in 1 2 3 4 5 6; do
		rogue leave
		exits_with 0
		! grep -q '^turned away' "$out" || break
	done
	[ "$i" -gt 4 ] || fails "client $i is turned away"
	rogue
	prints '^turned away'
	kill "$server"
	wait "$server" || return 0
}

# Neither the clients that are refused nor those that ask for what the server does not know are silent.
clients_that_are_refused_may_come_again()
{
	local i
	start_server --timeout 30 --limit 1m
	for i in 1 2 3; do
		rogue 1 0 1073741824 1 0 64 1 0
		prints '^7 1048576 '
		rogue 1 99
		prints '^ended'
	done
	served --size 64
}

# It says something that is no test whenever it gets an answer.
a_client_that_only_talks_loses_its_place()
{
	start_server --timeout 2 --limit 1m
	rogue talk
	exits_with 0
	prints '^ended after [0-9]+ answers'
	server_says 'the client starts no test; it is disconnected, and the next one is served$'
	served --size 64
}

# in_spite_of_a_thief OPTION...: an honest client is served as if nobody else asked for its connections
in_spite_of_a_thief()
{
	local tries=0 thief
	: >"$dir/thief"
	start_server --timeout 20
	tests/tools/rogue "$address" "$qual" thief >"$dir/thief" 2>&1 &
	thief=$!
	while ! grep -q asks "$dir/thief" && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	served "$@"
	kill "$thief" 2>/dev/null
	wait "$thief" 2>/dev/null
	! grep -q 'has one' "$dir/thief" || fails 'another process has got a connection of the test'
	! grep -q IA_IN_USE "$dir/server" || fails "requests are left: $(cat "$dir/server")"
	[ "$(wc -l <"$dir/server")" -lt 14 ] || fails "the server says too much: $(wc -l <"$dir/server") lines"
}

nobody_takes_the_connections_of_another_client()
{
	in_spite_of_a_thief
	in_spite_of_a_thief --eps 4
}

nobody_disturbs_the_connections_of_connect_rate()
{
	in_spite_of_a_thief --test connect-rate --iters 100
	server_says 'a connection request that does not belong to the test is rejected'
}

# A client can make the accept fail, by what it says of its memory. The server could not close its adapter if it left the request.
a_client_whose_accept_fails_is_rejected()
{
	local adapter=faulty
	{
		cat "$DAT_OVERRIDE"
		echo "faulty u1.2 nonthreadsafe default $PWD/.libs/libdat-fault.so opendat.1.0 \"soft0 cr_accept:return=INVALID_PARAMETER:times=1\" \"\""
	} >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf start_server --timeout 60
	rogue
	exits_with 0
	prints '^turned away'
	served
}

a_client_of_another_version_is_told()
{
	start_server --timeout 30
	ROGUE_VERSION=3 rogue
	exits_with 0
	prints '^ended'
	server_says 'a client of another version of datperf is refused: it speaks version 3 of the protocol, and this one 4; start the same'
	served
}

# The client has more messages than go over in two seconds. With --duration it would choose their number by a few of them, which may
# be slow on a busy machine.
the_session_ends()
{
	start_server --timeout 30 --deadline 2
	run ./datperf --ia soft0 --connect "$address" --qual "$qual" --json --iters 100000000 "$@"
	exits_with 1
	wait "$server"
	status=$?
	exits_with 1
	server_says 'the session has reached its --deadline'
}

a_session_has_a_deadline()
{
	the_session_ends --test send-lat
}

# A server that writes finds something to do at each look.
a_session_in_which_the_server_never_waits_has_a_deadline()
{
	the_session_ends --test write-bw --bidirectional --size 64
}

the_two_ends_may_be_programs_of_different_apis()
{
	start_server --timeout 60
	served --api 2.0
	start_server --timeout 60 --api 2.0
	served
}

tests the_two_ends_may_be_programs_of_different_apis sizes_are_bounded_by_the_limit_of_the_server \
	the_limit_is_an_option_and_the_client_says_what_to_do queues_count_for_the_limit_as_well \
	a_client_that_says_nothing_loses_its_place a_client_that_says_good_bye_or_nonsense_is_not_the_one_that_is_served \
	clients_that_are_silent_are_turned_away_at_the_fifth_time clients_that_leave_in_time_are_turned_away_as_well \
	clients_that_are_refused_may_come_again \
	a_client_that_only_talks_loses_its_place nobody_takes_the_connections_of_another_client \
	nobody_disturbs_the_connections_of_connect_rate a_client_whose_accept_fails_is_rejected a_client_of_another_version_is_told a_session_has_a_deadline \
	a_session_in_which_the_server_never_waits_has_a_deadline
