/* SPDX-License-Identifier: BSD-2-Clause */
/* The bounce path between two processes: questions, answers, and a peer that gives none because it is dead. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/mover.h"
#include "providers/soft/mr.h"
#include "providers/soft/peer.h"
#include "providers/soft/sock.h"

#define ROOM (1u << 20)

/* Two IAs over one arena, the asker's here and the answering one in a peer. */
static struct {
	struct soft_ia *here, *there;
	struct soft_peer peer; /* `there`, as seen from here */
	struct soft_peer back; /* `here`, as seen from there */
	struct soft_socket link;
	struct soft_mem shared;
	struct soft_ref mailbox;
	struct soft_pz pz;
	struct soft_lmr lmr; /* all of `memory`, at `there` */
	int far_end;	       /* of the link */
	unsigned char *memory; /* the peer's own copy is what is asked for */
	unsigned char *local;
	pid_t pid;
} t;

static void register_at_there(struct soft_lmr *lmr, unsigned char *at, size_t len,
			      DAT_MEM_PRIV_FLAGS priv)
{
	memset(lmr, 0, sizeof(*lmr));
	lmr->base.obj.ia = &t.there->base;
	lmr->base.pz = &t.pz.base;
	lmr->base.addr = (uintptr_t)at;
	lmr->base.len = len;
	lmr->base.priv = priv;
	REQUIRE(soft_lmr_add(&lmr->base, false) == DATP_OK);
}

static void ask_open(void)
{
	int fds[2];

	memset(&t, 0, sizeof(t));
	t.here = calloc(1, sizeof(*t.here));
	t.there = calloc(1, sizeof(*t.there));
	REQUIRE(t.here && t.there);
	REQUIRE(soft_arena_new(&t.here->arena) == DATP_OK);
	t.there->arena = t.here->arena;
	t.here->patience_ms = t.there->patience_ms = 20000;
	REQUIRE(soft_arena_alloc(t.there, SOFT_KIND_OTHER, sizeof(*t.there->shared), &t.shared) ==
		DATP_OK);
	t.there->shared = t.shared.addr;
	t.there->id[0] = 42;
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	t.far_end = fds[1];
	t.link.fd = fds[0];
	t.link.peer = &t.peer;
	t.here->sockets = &t.link;
	t.peer.ia = t.here;
	t.peer.shared = t.there->shared;
	t.back.ia = t.there;
	t.back.arena = t.here->arena;
	REQUIRE(soft_peer_bounce(&t.peer, &t.mailbox) == DATP_OK);
	t.memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t.local = malloc(ROOM);
	REQUIRE(t.memory != MAP_FAILED && t.local);
	t.there->ports = calloc(SOFT_PORT_MAX, sizeof(*t.there->ports));
	REQUIRE(t.there->ports != NULL);
	REQUIRE(soft_mr_init(t.there) == DATP_OK);
	register_at_there(&t.lmr, t.memory, ROOM, DAT_MEM_PRIV_ALL_FLAG);
}

static void ask_close(void)
{
	munmap(t.memory, ROOM);
	free(t.local);
	close(t.link.fd);
	soft_mr_fini(t.there);
	free(t.there->ports);
	soft_arena_put(t.here->arena);
	free(t.there);
	free(t.here);
}

/* ------------------------------------------------------------------ the peer */

