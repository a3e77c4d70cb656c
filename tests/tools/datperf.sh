#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datperf as a person and a script meet it: usage, JSON, the table, every test and option. A figure may have any value; the tests
# only check that it is a number. CHECK_DEPTH=brief leaves out some of the sizes and measures for tenths of seconds, and so does a
# sanitizer, because what it finds does not depend on how long a figure is measured.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

perf=(./datperf --ia soft0 --timeout 60)
sizes=(1 63 65 4095 8193 1000001) vipl_sizes=(1 200 100000) seconds=1
if [ "${CHECK_DEPTH-}" = brief ] || [ "${SANITIZE:-no}" != no ]; then
	sizes=(1 4095 1000001) vipl_sizes=(200) seconds=0.1
fi

help_goes_to_stdout_and_succeeds()
{
	run ./datperf --help
	exits_with 0
	prints '^Usage: datperf --ia NAME'
	prints 'Exit status'
	says_nothing
}

help_names_every_option_and_test()
{
	local word
	run ./datperf --help
	for word in --ia --api --test --size --sweep --window --iters --duration --warmup --wait --cpus --histogram --json \
		--csv --plot --server --connect --qual --timeout --limit --deadline --eps --threads --bidirectional --verify --memory --help \
		--version send-lat write-lat read-lat eager-lat send-bw write-bw read-bw connect-rate; do
		prints "(^|[^a-z-])$word([^a-z-]|\$)"
	done
}

version_is_one_line()
{
	run ./datperf --version
	exits_with 0
	prints '^datperf \(OpenDAT\) [0-9]+[.][0-9]+[.][0-9]+$'
	prints_lines 1
}

wrong_usage_exits_with_2_and_prints_nothing()
{
	local args
	for args in '' --nonsense --ia '--ia soft0 extra' '--ia soft0 --test nonsense' '--ia soft0 --size 0' \
		'--ia soft0 --size 8x' '--ia soft0 --size -1' '--ia soft0 --size 99999999999999999999' \
		'--ia soft0 --iters 0' '--ia soft0 --warmup x' '--ia soft0 --cpus' '--ia soft0 --cpus 0' \
		'--ia soft0 --cpus a,b' '--ia soft0 --cpus 0,65000' '--ia soft0 --server --connect 127.0.0.1' \
		'--ia soft0 --server --test send-lat' '--ia soft0 --server --json' \
		'--ia soft0 --connect 127.0.0.1 --cpus 0,0' '--ia soft0 --qual 0' '--ia soft0 --qual 99 --test send-lat --iters 2' \
		'--ia soft0 --test connect-rate --size 8' '--ia soft0 --timeout 0' '--ia soft0 --sweep=8:4' \
		'--ia soft0 --sweep=a:8' '--ia soft0 --sweep --size 8' '--ia soft0 --test connect-rate --sweep' \
		'--ia soft0 --window 0' '--ia soft0 --window 8 --test send-lat' '--ia soft0 --duration 0' \
		'--ia soft0 --duration 0.0' '--ia soft0 --duration .' '--ia soft0 --duration 1.' '--ia soft0 --duration 0.5s' \
		'--ia soft0 --duration 1e1' '--ia soft0 --duration -1' '--ia soft0 --duration 0.5.5' '--ia soft0 --duration 3600.1' \
		'--ia soft0 --duration 1 --iters 5' '--ia soft0 --test write-lat --wait' \
		'--ia soft0 --test eager-lat --wait' '--ia soft0 --api vipl --test eager-lat' \
		'--ia soft0 --test send-bw --histogram' '--ia soft0 --plot picture.jpg' '--plot a.svg' \
		'--plot a.svg --csv results' '--plot a.svg --server results' '--ia soft0 --server --wait' '--ia soft0 --api x' \
		'--ia soft0 --eps 0' '--ia soft0 --eps 1025' '--ia soft0 --threads 65' '--ia soft0 --eps 2 --threads 3' \
		'--ia soft0 --test connect-rate --eps 2' '--ia soft0 --test connect-rate --threads 2' \
		'--ia soft0 --test send-lat --bidirectional' '--ia soft0 --memory nonsense' '--ia soft0 --server --eps 2' \
		'--ia soft0 --server --verify' '--ia soft0 --limit 1m' '--ia soft0 --connect 127.0.0.1 --deadline 5' '--ia soft0 --api vipl --eps 2' '--ia soft0 --api vipl --verify' \
		'--ia soft0 --api vipl --server' '--ia soft0 --api vipl --test connect-rate' '--ia soft0 --api vipl --window 2' \
		'--ia soft0 --json --csv' '--ia soft0 --csv --json' '--ia soft0 --histogram --csv --test send-lat'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datperf $args
		exits_with 2
		prints_nothing
		says '^datperf: '
		says "^Try 'datperf --help'"
	done
}

