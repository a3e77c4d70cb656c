#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# datctl discover, and the options of datadm: what is printed, what changes in a file, and what does not.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/tools/tap.sh"

root=$dir/root
conf=$dir/dat.conf
soft0='soft0 u1.2 nonthreadsafe default libdatsoft.so opendat.1.0 "" ""'
eth2='roce-eth2 u1.2 nonthreadsafe default libdatib.so opendat.1.0 "eth2 0" ""'

# device NAME NODE_TYPE LINK_LAYER PORT...: on the host that --root shows
device()
{
	local name=$1 type=$2 layer=$3 port
	shift 3
	for port; do
		mkdir -p "$root/sys/class/infiniband/$name/ports/$port/gid_attrs/ndevs"
		echo "$layer" >"$root/sys/class/infiniband/$name/ports/$port/link_layer"
		echo '4: ACTIVE' >"$root/sys/class/infiniband/$name/ports/$port/state"
	done
	echo "$type" >"$root/sys/class/infiniband/$name/node_type"
}

netdev()
{
	mkdir -p "$root/sys/class/net/$1"
	echo "${2-02:00:00:00:00:01}" >"$root/sys/class/net/$1/address"
}

ndev()
{
	netdev "$3"
	echo "$3" >"$root/sys/class/infiniband/$1/ports/$2/gid_attrs/ndevs/0"
}

# A host with one RoCE card
host_with_roce()
{
	rm -rf "$root"
	mkdir -p "$root"
	device mlx5_0 '1: CA' Ethernet 1
	ndev mlx5_0 1 eth2
}

a_host_without_rdma_has_soft0()
{
	rm -rf "$root"
	mkdir -p "$root"
	run ./datctl discover --root "$root"
	exits_with 0
	says_nothing
	prints_lines 2
	prints "^$soft0$"
}

each_kind_of_port_gets_its_provider()
{
	host_with_roce
	device mlx4_0 '1: CA' InfiniBand 1 2
	mkdir -p "$root/sys/class/infiniband/mlx4_0/ports/1/gids"
	echo 'fe80:0000:0000:0000:0002:c903:0001:0203' >"$root/sys/class/infiniband/mlx4_0/ports/1/gids/0"
	netdev ib0 80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:01:02:03
	device siw0 '4: RNIC' Ethernet 1
	mkdir -p "$root/sys/class/infiniband/siw0/ports/1/gids"
	echo '0200:0000:0009:0000:0000:0000:0000:0000' >"$root/sys/class/infiniband/siw0/ports/1/gids/0"
	netdev eth3 02:00:00:00:00:09
	run ./datctl discover --root "$root"
	exits_with 0
	prints "^roce-eth2 u1.2 nonthreadsafe default libdatib.so opendat.1.0 \"eth2 0\" \"\"$"
	prints "^ib0 u1.2 nonthreadsafe default libdatib.so opendat.1.0 \"ib0 0\" \"\"$"
	prints "^mlx4_0-2 u1.2 nonthreadsafe default libdatib.so opendat.1.0 \"mlx4_0 2\" \"\"$"
	prints "^iwarp-eth3 u1.2 nonthreadsafe default libdatiwarp.so opendat.1.0 \"eth3 0\" \"\"$"
}

two_devices_on_one_interface_get_two_names()
{
	host_with_roce
	device rxe0 '1: CA' Ethernet 1
	ndev rxe0 1 eth2
	run ./datctl discover --root "$root"
	prints '^roce-eth2 '
	prints '^roce-rxe0-1 .*"rxe0 1"'
}

# gid_netdev DEVICE PORT INDEX NETDEV: the GID of this index belongs to the interface
gid_netdev()
{
	netdev "$4"
	echo "$4" >"$root/sys/class/infiniband/$1/ports/$2/gid_attrs/ndevs/$3"
}

# mlx5 makes one device of the ports that are in a bond; without a bond, each port of a card has an interface.
a_bond_gets_one_line_and_each_of_two_ports_its_own()
{
	rm -rf "$root"
	mkdir -p "$root"
	device mlx5_bond_0 '1: CA' Ethernet 1
	ndev mlx5_bond_0 1 bond0
	gid_netdev mlx5_bond_0 1 2 bond0.100
	device mlx4_0 '1: CA' Ethernet 1 2
	ndev mlx4_0 1 eth4
	ndev mlx4_0 2 eth5
	run ./datctl discover --root "$root"
	exits_with 0
	prints '^roce-bond0 u1.2 nonthreadsafe default libdatib.so opendat.1.0 "bond0 0" ""$'
	prints '^roce-bond0.100 .*"bond0.100 0"'
	prints '^roce-eth4 .*"eth4 0"'
	prints '^roce-eth5 .*"eth5 0"'
	[ "$(grep -c '^roce-' "$out")" -eq 4 ] || fails "$(tr '\n' ';' <"$out")"
	run ./datctl discover --api 2.0 --root "$root"
	prints '^ofa-v2-mlx5_bond_0-1 .*"mlx5_bond_0 1"'
	prints '^ofa-v2-mlx4_0-2 .*"mlx4_0 2"'
}

