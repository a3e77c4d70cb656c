/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets between soft IAs: abstract Unix SOCK_SEQPACKET, so that nothing is left behind by a
 * process that dies, and the kernel tells its peers that it did. Every message has the same form.
 * Sending never blocks: what the kernel does not take is queued, and sent by the service thread
 * when it does.
 */
#define _GNU_SOURCE
#include "sock.h"
#include "arena.h"
#include "ia.h"
#include "knock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

struct soft_out {
	struct soft_out *next;
	struct soft_msg msg;
};

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

bool soft_same_user(int fd, pid_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	*pid = cred.pid;
	if (cred.uid == geteuid())
		return true;
	datp_log(
		1,
		"soft: process %d of user %u is refused: soft connects processes of one user (this is user %u)",
		(int)cred.pid, (unsigned int)cred.uid, (unsigned int)geteuid());
	return false;
}

static bool fd_send(int fd, const struct soft_msg *msg, const int *fds)
{
	struct iovec iov = { (void *)(uintptr_t)msg, sizeof *msg };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		hdr.msg_control = &control;
		hdr.msg_controllen = sizeof control;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, 2 * sizeof(int));
	}
	return sendmsg(fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *msg;
}

static bool socket_send_now(struct soft_socket *sock, const struct soft_msg *msg)
{
	int fds[2] = { sock->ia->arena->fd, sock->ia->doorbell_fd };

	return fd_send(sock->fd, msg,
		       msg->type == SOFT_MSG_REQ || msg->type == SOFT_MSG_REP ? fds : NULL);
}

static void socket_event(void *arg, uint32_t events);

/* Tries the queue again; on the service thread. */
static void socket_flush(struct soft_socket *sock)
{
	struct datp_watch *old = NULL;

	datp_lock(&sock->ia->lock);
	while (sock->out && (socket_send_now(sock, &sock->out->msg) ||
			     (errno != EAGAIN && errno != EWOULDBLOCK))) {
		struct soft_out *out = sock->out;

		sock->out = out->next;
		free(out);
	}
	if (!sock->out) {
		sock->out_end = &sock->out;
		old = sock->watch;
		sock->watch = NULL;
	}
	datp_unlock(&sock->ia->lock);
	if (!old)
		return;
	datp_loop_del(old);
	if (soft_socket_watch(sock))
		soft_conn_hangup(sock);
}

/* From here on the watch looks for room to send, too. Service thread. */
static void socket_want_out(void *arg)
{
	struct soft_ia *ia = arg;

	for (;;) {
		struct soft_socket *sock;
		struct datp_watch *old;

		datp_lock(&ia->lock);
		for (sock = ia->sockets; sock; sock = sock->next)
			if (sock->out && sock->out_wanted)
				break;
		if (!sock) {
			datp_unlock(&ia->lock);
			return;
		}
		sock->out_wanted = false;
		old = sock->watch;
		sock->watch = NULL;
		datp_unlock(&ia->lock);
		if (old)
			datp_loop_del(old);
		if (soft_socket_watch(sock))
			soft_conn_hangup(sock);
	}
}

bool soft_socket_send(struct soft_socket *sock, const struct soft_msg *msg)
{
	struct soft_out *out;

	if (!sock->out && socket_send_now(sock, msg))
		return true;
	if (!sock->out && errno != EAGAIN && errno != EWOULDBLOCK)
		return false;
	out = malloc(sizeof *out);
	if (!out)
		return false;
	out->next = NULL;
	out->msg = *msg;
	*sock->out_end = out;
	sock->out_end = &out->next;
	if (!sock->out->next) {
		sock->out_wanted = true;
		return datp_loop_call(&sock->ia->base, socket_want_out, sock->ia) == DATP_OK;
	}
	return true;
}

/*
 * What came along: two, or one if this process has no room for the second; it is the handler's all
 * the same.
 */
static void socket_read_fds(struct msghdr *hdr, int fds[2])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(hdr);

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c),
		       c->cmsg_len < CMSG_LEN(2 * sizeof(int)) ? sizeof(int) : 2 * sizeof(int));
	if (hdr->msg_flags & MSG_CTRUNC)
		datp_log(
			1,
			"soft: no file descriptor for a peer's memory; raise the limit (ulimit -n)");
}

