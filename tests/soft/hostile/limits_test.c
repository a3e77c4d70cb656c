/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a peer could use up by one connection after another: lines of the log, address space, mappings,
 * shared memory. The test is the victim.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "hostile.h"
#include "victim.h"
#include "providers/soft/conn.h"
#include "providers/soft/ia.h"

static pid_t attacker;

/* Forks the attacker, opens the victim, and tells the attacker where it listens. */
static void victim_meets(void (*attack)(void *arg), void *arg)
{
	attacker = check_fork(attack, arg);
	victim_opens();
	victim_tells(attacker);
}

/* The connection is over, and the endpoint can be used for another. */
static void end_it(void)
{
	DAT_EVENT event;

	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	while (dat_evd_dequeue(victim.end.request, &event) == DAT_SUCCESS)
		;
	REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ lines of the log */

static unsigned int lines_of(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

#define BROKEN_PEERS 12

/* Its regions and receives name memory that is not mapped. */
static void name_memory_that_is_not_there(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	for (int i = 0; i < BROKEN_PEERS; i++) {
		hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
		soft_port_desc(h.own.port, &h.own.layout, 0)->sge[0].addr = 4096;
		atomic_store(&h.own.mr[1].addr, 4096);
		atomic_store(&h.own.port->rq_posted, 8);
		hostile_connect(&h, where);
		check_await(CHECK_PARENT);
		hostile_close(&h);
	}
	check_await(CHECK_PARENT);
}

enum fault { COPY_FAILS, COPY_IS_NOT_ENDED };

/* Sends to the attacker, or makes it look as if it executed a request. */
static void suffer(enum fault fault)
{
	struct soft_ep *ep = (struct soft_ep *)victim.end.ep;

	if (fault == COPY_IS_NOT_ENDED)
		atomic_fetch_or(&ep->port->exec_lock, SOFT_EXEC_HELD | SOFT_EXEC_TARGET);
	else
		REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, 65536, 1, 0), DAT_SUCCESS);
}

static void broken_peers_do_not_use_up_the_log(enum fault fault, const char *line)
{
	const char *said;

	victim_meets(name_memory_that_is_not_there, NULL);
	check_stderr_begin();
	for (int i = 0; i < BROKEN_PEERS; i++) {
		victim_accepts();
		/* only now: before the first connection it is found out whether the kernel copies, and not for longer than that */
		soft_ia(((struct soft_ep *)victim.end.ep)->base.obj.ia)->patience_ms = 20;
		suffer(fault);
		end_it();
		check_signal(attacker);
	}
	said = check_stderr_end();
	CHECK_HAS_STR(said, line);
	CHECK(lines_of(said) < 10);
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

static void copies_that_fail_do_not_use_up_the_log(void)
{
	broken_peers_do_not_use_up_the_log(COPY_FAILS, "the kernel cannot move");
}

static void peers_that_do_not_end_a_copy_do_not_use_up_the_log(void)
{
	broken_peers_do_not_use_up_the_log(COPY_IS_NOT_ENDED, "had not released");
}

#define IDLE_ENDS 12

/* Connects again and again, with the same name, and posts no receive. */
static void post_no_receives(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg msg;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < IDLE_ENDS; i++) {
		h.fd = -1; /* the socket of the connection before stays open */
		memset(&h.theirs, 0, sizeof(h.theirs));
		hostile_begin_request(&h, where, &msg);
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		REQUIRE(hostile_hear(&h, &h.theirs));
		REQUIRE_EQ_INT(h.theirs.type, SOFT_MSG_REP);
		hostile_message(&h, &msg, SOFT_MSG_RTU);
		msg.liveness = i == 0;
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), false));
		check_await(CHECK_PARENT);
	}
	check_await(CHECK_PARENT);
}

