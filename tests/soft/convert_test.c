/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory=shared: registered memory is shared memory until it is freed. What the program sees of that, and
 * what a peer does with it.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "convert_file.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define PAGES	  16u
#define LEFT	  600u
#define LOCAL	  (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define READS	  (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)

static size_t page, size;
static unsigned char *memory; /* `size` bytes of it, between two pages that nobody may touch */

static void open_and_map(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	size = PAGES * page;
	memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	memory += page;
	REQUIRE(mprotect(memory, size, PROT_READ | PROT_WRITE) == 0);
	api_open_as((char *)(uintptr_t)"soft-memory");
}

/* Skips the test where the system does not let the provider do it. */
static void setup(void)
{
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);

	if (fd < 0)
		check_skip("userfaultfd() fails here");
	close((int)fd);
	open_and_map();
}

static void teardown(void)
{
	api_close();
	if (memory)
		munmap(memory - page, size + 2 * page);
	memory = NULL;
	CHECK_SOON(check_mappings(FILE_NAME) == 0); /* a thread of its own ends those of a peer's files */
}

static struct api_buf registered(size_t at, size_t len, DAT_MEM_PRIV_FLAGS rights)
{
	return api_buf_in(api.pz, memory + at, len, rights);
}

static void unregister(const struct api_buf *buf)
{
	REQUIRE_DAT(dat_lmr_free(buf->lmr), DAT_SUCCESS);
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void region_is_shared_memory_until_it_is_freed(void)
{
	struct api_buf buf;

	api_fill(memory, size, 1);
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(shared(memory) && shared(memory + size - 1));
	CHECK_EQ_INT(api_mismatch(memory, size, 1), -1);
	api_fill(memory, size, 2);
	unregister(&buf);
	CHECK(!shared(memory) && !shared(memory + size - 1));
	CHECK_EQ_INT(api_mismatch(memory, size, 2), -1);
	/* as the C library's malloc() relies on */
	REQUIRE(madvise(memory, size, MADV_DONTNEED) == 0);
	CHECK_EQ_INT(memory[0], 0);
}

static void bytes_beside_it_on_its_pages_stay_private(void)
{
	struct api_buf buf = registered(100, size - 200, DAT_MEM_PRIV_ALL_FLAG);

	CHECK(!shared(memory + 100));
	CHECK(shared(memory + page) && shared(memory + size - page - 1));
	CHECK(!shared(memory + size - page));
	unregister(&buf);
	CHECK(!shared(memory + page));
	buf = registered(100, 2 * page - 200, DAT_MEM_PRIV_ALL_FLAG); /* it has no whole page */
	CHECK(!shared(memory) && !shared(memory + page));
	unregister(&buf);
}

static void region_without_a_remote_right_stays_as_it_is(void)
{
	struct api_buf buf = registered(0, size, LOCAL);

	CHECK(!shared(memory));
	unregister(&buf);
}

static void last_region_of_a_range_makes_it_private(void)
{
	struct api_buf first = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf second = registered(page, page, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf local = registered(3 * page + 8, 8, LOCAL);

	unregister(&first);
	CHECK(shared(memory + page) && shared(memory + 3 * page));
	unregister(&second);
	CHECK(!shared(memory + page) && shared(memory + 3 * page));
	unregister(&local);
	CHECK(!shared(memory + 3 * page));
}

/* Registers every other page, and both halves of the range, and frees the halves first. */
static void pages_that_no_region_has_any_more_become_private(void)
{
	struct api_buf all = registered(0, size, DAT_MEM_PRIV_ALL_FLAG), half[2], odd[PAGES / 2];
	int before = open_files();

	api_fill(memory, size, 1);
	half[0] = registered(0, size / 2 + 1, DAT_MEM_PRIV_ALL_FLAG);
	half[1] = registered(size / 2, size / 2, LOCAL);
	for (size_t i = 0; i < PAGES / 2; i++)
		odd[i] = registered((2 * i + 1) * page + 7, page - 7, i % 2 ? LOCAL : READS);
	unregister(&all);
	CHECK(shared(memory) && shared(memory + size / 2) && shared(memory + size - 1));
	unregister(&half[0]);
	for (size_t i = 0; i < PAGES; i++)
		if (shared(memory + i * page) != (i % 2 || i >= PAGES / 2))
			REQUIRE_FAIL("page %zu", i);
	CHECK_EQ_INT(api_mismatch(memory, size, 1), -1);
	api_fill(memory, size, 2);
	unregister(&half[1]);
	for (size_t i = 0; i < PAGES; i++)
		if (shared(memory + i * page) != i % 2)
			REQUIRE_FAIL("page %zu", i);
	CHECK_EQ_INT(api_mismatch(memory, size, 2), -1);
	CHECK_EQ_INT(open_files(), before);
	/* what is private again can be registered anew */
	half[0] = registered(2 * page, page, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(shared(memory + 2 * page));
	unregister(&half[0]);
	CHECK(!shared(memory + 2 * page));
	for (size_t i = 0; i < PAGES / 2; i++)
		unregister(&odd[i]);
	CHECK(!shared(memory + page) && !shared(memory + size - 1));
	CHECK_EQ_INT(api_mismatch(memory, size, 2), -1);
	CHECK_EQ_INT(open_files(), before - 1);
	/* there is one mapping again, so a whole conversion is possible */
	all = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(shared(memory) && shared(memory + size - 1));
	unregister(&all);
}

static void region_that_another_one_overlaps_stays_as_it_is(void)
{
	struct api_buf local = registered(3 * page + 8, 8, LOCAL);
	struct api_buf other = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf beside = registered(4 * page, page, DAT_MEM_PRIV_ALL_FLAG);

	CHECK(!shared(memory + 3 * page) && !shared(memory + 4 * page));
	unregister(&local);
	unregister(&other);
	unregister(&beside);
	other = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(shared(memory));
	unregister(&other);
}

static void map_anew(int how)
{
	REQUIRE(mmap(memory, size, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
}

static void memory_of_another_kind_stays_as_it_is(void)
{
	struct api_buf buf;

	REQUIRE(mprotect(memory + page, page, PROT_READ) == 0); /* three mappings, and one of them cannot be written */
	buf = registered(0, size, READS);
	CHECK(!shared(memory) && !shared(memory + 3 * page));
	unregister(&buf);
	buf = registered(page, page, READS);
	CHECK(!shared(memory + page));
	unregister(&buf);
	map_anew(MAP_SHARED);
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(memory));
	unregister(&buf);
}

static void memory_with_a_guard_page_stays_as_it_is(void)
{
	struct api_buf buf;

	api_fill(memory, size, 1);
	if (madvise(memory + 3 * page, page, MADV_GUARD_INSTALL) < 0)
		check_skip("there are guard pages from Linux 6.13 on");
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(memory) && !shared(memory + 4 * page));
	CHECK_EQ_INT(api_mismatch(memory, 3 * page, 1), -1);
	unregister(&buf);
	/* the guard page is still there, and what is beside it can be shared */
	CHECK(madvise(memory + 3 * page, page, MADV_POPULATE_READ) < 0);
	buf = registered(4 * page, size - 4 * page, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(shared(memory + 4 * page));
	unregister(&buf);
}

static void memory_that_can_be_executed_stays_as_it_is(void)
{
	struct api_buf buf;

	if (mprotect(memory, size, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		check_skip("the system allows no memory that can be written and executed");
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(memory));
	unregister(&buf);
}

static void limit_of_the_length_of_files_does_not_end_the_program(void)
{
	struct rlimit before, limit;
	struct api_buf buf;

	REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
	limit = (struct rlimit){ size - 1, before.rlim_max };
	REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(memory));
	unregister(&buf);
	buf = registered(page, size - page, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(shared(memory + page));
	unregister(&buf);
	setrlimit(RLIMIT_FSIZE, &before);
}

static void half_of_the_descriptors_is_left_to_the_program(void)
{
	struct rlimit before, limit;
	struct api_buf buf[PAGES];
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the first that is free */

	REQUIRE(fd >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	close(fd);
	limit = (struct rlimit){ 2 * ((rlim_t)fd + PAGES / 2), before.rlim_max };
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (size_t i = 0; i < PAGES; i++)
		buf[i] = registered(i * page, page, DAT_MEM_PRIV_ALL_FLAG);
	for (size_t i = 0; i < PAGES; i++) {
		if (shared(memory + i * page) != (i < PAGES / 2))
			REQUIRE_FAIL("page %zu", i);
		unregister(&buf[i]);
	}
	setrlimit(RLIMIT_NOFILE, &before);
}

/* A program without a descriptor left is told what becomes of its memory. */
static void memory_stays_shared_with_a_word_if_its_mapping_cannot_be_told(void)
{
	struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	struct rlimit before, limit;
	const char *said;

	REQUIRE(shared(memory) && getrlimit(RLIMIT_NOFILE, &before) == 0);
	limit = (struct rlimit){ 0, before.rlim_max };
	check_stderr_begin();
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	unregister(&buf);
	setrlimit(RLIMIT_NOFILE, &before);
	said = check_stderr_end();
	CHECK(strstr(said, "stay shared memory after their registration") != NULL);
	CHECK(strstr(said, strerror(EMFILE)) != NULL);
	CHECK(shared(memory));
}

static void locked_memory_stays_as_it_is(void)
{
	struct api_buf buf;

	if (syscall(SYS_mlock, memory, size) < 0) /* the sanitizers' mlock() does nothing */
		check_skip("mlock() fails here");
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(memory));
	unregister(&buf);
	syscall(SYS_munlock, memory, size);
}

/* ------------------------------------------------------------------ a process that opens the file before it is sealed */

/* Registers all of the memory while the intruder is there. */
static struct api_buf registered_before(int does)
{
	struct api_buf buf;

	intruder = (struct intruder){ does, page, size, NULL, 0 };
	buf = registered(0, size, READS);
	intruder.does = AWAY;
	return buf;
}

static void file_that_somebody_has_mapped_before_it_was_sealed_is_not_used(void)
{
	struct api_buf buf = registered_before(MAPS);

	REQUIRE(intruder.map && intruder.map != MAP_FAILED);
	CHECK(!shared(memory));
	if (shared(memory)) /* else an empty file, perhaps none of this length */
		memset(intruder.map, 9, size);
	for (size_t i = 0; i < size; i++)
		if (memory[i])
			REQUIRE_FAIL("byte %zu has been written to", i);
	munmap(intruder.map, size);
	unregister(&buf);
	/* the next file is nobody's else */
	buf = registered(0, size, READS);
	CHECK(shared(memory));
	unregister(&buf);
}

static void file_that_somebody_has_written_to_before_it_was_sealed_is_not_used(void)
{
	struct api_buf buf = registered_before(WRITES);

	CHECK(!shared(memory));
	CHECK_EQ_INT(memory[page], 0);
	unregister(&buf);
}

/* The error of each lease where fs.leases-enable is 0 comes after the kernel has looked who has the file open. */
static void file_that_somebody_may_have_open_is_not_used(void)
{
	static const int errors[] = { EAGAIN, EACCES, ENOLCK, ENOMEM, EPERM, EINVAL };
	struct api_buf buf;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		intruder.lease_error = errors[i];
		buf = registered(0, size, READS);
		if (shared(memory) != (errors[i] == EINVAL))
			REQUIRE_FAIL("where a lease fails with %s", strerror(errors[i]));
		unregister(&buf);
	}
	intruder.lease_error = 0;
}

static void buffer_of_the_calling_thread_is_registered_too(void)
{
	/* by alloca(), because the address sanitizer has the arrays of functions elsewhere */
	unsigned char *here = alloca(4 * page);
	struct api_buf buf;

	memset(here, 5, 4 * page);
	buf = api_buf_in(api.pz, here, 4 * page, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(here + page));
	CHECK_EQ_INT(here[page], 5);
	unregister(&buf);
}

/* Returns the status of a child that reads one byte. */
static int child_reads(const volatile unsigned char *at)
{
	int status = 0;
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		_exit(*at);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	return status;
}

static void child_inherits_it_only_after_the_free(void)
{
	struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	int status;

	memory[0] = 3;
	status = child_reads(memory);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 3);
	unregister(&buf);
	status = child_reads(memory);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* What a program says of a part of its memory divides the mapping, as advice does. That is no other memory. */
static void memory_that_the_program_divides_becomes_private_as_well(void)
{
	struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);

	api_fill(memory, size, 3);
	REQUIRE(madvise(memory + page, page, MADV_DONTDUMP) == 0);
	unregister(&buf);
	CHECK(!shared(memory) && !shared(memory + page) && !shared(memory + size - 1));
	CHECK_EQ_INT(api_mismatch(memory, size, 3), -1);
	memory[3 * page] = 7;
	CHECK_EQ_INT(WEXITSTATUS(child_reads(memory + 3 * page)), 7);
}

/* The kernel says of memory that is locked that it does not remove its pages. */
static bool locked(unsigned char *at)
{
	return madvise(at, page, MADV_DONTNEED) < 0;
}

static void memory_that_is_locked_in_part_stays_shared(void)
{
	struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);

	api_fill(memory, size, 3);
	if (syscall(SYS_mlock, memory + 3 * page, page) < 0)
		check_skip("mlock() fails here");
	unregister(&buf);
	CHECK(shared(memory) && shared(memory + 3 * page) && shared(memory + size - 1));
	CHECK(!locked(memory) && locked(memory + 3 * page) && !locked(memory + size - page));
	CHECK_EQ_INT(api_mismatch(memory, size, 3), -1);
}

static void memory_that_is_locked_as_a_whole_becomes_private_and_stays_locked(void)
{
	struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);

	if (ADDRESS_SANITIZER || THREAD_SANITIZER)
		check_skip("the sanitizers' mlock(), which the provider calls, does nothing");
	api_fill(memory, size, 3);
	if (syscall(SYS_mlock, memory, size) < 0)
		check_skip("mlock() fails here");
	unregister(&buf);
	CHECK(!shared(memory) && !shared(memory + size - 1));
	CHECK(locked(memory) && locked(memory + size - page));
	CHECK_EQ_INT(api_mismatch(memory, size, 3), -1);
}

/* At the free, each mapping is looked up among all of the process: so there is a limit, and nothing is done beyond it. */
static void memory_that_the_program_divides_into_very_many_pieces_stays_shared(void)
{
	for (size_t pieces = 64; pieces <= 65; pieces++) {
		unsigned char *divided = mmap(NULL, pieces * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct api_buf buf;

		REQUIRE(divided != MAP_FAILED);
		buf = api_buf_in(api.pz, divided, pieces * page, DAT_MEM_PRIV_ALL_FLAG);
		for (size_t i = 0; i < pieces; i += 2)
			REQUIRE(madvise(divided + i * page, page, MADV_DONTDUMP) == 0);
		unregister(&buf);
		CHECK_EQ_INT(check_mappings(FILE_NAME), pieces > 64 ? (int)pieces : 0);
		munmap(divided, pieces * page);
	}
}

/* A program may change the mapping of its memory while it is registered: the free leaves the new mapping alone. */
static void change_of_the_mapping_survives_the_free(void)
{
	struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);

	REQUIRE(mprotect(memory, size, PROT_READ) == 0);
	unregister(&buf);
	CHECK(shared(memory)); /* if it were private memory again, it could be written */
	map_anew(MAP_PRIVATE);
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	map_anew(MAP_SHARED);
	memory[page] = 9;
	unregister(&buf);
	CHECK_EQ_INT(memory[page], 9);
}

static void regions_leave_no_descriptors_behind(void)
{
	int before = open_files();

	for (unsigned int i = 0; i < 100; i++) {
		struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);

		unregister(&buf);
	}
	CHECK_EQ_INT(open_files(), before);
}

