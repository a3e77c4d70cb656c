/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints and their queue pairs. */
#ifndef RDMA_QP_H
#define RDMA_QP_H

#include "rdma.h"

/* Returns into how many RDMA Reads of the device a read of a program is divided that has this number of segments. */
static inline int rdma_read_pieces(int segments, int read_sge)
{
	return (segments + read_sge - 1) / read_sge;
}

enum datp_err rdma_ep_create(struct datp_ep *ep);
enum datp_err rdma_ep_modify(struct datp_ep *ep, const struct datp_ep *next);
enum datp_err rdma_ep_reset(struct datp_ep *ep);
void rdma_ep_free(struct datp_ep *ep);
enum datp_err rdma_ep_recv_query(struct datp_ep *ep, int32_t *allocated, int32_t *span);
/* Makes sure that the endpoint has a queue pair, on the CQs that newly connected endpoints use. No lock held. */
enum datp_err rdma_qp_ensure(struct rdma_ep *ep);
/* Moves the queue pair to INIT, and posts the staged receives to it. Returns 0, or the driver's error. */
int rdma_qp_begin(struct rdma_ep *ep, struct rdma_cm_id *id);
int rdma_qp_begin_locked(struct rdma_ep *ep, struct rdma_cm_id *id);
/*
 * Lets operations of the fast path go directly to the queue pair: receives once it is ready for them,
 * requests while the endpoint is CONNECTED. EP lock.
 */
void rdma_fast_begin_locked(struct rdma_ep *ep);
/* Ends that for requests, or for all operations. EP lock. */
void rdma_fast_requests_end_locked(struct rdma_ep *ep);
void rdma_fast_end_locked(struct rdma_ep *ep);
/* Moves the queue pair to RTR and RTS, with the numbers of reads in each direction. Returns 0, or an errno. */
int rdma_qp_connect(struct rdma_ep *ep, struct rdma_cm_id *id, uint8_t reads_in, uint8_t reads_out);
/*
 * Shows the negotiated numbers of reads in the attributes, until the endpoint is reset. Does nothing
 * for an endpoint with an SRQ, whose attributes must stay as the program set them by the standard.
 * Also notes whether the endpoint can read at all. EP lock.
 */
void rdma_qp_agreed_locked(struct rdma_ep *ep, int32_t reads_in, int32_t reads_out);
/* Moves the queue pair to ERR: when this returns, the device does not access posted buffers any more. */
void rdma_qp_stop(struct rdma_ep *ep);
/* The same for an endpoint without a connection, if its queue pair has been begun for one and has not been stopped. */
void rdma_qp_stop_if_begun(struct rdma_ep *ep);
/* Returns true if the queue pair has been stopped, so that the attempt or connection is over. No lock held. */
bool rdma_qp_is_over(struct rdma_ep *ep);
/* Does the same as rdma_qp_stop() for a connected endpoint; its connection is soon reported as broken. EP lock. */
void rdma_qp_stop_locked(struct rdma_ep *ep);
/* Called when a stopped queue pair has reported one more operation. EP lock. */
static inline void rdma_owed_back_locked(struct rdma_ep *ep, const void *about, bool recv)
{
	if (recv)
		ep->owed -= ep->owed != 0;
	else if (about == ep->owed_last)
		ep->owed_last = NULL;
}

/* Called when the device reports that a queue pair in error has taken its last receive of an SRQ. No lock held. */
void rdma_qp_took_last(struct rdma_ep *ep);
/* Returns whether the queue pair is in error; RDMA_MAYBE if the device does not tell. Any lock. */
enum rdma_dead { RDMA_ALIVE, RDMA_DEAD, RDMA_MAYBE } rdma_qp_is_dead(const struct rdma_ep *ep);
/* Called when the device reports an error: takes the completion that has the cause. No lock held. */
void rdma_qp_failed(struct rdma_ep *ep);

#endif
