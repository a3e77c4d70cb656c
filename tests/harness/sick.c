/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that can go wrong with a test. verdict.sh checks that the harness notices each case. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static void fine(void)
{
	puts("ok 99 - a test's own words are not TAP");
}

static void compares_wrong_numbers(void)
{
	CHECK_EQ_INT(2 + 2, 5);
	CHECK_DAT(0x80040007, 0x00050000);
	CHECK_EQ_MEM("abc", "axc", 3);
	CHECK_EQ_STR("left", "right");
}

static void stops_at_the_first_fatal_failure(void)
{
	REQUIRE(!"reached");
	CHECK(!"never reached");
}

static void *fail_in_thread(void *arg)
{
	REQUIRE(!"in a thread");
	return arg;
}

static void fails_in_a_thread(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, fail_in_thread, NULL) == 0);
	pthread_join(thread, NULL);
}

static void fail_in_peer(void *arg)
{
	(void)arg;
	REQUIRE_EQ_INT(6 * 9, 42);
}

static void fails_in_a_peer(void)
{
	check_join(check_fork(fail_in_peer, NULL));
}

static void die(void *arg)
{
	(void)arg;
	raise(SIGKILL);
}

static void loses_its_peer(void)
{
	check_join(check_fork(die, NULL));
}

static void waits_for_a_dead_peer(void)
{
	check_await(check_fork(die, NULL));
}

static void wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void forgets_its_peer(void)
{
	check_fork(wait_for_ever, NULL);
}

static void joins_a_stuck_peer(void)
{
	check_join(check_fork(wait_for_ever, NULL));
}

static void crashes(void)
{
	abort();
}

static void leaves(void)
{
	exit(EXIT_SUCCESS);
}

static void hangs(void)
{
	CHECK(!"what it found before");
	wait_for_ever(NULL);
}

static void is_skipped(void)
{
	check_skip("no such hardware");
}

/* Goes on for longer than verdict.sh lets a test be silent. */
static void goes_on(void)
{
	for (int i = 0; i < 30; i++) {
		usleep(100000);
		check_alive();
	}
}

static const struct check_test body_tests[] = {
	CHECK_TEST(fine),
	CHECK_TEST(compares_wrong_numbers),
	CHECK_TEST(stops_at_the_first_fatal_failure),
	CHECK_TEST(fails_in_a_thread),
	CHECK_TEST(fails_in_a_peer),
	CHECK_TEST(loses_its_peer),
	CHECK_TEST(waits_for_a_dead_peer),
	CHECK_TEST(forgets_its_peer),
	CHECK_TEST(joins_a_stuck_peer),
	CHECK_TEST(crashes),
	CHECK_TEST(leaves),
	CHECK_TEST(hangs),
	CHECK_TEST(is_skipped),
	CHECK_END
};

static const struct check_test fine_tests[] = { CHECK_TEST(fine), CHECK_END };

static const struct check_test alive_tests[] = { CHECK_TEST(goes_on), CHECK_END };

static int refuse(void)
{
	return 1;
}

static int crash(void)
{
	abort();
}

static void fail_setup(void)
{
	REQUIRE(!"set up");
}

static void fail_teardown(void)
{
	REQUIRE(!"torn down");
}

static const struct check_suite body = { .name = "body", .tests = body_tests };
static const struct check_suite init = { .name = "init", .tests = fine_tests, .init = refuse };
static const struct check_suite init_crash = { .name = "init-crash", .tests = fine_tests, .init = crash };
static const struct check_suite setup = { .name = "setup", .tests = fine_tests, .setup = fail_setup };
static const struct check_suite teardown = {
	.name = "teardown", .tests = fine_tests, .teardown = fail_teardown
};
static const struct check_suite cleanup = { .name = "cleanup", .tests = fine_tests, .cleanup = refuse };
static const struct check_suite last = { .name = "last", .tests = fine_tests };
static const struct check_suite alive = { .name = "alive", .tests = alive_tests };

CHECK_SUITES(&body, &init, &init_crash, &setup, &teardown, &cleanup, &last, &alive);