static void adapters_without_it_keep_a_range_as_well(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region = { .for_va = memory + page };
	struct api_buf buf;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;

	REQUIRE_DAT(dat_ia_open((char *)(uintptr_t)"soft0", 8, &async, &ia), DAT_SUCCESS);
	REQUIRE_DAT(dat_pz_create(ia, &pz), DAT_SUCCESS);
	REQUIRE_DAT(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, page, pz, LOCAL, &lmr, &context, NULL, NULL, NULL),
		    DAT_SUCCESS);
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!shared(memory)); /* the other adapter had registered a part of it before */
	REQUIRE_DAT(dat_lmr_free(lmr), DAT_SUCCESS);
	unregister(&buf);
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, page, pz, LOCAL, &lmr, &context, NULL, NULL, NULL),
		    DAT_SUCCESS);
	unregister(&buf);
	api_close();
	CHECK(shared(memory + page) && !shared(memory));
	REQUIRE_DAT(dat_lmr_free(lmr), DAT_SUCCESS);
	CHECK(!shared(memory + page));
	REQUIRE_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* ---- several threads ---- */

#define MOVES 300u /* without the lock of a registration, every other one fails a registration of the other thread */

static _Atomic unsigned int moves;

/* So that userfaultfd() is what an ordinary user has, and system calls into memory that moves fail. */
static void be_an_ordinary_user(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	REQUIRE(syscall(SYS_capget, &head, data) == 0);
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	REQUIRE(syscall(SYS_capset, &head, data) == 0);
}

