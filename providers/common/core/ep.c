/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns endpoints: their creation, their end, and pins. Invariant: while an endpoint is pinned it is
 * not freed, reset or modified, and once it is `dying` it cannot be pinned.
 */
#include <stdlib.h>

#include "ep.h"
#include "providers/common/base/futex.h"
#include "srq.h"

/* ------------------------------------------------------------------ pins */

bool ep_may_be_pinned_locked(struct datp_ep *ep, unsigned int states)
{
	struct ep_priv *priv = ep_priv(ep);

	/*
	 * relaxed: the tag of an endpoint is 0 before the endpoint is freed, for which this lock is
	 * taken
	 */
	return atomic_load_explicit(&ep->obj.tag, memory_order_relaxed) == DATP_TAG(DATP_EP) &&
	       !priv->dying && !priv->ending && (states & EP_IN(ep_state(ep)));
}

void ep_pin_locked(struct datp_ep *ep)
{
	/*
	 * relaxed: a thread that waits for 0 has prevented new pins, and has taken the lock that is
	 * held here after that
	 */
	atomic_fetch_add_explicit(&ep_priv(ep)->pins, 1, memory_order_relaxed);
}

bool ep_pin(struct datp_ep *ep, unsigned int states)
{
	bool pinned;

	datp_lock(&ep->lock);
	pinned = ep_may_be_pinned_locked(ep, states);
	if (pinned)
		ep_pin_locked(ep);
	datp_unlock(&ep->lock);
	return pinned;
}

void ep_unpin(struct datp_ep *ep)
{
	_Atomic uint32_t *pins = &ep_priv(ep)->pins;

	/*
	 * Not under the EP lock: a transport's thread that has it may take long, and the service thread does not wait for that.
	 * When the count is 0 another thread may free the endpoint. This one does not access it any more: the kernel only looks
	 * for threads that sleep at the address, and one that sleeps there for another reason looks again.
	 *
	 * release: a thread that waits for the unpin sees what this thread did while it held the pin
	 */
	if (atomic_fetch_sub_explicit(pins, 1, memory_order_release) == 1)
		futex_wake(pins, false);
}

void ep_await_unpinned(struct datp_ep *ep)
{
	ep_end_put_off(ep);
	futex_await_zero(&ep_priv(ep)->pins);
	datp_lock(&ep->lock);
	datp_unlock(&ep->lock);
}

/* ------------------------------------------------------------------ calls */

/*
 * The number of calls that each endpoint reserves for the case that there is no memory: for the end of a connection, and
 * for the events that lead to it.
 */
#define EP_CALLS 4u

/*
 * Guards ep_priv.calls of all endpoints, and `cancelled`. Only the loop's own lock comes after it.
 */
static _Atomic uint32_t calls_lock;

static void call_unlink_locked(struct loop_call *call)
{
	struct loop_call **at = &ep_priv(call->ep)->calls;

	while (*at != call)
		at = &(*at)->ep_next;
	*at = call->ep_next;
}

static void call_run(void *arg)
{
	struct loop_call *call = arg;
	bool wanted;

	datp_lock(&calls_lock);
	wanted = !call->cancelled;
	if (wanted) {
		call_unlink_locked(call);
		/*
		 * before the lock is released, so that a thread that cancels now finds the endpoint
		 * pinned
		 */
		ep_pin_locked(call->ep);
	}
	datp_unlock(&calls_lock);
	if (wanted) {
		call->ep_fn(call->ep);
		ep_unpin(call->ep);
	}
}

