/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets between soft IAs: abstract Unix SOCK_SEQPACKET, so a process that dies leaves nothing
 * behind, and the kernel tells its peers of its death. Every message has the same form. Sending
 * never blocks: a message that the kernel does not accept is queued, and the service thread sends it
 * when there is room in the socket, or, if the kernel is out of memory, at a tick.
 */
#define _GNU_SOURCE
#include "sock.h"
#include "arena.h"
#include "connect.h"
#include "foreign.h"
#include "ia.h"
#include "pending.h"
#include "probe.h"
#include "tick.h"
#include "log/limited.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * A message that waits to be sent. Each connection keeps one for its end, so that one has no room for the fields from
 * `intro` on, which are 0 in a message about an end.
 */
struct soft_out {
	struct soft_out *next;
	size_t len; /* of `bytes` */
	unsigned char bytes[];
};

#ifndef SO_PEERPIDFD /* since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define END_LEN offsetof(struct soft_msg, intro)

socklen_t soft_listener_name(struct sockaddr_storage *sa, const char *realm, const char *key,
			     uint64_t qual)
{
	struct sockaddr_un *un = (struct sockaddr_un *)sa;
	int n;

	memset(sa, 0, sizeof *sa);
	un->sun_family = AF_UNIX;
	n = snprintf(un->sun_path + 1, sizeof un->sun_path - 1, "opendat-soft/%s%s%s/%llx", realm,
		     *realm ? "/" : "", key, (unsigned long long)qual);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static uid_t unmapped_uid = 65534; /* what the kernel shows for users that a user namespace does not map */
static pthread_once_t unmapped_known = PTHREAD_ONCE_INIT;

static void unmapped_read(void)
{
	FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
	unsigned int uid;

	if (file && fscanf(file, "%u", &uid) == 1)
		unmapped_uid = uid;
	if (file)
		fclose(file);
}

/* Returns true if this user namespace has a number for every user, as the first one has. */
static bool users_are_mapped(void)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned int first, outside, count;
	bool mapped = file && fscanf(file, "%u %u %u", &first, &outside, &count) == 3 && !first && count == UINT32_MAX;

	if (file)
		fclose(file);
	return mapped;
}

/*
 * Returns true if this process may send the one at the other end a signal. For that the kernel compares the users themselves: our
 * effective or real one with the other's real or saved one. With CAP_KILL it allows any process in our own user namespace or one
 * within it. Before Linux 6.5 the process is named by its number, which another one may have got if that one has ended. No other
 * error leads there: the option also fails when the peer has ended, or for lack of a descriptor, and then the number may be
 * another's.
 */
static bool may_be_signalled(int fd, pid_t pid)
{
	int handle = -1;
	socklen_t len = sizeof handle;
	bool may;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &handle, &len) < 0)
		return errno == ENOPROTOOPT && pid > 0 && kill(pid, 0) == 0;
	may = syscall(SYS_pidfd_send_signal, handle, 0, NULL, 0) == 0;
	close(handle);
	return may;
}

/* Returns true if the process is of our user, although a user namespace shows all users that it does not map by one number. */
static bool is_ours(int fd, const struct ucred *cred)
{
	pthread_once(&unmapped_known, unmapped_read);
	return cred->uid != unmapped_uid || users_are_mapped() || may_be_signalled(fd, cred->pid);
}

bool soft_same_user(int fd, pid_t *pid)
{
	static struct log_limit stranger, unknown;
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	*pid = cred.pid;
	if (cred.uid != geteuid())
		log_limited(
			&stranger, 1,
			"soft: process %d of user %u is refused: soft connects processes of one user (this is user %u)",
			(int)cred.pid, (unsigned int)cred.uid, (unsigned int)geteuid());
	else if (is_ours(fd, &cred))
		return true;
	else
		log_limited(
			&unknown, 1,
			"soft: process %d is refused: in this user namespace user %u may be any user; "
			"map the user, or share the PID namespace",
			(int)cred.pid, (unsigned int)cred.uid);
	return false;
}

/* Sends a message; arena_fd is passed with it, or -1. */
static bool fd_send(int fd, const struct soft_msg *msg, int arena_fd)
{
	struct iovec iov = { (void *)(uintptr_t)msg, sizeof *msg };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (arena_fd >= 0) {
		hdr.msg_control = &control;
		hdr.msg_controllen = sizeof control;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &arena_fd, sizeof(int));
	}
	return sendmsg(fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *msg;
}

