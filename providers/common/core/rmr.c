/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows. A bind is an operation of an endpoint's request queue, posted like any other.
 * Invariant: an RMR is bound as the last successful bind says, unless the peer has invalidated that since, and holds
 * references to the LMR of that bind and to those of all binds that have not completed.
 */
#include <stdlib.h>

#include "ep.h"
#include "providers/common/base/sdk.h"

#define PRIV_KNOWN ((unsigned int)DAT_MEM_PRIV_ALL_FLAG)

/* ------------------------------------------------------------------ what it is bound to */

/*
 * A bind that has not completed, which holds its LMR; or a spare record, in which only `next` is
 * used.
 */
struct binding {
	struct binding *next;
	const struct datp_wqe *wqe;
	struct datp_lmr *lmr; /* NULL for an unbind */
	uint64_t addr, len;
	DAT_MEM_PRIV_FLAGS priv;
	uint32_t context; /* given by the transport */
	bool posting;	  /* the call that posts it frees it */
	bool invalidated; /* a peer has ended it already, before it is known to have completed */
	uint32_t number;  /* counts the binds of the RMR */
};

/* The private part of an RMR. It and its bindings: rmr_lock(). */
struct rmr_priv {
	struct binding *first; /* those that have not completed */
	bool ending;	       /* the RMR is being freed: binds that complete now are not passed to rmr_done */
	uint32_t begun, bound; /* the numbers of the last bind that was begun, and of the last that has completed successfully */
	/*
	 * The context and the number of the last bind that has been executed, and had ended when it completed: by a later bind
	 * that is still to complete, or by the peer, who has invalidated it. The message that says so is still to come.
	 */
	uint32_t ended, ended_number;
};

static size_t rmr_hash(const struct datp_rmr *rmr)
{
	return (uintptr_t)rmr / 64 % RMR_LOCKS;
}

static _Atomic uint32_t *rmr_lock(const struct datp_rmr *rmr)
{
	return &ia_priv(rmr->obj.ia)->rmr_locks[rmr_hash(rmr)];
}

static struct rmr_priv *rmr_priv(struct datp_rmr *rmr)
{
	return OBJ_PRIV(struct rmr_priv, rmr);
}

/*
 * Returns a record for a bind to `rmr`: a spare one, or if all are in use a new one. Returns NULL
 * if there is no memory.
 */
static struct binding *record_get(const struct datp_rmr *rmr)
{
	struct binding **spare = &ia_priv(rmr->obj.ia)->rmr_spares[rmr_hash(rmr)], *b;

	datp_lock(rmr_lock(rmr));
	b = *spare;
	if (b)
		*spare = b->next;
	datp_unlock(rmr_lock(rmr));
	return b ? b : malloc(sizeof(*b));
}

/*
 * The record does not go back to the RMR, which may have been freed while the call that posted the
 * bind was still running.
 */
static void record_put_locked(const struct datp_rmr *rmr, struct binding *b)
{
	struct binding **spare = &ia_priv(rmr->obj.ia)->rmr_spares[rmr_hash(rmr)];

	b->next = *spare;
	*spare = b;
}

void rmr_spares_free(struct datp_ia *ia)
{
	for (int i = 0; i < RMR_LOCKS; i++) {
		struct binding **spare = &ia_priv(ia)->rmr_spares[i];

		while (*spare) {
			struct binding *b = *spare;

			*spare = b->next;
			free(b);
		}
	}
}

/* The bind has completed. Returns the LMR that it holds. */
static struct datp_lmr *binding_take_locked(const struct datp_rmr *rmr, struct binding **at)
{
	struct binding *b = *at;
	struct datp_lmr *lmr = b->lmr;

	*at = b->next;
	b->wqe = NULL;
	b->lmr = NULL;
	if (!b->posting)
		record_put_locked(rmr, b);
	return lmr;
}

