/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints: creation, attributes, modify, mixing of streams on an EVD, queries, reset and reuse.
 */
#include <netinet/in.h>
#include <string.h>

#include "api.h"

static struct api_buf buf;

static void setup(void)
{
	api_open();
	buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
}

static DAT_EP_PARAM query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static DAT_RETURN create(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
			 const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;

	return dat_ep_create(api.ia, api.pz, recv, request, connect, attr, &ep);
}

static void new_endpoint_is_unconnected_and_idle(void)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state = DAT_EP_STATE_CONNECTED;
	struct api_end end;
	DAT_EP_PARAM param;

	api_end_make(&end, NULL);
	REQUIRE_DAT(dat_ep_get_status(end.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_EQ_INT(state, DAT_EP_STATE_UNCONNECTED);
	CHECK(recv_idle == DAT_TRUE && request_idle == DAT_TRUE);
	param = query(end.ep);
	CHECK(param.ia_handle == api.ia && param.pz_handle == api.pz);
	CHECK(param.recv_evd_handle == end.recv && param.request_evd_handle == end.request);
	CHECK(param.connect_evd_handle == end.connect && param.srq_handle == DAT_HANDLE_NULL);
	CHECK_EQ_INT(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	api_end_free(&end);
	CHECK_DAT(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
}

static void default_attributes_are_within_the_adapters_limits(void)
{
	struct api_end end;
	DAT_EP_ATTR attr;

	api_end_make(&end, NULL);
	attr = query(end.ep).ep_attr;
	CHECK_EQ_INT(attr.service_type, DAT_SERVICE_TYPE_RC);
	CHECK(attr.max_message_size > 0 && attr.max_message_size <= api.attr.max_message_size);
	CHECK(attr.max_rdma_size > 0 && attr.max_rdma_size <= api.attr.max_rdma_size);
	CHECK_EQ_INT(attr.qos, DAT_QOS_BEST_EFFORT);
	CHECK(attr.max_recv_dtos > 0 && attr.max_recv_dtos <= api.attr.max_dto_per_ep);
	CHECK(attr.max_request_dtos > 0 && attr.max_request_dtos <= api.attr.max_dto_per_ep);
	CHECK(attr.max_recv_iov > 0 && attr.max_recv_iov <= api.attr.max_iov_segments_per_dto);
	CHECK(attr.max_request_iov > 0 &&
	      attr.max_request_iov <= api.attr.max_iov_segments_per_dto);
}

static void attributes_are_honoured(void)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = 4321,
			     .max_rdma_size = 54321,
			     .max_recv_dtos = 33,
			     .max_request_dtos = 17,
			     .max_recv_iov = 3,
			     .max_request_iov = 2,
			     .max_rdma_read_in = 4,
			     .max_rdma_read_out = 3 };
	struct api_end end;
	DAT_EP_ATTR got;

	api_end_make(&end, &attr);
	got = query(end.ep).ep_attr;
	CHECK_EQ_INT(got.max_message_size, 4321);
	CHECK_EQ_INT(got.max_rdma_size, 54321);
	CHECK(got.max_recv_dtos >= 33 && got.max_request_dtos >= 17);
	CHECK(got.max_recv_iov >= 3 && got.max_request_iov >= 2);
	CHECK(got.max_rdma_read_in >= 4 && got.max_rdma_read_out >= 3);
}

static void refuse_attr(const DAT_EP_ATTR *attr, const char *what)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG),
		       connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	DAT_RETURN ret = DAT_GET_TYPE(create(evd, evd, connect, attr));

	if (ret != DAT_INVALID_PARAMETER)
		CHECK_FAIL("%s: got 0x%x, wanted DAT_INVALID_PARAMETER", what, (unsigned int)ret);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS); /* no endpoint uses it */
}

static void create_refuses_bad_attributes(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG);

