/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management: what libdatp asks for, and what librdmacm tells. */
#ifndef RDMA_CM_H
#define RDMA_CM_H

#include "rdma.h"

enum datp_err rdma_sp_listen(struct datp_sp *sp);
void rdma_sp_close(struct datp_sp *sp);
enum datp_err rdma_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param);
enum datp_err rdma_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
			     uint32_t len);
void rdma_cr_reject(struct datp_cr *cr);
void rdma_cr_free(struct datp_cr *cr);
enum datp_err rdma_cr_move(struct datp_cr *from, struct datp_cr *to);
void rdma_ep_disconnect(struct datp_ep *ep, enum datp_close how);
/* Events of the channel. Service thread. */
void rdma_cm_event(void *arg, uint32_t events);
/* A failed request: ends the connection soon. EP lock. */
void rdma_ep_break_locked(struct rdma_ep *ep);
/* The same for whatever other reason. Any lock. */
void rdma_ep_break(struct rdma_ep *ep);
/* The last request before a graceful end is complete. EP lock. */
void rdma_ep_drained_locked(struct rdma_ep *ep);
/* A message has come before the confirmation: it will do for one. EP lock. */
void rdma_ep_heard_locked(struct rdma_ep *ep);
/* Ends the connection of an endpoint from the service thread. */
void rdma_ep_lost(struct rdma_ep *ep, DAT_EVENT_NUMBER why);
/* What rdma_conn_connect() has got on a thread of its own. Service thread. */
void rdma_connect_result(struct rdma_conn *conn, int err);

#endif
