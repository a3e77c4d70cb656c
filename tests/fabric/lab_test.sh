#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the lab itself without our libraries: the links, the output and exit status, and that every guest ends. Runs on the host.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

lab=$top_srcdir/tests/fabric/lab
build=$PWD

in_lab()
{
	CHECK_WATCHDOG=300 run "$lab" run --build "$build" --out "$dir/results" "$@"
}

# starts FOLDER: starts a lab run of 1000 s with its results in that folder. Sets pid, and returns when its guest is up.
starts()
{
	"$lab" run --build "$build" --out "$1" -- sleep 1000 >"$out" 2>"$err" &
	pid=$!
	until pgrep -f "qemu-system-x86_64.*$1" >/dev/null; do
		kill -0 $pid 2>/dev/null || { fails "no guest was started: $(tail -n 3 "$err" | tr '\n' ' ')"; return 1; }
		sleep 0.1
	done
}

# no_guest_is_left FOLDER: checks that the guest with this folder ends within 10 s
no_guest_is_left()
{
	local i
	for ((i = 0; i < 100; i++)); do
		pgrep -f "qemu-system-x86_64.*$1" >/dev/null || return 0
		sleep 0.1
	done
	fails "a machine is still there: $(pgrep -af "qemu-system-x86_64.*$1")"
}

a_command_sees_both_links_and_its_output_and_status_come_back()
{
	# shellcheck disable=SC2016 # for the guest's shell
	OPENDAT_LAB_WORD='two words' in_lab --timeout 60 -- bash -c '
		echo "links: $(rdma link | grep -c "state ACTIVE")"
		echo "devices: $(ls /sys/class/infiniband | tr "\n" " ")"
		echo "word: $OPENDAT_LAB_WORD"
		echo "here: $PWD"
		echo "conf: $(cut -d" " -f1 "$DAT_OVERRIDE" | tr "\n" " ")"
		echo "memlock: $(ulimit -l)"
		echo kept >"$LAB_OUT/kept"
		echo lost >"$PWD/lost-in-the-guest"
		echo "to stderr" >&2
		sleep 1000 &
		exit 7' 'an argument'
	exits_with 7
	prints '^links: 2$'
	prints '^devices: rxe0 siw0 $'
	prints '^word: two words$'
	prints "^here: $PWD\$"
	prints '^conf: ib-rxe0 iwarp-siw0 OpenIB-cma soft0 ofa-rxe0 ofa-siw0 $'
	prints '^memlock: unlimited$'
	says '^to stderr$'
	! grep -q 'to stderr' "$out" || fails 'stderr is among stdout'
	[ "$(cat "$dir/results/kept" 2>/dev/null)" = kept ] || fails 'what was written to LAB_OUT is not there'
	[ ! -e lost-in-the-guest ] || fails 'the guest wrote to the host'
}

# The times of two files are by the host's clock. The guest's clock is read before and after each file is written, which gives a
# range for the time between them. A delay of the guest widens that range, so only a clock that is really too fast or too slow
# fails.
a_second_of_the_guest_is_one_of_the_host()
{
	local least most host
	# shellcheck disable=SC2016 # for the guest's shell
	in_lab --timeout 60 -- bash -c '
		read -r first rest </proc/uptime
		touch "$LAB_OUT/from"
		read -r from rest </proc/uptime
		sleep 4
		read -r to rest </proc/uptime
		touch "$LAB_OUT/to"
		read -r last rest </proc/uptime
		echo "guest: $((${to/./} - ${from/./})) $((${last/./} - ${first/./}))"'
	exits_with 0
	read -r least most < <(sed -n 's/^guest: //p' "$out")
	host=$(stat -c %.2Y "$dir/results/from" "$dir/results/to" | tr -d . | paste -sd' ' | awk '{ print $2 - $1 }')
	[ "$((least))" -gt 0 ] && [ "$((host))" -gt 0 ] || fails "no times: guest $least, host $host"
	[ $((least)) -lt $((2 * host)) ] && [ $((host)) -lt $((2 * most)) ] ||
		fails "the guest counted $least to $most hundredths of a second in $host of the host"
}

