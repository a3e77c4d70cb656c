/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that take different ways, one behind the other, under the model checker: in a cell; in a slot, or straight if their
 * receive is posted; always straight; and as a cooperative copy. They arrive whole and in order, and none is left waiting,
 * whichever side polls.
 */
#include "tests/soft/model_world.h"

#include <stdio.h>
#include <string.h>

#include "providers/soft/coop.h"
#include "providers/soft/xfer.h"

#define MOST   3
#define SHORT  1
#define MIDDLE (WORLD_MIDDLE - 28)
#define LONG   5000
#define COOP   SOFT_COOP_MIN

static const struct mix {
	const char *name;
	uint64_t length[MOST];
} mixes[] = {
	{ "middle, middle, middle", { MIDDLE, MIDDLE, MIDDLE } },
	{ "short, middle, long", { SHORT, MIDDLE, LONG } },
	{ "long, middle, short", { LONG, MIDDLE, SHORT } },
	{ "middle, short, middle", { MIDDLE, SHORT, MIDDLE } },
	{ "long, long, long", { LONG, LONG, LONG } },
	{ "cooperative, middle, cooperative", { COOP, MIDDLE, COOP } },
	{ "middle, cooperative, long", { MIDDLE, COOP, LONG } },
};

static const struct mix *mix;
static char from[MOST][COOP], to[MOST][COOP]; /* only the first byte of each is checked */

static void begin(void)
{
	memset(to, 0, sizeof(to));
	for (int i = 0; i < MOST; i++)
		from[i][0] = (char)(i + 5);
}

static void send_first(int n)
{
	for (int i = 0; i < n; i++) {
		model_write(from[i]);
		world_post_plain(&world.a, false, from[i], mix->length[i]);
	}
}

static void receive_first(int n)
{
	for (int i = 0; i < n; i++) {
		model_write(to[i]);
		world_post_plain(&world.b, true, to[i], COOP);
	}
}

static void arrived(int n)
{
	world_sleep_until(&world.b, (uint32_t)n);
	model_require(world.b.done == (uint32_t)n);
	for (int i = 0; i < n; i++) {
		model_read(to[i]);
		model_require(to[i][0] == from[i][0] && world.b.status[i] == DAT_DTO_SUCCESS);
	}
}

static void a_sends_two(void)
{
	send_first(2);
}

static void a_sends_three(void)
{
	send_first(3);
}

static void a_sends_two_and_waits(void)
{
	send_first(2);
	world_sleep_until(&world.a, 2);
}

static void a_sends_three_and_waits(void)
{
	send_first(3);
	world_sleep_until(&world.a, 3);
}

static void b_posts_two(void)
{
	receive_first(2);
}

static void b_posts_three(void)
{
	receive_first(3);
}

static void b_waits_for_two(void)
{
	arrived(2);
}

static void b_receives_two(void)
{
	receive_first(2);
	arrived(2);
}

static void b_receives_three(void)
{
	receive_first(3);
	arrived(3);
}

/* Checks that every request has been executed, although nobody has polled. */
static void nothing_waits(void)
{
	const struct soft_port *port = world.a.ep.port;

	model_require(atomic_load(&port->sq_done) == atomic_load(&port->sq_posted));
}

static void explore_mixes(const struct model_scenario *scenario)
{
	for (size_t i = 0; i < sizeof(mixes) / sizeof(*mixes); i++) {
		mix = &mixes[i];
		fprintf(stderr, "# %s\n", mix->name);
		world_open_processes();
		world_explore(scenario);
		world_close();
	}
}

static void two_messages_arrive_in_order(void)
{
	static const struct model_scenario scenario = {
		"two", begin, { a_sends_two_and_waits, b_receives_two }, NULL, 0, 2
	};

	explore_mixes(&scenario);
}

static void three_messages_arrive_in_order(void)
{
	static const struct model_scenario scenario = {
		"three", begin, { a_sends_three_and_waits, b_receives_three }, NULL, 0, 1
	};

	explore_mixes(&scenario);
}

