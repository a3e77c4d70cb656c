/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: from request to end. */
#ifndef SOFT_CONN_H
#define SOFT_CONN_H

#include "soft.h"

/* Ops. */
enum datp_err soft_sp_listen(struct datp_sp *sp);
void soft_sp_close(struct datp_sp *sp);
enum datp_err soft_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param);
enum datp_err soft_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
			     uint32_t len);
void soft_cr_reject(struct datp_cr *cr);
void soft_cr_free(struct datp_cr *cr);
enum datp_err soft_cr_move(struct datp_cr *from, struct datp_cr *to);
void soft_ep_disconnect(struct datp_ep *ep, enum datp_close how);

/* An operation failed: the connection is going to be BROKEN, soon. EP lock. */
void soft_ep_fail(struct soft_ep *ep);
/* The peer has written what cannot be into what we share; says so, and fails. EP lock. */
void soft_ep_spoiled(struct soft_ep *ep);
/* The peer, or its mover, does not answer within the bound; says so, and fails. EP lock. */
void soft_ep_unanswered(struct soft_ep *ep);
/*
 * The same of the connection `gen` with this peer, from which the right to touch our memory is taken first: after
 * this the peer begins no piece of a copy. soft_ia.lock held, and maybe other locks.
 */
void soft_ep_revoke_locked(struct soft_ep *ep, const struct soft_peer *peer, uint32_t gen);
/* A graceful disconnect has nothing left to wait for. EP lock. */
void soft_ep_drained(struct soft_ep *ep);
/*
 * The peer has shown that it is established; libdatp has been told when this returns. Poll lock at
 * most.
 */
void soft_ep_heard(struct soft_ep *ep, uint32_t gen);
/*
 * Of an endpoint that is COMPLETION_PENDING: whether the active side has opened the connection, and if so, says it. No
 * lock held.
 */
void soft_ep_look(struct soft_ep *ep);
/* Whatever it is doing, it is over: the endpoint is being freed. No lock. */
void soft_ep_abandon(struct soft_ep *ep);
/* Waits until no poll is looking at the endpoint. No lock. */
void soft_ep_unpoll(struct soft_ep *ep);

#endif
