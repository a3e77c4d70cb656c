/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that another process can provoke: the name in this folder of log_limited(). */
#ifndef SOFT_LOG_LIMITED_H
#define SOFT_LOG_LIMITED_H

#include "log/limited.h"

#define soft_log_limited log_limited

#endif
