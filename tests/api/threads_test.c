/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads on one IA. The functions that the specification calls thread safe are called by several
 * threads at once, the other functions by one thread at a time for each object. Run these under the
 * thread sanitizer as well.
 */
#include <string.h>
#include <unistd.h>

#include "api.h"

#define THREADS 4

static struct api_buf buf;

static void setup(void)
{
	api_open();
	buf = api_buf(1 << 20, DAT_MEM_PRIV_ALL_FLAG);
}

/* Runs a function in several threads, each with a number of its own. */
struct worker {
	pthread_t thread;
	int number;
	void (*run)(int number);
};

static void *work(void *arg)
{
	struct worker *worker = arg;

	worker->run(worker->number);
	return NULL;
}

static void in_threads(void (*run)(int number))
{
	struct worker workers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .number = i, .run = run };
		REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
}

static void churn_objects(int number)
{
	for (int i = 0; i < 100; i++) {
		unsigned char *mem = buf.mem + number * 4096;
		DAT_PZ_HANDLE pz = api_pz();
		struct api_buf region = api_buf_in(pz, mem, 4096, DAT_MEM_PRIV_ALL_FLAG);
		DAT_CNO_HANDLE cno = api_cno();
		DAT_EVD_HANDLE evd = api_evd_cno(8, DAT_EVD_SOFTWARE_FLAG, cno);
		DAT_IA_ATTR attr;
		struct api_end end;
		DAT_RMR_HANDLE rmr;

		api_end_make(&end, NULL);
		REQUIRE_DAT(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
		REQUIRE_DAT(dat_ia_query(api.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL),
			    DAT_SUCCESS);
		REQUIRE_DAT(api_post_se(evd, (uint64_t)i), DAT_SUCCESS);
		API_SE(evd, (uint64_t)i);
		api_end_free(&end);
		CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
		CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
		CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
		CHECK_DAT(dat_lmr_free(region.lmr), DAT_SUCCESS);
		CHECK_DAT(dat_pz_free(pz), DAT_SUCCESS);
	}
}

static void objects_are_made_and_freed_by_many_threads(void)
{
	in_threads(churn_objects);
}

static void churn_connections(int number)
{
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_end a, b;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	size_t at = (size_t)number * 65536;

	for (int i = 0; i < 25; i++) {
		psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
		api_end_make(&a, NULL);
		api_end_make(&b, NULL);
		REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_DAT(api_recv(b.ep, &buf, at, 1000, 1), DAT_SUCCESS);
		REQUIRE_DAT(api_send(a.ep, &buf, at + 4096, 1000, 2, 0), DAT_SUCCESS);
		API_DTO(b.recv, b.ep, 1, DAT_DTO_SUCCESS, 1000);
		API_DTO(a.request, a.ep, 2, DAT_DTO_SUCCESS, 1000);
		REQUIRE_DAT(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		api_end_free(&a);
		api_end_free(&b);
		REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	}
}

static void connections_are_made_and_ended_by_many_threads(void)
{
	in_threads(churn_connections);
}

/*
 * The most common program: one thread accepts, others connect, exchange messages and free, all on
 * one IA.
 */
static struct {
	DAT_EVD_HANDLE cr_evd, dto, conn;
	DAT_CONN_QUAL qual;
	int accepted; /* atomic */
	bool stop;    /* atomic */
} server;

static void *accept_loop(void *arg)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_EP_HANDLE ep;

	(void)arg;
	while (!__atomic_load_n(&server.stop, __ATOMIC_ACQUIRE)) {
		if (dat_evd_wait(server.cr_evd, 20000, 1, &event, &nmore) != DAT_SUCCESS)
			continue;
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, server.dto, server.dto, server.conn, NULL,
					  &ep),
			    DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0,
					  NULL),
			    DAT_SUCCESS);
		__atomic_fetch_add(&server.accepted, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void be_client(int number)
{
	DAT_LMR_TRIPLET from = api_seg(&buf, (size_t)number * 64, 64);
	DAT_RMR_TRIPLET to = api_target(&buf, 4096 + (size_t)number * 64, 64);

	for (int i = 0; i < 25; i++) {
		struct api_end end;

		api_end_make(&end, NULL);
		REQUIRE_DAT(api_connect(end.ep, server.qual), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_DAT(api_write(end.ep, from, to, 1, 0), DAT_SUCCESS);
		API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, 64);
		api_end_free(&end);
	}
}

static void one_thread_waits_for_requests_while_others_create_wait_and_free(void)
{
	pthread_t acceptor;

	memset(&server, 0, sizeof(server));
	server.cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	server.dto = api_evd(64, DAT_EVD_DTO_FLAG);
	server.conn = api_evd(4 * THREADS * 25, DAT_EVD_CONNECTION_FLAG);
	api_listen(server.cr_evd, DAT_PSP_CONSUMER_FLAG, &server.qual);
	REQUIRE(pthread_create(&acceptor, NULL, accept_loop, NULL) == 0);
	in_threads(be_client);
	__atomic_store_n(&server.stop, true, __ATOMIC_RELEASE);
	REQUIRE(pthread_join(acceptor, NULL) == 0);
	CHECK_EQ_INT(server.accepted, THREADS * 25);
}

/* Exactly one of the threads that dequeue gets each event. */
#define EVENTS 20000

static DAT_EVD_HANDLE shared_evd;
static unsigned char seen[EVENTS];
static int total; /* atomic */

static void take_events(int number)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_EVENT event;

	if (number == 0) {
		/* The thread that posts has to serialise its posts. */
		for (uintptr_t n = 0; n < EVENTS; n++)
			while (DAT_GET_TYPE(api_post_se(shared_evd, n)) == DAT_QUEUE_FULL &&
			       check_now_ms() < until)
				sched_yield();
		return;
	}
	while (__atomic_load_n(&total, __ATOMIC_ACQUIRE) < EVENTS && check_now_ms() < until) {
		DAT_RETURN ret = DAT_GET_TYPE(dat_evd_dequeue(shared_evd, &event));

		if (ret == DAT_QUEUE_EMPTY) {
			sched_yield();
			continue;
		}
		REQUIRE_EQ_INT(ret, DAT_SUCCESS);
		__atomic_fetch_add(&seen[(uintptr_t)event.event_data.software_event_data.pointer],
				   1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&total, 1, __ATOMIC_ACQ_REL);
	}
}

