/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of an EVD, from both ends: senders claim and publish cells, the owner takes them. */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include "fence.h"
#include "soft.h"

#define SOFT_CQ_CELLS_MAX 4096u
#define SOFT_CQ_VAIN	  1024u /* so many looks of a program that polls take far less time than the bound */

/* Owner. */
/* A fresh ring, whose first message will have this position. */
void soft_ring_init(struct soft_ring *ring, uint32_t cells, uint64_t position);
enum datp_err soft_cq_init(struct soft_cq *cq, struct soft_ia *ia, struct datp_evd *evd,
			   uint32_t min_cells);
/* From here on this is its ring. Poll lock, or nobody knows the queue. */
void soft_cq_use(struct soft_cq *cq, struct soft_ring *ring, uint32_t mask);
void soft_cq_fini(struct soft_cq *cq);
/*
 * The next queue that this round of the service thread has not seen, and for which `wants` is true, or NULL. It is not freed
 * before soft_cq_release(). Service thread.
 */
struct soft_cq *soft_cq_hold_next(struct soft_ia *ia, bool (*wants)(const struct soft_cq *cq));
void soft_cq_release(struct soft_cq *cq);
uint32_t soft_cq_attention(struct soft_cq *cq);		       /* takes the whole list; poll lock */
/* Before the owner takes the cells: what has been asked for so far is seen to (soft_ring_ask). Poll lock. */
void soft_cq_answer(struct soft_cq *cq);
bool soft_cq_arm(struct soft_cq *cq, uint32_t notify);	       /* poll lock */
void soft_cq_calm(struct soft_cq *cq);			       /* its owner only polls; poll lock */
/*
 * Tells the queue of receives of an endpoint of this process that are done: those of the messages before `msg`. They
 * complete when all that has come before is taken. False: the ring is full. soft_cq_notify() comes next. EP lock.
 */
bool soft_cq_tell(struct soft_cq *cq, uint32_t port, uint32_t gen, uint32_t msg);
/* As soft_ring_notify(), of the owner's own news. */
void soft_cq_notify(struct soft_cq *cq);
/* Wakes all that sleep at the queue, whether they have asked for it or not. */
void soft_cq_rouse(struct soft_cq *cq);
/*
 * A peer has died: frees what it left half claimed, in rings in use and at rest, and wakes all.
 * soft_ia.lock
 */
void soft_cqs_bury(struct soft_ia *ia, const struct soft_peer *peer);

static inline _Atomic uint32_t *soft_cq_lock(struct soft_cq *cq)
{
	return cq->evd ? &cq->evd->poll_lock : &cq->lock;
}

/*
 * The ring and its mask, for who has no lock. The queue may be freed at this moment, and its memory
 * be another one's, whose ring is longer: so both are told by one word. A ring begins at a page, and
 * the mask is less than that.
 */
static inline struct soft_ring *soft_cq_look(struct soft_cq *cq, uint32_t *mask)
{
	/* relaxed: the memory stays a ring, whatever becomes of the queue */
	uintptr_t both = __atomic_load_n(&cq->both, __ATOMIC_RELAXED);

	*mask = (uint32_t)both & (SOFT_CQ_CELLS_MAX - 1);
	return (struct soft_ring *)(both - *mask);
}

static inline bool soft_cq_pending(struct soft_cq *cq)
{
	/*
	 * acquire: the cells before it are taken, and what they held is on libdatp's list, for who
	 * looks there next
	 */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_acquire);
	uint32_t mask;
	struct soft_ring *ring = soft_cq_look(cq, &mask);
	const struct soft_cell *cell = &ring->cell[head & mask];

	/* relaxed, both: a hint without the poll lock; soft_cq_peek acquires what it finds */
	return atomic_load_explicit(&cell->ready, memory_order_relaxed) == head + 1 ||
	       atomic_load_explicit(&ring->attention, memory_order_relaxed);
}

/*
 * Nothing is there. Its first line comes here by being looked at, and the second is had brought as well:
 * else it would set out only when a message has been seen, and be waited for once more.
 */
static inline void soft_cq_expect(struct soft_cq *cq)
{
	/* relaxed: a guess */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t mask;
	const struct soft_ring *ring = soft_cq_look(cq, &mask);

	__builtin_prefetch((const char *)&ring->cell[head & mask] + SOFT_LINE);
}

/* A look without a lock has found nothing. Now and then this is true: soft_held_seek() is to find out why. */
static inline bool soft_cq_in_vain(struct soft_cq *cq)
{
	/* relaxed, both, and a count that another thread takes back does no harm: it only says how often */
	uint32_t vain = atomic_load_explicit(&cq->vain, memory_order_relaxed) + 1;

	atomic_store_explicit(&cq->vain, vain, memory_order_relaxed);
	return !(vain & (SOFT_CQ_VAIN - 1));
}

/* The next cell, or NULL: it is not there yet. Poll lock. */
static inline struct soft_cell *soft_cq_peek(struct soft_cq *cq)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	struct soft_cell *cell = &cq->ring->cell[head & cq->mask];

	/*
	 * acquire: pairs with the release in soft_ring_publish, so that the cell's content is seen
	 */
	if (atomic_load_explicit(&cell->ready, memory_order_acquire) != head + 1)
		return NULL;
	return cell;
}