static void *register_all(void *arg)
{
	(void)arg;
	while (atomic_load(&moves) < MOVES) {
		struct api_buf buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);

		unregister(&buf);
		atomic_fetch_add(&moves, 1);
	}
	return NULL;
}

static void register_in_two_threads(void *arg)
{
	pthread_t thread;

	(void)arg;
	be_an_ordinary_user();
	open_and_map();
	api_fill(memory, size, 1);
	REQUIRE(pthread_create(&thread, NULL, register_all, NULL) == 0);
	while (atomic_load(&moves) < MOVES) {
		struct api_buf buf = registered(size - page + 8, 8, DAT_MEM_PRIV_ALL_FLAG);

		unregister(&buf);
		sched_yield(); /* for the other thread, which wants the same lock */
	}
	pthread_join(thread, NULL);
	CHECK_EQ_INT(api_mismatch(memory, size, 1), -1);
	api_close();
}

static void registration_succeeds_while_another_thread_moves_the_pages(void)
{
	teardown(); /* in a process of its own, because that gives up a capability */
	check_join(check_fork(register_in_two_threads, NULL));
}

/* ---- with a peer ---- */

static struct api_end end;
static struct api_offer theirs;
static pid_t owner;

struct owned {
	size_t at;
	DAT_MEM_PRIV_FLAGS rights;
};

