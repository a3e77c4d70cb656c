#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Attacks by peers, hostile_test and grasp_test, over rxe and over siw, and by peers that have no device: mpa_test over siw, and
# roce_test over an rxe of its own. Then what Yama forbids, which can be set here only: secret_test, for each of its levels. One TAP
# stream. Runs in one guest.
# hostile_test.sh [WORDS] runs only the tests whose name holds these words.
# shellcheck source-path=SCRIPTDIR
set -u
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/fabric/joined.sh"

# brief KIND-DEVICE NAME OTHER: prints the line of an adapter as one of the name NAME for the device OTHER. Some tests wait until the
# provider gives up an unconfirmed accept, so these adapters have a short handshake_ms.
brief()
{
	sed -n "s/^$1\( .*\"\)${1#*-} 1/$2\1$3 1 handshake_ms=3000/p" "$DAT_OVERRIDE"
}

conf=$(mktemp)
cp "$DAT_OVERRIDE" "$conf"
{ grep '^soft0 ' tests/dat.conf; brief ib-rxe0 brief-rxe0 rxe0; brief iwarp-siw0 brief-siw0 siw0; brief ib-rxe0 raw-rxe1 rxe1; } >>"$conf"
export DAT_OVERRIDE=$conf

# raw_card: makes rxe1 over a card whose other end roce_test has. Packets that pretend to come from this host are taken, too.
raw_card()
{
	ip tuntap add raw0 mode tap && ip link set raw0 address 52:54:00:09:07:01 && ip addr add 10.9.7.1/24 dev raw0 &&
		ip link set raw0 up && ip neigh add 10.9.7.2 lladdr 52:54:00:09:07:02 dev raw0 nud permanent || return
	echo 1 >/proc/sys/net/ipv4/conf/raw0/accept_local
	rdma link add rxe1 type rxe netdev raw0
}

over_rxe()
{
	over brief-rxe0 rxe fabric/hostile "$@"
	over brief-rxe0 rxe fabric/grasp "$@"
	over raw-rxe1 rxe fabric/roce "$@"
}

over_siw()
{
	over brief-siw0 siw fabric/hostile "$@"
	over brief-siw0 siw fabric/grasp "$@"
	over brief-siw0 siw fabric/mpa "$@"
}

# root_reads PID: reads a byte of the process's memory, as a tracer can
root_reads()
{
	local at
	at=$(sed -n '1s/-.*//p' "/proc/$1/maps")
	dd "if=/proc/$1/mem" of=/dev/null bs=1 count=1 "skip=$((16#$at))" iflag=skip_bytes 2>/dev/null
}

# told NAME COMMAND...: a line of TAP
told()
{
	"${@:2}" && echo "ok - $1" || echo "not ok - $1"
}

# over_yama [WORDS]: level 3 stays until the guest ends
over_yama()
{
	local level sleeper
	sleep 600 &
	sleeper=$!
	for level in 1 2 3; do
		echo $level >/proc/sys/kernel/yama/ptrace_scope
		# a search for leaks is a trace as well
		ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 over soft0 "Yama $level" soft/secret "${@:-yama}"
		[ $level -ne 2 ] || told 'Yama 2: root may trace' root_reads $sleeper
	done
	told 'Yama 3: root may not trace' eval "! root_reads $sleeper"
	echo 1..2
	kill $sleeper
}

raw_card || echo '# there is no card for roce_test'
words=("$@")
rxe() { over_rxe "${words[@]}"; }
siw() { over_siw "${words[@]}"; }
{ side_by_side rxe siw; over_yama "$@"; } | joined
