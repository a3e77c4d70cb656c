/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_*: windows onto regions, and what their contexts allow before, between and after the binds. */
#include <string.h>

#include "kit.h"

#define SIZE	((size_t)16384)
#define REMOTE                                                                                     \
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

/* b binds windows onto `target`, and a accesses it through them. */
static struct {
	struct kit_pair p;
	struct kit_buf own, target;
	DAT_RMR_HANDLE rmr;
} w;

static void make_rmr(void)
{
	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	w.own = kit_buf_a(SIZE, KIT_SINK);
	w.target = kit_buf(SIZE, KIT_REMOTE);
	MUST_RET(dat_rmr_create(t.pz, &w.rmr), DAT_SUCCESS);
}

static void setup(void)
{
	make_rmr();
	kit_pair(&w.p, NULL);
}

static DAT_RETURN try_bind(DAT_LMR_TRIPLET seg, DAT_MEM_PRIV_FLAGS priv, uint64_t cookie,
			   DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(w.rmr, &seg, priv, w.p.b.ep, kit_cookie(cookie), flags, &context);
}

static void want_bind(uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = kit_event(w.p.b.request);
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data = &event.event_data.rmr_completion_event_data;

	CHECK_NUM(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	CHECK_THAT(data->rmr_handle == w.rmr);
	CHECK_NUM(data->user_cookie.as_64, cookie);
	CHECK_NUM(data->status, status);
}

static DAT_RMR_CONTEXT bound(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_LMR_TRIPLET seg = kit_seg(&w.target, offset, length);
	DAT_RMR_CONTEXT context = 0;

	MUST_RET(dat_rmr_bind(w.rmr, &seg, priv, w.p.b.ep, kit_cookie(4), DEFAULT, &context),
		 DAT_SUCCESS);
	want_bind(4, DAT_RMR_BIND_SUCCESS);
	return context;
}

static DAT_RMR_TRIPLET to(DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
	DAT_RMR_TRIPLET triplet = kit_target(&w.target, offset, length);

	triplet.rmr_context = context;
	return triplet;
}

static DAT_RETURN reach(DAT_RMR_CONTEXT context, size_t offset, size_t length, bool write)
{
	DAT_LMR_TRIPLET seg = kit_seg(&w.own, 0, length);

	return write ? kit_write(w.p.a.ep, seg, to(context, offset, length), 1, DEFAULT)
		     : kit_read(w.p.a.ep, seg, to(context, offset, length), 1, DEFAULT);
}

static void want_reach(DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
	kit_buf_fill(&w.own, 0, length, 6);
	MUST_RET(reach(context, offset, length, true), DAT_SUCCESS);
	kit_dto(w.p.a.request, w.p.a.ep, 1, DAT_DTO_SUCCESS);
	CHECK_SOON(kit_filled(w.target.mem + offset, length, 6));
	kit_fill(w.target.mem + offset, length, 7);
	MUST_RET(reach(context, offset, length, false), DAT_SUCCESS);
	kit_dto(w.p.a.request, w.p.a.ep, 1, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_buf_filled(&w.own, 0, length, 7));
}

/* Checks that the access is refused, nothing moves, and the connection breaks; then connects again. */
static void want_no_reach(DAT_RMR_CONTEXT context, size_t offset, size_t length, bool write)
{
	kit_fill(w.target.mem, SIZE, 8);
	kit_buf_fill(&w.own, 0, SIZE, 9);
	MUST_RET(reach(context, offset, length, write), DAT_SUCCESS);
	kit_remote_access(&w.p, 1, write);
	CHECK_THAT(kit_filled(w.target.mem, SIZE, 8) && kit_buf_filled(&w.own, 0, SIZE, 9));
	kit_reconnect(&w.p);
}

CLAUSE("RMR_CREATE-01", "RMR_QUERY-01", "RMR_CREATE-04", "RMR_FREE-01", "RMR_FREE-06", "PZ_FREE-05")
{
	DAT_PZ_HANDLE pz = kit_pz();
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_PARAM param = { .ia_handle = KIT_BAD, .pz_handle = KIT_BAD };

	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	ABOUT("RMR_CREATE-01");
	MUST_RET(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
	CHECK_THAT(rmr != DAT_HANDLE_NULL);
	ABOUT("RMR_QUERY-01");
	for (unsigned int bit = 1; bit < DAT_RMR_FIELD_ALL; bit <<= 1)
		CHECK_RET(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)bit, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia && param.pz_handle == pz);
	ABOUT("RMR_CREATE-04");
	CHECK_RET(dat_pz_free(pz), DAT_INVALID_STATE);
	ABOUT("PZ_FREE-05");
	CHECK_RET(dat_pz_free(pz), DAT_INVALID_STATE);
	ABOUT("RMR_FREE-01");
	CHECK_RET(dat_rmr_free(rmr), DAT_SUCCESS);
	ABOUT("RMR_FREE-06");
	CHECK_RET(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_RET(dat_rmr_free(rmr), DAT_INVALID_HANDLE);
	ABOUT("PZ_FREE-05");
	CHECK_RET(dat_pz_free(pz), DAT_SUCCESS);
}

CLAUSE("RMR_CREATE-02")
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_RMR_HANDLE rmr;

	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	for (int i = 0; i < 1000 && ret == DAT_SUCCESS; i++)
		ret = dat_rmr_create(t.pz, &rmr);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

static int work_on_rmrs(int who)
{
	DAT_RMR_HANDLE rmr;
	int failures = 0;

	(void)who;
	for (int i = 0; i < 200; i++) {
		failures += dat_rmr_create(t.pz, &rmr) != DAT_SUCCESS;
		failures += dat_rmr_free(rmr) != DAT_SUCCESS;
	}
	return failures;
}

CLAUSE("RMR_CREATE-05")
{
	NEEDS(t.prov.is_thread_safe, "is_thread_safe");
	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	CHECK_NUM(kit_together(work_on_rmrs), 0);
}

CLAUSE("RMR_BIND-06")
{
	DAT_RMR_HANDLE rmr;

	NEEDS(t.attr.max_rmrs == 0, "max_rmrs");
	CHECK_RET(dat_rmr_create(t.pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE_PASSIVE("RMR_BIND-01", "RMR_BIND-10", "RMR_BIND-23", "RMR_QUERY-04")
{
	static const uint64_t cookies[] = { 0, 1, ~0ull, 0xfedcba9876543210 };
	DAT_RMR_CONTEXT context = 0;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_PARAM param;

	setup();
	seg = kit_seg(&w.target, 100, 1000);
	ABOUT("RMR_BIND-01");
	MUST_RET(dat_rmr_bind(w.rmr, &seg, REMOTE, w.p.b.ep, kit_cookie(3), DEFAULT, &context),
		 DAT_SUCCESS);
	CHECK_THAT(context != 0);
	ABOUT("RMR_BIND-10");
	want_bind(3, DAT_RMR_BIND_SUCCESS);
	kit_empty(w.p.b.recv);
	ABOUT("RMR_QUERY-04");
	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_rmr_query(w.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia && param.pz_handle == t.pz);
	CHECK_NUM(param.rmr_context, context);
	CHECK_NUM(param.mem_priv, REMOTE);
	CHECK_NUM(param.lmr_triplet.lmr_context, seg.lmr_context);
	CHECK_THAT(param.lmr_triplet.virtual_address == seg.virtual_address);
	CHECK_NUM(param.lmr_triplet.segment_length, 1000);
	ABOUT("RMR_BIND-23");
	for (int i = 0; i < 4; i++) {
		MUST_RET(try_bind(seg, REMOTE, cookies[i], DEFAULT), DAT_SUCCESS);
		want_bind(cookies[i], DAT_RMR_BIND_SUCCESS);
	}
}

/* No completion is reaped, so binds use up the depth that was requested. */
CLAUSE_PASSIVE("RMR_BIND-02")
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_LMR_TRIPLET seg;
	int taken = 0;

	setup();
	seg = kit_seg(&w.target, 0, 64);
	while (taken < 60 && (ret = try_bind(seg, REMOTE, 1, DEFAULT)) == DAT_SUCCESS)
		taken++;
	CHECK_RET_IN(ret, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
	CHECK_THAT(taken >= kit_attr().max_request_dtos);
	for (int i = 0; i < taken; i++)
		want_bind(1, DAT_RMR_BIND_SUCCESS);
	CHECK_RET(try_bind(seg, REMOTE, 2, DEFAULT), DAT_SUCCESS);
}

CLAUSE_PASSIVE("RMR_BIND-03", "RMR_BIND-07", "RMR_BIND-09")
{
	struct kit_buf ro, wo, gone;
	DAT_RETURN ret;

	setup();
	ro = kit_region(t.pz, w.target.mem, SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	wo = kit_region(t.pz, w.target.mem, SIZE, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	gone = kit_buf(SIZE, KIT_REMOTE);
	MUST_RET(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	ABOUT("RMR_BIND-03");
	CHECK_RET(try_bind(kit_seg(&w.target, 0, SIZE + 8192), REMOTE, 1, DEFAULT),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(try_bind(kit_seg(&w.target, (size_t)-8192, 64), REMOTE, 1, DEFAULT),
		  DAT_INVALID_PARAMETER);
	CHECK_REFUSED(try_bind(kit_seg(&gone, 0, 64), REMOTE, 1, DEFAULT));
	ABOUT("RMR_BIND-07");
	CHECK_RET(try_bind(kit_seg(&ro, 0, 64), DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 1, DEFAULT),
		  DAT_PRIVILEGES_VIOLATION);
	/* if the transport has no privilege for local reads, the region needs none */
	ret = try_bind(kit_seg(&wo, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG, 1, DEFAULT);
	if (ret == DAT_SUCCESS)
		want_bind(1, DAT_RMR_BIND_SUCCESS);
	else
		CHECK_RET(ret, DAT_PRIVILEGES_VIOLATION);
	judge_outcome("remote read without LOCAL_READ: %s", judge_ret_name(ret));
	ABOUT("RMR_BIND-09");
	CHECK_RET(try_bind(kit_seg(&w.target, 0, 64), (DAT_MEM_PRIV_FLAGS)0x100, 1, DEFAULT),
		  DAT_INVALID_PARAMETER);
	ret = try_bind(kit_seg(&w.target, 0, 64), DAT_MEM_PRIV_LOCAL_READ_FLAG, 1, DEFAULT);
	if (ret == DAT_SUCCESS)
		want_bind(1, DAT_RMR_BIND_SUCCESS);
	else
		CHECK_RET(ret, DAT_INVALID_PARAMETER);
	judge_outcome("LOCAL_READ: %s", judge_ret_name(ret));
	kit_empty(w.p.b.request);
	CHECK_NUM(kit_state(w.p.b.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE_PASSIVE("RMR_BIND-04")
{
	DAT_LMR_TRIPLET seg;

	setup();
	seg = kit_seg(&w.target, 0, 64);
	seg.lmr_context ^= 0x5a5a5a00;
	CHECK_REFUSED(try_bind(seg, REMOTE, 1, DEFAULT));
	kit_empty(w.p.b.request);
}

CLAUSE("RMR_BIND-05")
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_CONTEXT context;
	struct kit_at at;

	make_rmr();
	seg = kit_seg(&w.target, 0, 64);
	for (int i = 0; i < KIT_STATES; i++) {
		if (kit_states[i] == DAT_EP_STATE_CONNECTED ||
		    kit_states[i] == DAT_EP_STATE_DISCONNECTED || !kit_enter(&at, kit_states[i]))
			continue;
		CHECK_RET(
			dat_rmr_bind(w.rmr, &seg, REMOTE, at.ep, kit_cookie(1), DEFAULT, &context),
			DAT_INVALID_STATE);
		CHECK_NUM(kit_state(at.ep), kit_states[i]);
	}
	CHECK_RET(dat_lmr_free(w.target.lmr), DAT_SUCCESS);	/* nothing was bound */
}

CLAUSE_PASSIVE("RMR_BIND-08")
{
	DAT_LMR_TRIPLET seg, other_seg;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE alien;
	struct kit_buf other;
	DAT_PZ_HANDLE pz;

	NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
	setup();
	pz = kit_pz();
	other = kit_region(pz, w.target.mem, SIZE, KIT_REMOTE);
	seg = kit_seg(&w.target, 0, 64);
	other_seg = kit_seg(&other, 0, 64);
	MUST_RET(dat_rmr_create(pz, &alien), DAT_SUCCESS);
	CHECK_RET(try_bind(other_seg, REMOTE, 1, DEFAULT), DAT_PROTECTION_VIOLATION);
	CHECK_RET(dat_rmr_bind(alien, &seg, REMOTE, w.p.b.ep, kit_cookie(1), DEFAULT, &context),
		  DAT_PROTECTION_VIOLATION);
	CHECK_RET(
		dat_rmr_bind(alien, &other_seg, REMOTE, w.p.b.ep, kit_cookie(1), DEFAULT, &context),
		DAT_PROTECTION_VIOLATION);
	kit_empty(w.p.b.request);
}

/* An endpoint in another protection zone than the window gives its peer no access to the window. */
static void other_zone(bool write)
{
	DAT_EP_ATTR attr = kit_attr();
	struct kit_pair inside;
	DAT_RMR_CONTEXT context;
	DAT_PZ_HANDLE pz;

	NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
	setup();
	pz = kit_pz();
	context = bound(0, 4096, REMOTE);
	inside = w.p;
	kit_pair_unconnected(&w.p, NULL);
	MUST_RET(dat_ep_free(w.p.b.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_create(t.ia, pz, w.p.b.recv, w.p.b.request, w.p.b.connect, &attr, &w.p.b.ep),
		 DAT_SUCCESS);
	kit_pair_connect(&w.p);
	want_no_reach(context, 0, 64, write);
	w.p = inside;	/* which shows that the window is still bound */
	want_reach(context, 0, 4096);
}

CLAUSE_PASSIVE("EP_RDMA_WRITE-10") { other_zone(true); }
CLAUSE_PASSIVE("EP_RDMA_READ-10") { other_zone(false); }

CLAUSE_PASSIVE("RMR_BIND-11")
{
	struct kit_waiter waiter;

	setup();
	kit_wait_start(&waiter, w.p.b.request, 1);
	MUST_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 1, DEFAULT), DAT_SUCCESS);
	kit_wait_end(&waiter);
	CHECK_RET(waiter.ret, DAT_SUCCESS);
	CHECK_NUM(waiter.event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
}

CLAUSE_PASSIVE("RMR_BIND-12", "RMR_BIND-14")
{
	DAT_RMR_CONTEXT first, second;

	setup();
	ABOUT("RMR_BIND-12");
	first = bound(0, 4096, REMOTE);
	second = bound(0, 4096, REMOTE);
	CHECK_THAT(first != second && first != 0 && second != 0);
	ABOUT("RMR_BIND-14");
	want_reach(second, 0, 4096);
	want_no_reach(first, 0, 64, true);
	want_no_reach(first, 0, 64, false);
	want_reach(second, 0, 64);
}

CLAUSE_PASSIVE("RMR_BIND-13", "RMR_BIND-24")
{
	DAT_RMR_CONTEXT context;

	setup();
	ABOUT("RMR_BIND-13");
	context = bound(1000, 5000, REMOTE);
	want_reach(context, 1000, 5000);
	want_reach(context, 1003, 17);
	want_no_reach(context, 999, 100, true);
	want_no_reach(context, 5990, 11, true);
	want_no_reach(context, 5990, 11, false);
	want_reach(context, 5990, 10);
	want_no_reach(bound(0, 4096, DAT_MEM_PRIV_REMOTE_READ_FLAG), 0, 64, true);
	if (judge_reads_are_checked())
		want_no_reach(bound(0, 4096, DAT_MEM_PRIV_REMOTE_WRITE_FLAG), 0, 64, false);
	ABOUT("RMR_BIND-24");
	context = bound(0, 4096, DAT_MEM_PRIV_NONE_FLAG);
	want_no_reach(context, 0, 64, true);
	NEEDS_READ_RIGHT();
	want_no_reach(context, 0, 64, false);
}

/* Sends the context without waiting for the bind: the send has a fence. */
CLAUSE_PASSIVE("RMR_BIND-15")
{
	setup();
	kit_exchange(&w.p.a, &w.p.b);	/* on iWARP b must not be the first to send */
	for (uint32_t i = 0; i < 300; i++) {
		DAT_LMR_TRIPLET seg = kit_seg(&w.target, 0, 4096);
		DAT_RMR_CONTEXT context;
		uint32_t got;

		MUST_RET(kit_recv(w.p.a.ep, &w.own, 0, 64, i), DAT_SUCCESS);
		MUST_RET(dat_rmr_bind(w.rmr, &seg, REMOTE, w.p.b.ep, kit_cookie(i),
				      DAT_COMPLETION_SUPPRESS_FLAG, &context),
			 DAT_SUCCESS);
		memcpy(w.target.mem + 8192, &context, 4);
		MUST_RET(kit_send(w.p.b.ep, &w.target, 8192, 4, i, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_SUCCESS);
		kit_dto(w.p.a.recv, w.p.a.ep, i, DAT_DTO_SUCCESS);
		kit_buf_read(&w.own, 0, &got, 4);
		MUST_NUM(got, context);
		MUST_RET(reach(got, i % 4000, 4, true), DAT_SUCCESS);
		kit_dto(w.p.a.request, w.p.a.ep, 1, DAT_DTO_SUCCESS);
		kit_dto(w.p.b.request, w.p.b.ep, i, DAT_DTO_SUCCESS);
	}
	CHECK_NUM(kit_state(w.p.a.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE_PASSIVE("RMR_BIND-17", "RMR_BIND-21", "LMR_FREE-03", "LMR_FREE-04", "LMR_FREE-05")
{
	DAT_RMR_CONTEXT old;

	setup();
	old = bound(0, 4096, REMOTE);
	ABOUT("RMR_BIND-21");
	CHECK_RET(dat_lmr_free(w.target.lmr), DAT_INVALID_STATE);
	ABOUT("LMR_FREE-03");
	CHECK_RET(dat_lmr_free(w.target.lmr), DAT_INVALID_STATE);
	ABOUT("LMR_FREE-04");
	want_reach(old, 0, 4096);
	ABOUT("RMR_BIND-17");
	MUST_RET(try_bind(kit_seg(&w.target, 0, 0), REMOTE, 5, DEFAULT), DAT_SUCCESS);
	want_bind(5, DAT_RMR_BIND_SUCCESS);
	want_no_reach(old, 0, 64, true);
	want_no_reach(old, 0, 64, false);
	ABOUT("LMR_FREE-05");
	CHECK_RET(dat_lmr_free(w.target.lmr), DAT_SUCCESS);
	ABOUT("RMR_BIND-17");
	CHECK_THAT(w.rmr != DAT_HANDLE_NULL);
}

/* The window is bound to another region, so the first one can be freed; the other one only when the window is freed. */
CLAUSE_PASSIVE("LMR_FREE-05", "RMR_FREE-02")
{
	struct kit_buf other;

	setup();
	other = kit_buf(SIZE, KIT_REMOTE);
	bound(0, 4096, REMOTE);
	MUST_RET(try_bind(kit_seg(&other, 0, 4096), REMOTE, 5, DEFAULT), DAT_SUCCESS);
	want_bind(5, DAT_RMR_BIND_SUCCESS);
	ABOUT("LMR_FREE-05");
	CHECK_RET(dat_lmr_free(w.target.lmr), DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(other.lmr), DAT_INVALID_STATE);
	ABOUT("RMR_FREE-02");
	CHECK_RET(dat_rmr_free(w.rmr), DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(other.lmr), DAT_SUCCESS);
}

CLAUSE_PASSIVE("RMR_BIND-18", "RMR_BIND-19")
{
	DAT_EP_ATTR attr = kit_attr();
	DAT_EVENT event;

	make_rmr();
	kit_pair(&w.p, NULL);
	ABOUT("RMR_BIND-18");
	CHECK_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 1, DAT_COMPLETION_UNSIGNALLED_FLAG),
		  DAT_INVALID_PARAMETER);
	kit_empty(w.p.b.request);
	ABOUT("RMR_BIND-19");
	CHECK_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 1, DAT_COMPLETION_SUPPRESS_FLAG),
		  DAT_SUCCESS);
	MUST_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 2, DEFAULT), DAT_SUCCESS);
	want_bind(2, DAT_RMR_BIND_SUCCESS);
	kit_quiet(w.p.b.request);
	ABOUT("RMR_BIND-18");
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	kit_pair(&w.p, &attr);
	CHECK_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 3, DAT_COMPLETION_UNSIGNALLED_FLAG),
		  DAT_SUCCESS);
	CHECK_SOON(dat_evd_dequeue(w.p.b.request, &event) == DAT_SUCCESS);
	CHECK_NUM(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	CHECK_NUM(event.event_data.rmr_completion_event_data.user_cookie.as_64, 3);
}

CLAUSE_PASSIVE("RMR_BIND-20")
{
	setup();
	kit_disconnect(&w.p);
	MUST_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 6, DEFAULT), DAT_SUCCESS);
	MUST_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, 7, DAT_COMPLETION_SUPPRESS_FLAG),
		 DAT_SUCCESS);
	want_bind(6, DAT_RMR_BIND_FAILURE);
	want_bind(7, DAT_RMR_BIND_FAILURE);
	CHECK_RET(dat_lmr_free(w.target.lmr), DAT_SUCCESS);
}

CLAUSE_PASSIVE("RMR_FREE-04")
{
	DAT_RMR_CONTEXT context;

	setup();
	context = bound(0, 4096, REMOTE);
	want_reach(context, 0, 4096);
	MUST_RET(dat_rmr_free(w.rmr), DAT_SUCCESS);
	want_no_reach(context, 0, 64, true);
	want_no_reach(context, 0, 64, false);
}

CLAUSE_PASSIVE("RMR_FREE-05")
{
	int refused = 0;

	NEEDS_REFUSALS();
	setup();
	for (int i = 0; i < 20; i++) {
		DAT_RMR_CONTEXT context = bound(0, SIZE, REMOTE);
		DAT_EVENT event;

		MUST_RET(reach(context, 0, SIZE, true), DAT_SUCCESS);
		CHECK_RET(dat_rmr_free(w.rmr), DAT_SUCCESS);
		MUST_RET(dat_rmr_create(t.pz, &w.rmr), DAT_SUCCESS);
		event = kit_event(w.p.a.request);
		if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
			continue;
		refused++;
		CHECK_NUM(event.event_data.dto_completion_event_data.status,
			  DAT_DTO_ERR_REMOTE_ACCESS);
		kit_conn(w.p.a.connect, w.p.a.ep, DAT_CONNECTION_EVENT_BROKEN);
		kit_over(w.p.b.connect, w.p.b.ep);
		kit_reconnect(&w.p);
	}
	judge_outcome("%d of 20 refused", refused);
}

/* Binds take part in the order of requests. */
CLAUSE_PASSIVE("EP_SEND-19")
{
	struct kit_buf there;

	setup();
	there = kit_buf_a(SIZE, KIT_REMOTE);
	for (uint64_t i = 0; i < 4; i++)
		MUST_RET(kit_recv(w.p.a.ep, &w.own, 0, 64, i), DAT_SUCCESS);
	for (uint64_t i = 0; i < 16; i += 4) {
		MUST_RET(kit_send(w.p.b.ep, &w.target, 0, 64, i, DEFAULT), DAT_SUCCESS);
		MUST_RET(try_bind(kit_seg(&w.target, 0, 64), REMOTE, i + 1, DEFAULT), DAT_SUCCESS);
		MUST_RET(kit_write(w.p.b.ep, kit_seg(&w.target, 0, SIZE),
				   kit_target(&there, 0, SIZE), i + 2, DEFAULT),
			 DAT_SUCCESS);
		MUST_RET(kit_read(w.p.b.ep, kit_seg(&w.target, 0, SIZE),
				  kit_target(&there, 0, SIZE), i + 3, DEFAULT),
			 DAT_SUCCESS);
	}
	for (uint64_t i = 0; i < 16; i++)
		if (i % 4 == 1)
			want_bind(i, DAT_RMR_BIND_SUCCESS);
		else
			kit_dto(w.p.b.request, w.p.b.ep, i, DAT_DTO_SUCCESS);
}
