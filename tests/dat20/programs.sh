#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The test programs of DAT 2.0 that Debian ships, as they are, on libdat2 over soft0.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:-.}/tests/dat20/pair.sh"

export DAT_OVERRIDE=$tap_dir/dat.conf
printf 'soft0 u2.0 nonthreadsafe default %s opendat.1.0 "" ""\n' "$PWD/.libs/libdatsoft.so" >"$DAT_OVERRIDE"

# dtestsrq has no TCP port.
by_service_point() { grep -q "@opendat-soft/$DAT_SOFT_REALM/.*/b0c0\$" /proc/net/unix; }

dtest_passes 'dat20: dtest waits' soft0 localhost
dtest_passes 'dat20: dtest polls' soft0 localhost -p
dtest_passes 'dat20: dtest uses CNOs' soft0 localhost -c
tap 'dat20: dtestcm makes 40 connections' pair 'Connection Test Complete' 'dtestcm -P soft0 -c 40 -b 10 -s' \
	'dtestcm -P soft0 -c 40 -b 10 -h localhost'
tap 'dat20: dtestsrq hears of the end of each endpoint of an SRQ' pair 'SRQ Test Complete' 'dtestsrq -P soft0 -c 8 -B 8 -s' \
	'dtestsrq -P soft0 -c 8 -B 8 -h localhost' by_service_point
dtestx_passes 'dat20: dtestx writes with immediate data, swaps and adds' soft0 localhost
dtestx_passes 'dat20: dtestx polls' soft0 localhost -p
tap_end
