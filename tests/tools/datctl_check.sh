#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datctl check: each thing that can be wrong is named, with where it is and what to do.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

library=$PWD/.libs/libdatsoft.so
soft0="soft0 u1.2 nonthreadsafe default $library opendat.1.0 \"\" \"\""
conf=$dir/dat.conf

# check LINE...: runs `datctl check` on a dat.conf with these lines
check()
{
	printf '%s\n' "$@" >"$conf"
	chmod 644 "$conf"
	run ./datctl check --timeout 60 "$conf"
}

# checked OPTION... -- LINE...
checked()
{
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	printf '%s\n' "$@" >"$conf"
	chmod 644 "$conf"
	run ./datctl check --timeout 60 "${options[@]}" "$conf"
}

# odd NAME CODE: a library whose dat_provider_init does CODE
odd()
{
	[ -e "$dir/$1.so" ] && return
	printf '#include <stdlib.h>\n#include <unistd.h>\nvoid dat_provider_init(void) { %s }\n' "$2" >"$dir/$1.c"
	${CC:-cc} -shared -fPIC -o "$dir/$1.so" "$dir/$1.c"
}

line()
{
	printf '%s u1.2 nonthreadsafe default %s x.1.0 "%s" ""' "$1" "$2" "${3-}"
}

# A host with one RDMA port: fake_port DEVICE NETDEV STATE NODE_TYPE LINK_LAYER
fake_port()
{
	local root=$dir/root port
	rm -rf "$root"
	port=$root/sys/class/infiniband/$1/ports/1
	mkdir -p "$port/gid_attrs/ndevs" "$root/sys/class/net/$2" "$root/sys/class/infiniband_verbs/uverbs0" \
		"$root/dev/infiniband"
	echo "$4" >"$root/sys/class/infiniband/$1/node_type"
	echo "$3" >"$port/state"
	echo "$5" >"$port/link_layer"
	echo "$2" >"$port/gid_attrs/ndevs/0"
	echo "$1" >"$root/sys/class/infiniband_verbs/uverbs0/ibdev"
	touch "$root/dev/infiniband/uverbs0" "$root/dev/infiniband/rdma_cm"
}

# A provider for RDMA lines: it is named like ours, and serves without any hardware.
fake_provider()
{
	ln -sf "$library" "$dir/$1"
}

an_adapter_that_works_is_ok()
{
	check "$soft0"
	exits_with 0
	says_nothing
	prints '^Registry: .*dat.conf \(named on the command line\)$'
	prints '^ok    soft0  opened, address [0-9.]+, memory registered; also for uDAPL 2.0$'
	prints '^1 adapter can be used[.]$'
}

it_says_which_file_is_read_and_why()
{
	printf '%s\n' "$soft0" >"$conf"
	DAT_OVERRIDE=$conf run ./datctl check --timeout 60
	exits_with 0
	prints "^Registry: $conf \(DAT_OVERRIDE names it, and no other file is read\)$"
	if [ ! -e /etc/dat.conf ]; then
		DAT_OVERRIDE= run ./datctl check --timeout 60
		prints '^Registry: '
	fi
}

a_missing_file_is_named_with_the_command_that_makes_one()
{
	run ./datctl check --timeout 60 "$dir/missing.conf"
	exits_with 1
	prints "^FAIL .* $dir/missing.conf: cannot be read: No such file or directory$"
	prints "to do: datctl discover >'$dir/missing.conf'"
}

a_bad_field_is_shown_with_a_caret_below_it()
{
	check "$soft0" 'bad u1 nonthreadsafe default libx.so x.1.0 "" ""'
	exits_with 1
	prints "^FAIL  bad    $conf:2:5: api_version: \"u1\" has no minor version$"
	prints '^        bad u1 nonthreadsafe'
	prints '^            \^$'
	prints 'to do: write it as in u1.2'
	prints '^ok    soft0 '
}

a_missing_field_is_counted()
{
	check 'short u1.2 nonthreadsafe'
	exits_with 1
	prints 'the line ends after 3 of 8 fields'
}

