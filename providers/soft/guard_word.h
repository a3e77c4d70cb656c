/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The restartable sequence in which a right is checked and used, for guard.c, and the shortest one, inlined: a store of one
 * word. guard.c says what a sequence is for.
 */
#ifndef SOFT_GUARD_WORD_H
#define SOFT_GUARD_WORD_H

#include "guard.h"

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define GUARD_RSEQ 1
#endif
#endif

#ifdef GUARD_RSEQ
/*
 * The beginning of a sequence, which lasts from label 1 to label 2. In struct rseq, rseq_cs is at offset 8. The descriptor,
 * in __rseq_cs, has the address of the sequence, its length, and the address where an interrupted thread continues. The
 * signature that the kernel requires precedes the latter, as the argument of an instruction that is never executed. The word
 * is checked after the descriptor has been stored; program order is enough, because the kernel interrupts this thread itself.
 * `prelude` are instructions that are executed at each beginning.
 */
#define SEQUENCE_BEGIN SEQUENCE_BEGIN_WITH("")
#define SEQUENCE_BEGIN_WITH(prelude)                                                               \
	SEQUENCE_ENTRY(prelude)                                                                    \
	"movq $-%c[canceled], %%rax\n\t"                                                           \
	"cmpl %[gen], (%[word])\n\t"                                                               \
	"jne 2f\n\t"
#define SEQUENCE_ENTRY(prelude)                                                                    \
	".pushsection __rseq_cs, \"aw\"\n\t"                                                       \
	".balign 32\n"                                                                             \
	"3:\n\t"                                                                                   \
	".long 0, 0\n\t"                                                                           \
	".quad 1f, 2f - 1f, 4f\n\t"                                                                \
	".popsection\n\t"                                                                          \
	".pushsection .text.rseq_abort, \"ax\"\n\t"                                                \
	".byte 0x0f, 0xb9, 0x3d\n\t"                                                               \
	".long %c[signature]\n"                                                                    \
	"4:\n\t"                                                                                   \
	"jmp 5f\n\t"                                                                               \
	".popsection\n"                                                                            \
	"5:\n\t" prelude                                                                           \
	"leaq 3b(%%rip), %%rax\n\t"                                                                \
	"movq %%rax, %%fs:8(%[area])\n"                                                            \
	"1:\n\t"
/* The end of a sequence. It clears rseq_cs, so that the kernel has no descriptor to read outside of a sequence. */
#define SEQUENCE_END                                                                               \
	"2:\n\t"                                                                                   \
	"movq $0, %%fs:8(%[area])\n\t"
#define SEQUENCE_INPUTS_OF(area_, word_, gen_)                                                     \
	[area] "r"(area_), [word] "r"(word_), [gen] "r"(gen_), [signature] "i"(RSEQ_SIG),          \
		[canceled] "i"(ECANCELED)
#define SEQUENCE_INPUTS SEQUENCE_INPUTS_OF(__rseq_offset, right->open, right->gen)
#endif

#ifdef soft_guard_word /* the model checker has one of its own */
bool soft_guard_word(const _Atomic uint32_t *open, uint32_t gen, uint64_t *to, uint64_t value);
#else
/*
 * Does what soft_guard_store() does, for an aligned word. `open` and `gen` are the right. The sequence ends with moves, which leave
 * the result of the comparison in the flags.
 */
static inline __attribute__((always_inline)) bool soft_guard_word(const _Atomic uint32_t *open, uint32_t gen, uint64_t *to,
								  uint64_t value)
{
#ifdef GUARD_RSEQ
	if (__builtin_expect(__rseq_size != 0, 1)) {
		bool valid;

		__asm__ volatile(SEQUENCE_ENTRY("") "cmpl %[gen], (%[word])\n\t"
						    "jne 2f\n\t"
						    "movq %[value], (%[to])\n" SEQUENCE_END
				 : "=@cce"(valid)
				 : [area] "r"(__rseq_offset), [word] "r"(open), [gen] "r"(gen), [signature] "i"(RSEQ_SIG),
				   [to] "r"(to), [value] "r"(value)
				 : "rax", "memory");
		return valid;
	}
#endif
	return soft_guard_store(&(struct soft_right){ .open = open, .gen = gen }, to, value, sizeof value);
}
#endif

#endif
