/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short RDMA writes into memory that the initiator maps, under the model checker, to a region that is noted in soft_ep.near and to
 * one that is not: each is executed once, whichever side looks at the queue meanwhile; and after the end of the connection or
 * the deregistration nobody touches the memory, also if the initiator dies or is stopped in the middle.
 */
#include "tests/soft/model_world.h"

#include "providers/soft/exec.h"
#include "providers/soft/send.h"
#include "providers/soft/share.h"
#include "tests/soft/model_share.h"

#define SHORT 8 /* only the first byte is copied */

static bool noted;	      /* the region was noted before the scenario began */
static struct soft_mr own[2];
static struct soft_share share; /* b's memory, as a has mapped it */

static void map(void)
{
	struct soft_peer *peer = world.a.ep.peer;
	struct soft_share *_Atomic *bucket = &peer->shares[1 % SOFT_SHARE_BUCKETS];

	share = (struct soft_share){ .context = atomic_load(&world.ia->mr[1].context),
				     .addr = (uintptr_t)&world.b,
				     .len = sizeof(world.b),
				     .writable = true,
				     .at = (unsigned char *)&world.b };
	atomic_store(bucket, &share);
	world.ia->peers = peer;
	model_watch(bucket, sizeof(*bucket), "shares");
	model_watch(&share.next, sizeof(share.next), "next share");
	model_watch(&peer->share_ends, sizeof(peer->share_ends), "share_ends");
	model_keep(peer, sizeof(*peer));
	model_keep(&share, sizeof(share));
	model_keep(&world.ia->shares_wait, sizeof(world.ia->shares_wait));
	model_keep(&world.gone, sizeof(world.gone));
}

void model_unmap(const void *at)
{
	(void)at;
	world.gone = &world.b.in[0];
}

static void open_mapped(void)
{
	noted = false;
	world_open_pair();
	for (int n = 0; n < 3; n++)
		world.peer[n].self = false;
	atomic_store(&world.ia->mr[1].priv, DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED);
	/* the scenarios end b's region; that of the segments of a stays */
	memcpy(own, world.ia->mr, sizeof(own));
	world.ia->own = own;
	model_watch(&world.no_region, sizeof(world.no_region), "no region");
	model_keep(&world.no_region, sizeof(world.no_region));
	model_watch(&world.ia->mr[1].context, sizeof(world.ia->mr[1].context), "context");
	model_keep(&world.ia->mr[1], sizeof(world.ia->mr[1]));
	map();
}

static void write_before(void)
{
	REQUIRE(world_write(&world.a, &world.a.out[0], &world.b.in[0], SHORT, DAT_COMPLETION_SUPPRESS_FLAG));
	REQUIRE(!world.a.done); /* the scenarios count from here */
}

/* The region of the next write is noted. */
static void open_noted(void)
{
	open_mapped();
	write_before();
	write_before();
	noted = true;
	REQUIRE(world.a.ep.near.rights);
}

static void write_one(int i)
{
	model_write(&world.a.out[i]);
	if (!world_write(&world.a, &world.a.out[i], &world.b.in[i], SHORT, 0))
		model_require(!"the write is plain");
}

static bool write_plainly(void)
{
	return world_write(&world.a, &world.a.out[0], &world.b.in[0], SHORT, 0);
}

/* Writes until it finds that the connection or the region has ended, but no more than twice. */
static void a_writes(void)
{
	for (uint32_t i = 0; i < 2 && world.a.done == i && (!i || world.a.status[0] == DAT_DTO_SUCCESS); i++)
		write_one(0);
}

/*
 * The buffer belongs to the program again when the write is complete. If the target holds the execution lock it may
 * execute the write, and its initiator finds the completion when it polls.
 */
static void a_writes_two(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		write_one((int)i);
		world_sleep_until(&world.a, i + 1);
		model_require(world.a.done == i + 1 && world.a.status[i] == DAT_DTO_SUCCESS);
		model_write(&world.a.out[i]);
	}
}

