/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiving half of an endpoint. Receives complete in posting order, in two ways: an eager
 * message comes as a cell of the ring and is copied here; a message from the sender's request queue
 * was copied by the executor, on either side, which left its result in the receive's descriptor. An
 * eager message that finds no receive is kept as unexpected; any other message waits in its
 * sender's queue.
 */
#include "recv.h"
#include "conn.h"
#include "cq.h"
#include "established.h"
#include "exec.h"
#include "mr.h"
#include "owed.h"
#include "polling.h"
#include "port.h"
#include "progress.h"
#include "request.h"
#include "send.h"
#include "setup.h"
#include "srq.h"
#include "place.h"
#include "unready.h"
#include "window.h"
#include "withheld.h"
#include "xfer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_ROUNDS 4 /* the limit of rounds, because a peer may post as fast as this side executes */

/* Copies a message into a receive's list. Returns the receive's status. */
static uint8_t receive_copy(struct soft_ep *ep, uint32_t pz, const struct datp_sge *sge, int n,
			    const struct soft_payload *p)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	if (p->len > soft_sge_bytes(sge, n))
		return DAT_DTO_ERR_LOCAL_LENGTH;
	/* the region may have been freed since the post */
	if (soft_mr_check_iov(ia->own, pz, sge, n, true))
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	soft_scatter(sge, n, p->data, p->len);
	return DAT_DTO_SUCCESS;
}

