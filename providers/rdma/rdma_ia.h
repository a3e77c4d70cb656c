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

#endif
