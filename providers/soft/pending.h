/* SPDX-License-Identifier: BSD-2-Clause */
/* Incoming connections that are not established yet. */
#ifndef SOFT_PENDING_H
#define SOFT_PENDING_H

#include "sock.h"

void soft_pending_fini(struct soft_ia *ia);

/* A connection has come in and has sent nothing yet. It may end an older one. Service thread, no lock. */
void soft_pending_arrived(struct soft_socket *sock);
/* The connection now waits for the next step of its handshake, and has a new time limit for it. ia.lock. */
void soft_pending_renew(struct soft_socket *sock);
/* The connection has sent its request, or ends: it is not silent any more. ia.lock. */
void soft_pending_spoke(struct soft_socket *sock);
/*
 * Returns true if the peer's process may have one more connection request that is not answered, or whose RTU has not come;
 * false if it uses half of the descriptors that this process may have, and few are left. ia.lock.
 */
bool soft_pending_may_ask(const struct soft_socket *sock);

#endif
