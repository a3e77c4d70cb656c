/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues, seen from inside libdatp.
 */
#ifndef SRQ_H
#define SRQ_H

#include <datp/bias.h>

#include "core.h"

struct srq_store {
	struct srq_store *next;
	uint32_t count;
	struct datp_wqe wqes[];
};

struct srq_priv {
	struct datp_bias bias;		/* of the SRQ lock; needs DATP_TRAIT_SRQ_BIASED */
	struct srq_store *stores;	/* SRQ lock */
	uint32_t elements;		/* in all stores (SRQ lock) */
	uint32_t posts;			/* all posts so far (SRQ lock) */
	/*
	 * Reaped and not yet on the free list: a stack that any thread pushes to, without a lock.
	 */
	_Atomic(struct datp_wqe *) returned;
};

static inline struct srq_priv *srq_priv(struct datp_srq *srq)
{
	return OBJ_PRIV(struct srq_priv, srq);
}

struct srq_counts {
	int32_t available, outstanding;	/* -1: not known */
};

enum datp_err srq_create(struct datp_ia *ia, DAT_PZ_HANDLE pz, int32_t max_recv_dtos,
			 int32_t max_recv_iov, int32_t low_watermark, struct datp_srq **out);
enum datp_err srq_free(struct datp_srq *srq);
enum datp_err srq_post_recv(struct datp_srq *srq, const struct datp_sge *iov, int n,
			    DAT_CONTEXT cookie);
enum datp_err srq_resize(struct datp_srq *srq, int32_t max_recv_dtos);
enum datp_err srq_set_lw(struct datp_srq *srq, int32_t low_watermark);
enum datp_err srq_count(struct datp_srq *srq, struct srq_counts *counts);

/*
 * Completes as flushed the receives that an endpoint has taken and not finished. EP lock held,
 * takes the SRQ lock.
 */
void srq_flush_ep(struct datp_srq *srq, struct datp_ep *ep);
/*
 * Returns a receive that the endpoint took and that failed, and that is not free yet, or NULL. EP
 * lock held.
 */
const struct datp_wqe *srq_failed(struct datp_srq *srq, const struct datp_ep *ep);
/*
 * Takes back the receives that an endpoint has taken, finished or not; their events have been
 * removed from the lists. EP lock held.
 */
void srq_forget_ep(struct datp_srq *srq, struct datp_ep *ep);
/* Returns true if the endpoint has taken a receive that is not finished. */
bool srq_busy_with(struct datp_srq *srq, struct datp_ep *ep);

#endif
