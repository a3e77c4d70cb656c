/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_create, _query, _modify, _recv_query, _set_watermark: the attributes of an endpoint, and
 * when they may change.
 */
#include <stdio.h>
#include <string.h>

#include "kit.h"

static DAT_EP_PARAM query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static DAT_RETURN create(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
			 DAT_EP_ATTR attr)
{
	DAT_EP_HANDLE ep;

	return dat_ep_create(t.ia, t.pz, recv, request, connect, &attr, &ep);
}

/* Creates an endpoint with these completion flags on these EVDs, and without an EVD for connection events. */
static DAT_RETURN with_flags(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			     DAT_COMPLETION_FLAGS recv_flags, DAT_COMPLETION_FLAGS request_flags)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.recv_completion_flags = recv_flags;
	attr.request_completion_flags = request_flags;
	return create(recv, request, DAT_HANDLE_NULL, attr);
}

CLAUSE("EP_CREATE-01", "EP_CREATE-02", "EP_CREATE-09", "EP_CREATE-10", "EP_CREATE-11",
       "EP_QUERY-01", "EP_QUERY-08")
{
	static const DAT_EP_PARAM_MASK bits[] = { DAT_EP_FIELD_IA_HANDLE,
						  DAT_EP_FIELD_EP_STATE,
						  DAT_EP_FIELD_PZ_HANDLE,
						  DAT_EP_FIELD_RECV_EVD_HANDLE,
						  DAT_EP_FIELD_REQUEST_EVD_HANDLE,
						  DAT_EP_FIELD_CONNECT_EVD_HANDLE,
						  DAT_EP_FIELD_SRQ_HANDLE,
						  DAT_EP_FIELD_EP_ATTR_ALL,
						  DAT_EP_FIELD_ALL };
	DAT_EP_ATTR attr = kit_attr();
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_PARAM param;
	DAT_EP_STATE state;
	struct kit_end end;

	kit_end(&end, &attr);
	param = query(end.ep);
	ABOUT("EP_CREATE-01");
	CHECK_THAT(param.ia_handle == t.ia);
	ABOUT("EP_CREATE-02");
	CHECK_RET(dat_ep_get_status(end.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_NUM(state, DAT_EP_STATE_UNCONNECTED);
	CHECK_THAT(recv_idle == DAT_TRUE && request_idle == DAT_TRUE);
	ABOUT("EP_QUERY-01");
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		CHECK_RET(dat_ep_query(end.ep, bits[i], &param), DAT_SUCCESS);
	ABOUT("EP_QUERY-08");
	param = query(end.ep);
	CHECK_THAT(param.ia_handle == t.ia && param.pz_handle == t.pz &&
		   param.recv_evd_handle == end.recv && param.request_evd_handle == end.request &&
		   param.connect_evd_handle == end.connect && param.srq_handle == DAT_HANDLE_NULL);
	ABOUT("EP_CREATE-11");
	CHECK_THAT(param.ep_attr.max_recv_dtos >= attr.max_recv_dtos);
	CHECK_THAT(param.ep_attr.max_request_dtos >= attr.max_request_dtos);
	CHECK_THAT(param.ep_attr.max_recv_iov >= attr.max_recv_iov);
	CHECK_THAT(param.ep_attr.max_request_iov >= attr.max_request_iov);
	CHECK_NUM(param.ep_attr.max_message_size, attr.max_message_size);
	CHECK_NUM(param.ep_attr.max_rdma_size, attr.max_rdma_size);
	CHECK_NUM(param.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
	ABOUT("EP_CREATE-09");
	MUST_RET(dat_ep_create(t.ia, t.pz, end.recv, end.request, end.connect, NULL, &ep),
		 DAT_SUCCESS);
	param = query(ep);
	CHECK_THAT(param.ep_attr.max_recv_dtos > 0 &&
		   param.ep_attr.max_recv_dtos <= t.attr.max_dto_per_ep);
	CHECK_THAT(param.ep_attr.max_message_size > 0 &&
		   param.ep_attr.max_message_size <= t.attr.max_message_size);
	ABOUT("EP_CREATE-10");
	CHECK_NUM(kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	CHECK_RET(dat_ep_free(ep), DAT_SUCCESS);
}

CLAUSE("EP_CREATE-03")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_RETURN ret = DAT_SUCCESS;

	for (int i = 0; i < 500 && ret == DAT_SUCCESS; i++)
		ret = create(evd, evd, DAT_HANDLE_NULL, kit_attr());
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

#define BAD_ATTR(statement) \
	do { \
		DAT_EP_ATTR attr = kit_attr(); \
		statement; \
		CHECK_RET(create(evd, evd, DAT_HANDLE_NULL, attr), DAT_INVALID_PARAMETER); \
	} while (0)

CLAUSE("EP_CREATE-05", "EP_CREATE-21", "EP_CREATE-06")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR premium = kit_attr();

	ABOUT("EP_CREATE-05");
	/* where the largest number is allowed, one more is 0, which stands for any size */
	if (t.attr.max_message_size + 1)
		BAD_ATTR(attr.max_message_size = t.attr.max_message_size + 1);
	if (t.attr.max_rdma_size + 1)
		BAD_ATTR(attr.max_rdma_size = t.attr.max_rdma_size + 1);
	BAD_ATTR(attr.max_recv_dtos = t.attr.max_dto_per_ep + 1);
	BAD_ATTR(attr.max_request_dtos = t.attr.max_dto_per_ep + 1);
	BAD_ATTR(attr.max_recv_dtos = -1);
	BAD_ATTR(attr.max_request_dtos = -1);
	BAD_ATTR(attr.max_recv_iov = t.attr.max_iov_segments_per_dto + 1);
	BAD_ATTR(attr.max_request_iov = t.attr.max_iov_segments_per_dto + 1);
	BAD_ATTR(attr.service_type = (DAT_SERVICE_TYPE)7);
	CHECK_RET(dat_ep_create(t.ia, t.pz, evd, evd, DAT_HANDLE_NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER);
	ABOUT("EP_CREATE-21");
	BAD_ATTR(attr.request_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	ABOUT("EP_CREATE-06");
	premium.qos = DAT_QOS_PREMIUM;
	CHECK_RET(create(evd, evd, DAT_HANDLE_NULL, premium),
		  t.prov.dat_qos_supported & DAT_QOS_PREMIUM ? DAT_SUCCESS
							     : DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE("EP_CREATE-07")
{
	struct kit_end end;
	DAT_EP_ATTR attr = kit_attr();

	kit_end(&end, NULL);
	for (int i = 0; i < 8; i++) {
		DAT_EVD_HANDLE recv = i & 1 ? end.recv : DAT_HANDLE_NULL,
			       request = i & 2 ? end.request : DAT_HANDLE_NULL,
			       connect = i & 4 ? end.connect : DAT_HANDLE_NULL;
		DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
		DAT_EP_PARAM param;

		MUST_RET(dat_ep_create(t.ia, t.pz, recv, request, connect, &attr, &ep),
			 DAT_SUCCESS);
		param = query(ep);
		CHECK_THAT(param.recv_evd_handle == recv && param.request_evd_handle == request &&
			   param.connect_evd_handle == connect);
	}
}

CLAUSE("EP_CREATE-08")
{
	struct kit_pair p;
	struct kit_buf local = kit_buf(64, KIT_LOCAL), remote = kit_buf(64, KIT_LOCAL);
	DAT_EP_ATTR attr = kit_attr();

	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_ep_create(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, p.a.connect, &attr,
			       &p.a.ep),
		 DAT_SUCCESS);
	kit_pair_connect(&p);
	kit_fill(local.mem, 64, 4);
	MUST_RET(kit_recv(p.b.ep, &remote, 0, 64, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &local, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(remote.mem, 64, 4));
	kit_empty(p.a.connect);
}

CLAUSE("EP_CREATE-16")
{
	DAT_EVD_HANDLE se = kit_evd(8, DAT_EVD_SOFTWARE_FLAG), dto = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = kit_attr();

	CHECK_RET_IN(create(se, dto, DAT_HANDLE_NULL, attr), DAT_INVALID_HANDLE,
		     DAT_INVALID_PARAMETER);
	CHECK_RET_IN(create(dto, se, DAT_HANDLE_NULL, attr), DAT_INVALID_HANDLE,
		     DAT_INVALID_PARAMETER);
	CHECK_RET_IN(create(dto, dto, se, attr), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
}

#define UNSIG	  DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define THRESHOLD DAT_COMPLETION_EVD_THRESHOLD_FLAG

CLAUSE("EP_CREATE-17", "EP_CREATE-18", "EP_CREATE-19", "EP_MODIFY-27")
{
	DAT_EVD_HANDLE shared = kit_evd(8, DAT_EVD_DTO_FLAG), mixed,
		       other = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr = kit_attr();
	DAT_EP_PARAM param;

	NEEDS(!judge_allows("mixed_completions"), "allow");
	ABOUT("EP_CREATE-17");
	MUST_RET(with_flags(shared, DAT_HANDLE_NULL, UNSIG, THRESHOLD), DAT_SUCCESS);
	CHECK_RET(with_flags(shared, DAT_HANDLE_NULL, SOLICITED, THRESHOLD), DAT_INVALID_PARAMETER);
	CHECK_RET(with_flags(shared, DAT_HANDLE_NULL, THRESHOLD, THRESHOLD), DAT_INVALID_PARAMETER);
	CHECK_RET(with_flags(shared, DAT_HANDLE_NULL, UNSIG, THRESHOLD), DAT_SUCCESS);
	ABOUT("EP_MODIFY-27");
	MUST_RET(dat_ep_create(t.ia, t.pz, other, other, DAT_HANDLE_NULL, &attr, &ep), DAT_SUCCESS);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = shared;
	CHECK_RET(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), DAT_INVALID_PARAMETER);
	CHECK_THAT(query(ep).recv_evd_handle == other);
	ABOUT("EP_CREATE-18");
	if (t.prov.evd_stream_merging_supported[0][2]) {
		mixed = kit_evd(8, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
		CHECK_RET(with_flags(mixed, DAT_HANDLE_NULL, UNSIG, THRESHOLD),
			  DAT_INVALID_PARAMETER);
		CHECK_RET(with_flags(mixed, DAT_HANDLE_NULL, SOLICITED, THRESHOLD),
			  DAT_INVALID_PARAMETER);
		CHECK_RET(with_flags(mixed, mixed, THRESHOLD, THRESHOLD), DAT_SUCCESS);
	} else {
		CHECK_THAT(!t.prov.evd_stream_merging_supported[0][2]);
		judge_outcome("software and DTO streams do not merge");
	}
	ABOUT("EP_CREATE-19");
	shared = kit_evd(8, DAT_EVD_DTO_FLAG);
	CHECK_RET(with_flags(shared, shared, UNSIG, (DAT_COMPLETION_FLAGS)0),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(with_flags(shared, shared, UNSIG, THRESHOLD), DAT_INVALID_PARAMETER);
	CHECK_RET(with_flags(shared, shared, UNSIG, UNSIG), DAT_SUCCESS);
}

CLAUSE("EP_CREATE-20")
{
	DAT_EVD_HANDLE shared = kit_evd(8, DAT_EVD_DTO_FLAG);

	CHECK_RET(with_flags(shared, shared, SOLICITED, THRESHOLD), DAT_INVALID_PARAMETER);
	CHECK_RET(with_flags(shared, DAT_HANDLE_NULL, SOLICITED, THRESHOLD), DAT_SUCCESS);
	CHECK_RET(with_flags(DAT_HANDLE_NULL, shared, THRESHOLD, THRESHOLD), DAT_INVALID_PARAMETER);
}

CLAUSE("EP_CREATE-22", "EP_CREATE-23", "PZ_FREE-03")
{
	struct kit_end end;
	DAT_PZ_HANDLE pz = t.pz;

	t.pz = kit_pz();
	kit_end(&end, NULL);
	ABOUT("EP_CREATE-22");
	CHECK_RET(dat_evd_free(end.recv), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_free(end.request), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_free(end.connect), DAT_INVALID_STATE);
	ABOUT("EP_CREATE-23");
	CHECK_RET(dat_pz_free(t.pz), DAT_INVALID_STATE);
	ABOUT("PZ_FREE-03");
	CHECK_RET(dat_pz_free(t.pz), DAT_INVALID_STATE);
	MUST_RET(dat_ep_free(end.ep), DAT_SUCCESS);
	ABOUT("EP_CREATE-23");
	CHECK_RET(dat_pz_free(t.pz), DAT_SUCCESS);
	ABOUT("EP_CREATE-22");
	CHECK_RET(dat_evd_free(end.recv), DAT_SUCCESS);
	t.pz = pz;
}

CLAUSE("EP_CREATE-24")
{
	struct kit_pair p;

	kit_pair(&p, NULL);
	for (int i = 0; i < 20; i++) {
		MUST_RET(dat_ep_free(p.a.ep), DAT_SUCCESS);
		MUST_RET(dat_ep_free(p.b.ep), DAT_SUCCESS);
		kit_end(&p.a, NULL);
		kit_end(&p.b, NULL);
		kit_pair_connect(&p);
	}
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
}

/* The endpoints of one test, one in each state that lasts. */
enum { UNC, RES, PAS, ACT, CON, DIS, STATES };

static const DAT_EP_STATE ep_states[STATES] = {
	DAT_EP_STATE_UNCONNECTED, DAT_EP_STATE_RESERVED, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, DAT_EP_STATE_CONNECTED, DAT_EP_STATE_DISCONNECTED,
};

static void walk(DAT_EP_HANDLE ep[STATES])
{
	struct kit_pair p, q;
	struct kit_end end;
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RSP_HANDLE rsp;

	kit_end(&end, NULL);
	ep[UNC] = end.ep;
	kit_pair(&p, NULL);
	ep[CON] = p.a.ep;
	kit_pair(&q, NULL);
	kit_disconnect(&q);
	ep[DIS] = q.a.ep;
	kit_end(&end, NULL);
	ep[RES] = end.ep;
	MUST_RET(dat_rsp_create(t.ia, kit_unused_qual(), ep[RES], p.cr_evd, &rsp), DAT_SUCCESS);
	kit_end(&end, NULL);
	ep[PAS] = end.ep;
	MUST_RET(dat_rsp_create(t.ia, qual, ep[PAS], p.cr_evd, &rsp), DAT_SUCCESS);
	kit_end(&end, NULL);
	ep[ACT] = end.ep;
	MUST_RET(kit_connect(ep[ACT], qual), DAT_SUCCESS);
	kit_cr(p.cr_evd);
	for (int i = 0; i < STATES; i++)
		MUST_NUM(kit_state(ep[i]), ep_states[i]);
}

#define IP DAT_INVALID_PARAMETER
#define IS DAT_INVALID_STATE
#define OK DAT_SUCCESS

/* Checks what dat_ep_modify returns for a change of these fields in each state. */
static void modify(const char *id, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *values,
		   const DAT_RETURN wanted[STATES])
{
	DAT_EP_HANDLE ep[STATES];

	walk(ep);
	ABOUT(id);
	for (int i = 0; i < STATES; i++) {
		char call[128];
		DAT_EP_PARAM param = *values;

		snprintf(call, sizeof(call), "dat_ep_modify(ep, 0x%llx, ...) in state %d",
			 (unsigned long long)mask, (int)ep_states[i]);
		judge_ret(dat_ep_modify(ep[i], mask, &param), wanted[i], false, call, __FILE__,
			  __LINE__);
	}
}

static const DAT_RETURN never[STATES] = { IP, IP, IP, IP, IP, IP };
static const DAT_RETURN pending[STATES] = {
	OK, OK, OK, IS, IS, IS
}; /* allowed until the endpoint connects */
static const DAT_RETURN quiescent[STATES] = { OK, IS, IS, IS, IS, IS };

static DAT_EP_PARAM some_values(void)
{
	struct kit_end end;
	DAT_EP_PARAM param;

	kit_end(&end, NULL);
	param = query(end.ep);
	param.ep_attr.recv_completion_flags = param.ep_attr.request_completion_flags = THRESHOLD;
	param.pz_handle = kit_pz();
	return param;
}

#define MODIFY(id, mask, table) \
	CLAUSE(id) { DAT_EP_PARAM values = some_values(); modify(id, mask, &values, table); }
#define A(name) DAT_EP_FIELD_EP_ATTR_##name

MODIFY("EP_MODIFY-06", DAT_EP_FIELD_IA_HANDLE, never)
MODIFY("EP_MODIFY-07", DAT_EP_FIELD_EP_STATE, never)
MODIFY("EP_MODIFY-08", DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, never)
MODIFY("EP_MODIFY-08", DAT_EP_FIELD_LOCAL_PORT_QUAL, never)
MODIFY("EP_MODIFY-09", DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, never)
MODIFY("EP_MODIFY-09", DAT_EP_FIELD_REMOTE_PORT_QUAL, never)
MODIFY("EP_MODIFY-10", DAT_EP_FIELD_PZ_HANDLE, quiescent)
MODIFY("EP_MODIFY-12", DAT_EP_FIELD_RECV_EVD_HANDLE, pending)
MODIFY("EP_MODIFY-13", DAT_EP_FIELD_REQUEST_EVD_HANDLE, pending)
MODIFY("EP_MODIFY-14", DAT_EP_FIELD_CONNECT_EVD_HANDLE, pending)
MODIFY("EP_MODIFY-16", A(SERVICE_TYPE) | A(MAX_MESSAGE_SIZE) | A(MAX_RDMA_SIZE) | A(QOS), pending)
MODIFY("EP_MODIFY-17", A(RECV_COMPLETION_FLAGS), pending)
MODIFY("EP_MODIFY-20", A(REQUEST_COMPLETION_FLAGS), pending)
MODIFY("EP_MODIFY-22",
       A(MAX_RECV_DTOS) | A(MAX_REQUEST_DTOS) | A(MAX_RECV_IOV) | A(MAX_REQUEST_IOV), pending)
MODIFY("EP_MODIFY-24", A(MAX_RDMA_READ_IN) | A(MAX_RDMA_READ_OUT), pending)
MODIFY("EP_MODIFY-04", A(MAX_RECV_DTOS) | DAT_EP_FIELD_CONNECT_EVD_HANDLE, pending)

CLAUSE("EP_MODIFY-01", "EP_MODIFY-03", "EP_MODIFY-05", "EP_MODIFY-18", "EP_MODIFY-19",
       "EP_MODIFY-17", "EP_MODIFY-25")
{
	static const DAT_COMPLETION_FLAGS recv_ok[] = { UNSIG, SOLICITED, THRESHOLD },
		bad[] = { DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG };
	struct kit_end end;
	struct kit_buf buf = kit_buf(64, KIT_LOCAL);
	DAT_EP_PARAM param, before, after;

	kit_end(&end, NULL);
	before = query(end.ep);
	ABOUT("EP_MODIFY-01");
	memset(&param, 0xa5, sizeof(param));
	param.ep_attr.max_message_size = 1024;
	CHECK_RET(dat_ep_modify(end.ep, A(MAX_MESSAGE_SIZE), &param), DAT_SUCCESS);
	after = query(end.ep);
	CHECK_NUM(after.ep_attr.max_message_size, 1024);
	CHECK_THAT(after.pz_handle == before.pz_handle &&
		   after.ep_attr.max_rdma_size == before.ep_attr.max_rdma_size &&
		   after.ep_attr.max_recv_dtos == before.ep_attr.max_recv_dtos);
	ABOUT("EP_MODIFY-03");
	CHECK_RET(dat_ep_modify(end.ep, UINT64_C(1) << 50, &param), IP);
	CHECK_RET(dat_ep_modify(end.ep, A(MAX_MESSAGE_SIZE), NULL), IP);
	param.ep_attr.max_recv_dtos = t.attr.max_dto_per_ep + 1;
	CHECK_RET(dat_ep_modify(end.ep, A(MAX_RECV_DTOS), &param), IP);
	ABOUT("EP_MODIFY-05");
	param.ep_attr.max_message_size = 2048;
	CHECK_RET(dat_ep_modify(end.ep, A(MAX_MESSAGE_SIZE) | A(MAX_RECV_DTOS), &param), IP);
	CHECK_NUM(query(end.ep).ep_attr.max_message_size, 1024);
	ABOUT("EP_MODIFY-18");
	for (int i = 0; i < 3; i++) {
		param.ep_attr.recv_completion_flags = recv_ok[i];
		CHECK_RET(dat_ep_modify(end.ep, A(RECV_COMPLETION_FLAGS), &param), DAT_SUCCESS);
	}
	for (int i = 0; i < 2; i++) {
		param.ep_attr.recv_completion_flags = bad[i];
		CHECK_RET(dat_ep_modify(end.ep, A(RECV_COMPLETION_FLAGS), &param), IP);
	}
	ABOUT("EP_MODIFY-19");
	param.ep_attr.request_completion_flags = UNSIG;
	CHECK_RET(dat_ep_modify(end.ep, A(REQUEST_COMPLETION_FLAGS), &param), DAT_SUCCESS);
	param.ep_attr.request_completion_flags = THRESHOLD;
	CHECK_RET(dat_ep_modify(end.ep, A(REQUEST_COMPLETION_FLAGS), &param), DAT_SUCCESS);
	param.ep_attr.request_completion_flags = SOLICITED;
	CHECK_RET(dat_ep_modify(end.ep, A(REQUEST_COMPLETION_FLAGS), &param), IP);
	ABOUT("EP_MODIFY-17");
	MUST_RET(kit_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	param.ep_attr.recv_completion_flags = UNSIG;
	CHECK_RET_IN(dat_ep_modify(end.ep, A(RECV_COMPLETION_FLAGS), &param), DAT_INVALID_STATE,
		     DAT_INVALID_PARAMETER);
	ABOUT("EP_MODIFY-25");
	param.ep_attr.ep_transport_specific_count = 0;
	param.ep_attr.ep_transport_specific = NULL;
	CHECK_RET(dat_ep_modify(end.ep, A(NUM_TRANSPORT_ATTR) | A(TRANSPORT_SPECIFIC_ATTR), &param),
		  DAT_SUCCESS);
}

CLAUSE("EP_MODIFY-11")
{
	struct kit_pair p;
	struct kit_buf old, local = kit_buf(64, KIT_LOCAL);
	DAT_EP_PARAM param;
	DAT_EVENT event;

	NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
	kit_pair_unconnected(&p, NULL);
	old = kit_buf(64, KIT_LOCAL);
	MUST_RET(kit_recv(p.b.ep, &old, 0, 64, 1), DAT_SUCCESS);
	memset(&param, 0, sizeof(param));
	param.pz_handle = kit_pz();
	MUST_RET(dat_ep_modify(p.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	kit_pair_connect(&p);
	MUST_RET(kit_send(p.a.ep, &local, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	event = kit_event(p.b.recv);
	CHECK_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

CLAUSE("EP_MODIFY-15", "EP_MODIFY-23", "EP_QUERY-09")
{
	struct kit_pair p;
	struct kit_buf buf = kit_buf(64, KIT_LOCAL);
	DAT_EP_PARAM param;
	DAT_EVD_HANDLE old;
	int n = 0;

	kit_pair_unconnected(&p, NULL);
	memset(&param, 0, sizeof(param));
	old = p.a.connect;
	param.connect_evd_handle = p.a.connect = kit_evd(8, DAT_EVD_CONNECTION_FLAG);
	ABOUT("EP_MODIFY-15");
	MUST_RET(dat_ep_modify(p.a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), DAT_SUCCESS);
	kit_pair_connect(&p);
	kit_empty(old);
	CHECK_RET(dat_evd_free(old), DAT_SUCCESS);
	kit_disconnect(&p);
	ABOUT("EP_MODIFY-23");
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	param.ep_attr.max_recv_dtos = 2;
	CHECK_RET(dat_ep_modify(p.a.ep, A(MAX_RECV_DTOS), &param), DAT_SUCCESS);
	param = query(p.a.ep);
	while (n < 10000 && kit_recv(p.a.ep, &buf, 0, 8, 1) == DAT_SUCCESS)
		n++;
	CHECK_THAT(param.ep_attr.max_recv_dtos >= 2);
	CHECK_NUM(n, param.ep_attr.max_recv_dtos);
	ABOUT("EP_QUERY-09");
	CHECK_NUM(n, param.ep_attr.max_recv_dtos);
}

CLAUSE("EP_RECV_QUERY-01", "EP_RECV_QUERY-05", "EP_RECV_QUERY-06", "EP_RECV_QUERY-08",
       "EP_RECV_QUERY-09", "EP_RECV_QUERY-10", "EP_RECV_QUERY-03")
{
	struct kit_pair p;
	struct kit_buf buf = kit_buf(64, KIT_LOCAL);
	DAT_COUNT n = -5, span = -5;

	NEEDS(t.prov.ep_recv_info_supported, "ep_recv_info_supported");
	kit_pair(&p, NULL);
	for (uint64_t i = 1; i <= 3; i++)
		MUST_RET(kit_recv(p.b.ep, &buf, 0, 64, i), DAT_SUCCESS);
	ABOUT("EP_RECV_QUERY-01");
	CHECK_RET(dat_ep_recv_query(p.b.ep, &n, &span), DAT_SUCCESS);
	ABOUT("EP_RECV_QUERY-05");
	CHECK_THAT(n == 3 || n == DAT_VALUE_UNKNOWN);
	CHECK_THAT(span >= 3 || span == DAT_VALUE_UNKNOWN);
	ABOUT("EP_RECV_QUERY-06");
	CHECK_THAT(n == 3 || n == DAT_VALUE_UNKNOWN);
	ABOUT("EP_RECV_QUERY-08");
	CHECK_THAT(n == DAT_VALUE_UNKNOWN || span == DAT_VALUE_UNKNOWN || span >= n);
	ABOUT("EP_RECV_QUERY-09");
	CHECK_RET(dat_ep_recv_query(p.b.ep, &n, NULL), DAT_SUCCESS);
	CHECK_RET(dat_ep_recv_query(p.b.ep, NULL, &span), DAT_SUCCESS);
	ABOUT("EP_RECV_QUERY-03");
	CHECK_RET_IN(dat_ep_recv_query(p.b.ep, NULL, NULL), DAT_SUCCESS, DAT_INVALID_PARAMETER);
	ABOUT("EP_RECV_QUERY-06");
	MUST_RET(kit_send(p.a.ep, &buf, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	CHECK_RET(dat_ep_recv_query(p.b.ep, &n, &span), DAT_SUCCESS);
	CHECK_THAT(n == 2 || n == DAT_VALUE_UNKNOWN);
	ABOUT("EP_RECV_QUERY-10");
	CHECK_THAT(n == DAT_VALUE_UNKNOWN || span == DAT_VALUE_UNKNOWN || span >= n);
}

#define INFINITE DAT_WATERMARK_INFINITE

CLAUSE("EP_WM-01", "EP_WM-03", "EP_WM-05", "EP_WM-11", "EP_WM-14")
{
	DAT_EP_HANDLE ep[STATES];

	NEEDS(t.prov.srq_watermarks_supported, "srq_watermarks_supported");
	walk(ep);
	ABOUT("EP_WM-01");
	CHECK_RET(dat_ep_set_watermark(ep[UNC], 4, 8), DAT_SUCCESS);
	ABOUT("EP_WM-03");
	CHECK_RET(dat_ep_set_watermark(ep[UNC], -7, INFINITE), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ep_set_watermark(ep[UNC], INFINITE, -7), DAT_INVALID_PARAMETER);
	ABOUT("EP_WM-05");
	for (int i = 0; i < STATES; i++)
		CHECK_RET(dat_ep_set_watermark(ep[i], 4, 8), DAT_SUCCESS);
	ABOUT("EP_WM-11");
	CHECK_RET(dat_ep_set_watermark(ep[CON], 4, INFINITE), DAT_SUCCESS);
	CHECK_RET(dat_ep_set_watermark(ep[CON], INFINITE, 4), DAT_SUCCESS);
	ABOUT("EP_WM-14");
	CHECK_RET(dat_ep_set_watermark(ep[CON], 5, INFINITE), DAT_SUCCESS);
	CHECK_RET(dat_ep_set_watermark(ep[CON], 1, INFINITE), DAT_SUCCESS);
	kit_quiet(t.async);
}

CLAUSE("EP_WM-04")
{
	struct kit_end end;

	kit_end(&end, NULL);
	NEEDS(!t.prov.srq_watermarks_supported, "srq_watermarks_supported, which is true");
	CHECK_RET(dat_ep_set_watermark(end.ep, 4, 8), DAT_MODEL_NOT_SUPPORTED);
}
