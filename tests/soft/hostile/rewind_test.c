/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that says of a request of the victim that it is still to be executed, while the victim executes it or after that. The
 * victim executes it once: otherwise one call would copy the same bytes as often as the peer likes.
 *
 * The kernel copies nothing for this adapter, so the victim asks the attacker to copy each request, and the attacker counts that.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "hostile.h"
#include "victim.h"

enum { REQUESTS = 3, LEN = 1000, TIMES = 5 };

static struct seen {
	_Atomic uint32_t copies[REQUESTS]; /* how often the victim has asked for each */
	_Atomic uint32_t rewound;
	_Atomic bool over;
} *seen; /* shared with the attacker */

static pid_t attacker;

/* Says that it has copied; and during all requests but the first one, that this one and those before are still to come. */
static void answer(struct hostile *h, struct soft_mailbox *asks)
{
	REQUIRE(asks->seq < REQUESTS);
	atomic_fetch_add(&seen->copies[asks->seq], 1);
	if (asks->seq && atomic_load(&seen->rewound) < TIMES) {
		atomic_fetch_add(&seen->rewound, 1);
		hostile_claim(h, 0);
	}
	hostile_answer(asks);
}

static void rewind_while_it_copies(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_mailbox *asks;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	asks = hostile_mailbox_of_victim(&h, &h.theirs.mailbox);
	while (!atomic_load(&seen->over))
		if (atomic_load(&asks->state) == SOFT_MAILBOX_ASKED)
			answer(&h, asks);
		else
			sched_yield();
	hostile_close(&h);
}

static void connect_to_it(void)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(seen != MAP_FAILED);
	attacker = check_fork(rewind_while_it_copies, NULL);
	victim_opens_as("soft-bounce", LEN);
	victim_tells(attacker);
	victim_accepts();
}

static void each_was_executed_once(void)
{
	CHECK(atomic_load(&seen->rewound) > 0);
	for (unsigned int i = 0; i < REQUESTS; i++)
		CHECK_EQ_INT(atomic_load(&seen->copies[i]), 1);
	victim_serves_others();
	atomic_store(&seen->over, true);
	check_join(attacker);
}

static const DAT_RMR_TRIPLET there = { .rmr_context = HOSTILE_CONTEXT(1), .segment_length = LEN };

static void write_is_executed_once(void)
{
	DAT_RMR_TRIPLET to = there;

	connect_to_it();
	to.target_address = (uintptr_t)hostile_data;
	for (uint64_t i = 0; i < REQUESTS; i++) {
		REQUIRE_DAT(api_write(victim.end.ep, api_seg(&victim.buf, 0, LEN), to, i, 0), DAT_SUCCESS);
		API_DTO(victim.end.request, victim.end.ep, i, DAT_DTO_SUCCESS, LEN);
	}
	each_was_executed_once();
}

static void read_is_executed_once(void)
{
	DAT_LMR_TRIPLET into;
	DAT_RMR_TRIPLET from = there;

	connect_to_it();
	into = api_seg(&victim.buf, 0, LEN);
	from.target_address = (uintptr_t)hostile_data;
	for (uint64_t i = 0; i < REQUESTS; i++) {
		REQUIRE_DAT(dat_ep_post_rdma_read(victim.end.ep, 1, &into, api_cookie(i), &from, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_SUCCESS);
		API_DTO(victim.end.request, victim.end.ep, i, DAT_DTO_SUCCESS, LEN);
	}
	each_was_executed_once();
}

static void close_all(void)
{
	api_close();
	if (seen)
		munmap(seen, sizeof(*seen));
	seen = NULL;
}

static const struct check_test tests[] = {
	CHECK_TEST(write_is_executed_once),
	CHECK_TEST(read_is_executed_once),
	CHECK_END
};

static const struct check_suite suite = { .name = "requests set back", .teardown = close_all, .tests = tests };

CHECK_SUITES(&suite);
