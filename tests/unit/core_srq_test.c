/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "core_world.h"
#include "providers/common/base/lock.h"
#include "providers/common/dat12/dat12.h"

static DAT_SRQ_HANDLE srq;
static DAT_EP_HANDLE a, b;

static void open_world(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4,
			      .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR ep_attr = { 0 };

	world_open();
	REQUIRE_DAT(DAT->srq_create_func(w.ia, w.pz, &attr, &srq), DAT_SUCCESS);
	a = world_ep();
	REQUIRE_DAT(
		DAT->ep_create_with_srq_func(w.ia, w.pz, w.dto2, w.dto2, w.conn, srq, &ep_attr, &b),
		DAT_SUCCESS);
}

static DAT_RETURN post(uint64_t cookie)
{
	DAT_LMR_TRIPLET segment = world_segment(64 * cookie, 32);

	return DAT->srq_post_recv_func(srq, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = cookie });
}

static DAT_SRQ_PARAM query(void)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0, sizeof(param));
	CHECK_DAT(DAT->srq_query_func(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static void create_checks_its_arguments(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 2 };
	DAT_SRQ_ATTR many = { .max_recv_dtos = 257, .max_recv_iov = 2 },
		     none = { .max_recv_iov = 2 };
	DAT_SRQ_ATTR wide = { .max_recv_dtos = 4, .max_recv_iov = 9 };
	DAT_SRQ_HANDLE other;

	CHECK_DAT(DAT->srq_create_func(NULL, w.pz, &attr, &other), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.dto, &attr, &other), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, NULL, &other), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, &attr, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, &many, &other), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, &none, &other), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, &wide, &other), DAT_INVALID_PARAMETER);
	for (int i = 1; i < 4; i++)
		CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, &attr, &other), DAT_SUCCESS);
	CHECK_DAT(DAT->srq_create_func(w.ia, w.pz, &attr, &other), DAT_INSUFFICIENT_RESOURCES);
}

