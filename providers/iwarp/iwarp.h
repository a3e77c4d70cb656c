/* SPDX-License-Identifier: BSD-2-Clause */
/* What is particular to iWARP, for the plugins that serve it. */
#ifndef IWARP_H
#define IWARP_H

#include "../rdma/rdma.h"

extern const struct rdma_kind iw_kind;

#endif
