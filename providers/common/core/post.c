/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion of posted operations. Invariant: a completed operation has its event on an EVD, or its
 * slot is freed at once because it has no event (suppressed success, no EVD).
 *
 * Slots are freed in order, by `reaped`: a thread that takes an event frees its slot and all before
 * it. A suppressed success has no event, so its slot is freed on completion if all slots before it
 * are free already; if not, by the thread that takes the next event, or else by a thread that posts
 * and finds the ring full (datp_wq_reclaim).
 */
#include <time.h>

#include "ep.h"
#include "loop.h"

bool wqe_notifies(const struct datp_wqe *wqe, bool solicited)
{
	const struct datp_ep *ep = wqe->ep;
	unsigned int flags;

	if (wqe->status != DAT_DTO_SUCCESS)
		return true;
	flags = wqe->op == DATP_RECV ? ep->attr.recv_flags : ep->attr.request_flags;
	if (wqe->op == DATP_RECV && (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return solicited;
	/* receives of an SRQ have no flags of their own */
	return !(wqe->post_flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* Frees the slots of suppressed operations at the head of the ring. EP lock held. */
static void give_silent_back_locked(struct datp_wq *wq)
{
	/*
	 * acquire: pairs with a reaper's release, so that its reads of the slots are over when
	 * these are used again
	 */
	uint32_t at = atomic_load_explicit(&wq->reaped, memory_order_acquire);

	while (at != wq->finished &&
	       /* relaxed: written under the EP lock */
	       atomic_load_explicit(&wq->ring[at & wq->mask].done, memory_order_relaxed) ==
		       DATP_WQE_SILENT) {
		/* A reaper may be faster, and then goes further; release, as the reaper's. */
		if (atomic_compare_exchange_strong_explicit(
			    &wq->reaped, &at, at + 1, memory_order_release, memory_order_acquire))
			at++;
	}
}

DATP_API bool datp_wq_reclaim(struct datp_wq *wq)
{
	give_silent_back_locked(wq);
	/* acquire: as in datp_wq_next() */
	return wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire) < wq->max;
}

enum { ESTABLISH_MS = 100, ESTABLISH_LOOK_MS = 1 };

/*
 * Waits, for a limited time, until the endpoint is not COMPLETION_PENDING any more. No lock is
 * held, and no pin while it sleeps.
 */
static void await_established(struct datp_ep *ep)
{
	const struct timespec pause = { .tv_nsec = ESTABLISH_LOOK_MS * 1000000L };

	/* on the service thread, this would wait for a report that the same thread has to make */
	if (datp_loop_inside(ep->obj.ia))
		return;
	for (int ms = 0; ms < ESTABLISH_MS; ms += ESTABLISH_LOOK_MS) {
		if (!ep_pin(ep, EP_IN(DAT_EP_STATE_COMPLETION_PENDING)))
			return;
		/* a message that the transport has received may establish the connection */
		if (ep->recv_evd)
			evd_progress(ep->recv_evd);
		ep_unpin(ep);
		nanosleep(&pause, NULL);
	}
}

DATP_API void datp_post_full(struct datp_ep *ep)
{
	if (ep_state(ep) == DAT_EP_STATE_COMPLETION_PENDING) {
		await_established(ep);
		return;
	}
	/* an endpoint that is being freed has no room either, and its EVDs may be freed after it */
	if (!ep_pin(ep, ~0u))
		return;
	if (ep->request_evd)
		evd_progress(ep->request_evd);
	ep_unpin(ep);
}

/*
 * Completes a suppressed success, or an operation of an endpoint without an EVD for it. EP lock
 * held.
 */
static void done_silently(struct datp_wqe *wqe)
{
	struct datp_ep *ep = wqe->ep;
	struct datp_wq *wq = wqe->op == DATP_RECV ? &ep->rq : &ep->sq;

	/* relaxed: read under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_SILENT, memory_order_relaxed);
	if (wqe->op == DATP_RECV && ep->srq) {
		datp_srq_reap(wqe);
		return;
	}
	/*
	 * All slots before it are free, and none after it has been posted, so no other thread
	 * changes it. release: as any reaper. acquire: as in give_silent_back_locked()
	 */
	if (wqe->seq + 1 == wq->posted &&
	    atomic_load_explicit(&wq->reaped, memory_order_acquire) == wqe->seq)
		atomic_store_explicit(&wq->reaped, wqe->seq + 1, memory_order_release);
	else
		give_silent_back_locked(wq);
}

DATP_API void datp_wqe_done(struct datp_wqe *wqe, uint8_t status, uint64_t len, bool solicited)
{
	struct datp_ep *ep = wqe->ep;
	struct datp_evd *evd = wqe->op == DATP_RECV ? ep->recv_evd : ep->request_evd;

	datp_wqe_finish(wqe, status, len);
	if (!evd || (status == DAT_DTO_SUCCESS &&
		     (wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG))) {
		done_silently(wqe);
		return;
	}
	wqe->node.kind = NODE_DTO;
	evd_post(evd, &wqe->node, wqe_notifies(wqe, solicited));
}

DATP_API enum datp_err datp_post_flushed(struct datp_ep *ep, struct datp_wqe *wqe)
{
	struct datp_wq *wq;
	int state = ep_state(ep);

	if (ep_priv(ep)->dying)
		return DATP_ERR_HANDLE_EP;
	if (state != DAT_EP_STATE_DISCONNECTED)
		return ep_state_error(state);
	if (!wqe)
		return DATP_ERR_CREDITS;
	wq = wqe->op == DATP_RECV ? &ep->rq : &ep->sq;
	wqe->len = 0;
	wq->posted++;
	datp_wqe_done(wqe, DAT_DTO_ERR_FLUSHED, 0, false);
	return DATP_OK;
}
