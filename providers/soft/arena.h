/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of an IA that its peers map. */
#ifndef SOFT_ARENA_H
#define SOFT_ARENA_H

#include "soft.h"

/*
 * Whether pages of a file stay where they are, whatever whoever else has it does: memory that is sealed against
 * shrinking, of ordinary pages. Only such a file of another process may be mapped.
 */
bool soft_file_stays(int fd);
enum datp_err soft_arena_new(struct soft_arena **arena);
void soft_arena_put(struct soft_arena *arena); /* the last one unmaps it */
/* The place, of at least that size; NULL: there is none. */
void *soft_arena_at(struct soft_arena *arena, const struct soft_ref *ref, uint64_t size);

/* How long the extent is that a piece of `size` bytes lies in. */
uint64_t soft_arena_extent(uint64_t size);

/*
 * A piece of at least `size` bytes, aligned to its size rounded up to a power of two (at most the
 * extent's). SOFT_KIND_OTHER is zeroed; of the others a used piece is as its last user left it. 
 */
enum datp_err soft_arena_alloc(struct soft_ia *ia, enum soft_kind kind, uint64_t size,
			       struct soft_mem *mem);
void soft_arena_free(struct soft_ia *ia, struct soft_mem *mem);
/* Calls fn for every piece of a kind that was given back and waits for its next user. */
void soft_arena_resting(struct soft_arena *arena, enum soft_kind kind,
			void (*fn)(const struct soft_mem *mem, void *arg), void *arg);

#endif
