#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The wrappers under programs of DAT 2.0: what the tracing one writes, and what the fault-injecting one makes of calls and events.
set -u
. "${top_srcdir:=.}/tests/sdk/wrapping.sh"
story=tests/dat20/story

line base libdatsoft.so ""
line traced libdat-trace.so "base file=$text polls=off"
line twice libdat-trace.so "traced file=$text"
line nobody libdat-trace.so "soft9"
line self libdat-trace.so "self"
# wrappers that were built before they could serve 2.0, one of them in the place of ours
mkdir "$tap_dir/old"
cp "$libs/watch_sdk07.so" "$tap_dir/old/libdat-trace.so"
printf '%s %s nonthreadsafe default %s opendat.1.0 "base" ""\n' old u1.2 "$tap_dir/old/libdat-trace.so" said u2.0 "$libs/watch_sdk02.so" \
	silent u1.2 "$libs/watch_sdk09.so" >>"$conf"
# lines for 2.0 alone
printf '%s u2.0 nonthreadsafe default %s opendat.1.0 "%s" ""\n' base20 "$libs/libdatsoft.so" '' \
	traced20 "$libs/libdat-trace.so" "base20 file=$tap_dir/trace20.txt" >>"$conf"

# tells RULES LINE...
tells()
{
	adapter base "$1"
	shift
	has_lines broken "$@"
}
judged() { timeout 300 ./datconform --api 2.0 --ia "$1" --only "$2" | tail -n 1 | grep -E '^[1-9][0-9]* passed, 0 failed'; }
opens_not()
{
	timeout 100 "$story" "$1" >"$tap_dir/out" 2>"$tap_dir/err"
	cat "$tap_dir/out" "$tap_dir/err"
	grep -q -E -e "$2" "$tap_dir/err"
}
has() { grep -E -m 1 -e "$1" "$text"; }
# A query without an open is an open with the least queue, a query and a close.
is_queried()
{
	: >"$text"
	judged traced D20-34
	grep -m 1 -A 2 'dat_ia_open(ia_name_ptr=traced, async_evd_min_qlen=1, .* = DAT_SUCCESS' "$text" | tee "$tap_dir/query"
	[ "$(sed -n 's/^.* dat_\(ia_[a-z]*\)(.* = DAT_SUCCESS .*/\1/p' "$tap_dir/query" | tr '\n' ' ')" = 'ia_open ia_query ia_close ' ]
}
closes_what_it_opens() { [ "$(grep -c 'dat_ia_open(.*DAT_SUCCESS' "$text")" -eq "$(grep -c 'dat_ia_close(.*DAT_SUCCESS' "$text")" ]; }
queries_nothing() { : >"$text"; adapter traced 'ia_query:return=INVALID_PARAMETER' && ! judged broken D20-34 && closes_what_it_opens; }

tap 'wrapped: messages pass through a trace' is_whole traced
tap 'wrapped: the trace has a post with its segment and cookie' has \
	'dat_ep_post_send\(ep_handle=0x[0-9a-f]+, num_segments=1, local_iov=\[\{0x[0-9a-f]+ 0x[0-9a-f]+\+64\}\], user_cookie=0x2, completion_flags=0x0\) = DAT_SUCCESS '
tap 'wrapped: a completion names its operation' has \
	'dat_evd_wait\(.*event=\{DAT_DTO_COMPLETION_EVENT ep=0x[0-9a-f]+ cookie=0x1 DAT_DTO_SUCCESS length=64 DAT_DTO_RECEIVE\}'
tap 'wrapped: a request, too' has 'DAT_DTO_SUCCESS length=64 DAT_DTO_SEND\}'
tap 'wrapped: a connection event' has 'event=\{DAT_CONNECTION_EVENT_ESTABLISHED ep=0x[0-9a-f]+ private_data_size=0\}'
tap 'wrapped: a call that 2.0 has another argument of' has 'dat_lmr_create\(.*mem_privileges=0x[0-9a-f]+, va_type=0x0, lmr_handle=0x'
tap 'wrapped: a wrapper wraps a wrapper' is_whole twice
tap 'wrapped: lines for 2.0 alone' is_whole traced20
tap 'wrapped: the suite for 2.0 passes through a trace' judged traced 'EP_SEND-0*'
tap 'wrapped: the extensions pass through a trace' judged traced 'D20-4*'
tap 'wrapped: which has their names' has \
	'dat_extension_op\(handle=0x[0-9a-f]+, ext_op=DAT_IB_RDMA_WRITE_IMMED_OP, arguments=0x[0-9a-f]+\) = DAT_SUCCESS '
