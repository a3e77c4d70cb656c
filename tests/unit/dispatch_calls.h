/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each call of the API once, with arguments that can be distinguished: in which slot of the vtable
 * it has to arrive, and with which words. Slots are the numbers of the binary contract.
 */
#define P(i)	((void *)(uintptr_t)(0x10000 * (i) + 8))
#define N(i)	(1000 + (i))
#define V(i)	(0xc0ffee0000000000 + (i))
#define U(i)	((DAT_CONTEXT){ .as_64 = V(i) })

static DAT_RETURN call_ia_query(DAT_HANDLE h)
{
	return dat_ia_query(h, P(1), N(2), P(3), N(4), P(5));
}

static DAT_RETURN call_set_consumer_context(DAT_HANDLE h)
{
	return dat_set_consumer_context(h, U(1));
}

static DAT_RETURN call_get_consumer_context(DAT_HANDLE h)
{
	return dat_get_consumer_context(h, P(1));
}

static DAT_RETURN call_get_handle_type(DAT_HANDLE h)
{
	return dat_get_handle_type(h, P(1));
}

static DAT_RETURN call_cr_query(DAT_HANDLE h)
{
	return dat_cr_query(h, (DAT_CR_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_cr_accept(DAT_HANDLE h)
{
	return dat_cr_accept(h, P(1), N(2), P(3));
}

static DAT_RETURN call_cr_reject(DAT_HANDLE h)
{
	return dat_cr_reject(h);
}

static DAT_RETURN call_cr_handoff(DAT_HANDLE h)
{
	return dat_cr_handoff(h, N(1));
}

static DAT_RETURN call_evd_resize(DAT_HANDLE h)
{
	return dat_evd_resize(h, N(1));
}

static DAT_RETURN call_evd_post_se(DAT_HANDLE h)
{
	return dat_evd_post_se(h, P(1));
}

static DAT_RETURN call_evd_dequeue(DAT_HANDLE h)
{
	return dat_evd_dequeue(h, P(1));
}

static DAT_RETURN call_evd_query(DAT_HANDLE h)
{
	return dat_evd_query(h, (DAT_EVD_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_evd_free(DAT_HANDLE h)
{
	return dat_evd_free(h);
}

static DAT_RETURN call_ep_create(DAT_HANDLE h)
{
	return dat_ep_create(h, P(1), P(2), P(3), P(4), P(5), P(6));
}

static DAT_RETURN call_ep_query(DAT_HANDLE h)
{
	return dat_ep_query(h, N(1), P(2));
}

static DAT_RETURN call_ep_modify(DAT_HANDLE h)
{
	return dat_ep_modify(h, N(1), P(2));
}

static DAT_RETURN call_ep_connect(DAT_HANDLE h)
{
	return dat_ep_connect(h, P(1), N(2), N(3), N(4), P(5), (DAT_QOS)N(6),
		(DAT_CONNECT_FLAGS)N(7));
}

static DAT_RETURN call_ep_dup_connect(DAT_HANDLE h)
{
	return dat_ep_dup_connect(h, P(1), N(2), N(3), P(4), (DAT_QOS)N(5));
}

static DAT_RETURN call_ep_disconnect(DAT_HANDLE h)
{
	return dat_ep_disconnect(h, (DAT_CLOSE_FLAGS)N(1));
}

static DAT_RETURN call_ep_post_send(DAT_HANDLE h)
{
	return dat_ep_post_send(h, N(1), P(2), U(3), (DAT_COMPLETION_FLAGS)N(4));
}

static DAT_RETURN call_ep_post_recv(DAT_HANDLE h)
{
	return dat_ep_post_recv(h, N(1), P(2), U(3), (DAT_COMPLETION_FLAGS)N(4));
}

static DAT_RETURN call_ep_post_rdma_read(DAT_HANDLE h)
{
	return dat_ep_post_rdma_read(h, N(1), P(2), U(3), P(4), (DAT_COMPLETION_FLAGS)N(5));
}

static DAT_RETURN call_ep_post_rdma_write(DAT_HANDLE h)
{
	return dat_ep_post_rdma_write(h, N(1), P(2), U(3), P(4), (DAT_COMPLETION_FLAGS)N(5));
}

static DAT_RETURN call_ep_get_status(DAT_HANDLE h)
{
	return dat_ep_get_status(h, P(1), P(2), P(3));
}

static DAT_RETURN call_ep_free(DAT_HANDLE h)
{
	return dat_ep_free(h);
}

static DAT_RETURN call_ep_reset(DAT_HANDLE h)
{
	return dat_ep_reset(h);
}

static DAT_RETURN call_ep_create_with_srq(DAT_HANDLE h)
{
	return dat_ep_create_with_srq(h, P(1), P(2), P(3), P(4), P(5), P(6), P(7));
}

static DAT_RETURN call_ep_recv_query(DAT_HANDLE h)
{
	return dat_ep_recv_query(h, P(1), P(2));
}

static DAT_RETURN call_ep_set_watermark(DAT_HANDLE h)
{
	return dat_ep_set_watermark(h, N(1), N(2));
}

static DAT_RETURN call_lmr_query(DAT_HANDLE h)
{
	return dat_lmr_query(h, (DAT_LMR_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_lmr_free(DAT_HANDLE h)
{
	return dat_lmr_free(h);
}

static DAT_RETURN call_lmr_sync_rdma_read(DAT_HANDLE h)
{
	return dat_lmr_sync_rdma_read(h, P(1), N(2));
}

static DAT_RETURN call_lmr_sync_rdma_write(DAT_HANDLE h)
{
	return dat_lmr_sync_rdma_write(h, P(1), N(2));
}

static DAT_RETURN call_rmr_create(DAT_HANDLE h)
{
	return dat_rmr_create(h, P(1));
}

static DAT_RETURN call_rmr_query(DAT_HANDLE h)
{
	return dat_rmr_query(h, (DAT_RMR_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_rmr_bind(DAT_HANDLE h)
{
	return dat_rmr_bind(h, P(1), (DAT_MEM_PRIV_FLAGS)N(2), P(3), U(4),
		(DAT_COMPLETION_FLAGS)N(5), P(6));
}

static DAT_RETURN call_rmr_free(DAT_HANDLE h)
{
	return dat_rmr_free(h);
}

static DAT_RETURN call_psp_create(DAT_HANDLE h)
{
	return dat_psp_create(h, N(1), P(2), (DAT_PSP_FLAGS)N(3), P(4));
}

static DAT_RETURN call_psp_create_any(DAT_HANDLE h)
{
	return dat_psp_create_any(h, P(1), P(2), (DAT_PSP_FLAGS)N(3), P(4));
}

static DAT_RETURN call_psp_query(DAT_HANDLE h)
{
	return dat_psp_query(h, (DAT_PSP_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_psp_free(DAT_HANDLE h)
{
	return dat_psp_free(h);
}

static DAT_RETURN call_rsp_create(DAT_HANDLE h)
{
	return dat_rsp_create(h, N(1), P(2), P(3), P(4));
}

static DAT_RETURN call_rsp_query(DAT_HANDLE h)
{
	return dat_rsp_query(h, (DAT_RSP_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_rsp_free(DAT_HANDLE h)
{
	return dat_rsp_free(h);
}

static DAT_RETURN call_pz_create(DAT_HANDLE h)
{
	return dat_pz_create(h, P(1));
}

static DAT_RETURN call_pz_query(DAT_HANDLE h)
{
	return dat_pz_query(h, (DAT_PZ_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_pz_free(DAT_HANDLE h)
{
	return dat_pz_free(h);
}

static DAT_RETURN call_srq_create(DAT_HANDLE h)
{
	return dat_srq_create(h, P(1), P(2), P(3));
}

static DAT_RETURN call_srq_free(DAT_HANDLE h)
{
	return dat_srq_free(h);
}

static DAT_RETURN call_srq_post_recv(DAT_HANDLE h)
{
	return dat_srq_post_recv(h, N(1), P(2), U(3));
}

static DAT_RETURN call_srq_query(DAT_HANDLE h)
{
	return dat_srq_query(h, (DAT_SRQ_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_srq_resize(DAT_HANDLE h)
{
	return dat_srq_resize(h, N(1));
}

static DAT_RETURN call_srq_set_lw(DAT_HANDLE h)
{
	return dat_srq_set_lw(h, N(1));
}

static DAT_RETURN call_lmr_create(DAT_HANDLE h)
{
	return dat_lmr_create(h, (DAT_MEM_TYPE)N(1),
		(DAT_REGION_DESCRIPTION){ .for_shared_memory = { P(2), P(99) } }, N(3), P(4),
		(DAT_MEM_PRIV_FLAGS)N(5), P(6), P(7), P(8), P(9), P(10));
}

static DAT_RETURN call_evd_create(DAT_HANDLE h)
{
	return dat_evd_create(h, N(1), P(2), (DAT_EVD_FLAGS)N(3), P(4));
}

static DAT_RETURN call_evd_modify_cno(DAT_HANDLE h)
{
	return dat_evd_modify_cno(h, P(1));
}

static DAT_RETURN call_cno_create(DAT_HANDLE h)
{
	return dat_cno_create(h, (DAT_OS_WAIT_PROXY_AGENT){ P(1), (DAT_AGENT_FUNC)P(99) }, P(2));
}

static DAT_RETURN call_cno_modify_agent(DAT_HANDLE h)
{
	return dat_cno_modify_agent(h, (DAT_OS_WAIT_PROXY_AGENT){ P(1), (DAT_AGENT_FUNC)P(99) });
}

static DAT_RETURN call_cno_query(DAT_HANDLE h)
{
	return dat_cno_query(h, (DAT_CNO_PARAM_MASK)N(1), P(2));
}

static DAT_RETURN call_cno_free(DAT_HANDLE h)
{
	return dat_cno_free(h);
}

static DAT_RETURN call_cno_wait(DAT_HANDLE h)
{
	return dat_cno_wait(h, N(1), P(2));
}

static DAT_RETURN call_evd_enable(DAT_HANDLE h)
{
	return dat_evd_enable(h);
}

static DAT_RETURN call_evd_wait(DAT_HANDLE h)
{
	return dat_evd_wait(h, N(1), N(2), P(3), P(4));
}

static DAT_RETURN call_evd_disable(DAT_HANDLE h)
{
	return dat_evd_disable(h);
}

static DAT_RETURN call_evd_set_unwaitable(DAT_HANDLE h)
{
	return dat_evd_set_unwaitable(h);
}

static DAT_RETURN call_evd_clear_unwaitable(DAT_HANDLE h)
{
	return dat_evd_clear_unwaitable(h);
}

static const struct call {
	DAT_RETURN (*call)(DAT_HANDLE h);
	const char *name;
	int slot;
	DAT_RETURN subtype;		/* for an invalid handle */
	unsigned int nwords;		/* after the handle */
	uint64_t words[MOCK_WORDS];
} calls[] = {
	{ call_ia_query,
	  "dat_ia_query",
	  3,
	  DAT_INVALID_HANDLE_IA,
	  5,
	  { (uintptr_t)P(1), N(2), (uintptr_t)P(3), N(4), (uintptr_t)P(5) } },
	{ call_set_consumer_context,
	  "dat_set_consumer_context",
	  5,
	  DAT_INVALID_HANDLE1,
	  1,
	  { V(1) } },
	{ call_get_consumer_context,
	  "dat_get_consumer_context",
	  6,
	  DAT_INVALID_HANDLE1,
	  1,
	  { (uintptr_t)P(1) } },
	{ call_get_handle_type,
	  "dat_get_handle_type",
	  7,
	  DAT_INVALID_HANDLE1,
	  1,
	  { (uintptr_t)P(1) } },
	{ call_cr_query, "dat_cr_query", 13, DAT_INVALID_HANDLE_CR, 2, { N(1), (uintptr_t)P(2) } },
	{ call_cr_accept,
	  "dat_cr_accept",
	  14,
	  DAT_INVALID_HANDLE_CR,
	  3,
	  { (uintptr_t)P(1), N(2), (uintptr_t)P(3) } },
	{ call_cr_reject, "dat_cr_reject", 15, DAT_INVALID_HANDLE_CR, 0, { 0 } },
	{ call_cr_handoff, "dat_cr_handoff", 16, DAT_INVALID_HANDLE_CR, 1, { N(1) } },
	{ call_evd_resize, "dat_evd_resize", 23, DAT_INVALID_HANDLE_EVD_REQUEST, 1, { N(1) } },
	{ call_evd_post_se,
	  "dat_evd_post_se",
	  24,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  1,
	  { (uintptr_t)P(1) } },
	{ call_evd_dequeue,
	  "dat_evd_dequeue",
	  25,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  1,
	  { (uintptr_t)P(1) } },
	{ call_evd_query,
	  "dat_evd_query",
	  18,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_evd_free, "dat_evd_free", 26, DAT_INVALID_HANDLE_EVD_REQUEST, 0, { 0 } },
	{ call_ep_create,
	  "dat_ep_create",
	  27,
	  DAT_INVALID_HANDLE_IA,
	  6,
	  { (uintptr_t)P(1), (uintptr_t)P(2), (uintptr_t)P(3), (uintptr_t)P(4), (uintptr_t)P(5),
	    (uintptr_t)P(6) } },
	{ call_ep_query, "dat_ep_query", 28, DAT_INVALID_HANDLE_EP, 2, { N(1), (uintptr_t)P(2) } },
	{ call_ep_modify,
	  "dat_ep_modify",
	  29,
	  DAT_INVALID_HANDLE_EP,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_ep_connect,
	  "dat_ep_connect",
	  30,
	  DAT_INVALID_HANDLE_EP,
	  7,
	  { (uintptr_t)P(1), N(2), N(3), N(4), (uintptr_t)P(5), N(6), N(7) } },
	{ call_ep_dup_connect,
	  "dat_ep_dup_connect",
	  31,
	  DAT_INVALID_HANDLE_EP,
	  5,
	  { (uintptr_t)P(1), N(2), N(3), (uintptr_t)P(4), N(5) } },
	{ call_ep_disconnect, "dat_ep_disconnect", 32, DAT_INVALID_HANDLE_EP, 1, { N(1) } },
	{ call_ep_post_send,
	  "dat_ep_post_send",
	  33,
	  DAT_INVALID_HANDLE_EP,
	  4,
	  { N(1), (uintptr_t)P(2), V(3), N(4) } },
	{ call_ep_post_recv,
	  "dat_ep_post_recv",
	  34,
	  DAT_INVALID_HANDLE_EP,
	  4,
	  { N(1), (uintptr_t)P(2), V(3), N(4) } },
	{ call_ep_post_rdma_read,
	  "dat_ep_post_rdma_read",
	  35,
	  DAT_INVALID_HANDLE_EP,
	  5,
	  { N(1), (uintptr_t)P(2), V(3), (uintptr_t)P(4), N(5) } },
	{ call_ep_post_rdma_write,
	  "dat_ep_post_rdma_write",
	  36,
	  DAT_INVALID_HANDLE_EP,
	  5,
	  { N(1), (uintptr_t)P(2), V(3), (uintptr_t)P(4), N(5) } },
	{ call_ep_get_status,
	  "dat_ep_get_status",
	  37,
	  DAT_INVALID_HANDLE_EP,
	  3,
	  { (uintptr_t)P(1), (uintptr_t)P(2), (uintptr_t)P(3) } },
	{ call_ep_free, "dat_ep_free", 38, DAT_INVALID_HANDLE_EP, 0, { 0 } },
	{ call_ep_reset, "dat_ep_reset", 56, DAT_INVALID_HANDLE_EP, 0, { 0 } },
	{ call_ep_create_with_srq,
	  "dat_ep_create_with_srq",
	  61,
	  DAT_INVALID_HANDLE_IA,
	  7,
	  { (uintptr_t)P(1), (uintptr_t)P(2), (uintptr_t)P(3), (uintptr_t)P(4), (uintptr_t)P(5),
	    (uintptr_t)P(6), (uintptr_t)P(7) } },
	{ call_ep_recv_query,
	  "dat_ep_recv_query",
	  62,
	  DAT_INVALID_HANDLE_EP,
	  2,
	  { (uintptr_t)P(1), (uintptr_t)P(2) } },
	{ call_ep_set_watermark,
	  "dat_ep_set_watermark",
	  63,
	  DAT_INVALID_HANDLE_EP,
	  2,
	  { N(1), N(2) } },
	{ call_lmr_query,
	  "dat_lmr_query",
	  40,
	  DAT_INVALID_HANDLE_LMR,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_lmr_free, "dat_lmr_free", 41, DAT_INVALID_HANDLE_LMR, 0, { 0 } },
	{ call_lmr_sync_rdma_read,
	  "dat_lmr_sync_rdma_read",
	  59,
	  DAT_INVALID_HANDLE_IA,
	  2,
	  { (uintptr_t)P(1), N(2) } },
	{ call_lmr_sync_rdma_write,
	  "dat_lmr_sync_rdma_write",
	  60,
	  DAT_INVALID_HANDLE_IA,
	  2,
	  { (uintptr_t)P(1), N(2) } },
	{ call_rmr_create, "dat_rmr_create", 42, DAT_INVALID_HANDLE_PZ, 1, { (uintptr_t)P(1) } },
	{ call_rmr_query,
	  "dat_rmr_query",
	  43,
	  DAT_INVALID_HANDLE_RMR,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_rmr_bind,
	  "dat_rmr_bind",
	  44,
	  DAT_INVALID_HANDLE_RMR,
	  6,
	  { (uintptr_t)P(1), N(2), (uintptr_t)P(3), V(4), N(5), (uintptr_t)P(6) } },
	{ call_rmr_free, "dat_rmr_free", 45, DAT_INVALID_HANDLE_RMR, 0, { 0 } },
	{ call_psp_create,
	  "dat_psp_create",
	  46,
	  DAT_INVALID_HANDLE_IA,
	  4,
	  { N(1), (uintptr_t)P(2), N(3), (uintptr_t)P(4) } },
	{ call_psp_create_any,
	  "dat_psp_create_any",
	  55,
	  DAT_INVALID_HANDLE_IA,
	  4,
	  { (uintptr_t)P(1), (uintptr_t)P(2), N(3), (uintptr_t)P(4) } },
	{ call_psp_query,
	  "dat_psp_query",
	  47,
	  DAT_INVALID_HANDLE_PSP,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_psp_free, "dat_psp_free", 48, DAT_INVALID_HANDLE_PSP, 0, { 0 } },
	{ call_rsp_create,
	  "dat_rsp_create",
	  49,
	  DAT_INVALID_HANDLE_IA,
	  4,
	  { N(1), (uintptr_t)P(2), (uintptr_t)P(3), (uintptr_t)P(4) } },
	{ call_rsp_query,
	  "dat_rsp_query",
	  50,
	  DAT_INVALID_HANDLE_RSP,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_rsp_free, "dat_rsp_free", 51, DAT_INVALID_HANDLE_RSP, 0, { 0 } },
	{ call_pz_create, "dat_pz_create", 52, DAT_INVALID_HANDLE_IA, 1, { (uintptr_t)P(1) } },
	{ call_pz_query, "dat_pz_query", 53, DAT_INVALID_HANDLE_PZ, 2, { N(1), (uintptr_t)P(2) } },
	{ call_pz_free, "dat_pz_free", 54, DAT_INVALID_HANDLE_PZ, 0, { 0 } },
	{ call_srq_create,
	  "dat_srq_create",
	  64,
	  DAT_INVALID_HANDLE_IA,
	  3,
	  { (uintptr_t)P(1), (uintptr_t)P(2), (uintptr_t)P(3) } },
	{ call_srq_free, "dat_srq_free", 65, DAT_INVALID_HANDLE_SRQ, 0, { 0 } },
	{ call_srq_post_recv,
	  "dat_srq_post_recv",
	  66,
	  DAT_INVALID_HANDLE_SRQ,
	  3,
	  { N(1), (uintptr_t)P(2), V(3) } },
	{ call_srq_query,
	  "dat_srq_query",
	  67,
	  DAT_INVALID_HANDLE_SRQ,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_srq_resize, "dat_srq_resize", 68, DAT_INVALID_HANDLE_SRQ, 1, { N(1) } },
	{ call_srq_set_lw, "dat_srq_set_lw", 69, DAT_INVALID_HANDLE_SRQ, 1, { N(1) } },
	{ call_lmr_create,
	  "dat_lmr_create",
	  39,
	  DAT_INVALID_HANDLE_IA,
	  11,
	  { N(1), (uintptr_t)P(2), (uintptr_t)P(99), N(3), (uintptr_t)P(4), N(5), (uintptr_t)P(6),
	    (uintptr_t)P(7), (uintptr_t)P(8), (uintptr_t)P(9), (uintptr_t)P(10) } },
	{ call_evd_create,
	  "dat_evd_create",
	  17,
	  DAT_INVALID_HANDLE_IA,
	  4,
	  { N(1), (uintptr_t)P(2), N(3), (uintptr_t)P(4) } },
	{ call_evd_modify_cno,
	  "dat_evd_modify_cno",
	  19,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  1,
	  { (uintptr_t)P(1) } },
	{ call_cno_create,
	  "dat_cno_create",
	  8,
	  DAT_INVALID_HANDLE_IA,
	  3,
	  { (uintptr_t)P(1), (uintptr_t)P(99), (uintptr_t)P(2) } },
	{ call_cno_modify_agent,
	  "dat_cno_modify_agent",
	  9,
	  DAT_INVALID_HANDLE_CNO,
	  2,
	  { (uintptr_t)P(1), (uintptr_t)P(99) } },
	{ call_cno_query,
	  "dat_cno_query",
	  10,
	  DAT_INVALID_HANDLE_CNO,
	  2,
	  { N(1), (uintptr_t)P(2) } },
	{ call_cno_free, "dat_cno_free", 11, DAT_INVALID_HANDLE_CNO, 0, { 0 } },
	{ call_cno_wait, "dat_cno_wait", 12, DAT_INVALID_HANDLE_CNO, 2, { N(1), (uintptr_t)P(2) } },
	{ call_evd_enable, "dat_evd_enable", 20, DAT_INVALID_HANDLE_EVD_REQUEST, 0, { 0 } },
	{ call_evd_wait,
	  "dat_evd_wait",
	  22,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  4,
	  { N(1), N(2), (uintptr_t)P(3), (uintptr_t)P(4) } },
	{ call_evd_disable, "dat_evd_disable", 21, DAT_INVALID_HANDLE_EVD_REQUEST, 0, { 0 } },
	{ call_evd_set_unwaitable,
	  "dat_evd_set_unwaitable",
	  57,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  0,
	  { 0 } },
	{ call_evd_clear_unwaitable,
	  "dat_evd_clear_unwaitable",
	  58,
	  DAT_INVALID_HANDLE_EVD_REQUEST,
	  0,
	  { 0 } },
};
