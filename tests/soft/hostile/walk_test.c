/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer with many connections that says that it holds the execution lock of each, and that it has posted very many requests.
 * Whoever frees memory or binds a window has to find out whether one of them may touch that. It looks at a limited number of
 * requests, and waits once, however many connections there are.
 *
 * The requests of the attacker lie in memory that has no pages before somebody looks at it, so the pages say how many were looked
 * at. The program defines clock_gettime() and nanosleep() in place of those of the C library: for a thread that `hurries`, only the
 * naps that it asks for make time go on. So it is known how long it has waited, however busy the machine is.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"
#include "victim.h"

enum { QUEUES = 4, POSTED = 65536, MANY = 40, LEN = 4096 };

static pid_t attacker;
static struct api_end ends[MANY];

/* ------------------------------------------------------------------ time */

static _Thread_local bool hurries;
static _Thread_local uint64_t slept_ns;
static void (*at_nap)(void); /* called once; may set the next one */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (hurries)
		*now = (struct timespec){ (time_t)(1000 + slept_ns / 1000000000), (long)(slept_ns % 1000000000) };
	return result;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	void (*call)(void);

	if (!hurries)
		return (int)syscall(SYS_nanosleep, time, left);
	slept_ns += (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
	call = at_nap;
	at_nap = NULL;
	if (call)
		call();
	return 0;
}

/* ------------------------------------------------------------------ the attacker */

static const uint32_t rq_stride = sizeof(struct soft_desc) + sizeof(struct datp_sge);
static const uint32_t sq_stride = sizeof(struct soft_sqe) + SOFT_MAX_IOV * sizeof(struct datp_sge);

/* Connects once more, with that port. */
static void connect_with(struct hostile *h, uint64_t where, uint32_t index, const struct soft_ref *port,
			 const struct soft_layout *layout)
{
	struct soft_msg msg;

	h->fd = hostile_reach(where);
	hostile_message(h, &msg, SOFT_MSG_REQ);
	msg.my_port = index;
	msg.port_ref = *port;
	msg.layout = *layout;
	msg.qual = where;
	REQUIRE(hostile_say(h, &msg, sizeof(msg), true));
	REQUIRE(hostile_hear(h, &h->theirs));
	REQUIRE_EQ_INT(h->theirs.type, SOFT_MSG_REP);
	hostile_confirm(h);
}

static void hold(struct soft_port *port, uint32_t posted)
{
	atomic_store(&port->open, 1);
	atomic_store(&port->exec_lock, SOFT_EXEC_NEXT(0, 1) | SOFT_EXEC_HELD);
	atomic_store(&port->sq_posted, posted);
}

static uint64_t bytes_of(int fd)
{
	struct stat st;

	REQUIRE(fstat(fd, &st) == 0);
	return (uint64_t)st.st_blocks * 512;
}

/* Has posted so many requests over each of a few connections. Tells how many bytes of them were looked at. */
static void post_many(void *arg)
{
	const struct soft_layout layout = { .rq_mask = 63, .rq_stride = (rq_stride + 7) & ~7u, .sq_mask = POSTED - 1,
					    .sq_stride = (sq_stride + 7) & ~7u, .rq_offset = sizeof(struct soft_port),
					    .sq_offset = 65536 };
	const uint64_t size = (layout.sq_offset + (uint64_t)POSTED * layout.sq_stride + (4 << 20)) & ~(uint64_t)((2 << 20) - 1);
	uint64_t where = victim_is_at(), before, looked;
	struct hostile h;

	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	for (uint32_t i = 0; i < QUEUES; i++) {
		const struct soft_ref port = { (uint64_t)(i + 1) << 34, size, 0 };
		struct soft_port *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, h.own.fd, (off_t)port.extent);

		REQUIRE(at != MAP_FAILED);
		hold(at, *(const uint32_t *)arg);
		connect_with(&h, where, i, &port, &layout);
	}
	before = bytes_of(h.own.fd);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	looked = bytes_of(h.own.fd) - before;
	check_put(CHECK_PARENT, &looked, sizeof(looked));
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* Has very many connections. Over each it has posted more requests than its queue holds, so they may touch anything. */
static void connect_often(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;
	struct soft_msg own;

	(void)arg;
	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	hostile_message(&h, &own, SOFT_MSG_REQ);
	hold(h.own.port, own.layout.sq_mask + 2);
	for (uint32_t i = 0; i < MANY; i++)
		connect_with(&h, where, i, &own.port_ref, &own.layout);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static void connect_on(const char *adapter, void (*attack)(void *), uint32_t posted, unsigned int times)
{
	attacker = check_fork(attack, &posted);
	victim_opens_as(adapter, LEN);
	victim_tells(attacker);
	for (unsigned int i = 0; i < times; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), ends[i].ep, 0, NULL), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	check_await(attacker);
}

