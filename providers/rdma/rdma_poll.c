/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns the device's completions into libdatp's. Invariant: a completion counts only if it belongs
 * to the endpoint's present queue pair and to an operation that is still open; all others belong to
 * a connection that is over, whose operations libdatp has flushed.
 */
#include "rdma_cm.h"
#include "rdma_end.h"
#include "rdma_cq.h"
#include "rdma_defer.h"
#include "rdma_poll.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_srq.h"
#include "rdma_timer.h"
#include <string.h>

enum { BATCH = 16 };

static uint8_t status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return DAT_DTO_SUCCESS;
	case IBV_WC_WR_FLUSH_ERR:
		return DAT_DTO_ERR_FLUSHED;
	case IBV_WC_LOC_LEN_ERR:
		return DAT_DTO_ERR_LOCAL_LENGTH;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
	case IBV_WC_MW_BIND_ERR:
		return DAT_DTO_ERR_LOCAL_PROTECTION;
	case IBV_WC_LOC_QP_OP_ERR:
	case IBV_WC_LOC_EEC_OP_ERR:
		return DAT_DTO_ERR_LOCAL_EP;
	case IBV_WC_BAD_RESP_ERR:
		return DAT_DTO_ERR_BAD_RESPONSE;
	case IBV_WC_REM_ACCESS_ERR:
		return DAT_DTO_ERR_REMOTE_ACCESS;
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_ABORT_ERR:
		return DAT_DTO_ERR_REMOTE_RESPONDER;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return DAT_DTO_ERR_RECEIVER_NOT_READY;
	default:
		return DAT_DTO_ERR_TRANSPORT;
	}
}

/*
 * The memory of a receive was checked when it was posted, so an error in it is its size; rxe has
 * other status codes for that.
 */
static uint8_t recv_status_of(enum ibv_wc_status status)
{
	if (status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_REM_INV_REQ_ERR)
		return DAT_DTO_ERR_LOCAL_LENGTH;
	return status_of(status);
}

/*
 * Returns the status of a request that failed. Its memory was checked when it was posted. So if the device has the same
 * status for all failures in sending (quirk errors_alike), the cause is the connection, and not the memory.
 */
static uint8_t request_status_of(const struct rdma_ia *ia, enum ibv_wc_status status)
{
	if (status == IBV_WC_LOC_QP_OP_ERR && rdma_has(ia, RDMA_ERRORS_ALIKE))
		return DAT_DTO_ERR_TRANSPORT;
	return status_of(status);
}

/*
 * A receive may complete before the connection is known to be established: it is kept until
 * ESTABLISHED has been queued, which its arrival brings about on the passive side. EP lock.
 */
static void early_keep_locked(struct rdma_ep *ep, struct datp_wqe *wqe, uint8_t status, uint64_t len)
{
	wqe->status = status;
	wqe->len = len;
	wqe->node.next = NULL;
	if (!ep->early)
		ep->early_tail = &ep->early;
	*ep->early_tail = &wqe->node;
	ep->early_tail = &wqe->node.next;
	rdma_ep_heard_locked(ep);
}

/*
 * Completes the early receives, and then lets the deferred requests go: the peer has sent a message, so this side may send. If the
 * device refuses one of these, the connection ends, and its end flushes no receive that has a message. Poll lock.
 */
static void early_show(struct rdma_ep *ep)
{
	struct datp_node *node;
	bool has_message;

	datp_lock(&ep->base.lock);
	/* the receives of a connection that has ended meanwhile are flushed, and these with them */
	node = ep->over ? NULL : ep->early;
	has_message = node != NULL;
	ep->early = NULL;
	ep->up = !ep->over;
	ep->heard = ep->up && ep->deferral != DEFER_FIRST_MESSAGE;
	rdma_fast_begin_locked(ep);
	while (node) {
		struct datp_wqe *wqe = (struct datp_wqe *)node;

		node = node->next;
		datp_wqe_done(wqe, wqe->status, wqe->len, true);
	}
	if (has_message)
		rdma_defer_end_locked(ep);
	datp_unlock(&ep->base.lock);
}

/*
 * The upcall comes first, so that what the peer sends completes after ESTABLISHED has been queued.
 * The poll lock comes before all locks that the upcall takes. With it, a thread that
 * has seen ESTABLISHED, and then a peer's write, finds the messages before that write at the first
 * poll; and completions that are polled meanwhile go behind them.
 */
void rdma_established_show(struct rdma_ep *ep, const void *pdata, uint32_t len)
{
	datp_lock(ep->recv_set->poll_lock);
	datp_cm_established(&ep->base, pdata, len);
	early_show(ep);
	datp_unlock(ep->recv_set->poll_lock);
}

