/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer for work that waits for a peer and must not occupy the service thread. */
#ifndef SOFT_TICK_H
#define SOFT_TICK_H

#include "soft.h"

void soft_tick_fini(struct soft_ia *ia);
/* Has the service thread look at what waits, soon and until nothing is left. Any thread, under any lock. */
void soft_tick_set(struct soft_ia *ia);

#endif
