/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contended half of datp_lock(). The word is 0 free, 1 held, 2 held and somebody may sleep on
 * it; whoever sleeps has set it to 2 before, so an unlocker that reads 1 need not make a system
 * call.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <datp/provider.h>

enum { SPINS = 100 };

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

void datp_lock_slow(_Atomic uint32_t *lock)
{
	/* The sections are short: the holder is likely to leave before a sleep would pay. */
	for (int i = 0; i < SPINS; i++) {
		uint32_t zero = 0;

		if (atomic_load_explicit(lock, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_weak_explicit(lock, &zero, 1, memory_order_acquire,
							  memory_order_relaxed))
			return;
		relax();
	}
	/*
	 * acquire: as in datp_lock(). 2 and not 1, since others may sleep too and we cannot know.
	 */
	while (atomic_exchange_explicit(lock, 2, memory_order_acquire) != 0)
		futex(lock, FUTEX_WAIT, 2);
}

void datp_unlock_slow(_Atomic uint32_t *lock)
{
	futex(lock, FUTEX_WAKE, 1);
}
