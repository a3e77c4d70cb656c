/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of most short messages, inlined into the plugin's table: a send of one short
 * segment into a cell, the post of its receive, and the poll that matches the two; that receive may
 * have a second segment. Also that of RDMA between one segment and a peer's memory that is mapped
 * here. Invariant: whatever is not plain is left to the SDK's own data path, and so to send.c and
 * recv.c, before anything has been changed; those take what is plain as well, with the same result.
 */
#ifndef SOFT_FAST_H
#define SOFT_FAST_H

#include "cq.h"
#include "exec_short.h"
#include "skip.h"
#include "mr.h"
#include "port.h"
#include "recv.h"
#include "send.h"
#include "xfer.h"

/* Up to this length a message goes into a cell, whatever `eager_limit` is. */
#define SOFT_PLAIN_CELL SOFT_EAGER_MIN

/* Checks what can be checked without a lock; `ep` may be NULL. Here and below `op` is a constant. */
static inline __attribute__((always_inline)) bool soft_plain_arguments(const struct datp_ep *ep,
								       const struct datp_sge *iov,
								       int n, enum datp_op op)
{
	return n == 1 && iov && ep && datp_post_max_iov(ep, op) >= 1;
}

/*
 * A post takes the EP lock and releases it by these two functions, as does the SDK's data path for
 * what is not plain.
 */
static inline __attribute__((always_inline)) bool soft_post_lock(struct datp_ep *ep)
{
	return datp_bias_lock(&soft_ep(ep)->bias, &ep->lock);
}

static inline __attribute__((always_inline)) void soft_post_unlock(struct datp_ep *ep,
								   enum datp_op op, bool biased)
{
	/*
	 * The thread that posts receives ahead may not be the thread that uses the endpoint, so
	 * this post does not count for the bias
	 */
	if (op == DATP_RECV && !biased)
		datp_unlock(&ep->lock);
	else
		datp_bias_unlock(&soft_ep(ep)->bias, &ep->lock, biased);
}

/* ------------------------------------------------------------------ events */

/* The API of the program, a constant where the functions below are inlined: each has events of its own. */
enum soft_api { SOFT_API_12, SOFT_API_20 };

/* Writes the event of a receive that has taken a plain message of `len` bytes. */
static inline __attribute__((always_inline)) void soft_plain_event(const struct datp_wqe *wqe, struct datp_evd *evd,
								   uint32_t len, void *event, enum soft_api api)
{
	if (api == SOFT_API_12)
		datp_wqe_event(wqe, evd, (DAT_EVENT *)event);
	else
		datp_recv_event20(wqe, evd, len, (struct datp_event20 *)event);
}

static inline __attribute__((always_inline)) enum datp_err soft_listed_event(struct datp_evd *evd, void *event,
									     enum soft_api api)
{
	return api == SOFT_API_12 ? datp_evd_take(evd, (DAT_EVENT *)event)
				  : datp_evd_take20(evd, (struct datp_event20 *)event);
}

static inline __attribute__((always_inline)) DAT_RETURN soft_no_event(enum datp_err err, enum soft_api api)
{
	if (api == SOFT_API_12)
		return datp_ret(err);
	return err == DATP_ERR_QUEUE_EMPTY ? DATP_EMPTY20 : datp_ret20(datp_ret(err));
}

/* ------------------------------------------------------------------ sending */

/* Returns true if a short message can go at once: no request waits before it, and the window is not full. EP lock. */
static inline __attribute__((always_inline)) bool soft_plain_way_locked(struct soft_ep *ep)
{
	/* relaxed: written under the EP lock */
	return atomic_load_explicit(&ep->base.state, memory_order_relaxed) ==
		       DAT_EP_STATE_CONNECTED &&
	       ep->open && !ep->failing && soft_send_is_next(ep, ep->base.sq.posted) && soft_send_credit(ep);
}

/* Sends a short message by a cell. Returns false if there is no cell. EP lock. */
static inline __attribute__((always_inline)) bool soft_plain_cell_locked(struct soft_ep *ep,
									 const struct datp_sge *iov)
{
	struct soft_cell *cell;
	uint64_t position;

	cell = soft_cell_reserve(ep, &position);
	if (!cell)
		return false;
	soft_cell_fill(cell, iov);
	soft_cell_address(cell, ep, iov->len, 0);
	soft_ring_publish(cell, position);
	soft_ring_notify(ep->rring, ep->peer);
	return true;
}

