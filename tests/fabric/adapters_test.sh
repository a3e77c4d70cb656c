#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the ib and iwarp providers from a user's view: their attributes, transfers, and the messages for a wrong line in dat.conf or
# a machine that is not set up. In one guest.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"

all_adapters_show_what_their_device_can()
{
	run ./datctl show ib-rxe0
	exits_with 0
	says_nothing
	prints '^ia_address_ptr += 10\.9\.0\.1$'
	prints '^transport_attr.transport += InfiniBand or RoCE$'
	run ./datctl show iwarp-siw0
	exits_with 0
	says_nothing
	prints '^ia_address_ptr += 10\.9\.1\.1$'
	prints '^transport_attr.transport += iWARP$'
	prints '^transport_attr.rmr += emulated'
}

two_processes_exchange_over_rxe()
{
	exchanges ib-rxe0
}

two_processes_exchange_over_siw()
{
	exchanges iwarp-siw0
}

# deaf SIDE MS: makes siw on the passive or the active side miss messages for MS milliseconds after the handshake. Without this it
# misses them only for an instant.
deaf()
{
	echo "$2" 2>/dev/null >"/sys/module/siw/parameters/deaf_$1_ms"
}

a_message_that_comes_while_siw_is_deaf_is_received()
{
	deaf passive 500 || { skips 'the siw of this kernel does not take the parameter that the lab adds'; return; }
	exchanges iwarp-siw0
	deaf passive 0
}

# rxe's library crashes if a request to unbind a type-1 window names no region. The provider posts a marker for an unbind instead.
windows_of_the_device_are_bound_and_unbound()
{
	adapter windows ib 'rxe0 1 rmr=device'
	run ./datctl show windows
	prints '^transport_attr.rmr += memory windows$'
	exchanges windows
}

# A host often resolves its own name to a loopback address first.
an_adapter_is_named_by_a_host_of_several_addresses()
{
	printf '127.0.1.1 myself\n10.9.0.1 myself\n' >>/etc/hosts
	adapter by-host ib 'myself 0'
	run ./datctl show by-host
	exits_with 0
	prints '^ia_address_ptr += 10\.9\.0\.1$'
}

# Lines for other DAT libraries name an alias of our library, and a network interface with port 0.
a_line_for_another_library_of_the_field_opens_ours()
{
	[ -e "$plugins/libdaplcma.so.1" ] || fails "no $plugins/libdaplcma.so.1"
	exchanges OpenIB-cma
}

an_adapter_is_named_by_interface_address_or_device()
{
	local line n=0
	for line in 'ib eth0 0' 'ib eth0 1' 'ib 10.9.0.1 0' 'ib rxe0 1' 'ib rxe0' 'iwarp eth1 0' 'iwarp 10.9.1.1 0' 'iwarp siw0 1'; do
		n=$((n + 1))
		adapter "named$n" "${line%% *}" "${line#* }"
		run ./datctl show "named$n"
		exits_with 0
		prints '^transport_attr.device += (rxe0|siw0) port 1'
	done
}

# index_of ADDRESS: prints the index of the GID of an IPv4 address on rxe0
index_of()
{
	local bytes gid=/sys/class/infiniband/rxe0/ports/1/gids
	IFS=. read -ra bytes <<<"$1"
	grep -l "$(printf ':ffff:%02x%02x:%02x%02x$' "${bytes[@]}")" $gid/* 2>/dev/null | sed 's|.*/||' | head -n 1
}

# has_gid NAME ADDRESS: the adapter shows this address and its GID, its connections have it, and data go over it
has_gid()
{
	run ./datctl show "$1"
	exits_with 0
	prints "^ia_address_ptr += ${2//./\\.}\$"
	prints "^transport_attr.gid += $(index_of "$2"), RoCE v2\$"
	run env OPENDAT_TEST_IA="$1" CHECK_WATCHDOG=100 tests/fabric/device_test connections_have_the_gid
	exits_with 0
	prints '^ok .*connections have the gid'
	exchanges "$1"
}

