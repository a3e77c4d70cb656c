#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Measures soft0 beside UCX, libfabric and the bare limits of the machine: `make bench`, or bench/bench.sh in a build
# tree. Every round measures every contestant of every row once, so that a slow moment meets all of them; the table has
# the best of each, ours over theirs, and the median of the ratios of the rounds; and each row's aim, and whether it was met.
# What is not installed, or cannot be measured here, is left out; a row of which nothing was measured says so.
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

# name | contestants | better | aims | unit | size, or what else its contestants are given | what it is
# A contestant is a function, the first of them ours. An aim is a contestant and a ratio of our best to its best, or, where
# a row has no rival, =FIGURE.
rows()
{
	cat <<-END
	send-lat-8|dat_lat ucx_lat fi_lat bare_pingpong bare_message|less|ucx_lat:0.75 bare_pingpong:2.5|us|8|send/receive latency, polling
	send-lat-64|dat_lat ucx_lat fi_lat bare_pingpong bare_message|less|ucx_lat:0.75 bare_pingpong:2.5|us|64|send/receive latency, polling
	send-lat-1k|dat_lat ucx_lat fi_lat bare_message|less|ucx_lat:0.9|us|1024|send/receive latency, polling
	send-lat-4k|dat_lat ucx_lat fi_lat bare_message|less|ucx_lat:0.9|us|4096|send/receive latency, polling
	send-bw-64k|dat_send_bw ucx_bw bare_memcpy|more|ucx_bw:1.0|MB/s|65536|send/receive bandwidth, ordinary memory
	send-bw-1m|dat_send_bw ucx_bw bare_memcpy|more|ucx_bw:1.3|MB/s|1048576|send/receive bandwidth, ordinary memory
	send-bw-4m|dat_send_bw ucx_bw bare_memcpy|more|ucx_bw:1.3|MB/s|4194304|send/receive bandwidth, ordinary memory
	write-bw-1m|dat_write_bw bare_writev bare_memcpy|more|bare_writev:0.95|MB/s|1048576|RDMA Write bandwidth, ordinary memory
	read-bw-1m|dat_read_bw bare_readv bare_memcpy|more|bare_readv:0.95|MB/s|1048576|RDMA Read bandwidth, ordinary memory
	write-shared-bw-1m|dat_shared_bw bare_memcpy bare_shared|more|bare_memcpy:0.85|MB/s|1048576|RDMA Write bandwidth, shareable memory
	write-shared-lat-8|dat_shared_lat bare_pingpong|less||us|8|RDMA Write latency, shareable memory
	write-lat-8|dat_write_lat dat_lat|less|dat_lat:1.5|us|8|RDMA Write latency, ordinary memory, against a Send's
	write-lat-4k|dat_write_lat dat_lat|less|dat_lat:1.2|us|4096|RDMA Write latency, ordinary memory, against a Send's
	read-lat-8|dat_read_lat dat_write_lat|less|dat_write_lat:2|us|8|RDMA Read latency, ordinary memory, against a Write's
	memory-write-lat-8|dat_memory_write_lat dat_lat ucx_put_lat|less|dat_lat:1.5 ucx_put_lat:0.75|us|8|RDMA Write latency with memory=shared, against a Send's
	memory-write-lat-4k|dat_memory_write_lat dat_lat ucx_put_lat|less|dat_lat:1.2 ucx_put_lat:0.75|us|4096|RDMA Write latency with memory=shared, against a Send's
	memory-read-lat-8|dat_memory_read_lat dat_memory_write_lat|less|dat_memory_write_lat:2|us|8|RDMA Read latency with memory=shared, against a Write's
	memory-write-rate-64|dat_memory_write_rate dat_rate|more|dat_rate:0.5|messages/s|64|rate of RDMA Writes with memory=shared, against that of Sends
	memory-write-bw-1m|dat_memory_write_bw bare_memcpy|more|bare_memcpy:0.85|MB/s|1048576|RDMA Write bandwidth with memory=shared
	memory-eager-lat-8|dat_memory_eager_lat dat_eager_lat dat_lat|less|dat_lat:1.5|us|8|an MPI's ring of RDMA Writes with memory=shared
	eager-lat-8|dat_eager_lat dat_eager_shared_lat dat_lat|less||us|8|latency as an MPI sends short messages: a ring of RDMA Writes
	eager-lat-16k|dat_eager_lat dat_eager_shared_lat dat_lat|less||us|16384|latency as an MPI sends short messages: a ring of RDMA Writes
	write-shared-calls|dat_shared_calls|less|=0|system calls a write|1048576|what an RDMA Write into shareable memory asks the kernel
	rate-8|dat_rate ucx_rate|more|ucx_rate:1.0|messages/s|8|message rate, a window of 64
	inside-1m|dat_inside bare_memcpy_best|more|bare_memcpy_best:0.9|MB/s|1048576|send/receive bandwidth, both ends in one process
	wait|dat_wait bare_futex|less|bare_futex:1.3|us both ways|8|blocking waits, there and back
	dequeue-1000|dat_dequeue_many dat_dequeue_16|less|dat_dequeue_16:1.1|ns|1000|a completion, with 1,000 endpoints against 16
	dequeue-10000|dat_dequeue_many dat_dequeue_16|less|dat_dequeue_16:1.1|ns|10000|a completion, with 10,000 endpoints against 16
	memory|dat_memory|less|=4096|bytes|1000|memory of an idle connected endpoint
	connect|dat_connect|more|=5000|connections/s|0|connections, one process to another
	dispatch-post|dat_dispatch|less|=15|instructions|post|what libdat adds to a post
	dispatch-dequeue|dat_dispatch|less|=15|instructions|dequeue|what libdat adds to a dequeue
	dispatch-send-2.0|dat_added20|less|=15|instructions|send|what a Send of uDAPL 2.0 costs more than one of 1.2
	dispatch-recv-2.0|dat_added20|less|=15|instructions|recv|what a Receive of uDAPL 2.0 costs more than one of 1.2
	dispatch-write-2.0|dat_added20|less|=15|instructions|write|what an RDMA Write of uDAPL 2.0 costs more than one of 1.2
	dispatch-taken-2.0|dat_added20|less|=15|instructions|taken|what a dequeue of a message costs more with uDAPL 2.0
	dispatch-sent-2.0|dat_added20|less|=15|instructions|sent|what a dequeue of a request costs more with uDAPL 2.0
	send-lat-8-2.0|dat_lat20 dat_lat|less|dat_lat:1.1|us|8|send/receive latency of a program of uDAPL 2.0, and of one of 1.2
	send-lat-4k-2.0|dat_lat20 dat_lat|less|dat_lat:1.1|us|4096|send/receive latency of a program of uDAPL 2.0, and of one of 1.2
	write-lat-8-2.0|dat_write_lat20 dat_write_lat|less|dat_write_lat:1.1|us|8|RDMA Write latency of a program of uDAPL 2.0, and of one of 1.2
	read-lat-8-2.0|dat_read_lat20 dat_read_lat|less|dat_read_lat:1.1|us|8|RDMA Read latency of a program of uDAPL 2.0, and of one of 1.2
	send-bw-64k-2.0|dat_send_bw20 dat_send_bw|more|dat_send_bw:0.9|MB/s|65536|send/receive bandwidth of a program of uDAPL 2.0, and of one of 1.2
	send-bw-1m-2.0|dat_send_bw20 dat_send_bw|more|dat_send_bw:0.9|MB/s|1048576|send/receive bandwidth of a program of uDAPL 2.0, and of one of 1.2
	write-bw-1m-2.0|dat_write_bw20 dat_write_bw|more|dat_write_bw:0.9|MB/s|1048576|RDMA Write bandwidth of a program of uDAPL 2.0, and of one of 1.2
	rate-8-2.0|dat_rate20 dat_rate|more|dat_rate:0.9|messages/s|8|message rate of a program of uDAPL 2.0, and of one of 1.2
	call-send|dat_cost20 dat_cost12|less|dat_cost12:1.1|instructions|send|a post of a Send by a program of uDAPL 2.0, and by one of 1.2
	call-recv|dat_cost20 dat_cost12|less|dat_cost12:1.1|instructions|recv|a post of a Receive by a program of uDAPL 2.0, and by one of 1.2
	call-write|dat_cost20 dat_cost12|less|dat_cost12:1.1|instructions|write|a post of an RDMA Write by a program of uDAPL 2.0, and by one of 1.2
	call-taken|dat_cost20 dat_cost12|less|dat_cost12:1.1|instructions|taken|a dequeue of a message by a program of uDAPL 2.0, and by one of 1.2
	call-sent|dat_cost20 dat_cost12|less|dat_cost12:1.1|instructions|sent|a dequeue of a request by a program of uDAPL 2.0, and by one of 1.2
	call-empty|dat_cost20 dat_cost12|less|dat_cost12:1.1|instructions|empty|a dequeue from an empty queue by a program of uDAPL 2.0, and by one of 1.2
	END
}

