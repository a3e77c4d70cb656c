/* SPDX-License-Identifier: BSD-2-Clause */
/* Incoming connections that are not established yet. */
#ifndef SOFT_PENDING_H
#define SOFT_PENDING_H

#include "sock.h"

enum datp_err soft_pending_init(struct soft_ia *ia);
void soft_pending_fini(struct soft_ia *ia);

/* A connection has come in, and has said nothing yet. Service thread, no lock. It may end an older one. */
void soft_pending_arrived(struct soft_socket *sock);
/* What this one waits for now it has a new term for. ia.lock. */
void soft_pending_renew(struct soft_socket *sock);
/* It has said what it wants, or ends: it is not silent any more. ia.lock. */
void soft_pending_spoke(struct soft_socket *sock);
/*
 * Whether the process at the other end may have one more request unanswered or unconfirmed: false if it has half of the
 * descriptors that this one may have, and few are left. ia.lock.
 */
bool soft_pending_may_ask(const struct soft_socket *sock);

#endif
