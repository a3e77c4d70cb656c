/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock that one thread takes again and again. After some turns in a row the lock is biased to that thread, its
 * owner: from then on it takes it and gives it back with plain loads and stores, no locked instruction. Whoever else
 * wants it, by datp_lock(), has to revoke that first, which takes as long as waking a thread does. Since SDK 0.3.
 *
 * For locks of the data path: where threads really take turns, nothing is won, and each revocation makes the next
 * bias later. datp_lock() and datp_unlock() work on such a lock as on any.
 */
#ifndef DATP_BIAS_H
#define DATP_BIAS_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Beside the lock; 0 throughout at first. */
struct datp_bias {
	_Atomic(uintptr_t) owner;  /* the thread that the lock is biased to, or 0 */
	_Atomic(uint32_t) inside;  /* 1: it holds the lock by that; written by the thread that is, or was, the owner */
	uint32_t turns, enough;	  /* the latest thread's, in a row; so many make it the owner. The lock */
	uintptr_t latest, first;  /* who had it last, not by a bias; the first owner, who stays the only one. The lock */
	_Atomic(uint32_t) *lock;	  /* libdatp's, as `next` */
	struct datp_bias *next;
};

/* Initialises the bias of a lock that no other thread knows yet. Any thread. The first call of a process is slow. */
DATP_API void datp_bias_init(struct datp_bias *bias);
/*
 * Ends the bias; from then on the lock is an ordinary one. Call this before the lock's memory is freed or
 * used for something else. The caller does not hold the lock.
 */
DATP_API void datp_bias_fini(struct datp_bias *bias, _Atomic(uint32_t) *lock);
/*
 * Forces a full fence on all threads of the process; where membarrier() is blocked, waits 1 ms instead. It serves a
 * caller that wants to know that a biased section is over, and does not want the lock: after the call
 * datp_bias_inside() sees an owner that was inside before, and an owner that enters later sees what the caller
 * wrote before.
 */
DATP_API void datp_bias_fence(void);
DATP_API bool datp_bias_grant_slow(struct datp_bias *bias, _Atomic(uint32_t) *lock);
DATP_API void datp_bias_left_slow(struct datp_bias *bias);

#ifndef datp_thread
/* Names the calling thread; another one may have had the name before. Never 0. */
static inline uintptr_t datp_thread(void)
{
	uintptr_t self;

#if defined(__x86_64__) && defined(__LP64__)
	__asm__("mov %%fs:0, %0" : "=r"(self));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(self));
#else
	static __thread char mine;

	self = (uintptr_t)&mine;
#endif
	return self;
}
#endif

/* ------------------------------------------------------------------ the parts of a lock taken by its bias */

/*
 * Whether a word has a value, by a relaxed load. Where this is not plain C, it is one instruction: compilers do not
 * make one of an atomic load and the comparison. Define DATP_WORDS_IN_C before this header for plain C everywhere.
 */
#if defined(__x86_64__) && defined(__LP64__) && !defined(DATP_WORDS_IN_C) && !defined(__cplusplus)
#define DATP_WORD_IS(size, word, value)                                                            \
	__extension__({                                                                            \
		bool is_;                                                                          \
		__asm__ volatile("cmp" size " %2, %1" : "=@cce"(is_) : "m"(*(word)), "er"(value)); \
		is_;                                                                               \
	})
#else
#define DATP_WORD_IS(size, word, value) (atomic_load_explicit(word, memory_order_relaxed) == (value))
#endif

static inline __attribute__((always_inline)) bool datp_word_is(const _Atomic(uint32_t) *word, uint32_t value)
{
	return DATP_WORD_IS("l", word, value);
}

static inline __attribute__((always_inline)) bool datp_name_is(const _Atomic(uintptr_t) *name, uintptr_t value)
{
	return DATP_WORD_IS("q", name, value);
}

/* As datp_thread(), but read anew at each call: to keep the value across a call of another function costs more. */
static inline __attribute__((always_inline)) uintptr_t datp_thread_again(void)
{
#if defined(__x86_64__) && defined(__LP64__) && !defined(DATP_WORDS_IN_C)
	uintptr_t self;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(self));
	return self;
