/* SPDX-License-Identifier: BSD-2-Clause */
/* Incoming connections that are not established yet. */
#ifndef SOFT_PENDING_H
#define SOFT_PENDING_H

#include "sock.h"

void soft_pending_fini(struct soft_ia *ia);

/*
 * A connection has come in and has sent nothing yet. It may end older ones. Returns false if it has been ended itself, for lack
 * of descriptors. `all`: it has the last one of all, which was kept for that. Service thread, no lock.
 */
bool soft_pending_arrived(struct soft_socket *sock, bool all);
/* The connection now waits for the next step of its handshake, and has a new time limit for it. ia.lock. */
void soft_pending_renew(struct soft_socket *sock);
/*
 * Nothing has been received over the connection, which counts as silent from now on. This ends one that is silent if there are too
 * many of them, maybe this one. Service thread, no lock.
 */
void soft_pending_silent(struct soft_socket *sock);
/* The connection has sent its request, or waits until that may be read, or ends: it is not silent any more. ia.lock. */
void soft_pending_spoke(struct soft_socket *sock);
/* The connection is established, or ends: it does not count among those of its process any more. ia.lock. */
void soft_pending_established(struct soft_socket *sock);

#endif