/* Returns false if the operation is not plain. EP lock. */
static inline __attribute__((always_inline)) bool
soft_plain_send_locked(struct soft_ep *ep, const struct datp_sge *iov, DAT_CONTEXT cookie,
		       unsigned int flags)
{
	uint32_t reaped;

	if (!soft_plain_way_locked(ep) || !soft_mr_check_known(ep, iov, false) || !soft_has_slot(ep, &reaped))
		return false;
	if (iov->len <= SOFT_PLAIN_CELL) {
		if (!soft_plain_cell_locked(ep, iov))
			return false;
	} else if (!soft_is_eager(ep, ep->msg, iov->len) ||
		   !soft_eager_send(ep, iov, 1, iov->len, false)) {
		return false;
	}
	ep->msg++;
	soft_next_done(ep, cookie, flags, iov->len, DATP_SEND, reaped);
	return true;
}

/* Returns false if the operation is not plain; then nothing has been posted. */
static inline __attribute__((always_inline)) bool
soft_plain_send(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *triplets,
		DAT_CONTEXT cookie, unsigned int flags)
{
	struct datp_ep *ep = (struct datp_ep *)datp_object(handle, DATP_EP);
	const struct datp_sge *iov = (const struct datp_sge *)triplets;
	bool done, biased;

	if (__builtin_expect(!soft_plain_arguments(ep, iov, n, DATP_SEND) ||
				     (flags & ~(unsigned int)DAT_COMPLETION_SUPPRESS_FLAG) ||
				     iov->len > ep->attr.max_message_size,
			     0))
		return false;
	biased = soft_post_lock(ep);
	done = soft_plain_send_locked(soft_ep(ep), iov, cookie, flags);
	soft_post_unlock(ep, DATP_SEND, biased);
	return done;
}

/* ------------------------------------------------------------------ RDMA */

/*
 * Posts a short request to a region that is not noted. Returns false if the operation is not plain; then nothing has been posted.
 * EP lock, connected, open.
 */
static __attribute__((noinline, unused)) bool
soft_plain_rdma_anywhere(struct soft_ep *ep, const struct datp_sge *local, const struct datp_rge *remote, uint64_t len,
			 DAT_CONTEXT cookie, unsigned int flags, enum datp_op op)
{
	struct datp_wqe *wqe = datp_wq_next(&ep->base.sq, &ep->base, op, cookie, flags);

	if (!wqe || !soft_is_short(ep, len, remote) || !soft_mr_check_known(ep, local, op == DATP_RDMA_READ))
		return false;
	wqe->len = len;
	ep->silent = 0;
	ep->base.sq.posted++;
	soft_short_rdma(ep, wqe, local, remote);
	return true;
}

/* Returns false if the operation is not plain; then nothing has been posted. EP lock. */
static inline __attribute__((always_inline)) bool
soft_plain_rdma_locked(struct soft_ep *ep, const struct datp_sge *local, const struct datp_rge *remote, uint64_t len,
		       DAT_CONTEXT cookie, unsigned int flags, enum datp_op op)
{
	/* relaxed: written under the EP lock */
	if (!ep->open || atomic_load_explicit(&ep->base.state, memory_order_relaxed) != DAT_EP_STATE_CONNECTED)
		return false;
	return (remote->rmr_context == ep->near.context && soft_near_rdma(ep, local, remote, len, cookie, flags, op)) ||
	       soft_plain_rdma_anywhere(ep, local, remote, len, cookie, flags, op);
}

/* Returns false if the operation is not plain; then nothing has been posted. */
static inline __attribute__((always_inline)) bool
soft_plain_rdma(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *triplets, DAT_CONTEXT cookie,
		const DAT_RMR_TRIPLET *target, unsigned int flags, enum datp_op op)
{
	struct datp_ep *ep = (struct datp_ep *)datp_object(handle, DATP_EP);
	const struct datp_sge *iov = (const struct datp_sge *)triplets;
	const struct datp_rge *remote = (const struct datp_rge *)target;
	bool done, biased;
	uint64_t len;

	/* relaxed: a hint, see soft_short_expect() */
	if (__builtin_expect(!soft_plain_arguments(ep, iov, n, op) || !remote ||
				     !atomic_load_explicit(&soft_ep(ep)->maps, memory_order_relaxed) ||
				     (flags & ~(unsigned int)DAT_COMPLETION_SUPPRESS_FLAG) ||
				     iov->len > ep->attr.max_rdma_size,
			     0))
		return false;
	len = op == DATP_RDMA_READ ? remote->len : iov->len;
	if (__builtin_expect(op == DATP_RDMA_READ ? len > iov->len : len > remote->len, 0))
		return false;
	biased = soft_post_lock(ep);
	done = soft_plain_rdma_locked(soft_ep(ep), iov, remote, len, cookie, flags, op);
	soft_post_unlock(ep, op, biased);
	return done;
}

/* ------------------------------------------------------------------ receiving */