/* The cell that soft_cq_peek returned has been read. Poll lock. */
static inline void soft_cq_next(struct soft_cq *cq)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed) + 1;

	/* release: see soft_cq_pending */
	atomic_store_explicit(&cq->head, head, memory_order_release);
	/*
	 * Eight times a lap, so that the senders mostly find the line where they left it. release:
	 * what we read of the cells comes before the next writes to them; soft_ring_claim acquires
	 */
	if (!(head & (cq->mask >> 3))) {
		atomic_store_explicit(&cq->ring->taken, head, memory_order_release);
		if (++cq->calm == cq->enough)
			soft_cq_calm(cq);
	}
}

/* So many cells before it is written a cell is fetched: a transfer takes as long as a few messages. */
#define SOFT_RING_AHEAD 4u

/*
 * `end` says how many cells have been read. NULL: the ring is full, or a peer changes its words all the time, which makes
 * no difference: who finds no cell goes by the attention list.
 */
static inline __attribute__((always_inline)) struct soft_cell *
soft_ring_claim_behind(struct soft_ring *ring, uint32_t mask, const _Atomic uint64_t *end, uint32_t me,
		       uint64_t *position)
{
	for (unsigned int tries = SOFT_TRIES; tries; tries--) {
		/*
		 * The tail is a hint; the claim below is what decides. All positions before it are claimed. acquire: those
		 * claims. So an owner that hears of what we publish, and finds it behind a cell that is not there, sees that
		 * this one is claimed, and waits for it: soft_held_look()
		 */
		uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		/*
		 * acquire: pairs with soft_cq_next. The cell that it lets us have has been read, and
		 * the claim of a lap ago is seen
		 */
		uint64_t taken = atomic_load_explicit(end, memory_order_acquire);
		_Atomic uint64_t *claim = &soft_ring_claims(ring, mask)[tail & mask];
		const struct soft_cell *next;
		uint64_t word;
		int64_t ahead;

		if ((int64_t)(tail - taken) > (int64_t)mask)
			return NULL;
		/* relaxed: whoever acquires a tail that we move sees no older claim than we do */
		word = atomic_load_explicit(claim, memory_order_relaxed);
		ahead = SOFT_CLAIM_AHEAD(word, tail);
		/*
		 * taken by another, who may have died or been put to sleep before it moved the
		 * tail, or has set it back: help
		 */
		if (__builtin_expect(ahead >= 0, 0)) {
			/*
			 * Of a cell that is out of use the owner claims the position of the next lap before there is one
			 * (held.c). Each step goes forward, whatever a peer has written there.
			 */
			if (ahead > (int64_t)mask && !SOFT_CLAIM_PEER(word))
				ahead -= (int64_t)mask + 1;
			atomic_compare_exchange_strong_explicit(
				&ring->tail, &tail, tail + (uint64_t)ahead + 1,
				memory_order_release, memory_order_relaxed);
			continue;
		}
		/* relaxed: what it is about was acquired above */
		if (!atomic_compare_exchange_strong_explicit(claim, &word, SOFT_CLAIM(tail, me),
							     memory_order_relaxed,
							     memory_order_relaxed))
			continue;
		/* a plain store: if others have gone on meanwhile, it costs one of them a step. release: the claim */
		atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
		/* a message to come finds its lines here, or on the way */
		next = &ring->cell[(tail + SOFT_RING_AHEAD) & mask];
		soft_own(next);
		soft_own((const char *)next + SOFT_LINE);
		*position = tail;
		return &ring->cell[tail & mask];
	}
	return NULL;
}

/* Any process. `me` is the claimer's name in the ring. NULL: the ring is full. */
static inline struct soft_cell *soft_ring_claim(struct soft_ring *ring, uint32_t mask, uint32_t me,
						uint64_t *position)
{
	return soft_ring_claim_behind(ring, mask, &ring->taken, me, position);
}

static inline void soft_ring_publish(struct soft_cell *cell, uint64_t position)
{
	/* release: the cell's content first; pairs with soft_cq_peek */
	atomic_store_explicit(&cell->ready, position + 1, memory_order_release);
}

/* A claimed cell that tells an endpoint of receives that are done: those of the messages before `msg`. */
static inline void soft_ring_publish_done(struct soft_cell *cell, uint64_t position, uint32_t port, uint32_t gen,
					  uint32_t msg)
{
	cell->port = port;
	cell->gen = gen;
	cell->msg = msg;
	cell->kind = SOFT_CELL_DONE;
	cell->flags = 0;
	soft_ring_publish(cell, position);
}

/*
 * Puts a port of the ring's owner on its attention list: cannot fail. Engine held, port open.
 * False: it was there, and the owner has not looked yet.
 */
bool soft_ring_attend(struct soft_ring *ring, struct soft_port *port, uint32_t index,
		      enum soft_side side);
/*
 * Any process, behind the publication of a cell that the owner's service thread takes if nobody polls: has that thread
 * look, unless it has been asked to already.
 */
void soft_ring_ask(struct soft_ring *ring, struct soft_peer *owner);
/* Wakes those who asked for it. */
void soft_ring_wake(struct soft_ring *ring, struct soft_peer *owner);

/* After publishing: wakes whoever asked for it. */
static inline void soft_ring_notify(struct soft_ring *ring, struct soft_peer *owner)
{
	/*
	 * Relaxed, and only the compiler is told to do this after what was published: see soft_cq_arm. Who does not
	 * hear fences takes its own
	 */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&ring->notify, memory_order_relaxed) == SOFT_NOTIFY_POLLED &&
				     soft_fence_heard,
			     1))
		return;
	soft_fence(); /* see soft_cq_arm */
	if (__builtin_expect(atomic_load_explicit(&ring->notify, memory_order_relaxed) & SOFT_NOTIFY_ANY, 0))
		soft_ring_wake(ring, owner);
}

#endif
