/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiving half of an endpoint. Receives complete in posting order, in two ways: a short
 * message comes as a cell of the ring and is copied here; a long one was copied by the engine, on
 * either side, which left its result in the receive's descriptor. A message that finds no receive
 * is parked, or, if it could not even leave its sender's queue, waits there.
 */
#include "recv.h"
#include "bound.h"
#include "conn.h"
#include "cq.h"
#include "engine.h"
#include "held.h"
#include "joint.h"
#include "mr.h"
#include "opening.h"
#include "peer.h"
#include "port.h"
#include "quiesce.h"
#include "request.h"
#include "srq.h"
#include "tick.h"
#include "window.h"
#include "xfer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_TURNS 4 /* a peer may post as fast as this side executes: so often it is looked for more */

/* Copies a message into a receive's list; the receive's status. */
static uint8_t receive_copy(struct soft_ep *ep, uint32_t pz, const struct datp_sge *sge, int n,
			    const struct soft_payload *p)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	if (p->len > soft_sge_room(sge, n))
		return DAT_DTO_ERR_LOCAL_LENGTH;
	/* the region may have been freed since the post */
	if (soft_mr_check_iov(ia->own, pz, sge, n, true))
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	soft_scatter(sge, n, p->data, p->len);
	return DAT_DTO_SUCCESS;
}

/*
 * Completes a receive: through libdatp's list, or, for the poll that is waiting for just this, into
 * *out.
 */
static void receive_done(struct soft_ep *ep, struct datp_wqe *wqe, uint8_t status, uint64_t len,
			 bool solicited, struct datp_completion *out, int *n)
{
	soft_recv_count(ep);
	/* acquire: what was on the list has been given back */
	if (out && ep->base.recv_evd &&
	    !atomic_load_explicit(&ep->base.recv_evd->queued, memory_order_acquire)) {
		datp_wqe_finish(wqe, status, len);
		out[(*n)++] = (struct datp_completion){ wqe, len, status, solicited };
	} else {
		datp_wqe_done(wqe, status, len, solicited);
	}
	if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED)
		soft_ep_fail(ep);
}

/*
 * The receive that the next message gets, or NULL. *sge, *count: its list, as a copy; an empty one,
 * if the peer has written to it what cannot be.
 */
static struct datp_wqe *receive_next(struct soft_ep *ep, const struct datp_sge **sge, int *count,
				     uint32_t *pz)
{
	struct datp_wq *rq = &ep->base.rq;
	struct soft_desc *desc;

	if (ep->base.srq)
		return soft_srq_take(ep, sge, count, pz);
	if (rq->finished == rq->posted)
		return NULL;
	desc = soft_port_desc(ep->port, &ep->layout, rq->finished);
	*count = (int)SOFT_ONCE(desc->n);
	if (!soft_sge_copy(ep->sink, desc->sge, (uint32_t)*count, ep->layout.rq_stride,
			   sizeof *desc))
		*count = 0;
	*sge = ep->sink;
	*pz = soft_pz_id(ep->base.pz);
	return &rq->ring[rq->finished & rq->mask];
}

/*
 * A receive that the engine has filled. What is said of it both sides can write to, and the program
 * believes what we say: so it is nothing that cannot be.
 */
static void deliver_filled(struct soft_ep *ep, struct datp_wqe *wqe, const struct soft_desc *desc)
{
	uint64_t len = SOFT_ONCE(desc->len);
	uint8_t status = soft_status(SOFT_ONCE(desc->status));

	if (status == DAT_DTO_SUCCESS && len > wqe->len)
		status = DAT_DTO_ERR_TRANSPORT;
	receive_done(ep, wqe, status, len, SOFT_ONCE(desc->solicited), NULL, NULL);
}

/* Completes the oldest receive, if the engine has filled it. */
static bool deliver_one(struct soft_ep *ep)
{
	struct datp_wq *rq = &ep->base.rq;
	struct soft_desc *desc;

	if (ep->base.srq || rq->finished == rq->posted || ep->failing)
		return false;
	desc = soft_port_desc(ep->port, &ep->layout, rq->finished);
	/* acquire: the data and the result */
	if (atomic_load_explicit(&desc->state, memory_order_acquire) != SOFT_DESC_DONE)
		return false;
	atomic_store_explicit(&desc->state, SOFT_DESC_POSTED, memory_order_relaxed);
	deliver_filled(ep, &rq->ring[rq->finished & rq->mask], desc);
	return true;
}

