#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests datctl on a host with RDMA devices: what it finds, and the misconfigurations that only such a host can have. `datctl check`
# and an ordinary program name each of them with its cause and remedy, and the test runs the remedy as it is printed. In one guest.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/tools/tap.sh"
unset DAT_LOG DAT_DBG_TYPE DAT_DBG_DEST

# the_remedy: prints the first remedy of the last `datctl check`, without the remark in parentheses
the_remedy()
{
	sed -n 's/^      to do: //p' "$out" | head -n 1 | sed 's/    (.*//'
}

# check ADAPTER OPTION...: runs `datctl check` for this adapter only
check()
{
	local adapter=$1
	shift
	run ./datctl check --ia "$adapter" --timeout 60 "$@"
}

works()
{
	check "$1"
	exits_with 0
	prints "^ok    $1 "
}

# until_there COMMAND...: repeats the command until it succeeds, for 30 s at most, because the kernel needs time to bring a port up
until_there()
{
	local i
	for ((i = 0; i < 300; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		nap
	done
	fails "this did not come: $*"
}

is_active()
{
	grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# repair: runs the printed remedy
repair()
{
	local remedy
	remedy=$(the_remedy)
	echo "# remedy: $remedy"
	bash -c "$remedy" || fails "the printed command fails: $remedy"
}

the_adapters_of_the_lab_can_be_used()
{
	run ./datctl check --timeout 60
	exits_with 0
	prints '^ok    ib-rxe0 '
	prints '^ok    iwarp-siw0 '
}

discover_finds_both_and_they_work()
{
	run ./datctl discover --update "$dir/found.conf"
	exits_with 0
	prints '^\+roce-eth0 .* libdatib.so .*"eth0 0"'
	prints '^\+iwarp-eth1 .* libdatiwarp.so .*"eth1 0"'
	# The found lines name installed libraries. The libraries are not installed, so the lines get paths in the build tree.
	sed -i "s| libdat\(soft\|ib\|iwarp\).so | $PWD/.libs/libdat\1.so |" "$dir/found.conf"
	run ./datctl discover --update "$dir/found.conf"
	prints 'needs no change'
	# The tests that follow use the adapters found here, whose lines name network interfaces.
	export DAT_OVERRIDE=$dir/found.conf
	run ./datctl check --timeout 60
	exits_with 0
}

# Software devices have no card, and so neither a driver for one nor a model. siw reports no firmware; what rxe reports depends on the
# kernel.
report_tells_of_the_devices_and_the_kernel()
{
	run ./datctl report
	exits_with 0
	prints "^Linux $(uname -r | sed 's/[.+]/[&]/g') " # a "+" as in 6.12.95+deb12 stands for itself
	prints '^rxe0: driver none, a software device, firmware .*, model unknown, .* PCI none$'
	prints '^siw0: driver none, a software device, firmware .*, model unknown, .* PCI none$'
	prints '^rxe0 port 1: RoCE, ACTIVE, interface eth0, '
	# the attributes that ibv_devinfo prints, of both devices and their ports
	prints '^    vendor_id 0xffffff$'
	prints '^    vendor_id 0x626d74$'
	[ "$(grep -cE '^    (max_qp_wr|max_sge|max_mr_size|max_qp_rd_atom|device_cap_flags) [0-9a-fx]+$' "$out")" -eq 10 ] ||
		fails 'an attribute of a device is not in it'
	[ "$(grep -cE '^    (max_msg_sz|active_mtu) [1-9][0-9]*$' "$out")" -eq 4 ] || fails 'an attribute of a port is not in it'
	prints '^    GID [0-9]+: 0000:0000:0000:0000:0000:ffff:0a09:0001, RoCE v2, interface eth0$'
	! grep -qi guid "$out" || fails 'the card is identified'
	prints '^rdma_rxe$'
	prints '^libibverbs\.so\.1: /.*/libibverbs\.so\.1\.[0-9]+\.[0-9]+\.[0-9]+$'
}

ping_works_over_both()
{
	local adapter
	for adapter in roce-eth0 iwarp-eth1; do
		run ./datctl ping --timeout 30 $adapter
		exits_with 0
		prints "^$adapter works.$"
	done
}

# One line of dat.conf serves programs of both versions. Programs of 2.0 also find the adapters under names of their own.
programs_of_20_work_over_both()
{
	local adapter
	for adapter in roce-eth0 iwarp-eth1; do
		run ./datctl ping --api 2.0 --timeout 30 $adapter
		exits_with 0
		prints "^$adapter works.$"
	done
	./datctl discover --api 2.0 | sed "s| libdat\(soft\|ib\|iwarp\).so | $PWD/.libs/libdat\1.so |" >"$dir/found20.conf"
	for adapter in ofa-v2-cma-roe-eth0 ofa-v2-rxe0-1 ofa-v2-iwarp-eth1 ofa-v2-siw0-1; do
		DAT_OVERRIDE=$dir/found20.conf run ./datctl ping --timeout 30 $adapter
		exits_with 0
		prints "^$adapter works.$"
	done
}

# The copy of datctl runs the programs beside it, where a stand-in for datperf is: the real one takes minutes in a guest.
certify_writes_what_works_on_the_device_into_one_file()
{
	local adapter device line bin=$dir/bin file=$dir/certified.txt
	mkdir -p "$bin"
	cp "$(./libtool --mode=execute bash -c 'echo "$0"' ./datctl)" "$bin/datctl" || fails 'no copy of datctl'
	ln -sf "$(./libtool --mode=execute bash -c 'echo "$0"' ./datconform)" "$bin/datconform"
	printf '#!/bin/sh\necho "datperf got: $*"\n' >"$bin/datperf"
	chmod +x "$bin/datperf"
	for adapter in roce-eth0 iwarp-eth1; do
		device=rxe0
		[ $adapter = roce-eth0 ] || device=siw0
		run env LD_LIBRARY_PATH="$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$bin/datctl" certify \
			--output "$file" --only 'EP_CONNECT-0*' --timeout 120 $adapter
		exits_with 0
		says_nothing
		prints "^datctl ping $adapter +exit status 0 after "
		prints "^$file is written: read it, and send it$"
		for line in "^$device port 1: " '^    max_qp_wr [0-9]+$' "^transport_attr.device += $device port 1$" '^transport_attr.quirk.*= on, by ' \
			'^ok  RMR .* bytes written through a memory window$' "^$adapter works.$" "^datperf got: --ia $adapter --duration 0.3 --warmup 0$" \
			'"id": *"EP_CONNECT-01"' ' passed, 0 failed'; do
			grep -qE -- "$line" "$file" || fails "the file of $adapter has no line '$line'"
		done
		[ "$(grep -c '^==== exit status 0 after ' "$file")" -eq 5 ] || fails "$(sed -n '/^==== datctl ping/,$p' "$file" | tail -n 40)"
	done
}

# The last message completes before the connection ends, however late siw reports its completion.
ping_ends_in_order_where_a_completion_is_late()
{
	local slow=/sys/module/siw/parameters/slow_send_ms
	echo 300 2>/dev/null >$slow || { skips 'the siw of this kernel does not take the parameter that the lab adds'; return; }
	run ./datctl ping --timeout 30 iwarp-eth1
	exits_with 0
	prints '^iwarp-eth1 works.$'
	echo 0 >$slow
}

an_absent_device_is_named()
{
	rdma link delete rxe0
	check roce-eth0
	exits_with 1
	prints '^FAIL  roce-eth0 .*no RDMA device belongs to the network interface eth0'
	run ./examples/exchange roce-eth0
	exits_with 1
	says '^libdat: .*found.conf:[0-9]+: roce-eth0: .*: no RDMA device serves eth0: .*rdma link add'
	run ./datctl check --ia roce-eth0 --timeout 60
	rdma link add rxe0 type rxe netdev eth0 || return 1
	until_there is_active rxe0
	works roce-eth0
}

a_port_that_is_down_is_named()
{
	ip link set eth0 down
	check roce-eth0
	exits_with 1
	prints '^FAIL  roce-eth0 .*port 1 of rxe0 is DOWN'
	run ./examples/exchange roce-eth0
	exits_with 1
	says '^libdat: .*found.conf:[0-9]+: roce-eth0: .*: network interface eth0 is down: .*ip link set eth0 up'
	check roce-eth0
	repair
	until_there is_active rxe0
	works roce-eth0
}

an_interface_without_address_is_named()
{
	ip -4 addr flush dev eth1
	ip -6 addr flush dev eth1
	check iwarp-eth1
	exits_with 1
	prints '^FAIL  iwarp-eth1 .*(network interface eth1 has no (IP|IPv4) address|no address)'
	prints 'to do: ip address add ADDRESS/LENGTH dev eth1'
	run ./examples/exchange iwarp-eth1
	exits_with 1
	says '^libdat: .*iwarp-eth1: .*: network interface eth1 has no IPv4 address: .*ip address add'
	ip addr add "$LAB_IW/24" dev eth1
	works iwarp-eth1
}

a_missing_device_node_is_named()
{
	mv /dev/infiniband /dev/hidden
	check roce-eth0
	exits_with 1
	prints '^FAIL  roce-eth0 .*the device node /dev/infiniband/.* cannot be opened: No such file or directory'
	prints 'to do: modprobe .*--device=/dev/infiniband'
	run ./examples/exchange roce-eth0
	exits_with 1
	says '^libdat: .*roce-eth0: .*: cannot reach the RDMA connection manager: .*modprobe rdma_ucm.*/dev/infiniband/rdma_cm'
	mv /dev/hidden /dev/infiniband
	works roce-eth0
}

a_limit_of_64_kib_is_named()
{
	limited ./datctl check --ia iwarp-eth1 --timeout 60
	exits_with 1
	prints '^FAIL  iwarp-eth1 .*RLIMIT_MEMLOCK'
	prints 'to do: ulimit -l unlimited'
	limited ./examples/exchange iwarp-eth1
	exits_with 1
	says '^libdatp?: .*iwarp-eth1: .*RLIMIT_MEMLOCK is 64 KiB.*ulimit -l unlimited'
}

a_busy_qualifier_is_named()
{
	local adapter pid
	for adapter in roce-eth0 iwarp-eth1; do
		rm -f "$dir/up"
		mkfifo "$dir/up"
		./datctl ping --server --qual 7931 $adapter 2>"$dir/up" &
		pid=$!
		read -r -t 60 <"$dir/up" || fails 'no server'
		check $adapter --listen 7931
		exits_with 1
		prints "^FAIL  $adapter .*connection qualifier 7931 is held by another program"
		DAT_LOG=info run ./datctl ping --server --qual 7931 $adapter
		exits_with 1
		says "^libdatp[[].*[]]: $adapter: connection qualifier 7931 is held by another program"
		kill $pid
		wait $pid 2>/dev/null
		check $adapter --listen 7931
		exits_with 0
	done
}

an_unreachable_peer_is_named()
{
	check roce-eth0 --peer 10.9.0.77:7932
	exits_with 1
	prints '^FAIL  roce-eth0 .*10.9.0.77 cannot be reached'
	run ./datctl ping --timeout 30 --qual 7932 roce-eth0 10.9.0.77
	exits_with 1
	says '^libdatp: roce-eth0: no connection with 10.9.0.77, connection qualifier 7932 after [0-9]+ ms: .* from 10[.0-9]+[)]; '
}

a_peer_without_a_server_is_told_from_an_unreachable_one()
{
	check roce-eth0 --peer "$LAB_IB:7933"
	exits_with 1
	prints "^FAIL  roce-eth0 .*$LAB_IB can be reached, but nobody accepts at connection qualifier 7933"
}

tests the_adapters_of_the_lab_can_be_used discover_finds_both_and_they_work report_tells_of_the_devices_and_the_kernel ping_works_over_both programs_of_20_work_over_both \
	certify_writes_what_works_on_the_device_into_one_file \
	ping_ends_in_order_where_a_completion_is_late \
	an_absent_device_is_named \
	a_port_that_is_down_is_named an_interface_without_address_is_named a_missing_device_node_is_named \
	a_limit_of_64_kib_is_named a_busy_qualifier_is_named an_unreachable_peer_is_named \
	a_peer_without_a_server_is_told_from_an_unreachable_one
