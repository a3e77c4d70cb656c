#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# DAT_PROVIDERS and DAT_CONF_PATH: what datctl prints about them, and what a program's user sees.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"
unset DAT_LOG DAT_DBG_TYPE DAT_DBG_DEST DAT_PROVIDERS DAT_CONF_PATH

soft=$PWD/.libs/libdatsoft.so
trace=$PWD/.libs/libdat-trace.so
conf=$dir/dat.conf
{
	echo "soft0 u1.2 nonthreadsafe default $soft opendat.1.0 \"\" \"\""
	echo "tr0 u1.2 nonthreadsafe default $trace opendat.1.0 \"soft0\" \"\""
	echo "v0 u1.2 nonthreadsafe default /nowhere/libvendor.so.1 vendor.1.0 \"\" \"\""
	echo "v0 u1.2 nonthreadsafe default $soft opendat.1.0 \"\" \"\""
} >"$conf"

# with VALUE COMMAND...
with()
{
	local value=$1
	shift
	DAT_OVERRIDE=$conf DAT_PROVIDERS=$value run "$@"
}

list_marks_what_is_hidden()
{
	with soft ./datctl list
	exits_with 0
	prints_lines 4
	prints '^soft0 .*dat.conf:1, also for uDAPL 2.0$'
	prints '^tr0 .*dat.conf:2, hidden by DAT_PROVIDERS$'
	prints '^v0 .*dat.conf:3, hidden by DAT_PROVIDERS$'
	prints '^v0 .*dat.conf:4, also for uDAPL 2.0$'
	says_nothing
	with soft ./datctl list --json
	[ "$(grep -c '"hidden": true' "$out")" = 2 ] || fails 'two are hidden'
}

which_says_what_is_hidden_and_how_many()
{
	with ^vendor:strict ./datctl which
	exits_with 0
	prints '^- DAT_PROVIDERS=\^vendor:strict +hides 1 of 4 adapters; if several lines have one name, only the first is tried$'
	with ^vendor ./datctl which v0
	prints 'hidden from programs by DAT_PROVIDERS'
	with ^vendor ./datctl which --json
	prints '"providers": "\^vendor"'
	prints '"hidden": 1'
}

check_passes_over_what_is_hidden()
{
	with ^vendor ./datctl check --timeout 60
	exits_with 0
	prints '^ok    soft0 '
	prints '^ok    v0 '
	prints '^skip  v0 .*dat.conf:3: hidden from programs by DAT_PROVIDERS=\^vendor'
	prints 'to do: to use it, remove the word with \^ that names it, or its library /nowhere/libvendor.so.1, from'
	with soft ./datctl check --timeout 60 "$conf"
	prints '^skip  tr0 +and 1 more are hidden from programs by DAT_PROVIDERS=soft$'
	with ^vendor ./datctl check --timeout 60 --ia tr0
	exits_with 0
	with soft ./datctl check --ia tr0
	exits_with 1
	prints '^FAIL  tr0 .*hidden from programs by DAT_PROVIDERS=soft'
	prints 'to do: to use it, add tr0 to DAT_PROVIDERS, or unset DAT_PROVIDERS'
}

check_fails_when_all_is_hidden()
{
	with ib ./datctl check
	exits_with 1
	prints "^FAIL  - +DAT_PROVIDERS=ib hides everything in $conf"
	prints 'to do: unset DAT_PROVIDERS'
}

check_says_that_strict_leaves_lines_untried()
{
	with :strict ./datctl check --timeout 60
	exits_with 1
	prints '^warn  v0 .*dat.conf:4: repeats the adapter of .*dat.conf:3, and is never tried, because DAT_PROVIDERS says :strict'
}

a_program_is_told_that_its_adapter_is_hidden()
{
	with trace ./examples/exchange soft0
	exits_with 1
	prints_nothing
	says "^libdat: $conf:1: soft0: DAT_PROVIDERS=trace hides it; add soft0 to the list, or unset the variable"
	with trace,soft0 ./examples/exchange soft0
	exits_with 0
	says_only_what_was_refused
	with ^soft0 ./examples/exchange soft0
	exits_with 1
	says 'DAT_PROVIDERS=\^soft0 hides it; remove the word with \^ that names it'
}

a_wrapper_has_what_is_beneath_it()
{
	with trace ./examples/exchange tr0
	exits_with 0
	sed -i '/^libdat/!d' "$err" # the calls are written there, too
	says_only_what_was_refused
	with trace,^soft ./examples/exchange tr0
	exits_with 1
	says 'DAT_PROVIDERS=trace,\^soft hides it'
}

the_next_line_serves_unless_it_is_strict()
{
	with '' ./examples/exchange v0
	exits_with 0
	says_only_what_was_refused
	with :strict ./examples/exchange v0
	exits_with 1
	says "^libdat: $conf:3: v0: library /nowhere/libvendor.so.1: cannot open shared object file"
}