a_wrong_version_of_our_provider_fails_and_others_are_left_alone()
{
	check "${soft0/u1.2/u3.0}"
	exits_with 1
	prints '^FAIL  soft0 .*field 2 says uDAPL 3.0; this provider serves 1.2 and 2.0'
	prints "to do: write u1.2 in field 2 of $conf:1"
	check "$soft0" 'traced u2.0 nonthreadsafe default libdat-trace.so opendat.1.0 "soft0" ""'
	exits_with 0
	prints '^ok    traced '
	check "$soft0" 'ofa-v2-ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""'
	exits_with 0
	prints '^skip  ofa-v2-ib0'
}

many_lines_for_others_are_one_line_of_output()
{
	check "$soft0" 'a u2.0 nonthreadsafe default libd.so dapl.2.0 "" ""' 'b u2.0 nonthreadsafe default libd.so dapl.2.0 "" ""' \
		'c k1.2 nonthreadsafe default libd.so dapl.2.0 "" ""' 'd u1.2 nonthreadsafe nondefault libd.so dapl.2.0 "" ""'
	exits_with 0
	[ "$(grep -c '^skip' "$out")" -eq 1 ] || fails 'more than one line'
	prints '^skip  a      and 3 more '
}

lines_for_uDAPL_20_are_told_as_such()
{
	check "$soft0" 'a u2.0 nonthreadsafe default libd.so dapl.2.0 "" ""' 'b u2.0 nonthreadsafe default libd.so dapl.2.0 "" ""'
	exits_with 0
	prints '^skip  a      and 1 more are for programs of uDAPL 2.0 \(libdat2\), not of 1.2$'
}

# A line for 1.2 and one for 2.0 are each opened by their own library.
an_adapter_of_20_is_opened_by_libdat2()
{
	check "$soft0" "${soft0/u1.2/u2.0}"
	exits_with 0
	prints_lines 6
	[ "$(grep -c '^ok    soft0  opened, address .*, memory registered$' "$out")" -eq 2 ] || fails 'both are not opened'
	prints '^2 adapters can be used[.]$'
	checked --listen 7100 -- "${soft0/u1.2/u2.0}"
	exits_with 0
	prints '^ok    soft0 '
}

what_20_answers_is_told_by_its_names()
{
	checked --peer 127.0.0.1:7101 -- "${soft0/u1.2/u2.0}"
	exits_with 1
	prints '^FAIL  soft0 .*: 127.0.0.1 can be reached, but nobody accepts .*DAT_CONNECTION_EVENT_NON_PEER_REJECTED'
	check 'soft0 u2.0 nonthreadsafe default '"$library"' opendat.1.0 "nonsense=1" ""'
	exits_with 1
	prints '^FAIL  soft0 .*nonsense'
	prints "to do: correct field 7 of $conf:1"
}

# A line that names a library of another project is tried only if --ia names the adapter.
a_library_for_20_that_is_not_there()
{
	checked --ia ofa -- "$soft0" 'ofa u2.0 nonthreadsafe default libdaplofa.so.77 dapl.2.0 "eth7 0" ""'
	exits_with 1
	prints '^FAIL  ofa  .*library libdaplofa.so.77'
	prints '^      to do: install it \(Debian: package libdapl2\), or remove the line: '
}

# Whoever asks for an adapter by its name is told why it is passed over.
an_adapter_that_is_passed_over_fails_if_it_is_asked_for()
{
	local skipped
	for skipped in 'd u1.2 nonthreadsafe nondefault libd.so dapl.1.2 "" ""' 'd u2.0 nonthreadsafe default libd.so dapl.2.0 "" ""' \
		'd k1.2 nonthreadsafe default libd.so dapl.1.2 "" ""'; do
		printf '%s\n' "$soft0" "$skipped" >"$conf"
		run ./datctl check --timeout 60 --ia d "$conf"
		exits_with 1
		prints "^FAIL  d  $conf:2: "
		prints_lines 6
		run ./datctl check --timeout 60 "$conf"
		exits_with 0
	done
}

# The message says what is wrong with the line, not that the adapter has no line.
an_adapter_that_is_asked_for_may_have_a_bad_line()
{
	printf '%s\n' "$soft0" 'd u1.2 nonthreadsafe default libd.so dapl.1.2 ""' 'e u1.2 sometimes' >"$conf"
	run ./datctl check --timeout 60 --ia d "$conf"
	exits_with 1
	prints "^FAIL  d  $conf:2:[0-9]+: platform_params: field 8 of 8 is missing"
	[ "$(grep -c ^FAIL "$out")" -eq 1 ] || fails 'more than that'
}

