/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Biased locks: the slow path of <datp/bias.h>. While a lock is biased, its word is LOCK_BIASED, which
 * other threads look at, and `owner` in its struct datp_bias is the owner's thread, which the owner
 * looks at. Invariant: whoever has the lock of `list` finds both set or both clear, and the struct
 * datp_bias is in `list` as long as they are set.
 *
 * A bias has at most one owner between two initialisations. A thread may find itself to be the owner
 * and be descheduled before it writes that it is inside. When it continues, it writes that, finds
 * that it is not the owner any more, and writes that it has left. If another thread were the owner
 * by then, that thread would seem to have left.
 */
#include "bias.h"
#include "futex.h"
#include "lock.h"

#include "fence/fence_others.h"

#include <pthread.h>
#include <sched.h>

#if defined(__has_feature) && !defined(__SANITIZE_THREAD__) /* the form for clang */
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#define BUCKETS 1024u
#ifndef BIAS_ENOUGH
#define BIAS_ENOUGH	64u
#define BIAS_ENOUGH_MAX 65536u /* one revocation in this many acquisitions costs little */
#define BIAS_SPINS	100
#endif

static struct {
	_Atomic uint32_t lock;
	struct datp_bias *bucket[BUCKETS]; /* hashed by the lock's address */
} list;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool possible; /* set before any bias is ready */

/*
 * The thread that held the list's lock may not exist in the child, and the parent's biased locks
 * are not used there.
 */
static void after_fork_in_child(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		list.bucket[i] = NULL;
	/* relaxed: there is no other thread */
	atomic_store_explicit(&list.lock, 0, memory_order_relaxed);
}

/*
 * The thread sanitizer does not know fences that membarrier() forces, so under it there are no
 * biased locks.
 */
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

/*
 * Takes the list's lock, and returns the link to the lock's bias. If the lock is not biased, releases the list's lock again, and
 * returns NULL.
 */
static struct datp_bias **find_and_lock(const _Atomic uint32_t *lock)
{
	struct datp_bias **link = bucket_of(lock);

	datp_lock(&list.lock);
	while (*link && (*link)->lock != lock)
		link = &(*link)->next;
	if (*link)
		return link;
	datp_unlock(&list.lock);
	return NULL;
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
	bias->first = 1; /* a value that is no thread's name */
	datp_unlock(lock);
}

/* The caller holds the lock. Returns true if the lock is released, and biased to the caller from now on. */
bool datp_bias_grant_slow(struct datp_bias *bias, _Atomic uint32_t *lock)
{
	uintptr_t self = bias->latest; /* what datp_thread() returned in the caller's library; here it may return another value */
	uint32_t held = LOCK_HELD;
	struct datp_bias **link;

	bias->acquired = 0;
	if (!possible || (bias->first && bias->first != self)) {
		bias->enough = BIAS_ENOUGH_MAX; /* so that the caller does not ask again soon */
		return false;
	}
	datp_lock(&list.lock);
	bias->lock = lock;
	link = bucket_of(lock);
	bias->next = *link;
	/*
	 * This fails if a thread sleeps on the lock, which then has to be woken. relaxed: a thread
	 * that finds the lock biased takes the list's lock before it takes this one, and sees there
	 * what was done here
	 */
	if (!atomic_compare_exchange_strong_explicit(lock, &held, LOCK_BIASED, memory_order_relaxed,
						     memory_order_relaxed)) {
		datp_unlock(&list.lock);
		return false;
	}
	*link = bias;
	/* only now, because after a failed exchange another thread may become the first owner */
	bias->first = self;
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
		atomic_thread_fence(memory_order_seq_cst); /* the fence of this thread itself */
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

/*
 * Forces the fence after the owner's name is gone: either datp_bias_inside() sees now that the owner is inside, or the owner sees,
 * when it enters, that it is not the owner any more. Not inlined: gcc warns of an inlined fence under the thread sanitizer.
 */
static __attribute__((noinline)) void fence_owner(bool mine)
{
	/*
	 * If the owner is this thread itself (it calls datp_lock(), which does not look at the bias), its own fence is
	 * sufficient. If this file computes another name for the thread than its owner did, the forced fence does no harm.
	 */
	if (mine)
		atomic_thread_fence(memory_order_seq_cst);
	else
		datp_bias_fence();
}

/* Makes the lock an ordinary one, which this thread holds as soon as the owner has left. The list's lock is held. */
static void unlist_locked(struct datp_bias **link, _Atomic uint32_t *lock)
{
	*link = (*link)->next;
	/*
	 * The word has to say that threads sleep on the lock, because some may: if the last unlock
	 * before the bias woke one of several, that one has to wake the others, and it may be this
	 * thread. relaxed: the list's lock and the word order this for others
	 */
	atomic_store_explicit(lock, LOCK_SLEPT_ON, memory_order_relaxed);
}

/* The caller holds the lock, whose bias has ended. */
static void count_anew(struct datp_bias *bias, bool mine)
{
	if (!mine && bias->enough < BIAS_ENOUGH_MAX)
		bias->enough *= 2;
	bias->acquired = 0;
}

bool bias_revoke(_Atomic uint32_t *lock)
{
	struct datp_bias **link = find_and_lock(lock), *bias;
	bool mine;

	if (!link)
		return false;
	bias = *link;
	mine = datp_bias_mine(bias);
	/* relaxed: the fence below orders it for the owner; the list's lock orders it for others */
	atomic_store_explicit(&bias->owner, 0, memory_order_relaxed);
	unlist_locked(link, lock);
	datp_unlock(&list.lock);
	fence_owner(mine);
	/*
	 * This thread is itself inside only if a signal handler that has interrupted it there calls
	 * this function. Such a handler waits for ever, as it would for any lock that it interrupts.
	 */
	await_outside(bias);
	count_anew(bias, mine);
	return true;
}

/*
 * As bias_revoke(), but if the owner is inside it gets its name back. The list's lock is held all the time, so no other thread
 * finds the name missing, and none sleeps until the owner has left: that thread would have taken the bias off the list before. The
 * owner may find its name missing meanwhile. If it was entering, it goes to datp_lock(), and revokes its own bias when it gets the
 * list's lock. If it was leaving, it wakes nobody.
 */
static bool bias_try(_Atomic uint32_t *lock)
{
	struct datp_bias **link = find_and_lock(lock), *bias;
	uintptr_t owner;
	bool mine, inside;

	if (!link)
		return false;
	bias = *link;
	mine = datp_bias_mine(bias);
	/* relaxed, all: as in bias_revoke(). The owner that finds its name again has not left, or has not entered yet */
	owner = atomic_load_explicit(&bias->owner, memory_order_relaxed);
	atomic_store_explicit(&bias->owner, 0, memory_order_relaxed);
	fence_owner(mine);
	inside = datp_bias_inside(bias);
	if (inside)
		atomic_store_explicit(&bias->owner, owner, memory_order_relaxed);
	else
		unlist_locked(link, lock);
	datp_unlock(&list.lock);
	if (!inside)
		count_anew(bias, mine);
	return !inside;
}

DATP_API bool datp_bias_trylock(_Atomic uint32_t *lock)
{
	/* relaxed: it is looked at again under the list's lock */
	return datp_trylock(lock) ||
	       (atomic_load_explicit(lock, memory_order_relaxed) == LOCK_BIASED && bias_try(lock));
}