an_adapter_has_the_gid_that_its_line_asks_for()
{
	ip addr add 10.9.0.201/24 dev eth0 || return
	adapter first ib 'rxe0 1'
	has_gid first 10.9.0.1
	adapter second ib "rxe0 1 gid=$(index_of 10.9.0.201)"
	has_gid second 10.9.0.201
	adapter third ib "eth0 0 gid=$(index_of 10.9.0.201) roce=v2"
	has_gid third 10.9.0.201
	adapter same ib "10.9.0.201 gid=$(index_of 10.9.0.201)"
	has_gid same 10.9.0.201
	adapter other ib "10.9.0.1 gid=$(index_of 10.9.0.201)"
	refused_at_open other 'is the GID of 10\.9\.0\.201, which is no address of 10\.9\.0\.1.*: name verbs device rxe0 there'
	ip addr del 10.9.0.201/24 dev eth0
}

a_gid_that_no_connection_can_have_is_refused()
{
	adapter local6 ib 'rxe0 1 gid=0'
	refused_at_open local6 "GID 0 at port 1 of verbs device rxe0 is fe80:.*, and connections are made from IPv4 addresses: the GIDs of these are $(index_of 10.9.0.1)"
	adapter empty ib 'rxe0 1 gid=700'
	refused_at_open empty 'GID 700 at port 1 of verbs device rxe0 is empty'
	adapter far ib 'rxe0 1 gid=60000'
	refused_at_open far 'GID 60000 at port 1 of verbs device rxe0 is empty'
	adapter v1 ib 'rxe0 1 roce=v1'
	refused_at_open v1 'roce= in dat.conf is RoCE v1, of which port 1 of verbs device rxe0 has no GID'
	adapter iwgid iwarp 'siw0 1 gid=0'
	refused_at_open iwgid 'gid= and roce= in dat.conf are for RoCE, and port 1 of verbs device siw0 is iWARP'
}

# Connections of a VLAN have a GID of their own, whose packets carry the tag.
an_adapter_is_named_by_a_vlan()
{
	ip link add link eth0 name eth0.100 type vlan id 100 && ip addr add 10.9.100.1/24 dev eth0.100 && ip link set eth0.100 up ||
		return
	adapter vlan ib 'eth0.100 0'
	has_gid vlan 10.9.100.1
	adapter vlangid ib "rxe0 1 gid=$(index_of 10.9.100.1)"
	has_gid vlangid 10.9.100.1
	adapter wrong ib "eth0 0 gid=$(index_of 10.9.100.1)"
	refused_at_open wrong 'is the GID of 10\.9\.100\.1, which is no address of eth0'
	run ./datctl discover
	prints '^roce-eth0\.100 .* libdatib\.so .*"eth0\.100 0"'
	run ./datctl check --ia vlan --timeout 60
	exits_with 0
	ip addr del 10.9.100.1/24 dev eth0.100
	run ./datctl check --ia vlan --timeout 60
	exits_with 1
	prints 'FAIL  vlan .*the network interface eth0\.100 has no IP'
	ip link del eth0.100
	refused_at_open vlan 'eth0\.100'
}

# fails_over [OPTION...]: makes a bond with these options, and has another of its interfaces take over while a program is connected.
fails_over()
{
	local client active=/sys/class/net/bond7/bonding/active_slave other=one7
	ip link add bond7 type bond mode active-backup miimon 100 "$@" || { skips 'this kernel has no bonds'; return; }
	ip link add one7 type dummy && ip link add two7 type dummy && ip link set one7 master bond7 && ip link set two7 master bond7 &&
		ip addr add 10.9.77.1/24 dev bond7 && ip link set bond7 up && ip link set one7 up && ip link set two7 up &&
		rdma link add rxe7 type rxe netdev bond7 || return
	adapter bond ib 'bond7 0'
	run ./datctl show bond
	exits_with 0
	prints '^ia_address_ptr += 10\.9\.77\.1$'
	prints '^transport_attr.device += rxe7 port 1$'
	exchanges bond
	run ./datctl discover
	prints '^roce-bond7 .* libdatib\.so .*"bond7 0"'
	mkfifo "$dir/held"
	: >"$dir/server" && : >"$dir/client" # they may be there from an earlier call
	tests/fabric/wire12 bond serve 7951 x >"$dir/server" 2>&1 &
	until_printed '^listening$' $! "$dir/server" || return
	tests/fabric/wire12 bond 10.9.77.1 7951 y hold <"$dir/held" >"$dir/client" 2>&1 &
	client=$!
	exec {held}>"$dir/held"
	until_printed '^holding$' $client "$dir/client" || return
	! grep -q one7 $active || other=two7
	ip link set dev "$(cat $active)" down
	until_printed "^$other\$" $$ $active
	exchanges bond
	[ "$(tail -n 1 "$dir/client")" = holding ] || fails "the connection: $(tail -n 1 "$dir/client")"
	kill $client || fails 'the connected program has ended'
	exec {held}>&-
	wait
	rm "$dir/held"
	rdma link delete rxe7
	ip link del bond7 && ip link del one7 && ip link del two7
}

