/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker moves the threads of the victim that sleep on words of its arena to a word of its own, by FUTEX_CMP_REQUEUE, and
 * goes. No wake-up reaches them there, so they have to look by themselves.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"
#include "victim.h"

enum { LONG_MS = 1300 }; /* longer than a sleep of the library on such a word */

/* ------------------------------------------------------------------ the attacker */

enum bell { BELL_OF_QUEUE, BELL_OF_BOUNCE_THREAD };

static _Atomic uint32_t own_word;

static _Atomic uint32_t *bell_of(struct hostile *h, enum bell bell)
{
	return bell == BELL_OF_QUEUE ? &hostile_ring_of_victim(h)->bell : &hostile_header_of_victim(h)->bounce_bell;
}

static bool move_sleepers(_Atomic uint32_t *bell)
{
	return syscall(SYS_futex, bell, FUTEX_CMP_REQUEUE, 0, (void *)(uintptr_t)INT32_MAX, &own_word, atomic_load(bell)) > 0;
}

static void move_and_go(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
	(void)hostile_connect_with_mailbox(&h, where);
	check_await(CHECK_PARENT);
	REQUIRE_SOON(move_sleepers(bell_of(&h, *(enum bell *)arg)));
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;

static void victim_meets(enum bell bell)
{
	static enum bell arg;

	arg = bell;
	attacker = check_fork(move_and_go, &arg);
	victim_opens();
	victim_tells(attacker);
	victim_accepts();
}

/* The attacker moves the threads, and goes. */
static void sleepers_are_moved(void)
{
	check_signal(attacker);
	check_await(attacker);
	check_signal(attacker);
	check_join(attacker);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
}

static _Atomic bool over;

static void *wait_for_ever(void *arg)
{
	DAT_RETURN *ret = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	*ret = dat_evd_wait(victim.end.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	atomic_store(&over, true);
	return NULL;
}

/* The receive is flushed when the connection ends, after the waiter has been moved. */
static void waiter_that_is_moved_finds_its_event(void)
{
	pthread_t waiter;
	DAT_RETURN ret;

	victim_meets(BELL_OF_QUEUE);
	REQUIRE_DAT(api_recv(victim.end.ep, &victim.buf, 0, 4096, 1), DAT_SUCCESS);
	REQUIRE(pthread_create(&waiter, NULL, wait_for_ever, &ret) == 0);
	sleepers_are_moved();
	REQUIRE_SOON(atomic_load(&over));
	pthread_join(waiter, NULL);
	CHECK_DAT(ret, DAT_SUCCESS);
	victim_serves_others();
}

static void *close_adapter(void *arg)
{
	(void)arg;
	api_close();
	atomic_store(&over, true);
	return NULL;
}

static void bounce_thread_that_is_moved_ends(void)
{
	pthread_t closer;

	victim_meets(BELL_OF_BOUNCE_THREAD);
	sleepers_are_moved();
	victim_serves_others();
	REQUIRE(pthread_create(&closer, NULL, close_adapter, NULL) == 0);
	REQUIRE_SOON(atomic_load(&over));
	pthread_join(closer, NULL);
}

/* The library looks by itself meanwhile, which the program is not told. */
static void wait_without_an_event_is_as_long_as_it_says(void)
{
	uint64_t begin = check_now_ms();
	DAT_EVENT event;
	DAT_COUNT more;

	victim_opens();
	CHECK_DAT(dat_evd_wait(victim.end.recv, LONG_MS * 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	CHECK(check_now_ms() - begin >= LONG_MS);
}

static void begin(void)
{
	atomic_store(&over, false);
}

static const struct check_test tests[] = {
	CHECK_TEST(waiter_that_is_moved_finds_its_event),
	CHECK_TEST(bounce_thread_that_is_moved_ends),
	CHECK_TEST(wait_without_an_event_is_as_long_as_it_says),
	CHECK_END
};

static const struct check_suite requeue = {
	.name = "threads moved in their sleep", .setup = begin, .teardown = api_close, .tests = tests
};

CHECK_SUITES(&requeue);
