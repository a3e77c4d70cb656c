/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connecting to a listener: from an address and a connection qualifier to a connected socket.
 * If the backlog of the listener is full, its process has not accepted connections for a while, and
 * the kernel does not report when there is room. So the connect is repeated by a timer, until it
 * succeeds or the attempt is given up, mostly because its time is over.
 *
 * Invariant: a listener of another user hides none of this user. It is passed over as soon as it lets this side in, which tells
 * whose it is. It may also keep its backlog full for ever, so a full one is not the only one that is tried for longer than FULL_US.
 */
#define _GNU_SOURCE
#include "connect.h"
#include "foreign.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_US 10000u /* the interval */
#define FULL_US	 100000u

struct soft_retry {
	struct soft_listener listener;
	uint64_t wide; /* the time from which on a full backlog does not keep the next name from being tried */
	struct soft_msg msg; /* the message to send when connected */
	struct datp_timer timer;
};

/* Returns true if the address is one of this host: then the kernel allows binding to it. */
static bool address_is_local(const struct sockaddr *sa)
{
	struct sockaddr_storage copy = { 0 };
	socklen_t len =
		sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int fd = socket(sa->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool local = false;

	if (fd < 0)
		return true; /* unknown: the listener decides */
	memcpy(&copy, sa, len);
	if (sa->sa_family == AF_INET)
		((struct sockaddr_in *)&copy)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&copy)->sin6_port = 0;
	local = bind(fd, (struct sockaddr *)&copy, len) == 0 || errno != EADDRNOTAVAIL;
	close(fd);
	return local;
}

enum datp_err soft_address_key(const struct sockaddr *sa, char *key, size_t size)
{
	const void *raw;

	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

		if (in->sin_addr.s_addr == INADDR_ANY || in->sin_addr.s_addr == INADDR_BROADCAST ||
		    IN_MULTICAST(ntohl(in->sin_addr.s_addr)))
			return DATP_ERR_ADDRESS_MALFORMED;
		raw = &in->sin_addr;
	} else if (sa->sa_family == AF_INET6) {
		raw = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	} else {
		return DATP_ERR_ADDRESS_UNSUPPORTED;
	}
	inet_ntop(sa->sa_family, raw, key, (socklen_t)size);
	return DATP_OK;
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		datp_log(1, "soft: no socket to connect with: %s; raise the limit (ulimit -n)", strerror(errno));
	return fd;
}

int soft_listener_connect(const struct soft_ia *ia, const struct datp_conn_param *param,
			  const char *key, struct soft_listener *listener, pid_t *pid,
			  DAT_EVENT_NUMBER *why)
{
	const char *keys[SOFT_LISTENER_NAMES] = { key, SOFT_KEY_ANY };
	bool found = false;

	*why = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	*pid = -1;
	listener->end = SOFT_LISTENER_NAMES;
	for (unsigned int i = 0; i < SOFT_LISTENER_NAMES; i++)
		listener->len[i] = soft_listener_name(&listener->name[i], ia->realm, keys[i], param->qual);
	/* a listener of another user does not hide that of this user at the next key */
	for (unsigned int i = 0; i < SOFT_LISTENER_NAMES; i++) {
		int fd = new_socket();

		if (fd < 0) {
			*why = 0;
			return -1;
		}
		listener->first = i;
		if (connect(fd, (struct sockaddr *)&listener->name[i], listener->len[i]) < 0) {
			if (errno == EAGAIN)
				return fd;
			close(fd);
			continue;
		}
		if (soft_same_user(fd, pid))
			return fd;
		*pid = -1;
		found = true;
		soft_foreign_hangup(fd);
	}
	if (!found && !address_is_local(param->address))
		*why = DAT_CONNECTION_EVENT_UNREACHABLE;
	return -1;
}

void soft_retry_end(struct soft_socket *sock)
{
	struct soft_retry *retry = sock->retry;

	if (!retry)
		return;
	sock->retry = NULL;
	datp_timer_cancel(&sock->ia->base, &retry->timer);
	free(retry);
}

/* What comes of trying a name. */
enum tried {
	TRIED_SENT,	/* connected, and the message is sent */
	TRIED_FULL,	/* the backlog */
	TRIED_NOBODY,	/* nobody of this user listens there */
	TRIED_STRANGER, /* nor there, and another user has used the socket up */
	TRIED_OVER,	/* the attempt was given up, or has failed */
};

static enum tried try_name(struct soft_socket *sock, unsigned int i)
{
	const struct soft_listener *listener = &sock->retry->listener;
	enum tried tried = TRIED_SENT;

	datp_lock(&sock->ia->lock); /* so that the attempt is not given up meanwhile */
	if (!sock->ep)
		tried = TRIED_OVER;
	else if (connect(sock->fd, (const struct sockaddr *)&listener->name[i], listener->len[i]) < 0)
		tried = errno == EAGAIN ? TRIED_FULL : TRIED_NOBODY;
	else if (!soft_same_user(sock->fd, &sock->pid))
		tried = TRIED_STRANGER;
	else if (!soft_socket_send(sock, &sock->retry->msg))
		tried = TRIED_OVER;
	if (tried == TRIED_STRANGER)
		sock->pid = -1;
	datp_unlock(&sock->ia->lock);
	return tried;
}

/* Gives the socket, which is not watched yet, another descriptor, because this one is connected. Returns false if there is none. */
static bool begin_anew(struct soft_socket *sock)
{
	struct datp_fork_own own;
	int fd;

	datp_fork_hold(&own);
	fd = new_socket();
	if (fd >= 0)
		soft_foreign_hangup(soft_socket_exchange(sock, fd));
	datp_fork_release(&own);
	return fd >= 0;
}

/* Tries the names of the listener, of which this takes off those of other users. */
static enum tried try_names(struct soft_socket *sock)
{
	struct soft_listener *listener = &sock->retry->listener;
	const bool wide = datp_clock_us() >= sock->retry->wide;
	enum tried all = TRIED_NOBODY;

	for (unsigned int i = listener->first; i < listener->end; i++) {
		enum tried tried = try_name(sock, i);

		if (tried == TRIED_SENT || tried == TRIED_OVER)
			return tried;
		if (tried == TRIED_FULL)
			all = TRIED_FULL;
		if (tried == TRIED_FULL && !wide)
			break;
		if (tried != TRIED_STRANGER)
			continue;
		if (!begin_anew(sock))
			return TRIED_OVER;
		if (i == listener->first)
			listener->first++;
		else
			listener->end = i;
	}
	return all;
}

static void retry_set(struct soft_socket *sock);

static void retry(void *arg)
{
	struct soft_socket *sock = arg;
	enum tried tried = try_names(sock);

	if (tried == TRIED_FULL) {
		retry_set(sock);
		return;
	}
	soft_retry_end(sock);
	if (tried != TRIED_SENT || soft_socket_watch(sock))
		soft_conn_hangup(sock);
}

static void retry_set(struct soft_socket *sock)
{
	datp_timer_set(&sock->ia->base, &sock->retry->timer, datp_clock_us() + RETRY_US, retry, sock);
}

enum datp_err soft_connect_retry(struct soft_socket *sock, const struct soft_listener *listener,
				 const struct soft_msg *msg)
{
	struct soft_retry *made = malloc(sizeof *made);

	if (!made)
		return DATP_ERR_MEMORY;
	*made = (struct soft_retry){ .listener = *listener, .wide = datp_clock_us() + FULL_US, .msg = *msg };
	sock->retry = made;
	retry_set(sock);
	return DATP_OK;
}
