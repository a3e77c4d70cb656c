/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the queue of an EVD. Invariant: `queued` is the length of the list, and the thread that
 * queues an event for which a waiter sleeps also wakes it, after it has released the EVD lock.
 *
 * No wake-up is lost. A waiter reads the word `bell` before it looks at the queue, and sleeps only while
 * that word is unchanged; a poster queues the event before it counts the word up. So either the waiter's look sees the
 * event, or its sleep sees the new value. The poster wakes only if a waiter has registered. It checks that
 * under the EVD lock, which the waiter takes to register before its first look. The poster does not
 * wake a waiter that is awake, and in particular not for itself when a waiter polls for
 * completions: such a waiter takes the lock once more, to check the queue, before it sleeps.
 *
 * A thread may post only while it keeps the EVD from being freed: by a lock of an object that feeds
 * it (EP, SP), by a pin on that object if the two are of one IA, or by the async lock of an IA.
 */
#include <stdlib.h>

#include "ep.h"
#include "evd_take.h"
#include "providers/common/base/bias.h"
#include "providers/common/base/futex.h"
#include "providers/common/base/notify.h"

enum { DRAIN_BATCH = 16 };

/* ------------------------------------------------------------------ the list */

/* Inserts a node before *at. */
static inline void insert_locked(struct datp_evd *evd, struct datp_node **at, struct datp_node *node)
{
	struct evd_priv *priv = evd_priv(evd);

	node->next = *at;
	node->flags |= NODE_QUEUED;
	*at = node;
	if (!node->next)
		priv->last = &node->next;
	if (__builtin_expect(node->kind == NODE_CR, 0))
		priv->crs++;
	/*
	 * Written under the EVD lock only, so no atomic read-modify-write is needed. release: a
	 * thread that sees the count without the lock and then polls must not poll what came before
	 * this
	 */
	atomic_store_explicit(&evd->queued,
			      atomic_load_explicit(&evd->queued, memory_order_relaxed) + 1,
			      memory_order_release);
}

static inline void append_locked(struct datp_evd *evd, struct datp_node *node)
{
	insert_locked(evd, evd_priv(evd)->last, node);
}

void evd_append_locked(struct datp_evd *evd, struct datp_node *node)
{
	append_locked(evd, node);
}

/* Removes the node that *at points to, also while completions are being moved to the list. */
struct datp_node *evd_unlink_locked(struct datp_evd *evd, struct datp_node **at)
{
	struct datp_node *node = *at;

	if (evd_priv(evd)->drain_at == &node->next)
		evd_priv(evd)->drain_at = at;
	evd_unlink_counted_locked(evd, at);
	evd_uncount_locked(evd);
	return node;
}

/* Wakes a waiter or triggers the CNO for an event that has just been queued. */
void evd_notify_locked(struct datp_evd *evd, struct evd_wakeup *wakeup)
{
	struct evd_priv *priv = evd_priv(evd);

	/*
	 * relaxed, all: they change under the EVD lock, except that a waiter clears `asleep` without it at the end of
	 * its sleep. It checks the queue after that, so it needs no wake-up
	 */
	if (atomic_load_explicit(&evd->waiter, memory_order_relaxed)) {
		priv->notified = true;
		if (atomic_load_explicit(&evd->queued, memory_order_relaxed) >= priv->threshold &&
		    atomic_load_explicit(&priv->asleep, memory_order_relaxed))
			wakeup->waiter = true;
	} else if (priv->cno && !priv->disabled) {
		wakeup->cno = priv->cno;
		wakeup->agent |= cno_trigger(priv->cno, evd);
	}
}

void evd_wake_waiter(struct datp_evd *evd)
{
	/* release: a thread that sees the new value sees what was queued */
	atomic_fetch_add_explicit(evd->bell, 1, memory_order_release);
	evd->obj.ia->ops->evd_wake(evd);
}

void evd_wake(struct datp_evd *evd, const struct evd_wakeup *wakeup, bool soon)
{
	if (wakeup->waiter)
		evd_wake_waiter(evd);
	if (wakeup->cno)
		cno_wake_waiters(wakeup->cno);
	if (wakeup->agent && soon)
		cno_call_agent_soon(wakeup->cno);
	else if (wakeup->agent)
		cno_call_agent(wakeup->cno);
}

