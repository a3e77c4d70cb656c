# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The results that tests leave in build/ as .trs files and logs: how many there are, which tests have failed and why, and which took
# longest. Sourced by quickstart, whose variables top and build and whose function say() it uses. A mark is a file: results that are
# newer belong to the run.

# results_of STEP: the folder in which its tests leave their results
results_of()
{
	case $1 in
	check | plain | campaigns) printf '%s' "$build/tests" ;;
	asan | tsan) printf '%s' "$build/$1/tests" ;;
	all) printf '%s' "$build" ;;
	*) printf '%s' "$build/$1" ;;
	esac
}

# results_since MARK STEP
results_since()
{
	find "$(results_of "$2")" -name '*.trs' -newer "$1" -print0 2>/dev/null | xargs -0r grep -h '^:test-result:' || true
}

# tally MARK STEP: sets passed, failed and skipped of the caller from the step's results that are newer than MARK
tally()
{
	local results
	results=$(results_since "$1" "$2")
	passed=$(grep -c ': PASS' <<<"$results" || true)
	failed=$(grep -cE ': (FAIL|ERROR|XPASS|XFAIL)' <<<"$results" || true)
	skipped=$(grep -c ': SKIP' <<<"$results" || true)
}

# failed_since MARK FOLDER: the tests in it that have failed, as names of .trs files, each ended by NUL
failed_since()
{
	find "$2" -name '*.trs' -newer "$1" -print0 | xargs -0r grep -lZE '^:test-result: (FAIL|ERROR|XPASS|XFAIL)' || true
}

# show_failures MARK STEP
show_failures()
{
	local trs log
	while IFS= read -r -d '' trs; do
		log=${trs%.trs}.log
		echo "    ${log#"$top"/}"
		grep -hE -A4 '^not ok|^Bail out|^ERROR|ERROR: .*Sanitizer|WARNING: ThreadSanitizer' "$log" 2>/dev/null |
			head -n 20 | sed 's/^/    | /' || true
		# a guest that has ended says more than the test that ran in it
		grep -hE '^lab: ' "$log" 2>/dev/null | head -n 40 | sed 's/^/    | /' || true
		tail -n 3 "$log" | sed 's/^/    | ... /'
	done < <(failed_since "$1" "$(results_of "$2")")
}

# failures_of LOG NAME: up to five tests of it that have failed, each with the first four comments that follow it, which say why
failures_of()
{
	awk -v name="$2" '
		/^(FAIL|ERROR|XPASS)[: ]/ {
			sub(/^[A-Z]+[ :-]+[^ ]+/, "")
			why = failed++ < 5 ? 4 : 0
			if (why)
				print "  " name ":" $0
			next
		}
		!/^#/ || /^# to run it again:/ { why = 0 }
		why-- > 0 { print "    " substr($0, 1, 300) }' "$1"
}

# list_failures MARK: lists what has failed, at the end, because a user may only see the last lines. A Debian in build/systems/
# counts, too.
list_failures()
{
	local trs name
	say
	say "Failed:"
	while IFS= read -r -d '' trs; do
		name=${trs#"$build"/}
		failures_of "${trs%.trs}.log" "${name%.trs}"
	done < <(failed_since "$1" "$build") | head -n 60
}

# Lists the ten tests that took longest, among those whose results are newer than MARK.
slowest()
{
	say "The slowest tests, in seconds:"
	find "$build" -name '*.trs' -newer "$1" -printf '%P\0' | { (cd "$build" && xargs -0r grep -H '^:seconds:') || true; } |
		sed -E 's,^(.*)\.trs::seconds: ,\1 ,' | sort -k 2 -nr |
		awk 'NR <= 10 { printf "  %5d  %s\n", $2, $1 }'
}
