#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datctl certify: one file holds what every program has printed and how it has ended, also if it fails or takes too long.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

file=$dir/result.txt

# certified ARGUMENT...: runs `datctl certify` with one clause of datconform, into $file
certified()
{
	rm -f "$file"
	run ./datctl certify --only GEN-01 --output "$file" "$@"
}

# holds PATTERN: the file has such a line
holds()
{
	grep -qE -- "$1" "$file" || fails "the file has no line '$1'"
}

the_file_has_what_each_program_prints_and_how_it_ends()
{
	certified soft0
	exits_with 0
	says_nothing
	prints '^datctl report  .* exit status 0 after [0-9.]+ s$'
	prints '^datconform --ia soft0 --json - --deadline 3540 --only GEN-01 +exit status 0 after [0-9.]+ s: 1 passed, 0 failed, 0 skipped$'
	[ "$(grep -c '^==== dat[a-z]* ' "$file")" -eq 5 ] || fails 'commands are missing'
	[ "$(grep -c '^==== exit status 0 after ' "$file")" -eq 5 ] || fails "$(grep '^====' "$file" | tr '\n' ';')"
	head -n 1 "$file" | grep -qE '^datctl certify soft0, OpenDAT [0-9.]+, [0-9-]{10} [0-9:]{5} UTC$' || fails "it begins with $(head -n 1 "$file")"
	[ "$(sed -n '/^==== summary$/,$p' "$file" | grep -c 'exit status 0 after')" -eq 5 ] || fails "it ends with $(tail -n 1 "$file")"
	holds '^== versions$'
	holds '^== datctl check$'
	holds '^max_message_size += [0-9]'
	holds '^ok  RMR .* bytes written through a memory window$'
	holds '^connect-rate .* [0-9]+ '
	holds '"id": *"GEN-01"'
	holds '^1 passed, 0 failed'
}

programs_that_fail_are_counted_and_the_others_run()
{
	certified absent0
	exits_with 1
	says 'certify: 4 of the programs did not succeed; the file says why'
	[ "$(grep -c '^==== exit status 0 after ' "$file")" -eq 1 ] || fails 'not one program succeeds'
	[ "$(grep -c '^==== exit status 1 after ' "$file")" -ge 3 ] || fails 'not three programs fail'
	holds 'DAT_PROVIDER_NOT_FOUND'
	holds '^== versions$'
}

