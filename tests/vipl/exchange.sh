#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The example program for VIPL.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

every_step_passes_over_soft0()
{
	run examples/vipl_exchange soft0
	exits_with 0
	says_nothing
	[ "$(grep -c '^PASS  ' "$out")" -eq 4 ] || fails "$(tr '\n' ' ' <"$out")"
	prints '^All bytes were checked'
}

a_device_of_old_is_the_first_adapter()
{
	run examples/vipl_exchange /dev/via_lo
	exits_with 0
	prints '^All bytes were checked'
}

it_runs_again_and_again()
{
	for _ in 1 2 3 4 5; do
		run examples/vipl_exchange
		exits_with 0
	done
}

every_step_passes_where_the_kernel_refuses_to_copy()
{
	run examples/vipl_exchange soft-bounce
	exits_with 0
	prints '^All bytes were checked'
}

an_unknown_device_stops_it()
{
	run examples/vipl_exchange nosuchdevice
	exits_with 1
	prints_nothing
	says 'VipOpenNic'
}

tests every_step_passes_over_soft0 a_device_of_old_is_the_first_adapter it_runs_again_and_again \
	every_step_passes_where_the_kernel_refuses_to_copy an_unknown_device_stops_it
