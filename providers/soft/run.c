/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the threads of the provider. Some may outlive all adapters, for which the plugin stays in memory (-z nodelete). */
#include "run.h"
#include <signal.h>

int soft_run(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the consumer's threads */
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}
