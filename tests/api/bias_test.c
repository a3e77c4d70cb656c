/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread uses an endpoint all the time, so that the locks of the endpoint and of its queues are biased to that
 * thread. Other threads use the endpoint meanwhile: for them, each call of the first thread has happened completely or
 * not at all.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#define MESSAGES 1000 /* enough for the locks to become biased */
#define ROUNDS	 60
#define FEWEST	 3
#define LONGEST_MS 30000 /* for a device that holds each message back for 5 ms, as imitated ones do */
#define SIZE	 8

static struct api_pair pair;
static struct api_buf buf;
static uint64_t begun_ms;
static _Atomic int sent;
static _Atomic bool over;

static void setup(void)
{
	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	atomic_store(&sent, 0);
	atomic_store(&over, false);
	begun_ms = check_now_ms();
}

static bool one_more(int round)
{
	return round < FEWEST || (round < ROUNDS && check_now_ms() - begun_ms < LONGEST_MS);
}

/* Takes a completion. Returns false if it is not a success, which ends the connection. */
static bool took(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		;
	return event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* Posts operations that do not take the fast path: a send of two segments, and an RDMA Write. */
static bool writes_and_sends(void)
{
	DAT_LMR_TRIPLET iov[2] = { api_seg(&buf, 0, SIZE / 2), api_seg(&buf, SIZE / 2, SIZE / 2) };

	return api_write(pair.a.ep, api_seg(&buf, 0, SIZE), api_target(&buf, SIZE, SIZE), 3, 0) == DAT_SUCCESS &&
	       dat_ep_post_send(pair.a.ep, 2, iov, (DAT_DTO_COOKIE){ .as_64 = 2 }, DAT_COMPLETION_DEFAULT_FLAG) ==
		       DAT_SUCCESS &&
	       took(pair.a.request);
}

/*
 * Sends messages between both ends of a connection, one at a time, into `where`, until one of the calls shows that
 * the connection is over. Every other message follows a write.
 */
static void *talk(void *where)
{
	for (int k = 0; !atomic_load(&over) && api_recv(pair.b.ep, where, 0, SIZE, 1) == DAT_SUCCESS; k++) {
		if (!(k % 2 ? writes_and_sends() : api_send(pair.a.ep, &buf, 0, SIZE, 2, 0) == DAT_SUCCESS) ||
		    !took(pair.a.request) || !took(pair.b.recv))
			break;
		atomic_fetch_add(&sent, 1);
	}
	return NULL;
}

static pthread_t talk_for_a_while(struct api_buf *where)
{
	pthread_t thread;
	int from = atomic_load(&sent);

	REQUIRE(pthread_create(&thread, NULL, talk, where) == 0);
	CHECK_SOON(atomic_load(&sent) >= from + MESSAGES);
	return thread;
}

static void end_of_the_pair(void)
{
	api_end_free(&pair.a);
	api_end_free(&pair.b);
	REQUIRE_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
	check_alive();
}

/*
 * The page is protected against writes after its region has been freed, so a late write would end
 * the test.
 */
static void region_that_is_freed_is_not_written_to_any_more(void)
{
	struct api_buf region;
	pthread_t thread;

	for (int i = 0; one_more(i); i++) {
		region = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
		api_pair_make(&pair, NULL);
		thread = talk_for_a_while(&region);
		REQUIRE_DAT(dat_lmr_free(region.lmr), DAT_SUCCESS);
		REQUIRE(mprotect(region.mem, 4096, PROT_READ) == 0);
		pthread_join(thread, NULL);
		REQUIRE(mprotect(region.mem, 4096, PROT_READ | PROT_WRITE) == 0);
		end_of_the_pair();
	}
}

/* Posted operations complete or are flushed: the thread that sends never waits for ever. */
static void connection_is_ended_by_another_thread(void)
{
	struct api_buf region = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	pthread_t thread;

	for (int i = 0; one_more(i); i++) {
		api_pair_make(&pair, NULL);
		thread = talk_for_a_while(&region);
		REQUIRE_DAT(dat_ep_disconnect(i & 1 ? pair.a.ep : pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		pthread_join(thread, NULL);
		API_CONN_OVER(pair.a.connect, pair.a.ep);
		API_CONN_OVER(pair.b.connect, pair.b.ep);
		end_of_the_pair();
	}
}

static void threads_use_an_endpoint_one_after_the_other(void)
{
	struct api_buf region = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	pthread_t thread;

	api_pair_make(&pair, NULL);
	for (int i = 0; i < 8; i++) {
		atomic_store(&over, false);
		thread = talk_for_a_while(&region);
		atomic_store(&over, true);
		pthread_join(thread, NULL);
		check_alive();
	}
	API_EMPTY(pair.a.request);
	API_EMPTY(pair.b.recv);
	api_disconnect(&pair);
}

static const struct check_test tests[] = {
	CHECK_TEST(region_that_is_freed_is_not_written_to_any_more),
	CHECK_TEST(connection_is_ended_by_another_thread),
	CHECK_TEST(threads_use_an_endpoint_one_after_the_other),
	CHECK_END
};

static const struct check_suite biased = {
	.name = "biased locks", .setup = setup, .teardown = api_close, .tests = tests
};

CHECK_SUITES(&biased);
