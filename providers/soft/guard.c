/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The check of a right and the system call that uses it, as one step. A process can be stopped at any
 * instruction, for any time; when it continues, the memory that it was about to write may be freed and
 * used for something else. So nothing may come between the last check and the kernel.
 *
 * The check and the SYSCALL instruction are a restartable sequence (rseq(2)), whose last instruction is
 * the SYSCALL. A thread that is stopped, preempted or interrupted by a signal before it has executed that
 * instruction continues at the beginning, and checks again. A thread that has executed it is in the
 * kernel, which stops no thread in the middle of a copy: signals, a debugger and a frozen control group all
 * take effect when the call returns. So the invariant is that a copy begins only while the right is valid,
 * and then waits for nothing but the processor and the pages. The exception is what holds a thread at the
 * entry to a call, after the instruction: a debugger that stops it at system calls (PTRACE_SYSCALL), and a
 * filter that asks another process (SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRACE).
 *
 * A copy by the processor, to or from memory that a peer shares, is such a sequence as well, one for each piece, and
 * contains all instructions that copy it. If it is interrupted, it begins again with the check, so a process that was
 * stopped writes nothing more.
 *
 * glibc registers each thread with the kernel from 2.35 on. If it does not, or the kernel has no rseq(2), or the
 * processor is no x86-64, the check is made before the call, and a process that is stopped between the two
 * executes the call when it continues.
 */
#define _GNU_SOURCE
#include "guard_word.h"
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The length of a piece, which is so short that it is rarely interrupted and begun again. */
#define GUARD_PIECE ((uint64_t)64 << 10)

static bool right_is_valid(const struct soft_right *right)
{
	/*
	 * Sequentially consistent: either the owner, who takes the right away and never gives it back, finds the execution lock
	 * held here, or this finds that it has gone (exec_short.h); and the copy does not begin before this check.
	 */
	return atomic_load(right->open) == right->gen;
}

static ssize_t copy_plainly(const struct soft_right *right, pid_t pid, bool write,
			    const struct iovec *local, unsigned long local_n,
			    const struct iovec *remote, unsigned long remote_n)
{
	if (!right_is_valid(right)) {
		errno = ECANCELED;
		return -1;
	}
	return write ? process_vm_writev(pid, local, local_n, remote, remote_n, 0)
		     : process_vm_readv(pid, local, local_n, remote, remote_n, 0);
}

#ifdef GUARD_RSEQ

#define MOVE_WORD	8u
#define MOVE_BLOCK	64u
#define MOVE_PAGE	4096u
#define MOVE_STRING_MIN 2048u

bool soft_guard_is_atomic(void)
{
	return __rseq_size != 0;
}

static long copy_restartable(const struct soft_right *right, long number, long pid,
			     const struct iovec *local, unsigned long local_n,
			     const struct iovec *remote, unsigned long remote_n)
{
	/*
	 * These are read before the registers of the system call are loaded: under the thread
	 * sanitizer a read of memory is a call, which would overwrite those registers.
	 */
	ptrdiff_t area = __rseq_offset;
	const void *word = right->open;
	__typeof__(right->gen) gen = right->gen;
	register const struct iovec *r10 __asm__("r10") = remote;
	register unsigned long r8 __asm__("r8") = remote_n;
	register unsigned long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile(SEQUENCE_BEGIN "movq %[number], %%rax\n\t"
					"syscall\n" SEQUENCE_END
			 : "=&a"(result)
			 : SEQUENCE_INPUTS_OF(area, word, gen), [number] "r"(number), "D"(pid),
			   "S"(local), "d"(local_n), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "cc", "memory");
	return result;
}

