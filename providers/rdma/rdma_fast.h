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

/* What can be said without a lock. Here and below `op` is a constant. */
static inline __attribute__((always_inline)) bool
rdma_plain_arguments(const struct datp_ep *ep, const struct datp_sge *iov, int n,
		     const struct datp_rge *remote, unsigned int flags, enum datp_op op)
{
	/* relaxed: as in datp_object() */
	if (n != 1 || flags || !ep || !iov ||
	    atomic_load_explicit(&ep->obj.tag, memory_order_relaxed) != DATP_TAG(DATP_EP) ||
	    datp_post_max_iov(ep, op) < 1)
		return false;
	switch (op) {
	case DATP_SEND:
		return iov->len <= ep->attr.max_message_size;
	case DATP_RECV:
		return !ep->srq;
	case DATP_RDMA_WRITE:
		return remote && iov->len <= ep->attr.max_rdma_size && iov->len <= remote->len;
	default:
		return remote && iov->len <= ep->attr.max_rdma_size && remote->len <= iov->len;
	}
}

/* Neither empty, which some devices take for 2 GiB, nor longer than a segment may be. */
static inline bool rdma_plain_length(uint64_t len)
{
	return len - 1 < INT32_MAX;
}

/*
 * Whether this is a segment of the LMR that the last one was of, and good for what it is to be. An LMR
 * with the key that we look for is alive, for a freed one has key 0, which no segment may have, before
 * anything else of it changes; and if it has become one of another adapter's, with the same key, its PZ
 * is none of ours.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_segment(const struct rdma_lmr *lmr, const struct datp_pz *pz, const struct datp_sge *seg,
		   bool sink)
{
	uint64_t at;

	/* acquire: pairs with the release that publishes the key */
	if (!seg->lmr_context ||
	    atomic_load_explicit(&lmr->key, memory_order_acquire) != seg->lmr_context ||
	    lmr->base.pz != pz)
		return false;
	/* what begins before the LMR is beyond its end, as an unsigned number */
	at = seg->addr - lmr->base.addr;
	if (at > lmr->base.len || seg->len > lmr->base.len - at)
		return false;
	return !sink || ((unsigned int)lmr->base.priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

/* The endpoint is connected, or takes receives; there is room; and the segment is good. EP lock. */
static inline __attribute__((always_inline)) bool
rdma_plain_post_locked(struct rdma_ep *ep, const struct datp_wq *wq, const struct datp_sge *iov,
		       uint64_t len, enum datp_op op)
{
	/* relaxed: written under the EP lock */
	int state = atomic_load_explicit(&ep->base.state, memory_order_relaxed);

	/* acquire: the reaper has read what the slot held */
	if (wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire) >= wq->max ||
	    !rdma_plain_length(len))
		return false;
	if (op == DATP_RECV)
		return ep->ready && state != DAT_EP_STATE_DISCONNECTED &&
		       rdma_plain_segment(ep->sink, ep->base.pz, iov, true);
	return state == DAT_EP_STATE_CONNECTED && !(ep->over | ep->late) &&
	       rdma_plain_segment(ep->source, ep->base.pz, iov, op == DATP_RDMA_READ);
}

/* The next slot of a ring that has one. EP lock. */
static inline __attribute__((always_inline)) struct datp_wqe *
rdma_plain_slot(struct datp_ep *ep, struct datp_wq *wq, DAT_CONTEXT cookie, uint64_t len,
		enum datp_op op)
{
	struct datp_wqe *wqe = &wq->ring[wq->posted & wq->mask];

	/* relaxed: under the EP lock. Before the rest, or compilers would read that again. */
	atomic_store_explicit(&wqe->done, DATP_WQE_OPEN, memory_order_relaxed);
	wqe->ep = ep;
	wqe->cookie = cookie;
	wqe->len = len;
	wqe->seq = wq->posted;
	wqe->op = (uint8_t)op;
	wqe->post_flags = 0;
	return wqe;
}

/* EP lock. errno, or 0. */
static inline __attribute__((always_inline)) int
rdma_plain_request_locked(struct rdma_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov,
			  const struct datp_rge *remote, uint64_t len, enum datp_op op)
{
	struct ibv_send_wr *bad;

	ep->wr.wr_id = (uintptr_t)wqe;
	ep->wr.opcode = op == DATP_SEND		? IBV_WR_SEND
			: op == DATP_RDMA_WRITE ? IBV_WR_RDMA_WRITE
						: IBV_WR_RDMA_READ;
	ep->wr.send_flags = IBV_SEND_SIGNALED;
	if (op != DATP_RDMA_READ && len <= ep->max_inline)
		ep->wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	if (op != DATP_SEND) {
		ep->wr.wr.rdma.remote_addr = remote->addr;
		ep->wr.wr.rdma.rkey = remote->rmr_context;
	}
	ep->sge.addr = iov->addr;
	ep->sge.length = (uint32_t)len;
	ep->sge.lkey = iov->lmr_context;
	return ibv_post_send(ep->qp, &ep->wr, &bad);
}