# By a counted clock the same loop takes the same time again and again. By the clock of a host that time depends on other load.
a_counted_clock_tells_how_much_is_done()
{
	local least most
	# shellcheck disable=SC2016 # for the guest's shell
	in_lab --counted --timeout 60 -- bash -c '
		echo "processors: $(nproc)"
		loop() { local i since=${EPOCHREALTIME/./}; for ((i = 0; i < 1000; i++)); do :; done; echo "loop: $((${EPOCHREALTIME/./} - since))"; }
		for i in {1..20}; do loop; done'
	exits_with 0
	prints '^processors: 1$'
	# By the last ten runs everything is loaded, and the five shortest of those have no timer interrupt.
	read -r least most < <(sed -n 's/^loop: //p' "$out" | tail -n 10 | sort -n | sed -n '1p;5p' | tr '\n' ' ')
	[ -n "$most" ] && [ $((100 * (most - least))) -le "$least" ] || fails "the same work took $least us and $most us"
}

a_command_that_ignores_signals_is_ended_in_time()
{
	in_lab --timeout 5 -- bash -c 'trap "" TERM INT HUP; while :; do sleep 1; done'
	exits_with 124
	says 'took longer than 5 s'
}

a_guest_that_dies_is_told_from_a_command_that_fails()
{
	in_lab --timeout 60 -- bash -c 'echo c >/proc/sysrq-trigger; sleep 100'
	exits_with 125
	says 'Kernel panic'
	says 'without an exit status'
}

a_terminated_lab_takes_its_guest_along()
{
	local pid
	starts "$dir/terminated" || return 0
	kill -TERM $pid
	wait $pid
	status=$?
	exits_with 143
	no_guest_is_left "$dir/terminated"
}

a_killed_lab_takes_its_guest_along()
{
	local pid
	starts "$dir/killed" || return 0
	kill -KILL $pid
	wait $pid 2>/dev/null
	no_guest_is_left "$dir/killed"
}

# rping logs to stderr, and prints a line to stdout for each ping that came back. It sends as soon as it is connected, and siw may
# miss such a message unless `looks_again` is set.
two_hosts_exchange_over_rxe_and_siw()
{
	command -v rping >/dev/null || { skips 'no rping: install rdmacm-utils'; return; }
	# shellcheck disable=SC2016 # for the guest's shell
	in_lab --hosts 2 --timeout 120 -- bash -c '
		lab-peer bash -c "hostname; exit 3"
		echo "peer: $?"
		lab-peer bash -c "echo 1 >/sys/module/siw/parameters/looks_again"
		for address in "$LAB_PEER_IB" "$LAB_PEER_IW"; do
			lab-peer timeout 60 rping -s -a "$address" -C 3 &
			lab-peer lab-listens rping
			timeout 60 rping -c -a "$address" -C 3 -v
			wait
		done
		true'
	exits_with 0
	prints '^host2$'
	prints '^peer: 3$'
	[ "$(grep -c '^ping data: rdma-ping-2' "$out")" -eq 2 ] || fails "no answer from the other host: $(tr '\n' ' ' <"$err")"
}

a_card_of_the_second_host_loses_its_carrier_and_gets_it_back()
{
	# shellcheck disable=SC2016 # for the guest's shell
	in_lab --hosts 2 --timeout 60 -- bash -c '
		reaches() { for i in 1 2 3 4 5; do busybox ping -c 1 -W 1 "$1" >/dev/null && echo "$2" && return; done; }
		carriers() { lab-peer bash -c "cd /sys/class/net; echo \$1: \$(cat eth0/carrier eth1/carrier)" _ "$1"; }
		carriers before
		lab-peer --unplug eth1
		carriers without
		reaches "$LAB_PEER_IB" other
		reaches "$LAB_PEER_IW" unplugged
		lab-peer --plug eth1
		reaches "$LAB_PEER_IW" again
		carriers after
		true'
	exits_with 0
	prints '^before: 1 1$'
	prints '^without: 1 0$'
	prints '^other$'
	! grep -q '^unplugged$' "$out" || fails 'a card without a cable is reached'
	prints '^again$'
	prints '^after: 1 1$'
}

