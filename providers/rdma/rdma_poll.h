/* SPDX-License-Identifier: BSD-2-Clause */
/* The evaluation of completions. */
#ifndef RDMA_POLL_H
#define RDMA_POLL_H

#include "rdma.h"

/*
 * Polls for completions. Stores at most n in `out`; one that needs no event, or any if `out` is
 * NULL, is completed in the call. Poll lock.
 */
int rdma_cqset_poll(struct rdma_cqset *set, struct datp_completion *out, int n);
/* The same for one completion `wc` that has been polled already. */
int rdma_cqset_poll_on(struct rdma_cqset *set, const struct ibv_wc *wc, struct datp_completion *out);
int rdma_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n);
/* Queues ESTABLISHED, and then the receives that completed before it. No lock held. */
void rdma_established_show(struct rdma_ep *ep, const void *pdata, uint32_t len);

#endif
