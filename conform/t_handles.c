/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Invalid handles, query masks, consumer contexts.
 *
 * Most of this file is a table: a clause, the kind of object that the call takes, and the call with
 * `h` in the place of the handle. All other arguments of the call are valid, so that it can be
 * refused only for the handle.
 */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum kind { IA, EVD, CNO, EP, PZ, LMR, RMR, PSP, RSP, CR, SRQ, KINDS };

/* One live object of each kind, and OUT parameters. */
static struct {
	DAT_HANDLE live[KINDS], freed[KINDS];
	DAT_EVD_HANDLE cr_evd, conn_evd;
	DAT_CONN_QUAL qual, unused_qual;
	struct kit_end end;
	struct kit_buf buf;
	DAT_EVENT event;
	DAT_COUNT count, count2;
	DAT_HANDLE out;
	DAT_BOOLEAN idle, idle2;
	DAT_EP_STATE state;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN size;
	DAT_VADDR address;
	DAT_EP_ATTR attr;
	DAT_SRQ_ATTR srq_attr;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET target;
	union {
		DAT_EP_PARAM ep;
		DAT_EVD_PARAM evd;
		DAT_CNO_PARAM cno;
		DAT_PZ_PARAM pz;
		DAT_LMR_PARAM lmr;
		DAT_RMR_PARAM rmr;
		DAT_PSP_PARAM psp;
		DAT_RSP_PARAM rsp;
		DAT_CR_PARAM cr;
		DAT_SRQ_PARAM srq;
	} param;
} v;

static DAT_RETURN lmr_create(DAT_HANDLE ia, DAT_HANDLE pz)
{
	DAT_REGION_DESCRIPTION region = { .for_va = v.buf.mem };

	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, v.buf.size, pz, KIT_LOCAL, &v.out,
			      &v.lmr_context, &v.rmr_context, &v.size, &v.address);
}

static DAT_RETURN lmr_of_lmr(DAT_HANDLE lmr)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = lmr };

	return dat_lmr_create(t.ia, DAT_MEM_TYPE_LMR, region, v.buf.size, t.pz, KIT_LOCAL, &v.out,
			      &v.lmr_context, &v.rmr_context, &v.size, &v.address);
}

static DAT_RETURN rsp_create(DAT_HANDLE ia, DAT_HANDLE ep, DAT_HANDLE evd)
{
	return dat_rsp_create(ia, v.unused_qual, ep, evd, &v.out);
}

static DAT_HANDLE make_cr(void)
{
	struct kit_end active;

	kit_end(&active, NULL);
	MUST_RET(kit_connect(active.ep, v.qual), DAT_SUCCESS);
	return kit_cr(v.cr_evd);
}

/*
 * Returns true if there are objects of this kind: the provider's attributes say so. For RMRs make_live() must also have
 * created one: a provider that cannot create any fails the clauses of RMRs, and the tests of other calls do without
 * them.
 */
static bool kind_there(enum kind kind)
{
	if (kind == SRQ)
		return t.prov.srq_supported;
	return kind != RMR || (t.attr.max_rmrs > 0 && v.live[RMR]);
}

static void needs_kind(enum kind kind)
{
	if (kind == SRQ)
		NEEDS(t.prov.srq_supported, "srq_supported");
	if (kind == RMR)
		NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
}

static DAT_HANDLE make_srq(void)
{
	DAT_HANDLE srq = DAT_HANDLE_NULL;

	if (kind_there(SRQ))
		MUST_RET(dat_srq_create(t.ia, t.pz, &v.srq_attr, &srq), DAT_SUCCESS);
	return srq;
}

/* Creates an RSP on an endpoint of its own. */
static DAT_HANDLE make_rsp(void)
{
	struct kit_end end;
	DAT_HANDLE rsp = DAT_HANDLE_NULL;

	kit_end(&end, NULL);
	MUST_RET(dat_rsp_create(t.ia, kit_unused_qual(), end.ep, v.cr_evd, &rsp), DAT_SUCCESS);
	return rsp;
}

