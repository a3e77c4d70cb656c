/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket between two IAs, without the IAs: its end, messages that had arrived and were not read, sends for which
 * the kernel has no memory, and whose process is at the other end. And sockets that are hung up on with messages that nobody
 * has read.
 *
 * The program defines sendmsg(), recvmsg() and syscall() in place of those of the C library, and they call the real ones.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/foreign.h"
#include "providers/soft/sock.h"

static struct soft_ia *ia;
static struct soft_socket *sock;
static int far_end;
static int no_memory; /* sends fail with this, unless it is 0 */
static _Atomic unsigned int looks; /* calls of recvmsg() */

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int);

	if (no_memory) {
		errno = no_memory;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
	return real(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int);

	atomic_fetch_add(&looks, 1);
	*(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
	return real(fd, message, flags);
}

long syscall(long number, ...)
{
	long (*real)(long, ...);
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_sendto && no_memory) {
		errno = no_memory;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static struct soft_socket *socket_pair(int *other)
{
	struct soft_socket *made;
	int fds[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	*other = fds[1];
	made = soft_socket_new(ia, fds[0], getpid(), false);
	REQUIRE(made != NULL);
	return made;
}

static void sock_open(void)
{
	ia = calloc(1, sizeof(*ia));
	REQUIRE(ia != NULL);
	ia->service_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	REQUIRE(ia->service_fd >= 0);
	sock = socket_pair(&far_end);
}

static void sock_close(void)
{
	no_memory = 0;
	soft_sockets_fini(ia);
	close(far_end);
	close(ia->service_fd);
	free(ia);
}

/* A peer notifies once, over any of its sockets, so a notification that was not read must not be lost with its socket. */
static void notification_that_was_not_read_outlives_its_socket(void)
{
	struct pollfd bell = { .fd = ia->service_fd, .events = POLLIN };

	REQUIRE(send(far_end, "", 1, MSG_NOSIGNAL) == 1);
	CHECK_EQ_INT(poll(&bell, 1, 0), 0);
	soft_socket_end(sock);
	CHECK_EQ_INT(poll(&bell, 1, 0), 1);
	CHECK(ia->sockets == NULL);
}

/* The provider is linked so that it calls this: the IA has no service thread. */
void __wrap_datp_timer_set_by(struct datp_ia *base, struct datp_timer *timer, uint64_t when, void (*fn)(void *arg), void *arg);
void __wrap_datp_timer_set_by(struct datp_ia *base, struct datp_timer *timer, uint64_t when, void (*fn)(void *arg), void *arg)
{
	(void)fn;
	CHECK(base == &ia->base && arg == ia);
	timer->when = when;
}

static bool retry_is_due(void)
{
	return ia->tick.when != 0;
}

/* Returns the length of the next message, or -1 if no message has come. */
static ssize_t received(int fd)
{
	struct soft_msg msg;

	return recv(fd, &msg, sizeof msg, MSG_DONTWAIT);
}

/* Lack of memory does not mean that the peer has gone, and there may be no other socket to it. */
static void notification_that_there_is_no_memory_for_is_sent_later(void)
{
	no_memory = ENOBUFS;
	CHECK(soft_socket_notify(sock));
	CHECK(retry_is_due());
	CHECK(soft_socket_notify(sock)); /* a second notification is not sent while the first one waits */
	no_memory = ENOMEM;
	CHECK(soft_sockets_retry(ia)); /* there is still no memory */
	CHECK_EQ_INT(received(far_end), -1);
	no_memory = 0;
	CHECK(!soft_sockets_retry(ia));
	CHECK_EQ_INT(received(far_end), 1);
	CHECK_EQ_INT(received(far_end), -1);
	CHECK(soft_socket_notify(sock));
	CHECK_EQ_INT(received(far_end), 1);
}

static void message_that_there_is_no_memory_for_is_sent_later(void)
{
	const struct soft_msg msg = { .magic = SOFT_MSG_MAGIC, .type = SOFT_MSG_DISC };

	no_memory = ENOMEM;
	CHECK(soft_socket_send(sock, &msg));
	CHECK(retry_is_due());
	no_memory = 0;
	CHECK(soft_socket_send(sock, &msg)); /* nothing overtakes the message that waits */
	CHECK(soft_socket_notify(sock));
	CHECK_EQ_INT(received(far_end), -1);
	CHECK(!soft_sockets_retry(ia));
	CHECK_EQ_INT(received(far_end), sizeof msg);
	CHECK_EQ_INT(received(far_end), sizeof msg);
	CHECK_EQ_INT(received(far_end), 1);
	CHECK_EQ_INT(received(far_end), -1);
}

/* Any process of the user can leave descriptors in its sockets; the kernel then accepts none of a process without privileges. */
static void message_for_which_too_many_descriptors_are_in_flight_is_sent_later(void)
{
	const struct soft_msg msg = { .magic = SOFT_MSG_MAGIC, .type = SOFT_MSG_DISC };

	no_memory = ETOOMANYREFS;
	CHECK(soft_socket_send(sock, &msg));
	CHECK(retry_is_due());
	CHECK(soft_sockets_retry(ia));
	no_memory = 0;
	CHECK(!soft_sockets_retry(ia));
	CHECK_EQ_INT(received(far_end), sizeof msg);
}

/* Checks that the next message is this one, byte for byte. */
static void receives(const struct soft_msg *wanted)
{
	struct soft_msg msg;

	CHECK_EQ_INT(recv(far_end, &msg, sizeof msg, MSG_DONTWAIT), sizeof msg);
	CHECK(!memcmp(&msg, wanted, sizeof msg));
}

/* What waits for the end of a connection has room for the first fields of a message only. */
static void message_that_waited_arrives_whole(void)
{
	struct soft_out *spare = soft_out_for_end();
	struct soft_msg end = { .magic = SOFT_MSG_MAGIC,
				.version = SOFT_SHM_VERSION,
				.type = SOFT_MSG_DISC,
				.why = DAT_CONNECTION_EVENT_BROKEN,
				.port = 5,
				.gen = 0x12345678 };
	struct soft_msg other;

	memset(&other, 0xa5, sizeof other);
	other.type = SOFT_MSG_REJ; /* only REQ and REP carry a descriptor */
	no_memory = ENOMEM;
	REQUIRE(spare && soft_socket_send_by(sock, &end, &spare));
	CHECK(!spare);
	CHECK(soft_socket_send(sock, &other));
	no_memory = 0;
	CHECK(!soft_sockets_retry(ia));
	receives(&end);
	receives(&other);
}

/* The sender notifies only once, so a notification that was not sent yet must not be lost with its socket. */
static void notification_that_was_not_sent_outlives_its_socket(void)
{
	struct soft_peer peer = { .ia = ia, .id = { 1, 1 }, .users = 3 };
	struct soft_socket *other;
	int other_end;

	other = socket_pair(&other_end);
	sock->peer = other->peer = &peer;
	no_memory = ENOBUFS;
	CHECK(soft_socket_notify(sock));
	no_memory = 0;
	soft_socket_end(sock);
	CHECK_EQ_INT(received(other_end), 1);
	soft_socket_end(other);
	close(other_end);
}

/* A peer that makes connections and does not read that they have ended uses up only so much memory here. */
static void queue_of_messages_has_a_bound(void)
{
	const struct soft_msg msg = { .magic = SOFT_MSG_MAGIC, .type = SOFT_MSG_DISC };
	struct pollfd end = { .fd = far_end, .events = POLLRDHUP };

	no_memory = ENOBUFS;
	for (uint32_t i = 0; i < SOFT_OUT_MAX; i++) {
		struct soft_out *spare = soft_out_for_end();

		REQUIRE(spare && soft_socket_send_by(sock, &msg, &spare) && !spare);
	}
	CHECK_EQ_INT(poll(&end, 1, 0), 0);
	CHECK(!soft_socket_send(sock, &msg));
	CHECK_EQ_INT(poll(&end, 1, 0), 1);
}

/* Any other error still means that the peer has gone. */
static void peer_that_has_gone_has_gone(void)
{
	close(far_end);
	far_end = -1;
	CHECK(!soft_socket_notify(sock));
	CHECK(!soft_sockets_retry(ia));
}

/* ------------------------------------------------------------------ whose the other end is */

#define STRANGER 12345u

static int listener;

/* Connects as the user, once it is told to, and stays until it is told to end. */
static void connect_as(void *user)
{
	const uid_t uid = *(uid_t *)user;
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	REQUIRE(getsockname(listener, (struct sockaddr *)&name, &len) == 0);
	if (uid != geteuid())
		REQUIRE(setresuid(uid, uid, uid) == 0);
	check_await(CHECK_PARENT);
	CHECK(connect(fd, (struct sockaddr *)&name, len) == 0);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	close(fd);
}

/* Accepts a connection from a stranger, and one from our user, in a user namespace that maps neither. Reports what it could do. */
static void look_at_users(void *arg)
{
	bool there = !unshare(CLONE_NEWUSER);
	pid_t pid;

	(void)arg;
	check_put(CHECK_PARENT, &there, sizeof(there));
	for (int i = 0; i < 2 && there; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		REQUIRE(fd >= 0);
		CHECK_EQ_INT(soft_same_user(fd, &pid), i);
		close(fd);
	}
}

static void user_that_a_namespace_does_not_map_is_told_from_others(void)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	uid_t users[2] = { STRANGER, geteuid() };
	pid_t peers[2], namespace;
	bool there;

	if (geteuid())
		check_skip("only root can become another user");
	if (syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0) < 0 && errno == ENOSYS)
		check_skip("no process can be signalled by a descriptor, as under valgrind");
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* the kernel chooses an abstract name */
	REQUIRE(bind(listener, (const struct sockaddr *)&any, sizeof(any.sun_family)) == 0 && listen(listener, 2) == 0);
	for (int i = 0; i < 2; i++)
		peers[i] = check_fork(connect_as, &users[i]);
	namespace = check_fork(look_at_users, NULL);
	check_get(namespace, &there, sizeof(there));
	for (int i = 0; i < 2; i++) {
		check_signal(peers[i]);
		check_await(peers[i]);
	}
	check_join(namespace);
	for (int i = 0; i < 2; i++) {
		check_signal(peers[i]);
		check_join(peers[i]);
	}
	close(listener);
	if (!there)
		check_skip("the system does not let this process make a user namespace");
}

/* ---- messages that nobody reads */

#define UNREAD	 200 /* messages that a socket has */
#define FEW	 8   /* looks at one */
#define SOCKETS	 100
#define BYTE_NOW (MSG_DONTWAIT | MSG_NOSIGNAL)

/* Fills a socket with messages, and returns how many. */
static unsigned int fill(int fd)
{
	unsigned int n = 0;

	while (n < UNREAD && send(fd, "x", 1, BYTE_NOW) == 1)
		n++;
	return n;
}

/* Returns true if the other end has closed the last descriptor, and not only hung up: then its unread messages are a reset. */
static bool is_closed(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == ECONNRESET;
}

static void hangup_does_not_look_at_each_message(void)
{
	int fds[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	REQUIRE(fill(fds[1]) > 10 * FEW);
	atomic_store(&looks, 0);
	soft_foreign_hangup(fds[0]);
	REQUIRE(atomic_load(&looks) <= FEW);
	CHECK_SOON(is_closed(fds[1]));
	close(fds[1]);
}

static void end_of_a_listener_does_not_look_at_each_message(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at);
	int queue = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), fds[SOCKETS];

	/* the kernel chooses an abstract name */
	REQUIRE(bind(queue, (const struct sockaddr *)&at, sizeof(at.sun_family)) == 0 && listen(queue, SOCKETS) == 0);
	REQUIRE(getsockname(queue, (struct sockaddr *)&at, &len) == 0);
	for (int i = 0; i < SOCKETS; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		REQUIRE(connect(fds[i], (const struct sockaddr *)&at, len) == 0);
		REQUIRE(fill(fds[i]) > 10 * FEW);
	}
	atomic_store(&looks, 0);
	soft_foreign_end_listener(queue);
	REQUIRE(atomic_load(&looks) <= SOCKETS * FEW);
	for (int i = 0; i < SOCKETS; i++) {
		REQUIRE_SOON(is_closed(fds[i]));
		close(fds[i]);
	}
	CHECK_SOON(!soft_foreign_is_full());
}