# refuses WHAT ARGUMENT...: a wrong command line, and stderr says what is wrong with it
refuses()
{
	local what=$1
	shift
	run "${perf[@]}" "$@"
	exits_with 2
	prints_nothing
	says "^datperf: $what$"
}

wrong_usage_names_what_is_wrong()
{
	refuses "unknown option '-x'" -xyz
	refuses "unknown option '--nonsense=3'" --nonsense=3
	refuses "'--wait=3': this option takes no value" --wait=3
	refuses '--sweep takes its value after a .=.: --sweep=8:1m' --sweep 8:1m
	refuses "--duration: '1,5' is not a number of seconds from 0.001 to 3600" --duration 1,5
	refuses "'stray' is not an option; the host of the server follows --connect, and results follow --plot FILE" --sweep stray
}

what_cannot_be_printed_is_an_error()
{
	run bash -c 'exec ./datperf --ia soft0 --json --iters 10 >/dev/full'
	exits_with 1
	says '^datperf: the results could not be written to standard output: No space left'
	run bash -c 'exec ./datperf --ia soft0 --json --test send-lat --iters 10 >&-'
	exits_with 1
	says '^datperf: the results could not be written to standard output: Bad file descriptor'
}

an_unknown_adapter_fails_and_is_named()
{
	run ./datperf --ia nosuchadapter --test send-lat
	exits_with 1
	prints_nothing
	says 'dat_ia_open\("nosuchadapter"\): DAT_PROVIDER_NOT_FOUND'
}

# A test that has too few descriptors says so and what to do, and leaves no process behind.
without_descriptors_the_limit_is_named()
{
	local limit
	for limit in 10 12 14 16; do
		run bash -c "ulimit -n $limit; exec ./datperf --ia soft0 --test send-lat --iters 10"
		[ "$status" -ne 0 ] || continue
		exits_with 1
		says "^datperf.*('ulimit -n|ulimit -n 1024)"
		! grep -E "check that 'datperf --server' runs|device exists|does not end" "$err" || fails "at $limit: other advice"
	done
}

# The memory of the host is asked before it is filled.
a_size_that_does_not_fit_is_wrong_usage()
{
	[ -z "${SANITIZE-}" ] || [ "$SANITIZE" = no ] || return 0	# sanitizers need all addresses
	run bash -c 'ulimit -v 2000000; exec ./datperf --ia soft0 --test write-bw --size 1g'
	exits_with 2
	says '^datperf: --size: messages of 1073741824 bytes need [0-9]+ MiB of memory for write-bw, and [0-9]+ MiB can be spared'
	says "^Try 'datperf --help'"
	[ "$(wc -l <"$err")" -eq 2 ] || fails "more is said: $(tail -n +3 "$err")"
	run bash -c 'ulimit -v 2000000; exec ./datperf --ia soft0 --api vipl --size 1g'
	exits_with 2
	says '^datperf: --size: messages of 1073741824 bytes need 8192 MiB of memory for send-lat, and [0-9]+ MiB can be spared'
	[ "$(wc -l <"$err")" -eq 2 ] || fails "more is said: $(tail -n +3 "$err")"
	run "${perf[@]}" --json --test send-bw --size 17m --iters 1 --warmup 0
	exits_with 0
}

every_latency_test_prints_one_json_object()
{
	local test
	for test in send-lat write-lat read-lat eager-lat; do
		run "${perf[@]}" --json --test $test --iters 200 --warmup 10 --size 64
		exits_with 0
		says_nothing
		json_line $test 64 200 '[0-9]+[.][0-9]+' null
	done
}

every_bandwidth_test_prints_one_json_object()
{
	local test
	for test in send-bw write-bw read-bw; do
		run "${perf[@]}" --json --test $test --iters 200 --warmup 10 --size 4k
		exits_with 0
		says_nothing
		json_line $test 4096 200 null '[0-9]+[.][0-9]+'
	done
}

connect_rate_prints_one_json_object()
{
	run "${perf[@]}" --json --test connect-rate --iters 20 --warmup 0
	exits_with 0
	says_nothing
	json_line connect-rate 0 20 null null null
}

