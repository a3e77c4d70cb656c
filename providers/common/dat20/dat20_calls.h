/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of DAT 2.0, argument by argument, as dat12_calls.h has those of 1.2. Invariant: the types are those of the slot,
 * or wrap_calls20.c does not compile. The five calls that are missing there are missing here, too, and so is
 * dat_extension_op(), whose arguments depend on the operation.
 */
#ifndef DAT20_CALLS_H
#define DAT20_CALLS_H

#include "providers/common/dat12/dat12_calls.h"

/* clang-format off */
#define DAT20_CALLS \
	CALL(3, cno_wait, DAT_CNO_HANDLE, cno_handle, HANDLE, DAT_TIMEOUT, timeout, TIMEOUT, \
		DAT_EVD_HANDLE *, evd_handle, OUT_HANDLE) \
	CALL(5, evd_wait, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_TIMEOUT, timeout, TIMEOUT, \
		DAT_COUNT, threshold, INT, DAT20_EVENT *, event, EVENT, DAT_COUNT *, n_more_events, OUT_INT) \
	CALL(2, evd_dequeue, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT20_EVENT *, event, EVENT) \
	CALL(5, ep_post_send, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT20_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		DAT20_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(5, ep_post_recv, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT20_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		DAT20_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(6, ep_post_rdma_read, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT20_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		const DAT20_RMR_TRIPLET *, remote_iov, TARGET, \
		DAT20_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(6, ep_post_rdma_write, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT20_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		const DAT20_RMR_TRIPLET *, remote_iov, TARGET, \
		DAT20_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(4, srq_post_recv, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT20_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64) \
	CALL(6, ia_query, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_EVD_HANDLE *, async_evd_handle, OUT_HANDLE, \
		DAT20_IA_ATTR_MASK, ia_mask, FLAGS, DAT20_IA_ATTR *, ia_attr, POINTER, \
		DAT20_PROVIDER_ATTR_MASK, provider_mask, FLAGS, \
		DAT20_PROVIDER_ATTR *, provider_attr, POINTER) \
	CALL(2, set_consumer_context, DAT_HANDLE, dat_handle, HANDLE, DAT_CONTEXT, context, HEX64) \
	CALL(2, get_consumer_context, DAT_HANDLE, dat_handle, HANDLE, DAT_CONTEXT *, context, OUT_HEX64) \
	CALL(2, get_handle_type, DAT_HANDLE, dat_handle, HANDLE, DAT20_HANDLE_TYPE *, handle_type, OUT_INT) \
	CALL(3, cno_query, DAT_CNO_HANDLE, cno_handle, HANDLE, DAT20_CNO_PARAM_MASK, cno_param_mask, FLAGS, \
		DAT20_CNO_PARAM *, cno_param, POINTER) \
	CALL(1, cno_free, DAT_CNO_HANDLE, cno_handle, HANDLE) \
	CALL(3, cr_query, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_CR_PARAM_MASK, cr_param_mask, FLAGS, \
		DAT_CR_PARAM *, cr_param, POINTER) \
	CALL(4, cr_accept, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_EP_HANDLE, ep_handle, HANDLE, \
		DAT_COUNT, private_data_size, INT, const DAT_PVOID, private_data, POINTER) \
	CALL(3, cr_reject, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_COUNT, private_data_size, INT, \
		const DAT_PVOID, private_data, POINTER) \
	CALL(2, cr_handoff, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_CONN_QUAL, handoff, U64) \
	CALL(5, evd_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_COUNT, evd_min_qlen, INT, \
		DAT_CNO_HANDLE, cno_handle, HANDLE, DAT20_EVD_FLAGS, evd_flags, FLAGS, \
		DAT_EVD_HANDLE *, evd_handle, OUT_HANDLE) \
	CALL(3, evd_query, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_EVD_PARAM_MASK, evd_param_mask, FLAGS, \
		DAT20_EVD_PARAM *, evd_param, POINTER) \
	CALL(2, evd_modify_cno, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_CNO_HANDLE, cno_handle, HANDLE) \
	CALL(1, evd_enable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(1, evd_disable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(2, evd_resize, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_COUNT, evd_min_qlen, INT) \
	CALL(2, evd_post_se, DAT_EVD_HANDLE, evd_handle, HANDLE, const DAT20_EVENT *, event, EVENT_IN) \
	CALL(1, evd_free, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(7, ep_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE, pz_handle, HANDLE, \
		DAT_EVD_HANDLE, recv_completion_evd_handle, HANDLE, \
		DAT_EVD_HANDLE, request_completion_evd_handle, HANDLE, \
		DAT_EVD_HANDLE, connect_evd_handle, HANDLE, const DAT20_EP_ATTR *, ep_attributes, POINTER, \
		DAT_EP_HANDLE *, ep_handle, OUT_HANDLE) \
	CALL(3, ep_query, DAT_EP_HANDLE, ep_handle, HANDLE, DAT20_EP_PARAM_MASK, ep_param_mask, FLAGS, \
		DAT20_EP_PARAM *, ep_param, POINTER) \
	CALL(3, ep_modify, DAT_EP_HANDLE, ep_handle, HANDLE, DAT20_EP_PARAM_MASK, ep_param_mask, FLAGS, \
		const DAT20_EP_PARAM *, ep_param, POINTER) \
	CALL(8, ep_connect, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_IA_ADDRESS_PTR, remote_ia_address, ADDRESS, \
		DAT_CONN_QUAL, remote_conn_qual, U64, DAT_TIMEOUT, timeout, TIMEOUT, \
		DAT_COUNT, private_data_size, INT, const DAT_PVOID, private_data, POINTER, \
		DAT_QOS, quality_of_service, FLAGS, DAT20_CONNECT_FLAGS, connect_flags, FLAGS) \
	CALL(6, ep_dup_connect, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EP_HANDLE, ep_dup_handle, HANDLE, \
		DAT_TIMEOUT, timeout, TIMEOUT, DAT_COUNT, private_data_size, INT, \
		const DAT_PVOID, private_data, POINTER, DAT_QOS, quality_of_service, FLAGS) \
	CALL(2, ep_disconnect, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_CLOSE_FLAGS, close_flags, FLAGS) \
	CALL(4, ep_get_status, DAT_EP_HANDLE, ep_handle, HANDLE, DAT20_EP_STATE *, ep_state, OUT_INT, \
		DAT_BOOLEAN *, recv_idle, OUT_INT, DAT_BOOLEAN *, request_idle, OUT_INT) \
	CALL(1, ep_free, DAT_EP_HANDLE, ep_handle, HANDLE) \
	CALL(3, lmr_query, DAT_LMR_HANDLE, lmr_handle, HANDLE, DAT20_LMR_PARAM_MASK, lmr_param_mask, FLAGS, \
		DAT20_LMR_PARAM *, lmr_param, POINTER) \
	CALL(1, lmr_free, DAT_LMR_HANDLE, lmr_handle, HANDLE) \
	CALL(2, rmr_create, DAT_PZ_HANDLE, pz_handle, HANDLE, DAT_RMR_HANDLE *, rmr_handle, OUT_HANDLE) \
	CALL(3, rmr_query, DAT_RMR_HANDLE, rmr_handle, HANDLE, DAT20_RMR_PARAM_MASK, rmr_param_mask, FLAGS, \
		DAT20_RMR_PARAM *, rmr_param, POINTER) \
	CALL(9, rmr_bind, DAT_RMR_HANDLE, rmr_handle, HANDLE, DAT_LMR_HANDLE, lmr_handle, HANDLE, \
		const DAT20_LMR_TRIPLET *, lmr_triplet, IOV, DAT20_MEM_PRIV_FLAGS, mem_priv, FLAGS, \
		DAT20_VA_TYPE, va_type, FLAGS, DAT_EP_HANDLE, ep_handle, HANDLE, \
		DAT_RMR_COOKIE, user_cookie, HEX64, DAT20_COMPLETION_FLAGS, completion_flags, FLAGS, \
		DAT_RMR_CONTEXT *, context, OUT_HEX32) \
	CALL(1, rmr_free, DAT_RMR_HANDLE, rmr_handle, HANDLE) \
	CALL(5, psp_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_CONN_QUAL, conn_qual, U64, \
		DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_PSP_FLAGS, psp_flags, FLAGS, \
		DAT_PSP_HANDLE *, psp_handle, OUT_HANDLE) \
	CALL(3, psp_query, DAT_PSP_HANDLE, psp_handle, HANDLE, DAT_PSP_PARAM_MASK, psp_param_mask, FLAGS, \
		DAT_PSP_PARAM *, psp_param, POINTER) \
	CALL(1, psp_free, DAT_PSP_HANDLE, psp_handle, HANDLE) \
	CALL(5, rsp_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_CONN_QUAL, conn_qual, U64, \
		DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EVD_HANDLE, evd_handle, HANDLE, \
		DAT_RSP_HANDLE *, rsp_handle, OUT_HANDLE) \
	CALL(3, rsp_query, DAT_RSP_HANDLE, rsp_handle, HANDLE, DAT_RSP_PARAM_MASK, rsp_param_mask, FLAGS, \
		DAT_RSP_PARAM *, rsp_param, POINTER) \
	CALL(1, rsp_free, DAT_RSP_HANDLE, rsp_handle, HANDLE) \
	CALL(2, pz_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE *, pz_handle, OUT_HANDLE) \
	CALL(3, pz_query, DAT_PZ_HANDLE, pz_handle, HANDLE, DAT_PZ_PARAM_MASK, pz_param_mask, FLAGS, \
		DAT_PZ_PARAM *, pz_param, POINTER) \
	CALL(1, pz_free, DAT_PZ_HANDLE, pz_handle, HANDLE) \
	CALL(5, psp_create_any, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_CONN_QUAL *, conn_qual, OUT_U64, \
		DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_PSP_FLAGS, psp_flags, FLAGS, \
		DAT_PSP_HANDLE *, psp_handle, OUT_HANDLE) \
	CALL(1, ep_reset, DAT_EP_HANDLE, ep_handle, HANDLE) \
	CALL(1, evd_set_unwaitable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(1, evd_clear_unwaitable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(3, lmr_sync_rdma_read, DAT_IA_HANDLE, ia_handle, HANDLE, \
		const DAT20_LMR_TRIPLET *, local_segments, IOV, DAT_VLEN, num_segments, U64) \
	CALL(3, lmr_sync_rdma_write, DAT_IA_HANDLE, ia_handle, HANDLE, \
		const DAT20_LMR_TRIPLET *, local_segments, IOV, DAT_VLEN, num_segments, U64) \
	CALL(8, ep_create_with_srq, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE, pz_handle, HANDLE, \
		DAT_EVD_HANDLE, recv_evd_handle, HANDLE, DAT_EVD_HANDLE, request_evd_handle, HANDLE, \
		DAT_EVD_HANDLE, connect_evd_handle, HANDLE, DAT_SRQ_HANDLE, srq_handle, HANDLE, \
		const DAT20_EP_ATTR *, ep_attributes, POINTER, DAT_EP_HANDLE *, ep_handle, OUT_HANDLE) \
	CALL(3, ep_recv_query, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT *, nbufs_allocated, OUT_INT, \
		DAT_COUNT *, bufs_alloc_span, OUT_INT) \
	CALL(3, ep_set_watermark, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, soft_high_watermark, INT, \
		DAT_COUNT, hard_high_watermark, INT) \
	CALL(4, srq_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE, pz_handle, HANDLE, \
		DAT_SRQ_ATTR *, srq_attr, POINTER, DAT_SRQ_HANDLE *, srq_handle, OUT_HANDLE) \
	CALL(1, srq_free, DAT_SRQ_HANDLE, srq_handle, HANDLE) \
	CALL(3, srq_query, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_SRQ_PARAM_MASK, srq_param_mask, FLAGS, \
		DAT20_SRQ_PARAM *, srq_param, POINTER) \
	CALL(2, srq_resize, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_COUNT, srq_max_recv_dto, INT) \
	CALL(2, srq_set_lw, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_COUNT, low_watermark, INT) \
	CALL(5, csp_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT20_COMM *, comm, POINTER, \
		DAT_IA_ADDRESS_PTR, address, ADDRESS, DAT_EVD_HANDLE, evd_handle, HANDLE, \
		DAT20_CSP_HANDLE *, csp_handle, OUT_HANDLE) \
	CALL(3, csp_query, DAT20_CSP_HANDLE, csp_handle, HANDLE, DAT20_CSP_PARAM_MASK, csp_param_mask, FLAGS, \
		DAT20_CSP_PARAM *, csp_param, POINTER) \
	CALL(1, csp_free, DAT20_CSP_HANDLE, csp_handle, HANDLE) \
	CALL(5, ep_common_connect, DAT_EP_HANDLE, ep_handle, HANDLE, \
		DAT_IA_ADDRESS_PTR, remote_ia_address, ADDRESS, DAT_TIMEOUT, timeout, TIMEOUT, \
		DAT_COUNT, private_data_size, INT, const DAT_PVOID, private_data, POINTER) \
	CALL(2, rmr_create_for_ep, DAT_PZ_HANDLE, pz_handle, HANDLE, \
		DAT_RMR_HANDLE *, rmr_handle, OUT_HANDLE) \
	CALL(7, ep_post_send_with_invalidate, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT20_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		DAT20_COMPLETION_FLAGS, completion_flags, FLAGS, DAT_BOOLEAN, invalidate_flag, INT, \
		DAT_RMR_CONTEXT, rmr_context, FLAGS) \
	CALL(5, ep_post_rdma_read_to_rmr, DAT_EP_HANDLE, ep_handle, HANDLE, \
		const DAT20_RMR_TRIPLET *, local_iov, TARGET, DAT_DTO_COOKIE, user_cookie, HEX64, \
		const DAT20_RMR_TRIPLET *, remote_iov, TARGET, \
		DAT20_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(3, cno_fd_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT20_FD *, file_descriptor, OUT_INT, \
		DAT_CNO_HANDLE *, cno_handle, OUT_HANDLE) \
	CALL(2, cno_trigger, DAT_CNO_HANDLE, cno_handle, HANDLE, DAT_EVD_HANDLE *, evd_handle, OUT_HANDLE) \
	CALL(3, ia_ha_related, DAT_IA_HANDLE, ia_handle, HANDLE, const DAT_NAME_PTR, provider_name, STRING, \
		DAT_BOOLEAN *, answer, OUT_INT)

#define EACH9(M, i, t, n, k, ...) M(i, t, n, k), EACH8(M, i + 1, __VA_ARGS__)
/* clang-format on */

#endif