static bool socket_send_now(struct soft_socket *sock, const struct soft_msg *msg)
{
	return fd_send(sock->fd, msg,
		       msg->type == SOFT_MSG_REQ || msg->type == SOFT_MSG_REP ? sock->ia->arena->fd :
										-1);
}

/* Sends one byte, which makes the peer's service thread check its queues. */
static bool socket_notify_now(struct soft_socket *sock)
{
	/*
	 * The flags hold for this call, whatever those of the socket are, and the peer only has the other socket of the pair.
	 * send() is not used, because it is a cancellation point, and this thread may be in the middle of a post.
	 */
	return syscall(SYS_sendto, sock->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) == 1;
}

/*
 * Returns true if the kernel is out of memory, or if this user's processes have sent too many descriptors that nobody has received
 * yet, for which the peer is not the reason. The kernel does not report when that is over.
 */
static bool is_starved(int error)
{
	return error == ENOBUFS || error == ENOMEM || error == ETOOMANYREFS;
}

/* Returns true if the kernel will accept the message later. */
static bool is_busy(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || is_starved(error);
}

static void socket_event(void *arg, uint32_t events);

/* Returns true if a message or a notification waits to be sent. ia.lock */
static bool socket_owes(const struct soft_socket *sock)
{
	return sock->out || sock->notify_owed;
}

static bool out_send(struct soft_socket *sock, const struct soft_out *out)
{
	struct soft_msg msg = { 0 };

	memcpy(&msg, out->bytes, out->len);
	return socket_send_now(sock, &msg);
}

/* Sends waiting messages, as many as the kernel accepts. ia.lock */
static void socket_flush_locked(struct soft_socket *sock)
{
	while (sock->out && (out_send(sock, sock->out) || !is_busy(errno))) {
		struct soft_out *out = sock->out;

		sock->out = out->next;
		sock->out_count--;
		free(out);
	}
	if (!sock->out) {
		sock->out_tail = &sock->out;
		if (sock->notify_owed && (socket_notify_now(sock) || !is_busy(errno)))
			sock->notify_owed = false;
	}
	/* errno is that of the last try, which has failed if something is left */
	sock->starved = socket_owes(sock) && is_starved(errno);
}

/* Watches for what there is to watch for now. Ends the socket if it cannot be watched. Service thread. */
static void socket_watch_anew(struct soft_socket *sock)
{
	struct datp_watch *old;

	datp_lock(&sock->ia->lock);
	old = sock->watch;
	sock->watch = NULL;
	datp_unlock(&sock->ia->lock);
	if (old)
		datp_loop_del(old);
	if (soft_socket_watch(sock))
		soft_conn_hangup(sock);
}

/* The socket has room: tries to send the queue again. Service thread. */
static void socket_flush(struct soft_socket *sock)
{
	bool starved, watched;

	datp_lock(&sock->ia->lock);
	socket_flush_locked(sock);
	starved = sock->starved;
	watched = socket_owes(sock) && !starved;
	datp_unlock(&sock->ia->lock);
	if (starved)
		soft_tick_set(sock->ia);
	/* the socket has room, so a watch for room would wake this thread again and again */
	if (!watched)
		socket_watch_anew(sock);
}

/* From here on the watch also waits for room to send. Service thread. */
static void socket_want_out(void *arg)
{
	struct soft_ia *ia = arg;

	for (;;) {
		struct soft_socket *sock;

		datp_lock(&ia->lock);
		for (sock = ia->sockets; sock; sock = sock->next)
			if (sock->out_wanted)
				break;
		if (!sock) {
			datp_unlock(&ia->lock);
			return;
		}
		sock->out_wanted = false;
		datp_unlock(&ia->lock);
		socket_watch_anew(sock);
	}
}

bool soft_sockets_retry(struct soft_ia *ia)
{
	bool left = false;

	datp_lock(&ia->lock);
	for (struct soft_socket *sock = ia->sockets; sock; sock = sock->next) {
		if (!sock->starved)
			continue;
		socket_flush_locked(sock);
		left = left || sock->starved;
		sock->out_wanted = socket_owes(sock) && !sock->starved;
	}
	datp_unlock(&ia->lock);
	socket_want_out(ia);
	return left;
}

