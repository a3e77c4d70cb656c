#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datctl as a person and a script meet it: output, messages, exit status.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

soft0='soft0 u1.2 nonthreadsafe default libdatsoft.so opendat.1.0 "" ""'

# with_conf LINE...: a dat.conf of these lines, for the commands that follow in the same function
with_conf()
{
	printf '%s\n' "$@" >"$dir/dat.conf"
	DAT_OVERRIDE=$dir/dat.conf
	export DAT_OVERRIDE
}

restore_conf()
{
	DAT_OVERRIDE=$original
	export DAT_OVERRIDE
}
original=${DAT_OVERRIDE-}

help_goes_to_stdout_and_succeeds()
{
	local args
	for args in --help -h 'certify --help' 'check --help' 'discover --help' 'env --help' 'ping --help' 'report --help' 'explain --help' 'which --help' 'list --help' 'show --help' 'show soft0 --help'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl $args
		exits_with 0
		prints '^Usage: datctl'
		says_nothing
	done
}

help_names_every_command()
{
	local command
	run ./datctl --help
	prints '^  list '
	for command in certify check discover env ping explain which show; do
		prints "^  $command "
	done
	prints 'Exit status'
}

version_is_one_line()
{
	run ./datctl --version
	exits_with 0
	prints '^datctl \(OpenDAT\) [0-9]+[.][0-9]+[.][0-9]+$'
	prints_lines 1
}

wrong_usage_exits_with_2_and_prints_nothing()
{
	local args
	for args in '' 'nonsense' '--nonsense' 'list extra' 'list --nonsense' 'show' 'show --nonsense' \
		'show soft0 soft1'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl $args
		exits_with 2
		prints_nothing
		says '^datctl: '
		case $args in
		list*|show*) says "^Try 'datctl ${args%% *} --help'" ;;
		*) says "^Try 'datctl --help'" ;;
		esac
	done
}

results_that_cannot_be_written_are_a_failure()
{
	timeout 60 ./datctl --help >/dev/full 2>"$err"
	status=$?
	exits_with 1
	says 'could not be written'
}

list_prints_one_line_an_adapter_in_order()
{
	with_conf '# two of them' "$soft0" '' 'other u1.2 threadsafe default libother.so x.1.0 "a b" ""'
	run ./datctl list
	restore_conf
	exits_with 0
	says_nothing
	prints_lines 2
	prints "^soft0  u1.2  nonthreadsafe  libdatsoft.so  $dir/dat.conf:2, also for uDAPL 2.0$"
	prints "^other  u1.2  threadsafe     libother.so    $dir/dat.conf:4$"
}

list_leaves_out_what_no_program_can_open()
{
	with_conf "$soft0" 'soft1 u1.2 nonthreadsafe nondefault libdatsoft.so x.1.0 "" ""' \
		'soft2 k1.2 nonthreadsafe default libdatsoft.so x.1.0 "" ""'
	run ./datctl list
	restore_conf
	exits_with 0
	prints_lines 1
}

list_shows_entries_of_other_versions()
{
	with_conf 'ofa-v2-ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""' \
		'later u3.0 nonthreadsafe default liblater.so later.3.0 "" ""'
	run ./datctl list
	restore_conf
	prints '^ofa-v2-ib0  u2[.]0 .*:1, for uDAPL 2.0$'
	prints '^later       u3[.]0 .*:2, neither for uDAPL 1.2 nor for 2.0$'
}