# No message goes over a connection of connect-rate: there is nothing to be right or wrong.
connect_rate_verifies_no_data()
{
	run "${perf[@]}" --test connect-rate --iters 20
	exits_with 0
	prints '^connect-rate +0 .* -$'
	run "${perf[@]}" --csv --test connect-rate --iters 20
	exits_with 0
	prints '^connect-rate,"soft0",0,20,,,,[0-9.]+,,1,1,1,false,false,private$'
}

sizes_from_one_byte_to_megabytes_are_verified()
{
	local test size
	for test in send-lat write-lat read-lat eager-lat send-bw write-bw read-bw; do
		for size in "${sizes[@]}"; do
			run "${perf[@]}" --json --test $test --size $size --iters 20 --warmup 2
			exits_with 0
			prints '"verified": true'
		done
	done
}

one_message_without_warmup_is_enough()
{
	local test
	for test in send-lat write-lat read-lat eager-lat send-bw write-bw read-bw; do
		run "${perf[@]}" --json --test $test --iters 1 --warmup 0
		exits_with 0
		prints '"iters": 1,.*"verified": true'
	done
	run "${perf[@]}" --json --test connect-rate --iters 1 --warmup 0
	exits_with 0
	prints '"iters": 1,'
}

without_a_test_there_is_a_table_of_all()
{
	local test
	run "${perf[@]}" --iters 100
	exits_with 0
	says_nothing
	prints '^test +bytes '
	for test in send-lat write-lat read-lat eager-lat send-bw write-bw read-bw; do
		prints "^$test .* verified\$"
	done
	prints '^connect-rate .* -$'
	! grep -q WRONG "$out" || fails 'data were wrong'
}

without_a_test_json_has_one_object_a_line()
{
	run "${perf[@]}" --iters 100 --json --size 128
	exits_with 0
	prints_lines 8
	[ "$(grep -cE '^\{"test": "[a-z-]+", "ia": "soft0", .*, "verified": true\}$' "$out")" -eq 7 ] || fails 'a line is no object'
	prints '^\{"test": "connect-rate", "ia": "soft0", .*, "api": "1.2", "verified": null\}$'
}

every_test_is_verified_where_the_kernel_refuses_to_copy()
{
	sed 's/ "" ""$/ "cma=off" ""/' "$DAT_OVERRIDE" >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf run "${perf[@]}" --iters 50 --json
	exits_with 0
	prints_lines 15
	! grep -v '"verified": true}$' "$out" | grep -v '^{"test": "connect-rate"' || fails 'a line is not verified'
}

a_sweep_has_every_power_of_two()
{
	local size
	run "${perf[@]}" --json --test send-lat --sweep=3:64 --iters 20
	exits_with 0
	says_nothing
	prints_lines 6
	for size in 3 4 8 16 32 64; do
		prints "\"size\": $size, .*\"verified\": true"
	done
	run "${perf[@]}" --json --sweep=64:128 --iters 5
	exits_with 0
	prints_lines 14
}

a_window_is_as_many_as_one_likes()
{
	local window
	for window in 1 2 3 64 1024; do
		run "${perf[@]}" --json --test send-bw --size 100 --window $window --iters 3000
		exits_with 0
		json_line send-bw 100 3000 null '[0-9]+[.][0-9]+'
	done
}

a_duration_chooses_the_number_of_messages()
{
	local test
	for test in send-lat write-bw connect-rate; do
		run "${perf[@]}" --json --test $test --duration $seconds
		exits_with 0
		prints '"iters": [1-9][0-9]*, .*"verified": (true|null)'
	done
}

# A valid number is accepted, so the message is about the adapter; one that is too small or too large is refused.
a_duration_may_be_a_fraction_of_a_second()
{
	local seconds
	run "${perf[@]}" --json --test send-lat --duration 0.05
	exits_with 0
	prints '"iters": [1-9][0-9]*, .*"verified": true'
	for seconds in 0.001 0.25 2.50 3599.999 3600; do
		run ./datperf --ia nosuchadapter --test send-lat --duration $seconds
		exits_with 1
		says 'nosuchadapter'
	done
	for seconds in 0.0009 0.000999999 3600.000000001 3601; do
		refuses "--duration: '$seconds' is not a number of seconds from 0.001 to 3600" --duration $seconds
	done
}