/* The first thing that waits to be sent waits for room in the socket, or for memory. ia.lock */
static void socket_await_room(struct soft_socket *sock, int error)
{
	sock->starved = is_starved(error);
	sock->out_wanted = !sock->starved;
	if (sock->out_wanted && datp_loop_call(&sock->ia->base, socket_want_out, sock->ia) == DATP_OK)
		return;
	/* the tick needs no memory */
	sock->out_wanted = false;
	sock->starved = true;
	soft_tick_set(sock->ia);
}

static struct soft_out *out_new(size_t len)
{
	struct soft_out *out = malloc(sizeof *out + len);

	if (out)
		out->len = len;
	return out;
}

struct soft_out *soft_out_for_end(void)
{
	return out_new(END_LEN);
}

bool soft_socket_send_by(struct soft_socket *sock, const struct soft_msg *msg, struct soft_out **spare)
{
	bool first = !socket_owes(sock);
	struct soft_out *out = *spare;
	int error = 0;

	if (sock->out_count >= SOFT_OUT_MAX) {
		shutdown(sock->fd, SHUT_RDWR); /* the service thread sees it as a hang-up */
		return false;
	}
	if (first && socket_send_now(sock, msg))
		return true;
	if (first) {
		error = errno;
		if (!is_busy(error))
			return false;
	}
	if (!out)
		out = out_new(sizeof *msg);
	if (!out)
		return false;
	*spare = NULL;
	out->next = NULL;
	memcpy(out->bytes, msg, out->len);
	sock->out_count++;
	*sock->out_tail = out;
	sock->out_tail = &out->next;
	if (first)
		socket_await_room(sock, error);
	return true;
}

bool soft_socket_send(struct soft_socket *sock, const struct soft_msg *msg)
{
	struct soft_out *none = NULL;

	return soft_socket_send_by(sock, msg, &none);
}

bool soft_socket_notify(struct soft_socket *sock)
{
	bool first = !socket_owes(sock);

	if (first && socket_notify_now(sock))
		return true;
	if (first && !is_busy(errno))
		return false;
	if (first)
		socket_await_room(sock, errno);
	sock->notify_owed = true;
	return true;
}

/* Returns the descriptor that came with the message, or -1. */
static int socket_read_fd(struct msghdr *hdr)
{
	static struct log_limit full;
	int fd = soft_foreign_take(hdr);

	if (fd < 0 && (hdr->msg_flags & MSG_CTRUNC))
		log_limited(
			&full, 1,
			"soft: no file descriptor for a peer's memory; raise the limit (ulimit -n)");
	return fd;
}

/*
 * Returns true if an adapter of this version can have sent the message. Only REQ and REP bring a descriptor, that of the arena, and
 * the address of the adapter, which is shown to the program: all adapters have one of IPv4, and programs rely on that.
 */
static bool message_is_sound(const struct soft_msg *msg, int fd)
{
	if (msg->magic != SOFT_MSG_MAGIC || msg->version != SOFT_SHM_VERSION || msg->pdata_len > SOFT_PDATA_MAX)
		return false;
	if (msg->type == SOFT_MSG_REQ || msg->type == SOFT_MSG_REP)
		return msg->address.ss_family == AF_INET;
	return fd < 0;
}

enum input { INPUT_NOTHING, INPUT_MESSAGE, INPUT_NOTIFY, INPUT_END };

/* Reads a message; *fd becomes the descriptor that came with it, or -1. INPUT_END: no more messages can come. */
static enum input socket_read(struct soft_socket *sock, struct soft_msg *msg, int *fd)
{
	struct iovec iov = { msg, sizeof *msg };
	union {
		struct cmsghdr header;
		/* for as many as there can be, because the kernel closes at once what there is no room for: see foreign.c */
		unsigned char space[CMSG_SPACE(SOFT_FOREIGN_MOST * sizeof(int))];
	} control;
	struct msghdr hdr = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	static struct log_limit nonsense;
	enum input input = INPUT_END;
	ssize_t got;

