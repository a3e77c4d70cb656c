#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datctl explain, env and which: complete, and in words.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

# names_of TABLE ENUM...: the names of one enum of the standard, or several, in the table of an API
names_of()
{
	local enum table=$1
	shift
	for enum; do
		awk -F '\t' -v e="enum $enum" '$1 == "enumerator" && $2 == e && $3 != "DAT_NO_SUBTYPE" { print $3 }' "$top_srcdir/tests/abi/$table"
	done
}

explains_every_name_of_the_standard()
{
	local name
	names_of abi12.tsv dat_return_type dat_return_subtype dat_event_number dat_dto_completion_status ia_async_error_reason \
		ep_async_error_reason evd_async_error_reason srq_async_error_reason lmr_async_error_reason \
		rmr_async_error_reason pz_async_error_reason >"$dir/names"
	[ "$(wc -l <"$dir/names")" -gt 150 ] || fails "only $(wc -l <"$dir/names") names in the table of the standard"
	# shellcheck disable=SC2046 # a list of names
	run ./datctl explain $(cat "$dir/names")
	exits_with 0
	says_nothing
	while read -r name; do
		grep -qw "$name" "$out" || fails "$name is not explained"
	done <"$dir/names"
}

explains_every_name_of_20()
{
	local name
	names_of abi20.tsv dat_return_type dat_return_subtype dat_event_number dat_dto_completion_status dat_ib_event_number \
		ia_async_error_reason ep_async_error_reason evd_async_error_reason srq_async_error_reason \
		lmr_async_error_reason rmr_async_error_reason pz_async_error_reason >"$dir/names"
	[ "$(wc -l <"$dir/names")" -gt 165 ] || fails "only $(wc -l <"$dir/names") names in the table of 2.0"
	# shellcheck disable=SC2046 # a list of names
	run ./datctl explain --api 2.0 $(cat "$dir/names")
	exits_with 0
	says_nothing
	while read -r name; do
		grep -qw "$name" "$out" || fails "$name is not explained"
	done <"$dir/names"
}

a_subtype_has_the_number_of_its_api()
{
	run ./datctl explain --api 2.0 0x800a0064
	prints '^DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED  \(DAT_RETURN, 0x800a0064\)$'
	run ./datctl explain --json --api 2.0 'DAT_INVALID_PARAMETER DAT_INVALID_ARG6'
	prints '"value": 2147876906'
	run ./datctl explain --api 1.2 0x800a0064
	prints '^DAT_PROVIDER_NOT_FOUND DAT_MINOR_NOT_FOUND '
	# the bit of class error is not in each value that OFED returns
	for code in 0x000d0000 0x800d0000; do
		run ./datctl explain --api 2.0 $code
		prints '^DAT_QUEUE_EMPTY '
	done
	for code in 0xbfff0000 0x3fff0000; do
		run ./datctl explain --api 2.0 $code
		prints '^DAT_NOT_IMPLEMENTED '
	done
	run ./datctl explain DAT_IB_DTO_EVENT
	exits_with 1
	says 'DAT_IB_DTO_EVENT. is not a code of uDAPL 1.2'
	run ./datctl explain --api 2.0 0x40000
	exits_with 0
	prints '^DAT_IB_DTO_EVENT  \(event, 0x40000\)$'
}

explains_a_return_value_with_type_and_subtype()
{
	run ./datctl explain 0x800a0062
	exits_with 0
	prints '^DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED  \(DAT_RETURN, 0x800a0062\)$'
	prints '^  here: no line of dat.conf has this name'
	prints '^  to do: datctl check'
}

takes_numbers_as_programs_print_them()
{
	local number
	for number in 0x800a0062 0x800A0062 2148139106 -2146828190 0xa0062; do
		run ./datctl explain "$number"
		exits_with 0
		prints '^DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED '
	done
	run ./datctl explain 0xbfff0000
	prints '^DAT_NOT_IMPLEMENTED '
}

takes_names_alone_and_joined()
{
	local code
	for code in 'DAT_INVALID_HANDLE|DAT_INVALID_HANDLE_EP' 'DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP'; do
		run ./datctl explain "$code"
		exits_with 0
		prints '^DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP  \(DAT_RETURN, 0x8005000c\)'
	done
	run ./datctl explain DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP
	prints_lines 4
}

