#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two ends of datperf: a server that was started elsewhere, and ends that are stopped or killed. These tests wait most of
# their time, so several run at once.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

perf=(./datperf --ia soft0 --timeout 60)

# background OUT ERR COMMAND...: starts the command with a limit of time; sets guard, a process that ends with its status
background()
{
	local to=$1 errors=$2
	shift 2
	timeout -k 5 "${CHECK_WATCHDOG:-120}" "$@" >"$to" 2>"$errors" </dev/null &
	guard=$!
}

# child_of PID: waits until the process has a child, and prints the child's number
child_of()
{
	local child='' tries=0
	while [ -z "$child" ] && [ $tries -lt 500 ]; do
		child=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
		tries=$((tries + 1))
		[ -n "$child" ] || sleep 0.02
	done
	printf '%s' "${child// /}"
}

# start_server: in the background; sets server, address and qual once it listens
start_server()
{
	local line
	mkfifo "$dir/fifo"
	background "$dir/server.out" "$dir/fifo" "${perf[@]}" --server --qual $((100000 + $$))
	server=$guard
	exec 9<"$dir/fifo"
	rm "$dir/fifo"
	read -r -t 60 line <&9 || fails 'the server says nothing'
	address=$(sed -n 's/.*--connect \([^ ]*\) .*/\1/p' <<<"$line")
	qual=$(sed -n 's/.*--qual \([0-9]*\).*/\1/p' <<<"$line")
	[ -n "$address" ] && [ -n "$qual" ] || fails "the server says: $line"
}

a_client_measures_against_a_server_started_elsewhere()
{
	start_server
	run "${perf[@]}" --connect "$address" --qual "$qual" --json --test write-lat --iters 100
	exits_with 0
	json_line write-lat 8 100 '[0-9]+[.][0-9]+' null
	wait "$server"
	status=$?
	exits_with 0
	[ ! -s "$dir/server.out" ] || fails 'the server prints on stdout'
	exec 9<&-
}

a_taken_qualifier_is_a_clear_error()
{
	start_server
	run "${perf[@]}" --server --qual "$qual"
	exits_with 1
	says 'DAT_CONN_QUAL_IN_USE.*--qual'
	run "${perf[@]}" --connect "$address" --qual "$qual" --json --test write-lat --iters 10
	exits_with 0
	wait "$server"
	exec 9<&-
}

nobody_listening_is_a_clear_error()
{
	local address
	address=$(./datctl show soft0 | sed -n 's/^ia_address_ptr *= //p')
	run "${perf[@]}" --connect "$address" --qual 99999 --test send-lat
	exits_with 1
	says 'DAT_CONNECTION_EVENT_.*--server'
}

# The template of the SDK connects endpoints of one process, and declares it.
an_adapter_that_does_not_leave_the_process_is_a_clear_error()
{
	local arguments
	echo "inside u1.2 nonthreadsafe default $PWD/.libs/mutant.so test.1.0 \"\" \"\"" >"$dir/inside.conf"
	for arguments in '' --server '--connect 192.0.2.2'; do
		# shellcheck disable=SC2086 # a list of arguments
		DAT_OVERRIDE=$dir/inside.conf run ./datperf --ia inside --timeout 60 $arguments
		exits_with 1
		says "^datperf.*: the transport of adapter inside does not leave the process .*'datconform --ia inside'.*two[.]c"
		! grep -q 'libdatp' "$err" || fails "it connects: $(cat "$err")"
	done
}

a_host_that_does_not_exist_is_a_clear_error()
{
	run "${perf[@]}" --connect no-such-host.invalid --test send-lat
	exits_with 1
	says 'no-such-host.invalid'
}

# start_table OPTION...: a long run in the background whose first line is already there; sets client and child
start_table()
{
	local line
	mkfifo "$dir/fifo"
	background "$dir/fifo" "$err" "${perf[@]}" --json "$@"
	exec 9<"$dir/fifo"
	rm "$dir/fifo"
	read -r -t 100 line <&9 || fails "no first line: $(cat "$err")"
	client=$(child_of "$guard")
	child=$(child_of "$client")
	[ -n "$child" ] || fails 'there is no second process'
}

