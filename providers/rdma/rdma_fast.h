/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way that most operations take, inlined into the plugins: a post of one segment without flags, and
 * the look for one completion that is a success. Invariant: what is not plain is left to the SDK's own
 * data path, and with it to rdma_post.c and rdma_poll.c, before anything has been changed; those take
 * the plain ones too, and do the same with them.
 */
#ifndef RDMA_FAST_H
#define RDMA_FAST_H

#include "rdma.h"

/* ------------------------------------------------------------------ posting */

/*
 * What can be said without the lock, and the lock, unless somebody else has it. True: it is held.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_enter(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		 DAT_COMPLETION_FLAGS flags)
{
	struct datp_ep *ep = (struct datp_ep *)datp_object(handle, DATP_EP);

	return __builtin_expect(n == 1 && !flags && ep && iov && datp_trylock(&ep->lock), 1);
}

/*
 * Whether this is a segment of the LMR that the last one was of, and good for what it is to be. An LMR
 * with the key that we look for is alive, for a freed one has key 0, which no segment may have, before
 * anything else of it changes; and if it has become one of another adapter's, with the same key, its PZ
 * is none of ours.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_segment(const struct rdma_lmr *lmr, const struct datp_pz *pz, const struct datp_sge *seg,
		   uint64_t len, bool sink)
{
	uint32_t context = seg->lmr_context;
	uint64_t end;

	/* acquire: pairs with the release that publishes the key */
	if (!context || atomic_load_explicit(&lmr->key, memory_order_acquire) != context ||
	    lmr->base.pz != pz)
		return false;
	/* what begins before the LMR is beyond its end, as an unsigned number */
	if (__builtin_add_overflow(seg->addr - lmr->base.addr, len, &end) || end > lmr->base.len)
		return false;
	return !sink || ((unsigned int)lmr->base.priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

/*
 * Whether the endpoint is connected, or takes receives; there is room; and the segments are good: neither
 * empty, which some devices take for 2 GiB, nor too long. Here and below `op` is a constant. EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_fits_locked(const struct rdma_ep *ep, const struct datp_sge *iov,
		       const struct datp_rge *remote, enum datp_op op)
{
	const struct datp_wq *wq = op == DATP_RECV ? &ep->base.rq : &ep->base.sq;
	/* relaxed: written under the EP lock */
	int state = atomic_load_explicit(&ep->base.state, memory_order_relaxed);
	uint64_t len = iov->len;

	if (op == DATP_RECV ? state == DAT_EP_STATE_DISCONNECTED : state != DAT_EP_STATE_CONNECTED)
		return false;
	/* acquire: the reaper has read what the slot held */
	if (len - 1 >= ep->longest[op] ||
	    wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire) >= wq->max)
		return false;
	if (op == DATP_RDMA_WRITE && (!remote || len > remote->len))
		return false;
	if (op == DATP_RDMA_READ && (!remote || remote->len - 1 >= len))
		return false;
	return rdma_plain_segment(op == DATP_RECV ? ep->sink : ep->source, ep->base.pz, iov, len,
				  op == DATP_RECV || op == DATP_RDMA_READ);
}

/* The next slot of a ring that has one. EP lock. */
static inline __attribute__((always_inline)) struct datp_wqe *
rdma_plain_slot(struct datp_ep *ep, struct datp_wq *wq, DAT_CONTEXT cookie, uint64_t len,
		enum datp_op op)
{
	uint32_t seq = wq->posted;
	struct datp_wqe *wqe = &wq->ring[seq & wq->mask];

