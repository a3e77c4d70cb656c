#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fuzzes the code that parses what others have written: the registry's files, private data over verbs, and the control protocols
# of datconform and datperf, each with FUZZ_RUNS inputs (4000, or 1000 if CHECK_DEPTH=brief), or with as many as FUZZ_SECONDS allows.
# Prints each input that crashes or hangs one.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
[ "${CHECK_DEPTH-}" = brief ] && runs=1000 || runs=4000
limit=-runs=${FUZZ_RUNS:-$runs}
[ -z "${FUZZ_SECONDS-}" ] || limit=-max_total_time=$FUZZ_SECONDS

# seed NAME BYTES: a file of the seeds; the bytes as printf's %b takes them
seed() { printf '%b' "$2" >"$tap_dir/seeds/$1"; }

# Valid inputs, of which libFuzzer makes others.
seeds()
{
	rm -rf "$tap_dir/seeds"
	mkdir "$tap_dir/seeds"
	case $1 in
	files)
		seed plain 'a\n\nsoft0 u1.2 nonthreadsafe default l.so o.1.0 "" ""\n%%\n[b]\nlibrary = m.so\n'
		seed filter 'a:b::c\n^soft,ib0:strict\nib0 u1.2 threadsafe default libdatib.so o.1.0 "x" "y"\n'
		seed mistyped '\nsotf0:fallback\nsoft0 u1.2 nonthreadsafe default libdatsoft.so o.1.0 "" ""\n'
		;;
	wire)
		local zeros total
		zeros=$(printf '\\0%.0s' {1..40})
		seed trailer "\\0007\\0070hello$zeros\\0\\0\\0\\0\\0\\0\\0\\xe7\\x0d\\xa7\\x05"
		# private data in two parts: 64 bytes in all; a total less than what has come, or more than a program has room for
		for total in 40 10 f0; do
			seed parts$total "\\x00\\x07\\x38$(printf 'a%.0s' {1..52})\\xe7\\x0d\\xa8\\x$total\\x00\\x07\\x38$(
				printf 'b%.0s' {1..52})\\xe7\\x0d\\xa9\\x$total"
		done
		# a request without room for a trailer, whose data end like one
		seed whole "\\x00\\x07\\x38$(printf 'a%.0s' {1..52})\\xe7\\x0d\\xa7\\x34"
		seed reject '\x01\x08\x08\x01\x02\x01\x00busy'
		# and one over InfiniBand, which has its full size
		zeros=$(printf '\\0%.0s' {1..136})
		seed padded "\\x00\\x08\\x94\\x01\\x02\\x01\\x00busy$zeros\\xe7\\x0d\\xa7\\x04"
		seed more '\x00\x08\x04\xe7\x0d\xa7\x02'
		;;
	remote)
		seed hello '\0\0\0\x18\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\0'
		seed blob '\0\0\0\x0c\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x04abcd'
		;;
	ctl)
		local word='\0\0\0\0\0\0\0' test
		# TEST send-bw, 64 bytes, a window of 4, one endpoint and thread; RUN, CHECK, END, BYE
		test="$word\\x01$word\\x03$word\\x40$word\\x04$word\\0$word\\x01$word\\x01$word\\0"
		local rest="$word\\x08$word\\x01$word\\0$word\\0$word\\0$word\\0$word\\0"
		seed session "$test$word\\x02$rest$word\\x03$rest$word\\x04$rest$word\\x05$rest"
		seed big "$word\\x01$word\\x00\\0\\0\\0\\x20\\0\\0\\0\\0$word\\x01$word\\0$word\\x40$word\\x01$word\\0"
		;;
	esac
}

# add_found TARGET: adds its inputs of tests/fuzz/found
add_found()
{
	local target input n=0
	while read -r target input; do
		[ "$target" = "$1" ] || continue
		n=$((n + 1))
		base64 -d <<<"$input" >"$tap_dir/seeds/found$n"
	done <"$top_srcdir/tests/fuzz/found"
}

# fuzzed TARGET: succeeds if no input crashes or hangs it
fuzzed()
{
	mkdir -p "$tap_dir/found" "$tap_dir/new"
	seeds "$1"
	add_found "$1"
	"tests/fuzz/$1_fuzz" "$limit" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -verbosity=0 -close_fd_mask=1 \
		-artifact_prefix="$tap_dir/found/" "$tap_dir/new" "$tap_dir/seeds" >"$tap_dir/log" 2>&1 && return 0
	tail -n 40 "$tap_dir/log"
	for input in "$tap_dir"/found/*; do
		[ -e "$input" ] && base64 "$input" | sed 's/^/input: /'
	done
	return 1
}

for target in files remote ctl wire; do
	what="fuzz: whatever comes in, $target stands it"
	if [ "${SANITIZE:-no}" != no ]; then
		tap_skip "$what" 'is run by the build without sanitizers, with sanitizers of its own'
	elif [ ! -x "tests/fuzz/${target}_fuzz" ]; then
		tap_skip "$what" 'needs clang with libFuzzer, and rdma-core for private data over verbs'
	else
		tap "$what" fuzzed "$target"
	fi
done
tap_end
