/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pauses of a thread that waits for another one which is about to be done. It only yields at first, and then sleeps: the other one
 * may have a lower real-time priority, and would get no processor from a thread that yields for ever. The caller may hold locks,
 * so the thread is not cancelled here.
 */
#ifndef PAUSE_H
#define PAUSE_H

#include "cancel.h"
#include <sched.h>
#include <time.h>

#define PAUSE_YIELDS 256u
#define PAUSE_NS     50000L

static inline void pause_asleep(void)
{
	const struct timespec time = { .tv_nsec = PAUSE_NS };
	struct cancel own;

	cancel_off(&own);
	nanosleep(&time, NULL);
	cancel_restore(&own);
}

/* `round` counts the pauses of one wait, from 0 or 1. */
static inline void pause_briefly(unsigned int round)
{
	if (round < PAUSE_YIELDS)
		sched_yield();
	else
		pause_asleep();
}

#endif