#define REFUSE(field, bad) refuse_attr(&(DAT_EP_ATTR){ .field = (bad) }, #field " = " #bad)
	REFUSE(max_message_size, api.attr.max_message_size + 1);
	REFUSE(max_rdma_size, api.attr.max_rdma_size + 1);
	REFUSE(max_recv_dtos, api.attr.max_dto_per_ep + 1);
	REFUSE(max_request_dtos, api.attr.max_dto_per_ep + 1);
	REFUSE(max_recv_dtos, -1);
	REFUSE(max_request_dtos, -1);
	REFUSE(max_recv_iov, api.attr.max_iov_segments_per_dto + 1);
	REFUSE(max_request_iov, api.attr.max_iov_segments_per_dto + 1);
	REFUSE(max_recv_iov, -1);
	REFUSE(max_request_iov, -1);
	REFUSE(max_rdma_read_in, api.attr.max_rdma_read_per_ep_in + 1);
	REFUSE(max_rdma_read_out, api.attr.max_rdma_read_per_ep_out + 1);
	REFUSE(max_rdma_read_in, -1);
	REFUSE(max_rdma_read_out, -1);
	REFUSE(max_rdma_read_iov, api.attr.max_iov_segments_per_rdma_read + 1);
	REFUSE(max_rdma_write_iov, api.attr.max_iov_segments_per_rdma_write + 1);
	REFUSE(service_type, (DAT_SERVICE_TYPE)7);
	REFUSE(request_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	REFUSE(request_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG);
	REFUSE(request_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	REFUSE(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG);
	REFUSE(recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	REFUSE(recv_completion_flags, (DAT_COMPLETION_FLAGS)0x40);
#undef REFUSE
	CHECK_DAT(dat_ep_create(api.ia, api.pz, evd, evd, NULL, NULL, NULL), DAT_INVALID_PARAMETER);
}

static void any_evd_may_be_left_out(void)
{
	DAT_EVD_HANDLE recv = api_evd(8, DAT_EVD_DTO_FLAG), request = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);

	for (int mask = 0; mask < 8; mask++) {
		DAT_EP_PARAM param;
		DAT_EP_HANDLE ep;

		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, mask & 1 ? recv : NULL,
					  mask & 2 ? request : NULL, mask & 4 ? connect : NULL,
					  NULL, &ep),
			    DAT_SUCCESS);
		param = query(ep);
		CHECK(param.recv_evd_handle == (mask & 1 ? recv : NULL));
		CHECK(param.request_evd_handle == (mask & 2 ? request : NULL));
		CHECK(param.connect_evd_handle == (mask & 4 ? connect : NULL));
		CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
	}
}

