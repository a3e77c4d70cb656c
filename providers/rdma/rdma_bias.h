/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Biased locks (<datp/bias.h>) in as few instructions as they can be taken in: the half of who is the owner already. Who is not,
 * or is not any more, goes another way, and comes back by datp_bias_unlock(), which makes owners.
 *
 * A handler of a signal that has interrupted its thread in here may not use the same object. It never could: what it would
 * interrupt is mostly the driver, under the driver's own lock. So that is not looked for.
 */
#ifndef RDMA_BIAS_H
#define RDMA_BIAS_H

#include <datp/bias.h>

/*
 * Whether a word has a value, by a relaxed load: compilers do not make that and the comparison one instruction, which they would
 * of a load that is not atomic.
 */
#if defined(__x86_64__) && defined(__LP64__) && !defined(RDMA_WORDS_IN_C)
#define RDMA_WORD_IS(size, word, value)                                                            \
	__extension__({                                                                            \
		bool is_;                                                                          \
		__asm__ volatile("cmp" size " %2, %1" : "=@cce"(is_) : "m"(*(word)), "er"(value)); \
		is_;                                                                               \
	})
#else
#define RDMA_WORD_IS(size, word, value) (atomic_load_explicit(word, memory_order_relaxed) == (value))
#endif

static inline __attribute__((always_inline)) bool rdma_word_is(const _Atomic uint32_t *word,
							       uint32_t value)
{
	return RDMA_WORD_IS("l", word, value);
}

static inline __attribute__((always_inline)) bool rdma_name_is(const _Atomic uintptr_t *name,
							       uintptr_t value)
{
	return RDMA_WORD_IS("q", name, value);
}

/* As datp_thread(), but it is asked anew each time: to keep the answer across a call costs more. */
static inline __attribute__((always_inline)) uintptr_t rdma_thread(void)
{
#if defined(__x86_64__) && defined(__LP64__) && !defined(RDMA_WORDS_IN_C)
	uintptr_t self;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(self));
	return self;
#else
	return datp_thread();
#endif
}

/* Whether the lock is biased to the calling thread, `self`, which may try to enter then. */
static inline __attribute__((always_inline)) bool rdma_bias_mine(const struct datp_bias *bias,
								 uintptr_t self)
{
	/* relaxed: the name of a thread is put there by that thread only */
	return __builtin_expect(rdma_name_is(&bias->owner, self), 1);
}

/* Takes it, if it is biased to the calling thread still. Either way datp_bias_unlock() has to follow, or rdma_bias_leave(). */
static inline __attribute__((always_inline)) bool rdma_bias_enter(struct datp_bias *bias,
								  uintptr_t self)
{
	/* relaxed, both, and a fence of the compiler: as in datp_bias_lock() */
	atomic_store_explicit(&bias->inside, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(rdma_name_is(&bias->owner, self), 1);
}

/* Gives it back. False: somebody takes the bias away, and may sleep until we have left; datp_bias_left_slow() has to follow. */
static inline __attribute__((always_inline)) bool rdma_bias_leave(struct datp_bias *bias)
{
	/*
	 * As datp_bias_unlock(). Nobody becomes the owner while we are inside, and after us nobody else: as long as somebody
	 * sleeps until we have left, there is no name at all.
	 */
	atomic_store_explicit(&bias->inside, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(!rdma_name_is(&bias->owner, 0), 1);
}

#endif