DATP_API enum datp_err datp_ep_call(struct datp_ep *ep, void (*fn)(struct datp_ep *ep))
{
	struct loop_call *call = loop_call_get(ep->obj.ia);

	if (!call)
		return DATP_ERR_MEMORY;
	*call = (struct loop_call){ .fn = call_run, .arg = call, .ep = ep, .ep_fn = fn };
	datp_lock(&calls_lock);
	/* the endpoint is being freed, and for example a report of its peer has come: the call counts as cancelled */
	if (ep_priv(ep)->no_calls) {
		datp_unlock(&calls_lock);
		loop_call_put(ep->obj.ia, call);
		return DATP_OK;
	}
	call->ep_next = ep_priv(ep)->calls;
	ep_priv(ep)->calls = call;
	loop_call_queue(ep->obj.ia, call);
	datp_unlock(&calls_lock);
	return DATP_OK;
}

void ep_forget_all(void)
{
	atomic_store_explicit(&calls_lock, 0, memory_order_relaxed);
}

void ep_cancel_calls(struct datp_ep *ep, bool for_ever)
{
	struct ep_priv *priv = ep_priv(ep);

	datp_lock(&calls_lock);
	priv->no_calls |= for_ever;
	for (struct loop_call *call = priv->calls; call; call = call->ep_next)
		call->cancelled = true;
	priv->calls = NULL;
	datp_unlock(&calls_lock);
}

/* ------------------------------------------------------------------ creation */

static enum datp_err hold_parts(struct datp_ep *ep, const struct ep_new *what)
{
	struct datp_ia *ia = ep->obj.ia;

	if (what->with_srq) {
		ep->srq = obj_hold(ia, what->srq, DATP_SRQ);
		if (!ep->srq)
			return DATP_ERR_HANDLE_SRQ;
	}
	if (what->pz != DAT_HANDLE_NULL) {
		ep->pz = obj_hold(ia, what->pz, DATP_PZ);
		if (!ep->pz)
			return DATP_ERR_HANDLE_PZ;
	}
	if (ep->srq && ep->srq->pz != ep->pz && !ia_attr(ia)->srq_pz_difference) {
		core_log(4,
			 "%s: no endpoint with the protection zone %p and the SRQ %p, which has "
			 "another zone: this adapter requires the same one",
			 ia->name, (void *)ep->pz, (void *)ep->srq);
		return DATP_ERR_PARAM;
	}
	return DATP_OK;
}

static void drop_parts(struct datp_ep *ep)
{
	obj_drop(ep->pz);
	obj_drop(ep->srq);
}

static enum datp_err init_queues(struct datp_ep *ep)
{
	if (!wq_init(&ep->sq, ep->attr.max_request_dtos))
		return DATP_ERR_MEMORY;
	/* For an endpoint with an SRQ: a ring with one slot, which is never used. */
	if (wq_init(&ep->rq, ep->srq ? 1 : ep->attr.max_recv_dtos))
		return DATP_OK;
	wq_free(&ep->sq);
	return DATP_ERR_MEMORY;
}

/* Finds the EVD of a handle; whether it is alive is checked when it is held. */
static bool evd_of(struct datp_ia *ia, DAT_EVD_HANDLE handle, struct datp_evd **evd)
{
	*evd = handle == DAT_HANDLE_NULL ? NULL : obj_get(ia, handle, DATP_EVD);
	return *evd || handle == DAT_HANDLE_NULL;
}

static enum datp_err evds_of(struct datp_ep *ep, const struct ep_new *what)
{
	struct datp_ia *ia = ep->obj.ia;

	if (!evd_of(ia, what->recv_evd, &ep->recv_evd))
		return DATP_ERR_HANDLE_EVD_RECV;
	if (!evd_of(ia, what->request_evd, &ep->request_evd))
		return DATP_ERR_HANDLE_EVD_REQUEST;
	/* one that is not this IA's is borrowed, if that is possible */
	evd_of(ia, what->connect_evd, &ep->connect_evd);
	return DATP_OK;
}

/* Borrows the EVD for connections, if the endpoint has none of its own IA but is to have one. */
static enum datp_err borrow(struct datp_ep *ep, DAT_EVD_HANDLE handle)
{
	struct loan *loan;
	enum datp_err err;

	if (ep->connect_evd || handle == DAT_HANDLE_NULL)
		return DATP_OK;
	err = loan_take(ep, handle, &loan);
	if (!err)
		loan_set(ep, loan);
	return err;
}

