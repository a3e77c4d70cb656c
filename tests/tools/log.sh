#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a program's user reads on stderr, and how DAT_LOG chooses it. examples/exchange and datctl show are the programs.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"
unset DAT_LOG DAT_DBG_TYPE DAT_DBG_DEST DAPL_DBG_TYPE DAPL_DBG_DEST

a_mistyped_name_is_guessed()
{
	run ./examples/exchange sotf0
	exits_with 1
	says '^libdat: sotf0: no such adapter in .*; did you mean soft0\?$'
	run ./examples/exchange something-else-altogether
	says '^libdat: something-else-altogether: no such adapter .*; name one of these, or add a line for it$'
}

a_failure_is_said_once_and_not_on_stdout()
{
	run ./examples/exchange nosuch
	prints_nothing
	[ "$(grep -c '^libdat: nosuch' "$err")" -le 2 ] || fails 'said more than once a process'
}

only_what_was_refused_is_printed_when_all_is_well()
{
	run ./examples/exchange soft0
	exits_with 0
	says_only_what_was_refused
}

level_none_silences()
{
	DAT_LOG=none run ./examples/exchange nosuch
	exits_with 1
	! grep -q '^libdat' "$err" || fails 'it speaks'
}

level_info_tells_which_file_was_read()
{
	DAT_LOG=info run ./datctl show soft0
	exits_with 0
	says '^libdat\[[0-9]+ \+[0-9.]+s\]: static registry: '
}

a_mistyped_variable_is_guessed_once()
{
	DAT_OVERIDE=/nowhere DAT_PROVIDER=ib run ./examples/exchange soft0
	exits_with 0
	says "^libdat: DAT_OVERIDE is set, but no such variable is read; did you mean DAT_OVERRIDE\\? 'datctl env' lists all\$"
	says '^libdat: DAT_PROVIDER is set, .* did you mean DAT_PROVIDERS\?'
	[ "$(grep -c DAT_OVERIDE "$err")" -le 2 ] || fails 'said more than once a process'
	DAT_HOME=/nowhere DATA_OVERIDE=1 run ./examples/exchange soft0
	says_only_what_was_refused
}

# The variables in libdat's list of known names are those that datctl env explains.
the_list_of_variables_is_complete()
{
	diff <(grep -oE '"DAT_[A-Z_]{2,}"' "$top_srcdir/registry/conf_env.c" | tr -d '"' | sort) \
		<(./datctl env | grep -oE '^DAT_[A-Z_]+' | sort) >"$out" || fails "$(tr '\n' ' ' <"$out")"
}

components_are_chosen()
{
	DAT_LOG=info,core run ./datctl show soft0
	says_nothing
	DAT_LOG=info,core,registry run ./datctl show soft0
	says '^libdat\[[0-9]+ \+[0-9.]+s\]: static registry: '
}

# selects COMPONENT yes|no PATTERN COMMAND...: is a message of the default level printed?
selects()
{
	local component=$1 expected=$2 pattern=${3/: /'(\[[^]]+\])?: '}
	shift 3
	DAT_LOG=debug,$component run "$@"
	case $expected in
	yes) says "$pattern" ;;
	no) ! grep -qE -- "$pattern" "$err" || fails "DAT_LOG=debug,$component lets it pass: $(head -n 1 "$err")" ;;
	esac
}

a_provider_is_chosen_by_its_name_and_by_its_adapters()
{
	local component expected
	echo "fast0 u1.2 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 \"eager=1\" \"\"" >"$dir/wrong.conf"
	for component in soft fast0 registry,soft soft,ib; do
		DAT_OVERRIDE=$dir/wrong.conf selects "$component" yes '^libdatp: soft: adapter fast0: ' ./datctl show fast0
	done
	for component in core ib iwarp registry fast; do
		DAT_OVERRIDE=$dir/wrong.conf selects "$component" no '^libdatp: ' ./datctl show fast0
	done
	for component in registry fast0; do
		DAT_OVERRIDE=$dir/wrong.conf selects "$component" yes '^libdat: .*: fast0: library ' ./datctl show fast0
	done
	DAT_OVERRIDE=$dir/wrong.conf selects registry yes '^libdat: static registry: ' ./datctl show fast0
	for component in core soft; do
		DAT_OVERRIDE=$dir/wrong.conf selects "$component" no '^libdat: static registry: ' ./datctl show fast0
	done
}

