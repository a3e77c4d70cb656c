/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Skipped cells. A sender reserves a cell, writes it, and publishes it. A
 * sender that is stopped in between (SIGSTOP, a debugger, a frozen container) would hold up all
 * that others send to that ring. So the owner waits for it no longer than the bound; then it skips
 * the cell, and breaks the sender's connections that end in this ring, because one of them has lost
 * a message. Invariant: what a ring waits for the senders of one peer is two bounds together at most, and an eighth of the time in
 * the long run.
 *
 * The sender may continue at any later time, and then still writes that cell. So the cell is out of
 * use until the sender has done that, or has died: the owner reserves the position that the cell
 * has in each next lap before a sender can, and publishes it void at once. Invariant: no other
 * sender ever has a reservation on a skipped cell.
 *
 * A peer can write any reservation there, also with the sender ID of another, or of this process. What nobody can be about to
 * publish is passed at once, and the cell stays in use. Nobody has more than a few cells at the same time, so a peer that has
 * reserved more than there are records for is hostile, and its further cells are passed in the same way.
 */
#include "skip.h"
#include "bound.h"
#include "conn.h"
#include "ia.h"
#include "owed.h"
#include "peer.h"
#include "port.h"
#include "setup.h"
#include "tick.h"
#include "place.h"

#ifndef SKIP_SPINS
#define SKIP_SPINS 200 /* a running sender publishes its reserved cell within this many checks */
#endif

#define PLACE_FREE 16u /* such a part of the bound a peer may take for a message without harm to itself */

#ifndef skip_bound_over /* the model checker has no clock, and no thread of this process is ever late there */
#define skip_bound_over(cq, bounds) ((void)(bounds), soft_bound_over(&(cq)->late_until, &(cq)->late_looked))
#endif

static _Atomic uint64_t *reservation_at(const struct soft_cq *cq, uint64_t position)
{
	return &soft_ring_reservations(cq->ring, cq->mask)[position & cq->mask];
}

static struct soft_cell *cell_at(const struct soft_cq *cq, uint64_t position)
{
	return &cq->ring->cell[position & cq->mask];
}

static void skipped_forget(struct soft_cq *cq, struct soft_skipped *skipped)
{
	struct soft_peer *peer = skipped->peer;

	*skipped = cq->skipped[--cq->skipped_count];
	if (peer)
		soft_peer_put(peer);
}

/* Returns the record of the cell with this position, or NULL if it is not skipped. */
static struct soft_skipped *skipped_find(struct soft_cq *cq, uint64_t position)
{
	for (uint32_t i = 0; i < cq->skipped_count; i++) {
		struct soft_skipped *skipped = &cq->skipped[i];

		if ((skipped->position ^ position) & cq->mask)
			continue;
		/* relaxed: only the owner changes it as long as the cell is skipped */
		if (atomic_load_explicit(reservation_at(cq, position), memory_order_relaxed) ==
		    SOFT_RESERVED(position, 0))
			return skipped;
		/* its sender has published a message, which the fast path took: the cell is in use again */
		skipped_forget(cq, skipped);
		return NULL;
	}
	return NULL;
}

/* Publishes a position as void. Returns the previous value of `ready`. */
static uint64_t publish_void(const struct soft_cq *cq, uint64_t position)
{
	struct soft_cell *cell = cell_at(cq, position);

	cell->kind = SOFT_CELL_VOID;
	/* release: as soft_ring_publish(); acquire: makes visible what a sender wrote before it published the cell */
	return atomic_exchange_explicit(&cell->ready, position + 1, memory_order_acq_rel);
}

/* Keeps a cell out of use for another lap. `position` is about to be taken. */
static void skipped_again(struct soft_cq *cq, struct soft_skipped *skipped, uint64_t position)
{
	uint64_t next = position + cq->mask + 1;

	/* relaxed: soft_cq_next() lets senders reserve that position only after this; they acquire it with `taken` */
	atomic_store_explicit(reservation_at(cq, next), SOFT_RESERVED(next, 0),
			      memory_order_relaxed);
	if (publish_void(cq, next) == skipped->position + 1)
		skipped_forget(cq, skipped); /* its sender has published, and will not write it again */
}

/* ---- waiting for a sender ---- */

/*
 * A wait for a peer is over: adds its time to that for which the peer has been waited. It counts until the last look that has found
 * the peer late, because the next look may come late itself. Poll lock.
 */
