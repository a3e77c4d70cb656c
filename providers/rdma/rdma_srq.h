/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues, and the endpoints that take receives from them. */
#ifndef RDMA_SRQ_H
#define RDMA_SRQ_H

#include "rdma.h"

enum datp_err rdma_srq_create(struct datp_srq *srq);
enum datp_err rdma_srq_resize(struct datp_srq *srq, int32_t max_recv_dtos);
void rdma_srq_free(struct datp_srq *srq);
/*
 * Does what rdma_cqset_reserve() does, for the receives that an endpoint takes from this SRQ; `requests` is the number of its
 * other completions on this set. The release with the same set undoes it.
 */
enum datp_err rdma_srq_reserve(struct datp_srq *srq, struct rdma_cqset *set, uint32_t requests,
			       struct rdma_cq **cq);
void rdma_srq_release(struct datp_srq *srq, struct rdma_cqset *set);
/* Called when an endpoint with an SRQ has got a queue pair, or loses it; between reserve and release. No lock held. */
void rdma_qpn_add(struct rdma_ep *ep);
void rdma_qpn_remove(struct rdma_ep *ep);
/* Returns the endpoint that receives on this set by this queue pair, or NULL. Poll lock. */
struct rdma_ep *rdma_qpn_find_locked(const struct rdma_cqset *set, uint32_t qpn);

#endif
