/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker holds the kernel's lock of a memory file of the victim, for as long as it likes: it writes to the file out of memory
 * that is under userfaultfd(2). Whoever wants to change that file, or to know where it has data, waits in the kernel, and no signal
 * ends that. The victim does neither: it serves others, frees what it likes and closes its adapter.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

#define UNUSED ((off_t)1 << 38) /* a place in the arena */

enum { LEN = 65536 };

/* ------------------------------------------------------------------ the attacker */

static struct hostile h;

static void *write_to_arena(void *arg)
{
	(void)arg;
	CHECK_EQ_INT(pwrite(h.their_fd, trap_at(), 4096, UNUSED), 4096);
	return NULL;
}

static void attack(void *arg)
{
	uint64_t qual = victim_is_at();
	pthread_t writer;
	bool trapped;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, qual);
	check_await(CHECK_PARENT);
	trapped = trap_set();
	check_put(CHECK_PARENT, &trapped, sizeof(trapped));
	if (!trapped)
		return;
	REQUIRE(pthread_create(&writer, NULL, write_to_arena, NULL) == 0);
	trap_await();
	/* the victim has to free what it has for this peer; the descriptor is needed by the write */
	hostile_hangup(&h);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	trap_release();
	REQUIRE(pthread_join(writer, NULL) == 0);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static _Atomic bool over;
static DAT_RETURN result;

static void file_is_locked(const char *adapter)
{
	bool trapped;

	atomic_store(&over, false);
	attacker = check_fork(attack, NULL);
	victim_opens_as(adapter, LEN);
	victim_tells(attacker);
	victim_accepts();
	check_signal(attacker);
	check_get(attacker, &trapped, sizeof(trapped));
	if (!trapped) {
		check_join(attacker);
		check_skip("userfaultfd(2) for faults of the kernel is not allowed (vm.unprivileged_userfaultfd)");
	}
	check_await(attacker);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
}

static void attacker_ends(void)
{
	check_signal(attacker);
	check_join(attacker);
}

static void others_are_served_while_the_arena_is_locked(void)
{
	pid_t later = check_fork(victim_later_peer, NULL);

	file_is_locked("soft-hasty-bounce");
	victim_serves_later(later);
	attacker_ends();
}

static void *close_adapter(void *arg)
{
	(void)arg;
	result = dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG);
	atomic_store(&over, true);
	return NULL;
}

static bool is_over(void)
{
	return atomic_load(&over);
}

/* In a thread, so that a call that waits for the attacker fails the test and does not stop it. */
static void returns(void *(*call)(void *arg))
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, call, NULL) == 0);
	CHECK_SOON(is_over());
	attacker_ends();
	REQUIRE(pthread_join(thread, NULL) == 0);
	CHECK_DAT(result, DAT_SUCCESS);
}

static void adapter_is_closed_while_its_arena_is_locked(void)
{
	file_is_locked("soft-hasty-bounce");
	returns(close_adapter);
	api.ia = DAT_HANDLE_NULL;
}

static const struct check_test tests[] = { CHECK_TEST(others_are_served_while_the_arena_is_locked),
					   CHECK_TEST(adapter_is_closed_while_its_arena_is_locked),
					   CHECK_END };

static const struct check_suite suite = { .name = "attacker that locks a memory file", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
