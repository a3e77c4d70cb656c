#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Automake's TAP driver, which also records what the test costs: two lines at the end of the test's .trs file, ":seconds: N" with
# the time it takes, and ":cpu: N" with the processor time of it and its children. Automake ignores fields that it does not know;
# ./quickstart lists the slowest tests by them. The log of a test that fails ends with how to run it once more.
top=$(dirname "$0")/../..
begin=$(date +%s)
sh "$top/build-aux/tap-driver.sh" "$@"
status=$?
trs=
log=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	case $1 in
	--trs-file) trs=$2 ;;
	--log-file) log=$2 ;;
	esac
	shift
done
[ -n "$trs" ] || exit $status
[ $# -eq 0 ] || shift

# Prints a word in quotes, so that a shell reads it as one word.
quoted()
{
	printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

# Prints the command that runs the test again, with the variables that make (tests/local.mk) or the user has set.
again()
{
	printf '# to run it again: cd '
	quoted "$PWD"
	printf '&& env '
	for name in top_srcdir DAT_OVERRIDE DAT_SOFT_REALM OPENDAT_TEST_IA CC CXX CFLAGS CXXFLAGS AWK SANITIZE ASAN_OPTIONS \
		UBSAN_OPTIONS TSAN_OPTIONS CHECK_WATCHDOG CHECK_PATIENCE CHECK_DEPTH FUZZ_SECONDS FUZZ_RUNS FAULTS_LONG SCRIBBLE_SEED \
		SCRIBBLE_RUNS ATTACK_SEED ATTACK_RUNS ARRIVAL_ROUNDS HABITS_ROUNDS KILL_ROUNDS STOP_ROUNDS; do
		eval "[ -z \"\${$name-}\" ] || quoted \"$name=\$$name\""
	done
	for word; do
		quoted "$word"
	done
	echo
}

! grep -qE '^:global-test-result: (FAIL|ERROR|XPASS)' "$trs" || again "$@" >>"$log"

# `times` speaks of this shell only if it runs in no subshell. Its second line is about children that have ended:
# "0m1.23s 0m0.45s".
times >"$trs.times"
awk -v seconds=$(($(date +%s) - begin)) '
	NR == 2 { gsub(/[ms]/, " "); printf ":seconds: %d\n:cpu: %.1f\n", seconds, $1 * 60 + $2 + $3 * 60 + $4 }
' "$trs.times" >>"$trs"
rm "$trs.times"
exit $status
