/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer whose messages are sound in all but one thing, which it says of itself or of what it has done, and which the victim's
 * program is told. The program is told nothing that no adapter can say.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile.h"
#include "victim.h"

static pid_t attacker;

/* ------------------------------------------------------------------ the address */

/* All adapters have an address of IPv4. Programs have room for one, and take what they are shown for one. */
static const sa_family_t families[] = { AF_INET6, AF_UNSPEC, AF_UNIX, UINT16_MAX };

enum { FAMILIES = sizeof(families) / sizeof(*families) };

static void come_from_elsewhere(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg msg;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < FAMILIES; i++) {
		h.fd = hostile_reach(where);
		hostile_message(&h, &msg, SOFT_MSG_REQ);
		msg.qual = where;
		memset(&msg.address, 'F', sizeof(msg.address));
		msg.address.ss_family = families[i];
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		CHECK(hostile_is_hung_up_on(h.fd, (int)check_patience_ms()));
		hostile_hangup(&h);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void request_from_another_address_family_is_refused(void)
{
	DAT_EVENT event;

	attacker = check_fork(come_from_elsewhere, NULL);
	victim_opens();
	victim_tells(attacker);
	check_await(attacker);
	CHECK_DAT(dat_evd_dequeue(victim.cr_evd, &event), DAT_QUEUE_EMPTY);
	check_signal(attacker);
	victim_accepts();
	check_signal(attacker);
	check_join(attacker);
	victim_serves_others();
}

static void answer_from_elsewhere(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg msg;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_listen(&h, where);
	check_signal(CHECK_PARENT);
	for (int i = 0; i < FAMILIES; i++) {
		hostile_await_request(&h);
		hostile_message(&h, &msg, SOFT_MSG_REP);
		memset(&msg.address, 'F', sizeof(msg.address));
		msg.address.ss_family = families[i];
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		CHECK(hostile_is_hung_up_on(h.fd, (int)check_patience_ms()));
	}
	hostile_close(&h);
}

static void answer_from_another_address_family_ends_the_attempt(void)
{
	attacker = check_fork(answer_from_elsewhere, NULL);
	victim_opens();
	victim.qual = api_free_qual(victim.cr_evd);
	victim_tells(attacker);
	check_await(attacker);
	for (int i = 0; i < FAMILIES; i++) {
		REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	check_join(attacker);
	victim_serves_others();
}

static const struct check_test address_tests[] = {
	CHECK_TEST(request_from_another_address_family_is_refused),
	CHECK_TEST(answer_from_another_address_family_ends_the_attempt),
	CHECK_END,
};

static const struct check_suite address = { .name = "peer's address", .teardown = api_close, .tests = address_tests };

CHECK_SUITES(&address);