/*
 * Returns whether the device reports the completion of this request. Suppressed requests have no
 * completion, except those that report for the others, and reads where they can be overtaken.
 */
static bool is_reported(const struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	return !(wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG) ||
	       (wqe->op == DATP_RDMA_READ && rdma_ep_ia((struct rdma_ep *)ep)->kind->reads_overtaken);
}

/*
 * An earlier request has not completed yet, so this one waits, because requests complete in order.
 * EP lock.
 */
static bool overtakes_locked(struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	const struct datp_wq *sq = &ep->base.sq;

	if (!ep->overtook)
		return false;
	for (uint32_t s = sq->finished; s != wqe->seq; s++)
		if (is_reported(ep, &sq->ring[s & sq->mask]) && !ep->overtook[s & sq->mask])
			return true;
	return false;
}

/*
 * Suppressed requests before this one have no completion of their own: by now they are done, or
 * flushed. EP lock.
 */
static void untold_before_locked(struct rdma_cqset *set, struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	struct datp_wq *sq = &ep->base.sq;

	for (uint32_t s = sq->finished; s != wqe->seq; s++) {
		struct datp_wqe *before = &sq->ring[s & sq->mask];

		if (ep->failed) {
			set->queued = true;
			datp_wqe_done(before, DAT_DTO_ERR_FLUSHED, 0, false);
		} else {
			/* relaxed: read under the EP lock */
			atomic_store_explicit(&before->done, DATP_WQE_SILENT, memory_order_relaxed);
		}
	}
}

/*
 * A request is the next in order. After one that has failed no request succeeds, although a device
 * may have executed it: over iWARP this happens before the answer to a failing read arrives. EP
 * lock.
 */
static uint8_t request_ends_locked(struct rdma_cqset *set, struct rdma_ep *ep,
				   const struct datp_wqe *wqe, uint8_t status)
{
	untold_before_locked(set, ep, wqe);
	if (ep->failed)
		return status == DAT_DTO_SUCCESS ? DAT_DTO_ERR_FLUSHED : status;
	if (status != DAT_DTO_SUCCESS) {
		ep->failed = true;
		/* permanently: no completion takes the fast path any more */
		ep->overtaking++;
	}
	return status;
}

/*
 * A queue pair completes its receives in order, so receives before this one that are still open
 * will not complete any more: their completions found no room in a CQ. They are flushed now,
 * because the handler of the end looks only at what comes after this one. Receives that are kept
 * until the connection is known do not count. EP lock.
 */
static void lost_before_locked(struct rdma_cqset *set, struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	struct datp_wq *rq = &ep->base.rq;

	for (uint32_t s = rq->finished; s != wqe->seq; s++) {
		set->queued = true;
		datp_wqe_done(&rq->ring[s & rq->mask], DAT_DTO_ERR_FLUSHED, 0, false);
	}
}

/*
 * Returns `out` if it has been filled, and NULL if the event has been queued, or if there is none.
 */
static struct datp_completion *deliver_locked(struct rdma_cqset *set, struct rdma_ep *ep,
					      struct datp_wqe *wqe, uint8_t status, uint64_t len,
					      bool solicited, struct datp_completion *out)
{
	if (wqe->op != DATP_RECV)
		status = request_ends_locked(set, ep, wqe, status);
	if (status != DAT_DTO_SUCCESS)
		len = 0;
	if (!out || !set->evd || set->queued ||
	    (status == DAT_DTO_SUCCESS && (wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG))) {
		datp_wqe_done(wqe, status, len, solicited);
		return NULL;
	}
	datp_wqe_finish(wqe, status, len);
	*out = (struct datp_completion){
		.wqe = wqe, .len = len, .status = status, .solicited = solicited
	};
	return out;
}

/*
 * Completes the requests that had to wait for the one that has just completed. They are queued, and
 * so is everything after them.
 */
static void overtakers_locked(struct rdma_cqset *set, struct rdma_ep *ep)
{
	struct datp_wq *sq = &ep->base.sq;

	for (uint32_t s = sq->finished; s != sq->posted; s++) {
		struct datp_wqe *wqe = &sq->ring[s & sq->mask];

		if (ep->overtook[s & sq->mask]) {
			ep->overtook[s & sq->mask] = 0;
			ep->overtaking--;
			set->queued = true;
			deliver_locked(set, ep, wqe, wqe->status, wqe->len, true, NULL);
		} else if (is_reported(ep, wqe)) {
			return;
		}
	}
}

