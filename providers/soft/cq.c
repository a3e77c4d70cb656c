/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of an EVD, by which messages and events reach it from every process: bounded, with many
 * senders, one consumer and no lock. A sender that dies at any instruction leaves at most one cell
 * reserved with its sender ID. A port whose events find no cell goes on the ready list, which is made of
 * the ports themselves and so is never full.
 */
#define _GNU_SOURCE
#include "cq.h"
#include "arena.h"
#include "skip.h"
#include "ia.h"
#include "peer.h"
#include "recv.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CQ_CELLS_MIN 128u
#ifndef CQ_POLLED_AFTER
/* a queue that has not been armed for this many eighths of a lap counts as polled */
#define CQ_POLLED_AFTER     64u
#define CQ_POLLED_AFTER_MAX (1u << 20)
#endif

/*
 * Stands for the ring of a queue that has been freed: a thread that read the queue's handle before
 * that finds it empty. Aligned as soft_cq_look() requires.
 */
static alignas(SOFT_CQ_CELLS_MAX) union {
	struct soft_ring ring;
	unsigned char space[sizeof(struct soft_ring) + sizeof(struct soft_cell) +
			    sizeof(_Atomic uint64_t)];
} no_ring;

#ifdef __SANITIZE_THREAD__
void soft_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
#endif

/* relaxed: no peer knows the ring before a message says where it is */
void soft_ring_init(struct soft_ring *ring, uint32_t cells, uint64_t position)
{
	uint32_t mask = cells - 1;

	ring->mask = mask;
	atomic_store_explicit(&ring->tail, position, memory_order_relaxed);
	for (uint64_t p = position - cells; p != position; p++) {
		atomic_store_explicit(&ring->cell[p & mask].ready, 0, memory_order_relaxed);
		atomic_store_explicit(&soft_ring_reservations(ring, mask)[p & mask],
				      SOFT_RESERVED(p, 0), memory_order_relaxed);
	}
}

/*
 * Returns true if a cell and its reservation are as the last lap leaves them, or as a sender leaves
 * them that has just reserved or published the cell.
 */
static bool cell_sound(struct soft_ring *ring, uint32_t cells, uint64_t position)
{
	uint32_t at = (uint32_t)position & (cells - 1);
	/* relaxed: nobody uses the ring, and the cell is sound before and after what a late sender does meanwhile */
	uint64_t reservation = atomic_load_explicit(&soft_ring_reservations(ring, cells - 1)[at], memory_order_relaxed);
	uint64_t ready = atomic_load_explicit(&ring->cell[at].ready, memory_order_relaxed);
	int64_t ahead = SOFT_RESERVED_AHEAD(reservation, position);

	/* ahead: a sender has died after it reserved the cell and before it moved the tail; this process has not, as sender ID 0 */
	return (ahead == 0 || (ahead == cells && SOFT_RESERVED_PEER(reservation))) &&
	       (!ready || (((ready - 1) & (cells - 1)) == at && ready - 1 <= position + (uint64_t)ahead));
}

/* Returns true if a used ring can be used again: a peer may have written anything there. */
static bool ring_sound(struct soft_ring *ring, uint32_t cells, uint64_t position)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (tail - position > cells)
		return false;
	for (uint64_t p = tail - cells; p != tail; p++)
		if (!cell_sound(ring, cells, p))
			return false;
	return true;
}

/*
 * Initialises the ring with positions that no sender has had: a sender that has not heard of the
 * end of its connection may still write to an older position, and the owner does not take that for
 * a message.
 */
static void ring_renew(struct soft_cq *cq, uint32_t cells)
{
	cq->mem.position += 2ull * cells;
	soft_ring_init(cq->ring, cells, cq->mem.position);
	atomic_store_explicit(&cq->ring->ready_list, 0, memory_order_relaxed);
}

void soft_cq_use(struct soft_cq *cq, struct soft_ring *ring, uint32_t mask)
{
	cq->ring = ring;
	cq->mask = mask;
	/* relaxed: see soft_cq_look */
	__atomic_store_n(&cq->both, (uintptr_t)ring | mask, __ATOMIC_RELAXED);
}

/*
 * The queue is the ring's user from now on. Pieces are powers of two, and a ring is longer than half of its piece, so a piece is
 * a ring of the same length for all of its users. soft_ia.lock
 */