/* Completes all receives that the engine has filled, up to one that waits for a short message. */
static void deliver_done(struct soft_ep *ep)
{
	while (deliver_one(ep))
		;
}

/* Whether a message before this one has not been completed, and has a receive. A peer may name any. */
static bool is_ahead(const struct soft_ep *ep, uint32_t msg)
{
	return msg - ep->in_msg - 1 < ep->base.rq.posted - ep->base.rq.finished;
}

/* The same, of messages before this one. What comes behind has its own turn. */
static void deliver_before(struct soft_ep *ep, uint32_t msg)
{
	while (is_ahead(ep, msg) && deliver_one(ep))
		;
}

void soft_recv_flush(struct soft_ep *ep)
{
	deliver_done(ep);
}

static void parked_free(struct soft_parked *m)
{
	soft_payload_drop(&m->payload);
	free(m);
}

static void deliver_parked(struct soft_ep *ep)
{
	const struct datp_sge *sge;
	uint32_t pz;
	int count;

	while (ep->parked && !ep->failing) {
		struct soft_parked *m = ep->parked;
		const struct soft_payload *p = &m->payload;
		struct datp_wqe *wqe = receive_next(ep, &sge, &count, &pz);
		uint8_t status;

		if (!wqe)
			break;
		status = receive_copy(ep, pz, sge, count, p);
		ep->parked = m->next;
		if (!ep->parked)
			ep->parked_end = &ep->parked;
		ep->parked_count--;
		receive_done(ep, wqe, status, p->len, p->solicited, NULL, NULL);
		parked_free(m);
	}
}

void soft_recv_discard(struct soft_ep *ep)
{
	while (ep->parked) {
		struct soft_parked *m = ep->parked;

		ep->parked = m->next;
		parked_free(m);
	}
	ep->parked_end = &ep->parked;
	ep->parked_count = 0;
}

void soft_recv_progress(struct soft_ep *ep)
{
	unsigned int turns = PROGRESS_TURNS;
	bool more = ep->open;

	while (more && !ep->failing) {
		deliver_parked(ep);
		/* acquire: requests that wait at the peer for us */
		more = atomic_load_explicit(&ep->rport->sq_posted, memory_order_acquire) !=
			       atomic_load_explicit(&ep->rport->sq_done, memory_order_relaxed) &&
		       soft_engine_run(ep, false) && !ep->rest[false];
		if (more && !--turns) {
			soft_engine_later(ep, false);
			return;
		}
	}
}

void soft_recv_tell(struct soft_ep *ep, uint32_t msg)
{
	struct soft_cq *cq = soft_ep_recv_cq(ep);

	if (!soft_cq_tell(cq, ep->index, ep->gen, msg)) {
		ep->told = msg;
		soft_ring_attend(cq->ring, ep->port, ep->index, SOFT_SIDE_RECV);
	}
	soft_cq_notify(cq);
}

/* Keeps a message until a receive is posted. */
static void message_park(struct soft_ep *ep, const struct soft_payload *payload)
{
	struct soft_parked *m;

	if (ep->parked_count >= SOFT_WINDOW) { /* its sender has no credit for it */
		soft_ep_spoiled(ep);
		return;
	}
	m = malloc(sizeof *m);
	if (!m) {
		datp_log(
			1,
			"soft: no memory to keep a message that no receive was posted for; the connection ends");
		soft_ep_fail(ep);
		return;
	}
	m->next = NULL;
	m->payload = *payload;
	if (!m->payload.slot) { /* the cell is used for another message next */
		soft_copy_short(m->data, payload->data, payload->len);
		m->payload.data = m->data;
	}
	*ep->parked_end = m;
	ep->parked_end = &m->next;
	ep->parked_count++;
}

/* What had to be left behind a message that has been taken now. */
static void catch_up(struct soft_ep *ep)
{
	if (!ep->base.srq) {
		deliver_before(ep, ep->told);
		ep->pull = is_ahead(ep, ep->told);
	}
	soft_recv_progress(ep);
}