/* Completes a receive: through libdatp's list, or into *out for the poll that waits for just this completion. */
static void receive_done(struct soft_ep *ep, struct datp_wqe *wqe, uint8_t status, uint64_t len,
			 bool solicited, struct datp_completion *out, int *n)
{
	soft_recv_count(ep);
	/* acquire: the receives of the completions that were on the list have been given back */
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

/* Returns the receive that the next message gets, or NULL. *sge and *count are its list. */
static struct datp_wqe *receive_next(struct soft_ep *ep, const struct datp_sge **sge, int *count,
				     uint32_t *pz)
{
	const struct soft_posted *posted;
	struct datp_wq *rq = &ep->base.rq;

	if (ep->base.srq)
		return soft_srq_take(ep, sge, count, pz);
	if (rq->finished == rq->posted)
		return NULL;
	posted = soft_posted_at(&ep->receives, rq->finished);
	*count = (int)posted->n;
	*sge = posted->sge;
	*pz = soft_pz_id(ep->base.pz);
	return &rq->ring[rq->finished & rq->mask];
}

/* Completes the receive that is withheld. */
static void withheld_deliver(struct soft_ep *ep)
{
	struct datp_wqe *wqe = soft_withheld_end(ep);

	datp_recv_invalidate(wqe, ep->withheld.rmr, ep->withheld.context);
	receive_done(ep, wqe, DAT_DTO_SUCCESS, ep->withheld.len, ep->withheld.solicited, NULL, NULL);
}

/*
 * Completes the receive of a message that has come with an invalidation, or withholds it while a peer accesses memory through
 * the window. Returns false if the window was not the peer's to invalidate; then it has done nothing.
 */
static __attribute__((noinline)) bool invalidated_take(struct soft_ep *ep, struct datp_wqe *wqe, uint32_t context, uint64_t len,
						       bool solicited)
{
	struct datp_rmr *rmr;

	if (!soft_window_invalidate(ep, context, &rmr))
		return false;
	if (!rmr) {
		datp_recv_invalidate(wqe, NULL, context);
		receive_done(ep, wqe, DAT_DTO_SUCCESS, len, solicited, NULL, NULL);
		return true;
	}
	soft_withheld_begin(ep, wqe, rmr, context, len, solicited);
	if (!soft_withheld_waits(ep, false))
		withheld_deliver(ep);
	else if (!ep->base.srq)
		ep->deferred = true;
	return true;
}

/*
 * Completes a receive that the executor has filled. Both sides can write its result, and the
 * program trusts what we report, so a result that cannot be is not reported.
 */
static void deliver_filled(struct soft_ep *ep, struct datp_wqe *wqe, const struct soft_desc *desc)
{
	uint64_t len = SOFT_ONCE(desc->len);
	uint8_t status = soft_status(SOFT_ONCE(desc->status));
	uint8_t extra = SOFT_ONCE(desc->extra);
	bool solicited = SOFT_ONCE(desc->solicited);

	if (status == DAT_DTO_SUCCESS && extra == SOFT_EXTRA_IMMEDIATE) {
		/* the length of a write is not limited by the receive that it takes, but by the regions that it can go to */
		if (len > soft_pz_longest(ep->base.pz))
			status = DAT_DTO_ERR_TRANSPORT;
		else
			len = datp_recv_immediate(wqe, SOFT_ONCE(desc->imm), len);
	} else if (status == DAT_DTO_SUCCESS) {
		if (len > wqe->len || (extra && extra != SOFT_EXTRA_INVALIDATED))
			status = DAT_DTO_ERR_TRANSPORT;
		else if (extra && invalidated_take(ep, wqe, SOFT_ONCE(desc->imm), len, solicited))
			return;
		else if (extra)
			status = DAT_DTO_ERR_TRANSPORT;
	}
	receive_done(ep, wqe, status, len, solicited, NULL, NULL);
}

/* Completes the oldest receive, if the executor has filled it. Returns false if it is not filled, or is withheld. */
static bool deliver_one(struct soft_ep *ep)
{
	struct datp_wq *rq = &ep->base.rq;
	struct soft_desc *desc;

	if (ep->withheld.wqe || ep->base.srq || rq->finished == rq->posted || ep->failing)
		return false;
	if (!soft_recv_filled(ep))
		return false;
	desc = soft_port_desc(ep->port, &ep->layout, rq->finished);
	atomic_store_explicit(&desc->state, SOFT_DESC_POSTED, memory_order_relaxed);
	deliver_filled(ep, &rq->ring[rq->finished & rq->mask], desc);
	return !ep->withheld.wqe;
}

/* Completes all receives that the executor has filled, up to one that waits for a short message. */
static void deliver_done(struct soft_ep *ep)
{
	while (deliver_one(ep))
		;
}

bool soft_recv_is_ahead(const struct soft_ep *ep, uint32_t msg)
{
	return msg - ep->in_msg - 1 < ep->base.rq.posted - ep->base.rq.finished;
}

bool soft_recv_filled(const struct soft_ep *ep)
{
	const struct soft_desc *desc = soft_port_desc(ep->port, &ep->layout, ep->base.rq.finished);

	/* acquire: makes the data and the result visible */
	return atomic_load_explicit(&desc->state, memory_order_acquire) == SOFT_DESC_DONE;
}

/* Completes the filled receives of the messages before this one. Those behind it complete when their own cells are taken. */
static void deliver_before(struct soft_ep *ep, uint32_t msg)
{
	while (soft_recv_is_ahead(ep, msg) && deliver_one(ep))
		;
}

static void unexpected_free(struct soft_unexpected *m)
{
	soft_payload_drop(&m->payload);
	free(m);
}

/* Completes what the executor has filled of the messages before `announced`. */
static void deliver_announced(struct soft_ep *ep)
{
	if (ep->base.srq)
		return;
	deliver_before(ep, ep->announced);
	ep->deferred = ep->withheld.wqe || soft_recv_is_ahead(ep, ep->announced);
}

static void deliver_unexpected(struct soft_ep *ep)
{
	const struct datp_sge *sge;
	uint32_t pz;
	int count;

	while (ep->unexpected) {
		struct soft_unexpected *m = ep->unexpected;
		const struct soft_payload *p = &m->payload;
		struct datp_wqe *wqe;
		uint8_t status;

		deliver_done(ep); /* messages before it, if it has come behind a receive that was withheld */
		wqe = ep->failing || ep->withheld.wqe ? NULL : receive_next(ep, &sge, &count, &pz);
		if (!wqe)
			break;
		status = receive_copy(ep, pz, sge, count, p);
		ep->unexpected = m->next;
		if (!ep->unexpected)
			ep->unexpected_tail = &ep->unexpected;
		ep->unexpected_count--;
		receive_done(ep, wqe, status, p->len, p->solicited, NULL, NULL);
		unexpected_free(m);
		if (ep->deferred)
			deliver_announced(ep);
	}
}

bool soft_recv_flush(struct soft_ep *ep, bool deliver, bool late)
{
	do {
		if (ep->withheld.wqe && soft_withheld_waits(ep, late))
			return false;
		if (ep->withheld.wqe)
			withheld_deliver(ep);
		if (deliver) {
			deliver_unexpected(ep); /* that is, those behind a receive that was withheld */
			deliver_done(ep);
		}
	} while (ep->withheld.wqe && late);
	return !ep->withheld.wqe;
}

void soft_recv_discard(struct soft_ep *ep)
{
	while (ep->unexpected) {
		struct soft_unexpected *m = ep->unexpected;

		ep->unexpected = m->next;
		unexpected_free(m);
	}
	ep->unexpected_tail = &ep->unexpected;
	ep->unexpected_count = 0;
}

bool soft_recv_progress(struct soft_ep *ep)
{
	unsigned int rounds = PROGRESS_ROUNDS;
	bool more = ep->open;

	while (more && !ep->failing) {
		deliver_unexpected(ep);
		/* acquire: makes the requests visible that wait for us at the peer */
		if (atomic_load_explicit(&ep->rport->sq_posted, memory_order_acquire) ==
		    atomic_load_explicit(&ep->rport->sq_done, memory_order_relaxed)) {
			ep->rest[false] = false;
			return true;
		}
		if (soft_progress_puts_off(ep, false))
			return false;
		more = soft_exec_run(ep, false) && !ep->rest[false];
		if (more && !--rounds) {
			soft_exec_later(ep, false);
			return true;
		}
	}
	return true;
}

void soft_recv_announce(struct soft_ep *ep, uint32_t msg)
{
	struct soft_cq *cq = soft_ep_recv_cq(ep);

	if (!soft_cq_announce(cq, ep->index, ep->gen, msg)) {
		ep->announced = msg;
		soft_ring_mark_ready(cq->ring, ep->port, ep->index, SOFT_SIDE_RECV);
	}
	soft_cq_notify(cq);
}

/* Keeps an unexpected message until a receive is posted. */
static void message_keep(struct soft_ep *ep, const struct soft_payload *payload)
{
	struct soft_unexpected *m;

	if (ep->unexpected_count >= SOFT_CREDITS) { /* an honest sender has no credit for it */
		soft_ep_corrupted(ep);
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
	if (!m->payload.slot) { /* the cell will be reused for another message */
		soft_copy_short(m->data, payload->data, payload->len);
		m->payload.data = m->data;
	}
	*ep->unexpected_tail = m;
	ep->unexpected_tail = &m->next;
	if (!ep->unexpected_count++)
		soft_unready_watch(ep);
}

/*
 * As soft_recv_progress(), when a cell has been taken. If a part of the peer's requests has been left, the port is on the ready
 * list for that, or the progress thread has it, and this does no more of them: otherwise each cell of the peer would have a call do
 * as much again.
 */
static bool cell_progress(struct soft_ep *ep)
{
	return ep->rest[false] || soft_recv_progress(ep);
}

/* Completes what waited for the message that has been taken now. */
static void catch_up(struct soft_ep *ep)
{
	deliver_announced(ep);
	(void)cell_progress(ep);
}

void soft_recv_again(struct soft_ep *ep)
{
	if (!ep->withheld.wqe || soft_withheld_waits(ep, false))
		return;
	withheld_deliver(ep);
	catch_up(ep);
}

/* Delivers an eager message to its receive, or keeps it as unexpected. EP lock. */
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
		soft_ep_corrupted(ep);
		return;
	}
	deliver_done(ep); /* messages before it that the executor has copied */
	wqe = ep->unexpected || ep->withheld.wqe ? NULL : receive_next(ep, &sge, &count, &pz);
	if (!wqe) {
		message_keep(ep, &p);
		return;
	}
	more = ep->deferred; /* what follows must not overtake this message */
	status = receive_copy(ep, pz, sge, count, &p);
	receive_done(ep, wqe, status, p.len, p.solicited, more ? NULL : out, n);
	soft_payload_drop(&p);
	if (more)
		catch_up(ep);
}

