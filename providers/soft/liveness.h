/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets that stay open between two IAs. */
#ifndef SOFT_LIVENESS_H
#define SOFT_LIVENESS_H

#include "sock.h"

/*
 * Makes the socket a liveness socket of the two IAs, if it is their first, or if the peer has `named` it. Returns true if it
 * is one now. No lock.
 */
bool soft_liveness_begin(struct soft_socket *sock, bool named);
/* Ends liveness sockets of the peer that are not needed, which is no sign of its death. Service thread, no lock. */
void soft_liveness_trim(struct soft_ia *ia, const struct soft_peer *peer);
/* Returns true if the hang-up of this socket, which ends now, says that its peer has died. Service thread, no lock. */
bool soft_liveness_tells(struct soft_socket *sock);

#endif
