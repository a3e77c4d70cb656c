/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pool of indexes. A peer may still name an entry by its index when that is gone, so the index rests before it names another.
 *
 * Invariant: an index below *next is in use or in the ring, and in the ring once.
 */
#include "index_pool.h"
#include "sparse.h"

bool soft_index_pool_init(struct soft_index_pool *pool, uint32_t size, uint32_t rest)
{
	*pool = (struct soft_index_pool){ .freed = soft_sparse_new(size, sizeof *pool->freed), .size = size, .rest = rest };
	return pool->freed;
}

void soft_index_pool_fini(struct soft_index_pool *pool)
{
	soft_sparse_free(pool->freed, pool->size, sizeof *pool->freed);
	pool->freed = NULL;
}

bool soft_index_take(struct soft_index_pool *pool, _Atomic uint32_t *next, uint32_t *index)
{
	/* relaxed: it is written under the lock */
	uint32_t fresh = atomic_load_explicit(next, memory_order_relaxed);

	if (pool->count > pool->rest || (pool->count && fresh == pool->size)) {
		*index = pool->freed[pool->head];
		pool->head = (pool->head + 1) % pool->size;
		pool->count--;
		return true;
	}
	if (fresh == pool->size)
		return false;
	*index = fresh;
	/* relaxed: whoever walks over the table finds an old bound, or an index without an entry */
	atomic_store_explicit(next, fresh + 1, memory_order_relaxed);
	return true;
}

void soft_index_give(struct soft_index_pool *pool, uint32_t index)
{
	pool->freed[(pool->head + pool->count++) % pool->size] = index;
}
