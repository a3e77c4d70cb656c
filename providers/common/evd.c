/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the queue of an EVD. Invariant: `queued` is the length of the list, and whoever puts the
 * event there that somebody waits for also wakes him, after the EVD lock is off.
 *
 * No wake-up is lost. A waiter reads the bell before it looks at the queue and sleeps only while
 * the bell has not changed; a poster queues before it rings. So either the waiter's look sees the
 * event, or its sleep sees the bell. That the poster rings at all only if a waiter has registered
 * is decided under the EVD lock, which the waiter takes to register before its first look.
 *
 * Who may post: somebody who keeps the EVD from being freed, by a lock of an object that feeds it
 * (EP, SP), by a pin on that object, or by the async lock of an IA.
 */
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "ep.h"
#include "evd.h"
#include "futex.h"

enum {
	DRAIN_BATCH = 16,
	/* Programs ask for very short queues and then use them harder. */
	QLEN_MIN = 64,
};

#define EVD_FLAGS_ALL ((unsigned int)DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

/* ------------------------------------------------------------------ the list */

/* Puts a node where *at is. */
static void insert_locked(struct datp_evd *evd, struct datp_node **at, struct datp_node *node)
{
	struct evd_priv *priv = evd_priv(evd);

	node->next = *at;
	node->flags |= NODE_QUEUED;
	*at = node;
	if (!node->next)
		priv->last = &node->next;
	if (node->kind == NODE_CR)
		priv->crs++;
	/*
	 * release: who sees the count without the lock and then polls must not poll what came
	 * before this
	 */
	atomic_fetch_add_explicit(&evd->queued, 1, memory_order_release);
}

static void append_locked(struct datp_evd *evd, struct datp_node *node)
{
	evd_priv(evd)->appended++;
	insert_locked(evd, evd_priv(evd)->last, node);
}

/* Takes out the node that *at points to. */
static struct datp_node *unlink_locked(struct datp_evd *evd, struct datp_node **at)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_node *node = *at;

	*at = node->next;
	if (!*at)
		priv->last = at;
	node->flags &= (uint16_t)~NODE_QUEUED;
	if (node->kind == NODE_CR)
		priv->crs--;
	/* relaxed: a hint outside the lock */
	atomic_fetch_sub_explicit(&evd->queued, 1, memory_order_relaxed);
	return node;
}

/* What an event that has just been queued sets off. */
static void notify_locked(struct datp_evd *evd, struct evd_wakeup *wakeup)
{
	struct evd_priv *priv = evd_priv(evd);

	/* relaxed, both: they change under the EVD lock */
	if (atomic_load_explicit(&evd->waiter, memory_order_relaxed)) {
		priv->notified = true;
		if (atomic_load_explicit(&evd->queued, memory_order_relaxed) >= priv->threshold)
			wakeup->waiter = true;
	} else if (priv->cno && !priv->disabled) {
		wakeup->cno = priv->cno;
		wakeup->agent |= cno_trigger(priv->cno, evd);
	}
}

void evd_ring(struct datp_evd *evd)
{
	/* release: what was queued is seen by who sees the new value */
	atomic_fetch_add_explicit(evd->bell, 1, memory_order_release);
	evd->obj.ia->ops->evd_wake(evd);
}

/* `soon`: the caller holds locks, so the consumer's agent is called by the service thread. */
static void wake(struct datp_evd *evd, const struct evd_wakeup *wakeup, bool soon)
{
	if (wakeup->waiter)
		evd_ring(evd);
	if (wakeup->cno)
		cno_ring(wakeup->cno);
	if (wakeup->agent && soon)
		cno_call_agent_soon(wakeup->cno);
	else if (wakeup->agent)
		cno_call_agent(wakeup->cno);
}

void evd_post(struct datp_evd *evd, struct datp_node *node, bool notify)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_wakeup wakeup = { 0 };

	datp_lock(&priv->lock);
	append_locked(evd, node);
	if (notify)
		notify_locked(evd, &wakeup);
	datp_unlock(&priv->lock);
	wake(evd, &wakeup, true);
}

void evd_unpost(struct datp_evd *evd, struct datp_node *node)
{
	struct evd_priv *priv = evd_priv(evd);

	datp_lock(&priv->lock);
	if (node->flags & NODE_QUEUED) {
		struct datp_node **at = &priv->first;

		while (*at != node)
			at = &(*at)->next;
		unlink_locked(evd, at);
	}
	datp_unlock(&priv->lock);
}

