/* SPDX-License-Identifier: BSD-2-Clause */
/* The teardown of a connection. */
#ifndef RDMA_END_H
#define RDMA_END_H

#include "rdma.h"

void rdma_ep_disconnect(struct datp_ep *ep, enum datp_close how);
/* Has the service thread end the connection after a request has failed. EP lock. */
void rdma_ep_break_locked(struct rdma_ep *ep);
/* The same for any other reason. May be called with any lock held. */
void rdma_ep_break(struct rdma_ep *ep);
/* Called when the last request before a graceful disconnect is complete. EP lock. */
void rdma_ep_drained_locked(struct rdma_ep *ep);
/*
 * Ends the connection of an endpoint from the service thread. Over InfiniBand and RoCE, completions that are in the CQs by then are
 * reported with their own errors, not as flushed.
 */
void rdma_ep_lost(struct rdma_ep *ep, DAT_EVENT_NUMBER why);
/* The peer has ended this connection of the endpoint. Called while the connection's event is handled. Service thread. */
void rdma_ep_disconnected(struct rdma_ep *ep, struct rdma_conn *conn);
/* As datp_cm_failed() and datp_cm_rejected(), after the queue pair has stopped. Service thread. */
void rdma_ep_failed(struct rdma_ep *ep, DAT_EVENT_NUMBER why);
void rdma_ep_rejected(struct rdma_ep *ep, const void *pdata, uint32_t pdata_len);

#endif