static void late_charge(struct soft_cq *cq)
{
	struct soft_ia *ia = cq->ia;
	struct soft_peer *peer;
	uint64_t left = cq->late_until > cq->late_looked ? cq->late_until - cq->late_looked : 0, waited = cq->late_allowed - left;

	if (left >= cq->late_allowed)
		return;
	datp_lock(&ia->lock);
	peer = soft_peer_by_sender_id(ia, cq->late_sender);
	if (peer && !peer->self)
		(void)soft_spend_locked(ia, cq->late_place ? &peer->places : &peer->late, waited);
	datp_unlock(&ia->lock);
}

static void late_end(struct soft_cq *cq)
{
	/* relaxed, here and in late_begin(): written under the poll lock, elsewhere only a hint */
	if (atomic_load_explicit(&cq->late, memory_order_relaxed)) {
		if (cq->late_sender)
			late_charge(cq);
		atomic_store_explicit(&cq->late, false, memory_order_relaxed);
		atomic_fetch_sub_explicit(&cq->ia->late, 1, memory_order_relaxed);
	}
}

static void late_begin(struct soft_cq *cq, uint64_t position, uint32_t sender, unsigned int bounds)
{
	late_end(cq);
	cq->late_position = position;
	cq->late_sender = sender;
	cq->late_until = soft_bound(cq->ia) + (uint64_t)(bounds ? bounds - 1 : 0) * cq->ia->patience_ms;
	cq->late_looked = soft_now_ms();
	cq->late_allowed = cq->late_until - cq->late_looked;
	cq->late_place = false;
	atomic_store_explicit(&cq->late, true, memory_order_relaxed);
	atomic_fetch_add_explicit(&cq->ia->late, 1, memory_order_relaxed);
	soft_tick_set(cq->ia);
}

static bool late_waits(const struct soft_cq *cq, uint64_t position)
{
	return atomic_load_explicit(&cq->late, memory_order_relaxed) &&
	       cq->late_position == position;
}

/*
 * Returns true if the sender publishes the cell within a moment. A cell that is waited for already
 * is checked only once.
 */
static bool sender_publishes(struct soft_cq *cq, uint64_t position)
{
	unsigned int spins = late_waits(cq, position) ? 1 : SKIP_SPINS;

	while (spins--) {
		if (soft_cq_peek(cq))
			return true;
	}
	return false;
}

/* ---- taking a cell away ---- */

/* A thread of this process is stopped without the others by a debugger, or by memory of the program that is not there. */
#define SELF_BOUNDS 10u

/* Returns the number of skipped cells of a peer; NULL: of senders that are no peers. */
static uint32_t skipped_of(const struct soft_cq *cq, const struct soft_peer *peer)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cq->skipped_count; i++)
		n += cq->skipped[i].peer == peer;
	return n;
}

/* Returns true if the peer has not published a cell that it has lost: it is still stopped, or hostile. */
static bool stands_still(const struct soft_cq *cq, const struct soft_peer *peer)
{
	for (uint32_t i = 0; i < cq->skipped_count; i++) {
		const struct soft_skipped *skipped = &cq->skipped[i];

		/* relaxed: nothing is read there */
		if (skipped->peer == peer &&
		    atomic_load_explicit(&cell_at(cq, skipped->position)->ready, memory_order_relaxed) != skipped->position + 1)
			return true;
	}
	return false;
}

/*
 * Returns how long the sender of a reserved cell is waited for, in bounds of the adapter: not at all if it has not published one
 * that it has lost before, if its peer has been waited for too long lately, or if there is no such sender.
 */
static unsigned int holder_bounds(struct soft_cq *cq, uint64_t reservation)
{
	struct soft_ia *ia = cq->ia;
	struct soft_peer *peer;
	unsigned int bounds;

	if (!SOFT_RESERVED_PEER(reservation))
		return 0;
	datp_lock(&ia->lock);
	peer = soft_peer_by_sender_id(ia, SOFT_RESERVED_PEER(reservation));
	if (!peer || peer->reclaimed || stands_still(cq, peer) || soft_has_spent_locked(ia, &peer->late))
		bounds = 0;
	else
		bounds = peer->self ? SELF_BOUNDS : 1;
	datp_unlock(&ia->lock);
	return bounds;
}

/*
 * Whose is a reserved cell that was waited for? HOLDER_BUSY: a thread of this process may be about to publish it, or it is of a
 * peer that has just died, whose cells soft_cqs_reclaim() is about to void. HOLDER_NONE: nobody can be about to write it.
 * HOLDER_LATE: its sender may still write it; *peer is a reference to it, or NULL if the reservation has the sender ID of no peer.
 */
enum holder { HOLDER_BUSY, HOLDER_NONE, HOLDER_LATE };

static enum holder holder(struct soft_cq *cq, uint64_t reservation, struct soft_peer **peer)
{
	struct soft_ia *ia = cq->ia;
	enum holder holder = HOLDER_LATE;

