#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# HACKING.md states the form of the source. Here is what of it a program can see: the width of lines, the length of files, scripts
# included, and the SPDX line at the top.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

folders='bench conform examples fence include log providers registry sdk tests tools vipl'

# If the tree is built in place, generated files lie among the sources.
if [ "$(cd "$top_srcdir" && pwd -P)" = "$(pwd -P)" ] && [ -e config.status ]; then
	tap_skip 'style: the form of the source' 'the tree is built in place, with generated files among the sources'
	tap_end
fi
cd "$top_srcdir" || exit 99

# The project's C files. Those of tests/abi/sdk-* are headers of earlier releases, which stay as they were.
sources()
{
	# shellcheck disable=SC2086 # a list of folders
	find $folders -path 'tests/abi/sdk-*' -prune -o -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print | sort
}

# Its programs for the shell
scripts()
{
	# shellcheck disable=SC2086 # a list of folders
	find quickstart $folders -type f ! -name '*.[ch]' -print | sort | xargs grep -lIm 1 -E '^#!/bin/|^# shellcheck shell='
}

# finds_nothing COMMAND...: succeeds if the command prints nothing, and there were files for it to look at
finds_nothing()
{
	local found
	[ "$(sources | wc -l)" -gt 300 ] || { echo "only $(sources | wc -l) files are looked at"; return 1; }
	found=$("$@")
	[ -z "$found" ] || { echo "$found"; return 1; }
}

# A tab advances to the next multiple of 8. Only strings of tests have multibyte characters, which count as their bytes.
wide_lines()
{
	sources | xargs awk -v most="$1" '
		length($0) * 8 > most {
			width = 0
			n = split($0, part, "\t")
			for (i = 1; i <= n; i++) {
				width += length(part[i])
				if (i < n)
					width += 8 - width % 8
			}
			if (width > most)
				print FILENAME ":" FNR ": " width " columns"
		}'
}

long_files()
{
	{ sources; scripts; } | xargs awk -v most="$1" '
		FNR == most + 1 { print FILENAME ": more than " most " lines" }'
}

without_spdx()
{
	sources | xargs awk 'FNR == 1 && !/SPDX-License-Identifier: BSD-2-Clause/ { print FILENAME }'
}

# Each message to the user is one write (log/datlog.c says why). A line that one process redraws on a terminal is not a message.
messages_in_pieces()
{
	find log registry providers tools vipl fence -name '*.c' -exec grep -nE 'v?fprintf\(stderr,|perror\(' {} + |
		grep -vE 'out of memory\\n|\\r\\033\[K'
}

tap 'style: messages to the user are written as whole lines' finds_nothing messages_in_pieces
tap 'style: no line has more than 132 columns' finds_nothing wide_lines 132
tap 'style: no file has more than 900 lines' finds_nothing long_files 900
tap 'style: each file begins with its SPDX line' finds_nothing without_spdx
tap 'style: the check of columns finds what is wider' grep -q . <<<"$(wide_lines 80)"
tap 'style: the check of lines finds what is longer' grep -q . <<<"$(long_files 100)"
tap_end