/* A short message goes to its receive, or is parked. EP lock. */
static void message_take(struct soft_ep *ep, struct soft_cell *cell, struct datp_completion *out,
			 int *n)
{
	const struct datp_sge *sge;
	struct datp_wqe *wqe;
	struct soft_payload p;
	uint8_t status;
	uint32_t pz;
	bool more;
	int count;

	if (!soft_payload_get(ep->peer, cell, &p)) {
		soft_ep_spoiled(ep);
		return;
	}
	deliver_done(ep); /* long messages before it */
	wqe = ep->parked ? NULL : receive_next(ep, &sge, &count, &pz);
	if (!wqe) {
		message_park(ep, &p);
		return;
	}
	more = ep->pull; /* and must not overtake it */
	status = receive_copy(ep, pz, sge, count, &p);
	receive_done(ep, wqe, status, p.len, p.solicited, more ? NULL : out, n);
	soft_payload_drop(&p);
	if (more)
		catch_up(ep);
}

/* A cell that tells of messages before this one. EP lock. */
static void told_take(struct soft_ep *ep, uint32_t msg)
{
	if (ep->base.srq) {
		if ((int32_t)(msg - ep->told) > 0)
			ep->told = msg;
		soft_recv_progress(ep);
		return;
	}
	deliver_before(ep, msg);
	if (is_ahead(ep, msg)) /* what is not done yet waits for this side */
		soft_recv_progress(ep);
	deliver_before(ep, msg);
}

/* A cell for an endpoint that has been freed, or whose connection has ended. */
static void cell_drop(struct soft_ia *ia, const struct soft_cell *cell)
{
	struct soft_peer *peer;
	struct soft_slot *slot;

	if (cell->kind != SOFT_CELL_MESSAGE || !(cell->flags & SOFT_CELL_SLOT))
		return;
	datp_lock(&ia->lock);
	peer = soft_peer_by_slot(ia, cell->from);
	slot = peer ? soft_peer_slot(peer, SOFT_ONCE(cell->slot)) : NULL;
	if (slot)
		soft_slot_drop(slot);
	datp_unlock(&ia->lock);
}

static void cell_take(struct soft_cq *cq, struct soft_cell *cell, struct datp_completion *out,
		      int *n)
{
	struct soft_ep *ep;
	bool mine;

	if (cell->kind == SOFT_CELL_VOID)
		return;
	ep = soft_port_ep(cq->ia, cell->port);
	if (!ep) {
		cell_drop(cq->ia, cell);
		return;
	}
	soft_ep_heard(
		ep,
		cell->gen); /* data says that the peer is established, if nothing else has yet */
	datp_lock(&ep->base.lock);
	/*
	 * Its own ring: else what is returned would be an event of another queue, which nobody keeps
	 * for who frees the endpoint
	 */
	mine = ep->open && !ep->failing && ep->gen == cell->gen && soft_ep_recv_cq(ep) == cq;
	if (mine && cell->kind == SOFT_CELL_MESSAGE)
		message_take(ep, cell, out, n);
	else if (mine)
		told_take(ep, SOFT_ONCE(cell->msg));
	datp_unlock(&ep->base.lock);
	if (!mine)
		cell_drop(cq->ia, cell);
}

void soft_bind_forget(struct soft_ep *ep)
{
	if (!ep->bind_until)
		return;
	ep->bind_until = 0;
	atomic_fetch_sub_explicit(&soft_ia(ep->base.obj.ia)->binds_wait, 1, memory_order_relaxed);
}

/*
 * Whether nobody is any more at what a window was bound to before: it completes then. Else the tick comes back to it. A
 * peer that does not let go within the bound loses its right.
 */
static bool bind_is_quiet(struct soft_ep *ep, uint32_t old)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool late = ep->bind_until && soft_now_ms() >= ep->bind_until;

	/* at the end the ports are closed */
	if (!ep->open || soft_mr_quiet(ia, old & ~SOFT_MR_BINDING, late) || late) {
		soft_bind_forget(ep);
		return true;
	}
	if (!ep->bind_until) {
		ep->bind_until = soft_bound(ia);
		atomic_fetch_add_explicit(&ia->binds_wait, 1, memory_order_relaxed);
		soft_tick_set(ia);
	}
	return false;
}

void soft_sq_reap(struct soft_ep *ep)
{
	struct datp_wq *sq = &ep->base.sq;
	/* acquire: statuses, and what a read brought */
	uint32_t done = atomic_load_explicit(&ep->port->sq_done, memory_order_acquire);

	/* what waits in the queue has nothing unfinished before it: so it is the next of ours */
	while (ep->sq_reaped != done && sq->finished != sq->posted) {
		const struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, ep->sq_reaped);
		struct datp_wqe *wqe = &sq->ring[sq->finished & sq->mask];
		uint8_t status = soft_status(SOFT_ONCE(e->status));

		if (wqe->op == DATP_BIND && e->bind_old && !bind_is_quiet(ep, SOFT_ONCE(e->bind_old)))
			break;
		if (wqe->op == DATP_BIND && status == DAT_DTO_SUCCESS)
			soft_window_settle(soft_ia(ep->base.obj.ia), wqe);
		ep->sq_reaped++;
		datp_wqe_done(wqe, status, wqe->len, false);
		if (status != DAT_DTO_SUCCESS)
			soft_ep_fail(ep);
	}
	if (ep->draining &&
	    ep->sq_reaped == atomic_load_explicit(&ep->port->sq_posted, memory_order_relaxed))
		soft_ep_drained(ep);
}

