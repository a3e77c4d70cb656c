/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer with several connections that says of each that it is copying, and never says that it has ended. The victim waits for it
 * for one bound, and not for one for each connection.
 */
#include <stdatomic.h>

#include "hostile.h"
#include "victim.h"

enum { CONNECTIONS = 16, BOUND_MS = 500, ENOUGH = 4 /* bounds; CONNECTIONS are too many */ };

static pid_t attacker;
static struct api_end ends[CONNECTIONS];

/* Holds the execution locks of all its connections, of which there is one in its memory for all of them. */
static void hold_all(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	atomic_store(&h.own.port->exec_lock, SOFT_EXEC_NEXT(0, 1) | SOFT_EXEC_HELD);
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		h.fd = -1; /* the sockets before this one stay open */
		hostile_connect(&h, where);
	}
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void connect_all(void)
{
	attacker = check_fork(hold_all, NULL);
	victim_opens_as("soft0", 4096);
	victim_tells(attacker);
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), ends[i].ep, 0, NULL), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
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

	connect_all();
	began = check_now_ms();
	api_close();
	CHECK(check_now_ms() - began < ENOUGH * BOUND_MS);
	attacker_leaves();
}

static void disconnecting_all_waits_for_one_bound(void)
{
	uint64_t began;

	connect_all();
	began = check_now_ms();
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		REQUIRE_DAT(dat_ep_disconnect(ends[i].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	CHECK(check_now_ms() - began < ENOUGH * BOUND_MS);
	victim_serves_others();
	attacker_leaves();
}

static const struct check_test tests[] = {
	CHECK_TEST(closing_waits_for_one_bound),
	CHECK_TEST(disconnecting_all_waits_for_one_bound),
	CHECK_END
};

static const struct check_suite suite = { .name = "ends with a peer that holds on", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
