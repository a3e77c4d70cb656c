/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts that only DAT 2.0 has: RDMA Writes with immediate data, atomic operations, sends that invalidate, and RDMA Reads
 * into an RMR. They are requests like any other, with the checks and states of datp_post(); only here they go through the
 * ops by an indirect call, under the transport's own way of taking the EP lock.
 */
#include <stddef.h>

#include "extend.h"

#include "ep.h"

enum { WORD = 8 }; /* the bytes that an atomic operation changes */

_Static_assert(sizeof(struct datp_sge) == sizeof(struct datp_rge) &&
		       offsetof(struct datp_sge, addr) == offsetof(struct datp_rge, addr) &&
		       offsetof(struct datp_sge, len) == offsetof(struct datp_rge, len),
	       "the sink of a read into an RMR is passed as a local segment");

static enum datp_err write_check(const struct datp_ep *ep, const struct ext_post *post, uint64_t *len)
{
	if (post->n < 0 || post->n > ep->attr.max_rdma_write_iov)
		return DATP_ERR_BAD_COUNT;
	if (post->n > 0 && !post->iov)
		return DATP_ERR_BAD_SEGMENTS;
	/* it may be solicited, as a send may, because it takes a receive */
	if (!datp_post_flags_ok(ep, post->flags, DATP_SEND))
		return DATP_ERR_BAD_FLAGS;
	if (!datp_iov_length(post->iov, post->n, len))
		return DATP_ERR_BAD_SEGMENTS;
	if (post->n > 0 && !post->remote)
		return DATP_ERR_BAD_TARGET;
	if (post->n > 0 && (*len > ep->attr.max_rdma_size || *len > post->remote->len))
		return DATP_ERR_LENGTH;
	return DATP_OK;
}

static enum datp_err atomic_check(const struct datp_ep *ep, const struct ext_post *post, uint64_t *len)
{
	*len = WORD;
	if (!post->iov)
		return DATP_ERR_BAD_SEGMENTS;
	if (!post->remote)
		return DATP_ERR_BAD_TARGET;
	if (!datp_post_flags_ok(ep, post->flags, DATP_RDMA_READ))
		return DATP_ERR_BAD_FLAGS;
	if (post->iov->len < WORD || post->remote->len < WORD)
		return DATP_ERR_LENGTH;
	return post->remote->addr % WORD ? DATP_ERR_BAD_TARGET : DATP_OK;
}

/* Checks as datp_post() does. The error for flags says that it is about them. */
static enum datp_err plain_check(const struct datp_ep *ep, const struct ext_post *post, enum datp_op op, uint64_t *len)
{
	enum datp_err err = datp_post_check(ep, post->iov, post->n, post->remote, post->flags, op, len);

	if (!err && op == DATP_RDMA_READ)
		*len = post->remote->len;
	return err == DATP_ERR_PARAM ? DATP_ERR_BAD_FLAGS : err;
}

static enum datp_err post_check(const struct datp_ep *ep, const struct ext_post *post, uint64_t *len)
{
	switch (post->op) {
	case DATP_WRITE_IMM:
		return write_check(ep, post, len);
	case DATP_SEND_INVALIDATE:
		return plain_check(ep, post, DATP_SEND, len);
	case DATP_READ_RMR:
		return plain_check(ep, post, DATP_RDMA_READ, len);
	default:
		return atomic_check(ep, post, len);
	}
}

/* Calls the op. EP lock held. */
static enum datp_err op_post(struct datp_ep *ep, struct datp_wqe *wqe, const struct ext_post *post)
{
	static const struct datp_rge nowhere;
	const struct datp_ops *ops = ep->obj.ia->ops;
	struct datp_sge sink;

	switch (post->op) {
	case DATP_WRITE_IMM:
		return ops->post_write_imm(ep, wqe, post->iov, post->n, post->n ? post->remote : &nowhere, post->imm);
	case DATP_SEND_INVALIDATE:
		return ops->post_send_invalidate(ep, wqe, post->iov, post->n, post->rmr_context);
	case DATP_READ_RMR:
		/* the two structs differ only in the names of the contexts */
		return ops->post_read_rmr(ep, wqe, (const struct datp_rge *)post->iov, post->remote);
	default:
		sink = *post->iov;
		sink.len = WORD;
		return ops->post_atomic(ep, wqe, &sink, post->remote, &post->atomic);
	}
}

/* Posts once. EP lock held. */
static enum datp_err post_locked(struct datp_ep *ep, const struct ext_post *post, uint64_t len, int state)
{
	struct datp_wqe *wqe = datp_wq_next(&ep->sq, ep, (enum datp_op)post->op, post->cookie, post->flags);
	enum datp_err err;

	if (state != DAT_EP_STATE_CONNECTED)
		return datp_post_flushed(ep, wqe);
	if (!wqe)
		return DATP_ERR_CREDITS;
	wqe->len = len;
	ep->sq.posted++;
	err = op_post(ep, wqe, post);
	if (err)
		ep->sq.posted--;
	return err;
}

enum datp_err ext_post(struct datp_ep *ep, const struct ext_post *post)
{
	const struct datp_ops *ops = ep->obj.ia->ops;
	enum datp_err err;
	uint64_t len = 0;
	bool biased;
	int state;

	err = post_check(ep, post, &len);
	if (err)
		return err;
	do {
		biased = ops->post_lock(ep);
		state = ep_state(ep);
		err = post_locked(ep, post, len, state);
		ops->post_unlock(ep, DATP_RDMA_WRITE, biased);
		if (err == DATP_ERR_CREDITS || (err && state == DAT_EP_STATE_COMPLETION_PENDING))
			datp_post_full(ep);
		/* as in datp_post(): the program may know of the connection by data of its peer, before ESTABLISHED is queued */
	} while (err && state == DAT_EP_STATE_COMPLETION_PENDING && ep_state(ep) == DAT_EP_STATE_CONNECTED);
	return err;
}

DATP_API uint64_t datp_recv_immediate(struct datp_wqe *wqe, uint32_t imm, uint64_t len)
{
	if (!ia_priv(wqe->ep->obj.ia)->plugin->edge->has_extensions)
		return 0;
	wqe->post_flags |= DATP_WQE_IMMEDIATE;
	wqe->imm = imm;
	return len;
}
