/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns connection requests. Invariant: a request is answered once, by accept, reject or handoff,
 * after which the handle is invalid. If a connection request ends for another reason (the IA is closed, its
 * event is lost), it is rejected first.
 */
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "ep.h"
#include "providers/common/base/pause.h"

#define UNC EP_IN(DAT_EP_STATE_UNCONNECTED)
#define PAS EP_IN(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
#define TEN EP_IN(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)

struct datp_cr *cr_of_note(struct cr_note *note)
{
	/*
	 * the note is first in the private part, which comes before the header and the public head
	 */
	return (struct datp_cr *)((char *)((struct cr_priv *)note + 1) + sizeof(struct obj_hdr));
}

/* ------------------------------------------------------------------ arrival */

static enum datp_err cr_make(struct datp_ia *ia, const struct datp_cm_arrival *arrival,
			     struct datp_cr **out)
{
	struct datp_obj *obj;
	struct datp_cr *cr;
	enum datp_err err = obj_alloc(ia, DATP_CR, sizeof(struct cr_priv), ia->ops->cr_size, &obj);

	if (err)
		return err;
	cr = (struct datp_cr *)obj;
	cr_priv(cr)->note.node.kind = NODE_CR;
	cr_priv(cr)->note.node.number = DAT_CONNECTION_REQUEST_EVENT;
	if (arrival->address)
		memcpy(&cr->remote_address, arrival->address,
		       arrival->address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							       : sizeof(struct sockaddr_in));
	cr->remote_port = arrival->remote_port;
	if (arrival->pdata_len) {
		cr->pdata = malloc(arrival->pdata_len);
		if (!cr->pdata) {
			obj_release(cr);
			return DATP_ERR_MEMORY;
		}
		memcpy(cr->pdata, arrival->pdata, arrival->pdata_len);
		cr->pdata_len = arrival->pdata_len;
	}
	*out = cr;
	return DATP_OK;
}

static void cr_release(struct datp_cr *cr)
{
	free(cr->pdata);
	obj_release(cr);
}

/*
 * Creates the endpoint for a PSP_PROVIDER connection request: its attributes are like the peer's, without PZ
 * and EVDs. Its queues have a bound, because the peer would ask for this process's memory: requests wait here before the
 * program has said anything, and a longer queue is the program's to ask for, by dat_ep_modify().
 */
static enum datp_err ep_make(struct datp_ia *ia, const struct datp_ep_attr *like,
			     struct datp_ep **out)
{
	struct ep_new what = { .state = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING };
	enum datp_err err;

	if (like) {
		what.attr = *like;
		/* the peer does not decide how completions notify */
		what.attr.recv_flags = what.attr.request_flags = DAT_COMPLETION_DEFAULT_FLAG;
		err = ep_attr_resolve_like(ia, &what.attr);
		if (!err)
			return ep_create(ia, &what, out);
		what.attr = (struct datp_ep_attr){ 0 };
	}
	err = ep_attr_resolve(ia, &what.attr, false);
	return err ? err : ep_create(ia, &what, out);
}

static void ep_learn_peer_locked(struct datp_ep *ep, const struct datp_cr *cr)
{
	ep->remote_address = cr->remote_address;
	ep->remote_port = cr->remote_port;
	ep_priv(ep)->active = false;
	ep_priv(ep)->target_qual = cr->qual;
}

/* Fills the transport's part of a CR; if it does not return DATP_OK, the connection request is refused. */
typedef enum datp_err fill_fn(struct datp_cr *cr, void *arg);

/*
 * Gives the connection request to the service point, if the point accepts one. SP lock held; on success the
 * event is queued.
 */
static enum datp_err arrive_locked(struct datp_sp *sp, struct datp_cr *cr, fill_fn *fill, void *arg)
{
	struct cr_priv *priv = cr_priv(cr);
	enum datp_err err;

	if (sp_priv(sp)->closed)
		return DATP_ERR_STATE;
	if (!evd_takes_cr(sp->evd))
		return DATP_ERR_QUEUE_FULL;
	/*
	 * relaxed: a thread that closes another service point may compare this pointer with its own point at
	 * the same time; neither the old nor the new value is equal to that point
	 */
	__atomic_store_n(&cr->sp, sp, __ATOMIC_RELAXED);
	cr->qual = sp->qual;
	if (sp_is_rsp(sp))
		cr->ep = sp->ep;
	err = fill(cr, arg);
	if (err)
		return err;
	if (cr->ep) {
		datp_lock(&cr->ep->lock);
		if (sp_is_rsp(sp))
			ep_move_locked(cr->ep, EP_REQUEST);
		ep_learn_peer_locked(cr->ep, cr);
		datp_unlock(&cr->ep->lock);
	}
	if (sp_is_rsp(sp))
		sp_priv(sp)->closed = sp_priv(sp)->arriving = true;
	priv->note.sp_shown = sp;
	priv->evd = sp->evd;
	evd_post(sp->evd, &priv->note.node, true);
	return DATP_OK;
}

