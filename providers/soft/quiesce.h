/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for accesses to a region or window that may still be going on. */
#ifndef SOFT_QUIESCE_H
#define SOFT_QUIESCE_H

#include "soft.h"

/*
 * Waits until the accesses to the region or window with this context that began before this call
 * have ended, those by peers and those by this process on their behalf. The caller has made the
 * context invalid, or changed what it stands for, so that later accesses do not matter. A window's
 * context without generation stands for all of the window's contexts. A peer that does not end its
 * access within three quarters of the bound of bound.h loses its connection: from then on it has no right to touch our
 * memory, and the consumer soon gets DAT_CONNECTION_EVENT_BROKEN; this waits the rest of the bound for
 * the piece that the peer may be copying. If `receives`, this also waits for our own copies of messages to our receives, and the
 * caller holds no EP lock. Takes soft_ia.lock. A thread of this process, also one that works for another adapter which is connected
 * with this one, is waited for without a bound, whatever the execution locks say, to which peers can write; unless it has recorded
 * that it copies something else (copying.h).
 */
void soft_mr_quiesce(struct soft_ia *ia, uint32_t context, bool receives);

/*
 * The same without waiting, for a window that has been bound anew over this endpoint. Returns false if an access through the old
 * context may still be going on; if `late`, those connections are broken. If the endpoint's own connection is ending, the teardown
 * has awaited what goes on over it. The caller holds the EP lock, and not soft_ia.lock. `since`: a mark (exec.h) that was made
 * when the old context was invalid. *here becomes true if a thread of this process may be making such an access, which does not end
 * with its connection.
 */
bool soft_mr_quiet(struct soft_ep *ep, uint32_t context, uint32_t since, bool late, bool *here);

/*
 * The same for a window that the peer of this endpoint has invalidated: what that peer has posted itself has been executed, or
 * finds the window dead.
 */
bool soft_mr_quiet_invalidated(struct soft_ep *ep, uint32_t context, uint32_t since, bool late, bool *here);

/* Notes the work of a thread for the other end of a connection, if that is of another adapter of this process. No lock. */
void soft_other_look(struct soft_other_work *other, struct soft_ia *ia, const struct soft_ep *ep);
/* Returns true if that is over. No lock. */
bool soft_other_has_ended(const struct soft_other_work *other);

#endif
