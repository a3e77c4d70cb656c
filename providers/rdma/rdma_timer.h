/* SPDX-License-Identifier: BSD-2-Clause */
/* Actions by timer: deferred accepts, RTR messages and nudges, repeated requests. */
#ifndef RDMA_TIMER_H
#define RDMA_TIMER_H

#include "rdma.h"

void rdma_timer_close(struct rdma_ia *ia);
/*
 * Called for an accepted request. Returns true if the peer is to be answered later; ESTABLISHED is
 * queued then.
 */
bool rdma_accept_defer(struct rdma_conn *conn, struct rdma_ep *ep);
/* Answers the peer now, if it has not been answered yet. EP lock. */
void rdma_deferred_accept_locked(struct rdma_ep *ep);
void rdma_deferred_accept(struct rdma_ep *ep);
/* Called after a receive has been staged: the peer is answered soon. EP lock. */
void rdma_accept_after_receive_locked(struct rdma_ep *ep);
/* Called before a request is posted: answers the peer first. EP lock. */
void rdma_accept_before_request_locked(struct rdma_ep *ep);
/*
 * Called when the peer has answered the RTR message: reports the connection to the program.
 * Service thread.
 */
void rdma_ep_rtr_answered(struct datp_ep *ep);
/* Have rdma_ask() repeat the active side's request after `ms`, and cancel that. */
void rdma_ask_later(struct rdma_conn *conn, uint32_t ms);
void rdma_ask_forget(struct rdma_ep *ep);
/* Begins the nudges of an active side that has sent its RTR message. */
void rdma_nudge_begin(struct rdma_conn *conn);

/*
 * Limits how long the connection waits for its peer from now on: for the RTU after an accept, or, once it is
 * retired, for its end. IA mutex.
 */
void rdma_limit_locked(struct rdma_conn *conn);
/* Has the service thread report that the attempt has failed, by the event in `fails`. IA mutex. */
void rdma_fail_soon_locked(struct rdma_conn *conn);
/* Has the service thread cancel the worker of a connection that is being detached, at its handshake_us. IA mutex. */
void rdma_cancel_later_locked(struct rdma_conn *conn);
/* Sets when the timer of the endpoint's connection fires. Takes the IA mutex. */
void rdma_due_locked(struct rdma_ep *ep, uint32_t ms);

#endif
