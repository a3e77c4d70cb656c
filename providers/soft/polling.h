/* SPDX-License-Identifier: BSD-2-Clause */
/* Polling of a queue: takes the cells of its ring, and serves the ports on its ready list. */
#ifndef SOFT_POLLING_H
#define SOFT_POLLING_H

#include "soft.h"

/* Counts what has been done for the peer of this endpoint as done by the poll that is under way. Poll lock, EP lock. */
static inline void soft_cq_count(struct soft_cq *cq, struct soft_ep *ep)
{
	cq->moved += ep->moved;
	ep->moved = 0;
}

/* Op. */
int soft_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n);
/* Lets the service thread have the poll lock, if it has tried that in vain; waits for it for a few milliseconds. No lock. */
void soft_cq_give_turn(struct soft_cq *cq);

/*
 * Serves the ports that say they are on the ready list of a queue, said so at the last look
 * (lost.c), and are not on it. Service thread; takes the queue's poll lock.
 */
void soft_ready_find(struct soft_cq *cq);
/*
 * Polls a queue of ours into libdatp's lists; takes the queue's poll lock. On the service thread it returns false, with some of it
 * left, if the poll lock is not free (soft_cq_try()), or if the next cell waits because the lock of its endpoint is not, or for the
 * progress thread.
 */
bool soft_cq_drain(struct soft_cq *cq);
/* Frees what the ring still holds, because nobody polls it any more. */
void soft_cq_discard(struct soft_cq *cq);

#endif
