/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The soft provider's protocol in shared memory, in every order of its steps that C11 allows: the meeting
 * of requests and receives between two ports (execution lock, ready lists, cooperative copies, the end of a connection). The
 * ring that they use has its own scenarios in model_ring_test.c. The provider's own cq.c, exec.c, skip.c,
 * coop.c, send.c, recv.c and port.c run; model.h says how, and what is not tried.
 */
#include "tests/soft/model_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "providers/soft/arena.h"
#include "providers/soft/cq.h"
#include "providers/soft/exec.h"
#include "providers/soft/coop.h"
#include "providers/soft/port.h"
#include "providers/soft/polling.h"
#include "providers/soft/recv.h"
#include "providers/soft/send.h"
#include "providers/soft/xfer.h"

#define LONG 5000 /* longer than any cell; only one byte is copied */

static void long_send(int i)
{
	model_write(&world.a.out[i]);
	world_post(&world.a, false, &world.a.out[i], LONG);
}

static void receive(int i)
{
	model_write(&world.b.in[i]);
	world_post(&world.b, true, &world.b.in[i], LONG);
}

static void check_received(uint32_t n)
{
	model_require(world.b.done == n);
	for (uint32_t i = 0; i < n; i++) {
		model_read(&world.b.in[i]);
		model_require(world.b.status[i] == DAT_DTO_SUCCESS);
		model_require(world.b.in[i] == world.a.out[i]);
	}
}

static void a_sends_one(void)
{
	long_send(0);
	world_sleep_until(&world.a, 1);
	model_write(&world.a.out[0]); /* the buffer belongs to the program again */
	model_require(world.a.done == 1 && world.a.status[0] == DAT_DTO_SUCCESS);
}

static void b_receives_one(void)
{
	receive(0);
	world_sleep_until(&world.b, 1);
	check_received(1);
}

static void send_meets_its_receive(void)
{
	static const struct model_scenario scenario = {
		"one send, one receive", NULL, { a_sends_one, b_receives_one }, NULL, 0, 3
	};

	world_explore(&scenario);
}

static void a_sends_two(void)
{
	long_send(0);
	long_send(1);
	world_sleep_until(&world.a, 2);
}

static void b_receives_two(void)
{
	receive(0);
	receive(1);
	world_sleep_until(&world.b, 2);
	check_received(2);
}

static void sends_meet_their_receives_in_order(void)
{
	static const struct model_scenario scenario = {
		"two sends, two receives", NULL, { a_sends_two, b_receives_two }, NULL, 0, 2
	};

	world_explore(&scenario);
}

/* One of two threads of a program: it posts, and the other one waits. */
static void b_posts(void)
{
	receive(0);
}

static void b_waits(void)
{
	world_sleep_until(&world.b, 1);
	check_received(1);
}

static void receive_that_is_posted_late_wakes_the_waiter(void)
{
	static const struct model_scenario scenario = {
		"a send, a receive of another thread", NULL, { a_sends_one, b_waits, b_posts }, NULL, 0, 1
	};

	world_explore(&scenario);
}

/* Ends the connection as soft_ep_end() does. After that nobody may access the buffer. */
static void b_ends(void)
{
	struct soft_ep *ep = &world.b.ep;

	receive(0);
	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
	soft_exec_wait(ep, ep->port, ep->peer, NULL, 0);
	model_write(&world.b.in[0]);
}

static void a_sends_and_goes(void)
{
	long_send(0);
}

static void end_waits_for_a_thread_that_accesses_the_memory(void)
{
	static const struct model_scenario scenario = {
		"a send, and the end", NULL, { a_sends_and_goes, b_ends }, NULL, 0, 0
	};

	world_explore(&scenario);
}

/* The same if the sender dies while it holds the execution lock, when it may also be executing one of b's requests. */
static void b_sends_and_ends(void)
{
	struct soft_ep *ep = &world.b.ep;

	receive(0);
	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
	soft_exec_wait(ep, ep->port, ep->peer, NULL, 0);
	if (model_dead(0))
		soft_exec_take_back(ep->port);
	model_write(&world.b.in[0]);
	model_require(!(atomic_load(&ep->port->exec_lock) & SOFT_EXEC_HELD));
}

static void a_sends_one_mortal(void)
{
	long_send(0);
}