static void every_event_is_delivered_exactly_once(void)
{
	shared_evd = api_evd(100, DAT_EVD_SOFTWARE_FLAG);
	memset(seen, 0, sizeof(seen));
	total = 0;
	in_threads(take_events);
	CHECK_EQ_INT(total, EVENTS);
	for (int i = 0; i < EVENTS; i++)
		REQUIRE_EQ_INT(seen[i], 1);
	API_EMPTY(shared_evd);
}

static void several_waiters_on_a_cno_lose_no_event(void)
{
	enum { WAITERS = 4 };
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = api_evd_cno(64, DAT_EVD_SOFTWARE_FLAG, cno);
	struct api_waiter waiters[WAITERS];
	DAT_EVENT event;

	for (int i = 0; i < WAITERS; i++)
		api_cno_wait_start(&waiters[i], cno);
	for (int i = 0; i < WAITERS; i++)
		REQUIRE_DAT(api_post_se(evd, (uint64_t)i), DAT_SUCCESS);
	/* A trigger wakes at least one waiter; one wake-up may stand for several triggers. */
	for (int left = WAITERS; left;) {
		left = 0;
		for (int i = 0; i < WAITERS; i++)
			left += !api_wait_done(&waiters[i]);
		if (left)
			REQUIRE_DAT(api_post_se(evd, 99), DAT_SUCCESS);
		usleep(1000);
		while (left && dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
			;
	}
	for (int i = 0; i < WAITERS; i++) {
		api_wait_end(&waiters[i]);
		CHECK_DAT(waiters[i].ret, DAT_SUCCESS);
		CHECK(waiters[i].hint == evd);
	}
}

/* set_unwaitable and its opposite race with waits: each wait ends, with or without an event. */
static DAT_EVD_HANDLE toggled;

static void wait_and_toggle(int number)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (int i = 0; i < 300; i++) {
		DAT_RETURN ret;

		if (number == 0) {
			REQUIRE_DAT(dat_evd_set_unwaitable(toggled), DAT_SUCCESS);
			REQUIRE_DAT(dat_evd_clear_unwaitable(toggled), DAT_SUCCESS);
			REQUIRE_DAT(dat_evd_disable(toggled), DAT_SUCCESS);
			REQUIRE_DAT(dat_evd_enable(toggled), DAT_SUCCESS);
			continue;
		}
		ret = DAT_GET_TYPE(dat_evd_wait(toggled, 300, 1, &event, &nmore));
		CHECK(ret == DAT_INVALID_STATE || ret == DAT_TIMEOUT_EXPIRED);
	}
}

static void waits_end_while_the_evd_is_toggled(void)
{
	toggled = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	in_threads(wait_and_toggle);
}

/* The thread of one end sends while that of the other receives, and a third thread queries. */
static struct api_pair talk;

static DAT_RETURN talk_recv(uint64_t n)
{
	return api_recv(talk.b.ep, &buf, 65536 * (2 + (size_t)(n % 8)), 65536, n);
}

