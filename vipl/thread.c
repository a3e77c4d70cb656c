/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the library's threads. Signals are for the program's threads: here their handlers would run within the library's locks. */
#include <pthread.h>
#include <signal.h>

#include "impl.h"

/* Returns 0 or an errno, as pthread_create() does. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