static void query_tells_attributes_and_counts(void)
{
	DAT_SRQ_PARAM param = query();

	CHECK(param.ia_handle == w.ia);
	CHECK(param.pz_handle == w.pz);
	CHECK_EQ_INT(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	CHECK(param.max_recv_dtos >= 4 && param.max_recv_iov >= 2);
	CHECK_EQ_INT(param.low_watermark, 0);
	CHECK_EQ_INT(param.available_dto_count, 0);
	CHECK_EQ_INT(param.outstanding_dto_count, 0);
	CHECK_DAT(DAT->srq_query_func(srq, (DAT_SRQ_PARAM_MASK)0x100, &param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_query_func(srq, DAT_SRQ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
}

static void a_receive_counts_until_its_event_is_taken(void)
{
	world_pair(a, b);
	for (uint64_t i = 0; i < 4; i++)
		REQUIRE_DAT(post(i), DAT_SUCCESS);
	CHECK_DAT(post(4), DAT_INSUFFICIENT_RESOURCES);
	CHECK_EQ_INT(query().available_dto_count, 4);
	CHECK_EQ_INT(query().outstanding_dto_count, 4);
	REQUIRE_DAT(world_send(a, 2048, 16, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto, 9, DAT_DTO_SUCCESS);
	world_state(b);			/* this poll makes the endpoint take the receive */
	CHECK_EQ_INT(query().available_dto_count, 3);
	CHECK_EQ_INT(query().outstanding_dto_count, 4);
	CHECK_EQ_INT(((struct datp_ep *)b)->held, 1);
	CHECK_DAT(post(4), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DTO(w.dto2, 0, DAT_DTO_SUCCESS);
	CHECK_EQ_INT(((struct datp_ep *)b)->held, 0);
	CHECK_DAT(post(4), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 2048, 16, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto2, 1, DAT_DTO_SUCCESS);
	CHECK_EQ_INT(query().outstanding_dto_count, 3);
}

static void the_transport_is_told_how_many_bytes_a_receive_has(void)
{
	DAT_LMR_TRIPLET segments[2] = { world_segment(0, 32), world_segment(64, 40) };

	REQUIRE_DAT(post(0), DAT_SUCCESS);
	CHECK_EQ_INT(loopback.srq_len, 32);
	REQUIRE_DAT(DAT->srq_post_recv_func(srq, 2, segments, (DAT_DTO_COOKIE){ .as_64 = 1 }),
		    DAT_SUCCESS);
	CHECK_EQ_INT(loopback.srq_len, 72);
	REQUIRE_DAT(DAT->srq_post_recv_func(srq, 0, NULL, (DAT_DTO_COOKIE){ .as_64 = 2 }),
		    DAT_SUCCESS);
	CHECK_EQ_INT(loopback.srq_len, 0);
}

static void posts_are_checked(void)
{
	DAT_LMR_TRIPLET segments[3] = { world_segment(0, 8), world_segment(8, 8),
					world_segment(16, 8) };
	DAT_LMR_TRIPLET outside = world_segment(WORLD_BYTES - 4, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	CHECK_DAT(DAT->srq_post_recv_func(w.pz, 1, segments, cookie), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->srq_post_recv_func(srq, 3, segments, cookie), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_post_recv_func(srq, -1, segments, cookie), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_post_recv_func(srq, 1, NULL, cookie), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_post_recv_func(srq, 1, &outside, cookie), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(query().outstanding_dto_count, 0);
	CHECK_DAT(DAT->srq_post_recv_func(srq, 0, NULL, cookie), DAT_SUCCESS);
	CHECK_DAT(world_recv(b, 0, 16, 1), DAT_INVALID_PARAMETER);
}

static void only_what_the_endpoint_took_is_flushed(void)
{
	world_pair(a, b);
	REQUIRE_DAT(post(1), DAT_SUCCESS);
	REQUIRE_DAT(post(2), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_disconnect_func(b, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_EMPTY(w.dto2);
	CHECK_EQ_INT(query().available_dto_count, 2);
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_reset_func(b), DAT_SUCCESS);
	world_pair(a, b);
	REQUIRE_DAT(world_send(a, 2048, 16, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto2, 1, DAT_DTO_SUCCESS);
}

static void two_endpoints_take_from_one_queue(void)
{
	DAT_EP_ATTR attr = { 0 };
	DAT_EP_HANDLE c = world_ep(), d;

	REQUIRE_DAT(DAT->ep_create_with_srq_func(w.ia, w.pz, w.dto, w.dto, w.conn, srq, &attr, &d),
		    DAT_SUCCESS);
	world_pair(a, b);
	world_pair(c, d);
	for (uint64_t i = 1; i <= 2; i++)
		REQUIRE_DAT(post(i), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 2048, 16, 9, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	CHECK(world_dto(w.dto2).ep_handle == b);
	REQUIRE_DAT(world_send(c, 2048, 16, 9, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	CHECK(world_dto(w.dto).ep_handle == d);
	CHECK_EQ_INT(query().outstanding_dto_count, 0);
}

static void freeing_an_endpoint_gives_what_it_took_back(void)
{
	world_pair(a, b);
	for (uint64_t i = 0; i < 4; i++)
		REQUIRE_DAT(post(i), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 2048, 16, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	world_state(b);
	CHECK_EQ_INT(query().outstanding_dto_count, 4);
	REQUIRE_DAT(DAT->ep_free_func(b), DAT_SUCCESS);
	CHECK_EQ_INT(query().outstanding_dto_count, 3);
	CHECK_DAT(post(5), DAT_SUCCESS);
}

static void free_waits_for_the_last_endpoint(void)
{
	CHECK_DAT(DAT->srq_free_func(srq), DAT_INVALID_STATE | DAT_INVALID_STATE_SRQ_IN_USE);
	REQUIRE_DAT(post(1), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ep_free_func(b), DAT_SUCCESS);
	CHECK_DAT(DAT->pz_free_func(w.pz), DAT_INVALID_STATE);
	CHECK_DAT(DAT->srq_free_func(srq), DAT_SUCCESS);
	CHECK_DAT(DAT->srq_free_func(srq), DAT_INVALID_HANDLE);
}

static void resize_keeps_what_is_posted(void)
{
	for (uint64_t i = 0; i < 4; i++)
		REQUIRE_DAT(post(i), DAT_SUCCESS);
	CHECK_DAT(DAT->srq_resize_func(srq, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_resize_func(srq, 257), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_resize_func(srq, 3), DAT_INVALID_STATE);
	CHECK_DAT(post(4), DAT_INSUFFICIENT_RESOURCES);
	REQUIRE_DAT(DAT->srq_resize_func(srq, 6), DAT_SUCCESS);
	CHECK(query().max_recv_dtos >= 6);
	CHECK_DAT(post(4), DAT_SUCCESS);
	CHECK_DAT(post(5), DAT_SUCCESS);
	CHECK_DAT(post(6), DAT_INSUFFICIENT_RESOURCES);
	world_pair(a, b);
	for (uint64_t i = 0; i < 6; i++) {
		REQUIRE_DAT(world_send(a, 2048, 16, i, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
		CHECK_DTO(w.dto2, i, DAT_DTO_SUCCESS);
	}
	REQUIRE_DAT(DAT->srq_resize_func(srq, 2), DAT_SUCCESS);
}

static void low_watermark_is_checked_and_its_event_names_the_queue(void)
{
	DAT_EVENT event;

	CHECK_DAT(DAT->srq_set_lw_func(srq, -1), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_set_lw_func(srq, 5), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->srq_set_lw_func(srq, 2),
		  DAT_MODEL_NOT_SUPPORTED); /* the transport cannot arm the watermark */
	datp_srq_low(srq);
	event = world_next(w.async);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == srq);
	CHECK_EQ_INT(event.event_data.asynch_error_event_data.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
}

/* Another queue may have its handle soon. */
static void a_freed_queue_leaves_no_event(void)
{
	datp_srq_low(srq);
	REQUIRE_DAT(DAT->ep_free_func(b), DAT_SUCCESS);
	REQUIRE_DAT(DAT->srq_free_func(srq), DAT_SUCCESS);
	CHECK_EMPTY(w.async);
}

static void an_endpoint_with_a_queue_wants_attributes_and_a_live_one(void)
{
	DAT_EP_ATTR attr = { 0 };
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

#define CREATE(zone, queue, attributes) \
	DAT->ep_create_with_srq_func(w.ia, zone, w.dto2, w.dto2, w.conn, queue, attributes, &ep)
	CHECK_DAT(CREATE(w.pz, srq, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(CREATE(w.pz, w.pz, &attr), DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_SRQ);
	REQUIRE_DAT(DAT->pz_create_func(w.ia, &pz), DAT_SUCCESS);
	CHECK_DAT(CREATE(pz, srq, &attr), DAT_INVALID_PARAMETER); /* the IA requires the same PZ for the SRQ and the endpoint */
	CHECK_DAT(DAT->pz_free_func(pz), DAT_SUCCESS);
#undef CREATE
}

/*
 * Most of the posts are refused, but each takes the lock. The transport takes the lock when it looks
 * for receives, and gets it.
 */
static void posts_of_one_thread_bias_the_lock_where_the_transport_does_without_it(void)
{
	struct datp_bias probe;

	datp_bias_init(&probe);
	if (probe.enough == UINT32_MAX)
		check_skip("no biased locks: no membarrier() here, or the thread sanitizer, which does not know it");
	for (int i = 0; i < 200; i++)
		post(1);
	CHECK_EQ_INT(((struct datp_srq *)srq)->lock, LOCK_FREE);
	world_close();
	loopback_traits = DATP_TRAIT_SRQ_BIASED;
	open_world();
	loopback_traits = 0;
	world_pair(a, b);
	for (int i = 0; i < 200; i++)
		post(1);
	CHECK_EQ_INT(((struct datp_srq *)srq)->lock, LOCK_BIASED);
	REQUIRE_DAT(world_send(a, 2048, 16, 9, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DTO(w.dto2, 1, DAT_DTO_SUCCESS);
	CHECK_EQ_INT(query().outstanding_dto_count, 3);
	CHECK_DAT(post(4), DAT_SUCCESS);
	CHECK_DAT(post(5), DAT_INSUFFICIENT_RESOURCES);
}

/* ------------------------------------------------------------------ the end of an endpoint */

/* Has the ends of endpoints with an SRQ reported as asynchronous errors, as for programs of DAT 2.0. */
static void report_ends(void)
{
	static struct dat12_edge edge;
	struct plugin *plugin = ia_priv(w.ia)->plugin;

	edge = *(const struct dat12_edge *)plugin->edge;
	edge.edge.srq_end_is_error = true;
	plugin->edge = &edge.edge;
}

static void end_pair(void)
{
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (int i = 0; i < 2; i++)
		world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void the_end_of_an_endpoint_is_reported_though_the_async_queue_is_full(void)
{
	const int many = 100;
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	report_ends();
	REQUIRE_DAT(DAT->evd_query_func(w.async, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	REQUIRE(param.evd_qlen < many);
	for (int i = 0; i < many; i++)
		datp_srq_low(srq);
	world_pair(a, b);
	end_pair();
	for (DAT_COUNT i = 0; i < param.evd_qlen; i++)
		world_expect(w.async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	event = world_expect(w.async, DAT_ASYNC_ERROR_EP_BROKEN);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == b);
	CHECK_EQ_INT(event.event_data.asynch_error_event_data.reason, DAT_EP_TRANSFER_TO_ERROR);
	CHECK_EMPTY(w.async);
	/* its note has not become one of the queue's own */
	for (int i = 0; i < many; i++)
		datp_srq_low(srq);
	for (DAT_COUNT i = 0; i < param.evd_qlen; i++)
		world_expect(w.async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	CHECK_EMPTY(w.async);
}

static struct datp_evd *shared; /* the async EVD of an IA that is not the EVD's */
static int queued_then;
static void (*evd_free_then)(struct datp_evd *evd);

/* The IA of `shared` is being closed, and its first EVD, which is another one, is freed. */
static void look_at_shared(struct datp_evd *evd)
{
	if (queued_then < 0)
		queued_then = (int)atomic_load(&shared->queued);
	evd_free_then(evd);
}

static void an_ia_that_loses_its_async_queue_has_no_event_there(void)
{
	DAT_EVD_HANDLE async = world_evd(DAT_EVD_ASYNC_FLAG);
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 2 };
	struct plugin *plugin = ia_priv(w.ia)->plugin;
	DAT_IA_HANDLE owner = w.ia;
	DAT_EP_ATTR ep_attr = { 0 };
	char name[] = "loop0";

	report_ends();
	shared = async;
	REQUIRE_DAT(DAT->psp_free_func(w.psp), DAT_SUCCESS);
	REQUIRE_DAT(DAT->ia_open_func(name, 8, &async, &w.ia), DAT_SUCCESS);
	w.cr = world_evd(DAT_EVD_CR_FLAG);
	w.conn = world_evd(DAT_EVD_CONNECTION_FLAG);
	w.dto = world_evd(DAT_EVD_DTO_FLAG);
	REQUIRE_DAT(DAT->pz_create_func(w.ia, &w.pz), DAT_SUCCESS);
	REQUIRE_DAT(DAT->psp_create_func(w.ia, WORLD_QUAL, w.cr, DAT_PSP_CONSUMER_FLAG, &w.psp), DAT_SUCCESS);
	REQUIRE_DAT(DAT->srq_create_func(w.ia, w.pz, &attr, &srq), DAT_SUCCESS);
	a = world_ep();
	REQUIRE_DAT(DAT->ep_create_with_srq_func(w.ia, w.pz, w.dto, w.dto, w.conn, srq, &ep_attr, &b), DAT_SUCCESS);
	world_pair(a, b);
	end_pair();
	REQUIRE_SOON(atomic_load(&shared->queued) == 1);

	queued_then = -1;
	evd_free_then = plugin->ops.evd_free;
	plugin->ops.evd_free = look_at_shared;
	CHECK_DAT(DAT->ia_close_func(owner, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(queued_then, 0);
	CHECK_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	CHECK_DAT(DAT->ep_reset_func(b), DAT_SUCCESS);
	world_pair(a, b);
}

static const struct check_test tests[] = {
	CHECK_TEST(create_checks_its_arguments),
	CHECK_TEST(query_tells_attributes_and_counts),
	CHECK_TEST(a_receive_counts_until_its_event_is_taken),
	CHECK_TEST(the_transport_is_told_how_many_bytes_a_receive_has),
	CHECK_TEST(posts_are_checked),
	CHECK_TEST(only_what_the_endpoint_took_is_flushed),
	CHECK_TEST(two_endpoints_take_from_one_queue),
	CHECK_TEST(freeing_an_endpoint_gives_what_it_took_back),
	CHECK_TEST(free_waits_for_the_last_endpoint),
	CHECK_TEST(resize_keeps_what_is_posted),
	CHECK_TEST(low_watermark_is_checked_and_its_event_names_the_queue),
	CHECK_TEST(a_freed_queue_leaves_no_event),
	CHECK_TEST(an_endpoint_with_a_queue_wants_attributes_and_a_live_one),
	CHECK_TEST(posts_of_one_thread_bias_the_lock_where_the_transport_does_without_it),
	CHECK_TEST(the_end_of_an_endpoint_is_reported_though_the_async_queue_is_full),
	CHECK_TEST(an_ia_that_loses_its_async_queue_has_no_event_there),
	CHECK_END,
};

static const struct check_suite suite = {
	.name = "srq", .setup = open_world, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&suite);
