/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that a forked child does not keep. */
#ifndef RDMA_FORK_H
#define RDMA_FORK_H

#include "rdma.h"

/* The state of cancellation of a thread before it was disabled. */
struct rdma_cancel {
	int state, type;
};

/*
 * Between these two calls the process does not fork, so that a descriptor is opened and listed, or
 * closed and unlisted, in one step; and the thread is not cancelled. The calls may be nested, each
 * with its own `own`.
 */
void rdma_fork_hold(struct rdma_cancel *own);
void rdma_fork_release(const struct rdma_cancel *own);
void rdma_fork_list(struct rdma_held *held, int fd);
void rdma_fork_unlist(struct rdma_held *held);
/* Prints a message, once, if a fork of this process makes its registered memory unusable. */
void rdma_fork_check(const struct rdma_ia *ia);

#endif
