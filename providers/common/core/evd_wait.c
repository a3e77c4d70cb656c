/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the waiter of an EVD. Invariant: `waiter` is 1 exactly while a thread is between enter() and
 * leave(), and such a thread holds no lock while it sleeps.
 *
 * Threads are ended inside dat_evd_wait() with pthread_cancel(), of either type. So cancellation is
 * disabled throughout except in the sleep itself, which is the transport's evd_sleep (or its
 * default) and a cancellation point. If the thread is cancelled in the sleep, leave_cancelled()
 * cleans up.
 */
#include "evd.h"
#include "providers/common/base/cancel.h"
#include "providers/common/base/futex.h"

struct wait {
	struct datp_evd *evd;
	const struct evd_want *want;
	uint32_t threshold;
	uint32_t left;		/* the number of events queued when the wait ended */
	uint64_t until;
	bool looked;		/* the queue has been checked before */
	bool armed;		/* the transport knows that a thread waits */
	struct cancel cancel;
};

static enum datp_err enter(struct wait *wait)
{
	struct datp_evd *evd = wait->evd;
	struct evd_priv *priv = evd_priv(evd);
	enum datp_err err = DATP_OK;

	datp_lock(&priv->lock);
	/* relaxed, all: `waiter` changes under this lock */
	if (evd_is_over_locked(evd))
		err = DATP_ERR_HANDLE_EVD_REQUEST;
	else if (wait->threshold > priv->qlen)
		err = DATP_ERR_BAD_THRESHOLD;
	else if (priv->unwaitable)
		err = DATP_ERR_STATE_EVD_UNWAITABLE;
	else if (atomic_load_explicit(&evd->waiter, memory_order_relaxed))
		err = DATP_ERR_STATE_EVD_WAITER;
	else if (wait->threshold > 1 &&
		 (priv->streams[STREAM_UNSIGNALLED] || priv->streams[STREAM_SOLICITED]))
		err = DATP_ERR_STATE_EVD_CONFIG_THRESHOLD;
	if (!err) {
		priv->threshold = wait->threshold;
		priv->notified = false;
		/* relaxed: threads that depend on it read it under the lock; for the others it is a hint */
		atomic_store_explicit(&evd->waiter, 1, memory_order_relaxed);
	}
	datp_unlock(&priv->lock);
	return err;
}

static void leave_locked(struct datp_evd *evd)
{
	/*
	 * release: for futex_await_zero(); a thread that waits there takes the lock once more,
	 * after this thread's unlock
	 */
	atomic_store_explicit(&evd->waiter, 0, memory_order_release);
	if (evd_priv(evd)->dead)
		futex_wake(&evd->waiter, false);
}

/* The thread was cancelled in its sleep. */
static void leave_cancelled(void *arg)
{
	struct wait *wait = arg;
	struct evd_priv *priv = evd_priv(wait->evd);
	bool dead;

	datp_lock(&priv->lock);
	dead = priv->dead;
	if (dead)
		leave_locked(wait->evd);
	datp_unlock(&priv->lock);
	if (dead)
		return;
	/*
	 * The transport is to notify the CNO again. This comes before the thread ceases to be the
	 * waiter, because a waiter keeps the EVD from being freed.
	 */
	evd_rearm(wait->evd);
	datp_lock(&priv->lock);
	leave_locked(wait->evd);
	datp_unlock(&priv->lock);
}

enum look { LOOK_SLEEP, LOOK_DONE };

/* Checks whether the wait is over, and if so ends it: then the caller is not a waiter any more. */
static enum look look(struct wait *wait, bool last, enum datp_err otherwise, enum datp_err *err)
{
	struct datp_evd *evd = wait->evd;
	struct evd_priv *priv = evd_priv(evd);
	uint32_t queued;
	enum look found = LOOK_DONE;

	datp_lock(&priv->lock);
	while (priv->drain_at) {
		datp_unlock(&priv->lock);
		datp_lock(&evd->poll_lock);
		datp_unlock(&evd->poll_lock);
		datp_lock(&priv->lock);
	}
	/* relaxed: it changes under the lock */
	queued = atomic_load_explicit(&evd->queued, memory_order_relaxed);
	if (priv->dead) {
		*err = DATP_ERR_ABORT;
	} else if (priv->unwaitable) {
		*err = DATP_ERR_STATE_EVD_UNWAITABLE;
	} else if (queued >= wait->threshold && (!wait->looked || priv->notified)) {
		/*
		 * Events that were there before the wait count in any case; later ones have to be
		 * notifying events.
		 */
		wait->want->pop_locked(evd, wait->want->event);
		queued--;
		*err = DATP_OK;
	} else if (last) {
		*err = otherwise;
	} else {
		/* relaxed: see evd_notify_locked() */
		atomic_store_explicit(&priv->asleep, true, memory_order_relaxed);
		found = LOOK_SLEEP;
	}
	wait->looked = true;
	wait->left = queued;
	if (found == LOOK_DONE)
		leave_locked(evd);
	datp_unlock(&priv->lock);
	return found;
}