# The dat.conf of a distribution, on a host that has none of its devices and libraries.
lines_for_what_is_not_here_go_with_one_command()
{
	local i lines=("$soft0")
	for i in 0 1 2; do
		lines+=("OpenIB-mthca$i u1.2 nonthreadsafe default libdaplscm.so.1 dapl.1.2 \"mthca$i 1\" \"\"")
	done
	lines+=('# a remark' 'OpenIB-ehca0 u1.2 nonthreadsafe default libdaplscm.so.1 dapl.1.2 "ehca0 1" ""')
	check "${lines[@]}"
	exits_with 1
	prints 'to do: OFED has this provider for uDAPL 2.0 only: .datctl discover. prints'
	prints "^To remove all 4 lines for what this host does not have: sed -i '2,4s/\^/#/;6s/\^/#/' '$conf'\$"
	bash -c "$(sed -n 's/^To remove all .* does not have: //p' "$out")" || fails 'the printed command fails'
	run ./datctl check --timeout 60 "$conf"
	exits_with 0
	prints '^1 adapter can be used'
	[ "$(grep -c '^#' "$conf")" -eq 5 ] || fails 'not those lines'
}

a_library_of_ofed_whose_device_is_here_has_another_provider()
{
	fake_port mlx4_0 eth7 '4: ACTIVE' '1: CA' InfiniBand
	checked --root "$dir/root" -- 'OpenIB-mlx4 u1.2 nonthreadsafe default libdaplscm.so.1 dapl.1.2 "mlx4_0 1" ""'
	exits_with 1
	prints 'to do: write libdatib.so in field 5, which serves mlx4_0, or remove the line: '
}

# The result is printed before the next adapter is tried, which may take long.
each_verdict_is_printed_when_it_is_there()
{
	local first
	odd hang 'for (;;) pause();'
	printf '%s\n' "$soft0" "$(line hang "$dir/hang.so")" >"$conf"
	mkfifo "$dir/verdicts"
	./datctl check --timeout 600 "$conf" >"$dir/verdicts" 2>"$err" &
	exec 3<"$dir/verdicts"
	while read -r -t 60 first <&3 && [[ $first != ok* ]]; do :; done
	kill $! 2>/dev/null || fails 'it has ended'
	wait $! 2>/dev/null
	exec 3<&-
	[[ $first == ok*soft0* ]] || fails "not the verdict of soft0: $first"
}

a_missing_library_is_told_in_the_loaders_words()
{
	check "$(line ghost /nowhere/libghost.so)"
	exits_with 1
	prints "^FAIL  ghost  $conf:1: library /nowhere/libghost.so: cannot open shared object file: No such file"
	prints 'install the provider, or correct the path in field 5, or'
	prints "remove the line: sed -i '1s/\^/#/' '$conf'"
	check "$(line ghost libghost.so)"
	prints 'install the provider, or write its full path in field 5, or'
}

the_remedy_for_a_line_works_as_it_is_printed()
{
	check "$soft0" "$(line ghost /nowhere/libghost.so)"
	exits_with 1
	bash -c "$(sed -n "s/.*remove the line: //p" "$out")" || fails 'the printed command fails'
	run ./datctl check --timeout 60 "$conf"
	exits_with 0
}

a_library_that_is_no_provider_is_named()
{
	check "$(line libm libm.so.6)"
	exits_with 1
	prints 'library libm.so.6 has no symbol dat_provider_init, so it is not a provider'
}

a_file_that_is_no_library_is_told_from_a_missing_one()
{
	echo rubbish >"$dir/rubbish.so"
	check "$(line rubbish "$dir/rubbish.so")"
	exits_with 1
	prints '^FAIL  rubbish .*(file too short|invalid ELF header)'
}

a_library_of_ours_that_is_missing_names_its_package()
{
	check "$(line ib0 libdatiwarp.so.9)" "$(line soft7 /nowhere/libdatsoft.so)"
	exits_with 1
	prints '^No adapter can be used; 2 things are wrong[.]$'
	prints "to do: install OpenDAT's providers \\(package opendat-providers\\)"
}