/*
 * A cell of our own keeps the turn, behind the cells that are there, of what no other cell tells of. Returns true if the ring
 * has no room for it yet; the port is on the list again then. Poll lock, EP lock.
 */
static bool attention_keep_turn(struct soft_cq *cq, struct soft_ep *ep)
{
	if (soft_cq_tell(soft_ep_recv_cq(ep), ep->index, ep->gen, ep->told)) {
		soft_cq_notify(soft_ep_recv_cq(ep));
		return false;
	}
	if (soft_cq_peek(cq)) {
		soft_ring_attend(cq->ring, ep->port, ep->index, SOFT_SIDE_RECV);
		return true;
	}
	/* all that has come has been taken, except for what a sender has claimed a cell for and not published yet */
	ep->pull = true;
	catch_up(ep);
	return false;
}

/*
 * A peer has something for our receives that no cell tells of, or that the peer was at when its cell was taken. This helps at
 * once; what is done completes, and what waits for a buffer of our SRQ gets one, when its turn comes. As
 * attention_keep_turn().
 */
static bool attention_receive(struct soft_cq *cq, struct soft_ep *ep)
{
	/* relaxed: acquired with the flag, see attention_poll() */
	uint32_t told = atomic_load_explicit(&ep->port->told, memory_order_relaxed);

	if (ep->base.srq) {
		/* a message whose turn has come, and passed */
		if ((int32_t)(ep->told - ep->in_msg) > 0)
			soft_recv_progress(ep);
		ep->pull = true;
		return attention_keep_turn(cq, ep);
	}
	soft_recv_progress(ep);
	if (is_ahead(ep, told) && !(is_ahead(ep, ep->told) && (int32_t)(ep->told - told) > 0))
		ep->told = told;
	return is_ahead(ep, ep->told) && attention_keep_turn(cq, ep);
}

/* A port of ours that somebody put on the attention list. True: as attention_receive(). */
static bool attention_take(struct soft_cq *cq, struct soft_ep *ep, enum soft_side side)
{
	bool again = false;

	datp_lock(&ep->base.lock);
	if (ep->open && side == SOFT_SIDE_RECV) {
		again = attention_receive(cq, ep);
	} else if (ep->open) {
		if (ep->rest[true] || soft_joint_wanted(ep->port))
			soft_engine_run(ep, true);
		soft_sq_reap(ep);
	}
	datp_unlock(&ep->base.lock);
	return again;
}

/*
 * The port that an entry of the list names, and where the next entry is. NULL: cannot be, as an endpoint leaves the
 * lists before it goes.
 */
static struct soft_ep *attention_of(struct soft_cq *cq, uint32_t entry, _Atomic uint32_t **next)
{
	struct soft_ep *ep = soft_port_ep(cq->ia, (entry - 1) >> 1);

	if (ep)
		*next = &ep->port->attention[(entry - 1) & 1].next;
	return ep;
}

/* So many entries a list has at most. Relaxed: each is of a port that was counted before it could be told of. */
static uint32_t attention_most(const struct soft_cq *cq)
{
	return 2 * atomic_load_explicit(&cq->ia->port_next, memory_order_relaxed);
}

