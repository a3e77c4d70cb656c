/* SPDX-License-Identifier: BSD-2-Clause */
/* datperf's verdict on a message whose last byte is there before others: tools/datperf_data.c. */
#include "config.h"

#include <sys/mman.h>
#include <time.h>

#include "check.h"
#include "tools/datperf.h"

enum { SIZE = 4096, GENERATION = 3, LATE = 128, PAUSE_MS = 50 };

static struct perf_region mem;

static void make_region(void)
{
	mem = (struct perf_region){ .size = SIZE, .extent = SIZE, .stride = SIZE, .slots = 1 };
	mem.base = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(mem.base != MAP_FAILED);
}

static void free_region(void)
{
	munmap(mem.base, 2 * SIZE);
}

/* Puts the bytes of a message from an offset up to another one into the memory of the receiver. */
static void put(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		region_in(&mem, 0)[i] = pattern_byte(&mem, true, GENERATION, 0, i);
}

static bool verify(uint64_t *late)
{
	return pattern_verify_polled(&mem, true, GENERATION, 0, late);
}

/* Plays the device, in a process of its own. */
static void put_the_rest(void *arg)
{
	struct timespec pause = { 0, PAUSE_MS * 1000000L };

	(void)arg;
	nanosleep(&pause, NULL);
	put(LATE, SIZE - 1);
}

static void message_that_is_there_is_right_at_once(void)
{
	uint64_t late = 0;

	put(0, SIZE);
	CHECK(verify(&late));
	CHECK_EQ_INT(late, SIZE);
}

static void bytes_that_come_after_the_last_one_are_named(void)
{
	pid_t device;
	uint64_t late = 0;

	put(0, LATE);
	put(SIZE - 1, SIZE);
	device = check_fork(put_the_rest, NULL);
	CHECK(verify(&late));
	CHECK_EQ_INT(late, LATE);
	check_join(device);
}

static void byte_that_never_comes_is_wrong(void)
{
	uint64_t late = 0;

	put(0, LATE);
	put(LATE + 1, SIZE);
	CHECK(!verify(&late));
	CHECK_EQ_INT(late, LATE);
}

static const struct check_test tests[] = {
	CHECK_TEST(message_that_is_there_is_right_at_once),
	CHECK_TEST(bytes_that_come_after_the_last_one_are_named),
	CHECK_TEST(byte_that_never_comes_is_wrong),
	CHECK_END
};
static const struct check_suite suite = { .name = "datperf's data", .setup = make_region, .teardown = free_region, .tests = tests };

CHECK_SUITES(&suite);