/* One message; false when there is none now. *gone: there will be none any more. */
static bool socket_read(struct soft_socket *sock, struct soft_msg *msg, int fds[2], bool *gone)
{
	struct iovec iov = { msg, sizeof *msg };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct msghdr hdr = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	ssize_t got = recvmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	fds[0] = fds[1] = -1;
	/* a reset is said before what was sent before it; the end comes behind that once more */
	if (got < 0 && errno == ECONNRESET)
		got = recvmsg(sock->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return false;
	if (got > 0)
		socket_read_fds(&hdr, fds);
	*gone = got != (ssize_t)sizeof *msg || msg->magic != SOFT_MSG_MAGIC ||
		msg->version != SOFT_SHM_VERSION || msg->pdata_len > SOFT_PDATA_MAX;
	if (*gone && got > 0)
		datp_log(
			1,
			"soft: process %d speaks another version of OpenDAT, or something else; it is refused",
			(int)sock->pid);
	if (*gone) {
		if (fds[0] >= 0)
			close(fds[0]);
		if (fds[1] >= 0)
			close(fds[1]);
	}
	return !*gone;
}

/* The memory of a socket that is ended meanwhile stays until it is let go. Service thread. */
static void socket_hold(struct soft_socket *sock)
{
	sock->holds++;
}

static void socket_let_go(struct soft_socket *sock)
{
	if (!--sock->holds && sock->ended)
		free(sock);
}

void soft_socket_read(struct soft_socket *sock)
{
	struct soft_msg msg;
	bool gone = false;
	int fds[2];

	/* a handler may end the socket */
	socket_hold(sock);
	while (!sock->ended && socket_read(sock, &msg, fds, &gone))
		soft_conn_message(sock, &msg, fds);
	if (gone && !sock->ended)
		soft_conn_hangup(sock);
	socket_let_go(sock);
}

static void socket_event(void *arg, uint32_t events)
{
	struct soft_socket *sock = arg;

	socket_hold(sock);
	if (events & EPOLLOUT)
		socket_flush(sock);
	/* it ends there if it cannot be watched any more */
	if (!sock->ended)
		soft_socket_read(sock);
	socket_let_go(sock);
}

struct soft_socket *soft_socket_new(struct soft_ia *ia, int fd, pid_t pid)
{
	struct soft_socket *sock = calloc(1, sizeof *sock);

	if (!sock) {
		close(fd);
		return NULL;
	}
	sock->ia = ia;
	sock->fd = fd;
	sock->pid = pid;
	sock->out_end = &sock->out;
	datp_lock(&ia->lock);
	sock->next = ia->sockets;
	sock->prev = &ia->sockets;
	if (sock->next)
		sock->next->prev = &sock->next;
	ia->sockets = sock;
	datp_unlock(&ia->lock);
	return sock;
}

enum datp_err soft_socket_watch(struct soft_socket *sock)
{
	bool more;

	/* what is queued behind this look is asked for by socket_want_out() */
	datp_lock(&sock->ia->lock);
	more = sock->out != NULL;
	datp_unlock(&sock->ia->lock);
	return datp_loop_add(&sock->ia->base, sock->fd,
			     EPOLLIN | EPOLLRDHUP | (more ? EPOLLOUT : 0u), socket_event, sock,
			     &sock->watch);
}

void soft_socket_end(struct soft_socket *sock)
{
	struct soft_ia *ia = sock->ia;
	struct soft_peer *peer;

	soft_knock_end(sock);
	if (sock->watch)
		datp_loop_del(sock->watch);
	soft_fork_hold();
	datp_lock(&ia->lock);
	*sock->prev = sock->next;
	if (sock->next)
		sock->next->prev = sock->prev;
	if (sock->ep)
		sock->ep->socket = NULL;
	if (sock->cr)
		sock->cr->socket = NULL;
	peer = sock->peer;
	if (peer && sock->kept) {
		struct soft_socket **p = &peer->sockets;

		while (*p && *p != sock)
			p = &(*p)->link;
		if (*p)
			*p = sock->link;
	}
	datp_unlock(&ia->lock);
	/* a child that was forked at a bad moment may have it open too */
	shutdown(sock->fd, SHUT_RDWR);
	close(sock->fd);
	soft_fork_release();
	if (sock->slot)
		soft_slot_unname(ia, sock->slot);
	while (sock->out) {
		struct soft_out *out = sock->out;

		sock->out = out->next;
		free(out);
	}
	sock->ended = true;
	if (!sock->holds)
		free(sock);
	if (peer)
		soft_peer_put(peer);
}

void soft_sockets_fini(struct soft_ia *ia)
{
	while (ia->sockets)
		soft_socket_end(ia->sockets);
}