static void receives_that_are_missing_do_not_use_up_the_log(void)
{
	struct api_end ends[IDLE_ENDS];
	const char *said, *at;
	int lines = 0;

	attacker = check_fork(post_no_receives, NULL);
	victim_opens_as("soft-strict", 4096);
	victim_tells(attacker);
	for (int i = 0; i < IDLE_ENDS; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), ends[i].ep, 0, NULL), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		check_signal(attacker);
	}
	check_stderr_begin();
	for (int i = 0; i < IDLE_ENDS; i++)
		REQUIRE_DAT(api_send(ends[i].ep, &victim.buf, 0, 8, 1, 0), DAT_SUCCESS);
	for (int i = 0; i < IDLE_ENDS; i++)
		API_DTO(ends[i].request, ends[i].ep, 1, DAT_DTO_ERR_RECEIVER_NOT_READY, API_ANY_LENGTH);
	said = check_stderr_end();
	for (at = said; (at = strstr(at, "has found no receive")); at++)
		lines++;
	CHECK(lines > 0 && lines < 10);
	check_signal(attacker);
	check_join(attacker);
}

/* ------------------------------------------------------------------ address space */

/* Offers one slot more than any adapter makes, each as long as any, in a file that has room for them. */
static void offer_many_slots(void *arg)
{
	const uint64_t size = (uint64_t)(SOFT_SLOTS + 1) * (sizeof(struct soft_slot) + SOFT_EAGER_MAX);
	uint64_t where = victim_is_at();
	struct soft_msg answer;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	h.own.header->slot_count = SOFT_SLOTS + 1;
	h.own.header->slot_size = SOFT_EAGER_MAX;
	h.own.header->slots = (struct soft_ref){ 0, (size + 4095) & ~4095ull, 0 };
	hostile_request(&h, where);
	CHECK(hostile_hear(&h, &answer));
	CHECK_EQ_INT(answer.type, SOFT_MSG_REJ);
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

static void more_slots_than_an_adapter_makes_are_refused(void)
{
	check_stderr_begin();
	victim_meets(offer_many_slots, NULL);
	check_await(attacker);
	check_stderr_end();
	victim_serves_others();
	check_join(attacker);
}

/* ------------------------------------------------------------------ mappings */

#define CONNECTIONS 100
#define FURTHER	    (8ull << 20) /* each connection's parts of the arena lie this much further */

/* Requests a connection whose port lies in an extent at `port`, and its rings in extents of their own behind `at`. */
static void request_with(struct hostile *h, uint64_t where, uint64_t port, uint64_t at)
{
	struct soft_msg msg;

	hostile_begin_request(h, where, &msg);
	msg.port_ref = (struct soft_ref){ port, 1u << 20, 0 };
	msg.ring_ref = (struct soft_ref){ at + (2u << 20), 1u << 20, 0 };
	msg.request_ref = (struct soft_ref){ at + (4u << 20), 1u << 20, 0 };
	msg.layout = (struct soft_layout){ .rq_stride = 64, .sq_stride = 256, .rq_offset = 4096, .sq_offset = 8192 };
	REQUIRE(hostile_say(h, &msg, sizeof(msg), true));
}

/* Requests a connection of which each part, and the mailbox, lies in an extent of its own, unlike those of all others. */
static void request_elsewhere(struct hostile *h, uint64_t where, uint64_t number)
{
	uint64_t at = (1ull << 32) + number * FURTHER;

	request_with(h, where, at, at);
}

static void connect_from_the_end(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg answer;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	request_with(&h, where, HOSTILE_ROOM - (1u << 20), 1ull << 32);
	CHECK(!hostile_hear(&h, &answer) || answer.type != SOFT_MSG_REP);
	hostile_close(&h);
}

/*
 * The provider maps as much as an adapter makes at once, which is longer than this extent, and a later mapping may take the place
 * of an earlier one. Behind the end of the file an access raises SIGBUS.
 */
static void extent_that_is_cut_off_by_the_end_of_the_file_is_not_mapped(void)
{
	DAT_CR_HANDLE cr;

	victim_meets(connect_from_the_end, NULL);
	cr = api_cr(victim.cr_evd);
	CHECK(dat_cr_accept(cr, victim.end.ep, 0, NULL) != DAT_SUCCESS);
	(void)dat_cr_reject(cr);
	check_join(attacker);
	victim_serves_others();
}

static void connect_from_everywhere(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile first, next;
	struct soft_msg msg;

	(void)arg;
	hostile_make(&first, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	hostile_connect(&first, where);
	for (uint64_t i = 0; i < CONNECTIONS; i++) {
		next = first;
		next.their_at = NULL;
		next.their_fd = -1;
		request_elsewhere(&next, where, i);
		REQUIRE(hostile_hear(&next, &next.theirs));
		REQUIRE_EQ_INT(next.theirs.type, SOFT_MSG_REP);
		hostile_message(&next, &msg, SOFT_MSG_RTU);
		msg.mailbox = (struct soft_ref){ (1ull << 33) + i * FURTHER, 1u << 20, 0 };
		REQUIRE(hostile_say(&next, &msg, sizeof(msg), false));
		check_await(CHECK_PARENT);
		close(next.fd);
		close(next.their_fd);
	}
	check_await(CHECK_PARENT);
	hostile_close(&first);
}

/* The peer keeps one connection, so the others do not end its arena. */
static void ended_connections_leave_few_mappings(void)
{
	struct api_end kept;
	int before;

	victim_meets(connect_from_everywhere, NULL);
	victim_accepts();
	kept = victim.end;
	api_end_make(&victim.end, NULL);
	before = check_mappings("");
	for (int i = 0; i < CONNECTIONS; i++) {
		victim_accepts();
		end_it();
		check_signal(attacker);
	}
	CHECK(check_mappings("") < before + CONNECTIONS);
	victim_serves_others();
	REQUIRE_DAT(dat_ep_disconnect(kept.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	check_signal(attacker);
	check_join(attacker);
}

/* ------------------------------------------------------------------ shared memory */

#define GUESTS 20 /* of which each is given a mailbox by the victim */

/* Leaves before it has confirmed, and writes a question into the mailbox that the victim has for its own ones. */
static void leave_a_question(void *arg)
{
	static const unsigned char junk[SOFT_MAILBOX_SIZE] = { 7 };
	const uint32_t asked = SOFT_MAILBOX_ASKED;
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	for (int i = 0; i < GUESTS; i++) {
		const struct soft_ref *mailbox = &h.theirs.mailbox;

		hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
		hostile_request(&h, where);
		hostile_await_answer(&h);
		REQUIRE(mailbox->extent_len);
		REQUIRE(pwrite(h.their_fd, junk, sizeof(junk),
			       (off_t)(mailbox->extent + mailbox->offset + offsetof(struct soft_mailbox, data))) ==
			(ssize_t)sizeof(junk));
		REQUIRE(pwrite(h.their_fd, &asked, sizeof(asked), (off_t)(mailbox->extent + mailbox->offset)) ==
			(ssize_t)sizeof(asked));
		hostile_close(&h);
		check_await(CHECK_PARENT);
	}
}

/* Returns how much memory the pages of the victim's arena use. */
static size_t arena_uses(void)
{
	struct stat st;

	REQUIRE(fstat(soft_ia(((struct soft_ep *)victim.end.ep)->base.obj.ia)->arena->fd, &st) == 0);
	return (size_t)st.st_blocks * 512;
}

static void mailboxes_are_given_back_whatever_is_in_them(void)
{
	size_t used = 0;

	attacker = check_fork(leave_a_question, NULL);
	victim_opens_as("soft-hasty-bounce", 65536);
	victim_tells(attacker);
	for (int i = 0; i < GUESTS; i++) {
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), victim.end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
		/* the first one has also touched pages of the arena that nobody had */
		if (!i)
			used = arena_uses();
		check_signal(attacker);
	}
	check_join(attacker);
	CHECK_SOON(arena_uses() < used + GUESTS / 2 * (size_t)SOFT_MAILBOX_SIZE);
	victim_serves_others();
}

static const struct check_test tests[] = {
	CHECK_TEST(copies_that_fail_do_not_use_up_the_log),
	CHECK_TEST(peers_that_do_not_end_a_copy_do_not_use_up_the_log),
	CHECK_TEST(receives_that_are_missing_do_not_use_up_the_log),
	CHECK_TEST(more_slots_than_an_adapter_makes_are_refused),
	CHECK_TEST(extent_that_is_cut_off_by_the_end_of_the_file_is_not_mapped),
	CHECK_TEST(ended_connections_leave_few_mappings),
	CHECK_TEST(mailboxes_are_given_back_whatever_is_in_them),
	CHECK_END
};

static const struct check_suite limits = { .name = "hostile limits", .teardown = api_close, .tests = tests };

CHECK_SUITES(&limits);
