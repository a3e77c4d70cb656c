/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of an EVD: how messages and news reach it from every process. Bounded, many senders, one
 * consumer, no lock; a sender that dies at any instruction leaves at most one cell claimed in its
 * name. What finds no cell goes on the attention list, which is made of the ports themselves and so
 * is never full.
 */
#define _GNU_SOURCE
#include "cq.h"
#include "arena.h"
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CQ_CELLS_MIN 128u
#define CQ_CELLS_MAX 4096u

/* A fresh ring. Relaxed: no peer knows of it before a message says where it is. */
static void ring_init(struct soft_ring *ring, uint32_t cells)
{
	ring->mask = cells - 1;
	for (uint32_t i = 0; i < cells; i++)
		atomic_store_explicit(&ring->cell[i].state, SOFT_STATE(i, 0, SOFT_FREE),
				      memory_order_relaxed);
}

enum datp_err soft_cq_init(struct soft_cq *cq, struct soft_ia *ia, struct datp_evd *evd,
			   uint32_t min_cells)
{
	uint32_t cells = CQ_CELLS_MIN;
	enum datp_err err;

	while (cells < min_cells && cells < CQ_CELLS_MAX)
		cells <<= 1;
	cq->ia = ia;
	cq->evd = evd;
	/* a ring is always on one of the two lists, the arena's or ours: see soft_cqs_bury */
	datp_lock(&ia->lock);
	err = soft_arena_alloc(ia, SOFT_KIND_RING,
			       sizeof(struct soft_ring) + cells * sizeof(struct soft_cell),
			       &cq->mem);
	if (err) {
		datp_unlock(&ia->lock);
		return err;
	}
	cq->ring = cq->mem.addr;
	if (!cq->mem.used_before)
		ring_init(cq->ring, cells);
	/* relaxed: old askers are gone, and nobody has asked yet */
	atomic_store_explicit(&cq->ring->notify, 0, memory_order_relaxed);
	atomic_store_explicit(&cq->head, cq->ring->head, memory_order_relaxed);
	cq->next = ia->cqs;
	cq->prev = &ia->cqs;
	if (cq->next)
		cq->next->prev = &cq->next;
	ia->cqs = cq;
	datp_unlock(&ia->lock);
	return DATP_OK;
}

void soft_cq_fini(struct soft_cq *cq)
{
	if (!cq->ring)
		return;
	datp_lock(&cq->ia->lock);
	*cq->prev = cq->next;
	if (cq->next)
		cq->next->prev = cq->prev;
	cq->ring->head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	cq->ring = NULL;
	soft_arena_free(cq->ia, &cq->mem);
	datp_unlock(&cq->ia->lock);
}

struct soft_cell *soft_cq_peek(struct soft_cq *cq)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	struct soft_cell *cell = &cq->ring->cell[head & cq->ring->mask];

	/*
	 * acquire: pairs with the release in soft_ring_publish, so that the cell's content is seen
	 */
	if (atomic_load_explicit(&cell->state, memory_order_acquire) !=
	    SOFT_STATE(head, 0, SOFT_READY))
		return NULL;
	return cell;
}

void soft_cq_next(struct soft_cq *cq, struct soft_cell *cell)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);

	atomic_store_explicit(&cq->head, head + 1, memory_order_relaxed);
	/*
	 * release: what we read of the cell comes before the next claimer's writes, which acquire
	 * this
	 */
	atomic_store_explicit(&cell->state, SOFT_STATE(head + cq->ring->mask + 1, 0, SOFT_FREE),
			      memory_order_release);
}

uint32_t soft_cq_attention(struct soft_cq *cq)
{
	if (!atomic_load_explicit(&cq->ring->attention, memory_order_relaxed))
		return 0;
	/* acquire: what was written before the port was put on the list is seen */
	return atomic_exchange_explicit(&cq->ring->attention, 0, memory_order_acquire);
}

