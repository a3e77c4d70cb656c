/* SPDX-License-Identifier: BSD-2-Clause */
/* The indexes of a table that peers name its entries by: given in turn, and used again only after a rest. */
#ifndef SOFT_INDEX_POOL_H
#define SOFT_INDEX_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct soft_index_pool {
	uint32_t *freed; /* a ring of `size`, oldest first */
	uint32_t size;	 /* no index is as large as that */
	/* an index is used again only after this many others have been freed, unless all others are in use or rest as well */
	uint32_t rest;
	uint32_t head, count;
};

/* Returns false if there is no memory. Nothing has to be freed then. */
bool soft_index_pool_init(struct soft_index_pool *pool, uint32_t size, uint32_t rest);
/* Frees a pool, which may be all zeros. */
void soft_index_pool_fini(struct soft_index_pool *pool);

/*
 * Takes an index. *next is above all indexes that were ever used, which are as few as possible, because whatever walks over the
 * table looks at all of them. Returns false if all are in use. The caller has the lock of the table.
 */
bool soft_index_take(struct soft_index_pool *pool, _Atomic uint32_t *next, uint32_t *index);
/* Gives one back. The caller has the lock of the table. */
void soft_index_give(struct soft_index_pool *pool, uint32_t index);

#endif
