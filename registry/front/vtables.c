/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of vtables that the objects of live providers begin with: those registered and those of
 * each open IA, counted.
 *
 * Invariant: lookups take no lock. Slots are set and cleared in place and chunks are only ever
 * added, so a reader that races with a change sees the set as it was before or after it, for each
 * vtable.
 */
#include "front.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Returns the vtable if it is in the set, or NULL. The loads of the slots are relaxed, because only
 * pointer values are compared; see reg_provider(). The chunk itself is read through its pointer, so
 * that load is an acquire, which pairs with the release that linked the chunk in.
 */
const DAT_PROVIDER *vtables_find(const DAT_PROVIDER *vtable)
{
	struct reg_vtables *chunk = &front.vtables;
	int i;

	if (!vtable)
		return NULL;
	for (; chunk; chunk = atomic_load_explicit(&chunk->next, memory_order_acquire))
		for (i = 0; i < REG_VTABLE_CHUNK; i++)
			if (atomic_load_explicit(&chunk->vtable[i], memory_order_relaxed) == vtable)
				return vtable;
	return NULL;
}

/*
 * Returns true if the table may be the hint: it has all the calls that the fast path makes without
 * a test.
 */
static bool is_whole(const DAT_PROVIDER *vtable)
{
	return vtable->ep_post_send_func && vtable->ep_post_recv_func &&
	       vtable->ep_post_rdma_read_func && vtable->ep_post_rdma_write_func &&
	       vtable->evd_dequeue_func;
}

/* Counts one more user of vtable. Returns 0 or -ENOMEM. */
int vtables_add_locked(const void *vtable)
{
	struct reg_vtables *chunk = &front.vtables;
	struct reg_vtables *last = NULL;
	struct reg_vtables *into = NULL;
	const DAT_PROVIDER *v;
	int i, free_slot = 0;

	for (; chunk; chunk = atomic_load_explicit(&chunk->next, memory_order_relaxed)) {
		last = chunk;
		for (i = 0; i < REG_VTABLE_CHUNK; i++) {
			v = atomic_load_explicit(&chunk->vtable[i], memory_order_relaxed);
			if (v == vtable) {
				chunk->refs[i]++;
				return 0;
			}
			if (!v && !into) {
				into = chunk;
				free_slot = i;
			}
		}
	}
	if (!into) {
		into = calloc(1, sizeof(*into));
		if (!into)
			return -ENOMEM;
		/* Release: a reader that finds the chunk finds it zeroed. */
		atomic_store_explicit(&last->next, into, memory_order_release);
	}
	into->refs[free_slot] = 1;
	into->whole[free_slot] = is_whole(vtable);
	atomic_store_explicit(&into->vtable[free_slot], vtable, memory_order_relaxed);
	return 0;
}

/*
 * The hint while there is no provider. No object begins with this table, and all of its slots are
 * NULL.
 */
const DAT_PROVIDER vtables_none;

struct front front = { .hot = &vtables_none };

/* Makes the table the hint, if it may be one. Relaxed: see reg_hot_provider(). */
void vtables_prefer_locked(const void *vtable)
{
	if (is_whole(vtable))
		atomic_store_explicit(&front.hot, vtable, memory_order_relaxed);
	else if (atomic_load_explicit(&front.hot, memory_order_relaxed) == vtable)
		/* a new table at the address of one that was freed */
		atomic_store_explicit(&front.hot, &vtables_none, memory_order_relaxed);
}

/*
 * Takes any complete vtable of the set as the hint. No table is read, because it may be about to be
 * unloaded.
 */
static void hot_choose_locked(void)
{
	const DAT_PROVIDER *v, *found = &vtables_none;
	int i;

	for (i = 0; i < REG_VTABLE_CHUNK; i++) {
		v = atomic_load_explicit(&front.vtables.vtable[i], memory_order_relaxed);
		if (v && front.vtables.whole[i])
			found = v;
	}
	atomic_store_explicit(&front.hot, found, memory_order_relaxed);
}

/*
 * Counts one user less. After the last one, handles of objects that still begin with vtable are
 * invalid.
 */
void vtables_remove_locked(const void *vtable)
{
	struct reg_vtables *chunk = &front.vtables;
	int i;

	for (; chunk; chunk = atomic_load_explicit(&chunk->next, memory_order_relaxed)) {
		for (i = 0; i < REG_VTABLE_CHUNK; i++) {
			if (atomic_load_explicit(&chunk->vtable[i], memory_order_relaxed) != vtable)
				continue;
			if (--chunk->refs[i])
				return;
			atomic_store_explicit(&chunk->vtable[i], NULL, memory_order_relaxed);
			if (atomic_load_explicit(&front.hot, memory_order_relaxed) == vtable)
				hot_choose_locked();
			return;
		}
	}
}

void vtables_free_locked(void)
{
	struct reg_vtables *chunk = atomic_exchange(&front.vtables.next, NULL);
	struct reg_vtables *next;

	for (; chunk; chunk = next) {
		next = atomic_load(&chunk->next);
		free(chunk);
	}
}
