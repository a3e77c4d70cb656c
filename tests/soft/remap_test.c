/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages are replaced while threads use them: no store is lost, and a failure leaves the memory as it was. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/remap.h"

#define PAGES	64u
#define ROUNDS	20u
#define THREADS 3u

static size_t page, size;
static unsigned char *memory; /* `size` bytes of it, between two pages that nobody may touch */
static void *kept; /* by a range that is shared */
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

/* Moves a range into the file. */
static int share(int faults, void *addr, size_t len, int fd)
{
	void *file = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error = file == MAP_FAILED ? errno : soft_remap_shared(faults, addr, len, file, &kept);

	if (error && file != MAP_FAILED)
		munmap(file, len);
	return error;
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
	REQUIRE_EQ_INT(share(uffd, memory, size, fd), 0);
	want_filled();
	memory[page] = 99;
	REQUIRE(pread(fd, &byte, 1, (off_t)page) == 1);
	CHECK_EQ_INT(byte, 99); /* the memory is a mapping of the file */
	memory[page] = byte_of(page);
	REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd, 0, false, kept), 0);
	want_filled();
	memory[page] = 98;
	REQUIRE(pread(fd, &byte, 1, (off_t)page) == 1);
	CHECK_EQ_INT(byte, byte_of(page)); /* and now it is not any more */
	REQUIRE(fstat(fd, &st) == 0);
	close(fd);
}

/* Stands for the C library's, so that a file has pages that the kernel has not in memory, without swap; or it is forbidden. */
static enum { SEES_ALL, SEES_SOME, FORBIDDEN } sight;

int mincore(void *addr, size_t len, unsigned char *present)
{
	int result = sight == FORBIDDEN ? -1 : (int)syscall(SYS_mincore, addr, len, present);

	for (size_t i = 0; sight == SEES_SOME && i < len / page; i += 4)
		present[i] = 0;
	if (sight == FORBIDDEN)
		errno = EPERM;
	return result;
}

static void moves_if(int what_is_seen)
{
	int fd = file_new();

	fill();
	REQUIRE_EQ_INT(share(uffd, memory, size, fd), 0);
	sight = what_is_seen;
	CHECK_EQ_INT(soft_remap_private(uffd, memory, size, fd, 0, false, kept), 0);
	sight = SEES_ALL;
	want_filled();
	close(fd);
}

static void pages_that_are_not_in_memory_are_moved_too(void)
{
	moves_if(SEES_SOME);
}

static void pages_are_moved_where_the_system_does_not_say_which_there_are(void)
{
	moves_if(FORBIDDEN);
}

static void memory_that_was_never_written_takes_none(void)
{
	int fd = file_new();
	struct stat st;

	memory[5 * page] = 1;
	REQUIRE_EQ_INT(share(uffd, memory, size, fd), 0);
	REQUIRE(fstat(fd, &st) == 0);
	CHECK((size_t)st.st_blocks * 512 <= page);
	CHECK_EQ_INT(memory[5 * page], 1);
	REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd, 0, false, kept), 0);
	CHECK_EQ_INT(memory[5 * page], 1);
	CHECK_EQ_INT(memory[6 * page], 0);
	close(fd);
}

static _Atomic int stop;
static _Atomic uint64_t counted[THREADS];

/* Counts up words of this thread's own in every page. */
static void *count(void *arg)
{
	size_t self = (size_t)(uintptr_t)arg, at = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		_Atomic uint64_t *word = (void *)(memory + at + self * sizeof *word);

		atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&counted[self], 1, memory_order_relaxed);
		at = (at + page) % size;
	}
	return NULL;
}

static void store_of_another_thread_is_never_lost(void)
{
	pthread_t thread[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, count, (void *)(uintptr_t)i) == 0);
	for (size_t i = 0; i < THREADS; i++)
		while (!atomic_load(&counted[i]))
			usleep(100);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		int fd = file_new();

		REQUIRE_EQ_INT(share(uffd, memory, size, fd), 0);
		usleep(1000);
		REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd, 0, false, kept), 0);
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
		CHECK_EQ_INT(found, atomic_load(&counted[i]));
	}
}

