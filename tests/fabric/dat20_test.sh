#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The test programs of DAT 2.0 that Debian ships, as they are, over rxe and siw: on our libdat2, and ours and OFED's against each
# other. The adapters of both sides have the same names. In one guest.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/dat20/pair.sh"

bound=100

# Other sides than ours: all of OFED, its provider in our libdat2, and our provider in its libdat2.
ofed() { DAT_OVERRIDE=$LAB_OFED_CONF "$@"; }
theirs_in_ours() { LD_LIBRARY_PATH=$PWD/.libs DAT_OVERRIDE=$LAB_OFED_CONF "$@"; }
ours_in_theirs() { "$@"; }

# Each side finds the libdat2 that it is meant to find.
the_libraries_are_two()
{
	ours ldd "$(command -v dtest)" | grep -qF "$PWD/.libs/libdat2.so.2" && ! ofed ldd "$(command -v dtest)" | grep -F "$PWD"
}

# What listens over rdma_cm at the connection qualifier of dtestsrq.
by_service_point() { rdma resource show cm_id | grep -q 'LISTEN.*:45248\b'; }

# over ADAPTER KIND ADDRESS
over()
{
	local ia=$1 kind=$2 host=$3
	dtest_passes "$kind: dtest waits" "$ia" "$host"
	dtest_passes "$kind: dtest polls" "$ia" "$host" -p
	dtest_passes "$kind: dtest uses CNOs" "$ia" "$host" -c
	tap "$kind: dtestcm makes 40 connections" pair 'Connection Test Complete' "dtestcm -P $ia -c 40 -b 10 -s" \
		"dtestcm -P $ia -c 40 -b 10 -h $host"
	tap "$kind: dtestsrq hears of the end of each endpoint of an SRQ" pair 'SRQ Test Complete' \
		"dtestsrq -P $ia -c 8 -B 8 -s" "dtestsrq -P $ia -c 8 -B 8 -h $host" by_service_point
	client=ofed
	dtest_passes "$kind: OFED's dtest is a client of ours" "$ia" "$host"
	client=ours server=ofed
	dtest_passes "$kind: OFED's dtest is the server of ours" "$ia" "$host"
	server=theirs_in_ours client=theirs_in_ours
	dtest_passes "$kind: OFED's provider works in our libdat2" "$ia" "$host"
	server=ours_in_theirs client=ours_in_theirs
	dtest_passes "$kind: our provider works in OFED's libdat2" "$ia" "$host"
	server=ours client=ours
}

tap 'our libdat2 and the one of OFED are two' the_libraries_are_two

over ofa-rxe0 rxe "$LAB_IB"
over ofa-siw0 siw "$LAB_IW"
tap_end
