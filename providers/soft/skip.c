/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Skipped cells. A sender reserves a cell, writes it, and publishes it. A
 * sender that is stopped in between (SIGSTOP, a debugger, a frozen container) would hold up all
 * that others send to that ring. So the owner waits for it no longer than the bound; then it skips
 * the cell, and breaks the sender's connections that end in this ring, because one of them has lost
 * a message.
 *
 * The sender may continue at any later time, and then still writes that cell. So the cell is out of
 * use until the sender has done that, or has died: the owner reserves the position that the cell
 * has in each next lap before a sender can, and publishes it void at once. Invariant: no other
 * sender ever has a reservation on a skipped cell.
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
#include "log/limited.h"

#ifndef SKIP_SPINS
#define SKIP_SPINS 200 /* a running sender publishes its reserved cell within this many checks */
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

static void late_end(struct soft_cq *cq)
{
	/* relaxed, here and in late_begin(): written under the poll lock, elsewhere only a hint */
	if (atomic_load_explicit(&cq->late, memory_order_relaxed)) {
		atomic_store_explicit(&cq->late, false, memory_order_relaxed);
		atomic_fetch_sub_explicit(&cq->ia->late, 1, memory_order_relaxed);
	}
}

static void late_begin(struct soft_cq *cq, uint64_t position)
{
	late_end(cq);
	cq->late_position = position;
	cq->late_until = soft_bound(cq->ia);
	cq->late_looked = soft_now_ms();
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

/*
 * Returns true if a cell can be taken away from whoever has reserved it; then *peer is a reference
 * to the peer, or NULL if the reservation has the sender ID of no peer. A cell of this process cannot be taken
 * away, and a cell of a dead peer is voided by soft_cqs_reclaim().
 */
static bool holder(struct soft_cq *cq, uint64_t reservation, struct soft_peer **peer)
{
	struct soft_ia *ia = cq->ia;
	bool other;

	datp_lock(&ia->lock);
	*peer = soft_peer_by_sender_id(ia, SOFT_RESERVED_PEER(reservation));
	/* relaxed: soft_cqs_reclaim() follows the death of a peer */
	other = !*peer ||
		(!(*peer)->self && !atomic_load_explicit(&(*peer)->dead, memory_order_relaxed));
	if (other && *peer)
		(*peer)->users++;
	datp_unlock(&ia->lock);
	return other;
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

/*
 * Skips a cell that a peer has reserved and does not publish. Returns false if that is impossible;
 * the ring then goes on waiting.
 */
static bool cell_skip(struct soft_cq *cq, uint64_t position, uint64_t reservation)
{
	static struct log_limit many;
	struct soft_peer *peer;

	if (cq->skipped_count == SOFT_SKIPPED_MAX) {
		log_limited(
			&many, 1,
			"soft: an event queue is blocked: %u messages to it were begun by "
			"processes that were stopped then; end or continue these processes",
			SOFT_SKIPPED_MAX + 1);
		return false;
	}
	if (!holder(cq, reservation, &peer))
		return false;
	if (peer)
		break_connections(cq, peer);
	cq->skipped[cq->skipped_count++] = (struct soft_skipped){ peer, position };
	skipped_again(cq, &cq->skipped[cq->skipped_count - 1], position);
	soft_cq_next(cq);
	return true;
}

/* The next cell is there, but its message waits until the peer has executed it: no longer than the bound (place.c). */
static bool place_look(struct soft_cq *cq, uint64_t head)
{
	if (!soft_place_look(cq)) {
		if (!late_waits(cq, head))
			late_begin(cq, head);
		if (cq->place_held || !soft_bound_over(&cq->late_until, &cq->late_looked))
			return false;
		soft_place_pass(cq);
	}
	late_end(cq);
	return true;
}

bool soft_skip_look(struct soft_cq *cq)
{
	/* relaxed, both: the poll lock is held, and a reservation is looked at again */
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint64_t reservation = atomic_load_explicit(reservation_at(cq, head), memory_order_relaxed);
	struct soft_skipped *skipped;

	if (cq->place_hidden)
		return place_look(cq, head);
	if (SOFT_RESERVED_AHEAD(reservation, head) < 0) {
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
	if (!SOFT_RESERVED_PEER(reservation)) /* a thread of this process is about to publish it */
		return false;
	if (!late_waits(cq, head))
		late_begin(cq, head);
	if (!soft_bound_over(&cq->late_until, &cq->late_looked))
		return false;
	/* a last check, after all this time */
	if (!soft_cq_peek(cq) && !cell_skip(cq, head, reservation))
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

static void late_serve(struct soft_cq *cq)
{
	bool there = false;

	/* if a peer holds up the thread that polls, the next tick tries again */
	if (soft_cq_try(cq)) {
		there = soft_skip_look(cq);
		datp_unlock(soft_cq_lock(cq));
	}
	if (there) {
		/* relaxed: the wake-up below publishes it */
		atomic_store_explicit(&cq->again, true, memory_order_relaxed);
		/* Others may have published behind the cell, and the threads that they woke have found nothing */
		soft_cq_notify(cq);
		soft_ia_wake(cq->ia);
	}
	soft_cq_release(cq);
}

bool soft_skip_serve(struct soft_ia *ia)
{
	struct soft_cq *cq;

	/* relaxed: whoever counts a ring sets the timer afterwards */
	if (!atomic_load_explicit(&ia->late, memory_order_relaxed))
		return false;
	ia->round++;
	while ((cq = soft_cq_hold_next(ia, cq_is_late)))
		late_serve(cq);
	return atomic_load_explicit(&ia->late, memory_order_relaxed);
}
