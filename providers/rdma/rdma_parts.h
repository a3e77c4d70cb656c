/* SPDX-License-Identifier: BSD-2-Clause */
/* Private data that arrive in two requests. */
#ifndef RDMA_PARTS_H
#define RDMA_PARTS_H

#include "rdma.h"
#include "rdma_cm.h"

enum rdma_parts {
	RDMA_PARTS_NONE, /* a request like any other */
	RDMA_PARTS_MORE, /* a first part, kept */
	RDMA_PARTS_WHOLE, /* the second part; `whole` has both */
	RDMA_PARTS_BAD	 /* a second part without a first one, or with one that is spoilt; or no memory for it */
};

/* Takes the private data of a request. Service thread. */
enum rdma_parts rdma_parts_join(struct rdma_ia *ia, const struct rdma_cm_event *event,
				unsigned char whole[RDMA_PDATA_MAX], uint32_t *len);
void rdma_parts_fini(struct rdma_ia *ia);

#endif
