/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process disconnects while the other one executes a request between their memories. That is no error: the other one gets
 * DISCONNECTED, not BROKEN, whichever way the bytes take, and its request is flushed if it has not succeeded.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "meet.h"

#define LEN    ((size_t)16 << 20)
#define ROUNDS 5

enum what {
	WRITE,
	READ,
	SEND,
	RECEIVE, /* the message waits for its receive, so the receiver executes it */
	TAKE	 /* the same from an SRQ */
};

static enum what what;
static int *begun; /* shared by the two processes: bytes have arrived in the test's memory */

/* Whether the bytes go to the test, and come from the peer. */
static bool comes_here(void)
{
	return what == READ || what == RECEIVE || what == TAKE;
}

/* Reads memory that another thread copies to, which the thread sanitizer would report. */
__attribute__((no_sanitize_thread)) static bool arrives(const volatile unsigned char *at)
{
	return *at;
}

static void peer_disconnects(void *arg)
{
	(void)arg;
	meet_accept(LEN);
	if (comes_here())
		memset(my.buf.mem, 1, LEN);
	if (what == SEND)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, LEN, 7), DAT_SUCCESS);
	if (what == RECEIVE || what == TAKE)
		REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, LEN, 7, 0), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	while (!__atomic_load_n(begun, __ATOMIC_RELAXED) && (comes_here() || !arrives(my.buf.mem)))
		sched_yield();
	REQUIRE_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	check_await(CHECK_PARENT);
	api_close();
}

static void *watch(void *arg)
{
	(void)arg;
	while (!arrives(my.buf.mem) && !__atomic_load_n(begun, __ATOMIC_RELAXED))
		sched_yield();
	__atomic_store_n(begun, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Executes the request; returns the EVD at which it completes. */
static DAT_EVD_HANDLE execute(DAT_SRQ_HANDLE srq)
{
	DAT_LMR_TRIPLET seg = api_seg(&my.buf, 0, LEN);

	switch (what) {
	case WRITE:
		REQUIRE_DAT(api_write(my.end.ep, seg, my.theirs.target, 1, 0), DAT_SUCCESS);
		return my.end.request;
	case READ:
		REQUIRE_DAT(api_read(my.end.ep, seg, my.theirs.target, 1, 0), DAT_SUCCESS);
		return my.end.request;
	case SEND:
		REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, LEN, 1, 0), DAT_SUCCESS);
		return my.end.request;
	case RECEIVE:
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, LEN, 1), DAT_SUCCESS);
		return my.end.recv;
	default:
		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(1)), DAT_SUCCESS);
		return my.end.recv;
	}
}

/* meet_start() with an endpoint that has an SRQ, if the request takes one. */
static DAT_SRQ_HANDLE meet(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR shared = { .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG };
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	my.peer = check_fork(peer_disconnects, NULL);
	meet_open(LEN);
	if (what == TAKE) {
		api_end_free(&my.end);
		REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
		api_end_make_shared(&my.end, srq, &shared);
	}
	check_get(my.peer, &my.theirs, sizeof(my.theirs));
	check_put(my.peer, &my.offer, sizeof(my.offer));
	api_connect_to(&my.end, &my.theirs.address, my.theirs.qual);
	return srq;
}

static void disconnected_in_the_midst(void)
{
	DAT_SRQ_HANDLE srq = meet();
	DAT_EVD_HANDLE evd;
	pthread_t watcher;
	DAT_EVENT event;

	if (!comes_here())
		memset(my.buf.mem, 1, LEN);
	else
		REQUIRE(pthread_create(&watcher, NULL, watch, NULL) == 0);
	check_await(my.peer);
	evd = execute(srq);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* a buffer of an SRQ that no message has taken stays there */
	if (what != TAKE || dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
		if (what != TAKE)
			API_EVENT(evd, &event);
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	}
	__atomic_store_n(begun, 1, __ATOMIC_RELAXED);
	if (comes_here())
		pthread_join(watcher, NULL);
	check_signal(my.peer);
	check_join(my.peer);
	api_close();
}

static void rounds(enum what request)
{
	begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(begun != MAP_FAILED);
	what = request;
	for (int i = 0; i < ROUNDS; i++) {
		*begun = 0;
		disconnected_in_the_midst();
	}
	munmap(begun, sizeof(*begun));
}

static void write_is_flushed(void)
{
	rounds(WRITE);
}

static void read_is_flushed(void)
{
	rounds(READ);
}

static void send_is_flushed(void)
{
	rounds(SEND);
}

static void receive_is_flushed(void)
{
	rounds(RECEIVE);
}

static void receive_of_an_srq_is_flushed(void)
{
	rounds(TAKE);
}

static int use_bounce(void)
{
	return setenv("OPENDAT_TEST_IA", "soft-bounce", 1);
}

static int use_memory(void)
{
	return setenv("OPENDAT_TEST_IA", "soft-memory", 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(write_is_flushed), CHECK_TEST(read_is_flushed), CHECK_TEST(send_is_flushed),
	CHECK_TEST(receive_is_flushed), CHECK_TEST(receive_of_an_srq_is_flushed), CHECK_END
};

static const struct check_suite kernel = {
	.name = "disconnect in the midst of a request", .teardown = api_close, .tests = tests
};
static const struct check_suite bounced = {
	.name = "disconnect in the midst of a request, by the bounce path",
	.init = use_bounce,
	.teardown = api_close,
	.tests = tests,
};
static const struct check_suite mapped = {
	.name = "disconnect in the midst of a request, in mapped memory",
	.init = use_memory,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&kernel, &bounced, &mapped);
