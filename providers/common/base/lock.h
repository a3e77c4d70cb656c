/* SPDX-License-Identifier: BSD-2-Clause */
/* The word of a lock, among lock.c and bias.c. */
#ifndef LOCK_H
#define LOCK_H

#include <datp/bias.h>

/* 2: somebody may sleep on it; 3: biased to a thread, which does not touch the word. */
enum { LOCK_FREE, LOCK_HELD, LOCK_SLEPT_ON, LOCK_BIASED };

/* bias.c: takes a lock that is biased away from its owner. False: it is not biased any more, and not taken. */
bool bias_revoke(_Atomic uint32_t *lock);

#endif