/* Returns false if the operation is not plain. EP lock. */
static inline __attribute__((always_inline)) bool
soft_plain_recv_locked(struct soft_ep *ep, const struct datp_sge *iov, DAT_CONTEXT cookie)
{
	struct datp_wqe *wqe = datp_wq_next(&ep->base.rq, &ep->base, DATP_RECV, cookie, 0);

	/* relaxed: written under the EP lock */
	if (!wqe || !ep->open || ep->unexpected ||
	    atomic_load_explicit(&ep->base.state, memory_order_relaxed) ==
		    DAT_EP_STATE_DISCONNECTED ||
	    ep->soft_mark >= 0 || ep->hard_mark >= 0 ||
	    !soft_mr_check_known(ep, iov, true))
		return false;
	wqe->len = iov->len;
	soft_desc_post(ep, wqe->seq, iov, 1);
	ep->base.rq.posted++;
	if (__builtin_expect(soft_desc_wanted(ep), 0))
		soft_recv_progress(ep);
	return true;
}

/* Returns false if the operation is not plain; then nothing has been posted. */
static inline __attribute__((always_inline)) bool
soft_plain_recv(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *triplets,
		DAT_CONTEXT cookie, unsigned int flags)
{
	struct datp_ep *ep = (struct datp_ep *)datp_object(handle, DATP_EP);
	const struct datp_sge *iov = (const struct datp_sge *)triplets;
	bool done, biased;

	if (__builtin_expect(!soft_plain_arguments(ep, iov, n, DATP_RECV) || flags || ep->srq, 0))
		return false;
	biased = soft_post_lock(ep);
	done = soft_plain_recv_locked(soft_ep(ep), iov, cookie);
	soft_post_unlock(ep, DATP_RECV, biased);
	return done;
}

/*
 * Returns true if the connection's next message can be taken as it comes, and this cell is of the
 * connection. EP lock.
 */
static inline __attribute__((always_inline)) bool soft_plain_next_locked(const struct soft_ep *ep,
									 uint32_t gen)
{
	/* relaxed, both: written under the EP lock */
	return ep->open && !ep->failing && !ep->unexpected && !ep->deferred && !ep->base.srq &&
	       atomic_load_explicit(&ep->gen, memory_order_relaxed) == gen &&
	       /* the first message of a peer is not plain, because it says that there is a connection */
	       atomic_load_explicit(&ep->base.state, memory_order_relaxed) ==
		       DAT_EP_STATE_CONNECTED;
}

/* Segments of a plain receive: a program that puts a header before its data has two. */
#define SOFT_PLAIN_SINK 2

/* Returns true if a receive's list is valid and has room for `len` bytes. EP lock. */
static inline __attribute__((always_inline)) bool
soft_plain_fits_locked(struct soft_ep *ep, const struct datp_sge *sink, uint32_t n,
		       uint64_t len)
{
	if (__builtin_expect(n == 1, 1))
		return len <= sink[0].len && soft_mr_check_known(ep, &sink[0], true);
	/* a valid segment ends within the address space, so the sum of two lengths does not wrap */
	return sink[0].len && sink[1].len && soft_mr_check_known(ep, &sink[0], true) &&
	       soft_mr_check_known(ep, &sink[1], true) && len <= sink[0].len + sink[1].len;
}

/*
 * Returns the list of the oldest posted receive, to which the next message goes, or NULL if the message is not plain: the list
 * has more than two segments or none, is invalid or has no room, or the executor has filled the receive already. EP lock.
 */
static inline __attribute__((always_inline)) const struct soft_posted *
soft_plain_sink_locked(struct soft_ep *ep, uint64_t len)
{
	const struct datp_wq *rq = &ep->base.rq;
	const struct soft_posted *sink = soft_posted_at(&ep->receives, rq->finished);

	if (rq->finished == rq->posted || sink->n - 1 >= SOFT_PLAIN_SINK)
		return NULL;
	/* relaxed: a posted receive has no result to read, and a later result is announced by a cell of its own */
	if (atomic_load_explicit(&soft_port_desc(ep->port, &ep->layout, rq->finished)->state, memory_order_relaxed) !=
	    SOFT_DESC_POSTED)
		return NULL;
	return soft_plain_fits_locked(ep, sink->sge, sink->n, len) ? sink : NULL;
}

/*
 * Delivers the message of the next cell to its receive, and returns that event. Returns false if
 * the message is not plain; then nothing has been done. Poll lock, EP lock.
 */
