#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The fault-injecting wrapper: what a program is told when something fails, and which rules are refused.
set -u
. "${top_srcdir:=.}/tests/sdk/wrapping.sh"
line soft0 libdatsoft.so ''

# tells RULES LINE...
tells()
{
	adapter soft0 "$1"
	shift
	has_lines broken "$@"
}

# refuses RULES PATTERN
refuses()
{
	adapter soft0 "$1"
	tests/sdk/tour broken >"$tap_dir/out" 2>"$tap_dir/err"
	cat "$tap_dir/out" "$tap_dir/err"
	grep -q '^broken DAT_INVALID_PARAMETER' "$tap_dir/out" && [ "$(wc -l <"$tap_dir/err")" -eq 1 ] &&
		grep -q -F "$conf:2: broken: " "$tap_dir/err" && grep -q -E -e "$2" "$tap_dir/err"
}

printf '# a comment\nep_create:return=INSUFFICIENT_RESOURCES:nth=2 # the second\n' >"$tap_dir/script"

says_rule()
{
	adapter soft0 'ia_open:return=INVALID_PARAMETER:nth=1'
	tests/sdk/story broken 2>&1 >"$tap_dir/out" | tee "$tap_dir/err"
	[ "$(wc -l <"$tap_dir/err")" -eq 1 ] && grep -q -F "$conf:2: broken: " "$tap_dir/err" &&
		grep -q -F 'rule "ia_open:return=INVALID_PARAMETER:nth=1" makes it fail; remove the rule' "$tap_dir/err"
}

warns_of_shared()
{
	adapter soft0 'recv:status=TRANSPORT request:status=TRANSPORT:nth=2'
	timeout 100 "$story" broken shared >"$tap_dir/out" 2>"$tap_dir/err"
	cat "$tap_dir/out" "$tap_dir/err"
	[ "$(cat "$tap_dir/out")" = "$(printf '%s\n' "${whole[@]}")" ] && [ "$(wc -l <"$tap_dir/err")" -eq 2 ] &&
		grep -q -F 'rule "recv:status=TRANSPORT" does not apply to an endpoint that has one EVD' "$tap_dir/err" &&
		grep -q -F 'rule "request:status=TRANSPORT:nth=2" does not apply to an endpoint that has one EVD' "$tap_dir/err"
}

# The program has a locale in which a number has a comma
with_comma()
{
	adapter soft0 'ep_create:return=INSUFFICIENT_RESOURCES:p=1.0'
	LOCPATH=$tap_dir LC_ALL=comma has_lines broken 'ep_create DAT_INSUFFICIENT_RESOURCES'
}

has_comma()
{
	printf 'LC_NUMERIC\ndecimal_point ","\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n' >"$tap_dir/comma.src"
	localedef -c -i "$tap_dir/comma.src" -f ANSI_X3.4-1968 "$tap_dir/comma" 2>"$tap_dir/localedef"
	[ "$(LOCPATH=$tap_dir LC_ALL=comma env printf %.1f 1)" = 1,0 ]
}

same_seed()
{
	local first
	adapter soft0 'seed=7 ep_post_send:return=INSUFFICIENT_RESOURCES:p=0.5'
	first=$(tests/sdk/story broken)
	[ "$first" = "$(tests/sdk/story broken)" ]
}

tap 'fault: without rules nothing fails' tells '' "${whole[@]}"
tap 'fault: a rule whose time never comes does nothing' tells 'ep_create:return=INSUFFICIENT_RESOURCES:nth=99' "${whole[@]}"
tap 'fault: a resource is exhausted' tells 'ep_create:return=INSUFFICIENT_RESOURCES' 'ep_create DAT_INSUFFICIENT_RESOURCES'
tap 'fault: a script has rules too' tells "script=$tap_dir/script" 'ep_create DAT_INSUFFICIENT_RESOURCES'
tap 'fault: the second of a kind alone' tells 'ep_post_send:return=INSUFFICIENT_RESOURCES:nth=2' \
	'post_send DAT_INSUFFICIENT_RESOURCES' 'sent status 0' 'sent status 0' 'received status 0' 'received status 0'
tap 'fault: after the first, twice' tells 'ep_post_send:return=INSUFFICIENT_RESOURCES:after=1,times=2' \
	'post_send DAT_INSUFFICIENT_RESOURCES' 'post_send DAT_INSUFFICIENT_RESOURCES' 'sent status 0' 'received status 0'
tap 'fault: a delay changes nothing else' tells 'ep_post_send:delay=20' "${whole[@]}"
tap 'fault: a completion fails, what follows is flushed, the connection is broken' tells 'request:status=TRANSPORT:nth=2' \
	'sent status 0' "sent status 8" 'sent status 1'
