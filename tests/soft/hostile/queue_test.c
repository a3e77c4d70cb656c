/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that changes the number of requests in the victim's queue: some are hidden, or there are some that the victim has not
 * posted. What the victim decides by the number of its requests, it decides by its own count: a disconnect that has nothing to
 * wait for ends, and a request that cannot complete any more ends the connection.
 */
#include <string.h>

#include "api.h"
#include "hostile.h"
#include "victim.h"

enum { SIZE = 1 << 20 }; /* of a message that waits for a receive on any adapter */

static pid_t attacker;

/* The attacker posts no receives, so a request of the victim waits, until the attacker writes that no request is posted. */
static void miscount(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	hostile_miscount(&h, (uint32_t)*(const int *)arg);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void connect_on(const char *adapter, int more)
{
	attacker = check_fork(miscount, &more);
	victim_opens_as(adapter, SIZE);
	victim_tells(attacker);
	victim_accepts();
}

static void let_it_miscount(void)
{
	check_signal(attacker);
	check_await(attacker);
}

static void others_are_served(void)
{
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

static void send_one(uint64_t cookie)
{
	REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, SIZE, cookie, 0), DAT_SUCCESS);
}

static void hidden_request_of_a_strict_adapter_ends_the_connection(void)
{
	connect_on("soft-strict", -1);
	send_one(1);
	let_it_miscount();
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	others_are_served();
}

static void disconnect_does_not_wait_for_a_request_that_was_not_posted(void)
{
	connect_on("soft0", 1);
	let_it_miscount();
	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	API_EMPTY(victim.end.request);
	others_are_served();
}

static void disconnect_with_a_hidden_request_ends(void)
{
	connect_on("soft0", -1);
	send_one(1);
	let_it_miscount();
	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	others_are_served();
}

static const struct check_test tests[] = {
	CHECK_TEST(hidden_request_of_a_strict_adapter_ends_the_connection),
	CHECK_TEST(disconnect_does_not_wait_for_a_request_that_was_not_posted),
	CHECK_TEST(disconnect_with_a_hidden_request_ends),
	CHECK_END
};

static const struct check_suite suite = { .name = "miscounted requests", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
