/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns EVDs: creation and free, the objects that feed them, and the notes for events that are not
 * embedded in an object. Invariant: an EVD that is fed is not freed, and before the memory of a
 * freed EVD is given back, its waiter and the service thread have left it.
 */
#include <stdlib.h>

#include "allow.h"
#include "cm.h"
#include "diag.h"
#include "evd.h"
#include "loan.h"
#include "providers/common/base/futex.h"

/* Programs ask for very short queues and then use more entries. */
enum { QLEN_MIN = 64 };

#define EVD_FLAGS_ALL ((unsigned int)DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

/* ------------------------------------------------------------------ streams */

/*
 * The other kinds of event can share an EVD only with DTOs that always notify, and DTOs only with
 * DTOs of the same flags.
 */
static bool streams_mix(enum evd_stream a, enum evd_stream b)
{
	return a == b || (a == STREAM_OTHER && b == STREAM_EVERY) ||
	       (a == STREAM_EVERY && b == STREAM_OTHER);
}

/*
 * Returns true and sets *clash if `stream` cannot share the EVD with the streams that it has.
 * Solicited receives never can: a device filters by them for a whole queue, and does not say which
 * completion was solicited. EVD lock held.
 */
static bool clashes_locked(struct datp_evd *evd, enum evd_stream stream, enum evd_stream *clash)
{
	bool allowed = ia_allows(evd->obj.ia, ALLOW_MIXED_COMPLETIONS);

	*clash = stream;
	/* A program that asked for software events posts them, sooner or later. */
	if ((evd->flags & DAT_EVD_SOFTWARE_FLAG) &&
	    ((stream == STREAM_UNSIGNALLED && !allowed) || stream == STREAM_SOLICITED))
		return true;
	for (int i = 0; i < STREAM_COUNT; i++) {
		bool lifted = allowed && stream != STREAM_SOLICITED && i != STREAM_SOLICITED;

		*clash = (enum evd_stream)i;
		if (evd_priv(evd)->streams[i] && !lifted && !streams_mix(stream, *clash))
			return true;
	}
	return false;
}

bool evd_attach(struct datp_evd *evd, enum evd_stream stream, bool explicit_threshold,
		enum evd_stream *clash)
{
	struct evd_priv *priv;
	enum evd_stream other = stream;
	bool fits;

	if (!evd)
		return true;
	priv = evd_priv(evd);
	datp_lock(&priv->lock);
	fits = !clashes_locked(evd, stream, &other);
	if (fits) {
		priv->streams[stream]++;
		priv->explicit_threshold |= explicit_threshold;
	}
	datp_unlock(&priv->lock);
	if (!fits && clash)
		*clash = other;
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

/* Returns the real length of a queue for the requested one. */
static uint32_t qlen_round(struct datp_ia *ia, int32_t asked)
{
	uint32_t limit = (uint32_t)ia_attr(ia)->max_evd_qlen;
	uint32_t qlen = (uint32_t)asked > QLEN_MIN ? (uint32_t)asked : QLEN_MIN;

	return qlen < limit ? qlen : limit;
}

/* Allocates a store of n more notes; returns NULL if there is no memory. */
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
		evd_note_give_locked(priv, &store->notes[i]);
}

/*
 * The number of notes: one for each software event that the queue can hold, and as many for
 * asynchronous ones.
 */
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

static bool qlen_ok(struct datp_ia *ia, int32_t qlen)
{
	int32_t limit = ia_attr(ia)->max_evd_qlen;

	if (qlen > limit)
		diag_too_much(ia, &(struct limited){ "EVD", "evd_min_qlen", "max_evd_qlen", (uint64_t)limit },
			      (uint64_t)qlen);
	return qlen > 0 && qlen <= limit;
}

