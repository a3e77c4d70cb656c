/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the order of the timers that are set: a pairing heap, whose links are in the timers themselves, so that
 * setting a timer allocates nothing. Adding takes constant time and removing logarithmic time on average, however
 * the deadlines are mixed: thousands of attempts to connect wait for half a minute beside a tick of two milliseconds.
 *
 * Invariant: no timer has an earlier deadline than its parent. `prev` is the left sibling, or the parent of a
 * leftmost child; it is NULL in the root, which is `first`.
 */
#include "timer.h"

/* Returns the root of a heap made of two, either of which may be empty. A root has no siblings. */
static struct datp_timer *merge(struct datp_timer *a, struct datp_timer *b)
{
	struct datp_timer *later;

	if (!a || !b)
		return a ? a : b;
	later = b;
	if (timer_when(b) < timer_when(a)) {
		later = a;
		a = b;
	}
	later->prev = a;
	later->next = a->child;
	if (later->next)
		later->next->prev = later;
	a->child = later;
	return a;
}

/*
 * Returns the root of a heap made of siblings: they are merged in pairs, and then the pairs, from the last to the
 * first. That order is what makes the average logarithmic.
 */
static struct datp_timer *merge_siblings(struct datp_timer *first)
{
	struct datp_timer *pairs = NULL, *root = NULL;

	while (first) {
		struct datp_timer *a = first, *b = a->next;

		first = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		a = merge(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct datp_timer *pair = pairs;

		pairs = pair->next;
		pair->next = NULL;
		root = merge(root, pair);
	}
	return root;
}

void timers_add(struct timers *timers, struct datp_timer *timer, uint64_t when)
{
	/* relaxed: whoever reads it without the lock sees only whether the timer is set */
	atomic_store_explicit(&timer->when, when ? when : 1, memory_order_relaxed);
	timer->child = timer->next = timer->prev = NULL;
	timers->first = merge(timers->first, timer);
}

void timers_remove(struct timers *timers, struct datp_timer *timer)
{
	struct datp_timer *below = merge_siblings(timer->child);

	if (timer->prev) {
		*(timer->prev->child == timer ? &timer->prev->child : &timer->prev->next) = timer->next;
		if (timer->next)
			timer->next->prev = timer->prev;
		timers->first = merge(timers->first, below);
	} else {
		timers->first = below;
	}
	atomic_store_explicit(&timer->when, 0, memory_order_relaxed);
}