static void make_live(void)
{
	v.srq_attr = (DAT_SRQ_ATTR){ .max_recv_dtos = 8, .max_recv_iov = 1 };
	v.attr = kit_attr();
	v.cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	v.live[IA] = t.ia;
	v.live[EVD] = kit_evd(8, DAT_EVD_SOFTWARE_FLAG);
	v.live[CNO] = kit_cno();
	kit_end(&v.end, NULL);
	v.conn_evd = v.end.connect;
	v.live[EP] = v.end.ep;
	v.live[PZ] = t.pz;
	v.buf = kit_buf(4096, KIT_REMOTE);
	v.live[LMR] = v.buf.lmr;
	v.seg = kit_seg(&v.buf, 0, 64);
	v.target = kit_target(&v.buf, 0, 64);
	if (t.attr.max_rmrs <= 0 || dat_rmr_create(t.pz, &v.live[RMR]) != DAT_SUCCESS)
		v.live[RMR] = DAT_HANDLE_NULL;
	v.live[PSP] = kit_psp(v.cr_evd, &v.qual);
	v.unused_qual = kit_unused_qual();
}

/* Creating an object of these kinds takes longer, so make_live() leaves them out, and each test creates those that it needs. */
static void make_kind(enum kind kind)
{
	switch (kind) {
	case CR: v.live[CR] = make_cr(); break;
	case RSP: v.live[RSP] = make_rsp(); break;
	case SRQ: v.live[SRQ] = make_srq(); break;
	default: break;
	}
}

