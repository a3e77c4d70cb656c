/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contended half of datp_lock(). Invariant: a thread sets the word to LOCK_SLEPT_ON before it
 * sleeps on it, so a thread that unlocks and finds LOCK_HELD need not make a system call.
 */
#include "lock.h"
#include "turn.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef LOCK_SPINS
#define LOCK_SPINS 100
#endif

#define TURN_NS	     100000000 /* how long a thread that was woken is awaited */
#define TURN_NAP_NS  50000
#define TURN_GIVE_NS 3000000 /* how long a thread is awaited that tries now and then */

/*
 * Count how often a thread that had slept has acquired a lock. Several locks may have one of these; then a thread that waits for
 * such a turn goes on too early, once.
 */
static _Atomic uint32_t turns[64];

/* 1: a thread that may not sleep on a lock has tried it in vain. As many locks have one of these. */
static _Atomic uint32_t wants[64];

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static _Atomic uint32_t *turns_of(const _Atomic uint32_t *lock)
{
	return &turns[((uintptr_t)lock >> 6) % (sizeof turns / sizeof *turns)];
}

static _Atomic uint32_t *wants_of(const _Atomic uint32_t *lock)
{
	return &wants[((uintptr_t)lock >> 6) % (sizeof wants / sizeof *wants)];
}

/* Changes the word from one value to another. acquire: as in datp_lock() */
static inline bool lock_move(_Atomic uint32_t *lock, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong_explicit(lock, &from, to, memory_order_acquire,
						       memory_order_relaxed);
}

/*
 * Returns true if it has acquired the lock. The critical sections are short, so the holder is likely to leave sooner than a
 * sleep would take.
 */
static bool lock_spin(_Atomic uint32_t *lock)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		/* relaxed: a hint */
		uint32_t word = atomic_load_explicit(lock, memory_order_relaxed);

		if (word == LOCK_BIASED)
			return false;
		if (word == LOCK_FREE && lock_move(lock, LOCK_FREE, LOCK_HELD))
			return true;
		relax();
	}
	return false;
}

void datp_lock_slow(_Atomic uint32_t *lock)
{
	bool slept = false;

	if (lock_spin(lock))
		return;
	for (;;) {
		/* relaxed: the exchange that follows acquires */
		uint32_t word = atomic_load_explicit(lock, memory_order_relaxed);

		if (word == LOCK_BIASED) {
			if (bias_revoke(lock))
				break;
		} else if (word == LOCK_FREE) {
			/* others may sleep too, which this thread cannot know */
			if (lock_move(lock, LOCK_FREE, LOCK_SLEPT_ON))
				break;
		} else if (word == LOCK_SLEPT_ON || lock_move(lock, LOCK_HELD, LOCK_SLEPT_ON)) {
			futex(lock, FUTEX_WAIT, LOCK_SLEPT_ON);
			slept = true;
		}
	}
	if (slept) /* relaxed: a hint for datp_unlock_in_turn() */
		atomic_fetch_add_explicit(turns_of(lock), 1, memory_order_relaxed);
}

void datp_unlock_slow(_Atomic uint32_t *lock)
{
	futex(lock, FUTEX_WAKE, 1);
}

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

DATP_API void datp_unlock_in_turn(_Atomic uint32_t *lock)
{
	const struct timespec nap = { .tv_nsec = TURN_NAP_NS };
	/* relaxed, as below: a hint. The thread that is awaited counts after it has acquired the lock, so after this */
	uint32_t before = atomic_load_explicit(turns_of(lock), memory_order_relaxed);
	int64_t until;

	/* release: as in datp_unlock(). Nobody may sleep on the lock though the word says so */
	if (atomic_exchange_explicit(lock, LOCK_FREE, memory_order_release) != LOCK_SLEPT_ON || futex(lock, FUTEX_WAKE, 1) != 1)
		return;
	until = clock_ns() + TURN_NS;
	while (atomic_load_explicit(turns_of(lock), memory_order_relaxed) == before && clock_ns() < until)
		/* not nanosleep(), at which a thread may be cancelled */
		syscall(SYS_futex, turns_of(lock), FUTEX_WAIT_PRIVATE, before, &nap, NULL, 0);
}

/*
 * All accesses to `wants` are relaxed. The word only says how long somebody waits, and that at most for TURN_GIVE_NS: if a thread
 * sees too late that a lock is wanted, the next one sees it. What the lock protects is passed on by the lock itself. No wake-up is
 * lost, because the kernel compares the word with 1 before a thread sleeps, and whoever changes it to 0 wakes afterwards.
 */
DATP_API void datp_turn_want(_Atomic uint32_t *lock)
{
	atomic_store_explicit(wants_of(lock), 1, memory_order_relaxed);
}

DATP_API bool datp_turn_is_wanted(const _Atomic uint32_t *lock)
{
	return atomic_load_explicit(wants_of(lock), memory_order_relaxed);
}

DATP_API void datp_turn_had(_Atomic uint32_t *lock)
{
	if (datp_turn_is_wanted(lock) && atomic_exchange_explicit(wants_of(lock), 0, memory_order_relaxed))
		futex(wants_of(lock), FUTEX_WAKE, INT_MAX);
}

DATP_API void datp_turn_give(_Atomic uint32_t *lock)
{
	int64_t now = clock_ns(), until = now + TURN_GIVE_NS;

	/* not nanosleep(), as above */
	for (; datp_turn_is_wanted(lock) && now < until; now = clock_ns()) {
		const struct timespec rest = { .tv_nsec = until - now };

		syscall(SYS_futex, wants_of(lock), FUTEX_WAIT_PRIVATE, 1, &rest, NULL, 0);
	}
	/* others who wait here go on, too */
	datp_turn_had(lock);
}
