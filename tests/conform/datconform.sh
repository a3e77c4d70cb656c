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
# As TAP says it.
junit_says_why()
{
	local reason
	reason=$(./datconform --ia soft0 --only IA_OPEN-15 --tap | sed -n 's/.* # SKIP untested: //p')
	[ -n "$reason" ] && ./datconform --ia soft0 --only IA_OPEN-15 --junit - | sed 's/&quot;/"/g' |
		grep -F "<skipped message=\"untested: $reason\"/></testcase>"
}
page()
{
	few --html "$tap_dir/page.html" "$tap_dir/one.json" "$tap_dir/one.json" >/dev/null &&
		[ "$(grep -o '<th>soft0' "$tap_dir/page.html" | wc -l)" -eq 3 ] &&
		! grep -E '(src|href)=' "$tap_dir/page.html"
}
# A result in which one clause has failed, beside one in which none has.
mend() { sed '0,/"verdict": "passed"/s//"verdict": "failed"/' "$tap_dir/one.json" >"$tap_dir/other.json"; }
dated() { [ "$(few --html - 2>/dev/null | grep -cE '<th>soft0<br><small>soft [0-9.]+</small><br><small>OpenDAT [^<]+</small><br><small>20[0-9-]+</small>')" -eq 1 ]; }
same() { ! ./datconform --html - "$tap_dir/one.json" "$tap_dir/one.json" | grep -E '<mark>|class="function failed'; }
failures_first()
{
	local id
	mend
	id=$(grep -B 3 -m 1 '"verdict": "failed"' "$tap_dir/other.json" | grep -oE '"id": "[^"]+"' | tail -n 1 | cut -d'"' -f4)
	./datconform --html "$tap_dir/two.html" "$tap_dir/one.json" "$tap_dir/other.json" || return
	# the failure, once, is the first row, below its heading, and marked as a difference
	[ "$(grep -c "^<tr id=\"$id\"" "$tap_dir/two.html")" -eq 1 ] &&
		[ "$(grep -E '^<tr (id|class="function)' "$tap_dir/two.html" | sed -n 2p | grep -c "^<tr id=\"$id\" class=\"row failed differ\".*<mark>differs</mark>.*class=\"v p\".*class=\"v f\"")" -eq 1 ]
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

alone() { few --json - 2>/dev/null | tail -n 1 | grep -x ' ]}'; }
unwritable()
{
	local status=0
	few --json "$tap_dir/left.json" --html "$tap_dir/none/page.html" >"$tap_dir/out" 2>&1 || status=$?
	cat "$tap_dir/out"
	[ $status -eq 3 ] && ! grep passed "$tap_dir/out" && [ ! -e "$tap_dir/left.json" ]
}
overdue()
{
	local status=0
	./datconform --ia soft0 --jobs 1 --deadline 1 --tap >"$tap_dir/overdue" 2>"$tap_dir/said" || status=$?
	cat "$tap_dir/said"
	[ $status -eq 3 ] && grep -q '^datconform: some tests have no result: the time for the run was over$' "$tap_dir/said" &&
		grep -q '^ok .*# SKIP untested: the time for the run was over$' "$tap_dir/overdue" && ! grep '^not ok' "$tap_dir/overdue"
}
cut_off()
{
	local status=0
	few --json /dev/full >"$tap_dir/out" || status=$?
	[ $status -eq 3 ] && tail -n 1 "$tap_dir/out" | grep -E -x '9 passed, 0 failed, 0 skipped'
}
to_full() { few >/dev/full; }
all_closed()
{
	few --json "$tap_dir/closed.json" <&- >&- 2>&-
	[ $? -eq 3 ] && grep -c '"verdict": "passed"' "$tap_dir/closed.json" | grep -x 9
}

# allowed CLAUSE SUMMARY: judges the clause while DAT_ALLOW allows all that can be allowed
allowed() { DAT_ALLOW=mixed_completions ./datconform --ia soft0 --only "$1" | tail -n 1 | grep -x "$2"; }
strict_only()
{
	[ "$(./datconform --ia soft0 --only CONSUMER-61 | tail -n 1)" = '0 passed, 0 failed, 1 skipped' ] &&
		[ "$(./datconform --ia soft0 --only EP_CREATE-19 | tail -n 1)" = '1 passed, 0 failed, 0 skipped' ]
}

# On a host that has more adapters than most have.
many_adapters()
{
	local i only
	for ((i = 0; i < 70; i++)); do
		sed -n "s/^soft0 u1.2/many$i u1.2/p" "$DAT_OVERRIDE"
	done >"$tap_dir/many.conf"
	[ "$(wc -l <"$tap_dir/many.conf")" -eq 70 ] || return
	for only in 'REG_LIST-*' IA_OPEN-14 PROV_FINI-04 CONSUMER-07 CONSUMER-08; do
		DAT_OVERRIDE=$tap_dir/many.conf ./datconform "$@" --ia many69 --only "$only" | tee "$tap_dir/out"
		tail -n 1 "$tap_dir/out" | grep -E '^[1-9][0-9]* passed, 0 failed, ' || return
	done
}

tap 'datconform: it prints its version' tap_holds '^datconform \(OpenDAT\) [0-9]' ./datconform --version
tap 'datconform: every clause that must hold has a test or a reason' ./datconform --coverage --strict
tap 'datconform: the clauses are counted' tap_holds '^[0-9]{3,} clauses$' ./datconform --list
tap 'datconform: a glob selects by id' tap_holds '^1 clauses$' ./datconform --list --only EVD_WAIT-08
tap 'datconform: a glob selects by function' has_no '^(CNO|EP)_' ./datconform --list --only dat_evd_wait
tap 'datconform: every reading that is named is in the table' readings
tap 'datconform: a clause that departs from the page says why' why
tap 'datconform: the last line sums up' last_line
tap 'datconform: JSON has a verdict for each clause' passed
tap 'datconform: JUnit counts the clauses' junit
tap 'datconform: JUnit says why a clause is untested' junit_says_why
tap 'datconform: TAP has a plan' tap_holds '^1[.][.]9$' few --tap
tap 'datconform: the page needs nothing but itself, and has a column for each run' page
tap 'datconform: results are compared without running anything' compared
tap 'datconform: a column says of which provider, version and day it is' dated
tap 'datconform: what has failed comes first, and a difference is marked' failures_first
tap 'datconform: what is the same in both runs is not marked' same
tap 'datconform: what an administrator allows is judged where it is allowed' allowed CONSUMER-61 '1 passed, 0 failed, 0 skipped'
tap 'datconform: ... and what that lifts is not applicable then' allowed EP_CREATE-19 '0 passed, 0 failed, 1 skipped'
tap 'datconform: without the word it is the reverse' strict_only
tap 'datconform: an unknown adapter is an error of its own' tap_status 3 ./datconform --ia nobody
tap 'datconform: a result that is none is refused' tap_status 3 ./datconform --html - /dev/null
tap 'datconform: a report on standard output has that for itself' alone
tap 'datconform: two reports on standard output are wrong usage' tap_status 2 few --json - --tap
tap 'datconform: a report that cannot be written is an error before the run, and nothing is left behind' unwritable
tap 'datconform: after the deadline the tests are ended, and their clauses are untested' overdue
tap 'datconform: a report that is cut off is an error, and the summary comes all the same' cut_off
tap 'datconform: standard output that takes nothing is an error' tap_status 3 to_full
tap 'datconform: a host may have many adapters' many_adapters
tap 'datconform: a host may have many adapters for programs of 2.0' many_adapters --api 2.0
tap 'datconform: closed standard files take no part in the tests' all_closed
tap 'datconform: an unknown name is told without its control characters' has_no "$(printf '\033')" ./datconform --ia "$(printf '\033[31m')"
tap 'datconform: a port beyond 65535 is none' tap_status 3 ./datconform --ia soft0 --connect 127.0.0.1:85311
tap 'datconform: a glob that fits nothing is wrong usage' tap_status 2 ./datconform --ia soft0 --only NONE-01
# The clauses of 1.2 that are lifted for 2.0, and those that are counted, are together those of 1.2.
lifted_are_told()
{
	local all
	all=$(./datconform --list | sed -n 's/^\([0-9]*\) clauses$/\1/p')
	./datconform --api 2.0 --list >"$tap_dir/list20"
	[ "$(grep -c ' lifted ' "$tap_dir/list20")" -eq "$(($(wc -l <"$top_srcdir/conform/lifted.tsv") - 1))" ] &&
		[ "$(grep -cE '^[A-Z_]+-[0-9]+ .*(tested|reason)' "$tap_dir/list20")" -eq \
			$((all - $(grep -c ' lifted ' "$tap_dir/list20"))) ] &&
		! ./datconform --list | grep ' lifted '
}
as_2_0()
{
	./datconform --api 2.0 --ia soft0 --only CONSUMER-63 --json "$tap_dir/20.json" --html "$tap_dir/20.html" >/dev/null 2>&1
	grep -F '"ia": "soft0 (uDAPL 2.0)", "provider": "soft ' "$tap_dir/20.json" && grep -F '<h1>uDAPL 2.0 conformance</h1>' "$tap_dir/20.html"
}
only_lifted() { ./datconform --api 2.0 --ia soft0 --only CONSUMER-01; }
tap 'datconform: a report of 2.0 says so' as_2_0
tap 'datconform: what does not hold in 2.0 is listed, with a reason, and not counted' lifted_are_told
tap 'datconform: a clause that does not hold in 2.0 alone is wrong usage' tap_status 2 only_lifted
tap 'datconform: an unknown API is wrong usage' tap_status 2 ./datconform --api 3.0 --ia soft0
tap 'datconform: no adapter is wrong usage' tap_status 2 ./datconform
tap_end