# ------------------------------------------------------------------ contestants: SIZE (or CALL), print a number or nothing

member() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
api=1.2
perf() { ./datperf --ia "$ia" --api "$api" --json "$@"; }

dat_lat() { perf --test send-lat --size "$1" --iters 50000 | member lat_us_median; }
# From 1 MiB on the result depends on what the caches hold. ucx_perftest sends the same buffer all the time, so datperf does, too.
dat_send_bw() { perf --test send-bw --size "$1" --window $(($1 < 1048576 ? 8 : 1)) | member bw_MBps; }
# All programs use this small number of buffers in turn. With many, the result would depend on how much cache other programs leave.
buffers=2
dat_write_bw() { perf --test write-bw --size "$1" --window $buffers | member bw_MBps; }
dat_read_bw() { perf --test read-bw --size "$1" --window $buffers | member bw_MBps; }
# Prints nothing if the adapter shares no memory with its peers.
dat_shared_bw() { perf --memory shared --test write-bw --size "$1" --window $buffers 2>/dev/null | member bw_MBps; }
dat_shared_lat() { perf --memory shared --test write-lat --size "$1" --iters 50000 2>/dev/null | member lat_us_median; }
dat_write_lat() { perf --test write-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_read_lat() { perf --test read-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_eager_lat() { perf --test eager-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_eager_shared_lat() { perf --memory shared --test eager-lat --size "$1" --iters 50000 2>/dev/null | member lat_us_median; }
# Runs with memory=shared; prints nothing if another adapter than soft0 is measured.
dat_memory_shared() { [ "$ia" = soft0 ] && ./datperf --ia soft-memory --json "$@"; }
dat_memory_write_lat() { dat_memory_shared --test write-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_memory_read_lat() { dat_memory_shared --test read-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_memory_eager_lat() { dat_memory_shared --test eager-lat --size "$1" --iters 50000 | member lat_us_median; }
dat_memory_write_rate() { dat_memory_shared --test write-bw --size "$1" --window 64 --iters 500000 | member rate_per_s; }
dat_memory_write_bw() { dat_memory_shared --test write-bw --size "$1" --window $buffers | member bw_MBps; }
dat_rate() { perf --test send-bw --size "$1" --window 64 --iters 500000 | member rate_per_s; }
# The same by a program of uDAPL 2.0.
dat_lat20() { api=2.0 dat_lat "$1"; }
dat_write_lat20() { api=2.0 dat_write_lat "$1"; }
dat_read_lat20() { api=2.0 dat_read_lat "$1"; }
dat_send_bw20() { api=2.0 dat_send_bw "$1"; }
dat_write_bw20() { api=2.0 dat_write_bw "$1"; }
dat_rate20() { api=2.0 dat_rate "$1"; }
dat_wait() { perf --test send-lat --wait --size "$1" --iters 5000 | member lat_us_median | awk '{ print 2 * $1 }'; }
dat_connect() { perf --test connect-rate --iters 3000 | member rate_per_s; }
dat_dequeue_many() { bench/endpoints "$ia" "$1" | cut -d' ' -f1; }
dat_dequeue_16() { bench/endpoints "$ia" 16 | cut -d' ' -f1; }
dat_inside() { bench/inside "$ia" "$1" $buffers; }
dat_memory() { bench/endpoints "$ia" "$1" 100 | cut -d' ' -f3; }

instructions()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

dispatch() { libtool_run instructions bench/dispatch "$ia" "$@"; }

# Prints the path of a program of the build tree, because libtool puts a script in its place.
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

# PROGRAM KIND: the instructions of one call, with those of libdat and of the provider.
call_cost()
{
	local program=$1 kind=$2 few many
	command -v valgrind >/dev/null || return
	few=$(libtool_run counted_call "$program" "$ia" "$kind" 1000)
	many=$(libtool_run counted_call "$program" "$ia" "$kind" 2000)
	[ -n "$few" ] && [ -n "$many" ] && awk "BEGIN { print ($many - $few) / 1000 }"
}

# PROGRAM IA KIND N
counted_call()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="call_$3" "$@" 2>&1 |
		sed -n 's/.*Collected : //p'
}

dat_cost12() { call_cost bench/cost "$1"; }
dat_cost20() { call_cost bench/cost20 "$1"; }

dat_added20()
{
	local old new
	old=$(dat_cost12 "$1") && new=$(dat_cost20 "$1") && awk "BEGIN { print $new - $old }"
}

trace() { strace -f -qq -e signal=none -e trace='!sched_yield' -o "$raw.calls" "$@"; }

# shared_calls SIZE ITERS: prints the number of system calls of a test. All calls of the writing thread count; of the other threads
# only copies between processes do. A call that strace prints in two lines counts once. sched_yield() does not count, because a
# side that waits for its peer makes it, and neither do copies within one process, by which libdat reads the word behind a handle.
shared_calls()
{
	libtool_run trace ./datperf --ia "$ia" --memory shared --test write-bw --size "$1" --iters "$2" --warmup 0 \
		>/dev/null 2>&1 || return
	awk 'NR == 1 { writer = $1 }
	/ resumed>/ { next }
	$1 == writer { n++; next }
	/^[0-9]+ +process_vm_/ { split($2, part, /[(,]/); n += part[2] != $1 }
	END { print n + 0 }' "$raw.calls"
}

# Prints system calls per write, rounded to a hundredth, because the number of times that threads wait for each other's locks at the
# start and at the end of a run differs.
dat_shared_calls()
{
	local one many
	command -v strace >/dev/null || return
	one=$(shared_calls "$1" 1) && many=$(shared_calls "$1" 2001) || return
	awk "BEGIN { n = ($many - $one) / 2000; printf \"%.2f\\n\", n < 0.005 ? 0 : n }"
}

cpus=$(taskset -pc $$ | sed 's/.*: //')
cpu_a=${cpus%%[,-]*}
cpu_b=${cpus##*[,-]}

# ucx TEST SIZE COLUMN ITERS: the better one of the two ways that UCX has within a host. It pads its numbers to four digits.
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
			-w $(($4 / 10)) -f -v 127.0.0.1 2>/dev/null | awk -F, -v column="$3" '/^ *[0-9]/ { print $column }'
		kill $server 2>/dev/null
		wait $server 2>/dev/null
	done
}

# ucx_perftest's MB are 2^20 bytes
ucx_lat() { ucx tag_lat "$1" 2 50000 | sort -n | head -n 1; }
ucx_put_lat() { ucx ucp_put_lat "$1" 2 50000 | sort -n | head -n 1; }
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
bare_message() { bench/bare message "$1" | awk '{ print $1 / 1000 }'; }
bare_futex() { bench/bare futex | awk '{ print $1 / 1000 }'; }
bare_memcpy() { bench/bare memcpy "$1" $buffers | cut -d' ' -f1; }
bare_memcpy_best() { bench/bare memcpy "$1" $buffers | cut -d' ' -f2; }
bare_shared() { bench/bare shared "$1" $buffers | cut -d' ' -f1; }
bare_writev() { bench/bare writev "$1" $buffers | cut -d' ' -f1; }
bare_readv() { bench/bare readv "$1" $buffers | cut -d' ' -f1; }

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
known=0
while IFS='|' read -r name _; do
	# shellcheck disable=SC2053 # a pattern
	[[ $name != $only ]] || known=1
done < <(rows)
[ $known = 1 ] || { echo "bench: --only: no row is called '$only'; --help lists them" >&2; exit 2; }
[ -x ./datperf ] && [ -x bench/bare ] ||
	{ echo "bench: run it in a tree where 'make bench' has built what it measures" >&2; exit 2; }
export DAT_OVERRIDE=${DAT_OVERRIDE:-$PWD/tests/dat.conf}
# before an hour of measuring, not after it
./datctl show "$ia" >/dev/null || exit 1
(: >>"$json") 2>/dev/null || { echo "bench: --json: $json cannot be written" >&2; exit 1; }

raw=$(mktemp "${TMPDIR:-/tmp}/opendat-bench-XXXXXX") || exit 1
trap 'rm -f "$raw" "$raw.calls"' EXIT

for round in $(seq "$rounds"); do
	while IFS='|' read -r name contestants better aims unit size what; do
		# shellcheck disable=SC2053 # a pattern
		[[ $name == $only ]] || continue
		[ "$round" -gt 1 ] || echo "row|$name|$better|$aims|$unit|$what"
		for contestant in $contestants; do
			[ ! -t 2 ] || printf '\r\033[Kround %d of %d: %s, %s' "$round" "$rounds" "$name" "$contestant" >&2
			value=$($contestant "$size" </dev/null)
			[ -z "$value" ] || echo "value|$name|$contestant|$round|$value"
		done
	done < <(rows) >>"$raw"
done
[ ! -t 2 ] || printf '\r\033[K' >&2

awk -F'|' -v json="$json" -v machine="$(nproc) x $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
	-v when="$(date -u +%F)" -f "$(dirname "$0")/table.awk" "$raw" && echo "written to $json as well"