static void end_does_not_wait_for_the_dead(void)
{
	static const struct model_scenario scenario = {
		"a send, a death, and the end", NULL, { a_sends_one_mortal, b_sends_and_ends }, NULL, 1, 3
	};

	world.lost = true;
	world_explore(&scenario);
}

/* The sender is stopped at any step for longer than the bound, and goes on later: it must not access the buffer then. */
static void buffer_is_not_touched_by_a_side_that_continues(void)
{
	static const struct model_scenario scenario = {
		"a send, a stop, and the end", NULL, { a_sends_and_goes, b_ends }, NULL, 0, 0
	};

	world.stops = true;
	world_explore(&scenario);
}

/* ------------------------------------------------------------------ short messages, on the fast path */

#define SHORT 1

static void short_send(int i)
{
	model_write(&world.a.out[i]);
	world_post_plain(&world.a, false, &world.a.out[i], SHORT);
}

/* Nothing waits before the message, so it is copied in the post, and the buffer belongs to the program again. */
static void short_send_at_once(int i)
{
	short_send(i);
	model_write(&world.a.out[i]);
}

static void short_receive(int i)
{
	model_write(&world.b.in[i]);
	world_post_plain(&world.b, true, &world.b.in[i], LONG);
}

static void a_sends_two_short(void)
{
	short_send_at_once(0);
	short_send_at_once(1);
	model_require(world.a.done == 2);
}

static void b_receives_two_short(void)
{
	short_receive(0);
	short_receive(1);
	world_sleep_until(&world.b, 2);
	check_received(2);
}

static void short_messages_meet_their_receives_in_order(void)
{
	static const struct model_scenario scenario = {
		"two short sends, two receives", NULL, { a_sends_two_short, b_receives_two_short }, NULL, 0, 3
	};

	world_explore(&scenario);
}

static void a_sends_short_and_long(void)
{
	short_send(0);
	model_write(&world.a.out[1]);
	world_post_plain(&world.a, false, &world.a.out[1], LONG);
	short_send(2);
	world_sleep_until(&world.a, 3);
}

static void b_receives_short_and_long(void)
{
	for (int i = 0; i < 3; i++)
		short_receive(i);
	world_sleep_until(&world.b, 3);
	check_received(3);
}

static void short_messages_do_not_overtake_long_ones(void)
{
	static const struct model_scenario scenario = {
		"a long send between short ones", NULL, { a_sends_short_and_long, b_receives_short_and_long }, NULL, 0, 1
	};

	world_explore(&scenario);
}

/* Posts a long message behind two short ones. */
static void a_sends_long_behind_short(void)
{
	short_send(0);
	short_send(1);
	model_write(&world.a.out[2]);
	world_post_plain(&world.a, false, &world.a.out[2], LONG);
	world_sleep_until(&world.a, 3);
}

static void long_message_is_not_forgotten_behind_short_ones(void)
{
	static const struct model_scenario scenario = {
		"a long send behind short ones", NULL, { a_sends_long_behind_short, b_receives_short_and_long }, NULL, 0, 2
	};

	world_explore(&scenario);
}

static void a_sends_one_short(void)
{
	short_send_at_once(0);
}

static void b_posts_short(void)
{
	short_receive(0);
}

static void short_message_that_finds_no_receive_is_kept_for_it(void)
{
	static const struct model_scenario scenario = {
		"a short send, a receive of another thread", NULL, { a_sends_one_short, b_waits, b_posts_short }, NULL,
		0, 2
	};

	world_explore(&scenario);
}

static void plain_receive_that_is_posted_late_wakes_the_waiter(void)
{
	static const struct model_scenario scenario = {
		"a long send, a plain receive of another thread", NULL, { a_sends_one, b_waits, b_posts_short }, NULL,
		0, 2
	};

	world_explore(&scenario);
}

/*
 * Nobody polls the receive's queue or sleeps on it, so nobody is told that a request waits. So the send or
 * the receive, whichever comes second, has to find the other one.
 */
static void plain_receive_meets_its_send_although_nobody_looks(void)
{
	static const struct model_scenario scenario = {
		"a long send, a plain receive, and no look", NULL, { a_sends_one, b_posts_short },
		NULL, 0, 4
	};

	world_explore(&scenario);
}