static void make_freed(enum kind kind)
{
	struct kit_end end;
	struct kit_buf buf;
	DAT_CONN_QUAL qual;
	DAT_HANDLE *h = &v.freed[kind];

	switch (kind) {
	case IA:
		*h = kit_open_another();
		MUST_RET(dat_ia_close(*h, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		break;
	case EVD: *h = kit_evd(8, DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG);
		MUST_RET(dat_evd_free(*h), DAT_SUCCESS); break;
	case CNO: *h = kit_cno(); MUST_RET(dat_cno_free(*h), DAT_SUCCESS); break;
	case EP: kit_end(&end, NULL); *h = end.ep; MUST_RET(dat_ep_free(*h), DAT_SUCCESS); break;
	case PZ: *h = kit_pz(); MUST_RET(dat_pz_free(*h), DAT_SUCCESS); break;
	case LMR:
		buf = kit_buf(4096, KIT_LOCAL);
		*h = buf.lmr;
		MUST_RET(dat_lmr_free(*h), DAT_SUCCESS);
		break;
	case RMR:
		MUST_RET(dat_rmr_create(t.pz, h), DAT_SUCCESS);
		MUST_RET(dat_rmr_free(*h), DAT_SUCCESS);
		break;
	case PSP: *h = kit_psp(v.cr_evd, &qual); MUST_RET(dat_psp_free(*h), DAT_SUCCESS); break;
	case RSP: *h = make_rsp(); MUST_RET(dat_rsp_free(*h), DAT_SUCCESS); break;
	case CR: *h = make_cr(); MUST_RET(dat_cr_reject(*h), DAT_SUCCESS); break;
	case SRQ: *h = make_srq(); MUST_RET(dat_srq_free(*h), DAT_SUCCESS); break;
	default: break;
	}
}

static void refuse(DAT_RETURN got, const char *call, const char *what, const char *file, int line)
{
	char text[512];

	snprintf(text, sizeof(text), "%s, where h is %s", call, what);
	judge_ret(got, DAT_INVALID_HANDLE, false, text, file, line);
}

/* Calls with NULL, with a freed handle, and with live objects of other kinds. */
static void try_bad(enum kind kind, bool null_is_bad, DAT_RETURN (*make_call)(DAT_HANDLE h),
		    const char *call, const char *file, int line)
{
	static const char *const names[] = { "an IA", "an EVD", "a CNO", "an EP",
					     "a PZ",  "an LMR", "an RMR" };
	/* memory of the process that is no object */
	static uint64_t garbage[32];

	needs_kind(kind);
	make_live();
	make_kind(kind);
	make_freed(kind);
	if (null_is_bad)
		refuse(make_call(DAT_HANDLE_NULL), call, "NULL", file, line);
	refuse(make_call(v.freed[kind]), call, "a freed one", file, line);
	refuse(make_call(&garbage[8]), call, "the address of something else", file, line);
	for (int other = EVD; other <= RMR; other++)
		if (other != (int)kind && kind_there((enum kind)other))
			refuse(make_call(v.live[other]), call, names[other], file, line);
}

#define BAD_HANDLE__(n, id, kind, null_is_bad, call) \
	static DAT_RETURN call_##n(DAT_HANDLE h) { return call; } \
	CLAUSE(id) { try_bad(kind, null_is_bad, call_##n, #call, __FILE__, __LINE__); }
#define BAD_HANDLE_(n, ...)	    BAD_HANDLE__(n, __VA_ARGS__)
#define BAD_HANDLE(id, kind, call)  BAD_HANDLE_(__LINE__, id, kind, true, call)
#define BAD_UNLESS_NULL(id, kind, call) BAD_HANDLE_(__LINE__, id, kind, false, call)

#define NONE   DAT_HANDLE_NULL
#define COOKIE kit_cookie(1)
#define FLAGS  DAT_COMPLETION_DEFAULT_FLAG
#define DTO    v.end.recv

BAD_HANDLE("CNO_CREATE-03", IA, dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &v.out))
BAD_HANDLE("CNO_FREE-02", CNO, dat_cno_free(h))
BAD_HANDLE("CNO_MODIFY_AGENT-02", CNO, dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL))
BAD_HANDLE("CNO_QUERY-03", CNO, dat_cno_query(h, DAT_CNO_FIELD_ALL, &v.param.cno))
BAD_HANDLE("CNO_WAIT-06", CNO, dat_cno_wait(h, 0, &v.out))
BAD_HANDLE("CR_ACCEPT-02", CR, dat_cr_accept(h, v.end.ep, 0, NULL))
BAD_HANDLE("CR_HANDOFF-02", CR, dat_cr_handoff(h, v.qual))
BAD_HANDLE("CR_QUERY-02", CR, dat_cr_query(h, DAT_CR_FIELD_ALL, &v.param.cr))
BAD_HANDLE("CR_REJECT-02", CR, dat_cr_reject(h))
BAD_HANDLE("EP_CONNECT-10", EP, kit_connect(h, v.qual))
BAD_HANDLE("EP_CREATE-04", IA, dat_ep_create(h, t.pz, DTO, DTO, v.conn_evd, &v.attr, &v.out))
BAD_UNLESS_NULL("EP_CREATE-04", PZ, dat_ep_create(t.ia, h, DTO, DTO, v.conn_evd, &v.attr, &v.out))
BAD_UNLESS_NULL("EP_CREATE-04", EVD, dat_ep_create(t.ia, t.pz, h, DTO, v.conn_evd, &v.attr, &v.out))
BAD_UNLESS_NULL("EP_CREATE-04", EVD, dat_ep_create(t.ia, t.pz, DTO, h, v.conn_evd, &v.attr, &v.out))
BAD_UNLESS_NULL("EP_CREATE-04", EVD, dat_ep_create(t.ia, t.pz, DTO, DTO, h, &v.attr, &v.out))
BAD_HANDLE("EP_CREATE_SRQ-03", SRQ,
	   dat_ep_create_with_srq(t.ia, t.pz, DTO, DTO, NONE, h, &v.attr, &v.out))
BAD_HANDLE("EP_DISC-02", EP, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG))
BAD_HANDLE("EP_DUP-03", EP, dat_ep_dup_connect(h, v.end.ep, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT))
BAD_HANDLE("EP_DUP-03", EP, dat_ep_dup_connect(v.end.ep, h, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT))
BAD_HANDLE("EP_FREE-06", EP, dat_ep_free(h))
BAD_HANDLE("EP_STATUS-02", EP, dat_ep_get_status(h, &v.state, &v.idle, &v.idle2))
BAD_HANDLE("EP_MODIFY-02", EP,
	   dat_ep_modify(h, DAT_EP_FIELD_PZ_HANDLE, (v.param.ep.pz_handle = t.pz, &v.param.ep)))
BAD_HANDLE("EP_RDMA_READ-04", EP, dat_ep_post_rdma_read(h, 1, &v.seg, COOKIE, &v.target, FLAGS))
BAD_HANDLE("EP_RDMA_WRITE-04", EP, dat_ep_post_rdma_write(h, 1, &v.seg, COOKIE, &v.target, FLAGS))
BAD_HANDLE("EP_RECV-04", EP, dat_ep_post_recv(h, 1, &v.seg, COOKIE, FLAGS))
BAD_HANDLE("EP_SEND-05", EP, dat_ep_post_send(h, 1, &v.seg, COOKIE, FLAGS))
BAD_HANDLE("EP_QUERY-02", EP, dat_ep_query(h, DAT_EP_FIELD_ALL, &v.param.ep))
BAD_HANDLE("EP_RECV_QUERY-02", EP, dat_ep_recv_query(h, &v.count, &v.count2))
BAD_HANDLE("EP_RESET-05", EP, dat_ep_reset(h))
BAD_HANDLE("EP_WM-02", EP, dat_ep_set_watermark(h, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE))
BAD_HANDLE("EVD_CREATE-05", IA, dat_evd_create(h, 8, NONE, DAT_EVD_SOFTWARE_FLAG, &v.out))
BAD_UNLESS_NULL("EVD_CREATE-05", CNO, dat_evd_create(t.ia, 8, h, DAT_EVD_SOFTWARE_FLAG, &v.out))
BAD_HANDLE("EVD_CLRUNW-02", EVD, dat_evd_clear_unwaitable(h))
BAD_HANDLE("EVD_DEQ-03", EVD, dat_evd_dequeue(h, &v.event))
BAD_HANDLE("EVD_DIS-02", EVD, dat_evd_disable(h))
BAD_HANDLE("EVD_EN-02", EVD, dat_evd_enable(h))
BAD_HANDLE("EVD_FREE-02", EVD, dat_evd_free(h))
BAD_HANDLE("EVD_MODCNO-02", EVD, dat_evd_modify_cno(h, v.live[CNO]))
BAD_UNLESS_NULL("EVD_MODCNO-02", CNO, dat_evd_modify_cno(v.live[EVD], h))
BAD_HANDLE("EVD_SE-02", EVD, kit_post_se(h, 1))
BAD_HANDLE("EVD_QUERY-02", EVD, dat_evd_query(h, DAT_EVD_FIELD_ALL, &v.param.evd))
BAD_HANDLE("EVD_RESIZE-02", EVD, dat_evd_resize(h, 16))
BAD_HANDLE("EVD_SETUNW-02", EVD, dat_evd_set_unwaitable(h))
BAD_HANDLE("EVD_WAIT-02", EVD, dat_evd_wait(h, 0, 1, &v.event, &v.count))
BAD_HANDLE("IA_CLOSE-04", IA, dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG))
BAD_HANDLE("IA_QUERY-02", IA,
	   dat_ia_query(h, &v.out, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL))
