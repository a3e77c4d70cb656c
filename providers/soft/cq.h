/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of an EVD, from both sides: senders reserve and publish cells, the owner takes them. */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include "fence.h"
#include "soft.h"

#define SOFT_CQ_CELLS_MAX 4096u
#define SOFT_CQ_EMPTY_LOOKS 1024u /* a polling program makes this many looks in far less time than the bound (bound.h) */

/* Owner. */
/* Initialises a ring whose first message will have this position. */
void soft_ring_init(struct soft_ring *ring, uint32_t cells, uint64_t position);
enum datp_err soft_cq_init(struct soft_cq *cq, struct soft_ia *ia, struct datp_evd *evd,
			   uint32_t min_cells);
/* Makes this the queue's ring. Poll lock, or no other thread knows the queue. */
void soft_cq_use(struct soft_cq *cq, struct soft_ring *ring, uint32_t mask);
void soft_cq_fini(struct soft_cq *cq);
/*
 * Returns the next queue that this round of the service thread has not seen and for which wants()
 * returns true, or NULL. The queue is not freed before soft_cq_release(). Service thread.
 */
struct soft_cq *soft_cq_hold_next(struct soft_ia *ia, bool (*wants)(const struct soft_cq *cq));
void soft_cq_release(struct soft_cq *cq);
uint32_t soft_cq_take_ready_list(struct soft_cq *cq);	       /* returns the list and empties it; poll lock */
/* The owner calls this before it takes the cells: it clears what soft_ring_want_service() has set so far. Poll lock. */
void soft_cq_clear_service(struct soft_cq *cq);
bool soft_cq_arm(struct soft_cq *cq, uint32_t notify);	       /* poll lock */
void soft_cq_set_polled(struct soft_cq *cq);		       /* says in the ring that its owner only polls; poll lock */
/*
 * Publishes a cell of our own that keeps the place of an endpoint's messages before `msg`: their
 * receives complete when the owner has taken all cells before it. Returns false if the ring is
 * full. The caller calls soft_cq_notify() next. EP lock.
 */
bool soft_cq_announce(struct soft_cq *cq, uint32_t port, uint32_t gen, uint32_t msg);
/* Does what soft_ring_notify() does, for a cell that the owner's process has published itself. */
void soft_cq_notify(struct soft_cq *cq);
/* There is more in the queue, but the program may wait next: whoever waits and the service thread look at it. */
void soft_cq_look_again(struct soft_cq *cq);
/* Wakes all that sleep at the queue, whether they have asked for it or not. */
void soft_cq_wake_all(struct soft_cq *cq);
/* Notes that a peer is about to be told of the queue's ring. Returns false if there is no memory for that. soft_ia.lock */
bool soft_cq_tell_locked(const struct soft_cq *cq, struct soft_peer *peer);
/*
 * A peer has died: voids the cells that it reserved and did not publish in the rings that it was told of, in those in use and in
 * those given back to the arena, and wakes all that sleep at these queues. soft_ia.lock
 */
void soft_cqs_reclaim(struct soft_ia *ia, const struct soft_peer *peer);

/* Drops a cell for an endpoint that has been freed, or whose connection has ended. */
void soft_cell_drop(struct soft_ia *ia, const struct soft_cell *cell);

static inline _Atomic uint32_t *soft_cq_lock(struct soft_cq *cq)
{
	return cq->evd ? &cq->evd->poll_lock : &cq->lock;
}

/*
 * Returns the ring and its mask without a lock. The queue may be freed meanwhile, and its memory
 * used for a queue with a longer ring, so one word holds both. A ring begins at a page, and the
 * mask is smaller than a page.
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
	 * acquire: pairs with soft_cq_next(). What the cells before `head` held is on libdatp's
	 * list, where the caller looks next
	 */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_acquire);
	uint32_t mask;
	struct soft_ring *ring = soft_cq_look(cq, &mask);
	const struct soft_cell *cell = &ring->cell[head & mask];

	/* relaxed, both: a hint without the poll lock; soft_cq_peek acquires what it finds */
	return atomic_load_explicit(&cell->ready, memory_order_relaxed) == head + 1 ||
	       atomic_load_explicit(&ring->ready_list, memory_order_relaxed);
}