/* Without EVDs the events are dropped, and data are still transferred. */
static void endpoints_without_evds_connect_and_transfer(void)
{
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG), recv = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE a, b;
	DAT_CONN_QUAL qual;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, NULL, NULL, NULL, NULL, &a), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, recv, NULL, NULL, NULL, &b), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(b, &buf, 4096, 64, 9), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(a, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b, 0, NULL), DAT_SUCCESS);
	REQUIRE_SOON(api_state(a) == DAT_EP_STATE_CONNECTED &&
		     api_state(b) == DAT_EP_STATE_CONNECTED);
	api_fill(buf.mem, 64, 1);
	REQUIRE_DAT(api_send(a, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	API_DTO(recv, b, 9, DAT_DTO_SUCCESS, 64);
	CHECK_EQ_INT(api_mismatch(buf.mem + 4096, 64, 1), -1);
	REQUIRE_DAT(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_SOON(api_state(a) == DAT_EP_STATE_DISCONNECTED &&
		     api_state(b) == DAT_EP_STATE_DISCONNECTED);
}

static void evd_without_the_streams_flag_is_refused(void)
{
	DAT_EVD_HANDLE soft = api_evd(8, DAT_EVD_SOFTWARE_FLAG), dto = api_evd(8, DAT_EVD_DTO_FLAG);

	CHECK(create(soft, dto, NULL, NULL) != DAT_SUCCESS);
	CHECK(create(dto, soft, NULL, NULL) != DAT_SUCCESS);
	CHECK(create(dto, dto, dto, NULL) != DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(soft), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(dto), DAT_SUCCESS);
}

static DAT_EP_ATTR flags(int recv, int request)
{
	return (DAT_EP_ATTR){ .recv_completion_flags = (DAT_COMPLETION_FLAGS)recv,
			      .request_completion_flags = (DAT_COMPLETION_FLAGS)request };
}

#define UNSIG  DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLI   DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define THRESH DAT_COMPLETION_EVD_THRESHOLD_FLAG

static void streams_of_different_completion_flags_do_not_share_an_evd(void)
{
	DAT_EVD_HANDLE a = api_evd(8, DAT_EVD_DTO_FLAG), b = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE c = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = flags(UNSIG, 0);

	/* The streams of one endpoint share an EVD. */
	CHECK_DAT(create(a, a, NULL, &attr), DAT_INVALID_PARAMETER);
	attr = flags(SOLI, 0);
	CHECK_DAT(create(a, a, NULL, &attr), DAT_INVALID_PARAMETER);
	attr = flags(UNSIG, UNSIG);
	CHECK_DAT(create(a, a, NULL, &attr), DAT_SUCCESS);
	/* Streams of two endpoints share an EVD. */
	attr = flags(SOLI, 0);
	CHECK_DAT(create(a, b, NULL, &attr), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(c, b, NULL, &attr), DAT_SUCCESS);
	CHECK_DAT(create(c, b, NULL, &attr), DAT_SUCCESS);
	attr = flags(0, 0);
	CHECK_DAT(create(c, b, NULL, &attr), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(b, c, NULL, &attr), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(b, a, NULL, &attr), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(b, b, NULL, &attr), DAT_SUCCESS);
	attr = flags(THRESH, THRESH); /* the same as the default */
	CHECK_DAT(create(b, b, NULL, &attr), DAT_SUCCESS);
}

static void evd_with_other_streams_takes_only_notifying_completions(void)
{
	DAT_EVD_HANDLE mixed = api_evd(8, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_EP_ATTR attr = flags(UNSIG, UNSIG);

	CHECK_DAT(create(mixed, mixed, mixed, &attr), DAT_INVALID_PARAMETER);
	attr = flags(SOLI, 0);
	CHECK_DAT(create(mixed, mixed, mixed, &attr), DAT_INVALID_PARAMETER);
	attr = flags(THRESH, THRESH);
	CHECK_DAT(create(mixed, mixed, mixed, &attr), DAT_SUCCESS);
	attr = flags(0, 0);
	CHECK_DAT(create(mixed, mixed, mixed, &attr), DAT_SUCCESS);
}

static void threshold_above_one_is_refused_where_some_events_do_not_notify(void)
{
	DAT_EVD_HANDLE unsig = api_evd(8, DAT_EVD_DTO_FLAG), soli = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE other = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = flags(UNSIG, UNSIG);
	DAT_EVENT event;
	DAT_COUNT nmore;

	REQUIRE_DAT(create(unsig, unsig, NULL, &attr), DAT_SUCCESS);
	attr = flags(SOLI, 0);
	REQUIRE_DAT(create(soli, other, NULL, &attr), DAT_SUCCESS);
	CHECK_DAT(dat_evd_wait(unsig, 0, 2, &event, &nmore), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_wait(soli, 0, 2, &event, &nmore), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_wait(unsig, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	CHECK_DAT(dat_evd_wait(soli, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	CHECK_DAT(dat_evd_wait(other, 0, 2, &event, &nmore), DAT_TIMEOUT_EXPIRED);
}

static void one_evd_takes_every_event_of_an_endpoint(void)
{
	DAT_EVD_HANDLE all = api_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
						 DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CR_FLAG);
	DAT_EP_HANDLE a, b;
	DAT_CONN_QUAL qual;
	int seen = 0;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, all, all, all, NULL, &a), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, all, all, all, NULL, &b), DAT_SUCCESS);
	api_listen(all, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(api_connect(a, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(all), b, 0, NULL), DAT_SUCCESS);
	API_CONN(all, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(all, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_recv(b, &buf, 4096, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(a, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		DAT_EVENT event;

		API_EVENT(all, &event);
		REQUIRE_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
		CHECK(event.event_data.dto_completion_event_data.ep_handle ==
		      (event.event_data.dto_completion_event_data.user_cookie.as_64 == 1 ? b : a));
		seen |= 1 << event.event_data.dto_completion_event_data.user_cookie.as_64;
	}
	CHECK_EQ_INT(seen, 6);
}

static void modify_changes_only_what_the_mask_names(void)
{
	struct api_end end;
	DAT_EP_PARAM param, after;
	DAT_EP_ATTR before;

	api_end_make(&end, NULL);
	before = query(end.ep).ep_attr;
	memset(&param, 0xa5, sizeof(param));
	param.ep_attr.max_recv_dtos = 7;
	param.ep_attr.max_message_size = 2000;
	REQUIRE_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &param),
		    DAT_SUCCESS);
	after = query(end.ep);
	CHECK_EQ_INT(after.ep_attr.max_message_size, 2000);
	CHECK_EQ_INT(after.ep_attr.max_recv_dtos, before.max_recv_dtos);
	CHECK(after.recv_evd_handle == end.recv && after.pz_handle == api.pz);
	REQUIRE_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param), DAT_SUCCESS);
	CHECK(query(end.ep).ep_attr.max_recv_dtos >= 7);
	CHECK_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, NULL),
		  DAT_INVALID_PARAMETER);
}

static void refused_modify_changes_nothing(void)
{
	struct api_end end;
	DAT_EP_PARAM param = { 0 }, before;

	api_end_make(&end, NULL);
	before = query(end.ep);
	param.ep_attr.max_message_size = 1000;
	param.ep_attr.max_recv_dtos = api.attr.max_dto_per_ep + 1;
	param.ep_attr.request_completion_flags = SOLI;
	CHECK_DAT(dat_ep_modify(end.ep,
				DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
					DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				&param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_modify(end.ep,
				DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
					DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
				&param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_modify(end.ep,
				DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE | DAT_EP_FIELD_IA_HANDLE,
				&param),
		  DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(query(end.ep).ep_attr.max_message_size, before.ep_attr.max_message_size);
	CHECK_EQ_INT(query(end.ep).ep_attr.max_recv_dtos, before.ep_attr.max_recv_dtos);
}

static void modify_takes_the_legal_completion_flags_only(void)
{
	static const struct {
		int flag;
		DAT_RETURN recv, request;
	} legal[] = {
		{ THRESH, DAT_SUCCESS, DAT_SUCCESS },
		{ UNSIG, DAT_SUCCESS, DAT_SUCCESS },
		{ SOLI, DAT_SUCCESS, DAT_INVALID_PARAMETER },
		{ DAT_COMPLETION_SUPPRESS_FLAG, DAT_INVALID_PARAMETER, DAT_INVALID_PARAMETER },
		{ DAT_COMPLETION_BARRIER_FENCE_FLAG, DAT_INVALID_PARAMETER, DAT_INVALID_PARAMETER },
	};
	struct api_end end;

	api_end_make(&end, NULL);
	for (size_t i = 0; i < sizeof(legal) / sizeof(*legal); i++) {
		DAT_EP_PARAM param = { .ep_attr = flags(legal[i].flag, legal[i].flag) };

		CHECK_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param),
			  legal[i].recv);
		CHECK_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
					&param),
			  legal[i].request);
	}
}

