/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: attributes, states, streams, posting, flushing, reset. */
#include <pthread.h>
#include <unistd.h>

#include "core_world.h"
#include "datp/ext.h"
#include "providers/common/core/ep.h"

static DAT_EP_HANDLE a, b;

static void open_world(void)
{
	world_open();
	a = world_ep();
	b = world_ep_on(w.dto2, NULL);
}

#define CHECK_STATE(ep, state) CHECK_EQ_INT(world_state(ep), state)

static DAT_EP_PARAM query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	CHECK_DAT(DAT->ep_query_func(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static DAT_RETURN create(DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, DAT_EVD_HANDLE conn,
			 const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;

	return DAT->ep_create_func(w.ia, w.pz, recv, request, conn, attr, &ep);
}

static void disconnect(void)
{
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ------------------------------------------------------------------ attributes */

static void no_attributes_and_zeros_mean_defaults_that_create_takes_back(void)
{
	DAT_EP_ATTR zeros = { 0 }, got;

	got = query(a).ep_attr;
	CHECK_EQ_INT(got.service_type, DAT_SERVICE_TYPE_RC);
	CHECK(got.max_message_size > 0);
	CHECK(got.max_rdma_size > 0);
	CHECK(got.max_recv_dtos >= 64 && got.max_request_dtos >= 64);
	CHECK(got.max_recv_iov > 0 && got.max_request_iov > 0);
	CHECK(got.max_rdma_read_in > 0 && got.max_rdma_read_out > 0);
	CHECK(got.max_rdma_read_iov > 0 && got.max_rdma_write_iov > 0);
	CHECK_EQ_INT(got.srq_soft_hw, DAT_HW_DEFAULT);
	CHECK_DAT(create(w.dto, w.dto, w.conn, &zeros), DAT_SUCCESS);
	CHECK_DAT(create(w.dto, w.dto, w.conn, &got), DAT_SUCCESS);
}

static void asked_attributes_are_honoured(void)
{
	DAT_EP_ATTR attr = { .max_message_size = 100,
			     .max_recv_dtos = 3,
			     .max_request_dtos = 5,
			     .max_recv_iov = 1,
			     .max_request_iov = 2,
			     .max_rdma_read_in = 1,
			     .max_rdma_read_out = 2 },
		    got;

	got = query(world_ep_on(w.dto, &attr)).ep_attr;
	CHECK_EQ_INT(got.max_message_size, 100);
	CHECK_EQ_INT(got.max_recv_dtos, 3);
	CHECK_EQ_INT(got.max_request_dtos, 5);
	CHECK_EQ_INT(got.max_recv_iov, 1);
	CHECK_EQ_INT(got.max_request_iov, 2);
	CHECK_EQ_INT(got.max_rdma_read_in, 1);
	CHECK_EQ_INT(got.max_rdma_read_out, 2);
}

static void attributes_beyond_the_limits_are_refused(void)
{
	const DAT_EP_ATTR bad[] = {
		{ .max_message_size = (1 << 20) + 1 },
		{ .max_rdma_size = UINT64_C(1) << 40 },
		{ .max_recv_dtos = 1025 },
		{ .max_recv_dtos = -1 },
		{ .max_request_dtos = 1025 },
		{ .max_request_iov = 9 },
		{ .max_recv_iov = -3 },
		{ .max_rdma_read_in = 17 },
		{ .max_rdma_read_iov = 9 },
		{ .srq_soft_hw = -2 },
		{ .service_type = (DAT_SERVICE_TYPE)1 },
		{ .recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG },
		{ .recv_completion_flags = DAT_COMPLETION_BARRIER_FENCE_FLAG },
		{ .request_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG },
		{ .recv_completion_flags =
			  (DAT_COMPLETION_FLAGS)(DAT_COMPLETION_UNSIGNALLED_FLAG |
						 DAT_COMPLETION_SOLICITED_WAIT_FLAG) },
	};
	const DAT_EP_ATTR qos = { .qos = DAT_QOS_PREMIUM };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (DAT_GET_TYPE(create(w.dto, w.dto, w.conn, &bad[i])) != DAT_INVALID_PARAMETER)
			CHECK_FAIL("attributes %zu are accepted", i);
	CHECK_DAT(create(w.dto, w.dto, w.conn, &qos), DAT_MODEL_NOT_SUPPORTED);
}

static void create_wants_live_handles_of_the_right_kind(void)
{
	DAT_EP_HANDLE ep = &ep;
	DAT_PZ_HANDLE pz;

	REQUIRE_DAT(DAT->pz_create_func(w.ia, &pz), DAT_SUCCESS);
	REQUIRE_DAT(DAT->pz_free_func(pz), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_create_func(w.ia, pz, w.dto, w.dto, w.conn, NULL, &ep),
		  DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->ep_create_func(w.ia, w.pz, w.pz, w.dto, w.conn, NULL, &ep),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_RECV);
	CHECK_DAT(DAT->ep_create_func(w.ia, w.pz, w.dto, w.conn, w.conn, NULL, &ep),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_REQUEST);
	CHECK_DAT(DAT->ep_create_func(w.ia, w.pz, w.dto, w.dto, w.dto, NULL, &ep),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_CONN);
	CHECK_DAT(DAT->ep_create_func(&ep, w.pz, w.dto, w.dto, w.conn, NULL, &ep),
		  DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->ep_create_func(w.ia, w.pz, w.dto, w.dto, w.conn, NULL, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK(ep == (DAT_EP_HANDLE)&ep);
	CHECK_DAT(create(NULL, NULL, NULL, NULL), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ streams */

static void streams_that_notify_differently_do_not_share_a_queue(void)
{
	const DAT_EP_ATTR plain = { 0 },
			  all = { .request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
				  .recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG };
	const DAT_EP_ATTR unsignalled = { .request_completion_flags =
						  DAT_COMPLETION_UNSIGNALLED_FLAG,
					  .recv_completion_flags =
						  DAT_COMPLETION_UNSIGNALLED_FLAG };
	const DAT_EP_ATTR half = { .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG };
	const DAT_EP_ATTR solicited = { .recv_completion_flags =
						DAT_COMPLETION_SOLICITED_WAIT_FLAG };
	DAT_EVD_HANDLE one = world_evd(DAT_EVD_DTO_FLAG), two = world_evd(DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE mixed = world_evd(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);

	CHECK_DAT(create(one, one, NULL, &unsignalled), DAT_SUCCESS);
	CHECK_DAT(create(one, one, NULL, &unsignalled), DAT_SUCCESS);
	CHECK_DAT(create(one, NULL, NULL, &plain), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(two, one, NULL, &half), DAT_SUCCESS);
	CHECK_DAT(create(two, two, NULL, &half), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(two, two, NULL, &all), DAT_SUCCESS);
	CHECK_DAT(create(two, NULL, NULL, &solicited), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(mixed, mixed, mixed, &unsignalled), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(mixed, mixed, mixed, &all), DAT_SUCCESS);
	CHECK_DAT(create(mixed, mixed, mixed, &plain), DAT_SUCCESS);
	CHECK_DAT(create(mixed, NULL, NULL, &unsignalled), DAT_INVALID_PARAMETER);
}

static void a_refused_create_leaves_no_stream_behind(void)
{
	const DAT_EP_ATTR half = { .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG };
	DAT_EVD_HANDLE evd = world_evd(DAT_EVD_DTO_FLAG);

	CHECK_DAT(create(evd, evd, w.conn, &half), DAT_INVALID_PARAMETER);
	CHECK_DAT(create(evd, evd, w.dto, NULL), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->evd_free_func(evd), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ states */

/* The table of the specification: from which states each cause leads, and to which. */
static void every_state_change_is_one_of_the_table(void)
{
	enum {
		UNC = DAT_EP_STATE_UNCONNECTED,
		RES = DAT_EP_STATE_RESERVED,
		PAS = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		ACT = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		TEN = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
		CON = DAT_EP_STATE_CONNECTED,
		DPN = DAT_EP_STATE_DISCONNECT_PENDING,
		DIS = DAT_EP_STATE_DISCONNECTED,
		CMP = DAT_EP_STATE_COMPLETION_PENDING
	};
	static const struct {
		enum ep_cause cause;
		int from, to;
	} legal[] = {
		{ EP_CONNECT, UNC, ACT },
		{ EP_CONNECT_REFUSED, ACT, UNC },
		{ EP_RESERVE, UNC, RES },
		{ EP_UNRESERVE, RES, UNC },
		{ EP_REQUEST, RES, PAS },
		{ EP_REJECT, PAS, UNC },
		{ EP_ACCEPT, UNC, CMP },
		{ EP_ACCEPT, PAS, CMP },
		{ EP_ACCEPT, TEN, CMP },
		{ EP_ACCEPT_REFUSED_UNC, CMP, UNC },
		{ EP_ACCEPT_REFUSED_PAS, CMP, PAS },
		{ EP_ACCEPT_REFUSED_TEN, CMP, TEN },
		{ EP_ESTABLISHED, ACT, CON },
		{ EP_ESTABLISHED, CMP, CON },
		{ EP_FAILED, ACT, DIS },
		{ EP_FAILED, CMP, DIS },
		{ EP_DRAIN, CON, DPN },
		{ EP_ENDED, CON, DIS },
		{ EP_ENDED, DPN, DIS },
		{ EP_RESET, DIS, UNC },
	};
	const size_t count = sizeof(legal) / sizeof(legal[0]);
	struct datp_ep ep = { .obj = { 0 } };
	size_t moves = 0;

	for (int cause = 0; cause < EP_CAUSE_COUNT; cause++) {
		for (int from = UNC; from <= CMP; from++) {
			size_t i = 0;

			ep_born(&ep, from);
			while (i < count && ((int)legal[i].cause != cause || legal[i].from != from))
				i++;
			CHECK_EQ_INT(ep_move_locked(&ep, (enum ep_cause)cause), i < count);
			CHECK_EQ_INT(ep_state(&ep), i < count ? legal[i].to : from);
			moves += i < count;
		}
	}
	CHECK_EQ_INT(moves, count);
}

static void requests_are_refused_where_there_is_no_connection(void)
{
	DAT_LMR_TRIPLET segment = world_segment(0, 16);
	DAT_RMR_TRIPLET remote = { .rmr_context = w.rmr_context, .segment_length = 16 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	CHECK_DAT(world_send(a, 0, 16, 1, DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE | DAT_INVALID_STATE_EP_UNCONNECTED);
	CHECK_DAT(DAT->ep_post_rdma_write_func(a, 1, &segment, cookie, &remote,
					       DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE);
	CHECK_DAT(DAT->ep_post_rdma_read_func(a, 1, &segment, cookie, &remote,
					      DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_STATE);
	CHECK_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
	CHECK_EMPTY(w.dto);
}

static void reset_is_for_the_disconnected(void)
{
	CHECK_DAT(DAT->ep_reset_func(w.pz), DAT_INVALID_HANDLE);
	REQUIRE_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	world_pair(a, b);
	CHECK_DAT(DAT->ep_reset_func(a), DAT_INVALID_STATE);
	/* the receive that was posted before the reset of an unconnected endpoint is still valid */
	REQUIRE_DAT(world_send(b, 16, 16, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto, 1, DAT_DTO_SUCCESS);
	disconnect();
	CHECK_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	CHECK_STATE(a, DAT_EP_STATE_UNCONNECTED);
}

static void status_tells_what_is_outstanding(void)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state;

	REQUIRE_DAT(DAT->ep_get_status_func(a, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK(recv_idle && request_idle);
	REQUIRE_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_get_status_func(a, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK(!recv_idle && request_idle);
	world_pair(a, b);
	REQUIRE_DAT(world_send(b, 0, 16, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_get_status_func(a, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK(recv_idle && request_idle);
	CHECK_EQ_INT(state, DAT_EP_STATE_CONNECTED);
	CHECK_DTO(w.dto, 1, DAT_DTO_SUCCESS);
}

/* ------------------------------------------------------------------ posting */

static void data_arrives_scattered_as_it_was_gathered(void)
{
	DAT_LMR_TRIPLET out[2] = { world_segment(100, 3), world_segment(200, 4) };
	DAT_LMR_TRIPLET in[2] = { world_segment(300, 2), world_segment(400, 16) };
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	memcpy(w.bytes + 100, "abc", 3);
	memcpy(w.bytes + 200, "defg", 4);
	world_pair(a, b);
	REQUIRE_DAT(DAT->ep_post_recv_func(b, 2, in, (DAT_DTO_COOKIE){ .as_64 = 7 },
					   DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_post_send_func(a, 2, out, (DAT_DTO_COOKIE){ .as_64 = 8 },
					   DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	dto = world_dto(w.dto2);
	CHECK(dto.ep_handle == b);
	CHECK_EQ_INT(dto.user_cookie.as_64, 7);
	CHECK_EQ_INT(dto.transfered_length, 7);
	CHECK_EQ_MEM(w.bytes + 300, "ab", 2);
	CHECK_EQ_MEM(w.bytes + 400, "cdefg", 5);
	dto = world_dto(w.dto);
	CHECK(dto.ep_handle == a);
	CHECK_EQ_INT(dto.transfered_length, 7);
	REQUIRE_DAT(DAT->ep_post_recv_func(b, 0, NULL, (DAT_DTO_COOKIE){ .as_64 = 9 },
					   DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_post_send_func(a, 0, NULL, (DAT_DTO_COOKIE){ .as_64 = 9 },
					   DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	CHECK_DTO(w.dto2, 9, DAT_DTO_SUCCESS);
}

static void posts_are_checked(void)
{
	DAT_LMR_TRIPLET segment = world_segment(0, 16),
			outside = world_segment(WORLD_BYTES - 8, 16);
	DAT_RMR_TRIPLET remote = { .rmr_context = w.rmr_context,
				   .target_address = (DAT_VADDR)(uintptr_t)w.bytes,
				   .segment_length = 8 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	world_pair(a, b);
#define SEND(n, iov, flags) DAT->ep_post_send_func(a, n, iov, cookie, (DAT_COMPLETION_FLAGS)(flags))
	CHECK_DAT(DAT->ep_post_send_func(w.pz, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_HANDLE);
	CHECK_DAT(SEND(-1, &segment, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(SEND(9, &segment, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(SEND(1, NULL, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(SEND(1, &outside, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(SEND(1, &segment, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_INVALID_PARAMETER);
	CHECK_DAT(SEND(1, &segment, 0x40), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->ep_post_recv_func(a, 1, &segment, cookie, DAT_COMPLETION_SUPPRESS_FLAG),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->ep_post_rdma_write_func(a, 1, &segment, cookie, &remote,
					       DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_LENGTH_ERROR);
	CHECK_DAT(DAT->ep_post_rdma_write_func(a, 1, &segment, cookie, NULL,
					       DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER);
#undef SEND
	CHECK_EMPTY(w.dto);
}

static void the_asked_depth_is_there_and_no_more(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = 5, .max_recv_dtos = 3 };
	DAT_EP_HANDLE c = world_ep_on(w.dto, &attr);

	for (uint64_t i = 0; i < 3; i++)
		CHECK_DAT(world_recv(c, 0, 16, i), DAT_SUCCESS);
	CHECK_DAT(world_recv(c, 0, 16, 3), DAT_INSUFFICIENT_RESOURCES);
	world_pair(c, b);
	for (uint64_t i = 0; i < 5; i++)
		CHECK_DAT(world_send(c, 0, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DAT(world_send(c, 0, 16, 5, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
	/* completion is not enough: the slot is free when its event has been taken */
	CHECK_DTO(w.dto, 0, DAT_DTO_SUCCESS);
	CHECK_DAT(world_send(c, 0, 16, 5, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DAT(world_send(c, 0, 16, 6, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
}

/*
 * Posts many suppressed operations, whose slots become free in each way in which a transport may
 * complete them.
 */
static void suppress_many(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = 2 };
	DAT_EP_HANDLE c = world_ep_on(w.dto, &attr);
	int full = 0;

	world_pair(c, b);
	for (uint64_t i = 0; i < 1000; i++) {
		DAT_EVENT event;

		while (world_send(c, 0, 16, i, DAT_COMPLETION_SUPPRESS_FLAG) != DAT_SUCCESS) {
			/* a transport that makes progress only in polls has to be polled */
			CHECK_DAT(DAT->evd_dequeue_func(w.dto, &event), DAT_QUEUE_EMPTY);
			REQUIRE(full++ < 1000);
		}
	}
	CHECK_EMPTY(w.dto);
	REQUIRE_DAT(world_send(c, 0, 16, 1000, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto, 1000, DAT_DTO_SUCCESS);
	CHECK_EMPTY(w.dto);
}

static void suppressed_requests_complete_in_silence_when_polled(void)
{
	suppress_many();
}

static void suppressed_requests_complete_in_silence_when_posted(void)
{
	loopback.complete_in_post = true;
	suppress_many();
}

static void a_silent_request_behind_a_taken_event_is_given_back(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = 2 };
	DAT_EP_HANDLE c = world_ep_on(w.dto, &attr);

	loopback.complete_in_post = true;
	world_pair(c, b);
	REQUIRE_DAT(world_send(c, 0, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(world_send(c, 0, 16, 2, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	CHECK_DAT(world_send(c, 0, 16, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DTO(w.dto, 1, DAT_DTO_SUCCESS);
	REQUIRE_DAT(world_send(c, 0, 16, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(world_send(c, 0, 16, 4, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto, 3, DAT_DTO_SUCCESS);
	CHECK_DTO(w.dto, 4, DAT_DTO_SUCCESS);
}

static void rdma_moves_bytes_without_the_peer(void)
{
	DAT_LMR_TRIPLET segment = world_segment(0, 5);
	DAT_RMR_TRIPLET remote = { .rmr_context = w.rmr_context,
				   .target_address = (DAT_VADDR)(uintptr_t)(w.bytes + 64),
				   .segment_length = 5 };
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };

	memcpy(w.bytes, "write", 5);
	world_pair(a, b);
	REQUIRE_DAT(DAT->ep_post_rdma_write_func(a, 1, &segment, cookie, &remote,
						 DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	CHECK_DTO(w.dto, 3, DAT_DTO_SUCCESS);
	CHECK_EQ_MEM(w.bytes + 64, "write", 5);
	memcpy(w.bytes + 64, "again", 5);
	REQUIRE_DAT(DAT->ep_post_rdma_read_func(a, 1, &segment, cookie, &remote,
						DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	CHECK_DTO(w.dto, 3, DAT_DTO_SUCCESS);
	CHECK_EQ_MEM(w.bytes, "again", 5);
	CHECK_EMPTY(w.dto2);
}

/* ------------------------------------------------------------------ flushing */

static void flushes_come_in_order_after_the_successes(void)
{
	world_pair(a, b);
	for (uint64_t i = 0; i < 5; i++)
		REQUIRE_DAT(world_recv(b, 0, 16, i), DAT_SUCCESS);
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(world_send(a, 0, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	disconnect();
	for (uint64_t i = 0; i < 5; i++)
		CHECK_DTO(w.dto2, i, i < 2 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
	CHECK_EMPTY(w.dto2);
}

static void posts_on_the_disconnected_are_flushed_behind_the_others(void)
{
	world_pair(a, b);
	REQUIRE_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
	disconnect();
	REQUIRE_DAT(world_recv(a, 0, 16, 2), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 0, 16, 3, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	for (uint64_t i = 1; i <= 3; i++)
		CHECK_DTO(w.dto, i, DAT_DTO_ERR_FLUSHED);
	CHECK_EMPTY(w.dto);
}

static void nothing_of_the_old_connection_shows_after_a_reset(void)
{
	world_pair(a, b);
	for (uint64_t i = 0; i < 8; i++)
		REQUIRE_DAT(world_recv(a, 0, 16, i), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 0, 16, 100, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	disconnect();
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_reset_func(b), DAT_SUCCESS);
	CHECK_EMPTY(w.dto);
	world_pair(a, b);
	REQUIRE_DAT(world_recv(a, 0, 16, 200), DAT_SUCCESS);
	REQUIRE_DAT(world_send(b, 0, 16, 201, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto, 200, DAT_DTO_SUCCESS);
	CHECK_EMPTY(w.dto);
}

static void a_freed_endpoint_takes_its_events_along(void)
{
	world_pair(a, b);
	REQUIRE_DAT(world_recv(b, 0, 16, 1), DAT_SUCCESS);
	for (uint64_t i = 0; i < 4; i++)
		REQUIRE_DAT(world_send(a, 0, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_free_func(a), DAT_SUCCESS);
	CHECK_EMPTY(w.dto);
	CHECK_DAT(DAT->evd_free_func(w.dto), DAT_SUCCESS);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_DTO(w.dto2, 1, DAT_DTO_SUCCESS);
	REQUIRE_DAT(DAT->ep_free_func(b), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_free_func(b), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->pz_free_func(w.pz), DAT_INVALID_STATE);	/* the LMR */
}

/* ------------------------------------------------------------------ modify */

static DAT_RETURN modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	return DAT->ep_modify_func(ep, mask, param);
}

static void modify_changes_what_it_may_and_nothing_else(void)
{
	DAT_EP_PARAM param = query(a), before = param;
	DAT_EVD_HANDLE evd = world_evd(DAT_EVD_DTO_FLAG);

	param.recv_evd_handle = evd;
	param.ep_attr.max_recv_dtos = 7;
	param.ep_attr.max_request_dtos = 9;
	param.ep_attr.max_message_size = 99;
	REQUIRE_DAT(modify(a, DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
			   &param),
		    DAT_SUCCESS);
	param = query(a);
	CHECK(param.recv_evd_handle == evd);
	CHECK_EQ_INT(param.ep_attr.max_recv_dtos, 7);
	CHECK_EQ_INT(param.ep_attr.max_request_dtos, before.ep_attr.max_request_dtos);
	CHECK_EQ_INT(param.ep_attr.max_message_size, before.ep_attr.max_message_size);
	CHECK_DAT(DAT->evd_free_func(evd), DAT_INVALID_STATE);
	for (uint64_t i = 0; i < 7; i++)
		CHECK_DAT(world_recv(a, 0, 16, i), DAT_SUCCESS);
	CHECK_DAT(world_recv(a, 0, 16, 7), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DAT(modify(a, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param), DAT_INVALID_STATE);
	world_pair(a, b);
	REQUIRE_DAT(world_send(b, 0, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(evd, 0, DAT_DTO_SUCCESS);
	CHECK_EMPTY(w.dto);
}

/* Allows at most 100 of the two together. */
static enum datp_err hundred(struct datp_ep_attr *attr, const struct datp_ep_attr *asked)
{
	if (!asked->max_request_dtos)
		attr->max_request_dtos = 100 - attr->max_recv_dtos;
	return attr->max_recv_dtos + attr->max_request_dtos > 100 ? DATP_ERR_PARAM : DATP_OK;
}

static void transport_says_which_attributes_go_together(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 60, .max_request_dtos = 41 };
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	null_in_ep_fit = hundred;
	CHECK_DAT(create(w.dto, w.dto, w.conn, &attr), DAT_INVALID_PARAMETER);
	attr.max_request_dtos = 0;
	ep = world_ep_on(w.dto, &attr);
	param = query(ep);
	CHECK_EQ_INT(param.ep_attr.max_recv_dtos, 60);
	CHECK_EQ_INT(param.ep_attr.max_request_dtos, 40);
	param.ep_attr.max_recv_dtos = 61;
	/* a value that libdatp chose stays, unless the program sets it */
	CHECK_DAT(modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(query(ep).ep_attr.max_recv_dtos, 60);
	param.ep_attr.max_request_dtos = 0;
	CHECK_DAT(modify(ep,
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
			 &param),
		  DAT_SUCCESS);
	CHECK_EQ_INT(query(ep).ep_attr.max_request_dtos, 39);
	null_in_ep_fit = NULL;
}

static void modify_refuses_all_or_nothing(void)
{
	const DAT_EP_PARAM_MASK never[] = {
		DAT_EP_FIELD_IA_HANDLE,
		DAT_EP_FIELD_EP_STATE,
		DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL,
		DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL,
		DAT_EP_FIELD_SRQ_HANDLE,
		UINT64_C(0x800),
		UINT64_C(1) << 40,
	};
	DAT_EP_PARAM param = query(a);
	int32_t dtos = param.ep_attr.max_recv_dtos;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		CHECK_DAT(modify(a, never[i], &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(modify(a, DAT_EP_FIELD_PZ_HANDLE, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(modify(w.pz, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_INVALID_HANDLE);
	param.ep_attr.max_recv_dtos = 9;
	param.ep_attr.max_message_size = UINT64_C(1) << 50;
	CHECK_DAT(modify(a,
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
			 &param),
		  DAT_INVALID_PARAMETER);
	param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	CHECK_DAT(modify(a,
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				 DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
			 &param),
		  DAT_INVALID_PARAMETER);
	param.recv_evd_handle = w.conn;
	CHECK_DAT(modify(a, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_RECV_EVD_HANDLE,
			 &param),
		  DAT_INVALID_HANDLE);
	CHECK_EQ_INT(query(a).ep_attr.max_recv_dtos, dtos);
	CHECK(query(a).recv_evd_handle == w.dto);
	world_pair(a, b);
	param = query(a);
	CHECK_DAT(modify(a, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param), DAT_INVALID_STATE);
	CHECK_DAT(modify(a, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_INVALID_STATE);
	CHECK_DAT(modify(a, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), DAT_INVALID_STATE);
}

static void the_pz_of_a_reserved_endpoint_stays(void)
{
	DAT_EP_PARAM param = query(b);
	DAT_RSP_HANDLE rsp;
	DAT_PZ_HANDLE pz;

	REQUIRE_DAT(DAT->pz_create_func(w.ia, &pz), DAT_SUCCESS);
	param.pz_handle = pz;
	REQUIRE_DAT(DAT->rsp_create_func(w.ia, 6, b, w.cr, &rsp), DAT_SUCCESS);
	CHECK_DAT(modify(b, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_INVALID_STATE);
	CHECK_DAT(modify(b, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), DAT_SUCCESS);
	REQUIRE_DAT(DAT->rsp_free_func(rsp), DAT_SUCCESS);
	REQUIRE_DAT(modify(b, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	CHECK(query(b).pz_handle == pz);
	CHECK_DAT(DAT->pz_free_func(pz), DAT_INVALID_STATE);
}

static void watermarks_and_counts_that_a_transport_lacks_are_not_supported(void)
{
	DAT_COUNT n, m;

	CHECK_DAT(DAT->ep_recv_query_func(a, &n, &m), DAT_MODEL_NOT_SUPPORTED);
	CHECK_DAT(DAT->ep_set_watermark_func(a, 1, 1), DAT_MODEL_NOT_SUPPORTED);
	CHECK_DAT(DAT->ep_set_watermark_func(a, -2, 1), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->ep_recv_query_func(w.pz, &n, &m), DAT_INVALID_HANDLE);
}

/* ------------------------------------------------------------------ many threads */

enum { ROUNDS = 300 };

static void *churn_run(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		DAT_EP_HANDLE ep;

		if (DAT->ep_create_func(w.ia, w.pz, w.dto, w.dto, w.conn, NULL, &ep) == DAT_SUCCESS)
			CHECK_DAT(DAT->ep_free_func(ep), DAT_SUCCESS);
	}
	return NULL;
}

static void endpoints_come_and_go_while_others_talk(void)
{
	pthread_t threads[2];

	world_pair(a, b);
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, churn_run, NULL));
	for (uint64_t i = 0; i < ROUNDS; i++) {
		REQUIRE_DAT(world_recv(b, 0, 16, i), DAT_SUCCESS);
		REQUIRE_DAT(world_send(a, 16, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
		CHECK_DTO(w.dto2, i, DAT_DTO_SUCCESS);
		CHECK_DTO(w.dto, i, DAT_DTO_SUCCESS);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static _Atomic int calls, held_up;

static void count_call(struct datp_ep *ep)
{
	CHECK(ep == a);
	calls++;
	REQUIRE_SOON(!held_up);
}

static void hold_up(void *arg)
{
	(void)arg;
	REQUIRE_SOON(!held_up);
}

static void a_call_runs_once_and_not_after_free(void)
{
	calls = held_up = 0;
	REQUIRE(!datp_ep_call(a, count_call));
	REQUIRE_SOON(calls == 1);
	/* the service thread is kept busy, so the next call has not been made yet */
	held_up = 1;
	REQUIRE(!datp_loop_call(w.ia, hold_up, NULL));
	REQUIRE(!datp_ep_call(a, count_call));
	REQUIRE_DAT(DAT->ep_free_func(a), DAT_SUCCESS);
	held_up = 0;
	a = world_ep();
	REQUIRE(!datp_ep_call(a, count_call));
	REQUIRE_SOON(calls == 2);
	CHECK_EQ_INT(calls, 2);
}

static void call_late(struct datp_ep *ep)
{
	CHECK(!datp_ep_call(ep, count_call));
}

/* A peer may report events of an endpoint until the transport has released it. */
static void a_call_asked_for_during_free_is_not_made(void)
{
	calls = held_up = 0;
	null_in_ep_free = call_late;
	REQUIRE_DAT(DAT->ep_free_func(a), DAT_SUCCESS);
	null_in_ep_free = NULL;
	a = world_ep();
	REQUIRE(!datp_ep_call(a, count_call));
	REQUIRE_SOON(calls);
	CHECK_EQ_INT(calls, 1);
}

static void *free_run(void *ep)
{
	CHECK_DAT(DAT->ep_free_func(ep), DAT_SUCCESS);
	return NULL;
}

static void free_waits_for_the_call_that_runs(void)
{
	pthread_t thread;

	calls = 0;
	held_up = 1;
	REQUIRE(!datp_ep_call(a, count_call));
	REQUIRE_SOON(calls == 1);
	REQUIRE(!pthread_create(&thread, NULL, free_run, a));
	REQUIRE_SOON(!atomic_load(&((struct datp_ep *)a)->obj.tag));
	CHECK_EQ_INT(null_counts.eps, 2);
	held_up = 0;
	pthread_join(thread, NULL);
	CHECK_EQ_INT(null_counts.eps, 1);
}

/* A receive may take a message before its connection is established, and be flushed because the attempt fails. */
static void a_flushed_receive_has_no_event_of_an_extension(void)
{
	static const uint8_t flags[] = { 0, DATP_WQE_IMMEDIATE, DATP_WQE_IMMEDIATE | DATP_WQE_INVALIDATED };
	union {
		struct datp_event20 event;
		unsigned char whole[512]; /* more than an event of 2.0 has */
	} to;

	for (unsigned int i = 0; i < sizeof(flags); i++) {
		struct datp_wqe wqe = { .op = DATP_RECV, .post_flags = flags[i], .status = DAT_DTO_ERR_FLUSHED, .imm = 7 };

		memset(&to, 0xa5, sizeof(to));
		datp_wqe_event20(&wqe, NULL, &to.event);
		CHECK_EQ_INT(to.event.number, DAT_DTO_COMPLETION_EVENT);
		CHECK_EQ_INT(to.event.operation, DATP_DTO20_RECV);
		CHECK_EQ_INT(to.event.status, DAT_DTO_ERR_FLUSHED);
		CHECK_EQ_INT(to.event.rmr_context, 0);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(no_attributes_and_zeros_mean_defaults_that_create_takes_back),
	CHECK_TEST(asked_attributes_are_honoured),
	CHECK_TEST(attributes_beyond_the_limits_are_refused),
	CHECK_TEST(create_wants_live_handles_of_the_right_kind),
	CHECK_TEST(streams_that_notify_differently_do_not_share_a_queue),
	CHECK_TEST(a_refused_create_leaves_no_stream_behind),
	CHECK_TEST(every_state_change_is_one_of_the_table),
	CHECK_TEST(requests_are_refused_where_there_is_no_connection),
	CHECK_TEST(reset_is_for_the_disconnected),
	CHECK_TEST(status_tells_what_is_outstanding),
	CHECK_TEST(data_arrives_scattered_as_it_was_gathered),
	CHECK_TEST(posts_are_checked),
	CHECK_TEST(the_asked_depth_is_there_and_no_more),
	CHECK_TEST(suppressed_requests_complete_in_silence_when_polled),
	CHECK_TEST(suppressed_requests_complete_in_silence_when_posted),
	CHECK_TEST(a_silent_request_behind_a_taken_event_is_given_back),
	CHECK_TEST(rdma_moves_bytes_without_the_peer),
	CHECK_TEST(flushes_come_in_order_after_the_successes),
	CHECK_TEST(posts_on_the_disconnected_are_flushed_behind_the_others),
	CHECK_TEST(nothing_of_the_old_connection_shows_after_a_reset),
	CHECK_TEST(a_freed_endpoint_takes_its_events_along),
	CHECK_TEST(a_flushed_receive_has_no_event_of_an_extension),
	CHECK_TEST(modify_changes_what_it_may_and_nothing_else),
	CHECK_TEST(transport_says_which_attributes_go_together),
	CHECK_TEST(modify_refuses_all_or_nothing),
	CHECK_TEST(the_pz_of_a_reserved_endpoint_stays),
	CHECK_TEST(watermarks_and_counts_that_a_transport_lacks_are_not_supported),
	CHECK_TEST(a_call_runs_once_and_not_after_free),
	CHECK_TEST(a_call_asked_for_during_free_is_not_made),
	CHECK_TEST(free_waits_for_the_call_that_runs),
	CHECK_TEST(endpoints_come_and_go_while_others_talk),
	CHECK_END,
};

static const struct check_suite suite = {
	.name = "ep", .setup = open_world, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&suite);