static void talk_and_watch(int number)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	for (uint64_t n = 0; n < 1000; n++) {
		if (number == 0) {
			REQUIRE_DAT(api_send(talk.a.ep, &buf, 4096, n % 50 ? 64 : 60000, n, 0),
				    DAT_SUCCESS);
			API_DTO(talk.a.request, talk.a.ep, n, DAT_DTO_SUCCESS, API_ANY_LENGTH);
		} else if (number == 1) {
			API_DTO(talk.b.recv, talk.b.ep, n, DAT_DTO_SUCCESS, n % 50 ? 64 : 60000);
			REQUIRE_DAT(talk_recv(n + 8), DAT_SUCCESS);
		} else {
			REQUIRE_DAT(dat_ep_get_status(number == 2 ? talk.a.ep : talk.b.ep, &state,
						      &recv_idle, &request_idle),
				    DAT_SUCCESS);
			REQUIRE_EQ_INT(state, DAT_EP_STATE_CONNECTED);
		}
	}
}

static void sender_receiver_and_onlooker_are_threads_of_their_own(void)
{
	api_pair_make(&talk, NULL);
	for (uint64_t n = 0; n < 8; n++)
		REQUIRE_DAT(talk_recv(n), DAT_SUCCESS);
	in_threads(talk_and_watch);
}

/* An EVD moves between two CNOs: each event triggers one of them. */
static DAT_CNO_HANDLE two_cnos[2];
static DAT_EVD_HANDLE moved;

static void move_or_post(int number)
{
	for (uint64_t n = 0; n < 400; n++) {
		if (number == 0) {
			REQUIRE_DAT(dat_evd_modify_cno(moved, two_cnos[n % 2]), DAT_SUCCESS);
		} else if (number == 1) {
			DAT_EVD_HANDLE hint;
			DAT_EVENT event;

			REQUIRE_DAT(api_post_se(moved, n), DAT_SUCCESS);
			REQUIRE_SOON(dat_cno_wait(two_cnos[0], 500, &hint) == DAT_SUCCESS ||
				     dat_cno_wait(two_cnos[1], 500, &hint) == DAT_SUCCESS);
			REQUIRE_DAT(dat_evd_dequeue(moved, &event), DAT_SUCCESS);
		}
	}
}

static void event_triggers_one_cno_while_its_evd_is_moved_between_two(void)
{
	two_cnos[0] = api_cno();
	two_cnos[1] = api_cno();
	moved = api_evd_cno(8, DAT_EVD_SOFTWARE_FLAG, two_cnos[0]);
	in_threads(move_or_post);
}

static void churn_ia(int number)
{
	for (int i = 0; i < 15; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		(void)number;
		REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_SUCCESS);
		REQUIRE_DAT(
			dat_ia_close(ia, i % 2 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG),
			DAT_SUCCESS);
	}
}

static void ias_are_opened_and_closed_by_many_threads(void)
{
	in_threads(churn_ia);
	api_close();
	in_threads(churn_ia); /* now the provider itself is loaded and unloaded */
}

static DAT_CONN_QUAL contested;
static int winners; /* atomic */

static void grab_qualifier(int number)
{
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret = DAT_GET_TYPE(
		dat_psp_create(api.ia, contested, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));

	(void)number;
	if (ret == DAT_SUCCESS)
		__atomic_fetch_add(&winners, 1, __ATOMIC_RELAXED);
	else
		CHECK_EQ_INT(ret, DAT_CONN_QUAL_IN_USE);
}

static void exactly_one_thread_gets_a_qualifier(void)
{
	for (int i = 0; i < 10; i++) {
		winners = 0;
		contested = UINT64_C(0x5a5a00000000) + ((DAT_CONN_QUAL)getpid() << 8) +
			    (DAT_CONN_QUAL)i;
		in_threads(grab_qualifier);
		CHECK_EQ_INT(winners, 1);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(objects_are_made_and_freed_by_many_threads),
	CHECK_TEST(connections_are_made_and_ended_by_many_threads),
	CHECK_TEST(one_thread_waits_for_requests_while_others_create_wait_and_free),
	CHECK_TEST(every_event_is_delivered_exactly_once),
	CHECK_TEST(several_waiters_on_a_cno_lose_no_event),
	CHECK_TEST(waits_end_while_the_evd_is_toggled),
	CHECK_TEST(sender_receiver_and_onlooker_are_threads_of_their_own),
	CHECK_TEST(event_triggers_one_cno_while_its_evd_is_moved_between_two),
	CHECK_TEST(ias_are_opened_and_closed_by_many_threads),
	CHECK_TEST(exactly_one_thread_gets_a_qualifier),
	CHECK_END
};

static const struct check_suite threads = {
	.name = "threads",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&threads);
