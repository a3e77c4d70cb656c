/* SPDX-License-Identifier: BSD-2-Clause */
/* The soft IA. */
#ifndef SOFT_IA_H
#define SOFT_IA_H

#include "soft.h"

/* The arena of an IA with this id, if it is one of this process; counted. */
struct soft_arena *soft_ia_arena(const uint64_t id[2], pid_t pid);
/* The service thread goes round its queues, soon. */
void soft_ia_ring(struct soft_ia *ia);
/* From now on the service thread is told of every arrival (for watermarks). */
void soft_ia_watch(struct soft_ia *ia);

#endif