/* Copies by a string instruction. Returns 0, or -ECANCELED if the right is lost. Begins again if it is interrupted. */
static long move_by_string(const struct soft_right *right, void *to, const void *from, uint64_t len)
{
	long result;

	__asm__ volatile(SEQUENCE_BEGIN "movq %[to], %%rdi\n\t"
					"movq %[from], %%rsi\n\t"
					"movq %[len], %%rcx\n\t"
					"xorl %%eax, %%eax\n\t"
					"rep movsb\n" SEQUENCE_END
			 : "=&a"(result)
			 : SEQUENCE_INPUTS, [to] "r"(to), [from] "r"(from), [len] "r"(len)
			 : "rcx", "rdi", "rsi", "cc", "memory");
	return result;
}

#define BLOCK_A "%%xmm0", "%%xmm1", "%%xmm2", "%%xmm3"
#define BLOCK_B "%%xmm4", "%%xmm5", "%%xmm6", "%%xmm7"
#define LOAD_BLOCK(at, block) LOAD_WORDS(at, block)
#define LOAD_WORDS(at, a, b, c, d)                                                                 \
	"movups " #at "(%%rsi), " a "\n\t"                                                         \
	"movups 16+" #at "(%%rsi), " b "\n\t"                                                      \
	"movups 32+" #at "(%%rsi), " c "\n\t"                                                      \
	"movups 48+" #at "(%%rsi), " d "\n\t"
#define STORE_BLOCK(at, block) STORE_WORDS(at, block)
#define STORE_WORDS(at, a, b, c, d)                                                                \
	"movups " a ", " #at "(%%rdi)\n\t"                                                         \
	"movups " b ", 16+" #at "(%%rdi)\n\t"                                                      \
	"movups " c ", 32+" #at "(%%rdi)\n\t"                                                      \
	"movups " d ", 48+" #at "(%%rdi)\n\t"

/*
 * The same for at least MOVE_BLOCK bytes, in blocks of that size. Each block but the first and the last, which may overlap their
 * neighbours, is stored to a whole line of the cache. A block is loaded before the one that precedes it is stored, because the
 * processor delays a load whose place within a page is that of a store just made. Every x86-64 has SSE2.
 */
static long move_by_blocks(const struct soft_right *right, void *to, const void *from, uint64_t len)
{
	long result;

	__asm__ volatile(SEQUENCE_BEGIN "movq %[to], %%rdi\n\t"
					"movq %[from], %%rsi\n\t"
					"movq %[len], %%rcx\n\t"
					"leaq 64(%%rdi), %%rax\n\t" /* how long it is to the next line */
					"andq $-64, %%rax\n\t"
					"subq %%rdi, %%rax\n\t"
					LOAD_BLOCK(0, BLOCK_B)
					"subq %%rax, %%rcx\n\t"
					"addq %%rax, %%rsi\n\t"
					"cmpq $192, %%rcx\n\t"
					"jb 7f\n\t"
					LOAD_BLOCK(0, BLOCK_A)
					STORE_BLOCK(0, BLOCK_B)
					"addq %%rax, %%rdi\n"
					"6:\n\t"
					LOAD_BLOCK(64, BLOCK_B)
					STORE_BLOCK(0, BLOCK_A)
					LOAD_BLOCK(128, BLOCK_A)
					STORE_BLOCK(64, BLOCK_B)
					"addq $128, %%rsi\n\t"
					"addq $128, %%rdi\n\t"
					"subq $128, %%rcx\n\t"
					"cmpq $192, %%rcx\n\t"
					"jae 6b\n\t"
					"jmp 8f\n"
					"7:\n\t"
					STORE_BLOCK(0, BLOCK_B)
					"addq %%rax, %%rdi\n"
					"8:\n\t"
					"cmpq $64, %%rcx\n\t"
					"jb 9f\n\t"
					LOAD_BLOCK(0, BLOCK_A)
					STORE_BLOCK(0, BLOCK_A)
					"addq $64, %%rsi\n\t"
					"addq $64, %%rdi\n\t"
					"subq $64, %%rcx\n\t"
					"jmp 8b\n"
					"9:\n\t"
					"addq %%rcx, %%rsi\n\t"
					"addq %%rcx, %%rdi\n\t"
					LOAD_BLOCK(-64, BLOCK_A)
					STORE_BLOCK(-64, BLOCK_A)
					"xorl %%eax, %%eax\n" SEQUENCE_END
			 : "=&a"(result)
			 : SEQUENCE_INPUTS, [to] "r"(to), [from] "r"(from), [len] "r"(len)
			 : "rcx", "rdi", "rsi", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc",
			   "memory");
	return result;
}

