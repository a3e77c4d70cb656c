/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the first event of an EVD, in the form of an API's events. Inlined into each edge, where
 * the form is a constant: so the core does not know the events of any API, and taking an event
 * needs no indirect call.
 */
#ifndef EVD_TAKE_H
#define EVD_TAKE_H

#include "evd.h"

/* How an API writes events. EVD lock held. */
struct evd_form {
	void (*completion)(const struct datp_wqe *wqe, struct datp_evd *evd, void *event);
	/*
	 * For any event but a completion. Returns a note to its store, by evd_note_give_locked().
	 */
	void (*other)(struct datp_evd *evd, struct datp_node *node, void *event);
};

/* Removes the node that *at points to, which is still counted. */
static inline void evd_unlink_counted_locked(struct datp_evd *evd, struct datp_node **at)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_node *node = *at;

	*at = node->next;
	if (!*at)
		priv->last = at;
	node->flags &= (uint16_t)~NODE_QUEUED;
	if (__builtin_expect(node->kind == NODE_CR, 0))
		priv->crs--;
}

static inline void evd_uncount_locked(struct datp_evd *evd)
{
	/*
	 * release: a thread that sees the count without the lock and then polls must not poll what
	 * came before this. Written under the EVD lock only.
	 */
	atomic_store_explicit(&evd->queued,
			      atomic_load_explicit(&evd->queued, memory_order_relaxed) - 1,
			      memory_order_release);
}

/* Takes the first event; returns false if there is none. EVD lock held. */
static inline __attribute__((always_inline)) bool
evd_pop_locked(struct datp_evd *evd, void *event, const struct evd_form *form)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_node *node = priv->first;

	if (!node)
		return false;
	evd_unlink_counted_locked(evd, &priv->first);
	if (__builtin_expect(node->kind == NODE_DTO, 1)) {
		form->completion((struct datp_wqe *)node, evd, event);
		datp_wqe_reap((struct datp_wqe *)node);
	} else {
		form->other(evd, node, event);
	}
	/*
	 * This comes last: a thread that finds the list empty relies on it that everything which was
	 * on the list has been given back, except what belongs to an endpoint or an EVD that is being
	 * freed.
	 */
	evd_uncount_locked(evd);
	return true;
}

/*
 * Takes the first event, unless a thread waits. EVD lock held; `drain_at` is NULL, or the poll lock
 * is held, too.
 */
static inline __attribute__((always_inline)) enum datp_err
evd_take_locked(struct datp_evd *evd, void *event, const struct evd_form *form)
{
	/* relaxed: written under the lock */
	if (__builtin_expect(atomic_load_explicit(&evd->waiter, memory_order_relaxed), 0))
		return DATP_ERR_STATE_EVD_WAITER;
	return evd_pop_locked(evd, event, form) ? DATP_OK : DATP_ERR_QUEUE_EMPTY;
}

/* Takes the first event after the drain that is running. Out of line, because it is rare. */
static __attribute__((noinline, unused)) enum datp_err
evd_take_drained(struct datp_evd *evd, void *event, const struct evd_form *form)
{
	struct evd_priv *priv = evd_priv(evd);
	enum datp_err err;

	datp_lock(&evd->poll_lock);
	datp_lock(&priv->lock);
	err = evd_take_locked(evd, event, form);
	datp_unlock(&priv->lock);
	datp_unlock(&evd->poll_lock);
	return err;
}

/* Takes an event that is on the list. No lock held. */
static inline __attribute__((always_inline)) enum datp_err
evd_take(struct datp_evd *evd, void *event, const struct evd_form *form)
{
	struct evd_priv *priv = evd_priv(evd);
	enum datp_err err;

	datp_lock(&priv->lock);
	if (__builtin_expect(priv->drain_at != NULL, 0)) {
		datp_unlock(&priv->lock);
		return evd_take_drained(evd, event, form);
	}
	err = evd_take_locked(evd, event, form);
	datp_unlock(&priv->lock);
	return err;
}

#endif