	/* relaxed: under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_OPEN, memory_order_relaxed);
	wqe->ep = ep;
	wqe->cookie = cookie;
	wqe->len = len;
	wqe->seq = seq;
	wqe->op = (uint8_t)op;
	wqe->post_flags = 0;
	return wqe;
}

/* EP lock. errno, or 0. */
static inline __attribute__((always_inline)) int
rdma_plain_request_locked(struct rdma_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov,
			  const struct datp_rge *remote, uint64_t len, enum datp_op op)
{
	ep->wr.wr_id = (uintptr_t)wqe;
	ep->wr.opcode = op == DATP_SEND		? IBV_WR_SEND
			: op == DATP_RDMA_WRITE ? IBV_WR_RDMA_WRITE
						: IBV_WR_RDMA_READ;
	ep->wr.send_flags = IBV_SEND_SIGNALED;
	if (op != DATP_RDMA_READ && (uint32_t)len <= ep->max_inline)
		ep->wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	if (op != DATP_SEND) {
		ep->wr.wr.rdma.remote_addr = remote->addr;
		ep->wr.wr.rdma.rkey = remote->rmr_context;
	}
	ep->sge.addr = iov->addr;
	ep->sge.length = (uint32_t)len;
	ep->sge.lkey = iov->lmr_context;
	return ibv_post_send(ep->qp, &ep->wr, &ep->bad);
}

/* EP lock. errno, or 0. */
static inline __attribute__((always_inline)) int
rdma_plain_recv_locked(struct rdma_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov)
{
	ep->recv_wr.wr_id = (uintptr_t)wqe;
	ep->recv_sge.addr = iov->addr;
	ep->recv_sge.length = (uint32_t)iov->len;
	ep->recv_sge.lkey = iov->lmr_context;
	return ibv_post_recv(ep->qp, &ep->recv_wr, &ep->bad_recv);
}

/* What fits. EP lock, which it gives up. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_plain_post_locked(DAT_EP_HANDLE handle, const struct datp_sge *iov, DAT_CONTEXT cookie,
		       const struct datp_rge *remote, enum datp_op op)
{
	struct datp_ep *ep = (struct datp_ep *)handle;
	struct datp_wq *wq = op == DATP_RECV ? &ep->rq : &ep->sq;
	uint64_t len = op == DATP_RDMA_READ ? remote->len : iov->len;
	struct datp_wqe *wqe = rdma_plain_slot(ep, wq, cookie, len, op);
	int rc;

	wq->posted = wqe->seq + 1;
	rc = op == DATP_RECV
		     ? rdma_plain_recv_locked(rdma_ep(ep), wqe, iov)
		     : rdma_plain_request_locked(rdma_ep(ep), wqe, iov, remote, len, op);
	if (__builtin_expect(rc, 0))
		return rdma_plain_refused_locked(ep, wq, rc);
	datp_unlock(&ep->lock);
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------------ completions */

/* Whether a request needs nothing but its event, and is the next in order. EP lock. */
static inline __attribute__((always_inline)) bool
rdma_plain_done_locked(const struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	return wqe->op != DATP_BIND && !(wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG) &&
	       wqe->seq == ep->base.sq.finished && !ep->overtaking;
}

/* As datp_wqe_finish(), datp_wqe_event() and datp_wqe_reap(). Poll lock and EP lock. */
static inline __attribute__((always_inline)) void
rdma_plain_event_locked(struct rdma_ep *ep, struct datp_wqe *wqe, struct datp_wq *wq, uint64_t len,
			struct datp_evd *evd, DAT_EVENT *event)
{
	uint32_t next = wqe->seq + 1;

	event->evd_handle = evd;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = ep,
		.user_cookie = wqe->cookie,
		.status = DAT_DTO_SUCCESS,
		.transfered_length = len,
	};
	wq->finished = next;
	/* relaxed: read under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_DONE, memory_order_relaxed);
	/*
	 * release: as datp_wqe_reap(). A plain store, since nobody goes beyond what is finished, and
	 * that moves under the EP lock
	 */
	atomic_store_explicit(&wq->reaped, next, memory_order_release);
}