	*fd = -1;
	if (soft_foreign_is_too_much(sock->fd))
		return INPUT_END;
	got = recvmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* the kernel reports a reset before the messages that precede it; after them it reports the end once more */
	if (got < 0 && errno == ECONNRESET)
		got = recvmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return INPUT_NOTHING;
	if (got >= 0) /* an empty message may bring some, too */
		*fd = socket_read_fd(&hdr);
	if (got == 1 && *fd < 0)
		input = INPUT_NOTIFY;
	else if (got == (ssize_t)sizeof *msg && !(hdr.msg_flags & MSG_TRUNC) && message_is_sound(msg, *fd))
		input = msg->type == SOFT_MSG_NOTIFY ? INPUT_NOTIFY : INPUT_MESSAGE;
	else if (got > 0)
		log_limited(
			&nonsense, 1,
			"soft: process %d uses another version of OpenDAT, or another protocol; it "
			"is refused",
			(int)sock->pid);
	if (input != INPUT_MESSAGE && *fd >= 0)
		soft_foreign_close(*fd);
	return input;
}

/* Keeps the memory of a socket that is ended meanwhile until it is released. Service thread. */
static void socket_hold(struct soft_socket *sock)
{
	sock->holds++;
}

static void socket_let_go(struct soft_socket *sock)
{
	if (!--sock->holds && sock->ended)
		free(sock);
}

/* A message that waits, and the arena that came with it. */
struct soft_kept {
	struct soft_msg msg;
	int fd;
};

/* Keeps the first message that brings an arena until it is known how to copy. Returns false if the message need not wait. */
static bool socket_keep(struct soft_socket *sock, const struct soft_msg *msg, int fd)
{
	struct soft_kept *kept;

	if (fd < 0 || sock->asked)
		return false;
	sock->asked = true;
	kept = malloc(sizeof *kept);
	if (!kept || !soft_probe_begin(sock, &msg->intro)) {
		free(kept);
		return false;
	}
	*kept = (struct soft_kept){ *msg, fd };
	sock->kept = kept;
	datp_lock(&sock->ia->lock);
	soft_pending_renew(sock); /* the other side has taken its step, maybe while this process was stopped */
	datp_unlock(&sock->ia->lock);
	socket_watch_anew(sock);
	return true;
}

void soft_socket_resume(struct soft_socket *sock)
{
	struct soft_kept *kept = sock->kept;

	socket_hold(sock);
	sock->kept = NULL;
	if (kept)
		soft_conn_message(sock, &kept->msg, kept->fd);
	free(kept);
	if (!sock->ended)
		socket_watch_anew(sock);
	if (!sock->ended)
		soft_socket_read(sock); /* now, so that requests of one process keep their order */
	if (!sock->ended && !sock->asked && !sock->probe && sock->crowd)
		soft_pending_silent(sock);
	socket_let_go(sock);
}

/*
 * This many messages at a time: a peer that never stops sending does not occupy the service thread,
 * which comes back after it has served the others.
 */
#define READ_MAX 64

void soft_socket_read(struct soft_socket *sock)
{
	struct soft_ia *ia = sock->ia;
	enum input input = INPUT_MESSAGE;
	struct soft_msg msg;
	bool notified = false;
	int fd;

	/* a handler may end the socket */
	socket_hold(sock);
	if (!sock->asked && !sock->probe && soft_probe_join(sock))
		socket_watch_anew(sock);
	for (int n = 0; n < READ_MAX && !sock->ended && !sock->probe && (input == INPUT_MESSAGE || input == INPUT_NOTIFY);
	     n++) {
		input = socket_read(sock, &msg, &fd);
		if (input == INPUT_MESSAGE && !socket_keep(sock, &msg, fd))
			soft_conn_message(sock, &msg, fd);
		notified = notified || input == INPUT_NOTIFY;
	}
	if (input == INPUT_END && !sock->ended)
		soft_conn_hangup(sock);
	socket_let_go(sock);
	if (notified)
		soft_ia_serve(ia);
}

bool soft_socket_catch_up(struct soft_socket *sock)
{
	bool stays;

	socket_hold(sock);
	soft_socket_read(sock);
	stays = !sock->ended;
	socket_let_go(sock);
	return stays;
}

