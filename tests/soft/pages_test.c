/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of the process's memory: all the ways of asking the kernel give the same results. */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/pages.h"

#define PAGES 10u

static uint64_t page;
static unsigned char *memory; /* PAGES of it, see setup() */
static int fd = -1;

/* Pages 2 and 8 cannot be written, page 4 cannot be accessed, and page 6 is not mapped. */
static void setup(void)
{
	page = (uint64_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	REQUIRE(mprotect(memory + 2 * page, page, PROT_READ) == 0);
	REQUIRE(mprotect(memory + 4 * page, page, PROT_NONE) == 0);
	REQUIRE(munmap(memory + 6 * page, page) == 0);
	REQUIRE(mprotect(memory + 8 * page, page, PROT_READ) == 0);
	fd = soft_pages_open();
}

static void teardown(void)
{
	munmap(memory, PAGES * page);
	if (fd >= 0)
		close(fd);
	fd = -1;
}

typedef enum datp_err check_fn(uint64_t addr, uint64_t len, bool write, bool *shared);

static enum datp_err by_ioctl(uint64_t addr, uint64_t len, bool write, bool *shared)
{
	return soft_pages_check(fd, addr, len, write, shared);
}

static enum datp_err without_descriptor(uint64_t addr, uint64_t len, bool write, bool *shared)
{
	return soft_pages_check(-1, addr, len, write, shared);
}

static void hold(check_fn *check)
{
	const struct {
		uint64_t from, len; /* in bytes */
		enum datp_err read, write;
	} rows[] = {
		{ 0, 1, DATP_OK, DATP_OK },
		{ 0, 2 * page, DATP_OK, DATP_OK },
		{ 3, 2 * page - 3, DATP_OK, DATP_OK },
		{ 3, 2 * page - 2, DATP_OK, DATP_ERR_BAD_PRIV }, /* one byte of page 2 */
		{ 2 * page, 1, DATP_OK, DATP_ERR_BAD_PRIV },
		{ 3 * page - 1, 1, DATP_OK, DATP_ERR_BAD_PRIV },
		{ 3 * page - 1, 2, DATP_OK, DATP_ERR_BAD_PRIV },
		{ 3 * page, page, DATP_OK, DATP_OK },
		{ 0, 4 * page, DATP_OK, DATP_ERR_BAD_PRIV },
		{ 3 * page, page + 1, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 4 * page, 1, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 4 * page + 5, page, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 5 * page, page, DATP_OK, DATP_OK },
		{ 5 * page, page + 1, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 6 * page, 1, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 7 * page - 1, 2, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 7 * page, page, DATP_OK, DATP_OK },
		{ 5 * page, 3 * page, DATP_ERR_BAD_MEMORY, DATP_ERR_BAD_MEMORY },
		{ 7 * page, 2 * page, DATP_OK, DATP_ERR_BAD_PRIV },
		{ 9 * page, page, DATP_OK, DATP_OK },
	};

	bool shared;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int write = 0; write < 2; write++) {
			enum datp_err want = write ? rows[i].write : rows[i].read;
			enum datp_err got = check((uintptr_t)memory + rows[i].from, rows[i].len,
						  write, &shared);

			if (got != want || shared)
				CHECK_FAIL("row %zu, write %d: %d, wanted %d, shared %d", i, write,
					   got, want, shared);
		}
	CHECK_EQ_INT(check(UINT64_MAX - 1, 1, false, &shared), DATP_ERR_BAD_MEMORY);
	CHECK_EQ_INT(check(UINT64_MAX, 1, false, &shared), DATP_ERR_BAD_MEMORY);
	CHECK_EQ_INT(check(1, 1, false, &shared), DATP_ERR_BAD_MEMORY);
	CHECK_EQ_INT(check(1, UINT64_MAX - 1, true, &shared), DATP_ERR_BAD_MEMORY);
	CHECK_EQ_INT(check((uintptr_t)&fd, sizeof(fd), true, &shared), DATP_OK);
	CHECK_EQ_INT(check((uintptr_t)&rows, sizeof(rows), false, &shared), DATP_OK);
	CHECK_EQ_INT(check((uintptr_t) "constant", 8, true, &shared), DATP_ERR_BAD_PRIV);
	CHECK_EQ_INT(check((uintptr_t) "constant", 8, false, &shared), DATP_OK);
}