/*
 * Takes a cell that keeps the place of the messages before `msg`. Returns false if the cell has to
 * wait, because the peer is executing one of them, or the progress thread will. EP lock.
 */
static bool announced_take(struct soft_cq *cq, struct soft_ep *ep, uint32_t msg)
{
	bool waits = false;

	if (ep->base.srq) {
		if ((int32_t)(msg - ep->announced) > 0)
			ep->announced = msg;
		return cell_progress(ep) || !soft_place_put_off(cq);
	}
	deliver_before(ep, msg);
	/* what is not done yet waits for this side to execute it */
	if (soft_recv_is_ahead(ep, msg) && !cell_progress(ep) && soft_place_put_off(cq))
		return false;
	/* the peer may finish at any time; it may also take that back, so another round is for a receive that has completed */
	do
		deliver_before(ep, msg);
	while (soft_recv_is_ahead(ep, msg) && !ep->failing && !ep->withheld.wqe && !(waits = soft_place_waits(ep, msg)) &&
	       deliver_one(ep));
	/* they complete behind the receive that is withheld */
	if (ep->withheld.wqe && soft_recv_is_ahead(ep, msg) && (int32_t)(msg - ep->announced) > 0)
		ep->announced = msg;
	return !waits;
}

bool soft_recv_cell(struct soft_cq *cq, struct soft_cell *cell, struct datp_completion *out, int *n)
{
	struct soft_ep *ep;
	bool mine, taken = true;

	if (cell->kind == SOFT_CELL_VOID)
		return true;
	ep = soft_port_ep(cq->ia, cell->port);
	if (!ep) {
		soft_cell_drop(cq->ia, cell);
		return true;
	}
	/* data show that the peer is connected, if nothing else has shown it yet */
	soft_ep_established(ep, cell->gen);
	if (!soft_ep_try(ep)) {
		soft_place_held(cq, true);
		return false;
	}
	/*
	 * It has to be the endpoint's own ring: otherwise the completion would be returned as an
	 * event of another queue, which whoever frees the endpoint does not wait for
	 */
	mine = ep->open && !ep->failing && ep->gen == cell->gen && soft_ep_recv_cq(ep) == cq;
	if (mine && cell->kind == SOFT_CELL_MESSAGE)
		message_take(ep, cell, out, n);
	else if (mine)
		taken = announced_take(cq, ep, SOFT_ONCE(cell->msg));
	soft_cq_count(cq, ep);
	soft_ep_leave(ep);
	if (!mine)
		soft_cell_drop(cq->ia, cell);
	return taken;
}

