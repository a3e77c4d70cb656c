/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints and their queue pairs. */
#ifndef RDMA_QP_H
#define RDMA_QP_H

#include "rdma.h"

/* Of how many reads of the device one of so many segments is made. */
static inline int rdma_read_pieces(int segments, int read_sge)
{
	return (segments + read_sge - 1) / read_sge;
}

/* Requests of a program that a queue pair holds beside our own. */
int32_t rdma_request_places(const struct rdma_ia *ia);
enum datp_err rdma_ep_fit(struct datp_ia *ia, struct datp_ep_attr *attr, const struct datp_ep_attr *asked);
enum datp_err rdma_ep_create(struct datp_ep *ep);
enum datp_err rdma_ep_modify(struct datp_ep *ep, const struct datp_ep *next);
enum datp_err rdma_ep_reset(struct datp_ep *ep);
void rdma_ep_free(struct datp_ep *ep);
enum datp_err rdma_ep_recv_query(struct datp_ep *ep, int32_t *allocated, int32_t *span);
/* There is a queue pair that has never been connected. */
enum datp_err rdma_qp_ensure(struct rdma_ep *ep);
/* To INIT, and the staged receives to the queue pair. errno-like; 0 is good. */
int rdma_qp_begin(struct rdma_ep *ep, struct rdma_cm_id *id);
int rdma_qp_begin_locked(struct rdma_ep *ep, struct rdma_cm_id *id);
/*
 * Plain operations may go straight to the queue pair from now on: receives once it is ready for them,
 * requests while the endpoint is CONNECTED. EP lock.
 */
void rdma_plain_begin_locked(struct rdma_ep *ep);
/* They may not any more. EP lock. */
void rdma_plain_requests_end_locked(struct rdma_ep *ep);
void rdma_plain_end_locked(struct rdma_ep *ep);
/* To RTR and RTS, with the numbers of reads in each direction. */
int rdma_qp_connect(struct rdma_ep *ep, struct rdma_cm_id *id, uint8_t reads_in, uint8_t reads_out);
/*
 * The attributes show how many reads have been agreed, until the endpoint is reset; but those of an
 * endpoint with an SRQ, which the standard wants to stay as they were asked for. EP lock.
 */
void rdma_qp_agreed_locked(struct rdma_ep *ep, int32_t reads_in, int32_t reads_out);
/* To ERR: nobody touches a posted buffer any more. */
void rdma_qp_stop(struct rdma_ep *ep);
/* Likewise, and its connection ends soon, as broken. Of a connected endpoint. EP lock. */
void rdma_qp_stop_locked(struct rdma_ep *ep);
/* A queue pair that has stopped has told of one more operation. EP lock. */
static inline void rdma_owed_back_locked(struct rdma_ep *ep, const void *about, bool recv)
{
	if (recv)
		ep->owed -= ep->owed != 0;
	else if (about == ep->owed_last)
		ep->owed_last = NULL;
}

/* The device says that a queue pair in error has taken its last receive of an SRQ. No lock held. */
void rdma_qp_took_last(struct rdma_ep *ep);
/* Whether the queue pair is in error. Maybe: its device does not say. Any lock. */
enum rdma_dead { RDMA_ALIVE, RDMA_DEAD, RDMA_MAYBE } rdma_qp_is_dead(const struct rdma_ep *ep);
/* The device says that it has found an error: takes the receive that tells of it. No lock held. */
void rdma_qp_failed(struct rdma_ep *ep);

#endif
