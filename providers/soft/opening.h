/* SPDX-License-Identifier: BSD-2-Clause */
/* What opening.c (requests and answers) and ending.c (the open connection) call of each other. */
#ifndef SOFT_OPENING_H
#define SOFT_OPENING_H

#include "sock.h"

struct soft_cq *soft_ep_recv_cq(struct soft_ep *ep);
struct soft_cq *soft_ep_request_cq(struct soft_ep *ep);

/*
 * Data may flow: from here on the peer may touch what is posted. False: it cannot be mapped. EP
 * lock.
 */
bool soft_ep_open(struct soft_ep *ep, struct soft_peer *peer, const struct soft_far *far,
		  bool accepting);
/*
 * The end of an open connection, of that generation (0: whichever it is); no lock. True: this call
 * ended it (and, if `tell` is not 0, told the peer), and the caller says soft_ep_ended() once
 * libdatp has heard of it too: others that want to end it wait for that. False: it was not open
 * (only_failing: or nothing has failed); then it has been ended when this returns.
 */
bool soft_ep_end(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER tell, bool only_failing);
void soft_ep_ended(struct soft_ep *ep);
/* The same for a caller that has nothing to tell libdatp. Returns at once on the service thread. */
void soft_ep_end_unheard(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER tell);
/*
 * The same with libdatp's news: `why`, or that the accept came to nothing. No lock. On the service thread it returns
 * at once: if the peer is at our memory, the end comes when it has let go, or the bound is over; and if it is the peer
 * that has ended the connection, and its last messages are behind a cell that is held (held.h), when they are taken.
 */
bool soft_ep_end_and_tell(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER tell,
			  bool only_failing, DAT_EVENT_NUMBER why);
void soft_ep_await_end(struct soft_ep *ep);
/* A message to the peer of this connection. No lock. */
void soft_ep_tell(struct soft_ep *ep, const struct soft_msg *msg);
/* Gives up an establishment, if there is one: the peer is told. No lock. */
void soft_ep_cancel(struct soft_ep *ep);

/* Ends that come behind messages which cannot be taken yet; true: there are some left. Service thread. */
bool soft_ends_put_off_serve(struct soft_ia *ia);
/* An end that waits is over when this returns. Service thread. */
void soft_ending_hurry(struct soft_ep *ep);
/* Goes on with the ends that wait; true: there are some left. Service thread. */
bool soft_endings_serve(struct soft_ia *ia);

#endif
