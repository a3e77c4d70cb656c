/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign code that writes without pause, in a child of datctl: it is ended at its time all the same. The reader is slower than the
 * writer: the pipes are never found empty, because poll() returns only when there is something to read.
 */
#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "tools/probe.h"

static bool slow_reader;

int poll(struct pollfd *fds, nfds_t count, int ms)
{
	struct timespec limit = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	return ppoll(fds, count, slow_reader || ms < 0 ? NULL : &limit, NULL);
}

static void be_slow(void)
{
	slow_reader = true;
}

static _Noreturn void write_for_ever(void)
{
	static char much[65536];

	memset(much, '.', sizeof(much));
	while (write(STDERR_FILENO, much, sizeof(much)) > 0)
		;
	_exit(1);
}

static void chatter(void *arg)
{
	(void)arg;
	probe_say("stage", "chatter");
	write_for_ever();
}

static void child_that_writes_without_pause_is_ended_in_time(void)
{
	struct probe_result result;
	char *stage;

	REQUIRE(probe_run(chatter, NULL, 1, &result) == 0);
	CHECK(result.timed_out);
	CHECK_HAS_STR(result.said, "....");
	stage = probe_get(&result, "stage");
	CHECK_EQ_STR(stage, "chatter");
	free(stage);
	probe_free(&result);
}

/* The process that it leaves is in a session of its own, so that it is not ended with the child. */
static void leave_a_writer(void *arg)
{
	int ready[2];
	char byte = 0;

	(void)arg;
	if (pipe(ready) != 0)
		return;
	if (fork() == 0) {
		setsid();
		(void)!write(ready[1], &byte, 1);
		write_for_ever();
	}
	(void)!read(ready[0], &byte, 1);
	probe_say("stage", "left");
}

static void process_that_a_child_leaves_is_not_listened_to(void)
{
	struct probe_result result;
	char *stage;

	REQUIRE(probe_run(leave_a_writer, NULL, 3600, &result) == 0);
	CHECK(!result.timed_out && result.signal == 0 && result.status == 0);
	stage = probe_get(&result, "stage");
	CHECK_EQ_STR(stage, "left");
	free(stage);
	probe_free(&result);
}

static const struct check_test tests[] = {
	CHECK_TEST(child_that_writes_without_pause_is_ended_in_time),
	CHECK_TEST(process_that_a_child_leaves_is_not_listened_to),
	CHECK_END
};
static const struct check_suite suite = { .name = "foreign code in a child", .setup = be_slow, .tests = tests };

CHECK_SUITES(&suite);