/* ------------------------------------------------------------------ another peer takes events away */

/* Clears the two words by which others report events, at any step; see lost.c. */
static void take_away(struct side *side)
{
	struct soft_ring *ring = side->evd.cq.ring;

	atomic_exchange_explicit(&ring->ready_list, 0, memory_order_relaxed);
	atomic_exchange_explicit(&ring->notify, 0, memory_order_relaxed);
}

/* Looks for lost events as the service thread does in lost.c, and takes everything it finds for lost. */
static void look_at(struct side *side)
{
	struct soft_cq *cq = &side->evd.cq;

	for (int i = 0; i < 2; i++)
		side->ep.look[i].waited = true;
	soft_ready_find(cq);
	if (soft_cq_pending(cq))
		soft_cq_wake_all(cq);
}

static bool a_has_posted;

static void a_sends_one_and_says_so(void)
{
	long_send(0);
	a_has_posted = true;
	world_sleep_until(&world.a, 1);
}

/* The other side has reported all its events before this. */
static void a_is_robbed(void)
{
	take_away(&world.a);
	while (!world_completed(&world.b))
		model_yield();
	look_at(&world.a);
}

static void b_is_robbed(void)
{
	take_away(&world.b);
	while (!a_has_posted)
		model_yield();
	look_at(&world.b);
}

static void news_of_the_sender_survive_another_peer_that_takes_them_away(void)
{
	static const struct model_scenario scenario = {
		"the sender's events are taken away", NULL, { a_sends_one, b_receives_one, a_is_robbed }, NULL, 0, 1
	};

	world_explore(&scenario);
}

static void news_of_the_receiver_survive_another_peer_that_takes_them_away(void)
{
	static const struct model_scenario scenario = {
		"the receiver's events are taken away", NULL, { a_sends_one_and_says_so, b_receives_one, b_is_robbed }, NULL, 0, 1
	};

	model_keep(&a_has_posted, sizeof(a_has_posted));
	world_explore(&scenario);
}

/* ------------------------------------------------------------------ a long message, copied by both sides */

static char coop_from[SOFT_COOP_MIN], coop_to[SOFT_COOP_MIN];

/* Only the first byte of each piece is watched. */
static void coop_write(char *payload)
{
	for (uint32_t i = 0; i < SOFT_COOP_MIN; i += SOFT_COOP_PIECE_MAX)
		model_write(&payload[i]);
}

static void coop_check(void)
{
	model_require(world.b.done == 1 && world.b.status[0] == DAT_DTO_SUCCESS);
	for (uint32_t i = 0; i < SOFT_COOP_MIN; i += SOFT_COOP_PIECE_MAX) {
		model_read(&coop_to[i]);
		model_require(coop_to[i] == coop_from[i]);
	}
}

/* Runs a scenario between two processes in every order of its steps. */
static void coop_explore(const struct model_scenario *scenario)
{
	for (int n = 0; n < 3; n++) {
		world.peer[n].self = false;
		world.peer[n].cma = true;
	}
	memset(coop_from, 7, sizeof(coop_from));
	/* the check for a death is a step, so it is made only in scenarios with a death */
	world.lost = scenario->mortal;
	world_explore(scenario);
}

/* The same, and the region of the receives is deregistered meanwhile. */
static void coop_explore_freed(const struct model_scenario *scenario)
{
	model_watch(&world.no_region, sizeof(world.no_region), "no region");
	model_keep(&world.no_region, sizeof(world.no_region));
	coop_explore(scenario);
}

static void coop_post(struct side *side)
{
	world_post(side, side == &world.b, side == &world.b ? coop_to : coop_from, SOFT_COOP_MIN);
}

static void coop_receive_is_there(void)
{
	memset(coop_to, 0, sizeof(coop_to));
	coop_post(&world.b);
}

static void coop_send_is_there(void)
{
	memset(coop_to, 0, sizeof(coop_to));
	coop_post(&world.a);
}

static void a_waits_for_its_send(void)
{
	world_sleep_until(&world.a, 1);
	coop_write(coop_from); /* the buffer belongs to the program again */
	model_require(world.a.done == 1 && world.a.status[0] == DAT_DTO_SUCCESS);
}

