/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for accesses to a region or window that may still be going on. */
#ifndef SOFT_QUIESCE_H
#define SOFT_QUIESCE_H

#include "soft.h"

/*
 * Waits until no access to the region or window with this context that may have begun before this
 * call is still going on: neither by peers, nor by this process on their behalf. A window's context
 * without generation stands for all of the window's contexts. The context is dead already, or what
 * it stands for has changed. A peer that does not let go within the bound of bound.h loses its
 * connection: from then on it has no right to touch our memory, and the consumer soon gets
 * DAT_CONNECTION_EVENT_BROKEN. copies: also waits for our own copies of messages to our receives;
 * then the caller holds no EP lock. Takes soft_ia.lock.
 */
void soft_mr_quiesce(struct soft_ia *ia, uint32_t context, bool copies);

/*
 * The same without waiting, for a window that has been bound anew. Returns false if an access
 * through the old context may still be going on; if `late`, those connections are broken. The
 * caller may hold any lock but soft_ia.lock.
 */
bool soft_mr_quiet(struct soft_ia *ia, uint32_t context, bool late);

#endif
