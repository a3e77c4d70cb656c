/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket between two IAs, without those: its end, and what had come over it and was not read. */
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/sock.h"

static struct soft_ia *ia;
static struct soft_socket *sock;
static int far_end;

static void sock_open(void)
{
	int fds[2];

	ia = calloc(1, sizeof(*ia));
	REQUIRE(ia != NULL);
	ia->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	REQUIRE(ia->doorbell_fd >= 0);
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	far_end = fds[1];
	sock = soft_socket_new(ia, fds[0], getpid());
	REQUIRE(sock != NULL);
}

static void sock_close(void)
{
	close(far_end);
	close(ia->doorbell_fd);
	free(ia);
}

/* A peer rings over any socket that it has, and has done what it owes then: it rings no second time. */
static void ring_that_was_not_read_outlives_its_socket(void)
{
	struct pollfd bell = { .fd = ia->doorbell_fd, .events = POLLIN };

	REQUIRE(send(far_end, "", 1, MSG_NOSIGNAL) == 1);
	CHECK_EQ_INT(poll(&bell, 1, 0), 0);
	soft_socket_end(sock);
	CHECK_EQ_INT(poll(&bell, 1, 0), 1);
	CHECK(ia->sockets == NULL);
}

static const struct check_test tests[] = { CHECK_TEST(ring_that_was_not_read_outlives_its_socket), CHECK_END };

static const struct check_suite suite = { .name = "sock", .setup = sock_open, .teardown = sock_close, .tests = tests };

CHECK_SUITES(&suite);
