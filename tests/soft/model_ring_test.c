/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of an event queue, in every order of its steps that C11 allows: cells, sleepers, and a sender that dies or is
 * stopped at any instruction. The provider's own cq.c and skip.c run; model.h says how, and what is not tried.
 */
#include "tests/soft/model_world.h"

#include "providers/soft/cq.h"
#include "providers/soft/skip.h"

static void ring_send(uint32_t sender, uint32_t number)
{
	struct soft_cell *cell;
	uint64_t position;

	while (!(cell = soft_ring_reserve(world.b.evd.cq.ring, world.b.evd.cq.mask, sender + 1, &position)))
		model_yield();
	model_write(cell);
	cell->kind = SOFT_CELL_MESSAGE;
	cell->port = sender;
	cell->len = number;
	soft_ring_publish(cell, position);
}

static void ring_sender_0(void)
{
	ring_send(0, 0);
	ring_send(0, 1);
}

static void ring_sender_0_once(void)
{
	ring_send(0, 0);
}

static void ring_sender_1(void)
{
	ring_send(1, 0);
}

static void ring_waker_0(void)
{
	ring_send(0, 0);
	soft_ring_notify(world.b.evd.cq.ring, NULL);
}

static void ring_waker_0_twice(void)
{
	ring_waker_0();
	ring_send(0, 1);
	soft_ring_notify(world.b.evd.cq.ring, NULL);
}

static void ring_waker_1(void)
{
	ring_send(1, 0);
	soft_ring_notify(world.b.evd.cq.ring, NULL);
}

/* Takes the next cell. Returns true if there was one. A cell that is out of use is skipped, and its contents are not read. */
static bool ring_take(void)
{
	struct soft_cq *cq = &world.b.evd.cq;
	struct soft_cell *cell = soft_cq_peek(cq);

	if (!cell)
		return false;
	if (!cq->skipped_count || SOFT_RESERVED_PEER(soft_ring_reservations(cq->ring, cq->mask)[cq->head & cq->mask])) {
		model_read(cell);
		if (cell->kind == SOFT_CELL_MESSAGE) {
			model_require(cell->port < 2);
			model_require(cell->len == world.next[cell->port]);
			world.next[cell->port]++;
			world.taken++;
		}
	}
	if (cq->skipped_count)
		soft_skip_pass(cq);
	soft_cq_next(cq);
	return true;
}

static void ring_poller(void)
{
	while (world.taken < 3)
		if (!ring_take())
			model_yield();
}

static void messages_arrive_once_whole_and_in_order(void)
{
	static const struct model_scenario scenario = {
		"two senders, three messages", NULL, { ring_sender_0, ring_sender_1, ring_poller }, NULL, 0, 2
	};

	world_explore(&scenario);
}

/* The message of the live sender arrives, at whatever step the other one has died. */
static void ring_poller_of_the_living(void)
{
	bool reclaimed = false;

	while (!world.next[1]) {
		if (ring_take())
			continue;
		if (!reclaimed && model_dead(0)) {
			soft_cqs_reclaim(world.ia, &world.peer[0]);
			reclaimed = true;
		} else {
			model_yield();
		}
	}
}

static void sender_that_dies_at_any_step_leaves_nothing_in_the_way(void)
{
	static const struct model_scenario scenario = {
		"a sender dies", NULL, { ring_sender_0_once, ring_sender_1, ring_poller_of_the_living }, NULL, 1, 2
	};

	world_explore(&scenario);
}

static void ring_sender_1_often(void)
{
	for (uint32_t number = 0; number < 3; number++)
		ring_send(1, number);
}

/*
 * The messages of one sender arrive, over more than a lap, although the other sender is stopped at any step for longer than the
 * bound, and goes on at any later step. The message of the stopped one may be lost.
 */
static void ring_poller_without_patience(void)
{
	while (world.next[1] < 3)
		if (!ring_take() && !soft_skip_look(&world.b.evd.cq))
			model_yield();
}

/* The second sender is a thread of the process that owns the ring, so the owner waits for it without a bound. */
static void begin_stops(void)
{
	world.stops = true;
	world.peer[0].self = false;
	world.peer[0].users = 1;
}

static void sender_that_is_stopped_at_any_step_holds_up_nobody(void)
{
	static const struct model_scenario scenario = {
		"a sender is stopped", begin_stops,
		{ ring_sender_0_once, ring_sender_1_often, ring_poller_without_patience }, NULL, 0, 2
	};

	world_explore(&scenario);
}

/* Waits as libdatp does: it reads the bell, polls, arms the transport, and sleeps. */
static void ring_sleep_until(uint32_t count)
{
	struct soft_cq *cq = &world.b.evd.cq;

	for (;;) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		while (ring_take())
			;
		if (world.taken >= count)
			return;
		if (!soft_cq_arm(cq, SOFT_NOTIFY_WAITER))
			model_futex_wait(&cq->ring->bell, seen);
	}
}

static void ring_sleeper(void)
{
	ring_sleep_until(2);
}

static void sleeper_is_woken_by_each_message(void)
{
	static const struct model_scenario scenario = {
		"a sleeper", NULL, { ring_waker_0, ring_waker_1, ring_sleeper }, NULL, 0, 3
	};

	world_explore(&scenario);
}

/* The owner has only polled until now, so the senders omit the fence. */
static void begin_polled(void)
{
	soft_cq_set_polled(&world.b.evd.cq);
}

