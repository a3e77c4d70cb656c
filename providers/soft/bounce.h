/* SPDX-License-Identifier: BSD-2-Clause */
/* The bounce path: a peer's thread moves the bytes where the kernel does not let us copy between processes. */
#ifndef SOFT_BOUNCE_H
#define SOFT_BOUNCE_H

#include "xfer.h"

/*
 * Asks the peer's bounce thread to move the first len bytes of the request that `right` names,
 * through our mailbox, and blocks until it has, or until the peer is dead or over the bound.
 * Returns as soft_xfer(). The bounce thread finds out from the request what is to be written, and
 * in which order.
 */
int soft_bounce_ask(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
		    const struct soft_right *right, uint64_t len);

/*
 * Serves the mailbox of a peer from now on, unless the peer is dead; starts the bounce thread with
 * the first peer. Service thread.
 */
enum datp_err soft_bounce_serve(struct soft_ia *ia, struct soft_peer *peer,
				const struct soft_ref *mailbox);
/*
 * Stops serving the peer. When this returns, the bounce thread touches neither the mailbox nor any
 * memory for that peer. Any thread.
 */
void soft_bounce_leave(struct soft_ia *ia, struct soft_peer *peer);
/*
 * Waits until no copy of the bounce thread that began before this call is still going on. Such a
 * copy moves at most one mailbox of bytes and waits for nobody. The caller holds no lock.
 */
void soft_bounce_quiesce(struct soft_ia *ia);
void soft_bounce_stop(struct soft_ia *ia);

#endif