void evd_wake_held_unlock(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	bool awaited;

	/* relaxed, both: it changes under the lock, which the thread that frees the EVD takes after it has seen 0 */
	atomic_fetch_add_explicit(&priv->wakers, 1, memory_order_relaxed);
	datp_unlock(&priv->lock);
	evd_wake_waiter(evd);
	datp_lock(&priv->lock);
	awaited = atomic_fetch_sub_explicit(&priv->wakers, 1, memory_order_relaxed) == 1 && priv->dead;
	datp_unlock(&priv->lock);
	if (awaited)
		/* perhaps the memory is another object's already, whose waiters then wake for nothing */
		futex_wake(&priv->wakers, false);
}

void evd_post(struct datp_evd *evd, struct datp_node *node, bool notify)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_wakeup wakeup = { 0 };

	datp_lock(&priv->lock);
	append_locked(evd, node);
	/* relaxed: it changes under the EVD lock. Mostly there is nobody to notify. */
	notify = notify &&
		 (atomic_load_explicit(&evd->waiter, memory_order_relaxed) || priv->cno);
	if (__builtin_expect(notify, 0))
		evd_notify_locked(evd, &wakeup);
	datp_unlock(&priv->lock);
	if (__builtin_expect(notify, 0))
		evd_wake(evd, &wakeup, true);
}

void evd_unpost(struct datp_evd *evd, struct datp_node *node)
{
	struct evd_priv *priv = evd_priv(evd);

	datp_lock(&priv->lock);
	if (node->flags & NODE_QUEUED) {
		struct datp_node **at = &priv->first;

		while (*at != node)
			at = &(*at)->next;
		evd_unlink_locked(evd, at);
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
			evd_unlink_locked(evd, at);
			datp_wqe_reap((struct datp_wqe *)node);
		} else if (node->kind == NODE_CONN && ((struct conn_note *)node)->ep == ep) {
			evd_unlink_locked(evd, at);
		} else {
			at = &node->next;
		}
	}
	datp_unlock(&priv->lock);
}

/* ------------------------------------------------------------------ notes */

void evd_note_give_locked(struct evd_priv *priv, struct evd_note *note)
{
	struct evd_note **list = note->node.kind == NODE_LEFT ? &priv->left_spare : &priv->spare;

	if (note->node.kind == NODE_SRQ_END)
		return;
	note->node.next = *list ? &(*list)->node : NULL;
	*list = note;
}

/* Puts a note in the place of an event, if that is queued. Returns false if there is no note. */
static bool event_keep_locked(struct datp_evd *evd, struct conn_note *event)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_note *note = priv->left_spare;
	struct datp_node **at = &priv->first;

	if (!(event->node.flags & NODE_QUEUED))
		return true;
	if (!note)
		return false;
	priv->left_spare = (struct evd_note *)note->node.next;
	note->node.number = event->node.number;
	note->about = event->ep;
	while (*at != &event->node)
		at = &(*at)->next;
	insert_locked(evd, at, &note->node);
	evd_unlink_locked(evd, &note->node.next);
	return true;
}

/* The notes are kept apart from those of software events, which are as many as the program was promised. */
static struct evd_store *left_store(struct datp_evd *evd)
{
	struct evd_store *store = calloc(1, sizeof(*store) + sizeof(store->notes[0]));

	if (store)
		store->notes[0].node.kind = NODE_LEFT;
	else if (log_once(2, "left", &evd, sizeof(evd)))
		core_log(2, "%s: a connection event is lost: its endpoint has been freed, and there is no memory to keep it",
			 evd->obj.ia->name);
	return store;
}

static void event_keep(struct datp_evd *evd, struct conn_note *event)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_store *store = NULL;
	bool kept, full;

	datp_lock(&priv->lock);
	kept = event_keep_locked(evd, event);
	full = priv->left >= priv->qlen;
	datp_unlock(&priv->lock);
	if (kept)
		return;
	if (!full)
		store = left_store(evd);
	else if (log_once(2, "left", &evd, sizeof(evd)))
		core_log(2, "%s: connection events are lost: their endpoints have been freed, and %u such events wait in the EVD; "
			 "take the events of an EVD, or create it with a larger evd_min_qlen",
			 evd->obj.ia->name, priv->qlen);
	if (!store)
		return;
	datp_lock(&priv->lock);
	store->next = priv->stores;
	priv->stores = store;
	priv->left++;
	evd_note_give_locked(priv, &store->notes[0]);
	event_keep_locked(evd, event);
	datp_unlock(&priv->lock);
}

