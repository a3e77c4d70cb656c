/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polling of a queue: takes the cells of its ring, and serves the ports on its ready list (recv.c).
 *
 * Invariant: a poll of the program ends when it has executed requests of peers for POLL_BYTES of the ready list, and as much for
 * the cells, whatever peers have left there, over however many connections. The next poll goes on where this one has ended, so
 * every port and every cell gets its turn. When the queue is drained for another reason, all of it is taken.
 *
 * A program that polls without pause frees the poll lock for a moment only, and peers decide for how long each poll has it. So
 * after a poll that has executed requests of peers the next one does not begin before the service thread, if it has tried the lock
 * in vain, has had it, or a few milliseconds have passed. That thread needs the lock for what other peers wait for, the ends of
 * connections for instance.
 */
#include "polling.h"
#include "coop.h"
#include "cq.h"
#include "established.h"
#include "exec.h"
#include "ia.h"
#include "owed.h"
#include "place.h"
#include "port.h"
#include "progress.h"
#include "recv.h"
#include "setup.h"
#include "skip.h"

#define POLL_BYTES (64ull << 20)

static uint32_t ready_entry(const struct soft_ep *ep, enum soft_side side)
{
	return (ep->index << 1 | (uint32_t)side) + 1;
}

/* This poll has done enough for peers: the next one goes on with this port. Poll lock, EP lock, open. */
static void ready_leave(struct soft_cq *cq, struct soft_ep *ep, enum soft_side side)
{
	if (!cq->resume)
		cq->resume = ready_entry(ep, side);
	soft_ring_mark_ready(cq->ring, ep->port, ep->index, side);
}

/* Serves a port of ours that was on the ready list. Returns as soft_recv_ready(). */
static bool ready_take(struct soft_cq *cq, struct soft_ep *ep, enum soft_side side)
{
	bool again = false;

	if (!soft_ep_try(ep)) {
		/* as if the entry were lost. acq_rel: as in soft_ring_mark_ready() */
		atomic_exchange_explicit(&ep->port->ready_link[side].queued, 1, memory_order_acq_rel);
		soft_owe_ready(ep, side);
		return false;
	}
	if (ep->open && cq->moved >= cq->enough) {
		ready_leave(cq, ep, side);
	} else if (ep->open && side == SOFT_SIDE_RECV) {
		again = soft_recv_ready(cq, ep);
	} else if (ep->open) {
		if ((ep->rest[true] || soft_coop_wanted(ep->port)) && !soft_progress_puts_off(ep, true))
			soft_exec_run(ep, true);
		soft_sq_reap(ep);
	}
	soft_cq_count(cq, ep);
	soft_ep_leave(ep);
	return again;
}

/*
 * Returns the port that an entry of the list names; *next is the link to the next entry. Returns
 * NULL if a peer has written an entry that cannot be: an endpoint leaves the lists before it is
 * freed.
 */
static struct soft_ep *ready_ep(struct soft_cq *cq, uint32_t entry, _Atomic uint32_t **next)
{
	struct soft_ep *ep = soft_port_ep(cq->ia, (entry - 1) >> 1);

	if (ep)
		*next = &ep->port->ready_link[(entry - 1) & 1].next;
	return ep;
}

/*
 * Returns the largest number of entries that a list can have. relaxed: each entry is of a port that
 * was counted before a peer learnt of it.
 */
static uint32_t ready_most(const struct soft_cq *cq)
{
	return 2 * atomic_load_explicit(&cq->ia->port_next, memory_order_relaxed);
}

/* Reverses the list, which begins with the port that came last. *whole becomes false if a part of the list is lost. */
static uint32_t ready_in_order(struct soft_cq *cq, uint32_t entry, bool *whole)
{
	uint32_t before = 0;

	/* a list with more entries than there can be is a cycle that a peer has made */
	for (uint32_t left = ready_most(cq); entry && left; left--) {
		_Atomic uint32_t *next;
		uint32_t behind;

		if (!ready_ep(cq, entry, &next))
			break;
		/* relaxed, both: the link is ours as long as the flag is set */
		behind = atomic_load_explicit(next, memory_order_relaxed);
		if (behind || before)
			atomic_store_explicit(next, before, memory_order_relaxed);
		before = entry;
		entry = behind;
	}
	*whole = !entry;
	return before;
}

/*
 * Takes a port off the list and serves it. Returns false if the port does not say that it is on the
 * list: then it was taken off before. *again becomes true if ready_take() returns true.
 */