/* Looks at the peer's requests as a receiver does, without a message, and uses what has arrived. */
static void b_looks(void)
{
	struct soft_ep *ep = &world.b.ep;

	for (int i = 0; i < 2; i++) {
		datp_lock(&ep->base.lock);
		soft_exec_run(ep, false);
		datp_unlock(&ep->base.lock);
		if (atomic_load(&ep->rport->sq_done) > (noted ? 2 : 0))
			model_write(&world.b.in[0]);
	}
}

static void all_is_done(void)
{
	const struct soft_port *port = world.a.ep.port;

	model_require(atomic_load(&port->sq_done) == atomic_load(&port->sq_posted));
	model_require(!(atomic_load(&port->exec_lock) & SOFT_EXEC_HELD));
	for (int i = 0; i < 2; i++)
		model_require(world.b.in[i] == world.a.out[i]);
}

static void write_is_executed_once_whoever_looks(void)
{
	static const struct model_scenario scenario = {
		"two writes, and the target looks", NULL, { a_writes_two, b_looks }, all_is_done, 0, 3
	};

	world_explore(&scenario);
}

/* Ends the connection as soft_ep_end() does. After that nobody may access the buffer. */
static void b_ends(void)
{
	struct soft_ep *ep = &world.b.ep;

	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
	soft_exec_wait(ep, ep->port, ep->peer, NULL, 0);
	model_write(&world.b.in[0]);
}

static void end_waits_for_a_write(void)
{
	static const struct model_scenario scenario = { "a write, and the end", NULL, { a_writes, b_ends }, NULL, 0, 0 };

	world_explore(&scenario);
}

static void end_does_not_wait_for_the_dead(void)
{
	static const struct model_scenario scenario = {
		"a write, a death, and the end", NULL, { a_writes, b_ends }, NULL, 1, 0
	};

	world.lost = true;
	world_explore(&scenario);
}

/* Side a writes, and may be stopped at any step and continue at any later one; side b does what `b` does. */
static void write_is_stopped(const char *name, void (*b)(void))
{
	const struct model_scenario scenario = { name, NULL, { a_writes, b }, NULL, 0, 0 };

	world.stops = true;
	world_explore(&scenario);
}

static void memory_is_not_touched_by_a_side_that_continues(void)
{
	write_is_stopped("a write, a stop, and the end", b_ends);
}

/* Deregisters the region as soft_lmr_free() does, which waits only for requests that are in the queue. */
static void b_frees(void)
{
	struct soft_ep *ep = &world.b.ep;
	uint32_t done, posted;

	(void)atomic_exchange(&world.ia->mr[1].context, 0);
	(void)atomic_exchange(&world.no_region, 1);
	if (atomic_load(&ep->rport->exec_lock) & SOFT_EXEC_HELD) {
		done = atomic_load(&ep->rport->sq_done);
		posted = atomic_load(&ep->rport->sq_posted);
		if (posted != done)
			soft_exec_wait(ep, ep->rport, ep->peer, &posted, 0);
	}
	model_write(&world.b.in[0]);
}

static void freed_region_is_not_touched(void)
{
	static const struct model_scenario scenario = {
		"a write, and its region is freed", NULL, { a_writes, b_frees }, NULL, 0, 0
	};

	world_explore(&scenario);
}

/*
 * The same with a bound, as quiesce.c has it: when three quarters of it have passed, b takes the right away that a has, and waits
 * for the piece under way, for the rest of the bound at most. Then the buffer is b's, whenever a continues.
 */
static void b_frees_and_revokes(void)
{
	struct soft_ep *ep = &world.b.ep;
	uint32_t posted;

	(void)atomic_exchange(&world.ia->mr[1].context, 0);
	(void)atomic_exchange(&world.no_region, 1);
	if (atomic_load(&ep->rport->exec_lock) & SOFT_EXEC_HELD) {
		posted = atomic_load(&ep->rport->sq_posted);
		if (posted != atomic_load(&ep->rport->sq_done) && !soft_exec_wait(ep, ep->rport, ep->peer, &posted, 0)) {
			atomic_store(&ep->port->open, 0); /* as soft_ep_revoke_locked() */
			(void)soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
		}
	}
	model_write(&world.b.in[0]);
}

