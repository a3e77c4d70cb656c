/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nobody reads what the victim writes to standard error. An attacker has a line logged there, on the thread that serves the
 * connections; others are served nevertheless, and the victim lives.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"
#include "victim.h"

static int kept = -1;	 /* the real standard error */
static int reader = -1;	 /* the end of the pipe that nobody reads */

static void setup(void)
{
	int ends[2];

	unsetenv("DAT_LOG");
	signal(SIGPIPE, SIG_DFL);
	kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	REQUIRE(kept >= 0 && !pipe2(ends, O_CLOEXEC));
	REQUIRE(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	reader = ends[0];
	victim_opens();
}

static void reader_goes(void)
{
	if (reader >= 0)
		close(reader);
	reader = -1;
}

static void teardown(void)
{
	reader_goes(); /* lets a thread go that waits for it */
	if (kept >= 0)
		dup2(kept, STDERR_FILENO);
	close(kept);
	api_close();
}

static void fill(void)
{
	int flags = fcntl(STDERR_FILENO, F_GETFL);
	char full[4096];

	memset(full, 'x', sizeof(full));
	REQUIRE(!fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK));
	while (write(STDERR_FILENO, full, sizeof(full)) > 0)
		;
	REQUIRE(!fcntl(STDERR_FILENO, F_SETFL, flags));
}

/* Reads until the text comes; what went before it in the pipe is dropped. */
static bool is_read(const char *text)
{
	struct pollfd ready = { .fd = reader, .events = POLLIN };
	char read_so_far[8192] = "";
	size_t n = 0;
	ssize_t got;

	while (!strstr(read_so_far, text) && poll(&ready, 1, (int)check_patience_ms()) == 1) {
		if (n > 4096) {
			memmove(read_so_far, read_so_far + n - 1024, 1025);
			n = 1024;
		}
		got = read(reader, read_so_far + n, 2048);
		n += got > 0 ? (size_t)got : 0;
		read_so_far[n] = '\0';
	}
	return strstr(read_so_far, text);
}

/* The victim's service thread says that another protocol is spoken, and hangs up. */
static void attack(void)
{
	static const char garbage[70] = "garbage";
	struct pollfd ready = { .events = POLLIN };

	ready.fd = hostile_reach(victim.qual);
	REQUIRE_EQ_INT(write(ready.fd, garbage, sizeof(garbage)), sizeof(garbage));
	REQUIRE_EQ_INT(poll(&ready, 1, (int)check_patience_ms()), 1);
	close(ready.fd);
}

static void others_are_served_although_the_pipe_is_full(void)
{
	fill();
	attack();
	victim_serves_others();
	attack();
	CHECK_EQ_INT(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
	while (poll(&(struct pollfd){ .fd = reader, .events = POLLIN }, 1, 0) == 1)
		REQUIRE(read(reader, (char[65536]){ 0 }, 65536) > 0);
	attack();
	CHECK(is_read("libdatp: 2 lines before this one could not be written and are lost\n"));
	victim_serves_others();
}

static void others_are_served_although_the_reader_has_gone(void)
{
	reader_goes();
	attack();
	victim_serves_others();
}

/* The line is written by the program's own thread, which does not block the signal. */
static void call_that_is_refused_raises_no_signal(void)
{
	DAT_EVD_HANDLE none;

	reader_goes();
	CHECK_DAT(dat_evd_create(api.ia, api.attr.max_evd_qlen + 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &none),
		  DAT_INVALID_PARAMETER);
	victim_serves_others();
}

static const struct check_test tests[] = {
	CHECK_TEST(others_are_served_although_the_pipe_is_full),
	CHECK_TEST(others_are_served_although_the_reader_has_gone),
	CHECK_TEST(call_that_is_refused_raises_no_signal),
	CHECK_END
};

static const struct check_suite suite = {
	.name = "attacker of a victim whose messages nobody reads", .setup = setup, .teardown = teardown, .tests = tests,
};

CHECK_SUITES(&suite);
