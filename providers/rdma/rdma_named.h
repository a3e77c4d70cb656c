/* SPDX-License-Identifier: BSD-2-Clause */
/* The named attributes for programs of DAT 2.0. */
#ifndef RDMA_NAMED_H
#define RDMA_NAMED_H

#include "rdma.h"

/* Fills in provider_attr and its count. The texts are valid while the IA is open. */
void rdma_named_fill(struct rdma_ia *ia, struct datp_ia_attr *attr);

#endif
