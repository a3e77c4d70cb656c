/* SPDX-License-Identifier: BSD-2-Clause */
/* Full fences that one process has all others pass, so that they need not do so themselves each time. */
#ifndef SOFT_FENCE_H
#define SOFT_FENCE_H

#include <stdbool.h>

/* Whether our threads pass those of other processes. Constant once an IA is open. */
extern bool soft_fence_heard;

/* Any thread, any number of times; takes time once. */
void soft_fence_init(void);
/* Whether soft_fence_everybody() does what it says, as far as is known. Any thread. */
bool soft_fence_reaches(void);
/*
 * Has each thread of each process with `soft_fence_heard` pass a full fence, our own among them. A thread on another
 * processor is interrupted for it: for what is rare. No place to be cancelled at.
 */
void soft_fence_everybody(void);

#endif