# goes_away PID: waits until the process has ended, which includes that it is a zombie
goes_away()
{
	local i
	for ((i = 0; i < 600; i++)); do
		grep -q '^State:[[:blank:]]*[^Z[:blank:]]' "/proc/$1/status" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

# built PROGRAM: prints the path of the program itself, which is not libtool's wrapper
built()
{
	./libtool --mode=execute bash -c 'echo "$0"' "./$1"
}

# copy_certifies ARGUMENT...: runs a copy of datctl in $bin, which runs the programs that are beside it there
bin=$dir/bin
mkdir -p "$bin"
copy_certifies()
{
	cp "$(built datctl)" "$bin/datctl" || fails 'no copy of datctl'
	rm -f "$file"
	run env LD_LIBRARY_PATH="$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$bin/datctl" certify --output "$file" "$@"
}

a_program_that_takes_too_long_is_ended_with_its_processes()
{
	local copy
	for copy in datperf datconform; do
		rm -f "$bin/$copy"
		printf '#!/bin/sh\necho begun\nsleep 1000 & echo $! >>%s/pids\nwait\n' "$dir" >"$bin/$copy"
		chmod +x "$bin/$copy"
	done
	copy_certifies --timeout 3 soft0
	exits_with 1
	[ "$(grep -c '^==== it was ended after 3\.' "$file")" -eq 2 ] || fails "$(grep '^====' "$file" | tr '\n' ';')"
	[ "$(grep -c '^begun$' "$file")" -eq 2 ] || fails 'what they printed before is missing'
	for pid in $(cat "$dir/pids"); do
		goes_away "$pid" || fails "process $pid goes on"
	done
}

# As when somebody presses Ctrl-C: datctl ends, and what it runs ends with it.
what_it_runs_ends_with_it()
{
	local signal datctl pid i
	printf '#!/bin/sh\necho $$ >%s/begun.new\nmv %s/begun.new %s/begun\nexec sleep 1000\n' "$dir" "$dir" "$dir" >"$bin/datperf"
	chmod +x "$bin/datperf"
	cp "$(built datctl)" "$bin/datctl" || fails 'no copy of datctl'
	for signal in TERM KILL; do
		rm -f "$dir/begun"
		env LD_LIBRARY_PATH="$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
			"$bin/datctl" certify --output "$file" soft0 >/dev/null 2>&1 &
		datctl=$!
		for ((i = 0; i < 600; i++)); do
			[ ! -e "$dir/begun" ] || break
			sleep 0.1
		done
		kill -$signal "$datctl"
		wait "$datctl" 2>/dev/null
		pid=$(cat "$dir/begun") || fails 'datperf has not begun'
		if ! goes_away "$pid"; then
			kill "$pid"
			fails "datperf goes on after SIG$signal"
		fi
	done
}

# datconform prints what it has found when it ends. So it is told to end before its time is over.
datconform_ends_by_itself_before_its_time_is_over()
{
	printf '#!/bin/sh\n' >"$bin/datperf"
	ln -sf "$(built datconform)" "$bin/datconform"
	copy_certifies --timeout 8 soft0
	exits_with 1
	holds '^datconform: some tests have no result: the time for the run was over$'
	holds '"verdict": "passed"'
	holds '"reason": "the time for the run was over"'
	holds '^datconform --ia soft0 --json - --deadline 4 +exit status 3 after [0-9.]+ s: '
}

# datperf is a stand-in, because the first test measures with the real one.
with_api_2_0_the_programs_are_those_of_2_0()
{
	printf '#!/bin/sh\necho "datperf got: $*"\n' >"$bin/datperf"
	chmod +x "$bin/datperf"
	ln -sf "$(built datconform)" "$bin/datconform"
	copy_certifies --only GEN-01 --patience 30 --api 2.0 soft0
	exits_with 0
	says_nothing
	holds '^==== datctl report$'
	holds '^==== datctl show --api 2\.0 soft0$'
	# 2.0 has 32 bits for it
	holds '^max_message_size += 4294967295$'
	holds '^==== datctl ping --api 2\.0 soft0 --timeout 30$'
	holds '^ok  RMR .* bytes written through a memory window$'
	holds '^datperf got: --api 2\.0 --ia soft0 --duration 0.3 --warmup 0 --timeout 30$'
	holds '^==== datconform --api 2\.0 --ia soft0 --json - --deadline 3540 --patience 30 --only GEN-01$'
	holds '"ia": "soft0 \(uDAPL 2\.0\)"'
	[ "$(grep -c '^==== exit status 0 after ' "$file")" -eq 5 ] || fails "$(grep '^====' "$file" | tr '\n' ';')"
}

a_file_that_cannot_be_written_is_told()
{
	run ./datctl certify --output "$dir/no/file" soft0
	exits_with 1
	says 'certify: .*/no/file: .*; name another file with --output'
	prints_nothing
	[ -e /dev/full ] || return 0
	run ./datctl certify --output /dev/full soft0
	exits_with 1
	says 'certify: /dev/full: No space left on device'
}

the_file_is_named_after_the_adapter()
{
	local tools=$PWD
	cd "$dir" || fails 'no folder'
	run "$tools/datctl" certify --timeout 60 --only GEN-01 'a/b c'
	cd "$tools" || fails 'no way back'
	exits_with 1
	[ -s "$dir/certify-a_b_c.txt" ] || fails "$(ls "$dir")"
	cd "$dir" || fails 'no folder'
	run "$tools/datctl" certify --timeout 60 --only GEN-01 --api 2.0 'a/b c'
	cd "$tools" || fails 'no way back'
	exits_with 1
	[ -s "$dir/certify-a_b_c-2.0.txt" ] || fails "$(ls "$dir")"
}

wrong_usage_exits_with_2()
{
	local args
	for args in '' --nonsense '--api 3.0 soft0' '--api' '--patience 0 soft0' '--patience 601 soft0' '--patience' '--timeout 0 soft0' '--timeout' 'a b' '--output' '--only'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl certify $args
		exits_with 2
		prints_nothing
	done
}

tests the_file_has_what_each_program_prints_and_how_it_ends programs_that_fail_are_counted_and_the_others_run \
	a_program_that_takes_too_long_is_ended_with_its_processes what_it_runs_ends_with_it datconform_ends_by_itself_before_its_time_is_over \
	with_api_2_0_the_programs_are_those_of_2_0 \
	a_file_that_cannot_be_written_is_told \
	the_file_is_named_after_the_adapter wrong_usage_exits_with_2
