/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: how they begin and end, service points, connection requests. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core_world.h"
#include "providers/common/core/ep.h"
#include "providers/common/core/timer.h"

static DAT_EP_HANDLE a, b;

static void open_world(void)
{
	world_open();
	a = world_ep();
	b = world_ep_on(w.dto2, NULL);
}

#define CHECK_STATE(ep, state) CHECK_EQ_INT(world_state(ep), state)

/* Takes the connection event of an endpoint. */
#define EXPECT_CONN(ep, number)									\
	do {											\
		DAT_EVENT conn_ = world_expect(w.conn, number);					\
		CHECK(conn_.event_data.connect_event_data.ep_handle == (ep));			\
	} while (0)

/* Takes the events of both sides, in any order. */
static void expect_both(DAT_EVENT_NUMBER number)
{
	DAT_EP_HANDLE one = world_expect(w.conn, number).event_data.connect_event_data.ep_handle;
	DAT_EP_HANDLE other = world_expect(w.conn, number).event_data.connect_event_data.ep_handle;

	CHECK((one == a && other == b) || (one == b && other == a));
}

/* ------------------------------------------------------------------ establishment */

static void connect_brings_a_request_with_all_its_fields(void)
{
	DAT_EVENT event;
	DAT_CR_PARAM param;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, "hello"), DAT_SUCCESS);
	CHECK_STATE(a, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	event = world_expect(w.cr, DAT_CONNECTION_REQUEST_EVENT);
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == w.psp);
	CHECK_EQ_INT(event.event_data.cr_arrival_event_data.conn_qual, WORLD_QUAL);
	CHECK(event.event_data.cr_arrival_event_data.local_ia_address_ptr->sa_family == AF_INET);
	REQUIRE_DAT(DAT->cr_query_func(event.event_data.cr_arrival_event_data.cr_handle,
				       DAT_CR_FIELD_ALL, &param),
		    DAT_SUCCESS);
	CHECK_EQ_INT(param.private_data_size, 5);
	CHECK_EQ_MEM(param.private_data, "hello", 5);
	CHECK(param.local_ep_handle == DAT_HANDLE_NULL);
	CHECK(param.remote_ia_address_ptr->sa_family == AF_INET);
	CHECK_EQ_INT(param.remote_port_qual, ((struct datp_ep *)a)->local_port);
}

static void accept_establishes_both_sides_with_the_data_on_the_active_one(void)
{
	DAT_EP_PARAM param;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	char data[] = "welcome";

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 7, data), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		DAT_CONNECTION_EVENT_DATA *conn = &event.event_data.connect_event_data;

		event = world_expect(w.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
		CHECK_STATE(conn->ep_handle, DAT_EP_STATE_CONNECTED);
		if (conn->ep_handle == a) {
			CHECK_EQ_INT(conn->private_data_size, 7);
			CHECK_EQ_MEM(conn->private_data, "welcome", 7);
		} else {
			CHECK(conn->ep_handle == b);
			CHECK_EQ_INT(conn->private_data_size, 0);
		}
	}
	CHECK_DAT(DAT->cr_query_func(cr, DAT_CR_FIELD_ALL, (DAT_CR_PARAM *)&param),
		  DAT_INVALID_HANDLE);
	REQUIRE_DAT(DAT->ep_query_func(a, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_state, DAT_EP_STATE_CONNECTED);
	CHECK(param.remote_ia_address_ptr && param.remote_ia_address_ptr->sa_family == AF_INET);
	CHECK(param.local_ia_address_ptr && param.local_ia_address_ptr->sa_family == AF_INET);
	CHECK_EQ_INT(param.remote_port_qual, ((struct datp_ep *)b)->local_port);
	CHECK_EMPTY(w.conn);
}

