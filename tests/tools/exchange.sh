#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The example program, which is also the demo's first half.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

every_step_passes_over_soft0()
{
	run examples/exchange soft0
	exits_with 0
	says_only_what_was_refused
	[ "$(grep -c '^PASS  ' "$out")" -eq 7 ] || fails "$(tr '\n' ' ' <"$out")"
	! grep -v '^PASS  ' "$out" | grep -v '^NOTE  the window is closed now' | grep -v '^All bytes were checked' || fails 'something else was printed'
}

soft0_is_the_adapter_when_none_is_named()
{
	run examples/exchange
	exits_with 0
	prints '^PASS  RMR unbind'
}

it_runs_again_and_again()
{
	for _ in 1 2 3 4 5; do
		run examples/exchange soft0
		exits_with 0
	done
}

every_step_passes_where_the_kernel_refuses_to_copy()
{
	sed 's/ "" ""$/ "cma=off" ""/' "$DAT_OVERRIDE" >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf run examples/exchange soft0
	exits_with 0
	says_only_what_was_refused
	prints '^PASS  RMR unbind'
}

an_unknown_adapter_stops_it_with_the_names_of_the_error()
{
	run examples/exchange nosuchadapter
	exits_with 1
	prints_nothing
	says 'dat_ia_open.*DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED'
}

# The template of the SDK connects endpoints of one process, and declares it.
a_request_that_cannot_leave_the_process_is_explained()
{
	echo "inside u1.2 nonthreadsafe default $PWD/.libs/mutant.so test.1.0 \"\" \"\"" >"$dir/inside.conf"
	DAT_OVERRIDE=$dir/inside.conf run examples/exchange inside
	exits_with 1
	says '^libdatp: inside: .*nobody listens there in this process, .* does not leave the process .*; listen in the same process'
}

tests every_step_passes_over_soft0 soft0_is_the_adapter_when_none_is_named it_runs_again_and_again \
	every_step_passes_where_the_kernel_refuses_to_copy \
	an_unknown_adapter_stops_it_with_the_names_of_the_error a_request_that_cannot_leave_the_process_is_explained
