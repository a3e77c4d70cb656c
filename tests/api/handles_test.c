/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad handles to every function: DAT_INVALID_HANDLE, and no crash. Invariant: in each call exactly
 * one handle is bad and every other argument is good, so nothing else can be the reason of a
 * refusal.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"

/* The kind of object that a handle parameter names; with OR_NULL, the handle may be null. */
enum kind { IA, EVD, CNO, EP, PZ, LMR, RMR, PSP, RSP, CR, SRQ, KINDS, ANY, NONE };
#define OR_NULL 0x100

static const char *const kind_names[KINDS] = { "IA",  "EVD", "CNO", "EP", "PZ", "LMR",
					       "RMR", "PSP", "RSP", "CR", "SRQ" };

static struct {
	DAT_HANDLE live[KINDS];
	DAT_HANDLE freed[KINDS];
	DAT_EP_HANDLE other_ep;
	struct api_buf buf;
} zoo;

/* Creates an endpoint with EVDs of its own, which the close of the IA frees. */
static DAT_EP_HANDLE make_ep(void)
{
	struct api_end end;

	api_end_make(&end, NULL);
	return end.ep;
}

static DAT_CR_HANDLE make_cr(DAT_EVD_HANDLE cr_evd, DAT_CONN_QUAL qual)
{
	REQUIRE_DAT(api_connect(make_ep(), qual), DAT_SUCCESS);
	return api_cr(cr_evd);
}

static DAT_RSP_HANDLE make_rsp(DAT_EVD_HANDLE cr_evd)
{
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual;

	REQUIRE_DAT(dat_psp_free(api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual)), DAT_SUCCESS);
	REQUIRE_DAT(dat_rsp_create(api.ia, qual, make_ep(), cr_evd, &rsp), DAT_SUCCESS);
	return rsp;
}

static void make_all(DAT_HANDLE set[KINDS])
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;

	set[IA] = api.ia;
	set[EVD] = api_evd(8, (DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG |
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
					      DAT_EVD_RMR_BIND_FLAG));
	set[CNO] = api_cno();
	set[PZ] = api_pz();
	set[EP] = make_ep();
	zoo.buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	set[LMR] = zoo.buf.lmr;
	REQUIRE_DAT(dat_rmr_create(api.pz, &set[RMR]), DAT_SUCCESS);
	set[PSP] = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	set[RSP] = make_rsp(cr_evd);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &srq_attr, &set[SRQ]), DAT_SUCCESS);
	set[CR] = make_cr(cr_evd, qual);
}

