/* SPDX-License-Identifier: BSD-2-Clause */
/* The timers of one loop that are set, by their deadlines. The caller holds the loop lock. */
#ifndef TIMER_H
#define TIMER_H

#include <datp/timer.h>

/* The timer with the earliest deadline; NULL if none is set. */
struct timers {
	struct datp_timer *first;
};

static inline uint64_t timer_when(const struct datp_timer *timer)
{
	/* relaxed: written under the loop lock */
	return atomic_load_explicit(&timer->when, memory_order_relaxed);
}

/* Adds a timer that is not set. A deadline of 0 counts as 1, because 0 says that a timer is not set. */
void timers_add(struct timers *timers, struct datp_timer *timer, uint64_t when);
/* Removes a timer that is set. */
void timers_remove(struct timers *timers, struct datp_timer *timer);

#endif