static enum datp_err binding_new(const struct datp_rmr *rmr, const struct datp_sge *where,
				 DAT_MEM_PRIV_FLAGS priv, struct binding **out)
{
	struct datp_ia *ia = rmr->obj.ia;
	struct binding *b = record_get(rmr);

	if (!b)
		return DATP_ERR_MEMORY;
	*b = (struct binding){ .addr = where->addr, .len = where->len, .priv = priv, .posting = true };
	if (b->len) {
		b->lmr = obj_hold(ia, ia->ops->lmr_find(ia, where->lmr_context), DATP_LMR);
		if (!b->lmr) {
			datp_lock(rmr_lock(rmr));
			record_put_locked(rmr, b);
			datp_unlock(rmr_lock(rmr));
			return DATP_ERR_BAD_SEGMENTS;
		}
	}
	*out = b;
	return DATP_OK;
}

/* Called before the transport has the bind, because the transport may complete it at once. */
static void binding_begin(struct datp_rmr *rmr, struct binding *b, const struct datp_wqe *wqe)
{
	datp_lock(rmr_lock(rmr));
	b->wqe = wqe;
	b->number = ++rmr_priv(rmr)->begun;
	b->next = rmr_priv(rmr)->first;
	rmr_priv(rmr)->first = b;
	datp_unlock(rmr_lock(rmr));
}

/* The transport has not accepted the bind. */
static void binding_cancel(struct datp_rmr *rmr, const struct binding *b)
{
	struct binding **at;

	datp_lock(rmr_lock(rmr));
	for (at = &rmr_priv(rmr)->first; *at && *at != b;)
		at = &(*at)->next;
	if (*at)
		obj_drop(binding_take_locked(rmr, at));
	datp_unlock(rmr_lock(rmr));
}

/* The call that posts the bind has ended. */
static void binding_posted(struct datp_rmr *rmr, struct binding *b)
{
	datp_lock(rmr_lock(rmr));
	b->posting = false;
	if (!b->wqe) {
		obj_drop(b->lmr);
		record_put_locked(rmr, b);
	}
	datp_unlock(rmr_lock(rmr));
}

/*
 * Sets the RMR to the binding `b`, and takes over its reference to the LMR. Returns the LMR that
 * the RMR was bound to.
 */
static struct datp_lmr *bound_set_locked(struct datp_rmr *rmr, const struct binding *b)
{
	struct datp_lmr *old = rmr->lmr;

	rmr->lmr = b->lmr;
	rmr->addr = b->addr;
	rmr->len = b->len;
	rmr->priv = b->priv;
	rmr->rmr_context = b->context;
	rmr_priv(rmr)->bound = b->number;
	return old;
}

/* The RMR is bound to nothing. */
static void bound_end_locked(struct datp_rmr *rmr)
{
	obj_drop(rmr->lmr);
	rmr->lmr = NULL;
	rmr->addr = rmr->len = 0;
	rmr->priv = DAT_MEM_PRIV_NONE_FLAG;
	rmr->rmr_context = 0;
}

/* Returns true if no bind that was begun after this one has completed as what the RMR is bound by. */
static bool is_latest_locked(struct datp_rmr *rmr, uint32_t number)
{
	return (int32_t)(number - rmr_priv(rmr)->bound) > 0;
}

/*
 * A bind has completed. If the peer has invalidated it meanwhile, the RMR is bound to nothing, unless a later bind has
 * completed before.
 */
static void binding_done_locked(struct datp_rmr *rmr, struct binding *b, bool good)
{
	bool bound = rmr->obj.ia->ops->rmr_done(rmr, b->context, b->len, good);

	if (good && b->invalidated) {
		if (is_latest_locked(rmr, b->number))
			bound_end_locked(rmr);
	} else if (bound) {
		b->lmr = bound_set_locked(rmr, b);
	} else if (good && b->len) {
		rmr_priv(rmr)->ended = b->context;
		rmr_priv(rmr)->ended_number = b->number;
	}
}

DATP_API void datp_bind_done(struct datp_wqe *wqe, uint8_t status)
{
	struct datp_rmr *rmr = wqe->rmr;
	struct rmr_priv *priv = rmr_priv(rmr);
	struct binding **at, *b;

	datp_lock(rmr_lock(rmr));
	for (at = &priv->first; *at && (*at)->wqe != wqe;)
		at = &(*at)->next;
	b = *at;
	/*
	 * there is none if its RMR has been freed, or if it was posted after the connection had
	 * ended
	 */
	if (b && !priv->ending) {
		binding_done_locked(rmr, b, status == DAT_DTO_SUCCESS);
		obj_drop(binding_take_locked(rmr, at));
	}
	datp_unlock(rmr_lock(rmr));
}

