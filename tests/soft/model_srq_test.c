/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared receive queue under the model checker: two connections, c to d and a to b, whose receives come from one SRQ and
 * complete on one EVD. Each posted receive completes at most once and none is lost; each message arrives once, whole, and
 * in the order of its connection; whoever posts, polls or serves meanwhile.
 */
#include "tests/soft/model_world.h"

#include <stdio.h>
#include <string.h>

#define MOST   3
#define SHORT  1
#define MIDDLE (WORLD_MIDDLE - 28)
#define LONG   5000 /* a rendezvous: the target executes it, and takes the receive */

#define BRIEF_PLANS 5 /* of the plans, those that are explored if CHECK_DEPTH=brief; the others have many states */

enum connection { AB, CD };

/* The messages that are sent, in this order, and the number of receives for them. */
static const struct plan {
	const char *name;
	int messages;
	struct {
		enum connection over;
		uint64_t length;
	} message[MOST];
	uint32_t receives;
} plans[] = {
	{ "short on each", 2, { { AB, SHORT }, { CD, SHORT } }, 2 },
	{ "short, long on another", 2, { { CD, SHORT }, { AB, LONG } }, 2 },
	{ "long, short on the same", 2, { { AB, LONG }, { AB, SHORT } }, 2 },
	{ "two short, short on another", 3, { { AB, SHORT }, { AB, SHORT }, { CD, SHORT } }, 3 },
	{ "short, short on another, a receive to spare", 2, { { AB, SHORT }, { CD, SHORT } }, 3 },
	{ "long, short on another", 2, { { AB, LONG }, { CD, SHORT } }, 2 },
	{ "long on each", 2, { { AB, LONG }, { CD, LONG } }, 2 },
	{ "long, short on another, long", 3, { { AB, LONG }, { CD, SHORT }, { AB, LONG } }, 3 },
	{ "short, middle on another, long", 3, { { AB, SHORT }, { CD, MIDDLE }, { AB, LONG } }, 3 },
};

static const struct plan *plan;
static char from[MOST][LONG], to[POSTS][LONG]; /* only the first byte of each is checked */

static void begin(void)
{
	memset(to, 0, sizeof(to));
	for (int i = 0; i < MOST; i++)
		from[i][0] = (char)(i + 5);
}

static void send_from(int first, int end)
{
	for (int i = first; i < end; i++) {
		model_write(from[i]);
		world_post_plain(plan->message[i].over == AB ? &world.a : &world.c, false, from[i],
				 plan->message[i].length);
	}
}

static void begin_with_receives(void)
{
	begin();
	for (uint32_t n = 0; n < plan->receives; n++)
		world_post_shared(to[n], LONG);
}

/* The first message has found the SRQ empty, so its endpoint waits for the service thread. */
static void begin_with_one_waiting(void)
{
	begin();
	send_from(0, 1);
	world_poll(&world.b);
}

/* ------------------------------------------------------------------ threads */

static void send_over(enum connection over)
{
	for (int i = 0; i < plan->messages; i++)
		if (plan->message[i].over == over)
			send_from(i, i + 1);
}

static void a_sends(void)
{
	send_over(AB);
}

static void c_sends(void)
{
	send_over(CD);
}

static void all_are_sent(void)
{
	send_from(0, plan->messages);
}

static void the_others_are_sent(void)
{
	send_from(1, plan->messages);
}

static void all_are_sent_and_taken(void)
{
	all_are_sent();
	world_sleep_until(&world.a, (uint32_t)plan->messages);
	world_over();
}

static void receives_are_posted(void)
{
	for (uint32_t n = 0; n < plan->receives; n++) {
		model_write(to[n]);
		world_post_shared(to[n], LONG);
	}
}

/* Checks that message `i` is the next one of its connection. */
static void came(int i, const struct side *side, uint32_t *next)
{
	uint32_t at = side->got[(*next)++];

	model_require(*next <= side->received);
	model_read(to[at]);
	model_require(to[at][0] == from[i][0]);
}

static void check_arrived(void)
{
	uint32_t next[2] = { 0, 0 };

	model_require(world.b.done == (uint32_t)plan->messages);
	for (int i = 0; i < plan->messages; i++) {
		model_require(world.b.status[i] == DAT_DTO_SUCCESS);
		came(i, plan->message[i].over == AB ? &world.b : &world.d,
		     &next[plan->message[i].over]);
	}
}

static void all_arrive(void)
{
	world_sleep_until(&world.b, (uint32_t)plan->messages);
	check_arrived();
	world_over();
}

/* If all messages are of one sender and find receives, they complete on the EVD in the order of its posts. */
static void all_arrive_in_order(void)
{
	world_sleep_until(&world.b, (uint32_t)plan->messages);
	check_arrived();
	for (int i = 0; i < plan->messages; i++)
		model_require(world.order[i] ==
			      (plan->message[i].over == AB ? &world.b : &world.d));
	world_over();
}