a_server_that_is_killed_ends_the_client_with_an_error()
{
	start_table --duration 1
	kill -KILL "$child"
	wait "$guard"
	status=$?
	exits_with 1
	says '^datperf: the forked server was killed by signal 9'
	exec 9<&-
}

a_server_that_is_killed_ends_every_thread_of_the_client()
{
	start_table --iters 3000 --eps 4 --threads 3
	kill -KILL "$child"
	wait "$guard"
	status=$?
	exits_with 1
	says '^datperf: the forked server was killed by signal 9'
	exec 9<&-
}

# A stopped process may have been accessing the memory of the other one, and the adapter then does not reuse that memory.
a_server_that_is_stopped_ends_the_client_with_an_error()
{
	start_table --test send-bw --sweep=256k:4m --window 4 --duration 1 --timeout 10
	kill -STOP "$child"
	wait "$guard"
	status=$?
	exits_with 1
	says '^datperf: (no progress for [0-9]+ s|the connection failed: DAT_CONNECTION_EVENT_TIMED_OUT)'
	exec 9<&-
	[ ! -e "/proc/$child" ] || fails "process $child is left"
}

a_server_that_is_stopped_elsewhere_ends_the_client_with_an_error()
{
	local line stopped
	start_server
	mkfifo "$dir/fifo"
	background "$dir/fifo" "$err" "${perf[@]}" --connect "$address" --qual "$qual" --json --test send-bw \
		--sweep=256k:4m --window 4 --duration 1 --timeout 10
	exec 8<"$dir/fifo"
	rm "$dir/fifo"
	read -r -t 100 line <&8 || fails 'no first line'
	stopped=$(child_of "$server")
	kill -STOP "$stopped"
	wait "$guard"
	status=$?
	kill -KILL "$stopped"
	wait "$server" 2>/dev/null
	exits_with 1
	says '^datperf: (no progress for [0-9]+ s|the connection failed: DAT_CONNECTION_EVENT_TIMED_OUT)'
	exec 8<&- 9<&-
}

# wants_gone PID: a process that has closed its files may still be in its exit, and whoever inherits it may reap it between two looks.
wants_gone()
{
	local state try
	for ((try = 0; try < 1000; try++)); do
		state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
		[[ -n $state && $state != [ZX]* ]] || return 0
		sleep 0.01
	done
	fails "process $1 is left: $state"
}

a_client_that_is_killed_leaves_no_server_behind()
{
	start_table --duration 1
	kill -KILL "$client"
	wait "$guard" 2>/dev/null
	cat <&9 >/dev/null	# this read ends when the last process with the other end of the pipe ends
	exec 9<&-
	wants_gone "$child"
}

a_killed_client_ends_a_server_started_elsewhere()
{
	local line
	start_server
	mkfifo "$dir/fifo"
	background "$dir/fifo" /dev/null "${perf[@]}" --connect "$address" --qual "$qual" --json --duration 1
	exec 8<"$dir/fifo"
	rm "$dir/fifo"
	read -r -t 100 line <&8 || fails 'no first line'
	kill -KILL "$(child_of "$guard")"
	wait "$guard" 2>/dev/null
	wait "$server"
	status=$?
	cat <&9 >"$err"
	exits_with 1
	says '^datperf: '
	exec 8<&- 9<&-
}

tests_beside 3 a_client_measures_against_a_server_started_elsewhere \
	a_taken_qualifier_is_a_clear_error nobody_listening_is_a_clear_error \
	an_adapter_that_does_not_leave_the_process_is_a_clear_error a_host_that_does_not_exist_is_a_clear_error \
	a_server_that_is_killed_ends_the_client_with_an_error \
	a_server_that_is_killed_ends_every_thread_of_the_client \
	a_server_that_is_stopped_ends_the_client_with_an_error \
	a_server_that_is_stopped_elsewhere_ends_the_client_with_an_error \
	a_client_that_is_killed_leaves_no_server_behind \
	a_killed_client_ends_a_server_started_elsewhere