# A bond is an interface of its own, which has the address, and the device belongs to it. When another interface of the bond takes
# over, the addresses of the bond stay, and so do its connections.
an_adapter_is_named_by_a_bond()
{
	fails_over
}

# The kernel reports such a change for each rdma_cm_id at the bond, those without a connection among them.
a_bond_that_changes_its_hardware_address_is_survived()
{
	fails_over fail_over_mac active
}

measures()
{
	local test
	for test in send-lat write-lat read-lat eager-lat send-bw; do
		run ./datperf --ia "$1" --test $test --size 4096 --iters 50 --warmup 5 --timeout 60 --json
		exits_with 0
		prints '"verified": ?true'
	done
}

datperf_verifies_its_data_over_rxe()
{
	measures ib-rxe0
}

datperf_verifies_its_data_over_siw()
{
	measures iwarp-siw0
}

a_line_that_names_nothing_is_refused_with_the_remedy()
{
	adapter none ib ''
	refused_at_open none 'give a network interface'
	adapter word ib 'rxe0 1 speed=fast'
	refused_at_open word '"speed=fast" in dat.conf is not known; known are NETDEV'
	adapter near ib 'rxe0 1 in_line=64'
	refused_at_open near '"in_line=64" in dat.conf is not known; did you mean inline[?]'
	adapter much ib 'rxe0 1 inline=5k'
	refused_at_open much '"inline=5k" in dat.conf is out of range; inline, .*, is 0 to 4096 bytes'
	adapter wrapped ib 'rxe0 -18446744073709551615'
	refused_at_open wrapped '"-18446744073709551615" in dat.conf is not a port'
	adapter absent ib 'eth9 0'
	refused_at_open absent 'eth9'
	adapter host ib 'no-such-host.invalid 0'
	refused_at_open host 'no-such-host.invalid'
	adapter foreign ib '10.9.0.77 0'
	refused_at_open foreign '10\.9\.0\.77'
}

what_a_device_is_taken_for_is_shown_and_can_be_switched()
{
	run ./datctl show iwarp-siw0
	prints '^transport_attr\.quirk\.deaf_start += on, by siw: '
	prints '^transport_attr\.quirk\.no_last_wqe += on, by all of iWARP: '
	! grep -q 'quirk\.write_sinks' "$out" || fails 'siw has a quirk that others have'
	run ./datctl show ib-rxe0
	prints '^transport_attr\.quirk\.loose_windows += on, by rxe: '
	adapter switched iwarp 'siw0 1 quirk=-errors_alike,write_sinks,short_flushed'
	exchanges switched
	run ./datctl show switched
	prints '^transport_attr\.quirk\.errors_alike += off, by dat\.conf: '
	prints '^transport_attr\.quirk\.write_sinks += on, by dat\.conf: '
	prints '^transport_attr\.short_receive += flushed$'
	adapter tight ib 'rxe0 1 quirk=-loose_windows'
	run ./datctl show tight
	prints '^transport_attr\.rmr += memory windows$'
	adapter slip iwarp 'siw0 1 quirk=-daef_start'
	refused_at_open slip 'quirk=daef_start in dat\.conf is not known; did you mean deaf_start\?'
	adapter astray ib 'rxe0 1 quirk=deaf_start'
	refused_at_open astray 'for iWARP devices only, and verbs device rxe0 is InfiniBand or RoCE'
}

