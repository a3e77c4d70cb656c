/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps pthread_cancel() out of a section of code, by setting both the state and the type. If a
 * thread's type is asynchronous, the C library sends it a signal, and its handler checks the type
 * only: it would end a thread whose state has become "disabled" meanwhile. So the type is set first
 * and restored last.
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

/* Does not return if the thread has been cancelled meanwhile. */
static inline void cancel_restore(const struct cancel *own)
{
	int ignored;

	pthread_setcancelstate(own->state, &ignored);
	pthread_setcanceltype(own->type, &ignored);
}

#endif
