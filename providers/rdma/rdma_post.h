/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting, and what a work request's id says. */
#ifndef RDMA_POST_H
#define RDMA_POST_H

#include "rdma.h"

enum datp_err rdma_post_send(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);
enum datp_err rdma_post_recv(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);
enum datp_err rdma_post_rdma_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n,
				   const struct datp_rge *remote);
enum datp_err rdma_post_rdma_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote);
enum datp_err rdma_post_write_imm(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
				  const struct datp_rge *remote, uint32_t imm);
enum datp_err rdma_post_atomic(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *sink,
			       const struct datp_rge *remote, const struct datp_atomic *what);
enum datp_err rdma_srq_post_recv(struct datp_srq *srq, struct datp_wqe *wqe,
				 const struct datp_sge *iov, int n);
/*
 * Posts a request of length 0, with this `wr_id`, which completes after all requests before it. EP
 * lock.
 */
int rdma_post_marker(struct rdma_ep *ep, uint64_t wr_id, bool signaled);
/* Posts a request unchanged; a read that is too long for one request is split. EP lock. */
enum datp_err rdma_post_request(struct rdma_ep *ep, struct ibv_send_wr *wr);
/* Posts an RDMA Read of length 0, which the peer's device answers. EP lock. */
bool rdma_post_rtr_message(struct rdma_ep *ep);
/*
 * Converts what a post returned, if it is not 0, to an errno. Returns 0 if the device has accepted
 * the request all the same.
 */
int rdma_post_said(const struct rdma_ia *ia, int rc);
/*
 * Returns the error for a checked post that the driver has refused with that errno; DATP_OK if its
 * connection is over, because the post is flushed then. EP lock.
 */
enum datp_err rdma_post_error_locked(struct rdma_ep *ep, const struct datp_wq *wq, int err);

/* Ends a span: the next post of the fast path begins a new one. EP lock. */
static inline void rdma_span_end(struct rdma_span *span)
{
	span->stop = span->next;
}

/*
 * Called when libdatp has given a post a slot, which is the next one of the span if the span is not
 * used up. If the post fails, libdatp takes the slot back. EP lock.
 */
static inline enum datp_err rdma_span_follow(struct rdma_span *span, enum datp_err err)
{
	if (err)
		rdma_span_end(span);
	else if (span->next != span->stop)
		span->next++;
	return err;
}

/*
 * Handles a post of the fast path that the driver has refused: takes its slot back and returns the error, or, if
 * the connection is over, leaves it to be flushed. EP lock, which this releases.
 */
DAT_RETURN rdma_fast_refused_locked(struct datp_ep *ep, struct datp_wq *wq, int rc, bool biased);

/*
 * What the low bits of a work request's id say; the rest is an address. FOREIGN: a receive that was
 * posted when the endpoint had another PZ.
 */
enum {
	RDMA_ID_WQE = 0,
	RDMA_ID_DRAIN = 1,
	RDMA_ID_SRQ = 2,
	RDMA_ID_OURS = 3, /* a request of the provider itself, which nothing waits for */
	RDMA_ID_FOREIGN = 4,
	RDMA_ID_RTR_MESSAGE = 5,
	RDMA_ID_MASK = 7
};

#endif