bool soft_cq_arm(struct soft_cq *cq, uint32_t notify)
{
	atomic_fetch_or_explicit(&cq->ring->notify, notify, memory_order_relaxed);
	/*
	 * Full fence, pairing with the one in soft_ring_notify: either the sender sees what we
	 * armed, or we see what it published.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return soft_cq_pending(cq);
}

/*
 * Cells that a sender had claimed and not published when it died would stop the ring. All of the
 * peer's threads have ended (its sockets are closed), so nobody writes to them any more.
 */
static void ring_void(struct soft_ia *ia, struct soft_ring *ring, const struct soft_peer *peer)
{
	for (uint32_t i = 0; i <= ring->mask; i++) {
		struct soft_cell *cell = &ring->cell[i];
		/* acquire: pairs with the claim of a thread that is no more */
		uint64_t state = atomic_load_explicit(&cell->state, memory_order_acquire);

		if (SOFT_STATE_PHASE(state) != SOFT_CLAIMED ||
		    ia->peer_slot[SOFT_STATE_PEER(state)] != peer)
			continue;
		cell->kind = SOFT_CELL_VOID;
		soft_ring_publish(cell, SOFT_STATE_POS(state));
	}
}

struct burial {
	struct soft_ia *ia;
	const struct soft_peer *peer;
};

static void ring_void_resting(const struct soft_mem *mem, void *arg)
{
	struct burial *burial = arg;

	ring_void(burial->ia, mem->addr, burial->peer);
}

static void ring_wake(struct soft_ring *ring)
{
	/* release: what the waiter has to find was published before */
	atomic_fetch_add_explicit(&ring->bell, 1, memory_order_release);
	syscall(SYS_futex, &ring->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void soft_cqs_bury(struct soft_ia *ia, const struct soft_peer *peer)
{
	struct burial burial = { ia, peer };

	soft_arena_resting(ia->arena, SOFT_KIND_RING, ring_void_resting, &burial);
	for (struct soft_cq *cq = ia->cqs; cq; cq = cq->next) {
		ring_void(ia, cq->ring, peer);
		/*
		 * Others may have published behind such a cell, and found nobody to wake; or it
		 * took a request to be
		 * woken (soft_ring_notify) and died before it did so.
		 */
		ring_wake(cq->ring);
	}
}

struct soft_cell *soft_ring_claim(struct soft_ring *ring, uint32_t me, uint64_t *position)
{
	for (;;) {
		/* relaxed: the tail is a hint; the claim below is what decides */
		uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
		struct soft_cell *cell = &ring->cell[tail & ring->mask];
		uint64_t state = atomic_load_explicit(&cell->state, memory_order_relaxed);
		uint64_t free_state = SOFT_STATE(tail, 0, SOFT_FREE);
		int64_t ahead = (int64_t)((SOFT_STATE_POS(state) - tail) << 18);

		if (ahead < 0) /* the consumer has not yet freed what was here a lap ago */
			return NULL;
		/* acquire on success: pairs with the consumer's release of the cell */
		if (state == free_state &&
		    atomic_compare_exchange_strong_explicit(
			    &cell->state, &free_state, SOFT_STATE(tail, me, SOFT_CLAIMED),
			    memory_order_acquire, memory_order_relaxed)) {
			*position = tail;
			atomic_compare_exchange_strong_explicit(&ring->tail, &tail, tail + 1,
								memory_order_relaxed,
								memory_order_relaxed);
			return cell;
		}
		/*
		 * taken by another, who may have died or been put to sleep before it moved the
		 * tail: help
		 */
		atomic_compare_exchange_strong_explicit(&ring->tail, &tail, tail + 1,
							memory_order_relaxed, memory_order_relaxed);
	}
}

void soft_ring_publish(struct soft_cell *cell, uint64_t position)
{
	/* release: the cell's content first; pairs with soft_cq_peek */
	atomic_store_explicit(&cell->state, SOFT_STATE(position, 0, SOFT_READY),
			      memory_order_release);
}

bool soft_ring_attend(struct soft_ring *ring, struct soft_port *port, uint32_t index,
		      enum soft_side side)
{
	uint32_t entry = (index << 1 | (uint32_t)side) + 1;
	uint32_t head;

	/*
	 * Release: if we find it set, the owner's exchange, which clears it before the owner looks
	 * at the port, is still to come and acquires what we did before. (A plain store there would
	 * not, however it is ordered.) Acquire: who finds it clear puts the port on the list after
	 * the owner has taken `next`.
	 */
	if (atomic_exchange_explicit(&port->attention[side].queued, 1, memory_order_acq_rel))
		return false;
	head = atomic_load_explicit(&ring->attention, memory_order_relaxed);
	do {
		atomic_store_explicit(&port->attention[side].next, head, memory_order_relaxed);
		/* release: `next`, and all that the news is about */
	} while (!atomic_compare_exchange_weak_explicit(
		&ring->attention, &head, entry, memory_order_release, memory_order_relaxed));
	return true;
}

bool soft_doorbell_ring(int doorbell)
{
	uint64_t one = 1;

	/* EAGAIN would mean that the counter is full, and the owner sure to be awake */
	return write(doorbell, &one, sizeof one) >= 0 || errno == EAGAIN;
}

void soft_ring_notify(struct soft_ring *ring, int doorbell)
{
	uint32_t wanted;

	/* full fence: see soft_cq_arm */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&ring->notify, memory_order_relaxed))
		return;
	/* taken by one sender only; acquire/release as for any hand-over */
	wanted = atomic_exchange_explicit(&ring->notify, 0, memory_order_acq_rel);
	if (wanted & SOFT_NOTIFY_WAITER)
		ring_wake(ring);
	if ((wanted & SOFT_NOTIFY_DOORBELL) && !soft_doorbell_ring(doorbell))
		datp_log(2, "soft: a peer's doorbell does not ring: %s", strerror(errno));
}