a_library_of_another_version_is_told_from_a_broken_one()
{
	odd misfit 'extern void nobody_has_this(void); nobody_has_this();'
	check "$(line misfit "$dir/misfit.so")"
	exits_with 1
	prints '^FAIL  misfit .*was built for another version of a library that it uses: .*undefined symbol: nobody_has_this'
	prints 'to do: install the versions that belong together'
	prints '^No adapter can be used; 1 thing is wrong[.]$'
}

# Root may read everything, so as root this is tried by another user, where that one can run the program at all.
a_library_that_may_not_be_read_says_how_it_may()
{
	local as=()
	if [ "$(id -u)" = 0 ]; then
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		"${as[@]}" ./datctl --version >/dev/null 2>&1 || { skips 'no other user can run datctl here'; return; }
	fi
	chmod a+rx "$dir"
	cp "$library" "$dir/denied.so"
	chmod 0 "$dir/denied.so"
	printf '%s\n' "$(line denied "$dir/denied.so")" >"$conf"
	chmod 644 "$conf"
	run "${as[@]}" ./datctl check --timeout 60 "$conf"
	exits_with 1
	prints '^FAIL  denied .*denied.so: cannot open shared object file: Permission denied'
	prints "to do: chmod a\\+rx '$dir/denied.so'"
}

threadsafe_is_warned_of_where_the_provider_does_not_promise_it()
{
	check "${soft0/nonthreadsafe/threadsafe}"
	exits_with 0
	prints '^warn  soft0 .*field 3 says threadsafe, which library .*libdatsoft.so does not promise'
	prints "to do: write nonthreadsafe in field 3 of $conf:1"
}

a_library_that_needs_a_missing_one_says_which()
{
	echo 'int helper(void) { return 1; }' >"$dir/helper.c"
	echo 'int helper(void); void dat_provider_init(void) { helper(); }' >"$dir/needs.c"
	${CC:-cc} -shared -fPIC -Wl,-soname,libhelper77.so -o "$dir/libhelper77.so" "$dir/helper.c" &&
		${CC:-cc} -shared -fPIC -o "$dir/needs.so" "$dir/needs.c" "$dir/libhelper77.so" || return 1
	rm "$dir/libhelper77.so"
	check "$(line needs "$dir/needs.so")"
	exits_with 1
	prints 'to do: install the package that contains libhelper77.so'
}

one_that_registers_nothing_is_named()
{
	odd nothing ';'
	check "$(line nothing "$dir/nothing.so" "eth0 0")"
	exits_with 1
	prints "registers no adapter for the parameters \"eth0 0\""
	prints 'to do: correct field 7 of '
}

one_that_crashes_is_named_and_spoils_nothing()
{
	odd crash 'abort();'
	check "$(line crash "$dir/crash.so")" "$soft0"
	exits_with 1
	prints "^FAIL  crash  .*library $dir/crash.so crashes while it was initialised and opened: Aborted"
	prints '^ok    soft0 '
}

one_that_hangs_is_given_up()
{
	odd hang 'for (;;) pause();'
	checked --timeout 10 -- "$(line hang "$dir/hang.so")" "$soft0"
	exits_with 1
	prints "^FAIL  hang .*library $dir/hang.so hangs while it was initialised and opened: given up after 10 s"
	prints '^ok    soft0 '
}

one_that_ends_the_program_is_named()
{
	odd exits '_exit(7);'
	check "$(line exits "$dir/exits.so")"
	exits_with 1
	prints 'ends the program while it was initialised and opened, with status 7'
}

what_a_library_prints_does_not_reach_the_terminal()
{
	odd loud 'write(1, "\033[2Jout", 7); write(2, "\033[2Jerr", 7);'
	check "$(line loud "$dir/loud.so")"
	! grep -q $'\033' "$out" "$err" || fails 'an escape sequence got through'
}

a_parameter_that_the_provider_refuses_is_told_in_its_words()
{
	check "$(line soft0 "$library" 'eager_limit=3')"
	exits_with 1
	prints '"eager_limit=3" in dat.conf is out of range'
	prints "to do: correct field 7 of $conf:1: eager_limit, .*, is 64 to 1048576 bytes"
}

