/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the harness that must pass; sick.c holds those that must not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static int setups, teardowns;
static char last_tmpdir[256];

static void count_setup(void)
{
	setups++;
}

static void count_teardown(void)
{
	teardowns++;
}

static void setup_runs_before_each_test(void)
{
	CHECK_EQ_INT(setups, teardowns + 1);
}

static void every_assertion_takes_what_is_true(void)
{
	CHECK(1 + 1 == 2);
	CHECK_EQ_INT(-1, -1L);
	CHECK_EQ_STR("a b", "a b");
	CHECK_EQ_STR(NULL, NULL);
	CHECK_HAS_STR("a word in a line", "word");
	CHECK_EQ_MEM("abc", "abd", 2);
	CHECK_DAT(0, 0);
	CHECK_DAT(0x80040007, 0x00040000);
	CHECK_DAT(0x80040007, 0x00040007);
	CHECK_SOON(true);
}

static void the_depth_is_what_the_environment_says(void)
{
	const char *before = getenv("CHECK_DEPTH");
	char *kept = before ? strdup(before) : NULL;

	unsetenv("CHECK_DEPTH");
	CHECK(!check_is_brief());
	setenv("CHECK_DEPTH", "whole", 1);
	CHECK(!check_is_brief());
	setenv("CHECK_DEPTH", "brief", 1);
	CHECK(check_is_brief());
	if (kept)
		setenv("CHECK_DEPTH", kept, 1);
	else
		unsetenv("CHECK_DEPTH");
	free(kept);
}

static void echo(void *arg)
{
	int number;

	(void)arg;
	check_get(CHECK_PARENT, &number, sizeof(number));
	number++;
	check_put(CHECK_PARENT, &number, sizeof(number));
}

static void a_peer_talks_to_its_test(void)
{
	pid_t peer = check_fork(echo, NULL), other = check_fork(echo, NULL);
	int number = 41;

	check_put(other, &(int){ 1 }, sizeof(int));
	check_put(peer, &number, sizeof(number));
	check_get(peer, &number, sizeof(number));
	CHECK_EQ_INT(number, 42);
	check_get(other, &number, sizeof(number));
	CHECK_EQ_INT(number, 2);
	check_join(peer);
	check_join(other);
}

static void wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void a_peer_can_be_killed(void)
{
	check_kill(check_fork(wait_for_ever, NULL));
}

static void tmpdir_is_there(void)
{
	struct stat st;
	char path[300];
	FILE *file;

	REQUIRE(stat(check_tmpdir(), &st) == 0);
	CHECK(S_ISDIR(st.st_mode));
	snprintf(path, sizeof(path), "%s/file", check_tmpdir());
	file = fopen(path, "w");
	REQUIRE(file != NULL);
	fclose(file);
	snprintf(last_tmpdir, sizeof(last_tmpdir), "%s", check_tmpdir());
}

static void tmpdir_of_the_last_test_is_gone(void)
{
	if (!last_tmpdir[0])
		check_skip("needs the test before it");
	CHECK(access(last_tmpdir, F_OK) != 0);
}

static void stderr_is_captured(void)
{
	check_stderr_begin();
	fprintf(stderr, "one");
	dprintf(2, " two");
	CHECK_EQ_STR(check_stderr_end(), "one two");
	check_stderr_begin();
	CHECK_EQ_STR(check_stderr_end(), "");
}

static const struct check_test tests[] = {
	CHECK_TEST(setup_runs_before_each_test),
	CHECK_TEST(every_assertion_takes_what_is_true),
	CHECK_TEST(the_depth_is_what_the_environment_says),
	CHECK_TEST(a_peer_talks_to_its_test),
	CHECK_TEST(a_peer_can_be_killed),
	CHECK_TEST(tmpdir_is_there),
	CHECK_TEST(tmpdir_of_the_last_test_is_gone),
	CHECK_TEST(stderr_is_captured),
	CHECK_END
};

static const struct check_suite well = {
	.name = "well", .setup = count_setup, .teardown = count_teardown, .tests = tests,
};

CHECK_SUITES(&well);
