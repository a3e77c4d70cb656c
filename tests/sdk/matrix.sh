#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Plugins of every age and every oddity in one dat.conf, opened one after the other by one process: each is taken, or refused
# with one message that names file, line, duty and remedy; and the process and every other adapter go on.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
unset DAT_DBG_TYPE DAT_DBG_DEST
libs=$PWD/.libs
conf=$tap_dir/dat.conf
export DAT_OVERRIDE=$conf

# mock | safety in dat.conf | what opening it gives | what the message says; - for none
table='
mock_plain       nonthreadsafe  DAT_SUCCESS             -
mock_no_fini     nonthreadsafe  DAT_SUCCESS             -
mock_higher_minor nonthreadsafe DAT_SUCCESS             -
mock_two_names   nonthreadsafe  DAT_SUCCESS             -
mock_null_slots  nonthreadsafe  DAT_SUCCESS             -
mock_no_remove   nonthreadsafe  DAT_SUCCESS             -
mock_no_init     nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-01: .*has no symbol dat_provider_init.*; correct the library
mock_nothing     nonthreadsafe  DAT_PROVIDER_NOT_FOUND  registered no adapter .*; correct them in that line
mock_other_name  nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-01: .*registered other .*; correct the name
mock_legacy11    nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-01: .*registered .*u1.1.*; correct the name, version
mock_foreign_major nonthreadsafe DAT_PROVIDER_NOT_FOUND registered no adapter .*; correct them in that line
mock_flip_safety threadsafe     DAT_PROVIDER_NOT_FOUND  DUTY-01: .*registered .*nonthreadsafe.*; correct the name, version or thread safety
mock_undefined   nonthreadsafe  DAT_PROVIDER_NOT_FOUND  undefined symbol: nobody_defines_this; it was built for another version of a library that it uses: install
mock_open_fails  nonthreadsafe  DAT_INSUFFICIENT_RESOURCES  could not open it: DAT_INSUFFICIENT_RESOURCES.*; check that its device exists
mock_open_nothing nonthreadsafe DAT_INTERNAL_ERROR      could not open it: DAT_INTERNAL_ERROR
mock_reenter     nonthreadsafe  DAT_SUCCESS             DUTY-17: .*from within .*; open it from somewhere else
odd_none         nonthreadsafe  DAT_SUCCESS             -
odd_sdk01        nonthreadsafe  DAT_SUCCESS             -
odd_sdk02        nonthreadsafe  DAT_SUCCESS             -
watch_sdk02      nonthreadsafe  DAT_SUCCESS             -
odd_sdk03        nonthreadsafe  DAT_SUCCESS             -
watch_sdk03      nonthreadsafe  DAT_SUCCESS             -
odd_sdk04        nonthreadsafe  DAT_SUCCESS             -
watch_sdk04      nonthreadsafe  DAT_SUCCESS             -
odd_sdk05        nonthreadsafe  DAT_SUCCESS             -
watch_sdk05      nonthreadsafe  DAT_SUCCESS             -
odd_sdk06        nonthreadsafe  DAT_SUCCESS             -
watch_sdk06      nonthreadsafe  DAT_SUCCESS             -
odd_sdk07        nonthreadsafe  DAT_SUCCESS             -
watch_sdk07      nonthreadsafe  DAT_SUCCESS             -
odd_sdk08        nonthreadsafe  DAT_SUCCESS             -
watch_sdk08      nonthreadsafe  DAT_SUCCESS             -
odd_sdk09        nonthreadsafe  DAT_SUCCESS             -
watch_sdk09      nonthreadsafe  DAT_SUCCESS             -
odd_sdk10        nonthreadsafe  DAT_SUCCESS             -
watch_sdk10      nonthreadsafe  DAT_SUCCESS             -
odd_cxx          nonthreadsafe  DAT_SUCCESS             -
watch_cxx        nonthreadsafe  DAT_SUCCESS             -
odd_minor        nonthreadsafe  DAT_SUCCESS             -
odd_future       nonthreadsafe  DAT_SUCCESS             -
odd_slow         nonthreadsafe  DAT_SUCCESS             -
odd_major        nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-03: plugin "odd" was built with provider SDK 7[.].*; install the libdatp of SDK 7, or rebuild
odd_short        nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-04: .*lacks the required ops ep_connect, cr_accept,.*; set them in
odd_null         nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-04: .*lacks the required ops sp_listen, cr_free; set them in
odd_need         nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-07: .*feature bit 0x40000000.*; leave that bit out
odd_trait        nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-20: .*sets bit 0x1 of its traits.*; leave that bit out
odd_trait_sdk04  nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-20: .*sets bit 0x1 of its traits.*; leave that bit out
odd_small        nonthreadsafe  DAT_PROVIDER_NOT_FOUND  DUTY-06: .*ep_size = .*; use the sizeof
'