/*
 * An operation that is open and of the endpoint's present queue pair. False: it is not plain, and nothing
 * has been done with it. Poll lock and EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_finish_locked(struct rdma_ep *ep, struct datp_wqe *wqe, const struct ibv_wc *wc,
			 struct datp_evd *evd, DAT_EVENT *event)
{
	/* relaxed: written under the EP lock */
	if (ep->qpn != wc->qp_num ||
	    atomic_load_explicit(&wqe->done, memory_order_relaxed) != DATP_WQE_OPEN)
		return false;
	if (wqe->op == DATP_RECV) {
		if (!ep->up)
			return false;
		rdma_plain_event_locked(ep, wqe, &ep->base.rq, wc->byte_len, evd, event);
	} else {
		if (!rdma_plain_done_locked(ep, wqe))
			return false;
		rdma_plain_event_locked(ep, wqe, &ep->base.sq, wqe->len, evd, event);
	}
	return true;
}

/* The same, with the endpoint's lock, unless somebody else has it. Poll lock. */
static inline __attribute__((always_inline)) bool
rdma_plain_finish(const struct ibv_wc *wc, struct datp_evd *evd, DAT_EVENT *event)
{
	struct datp_wqe *wqe = (struct datp_wqe *)(uintptr_t)wc->wr_id;
	struct rdma_ep *ep;
	bool plain;

	if (wc->status != IBV_WC_SUCCESS || (wc->wr_id & RDMA_ID_MASK) != RDMA_ID_WQE)
		return false;
	ep = rdma_ep(wqe->ep);
	if (__builtin_expect(!datp_trylock(&ep->base.lock), 0))
		return false;
	plain = rdma_plain_finish_locked(ep, wqe, wc, evd, event);
	datp_unlock(&ep->base.lock);
	return plain;
}

/* The CQs have nothing for this call; the list may. Poll lock, which it gives up. */
static inline DAT_RETURN rdma_dequeue_rest(struct datp_evd *evd, DAT_EVENT *event,
					   DAT_EVD_DEQUEUE_FUNC rest)
{
	datp_unlock(&evd->poll_lock);
	/* relaxed: a hint, as in datp_dequeue() */
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return datp_ret(DATP_ERR_QUEUE_EMPTY);
	return rest(evd, event);
}

/* Of a completion that is not plain, and of what comes after it. Poll lock, which it gives up. */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_on(struct datp_evd *evd, DAT_EVENT *event,
							    const struct ibv_wc *wc,
							    DAT_EVD_DEQUEUE_FUNC rest)
{
	struct datp_completion found;

	if (rdma_cqset_poll_on(&rdma_evd(evd)->set, wc, &found) <= 0)
		return rdma_dequeue_rest(evd, event, rest);
	datp_wqe_event(found.wqe, evd, event);
	datp_wqe_reap(found.wqe);
	datp_unlock(&evd->poll_lock);
	return DAT_SUCCESS;
}

/*
 * There is something on the list, which an earlier poll left there and which goes first, or nothing in the
 * first CQ. Poll lock, which it gives up.
 */
