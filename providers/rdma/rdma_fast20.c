/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path for programs of DAT 2.0. Invariant: an operation that this path does not execute is left to libdatp before
 * anything has been changed. libdatp converts it for the functions for 1.2.
 */
#define RDMA_API_20
#include "rdma_fast.h"

RDMA_FAST_PATH

const struct datp_fast20 rdma_fast20 = {
	.post_send = rdma_fast20_send,
	.post_recv = rdma_fast20_recv,
	.post_rdma_read = rdma_fast20_read,
	.post_rdma_write = rdma_fast20_write,
	.evd_dequeue = rdma_fast20_dequeue,
};
