/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of memory regions as a peer reads it, while its owner and executors change it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/exec.h"
#include "providers/soft/mr.h"
#include "providers/soft/quiesce.h"
#include "providers/soft/request.h"
#include "providers/soft/window.h"

#define REBINDS 1000000u
#define REGISTRATIONS 200000u
#define RIGHTS	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define PZ	3
#define QUEUED	1024u /* bytes of a port with a queue of one request */
#define CONN   5

/* Two ranges. A check that mixes the start of one with the length of the other allows an access that neither allows. */
static const struct datp_rge ranges[2] = {
	{ .addr = 0x100000, .len = 0x8000 },
	{ .addr = 0x900000, .len = 0x40 },
};

static struct {
	struct soft_ia *ia;
	struct soft_pz pz;
	struct soft_lmr lmr;
	struct soft_rmr rmr;
	struct soft_ep ep, other; /* connected, with the numbers CONN and CONN + 1 */
	_Atomic bool stop;
} t;

static void table_open(void)
{
	memset(&t, 0, sizeof(t));
	t.ia = calloc(1, sizeof(*t.ia));
	REQUIRE(t.ia != NULL);
	t.ia->ports = calloc(SOFT_PORT_MAX, sizeof(*t.ia->ports));
	REQUIRE(t.ia->ports != NULL);
	REQUIRE(soft_arena_new(&t.ia->arena) == DATP_OK);
	REQUIRE(soft_mr_init(t.ia) == DATP_OK);
	t.pz.id = PZ;
	t.ep.base.obj.ia = t.other.base.obj.ia = &t.ia->base;
	t.ep.gen = CONN;
	t.other.gen = CONN + 1;
	t.ep.open = t.other.open = true;
	t.lmr.base.obj.ia = t.rmr.base.obj.ia = &t.ia->base;
	t.lmr.base.pz = &t.pz.base;
	t.lmr.base.addr = 0x100000;
	t.lmr.base.len = 0x900000;
	t.lmr.base.priv = DAT_MEM_PRIV_ALL_FLAG;
	REQUIRE(soft_lmr_add(&t.lmr.base, 0) == DATP_OK);
	REQUIRE(soft_rmr_create(&t.rmr.base) == DATP_OK);
}

static void table_close(void)
{
	if (!t.ia)
		return;
	soft_window_close(&t.rmr);
	soft_mr_fini(t.ia);
	soft_arena_put(t.ia->arena);
	free(t.ia->ports);
	free(t.ia);
	t.ia = NULL;
}

/* A bind as it is posted; soft_mr_bind() executes it. Its record is there for the bounce thread, and for invalidations. */
static struct soft_request bind_record(const struct datp_rge *range)
{
	const struct soft_layout layout = { .sq_stride = sizeof(struct soft_sqe) };
	struct soft_sqe e = { .op = DATP_BIND,
			      .remote = { .addr = range->addr, .len = range->len },
			      .bind_priv = RIGHTS };
	const struct datp_wqe wqe = { .op = DATP_BIND, .ep = &t.ep.base };
	struct soft_request r;

	REQUIRE(soft_rmr_prepare(t.ia, &t.rmr, &wqe, &t.lmr.base, &e) == DATP_OK);
	REQUIRE(soft_request_copy(&r, &e, &layout));
	return r;
}

/* The same without the record. */
static struct soft_request bind_post(const struct datp_rge *range)
{
	struct soft_request r = bind_record(range);

	soft_window_forget(t.ia, r.remote.rmr_context);
	return r;
}

