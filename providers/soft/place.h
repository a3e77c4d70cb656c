/* SPDX-License-Identifier: BSD-2-Clause */
/* The place in the order of completions of a message that the peer is still executing. */
#ifndef SOFT_PLACE_H
#define SOFT_PLACE_H

#include "soft.h"

/*
 * Returns true if the messages of this endpoint before `msg` are not all done, and the next one is being executed by the
 * peer: then the cell that keeps their place must wait. EP lock, open; the endpoint has receives of its own.
 */
bool soft_place_waits(const struct soft_ep *ep, uint32_t msg);

/* Hides the next cell of the ring, whose message waits: nothing behind it is taken. Poll lock. */
void soft_place_hide(struct soft_cq *cq);

/* Notes whether the next cell is hidden, or will be, because the EP lock cannot be had. Poll lock. */
static inline void soft_place_held(struct soft_cq *cq, bool held)
{
	/* relaxed: read without the lock as a hint */
	__atomic_store_n(&cq->place_held, held, __ATOMIC_RELAXED);
}

/*
 * The progress thread (progress.c) has to execute the message of the cell at the head. Returns true if that cell is to be hidden
 * for it, which happens once: then its message may find no receive, and does not hold up the others. Poll lock, EP lock.
 */
bool soft_place_put_off(struct soft_cq *cq);

/* Shows a hidden cell again if its message can be completed now, or never will be. Returns true if it did. Poll lock. */
bool soft_place_look(struct soft_cq *cq);

/* Shows a hidden cell, whether its message is done or not; no other message of its connection is waited for. Poll lock. */
void soft_place_pass(struct soft_cq *cq);

#endif