# A mistyped component must not suppress what is printed by default.
errors_are_told_whatever_component_is_named()
{
	local level component
	echo "fast0 u1.2 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 \"eager=1\" \"\"" >"$dir/wrong.conf"
	for level in error warning debug; do
		for component in core soft sotf; do
			DAT_LOG=$level,$component DAT_OVERRIDE=$dir/wrong.conf run ./datctl show fast0
			says '^libdat(\[[^]]+\])?: .*: fast0: library '
			DAT_LOG=$level,$component run ./examples/exchange nosuch
			says '^libdat(\[[^]]+\])?: nosuch: no such adapter '
		done
	done
	DAT_LOG=none,sotf run ./examples/exchange nosuch
	! grep -q '^libdat' "$err" || fails 'it speaks'
}

a_reason_is_told_once_whichever_component_is_chosen()
{
	local component
	echo "fast0 u1.2 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 \"eager=1\" \"\"" >"$dir/wrong.conf"
	for component in '' ,registry ,soft ,fast0 ,registry,soft; do
		DAT_LOG=warning$component DAT_OVERRIDE=$dir/wrong.conf run ./datctl show fast0
		[ "$(grep -c 'eager=1' "$err")" -eq 1 ] || fails "DAT_LOG=warning$component: $(tr '\n' ' ' <"$err")"
	done
}

the_core_is_chosen_by_its_name_and_by_adapter_and_provider()
{
	local component
	for component in core soft soft0; do
		selects "$component" yes '^libdatp: soft0: no connection with ' \
			./datperf --ia soft0 --connect 192.0.2.77 --qual 100007914 --timeout 60
	done
	for component in registry ib; do
		selects "$component" no '^libdatp: ' ./datperf --ia soft0 --connect 192.0.2.77 --qual 100007914 --timeout 60
	done
}

the_providers_for_rdma_are_chosen_by_their_names()
{
	local name
	[ -e .libs/libdatib.so ] || { skips 'built without rdma-core'; return; }
	for name in ib iwarp; do
		echo "dev0 u1.2 nonthreadsafe default $PWD/.libs/libdat$name.so opendat.1.0 \"no=word\" \"\"" >"$dir/rdma.conf"
		DAT_OVERRIDE=$dir/rdma.conf selects "$name" yes '^libdatp: dev0: ' ./datctl show dev0
		DAT_OVERRIDE=$dir/rdma.conf selects soft no '^libdatp: ' ./datctl show dev0
	done
}

# A program that takes the names from dat_registry_list_providers and tries them hears of no device that is not there.
probing_is_silent()
{
	local lines=2
	echo "fast0 u1.2 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 \"eager=1\" \"\"" >"$dir/probe.conf"
	echo 'none0 u1.2 nonthreadsafe default libnowhere.so x.1.0 "" ""' >>"$dir/probe.conf"
	if [ -e .libs/libdatib.so ]; then
		lines=3
		echo "ib0 u1.2 nonthreadsafe default $PWD/.libs/libdatib.so opendat.1.0 \"nosuchif 0\" \"\"" >>"$dir/probe.conf"
	fi
	DAT_OVERRIDE=$dir/probe.conf run tests/unit/registry_probe "$PWD/.libs/libdat.so.1"
	prints "^listed $lines\$"
	prints '^fast0 0x'
	says_nothing
}

debug_shows_connections_and_their_ends()
{
	DAT_LOG=debug,core run ./datctl ping soft0
	exits_with 0
	says '^libdatp\[[0-9]+ \+[0-9.]+s\]: soft0: connected with [0-9.]+, connection qualifier [0-9]+ after [0-9]+ ms, from [0-9.]+$'
	says '^libdatp\[[0-9]+ \+[0-9.]+s\]: soft0: connected with [0-9.]+, connection qualifier [0-9]+, from [0-9.]+$'
	says '^libdatp\[[0-9]+ \+[0-9.]+s\]: soft0: disconnected from [0-9.]+, connection qualifier [0-9]+$'
	run ./datctl ping soft0
	says_nothing
}