static void kernel_is_asked_for_each_mapping(void)
{
	if (fd < 0)
		check_skip("no /proc here");
	hold(by_ioctl);
}

/* Maps a file with `flags` over pages 0 and 1. The checks have to accept it, and to report `want` as `shared`. */
static void hold_file(check_fn *check, int file, int flags, bool want)
{
	uint64_t at = (uintptr_t)memory;
	bool shared;

	REQUIRE(mmap(memory, 2 * page, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) ==
		memory);
	CHECK_EQ_INT(check(at, 2 * page, true, &shared), DATP_OK);
	CHECK_EQ_INT(shared, want);
	CHECK_EQ_INT(check(at + 5, 1, false, &shared), DATP_OK);
	CHECK_EQ_INT(shared, want);
	/* the next page is ordinary memory */
	CHECK_EQ_INT(check(at + page, page + 1, false, &shared), DATP_OK);
	CHECK(!shared);
}

static void shared_mapping_of_a_file_is_told(void)
{
	int file = memfd_create("pages", MFD_CLOEXEC);

	if (fd < 0)
		check_skip("no /proc here");
	REQUIRE(file >= 0);
	REQUIRE(ftruncate(file, (off_t)(2 * page)) == 0);
	hold_file(by_ioctl, file, MAP_SHARED, true);
	hold_file(soft_pages_check_text, file, MAP_SHARED, true);
	hold_file(without_descriptor, file, MAP_PRIVATE, false);
	hold_file(by_ioctl, file, MAP_PRIVATE, false);
	close(file);
}

static void mapping_of_a_process_is_found_with_its_file(void)
{
	uint64_t at = (uintptr_t)memory;
	int file = memfd_create("pages", MFD_CLOEXEC);
	struct soft_backing backing;
	struct stat st;

	if (fd < 0)
		check_skip("no /proc here");
	REQUIRE(file >= 0);
	REQUIRE(ftruncate(file, (off_t)(4 * page)) == 0 && fstat(file, &st) == 0);
	REQUIRE(mmap(memory, 2 * page, PROT_READ, MAP_SHARED | MAP_FIXED, file,
		     (off_t)(2 * page)) == memory);
	REQUIRE(soft_pages_backing(getpid(), at + 7, 2 * page - 7, &backing));
	CHECK(backing.start == at && backing.end == at + 2 * page && backing.offset == 2 * page);
	CHECK(backing.dev == st.st_dev && backing.ino == st.st_ino);
	CHECK(!soft_pages_backing(getpid(), at + 7, 2 * page - 6, &backing));
	CHECK(!soft_pages_backing(getpid(), at + 3 * page, 1, &backing));
	CHECK(!soft_pages_backing(getpid(), 1, 1, &backing));
	close(file);
}

static void list_of_mappings_says_the_same(void)
{
	if (fd < 0)
		check_skip("no /proc here");
	hold(soft_pages_check_text);
	hold(without_descriptor);
}

static void what_is_not_mapped_is_found_without_proc(void)
{
	uint64_t at = (uintptr_t)memory;

	CHECK_EQ_INT(soft_pages_check_mapped(at + 1, 6 * page - 1), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_mapped(at + 1, 6 * page), DATP_ERR_BAD_MEMORY);
	CHECK_EQ_INT(soft_pages_check_mapped(at + 7 * page - 1, 2), DATP_ERR_BAD_MEMORY);
	CHECK_EQ_INT(soft_pages_check_mapped(at + 7 * page, 3 * page), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_mapped(1, UINT64_MAX - 1), DATP_ERR_BAD_MEMORY);
}

