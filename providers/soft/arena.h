/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of an IA that its peers map. */
#ifndef SOFT_ARENA_H
#define SOFT_ARENA_H

#include "soft.h"

/*
 * Returns true if no other holder of the file can take pages out of it: it consists of ordinary pages and is sealed
 * against shrinking. Of another process's files only such a one may be mapped.
 */
bool soft_file_stays(int fd);
enum datp_err soft_arena_new(struct soft_arena **arena);
/* Drops a reference; the last one unmaps the arena. */
void soft_arena_put(struct soft_arena *arena);
/* Returns the address of memory in an arena of this process, or NULL if no extent has `size` bytes there. */
void *soft_arena_at(struct soft_arena *arena, const struct soft_ref *ref, uint64_t size);

/* Returns the length of the extent that a piece of `size` bytes lies in. */
uint64_t soft_arena_extent(uint64_t size);

/*
 * Allocates a piece of at least `size` bytes, aligned to its size rounded up to a power of two, but
 * at most to a page. The bytes of a SOFT_KIND_OTHER are zeros; a used piece of another kind is as its last user
 * left it. A piece that is freed keeps its pages: see arena.c.
 */
enum datp_err soft_arena_alloc(struct soft_ia *ia, enum soft_kind kind, uint64_t size,
			       struct soft_mem *mem);
void soft_arena_free(struct soft_ia *ia, struct soft_mem *mem);

#endif
