/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that has the last reference to a large file of a peer frees all its memory when it lets go. The thread that finds out
 * that the peer has ended does not do that itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/foreign.h"
#include "providers/soft/unmap.h"

#define PAGE  ((size_t)4096)
#define HEAVY ((off_t)65 << 20)
#define MANY  20

static void *_Atomic watched;  /* the mapping whose end is noted */
static atomic_int watched_fd = -1;
static _Atomic pid_t ended_by; /* the thread that has ended it */
static bool no_thread;

/* These take the place of the C library's. */
int munmap(void *at, size_t len)
{
	if (at == watched)
		atomic_store(&ended_by, gettid());
	return (int)syscall(SYS_munmap, at, len);
}

int close(int fd)
{
	if (fd == watched_fd)
		atomic_store(&ended_by, gettid());
	return (int)syscall(SYS_close, fd);
}

int __real_soft_run(pthread_t *thread, void *(*run)(void *), void *arg);
int __wrap_soft_run(pthread_t *thread, void *(*run)(void *), void *arg);
int __wrap_soft_run(pthread_t *thread, void *(*run)(void *), void *arg)
{
	return no_thread ? EAGAIN : __real_soft_run(thread, run, arg);
}

static struct soft_unmap *mapping(void)
{
	struct soft_unmap *made = malloc(sizeof(*made));

	REQUIRE(made != NULL);
	made->len = PAGE;
	made->at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(made->at != MAP_FAILED);
	return made;
}

static void begin(void *at, int fd)
{
	watched = at;
	watched_fd = fd;
	atomic_store(&ended_by, 0);
}

static void mapping_is_ended_by_another_thread(void)
{
	for (int i = 0; i < MANY; i++) {
		struct soft_unmap *one = mapping();

		begin(one->at, -1);
		soft_unmap_later(one);
		CHECK_SOON(atomic_load(&ended_by));
		CHECK(atomic_load(&ended_by) != gettid());
	}
}

static void several_mappings_are_all_ended(void)
{
	struct soft_unmap *all[MANY];
	unsigned char there;
	void *at[MANY];

	for (int i = 0; i < MANY; i++) {
		all[i] = mapping();
		at[i] = all[i]->at;
	}
	for (int i = 0; i < MANY; i++)
		soft_unmap_later(all[i]);
	for (int i = 0; i < MANY; i++)
		CHECK_SOON(mincore(at[i], PAGE, &there) < 0 && errno == ENOMEM);
}

static void without_a_thread_it_is_ended_here(void)
{
	struct soft_unmap *one = mapping();

	no_thread = true;
	begin(one->at, -1);
	soft_unmap_later(one);
	CHECK_EQ_INT(atomic_load(&ended_by), gettid());
	no_thread = false;
	mapping_is_ended_by_another_thread();
}

static int sealable_file(off_t size)
{
	int fd = memfd_create("opendat-unmap-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	REQUIRE(fd >= 0);
	if (posix_fallocate(fd, 0, size))
		check_skip("there is no memory for a large file");
	begin(NULL, fd);
	return fd;
}

static void large_file_is_closed_by_another_thread(void)
{
	soft_foreign_close(sealable_file(HEAVY));
	CHECK_SOON(atomic_load(&ended_by));
	CHECK(atomic_load(&ended_by) != gettid());
}

static void small_file_is_closed_at_once(void)
{
	soft_foreign_close(sealable_file(4096));
	CHECK_EQ_INT(atomic_load(&ended_by), gettid());
}

static const struct check_test tests[] = {
	CHECK_TEST(mapping_is_ended_by_another_thread),
	CHECK_TEST(several_mappings_are_all_ended),
	CHECK_TEST(without_a_thread_it_is_ended_here),
	CHECK_TEST(large_file_is_closed_by_another_thread),
	CHECK_TEST(small_file_is_closed_at_once),
	CHECK_END
};

static const struct check_suite suite = { .name = "files of peers that have ended", .tests = tests };

CHECK_SUITES(&suite);
