/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that takes away what others have put into the words of a queue: the list of ports that have events, and the thread to
 * wake. The service thread finds what is missing by two looks at the latest (lost.c). A thread of the test stands in for that
 * peer, since both write to the same memory. It takes away all the time, also while the service thread looks.
 *
 * Each test waits until something has been taken away, and then for the event that was lost by that. Without the looks it fails.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "meet.h"
#include "providers/soft/cq.h"

#define SIZE   ((size_t)512 << 10)
#define ROUNDS 20 /* the service thread may look at any moment, and leave nothing to take away: then the test tries again */

static struct api_pair own; /* a connection of the adapter with itself, so that it has two peers: itself and the forked one */
static struct {
	_Atomic uint32_t *word;
	_Atomic bool over, took;
	pthread_t thread;
} taker;

static void *take_away(void *arg)
{
	while (!atomic_load_explicit(&taker.over, memory_order_relaxed))
		if (atomic_exchange_explicit(taker.word, 0, memory_order_relaxed))
			atomic_store_explicit(&taker.took, true, memory_order_relaxed);
	return arg;
}

static struct soft_ring *ring_of(DAT_EVD_HANDLE evd)
{
	return soft_evd((struct datp_evd *)evd)->cq.ring;
}

static void taker_start(_Atomic uint32_t *word)
{
	taker.word = word;
	atomic_store(&taker.over, false);
	atomic_store(&taker.took, false);
	REQUIRE(pthread_create(&taker.thread, NULL, take_away, NULL) == 0);
}

static void taker_stop(void)
{
	if (!taker.word)
		return;
	atomic_store(&taker.over, true);
	pthread_join(taker.thread, NULL);
	taker.word = NULL;
}

/* Returns true if the timer is set for a look, that is, to more than 10 ms: if something waits for a peer, it is set to less. */
static bool timer_runs(void)
{
	struct soft_ia *ia = soft_evd((struct datp_evd *)my.end.recv)->cq.ia;
	/* relaxed: either the time before a change or that after it will do */
	uint64_t when = atomic_load_explicit(&ia->tick.when, memory_order_relaxed);

	return when > datp_clock_us() + 10000;
}

static void teardown(void)
{
	taker_stop();
	api_close();
}

/* ---- the ready list ---- */

static void receives_late(void *arg)
{
	bool more;

	(void)arg;
	meet_accept(SIZE);
	for (check_get(CHECK_PARENT, &more, sizeof(more)); more; check_get(CHECK_PARENT, &more, sizeof(more))) {
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, SIZE, 1), DAT_SUCCESS);
		API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_SUCCESS, SIZE);
		check_signal(CHECK_PARENT);
	}
	api_close();
}

/* The target executes the send when it posts its receive, and can report that only by the ready list. */
static void completion_is_found_though_a_peer_empties_the_list(void)
{
	bool more = true, took = false;

	meet_start(receives_late, SIZE);
	api_pair_make(&own, NULL);
	taker_start(&ring_of(my.end.request)->ready_list);
	for (int i = 0; i < ROUNDS && !took; i++) {
		REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, SIZE, 1, 0), DAT_SUCCESS);
		check_put(my.peer, &more, sizeof(more));
		check_await(my.peer);
		/* the taker may not have run, and the service thread may have come first */
		REQUIRE_SOON(atomic_load(&taker.took) || !atomic_load(taker.word));
		took = atomic_load(&taker.took);
		API_DTO(my.end.request, my.end.ep, 1, DAT_DTO_SUCCESS, SIZE);
	}
	CHECK(took);
	more = false;
	check_put(my.peer, &more, sizeof(more));
	check_join(my.peer);
}

static void idles(void *arg)
{
	(void)arg;
	meet_accept(SIZE);
	check_await(CHECK_PARENT);
	api_close();
}

