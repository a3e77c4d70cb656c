/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path for programs of DAT 2.0, made of the functions of fast.h. It has a file of its own, because a compiler
 * that sees two callers of those functions inlines less of them, and the path for 1.2 would become longer.
 *
 * Invariant: an operation that is neither plain nor RDMA of one segment is left to libdatp before anything has been changed.
 * libdatp converts it for the functions for 1.2.
 */
#include "fast20.h"

static DAT_RETURN soft_fast20_send(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	struct datp_sge segment;

	if (datp_is_one20(n, iov)) {
		segment = datp_sge_of20(iov);
		if (soft_plain_send(ep, 1, (const DAT_LMR_TRIPLET *)&segment, cookie, (unsigned int)flags))
			return DAT_SUCCESS;
	}
	return datp_send20(ep, n, iov, cookie, flags);
}

static DAT_RETURN soft_fast20_recv(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	struct datp_sge segment;

	if (datp_is_one20(n, iov)) {
		segment = datp_sge_of20(iov);
		if (soft_plain_recv(ep, 1, (const DAT_LMR_TRIPLET *)&segment, cookie, (unsigned int)flags))
			return DAT_SUCCESS;
	}
	return datp_recv20(ep, n, iov, cookie, flags);
}

/* All that datp_post() calls here. */
static const struct datp_ops rdma_ops = { .post_rdma_read = soft_post_rdma_read, .post_rdma_write = soft_post_rdma_write };

/* RDMA of one segment. What is not plain is posted from here as well, because its segments have been converted. */
static inline __attribute__((always_inline)) DAT_RETURN
soft_rdma20(DAT_EP_HANDLE ep, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie, const struct datp_rge20 *target,
	    DAT_COMPLETION_FLAGS flags, enum datp_op op)
{
	struct datp_sge segment = datp_sge_of20(iov);
	struct datp_rge remote = datp_rge_of20(target);
	DAT_RETURN ret;

	if (soft_plain_rdma(ep, 1, (const DAT_LMR_TRIPLET *)&segment, cookie, (const DAT_RMR_TRIPLET *)&remote,
			    (unsigned int)flags, op))
		return DAT_SUCCESS;
	ret = datp_post(ep, 1, (const DAT_LMR_TRIPLET *)&segment, cookie, (const DAT_RMR_TRIPLET *)&remote, flags, op,
			&rdma_ops, soft_post_lock_established, soft_post_unlock);
	return ret == DAT_SUCCESS ? ret : datp_ret20(ret);
}

static DAT_RETURN soft_fast20_read(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				   const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags)
{
	if (!datp_is_one20(n, iov) || !target)
		return datp_read20(ep, n, iov, cookie, target, flags);
	return soft_rdma20(ep, iov, cookie, target, flags, DATP_RDMA_READ);
}

static DAT_RETURN soft_fast20_write(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				    const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags)
{
	if (!datp_is_one20(n, iov) || !target)
		return datp_write20(ep, n, iov, cookie, target, flags);
	return soft_rdma20(ep, iov, cookie, target, flags, DATP_RDMA_WRITE);
}

static inline DAT_RETURN rest_of_dequeue(DAT_EVD_HANDLE evd, void *event)
{
	return datp_dequeue20(evd, event);
}

static DAT_RETURN soft_fast20_dequeue(DAT_EVD_HANDLE evd, struct datp_event20 *event)
{
	return soft_plain_dequeue(evd, event, rest_of_dequeue, SOFT_API_20);
}

const struct datp_fast20 soft_fast20 = {
	.post_send = soft_fast20_send,
	.post_recv = soft_fast20_recv,
	.post_rdma_read = soft_fast20_read,
	.post_rdma_write = soft_fast20_write,
	.evd_dequeue = soft_fast20_dequeue,
};
