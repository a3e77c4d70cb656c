#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the sick program and looks whether each of its ailments is reported. Prints TAP.
set -u

sick=tests/harness/sick
out=$(CHECK_WATCHDOG=2 CHECK_PATIENCE=1 "$sick" 2>/dev/null)
status=$?
count=0
failed=0

# expect WHAT: the output has a line that matches each of the patterns behind it, one right after the other
expect()
{
	local what=$1 pattern
	shift
	pattern=$(printf '%s\n' "$@")
	count=$((count + 1))
	if printf '%s\n' "$out" | awk -v n=$# -v pattern="$pattern" '
		BEGIN { split(pattern, want, "\n"); at = 1 }
		{ if ($0 ~ want[at]) at++; else at = ($0 ~ want[1]) ? 2 : 1
		  if (at > n) { found = 1; exit } }
		END { exit !found }'
	then
		echo "ok $count - verdict: $what"
	else
		echo "not ok $count - verdict: $what"
		printf '# wanted: %s\n' "$@"
		failed=1
	fi
}

expect 'the plan names every test' '^1[.][.]19$'
expect 'a good test passes' '^ok 1 - body: fine$'
expect 'both numbers are printed' '^not ok 2 - body: compares wrong numbers$' \
	'^# .*sick[.]c:[0-9]+: 2 [+] 2 == 5: got 4 .*wanted 5' 'got 0x80040007.*wanted 0x00050000' \
	'byte 1 of 3: got 0x62, wanted 0x78' 'got "left", wanted "right"'
expect 'a fatal failure ends the test' '^not ok 3 ' 'reached' '^not ok 4 '
expect 'a failure in a thread counts' '^not ok 4 - body: fails in a thread' 'in a thread'
expect 'a failure in a peer counts' '^not ok 5 ' 'sick[.]c:[0-9]+: in a peer: 6 [*] 9 == 42: got 54'
expect 'a peer that dies is a failure' '^not ok 6 ' 'the peer died of signal 9'
expect 'a wait for a dead peer ends' '^not ok 7 ' 'the other process is gone'
expect 'a forgotten peer is a failure' '^not ok 8 ' 'without joining its peers'
expect 'a stuck peer is killed' '^not ok 9 ' 'the peer did not end in time'
expect 'a crash is charged to its test' '^not ok 10 - body: crashes' 'died of signal 6'
expect 'a test that leaves the program fails' '^not ok 11 - body: leaves' 'left with status 0'
expect 'a test that hangs is killed' '^not ok 12 - body: hangs' 'no end after 2 s: killed'
expect 'a skipped test says why' '^ok 13 - body: is skipped # SKIP no such hardware'
expect 'a failed suite initialiser fails its tests' '^not ok 14 - init: fine' 'suite initialiser'
expect 'a crashed suite initialiser fails its tests' '^not ok 15 - init-crash: fine' 'died of signal 6 .*, before'
expect 'a failed setup fails the test' '^not ok 16 - setup: fine' 'set up'
expect 'a failed teardown fails the test' '^not ok 17 - teardown: fine' 'torn down'
expect 'the tests behind a crash run' '^ok 18 - cleanup: fine'

count=$((count + 1))
if [ $status -eq 1 ]; then echo "ok $count - verdict: the program fails"; else
	echo "not ok $count - verdict: the program fails"; echo "# status $status"; failed=1; fi

count=$((count + 1))
if "$sick" 'body: fine' >/dev/null 2>&1 && ! "$sick" 'cleanup: fine' >/dev/null 2>&1; then
	echo "ok $count - verdict: a failed suite cleanup fails the program"
else
	echo "not ok $count - verdict: a failed suite cleanup fails the program"; failed=1; fi

count=$((count + 1))
"$sick" 'no test of this name' >/dev/null 2>&1
if [ $? -eq 2 ]; then echo "ok $count - verdict: a filter that fits nothing is an error"; else
	echo "not ok $count - verdict: a filter that fits nothing is an error"; failed=1; fi

echo "1..$count"
[ $failed -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
exit $failed