names=()
while read -r mock safety _; do
	[ -n "$mock" ] || continue
	# the adapter beneath, for wrappers; other plugins ignore this
	echo "$mock u1.2 $safety default $libs/$mock.so test.1.0 \"mock_plain\" \"\"" >>"$conf"
	if [ "$safety" = threadsafe ]; then
		names+=("$mock!")
	else
		names+=("$mock")
	fi
done <<<"$table"
echo "soft0 u1.2 nonthreadsafe default $libs/libdatsoft.so opendat.1.0 \"\" \"\"" >>"$conf"

# Checks that a mock leads to exactly one message, or to none.
says()
{
	local mock=$1 line=$2 wanted=$3 about
	about=$(grep -E "(^|[ :])$mock[: ]" "$tap_dir/err")
	if [ "$wanted" = - ]; then
		[ -z "$about" ] || { echo "$about"; return 1; }
		return 0
	fi
	echo "$about"
	[ "$(wc -l <<<"$about")" -eq 1 ] && grep -q -F "$conf:$line: $mock: " <<<"$about" && grep -q -E -e "$wanted" <<<"$about"
}

tour()
{
	tests/sdk/tour "${names[@]}" soft0 mock_plain odd_none >"$tap_dir/out" 2>"$tap_dir/err"
}

tap 'sdk: one process visits them all' tour
line=0
while read -r mock safety result message; do
	[ -n "$mock" ] || continue
	line=$((line + 1))
	tap "sdk: $mock gives $result" grep -q -E "^$mock!? $result\$" "$tap_dir/out"
	tap "sdk: $mock is spoken of as it should" says "$mock" $line "$message"
done <<<"$table"
tap 'sdk: afterwards the others open as before' test "$(tail -n 3 "$tap_dir/out" | grep -c ' DAT_SUCCESS$')" -eq 3
for version in 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0; do
	tap "sdk: dump takes a plugin of SDK $version" tap_holds "^sdk=$version\$" ./datctl dump "$libs/odd_sdk${version/./}.so"
	[ $version = 0.1 ] || # which has no wrappers
		tap "sdk: dump takes a wrapper of SDK $version" tap_holds "^sdk=$version\$" ./datctl dump "$libs/watch_sdk${version/./}.so"
done
tap 'sdk: dump says of a later one what is ignored' tap_holds '^ignored=1$' ./datctl dump "$libs/odd_future.so"
tap 'sdk: dump fails for one that does not load' tap_status 1 ./datctl dump "$libs/odd_need.so"
tap 'sdk: dump names the duty' grep -q '^why=DUTY-04: ' <(./datctl dump "$libs/odd_null.so")
tap 'sdk: dump names the op' grep -q '^op.sp_listen=missing$' <(./datctl dump "$libs/odd_null.so")
tap 'sdk: dump knows a plugin of the plain standard' tap_holds '^sdk=none$' ./datctl dump "$libs/mock_plain.so"
tap 'sdk: dump refuses what is no provider' tap_status 1 ./datctl dump "$libs/mock_no_init.so"
tap 'sdk: dump gives each of ours the same keys' test "$(
	for plugin in "$libs"/libdatsoft.so "$libs"/libdat-*.so; do [ ! -e "$plugin" ] || ./datctl dump "$plugin" | cut -d= -f1 | md5sum; done | sort -u | wc -l)" -eq 1
tap_end
