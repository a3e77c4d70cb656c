# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Runs the test programs of DAT 2.0 that Debian ships, as they are: a server and a client. They say in words whether they have
# passed, and their exit status says nothing.
. "${top_srcdir:-.}/tests/harness/tap.sh"

bound=${CHECK_WATCHDOG:-120}	# for each side, in seconds
server=ours client=ours		# the function (such as ours) that runs a side with the libdat2 of one project

# ours COMMAND...: runs the command with our libdat2 in the place of the system's
ours()
{
	LD_LIBRARY_PATH=$PWD/.libs "$@"
}

# Succeeds once the server listens: most of these programs meet at a TCP port first.
by_tcp() { grep -q ' 00000000:3DD4 00000000:0000 0A ' /proc/net/tcp; }

# end_server PROCESS PROGRAM: ends the server that this process runs, which would wait for another client after one that has failed.
end_server()
{
	pkill -P "$1"
	kill "$1" 2>/dev/null
}

# pair WORDS SERVER-COMMAND CLIENT-COMMAND [READY]: runs both, and succeeds if both print the words.
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
	grep -q -e "$words" "$tap_dir/client" || end_server "$process" "${2%% *}"
	wait $process
	grep -q -e "$words" "$tap_dir/client" && grep -q -e "$words" "$tap_dir/server" && return
	tail -n 20 "$tap_dir/client" "$tap_dir/server"
	echo "the client's status: $status"
	return 1
}

# The same for a server that listens only after it has told the client where: if the client was faster, they try again.
pair_again()
{
	local tries
	for ((tries = 0; tries < 6; tries++)); do
		pair "$@" && return
		grep -q 'CONNECTION_EVENT_NON_PEER_REJECTED' "$tap_dir/client" || return
	done
	return 1
}

# dtest_passes NAME ADAPTER HOST [OPTION...]: a test of this name, by dtest on both sides
dtest_passes()
{
	local command="dtest -P $2 ${*:4} -b 4096 -B 20"
	tap "$1" pair_again 'Test Complete. PASSED' "$command -s" "$command -h $3"
}

# dtestx_passes NAME ADAPTER HOST [OPTION...]: the same by dtestx, which exchanges by the InfiniBand extensions
dtestx_passes()
{
	local command="dtestx -P $2 ${*:4}"
	tap "$1" pair_again 'IB extension test - immed/atomic test PASSED' "$command -s" "$command -h $3"
}

# dtestcm_passes NAME ADAPTER HOST [OPTION...]: one test, which makes 40 connections with dtestcm. Its server counts events without
# looking at what they are, so it needs the ends of connections after all of them are established.
dtestcm_passes()
{
	local command="dtestcm -P $2 -c 40 -b 10 ${*:4}"
	tap "$1" pair_again 'Connection Test Complete' "$command -s" "$command -h $3"
}

# dtestsrq_passes NAME ADAPTER HOST READY [OPTION...]: one test, which exchanges with dtestsrq; it has no TCP port
dtestsrq_passes()
{
	local command="dtestsrq -P $2 -c 8 -B 8 ${*:5}"
	tap "$1" pair 'SRQ Test Complete' "$command -s" "$command -h $3" "$4"
}

# Succeeds if dapltest's client and this server have ended without a fault.
dapltest_is_content()
{
	grep -q 'End of Work -- Client Exiting' "$tap_dir/client" && grep -q 'DT_cs_Server.*Exiting' "$tap_dir/server" &&
		! grep -iE 'fail|error|mismatch|bad' "$tap_dir/client" "$tap_dir/server"
}

# dapltest_runs ADAPTER HOST KIND OPTION...: dapltest's server, one client, and the message by which the server is ended
dapltest_runs()
{
	local ia=$1 host=$2 kind=$3 process status=0
	shift 3
	: >"$tap_dir/server"
	$server timeout -k 5 "$bound" dapltest -T S -D "$ia" >"$tap_dir/server" 2>&1 </dev/null &
	process=$!
	until grep -q 'Service Point Ready' "$tap_dir/server"; do
		kill -0 $process 2>/dev/null || break
		sleep 0.05
	done
	$client timeout -k 5 "$bound" dapltest -T "$kind" -s "$host" -D "$ia" "$@" >"$tap_dir/client" 2>&1 </dev/null || status=$?
	$client timeout -k 5 "$bound" dapltest -T Q -s "$host" -D "$ia" >"$tap_dir/quit" 2>&1 </dev/null
	wait $process && [ $status -eq 0 ] && dapltest_is_content && return
	tail -n 20 "$tap_dir/client" "$tap_dir/server" "$tap_dir/quit"
	echo "the client's status: $status"
	return 1
}

# dapltest_alone RESULTS ADAPTER KIND OPTION...: a test of dapltest for one process ends with RESULTS results, all of them good
dapltest_alone()
{
	local results=$1 ia=$2 kind=$3 status=0
	shift 3
	$client timeout -k 5 "$bound" dapltest -T "$kind" -D "$ia" "$@" >"$tap_dir/client" 2>&1 </dev/null || status=$?
	[ $status -eq 0 ] && [ "$(grep -cE 'Result: PASS|LimitTest: .*(opened|created|posted per EP): 20|OK - stopping' "$tap_dir/client")" \
		-eq "$results" ] && ! grep -E 'Result: FAIL|failed in|ERROR|cannot' "$tap_dir/client" && return
	tail -n 40 "$tap_dir/client"
	echo "the status: $status"
	return 1
}

