#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench` before it measures: if something cannot be measured or written, it says so immediately, and not by an empty table.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

bench() { run bash "${top_srcdir:-.}/bench/bench.sh" --rounds 1 --json "$dir/bench.json" "$@"; }

measures_nothing()
{
	prints_nothing
	[ ! -s "$dir/bench.json" ] || fails 'it wrote a result'
}

a_row_that_is_not_there_is_wrong_usage()
{
	bench --only 'nosuch*'
	exits_with 2
	says "bench: --only: no row is called 'nosuch\*'"
	measures_nothing
}

an_adapter_that_does_not_open_is_told_before_the_first_row()
{
	bench --ia nosuch --only wait
	exits_with 1
	says 'nosuch: no such adapter'
	measures_nothing
}

a_file_that_cannot_be_written_is_told_before_the_first_row()
{
	bench --json "$dir/nosuch/bench.json" --only wait
	exits_with 1
	says 'bench: --json: .*/nosuch/bench.json cannot be written'
	measures_nothing
}

tests a_row_that_is_not_there_is_wrong_usage an_adapter_that_does_not_open_is_told_before_the_first_row \
	a_file_that_cannot_be_written_is_told_before_the_first_row