/* EP lock. errno, or 0. */
static inline __attribute__((always_inline)) int
rdma_plain_recv_locked(struct rdma_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov)
{
	struct ibv_recv_wr *bad;

	ep->recv_wr.wr_id = (uintptr_t)wqe;
	ep->recv_sge.addr = iov->addr;
	ep->recv_sge.length = (uint32_t)iov->len;
	ep->recv_sge.lkey = iov->lmr_context;
	return ibv_post_recv(ep->qp, &ep->recv_wr, &bad);
}

/* What the driver said about a post. No lock held. */
static inline DAT_RETURN rdma_plain_result(struct datp_ep *ep, int rc, enum datp_op op)
{
	enum datp_err err;

	if (__builtin_expect(!rc, 1))
		return DAT_SUCCESS;
	err = rdma_post_error(rc);
	if (err == DATP_ERR_CREDITS && op != DATP_RECV)
		datp_post_full(ep);
	return datp_ret(err);
}

/* False: it is not plain, and nothing has been done. */
static inline __attribute__((always_inline)) bool
rdma_plain_post(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *triplets,
		DAT_CONTEXT cookie, const DAT_RMR_TRIPLET *target, DAT_COMPLETION_FLAGS flags,
		enum datp_op op, DAT_RETURN *result)
{
	struct datp_ep *ep = (struct datp_ep *)handle;
	const struct datp_sge *iov = (const struct datp_sge *)triplets;
	const struct datp_rge *remote = (const struct datp_rge *)target;
	struct datp_wqe *wqe;
	struct datp_wq *wq;
	uint64_t len;
	int rc;

	if (__builtin_expect(!rdma_plain_arguments(ep, iov, n, remote, flags, op), 0))
		return false;
	wq = op == DATP_RECV ? &ep->rq : &ep->sq;
	len = op == DATP_RDMA_READ ? remote->len : iov->len;
	datp_lock(&ep->lock);
	if (__builtin_expect(!rdma_plain_post_locked(rdma_ep(ep), wq, iov, len, op), 0)) {
		datp_unlock(&ep->lock);
		return false;
	}
	wqe = rdma_plain_slot(ep, wq, cookie, len, op);
	wq->posted++;
	rc = op == DATP_RECV
		     ? rdma_plain_recv_locked(rdma_ep(ep), wqe, iov)
		     : rdma_plain_request_locked(rdma_ep(ep), wqe, iov, remote, len, op);
	if (__builtin_expect(rc, 0)) {
		rc = rdma_post_said(rc);
		wq->posted -= rc != 0;
	}
	datp_unlock(&ep->lock);
	*result = rdma_plain_result(ep, rc, op);
	return true;
}

/* ------------------------------------------------------------------ completions */

/* One completion of any of the CQs. Poll lock. */
static inline __attribute__((always_inline)) bool rdma_poll_one(struct rdma_cqset *set,
								struct ibv_wc *wc)
{
	if (ibv_poll_cq(set->cq[0].cq, 1, wc) > 0)
		return true;
	for (uint32_t i = 1; __builtin_expect(i < set->count, 0); i++)
		if (ibv_poll_cq(set->cq[i].cq, 1, wc) > 0)
			return true;
	/* all is polled: what comes now is not what the channel told of */
	atomic_store_explicit(&set->solicited, false, memory_order_relaxed);
	return false;
}

/* Whether a request needs nothing but its event, and is the next in order. EP lock. */
static inline __attribute__((always_inline)) bool
rdma_plain_done_locked(const struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	return wqe->op != DATP_BIND && !(wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG) &&
	       wqe->seq == ep->base.sq.finished && !ep->overtaking;
}

/*
 * As datp_wqe_finish(), datp_wqe_event() and datp_wqe_reap() for an open operation of the endpoint's present
 * queue pair. False: it is not plain, and nothing has been done with it. Poll lock and EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_finish_locked(struct rdma_ep *ep, struct datp_wqe *wqe, const struct ibv_wc *wc,
			 struct datp_evd *evd, DAT_EVENT *event)
{
	bool recv = wqe->op == DATP_RECV;
	struct datp_wq *wq = recv ? &ep->base.rq : &ep->base.sq;
	uint32_t next = wqe->seq + 1;

	/* relaxed: written under the EP lock */
	if (ep->qpn != wc->qp_num ||
	    atomic_load_explicit(&wqe->done, memory_order_relaxed) != DATP_WQE_OPEN)
		return false;
	if (recv ? !ep->up : !rdma_plain_done_locked(ep, wqe))
		return false;
	event->evd_handle = evd;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = ep,
		.user_cookie = wqe->cookie,
		.status = DAT_DTO_SUCCESS,
		.transfered_length = recv ? wc->byte_len : wqe->len,
	};
	wq->finished = next;
	/* relaxed: read under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_DONE, memory_order_relaxed);
	datp_wq_reaped(wq, next);
	return true;
}

/* The same, with the endpoint's lock. Poll lock. */
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

