#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tree itself: every file that can carry a comment has its SPDX line, none has grown too long, and the tests that HACKING.md names
# are there.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

files() { git -C "$top_srcdir" -c safe.directory='*' ls-files; }

if ! files 2>/dev/null | grep -qx configure.ac; then
	echo "1..0 # SKIP no git checkout: what belongs to the project is not known"
	exit 0
fi

# Leaves out formats without comments, input for the fuzzer, where every byte counts, and files that debian/copyright covers.
commentless()
{
	grep -vE '[.]tsv$|^LICENSE$|^tests/fuzz/(corpus|handshake)/' |
		grep -vE '^debian/(changelog|control|copyright|source/format|.*[.](install|symbols|README[.]Debian))$'
}

# The SPDX line is the first line; or the second, after "#!" and in files whose first line a program reads.
unlicensed()
{
	files | commentless | (cd "$top_srcdir" && xargs awk '
		FNR == 1 { all[FILENAME] = 1 }
		FNR <= 2 && /SPDX-License-Identifier: BSD-2-Clause/ { told[FILENAME] = 1 }
		END { for (file in all) if (!(file in told)) print file ": no SPDX line" }')
}

# Tables and pages are not code, and may be longer.
too_long()
{
	files | grep -E '[.]([ch]|sh|awk|mk|ac|py)$' | (cd "$top_srcdir" && xargs awk '
		FNR == 901 { print FILENAME ": more than 900 lines" }')
}

# HACKING.md names tests as `FILE: TEST`.
missing_tests()
{
	local file name
	grep -oE '`[a-z0-9_]+\.(c|sh): [a-z0-9_]+`' "$top_srcdir/HACKING.md" | tr -d '`' | while IFS=': ' read -r file name; do
		files | grep -E "^tests/.*/$file\$" | (cd "$top_srcdir" && xargs grep -lw -e "$name") | grep -q . ||
			echo "HACKING.md names $name in $file, which has no such test"
	done
}

names_tests() { grep -qE '`[a-z0-9_]+\.c: [a-z0-9_]+`' "$top_srcdir/HACKING.md"; }

none() { local found; found=$("$@"); [ -z "$found" ] || { echo "$found"; return 1; }; }

tap 'tree: every file that can carry a comment has its SPDX line' none unlicensed
tap 'tree: each test that HACKING.md names is there' none missing_tests
tap 'tree: HACKING.md names tests' names_tests
tap 'tree: no file of code has more than 900 lines' none too_long
tap_end
