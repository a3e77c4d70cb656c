/* SPDX-License-Identifier: BSD-2-Clause */
/* The soft IA. */
#ifndef SOFT_IA_H
#define SOFT_IA_H

#include "soft.h"

/*
 * What peers read of us before anything else is as it should be again, whatever a peer has written there: before
 * each introduction.
 */
void soft_ia_describe(struct soft_ia *ia);
/* The arena of an IA with this id, if it is one of this process; counted. */
struct soft_arena *soft_ia_arena(const uint64_t id[2], pid_t pid);
/* The service thread goes round its queues: soon, or, on the service thread, now. */
void soft_ia_ring(struct soft_ia *ia);
void soft_ia_rung(struct soft_ia *ia);
/* From now on the service thread is told of every arrival (for watermarks). */
void soft_ia_watch(struct soft_ia *ia);

#endif
