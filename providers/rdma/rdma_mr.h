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
struct datp_lmr *rdma_lmr_find(struct datp_ia *ia, uint32_t lmr_context);
struct rdma_lmr *rdma_lmr_find_locked(struct rdma_ia *ia, uint32_t context);

static inline _Atomic(struct rdma_lmr *) *rdma_lmr_bucket(struct rdma_ia *ia, uint32_t context)
{
	/* rxe counts in the high bytes, others in the low ones */
	return &ia->lmrs[(context ^ context >> 8) % RDMA_MR_BUCKETS];
}

/*
 * Returns the LMR of a context, or NULL. Usually takes no lock. LMRs are type-stable memory, so one
 * that is freed meanwhile can at worst lead the search into another bucket; therefore a search that
 * finds nothing is repeated with the lock.
 */
static inline struct rdma_lmr *rdma_lmr_get(struct rdma_ia *ia, uint32_t context)
{
	/* acquire: pairs with the release that publishes an LMR, and with that of its registration */
	struct rdma_lmr *lmr =
		atomic_load_explicit(rdma_lmr_bucket(ia, context), memory_order_acquire);

	for (int steps = 0; lmr && steps < 64; steps++) {
		if ((uint32_t)atomic_load_explicit(&lmr->registration, memory_order_acquire) == context)
			return lmr;
		lmr = atomic_load_explicit(&lmr->next, memory_order_acquire);
	}
	return rdma_lmr_find_locked(ia, context);
}
int rdma_access(const struct rdma_ia *ia, DAT_MEM_PRIV_FLAGS priv);
/* Logs why memory could not be registered. */
enum datp_err rdma_mr_error(const struct rdma_ia *ia, uint64_t len, int err);

#endif
