#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The test programs of DAT 2.0 that Debian ships, as they are, on libdat2 over soft0: a server and a client each. They say
# in words whether they have passed, and their exit status says nothing.
. "${top_srcdir:-.}/tests/harness/tap.sh"

conf=$tap_dir/dat.conf
printf 'soft0 u2.0 nonthreadsafe default %s opendat.1.0 "" ""\n' "$PWD/.libs/libdatsoft.so" >"$conf"
bound=${CHECK_WATCHDOG:-120}

# on_ours COMMAND...: with our libdat2 in the place of the system's
on_ours()
{
	timeout -k 5 "$bound" env LD_LIBRARY_PATH="$PWD/.libs" DAT_OVERRIDE="$conf" "$@"
}

# Whether a server can be asked: at the TCP port by which most of these programs meet, or at its service point of soft0.
by_tcp() { grep -q ' 00000000:3DD4 00000000:0000 0A ' /proc/net/tcp; }
by_service_point() { grep -q "@opendat-soft/$DAT_SOFT_REALM/.*/b0c0\$" /proc/net/unix; }

# pair WORDS SERVER-COMMAND CLIENT-COMMAND [READY]: both print the words.
pair()
{
	local words=$1 ready=${4:-by_tcp} server status=0
	on_ours sh -c "exec $2" >"$tap_dir/server" 2>&1 </dev/null &
	server=$!
	until $ready; do
		kill -0 $server 2>/dev/null || break
		sleep 0.05
	done
	on_ours sh -c "exec $3" >"$tap_dir/client" 2>&1 </dev/null || status=$?
	wait $server
	grep -q -e "$words" "$tap_dir/client" && grep -q -e "$words" "$tap_dir/server" && return
	tail -n 20 "$tap_dir/client" "$tap_dir/server"
	echo "the client's status: $status"
	return 1
}

if ! command -v dtest >/dev/null; then
	tap_skip 'dat20: programs of DAT 2.0 run on libdat2' "dtest is not installed; Debian's package is dapl2-utils"
	tap_end
fi
tap 'dat20: dtest waits' pair 'Test Complete. PASSED' 'dtest -P soft0 -b 4096 -B 20 -s' 'dtest -P soft0 -b 4096 -B 20 -h localhost'
tap 'dat20: dtest polls' pair 'Test Complete. PASSED' 'dtest -P soft0 -p -b 4096 -B 20 -s' 'dtest -P soft0 -p -b 4096 -B 20 -h localhost'
tap 'dat20: dtest uses CNOs' pair 'Test Complete. PASSED' 'dtest -P soft0 -c -b 4096 -B 20 -s' 'dtest -P soft0 -c -b 4096 -B 20 -h localhost'
tap 'dat20: dtestcm makes 40 connections' pair 'Connection Test Complete' 'dtestcm -P soft0 -c 40 -b 10 -s' \
	'dtestcm -P soft0 -c 40 -b 10 -h localhost'
tap 'dat20: dtestsrq hears of the end of each endpoint of an SRQ' pair 'SRQ Test Complete' 'dtestsrq -P soft0 -c 8 -B 8 -s' \
	'dtestsrq -P soft0 -c 8 -B 8 -h localhost' by_service_point
tap_end
