/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an adapter with strict=on punishes, though shared memory would not have to: what a program does that works on soft0 and
 * fails on RDMA hardware. Every function takes an endpoint of any adapter, and does nothing for one that is not strict.
 */
#ifndef SOFT_STRICT_H
#define SOFT_STRICT_H

#include "soft.h"

/* strict.c; of a strict adapter only */
enum datp_err soft_strict_check(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n);
void soft_strict_look_later(struct soft_ep *ep);

/* How long a message waits for its receive, in milliseconds; on hardware: the RNR timer multiplied by the number of retries. */
#define SOFT_STRICT_RNR_MS 1000

/*
 * Returns DATP_OK if this request can be posted. Otherwise DATP_ERR_CREDITS: requests with suppressed completions have filled the
 * queue, whose places hardware reuses when a later request has a completion; or DATP_ERR_PRIV_WRITE: the memory that an RDMA
 * Read goes to lacks the right to remote writes, which iWARP needs. EP lock.
 */
static inline enum datp_err soft_strict_post(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	return soft_ia(ep->base.obj.ia)->strict ? soft_strict_check(ep, wqe, iov, n) : DATP_OK;
}

/* Requests wait: the tick looks at them. EP lock. */
static inline void soft_strict_waits(struct soft_ep *ep)
{
	if (soft_ia(ep->base.obj.ia)->strict)
		soft_strict_look_later(ep);
}

/*
 * The next request of this side, a send, finds no receive. Returns true if it has found none for SOFT_STRICT_RNR_MS: then it
 * fails with DAT_DTO_ERR_RECEIVER_NOT_READY. EP lock, execution lock.
 */
bool soft_strict_not_ready(struct soft_ep *ep);

/* The tick: executes requests that wait. Returns true if some are left. */
bool soft_strict_serve(struct soft_ia *ia);

#endif
