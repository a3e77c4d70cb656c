/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a passive side that has to let the active side send first. */
#ifndef RDMA_HOLD_H
#define RDMA_HOLD_H

#include "rdma.h"

/* The peer is about to be answered: requests are kept from now on, if they have to be. EP lock. */
void rdma_hold_begin_locked(struct rdma_ep *ep);
/* A request that is to be posted later; with its segments. EP lock; `late` is LATE_HOLDS. */
enum datp_err rdma_hold_keep_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr);
/* Requests go to the device from now on, those that have been kept first. EP lock. */
void rdma_hold_end_locked(struct rdma_ep *ep);
/* A request is about to be posted: ends the wait if it has lasted long enough. EP lock. */
void rdma_hold_look_locked(struct rdma_ep *ep);
/* The timer has fired. Service thread, no lock held. */
void rdma_hold_timer(struct rdma_ep *ep);
/* Those that have been kept are libdatp's to flush. EP lock. */
void rdma_hold_forget_locked(struct rdma_ep *ep);

#endif
