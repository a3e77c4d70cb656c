/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps requests that may not go to the device yet, for one of two reasons.
 *
 * The first message. iWARP requires that the active side sends first. siw treats a message that
 * arrives with the reply to its request as an error, and a message that finds no receive ends the
 * connection. Both would happen to a program that sends as soon as it has accepted, because the
 * peer's program learns about the connection later. So its requests are kept here until the peer's
 * first message has arrived, or hold_ms have passed.
 *
 * A fence. Some devices ignore the fence of an RDMA Write, which then may send memory that an
 * earlier RDMA Read is still to fill. So the Write is kept until that read has completed, and what
 * is posted after the Write is kept behind it.
 *
 * Invariant: while rdma_ep.deferral is DEFER_FIRST_MESSAGE or DEFER_FENCED, the kept requests are in
 * the order of their posts, and no later request is on the queue pair; with DEFER_FIRST_MESSAGE
 * no request at all is on the queue pair.
 */
#include "rdma_cq.h"
#include "rdma_hold.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_timer.h"
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 5, MS = 1000 };

void rdma_hold_begin_locked(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);

	if (!rdma_has(ia, RDMA_EARLY_FATAL) || !ia->opt.hold_ms)
		return;
	ep->deferral = DEFER_FIRST_MESSAGE;
	ep->hold_us = datp_clock_us() + (uint64_t)ia->opt.hold_ms * MS;
}

/*
 * Returns true if the device may execute this request before a read that it has to wait for. Reads complete in the order
 * of their posts, so only the last read before the request counts. If `overtook` is set, that read has completed, and only
 * waits for earlier requests. EP lock.
 */
static bool overtakes_a_read_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr)
{
	const struct datp_wqe *wqe = (const struct datp_wqe *)(uintptr_t)wr->wr_id;
	const struct datp_wq *sq = &ep->base.sq;

	if (wr->opcode != IBV_WR_RDMA_WRITE || !(wr->send_flags & IBV_SEND_FENCE) ||
	    !rdma_has(rdma_ep_ia(ep), RDMA_WRITES_UNFENCED))
		return false;
	for (uint32_t s = wqe->seq; s != sq->finished; s--)
		if (sq->ring[(s - 1) & sq->mask].op == DATP_RDMA_READ)
			return !ep->overtook[(s - 1) & sq->mask];
	return false;
}

static void fence_begin_locked(struct rdma_ep *ep)
{
	ep->deferral = DEFER_FENCED;
	/* posts and completions take the slow path, which keeps requests and lets them go */
	rdma_fast_requests_end_locked(ep);
	ep->overtaking++;
}

void rdma_hold_fence_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr)
{
	if (ep->deferral == DEFER_NONE && overtakes_a_read_locked(ep, wr))
		fence_begin_locked(ep);
}

enum datp_err rdma_hold_keep_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr)
{
	size_t bytes = (size_t)wr->num_sge * sizeof(struct ibv_sge);
	struct rdma_kept *kept = malloc(sizeof(*kept) + bytes);

	if (!kept)
		return DATP_ERR_MEMORY;
	kept->next = NULL;
	kept->wr = *wr;
	if (bytes)
		memcpy(kept->sge, wr->sg_list, bytes);
	/* irdma accesses the first segment, whatever their number is */
	kept->wr.sg_list = bytes ? kept->sge : NULL;
	if (!ep->kept) {
		ep->kept_end = &ep->kept;
		/*
		 * the timer polls for what is waited for, because the program may not poll the queue
		 * where that arrives
		 */
		rdma_due_locked(ep, LOOK_MS);
	}
	*ep->kept_end = kept;
	ep->kept_end = &kept->next;
	return DATP_OK;
}

/* Posts the kept requests, up to one that has to wait for a read. EP lock. The caller has set `deferral` to DEFER_NONE. */
static void release_locked(struct rdma_ep *ep)
{
	enum datp_err err = DATP_OK;
	struct rdma_kept *kept;

	while ((kept = ep->kept) != NULL && !err && !ep->over) {
		if (overtakes_a_read_locked(ep, &kept->wr)) {
			fence_begin_locked(ep);
			rdma_due_locked(ep, LOOK_MS);
			return;
		}
		err = rdma_post_request(ep, &kept->wr);
		ep->kept = kept->next;
		free(kept);
	}
	rdma_hold_forget_locked(ep);
	if (!err) {
		rdma_fast_begin_locked(ep);
		return;
	}
	/* the program's post has succeeded, so the request is flushed, with those after it */
	datp_log(1, "%s: the device refuses a request that was kept back, see hold_ms and quirk=writes_unfenced; "
		    "its connection is ended",
		 ep->base.obj.ia->name);
	rdma_qp_stop_locked(ep);
}

void rdma_hold_end_locked(struct rdma_ep *ep)
{
	if (ep->deferral != DEFER_FIRST_MESSAGE)
		return;
	ep->deferral = DEFER_NONE;
	ep->heard = ep->up;
	release_locked(ep);
}

void rdma_hold_unfence_locked(struct rdma_ep *ep)
{
	/* after a request that has failed none succeeds, and the end of the connection flushes all */
	if (ep->deferral != DEFER_FENCED || ep->failed || (ep->kept && overtakes_a_read_locked(ep, &ep->kept->wr)))
		return;
	ep->deferral = DEFER_NONE;
	ep->overtaking--;
	release_locked(ep);
}

void rdma_hold_look_locked(struct rdma_ep *ep)
{
	if (ep->deferral == DEFER_FIRST_MESSAGE && datp_clock_us() >= ep->hold_us)
		rdma_hold_end_locked(ep);
}

static bool has_kept(struct rdma_ep *ep)
{
	bool has;

	datp_lock(&ep->base.lock);
	has = rdma_keeps_locked(ep) && ep->kept;
	datp_unlock(&ep->base.lock);
	return has;
}

void rdma_hold_timer(struct rdma_ep *ep)
{
	if (!has_kept(ep))
		return;
	rdma_cqset_drain(ep->recv_set);
	rdma_cqset_drain(ep->send_set);
	datp_lock(&ep->base.lock);
	rdma_hold_look_locked(ep);
	if (rdma_keeps_locked(ep) && ep->kept)
		rdma_due_locked(ep, LOOK_MS);
	datp_unlock(&ep->base.lock);
}

void rdma_hold_forget_locked(struct rdma_ep *ep)
{
	struct rdma_kept *kept = ep->kept;

	ep->kept = NULL;
	while (kept) {
		struct rdma_kept *next = kept->next;

		free(kept);
		kept = next;
	}
}