a_server_on_the_second_host_is_stopped_after_the_first()
{
	# shellcheck disable=SC2016 # for the guests' shells
	in_lab --hosts 2 --timeout 60 --server 'trap "" TERM; echo I am $LAB_HOST; touch $LAB_SHARED/said; sleep 1000' -- \
		bash -c 'until [ -e $LAB_SHARED/said ]; do sleep 0.1; done
			for i in 1 2 3 4 5; do busybox ping -c 1 $LAB_PEER_IB >/dev/null && exit 0; done; exit 1'
	exits_with 0
	says '^\[host 2\] I am 2$'
}

bad_use_is_refused_before_any_guest_is_started()
{
	in_lab --hosts 3 -- true
	exits_with 125
	says 'hosts is 1 or 2'
	in_lab --timeout soon -- true
	exits_with 125
	in_lab
	exits_with 125
	says 'no command'
	run "$lab"
	exits_with 2
}

# small_system FOLDER: makes a system that has only what the lab needs of one, and a folder that looks like a build tree
small_system()
{
	local program file
	mkdir -p "$1/etc" "$1/tree" "$1/proc" "$1/sys" "$1/dev" "$1/run" "$1/tmp"
	touch "$1/tree/config.status"
	echo 'small' >"$1/etc/name"
	for program in bash cat chmod grep ip kill mkdir mkfifo mount mv ps rdma rm sed setsid sleep timeout touch; do
		for file in "$(type -P "$program")" $(ldd "$(type -P "$program")" | grep -o '/[^ ]*'); do
			mkdir -p "$1${file%/*}" && cp -n "$file" "$1$file"
		done
	done
	[ -e "$1/bin" ] || ln -s usr/bin "$1/bin"
	[ -e "$1/sbin" ] || ln -s usr/sbin "$1/sbin"
}

a_guest_has_the_files_of_another_system()
{
	small_system "$dir/system"
	CHECK_WATCHDOG=300 run "$lab" run --root "$dir/system" --build /tree --out "$dir/results" --timeout 60 -- \
		bash -c 'cat /etc/name; echo "here: $PWD"; echo "links: $(rdma link | grep -c "state ACTIVE")"; echo kept >"$LAB_OUT/rooted"'
	exits_with 0
	prints '^small$'
	prints '^here: /tree$'
	prints '^links: 2$'
	[ "$(cat "$dir/results/rooted")" = kept ] || fails 'what the guest wrote to --out is not there'
	rm "$dir/system/$(type -P rdma)"
	run "$lab" run --root "$dir/system" --build /tree -- true
	exits_with 125
	says "system in $dir/system has no rdma: install"
}

the_results_of_several_programs_are_one_stream_and_each_is_printed_at_once()
{
	local i results
	# shellcheck source-path=SCRIPTDIR
	. "$top_srcdir/tests/fabric/joined.sh"
	mkfifo "$dir/results.fifo"
	joined <"$dir/results.fifo" >"$out" &
	exec {results}>"$dir/results.fifo"
	printf '1..2\nok - one\n' >&$results
	for ((i = 0; i < 100; i++)); do
		! grep -q '^ok 1 - one$' "$out" || break
		sleep 0.1
	done
	prints '^ok 1 - one$'
	printf 'not ok - two: 1..9 \\ * # ok - no\n# why\n1..1\nok - three' >&$results
	exec {results}>&-
	wait $!
	prints '^not ok 2 - two: 1\.\.9 \\ \* # ok - no$'
	prints '^# why$'
	prints '^ok 3 - three$'
	prints '^1\.\.3$'
}

tests bad_use_is_refused_before_any_guest_is_started \
	the_results_of_several_programs_are_one_stream_and_each_is_printed_at_once \
	a_command_sees_both_links_and_its_output_and_status_come_back \
	a_guest_has_the_files_of_another_system \
	a_second_of_the_guest_is_one_of_the_host \
	a_counted_clock_tells_how_much_is_done \
	a_command_that_ignores_signals_is_ended_in_time \
	a_guest_that_dies_is_told_from_a_command_that_fails \
	a_terminated_lab_takes_its_guest_along \
	a_killed_lab_takes_its_guest_along \
	two_hosts_exchange_over_rxe_and_siw \
	a_card_of_the_second_host_loses_its_carrier_and_gets_it_back \
	a_server_on_the_second_host_is_stopped_after_the_first