static void empty_messages_that_are_not_read_are_closed_at_once(void)
{
	int fds[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	REQUIRE(send(fds[1], "", 0, BYTE_NOW) == 0 && send(fds[1], "x", 1, BYTE_NOW) == 1);
	soft_foreign_hangup(fds[0]);
	CHECK(fcntl(fds[0], F_GETFD) < 0); /* by this thread */
	close(fds[1]);
}

static const struct check_test tests[] = {
	CHECK_TEST(notification_that_was_not_read_outlives_its_socket),
	CHECK_TEST(notification_that_there_is_no_memory_for_is_sent_later),
	CHECK_TEST(message_that_there_is_no_memory_for_is_sent_later),
	CHECK_TEST(message_for_which_too_many_descriptors_are_in_flight_is_sent_later),
	CHECK_TEST(message_that_waited_arrives_whole),
	CHECK_TEST(notification_that_was_not_sent_outlives_its_socket),
	CHECK_TEST(queue_of_messages_has_a_bound),
	CHECK_TEST(peer_that_has_gone_has_gone),
	CHECK_TEST(user_that_a_namespace_does_not_map_is_told_from_others),
	CHECK_TEST(hangup_does_not_look_at_each_message),
	CHECK_TEST(end_of_a_listener_does_not_look_at_each_message),
	CHECK_TEST(empty_messages_that_are_not_read_are_closed_at_once),
	CHECK_END,
};

static const struct check_suite suite = { .name = "sock", .setup = sock_open, .teardown = sock_close, .tests = tests };

CHECK_SUITES(&suite);
