/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting to a listener. */
#ifndef SOFT_CONNECT_H
#define SOFT_CONNECT_H

#include "sock.h"
#include <sys/socket.h>

/* The names of a listener: that at its address, and that at any address of this host. */
#define SOFT_LISTENER_NAMES 2u
struct soft_listener {
	struct sockaddr_storage name[SOFT_LISTENER_NAMES];
	socklen_t len[SOFT_LISTENER_NAMES];
	unsigned int first, end; /* those from the first one up to the end are tried again */
};

/* Writes the key of listeners at this address; SOFT_KEY_ANY is that of listeners at any address of this host. */
#define SOFT_KEY_ANY "*"
enum datp_err soft_address_key(const struct sockaddr *sa, char *key, size_t size);

/*
 * Returns a socket connected to the listener of (address, qual), or, with *pid -1, one that found
 * the backlog of the first name of *listener full. Returns -1 on failure: *why is the event for the endpoint, or 0 if
 * this process has no socket left.
 */
int soft_listener_connect(const struct soft_ia *ia, const struct datp_conn_param *param,
			  const char *key, struct soft_listener *listener, pid_t *pid,
			  DAT_EVENT_NUMBER *why);

/*
 * Connects the socket of an endpoint that found the backlog full, when there is room, or, if that
 * lasts, to the next name. Then sends this message and watches the socket. All that happens on the
 * service thread, which may end the socket as soon as the message is sent.
 */
enum datp_err soft_connect_retry(struct soft_socket *sock, const struct soft_listener *listener,
				 const struct soft_msg *msg);
void soft_retry_end(struct soft_socket *sock); /* stops this, because the socket ends or is connected */

#endif
