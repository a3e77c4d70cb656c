# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Functions for tests that run many programs over a device and print one TAP stream.

imitated=()	# `imitate NAME` where the adapter is to behave as another device

# over ADAPTER KIND PROGRAM [WORDS]: runs tests/PROGRAM_test, or its tests whose name holds these words, and prints its TAP with
# KIND in each line
over()
{
	OPENDAT_TEST_IA=$1 CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "${imitated[@]}" "tests/$3_test" "${@:4}" |
		sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /; s/^#/# $2:/"
}

# judged ADAPTER KIND COMMAND...: runs COMMAND, which is a call of datconform, over the adapter and prints its TAP with KIND in each
# line. Events take longer in an emulated guest.
judged()
{
	"${@:3}" --ia "$1" --patience 20 --tap | sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /"
	[ "${PIPESTATUS[0]}" -le 1 ] || printf '1..1\nnot ok - %s: datconform comes to its end\n' "$2"
}

# side_by_side FUNCTION...: runs the functions at the same time, because tests over a device mostly wait. Each must write whole
# lines.
side_by_side()
{
	local one
	for one; do
		"$one" &
	done
	wait
}

# joined: reads the output of several calls of over(), and prints it as the TAP of one program. Each line is printed as soon as it is
# there; mawk would keep up to 4 KiB of them back, so a slow test would look like one that stands still.
joined()
{
	local line count=0 planned=0
	while IFS= read -r line || [ -n "$line" ]; do # the last line of a program that was killed may have no end
		case $line in
		1..[0-9]*)
			line=${line#1..}
			planned=$((planned + ${line%%[!0-9]*}))
			continue
			;;
		'ok - '* | 'not ok - '*)
			count=$((count + 1))
			line=${line/ok - /ok $count - }
			;;
		esac
		printf '%s\n' "$line"
	done
	echo "1..$planned"
}
