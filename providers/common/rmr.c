/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows. Invariant: a bound RMR holds its LMR, from the bind that was posted to the one
 * that replaces it. A bind is an operation of an endpoint's request queue, posted like any other.
 */
#include "core.h"

#define PRIV_KNOWN ((unsigned int)DAT_MEM_PRIV_ALL_FLAG)

enum datp_err rmr_create(struct datp_pz *pz, struct datp_rmr **out)
{
	struct datp_ia *ia = pz->obj.ia;
	struct datp_obj *obj;
	struct datp_rmr *rmr;
	enum datp_err err;

	if (!obj_hold(ia, pz, DATP_PZ))
		return DATP_ERR_HANDLE_PZ;
	err = obj_alloc(ia, DATP_RMR, 0, ia->ops->rmr_size, &obj);
	if (err)
		goto drop_pz;
	rmr = (struct datp_rmr *)obj;
	rmr->pz = pz;
	err = ia->ops->rmr_create(rmr);
	if (err)
		goto release;
	err = obj_publish(rmr);
	if (err)
		goto free_transport;
	*out = rmr;
	return DATP_OK;

free_transport:
	ia->ops->rmr_free(rmr);
release:
	obj_release(rmr);
drop_pz:
	obj_drop(pz);
	return err;
}

/* Stores what a bind made; drops the LMR of the bind before it. */
static void binding_set(struct datp_rmr *rmr, struct datp_lmr *lmr, const struct datp_sge *where,
			DAT_MEM_PRIV_FLAGS priv, uint32_t context)
{
	struct ia_priv *ia = ia_priv(rmr->obj.ia);
	struct datp_lmr *old;

	datp_lock(&ia->lock);
	old = rmr->lmr;
	rmr->lmr = lmr;
	rmr->addr = where->addr;
	rmr->len = where->len;
	rmr->priv = priv;
	rmr->rmr_context = context;
	datp_unlock(&ia->lock);
	obj_drop(old);
}

/* What a bind to `lmr` must satisfy; an unbind (NULL) needs only the endpoint's PZ. */
static enum datp_err bind_check(const struct datp_rmr *rmr, const struct datp_lmr *lmr,
				const struct datp_ep *ep, const struct datp_sge *where,
				unsigned int priv)
{
	if (rmr->pz != ep->pz || (lmr && lmr->pz != rmr->pz))
		return DATP_ERR_PROTECTION;
	if (!lmr)
		return DATP_OK;
	if (!lmr_covers(lmr, where->addr, where->len))
		return DATP_ERR_ARG2;
	/* a window gives to others what we may do ourselves: that is what windows are for */
	if ((priv & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(lmr->priv & DAT_MEM_PRIV_READ_FLAG))
		return DATP_ERR_PRIV_RDMA_READ;
	if ((priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) && !(lmr->priv & DAT_MEM_PRIV_WRITE_FLAG))
		return DATP_ERR_PRIV_RDMA_WRITE;
	return DATP_OK;
}

/*
 * Posts a bind as datp_post() does the rest. EP lock held (not with DATP_TRAIT_HW_FLUSH). *bound
 * says whether the transport took it: in DISCONNECTED it is flushed, and nothing changes.
 */
static enum datp_err bind_post(struct datp_rmr *rmr, struct datp_lmr *lmr, struct datp_ep *ep,
			       const struct datp_sge *where, DAT_MEM_PRIV_FLAGS priv,
			       DAT_CONTEXT cookie, unsigned int flags, uint32_t *context,
			       bool *bound)
{
	struct datp_wqe *wqe = datp_wq_next(&ep->sq, ep, DATP_BIND, cookie, flags);
	enum datp_err err;

	if (wqe)
		wqe->rmr = rmr;
	/*
	 * relaxed: written under the lock we hold, or, with HW_FLUSH, the device flushes what came
	 * too late
	 */
	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != DAT_EP_STATE_CONNECTED)
		return datp_post_flushed(ep, wqe);
	err = bind_check(rmr, lmr, ep, where, (unsigned int)priv);
	if (err)
		return err;
	if (!wqe)
		return DATP_ERR_CREDITS;
	wqe->len = where->len;
	ep->sq.posted++;
	err = ep->obj.ia->ops->rmr_bind(ep, wqe, rmr, lmr, where->addr, where->len, priv, context);
	if (err)
		ep->sq.posted--;
	*bound = !err;
	return err;
}

static enum datp_err bind_args_check(struct datp_ep *ep, DAT_MEM_PRIV_FLAGS priv,
				     unsigned int flags)
{
	if ((unsigned int)priv & ~PRIV_KNOWN)
		return DATP_ERR_ARG3;
	if (!datp_post_flags_ok(ep, flags, DATP_BIND))
		return DATP_ERR_PARAM;
	if (ep->request_evd && !(ep->request_evd->flags & DAT_EVD_RMR_BIND_FLAG))
		return DATP_ERR_ARG4;
	return DATP_OK;
}

enum datp_err rmr_bind(struct datp_rmr *rmr, const struct datp_sge *where, DAT_MEM_PRIV_FLAGS priv,
		       DAT_EP_HANDLE ep_handle, DAT_CONTEXT cookie, unsigned int flags,
		       uint32_t *context)
{
	struct datp_ia *ia = rmr->obj.ia;
	bool locked = !(ia->ops->traits & DATP_TRAIT_HW_FLUSH);
	struct datp_ep *ep = obj_get(ia, ep_handle, DATP_EP);
	struct datp_lmr *lmr = NULL;
	bool bound = false;
	enum datp_err err;

	if (!ep)
		return DATP_ERR_HANDLE_EP;
	err = bind_args_check(ep, priv, flags);
	if (err)
		return err;
	if (where->len) {
		lmr = obj_hold(ia, ia->ops->lmr_find(ia, where->lmr_context), DATP_LMR);
		if (!lmr)
			return DATP_ERR_ARG2;
	}
	if (locked)
		datp_lock(&ep->lock);
	err = bind_post(rmr, lmr, ep, where, priv, cookie, flags, context, &bound);
	if (locked)
		datp_unlock(&ep->lock);
	if (bound)
		binding_set(rmr, lmr, where, priv, *context);
	else
		obj_drop(lmr);
	return err;
}

static enum datp_err rmr_end(struct datp_rmr *rmr)
{
	enum datp_err err = obj_retire(rmr, true, DATP_OK, DATP_ERR_HANDLE_RMR);

	if (err)
		return err;
	rmr->obj.ia->ops->rmr_free(rmr);
	obj_drop(rmr->lmr);
	obj_drop(rmr->pz);
	obj_release(rmr);
	return DATP_OK;
}

enum datp_err rmr_free(struct datp_rmr *rmr)
{
	return rmr_end(rmr);
}

void rmr_destroy(struct datp_rmr *rmr)
{
	rmr_end(rmr);
}