each_vlan_of_a_roce_port_gets_a_line()
{
	local n
	host_with_roce
	for n in 1 2; do
		gid_netdev mlx5_0 1 $n eth2
		gid_netdev mlx5_0 1 $((n + 2)) eth2.100
		gid_netdev mlx5_0 1 $((n + 4)) storage
	done
	device mlx5_1 '1: CA' Ethernet 1
	ndev mlx5_1 1 eth3
	run ./datctl discover --root "$root"
	exits_with 0
	prints_lines 10
	prints "^$eth2$"
	prints '^# RoCE: port 1 of mlx5_0, network interface eth2.100$'
	prints '^roce-eth2.100 u1.2 nonthreadsafe default libdatib.so opendat.1.0 "eth2.100 0" ""$'
	prints '^roce-storage .*"storage 0"'
	prints '^roce-eth3 '
	run ./datctl discover --api 2.0 --root "$root"
	prints '^ofa-v2-cma-roe-eth2.100 .*"eth2.100 0"'
	[ "$(grep -c '^ofa-v2-mlx5_0-1 ' "$out")" -eq 1 ] || fails 'the device has not one line'
	./datctl discover --root "$root" >"$conf"
	run ./datctl discover --root "$root" --update "$conf"
	prints 'needs no change'
	# the line of a VLAN is commented out when the VLAN is gone, and that of the device itself stays
	rm "$root"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/[34]
	run ./datctl discover --root "$root" --update "$conf"
	grep -q '^#gone# roce-eth2.100 ' "$conf" || fails 'the line is still there'
	grep -q "^$eth2$" "$conf" || fails 'the line of the port is gone'
}

what_it_prints_is_a_dat_conf()
{
	host_with_roce
	./datctl discover --root "$root" >"$conf"
	DAT_OVERRIDE=$conf run ./datctl list
	exits_with 0
	says_nothing
	prints_lines 2
}

# A driver may name an interface with any byte but a blank, a colon and a slash.
a_name_is_written_as_it_is_and_shown_escaped()
{
	local odd=eth$'\001'$'\xff'
	host_with_roce
	device mlx5_1 '1: CA' Ethernet 1
	ndev mlx5_1 1 "$odd"
	./datctl discover --root "$root" >"$conf"
	LC_ALL=C grep -q "^roce-$odd .*\"$odd 0\"" "$conf" || fails 'another name is printed'
	run ./datctl discover --root "$root" --update "$conf"
	prints 'needs no change'
	rm "$conf"
	run ./datctl discover --root "$root" --update "$conf"
	prints '^\+roce-eth\\x01\\xff .*"eth\\x01\\xff 0"'
	LC_ALL=C grep -q "^roce-$odd .*\"$odd 0\"" "$conf" || fails 'another name is written'
	command -v script >/dev/null || { skips 'script(1) is not here'; return 0; }
	script -qec true /dev/null >/dev/null 2>&1 || { skips 'script(1) gets no pseudo-terminal here'; return 0; }
	run script -qec "./datctl discover --root '$root'" /dev/null
	prints '^roce-eth\\x01\\xff .*"eth\\x01\\xff 0"'
}

update_adds_what_is_missing_and_keeps_the_rest()
{
	host_with_roce
	printf '%s\n' '# mine' "$soft0" '' 'other u1.2 nonthreadsafe default libother.so x.1.0 "eth9 0" ""' 'rubbish' >"$conf"
	cp "$conf" "$dir/before"
	run ./datctl discover --root "$root" --update "$conf"
	exits_with 0
	prints "^\+$eth2$"
	cmp -s "$dir/before" <(head -n 5 "$conf") || fails 'other lines have changed'
	[ "$(tail -n 1 "$conf")" = "$eth2" ] || fails "the last line is $(tail -n 1 "$conf")"
}

a_second_update_changes_nothing()
{
	host_with_roce
	rm -f "$conf"
	run ./datctl discover --root "$root" --update "$conf"
	cp "$conf" "$dir/before"
	run ./datctl discover --root "$root" --update "$conf"
	exits_with 0
	prints "^$conf needs no change$"
	cmp -s "$conf" "$dir/before" || fails 'it has changed'
}