/* Creates and publishes a CR for a connection request at a service point. If it fails, `cr` is freed. */
static enum datp_err arrive(struct datp_sp *sp, uint64_t qual, struct datp_cr *cr,
			    const struct datp_ep_attr *attr, fill_fn *fill, void *arg)
{
	struct datp_ia *ia = cr->obj.ia;
	struct datp_ep *ep = NULL;
	enum datp_err err;
	bool rsp;

	/* Everything that takes the IA lock comes before the SP lock. */
	if (sp_priv(sp)->make_ep) {
		err = ep_make(ia, attr, &ep);
		if (err)
			goto release;
	}
	err = obj_publish(cr);
	if (err)
		goto free_ep;
	datp_lock(&sp_priv(sp)->lock);
	cr->ep = ep;
	rsp = sp_is_rsp(sp);
	/* By now the memory may belong to another point. */
	err = sp->obj.ia == ia && sp->qual == qual ? arrive_locked(sp, cr, fill, arg)
						   : DATP_ERR_STATE;
	datp_unlock(&sp_priv(sp)->lock);
	if (err)
		goto retire;
	if (rsp)
		rsp_used(sp);
	return DATP_OK;

retire:
	obj_retire(cr, true, DATP_OK, DATP_OK);
free_ep:
	if (ep)
		ep_destroy(ep);
release:
	cr_release(cr);
	return err;
}

static enum datp_err fill_by_transport(struct datp_cr *cr, void *arg)
{
	const struct datp_cm_arrival *arrival = arg;

	if (arrival->prepare)
		arrival->prepare(cr, arrival->arg);
	return DATP_OK;
}

DATP_API enum datp_err datp_cm_request(struct datp_sp *sp, const struct datp_cm_arrival *arrival,
				       struct datp_cr **out)
{
	struct datp_cr *cr;
	enum datp_err err = cr_make(sp->obj.ia, arrival, &cr);

	if (err)
		return err;
	err = arrive(sp, sp->qual, cr, arrival->attr, fill_by_transport,
		     (void *)(uintptr_t)arrival);
	if (!err && out)
		*out = cr;
	return err;
}

/* ------------------------------------------------------------------ answers */

/* Claims the right to answer a request. Returns false if another thread has it, or has answered. */
static bool answer_claim(struct datp_cr *cr)
{
	struct ia_priv *ia = ia_priv(cr->obj.ia);
	bool mine;

	datp_lock(&ia->lock);
	/* relaxed: it changes under the lock */
	mine = atomic_load_explicit(&cr->obj.tag, memory_order_relaxed) == DATP_TAG(DATP_CR) && !cr_priv(cr)->answering;
	if (mine)
		cr_priv(cr)->answering = true;
	datp_unlock(&ia->lock);
	return mine;
}

/* The answer has failed, so the request stays. */
static void answer_undo(struct datp_cr *cr)
{
	struct ia_priv *ia = ia_priv(cr->obj.ia);

	datp_lock(&ia->lock);
	cr_priv(cr)->answering = false;
	datp_unlock(&ia->lock);
}

/* The CR has been retired, and its endpoint has been taken care of. */
static void cr_end(struct datp_cr *cr)
{
	struct cr_priv *priv = cr_priv(cr);

	/* A freed EVD has removed its nodes first, and its memory can still be read. */
	evd_unpost(priv->evd, &priv->note.node);
	cr->obj.ia->ops->cr_free(cr);
	cr_release(cr);
}

/* Returns the endpoint of a connection request that is not accepted to the consumer, or to libdatp. */
static void give_ep_back(struct datp_cr *cr)
{
	struct datp_ep *ep = cr->ep;

	if (!ep)
		return;
	if (ep_priv(ep)->by_provider) {
		ep_destroy(ep);
		return;
	}
	datp_lock(&ep->lock);
	ep_move_locked(ep, EP_REJECT);
	ep->remote_address = (struct sockaddr_storage){ 0 };
	ep->remote_port = 0;
	datp_unlock(&ep->lock);
}

static enum datp_err accept_ep(struct datp_cr *cr, DAT_EP_HANDLE handle, struct datp_ep **ep,
			       unsigned int *from)
{
	*from = cr->ep ? PAS | TEN : UNC;
	*ep = cr->ep;
	if (cr->ep)
		return handle == DAT_HANDLE_NULL ? DATP_OK : DATP_ERR_BAD_EP;
	*ep = obj_get(cr->obj.ia, handle, DATP_EP);
	return *ep ? DATP_OK : DATP_ERR_HANDLE_EP;
}

