#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Valgrind prints nothing while the provider checks memory of a mapped file for its registration. If pages_test skips its test, it
# says so on stdout, which does not count here.
set -u
. "${top_srcdir:-.}/tests/harness/tap.sh"

# Valgrind's warnings do not change its exit status, so any output is a failure.
silent()
{
	"${libtool:-./libtool}" --mode=execute valgrind -q --log-file="$tap_dir/said.%p" \
		tests/soft/pages_test --no-fork "$1" || return
	! grep . "$tap_dir"/said.*
}

tap "pages_test: valgrind is silent while a mapping of a file is checked" silent "shared mapping of a file"
tap_end
