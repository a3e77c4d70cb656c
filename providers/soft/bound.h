/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long anything here waits for a peer: a deadline, counted from the moment at which the wait begins.
 * Invariant: a wait for a peer has one, since the peer can be stopped for as long as somebody likes.
 */
#ifndef SOFT_BOUND_H
#define SOFT_BOUND_H

#include "soft.h"
#include <time.h>

#define SOFT_PATIENCE_MS     1000u /* unless the parameter peer_timeout says otherwise */
#define SOFT_PATIENCE_MS_MAX 3600000u

/* Between two looks at the clock no more than this counts: longer it was we who did not run, and the peer may not have. */
#define SOFT_BOUND_STEP_MS 150u

#ifndef soft_bound_over /* the model checker has no clock */
/* CLOCK_MONOTONIC in milliseconds. */
static inline uint64_t soft_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* When a wait that begins now ends at the latest. Never 0. */
static inline uint64_t soft_bound(const struct soft_ia *ia)
{
	return soft_now_ms() + ia->patience_ms + 1;
}

/* Whether the time is up. *looked: when the clock was looked at last, soft_now_ms() at first. */
static inline bool soft_bound_over(uint64_t *until, uint64_t *looked)
{
	uint64_t now = soft_now_ms();

	if (now - *looked > SOFT_BOUND_STEP_MS)
		*until += now - *looked - SOFT_BOUND_STEP_MS;
	*looked = now;
	return now >= *until;
}
#endif

#endif
