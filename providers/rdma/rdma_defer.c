/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defers requests that may not go to the device yet, for one of two reasons.
 *
 * The first message. iWARP requires that the active side sends first. siw treats a message that
 * arrives with the reply to its request as an error, and a message that finds no receive ends the
 * connection. Both would happen to a program that sends as soon as it has accepted, because the
 * peer's program learns about the connection later. So its requests are deferred until the peer's
 * first message has arrived, or hold_ms have passed.
 *
 * A fence. Some devices ignore the fence of an RDMA Write, which then may send memory that an
 * earlier RDMA Read is still to fill; or that of an RDMA Read, whose peer then may read memory that it
 * shares with the sink of an earlier one. So the request is deferred until that read has completed, and
 * what is posted after it is deferred behind it.
 *
 * Invariant: while rdma_ep.deferral is DEFER_FIRST_MESSAGE or DEFER_FENCED, the deferred requests are in
 * the order of their posts, and no later request is on the queue pair; with DEFER_FIRST_MESSAGE
 * no request at all is on the queue pair.
 */
#include "log/limited.h"
#include "rdma_cq.h"
#include "rdma_defer.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_timer.h"
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 5, MS = 1000 };

void rdma_defer_begin_locked(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);

	if (!rdma_has(ia, RDMA_EARLY_FATAL) || !ia->opt.hold_ms)
		return;
	ep->deferral = DEFER_FIRST_MESSAGE;
	ep->defer_until_us = datp_clock_us() + (uint64_t)ia->opt.hold_ms * MS;
}

/* Returns true if the device does not wait at the fence of such a request. */
static bool ignores_fence(const struct rdma_ia *ia, enum ibv_wr_opcode opcode)
{
	if (opcode == IBV_WR_RDMA_READ)
		return rdma_has(ia, RDMA_READS_UNFENCED) || rdma_has(ia, RDMA_FENCE_READS);
	return opcode == IBV_WR_RDMA_WRITE && rdma_has(ia, RDMA_WRITES_UNFENCED);
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

	if (!(wr->send_flags & IBV_SEND_FENCE) || !ignores_fence(rdma_ep_ia(ep), wr->opcode))
		return false;
	for (uint32_t s = wqe->seq; s != sq->finished; s--)
		if (sq->ring[(s - 1) & sq->mask].op == DATP_RDMA_READ)
			return !ep->overtook[(s - 1) & sq->mask];
	return false;
}

static void fence_begin_locked(struct rdma_ep *ep)
{
	ep->deferral = DEFER_FENCED;
	/* posts and completions take the slow path, which defers and posts requests */
	rdma_fast_requests_end_locked(ep);
	ep->overtaking++;
}

void rdma_defer_fence_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr)
{
	if (ep->deferral == DEFER_NONE && overtakes_a_read_locked(ep, wr))
		fence_begin_locked(ep);
}

enum datp_err rdma_defer_request_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr)
{
	size_t bytes = (size_t)wr->num_sge * sizeof(struct ibv_sge);
	struct rdma_deferred *deferred = malloc(sizeof(*deferred) + bytes);

	if (!deferred)
		return DATP_ERR_MEMORY;
	deferred->next = NULL;
	deferred->wr = *wr;
	if (bytes)
		memcpy(deferred->sge, wr->sg_list, bytes);
	/* irdma accesses the first segment, whatever their number is */
	deferred->wr.sg_list = bytes ? deferred->sge : NULL;
	if (!ep->deferred) {
		ep->deferred_tail = &ep->deferred;
		/*
		 * the timer polls for what is waited for, because the program may not poll the queue
		 * where that arrives
		 */
		rdma_due_locked(ep, LOOK_MS);
	}
	*ep->deferred_tail = deferred;
	ep->deferred_tail = &deferred->next;
	return DATP_OK;
}

/* Posts the deferred requests, up to one that has to wait for a read. EP lock. The caller has set `deferral` to DEFER_NONE. */
static void release_locked(struct rdma_ep *ep)
{
	enum datp_err err = DATP_OK;
	static struct log_limit refused;
	struct rdma_deferred *deferred;

	while ((deferred = ep->deferred) != NULL && !err && !ep->over) {
		if (overtakes_a_read_locked(ep, &deferred->wr)) {
			fence_begin_locked(ep);
			rdma_due_locked(ep, LOOK_MS);
			return;
		}
		err = rdma_post_request(ep, &deferred->wr);
		ep->deferred = deferred->next;
		free(deferred);
	}
	rdma_defer_forget_locked(ep);
	if (!err) {
		rdma_fast_begin_locked(ep);
		return;
	}
	/* the program's post has succeeded, so the request is flushed, with those after it */
	log_limited(&refused, 1,
		    "%s: the device refuses a request that was deferred, see hold_ms and the quirks of fences; "
		    "its connection is ended",
		    ep->base.obj.ia->name);
	rdma_qp_stop_locked(ep);
}

void rdma_defer_end_locked(struct rdma_ep *ep)
{
	if (ep->deferral != DEFER_FIRST_MESSAGE)
		return;
	ep->deferral = DEFER_NONE;
	ep->heard = ep->up;
	release_locked(ep);
}

void rdma_defer_unfence_locked(struct rdma_ep *ep)
{
	/* after a request that has failed none succeeds, and the end of the connection flushes all */
	if (ep->deferral != DEFER_FENCED || ep->failed || (ep->deferred && overtakes_a_read_locked(ep, &ep->deferred->wr)))
		return;
	ep->deferral = DEFER_NONE;
	ep->overtaking--;
	release_locked(ep);
}

void rdma_defer_look_locked(struct rdma_ep *ep)
{
	if (ep->deferral == DEFER_FIRST_MESSAGE && datp_clock_us() >= ep->defer_until_us)
		rdma_defer_end_locked(ep);
}

static bool has_deferred(struct rdma_ep *ep)
{
	bool has;

	datp_lock(&ep->base.lock);
	has = rdma_defers_locked(ep) && ep->deferred;
	datp_unlock(&ep->base.lock);
	return has;
}

void rdma_defer_timer(struct rdma_ep *ep)
{
	if (!has_deferred(ep))
		return;
	rdma_cqset_drain(ep->recv_set);
	rdma_cqset_drain(ep->send_set);
	datp_lock(&ep->base.lock);
	rdma_defer_look_locked(ep);
	if (rdma_defers_locked(ep) && ep->deferred)
		rdma_due_locked(ep, LOOK_MS);
	datp_unlock(&ep->base.lock);
}

void rdma_defer_forget_locked(struct rdma_ep *ep)
{
	struct rdma_deferred *deferred = ep->deferred;

	ep->deferred = NULL;
	while (deferred) {
		struct rdma_deferred *next = deferred->next;

		free(deferred);
		deferred = next;
	}
}