static void a_sends_coop(void)
{
	coop_post(&world.a);
	a_waits_for_its_send();
}

static void b_waits_coop(void)
{
	world_sleep_until(&world.b, 1);
	coop_check();
}

static void b_receives_coop(void)
{
	coop_post(&world.b);
	b_waits_coop();
}

static void receiver_that_polls_takes_its_part(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, and a poller", coop_receive_is_there, { a_sends_coop, b_waits_coop }, NULL, 0, 3
	};

	coop_explore(&scenario);
}

static void sender_that_polls_takes_its_part(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, and a late receive", coop_send_is_there, { a_waits_for_its_send, b_receives_coop },
		NULL, 0, 3
	};

	coop_explore(&scenario);
}

/* Ends a side's connection while the other side may be accessing its memory. `mortal`: the other side may have died. */
static void coop_end(struct side *side, char *memory, bool mortal)
{
	struct soft_ep *ep = &side->ep;

	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
	soft_exec_wait(ep, ep->port, ep->peer, NULL, 0);
	if (mortal && model_dead(0))
		soft_exec_take_back(ep->port);
	coop_write(memory);
}

static void a_posts_coop(void)
{
	coop_post(&world.a);
}

static void b_polls(void)
{
	world_poll(&world.b);
}

/* If the sender dies, the message may be lost, but if it is reported as received it is whole. */
static void b_polls_and_looks(void)
{
	struct soft_ep *ep = &world.b.ep;

	world_poll(&world.b);
	datp_lock(&ep->base.lock);
	if (ep->open && world.b.done && world.b.status[0] == DAT_DTO_SUCCESS)
		coop_check();
	datp_unlock(&ep->base.lock);
}

static void b_ends_coop(void)
{
	coop_end(&world.b, coop_to, false);
}

static void end_waits_for_both_sides(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, a poller, and the end", coop_receive_is_there,
		{ a_posts_coop, b_polls, b_ends_coop }, NULL, 0, 2
	};

	coop_explore(&scenario);
}

/* Deregisters the region as soft_lmr_free() does, which takes no lock of the endpoint. */
static void b_frees(void)
{
	struct soft_ep *ep = &world.b.ep;

	(void)atomic_exchange(&world.no_region, 1);
	soft_exec_wait(ep, ep->port, ep->peer, NULL, 0);
	soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
	coop_write(coop_to);
}

/* The same with a long send that both sides copy, where the sender is stopped at any step, and goes on later. */
static void coop_buffer_is_not_touched_by_a_side_that_continues(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, a stop, a poller, and the end", coop_receive_is_there,
		{ a_posts_coop, b_polls, b_ends_coop }, NULL, 0, 2
	};

	world.stops = true;
	coop_explore(&scenario);
}

static void freed_memory_is_touched_by_neither(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, a poller, and its region is freed", coop_receive_is_there,
		{ a_posts_coop, b_polls, b_frees }, NULL, 0, 2
	};

	coop_explore_freed(&scenario);
}

static void freed_memory_is_not_touched_after_a_death(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, a death, and the region is freed", coop_receive_is_there,
		{ a_posts_coop, b_polls, b_frees }, NULL, 1, 1
	};

	coop_explore_freed(&scenario);
}

static void b_ends_mortally(void)
{
	coop_end(&world.b, coop_to, true);
}

static void end_does_not_wait_for_a_dead_sender(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, a death, and the end", coop_receive_is_there,
		{ a_posts_coop, b_polls_and_looks, b_ends_mortally }, NULL, 1, 2
	};

	coop_explore(&scenario);
}

static void a_posts_coop_and_ends(void)
{
	coop_post(&world.a);
	coop_end(&world.a, coop_from, true);
}

static void sender_does_not_wait_for_a_dead_helper(void)
{
	static const struct model_scenario scenario = {
		"a cooperative send, a helper's death, and the end", coop_receive_is_there,
		{ b_polls, a_posts_coop_and_ends }, NULL, 1, 3
	};

	coop_explore(&scenario);
}

/* The connection has had so many requests that the difference to a count of its beginning is negative as a signed number. */
#define ONE_CELL 8
static const uint32_t many = (1u << 31) + 1;

