/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of a lock's word, shared by lock.c and bias.c. */
#ifndef LOCK_H
#define LOCK_H

#include <datp/bias.h>

enum {
	LOCK_FREE,
	LOCK_HELD,
	LOCK_SLEPT_ON, /* held, and threads may sleep on it */
	LOCK_BIASED    /* biased to a thread, which takes the lock without access to this word */
};

/* Revokes the bias of a lock and takes the lock. Returns false, without the lock, if it is not biased any more. In bias.c. */
bool bias_revoke(_Atomic uint32_t *lock);

#endif
