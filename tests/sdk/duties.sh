#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The template with one duty broken at a time (mutant.c): each is refused by one message, with the duty's number and the remedy,
# when the adapter is opened or the first memory is registered, and after that the process can still use the intact template.
# Limits that are only small break no duty.
set -u
. "${top_srcdir:=.}/tests/harness/tap.sh"
unset DAT_DBG_TYPE DAT_DBG_DEST
export DAT_OVERRIDE=$tap_dir/dat.conf

# The name of an adapter, which is that of its mutation (with + if memory is registered too), and a pattern of the message, or - if
# the mutation leads to no message.
table='
as_it_is                       -
as_it_is+                      -
zero_max_eps                   DUTY-15: .*at 0 .*: max_eps; set them in its ia_query
zero_max_dto_per_ep            DUTY-15: .*at 0 .*: max_dto_per_ep; set them
zero_max_rdma_read_per_ep_in   DUTY-15: .*at 0 .*: max_rdma_read_per_ep_in; set them
zero_max_rdma_read_per_ep_out  DUTY-15: .*at 0 .*: max_rdma_read_per_ep_out; set them
zero_max_evds                  DUTY-15: .*at 0 .*: max_evds; set them
zero_max_evd_qlen              DUTY-15: .*at 0 .*: max_evd_qlen; set them
zero_max_iov_per_dto           DUTY-15: .*at 0 .*: max_iov_per_dto; set them
zero_max_lmrs                  DUTY-15: .*at 0 .*: max_lmrs; set them
zero_max_pzs                   DUTY-15: .*at 0 .*: max_pzs; set them
zero_max_iov_per_rdma_read     DUTY-15: .*at 0 .*: max_iov_per_rdma_read; set them
zero_max_iov_per_rdma_write    DUTY-15: .*at 0 .*: max_iov_per_rdma_write; set them
zero_max_lmr_block             DUTY-15: .*at 0 .*: max_lmr_block; set them
zero_max_lmr_address           DUTY-15: .*at 0 .*: max_lmr_address; set them
zero_max_message_size          DUTY-15: .*at 0 .*: max_message_size; set them
zero_max_rdma_size             DUTY-15: .*at 0 .*: max_rdma_size; set them
zero_max_private_data          DUTY-15: .*at 0 .*: max_private_data; set them
zero_optimal_alignment         DUTY-15: .*at 0 .*: optimal_alignment; set them
zero_max_rdma_read_in          -
odd_alignment                  DUTY-15: .*contradict each other: optimal_alignment does not divide .*; correct its ia_query
block_above_address            DUTY-15: .*contradict each other: max_lmr_block is above max_lmr_address; correct
attr_missing                   DUTY-15: .*contradict each other: transport_attr_count is not the length of transport_attr; correct
attr_negative                  DUTY-15: .*contradict each other: provider_attr_count is not the length of provider_attr; correct
rmrs_nowhere                   DUTY-15: .*contradict each other: max_rmrs is above 0 and max_rmr_address is 0; correct
srqs_unsupported               DUTY-15: .*contradict each other: max_srqs is above 0 and srq_supported is false; correct
srq_of_none                    DUTY-15: .*contradict each other: srq_supported is true and max_srqs is 0; correct
no_address                     DUTY-21: .*has set no address .*; set ia->address in its ia_open
any_address                    DUTY-21: .*has set no address .*; set ia->address in its ia_open
no_lmr_context+                DUTY-22: .*left its lmr_context at 0; set both contexts in its lmr_create
no_rmr_context+                DUTY-22: .*left its rmr_context at 0; set both contexts in its lmr_create
rmrs_without_ops               DUTY-23: .*has no ops for: rmr_create, rmr_bind; set them in its struct datp_ops
srq_without_ops                DUTY-23: .*has no ops for: srq_create, srq_post_recv; set them
marks_without_ops              DUTY-23: .*has no ops for: srq_set_lw, ep_set_watermark, srq_query, ep_recv_query; set them
'

names=()
while read -r name _; do
	[ -n "$name" ] || continue
	names+=("$name")
	grep -q "^${name%+} " "$DAT_OVERRIDE" 2>/dev/null ||
		echo "${name%+} u1.2 nonthreadsafe default $PWD/.libs/mutant.so test.1.0 \"\" \"\"" >>"$DAT_OVERRIDE"
done <<<"$table"

visit() { tests/sdk/tour "$1" as_it_is+ >"$tap_dir/out" 2>"$tap_dir/err"; }

opens() { visit "$1" && grep -q -x -F "$1 DAT_SUCCESS" "$tap_dir/out" && [ ! -s "$tap_dir/err" ]; }

# refused NAME MESSAGE: succeeds if the adapter is refused with just this message, and as_it_is+ can be opened after it
refused()
{
	visit "$1"
	cat "$tap_dir/out" "$tap_dir/err"
	grep -q -x -F "$1 DAT_INTERNAL_ERROR" "$tap_dir/out" && grep -q -x -F 'as_it_is+ DAT_SUCCESS' "$tap_dir/out" &&
		[ "$(wc -l <"$tap_dir/err")" -eq 1 ] && grep -q -E "(^|[ :])${1%+}: .*$2" "$tap_dir/err"
}

while read -r name message; do
	[ -n "$name" ] || continue
	if [ "$message" = - ]; then
		tap "sdk: $name works" opens "$name"
	else
		tap "sdk: $name is refused by ${message%%:*}" refused "$name" "$message"
	fi
done <<<"$table"

# The limit on locked memory is not the cause, and the message that datctl check names has it.
check_names_no_other_cause()
{
	./datctl check --ia no_lmr_context >"$tap_dir/out" 2>&1
	./datconform --verbose --only dat_lmr_create --ia no_lmr_context >"$tap_dir/shown" 2>&1
	cat "$tap_dir/out"
	grep -q "datconform --verbose --only dat_lmr_create --ia 'no_lmr_context'" "$tap_dir/out" &&
		! grep -q MEMLOCK "$tap_dir/out" && grep 'DUTY-22: .*left its lmr_context at 0' "$tap_dir/shown"
}
tap 'sdk: datctl check names no other cause of DUTY-22' check_names_no_other_cause

# Tests that need more than the small limits are not applicable, which datconform finds out from the attributes.
small_conforms()
{
	echo "small u1.2 nonthreadsafe default $PWD/.libs/mutant.so test.1.0 \"\" \"\"" >>"$DAT_OVERRIDE"
	./datconform --ia small >"$tap_dir/out" 2>&1
	grep -v '^skip' "$tap_dir/out" | tail -n 30
	tail -n 1 "$tap_dir/out" | grep -q -E '^[0-9]{3} passed, 0 failed, '
}
small='sdk: an honest adapter with small limits conforms'
if [ "${SANITIZE:-no}" = no ]; then
	tap "$small" small_conforms
else
	tap_skip "$small" 'it takes minutes, and other tests run the same code with a sanitizer'
fi
tap_end