static void own(void *arg)
{
	const struct owned *owned = arg;
	struct api_offer offer;
	DAT_EVD_HANDLE cr_evd;
	struct api_buf buf, local;
	char step = 0;
	long wrong;

	open_and_map();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, NULL);
	api_fill(memory, size, 1);
	buf = registered(owned->at, size - 2 * owned->at, owned->rights);
	offer.target = api_target(&buf, 0, size - 2 * owned->at);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	while (step != 'q') {
		check_get(CHECK_PARENT, &step, 1);
		if (step == 'v') {
			wrong = api_mismatch(memory, size, 2);
			check_put(CHECK_PARENT, &wrong, sizeof(wrong));
		} else if (step == 'f') {
			unregister(&buf);
			check_signal(CHECK_PARENT);
		} else if (step == 'l') {
			local = registered(page, 8, LOCAL);
		} else if (step == 's') {
			api_fill(memory, size, 2);
			check_signal(CHECK_PARENT);
		} else if (step == 'u') {
			unregister(&local);
		}
	}
	api_close();
}

static void step(char what)
{
	check_put(owner, &what, 1);
}

/* The other process has `size` bytes filled with pattern 1; all but `at` bytes on each side are registered. */
static struct api_buf meet(const struct owned *owned)
{
	struct api_buf buf;