void evd_purge_ep(struct datp_evd *evd, const struct datp_ep *ep)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_node **at = &priv->first;

	datp_lock(&priv->lock);
	while (*at) {
		struct datp_node *node = *at;

		if (node->kind == NODE_DTO && ((struct datp_wqe *)node)->ep == ep) {
			unlink_locked(evd, at);
			datp_wqe_reap((struct datp_wqe *)node);
		} else if (node->kind == NODE_CONN && ((struct conn_note *)node)->ep == ep) {
			unlink_locked(evd, at);
		} else {
			at = &node->next;
		}
	}
	datp_unlock(&priv->lock);
}

/* ------------------------------------------------------------------ taking events */

static void note_give_locked(struct evd_priv *priv, struct evd_note *note)
{
	note->node.next = priv->spare ? &priv->spare->node : NULL;
	priv->spare = note;
}

static struct evd_note *note_take_locked(struct evd_priv *priv)
{
	struct evd_note *note = priv->spare;

	if (note)
		priv->spare = (struct evd_note *)note->node.next;
	return note;
}

static void conn_event(const struct conn_note *note, DAT_EVENT *event)
{
	DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

	data->ep_handle = note->ep;
	data->private_data_size = (DAT_COUNT)note->pdata_len;
	data->private_data = (DAT_PVOID)(uintptr_t)note->pdata;
}

bool evd_pop_locked(struct datp_evd *evd, DAT_EVENT *event)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_node *node;
	struct evd_note *note;

	if (!priv->first)
		return false;
	node = unlink_locked(evd, &priv->first);
	if (node->kind == NODE_DTO) {
		datp_wqe_event((struct datp_wqe *)node, evd, event);
		datp_wqe_reap((struct datp_wqe *)node);
		return true;
	}
	event->event_number = (DAT_EVENT_NUMBER)node->number;
	event->evd_handle = evd;
	switch (node->kind) {
	case NODE_CONN:
		conn_event((struct conn_note *)node, event);
		break;
	case NODE_CR:
		cr_event((struct cr_note *)node, event);
		break;
	default:
		note = (struct evd_note *)node;
		if (node->kind == NODE_SOFT) {
			event->event_data.software_event_data.pointer = note->about;
		} else {
			event->event_data.asynch_error_event_data.dat_handle = note->about;
			event->event_data.asynch_error_event_data.reason = note->reason;
		}
		note_give_locked(priv, note);
	}
	return true;
}

/* EVD lock held, and the poll lock if a drain must not be under way. */
static enum datp_err take_locked(struct datp_evd *evd, DAT_EVENT *event)
{
	/* relaxed: written under the lock */
	if (atomic_load_explicit(&evd->waiter, memory_order_relaxed))
		return DATP_ERR_STATE_EVD_WAITER;
	return evd_pop_locked(evd, event) ? DATP_OK : DATP_ERR_QUEUE_EMPTY;
}

DATP_API enum datp_err datp_evd_take(struct datp_evd *evd, DAT_EVENT *event)
{
	struct evd_priv *priv = evd_priv(evd);
	enum datp_err err = DATP_OK;
	bool draining;

	datp_lock(&priv->lock);
	draining = priv->draining;
	if (!draining)
		err = take_locked(evd, event);
	datp_unlock(&priv->lock);
	if (!draining)
		return err;
	datp_lock(&evd->poll_lock);
	datp_lock(&priv->lock);
	err = take_locked(evd, event);
	datp_unlock(&priv->lock);
	datp_unlock(&evd->poll_lock);
	return err;
}

/* ------------------------------------------------------------------ the transport's completions */

/*
 * What a poll returned was completed before anything that has been queued since the poll began: by
 * the transport in the same poll, or by a post on another thread. So it goes before that; and as
 * long as the poll lasts nobody takes what is queued (`draining`).
 */
static void drained_insert(struct datp_evd *evd, const struct datp_completion *done, int n,
			   uint32_t appended_before)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_wakeup wakeup = { 0 };
	struct datp_node **at;
	uint32_t newer;

	datp_lock(&priv->lock);
	newer = priv->appended - appended_before;
	at = priv->last;
	if (newer) {
		/* relaxed: under the lock */
		uint32_t older = atomic_load_explicit(&evd->queued, memory_order_relaxed);

		older = older > newer ? older - newer : 0;
		for (at = &priv->first; older; older--)
			at = &(*at)->next;
	}
	for (int i = 0; i < n; i++) {
		struct datp_wqe *wqe = done[i].wqe;

		wqe->node.kind = NODE_DTO;
		insert_locked(evd, at, &wqe->node);
		at = &wqe->node.next;
		if (wqe_notifies(wqe, done[i].solicited))
			notify_locked(evd, &wakeup);
	}
	priv->draining = false;
	datp_unlock(&priv->lock);
	wake(evd, &wakeup, true);
}

