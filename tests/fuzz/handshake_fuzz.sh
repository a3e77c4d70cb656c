#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fuzzes the handshake of the soft provider, on either side, with inputs made from the seeds in tests/fuzz/handshake and
# tests/fuzz/found. There are FUZZ_RUNS inputs (4000, or 1000 if CHECK_DEPTH=brief), or as many as FUZZ_SECONDS allows. An input
# that breaks the provider is shown in base64.
fuzz=tests/fuzz/handshake_fuzz
what="the soft provider's handshake withstands every input"
[ "${CHECK_DEPTH-}" = brief ] && runs=1000 || runs=4000
limit=-runs=${FUZZ_RUNS:-$runs}
[ -z "${FUZZ_SECONDS-}" ] || limit=-max_total_time=$FUZZ_SECONDS
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
mkdir "$tmp/found" "$tmp/new" "$tmp/seeds"
n=0
while read -r target input; do
	[ "$target" = handshake ] || continue
	n=$((n + 1))
	base64 -d <<<"$input" >"$tmp/seeds/found$n"
done <"$top_srcdir/tests/fuzz/found"
# the adapter stays open until the end, which is no leak
if ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}" $fuzz "$limit" -detect_leaks=0 -max_len=128 -timeout=20 -rss_limit_mb=2048 \
	-verbosity=0 -artifact_prefix="$tmp/found/" "$tmp/new" "$tmp/seeds" "$top_srcdir/tests/fuzz/handshake" >"$tmp/log" 2>&1; then
	echo "ok 1 - fuzz: $what"
else
	echo "not ok 1 - fuzz: $what"
	tail -n 40 "$tmp/log" | sed 's/^/# /'
	for input in "$tmp"/found/*; do
		[ -e "$input" ] && base64 "$input" | sed 's/^/# input: /'
	done
fi