static void recv_completion_flags_are_fixed_by_the_first_receive(void)
{
	DAT_EP_PARAM param = { .ep_attr = flags(UNSIG, UNSIG) };
	struct api_end end;
	DAT_RETURN ret;

	api_end_make(&end, NULL);
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	ret = DAT_GET_TYPE(
		dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	CHECK(ret == DAT_INVALID_STATE || ret == DAT_INVALID_PARAMETER);
}

static void modified_evd_gets_the_events_and_the_old_one_is_free(void)
{
	DAT_EVD_HANDLE connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_PARAM param = { .connect_evd_handle = connect };
	struct api_end end;

	api_end_make(&end, NULL);
	REQUIRE_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(end.connect), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(connect), DAT_INVALID_STATE);
	REQUIRE_DAT(api_connect(end.ep, 1), DAT_SUCCESS);
	API_CONN(connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void modify_holds_the_rules_of_mixing(void)
{
	DAT_EVD_HANDLE unsig = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = flags(UNSIG, UNSIG);
	DAT_EP_PARAM param = { .recv_evd_handle = unsig };
	struct api_end end;

	REQUIRE_DAT(create(unsig, unsig, NULL, &attr), DAT_SUCCESS);
	api_end_make(&end, NULL);
	CHECK_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param),
		  DAT_INVALID_PARAMETER);
	CHECK(query(end.ep).recv_evd_handle == end.recv);
}

/* DAT 2.0 has another rule for the events of connections: tests/dat20/loan_test.c. */
static void evd_of_another_instance_is_refused(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	struct api_end end;
	DAT_EP_PARAM param;

	REQUIRE_DAT(dat_evd_create(api_open_another(), 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &evd),
		    DAT_SUCCESS);
	CHECK_DAT(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd, NULL, &ep), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, evd, DAT_HANDLE_NULL, NULL, &ep), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_ep_create(api.ia, api.pz, evd, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep), DAT_INVALID_HANDLE);
	api_end_make(&end, NULL);
	param.connect_evd_handle = evd;
	CHECK_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), DAT_INVALID_HANDLE);
	CHECK(query(end.ep).connect_evd_handle == end.connect);
}