/* The list begins with the port that came last: this turns it round. *whole becomes false if a part of it is lost. */
static uint32_t attention_in_order(struct soft_cq *cq, uint32_t entry, bool *whole)
{
	uint32_t before = 0;

	/* more than there can be is a ring that somebody has made of the list */
	for (uint32_t left = attention_most(cq); entry && left; left--) {
		_Atomic uint32_t *next;
		uint32_t behind;

		if (!attention_of(cq, entry, &next))
			break;
		/* relaxed, both: ours, as long as the flag is set */
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
 * Takes a port off the list, and does what it is there for. Returns false if the port does not say that it is on the list: then
 * it has been taken off before. *again becomes true as attention_receive().
 */
static bool attention_serve(struct soft_cq *cq, struct soft_ep *ep, enum soft_side side, bool *again)
{
	/*
	 * An exchange, not a store: it acquires from whoever found the flag set and left
	 * (soft_ring_attend), so the look that follows sees what that one did before.
	 */
	if (!atomic_exchange_explicit(&ep->port->attention[side].queued, 0, memory_order_acq_rel))
		return false;
	if (side == SOFT_SIDE_RECV)
		soft_ep_heard(ep, ep->gen);
	*again |= attention_take(cq, ep, side);
	return true;
}

/* Whether a port says that it is on the list of this queue. */
static bool attention_claims(const struct soft_cq *cq, struct soft_ep *ep, enum soft_side side)
{
	bool on;

	datp_lock(&ep->base.lock);
	/* relaxed: attention_serve() acquires */
	on = ep->open &&
	     cq == (side == SOFT_SIDE_RECV ? soft_ep_recv_cq(ep) : soft_ep_request_cq(ep)) &&
	     atomic_load_explicit(&ep->port->attention[side].queued, memory_order_relaxed);
	datp_unlock(&ep->base.lock);
	return on;
}

/*
 * A peer has written into the list what is no entry, and behind that may have been ports of other
 * peers. Those say of themselves that they are on the list, and nobody would put them there again.
 * True: as attention_receive().
 */
static __attribute__((noinline)) bool attention_search(struct soft_cq *cq)
{
	uint32_t most = attention_most(cq) / 2;
	bool again = false;

	for (uint32_t index = 0; index < most; index++) {
		struct soft_ep *ep = soft_port_ep(cq->ia, index);

		for (enum soft_side side = SOFT_SIDE_RECV; ep && side <= SOFT_SIDE_REQUEST; side++)
			if (attention_claims(cq, ep, side))
				(void)attention_serve(cq, ep, side, &again);
	}
	return again;
}

/* Notes which ports are on the list. Poll lock, so nobody takes any of it, and others only add to its beginning. */
static void attention_note(struct soft_cq *cq)
{
	/*
	 * acquire: `next` of each entry. Whoever adds one releases it to this word by a compare-exchange, and those that
	 * follow continue its release sequence.
	 */
	uint32_t entry = atomic_load_explicit(&cq->ring->attention, memory_order_acquire);

	for (uint32_t left = attention_most(cq); entry && left; left--) {
		_Atomic uint32_t *next;
		struct soft_ep *ep = attention_of(cq, entry, &next);

		if (!ep)
			break;
		ep->look[(entry - 1) & 1].listed = true;
		entry = atomic_load_explicit(next, memory_order_relaxed);
	}
}

void soft_attention_find(struct soft_cq *cq)
{
	uint32_t most = attention_most(cq) / 2;
	bool again;

	datp_lock(soft_cq_lock(cq));
	if (cq->ring)
		attention_note(cq);
	for (uint32_t index = 0; index < most; index++) {
		struct soft_ep *ep = soft_port_ep(cq->ia, index);

		for (enum soft_side side = SOFT_SIDE_RECV; ep && side <= SOFT_SIDE_REQUEST; side++) {
			/*
			 * A peer that is between the flag and the list adds the port later, and it has been served by then.
			 * That looks as if the list were spoilt, and is searched for once.
			 */
			if (ep->look[side].waited && !ep->look[side].listed && attention_claims(cq, ep, side))
				(void)attention_serve(cq, ep, side, &again);
			ep->look[side].listed = false;
		}
	}
	datp_unlock(soft_cq_lock(cq));
}

/* True: as attention_receive(). */
static bool attention_poll(struct soft_cq *cq)
{
	uint32_t entry = soft_cq_attention(cq);
	bool again = false, whole;

	if (!entry)
		return false;
	entry = attention_in_order(cq, entry, &whole);
	for (uint32_t left = attention_most(cq); entry && left; left--) {
		enum soft_side side = (entry - 1) & 1;
		_Atomic uint32_t *next;
		struct soft_ep *ep = attention_of(cq, entry, &next);
		uint32_t behind;

		if (!ep)
			break;
		behind = atomic_load_explicit(next, memory_order_relaxed);
		if (!attention_serve(cq, ep, side, &again))
			break;
		entry = behind;
	}
	if (__builtin_expect(entry || !whole, 0))
		again |= attention_search(cq);
	return again;
}

/*
 * Polls until there is a completion to return, or nothing more to do. One at a time: what the next
 * cell puts on libdatp's list would overtake it. Without `out`, all of it goes to the list.
 */
static int cq_poll(struct soft_cq *cq, struct datp_completion *out)
{
	/* a peer may fill the ring, and its list, as fast as they are emptied: a call ends all the same */
	uint32_t left = 2 * (cq->mask + 1);
	struct soft_cell *cell;
	bool again;
	int n = 0;

	do {
		again = attention_poll(cq);
		soft_cq_answer(cq);
		while (!n && left && (cell = soft_cq_peek(cq))) {
			left--;
			cell_take(cq, cell, out, &n);
			if (cq->held_count)
				soft_held_pass(cq);
			soft_cq_next(cq);
		}
		if (!n && !again)
			again = soft_held_look(cq);
		/* there was a cell then, unless a peer has taken it away: so each time round counts */
	} while (again && !n && left && --left);
	return n;
}

int soft_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n)
{
	(void)n; /* at least 1 */
	return cq_poll(&soft_evd(evd)->cq, out);
}

void soft_cq_drain(struct soft_cq *cq)
{
	datp_lock(soft_cq_lock(cq));
	if (cq->ring)
		cq_poll(cq, NULL);
	datp_unlock(soft_cq_lock(cq));
}

void soft_cq_discard(struct soft_cq *cq)
{
	/* as in cq_poll(): peers may go on filling it */
	uint32_t left = 2 * (cq->mask + 1);
	struct soft_cell *cell;

	while (left-- && (cell = soft_cq_peek(cq))) {
		cell_drop(cq->ia, cell);
		if (cq->held_count)
			soft_held_pass(cq);
		soft_cq_next(cq);
	}
}

enum datp_err soft_post_recv(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n)
{
	struct soft_ep *ep = soft_ep(base);
	enum datp_err err =
		soft_mr_check_iov(soft_ia(base->obj.ia)->own, soft_pz_id(base->pz), iov, n, true);

	if (err)
		return err;
	soft_desc_post(ep, wqe->seq, iov, n);
	if (ep->soft_mark >= 0 || ep->hard_mark >= 0)
		soft_ep_marks(ep);
	if (ep->open && soft_desc_wanted(ep))
		soft_recv_progress(ep);
	return DATP_OK;
}

bool soft_srq_pull(struct soft_ep *ep, uint32_t from_pz, const struct soft_request *r,
		   uint8_t *status)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_list to, source;
	const struct datp_sge *sge;
	struct datp_wqe *wqe;
	/* relaxed: the engine is held, for the request that is next */
	struct soft_right right = { .open = &ep->rport->open,
				    .gen = ep->rgen,
				    .port = ep->rindex,
				    .seq = atomic_load_explicit(&ep->rport->sq_done,
								memory_order_relaxed) };
	uint8_t result = DAT_DTO_SUCCESS;
	int error, count;
	uint32_t pz;

	/* the cell that keeps its turn is still to come */
	if (r->turn && (int32_t)(r->msg - ep->told) >= 0)
		return false;
	/* its turn comes after the short messages before it, which may still be in the ring */
	ep->pull = true;
	if (r->msg != ep->in_msg)
		return false;
	if (soft_mr_check_iov(ep->peer->mr, from_pz, r->sge, (int)r->n, false)) {
		*status = DAT_DTO_ERR_LOCAL_PROTECTION;
		return true;
	}
	wqe = soft_srq_take(ep, &sge, &count, &pz);
	if (!wqe)
		return false;
	ep->pull = false;
	if (r->len > soft_sge_room(sge, count)) {
		result = DAT_DTO_ERR_LOCAL_LENGTH;
	} else if (soft_mr_check_iov(ia->own, pz, sge, count, true)) {
		result = DAT_DTO_ERR_LOCAL_PROTECTION;
	} else {
		soft_list_sge(&to, sge, count);
		soft_list_sge(&source, r->sge, (int)r->n);
		source.right = &right;
		error = soft_xfer(ep->peer, false, false, &to, &source, r->len);
		if (error == ETIMEDOUT)
			soft_ep_unanswered(ep);
		/* a peer that has just ended the connection has taken the right away: that is no error */
		if (error)
			result = error == ESRCH ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_TRANSPORT;
	}
	if (result != DAT_DTO_SUCCESS)
		*status = DAT_DTO_ERR_REMOTE_RESPONDER;
	receive_done(ep, wqe, result, r->len, r->solicited, NULL, NULL);
	return true;
}