static bool ready_serve(struct soft_cq *cq, struct soft_ep *ep, enum soft_side side, bool *again)
{
	/*
	 * This is an exchange, not a store: it acquires from whoever found the flag set and left
	 * (soft_ring_mark_ready()), so the look that follows sees what that thread wrote before.
	 */
	if (!atomic_exchange_explicit(&ep->port->ready_link[side].queued, 0, memory_order_acq_rel))
		return false;
	if (side == SOFT_SIDE_RECV)
		soft_ep_established(ep, ep->gen);
	*again |= ready_take(cq, ep, side);
	return true;
}

/* Returns true if a port says that it is on the list of this queue. */
static bool ready_says(const struct soft_cq *cq, struct soft_ep *ep, enum soft_side side)
{
	bool on;

	if (!soft_ep_try(ep)) {
		soft_owe_ready(ep, side);
		return false;
	}
	/* relaxed: ready_serve() acquires */
	on = ep->open &&
	     cq == (side == SOFT_SIDE_RECV ? soft_ep_recv_cq(ep) : soft_ep_request_cq(ep)) &&
	     atomic_load_explicit(&ep->port->ready_link[side].queued, memory_order_relaxed);
	datp_unlock(&ep->base.lock);
	return on;
}

/*
 * A peer has written an invalid entry into the list, and entries of other peers' ports may be lost
 * behind it. Those ports say that they are on the list, and nobody would put them there again, so
 * this looks at all ports, and the next poll at those to which this does not come, because it has done enough. Returns true if one
 * of them has to be served again.
 */
static __attribute__((noinline)) bool ready_search(struct soft_cq *cq)
{
	uint32_t most = ready_most(cq) / 2, first = cq->searches ? cq->search_from : 0;
	bool again = false;

	cq->searches = false;
	for (uint32_t i = 0; i < most; i++) {
		uint32_t index = (first + i) % most;
		struct soft_ep *ep = soft_port_ep(cq->ia, index);

		if (cq->moved >= cq->enough) {
			cq->searches = true;
			cq->search_from = index;
			break;
		}

		for (enum soft_side side = SOFT_SIDE_RECV; ep && side <= SOFT_SIDE_REQUEST; side++)
			if (ready_says(cq, ep, side))
				(void)ready_serve(cq, ep, side, &again);
	}
	return again;
}

/*
 * Notes which ports are on the list. Under the poll lock nobody takes entries off it, and others
 * only add to its beginning.
 */
static void ready_note(struct soft_cq *cq)
{
	/*
	 * acquire: makes `next` of each entry visible. Whoever adds an entry releases it by a compare-exchange of
	 * this word, and later ones continue its release sequence.
	 */
	uint32_t entry = atomic_load_explicit(&cq->ring->ready_list, memory_order_acquire);

	for (uint32_t left = ready_most(cq); entry && left; left--) {
		_Atomic uint32_t *next;
		struct soft_ep *ep = ready_ep(cq, entry, &next);

		if (!ep)
			break;
		ep->look[(entry - 1) & 1].listed = true;
		entry = atomic_load_explicit(next, memory_order_relaxed);
	}
}

void soft_ready_find(struct soft_cq *cq)
{
	uint32_t most = ready_most(cq) / 2;
	bool again = false; /* not used: such a port is on the list, for the next poll */

	if (!soft_cq_try(cq)) {
		soft_owe_find(cq);
		return;
	}
	cq->moved = 0;
	cq->enough = UINT64_MAX;
	if (cq->ring)
		ready_note(cq);
	for (uint32_t index = 0; index < most; index++) {
		struct soft_ep *ep = soft_port_ep(cq->ia, index);

		for (enum soft_side side = SOFT_SIDE_RECV; ep && side <= SOFT_SIDE_REQUEST; side++) {
			/*
			 * A peer that has set the flag and not changed the list yet adds the port
			 * later, when it has been served. That looks like a corrupted list, and
			 * causes one search.
			 */
			if (ep->look[side].waited && !ep->look[side].listed && ready_says(cq, ep, side))
				(void)ready_serve(cq, ep, side, &again);
			ep->look[side].listed = false;
		}
	}
	datp_unlock(soft_cq_lock(cq));
}

/* Returns the entry at which the last poll has ended, if it is on the list, or else the first one. */
static uint32_t ready_start(struct soft_cq *cq, uint32_t first)
{
	uint32_t entry = first, wanted = cq->resume;

	cq->resume = 0;
	for (uint32_t left = wanted ? ready_most(cq) : 0; entry && entry != wanted && left; left--) {
		_Atomic uint32_t *next;

		entry = ready_ep(cq, entry, &next) ? atomic_load_explicit(next, memory_order_relaxed) : 0;
	}
	return entry == wanted && wanted ? entry : first;
}

/*
 * Serves the ports on the list from one entry to another, or to the end. Returns 0, or, if a part of the list is lost, the entry
 * where it ends.
 */
