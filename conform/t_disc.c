/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of connections: dat_ep_disconnect, _reset, _free, flushes, broken connections; and
 * dat_ep_dup_connect.
 */
#include <string.h>

#include "kit.h"

static void post_recvs(struct kit_end *end, int n)
{
	struct kit_buf buf = kit_buf_of(end, 4096, KIT_LOCAL);

	for (int i = 1; i <= n; i++)
		MUST_RET(kit_recv(end->ep, &buf, 0, 64, (uint64_t)i), DAT_SUCCESS);
}

/*
 * Checks that everything posted with cookies 1..n completes, in order, and that nothing succeeds
 * after the first failure.
 */
static void want_all(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, int n)
{
	bool failed = false;

	for (int i = 1; i <= n; i++) {
		DAT_EVENT event = kit_event(evd);
		DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

		MUST_NUM(event.event_number, DAT_DTO_COMPLETION_EVENT);
		MUST(data->ep_handle == ep);
		CHECK_NUM(data->user_cookie.as_64, i);
		CHECK_THAT(!failed || data->status != DAT_DTO_SUCCESS);
		failed |= data->status != DAT_DTO_SUCCESS;
	}
	kit_empty(evd);
}

CLAUSE_EACH("EP_DISC-01", "EP_DISC-08", "EP_DISC-09", "EP_DISC-10", "EP_DISC-11", "EP_DISC-07",
	    "EP_CREATE-14")
{
	struct kit_pair p;

	for (int i = 0; i < 2; i++) {
		kit_pair(&p, NULL);
		ABOUT("EP_DISC-01");
		MUST_RET(dat_ep_disconnect(p.a.ep,
					   i ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG),
			 DAT_SUCCESS);
		ABOUT("EP_DISC-08");
		kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		ABOUT("EP_DISC-09");
		CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
		ABOUT("EP_DISC-10");
		kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
		ABOUT("EP_DISC-07");
		CHECK_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		CHECK_RET(dat_ep_disconnect(p.b.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
		ABOUT("EP_DISC-11");
		kit_quiet(p.a.connect);
		kit_quiet(p.b.connect);
		ABOUT("EP_CREATE-14");
		kit_empty(p.a.recv);
		kit_empty(p.a.request);
	}
}

CLAUSE_PASSIVE("EP_DISC-03", "EP_DISC-05", "EP_DISC-06")
{
	static const DAT_CLOSE_FLAGS flags[] = { DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG };
	struct kit_pair p;
	struct kit_end active;
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	kit_pair(&p, NULL);
	ABOUT("EP_DISC-03");
	CHECK_RET(dat_ep_disconnect(p.a.ep, (DAT_CLOSE_FLAGS)0x40), DAT_INVALID_PARAMETER);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	kit_end_a(&active, NULL);
	kit_end(&p.b, NULL);
	for (int i = 0; i < 2; i++) {
		ABOUT("EP_DISC-05");
		CHECK_RET(dat_ep_disconnect(p.b.ep, flags[i]), DAT_INVALID_STATE);
		ABOUT("EP_DISC-06");
		CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_UNCONNECTED);
	}
	MUST_RET(dat_rsp_create(t.ia, qual, p.b.ep, p.cr_evd, &rsp), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ABOUT("EP_DISC-05");
		CHECK_RET(dat_ep_disconnect(p.b.ep, flags[i]), DAT_INVALID_STATE);
		ABOUT("EP_DISC-06");
		CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_RESERVED);
	}
	MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	for (int i = 0; i < 2; i++) {
		ABOUT("EP_DISC-05");
		CHECK_RET(dat_ep_disconnect(p.b.ep, flags[i]), DAT_INVALID_STATE);
		ABOUT("EP_DISC-06");
		CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	}
	MUST_RET(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* No receive is posted for the messages, so a graceful disconnect cannot finish by itself. */
static void stuck_pair(struct kit_pair *p, int sends, DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_ATTR attr = kit_attr_long();
	struct kit_buf buf = kit_buf_a(attr.max_message_size, KIT_LOCAL);

	kit_pair(p, &attr);
	for (int i = 1; i <= sends; i++)
		MUST_RET(kit_send(p->a.ep, &buf, 0, attr.max_message_size, (uint64_t)i, flags),
			 DAT_SUCCESS);
}

/*
 * Returns true if the provider holds a message until there is a receive; with others such a send
 * breaks the connection.
 */
static bool holds_messages(struct kit_pair *p)
{
	kit_sleep_ms(4 * t.quiet_ms);
	return kit_state(p->a.ep) == DAT_EP_STATE_CONNECTED;
}

#define WAITS_FOR_RECV                                                                             \
	"messages that find no receive: they do not wait (receiver not ready, AMB-47)"

/*
 * Sends six messages, of which `receives` find a receive, and disconnects abruptly: everything
 * completes in order, and what was not executed is flushed.
 */
static void abrupt_end(int receives)
{
	struct kit_pair p;
	DAT_EP_ATTR attr = kit_attr_long();
	struct kit_buf buf = kit_buf_a(attr.max_message_size, KIT_LOCAL);
	bool flushed = false;

	kit_pair(&p, &attr);
	post_recvs(&p.a, 5);
	post_recvs(&p.b, receives);
	for (int i = 1; i <= 6; i++)
		MUST_RET(kit_send(p.a.ep, &buf, 0, i <= receives ? 64 : attr.max_message_size,
				  (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_SUCCESS);
	if (receives < 6)
		NEEDS(holds_messages(&p), WAITS_FOR_RECV);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ABOUT("EP_DISC-13");
	for (int i = 1; i <= 6; i++) {
		DAT_EVENT event = kit_event(p.a.request);
		DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

		ABOUT("EP_DISC-15");
		CHECK_NUM(data->user_cookie.as_64, i);
		ABOUT("EP_DISC-14");
		CHECK_THAT(!flushed || data->status != DAT_DTO_SUCCESS);
		flushed |= data->status != DAT_DTO_SUCCESS;
		ABOUT("EP_DISC-13");
		CHECK_THAT(data->status == DAT_DTO_SUCCESS || data->status == DAT_DTO_ERR_FLUSHED);
	}
	ABOUT("EP_DISC-12");
	want_all(p.a.recv, p.a.ep, 5);
	want_all(p.b.recv, p.b.ep, receives);
	kit_empty(p.a.request);
	ABOUT("EP_DISC-15");
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

CLAUSE_EACH("EP_DISC-12", "EP_DISC-13", "EP_DISC-14", "EP_DISC-15") { abrupt_end(6); }
CLAUSE_EACH("EP_DISC-12", "EP_DISC-13", "EP_DISC-14", "EP_DISC-15") { abrupt_end(2); }

CLAUSE_ACTIVE("EP_DISC-16", "EP_DISC-19", "EP_DISC-20", "EP_DISC-21")
{
	struct kit_pair p;
	struct kit_buf buf = kit_buf(64, KIT_LOCAL);
	struct kit_buf remote = kit_buf_b(64, KIT_REMOTE);

	stuck_pair(&p, 4, DAT_COMPLETION_DEFAULT_FLAG);
	NEEDS(holds_messages(&p), WAITS_FOR_RECV);
	ABOUT("EP_DISC-16");
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	MUST_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	ABOUT("EP_DISC-21");
	CHECK_RET(kit_send(p.a.ep, &buf, 0, 8, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_INVALID_STATE);
	CHECK_RET(kit_write(p.a.ep, kit_seg(&buf, 0, 8), kit_target(&remote, 0, 8), 9,
			    DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE);
	CHECK_RET(kit_read(p.a.ep, kit_seg(&buf, 0, 8), kit_target(&remote, 0, 8), 9,
			   DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE);
	ABOUT("EP_DISC-20");
	CHECK_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	kit_quiet(p.a.connect);
	ABOUT("EP_DISC-19");
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("EP_DISC-20");
	kit_quiet(p.a.connect);
	ABOUT("EP_DISC-16");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
}

CLAUSE_EACH("EP_DISC-17", "EP_DISC-18")
{
	struct kit_pair p;
	struct kit_buf buf = kit_buf_a(4096, KIT_LOCAL);

	kit_pair(&p, NULL);
	post_recvs(&p.a, 3);
	post_recvs(&p.b, 8);
	for (int i = 1; i <= 8; i++)
		MUST_RET(kit_send(p.a.ep, &buf, 0, 64, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_SUCCESS);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	ABOUT("EP_DISC-17");
	for (uint64_t i = 1; i <= 8; i++)
		kit_dto(p.a.request, p.a.ep, i, DAT_DTO_SUCCESS);
	for (uint64_t i = 1; i <= 8; i++)
		kit_dto(p.b.recv, p.b.ep, i, DAT_DTO_SUCCESS);
	ABOUT("EP_DISC-18");
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 1; i <= 3; i++)
		kit_dto(p.a.recv, p.a.ep, i, DAT_DTO_ERR_FLUSHED);
}

CLAUSE_ACTIVE("EP_DISC-25", "EP_CREATE-15")
{
	struct kit_pair p;
	struct kit_buf buf = kit_buf(4096, KIT_LOCAL);
	DAT_EP_ATTR attr = kit_attr();
	DAT_EVENT event;
	int done = 0;

	NEEDS(t.prov.evd_stream_merging_supported[2][3] &&
		      t.prov.evd_stream_merging_supported[2][4],
	      "evd_stream_merging_supported");
	kit_pair_unconnected(&p, NULL);
	p.a.recv = p.a.request = p.a.connect =
		kit_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_RMR_BIND_FLAG);
	ABOUT("EP_CREATE-15");
	MUST_RET(dat_ep_create(t.ia, t.pz, p.a.recv, p.a.recv, p.a.recv, &attr, &p.a.ep),
		 DAT_SUCCESS);
	kit_pair_connect(&p);
	kit_exchange(&p.a, &p.b);
	kit_exchange(&p.b, &p.a);
	ABOUT("EP_DISC-25");
	post_recvs(&p.b, 8);
	for (int i = 1; i <= 8; i++)
		MUST_RET(kit_send(p.a.ep, &buf, 0, 64, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_SUCCESS);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	for (;;) {
		event = kit_event(p.a.recv);
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			break;
		done += event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	}
	CHECK_NUM(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_NUM(done, 8);
}

CLAUSE_ACTIVE("EP_DISC-27")
{
	struct kit_pair p;

	stuck_pair(&p, 4, DAT_COMPLETION_SUPPRESS_FLAG);
	NEEDS(holds_messages(&p), WAITS_FOR_RECV);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (uint64_t i = 1; i <= 4; i++)
		kit_dto(p.a.request, p.a.ep, i, DAT_DTO_ERR_FLUSHED);
}

CLAUSE_EACH("EP_RESET-01", "EP_RESET-02", "EP_RESET-03", "EP_RESET-04", "EP_RESET-10",
	    "EP_RESET-11", "EP_RESET-08")
{
	struct kit_pair p;
	struct kit_buf source = kit_buf_a(64, KIT_LOCAL), sink = kit_buf_b(64, KIT_LOCAL);

	kit_pair_unconnected(&p, NULL);
	ABOUT("EP_RESET-03");
	CHECK_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_UNCONNECTED);
	ABOUT("EP_RESET-04");
	MUST_RET(kit_recv(p.b.ep, &sink, 0, 64, 77), DAT_SUCCESS);
	CHECK_RET(dat_ep_reset(p.b.ep), DAT_SUCCESS);
	kit_buf_fill(&source, 0, 64, 9);
	kit_pair_connect(&p);
	MUST_RET(kit_send(p.a.ep, &source, 0, 64, 78, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.b.recv, p.b.ep, 77, DAT_DTO_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 78, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_buf_filled(&sink, 0, 64, 9));
	for (int i = 0; i < 3; i++) {
		MUST_RET(kit_recv(p.b.ep, &sink, 0, 64, 500), DAT_SUCCESS);
		kit_disconnect(&p);
		ABOUT("EP_RESET-01");
		CHECK_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
		ABOUT("EP_RESET-02");
		CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_UNCONNECTED);
		ABOUT("EP_RESET-10");
		MUST_RET(dat_ep_reset(p.b.ep), DAT_SUCCESS);
		ABOUT("EP_RESET-08"); /* the rest of the flush may come now, but nothing of it later */
		while (dat_evd_dequeue(p.b.recv, &(DAT_EVENT){ 0 }) == DAT_SUCCESS)
			;
		CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_UNCONNECTED);
		ABOUT("EP_RESET-10");
		kit_pair_connect(&p);
		ABOUT("EP_RESET-11");
		kit_empty(p.b.recv);
		kit_exchange(&p.a, &p.b);
		kit_exchange(&p.b, &p.a);
	}
	ABOUT("EP_RESET-10");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE_EACH("EP_RESET-06", "EP_RESET-07")
{
	struct kit_pair p;
	struct kit_end active, reserved;
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RSP_HANDLE rsp;

	kit_pair(&p, NULL);
	kit_end_a(&active, NULL);
	kit_end_b(&reserved, NULL);
	ABOUT("EP_RESET-06");
	CHECK_RET(dat_ep_reset(p.a.ep), DAT_INVALID_STATE);
	CHECK_RET(dat_ep_reset(p.b.ep), DAT_INVALID_STATE);
	MUST_RET(dat_rsp_create(kit_ia_b(), qual, reserved.ep, p.cr_evd, &rsp), DAT_SUCCESS);
	CHECK_RET(dat_ep_reset(reserved.ep), DAT_INVALID_STATE);
	MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
	kit_cr(p.cr_evd);
	CHECK_RET(dat_ep_reset(reserved.ep), DAT_INVALID_STATE);
	CHECK_RET(dat_ep_reset(active.ep), DAT_INVALID_STATE);
	CHECK_NUM(kit_state(active.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	ABOUT("EP_RESET-07");
	kit_exchange(&p.a, &p.b);
	kit_exchange(&p.b, &p.a);
}

CLAUSE_ACTIVE("EP_RESET-09", "EP_RECV-08", "EP_SEND-18", "EP_RDMA_WRITE-17", "EP_RDMA_READ-22")
{
	struct kit_pair p;
	struct kit_buf buf = kit_buf(4096, KIT_REMOTE);

	kit_pair(&p, NULL);
	post_recvs(&p.a, 3);
	kit_disconnect(&p);
	ABOUT("EP_RECV-08");
	MUST_RET(kit_recv(p.a.ep, &buf, 0, 64, 4), DAT_SUCCESS);
	ABOUT("EP_RESET-09");
	for (uint64_t i = 1; i <= 3; i++)
		kit_dto(p.a.recv, p.a.ep, i, DAT_DTO_ERR_FLUSHED);
	ABOUT("EP_RECV-08");
	kit_dto(p.a.recv, p.a.ep, 4, DAT_DTO_ERR_FLUSHED);
	ABOUT("EP_SEND-18");
	MUST_RET(kit_send(p.a.ep, &buf, 0, 64, 5, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 5, DAT_DTO_ERR_FLUSHED);
	ABOUT("EP_RDMA_WRITE-17");
	MUST_RET(kit_write(p.a.ep, kit_seg(&buf, 0, 8), kit_target(&buf, 64, 8), 6,
			   DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 6, DAT_DTO_ERR_FLUSHED);
	ABOUT("EP_RDMA_READ-22");
	MUST_RET(kit_read(p.a.ep, kit_seg(&buf, 0, 8), kit_target(&buf, 64, 8), 7,
			  DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 7, DAT_DTO_ERR_FLUSHED);
	ABOUT("EP_RESET-09");
	kit_empty(p.a.recv);
	kit_empty(p.a.request);
}

CLAUSE_EACH("EP_FREE-01", "EP_FREE-11", "EP_FREE-12", "EP_FREE-13", "EP_FREE-14", "EP_FREE-15",
	    "EP_FREE-16")
{
	struct kit_pair p, other;
	struct kit_end active;
	DAT_EVENT event;
	DAT_PZ_HANDLE pz = t.pz;

	kit_pair(&other, NULL);
	t.pz = kit_pz();
	kit_pair(&p, NULL);
	ABOUT("EP_FREE-01");
	kit_end_a(&active, NULL);
	CHECK_RET(dat_ep_free(active.ep), DAT_SUCCESS);
	kit_end_a(&active, NULL);
	MUST_RET(kit_connect(active.ep, p.qual), DAT_SUCCESS);
	CHECK_RET(dat_ep_free(active.ep), DAT_SUCCESS);
	CHECK_RET(dat_ep_free(p.a.ep), DAT_SUCCESS);
	ABOUT("EP_FREE-11");
	kit_over(p.b.connect, p.b.ep);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("EP_FREE-14");
	CHECK_RET(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &(DAT_EP_PARAM){ 0 }), DAT_INVALID_HANDLE);
	ABOUT("EP_FREE-15");
	CHECK_RET(dat_ep_free(p.a.ep), DAT_INVALID_HANDLE);
	ABOUT("EP_FREE-01");
	CHECK_RET(dat_ep_free(p.b.ep), DAT_SUCCESS);	/* DISCONNECTED */
	ABOUT("EP_FREE-13");
	CHECK_RET(dat_evd_free(p.a.recv), DAT_SUCCESS);
	CHECK_RET(dat_evd_free(p.a.request), DAT_SUCCESS);
	CHECK_RET(dat_evd_free(p.a.connect), DAT_SUCCESS);
	CHECK_RET(dat_pz_free(t.pz), DAT_SUCCESS);	/* the PZ of the end in this process */
	t.pz = pz;
	ABOUT("EP_FREE-16");
	kit_exchange(&other.a, &other.b);
	ABOUT("EP_FREE-12");
	post_recvs(&other.a, 3);
	CHECK_RET(dat_ep_free(other.a.ep), DAT_SUCCESS);
	while (dat_evd_dequeue(other.a.recv, &event) == DAT_SUCCESS)
		CHECK_NUM(event.event_number, DAT_DTO_COMPLETION_EVENT);
}

CLAUSE_EACH("EP_STATUS-01", "EP_STATUS-03", "EP_STATUS-04", "EP_STATUS-05", "EP_STATUS-06",
	    "EP_QUERY-07")
{
	struct kit_pair p;
	struct kit_buf from = kit_buf_a(64, KIT_LOCAL), to = kit_buf_b(64, KIT_LOCAL);
	DAT_EP_STATE state;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_PARAM param;

	kit_pair_unconnected(&p, NULL);
	ABOUT("EP_STATUS-01");
	CHECK_RET(dat_ep_get_status(p.b.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_NUM(state, DAT_EP_STATE_UNCONNECTED);
	CHECK_THAT(recv_idle == DAT_TRUE && request_idle == DAT_TRUE);
	kit_pair_connect(&p);
	ABOUT("EP_STATUS-03");
	CHECK_RET(dat_ep_get_status(p.b.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_NUM(state, DAT_EP_STATE_CONNECTED);
	ABOUT("EP_STATUS-04");
	MUST_RET(kit_recv(p.b.ep, &to, 0, 64, 1), DAT_SUCCESS);
	CHECK_RET(dat_ep_get_status(p.b.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_NUM(recv_idle, DAT_FALSE);
	MUST_RET(kit_send(p.a.ep, &from, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	CHECK_RET(dat_ep_get_status(p.b.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_NUM(recv_idle, DAT_TRUE);
	ABOUT("EP_STATUS-05");
	kit_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	CHECK_RET(dat_ep_get_status(p.a.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_NUM(request_idle, DAT_TRUE);
	ABOUT("EP_STATUS-06");
	CHECK_NUM(request_idle, DAT_TRUE);
	ABOUT("EP_QUERY-07");
	CHECK_RET(dat_ep_query(p.a.ep, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS);
	CHECK_NUM(param.ep_state, DAT_EP_STATE_CONNECTED);
	kit_disconnect(&p);
	ABOUT("EP_STATUS-03");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("EP_QUERY-07");
	CHECK_RET(dat_ep_query(p.a.ep, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS);
	CHECK_NUM(param.ep_state, DAT_EP_STATE_DISCONNECTED);
}

static DAT_RETURN dup(DAT_EP_HANDLE ep, DAT_EP_HANDLE of, DAT_COUNT size, const void *data)
{
	return dat_ep_dup_connect(ep, of, kit_patience(), size, (DAT_PVOID)data,
				  DAT_QOS_BEST_EFFORT);
}

CLAUSE_ACTIVE("EP_DUP-01", "EP_DUP-02", "EP_DUP-08", "EP_DUP-09", "EP_DUP-10", "EP_DUP-11",
	      "EP_DUP-12", "EP_DUP-13")
{
	struct kit_pair p;
	struct kit_end active, passive;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EP_PARAM ep_param;

	/* uses a qualifier that is not given to another program when it is free again */
	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_psp_free(p.psp), DAT_SUCCESS);
	p.qual = kit_unused_qual();
	MUST_RET(dat_psp_create(kit_ia_b(), p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp),
		 DAT_SUCCESS);
	kit_pair_connect(&p);
	kit_end(&active, NULL);
	kit_end_b(&passive, NULL);
	ABOUT("EP_DUP-01");
	MUST_RET(dup(active.ep, p.a.ep, 4, "abcd"), DAT_SUCCESS);
	ABOUT("EP_DUP-02");
	CHECK_NUM(kit_state(active.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	ABOUT("EP_DUP-01");
	cr = kit_cr(p.cr_evd);
	MUST_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	ABOUT("EP_DUP-10");
	CHECK_NUM(param.private_data_size, 4);
	CHECK_THAT(!memcmp(param.private_data, "abcd", 4));
	ABOUT("EP_DUP-11");
	MUST_RET(dat_ep_query(active.ep, DAT_EP_FIELD_ALL, &ep_param), DAT_SUCCESS);
	CHECK_THAT(ep_param.local_port_qual == param.remote_port_qual);
	ABOUT("EP_DUP-08");
	MUST_RET(dat_cr_accept(cr, passive.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(passive.connect, passive.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_exchange(&active, &passive);
	kit_end(&active, NULL);
	MUST_RET(dup(active.ep, p.a.ep, 0, NULL), DAT_SUCCESS);
	MUST_RET(dat_cr_reject(kit_cr(p.cr_evd)), DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ABOUT("EP_DUP-09");
	CHECK_NUM(kit_state(active.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("EP_DUP-12");
	kit_exchange(&p.a, &p.b);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	ABOUT("EP_DUP-08");
	MUST_RET(dat_ep_reset(active.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_dup_connect(active.ep, p.a.ep, 100000, 0, NULL, DAT_QOS_BEST_EFFORT),
		 DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	ABOUT("EP_DUP-13");
	MUST_RET(dat_psp_free(p.psp), DAT_SUCCESS);
	MUST_RET(dat_ep_reset(active.ep), DAT_SUCCESS);
	MUST_RET(dup(active.ep, p.a.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ABOUT("EP_DUP-09");
	CHECK_NUM(kit_state(active.ep), DAT_EP_STATE_DISCONNECTED);
}

CLAUSE_ACTIVE("EP_DUP-04", "EP_DUP-05", "EP_DUP-07")
{
	static char data[65536];
	struct kit_pair p;
	struct kit_end fresh, other;

	kit_pair(&p, NULL);
	kit_end(&fresh, NULL);
	kit_end(&other, NULL);
	ABOUT("EP_DUP-04");
	CHECK_RET(dup(fresh.ep, other.ep, 0, NULL), DAT_INVALID_STATE);
	CHECK_RET(dup(p.a.ep, p.a.ep, 0, NULL), DAT_INVALID_STATE);
	ABOUT("EP_DUP-05");
	CHECK_RET(dup(fresh.ep, p.a.ep, -1, data), DAT_INVALID_PARAMETER);
	CHECK_RET(dup(fresh.ep, p.a.ep, 4, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dup(fresh.ep, p.a.ep, t.prov.max_private_data_size + 1, data),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ep_dup_connect(fresh.ep, p.a.ep, 0, 0, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_PARAMETER);
	ABOUT("EP_DUP-07");
	if (t.prov.dat_qos_supported & DAT_QOS_PREMIUM) {
		judge_outcome("every quality of service is supported");
		CHECK_THAT(true);
	} else {
		CHECK_RET(dat_ep_dup_connect(fresh.ep, p.a.ep, kit_patience(), 0, NULL,
					     DAT_QOS_PREMIUM),
			  DAT_MODEL_NOT_SUPPORTED);
	}
	ABOUT("EP_DUP-04");
	kit_disconnect(&p);
	CHECK_RET(dup(fresh.ep, p.a.ep, 0, NULL), DAT_INVALID_STATE);
	CHECK_NUM(kit_state(fresh.ep), DAT_EP_STATE_UNCONNECTED);
}

CLAUSE_EACH("BROKEN-01", "BROKEN-02", "BROKEN-03", "BROKEN-04", "BROKEN-05")
{
	struct kit_pair p;
	struct kit_buf local = kit_buf_a(64, KIT_LOCAL), remote = kit_buf_b(64, KIT_LOCAL);
	DAT_RMR_TRIPLET target = kit_target(&remote, 0, 8);
	DAT_EVENT event;

	kit_pair(&p, NULL);
	post_recvs(&p.a, 2);
	post_recvs(&p.b, 2);
	target.rmr_context = 0x7fffff01;	/* the context of no memory at all */
	ABOUT("BROKEN-01");
	NEEDS_REFUSALS();
	MUST_RET(kit_write(p.a.ep, kit_seg(&local, 0, 8), target, 1, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	ABOUT("BROKEN-02");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("BROKEN-01");
	kit_over(p.b.connect, p.b.ep);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("BROKEN-03");
	for (uint64_t i = 1; i <= 2; i++)
		kit_dto(p.a.recv, p.a.ep, i, DAT_DTO_ERR_FLUSHED);
	for (uint64_t i = 1; i <= 2; i++)
		kit_dto(p.b.recv, p.b.ep, i, DAT_DTO_ERR_FLUSHED);
	ABOUT("BROKEN-05");
	kit_quiet(p.a.connect);
	kit_quiet(p.b.connect);
	ABOUT("BROKEN-04");
	CHECK_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat_evd_dequeue(p.a.connect, &event), DAT_QUEUE_EMPTY);
	CHECK_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	CHECK_RET(dat_ep_reset(p.b.ep), DAT_SUCCESS);
	kit_pair_connect(&p);
	kit_exchange(&p.a, &p.b);
}

/* The process on the other side is killed: the connection ends like any other. */
CLAUSE_EACH("BROKEN-02", "BROKEN-03", "BROKEN-04", "BROKEN-05")
{
	struct kit_pair p;
	struct kit_end *here;

	NEEDS_REACH();
	kit_pair(&p, NULL);
	here = t.a_remote ? &p.b : &p.a;
	kit_exchange(&p.a, &p.b);
	post_recvs(here, 3);
	remote_die();
	kit_over(here->connect, here->ep);
	ABOUT("BROKEN-02");
	CHECK_NUM(kit_state(here->ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("BROKEN-03");
	for (uint64_t i = 1; i <= 3; i++)
		kit_dto(here->recv, here->ep, i, DAT_DTO_ERR_FLUSHED);
	kit_empty(here->recv);
	ABOUT("BROKEN-05");
	kit_quiet(here->connect);
	ABOUT("BROKEN-04");
	CHECK_RET(dat_ep_disconnect(here->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat_ep_reset(here->ep), DAT_SUCCESS);
	CHECK_NUM(kit_state(here->ep), DAT_EP_STATE_UNCONNECTED);
}

/*
 * A message that is longer than its receive ends the connection, on both sides. The send fails, or it has completed
 * with success when the message was sent. How it fails is asked only of a transport whose completions tell a refusal.
 */
static void too_long(size_t size)
{
	struct kit_buf from = kit_buf_a(size, KIT_LOCAL), into = kit_buf_b(64, KIT_LOCAL);
	DAT_DTO_COMPLETION_EVENT_DATA *got, *sent;
	DAT_EVENT receiver, sender;
	struct kit_pair p;

	kit_pair(&p, NULL);
	memset(into.mem, 0xee, 64);
	MUST_RET(kit_recv(p.b.ep, &into, 0, 10, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &from, 0, size, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	receiver = kit_event(p.b.recv);
	got = &receiver.event_data.dto_completion_event_data;
	MUST_NUM(receiver.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_NUM(got->user_cookie.as_64, 1);
	for (int i = 10; i < 64; i++)
		CHECK_NUM(into.mem[i], 0xee);
	sender = kit_event(p.a.request);
	sent = &sender.event_data.dto_completion_event_data;
	MUST_NUM(sender.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_NUM(sent->user_cookie.as_64, 2);
	kit_over(p.a.connect, p.a.ep);
	kit_over(p.b.connect, p.b.ep);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
	judge_outcome("the send completes with %d", (int)sent->status);
	if (judge_refusals_are_told() && sent->status != DAT_DTO_SUCCESS &&
	    sent->status != DAT_DTO_ERR_FLUSHED)
		CHECK_NUM(sent->status, DAT_DTO_ERR_REMOTE_RESPONDER);
	if (got->status == DAT_DTO_ERR_FLUSHED)
		NEEDS(judge_short_receives_are_told(), "short_receive");
	CHECK_NUM(got->status, DAT_DTO_ERR_LOCAL_LENGTH);
}

CLAUSE_PASSIVE("EP_RECV-12") { too_long(20); }
CLAUSE_PASSIVE("EP_RECV-12")
{
	too_long(kit_attr().max_message_size < 40000 ? kit_attr().max_message_size : 40000);
}
