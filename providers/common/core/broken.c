/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says which operation broke a connection.
 *
 * Invariant: nothing is recorded while data move. The slots of the rings keep the status of their
 * last operation, so the failed one is looked for when the connection has broken.
 */
#include "diag.h"
#include "ep.h"
#include "srq.h"

static const char *const ops[] = {
	[DATP_SEND] = "send",
	[DATP_RECV] = "receive",
	[DATP_RDMA_WRITE] = "RDMA write",
	[DATP_RDMA_READ] = "RDMA read",
	[DATP_BIND] = "RMR bind",
	[DATP_WRITE_IMM] = "RDMA write with immediate data",
	[DATP_CMP_SWAP] = "compare-and-swap",
	[DATP_FETCH_ADD] = "fetch-and-add",
	[DATP_SEND_INVALIDATE] = "send that invalidates",
	[DATP_READ_RMR] = "RDMA read into an RMR",
};

/* What each status means here, and what to do about it. */
static const struct meaning {
	const char *name, *cause, *remedy;
} meanings[] = {
	[DAT_DTO_ERR_LOCAL_LENGTH] = { "DAT_DTO_ERR_LOCAL_LENGTH",
				       "its segments are too short, or it is longer than the "
				       "endpoint allows",
				       "post segments as long as the message" },
	[DAT_DTO_ERR_LOCAL_EP] = { "DAT_DTO_ERR_LOCAL_EP", "the endpoint cannot execute it",
				   "see the other messages of this program" },
	[DAT_DTO_ERR_LOCAL_PROTECTION] = { "DAT_DTO_ERR_LOCAL_PROTECTION",
					   "a segment is not within its LMR, of another PZ, or lacks "
					   "the local right",
					   "correct the segment, or keep its LMR until the "
					   "operation has completed" },
	[DAT_DTO_ERR_BAD_RESPONSE] = { "DAT_DTO_ERR_BAD_RESPONSE",
				       "the peer sent an invalid response",
				       "see what the program there says" },
	[DAT_DTO_ERR_REMOTE_ACCESS] = { "DAT_DTO_ERR_REMOTE_ACCESS",
					"the peer has no memory with this RMR context, range and "
					"remote right",
					"compare the RMR context, address and length with what the "
					"peer has registered or bound" },
	[DAT_DTO_ERR_REMOTE_RESPONDER] = { "DAT_DTO_ERR_REMOTE_RESPONDER",
					   "the peer could not execute it, as when its receive is "
					   "shorter than the message",
					   "check the length of the receives that the peer posts, "
					   "and see its messages" },
	[DAT_DTO_ERR_TRANSPORT] = { "DAT_DTO_ERR_TRANSPORT", "the peer does not answer",
				    "check that the program and the host there are running" },
	[DAT_DTO_ERR_RECEIVER_NOT_READY] = { "DAT_DTO_ERR_RECEIVER_NOT_READY",
					     "the peer had no receive posted in time",
					     "post receives at the peer before this side sends" },
	[DAT_DTO_ERR_PARTIAL_PACKET] = { "DAT_DTO_ERR_PARTIAL_PACKET",
					 "only a part of the message has arrived",
					 "see what the program there says" },
	[DAT_RMR_OPERATION_FAILED] = { "DAT_RMR_OPERATION_FAILED", "the memory could not be bound",
				       "compare the range and the rights with those of the LMR" },
};

bool wqe_failed(const struct datp_wqe *wqe)
{
	/* relaxed: the fields of an endpoint are written under the EP lock, which is held */
	return atomic_load_explicit(&wqe->done, memory_order_relaxed) != DATP_WQE_OPEN &&
	       wqe->status != DAT_DTO_SUCCESS && wqe->status != DAT_DTO_ERR_FLUSHED;
}

/* Returns the first posted of the failed operations since `from`, or NULL. EP lock held. */
static const struct datp_wqe *ring_failed_locked(const struct datp_wq *wq, uint32_t from)
{
	const struct datp_wqe *first = NULL;

	for (uint32_t i = 0; i <= wq->mask; i++) {
		const struct datp_wqe *wqe = &wq->ring[i];

		if (wqe_failed(wqe) && (int32_t)(wqe->seq - from) >= 0 &&
		    (!first || (int32_t)(wqe->seq - first->seq) < 0))
			first = wqe;
	}
	return first;
}

void broken_by(struct datp_ep *ep, struct broken *by)
{
	const struct datp_wqe *wqe;

	*by = (struct broken){ 0 };
	by->unseen = !ep_poll_try(ep); /* takes completed operations from the transport */
	if (by->unseen)
		return;
	datp_lock(&ep->lock);
	wqe = ring_failed_locked(&ep->sq, ep_priv(ep)->sq_from);
	if (!wqe)
		wqe = ep->srq ? srq_failed(ep->srq, ep) :
				ring_failed_locked(&ep->rq, ep_priv(ep)->rq_from);
	if (wqe && wqe->op < sizeof(ops) / sizeof(*ops) &&
	    wqe->status < sizeof(meanings) / sizeof(*meanings)) {
		by->operation = ops[wqe->op];
		by->status = meanings[wqe->status].name;
		by->cause = meanings[wqe->status].cause;
		by->remedy = meanings[wqe->status].remedy;
		by->by_peer_gone = wqe->status == DAT_DTO_ERR_TRANSPORT;
	}
	datp_unlock(&ep->lock);
	ep_poll_unlock(ep);
}