static void freed_region_is_not_touched_by_a_side_that_continues(void)
{
	write_is_stopped("a write, a stop, and its region is freed", b_frees_and_revokes);
}

/*
 * The region is freed, and its entry becomes that of a window, which has its context after many binds. The peer says that the
 * window is one onto the region that was freed, whose mapping is still there.
 */
static void window_with_the_context_of_a_region_is_not_noted(void)
{
	atomic_store(&world.ia->mr[1].lmr, atomic_load(&world.ia->mr[1].context));
	for (int i = 0; i < 3; i++) {
		CHECK(world_write(&world.a, &world.a.out[0], &world.b.in[0], SHORT, DAT_COMPLETION_SUPPRESS_FLAG));
		CHECK(!world.a.ep.near.rights);
	}
	soft_shares_sweep(world.ia);
	CHECK(world.gone != NULL);
}

/* What this side knows of its requests counts, not what a peer has written into the port. */
static void count_that_a_peer_has_written_is_put_right(void)
{
	struct soft_port *port = world.a.ep.port;
	uint32_t done = atomic_load(&port->sq_done);

	atomic_store(&port->sq_done, done + 3);
	atomic_store(&port->sq_posted, done - 3);
	CHECK(write_plainly());
	CHECK_EQ_INT(atomic_load(&port->sq_done), done + 1);
	CHECK_EQ_INT(atomic_load(&port->sq_posted), done + 1);
}

/* ---- the sweep: a's service thread unmaps what b has freed */

static _Atomic uint32_t freed;

/* b frees its region, wakes a, and then writes into its table that the region lives: from then on a is right to find it. */
static void b_frees_and_revives(void)
{
	uint32_t context = atomic_exchange(&world.ia->mr[1].context, 0);

	atomic_store_explicit(&freed, 1, memory_order_release);
	atomic_store(&world.ia->mr[1].context, context);
}

static void a_sweeps(void)
{
	if (!atomic_load_explicit(&freed, memory_order_acquire))
		return;
	soft_shares_sweep(world.ia);
	(void)soft_shares_again(world.ia);
}

/* A write that the mapping serves is over before that goes; and none begins afterwards, though b says that the region lives. */
static void mapping_that_goes_is_not_used(void)
{
	static const struct model_scenario scenario = {
		"two writes, and a sweep", NULL, { a_writes, b_frees_and_revives, a_sweeps }, NULL, 0, 6
	};

	model_watch(&freed, sizeof(freed), "freed");
	model_keep(&freed, sizeof(freed));
	model_watch(&world.a.ep.at_work, sizeof(world.a.ep.at_work), "at_work");
	world_explore(&scenario);
}

/* The first of the two writes notes the region, which the sweep may be taking out at that time. */
static void mapping_that_goes_is_not_noted(void)
{
	write_before();
	REQUIRE(!world.a.ep.near.rights);
	mapping_that_goes_is_not_used();
}

/* Posts a write by the general way. */
static void write_generally(void)
{
	struct datp_ep *ep = &world.a.ep.base;
	struct datp_wqe *wqe = &ep->sq.ring[ep->sq.posted & ep->sq.mask];
	struct datp_sge sge = { .lmr_context = atomic_load(&world.ia->mr[1].context),
				.addr = (uintptr_t)&world.a.out[0],
				.len = SHORT };
	struct datp_rge remote = { .rmr_context = sge.lmr_context, .addr = (uintptr_t)&world.b.in[0], .len = SHORT };

	*wqe = (struct datp_wqe){ .ep = ep, .seq = ep->sq.posted++, .op = DATP_RDMA_WRITE, .len = SHORT };
	CHECK(soft_post_rdma_write(ep, wqe, &sge, 1, &remote) == DATP_OK);
	CHECK_EQ_INT(ep->sq.finished, ep->sq.posted);
}