BAD_HANDLE("LMR_CREATE-04", IA, lmr_create(h, t.pz))
BAD_HANDLE("LMR_CREATE-04", PZ, lmr_create(t.ia, h))
BAD_HANDLE("LMR_CREATE-04", LMR, lmr_of_lmr(h))
BAD_HANDLE("LMR_FREE-02", LMR, dat_lmr_free(h))
BAD_HANDLE("LMR_QUERY-03", LMR, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &v.param.lmr))
BAD_HANDLE("LMR_SYNC_R-02", IA, dat_lmr_sync_rdma_read(h, &v.seg, 1))
BAD_HANDLE("LMR_SYNC_W-02", IA, dat_lmr_sync_rdma_write(h, &v.seg, 1))
BAD_HANDLE("PSP_CREATE-03", IA,
	   dat_psp_create(h, v.unused_qual, v.cr_evd, DAT_PSP_CONSUMER_FLAG, &v.out))
BAD_HANDLE("PSP_CREATE-03", EVD,
	   dat_psp_create(t.ia, v.unused_qual, h, DAT_PSP_CONSUMER_FLAG, &v.out))
BAD_HANDLE("PSP_ANY-03", IA,
	   dat_psp_create_any(h, &v.qual, v.cr_evd, DAT_PSP_CONSUMER_FLAG, &v.out))