/* Of a completion that is not plain, and of what comes after it. Poll lock. */
static __attribute__((noinline)) bool rdma_poll_on(struct datp_evd *evd, const struct ibv_wc *wc,
						   DAT_EVENT *event)
{
	struct datp_completion found;

	if (rdma_cqset_poll_on(&rdma_evd(evd)->set, wc, &found) <= 0)
		return false;
	datp_wqe_event(found.wqe, evd, event);
	datp_wqe_reap(found.wqe);
	return true;
}

/* As datp_dequeue(); `rest` does what is not about the device's completions. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_plain_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event, DAT_EVD_DEQUEUE_FUNC rest)
{
	struct datp_evd *evd = (struct datp_evd *)handle;
	bool found = false;
	struct ibv_wc wc;

	/* relaxed, both: hints, as in datp_dequeue() */
	if (__builtin_expect(!event ||
				     atomic_load_explicit(&evd->obj.tag, memory_order_relaxed) !=
					     DATP_TAG(DATP_EVD) ||
				     atomic_load_explicit(&evd->waiter, memory_order_relaxed) ||
				     !evd->has_cq || !datp_trylock(&evd->poll_lock),
			     0))
		return rest(handle, event);
	/* what an earlier poll left on the list goes first */
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed) &&
	    rdma_poll_one(&rdma_evd(evd)->set, &wc))
		found = __builtin_expect(rdma_plain_finish(&wc, evd, event), 1) ||
			rdma_poll_on(evd, &wc, event);
	datp_unlock(&evd->poll_lock);
	if (found)
		return DAT_SUCCESS;
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return datp_ret(DATP_ERR_QUEUE_EMPTY);
	return rest(handle, event);
}

/* ------------------------------------------------------------------ the plugin */

/* A post: the plain way, else the SDK's, which is kept out of line. */
#define RDMA_FAST_MESSAGE(what, op)                                                                \
	static __attribute__((noinline)) DAT_RETURN datp_fast_##what(                              \
		DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS); \
	static DAT_RETURN rdma_fast_##what(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,    \
					   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)      \
	{                                                                                          \
		DAT_RETURN result;                                                                 \
                                                                                                   \
		if (rdma_plain_post(ep, n, iov, cookie, NULL, flags, op, &result))                 \
			return result;                                                             \
		return datp_fast_##what(ep, n, iov, cookie, flags);                                \
	}

#define RDMA_FAST_TRANSFER(what, op)                                                               \
	static __attribute__((noinline)) DAT_RETURN datp_fast_##what(                              \
		DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,                       \
		const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);                                    \
	static DAT_RETURN rdma_fast_##what(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,    \
					   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,   \
					   DAT_COMPLETION_FLAGS flags)                             \
	{                                                                                          \
		DAT_RETURN result;                                                                 \
                                                                                                   \
		if (rdma_plain_post(ep, n, iov, cookie, remote, flags, op, &result))               \
			return result;                                                             \
		return datp_fast_##what(ep, n, iov, cookie, remote, flags);                        \
	}

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
	DATP_FAST_PATH(plugin_ops)                                                                 \
	static const struct datp_plugin datp_plugin_ = {                                           \
		.name = plugin_name,                                                               \
		.ops = &(plugin_ops),                                                              \
		.ops_size = sizeof(plugin_ops),                                                    \
		.sdk_major = DATP_SDK_MAJOR,                                                       \
		.sdk_minor = DATP_SDK_MINOR,                                                       \
		.fast = { .post_send = rdma_fast_send, .post_recv = rdma_fast_recv,                \
			  .post_rdma_read = rdma_fast_read, .post_rdma_write = rdma_fast_write,    \
			  .evd_dequeue = rdma_fast_dequeue },                                      \
		.version = DATP_PLUGIN_VERSION,                                                    \
	};                                                                                         \
	DATP_API void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)         \
	{                                                                                          \
		datp_plugin_init(&datp_plugin_, info, params);                                     \
	}                                                                                          \
	DATP_API void dat_provider_fini(const DAT_PROVIDER_INFO *info)                             \
	{                                                                                          \
		datp_plugin_fini(&datp_plugin_, info);                                             \
	}

#endif
