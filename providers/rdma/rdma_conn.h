/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of an rdma_cm_id. */
#ifndef RDMA_CONN_H
#define RDMA_CONN_H

#include "rdma.h"

/* Of an id that has no events yet. With an endpoint, the caller has it to itself until rdma_conn_made(). */
struct rdma_conn *rdma_conn_new(struct rdma_ia *ia, struct rdma_ep *ep, struct rdma_cm_id *id);
void rdma_conn_made(struct rdma_conn *conn);
/*
 * Takes it away from its endpoint, if there is one: none of its events is being handled any more. Then
 * rdma_conn_retire().
 */
struct rdma_conn *rdma_conn_detach(struct rdma_ep *ep);
/* It is not needed any more: disconnect it, once it is established if that is to come, or destroy it, soon. */
void rdma_conn_retire(struct rdma_conn *conn);
/* One that nobody has any more is established now. Service thread. */
void rdma_conn_confirmed(struct rdma_conn *conn);
void rdma_conn_dead(struct rdma_conn *conn);
/* An id that belongs to no connection. */
void rdma_id_drop(struct rdma_ia *ia, struct rdma_cm_id *id);
void rdma_conns_fini(struct rdma_ia *ia);
/*
 * rdma_connect, on a thread of its own where it may block. Returns an errno; with a thread,
 * rdma_connect_result() gets it on the service thread. Service thread.
 */
int rdma_conn_connect(struct rdma_conn *conn);
/* The id's connection, marked as being handled; `ep`: whose it is, NULL: nobody's any more. Service thread. */
struct rdma_conn *rdma_conn_enter(struct rdma_ia *ia, struct rdma_cm_id *id, struct rdma_ep **ep);
void rdma_conn_leave(struct rdma_conn *conn);
struct rdma_channel *rdma_channel_new(void);
void rdma_channel_put(struct rdma_channel *channel);

#endif
