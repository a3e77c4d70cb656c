/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the threads of the provider, and keeps the plugin in memory: a thread that nobody can wait for may still run the code of
 * the plugin when its last adapter is closed.
 */
#define _GNU_SOURCE
#include "stay.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

bool soft_stay(void)
{
	Dl_info info;
	void *handle;

	if (!dladdr((void *)(uintptr_t)soft_stay, &info))
		return false;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
	return handle != NULL;
}

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

bool soft_stay_and_run(pthread_t *thread, void *(*run)(void *), void *arg)
{
	return soft_stay() && !soft_run(thread, run, arg);
}