static void count_many(struct soft_ep *ep)
{
	atomic_store(&ep->port->sq_posted, many);
	atomic_store(&ep->port->sq_done, many);
	ep->executed = ep->sq_reaped = many;
}

/* A message that waited for credit goes by a cell when there is some. If it had a place, it would have to wait for its receive. */
static void place_of_long_ago_is_none(void)
{
	struct soft_ep *ep = &world.a.ep;

	world.ia->eager_sure = world.ia->eager_limit = SOFT_INLINE;
	count_many(ep);
	ep->credits = 0;
	world_post(&world.a, false, &world.a.out[0], ONE_CELL);
	REQUIRE(atomic_load(&ep->port->sq_done) == many);
	ep->credits = SOFT_CREDITS;
	soft_exec_run(ep, true);
	CHECK_EQ_INT(atomic_load(&ep->port->sq_done), many + 1);
}

/* The other side holds the execution lock, and is going to execute the message. */
static void message_has_a_place_whenever_this_side_executed_one(void)
{
	struct soft_ep *ep = &world.a.ep;

	count_many(ep);
	world_post(&world.b, true, &world.b.in[0], ONE_CELL);
	atomic_store(&ep->port->exec_lock, atomic_load(&ep->port->exec_lock) | SOFT_EXEC_HELD | SOFT_EXEC_TARGET);
	world_post(&world.a, false, &world.a.out[0], ONE_CELL);
	CHECK_EQ_INT(ep->places, many + 1);
}

/* A peer says that what this side has executed, and has not completed, is still to come. */
static void request_is_not_executed_again(void)
{
	struct soft_ep *ep = &world.a.ep;

	world.ia->eager_sure = world.ia->eager_limit = SOFT_INLINE;
	ep->credits = 0;
	world_post(&world.a, false, &world.a.out[0], ONE_CELL);
	world_post(&world.a, false, &world.a.out[1], ONE_CELL);
	ep->credits = SOFT_CREDITS;
	soft_exec_run(ep, true);
	REQUIRE_EQ_INT(atomic_load(&ep->port->sq_done), 2);
	REQUIRE_EQ_INT(ep->sq_reaped, 0);
	atomic_store(&ep->port->sq_done, 1);
	soft_exec_run(ep, true);
	CHECK_EQ_INT(atomic_load(&ep->port->sq_done), 1);
}

static const struct check_test port_tests[] = {
	CHECK_TEST(request_is_not_executed_again),
	CHECK_TEST(place_of_long_ago_is_none),
	CHECK_TEST(message_has_a_place_whenever_this_side_executed_one),
	CHECK_TEST(send_meets_its_receive),
	CHECK_TEST(sends_meet_their_receives_in_order),
	CHECK_TEST(receive_that_is_posted_late_wakes_the_waiter),
	CHECK_TEST(end_waits_for_a_thread_that_accesses_the_memory),
	CHECK_TEST(end_does_not_wait_for_the_dead),
	CHECK_TEST(buffer_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(short_messages_meet_their_receives_in_order),
	CHECK_TEST(short_messages_do_not_overtake_long_ones),
	CHECK_TEST(long_message_is_not_forgotten_behind_short_ones),
	CHECK_TEST(short_message_that_finds_no_receive_is_kept_for_it),
	CHECK_TEST(plain_receive_that_is_posted_late_wakes_the_waiter),
	CHECK_TEST(plain_receive_meets_its_send_although_nobody_looks),
	CHECK_TEST(news_of_the_sender_survive_another_peer_that_takes_them_away),
	CHECK_TEST(news_of_the_receiver_survive_another_peer_that_takes_them_away),
	CHECK_TEST(receiver_that_polls_takes_its_part),
	CHECK_TEST(sender_that_polls_takes_its_part),
	CHECK_TEST(end_waits_for_both_sides),
	CHECK_TEST(coop_buffer_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(freed_memory_is_touched_by_neither),
	CHECK_TEST(freed_memory_is_not_touched_after_a_death),
	CHECK_TEST(end_does_not_wait_for_a_dead_sender),
	CHECK_TEST(sender_does_not_wait_for_a_dead_helper),
	CHECK_END
};

static const struct check_suite ports = {
	.name = "soft port model", .setup = world_open_pair, .teardown = world_close, .tests = port_tests
};

CHECK_SUITES(&ports);
