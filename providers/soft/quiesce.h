/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for those who may be at a region. */
#ifndef SOFT_QUIESCE_H
#define SOFT_QUIESCE_H

#include "soft.h"

/*
 * Waits until no access to the region or window with this context (of a window without generation: with any of its
 * contexts) that may have begun before this call is still going
 * on: of peers, and of ours on their behalf. The context is dead already, or what it stands for has changed. A peer
 * that does not let go within the bound of bound.h loses its connection: it has no right to touch anything from
 * then on, and the consumer hears of it by DAT_CONNECTION_EVENT_BROKEN, soon. copies: nor one of ours to our own memory,
 * when a message is received; then no EP lock is held. Takes soft_ia.lock.
 */
void soft_mr_quiesce(struct soft_ia *ia, uint32_t context, bool copies);

/*
 * The same for a window that has been bound anew, without waiting. Returns false if somebody may still be at what the
 * old context opened; late: then they lose their connection. Any lock but soft_ia.lock may be held.
 */
bool soft_mr_quiet(struct soft_ia *ia, uint32_t context, bool late);

#endif
