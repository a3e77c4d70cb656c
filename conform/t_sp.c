/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_*, dat_rsp_*: service points of both kinds, and the endpoints that they hold or create. */
#include <string.h>

#include "kit.h"

static DAT_RETURN psp_on(DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(t.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

/* An RSP and the endpoint that it holds. */
struct reserved {
	struct kit_end end;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	DAT_RSP_HANDLE rsp;
};

static void reserve(struct reserved *r)
{
	kit_end_b(&r->end, NULL);
	r->evd = kit_evd_b(8, DAT_EVD_CR_FLAG);
	r->qual = kit_unused_qual();
	MUST_RET(dat_rsp_create(kit_ia_b(), r->qual, r->end.ep, r->evd, &r->rsp), DAT_SUCCESS);
}

CLAUSE_PASSIVE("PSP_CREATE-01", "PSP_CREATE-05", "PSP_FREE-01", "PSP_FREE-06", "PSP_FREE-07",
	       "PSP_FREE-08", "RSP_CREATE-06", "PSP_QUERY-01")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_PSP_PARAM param;
	DAT_RSP_HANDLE rsp;
	struct kit_end end;
	struct reserved r;

	kit_end_a(&end, NULL);
	ABOUT("PSP_CREATE-01");
	MUST_RET(dat_psp_create(t.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
	MUST_RET(kit_connect(end.ep, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_reject(kit_cr(evd)), DAT_SUCCESS);
	ABOUT("PSP_QUERY-01");
	memset(&param, 0xa5, sizeof(param));
	CHECK_RET(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia && param.conn_qual == qual && param.evd_handle == evd);
	CHECK_NUM(param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	ABOUT("PSP_CREATE-05");
	CHECK_RET(psp_on(qual, evd), DAT_CONN_QUAL_IN_USE);
	reserve(&r);
	CHECK_RET(psp_on(r.qual, evd), DAT_CONN_QUAL_IN_USE);
	ABOUT("RSP_CREATE-06");
	kit_end(&end, NULL);
	CHECK_RET(dat_rsp_create(t.ia, qual, end.ep, evd, &rsp), DAT_CONN_QUAL_IN_USE);
	CHECK_RET(dat_rsp_create(t.ia, r.qual, end.ep, evd, &rsp), DAT_CONN_QUAL_IN_USE);
	CHECK_NUM(kit_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	ABOUT("PSP_FREE-01");
	CHECK_RET(dat_psp_free(psp), DAT_SUCCESS);
	ABOUT("PSP_FREE-08");
	CHECK_RET(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	ABOUT("PSP_FREE-06");
	CHECK_RET(dat_psp_create(t.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
	MUST_RET(dat_psp_free(psp), DAT_SUCCESS);
	ABOUT("PSP_FREE-07");
	CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
}

CLAUSE("PSP_CREATE-04", "PSP_CREATE-07", "PSP_ANY-04")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG), dto = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_PSP_HANDLE psp;

	ABOUT("PSP_CREATE-04");
	CHECK_RET(dat_psp_create(t.ia, qual, evd, (DAT_PSP_FLAGS)0x40, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_psp_create(t.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
	ABOUT("PSP_CREATE-07");
	CHECK_RET_IN(dat_psp_create(t.ia, qual, dto, DAT_PSP_CONSUMER_FLAG, &psp),
		     DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
	ABOUT("PSP_ANY-04");
	CHECK_RET(dat_psp_create_any(t.ia, &qual, evd, (DAT_PSP_FLAGS)0x40, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_psp_create_any(t.ia, NULL, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_psp_create_any(t.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
}

CLAUSE("PSP_CREATE-06", "PSP_ANY-06", "IA_QUERY-14")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_PSP_HANDLE psp;
	DAT_RETURN provider = t.prov.ep_creator == DAT_PSP_CREATES_EP_NEVER
				      ? DAT_MODEL_NOT_SUPPORTED
				      : DAT_SUCCESS;
	DAT_RETURN consumer = t.prov.ep_creator == DAT_PSP_CREATES_EP_ALWAYS
				      ? DAT_MODEL_NOT_SUPPORTED
				      : DAT_SUCCESS;

	ABOUT("IA_QUERY-14");
	CHECK_THAT(t.prov.ep_creator <= DAT_PSP_CREATES_EP_ALWAYS);
	ABOUT("PSP_CREATE-06");
	CHECK_RET(dat_psp_create(t.ia, qual, evd, DAT_PSP_PROVIDER_FLAG, &psp), provider);
	CHECK_RET(dat_psp_create(t.ia, kit_unused_qual(), evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  consumer);
	ABOUT("PSP_ANY-06");
	CHECK_RET(dat_psp_create_any(t.ia, &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp), provider);
	CHECK_RET(dat_psp_create_any(t.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), consumer);
}

CLAUSE_PASSIVE("PSP_CREATE-08", "PSP_CREATE-19")
{
	DAT_EVD_HANDLE evd = kit_evd(32, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual[2];
	DAT_PSP_HANDLE psp[2] = { kit_psp(evd, &qual[0]), kit_psp(evd, &qual[1]) };
	DAT_CR_HANDLE seen[10];
	struct kit_end end;

	for (int i = 0; i < 10; i++) {
		DAT_EVENT event;

		kit_end_a(&end, NULL);
		MUST_RET(kit_connect(end.ep, qual[i % 2]), DAT_SUCCESS);
		event = kit_event(evd);
		ABOUT("PSP_CREATE-08");
		MUST_NUM(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
		seen[i] = event.event_data.cr_arrival_event_data.cr_handle;
		for (int j = 0; j < i; j++)
			CHECK_THAT(seen[i] != seen[j]);
		ABOUT("PSP_CREATE-19");
		CHECK_THAT(event.event_data.cr_arrival_event_data.sp_handle.psp_handle ==
			   psp[i % 2]);
		CHECK_THAT(event.event_data.cr_arrival_event_data.conn_qual == qual[i % 2]);
	}
}

/* Connects to a PSP that creates the endpoint. Returns the request. */
static DAT_CR_HANDLE tentative(struct kit_end *active, DAT_EP_HANDLE *ep)
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;

	NEEDS(t.prov.ep_creator != DAT_PSP_CREATES_EP_NEVER, "ep_creator");
	MUST_RET(dat_psp_create_any(t.ia, &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp), DAT_SUCCESS);
	kit_end_a(active, NULL);
	MUST_RET(kit_connect(active->ep, qual), DAT_SUCCESS);
	cr = kit_cr(evd);
	memset(&param, 0, sizeof(param));
	MUST_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	*ep = param.local_ep_handle;
	MUST(*ep != DAT_HANDLE_NULL);
	return cr;
}

/* Gives a tentative endpoint what it needs. */
static void outfit(DAT_EP_HANDLE ep, struct kit_end *end)
{
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	end->ep = ep;
	param.pz_handle = t.pz;
	param.recv_evd_handle = end->recv = kit_evd(64, DAT_EVD_DTO_FLAG);
	param.request_evd_handle = end->request =
		kit_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	param.connect_evd_handle = end->connect = kit_evd(8, DAT_EVD_CONNECTION_FLAG);
	MUST_RET(dat_ep_modify(ep,
			       DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				       DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				       DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			       &param),
		 DAT_SUCCESS);
}

CLAUSE_PASSIVE("PSP_CREATE-13", "PSP_CREATE-14", "PSP_CREATE-15", "EP_FREE-04", "CR_QUERY-06",
	       "CR_ACCEPT-06", "EP_MODIFY-26")
{
	struct kit_end active, passive;
	struct reserved r;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr = tentative(&active, &ep);
	DAT_CR_PARAM cr_param;
	DAT_EP_PARAM param;

	reserve(&r);
	ABOUT("PSP_CREATE-13");
	CHECK_NUM(kit_state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(!param.pz_handle && !param.recv_evd_handle && !param.request_evd_handle &&
		   !param.connect_evd_handle);
	ABOUT("EP_FREE-04");
	CHECK_RET(dat_ep_free(ep), DAT_INVALID_STATE);
	ABOUT("CR_QUERY-06");
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &cr_param), DAT_SUCCESS);
	CHECK_THAT(cr_param.local_ep_handle == ep);
	kit_end(&passive, NULL);
	ABOUT("CR_ACCEPT-06");
	CHECK_REFUSED(dat_cr_accept(cr, passive.ep, 0, NULL));
	CHECK_NUM(kit_state(passive.ep), DAT_EP_STATE_UNCONNECTED);
	ABOUT("PSP_CREATE-14");
	outfit(ep, &passive);
	MUST_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.pz_handle == t.pz && param.connect_evd_handle == passive.connect);
	CHECK_RET(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	ABOUT("PSP_CREATE-15");
	kit_conn(passive.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_exchange(&active, &passive);
	ABOUT("EP_MODIFY-26");
	kit_exchange(&passive, &active);
	CHECK_NUM(kit_state(ep), DAT_EP_STATE_CONNECTED);
	ABOUT("CR_QUERY-06");
	kit_end_a(&active, NULL);
	MUST_RET(kit_connect(active.ep, r.qual), DAT_SUCCESS);
	CHECK_RET(dat_cr_query(kit_cr(r.evd), DAT_CR_FIELD_LOCAL_EP_HANDLE, &cr_param),
		  DAT_SUCCESS);
	CHECK_THAT(cr_param.local_ep_handle == r.end.ep);
}

CLAUSE_PASSIVE("EP_FREE-09")
{
	struct kit_end active;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr = tentative(&active, &ep);
	DAT_EP_PARAM param;

	MUST_RET(dat_cr_reject(cr), DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
}

CLAUSE_PASSIVE("PSP_ANY-01", "PSP_ANY-07", "PSP_ANY-08")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual[50];
	struct kit_end end;

	kit_end_a(&end, NULL);
	for (int i = 0; i < 50; i++) {
		DAT_PSP_HANDLE psp = kit_psp(evd, &qual[i]);
		DAT_PSP_PARAM param;

		ABOUT("PSP_ANY-08");
		CHECK_RET(dat_psp_query(psp, DAT_PSP_FIELD_CONN_QUAL, &param), DAT_SUCCESS);
		CHECK_THAT(param.conn_qual == qual[i]);
		ABOUT("PSP_ANY-07");
		CHECK_THAT(qual[i] >= 1024);
		for (int j = 0; j < i; j++)
			CHECK_THAT(qual[i] != qual[j]);
	}
	ABOUT("PSP_ANY-01");
	MUST_RET(kit_connect(end.ep, qual[49]), DAT_SUCCESS);
	CHECK_THAT(kit_cr(evd) != DAT_HANDLE_NULL);
}

CLAUSE_PASSIVE("PSP_FREE-04", "PSP_FREE-09")
{
	struct kit_pair p, other;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	kit_pair(&other, NULL);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	MUST_RET(dat_psp_free(p.psp), DAT_SUCCESS);
	ABOUT("PSP_FREE-04");
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &(DAT_CR_PARAM){ 0 }), DAT_SUCCESS);
	CHECK_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	ABOUT("PSP_FREE-09");
	MUST_RET(dat_psp_free(other.psp), DAT_SUCCESS);
	kit_exchange(&other.a, &other.b);
	CHECK_NUM(kit_state(other.a.ep), DAT_EP_STATE_CONNECTED);
}

/* Checks that the request was refused. For one that was dropped without an answer, the peer is unreachable. */
static void want_refused(const struct kit_end *active)
{
	DAT_EVENT event = kit_event(active->connect);

	CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		   event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	CHECK_THAT(event.event_data.connect_event_data.ep_handle == active->ep);
	if (event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE)
		judge_outcome("a request was dropped");
}

/* Frees a service point while a request arrives: either there is a CR, or the active side is refused. */
static void free_during_request(bool reserved)
{
	for (int i = 0; i < 20; i++) {
		struct reserved r;
		struct kit_end active, passive;
		DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
		DAT_CONN_QUAL qual;
		DAT_HANDLE sp;
		DAT_EVENT event;
		DAT_RETURN ret;

		kit_end_a(&active, NULL);
		kit_end(&passive, NULL);
		if (reserved) {
			reserve(&r);
			evd = r.evd;
			qual = r.qual;
			sp = r.rsp;
		} else {
			/* a qualifier that is not given to another program when it is free again */
			qual = kit_unused_qual();
			MUST_RET(dat_psp_create(kit_ia_b(), qual, evd, DAT_PSP_CONSUMER_FLAG, &sp),
				 DAT_SUCCESS);
		}
		MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
		for (volatile int spin = 0; spin < i * 3000; spin++)
			;
		ret = reserved ? dat_rsp_free(sp) : dat_psp_free(sp);
		/* an RSP may have freed itself with its request already */
		MUST(ret == DAT_SUCCESS || (reserved && DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE));
		MUST_SOON(kit_state(active.ep) == DAT_EP_STATE_DISCONNECTED ||
			  dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
		if (kit_state(active.ep) == DAT_EP_STATE_DISCONNECTED) {
			want_refused(&active);
			continue;
		}
		MUST_RET(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				       reserved ? DAT_HANDLE_NULL : passive.ep, 0, NULL),
			 DAT_SUCCESS);
		kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	CHECK_THAT(true);
}

CLAUSE_PASSIVE("PSP_FREE-05")
{
	free_during_request(false);
}

CLAUSE_PASSIVE("RSP_FREE-06", "RSP_FREE-05")
{
	ABOUT("RSP_FREE-06");
	free_during_request(true);
	ABOUT("RSP_FREE-05");	/* some of these RSPs had their request already */
	free_during_request(true);
}

/*
 * An RSP that has had its request has either freed itself, and the event names no RSP, or the event
 * names it, and it is freed once.
 */
static void used_up(const struct reserved *r, DAT_RSP_HANDLE shown)
{
	CHECK_THAT(shown == r->rsp || shown == DAT_HANDLE_NULL);
	if (shown == r->rsp)
		CHECK_RET(dat_rsp_free(r->rsp), DAT_SUCCESS);
	CHECK_RET(dat_rsp_free(r->rsp), DAT_INVALID_HANDLE);
}

CLAUSE_PASSIVE("RSP_CREATE-01", "RSP_CREATE-08", "RSP_CREATE-10", "RSP_CREATE-11", "RSP_CREATE-12",
	       "RSP_CREATE-13", "RSP_CREATE-14", "RSP_CREATE-16", "RSP_QUERY-01", "EP_FREE-02",
	       "EP_FREE-03", "EP_FREE-05")
{
	struct reserved r;
	struct kit_end active, other, late;
	DAT_RSP_PARAM param;
	DAT_CR_PARAM cr_param;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	reserve(&r);
	kit_end_a(&active, NULL);
	kit_end(&other, NULL);
	kit_end_a(&late, NULL);
	ABOUT("RSP_CREATE-01");
	CHECK_THAT(r.rsp != DAT_HANDLE_NULL);
	ABOUT("RSP_CREATE-08");
	CHECK_NUM(kit_state(r.end.ep), DAT_EP_STATE_RESERVED);
	ABOUT("EP_FREE-02");
	CHECK_RET(dat_ep_free(r.end.ep), DAT_INVALID_STATE);
	ABOUT("RSP_QUERY-01");
	CHECK_RET(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia && param.conn_qual == r.qual &&
		   param.evd_handle == r.evd && param.ep_handle == r.end.ep);
	ABOUT("RSP_CREATE-11");
	MUST_RET(kit_connect(active.ep, r.qual), DAT_SUCCESS);
	event = kit_event(r.evd);
	MUST_NUM(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param), DAT_SUCCESS);
	CHECK_THAT(cr_param.local_ep_handle == r.end.ep);
	ABOUT("RSP_CREATE-12");
	CHECK_NUM(kit_state(r.end.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ABOUT("RSP_CREATE-13");
	used_up(&r, event.event_data.cr_arrival_event_data.sp_handle.rsp_handle);
	ABOUT("EP_FREE-03");
	CHECK_RET(dat_ep_free(r.end.ep), DAT_INVALID_STATE);
	ABOUT("RSP_CREATE-10");
	MUST_RET(kit_connect(late.ep, r.qual), DAT_SUCCESS);
	kit_conn(late.connect, late.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	kit_empty(r.evd);
	ABOUT("RSP_CREATE-16");
	CHECK_REFUSED(dat_cr_accept(cr, other.ep, 0, NULL));
	ABOUT("RSP_CREATE-14");
	MUST_RET(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	kit_conn(r.end.connect, r.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_NUM(kit_state(r.end.ep), DAT_EP_STATE_CONNECTED);
	ABOUT("EP_FREE-05");
	kit_exchange(&active, &r.end);
}

CLAUSE("RSP_CREATE-05", "RSP_CREATE-07")
{
	struct kit_pair p;
	struct reserved r;
	struct kit_end active;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = kit_unused_qual();

	kit_pair(&p, NULL);
	kit_end(&active, NULL);
	reserve(&r);
	ABOUT("RSP_CREATE-05");
	CHECK_RET(dat_rsp_create(t.ia, qual, r.end.ep, r.evd, &rsp), DAT_INVALID_STATE);
	CHECK_RET(dat_rsp_create(t.ia, qual, p.a.ep, r.evd, &rsp), DAT_INVALID_STATE);
	MUST_RET(kit_connect(active.ep, r.qual), DAT_SUCCESS);
	kit_cr(r.evd);
	CHECK_RET(dat_rsp_create(t.ia, qual, active.ep, r.evd, &rsp), DAT_INVALID_STATE);
	CHECK_RET(dat_rsp_create(t.ia, qual, r.end.ep, r.evd, &rsp), DAT_INVALID_STATE);
	kit_disconnect(&p);
	CHECK_RET(dat_rsp_create(t.ia, qual, p.a.ep, r.evd, &rsp), DAT_INVALID_STATE);
	ABOUT("RSP_CREATE-07");
	kit_end(&active, NULL);
	CHECK_RET(dat_rsp_create(t.ia, p.qual, active.ep, r.evd, &rsp), DAT_CONN_QUAL_IN_USE);
	CHECK_NUM(kit_state(active.ep), DAT_EP_STATE_UNCONNECTED);
}

CLAUSE_PASSIVE("RSP_CREATE-09")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RSP_HANDLE rsp;
	DAT_CR_PARAM param;
	struct kit_end active;
	DAT_RETURN ret = dat_rsp_create(t.ia, qual, DAT_HANDLE_NULL, evd, &rsp);

	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_MODEL_NOT_SUPPORTED);
	if (ret != DAT_SUCCESS)
		return;
	kit_end_a(&active, NULL);
	MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_query(kit_cr(evd), DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.local_ep_handle != DAT_HANDLE_NULL);
}

CLAUSE_EACH("RSP_CREATE-15", "CR_REJECT-06", "EP_FREE-08")
{
	struct reserved r;
	struct kit_pair p;
	struct kit_end active;

	kit_pair_unconnected(&p, NULL);
	reserve(&r);
	kit_end_a(&active, NULL);
	MUST_RET(kit_connect(active.ep, r.qual), DAT_SUCCESS);
	ABOUT("RSP_CREATE-15");
	MUST_RET(dat_cr_reject(kit_cr(r.evd)), DAT_SUCCESS);
	CHECK_NUM(kit_state(r.end.ep), DAT_EP_STATE_UNCONNECTED);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ABOUT("CR_REJECT-06");
	CHECK_NUM(kit_state(r.end.ep), DAT_EP_STATE_UNCONNECTED);
	p.b = r.end;
	kit_pair_connect(&p);
	kit_exchange(&p.a, &p.b);
	ABOUT("EP_FREE-08");
	reserve(&r);
	kit_end_a(&active, NULL);
	MUST_RET(kit_connect(active.ep, r.qual), DAT_SUCCESS);
	MUST_RET(dat_cr_reject(kit_cr(r.evd)), DAT_SUCCESS);
	CHECK_RET(dat_ep_free(r.end.ep), DAT_SUCCESS);
}

CLAUSE_PASSIVE("RSP_FREE-01", "RSP_FREE-03", "RSP_FREE-04", "RSP_FREE-07", "RSP_FREE-08",
	       "EP_FREE-07")
{
	struct reserved r;
	struct kit_end active, other;
	DAT_RSP_HANDLE again;

	reserve(&r);
	kit_end_a(&active, NULL);
	kit_end(&other, NULL);
	ABOUT("RSP_FREE-01");
	CHECK_RET(dat_rsp_free(r.rsp), DAT_SUCCESS);
	ABOUT("RSP_FREE-03");
	CHECK_NUM(kit_state(r.end.ep), DAT_EP_STATE_UNCONNECTED);
	ABOUT("RSP_FREE-07");
	CHECK_RET(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &(DAT_RSP_PARAM){ 0 }),
		  DAT_INVALID_HANDLE);
	ABOUT("RSP_FREE-04");
	MUST_RET(kit_connect(active.ep, r.qual), DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ABOUT("RSP_FREE-08");
	CHECK_RET(dat_rsp_create(t.ia, r.qual, other.ep, r.evd, &again), DAT_SUCCESS);
	MUST_RET(dat_rsp_free(again), DAT_SUCCESS);
	CHECK_RET(dat_evd_free(r.evd), DAT_SUCCESS);
	ABOUT("EP_FREE-07");
	CHECK_RET(dat_ep_free(r.end.ep), DAT_SUCCESS);
	ABOUT("RSP_FREE-03");
	CHECK_RET(kit_connect(other.ep, r.qual), DAT_SUCCESS);	/* another program may listen there */
}
