/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that has been cancelled posts or dequeues. Such calls hold locks, so the cancellation takes effect in none of them: each
 * returns, and the thread ends at its own next cancellation point.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

enum { SIZE = 65536 };

static struct api_pair pair;
static struct api_end own;
static struct api_buf buf;
static struct api_offer offer;
static atomic_bool returned;

static void *call_cancelled(void *arg)
{
	void (*const *call)(void) = arg;

	pthread_cancel(pthread_self()); /* it is noted, and takes effect at the next cancellation point */
	(*call)();
	atomic_store(&returned, true);
	pthread_testcancel();
	return NULL;
}

/* A thread that has ended within the call has left locks behind, for which everything that follows would wait. */
static void returns_when_cancelled(void (*call)(void))
{
	void *result = NULL;
	pthread_t thread;

	atomic_store(&returned, false);
	REQUIRE(pthread_create(&thread, NULL, call_cancelled, &call) == 0);
	REQUIRE(pthread_join(thread, &result) == 0);
	CHECK(atomic_load(&returned));
	if (!atomic_load(&returned))
		_exit(1);
	CHECK(result == PTHREAD_CANCELED);
}

/* ------------------------------------------------------------------ the service thread is woken */

static void send_one(void)
{
	CHECK_DAT(api_send(pair.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
}

static void post_that_wakes_the_service_thread_returns(void)
{
	DAT_CNO_HANDLE cno;

	api_open();
	cno = api_cno();
	memset(&pair, 0, sizeof(pair));
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&pair.a, NULL);
	pair.b.recv = api_evd_cno(64, DAT_EVD_DTO_FLAG, cno);
	pair.b.request = api_evd(64, DAT_EVD_DTO_FLAG);
	pair.b.connect = api_evd(64, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, pair.b.recv, pair.b.request, pair.b.connect, NULL, &pair.b.ep), DAT_SUCCESS);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	api_pair_connect(&pair);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 1024, 64, 2), DAT_SUCCESS);
	returns_when_cancelled(send_one);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 8);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 8);
}

/* ------------------------------------------------------------------ a region is mapped */

static void serve(bool mappable)
{
	DAT_EVD_HANDLE cr = api_evd(8, DAT_EVD_CR_FLAG);

	buf = api_buf_in(api.pz, mappable ? api_mappable_memory(SIZE) : api_memory(SIZE), SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&own, NULL);
	api_offer_make(&offer, cr, &buf);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr), own.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(own.connect, own.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(CHECK_PARENT);
}

static void serve_mappable(void *arg)
{
	(void)arg;
	api_open();
	serve(true);
	api_close();
}

static void write_one(void)
{
	CHECK_DAT(api_write(own.ep, api_seg(&buf, 0, 64), api_offer_part(&offer, 0, 64), 1, 0), DAT_SUCCESS);
}

static void connect_to(pid_t peer)
{
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&own, NULL);
	check_get(peer, &offer, sizeof(offer));
	api_connect_to(&own, &offer.address, offer.qual);
}

static void post_that_maps_a_region_of_the_peer_returns(void)
{
	pid_t peer = check_fork(serve_mappable, NULL);

	api_open();
	connect_to(peer);
	returns_when_cancelled(write_one);
	API_DTO(own.request, own.ep, 1, DAT_DTO_SUCCESS, 64);
	check_signal(peer);
	check_join(peer);
}

/* ------------------------------------------------------------------ a peer does not answer */

static char bounce[] = "soft-hasty-bounce";

static void serve_bounced(void *arg)
{
	(void)arg;
	api_open_as(bounce);
	serve(false);
}

static void post_that_waits_for_a_peer_that_is_stopped_returns(void)
{
	pid_t peer = check_fork(serve_bounced, NULL);

	api_open_as(bounce);
	connect_to(peer);
	check_stop(peer);
	returns_when_cancelled(write_one);
	API_CONN(own.connect, own.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_kill(peer);
}

static const struct check_test tests[] = {
	CHECK_TEST(post_that_wakes_the_service_thread_returns),
	CHECK_TEST(post_that_maps_a_region_of_the_peer_returns),
	CHECK_TEST(post_that_waits_for_a_peer_that_is_stopped_returns),
	CHECK_END
};

static const struct check_suite suite = { .name = "calls of cancelled threads", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