static int sleep_cancellable(struct wait *wait, uint32_t seen)
{
	struct timespec deadline = deadline_of(wait->until);
	struct datp_evd *evd = wait->evd;
	int rc, ignored;

	pthread_cleanup_push(leave_cancelled, wait);
	pthread_setcancelstate(wait->cancel.state, &ignored);
	rc = evd->obj.ia->ops->evd_sleep(evd, seen, wait->until == NO_DEADLINE ? NULL : &deadline);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
	return rc;
}

/*
 * Tells the transport that a thread is about to sleep; returns true if there may be a completion
 * already.
 */
static bool arm(struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	bool solicited, more = false;

	if (!evd->has_cq)
		return false;
	datp_lock(&priv->lock);
	solicited = priv->streams[STREAM_SOLICITED] != 0;
	datp_unlock(&priv->lock);
	datp_lock(&evd->poll_lock);
	if (!priv->gone)
		more = evd->obj.ia->ops->evd_arm(evd, DATP_ARM_WAITER, solicited);
	datp_unlock(&evd->poll_lock);
	return more;
}

/* The loop of a waiter. When it returns, the thread is not a waiter any more. */
static enum datp_err wait_loop(struct wait *wait, uint32_t timeout)
{
	struct datp_evd *evd = wait->evd;
	enum datp_err err, otherwise = DATP_ERR_TIMEOUT;
	bool last = timeout == 0;

	for (;;) {
		uint32_t seen;
		int rc;

		/*
		 * relaxed: nobody needs to wake this thread from here on, because it checks the
		 * queue again
		 */
		atomic_store_explicit(&evd_priv(evd)->asleep, false, memory_order_relaxed);
		/* acquire: an event queued before this value was set is seen by the check */
		seen = atomic_load_explicit(evd->bell, memory_order_acquire);
		if (wait->looked)
			evd_progress(evd);
		if (look(wait, last, otherwise, &err) == LOOK_DONE)
			return err;
		wait->armed = true;
		rc = arm(evd) ? 0 : sleep_cancellable(wait, seen);
		/* a peer that writes to the bell, or to what arm() looks at, may end each sleep before it begins */
		if (!rc && wait->until != NO_DEADLINE && datp_clock_us() >= wait->until)
			rc = ETIMEDOUT;
		last = rc != 0;
		otherwise = rc == EINTR ? DATP_ERR_INTERRUPTED : DATP_ERR_TIMEOUT;
	}
}

enum datp_err evd_wait(struct datp_evd *evd, uint32_t timeout, int32_t threshold,
		       const struct evd_want *want, int32_t *nmore)
{
	struct wait wait = { .evd = evd, .want = want, .threshold = (uint32_t)threshold };
	enum datp_err err;

	if (threshold <= 0)
		return DATP_ERR_BAD_THRESHOLD;
	cancel_off(&wait.cancel);
	wait.until = deadline_from(timeout);
	/*
	 * Events that have arrived before the wait count for it, and also trigger the CNO, which
	 * events that arrive while a waiter is blocked do not.
	 */
	evd_progress(evd);
	err = enter(&wait);
	if (!err) {
		err = wait_loop(&wait, timeout);
		if (!err || err == DATP_ERR_TIMEOUT || err == DATP_ERR_INTERRUPTED) {
			*nmore = (int32_t)wait.left;
			/*
			 * The transport was told about a waiter; from now on it notifies the CNO
			 * again.
			 */
			if (wait.armed)
				evd_rearm(evd);
		}
	}
	cancel_restore(&wait.cancel);
	return err;
}

enum datp_err evd_set_waitable(struct datp_evd *evd, bool on)
{
	struct evd_priv *priv = evd_priv(evd);

	datp_lock(&priv->lock);
	if (evd_is_over_locked(evd)) {
		datp_unlock(&priv->lock);
		return DATP_ERR_HANDLE_EVD_REQUEST;
	}
	priv->unwaitable = !on;
	if (on)
		datp_unlock(&priv->lock);
	else
		/* A thread that finds the EVD unwaitable may free it. */
		evd_wake_held_unlock(evd);
	return DATP_OK;
}
