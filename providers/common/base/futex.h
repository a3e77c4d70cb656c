/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping on a word. Deadlines are absolute, on CLOCK_MONOTONIC; NULL means none.
 */
#ifndef FUTEX_H
#define FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns 0 (woken, or the word is not `seen` any more), ETIMEDOUT or EINTR. */
static inline int futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *deadline,
			     bool shared)
{
	int op = FUTEX_WAIT_BITSET | (shared ? 0 : FUTEX_PRIVATE_FLAG);

	if (syscall(SYS_futex, word, op, seen, deadline, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
		return 0;
	return errno == ETIMEDOUT || errno == EINTR ? errno : 0;
}

static inline void futex_wake(_Atomic uint32_t *word, bool shared)
{
	syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, NULL,
		NULL, 0);
}

/* Waits until the word is 0. It only decreases from now on, and the thread that sets it to 0 wakes this one. */
static inline void futex_await_zero(_Atomic uint32_t *word)
{
	uint32_t n;

	/* acquire: what the last one did is seen here */
	while ((n = atomic_load_explicit(word, memory_order_acquire)) != 0)
		futex_wait(word, n, NULL, false);
}

#endif
