#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the imitated devices of `profiles`: each entry is accepted, and two processes exchange data over it. Runs in one guest.
# The devices of one family over each link are reset and removed, others each day; `profiles_test.sh gone` does so with all of them.
# profiles_test.sh NAME... runs all clauses of datconform over these devices instead.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"
imitate=$top_srcdir/tests/fabric/imitate

# those_on LINK: prints the devices that this link imitates
those_on()
{
	awk -v link="$1" '/^as-/ && $2 == link { print $1 }' "$top_srcdir/tests/fabric/profiles"
}

every_switch_of_the_table_is_known()
{
	local name
	for name in $(those_on rxe0) $(those_on siw0); do
		run "$imitate" "$name" /bin/true
		exits_with 0
		says_nothing
	done
}

unknown_device_or_switch_is_refused()
{
	run "$imitate" as-nothing /bin/true
	exits_with 125
	says 'no device is called "as-nothing".* as-mlx5 '
	run env TWIST_SWITCHES='no_srq no_srqs' LD_PRELOAD="$PWD/.libs/libtwist.so" /bin/true
	exits_with 2
	says 'no switch is called "no_srqs"'
	run env TWIST_SWITCHES='inline' LD_PRELOAD="$PWD/.libs/libtwist.so" /bin/true
	exits_with 2
	says '"inline", or its value is wrong'
}

exchanges_over_those_on()
{
	local name
	for name in $(those_on "$1"); do
		exchanges "$("$imitate" --adapter "$name")" "$imitate" "$name"
	done
}

two_processes_exchange_over_each_imitation_of_rxe()
{
	exchanges_over_those_on rxe0
}

two_processes_exchange_over_each_imitation_of_siw()
{
	exchanges_over_those_on siw0
}

# faults NAME WORDS COUNT: runs the tests of fault_test whose name holds these words over the imitated device, and expects so many
faults()
{
	run env OPENDAT_TEST_IA="$("$imitate" --adapter "$1")" CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "$imitate" "$1" \
		tests/fabric/fault_test "$2"
	exits_with 0
	[ "$(grep -v SKIP "$out" | grep -c '^ok ')" -eq "$3" ] || fails "$1: $(tr '\n' ' ' <"$out")"
}

# goes NAME: the device is reset under a program, and then it is removed under another one, and added again
goes()
{
	echo "# $1"
	faults "$1" reset: 3
	faults "$1" 'deleted device' 1
	case $("$imitate" --adapter "$1") in
	ib-*) renew rxe0 rxe eth0 ;;
	*) renew siw0 siw eth1 ;;
	esac
}

# of_the_day LINK: prints one of the devices that this link imitates, each day the next one
of_the_day()
{
	local names
	read -ra names <<<"$(those_on "$1" | tr '\n' ' ')"
	echo "${names[$(($(date +%s) / 86400 % ${#names[@]}))]}"
}

a_device_is_reset_and_removed_under_a_program()
{
	goes "$(of_the_day rxe0)"
	goes "$(of_the_day siw0)"
}

each_device_is_reset_and_removed_under_a_program()
{
	local name
	for name in $(those_on rxe0) $(those_on siw0); do
		goes "$name"
	done
}

# shows NAME PATTERN...: checks that datctl prints lines that match for the imitated device
shows()
{
	local name=$1 pattern
	run "$imitate" "$name" ./datctl show "$("$imitate" --adapter "$name")"
	exits_with 0
	for pattern in "${@:2}"; do
		prints "$pattern"
	done
}

what_the_device_says_is_what_the_adapter_shows()
{
	shows as-mlx5 '^max_message_size += 1073741824'
	shows as-irdma-roce '^srq_supported += DAT_FALSE'
	shows as-hns '^transport_attr\.quirk\.inline_mtu += on, by dat\.conf'
	shows as-cxgb4 '^transport_attr\.quirk\.writes_unfenced += on, by dat\.conf' '^transport_attr\.quirk\.reads_unfenced += on' \
		'^transport_attr\.quirk\.fence_reads += off, by dat\.conf' '^max_iov_segments_per_dto += 4$' \
		'^max_lmr_block_size += 8589934591$'
	shows as-x722 '^srq_supported += DAT_FALSE'
}

if [ "${1-}" = gone ]; then
	tests each_device_is_reset_and_removed_under_a_program
fi
if [ $# -gt 0 ]; then
	. "$top_srcdir/tests/fabric/joined.sh"
	for name; do
		judged "$("$imitate" --adapter "$name")" "$name" "$imitate" "$name" ./datconform
	done | joined
	exit
fi
tests every_switch_of_the_table_is_known unknown_device_or_switch_is_refused two_processes_exchange_over_each_imitation_of_rxe \
	two_processes_exchange_over_each_imitation_of_siw what_the_device_says_is_what_the_adapter_shows \
	a_device_is_reset_and_removed_under_a_program
