/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion queues of an EVD, and its waiter. */
#ifndef RDMA_CQ_H
#define RDMA_CQ_H

#include "rdma.h"

enum datp_err rdma_cqset_init(struct rdma_cqset *set, struct rdma_ia *ia, struct datp_evd *evd,
			      _Atomic uint32_t *poll_lock, uint32_t size);
void rdma_cqset_fini(struct rdma_cqset *set);
/*
 * Returns a CQ with room for `need` further completions, which it reserves until they are given
 * back. `whole` is what the endpoint needs of this set for both uses.
 */
enum datp_err rdma_cqset_reserve(struct rdma_cqset *set, enum rdma_use use, uint32_t need,
				 uint32_t whole, struct rdma_cq **cq);
void rdma_cqset_release(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t need);
/*
 * Marks a CQ as one with receives that cannot move to another CQ: their queue pair is being
 * connected, or they are an SRQ's.
 */
void rdma_cqset_settle(struct rdma_cqset *set, struct rdma_cq *cq);
/* Returns true if new endpoints use this CQ. */
bool rdma_cqset_is_home(struct rdma_cqset *set, const struct rdma_cq *cq);
/* Reserves `more` entries in this CQ. Returns false if that is not possible. */
bool rdma_cqset_extend(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t more);
/* Has the service thread poll for completions until the count of drains is 0 again. */
void rdma_cqset_watch(struct rdma_cqset *set, int drains);
bool rdma_cqset_arm(struct rdma_cqset *set, bool solicited);
/* Delivers all completions that are there. No lock held. */
void rdma_cqset_drain(struct rdma_cqset *set);

enum datp_err rdma_evd_create(struct datp_evd *evd, int32_t qlen);
enum datp_err rdma_evd_resize(struct datp_evd *evd, int32_t qlen);
void rdma_evd_free(struct datp_evd *evd);
bool rdma_evd_arm(struct datp_evd *evd, enum datp_arm arm, bool solicited_only);
int rdma_evd_sleep(struct datp_evd *evd, uint32_t seen, const struct timespec *deadline);
void rdma_evd_wake(struct datp_evd *evd);

#endif
