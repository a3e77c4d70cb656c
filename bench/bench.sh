#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Measures soft0 beside UCX, libfabric and the bare limits of the machine: `make bench`, or bench/bench.sh in a build
# tree. Every round measures every contestant of every row once, so that a slow moment meets all of them; the table has
# the best of each, ours over theirs, and the median of the ratios of the rounds. What is not installed is left out.
set -u

rounds=9
only='*'
json=bench.json
ia=soft0

usage()
{
	cat <<-END
	usage: bench.sh [--rounds N] [--only PATTERN] [--json FILE] [--ia NAME]
	Run it where OpenDAT was built. Rows: $(rows | cut -d'|' -f1 | paste -sd' ')
	END
}

# name | contestants | better | aim: ratio of ours to the first contestant's best
# A contestant is a function; the first is ours, the second the one that the aim is about.
rows()
{
	cat <<-END
	send-lat-8|dat_lat ucx_lat fi_lat bare_pingpong|less|0.75|us|8
	send-lat-64|dat_lat ucx_lat fi_lat bare_pingpong|less|0.75|us|64
	send-lat-1k|dat_lat ucx_lat fi_lat|less|0.9|us|1024
	send-lat-4k|dat_lat ucx_lat fi_lat|less|0.9|us|4096
	send-bw-64k|dat_send_bw ucx_bw bare_memcpy|more|1.0|MB/s|65536
	send-bw-1m|dat_send_bw ucx_bw bare_memcpy|more|1.3|MB/s|1048576
	send-bw-4m|dat_send_bw ucx_bw bare_memcpy|more|1.3|MB/s|4194304
	write-bw-1m|dat_write_bw bare_writev bare_memcpy|more|0.95|MB/s|1048576
	read-bw-1m|dat_read_bw bare_readv bare_memcpy|more|0.95|MB/s|1048576
	rate-8|dat_rate ucx_rate|more|1.0|messages/s|8
	wait|dat_wait bare_futex|less|1.3|us both ways|8
	dequeue-1000|dat_dequeue_many dat_dequeue_16|less|1.1|ns|1000
	dequeue-10000|dat_dequeue_many dat_dequeue_16|less|1.1|ns|10000
	memory|dat_memory|less|4096|bytes an idle endpoint|1000
	connect|dat_connect|more|5000|connections/s|0
	dispatch-post|dat_dispatch|less|15|instructions|post
	dispatch-dequeue|dat_dispatch|less|15|instructions|dequeue
	END
}

# ------------------------------------------------------------------ contestants: SIZE (or CALL), print a number or nothing

member() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
perf() { ./datperf --ia "$ia" --json "$@"; }