static void receives_of_another_thread_are_found(void)
{
	static const struct model_scenario scenario = { "two, a poster and a waiter",
							begin,
							{ a_sends_two_and_waits, b_waits_for_two,
							  b_posts_two },
							NULL,
							0,
							1 };

	explore_mixes(&scenario);
}

static void two_messages_meet_their_receives_although_nobody_looks(void)
{
	static const struct model_scenario scenario = {
		"two, unseen", begin, { a_sends_two, b_posts_two }, nothing_waits, 0, 3
	};

	explore_mixes(&scenario);
}

static void three_messages_meet_their_receives_although_nobody_looks(void)
{
	static const struct model_scenario scenario = {
		"three, unseen", begin, { a_sends_three, b_posts_three }, nothing_waits, 0, 2
	};

	explore_mixes(&scenario);
}

/* ------------------------------------------------------------------ two endpoints, one queue */

/* Each endpoint has a receive posted, and the receiver has not polled yet. */
static void begin_two(void)
{
	begin();
	world_post_plain(&world.b, true, to[0], COOP);
	world_post_plain(&world.d, true, to[1], COOP);
}

static void sends_short_and_long(void)
{
	world_post_plain(&world.c, false, from[1], SHORT);
	world_post_plain(&world.a, false, from[0], LONG);
}

static void sends_short_and_coop(void)
{
	world_post_plain(&world.c, false, from[1], SHORT);
	world_post_plain(&world.a, false, from[0], COOP);
}

static void sends_coop_and_short(void)
{
	world_post_plain(&world.a, false, from[0], COOP);
	world_post_plain(&world.c, false, from[1], SHORT);
}

static void sends_coop_and_long(void)
{
	world_post_plain(&world.a, false, from[0], COOP);
	world_post_plain(&world.c, false, from[1], LONG);
}

static void arrive_in_order(const struct side *first, const struct side *second)
{
	world_sleep_until(&world.b, 2);
	model_require(world.ordered == 2 && world.order[0] == first && world.order[1] == second);
}

static void d_then_b(void)
{
	arrive_in_order(&world.d, &world.b);
}

static void b_then_d(void)
{
	arrive_in_order(&world.b, &world.d);
}

static void messages_of_two_endpoints_arrive_in_the_order_of_their_posts(void)
{
	static const struct model_scenario scenarios[] = {
		{ "short, long on another", begin_two, { sends_short_and_long, d_then_b }, NULL, 0, 3 },
		{ "short, cooperative on another", begin_two, { sends_short_and_coop, d_then_b }, NULL, 0, 3 },
		{ "cooperative, short on another", begin_two, { sends_coop_and_short, b_then_d }, NULL, 0, 3 },
		{ "cooperative, long on another", begin_two, { sends_coop_and_long, b_then_d }, NULL, 0, 2 },
	};

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		world_open_two();
		world_explore(&scenarios[i]);
		world_close();
	}
}

/* Endpoint b has two receives posted, and d one. */
static void begin_three(void)
{
	begin();
	world_post_plain(&world.b, true, to[0], COOP);
	world_post_plain(&world.b, true, to[1], COOP);
	world_post_plain(&world.d, true, to[2], COOP);
}

static void a_sends_short_and_long(void)
{
	world_post_plain(&world.a, false, from[0], SHORT);
	world_post_plain(&world.a, false, from[1], LONG);
}

static void c_sends_short(void)
{
	world_post_plain(&world.c, false, from[2], SHORT);
}

static void three_arrive(void)
{
	world_sleep_until(&world.b, 3);
	model_require(world.ordered == 3);
	for (int i = 0; i < MOST; i++)
		model_require(to[i][0] == from[i][0]);
}

/*
 * A sender is held up between the reservation of its cell and its publication. Behind that cell is a short message, and behind this
 * a long one, for which there is no cell since the ring is full. The poller finds it by the ready list, when it cannot take the
 * short one yet, and completes it when it has.
 */
