/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fences by membarrier(). What a process has registered at its start stays valid; but a filter of
 * system calls may forbid requests later. Invariant: when soft_fence_everybody() returns, the
 * fences have been executed, or so much time has passed that no store is delayed any more.
 */
#include "fence.h"
#include "fence/fence_others.h"

#include <pthread.h>
#include <stdatomic.h>

bool soft_fence_registered;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool refused;

static void register_once(void)
{
	soft_fence_registered = fence_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

void soft_fence_init(void)
{
	pthread_once(&once, register_once);
}

bool soft_fence_reaches(void)
{
	/* relaxed: a hint */
	return soft_fence_registered && !atomic_load_explicit(&refused, memory_order_relaxed);
}

void soft_fence_everybody(void)
{
	/* relaxed: a hint */
	if (!fence_others(MEMBARRIER_CMD_GLOBAL_EXPEDITED))
		atomic_store_explicit(&refused, true, memory_order_relaxed);
}
