/* SPDX-License-Identifier: BSD-2-Clause */
/* An adapter with strict=on punishes what RDMA hardware punishes; see providers/soft/strict.h. */
#include <string.h>
#include <unistd.h>

#include "api.h"

enum { SIZE = 1 << 20, HALF = SIZE / 2 };

static struct api_buf buf;
static struct api_pair pair;

static void setup(void)
{
	api_open_as((char *)(uintptr_t)"soft-strict");
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

/* Memory that a peer can map, into which RDMA requests could take the short way (exec_short.h), which has none of these checks. */
static void setup_mappable(void)
{
	api_open_as((char *)(uintptr_t)"soft-strict");
	buf = api_buf_in(api.pz, api_mappable_memory(SIZE), SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static void pair_with_queue(DAT_COUNT requests)
{
	DAT_EP_ATTR attr = { .max_request_dtos = requests };

	api_pair_make(&pair, &attr);
}

static void adapter_says_that_it_is_strict(void)
{
	const char *words = api_transport("strict");

	REQUIRE(words != NULL);
	CHECK(!strncmp(words, "on", 2));
	CHECK(api_transport("receiver_not_ready") != NULL);
	CHECK(api.prov.rdma_write_for_rdma_read_req == DAT_TRUE);
}

/* A message of any length that finds no receive ends the connection, even if nobody polls on this side. */
static void message_without_a_receive_breaks_the_connection(void)
{
	static const size_t sizes[] = { 0, 8, 5000, HALF };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		api_pair_make(&pair, NULL);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, sizes[i], 1, 0), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, sizes[i], 2, 0), DAT_SUCCESS);
		API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_BROKEN);
		API_CONN_OVER(pair.b.connect, pair.b.ep);
		API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_ERR_RECEIVER_NOT_READY, API_ANY_LENGTH);
		API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
		api_end_free(&pair.a);
		api_end_free(&pair.b);
	}
}

static void message_waits_for_a_receive_that_comes_in_time(void)
{
	api_pair_make(&pair, NULL);
	api_fill(buf.mem, 8, 1);
	for (uint64_t i = 0; i < 20; i++) {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
		API_EMPTY(pair.a.request);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 8, 2), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 8);
		API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 8);
		CHECK_EQ_INT(api_mismatch(buf.mem + HALF, 8, 1), -1);
	}
}

static void read_goes_to_memory_with_the_right_to_remote_writes_only(void)
{
	struct api_buf sink = api_buf(4096, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	api_pair_make(&pair, NULL);
	CHECK_DAT(api_read(pair.a.ep, api_seg(&sink, 0, 64), api_target(&buf, 0, 64), 1, 0), DAT_PRIVILEGES_VIOLATION);
	API_EMPTY(pair.a.request);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, HALF, 64), api_target(&buf, 0, 64), 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
}

static DAT_RETURN write_one(uint64_t cookie, unsigned int flags)
{
	return api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&buf, HALF, 64), cookie, (DAT_COMPLETION_FLAGS)flags);
}

static void queue_of_suppressed_requests_stays_full(void)
{
	enum { QUEUE = 8 };

	pair_with_queue(QUEUE);
	for (uint64_t i = 0; i < QUEUE; i++)
		REQUIRE_DAT(write_one(i, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	CHECK_DAT(write_one(QUEUE, 0), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DAT(write_one(QUEUE, DAT_COMPLETION_SUPPRESS_FLAG), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DAT(api_send(pair.a.ep, &buf, 0, 8, QUEUE, 0), DAT_INSUFFICIENT_RESOURCES);
	API_EMPTY(pair.a.request);
}

static void request_with_a_completion_in_time_frees_the_queue(void)
{
	enum { QUEUE = 8 };

	pair_with_queue(QUEUE);
	for (uint64_t round = 0; round < 50; round++) {
		for (uint64_t i = 1; i < QUEUE; i++)
			REQUIRE_DAT(write_one(i, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
		REQUIRE_DAT(write_one(round, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, round, DAT_DTO_SUCCESS, 64);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(adapter_says_that_it_is_strict),
	CHECK_TEST(message_without_a_receive_breaks_the_connection),
	CHECK_TEST(message_waits_for_a_receive_that_comes_in_time),
	CHECK_TEST(read_goes_to_memory_with_the_right_to_remote_writes_only),
	CHECK_TEST(queue_of_suppressed_requests_stays_full),
	CHECK_TEST(request_with_a_completion_in_time_frees_the_queue),
	CHECK_END
};

static const struct check_test mappable_tests[] = {
	CHECK_TEST(read_goes_to_memory_with_the_right_to_remote_writes_only),
	CHECK_TEST(queue_of_suppressed_requests_stays_full),
	CHECK_TEST(request_with_a_completion_in_time_frees_the_queue),
	CHECK_END
};

static const struct check_suite strict = { .name = "strict", .setup = setup, .teardown = api_close, .tests = tests };
static const struct check_suite mappable = {
	.name = "strict, with memory that can be mapped", .setup = setup_mappable, .teardown = api_close, .tests = mappable_tests
};

CHECK_SUITES(&strict, &mappable);
