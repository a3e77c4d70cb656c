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

/*
 * For a thread that may not sleep on a lock, and tries it again every few milliseconds. It wants the lock when it has tried in
 * vain, and has had its turn when it has the lock. Several locks may share what is kept here: then one of them is thought to be
 * wanted though it is not, or a turn is missed, once.
 */
DATP_API void datp_turn_want(_Atomic(uint32_t) *lock);
DATP_API void datp_turn_had(_Atomic(uint32_t) *lock);
DATP_API bool datp_turn_is_wanted(const _Atomic(uint32_t) *lock);
/*
 * For a thread that had the lock for long, is about to take it again, and does not have it now: if it is wanted, this returns after
 * that thread has it, or after 3 ms. Then it is not wanted any more, unless that thread tries in vain once more.
 */
DATP_API void datp_turn_give(_Atomic(uint32_t) *lock);

#endif
