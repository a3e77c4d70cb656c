/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer with several connections that says of each that it is copying, and never says that it has ended; or that has left a
 * request over each, for which it copies itself, and slowly. The victim waits for it for one bound, and not for one for each
 * connection.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "hostile.h"
#include "victim.h"

enum { CONNECTIONS = 16, BOUND_MS = 500, RELEASE_MS = 450, ENOUGH = 4 /* bounds; CONNECTIONS are too many */ };

static pid_t attacker;
static struct api_end ends[CONNECTIONS];

/* Has its connections. There is one execution lock in its memory for all of them, which it holds or does not. */
static void stay(uint64_t held)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	atomic_fetch_or(&h.own.port->exec_lock, held);
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		h.fd = -1; /* the sockets before this one stay open */
		hostile_connect(&h, where);
	}
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void hold_all(void *arg)
{
	(void)arg;
	stay(SOFT_EXEC_HELD);
}

static void only_connect(void *arg)
{
	(void)arg;
	stay(0);
}

/* ------------------------------------------------------------------ requests over all connections */

enum { EXTENT = 2 << 20, LATE_MS = 300, MOST = CONNECTIONS / 4 };

/* The victim's memory. */
struct target {
	uint64_t addr;
	uint32_t region;
};

static struct seen {
	_Atomic uint32_t answers;
	_Atomic bool over;
} *seen; /* shared with the attacker */

/* Connects with a port for this connection alone, and returns it. */
static struct soft_port *connect_with_port(struct hostile *h, uint64_t where, unsigned int i)
{
	const struct soft_ref ref = { (1ull << 33) + (uint64_t)i * EXTENT, EXTENT, 0 };
	struct soft_port *port = mmap(NULL, EXTENT, PROT_READ | PROT_WRITE, MAP_SHARED, h->own.fd, (off_t)ref.extent);
	struct soft_msg msg;

	REQUIRE(port != MAP_FAILED);
	port->open = 1;
	port->exec_lock = SOFT_EXEC_NEXT(0, 1);
	hostile_begin_request(h, where, &msg);
	msg.port_ref = ref;
	REQUIRE(hostile_say(h, &msg, sizeof(msg), true));
	REQUIRE(hostile_hear(h, &h->theirs));
	REQUIRE_EQ_INT(h->theirs.type, SOFT_MSG_REP);
	hostile_confirm(h);
	return port;
}

static void leave_requests(void *arg)
{
	struct soft_port *ports[CONNECTIONS];
	uint64_t where = victim_is_at();
	struct soft_mailbox *asks;
	struct target target;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	h.own.layout.rq_offset = sizeof(struct soft_port);
	h.own.layout.sq_offset = EXTENT / 2;
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		ports[i] = connect_with_port(&h, where, i);
	asks = hostile_mailbox_of_victim(&h, &h.theirs.mailbox);
	check_get(CHECK_PARENT, &target, sizeof(target));
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		struct soft_sqe *e = soft_port_sqe(ports[i], &h.own.layout, 0);

		*e = (struct soft_sqe){ .op = DATP_RDMA_WRITE, .n = 1, .len = 8 };
		e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, 8 };
		e->remote = (struct datp_rge){ target.region, 0, target.addr, 8 };
		atomic_store(&ports[i]->sq_posted, 1);
	}
	check_signal(CHECK_PARENT);
	while (!atomic_load(&seen->over)) {
		if (atomic_load(&asks->state) != SOFT_MAILBOX_ASKED) {
			sched_yield();
			continue;
		}
		nanosleep(&(struct timespec){ .tv_nsec = LATE_MS * 1000000L }, NULL);
		atomic_fetch_add(&seen->answers, 1);
		hostile_answer(asks);
	}
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static void connect_all(const char *adapter, void (*attack)(void *))
{
	attacker = check_fork(attack, NULL);
	victim_opens_as(adapter, 4096);
	victim_tells(attacker);
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), ends[i].ep, 0, NULL), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

static void connect_to_holder(void)
{
	connect_all("soft0", hold_all);
	/* only now: before the first connection it is found out whether the kernel copies, and not for longer than that */
	soft_ia(((struct soft_ep *)ends[0].ep)->base.obj.ia)->patience_ms = BOUND_MS;
}

static void attacker_leaves(void)
{
	check_signal(attacker);
	check_join(attacker);
}

static void closing_waits_for_one_bound(void)
{
	uint64_t began;

	connect_to_holder();
	began = check_now_ms();
	api_close();
	CHECK(check_now_ms() - began < ENOUGH * BOUND_MS);
	attacker_leaves();
}

static void disconnecting_all_waits_for_one_bound(void)
{
	uint64_t began;

	connect_to_holder();
	began = check_now_ms();
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		REQUIRE_DAT(dat_ep_disconnect(ends[i].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	CHECK(check_now_ms() - began < ENOUGH * BOUND_MS);
	victim_serves_others();
	attacker_leaves();
}

static struct soft_port *ports[CONNECTIONS]; /* the victim's, which a peer sees as well */

/*
 * Does what a peer can do: releases the execution lock of each connection when its end has been awaited for most of the bound. The
 * connections end one after the other.
 */
static void *release_late(void *arg)
{
	(void)arg;
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		while (atomic_load(&ports[i]->open))
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		nanosleep(&(struct timespec){ .tv_nsec = RELEASE_MS * 1000000L }, NULL);
		atomic_fetch_and(&ports[i]->exec_lock, ~(uint64_t)(SOFT_EXEC_HELD | SOFT_EXEC_TARGET));
	}
	return NULL;
}

static void disconnecting_does_not_wait_for_a_late_release_of_each_connection(void)
{
	pthread_t releases;
	uint64_t began;

	connect_all("soft0", only_connect);
	soft_ia(((struct soft_ep *)ends[0].ep)->base.obj.ia)->patience_ms = BOUND_MS; /* as above */
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		ports[i] = ((struct soft_ep *)ends[i].ep)->port;
		atomic_fetch_or(&ports[i]->exec_lock, SOFT_EXEC_HELD | SOFT_EXEC_TARGET);
	}
	REQUIRE(pthread_create(&releases, NULL, release_late, NULL) == 0);
	began = check_now_ms();
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		REQUIRE_DAT(dat_ep_disconnect(ends[i].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK(check_now_ms() - began < ENOUGH * BOUND_MS);
	REQUIRE(pthread_join(releases, NULL) == 0);
	victim_serves_others();
	attacker_leaves();
}

static void closing_does_not_wait_for_a_request_of_each_connection(void)
{
	struct target target;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(seen != MAP_FAILED);
	connect_all("soft-bounce", leave_requests);
	target = (struct target){ (uintptr_t)victim.buf.mem, victim.buf.rmr_context };
	check_put(attacker, &target, sizeof(target));
	check_await(attacker);
	api_close();
	CHECK(atomic_load(&seen->answers) > 0);
	CHECK(atomic_load(&seen->answers) <= MOST);
	atomic_store(&seen->over, true);
	check_join(attacker);
}

static const struct check_test tests[] = {
	CHECK_TEST(closing_waits_for_one_bound),
	CHECK_TEST(disconnecting_all_waits_for_one_bound),
	CHECK_TEST(disconnecting_does_not_wait_for_a_late_release_of_each_connection),
	CHECK_TEST(closing_does_not_wait_for_a_request_of_each_connection),
	CHECK_END
};

static const struct check_suite suite = { .name = "ends with a peer that holds on", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
