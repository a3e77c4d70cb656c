/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin for InfiniBand and RoCE. */
#include "../rdma/rdma_fast.h"
#include "../rdma/rdma_ia.h"
#include "../rdma/rdma_ops.h"
#include "ib.h"

static enum datp_err ib_ia_open(struct datp_ia *ia, const char *params)
{
	static const struct rdma_kind *const kinds[] = { &ib_kind, NULL };

	return rdma_ia_open(ia, params, kinds);
}

static const struct datp_ops ib_ops = { .ia_open = ib_ia_open, RDMA_OPS };

RDMA_PROVIDER("ib", ib_ops)