static enum ep_cause accept_refused(int from)
{
	switch (from) {
	case DAT_EP_STATE_UNCONNECTED:
		return EP_ACCEPT_REFUSED_UNC;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return EP_ACCEPT_REFUSED_PAS;
	default:
		return EP_ACCEPT_REFUSED_TEN;
	}
}

/* Accepts a request that has been claimed. */
static enum datp_err accept_claimed(struct datp_cr *cr, DAT_EP_HANDLE handle, const void *pdata, uint32_t pdata_len)
{
	unsigned int allowed;
	struct datp_ep *ep;
	enum datp_err err;
	int from;

	err = accept_ep(cr, handle, &ep, &allowed);
	if (err)
		return err;
	datp_lock(&ep->lock);
	from = ep_state(ep);
	if ((allowed & EP_IN(from)) && ep_move_locked(ep, EP_ACCEPT))
		ep_learn_peer_locked(ep, cr);
	else
		err = ep_state_error(from);
	datp_unlock(&ep->lock);
	if (err)
		return err;
	/* The outcome may be reported before the op returns, so the state was set first. */
	err = cr->obj.ia->ops->cr_accept(cr, ep, pdata, pdata_len);
	if (err) {
		datp_lock(&ep->lock);
		ep_move_locked(ep, accept_refused(from));
		datp_unlock(&ep->lock);
		return err;
	}
	datp_lock(&ep->lock);
	ep_priv(ep)->by_provider = false;
	datp_unlock(&ep->lock);
	ia_count(cr->obj.ia, COUNT_ACCEPTS);
	obj_retire(cr, true, DATP_OK, DATP_OK);
	cr_end(cr);
	return DATP_OK;
}

enum datp_err cr_accept(struct datp_cr *cr, DAT_EP_HANDLE handle, const void *pdata, uint32_t pdata_len)
{
	enum datp_err err;

	if (!answer_claim(cr))
		return DATP_ERR_HANDLE_CR;
	err = accept_claimed(cr, handle, pdata, pdata_len);
	if (err)
		answer_undo(cr);
	return err;
}

enum datp_err cr_reject(struct datp_cr *cr, const void *pdata, uint32_t pdata_len)
{
	const struct datp_ops *ops = cr->obj.ia->ops;

	if (!answer_claim(cr))
		return DATP_ERR_HANDLE_CR;
	obj_retire(cr, true, DATP_OK, DATP_OK);
	ia_count(cr->obj.ia, COUNT_REJECTS);
	if (pdata_len)
		ops->cr_reject_with(cr, pdata, pdata_len);
	else
		ops->cr_reject(cr);
	give_ep_back(cr);
	cr_end(cr);
	return DATP_OK;
}

void cr_destroy(struct datp_cr *cr)
{
	/* else a thread is answering it, which is an error of a program that closes its IA, and does not take long */
	if (cr_reject(cr, NULL, 0))
		pause_asleep();
}

static enum datp_err fill_by_move(struct datp_cr *cr, void *arg)
{
	return cr->obj.ia->ops->cr_move(arg, cr);
}

/* Hands off a request that has been claimed. */
static enum datp_err handoff_claimed(struct datp_cr *cr, uint64_t qual)
{
	struct datp_ia *ia = cr->obj.ia;
	struct datp_cm_arrival again = {
		.address = (const struct sockaddr *)&cr->remote_address,
		.remote_port = cr->remote_port,
		.pdata = cr->pdata,
		.pdata_len = cr->pdata_len,
	};
	struct datp_sp *target = sp_find(ia, qual);
	struct datp_cr *moved;
	enum datp_err err;

	if (!target)
		return DATP_ERR_BAD_QUAL;
	err = cr_make(ia, &again, &moved);
	if (err)
		return err;
	err = arrive(target, qual, moved, cr->ep ? &cr->ep->attr : NULL, fill_by_move, cr);
	if (err == DATP_ERR_STATE || err == DATP_ERR_QUEUE_FULL)
		err = DATP_ERR_BAD_QUAL;
	if (err)
		return err;
	obj_retire(cr, true, DATP_OK, DATP_OK);
	give_ep_back(cr);
	cr_release(cr);
	return DATP_OK;
}

enum datp_err cr_handoff(struct datp_cr *cr, uint64_t qual)
{
	enum datp_err err;

	if (!answer_claim(cr))
		return DATP_ERR_HANDLE_CR;
	err = handoff_claimed(cr, qual);
	if (err)
		answer_undo(cr);
	return err;
}
