/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incoming connections before they are established, where nobody is hostile. A program accepts a connection just when the
 * service thread looks for connections whose other side has taken too long. The time in which the other side has to confirm
 * begins with the accept, so this connection must not be ended. Neither must one that the program is just requesting. And a
 * process requests many connections at once. At the end come requests that the provider refuses.
 *
 * The program defines epoll_wait() and pthread_mutex_unlock() in place of those of the C library, and they call the real ones.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "hostile/hostile.h"

static struct api_end end;
static DAT_EVD_HANDLE cr_evd;
static struct api_buf buf;
static struct api_offer offer;
static sem_t looks, accepted;
static _Atomic int armed;

/* If the service thread has slept for as long as it wanted, a timer is due, and the program accepts at this moment. */
int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
	int (*real)(int, struct epoll_event *, int, int);
	int once = 1, n;

	*(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
	n = real(fd, events, most, ms);
	if (!n && armed == 2)
		sem_post(&looks);
	if (!n && armed == 1 && __atomic_compare_exchange_n((int *)&armed, &once, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		sem_post(&looks);
		sem_wait(&accepted);
	}
	return n;
}

/* ------------------------------------------------------------------ a connect that meets the look */

static _Thread_local bool connecting;

/* Waits until the service thread has begun a second look, so that it has completed one, or until no look is due any more. */
static void await_a_look(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	armed = 2;
	(void)sem_timedwait(&looks, &until);
	(void)sem_timedwait(&looks, &until);
	armed = 0;
}

/* The provider releases its lock just when it has a socket for the attempt. */
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int (*real)(pthread_mutex_t *);
	int error;

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	error = real(mutex);
	if (connecting) {
		connecting = false;
		await_a_look();
	}
	return error;
}

/* Connects to the parent and sends nothing, so that the parent's service thread looks for it; and is a server. */
static void silent_server(void *arg)
{
	struct api_offer ours;

	(void)arg;
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&ours, cr_evd, &buf);
	check_put(CHECK_PARENT, &ours, sizeof(ours));
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	(void)hostile_reach(offer.qual);
	check_signal(CHECK_PARENT);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(CHECK_PARENT);
	api_close();
}

static void attempt_that_meets_the_look_stands(void)
{
	pid_t peer = check_fork(silent_server, NULL);
	struct api_offer theirs;

	REQUIRE(sem_init(&looks, 0, 0) == 0);
	api_open_as((char *)"soft-hasty");
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, &buf);
	check_get(peer, &theirs, sizeof(theirs));
	check_put(peer, &offer, sizeof(offer));
	check_await(peer);
	connecting = true;
	api_connect_to(&end, &theirs.address, theirs.qual);
	CHECK(!connecting);
	check_signal(peer);
	API_CONN_OVER(end.connect, end.ep);
	check_join(peer);
}

static void client(void *arg)
{
	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	api_end_make(&end, NULL);
	api_connect_to(&end, &offer.address, offer.qual);
	check_await(CHECK_PARENT);
	api_close();
}

/* ------------------------------------------------------------------ many at once */

#define DESCRIPTORS 256
#define BURST	    190 /* more than half of the descriptors; some of these are in use, and some are reserved */
#define FLOOD	    DESCRIPTORS

/* Returns the limit that this process has had so far. */
static struct rlimit descriptors_become_few(void)
{
	struct rlimit limit, few;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	few = limit;
	few.rlim_cur = DESCRIPTORS;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	return limit;
}

static void eager_client(void *arg)
{
	static struct api_end ends[BURST];

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	for (int i = 0; i < BURST; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(api_offer_connect(ends[i].ep, &offer, api_patience()), DAT_SUCCESS);
	}
	check_await(CHECK_PARENT);
	api_close();
}