void evd_keep_events(struct datp_evd *evd, struct datp_ep *ep)
{
	event_keep(evd, &ep_priv(ep)->established);
	event_keep(evd, &ep_priv(ep)->ended);
}

/* ------------------------------------------------------------------ the transport's completions */

/*
 * A completion that a poll returned happened before anything that has been queued since the poll
 * began: by the transport in the same poll, or by a post on another thread. So it is inserted
 * before that, at `drain_at`. While the poll lasts, no thread takes queued events; but the events of an
 * endpoint that is reset or freed may be removed.
 */
static void drained_insert(struct datp_evd *evd, const struct datp_completion *done, int n)
{
	struct evd_priv *priv = evd_priv(evd);
	struct evd_wakeup wakeup = { 0 };
	struct datp_node **at;

	datp_lock(&priv->lock);
	at = priv->drain_at;
	for (int i = 0; i < n; i++) {
		struct datp_wqe *wqe = done[i].wqe;

		wqe->node.kind = NODE_DTO;
		insert_locked(evd, at, &wqe->node);
		at = &wqe->node.next;
		if (wqe_notifies(wqe, done[i].solicited))
			evd_notify_locked(evd, &wakeup);
	}
	priv->drain_at = NULL;
	datp_unlock(&priv->lock);
	evd_wake(evd, &wakeup, true);
}

void evd_drain_locked(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_completion done[DRAIN_BATCH];
	int n;

	if (!evd->has_cq || priv->gone)
		return;
	do {
		datp_lock(&priv->lock);
		priv->drain_at = priv->last;
		datp_unlock(&priv->lock);
		n = evd->obj.ia->ops->evd_poll(evd, done, DRAIN_BATCH);
		drained_insert(evd, done, n);
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

static bool poll_take(struct datp_evd *evd)
{
	datp_lock(&evd->poll_lock);
	return true;
}

/*
 * How often a queue is armed in one call, if each time more has come. A peer may fill the queue as fast as it is emptied, or make
 * it look so, and a program's call is to return, and the service thread to serve others. Then a timer arms it.
 */
enum { ARM_ROUNDS = 16, ARM_AGAIN_US = 1000 };

/* Returns false if take() does not take the poll lock, or if more has come each time. */
static bool rearm(struct datp_evd *evd, bool (*take)(struct datp_evd *evd))
{
	struct evd_priv *priv = evd_priv(evd);

	if (!evd->has_cq)
		return true;
	for (int round = 0; round < ARM_ROUNDS; round++) {
		bool wanted, solicited, more = false;

		datp_lock(&priv->lock);
		wanted = priv->cno && !priv->disabled;
		solicited = priv->streams[STREAM_SOLICITED] != 0;
		datp_unlock(&priv->lock);
		if (!wanted)
			return true;
		if (!take(evd))
			return false;
		if (!priv->gone && evd->obj.ia->ops->evd_arm(evd, DATP_ARM_CNO, solicited)) {
			evd_drain_locked(evd);
			more = true;
		}
		datp_unlock(&evd->poll_lock);
		if (!more)
			return true;
	}
	return false;
}

static bool poll_try(struct datp_evd *evd)
{
	return datp_bias_trylock(&evd->poll_lock);
}

static void arm_later(struct datp_evd *evd);

/* Service thread. It does not wait for a thread that a peer may hold up. */
static void arm_again(void *arg)
{
	if (!rearm(arg, poll_try))
		arm_later(arg);
}

static void arm_later(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);

	datp_lock(&priv->lock);
	if (!priv->dead)
		datp_timer_set_by(evd->obj.ia, &priv->arm_timer, datp_clock_us() + ARM_AGAIN_US, arm_again, evd);
	datp_unlock(&priv->lock);
}

void evd_rearm(struct datp_evd *evd)
{
	if (!rearm(evd, poll_take))
		arm_later(evd);
}

DATP_API bool datp_evd_notify_by(struct datp_evd *evd, bool (*take)(struct datp_evd *evd))
{
	if (!take(evd))
		return false;
	evd_drain_locked(evd);
	datp_unlock(&evd->poll_lock);
	return rearm(evd, take);
}

DATP_API void datp_evd_notify(struct datp_evd *evd)
{
	if (!datp_evd_notify_by(evd, poll_take))
		arm_later(evd);
}