# A wrapper that was built before wrappers served 2.0 has the name of ours; what wraps it, or an adapter of 1.2, does not serve 2.0 either.
an_older_wrapper_does_not_serve_20()
{
	mkdir -p "$dir/old"
	cp "$PWD/.libs/watch_sdk07.so" "$dir/old/libdat-trace.so"
	with_conf "$soft0" "old u1.2 nonthreadsafe default $dir/old/libdat-trace.so opendat.1.0 \"soft0\" \"\"" \
		"over u1.2 nonthreadsafe default $PWD/.libs/libdat-trace.so opendat.1.0 \"old\" \"\"" \
		"ours u1.2 nonthreadsafe default $PWD/.libs/libdat-trace.so opendat.1.0 \"soft0\" \"\""
	run ./datctl list
	prints '^old    u1.2 .*:2$'
	prints '^over   u1.2 .*:3$'
	prints '^ours   u1.2 .*:4, also for uDAPL 2.0$'
	run ./datctl list --json
	[ "$(grep -c '"for_udapl_20": true' "$out")" -eq 2 ] || fails 'not two adapters are for 2.0'
	run ./datctl which old
	! grep -q 'also for programs' "$out" || fails 'it is for 2.0'
	run ./datctl check
	prints '^ok    old +opened, .*, memory registered$'
	prints '^ok    ours .*; also for uDAPL 2.0$'
	run ./datctl dump "$dir/old/libdat-trace.so"
	prints '^apis=1.2$'
	run ./datctl dump .libs/libdat-trace.so
	prints '^apis=1.2 2.0$'
	run ./datctl dump .libs/libdatsoft.so
	prints '^apis=1.2 2.0$'
	restore_conf
}

# A line that says 2.0 decides alone what its name means for programs of 2.0.
a_line_of_12_that_serves_20_is_marked()
{
	with_conf "$soft0" "${soft0/soft0/shared}" "${soft0/u1.2/u2.0}"
	run ./datctl list
	prints "^soft0   u1.2 .*:1\$"
	prints "^shared  u1.2 .*:2, also for uDAPL 2.0\$"
	prints "^soft0   u2.0 .*:3, for uDAPL 2.0\$"
	run ./datctl list --json
	[ "$(grep -c '"for_udapl_20": true' "$out")" -eq 2 ] || fails 'not two adapters are for 2.0'
	run ./datctl which shared
	exits_with 0
	prints '^  also for programs of uDAPL 2.0$'
	run ./datctl which soft0
	! grep -q 'also for programs' "$out" || fails 'soft0 of 1.2 is for 2.0'
	run ./datctl show --api 2.0 shared
	exits_with 0
	prints '^dapl_version_major += 2$'
	restore_conf
}

which_knows_adapters_of_20()
{
	with_conf 'two u2.0 nonthreadsafe default libdatsoft.so opendat.1.0 "" ""'
	run ./datctl which two
	exits_with 0
	prints '^two  u2[.]0 nonthreadsafe  .*dat.conf:1$'
	prints '^  libdatsoft.so -> /.*/libdatsoft.so$'
	prints '^  libdat2.so.2 -> /.*/libdat2.so.2$'
	restore_conf
}

# shows_all TABLE: what show has printed is the attributes of an API, each once
shows_all()
{
	local field
	awk -F '\t' '$1 == "field" && ($2 == "struct dat_ia_attr" || $2 == "struct dat_provider_attr") { print $3 }' \
		"$top_srcdir/tests/abi/$1" >"$dir/fields"
	[ "$(wc -l <"$dir/fields")" -gt 50 ] || fails "the table of the standard has too few attributes"
	while read -r field; do
		case $field in
		transport_attr | vendor_attr | provider_specific_attr)
			continue ;;	# these are printed only if there are any
		evd_stream_merging_supported)
			[ "$(grep -c "^$field\[" "$out")" -eq 6 ] || fails "$field has not six rows" ;;
		*)
			[ "$(grep -c "^$field  *= " "$out")" -eq 1 ] || fails "$field is not there once" ;;
		esac
	done <"$dir/fields"
}

