/* SPDX-License-Identifier: BSD-2-Clause */
/* What is particular to InfiniBand and RoCE, for the plugins that serve them. */
#ifndef IB_H
#define IB_H

#include "../rdma/rdma.h"

extern const struct rdma_kind ib_kind;

#endif
