/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA Writes and Reads with a fence over a device that ignores the fence, imitated by switches of twist.h. The provider defers
 * each of them until the RDMA Reads before it have completed. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA
 * names. That has quirk=writes_unfenced,reads_unfenced,-fence_reads, and a hold_ms so long that the passive side waits for the
 * peer's first message throughout a test. The suite "fenced read" runs over siw as it is, too: it has the quirk fence_reads.
 */
#include <string.h>

#include "api.h"
#include "twist.h"

/* A read of LONG bytes takes so long that a write that does not wait for it sends the old contents of the buffer. */
enum { LONG = 1 << 20, BYTES = 64, MESSAGE = LONG, TARGET = LONG + 4096, SIZE = LONG + 8192 };

enum { FOR_EVER_MS = 1000000000 };
enum { FENCE = DAT_COMPLETION_BARRIER_FENCE_FLAG, SUPPRESS = DAT_COMPLETION_SUPPRESS_FLAG };

static struct api_pair pair;
static struct api_buf near, far;

/* In the tests, `a` reads the first LONG bytes of `far` into the same offsets of `near`, and writes to offset TARGET of `far`. */
static void begin(void)
{
	atomic_store(&twist.unfenced, true);
	atomic_store(&twist.unfenced_reads, true);
	atomic_store(&twist.overtaken, 0);
	atomic_store(&twist.reading, 0);
	api_open();
	near = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	far = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(far.mem, LONG, 1);
	api_pair_make(&pair, NULL);
}

static void forget(void)
{
	atomic_store(&twist.unfenced, false);
	atomic_store(&twist.unfenced_reads, false);
	atomic_store(&twist.late_ms, 0);
	api_close();
}

static void post_read(DAT_EP_HANDLE ep, uint64_t cookie, unsigned int flags)
{
	REQUIRE_DAT(api_read(ep, api_seg(&near, 0, LONG), api_target(&far, 0, LONG), cookie,
			     (DAT_COMPLETION_FLAGS)flags),
		    DAT_SUCCESS);
}

/* Writes the last bytes that the read brings. */
static void post_write(DAT_EP_HANDLE ep, uint64_t cookie, unsigned int flags)
{
	REQUIRE_DAT(api_write(ep, api_seg(&near, LONG - BYTES, BYTES), api_target(&far, TARGET, BYTES), cookie,
			      (DAT_COMPLETION_FLAGS)flags),
		    DAT_SUCCESS);
}

/* Returns true if the calling thread has posted a request to the device since the last call. */
static bool device_has_got_one(void)
{
	int chain = twist_here.chain;

	twist_here.chain = 0;
	return chain > 0;
}

static void written_as_read(void)
{
	CHECK_EQ_INT(memcmp(far.mem + TARGET, far.mem + LONG - BYTES, BYTES), 0);
	CHECK_EQ_INT(atomic_load(&twist.overtaken), 0);
}

static void write_waits_for(unsigned int read_flags)
{
	memset(near.mem, 0, SIZE);
	memset(far.mem + TARGET, 0, BYTES);
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 1), DAT_SUCCESS);
	/* The read does not complete before all requests are posted, however long that takes. */
	atomic_store(&twist.late_ms, FOR_EVER_MS);
	post_read(pair.a.ep, 2, read_flags);
	CHECK(device_has_got_one());
	post_write(pair.a.ep, 3, FENCE);
	CHECK(!device_has_got_one());
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 4, 0), DAT_SUCCESS);
	CHECK(!device_has_got_one());
	atomic_store(&twist.late_ms, 0);
	if (!read_flags)
		API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.request, pair.a.ep, 4, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
	API_EMPTY(pair.a.request);
}

static void fenced_write_sends_what_the_read_before_it_has_brought(void)
{
	begin();
	write_waits_for(0);
	write_waits_for(SUPPRESS);
	/* A request that is posted now goes to the device at once. */
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 5), DAT_SUCCESS);
	device_has_got_one();
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 6, 0), DAT_SUCCESS);
	CHECK(device_has_got_one());
	API_DTO(pair.a.request, pair.a.ep, 6, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 5, DAT_DTO_SUCCESS, BYTES);
}

/* The peer's device reads the memory that the first read goes to, because both sides are in one process. */
static void fenced_read_sees_what_the_read_before_it_has_brought(void)
{
	begin();
	atomic_store(&twist.late_ms, FOR_EVER_MS);
	post_read(pair.a.ep, 2, 0);
	CHECK(device_has_got_one());
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&far, TARGET, BYTES), api_target(&near, LONG - BYTES, BYTES), 3,
			     (DAT_COMPLETION_FLAGS)FENCE),
		    DAT_SUCCESS);
	CHECK(!device_has_got_one());
	atomic_store(&twist.late_ms, 0);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
	API_EMPTY(pair.a.request);
}

