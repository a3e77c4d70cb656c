/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places in the order of completions. A cell keeps the place of a message that passes through the
 * request queue. When the owner takes that cell, the message is done, or the owner executes it; but
 * the peer may be executing it just then, and may be interrupted in the middle of it. The ring must
 * not go on to the messages behind it, because their completions would overtake this one.
 *
 * So the owner hides the cell: it makes the cell look like one that is not published yet. Pollers
 * then find nothing, threads that wait sleep, and the cells behind it stay. The peer wakes the owner
 * when it has executed the message, as for every message. A peer that is stopped holds up the ring
 * for no longer than the bound, and only once for each connection; and those messages of a peer that take long do so together.
 *
 * The service thread hides a cell, too, if it cannot have the lock of the endpoint, because a peer holds up the thread that has it
 * (owed.c), or if the progress thread has to execute the message first (progress.c). Such a cell is hidden until the lock can be
 * had and the progress thread has tried.
 *
 * Invariant: while soft_cq.place_hidden is set, the cell at the head is hidden, or
 * soft_cqs_reclaim() has published it as void, because its sender has died.
 */
#include "place.h"
#include "bound.h"
#include "conn.h"
#include "cq.h"
#include "owed.h"
#include "port.h"
#include "progress.h"
#include "recv.h"
#include "setup.h"

static struct soft_cell *head_cell(const struct soft_cq *cq, uint64_t *head)
{
	/* relaxed: the poll lock is held */
	*head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	return &cq->ring->cell[*head & cq->mask];
}

/* Returns true if the peer holds the execution lock of its sends to us. */
static bool peer_executes(const struct soft_ep *ep)
{
	/* acquire: makes visible what the peer had executed when it released the execution lock */
	uint64_t word = atomic_load_explicit(&ep->rport->exec_lock, memory_order_acquire);

	return SOFT_EXEC_GEN(word) == ep->rgen && (word & SOFT_EXEC_HELD) && !(word & SOFT_EXEC_TARGET);
}

/* Returns true if messages that the peer executes have held up rings for too long lately. */
static bool has_spent(const struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool spent;

	datp_lock(&ia->lock);
	spent = soft_has_spent_locked(ia, &ep->peer->places);
	datp_unlock(&ia->lock);
	return spent;
}

bool soft_place_waits(const struct soft_ep *ep, uint32_t msg)
{
	/* in this order: a peer that has released the execution lock has left its results before that */
	return !ep->place_expired && !ep->withheld.wqe && peer_executes(ep) && soft_recv_is_ahead(ep, msg) &&
	       !soft_recv_filled(ep) && !has_spent(ep);
}

void soft_place_hide(struct soft_cq *cq)
{
	uint64_t head;
	struct soft_cell *cell = head_cell(cq, &head);

	/* relaxed: the sender of the cell has published it and does not write it again */
	atomic_store_explicit(&cell->ready, 0, memory_order_relaxed);
	cq->place_hidden = true;
}

static void show(struct soft_cq *cq)
{
	uint64_t head;
	struct soft_cell *cell = head_cell(cq, &head);

	soft_ring_publish(cell, head);
	cq->place_hidden = false;
	soft_place_held(cq, false);
}

/*
 * Returns the endpoint whose message waits, with its lock held, or NULL if the cell is of a
 * connection that has ended, or if this is the service thread, and cannot have the lock or leaves the message to the progress
 * thread (place_held).
 */
static struct soft_ep *lock_ep(struct soft_cq *cq, const struct soft_cell *cell)
{
	struct soft_ep *ep = soft_port_ep(cq->ia, SOFT_ONCE(cell->port));

	soft_place_held(cq, ep && ((soft_progress_is_due(ep) && datp_loop_inside(&cq->ia->base)) || !soft_ep_try(ep)));
	if (!ep || cq->place_held)
		return NULL;
	if (ep->open && !ep->failing && ep->gen == SOFT_ONCE(cell->gen) && !ep->base.srq && soft_ep_recv_cq(ep) == cq)
		return ep;
	datp_unlock(&ep->base.lock);
	return NULL;
}

bool soft_place_put_off(struct soft_cq *cq)
{
	uint64_t head;

	(void)head_cell(cq, &head);
	if (cq->place_put_off == head + 1)
		return false;
	cq->place_put_off = head + 1;
	soft_place_held(cq, true);
	return true;
}

bool soft_place_look(struct soft_cq *cq)
{
	uint64_t head;
	struct soft_cell *cell;
	struct soft_ep *ep;
	bool waits = false;

	if (!cq->place_hidden)
		return false;
	cell = head_cell(cq, &head);
	ep = lock_ep(cq, cell);
	if (ep) {
		waits = cell->kind != SOFT_CELL_MESSAGE && soft_place_waits(ep, SOFT_ONCE(cell->msg));
		cq->place_sender = ep->peer->sender_id;
		datp_unlock(&ep->base.lock);
	}
	waits = waits || cq->place_held;
	if (!waits)
		show(cq);
	return !waits;
}

void soft_place_pass(struct soft_cq *cq)
{
	uint64_t head;
	struct soft_ep *ep;

	if (!cq->place_hidden)
		return;
	ep = lock_ep(cq, head_cell(cq, &head));
	if (ep) {
		ep->place_expired = true;
		datp_unlock(&ep->base.lock);
	}
	show(cq);
}