	*peer = NULL;
	/* acquire: soft_cq_announce() has published its cell before it counts down; and see there */
	if (!SOFT_RESERVED_PEER(reservation))
		return atomic_load_explicit(&cq->announcing, memory_order_acquire) ? HOLDER_BUSY : HOLDER_NONE;
	datp_lock(&ia->lock);
	*peer = soft_peer_by_sender_id(ia, SOFT_RESERVED_PEER(reservation));
	if (*peer && (*peer)->reclaimed)
		holder = HOLDER_NONE;
	/* relaxed: soft_cqs_reclaim() follows the death of a peer */
	else if (*peer && atomic_load_explicit(&(*peer)->dead, memory_order_relaxed))
		holder = HOLDER_BUSY;
	else if (*peer)
		(*peer)->users++;
	datp_unlock(&ia->lock);
	return holder;
}

/*
 * Breaks the connections with the peer whose messages come by this ring, because one of them has
 * lost a message.
 */
static void break_connections(struct soft_cq *cq, const struct soft_peer *peer)
{
	struct soft_ia *ia = cq->ia;

	datp_lock(&ia->lock);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		/* relaxed, both: they stay while the lock is held */
		struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);

		if (ep && ep->peer == peer && ep->rport && soft_ep_recv_cq(ep) == cq)
			soft_ep_revoke_locked(ep, peer,
					      atomic_load_explicit(&ep->gen, memory_order_relaxed));
	}
	datp_unlock(&ia->lock);
}

/* Keeps the cell out of use, if there is a record for it. Takes over the reference to the peer. */
static void cell_keep(struct soft_cq *cq, uint64_t position, struct soft_peer *peer)
{
	if (cq->skipped_count < SOFT_SKIPPED_MAX && skipped_of(cq, peer) < SOFT_SKIPPED_EACH) {
		cq->skipped[cq->skipped_count++] = (struct soft_skipped){ peer, position };
		skipped_again(cq, &cq->skipped[cq->skipped_count - 1], position);
	} else if (peer) {
		soft_peer_put(peer);
	}
}

/*
 * Skips a cell that is reserved and was not published. Returns false if it may be published at any moment; the ring then goes on
 * waiting.
 */
static bool cell_skip(struct soft_cq *cq, uint64_t position, uint64_t reservation)
{
	struct soft_peer *peer;
	enum holder of = holder(cq, reservation, &peer);

	/* a last check, after all this time, and after the look at who it is */
	if (soft_cq_peek(cq)) {
		if (of == HOLDER_LATE && peer)
			soft_peer_put(peer);
		return true;
	}
	if (of == HOLDER_BUSY)
		return false;
	if (of == HOLDER_LATE && peer)
		break_connections(cq, peer);
	if (of == HOLDER_LATE)
		cell_keep(cq, position, peer);
	soft_cq_next(cq);
	return true;
}

/*
 * The ring is empty: puts right what only a peer can have written. A sender finds the next cell by these words, and would look for
 * it where the owner never does, or find the ring full for ever.
 */
static void ring_repair(struct soft_cq *cq, uint64_t head)
{
	struct soft_ring *ring = cq->ring;
	/* relaxed: all that matters is whether they are possible values */
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);

	/* a sender that was slow may have set it back; this is as good a hint. release: this thread has seen all cells before it */
	if (tail - head > (uint64_t)cq->mask + 1)
		atomic_compare_exchange_strong_explicit(&ring->tail, &tail, head, memory_order_release, memory_order_relaxed);
	if (head - taken > cq->mask >> 3)
		atomic_store_explicit(&ring->taken, head, memory_order_release); /* as in soft_cq_next() */
}

/* Begins a wait for a message that the peer executes. A peer that runs may do so for a while, which does not count. */
static void place_begin(struct soft_cq *cq, uint64_t position)
{
	uint64_t free = cq->ia->patience_ms / PLACE_FREE;

	late_begin(cq, position, 0, 1);
	cq->late_allowed -= free < cq->late_allowed ? free : cq->late_allowed;
	cq->late_place = true;
}

/* The next cell is there, but its message waits until the peer has executed it: no longer than the bound (place.c). */
static bool place_look(struct soft_cq *cq, uint64_t head)
{
	if (!soft_place_look(cq)) {
		if (!late_waits(cq, head))
			place_begin(cq, head);
		if (!cq->place_held)
			cq->late_sender = cq->place_sender;
		if (cq->place_held || !soft_bound_over(&cq->late_until, &cq->late_looked))
			return false;
		soft_place_pass(cq);
	}
	late_end(cq);
	return true;
}