tap 'wrapped: and their events' has 'event=\{DAT_IB_DTO_EVENT ep=0x[0-9a-f]+ cookie=0x[0-9a-f]+ DAT_DTO_SUCCESS length=[0-9]+ DAT_IB_DTO_'
tap 'wrapped: a refused call has a value of 2.0 by name' has 'DAT_INVALID_PARAMETER DAT_INVALID_ARG[0-9] <'
tap 'wrapped: a program of 2.0 is served through a trace as it is without' env OPENDAT_TEST_IA=traced tests/dat20/edge_test
tap 'wrapped: and through a trace of a trace' env OPENDAT_TEST_IA=twice tests/dat20/edge_test
tap 'wrapped: an EVD of another adapter is served through a trace of a trace' env OPENDAT_TEST_IA=twice tests/dat20/loan_test
tap 'wrapped: an event of a freed endpoint touches no other adapter' tests/dat20/left_test traced base
fails_once() { adapter base 'ep_connect:event=UNREACHABLE' && tests/dat20/left_test broken; }
tap 'wrapped: an attempt that is made to fail has one outcome, also if its endpoint is freed' fails_once
tap 'wrapped: a trace has a query without an open as an open, a query and a close' is_queried
tap 'wrapped: a query that fails leaves nothing open' queries_nothing
tap 'wrapped: nobody beneath is refused' opens_not nobody '"soft9", does not open .*; name one'
tap 'wrapped: one that was built before 2.0 is refused, by a line for 1.2' opens_not old \
	"dat.conf:[0-9]+: old: .*\"watch\", built with provider SDK 0.7, has no part for programs of DAT 2.0; have the program open the adapter beneath, or "
tap 'wrapped: and by a line for 2.0' opens_not said '"watch", built with provider SDK 0.2, has no part for programs of DAT 2.0; '
tap "wrapped: another's line for 1.2 is for 1.2 alone" opens_not silent 'silent: offers u1.2 nonthreadsafe, the program asks for u2.0; name another'
tap 'wrapped: an adapter that wraps itself is refused' opens_not self 'DUTY-16: "self" would be beneath itself'

tap 'wrapped: faults without rules change nothing' tells '' "${whole[@]}"
tap 'wrapped: a call returns what a rule says' tells 'ep_create:return=INSUFFICIENT_RESOURCES:nth=2' 'ep_create DAT_INSUFFICIENT_RESOURCES'
tap 'wrapped: an empty queue and a timeout have the value of a real one' same_values base
tap 'wrapped: a request fails, and what follows is flushed' tells 'request:status=TRANSPORT:nth=2' \
	'sent status 0' 'sent status 8' 'sent status 1'
tap 'wrapped: the connection is broken then' tells 'request:status=TRANSPORT:nth=2' 'a BROKEN' 'b DISCONNECTED'
tap 'wrapped: a receive fails' tells 'recv:status=PARTIAL_PACKET:nth=1' 'received status 10' 'received status 1' 'received status 1'
tap 'wrapped: a receive fails where requests complete on the same EVD' shared tells 'recv:status=TRANSPORT:nth=1' \
	'sent status 0' 'sent status 0' 'sent status 0' 'received status 8' 'received status 1' 'received status 1'
tap 'wrapped: a request, too' shared tells 'request:status=TRANSPORT:nth=2' 'sent status 0' 'sent status 8' 'sent status 1'
tap 'wrapped: and receives do not count as requests' shared tells 'request:status=TRANSPORT:nth=4' "${whole[@]}"
# The first completion that D20-40 looks at is that of a receive.
immediate_is_received()
{
	adapter base 'recv:status=PARTIAL_PACKET request:status=BAD_RESPONSE'
	timeout 300 ./datconform --api 2.0 --ia broken --only D20-40 --patience 20 | grep -m 1 '^    got ' | grep -x '    got      10 (0xa)'
}
tap 'wrapped: a receive that takes immediate data is a receive' immediate_is_received
tap 'wrapped: an attempt ends as a rule says' tells 'ep_connect:event=UNREACHABLE' 'a UNREACHABLE'
tap 'wrapped: an accept ends as a rule says' tells 'cr_accept:event=ACCEPT_COMPLETION_ERROR' 'b ACCEPT_COMPLETION_ERROR'
tap 'wrapped: an asynchronous error, which the CNO reports' tells 'ep_post_send:async=EP_BROKEN:nth=1' \
	'the CNO reports an asynchronous event' 'async 0x8003 of the endpoint, reason 0'
tap 'wrapped: a call of the extensions can fail' eval 'adapter base extension_op:return=INSUFFICIENT_RESOURCES && ! judged broken "D20-4*"'
tap_end