static bool record_use(struct soft_cq *cq, uint32_t mask)
{
	struct soft_arena *arena = cq->ia->arena;
	struct soft_ring_record *record = cq->mem.record;

	if (!record) {
		record = malloc(sizeof *record);
		if (!record)
			return false;
		*record = (struct soft_ring_record){ cq->mem.addr, mask, NULL, arena->rings };
		arena->rings = cq->mem.record = record;
	}
	record->cq = cq;
	return true;
}

enum datp_err soft_cq_init(struct soft_cq *cq, struct soft_ia *ia, struct datp_evd *evd,
			   uint32_t min_cells)
{
	uint32_t cells = CQ_CELLS_MIN;
	enum datp_err err;

	/*
	 * A message that finds the ring full loses its place among those of other endpoints. Senders learn of the cells that
	 * have been read with a lag of up to an eighth of them, see soft_cq_next(); so the ring is that much longer than the EVD.
	 */
	while (cells - cells / 8 < min_cells && cells < SOFT_CQ_CELLS_MAX)
		cells <<= 1;
	cq->ia = ia;
	cq->evd = evd;
	cq->polled_after = CQ_POLLED_AFTER;
	cq->waited = cq->lost = cq->place_hidden = cq->searches = false;
	cq->resume = 0;
	cq->place_put_off = 0;
	atomic_store_explicit(&cq->again, false, memory_order_relaxed);
	datp_lock(&ia->lock);
	err = soft_arena_alloc(ia, SOFT_KIND_RING,
			       soft_ring_size(cells), &cq->mem);
	if (!err && !record_use(cq, cells - 1)) {
		soft_arena_free(ia, &cq->mem);
		err = DATP_ERR_MEMORY;
	}
	if (err) {
		datp_unlock(&ia->lock);
		return err;
	}
	soft_cq_use(cq, cq->mem.addr, cells - 1);
	if (!cq->mem.used_before)
		soft_ring_init(cq->ring, cells, 0);
	else if (!ring_sound(cq->ring, cells, cq->mem.position))
		ring_renew(cq, cells);
	cq->ring->mask = cq->mask; /* a peer may have overwritten it */
	/*
	 * relaxed, both: nobody waits for the ring, and its new owner has asked for nothing yet.
	 * SOFT_NOTIFY_POLLED of the last owner stays until cq_not_polled() takes it back with a
	 * fence: a late sender to that owner may have seen it, and be about to publish
	 */
	cq->polled = atomic_load_explicit(&cq->ring->notify, memory_order_relaxed) & SOFT_NOTIFY_POLLED;
	atomic_store_explicit(&cq->ring->notify, cq->polled ? SOFT_NOTIFY_POLLED : 0, memory_order_relaxed);
	atomic_store_explicit(&cq->ring->service, 0, memory_order_relaxed);
	atomic_store_explicit(&cq->ring->taken, cq->mem.position, memory_order_relaxed);
	atomic_store_explicit(&cq->head, cq->mem.position, memory_order_relaxed);
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
	bool in_use;

	if (!cq->ring)
		return;
	in_use = !soft_skip_fini(cq);
	datp_lock(&cq->ia->lock);
	*cq->prev = cq->next;
	if (cq->next)
		cq->next->prev = cq->prev;
	cq->mem.position = atomic_load_explicit(&cq->head, memory_order_relaxed);
	cq->mem.record->cq = NULL;
	soft_cq_use(cq, &no_ring.ring, 0);
	if (!in_use)
		soft_arena_free(cq->ia, &cq->mem);
	datp_unlock(&cq->ia->lock);
}

struct soft_cq *soft_cq_hold_next(struct soft_ia *ia, bool (*wants)(const struct soft_cq *cq))
{
	struct soft_cq *cq;

	datp_lock(&ia->lock);
	for (cq = ia->cqs; cq; cq = cq->next)
		if (!cq->closing && cq->round != ia->round && wants(cq))
			break;
	if (cq) {
		cq->busy++;
		cq->round = ia->round;
	}
	datp_unlock(&ia->lock);
	return cq;
}

void soft_cell_drop(struct soft_ia *ia, const struct soft_cell *cell)
{
	struct soft_peer *peer;
	struct soft_slot *slot;

	if (cell->kind != SOFT_CELL_MESSAGE || !(cell->flags & SOFT_CELL_SLOT))
		return;
	datp_lock(&ia->lock);
	peer = soft_peer_by_sender_id(ia, cell->from);
	slot = peer ? soft_peer_slot(peer, SOFT_ONCE(cell->slot)) : NULL;
	if (slot)
		soft_slot_drop(slot);
	datp_unlock(&ia->lock);
}

