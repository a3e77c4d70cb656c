/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A passive side that sends first, before the peer's program has posted a receive. Over iWARP the provider then keeps the requests
 * until the peer's first message arrives, or hold_ms have passed. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA
 * names. Over iWARP hold_ms is longer there than a slow guest delays this program; in the second suite it is longer than any test.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "api.h"

enum { ROUNDS = 4, BYTES = 64 };

static struct api_pair pair;
static struct api_buf from, to;
static DAT_EVD_HANDLE cr_evd;
static DAT_CONN_QUAL qual;

static void begin(void)
{
	api_open();
	from = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
}

/* `b` posts a receive, accepts and gets ESTABLISHED. The event of `a` stays in its EVD. */
static void accept_b(void)
{
	api_end_make(&pair.a, NULL);
	api_end_make(&pair.b, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &to, 4096, BYTES, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(pair.a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), pair.b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void end(void)
{
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	api_end_free(&pair.a);
	api_end_free(&pair.b);
}

/* A server sends a greeting as soon as it has accepted. The client posts its receive only after ESTABLISHED. */
static void server_that_speaks_first_is_heard(void)
{
	begin();
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		accept_b();
		api_fill(from.mem, BYTES, round);
		memset(to.mem, 0, BYTES);
		REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, 2, 0), DAT_SUCCESS);
		API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_DAT(api_recv(pair.a.ep, &to, 0, BYTES, 3), DAT_SUCCESS);
		API_DTO(pair.a.recv, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
		API_DTO(pair.b.request, pair.b.ep, 2, DAT_DTO_SUCCESS, BYTES);
		CHECK_EQ_INT(api_mismatch(to.mem, BYTES, round), -1);
		end();
	}
}

/* The server posts a message and disconnects gracefully at once. The message is sent before the connection ends. */
static void server_that_speaks_first_and_hangs_up_is_heard(void)
{
	begin();
	accept_b();
	REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, 2, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_recv(pair.a.ep, &to, 0, BYTES, 3), DAT_SUCCESS);
	API_DTO(pair.a.recv, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.request, pair.b.ep, 2, DAT_DTO_SUCCESS, BYTES);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
}