show_opens_an_adapter_of_20_by_libdat2()
{
	with_conf "$soft0" "${soft0/u1.2/u2.0}" "${soft0/soft0 u1.2/two u2.0}"
	run ./datctl show two
	exits_with 0
	says_nothing
	shows_all abi20.tsv
	prints '^dapl_version_major += 2$'
	prints '^rmr_scope_supported += DAT_RMR_SCOPE_'
	prints '^extension_supported += DAT_EXTENSION_'
	run ./datctl show soft0
	prints '^dapl_version_major += 1$'
	run ./datctl show soft0 --api 2.0
	exits_with 2
	run ./datctl show --api 2.0 soft0 --json
	exits_with 0
	prints '"dapl_version_major": "2"'
	run ./datctl show --api 1.2 two
	exits_with 1
	run ./datctl show --api 2.0 nosuchadapter
	exits_with 1
	says '^datctl: dat_ia_open\("nosuchadapter"\) of uDAPL 2.0: 0x[0-9a-f]* DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED'
	run ./datctl show --api 3.0 soft0
	exits_with 2
	restore_conf
}

list_loads_no_provider()
{
	with_conf 'ghost u1.2 nonthreadsafe default /nowhere/libghost.so x.1.0 "" ""'
	run ./datctl list
	restore_conf
	exits_with 0
	prints '^ghost '
	says_nothing
}

list_tells_of_a_bad_line_and_shows_the_rest()
{
	with_conf 'broken u1 nonthreadsafe' "$soft0"
	run ./datctl list
	restore_conf
	exits_with 0
	prints_lines 1
	prints '^soft0 '
	says "^datctl: $dir/dat.conf:1"
}

list_shows_adapters_and_tuning_of_drop_ins()
{
	with_conf "$soft0"
	mkdir "$dir/dat.conf.d"
	printf '[soft0]\neager_limit = 4096\n' >"$dir/dat.conf.d/tune.ini"
	run ./datctl list
	rm -r "$dir/dat.conf.d"
	restore_conf
	exits_with 0
	prints "$dir/dat.conf:1, tuned by $dir/dat.conf.d/tune.ini:[0-9]+, also for uDAPL 2.0\$"
}

show_prints_what_the_line_or_the_section_allows()
{
	with_conf "${soft0%%\"\"*}\"allow=mixed_completions eager_limit=8192\" \"\""
	run ./datctl show soft0
	exits_with 0
	prints '^provider_specific_attr.allow += mixed_completions$'
	with_conf "$soft0"
	run ./datctl show soft0
	prints '^provider_specific_attr.allow += none$'
	mkdir "$dir/dat.conf.d"
	printf '[soft0]\nallow = mixed_completions\neager_limit = 4096\n' >"$dir/dat.conf.d/allow.ini"
	run ./datctl show soft0
	exits_with 0
	prints '^provider_specific_attr.allow += mixed_completions$'
	printf '[soft0]\nallow = mixd_completions\n' >"$dir/dat.conf.d/allow.ini"
	run ./datctl show soft0
	rm -r "$dir/dat.conf.d"
	restore_conf
	exits_with 1
	says '"mixd_completions" in allow= cannot be allowed; did you mean mixed_completions[?]'
}

list_of_an_empty_file_is_empty_and_says_what_to_do()
{
	with_conf '# nothing here'
	run ./datctl list
	restore_conf
	exits_with 0
	prints_nothing
	says 'names no adapter'
	says "'soft0 u1.2 .*' adds the soft provider"
}

list_of_a_missing_file_fails_and_says_so()
{
	DAT_OVERRIDE=$dir/missing.conf run ./datctl list
	exits_with 1
	prints_nothing
	says "$dir/missing.conf: cannot be read"
}

# Names, libraries and paths may contain any bytes, none of which may control the terminal.
no_control_characters()
{
	! LC_ALL=C grep -q '[^[:print:][:blank:]]' "$1" || fails "control characters: $(head -c 400 "$1" | cat -v)"
}

list_escapes_control_characters()
{
	with_conf $'"a\e[31m\x7f" u1.2 nonthreadsafe default "lib\e]0;x\a.so" opendat.1.0 "" ""' $'b\e[1m u1 x'
	run ./datctl list
	restore_conf
	exits_with 0
	no_control_characters "$out"
	no_control_characters "$err"
	prints '^a\\x1b\[31m\\x7f  u1.2  nonthreadsafe  lib\\x1b\]0;x\\x07[.]so '
}