dat_lat() { perf --test send-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_send_bw() { perf --test send-bw --size "$1" | member bw_MBps; }
dat_write_bw() { perf --test write-bw --size "$1" | member bw_MBps; }
dat_read_bw() { perf --test read-bw --size "$1" | member bw_MBps; }
dat_rate() { perf --test send-bw --size "$1" --window 64 --iters 500000 | member rate_per_s; }
dat_wait() { perf --test send-lat --wait --size "$1" --iters 5000 | member lat_us_median | awk '{ print 2 * $1 }'; }
dat_connect() { perf --test connect-rate --iters 3000 | member rate_per_s; }
dat_dequeue_many() { bench/endpoints "$ia" "$1" | cut -d' ' -f1; }
dat_dequeue_16() { bench/endpoints "$ia" 16 | cut -d' ' -f1; }
dat_memory() { bench/endpoints "$ia" "$1" 100 | cut -d' ' -f3; }

instructions()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

dispatch() { libtool_run instructions bench/dispatch "$ia" "$@"; }

# A program of the build tree, as itself: what libtool makes of it is a script.
libtool_run()
{
	local how=$1 program=$2
	shift 2
	LD_LIBRARY_PATH=$PWD/.libs:${LD_LIBRARY_PATH-} "$how" "${program%/*}/.libs/${program##*/}" "$@"
}

dat_dispatch()
{
	command -v valgrind >/dev/null || return
	local with=$(($(dispatch "$1" libdat 20000) - $(dispatch "$1" libdat 10000)))
	local without=$(($(dispatch "$1" direct 20000) - $(dispatch "$1" direct 10000)))
	awk "BEGIN { print ($with - $without) / 10000 }"
}

cpus=$(taskset -pc $$ | sed 's/.*: //')
cpu_a=${cpus%%[,-]*}
cpu_b=${cpus##*[,-]}

# ucx TEST SIZE COLUMN ITERS: the better one of the two ways that UCX has within a host
ucx()
{
	local transport port server
	command -v ucx_perftest >/dev/null || return
	for transport in posix,cma sysv,cma; do
		port=$((20000 + RANDOM % 20000))
		UCX_TLS=$transport ucx_perftest -p $port -c "$cpu_b" >/dev/null 2>&1 &
		server=$!
		sleep 0.5
		UCX_TLS=$transport timeout 60 ucx_perftest -p $port -c "$cpu_a" -t "$1" -s "$2" -n "$4" \
			-w $(($4 / 10)) -f -v 127.0.0.1 2>/dev/null | awk -F, -v column="$3" '/^[0-9]/ { print $column }'
		kill $server 2>/dev/null
		wait $server 2>/dev/null
	done
}

# ucx_perftest's MB are 2^20 bytes
ucx_lat() { ucx tag_lat "$1" 2 50000 | sort -n | head -n 1; }
ucx_bw() { ucx tag_bw "$1" 6 $(((512 << 20) / $1)) | sort -n | tail -n 1 | awk '{ print $1 * 1.048576 }'; }
ucx_rate() { ucx tag_bw "$1" 8 500000 | sort -n | tail -n 1; }

fi_lat()
{
	local port=$((20000 + RANDOM % 20000)) server
	command -v fi_pingpong >/dev/null || return
	taskset -c "$cpu_b" fi_pingpong -p shm -e rdm -S "$1" -I 20000 -B $port >/dev/null 2>&1 &
	server=$!
	sleep 0.5
	timeout 60 taskset -c "$cpu_a" fi_pingpong -p shm -e rdm -S "$1" -I 20000 -P $port 127.0.0.1 2>/dev/null |
		awk '$1 ~ /^[0-9]/ { print $7 }'
	kill $server 2>/dev/null
	wait $server 2>/dev/null
}

bare_pingpong() { bench/bare pingpong | awk '{ print $1 / 1000 }'; }
bare_futex() { bench/bare futex | awk '{ print $1 / 1000 }'; }
bare_memcpy() { bench/bare memcpy "$1"; }
bare_writev() { bench/bare writev "$1"; }
bare_readv() { bench/bare readv "$1"; }

# ------------------------------------------------------------------ the run

while [ $# -gt 0 ]; do
	case $1 in
	--rounds | --only | --json | --ia)
		[ $# -gt 1 ] || { echo "bench: $1 needs a value" >&2; exit 2; }
		declare "${1#--}=$2"
		shift 2
		;;
	--help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "bench: --rounds: '$rounds' is no number" >&2; exit 2; }
[ -x ./datperf ] && [ -x bench/bare ] ||
	{ echo "bench: run it in a tree where 'make bench' has built what it measures" >&2; exit 2; }
export DAT_OVERRIDE=${DAT_OVERRIDE:-$PWD/tests/dat.conf}

raw=$(mktemp "${TMPDIR:-/tmp}/opendat-bench-XXXXXX") || exit 1
trap 'rm -f "$raw"' EXIT

for round in $(seq "$rounds"); do
	while IFS='|' read -r name contestants better aim unit size; do
		# shellcheck disable=SC2053 # a pattern
		[[ $name == $only ]] || continue
		for contestant in $contestants; do
			[ ! -t 2 ] || printf '\r\033[Kround %d of %d: %s, %s' "$round" "$rounds" "$name" "$contestant" >&2
			value=$($contestant "$size" </dev/null)
			[ -z "$value" ] || echo "$name|$better|$aim|$unit|$contestant|$round|$value"
		done
	done < <(rows) >>"$raw"
done
[ ! -t 2 ] || printf '\r\033[K' >&2

awk -F'|' -v json="$json" -v machine="$(nproc) x $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
	-v when="$(date -u +%F)" -f "$(dirname "$0")/table.awk" "$raw" && echo "written to $json as well"
