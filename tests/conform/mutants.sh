#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The suite has to fail: each mutant breaks one rule, and the clause beside it has to turn red.
set -u
. "${top_srcdir:=.}/tests/conform/judging.sh"

libs=$PWD/.libs
conf=$tap_dir/dat.conf
export DAT_OVERRIDE=$conf
echo "soft0 u1.2 nonthreadsafe default $libs/libdatsoft.so opendat.1.0 \"\" \"\"" >"$conf"
echo "allowing0 u1.2 nonthreadsafe default $libs/libdatsoft.so opendat.1.0 \"allow=mixed_completions\" \"\"" >>"$conf"

# mutant RULE: makes an adapter of that name. It is soft0 with the rule broken, or allowing0 where the rule is about
# what `allow` permits.
mutant()
{
	local beneath=soft0
	[[ $1 != mixed_* ]] || beneath=allowing0
	echo "$1 u1.2 nonthreadsafe default $libs/libmutant.so opendat.1.0 \"$beneath $1\" \"\"" >>"$conf"
}

judge() { DAT_SOFT_REALM=$DAT_SOFT_REALM-$1 verdict "$1" ./datconform --ia "$2" --only "$3"; }

pairs=()
while read -r mutant clause; do
	pairs+=("$mutant $clause")
	grep -q "^$mutant " "$conf" || mutant "$mutant"
done <<END
cno_timed_out CNO_WAIT-02
cno_evd_untouched CNO_WAIT-03
modify_agent_nothing CNO_MODIFY_AGENT-01
cno_free_busy CNO_FREE-03
crash CNO_QUERY-01
hang CNO_QUERY-01
exit CNO_QUERY-01
close_files CNO_QUERY-01
cno_beside_waiter CNO_WAIT-11
cno_beside_waiter EVD_EN-06
empty_is_timeout CONSUMER-62
empty_has_class CONSUMER-63
taken_is_told CONSUMER-65
threshold_ignored EVD_WAIT-10
threshold_unchecked EVD_WAIT-03
nmore_zero EVD_WAIT-09
nmore_timeout EVD_WAIT-08
second_waiter EVD_WAIT-14
abort_is_state EVD_WAIT-18
interrupted_is_timeout EVD_WAIT-19
dequeue_beside_waiter EVD_DEQ-04
set_unwaitable_nothing EVD_SETUNW-04
clear_unwaitable_nothing EVD_CLRUNW-03
disable_nothing EVD_DIS-05
enable_nothing EVD_EN-05
modify_cno_nothing EVD_MODCNO-04
resize_nothing EVD_RESIZE-01
evd_free_busy EVD_FREE-03
evd_short EVD_CREATE-02
post_se_full EVD_SE-05
se_pointer_cut EVD_SE-07
event_without_evd GEN-12
reset_nothing EP_RESET-02
reset_connected EP_RESET-06
disconnect_twice EP_DISC-07
disconnect_unconnected EP_DISC-05
graceful_is_abrupt EP_DISC-16
disconnected_is_broken EP_DISC-08
broken_is_disconnected BROKEN-01
flushed_is_transport EP_RESET-09
flushed_is_success EP_RECV-08
flush_lost EP_DISC-24
peer_is_non_peer CR_REJECT-03
non_peer_is_peer EP_CONNECT-16
timed_out_is_unreachable EP_CONNECT-20
private_data_truncated EP_CONNECT-07
connected_late EP_CONNECT-22
disconnected_late EP_DISC-09
reserved_hidden RSP_CREATE-08
recv_always_idle EP_STATUS-04
ep_without_pz EP_QUERY-08
mask_unchecked EP_QUERY-03
ep_free_reserved EP_FREE-02
private_data_short CR_ACCEPT-13
private_data_padded CR_ACCEPT-14
accept_error_is_disconnected CR_ACCEPT-15
request_data_short CR_QUERY-05
cr_reject_nothing CR_REJECT-02
cr_without_sp PSP_CREATE-09
psp_free_nothing PSP_FREE-03
rsp_free_nothing RSP_FREE-02
cookie_cut EP_RECV-22
length_more EP_RECV-11
length_error_is_success EP_RECV-12
short_flushed EP_RECV-12
reads_unchecked_declared EP_RDMA_READ-09
attributes_unnamed IA_QUERY-16
long_send_is_transport EP_RECV-12
break_lost EP_RECV-12
disconnected_late EP_RECV-12
window_zone_unchecked EP_RDMA_WRITE-10
window_zone_unchecked EP_RDMA_READ-10
srq_place_lost SRQ_CREATE-06
suppress_ignored EP_SEND-14
unsignalled_unchecked EP_SEND-13
unsignalled_unchecked EP_RDMA_READ-19
unsignalled_unchecked EP_RECV-20
unsignalled_unchecked EVD_WAIT-25
refused_accept_rejects CR_ACCEPT-19
pz_free_busy PZ_FREE-03
lmr_free_bound LMR_FREE-03
local_has_key LMR_CREATE-14
registered_less LMR_CREATE-07
none_is_writable LMR_CREATE-11
read_is_writable LMR_CREATE-12
send_needs_write LMR_CREATE-12
write_needs_write LMR_CREATE-12
bind_same_context RMR_BIND-12
srq_free_used SRQ_FREE-03
srq_lw_nothing SRQ_LW-05
srq_counts_posted SRQ_QUERY-05
close_busy IA_CLOSE-02
evd_is_cno HANDLE_TYPE-01
context_nothing CTX_SET-04
close_busy CONSUMER-14
disconnect_twice CONSUMER-35
reset_nothing CONSUMER-34
private_data_padded CONSUMER-31
cr_without_sp CONSUMER-26
modify_cno_nothing CONSUMER-24
psp_free_nothing CONSUMER-28
cr_without_sp CONSUMER-60
mixed_wakes CONSUMER-61
mixed_lost CONSUMER-61
post_needs_established CONSUMER-64
empty_region_is_parameter CONSUMER-47
endpoints_overtake CONSUMER-66
some_unreachable CONSUMER-67
early_send_breaks CONSUMER-68
write_tail_first CONSUMER-52
write_tail_first CONSUMER-53
suppressed_late CONSUMER-54
write_waits_for_look CONSUMER-55
suppressed_late CONSUMER-56
suppressed_late CONSUMER-57
send_done_early CONSUMER-58
END
judge_pairs mutants
echo "# $caught/$total mutants caught"
mutant leave_process
tap 'mutants: a process that a provider leaves behind holds nothing up' ./datconform --ia leave_process --only 'CNO_QUERY-*' \
	--patience 20 --timeout 30

