/* SPDX-License-Identifier: BSD-2-Clause */
/* Skipped cells of a ring: a sender has reserved them and does not publish them. */
#ifndef SOFT_SKIP_H
#define SOFT_SKIP_H

#include "cq.h"

/*
 * Finds out whether the next cell of the ring is missing because its sender has reserved it and not
 * published it yet. If so, the tick comes back to it; a sender that does not publish within the
 * bound loses the cell, and its connections that end in this ring are broken. Returns true if there
 * is something to take now. Poll lock.
 */
bool soft_skip_look(struct soft_cq *cq);

/*
 * The same, for a program that polls and finds nothing time and again. It returns nothing: the next
 * poll takes what there is. The caller holds no lock.
 */
void soft_skip_seek(struct soft_evd *evd);

/*
 * The next cell is about to be taken: a skipped one stays out of use for another lap.
 * Poll lock; soft_cq_next() comes next.
 */
void soft_skip_pass(struct soft_cq *cq);

/* The queue is about to be freed. Returns false if peers with skipped cells keep its memory. Poll lock. */
bool soft_skip_fini(struct soft_cq *cq);

/*
 * Returns true if the next cell is reserved and not published, or if the ring's words are not what senders and owner make them.
 * Looks without a lock, so the answer may be wrong when it comes.
 */
bool soft_skip_suspects(struct soft_cq *cq);
/* soft_skip_look() where nobody polls, which tells whoever waits; it does nothing if a peer holds up a thread that polls. */
void soft_skip_try(struct soft_cq *cq);

/* Looks again at the rings that wait for a sender. Returns true if some still wait. Service thread. */
bool soft_skip_serve(struct soft_ia *ia);

#endif
