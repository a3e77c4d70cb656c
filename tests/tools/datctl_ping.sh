#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datctl ping: between two processes, with a server elsewhere, and when it fails.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

every_step_is_printed_in_order()
{
	local adapter
	for adapter in soft0 soft-bounce; do
		run ./datctl ping $adapter
		exits_with 0
		says_nothing
		[ "$(sed -n 's/^ok  //p' "$out" | cut -c1-14 | sed 's/  *$//' | tr '\n' ';')" = \
			'open;memory;connect;agreed;send, receive;RDMA write;RDMA read;RMR;disconnect;' ] ||
			fails "other steps: $(cut -c1-20 "$out" | tr '\n' ';')"
		prints "^$adapter works.$"
	done
}

what_was_agreed_is_told()
{
	run ./datctl ping soft0
	prints '^ok  agreed .*messages to [0-9]+ bytes, RDMA to [0-9]+; RDMA Reads at a time: [0-9]+ in, [0-9]+ out'
}

a_server_answers_one_after_the_other()
{
	local pid
	mkfifo "$dir/up"
	./datctl ping --server --qual 100007921 soft0 2>"$dir/up" &
	pid=$!
	read -r -t 60 line <"$dir/up" || fails 'no server'
	[[ $line = "datctl: soft0 listens: datctl ping --qual 100007921 soft0 "* ]] || fails "it says $line"
	for _ in 1 2; do
		# the command that the server has printed
		run ./${line#*listens: }
		exits_with 0
		prints '^soft0 works.$'
	done
	kill "$pid"
	wait "$pid" 2>/dev/null
	return 0
}

adapter=soft0	# of the server

# start_server OPTION...: in the background; sets server, and address
start_server()
{
	local tries=0
	: >"$dir/server"
	timeout -k 5 "${CHECK_WATCHDOG:-120}" ./datctl ping --server --qual $((100200000 + $$)) "$@" $adapter 2>"$dir/server" &
	server=$!
	while ! grep -q listens "$dir/server" && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	address=$(sed -n "s/.* $adapter //p" "$dir/server")
	[ -n "$address" ] || fails "the server says: $(cat "$dir/server")"
}

stop_server()
{
	kill "$server"
	wait "$server" 2>/dev/null
	return 0
}

what_is_no_ping_does_not_fill_the_log_of_a_server()
{
	start_server --timeout 60
	run tests/tools/rogue "$address" $((100200000 + $$)) noise
	exits_with 0
	run ./datctl ping --qual $((100200000 + $$)) --timeout 60 soft0 "$address"
	exits_with 0
	grep -q 'does not come from .datctl ping. is rejected' "$dir/server" || fails "no word of it: $(cat "$dir/server")"
	[ "$(wc -l <"$dir/server")" -lt 100 ] || fails "the server says too much: $(wc -l <"$dir/server") lines"
	stop_server
}

# It would be silent for a minute each time.
a_silent_client_does_not_keep_others_out()
{
	local tries=0 rogue
	start_server --timeout 60
	: >"$dir/rogue"
	tests/tools/rogue "$address" $((100200000 + $$)) squat >"$dir/rogue" 2>&1 &
	rogue=$!
	while ! grep -q 'has one' "$dir/rogue" && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	run ./datctl ping --qual $((100200000 + $$)) --timeout 30 soft0 "$address"
	exits_with 0
	prints '^soft0 works.$'
	kill "$rogue"
	wait "$rogue" 2>/dev/null
	grep -q 'a client that is silent loses its turn, because others wait' "$dir/server" || fails "no word of it: $(cat "$dir/server")"
	stop_server
}

# A client can make the accept fail, by what it says of its memory.
a_client_whose_accept_fails_is_rejected()
{
	local adapter=faulty
	{
		cat "$DAT_OVERRIDE"
		echo "faulty u1.2 nonthreadsafe default $PWD/.libs/libdat-fault.so opendat.1.0 \"soft0 cr_accept:return=INVALID_PARAMETER:times=1\" \"\""
	} >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf start_server
	run ./datctl ping --qual $((100200000 + $$)) --timeout 60 soft0 "$address"
	exits_with 1
	says 'DAT_CONNECTION_EVENT_PEER_REJECTED instead of DAT_CONNECTION_EVENT_ESTABLISHED'
	run ./datctl ping --qual $((100200000 + $$)) --timeout 60 soft0 "$address"
	exits_with 0
	prints '^soft0 works.$'
	stop_server
}

without_a_server_the_reason_is_told()
{
	run ./datctl ping --qual 100007922 --timeout 60 soft0 127.0.0.1
	exits_with 1
	says '^datctl: (connect|dat_ep_connect): '
	! grep -q works "$out" || fails 'it works'
}

an_unknown_adapter_is_told()
{
	run ./datctl ping nosuch
	exits_with 1
	prints_nothing
	says '^datctl.*: dat_ia_open\("nosuch"\): DAT_PROVIDER_NOT_FOUND'
}

an_address_that_is_none_is_told()
{
	run ./datctl ping soft0 no.such.host.invalid
	exits_with 1
	says 'no.such.host.invalid: .*; give the IP address'
}

# The template of the SDK connects endpoints of one process, and declares it.
an_adapter_that_does_not_leave_the_process_is_told()
{
	local arguments
	{
		echo "inside u1.2 nonthreadsafe default $PWD/.libs/mutant.so test.1.0 \"\" \"\""
		echo "inside u2.0 nonthreadsafe default $PWD/.libs/mutant.so test.1.0 \"\" \"\""
	} >"$dir/dat.conf"
	for arguments in inside '--api 2.0 inside' '--server inside' 'inside 192.0.2.2'; do
		# shellcheck disable=SC2086 # a list of arguments
		DAT_OVERRIDE=$dir/dat.conf run ./datctl ping $arguments
		exits_with 1
		says "^datctl( .peer.)?: the transport of adapter inside does not leave the process .*'datconform --ia inside'.*two[.]c"
		[ "$(wc -l <"$err")" -eq 1 ] || fails "more than that: $(cat "$err")"
	done
}

a_transfer_that_fails_is_told()
{
	{
		cat "$DAT_OVERRIDE"
		echo "faulty u1.2 nonthreadsafe default $PWD/.libs/libdat-fault.so opendat.1.0 \"soft0 request:status=TRANSPORT:nth=2\" \"\""
	} >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf run ./datctl ping faulty
	exits_with 1
	prints '^ok  send, receive '
	says '^datctl: RDMA write: completed with DAT_DTO_ERR_TRANSPORT; '
	! grep -q works "$out" || fails 'it works'
}

# with_lines_of_20: two adapters for programs of 2.0, one of which has a name of 1.2 as well
with_lines_of_20()
{
	local line
	line=$(head -n 1 "$DAT_OVERRIDE")
	{
		cat "$DAT_OVERRIDE"
		echo "${line/u1.2/u2.0}"
		echo "${line/soft0 u1.2/two u2.0}"
	} >"$dir/dat.conf"
}

an_adapter_of_20_is_tested_by_a_program_of_20()
{
	with_lines_of_20
	DAT_OVERRIDE=$dir/dat.conf run ./datctl ping two
	exits_with 0
	says_nothing
	[ "$(sed -n 's/^ok  //p' "$out" | cut -c1-14 | sed 's/  *$//' | tr '\n' ';')" = \
		'open;memory;connect;agreed;send, receive;RDMA write;RDMA read;RMR;disconnect;' ] ||
		fails "other steps: $(cut -c1-20 "$out" | tr '\n' ';')"
	prints '^ok  RMR .* bytes written through a memory window$'
	prints '^two works.$'
	DAT_OVERRIDE=$dir/dat.conf run ./datctl ping --api 2.0 soft0
	exits_with 0
	DAT_OVERRIDE=$dir/dat.conf run ./datctl ping --api 1.2 two
	exits_with 1
	says '^datctl.*: dat_ia_open\("two"\): DAT_PROVIDER_NOT_FOUND DAT_MAJOR_NOT_FOUND'
	# the number of this subtype is that of another one in 1.2
	run ./datctl ping --api 2.0 nosuch
	exits_with 1
	says '^datctl.*: dat_ia_open\("nosuch"\): DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED'
}

programs_of_both_versions_reach_each_other()
{
	local pid server client
	with_lines_of_20
	for server in 1.2 2.0; do
		[ $server = 1.2 ] && client=2.0 || client=1.2
		mkfifo "$dir/up.$server"
		DAT_OVERRIDE=$dir/dat.conf ./datctl ping --server --api $server --qual 100007923 soft0 2>"$dir/up.$server" &
		pid=$!
		read -r -t 60 line <"$dir/up.$server" || fails "no server of $server"
		DAT_OVERRIDE=$dir/dat.conf run ./datctl ping --api $client --qual 100007923 soft0 127.0.0.1
		exits_with 0
		prints '^ok  RMR .* bytes written through a memory window$'
		kill "$pid"
		wait "$pid" 2>/dev/null
	done
	return 0
}

json_is_json_and_says_ok()
{
	run ./datctl ping --json soft0
	exits_with 0
	prints '"ok": true'
	command -v python3 >/dev/null || return 0
	python3 -m json.tool "$out" >/dev/null || fails 'this is no JSON'
}

wrong_usage_exits_with_2()
{
	local args
	for args in '' '--nonsense' '--qual x soft0' '--timeout 0 soft0' 'a b c' '--server a b' '--api' '--api 3.0 soft0'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl ping $args
		exits_with 2
		prints_nothing
	done
}

tests every_step_is_printed_in_order what_was_agreed_is_told a_server_answers_one_after_the_other \
	what_is_no_ping_does_not_fill_the_log_of_a_server a_silent_client_does_not_keep_others_out \
	a_client_whose_accept_fails_is_rejected \
	without_a_server_the_reason_is_told an_unknown_adapter_is_told an_address_that_is_none_is_told \
	an_adapter_that_does_not_leave_the_process_is_told a_transfer_that_fails_is_told an_adapter_of_20_is_tested_by_a_program_of_20 \
	programs_of_both_versions_reach_each_other json_is_json_and_says_ok wrong_usage_exits_with_2