a_file_that_everybody_may_write_is_warned_of()
{
	printf '%s\n' "$soft0" >"$conf"
	chmod 666 "$conf"
	run ./datctl check --timeout 60 "$conf"
	chmod 644 "$conf"
	exits_with 0
	prints "^warn  .*$conf: every user of this host may write it"
	prints "to do: chmod o-w '$conf'"
	mkdir "$conf.d"
	chmod 777 "$conf.d"
	run ./datctl check --timeout 60 "$conf"
	rm -r "$conf.d"
	prints "^warn  .*$conf.d: every user of this host may put files into it"
}

# The file's name is shown with the tab as \x09, and the folder is found by the name that it has.
a_folder_of_a_name_with_a_tab_is_warned_of_too()
{
	local odd=$dir/a$'\t'tab
	mkdir -p "$odd/dat.conf.d"
	chmod 777 "$odd/dat.conf.d"
	printf '%s\n' "$soft0" >"$odd/dat.conf"
	chmod 644 "$odd/dat.conf"
	run ./datctl check --timeout 60 "$odd/dat.conf"
	rm -r "$odd"
	exits_with 0
	prints '^warn  .*/a\\x09tab/dat.conf.d: every user of this host may put files into it'
}

a_repeated_adapter_is_warned_of()
{
	check "$soft0" "$soft0"
	exits_with 0
	prints "^warn  soft0  $conf:2: repeats the adapter of $conf:1"
}

an_old_version_is_warned_of()
{
	check "${soft0/u1.2/u1.1}"
	prints '^warn  soft0 .*only programs written for uDAPL 1.1 can open it'
}

a_file_without_an_adapter_fails()
{
	check '# nothing'
	exits_with 1
	prints 'contains no adapter for programs of uDAPL 1.2'
	prints "to do: datctl discover --update '$conf'"
}

an_absent_device_is_named()
{
	fake_provider libdatib.so
	fake_port rxe0 fake0 '4: ACTIVE' '1: CA' Ethernet
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'ib9 0')"
	exits_with 1
	prints 'there is no network interface or RDMA device "ib9"; there are fake0'
	prints 'to do: name one of these .*admin/rdma-names[.]rules .*opendat-containers[(]7[)]'
}

a_port_that_the_device_does_not_have_is_named()
{
	fake_provider libdatib.so
	fake_port rxe0 fake0 '4: ACTIVE' '1: CA' Ethernet
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'rxe0 2')"
	exits_with 1
	prints 'verbs device rxe0 has no port 2'
	prints "to do: write one of 'rdma link' in field 7 of $conf:1, or 0 for the first"
}

a_host_without_rdma_says_so()
{
	fake_provider libdatib.so
	mkdir -p "$dir/empty"
	checked --root "$dir/empty" -- "$(line ib0 "$dir/libdatib.so" 'ib9 0')"
	exits_with 1
	prints 'this host has no RDMA device at all'
	prints "to do: load the driver of its card, until 'rdma link' lists it, or remove the line: sed "
}

an_interface_without_rdma_says_how_to_get_some()
{
	fake_provider libdatib.so
	mkdir -p "$dir/plain/sys/class/net/eth5"
	checked --root "$dir/plain" -- "$(line ib0 "$dir/libdatib.so" 'eth5 0')"
	exits_with 1
	prints 'no RDMA device belongs to the network interface eth5'
	prints 'to do: .*rdma link add rxe_eth5 type rxe netdev eth5'
	fake_provider libdatiwarp.so
	checked --root "$dir/plain" -- "$(line iw0 "$dir/libdatiwarp.so" 'eth5 0')"
	prints 'to do: .*rdma link add siw_eth5 type siw netdev eth5'
}

a_port_that_is_down_is_named()
{
	fake_provider libdatib.so
	fake_port rxe0 fake0 '1: DOWN' '1: CA' Ethernet
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'fake0 0')"
	exits_with 1
	prints '^FAIL  ib0 .*port 1 of rxe0 is DOWN'
	prints 'to do: ip link set dev fake0 up'
}

a_fabric_without_subnet_manager_is_named()
{
	fake_provider libdatib.so
	fake_port mlx4_0 ib7 '2: INIT' '1: CA' InfiniBand
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'ib7 0')"
	prints 'port 1 of mlx4_0 is INIT'
	prints 'to do: start a subnet manager'
}

