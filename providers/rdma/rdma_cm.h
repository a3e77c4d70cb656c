/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management: the ops that libdatp calls, and the events of librdmacm. */
#ifndef RDMA_CM_H
#define RDMA_CM_H

#include "rdma.h"

enum datp_err rdma_sp_listen(struct datp_sp *sp);
void rdma_sp_close(struct datp_sp *sp);
enum datp_err rdma_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param);
enum datp_err rdma_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
			     uint32_t len);
void rdma_cr_reject(struct datp_cr *cr);
void rdma_cr_reject_with(struct datp_cr *cr, const void *pdata, uint32_t len);
void rdma_cr_free(struct datp_cr *cr);
enum datp_err rdma_cr_move(struct datp_cr *from, struct datp_cr *to);
/* Handles events of the channel. Service thread. */
void rdma_cm_event(void *arg, uint32_t events);
/*
 * Called when something of the peer has arrived over the queue pair. That establishes the connection if
 * the peer's RTU has not arrived yet. Service thread.
 */
void rdma_ep_heard(struct datp_ep *ep);
/* The same for an early receive, on any thread. EP lock. */
void rdma_ep_heard_locked(struct rdma_ep *ep);
/* Sends the request of the endpoint's attempt once more. Service thread. */
void rdma_ask(struct rdma_conn *conn, struct rdma_ep *ep);
/* Handles the result of an rdma_conn_connect(), also of one that a worker has called. Service thread. */
void rdma_connect_result(struct rdma_conn *conn, int err);

#endif