/* Returns how many of these pages are in memory. */
static size_t present(const void *at, size_t pages)
{
	unsigned char vec[4096];
	size_t count = 0;

	REQUIRE(pages <= sizeof(vec));
	REQUIRE(mincore((void *)(uintptr_t)at, pages * page, vec) == 0);
	for (size_t i = 0; i < pages; i++)
		count += vec[i] & 1;
	return count;
}

static void asking_brings_no_page_in(void)
{
	size_t size = 4096 * page;
	void *large = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool shared;

	REQUIRE(large != MAP_FAILED);
	CHECK_EQ_INT(soft_pages_check(fd, (uintptr_t)large, size, true, &shared), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_text((uintptr_t)large, size, true, &shared), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_mapped((uintptr_t)large, size), DATP_OK);
	CHECK_EQ_INT(present(large, 4096), 0);
	munmap(large, size);
}

/* The first process of a PID namespace. It ends with the test. */
static void be_first(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Forks a process that has the number `pid` in the PID namespace of the next children. Returns -1 with errno. */
static pid_t fork_as(pid_t pid)
{
	const struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/*
 * This process has the number `pid`, and another file at `shared` than the process that has this number in /proc. Returns 0 if it
 * finds its own file, and its child, which knows it by that number, finds none.
 */
static int look_at(pid_t pid, unsigned char *shared)
{
	const int file = memfd_create("theirs", MFD_CLOEXEC);
	struct soft_backing backing;
	struct stat theirs;
	int status = 0;
	pid_t child;

	mmap(shared, page, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
	if (getpid() != pid || fstat(file, &theirs))
		return 2;
	if (!soft_pages_backing(pid, (uintptr_t)shared, page, &backing) || backing.ino != theirs.st_ino)
		return 3;
	child = fork();
	if (!child)
		_exit(soft_pages_backing(pid, (uintptr_t)shared, page, &backing));
	return waitpid(child, &status, 0) == child ? status : 4;
}

/*
 * A process in a PID namespace of its own has the number that this one has out here, and sees the /proc of out here. It maps
 * another file at the address at which this process maps one. Under its number /proc shows this process's file, so nobody may find
 * that, but the process finds its own.
 */
static void look_from_inside(void *arg)
{
	struct soft_backing backing;
	const pid_t pid = getpid();
	unsigned char *shared;
	pid_t first, same;
	int status = 0;
	bool there;

	(void)arg;

	shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_create("ours", MFD_CLOEXEC), 0);
	REQUIRE(shared != MAP_FAILED && soft_pages_backing(pid, (uintptr_t)shared, page, &backing));
	there = !unshare(CLONE_NEWPID);
	first = there ? fork() : -1;
	if (!first)
		be_first();
	same = there ? fork_as(pid) : -1;
	if (!same)
		_exit(look_at(pid, shared));
	there = same > 0 && waitpid(same, &status, 0) == same;
	if (first > 0) {
		kill(first, SIGKILL);
		waitpid(first, NULL, 0);
	}
	check_put(CHECK_PARENT, &there, sizeof(there));
	/* this process cannot fork any more, as a sanitizer would at its end */
	_exit(there && status ? EXIT_FAILURE : 0);
}

static void other_namespaces_list_of_processes_is_not_believed(void)
{
	pid_t pid = check_fork(look_from_inside, NULL);
	bool there;

	check_get(pid, &there, sizeof(there));
	check_join(pid);
	if (!there)
		check_skip("the system does not let this process make a PID namespace, and choose numbers in it");
}

static const struct check_test tests[] = { CHECK_TEST(kernel_is_asked_for_each_mapping),
					   CHECK_TEST(list_of_mappings_says_the_same),
					   CHECK_TEST(shared_mapping_of_a_file_is_told),
					   CHECK_TEST(mapping_of_a_process_is_found_with_its_file),
					   CHECK_TEST(what_is_not_mapped_is_found_without_proc),
					   CHECK_TEST(other_namespaces_list_of_processes_is_not_believed),
					   CHECK_TEST(asking_brings_no_page_in), CHECK_END };

static const struct check_suite pages = {
	.name = "soft pages", .setup = setup, .teardown = teardown, .tests = tests
};

CHECK_SUITES(&pages);
