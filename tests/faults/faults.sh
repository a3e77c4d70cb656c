#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every allocation and system call of the library fails once, and from each on all fail: over the life of an adapter in one
# process, over examples/exchange, over groups of datconform's clauses. What a call's failure makes of a program may be an
# error, but no crash, no hang, no lost event and no leak.
#
# FAULTS_LONG=1: every call, and all groups. Else some of them, in less than half a minute.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

if [ "${SANITIZE:-no}" != no ]; then
	tap_skip 'faults: allocations fail' 'the sanitizers have allocations of their own'
	tap_end
fi
long=${FAULTS_LONG:-}
libs=$PWD/.libs
if [ -n "$long" ]; then
	life=1 steps=1
	groups='IA_* EVD_* EP_* CR_* PSP_* RSP_* PZ_* LMR_* RMR_* SRQ_* CNO_* REG_* PROV_* CTX_* CONSUMER-*'
	groups+=' GEN-* BROKEN-* ASYNC-* HANDLE_TYPE-* STRERROR-*'
else
	life=6 steps=41 groups='EP_SEND-0*'
fi

# shimmed SECONDS COMMAND...: runs the command with the shim preloaded, for SECONDS at most
shimmed()
{
	local bound=$1
	shift
	timeout -k 5 "$bound" env LD_LIBRARY_PATH="$libs" LD_PRELOAD="$libs/libfaults.so" "$@"
}

# program NAME: the program behind libtool's wrapper, which would be shimmed too
program()
{
	local real=${1%/*}/.libs/${1##*/}
	[ -x "$real" ] && echo "$real" || echo "$1"
}

# One call of the adapter's opening after the other fails, until it is the one that starts the service thread.
thread_that_cannot_start_is_told()
{
	local n
	for ((n = 1; n < 500; n++)); do
		shimmed 60 env FAULTS_AT=$n "$(program ./datctl)" show soft0 >/dev/null 2>"$tap_dir/said"
		! grep -q 'cannot start the service thread: .*ulimit -u' "$tap_dir/said" || return 0
	done
	return 1
}

lifecycle()
{
	local output
	output=$(shimmed 1000 "$(program tests/faults/lifecycle)" $life 2>"$tap_dir/said") || {
		grep -v '^lib' "$tap_dir/said"
		printf '%s\n' "$output"
		return 1
	}
}

# each COMMAND...: with call N failing, for N of `steps` apart up to the number of calls; and all from N on. It may fail, and
# says why, but not by a signal nor a hang.
each()
{
	local calls n how status worst=0
	rm -f "$tap_dir/tally"
	FAULTS_TALLY=$tap_dir/tally shimmed 120 "$@" >/dev/null 2>"$tap_dir/said" || { cat "$tap_dir/said"; return 1; }
	calls=$(sort -n "$tap_dir/tally" | tail -n 1)
	[ "${calls:-0}" -gt 20 ] || { echo "only ${calls:-0} calls are counted"; return 1; }
	for ((n = 1; n <= calls; n += steps)); do
		for how in AT FROM; do
			status=0
			shimmed 120 env FAULTS_$how=$n DAT_SOFT_REALM="$DAT_SOFT_REALM-$n-$how" "$@" >"$tap_dir/out" 2>"$tap_dir/said" ||
				status=$?
			if [ $status -ge 124 ] || { [ $status -ne 0 ] && [ ! -s "$tap_dir/said" ] && [ ! -s "$tap_dir/out" ]; } ||
				grep -hE 'ended with signal|got +a (crash|hang)' "$tap_dir/said" "$tap_dir/out"; then
				echo "$how $n of $calls: status $status"
				tail -n 5 "$tap_dir/said"
				worst=1
			fi
		done
	done
	return $worst
}

# Clauses fail where an object cannot be made; none may crash or hang.
group()
{
	each "$(program ./datconform)" --ia soft0 --patience 2 --jobs 4 --only "$1" --verbose
}

# If allocations of datconform itself fail, it prints a verdict or an error message.
datconform_out_of_memory()
{
	local real calls n how status worst=0
	real=$(program ./datconform)
	cp "$DAT_OVERRIDE" "$tap_dir/dat.conf"
	echo "crash u1.2 nonthreadsafe default $libs/libmutant.so opendat.1.0 \"soft0 crash\" \"\"" >>"$tap_dir/dat.conf"
	alone=(env DAT_OVERRIDE="$tap_dir/dat.conf" FAULTS_ALL="${real##*/}" FAULTS_ALONE=1)
	judge=("$real" --ia crash --patience 2 --only CNO_QUERY-01 --html "$tap_dir/page" --json "$tap_dir/json")
	rm -f "$tap_dir/tally"
	shimmed 60 "${alone[@]}" FAULTS_TALLY="$tap_dir/tally" "${judge[@]}" >"$tap_dir/out"
	[ $? -eq 1 ] || return 1
	calls=$(sort -n "$tap_dir/tally" | tail -n 1)
	[ "${calls:-0}" -gt 10 ] || { echo "only ${calls:-0} calls are counted"; return 1; }
	for ((n = 1; n <= calls; n++)); do
		for how in AT FROM; do
			status=0
			shimmed 60 "${alone[@]}" FAULTS_$how=$n "${judge[@]}" >"$tap_dir/out" 2>"$tap_dir/said" || status=$?
			if [ $status -ge 124 ] || { [ $status -eq 3 ] && [ ! -s "$tap_dir/said" ]; }; then
				echo "$how $n of $calls: status $status"
				worst=1
			fi
		done
	done
	return $worst
}

# A kernel that has no memory to send with is not a peer that has gone: nothing fails but that call, which is made again.
sends()
{
	local real calls n how worst=0
	real=$(program examples/exchange)
	rm -f "$tap_dir/tally"
	FAULTS_SENDS=1 FAULTS_TALLY=$tap_dir/tally shimmed 60 "$real" soft0 >/dev/null || return 1
	calls=$(sort -n "$tap_dir/tally" | tail -n 1)
	[ "${calls:-0}" -ge 3 ] || { echo "only ${calls:-0} sends are counted"; return 1; }
	for ((n = 1; n <= calls; n++)); do
		for how in AT FROM; do
			shimmed 60 env FAULTS_SENDS=1 FAULTS_$how=$n DAT_SOFT_REALM="$DAT_SOFT_REALM-$n-$how" "$real" soft0 \
				>"$tap_dir/out" 2>&1 && continue
			echo "$how $n of $calls: status $?"
			tail -n 5 "$tap_dir/out"
			worst=1
		done
	done
	return $worst
}

tap 'faults: the life of an adapter in one process' lifecycle
tap 'faults: examples/exchange, with no memory to send with' sends
tap 'faults: examples/exchange' each "$(program examples/exchange)" soft0
tap 'faults: examples/exchange, by bounce threads' each "$(program examples/exchange)" soft-bounce
tap 'faults: datconform says that it has no memory' datconform_out_of_memory
for group in $groups; do
	tap "faults: the clauses $group" group "$group"
done
tap 'faults: an adapter whose service thread cannot start says why, and what to do' thread_that_cannot_start_is_told
tap_end