static bool allowed(uint32_t context, uint64_t addr, uint64_t len)
{
	struct datp_rge rge = { .rmr_context = context, .addr = addr, .len = len };

	return soft_mr_check_remote(t.ia->mr, PZ, &rge, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

static void *onlooker(void *arg)
{
	uint32_t index = SOFT_MR_INDEX(*(uint32_t *)arg);
	uintptr_t wrong = 0;

	while (!atomic_load_explicit(&t.stop, memory_order_relaxed)) {
		uint32_t context =
			atomic_load_explicit(&t.ia->mr[index].context, memory_order_relaxed);

		/* each of these accesses is beyond either range, and within a mixture of the two */
		wrong += context && allowed(context, ranges[1].addr, ranges[1].len + 1);
		wrong += context && allowed(context, ranges[0].addr + ranges[0].len, 1);
		wrong += context && allowed(context, ranges[1].addr - 1, 2);
	}
	return (void *)wrong;
}

static void rebind_is_never_seen_by_halves(void)
{
	struct soft_request r = bind_post(&ranges[0]);
	uint32_t context = r.remote.rmr_context;
	pthread_t thread;
	void *wrong;

	REQUIRE(pthread_create(&thread, NULL, onlooker, &context) == 0);
	for (uint32_t n = 0; n < REBINDS; n++) {
		r = bind_post(&ranges[n & 1]);
		soft_mr_bind(t.ia->mr, &r, PZ, 0);
	}
	atomic_store(&t.stop, true);
	pthread_join(thread, &wrong);
	CHECK_EQ_INT((uintptr_t)wrong, 0);
}

/*
 * Threads that stand for the executors of several endpoints, which all bind one window at the same time. There are more than
 * processors, so that they interrupt each other. In a round they make fewer binds than a window has contexts. With more, a
 * thread that was interrupted between its bind and its check might find a later bind with the same context, which is correct.
 */
enum { EXECUTORS = 4, ROUNDS = 2000, BINDS_A_ROUND = (1 << SOFT_MR_GEN_BITS) / EXECUTORS - 1 };

static pthread_barrier_t round_ends;

/* Counts the binds after which this thread's context has the range of another thread. */
static void *rebinder(void *arg)
{
	const struct datp_rge *range = arg;
	struct soft_range found;
	uintptr_t wrong = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < BINDS_A_ROUND; n++) {
			struct soft_request r = bind_post(range);

			soft_mr_bind(t.ia->mr, &r, PZ, 0);
			if (soft_mr_get(t.ia->mr, r.remote.rmr_context, &found))
				wrong += found.addr != range->addr || found.len != range->len;
		}
		pthread_barrier_wait(&round_ends);
	}
	return (void *)wrong;
}

static void window_bound_by_two_executors_at_once_is_no_mixture(void)
{
	pthread_t threads[EXECUTORS];
	struct soft_request r;
	void *wrong;

	REQUIRE(pthread_barrier_init(&round_ends, NULL, EXECUTORS) == 0);
	for (int i = 0; i < EXECUTORS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, rebinder, (void *)&ranges[i & 1]) == 0);
	for (int i = 0; i < EXECUTORS; i++) {
		pthread_join(threads[i], &wrong);
		CHECK_EQ_INT((uintptr_t)wrong, 0);
	}
	pthread_barrier_destroy(&round_ends);
	/* whichever bind was the last one, the next bind decides */
	r = bind_post(&ranges[1]);
	soft_mr_bind(t.ia->mr, &r, PZ, 0);
	CHECK(allowed(r.remote.rmr_context, ranges[1].addr, ranges[1].len));
	CHECK(!allowed(r.remote.rmr_context, ranges[1].addr, ranges[1].len + 1));
}

static void bind_gives_its_range_and_ends_the_one_before(void)
{
	struct soft_request one = bind_post(&ranges[0]), two;

	CHECK(!allowed(one.remote.rmr_context, ranges[0].addr, 1));
	soft_mr_bind(t.ia->mr, &one, PZ, 0);
	CHECK(allowed(one.remote.rmr_context, ranges[0].addr, ranges[0].len));
	CHECK(!allowed(one.remote.rmr_context, ranges[0].addr, ranges[0].len + 1));
	two = bind_post(&ranges[1]);
	soft_mr_bind(t.ia->mr, &two, PZ, 0);
	CHECK(!allowed(one.remote.rmr_context, ranges[0].addr, 1));
	CHECK(allowed(two.remote.rmr_context, ranges[1].addr, ranges[1].len));
}