/* Stands for `kept`, which does not outlive a failure. */
static void *kept_anew(void)
{
	void *anew = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(anew != MAP_FAILED);
	return anew;
}

static void failure_leaves_the_memory_as_it_was(void)
{
	int fd = file_new();

	fill();
	REQUIRE(pwrite(fd, "", 1, (off_t)(size / 2)) == 1);
	CHECK_EQ_INT(share(uffd, memory, size, fd), EEXIST); /* the file is not empty */
	want_filled();
	CHECK_EQ_INT(share(-1, memory, size, fd), EBADF);
	want_filled();
	close(fd);
	fd = file_new();
	REQUIRE_EQ_INT(share(uffd, memory, size, fd), 0);
	CHECK_EQ_INT(soft_remap_private(-1, memory, size, fd, 0, false, kept_anew()), EBADF);
	CHECK_EQ_INT(soft_remap_private(uffd, memory, size, -1, 0, false, kept_anew()), EBADF);
	want_filled();
	REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd, 0, false, kept), 0);
	want_filled();
	close(fd);
}

/* ---- pages that have never been used ---- */

#define HOLES 1024u /* pages, with as many times three of data behind them */

static unsigned char *sparse;
static _Atomic size_t stored; /* the number of pages from the front that have been stored to */

static void *store_to_holes(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < HOLES && !atomic_load_explicit(&stop, memory_order_relaxed); i++) {
		*(volatile unsigned char *)(sparse + i * page) = 1;
		atomic_store_explicit(&stored, i + 1, memory_order_relaxed);
	}
	return NULL;
}

/* While the data behind them is moved, stores go to pages that the file does not have. */
static void store_to_a_page_without_content_is_not_lost(void)
{
	size_t len = 4 * HOLES * page;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		int fd = memfd_create("opendat-remap-test", MFD_CLOEXEC);
		pthread_t thread;

		sparse = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		REQUIRE(sparse != MAP_FAILED && fd >= 0 && ftruncate(fd, (off_t)len) == 0);
		memset(sparse + HOLES * page, 1, 3 * HOLES * page);
		REQUIRE_EQ_INT(share(uffd, sparse, len, fd), 0);
		atomic_store(&stop, 0);
		atomic_store(&stored, 0);
		REQUIRE(pthread_create(&thread, NULL, store_to_holes, NULL) == 0);
		while (!atomic_load(&stored))
			;
		REQUIRE_EQ_INT(soft_remap_private(uffd, sparse, len, fd, 0, false, kept), 0);
		atomic_store(&stop, 1);
		pthread_join(thread, NULL);
		for (size_t i = 0; i < atomic_load(&stored); i++)
			if (!sparse[i * page])
				REQUIRE_FAIL("the store to page %zu of %zu is lost", i, atomic_load(&stored));
		munmap(sparse, len);
		close(fd);
	}
}

/* ---- the calling thread ---- */

static _Atomic uint64_t handled;

static void handler(int number)
{
	(void)number;
	atomic_store_explicit((_Atomic uint64_t *)(void *)(memory + size / 2), atomic_fetch_add(&handled, 1) + 1,
			      memory_order_relaxed);
}

/* It would wait for its own thread. */
static void signal_handler_may_use_the_memory(void)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;

	REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
	REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (unsigned int i = 0; i < 20 * ROUNDS; i++) {
		int fd = file_new();

		fill();
		REQUIRE_EQ_INT(share(uffd, memory, size, fd), 0);
		REQUIRE_EQ_INT(soft_remap_private(uffd, memory, size, fd, 0, false, kept), 0);
		close(fd);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	CHECK(atomic_load(&handled) > 0);
}

