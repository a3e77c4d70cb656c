#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The test programs of DAT 2.0 that Debian ships, as they are, on libdat2 over soft0. They run DAT20_ROUNDS times, once by default.
# shellcheck source-path=SCRIPTDIR

# They meet at one TCP port of the host. In a network of its own, this test does not meet another one that runs at the same time.
if [ -z "${DAT20_OWN_NETWORK-}" ] && unshare -rn ip link set lo up 2>/dev/null; then
	export DAT20_OWN_NETWORK=yes
	exec unshare -rn bash -c 'ip link set lo up; exec bash "$@"' _ "$0" "$@"
fi
. "${top_srcdir:-.}/tests/dat20/pair.sh"

export DAT_OVERRIDE=$tap_dir/dat.conf
printf 'soft0 u2.0 nonthreadsafe default %s opendat.1.0 "" ""\n' "$PWD/.libs/libdatsoft.so" >"$DAT_OVERRIDE"

# Succeeds once the service point of dtestsrq is in the kernel's list of Unix sockets.
# shellcheck disable=SC2317 # it is called by its name
dtestsrq_listens() { grep -q "@opendat-soft/$DAT_SOFT_REALM/.*/b0c0\$" /proc/net/unix; }

for ((round = 0; round < ${DAT20_ROUNDS:-1}; round++)); do
	all_of_dtest dat20 soft0 localhost dtestsrq_listens
	if [ "${CHECK_DEPTH-}" != brief ]; then
		tap 'dat20: dtest runs without options' pair_again 'Test Complete. PASSED' 'dtest -P soft0 -s' 'dtest -P soft0 -h localhost'
	fi
	dtestx_passes 'dat20: dtestx writes with immediate data, swaps and adds' soft0 localhost
	dtestx_passes 'dat20: dtestx polls' soft0 localhost -p
	tap 'dat20: dtestx prints the named attributes' dtestx_asks 13 soft0 localhost
	tap 'dat20: dtestx finds no datagrams' ends_at_once 'DAT_INVALID_PARAMETER' 'dtestx -P soft0 -u -s'
	dapltest_passes dat20 soft0 localhost
	tap 'dat20: dapltest makes regions of up to 1 GiB' dapltest_alone 1 soft0 L limit_size_lmr
	tap 'dat20: dapltest makes all of that in three sets' dapltest_alone 10 soft0 L -m 20 -w 3
done
tap_end