# ended MUTANT GOT: checks that the report about a test whose process crashes or hangs is one line that matches GOT
ended()
{
	./datconform --ia "$1" --only CNO_QUERY-01 --timeout 2 >"$tap_dir/ended" 2>&1
	cat "$tap_dir/ended"
	[ "$(grep -c -E '^    got ' "$tap_dir/ended")" -eq 1 ] && grep -E -x "    got      $2" "$tap_dir/ended" &&
		! grep -E 'a_function_of_the_provider|fa fa|ABORTING' "$tap_dir/ended"
}
summary='SUMMARY: MutantSanitizer: heap-use-after-free file.c:7 in ep_free'
for rule in summary_then_crash summary_then_exit summary_then_hang words_then_crash; do
	mutant $rule
done
tap 'mutants: a crash is told with its signal and the sanitizer summary' ended summary_then_crash "a crash: signal 6 \(Aborted\)[.] $summary"
tap 'mutants: an exit is told with its status and the sanitizer summary' ended summary_then_exit "the process exited with status 66[.] $summary"
tap 'mutants: a hang is told with its bound and the sanitizer summary' ended summary_then_hang "a hang: killed after 2 s[.] $summary"
tap 'mutants: without a summary the last line that is written is told' ended words_then_crash 'a crash: signal 6 \(Aborted\)[.] mutant: assertion failed'
tap 'mutants: of a process that wrote nothing the cause is told alone' ended crash 'a crash: signal 6 \(Aborted\)'
# Other adapters that fail are named, and not held against the one that is judged.
judged_beside()
{
	env "${@:2}" DAT_OVERRIDE="$tap_dir/beside.conf" ./datconform --ia soft0 --only CONSUMER-08 --patience 5 --timeout 40 \
		--json "$tap_dir/beside.json" >"$tap_dir/beside" 2>&1
	cat "$tap_dir/beside" "$tap_dir/beside.json"
	grep -q -x '1 passed, 0 failed, 0 skipped' "$tap_dir/beside" && grep -q -F "left out: $1\"" "$tap_dir/beside.json"
}
for rule in open_hang open_crash open_exit; do
	mutant $rule
done
beside='open_hang does not open in time, open_crash ends the process that opens it, open_exit ends the process that opens it'
untried='is not tried, since no process can be started'
scarce=LD_PRELOAD=$libs/libscarce.so
grep -E '^(soft0|open_[a-z]+) ' "$conf" >"$tap_dir/beside.conf"
tap 'mutants: an adapter is judged beside others that hang, crash or exit' judged_beside "$beside"
tap 'mutants: where two processes can run, the others follow them' judged_beside "$beside" "$scarce" SCARCE_PROCESSES=2
tap 'mutants: where no process can be started, the others are left out' judged_beside \
	"open_hang $untried, open_crash $untried, open_exit $untried" "$scarce" SCARCE_PROCESSES=0
for ((i = 0; i < 20; i++)); do
	sed -n "s/^soft0 /many$i /p" "$conf"
done >>"$tap_dir/beside.conf"
tap 'mutants: not more than 16 of many others run at the same time' judged_beside "$beside" "$scarce" SCARCE_PROCESSES=16 \
	SCARCE_STRICT=1
# A dead line fails at once.
takes_long()
{
	verdict long env "$scarce" SCARCE_TIME=3 ./datconform --ia soft0 --only CONSUMER-09
	red long
}
tap 'mutants: an entry that takes its time to fail is found' takes_long
mutant short_flushed_declared
tap 'mutants: a short receive that is flushed is not applicable where the adapter declares it' \
	tap_holds '^0 passed, 0 failed, 1 skipped$' ./datconform --ia short_flushed_declared --only EP_RECV-12 --patience 20
mutant attributes_unnamed
tap 'mutants: attributes without a name or a value declare and allow nothing' \
	tap_holds '^2 passed, 0 failed, 0 skipped$' ./datconform --ia attributes_unnamed --patience 20 \
	--only EP_RECV-12 --only EP_CREATE-19
mutant mixed_none
tap 'mutants: without a mutant what programs do with shared EVDs and early posts is green' \
	tap_holds '^2 passed, 0 failed, 0 skipped$' ./datconform --ia mixed_none --patience 20 --timeout 90 \
	--only CONSUMER-61 --only CONSUMER-64
mutant none
tap 'mutants: without a mutant nothing is red' ./datconform --ia none --jobs 6 --patience 20 --timeout 90 \
	--only 'CNO_*' --only 'EVD_*' --only 'EP_DISC-*' --only 'CR_*' --only 'CONSUMER-5*' \
	--only CONSUMER-47 --only 'CONSUMER-6[678]' --only 'LMR_CREATE-1[12]'
tap_end
