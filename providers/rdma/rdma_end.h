/* SPDX-License-Identifier: BSD-2-Clause */
/* How a connection ends. */
#ifndef RDMA_END_H
#define RDMA_END_H

#include "rdma.h"

void rdma_ep_disconnect(struct datp_ep *ep, enum datp_close how);
/* A failed request: ends the connection soon. EP lock. */
void rdma_ep_break_locked(struct rdma_ep *ep);
/* The same for whatever other reason. Any lock. */
void rdma_ep_break(struct rdma_ep *ep);
/* The last request before a graceful end is complete. EP lock. */
void rdma_ep_drained_locked(struct rdma_ep *ep);
/* Ends the connection of an endpoint from the service thread. */
void rdma_ep_lost(struct rdma_ep *ep, DAT_EVENT_NUMBER why);

#endif
