/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages are replaced while threads use them: no store is lost, and a failure leaves the memory as it was. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/remap.h"

#define PAGES	64u
#define ROUNDS	20u
#define THREADS 3u

static size_t page, size;
static unsigned char *memory; /* `size` bytes of it, between two pages that nobody may touch */
static int uffd = -1;

static void setup(void)
{
	uffd = soft_remap_open();
	if (uffd < 0)
		check_skip("userfaultfd() fails here");
	page = (size_t)sysconf(_SC_PAGESIZE);
	size = PAGES * page;
	memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	memory += page;
	REQUIRE(mprotect(memory, size, PROT_READ | PROT_WRITE) == 0);
}

static void teardown(void)
{
	if (uffd < 0)
		return;
	munmap(memory - page, size + 2 * page);
	close(uffd);
}

static int file_new(void)
{
	int fd = memfd_create("opendat-remap-test", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(ftruncate(fd, (off_t)size) == 0);
	return fd;
}

static unsigned char byte_of(size_t at)
{
	return (unsigned char)(at * 7 + at / page);
}

/* Every third page stays zero. */
static void fill(void)
{
	for (size_t i = 0; i < size; i++)
		if (i / page % 3)
			memory[i] = byte_of(i);
}

static void want_filled(void)
{
	for (size_t i = 0; i < size; i++)
		if (memory[i] != (i / page % 3 ? byte_of(i) : 0))
			REQUIRE_FAIL("byte %zu is %d", i, memory[i]);
}

static void content_moves_to_the_file_and_back(void)
{
	int fd = file_new();
	unsigned char byte = 0;
	struct stat st;

	fill();
	REQUIRE_EQ_INT(soft_remap_shared(uffd, memory, size, fd), 0);
	want_filled();
	memory[page] = 99;
	REQUIRE(pread(fd, &byte, 1, (off_t)page) == 1);
	CHECK_EQ_INT(byte, 99); /* the memory is a mapping of the file */
	memory[page] = byte_of(page);
	REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd), 0);
	want_filled();
	memory[page] = 98;
	REQUIRE(pread(fd, &byte, 1, (off_t)page) == 1);
	CHECK_EQ_INT(byte, byte_of(page)); /* and now it is not any more */
	REQUIRE(fstat(fd, &st) == 0);
	close(fd);
}

static void memory_that_was_never_written_takes_none(void)
{
	int fd = file_new();
	struct stat st;

	memory[5 * page] = 1;
	REQUIRE_EQ_INT(soft_remap_shared(uffd, memory, size, fd), 0);
	REQUIRE(fstat(fd, &st) == 0);
	CHECK((size_t)st.st_blocks * 512 <= page);
	CHECK_EQ_INT(memory[5 * page], 1);
	REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd), 0);
	CHECK_EQ_INT(memory[5 * page], 1);
	CHECK_EQ_INT(memory[6 * page], 0);
	close(fd);
}

static _Atomic int stop;
static uint64_t counted[THREADS];

/* Counts up words of this thread's own in every page. */
static void *count(void *arg)
{
	size_t self = (size_t)(uintptr_t)arg, at = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		_Atomic uint64_t *word = (void *)(memory + at + self * sizeof *word);

		atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1, memory_order_relaxed);
		counted[self]++;
		at = (at + page) % size;
	}
	return NULL;
}

static void store_of_another_thread_is_never_lost(void)
{
	pthread_t thread[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, count, (void *)(uintptr_t)i) == 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		int fd = file_new();

		REQUIRE_EQ_INT(soft_remap_shared(uffd, memory, size, fd), 0);
		usleep(1000);
		REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd), 0);
		usleep(1000);
		close(fd);
	}
	atomic_store(&stop, 1);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < THREADS; i++) {
		uint64_t found = 0;

		for (size_t at = 0; at < size; at += page)
			found += ((uint64_t *)(void *)(memory + at))[i];
		CHECK(counted[i] > 0);
		CHECK_EQ_INT(found, counted[i]);
	}
}

static void failure_leaves_the_memory_as_it_was(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	fill();
	REQUIRE(fd >= 0);
	CHECK_EQ_INT(soft_remap_shared(uffd, memory, size, fd), EBADF); /* the descriptor cannot be written to */
	want_filled();
	CHECK_EQ_INT(soft_remap_shared(-1, memory, size, fd), EBADF);
	want_filled();
	close(fd);
	fd = file_new();
	REQUIRE_EQ_INT(soft_remap_shared(uffd, memory, size, fd), 0);
	CHECK_EQ_INT(soft_remap_private(-1, memory, size, fd), EBADF);
	CHECK_EQ_INT(soft_remap_private(uffd, memory, size, -1), EBADF);
	want_filled();
	REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd), 0);
	want_filled();
	close(fd);
}

static const struct check_test tests[] = {
	CHECK_TEST(content_moves_to_the_file_and_back),
	CHECK_TEST(memory_that_was_never_written_takes_none),
	CHECK_TEST(store_of_another_thread_is_never_lost),
	CHECK_TEST(failure_leaves_the_memory_as_it_was),
	CHECK_END
};

static const struct check_suite suite = {
	.name = "pages under threads that use them", .setup = setup, .teardown = teardown, .tests = tests
};

CHECK_SUITES(&suite);
