#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# post_test, trap_test, attempt_test and fault_test over rxe and over siw, as one TAP stream. In one guest.
# shellcheck source-path=SCRIPTDIR
set -u
. "$top_srcdir/tests/fabric/guest.sh"

# over ADAPTER KIND PROGRAM FILTER...: its TAP, each line named after the kind
over()
{
	OPENDAT_TEST_IA=$1 CHECK_WATCHDOG=100 CHECK_PATIENCE=40 "tests/fabric/$3" "${@:4}" |
		sed -uE "s/^(not ok|ok) [0-9]+ - /\1 - $2: /"
}

# renew DEVICE KIND NETDEV: a device as new. Of an rxe that has sent into a link that is down the queue pair for connection
# management has failed for good.
renew()
{
	local i
	ip link set "$3" up
	timeout 60 rdma link delete "$1" 2>/dev/null
	for ((i = 0; i < 600; i++)); do
		[ -e "/sys/class/infiniband/$1" ] || break
		sleep 0.1
	done
	rdma link add "$1" type "$2" netdev "$3" || echo "# $1 does not come back"
	for ((i = 0; i < 600; i++)); do
		! grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state" || return 0
		sleep 0.1
	done
	echo "# $1 does not become active"
}

# faults ADAPTER KIND DEVICE NETDEV: the device is left as it was
faults()
{
	over "$1" "$2" fault_test fault:
	over "$1" "$2" fault_test 'link that goes down'
	renew "$3" "$2" "$4"
	over "$1" "$2" fault_test 'deleted device'
	renew "$3" "$2" "$4"
	over "$1" "$2" fault_test 'device that is back'
}

# As long as a program of a slow guest may take to post its first receive.
conf=$(mktemp)
sed 's/"siw0 1"/"siw0 1 late_ms=2500"/' "$DAT_OVERRIDE" >"$conf"
export DAT_OVERRIDE=$conf

{
	over ib-rxe0 rxe post_test
	over iwarp-siw0 siw post_test
	over ib-rxe0 rxe trap_test 'ib trap'
	over ib-rxe0 rxe trap_test 'any trap'
	over ib-rxe0 rxe attempt_test 'any attempt'
	over iwarp-siw0 siw trap_test 'iw trap'
	over iwarp-siw0 siw trap_test 'any trap'
	over iwarp-siw0 siw attempt_test
	faults ib-rxe0 rxe rxe0 eth0
	faults iwarp-siw0 siw siw0 eth1
} | awk '
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^(not )?ok - / { n++; sub(/ok - /, "ok " n " - ") }
	{ print; fflush() }
	END { print "1.." planned }'
