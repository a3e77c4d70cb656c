/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that open connections and send no request over them: the victim, which has few descriptors, keeps serving honest peers, and
 * does not take a peer that is only slow for one that floods it.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

#define MANY 600 /* half-open connections */
#define SOME 150 /* the victim's descriptors are enough for them */
#define FEW  256 /* descriptors that the victim may have */

static pid_t attacker;
static struct rlimit before;

static void victim_opens_with_few(const char *adapter)
{
	struct rlimit few;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	few = before;
	few.rlim_cur = FEW;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	victim_opens_as(adapter, 4096);
}

static void victim_may_have_many(void)
{
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

/* The service thread accepts connections in order, so it has accepted all others when this request arrives. */
static void all_are_accepted(void)
{
	REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(victim.cr_evd)), DAT_SUCCESS);
}

static void leave_half_open(void *arg)
{
	uint64_t where = victim_is_at();
	struct rlimit limit;
	static int fds[MANY];

	(void)arg;
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < MANY; i++)
		fds[i] = hostile_reach(where);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	/* the connections that are left have a limited time to send their request */
	for (int i = 0; i < MANY; i++)
		CHECK(hostile_is_hung_up_on(fds[i], (int)check_patience_ms()));
	check_signal(CHECK_PARENT);
}

static void half_open_connections_lock_nobody_out(void)
{
	const char *said;
	pid_t later;

	attacker = check_fork(leave_half_open, NULL);
	later = check_fork(victim_later_peer, NULL);
	victim_opens_with_few("soft-hasty");
	check_stderr_begin();
	victim_tells(attacker);
	check_await(attacker);
	victim_serves_later(later);
	check_signal(attacker);
	check_await(attacker);
	said = check_stderr_end();
	CHECK(victim_said_lines(said) < 10);
	CHECK_HAS_STR(said, "nothing has been received");
	check_join(attacker);
	victim_may_have_many();
}

/* A peer that opens one or two connections, and sends nothing yet, because its processor is busy. */
static void open_and_wait(void *arg)
{
	const int *count = arg;
	uint64_t where = victim_is_at();
	int fds[2];

	for (int i = 0; i < *count; i++)
		fds[i] = hostile_reach(where);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	for (int i = 0; i < *count; i++) {
		CHECK(!hostile_is_hung_up_on(fds[i], 0));
		close(fds[i]);
	}
}

static void half_open_connection_is_not_displaced_by_those_of_another_process(void)
{
	int one = 1;
	pid_t slow;

	attacker = check_fork(leave_half_open, NULL);
	slow = check_fork(open_and_wait, &one);
	victim_opens_with_few(api_ia_name());
	victim_tells(slow);
	check_await(slow);
	victim_tells(attacker);
	check_await(attacker);
	all_are_accepted();
	check_signal(slow);
	check_join(slow);
	check_kill(attacker);
	victim_may_have_many();
}

/* Many processes of an attacker, each of which has one half-open connection. */
static void open_one_each(void *arg)
{
	uint64_t where = victim_is_at();
	pid_t child[FEW / 4];
	int ready[2];
	char byte;

	(void)arg;
	REQUIRE(pipe(ready) == 0);
	for (unsigned int i = 0; i < FEW / 4; i++) {
		child[i] = fork();
		REQUIRE(child[i] >= 0);
		if (!child[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			hostile_reach(where);
			if (write(ready[1], "", 1) == 1)
				pause();
			_exit(0);
		}
		REQUIRE(read(ready[0], &byte, 1) == 1);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	for (unsigned int i = 0; i < FEW / 4; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
}

static void half_open_connections_of_many_processes_do_not_displace_two_of_one(void)
{
	int two = 2;
	pid_t slow;

	attacker = check_fork(open_one_each, NULL);
	slow = check_fork(open_and_wait, &two);
	victim_opens_with_few(api_ia_name());
	victim_tells(attacker);
	check_await(attacker);
	victim_tells(slow);
	check_await(slow);
	all_are_accepted();
	check_signal(slow);
	check_join(slow);
	check_signal(attacker);
	check_join(attacker);
	victim_may_have_many();
}

/*
 * One request whose probe does not end before the bound, and half-open connections of the same process, which are not read until
 * then.
 */
static void ask_slowly_and_leave_half_open(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	h.probe = (uintptr_t)trap_at();
	if (!trap_set_and_tell())
		return;
	hostile_request(&h, where);
	trap_await();
	for (int i = 0; i < SOME; i++)
		hostile_reach(where);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	trap_release();
	hostile_close(&h);
}

/* Long before the time limit of a handshake. */
static bool descriptors_become_few(int most)
{
	uint64_t until = check_now_ms() + 10000;

	while (api_descriptors() > most && check_now_ms() < until)
		check_nap();
	return api_descriptors() <= most;
}

static void half_open_connections_beside_a_slow_request_are_no_more_than_others(void)
{
	int files;

	attacker = check_fork(ask_slowly_and_leave_half_open, NULL);
	victim_opens_with_few("soft-brisk");
	files = api_descriptors();
	victim_tells(attacker);
	trap_need(attacker);
	check_await(attacker);
	REQUIRE_DAT(dat_cr_reject(api_cr(victim.cr_evd)), DAT_SUCCESS);
	CHECK(descriptors_become_few(files + FEW / 4));
	check_signal(attacker);
	check_join(attacker);
	victim_may_have_many();
}

static const struct check_test tests[] = {
	CHECK_TEST(half_open_connections_lock_nobody_out),
	CHECK_TEST(half_open_connection_is_not_displaced_by_those_of_another_process),
	CHECK_TEST(half_open_connections_of_many_processes_do_not_displace_two_of_one),
	CHECK_TEST(half_open_connections_beside_a_slow_request_are_no_more_than_others),
	CHECK_END
};

static const struct check_suite suite = { .name = "half-open connections", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
