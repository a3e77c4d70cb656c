/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of a provider that another process can provoke. */
#ifndef LOG_LIMITED_H
#define LOG_LIMITED_H

#include "log/limit.h"

/*
 * As datp_log(), but writes only a few lines about one cause in ten seconds, however often another process provokes them.
 * The next line that is written says how many were left out. Any thread, under any lock.
 */
void log_limited(struct log_limit *cause, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
