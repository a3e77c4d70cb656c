/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bind completes while another peer is stopped in the middle of a write through what the RMR was bound to before, or, if the bind
 * fails, through what it would have bound: its completion is withheld until the access is over, or the bound has passed.
 */
#include <stdatomic.h>

#include "providers/soft/bound.h"
#include "providers/soft/mr.h"
#include "providers/soft/send.h"
#include "writer.h"

/* The RMR is unbound, which completes when nobody accesses the memory any more. */
static void begin_unbind(uint32_t patience_ms)
{
	open_with(patience_ms);
	writer_begins();
	began = check_now_ms();
	where.segment_length = 0;
	bind_rmr(&pair.b, 4);
	nothing_comes(pair.b.request);
}

static void bind_awaits_the_last_piece_however_late_it_is(void)
{
	struct soft_ep *ep;

	begin_unbind(LONG_MS);
	ep = soft_of(&pair.b);
	nobody_looks_in_time(ep, &ep->bind_wait);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	last_piece_was_awaited();
}

/* The program does not know that the RMR has been invalidated, and binds it anew, over another connection as well. */
static void bind_waits_as_well(const struct api_end *over)
{
	open_with(LONG_MS);
	post_receives(1, 1);
	begin_withheld();
	bind_rmr(over, 4);
	nothing_comes(over->request);
	at_once("the bind was posted");
	writer_ends();
	API_BIND(over->request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	at_once("the bind completed");
}

static void bind_over_its_connection_waits(void)
{
	bind_waits_as_well(&pair.b);
}

static void bind_over_another_connection_waits(void)
{
	bind_waits_as_well(&pair.a);
}

/* Two binds are under way over two connections: neither tells the program that the first binding is over before it is. */
static void two_binds_wait(void)
{
	open_with(LONG_MS);
	writer_begins();
	began = check_now_ms();
	bind_rmr(&pair.b, 4);
	bind_rmr(&pair.a, 5);
	nothing_comes(pair.b.request);
	nothing_comes(pair.a.request);
	at_once("the binds were posted");
	writer_ends();
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	API_BIND(pair.a.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	at_once("the binds completed");
}

static void peer_ends_the_connection_of_an_unbind(void)
{
	begin_unbind(LONG_MS);
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	service_goes_on();
	at_once("the service thread answered");
	nothing_comes(pair.b.request);
	nothing_comes(pair.b.connect);
	writer_ends();
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	at_once("the end was reported");
}

static void peer_ends_the_connection_of_an_unbind_and_the_bound_passes(void)
{
	begin_unbind(SHORT_MS);
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	/* the writer has lost its right before the program is told */
	CHECK(!writer_may_write());
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

static void this_side_ends_the_connection_of_an_unbind(void)
{
	begin_unbind(SHORT_MS);
	CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	CHECK(!writer_may_write());
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

/* A bind of another RMR, behind a long transfer, accesses nothing through this one: it holds up no unbind. */
static void bind_of_another_rmr_does_not_count(void)
{
	const struct soft_sqe another = { .op = DATP_BIND, .remote = { context ^ 1, 0, where.virtual_address, 8 } };

	open_with(LONG_MS);
	writer_begins_with(buf.rmr_context);
	writer_posts(&another, NULL);
	began = check_now_ms();
	where.segment_length = 0;
	bind_rmr(&pair.b, 4);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	at_once("the unbind completed");
	CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK(writer_may_write());
	writer_ends();
}

/* A thread of this process has completed a request, and has not yet said so in the port: it holds up nothing either. */
static void request_that_has_just_completed_does_not_count(void)
{
	struct soft_ep *ep;

	open_with(LONG_MS);
	writer_begins_with(buf.rmr_context);
	ep = soft_of(&writer.a);
	soft_sq_reaped(ep, ep->sq_reaped + 1);
	began = check_now_ms();
	where.segment_length = 0;
	bind_rmr(&pair.b, 4);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	at_once("the unbind completed");
	CHECK(writer_may_write());
	soft_sq_reaped(ep, ep->sq_reaped - 1);
	writer_ends();
}

/* ------------------------------------------------------------------ a bind fails */

/* The bind is behind a message for which no receive is posted, so nobody executes it. */
static void begin_failing(uint32_t patience_ms)
{
	open_with(patience_ms);
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 0, LONG, 4, 0), DAT_SUCCESS);
	bind_rmr(&pair.b, 5);
	nothing_comes(pair.b.request);
}

static bool is_open_to_the_writer(void)
{
	const struct datp_rge part = { context, 0, where.virtual_address, 8 };

	return soft_mr_check_own(soft_of(&writer.b), &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

/* A process has executed the bind, and has died before it counted it. */
static void bind_is_executed(void)
{
	const struct soft_ep *ep = soft_of(&pair.b);
	struct soft_mr *mr = &adapter->mr[SOFT_MR_INDEX(context)];
	const struct soft_request bind = { .op = DATP_BIND,
					   .remote = { context, 0, where.virtual_address, where.segment_length },
					   .bind_priv = RIGHTS,
					   .bind_lmr = where.lmr_context,
					   .bind_gen = atomic_load(&mr->rmr_gen) };

	soft_mr_bind(adapter->mr, &bind, soft_pz_id(ep->base.pz), atomic_load(&ep->gen));
	CHECK_EQ_INT(atomic_load(&mr->context), context);
}

static void bind_is_flushed(void)
{
	API_DTO(pair.b.request, pair.b.ep, 4, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_BIND(pair.b.request, rmr, 5, DAT_DTO_ERR_FLUSHED);
	CHECK(!is_open_to_the_writer());
	CHECK(atomic_load(&adapter->mr[SOFT_MR_INDEX(context)].context) != context);
}

static void peer_ends_the_connection(void)
{
	began = check_now_ms();
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	service_goes_on();
	at_once("the service thread answered");
}

static void flush_waits(void)
{
	writer_begins();
	peer_ends_the_connection();
	nothing_comes(pair.b.request);
	nothing_comes(pair.b.connect);
	CHECK(!is_open_to_the_writer()); /* for further writes */
	writer_ends();
	bind_is_flushed();
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	at_once("the end was reported");
}

/* A peer of the same PZ says in the table that the bind has been executed, and a thread of this process copies for it. */
static void flush_waits_for_a_write_by_forgery(void)
{
	begin_failing(LONG_MS);
	CHECK(is_open_to_the_writer());
	flush_waits();
}

static void flush_waits_for_a_write_through_what_was_executed(void)
{
	begin_failing(LONG_MS);
	bind_is_executed();
	flush_waits();
}

/* Nobody begins a write through the second one while the first one is awaited. */
static void all_binds_that_are_flushed_end_at_once(void)
{
	DAT_RMR_CONTEXT first;

	begin_failing(LONG_MS);
	CHECK(is_open_to_the_writer());
	first = context;
	bind_rmr(&pair.b, 6);
	CHECK(is_open_to_the_writer());
	writer_begins_with(first);
	peer_ends_the_connection();
	nothing_comes(pair.b.request);
	CHECK(!is_open_to_the_writer());
	writer_ends();
	bind_is_flushed();
	API_BIND(pair.b.request, rmr, 6, DAT_DTO_ERR_FLUSHED);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

static void flush_does_not_wait_for_the_binding_before(void)
{
	DAT_RMR_CONTEXT before;

	open_with(LONG_MS);
	before = context;
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 0, LONG, 4, 0), DAT_SUCCESS);
	bind_rmr(&pair.b, 5);
	writer_begins_with(before);
	peer_ends_the_connection();
	bind_is_flushed();
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	at_once("the end was reported");
	CHECK(writer_may_write());
	writer_ends();
}

static void flush_waits_no_longer_than_the_bound(void)
{
	begin_failing(SHORT_MS);
	bind_is_executed();
	writer_begins();
	CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK(!writer_may_write());
	bind_is_flushed();
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

static const struct check_test tests[] = {
	CHECK_TEST(bind_awaits_the_last_piece_however_late_it_is),
	CHECK_TEST(bind_over_its_connection_waits),
	CHECK_TEST(bind_over_another_connection_waits),
	CHECK_TEST(two_binds_wait),
	CHECK_TEST(peer_ends_the_connection_of_an_unbind),
	CHECK_TEST(peer_ends_the_connection_of_an_unbind_and_the_bound_passes),
	CHECK_TEST(this_side_ends_the_connection_of_an_unbind),
	CHECK_TEST(bind_of_another_rmr_does_not_count),
	CHECK_TEST(request_that_has_just_completed_does_not_count),
	CHECK_TEST(flush_waits_for_a_write_by_forgery),
	CHECK_TEST(flush_waits_for_a_write_through_what_was_executed),
	CHECK_TEST(all_binds_that_are_flushed_end_at_once),
	CHECK_TEST(flush_does_not_wait_for_the_binding_before),
	CHECK_TEST(flush_waits_no_longer_than_the_bound),
	CHECK_END
};

static const struct check_suite suite = { .name = "binds that are withheld", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
