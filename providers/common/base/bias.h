/* SPDX-License-Identifier: BSD-2-Clause */
/* What <datp/bias.h> does not offer to plugins of others. */
#ifndef BIAS_H
#define BIAS_H

#include <datp/bias.h>

/*
 * As datp_trylock(), for a lock that may be biased: takes it as well if it is biased to a thread that is not inside, which loses
 * the bias. Returns false if a thread holds the lock; its bias stays. Never waits for the holder.
 */
DATP_API bool datp_bias_trylock(_Atomic(uint32_t) *lock);

#endif