/* Stores what an atomic operation has found where the program wants it. Returns the status of the operation. EP lock. */
static uint8_t old_value_store(const struct soft_ep *ep, const struct soft_sqe *e)
{
	const struct datp_sge *sink = soft_posted_at(&ep->requests, ep->sq_reaped)->sge;
	const uint64_t old = SOFT_ONCE(e->old);

	/* the region may have been freed */
	if (sink->len != sizeof old ||
	    !soft_mr_check_one(soft_ia(ep->base.obj.ia)->own, soft_pz_id(ep->base.pz), sink, true))
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	soft_copy_short((void *)(uintptr_t)sink->addr, &old, sizeof old);
	return DAT_DTO_SUCCESS;
}

bool soft_sq_flush(struct soft_ep *ep, bool late)
{
	struct datp_wq *sq = &ep->base.sq;
	/* acquire: makes the statuses and the data of RDMA reads visible */
	uint32_t done = atomic_load_explicit(&ep->port->sq_done, memory_order_acquire);

	/*
	 * A request enters this queue only if all before it are finished, so the oldest unfinished
	 * work request is the one that is done. One that was posted when the connection had just ended is not in the queue,
	 * whatever the peer has written there: it is left for the flush
	 */
	while (ep->sq_reaped != done && sq->finished != sq->posted && soft_request_is_kept(ep, ep->sq_reaped)) {
		const struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, ep->sq_reaped);
		struct datp_wqe *wqe = &sq->ring[sq->finished & sq->mask];
		uint8_t status = soft_status(SOFT_ONCE(e->status));

		if (wqe->op == DATP_BIND && !soft_bind_may_complete(ep, wqe, status == DAT_DTO_SUCCESS, late))
			return false;
		if (wqe->op == DATP_BIND && status == DAT_DTO_SUCCESS)
			soft_window_settle(soft_ia(ep->base.obj.ia), wqe);
		if ((wqe->op == DATP_CMP_SWAP || wqe->op == DATP_FETCH_ADD) && status == DAT_DTO_SUCCESS)
			status = old_value_store(ep, e);
		soft_sq_reaped(ep, ep->sq_reaped);
		datp_wqe_done(wqe, status, wqe->len, false);
		if (status != DAT_DTO_SUCCESS)
			soft_ep_fail(ep);
	}
	/* the other side has executed these: positions wrap, so one of long ago would seem to be that of a later request */
	if ((int32_t)(ep->executed - ep->sq_reaped) < 0)
		ep->executed = ep->sq_reaped;
	if (ep->draining && soft_requests_done(ep))
		soft_ep_drained(ep);
	return true;
}

uint32_t soft_sq_unexecuted(const struct soft_ep *ep)
{
	const struct datp_wq *sq = &ep->base.sq;
	/* acquire: as in soft_sq_flush(), which completes these requests */
	uint32_t done = atomic_load_explicit(&ep->port->sq_done, memory_order_acquire), seq = ep->sq_reaped, i = sq->finished;

	for (; seq != done && i != sq->posted && soft_request_is_kept(ep, seq); seq++)
		i++;
	return i;
}

void soft_sq_reap(struct soft_ep *ep)
{
	(void)soft_sq_flush(ep, false);
}

/*
 * Publishes a cell of our own behind the cells in the ring, which keeps the place of messages for
 * which there is no other cell. Returns true if the ring is full and its cells can be taken: then
 * the port is on the ready list again. Poll lock, EP lock.
 */
