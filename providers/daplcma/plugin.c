/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin libdaplcma.so.1, the name that existing dat.conf files give to the rdma_cm provider
 * for any device. The device's transport decides whether it acts as ib or as iwarp.
 */
#include "../ib/ib.h"
#include "../iwarp/iwarp.h"
#include "../rdma/rdma_fast.h"
#include "../rdma/rdma_ia.h"
#include "../rdma/rdma_ops.h"

static enum datp_err cma_ia_open(struct datp_ia *ia, const char *params)
{
	static const struct rdma_kind *const kinds[] = { &ib_kind, &iw_kind, NULL };

	return rdma_ia_open(ia, params, kinds);
}

static const struct datp_ops cma_ops = { .ia_open = cma_ia_open, RDMA_OPS };

RDMA_PROVIDER("cma", cma_ops)
