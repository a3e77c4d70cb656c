/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A full fence that other threads are made to pass, by membarrier(). It becomes a part of libdatp and of the soft
 * provider: who asks has registered for it before. Invariant: afterwards the others have passed the fence, or so much
 * time has passed that no store of theirs is on its way any more.
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

#define FENCE_STORE_NS 1000000 /* takes nanoseconds to be seen, wherever it is made */

static inline int fence_membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

/*
 * By the clock, which is read without the kernel: what forbids the one call may forbid to sleep as well. Not cut short
 * by a signal, and no place to be cancelled at: a lock may be the caller's.
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

/* False: the kernel refuses it by now, as a filter of system calls may that was set meanwhile; then it takes time. */
static inline bool fence_others(int command)
{
	if (!fence_membarrier(command))
		return true;
	fence_let_stores_arrive();
	return false;
}

#endif /* FENCE_OTHERS_H */