waiting_gives_the_same_data()
{
	run "${perf[@]}" --json --wait --iters 50 --size 3000
	exits_with 0
	says_nothing
	prints_lines 5
	! grep -E 'write-lat|eager-lat|connect-rate|"verified": false' "$out" || fails 'something that it should not print'
}

a_histogram_counts_every_message()
{
	run "${perf[@]}" --json --test read-lat --iters 777 --histogram
	exits_with 0
	prints '"histogram": \[(\[[0-9.]+, [0-9]+\], )+\[[0-9.]+, 0\]\], "verified": true\}$'
	[ "$(grep -o '\[[0-9.]*, [0-9]*\]' "$out" | tr -d '[],' | awk '{ n += $2 } END { print n }')" -eq 777 ] ||
		fails "other than 777 messages: $(cat "$out")"
	run "${perf[@]}" --test send-lat --iters 500 --histogram
	exits_with 0
	[ "$(awk '$2 == "to" { n += $5 } END { print n }' "$out")" -eq 500 ] || fails "other than 500: $(cat "$out")"
}

csv_has_a_head_and_a_line_a_result()
{
	run "${perf[@]}" --csv --test write-bw --sweep=8:16 --iters 10
	exits_with 0
	says_nothing
	prints_lines 3
	prints '^test,ia,size,iters,lat_us_median,lat_us_p99,bw_MBps,rate_per_s,verified,window,eps,threads,bidirectional,wait,memory$'
	prints '^write-bw,"soft0",16,10,,,[0-9.]+,[0-9.]+,true,[0-9]+,1,1,false,false,private$'
}

# member NAME: its value in the one object that was printed
member()
{
	sed -E "s/.*\"$1\": ([^,}]*).*/\\1/" "$out"
}

# The result is one of the measurements: it lies between the lowest and the highest of them, apart from rounding.
repetitions_show_how_far_results_are_apart()
{
	local row test name
	for row in 'send-lat lat_us_median' 'write-bw bw_MBps' 'connect-rate rate_per_s'; do
		read -r test name <<<"$row"
		run "${perf[@]}" --json --test "$test" --iters 20 --repeat 3
		exits_with 0
		says_nothing
		prints_lines 1
		prints '"rate_per_s": [0-9.]+, "repeat": 3, "low": [0-9.]+, "high": [0-9.]+, "window"'
		awk -v is="$(member "$name")" -v low="$(member low)" -v high="$(member high)" \
			'BEGIN { exit !(low - 0.06 <= is && is <= high + 0.06) }' || fails "$test: not between low and high: $(cat "$out")"
	done
	run "${perf[@]}" --csv --test send-lat --iters 20 --repeat 2
	exits_with 0
	prints ',memory,repeat,low,high$'
	prints ',private,2,[0-9.]+,[0-9.]+$'
	run "${perf[@]}" --test send-lat --iters 20 --repeat 2
	exits_with 0
	prints '^the one in the middle of 2 measurements'
	prints ' lowest +highest +data$'
	run "${perf[@]}" --json --test read-lat --iters 50 --repeat 3 --histogram
	exits_with 0
	[ "$(grep -o '\[[0-9.]*, [0-9]*\]' "$out" | tr -d '[],' | awk '{ n += $2 } END { print n }')" -eq 150 ] ||
		fails "the histogram is not about all measurements: $(cat "$out")"
	refuses "--repeat: '0' is not a number from 1 to 1000" --repeat 0
	refuses '--server: the client chooses what to measure.*' --server --repeat 2
	refuses '--api vipl cannot be combined with .*--repeat.*' --api vipl --repeat 2
}

# all_verified N: checks that N results were printed, each of them verified
all_verified()
{
	exits_with 0
	says_nothing
	prints_lines "$1"
	! grep -v '"verified": true}$' "$out" || fails 'a line is not verified'
}

several_endpoints_and_threads_are_verified()
{
	run "${perf[@]}" --json --size 3000 --iters 40 --eps 5
	all_verified 7
	prints '"eps": 5, "threads": 1,'
	run "${perf[@]}" --json --size 9000 --iters 40 --threads 2
	all_verified 7
	prints '"eps": 2, "threads": 2,'
	run "${perf[@]}" --json --size 100 --iters 31 --eps 7 --threads 3 --window 5 --wait
	all_verified 5
	prints '"eps": 7, "threads": 3, .*"wait": true'
	run "${perf[@]}" --json --test write-lat --eps 300 --iters 400
	all_verified 1
	run "${perf[@]}" --json --test eager-lat --eps 3 --threads 2 --iters 400 --verify
	all_verified 1
}