messages_escape_control_characters()
{
	with_conf $'"a\e[31m" u1.2 nonthreadsafe default "./no\elib.so" opendat.1.0 "" ""'
	run ./datctl show $'a\e[31m'
	exits_with 1
	no_control_characters "$err"
	says '^datctl: dat_ia_open\("a\\x1b\[31m"\): '
	run ./datctl $'sh\eow'
	exits_with 2
	no_control_characters "$err"
	run ./datperf --ia $'a\n\e[31m'
	no_control_characters "$err"
	says 'a\\x0a\\x1b\[31m'
	restore_conf
}

list_and_show_speak_json()
{
	run ./datctl list --json
	exits_with 0
	says_nothing
	prints '"name": "soft0"'
	prints '"thread_safe": false'
	cp "$out" "$dir/list.json"
	run ./datctl show --json soft0
	exits_with 0
	prints '"DAT_PROVIDER_ATTR": \{'
	prints '"srq_supported": "DAT_TRUE"'
	command -v python3 >/dev/null || return 0
	python3 -m json.tool "$out" >/dev/null && python3 -m json.tool "$dir/list.json" >/dev/null || fails 'no JSON'
}

report_holds_what_helps_and_no_secret()
{
	SECRET_TOKEN=hush DAT_LOG=warning run ./datctl report
	exits_with 0
	prints '^== versions$'
	prints '^OpenDAT [0-9]'
	prints '^memlock  '
	prints '^DAT_LOG=warning$'
	! grep -q DAT_ALLOW "$out" || fails 'a variable that is not set is in it'
	! sed -n '/^== versions/,/^==  *limits/p' "$out" | grep '"' || fails 'the distribution has quotes'
	prints "^-- $DAT_OVERRIDE\$"
	prints '^soft0 u1.2 '
	prints '^ok    soft0 '
	# the name of the file has the version of rdma-core, as in libibverbs.so.1.14.44.0
	prints '^libibverbs\.so\.1: (/.*/libibverbs\.so\.1\.[0-9.]+|not there)$'
	! grep -q -e hush -e SECRET "$out" || fails 'a secret is in it'
	! grep -qw -e "$(uname -n)" "$out" || fails 'the name of the host is in it'
	run ./datctl report --json
	exits_with 0
	prints '"libibverbs.so.1": ("/|null)'
	command -v python3 >/dev/null || return 0
	python3 -m json.tool "$out" >/dev/null || fails 'no JSON'
}

# A host with one card of two ports and a software device
host_with_a_card()
{
	local port rdma=$1/sys/class/infiniband card=$1/sys/devices/pci0000:00/0000:17:00.0
	mkdir -p "$card" "$1/sys/bus/pci/drivers/mlx5_core" "$1/sys/module/mlx5_core" "$rdma/rxe0/ports/1"
	for port in 1 2; do
		mkdir -p "$rdma/mlx5_0/ports/$port"
		echo '4: ACTIVE' >"$rdma/mlx5_0/ports/$port/state"
		echo InfiniBand >"$rdma/mlx5_0/ports/$port/link_layer"
	done
	echo '1: CA' >"$rdma/mlx5_0/node_type"
	echo 16.35.2000 >"$rdma/mlx5_0/fw_ver"
	echo MT4119 >"$rdma/mlx5_0/hca_type"
	echo 'MT_0000000010  ' >"$rdma/mlx5_0/board_id"
	echo 0 >"$rdma/mlx5_0/hw_rev"
	printf 'somehost mlx5_0\n' >"$rdma/mlx5_0/node_desc"
	echo 0x15b3 >"$card/vendor"
	echo 0x1017 >"$card/device"
	echo 5.8-1 >"$1/sys/module/mlx5_core/version"
	ln -s ../../../bus/pci/drivers/mlx5_core "$card/driver"
	ln -s ../../../../module/mlx5_core "$1/sys/bus/pci/drivers/mlx5_core/module"
	ln -s "../../../devices/pci0000:00/0000:17:00.0" "$rdma/mlx5_0/device"
	mkdir -p "$rdma/rxe0/ports/1/gids" "$rdma/rxe0/ports/1/gid_attrs/types" "$rdma/rxe0/ports/1/gid_attrs/ndevs"
	echo fe80:0000:0000:0000:0000:00ff:fe00:0001 >"$rdma/rxe0/ports/1/gids/0"
	echo 0000:0000:0000:0000:0000:0000:0000:0000 >"$rdma/rxe0/ports/1/gids/1"
	echo 0000:0000:0000:0000:0000:ffff:0a09:0001 >"$rdma/rxe0/ports/1/gids/2"
	echo 'IB/RoCE v1' >"$rdma/rxe0/ports/1/gid_attrs/types/0"
	echo 'RoCE v2' >"$rdma/rxe0/ports/1/gid_attrs/types/2"
	echo eth0 >"$rdma/rxe0/ports/1/gid_attrs/ndevs/2"
	echo Ethernet >"$rdma/rxe0/ports/1/link_layer"
	echo >"$rdma/rxe0/fw_ver"
}

