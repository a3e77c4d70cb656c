#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs limit_test, order_test, hold_test, device_test, fence_test, post_test, early_test, pipe_test, fork_test, trap_test,
# attempt_test, bound_test and fault_test over rxe and over siw, as one TAP stream. Runs in one guest.
# shellcheck source-path=SCRIPTDIR
set -u
. "$top_srcdir/tests/fabric/guest.sh"
. "$top_srcdir/tests/fabric/joined.sh"

# The deletion of a device waits until librdmacm releases it, and librdmacm does that only while there is another device. So only
# one of the two devices may be deleted at a time.
lock=$(mktemp)

# faults ADAPTER KIND DEVICE NETDEV: runs fault_test, and renews the device after each test that spoils it
faults()
{
	over "$1" "$2" fabric/fault fault:
	over "$1" "$2" fabric/fault 'neighbour that changes'
	exec 8>"$lock"
	flock 8
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'link that goes down'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'deleted device'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'device gone under an idle'
	renew "$3" "$2" "$4"
	over "$1" "$2" fabric/fault 'device that is back'
	flock -u 8
}

conf=$(mktemp)
cp "$DAT_OVERRIDE" "$conf"
# late_ms is as long as a program in a slow guest may take to post its first receive. An accept without a receive waits that long.
late_ms=2500
sed -n "s/^iwarp-\(siw0 .*\"siw0 1\)/iwarp-late-\1 late_ms=$late_ms/p" "$DAT_OVERRIDE" >>"$conf"
# No device inlines 4096 bytes, so the device must inline as much as it can.
sed -n 's/^ib-\(rxe0 .*"rxe0 1\)/inline-\1 inline=4096/p; s/^iwarp-\(siw0 .*"siw0 1\)/inline-\1 inline=4096/p' "$DAT_OVERRIDE" >>"$conf"
# hold_ms=60000 is longer than any test, and 3000 as long as a program in a slow guest may take to post its first receive.
sed -n "s/^iwarp-\(siw0 .*\"siw0 1\)/patient-\1 hold_ms=3000 late_ms=$late_ms/p" "$DAT_OVERRIDE" >>"$conf"
sed -n 's/^iwarp-\(siw0 .*"siw0 1\)/hold-\1 hold_ms=60000/p' "$DAT_OVERRIDE" >>"$conf"
# These quirks tell the provider to treat siw as another device.
sed -n 's/^iwarp-\(siw0 .*"siw0 1\)/unfenced-\1 hold_ms=60000 quirk=writes_unfenced,reads_unfenced,-fence_reads/p' \
	"$DAT_OVERRIDE" >>"$conf"
sed -n 's/^ib-\(rxe0 .*"rxe0 1\)/limited-\1 quirk=region_limit/p; s/^iwarp-\(siw0 .*"siw0 1\)/limited-\1 quirk=region_limit/p' \
	"$DAT_OVERRIDE" >>"$conf"
sed -n 's/^iwarp-\(siw0 .*"siw0 1\)/unsaid-\1 quirk=reads_unsaid/p' "$DAT_OVERRIDE" >>"$conf"
sed -n 's/^iwarp-\(siw0 .*"siw0 1\)/prompt-\1 quirk=-connect_blocks/p' "$DAT_OVERRIDE" >>"$conf"
export DAT_OVERRIDE=$conf

over_rxe()
{
	two_at_a_time \
		'ib-rxe0|rxe|fabric/limit' \
		'ib-rxe0|rxe|fabric/order' \
		'ib-rxe0|rxe|fabric/device|ib device' \
		'ib-rxe0|rxe|fabric/device|any device' \
		'ib-rxe0|rxe|fabric/device|device at level debug' \
		'limited-rxe0|rxe, quirk=region_limit|fabric/device|limited device' \
		'ib-rxe0|rxe|fabric/ended|ib end' \
		'ib-rxe0|rxe|fabric/ended|any end' \
		'ib-rxe0|rxe|fabric/ended|end at level debug' \
		'ib-rxe0|rxe|fabric/hold|first:' \
		'ib-rxe0|rxe|fabric/post' \
		'inline-rxe0|rxe, inline=4096|fabric/post' \
		'ib-rxe0|rxe|fabric/early' \
		'ib-rxe0|rxe|fabric/pipe|other devices' \
		'ib-rxe0|rxe|fabric/fork|any fork' \
		'ib-rxe0|rxe|fabric/trap|ib trap' \
		'ib-rxe0|rxe|fabric/trap|any trap' \
		'ib-rxe0|rxe|fabric/attempt|any attempt' \
		'ib-rxe0|rxe|fabric/attempt|prompt attempt' \
		'ib-rxe0|rxe|fabric/bound|ib bound' \
		'ib-rxe0|rxe|fabric/bound|any bound'
	faults ib-rxe0 rxe rxe0 eth0
}

over_siw()
{
	two_at_a_time \
		'iwarp-siw0|siw|fabric/limit' \
		'iwarp-siw0|siw|fabric/order' \
		'iwarp-siw0|siw|fabric/device|any device' \
		'iwarp-siw0|siw|fabric/device|device at level debug' \
		'limited-siw0|siw, quirk=region_limit|fabric/device|limited device' \
		'iwarp-siw0|siw|fabric/ended|iw end' \
		'iwarp-siw0|siw|fabric/ended|any end' \
		'patient-siw0|siw, hold_ms=3000|fabric/hold|first:' \
		'hold-siw0|siw, hold_ms=60000|fabric/hold|long hold' \
		'unfenced-siw0|siw, fences that it ignores|fabric/fence' \
		'iwarp-siw0|siw|fabric/fence|fenced read' \
		'iwarp-siw0|siw|fabric/post' \
		'inline-siw0|siw, inline=4096|fabric/post' \
		'iwarp-siw0|siw|fabric/fork|any fork' \
		'iwarp-siw0|siw|fabric/fork|iw fork' \
		'iwarp-siw0|siw|fabric/pipe' \
		'iwarp-siw0|siw|fabric/trap|iw trap' \
		'iwarp-siw0|siw|fabric/trap|any trap' \
		'iwarp-siw0|siw|fabric/attempt|iw attempt' \
		'iwarp-siw0|siw|fabric/attempt|any attempt' \
		'prompt-siw0|siw, quirk=-connect_blocks|fabric/attempt|prompt attempt' \
		'iwarp-siw0|siw|fabric/bound|iw bound' \
		'iwarp-siw0|siw|fabric/bound|any bound' \
		'unsaid-siw0|siw, quirk=reads_unsaid|fabric/bound|reads unsaid'
	FABRIC_LATE_MS=$late_ms over iwarp-late-siw0 "siw, late_ms=$late_ms" fabric/fault 'receive may be posted'
	faults iwarp-siw0 siw siw0 eth1
}

side_by_side over_rxe over_siw | joined