/*
 * A later bind completes when no access through the binding before goes on; what goes on by its own context does not matter. The
 * generations of contexts begin anew after 2,048 binds.
 */
static void bind_awaits_no_access_by_its_own_context(void)
{
	const struct soft_layout layout = { .sq_stride = sizeof(struct soft_sqe), .sq_offset = sizeof(struct soft_port) };
	struct soft_port *ports = aligned_alloc(SOFT_LINE, 2 * QUEUED);
	uint32_t old = bind_post(&ranges[0]).remote.rmr_context;
	struct soft_peer peer = { .ia = t.ia };
	struct soft_sqe *e;
	bool here = false;

	REQUIRE(ports != NULL);
	memset(ports, 0, 2 * QUEUED);
	t.other.port = (void *)((char *)ports + QUEUED);
	t.other.rport = ports;
	t.other.rlayout = layout;
	t.other.peer = &peer;
	t.ia->ports[0] = &t.other;
	t.ia->port_next = 1;
	/* the peer executes a write of its own */
	e = soft_port_sqe(ports, &layout, 0);
	e->op = DATP_RDMA_WRITE;
	ports->sq_posted = 1;
	ports->exec_lock = SOFT_EXEC_HELD;
	for (int i = 0; i < 2 << SOFT_MR_GEN_BITS; i++) {
		uint32_t context = bind_post(&ranges[1]).remote.rmr_context;

		e->remote.rmr_context = context;
		REQUIRE(soft_mr_quiet(&t.ep, old, soft_work_mark(), false, &here));
		e->remote.rmr_context = old;
		REQUIRE(!soft_mr_quiet(&t.ep, old, soft_work_mark(), false, &here));
		old = context;
	}
	free(ports);
}

/* The process that executes a bind may be killed before it has counted that. Then the bind is reported as failed. */
static void bind_that_fails_after_its_execution_opens_nothing(void)
{
	struct soft_request r = bind_record(&ranges[0]), later;
	_Atomic uint32_t *word = &t.ia->mr[t.rmr.index].context;

	soft_mr_bind(t.ia->mr, &r, PZ, CONN);
	REQUIRE(allowed(r.remote.rmr_context, ranges[0].addr, 8));
	CHECK(!soft_rmr_done(&t.rmr.base, r.remote.rmr_context, ranges[0].len, false));
	CHECK(!allowed(r.remote.rmr_context, ranges[0].addr, 8));
	/* as if it was killed in the middle of it */
	atomic_store(word, r.remote.rmr_context | SOFT_MR_BINDING);
	CHECK(!soft_rmr_done(&t.rmr.base, r.remote.rmr_context, ranges[0].len, false));
	CHECK_EQ_INT(atomic_load(word), 0);
	/* what another bind has opened stays */
	later = bind_record(&ranges[1]);
	soft_mr_bind(t.ia->mr, &later, PZ, CONN);
	CHECK(!soft_rmr_done(&t.rmr.base, r.remote.rmr_context, ranges[0].len, false));
	CHECK(allowed(later.remote.rmr_context, ranges[1].addr, 8));
}

static void window_is_good_for_no_local_access(void)
{
	struct soft_request r = bind_post(&ranges[0]);
	struct datp_sge sge = { .addr = ranges[0].addr, .len = 8 };

	soft_mr_bind(t.ia->mr, &r, PZ, 0);
	sge.lmr_context = r.remote.rmr_context;
	CHECK_EQ_INT(soft_mr_check_iov(t.ia->mr, PZ, &sge, 1, false), DATP_ERR_PRIV_READ);
	sge.lmr_context = t.lmr.base.lmr_context;
	CHECK_EQ_INT(soft_mr_check_iov(t.ia->mr, PZ, &sge, 1, false), DATP_OK);
}

