/* SPDX-License-Identifier: BSD-2-Clause */
/* What the service thread puts off because another thread has a lock that it needs, and a peer holds up that thread. */
#ifndef SOFT_OWED_H
#define SOFT_OWED_H

#include "providers/common/base/turn.h"
#include "soft.h"

/*
 * Takes the EP lock. On the service thread this returns false, without the lock, if its holder makes a copy that the peer can hold
 * up (copying.h), and does not end it within a moment, or does anything else for much longer than it usually takes.
 */
bool soft_ep_try_slow(struct soft_ep *ep);
static inline bool soft_ep_try(struct soft_ep *ep)
{
	return datp_trylock(&ep->base.lock) || soft_ep_try_slow(ep);
}

/*
 * Releases the EP lock after requests of a peer may have been executed. If some are left, which may be so each time, a thread that
 * sleeps on the lock gets it before this one can take it again, to disconnect for instance.
 */
static inline void soft_ep_leave(struct soft_ep *ep)
{
	if (ep->rest[false] || ep->rest[true])
		datp_unlock_in_turn(&ep->base.lock);
	else
		datp_unlock(&ep->base.lock);
}

/*
 * As soft_ep_try(), for the poll lock of a queue: its holder may wait for the lock of an endpoint, or make such a copy. On the
 * service thread this returns false if the lock is not free within a moment. Then that thread wants the lock, and a poll that has
 * executed requests of peers is followed by no other one before it has had a chance to take it (polling.c).
 */
bool soft_cq_try(struct soft_cq *cq);

/* The service thread owes the endpoint the end of the connection `gen`, or of the present one if it is 0. */
void soft_owe_end(struct soft_ep *ep, const struct soft_owed_end *end);
/* It owes the endpoint a call, or a look at its SRQ. */
void soft_owe(struct soft_ep *ep, enum soft_owed what);
/* It owes a port, which says that it is on the ready list, to be served; or the ports of a queue (lost.c). */
void soft_owe_ready(struct soft_ep *ep, enum soft_side side);
void soft_owe_find(struct soft_cq *cq);
/* It owes the adapter a look at its queues, or at the endpoints that end gracefully. */
void soft_owe_serve(struct soft_ia *ia);
/* Tries again what is owed. Returns true if some of it is left. Tick. */
bool soft_owed_serve(struct soft_ia *ia);

#endif
