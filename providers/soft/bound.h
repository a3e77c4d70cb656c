/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long this provider waits for a peer: until a deadline that is counted from the beginning of
 * the wait. Invariant: every wait for a peer has a deadline, because the peer can be stopped for
 * any time.
 */
#ifndef SOFT_BOUND_H
#define SOFT_BOUND_H

#include "soft.h"
#include <time.h>

#define SOFT_PATIENCE_MS     1000u /* unless the parameter peer_timeout says otherwise */
#define SOFT_PATIENCE_MS_MAX 3600000u

/*
 * No more than this counts between two readings of the clock: in a longer gap this process did not
 * run, and perhaps the peer did not either.
 */
#define SOFT_BOUND_STEP_MS 150u

/* A call that has waited so long for a peer begins no further wait for it, so that a call waits little longer than the bound. */
static inline uint32_t soft_bound_call(const struct soft_ia *ia)
{
	return ia->patience_ms / 4;
}

#ifndef soft_bound_over /* the model checker has no clock */
/* CLOCK_MONOTONIC in milliseconds. */
static inline uint64_t soft_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Returns the deadline of a wait that begins now. Never 0. */
static inline uint64_t soft_bound(const struct soft_ia *ia)
{
	return soft_now_ms() + ia->patience_ms + 1;
}

/*
 * The part of the bound that is kept for the last piece of a copy. The peer has lost its right by then; but it may be alive, and
 * in the middle of a piece, which the kernel finishes.
 */
static inline uint32_t soft_bound_rest(const struct soft_ia *ia)
{
	return ia->patience_ms / 4;
}

/* Returns true if the deadline has passed. *looked is the last reading of the clock; set it to soft_now_ms() first. */
static inline bool soft_bound_over(uint64_t *until, uint64_t *looked)
{
	uint64_t now = soft_now_ms();

	if (now - *looked > SOFT_BOUND_STEP_MS)
		*until += now - *looked - SOFT_BOUND_STEP_MS;
	*looked = now;
	return now >= *until;
}
#endif

/*
 * Adds `more` milliseconds, for which somebody has waited for a peer, to what has been waited for it lately, and returns that: an
 * eighth of the time that has passed is taken off. It is two bounds at most: a wait for a peer with less than one bound may take
 * another one, all of which counts. ia.lock
 */
static inline uint64_t soft_spend_locked(const struct soft_ia *ia, struct soft_spent *spent, uint64_t more)
{
	const uint64_t most = 2 * 8 * (uint64_t)ia->patience_ms;
	uint64_t now = soft_now_ms(), passed = now - spent->looked;

	spent->eighths -= passed < spent->eighths ? passed : spent->eighths;
	spent->eighths += 8 * more;
	if (spent->eighths > most)
		spent->eighths = most;
	spent->looked = now;
	return spent->eighths / 8;
}

/* Returns true if the peer has been waited for so long lately that it is waited for no more. ia.lock */
static inline bool soft_has_spent_locked(const struct soft_ia *ia, struct soft_spent *spent)
{
	return spent->eighths && soft_spend_locked(ia, spent, 0) >= ia->patience_ms;
}

#endif
