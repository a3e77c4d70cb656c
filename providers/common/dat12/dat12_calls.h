/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of the frozen table, argument by argument: type, name and what it is (enum
 * datp_arg_kind without its prefix). CALL(n, ...) has n arguments. Invariant: the types are those of
 * the slot, or wrap_calls.c does not compile. Five calls are not here: cno_create, cno_modify_agent
 * and lmr_create, because they have arguments that are longer than a word; ia_open and ia_close,
 * because wrappers handle them themselves.
 */
#ifndef DAT12_CALLS_H
#define DAT12_CALLS_H

/* clang-format off */
/* The calls that move data, or wait. */
#define DATA_CALLS \
	CALL(3, cno_wait, DAT_CNO_HANDLE, cno_handle, HANDLE, DAT_TIMEOUT, timeout, TIMEOUT, \
		DAT_EVD_HANDLE *, evd_handle, OUT_HANDLE) \
	CALL(5, evd_wait, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_TIMEOUT, timeout, TIMEOUT, \
		DAT_COUNT, threshold, INT, DAT_EVENT *, event, EVENT, DAT_COUNT *, \
		n_more_events, OUT_INT) \
	CALL(2, evd_dequeue, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_EVENT *, event, EVENT) \
	CALL(5, ep_post_send, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		DAT_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(5, ep_post_recv, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, INT, \
		DAT_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, HEX64, \
		DAT_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(6, ep_post_rdma_read, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, num_segments, \
		INT, DAT_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, \
		HEX64, const DAT_RMR_TRIPLET *, remote_iov, TARGET, \
		DAT_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(6, ep_post_rdma_write, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, \
		num_segments, INT, DAT_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, \
		user_cookie, HEX64, const DAT_RMR_TRIPLET *, remote_iov, TARGET, \
		DAT_COMPLETION_FLAGS, completion_flags, FLAGS) \
	CALL(4, srq_post_recv, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_COUNT, num_segments, \
		INT, DAT_LMR_TRIPLET *, local_iov, IOV, DAT_DTO_COOKIE, user_cookie, \
		HEX64)

/* All other calls, except the five. */
#define CONTROL_CALLS \
	CALL(6, ia_query, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_EVD_HANDLE *, async_evd_handle, OUT_HANDLE, \
		DAT_IA_ATTR_MASK, ia_mask, FLAGS, DAT_IA_ATTR *, ia_attr, POINTER, \
		DAT_PROVIDER_ATTR_MASK, provider_mask, FLAGS, DAT_PROVIDER_ATTR *, \
		provider_attr, POINTER) \
	CALL(2, set_consumer_context, DAT_HANDLE, dat_handle, HANDLE, DAT_CONTEXT, context, \
		HEX64) \
	CALL(2, get_consumer_context, DAT_HANDLE, dat_handle, HANDLE, DAT_CONTEXT *, context, \
		OUT_HEX64) \
	CALL(2, get_handle_type, DAT_HANDLE, dat_handle, HANDLE, DAT_HANDLE_TYPE *, \
		handle_type, OUT_INT) \
	CALL(3, cno_query, DAT_CNO_HANDLE, cno_handle, HANDLE, DAT_CNO_PARAM_MASK, \
		cno_param_mask, FLAGS, DAT_CNO_PARAM *, cno_param, POINTER) \
	CALL(1, cno_free, DAT_CNO_HANDLE, cno_handle, HANDLE) \
	CALL(3, cr_query, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_CR_PARAM_MASK, cr_param_mask, \
		FLAGS, DAT_CR_PARAM *, cr_param, POINTER) \
	CALL(4, cr_accept, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_EP_HANDLE, ep_handle, \
		HANDLE, DAT_COUNT, private_data_size, INT, const DAT_PVOID, \
		private_data, POINTER) \
	CALL(1, cr_reject, DAT_CR_HANDLE, cr_handle, HANDLE) \
	CALL(2, cr_handoff, DAT_CR_HANDLE, cr_handle, HANDLE, DAT_CONN_QUAL, handoff, U64) \
	CALL(5, evd_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_COUNT, evd_min_qlen, INT, \
		DAT_CNO_HANDLE, cno_handle, HANDLE, DAT_EVD_FLAGS, evd_flags, FLAGS, \
		DAT_EVD_HANDLE *, evd_handle, OUT_HANDLE) \
	CALL(3, evd_query, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_EVD_PARAM_MASK, \
		evd_param_mask, FLAGS, DAT_EVD_PARAM *, evd_param, POINTER) \
	CALL(2, evd_modify_cno, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_CNO_HANDLE, \
		cno_handle, HANDLE) \
	CALL(1, evd_enable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(1, evd_disable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(2, evd_resize, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_COUNT, evd_min_qlen, INT) \
	CALL(2, evd_post_se, DAT_EVD_HANDLE, evd_handle, HANDLE, const DAT_EVENT *, event, \
		EVENT_IN) \
	CALL(1, evd_free, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(7, ep_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE, pz_handle, \
		HANDLE, DAT_EVD_HANDLE, recv_completion_evd_handle, HANDLE, \
		DAT_EVD_HANDLE, request_completion_evd_handle, HANDLE, DAT_EVD_HANDLE, \
		connect_evd_handle, HANDLE, const DAT_EP_ATTR *, ep_attributes, POINTER, \
		DAT_EP_HANDLE *, ep_handle, OUT_HANDLE) \
	CALL(3, ep_query, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EP_PARAM_MASK, ep_param_mask, \
		FLAGS, DAT_EP_PARAM *, ep_param, POINTER) \
	CALL(3, ep_modify, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EP_PARAM_MASK, \
		ep_param_mask, FLAGS, const DAT_EP_PARAM *, ep_param, POINTER) \
	CALL(8, ep_connect, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_IA_ADDRESS_PTR, \
		remote_ia_address, ADDRESS, DAT_CONN_QUAL, remote_conn_qual, U64, \
		DAT_TIMEOUT, timeout, TIMEOUT, DAT_COUNT, private_data_size, INT, const \
		DAT_PVOID, private_data, POINTER, DAT_QOS, quality_of_service, FLAGS, \
		DAT_CONNECT_FLAGS, connect_flags, FLAGS) \
	CALL(6, ep_dup_connect, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EP_HANDLE, \
		ep_dup_handle, HANDLE, DAT_TIMEOUT, timeout, TIMEOUT, DAT_COUNT, \
		private_data_size, INT, const DAT_PVOID, private_data, POINTER, DAT_QOS, \
		quality_of_service, FLAGS) \
	CALL(2, ep_disconnect, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_CLOSE_FLAGS, \
		close_flags, FLAGS) \
	CALL(4, ep_get_status, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EP_STATE *, ep_state, \
		OUT_INT, DAT_BOOLEAN *, recv_idle, OUT_INT, DAT_BOOLEAN *, request_idle, \
		OUT_INT) \
	CALL(1, ep_free, DAT_EP_HANDLE, ep_handle, HANDLE) \
	CALL(3, lmr_query, DAT_LMR_HANDLE, lmr_handle, HANDLE, DAT_LMR_PARAM_MASK, \
		lmr_param_mask, FLAGS, DAT_LMR_PARAM *, lmr_param, POINTER) \
	CALL(1, lmr_free, DAT_LMR_HANDLE, lmr_handle, HANDLE) \
	CALL(2, rmr_create, DAT_PZ_HANDLE, pz_handle, HANDLE, DAT_RMR_HANDLE *, rmr_handle, \
		OUT_HANDLE) \
	CALL(3, rmr_query, DAT_RMR_HANDLE, rmr_handle, HANDLE, DAT_RMR_PARAM_MASK, \
		rmr_param_mask, FLAGS, DAT_RMR_PARAM *, rmr_param, POINTER) \
	CALL(7, rmr_bind, DAT_RMR_HANDLE, rmr_handle, HANDLE, const DAT_LMR_TRIPLET *, \
		lmr_triplet, IOV, DAT_MEM_PRIV_FLAGS, mem_priv, FLAGS, DAT_EP_HANDLE, \
		ep_handle, HANDLE, DAT_RMR_COOKIE, user_cookie, HEX64, \
		DAT_COMPLETION_FLAGS, completion_flags, FLAGS, DAT_RMR_CONTEXT *, \
		context, OUT_HEX32) \
	CALL(1, rmr_free, DAT_RMR_HANDLE, rmr_handle, HANDLE) \
	CALL(5, psp_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_CONN_QUAL, conn_qual, U64, \
		DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_PSP_FLAGS, psp_flags, FLAGS, \
		DAT_PSP_HANDLE *, psp_handle, OUT_HANDLE) \
	CALL(3, psp_query, DAT_PSP_HANDLE, psp_handle, HANDLE, DAT_PSP_PARAM_MASK, \
		psp_param_mask, FLAGS, DAT_PSP_PARAM *, psp_param, POINTER) \
	CALL(1, psp_free, DAT_PSP_HANDLE, psp_handle, HANDLE) \
	CALL(5, rsp_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_CONN_QUAL, conn_qual, U64, \
		DAT_EP_HANDLE, ep_handle, HANDLE, DAT_EVD_HANDLE, evd_handle, HANDLE, \
		DAT_RSP_HANDLE *, rsp_handle, OUT_HANDLE) \
	CALL(3, rsp_query, DAT_RSP_HANDLE, rsp_handle, HANDLE, DAT_RSP_PARAM_MASK, \
		rsp_param_mask, FLAGS, DAT_RSP_PARAM *, rsp_param, POINTER) \
	CALL(1, rsp_free, DAT_RSP_HANDLE, rsp_handle, HANDLE) \
	CALL(2, pz_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE *, pz_handle, \
		OUT_HANDLE) \
	CALL(3, pz_query, DAT_PZ_HANDLE, pz_handle, HANDLE, DAT_PZ_PARAM_MASK, pz_param_mask, \
		FLAGS, DAT_PZ_PARAM *, pz_param, POINTER) \
	CALL(1, pz_free, DAT_PZ_HANDLE, pz_handle, HANDLE) \
	CALL(5, psp_create_any, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_CONN_QUAL *, conn_qual, \
		OUT_U64, DAT_EVD_HANDLE, evd_handle, HANDLE, DAT_PSP_FLAGS, psp_flags, \
		FLAGS, DAT_PSP_HANDLE *, psp_handle, OUT_HANDLE) \
	CALL(1, ep_reset, DAT_EP_HANDLE, ep_handle, HANDLE) \
	CALL(1, evd_set_unwaitable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(1, evd_clear_unwaitable, DAT_EVD_HANDLE, evd_handle, HANDLE) \
	CALL(3, lmr_sync_rdma_read, DAT_IA_HANDLE, ia_handle, HANDLE, const DAT_LMR_TRIPLET \
		*, local_segments, IOV, DAT_VLEN, num_segments, U64) \
	CALL(3, lmr_sync_rdma_write, DAT_IA_HANDLE, ia_handle, HANDLE, const DAT_LMR_TRIPLET \
		*, local_segments, IOV, DAT_VLEN, num_segments, U64) \
	CALL(8, ep_create_with_srq, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE, \
		pz_handle, HANDLE, DAT_EVD_HANDLE, recv_evd_handle, HANDLE, \
		DAT_EVD_HANDLE, request_evd_handle, HANDLE, DAT_EVD_HANDLE, \
		connect_evd_handle, HANDLE, DAT_SRQ_HANDLE, srq_handle, HANDLE, const \
		DAT_EP_ATTR *, ep_attributes, POINTER, DAT_EP_HANDLE *, ep_handle, \
		OUT_HANDLE) \
	CALL(3, ep_recv_query, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT *, \
		nbufs_allocated, OUT_INT, DAT_COUNT *, bufs_alloc_span, OUT_INT) \
	CALL(3, ep_set_watermark, DAT_EP_HANDLE, ep_handle, HANDLE, DAT_COUNT, \
		soft_high_watermark, INT, DAT_COUNT, hard_high_watermark, INT) \
	CALL(4, srq_create, DAT_IA_HANDLE, ia_handle, HANDLE, DAT_PZ_HANDLE, pz_handle, \
		HANDLE, DAT_SRQ_ATTR *, srq_attr, POINTER, DAT_SRQ_HANDLE *, srq_handle, \
		OUT_HANDLE) \
	CALL(1, srq_free, DAT_SRQ_HANDLE, srq_handle, HANDLE) \
	CALL(3, srq_query, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_SRQ_PARAM_MASK, \
		srq_param_mask, FLAGS, DAT_SRQ_PARAM *, srq_param, POINTER) \
	CALL(2, srq_resize, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_COUNT, srq_max_recv_dto, \
		INT) \
	CALL(2, srq_set_lw, DAT_SRQ_HANDLE, srq_handle, HANDLE, DAT_COUNT, low_watermark, \
		INT)

#define WRAPPED_CALLS DATA_CALLS CONTROL_CALLS

/*
 * EACHn(MAKE, 0, the n arguments of a call) expands to MAKE() of each of them, with commas between.
 */
#define EACH1(M, i, t, n, k)      M(i, t, n, k)
#define EACH2(M, i, t, n, k, ...) M(i, t, n, k), EACH1(M, i + 1, __VA_ARGS__)
#define EACH3(M, i, t, n, k, ...) M(i, t, n, k), EACH2(M, i + 1, __VA_ARGS__)
#define EACH4(M, i, t, n, k, ...) M(i, t, n, k), EACH3(M, i + 1, __VA_ARGS__)
#define EACH5(M, i, t, n, k, ...) M(i, t, n, k), EACH4(M, i + 1, __VA_ARGS__)
#define EACH6(M, i, t, n, k, ...) M(i, t, n, k), EACH5(M, i + 1, __VA_ARGS__)
#define EACH7(M, i, t, n, k, ...) M(i, t, n, k), EACH6(M, i + 1, __VA_ARGS__)
#define EACH8(M, i, t, n, k, ...) M(i, t, n, k), EACH7(M, i + 1, __VA_ARGS__)
#define PARAM(i, type, name, kind)    type name
/* clang-format on */

#endif
