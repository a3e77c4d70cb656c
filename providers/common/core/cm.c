/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: how they begin and end. Invariant: an attempt, and a connection, ends once: the
 * thread that sets `ending` under the EP lock ends it, and later reports are ignored. So each has
 * exactly one event that reports its end.
 *
 * The teardown has this order: the transport stops accessing the posted buffers (it has reported
 * the end, or ep_disconnect has returned), the operations that it has completed are on the lists,
 * the state changes, the other operations are flushed, the event is queued.
 *
 * The last three need the poll locks of the endpoint's EVDs. A thread that has such a lock may be in the transport, held up by
 * a peer. The service thread does not wait for it: the end is put off, and a timer tries again. Meanwhile it is claimed, so
 * whoever reports another end of the same connection is ignored, and whoever needs the end waits until the endpoint is not
 * pinned. Agents of the program run on the service thread as well. Their calls wait as those of other threads do, so they make
 * the end themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "diag.h"
#include "ep.h"

#define PUT_OFF_US 1000 /* between two tries of the ends that are put off, of whichever */

#define ACT EP_IN(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
#define CMP EP_IN(DAT_EP_STATE_COMPLETION_PENDING)
#define CON EP_IN(DAT_EP_STATE_CONNECTED)
#define DPN EP_IN(DAT_EP_STATE_DISCONNECT_PENDING)

/* EP lock held. DISCONNECTED is not counted here, but by the callers that know which side has ended the connection. */
static void count_event_locked(struct datp_ep *ep, DAT_EVENT_NUMBER number)
{
	static const struct {
		DAT_EVENT_NUMBER number;
		enum ia_count count;
	} counted[] = {
		{ DAT_CONNECTION_EVENT_PEER_REJECTED, COUNT_PEER_REJECTED },
		{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, COUNT_NON_PEER_REJECTED },
		{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, COUNT_ACCEPT_FAILED },
		{ DAT_CONNECTION_EVENT_BROKEN, COUNT_BROKEN },
		{ DAT_CONNECTION_EVENT_TIMED_OUT, COUNT_TIMED_OUT },
		{ DAT_CONNECTION_EVENT_UNREACHABLE, COUNT_UNREACHABLE },
	};

	if (number == DAT_CONNECTION_EVENT_ESTABLISHED)
		ia_count(ep->obj.ia, ep_priv(ep)->active ? COUNT_ESTABLISHED_ACTIVE : COUNT_ESTABLISHED_PASSIVE);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (counted[i].number == number)
			ia_count(ep->obj.ia, counted[i].count);
}

/* Queues an event about the connection. The EP lock is held, and the state has changed. */
static void queue_event_locked(struct datp_ep *ep, struct conn_note *note, DAT_EVENT_NUMBER number)
{
	struct datp_evd *evd = ep_conn_evd_locked(ep);

	note->node.number = number;
	count_event_locked(ep, number);
	if (!evd)
		return;
	count_add(&evd_priv(evd)->conn_events, 1);
	evd_post(evd, &note->node, true);
}

/*
 * Programs of DAT 2.0 wait for this event before they free such an endpoint: it says that the
 * endpoint takes no more receives of the SRQ. So it must not get lost, and has its note in the endpoint. That is not queued:
 * it was removed by the reset without which there is no further connection. EP lock held.
 */
static void queue_srq_end_locked(struct datp_ep *ep, DAT_EVENT_NUMBER number)
{
	bool ended = number == DAT_CONNECTION_EVENT_DISCONNECTED || number == DAT_CONNECTION_EVENT_BROKEN;

	if (ep->srq && ended && ia_priv(ep->obj.ia)->plugin->edge->srq_end_is_error)
		evd_post_srq_end(ep->obj.ia, &ep_priv(ep)->srq_end);
}

