#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The clauses of DAT 2.0 have to fail: each mutant of mutant20.c breaks one rule, and the clause beside it has to turn red. Some are
# for clauses that hold in 1.2 as well; most of these have their mutants in mutants.sh, since their tests have the same source.
set -u
. "${top_srcdir:=.}/tests/conform/judging.sh"

judge()
{
	DAT_SOFT_REALM=$DAT_SOFT_REALM-$1 MUTANT20=$2 LD_PRELOAD=$PWD/.libs/libmutant20.so \
		verdict "$1" ./datconform --api 2.0 --ia soft0 --only "$3"
}

pairs=()
while read -r mutant clause; do
	pairs+=("$mutant $clause")
done <<END
empty_has_class CONSUMER-63
nmore_zero EVD_WAIT-09
event_without_evd GEN-12
peer_is_non_peer CR_REJECT-03
cr_reject_nothing CR_REJECT-02
cookie_cut EP_RECV-22
region_without_pz LMR_QUERY-04
rmr_refused RMR_CREATE-01
refusal_not_implemented GEN-14
version_of_1 D20-01
wait_has_class D20-02
cno_has_class D20-03
sizes_are_limits D20-04
rdma_limited D20-04
sizes_are_limits D20-05
message_limited D20-05
broken_untold D20-06
broken_is_another D20-06
atomic_right D20-07
extension_flag D20-08
outputs_needed D20-09
status_needs_all D20-10
minor_needed D20-11
truncated D20-12
mask_of_its_own D20-12
data_read_only D20-13
reject_without_data D20-14
refused_reject_rejects D20-14
negative_size_taken D20-15
multipath_taken D20-16
operation_unset D20-17
context_unset D20-17
zero_based_taken D20-18
address_type_unchecked D20-19
region_is_zero_based D20-20
handle_unchecked D20-21
unbind_needs_handle D20-22
rmr_of_endpoint D20-23
cno_without_proxy D20-24
slot_is_empty D20-25
prints D20-26
trigger_untold D20-27
texts_of_1 D20-28
event_goes D20-29
named_is_null D20-30
mtu_in_words D20-31
reads_not_promised D20-31
extension_not_told D20-32
unknown_is_done D20-33
query_is_empty D20-34
event_goes D20-35
immediate_swapped D20-40
extension_untyped D20-40
extension_length D20-40
extension_is_ordinary D20-40
extension_unsuppressed D20-41
swap_never D20-42
swap_always D20-42
adds_twice D20-43
atomics_unchecked D20-44
extension_unpromised D20-45
immediate_swapped D20-46
invalidation_untold D20-50
invalidates_never D20-50
invalidates_never D20-51
invalidates_always D20-52
faults_untold D20-53
reads_beside D20-54
reads_less D20-55
counter_stands D20-56
both_connect D20-57
array_is_longer D20-58
array_is_shorter D20-58
reset_ignored D20-59
reset_takes_all D20-59
counter_unchecked D20-60
prints_nothing D20-61
print_keeps D20-61
counters_untold D20-62
evd_of_another_refused D20-63
END
judge_pairs 'mutants of 2.0'

every_clause_has_a_mutant()
{
	cut -f1 "$top_srcdir/conform/clauses20.tsv" | grep '^D20' | sort >"$tap_dir/clauses"
	printf '%s\n' "${pairs[@]}" | cut -d' ' -f2 | grep '^D20' | sort -u | diff - "$tap_dir/clauses"
}
tap 'mutants of 2.0: every clause that only 2.0 has is turned red by one' every_clause_has_a_mutant
tap 'mutants of 2.0: a provider that makes no RMRs is judged by what is not about them' \
	tap_holds '^2 passed, 0 failed' env MUTANT20=rmr_refused LD_PRELOAD="$PWD/.libs/libmutant20.so" \
	./datconform --api 2.0 --ia soft0 --patience 20 --only CNO_FREE-02 --only GEN-09
tap 'mutants of 2.0: without a mutant nothing is red' env LD_PRELOAD="$PWD/.libs/libmutant20.so" \
	./datconform --api 2.0 --ia soft0 --jobs 6 --patience 20 --timeout 90 --only 'D20-*'
tap_end