/*
 * The next cell is not published yet. The look has brought its first line into this cache; this
 * prefetches the second, which would otherwise be fetched only when the message has been seen.
 */
static inline void soft_cq_expect(struct soft_cq *cq)
{
	/* relaxed: a guess */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t mask;
	const struct soft_ring *ring = soft_cq_look(cq, &mask);

	__builtin_prefetch((const char *)&ring->cell[head & mask] + SOFT_LINE);
}

/*
 * Counts a look without a lock that found nothing. Returns true once in SOFT_CQ_EMPTY_LOOKS looks:
 * the caller then has soft_skip_seek() find out why.
 */
static inline bool soft_cq_count_empty_look(struct soft_cq *cq)
{
	/*
	 * relaxed, both: an increment that another thread overwrites does no harm, because the
	 * count only says how often to seek
	 */
	uint32_t empty_looks = atomic_load_explicit(&cq->empty_looks, memory_order_relaxed) + 1;

	atomic_store_explicit(&cq->empty_looks, empty_looks, memory_order_relaxed);
	return !(empty_looks & (SOFT_CQ_EMPTY_LOOKS - 1));
}

/* Returns the next cell, or NULL if it is not published yet. Poll lock. */
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

/* Moves on from the cell that soft_cq_peek() returned, which has been read. Poll lock. */
static inline void soft_cq_next(struct soft_cq *cq)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed) + 1;

	/* release: see soft_cq_pending */
	atomic_store_explicit(&cq->head, head, memory_order_release);
	/*
	 * `taken` is written eight times a lap only, so that the senders mostly have its line in
	 * their caches. release: our reads of the cells come before the next writes to them;
	 * soft_ring_reserve() acquires
	 */
	if (!(head & (cq->mask >> 3))) {
		atomic_store_explicit(&cq->ring->taken, head, memory_order_release);
		if (++cq->since_armed == cq->polled_after)
			soft_cq_set_polled(cq);
	}
}

/* A cell is prefetched this many cells before it is written: the transfer of a line takes as long as a few messages. */
#define SOFT_RING_AHEAD 4u

/*
 * Reserves the next cell. *end is the number of cells that have been read. Returns NULL if the ring
 * is full, or if a peer changes the ring's words all the time; the caller treats both alike and
 * uses the request queue or the ready list.
 */