# The outcome of a connection is the program's affair, so it is only logged where messages of that level are asked for.
info_tells_of_broken_connections()
{
	DAT_LOG=info,soft0:$dir/broken run tests/api/srq_test hard_watermark_breaks
	exits_with 0
	grep -qE 'libdatp: info: soft0: the connection with [0-9.]+, connection qualifier [0-9]+, has broken .*; check that' \
		"$dir/broken" || fails "$(head -c 400 "$dir/broken")"
}

# broken_by TEST FILE PATTERN: a test of tests/api/data_test breaks a connection
broken_by()
{
	DAT_LOG=info,soft0:$dir/$2 run tests/api/data_test "between processes: $1"
	exits_with 0
	grep -qE "has broken [(]DAT_CONNECTION_EVENT_BROKEN[)]$3" "$dir/$2" || fails "$1: $(head -c 900 "$dir/$2")"
}

info_names_the_operation_that_broke_a_connection()
{
	broken_by 'message too long for its receive' length ': the receive of this side failed with DAT_DTO_ERR_LOCAL_LENGTH: its segments are too short.*; post segments as long as the message'
	broken_by 'rdma against bounds' access ': the RDMA (write|read) of this side failed with DAT_DTO_ERR_REMOTE_ACCESS: .*; compare the RMR context, address and length'
	grep -q ', and no operation of this side has failed; check that' "$dir/access" || fails 'the other side names an operation'
}

# The process and the seconds since it began, the same for both libraries, and never less than before.
more_messages_come_with_process_and_time()
{
	DAT_LOG=debug run ./datctl ping soft0
	exits_with 0
	says '^libdat\[[0-9]+ \+[0-9]+[.][0-9]{3}s\]: '
	awk -F'[][ +s]' '/^libdatp?\[/ { sub(/^libdatp?/, ""); split($0, f, /[[ +]/); t = f[4] + 0
		if (t > 60 || (f[2] in last && t < last[f[2]])) exit 1; last[f[2]] = t }' "$err" || fails "times: $(head -n 3 "$err")"
}

info_tells_of_watermarks()
{
	DAT_LOG=info,core:$dir/marks run tests/api/srq_test watermark
	exits_with 0
	grep -qE 'libdatp: info: soft0: an SRQ has fewer receives than its low watermark' "$dir/marks" || fails 'not of low ones'
	grep -qE "libdatp: info: soft0: an endpoint holds more of its SRQ's receives than its soft high" "$dir/marks" ||
		fails 'not of soft ones'
}

messages_go_to_a_file()
{
	DAT_LOG=info:$dir/log run ./datctl show soft0
	exits_with 0
	says_nothing
	grep -qE '^20[0-9-]+T[0-9:.]+ [0-9]+ libdat: info: static registry: ' "$dir/log" || fails 'not in the file'
	DAT_LOG=info:$dir/log run ./datctl show soft0
	[ "$(grep -c 'static registry' "$dir/log")" -eq 2 ] || fails 'not appended'
}

a_file_that_cannot_be_written_does_not_swallow_messages()
{
	DAT_LOG=info:/nowhere/log run ./datctl show soft0
	exits_with 0
	says '^libdat\[[0-9]+ \+[0-9.]+s\]: static registry: '
}

a_wrong_level_is_complained_of_and_warning_counts()
{
	DAT_LOG=loud run ./examples/exchange nosuch
	says '^libdat: DAT_LOG=loud: does not begin with a level; write none, error, warning, info or debug'
	says '^libdat: nosuch: no such adapter'
}

the_older_variables_still_work()
{
	DAT_DBG_TYPE=0 run ./examples/exchange nosuch
	! grep -q '^libdat' "$err" || fails 'DAT_DBG_TYPE=0 speaks'
	DAT_DBG_TYPE=4 run ./datctl show soft0
	says '^libdat\[[0-9]+ \+[0-9.]+s\]: static registry: '
	DAT_DBG_TYPE=1 DAT_DBG_DEST=1 run ./examples/exchange nosuch
	says '^libdat\[[0-9]+ \+[0-9.]+s\]: nosuch'
	prints_nothing
}