static void receive_posted_under_another_zone_is_a_protection_fault(void)
{
	struct api_pair pair;
	DAT_EP_PARAM param = { .pz_handle = api_pz() };

	api_pair_make(&pair, NULL);
	api_disconnect(&pair);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_modify(pair.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	api_pair_connect(&pair);
	memset(buf.mem, 0, 64);
	memset(buf.mem + 4096, 1, 64);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION, API_ANY_LENGTH);
	CHECK(buf.mem[0] == 0);
}

static void query_answers_each_mask_bit_and_refuses_others(void)
{
	struct api_end end;
	DAT_EP_PARAM param;

	api_end_make(&end, NULL);
	for (uint64_t bit = 1; bit <= DAT_EP_FIELD_ALL; bit <<= 1)
		if (bit & DAT_EP_FIELD_ALL)
			CHECK_DAT(dat_ep_query(end.ep, bit, &param), DAT_SUCCESS);
	CHECK_DAT(dat_ep_query(end.ep, ~UINT64_C(0), &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_query(end.ep, UINT64_C(1) << 31, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK(dat_ep_get_status(end.ep, NULL, NULL, NULL) != DAT_INTERNAL_ERROR);
}

static void connected_ends_tell_each_others_addresses(void)
{
	struct sockaddr_in here, local, remote;
	struct api_pair pair;
	DAT_EP_PARAM a, b;

	api_pair_make(&pair, NULL);
	a = query(pair.a.ep);
	b = query(pair.b.ep);
	REQUIRE(a.local_ia_address_ptr && a.remote_ia_address_ptr);
	REQUIRE(b.local_ia_address_ptr && b.remote_ia_address_ptr);
	memcpy(&here, api_address(), sizeof(here));
	memcpy(&local, a.local_ia_address_ptr, sizeof(local));
	memcpy(&remote, b.remote_ia_address_ptr, sizeof(remote));
	CHECK_EQ_INT(local.sin_family, AF_INET);
	CHECK_EQ_INT(remote.sin_family, AF_INET);
	CHECK_EQ_INT(local.sin_addr.s_addr, here.sin_addr.s_addr);
	CHECK_EQ_INT(remote.sin_addr.s_addr, here.sin_addr.s_addr);
	CHECK_EQ_INT(a.local_port_qual, b.remote_port_qual);
	CHECK_EQ_INT(b.local_port_qual, a.remote_port_qual);
}

static void an_endpoint_has_a_port_in_its_second_connection_too(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_disconnect(&pair);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	api_pair_connect(&pair);
	CHECK(query(pair.a.ep).local_port_qual != 0);
	CHECK(query(pair.b.ep).local_port_qual != 0);
	CHECK_EQ_INT(query(pair.a.ep).local_port_qual, query(pair.b.ep).remote_port_qual);
}

static void status_tells_whether_queues_are_idle(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	struct api_pair pair;
	DAT_EP_STATE state;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_get_status(pair.b.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK(recv_idle == DAT_FALSE && request_idle == DAT_TRUE);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	REQUIRE_DAT(dat_ep_get_status(pair.b.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK(recv_idle == DAT_TRUE);
	REQUIRE_DAT(dat_ep_get_status(pair.a.ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK(request_idle == DAT_TRUE);
}

static void reset_of_an_unconnected_endpoint_keeps_its_receives(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_disconnect(&pair);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	API_STATE(pair.a.ep, DAT_EP_STATE_UNCONNECTED);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 5), DAT_SUCCESS);
	CHECK_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	API_STATE(pair.b.ep, DAT_EP_STATE_UNCONNECTED);
	api_pair_connect(&pair);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, 6, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 5, DAT_DTO_SUCCESS, 64);
}

/* After a marker has come from the EVDs, no event of the old connection can come. */
static void marker_posted_after_the_end_comes_out_last(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	for (uint64_t n = 0; n < 5; n++)
		REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, 64, n), DAT_SUCCESS);
	api_disconnect(&pair);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, 64, 100), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 101, 0), DAT_SUCCESS);
	for (uint64_t n = 0; n < 5; n++)
		API_DTO(pair.a.recv, pair.a.ep, n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.a.recv, pair.a.ep, 100, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.a.request, pair.a.ep, 101, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(pair.a.recv);
	API_EMPTY(pair.a.request);
}

static void endpoint_connects_again_and_again_and_sees_nothing_old(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	for (uint64_t round = 0; round < 50; round++) {
		DAT_EVENT event;

		/* Some of the old connection's completions are left undequeued on purpose. */
		for (uint64_t n = 0; n < 3; n++)
			REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1000 * round + n),
				    DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, round, 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 1000 * round, DAT_DTO_SUCCESS, 64);
		API_DTO(pair.a.request, pair.a.ep, round, DAT_DTO_SUCCESS, 64);
		api_disconnect(&pair);
		REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		while (dat_evd_dequeue(pair.b.recv, &event) == DAT_SUCCESS)
			CHECK_EQ_INT(event.event_data.dto_completion_event_data.status,
				     DAT_DTO_ERR_FLUSHED);
		api_pair_connect(&pair);
		API_EMPTY(pair.b.recv);
	}
}