report_tells_driver_firmware_and_model_of_each_device()
{
	host_with_a_card "$dir/card"
	run ./datctl report --root "$dir/card"
	exits_with 0
	prints '^mlx5_0: driver mlx5_core 5.8-1, firmware 16.35.2000, model MT4119, board MT_0000000010, hardware revision 0, PCI 0x15b3:0x1017$'
	prints '^mlx5_0 port 1: InfiniBand, ACTIVE, '
	prints '^mlx5_0 port 2: InfiniBand, ACTIVE, '
	prints '^rxe0: driver none, a software device, firmware unknown, model unknown, '
	[ "$(grep -c '^mlx5_0: ' "$out")" -eq 1 ] || fails 'the device is described more than once'
	prints '^    GID 0: fe80:0000:0000:0000:0000:00ff:fe00:0001, IB/RoCE v1, interface none$'
	prints '^    GID 2: 0000:0000:0000:0000:0000:ffff:0a09:0001, RoCE v2, interface eth0$'
	! grep -q 'GID 1' "$out" || fails 'an entry that is not used is in it'
	! grep -q somehost "$out" || fails "the name of the host is in it, which the device's description has"
	run ./datctl report --json --root "$dir/card"
	exits_with 0
	prints '"driver": "mlx5_core"'
	prints '"driver_version": "5.8-1"'
	prints '"firmware": "16.35.2000"'
	prints '"pci": "0x15b3:0x1017"'
	prints '"driver": null'
	prints '"gid": "0000:0000:0000:0000:0000:ffff:0a09:0001"'
	prints '"netdev": "eth0"'
	run ./datctl report --root
	exits_with 2
	says 'report: --root: its value is missing'
}

# complete WORD...: what bash would offer for the last word of this line
complete_line()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_datctl
	printf '%s\n' "${COMPREPLY[@]}" >"$out"
}

completion_offers_commands_options_and_adapters()
{
	# shellcheck source=/dev/null
	. "$top_srcdir/tools/completions/datctl"
	PATH=$PWD:$PATH
	complete_line datctl che
	prints '^check$'
	prints_lines 1
	complete_line datctl check --
	prints '^--json$'
	prints '^--root$'
	complete_line datctl show so
	prints '^soft0$'
	complete_line datctl check --ia soft-b
	prints '^soft-bounce$'
}

show_of_an_unknown_adapter_fails_and_names_it()
{
	run ./datctl show nosuchadapter
	exits_with 1
	prints_nothing
	says '^datctl: dat_ia_open\("nosuchadapter"\): DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED'
	says 'datctl check --ia nosuchadapter'
}

show_prints_every_attribute_by_its_standard_name()
{
	run ./datctl show soft0
	exits_with 0
	says_nothing
	shows_all abi12.tsv
}

