/* SPDX-License-Identifier: BSD-2-Clause */
/* Errands: work in a thread of its own that a peer may keep from ending. */
#ifndef SOFT_ERRAND_H
#define SOFT_ERRAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of a record that malloc() has made, which belongs to the errand until that is done. */
struct soft_errand {
	pthread_t thread;
	_Atomic uint32_t state; /* a futex */
	_Atomic uint32_t refs;	/* the errand's and the caller's */
	/* Set by the caller before the start. */
	void (*run)(struct soft_errand *errand);
	void (*undo)(struct soft_errand *errand); /* of one that was left behind: releases what `run` has got; or NULL */
	int done_fd;				  /* an eventfd that is written to when it is done; or -1 */
};

/* Starts a thread that calls `run`. Returns false if there is no thread; the record is the caller's alone then. */
bool soft_errand_start(struct soft_errand *errand);
/* Returns true if it is done. The record is the caller's again, who calls soft_errand_end(). */
bool soft_errand_is_done(struct soft_errand *errand);
/* Leaves the errand behind: nobody waits for it any more, and the record stays the errand's. Returns false if it is done. */
bool soft_errand_leave(struct soft_errand *errand);
/* Waits for it, so many microseconds at most. It goes on if it is not done then. */
void soft_errand_wait(struct soft_errand *errand, uint64_t us);
/* Returns true if an errand that was left behind has ended meanwhile. */
bool soft_errand_has_ended(struct soft_errand *errand);
/* Gives up the caller's reference to an errand that is done or was left behind. The last reference frees the record. */
void soft_errand_end(struct soft_errand *errand);

#endif
