/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that are withheld while somebody accesses memory through a window that has ended. */
#ifndef SOFT_WITHHELD_H
#define SOFT_WITHHELD_H

#include "soft.h"

/* Withholds a receive of a message of this length that has invalidated the window of `rmr`. No other one is withheld. EP lock. */
void soft_withheld_begin(struct soft_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr, uint32_t context, uint64_t len,
			 bool solicited);
/*
 * Returns true if the withheld receive still has to wait. If the bound has passed, or `late` is set, it does not, and the
 * connections over which an access goes on are broken. EP lock, not soft_ia.lock.
 */
bool soft_withheld_waits(struct soft_ep *ep, bool late);
/* Withholds the receive no longer, so that the caller completes it; nobody accesses memory through the window. EP lock. */
struct datp_wqe *soft_withheld_end(struct soft_ep *ep);

/*
 * Returns true if a bind may complete: one that has been executed (`good`), or one that has failed. Otherwise the tick looks again,
 * or, if the connection is ending, the teardown. If the bound has passed, or `late` is set, it may complete, and the connections
 * over which an access goes on are broken. EP lock.
 */
bool soft_bind_may_complete(struct soft_ep *ep, const struct datp_wqe *wqe, bool good, bool late);
/*
 * The connection ends, and the requests from `first` on will be flushed. No access through what their binds would have bound
 * begins any more. One may be going on, if the peer that has executed a bind died before it had counted it, or by a peer's
 * forgery. EP lock.
 */
void soft_binds_fail(struct soft_ep *ep, uint32_t first);
/* After that: returns true if no such access goes on, or if it is `late`: then the connections over which one does are broken. */
bool soft_binds_may_flush(struct soft_ep *ep, bool late);
/* Returns true if a bind or a receive of this endpoint may be waiting. A hint; no lock. */
bool soft_withheld_is_any(const struct soft_ep *ep);
/* The connection ends, so the tick does not look at a bind that waits for old accesses any more. EP lock. */
void soft_bind_forget(struct soft_ep *ep);

#endif