/* Gives back what borrow() has borrowed. */
static void give_back(struct datp_ep *ep)
{
	if (ep_priv(ep)->loan)
		loan_set(ep, NULL);
}

static void init_notes(struct datp_ep *ep)
{
	struct ep_priv *priv = ep_priv(ep);

	priv->established.node.kind = priv->ended.node.kind = NODE_CONN;
	priv->established.ep = priv->ended.ep = ep;
	priv->srq_end.node.kind = NODE_SRQ_END;
	priv->srq_end.node.number = DAT_ASYNC_ERROR_EP_BROKEN;
	priv->srq_end.about = ep;
	priv->srq_end.reason = DAT_EP_TRANSFER_TO_ERROR;
	priv->give_up = NO_DEADLINE;
}

enum datp_err ep_create(struct datp_ia *ia, const struct ep_new *what, struct datp_ep **out)
{
	struct datp_obj *obj;
	struct datp_ep *ep;
	enum datp_err err = obj_alloc(ia, DATP_EP, sizeof(struct ep_priv) + ia_count_bytes(ia, EP_SHOWN), ia->ops->ep_size, &obj);

	if (err)
		return err;
	ep = (struct datp_ep *)obj;
	ep->attr = what->attr;
	init_notes(ep);
	ep_priv(ep)->by_provider = what->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	ep_born(ep, what->state);
	err = hold_parts(ep, what);
	if (err)
		goto drop_parts;
	err = evds_of(ep, what);
	if (err)
		goto drop_parts;
	err = ep_streams_attach(ep);
	if (err)
		goto drop_parts;
	err = borrow(ep, what->connect_evd);
	if (err)
		goto detach;
	err = init_queues(ep);
	if (err)
		goto give_back;
	err = loop_reserve(ia, EP_CALLS) ? DATP_OK : DATP_ERR_MEMORY;
	if (err)
		goto free_queues;
	err = ia->ops->ep_create(ep);
	if (err)
		goto unreserve;
	ep_queues_open(ep);
	err = obj_publish(ep);
	if (err)
		goto close_queues;
	*out = ep;
	return DATP_OK;

close_queues:
	datp_lock(&ep->lock);
	ep_queues_close_locked(ep);
	datp_unlock(&ep->lock);
	ia->ops->ep_free(ep);
unreserve:
	loop_unreserve(ia, EP_CALLS);
free_queues:
	ep_queues_free(ep);
give_back:
	give_back(ep);
detach:
	ep_streams_detach(ep);
drop_parts:
	drop_parts(ep);
	obj_release(ep);
	return err;
}

/* ------------------------------------------------------------------ the end */

/*
 * Leaves the events about the connection to a program that awaits them after it has freed the endpoint, or closed its IA: those
 * that are queued, and the one of the end, except on an EVD of the IA that is closed. Nothing else queues any now.
 */
static void leave_events(struct datp_ep *ep, bool by_program)
{
	const unsigned int connected = EP_IN(DAT_EP_STATE_CONNECTED) | EP_IN(DAT_EP_STATE_DISCONNECT_PENDING);
	struct conn_note *ended = &ep_priv(ep)->ended;
	struct datp_evd *evd;

	if (!ia_priv(ep->obj.ia)->plugin->edge->keeps_events)
		return;
	datp_lock(&ep->lock);
	evd = ep_conn_evd_locked(ep);
	if (evd && (by_program || ep_priv(ep)->loan) && (EP_IN(ep_state(ep)) & connected)) {
		ended->node.number = DAT_CONNECTION_EVENT_DISCONNECTED;
		count_add(&evd_priv(evd)->conn_events, 1);
		evd_post(evd, &ended->node, true);
	}
	if (evd)
		evd_keep_events(evd, ep);
	datp_unlock(&ep->lock);
}

