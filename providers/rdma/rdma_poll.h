/* SPDX-License-Identifier: BSD-2-Clause */
/* What completions mean. */
#ifndef RDMA_POLL_H
#define RDMA_POLL_H

#include "rdma.h"

/*
 * Polls; at most n completions go to `out`, what needs no event or shall not be returned (`out` NULL)
 * is done on the spot. Poll lock.
 */
int rdma_cqset_poll(struct rdma_cqset *set, struct datp_completion *out, int n);
/* The same for one; `wc` has been polled already. */
int rdma_cqset_poll_on(struct rdma_cqset *set, const struct ibv_wc *wc, struct datp_completion *out);
int rdma_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n);
/* Queues ESTABLISHED, and behind it what came before. No lock held. */
void rdma_established_show(struct rdma_ep *ep, const void *pdata, uint32_t len);

#endif