BAD_HANDLE("PSP_ANY-03", EVD, dat_psp_create_any(t.ia, &v.qual, h, DAT_PSP_CONSUMER_FLAG, &v.out))
BAD_HANDLE("PSP_FREE-02", PSP, dat_psp_free(h))
BAD_HANDLE("PSP_QUERY-02", PSP, dat_psp_query(h, DAT_PSP_FIELD_ALL, &v.param.psp))
BAD_HANDLE("PZ_CREATE-04", IA, dat_pz_create(h, &v.out))
BAD_HANDLE("PZ_FREE-02", PZ, dat_pz_free(h))
BAD_HANDLE("PZ_QUERY-03", PZ, dat_pz_query(h, DAT_PZ_FIELD_ALL, &v.param.pz))
BAD_HANDLE("RMR_BIND-04", RMR,
	   dat_rmr_bind(h, &v.seg, KIT_REMOTE, v.end.ep, COOKIE, FLAGS, &v.rmr_context))
BAD_HANDLE("RMR_BIND-04", EP,
	   dat_rmr_bind(v.live[RMR], &v.seg, KIT_REMOTE, h, COOKIE, FLAGS, &v.rmr_context))
BAD_HANDLE("RMR_CREATE-03", PZ, dat_rmr_create(h, &v.out))
BAD_HANDLE("RMR_FREE-03", RMR, dat_rmr_free(h))
BAD_HANDLE("RMR_QUERY-03", RMR, dat_rmr_query(h, DAT_RMR_FIELD_ALL, &v.param.rmr))
BAD_HANDLE("RSP_CREATE-03", IA, rsp_create(h, v.end.ep, v.cr_evd))
BAD_UNLESS_NULL("RSP_CREATE-03", EP, rsp_create(t.ia, h, v.cr_evd))
BAD_HANDLE("RSP_CREATE-03", EVD, rsp_create(t.ia, v.end.ep, h))
BAD_HANDLE("RSP_FREE-02", RSP, dat_rsp_free(h))
BAD_HANDLE("RSP_QUERY-02", RSP, dat_rsp_query(h, DAT_RSP_FIELD_ALL, &v.param.rsp))
BAD_HANDLE("SRQ_CREATE-03", PZ, dat_srq_create(t.ia, h, &v.srq_attr, &v.out))
BAD_HANDLE("SRQ_CREATE-03", IA, dat_srq_create(h, t.pz, &v.srq_attr, &v.out))
BAD_HANDLE("SRQ_FREE-02", SRQ, dat_srq_free(h))
BAD_HANDLE("SRQ_POST-02", SRQ, dat_srq_post_recv(h, 1, &v.seg, COOKIE))
BAD_HANDLE("SRQ_QUERY-03", SRQ, dat_srq_query(h, DAT_SRQ_FIELD_ALL, &v.param.srq))
BAD_HANDLE("SRQ_RESIZE-02", SRQ, dat_srq_resize(h, 16))
BAD_HANDLE("SRQ_LW-02", SRQ, dat_srq_set_lw(h, 1))

/* All the clauses above are cases of GEN-02, which has only these three of its own: queries. */
BAD_HANDLE("GEN-02", EP, dat_ep_query(h, DAT_EP_FIELD_ALL, &v.param.ep))
BAD_HANDLE("GEN-02", LMR, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &v.param.lmr))
BAD_HANDLE("GEN-02", EVD, dat_evd_query(h, DAT_EVD_FIELD_ALL, &v.param.evd))