static void connect_checks_its_arguments(void)
{
	char data[512];
	struct sockaddr unknown = { .sa_family = AF_UNIX };

#define TRY(ep, address, timeout, size, pdata, qos, flags)                                         \
	DAT->ep_connect_func(ep, address, WORLD_QUAL, timeout, size, pdata, (DAT_QOS)(qos),        \
			     (DAT_CONNECT_FLAGS)(flags))
	CHECK_DAT(TRY(w.pz, world_address(), 1000, 0, NULL, 0, 0), DAT_INVALID_HANDLE);
	CHECK_DAT(TRY(a, NULL, 1000, 0, NULL, 0, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(TRY(a, &unknown, 1000, 0, NULL, 0, 0), DAT_INVALID_ADDRESS);
	CHECK_DAT(TRY(a, world_address(), 0, 0, NULL, 0, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(TRY(a, world_address(), 1000, -1, data, 0, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(TRY(a, world_address(), 1000, 257, data, 0, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(TRY(a, world_address(), 1000, 4, NULL, 0, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(TRY(a, world_address(), 1000, 0, NULL, DAT_QOS_PREMIUM, 0),
		  DAT_MODEL_NOT_SUPPORTED);
	CHECK_DAT(TRY(a, world_address(), 1000, 0, NULL, 0, 1), DAT_MODEL_NOT_SUPPORTED);
	CHECK_DAT(TRY(a, world_address(), 1000, 0, NULL, 0, 2), DAT_INVALID_PARAMETER);
#undef TRY
	CHECK_STATE(a, DAT_EP_STATE_UNCONNECTED);
	loopback.connect_answer = DATP_ERR_DEVICE;
	CHECK_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_INSUFFICIENT_RESOURCES);
	CHECK_STATE(a, DAT_EP_STATE_UNCONNECTED);
	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	CHECK_DAT(world_connect(a, WORLD_QUAL, NULL),
		  DAT_INVALID_STATE | DAT_INVALID_STATE_EP_ACTCONNPENDING);
}

/*
 * Checks a failed attempt: the state DISCONNECTED, receives flushed, one event, and an endpoint
 * that can be used again.
 */
static void check_failed_and_reusable(DAT_EVENT_NUMBER number)
{
	EXPECT_CONN(a, number);
	CHECK_STATE(a, DAT_EP_STATE_DISCONNECTED);
	CHECK_DTO(w.dto, 77, DAT_DTO_ERR_FLUSHED);
	CHECK_EMPTY(w.conn);
	CHECK_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_INVALID_STATE);
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	loopback.drop_requests = false;
	world_pair(a, b);
}

static void nobody_listening_is_non_peer_rejected(void)
{
	REQUIRE_DAT(world_recv(a, 0, 16, 77), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(a, WORLD_QUAL + 1, NULL), DAT_SUCCESS);
	check_failed_and_reusable(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void reject_is_peer_rejected(void)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_recv(a, 0, 16, 77), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->cr_reject_func(cr), DAT_SUCCESS);
	CHECK_DAT(DAT->cr_reject_func(cr), DAT_INVALID_HANDLE);
	check_failed_and_reusable(DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static DAT_RETURN connect_for(DAT_TIMEOUT timeout)
{
	return DAT->ep_connect_func(a, world_address(), WORLD_QUAL, timeout, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void an_attempt_that_takes_too_long_is_timed_out(void)
{
	REQUIRE_DAT(world_recv(a, 0, 16, 77), DAT_SUCCESS);
	loopback.drop_requests = true;
	REQUIRE_DAT(connect_for(20000), DAT_SUCCESS);
	check_failed_and_reusable(DAT_CONNECTION_EVENT_TIMED_OUT);
}

static void an_old_timer_does_not_end_a_new_attempt(void)
{
	REQUIRE_DAT(connect_for(30000), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_reject_func(world_request()), DAT_SUCCESS);
	EXPECT_CONN(a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	REQUIRE_DAT(connect_for(DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	usleep(60000);
	CHECK_STATE(a, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	REQUIRE_DAT(DAT->cr_accept_func(world_request(), b, 0, NULL), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* What a thread does that waits for the outcomes of other threads' attempts. */
static void take_outcome_and_free(struct datp_ep *ep)
{
	REQUIRE(world_expect(w.conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED).event_data.connect_event_data.ep_handle == ep);
	REQUIRE_DAT(DAT->ep_free_func(ep), DAT_SUCCESS);
}

/* The timer is in memory that another endpoint gets, so it must not be set after the endpoint was freed. */
static void endpoint_freed_before_its_connect_returns_has_no_timer(void)
{
	loopback.in_connect = take_outcome_and_free;
	REQUIRE_DAT(DAT->ep_connect_func(a, world_address(), WORLD_QUAL + 1, 60000000, 0, NULL, DAT_QOS_BEST_EFFORT,
					 DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	CHECK(timer_when(&ep_priv(a)->timer) == 0);
}

static void accept_of_a_stale_request_is_accept_completion_error(void)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, "x"), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->ep_free_func(a), DAT_SUCCESS);
	CHECK_DAT(DAT->cr_query_func(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	REQUIRE_DAT(world_recv(b, 0, 16, 5), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	EXPECT_CONN(b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	CHECK_STATE(b, DAT_EP_STATE_DISCONNECTED);
	CHECK_DTO(w.dto2, 5, DAT_DTO_ERR_FLUSHED);
}

static void disconnect_gives_an_attempt_up(void)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_recv(a, 0, 16, 77), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_STATE(a, DAT_EP_STATE_DISCONNECTED);
	EXPECT_CONN(a, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(DAT->cr_reject_func(cr), DAT_SUCCESS);
	CHECK_DTO(w.dto, 77, DAT_DTO_ERR_FLUSHED);
	CHECK_EMPTY(w.conn);
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	world_pair(a, b);
}

static void accept_that_the_transport_refuses_changes_nothing(void)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	loopback.accept_answer = DATP_ERR_DEVICE;
	CHECK_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_INSUFFICIENT_RESOURCES);
	CHECK_STATE(b, DAT_EP_STATE_UNCONNECTED);
	CHECK_DAT(DAT->cr_accept_func(cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->cr_accept_func(cr, w.pz, 0, NULL), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->cr_accept_func(cr, b, -1, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->cr_accept_func(cr, b, 1, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->cr_accept_func(cr, b, 257, "x"), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void crossing_connects_leave_request_and_endpoint_usable(void)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	loopback.drop_requests = true;
	REQUIRE_DAT(world_connect(b, WORLD_QUAL, NULL), DAT_SUCCESS);
	CHECK_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_INVALID_STATE);
	CHECK_STATE(b, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	REQUIRE_DAT(DAT->ep_disconnect_func(b, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	EXPECT_CONN(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(DAT->ep_reset_func(b), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void connecting_needs_no_queue_for_the_events(void)
{
	DAT_EP_HANDLE quiet;

	REQUIRE_DAT(DAT->ep_create_func(w.ia, w.pz, NULL, NULL, NULL, NULL, &quiet), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(quiet, WORLD_QUAL, NULL), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(world_request(), b, 0, NULL), DAT_SUCCESS);
	EXPECT_CONN(b, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_SOON(world_state(quiet) == DAT_EP_STATE_CONNECTED);
	REQUIRE_DAT(world_recv(b, 0, 16, 1), DAT_SUCCESS);
	REQUIRE_DAT(world_send(quiet, 16, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto2, 1, DAT_DTO_SUCCESS);
}

/* ------------------------------------------------------------------ disconnect */

static void abrupt_disconnect_tells_each_side_once(void)
{
	world_pair(a, b);
	REQUIRE_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
	REQUIRE_DAT(world_recv(b, 0, 16, 2), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_STATE(a, DAT_EP_STATE_DISCONNECTED);
	expect_both(DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_STATE(b, DAT_EP_STATE_DISCONNECTED);
	CHECK_DTO(w.dto, 1, DAT_DTO_ERR_FLUSHED);
	CHECK_DTO(w.dto2, 2, DAT_DTO_ERR_FLUSHED);
	CHECK_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_disconnect_func(b, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EMPTY(w.conn);
}

static void graceful_disconnect_lets_sent_messages_arrive(void)
{
	world_pair(a, b);
	for (uint64_t i = 0; i < 4; i++)
		REQUIRE_DAT(world_recv(b, 16 * i, 16, i), DAT_SUCCESS);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_DAT(world_send(a, 1024, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_DTO(w.dto, i, DAT_DTO_SUCCESS);
		CHECK_DTO(w.dto2, i, DAT_DTO_SUCCESS);
	}
	CHECK_DTO(w.dto2, 3, DAT_DTO_ERR_FLUSHED);
	CHECK_EMPTY(w.conn);
}

static void disconnect_is_refused_where_nothing_goes_on(void)
{
	CHECK_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
	CHECK_DAT(DAT->ep_disconnect_func(a, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER);
	CHECK_STATE(a, DAT_EP_STATE_UNCONNECTED);
}

static void a_broken_connection_is_broken_once_on_both_sides(void)
{
	DAT_RMR_TRIPLET remote = { .rmr_context = 99999, .segment_length = 16 };
	DAT_LMR_TRIPLET segment = world_segment(0, 16);

	world_pair(a, b);
	REQUIRE_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_post_rdma_write_func(a, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = 2 },
						 &remote, DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	CHECK_DTO(w.dto, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_both(DAT_CONNECTION_EVENT_BROKEN);
	CHECK_DTO(w.dto, 1, DAT_DTO_ERR_FLUSHED);
	CHECK_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EMPTY(w.conn);
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_reset_func(b), DAT_SUCCESS);
	world_pair(a, b);
}

static void a_hard_watermark_breaks_the_connection(void)
{
	world_pair(a, b);
	datp_ep_high(a, true);
	EXPECT_CONN(a, DAT_CONNECTION_EVENT_BROKEN);
	EXPECT_CONN(b, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_STATE(a, DAT_EP_STATE_DISCONNECTED);
}

static void dup_connect_goes_where_the_other_went(void)
{
	DAT_EP_HANDLE c = world_ep(), d = world_ep();

	world_pair(a, b);
	CHECK_DAT(DAT->ep_dup_connect_func(c, d, 1000, 0, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_STATE);
	CHECK_DAT(DAT->ep_dup_connect_func(a, a, 1000, 0, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_STATE);
	CHECK_DAT(DAT->ep_dup_connect_func(c, b, 1000, 0, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->ep_dup_connect_func(c, w.pz, 1000, 0, NULL, DAT_QOS_BEST_EFFORT),
		  DAT_INVALID_HANDLE);
	REQUIRE_DAT(
		DAT->ep_dup_connect_func(c, a, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT),
		DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(world_request(), d, 0, NULL), DAT_SUCCESS);
	world_expect(w.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	world_expect(w.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_STATE(a, DAT_EP_STATE_CONNECTED);
}

/* ------------------------------------------------------------------ service points */

static void a_qualifier_is_taken_once_and_free_again_after_free(void)
{
	DAT_PSP_HANDLE psp = NULL;
	DAT_PSP_PARAM param;
	const DAT_CONN_QUAL big = UINT64_C(0xfedcba9876543210);

	CHECK_DAT(DAT->psp_create_func(w.ia, WORLD_QUAL, w.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
	CHECK(psp == NULL);
	REQUIRE_DAT(DAT->psp_free_func(w.psp), DAT_SUCCESS);
	CHECK_DAT(DAT->psp_free_func(w.psp), DAT_INVALID_HANDLE);
	REQUIRE_DAT(DAT->psp_create_func(w.ia, WORLD_QUAL, w.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_SUCCESS);
	REQUIRE_DAT(DAT->psp_create_func(w.ia, big, w.cr, DAT_PSP_PROVIDER_FLAG, &psp),
		    DAT_SUCCESS);
	REQUIRE_DAT(DAT->psp_query_func(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.conn_qual == big);
	CHECK(param.evd_handle == w.cr);
	CHECK_EQ_INT(param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	CHECK(param.ia_handle == w.ia);
}

static void psp_create_checks_its_arguments(void)
{
	DAT_PSP_HANDLE psp;

	CHECK_DAT(DAT->psp_create_func(NULL, 1, w.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->psp_create_func(w.ia, 1, w.pz, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->psp_create_func(w.ia, 1, w.dto, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->psp_create_func(w.ia, 1, w.cr, (DAT_PSP_FLAGS)2, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->psp_create_func(w.ia, 1, w.cr, DAT_PSP_CONSUMER_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->psp_create_any_func(w.ia, NULL, w.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_PARAMETER);
}

static void create_any_finds_a_free_one_below_65536(void)
{
	DAT_CONN_QUAL one = 0, two = 0;
	DAT_PSP_HANDLE psp;

	REQUIRE_DAT(DAT->psp_create_any_func(w.ia, &one, w.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_SUCCESS);
	REQUIRE_DAT(DAT->psp_create_any_func(w.ia, &two, w.cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_SUCCESS);
	CHECK(one >= 1024 && one <= 65535);
	CHECK(two >= 1024 && two <= 65535);
	CHECK(one != two);
	REQUIRE_DAT(world_connect(a, two, NULL), DAT_SUCCESS);
	world_request();
}

static void the_backlog_is_the_length_of_the_queue(void)
{
	DAT_EVD_PARAM param;
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(DAT->evd_query_func(w.cr, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_free_func(a), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_free_func(b), DAT_SUCCESS);
	/* the requests of endpoints that have been freed stay in the queue */
	for (DAT_COUNT i = 0; i < param.evd_qlen; i++) {
		ep = world_ep();
		REQUIRE_DAT(world_connect(ep, WORLD_QUAL, NULL), DAT_SUCCESS);
		REQUIRE_SOON(loopback.crs == i + 1);
		REQUIRE_DAT(DAT->ep_free_func(ep), DAT_SUCCESS);
	}
	REQUIRE_SOON(atomic_load(&((struct datp_evd *)w.cr)->queued) == (uint32_t)param.evd_qlen);
	ep = world_ep();
	REQUIRE_DAT(world_connect(ep, WORLD_QUAL, NULL), DAT_SUCCESS);
	EXPECT_CONN(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	CHECK_DAT(DAT->cr_reject_func(world_request()), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_reset_func(ep), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(ep, WORLD_QUAL, NULL), DAT_SUCCESS);
	REQUIRE_SOON(loopback.crs == param.evd_qlen);
}

static void requests_survive_their_service_point(void)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->psp_free_func(w.psp), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_DAT(DAT->evd_free_func(w.cr), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ endpoints of the provider */

static void a_provider_request_brings_an_endpoint(void)
{
	DAT_PSP_HANDLE psp;
	DAT_EP_PARAM param;
	DAT_CR_PARAM request;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(DAT->psp_create_func(w.ia, 5, w.cr, DAT_PSP_PROVIDER_FLAG, &psp), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(a, 5, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->cr_query_func(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
	ep = request.local_ep_handle;
	REQUIRE_DAT(DAT->ep_query_func(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	CHECK(!param.pz_handle && !param.recv_evd_handle && !param.request_evd_handle &&
	      !param.connect_evd_handle);
	CHECK(param.ep_attr.max_recv_dtos > 0);
	CHECK_DAT(DAT->ep_free_func(ep), DAT_INVALID_STATE);
	CHECK_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_INVALID_PARAMETER);
	param.pz_handle = w.pz;
	param.recv_evd_handle = param.request_evd_handle = w.dto2;
	param.connect_evd_handle = w.conn;
	REQUIRE_DAT(DAT->ep_modify_func(ep,
					DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
						DAT_EP_FIELD_REQUEST_EVD_HANDLE |
						DAT_EP_FIELD_CONNECT_EVD_HANDLE,
					&param),
		    DAT_SUCCESS);
	REQUIRE_DAT(world_recv(ep, 0, 16, 9), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	b = ep;
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(world_send(a, 16, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto2, 9, DAT_DTO_SUCCESS);
	CHECK_DAT(DAT->ep_free_func(ep), DAT_SUCCESS);
}

static void a_rejected_provider_endpoint_is_gone(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM request;
	DAT_EP_STATE state;
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(DAT->psp_create_func(w.ia, 5, w.cr, DAT_PSP_PROVIDER_FLAG, &psp), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(a, 5, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->cr_query_func(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_reject_func(cr), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_get_status_func(request.local_ep_handle, &state, NULL, NULL),
		  DAT_INVALID_HANDLE);
	EXPECT_CONN(a, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* ------------------------------------------------------------------ reserved endpoints */

static DAT_RSP_HANDLE reserve(DAT_CONN_QUAL qual)
{
	DAT_RSP_HANDLE rsp = NULL;

	REQUIRE_DAT(DAT->rsp_create_func(w.ia, qual, b, w.cr, &rsp), DAT_SUCCESS);
	return rsp;
}

static void an_rsp_reserves_its_endpoint_and_gives_it_back(void)
{
	DAT_RSP_HANDLE rsp = reserve(6), other;
	DAT_RSP_PARAM param;

	CHECK_STATE(b, DAT_EP_STATE_RESERVED);
	CHECK_DAT(DAT->ep_free_func(b), DAT_INVALID_STATE | DAT_INVALID_STATE_EP_RESERVED);
	CHECK_DAT(DAT->rsp_create_func(w.ia, 7, b, w.cr, &other), DAT_INVALID_STATE);
	CHECK_DAT(DAT->rsp_create_func(w.ia, 6, a, w.cr, &other), DAT_CONN_QUAL_IN_USE);
	CHECK_STATE(a, DAT_EP_STATE_UNCONNECTED);
	REQUIRE_DAT(DAT->rsp_query_func(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.conn_qual == 6 && param.ep_handle == b && param.evd_handle == w.cr &&
	      param.ia_handle == w.ia);
	REQUIRE_DAT(DAT->rsp_free_func(rsp), DAT_SUCCESS);
	CHECK_STATE(b, DAT_EP_STATE_UNCONNECTED);
	CHECK_DAT(DAT->rsp_free_func(rsp), DAT_INVALID_HANDLE);
	reserve(6);
}

static void an_rsp_is_used_up_by_its_request(void)
{
	DAT_RSP_HANDLE rsp = reserve(6);
	DAT_CR_PARAM param;
	DAT_EP_HANDLE c = world_ep();
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_connect(a, 6, NULL), DAT_SUCCESS);
	event = world_expect(w.cr, DAT_CONNECTION_REQUEST_EVENT);
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle == rsp);
	CHECK_EQ_INT(event.event_data.cr_arrival_event_data.conn_qual, 6);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	CHECK_STATE(b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	REQUIRE_DAT(DAT->cr_query_func(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.local_ep_handle == b);
	REQUIRE_DAT(world_connect(c, 6, NULL), DAT_SUCCESS);
	EXPECT_CONN(c, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	CHECK_DAT(DAT->cr_accept_func(cr, c, 0, NULL), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(DAT->cr_accept_func(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_DAT(DAT->rsp_free_func(rsp), DAT_SUCCESS);
	CHECK_DAT(DAT->rsp_free_func(rsp), DAT_INVALID_HANDLE);
}

static _Atomic bool held_up, holding;

static void hold_up(void *arg)
{
	(void)arg;
	holding = true;
	REQUIRE_SOON(!held_up);
	holding = false;
}

/* The transport still listens for the old RSP, because the service thread has not closed it yet. */
static void a_used_up_rsp_does_not_stand_in_the_way(void)
{
	reserve(6);
	REQUIRE_DAT(world_connect(a, 6, NULL), DAT_SUCCESS);
	held_up = true;
	REQUIRE(!datp_loop_call(w.ia, hold_up, NULL));
	REQUIRE_DAT(DAT->cr_reject_func(world_request()), DAT_SUCCESS);
	reserve(6);
	held_up = false;
	EXPECT_CONN(a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK_STATE(b, DAT_EP_STATE_RESERVED);
}

static void a_rejected_reservation_can_be_made_again_at_once(void)
{
	for (int i = 0; i < 20; i++) {
		reserve(6);
		REQUIRE_DAT(world_connect(a, 6, NULL), DAT_SUCCESS);
		REQUIRE_DAT(DAT->cr_reject_func(world_request()), DAT_SUCCESS);
		CHECK_STATE(b, DAT_EP_STATE_UNCONNECTED);
		EXPECT_CONN(a, DAT_CONNECTION_EVENT_PEER_REJECTED);
		REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	}
}

/* ------------------------------------------------------------------ the peer's data before ESTABLISHED */

/* Confirms the connection: the transport finds a message of the peer. */
static void confirm(struct datp_evd *evd)
{
	loopback.before_look = NULL;
	CHECK(evd == w.dto2);
	datp_cm_established(b, NULL, 0);
}

/*
 * Accepts a request while the service thread is kept busy, so that it does not report the
 * connection. A poll of b's EVD would find the confirmation.
 */
static void accept_unheard(void)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	held_up = true;
	REQUIRE(!datp_loop_call(w.ia, hold_up, NULL));
	REQUIRE_SOON(holding);
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	CHECK_STATE(b, DAT_EP_STATE_COMPLETION_PENDING);
	loopback.before_look = confirm;
}

static void told_at_last(void)
{
	CHECK_STATE(b, DAT_EP_STATE_CONNECTED);
	held_up = false;
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_EMPTY(w.conn);
}

static void a_send_upon_the_peers_data_looks_for_the_confirmation(void)
{
	accept_unheard();
	CHECK_DAT(world_send(b, 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	told_at_last();
}

static DAT_RETURN bind_for(DAT_EP_HANDLE ep, DAT_RMR_HANDLE rmr)
{
	DAT_LMR_TRIPLET where = world_segment(0, 64);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context;

	return DAT->rmr_bind_func(rmr, &where, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, cookie,
				  DAT_COMPLETION_SUPPRESS_FLAG, &context);
}

static void a_bind_upon_the_peers_data_looks_for_the_confirmation(void)
{
	DAT_RMR_HANDLE rmr;

	REQUIRE_DAT(DAT->rmr_create_func(w.pz, &rmr), DAT_SUCCESS);
	CHECK_DAT(bind_for(b, rmr), DAT_INVALID_STATE | DAT_INVALID_STATE_EP_UNCONNECTED);
	accept_unheard();
	CHECK_DAT(bind_for(b, rmr), DAT_SUCCESS);
	told_at_last();
	CHECK_DAT(DAT->rmr_free_func(rmr), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ handoff */

static void handoff_moves_a_request_to_another_point(void)
{
	DAT_PSP_HANDLE other;
	DAT_CR_HANDLE cr, moved;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	REQUIRE_DAT(DAT->psp_create_func(w.ia, 9, w.cr, DAT_PSP_CONSUMER_FLAG, &other),
		    DAT_SUCCESS);
	REQUIRE_DAT(world_connect(a, WORLD_QUAL, "data"), DAT_SUCCESS);
	cr = world_request();
	CHECK_DAT(DAT->cr_handoff_func(cr, 10), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(DAT->cr_handoff_func(cr, 9), DAT_SUCCESS);
	CHECK_DAT(DAT->cr_query_func(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	event = world_expect(w.cr, DAT_CONNECTION_REQUEST_EVENT);
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == other);
	CHECK_EQ_INT(event.event_data.cr_arrival_event_data.conn_qual, 9);
	moved = event.event_data.cr_arrival_event_data.cr_handle;
	REQUIRE_DAT(DAT->cr_query_func(moved, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.private_data_size, 4);
	REQUIRE_DAT(DAT->cr_accept_func(moved, b, 0, NULL), DAT_SUCCESS);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ------------------------------------------------------------------ races */

static DAT_EP_HANDLE third;

/* What other threads do while one accepts. */
static void answer_as_well(struct datp_cr *cr)
{
	loopback.in_accept = NULL;
	CHECK_DAT(DAT->cr_reject_func(cr), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->cr_accept_func(cr, third, 0, NULL), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->cr_handoff_func(cr, WORLD_QUAL), DAT_INVALID_HANDLE);
	CHECK_EQ_INT(loopback.crs, 1);
}

static void a_request_is_answered_once_though_several_threads_try(void)
{
	DAT_CR_HANDLE cr;

	third = world_ep();
	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	loopback.in_accept = answer_as_well;
	loopback.accept_answer = DATP_ERR_DEVICE;
	CHECK_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_INSUFFICIENT_RESOURCES);
	/* no answer has been given, so another one may be */
	loopback.in_accept = answer_as_well;
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	CHECK_DAT(DAT->cr_accept_func(cr, third, 0, NULL), DAT_INVALID_HANDLE);
	expect_both(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_STATE(third, DAT_EP_STATE_UNCONNECTED);
	CHECK_EQ_INT(loopback.rejects, 0);
	CHECK_EQ_INT(loopback.crs, 0);
}

static void *disconnect_run(void *ep)
{
	DAT->ep_disconnect_func(ep, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

static void disconnects_from_both_sides_at_once_give_one_event_each(void)
{
	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		world_pair(a, b);
		REQUIRE_DAT(world_recv(a, 0, 16, 1), DAT_SUCCESS);
		REQUIRE_DAT(world_recv(b, 16, 16, 2), DAT_SUCCESS);
		REQUIRE(!pthread_create(&thread, NULL, disconnect_run, b));
		CHECK_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		pthread_join(thread, NULL);
		CHECK_STATE(a, DAT_EP_STATE_DISCONNECTED);
		CHECK_STATE(b, DAT_EP_STATE_DISCONNECTED);
		expect_both(DAT_CONNECTION_EVENT_DISCONNECTED);
		CHECK_EMPTY(w.conn);
		CHECK_DTO(w.dto, 1, DAT_DTO_ERR_FLUSHED);
		CHECK_DTO(w.dto2, 2, DAT_DTO_ERR_FLUSHED);
		REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
		REQUIRE_DAT(DAT->ep_reset_func(b), DAT_SUCCESS);
	}
}

static void freeing_while_the_news_arrive_is_safe(void)
{
	for (int i = 0; i < 200; i++) {
		DAT_EP_HANDLE c = world_ep(), d = world_ep_on(w.dto2, NULL);
		DAT_EVENT event;

		REQUIRE_DAT(world_connect(c, WORLD_QUAL, NULL), DAT_SUCCESS);
		REQUIRE_DAT(DAT->cr_accept_func(world_request(), d, 0, NULL), DAT_SUCCESS);
		if (i & 1)
			sched_yield();
		REQUIRE_DAT(DAT->ep_free_func(c), DAT_SUCCESS);
		REQUIRE_DAT(DAT->ep_free_func(d), DAT_SUCCESS);
		while (DAT->evd_dequeue_func(w.conn, &event) == DAT_SUCCESS)
			;
	}
}

static void closing_in_the_middle_of_everything_is_safe(void)
{
	DAT_EP_HANDLE c = world_ep(), d = world_ep();

	world_pair(a, b);
	REQUIRE_DAT(world_recv(b, 0, 16, 1), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 16, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(c, WORLD_QUAL, NULL), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_free_func(d), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	REQUIRE_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	w.ia = NULL;
}

static const struct check_test tests[] = {
	CHECK_TEST(connect_brings_a_request_with_all_its_fields),
	CHECK_TEST(accept_establishes_both_sides_with_the_data_on_the_active_one),
	CHECK_TEST(connect_checks_its_arguments),
	CHECK_TEST(nobody_listening_is_non_peer_rejected),
	CHECK_TEST(reject_is_peer_rejected),
	CHECK_TEST(an_attempt_that_takes_too_long_is_timed_out),
	CHECK_TEST(an_old_timer_does_not_end_a_new_attempt),
	CHECK_TEST(endpoint_freed_before_its_connect_returns_has_no_timer),
	CHECK_TEST(accept_of_a_stale_request_is_accept_completion_error),
	CHECK_TEST(disconnect_gives_an_attempt_up),
	CHECK_TEST(accept_that_the_transport_refuses_changes_nothing),
	CHECK_TEST(crossing_connects_leave_request_and_endpoint_usable),
	CHECK_TEST(connecting_needs_no_queue_for_the_events),
	CHECK_TEST(abrupt_disconnect_tells_each_side_once),
	CHECK_TEST(graceful_disconnect_lets_sent_messages_arrive),
	CHECK_TEST(disconnect_is_refused_where_nothing_goes_on),
	CHECK_TEST(a_broken_connection_is_broken_once_on_both_sides),
	CHECK_TEST(a_hard_watermark_breaks_the_connection),
	CHECK_TEST(dup_connect_goes_where_the_other_went),
	CHECK_TEST(a_qualifier_is_taken_once_and_free_again_after_free),
	CHECK_TEST(psp_create_checks_its_arguments),
	CHECK_TEST(create_any_finds_a_free_one_below_65536),
	CHECK_TEST(the_backlog_is_the_length_of_the_queue),
	CHECK_TEST(requests_survive_their_service_point),
	CHECK_TEST(a_provider_request_brings_an_endpoint),
	CHECK_TEST(a_rejected_provider_endpoint_is_gone),
	CHECK_TEST(an_rsp_reserves_its_endpoint_and_gives_it_back),
	CHECK_TEST(an_rsp_is_used_up_by_its_request),
	CHECK_TEST(a_used_up_rsp_does_not_stand_in_the_way),
	CHECK_TEST(a_rejected_reservation_can_be_made_again_at_once),
	CHECK_TEST(a_send_upon_the_peers_data_looks_for_the_confirmation),
	CHECK_TEST(a_bind_upon_the_peers_data_looks_for_the_confirmation),
	CHECK_TEST(handoff_moves_a_request_to_another_point),
	CHECK_TEST(a_request_is_answered_once_though_several_threads_try),
	CHECK_TEST(disconnects_from_both_sides_at_once_give_one_event_each),
	CHECK_TEST(freeing_while_the_news_arrive_is_safe),
	CHECK_TEST(closing_in_the_middle_of_everything_is_safe),
	CHECK_END,
};

static const struct check_suite suite = {
	.name = "cm", .setup = open_world, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&suite);