show_prints_aligned_pairs_only()
{
	run ./datctl show soft0
	grep -v '^#' "$out" | grep -v '^$' | awk '{ at[index($0, " = ")]++ } END { for (c in at) n++; exit n != 1 }' ||
		fails "the values do not stand in one column"
	! grep -vE '^(#.*|)$|^[a-zA-Z_0-9.]+(\[[A-Z_]+\])? += ' "$out" || fails "there is a line that is no pair"
}

show_prints_named_attributes_as_many_as_it_counts()
{
	local what n
	run ./datctl show soft0
	for what in transport_attr vendor_attr provider_specific_attr; do
		n=$(sed -n "s/^num_$what *= //p" "$out")
		[ "$(grep -c "^${what}[.]" "$out")" -eq "$n" ] || fails "num_$what is $n, but others are printed"
	done
}

show_decodes_numbers_to_names()
{
	run ./datctl show soft0
	prints '^adapter_name +=  *[^ ]'
	prints '^is_thread_safe += DAT_(TRUE|FALSE)$'
	prints '^srq_supported += DAT_(TRUE|FALSE)$'
	prints '^ep_creator += DAT_PSP_CREATES_EP_'
	prints '^pz_support += DAT_PZ_'
	prints '^lmr_mem_types_supported += DAT_MEM_TYPE_VIRTUAL \| '
	prints '^iov_ownership_on_return += DAT_IOV_'
	prints '^completion_flags_supported += DAT_COMPLETION_'
	prints '^dat_qos_supported += DAT_QOS_'
	prints '^ia_address_ptr += [0-9a-f.:]+$'
	prints '^dapl_version_major += 1$'
	prints '^dapl_version_minor += 2$'
}

# mistyped MEANT ARGUMENT...
mistyped()
{
	local meant=$1
	shift
	run ./datctl "$@"
	exits_with 2
	prints_nothing
	says "^datctl: .*; did you mean '$meant'\\?$"
}

a_mistyped_command_or_option_says_what_was_meant()
{
	mistyped check chek
	mistyped list lsit
	mistyped discover disc
	mistyped show shw soft0
	mistyped --version --verison
	mistyped --timeout check --timout 3
	mistyped '--timeout 3' check --timeout=3
	mistyped --server ping --sever soft0
	mistyped --json list -json
	mistyped --dry-run discover --dry
	mistyped --help env --hlp
	run ./datctl somethingelse
	exits_with 2
	! grep -q 'did you mean' "$err" || fails 'nothing is near to that'
}

json_may_stand_behind_the_adapter()
{
	run ./datctl show soft0 --json
	exits_with 0
	prints '^{$'
	run ./datctl which soft0 --json
	exits_with 0
	prints '"adapter": "soft0"'
	run ./datctl show -- --json
	exits_with 1
	says 'dat_ia_open\("--json"\)'
}

tests help_goes_to_stdout_and_succeeds help_names_every_command version_is_one_line \
	wrong_usage_exits_with_2_and_prints_nothing results_that_cannot_be_written_are_a_failure \
	list_prints_one_line_an_adapter_in_order list_leaves_out_what_no_program_can_open \
	list_shows_entries_of_other_versions a_line_of_12_that_serves_20_is_marked an_older_wrapper_does_not_serve_20 \
	which_knows_adapters_of_20 show_opens_an_adapter_of_20_by_libdat2 list_loads_no_provider list_tells_of_a_bad_line_and_shows_the_rest \
	list_shows_adapters_and_tuning_of_drop_ins show_prints_what_the_line_or_the_section_allows list_of_an_empty_file_is_empty_and_says_what_to_do \
	list_and_show_speak_json report_holds_what_helps_and_no_secret report_tells_driver_firmware_and_model_of_each_device completion_offers_commands_options_and_adapters \
	list_of_a_missing_file_fails_and_says_so \
	list_escapes_control_characters messages_escape_control_characters show_of_an_unknown_adapter_fails_and_names_it \
	a_mistyped_command_or_option_says_what_was_meant json_may_stand_behind_the_adapter \
	show_prints_every_attribute_by_its_standard_name show_prints_aligned_pairs_only \
	show_prints_named_attributes_as_many_as_it_counts show_decodes_numbers_to_names
