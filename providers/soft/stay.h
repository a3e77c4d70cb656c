/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the provider, some of which may outlive all adapters. */
#ifndef SOFT_STAY_H
#define SOFT_STAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Has this plugin stay in memory when its last adapter is closed. Returns false if it does not. */
bool soft_stay(void);

/*
 * Starts a thread, which gets no signals. Its stack has the default size: the thread-local variables of the program take a part of
 * it, and may be large. Returns 0 or an errno.
 */
int soft_run(pthread_t *thread, void *(*run)(void *), void *arg);
/* The same, and has this plugin stay in memory for ever. Returns false if one of these has failed. */
bool soft_stay_and_run(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
