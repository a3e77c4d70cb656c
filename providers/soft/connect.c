/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connecting to a listener: from an address and a connection qualifier to a connected socket.
 * If the backlog of the listener is full, its process has not accepted connections for a while, and
 * the kernel does not report when there is room. So the connect is repeated by a timer, until it
 * succeeds or the attempt is given up, mostly because its time is over.
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

struct soft_retry {
	struct soft_listener listener;
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

int soft_listener_connect(const struct soft_ia *ia, const struct datp_conn_param *param,
			  const char *key, struct soft_listener *listener, pid_t *pid,
			  DAT_EVENT_NUMBER *why)
{
	const char *keys[2] = { key, SOFT_KEY_ANY };
	bool found = false;

	*why = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	*pid = -1;
	/* a listener of another user does not hide that of this user at the next key */
	for (int i = 0; i < 2; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0) {
			datp_log(1, "soft: no socket to connect with: %s; raise the limit (ulimit -n)", strerror(errno));
			*why = 0;
			return -1;
		}
		listener->len =
			soft_listener_name(&listener->name, ia->realm, keys[i], param->qual);
		if (connect(fd, (struct sockaddr *)&listener->name, listener->len) < 0) {
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

/*
 * Returns 0 if connected, EAGAIN if it has to be tried again, else a permanent error. ia.lock, so
 * the attempt is not given up meanwhile.
 */
static int retry_locked(struct soft_socket *sock)
{
	struct soft_retry *retry = sock->retry;

	if (!sock->ep)
		return ECANCELED;
	if (connect(sock->fd, (struct sockaddr *)&retry->listener.name, retry->listener.len) < 0)
		return errno;
	if (!soft_same_user(sock->fd, &sock->pid) || !soft_socket_send(sock, &retry->msg))
		return ECONNREFUSED;
	return 0;
}

static void retry_set(struct soft_socket *sock);

static void retry(void *arg)
{
	struct soft_socket *sock = arg;
	struct soft_ia *ia = sock->ia;
	int error;

	datp_lock(&ia->lock);
	error = retry_locked(sock);
	datp_unlock(&ia->lock);
	if (error == EAGAIN) {
		retry_set(sock);
		return;
	}
	soft_retry_end(sock);
	if (error || soft_socket_watch(sock))
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
	*made = (struct soft_retry){ .listener = *listener, .msg = *msg };
	sock->retry = made;
	retry_set(sock);
	return DATP_OK;
}