/* A process that needs many connections may request all of them before the first is answered. */
static void process_may_ask_for_many_while_there_are_descriptors(void)
{
	pid_t peer = check_fork(eager_client, NULL);
	struct rlimit limit;

	limit = descriptors_become_few();
	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(BURST, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, &buf);
	check_put(peer, &offer, sizeof(offer));
	for (int i = 0; i < BURST; i++)
		(void)api_cr(cr_evd);
	check_signal(peer);
	check_join(peer);
	api_close();
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Requests more connections than there are descriptors; the last request is refused. */
static void greedy_client(void *arg)
{
	static struct api_end ends[FLOOD];

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	for (int i = 0; i < FLOOD; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(api_offer_connect(ends[i].ep, &offer, api_patience()), DAT_SUCCESS);
	}
	API_CONN(ends[FLOOD - 1].connect, ends[FLOOD - 1].ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* Requests that nobody answers do not take the last descriptors: another process is served. */
static void process_that_asks_for_too_many_locks_nobody_out(void)
{
	pid_t greedy = check_fork(greedy_client, NULL), later = check_fork(client, NULL);
	struct rlimit limit;
	DAT_EVENT event;
	int shown = 0;

	limit = descriptors_become_few();
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(2 * FLOOD, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, &buf);
	check_put(greedy, &offer, sizeof(offer));
	check_await(greedy);
	while (dat_evd_dequeue(cr_evd, &event) == DAT_SUCCESS)
		shown++;
	CHECK(shown >= DESCRIPTORS / 2 && shown < FLOOD);
	check_put(later, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(later);
	check_join(later);
	check_signal(greedy);
	check_join(greedy);
	api_close();
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* ------------------------------------------------------------------ many of many */

#define CROWDS 4
#define CROWD  80 /* these have more than all descriptors together, but none has half of them */

/* Leaves requests unanswered, and is not told which of them are closed. */
static void crowding_client(void *arg)
{
	static struct hostile each[CROWD];

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	hostile_make(&each[0], HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < CROWD; i++) {
		struct soft_msg msg;

		each[i] = each[0];
		each[i].fd = hostile_reach(offer.qual);
		hostile_message(&each[i], &msg, SOFT_MSG_REQ);
		msg.qual = offer.qual;
		(void)hostile_say(&each[i], &msg, sizeof(msg), true);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void crowds_come(const pid_t *crowds)
{
	DAT_EVENT event;
	DAT_COUNT n;

	for (int i = 0; i < CROWDS; i++)
		check_put(crowds[i], &offer, sizeof(offer));
	for (int i = 0; i < CROWDS; i++)
		check_await(crowds[i]);
	/* the first request of a process waits until it is known how to copy, and the others of it with that */
	CHECK_SOON(api_descriptors() > DESCRIPTORS / 2);
	while (dat_evd_wait(cr_evd, 300000, 1, &event, &n) == DAT_SUCCESS)
		;
}

/* Several processes together take no more of the last descriptors than one alone. */
static void processes_that_ask_for_too_many_together_lock_nobody_out(void)
{
	pid_t crowds[CROWDS], later;
	struct rlimit limit;
	DAT_EVD_HANDLE later_evd;

	for (int i = 0; i < CROWDS; i++)
		crowds[i] = check_fork(crowding_client, NULL);
	later = check_fork(client, NULL);
	limit = descriptors_become_few();
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(2 * CROWDS * CROWD, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, NULL);
	check_stderr_begin();
	crowds_come(crowds);
	CHECK(api_descriptors() > DESCRIPTORS / 2 && api_descriptors() < DESCRIPTORS);
	/* to a service point of its own, so that its request is not taken for one of theirs that comes late */
	later_evd = api_evd(2, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, later_evd, NULL);
	check_put(later, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(later_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_stderr_end();
	check_signal(later);
	check_join(later);
	for (int i = 0; i < CROWDS; i++)
		check_kill(crowds[i]);
	api_close();
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* ------------------------------------------------------------------ requests that are refused */

/* Sends a request that the provider refuses, and then another one over the same socket. */
static void refused_client(void *arg)
{
	struct soft_msg request, answer;
	struct hostile h;

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	h.own.header->version = SOFT_SHM_VERSION + 1;
	h.fd = hostile_reach(offer.qual);
	hostile_message(&h, &request, SOFT_MSG_REQ);
	request.qual = offer.qual;
	REQUIRE(hostile_say(&h, &request, sizeof(request), true));
	CHECK(hostile_hear(&h, &answer) && answer.type == SOFT_MSG_REJ);
	CHECK(hostile_is_hung_up_on(h.fd, (int)check_patience_ms()));
	CHECK(!hostile_say(&h, &request, sizeof(request), true));
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

/* Otherwise a process could send requests for ever over one socket, and each would be answered. */
static void socket_of_a_refused_request_is_closed(void)
{
	pid_t peer = check_fork(refused_client, NULL);
	int before;

	api_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, NULL);
	before = api_descriptors();
	check_stderr_begin();
	check_put(peer, &offer, sizeof(offer));
	check_await(peer);
	check_stderr_end();
	REQUIRE_SOON(api_descriptors() <= before);
	check_join(peer);
}

static void accept_that_meets_the_look_stands(void)
{
	pid_t peer = check_fork(client, NULL);
	DAT_CR_HANDLE cr;

	api_open_as((char *)"soft-hasty");
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, &buf);
	REQUIRE(sem_init(&looks, 0, 0) == 0 && sem_init(&accepted, 0, 0) == 0);
	check_put(peer, &offer, sizeof(offer));
	cr = api_cr(cr_evd);
	armed = 1;
	REQUIRE(sem_wait(&looks) == 0);
	/* so that the time of the accept is later than the time that the service thread has read */
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	sem_post(&accepted);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(peer);
	API_CONN_OVER(end.connect, end.ep);
	check_join(peer);
}

static const struct check_test tests[] = { CHECK_TEST(accept_that_meets_the_look_stands),
	CHECK_TEST(attempt_that_meets_the_look_stands),
	CHECK_TEST(process_may_ask_for_many_while_there_are_descriptors),
	CHECK_TEST(processes_that_ask_for_too_many_together_lock_nobody_out),
	CHECK_TEST(socket_of_a_refused_request_is_closed),
	CHECK_TEST(process_that_asks_for_too_many_locks_nobody_out), CHECK_END };

static const struct check_suite pending = {
	.name = "connections that are not established yet",
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&pending);
