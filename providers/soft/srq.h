/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#ifndef SOFT_SRQ_H
#define SOFT_SRQ_H

#include "soft.h"

/*
 * Takes the oldest buffer for this endpoint, or notes that it waits for one and returns NULL. The
 * list stays valid until the next take. EP lock; takes the SRQ lock.
 */
struct datp_wqe *soft_srq_take(struct soft_ep *ep, const struct datp_sge **sge, int *count,
			       uint32_t *pz);
void soft_srq_forget(struct soft_ep *ep); /* the endpoint waits no longer; EP lock */

enum datp_err soft_srq_create(struct datp_srq *srq);
enum datp_err soft_srq_resize(struct datp_srq *srq, int32_t max_recv_dtos);
void soft_srq_free(struct datp_srq *srq);
enum datp_err soft_srq_post_recv(struct datp_srq *srq, struct datp_wqe *wqe,
				 const struct datp_sge *iov, int n);
enum datp_err soft_srq_query(struct datp_srq *srq, int32_t *available);
enum datp_err soft_srq_set_lw(struct datp_srq *srq, int32_t low_watermark);
enum datp_err soft_ep_recv_query(struct datp_ep *ep, int32_t *allocated, int32_t *span);
enum datp_err soft_ep_set_watermark(struct datp_ep *ep, int32_t soft, int32_t hard);

#endif
