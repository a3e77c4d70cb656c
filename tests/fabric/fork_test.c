/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process with an open adapter forks a child that executes no other program. The child must not keep its parent's connections
 * open: it outlives a parent that is killed, and the peer must still notice that death. Runs in a guest of the lab, over the
 * adapter that OPENDAT_TEST_IA names.
 *
 * This program defines two functions of librdmacm and libibverbs itself, which call those of the libraries.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meet.h"
#include "orphan.h"

#define AREA	4096
#define AT_OPEN 1

/* Another thread forks when the provider has an event channel that it has not yet recorded for the child to close. */
struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *(*real)(void), *channel;

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_create_event_channel");
	channel = real();
	orphan_moment(AT_OPEN);
	return channel;
}

/* ------------------------------------------------------------------ the peer, which is killed */

static void forks_when_connected(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	orphan_now();
	orphan_await();
}

static void forks_while_it_opens(void *arg)
{
	(void)arg;
	orphan_at(AT_OPEN);
	meet_accept(AREA);
	orphan_await();
}

static void has_no_child(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (;;)
		pause();
}

/* ------------------------------------------------------------------ the tests */

/* Checks that the adapter still works: two endpoints of this process connect and exchange data. */
static void works(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &my.buf);
	api_disconnect(&pair);
}

static void killed_peer_is_missed(void (*run)(void *))
{
	DAT_PSP_HANDLE psp;
	pid_t orphan;

	meet_start(run, AREA);
	orphan = orphan_of(my.peer);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	check_kill(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	/* The killed peer's service point is gone too, so its qualifier is free. */
	CHECK_DAT(dat_psp_create(api.ia, my.theirs.qual, my.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_SUCCESS);
	CHECK_EQ_INT(kill(orphan, 0), 0);
	works();
}

static void killed_peer_is_missed_though_its_child_lives(void)
{
	killed_peer_is_missed(forks_when_connected);
}

static void killed_peer_is_missed_though_it_forked_while_it_opened(void)
{
	killed_peer_is_missed(forks_while_it_opens);
}

static void opens_anew(void *arg)
{
	(void)arg;
	meet_open(AREA);
	works();
	api_close();
}

static void child_opens_anew_and_leaves_its_parents_connections(void)
{
	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer allows a forked child no threads");
	meet_start(has_no_child, AREA);
	check_join(check_fork(opens_anew, NULL));
	API_QUIET(my.end.connect);
	API_STATE(my.end.ep, DAT_EP_STATE_CONNECTED);
	works();
	check_kill(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
}

/* ------------------------------------------------------------------ cancellation */

static __thread bool cancelled_at_close;

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	int (*real)(struct ibv_comp_channel *channel);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_destroy_comp_channel");
	if (cancelled_at_close)
		pthread_cancel(pthread_self());
	return real(channel);
}

static void *free_evd(void *arg)
{
	DAT_RETURN ret;

	cancelled_at_close = true;
	ret = dat_evd_free(*(DAT_EVD_HANDLE *)arg);
	CHECK_DAT(ret, DAT_SUCCESS);
	pthread_testcancel();
	CHECK_FAIL("the thread is not cancelled after the call either");
	return NULL;
}

static _Atomic bool forked;

static void *fork_once(void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	atomic_store(&forked, true);
	return arg;
}

/* The thread is cancelled while the provider closes a descriptor and holds a lock (datp_fork_hold()) that a later fork needs. */
static void process_forks_though_a_thread_was_cancelled_as_it_closed(void)
{
	DAT_EVD_HANDLE evd;
	pthread_t thread;
	void *result;

	api_open();
	evd = api_evd(8, DAT_EVD_DTO_FLAG);
	REQUIRE(pthread_create(&thread, NULL, free_evd, &evd) == 0);
	REQUIRE(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	REQUIRE(pthread_create(&thread, NULL, fork_once, NULL) == 0);
	pthread_detach(thread);
	REQUIRE_SOON(atomic_load(&forked));
}

static void leave_nothing(void)
{
	api_close();
	orphan_end();
}

static const struct check_test tests[] = {
	CHECK_TEST(killed_peer_is_missed_though_its_child_lives),
	CHECK_TEST(killed_peer_is_missed_though_it_forked_while_it_opened),
	CHECK_TEST(child_opens_anew_and_leaves_its_parents_connections),
	CHECK_TEST(process_forks_though_a_thread_was_cancelled_as_it_closed),
	CHECK_END
};

static const struct check_suite forks = {
	.name = "fork",
	.teardown = leave_nothing,
	.tests = tests,
};

CHECK_SUITES(&forks);