/* Poll locks held, which this releases. */
static void end_poll_locked(struct datp_ep *ep, enum ep_cause cause, DAT_EVENT_NUMBER number)
{
	struct ep_priv *priv = ep_priv(ep);

	datp_lock(&ep->lock);
	if (ep_move_locked(ep, cause)) {
		ep_flush_locked(ep);
		queue_event_locked(ep, &priv->ended, number);
		queue_srq_end_locked(ep, number);
	}
	priv->ending = false;
	datp_unlock(&ep->lock);
	ep_poll_unlock(ep);
	ep_unpin(ep);
}

/* What was put off is put off no longer, and this thread ends it. Service thread. */
static void put_off_forget(struct datp_ep *ep)
{
	struct ep_priv *priv = ep_priv(ep);

	ia_priv(ep->obj.ia)->put_off -= priv->put_off.counted;
	priv->put_off.counted = false;
}

/* Ends what was put off, if the poll locks are free, or puts it off again. Service thread. */
static void end_again(void *arg)
{
	struct datp_ep *ep = arg;
	struct ep_priv *priv = ep_priv(ep);
	struct ia_priv *ia = ia_priv(ep->obj.ia);

	if (!ep_poll_try(ep)) {
		ia->put_off += !priv->put_off.counted;
		priv->put_off.counted = true;
		datp_timer_set(ep->obj.ia, &priv->timer, datp_clock_us() + (uint64_t)PUT_OFF_US * ia->put_off, end_again, ep);
		return;
	}
	put_off_forget(ep);
	end_poll_locked(ep, priv->put_off.cause, priv->put_off.number);
}

void ep_end_put_off(struct datp_ep *ep)
{
	struct ep_priv *priv = ep_priv(ep);

	if (!datp_loop_inside(ep->obj.ia) || !priv->put_off.counted)
		return;
	datp_timer_cancel(ep->obj.ia, &priv->timer);
	put_off_forget(ep);
	ep_poll_lock(ep);
	end_poll_locked(ep, priv->put_off.cause, priv->put_off.number);
}

/* As ep_end(), in a call of the program, which may wait, even if an agent of the program makes it on the service thread. */
static void end_and_wait(struct datp_ep *ep, enum ep_cause cause, DAT_EVENT_NUMBER number)
{
	ep_poll_lock(ep);
	end_poll_locked(ep, cause, number);
}

void ep_end(struct datp_ep *ep, enum ep_cause cause, DAT_EVENT_NUMBER number)
{
	if (datp_loop_inside(ep->obj.ia)) {
		ep_priv(ep)->put_off.cause = cause;
		ep_priv(ep)->put_off.number = number;
		end_again(ep);
	} else {
		end_and_wait(ep, cause, number);
	}
}

/*
 * Claims the right to end a connection or attempt in one of the states, and pins the endpoint; EP
 * lock held. The caller then calls ep_end().
 */
static bool claim_locked(struct datp_ep *ep, unsigned int states)
{
	if (!ep_may_be_pinned_locked(ep, states))
		return false;
	ep_priv(ep)->ending = true;
	ep_pin_locked(ep);
	return true;
}

/* ------------------------------------------------------------------ connecting */

/* The attempt may have timed out. Service thread. */
static void attempt_timer(void *arg)
{
	struct datp_ep *ep = arg;
	bool mine;

	datp_lock(&ep->lock);
	/* An old timer may fire during a later attempt, or after it. */
	mine = datp_clock_us() >= ep_priv(ep)->give_up && claim_locked(ep, ACT);
	datp_unlock(&ep->lock);
	if (!mine)
		return;
	ep->obj.ia->ops->ep_disconnect(ep, DATP_CLOSE_ABORT);
	diag_connect(ep, DAT_CONNECTION_EVENT_TIMED_OUT, DAT_CONNECTION_EVENT_TIMED_OUT);
	ep_end(ep, EP_FAILED, DAT_CONNECTION_EVENT_TIMED_OUT);
}

