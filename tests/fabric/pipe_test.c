/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGPIPE. siw raises it in a thread that posts to a peer that has just been killed, so opening an adapter over siw installs a
 * handler. race_test over siw shows that the handler helps. Invariant: each test begins with the default action.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

static void (*before_change)(void); /* called once, before the next call of sigaction() that changes an action */

static int real_sigaction(int number, const struct sigaction *set, struct sigaction *was)
{
	int (*real)(int, const struct sigaction *, struct sigaction *);

	*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	return real(number, set, was);
}

/* Replaces sigaction() of the C library, for the plugins too. */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *set,
						     struct sigaction *was)
{
	void (*call)(void) = before_change;

	if (set && call) {
		before_change = NULL;
		call();
	}
	return real_sigaction(number, set, was);
}

static void own_handler(int number)
{
	(void)number;
}

static void set_action(void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	REQUIRE_EQ_INT(real_sigaction(SIGPIPE, &action, NULL), 0);
}

static void (*get_action(void))(int)
{
	struct sigaction action;

	REQUIRE_EQ_INT(real_sigaction(SIGPIPE, NULL, &action), 0);
	return action.sa_handler;
}

static void set_default(void)
{
	set_action(SIG_DFL);
}

static void set_own(void)
{
	set_action(own_handler);
}

static void over_siw_only(void)
{
	if (strncmp(api_ia_name(), "iwarp", 5) != 0)
		check_skip("no post raises SIGPIPE");
}

static void write_to_nobody(void)
{
	int ends[2];

	REQUIRE_EQ_INT(pipe(ends), 0);
	close(ends[0]);
	CHECK_EQ_INT(write(ends[1], "", 1), -1);
	CHECK_EQ_INT(errno, EPIPE);
	close(ends[1]);
}

/* The last close may close the plugin, but the handler in it stays mapped and installed. */
static void broken_pipe_is_an_errno_from_the_open_on(void)
{
	over_siw_only();
	api_open();
	write_to_nobody();
	api_close();
	write_to_nobody();
	api_open();
	api_close();
	write_to_nobody();
}

static void executed_program_has_the_default(void)
{
	int status = -1;
	pid_t child;

	api_open();
	child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", "kill -s PIPE $$", (char *)NULL);
		_exit(1);
	}
	REQUIRE(child > 0);
	REQUIRE_EQ_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

static void own_is_replaced(void)
{
	CHECK_FAIL("the program's own action is taken away, for a moment at least");
}

static void action_of_the_program_is_kept(void)
{
	set_own();
	before_change = own_is_replaced;
	api_open();
	CHECK(get_action() == own_handler);
	api_close();
	CHECK(get_action() == own_handler);
	set_action(SIG_IGN);
	api_open();
	CHECK(get_action() == SIG_IGN);
	api_close();
	CHECK(get_action() == SIG_IGN);
	before_change = NULL;
}

/* The test sets a handler, as another thread may, between the provider's check of the action and its change. */
static void action_that_is_set_meanwhile_is_kept(void)
{
	over_siw_only();
	before_change = set_own;
	api_open();
	CHECK(!before_change);
	CHECK(get_action() == own_handler);
}

static void other_devices_leave_it_alone(void)
{
	api_open();
	if (strncmp(api_ia_name(), "iwarp", 5) != 0)
		CHECK(get_action() == SIG_DFL);
	else
		CHECK(get_action() != SIG_DFL);
}

static const struct check_test tests[] = {
	CHECK_TEST(broken_pipe_is_an_errno_from_the_open_on),
	CHECK_TEST(executed_program_has_the_default),
	CHECK_TEST(action_of_the_program_is_kept),
	CHECK_TEST(action_that_is_set_meanwhile_is_kept),
	CHECK_TEST(other_devices_leave_it_alone),
	CHECK_END
};

static const struct check_suite pipes = {
	.name = "pipe",
	.setup = set_default,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&pipes);