/* The same for 8 to 64 bytes, in words; the last one may overlap the one before. */
static long move_by_words(const struct soft_right *right, void *to, const void *from, uint64_t len)
{
	long result;

	__asm__ volatile(SEQUENCE_BEGIN "xorl %%ecx, %%ecx\n"
					"6:\n\t"
					"movq (%[from],%%rcx), %%rax\n\t"
					"movq %%rax, (%[to],%%rcx)\n\t"
					"addq $8, %%rcx\n\t"
					"cmpq %[last], %%rcx\n\t"
					"jb 6b\n\t"
					"movq (%[from],%[last]), %%rax\n\t"
					"movq %%rax, (%[to],%[last])\n\t"
					"xorl %%eax, %%eax\n" SEQUENCE_END
			 : "=&a"(result)
			 : SEQUENCE_INPUTS, [to] "r"(to), [from] "r"(from), [last] "r"(len - MOVE_WORD)
			 : "rcx", "cc", "memory");
	return result;
}

/*
 * A string instruction is fast for long copies; for short ones it takes long to begin. On many processors it also takes a
 * cycle for each byte if the destination is less than a line after the source, as positions within a page.
 */
static long move_restartable(const struct soft_right *right, void *to, const void *from, uint64_t len)
{
	uint64_t ahead = ((uintptr_t)to - (uintptr_t)from) & (MOVE_PAGE - 1);

	if (len >= MOVE_BLOCK && (len < MOVE_STRING_MIN || (ahead && ahead < MOVE_BLOCK)))
		return move_by_blocks(right, to, from, len);
	if (len >= MOVE_WORD && len < MOVE_BLOCK)
		return move_by_words(right, to, from, len);
	return move_by_string(right, to, from, len);
}

#define STORE_RESTARTABLE(insn, modifier)                                                          \
	__asm__ volatile(SEQUENCE_BEGIN "xorl %%eax, %%eax\n\t" insn                               \
					" %" modifier "[value], (%[to])\n" SEQUENCE_END             \
			 : "=&a"(result)                                                           \
			 : SEQUENCE_INPUTS, [to] "r"(to), [value] "r"(value)                       \
			 : "cc", "memory")

static long store_restartable(const struct soft_right *right, void *to, uint64_t value, unsigned int size)
{
	long result;

	switch (size) {
	case 8:
		STORE_RESTARTABLE("movq", "q");
		break;
	case 4:
		STORE_RESTARTABLE("movl", "k");
		break;
	case 2:
		STORE_RESTARTABLE("movw", "w");
		break;
	default:
		STORE_RESTARTABLE("movb", "b");
	}
	return result;
}

/*
 * The atomic instruction is the last of its sequence, so it is executed once. Returns 0, and in *value, which holds the
 * operand before, what the word was; returns 1 if the right is lost.
 */
#define ATOMIC_RESTARTABLE(insn)                                                                   \
	__asm__ volatile(SEQUENCE_BEGIN_WITH("movl $1, %%ecx\n\t") "movq %[operand], %%rax\n\t"    \
								   "xorl %%ecx, %%ecx\n\t" insn    \
								   ", (%[word_])\n" SEQUENCE_END     \
			 : "=&a"(*value), "=&c"(lost)                                              \
			 : SEQUENCE_INPUTS, [word_] "r"(word), [operand] "r"(operand), [swap] "r"(swap) \
			 : "cc", "memory")

static int fetch_add_restartable(const struct soft_right *right, uint64_t *word, uint64_t *value)
{
	uint64_t operand = *value, swap = 0;
	int lost;

	ATOMIC_RESTARTABLE("lock xaddq %%rax");
	return lost;
}