#else
	return datp_thread();
#endif
}

/* Whether the lock is biased to the thread `self`. If that is the caller, it may try to enter. Since SDK 0.5. */
static inline __attribute__((always_inline)) bool datp_bias_is(const struct datp_bias *bias, uintptr_t self)
{
	/* relaxed: the name of a thread is put there by that thread only */
	return __builtin_expect(datp_name_is(&bias->owner, self), 1);
}

/* Whether the lock is biased to the calling thread. */
static inline bool datp_bias_mine(const struct datp_bias *bias)
{
	return datp_bias_is(bias, datp_thread());
}

/*
 * Takes the lock for its owner `self`, the calling thread. False: the bias is being taken away. Either way
 * datp_bias_unlock() has to follow, told that the lock is held by a bias, or datp_bias_leave(). A signal's handler that
 * has interrupted its own thread inside may not enter, which datp_bias_lock() sees to. Since SDK 0.5.
 */
static inline __attribute__((always_inline)) bool datp_bias_enter(struct datp_bias *bias, uintptr_t self)
{
	atomic_store_explicit(&bias->inside, 1, memory_order_relaxed);
	/*
	 * Only the compiler is told: the thread that revokes takes the name away, has every thread pass a fence, and
	 * looks at `inside` then. So either it sees us inside, or we see that the name is gone.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(datp_name_is(&bias->owner, self), 1);
}

/*
 * Gives the lock back. False: a thread takes the bias away, and may sleep until the owner has left;
 * datp_bias_left_slow() has to follow. Since SDK 0.5.
 */
static inline __attribute__((always_inline)) bool datp_bias_leave(struct datp_bias *bias)
{
	/* release: what was done inside comes before; the thread that revokes acquires */
	atomic_store_explicit(&bias->inside, 0, memory_order_release);
	/* as in datp_bias_enter(): either the thread that revokes sees that we have left, or we see that it may sleep */
	atomic_signal_fence(memory_order_seq_cst);
	/*
	 * No thread becomes the owner while we are inside; nor afterwards, as long as a thread sleeps until we have left:
	 * there is no name at all then.
	 */
	return __builtin_expect(!datp_name_is(&bias->owner, 0), 1);
}

/* ------------------------------------------------------------------ the lock */

/* As datp_lock(). Whether it is held by a bias, which datp_bias_unlock() wants to be told. */
static inline __attribute__((always_inline)) bool datp_bias_lock(struct datp_bias *bias,
								 _Atomic(uint32_t) *lock)
{
	uintptr_t self = datp_thread();

	/* relaxed: `inside` is the calling thread's own; it is 1 only if a signal's handler is called from inside */
	if (datp_bias_is(bias, self) && !atomic_load_explicit(&bias->inside, memory_order_relaxed)) {
		if (datp_bias_enter(bias, self))
			return true;
		/* release: nothing was done inside; the order is for the thread that finds out why */
		atomic_store_explicit(&bias->inside, 0, memory_order_release);
		datp_bias_left_slow(bias);
	}
	datp_lock(lock);
	return false;
}

/* Whether a thread holds the lock by its bias. */
static inline bool datp_bias_inside(const struct datp_bias *bias)
{
	/* acquire: if it has left, what it did inside */
	return atomic_load_explicit(&bias->inside, memory_order_acquire) != 0;
}

/* As datp_unlock(). */
static inline __attribute__((always_inline)) void datp_bias_unlock(struct datp_bias *bias,
								   _Atomic(uint32_t) *lock, bool biased)
{
	uintptr_t self = datp_thread();

	if (__builtin_expect(biased, 1)) {
		if (!datp_bias_leave(bias))
			datp_bias_left_slow(bias);
		return;
	}
	if (bias->latest != self) {
		bias->latest = self;
		bias->turns = 0;
	} else if (++bias->turns >= bias->enough && datp_bias_grant_slow(bias, lock)) {
		return;
	}
	datp_unlock(lock);
}

#ifdef __cplusplus
}
#endif

#endif
