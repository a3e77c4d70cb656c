/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread reads long from memory of a peer that is mapped here, again and again from the same region. Meanwhile dat_lmr_free() of
 * a region that the read does not touch returns.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"

#define LEN    ((size_t)64 << 20)
#define NOTED  2  /* so many reads, and the provider has noted the region */
#define ROUNDS 10 /* a busy machine may let this thread wait until a read is over */

static void peer_has_memory(void *arg)
{
	(void)arg;
	meet_accept(LEN);
	memset(my.buf.mem, 1, LEN);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

static void *reader(void *arg)
{
	(void)arg;
	REQUIRE_DAT(api_read(my.end.ep, api_seg(&my.buf, 0, LEN), my.theirs.target, 1, 0), DAT_SUCCESS);
	return NULL;
}

/* Reads memory that another thread copies to, which the thread sanitizer would report. */
__attribute__((no_sanitize_thread)) static bool has_come(size_t at)
{
	return *(const volatile unsigned char *)(my.buf.mem + at);
}

/* Returns true if a region was freed while the read went on. */
static bool freed_amid_a_read(void)
{
	struct api_buf other = api_buf(8, DAT_MEM_PRIV_ALL_FLAG);
	pthread_t thread;
	bool amid;

	memset(my.buf.mem, 0, LEN);
	REQUIRE(pthread_create(&thread, NULL, reader, NULL) == 0);
	while (!has_come(0))
		sched_yield();
	REQUIRE_DAT(dat_lmr_free(other.lmr), DAT_SUCCESS);
	amid = !has_come(LEN - 1);
	pthread_join(thread, NULL);
	API_DTO(my.end.request, my.end.ep, 1, DAT_DTO_SUCCESS, LEN);
	return amid;
}

static void long_read_holds_no_other_region(void)
{
	bool amid = false;

	REQUIRE(setenv("OPENDAT_TEST_IA", "soft-memory", 1) == 0);
	meet_start(peer_has_memory, LEN);
	check_await(my.peer);
	for (int i = 0; i < NOTED; i++)
		(void)freed_amid_a_read();
	for (int i = 0; i < ROUNDS && !amid; i++)
		amid = freed_amid_a_read();
	CHECK(amid);
	check_signal(my.peer);
	check_join(my.peer);
}

static const struct check_test tests[] = { CHECK_TEST(long_read_holds_no_other_region), CHECK_END };

static const struct check_suite spared = { .name = "regions that a copy does not touch", .teardown = api_close, .tests = tests };

CHECK_SUITES(&spared);
