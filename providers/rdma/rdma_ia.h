/* SPDX-License-Identifier: BSD-2-Clause */
/* Adapters: open, close and query. */
#ifndef RDMA_IA_H
#define RDMA_IA_H

#include "rdma.h"

/* Opens an adapter. The transport of the device chooses one of `kinds`, which ends with NULL. */
enum datp_err rdma_ia_open(struct datp_ia *ia, const char *params,
			   const struct rdma_kind *const *kinds);
void rdma_ia_close(struct datp_ia *ia);
void rdma_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr);
/* Returns true if peers may use atomic operations: InfiniBand leaves them to the device, and iWARP has none. */
static inline bool rdma_has_atomics(const struct rdma_ia *ia)
{
	return ia->kind->transport == IBV_TRANSPORT_IB && ia->dev.atomic_cap != IBV_ATOMIC_NONE;
}
void rdma_ext_query(struct datp_ia *ia, struct datp_ext_attr *attr);

#endif