an_interface_without_address_is_named()
{
	fake_provider libdatib.so
	fake_port rxe0 fake0 '4: ACTIVE' '1: CA' Ethernet
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'fake0 0')"
	exits_with 1
	prints 'the network interface fake0 has no IP address'
	prints 'to do: ip address add ADDRESS/LENGTH dev fake0'
}

a_missing_device_node_is_named()
{
	fake_provider libdatib.so
	fake_port rxe0 fake0 '4: ACTIVE' '1: CA' Ethernet
	rm "$dir/root/dev/infiniband/uverbs0"
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'fake0 0')"
	exits_with 1
	prints 'the device node /dev/infiniband/uverbs0 cannot be opened: No such file or directory'
	prints 'to do: modprobe ib_uverbs .*--device=/dev/infiniband'
	touch "$dir/root/dev/infiniband/uverbs0"
	rm "$dir/root/dev/infiniband/rdma_cm"
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'fake0 0')"
	prints 'the device node /dev/infiniband/rdma_cm cannot be opened'
	prints 'to do: modprobe rdma_ucm .*admin/modules[.]conf, see opendat-containers[(]7[)]'
}

the_wrong_provider_for_a_port_is_named()
{
	fake_provider libdatib.so
	fake_port siw0 fake0 '4: ACTIVE' '4: RNIC' Ethernet
	checked --root "$dir/root" -- "$(line ib0 "$dir/libdatib.so" 'fake0 0')"
	exits_with 1
	prints 'siw0 port 1 is iWARP, which libdatib.so does not serve'
	prints 'to do: write libdatiwarp.so in field 5'
}

a_low_limit_of_memory_is_warned_of()
{
	fake_provider libdatib.so
	fake_port rxe0 lo '4: ACTIVE' '1: CA' Ethernet
	printf '%s\n' "$(line ib0 "$dir/libdatib.so" 'lo')" >"$conf"
	run bash -c 'ulimit -l 64 && exec "$@"' - ./datctl check --timeout 60 --root "$dir/root" "$conf"
	exits_with 0
	prints '^warn  ib0 .*only 64 KiB of memory may be registered here'
	prints 'to do: ulimit -l unlimited'
	prints 'to do: .*admin/limits[.]conf .*opendat-containers[(]7[)]'
}

a_busy_qualifier_is_named()
{
	local pid
	printf '%s\n' "$soft0" >"$conf"
	mkfifo "$dir/up"
	DAT_OVERRIDE=$conf ./datperf --ia soft0 --server --qual 100007901 >"$dir/up" 2>&1 &
	pid=$!
	read -r -t 60 <"$dir/up" || fails 'no server'
	checked --listen 100007901 -- "$soft0"
	kill "$pid"
	wait "$pid" 2>/dev/null
	exits_with 1
	prints '^FAIL  soft0 .*connection qualifier 100007901 is held by another program: DAT_CONN_QUAL_IN_USE'
	prints 'to do: end that program'
	checked --listen 100007901 -- "$soft0"
	exits_with 0
}

an_unreachable_peer_is_named()
{
	checked --peer 192.0.2.77:100007902 -- "$soft0"
	exits_with 1
	prints '^FAIL  soft0 .*192.0.2.77 c'
	prints 'to do: '
}

a_wrapper_finds_the_adapter_behind_it()
{
	check "$soft0" "$(line traced "$PWD/.libs/libdat-trace.so" soft0)"
	exits_with 0
	prints '^ok    traced '
}

json_says_the_same()
{
	checked --json -- "$soft0" "$(line ghost /nowhere/libghost.so)"
	exits_with 1
	prints '"usable": 1,'
	prints '"code": "library-missing"'
	prints '"line": 2,'
	if command -v python3 >/dev/null; then
		python3 -m json.tool "$out" >/dev/null || fails 'this is no JSON'
	fi
}

wrong_usage_exits_with_2()
{
	local args
	for args in '--nonsense' '--ia' '--timeout 0' '--timeout x' '--peer nowhere' '--listen x' 'a b'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl check $args
		exits_with 2
		prints_nothing
	done
}

