# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The wrappers under programs of DAT 2.0 over a device, by a line for 1.2 of each wrapper: over our providers, and over OFED's. What a
# program gets to know through a wrapper is what it gets to know without one. dat20_test.sh sources this file; its functions name
# the adapters beneath.
cp "$DAT_OVERRIDE" "$tap_dir/dat.conf"
. "$top_srcdir/tests/sdk/wrapping.sh"
story=tests/dat20/story
line traced-rxe libdat-trace.so "ib-rxe0 polls=off file=$tap_dir/ib-rxe0.txt"
line traced-siw libdat-trace.so "iwarp-siw0 polls=off file=$tap_dir/iwarp-siw0.txt"
line twice-rxe libdat-fault.so 'traced-rxe'
line twice-siw libdat-fault.so 'traced-siw'
sed -n 's/^ib-\(rxe0 .*"rxe0 1\)/counted-\1 counters=on/p; s/^iwarp-\(siw0 .*"siw0 1\)/counted-\1 counters=on/p' "$conf" >"$tap_dir/counted"
cat "$tap_dir/counted" >>"$conf"
own_conf=$conf

# tells BENEATH RULES LINE...
tells()
{
	adapter "$1" "$2"
	has_lines broken "${@:3}"
}

judged() { timeout 300 ./datconform --api 2.0 --ia "$1" --only "$2" | tail -n 1 | grep -E '^[1-9][0-9]* passed, 0 failed'; }

# wrapped KIND ADAPTER: over one of our providers
wrapped()
{
	tap "$1: messages pass through a trace" is_whole "traced-$1"
	tap "$1: the trace has the completions" grep -E -m 1 'DAT_DTO_SUCCESS length=64 DAT_DTO_SEND\}' "$tap_dir/$2.txt"
	tap "$1: a wrapper wraps a wrapper" is_whole "twice-$1"
	tap "$1: clauses of the suite for 2.0 pass through both" judged "twice-$1" 'EP_SEND-0[1-4]'
	tap "$1: a query without an open passes through both" judged "twice-$1" D20-34
	tap "$1: a call fails as a rule says" tells "$2" 'ep_create:return=INSUFFICIENT_RESOURCES:nth=2' \
		'ep_create DAT_INSUFFICIENT_RESOURCES'
	tap "$1: a request fails, and what follows is flushed" tells "$2" 'request:status=TRANSPORT:nth=2' \
		'sent status 0' 'sent status 8' 'sent status 1'
	tap "$1: an attempt ends as a rule says" tells "$2" 'ep_connect:event=UNREACHABLE' 'a UNREACHABLE'
	tap "$1: the counters count" timeout 300 tests/dat20/counters_test "$2" "counted-${2#*-}"
}

# Runs a program on our libdat2 with OFED's provider, and the wrappers over it.
wrapped_theirs() { LD_LIBRARY_PATH=$tap_dir/dat2 LD_DEBUG=files LD_DEBUG_OUTPUT=$tap_dir/wrapped DAT_OVERRIDE=$tap_dir/theirs.conf timeout 100 "$@"; }

# same_story BARE WRAPPED: a program gets to know the same of both, and it is more than a refusal
same_story()
{
	local bare wrapped
	bare=$(wrapped_theirs "$story" "$1" 2>&1)
	wrapped=$(wrapped_theirs "$story" "$2" 2>&1)
	printf '%s\n' "$bare" "--" "$wrapped"
	[ "$bare" = "$wrapped" ] && [[ $bare == *'received status 0'* ]]
}

# Checks that OFED's provider was the one beneath.
theirs_was_beneath()
{
	grep -l 'calling init: .*/libdat-trace.so' "$tap_dir"/wrapped.* | while read -r file; do
		grep 'calling init: .*/libdaplofa' "$file"
	done | grep -v "$PWD" | grep -c . && ! grep "calling init: $PWD.*/libdaplofa" "$tap_dir"/wrapped.*
}

queries_theirs() { wrapped_theirs .libs/datconform-2.0 --ia traced --only D20-34 | tail -n 1 | grep -x '1 passed, 0 failed, 0 skipped'; }
fails_as_ruled() { wrapped_theirs "$story" broken | grep -x 'ep_create DAT_INSUFFICIENT_RESOURCES'; }

# wrapped_ofed KIND ADAPTER: over OFED's
wrapped_ofed()
{
	conf=$tap_dir/theirs.conf
	cp "$LAB_OFED_CONF" "$conf"
	line traced libdat-trace.so "$2 file=$tap_dir/theirs-$1.txt"
	line broken libdat-fault.so "$2 ep_create:return=INSUFFICIENT_RESOURCES:nth=2"
	conf=$own_conf
	tap "$1: the same messages pass through a trace over OFED's provider" same_story "$2" traced
	tap "$1: a query without an open passes through a trace over OFED's provider" queries_theirs
	tap "$1: a call over OFED's provider fails as a rule says" fails_as_ruled
	tap "$1: it was OFED's provider" theirs_was_beneath
}
