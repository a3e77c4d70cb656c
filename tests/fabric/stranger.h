/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A foreign peer of the tests ("stranger"): a process that uses rdma_cm and verbs without the providers, and does what they
 * never do. A child process of a test is the stranger; its parent has the adapter. Each function ends the test if it fails.
 */
#ifndef STRANGER_H
#define STRANGER_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#define STRANGER_PORT 7472 /* where raw_listen() and raw_accept() listen */

struct stranger {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned char mem[64];
	bool reads; /* its queue pair can read, though it asks the peer for no reads */
	struct rdma_conn_param told; /* the peer's parameters that came with the last event */
};

extern struct stranger raw;

/* Waits for the next event, which must be of this type. Returns its status and, if `id` is not NULL, stores its id there. */
int raw_event(enum rdma_cm_event_type type, struct rdma_cm_id **id);
/* Connects to the address that the parent sends, up to the peer's answer, and does not confirm the answer. */
void raw_connect(void);
/* Listens on port STRANGER_PORT of the address that the parent sends, and signals the parent. */
void raw_listen(void);
/* Listens, and accepts the first connection request. */
void raw_accept(void);
/* Posts a send of raw.mem, and does not wait for its completion. */
void raw_send(void);
/* Reads from the address and key that the parent sends into raw.mem. Returns the status of the completion. */
enum ibv_wc_status raw_read(void);

#endif