static int cmp_swap_restartable(const struct soft_right *right, uint64_t *word, uint64_t *value, uint64_t swap)
{
	uint64_t operand = *value;
	int lost;

	ATOMIC_RESTARTABLE("lock cmpxchgq %[swap]");
	return lost;
}

ssize_t soft_guard_copy(const struct soft_right *right, pid_t pid, bool write,
			const struct iovec *local, unsigned long local_n, const struct iovec *remote,
			unsigned long remote_n)
{
	long result;

	if (!soft_guard_is_atomic())
		return copy_plainly(right, pid, write, local, local_n, remote, remote_n);
	result = copy_restartable(right, write ? SYS_process_vm_writev : SYS_process_vm_readv, pid,
				  local, local_n, remote, remote_n);
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

#else

bool soft_guard_is_atomic(void)
{
	return false;
}

ssize_t soft_guard_copy(const struct soft_right *right, pid_t pid, bool write,
			const struct iovec *local, unsigned long local_n, const struct iovec *remote,
			unsigned long remote_n)
{
	return copy_plainly(right, pid, write, local, local_n, remote, remote_n);
}

static long move_restartable(const struct soft_right *right, void *to, const void *from, uint64_t len)
{
	(void)right, (void)to, (void)from, (void)len;
	return 0;
}

static long store_restartable(const struct soft_right *right, void *to, uint64_t value, unsigned int size)
{
	(void)right, (void)to, (void)value, (void)size;
	return 0;
}

static int fetch_add_restartable(const struct soft_right *right, uint64_t *word, uint64_t *value)
{
	(void)right, (void)word, (void)value;
	return 0;
}

static int cmp_swap_restartable(const struct soft_right *right, uint64_t *word, uint64_t *value, uint64_t swap)
{
	(void)right, (void)word, (void)value, (void)swap;
	return 0;
}

#endif

bool soft_guard_move(const struct soft_right *right, void *to, const void *from, uint64_t len)
{
	bool whole = soft_guard_is_atomic();

	while (len) {
		uint64_t step = len < GUARD_PIECE ? len : GUARD_PIECE;

		if (whole ? move_restartable(right, to, from, step) != 0 : !right_is_valid(right))
			return false;
		if (!whole)
			memmove(to, from, step);
		to = (char *)to + step;
		from = (const char *)from + step;
		len -= step;
	}
	return true;
}

bool soft_guard_store(const struct soft_right *right, void *to, uint64_t value, unsigned int size)
{
	if (soft_guard_is_atomic()) /* on x86 each store is a release */
		return store_restartable(right, to, value, size) == 0;
	if (!right_is_valid(right))
		return false;
	/* release, all: a thread that sees these bytes sees everything copied before */
	if (size == 8)
		__atomic_store_n((uint64_t *)to, value, __ATOMIC_RELEASE);
	else if (size == 4)
		__atomic_store_n((uint32_t *)to, (uint32_t)value, __ATOMIC_RELEASE);
	else if (size == 2)
		__atomic_store_n((uint16_t *)to, (uint16_t)value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((unsigned char *)to, (unsigned char)value, __ATOMIC_RELEASE);
	return true;
}

bool soft_guard_fetch_add(const struct soft_right *right, uint64_t *word, uint64_t *value)
{
	if (soft_guard_is_atomic())
		return fetch_add_restartable(right, word, value) == 0;
	if (!right_is_valid(right))
		return false;
	/* sequentially consistent, as the atomics of a program are by default */
	*value = __atomic_fetch_add(word, *value, __ATOMIC_SEQ_CST);
	return true;
}

bool soft_guard_cmp_swap(const struct soft_right *right, uint64_t *word, uint64_t *value, uint64_t swap)
{
	if (soft_guard_is_atomic())
		return cmp_swap_restartable(right, word, value, swap) == 0;
	if (!right_is_valid(right))
		return false;
	/* sequentially consistent, as above */
	(void)__atomic_compare_exchange_n(word, value, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return true;
}
