/* SPDX-License-Identifier: BSD-2-Clause */
/* What waits for a peer on the service thread's account, without keeping it. */
#ifndef SOFT_TICK_H
#define SOFT_TICK_H

#include "soft.h"

enum datp_err soft_tick_init(struct soft_ia *ia);
void soft_tick_fini(struct soft_ia *ia);
/* Something waits: the service thread looks after it, soon and until it is done. Any thread, any lock. */
void soft_tick_set(struct soft_ia *ia);

#endif
