#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tree itself: every file that can carry a comment has its SPDX line, and none has grown too long.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

files() { git -C "$top_srcdir" -c safe.directory='*' ls-files; }

if ! files 2>/dev/null | grep -qx configure.ac; then
	echo "1..0 # SKIP no git checkout: what belongs to the project is not known"
	exit 0
fi

# Formats without comments, input for the fuzzer, where every byte counts, and what debian/copyright tells of for them.
commentless()
{
	grep -vE '[.]tsv$|^LICENSE$|^tests/fuzz/(corpus|handshake)/' |
		grep -vE '^debian/(changelog|control|copyright|source/format|.*[.](install|symbols))$'
}

# The first line; the second behind "#!", and in the files whose first line a program wants for itself.
unlicensed()
{
	local file
	files | commentless | while read -r file; do
		head -n 2 "$top_srcdir/$file" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' || echo "$file: no SPDX line"
	done
}

# The standard's own header is as long as the standard; tables and pages are not code.
too_long()
{
	local file
	files | grep -E '[.]([ch]|sh|awk|mk|ac|py)$' | while read -r file; do
		[ "$(wc -l <"$top_srcdir/$file")" -le 900 ] || echo "$file: more than 900 lines"
	done
}

none() { local found; found=$("$@"); [ -z "$found" ] || { echo "$found"; return 1; }; }

tap 'tree: every file that can carry a comment has its SPDX line' none unlicensed
tap 'tree: no file of code has more than 900 lines' none too_long
tap_end
