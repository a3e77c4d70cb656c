/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The posts of DAT 2.0: segments of 16 bytes become those of 1.2 on the stack, and the plugin's own
 * functions post them.
 */
#include "dat20.h"

typedef DAT_RETURN (*transfer)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*rdma)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *,
			   DAT_COMPLETION_FLAGS);

/*
 * Converts the segments. A list that is NULL and a negative number are passed on, because the slot
 * beneath refuses them.
 */
static DAT_LMR_TRIPLET *segments(DAT_LMR_TRIPLET to[DAT20_IOV_MAX], const DAT20_LMR_TRIPLET *from, DAT_COUNT n)
{
	if (!from)
		return NULL;
	for (DAT_COUNT i = 0; i < n; i++)
		to[i] = dat20_segment(&from[i]);
	return to;
}

static DAT_RMR_TRIPLET target_of(const DAT20_RMR_TRIPLET *from)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = from->rmr_context,
				  .target_address = from->virtual_address,
				  .segment_length = from->segment_length };
}

/* A list of one segment has a path of its own, because the array for all others makes a function longer. */
static __attribute__((noinline)) DAT_RETURN post_list(transfer slot, DAT_EP_HANDLE ep, DAT_COUNT n,
						      const DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
						      DAT20_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET local[DAT20_IOV_MAX];

	if (n > DAT20_IOV_MAX)
		return dat20_arg(2);
	return dat20_ret(slot(ep, n, segments(local, iov, n), cookie, (DAT_COMPLETION_FLAGS)flags));
}

static inline DAT_RETURN post(transfer slot, DAT_EP_HANDLE ep, DAT_COUNT n, const DAT20_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT20_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET one;

	if (n != 1 || !iov)
		return post_list(slot, ep, n, iov, cookie, flags);
	one = dat20_segment(iov);
	return dat20_ret(slot(ep, 1, &one, cookie, (DAT_COMPLETION_FLAGS)flags));
}

static __attribute__((noinline)) DAT_RETURN post_rdma_list(rdma slot, DAT_EP_HANDLE ep, DAT_COUNT n,
							   const DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
							   const DAT20_RMR_TRIPLET *target,
							   DAT20_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET local[DAT20_IOV_MAX];
	DAT_RMR_TRIPLET remote;

	if (n > DAT20_IOV_MAX)
		return dat20_arg(2);
	if (target)
		remote = target_of(target);
	return dat20_ret(slot(ep, n, segments(local, iov, n), cookie, target ? &remote : NULL,
			      (DAT_COMPLETION_FLAGS)flags));
}

static inline DAT_RETURN post_rdma(rdma slot, DAT_EP_HANDLE ep, DAT_COUNT n, const DAT20_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT20_RMR_TRIPLET *target,
				   DAT20_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET one;
	DAT_RMR_TRIPLET remote;

	if (n != 1 || !iov || !target)
		return post_rdma_list(slot, ep, n, iov, cookie, target, flags);
	one = dat20_segment(iov);
	remote = target_of(target);
	return dat20_ret(slot(ep, 1, &one, cookie, &remote, (DAT_COMPLETION_FLAGS)flags));
}

/* Converts the value of a refused message: if no event could tell its length, the length is the reason. */
static DAT_RETURN refused_message(DAT_RETURN value, const DAT20_LMR_TRIPLET *iov, DAT_COUNT n)
{
	uint64_t length = 0;

	for (DAT_COUNT i = 0; value == dat20_arg(3) && iov && i < n; i++)
		length += iov[i].segment_length;
	return length > UINT32_MAX ? dat20_error(DAT20_LENGTH_ERROR) : value;
}

DAT_RETURN dat20_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			      DAT20_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret = post(dat20_beneath(ep)->ep_post_send_func, ep, n, iov, cookie, flags);

	return __builtin_expect(ret != DAT_SUCCESS, 0) ? refused_message(ret, iov, n) : ret;
}

DAT_RETURN dat20_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			      DAT20_COMPLETION_FLAGS flags)
{
	return post(dat20_beneath(ep)->ep_post_recv_func, ep, n, iov, cookie, flags);
}

DAT_RETURN dat20_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT20_RMR_TRIPLET *target, DAT20_COMPLETION_FLAGS flags)
{
	return post_rdma(dat20_beneath(ep)->ep_post_rdma_read_func, ep, n, iov, cookie, target, flags);
}

DAT_RETURN dat20_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT20_RMR_TRIPLET *target, DAT20_COMPLETION_FLAGS flags)
{
	return post_rdma(dat20_beneath(ep)->ep_post_rdma_write_func, ep, n, iov, cookie, target, flags);
}

DAT_RETURN dat20_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	DAT_LMR_TRIPLET local[DAT20_IOV_MAX];

	if (n > DAT20_IOV_MAX)
		return dat20_arg(2);
	return dat20_ret(dat20_beneath(srq)->srq_post_recv_func(srq, n, segments(local, iov, n), cookie));
}
