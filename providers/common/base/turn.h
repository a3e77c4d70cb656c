/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock whose holder would take it again at once, and what it does for threads that wait. */
#ifndef TURN_H
#define TURN_H

#include <datp/provider.h>

/*
 * As datp_unlock(). If a thread sleeps on the lock, this returns after a thread that has slept there has taken the lock, or after
 * 100 ms. A thread that holds the lock most of the time would take it again before the other one is awake, time after time.
 */
DATP_API void datp_unlock_in_turn(_Atomic(uint32_t) *lock);

#endif