/* The connection ends abruptly before the deferred requests have been posted. */
static void requests_that_still_wait_are_flushed(void)
{
	begin();
	accept_b();
	for (uint64_t i = 2; i < 5; i++)
		REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, i, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (uint64_t i = 2; i < 5; i++)
		API_DTO(pair.b.request, pair.b.ep, i, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_EMPTY(pair.b.request);
}

/* Posts a write, a read, a bind, a suppressed send and a send, all deferred until the peer's message; they complete in order. */
static void post_all_kinds(void)
{
	DAT_RMR_TRIPLET target = api_target(&to, 0, BYTES), source = api_target(&to, 1024, BYTES);
	DAT_LMR_TRIPLET bound = api_seg(&from, 0, 1024);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(api_write(pair.b.ep, api_seg(&from, 0, BYTES), target, 10, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_read(pair.b.ep, api_seg(&from, 2048, BYTES), source, 11, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(rmr, &bound, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.b.ep,
				 api_cookie(12), DAT_COMPLETION_DEFAULT_FLAG, &context),
		    DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, 13, DAT_COMPLETION_SUPPRESS_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, 14, 0), DAT_SUCCESS);
	API_QUIET(pair.b.request);
	CHECK_EQ_INT(to.mem[0], 0);
	/* The program polls the request EVD only, and not the one that the message arrives on. */
	REQUIRE_DAT(api_send(pair.a.ep, &to, 4096, BYTES, 20, 0), DAT_SUCCESS);
	API_DTO(pair.b.request, pair.b.ep, 10, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.request, pair.b.ep, 11, DAT_DTO_SUCCESS, BYTES);
	API_BIND(pair.b.request, rmr, 12, DAT_RMR_BIND_SUCCESS);
	API_DTO(pair.b.request, pair.b.ep, 14, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
}

static void first_message_of_the_peer_lets_the_requests_go(void)
{
	begin();
	accept_b();
	api_fill(from.mem, BYTES, 1);
	api_fill(to.mem + 1024, BYTES, 2);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(api_recv(pair.a.ep, &to, 2048, BYTES, i), DAT_SUCCESS);
	post_all_kinds();
	for (uint64_t i = 0; i < 2; i++)
		API_DTO(pair.a.recv, pair.a.ep, i, DAT_DTO_SUCCESS, BYTES);
	CHECK_EQ_INT(api_mismatch(to.mem, BYTES, 1), -1);
	CHECK_EQ_INT(api_mismatch(from.mem + 2048, BYTES, 2), -1);
}

/* The client sends and the server answers, as most programs do. No request is deferred then. */
static void answers_do_not_wait(void)
{
	begin();
	accept_b();
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		REQUIRE_DAT(api_recv(pair.a.ep, &to, 0, BYTES, 100 + i), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &from, 0, BYTES, i, 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, i ? 200 + i - 1 : 1, DAT_DTO_SUCCESS, BYTES);
		REQUIRE_DAT(api_recv(pair.b.ep, &to, 4096, BYTES, 200 + i), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, 300 + i, 0), DAT_SUCCESS);
		API_DTO(pair.a.recv, pair.a.ep, 100 + i, DAT_DTO_SUCCESS, BYTES);
		API_DTO(pair.b.request, pair.b.ep, 300 + i, DAT_DTO_SUCCESS, BYTES);
	}
}

/* ------------------------------------------------------------------ cancellation */

static _Atomic bool polls;

/* The thread is cancelled before it dequeues, so it would end at the first cancellation point. */
static void *dequeues_cancelled(void *arg)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	pthread_cancel(pthread_self());
	do {
		ret = dat_evd_dequeue(pair.b.recv, &event);
		atomic_store(&polls, true);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	CHECK_DAT(ret, DAT_SUCCESS);
	pthread_testcancel();
	CHECK_FAIL("the thread is not cancelled after the call either");
	return arg;
}

/* Its dequeue lets the deferred requests go, and siw's doorbell is a write(), with the locks of the endpoint and the EVD held. */
static void thread_that_is_cancelled_as_it_lets_the_requests_go_leaves_no_lock(void)
{
	pthread_t thread;
	void *result;

	begin();
	accept_b();
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_recv(pair.a.ep, &to, 0, BYTES, 3), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.b.ep, &from, 0, BYTES, 2, 0), DAT_SUCCESS);
	REQUIRE(pthread_create(&thread, NULL, dequeues_cancelled, NULL) == 0);
	REQUIRE_SOON(atomic_load(&polls));
	REQUIRE_DAT(api_send(pair.a.ep, &from, 4096, BYTES, 20, 0), DAT_SUCCESS);
	REQUIRE(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	API_DTO(pair.b.request, pair.b.ep, 2, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.recv, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
}

/* The argument is the endpoint that sends. */
static void *posts_cancelled(void *arg)
{
	const struct api_end *sends = arg;
	DAT_RETURN ret;

	pthread_cancel(pthread_self());
	ret = api_send(sends->ep, &from, 0, BYTES, 2, 0);
	CHECK_DAT(ret, DAT_SUCCESS);
	pthread_testcancel();
	CHECK_FAIL("the thread is not cancelled after the call either");
	return arg;
}

static void post_cancelled(struct api_end *sends)
{
	pthread_t thread;
	void *result;

	REQUIRE(pthread_create(&thread, NULL, posts_cancelled, sends) == 0);
	REQUIRE(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
}

static void thread_that_is_cancelled_as_it_posts_leaves_no_lock(void)
{
	begin();
	accept_b();
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	post_cancelled(&pair.a);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, BYTES);
}

/* The passive side has posted no receive, so over iWARP its first request sends the accept, which librdmacm does by a write(). */
static void thread_that_is_cancelled_as_its_post_accepts_leaves_no_lock(void)
{
	begin();
	api_end_make(&pair.a, NULL);
	api_end_make(&pair.b, NULL);
	REQUIRE_DAT(api_recv(pair.a.ep, &to, 0, BYTES, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(pair.a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), pair.b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	post_cancelled(&pair.b);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(pair.a.recv, pair.a.ep, 1, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.request, pair.b.ep, 2, DAT_DTO_SUCCESS, BYTES);
}

static const struct check_test tests[] = {
	CHECK_TEST(server_that_speaks_first_is_heard),
	CHECK_TEST(server_that_speaks_first_and_hangs_up_is_heard),
	CHECK_TEST(requests_that_still_wait_are_flushed),
	CHECK_TEST(thread_that_is_cancelled_as_it_posts_leaves_no_lock),
	CHECK_TEST(thread_that_is_cancelled_as_its_post_accepts_leaves_no_lock),
	CHECK_END
};

static const struct check_test long_tests[] = {
	CHECK_TEST(first_message_of_the_peer_lets_the_requests_go),
	CHECK_TEST(answers_do_not_wait),
	CHECK_TEST(thread_that_is_cancelled_as_it_lets_the_requests_go_leaves_no_lock),
	CHECK_END
};

static const struct check_suite first = { .name = "first", .teardown = api_close, .tests = tests };

static const struct check_suite hold = {
	.name = "long hold",
	.teardown = api_close,
	.tests = long_tests,
};

CHECK_SUITES(&first, &hold);
