/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks of an adapter with strict=on: it lets fail what works in shared memory and fails on RDMA hardware. Every
 * function takes an endpoint of any adapter, and does nothing for one that is not strict.
 */
#ifndef SOFT_STRICT_H
#define SOFT_STRICT_H

#include "soft.h"

/* in strict.c; only called for a strict adapter */
enum datp_err soft_strict_check(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n);
void soft_strict_look_later(struct soft_ep *ep);

/*
 * Returns DATP_OK if this request can be posted. Otherwise DATP_ERR_CREDITS: requests with suppressed completions have filled the
 * queue, whose entries hardware reuses when a later request has a completion; or DATP_ERR_PRIV_WRITE: the memory that an RDMA
 * Read goes to lacks the right to remote writes, which iWARP needs. EP lock.
 */
static inline enum datp_err soft_strict_post(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	return soft_ia(ep->base.obj.ia)->strict ? soft_strict_check(ep, wqe, iov, n) : DATP_OK;
}

/* Called when requests of this side wait for a receive: the service thread will check them. EP lock. */
static inline void soft_strict_waits(struct soft_ep *ep)
{
	if (soft_ia(ep->base.obj.ia)->strict)
		soft_strict_look_later(ep);
}

/*
 * The next request of this side, a send at position `seq`, finds no receive. Returns true if it has found none for SOFT_UNREADY_MS
 * (unready.h): then it fails with DAT_DTO_ERR_RECEIVER_NOT_READY. EP lock, execution lock.
 */
bool soft_strict_not_ready(struct soft_ep *ep, uint32_t seq);

/* The look of unready.c: executes requests of this side that wait. Returns true if some are left. EP lock. */
bool soft_strict_look(struct soft_ep *ep);

#endif
