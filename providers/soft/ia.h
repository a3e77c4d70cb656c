/* SPDX-License-Identifier: BSD-2-Clause */
/* The soft IA. */
#ifndef SOFT_IA_H
#define SOFT_IA_H

#include "soft.h"

struct soft_cover;

/* Writes again what peers read of us first, because a peer may have overwritten it; called before each introduction. */
void soft_ia_describe(struct soft_ia *ia);
/* Returns the arena of the IA with this id, with a reference, or NULL if it is no IA of this process. */
struct soft_arena *soft_ia_arena(const uint64_t id[2], pid_t pid);
/* Returns the endpoint with this index of the IA that has the arena, or NULL if that is closed. Endpoints are type-stable. */
struct soft_ep *soft_ia_ep_of(const struct soft_arena *arena, uint32_t index);
/* Returns true if a region of an IA of this process, also one that is being created or freed, has a byte of the range. */
bool soft_ia_regions_touch(uint64_t addr, uint64_t len);
/* Adds all those regions. */
void soft_ia_regions_cover(const struct soft_cover *cover);
/* soft_ia_wake() makes the service thread serve all queues soon; soft_ia_serve(), on the service thread, serves them now. */
void soft_ia_wake(struct soft_ia *ia);
void soft_ia_serve(struct soft_ia *ia);
/* From now on the service thread is notified of every arrival (for watermarks). */
void soft_ia_watch(struct soft_ia *ia);

#endif
