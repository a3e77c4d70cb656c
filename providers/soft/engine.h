/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine of a direction: executes an initiator's queued requests, on whichever side comes
 * second.
 */
#ifndef SOFT_ENGINE_H
#define SOFT_ENGINE_H

#include "soft.h"

/*
 * Executes what can be executed of the requests of `ep` (initiator) or of its peer (not). EP lock
 * held; returns at once if the other side is at it, which will then go round again for us. True:
 * something was executed.
 */
bool soft_engine_run(struct soft_ep *ep, bool initiator);

/*
 * Waits until who holds the engine of this port now has let go, or has died. initiator: the port is
 * ours. Locks: none that the holder wants, nor soft_ia.lock.
 */
void soft_engine_wait(struct soft_port *port, struct soft_peer *peer, bool initiator);
/* The peer of our port has died, maybe with its engine in hand. Nobody of ours holds it. */
void soft_engine_take_back(struct soft_port *port);

#endif
