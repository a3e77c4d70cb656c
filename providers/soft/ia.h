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
/*
 * Between these two the process does not fork: what is opened here is in a list, where the child
 * finds it, before there is a child, and leaves it only closed. Taken before any lock of an IA.
 */
void soft_fork_hold(void);
void soft_fork_release(void);
/* The service thread goes round its queues: soon, or, on the service thread, now. */
void soft_ia_ring(struct soft_ia *ia);
void soft_ia_rung(struct soft_ia *ia);
/* From now on the service thread is told of every arrival (for watermarks). */
void soft_ia_watch(struct soft_ia *ia);

#endif
