/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin for iWARP. */
#include "../rdma/rdma_fast.h"
#include "../rdma/rdma_ia.h"
#include "../rdma/rdma_ops.h"
#include "iwarp.h"

static enum datp_err iw_ia_open(struct datp_ia *ia, const char *params)
{
	static const struct rdma_kind *const kinds[] = { &iw_kind, NULL };

	return rdma_ia_open(ia, params, kinds);
}

static const struct datp_ops iw_ops = { .ia_open = iw_ia_open, RDMA_OPS };

RDMA_PROVIDER("iwarp", iw_ops)
