#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Throws inputs at the parsers of dat.conf and its drop-ins for FUZZ_SECONDS (20, or 1 if CHECK_DEPTH=brief), starting from
# the corpus and the registries found in the field. An input that breaks them is shown in base64.
fuzz=tests/fuzz/conf_fuzz
what="dat.conf parsers stand whatever comes in"
[ "${CHECK_DEPTH-}" = brief ] && seconds=1 || seconds=20
seconds=${FUZZ_SECONDS:-$seconds}
echo "1..1"
if [ ! -x $fuzz ]; then
	echo "ok 1 - fuzz: $what # SKIP needs clang with libFuzzer"
	exit 0
fi
if [ "${SANITIZE:-no}" != no ]; then
	echo "ok 1 - fuzz: $what # SKIP is run by the build without sanitizers, with sanitizers of its own"
	exit 0
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/opendat-fuzz-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/found" "$tmp/new"
if $fuzz -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -verbosity=0 -close_fd_mask=1 \
	-artifact_prefix="$tmp/found/" -dict="$top_srcdir/tests/fuzz/conf.dict" \
	"$tmp/new" "$top_srcdir/tests/fuzz/corpus" "$top_srcdir/tests/fixtures" >"$tmp/log" 2>&1; then
	echo "ok 1 - fuzz: $what"
else
	echo "not ok 1 - fuzz: $what"
	tail -n 40 "$tmp/log" | sed 's/^/# /'
	for input in "$tmp"/found/*; do
		[ -e "$input" ] && base64 "$input" | sed 's/^/# input: /'
	done
fi
