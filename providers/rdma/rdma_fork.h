/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that a forked child does not keep. */
#ifndef RDMA_FORK_H
#define RDMA_FORK_H

#include "rdma.h"

/* What a thread was to pthread_cancel() before it was kept from that. */
struct rdma_cancel {
	int state, type;
};

/*
 * Between these two the process does not fork: what is opened is listed in one step with that, and what is
 * closed is taken off the list. Nor is the thread cancelled. May be nested, each with an `own` of its own.
 */
void rdma_fork_hold(struct rdma_cancel *own);
void rdma_fork_release(const struct rdma_cancel *own);
void rdma_fork_list(struct rdma_held *held, int fd);
void rdma_fork_unlist(struct rdma_held *held);

#endif