void evd_drain_locked(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_completion done[DRAIN_BATCH];
	int n;

	if (!evd->has_cq || priv->gone)
		return;
	do {
		uint32_t appended;

		datp_lock(&priv->lock);
		priv->draining = true;
		appended = priv->appended;
		datp_unlock(&priv->lock);
		n = evd->obj.ia->ops->evd_poll(evd, done, DRAIN_BATCH);
		drained_insert(evd, done, n, appended);
	} while (n > 0);
}

void evd_progress(struct datp_evd *evd)
{
	const struct datp_ops *ops = evd->obj.ia->ops;

	if (!evd->has_cq || !ops->evd_pending(evd))
		return;
	datp_lock(&evd->poll_lock);
	evd_drain_locked(evd);
	datp_unlock(&evd->poll_lock);
}

void evd_rearm(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);

	if (!evd->has_cq)
		return;
	for (;;) {
		bool wanted, solicited, more = false;

		datp_lock(&priv->lock);
		wanted = priv->cno && !priv->disabled;
		solicited = priv->streams[STREAM_SOLICITED] != 0;
		datp_unlock(&priv->lock);
		if (!wanted)
			return;
		datp_lock(&evd->poll_lock);
		if (!priv->gone && evd->obj.ia->ops->evd_arm(evd, DATP_ARM_CNO, solicited)) {
			evd_drain_locked(evd);
			more = true;
		}
		datp_unlock(&evd->poll_lock);
		if (!more)
			return;
	}
}

DATP_API void datp_evd_notify(struct datp_evd *evd)
{
	datp_lock(&evd->poll_lock);
	evd_drain_locked(evd);
	datp_unlock(&evd->poll_lock);
	evd_rearm(evd);
}

/* ------------------------------------------------------------------ streams */

bool evd_attach(struct datp_evd *evd, enum evd_stream stream, bool explicit_threshold)
{
	struct evd_priv *priv;
	bool fits = true;

	if (!evd)
		return true;
	priv = evd_priv(evd);
	datp_lock(&priv->lock);
	for (int i = 0; i < STREAM_COUNT; i++) {
		/*
		 * the other kinds of event only mix with DTOs that always notify; DTOs only with
		 * their like
		 */
		bool mixes = i == (int)stream || (i == STREAM_OTHER && stream == STREAM_EVERY) ||
			     (i == STREAM_EVERY && stream == STREAM_OTHER);

		if (priv->streams[i] && !mixes)
			fits = false;
	}
	if (fits) {
		priv->streams[stream]++;
		priv->explicit_threshold |= explicit_threshold;
	}
	datp_unlock(&priv->lock);
	return fits;
}

void evd_detach(struct datp_evd *evd, enum evd_stream stream)
{
	struct evd_priv *priv;

	if (!evd)
		return;
	priv = evd_priv(evd);
	datp_lock(&priv->lock);
	priv->streams[stream]--;
	if (!priv->streams[STREAM_EVERY])
		priv->explicit_threshold = false;
	datp_unlock(&priv->lock);
}

bool evd_takes_cr(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	bool room;

	datp_lock(&priv->lock);
	room = priv->crs < priv->qlen;
	datp_unlock(&priv->lock);
	return room;
}

uint32_t evd_state(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	uint32_t state;

	datp_lock(&priv->lock);
	state = priv->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED;
	state |= priv->unwaitable ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE;
	if (priv->streams[STREAM_UNSIGNALLED])
		state |= DAT_EVD_STATE_CONFIG_NOTIFY;
	else if (priv->streams[STREAM_SOLICITED])
		state |= DAT_EVD_STATE_CONFIG_SOLICITED;
	else if (priv->explicit_threshold)
		state |= DAT_EVD_STATE_CONFIG_THRESHOLD;
	datp_unlock(&priv->lock);
	return state;
}

/* ------------------------------------------------------------------ creation and size */

/* What a queue of the asked length really holds. */
static uint32_t qlen_round(struct datp_ia *ia, int32_t asked)
{
	uint32_t limit = (uint32_t)ia_attr(ia)->max_evd_qlen;
	uint32_t qlen = (uint32_t)asked > QLEN_MIN ? (uint32_t)asked : QLEN_MIN;

	return qlen < limit ? qlen : limit;
}

