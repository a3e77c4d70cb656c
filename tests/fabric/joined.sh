# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Functions for tests that run many programs over a device and print one TAP stream.

imitated=()	# `imitate NAME` where the adapter is to behave as another device

# over ADAPTER KIND PROGRAM [WORDS]: runs tests/PROGRAM_test, or its tests whose name holds these words, and prints its TAP with
# KIND in each line
over()
{
	local since=$SECONDS
	OPENDAT_TEST_IA=$1 CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "${imitated[@]}" "tests/$3_test" "${@:4}" |
		sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /; s/^#/# $2:/"
	echo "# $2: ${*:3} took $((SECONDS - since)) s"
}

# every_second CALL...: makes the first of these calls of over(), the third, and so on. A call is ADAPTER|KIND|PROGRAM|WORDS.
every_second()
{
	local at adapter kind program words
	for ((at = 1; at <= $#; at += 2)); do
		IFS='|' read -r adapter kind program words <<<"${!at}"
		over "$adapter" "$kind" "$program" ${words:+"$words"}
	done
}

# two_at_a_time CALL...: makes all of them. A device is used by two programs at a time, because they mostly wait.
two_at_a_time()
{
	every_second "$@" &
	every_second "${@:2}" &
	wait
}

# all_over ADAPTER KIND FOLDER PROGRAM[:WORDS]...: runs these programs of tests/FOLDER, two at a time
all_over()
{
	local program words calls=()
	for program in "${@:4}"; do
		words=${program#"${program%%:*}"}
		calls+=("$1|$2|$3/${program%%:*}|${words#:}")
	done
	two_at_a_time "${calls[@]}"
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
