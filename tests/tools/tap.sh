# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of the tools share: running a tool and looking at its exit status, stdout and stderr. Prints TAP.
# A test is a function whose name is the sentence it shows; it fails by calling `fails`, or by returning non-zero.

set -u

count=0
bad=0
runs=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/opendat-tools.XXXXXX") || exit 1
trap 'cat "$dir/reasons" 2>/dev/null; rm -rf "$dir"' EXIT
out=$dir/out
err=$dir/err
status=0

# Some kernels lay out memory in a way that older thread sanitizers refuse; without randomisation they agree.
if [[ ${SANITIZE-} == *thread* && -z ${TAP_FIXED_LAYOUT-} ]] && ! ./datctl --version >/dev/null 2>&1; then
	TAP_FIXED_LAYOUT=1 exec setarch -R bash "$0" "$@"
fi

# run COMMAND...: with a bound; sets status, fills $out and $err. They are new files each time: a second process that a
# command leaves behind for a moment may still write to those of the run before.
run()
{
	runs=$((runs + 1))
	out=$dir/out.$runs
	err=$dir/err.$runs
	timeout -k 5 "${CHECK_WATCHDOG:-120}" "$@" >"$out" 2>"$err" </dev/null
	status=$?
}

fails()
{
	printf '%s\n' "$*" | sed 's/^/# /'
	verdict=1
}

# skips REASON: ends the test as skipped, because it cannot run on this machine
skips()
{
	[ "$verdict" != 0 ] || verdict="skip $*"
}

exits_with()
{
	[ "$status" -eq "$1" ] || fails "exit status $status instead of $1: $(head -c 400 "$err" | tr '\n' ' ')"
}

# says PATTERN: stderr has a line that matches; prints PATTERN: stdout has
says()
{
	grep -qE -- "$1" "$err" || fails "no '$1' on stderr: $(head -c 600 "$err" | tr '\n' ' ')"
}

prints()
{
	grep -qE -- "$1" "$out" || fails "no '$1' on stdout: $(head -c 600 "$out" | tr '\n' ' ')"
}

prints_nothing()
{
	[ ! -s "$out" ] || fails "on stdout: $(head -c 400 "$out" | tr '\n' ' ')"
}

says_nothing()
{
	[ ! -s "$err" ] || fails "on stderr: $(head -c 400 "$err" | tr '\n' ' ')"
}

# examples/exchange breaks a connection on purpose, by a write to a window that is closed, and the library says so.
says_only_what_was_refused()
{
	! grep -vE '^libdatp: .* has broken [(]DAT_CONNECTION_EVENT_BROKEN[)]: the RDMA write of this side failed with DAT_DTO_ERR_REMOTE_ACCESS: ' \
		"$err" >/dev/null || fails "on stderr: $(head -c 400 "$err" | tr '\n' ' ')"
}

prints_lines()
{
	local n
	n=$(wc -l <"$out")
	[ "$n" -eq "$1" ] || fails "$n lines on stdout instead of $1"
}

# one_test NUMBER NAME: prints its verdict, then what it said, which is why it fails; returns 1 if it does
one_test()
{
	local result=0
	verdict=0
	"$2" >"$dir/reasons" || fails "$2 returned $?" >>"$dir/reasons"
	case $verdict in
	0) echo "ok $1 - $2" ;;
	skip*) echo "ok $1 - $2 # SKIP ${verdict#skip }" ;;
	*)
		echo "not ok $1 - $2"
		result=1
		;;
	esac
	cat "$dir/reasons"
	rm "$dir/reasons"
	return $result
}

# tests NAME...: runs them in this order
tests()
{
	local name
	echo "1..$#"
	for name; do
		count=$((count + 1))
		one_test $count "$name" || bad=1
	done
	exit $bad
}

# tests_beside N NAME...: runs them with up to N at a time, each with a folder and a realm of its own, and prints the
# verdicts in this order. It is for tests that mostly wait.
tests_beside()
{
	local at_once=$1 name
	shift
	echo "1..$#"
	for name; do
		count=$((count + 1))
		while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
			wait -n
		done
		(
			dir=$dir/$name
			out=$dir/out err=$dir/err
			mkdir "$dir" || exit
			DAT_SOFT_REALM=${DAT_SOFT_REALM-check-$$}-$count
			export DAT_SOFT_REALM
			one_test $count "$name"
		) >"$dir/verdict.$count" 2>&1 &
	done
	wait
	for ((count = 1; count <= $#; count++)); do
		cat "$dir/verdict.$count"
		grep -q "^ok $count - " "$dir/verdict.$count" || bad=1
	done
	exit $bad
}

# json_line TEST SIZE ITERS LATENCY BANDWIDTH [VERIFIED]: stdout is exactly this object of datperf --json
json_line()
{
	local number='[0-9]+[.][0-9]+'
	# the fields of a result after its figures
	local settings='"window": [0-9]+, "eps": 1, "threads": 1, "bidirectional": false, "wait": false, "memory": "private", "api": "(1.2|vipl)"'
	prints_lines 1
	prints "^\{\"test\": \"$1\", \"ia\": \"soft0\", \"size\": $2, \"iters\": $3, \"lat_us_median\": $4, \
\"lat_us_p99\": $4, \"bw_MBps\": $5, \"rate_per_s\": $number, $settings, \"verified\": ${6:-true}\}\$"
}
