/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory and fork(). */
#ifndef RDMA_FORK_H
#define RDMA_FORK_H

#include "rdma.h"

/* Prints a message, once, if a fork of this process makes its registered memory unusable. */
void rdma_fork_check(const struct rdma_ia *ia);

#endif
