#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of the API once more, over an adapter whose processes cannot copy each other's memory (cma=off): every
# byte between them goes by way of the bounce thread's mailbox. Two programs at a time; their results are merged into one.
set -u
export OPENDAT_TEST_IA=soft-bounce
programs=(tests/api/*_test)
dir=$(mktemp -d "${TMPDIR:-/tmp}/opendat-bounce.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT

# one NAME PROGRAM: runs the program; its output is in NAME.tap, and its exit status in NAME.rc once it has ended
one()
{
	"$2" >"$dir/$1.tap" 2>"$dir/$1.err"
	echo $? >"$dir/$1.rc"
}

number=0
result() # OK|not ok, TEXT
{
	number=$((number + 1))
	echo "$1 $number - $2"
}

# Prints the result lines of one program, with consecutive numbers and the program's name before each sentence.
merge()
{
	local name=$1 line plan='' seen=0

	cat "$dir/$name.err" >&2
	while IFS= read -r line; do
		case $line in
		1..*)
			plan=${line#1..}
			plan=${plan%% *}
			;;
		'ok '*' - '* | 'not ok '*' - '*)
			seen=$((seen + 1))
			result "${line%%ok*}ok" "$name: ${line#* - }"
			;;
		*)
			echo "$line"
			;;
		esac
	done <"$dir/$name.tap"
	[ "$seen" = "$plan" ] || result 'not ok' "$name: $seen of ${plan:-?} tests were run"
	rc=$(cat "$dir/$name.rc" 2>/dev/null)
	[ "$rc" = 0 ] || grep -q '^not ok' "$dir/$name.tap" || result 'not ok' "$name: left with status ${rc:-?}"
}

[ -x "${programs[0]}" ] || { echo 'Bail out! no programs: run me in the build tree'; exit 99; }
for program in "${programs[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	one "${program##*/}" "$program" &
done
wait
for program in "${programs[@]}"; do
	merge "${program##*/}"
done
echo "1..$number"
