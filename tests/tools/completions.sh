#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What bash offers on the command lines of the tools: what the tools themselves know, and nothing that they refuse.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"
PATH=$PWD:$PATH
for tool in datctl datperf datconform; do
	# shellcheck source=/dev/null
	. "$top_srcdir/tools/completions/$tool"
done

# complete_line WORD...: what bash would offer for the last word of this line
complete_line()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	"_$1"
	[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}

offers()
{
	complete_line "$@" >"$out"
}

every_option_of_the_help_is_offered()
{
	local tool option
	for tool in datperf datconform; do
		offers $tool --
		for option in $(./$tool --help | grep -oE '^ +--[a-z-]+' | sort -u); do
			prints "^$option\$"
		done
		[ "$(wc -l <"$out")" -gt 8 ] || fails "few options of $tool: $(cat "$out")"
		! grep -v '^--[a-z]' "$out" || fails "no option of $tool"
	done
}

adapters_are_offered()
{
	local tool
	for tool in datperf datconform; do
		offers $tool --ia soft-bo
		prints '^soft-bounce$'
		prints_lines 1
	done
}

# words OPTION: what is offered behind it
words()
{
	complete_line datperf "$1" ''
}

every_word_that_is_offered_is_taken()
{
	local word
	[ "$(words --test | wc -l)" -eq 8 ] && [ "$(words --memory | wc -l)" -eq 3 ] && [ "$(words --api | wc -l)" -eq 3 ] ||
		fails "not eight tests, three memories, two interfaces"
	for word in $(words --test); do
		run ./datperf --ia soft0 --test "$word" --iters 5
		exits_with 0
	done
	for word in $(words --memory); do
		run ./datperf --ia soft0 --test send-lat --memory "$word" --iters 5
		exits_with 0
	done
	[ "$(complete_line datctl show --api '' | wc -l)" -eq 2 ] || fails 'datctl does not offer two APIs'
	for word in $(complete_line datctl discover --api ''); do
		run ./datctl discover --api "$word"
		exits_with 0
	done
	for word in $(words --api); do
		run ./datperf --ia soft0 --api "$word" --test send-lat --iters 5
		exits_with 0
	done
}

clauses_are_offered()
{
	offers datconform --ia soft0 --only CNO_WAIT-0
	prints '^CNO_WAIT-02$'
	[ "$(wc -l <"$out")" -eq 9 ] || fails "$(wc -l <"$out") clauses instead of 9"
	offers datconform --api ''
	prints_lines 2
	offers datconform --ia soft0 --only CONSUMER-01
	prints_lines 1
	offers datconform --api 2.0 --ia soft0 --only CONSUMER-63
	prints_lines 1
}

files_are_offered_where_files_are_named()
{
	: >"$dir/results.json"
	offers datperf --plot picture.svg "$dir/res"
	prints "^$dir/results.json\$"
	offers datconform --junit "$dir/res"
	prints "^$dir/results.json\$"
}

numbers_are_left_to_the_person()
{
	local command option count=0
	offers datperf --size ''
	prints_nothing
	offers datconform --jobs ''
	prints_nothing
	for command in $(complete_line datctl '' | grep -v '^-'); do
		for option in $(./datctl "$command" --help | sed -nE 's/^ +(--[a-z-]+) (SECONDS|GLOB|([A-Z]+:)?QUAL)( .*|$)/\1/p'); do
			count=$((count + 1))
			offers datctl "$command" "$option" ''
			prints_nothing
		done
	done
	[ $count -ge 8 ] || fails "only $count options of datctl were found"
}

tests every_option_of_the_help_is_offered adapters_are_offered every_word_that_is_offered_is_taken clauses_are_offered \
	files_are_offered_where_files_are_named numbers_are_left_to_the_person