static void socket_event(void *arg, uint32_t events)
{
	struct soft_socket *sock = arg;

	socket_hold(sock);
	if (events & EPOLLOUT)
		socket_flush(sock);
	/* socket_flush() ends the socket if that cannot be watched any more */
	if (!sock->ended)
		soft_socket_read(sock);
	socket_let_go(sock);
}

struct soft_socket *soft_socket_new(struct soft_ia *ia, int fd, pid_t pid, bool active)
{
	struct soft_socket *sock = calloc(1, sizeof *sock);

	if (!sock) {
		soft_foreign_hangup(fd);
		return NULL;
	}
	sock->ia = ia;
	sock->fd = fd;
	datp_fork_list(&sock->fork_fd, fd);
	sock->pid = pid;
	sock->active = active;
	sock->out_tail = &sock->out;
	datp_lock(&ia->lock);
	sock->next = ia->sockets;
	sock->prev = &ia->sockets;
	if (sock->next)
		sock->next->prev = &sock->next;
	ia->sockets = sock;
	datp_unlock(&ia->lock);
	return sock;
}

int soft_socket_exchange(struct soft_socket *sock, int fd)
{
	int old = sock->fd;

	datp_fork_unlist(&sock->fork_fd);
	datp_lock(&sock->ia->lock);
	sock->fd = fd;
	datp_unlock(&sock->ia->lock);
	datp_fork_list(&sock->fork_fd, fd);
	return old;
}

enum datp_err soft_socket_watch(struct soft_socket *sock)
{
	uint32_t events;
	bool more;

	/* for a message that is queued after this look, socket_want_out() changes the watch */
	datp_lock(&sock->ia->lock);
	more = socket_owes(sock) && !sock->starved;
	datp_unlock(&sock->ia->lock);
	events = (more ? EPOLLOUT : 0u) | (sock->probe ? 0u : EPOLLIN | EPOLLRDHUP);
	if (!events)
		return DATP_OK;
	return datp_loop_add(&sock->ia->base, sock->fd, events, socket_event, sock, &sock->watch);
}

void soft_socket_list(struct soft_socket **list, struct soft_socket *sock)
{
	soft_socket_unlist(sock);
	sock->list_of_peer = list;
	sock->next_of_peer = *list;
	*list = sock;
}

void soft_socket_unlist(struct soft_socket *sock)
{
	struct soft_socket **at = sock->list_of_peer;

	while (at && *at && *at != sock)
		at = &(*at)->next_of_peer;
	if (at && *at)
		*at = sock->next_of_peer;
	sock->list_of_peer = NULL;
}

void soft_socket_end(struct soft_socket *sock)
{
	struct soft_ia *ia = sock->ia;
	struct datp_fork_own own;
	struct soft_peer *peer;
	bool owed;

	soft_retry_end(sock);
	soft_probe_forget(sock);
	if (sock->watch)
		datp_loop_del(sock->watch);
	if (sock->kept)
		soft_foreign_close(sock->kept->fd);
	free(sock->kept);
	sock->kept = NULL;
	datp_fork_hold(&own);
	datp_lock(&ia->lock);
	soft_pending_spoke(sock);
	soft_pending_established(sock);
	*sock->prev = sock->next;
	if (sock->next)
		sock->next->prev = sock->prev;
	if (sock->ep)
		sock->ep->socket = NULL;
	if (sock->cr)
		sock->cr->socket = NULL;
	owed = sock->notify_owed;
	peer = sock->peer;
	soft_socket_unlist(sock);
	datp_unlock(&ia->lock);
	datp_fork_unlist(&sock->fork_fd);
	soft_foreign_hangup(sock->fd);
	datp_fork_release(&own);
	/* an unread message may have been a notification, which its sender does not repeat over another socket */
	soft_ia_wake(ia);
	if (sock->sender_id)
		soft_sender_id_free(ia, sock->sender_id);
	while (sock->out) {
		struct soft_out *out = sock->out;

		sock->out = out->next;
		free(out);
	}
	sock->ended = true;
	if (!sock->holds)
		free(sock);
	/* a notification of this side that was not sent goes over another socket, if there is one */
	if (peer && owed)
		soft_peer_wake(peer);
	if (peer)
		soft_peer_put(peer);
}

void soft_sockets_fini(struct soft_ia *ia)
{
	while (ia->sockets)
		soft_socket_end(ia->sockets);
}