/* Frees an endpoint that has been retired (obj_retire): by the program, or with its IA or request. */
static void ep_finish(struct datp_ep *ep, bool by_program)
{
	struct ep_priv *priv = ep_priv(ep);
	struct datp_ia *ia = ep->obj.ia;

	datp_lock(&ep->lock);
	priv->dying = true;
	ep_queues_close_locked(ep);
	datp_unlock(&ep->lock);
	ep_cancel_calls(ep, true);
	ep_await_unpinned(ep);
	datp_timer_cancel(ia, &priv->timer);
	ia->ops->ep_free(ep);
	leave_events(ep, by_program);
	/*
	 * A thread that has just polled one of its completions delivers it under the poll lock:
	 * wait until that has ended.
	 */
	ep_poll_lock(ep);
	ep_purge(ep);
	ep_poll_unlock(ep);
	give_back(ep);
	ep_streams_detach(ep);
	drop_parts(ep);
	ep_queues_free(ep);
	free(priv->pdata);
	free(priv->pdata_buf);
	loop_unreserve(ia, EP_CALLS);
	obj_release(ep);
}

enum datp_err ep_free(struct datp_ep *ep)
{
	const unsigned int owned = EP_IN(DAT_EP_STATE_RESERVED) |
				   EP_IN(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) |
				   EP_IN(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	int state = ep_state(ep);
	enum datp_err err;

	if (owned & EP_IN(state))
		return ep_state_error(state);
	err = obj_retire(ep, false, DATP_ERR_STATE, DATP_ERR_HANDLE_EP);
	if (!err)
		ep_finish(ep, true);
	return err;
}

void ep_destroy(struct datp_ep *ep)
{
	if (!obj_retire(ep, true, DATP_OK, DATP_ERR_HANDLE_EP))
		ep_finish(ep, false);
}

/* ------------------------------------------------------------------ reset and status */

static void forget_connection_locked(struct datp_ep *ep)
{
	struct ep_priv *priv = ep_priv(ep);

	free(priv->pdata);
	priv->pdata = NULL;
	free(priv->pdata_buf);
	priv->pdata_buf = NULL;
	priv->ended.pdata = NULL;
	priv->ended.pdata_len = 0;
	priv->active = false;
	priv->ending = false;
	priv->give_up = NO_DEADLINE;
	ep->remote_address = (struct sockaddr_storage){ 0 };
	ep->remote_port = 0;
}

enum datp_err ep_reset(struct datp_ep *ep)
{
	enum datp_err err;
	int state = ep_state(ep);

	if (state == DAT_EP_STATE_UNCONNECTED)
		return DATP_OK;
	if (state != DAT_EP_STATE_DISCONNECTED)
		return ep_state_error(state);
	/* The thread that ended the connection may still have the endpoint pinned. */
	ep_cancel_calls(ep, false);
	ep_await_unpinned(ep);
	err = ep->obj.ia->ops->ep_reset(ep);
	if (err)
		return err;
	ep_poll_lock(ep);
	ep_purge(ep);
	ep_poll_unlock(ep);
	datp_lock(&ep->lock);
	forget_connection_locked(ep);
	ep_move_locked(ep, EP_RESET);
	datp_unlock(&ep->lock);
	return DATP_OK;
}

static bool queue_idle(const struct datp_wq *wq)
{
	return wq->finished == wq->posted;
}

void ep_status(struct datp_ep *ep, int *state, bool *recv_idle, bool *request_idle)
{
	/*
	 * Completed operations that have not been fetched from the transport are not outstanding.
	 */
	if (ep->recv_evd)
		evd_progress(ep->recv_evd);
	if (ep->request_evd && ep->request_evd != ep->recv_evd)
		evd_progress(ep->request_evd);
	datp_lock(&ep->lock);
	*state = ep_state(ep);
	*recv_idle = ep->srq ? !srq_busy_with(ep->srq, ep) : queue_idle(&ep->rq);
	*request_idle = queue_idle(&ep->sq);
	datp_unlock(&ep->lock);
}
