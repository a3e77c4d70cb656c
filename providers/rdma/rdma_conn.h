/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates, hands over and destroys an rdma_cm_id. */
#ifndef RDMA_CONN_H
#define RDMA_CONN_H

#include "rdma.h"

/*
 * Creates the connection of an id that has no events yet. If it has an endpoint, the caller has
 * exclusive access until rdma_conn_made(). Returns NULL if there is no memory.
 */
struct rdma_conn *rdma_conn_new(struct rdma_ia *ia, struct rdma_ep *ep, struct rdma_cm_id *id);
void rdma_conn_made(struct rdma_conn *conn);
/*
 * Detaches the endpoint's connection, and returns it, or NULL if there is none. When this returns,
 * none of its events is being handled. Call rdma_conn_retire() next.
 */
struct rdma_conn *rdma_conn_detach(struct rdma_ep *ep);
/*
 * Releases a connection that is not needed any more: it is soon disconnected, if need be after it
 * is established, or destroyed.
 */
void rdma_conn_retire(struct rdma_conn *conn);
/* Called when a connection that has been retired is established. Service thread. */
void rdma_retired_established(struct rdma_conn *conn);
void rdma_conn_dead(struct rdma_conn *conn);
/* Has the service thread destroy an id that belongs to no connection any more. Returns false if there is no memory for this. */
bool rdma_id_drop(struct rdma_ia *ia, struct rdma_cm_id *id);
void rdma_conns_fini(struct rdma_ia *ia);
/*
 * Returns when no worker of a connection that its endpoint has given up is to connect this queue pair any more. Waits until such a
 * worker may be cancelled, and cancels it.
 */
void rdma_workers_of_qp_end(struct rdma_ia *ia, uint32_t qpn);
/* Cancels the worker of a connection that has been detached, unless rdma_connect() has returned. IA mutex. */
void rdma_worker_cancel_locked(struct rdma_conn *conn);
/*
 * Calls rdma_connect(), in a worker if it may block. Returns 0 or an errno; the service thread passes
 * the result of a worker to rdma_connect_result(). Service thread.
 */
int rdma_conn_connect(struct rdma_conn *conn);
/*
 * Returns the id's connection, marked as being handled. Sets `ep` to its endpoint, or to NULL if it
 * has been detached. Service thread.
 */
struct rdma_conn *rdma_conn_enter(struct rdma_ia *ia, struct rdma_cm_id *id, struct rdma_ep **ep);
void rdma_conn_leave(struct rdma_conn *conn);
struct rdma_channel *rdma_channel_new(void);
void rdma_channel_put(struct rdma_channel *channel);

#endif
