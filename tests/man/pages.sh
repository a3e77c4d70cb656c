#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The manual: there is a page for each function, and the formatters print no warning for any page.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

functions()
{
	awk -F'\t' '$1 == "function" && $9 ~ /^(dat|udat|dat_registry)\.h$/ { print $3 }' "$top_srcdir/tests/abi/abi12.tsv"
	echo dat_ia_open	# a macro
}

each_function_has_a_page()
{
	local name missing=0
	[ "$(functions | wc -l)" -ge 75 ] || { echo 'the table of functions is short'; return 1; }
	for name in $(functions); do
		[ -s "man/$name.3" ] && continue
		echo "$name(3) is missing: name it in man/local.mk"
		missing=1
	done
	return $missing
}

# Succeeds if each page of a function has all sections.
each_function_page_is_whole()
{
	local name section bad=0
	for name in $(functions); do
		for section in SYNOPSIS DESCRIPTION 'RETURN VALUES' 'THREAD SAFETY' 'SEE ALSO'; do
			grep -qx "[.]Sh $section" "man/$name.3" && continue
			echo "$name(3) has no section $section"
			bad=1
		done
	done
	return $bad
}

mandoc_is_content()
{
	local words
	words=$(mandoc -Tlint -Wwarning "$1" 2>&1 | grep -v 'outdated mandoc.db')
	[ -z "$words" ] || { printf '%s\n' "$words"; return 1; }
}

# groff 1.23 justifies lines, and warns of a line in a narrow column that it cannot fill. That is no fault of a page, so lines are
# left-adjusted (-dAD=l), as with groff 1.22.
man_is_content()
{
	local words
	words=$(MANROFFOPT=-dAD=l LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 "$1" 2>&1 >/dev/null)
	[ -z "$words" ] || { printf '%s\n' "$words"; return 1; }
}

# for_each_page COMMAND: runs the command with each page, also after one has failed. With CHECK_DEPTH=brief, man(1), which is slow,
# gets only one in eight of the pages of functions, which are all generated in the same way.
for_each_page()
{
	local page number=0 bad=0
	for page in man/*.3 "$top_srcdir"/man/*.[1-8]; do
		[ -f "$page" ] || continue
		number=$((number + 1))
		[ "$1" != man_is_content ] || [ "${CHECK_DEPTH-}" != brief ] || [[ $page != man/* ]] ||
			[ $((number % 8)) -eq 0 ] || continue
		"$@" "$page" || bad=1
	done
	return $bad
}

tap 'manual: each function has a page' each_function_has_a_page
tap 'manual: each of these pages has its sections' each_function_page_is_whole
if command -v mandoc >/dev/null; then
	tap 'manual: mandoc has no warning for any page' for_each_page mandoc_is_content
else
	tap_skip 'manual: mandoc has no warning for any page' 'no mandoc here: install the package mandoc'
fi
if man --version >/dev/null 2>&1 && man --warnings -l man/dat.3 >/dev/null 2>&1; then
	tap 'manual: man has no warning for any page' for_each_page man_is_content
else
	tap_skip 'manual: man has no warning for any page' 'no man here: install the package man-db'
fi
tap_end
