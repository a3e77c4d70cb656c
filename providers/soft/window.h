/* SPDX-License-Identifier: BSD-2-Clause */
/* What the RMRs of an IA are bound to, by the binds that their owner has posted. */
#ifndef SOFT_WINDOW_H
#define SOFT_WINDOW_H

#include "mr.h"

enum datp_err soft_windows_init(struct soft_ia *ia);
void soft_windows_fini(struct soft_ia *ia);

/*
 * Records a bind of the RMR that is about to be posted as `wqe`: from now on soft_window_get()
 * finds `range` under this context, beside what earlier binds opened. Length 0 means an unbind.
 * Fails if there is no memory. EP lock.
 */
enum datp_err soft_window_post(struct soft_rmr *rmr, const struct datp_wqe *wqe, uint32_t context,
			       const struct soft_range *range);
/*
 * Returns the context of a binding of the RMR that is over when the bind posted as `wqe` completes. A binding does not count as
 * live before its own bind is executed, so one that was posted over another connection may be returned as well. The first call
 * has UINT64_MAX in *before, and each further call returns an earlier binding; 0 means that no earlier one is over. A binding
 * that a peer has invalidated is over until the program has been told. EP lock.
 */
uint32_t soft_window_ended_by(struct soft_ia *ia, const struct datp_wqe *wqe, uint64_t *before);
/*
 * The bind that was posted as `wqe` has been executed, and no thread with a right to do so still
 * accesses the range that it replaces. Drops the record of that range; when this returns, the
 * bounce thread does not access it either. EP lock.
 */
void soft_window_settle(struct soft_ia *ia, const struct datp_wqe *wqe);
/*
 * The bind that was posted as `wqe` has failed, or will be flushed. No access through its binding begins any more, whatever the
 * peers' table says. `executed`: a peer may have executed the bind without counting it. Returns true if accesses may have begun
 * since an earlier call. EP lock.
 */
bool soft_window_fail(struct soft_ia *ia, const struct datp_wqe *wqe, bool executed);
/* After that: returns the context of the binding if accesses that began before may still go on, else 0. EP lock. */
uint32_t soft_window_failed(struct soft_ia *ia, const struct datp_wqe *wqe);
/*
 * Drops the record of the bind with this context, which has failed; when this returns, the bounce thread does not access its range
 * any more. Not soft_ia.lock.
 */
void soft_window_forget(struct soft_ia *ia, uint32_t context);
/* Drops all records of an RMR that is being freed. No other RMR may have its index yet. */
void soft_window_close(struct soft_rmr *rmr);

/*
 * A message over this endpoint has invalidated the window with this context. Returns false if the peer had no right to do
 * that: the window was bound over another connection, or no window has this context. Otherwise no access through it begins
 * any more. *rmr is its RMR, which may be freed at any time, or NULL if the binding had ended before. If it is not NULL,
 * accesses that have begun may still go on; when they are over, the caller calls soft_window_quiesced() and tells the program.
 * EP lock.
 */
bool soft_window_invalidate(struct soft_ep *ep, uint32_t context, struct datp_rmr **rmr);
/*
 * Called when all accesses through the window with this context, which soft_window_invalidate() has ended, are over. Frees
 * the record, unless the program has not reaped the bind yet.
 */
void soft_window_quiesced(struct soft_ia *ia, uint32_t context);

/* Finds the range that a context opens, in memory that no peer can write to. Returns false if it opens no range. */
bool soft_window_get(struct soft_ia *ia, uint32_t context, struct soft_range *range);

#endif
