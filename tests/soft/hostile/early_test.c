/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker for which the victim's bounce thread copies says that an operation has completed, while the bounce thread copies a
 * piece of it. The victim's program does not learn of the completion before that piece has been copied: from then on the memory is
 * its own again. The memory of the operation is under userfaultfd(2), in the victim, so that the bounce thread waits there.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

enum { HEAD = 8, LEN = 65536, QUIET_MS = 300 };

/* ------------------------------------------------------------------ the attacker */

static struct soft_mailbox *mailbox;

/* Asks the victim's bounce thread to copy the bytes from `offset` on of the first request of the initiator. */
static void ask(struct hostile *h, bool initiator, uint64_t offset)
{
	struct soft_header *header = hostile_header_of_victim(h);

	mailbox->port = h->theirs.my_port;
	mailbox->gen = h->theirs.my_gen;
	mailbox->seq = 0;
	mailbox->initiator = initiator;
	mailbox->offset = offset;
	mailbox->len = LEN;
	atomic_store(&mailbox->state, SOFT_MAILBOX_ASKED);
	atomic_fetch_add(&header->bounce_bell, 1);
	REQUIRE(syscall(SYS_futex, &header->bounce_bell, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0);
}

/* The bounce thread fills the victim's receive behind the first bytes, and a short message fills these. */
static void send_too_early(struct hostile *h)
{
	*soft_port_sqe(h->own.port, &h->own.layout, 0) = (struct soft_sqe){ .op = DATP_SEND, .len = HEAD + LEN };
	atomic_store(&h->own.port->sq_posted, 1);
	ask(h, true, HEAD);
	check_await(CHECK_PARENT);
	hostile_publish(h, hostile_reserve(h));
}

/* The bounce thread reads what the victim sends, which the attacker says that it has. */
static void receive_too_early(struct hostile *h)
{
	ask(h, false, HEAD);
	check_await(CHECK_PARENT);
	hostile_claim(h, 1);
}

static void attack(void *arg)
{
	void (**what)(struct hostile *h) = arg;
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	mailbox = hostile_connect_with_mailbox(&h, where);
	check_await(CHECK_PARENT);
	(*what)(&h);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	CHECK_EQ_INT(mailbox->error, 0);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static struct api_buf buf;
static DAT_EVD_HANDLE evd;
static _Atomic bool over;

/* Two segments: a few bytes behind the trap, and the trap. */
static void segments(DAT_LMR_TRIPLET *segs)
{
	segs[0] = api_seg(&buf, TRAP_LEN, HEAD);
	segs[1] = api_seg(&buf, 0, LEN);
}

static void victim_meets(void (*what)(struct hostile *h))
{
	static void (*arg)(struct hostile *h);

	arg = what;
	atomic_store(&over, false);
	attacker = check_fork(attack, &arg);
	victim_opens();
	victim_tells(attacker);
	REQUIRE(trap_at() + TRAP_LEN + HEAD <= hostile_data + HOSTILE_DATA);
	buf = api_buf_in(api.pz, trap_at(), TRAP_LEN + HEAD, DAT_MEM_PRIV_ALL_FLAG);
}

/* Returns false if the system has no such trap. */
static void trap_is_set(void)
{
	if (trap_set())
		return;
	check_kill(attacker);
	check_skip(TRAP_NONE);
}

/* A post finds what has been executed. */
static void *take_completion(void *arg)
{
	(void)arg;
	if (evd == victim.end.request)
		REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, HEAD, 2, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	API_DTO(evd, victim.end.ep, 1, DAT_DTO_SUCCESS, evd == victim.end.recv ? HEAD : HEAD + LEN);
	atomic_store(&over, true);
	return NULL;
}

/* The attacker asks, and claims that the operation has completed. It completes only when the bounce thread has left the memory. */
static void completes_after_the_copy(void)
{
	pthread_t taker;

	check_signal(attacker);
	trap_await();
	check_signal(attacker);
	check_await(attacker);
	REQUIRE(pthread_create(&taker, NULL, take_completion, NULL) == 0);
	usleep(QUIET_MS * 1000);
	CHECK(!atomic_load(&over));
	trap_release();
	pthread_join(taker, NULL);
	CHECK(atomic_load(&over));
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

static void receive_completes_after_the_copy(void)
{
	DAT_LMR_TRIPLET segs[2];

	victim_meets(send_too_early);
	segments(segs);
	evd = victim.end.recv;
	REQUIRE_DAT(dat_ep_post_recv(victim.end.ep, 2, segs, api_cookie(1), 0), DAT_SUCCESS);
	victim_accepts();
	trap_is_set();
	completes_after_the_copy();
}

static void send_completes_after_the_copy(void)
{
	DAT_LMR_TRIPLET segs[2];

	victim_meets(receive_too_early);
	segments(segs);
	evd = victim.end.request;
	victim_accepts();
	REQUIRE_DAT(dat_ep_post_send(victim.end.ep, 2, segs, api_cookie(1), 0), DAT_SUCCESS);
	trap_is_set();
	completes_after_the_copy();
}

static const struct check_test tests[] = {
	CHECK_TEST(receive_completes_after_the_copy),
	CHECK_TEST(send_completes_after_the_copy),
	CHECK_END
};

static const struct check_suite early = { .name = "completions that come too early", .teardown = api_close, .tests = tests };

CHECK_SUITES(&early);
