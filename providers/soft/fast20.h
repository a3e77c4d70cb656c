/* SPDX-License-Identifier: BSD-2-Clause */
/* The data path for programs of DAT 2.0, and how it and the SDK's own path for 1.2 take the EP lock. */
#ifndef SOFT_FAST20_H
#define SOFT_FAST20_H

#include "conn.h"
#include "established.h"
#include "fast.h"

extern const struct datp_fast20 soft_fast20;

/*
 * As soft_post_lock(). A program that has seen the peer's data in its memory knows that it is connected, and may post at once:
 * the post must not fail because the service thread has not read the RTU yet.
 */
static inline __attribute__((always_inline)) bool soft_post_lock_established(struct datp_ep *ep)
{
	/* relaxed: a hint, and the post looks at the state under the lock */
	if (__builtin_expect(atomic_load_explicit(&ep->state, memory_order_relaxed) ==
				     DAT_EP_STATE_COMPLETION_PENDING,
			     0))
		soft_ep_look(soft_ep(ep));
	return soft_post_lock(ep);
}

#endif
