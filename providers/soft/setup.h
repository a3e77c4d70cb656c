/* SPDX-License-Identifier: BSD-2-Clause */
/* What setup.c (requests and answers) and teardown.c (the open connection and its end) call of each other. */
#ifndef SOFT_SETUP_H
#define SOFT_SETUP_H

#include "sock.h"

struct soft_cq *soft_ep_recv_cq(struct soft_ep *ep);
struct soft_cq *soft_ep_request_cq(struct soft_ep *ep);

/*
 * Opens the connection: from now on the peer may touch the buffers that are posted. Returns false
 * if the peer's memory cannot be mapped, or if it had accepted this connection and has ended it. EP lock.
 */
bool soft_ep_open(struct soft_ep *ep, struct soft_peer *peer, const struct soft_remote_ep *remote,
		  bool accepting);
/*
 * Ends the endpoint's connection if it is open. Tells the peer if `peer_event` is not 0. Returns true if this call has ended the
 * connection. The caller then tells libdatp and calls soft_ep_ended(), for which other threads that want to end the
 * connection wait. Returns false if this call has not ended it; if another thread was ending it, that is done on return.
 * No lock.
 */
bool soft_ep_end(struct soft_ep *ep, DAT_EVENT_NUMBER peer_event);
void soft_ep_ended(struct soft_ep *ep);
/* The same for a caller that has nothing to tell libdatp. Returns at once on the service thread. */
void soft_ep_end_unreported(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER peer_event);
/*
 * The same, and tells libdatp that the connection has ended for the reason `why`, or, on the passive side before it was
 * established, that the accept has failed. No lock. On the service thread it returns at once: if the peer accesses our memory,
 * the teardown follows when that access has ended, or at the bound; if the peer has ended the connection and its last messages
 * are behind a skipped cell (skip.h), the teardown follows when they are taken.
 */
bool soft_ep_end_and_report(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER peer_event,
			    bool only_failing, DAT_EVENT_NUMBER why);
/*
 * Waits until no teardown of the endpoint is under way. Only the service thread can finish a teardown that waits for the peer;
 * if the service thread is the caller, this function finishes that teardown. No lock.
 */
void soft_ep_await_end(struct soft_ep *ep);
/* Sends a message to the peer of this connection. No lock. */
void soft_ep_send_msg(struct soft_ep *ep, const struct soft_msg *msg);
/* Cancels the connection set-up, if there is one, and tells the peer. No lock. */
void soft_ep_cancel(struct soft_ep *ep);

/*
 * Continues teardowns that follow messages which could not be taken yet. Returns true if some are
 * left. Service thread.
 */
bool soft_teardowns_put_off_serve(struct soft_ia *ia);
/* Finishes a teardown that waits; it is over when this returns. Service thread. */
void soft_teardown_finish(struct soft_ep *ep);
/* Continues the teardowns that wait. Returns true if some are left. Service thread. */
bool soft_teardowns_serve(struct soft_ia *ia);

#endif
