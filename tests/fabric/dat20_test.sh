#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs Debian's unchanged test programs for DAT 2.0 over rxe and siw: on our libdat2, and between our libdat2 and OFED's. The
# adapters have the same names on both sides. DAT20_WAYS=all runs the programs in all of their ways, as dat20_ways_test does.
# Runs in one guest.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/dat20/pair.sh"
DAT20_WAYS=${DAT20_WAYS-common}

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

# own TEST ADAPTER: a test of ours for programs of 2.0 passes
own()
{
	OPENDAT_TEST_IA=$2 timeout -k 5 "$bound" "tests/dat20/$1"
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
	all_of_dtest "$kind" "$ia" "$host" by_service_point
	dapltest_passes "$kind" "$ia" "$host"
	tap "$kind: dtestx prints the named attributes" dtestx_asks 13 "$ia" "$host"
	client=ofed
	dtest_passes "$kind: OFED's dtest is a client of ours" "$ia" "$host"
	client=ours server=ofed
	"${program}_passes" "$kind: OFED's $program is the server of ours" "$ia" "$host"
	server=ours_in_theirs client=ours_in_theirs
	dtest_passes "$kind: our provider works in OFED's libdat2" "$ia" "$host"
	server=ours client=ours
}

# Six adapters of soft, rxe and siw, three for each API, in one process
all_at_once()
{
	MANY_ADAPTERS='1.2:soft0 2.0:ib-rxe0 1.2:iwarp-siw0 1.2:ib-rxe0 2.0:iwarp-siw0 2.0:soft0' \
		timeout -k 5 "$bound" tests/dat20/many_test
}

. "$top_srcdir/tests/fabric/dat20_wrapped.sh"

tap 'our libdat2 and the one of OFED are two' the_libraries_are_two
tap 'a process exchanges over adapters of both APIs at once' all_at_once

over ofa-rxe0 rxe "$LAB_IB" dtest
tap 'rxe: the extensions exchange between two processes' own extension_test ib-rxe0
tap 'rxe: what programs of 2.0 rely on' own rules_test ib-rxe0
tap 'rxe: CNOs with a descriptor' own cno_test ib-rxe0
tap 'rxe: an EVD of another adapter' own loan_test ib-rxe0
dtestx_passes 'rxe: dtestx writes with immediate data, swaps and adds' ofa-rxe0 "$LAB_IB"
dtestx_passes 'rxe: dtestx polls' ofa-rxe0 "$LAB_IB" -p
client=ofed
dtestx_passes "rxe: OFED's dtestx is a client of ours" ofa-rxe0 "$LAB_IB"
client=ours server=ofed
dtestx_passes "rxe: OFED's dtestx is the server of ours" ofa-rxe0 "$LAB_IB"
wrapped rxe ib-rxe0
wrapped_ofed rxe ofa-rxe0
server=theirs_in_ours client=theirs_in_ours
dtest_passes "rxe: OFED's provider works in our libdat2" ofa-rxe0 "$LAB_IB"
tap "rxe: it was OFED's provider, and our libdat2" a_mixed_pair_was_one
server=ours client=ours
# dtest's server sends a message right after it has accepted. If the message arrives together with the reply, siw's active side
# treats it as an error. OFED's provider does not avoid this: with OFED's own stack on both sides one run of dtest in seven fails.
over ofa-siw0 siw "$LAB_IW" dtestcm
tap 'siw: the extensions are refused at once' own extension_test iwarp-siw0
tap 'siw: what programs of 2.0 rely on' own rules_test iwarp-siw0
tap 'siw: CNOs with a descriptor' own cno_test iwarp-siw0
tap 'siw: an EVD of another adapter' own loan_test iwarp-siw0
wrapped siw iwarp-siw0
wrapped_ofed siw ofa-siw0
tap 'siw: dtestx finds no extension' dtestx_finds_none ofa-siw0
tap_end