/*
 * A short write that finds its memory unmapped has taken the execution lock in vain. So soft_ep.maps, which each request over
 * the general way sets, says whether the short way is tried.
 */
static void short_way_is_tried_where_memory_is_mapped(void)
{
	struct soft_mr *mr = &world.ia->mr[1];

	CHECK(write_plainly());
	atomic_store(&mr->priv, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!write_plainly());
	CHECK(atomic_load(&world.a.ep.maps));
	write_generally();
	CHECK(!atomic_load(&world.a.ep.maps));
	atomic_store(&mr->priv, DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED);
	CHECK(!write_plainly());
	write_generally();
	CHECK(write_plainly());
}

/* The helper of an earlier copy resets its flag itself, so that a later holder neither waits for it nor leaves the lock to it. */
static void flag_of_a_late_helper_is_left_alone(void)
{
	struct soft_port *port = world.a.ep.port;

	atomic_store(&port->exec_lock, atomic_load(&port->exec_lock) | SOFT_EXEC_HELPED);
	world.a.ep.silent = 1;
	CHECK(write_plainly());
	CHECK_EQ_INT(world.a.ep.silent, 0);
	CHECK_EQ_INT(atomic_load(&port->exec_lock) & (SOFT_EXEC_HELPED | SOFT_EXEC_HELD), SOFT_EXEC_HELPED);
	CHECK_EQ_INT(atomic_load(&port->sq_done), atomic_load(&port->sq_posted));
}

/* A send waits for a receive in the queue, whose first free entry is not the one behind what has completed. */
static void write_does_not_overtake_what_waits(void)
{
	const struct soft_ep *ep = &world.a.ep;

	world_post(&world.a, false, &world.a.out[0], SHORT);
	REQUIRE(ep->base.sq.finished != ep->base.sq.posted);
	CHECK(!write_plainly());
}

static void write_after_a_failure_is_not_executed(void)
{
	world.a.ep.failing = true;
	CHECK(!write_plainly());
}

static const struct check_test tests[] = {
	CHECK_TEST(write_does_not_overtake_what_waits),
	CHECK_TEST(write_after_a_failure_is_not_executed),
	CHECK_TEST(flag_of_a_late_helper_is_left_alone),
	CHECK_TEST(short_way_is_tried_where_memory_is_mapped),
	CHECK_TEST(write_is_executed_once_whoever_looks),
	CHECK_TEST(end_waits_for_a_write),
	CHECK_TEST(end_does_not_wait_for_the_dead),
	CHECK_TEST(memory_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(freed_region_is_not_touched),
	CHECK_TEST(freed_region_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(mapping_that_goes_is_not_used),
	CHECK_TEST(mapping_that_goes_is_not_noted),
	CHECK_END
};

static const struct check_test noted_tests[] = {
	CHECK_TEST(write_does_not_overtake_what_waits),
	CHECK_TEST(write_after_a_failure_is_not_executed),
	CHECK_TEST(flag_of_a_late_helper_is_left_alone),
	CHECK_TEST(window_with_the_context_of_a_region_is_not_noted),
	CHECK_TEST(count_that_a_peer_has_written_is_put_right),
	CHECK_TEST(write_is_executed_once_whoever_looks),
	CHECK_TEST(end_waits_for_a_write),
	CHECK_TEST(end_does_not_wait_for_the_dead),
	CHECK_TEST(memory_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(freed_region_is_not_touched),
	CHECK_TEST(freed_region_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(mapping_that_goes_is_not_used),
	CHECK_END
};

static const struct check_suite shorts = {
	.name = "soft short request model", .setup = open_mapped, .teardown = world_close, .tests = tests
};
static const struct check_suite noted_shorts = {
	.name = "the same to a noted region", .setup = open_noted, .teardown = world_close, .tests = noted_tests
};

CHECK_SUITES(&shorts, &noted_shorts);
