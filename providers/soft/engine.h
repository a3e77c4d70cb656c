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
 * The rest of such requests is executed at the next poll of the queue that hears of this direction, by the service thread if
 * nobody polls. EP lock, open.
 */
void soft_engine_later(struct soft_ep *ep, bool initiator);

/*
 * Behind soft_engine_run(), for the send that was posted at `seq`, with the number `msg`: if it was not this side that
 * executed it, then its place among the messages that the target gets is kept by a cell now. Otherwise what is sent
 * over another endpoint next could overtake it. EP lock.
 */
void soft_engine_keep_turn(struct soft_ep *ep, uint32_t seq, uint32_t msg);

/*
 * The parts of soft_engine_wait(), for a thread that must not wait. What is under way when soft_engine_look() is
 * called; whether a thread of this process is at it yet, and whether whoever held
 * the engine then has let go, as the words say that both sides can write to.
 */
void soft_engine_look(struct soft_engine_watch *watch, const struct soft_ep *ep, struct soft_port *port);
bool soft_engine_own_works(const struct soft_engine_watch *watch);
bool soft_engine_let_go(const struct soft_engine_watch *watch);

/*
 * Waits until the present holder of the engine of this port, a thread of this process or of the peer, has let go,
 * and until every thread of this process that copied for the endpoint at the time of the call has finished. The
 * wait also ends when all requests before `past`, a position in the port's queue, are done. Returns true if nobody
 * touches the memory any more, or if the kernel says that the peer has died; returns false if the peer lives and
 * has not let go at the time `until` (soft_bound()). The caller holds no lock that the holder may take, and not
 * soft_ia.lock.
 */
bool soft_engine_wait(struct soft_ep *ep, struct soft_port *port, struct soft_peer *peer,
		      const uint32_t *past, uint64_t until);
/* The peer of our port has died, maybe with its engine in hand. Nobody of ours holds it. */
void soft_engine_take_back(struct soft_port *port);

#endif
