/* SPDX-License-Identifier: BSD-2-Clause */
/* Which connections the peer has shown to be established, before its RTU is read. */
#ifndef SOFT_ESTABLISHED_H
#define SOFT_ESTABLISHED_H

#include "soft.h"

/*
 * Reports the accepted connections with this peer that it has established by now. The peer's messages come over several sockets,
 * which are read in any order; so this is called before a report about something that the peer's program may have done because
 * of these connections. Service thread. No lock.
 */
void soft_established_look(struct soft_ia *ia, struct soft_peer *peer);
/* The same before the end of this endpoint's connection is reported, if it has one. */
void soft_established_look_before(struct soft_ep *ep);

/*
 * The peer has shown that it is connected. When this returns, that has been reported to libdatp.
 * The caller holds at most a poll lock.
 */
void soft_ep_established(struct soft_ep *ep, uint32_t gen);
/*
 * For an endpoint that is COMPLETION_PENDING: checks whether the active side has opened the
 * connection, and if so, reports it. No lock held.
 */
void soft_ep_look(struct soft_ep *ep);
/* The caller has counted in `establishing`, and the connection has been reported: ends that count. */
void soft_ep_reported(struct soft_ep *ep);
/* Waits until no thread is in the middle of reporting this connection. The caller holds at most a poll lock. */
void soft_ep_await_report(struct soft_ep *ep);

#endif