	teardown(); /* peers are forked first */
	owner = check_fork(own, (void *)(uintptr_t)owned);
	open_and_map();
	api_end_make(&end, NULL);
	buf = api_buf(size, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(buf.mem, size, 2);
	check_get(owner, &theirs, sizeof(theirs));
	api_connect_to(&end, &theirs.address, theirs.qual);
	return buf;
}

static void part(void)
{
	step('q');
	check_join(owner);
}

/* Regions on every other page are left. There are more of them than parts that a range is divided into. */
static void many_regions_that_are_left_divide_a_range_into_few_parts(void)
{
	size_t len = 2 * LEFT * page;
	unsigned char *large = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct api_buf left[LEFT];
	struct api_buf all;
	int n;

	REQUIRE(large != MAP_FAILED);
	api_fill(large, len, 1);
	all = api_buf_in(api.pz, large, len, DAT_MEM_PRIV_ALL_FLAG);
	for (size_t i = 0; i < LEFT; i++)
		left[i] = api_buf_in(api.pz, large + 2 * i * page, 8, LOCAL);
	unregister(&all);
	n = check_mappings(FILE_NAME);
	CHECK(n > 1 && n <= (int)LEFT / 2);
	CHECK(shared(large) && !shared(large + page) && shared(large + len - 2 * page));
	CHECK_EQ_INT(api_mismatch(large, len, 1), -1);
	for (size_t i = 0; i < LEFT; i++)
		unregister(&left[i]);
	CHECK_EQ_INT(check_mappings(FILE_NAME), 0);
	CHECK_EQ_INT(api_mismatch(large, len, 1), -1);
	munmap(large, len);
}

static void transfer(const struct api_buf *buf, bool write, size_t at, size_t len)
{
	DAT_RMR_TRIPLET there = theirs.target;

	there.target_address += at;
	there.segment_length = len;
	if (write)
		REQUIRE_DAT(api_write(end.ep, api_seg(buf, at, len), there, 1, 0), DAT_SUCCESS);
	else
		REQUIRE_DAT(api_read(end.ep, api_seg(buf, at, len), there, 1, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, len);
}

/* Returns a descriptor of the file that the other process has for its region, or -1. */
static int file_of_owner(int flags)
{
	char name[64], target[256];

	for (int fd = 0; fd < 256; fd++) {
		ssize_t len;

		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)owner, fd);
		len = readlink(name, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		if (strstr(target, FILE_NAME))
			return open(name, flags | O_CLOEXEC);
	}
	return -1;
}

static void peer_writes_and_reads_it_in_place(void)
{
	const struct owned owned = { .rights = DAT_MEM_PRIV_ALL_FLAG };
	struct api_buf buf = meet(&owned);
	int before = check_mappings(FILE_NAME), fd;
	long wrong = 0;

	transfer(&buf, true, 0, size);
	CHECK_EQ_INT(check_mappings(FILE_NAME), before + 1);
	fd = file_of_owner(O_RDWR);
	REQUIRE(fd >= 0);
	CHECK(fcntl(fd, F_ADD_SEALS, 0x0010 /* F_SEAL_FUTURE_WRITE */) < 0); /* against other peers */
	close(fd);
	step('v');
	check_get(owner, &wrong, sizeof(wrong));
	CHECK_EQ_INT(wrong, -1);
	memset(buf.mem, 0, size);
	transfer(&buf, false, 0, size);
	CHECK_EQ_INT(api_mismatch(buf.mem, size, 2), -1);
	step('f');
	check_await(owner);
	CHECK_SOON(check_mappings(FILE_NAME) == before);
	step('v');
	check_get(owner, &wrong, sizeof(wrong));
	CHECK_EQ_INT(wrong, -1);
	part();
}

static void peer_reaches_the_edges_by_the_kernel(void)
{
	const struct owned owned = { .at = 100, .rights = DAT_MEM_PRIV_ALL_FLAG };
	struct api_buf buf = meet(&owned);
	size_t len = size - 200;

	transfer(&buf, true, 0, len); /* all of it, so by the kernel */
	memset(buf.mem, 0, size);
	transfer(&buf, false, 0, 64);
	transfer(&buf, false, 64, page);
	transfer(&buf, false, 64 + page, page); /* within whole pages */
	transfer(&buf, false, 64 + 2 * page, len - 64 - 2 * page);
	CHECK_EQ_INT(api_mismatch(buf.mem, len, 2), -1);
	part();
}

static void peer_cannot_write_to_what_it_may_only_read(void)
{
	const struct owned owned = { .rights = LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG };
	struct api_buf buf = meet(&owned);
	int before = check_mappings(FILE_NAME), fd;

	transfer(&buf, false, 0, size);
	CHECK_EQ_INT(api_mismatch(buf.mem, size, 1), -1);
	CHECK_EQ_INT(check_mappings(FILE_NAME), before + 1);
	/* and with a hostile program, not through this library: */
	fd = file_of_owner(O_RDWR);
	REQUIRE(fd >= 0);
	CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK(pwrite(fd, "x", 1, 0) < 0);
	CHECK(ftruncate(fd, 0) < 0);
	close(fd);
	part();
}

/* A process that has mapped the file has nothing of what the program does after the free but on a page that another region has. */
static void peer_that_maps_the_file_loses_the_pages_that_no_region_has_any_more(void)
{
	const struct owned owned = { .rights = DAT_MEM_PRIV_ALL_FLAG };
	struct api_buf buf = meet(&owned);
	int fd = file_of_owner(O_RDWR);
	unsigned char *map;
	long wrong = 0;

	REQUIRE(fd >= 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(map != MAP_FAILED);
	close(fd);
	step('l');
	step('f');
	check_await(owner);
	step('s');
	check_await(owner);
	for (size_t i = 0; i < PAGES; i++)
		if ((memcmp(map + i * page, buf.mem + i * page, page) == 0) != (i == 1))
			REQUIRE_FAIL("page %zu", i);
	memset(map, 0, page);
	memset(map + 2 * page, 0, size - 2 * page);
	step('v');
	check_get(owner, &wrong, sizeof(wrong));
	CHECK_EQ_INT(wrong, -1);
	/* and that page is out of the file when its region has been freed */
	step('u');
	step('s');
	check_await(owner);
	memset(map, 0, size);
	step('v');
	check_get(owner, &wrong, sizeof(wrong));
	CHECK_EQ_INT(wrong, -1);
	munmap(map, size);
	part();
}

static void it_is_memory_like_any_other_where_the_system_refuses(void)
{
	struct api_buf buf;
	const char *said;

	check_stderr_begin();
	open_and_map();
	buf = registered(0, size, DAT_MEM_PRIV_ALL_FLAG);
	said = check_stderr_end();
	CHECK(strstr(said, "memory=shared has no effect") != NULL);
	CHECK(strstr(said, "allow this system call") != NULL);
	CHECK(!shared(memory));
	unregister(&buf);
}

static int forbid(void)
{
	return check_forbid((const int[]){ SYS_userfaultfd }, 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(region_is_shared_memory_until_it_is_freed),
	CHECK_TEST(bytes_beside_it_on_its_pages_stay_private),
	CHECK_TEST(region_without_a_remote_right_stays_as_it_is),
	CHECK_TEST(last_region_of_a_range_makes_it_private),
	CHECK_TEST(pages_that_no_region_has_any_more_become_private),
	CHECK_TEST(many_regions_that_are_left_divide_a_range_into_few_parts),
	CHECK_TEST(region_that_another_one_overlaps_stays_as_it_is),
	CHECK_TEST(memory_of_another_kind_stays_as_it_is),
	CHECK_TEST(memory_with_a_guard_page_stays_as_it_is),
	CHECK_TEST(memory_that_can_be_executed_stays_as_it_is),
	CHECK_TEST(limit_of_the_length_of_files_does_not_end_the_program),
	CHECK_TEST(half_of_the_descriptors_is_left_to_the_program),
	CHECK_TEST(memory_stays_shared_with_a_word_if_its_mapping_cannot_be_told),
	CHECK_TEST(locked_memory_stays_as_it_is),
	CHECK_TEST(file_that_somebody_has_mapped_before_it_was_sealed_is_not_used),
	CHECK_TEST(file_that_somebody_has_written_to_before_it_was_sealed_is_not_used),
	CHECK_TEST(file_that_somebody_may_have_open_is_not_used),
	CHECK_TEST(buffer_of_the_calling_thread_is_registered_too),
	CHECK_TEST(child_inherits_it_only_after_the_free),
	CHECK_TEST(memory_that_the_program_divides_becomes_private_as_well),
	CHECK_TEST(memory_that_is_locked_in_part_stays_shared),
	CHECK_TEST(memory_that_is_locked_as_a_whole_becomes_private_and_stays_locked),
	CHECK_TEST(memory_that_the_program_divides_into_very_many_pieces_stays_shared),
	CHECK_TEST(change_of_the_mapping_survives_the_free),
	CHECK_TEST(regions_leave_no_descriptors_behind),
	CHECK_TEST(adapters_without_it_keep_a_range_as_well),
	CHECK_TEST(registration_succeeds_while_another_thread_moves_the_pages),
	CHECK_TEST(peer_writes_and_reads_it_in_place),
	CHECK_TEST(peer_reaches_the_edges_by_the_kernel),
	CHECK_TEST(peer_cannot_write_to_what_it_may_only_read),
	CHECK_TEST(peer_that_maps_the_file_loses_the_pages_that_no_region_has_any_more),
	CHECK_END
};

/* It comes last, because the process cannot undo the ban. */
static const struct check_test refused_tests[] = {
	CHECK_TEST(it_is_memory_like_any_other_where_the_system_refuses),
	CHECK_END
};

static const struct check_suite suite = {
	.name = "registered memory that is shared", .setup = setup, .teardown = teardown, .tests = tests
};

static const struct check_suite refused = { .name = "registered memory that cannot be shared",
					    .init = forbid,
					    .teardown = teardown,
					    .tests = refused_tests };

CHECK_SUITES(&suite, &refused);