/* The adapter has peer_timeout=100. */
static void connect_to(void (*attack)(void *), uint32_t posted, unsigned int times)
{
	connect_on("soft-hasty", attack, posted, times);
}

static void others_are_served(void)
{
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

/* The second bind ends the first one's binding, over a connection that the attacker has nothing to do with. */
static void bind_looks_at_a_part_of_what_a_peer_has_posted(void)
{
	static struct api_pair pair;
	DAT_LMR_TRIPLET range;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	uint64_t looked;

	connect_to(post_many, POSTED, QUEUES);
	api_pair_make(&pair, NULL);
	range = api_seg(&victim.buf, 0, LEN);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	for (uint64_t i = 0; i < 2; i++) {
		REQUIRE_DAT(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, pair.a.ep, api_cookie(i),
					 DAT_COMPLETION_DEFAULT_FLAG, &context),
			    DAT_SUCCESS);
		API_BIND(pair.a.request, rmr, i, DAT_RMR_BIND_SUCCESS);
	}
	check_signal(attacker);
	check_get(attacker, &looked, sizeof(looked));
	CHECK(looked > 0);
	CHECK(looked < (uint64_t)POSTED * sq_stride); /* less than one of the queues, of which there are four */
	REQUIRE_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	others_are_served();
}

static void free_in_a_hurry(void)
{
	struct api_buf buf = api_buf(LEN, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RETURN freed;

	slept_ns = 0;
	hurries = true;
	freed = dat_lmr_free(buf.lmr);
	hurries = false;
	REQUIRE_DAT(freed, DAT_SUCCESS);
}

static void region_is_freed_after_one_wait_for_all_connections(void)
{
	connect_to(connect_often, 0, MANY);
	free_in_a_hurry();
	CHECK(slept_ns >= 90 * 1000000);
	CHECK(slept_ns <= 120 * 1000000);
	others_are_served();
}

/* A connection goes on: the holder of its execution lock has released it, and somebody has it again. */
static void goes_on(unsigned int i)
{
	_Atomic uint64_t *lock = &((struct soft_ep *)ends[i].ep)->rport->exec_lock;

	atomic_store(lock, SOFT_EXEC_NEXT(atomic_load(lock), 1) | SOFT_EXEC_HELD);
}

static void last_one_goes_on(void)
{
	goes_on(QUEUES - 1);
}

static void others_go_on(void)
{
	for (unsigned int i = 1; i < QUEUES; i++)
		goes_on(i);
}

/* The first one goes on, and this process has not run for ten seconds. */
static void stopped(void)
{
	slept_ns += 10 * UINT64_C(1000000000);
	goes_on(0);
	at_nap = others_go_on;
}

/* It is the last one that is awaited, too. The others use up the time. */
static void connection_that_goes_on_is_not_broken_for_others(void)
{
	connect_to(post_many, POSTED + 1, QUEUES);
	at_nap = last_one_goes_on;
	free_in_a_hurry();
	for (unsigned int i = 0; i < QUEUES - 1; i++)
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_EQ_INT(api_state(ends[QUEUES - 1].ep), DAT_EP_STATE_CONNECTED);
	API_EMPTY(ends[QUEUES - 1].connect);
	check_signal(attacker);
	check_get(attacker, &(uint64_t){ 0 }, sizeof(uint64_t));
	others_are_served();
}

/* None of the peers had a chance to end its access meanwhile. */
static void time_in_which_this_process_does_not_run_counts_for_no_connection(void)
{
	connect_on("soft0", post_many, POSTED + 1, QUEUES);
	at_nap = stopped;
	free_in_a_hurry();
	for (unsigned int i = 0; i < QUEUES; i++) /* else the peer has lost its right, and the connection ends soon */
		CHECK(atomic_load(&((struct soft_ep *)ends[i].ep)->port->open));
	check_signal(attacker);
	check_get(attacker, &(uint64_t){ 0 }, sizeof(uint64_t));
	others_are_served();
}

static const struct check_test tests[] = {
	CHECK_TEST(bind_looks_at_a_part_of_what_a_peer_has_posted),
	CHECK_TEST(region_is_freed_after_one_wait_for_all_connections),
	CHECK_TEST(connection_that_goes_on_is_not_broken_for_others),
	CHECK_TEST(time_in_which_this_process_does_not_run_counts_for_no_connection),
	CHECK_END
};

static const struct check_suite suite = { .name = "very many requests of a peer", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