a_line_whose_device_is_gone_goes_and_comes_back_with_it()
{
	host_with_roce
	printf '%s\n' "$soft0" "$eth2 # keep" >"$conf"
	rm -rf "$root"
	mkdir -p "$root"
	run ./datctl discover --root "$root" --update "$conf"
	prints "^-$eth2 # keep$"
	prints "^\+#gone# $eth2 # keep$"
	grep -qxF "#gone# $eth2 # keep" "$conf" || fails 'it is not commented out'
	host_with_roce
	run ./datctl discover --root "$root" --update "$conf"
	grep -qxF "$eth2 # keep" "$conf" || fails 'it did not come back'
	[ "$(wc -l <"$conf")" -eq 2 ] || fails 'there are more lines than before'
}

# Lines keep their tabs and the bytes of an encoding that is not UTF-8. They are escaped only where they are shown.
a_line_is_written_as_it_is()
{
	local line=$'roce-eth2\tu1.2\tnonthreadsafe\tdefault\tlibdatib.so opendat.1.0 "eth2 0" "" # f\xfcr Zo\xeb'
	rm -rf "$root"
	mkdir -p "$root" "$dir/a	tab"
	printf '%s\n' "$soft0" "$line" >"$conf"
	cp "$conf" "$dir/before"
	run ./datctl discover --root "$root" --update "$conf"
	prints '^\+#gone# roce-eth2\\x09u1.2\\x09.* # f\\xfcr Zo\\xeb$'
	LC_ALL=C grep -qxF "#gone# $line" "$conf" || fails 'it is not commented out as it was'
	host_with_roce
	run ./datctl discover --root "$root" --update "$conf"
	cmp -s "$conf" "$dir/before" || fails 'it did not come back as it was'
	echo "$line" >"$dir/provider.conf"
	echo "$soft0" >"$conf"
	DAT_OVERRIDE=$conf run ./datctl -a "$dir/provider.conf"
	exits_with 0
	cmp -s "$conf" "$dir/before" || fails 'datctl -a has written another line'
	run ./datctl discover --root "$root" --update "$dir/a	tab/dat.conf"
	exits_with 0
}

lines_by_OFEDs_name_of_the_provider_go_and_come_as_well()
{
	local cma='OpenIB-cma u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 "eth2 0" ""'
	rm -rf "$root"
	mkdir -p "$root"
	printf '%s\n' "$soft0" "$cma" >"$conf"
	run ./datctl discover --root "$root" --update "$conf"
	grep -qxF "#gone# $cma" "$conf" || fails 'it is not commented out'
	host_with_roce
	run ./datctl discover --root "$root" --update "$conf"
	grep -qxF "$cma" "$conf" || fails 'it did not come back'
	[ "$(wc -l <"$conf")" -eq 2 ] || fails 'its device has two lines'
}

# A file that is not regular, such as /dev/null or a FIFO, is neither read nor replaced.
what_is_no_regular_file_is_left_alone()
{
	mkfifo "$dir/pipe"
	ln -s "$dir/pipe" "$dir/link"
	for name in pipe link; do
		run ./datctl discover --update "$dir/$name"
		exits_with 1
		prints_nothing
		says "^datctl: $dir/$name: cannot be read: it is not a regular file\$"
		DAT_OVERRIDE=$dir/$name run ./datctl -u
		exits_with 1
		echo "$soft0" >"$dir/lines"
		DAT_OVERRIDE=$dir/$name run ./datctl -a "$dir/lines"
		exits_with 1
	done
	[ -p "$dir/pipe" ] || fails 'it has been replaced'
	run ./datctl discover --update "$dir"
	exits_with 1
	says "cannot be read: Is a directory\$"
}

a_name_that_is_taken_is_not_used_twice()
{
	host_with_roce
	printf '%s\n' "$soft0" 'roce-eth2 u1.2 nonthreadsafe default libother.so x.1.0 "" ""' >"$conf"
	run ./datctl discover --root "$root" --update "$conf"
	grep -q '^roce-eth2-2 .*libdatib.so' "$conf" || fails 'no second name'
}

what_a_drop_in_adds_is_not_added_again()
{
	host_with_roce
	printf '%s\n' "$soft0" >"$conf"
	mkdir -p "$conf.d"
	printf '[fast]\nlibrary = libdatib.so\nia_params = eth2 0\n' >"$conf.d/fast.ini"
	run ./datctl discover --root "$root" --update "$conf"
	rm -r "$conf.d"
	prints 'needs no change'
}

