/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Biased locks: the rare half of <datp/bias.h>. A lock that is biased has LOCK_BIASED in its word,
 * for other threads, and its owner's name in its bias, for the owner. Invariant: both change
 * together, under the lock of the list, and the lock is on the list as long as they are set.
 *
 * A bias has at most one owner in its life. A thread may read its name there and be descheduled
 * before it writes that it is inside. It writes so at any later time, finds that its name is gone,
 * and writes that it has left. If another thread were the owner by then, that one would seem to
 * have left.
 */
#include "futex.h"
#include "lock.h"

#include "fence/fence_others.h"

#include <pthread.h>
#include <sched.h>

#if defined(__has_feature) && !defined(__SANITIZE_THREAD__) /* clang's way to say so */
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#define BUCKETS 1024u
#ifndef BIAS_ENOUGH
#define BIAS_ENOUGH	64u
#define BIAS_ENOUGH_MAX 65536u /* a revocation in so many turns is not felt */
#define BIAS_SPINS	100
#endif

static struct {
	_Atomic uint32_t lock;
	struct datp_bias *bucket[BUCKETS]; /* by the lock's address */
} list;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool possible; /* set before any bias is ready */

/* Who held the list's lock may not be in the child, and the parent's biased locks are of no use there. */
static void after_fork_in_child(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		list.bucket[i] = NULL;
	/* relaxed: there is no other thread */
	atomic_store_explicit(&list.lock, 0, memory_order_relaxed);
}

/* The thread sanitizer does not know of fences that others have us pass, so under it there are no biased locks. */
static void look_once(void)
{
#ifndef __SANITIZE_THREAD__
	possible = fence_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
#endif
	possible = possible && pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
}

static struct datp_bias **bucket_of(const _Atomic uint32_t *lock)
{
	uintptr_t at = (uintptr_t)lock;

	return &list.bucket[(at >> 4 ^ at >> 14) % BUCKETS];
}

/* The link to a lock's bias, or to NULL: it is not biased. List's lock. */
static struct datp_bias **find_locked(const _Atomic uint32_t *lock)
{
	struct datp_bias **link = bucket_of(lock);

	while (*link && (*link)->lock != lock)
		link = &(*link)->next;
	return link;
}

void datp_bias_init(struct datp_bias *bias)
{
	pthread_once(&once, look_once);
	*bias = (struct datp_bias){ .enough = possible ? BIAS_ENOUGH : UINT32_MAX };
}

void datp_bias_fini(struct datp_bias *bias, _Atomic uint32_t *lock)
{
	datp_lock(lock);
	bias->enough = UINT32_MAX;
	bias->first = 1; /* no thread's name */
	datp_unlock(lock);
}

/* The lock is held, and will be free for its owner-to-be. */
bool datp_bias_grant_slow(struct datp_bias *bias, _Atomic uint32_t *lock)
{
	uintptr_t self = bias->latest; /* as the caller names itself: not everywhere do its file and ours agree */
	uint32_t held = LOCK_HELD;
	struct datp_bias **link;

	bias->turns = 0;
	if (!possible || (bias->first && bias->first != self)) {
		bias->enough = BIAS_ENOUGH_MAX; /* not asked again soon */
		return false;
	}
	datp_lock(&list.lock);
	bias->lock = lock;
	link = bucket_of(lock);
	bias->next = *link;
	/*
	 * It fails if somebody sleeps on it: he is to be woken. relaxed: who finds it biased takes the list's lock
	 * before he takes this one, and sees there what we did
	 */
	if (!atomic_compare_exchange_strong_explicit(lock, &held, LOCK_BIASED, memory_order_relaxed,
						     memory_order_relaxed)) {
		datp_unlock(&list.lock);
		return false;
	}
	*link = bias;
	bias->first = self; /* not if it failed: another may become the owner then */
	/* relaxed: read by this thread, and under the list's lock */
	atomic_store_explicit(&bias->owner, self, memory_order_relaxed);
	datp_unlock(&list.lock);
	return true;
}

void datp_bias_left_slow(struct datp_bias *bias)
{
	futex_wake(&bias->inside, false);
}

void datp_bias_fence(void)
{
	if (!fence_others(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		atomic_thread_fence(memory_order_seq_cst); /* our own */
}

static void await_outside(struct datp_bias *bias)
{
	for (int i = 0; i < BIAS_SPINS; i++) {
		if (!datp_bias_inside(bias))
			return;
		sched_yield();
	}
	futex_await_zero(&bias->inside);
}

bool bias_revoke(_Atomic uint32_t *lock)
{
	struct datp_bias **link, *bias;
	bool mine;

	datp_lock(&list.lock);
	link = find_locked(lock);
	bias = *link;
	if (!bias) {
		datp_unlock(&list.lock);
		return false;
	}
	*link = bias->next;
	/* relaxed, all: the fence below orders them for the owner, the list's lock and the word's users for others */
	mine = datp_bias_mine(bias);
	atomic_store_explicit(&bias->owner, 0, memory_order_relaxed);
	/*
	 * a lock as any again, and ours; who has it biased leaves soon. Others may sleep, of whom the word does not
	 * tell: if the last unlock before the bias woke one of several, it is up to that one, who may be us
	 */
	atomic_store_explicit(lock, LOCK_SLEPT_ON, memory_order_relaxed);
	datp_unlock(&list.lock);
	/*
	 * Ours, on a way that has not heard of the bias: our own fence does, for who still finds our name there has
	 * done what he did before for us to see. Where it is ours by another file's name, the other does no harm.
	 */
	if (mine)
		atomic_thread_fence(memory_order_seq_cst);
	else
		datp_bias_fence();
	/* we are inside only if we have been called from a signal's handler there */
	await_outside(bias);
	if (!mine && bias->enough < BIAS_ENOUGH_MAX)
		bias->enough *= 2;
	bias->turns = 0;
	return true;
}