/* The only read before the writes has completed, so no write waits. */
static void fenced_write_without_a_read_before_it_waits_for_nothing(void)
{
	begin();
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 7), DAT_SUCCESS);
	post_read(pair.a.ep, 1, 0);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, LONG);
	for (uint64_t i = 2; i < 6; i++) {
		device_has_got_one();
		post_write(pair.a.ep, i, i % 2 ? FENCE : FENCE | SUPPRESS);
		CHECK(device_has_got_one());
	}
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.request, pair.a.ep, 5, DAT_DTO_SUCCESS, BYTES);
	/* Over iWARP a write completes before its bytes are at the peer. They are there when a message behind the write is. */
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 6, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 7, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
}

/* A program may poll only for its peer's answer, and never for the completion of the read. */
static void fenced_write_goes_out_though_nobody_looks_for_the_read(void)
{
	begin();
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 1), DAT_SUCCESS);
	post_read(pair.a.ep, 2, 0);
	post_write(pair.a.ep, 3, FENCE);
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 4, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
}

/* Two reads with fenced writes behind them, a bind and a send are posted. All of them complete in order. */
static void requests_of_all_kinds_stay_behind_the_fenced_writes(void)
{
	DAT_LMR_TRIPLET bound;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	begin();
	bound = api_seg(&near, 0, 1024);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 1), DAT_SUCCESS);
	post_read(pair.a.ep, 2, 0);
	post_write(pair.a.ep, 3, FENCE | SUPPRESS);
	post_read(pair.a.ep, 4, FENCE);
	REQUIRE_DAT(dat_rmr_bind(rmr, &bound, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.a.ep, api_cookie(5),
				 DAT_COMPLETION_DEFAULT_FLAG, &context),
		    DAT_SUCCESS);
	post_write(pair.a.ep, 6, FENCE);
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 7, (DAT_COMPLETION_FLAGS)FENCE), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.a.request, pair.a.ep, 4, DAT_DTO_SUCCESS, LONG);
	API_BIND(pair.a.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 6, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
	CHECK_EQ_INT(api_mismatch(near.mem, LONG, 1), -1);
}

/* A graceful disconnect waits for the deferred requests. */
static void kept_requests_go_out_before_a_graceful_end(void)
{
	begin();
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 1), DAT_SUCCESS);
	post_read(pair.a.ep, 2, 0);
	post_write(pair.a.ep, 3, FENCE);
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 4, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.request, pair.a.ep, 4, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
}

/* After an abrupt disconnect the deferred write is not executed, and it does not affect a new connection. */
static void kept_requests_are_flushed_by_an_abrupt_end(void)
{
	begin();
	/* The buffer differs from the target, so a write that is executed nevertheless can be seen. */
	memset(near.mem, 7, SIZE);
	/* The read does not complete before the connection ends, however long that takes. */
	atomic_store(&twist.late_ms, FOR_EVER_MS);
	post_read(pair.a.ep, 2, 0);
	post_write(pair.a.ep, 3, FENCE);
	REQUIRE_DAT(api_send(pair.a.ep, &near, 0, BYTES, 4, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 2; i < 5; i++)
		API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	CHECK_EQ_INT(far.mem[TARGET], 0);
	atomic_store(&twist.late_ms, 0);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	atomic_store(&twist.reading, 0);
	api_pair_connect(&pair);
	write_waits_for(0);
}

/* The read and the write wait for the peer's first message. After it, the write waits for the read. */
static void fence_counts_among_requests_that_wait_for_the_first_message(void)
{
	begin();
	REQUIRE_DAT(api_recv(pair.b.ep, &far, MESSAGE, BYTES, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.a.ep, &near, MESSAGE, BYTES, 2), DAT_SUCCESS);
	post_read(pair.b.ep, 3, 0);
	post_write(pair.b.ep, 4, FENCE);
	REQUIRE_DAT(api_send(pair.b.ep, &near, 0, BYTES, 5, 0), DAT_SUCCESS);
	API_QUIET(pair.b.request);
	REQUIRE_DAT(api_send(pair.a.ep, &far, 0, BYTES, 6, 0), DAT_SUCCESS);
	API_DTO(pair.b.request, pair.b.ep, 3, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.b.request, pair.b.ep, 4, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.request, pair.b.ep, 5, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.recv, pair.a.ep, 2, DAT_DTO_SUCCESS, BYTES);
	written_as_read();
}

static const struct check_test tests[] = {
	CHECK_TEST(fenced_write_sends_what_the_read_before_it_has_brought),
	CHECK_TEST(fenced_write_without_a_read_before_it_waits_for_nothing),
	CHECK_TEST(fenced_write_goes_out_though_nobody_looks_for_the_read),
	CHECK_TEST(requests_of_all_kinds_stay_behind_the_fenced_writes),
	CHECK_TEST(kept_requests_go_out_before_a_graceful_end),
	CHECK_TEST(kept_requests_are_flushed_by_an_abrupt_end),
	CHECK_TEST(fence_counts_among_requests_that_wait_for_the_first_message),
	CHECK_END
};

static const struct check_test read_tests[] = {
	CHECK_TEST(fenced_read_sees_what_the_read_before_it_has_brought),
	CHECK_END
};

static const struct check_suite fence = { .name = "fence", .teardown = forget, .tests = tests };
static const struct check_suite fenced_read = { .name = "fenced read", .teardown = forget, .tests = read_tests };

CHECK_SUITES(&fence, &fenced_read);