/* ---- the number of mappings ---- */

/* It uses no memory of the C library, because a test has used up the process's mappings. */
static long mappings(void)
{
	static char text[65536];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	long lines = 0;
	ssize_t n;

	REQUIRE(fd >= 0);
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	close(fd);
	return lines;
}

static void remap_page(size_t at, int want)
{
	int fd = memfd_create("opendat-remap-test", MFD_CLOEXEC), error;

	REQUIRE(fd >= 0 && ftruncate(fd, (off_t)page) == 0);
	error = share(uffd, memory + at, page, fd);
	if (want >= 0)
		REQUIRE_EQ_INT(error, want);
	memory[at + 1] = byte_of(at + 1);
	if (!error)
		(void)soft_remap_private(uffd, memory + at, page, fd, 0, false, kept);
	close(fd);
}

static void memory_is_one_mapping_again_afterwards(void)
{
	long before;

	memset(memory, 1, size);
	before = mappings();
	for (size_t at = page; at < size - page; at += 2 * page)
		remap_page(at, 0);
	CHECK_EQ_INT(mappings(), before);
}

static void memory_that_was_never_used_is_one_mapping_again_as_well(void)
{
	long before = mappings();

	for (size_t at = page; at < size - page; at += 2 * page)
		remap_page(at, 0);
	CHECK_EQ_INT(mappings(), before);
}

#define MOST	 65530 /* Linux's own setting of vm.max_map_count; a system that allows more takes no part */
#define DISTANCE 16

/* A child process for each number: with the mappings that are left to it, a move succeeds, does not begin, or is undone. */
static void process_with_almost_as_many_mappings_as_it_may_have(void)
{
	long limit = 0;
	FILE *setting = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned char *many;

	if (!setting || fscanf(setting, "%ld", &limit) != 1 || limit != MOST)
		check_skip("this system allows another number of mappings");
	fclose(setting);
	many = mmap(NULL, 2 * MOST * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(many != MAP_FAILED);
	fill();
	for (long n = mappings(), i = 1; n < MOST - DISTANCE; n += 2, i += 2)
		REQUIRE(mprotect(many + (size_t)i * page, page, PROT_READ) == 0);
	for (int more = 0; more < DISTANCE - 2; more++) {
		pid_t child = fork();
		int status = 0;

		REQUIRE(child >= 0);
		if (!child) {
			uffd = soft_remap_open(); /* it belongs to the process that opens it */
			for (int i = 0; i < more; i++)
				(void)mmap(NULL, page, i & 1 ? PROT_READ : PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			remap_page(4 * page, -1);
			want_filled();
			_exit(0);
		}
		REQUIRE(waitpid(child, &status, 0) == child);
		CHECK_EQ_INT(status, 0);
	}
	munmap(many, 2 * MOST * page);
}

static const struct check_test tests[] = {
	CHECK_TEST(content_moves_to_the_file_and_back),
	CHECK_TEST(pages_that_are_not_in_memory_are_moved_too),
	CHECK_TEST(pages_are_moved_where_the_system_does_not_say_which_there_are),
	CHECK_TEST(memory_that_was_never_written_takes_none),
	CHECK_TEST(store_of_another_thread_is_never_lost),
	CHECK_TEST(store_to_a_page_without_content_is_not_lost),
	CHECK_TEST(signal_handler_may_use_the_memory),
	CHECK_TEST(memory_is_one_mapping_again_afterwards),
	CHECK_TEST(memory_that_was_never_used_is_one_mapping_again_as_well),
	CHECK_TEST(process_with_almost_as_many_mappings_as_it_may_have),
	CHECK_TEST(failure_leaves_the_memory_as_it_was),
	CHECK_END
};

static const struct check_suite suite = {
	.name = "pages under threads that use them", .setup = setup, .teardown = teardown, .tests = tests
};

CHECK_SUITES(&suite);