a_misspelt_word_is_told_by_all()
{
	local command
	with ^vendr ./examples/exchange soft0
	exits_with 0
	says '^libdat: DAT_PROVIDERS=\^vendr: "vendr" names no adapter, provider or library of .*; did you mean \^vendor\?'
	for command in list which; do
		with ^vendr ./datctl $command
		exits_with 0
		says '^datctl: DAT_PROVIDERS: "vendr" names no .*did you mean \^vendor\?'
	done
	with ^vendr ./datctl check --ia soft0
	exits_with 0
	prints '^warn  - +DAT_PROVIDERS: "vendr" names no adapter, provider or library'
	prints 'to do: did you mean \^vendor\?'
}

a_hostile_value_does_not_reach_the_terminal()
{
	local value=$'\e[2J\a,soft\n'
	with "$value" ./examples/exchange soft0
	with "$value" ./datctl which
	! grep -q $'\e' "$out" "$err" || fails 'an escape character was printed'
	with "$(printf 'x%.0s' {1..5000})" ./examples/exchange soft0
	exits_with 0
	says 'is longer than 4096 bytes, and is ignored'
	[ "$(wc -c <"$err")" -lt 1000 ] || fails 'the value was printed'
}

the_files_of_a_list_are_one_registry()
{
	echo "other u1.2 nonthreadsafe default $soft opendat.1.0 \"\" \"\"" >"$dir/other"
	unset DAT_OVERRIDE
	DAT_CONF_PATH=$dir/other:$dir/none:$conf run ./datctl which
	exits_with 0
	prints "^\* $dir/other +DAT_CONF_PATH: can be read"
	prints "^  $dir/none +DAT_CONF_PATH: is not there"
	prints "^\* $conf +DAT_CONF_PATH: can be read"
	[ "$(grep -c '^\*' "$out")" = 2 ] || fails 'these two count'
	DAT_CONF_PATH=$dir/other:$conf run ./datctl list
	[ "$(sed 's/ .*//' "$out" | tr '\n' ' ')" = 'other soft0 tr0 v0 v0 ' ] || fails "order: $(cat "$out")"
	DAT_CONF_PATH=$dir/other:$conf run ./datctl check --timeout 60
	prints "^Registry: $dir/other:$conf \(DAT_CONF_PATH lists these\)"
	prints '^ok    other '
	prints "^FAIL  v0 +$conf:3: "
	DAT_CONF_PATH=$dir/other:$conf run ./examples/exchange other
	exits_with 0
	DAT_CONF_PATH=$dir/other:$conf run ./examples/exchange othr
	says "othr: no such adapter in $dir/other:$conf; .*did you mean other\?"
	DAT_OVERRIDE=$conf DAT_CONF_PATH=$dir/other run ./datctl which
	prints "^\* $conf +DAT_OVERRIDE, so no other file is read"
	[ "$(grep -c '^\*' "$out")" = 1 ] || fails 'DAT_OVERRIDE counts alone'
	export DAT_OVERRIDE=$conf
}

a_list_of_files_that_are_not_there_is_told()
{
	unset DAT_OVERRIDE
	DAT_CONF_PATH=$dir/none:$dir/nil run ./datctl check
	exits_with 1
	prints "^FAIL  - +$dir/none:$dir/nil: DAT_CONF_PATH names no file that exists"
	prints 'to do: correct it, or unset it'
	DAT_CONF_PATH=$dir/none run ./examples/exchange soft0
	exits_with 1
	says "^libdat: soft0: no such adapter in $dir/none; $dir/none: DAT_CONF_PATH names no file that exists; correct it"
	export DAT_OVERRIDE=$conf
}

update_takes_the_first_file_of_the_list()
{
	unset DAT_OVERRIDE
	: >"$dir/first"
	DAT_CONF_PATH=$dir/first:$conf run ./datctl -u
	exits_with 0
	grep -q '^soft0' "$dir/first" || fails 'nothing was added to the first file'
	export DAT_OVERRIDE=$conf
}

env_knows_both()
{
	DAT_PROVIDERS=soft run ./datctl env
	prints '^DAT_PROVIDERS=soft$'
	prints '^DAT_CONF_PATH  \(not set: '
}

tests list_marks_what_is_hidden which_says_what_is_hidden_and_how_many check_passes_over_what_is_hidden \
	check_fails_when_all_is_hidden check_says_that_strict_leaves_lines_untried a_program_is_told_that_its_adapter_is_hidden \
	a_wrapper_has_what_is_beneath_it the_next_line_serves_unless_it_is_strict a_misspelt_word_is_told_by_all \
	a_hostile_value_does_not_reach_the_terminal the_files_of_a_list_are_one_registry \
	a_list_of_files_that_are_not_there_is_told update_takes_the_first_file_of_the_list env_knows_both