the_variables_of_ofeds_providers_work_too()
{
	DAPL_DBG_TYPE=0 run ./examples/exchange nosuch
	! grep -q '^libdat' "$err" || fails 'DAPL_DBG_TYPE=0 speaks'
	DAPL_DBG_TYPE=3 run ./examples/exchange nosuch
	says '^libdat: nosuch'
	DAPL_DBG_TYPE=0xffff run ./datctl show soft0
	says '^libdat\[[0-9]+ \+[0-9.]+s\]: static registry: '
	DAPL_DBG_TYPE=0xffff DAPL_DBG_DEST=2 run ./datctl show soft0
	says_nothing
	DAPL_DBG_TYPE=0xffff DAT_DBG_TYPE=0 run ./datctl show soft0
	says_nothing
}

the_newer_variable_goes_before_the_older_ones()
{
	DAT_LOG=none DAT_DBG_TYPE=0xff run ./datctl show soft0
	says_nothing
}

a_peer_that_nobody_answers_for_is_named()
{
	run ./datperf --ia soft0 --connect 127.0.0.1 --qual 100007911 --timeout 60
	exits_with 1
	says '^libdatp: soft0: no connection with 127.0.0.1, connection qualifier 100007911( after [0-9]+ ms)?: '
	says '[(](DAT_CONNECTION_EVENT_[A-Z_]+, from [0-9.]+|DAT_INVALID_ADDRESS.*)[)]; '
}

an_unreachable_peer_is_named()
{
	run ./datperf --ia soft0 --connect 192.0.2.77 --qual 100007912 --timeout 60
	exits_with 1
	says '^libdatp: soft0: no connection with 192.0.2.77, connection qualifier 100007912( after [0-9]+ ms)?: .*; '
}

# Level debug hides nothing; all the same no more than three lines in ten seconds, which may be in two parts.
a_peer_cannot_fill_the_log()
{
	local lines
	DAT_LOG=debug run tests/soft/hostile/peer_test 'rejection by the active side'
	exits_with 0
	lines=$(grep -c 'it was accepted here, but not established' "$err" "$out" | awk -F: '{ n += $2 } END { print n }')
	[ "$lines" -ge 1 ] && [ "$lines" -le 6 ] || fails "20 accepts that came to nothing made $lines lines"
}

# A program may try one qualifier after the other, so the library reports each failure only if DAT_LOG asks for it; the tool reports its own failure.
info_names_a_busy_qualifier()
{
	local pid
	mkfifo "$dir/up"
	./datperf --ia soft0 --server --qual 100007913 >"$dir/up" 2>&1 &
	pid=$!
	read -r -t 60 <"$dir/up" || fails 'no server'
	run ./datperf --ia soft0 --server --qual 100007913
	exits_with 1
	! grep '^libdatp: ' "$err" || fails 'the library speaks'
	grep -q 'DAT_CONN_QUAL_IN_USE' "$err" || fails "the tool does not name the error: $(cat "$err")"
	DAT_LOG=info run ./datperf --ia soft0 --server --qual 100007913
	kill "$pid"
	wait "$pid" 2>/dev/null
	exits_with 1
	says '^libdatp\[[0-9]+ \+[0-9.]+s\]: soft0: connection qualifier 100007913 is held by another program .*DAT_CONN_QUAL_IN_USE.*; end '
}

tests a_mistyped_name_is_guessed a_failure_is_said_once_and_not_on_stdout only_what_was_refused_is_printed_when_all_is_well \
	level_none_silences level_info_tells_which_file_was_read a_mistyped_variable_is_guessed_once \
	the_list_of_variables_is_complete components_are_chosen \
	a_provider_is_chosen_by_its_name_and_by_its_adapters errors_are_told_whatever_component_is_named a_reason_is_told_once_whichever_component_is_chosen \
	the_core_is_chosen_by_its_name_and_by_adapter_and_provider the_providers_for_rdma_are_chosen_by_their_names \
	probing_is_silent debug_shows_connections_and_their_ends info_tells_of_broken_connections \
	info_names_the_operation_that_broke_a_connection more_messages_come_with_process_and_time \
	info_tells_of_watermarks messages_go_to_a_file \
	a_file_that_cannot_be_written_does_not_swallow_messages a_wrong_level_is_complained_of_and_warning_counts \
	the_older_variables_still_work the_variables_of_ofeds_providers_work_too the_newer_variable_goes_before_the_older_ones \
	a_peer_that_nobody_answers_for_is_named an_unreachable_peer_is_named a_peer_cannot_fill_the_log info_names_a_busy_qualifier