# More endpoints than messages: some have nothing to do.
endpoints_without_messages_do_no_harm()
{
	run "${perf[@]}" --json --size 64 --iters 2 --warmup 0 --eps 5 --threads 3
	all_verified 7
}

both_sides_at_once_are_verified()
{
	run "${perf[@]}" --json --size 5000 --iters 100 --bidirectional
	all_verified 3
	! grep -v '"bidirectional": true' "$out" || fails 'one way only'
	run "${perf[@]}" --json --size 20000 --iters 40 --bidirectional --window 3 --eps 3 --threads 2 --wait
	all_verified 3
	sed 's/ "" ""$/ "cma=off" ""/' "$DAT_OVERRIDE" >"$dir/bounce.conf"
	DAT_OVERRIDE=$dir/bounce.conf run "${perf[@]}" --json --size 20000 --iters 20 --bidirectional --eps 2 --threads 2
	all_verified 3
}

as_many_messages_as_one_likes_are_verified()
{
	local test
	for test in send-lat write-bw; do
		run "${perf[@]}" --json --test $test --size 16 --iters 2000 --verify --eps 2
		all_verified 1
		prints "\"test\": \"$test\", .*\"iters\": 2000"
	done
}

shareable_memory_is_memory_like_any_other()
{
	local kind test
	for kind in memfd shared; do
		for test in send-bw write-lat read-bw; do
			run "${perf[@]}" --json --test $test --size 70000 --iters 30 --memory $kind
			all_verified 1
			prints "\"memory\": \"$kind\""
		done
	done
}

every_option_goes_with_the_others()
{
	run "${perf[@]}" --json --test send-lat --sweep=64:256 --eps 3 --threads 2 --verify --wait --warmup 5 --iters 200 \
		--histogram --memory memfd
	all_verified 3
	[ "$(head -n 1 "$out" | grep -o '\[[0-9.]*, [0-9]*\]' | tr -d '[],' | awk '{ n += $2 } END { print n }')" -eq 200 ] ||
		fails "other than 200 messages: $(head -n 1 "$out")"
	run "${perf[@]}" --csv --test write-bw --sweep=64:128 --eps 2 --threads 2 --bidirectional --verify --wait --window 7 \
		--duration $seconds
	exits_with 0
	says_nothing
	prints_lines 3
	prints '^write-bw,"soft0",128,[1-9][0-9]*,,,[0-9.]+,[0-9.]+,true,7,2,2,true,true,private$'
}

a_terminal_sees_how_far_it_is()
{
	command -v script >/dev/null || { skips 'script(1) is not here'; return 0; }
	script -qec true /dev/null >/dev/null 2>&1 || { skips 'script(1) gets no pseudo-terminal here'; return 0; }
	run script -qec './datperf --ia soft0 --json --sweep=8:16 --test send-lat --iters 5 >/dev/null' /dev/null
	exits_with 0
	prints 'send-lat, 16 bytes \(2 of 2\)'
}

an_odd_name_is_still_json()
{
	sed 's/^soft0 /so"f\\t\xff /' "$DAT_OVERRIDE" >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf run ./datperf --ia $'so"f\\t\xff' --iters 5 --json --test send-lat
	exits_with 0
	prints '"ia": "so\\"f\\\\t\\ufffd", '
}

both_ends_on_one_cpu_work()
{
	local cpu
	cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
	run "${perf[@]}" --json --test send-lat --iters 200 --cpus "$cpu,$cpu"
	exits_with 0
	prints '"verified": true'
}

the_tests_run_through_libvipl_too()
{
	local test size
	for test in send-lat write-lat read-lat send-bw write-bw read-bw; do
		for size in "${vipl_sizes[@]}"; do
			run ./datperf --ia soft0 --api vipl --test "$test" --size "$size" --iters 200 --json
			exits_with 0
			says_nothing
			prints_lines 1
			prints "\"test\": \"$test\".*\"size\": $size, .*\"verified\": true"
			case $test in
			*-lat) prints '"lat_us_median": [0-9.]+, .*"bw_MBps": null' ;;
			*) prints '"lat_us_median": null, .*"bw_MBps": [0-9.]+' ;;
			esac
		done
	done
}