takes_names_as_they_are_typed_and_pasted()
{
	local code
	for code in dat_invalid_state invalid_state Invalid_State: 'DAT_INVALID_STATE;'; do
		LC_ALL=tr_TR.UTF-8 run ./datctl explain "$code"
		exits_with 0
		prints '^DAT_INVALID_STATE  \(DAT_RETURN, 0x80070000\)'
	done
	run ./datctl explain 'invalid_handle|invalid_handle_ep'
	prints '^DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP  '
}

explains_a_small_number_as_everything_it_can_be()
{
	run ./datctl explain 2
	prints '^DAT_DTO_ERR_LOCAL_LENGTH  \(completion status'
	prints '^DAT_SRQ_LOW_WATERMARK_EVENT  \(reason'
	prints '^DAT_RESOURCE_MEMORY  \(return subtype'
}

refuses_what_is_no_code()
{
	local code
	for code in nonsense DAT_NONSENSE 0xdeadbeef 99999999999 DAT_ABORT,DAT_NONSENSE ''; do
		run ./datctl explain "$code"
		exits_with 1
		prints_nothing
		says 'is not a code of uDAPL 1.2'
	done
}

# datctl env lists every variable that a library reads, and no other.
env_names_every_variable()
{
	local name
	# by its name, or by a table of names and of the options that they stand for
	grep -rhoE '(getenv|env_number)\("DA(T|PL)_[A-Z_]+"|\{ "DAPL_[A-Z_]+", "' "$top_srcdir/log" "$top_srcdir/registry" "$top_srcdir/providers" |
		sed 's/^[^"]*"//; s/".*//' | sort -u >"$dir/read"
	[ -s "$dir/read" ] || fails 'the libraries read no variable at all'
	run ./datctl env
	exits_with 0
	while read -r name; do
		prints "^$name( |=)"
	done <"$dir/read"
	grep -oE '^DA(T|PL)_[A-Z_]+' "$out" | sort -u >"$dir/told"
	cmp -s "$dir/read" "$dir/told" || fails "told of, but not read, or the reverse: $(diff "$dir/read" "$dir/told" | tr '\n' ' ')"
}

env_shows_present_values()
{
	DAT_LOG=debug run ./datctl env
	prints '^DAT_LOG=debug$'
	env -u DAT_LOG timeout 60 ./datctl env >"$out"
	prints '^DAT_LOG  \(not set: '
}

which_marks_the_file_that_counts()
{
	run ./datctl which
	exits_with 0
	prints "^\* $DAT_OVERRIDE  *DAT_OVERRIDE, so no other file is read: can be read\$"
	[ "$(grep -c '^\*' "$out")" -eq 1 ] || fails 'not exactly one file is marked'
	DAT_OVERRIDE=$dir/nowhere run ./datctl which
	prints "^\* $dir/nowhere .*is not there"
}

which_finds_the_line_and_the_library()
{
	run ./datctl which soft0
	exits_with 0
	prints "^soft0  u1.2 nonthreadsafe  $DAT_OVERRIDE:1$"
	prints "libdatsoft.so -> /.*libdatsoft.so$"
}

which_says_why_a_library_is_not_found()
{
	echo 'ghost u1.2 nonthreadsafe default libghost.so x.1.0 "" ""' >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf run ./datctl which ghost
	exits_with 1
	prints 'libghost.so -> not found'
	says 'cannot open shared object file'
	DAT_OVERRIDE=$dir/dat.conf run ./datctl which nobody
	exits_with 1
	says "no adapter is called 'nobody'"
}

json_is_json()
{
	local args
	command -v python3 >/dev/null || return 0
	for args in 'explain --json 2 DAT_ABORT' 'env --json' 'which --json' 'which --json soft0'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl $args
		exits_with 0
		python3 -m json.tool "$out" >/dev/null || fails "no JSON: $args"
	done
}

wrong_usage_exits_with_2()
{
	local args
	for args in explain 'explain --nonsense' 'explain --api' 'explain --api 3.0 1' 'explain --api 2.0' 'env more' 'env --nonsense' 'which --nonsense' 'which a b'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl $args
		exits_with 2
		prints_nothing
	done
}

tests explains_every_name_of_the_standard explains_every_name_of_20 a_subtype_has_the_number_of_its_api \
	explains_a_return_value_with_type_and_subtype \
	takes_numbers_as_programs_print_them takes_names_alone_and_joined \
	takes_names_as_they_are_typed_and_pasted explains_a_small_number_as_everything_it_can_be \
	refuses_what_is_no_code env_names_every_variable env_shows_present_values which_marks_the_file_that_counts \
	which_finds_the_line_and_the_library which_says_why_a_library_is_not_found json_is_json wrong_usage_exits_with_2
