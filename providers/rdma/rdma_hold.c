/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds requests of a passive side back until the active side has sent first, which iWARP requires.
 * siw treats a message that arrives with the reply to its request as an error, and a message that
 * finds no receive ends the connection. Both would happen to a program that sends as soon as it has
 * accepted, because the peer's program learns about the connection later. So its requests are kept
 * here until the peer's first message has arrived, or hold_ms have passed. Invariant: while
 * rdma_ep.late is LATE_HOLDS, no request is on the queue pair, and the kept requests are in the
 * order of their posts.
 */
#include "rdma_cq.h"
#include "rdma_hold.h"
#include "rdma_late.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 5, MS = 1000000 };

void rdma_hold_begin_locked(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);

	if (!rdma_has(ia, RDMA_EARLY_FATAL) || !ia->opt.hold_ms)
		return;
	ep->late = LATE_HOLDS;
	ep->hold_ns = rdma_now_ns() + (uint64_t)ia->opt.hold_ms * MS;
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
	kept->wr.sg_list = kept->sge;
	if (!ep->kept) {
		ep->kept_end = &ep->kept;
		/*
		 * the timer polls for the peer's message, because the program may not poll the queue
		 * where that arrives while it waits for this request
		 */
		rdma_due_locked(ep, LOOK_MS);
	}
	*ep->kept_end = kept;
	ep->kept_end = &kept->next;
	return DATP_OK;
}

void rdma_hold_end_locked(struct rdma_ep *ep)
{
	enum datp_err err = DATP_OK;

	if (ep->late != LATE_HOLDS)
		return;
	ep->late = LATE_NOT;
	ep->heard = ep->up;
	for (struct rdma_kept *kept = ep->kept; kept && !err; kept = kept->next)
		err = rdma_post_request(ep, &kept->wr);
	rdma_hold_forget_locked(ep);
	if (!err) {
		rdma_plain_begin_locked(ep);
		return;
	}
	/* the program's post has succeeded, so the request is flushed, with those after it */
	datp_log(1, "%s: the device refuses a request that waited for the peer's first message; "
		    "its connection is ended",
		 ep->base.obj.ia->name);
	rdma_qp_stop_locked(ep);
}

void rdma_hold_look_locked(struct rdma_ep *ep)
{
	if (ep->late == LATE_HOLDS && rdma_now_ns() >= ep->hold_ns)
		rdma_hold_end_locked(ep);
}

void rdma_hold_timer(struct rdma_ep *ep)
{
	bool holds;

	datp_lock(&ep->base.lock);
	holds = ep->late == LATE_HOLDS && ep->kept;
	datp_unlock(&ep->base.lock);
	if (!holds)
		return;
	rdma_cqset_drain(ep->recv_set);
	datp_lock(&ep->base.lock);
	rdma_hold_look_locked(ep);
	if (ep->late == LATE_HOLDS && ep->kept)
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