static void sleeper_that_had_polled_is_woken(void)
{
	static const struct model_scenario one = {
		"a sleeper that had polled", begin_polled, { ring_waker_0_twice, ring_sleeper }, NULL, 0, 0
	};
	static const struct model_scenario two = {
		"a sleeper that had polled, two senders", begin_polled, { ring_waker_0, ring_waker_1, ring_sleeper }, NULL, 0, 3
	};

	world_explore(&one);
	world_explore(&two);
}

/* After each message that the owner takes by polling, the senders omit the fence. */
static void begin_soon_polled(void)
{
	world.b.evd.cq.polled_after = 1;
}

static void sleeper_that_polls_between_is_woken(void)
{
	static const struct model_scenario scenario = {
		"a sleeper that polls between", begin_soon_polled, { ring_waker_0, ring_waker_1, ring_sleeper }, NULL, 0, 3
	};

	world_explore(&scenario);
}

/* Takes a cell as one of several threads of the owner. Returns true if there was one. */
static bool ring_take_in_order(void)
{
	_Atomic uint32_t *lock = soft_cq_lock(&world.b.evd.cq);
	bool took;

	datp_lock(lock);
	took = ring_take();
	datp_unlock(lock);
	return took;
}

static void ring_taker_once(void)
{
	(void)ring_take_in_order();
}

static void ring_sleeper_for_one(void)
{
	struct soft_cq *cq = &world.b.evd.cq;

	for (;;) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);
		bool more;

		if (ring_take_in_order())
			return;
		datp_lock(soft_cq_lock(cq));
		more = soft_cq_arm(cq, SOFT_NOTIFY_WAITER);
		datp_unlock(soft_cq_lock(cq));
		if (!more)
			model_futex_wait(&cq->ring->bell, seen);
	}
}

/* Another thread polls, and by that tells the senders to omit the fence, when this thread has asked to be woken. */
static void sleeper_is_woken_though_another_thread_polls(void)
{
	static const struct model_scenario scenario = {
		"a sleeper, and another that polls", begin_soon_polled,
		{ ring_waker_0_twice, ring_sleeper_for_one, ring_taker_once }, NULL, 0, 3
	};

	world_explore(&scenario);
}

static void ring_sleeper_of_the_living(void)
{
	struct soft_cq *cq = &world.b.evd.cq;

	while (!world.next[1]) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		while (ring_take())
			;
		if (!world.next[1] && !soft_cq_arm(cq, SOFT_NOTIFY_WAITER))
			model_futex_wait(&cq->ring->bell, seen);
	}
}

/* A sender may die after it has cleared the request to wake the sleeper. Without a death there is nothing to reclaim. */
static void ring_reclaimer_or_not(void)
{
	while (!model_dead(0)) {
		if (world.next[1])
			return;
		model_yield();
	}
	soft_cqs_reclaim(world.ia, &world.peer[0]);
}

static void sleeper_is_woken_although_a_sender_died(void)
{
	static const struct model_scenario scenario = {
		"a sender dies, and somebody sleeps", NULL,
		{ ring_waker_0, ring_waker_1, ring_sleeper_of_the_living, ring_reclaimer_or_not }, NULL, 1, 1
	};

	world_explore(&scenario);
}

/* The same with a sender that is stopped, which nothing reports. */
static void ring_sleeper_without_patience(void)
{
	struct soft_cq *cq = &world.b.evd.cq;

	while (!world.next[1]) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		while (ring_take())
			;
		if (!world.next[1] && !soft_cq_arm(cq, SOFT_NOTIFY_WAITER) && !soft_skip_look(cq))
			model_futex_wait(&cq->ring->bell, seen);
	}
}

static void sleeper_is_woken_although_a_sender_is_stopped(void)
{
	static const struct model_scenario scenario = {
		"a sender is stopped for ever, and somebody sleeps", begin_stops,
		{ ring_waker_0, ring_waker_1, ring_sleeper_without_patience }, NULL, 1, 2
	};

	world_explore(&scenario);
}

static const struct check_test ring_tests[] = {
	CHECK_TEST(messages_arrive_once_whole_and_in_order),
	CHECK_TEST(sender_that_dies_at_any_step_leaves_nothing_in_the_way),
	CHECK_TEST(sleeper_is_woken_by_each_message),
	CHECK_TEST(sleeper_that_had_polled_is_woken),
	CHECK_TEST(sleeper_that_polls_between_is_woken),
	CHECK_TEST(sleeper_is_woken_though_another_thread_polls),
	CHECK_TEST(sleeper_is_woken_although_a_sender_died),
	CHECK_END
};

static const struct check_test ring_of_two_tests[] = {
	CHECK_TEST(messages_arrive_once_whole_and_in_order),
	CHECK_TEST(sender_that_is_stopped_at_any_step_holds_up_nobody),
	CHECK_TEST(sleeper_is_woken_although_a_sender_is_stopped),
	CHECK_TEST(sender_that_dies_at_any_step_leaves_nothing_in_the_way),
	CHECK_END
};

static const struct check_suite ring = {
	.name = "soft ring model", .setup = world_open_ring, .teardown = world_close, .tests = ring_tests
};

static const struct check_suite ring_of_two = {
	.name = "soft ring model, two cells", .setup = world_open_ring_of_two, .teardown = world_close,
	.tests = ring_of_two_tests
};

CHECK_SUITES(&ring, &ring_of_two);
