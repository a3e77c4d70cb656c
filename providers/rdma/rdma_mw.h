/* SPDX-License-Identifier: BSD-2-Clause */
/* RMRs. */
#ifndef RDMA_MW_H
#define RDMA_MW_H

#include "rdma.h"

enum datp_err rdma_rmr_create(struct datp_rmr *rmr);
void rdma_rmr_free(struct datp_rmr *rmr);
enum datp_err rdma_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS priv, uint32_t *context);
bool rdma_rmr_done(struct datp_rmr *rmr, uint32_t context, uint64_t len, bool good);

#endif