/*
 * The RMR may be free by now, or another one. If it is live when its lock is held, rmr_end() waits for the lock before it
 * frees it.
 */
static void rmr_invalidate(struct datp_ia *ia, struct datp_rmr *rmr, uint32_t context)
{
	_Atomic uint32_t *lock = &ia_priv(ia)->rmr_locks[rmr_hash(rmr)];

	datp_lock(lock);
	if (obj_get(ia, rmr, DATP_RMR)) {
		const struct rmr_priv *priv = rmr_priv(rmr);

		for (struct binding *b = priv->first; b; b = b->next)
			b->invalidated |= b->len && b->context == context;
		/* what the RMR was bound to before that bind is over as well */
		if (rmr->lmr && (rmr->rmr_context == context ||
				 (priv->ended == context && is_latest_locked(rmr, priv->ended_number))))
			bound_end_locked(rmr);
	}
	datp_unlock(lock);
}

DATP_API void datp_recv_invalidate(struct datp_wqe *wqe, struct datp_rmr *rmr, uint32_t context)
{
	struct datp_ia *ia = wqe->ep->obj.ia;

	if (rmr)
		rmr_invalidate(ia, rmr, context);
	if (!ia_priv(ia)->plugin->edge->has_extensions)
		return;
	wqe->post_flags |= DATP_WQE_IMMEDIATE | DATP_WQE_INVALIDATED;
	wqe->rmr_context = context;
}

bool rmr_bound(struct datp_rmr *rmr, struct datp_sge *where, DAT_MEM_PRIV_FLAGS *priv,
	       uint32_t *context)
{
	bool bound;

	datp_lock(rmr_lock(rmr));
	bound = rmr->lmr != NULL;
	if (bound) {
		*where = (struct datp_sge){ .lmr_context = rmr->lmr->lmr_context,
					    .addr = rmr->addr,
					    .len = rmr->len };
		*priv = rmr->priv;
		*context = rmr->rmr_context;
	}
	datp_unlock(rmr_lock(rmr));
	return bound;
}

/* Drops the LMRs that an RMR holds; the transport has freed its part. */
static void rmr_unbind(struct datp_rmr *rmr)
{
	datp_lock(rmr_lock(rmr));
	while (rmr_priv(rmr)->first)
		obj_drop(binding_take_locked(rmr, &rmr_priv(rmr)->first));
	obj_drop(rmr->lmr);
	rmr->lmr = NULL;
	datp_unlock(rmr_lock(rmr));
}

/* ------------------------------------------------------------------ creation and end */

enum datp_err rmr_create(struct datp_pz *pz, struct datp_rmr **out)
{
	struct datp_ia *ia = pz->obj.ia;
	struct datp_obj *obj;
	struct datp_rmr *rmr;
	enum datp_err err;

