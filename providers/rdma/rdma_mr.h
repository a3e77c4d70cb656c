/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection zones and LMRs. */
#ifndef RDMA_MR_H
#define RDMA_MR_H

#include "rdma.h"

/* Allocates a protection domain. Returns NULL if the device has none left, and logs why. */
struct ibv_pd *rdma_pd_new(const struct rdma_ia *ia);
enum datp_err rdma_pz_create(struct datp_pz *pz);
void rdma_pz_free(struct datp_pz *pz);
enum datp_err rdma_lmr_create(struct datp_lmr *lmr, const void *cookie);
void rdma_lmr_free(struct datp_lmr *lmr);
/*
 * After this returns, nothing is written to a region that was deregistered before the call. May
 * take milliseconds if the device itself does not wait. Any lock except the IA mutex may be held.
 */
void rdma_mr_settle(struct rdma_ia *ia);
int rdma_access(const struct rdma_ia *ia, DAT_MEM_PRIV_FLAGS priv);
/* Logs why memory could not be registered. */
enum datp_err rdma_mr_error(const struct rdma_ia *ia, uint64_t len, int err);

#endif
