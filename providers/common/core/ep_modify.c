/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify. Invariant: either all requested changes are made, or none. */
#include "ep.h"
#include <stddef.h>
#include <string.h>

#define QUIET (EP_IN(DAT_EP_STATE_UNCONNECTED) | EP_IN(DAT_EP_STATE_RESERVED) |			\
	       EP_IN(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) |					\
	       EP_IN(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING))
#define QUIET_PZ                                                                                   \
	(EP_IN(DAT_EP_STATE_UNCONNECTED) | EP_IN(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING))

static bool asks(uint32_t fields, enum ep_field field)
{
	return fields >> field & 1;
}

static enum datp_err may_change(const struct datp_ep *ep, int state, uint32_t fields)
{
	if (!(QUIET & EP_IN(state)))
		return ep_state_error(state);
	if (asks(fields, EP_FIELD_PZ) && !(QUIET_PZ & EP_IN(state)))
		return ep_state_error(state);
	/* Posted receives complete by the flags that were in force when they were posted. */
	if (asks(fields, EP_FIELD_RECV_COMPLETION_FLAGS) && ep->rq.posted != ep->rq.finished)
		return DATP_ERR_STATE;
	return DATP_OK;
}

static void mix_attr(struct datp_ep_attr *attr, const struct datp_ep_attr *with, uint32_t fields)
{
#define X(FIELD, name)                                                                             \
	if (asks(fields, EP_FIELD_##FIELD))                                                        \
		attr->name = with->name;
	EP_ATTR_FIELDS(X)
#undef X
}

/* Finds an EVD that replaces another. */
static bool mix_evd(struct datp_ia *ia, struct datp_evd **evd, DAT_EVD_HANDLE handle, bool asked)
{
	if (!asked)
		return true;
	*evd = handle == DAT_HANDLE_NULL ? NULL : obj_get(ia, handle, DATP_EVD);
	return *evd || handle == DAT_HANDLE_NULL;
}

/*
 * Computes the new state of the endpoint; it holds a reference to the PZ only. If its new EVD for connections is
 * another IA's, *loan is set; the caller drops it on an error.
 */
static enum datp_err mix(struct datp_ep *ep, const struct ep_change *change,
			 struct datp_ep *next, struct loan **loan)
{
	struct datp_ia *ia = ep->obj.ia;
	uint32_t fields = change->fields;
	enum datp_err err;

	mix_attr(&next->attr, &change->attr, fields);
	err = ep_attr_resolve(ia, &next->attr, ep->srq != NULL);
	if (err)
		return err;
	if (!mix_evd(ia, &next->recv_evd, change->recv_evd, asks(fields, EP_FIELD_RECV_EVD)))
		return DATP_ERR_HANDLE_EVD_RECV;
	if (!mix_evd(ia, &next->request_evd, change->request_evd,
		     asks(fields, EP_FIELD_REQUEST_EVD)))
		return DATP_ERR_HANDLE_EVD_REQUEST;
	if (!mix_evd(ia, &next->connect_evd, change->connect_evd,
		     asks(fields, EP_FIELD_CONNECT_EVD))) {
		err = loan_take(ep, change->connect_evd, loan);
		if (err)
			return err;
	}
	if (asks(fields, EP_FIELD_PZ)) {
		next->pz = change->pz == DAT_HANDLE_NULL ? NULL : obj_hold(ia, change->pz, DATP_PZ);
		if (!next->pz && change->pz != DAT_HANDLE_NULL)
			return DATP_ERR_HANDLE_PZ;
	} else if (next->pz) {
		obj_hold(ia, next->pz, DATP_PZ);
	}
	return DATP_OK;
}

/*
 * Makes room in a queue for `max`. A queue with operations in it stays where it is, because the
 * transport knows their addresses. *grown is the new ring if there has to be one.
 */
static enum datp_err queue_prepare(const struct datp_wq *wq, int32_t max, struct datp_wq *grown)
{
	uint32_t used = wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire);

	grown->ring = NULL;
	if ((uint32_t)max <= wq->mask + 1)
		return used <= (uint32_t)max ? DATP_OK : DATP_ERR_STATE;
	if (used)
		return DATP_ERR_STATE;
	return wq_init(grown, max) ? DATP_OK : DATP_ERR_MEMORY;
}

static void queue_commit(struct datp_wq *wq, int32_t max, struct datp_wq *grown)
{
	if (grown->ring) {
		wq_free(wq);
		wq->ring = grown->ring;
		wq->mask = grown->mask;
	}
	wq->max = (uint32_t)max;
}

/*
 * If another call on the endpoint runs meanwhile, this is the consumer's error: dat_ep_modify is
 * Unsafe.
 */
static enum datp_err change_over(struct datp_ep *ep, struct datp_ep *next)
{
	struct datp_wq rq = { 0 }, sq = { 0 };
	enum datp_err err;

	err = queue_prepare(&ep->sq, next->attr.max_request_dtos, &sq);
	if (err)
		return err;
	err = queue_prepare(&ep->rq, ep->srq ? 1 : next->attr.max_recv_dtos, &rq);
	if (err)
		goto free_sq;
	/* Detach first, because an endpoint does not clash with its own old streams. */
	ep_streams_detach(ep);
	err = ep_streams_attach(next);
	if (err)
		goto attach_again;
	err = ep->obj.ia->ops->ep_modify(ep, next);
	if (err)
		goto detach;
	datp_lock(&ep->lock);
	queue_commit(&ep->sq, next->attr.max_request_dtos, &sq);
	queue_commit(&ep->rq, ep->srq ? 1 : next->attr.max_recv_dtos, &rq);
	ep->attr = next->attr;
	ep->recv_evd = next->recv_evd;
	ep->request_evd = next->request_evd;
	ep->connect_evd = next->connect_evd;
	obj_drop(ep->pz);
	ep->pz = next->pz;
	datp_unlock(&ep->lock);
	return DATP_OK;

detach:
	ep_streams_detach(next);
attach_again:
	ep_streams_attach(ep);
	wq_free(&rq);
free_sq:
	wq_free(&sq);
	return err;
}

/* Copies all but the lock, which another thread may be taking: that of an adapter that is closed, for one of its EVDs (loan.c). */
static void copy_of(struct datp_ep *copy, const struct datp_ep *ep)
{
	const size_t lock = offsetof(struct datp_ep, lock), behind = lock + sizeof ep->lock;

	memset(copy, 0, sizeof *copy);
	memcpy(copy, ep, lock);
	memcpy((char *)copy + behind, (const char *)ep + behind, sizeof *ep - behind);
}

enum datp_err ep_modify(struct datp_ep *ep, const struct ep_change *change)
{
	struct loan *loan = NULL;
	struct datp_ep next;
	enum datp_err err;

	err = may_change(ep, ep_state(ep), change->fields);
	if (err)
		return err;
	ep_await_unpinned(ep);
	copy_of(&next, ep);
	err = mix(ep, change, &next, &loan);
	if (err)
		goto drop_loan;
	err = change_over(ep, &next);
	if (err)
		goto drop_pz;
	/* Until here the endpoint has its old loan. In a state that can be modified, it has no events. */
	if (asks(change->fields, EP_FIELD_CONNECT_EVD) && (loan || ep_priv(ep)->loan))
		loan_set(ep, loan);
	return DATP_OK;

drop_pz:
	obj_drop(next.pz);
drop_loan:
	loan_drop(loan);
	return err;
}