# Each of these steps once took time in proportion to the square of the number of lines, which would exceed the limit of run().
twenty_thousand_lines_take_no_age()
{
	awk 'BEGIN { for (i = 0; i < 20000; i++)
		print "a" i " u1.2 nonthreadsafe default libgone.so x.1.0 \"\" \"\"" }' >"$dir/many"
	run ./datctl check "$dir/many"
	exits_with 1
	prints '^To remove all 20000 lines for what this host does not have: '
	awk 'BEGIN { for (i = 0; i < 20000; i++)
		print "a u2.0 nonthreadsafe default libgone.so x.1.0 \"\" \"\"" }' >"$dir/many"
	run ./datctl check "$dir/many"
	prints '^warn  a .*:20000: repeats the adapter of '
	awk 'BEGIN { for (i = 0; i < 20000; i++) print "a u2.0" }' >"$dir/many"
	run ./datctl check "$dir/many"
	prints '19744 more complaints of this kind'
	rm "$dir/many"
}

a_wrapper_of_a_wrapper_is_tried_in_a_large_file_too()
{
	{
		echo "outer u1.2 nonthreadsafe default $PWD/.libs/libdat-trace.so opendat.1.0 \"inner\" \"\""
		echo "inner u1.2 nonthreadsafe default $PWD/.libs/libdat-trace.so opendat.1.0 \"soft0\" \"\""
		awk 'BEGIN { for (i = 0; i < 2000; i++)
			print "a" i " u1.2 nonthreadsafe default libgone.so x.1.0 \"\" \"\"" }'
		echo "soft0 u1.2 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 \"\" \"\""
	} >"$dir/large"
	run ./datctl check --timeout 60 --ia outer "$dir/large"
	exits_with 0
	prints '^ok    outer '
}

tests an_adapter_that_works_is_ok it_says_which_file_is_read_and_why \
	a_missing_file_is_named_with_the_command_that_makes_one a_bad_field_is_shown_with_a_caret_below_it \
	a_missing_field_is_counted a_wrong_version_of_our_provider_fails_and_others_are_left_alone \
	many_lines_for_others_are_one_line_of_output lines_for_uDAPL_20_are_told_as_such \
	an_adapter_of_20_is_opened_by_libdat2 what_20_answers_is_told_by_its_names a_library_for_20_that_is_not_there \
	an_adapter_that_is_passed_over_fails_if_it_is_asked_for an_adapter_that_is_asked_for_may_have_a_bad_line \
	lines_for_what_is_not_here_go_with_one_command \
	a_library_of_ofed_whose_device_is_here_has_another_provider each_verdict_is_printed_when_it_is_there \
	a_missing_library_is_told_in_the_loaders_words \
	the_remedy_for_a_line_works_as_it_is_printed a_library_that_is_no_provider_is_named \
	a_file_that_is_no_library_is_told_from_a_missing_one a_library_that_needs_a_missing_one_says_which \
	a_library_of_ours_that_is_missing_names_its_package a_library_of_another_version_is_told_from_a_broken_one \
	a_library_that_may_not_be_read_says_how_it_may \
	threadsafe_is_warned_of_where_the_provider_does_not_promise_it \
	one_that_registers_nothing_is_named one_that_crashes_is_named_and_spoils_nothing one_that_hangs_is_given_up \
	one_that_ends_the_program_is_named what_a_library_prints_does_not_reach_the_terminal \
	a_parameter_that_the_provider_refuses_is_told_in_its_words a_file_that_everybody_may_write_is_warned_of \
	a_folder_of_a_name_with_a_tab_is_warned_of_too \
	a_repeated_adapter_is_warned_of an_old_version_is_warned_of a_file_without_an_adapter_fails \
	an_absent_device_is_named a_port_that_the_device_does_not_have_is_named a_host_without_rdma_says_so \
	an_interface_without_rdma_says_how_to_get_some \
	a_port_that_is_down_is_named a_fabric_without_subnet_manager_is_named an_interface_without_address_is_named \
	a_missing_device_node_is_named the_wrong_provider_for_a_port_is_named a_low_limit_of_memory_is_warned_of \
	a_busy_qualifier_is_named an_unreachable_peer_is_named a_wrapper_finds_the_adapter_behind_it \
	twenty_thousand_lines_take_no_age a_wrapper_of_a_wrapper_is_tried_in_a_large_file_too \
	json_says_the_same wrong_usage_exits_with_2
