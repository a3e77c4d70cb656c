/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that a peer can provoke. */
#ifndef RDMA_LOG_H
#define RDMA_LOG_H

#include "log/limit.h"

/*
 * As datp_log(), but writes only a few lines about one cause in ten seconds, however often a peer provokes them. The next line that
 * is written says how many were left out. Any thread, under any lock.
 */
void rdma_log_limited(struct log_limit *cause, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
