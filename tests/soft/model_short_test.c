/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short RDMA writes into memory that the initiator maps, under the model checker: each is executed once, whichever side
 * looks at the queue meanwhile; and after the end of the connection or the deregistration nobody touches the memory, also if
 * the initiator dies or is stopped in the middle.
 */
#include "tests/soft/model_world.h"

#include "providers/soft/exec.h"
#include "providers/soft/send.h"

#define SHORT 8 /* only the first byte is copied */

static void open_mapped(void)
{
	world_open_pair();
	for (int n = 0; n < 3; n++)
		world.peer[n].self = false;
	atomic_store(&world.ia->mr[1].priv, DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED);
	model_watch(&world.no_region, sizeof(world.no_region), "no region");
	model_keep(&world.no_region, sizeof(world.no_region));
}

static void write_one(int i)
{
	model_write(&world.a.out[i]);
	if (!world_write(&world.a, &world.a.out[i], &world.b.in[i], SHORT))
		model_require(!"the write is plain");
}

static void a_writes(void)
{
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
		if (atomic_load(&ep->rport->sq_done) > 0)
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

static void memory_is_not_touched_by_a_side_that_continues(void)
{
	static const struct model_scenario scenario = {
		"a write, a stop, and the end", NULL, { a_writes, b_ends }, NULL, 0, 0
	};

	world.stops = true;
	world_explore(&scenario);
}

/* Deregisters the region as soft_lmr_free() does, which waits only for requests that are in the queue. */
static void b_frees(void)
{
	struct soft_ep *ep = &world.b.ep;
	uint32_t done, posted;

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

static bool write_plainly(void)
{
	return world_write(&world.a, &world.a.out[0], &world.b.in[0], SHORT);
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
	CHECK(write_plainly());
	CHECK_EQ_INT(atomic_load(&port->exec_lock) & (SOFT_EXEC_HELPED | SOFT_EXEC_HELD), SOFT_EXEC_HELPED);
	CHECK_EQ_INT(atomic_load(&port->sq_done), atomic_load(&port->sq_posted));
}

static const struct check_test tests[] = {
	CHECK_TEST(flag_of_a_late_helper_is_left_alone),
	CHECK_TEST(short_way_is_tried_where_memory_is_mapped),
	CHECK_TEST(write_is_executed_once_whoever_looks),
	CHECK_TEST(end_waits_for_a_write),
	CHECK_TEST(end_does_not_wait_for_the_dead),
	CHECK_TEST(memory_is_not_touched_by_a_side_that_continues),
	CHECK_TEST(freed_region_is_not_touched),
	CHECK_END
};

static const struct check_suite shorts = {
	.name = "soft short request model", .setup = open_mapped, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&shorts);