tap 'fault: the program is told that it is broken' tells 'request:status=TRANSPORT:nth=3' 'a BROKEN'
tap 'fault: a receive fails' tells 'recv:status=TRANSPORT:nth=1' 'received status 8' 'received status 1' 'received status 1'
tap 'fault: where one EVD is for both, each rule about one of them is warned of once' warns_of_shared
tap 'fault: and calls fail as elsewhere' shared tells 'ep_post_send:return=INSUFFICIENT_RESOURCES:nth=2' 'post_send DAT_INSUFFICIENT_RESOURCES'
tap 'fault: the peer is lost' tells 'ep_post_send:lost:nth=1' 'a BROKEN'
tap 'fault: the connection ends' tells 'ep_post_send:disconnect:nth=1' 'a DISCONNECTED'
tap 'fault: there is no way to the peer' tells 'ep_connect:event=UNREACHABLE' 'a UNREACHABLE'
tap 'fault: an attempt has one outcome' eval "! tells 'ep_connect:event=TIMED_OUT' 'a TIMED_OUT' 'b ESTABLISHED' 'a DISCONNECTED'"
tap 'fault: an accept is not completed' tells 'cr_accept:event=ACCEPT_COMPLETION_ERROR' 'b ACCEPT_COMPLETION_ERROR'
tap 'fault: an asynchronous error' tells 'ep_post_send:async=IA_CATASTROPHIC:nth=1' 'the CNO reports an asynchronous event' 'async 0x8002 of the IA, reason 0'
tap 'fault: an internal error' tells 'ep_post_send:async=PROVIDER_INTERNAL_ERROR:nth=1' 'async 0x8005 of the IA, reason 1'
tap 'fault: something timed out' tells 'ep_post_send:async=TIMED_OUT:nth=1' 'async 0x8004 of the IA, reason 1'
tap 'fault: an EVD overflows' tells 'request:async=EVD_OVERFLOW:nth=2' 'async 0x8001 of the EVD, reason 0'
tap 'fault: an endpoint is broken' tells 'request:async=EP_BROKEN:nth=3' 'a BROKEN' 'b DISCONNECTED' \
	'the CNO reports an asynchronous event' 'async 0x8003 of the endpoint, reason 0'
# As an adapter does, which keeps the error in the endpoint
forgets_the_freed()
{
	adapter soft0 "$1"
	timeout 100 "$story" broken freed >"$tap_dir/out" 2>&1
	cat "$tap_dir/out"
	grep -q -x 'a BROKEN' "$tap_dir/out" && ! grep -q -E '^async|asynchronous|ep_free' "$tap_dir/out"
}
tap 'fault: a broken endpoint that is freed is not told of' forgets_the_freed 'request:async=EP_BROKEN:nth=3'
tap 'fault: an asynchronous error is there when the adapter opens' tells 'ia_open:async=IA_CATASTROPHIC' 'async 0x8002 of the IA, reason 0'
tap 'fault: without one, no CNO reports it' eval "! tells 'ep_post_send:async=TIMED_OUT:nth=99' 'the CNO reports an asynchronous event'"
tap 'fault: an adapter opens the second time' tells 'ia_open:return=INSUFFICIENT_RESOURCES:nth=1' \
	'ia_open DAT_INSUFFICIENT_RESOURCES' "${whole[@]}"
tap 'fault: it says which rule let it fail' says_rule
tap 'fault: an adapter closes the second time' tells 'ia_close:return=INSUFFICIENT_RESOURCES:nth=1' 'b DISCONNECTED' \
	'ia_close DAT_INSUFFICIENT_RESOURCES'
tap 'fault: a CNO is not to be had' tells 'cno_create:return=INSUFFICIENT_RESOURCES' 'cno_create DAT_INSUFFICIENT_RESOURCES'
tap 'fault: an empty queue is reported as any other' eval \
	"! tells 'evd_dequeue:return=QUEUE_EMPTY' 'evd_dequeue returns 0x800d0000' && tells 'evd_dequeue:return=INVALID_STATE' 'evd_dequeue returns 0x80070000'"
tap 'fault: an empty queue and a timeout have the value of a real one' same_values soft0
tap 'fault: a wait for a CNO takes its time' tells 'cno_wait:delay=20' "${whole[@]}"
tap 'fault: the same seed gives the same story' same_seed
if has_comma; then
	tap 'fault: a probability has a point in every locale' with_comma
else
	tap_skip 'fault: a probability has a point in every locale' "localedef makes no locale: $(tail -n 1 "$tap_dir/localedef")"
fi
tap 'fault: a probability with a comma is refused' refuses 'ep_create:delay=1:p=0,5' '"p=0" is not a condition'
tap 'fault: a probability above 1 is refused' refuses 'ep_create:delay=1:p=1.5' '"p=1.5" is not a condition'
tap 'fault: a number that is none is no probability' refuses 'ep_create:delay=1:p=nan' '"p=nan" is not a condition'
tap 'fault: what the standard does not allow is refused' refuses 'evd_dequeue:return=INSUFFICIENT_RESOURCES' \
	'does not allow INSUFFICIENT_RESOURCES there; allowed are: .*QUEUE_EMPTY'
tap 'fault: an unknown status is refused' refuses 'request:status=FLUSHED' 'does not allow FLUSHED there; allowed are TRANSPORT'
tap 'fault: an error of an EVD is not that of an endpoint' refuses 'ep_post_send:async=EVD_OVERFLOW' \
	'does not allow EVD_OVERFLOW there; allowed are .*EP_BROKEN'
tap 'fault: an unknown call is refused' refuses 'ep_explode:delay=1' 'is neither a rule nor an option; write TARGET:ACTION'
tap 'fault: an action in the wrong place is refused' refuses 'pz_create:lost' 'is not possible there; the actions are'
tap 'fault: a time that is none is refused' refuses 'ep_create:delay=1:nth=0' 'is not a condition; the conditions are nth=N'
tap 'fault: a script that is a directory is refused' refuses "script=$tap_dir" "script $tap_dir cannot be read: Is a directory; name another"
tap 'fault: a script that is not there is refused' refuses 'script=/no/such/file' 'cannot be read: .*; name another'
tap_end