static inline __attribute__((always_inline)) struct soft_cell *
soft_ring_reserve_behind(struct soft_ring *ring, uint32_t mask, const _Atomic uint64_t *end, uint32_t me,
			 uint64_t *position)
{
	for (unsigned int tries = SOFT_TRIES; tries; tries--) {
		/*
		 * The tail is a hint: the reservation below decides. All positions before the tail
		 * are reserved, and acquire makes those reservations visible. So an owner that finds what we publish
		 * behind a cell that is not published sees that the latter is reserved, and waits
		 * for it: soft_skip_look()
		 */
		uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		/*
		 * acquire: pairs with soft_cq_next(): the owner has read the cell that we may reserve,
		 * and the cell's reservation of the previous round through the ring is visible
		 */
		uint64_t taken = atomic_load_explicit(end, memory_order_acquire);
		_Atomic uint64_t *reservation = &soft_ring_reservations(ring, mask)[tail & mask];
		const struct soft_cell *next;
		uint64_t word;
		int64_t ahead;

		if ((int64_t)(tail - taken) > (int64_t)mask)
			return NULL;
		/* relaxed: whoever acquires a tail that we move sees no older reservation than we do */
		word = atomic_load_explicit(reservation, memory_order_relaxed);
		ahead = SOFT_RESERVED_AHEAD(word, tail);
		/*
		 * Another sender has reserved this position, and has died or is descheduled before
		 * it moves the tail; or a later store has set the tail back. This thread moves the
		 * tail.
		 */
		if (__builtin_expect(ahead >= 0, 0)) {
			/*
			 * The owner of the ring reserves the next lap's position of a cell that is
			 * out of use before that lap begins (skip.c). Each try moves the tail
			 * forward, whatever a peer has written there.
			 */
			if (ahead > (int64_t)mask && !SOFT_RESERVED_PEER(word))
				ahead -= (int64_t)mask + 1;
			atomic_compare_exchange_strong_explicit(
				&ring->tail, &tail, tail + (uint64_t)ahead + 1,
				memory_order_release, memory_order_relaxed);
			continue;
		}
		/* relaxed: what the reservation relies on was acquired above */
		if (!atomic_compare_exchange_strong_explicit(
			    reservation, &word, SOFT_RESERVED(tail, me), memory_order_relaxed,
			    memory_order_relaxed))
			continue;
		/*
		 * This is a store, not a compare-exchange: if other senders have moved the tail meanwhile,
		 * it sets the tail back, which costs one of them another try. release: publishes the reservation
		 */
		atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
		/* prefetch for write: a later message then finds the lines of its cell in this cache */
		next = &ring->cell[(tail + SOFT_RING_AHEAD) & mask];
		soft_own(next);
		soft_own((const char *)next + SOFT_LINE);
		*position = tail;
		return &ring->cell[tail & mask];
	}
	return NULL;
}

/* Reserves the next cell; `me` is the sender's ID in the ring. Returns NULL if the ring is full. Any process. */
static inline struct soft_cell *soft_ring_reserve(struct soft_ring *ring, uint32_t mask,
						  uint32_t me, uint64_t *position)
{
	return soft_ring_reserve_behind(ring, mask, &ring->taken, me, position);
}

static inline void soft_ring_publish(struct soft_cell *cell, uint64_t position)
{
	/* release: the cell's content is visible first; pairs with soft_cq_peek() */
	atomic_store_explicit(&cell->ready, position + 1, memory_order_release);
}

/* Publishes a reserved cell that keeps the place of an endpoint's messages before `msg`. */
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
 * Puts a port of the ring's owner on its ready list; this cannot fail. Returns false if the
 * port is on the list already and the owner has not looked yet. The port is open; the caller holds
 * the execution lock or, in the owner's process, the EP lock.
 */
bool soft_ring_mark_ready(struct soft_ring *ring, struct soft_port *port, uint32_t index,
			  enum soft_side side);
/*
 * Asks the owner's service thread to take the cell that was just published if nobody polls. It does
 * nothing if that thread has been asked already. Any process.
 */
void soft_ring_want_service(struct soft_ring *ring, struct soft_peer *owner);
/* Wakes the waiters and the service thread, if the owner has asked for that. */
void soft_ring_wake(struct soft_ring *ring, struct soft_peer *owner);

/* Called after publishing: wakes the owner if it has asked for that. */
static inline void soft_ring_notify(struct soft_ring *ring, struct soft_peer *owner)
{
	/*
	 * relaxed, with a fence for the compiler only: an owner that polls makes all senders pass a
	 * full fence before it asks to be woken again, see cq_not_polled(). A process that those
	 * fences do not reach passes its own below
	 */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&ring->notify, memory_order_relaxed) == SOFT_NOTIFY_POLLED &&
				     soft_fence_registered,
			     1))
		return;
	soft_fence(); /* see soft_cq_arm */
	if (__builtin_expect(atomic_load_explicit(&ring->notify, memory_order_relaxed) & SOFT_NOTIFY_ANY, 0))
		soft_ring_wake(ring, owner);
}

#endif