static void receives_are_posted_and_all_arrive(void)
{
	receives_are_posted();
	all_arrive();
}

/* ------------------------------------------------------------------ after each run */

/* Checks that each receive that was posted has completed or is still in the SRQ. */
static void none_is_lost(void)
{
	const struct soft_srq *srq = &world.shared.srq;

	model_require(srq->posted == plan->receives);
	model_require(srq->posted - srq->taken == plan->receives - world.b.done);
}

/* All sends have completed, so a poll finds their messages. If the last post has called the service thread, that runs first. */
static void none_is_lost_unseen(void)
{
	world_serve();
	for (int i = 0; i < 2 * MOST; i++)
		world_poll(&world.b);
	check_arrived();
	none_is_lost();
}

/* ------------------------------------------------------------------ scenarios */

static void explore_plans(const struct model_scenario *scenario)
{
	for (size_t i = 0; i < (check_is_brief() ? BRIEF_PLANS : sizeof(plans) / sizeof(*plans)); i++) {
		plan = &plans[i];
		fprintf(stderr, "# %s\n", plan->name);
		world_open_shared();
		world_explore(scenario);
		world_close();
	}
}

static void messages_find_their_receives_in_the_order_of_their_posts(void)
{
	static const struct model_scenario scenario = { "receives first",
							begin_with_receives,
							{ all_are_sent, all_arrive_in_order,
							  world_serve },
							none_is_lost,
							0,
							1 };

	explore_plans(&scenario);
}

static void two_senders_share_the_receives(void)
{
	static const struct model_scenario scenario = { "two senders",
							begin_with_receives,
							{ a_sends, c_sends, all_arrive,
							  world_serve },
							none_is_lost,
							0,
							1 };

	explore_plans(&scenario);
}

static void messages_wait_for_receives_of_a_poller(void)
{
	static const struct model_scenario scenario = {
		"the poller posts",
		begin,
		{ all_are_sent, receives_are_posted_and_all_arrive, world_serve },
		none_is_lost,
		0,
		1
	};

	explore_plans(&scenario);
}

static void messages_wait_for_receives_of_another_thread(void)
{
	static const struct model_scenario scenario = { "a poster and a waiter",
							begin,
							{ all_are_sent, all_arrive,
							  receives_are_posted, world_serve },
							none_is_lost,
							0,
							1 };

	explore_plans(&scenario);
}

/* The service thread takes a receive for the message that waits, while the thread that polls takes one for the next message. */
static void service_thread_and_poller_take_receives_at_once(void)
{
	static const struct model_scenario scenario = { "one waits",
							begin_with_one_waiting,
							{ the_others_are_sent, all_arrive,
							  receives_are_posted, world_serve },
							none_is_lost,
							0,
							1 };

	explore_plans(&scenario);
}

/* A send completes when its message has a receive, even if nobody polls the EVD. */
static void messages_take_their_receives_although_nobody_looks(void)
{
	static const struct model_scenario scenario = {
		"unseen",
		begin,
		{ all_are_sent_and_taken, receives_are_posted, world_serve },
		none_is_lost_unseen,
		0,
		2
	};

	explore_plans(&scenario);
}

/*
 * A sender is held up between the reservation of its cell and its publication. Behind that cell is a short message, and behind this
 * a long one, for which there is no cell since the ring is full. The poller finds it by the ready list, when it cannot take the
 * short one yet, and takes it when it has.
 */
static void long_message_without_a_cell_follows_the_short_one_before_it(void)
{
	static const struct plan late = {
		"short on another, short, long", 3, { { CD, SHORT }, { AB, SHORT }, { AB, LONG } }, 3
	};
	static const struct model_scenario scenario = { "a narrow ring",
							begin_with_receives,
							{ c_sends, a_sends, all_arrive,
							  world_serve },
							none_is_lost,
							0,
							1 };

	plan = &late;
	world_open_narrow(world_open_shared);
	world_explore(&scenario);
}

static const struct check_test tests[] = {
	CHECK_TEST(messages_find_their_receives_in_the_order_of_their_posts),
	CHECK_TEST(two_senders_share_the_receives),
	CHECK_TEST(messages_wait_for_receives_of_a_poller),
	CHECK_TEST(messages_wait_for_receives_of_another_thread),
	CHECK_TEST(service_thread_and_poller_take_receives_at_once),
	CHECK_TEST(messages_take_their_receives_although_nobody_looks),
	CHECK_TEST(long_message_without_a_cell_follows_the_short_one_before_it),
	CHECK_END
};

static const struct check_suite shared = { .name = "soft srq model",
					   .teardown = world_close,
					   .tests = tests };

CHECK_SUITES(&shared);
