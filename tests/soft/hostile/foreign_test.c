/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker sends descriptors whose close takes as long as it likes: TCP sockets that linger, because nobody reads what was
 * written to them. It may be another user, whom the victim refuses. The victim serves others, forks, and closes its adapter
 * nevertheless.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "victim.h"

enum { STRANGER = 12345, LINGER_S = 600, PROMPT_MS = 5000, MANY = 100 };

/* ------------------------------------------------------------------ the attacker */

/* Returns a TCP socket that has written more bytes than the other end has room for: its last close waits as long as it lingers. */
static int lingering(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { .l_onoff = 1, .l_linger = LINGER_S };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	static char bytes[65536];
	socklen_t len = sizeof(at);

	REQUIRE(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0);
	REQUIRE(getsockname(listener, (struct sockaddr *)&at, &len) == 0 && connect(fd, (struct sockaddr *)&at, len) == 0);
	REQUIRE(accept(listener, NULL, NULL) >= 0);
	REQUIRE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	return fd;
}

/* Stops the victim, so that it finds what is sent only after the attacker has closed its own descriptor. */
static void stop_victim(void)
{
	char name[64], state[256] = "";
	FILE *stat;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)getppid());
	REQUIRE(kill(getppid(), SIGSTOP) == 0);
	while (!strstr(state, ") T ")) {
		stat = fopen(name, "r");
		REQUIRE(stat && fgets(state, sizeof(state), stat));
		fclose(stat);
	}
}

/* Sends a message of this size with the descriptor as that of the attacker's arena, and closes the descriptor. */
static void send_lingering(struct hostile *h, const void *message, size_t size)
{
	int arena = h->own.fd;

	h->own.fd = lingering();
	REQUIRE(hostile_say(h, message, size, true));
	close(h->own.fd);
	h->own.fd = arena;
}

static void as_arena(struct hostile *h, uint64_t where)
{
	struct soft_msg msg;

	hostile_begin_request(h, where, &msg);
	send_lingering(h, &msg, sizeof(msg));
}

/* Besides the arena */
static void as_second(struct hostile *h, uint64_t where)
{
	h->bell = lingering();
	hostile_request(h, where);
	close(h->bell);
	h->bell = -1;
}

static void with_nonsense(struct hostile *h, uint64_t where)
{
	h->fd = hostile_reach(where);
	send_lingering(h, "x", 1);
}

static void with_an_empty_message(struct hostile *h, uint64_t where)
{
	h->fd = hostile_reach(where);
	send_lingering(h, "", 0);
}

/* The victim refuses the first message, and does not read the others. */
static void unread(struct hostile *h, uint64_t where)
{
	h->fd = hostile_reach(where);
	REQUIRE(hostile_say(h, "xx", 2, false) && hostile_say(h, "", 0, false));
	send_lingering(h, "x", 1);
}

/* In a process of its own, because a stranger cannot let the victim go on. The attacker has the other end of what lingers. */
static void as_stranger(struct hostile *h, uint64_t where)
{
	int fd = lingering(), status;
	pid_t stranger = fork();

	if (!stranger) {
		REQUIRE(setresgid(STRANGER, STRANGER, STRANGER) == 0 && setresuid(STRANGER, STRANGER, STRANGER) == 0);
		h->fd = hostile_reach(where);
		h->own.fd = fd;
		REQUIRE(hostile_say(h, "x", 1, true));
		_exit(0);
	}
	REQUIRE(waitpid(stranger, &status, 0) == stranger && status == 0);
	close(fd);
}

/* More than there are threads for */
static void many(struct hostile *h, uint64_t where)
{
	for (int i = 0; i < MANY; i++)
		with_nonsense(h, where);
}

typedef void attack_fn(struct hostile *h, uint64_t where);

static void attack(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	stop_victim();
	((attack_fn *)arg)(&h, where);
	REQUIRE(kill(getppid(), SIGCONT) == 0);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;

static void meets(attack_fn *how)
{
	attacker = check_fork(attack, (void *)how);
	victim_opens();
}

static void forks(void)
{
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (!child)
		_exit(0);
	CHECK(waitpid(child, NULL, 0) == child);
}

/* The attacker is there until the end, so no close of what it has sent ends before. */
static void others_are_served(attack_fn *how)
{
	uint64_t begin;

	meets(how);
	victim_tells(attacker);
	check_await(attacker);
	begin = check_now_ms();
	victim_serves_others();
	forks();
	api_close();
	CHECK(check_now_ms() - begin < PROMPT_MS);
	check_signal(attacker);
	check_join(attacker);
}

static void arena_that_lingers_holds_up_nobody(void)
{
	others_are_served(as_arena);
}

static void second_descriptor_holds_up_nobody(void)
{
	others_are_served(as_second);
}

static void descriptor_with_nonsense_holds_up_nobody(void)
{
	others_are_served(with_nonsense);
}

static void descriptor_with_an_empty_message_holds_up_nobody(void)
{
	others_are_served(with_an_empty_message);
}

static void unread_descriptor_holds_up_nobody(void)
{
	others_are_served(unread);
}

static void descriptor_of_another_user_holds_up_nobody(void)
{
	if (geteuid() != 0)
		check_skip("only root can be another user");
	others_are_served(as_stranger);
}

/* New connections may have to wait now, but nothing else does. */
static void many_descriptors_do_not_hold_up_the_service_thread(void)
{
	uint64_t begin;
	struct api_pair pair;

	meets(many);
	memset(&pair, 0, sizeof(pair));
	api_pair_make(&pair, NULL);
	victim_tells(attacker);
	check_await(attacker);
	begin = check_now_ms();
	api_pair_works(&pair, &victim.buf);
	forks();
	api_close();
	CHECK(check_now_ms() - begin < PROMPT_MS);
	check_signal(attacker);
	check_join(attacker);
}

static const struct check_test tests[] = {
	CHECK_TEST(arena_that_lingers_holds_up_nobody),
	CHECK_TEST(second_descriptor_holds_up_nobody),
	CHECK_TEST(descriptor_with_nonsense_holds_up_nobody),
	CHECK_TEST(descriptor_with_an_empty_message_holds_up_nobody),
	CHECK_TEST(unread_descriptor_holds_up_nobody),
	CHECK_TEST(descriptor_of_another_user_holds_up_nobody),
	CHECK_TEST(many_descriptors_do_not_hold_up_the_service_thread),
	CHECK_END
};

static const struct check_suite suite = { .name = "descriptors whose close waits", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
