/* SPDX-License-Identifier: BSD-2-Clause */
/* The bounce path: a peer's thread moves the bytes where the kernel does not let us. */
#ifndef SOFT_MOVER_H
#define SOFT_MOVER_H

#include "xfer.h"

/*
 * Asks the peer's mover to move the first len bytes of the request that `right` names, through our mailbox; blocks until
 * it has. As soft_xfer(); what is to be written, and in which order, the mover knows from the request.
 */
int soft_mover_ask(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
		   const struct soft_right *right, uint64_t len);

/*
 * Serves the mailbox of a peer from now on, if it is not dead; starts the thread with the first
 * one. Service thread.
 */
enum datp_err soft_mover_serve(struct soft_ia *ia, struct soft_peer *peer,
			       const struct soft_ref *mailbox);
/*
 * No longer; when it returns the mailbox is not touched any more, nor any memory for its sake. Any
 * thread.
 */
void soft_mover_leave(struct soft_ia *ia, struct soft_peer *peer);
/*
 * Waits until no copy of the mover that began before this call is still going on. Such a copy moves at
 * most one mailbox of bytes and waits for nobody. No lock held.
 */
void soft_mover_quiesce(struct soft_ia *ia);
void soft_mover_stop(struct soft_ia *ia);

#endif
