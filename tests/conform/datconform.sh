#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datconform itself: coverage, what it prints and returns, and what it makes of its results.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"

few() { ./datconform --ia soft0 --only 'CNO_WAIT-0*' "$@"; }

# has_no PATTERN COMMAND...: no line of the output matches
has_no()
{
	local pattern=$1
	shift
	! "$@" 2>&1 | grep -E -e "$pattern"
}

last_line() { few | tail -n 1 | grep -E -x '[0-9]+ passed, 0 failed, [0-9]+ skipped'; }
passed() { few --json "$tap_dir/one.json" >/dev/null; grep -c '"verdict": "passed"' "$tap_dir/one.json" | grep -x 9; }
junit() { few --junit - | grep -E '^<testsuite .*tests="9" failures="0"'; }
page()
{
	few --html "$tap_dir/page.html" "$tap_dir/one.json" "$tap_dir/one.json" >/dev/null &&
		[ "$(grep -o '<th>soft0' "$tap_dir/page.html" | wc -l)" -eq 3 ] &&
		! grep -E '(src|href)=' "$tap_dir/page.html"
}
compared() { ./datconform --html - "$tap_dir/one.json" | grep -q 'id="CNO_WAIT-02".*class="v p"'; }

# Each reading that a clause, a test or the manual names is in the table.
readings()
{
	grep -rhoE 'AMB-[0-9]+' "$top_srcdir/conform" "$top_srcdir/man/datconform.1" | sort -u >"$tap_dir/named"
	./datconform --list --only 'AMB-*' | grep -oE '^AMB-[0-9]+' | sort >"$tap_dir/there"
	[ "$(uniq -d <"$tap_dir/there" | wc -l)" -eq 0 ] && [ -z "$(comm -23 "$tap_dir/named" "$tap_dir/there")" ]
}
why() { ./datconform --list --only STRERROR-03 | grep -A 1 '^STRERROR-03' | grep '^ *why: '; }

tap 'datconform: every clause that must hold has a test or a reason' ./datconform --coverage --strict
tap 'datconform: the clauses are counted' tap_holds '^[0-9]{3,} clauses$' ./datconform --list
tap 'datconform: a glob selects by id' tap_holds '^1 clauses$' ./datconform --list --only EVD_WAIT-08
tap 'datconform: a glob selects by function' has_no '^(CNO|EP)_' ./datconform --list --only dat_evd_wait
tap 'datconform: every reading that is named is in the table' readings
tap 'datconform: a clause that departs from the page says why' why
tap 'datconform: the last line sums up' last_line
tap 'datconform: JSON has a verdict for each clause' passed
tap 'datconform: JUnit counts the clauses' junit
tap 'datconform: TAP has a plan' tap_holds '^1[.][.]9$' few --tap
tap 'datconform: the page needs nothing but itself, and has a column for each run' page
tap 'datconform: results are compared without running anything' compared
tap 'datconform: an unknown adapter is an error of its own' tap_status 3 ./datconform --ia nobody
tap 'datconform: a result that is none is refused' tap_status 3 ./datconform --html - /dev/null
tap 'datconform: a glob that fits nothing is wrong usage' tap_status 2 ./datconform --ia soft0 --only NONE-01
tap 'datconform: no adapter is wrong usage' tap_status 2 ./datconform
tap_end
