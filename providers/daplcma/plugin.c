/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugins libdaplcma.so.1 and libdaplofa.so.2, the names that existing dat.conf files for uDAPL 1.2
 * and 2.0 give to the rdma_cm provider for any device. The device's transport decides whether it acts as ib or as iwarp.
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