static uint32_t ready_serve_part(struct soft_cq *cq, uint32_t entry, uint32_t end, bool *again)
{
	for (uint32_t left = ready_most(cq); entry && entry != end && left; left--) {
		enum soft_side side = (entry - 1) & 1;
		_Atomic uint32_t *next;
		struct soft_ep *ep = ready_ep(cq, entry, &next);
		uint32_t behind;

		if (!ep)
			break;
		behind = atomic_load_explicit(next, memory_order_relaxed);
		if (!ready_serve(cq, ep, side, again))
			break;
		entry = behind;
	}
	return entry == end ? 0 : entry;
}

/* Serves the ports on the list. Returns true if one of them has to be served again. */
static bool ready_poll(struct soft_cq *cq)
{
	uint32_t first = soft_cq_take_ready_list(cq), start, lost;
	bool again = false, whole;

	if (!first && !cq->searches)
		return false;
	first = ready_in_order(cq, first, &whole);
	start = ready_start(cq, first);
	lost = ready_serve_part(cq, start, 0, &again);
	if (__builtin_expect(start != first && !lost, 0))
		lost = ready_serve_part(cq, first, start, &again);
	if (__builtin_expect(lost || !whole || cq->searches, 0))
		again |= ready_search(cq);
	return again;
}

/* Takes cells until there is a completion to return or this has done enough for peers. */
static void cells_poll(struct soft_cq *cq, struct datp_completion *out, int *n, uint32_t *left)
{
	struct soft_cell *cell;

	while (!*n && *left && cq->moved < cq->enough && (cell = soft_cq_peek(cq))) {
		--*left;
		if (!soft_recv_cell(cq, cell, out, n)) {
			soft_place_hide(cq);
			break;
		}
		if (cq->skipped_count)
			soft_skip_pass(cq);
		soft_cq_next(cq);
	}
}

/*
 * Polls until there is a completion to return, or nothing more to do. It returns one at a time,
 * because what the next cell puts on libdatp's list would overtake it. Without `out`, all
 * completions go to the list, and it does not end because it has done enough.
 */
static int cq_poll(struct soft_cq *cq, struct datp_completion *out)
{
	/* peers may fill the ring and its list as fast as they are emptied; a call ends nevertheless */
	uint32_t left = 2 * (cq->mask + 1);
	uint64_t by_ready = 0, by_cells = 0;
	bool again, enough;
	int n = 0;

	cq->enough = out ? POLL_BYTES : UINT64_MAX;
	if (__builtin_expect(cq->place_hidden, 0))
		(void)soft_place_look(cq);
	do {
		cq->moved = by_ready;
		again = ready_poll(cq);
		by_ready = cq->moved;
		soft_cq_clear_service(cq);
		cq->moved = by_cells;
		cells_poll(cq, out, &n, &left);
		by_cells = cq->moved;
		enough = by_ready >= cq->enough || by_cells >= cq->enough;
		if (!n && !again)
			again = soft_skip_look(cq);
		/* again is true because there was a cell, unless a peer has taken it away: so each round counts */
	} while (again && !n && !enough && left && --left);
	if (__builtin_expect(enough && !n, 0))
		soft_cq_look_again(cq);
	/* relaxed: a hint, see soft_evd_pending() */
	if (__builtin_expect((by_ready || by_cells) && datp_turn_is_wanted(soft_cq_lock(cq)), 0))
		atomic_store_explicit(&cq->turn, true, memory_order_relaxed);
	return n;
}

void soft_cq_give_turn(struct soft_cq *cq)
{
	/* an agent of the program may poll on the service thread itself */
	if (!datp_loop_inside(&cq->ia->base))
		datp_turn_give(soft_cq_lock(cq));
	/* afterwards, so that another thread that polls waits as well. relaxed: what a poll has just set, a later one sets again */
	atomic_store_explicit(&cq->turn, false, memory_order_relaxed);
}

int soft_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n)
{
	(void)n; /* at least 1 */
	return cq_poll(&soft_evd(evd)->cq, out);
}

bool soft_cq_drain(struct soft_cq *cq)
{
	bool waits;

	if (!soft_cq_try(cq))
		return false;
	if (cq->ring)
		cq_poll(cq, NULL);
	waits = cq->place_hidden && cq->place_held;
	datp_unlock(soft_cq_lock(cq));
	return !waits;
}

void soft_cq_discard(struct soft_cq *cq)
{
	/* as in cq_poll(): peers may fill it as fast as it is emptied */
	uint32_t left = 2 * (cq->mask + 1);
	struct soft_cell *cell;

	soft_place_pass(cq);
	while (left-- && (cell = soft_cq_peek(cq))) {
		soft_cell_drop(cq->ia, cell);
		if (cq->skipped_count)
			soft_skip_pass(cq);
		soft_cq_next(cq);
	}
}
