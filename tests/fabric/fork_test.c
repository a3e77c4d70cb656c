/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process with an open adapter forks a child that executes no other program. The child must not keep its parent's connections
 * open: it outlives a parent that is killed, and the peer must still notice that death. Runs in a guest of the lab, over the
 * adapter that OPENDAT_TEST_IA names.
 *
 * This program defines functions of librdmacm, libibverbs and libdatp itself, which call those of the libraries.
 */
#include <datp/provider.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meet.h"
#include "orphan.h"

#define AREA	4096
#define AT_OPEN 1
#define NOBODYS 7474 /* nobody listens there */

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

/* ------------------------------------------------------------------ a thread that connects for an endpoint */

static __thread bool connects;	   /* this thread has called rdma_connect() for an endpoint */
static _Atomic bool tells_late;	   /* such a thread waits for `may_tell` before it tells its result */
static sem_t tells, may_tell;

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *, struct rdma_conn_param *);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_connect");
	connects = true;
	return real(id, param);
}

/* Interposes libdatp's. A thread that has connected calls this with a lock of the provider that is common to all adapters. */
enum datp_err datp_loop_call(struct datp_ia *ia, void (*fn)(void *arg), void *arg)
{
	enum datp_err (*real)(struct datp_ia *, void (*)(void *), void *);

	if (connects && atomic_exchange(&tells_late, false)) {
		sem_post(&tells);
		sem_wait(&may_tell);
	}
	*(void **)&real = dlsym(dlopen("libdatp.so.0", RTLD_LAZY | RTLD_NOLOAD), "datp_loop_call");
	return real(ia, fn, arg);
}

static void child_closes_an_adapter_though_a_thread_of_its_parent_was_connecting(void)
{
	struct api_end end;
	pid_t child;

	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer allows a forked child no threads");
	REQUIRE(!sem_init(&tells, 0, 0) && !sem_init(&may_tell, 0, 0));
	api_open();
	api_end_make(&end, NULL);
	atomic_store(&tells_late, true);
	REQUIRE_DAT(api_connect(end.ep, NOBODYS), DAT_SUCCESS);
	sem_wait(&tells);
	child = check_fork(opens_anew, NULL);
	check_join(child);
	sem_post(&may_tell);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
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

/* This suite is for adapters that call rdma_connect() in a thread of its own. */
static const struct check_test iw_tests[] = {
	CHECK_TEST(child_closes_an_adapter_though_a_thread_of_its_parent_was_connecting),
	CHECK_END
};

static const struct check_suite forks = {
	.name = "any fork",
	.teardown = leave_nothing,
	.tests = tests,
};

static const struct check_suite iw_forks = {
	.name = "iw fork",
	.teardown = leave_nothing,
	.tests = iw_tests,
};

CHECK_SUITES(&forks, &iw_forks);