static void long_message_without_a_cell_follows_the_short_one_before_it(void)
{
	static const struct model_scenario scenario = { "a narrow ring",
							begin_three,
							{ c_sends_short, a_sends_short_and_long,
							  three_arrive },
							NULL,
							0,
							1 };

	world_open_narrow(world_open_two);
	world_explore(&scenario);
}

/*
 * The receiver holds the execution lock while a long message and a short one of another endpoint are sent, and releases it without
 * another look. So the long one waits, its place is kept by a cell, and the short one is behind that.
 */
static void begin_with_a_place(void)
{
	_Atomic uint64_t *lock = &world.a.ep.port->exec_lock;
	uint64_t word;

	begin_two();
	word = atomic_load(lock);
	atomic_store(lock, word | SOFT_EXEC_HELD | SOFT_EXEC_TARGET);
	world_post_plain(&world.a, false, from[0], COOP);
	atomic_store(lock, word);
	world_post_plain(&world.c, false, from[1], SHORT);
}

static void a_waits_for_one(void)
{
	world_sleep_until(&world.a, 1);
}

/*
 * The receiver executes the message when its place is reached. A thread of the sender, which looks for completions, helps; the
 * receiver leaves the message to it, and it is interrupted. The short message waits nevertheless.
 */
static void place_of_a_message_that_its_sender_executes_is_waited_for(void)
{
	static const struct model_scenario scenario = { "cooperative, short on another, both sides copy",
							begin_with_a_place,
							{ b_then_d, a_waits_for_one },
							NULL,
							0,
							3 };

	world_open_two();
	world_explore(&scenario);
	world_close();
}

/* As begin_with_a_place(), but a short message of the first endpoint is queued behind the long one, with a place of its own. */
static void begin_with_two_places(void)
{
	_Atomic uint64_t *lock = &world.a.ep.port->exec_lock;
	uint64_t word;

	begin_three();
	world_post_plain(&world.b, true, to[0], COOP);
	word = atomic_load(lock);
	atomic_store(lock, word | SOFT_EXEC_HELD | SOFT_EXEC_TARGET);
	world_post_plain(&world.a, false, from[0], LONG);
	world_post_plain(&world.a, false, from[1], SHORT);
	atomic_store(lock, word);
	world_post_plain(&world.c, false, from[2], SHORT);
}

static void a_sends_one_more(void)
{
	world_post_plain(&world.a, false, from[0], SHORT);
}

static void b_b_d_then_b(void)
{
	world_sleep_until(&world.b, 4);
	model_require(world.ordered == 4 && world.order[0] == &world.b && world.order[1] == &world.b &&
		      world.order[2] == &world.d && world.order[3] == &world.b);
}

/*
 * Before its next message the sender executes the requests that wait. A message whose place a cell keeps is not sent by another
 * cell, which would come later.
 */
static void message_that_has_a_place_keeps_it(void)
{
	static const struct model_scenario scenario = { "long, short behind it, short on another, one more",
							begin_with_two_places,
							{ b_b_d_then_b, a_sends_one_more },
							NULL,
							0,
							2 };

	world_open_two();
	world_explore(&scenario);
	world_close();
}

static const struct check_test tests[] = {
	CHECK_TEST(messages_of_two_endpoints_arrive_in_the_order_of_their_posts),
	CHECK_TEST(place_of_a_message_that_its_sender_executes_is_waited_for),
	CHECK_TEST(message_that_has_a_place_keeps_it),
	CHECK_TEST(two_messages_arrive_in_order),
	CHECK_TEST(three_messages_arrive_in_order),
	CHECK_TEST(receives_of_another_thread_are_found),
	CHECK_TEST(two_messages_meet_their_receives_although_nobody_looks),
	CHECK_TEST(three_messages_meet_their_receives_although_nobody_looks),
	CHECK_TEST(long_message_without_a_cell_follows_the_short_one_before_it),
	CHECK_END
};

static const struct check_suite mixed = { .name = "soft mix model",
					  .teardown = world_close,
					  .tests = tests };

CHECK_SUITES(&mixed);
