#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Valgrind has nothing to say while memory of a mapped file is looked at for its registration. A pages_test that is skipped says
# so on stdout, and has no say here.
set -u
. "${top_srcdir:-.}/tests/harness/tap.sh"

# Warnings come without an error, so they count only as output.
silent()
{
	"${libtool:-./libtool}" --mode=execute valgrind -q --log-file="$tap_dir/said.%p" \
		tests/soft/pages_test --no-fork "$1" || return
	! grep . "$tap_dir"/said.*
}

tap "pages_test: valgrind is silent while a mapping of a file is checked" silent "shared mapping of a file"
tap_end