static inline __attribute__((always_inline)) bool
soft_plain_take_locked(struct soft_ep *ep, const struct soft_cell *cell, struct datp_evd *evd,
		       void *event, enum soft_api api)
{
	struct datp_wq *rq = &ep->base.rq;
	struct soft_payload payload;
	const struct soft_posted *sink;
	struct datp_wqe *wqe;

	/*
	 * acquire: if the list is empty, whoever took the last entry has given its work request
	 * back. While we hold both locks, no completion of this endpoint's receives is added
	 */
	if (ep->base.recv_evd != evd ||
	    atomic_load_explicit(&evd->queued, memory_order_acquire) ||
	    !soft_plain_next_locked(ep, cell->gen))
		return false;
	/* the connection is open, so the peer's ring is mapped, which this looks at */
	soft_answer_expect(&soft_evd(evd)->cq, ep);
	if (!soft_payload_get(ep->peer, cell, &payload))
		return false;
	sink = soft_plain_sink_locked(ep, payload.len);
	if (!sink)
		return false;
	wqe = &rq->ring[rq->finished & rq->mask];
	if (__builtin_expect(sink->n == 1, 1))
		soft_copy_short((void *)(uintptr_t)sink->sge[0].addr, payload.data, payload.len);
	else
		soft_scatter(sink->sge, SOFT_PLAIN_SINK, payload.data, payload.len);
	soft_payload_drop(&payload);
	soft_recv_count(ep);
	datp_wqe_finish(wqe, DAT_DTO_SUCCESS, payload.len);
	soft_plain_event(wqe, evd, payload.len, event, api);
	/* release: as datp_wqe_reap(). Nobody reaps beyond what is finished, and that changes under the EP lock */
	atomic_store_explicit(&rq->reaped, wqe->seq + 1, memory_order_release);
	return true;
}

/* Takes the next cell. Returns false if it does not hold a plain message. Poll lock. */
static inline __attribute__((always_inline)) bool soft_plain_take(struct datp_evd *evd,
								  void *event,
								  enum soft_api api)
{
	struct soft_cq *cq = &soft_evd(evd)->cq;
	const struct soft_cell *cell = soft_cq_peek(cq);
	struct soft_ep *ep;
	bool taken, biased;

	if (!cell)
		return false;
	/* prefetch the rest of the message */
	__builtin_prefetch((const char *)cell + SOFT_LINE);
	if (cell->kind != SOFT_CELL_MESSAGE || (cell->flags & ~SOFT_CELL_SLOT) ||
	    /* relaxed: what is put on the list from now on comes behind this cell */
	    atomic_load_explicit(&cq->ring->ready_list, memory_order_relaxed))
		return false;
	ep = soft_port_ep(cq->ia, cell->port);
	if (!ep)
		return false;
	biased = datp_bias_lock(&ep->bias, &ep->base.lock);
	taken = soft_plain_take_locked(ep, cell, evd, event, api);
	datp_bias_unlock(&ep->bias, &ep->base.lock, biased);
	if (taken)
		soft_cq_next(cq);
	return taken;
}

/*
 * Does what datp_dequeue() does. It handles plain messages itself, and calls `rest` for everything else. `event` is one of
 * the API.
 */
static inline __attribute__((always_inline)) DAT_RETURN
soft_plain_dequeue(DAT_EVD_HANDLE handle, void *event, DAT_RETURN (*rest)(DAT_EVD_HANDLE, void *), enum soft_api api)
{
	struct datp_evd *evd = (struct datp_evd *)datp_object(handle, DATP_EVD);
	bool taken, biased;

	/* relaxed, both: hints, as in datp_dequeue() */
	if (__builtin_expect(!evd || !event || !evd->has_cq ||
				     atomic_load_explicit(&evd->waiter, memory_order_relaxed),
			     0))
		return rest(handle, event);
	if (atomic_load_explicit(&evd->queued, memory_order_relaxed)) {
		enum datp_err err = soft_listed_event(evd, event, api);

		if (err != DATP_ERR_QUEUE_EMPTY)
			return api == SOFT_API_20 && !err ? DAT_SUCCESS : soft_no_event(err, api);
		/* another thread has taken it; a message in the ring may be ours */
	}
	if (!soft_cq_pending(&soft_evd(evd)->cq)) {
		soft_cq_expect(&soft_evd(evd)->cq);
		if (__builtin_expect(soft_cq_count_empty_look(&soft_evd(evd)->cq), 0))
			soft_skip_seek(soft_evd(evd));
		/* the service thread may have moved it from the ring to the list meanwhile */
		if (__builtin_expect(!atomic_load_explicit(&evd->queued, memory_order_relaxed), 1))
			return soft_no_event(DATP_ERR_QUEUE_EMPTY, api);
		return rest(handle, event);
	}
	soft_answer_own(&soft_evd(evd)->cq);
	biased = datp_bias_lock(&soft_evd(evd)->poll_bias, &evd->poll_lock);
	taken = soft_plain_take(evd, event, api);
	datp_bias_unlock(&soft_evd(evd)->poll_bias, &evd->poll_lock, biased);
	return taken ? DAT_SUCCESS : rest(handle, event);
}

#endif
