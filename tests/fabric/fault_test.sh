#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# limit_test, order_test, hold_test, device_test, post_test, early_test, pipe_test, fork_test, trap_test, attempt_test, bound_test and fault_test over rxe and over siw, as one TAP stream. In one guest.
# shellcheck source-path=SCRIPTDIR
set -u
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/fabric/joined.sh"

# faults ADAPTER KIND DEVICE NETDEV: the device is left as it was
faults()
{
	over "$1" "$2" fabric/fault fault:
	over "$1" "$2" fabric/fault 'neighbour that changes'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'link that goes down'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'deleted device'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'device gone under an idle'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'device that is back'
}

# As long as a program of a slow guest may take to post its first receive.
conf=$(mktemp)
export FABRIC_LATE_MS=2500
sed "s/\"siw0 1\"/\"siw0 1 late_ms=$FABRIC_LATE_MS\"/" "$DAT_OVERRIDE" >"$conf"
# More than any device inlines: it is to inline what it can.
sed -n 's/^ib-\(rxe0 .*"rxe0 1\)/inline-\1 inline=4096/p; s/^iwarp-\(siw0 .*"siw0 1\)/inline-\1 inline=4096/p' "$DAT_OVERRIDE" >>"$conf"
# For ever, to a test.
sed -n 's/^iwarp-\(siw0 .*"siw0 1\)/hold-\1 hold_ms=60000/p' "$DAT_OVERRIDE" >>"$conf"
export DAT_OVERRIDE=$conf

{
	over ib-rxe0 rxe fabric/limit
	over iwarp-siw0 siw fabric/limit
	over ib-rxe0 rxe fabric/order
	over iwarp-siw0 siw fabric/order
	over ib-rxe0 rxe fabric/device 'ib device'
	over ib-rxe0 rxe fabric/device 'any device'
	over ib-rxe0 rxe fabric/device 'device at level debug'
	over iwarp-siw0 siw fabric/device 'iw device'
	over iwarp-siw0 siw fabric/device 'any device'
	over iwarp-siw0 siw fabric/device 'device at level debug'
	over ib-rxe0 rxe fabric/hold first:
	over iwarp-siw0 siw fabric/hold first:
	over hold-siw0 'siw, hold_ms=60000' fabric/hold 'long hold'
	over ib-rxe0 rxe fabric/post
	over iwarp-siw0 siw fabric/post
	over inline-rxe0 'rxe, inline=4096' fabric/post
	over inline-siw0 'siw, inline=4096' fabric/post
	over ib-rxe0 rxe fabric/early
	over ib-rxe0 rxe fabric/pipe 'other devices'
	over ib-rxe0 rxe fabric/fork
	over iwarp-siw0 siw fabric/fork
	over ib-rxe0 rxe fabric/trap 'ib trap'
	over ib-rxe0 rxe fabric/trap 'any trap'
	over ib-rxe0 rxe fabric/attempt 'any attempt'
	over ib-rxe0 rxe fabric/bound 'any bound'
	over iwarp-siw0 siw fabric/pipe
	over iwarp-siw0 siw fabric/trap 'iw trap'
	over iwarp-siw0 siw fabric/trap 'any trap'
	over iwarp-siw0 siw fabric/attempt
	over iwarp-siw0 siw fabric/bound
	faults ib-rxe0 rxe rxe0 eth0
	faults iwarp-siw0 siw siw0 eth1
} | joined
