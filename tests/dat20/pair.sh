# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Runs the test programs of DAT 2.0 that Debian ships, as they are: a server and a client. They say in words whether they have
# passed, and their exit status says nothing.
. "${top_srcdir:-.}/tests/harness/tap.sh"

bound=${CHECK_WATCHDOG:-120}	# for each side, in seconds
server=ours client=ours		# whose libdat2 a side is run with: the name of a function

# ours COMMAND...: with our libdat2 in the place of the system's
ours()
{
	LD_LIBRARY_PATH=$PWD/.libs "$@"
}

# Whether a server can be asked: most of these programs meet at a TCP port first.
by_tcp() { grep -q ' 00000000:3DD4 00000000:0000 0A ' /proc/net/tcp; }

# pair WORDS SERVER-COMMAND CLIENT-COMMAND [READY]: both print the words.
pair()
{
	local words=$1 ready=${4:-by_tcp} process status=0
	# shellcheck disable=SC2086 # a list of words
	$server timeout -k 5 "$bound" $2 >"$tap_dir/server" 2>&1 </dev/null &
	process=$!
	until $ready; do
		kill -0 $process 2>/dev/null || break
		sleep 0.05
	done
	# shellcheck disable=SC2086 # a list of words
	$client timeout -k 5 "$bound" $3 >"$tap_dir/client" 2>&1 </dev/null || status=$?
	wait $process
	grep -q -e "$words" "$tap_dir/client" && grep -q -e "$words" "$tap_dir/server" && return
	tail -n 20 "$tap_dir/client" "$tap_dir/server"
	echo "the client's status: $status"
	return 1
}

# dtest_passes NAME ADAPTER HOST [OPTION...]: a test of this name, by dtest on both sides
dtest_passes()
{
	local command="dtest -P $2 ${*:4} -b 4096 -B 20"
	tap "$1" pair 'Test Complete. PASSED' "$command -s" "$command -h $3"
}

# dtestx_passes NAME ADAPTER HOST [OPTION...]: the same by dtestx, which exchanges by the InfiniBand extensions
dtestx_passes()
{
	local command="dtestx -P $2 ${*:4}"
	tap "$1" pair 'IB extension test - immed/atomic test PASSED' "$command -s" "$command -h $3"
}

if ! command -v dtest >/dev/null; then
	tap_skip 'dat20: programs of DAT 2.0 run on libdat2' "dtest is not installed; Debian's package is dapl2-utils"
	tap_end
fi
