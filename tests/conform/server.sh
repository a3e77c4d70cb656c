#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datconform --server and --connect: two commands that judge together, and a server that outlives what comes to it.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

./datconform --ia soft0 --server --port 0 --patience 5 2>"$tap_dir/server" &
server=$!
trap 'kill -KILL $server 2>/dev/null; rm -rf "$tap_dir"' EXIT
for _ in $(seq 600); do
	grep -q serves "$tap_dir/server" || ! kill -0 $server 2>/dev/null && break
	sleep 0.1
done
reached() { sed -n 's/.*--connect //p' "$tap_dir/$1"; }
at=$(reached server)
port=${at##*:} at=${at%:*}

few() { ./datconform --ia soft0 --connect "$at:$port" --patience 20 "$@"; }
judged() { few --only 'CR_*' --only 'EP_DISC-*' | tail -n 1 | grep -E -x '[0-9]{2,} passed, 0 failed, [0-9]+ skipped'; }
only_two() { [ "$(few --only EVD_WAIT-08 2>&1 | head -n 1)" = 'datconform: no clause has an id or function that matches: see --list' ]; }
# say BYTES...: sends the bytes to the server, and checks that the server goes on
say()
{
	timeout 30 bash -c "exec 3<>/dev/tcp/$at/$port; printf '$1' >&3; cat <&3 >/dev/null"
	one
}
one() { few --only CR_QUERY-04 | grep -x '1 passed, 0 failed, 0 skipped'; }
killed_client()
{
	few --only 'EP_*' >/dev/null 2>&1 &
	local client=$!
	sleep 0.3
	kill -KILL $client
	wait $client 2>/dev/null
	one
}

# A server that is killed is no failure of the provider's.
server_gone()
{
	local status=0 gone run
	./datconform --ia soft0 --server --port 0 --patience 20 2>"$tap_dir/gone" &
	gone=$!
	until grep -q serves "$tap_dir/gone" || ! kill -0 $gone; do sleep 0.1; done
	./datconform --ia soft0 --connect "$(reached gone)" --patience 20 --jobs 1 --only 'EP_*' --tap >"$tap_dir/tap" &
	run=$!
	until pgrep -P $gone >"$tap_dir/pids"; do kill -0 $run || break; sleep 0.01; done
	kill -KILL $gone
	wait $run || status=$?
	wait $gone
	grep -c '^ok.*SKIP untested: the server had ended' "$tap_dir/tap"
	[ $status -eq 3 ] && ! grep '^not ok' "$tap_dir/tap"
}

# start_crowd FROM COUNT [EACH]: makes COUNT connections that send nothing, EACH from one address, and sets crowd. end_crowd ends them.
start_crowd()
{
	mkfifo "$tap_dir/hold" "$tap_dir/there"
	timeout 100 tests/conform/crowd "$1" "$at" "$port" "${@:2}" <"$tap_dir/hold" >"$tap_dir/there" &
	crowd=$!
	exec 8>"$tap_dir/hold"
	read -r -t 30 <"$tap_dir/there"
	rm "$tap_dir/hold" "$tap_dir/there"
}
end_crowd()
{
	exec 8>&-
	wait $crowd
}
# crowd_of FROM COUNT [EACH]
crowd_of()
{
	local status=0
	start_crowd "$@" || return
	one || status=$?
	end_crowd
	return $status
}
# Long EVDs are memory that the provider takes; the message names the limits, and comes once in a while only.
greed()
{
	local i began=$SECONDS
	for i in 1 2 3 4 5; do
		[ "$(timeout 100 tests/conform/greedy "$at" "$port")" = 0 ] || return
	done
	one && greed_told
}
greed_told()
{
	local tries=0
	until grep -q 'a test is ended, because it asked for more than a test gets: 128 MiB of memory, EVDs for 65536 events' "$tap_dir/server"; do
		[ $((tries += 1)) -lt 300 ] || return
		sleep 0.1
	done
	[ "$(grep -c 'asked for more' "$tap_dir/server")" -le $(((SECONDS - began) / 10 + 2)) ]
}
closed_told() { [ "$(grep -c 'has said nothing makes room' "$tap_dir/server")" -ge 1 ] && [ "$(wc -l <"$tap_dir/server")" -lt 20 ]; }

ticks() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }
# While it has no descriptor for a connection, it rests, and afterwards it goes on.
without_descriptors()
{
	local before after usual
	usual=$(prlimit --pid $server --nofile --noheadings --output SOFT) || return
	prlimit --pid $server --nofile=3: || return
	exec 9<>"/dev/tcp/$at/$port" || return
	before=$(ticks)
	sleep 2
	after=$(ticks)
	prlimit --pid $server --nofile="${usual// /}": || return
	exec 9>&-
	echo "$((after - before)) ticks"
	[ $((after - before)) -lt 50 ] && one
}

# The other version of uDAPL has structures of another size.
of_2_0()
{
	local status=0 two
	./datconform --api 2.0 --ia soft0 --server --port 0 --patience 5 2>"$tap_dir/two" &
	two=$!
	until grep -q serves "$tap_dir/two" || ! kill -0 $two; do sleep 0.1; done
	grep -F 'datconform --api 2.0 --ia soft0 --connect' "$tap_dir/two" &&
		./datconform --api 2.0 --ia soft0 --connect "$(reached two)" --patience 20 --only 'CR_QUERY-0*' --only D20-17 >"$tap_dir/judged" &&
		grep -E '^[0-9]+ passed, 0 failed, [0-9]+ skipped' "$tap_dir/judged" || status=$?
	./datconform --ia soft0 --connect "$(reached two)" --patience 20 2>"$tap_dir/refused"
	[ $? -eq 3 ] && grep 'it is not a datconform of this version for uDAPL 1.2' "$tap_dir/refused" || status=1
	kill -TERM $two
	wait $two
	return $status
}

tap 'server: it says how to be reached' test -n "$at"
tap 'server: clauses with two sides are judged with it' judged
tap 'server: clauses of one side are not run' only_two
tap 'server: words that are no steps end only their own connection' say 'GET / HTTP/1.0\r\n\r\n'
tap 'server: lengths beyond reason too' say '\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377'
tap 'server: a step before the first one too' say '\0\0\0\0\0\0\0\12\0\0\0\0\0\0\0\0'
tap 'server: a client that asks for very long queues gets none, and the server says what there is' greed
tap 'server: a client that dies in the middle leaves it alone' killed_client
tap 'server: connections of another address that say nothing do not keep a client out' crowd_of 127.0.0.9 400
tap 'server: those of many addresses do not either' crowd_of 127.0.0.2 320 80
tap 'server: those of its own address do not either' crowd_of "$at" 400
tap 'server: it rests while it has no descriptor for a connection' without_descriptors
tap 'server: what is closed for others is printed, and does not fill a log' closed_told
tap 'server: another one at the same port says so' tap_status 3 ./datconform --ia soft0 --server --port $port
tap 'server: when it is killed, what is left is untested, and the status says so' server_gone
kill -TERM $server
wait $server
tap 'server: it ends well when asked to' test $? -eq 0
tap 'server: one of 2.0 judges with clients of 2.0, and with no others' of_2_0
tap 'server: without it, there is nothing to judge' tap_status 3 few --only CR_QUERY-04
tap_end