static void bind_that_waited_while_its_window_was_freed_comes_to_nothing(void)
{
	struct soft_request r = bind_post(&ranges[0]);

	soft_rmr_free(&t.rmr.base);
	soft_mr_bind(t.ia->mr, &r, PZ, 0);
	CHECK(!allowed(r.remote.rmr_context, ranges[0].addr, 1));
}

static void window_onto_a_region_that_is_freed_is_shut(void)
{
	struct soft_request r = bind_post(&ranges[0]);

	soft_mr_bind(t.ia->mr, &r, PZ, 0);
	CHECK(allowed(r.remote.rmr_context, ranges[0].addr, 1));
	soft_lmr_free(&t.lmr.base);
	CHECK(!allowed(r.remote.rmr_context, ranges[0].addr, 1));
}

static uint32_t invalidable(bool program_has)
{
	struct soft_request r;

	t.ia->invalidable = program_has;
	r = bind_record(&ranges[0]);
	soft_mr_bind(t.ia->mr, &r, PZ, CONN);
	CHECK(allowed(r.remote.rmr_context, ranges[0].addr, 1));
	return r.remote.rmr_context;
}

/* The executor, on either side, looks at the table that peers see. */
static void executor_invalidates_what_was_bound_over_its_connection(void)
{
	uint32_t context = invalidable(true);

	CHECK(!soft_mr_invalidate(t.ia->mr, context, CONN + 1));
	CHECK(!soft_mr_invalidate(t.ia->mr, context + 1, CONN));
	CHECK(!soft_mr_invalidate(t.ia->mr, t.lmr.base.rmr_context, CONN));
	CHECK(!soft_mr_invalidate(t.ia->mr, 0, CONN) && !soft_mr_invalidate(t.ia->mr, UINT32_MAX, CONN));
	CHECK(allowed(context, ranges[0].addr, 1));
	CHECK(soft_mr_invalidate(t.ia->mr, context, CONN));
	CHECK(!allowed(context, ranges[0].addr, 1));
	CHECK(!soft_mr_invalidate(t.ia->mr, context, CONN));
	context = invalidable(false);
	CHECK(!soft_mr_invalidate(t.ia->mr, context, CONN));
}

/* The owner believes neither that table nor the message: it has a record of what it has bound, and over what. */
static void owner_believes_only_what_the_peer_was_given(void)
{
	uint32_t context = invalidable(true);
	struct soft_range range;
	struct datp_rmr *rmr;

	CHECK(!soft_window_invalidate(&t.other, context, &rmr) && !rmr);
	t.ep.gen = CONN + 2;
	CHECK(!soft_window_invalidate(&t.ep, context, &rmr) && !rmr);
	t.ep.gen = CONN;
	CHECK(!soft_window_invalidate(&t.ep, t.lmr.base.rmr_context, &rmr) && !rmr);
	CHECK(!soft_window_invalidate(&t.ep, 0, &rmr) && !soft_window_invalidate(&t.ep, UINT32_MAX, &rmr));
	CHECK(allowed(context, ranges[0].addr, 1) && soft_window_get(t.ia, context, &range));
	/* this ends the binding, also if no executor has */
	CHECK(soft_window_invalidate(&t.ep, context, &rmr) && rmr == &t.rmr.base);
	CHECK(!allowed(context, ranges[0].addr, 1) && !soft_window_get(t.ia, context, &range));
	/* not again before the program has been told; then there is nothing left to end */
	CHECK(!soft_window_invalidate(&t.ep, context, &rmr) && !soft_window_invalidate(&t.other, context, &rmr) && !rmr);
	soft_window_quiesced(t.ia, context);
	CHECK(soft_window_invalidate(&t.ep, context, &rmr) && !rmr);
	context = invalidable(false);
	CHECK(!soft_window_invalidate(&t.ep, context, &rmr) && allowed(context, ranges[0].addr, 1));
	soft_window_close(&t.rmr);
}