static __attribute__((noinline)) DAT_RETURN
rdma_dequeue_other(struct datp_evd *evd, DAT_EVENT *event, DAT_EVD_DEQUEUE_FUNC rest)
{
	struct rdma_cqset *set = &rdma_evd(evd)->set;
	struct ibv_wc wc;

	/* relaxed: a hint, as in datp_dequeue() */
	if (atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return rdma_dequeue_rest(evd, event, rest);
	for (uint32_t i = 1; i < set->count; i++)
		if (ibv_poll_cq(set->cq[i].cq, 1, &wc) > 0)
			return rdma_dequeue_on(evd, event, &wc, rest);
	/* all is polled: what comes now is not what the channel told of */
	atomic_store_explicit(&set->solicited, false, memory_order_relaxed);
	return rdma_dequeue_rest(evd, event, rest);
}

/* As datp_dequeue(); `rest` does what is not about the device's completions. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_plain_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event, DAT_EVD_DEQUEUE_FUNC rest)
{
	struct datp_evd *evd = (struct datp_evd *)datp_object(handle, DATP_EVD);
	struct ibv_wc wc;

	/* relaxed: a hint, as in datp_dequeue() */
	if (__builtin_expect(!evd || !event ||
				     atomic_load_explicit(&evd->waiter, memory_order_relaxed) ||
				     !evd->has_cq || !datp_trylock(&evd->poll_lock),
			     0))
		return rest(handle, event);
	/* what an earlier poll left on the list goes first */
	if (__builtin_expect(atomic_load_explicit(&evd->queued, memory_order_relaxed), 0) ||
	    ibv_poll_cq(rdma_evd(evd)->set.cq[0].cq, 1, &wc) <= 0)
		return rdma_dequeue_other(evd, event, rest);
	if (__builtin_expect(!rdma_plain_finish(&wc, evd, event), 0))
		return rdma_dequeue_on(evd, event, &wc, rest);
	datp_unlock(&evd->poll_lock);
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------------ the plugin */

/*
 * A post: the plain way, else the SDK's, which is kept out of line. So is the way there that gives the lock
 * back, so that nothing has to be kept across calls on the plain way.
 */
#define RDMA_FAST_POST(what, op, params, args, remote)                                             \
	static __attribute__((noinline)) DAT_RETURN datp_fast_##what params;                       \
	static __attribute__((noinline)) DAT_RETURN rdma_unplain_##what params                     \
	{                                                                                          \
		datp_unlock(&((struct datp_ep *)ep)->lock);                                        \
		return datp_fast_##what args;                                                      \
	}                                                                                          \
	static DAT_RETURN rdma_fast_##what params                                                  \
	{                                                                                          \
		struct datp_sge seg;                                                               \
                                                                                                   \
		if (!rdma_plain_enter(ep, n, iov, flags))                                          \
			return datp_fast_##what args;                                              \
		/* read once: compilers do not keep what they have read before an atomic */        \
		seg = *(const struct datp_sge *)iov;                                               \
		if (__builtin_expect(!rdma_plain_fits_locked(ep, &seg, remote, op), 0))            \
			return rdma_unplain_##what args;                                           \
		return rdma_plain_post_locked(ep, &seg, cookie, remote, op);                       \
	}

#define RDMA_FAST_MESSAGE(what, op)                                                                \
	RDMA_FAST_POST(what, op,                                                                   \
		       (DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,                       \
			DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags),                        \
		       (ep, n, iov, cookie, flags), NULL)

#define RDMA_FAST_TRANSFER(what, op)                                                               \
	RDMA_FAST_POST(what, op,                                                                   \
		       (DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,                       \
			DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *target,                      \
			DAT_COMPLETION_FLAGS flags),                                               \
		       (ep, n, iov, cookie, target, flags), (const struct datp_rge *)target)

/* DATP_PROVIDER, with the plain way before the SDK's. */
#define RDMA_PROVIDER(plugin_name, plugin_ops)                                                     \
	RDMA_FAST_MESSAGE(send, DATP_SEND)                                                         \
	RDMA_FAST_MESSAGE(recv, DATP_RECV)                                                         \
	RDMA_FAST_TRANSFER(read, DATP_RDMA_READ)                                                   \
	RDMA_FAST_TRANSFER(write, DATP_RDMA_WRITE)                                                 \
	static __attribute__((noinline)) DAT_RETURN datp_fast_dequeue(DAT_EVD_HANDLE, DAT_EVENT *); \
	static DAT_RETURN rdma_fast_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)                  \
	{                                                                                          \
		return rdma_plain_dequeue(evd, event, datp_fast_dequeue);                          \
	}                                                                                          \
	DATP_PROVIDER(plugin_name, plugin_ops)

/* What that puts into the plugin's table. */
#undef DATP_FAST_INIT
#define DATP_FAST_INIT                                                                             \
	{                                                                                          \
		.post_send = rdma_fast_send, .post_recv = rdma_fast_recv,                          \
		.post_rdma_read = rdma_fast_read, .post_rdma_write = rdma_fast_write,              \
		.evd_dequeue = rdma_fast_dequeue,                                                  \
	}

#endif
