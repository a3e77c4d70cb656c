# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests that run many programs over a device, as one TAP stream.

# over ADAPTER KIND PROGRAM [WORDS]: the TAP of tests/PROGRAM_test, or of its tests whose name holds these words, each line and each
# comment named after the kind
over()
{
	OPENDAT_TEST_IA=$1 CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "tests/$3_test" "${@:4}" |
		sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /; s/^#/# $2:/"
}

# side_by_side FUNCTION...: they print a line at a time, so that no line is torn. Most of a test over a device is waiting.
side_by_side()
{
	local one
	for one; do
		"$one" &
	done
	wait
}

# joined: what several of over() print, as the output of one program
joined()
{
	awk '
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") }
	{ print; fflush() }
	END { print "1.." planned }'
}
