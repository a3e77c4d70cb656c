/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeping pthread_cancel() out of a stretch of code. Both the state and the type are set: when the
 * C library has sent its signal to a thread that was cancellable at any instant, it looks at the
 * type alone when the signal arrives, and would end the thread though its state is "disabled" by
 * then. Hence the type goes first and comes back last.
 */
#ifndef CANCEL_H
#define CANCEL_H

#include <pthread.h>

struct cancel {
	int state, type;	/* the consumer's own */
};

static inline void cancel_off(struct cancel *own)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &own->type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own->state);
}

/* May not return, where the thread was cancelled meanwhile. */
static inline void cancel_restore(const struct cancel *own)
{
	int ignored;

	pthread_setcancelstate(own->state, &ignored);
	pthread_setcanceltype(own->type, &ignored);
}

#endif
