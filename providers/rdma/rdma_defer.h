/* SPDX-License-Identifier: BSD-2-Clause */
/* Deferred requests: they are kept, in their order, until they may go to the device. */
#ifndef RDMA_DEFER_H
#define RDMA_DEFER_H

#include "rdma.h"

/*
 * Called before the peer is answered: from now on requests are deferred, if that is necessary. EP
 * lock.
 */
void rdma_defer_begin_locked(struct rdma_ep *ep);
/*
 * Called for a request with a fence before it is posted: from now on requests are deferred, if the device would let it
 * overtake a read. EP lock.
 */
void rdma_defer_fence_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr);
/* Called when an operation has completed: posts the requests whose fence has no read to wait for any more. EP lock. */
void rdma_defer_unfence_locked(struct rdma_ep *ep);
/* Defers a request, with its segments, that is to be posted later. EP lock; rdma_defers_locked() is true. */
enum datp_err rdma_defer_request_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr);
/* The peer's first message need not be waited for any more: posts the deferred requests. EP lock. */
void rdma_defer_end_locked(struct rdma_ep *ep);
/* Called before a request is posted: ends the wait if it has lasted long enough. EP lock. */
void rdma_defer_look_locked(struct rdma_ep *ep);
/* Called when the timer has fired. Service thread, no lock held. */
void rdma_defer_timer(struct rdma_ep *ep);
/* Drops the deferred requests, because libdatp flushes them. EP lock. */
void rdma_defer_forget_locked(struct rdma_ep *ep);

#endif
