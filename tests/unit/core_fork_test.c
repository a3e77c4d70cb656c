/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptors that a child of fork() does not keep. */
#include <datp/fork.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { NULL_INSTEAD, KEPT, GONE };

static struct datp_fork_fd held[3];
static int fds[3];

static int list_one(int n)
{
	struct datp_fork_own own;

	datp_fork_hold(&own);
	fds[n] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(fds[n] >= 0);
	datp_fork_list(&held[n], fds[n]);
	datp_fork_release(&own);
	return fds[n];
}

static void unlist_one(int n)
{
	struct datp_fork_own own;

	datp_fork_hold(&own);
	datp_fork_unlist(&held[n]);
	close(fds[n]);
	datp_fork_release(&own);
}

/* Returns what a descriptor is in this process. */
static int found(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return GONE;
	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3) ? NULL_INSTEAD : KEPT;
}

/* Returns what the descriptor is in a child that is forked now. */
static int in_child(int fd)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(found(fd));
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void listed_descriptors_become_dev_null_in_a_child(void)
{
	for (int n = 0; n < 3; n++)
		list_one(n);
	for (int n = 0; n < 3; n++) {
		CHECK_EQ_INT(in_child(fds[n]), NULL_INSTEAD);
		CHECK_EQ_INT(found(fds[n]), KEPT);
	}
	/* from the middle, the end and the beginning of the list */
	unlist_one(1);
	CHECK_EQ_INT(in_child(fds[0]), NULL_INSTEAD);
	CHECK_EQ_INT(in_child(fds[2]), NULL_INSTEAD);
	unlist_one(0);
	CHECK_EQ_INT(in_child(fds[2]), NULL_INSTEAD);
	unlist_one(2);
}

static void unlisted_descriptor_is_kept_by_a_child(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct datp_fork_own own;

	list_one(0);
	CHECK_EQ_INT(in_child(fd), KEPT);
	datp_fork_hold(&own);
	datp_fork_unlist(&held[0]);
	datp_fork_release(&own);
	CHECK_EQ_INT(in_child(fds[0]), KEPT);
	close(fds[0]);
	close(fd);
}

/* In the child the list is empty: the number may be another file there, which a grandchild keeps. */
static void child_has_a_list_of_its_own(void)
{
	int status = 0, fd = list_one(0);
	pid_t pid = fork();

	if (!pid) {
		int first, mine = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		dup2(mine, fd);
		first = in_child(fd);
		list_one(1);
		_exit(first == KEPT && in_child(fds[1]) == NULL_INSTEAD && in_child(fd) == KEPT ? 0 : 1);
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	unlist_one(0);
}

/* ------------------------------------------------------------------ between hold and release */

static _Atomic int begun, in_its_child;

static void *forks(void *arg)
{
	atomic_store(&begun, 1);
	atomic_store(&in_its_child, in_child(*(int *)arg));
	return NULL;
}

/* If the fork did not wait, its child would find the descriptor, which is not listed yet. */
static void process_does_not_fork_between_hold_and_release(void)
{
	struct datp_fork_own own, inner;
	pthread_t thread;

	atomic_store(&begun, 0);
	atomic_store(&in_its_child, -1);
	datp_fork_hold(&own);
	fds[0] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(pthread_create(&thread, NULL, forks, &fds[0]) == 0);
	while (!atomic_load(&begun))
		sched_yield();
	for (int i = 0; i < 1000; i++)
		sched_yield();
	datp_fork_hold(&inner);
	datp_fork_release(&inner);
	CHECK_EQ_INT(atomic_load(&in_its_child), -1);
	datp_fork_list(&held[0], fds[0]);
	datp_fork_release(&own);
	REQUIRE(pthread_join(thread, NULL) == 0);
	CHECK_EQ_INT(atomic_load(&in_its_child), NULL_INSTEAD);
	unlist_one(0);
}

/* A thread may fork between the calls, as a signal handler does that interrupts it there. */
static void thread_may_fork_between_them(void)
{
	struct datp_fork_own own, child;
	int status = 0;
	pid_t pid;

	list_one(0);
	datp_fork_hold(&own);
	pid = fork();
	if (!pid) {
		datp_fork_hold(&child);
		datp_fork_release(&child);
		_exit(found(fds[0]));
	}
	datp_fork_release(&own);
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == NULL_INSTEAD);
	CHECK_EQ_INT(in_child(fds[0]), NULL_INSTEAD);
	unlist_one(0);
}

/* ------------------------------------------------------------------ cancellation */

static void *is_cancelled(void *arg)
{
	struct datp_fork_own own, inner;

	pthread_setcanceltype(*(int *)arg, &(int){ 0 });
	datp_fork_hold(&own);
	datp_fork_hold(&inner);
	datp_fork_release(&inner);
	pthread_cancel(pthread_self());
	close(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	atomic_store(&begun, 1);
	datp_fork_release(&own);
	pthread_testcancel();
	return NULL;
}

static void cancelled_thread_ends_after_the_release_and_the_process_forks(void)
{
	int type[] = { PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS }, fd = list_one(0);

	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		void *result;

		atomic_store(&begun, 0);
		REQUIRE(pthread_create(&thread, NULL, is_cancelled, &type[i]) == 0);
		REQUIRE(pthread_join(thread, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		CHECK_EQ_INT(atomic_load(&begun), 1);
		atomic_store(&in_its_child, -1);
		REQUIRE(pthread_create(&thread, NULL, forks, &fd) == 0);
		pthread_detach(thread);
		REQUIRE_SOON(atomic_load(&in_its_child) == NULL_INSTEAD);
	}
	unlist_one(0);
}

static const struct check_test tests[] = {
	CHECK_TEST(listed_descriptors_become_dev_null_in_a_child),
	CHECK_TEST(unlisted_descriptor_is_kept_by_a_child),
	CHECK_TEST(child_has_a_list_of_its_own),
	CHECK_TEST(process_does_not_fork_between_hold_and_release),
	CHECK_TEST(thread_may_fork_between_them),
	CHECK_TEST(cancelled_thread_ends_after_the_release_and_the_process_forks),
	CHECK_END
};

static const struct check_suite suite = { .name = "descriptors and fork", .tests = tests };

CHECK_SUITES(&suite);