/* The lost completion is of the adapter's connection with itself, which is its only peer after the forked one has gone. */
static void completion_is_found_when_the_peer_that_took_it_away_has_gone(void)
{
	meet_start(idles, SIZE);
	api_pair_make(&own, NULL);
	taker_start(&ring_of(own.a.request)->ready_list);
	REQUIRE_DAT(api_send(own.a.ep, &my.buf, 0, SIZE, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(own.b.ep, &my.buf, 0, SIZE, 2), DAT_SUCCESS);
	CHECK_SOON(atomic_load(&taker.took));
	taker_stop();
	check_signal(my.peer);
	check_join(my.peer);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(own.a.request, own.a.ep, 1, DAT_DTO_SUCCESS, SIZE);
	API_DTO(own.b.recv, own.b.ep, 2, DAT_DTO_SUCCESS, SIZE);
	CHECK_SOON(!timer_runs());
}

/* ---- the thread to wake ---- */

static void sends_late(void *arg)
{
	(void)arg;
	meet_accept(SIZE);
	check_await(CHECK_PARENT);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, 8, 1, 0), DAT_SUCCESS);
	API_DTO(my.end.request, my.end.ep, 1, DAT_DTO_SUCCESS, 8);
	check_await(CHECK_PARENT);
	api_close();
}

static struct {
	pthread_t thread;
	_Atomic pid_t tid;
	_Atomic bool done;
	DAT_RETURN ret;
} sleeper;

/* Waits without a timeout, because the wait would also find the event when a timeout expires. */
static void *sleep_for_an_event(void *evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	atomic_store(&sleeper.tid, gettid());
	sleeper.ret = dat_evd_wait((DAT_EVD_HANDLE)evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	atomic_store(&sleeper.done, true);
	return NULL;
}

static void sleeper_is_woken_though_a_peer_overwrites_its_request(void)
{
	meet_start(sends_late, SIZE);
	api_pair_make(&own, NULL);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 8, 1), DAT_SUCCESS);
	taker_start(&ring_of(my.end.recv)->notify);
	atomic_store(&sleeper.done, false);
	REQUIRE(pthread_create(&sleeper.thread, NULL, sleep_for_an_event, my.end.recv) == 0);
	/* nothing wakes the waiter after its wake-up has been taken away and before it sleeps */
	REQUIRE_SOON(atomic_load(&taker.took) && check_sleeps(atomic_load(&sleeper.tid)));
	check_signal(my.peer);
	REQUIRE_SOON(atomic_load(&sleeper.done));
	pthread_join(sleeper.thread, NULL);
	CHECK_DAT(sleeper.ret, DAT_SUCCESS);
	check_signal(my.peer);
	check_join(my.peer);
}

/* A sender wakes the service thread of the queue's owner, which triggers the CNO, if the ring's word `notify` asks for that. */
static void cno_is_told_though_a_peer_takes_away_that_it_is_to_be(void)
{
	DAT_CNO_HANDLE cno;
	struct api_waiter waiter;

	meet_start(idles, SIZE);
	cno = api_cno();
	api_end_make(&own.a, NULL);
	own.b.request = api_evd(8, DAT_EVD_DTO_FLAG);
	own.b.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	own.b.recv = api_evd_cno(8, DAT_EVD_DTO_FLAG, cno);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, own.b.recv, own.b.request, own.b.connect, NULL, &own.b.ep), DAT_SUCCESS);
	api_pair_meet(&own);
	REQUIRE_DAT(api_recv(own.b.ep, &my.buf, 0, 8, 2), DAT_SUCCESS);
	api_cno_wait_start(&waiter, cno);
	taker_start(&ring_of(own.b.recv)->notify);
	CHECK_SOON(atomic_load(&taker.took));
	REQUIRE_DAT(api_send(own.a.ep, &my.buf, SIZE / 2, 8, 1, 0), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK(waiter.hint == own.b.recv);
	API_DTO(own.b.recv, own.b.ep, 2, DAT_DTO_SUCCESS, 8);
	check_signal(my.peer);
	check_join(my.peer);
}

/* ---- what it costs ---- */

static void one_peer_costs_no_look_and_two_do(void)
{
	meet_start(idles, SIZE);
	CHECK_SOON(!timer_runs());
	api_pair_make(&own, NULL);
	CHECK_SOON(timer_runs());
	check_signal(my.peer);
	check_join(my.peer);
}

static const struct check_test tests[] = {
	CHECK_TEST(completion_is_found_though_a_peer_empties_the_list),
	CHECK_TEST(completion_is_found_when_the_peer_that_took_it_away_has_gone),
	CHECK_TEST(sleeper_is_woken_though_a_peer_overwrites_its_request),
	CHECK_TEST(cno_is_told_though_a_peer_takes_away_that_it_is_to_be),
	CHECK_TEST(one_peer_costs_no_look_and_two_do),
	CHECK_END
};

static const struct check_suite lost = { .name = "soft lost", .teardown = teardown, .tests = tests };

CHECK_SUITES(&lost);
