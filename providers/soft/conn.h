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
void soft_cr_reject_with(struct datp_cr *cr, const void *pdata, uint32_t len);
void soft_cr_free(struct datp_cr *cr);
enum datp_err soft_cr_move(struct datp_cr *from, struct datp_cr *to);
void soft_ep_disconnect(struct datp_ep *ep, enum datp_close how);

/* An operation has failed: the connection will be reported as BROKEN soon. EP lock. */
void soft_ep_fail(struct soft_ep *ep);
/* The peer has corrupted the memory that is shared with it: logs that, and fails the connection. EP lock. */
void soft_ep_corrupted(struct soft_ep *ep);
/* The peer or its bounce thread does not answer within the bound: logs that, and fails the connection. EP lock. */
void soft_ep_unanswered(struct soft_ep *ep);
/*
 * Fails the connection `gen` with this peer, after taking away the peer's right to touch our
 * memory: from then on the peer begins no piece of a copy. Does nothing if that was done before, or if
 * the connection has ended. soft_ia.lock held, and maybe other locks.
 */
void soft_ep_revoke_locked(struct soft_ep *ep, const struct soft_peer *peer, uint32_t gen);
/* Makes the calls again that the service thread owes (enum soft_owed). soft_ia.lock held. */
void soft_ep_calls_again_locked(struct soft_ep *ep, uint32_t owed);
/* A graceful disconnect has nothing left to wait for. EP lock. */
void soft_ep_drained(struct soft_ep *ep);
/* The endpoint is being freed: ends whatever it is doing. No lock. */
void soft_ep_abandon(struct soft_ep *ep);
/* Waits until no poll uses the endpoint. No lock. */
void soft_ep_unpoll(struct soft_ep *ep);

#endif