static void sink_of_a_read_is_what_its_window_is_bound_to(void)
{
	uint32_t context = invalidable(false);
	struct datp_sge sge = { .lmr_context = t.lmr.base.lmr_context, .addr = ranges[0].addr, .len = ranges[0].len };

	CHECK(soft_mr_check_sink(t.ia->mr, PZ, context, &sge));
	CHECK(!soft_mr_check_sink(t.ia->mr, PZ + 1, context, &sge));
	CHECK(!soft_mr_check_sink(t.ia->mr, PZ, t.lmr.base.lmr_context, &sge));
	sge.len++;
	CHECK(!soft_mr_check_sink(t.ia->mr, PZ, context, &sge));
	sge.len--;
	sge.lmr_context++;
	CHECK(!soft_mr_check_sink(t.ia->mr, PZ, context, &sge));
	sge.lmr_context--;
	t.ia->mr[SOFT_MR_INDEX(context)].priv = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	CHECK(!soft_mr_check_sink(t.ia->mr, PZ, context, &sge));
	soft_window_close(&t.rmr);
}

/* Returns the index that the next region or window will have. */
static uint32_t next_index(void)
{
	const struct soft_index_pool *pool = &t.ia->mr_pool;

	return pool->count > 4096 ? pool->freed[pool->head] : atomic_load(&t.ia->mr_used);
}

#define LEFT_CONTEXT(index) ((index) << SOFT_MR_GEN_BITS | 2047u)

/* A peer has written there, before the entry is used: the first range, with all rights, under this context. */
static void peer_writes_entry(uint32_t index, uint32_t context)
{
	struct soft_mr *mr = &t.ia->mr[index];

	atomic_store(&mr->addr, ranges[0].addr);
	atomic_store(&mr->len, ranges[0].len);
	atomic_store(&mr->priv, RIGHTS);
	atomic_store(&mr->pz, PZ);
	atomic_store(&mr->context, context);
}

static void what_a_peer_left_in_an_unused_entry_stops_no_bind(void)
{
	uint32_t index = next_index();
	struct soft_request r;

	peer_writes_entry(index, SOFT_MR_BINDING);
	REQUIRE(soft_rmr_create(&t.rmr.base) == DATP_OK);
	REQUIRE_EQ_INT(t.rmr.index, index);
	r = bind_post(&ranges[1]);
	soft_mr_bind(t.ia->mr, &r, PZ, 0);
	CHECK(allowed(r.remote.rmr_context, ranges[1].addr, ranges[1].len));
}

static void what_a_peer_left_in_an_unused_entry_is_no_window(void)
{
	uint32_t index = next_index();

	peer_writes_entry(index, LEFT_CONTEXT(index));
	CHECK(allowed(LEFT_CONTEXT(index), ranges[0].addr, 1));
	REQUIRE(soft_rmr_create(&t.rmr.base) == DATP_OK);
	REQUIRE_EQ_INT(t.rmr.index, index);
	CHECK(!allowed(LEFT_CONTEXT(index), ranges[0].addr, 1));
}

static _Atomic uint32_t used_next;

/* Looks for the start of the new region together with the length that the peer left. */
static void *registration_watcher(void *arg)
{
	uintptr_t wrong = 0;

	(void)arg;
	while (!atomic_load_explicit(&t.stop, memory_order_relaxed)) {
		uint32_t index = atomic_load_explicit(&used_next, memory_order_relaxed);

		wrong += index && allowed(LEFT_CONTEXT(index), ranges[1].addr, ranges[1].len + 1);
	}
	return (void *)wrong;
}