	if (!obj_hold(ia, pz, DATP_PZ))
		return DATP_ERR_HANDLE_PZ;
	err = obj_alloc(ia, DATP_RMR, sizeof(struct rmr_priv), ia->ops->rmr_size, &obj);
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

/* ------------------------------------------------------------------ binding */

/* Checks the arguments of a bind to `lmr`; an unbind (NULL) only needs the endpoint's PZ. */
static enum datp_err bind_check(const struct datp_rmr *rmr, const struct datp_lmr *lmr,
				const struct datp_ep *ep, const struct datp_sge *where,
				unsigned int priv)
{
	if (rmr->pz != ep->pz || (lmr && lmr->pz != rmr->pz))
		return DATP_ERR_PROTECTION;
	if (!lmr)
		return DATP_OK;
	if (!lmr_covers(lmr, where->addr, where->len))
		return DATP_ERR_BAD_SEGMENTS;
	/*
	 * a window gives rights to peers that this side has itself: that is the purpose of windows
	 */
	if ((priv & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(lmr->priv & DAT_MEM_PRIV_READ_FLAG))
		return DATP_ERR_PRIV_RDMA_READ;
	if ((priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) && !(lmr->priv & DAT_MEM_PRIV_WRITE_FLAG))
		return DATP_ERR_PRIV_RDMA_WRITE;
	return DATP_OK;
}

static bool tells_of_binds(struct datp_ia *ia)
{
	const struct datp_plugin *desc = ia_priv(ia)->plugin->desc;

	return sdk_since(desc->sdk_major, desc->sdk_minor, 3);
}

/*
 * Posts a bind as datp_post() posts other operations. EP lock held. In DISCONNECTED it is flushed,
 * and the transport is not called.
 */
static enum datp_err bind_post(struct datp_rmr *rmr, struct binding *b, struct datp_ep *ep,
			       DAT_CONTEXT cookie, unsigned int flags)
{
	const struct datp_sge where = { .addr = b->addr, .len = b->len };
	struct datp_wqe *wqe = datp_wq_next(&ep->sq, ep, DATP_BIND, cookie, flags);
	struct datp_lmr *lmr = b->lmr;
	enum datp_err err;

	if (wqe)
		wqe->rmr = rmr;
	/* relaxed: written under the lock, which is held */
	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != DAT_EP_STATE_CONNECTED)
		return datp_post_flushed(ep, wqe);
	err = bind_check(rmr, lmr, ep, &where, (unsigned int)b->priv);
	if (err)
		return err;
	if (!wqe)
		return DATP_ERR_CREDITS;
	wqe->len = where.len;
	binding_begin(rmr, b, wqe);
	ep->sq.posted++;
	err = ep->obj.ia->ops->rmr_bind(ep, wqe, rmr, lmr, where.addr, where.len, b->priv,
					&b->context);
	if (err) {
		ep->sq.posted--;
		binding_cancel(rmr, b);
	} else if (!tells_of_binds(rmr->obj.ia)) {
		/* a plugin built with an older SDK completes it without calling this */
		datp_bind_done(wqe, DAT_DTO_SUCCESS);
	}
	return err;
}

static enum datp_err bind_args_check(struct datp_ep *ep, DAT_MEM_PRIV_FLAGS priv,
				     unsigned int flags)
{
	if ((unsigned int)priv & ~PRIV_KNOWN)
		return DATP_ERR_BAD_PRIV;
	if (!datp_post_flags_ok(ep, flags, DATP_BIND))
		return DATP_ERR_PARAM;
	if (ep->request_evd && !(ep->request_evd->flags & DAT_EVD_RMR_BIND_FLAG))
		return DATP_ERR_BAD_EP;
	return DATP_OK;
}

enum datp_err rmr_bind(struct datp_rmr *rmr, const struct datp_sge *where, DAT_MEM_PRIV_FLAGS priv,
		       DAT_EP_HANDLE ep_handle, DAT_CONTEXT cookie, unsigned int flags,
		       uint32_t *context)
{
	struct datp_ia *ia = rmr->obj.ia;
	struct datp_ep *ep = obj_get(ia, ep_handle, DATP_EP);
	struct binding *b;
	enum datp_err err;
	int state;

	if (!ep)
		return DATP_ERR_HANDLE_EP;
	err = bind_args_check(ep, priv, flags);
	if (err)
		return err;
	err = binding_new(rmr, where, priv, &b);
	if (err)
		return err;
	do {
		datp_lock(&ep->lock);
		state = ep_state(ep);
		err = bind_post(rmr, b, ep, cookie, flags);
		datp_unlock(&ep->lock);
		/*
		 * as in datp_post(): the program may know from data of the peer's that the
		 * connection is established
		 */
		if (err == DATP_ERR_CREDITS || (err && state == DAT_EP_STATE_COMPLETION_PENDING))
			datp_post_full(ep);
	} while (err && state == DAT_EP_STATE_COMPLETION_PENDING &&
		 ep_state(ep) == DAT_EP_STATE_CONNECTED);
	*context = b->context;
	binding_posted(rmr, b);
	return err;
}

static enum datp_err rmr_end(struct datp_rmr *rmr)
{
	enum datp_err err = obj_retire(rmr, true, DATP_OK, DATP_ERR_HANDLE_RMR);

	if (err)
		return err;
	datp_lock(rmr_lock(rmr));
	rmr_priv(rmr)->ending = true;
	datp_unlock(rmr_lock(rmr));
	rmr->obj.ia->ops->rmr_free(rmr);
	rmr_unbind(rmr);
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
