/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steady data path allocates nothing: after a few rounds, in which records and lists grow to the size that is needed, posts,
 * binds and their completions make no allocation. This program counts the allocations of all threads.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "api.h"
#include "tests/harness/allocator.h"

#define ROUNDS 100
#define SIZE   ((size_t)64 << 10)

static _Atomic unsigned int allocations;

#if OWN_ALLOCATOR
void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(p, size);
}
#endif

static struct api_pair pair;
static struct api_buf buf;
static DAT_RMR_HANDLE rmr;

static void setup(void)
{
	if (!OWN_ALLOCATOR)
		check_skip("the sanitizer has an allocator of its own");
	api_open();
	api_pair_make(&pair, NULL);
	buf = api_buf(2 * SIZE, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
}

/* Makes ROUNDS rounds to begin with, and as many again, which must not allocate. */
static void want_none(void (*round)(void))
{
	unsigned int before;

	for (int i = 0; i < ROUNDS; i++)
		round();
	before = atomic_load(&allocations);
	CHECK(before > 0); /* allocations are counted */
	for (int i = 0; i < ROUNDS; i++)
		round();
	CHECK_EQ_INT(atomic_load(&allocations) - before, 0);
}

static void exchange(size_t size)
{
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, SIZE, size, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, size, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, size);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, size);
}

static void round_of_messages(void)
{
	exchange(8);
	exchange(1024);
	exchange(SIZE);
}

static void round_of_rdma(void)
{
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, SIZE), api_target(&buf, SIZE, SIZE), 3, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, SIZE);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, SIZE), api_target(&buf, SIZE, SIZE), 4, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 4, DAT_DTO_SUCCESS, SIZE);
}

static void bind_some(size_t size)
{
	DAT_LMR_TRIPLET where = api_seg(&buf, 0, size);
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(dat_rmr_bind(rmr, &where, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.b.ep, api_cookie(5), 0, &context),
		    DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
}

/* Binds, also one that is refused. */
static void round_of_binds(void)
{
	DAT_LMR_TRIPLET beyond = api_seg(&buf, SIZE, 2 * SIZE), unknown = api_seg(&buf, 0, 8);
	DAT_RMR_CONTEXT context;

	bind_some(SIZE);
	bind_some(0);
	unknown.lmr_context ^= 0x5a5a5a5a;
	CHECK(dat_rmr_bind(rmr, &beyond, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.b.ep, api_cookie(6), 0, &context) !=
	      DAT_SUCCESS);
	CHECK(dat_rmr_bind(rmr, &unknown, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.b.ep, api_cookie(7), 0, &context) !=
	      DAT_SUCCESS);
}

static void messages_allocate_nothing(void)
{
	want_none(round_of_messages);
}

static void rdma_allocates_nothing(void)
{
	want_none(round_of_rdma);
}

static void binds_allocate_nothing(void)
{
	want_none(round_of_binds);
}

static const struct check_test tests[] = {
	CHECK_TEST(messages_allocate_nothing),
	CHECK_TEST(rdma_allocates_nothing),
	CHECK_TEST(binds_allocate_nothing),
	CHECK_END
};

static const struct check_suite steady = { .name = "soft steady", .setup = setup, .teardown = api_close, .tests = tests };

CHECK_SUITES(&steady);
