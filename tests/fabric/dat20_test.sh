#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's unchanged test programs for DAT 2.0 over rxe and siw: on our libdat2, and between our libdat2 and OFED's. The
# adapters have the same names on both sides. Runs in one guest.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/dat20/pair.sh"

bound=100

# The sides other than ours are OFED's libdat2 with its provider, our libdat2 with OFED's provider, and OFED's libdat2 with ours.
ofed() { DAT_OVERRIDE=$LAB_OFED_CONF "$@"; }
# The library path must not hold our alias for OFED's provider. The dynamic linker logs what it loads, for a_mixed_pair_was_one.
theirs_in_ours() { LD_LIBRARY_PATH=$tap_dir/dat2 LD_DEBUG=files LD_DEBUG_OUTPUT=$tap_dir/loaded DAT_OVERRIDE=$LAB_OFED_CONF "$@"; }
ours_in_theirs() { "$@"; }
mkdir "$tap_dir/dat2"
ln -s "$PWD/.libs/libdat2.so.2" "$PWD/.libs/libdat.so.1" "$tap_dir/dat2/"

# Checks that `ours` loads our libdat2, and `ofed` does not.
the_libraries_are_two()
{
	ours ldd "$(command -v dtest)" | grep -qF "$PWD/.libs/libdat2.so.2" && ! ofed ldd "$(command -v dtest)" | grep -F "$PWD"
}

# Checks that the programs which theirs_in_ours ran had loaded our libdat2 and OFED's provider.
a_mixed_pair_was_one()
{
	local file files=0
	for file in "$tap_dir"/loaded.*; do
		grep -q 'calling init: .*/libdaplofa' "$file" || continue	# this log is that of timeout
		files=$((files + 1))
		grep "calling init: $tap_dir/dat2/libdat2.so.2" "$file" && ! grep "calling init: $PWD.*/libdaplofa" "$file" || return
	done
	[ "$files" -ge 2 ]
}

# Succeeds if some program listens over rdma_cm at the connection qualifier of dtestsrq.
by_service_point() { rdma resource show cm_id | grep -q 'LISTEN.*:45248\b'; }

# dtestcm_passes NAME ADAPTER HOST: one test, which makes 40 connections with dtestcm
dtestcm_passes()
{
	tap "$1" pair 'Connection Test Complete' "dtestcm -P $2 -c 40 -b 10 -s" "dtestcm -P $2 -c 40 -b 10 -h $3"
}

# extensions ADAPTER: our own test of them passes
extensions()
{
	OPENDAT_TEST_IA=$1 timeout -k 5 "$bound" tests/dat20/extension_test
}

dtestx_finds_none()
{
	ours timeout -k 5 "$bound" dtestx -P "$1" -s </dev/null >"$tap_dir/server" 2>&1
	tail -n 20 "$tap_dir/server"
	grep -q 'IB extension not supported' "$tap_dir/server"
}

# over ADAPTER KIND ADDRESS PROGRAM: PROGRAM is dtest or dtestcm, whichever works with OFED's provider as the server over this
# device
over()
{
	local ia=$1 kind=$2 host=$3 program=$4
	dtest_passes "$kind: dtest waits" "$ia" "$host"
	dtest_passes "$kind: dtest polls" "$ia" "$host" -p
	dtest_passes "$kind: dtest uses CNOs" "$ia" "$host" -c
	dtestcm_passes "$kind: dtestcm makes 40 connections" "$ia" "$host"
	tap "$kind: dtestsrq hears of the end of each endpoint of an SRQ" pair 'SRQ Test Complete' \
		"dtestsrq -P $ia -c 8 -B 8 -s" "dtestsrq -P $ia -c 8 -B 8 -h $host" by_service_point
	client=ofed
	dtest_passes "$kind: OFED's dtest is a client of ours" "$ia" "$host"
	client=ours server=ofed
	"${program}_passes" "$kind: OFED's $program is the server of ours" "$ia" "$host"
	server=ours_in_theirs client=ours_in_theirs
	dtest_passes "$kind: our provider works in OFED's libdat2" "$ia" "$host"
	server=ours client=ours
}

tap 'our libdat2 and the one of OFED are two' the_libraries_are_two

over ofa-rxe0 rxe "$LAB_IB" dtest
tap 'rxe: the extensions exchange between two processes' extensions ib-rxe0
dtestx_passes 'rxe: dtestx writes with immediate data, swaps and adds' ofa-rxe0 "$LAB_IB"
dtestx_passes 'rxe: dtestx polls' ofa-rxe0 "$LAB_IB" -p
client=ofed
dtestx_passes "rxe: OFED's dtestx is a client of ours" ofa-rxe0 "$LAB_IB"
client=ours server=ofed
dtestx_passes "rxe: OFED's dtestx is the server of ours" ofa-rxe0 "$LAB_IB"
server=theirs_in_ours client=theirs_in_ours
dtest_passes "rxe: OFED's provider works in our libdat2" ofa-rxe0 "$LAB_IB"
tap "rxe: it was OFED's provider, and our libdat2" a_mixed_pair_was_one
server=ours client=ours
# dtest's server sends a message right after it has accepted. If the message arrives together with the reply, siw's active side
# treats it as an error. OFED's provider does not avoid this: with OFED's own stack on both sides one run of dtest in seven fails.
over ofa-siw0 siw "$LAB_IW" dtestcm
tap 'siw: the extensions are refused at once' extensions iwarp-siw0
tap 'siw: dtestx finds no extension' dtestx_finds_none ofa-siw0
tap_end
