/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a passive side that has to let the active side send first. */
#ifndef RDMA_HOLD_H
#define RDMA_HOLD_H

#include "rdma.h"

/*
 * Called before the peer is answered: from now on requests are kept back, if that is necessary. EP
 * lock.
 */
void rdma_hold_begin_locked(struct rdma_ep *ep);
/* Keeps a request, with its segments, that is to be posted later. EP lock; `late` is LATE_HOLDS. */
enum datp_err rdma_hold_keep_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr);
/* Posts the requests that have been kept; from now on requests go to the device. EP lock. */
void rdma_hold_end_locked(struct rdma_ep *ep);
/* Called before a request is posted: ends the wait if it has lasted long enough. EP lock. */
void rdma_hold_look_locked(struct rdma_ep *ep);
/* Called when the timer has fired. Service thread, no lock held. */
void rdma_hold_timer(struct rdma_ep *ep);
/* Drops the requests that have been kept, because libdatp flushes them. EP lock. */
void rdma_hold_forget_locked(struct rdma_ep *ep);

#endif
