/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints as objects: their ports in shared memory, and the indexes of these. */
#ifndef SOFT_PORT_H
#define SOFT_PORT_H

#include "soft.h"

enum datp_err soft_ports_init(struct soft_ia *ia);
void soft_ports_fini(struct soft_ia *ia);

/* Returns the endpoint of a port with this index, or NULL. */
static inline struct soft_ep *soft_port_ep(struct soft_ia *ia, uint32_t index)
{
	if (index >= SOFT_PORT_MAX)
		return NULL;
	/* acquire: the endpoint was complete when its index was published */
	return atomic_load_explicit(&ia->ports[index], memory_order_acquire);
}

/* Prepares the port for a connection attempt, under a new generation. EP lock. */
void soft_port_begin(struct soft_ep *ep);

enum datp_err soft_ep_create(struct datp_ep *ep);
enum datp_err soft_ep_modify(struct datp_ep *ep, const struct datp_ep *next);
enum datp_err soft_ep_reset(struct datp_ep *ep);
void soft_ep_free(struct datp_ep *ep);
void soft_ep_marks(struct soft_ep *ep); /* watermarks; srq.c */

/*
 * Gives the endpoint other memory for its port, and leaves the old memory to the peer, which has
 * not let go of it. The connection has ended, and the endpoint is on no ready list. No lock.
 */
void soft_port_leave(struct soft_ep *ep);
/*
 * Leaves a piece of the arena to a peer until the peer has died, because it may write there when it
 * continues. Without memory to note that, nobody uses the piece again. soft_ia.lock
 */
void soft_mem_leave_locked(struct soft_peer *peer, const struct soft_mem *mem);
/* The peer is being deleted: frees what was left to it, if it has died. */
void soft_ports_reclaim(struct soft_peer *peer);

#endif