enum datp_err evd_create(struct datp_ia *ia, int32_t qlen, struct datp_cno *cno,
			 DAT_EVD_FLAGS flags, struct datp_evd **out)
{
	struct datp_obj *obj;
	struct datp_evd *evd;
	enum datp_err err;

	if (!qlen_ok(ia, qlen))
		return DATP_ERR_BAD_QLEN;
	if (!flags || ((unsigned int)flags & ~EVD_FLAGS_ALL))
		return DATP_ERR_BAD_FLAGS;
	if (cno && !obj_hold(ia, cno, DATP_CNO))
		return DATP_ERR_HANDLE_CNO;
	err = obj_alloc(ia, DATP_EVD, sizeof(struct evd_priv) + ia_count_bytes(ia, EVD_SHOWN), ia->ops->evd_size, &obj);
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

	if (!qlen_ok(evd->obj.ia, asked))
		return DATP_ERR_BAD_QLEN;
	qlen = qlen_round(evd->obj.ia, asked);
	notes = notes_wanted(evd->flags, qlen);
	/*
	 * Only resize changes `notes`, and the consumer has to prevent concurrent resizes of an
	 * EVD.
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
	if (evd_is_over_locked(evd))
		/* it is being freed meanwhile, which is the consumer's error */
		err = DATP_ERR_HANDLE_EVD_REQUEST;
	else if (store)
		store_add_locked(priv, store, more);
	if (!err)
		priv->qlen = qlen;
	datp_unlock(&priv->lock);
	if (err)
		free(store);
	return err;
}

/* ------------------------------------------------------------------ the end */

/* Empties the queue of an EVD that nothing feeds any more. */
static void discard(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);

	for (;;) {
		struct datp_node *node;

		datp_lock(&priv->lock);
		node = priv->first ? evd_unlink_locked(evd, &priv->first) : NULL;
		datp_unlock(&priv->lock);
		if (!node)
			return;
		/*
		 * The consumer has not seen the connection request and never will, so nobody else can answer
		 * it.
		 */
		if (node->kind == NODE_CR)
			cr_destroy(cr_of_note((struct cr_note *)node));
		else if (node->kind == NODE_DTO)
			datp_wqe_reap((struct datp_wqe *)node);
	}
}

/* The EVD has been retired. */
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
	evd_wake_waiter(evd);
	futex_await_zero(&evd->waiter);
	futex_await_zero(&priv->wakers);
	/*
	 * The unlock is the last thing that a leaving waiter does, or a thread that has woken it: once this lock is taken, they
	 * have left.
	 */
	datp_lock(&priv->lock);
	datp_unlock(&priv->lock);
	/* The service thread may be in datp_evd_notify(). */
	datp_lock(&evd->poll_lock);
	priv->gone = true;
	datp_unlock(&evd->poll_lock);
	datp_timer_cancel(evd->obj.ia, &priv->arm_timer);
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
 * A waiter checks the handle and registers under the EVD lock. This takes that lock once, so the
 * check of each waiter that has registered before comes before the free of the handle.
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
	err = obj_retire(evd, false, DATP_ERR_STATE_EVD_IN_USE, DATP_ERR_HANDLE_EVD_REQUEST);

	if (!err)
		evd_end(evd);
	return err;
}

void evd_destroy(struct datp_evd *evd)
{
	see_waiter(evd);
	if (obj_retire(evd, true, DATP_OK, DATP_ERR_HANDLE_EVD_REQUEST))
		return;
	loans_end(evd);
	evd_end(evd);
}

/* ------------------------------------------------------------------ notes */

static struct evd_note *note_take_locked(struct evd_priv *priv)
{
	struct evd_note *note = priv->spare;

	if (note)
		priv->spare = (struct evd_note *)note->node.next;
	return note;
}

