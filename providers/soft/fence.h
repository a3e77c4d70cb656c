/* SPDX-License-Identifier: BSD-2-Clause */
/* Full fences that one process makes all others pass, so that they need not pass one themselves each time. */
#ifndef SOFT_FENCE_H
#define SOFT_FENCE_H

#include <stdbool.h>

/* True if the fences of other processes reach the threads of this one. Does not change once an IA is open. */
extern bool soft_fence_registered;

/* Registers this process for such fences. Any thread, any number of times; only the first call takes time. */
void soft_fence_init(void);
/* Returns true if soft_fence_everybody() works, as far as is known. Any thread. */
bool soft_fence_reaches(void);
/*
 * Makes each thread of each process with `soft_fence_registered` pass a full fence, our own threads
 * included. It interrupts threads on other processors, so it is for rare use. It is no cancellation
 * point.
 */
void soft_fence_everybody(void);

#endif