static void region_is_never_seen_with_what_a_peer_left_in_its_entry(void)
{
	struct soft_lmr lmr = t.lmr;
	pthread_t thread;
	void *wrong;

	lmr.base.addr = ranges[1].addr;
	lmr.base.len = ranges[1].len;
	REQUIRE(pthread_create(&thread, NULL, registration_watcher, NULL) == 0);
	for (uint32_t n = 0; n < REGISTRATIONS; n++) {
		uint32_t index = next_index();

		peer_writes_entry(index, LEFT_CONTEXT(index));
		atomic_store(&used_next, index);
		REQUIRE(soft_lmr_add(&lmr.base, 0) == DATP_OK);
		REQUIRE_EQ_INT(SOFT_MR_INDEX(lmr.base.lmr_context), index);
		soft_lmr_free(&lmr.base);
	}
	atomic_store(&t.stop, true);
	pthread_join(thread, &wrong);
	CHECK_EQ_INT((uintptr_t)wrong, 0);
}

static void context_is_not_used_again_soon(void)
{
	struct soft_lmr lmr = t.lmr;
	uint32_t first;

	REQUIRE(soft_lmr_add(&lmr.base, 0) == DATP_OK);
	first = lmr.base.lmr_context;
	for (int i = 0; i < 100000; i++) {
		soft_lmr_free(&lmr.base);
		REQUIRE(soft_lmr_add(&lmr.base, 0) == DATP_OK);
		REQUIRE(lmr.base.lmr_context != first);
		REQUIRE(lmr.base.lmr_context && lmr.base.lmr_context < 1u << 31);
	}
	/* the entries have been reused, so the table has not grown */
	CHECK(t.ia->mr_used < 10000);
	soft_lmr_free(&lmr.base);
}

static void garbage_is_no_context(void)
{
	static const uint32_t garbage[] = { 0, 1, 2047, 2048, 0x7fffffff, 0x80000000, 0xffffffff };

	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++)
		CHECK(!allowed(garbage[i], ranges[0].addr, 1));
	CHECK(allowed(t.lmr.base.rmr_context, t.lmr.base.addr, t.lmr.base.len));
	CHECK(!allowed(t.lmr.base.rmr_context, t.lmr.base.addr, UINT64_MAX));
	CHECK(!allowed(t.lmr.base.rmr_context, UINT64_MAX, 2));
	CHECK(!allowed(t.lmr.base.rmr_context, t.lmr.base.addr - 1, 2));
	CHECK(!allowed(t.lmr.base.rmr_context, t.lmr.base.addr + t.lmr.base.len, 1));
}

static const struct check_test tests[] = {
	CHECK_TEST(rebind_is_never_seen_by_halves),
	CHECK_TEST(window_bound_by_two_executors_at_once_is_no_mixture),
	CHECK_TEST(bind_gives_its_range_and_ends_the_one_before),
	CHECK_TEST(bind_awaits_no_access_by_its_own_context),
	CHECK_TEST(bind_that_fails_after_its_execution_opens_nothing),
	CHECK_TEST(window_is_good_for_no_local_access),
	CHECK_TEST(bind_that_waited_while_its_window_was_freed_comes_to_nothing),
	CHECK_TEST(window_onto_a_region_that_is_freed_is_shut),
	CHECK_TEST(executor_invalidates_what_was_bound_over_its_connection),
	CHECK_TEST(owner_believes_only_what_the_peer_was_given),
	CHECK_TEST(sink_of_a_read_is_what_its_window_is_bound_to),
	CHECK_TEST(what_a_peer_left_in_an_unused_entry_stops_no_bind),
	CHECK_TEST(what_a_peer_left_in_an_unused_entry_is_no_window),
	CHECK_TEST(region_is_never_seen_with_what_a_peer_left_in_its_entry),
	CHECK_TEST(context_is_not_used_again_soon),
	CHECK_TEST(garbage_is_no_context),
	CHECK_END
};

static const struct check_suite mr = {
	.name = "mr", .setup = table_open, .teardown = table_close, .tests = tests
};

CHECK_SUITES(&mr);
