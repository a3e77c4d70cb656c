/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGPIPE, which a post may raise. */
#ifndef RDMA_PIPE_H
#define RDMA_PIPE_H

#include "rdma.h"

/*
 * After this call SIGPIPE does not end the program, unless the program has set a handler itself.
 * Any thread.
 */
void rdma_pipe_guard(void);

#endif