through_libvipl_a_size_that_the_adapter_does_not_take_is_wrong_usage()
{
	VIPL_MAX_TRANSFER_SIZE=8192 run ./datperf --ia soft0 --api vipl --test read-bw --size 8193
	exits_with 2
	says '^datperf: --size: soft0 takes no message of 8193 bytes; its MaxTransferSize is 8192$'
	[ "$(wc -l <"$err")" -eq 2 ] || fails "more is said: $(tail -n +3 "$err")"
	VIPL_MAX_TRANSFER_SIZE=8192 run ./datperf --ia soft0 --api vipl --test read-bw --size 8192 --iters 10
	exits_with 0
	run ./datperf --ia soft0 --api vipl --size 4g
	exits_with 2
}

# A thousand of these messages, as there once were, would take many minutes.
through_libvipl_few_long_messages_are_verified()
{
	[ -z "${SANITIZE-}" ] || [ "$SANITIZE" = no ] || return 0	# they need several times the memory
	CHECK_WATCHDOG=60 run ./datperf --ia soft0 --api vipl --test read-lat --size 64m --iters 1 --warmup 0 --json
	if [ "$status" -eq 2 ] && grep -q 'can be spared' "$err"; then
		skips 'this machine cannot spare 512 MiB'
		return 0
	fi
	exits_with 0
	prints '"verified": true'
}

through_libvipl_they_can_sleep_too()
{
	local test
	for test in send-lat read-lat send-bw write-bw read-bw; do
		run ./datperf --ia soft0 --api vipl --wait --test "$test" --iters 100 --json
		exits_with 0
		prints '"wait": true, .*"verified": true'
	done
}

# The line serves programs of 2.0 alone, so a program of 1.2 finds no adapter.
a_program_of_dat_2_0_measures_the_same_tests()
{
	local test conf=$dir/dat20.conf
	echo "only20 u2.0 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 \"\" \"\"" >"$conf"
	for test in send-lat write-lat read-lat eager-lat send-bw write-bw read-bw; do
		DAT_OVERRIDE=$conf run ./datperf --ia only20 --api 2.0 --timeout 60 --test $test --size 4096 --iters 200 --json
		exits_with 0
		says_nothing
		prints_lines 1
		prints "\"test\": \"$test\", \"ia\": \"only20\", \"size\": 4096, .*\"api\": \"2.0\", \"verified\": true"
	done
	DAT_OVERRIDE=$conf run ./datperf --ia only20 --api 2.0 --timeout 60 --test connect-rate --iters 20 --json
	exits_with 0
	prints '"test": "connect-rate", .*"rate_per_s": [0-9.]+'
	DAT_OVERRIDE=$conf run ./datperf --ia only20 --timeout 60 --test send-lat --iters 20
	exits_with 1
}

tests without_descriptors_the_limit_is_named a_size_that_does_not_fit_is_wrong_usage \
	help_goes_to_stdout_and_succeeds help_names_every_option_and_test version_is_one_line \
	wrong_usage_exits_with_2_and_prints_nothing wrong_usage_names_what_is_wrong \
	what_cannot_be_printed_is_an_error an_unknown_adapter_fails_and_is_named \
	every_latency_test_prints_one_json_object every_bandwidth_test_prints_one_json_object \
	connect_rate_prints_one_json_object connect_rate_verifies_no_data \
	sizes_from_one_byte_to_megabytes_are_verified one_message_without_warmup_is_enough \
	without_a_test_there_is_a_table_of_all without_a_test_json_has_one_object_a_line \
	every_test_is_verified_where_the_kernel_refuses_to_copy a_sweep_has_every_power_of_two \
	a_window_is_as_many_as_one_likes a_duration_chooses_the_number_of_messages \
	a_duration_may_be_a_fraction_of_a_second waiting_gives_the_same_data \
	a_program_of_dat_2_0_measures_the_same_tests \
	the_tests_run_through_libvipl_too through_libvipl_they_can_sleep_too \
	through_libvipl_a_size_that_the_adapter_does_not_take_is_wrong_usage through_libvipl_few_long_messages_are_verified \
	several_endpoints_and_threads_are_verified endpoints_without_messages_do_no_harm \
	both_sides_at_once_are_verified as_many_messages_as_one_likes_are_verified \
	shareable_memory_is_memory_like_any_other every_option_goes_with_the_others \
	a_histogram_counts_every_message repetitions_show_how_far_results_are_apart csv_has_a_head_and_a_line_a_result \
	a_terminal_sees_how_far_it_is an_odd_name_is_still_json both_ends_on_one_cpu_work
