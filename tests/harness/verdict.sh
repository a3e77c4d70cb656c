#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the sick program and looks whether each of its ailments is reported.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

sick=tests/harness/sick
out=$(CHECK_WATCHDOG=2 CHECK_PATIENCE=1 $sick 2>/dev/null)
status=$?

# says PATTERN...: the output has a line that matches the first, and right behind it one for each of the others
says()
{
	printf '%s\n' "$out" | awk -v n=$# -v pattern="$(printf '%s\n' "$@")" '
		BEGIN { split(pattern, want, "\n"); at = 1 }
		{ if ($0 ~ want[at]) at++; else at = ($0 ~ want[1]) ? 2 : 1
		  if (at > n) { found = 1; exit } }
		END { exit !found }' && return
	printf '%s\n' "$out"
	return 1
}

# driven COMMAND...: the driver runs it as a test, in a folder and a realm with odd names
driven()
{
	local top
	top=$(cd "$top_srcdir" && pwd -P)
	mkdir -p "$tap_dir/it's here"
	(cd "$tap_dir/it's here" && top_srcdir=$top DAT_SOFT_REALM="a realm" AM_TAP_AWK=${AWK:-awk} sh "$top/tests/harness/driver.sh" \
		--test-name it --log-file it.log --trs-file it.trs --color-tests no -- "$@") >/dev/null
}

# drive RESULT: the driver runs a test that prints this
drive()
{
	# shellcheck disable=SC2016 # for that shell
	driven bash -c 'printf "1..1\n$1 1 - in $DAT_SOFT_REALM, $PWD\n"' _ "$1"
}

failed_test_is_run_again()
{
	local said
	drive 'not ok' || true
	said=$(grep '^not ok' "$tap_dir/it's here/it.log")
	[ -n "$said" ] && [ "$(cd / && bash -c "$(sed -n 's/^# to run it again: //p' "$tap_dir/it's here/it.log")" | tail -n 1)" = "$said" ]
}

# The variables that decide how long a test with random inputs runs, and with which, are among those of tests/README.md.
inputs_are_given_again()
{
	local name bad=0
	for name in $(grep -oE '`[A-Z]+_(SECONDS|LONG|RUNS|ROUNDS)`' "$top_srcdir/tests/README.md" | tr -d '`' | sort -u) \
		SCRIBBLE_SEED ATTACK_SEED; do
		[ "$name" != CHECK_SECONDS ] || continue	# it is quickstart's
		(export "$name=1234" && drive 'not ok') || :
		grep "^# to run it again: .*'$name=1234'" "$tap_dir/it's here/it.log" || { echo "$name is missing"; bad=1; }
	done
	return $bad
}

# What ./quickstart lists at its end says of each failed test why it failed, and no more.
reason_is_listed()
{
	local said
	driven printf '1..3\nnot ok 1 - one\n# of one\nok 2 - two\n# of two\nnot ok 3 - three\n# of three\n' || true
	. "$top_srcdir/tests/harness/results.sh"
	said=$(failures_of "$tap_dir/it's here/it.log" name)
	[ "$said" = "$(printf '  name: 1 - one\n    # of one\n  name: 3 - three\n    # of three')" ] || { echo "$said"; return 1; }
}

# A reason of several lines is a comment of TAP on each of them, in the tests of the tools as well.
reason_of_a_tool_is_a_comment()
{
	local said
	# shellcheck disable=SC2016 # that is for that shell
	said=$(bash -c '. "$top_srcdir/tests/tools/tap.sh"; fails "$1"' _ $'one\nok 2')
	[ "$said" = $'# one\n# ok 2' ] || { echo "$said"; return 1; }
}

good_test_is_brief()
{
	drive ok && ! grep 'again' "$tap_dir/it's here/it.log" && grep -E '^:seconds: [0-9]+$' "$tap_dir/it's here/it.trs" &&
		grep -E '^:cpu: [0-9]+[.][0-9]$' "$tap_dir/it's here/it.trs"
}

tap 'verdict: the log of a failed test has the command that fails the same way' failed_test_is_run_again
tap 'verdict: that command has the seed and the number of the runs' inputs_are_given_again
tap 'verdict: the list of failed tests says why each has failed' reason_is_listed
tap 'verdict: a reason of several lines is a comment' reason_of_a_tool_is_a_comment
tap 'verdict: the results of a good test have what it cost, and its log no more' good_test_is_brief
tap 'verdict: the plan names every test' says '^1[.][.]20$'
tap 'verdict: a good test passes' says '^ok 1 - body: fine$'
tap 'verdict: both values are printed' says '^not ok 2 - body: compares wrong numbers$' \
	'^# .*sick[.]c:[0-9]+: 2 [+] 2 == 5: got 4 .*wanted 5' 'got 0x80040007.*wanted 0x00050000' \
	'byte 1 of 3: got 0x62, wanted 0x78' 'got "left", wanted "right"'
tap 'verdict: a fatal failure ends the test' says '^not ok 3 ' 'reached' '^not ok 4 '
tap 'verdict: a failure in a thread counts' says '^not ok 4 - body: fails in a thread' 'in a thread'
tap 'verdict: a failure in a peer counts' says '^not ok 5 ' 'sick[.]c:[0-9]+: in a peer: 6 [*] 9 == 42: got 54'
tap 'verdict: a peer that dies is a failure' says '^not ok 6 ' 'the peer died of signal 9'
tap 'verdict: a wait for a dead peer ends' says '^not ok 7 ' 'the other process is gone'
tap 'verdict: a forgotten peer is a failure' says '^not ok 8 ' 'without joining its peers'
tap 'verdict: a stuck peer is killed' says '^not ok 9 ' 'the peer did not end in time'
tap 'verdict: a crash is charged to its test' says '^not ok 10 - body: crashes' 'died of signal 6'
tap 'verdict: a test that leaves the program fails' says '^not ok 11 - body: leaves' 'left with status 0'
tap 'verdict: a test that hangs is killed' says '^not ok 12 - body: hangs' 'no end after 2 s: killed' \
	'sick[.]c:[0-9]+: !"what it found before"'
# Under Yama only a parent may attach a debugger, so the stack cannot be printed.
if command -v gdb >/dev/null && [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; then
	tap 'verdict: where a test hangs is printed' says '^# #[0-9]+ .*(hangs|wait_for_ever) [(]'
fi
tap 'verdict: a skipped test says why' says '^ok 13 - body: is skipped # SKIP no such hardware'
tap 'verdict: a failed suite initialiser fails its tests' says '^not ok 14 - init: fine' 'suite initialiser'
tap 'verdict: a crashed suite initialiser fails its tests' \
	says '^not ok 15 - init-crash: fine' 'died of signal 6 .*, before'
tap 'verdict: a failed setup fails the test' says '^not ok 16 - setup: fine' 'set up'
tap 'verdict: a failed teardown fails the test' says '^not ok 17 - teardown: fine' 'torn down'
tap 'verdict: the tests behind a crash run' says '^ok 18 - cleanup: fine'
tap 'verdict: a test that says that it goes on is not killed' says '^ok 20 - alive: goes on'
tap 'verdict: the program fails' test $status -eq 1
tap 'verdict: a program of good tests passes' tap_status 0 $sick 'body: fine'
tap 'verdict: a failed suite cleanup fails the program' tap_status 1 $sick 'cleanup: fine'
tap 'verdict: a filter that fits nothing is an error' tap_status 2 $sick 'no test of this name'
tap 'verdict: a script notices a wrong status' tap_status 1 tap_status 0 false
tap 'verdict: a script notices a missing line' tap_status 1 tap_holds two echo one
tap_end
