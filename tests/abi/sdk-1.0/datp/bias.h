/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock that one thread takes most of the time. When a thread has taken the lock often enough in a
 * row, the lock is biased to that thread, its owner: from then on the owner takes and releases it
 * with plain loads and stores, without a locked instruction. Another thread that calls datp_lock()
 * revokes the bias first, which takes about as long as waking a thread. Since SDK 0.3.
 *
 * Use it for locks of the data path. Where several threads take the lock alternately, a bias gains
 * nothing; so after each revocation a thread has to acquire the lock more often in a row to get the
 * next bias. datp_lock() and datp_unlock() work on such a lock as on any other.
 */
#ifndef DATP_BIAS_H
#define DATP_BIAS_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of the bias, kept beside the lock. datp_bias_init() sets it up. */
struct datp_bias {
	_Atomic(uintptr_t) owner;  /* the thread that the lock is biased to, or 0 */
	/*
	 * 1: the owner holds the lock by its bias. Written only by the owner, or by a thread that
	 * was the owner until now.
	 */
	_Atomic(uint32_t) inside;
	/*
	 * How often in a row the latest thread has acquired the lock. The thread becomes the owner
	 * when `acquired` reaches `enough`. Both are written under the lock.
	 */
	uint32_t acquired, enough;
	/*
	 * The thread that last took the lock without a bias, and the first owner, which is the only
	 * thread that gets the bias. Both are written under the lock.
	 */
	uintptr_t latest, first;
	_Atomic(uint32_t) *lock;	  /* this and `next` are private to libdatp */
	struct datp_bias *next;
};

/*
 * Initialises the bias of a lock that no other thread knows yet. Any thread may call it. The first call of a process
 * is slow.
 */
DATP_API void datp_bias_init(struct datp_bias *bias);
/*
 * Ends the bias; from then on the lock is an ordinary one. Call this before the lock's memory is freed or
 * used for something else. The caller does not hold the lock.
 */
DATP_API void datp_bias_fini(struct datp_bias *bias, _Atomic(uint32_t) *lock);
/*
 * Forces a full fence on all threads of the process; where membarrier() is blocked, waits 1 ms
 * instead. A caller that does not take the lock uses it to learn whether the owner is inside: after
 * this call datp_bias_inside() sees an owner that entered before the call, and an owner that enters
 * later sees what the caller wrote before the call.
 */
DATP_API void datp_bias_fence(void);
DATP_API bool datp_bias_grant_slow(struct datp_bias *bias, _Atomic(uint32_t) *lock);
DATP_API void datp_bias_left_slow(struct datp_bias *bias);

#ifndef datp_thread
/*
 * Returns a name of the calling thread, never 0. A thread that has ended may have had the same
 * name.
 */
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
 * Returns true if a word has a value, by a relaxed load. On x86-64 it is written in assembly,
 * because compilers do not merge an atomic load and its comparison into one instruction. Define
 * DATP_WORDS_IN_C before including this header to get plain C everywhere.
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

/*
 * As datp_thread(), but the compiler reads the value again at each call, because keeping it across
 * a call of another function costs more.
 */
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

/*
 * Returns true if the lock is biased to the thread `self`. If `self` is the caller, it may call
 * datp_bias_enter(). Since SDK 0.5.
 */
static inline __attribute__((always_inline)) bool datp_bias_is(const struct datp_bias *bias, uintptr_t self)
{
	/* relaxed: only the thread itself ever stores its name there */
	return __builtin_expect(datp_name_is(&bias->owner, self), 1);
}

/* Returns true if the lock is biased to the calling thread. */
static inline bool datp_bias_mine(const struct datp_bias *bias)
{
	return datp_bias_is(bias, datp_thread());
}

/*
 * Takes the lock for its owner `self`, the calling thread. Returns false if the bias is being
 * revoked; the caller does not hold the lock then. In both cases the caller has to call
 * datp_bias_leave() next, or datp_bias_unlock() with biased == true. A signal handler must not
 * enter if it has interrupted its own thread inside; datp_bias_lock() checks that. Since SDK 0.5.
 */
static inline __attribute__((always_inline)) bool datp_bias_enter(struct datp_bias *bias, uintptr_t self)
{
	atomic_store_explicit(&bias->inside, 1, memory_order_relaxed);
	/*
	 * A compiler fence is enough: a thread that revokes clears the name, forces a full fence on
	 * all threads, and then reads `inside`. So either it sees that this thread is inside, or
	 * this thread sees that the name is gone.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(datp_name_is(&bias->owner, self), 1);
}

/*
 * Releases the lock. Returns false if a thread is revoking the bias; that thread may sleep until
 * the owner has left, so the caller has to call datp_bias_left_slow() next. Since SDK 0.5.
 */
static inline __attribute__((always_inline)) bool datp_bias_leave(struct datp_bias *bias)
{
	/* release: pairs with the acquire in datp_bias_inside() of the thread that revokes */
	atomic_store_explicit(&bias->inside, 0, memory_order_release);
	/*
	 * As in datp_bias_enter(): either the thread that revokes sees that this thread has left,
	 * or this thread sees that the other may sleep.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	/*
	 * No thread becomes the owner while this thread is inside, nor while another sleeps until
	 * it has left: `owner` is 0 then.
	 */
	return __builtin_expect(!datp_name_is(&bias->owner, 0), 1);
}

/* ------------------------------------------------------------------ the lock */

/*
 * As datp_lock(). Returns whether the lock is held by its bias; pass that value to
 * datp_bias_unlock().
 */
static inline __attribute__((always_inline)) bool datp_bias_lock(struct datp_bias *bias,
								 _Atomic(uint32_t) *lock)
{
	uintptr_t self = datp_thread();

	/*
	 * relaxed: only the calling thread writes `inside`. It is 1 here only in a signal handler
	 * that has interrupted the section.
	 */
	if (datp_bias_is(bias, self) && !atomic_load_explicit(&bias->inside, memory_order_relaxed)) {
		if (datp_bias_enter(bias, self))
			return true;
		/*
		 * release: nothing was done inside this time, but the thread that revokes has to
		 * see what the owner did in earlier sections
		 */
		atomic_store_explicit(&bias->inside, 0, memory_order_release);
		datp_bias_left_slow(bias);
	}
	datp_lock(lock);
	return false;
}

/* Returns true if a thread holds the lock by its bias. */
static inline bool datp_bias_inside(const struct datp_bias *bias)
{
	/* acquire: if the owner has left, what it wrote inside is visible */
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
		bias->acquired = 0;
	} else if (++bias->acquired >= bias->enough && datp_bias_grant_slow(bias, lock)) {
		return;
	}
	datp_unlock(lock);
}

#ifdef __cplusplus
}
#endif

#endif