dry_run_changes_nothing()
{
	host_with_roce
	printf '%s\n' "$soft0" >"$conf"
	run ./datctl discover --root "$root" --update "$conf" --dry-run
	exits_with 0
	prints "^\+$eth2$"
	[ "$(cat "$conf")" = "$soft0" ] || fails 'the file has changed'
}

the_file_is_replaced_as_a_whole_and_keeps_its_mode()
{
	host_with_roce
	printf '%s\n' "$soft0" >"$dir/real.conf"
	chmod 640 "$dir/real.conf"
	ln -sf real.conf "$conf"
	ln "$dir/real.conf" "$dir/second"
	run ./datctl discover --root "$root" --update "$conf"
	exits_with 0
	[ -L "$conf" ] || fails 'the link has become a file'
	[ "$(stat -c %a "$dir/real.conf")" = 640 ] || fails 'the mode has changed'
	[ "$(cat "$dir/second")" = "$soft0" ] || fails 'the old file was written over'
	[ -z "$(find "$dir" -name '*.conf.*')" ] || fails 'something is left over'
	rm -f "$conf" "$dir/real.conf" "$dir/second"
}

a_folder_that_cannot_be_written_is_told()
{
	host_with_roce
	run ./datctl discover --root "$root" --update "$dir/no/such/dat.conf"
	exits_with 1
	says "$dir/no/such/dat.conf: cannot be replaced: No such file or directory"
}

datadm_v_lists_and_u_updates()
{
	printf '# nothing\n' >"$conf"
	DAT_OVERRIDE=$conf run ./datctl -u
	exits_with 0
	DAT_OVERRIDE=$conf run ./datctl -v
	exits_with 0
	prints '^soft0 '
}

datadm_a_adds_and_r_removes()
{
	printf '%s\n' "$soft0" >"$conf"
	printf '%s\n' '# a provider of a vendor' 'vendor0 u1.2 nonthreadsafe default libvendor.so v.1.0 "" ""' >"$dir/provider.conf"
	cp "$conf" "$dir/before"
	DAT_OVERRIDE=$conf run ./datctl -a "$dir/provider.conf"
	exits_with 0
	prints '^\+vendor0 '
	DAT_OVERRIDE=$conf run ./datctl -a "$dir/provider.conf"
	exits_with 1
	says "vendor0: is already in $conf, in line 2"
	DAT_OVERRIDE=$conf run ./datctl -r "$dir/provider.conf"
	exits_with 0
	prints '^-vendor0 '
	cmp -s "$conf" "$dir/before" || fails 'the file is not as it was'
	DAT_OVERRIDE=$conf run ./datctl -r "$dir/provider.conf"
	exits_with 1
	says 'vendor0: is not in'
}

datadm_a_refuses_a_file_with_a_mistake()
{
	printf '%s\n' "$soft0" >"$conf"
	echo 'vendor0 u1 nonthreadsafe' >"$dir/provider.conf"
	DAT_OVERRIDE=$conf run ./datctl -a "$dir/provider.conf"
	exits_with 1
	says "$dir/provider.conf:1: "
	[ "$(cat "$conf")" = "$soft0" ] || fails 'the file has changed'
}

json_is_json()
{
	host_with_roce
	run ./datctl discover --root "$root" --json
	exits_with 0
	prints '"name": "roce-eth2"'
	command -v python3 >/dev/null || return 0
	python3 -m json.tool "$out" >/dev/null || fails 'this is no JSON'
}

# The names are those of OFED's dat.conf, by the interface and by the device.
for_programs_of_20_each_port_has_the_names_that_scripts_contain()
{
	host_with_roce
	device mlx4_0 '1: CA' InfiniBand 1 2
	ndev mlx4_0 1 ib0
	device siw0 '4: RNIC' Ethernet 1
	ndev siw0 1 eth3
	run ./datctl discover --api 2.0 --root "$root"
	exits_with 0
	says_nothing
	grep -v '^#' "$out" >"$dir/lines"
	cat >"$dir/wanted" <<-'END'
		soft0 u2.0 nonthreadsafe default libdatsoft.so opendat.1.0 "" ""
		ofa-v2-ib0 u2.0 nonthreadsafe default libdatib.so opendat.1.0 "ib0 0" ""
		ofa-v2-mlx4_0-1 u2.0 nonthreadsafe default libdatib.so opendat.1.0 "mlx4_0 1" ""
		ofa-v2-mlx4_0-2 u2.0 nonthreadsafe default libdatib.so opendat.1.0 "mlx4_0 2" ""
		ofa-v2-cma-roe-eth2 u2.0 nonthreadsafe default libdatib.so opendat.1.0 "eth2 0" ""
		ofa-v2-mlx5_0-1 u2.0 nonthreadsafe default libdatib.so opendat.1.0 "mlx5_0 1" ""
		ofa-v2-iwarp-eth3 u2.0 nonthreadsafe default libdatiwarp.so opendat.1.0 "eth3 0" ""
		ofa-v2-siw0-1 u2.0 nonthreadsafe default libdatiwarp.so opendat.1.0 "siw0 1" ""
	END
	diff "$dir/wanted" "$dir/lines" >"$dir/diff" || fails "other lines: $(tr '\n' ';' <"$dir/diff")"
	cp "$out" "$conf"
	DAT_OVERRIDE=$conf run ./datctl list
	exits_with 0
	says_nothing
	prints_lines 8
}