/* A store of n more notes; NULL if there is no memory. */
static struct evd_store *store_alloc(uint32_t n)
{
	return calloc(1, sizeof(struct evd_store) + n * sizeof(struct evd_note));
}

static void store_add_locked(struct evd_priv *priv, struct evd_store *store, uint32_t n)
{
	store->next = priv->stores;
	priv->stores = store;
	priv->notes += n;
	for (uint32_t i = 0; i < n; i++)
		note_give_locked(priv, &store->notes[i]);
}

/* Notes for software events up to the length of the queue, and as many for asynchronous ones. */
static uint32_t notes_wanted(DAT_EVD_FLAGS flags, uint32_t qlen)
{
	return (flags & DAT_EVD_SOFTWARE_FLAG ? qlen : 0) + (flags & DAT_EVD_ASYNC_FLAG ? qlen : 0);
}

static void stores_free(struct evd_priv *priv)
{
	while (priv->stores) {
		struct evd_store *store = priv->stores;

		priv->stores = store->next;
		free(store);
	}
}

static enum datp_err evd_init(struct datp_evd *evd, int32_t qlen, DAT_EVD_FLAGS flags)
{
	struct evd_priv *priv = evd_priv(evd);
	uint32_t notes;

	priv->last = &priv->first;
	priv->qlen = qlen_round(evd->obj.ia, qlen);
	evd->flags = flags;
	evd->bell = &priv->own_bell;
	evd->has_cq = flags & (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	notes = notes_wanted(flags, priv->qlen);
	if (notes) {
		struct evd_store *store = store_alloc(notes);

		if (!store)
			return DATP_ERR_MEMORY;
		store_add_locked(priv, store, notes);
	}
	return DATP_OK;
}

enum datp_err evd_create(struct datp_ia *ia, int32_t qlen, struct datp_cno *cno,
			 DAT_EVD_FLAGS flags, struct datp_evd **out)
{
	struct datp_obj *obj;
	struct datp_evd *evd;
	enum datp_err err;

	if (qlen <= 0 || qlen > ia_attr(ia)->max_evd_qlen)
		return DATP_ERR_ARG2;
	if (!flags || ((unsigned int)flags & ~EVD_FLAGS_ALL))
		return DATP_ERR_ARG4;
	if (cno && !obj_hold(ia, cno, DATP_CNO))
		return DATP_ERR_HANDLE_CNO;
	err = obj_alloc(ia, DATP_EVD, sizeof(struct evd_priv), ia->ops->evd_size, &obj);
	if (err)
		goto drop_cno;
	evd = (struct datp_evd *)obj;
	err = evd_init(evd, qlen, flags);
	if (err)
		goto release;
	err = ia->ops->evd_create(evd, (int32_t)evd_priv(evd)->qlen);
	if (err)
		goto free_stores;
	if (cno) {
		evd_priv(evd)->cno = cno;
		cno_attach(cno, evd);
	}
	err = obj_publish(evd);
	if (err)
		goto detach;
	evd_rearm(evd);
	*out = evd;
	return DATP_OK;

detach:
	if (cno)
		cno_detach(cno, evd, false);
	ia->ops->evd_free(evd);
free_stores:
	stores_free(evd_priv(evd));
release:
	obj_release(evd);
drop_cno:
	obj_drop(cno);
	return err;
}

enum datp_err evd_resize(struct datp_evd *evd, int32_t asked)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_store *store = NULL;
	uint32_t qlen, notes, more = 0;
	enum datp_err err = DATP_OK;

	if (asked <= 0 || asked > ia_attr(evd->obj.ia)->max_evd_qlen)
		return DATP_ERR_ARG2;
	qlen = qlen_round(evd->obj.ia, asked);
	notes = notes_wanted(evd->flags, qlen);
	/*
	 * Only resize changes `notes`, and concurrent resizes of an EVD are the consumer's to
	 * avoid.
	 */
	if (notes > priv->notes) {
		more = notes - priv->notes;
		store = store_alloc(more);
		if (!store)
			return DATP_ERR_MEMORY;
	}
	if (evd->has_cq)
		err = evd->obj.ia->ops->evd_resize(evd, (int32_t)qlen);
	if (err) {
		free(store);
		return err;
	}
	datp_lock(&priv->lock);
	if (store)
		store_add_locked(priv, store, more);
	priv->qlen = qlen;
	datp_unlock(&priv->lock);
	return DATP_OK;
}