static size_t address_size(const struct sockaddr *address)
{
	switch (address->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

/*
 * Begins an attempt. On success *buf belongs to the endpoint, and becomes that of the previous
 * attempt, or NULL.
 */
static enum datp_err attempt_begin(struct datp_ep *ep, const struct cm_connect *how, size_t size,
				   unsigned char **buf)
{
	struct ep_priv *priv = ep_priv(ep);
	enum datp_err err = DATP_OK;

	datp_lock(&ep->lock);
	if (ep_move_locked(ep, EP_CONNECT)) {
		unsigned char *before = priv->pdata_buf;

		priv->pdata_buf = *buf;
		*buf = before;
		priv->active = true;
		priv->give_up = NO_DEADLINE;
		priv->began = datp_clock_us();
		memset(&priv->target, 0, sizeof(priv->target));
		memcpy(&priv->target, how->address, size);
		priv->target_qual = how->qual;
		ep->remote_address = priv->target;
		ep->remote_port = how->qual;
	} else {
		err = ep_state_error(ep_state(ep));
	}
	datp_unlock(&ep->lock);
	return err;
}

enum datp_err ep_connect(struct datp_ep *ep, const struct cm_connect *how)
{
	struct datp_conn_param param = { .address = how->address,
					 .qual = how->qual,
					 .pdata = how->pdata,
					 .pdata_len = how->pdata_len };
	uint32_t buf_size = ia_attr(ep->obj.ia)->max_private_data;
	struct ep_priv *priv = ep_priv(ep);
	size_t size = address_size(how->address);
	unsigned char *buf;
	enum datp_err err;
	uint64_t until;

	if (!size)
		return DATP_ERR_ADDRESS_UNSUPPORTED;
	/*
	 * allocated now, so that the connection cannot lose the peer's private data for lack of
	 * memory
	 */
	buf = malloc(buf_size ? buf_size : 1);
	if (!buf)
		return DATP_ERR_MEMORY;
	err = attempt_begin(ep, how, size, &buf);
	free(buf); /* the previous attempt's, or after an error the new one */
	if (err)
		return err;
	/* The outcome may be reported before the op returns, so the state was set first. */
	err = ep->obj.ia->ops->ep_connect(ep, &param);
	if (err) {
		datp_lock(&ep->lock);
		ep_move_locked(ep, EP_CONNECT_REFUSED);
		priv->active = false;
		datp_unlock(&ep->lock);
		diag_connect_refused(ep, how->address, how->qual, err);
		return err;
	}
	ia_count(ep->obj.ia, COUNT_ATTEMPTS);
	count_add(&priv->connects, 1);
	until = deadline_from(how->timeout);
	if (until == NO_DEADLINE)
		return DATP_OK;
	datp_lock(&ep->lock);
	/*
	 * A thread that has taken the outcome may have freed the endpoint by now. A timer that is set under this lock while
	 * the endpoint is not dying is cancelled when it is freed.
	 */
	if (ep_may_be_pinned_locked(ep, ACT)) {
		priv->give_up = until;
		datp_timer_set(ep->obj.ia, &priv->timer, until, attempt_timer, ep);
	}
	datp_unlock(&ep->lock);
	return DATP_OK;
}

enum datp_err ep_dup_connect(struct datp_ep *ep, struct datp_ep *like, struct cm_connect *how)
{
	struct sockaddr_storage target;
	enum datp_err err = DATP_OK;
	int state = ep_state(ep);

	if (state != DAT_EP_STATE_UNCONNECTED)
		return ep_state_error(state);
	datp_lock(&like->lock);
	if (ep_state(like) != DAT_EP_STATE_CONNECTED)
		err = ep_state_error(ep_state(like));
	else if (!ep_priv(like)->active)
		err = DATP_ERR_BAD_EP;	/* nobody knows at which address its peer listens */
	target = ep_priv(like)->target;
	how->qual = ep_priv(like)->target_qual;
	datp_unlock(&like->lock);
	if (err)
		return err;
	how->address = (const struct sockaddr *)&target;
	return ep_connect(ep, how);
}

DATP_API bool datp_cm_established(struct datp_ep *ep, const void *pdata, uint32_t pdata_len)
{
	struct ep_priv *priv = ep_priv(ep);
	/* The peer's data are longer than the reserved space if the transport pads. */
	bool longer = pdata_len > ia_attr(ep->obj.ia)->max_private_data;
	unsigned char *copy = longer ? malloc(pdata_len) : NULL;
	bool active, fresh;

	datp_lock(&ep->lock);
	fresh = ep_may_be_pinned_locked(ep, ACT | CMP);
	active = ep_state(ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
	if (fresh && ep_move_locked(ep, EP_ESTABLISHED)) {
		if (active) {
			if (!longer) {
				copy = priv->pdata_buf;
				priv->pdata_buf = NULL;
			}
			if (copy && pdata_len)
				memcpy(copy, pdata, pdata_len);
			free(priv->pdata);
			priv->pdata = copy;
			priv->established.pdata = pdata_len ? copy : NULL;
			priv->established.pdata_len = copy ? pdata_len : 0;
			copy = NULL;
		} else {
			priv->established.pdata_len = 0;
		}
		queue_event_locked(ep, &priv->established, DAT_CONNECTION_EVENT_ESTABLISHED);
		diag_connected(ep);
	}
	datp_unlock(&ep->lock);
	free(copy);
	return fresh;
}

/* The passive side has one event for all failures, and the active side all others. */
static DAT_EVENT_NUMBER failure_shown(int state, DAT_EVENT_NUMBER why)
{
	if (state == DAT_EP_STATE_COMPLETION_PENDING)
		return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	switch (why) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return why;
	default:
		return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	}
}

/* Keeps the private data of a rejection for its event. EP lock held. */
static void keep_rejection_locked(struct datp_ep *ep, const void *pdata, uint32_t pdata_len)
{
	struct ep_priv *priv = ep_priv(ep);
	uint32_t most = ia_attr(ep->obj.ia)->max_private_data;

	if (!pdata_len || !priv->pdata_buf)
		return;
	free(priv->pdata);
	priv->pdata = priv->pdata_buf;
	priv->pdata_buf = NULL;
	priv->ended.pdata = priv->pdata;
	priv->ended.pdata_len = pdata_len < most ? pdata_len : most;
	memcpy(priv->pdata, pdata, priv->ended.pdata_len);
}

/* An attempt has failed; a rejection may have private data. */
static bool attempt_failed(struct datp_ep *ep, DAT_EVENT_NUMBER why, const void *pdata, uint32_t pdata_len)
{
	DAT_EVENT_NUMBER cause = why;
	bool mine;

	datp_lock(&ep->lock);
	mine = claim_locked(ep, ACT | CMP);
	why = failure_shown(ep_state(ep), why);
	if (mine && why == DAT_CONNECTION_EVENT_PEER_REJECTED)
		keep_rejection_locked(ep, pdata, pdata_len);
	datp_unlock(&ep->lock);
	if (!mine)
		return false;
	diag_connect(ep, why, cause);
	ep_end(ep, EP_FAILED, why);
	return true;
}

DATP_API bool datp_cm_failed(struct datp_ep *ep, DAT_EVENT_NUMBER why)
{
	return attempt_failed(ep, why, NULL, 0);
}

DATP_API bool datp_cm_rejected(struct datp_ep *ep, const void *pdata, uint32_t pdata_len)
{
	return attempt_failed(ep, DAT_CONNECTION_EVENT_PEER_REJECTED, pdata, pdata_len);
}

/* ------------------------------------------------------------------ disconnecting */

DATP_API bool datp_cm_disconnected(struct datp_ep *ep, DAT_EVENT_NUMBER why)
{
	DAT_EVENT_NUMBER reported = why;
	enum ep_cause cause;
	bool mine, by_peer;

	datp_lock(&ep->lock);
	mine = claim_locked(ep, ACT | CMP | CON | DPN);
	/* The peer went before the connection was complete, as the transport reports it. */
	cause = (ACT | CMP) & EP_IN(ep_state(ep)) ? EP_FAILED : EP_ENDED;
	if (cause == EP_FAILED)
		why = failure_shown(ep_state(ep), why);
	by_peer = ep_state(ep) == DAT_EP_STATE_CONNECTED && why == DAT_CONNECTION_EVENT_DISCONNECTED;
	datp_unlock(&ep->lock);
	if (!mine)
		return false;
	if (by_peer)
		ia_count(ep->obj.ia, COUNT_DISCONNECTED);
	if (cause == EP_ENDED)
		diag_ended(ep, why);
	else
		diag_connect(ep, why, reported);
	ep_end(ep, cause, why);
	return true;
}

/* Stops a claimed connection or attempt from this side. The caller then ends it. */
static void stop_from_here(struct datp_ep *ep, enum ep_cause cause, DAT_EVENT_NUMBER why)
{
	ep->obj.ia->ops->ep_disconnect(ep,
				       cause == EP_FAILED ? DATP_CLOSE_ABORT : DATP_CLOSE_ABRUPT);
	if (cause == EP_ENDED)
		diag_ended(ep, why);
}

enum datp_err ep_disconnect(struct datp_ep *ep, bool graceful)
{
	enum datp_err err = DATP_OK;
	enum { END, DRAIN, WAIT, NOTHING } todo = NOTHING;
	enum ep_cause cause = EP_ENDED;
	int state;

	datp_lock(&ep->lock);
	state = ep_state(ep);
	if (ep_priv(ep)->ending) {
		todo = WAIT;
	} else if ((ACT | CMP) & EP_IN(state)) {
		cause = EP_FAILED;
		todo = END;
	} else if (state == DAT_EP_STATE_CONNECTED && graceful) {
		todo = DRAIN;
		ep_move_locked(ep, EP_DRAIN);
		ep_pin_locked(ep);
	} else if ((CON | DPN) & EP_IN(state)) {
		todo = graceful ? NOTHING : END;
	} else if (state != DAT_EP_STATE_DISCONNECTED) {
		err = ep_state_error(state);
	}
	if (todo == END)
		claim_locked(ep, EP_IN(state));
	datp_unlock(&ep->lock);
	if ((todo == END && cause == EP_ENDED) || todo == DRAIN) {
		ia_count(ep->obj.ia, COUNT_DISCONNECTS);
		count_add(&ep_priv(ep)->disconnects, 1);
	}
	if (todo == END) {
		stop_from_here(ep, cause, DAT_CONNECTION_EVENT_DISCONNECTED);
		end_and_wait(ep, cause, DAT_CONNECTION_EVENT_DISCONNECTED);
	} else if (todo == DRAIN) {
		ep->obj.ia->ops->ep_disconnect(ep, DATP_CLOSE_GRACEFUL);
		ep_unpin(ep);
	} else if (todo == WAIT) {
		/* The peer, or the timer, ended it first; when this returns, the state shows it. */
		ep_await_unpinned(ep);
	}
	return err;
}

/* ------------------------------------------------------------------ watermarks */

/* Service thread. */
static void break_connection(struct datp_ep *ep)
{
	bool mine;

	datp_lock(&ep->lock);
	mine = claim_locked(ep, CON | DPN);
	datp_unlock(&ep->lock);
	if (!mine)
		return;
	stop_from_here(ep, EP_ENDED, DAT_CONNECTION_EVENT_BROKEN);
	ep_end(ep, EP_ENDED, DAT_CONNECTION_EVENT_BROKEN);
}

DATP_API void datp_ep_high(struct datp_ep *ep, bool hard)
{
	/* The caller may hold locks, and the end of a connection takes more of them. */
	diag_ep_high(ep, hard);
	if (!hard)
		evd_post_async(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, &ep->obj,
			       DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	else if (datp_ep_call(ep, break_connection))
		core_log(1, "no memory to break a connection: the program has to disconnect it");
}
