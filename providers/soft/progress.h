/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread of an adapter: executes the requests that the service thread would execute otherwise. */
#ifndef SOFT_PROGRESS_H
#define SOFT_PROGRESS_H

#include "soft.h"

#ifndef soft_progress_puts_off /* the model checker's threads are those of the program */
/*
 * Returns true if this is the service thread and the peer is in another process: then the progress thread will execute this
 * side's requests (initiator), or the peer's, and the caller must not. EP lock, open.
 */
bool soft_progress_puts_off(struct soft_ep *ep, bool initiator);
#endif
/* Returns true if that has not happened yet. EP lock. */
static inline bool soft_progress_is_due(const struct soft_ep *ep)
{
	/* relaxed: written under the EP lock */
	return atomic_load_explicit(&ep->to_execute, memory_order_relaxed);
}
/* Nothing is to be executed any more, because the connection ends. EP lock. */
static inline void soft_progress_forget(struct soft_ep *ep)
{
	atomic_store_explicit(&ep->to_execute, 0, memory_order_relaxed);
}

/* Returns true on the progress thread of this adapter. */
bool soft_progress_inside(const struct soft_ia *ia);
/* Has it try again what it could not do, or starts it if that has failed. Returns true if it has to be called again. Tick. */
bool soft_progress_serve(struct soft_ia *ia);
/* Ends it. No other thread uses the adapter. */
void soft_progress_stop(struct soft_ia *ia);

#endif