static bool ready_keep_place(struct soft_cq *cq, struct soft_ep *ep)
{
	if (soft_cq_announce(soft_ep_recv_cq(ep), ep->index, ep->gen, ep->announced)) {
		soft_cq_notify(soft_ep_recv_cq(ep));
		return false;
	}
	if (soft_cq_peek(cq) || cq->place_hidden) {
		soft_ring_mark_ready(cq->ring, ep->port, ep->index, SOFT_SIDE_RECV);
		return true;
	}
	/* all that has come has been taken, except messages whose cells are reserved and not published yet */
	ep->deferred = true;
	catch_up(ep);
	return false;
}

bool soft_recv_ready(struct soft_cq *cq, struct soft_ep *ep)
{
	/* relaxed: acquired with the flag, see ready_serve() */
	uint32_t announced = atomic_load_explicit(&ep->port->announced, memory_order_relaxed);

	if (ep->base.srq) {
		/* a part has been left, or the place of a message has been reached already, and it has no buffer yet */
		if (ep->rest[false] || (int32_t)(ep->announced - ep->in_msg) > 0)
			(void)soft_recv_progress(ep);
		ep->deferred = true;
		return ready_keep_place(cq, ep);
	}
	(void)soft_recv_progress(ep);
	if (soft_recv_is_ahead(ep, announced) &&
	    !(soft_recv_is_ahead(ep, ep->announced) && (int32_t)(ep->announced - announced) > 0))
		ep->announced = announced;
	return soft_recv_is_ahead(ep, ep->announced) && ready_keep_place(cq, ep);
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
		(void)soft_recv_progress(ep);
	return DATP_OK;
}

/* Returns true if a message to our SRQ is the next one. */
static bool srq_next(struct soft_ep *ep, const struct soft_request *r)
{
	/* the cell that keeps its place has not been taken yet */
	if (r->has_place && (int32_t)(r->msg - ep->announced) >= 0)
		return false;
	/* its place is after the eager messages before it, which may still be in the ring */
	ep->deferred = true;
	return r->msg == ep->in_msg && !ep->withheld.wqe;
}

struct datp_wqe *soft_srq_immediate_take(struct soft_ep *ep, const struct soft_request *r)
{
	const struct datp_sge *sge;
	struct datp_wqe *wqe;
	uint32_t pz;
	int count;

	wqe = srq_next(ep, r) ? soft_srq_take(ep, &sge, &count, &pz) : NULL;
	if (wqe)
		ep->deferred = false;
	return wqe;
}

void soft_srq_immediate_done(struct soft_ep *ep, struct datp_wqe *wqe, const struct soft_request *r, bool good)
{
	uint64_t len = good ? datp_recv_immediate(wqe, r->imm, r->len) : 0;

	receive_done(ep, wqe, good ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED, len, r->solicited, NULL, NULL);
}

bool soft_srq_rendezvous(struct soft_ep *ep, uint32_t from_pz, const struct soft_request *r,
			 uint8_t *status)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_list to, source;
	const struct datp_sge *sge;
	struct datp_wqe *wqe;
	/* relaxed: the execution lock is held for the request at sq_done */
	struct soft_right right = { .open = &ep->rport->open,
				    .gen = ep->rgen,
				    .port = ep->rindex,
				    .copying = &ep->copying,
				    .seq = atomic_load_explicit(&ep->rport->sq_done,
								memory_order_relaxed) };
	uint8_t result = DAT_DTO_SUCCESS;
	int error, count;
	uint32_t pz;

	if (!srq_next(ep, r))
		return false;
	if (soft_mr_check_iov(ep->peer->regions, from_pz, r->sge, (int)r->n, false)) {
		*status = DAT_DTO_ERR_LOCAL_PROTECTION;
		return true;
	}
	wqe = soft_srq_take(ep, &sge, &count, &pz);
	if (!wqe)
		return false;
	ep->deferred = false;
	if (r->len > soft_sge_bytes(sge, count)) {
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
		/* if the peer has just ended the connection, it has taken the right away: that is no transport error */
		if (error)
			result = error == ESRCH ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_TRANSPORT;
	}
	if (result == DAT_DTO_SUCCESS && r->op == DATP_SEND_INVALIDATE) {
		if (invalidated_take(ep, wqe, r->rmr, r->len, r->solicited))
			return true;
		result = DAT_DTO_ERR_TRANSPORT;
	}
	if (result != DAT_DTO_SUCCESS)
		*status = DAT_DTO_ERR_REMOTE_RESPONDER;
	receive_done(ep, wqe, result, r->len, r->solicited, NULL, NULL);
	return true;
}
