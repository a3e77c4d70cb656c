/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the provider. */
#ifndef SOFT_RUN_H
#define SOFT_RUN_H

#include <pthread.h>

/*
 * Starts a thread, which gets no signals. Its stack has the default size: the thread-local variables of the program take a part of
 * it, and may be large. Returns 0 or an errno.
 */
int soft_run(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
