/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of a lock's word, shared by lock.c and bias.c. */
#ifndef LOCK_H
#define LOCK_H

#include <datp/bias.h>

/* 2: a thread may sleep on it. 3: biased to a thread, which does not access the word. */
enum { LOCK_FREE, LOCK_HELD, LOCK_SLEPT_ON, LOCK_BIASED };

/* Revokes the bias of a lock and takes the lock. Returns false if it is not biased any more, and was not taken. bias.c */
bool bias_revoke(_Atomic uint32_t *lock);

#endif
