/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attempts to connect: how the providers give one up while a thread still works on it, which thread calls rdma_connect(), and what
 * happens if the local port is taken. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA names.
 */
#include <datp/provider.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "api.h"
#include "twist.h"

#define FOREIGN	     7473 /* nobody listens there */
#define HANDSHAKE_MS 250  /* a reachable host is assumed to answer within this time */

static struct api_end ended;

static void open_end(void)
{
	api_open();
	REQUIRE(!sem_init(&twist.reached, 0, 0) && !sem_init(&twist.open, 0, 0));
	api_end_make(&ended, NULL);
}

/* Connects where nobody listens, with this limit in microseconds. */
static DAT_RETURN connect_in_vain(DAT_TIMEOUT limit)
{
	return dat_ep_connect(ended.ep, api_address(), FOREIGN, limit, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static _Atomic bool over_already;

static void *connects_slowly(void *arg)
{
	twist_here.slow_to_connect = true;
	*(DAT_RETURN *)arg = api_connect(ended.ep, FOREIGN);
	return arg;
}

static void *ends_at_once(void *arg)
{
	*(DAT_RETURN *)arg = dat_ep_disconnect(ended.ep, DAT_CLOSE_ABRUPT_FLAG);
	atomic_store(&over_already, true);
	return arg;
}

/* A disconnect must not destroy an attempt while another thread is still in dat_ep_connect(). It waits for that call. */
static void attempt_is_not_over_before_it_has_begun(void)
{
	DAT_RETURN connected, disconnected;
	pthread_t connects, ends;

	open_end();
	REQUIRE_EQ_INT(pthread_create(&connects, NULL, connects_slowly, &connected), 0);
	sem_wait(&twist.reached);
	REQUIRE_EQ_INT(pthread_create(&ends, NULL, ends_at_once, &disconnected), 0);
	usleep(300000); /* enough time for the disconnect to return too early */
	CHECK(!atomic_load(&over_already));
	sem_post(&twist.open);
	pthread_join(connects, NULL);
	pthread_join(ends, NULL);
	CHECK_DAT(connected, DAT_SUCCESS);
	CHECK_DAT(disconnected, DAT_SUCCESS);
	API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * A cancellation interrupts siw's rdma_connect() even if the peer is just answering. The peer's TCP connection then ends before siw
 * has accepted it, and siw takes that for the end of the listener: no other client can connect, and the kernel may crash. So the
 * provider waits for an answer first.
 */
static void attempt_is_not_cut_off_while_the_peer_may_be_answering(void)
{
	uint64_t since;

	open_end();
	atomic_store(&twist.never_connects, true);
	since = check_now_ms();
	REQUIRE_DAT(api_connect(ended.ep, FOREIGN), DAT_SUCCESS);
	sem_wait(&twist.reached);
	CHECK_DAT(dat_ep_disconnect(ended.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	sem_wait(&twist.open);
	CHECK(atomic_load(&twist.cut_off_ms) - since >= HANDSHAKE_MS);
	API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static _Atomic int waits; /* count: calls of pthread_cond_timedwait() */

/* Interposes the C library's. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	atomic_fetch_add(&waits, 1);
	return real(cond, mutex, until);
}

/*
 * Connects in vain and takes the event for the time limit, with a worker that stays in rdma_connect(). On a slow machine the limit
 * may pass before the worker is there, and then the attempt is made again with a longer one. Returns when the attempt began.
 */
static uint64_t attempt_times_out(void)
{
	open_end();
	for (DAT_TIMEOUT limit = 50000;; limit *= 2) {
		uint64_t since = check_now_ms();

		atomic_store(&waits, 0);
		atomic_store(&twist.never_connects, true);
		REQUIRE_DAT(connect_in_vain(limit), DAT_SUCCESS);
		API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
		/* the worker that takes this switch posts `reached` */
		if (!atomic_exchange(&twist.never_connects, false)) {
			sem_wait(&twist.reached);
			return since;
		}
		REQUIRE_DAT(dat_ep_reset(ended.ep), DAT_SUCCESS);
	}
}

/* The service thread ends an attempt that has timed out. It has other connections to serve, and does not wait for the cut-off. */
static void attempt_that_times_out_does_not_hold_up_the_service_thread(void)
{
	uint64_t since = attempt_times_out();

	sem_wait(&twist.open);
	CHECK(atomic_load(&twist.cut_off_ms) - since >= HANDSHAKE_MS);
	CHECK_EQ_INT(atomic_load(&waits), 0);
}

/* The next queue pair may get the same number, and a worker that has not called the kernel yet would connect that one. */
static void queue_pair_of_an_attempt_that_has_timed_out_stays_until_the_cut_off(void)
{
	uint64_t since = attempt_times_out();

	REQUIRE_DAT(dat_ep_reset(ended.ep), DAT_SUCCESS);
	CHECK(check_now_ms() - since >= HANDSHAKE_MS);
	sem_wait(&twist.open);
}

/* The adapter is closed before the service thread would have cut the attempt off. */
static void attempt_that_has_timed_out_is_cut_off_by_the_end_of_its_adapter(void)
{
	attempt_times_out();
	api_close();
	sem_wait(&twist.open);
}

/*
 * Connects twice. Returns true if the same thread called rdma_connect() both times, which is the service thread. If the call may
 * block, each attempt has a thread of its own.
 */
static bool one_thread_connects(void)
{
	struct api_pair pair;
	int first;

	api_open();
	api_pair_make(&pair, NULL);
	first = atomic_load(&twist.connector);
	api_pair_make(&pair, NULL);
	CHECK(first != gettid());
	return atomic_load(&twist.connector) == first;
}

static void attempt_takes_a_thread_where_it_may_block(void)
{
	CHECK(!one_thread_connects());
}

static void attempt_takes_no_thread_where_it_does_not_block(void)
{
	CHECK(one_thread_connects());
}

/* The kernel picks a local port that no rdma_cm_id uses, but a TCP connection may use it. */
static void attempt_whose_local_port_is_taken_gets_another(void)
{
	struct api_pair pair;
	struct api_buf buf;

	api_open();
	atomic_store(&twist.ports_taken, 1);
	api_pair_make(&pair, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_works(&pair, &buf);
	CHECK_EQ_INT(atomic_load(&twist.ports_taken), 0);
}

static void attempt_that_finds_no_local_port_names_the_cause(void)
{
	api_open();
	api_end_make(&ended, NULL);
	atomic_store(&twist.ports_taken, 1000000);
	check_stderr_begin();
	REQUIRE_DAT(api_connect(ended.ep, FOREIGN), DAT_SUCCESS);
	API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	CHECK_HAS_STR(check_stderr_end(), "Address already in use");
}

/* ------------------------------------------------------------------ without memory */

static __thread bool no_memory;

/* Interposes libdatp's: while `no_memory` is set, there is none for the thread's calls that the service thread is to make. */
enum datp_err datp_ep_call(struct datp_ep *ep, void (*fn)(struct datp_ep *ep))
{
	enum datp_err (*real)(struct datp_ep *, void (*)(struct datp_ep *));

	if (no_memory)
		return DATP_ERR_MEMORY;
	*(void **)&real = dlsym(dlopen("libdatp.so.0", RTLD_LAZY | RTLD_NOLOAD), "datp_ep_call");
	return real(ep, fn);
}

static void connect_that_fails_without_memory_has_its_event(void)
{
	open_end();
	atomic_store(&twist.resolve_fails, true);
	no_memory = true;
	CHECK_DAT(connect_in_vain(DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	no_memory = false;
	API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* The connection request is used up by then, so a second accept would have none. */
static void accept_that_fails_without_memory_has_its_event(void)
{
	struct api_end asks;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	struct api_buf buf;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	open_end();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	api_end_make(&asks, NULL);
	REQUIRE_DAT(api_recv(ended.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(asks.ep, qual), DAT_SUCCESS);
	cr = api_cr(cr_evd);
	atomic_store(&twist.accept_fails, true);
	no_memory = true;
	ret = dat_cr_accept(cr, ended.ep, 0, NULL);
	no_memory = false;
	CHECK(!atomic_load(&twist.accept_fails));
	if (ret == DAT_SUCCESS)
		API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	else
		CHECK_DAT(dat_cr_accept(cr, ended.ep, 0, NULL), DAT_SUCCESS);
	api_end_free(&ended);
	API_CONN(asks.connect, asks.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* Connects where no route is found in time. Returns how often it was looked for. */
static int routes_in_vain(const char *tries, const char *ms)
{
	int before = atomic_load(&twist.routes);

	setenv("DAPL_CM_ARP_RETRY_COUNT", "3", 1);
	setenv("DAPL_CM_ROUTE_RETRY_COUNT", tries, 1);
	setenv("DAPL_CM_ROUTE_TIMEOUT_MS", ms, 1);
	api_open();
	unsetenv("DAPL_CM_ARP_RETRY_COUNT");
	unsetenv("DAPL_CM_ROUTE_RETRY_COUNT");
	unsetenv("DAPL_CM_ROUTE_TIMEOUT_MS");
	api_end_make(&ended, NULL);
	atomic_store(&twist.route_lost, true);
	REQUIRE_DAT(api_connect(ended.ep, FOREIGN), DAT_SUCCESS);
	/* the kernel refuses the second look, because it has found the route at the first */
	API_CONN(ended.connect, ended.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	CHECK_EQ_INT(atomic_load(&twist.route_ms), atoi(ms));
	api_close();
	return atomic_load(&twist.routes) - before;
}

static void route_has_a_time_and_a_number_of_attempts_of_its_own(void)
{
	CHECK_EQ_INT(routes_in_vain("1", "700"), 1);
	CHECK_EQ_INT(routes_in_vain("2", "900"), 2);
}

static const struct check_test iw_tests[] = {
	CHECK_TEST(attempt_is_not_cut_off_while_the_peer_may_be_answering),
	CHECK_TEST(attempt_that_times_out_does_not_hold_up_the_service_thread),
	CHECK_TEST(queue_pair_of_an_attempt_that_has_timed_out_stays_until_the_cut_off),
	CHECK_TEST(attempt_that_has_timed_out_is_cut_off_by_the_end_of_its_adapter),
	CHECK_TEST(attempt_takes_a_thread_where_it_may_block),
	CHECK_END
};

static const struct check_test prompt_tests[] = {
	CHECK_TEST(attempt_takes_no_thread_where_it_does_not_block),
	CHECK_END
};

static const struct check_test all_tests[] = {
	CHECK_TEST(attempt_is_not_over_before_it_has_begun),
	CHECK_TEST(attempt_whose_local_port_is_taken_gets_another),
	CHECK_TEST(route_has_a_time_and_a_number_of_attempts_of_its_own),
	CHECK_TEST(connect_that_fails_without_memory_has_its_event),
	CHECK_TEST(accept_that_fails_without_memory_has_its_event),
	CHECK_TEST(attempt_that_finds_no_local_port_names_the_cause),
	CHECK_END
};

static const struct check_suite iw_attempts = {
	.name = "iw attempt",
	.teardown = api_close,
	.tests = iw_tests,
};

static const struct check_suite all_attempts = {
	.name = "any attempt",
	.teardown = api_close,
	.tests = all_tests,
};

/* This suite is for an InfiniBand device, or an adapter that has quirk=-connect_blocks. */
static const struct check_suite prompt_attempts = {
	.name = "prompt attempt",
	.teardown = api_close,
	.tests = prompt_tests,
};

CHECK_SUITES(&iw_attempts, &all_attempts, &prompt_attempts);
