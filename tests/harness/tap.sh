# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# TAP for test scripts. A script sources this, names its tests, and ends with tap_end:
#
#	. "$top_srcdir/tests/harness/tap.sh"
#	tap "datctl: list names soft0" tap_holds soft0 datctl list
#	tap_end
#
# A test is a command; what it prints on either stream is shown when it fails. $tap_dir is a directory of the
# script's own, gone afterwards.
: "${top_srcdir:=.}"
tap_count=0
tap_failed=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/opendat-check-XXXXXX") || exit 99
trap 'rm -rf "$tap_dir"' EXIT
# What make sets for its tests (tests/local.mk), for scripts that are run otherwise
export DAT_SOFT_REALM=${DAT_SOFT_REALM-check-$$}

# tap SENTENCE COMMAND...: one test
tap()
{
	local name=$1 output
	shift
	tap_count=$((tap_count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $tap_count - $name"
		return 0
	fi
	echo "not ok $tap_count - $name"
	printf '%s\n' "command: $*" "$output" | sed 's/^/# /'
	tap_failed=1
	return 1
}

# tap_skip SENTENCE REASON
tap_skip()
{
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# tap_holds PATTERN COMMAND...: the command succeeds, and a line of its output matches
tap_holds()
{
	local pattern=$1 output
	shift
	output=$("$@" 2>&1) || { printf '%s\n' "$output" "status $?"; return 1; }
	grep -E -q -e "$pattern" <<<"$output" || { printf '%s\n' "wanted: $pattern" "$output"; return 1; }
}

# tap_status WANTED COMMAND...: the command ends with this exit status
tap_status()
{
	local wanted=$1 output status=0
	shift
	output=$("$@" 2>&1) || status=$?
	[ $status -eq "$wanted" ] || { printf '%s\n' "status $status, wanted $wanted" "$output"; return 1; }
}

tap_end()
{
	echo "1..$tap_count"
	exit $tap_failed
}