void soft_cq_release(struct soft_cq *cq)
{
	datp_lock(&cq->ia->lock);
	cq->busy--;
	datp_unlock(&cq->ia->lock);
}

static void ring_wake(struct soft_ring *ring)
{
	/* release: what the waiter has to find was published before */
	atomic_fetch_add_explicit(&ring->bell, 1, memory_order_release);
	syscall(SYS_futex, &ring->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Returns what the owner asks for, of SOFT_NOTIFY_WAKE. One sender takes the request and marks it
 * as taken; all that publish until ring_woken() clears the mark wake the owner as well.
 */
static uint32_t ring_wanted(struct soft_ring *ring)
{
	uint32_t notify = atomic_load_explicit(&ring->notify, memory_order_relaxed);
	unsigned int tries = SOFT_TRIES;
	uint32_t wanted;

	do
		wanted = SOFT_NOTIFY_WANTED(notify);
	while (wanted & notify && --tries &&
	       /* acquire and release, as for any hand-over */
	       !atomic_compare_exchange_weak_explicit(
		       &ring->notify, &notify,
		       (notify & ~SOFT_NOTIFY_WAKE) | SOFT_NOTIFY_TAKEN(wanted),
		       memory_order_acq_rel, memory_order_relaxed));
	return wanted;
}

/*
 * Clears the mark, because the owner has been woken. relaxed: a waiter that asks anew has been woken
 * before, and the bit of its new request stays set. If another sender has taken that request and is stopped
 * before it wakes anybody, this clears its mark, too; a wake-up is lost only if both happen
 * together.
 */
static void ring_woken(struct soft_ring *ring, uint32_t wanted)
{
	if (wanted)
		atomic_fetch_and_explicit(&ring->notify, ~SOFT_NOTIFY_TAKEN(wanted), memory_order_relaxed);
}

bool soft_cq_announce(struct soft_cq *cq, uint32_t port, uint32_t gen, uint32_t msg)
{
	uint64_t position;
	/*
	 * The cell is reserved with sender ID 0, because this process does not outlive its own reservations.
	 * This thread reads `head`, which is ahead of `taken`, so it finds a cell before a sender
	 * does
	 */
	struct soft_cell *cell;

	/* release fence: whoever acquires the reservation sees the count; holder() in skip.c */
	atomic_fetch_add_explicit(&cq->announcing, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	cell = soft_ring_reserve_behind(cq->ring, cq->mask, &cq->head, 0, &position);
	if (cell)
		soft_ring_publish_done(cell, position, port, gen, msg);
	/* release: whoever sees it counted down sees the cell published */
	atomic_fetch_sub_explicit(&cq->announcing, 1, memory_order_release);
	return cell != NULL;
}

void soft_cq_notify(struct soft_cq *cq)
{
	uint32_t wanted;

	soft_fence(); /* see soft_cq_arm */
	if (!(atomic_load_explicit(&cq->ring->notify, memory_order_relaxed) & SOFT_NOTIFY_ANY))
		return;
	wanted = ring_wanted(cq->ring);
	if (wanted & SOFT_NOTIFY_WAITER)
		ring_wake(cq->ring);
	if (wanted & SOFT_NOTIFY_SERVICE)
		soft_ia_wake(cq->ia);
	ring_woken(cq->ring, wanted);
}

void soft_cq_look_again(struct soft_cq *cq)
{
	/* relaxed: the wake-up publishes it */
	atomic_store_explicit(&cq->again, true, memory_order_relaxed);
	soft_cq_notify(cq);
	soft_ia_wake(cq->ia);
}

void soft_cq_wake_all(struct soft_cq *cq)
{
	uint32_t mask;

	ring_wake(soft_cq_look(cq, &mask));
}

uint32_t soft_cq_take_ready_list(struct soft_cq *cq)
{
	if (!atomic_load_explicit(&cq->ring->ready_list, memory_order_relaxed))
		return 0;
	/* acquire: what was written before the port was put on the list is visible */
	return atomic_exchange_explicit(&cq->ring->ready_list, 0, memory_order_acquire);
}

void soft_cq_clear_service(struct soft_cq *cq)
{
	/*
	 * relaxed: a sender that sets it after this wakes the service thread. acquire: the exchange makes
	 * the cells of all senders visible that set it before, also of those that found it set and
	 * woke nobody
	 */
	if (atomic_load_explicit(&cq->ring->service, memory_order_relaxed))
		atomic_exchange_explicit(&cq->ring->service, 0, memory_order_acquire);
}

void soft_cq_set_polled(struct soft_cq *cq)
{
	if (!soft_fence_reaches())
		return;
	cq->polled = true;
	/* relaxed: the flag says nothing about what was done before, only about what follows until it is cleared */
	atomic_fetch_or_explicit(&cq->ring->notify, SOFT_NOTIFY_POLLED, memory_order_relaxed);
}

/* The queue is armed after all, so it needs twice as many messages before it counts as polled again. */
static void cq_not_polled(struct soft_cq *cq)
{
	cq->polled = false;
	if (cq->polled_after < CQ_POLLED_AFTER_MAX)
		cq->polled_after *= 2;
	/*
	 * relaxed: a sender that read the flag before the fence that it passes here published
	 * before that fence, so we see what it published; one that reads it later finds it cleared,
	 * and passes a fence of its own
	 */
	atomic_fetch_and_explicit(&cq->ring->notify, ~SOFT_NOTIFY_POLLED, memory_order_relaxed);
	soft_fence_everybody();
}

bool soft_cq_arm(struct soft_cq *cq, uint32_t notify)
{
	cq->since_armed = 0;
	if (cq->polled)
		cq_not_polled(cq);
	atomic_fetch_or_explicit(&cq->ring->notify, notify, memory_order_relaxed);
	/*
	 * Pairs with the fence in soft_ring_notify(): either the sender sees what was armed here,
	 * or this thread sees what the sender published.
	 */
	soft_fence();
	return soft_cq_pending(cq);
}

/* ---- the rings that a peer knows ---- */

bool soft_cq_tell_locked(const struct soft_cq *cq, struct soft_peer *peer)
{
	struct soft_ring_record **more;

	/* the latest first: mostly all connections of a peer are by the same queues */
	for (uint32_t i = peer->ring_count; i; i--)
		if (peer->rings[i - 1] == cq->mem.record)
			return true;
	if (!(peer->ring_count & (peer->ring_count - 1))) {
		more = realloc(peer->rings, (peer->ring_count ? 2 * (size_t)peer->ring_count : 1) * sizeof *more);
		if (!more)
			return false;
		peer->rings = more;
	}
	peer->rings[peer->ring_count++] = cq->mem.record;
	return true;
}

/*
 * Returns the position of a cell that was published, and that the service thread has hidden (place.c): its message is there, and it
 * is shown when the EP lock can be had. Returns UINT64_MAX if no such cell exists.
 */
static uint64_t hidden_in(const struct soft_cq *cq)
{
	/* relaxed: a hint */
	bool held = cq && __atomic_load_n(&cq->place_held, __ATOMIC_RELAXED);

	return held ? atomic_load_explicit(&cq->head, memory_order_relaxed) : UINT64_MAX;
}

/*
 * Voids the cells that a sender had reserved and not published when it died, because the ring would
 * stop at them. All of the peer's threads have ended (its sockets are closed), so nobody writes to
 * those cells any more.
 */
static void ring_void(struct soft_ia *ia, const struct soft_ring_record *record, const struct soft_peer *peer)
{
	struct soft_ring *ring = record->ring;
	/* relaxed, all: the threads have been seen to end, which makes visible what they did */
	uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed), hidden = hidden_in(record->cq);

	for (uint32_t i = 0; i <= record->mask; i++) {
		uint64_t reservation = atomic_load_explicit(&soft_ring_reservations(ring, record->mask)[i],
							    memory_order_relaxed);
		uint64_t position = taken + (uint64_t)SOFT_RESERVED_AHEAD(reservation, taken);
		struct soft_cell *cell = &ring->cell[i];

		if (ia->peer_of_sender_id[SOFT_RESERVED_PEER(reservation)] != peer || position == hidden ||
		    /* published, by the peer or by a sender that has reserved the cell meanwhile */
		    (int64_t)(atomic_load_explicit(&cell->ready, memory_order_relaxed) - position) > 0)
			continue;
		cell->kind = SOFT_CELL_VOID;
		soft_ring_publish(cell, position);
	}
}

/*
 * Looks only at the rings that the peer was told of. Many peers may die together, and to look at all rings for each of them would
 * take time that grows with the square of their number, under soft_ia.lock.
 *
 * This suffices. A peer is told of a ring in the request or the reply of a connection, and an honest one reserves no cell there
 * before this side has opened the connection, which notes the ring first (soft_ep_open()). It may do so after the connection has
 * ended, if it has not heard of that, even when the EVD is freed or another one has the ring; so the note stays as long as the
 * peer, and the piece is a ring as long as the arena. A peer that was forgotten and is known anew has been reclaimed then, and has
 * other sender IDs. That the EVD is an SRQ's, or the null queue, makes no difference. Senders ring the bell of both rings of a
 * connection, so both are noted, though cells are reserved only in that of the receives.
 *
 * A hostile peer can find any ring of the arena, and reserve cells there, as it can in the name of another peer or of nobody. The
 * next poll that comes to such a cell, or the tick, passes it, because nobody is about to publish it (skip.c): at once if the peer
 * that it names has been reclaimed or does not exist, else after the bound.
 */
void soft_cqs_reclaim(struct soft_ia *ia, const struct soft_peer *peer)
{
	for (uint32_t i = 0; i < peer->ring_count; i++) {
		ring_void(ia, peer->rings[i], peer);
		/*
		 * Others may have published behind such a cell while nobody could be woken; or the
		 * peer took a request to be woken (ring_wanted()) and died before it acted on it.
		 */
		if (peer->rings[i]->cq)
			ring_wake(peer->rings[i]->ring);
	}
}

bool soft_ring_mark_ready(struct soft_ring *ring, struct soft_port *port, uint32_t index,
			  enum soft_side side)
{
	uint32_t entry = (index << 1 | (uint32_t)side) + 1;
	uint32_t head;

	/*
	 * release: if we find the flag set, the owner's exchange that clears it is still to come,
	 * and acquires what we did before; the owner looks at the port after that. (A store there
	 * would not acquire, whatever its order.) acquire: whoever finds the flag clear puts the
	 * port on the list after the owner has taken `next`.
	 */
	if (atomic_exchange_explicit(&port->ready_link[side].queued, 1, memory_order_acq_rel))
		return false;
	head = atomic_load_explicit(&ring->ready_list, memory_order_relaxed);
	for (unsigned int tries = SOFT_TRIES; tries; tries--) {
		atomic_store_explicit(&port->ready_link[side].next, head, memory_order_relaxed);
		/* release: publishes `next`, and all that the owner is to find */
		if (atomic_compare_exchange_weak_explicit(&ring->ready_list, &head, entry, memory_order_release,
							  memory_order_relaxed))
			return true;
	}
	/*
	 * A peer changes the word all the time. This is an exchange, not a store, so that it continues
	 * the release sequence of the earlier entries
	 */
	(void)atomic_exchange_explicit(&ring->ready_list, SOFT_READY_ALL, memory_order_acq_rel);
	return true;
}

void soft_ring_want_service(struct soft_ring *ring, struct soft_peer *owner)
{
	uint32_t set = SOFT_SERVICE_WANTED;

	/*
	 * release: publishes the cell; see soft_cq_clear_service(). It is a read-modify-write, so that
	 * the owner acquires from each of several senders
	 */
	if (atomic_fetch_or_explicit(&ring->service, SOFT_SERVICE_WANTED, memory_order_acq_rel) & SOFT_SERVICE_WOKEN)
		return;
	soft_peer_wake(owner);
	/*
	 * relaxed: this only says that no further sender needs to wake the owner; if the word was cleared and
	 * set meanwhile, another sender wakes it as well
	 */
	atomic_compare_exchange_strong_explicit(&ring->service, &set, SOFT_SERVICE_WANTED | SOFT_SERVICE_WOKEN,
						memory_order_relaxed, memory_order_relaxed);
}

void soft_ring_wake(struct soft_ring *ring, struct soft_peer *owner)
{
	uint32_t wanted = ring_wanted(ring);

	if (wanted & SOFT_NOTIFY_WAITER)
		ring_wake(ring);
	if (wanted & SOFT_NOTIFY_SERVICE)
		soft_peer_wake(owner);
	ring_woken(ring, wanted);
}
