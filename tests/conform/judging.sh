# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Functions for tests of datconform with mutants: pairs of a mutant and a clause are judged, and each clause has to turn red. The
# test has judge N MUTANT CLAUSE, which calls `verdict`.
. "${top_srcdir:=.}/tests/harness/tap.sh"

# judged: succeeds if a check of this clause failed, or its process did, and not only an earlier check of the same test
judged()
{
	grep -E "^    got      (a crash|a hang|the process exited)" "$1" || grep '^    expected ' "$1" | grep -v 'expected the test reaches'
}

# verdict N COMMAND...: what datconform says of the clause is in verdict.N, and its exit status in status.N
verdict()
{
	local n=$1 status=0
	shift
	"$@" --patience 2 --timeout 6 >"$tap_dir/verdict.$n" 2>&1 || status=$?
	echo $status >"$tap_dir/status.$n"
}

# red N: the clause failed
red()
{
	cat "$tap_dir/verdict.$1"
	[ "$(cat "$tap_dir/status.$1")" -eq 1 ] && judged "$tap_dir/verdict.$1"
}

# A test that fails does so by waiting, as a rule, so several are run side by side, each in a realm of its own.
at_once=4

# judge_pairs WHAT: judges the lines of `pairs`, each a mutant and a clause; sets total and caught
judge_pairs()
{
	local pair mutant clause n
	total=0 caught=0
	for pair in "${pairs[@]}"; do
		total=$((total + 1))
		[ $total -le $at_once ] || wait -n
		# shellcheck disable=SC2086 # two words
		judge $total $pair &
	done
	wait
	for ((n = 1; n <= total; n++)); do
		read -r mutant clause <<<"${pairs[n - 1]}"
		tap "$1: $mutant turns $clause red" red $n && caught=$((caught + 1))
	done
}