/* Returns true if `out` has been filled. EP lock. */
static bool end_locked(struct rdma_cqset *set, struct rdma_ep *ep, struct datp_wqe *wqe,
		       const struct ibv_wc *wc, struct datp_completion *out)
{
	bool solicited = atomic_load_explicit(&set->solicited, memory_order_relaxed);
	bool recv = wqe->op == DATP_RECV;
	uint8_t status = recv ? recv_status_of(wc->status) : request_status_of(set->ia, wc->status);
	uint64_t len = recv ? wc->byte_len : wqe->len;

	if (status == DAT_DTO_SUCCESS && recv && wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		len = datp_recv_immediate(wqe, wc->imm_data, len);
	if (status == DAT_DTO_SUCCESS && recv && !ep->up) {
		if (!ep->over)
			early_keep_locked(ep, wqe, status, len);
		/* if the attempt has failed, libdatp flushes the receive, or has flushed all that it knew of an SRQ */
		if (!ep->over || !ep->base.srq)
			return false;
		status = DAT_DTO_ERR_FLUSHED;
	}
	if (status != DAT_DTO_SUCCESS) {
		if (recv && !ep->base.srq && !ep->early)
			lost_before_locked(set, ep, wqe);
		/*
		 * a connection that we ended ourselves has not failed, whatever status the device
		 * reports
		 */
		if (ep->over)
			status = DAT_DTO_ERR_FLUSHED;
		else if ((wc->wr_id & RDMA_ID_FOREIGN) && status != DAT_DTO_ERR_FLUSHED)
			status = DAT_DTO_ERR_LOCAL_PROTECTION;
		/*
		 * Over iWARP, a flush alone gives no cause: the completion that caused it does, or
		 * the connection manager will. An InfiniBand queue pair flushes when it is stopped
		 * here, or when it has failed; in the latter case rxe (Linux 6.12) may give no
		 * cause.
		 */
		if (status != DAT_DTO_ERR_FLUSHED || (set->ia->kind->has_rtu && !ep->over))
			rdma_ep_break_locked(ep);
	}
	/* one that fails does so behind those that are kept, because receives complete in order */
	if (recv && ep->early) {
		early_keep_locked(ep, wqe, status, 0);
		return false;
	}
	if (!recv && overtakes_locked(ep, wqe)) {
		wqe->status = status;
		wqe->len = len;
		ep->overtook[wqe->seq & ep->base.sq.mask] = 1;
		ep->overtaking++;
		return false;
	}
	out = deliver_locked(set, ep, wqe, status, len, solicited, out);
	if (!recv && ep->overtook)
		overtakers_locked(set, ep);
	/* behind the receive, which an end of the connection does not flush then */
	if (recv && status == DAT_DTO_SUCCESS && __builtin_expect(ep->deferral == DEFER_FIRST_MESSAGE, 0))
		rdma_defer_end_locked(ep);
	return out != NULL;
}

/* The same, and lets the requests go that this completion lets go. EP lock. */
static bool complete_locked(struct rdma_cqset *set, struct rdma_ep *ep, struct datp_wqe *wqe,
			    const struct ibv_wc *wc, struct datp_completion *out)
{
	bool filled = end_locked(set, ep, wqe, wc, out);

	if (__builtin_expect(ep->deferral == DEFER_FENCED, 0))
		rdma_defer_unfence_locked(ep);
	return filled;
}

/* The last request before a graceful end has completed. */
static void drained(struct rdma_ep *ep, const struct ibv_wc *wc)
{
	datp_lock(&ep->base.lock);
	if (ep->qpn == wc->qp_num)
		rdma_owed_back_locked(ep, ep, false);
	if (ep->qpn == wc->qp_num && ep->draining)
		rdma_ep_drained_locked(ep);
	datp_unlock(&ep->base.lock);
}

/* The peer has answered the RTR message, so it reads its socket. */
static void rtr_answered(struct rdma_ep *ep, const struct ibv_wc *wc)
{
	datp_lock(&ep->base.lock);
	/* no memory: the attempt fails after handshake_ms */
	if (ep->qpn == wc->qp_num && wc->status == IBV_WC_SUCCESS && !datp_ep_call(&ep->base, rdma_ep_rtr_answered))
		ep->rtr_heard = true;
	datp_unlock(&ep->base.lock);
}

/* Poll lock. */
static bool complete(struct rdma_cqset *set, const struct ibv_wc *wc, struct datp_completion *out)
{
	void *about = (void *)(uintptr_t)(wc->wr_id & ~(uint64_t)RDMA_ID_MASK);
	bool filled = false, taken = false, biased;
	struct datp_wqe *wqe = about;
	struct rdma_ep *ep;

	switch (wc->wr_id & RDMA_ID_MASK) {
	case RDMA_ID_DRAIN:
		drained(about, wc);
		return false;
	case RDMA_ID_RTR_MESSAGE:
		rtr_answered(about, wc);
		return false;
	case RDMA_ID_OURS:
		/* it has a completion only if it fails, and then all later requests fail, too */
		return false;
	case RDMA_ID_SRQ:
		ep = rdma_qpn_find_locked(set, wc->qp_num);
		taken = true;
		break;
	default:
		/*
		 * the thread that posted the request wrote this before the device had the request,
		 * and so before the completion
		 */
		ep = rdma_ep(wqe->ep);
	}
	if (!ep)
		return false;
	biased = datp_bias_lock(&ep->bias, &ep->base.lock);
	if (__builtin_expect(ep->over, 0) && ep->qpn == wc->qp_num)
		rdma_owed_back_locked(ep, wqe, wqe->op == DATP_RECV);
	/* relaxed: written under the EP lock */
	if (ep->qpn == wc->qp_num &&
	    atomic_load_explicit(&wqe->done, memory_order_relaxed) == DATP_WQE_OPEN) {
		if (taken)
			datp_srq_take(wqe, &ep->base);
		filled = complete_locked(set, ep, wqe, wc, out);
	}
	datp_bias_unlock(&ep->bias, &ep->base.lock, biased);
	return filled;
}

/* Queues the completions of a CQ, with a bound, because more may arrive all the time. */
static void queue_requests(struct rdma_cqset *set, const struct rdma_cq *cq)
{
	struct ibv_wc wc[BATCH];
	int got = BATCH;

	for (uint32_t taken = 0; got == BATCH && taken < cq->size; taken += BATCH) {
		got = ibv_poll_cq(cq->cq, BATCH, wc);
		for (int k = 0; k < got; k++)
			complete(set, &wc[k], NULL);
	}
}

/* The requests that are on CQs of their own. */
static void queue_requests_apart(struct rdma_cqset *set)
{
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (set->cq[i].cq && set->cq[i].requests_only)
			queue_requests(set, &set->cq[i]);
}

/*
 * A request that completed before a message arrived is queued first, because the message may be the
 * answer to that request. So the CQ of the requests is polled after the message has been found, and
 * the message is queued after that.
 */
static void queue_messages(struct rdma_cqset *set, const struct rdma_cq *cq)
{
	struct ibv_wc wc[BATCH];
	int got = BATCH;

	/* with a bound, as above */
	for (uint32_t taken = 0; got == BATCH && taken < cq->size; taken += BATCH) {
		got = ibv_poll_cq(cq->cq, BATCH, wc);
		queue_requests_apart(set);
		for (int k = 0; k < got; k++)
			complete(set, &wc[k], NULL);
	}
}

/*
 * Everything that is there is queued before anything else is polled. So completions before one poll
 * are queued before those after it, whichever CQs they are in; for messages in different CQs that
 * arrive in between, the order is unknown.
 */
static void queue_all(struct rdma_cqset *set)
{
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (set->cq[i].cq && !set->cq[i].requests_only)
			queue_messages(set, &set->cq[i]);
}

static int poll_one(struct rdma_cqset *set, struct datp_completion *out, int n)
{
	struct ibv_wc wc[BATCH];
	int found = 0;

	while (found < n) {
		int want = n - found < BATCH ? n - found : BATCH;
		int got = ibv_poll_cq(set->one, want, wc);

		for (int k = 0; k < got; k++)
			found += complete(set, &wc[k], out ? &out[found] : NULL);
		if (got < want)
			break;
	}
	return found;
}

static int poll_rest(struct rdma_cqset *set, struct datp_completion *out, int n)
{
	int found = 0;

	if (set->live > 1)
		queue_all(set);
	else
		found = poll_one(set, out, n);
	/* all CQs are polled: an event in the channel would be for what has been taken */
	if (found < n)
		atomic_store_explicit(&set->solicited, false, memory_order_relaxed);
	return found;
}

int rdma_cqset_poll(struct rdma_cqset *set, struct datp_completion *out, int n)
{
	set->queued = false;
	return poll_rest(set, out, n);
}

int rdma_cqset_poll_on(struct rdma_cqset *set, const struct ibv_wc *wc, struct datp_completion *out)
{
	set->queued = false;
	return complete(set, wc, out) ? 1 : poll_rest(set, out, 1);
}

int rdma_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n)
{
	return rdma_cqset_poll(&rdma_evd(evd)->set, out, n);
}

void rdma_cqset_drain(struct rdma_cqset *set)
{
	datp_lock(set->poll_lock);
	rdma_cqset_poll(set, NULL, BATCH);
	datp_unlock(set->poll_lock);
}
