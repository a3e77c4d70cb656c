/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A full fence that other threads are made to execute, by membarrier(). Inlined into libdatp, libvipl
 * and the soft provider; the process has to register for it before. Invariant: afterwards the others
 * have executed the fence, or so much time has passed that none of their stores is delayed any
 * more.
 */
#ifndef FENCE_OTHERS_H
#define FENCE_OTHERS_H

#include <linux/membarrier.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FENCE_STORE_NS 1000000 /* a store becomes visible within nanoseconds, on any processor */

static inline int fence_membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

/*
 * Waits by the clock, which is read without the kernel, because a filter that forbids membarrier()
 * may forbid sleeping as well. The wait is not cut short by a signal, and is not a cancellation
 * point, because the caller may hold a lock.
 */
static inline void fence_let_stores_arrive(void)
{
	struct timespec from, now;

	if (clock_gettime(CLOCK_MONOTONIC, &from))
		return;
	do
		sched_yield();
	while (!clock_gettime(CLOCK_MONOTONIC, &now) &&
	       (now.tv_sec - from.tv_sec) * INT64_C(1000000000) + now.tv_nsec - from.tv_nsec < FENCE_STORE_NS);
}

/*
 * Returns true when the other threads have executed the fence. If the kernel refuses, for example
 * because a filter of system calls has been set since the registration, waits until their stores
 * have arrived, and returns false.
 */
static inline bool fence_others(int command)
{
	if (!fence_membarrier(command))
		return true;
	fence_let_stores_arrive();
	return false;
}

#endif /* FENCE_OTHERS_H */
