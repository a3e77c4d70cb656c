/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that ends with its VI connected, and the events of its peer. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static struct side s;		/* of the test, which is the server; the library prints this side's errors */
static struct side c;		/* of the peer, which is the client */
static pid_t peer;

static void close_side(void)
{
	side_close(&s);
}

/* In the peer: connects, and sends a message to the first of the server's two receives. */
static void join_the_server(void)
{
	side_open_vi(&c);
	post_recv(&c, 0, 64);
	check_await(CHECK_PARENT);
	client_connect(&c, "here");
	strcpy((char *)buffer(&c, 1), "the last word");
	post_send(&c, 1, 14);
	expect_send(&c, 1, VIP_STATUS_OP_SEND);
}

/* Serves a peer that ends in the given way, and collects everything that it and the library print. */
static void serve(void (*leave)(void *arg))
{
	check_stderr_begin();
	peer = check_fork(leave, NULL);
	side_open_vi(&s);
	post_recv(&s, 0, 64);
	post_recv(&s, 2, 64);
	server_start(&s, "here");
	check_signal(peer);
	server_join(&s);
	expect_recv(&s, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_STR((char *)buffer(&s, 0), "the last word");
}

static void expect_end(void)
{
	expect_recv(&s, 2, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	REQUIRE_SOON(state_of(&s) == VIP_STATE_ERROR);
	side_close(&s);
}

static void expect_a_silent_end(void)
{
	expect_end();
	check_join(peer);
	CHECK_EQ_STR(check_stderr_end(), "");
}

static void exit_connected(void *arg)
{
	(void)arg;
	join_the_server();
	exit(EXIT_SUCCESS);
}

static void a_program_that_exits_has_disconnected(void)
{
	serve(exit_connected);
	expect_a_silent_end();
}

static void disconnect_and_end(void *arg)
{
	(void)arg;
	join_the_server();
	REQUIRE_VIP(VipDisconnect(c.vi), VIP_SUCCESS);
	side_close(&c);
}

static void the_vi_connects_again_after_its_peer_has_exited(void)
{
	serve(exit_connected);
	expect_recv(&s, 2, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	check_join(peer);
	REQUIRE_VIP(VipDisconnect(s.vi), VIP_SUCCESS);
	side_close(&s);
	check_stderr_end();
	serve(disconnect_and_end);
	expect_a_silent_end();
}

/* In a thread of the peer: waits, and prints to stderr if a descriptor comes back. */
static void *wait_in_vain(void *arg)
{
	VIP_DESCRIPTOR *d;

	(void)arg;
	VipRecvWait(c.vi, VIP_INFINITE, &d);
	dprintf(STDERR_FILENO, "a receive has come back\n");
	return NULL;
}

static void *post_and_poll_in_vain(void *arg)
{
	VIP_DESCRIPTOR *d;

	for (int i = 0; *(bool *)arg == false; i++) {
		if (i % 64 == 0 && i < 64 * 1000)
			VipPostRecv(c.vi, prepare(&c, 2, 64), c.handle);
		if (VipRecvDone(c.vi, &d) != VIP_NOT_DONE)
			dprintf(STDERR_FILENO, "a receive has come back\n");
	}
	return NULL;
}

static void exit_beside(void *(*run)(void *arg))
{
	static bool never;
	pthread_t thread;

	join_the_server();
	REQUIRE(pthread_create(&thread, NULL, run, &never) == 0);
	check_nap();
	exit(EXIT_SUCCESS);
}

static void exit_beside_one_that_waits(void *arg)
{
	(void)arg;
	exit_beside(wait_in_vain);
}

static void exit_beside_one_that_polls(void *arg)
{
	(void)arg;
	exit_beside(post_and_poll_in_vain);
}

static void no_thread_of_the_program_hears_of_its_exit(void)
{
	for (int i = 0; i < 10; i++) {
		serve(i % 2 ? exit_beside_one_that_waits : exit_beside_one_that_polls);
		expect_a_silent_end();
	}
}

static void tell_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context, (void)what;
	dprintf(STDERR_FILENO, "an error\n");
}

static void exit_with_a_handler(void *arg)
{
	(void)arg;
	join_the_server();
	REQUIRE_VIP(VipErrorCallback(c.nic, NULL, tell_error), VIP_SUCCESS);
	exit(EXIT_SUCCESS);
}

static void nor_does_the_program_s_error_handler(void)
{
	serve(exit_with_a_handler);
	expect_a_silent_end();
}

static void exit_from_a_handler(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi,
				VIP_DESCRIPTOR *d)
{
	(void)context, (void)nic, (void)vi, (void)d;
	exit(EXIT_SUCCESS);
}

static void have_a_handler_exit(void *arg)
{
	(void)arg;
	join_the_server();
	REQUIRE_VIP(VipRecvNotify(c.vi, NULL, exit_from_a_handler), VIP_SUCCESS);
	pause();
}

static void a_handler_of_the_library_s_may_exit(void)
{
	serve(have_a_handler_exit);
	post_send(&s, 1, 8);
	expect_send(&s, 1, VIP_STATUS_OP_SEND);
	expect_a_silent_end();
}

static void exit_on_signal(int number)
{
	(void)number;
	exit(EXIT_SUCCESS);
}

/* Exits in a signal handler, which mostly interrupts the library while it holds the lock of the queue or of the VI. */
static void exit_in_a_call(void *arg)
{
	const struct itimerval soon = { .it_value.tv_usec = 3000 };
	VIP_DESCRIPTOR *d;

	(void)arg;
	join_the_server();
	signal(SIGALRM, exit_on_signal);
	REQUIRE(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	for (;;) {
		VipRecvDone(c.vi, &d);
		VipQueryVi(c.vi, NULL, &c.attr, NULL, NULL);
	}
}

/* It depends on the interrupted code whether the connection is disconnected, but the process must end. */
static void an_exit_in_a_signal_handler_is_not_held_up(void)
{
	for (int i = 0; i < 8; i++) {
		serve(exit_in_a_call);
		expect_end();
		check_join(peer);
		check_stderr_end();
	}
}

static void exit_without_a_word(void *arg)
{
	(void)arg;
	join_the_server();
	_exit(EXIT_SUCCESS);
}

/* Over a device the kernel disconnects for a process that is gone. */
static void a_program_that_ends_by__exit_has_broken_its_connection(void)
{
	if (strcmp(adapter(), "soft0") != 0)
		check_skip("only soft0 tells a process that is gone from one that has disconnected");
	serve(exit_without_a_word);
	/* a thread of libvipl prints it, unless the NIC has been closed */
	REQUIRE_SOON(check_stderr_holds("a connection has broken"));
	expect_end();
	check_join(peer);
	check_stderr_end();
}

static void have_a_child_exit(void *arg)
{
	pid_t child;
	int status;

	(void)arg;
	join_the_server();
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		check_ignore_leaks();
		exit(EXIT_SUCCESS);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
	expect_recv(&c, 0, VIP_STATUS_OP_RECEIVE);
	post_send(&c, 1, 14);
	expect_send(&c, 1, VIP_STATUS_OP_SEND);
	REQUIRE_VIP(VipDisconnect(c.vi), VIP_SUCCESS);
	side_close(&c);
}

static void a_child_that_exits_leaves_its_parent_s_connection_alone(void)
{
	serve(have_a_child_exit);
	post_send(&s, 1, 8);
	expect_send(&s, 1, VIP_STATUS_OP_SEND);
	expect_recv(&s, 2, VIP_STATUS_OP_RECEIVE);
	check_join(peer);
	check_stderr_end();
}

static const struct check_test tests[] = {
	/* This is the first test, because libvipl prints at most three lines about broken connections in ten seconds. */
	CHECK_TEST(a_program_that_ends_by__exit_has_broken_its_connection),
	CHECK_TEST(a_program_that_exits_has_disconnected),
	CHECK_TEST(the_vi_connects_again_after_its_peer_has_exited),
	CHECK_TEST(no_thread_of_the_program_hears_of_its_exit),
	CHECK_TEST(nor_does_the_program_s_error_handler),
	CHECK_TEST(a_handler_of_the_library_s_may_exit),
	CHECK_TEST(an_exit_in_a_signal_handler_is_not_held_up),
	CHECK_TEST(a_child_that_exits_leaves_its_parent_s_connection_alone),
	CHECK_END,
};
static const struct check_suite leave = { .name = "leave", .teardown = close_side, .tests = tests };

CHECK_SUITES(&leave);
