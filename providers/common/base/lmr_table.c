/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the tables of LMRs by their contexts. Invariant, while nobody holds the lock: an LMR is in the list of its context's
 * bucket exactly if its `registration` is not 0.
 */
#include "lmr_table.h"

#include <stdlib.h>

bool lmr_table_init(struct datp_lmr_table *table)
{
	/* sparse: pages that nobody touches use no memory */
	table->buckets = calloc(DATP_LMR_BUCKETS, sizeof(*table->buckets));
	return table->buckets != NULL;
}

void lmr_table_fini(struct datp_lmr_table *table)
{
	free((void *)table->buckets);
	table->buckets = NULL;
}

static struct datp_known_lmr *find_locked(struct datp_lmr_table *table, uint32_t context)
{
	/* relaxed: written under the lock */
	struct datp_known_lmr *lmr = atomic_load_explicit(datp_lmr_bucket(table, context), memory_order_relaxed);

	while (lmr && (uint32_t)atomic_load_explicit(&lmr->registration, memory_order_relaxed) != context)
		lmr = atomic_load_explicit(&lmr->next, memory_order_relaxed);
	return lmr;
}

struct datp_known_lmr *datp_lmr_get_slow(struct datp_lmr_table *table, uint32_t context)
{
	struct datp_known_lmr *lmr;

	datp_lock(&table->lock);
	lmr = find_locked(table, context);
	datp_unlock(&table->lock);
	return lmr;
}

static uint32_t unused_locked(struct datp_lmr_table *table)
{
	do
		table->last = table->last % INT32_MAX + 1;
	while (find_locked(table, table->last));
	return table->last;
}

void datp_lmr_add(struct datp_lmr_table *table, struct datp_known_lmr *lmr)
{
	_Atomic(struct datp_known_lmr *) *bucket;

	datp_lock(&table->lock);
	if (!lmr->base.lmr_context)
		lmr->base.lmr_context = lmr->base.rmr_context = unused_locked(table);
	bucket = datp_lmr_bucket(table, lmr->base.lmr_context);
	/* relaxed, then release: a thread that finds the LMR finds it complete */
	atomic_store_explicit(&lmr->next, atomic_load_explicit(bucket, memory_order_relaxed), memory_order_relaxed);
	atomic_store_explicit(&lmr->registration, (uint64_t)lmr->base.obj.gen << 32 | lmr->base.lmr_context,
			      memory_order_release);
	atomic_store_explicit(bucket, lmr, memory_order_release);
	datp_unlock(&table->lock);
}

void datp_lmr_remove(struct datp_lmr_table *table, struct datp_known_lmr *lmr)
{
	_Atomic(struct datp_known_lmr *) *at = datp_lmr_bucket(table, lmr->base.lmr_context);
	struct datp_known_lmr *here;

	datp_lock(&table->lock);
	/* relaxed: written under the lock; release: a thread that continues from there finds what it points to */
	atomic_store_explicit(&lmr->registration, 0, memory_order_relaxed);
	while ((here = atomic_load_explicit(at, memory_order_relaxed)) != NULL && here != lmr)
		at = &here->next;
	if (here)
		atomic_store_explicit(at, atomic_load_explicit(&lmr->next, memory_order_relaxed), memory_order_release);
	datp_unlock(&table->lock);
}