the_lines_of_each_api_are_kept_up_to_date_by_themselves()
{
	local roce='ofa-v2-cma-roe-eth2 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth2 0" ""'
	host_with_roce
	printf '%s\n' "$soft0" "$eth2" "$roce" >"$conf"
	run ./datctl discover --api 2.0 --root "$root" --update "$conf"
	exits_with 0
	prints '^\+soft0 u2.0 '
	prints '^\+ofa-v2-mlx5_0-1 u2.0 .*"mlx5_0 1"'
	[ "$(grep -c ' u2.0 ' "$conf")" -eq 3 ] || fails "other lines of 2.0: $(grep ' u2.0 ' "$conf")"
	run ./datctl discover --api 2.0 --root "$root" --update "$conf"
	prints 'needs no change'
	run ./datctl discover --root "$root" --update "$conf"
	prints 'needs no change'
	rm -rf "$root"
	mkdir -p "$root"
	run ./datctl discover --api 2.0 --root "$root" --update "$conf"
	grep -qxF "#gone# $roce" "$conf" || fails 'the line of 2.0 is not commented out'
	grep -q '^#gone# ofa-v2-mlx5_0-1 ' "$conf" || fails 'that by the device is not commented out'
	grep -qxF "$eth2" "$conf" || fails 'the line of 1.2 has changed'
	host_with_roce
	run ./datctl discover --api 2.0 --root "$root" --update "$conf"
	grep -qxF "$roce" "$conf" || fails 'it did not come back'
	[ "$(grep -c ' u2.0 ' "$conf")" -eq 3 ] || fails 'there are more lines than before'
}

a_name_of_the_other_api_is_free()
{
	rm -rf "$root"
	mkdir -p "$root"
	echo "${soft0/u1.2/u2.0}" >"$conf"
	run ./datctl discover --root "$root" --update "$conf"
	prints "^\+$soft0$"
}

wrong_usage_exits_with_2()
{
	local args
	for args in 'discover --nonsense' 'discover --update' 'discover --dry-run' 'discover --json --update x' \
		'discover --api' 'discover --api 3.0' '-a' '-v x' '-r'; do
		# shellcheck disable=SC2086 # a list of arguments
		run ./datctl $args
		exits_with 2
		prints_nothing
	done
}

tests a_host_without_rdma_has_soft0 each_kind_of_port_gets_its_provider each_vlan_of_a_roce_port_gets_a_line \
	a_bond_gets_one_line_and_each_of_two_ports_its_own two_devices_on_one_interface_get_two_names \
	what_it_prints_is_a_dat_conf a_name_is_written_as_it_is_and_shown_escaped \
	update_adds_what_is_missing_and_keeps_the_rest a_second_update_changes_nothing \
	a_line_whose_device_is_gone_goes_and_comes_back_with_it a_line_is_written_as_it_is \
	lines_by_OFEDs_name_of_the_provider_go_and_come_as_well \
	what_is_no_regular_file_is_left_alone \
	a_name_that_is_taken_is_not_used_twice \
	what_a_drop_in_adds_is_not_added_again dry_run_changes_nothing the_file_is_replaced_as_a_whole_and_keeps_its_mode \
	a_folder_that_cannot_be_written_is_told datadm_v_lists_and_u_updates datadm_a_adds_and_r_removes \
	datadm_a_refuses_a_file_with_a_mistake json_is_json \
	for_programs_of_20_each_port_has_the_names_that_scripts_contain \
	the_lines_of_each_api_are_kept_up_to_date_by_themselves a_name_of_the_other_api_is_free wrong_usage_exits_with_2