static void free_all(DAT_HANDLE set[KINDS])
{
	REQUIRE_DAT(dat_cr_reject(set[CR]), DAT_SUCCESS);
	REQUIRE_DAT(dat_srq_free(set[SRQ]), DAT_SUCCESS);
	REQUIRE_DAT(dat_rsp_free(set[RSP]), DAT_SUCCESS);
	REQUIRE_DAT(dat_psp_free(set[PSP]), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_free(set[RMR]), DAT_SUCCESS);
	REQUIRE_DAT(dat_lmr_free(set[LMR]), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_free(set[EP]), DAT_SUCCESS);
	REQUIRE_DAT(dat_pz_free(set[PZ]), DAT_SUCCESS);
	REQUIRE_DAT(dat_cno_free(set[CNO]), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_free(set[EVD]), DAT_SUCCESS);
	if (set[IA] != api.ia)
		REQUIRE_DAT(dat_ia_close(set[IA], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* The handles of a call: h[0] is its first handle parameter. */
typedef DAT_RETURN (*call_fn)(DAT_HANDLE *h);

#define CALL(name, expr)                                                                           \
	static DAT_RETURN call_##name(DAT_HANDLE *h)                                               \
	{                                                                                          \
		return expr;                                                                       \
	}

static union {
	DAT_EVENT event;
	DAT_COUNT count[2];
	DAT_HANDLE handle;
	DAT_CNO_PARAM cno;
	DAT_CR_PARAM cr;
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;
	DAT_IA_ATTR ia;
	DAT_LMR_PARAM lmr;
	DAT_PSP_PARAM psp;
	DAT_PZ_PARAM pz;
	DAT_RMR_PARAM rmr;
	DAT_RSP_PARAM rsp;
	DAT_SRQ_PARAM srq;
	DAT_EP_STATE state;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	DAT_CONN_QUAL qual;
	DAT_RMR_CONTEXT rmr_context;
} out;

static DAT_BOOLEAN idle[2];
static DAT_COUNT nmore;
static DAT_HANDLE made;
static DAT_EP_ATTR ep_attr;
static DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
static const DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT };

static DAT_DTO_COOKIE no_cookie(void)
{
	return api_cookie(0);
}

static DAT_LMR_TRIPLET *seg(void)
{
	static DAT_LMR_TRIPLET triplet;

	triplet = api_seg(&zoo.buf, 0, 64);
	return &triplet;
}

static DAT_RMR_TRIPLET *target(void)
{
	static DAT_RMR_TRIPLET triplet;

	triplet = api_target(&zoo.buf, 0, 64);
	return &triplet;
}

CALL(cno_create, dat_cno_create(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL, &out.handle))
CALL(cno_free, dat_cno_free(h[0]))
CALL(cno_modify_agent, dat_cno_modify_agent(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL))
CALL(cno_query, dat_cno_query(h[0], DAT_CNO_FIELD_ALL, &out.cno))
CALL(cno_wait, dat_cno_wait(h[0], 0, &out.handle))
CALL(cr_accept, dat_cr_accept(h[0], h[1], 0, NULL))
CALL(cr_handoff, dat_cr_handoff(h[0], 1))
CALL(cr_query, dat_cr_query(h[0], DAT_CR_FIELD_ALL, &out.cr))
CALL(cr_reject, dat_cr_reject(h[0]))
CALL(ep_connect, api_connect(h[0], 1))
CALL(ep_create, dat_ep_create(h[0], h[1], h[2], h[3], h[4], NULL, &out.handle))
CALL(ep_create_with_srq,
     dat_ep_create_with_srq(h[0], h[1], h[2], h[3], h[4], h[5], &ep_attr, &out.handle))
CALL(ep_disconnect, dat_ep_disconnect(h[0], DAT_CLOSE_ABRUPT_FLAG))
CALL(ep_dup_connect, dat_ep_dup_connect(h[0], h[1], 1000, 0, NULL, DAT_QOS_BEST_EFFORT))
CALL(ep_free, dat_ep_free(h[0]))
CALL(ep_get_status, dat_ep_get_status(h[0], &out.state, &idle[0], &idle[1]))
CALL(ep_modify,
     (out.ep.pz_handle = h[1], out.ep.recv_evd_handle = h[2], out.ep.request_evd_handle = h[3],
      out.ep.connect_evd_handle = h[4],
      dat_ep_modify(h[0],
		    DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			    DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
		    &out.ep)))
CALL(ep_post_rdma_read, dat_ep_post_rdma_read(h[0], 1, seg(), no_cookie(), target(), 0))
CALL(ep_post_rdma_write, dat_ep_post_rdma_write(h[0], 1, seg(), no_cookie(), target(), 0))
CALL(ep_post_recv, dat_ep_post_recv(h[0], 1, seg(), no_cookie(), 0))
CALL(ep_post_send, dat_ep_post_send(h[0], 1, seg(), no_cookie(), 0))
CALL(ep_query, dat_ep_query(h[0], DAT_EP_FIELD_ALL, &out.ep))
CALL(ep_recv_query, dat_ep_recv_query(h[0], &out.count[0], &out.count[1]))
CALL(ep_reset, dat_ep_reset(h[0]))
CALL(ep_set_watermark, dat_ep_set_watermark(h[0], DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE))
CALL(evd_clear_unwaitable, dat_evd_clear_unwaitable(h[0]))
CALL(evd_create, dat_evd_create(h[0], 8, h[1], DAT_EVD_DTO_FLAG, &out.handle))
CALL(evd_dequeue, dat_evd_dequeue(h[0], &out.event))
CALL(evd_disable, dat_evd_disable(h[0]))
CALL(evd_enable, dat_evd_enable(h[0]))
CALL(evd_free, dat_evd_free(h[0]))
CALL(evd_modify_cno, dat_evd_modify_cno(h[0], h[1]))
CALL(evd_post_se, dat_evd_post_se(h[0], &software))
CALL(evd_query, dat_evd_query(h[0], DAT_EVD_FIELD_ALL, &out.evd))
CALL(evd_resize, dat_evd_resize(h[0], 16))
CALL(evd_set_unwaitable, dat_evd_set_unwaitable(h[0]))
CALL(evd_wait, dat_evd_wait(h[0], 0, 1, &out.event, &nmore))
CALL(get_consumer_context, dat_get_consumer_context(h[0], &out.context))
CALL(get_handle_type, dat_get_handle_type(h[0], &out.type))
CALL(ia_close, dat_ia_close(h[0], DAT_CLOSE_GRACEFUL_FLAG))
CALL(ia_query, dat_ia_query(h[0], &out.handle, 0, NULL, 0, NULL))
CALL(lmr_free, dat_lmr_free(h[0]))
CALL(lmr_query, dat_lmr_query(h[0], DAT_LMR_FIELD_ALL, &out.lmr))
CALL(lmr_sync_rdma_read, dat_lmr_sync_rdma_read(h[0], seg(), 1))
CALL(lmr_sync_rdma_write, dat_lmr_sync_rdma_write(h[0], seg(), 1))
CALL(psp_create, dat_psp_create(h[0], 1, h[1], DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(psp_create_any, dat_psp_create_any(h[0], &out.qual, h[1], DAT_PSP_CONSUMER_FLAG, &made))
CALL(psp_free, dat_psp_free(h[0]))
CALL(psp_query, dat_psp_query(h[0], DAT_PSP_FIELD_ALL, &out.psp))
CALL(pz_create, dat_pz_create(h[0], &out.handle))
CALL(pz_free, dat_pz_free(h[0]))
CALL(pz_query, dat_pz_query(h[0], DAT_PZ_FIELD_ALL, &out.pz))
CALL(rmr_bind, dat_rmr_bind(h[0], seg(), DAT_MEM_PRIV_REMOTE_READ_FLAG, h[1], no_cookie(), 0,
			    &out.rmr_context))
CALL(rmr_create, dat_rmr_create(h[0], &out.handle))
CALL(rmr_free, dat_rmr_free(h[0]))
CALL(rmr_query, dat_rmr_query(h[0], DAT_RMR_FIELD_ALL, &out.rmr))
CALL(rsp_create, dat_rsp_create(h[0], 1, h[1], h[2], &out.handle))
CALL(rsp_free, dat_rsp_free(h[0]))
CALL(rsp_query, dat_rsp_query(h[0], DAT_RSP_FIELD_ALL, &out.rsp))
CALL(set_consumer_context, dat_set_consumer_context(h[0], no_cookie()))
CALL(srq_create, dat_srq_create(h[0], h[1], &srq_attr, &out.handle))
CALL(srq_free, dat_srq_free(h[0]))
CALL(srq_post_recv, dat_srq_post_recv(h[0], 1, seg(), no_cookie()))
CALL(srq_query, dat_srq_query(h[0], DAT_SRQ_FIELD_ALL, &out.srq))
CALL(srq_resize, dat_srq_resize(h[0], 8))
CALL(srq_set_lw, dat_srq_set_lw(h[0], 1))

static DAT_RETURN create_lmr(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			     DAT_PZ_HANDLE pz)
{
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(ia, type, region, 4096, pz, DAT_MEM_PRIV_ALL_FLAG, &out.handle,
			      &lmr_context, &rmr_context, &size, &address);
}

CALL(lmr_create, create_lmr(h[0], DAT_MEM_TYPE_VIRTUAL,
			    (DAT_REGION_DESCRIPTION){ .for_va = zoo.buf.mem }, h[1]))
CALL(lmr_create_of_an_lmr,
     create_lmr(h[0], DAT_MEM_TYPE_LMR, (DAT_REGION_DESCRIPTION){ .for_lmr_handle = h[2] }, h[1]))

/* Every function that takes handles, and the kinds of the handles. */
/* clang-format off */
#define FUNCTIONS(F) \
	F(cno_create, IA) F(cno_free, CNO) F(cno_modify_agent, CNO) F(cno_query, CNO) \
	F(cno_wait, CNO) \
	F(cr_accept, CR, EP) F(cr_handoff, CR) F(cr_query, CR) F(cr_reject, CR) \
	F(ep_connect, EP) \
	F(ep_create, IA, PZ | OR_NULL, EVD | OR_NULL, EVD | OR_NULL, EVD | OR_NULL) \
	F(ep_create_with_srq, IA, PZ | OR_NULL, EVD | OR_NULL, EVD | OR_NULL, EVD | OR_NULL, SRQ) \
	F(ep_disconnect, EP) F(ep_dup_connect, EP, EP) F(ep_free, EP) F(ep_get_status, EP) \
	F(ep_modify, EP, PZ | OR_NULL, EVD | OR_NULL, EVD | OR_NULL, EVD | OR_NULL) \
	F(ep_post_rdma_read, EP) F(ep_post_rdma_write, EP) F(ep_post_recv, EP) \
	F(ep_post_send, EP) F(ep_query, EP) F(ep_recv_query, EP) F(ep_reset, EP) \
	F(ep_set_watermark, EP) \
	F(evd_clear_unwaitable, EVD) F(evd_create, IA, CNO | OR_NULL) F(evd_dequeue, EVD) \
	F(evd_disable, EVD) F(evd_enable, EVD) F(evd_free, EVD) \
	F(evd_modify_cno, EVD, CNO | OR_NULL) F(evd_post_se, EVD) F(evd_query, EVD) \
	F(evd_resize, EVD) F(evd_set_unwaitable, EVD) F(evd_wait, EVD) \
	F(get_consumer_context, ANY) F(get_handle_type, ANY) F(set_consumer_context, ANY) \
	F(ia_close, IA) F(ia_query, IA) \
	F(lmr_create, IA, PZ) F(lmr_create_of_an_lmr, IA, PZ, LMR) F(lmr_free, LMR) \
	F(lmr_query, LMR) F(lmr_sync_rdma_read, IA) F(lmr_sync_rdma_write, IA) \
	F(psp_create, IA, EVD) F(psp_create_any, IA, EVD) F(psp_free, PSP) F(psp_query, PSP) \
	F(pz_create, IA) F(pz_free, PZ) F(pz_query, PZ) \
	F(rmr_bind, RMR, EP) F(rmr_create, PZ) F(rmr_free, RMR) F(rmr_query, RMR) \
	F(rsp_create, IA, EP, EVD) F(rsp_free, RSP) F(rsp_query, RSP) \
	F(srq_create, IA, PZ) F(srq_free, SRQ) F(srq_post_recv, SRQ) F(srq_query, SRQ) \
	F(srq_resize, SRQ) F(srq_set_lw, SRQ)
/* clang-format on */

#define PARAMS 6

struct function {
	const char *name;
	call_fn call;
	int kinds[PARAMS + 1]; /* closed by NONE */
};

#define FUNCTION(fn, ...)                                                                          \
	static const struct function fn = { #fn, call_##fn, { __VA_ARGS__, NONE } };
FUNCTIONS(FUNCTION)

static void want_invalid(const struct function *f, DAT_HANDLE *h, int at, const char *what)
{
	DAT_RETURN ret = f->call(h);

	if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE)
		CHECK_FAIL("dat_%s with %s as handle %d: got 0x%08x, wanted DAT_INVALID_HANDLE",
			   f->name, what, at + 1, (unsigned int)ret);
}

/*
 * Tries values that never were handles: words that point at invalid memory, and the address of a
 * variable that holds a handle.
 */
static void try_garbage(const struct function *f, DAT_HANDLE *h, int at, DAT_HANDLE live)
{
	static uint64_t zeros[32], ones[32];
	DAT_HANDLE variable[8] = { live, live, live, live, live, live, live, live };
	char text[64] = "no handle at all, but some bytes of a text";

	memset(ones, 0xff, sizeof(ones));
	h[at] = zeros;
	want_invalid(f, h, at, "zeroed memory");
	h[at] = ones;
	want_invalid(f, h, at, "memory of ones");
	h[at] = variable;
	want_invalid(f, h, at, "the address of a handle variable");
	h[at] = (char *)live + 8;
	if (live != api.ia)
		want_invalid(f, h, at, "an address inside an object");
	h[at] = text;
	want_invalid(f, h, at, "a text");
	h[at] = (DAT_HANDLE)(uintptr_t)0x7ffe;
	want_invalid(f, h, at, "a number that is no IA");
}

static void try_kinds(const struct function *f, DAT_HANDLE *h, int at, DAT_HANDLE set[KINDS],
		      const char *how)
{
	int kind = f->kinds[at] & ~OR_NULL;
	char what[64];

	for (int k = 0; k < KINDS; k++) {
		if (!set[k] || (set == zoo.live && (k == kind || kind == ANY)))
			continue;
		snprintf(what, sizeof(what), "%s %s", how, kind_names[k]);
		h[at] = set[k];
		want_invalid(f, h, at, what);
	}
}

static DAT_HANDLE good(int kind, int at)
{
	kind &= ~OR_NULL;
	/* A call that takes two endpoints gets two different ones. */
	return kind == ANY ? zoo.live[EVD] : kind == EP && at == 1 ? zoo.other_ep : zoo.live[kind];
}

static void refuse_bad_handles(const struct function *f)
{
	DAT_HANDLE h[PARAMS] = { 0 };

	for (int at = 0; f->kinds[at] != NONE; at++)
		h[at] = good(f->kinds[at], at);
	for (int at = 0; f->kinds[at] != NONE; at++) {
		DAT_HANDLE live = h[at];

		if (!(f->kinds[at] & OR_NULL)) {
			h[at] = DAT_HANDLE_NULL;
			want_invalid(f, h, at, "NULL");
		}
		try_garbage(f, h, at, live);
		try_kinds(f, h, at, zoo.freed, "a freed");
		try_kinds(f, h, at, zoo.live, "a live");
		h[at] = live;
	}
}

#define TEST(fn, ...)                                                                              \
	static void fn##_refuses_bad_handles(void)                                                 \
	{                                                                                          \
		refuse_bad_handles(&fn);                                                           \
	}
FUNCTIONS(TEST)

/*
 * Creates the objects of another instance of the adapter, which is closed before the handles are
 * used.
 */
static void make_closed(DAT_HANDLE set[KINDS])
{
	struct api_buf live_buf = zoo.buf;
	DAT_IA_HANDLE live_ia = api.ia;
	DAT_PZ_HANDLE live_pz = api.pz;

	api.ia = api_open_another();
	api.pz = api_pz();
	make_all(set);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api.ia = live_ia;
	api.pz = live_pz;
	zoo.buf = live_buf;
}

static void every_function_refuses_the_handles_of_a_closed_ia(void)
{
	static const struct function *const all[] = {
#define POINTER(fn, ...) &fn,
		FUNCTIONS(POINTER)
	};
	DAT_HANDLE dead[KINDS];

	make_closed(dead);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct function *f = all[i];
		DAT_HANDLE h[PARAMS] = { 0 };

		for (int at = 0; f->kinds[at] != NONE; at++)
			h[at] = good(f->kinds[at], at);
		for (int at = 0; f->kinds[at] != NONE; at++) {
			try_kinds(f, h, at, dead, "a closed IA's");
			h[at] = good(f->kinds[at], at);
		}
	}
}

/* When no IA is open, the provider itself may be unloaded. */
static void no_function_crashes_after_the_last_close(void)
{
	DAT_EVD_HANDLE async = api.async;

	api_close();
	CHECK_DAT(dat_lmr_free(zoo.live[LMR]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_ep_free(zoo.live[EP]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_evd_free(zoo.live[EVD]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_evd_dequeue(async, &out.event), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_cno_wait(zoo.live[CNO], 0, &out.handle), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_pz_free(zoo.live[PZ]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_rmr_free(zoo.live[RMR]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_psp_free(zoo.live[PSP]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_rsp_free(zoo.live[RSP]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_cr_reject(zoo.live[CR]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_srq_free(zoo.live[SRQ]), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_ia_close(zoo.live[IA], DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_get_handle_type(zoo.live[EP], &out.type), DAT_INVALID_HANDLE);
}

static void live_objects_are_as_good_as_before(void)
{
	DAT_HANDLE_TYPE type;

	refuse_bad_handles(&ep_free);
	refuse_bad_handles(&evd_free);
	refuse_bad_handles(&lmr_free);
	refuse_bad_handles(&psp_free);
	for (int k = 0; k < KINDS; k++)
		CHECK_DAT(dat_get_handle_type(zoo.live[k], &type), DAT_SUCCESS);
	free_all(zoo.live);
}

/* The freed objects are created last, so that no later object can get the same handle. */
static void setup(void)
{
	struct api_buf live_buf;

	memset(&zoo, 0, sizeof(zoo));
	api_open();
	make_all(zoo.live);
	zoo.other_ep = make_ep();
	live_buf = zoo.buf;
	make_all(zoo.freed);
	zoo.freed[IA] = api_open_another();
	free_all(zoo.freed);
	zoo.buf = live_buf;
}

static const struct check_test tests[] = {
#define ENTRY(fn, ...) CHECK_TEST(fn##_refuses_bad_handles),
	FUNCTIONS(ENTRY) CHECK_TEST(every_function_refuses_the_handles_of_a_closed_ia),
	CHECK_TEST(no_function_crashes_after_the_last_close),
	CHECK_TEST(live_objects_are_as_good_as_before), CHECK_END
};

static const struct check_suite handles = {
	.name = "handles",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&handles);
