/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of a ring that a peer holds: it has reserved them and does not publish them. */
#ifndef SOFT_HELD_H
#define SOFT_HELD_H

#include "cq.h"

/*
 * Finds out whether the next cell of the ring is missing because its sender has reserved it and not
 * published it yet. If so, the tick comes back to it; a sender that does not publish within the
 * bound loses the cell, and its connections that end in this ring are broken. Returns true if there
 * is something to take now. Poll lock.
 */
bool soft_held_look(struct soft_cq *cq);

/*
 * The same, for a program that polls and finds nothing time and again. It returns nothing: the next
 * poll takes what there is. The caller holds no lock.
 */
void soft_held_seek(struct soft_evd *evd);

/*
 * The next cell is about to be taken: one that a peer holds is kept out of use for another lap.
 * Poll lock; soft_cq_next() comes next.
 */
void soft_held_pass(struct soft_cq *cq);

/* The queue is about to be freed. Returns false if its memory is left to the peers that hold cells of it. Poll lock. */
bool soft_held_fini(struct soft_cq *cq);

/* Looks again at the rings that wait for a sender. Returns true if some still wait. Service thread. */
bool soft_held_serve(struct soft_ia *ia);

#endif
