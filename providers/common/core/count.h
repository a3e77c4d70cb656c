/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is counted of an IA, an endpoint and an EVD, for the counters of DAT 2.0: control calls, connections and errors. Nothing
 * that moves data is counted here. An edge counts that itself, if the line of the adapter asks for it: then endpoints and EVDs have
 * room for its counts before libdatp's part of them. Invariant: a count of an IA only grows; a reset sets one of an endpoint or EVD
 * to 0.
 */
#ifndef COUNT_H
#define COUNT_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Of an IA, beside the numbers of its objects (struct obj_list). The events are those of its endpoints. Service points have counts
 * of their own, because such an object is published before it listens, and retired if that fails.
 */
enum ia_count {
	COUNT_PSP,		/* dat_psp_create */
	COUNT_PSP_ANY,		/* dat_psp_create_any */
	COUNT_PSP_FREED,
	COUNT_RSP, COUNT_RSP_FREED,
	COUNT_ACCEPTS, COUNT_REJECTS,
	COUNT_ATTEMPTS,		/* dat_ep_connect and dat_ep_dup_connect */
	COUNT_ESTABLISHED_ACTIVE, COUNT_ESTABLISHED_PASSIVE,
	COUNT_PEER_REJECTED, COUNT_NON_PEER_REJECTED, COUNT_TIMED_OUT, COUNT_UNREACHABLE, COUNT_ACCEPT_FAILED,
	COUNT_DISCONNECTS,	/* from here: calls that have ended a connection */
	COUNT_DISCONNECTED,	/* by the peer */
	COUNT_BROKEN,
	COUNT_ASYNC, COUNT_ASYNC_EP, COUNT_ASYNC_EVD,
	IA_COUNTS
};

/* The largest number of counters that an edge shows of an IA, an endpoint and an EVD. */
enum { IA_SHOWN = 85, EP_SHOWN = 24, EVD_SHOWN = 10 };

/* relaxed: nothing depends on the order in which counts change */
static inline void count_add(_Atomic uint64_t *count, uint64_t n)
{
	atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

#endif
