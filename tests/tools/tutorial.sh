#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs of opendat-tutorial(7): each compiles as its user compiles it, strictly, and does what the page says.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
source=$top_srcdir/examples/tutorial
adapter=${OPENDAT_TEST_IA:-soft0}
: "${CC:=cc}" "${CXX:=c++}"

# build PROGRAM STANDARD: without a warning, with the language's strict mode
build()
{
	local file=$source/$1.c compiler="$CC ${CFLAGS-}"
	[ -f "$file" ] || { file=$source/$1.cc; compiler="$CXX ${CXXFLAGS-}"; }
	# shellcheck disable=SC2086 # lists of words
	$compiler -std="$2" -Wall -Wextra -Wshadow -Werror -I"$top_srcdir/include" -o "$tap_dir/$1" "$file" \
		-L"$PWD/.libs" -ldat -Wl,-rpath,"$PWD/.libs"
}

# listens FILE: the server has said so there
listens()
{
	local i
	for ((i = 0; i < 600; i++)); do
		grep -q '^listening' "$1" && return 0
		read -rt 0.05 <> <(:) || true
	done
	echo 'the server does not listen'
	cat "$1"
	return 1
}

# both SERVER-COMMAND -- CLIENT-COMMAND: both succeed; what they print is left in $tap_dir/server and $tap_dir/client
both()
{
	local server=() pid bad=0
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	: >"$tap_dir/server"	# the last server said there that it listens
	timeout 60 "${server[@]}" >"$tap_dir/server" 2>&1 &
	pid=$!
	listens "$tap_dir/server" && timeout 60 "$@" >"$tap_dir/client" 2>&1 || bad=1
	[ $bad -eq 0 ] || kill $pid 2>/dev/null
	wait $pid || bad=1
	[ $bad -eq 0 ] || tail -n 20 "$tap_dir/server" "$tap_dir/client"
	return $bad
}

# step PROGRAM: its server and its client
step()
{
	both "$tap_dir/$1" "$adapter" server -- "$tap_dir/$1" "$adapter" client
}

# says SIDE LINE...: these lines and no others, except the library's own messages
says()
{
	local side=$tap_dir/$1
	shift
	diff <(grep -v -e '^listening' -e '^libdat' "$side") <(printf '%s\n' "$@")
}

opens()
{
	"$tap_dir/step1_open" "$adapter" >"$tap_dir/out" && grep -q "^adapter *$adapter\$" "$tap_dir/out" &&
		[ "$(wc -l <"$tap_dir/out")" -eq 5 ]
}

makes_objects()
{
	"$tap_dir/step2_objects" "$adapter" >"$tap_dir/out" && grep -q '^endpoint *unconnected$' "$tap_dir/out" &&
		grep -q '^LMR *4096 bytes' "$tap_dir/out"
}

names_an_unknown_adapter()
{
	! "$tap_dir/step1_open" nowhere0 >"$tap_dir/out" 2>&1 && grep -q 'DAT_PROVIDER_NOT_FOUND' "$tap_dir/out"
}

connects()
{
	step step3_connect && says server connected disconnected && says client connected disconnected
}

sends()
{
	step step4_send && says client 'the server answers: HELLO, SERVER'
}

writes_and_reads()
{
	step step5_rdma && says server 'the client wrote: written by RDMA' && says client 'read back: written by RDMA'
}

survives_errors()
{
	step step6_errors && says server 'nobody listens yet' 'no message within 50 ms' \
		'too short a receive: length error, the one behind it: flushed' broken \
		'connected again, and the message came through' &&
		says client broken 'connected again, and the message came through'
}

serves_three()
{
	local client=("$tap_dir/step4_send" "$adapter" client) pids=() pid server bad=0
	: >"$tap_dir/server"
	timeout 60 "$tap_dir/echo" "$adapter" 3 >"$tap_dir/server" 2>&1 &
	server=$!
	listens "$tap_dir/server" || return
	for _ in 1 2 3; do
		timeout 60 "${client[@]}" >>"$tap_dir/client" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || bad=1
	done
	wait $server || bad=1
	[ $bad -eq 0 ] || cat "$tap_dir/server" "$tap_dir/client"
	return $bad
}

notifies()
{
	step notify && says server '1000 records arrived' && says client '1000 records written'
}

loops()
{
	step event_loop && says server '5 messages and a timer, in one loop'
}

for program in step1_open step2_objects step3_connect step4_send step5_rdma step6_errors echo notify; do
	tap "tutorial: $program.c compiles as C11" build $program c11
done
tap 'tutorial: step 1 opens the adapter and shows it' opens
tap 'tutorial: step 1 names the error of an unknown adapter' names_an_unknown_adapter
tap 'tutorial: step 2 makes the objects and frees them' makes_objects
tap 'tutorial: step 3 connects two processes' connects
tap 'tutorial: step 4 sends a message and its answer' sends
tap 'tutorial: step 5 writes and reads by RDMA' writes_and_reads
tap 'tutorial: step 6 goes on after four errors' survives_errors
tap 'tutorial: echo serves three clients at once' serves_three
tap 'tutorial: notify moves a thousand records' notifies
if command -v "${CXX%% *}" >/dev/null; then
	tap 'tutorial: event_loop.cc compiles as C++17' build event_loop c++17 &&
		tap 'tutorial: event_loop waits in epoll' loops
else
	tap_skip 'tutorial: event_loop.cc compiles as C++17' 'no C++ compiler here'
fi
tap_end
