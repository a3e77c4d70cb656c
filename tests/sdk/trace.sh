#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tracing wrapper: what it writes, what it refuses, and that it does not affect an adapter that is not wrapped.
set -u
. "${top_srcdir:=.}/tests/sdk/wrapping.sh"
json=$tap_dir/trace.json

line soft0  libdatsoft.so   ""
line json   libdat-trace.so "soft0 file=$json format=chrome"
line text   libdat-trace.so "soft0 file=$text polls=off"
line slow   libdat-fault.so "soft0 evd_wait:delay=600000"
line killed libdat-trace.so "slow file=$json format=chrome"
line oddé   libdatsoft.so   ""
line name   libdat-trace.so "oddé file=$json format=chrome"
line both   libdat-trace.so "json file=$text"
line pid    libdat-trace.so "soft0 file=$tap_dir/p-%p.txt"
line mock   libdat-trace.so "plain file=$text"
line plain  mock_plain.so   ""
line other  libdat-trace.so "foreign file=$text"
line foreign ../tests/abi/.libs/foreign_plugin.so ""
line self   libdat-trace.so "self"
line a      libdat-trace.so "b"
line b      libdat-trace.so "c"
line c      libdat-trace.so "a"
line nobody libdat-trace.so "soft9"
line empty  libdat-trace.so ""
line option libdat-trace.so "soft0 colour=red"
line nofile libdat-trace.so "soft0 format=chrome"
line spoil  libdat-trace.so "soft0 file=$conf format=chrome"
line denied libdat-trace.so "soft0 file=$tap_dir/no/such/folder"

# visits NAME RETURN
visits() { [ "$(tests/sdk/tour "$1" 2>&1)" = "$1 $2" ]; }
# refuses NAME PATTERN: with one message, which names the line; the next adapter opens all the same
refuses()
{
	local n
	n=$(grep -n "^$1 " "$conf" | cut -d: -f1)
	tests/sdk/tour "$1" soft0 >"$tap_dir/out" 2>"$tap_dir/err"
	cat "$tap_dir/err"
	[ "$(grep -c "$conf:$n: $1: " "$tap_dir/err")" -eq 1 ] && grep -q -E -e "$2" "$tap_dir/err" &&
		! grep -q "^$1 DAT_SUCCESS" "$tap_dir/out" && grep -q '^soft0 DAT_SUCCESS' "$tap_dir/out"
}
refuses_in_one_line() { refuses "$@" && [ "$(wc -l <"$tap_dir/err")" -eq 1 ]; }

# Checks every record of the trace event format that Perfetto reads: an array of complete events with name, time, duration,
# process and thread. The events of a thread follow each other or are nested.
is_json()
{
	command -v python3 >/dev/null || { echo "no python3"; return 1; }
	python3 - "$json" <<-'END'
	import json, sys
	def once(pairs):
	    assert len({k for k, _ in pairs}) == len(pairs), pairs
	    return dict(pairs)
	def never(word):
	    raise ValueError(word)
	events = json.load(open(sys.argv[1], encoding="ascii"), object_pairs_hook=once, parse_constant=never)
	assert isinstance(events, list) and events, "no event"
	ends = {}
	for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
	    assert set(e) == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}, e
	    assert e["ph"] == "X" and e["name"].startswith("dat_") and e["cat"], e
	    assert isinstance(e["ts"], float) and isinstance(e["dur"], float) and e["dur"] >= 0 and e["ts"] > 0, e
	    assert type(e["pid"]) is int and type(e["tid"]) is int, e
	    assert all(isinstance(v, str) for v in e["args"].values()) and e["args"]["result"].startswith("DAT_"), e
	    begin = round(e["ts"] * 1000)
	    end = begin + round(e["dur"] * 1000)
	    stack = ends.setdefault((e["pid"], e["tid"]), [])
	    while stack and stack[-1] <= begin:
	        stack.pop()
	    assert not stack or end <= stack[-1], e
	    stack.append(end)
	names = {e["name"] for e in events}
	assert {"dat_ia_open", "dat_ia_close"} <= names, names
	sends = [e for e in events if e["name"] == "dat_ep_post_send" and e["args"]["result"] == "DAT_SUCCESS"]
	assert sends and all("local_iov" in e["args"] and "user_cookie" in e["args"] for e in sends)
	END
}
exchanges() { ./datconform --ia "$1" --only 'EP_SEND-0*' | tail -n 1 | grep -E '^[0-9]+ passed, 0 failed'; }
crashes()
{
	( tests/sdk/tour json json json & echo $! >"$tap_dir/pid"; wait ) >/dev/null
	is_json
}
# A process that is killed in a call: it waits there, so the file is at rest.
is_killed()
{
	local pid tries=600
	tests/sdk/story killed >/dev/null 2>&1 &
	pid=$!
	while [ $((--tries)) -gt 0 ] && ! grep -q '"dat_ep_connect".*"cat": "slow"' "$json"; do sleep 0.1; done
	kill -KILL $pid
	wait $pid
	[ $tries -gt 0 ] && is_json
}