bool soft_skip_look(struct soft_cq *cq)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	/* acquire: pairs with soft_cq_announce() */
	uint64_t reservation = atomic_load_explicit(reservation_at(cq, head), memory_order_acquire);
	struct soft_skipped *skipped;
	unsigned int bounds;

	if (cq->place_hidden)
		return place_look(cq, head);
	/* nobody can have a reservation for a later lap */
	if (SOFT_RESERVED_AHEAD(reservation, head) > 0)
		atomic_compare_exchange_strong_explicit(reservation_at(cq, head), &reservation,
							SOFT_RESERVED(head - cq->mask - 1, 0), memory_order_relaxed,
							memory_order_relaxed);
	if (SOFT_RESERVED_AHEAD(reservation, head) != 0) {
		ring_repair(cq, head);
		late_end(cq);
		return false;
	}
	if (sender_publishes(cq, head)) {
		late_end(cq);
		return true;
	}
	skipped = skipped_find(cq, head);
	if (skipped) { /* its sender has published over our void cell */
		if (publish_void(cq, head) == skipped->position + 1)
			skipped_forget(cq, skipped);
		return true;
	}
	bounds = holder_bounds(cq, reservation);
	if (!late_waits(cq, head))
		late_begin(cq, head, SOFT_RESERVED_PEER(reservation), bounds);
	if (bounds && !skip_bound_over(cq, bounds))
		return false;
	if (!cell_skip(cq, head, reservation))
		return false;
	late_end(cq);
	return true;
}

void soft_skip_seek(struct soft_evd *evd)
{
	bool biased = datp_bias_lock(&evd->poll_bias, &evd->base.poll_lock);

	(void)soft_skip_look(&evd->cq);
	datp_bias_unlock(&evd->poll_bias, &evd->base.poll_lock, biased);
}

void soft_skip_pass(struct soft_cq *cq)
{
	/* relaxed: the poll lock is held */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	struct soft_skipped *skipped = skipped_find(cq, head);

	if (!skipped)
		return;
	/* acquire: makes all writes of a peer that has died visible */
	if (skipped->peer && atomic_load_explicit(&skipped->peer->dead, memory_order_acquire))
		skipped_forget(cq, skipped);
	else
		skipped_again(cq, skipped, head);
}

bool soft_skip_fini(struct soft_cq *cq)
{
	bool skipped = cq->skipped_count != 0;

	late_end(cq);
	if (skipped) {
		datp_lock(&cq->ia->lock);
		/*
		 * with two skipped cells or more the memory is left to nobody, and stays a ring as long
		 * as the arena exists
		 */
		if (cq->skipped_count == 1 && cq->skipped[0].peer)
			soft_mem_leave_locked(cq->skipped[0].peer, &cq->mem);
		datp_unlock(&cq->ia->lock);
	}
	while (cq->skipped_count)
		skipped_forget(cq, &cq->skipped[0]);
	return !skipped;
}

/* ---- the tick ---- */

/* relaxed: it is read again under the poll lock */
static bool cq_is_late(const struct soft_cq *cq)
{
	return atomic_load_explicit(&cq->late, memory_order_relaxed);
}

bool soft_skip_suspects(struct soft_cq *cq)
{
	/* relaxed, all: it is looked at again under the poll lock */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t mask;
	struct soft_ring *ring = soft_cq_look(cq, &mask);
	uint64_t reservation = atomic_load_explicit(&soft_ring_reservations(ring, mask)[head & mask], memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	return SOFT_RESERVED_AHEAD(reservation, head) > 0 || tail - head > (uint64_t)mask + 1 ||
	       (SOFT_RESERVED_AHEAD(reservation, head) == 0 && !soft_cq_pending(cq));
}

void soft_skip_try(struct soft_cq *cq)
{
	bool there = false;

	/* if a peer holds up the thread that polls, the next tick tries again */
	if (soft_cq_try(cq)) {
		there = soft_skip_look(cq);
		datp_unlock(soft_cq_lock(cq));
	}
	/* Others may have published behind the cell, and the threads that they woke have found nothing */
	if (there)
		soft_cq_look_again(cq);
}

bool soft_skip_serve(struct soft_ia *ia)
{
	struct soft_cq *cq;

	/* relaxed: whoever counts a ring sets the timer afterwards */
	if (!atomic_load_explicit(&ia->late, memory_order_relaxed))
		return false;
	ia->round++;
	while ((cq = soft_cq_hold_next(ia, cq_is_late))) {
		soft_skip_try(cq);
		soft_cq_release(cq);
	}
	return atomic_load_explicit(&ia->late, memory_order_relaxed);
}
