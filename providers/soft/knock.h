/* SPDX-License-Identifier: BSD-2-Clause */
/* Reaching a listener. */
#ifndef SOFT_KNOCK_H
#define SOFT_KNOCK_H

#include "sock.h"
#include <sys/socket.h>

/* The name of a listener. */
struct soft_door {
	struct sockaddr_storage name;
	socklen_t len;
};

/* The key of an address's own listeners, and that of those at any address of this host. */
#define SOFT_KEY_ANY "*"
enum datp_err soft_address_key(const struct sockaddr *sa, char *key, size_t size);

/*
 * A socket connected to the listener of (address, qual), or, with a *pid of -1, one that found the
 * queue of *door full. -1: *why says what the endpoint is to hear, 0: nothing, as it is we who have
 * no socket.
 */
int soft_knock(const struct soft_ia *ia, const struct datp_conn_param *param, const char *key,
	       struct soft_door *door, pid_t *pid, DAT_EVENT_NUMBER *why);

/*
 * The socket of an endpoint that found the queue full is connected when there is room, says this,
 * and is watched from then on; all on the service thread, which may end it as soon as this is said.
 */
enum datp_err soft_knock_again(struct soft_socket *sock, const struct soft_door *door,
			       const struct soft_msg *msg);
void soft_knock_end(struct soft_socket *sock); /* it ends, or is there */

#endif
