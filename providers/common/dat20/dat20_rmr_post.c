/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The posts of DAT 2.0 that name an RMR: a send that invalidates one of the peer's, and an RDMA Read into one of this
 * side's. They go the way of the extensions' posts. An adapter whose transport does not have them refuses the whole call,
 * so that a program can find out by a call that changes nothing.
 */
#include "dat20.h"
#include "providers/common/core/extend.h"

DAT_RETURN dat20_post_ret(enum datp_err err, struct dat20_positions at)
{
	switch (err) {
	case DATP_ERR_BAD_COUNT:
		return dat20_arg(at.count);
	case DATP_ERR_BAD_SEGMENTS:
		return dat20_arg(at.segments);
	case DATP_ERR_BAD_TARGET:
		return dat20_arg(at.target);
	case DATP_ERR_BAD_FLAGS:
		return dat20_arg(at.flags);
	default:
		return dat20_ret(datp_ret(err));
	}
}

const struct datp_rge *dat20_remote(const DAT20_RMR_TRIPLET *from, struct datp_rge *to)
{
	if (!from)
		return NULL;
	*to = (struct datp_rge){ .rmr_context = from->rmr_context,
				 .addr = from->virtual_address,
				 .len = from->segment_length };
	return to;
}

/* Posts a send that invalidates, of which `post` has all but the segments. */
static DAT_RETURN send_invalidate(struct datp_ep *ep, struct ext_post *post, const DAT20_LMR_TRIPLET *iov)
{
	static const struct dat20_positions at = { .count = 2, .segments = 3, .flags = 5 };
	DAT_LMR_TRIPLET local[DAT20_IOV_MAX];
	uint64_t length = 0;

	if (post->n > DAT20_IOV_MAX)
		return dat20_arg(at.count);
	for (int i = 0; iov && i < post->n; i++) {
		local[i] = dat20_segment(&iov[i]);
		length += iov[i].segment_length;
	}
	/* no event could tell this length */
	if (length > UINT32_MAX)
		return dat20_error(DAT20_LENGTH_ERROR);
	/* the layouts are equal, which <datp/provider_post.h> asserts */
	post->iov = iov ? (const struct datp_sge *)local : NULL;
	return dat20_post_ret(ext_post(ep, post), at);
}

DAT_RETURN dat20_ep_post_send_with_invalidate(DAT_EP_HANDLE handle, DAT_COUNT n, DAT20_LMR_TRIPLET *iov,
					      DAT_DTO_COOKIE cookie, DAT20_COMPLETION_FLAGS flags,
					      DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	struct ext_post post = { .op = DATP_SEND_INVALIDATE,
				 .n = n,
				 .cookie = cookie,
				 .flags = (unsigned int)flags,
				 .rmr_context = context };
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	if (!ep)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_EP));
	if (!ia_priv(ep->obj.ia)->ext.send_invalidate)
		return dat20_error(DAT20_MODEL_NOT_SUPPORTED);
	if (!invalidate)
		return dat20_ep_post_send(handle, n, iov, cookie, flags);
	return context ? send_invalidate(ep, &post, iov) : dat20_arg(7);
}

DAT_RETURN dat20_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle, const DAT20_RMR_TRIPLET *sink, DAT_DTO_COOKIE cookie,
					  const DAT20_RMR_TRIPLET *target, DAT20_COMPLETION_FLAGS flags)
{
	static const struct dat20_positions at = { .count = 2, .segments = 2, .target = 4, .flags = 5 };
	struct ext_post post = { .op = DATP_READ_RMR, .n = 1, .cookie = cookie, .flags = (unsigned int)flags };
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);
	struct datp_rge remote, local;

	if (!ep)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_EP));
	if (!ia_priv(ep->obj.ia)->ext.read_rmr)
		return dat20_error(DAT20_MODEL_NOT_SUPPORTED);
	/* a local segment has the layout of a remote one, which <datp/provider_post.h> asserts */
	post.iov = (const struct datp_sge *)dat20_remote(sink, &local);
	post.remote = dat20_remote(target, &remote);
	return dat20_post_ret(ext_post(ep, &post), at);
}