enum datp_err evd_post_soft(struct datp_evd *evd, void *pointer)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_wakeup wakeup = { 0 };
	struct evd_note *note = NULL;
	bool over;

	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DATP_ERR_PARAM;
	datp_lock(&priv->lock);
	/* another thread frees the EVD, which is the consumer's error: its notes are gone, or about to go */
	over = evd_is_over_locked(evd);
	/* relaxed: it changes under the lock */
	if (!over && atomic_load_explicit(&evd->queued, memory_order_relaxed) < priv->qlen)
		note = note_take_locked(priv);
	if (note) {
		note->node.kind = NODE_SOFT;
		note->node.number = DAT_SOFTWARE_EVENT;
		note->about = pointer;
		evd_append_locked(evd, &note->node);
		evd_notify_locked(evd, &wakeup);
	}
	if (wakeup.waiter) {
		/* The waiter may find the event by itself, and free the EVD. */
		evd_wake_held_unlock(evd);
	} else {
		datp_unlock(&priv->lock);
		evd_wake(evd, &wakeup, false);
	}
	if (over)
		return DATP_ERR_HANDLE_EVD_REQUEST;
	return note ? DATP_OK : DATP_ERR_QUEUE_FULL;
}

static void count_async(struct datp_ia *ia, DAT_EVENT_NUMBER number)
{
	ia_count(ia, COUNT_ASYNC);
	if (number == DAT_ASYNC_ERROR_EP_BROKEN)
		ia_count(ia, COUNT_ASYNC_EP);
	else if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		ia_count(ia, COUNT_ASYNC_EVD);
}

static void say_lost(void *ia)
{
	core_log(2, "%s: asynchronous errors are lost, because its asynchronous EVD is full; take the events of that EVD, or open "
		 "the adapter with a larger async_evd_min_qlen",
		 ((struct datp_ia *)ia)->name);
}

/* An asynchronous error has found no note. The caller may hold an EP lock, so the service thread logs it. */
static void async_lost(struct datp_ia *ia)
{
	if (log_once(2, "async lost", &ia, sizeof(ia)) && datp_loop_call(ia, say_lost, ia))
		say_lost(ia);
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
	bool lost = false;

	count_async(ia, number);
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
		evd_append_locked(evd, &note->node);
		evd_notify_locked(evd, &wakeup);
	}
	lost = !note;
	datp_unlock(&priv->lock);
	evd_wake(evd, &wakeup, true);
unlock:
	datp_unlock(&ia_part->async_lock);
	if (lost)
		async_lost(ia);
}

void evd_post_srq_end(struct datp_ia *ia, struct evd_note *note)
{
	struct ia_priv *ia_part = ia_priv(ia);

	count_async(ia, note->node.number);
	/* The lock keeps the EVD from being freed. */
	datp_lock(&ia_part->async_lock);
	if (ia_part->async_evd)
		evd_post(ia_part->async_evd, &note->node, true);
	datp_unlock(&ia_part->async_lock);
}

/* Removes the notes that are of `what`, as `is_of` says. The EVD is not freed meanwhile. */
static void purge_notes(struct datp_evd *evd, bool (*is_of)(const struct datp_node *node, const void *what), const void *what)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_node **at = &priv->first;

	datp_lock(&priv->lock);
	while (*at)
		if (is_of(*at, what))
			evd_note_give_locked(priv, (struct evd_note *)evd_unlink_locked(evd, at));
		else
			at = &(*at)->next;
	datp_unlock(&priv->lock);
}

static bool is_error_about(const struct datp_node *node, const void *about)
{
	bool is_error = node->kind == NODE_ASYNC || node->kind == NODE_SRQ_END;

	return is_error && ((const struct evd_note *)node)->about == about;
}

void evd_purge_async(struct datp_ia *ia, const struct datp_obj *about)
{
	struct ia_priv *ia_part = ia_priv(ia);

	datp_lock(&ia_part->async_lock);
	if (ia_part->async_evd)
		purge_notes(ia_part->async_evd, is_error_about, about);
	datp_unlock(&ia_part->async_lock);
}

static bool is_srq_end_in(const struct datp_node *node, const void *ia)
{
	const struct evd_note *note = (const struct evd_note *)node;

	return node->kind == NODE_SRQ_END && ((const struct datp_obj *)note->about)->ia == ia;
}

void evd_purge_srq_ends(struct datp_evd *evd, const struct datp_ia *ia)
{
	purge_notes(evd, is_srq_end_in, ia);
}
