/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker names a word in memory under userfaultfd(2) as the one by which the victim finds out whether it may copy. The fault
 * does not end, and the victim serves others meanwhile; the attacker's own request or answer waits no longer than the bound.
 */
#include <string.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

enum { SOCKETS = 3 };

static pid_t attacker;
static struct hostile h[SOCKETS]; /* the attacker's */

/* ------------------------------------------------------------------ the attacker */

/* Sets the trap, and tells the victim whether there is one. */
static bool trap_is_set(void)
{
	for (int i = 0; i < SOCKETS; i++) {
		hostile_make(&h[i], HOSTILE_GOOD, HOSTILE_NO_BELL);
		h[i].probe = (uintptr_t)trap_at();
	}
	return trap_set_and_tell();
}

static void trap_ends(void)
{
	check_await(CHECK_PARENT);
	trap_release();
	check_await(CHECK_PARENT);
	for (int i = 0; i < SOCKETS; i++)
		hostile_close(&h[i]);
}

/* The private data are the number of the request. */
static void request(int i, uint64_t qual)
{
	struct soft_msg msg;

	hostile_begin_request(&h[i], qual, &msg);
	msg.pdata_len = 1;
	msg.pdata[0] = (unsigned char)i;
	REQUIRE(hostile_say(&h[i], &msg, sizeof(msg), true));
}

static void request_by_trap(void *arg)
{
	uint64_t qual = victim_is_at();

	(void)arg;
	if (!trap_is_set())
		return;
	request(0, qual);
	trap_await();
	check_signal(CHECK_PARENT);
	/* this one does not keep a second thread of the victim */
	check_await(CHECK_PARENT);
	request(1, qual);
	trap_ends();
}

static void request_by_trap_often(void *arg)
{
	uint64_t qual = victim_is_at();

	(void)arg;
	if (!trap_is_set())
		return;
	for (int i = 0; i < SOCKETS; i++)
		request(i, qual);
	trap_await();
	check_signal(CHECK_PARENT);
	trap_ends();
}

static void answer_by_trap(void *arg)
{
	uint64_t qual = victim_is_at();

	(void)arg;
	if (!trap_is_set())
		return;
	hostile_listen(&h[0], qual);
	check_signal(CHECK_PARENT);
	hostile_await_request(&h[0]);
	hostile_accept(&h[0]);
	trap_await();
	check_signal(CHECK_PARENT);
	trap_ends();
}

/* ------------------------------------------------------------------ the victim */

static void attack_begins(void (*attack)(void *arg), const char *adapter)
{
	attacker = check_fork(attack, NULL);
	victim_opens_as(adapter, 4096);
	if (attack == answer_by_trap)
		victim.qual = api_free_qual(victim.cr_evd);
	victim_tells(attacker);
	trap_need(attacker);
	check_await(attacker);
}

/* The fault has not ended when the adapter is closed. */
static void attack_ends(void)
{
	api_close();
	check_signal(attacker);
	check_signal(attacker);
	check_join(attacker);
}

static int next_request(void)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr = api_cr(victim.cr_evd);
	int i;

	REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	i = *(const unsigned char *)param.private_data;
	REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
	return i;
}

static void others_are_served_while_a_request_waits(void)
{
	unsigned int before;

	attack_begins(request_by_trap, "soft-hasty");
	victim_serves_others();
	CHECK_EQ_INT(next_request(), 0);
	before = victim_threads();
	check_signal(attacker);
	CHECK_EQ_INT(next_request(), 1);
	CHECK_EQ_INT(victim_threads(), before);
	attack_ends();
}

static void others_are_served_while_an_answer_waits(void)
{
	attack_begins(answer_by_trap, "soft-hasty");
	REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
	check_await(attacker);
	victim_serves_others();
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	attack_ends();
}

static void requests_of_one_process_arrive_in_order(void)
{
	unsigned int before = victim_threads();

	attack_begins(request_by_trap_often, api_ia_name());
	victim_serves_others();
	API_EMPTY(victim.cr_evd);
	CHECK(victim_threads() <= before + 4);
	check_signal(attacker);
	for (int i = 0; i < SOCKETS; i++)
		CHECK_EQ_INT(next_request(), i);
	check_signal(attacker);
	api_close();
	check_join(attacker);
}

static void close_does_not_wait_for_the_attacker(void)
{
	attack_begins(request_by_trap_often, api_ia_name());
	attack_ends();
}

static const struct check_test tests[] = {
	CHECK_TEST(others_are_served_while_a_request_waits),
	CHECK_TEST(others_are_served_while_an_answer_waits),
	CHECK_TEST(requests_of_one_process_arrive_in_order),
	CHECK_TEST(close_does_not_wait_for_the_attacker),
	CHECK_END
};

static const struct check_suite suite = { .name = "attacker whose memory holds up the question whether to copy",
					  .teardown = api_close,
					  .tests = tests };

CHECK_SUITES(&suite);