/* These calls take objects of every kind, so a handle is invalid only if there is no object behind it. */
#define NO_HANDLE__(n, id, call) \
	static DAT_RETURN call_##n(DAT_HANDLE h) { return call; } \
	CLAUSE(id) { try_none(call_##n, #call, __FILE__, __LINE__); }
#define NO_HANDLE_(n, ...)  NO_HANDLE__(n, __VA_ARGS__)
#define NO_HANDLE(id, call) NO_HANDLE_(__LINE__, id, call)

static void try_none(DAT_RETURN (*make_call)(DAT_HANDLE h), const char *call, const char *file,
		     int line)
{
	static uint64_t garbage[32];

	make_live();
	refuse(make_call(DAT_HANDLE_NULL), call, "NULL", file, line);
	refuse(make_call(&garbage[8]), call, "the address of something else", file, line);
	for (enum kind kind = IA; kind < KINDS; kind++) {
		if (!kind_there(kind))
			continue;
		make_freed(kind);
		refuse(make_call(v.freed[kind]), call, "a freed one", file, line);
	}
}

NO_HANDLE("GEN-01", dat_get_handle_type(h, &v.type))
NO_HANDLE("HANDLE_TYPE-02", dat_get_handle_type(h, &v.type))
NO_HANDLE("CTX_GET-02", dat_get_consumer_context(h, &v.context))
NO_HANDLE("CTX_SET-02", dat_set_consumer_context(h, kit_cookie(1)))

#define MASK__(n, id, kind, call) \
	static DAT_RETURN call_##n(DAT_HANDLE h, uint64_t mask) { return call; } \
	CLAUSE(id) { try_masks(kind, call_##n, #call, __FILE__, __LINE__); }
#define MASK_(n, ...)	     MASK__(n, __VA_ARGS__)
#define MASK(id, kind, call) MASK_(__LINE__, id, kind, call)

/*
 * Queries with one bit beyond the documented ones, and with all bits, are refused. The table's call
 * may shift the mask.
 */
static void try_masks(enum kind kind, DAT_RETURN (*query)(DAT_HANDLE h, uint64_t mask),
		      const char *call, const char *file, int line)
{
	needs_kind(kind);
	make_live();
	make_kind(kind);
	judge_ret(query(v.live[kind], 0x40000000), DAT_INVALID_PARAMETER, false, call, file, line);
	judge_ret(query(v.live[kind], ~0ull), DAT_INVALID_PARAMETER, false, call, file, line);
}

MASK("CNO_QUERY-02", CNO, dat_cno_query(h, (DAT_CNO_PARAM_MASK)mask, &v.param.cno))
MASK("CR_QUERY-03", CR, dat_cr_query(h, (DAT_CR_PARAM_MASK)mask, &v.param.cr))
MASK("EP_QUERY-03", EP, dat_ep_query(h, mask << 8, &v.param.ep))
MASK("EVD_QUERY-03", EVD, dat_evd_query(h, (DAT_EVD_PARAM_MASK)mask, &v.param.evd))
MASK("LMR_QUERY-02", LMR, dat_lmr_query(h, (DAT_LMR_PARAM_MASK)mask, &v.param.lmr))
MASK("PSP_QUERY-03", PSP, dat_psp_query(h, (DAT_PSP_PARAM_MASK)mask, &v.param.psp))
MASK("PZ_QUERY-02", PZ, dat_pz_query(h, (DAT_PZ_PARAM_MASK)mask, &v.param.pz))
MASK("RMR_QUERY-02", RMR, dat_rmr_query(h, (DAT_RMR_PARAM_MASK)mask, &v.param.rmr))
MASK("RSP_QUERY-03", RSP, dat_rsp_query(h, (DAT_RSP_PARAM_MASK)mask, &v.param.rsp))
MASK("SRQ_QUERY-02", SRQ, dat_srq_query(h, (DAT_SRQ_PARAM_MASK)mask, &v.param.srq))
MASK("GEN-08", EP, dat_ep_query(h, mask << 8, &v.param.ep))
MASK("GEN-08", EVD, dat_evd_query(h, (DAT_EVD_PARAM_MASK)mask, &v.param.evd))

CLAUSE("GEN-09")
{
	make_live();
	make_kind(CR);
	make_kind(RSP);
	CHECK_RET(dat_cno_query(v.live[CNO], DAT_CNO_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_cr_query(v.live[CR], DAT_CR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ep_query(v.live[EP], DAT_EP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_query(v.live[EVD], DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_lmr_query(v.live[LMR], DAT_LMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_psp_query(v.live[PSP], DAT_PSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_pz_query(v.live[PZ], DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	if (kind_there(RMR))
		CHECK_RET(dat_rmr_query(v.live[RMR], DAT_RMR_FIELD_ALL, NULL),
			  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_rsp_query(v.live[RSP], DAT_RSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ia_query(t.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL), DAT_INVALID_PARAMETER);
}

/* The struct is poisoned before each query, which has to fill the requested field and may fill others. */
CLAUSE("GEN-07")
{
	DAT_EVD_PARAM evd;
	DAT_EP_PARAM ep;

	make_live();
	memset(&evd, 0xa5, sizeof(evd));
	CHECK_RET(dat_evd_query(v.live[EVD], DAT_EVD_FIELD_IA_HANDLE, &evd), DAT_SUCCESS);
	CHECK_THAT(evd.ia_handle == t.ia);
	memset(&evd, 0xa5, sizeof(evd));
	CHECK_RET(dat_evd_query(v.live[EVD], DAT_EVD_FIELD_CNO, &evd), DAT_SUCCESS);
	CHECK_THAT(evd.cno_handle == DAT_HANDLE_NULL);
	memset(&evd, 0xa5, sizeof(evd));
	CHECK_RET(dat_evd_query(v.live[EVD], DAT_EVD_FIELD_EVD_FLAGS, &evd), DAT_SUCCESS);
	CHECK_NUM(evd.evd_flags, DAT_EVD_SOFTWARE_FLAG);
	memset(&ep, 0xa5, sizeof(ep));
	CHECK_RET(dat_ep_query(v.live[EP], DAT_EP_FIELD_PZ_HANDLE, &ep), DAT_SUCCESS);
	CHECK_THAT(ep.pz_handle == t.pz);
	memset(&ep, 0xa5, sizeof(ep));
	CHECK_RET(dat_ep_query(v.live[EP], DAT_EP_FIELD_EP_STATE, &ep), DAT_SUCCESS);
	CHECK_NUM(ep.ep_state, DAT_EP_STATE_UNCONNECTED);
}

static const DAT_HANDLE_TYPE types[KINDS] = {
	[IA] = DAT_HANDLE_TYPE_IA, [EVD] = DAT_HANDLE_TYPE_EVD, [CNO] = DAT_HANDLE_TYPE_CNO,
	[EP] = DAT_HANDLE_TYPE_EP, [PZ] = DAT_HANDLE_TYPE_PZ, [LMR] = DAT_HANDLE_TYPE_LMR,
	[RMR] = DAT_HANDLE_TYPE_RMR, [PSP] = DAT_HANDLE_TYPE_PSP, [RSP] = DAT_HANDLE_TYPE_RSP,
	[CR] = DAT_HANDLE_TYPE_CR, [SRQ] = DAT_HANDLE_TYPE_SRQ,
};

CLAUSE("HANDLE_TYPE-01", "HANDLE_TYPE-03")
{
	DAT_HANDLE_TYPE type;

	make_live();
	ABOUT("HANDLE_TYPE-01");
	for (enum kind kind = IA; kind < KINDS; kind++) {
		make_kind(kind);
		if (!kind_there(kind))
			continue;
		type = (DAT_HANDLE_TYPE)-1;
		CHECK_RET(dat_get_handle_type(v.live[kind], &type), DAT_SUCCESS);
		CHECK_NUM(type, types[kind]);
	}
	ABOUT("HANDLE_TYPE-03");
	CHECK_RET(dat_get_handle_type(t.async, &type), DAT_SUCCESS);
	CHECK_NUM(type, DAT_HANDLE_TYPE_EVD);
}

CLAUSE("CTX_GET-01", "CTX_GET-03", "CTX_SET-01", "CTX_SET-03", "CTX_SET-04", "CTX_SET-05")
{
	DAT_CONTEXT context;

	make_live();
	for (enum kind kind = IA; kind < KINDS; kind++) {
		DAT_HANDLE h = (make_kind(kind), v.live[kind]);

		if (!kind_there(kind))
			continue;
		ABOUT("CTX_GET-03");
		memset(&context, 0xa5, sizeof(context));
		CHECK_RET(dat_get_consumer_context(h, &context), DAT_SUCCESS);
		CHECK_THAT(context.as_ptr == NULL);
		ABOUT("CTX_SET-01");
		CHECK_RET(dat_set_consumer_context(h, kit_cookie(1)), DAT_SUCCESS);
		ABOUT("CTX_GET-01");
		CHECK_RET(dat_get_consumer_context(h, &context), DAT_SUCCESS);
		CHECK_NUM(context.as_64, 1);
		ABOUT("CTX_SET-04");
		CHECK_RET(dat_set_consumer_context(h, kit_cookie(2)), DAT_SUCCESS);
		CHECK_RET(dat_get_consumer_context(h, &context), DAT_SUCCESS);
		CHECK_NUM(context.as_64, 2);
		CHECK_RET(dat_set_consumer_context(h, kit_cookie(0)), DAT_SUCCESS);
		CHECK_RET(dat_get_consumer_context(h, &context), DAT_SUCCESS);
		CHECK_NUM(context.as_64, 0);
		ABOUT("CTX_SET-05");
		CHECK_RET(dat_set_consumer_context(h, kit_cookie(0xfedcba9876543210)), DAT_SUCCESS);
		CHECK_RET(dat_get_consumer_context(h, &context), DAT_SUCCESS);
		CHECK_THAT(context.as_64 == 0xfedcba9876543210);
		ABOUT("CTX_SET-03");
		CHECK_RET(dat_set_consumer_context(h, kit_cookie(~0ull)), DAT_SUCCESS);
	}
}

CLAUSE("CTX_SET-06")
{
	struct kit_pair pair;

	kit_pair(&pair, NULL);
	MUST_RET(dat_set_consumer_context(pair.a.ep, kit_cookie(7)), DAT_SUCCESS);
	MUST_RET(dat_set_consumer_context(pair.b.recv, kit_cookie(8)), DAT_SUCCESS);
	kit_exchange(&pair.a, &pair.b);
	CHECK_NUM(kit_state(pair.a.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE("GEN-14")
{
	DAT_IA_HANDLE other = kit_open_another();
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr = kit_attr();
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_DTO_FLAG);

	MUST_RET(dat_pz_create(other, &pz), DAT_SUCCESS);
	CHECK_REFUSED(dat_ep_create(t.ia, pz, evd, evd, DAT_HANDLE_NULL, &attr, &ep));
	CHECK_REFUSED(dat_ep_create(other, pz, evd, evd, DAT_HANDLE_NULL, &attr, &ep));
}

CLAUSE("GEN-03")
{
	DAT_EVD_PARAM evd, evd_after;
	DAT_EP_PARAM ep, ep_after;

	make_live();
	memset(&ep, 0, sizeof(ep));
	memset(&ep_after, 0, sizeof(ep_after));
	MUST_RET(dat_evd_query(v.live[EVD], DAT_EVD_FIELD_ALL, &evd), DAT_SUCCESS);
	MUST_RET(dat_ep_query(v.live[EP], DAT_EP_FIELD_ALL, &ep), DAT_SUCCESS);
	CHECK_REFUSED(dat_evd_resize(v.live[EVD], -1));
	CHECK_REFUSED(dat_evd_modify_cno(v.live[EVD], v.live[EP]));
	CHECK_REFUSED(kit_connect_data(v.live[EP], v.qual, -1, NULL));
	CHECK_REFUSED(dat_ep_disconnect(v.live[EP], DAT_CLOSE_ABRUPT_FLAG));
	CHECK_REFUSED(dat_evd_free(v.end.recv));
	MUST_RET(dat_evd_query(v.live[EVD], DAT_EVD_FIELD_ALL, &evd_after), DAT_SUCCESS);
	MUST_RET(dat_ep_query(v.live[EP], DAT_EP_FIELD_ALL, &ep_after), DAT_SUCCESS);
	CHECK_THAT(evd.evd_qlen == evd_after.evd_qlen && evd.cno_handle == evd_after.cno_handle &&
		   evd.evd_state == evd_after.evd_state);
	CHECK_THAT(ep.ep_state == ep_after.ep_state && ep.pz_handle == ep_after.pz_handle &&
		   ep.recv_evd_handle == ep_after.recv_evd_handle &&
		   ep.ep_attr.max_recv_dtos == ep_after.ep_attr.max_recv_dtos);
}
