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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "providers/soft/foreign.h"
#include "victim.h"

enum { STRANGER = 12345, LINGER_S = 600, PROMPT_MS = 5000, MANY = 100 };
enum { LISTENERS = 1000, PAIRS = 4 };
enum { CONNECTIONS = 10, QUEUED = 1500, ENOUGH = 8192 }; /* of the attacker, and the descriptors that it and the victim may have */

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

/* Sends a message of nonsense with as many descriptors of a pipe. */
static void send_pipes(int fd, size_t n)
{
	struct iovec iov = { (void *)(uintptr_t)"xx", 2 };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(SOFT_FOREIGN_MOST * sizeof(int))];
	} control = { 0 };
	struct msghdr hdr = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int))
	};
	static int ends[2];
	int fds[SOFT_FOREIGN_MOST];

	REQUIRE(ends[1] || pipe(ends) == 0);
	for (size_t i = 0; i < n; i++)
		fds[i] = ends[1];
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	REQUIRE(sendmsg(fd, &hdr, MSG_NOSIGNAL) == 2);
}

/* Sends the many while the victim is stopped, so that it finds all of them at once. Returns when the victim has told so. */
static void many_at_once(struct hostile *h, uint64_t where)
{
	stop_victim();
	many(h, where);
	REQUIRE(kill(getppid(), SIGCONT) == 0);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

/* Over connections that have been accepted before all threads have something to close */
static void send_many_each(void *arg)
{
	uint64_t where = victim_is_at();
	int fds[CONNECTIONS];
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < CONNECTIONS; i++)
		fds[i] = hostile_reach(where);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	many_at_once(&h, where);
	for (int i = 0; i < CONNECTIONS; i++)
		send_pipes(fds[i], SOFT_FOREIGN_MOST);
	for (int i = 0; i < CONNECTIONS; i++)
		CHECK(hostile_is_hung_up_on(fds[i], (int)check_patience_ms()));
	check_signal(CHECK_PARENT);
	pause();
}

/* Over connections that are not accepted, because all threads have something to close */
static void send_to_the_backlog(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	many_at_once(&h, where);
	for (int i = 0; i < QUEUED; i++)
		send_pipes(hostile_reach(where), 1);
	check_signal(CHECK_PARENT);
	pause();
}

/* A connection waits at each of the listeners. */
static void wait_at_all_listeners(void *arg)
{
	uint64_t where = victim_is_at();
	DAT_CONN_QUAL quals[LISTENERS];
	struct hostile h;

	(void)arg;
	check_get(CHECK_PARENT, quals, sizeof(quals));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	many_at_once(&h, where);
	for (int i = 0; i < LISTENERS; i++)
		hostile_reach(quals[i]);
	check_signal(CHECK_PARENT);
	pause();
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

static struct rlimit before_limit;

static void have_enough_descriptors(void)
{
	struct rlimit limit;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &before_limit) == 0);
	if (before_limit.rlim_max < ENOUGH)
		check_skip("the limit of descriptors is too low");
	limit = before_limit;
	limit.rlim_cur = ENOUGH;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* The attack keeps all threads that close, and those descriptors that do not wait stay for that long. */
static void victim_closes_all_when_the_attacker_has_gone(int before)
{
	check_kill(attacker);
	CHECK_SOON(api_descriptors() < before + 10);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before_limit) == 0);
}

static void serve_the_victim(void *arg)
{
	struct api_end end;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;

	(void)arg;
	api_open();
	api_end_make(&end, NULL);
	evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(evd, DAT_PSP_CONSUMER_FLAG, &qual);
	check_put(CHECK_PARENT, &qual, sizeof(qual));
	REQUIRE_DAT(dat_cr_accept(api_cr(evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(CHECK_PARENT);
	api_close();
}

/* The answer to the victim's request brings a descriptor, too. */
static void victim_connects(pid_t server)
{
	struct api_end end;
	DAT_CONN_QUAL qual;

	api_end_make(&end, NULL);
	check_get(server, &qual, sizeof(qual));
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(server);
	check_join(server);
}

static void few_descriptors_are_received_while_many_wait(void)
{
	pid_t server;
	int before;

	have_enough_descriptors();
	attacker = check_fork(send_many_each, NULL);
	server = check_fork(serve_the_victim, NULL);
	victim_opens();
	before = api_descriptors();
	victim_tells(attacker);
	check_await(attacker);
	victim_serves_others(); /* those connections have been accepted then */
	check_signal(attacker);
	check_await(attacker);
	usleep(100000);
	check_signal(attacker);
	check_await(attacker);
	CHECK(api_descriptors() < before + MANY + CONNECTIONS + 3 * SOFT_FOREIGN_MOST);
	victim_connects(server);
	victim_closes_all_when_the_attacker_has_gone(before);
}

static void all_descriptors_of_a_backlog_are_closed(void)
{
	int before;

	have_enough_descriptors();
	attacker = check_fork(send_to_the_backlog, NULL);
	victim_opens();
	before = api_descriptors();
	victim_tells(attacker);
	check_await(attacker);
	usleep(100000);
	check_signal(attacker);
	check_await(attacker);
	api_close();
	CHECK(api_descriptors() > QUEUED);
	victim_closes_all_when_the_attacker_has_gone(before);
}

/* If the service thread slept a millisecond for each listener in turn, this would take longer than one round. */
static void listeners_that_cannot_accept_do_not_hold_up_the_service_thread(void)
{
	static DAT_CONN_QUAL quals[LISTENERS];
	static struct api_pair pairs[PAIRS];
	pid_t later;
	uint64_t begin;

	have_enough_descriptors();
	attacker = check_fork(wait_at_all_listeners, NULL);
	later = check_fork(victim_later_peer, NULL);
	victim_opens();
	memset(pairs, 0, sizeof(pairs));
	for (int i = 0; i < PAIRS; i++)
		api_pair_make(&pairs[i], NULL);
	for (int i = 0; i < LISTENERS; i++)
		api_listen(victim.cr_evd, DAT_PSP_CONSUMER_FLAG, &quals[i]);
	victim_tells(attacker);
	check_put(attacker, quals, sizeof(quals));
	check_await(attacker);
	usleep(100000);
	check_signal(attacker);
	check_await(attacker);
	begin = check_now_ms();
	for (int i = 0; i < PAIRS; i++)
		api_disconnect(&pairs[i]);
	CHECK(check_now_ms() - begin < LISTENERS);
	check_kill(attacker);
	victim_serves_later(later);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before_limit) == 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(arena_that_lingers_holds_up_nobody),
	CHECK_TEST(second_descriptor_holds_up_nobody),
	CHECK_TEST(descriptor_with_nonsense_holds_up_nobody),
	CHECK_TEST(descriptor_with_an_empty_message_holds_up_nobody),
	CHECK_TEST(unread_descriptor_holds_up_nobody),
	CHECK_TEST(descriptor_of_another_user_holds_up_nobody),
	CHECK_TEST(many_descriptors_do_not_hold_up_the_service_thread),
	CHECK_TEST(few_descriptors_are_received_while_many_wait),
	CHECK_TEST(all_descriptors_of_a_backlog_are_closed),
	CHECK_TEST(listeners_that_cannot_accept_do_not_hold_up_the_service_thread),
	CHECK_END
};

static const struct check_suite suite = { .name = "descriptors whose close waits", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