a_port_that_the_device_has_not_is_refused()
{
	adapter port ib 'rxe0 7'
	refused_at_open port 'rxe0 (has no )?port 7'
}

a_device_of_the_other_kind_is_refused()
{
	adapter crossed ib 'siw0 1'
	refused_at_open crossed 'libdatiwarp'
	adapter crossed2 iwarp 'rxe0 1'
	refused_at_open crossed2 'libdatib'
}

an_interface_without_device_is_refused()
{
	ip link add plain0 type dummy && ip addr add 10.9.7.1/24 dev plain0 && ip link set plain0 up || return
	adapter plain ib 'plain0 0'
	refused_at_open plain 'rdma link'
	ip link del plain0
}

an_interface_without_address_is_refused()
{
	ip addr del 10.9.0.1/24 dev eth0
	adapter bare ib 'eth0 0'
	refused_at_open bare 'ip addr'
	adapter baredev ib 'rxe0 1'
	refused_at_open baredev 'ip addr'
	ip addr add 10.9.0.1/24 dev eth0
}

an_interface_that_is_down_is_refused()
{
	ip link set eth0 down
	adapter down ib 'eth0 0'
	refused_at_open down 'ip link set eth0 up'
	ip link set eth0 up
}

missing_device_nodes_are_named()
{
	mkdir -p "$dir/empty" && mount --bind "$dir/empty" /dev/infiniband || return
	adapter nodes ib 'rxe0 1'
	refused_at_open nodes '/dev/infiniband'
	umount /dev/infiniband
}

# siw counts registered memory against RLIMIT_MEMLOCK even for root.
too_little_lockable_memory_is_named_with_limit_and_size()
{
	limited ./datperf --ia iwarp-siw0 --test send-bw --size 1m --iters 3
	exits_with 1
	says 'ulimit -l|RLIMIT_MEMLOCK|memlock'
	says '64 ?(KiB|kB|K)|65536'
	! grep -q '^{' "$out" || fails 'it measured something'
}

a_port_in_use_is_told_as_such()
{
	local server
	timeout -k 5 100 ./datperf --ia ib-rxe0 --server --timeout 60 >/dev/null 2>"$dir/server" &
	server=$!
	until_printed ' listens: ' $server "$dir/server" || return
	run ./datperf --ia ib-rxe0 --server --timeout 20
	exits_with 1
	says 'DAT_CONN_QUAL_IN_USE'
	kill $server
	wait $server
	return 0
}

nobody_listening_is_a_rejection()
{
	run ./datperf --ia ib-rxe0 --connect 10.9.0.1 --test send-lat --timeout 5
	exits_with 1
	run ./datperf --ia iwarp-siw0 --connect 10.9.1.1 --test send-lat --timeout 5
	exits_with 1
}

tests all_adapters_show_what_their_device_can \
	two_processes_exchange_over_rxe \
	two_processes_exchange_over_siw \
	a_message_that_comes_while_siw_is_deaf_is_received \
	windows_of_the_device_are_bound_and_unbound \
	a_line_for_another_library_of_the_field_opens_ours \
	an_adapter_is_named_by_interface_address_or_device \
	an_adapter_is_named_by_a_host_of_several_addresses \
	an_adapter_has_the_gid_that_its_line_asks_for \
	a_gid_that_no_connection_can_have_is_refused \
	an_adapter_is_named_by_a_vlan \
	an_adapter_is_named_by_a_bond \
	a_bond_that_changes_its_hardware_address_is_survived \
	datperf_verifies_its_data_over_rxe \
	datperf_verifies_its_data_over_siw \
	a_line_that_names_nothing_is_refused_with_the_remedy \
	what_a_device_is_taken_for_is_shown_and_can_be_switched \
	a_port_that_the_device_has_not_is_refused \
	a_device_of_the_other_kind_is_refused \
	an_interface_without_device_is_refused \
	an_interface_without_address_is_refused \
	an_interface_that_is_down_is_refused \
	missing_device_nodes_are_named \
	too_little_lockable_memory_is_named_with_limit_and_size \
	a_port_in_use_is_told_as_such \
	nobody_listening_is_a_rejection