/* ------------------------------------------------------------------ the end */

/* Empties the queue of an EVD that nothing feeds any more. */
static void discard(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);

	for (;;) {
		struct datp_node *node;

		datp_lock(&priv->lock);
		node = priv->first ? unlink_locked(evd, &priv->first) : NULL;
		datp_unlock(&priv->lock);
		if (!node)
			return;
		/*
		 * The consumer has not seen the request and never will: nobody else can answer it.
		 */
		if (node->kind == NODE_CR)
			cr_destroy(cr_of_note((struct cr_note *)node));
		else if (node->kind == NODE_DTO)
			datp_wqe_reap((struct datp_wqe *)node);
	}
}

/* Of a retired EVD. */
static void evd_end(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_cno *cno;
	bool agent = false;

	datp_lock(&priv->lock);
	priv->dead = true;
	cno = priv->cno;
	priv->cno = NULL;
	datp_unlock(&priv->lock);
	evd_ring(evd);
	futex_await_zero(&evd->waiter);
	/* The last thing that a leaving waiter does is to unlock: after this it is out. */
	datp_lock(&priv->lock);
	datp_unlock(&priv->lock);
	/* The service thread may be in datp_evd_notify(). */
	datp_lock(&evd->poll_lock);
	priv->gone = true;
	datp_unlock(&evd->poll_lock);
	if (cno)
		agent = cno_detach(cno, evd, true);
	discard(evd);
	evd->obj.ia->ops->evd_free(evd);
	stores_free(priv);
	if (agent)
		cno_call_agent(cno);
	obj_drop(cno);
	obj_release(evd);
}

/*
 * A waiter took the EVD lock to register, after it had looked at the handle: with the lock taken
 * here, its look was before the handle goes.
 */
static void see_waiter(struct datp_evd *evd)
{
	datp_lock(&evd_priv(evd)->lock);
	datp_unlock(&evd_priv(evd)->lock);
}

enum datp_err evd_free(struct datp_evd *evd)
{
	enum datp_err err;

	see_waiter(evd);
	err = obj_retire(evd, false, DATP_ERR_STATE_EVD_IN_USE, DATP_ERR_HANDLE);

	if (!err)
		evd_end(evd);
	return err;
}

void evd_destroy(struct datp_evd *evd)
{
	see_waiter(evd);
	if (!obj_retire(evd, true, DATP_OK, DATP_ERR_HANDLE))
		evd_end(evd);
}

/* ------------------------------------------------------------------ notes */

enum datp_err evd_post_soft(struct datp_evd *evd, void *pointer)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_wakeup wakeup = { 0 };
	struct evd_note *note = NULL;

	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DATP_ERR_PARAM;
	datp_lock(&priv->lock);
	/* relaxed: it changes under the lock */
	if (atomic_load_explicit(&evd->queued, memory_order_relaxed) < priv->qlen)
		note = note_take_locked(priv);
	if (note) {
		note->node.kind = NODE_SOFT;
		note->node.number = DAT_SOFTWARE_EVENT;
		note->about = pointer;
		append_locked(evd, &note->node);
		notify_locked(evd, &wakeup);
	}
	datp_unlock(&priv->lock);
	wake(evd, &wakeup, false);
	return note ? DATP_OK : DATP_ERR_QUEUE_FULL;
}

void evd_post_async(struct datp_ia *ia, DAT_EVENT_NUMBER number, struct datp_obj *about,
		    int32_t reason)
{
	struct ia_priv *ia_part = ia_priv(ia);
	struct evd_wakeup wakeup = { 0 };
	struct evd_note *note;
	struct evd_priv *priv;
	struct datp_evd *evd;
	DAT_HANDLE shown = about == &ia->obj ? ia_shown(ia) : (DAT_HANDLE)about;

	/* The lock keeps the EVD from being freed until the waking is done. */
	datp_lock(&ia_part->async_lock);
	evd = ia_part->async_evd;
	if (!evd)
		goto unlock;
	priv = evd_priv(evd);
	datp_lock(&priv->lock);
	note = note_take_locked(priv);
	if (note) {
		note->node.kind = NODE_ASYNC;
		note->node.number = number;
		note->about = shown;
		note->reason = reason;
		append_locked(evd, &note->node);
		notify_locked(evd, &wakeup);
	} else {
		priv->lost++;
	}
	datp_unlock(&priv->lock);
	wake(evd, &wakeup, true);
unlock:
	datp_unlock(&ia_part->async_lock);
}