static void answer(void *arg)
{
	(void)arg;
	REQUIRE(soft_mover_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	soft_mover_leave(t.there, &t.back);
	soft_mover_stop(t.there);
}

static void be_silent(void *arg)
{
	(void)arg;
	check_signal(CHECK_PARENT);
	pause();
}

/* As `answer`, and looks at what comes: all of it, once the last byte is there. */
static void answer_and_poll(void *arg)
{
	size_t len = *(size_t *)arg;

	REQUIRE(soft_mover_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	check_signal(CHECK_PARENT);
	for (unsigned char n = 1; n < 100; n++) {
		while (__atomic_load_n(&t.memory[len - 1], __ATOMIC_ACQUIRE) != n)
			sched_yield();
		for (size_t i = 0; i < len; i++)
			REQUIRE_EQ_INT(t.memory[i], n);
		check_signal(CHECK_PARENT);
	}
	soft_mover_leave(t.there, &t.back);
	soft_mover_stop(t.there);
}

static void start(void (*run)(void *arg), void *arg)
{
	t.pid = check_fork(run, arg);
	close(t.far_end);
	check_await(t.pid);
}

static void finish(void)
{
	check_signal(t.pid);
	check_join(t.pid);
}

/* ------------------------------------------------------------------ questions */

static int ask(bool write, bool ordered, unsigned char *local, unsigned char *remote, size_t len)
{
	struct soft_list l, r;

	soft_list_one(&l, (uintptr_t)local, len);
	soft_list_one(&r, (uintptr_t)remote, len);
	return soft_mover_ask(&t.peer, write, ordered, &l, &r, len);
}

static void fill(unsigned char *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)(i * 31 + i / 256 + seed);
}

static void bytes_travel_both_ways_in_every_length(void)
{
	static const size_t lengths[] = {
		1,
		7,
		8,
		9,
		4095,
		SOFT_BOUNCE_SIZE - 1,
		SOFT_BOUNCE_SIZE,
		SOFT_BOUNCE_SIZE + 1,
		3 * SOFT_BOUNCE_SIZE + 5,
	};
	unsigned char *back = malloc(ROOM);

	start(answer, NULL);
	for (unsigned int i = 0; i < 9; i++) {
		fill(t.local, lengths[i], i);
		CHECK_EQ_INT(ask(true, i & 1, t.local, t.memory + i, lengths[i]), 0);
		memset(back, 0, lengths[i]);
		CHECK_EQ_INT(ask(false, false, back, t.memory + i, lengths[i]), 0);
		CHECK_EQ_MEM(back, t.local, lengths[i]);
	}
	/* it was the peer's memory, not ours */
	CHECK_EQ_INT(t.memory[0], 0);
	free(back);
	finish();
}

static void lists_on_both_sides_are_walked(void)
{
	struct soft_list l, r;
	unsigned char back[3000];

	start(answer, NULL);
	fill(t.local, 3000, 5);
	l = (struct soft_list){ .n = 3 };
	l.iov[0] = (struct iovec){ t.local, 1 };
	l.iov[1] = (struct iovec){ t.local + 1, 0 };
	l.iov[2] = (struct iovec){ t.local + 1, 2999 };
	r = (struct soft_list){ .n = 2 };
	r.iov[0] = (struct iovec){ t.memory, 1000 };
	r.iov[1] = (struct iovec){ t.memory + 5000, 4000 };
	CHECK_EQ_INT(soft_mover_ask(&t.peer, true, false, &l, &r, 3000), 0);
	CHECK_EQ_INT(ask(false, false, back, t.memory, 1000), 0);
	CHECK_EQ_INT(ask(false, false, back + 1000, t.memory + 5000, 2000), 0);
	CHECK_EQ_MEM(back, t.local, 3000);
	finish();
}

static void last_byte_is_seen_last(void)
{
	size_t len = SOFT_BOUNCE_SIZE + 4099;

	start(answer_and_poll, &len);
	for (unsigned char n = 1; n < 100; n++) {
		memset(t.local, n, len);
		REQUIRE_EQ_INT(ask(true, true, t.local, t.memory, len), 0);
		check_await(t.pid);
	}
	check_join(t.pid);
}

static void *asking_thread(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;
	unsigned char *remote = t.memory + number * 65536;
	unsigned char *mine = malloc(10000), *back = malloc(10000);
	uintptr_t wrong = 0;

	for (unsigned int n = 0; n < 200; n++) {
		fill(mine, 10000, number * 1000 + n);
		wrong += ask(true, true, mine, remote, 10000) != 0;
		wrong += ask(false, false, back, remote, 10000) != 0;
		wrong += memcmp(mine, back, 10000) != 0;
	}
	free(mine);
	free(back);
	return (void *)wrong;
}

static void threads_ask_one_after_the_other(void)
{
	pthread_t thread[4];
	void *wrong;

	start(answer, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		REQUIRE(pthread_create(&thread[i], NULL, asking_thread, (void *)i) == 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &wrong);
		CHECK_EQ_INT((uintptr_t)wrong, 0);
	}
	finish();
}

static void memory_that_is_not_there_is_a_fault(void)
{
	if (!soft_xfer_allowed())
		check_skip("the kernel refuses what the mover would find out with");
	/* behind the end of what the peer has mapped there, too */
	munmap(t.memory + ROOM / 2, ROOM / 2);
	start(answer, NULL);
	CHECK_EQ_INT(ask(true, true, t.local, t.memory + ROOM / 2 - 100, 300), EFAULT);
	CHECK_EQ_INT(ask(false, false, t.local, t.memory + ROOM / 2, 8), EFAULT);
	CHECK_EQ_INT(ask(false, false, t.local, t.memory, 8), 0);
	finish();
}

/* A hostile peer writes any address into its mailbox. */
static void memory_that_is_not_registered_is_neither_read_nor_written(void)
{
	static const unsigned char canary[8] = "canary!";
	unsigned char *secret = malloc(64);
	struct soft_lmr page;

	memset(secret, 's', 64);
	memset(t.local, 0, ROOM);
	/* the region shrinks to its first page, which can only be read; the rest is a canary's */
	memcpy(t.memory + 4096, canary, 8);
	soft_lmr_free(&t.lmr.base);
	register_at_there(&page, t.memory, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	REQUIRE(soft_mover_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	CHECK_EQ_INT(ask(false, false, t.local, secret, 64), EFAULT);
	CHECK_EQ_INT(ask(true, false, t.local, secret, 64), EFAULT);
	CHECK_EQ_INT(ask(false, false, t.local, t.memory + 4090, 16), EFAULT);
	CHECK_EQ_INT(ask(true, true, t.local, t.memory, 16), EFAULT);
	CHECK_EQ_INT(ask(true, false, t.local, (unsigned char *)16, 64), EFAULT);
	CHECK_EQ_INT(ask(false, false, t.local, (unsigned char *)UINTPTR_MAX - 8, 64), EFAULT);
	for (int i = 0; i < 64; i++)
		CHECK_EQ_INT(secret[i], 's');
	CHECK_EQ_INT(t.local[0], 0);
	CHECK_EQ_MEM(t.memory + 4096, canary, 8);
	CHECK_EQ_INT(ask(false, false, t.local, t.memory, 4096), 0);
	soft_lmr_free(&page.base);
	CHECK_EQ_INT(ask(false, false, t.local, t.memory, 4096), EFAULT);
	soft_mover_leave(t.there, &t.back);
	soft_mover_stop(t.there);
	free(secret);
}

static void *killing_thread(void *arg)
{
	(void)arg;
	check_nap();
	kill(t.pid, SIGKILL);
	return NULL;
}

/* Nobody here has noticed, and the one who waits may be the only one who could. */
static void peer_that_dies_with_the_question_in_hand_is_found_out(void)
{
	pthread_t thread;

	start(be_silent, NULL);
	REQUIRE(pthread_create(&thread, NULL, killing_thread, NULL) == 0);
	CHECK_EQ_INT(ask(true, true, t.local, t.memory, 100), ESRCH);
	pthread_join(thread, NULL);
	CHECK_EQ_INT(atomic_load(&t.peer.dead), 1);
	CHECK_EQ_INT(ask(false, false, t.local, t.memory, 100), ESRCH);
	check_kill(t.pid);
}

/* It may have asked at the last moment; what it asked of is the consumer's again by then. */
static void question_of_a_dead_peer_is_not_answered(void)
{
	struct soft_peer witness = { .ia = t.here, .shared = t.there->shared };
	struct soft_peer back = { .ia = t.there, .arena = t.here->arena };
	struct soft_bounce *question = t.peer.bounce;
	struct soft_ref mailbox;

	t.there->doorbell_fd = -1;
	REQUIRE(soft_peer_bounce(&witness, &mailbox) == DATP_OK);
	REQUIRE(soft_mover_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	REQUIRE(soft_mover_serve(t.there, &back, &mailbox) == DATP_OK);
	fill(t.local, 100, 1);
	CHECK_EQ_INT(ask(true, true, t.local, t.memory, 100), 0);
	CHECK_EQ_MEM(t.memory, t.local, 100);
	soft_peer_died(&t.back);
	CHECK(soft_mover_serve(t.there, &t.back, &t.mailbox) != DATP_OK);
	memset(t.memory, 0, 100);
	atomic_store(&question->state, SOFT_BOUNCE_ASKED);
	/* which is looked at after the other one */
	t.peer = witness;
	CHECK_EQ_INT(ask(true, true, t.local, t.memory + 4096, 100), 0);
	CHECK_EQ_INT(atomic_load(&question->state), SOFT_BOUNCE_ASKED);
	CHECK_EQ_INT(t.memory[99], 0);
	soft_mover_stop(t.there);
}

static const struct check_test tests[] = {
	CHECK_TEST(bytes_travel_both_ways_in_every_length),
	CHECK_TEST(lists_on_both_sides_are_walked),
	CHECK_TEST(last_byte_is_seen_last),
	CHECK_TEST(threads_ask_one_after_the_other),
	CHECK_TEST(memory_that_is_not_there_is_a_fault),
	CHECK_TEST(memory_that_is_not_registered_is_neither_read_nor_written),
	CHECK_TEST(peer_that_dies_with_the_question_in_hand_is_found_out),
	CHECK_TEST(question_of_a_dead_peer_is_not_answered),
	CHECK_END
};

static const struct check_suite mover = {
	.name = "mover", .setup = ask_open, .teardown = ask_close, .tests = tests
};

CHECK_SUITES(&mover);