# rare COMMAND...: runs the command, which is one of the rarer ways of the programs, unless DAT20_WAYS is common
rare() { [ "${DAT20_WAYS-all}" = common ] || "$@"; }

# dapltest_passes WHAT ADAPTER HOST: all of dapltest. An exchange of the transaction tests (T) goes both ways with messages
# (SR), and then by RDMA Writes (RW) and Reads (RR); the performance tests (P) have one side that writes or reads.
dapltest_passes()
{
	local what=$1 ia=$2 host=$3 mode number feature
	local both='client SR 256 server SR 256'
	# shellcheck disable=SC2086 # lists of words
	{
	rare tap "$what: dapltest exchanges messages" dapltest_runs "$ia" "$host" T -i 100 $both
	rare tap "$what: dapltest exchanges messages of two segments" dapltest_runs "$ia" "$host" \
		T -i 100 client SR 256 2 server SR 256 2
	rare tap "$what: dapltest writes" dapltest_runs "$ia" "$host" T -i 100 $both client RW 4096
	rare tap "$what: dapltest reads" dapltest_runs "$ia" "$host" T -i 100 $both client RR 4096
	rare tap "$what: dapltest validates data" dapltest_runs "$ia" "$host" T -i 50 -V $both
	tap "$what: dapltest validates data of two threads with two endpoints each" dapltest_runs "$ia" "$host" \
		T -i 25 -V -t 2 -w 2 $both client RW 1024 server RR 1024
	rare tap "$what: dapltest polls" dapltest_runs "$ia" "$host" \
		T -i 50 -P $both client RW 4096 server RW 4096 client RR 4096 server RR 4096
	}
	for mode in b p; do
		tap "$what: dapltest measures writes, mode $mode" dapltest_runs "$ia" "$host" P -i 200 -m $mode RW 4096 2
		rare tap "$what: dapltest measures reads, mode $mode" dapltest_runs "$ia" "$host" P -i 200 -m $mode RR 4096
	done
	rare tap "$what: dapltest makes 20 of each object" dapltest_alone 8 "$ia" L -m 20 \
		limit_ia limit_pz limit_cno limit_evd limit_ep limit_rsp limit_psp limit_lmr
	# From limit_ep on, the endpoints of the second set have an EVD of the first set, which is one of another open adapter.
	rare tap "$what: dapltest makes 20 of each object in two sets" dapltest_alone 9 "$ia" L -m 20 -w 2 \
		limit_ia limit_pz limit_cno limit_evd limit_ep limit_rsp limit_psp limit_lmr limit_rpost
	rare tap "$what: dapltest posts 20 receives" dapltest_alone 1 "$ia" L -m 20 limit_rpost
	while read -r number feature; do
		tap "$what: dapltest tests $feature" dapltest_alone "$number" "$ia" F -f "$feature"
	done <<-'EOF'
		3 endpoint
		3 pz
		4 hwconn
		5 mem
		17 queryinfo
	EOF
}

# ends_at_once WORDS COMMAND: a variant for unreliable datagrams, which no adapter has, says so and ends
ends_at_once()
{
	# shellcheck disable=SC2086 # a list of words
	$client timeout -k 5 20 $2 >"$tap_dir/client" 2>&1 </dev/null
	[ $? -ne 124 ] && grep -q -e "$1" "$tap_dir/client" && ! grep -E 'PASSED|Complete' "$tap_dir/client" && return
	tail -n 20 "$tap_dir/client"
	return 1
}

# dtestx_asks NUMBER ADAPTER HOST: dtestx prints the named attributes of both sides, of which there are NUMBER or more
dtestx_asks()
{
	pair 'Open_Query: .* num_attrs' "dtestx -P $2 -q -s" "dtestx -P $2 -q -h $3" &&
		[ "$(grep -c 'Provider Specific Attribute.*=.' "$tap_dir/client")" -ge "$1" ] &&
		! grep -E '=$|null' "$tap_dir/client"
}

# all_of_dtest WHAT ADAPTER HOST READY: each way of the programs but dtestx and dapltest
all_of_dtest()
{
	local what=$1 ia=$2 host=$3 ready=$4
	dtest_passes "$what: dtest waits" "$ia" "$host"
	rare dtest_passes "$what: dtest polls" "$ia" "$host" -p
	dtest_passes "$what: dtest uses CNOs" "$ia" "$host" -c
	rare dtest_passes "$what: dtest writes in a stream" "$ia" "$host" -w
	rare dtest_passes "$what: dtest writes in a stream one way" "$ia" "$host" -w -u
	rare dtest_passes "$what: dtest writes in turns" "$ia" "$host" -W
	rare dtest_passes "$what: dtest writes in turns and looks at the data" "$ia" "$host" -D
	dtestcm_passes "$what: dtestcm makes 40 connections" "$ia" "$host"
	rare dtestcm_passes "$what: dtestcm waits for 40 connections" "$ia" "$host" -w
	rare dtestcm_passes "$what: dtestcm makes 40 connections at several qualifiers" "$ia" "$host" -m
	dtestsrq_passes "$what: dtestsrq hears of the end of each endpoint of an SRQ" "$ia" "$host" "$ready"
	rare dtestsrq_passes "$what: dtestsrq exchanges without an SRQ" "$ia" "$host" "$ready" -S 0
	rare tap "$what: dtestsrq finds no datagrams" ends_at_once 'DAT_INVALID_PARAMETER' "dtestsrq -P $ia -u -s"
}

if ! command -v dtest >/dev/null; then
	tap_skip 'dat20: programs of DAT 2.0 run on libdat2' "dtest is not installed; Debian's package is dapl2-utils"
	tap_end
fi
