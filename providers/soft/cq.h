/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of an EVD, from both ends: senders claim and publish cells, the owner takes them. */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include "soft.h"

/* Owner. */
/* A fresh ring, whose first message will have this position. */
void soft_ring_init(struct soft_ring *ring, uint32_t cells, uint64_t position);
enum datp_err soft_cq_init(struct soft_cq *cq, struct soft_ia *ia, struct datp_evd *evd,
			   uint32_t min_cells);
void soft_cq_fini(struct soft_cq *cq);
struct soft_cell *soft_cq_peek(struct soft_cq *cq);	       /* poll lock */
void soft_cq_next(struct soft_cq *cq);			       /* poll lock */
uint32_t soft_cq_attention(struct soft_cq *cq);		       /* takes the whole list; poll lock */
bool soft_cq_arm(struct soft_cq *cq, uint32_t notify);	       /* poll lock */
/*
 * A peer has died: frees what it left half claimed, in rings in use and at rest, and wakes all.
 * soft_ia.lock
 */
void soft_cqs_bury(struct soft_ia *ia, const struct soft_peer *peer);

static inline _Atomic uint32_t *soft_cq_lock(struct soft_cq *cq)
{
	return cq->evd ? &cq->evd->poll_lock : &cq->lock;
}

static inline bool soft_cq_pending(struct soft_cq *cq)
{
	/* relaxed, all: a hint without the poll lock; soft_cq_peek acquires what it finds */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	const struct soft_cell *cell = &cq->ring->cell[head & cq->ring->mask];

	return atomic_load_explicit(&cell->ready, memory_order_relaxed) == head + 1 ||
	       atomic_load_explicit(&cq->ring->attention, memory_order_relaxed);
}

/* Any process. `me` is the claimer's name in the ring. NULL: the ring is full. */
struct soft_cell *soft_ring_claim(struct soft_ring *ring, uint32_t me, uint64_t *position);
void soft_ring_publish(struct soft_cell *cell, uint64_t position);
/*
 * Puts a port of the ring's owner on its attention list: cannot fail. Engine held, port open.
 * False: it was there, and the owner has not looked yet.
 */
bool soft_ring_attend(struct soft_ring *ring, struct soft_port *port, uint32_t index,
		      enum soft_side side);
/* Has an IA's service thread go round. `doorbell` is its eventfd; false, and errno: it is none. */
bool soft_doorbell_ring(int doorbell);
/* After publishing: wakes whoever asked for it. `doorbell` is the owner's eventfd. */
void soft_ring_notify(struct soft_ring *ring, int doorbell);

#endif