static void many_endpoints_are_made_and_freed_until_one_is_refused(void)
{
	enum { CAP = 2000 };
	/* the completions fit into the longest queue of a device that counts them */
	DAT_EP_ATTR attr = { .max_recv_dtos = 4, .max_request_dtos = 4 };
	DAT_EVD_HANDLE dto = api_evd(8, DAT_EVD_DTO_FLAG),
		       connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	static DAT_EP_HANDLE eps[CAP];
	DAT_RETURN ret = DAT_SUCCESS;
	int made = 0;

	while (made < CAP) {
		ret = dat_ep_create(api.ia, api.pz, dto, dto, connect, &attr, &eps[made]);
		if (ret != DAT_SUCCESS)
			break;
		made++;
	}
	if (ret != DAT_SUCCESS)
		CHECK_DAT(ret, DAT_INSUFFICIENT_RESOURCES);
	CHECK(made >= (api.attr.max_eps < CAP ? api.attr.max_eps : CAP));
	while (made > 0)
		CHECK_DAT(dat_ep_free(eps[--made]), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(dto), DAT_SUCCESS);
}

/* Wrong arguments concern the programmer, so only level debug reports them. */
static void wrong_arguments_print_nothing_by_default(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = -7 };
	DAT_EP_HANDLE ep;

	check_stderr_begin();
	CHECK_DAT(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, &attr,
				&ep),
		  DAT_INVALID_PARAMETER);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
				  &ep),
		    DAT_SUCCESS);
	CHECK_DAT(dat_ep_post_send(ep, 1, NULL, api_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER);
	CHECK_EQ_STR(check_stderr_end(), "");
}

static const struct check_test tests[] = {
	CHECK_TEST(new_endpoint_is_unconnected_and_idle),
	CHECK_TEST(default_attributes_are_within_the_adapters_limits),
	CHECK_TEST(attributes_are_honoured),
	CHECK_TEST(create_refuses_bad_attributes),
	CHECK_TEST(any_evd_may_be_left_out),
	CHECK_TEST(endpoints_without_evds_connect_and_transfer),
	CHECK_TEST(evd_without_the_streams_flag_is_refused),
	CHECK_TEST(streams_of_different_completion_flags_do_not_share_an_evd),
	CHECK_TEST(evd_with_other_streams_takes_only_notifying_completions),
	CHECK_TEST(threshold_above_one_is_refused_where_some_events_do_not_notify),
	CHECK_TEST(one_evd_takes_every_event_of_an_endpoint),
	CHECK_TEST(modify_changes_only_what_the_mask_names),
	CHECK_TEST(refused_modify_changes_nothing),
	CHECK_TEST(modify_takes_the_legal_completion_flags_only),
	CHECK_TEST(recv_completion_flags_are_fixed_by_the_first_receive),
	CHECK_TEST(modified_evd_gets_the_events_and_the_old_one_is_free),
	CHECK_TEST(modify_holds_the_rules_of_mixing),
	CHECK_TEST(evd_of_another_instance_is_refused),
	CHECK_TEST(receive_posted_under_another_zone_is_a_protection_fault),
	CHECK_TEST(query_answers_each_mask_bit_and_refuses_others),
	CHECK_TEST(connected_ends_tell_each_others_addresses),
	CHECK_TEST(an_endpoint_has_a_port_in_its_second_connection_too),
	CHECK_TEST(status_tells_whether_queues_are_idle),
	CHECK_TEST(reset_of_an_unconnected_endpoint_keeps_its_receives),
	CHECK_TEST(marker_posted_after_the_end_comes_out_last),
	CHECK_TEST(endpoint_connects_again_and_again_and_sees_nothing_old),
	CHECK_TEST(many_endpoints_are_made_and_freed_until_one_is_refused),
	CHECK_TEST(wrong_arguments_print_nothing_by_default),
	CHECK_END
};

static const struct check_suite ep = {
	.name = "ep",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&ep);