tap 'trace: an adapter opens and closes through it' visits json DAT_SUCCESS
tap 'trace: messages pass through it' exchanges json
if command -v python3 >/dev/null; then
	tap 'trace: what it writes is a whole trace in JSON' is_json
	tap 'trace: the next run continues it' crashes
	tap 'trace: a process that is killed leaves a whole one' is_killed
	tap 'trace: which is continued, too' eval 'visits name DAT_SUCCESS && grep -q "\"cat\": \"odd??\"" "$json" && is_json'
else
	tap_skip 'trace: what it writes is a whole trace in JSON' 'no python3'
fi
tap 'trace: as text, it names calls, arguments and results' exchanges text
tap 'trace: a call in text' grep -q -E \
	'^[0-9.]+ [0-9]+/[0-9]+ dat_ep_post_send\(ep_handle=0x[0-9a-f]+, num_segments=1, local_iov=\[\{0x.*, user_cookie=0x.*\) = DAT_SUCCESS <[0-9.]+us>$' "$text"
tap 'trace: an event in text' grep -q -E 'dat_evd_wait\(.*event=\{DAT_CONNECTION_EVENT_ESTABLISHED ep=0x' "$text"
tap 'trace: polls=off leaves out dequeues of nothing' test "$(grep -c 'dat_evd_dequeue.*DAT_QUEUE_EMPTY' "$text")" -eq 0
tap 'trace: a wrapper wraps a wrapper' exchanges both
tap 'trace: %p becomes the number of the process' eval 'visits pid DAT_SUCCESS && ls "$tap_dir"/p-[0-9]*.txt'
tap 'trace: a provider that knows nothing of the SDK can be traced' visits mock DAT_SUCCESS
tap 'trace: its calls are written too' grep -q 'ia_name_ptr=mock' "$text"
tap "trace: the endpoint of another provider's event is not looked at, as it may have been freed" tests/sdk/named_test other
tap 'trace: an adapter that wraps itself is refused' refuses_in_one_line self 'DUTY-16: "self" would be beneath itself .self <- self'
tap 'trace: a circle is refused' refuses_in_one_line a 'DUTY-16: .*a <- c <- b <- a'
tap 'trace: from each of its lines' refuses_in_one_line c 'DUTY-16: .*c <- b <- a <- c'
tap 'trace: nobody beneath is refused' refuses nobody '"soft9", does not open .*; name one'
tap 'trace: no name is refused' refuses_in_one_line empty 'has no adapter to wrap; begin the instance data'
tap 'trace: an unknown option is refused' refuses_in_one_line option '"colour=red" in dat.conf is not known; known are file=FILE, format=text[|]chrome, polls=on[|]off'
tap 'trace: JSON without a file is refused' refuses_in_one_line nofile 'add file=FILE'
tap 'trace: a file that is something else is left alone' refuses_in_one_line spoil 'is not a trace in this format; remove it or name'
tap 'trace: a file that cannot be written is refused' refuses_in_one_line denied 'cannot be written: .*; name another file'
tap 'trace: the adapter beneath is not traced when it is opened itself' eval '
	before=$(wc -c <"$text") && visits soft0 DAT_SUCCESS && [ "$(wc -c <"$text")" -eq "$before" ]'
tap_end
