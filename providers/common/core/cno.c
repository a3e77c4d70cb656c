/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns CNOs. Invariant: an EVD is on the CNO's list exactly while it has triggers, one for each
 * notifying event that the CNO has not reported yet; so dat_cno_wait() returns once for each event,
 * and a trigger whose event has been taken meanwhile is dropped, not reported.
 *
 * Waiters sleep on the word `bell` as those of an EVD do; each trigger wakes all of them, and those that
 * find no trigger sleep again. A waiter is counted in the CNO's `users`, so the CNO cannot be freed
 * while a thread waits.
 */

#include "evd.h"
#include "providers/common/base/cancel.h"
#include "providers/common/base/futex.h"
#include "providers/common/base/pause.h"

static const struct cno_agent no_agent;

enum datp_err cno_new(struct datp_ia *ia, struct cno_agent agent, struct datp_cno **out)
{
	struct datp_obj *obj;
	enum datp_err err = obj_alloc(ia, DATP_CNO, 0, sizeof(struct datp_cno), &obj);

	if (err)
		return err;
	*out = (struct datp_cno *)obj;
	(*out)->agent = agent;
	return DATP_OK;
}

enum datp_err cno_create(struct datp_ia *ia, struct cno_agent agent, struct datp_cno **out)
{
	struct datp_cno *cno;
	enum datp_err err = cno_new(ia, agent, &cno);

	if (err)
		return err;
	err = obj_publish(cno);
	if (err)
		obj_release(cno);
	else
		*out = cno;
	return err;
}

/* ------------------------------------------------------------------ the agent */

/*
 * Returns true if the caller has to call the agent after it has released the lock: there is an
 * agent, and no earlier call is due. If the CNO has a descriptor instead, that becomes readable now.
 * CNO lock held.
 */
static bool agent_fire_locked(struct datp_cno *cno, struct datp_evd *evd)
{
	/* If another call is still due, this one is not lost: it is made after that one. */
	if (!cno->agent.call || cno->due.call)
		return false;
	if (cno_has_fd_locked(cno)) {
		cno_fd_raise_locked(cno, evd);
		return false;
	}
	cno->due = cno->agent;
	cno->due_evd = evd;
	cno->agent = no_agent;
	return true;
}

void cno_call_agent(void *arg)
{
	struct datp_cno *cno = arg;
	struct cno_agent agent;
	struct datp_evd *evd;
	bool more;

	do {
		datp_lock(&cno->lock);
		agent = cno->due;
		evd = cno->due_evd;
		cno->due = no_agent;
		/* The agent was re-armed and not called, because this call was still due. */
		more = agent.call && cno->first && agent_fire_locked(cno, cno->first);
		datp_unlock(&cno->lock);
		if (agent.call)
			agent.call(agent.data, evd);
	} while (more);
}

void cno_call_agent_soon(struct datp_cno *cno)
{
	/*
	 * There is no memory: calling the agent with locks held, which most agents can cope with,
	 * is better than not at all.
	 */
	if (datp_loop_call(cno->obj.ia, cno_call_agent, cno))
		cno_call_agent(cno);
}

void cno_set_agent(struct datp_cno *cno, struct cno_agent agent)
{
	datp_lock(&cno->lock);
	cno->agent = agent;
	/*
	 * The program takes its agent away, and with it what the agent uses: a call that is due and has not begun is not made. The
	 * new agent, if there is one, gets it.
	 */
	if (cno->due.call && (cno->due.call != agent.call || cno->due.data != agent.data)) {
		cno->due = agent;
		cno->agent = no_agent;
	}
	datp_unlock(&cno->lock);
}

struct cno_agent cno_agent(struct datp_cno *cno)
{
	struct cno_agent agent;

	datp_lock(&cno->lock);
	agent = cno->agent;
	datp_unlock(&cno->lock);
	return agent;
}

/* ------------------------------------------------------------------ triggers */

static void list_append_locked(struct datp_cno *cno, struct datp_evd *evd)
{
	evd_priv(evd)->cno_next = NULL;
	if (cno->last)
		evd_priv(cno->last)->cno_next = evd;
	else
		cno->first = evd;
	cno->last = evd;
	evd_priv(evd)->cno_listed = true;
}

static void list_remove_locked(struct datp_cno *cno, struct datp_evd *evd)
{
	struct datp_evd *before = NULL, *at = cno->first;

	while (at != evd) {
		before = at;
		at = evd_priv(at)->cno_next;
	}
	if (before)
		evd_priv(before)->cno_next = evd_priv(evd)->cno_next;
	else
		cno->first = evd_priv(evd)->cno_next;
	if (cno->last == evd)
		cno->last = before;
	evd_priv(evd)->cno_listed = false;
}

void cno_wake_waiters(struct datp_cno *cno)
{
	/* release: a thread that sees the new value sees the trigger */
	atomic_fetch_add_explicit(&cno->bell, 1, memory_order_release);
	/*
	 * relaxed: a waiter that is missed here has registered after the trigger was set, and will
	 * check for it
	 */
	if (atomic_load_explicit(&cno->waiters, memory_order_relaxed))
		futex_wake(&cno->bell, false);
}

bool cno_trigger(struct datp_cno *cno, struct datp_evd *evd)
{
	struct evd_priv *priv = evd_priv(evd);
	bool call;

	datp_lock(&cno->lock);
	/*
	 * relaxed: the EVD lock is held. Events that were taken without a wait have used up their
	 * triggers.
	 */
	if (priv->triggers < atomic_load_explicit(&evd->queued, memory_order_relaxed))
		priv->triggers++;
	if (!priv->cno_listed)
		list_append_locked(cno, evd);
	call = agent_fire_locked(cno, evd);
	datp_unlock(&cno->lock);
	return call;
}

void cno_attach(struct datp_cno *cno, struct datp_evd *evd)
{
	datp_lock(&cno->lock);
	evd_priv(evd)->triggers = 0;
	evd_priv(evd)->cno_listed = false;
	cno->evds++;
	datp_unlock(&cno->lock);
}

/* Returns the triggers of an EVD that its CNO has not reported. EVD lock held. */
static uint32_t cno_untold(struct datp_cno *cno, struct datp_evd *evd)
{
	uint32_t triggers;

	datp_lock(&cno->lock);
	triggers = evd_priv(evd)->triggers;
	datp_unlock(&cno->lock);
	return triggers;
}

/*
 * Takes over the triggers of an EVD from another CNO; returns true if the agent has to be called.
 * EVD lock held.
 */
static bool cno_inherit(struct datp_cno *cno, struct datp_evd *evd, uint32_t triggers)
{
	bool call;

	datp_lock(&cno->lock);
	evd_priv(evd)->triggers = triggers;
	list_append_locked(cno, evd);
	call = agent_fire_locked(cno, evd);
	datp_unlock(&cno->lock);
	return call;
}

bool cno_detach(struct datp_cno *cno, struct datp_evd *evd, bool freed)
{
	struct evd_priv *priv = evd_priv(evd);
	bool call = false, last;

	datp_lock(&cno->lock);
	if (priv->cno_listed)
		list_remove_locked(cno, evd);
	priv->triggers = 0;
	if (cno_has_fd_locked(cno))
		cno_fd_settle_locked(cno);
	last = --cno->evds == 0 && freed;
	if (last) {
		cno->orphaned++;
		call = agent_fire_locked(cno, NULL);
	}
	datp_unlock(&cno->lock);
	if (last)
		cno_wake_waiters(cno);
	return call;
}

/* Returns the EVD of the next trigger, or NULL if no trigger still has its event. */
static struct datp_evd *take_locked(struct datp_cno *cno)
{
	struct datp_evd *evd;

	while ((evd = cno->first) != NULL) {
		struct evd_priv *priv = evd_priv(evd);
		/*
		 * relaxed: a thread that takes events at the same time makes this a hint in any
		 * case
		 */
		uint32_t queued = atomic_load_explicit(&evd->queued, memory_order_relaxed);

		list_remove_locked(cno, evd);
		if (priv->triggers > queued)
			priv->triggers = queued;
		if (!priv->triggers)
			continue;
		/* the other EVDs come first */
		if (--priv->triggers)
			list_append_locked(cno, evd);
		return evd;
	}
	return NULL;
}

/* ------------------------------------------------------------------ waiting */

struct wait {
	struct datp_cno *cno;
	uint64_t until;
	struct cancel cancel;
};

/*
 * Ends a wait; CNO lock held. `users` is decremented first, so a thread that finds it 0 only has to
 * wait for this thread's unlock.
 */
static void leave_locked(struct datp_cno *cno)
{
	obj_drop(cno);
	/* release: for futex_await_zero() */
	atomic_fetch_sub_explicit(&cno->waiters, 1, memory_order_release);
	if (cno->dead)
		futex_wake(&cno->waiters, false);
}

static void leave_cancelled(void *arg)
{
	struct wait *wait = arg;

	datp_lock(&wait->cno->lock);
	leave_locked(wait->cno);
	datp_unlock(&wait->cno->lock);
}

static int sleep_cancellable(struct wait *wait, uint32_t seen)
{
	struct timespec deadline = deadline_of(wait->until);
	int rc, type, ignored;

	pthread_cleanup_push(leave_cancelled, wait);
	pthread_setcancelstate(wait->cancel.state, &ignored);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	rc = futex_wait(&wait->cno->bell, seen, wait->until == NO_DEADLINE ? NULL : &deadline,
			false);
	pthread_setcanceltype(type, &ignored);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	pthread_cleanup_pop(0);
	return rc;
}

static enum datp_err wait_loop(struct wait *wait, struct datp_evd **out)
{
	struct datp_cno *cno = wait->cno;
	enum datp_err err = DATP_OK;
	uint32_t orphaned;
	int rc = wait->until != NO_DEADLINE && datp_clock_us() >= wait->until ? ETIMEDOUT : 0;

	datp_lock(&cno->lock);
	orphaned = cno->orphaned;
	/* relaxed: under the lock; cno_wake_waiters() explains why it may read it without */
	atomic_fetch_add_explicit(&cno->waiters, 1, memory_order_relaxed);
	for (;;) {
		/* acquire: pairs with cno_wake_waiters() */
		uint32_t seen = atomic_load_explicit(&cno->bell, memory_order_acquire);

		*out = NULL;
		if (cno->dead || cno->orphaned != orphaned)
			break;
		*out = take_locked(cno);
		if (*out)
			break;
		if (rc) {
			err = rc == EINTR ? DATP_ERR_INTERRUPTED : DATP_ERR_QUEUE_EMPTY;
			break;
		}
		datp_unlock(&cno->lock);
		rc = sleep_cancellable(wait, seen);
		datp_lock(&cno->lock);
	}
	if (cno_has_fd_locked(cno))
		cno_fd_settle_locked(cno);
	leave_locked(cno);
	datp_unlock(&cno->lock);
	return err;
}

enum datp_err cno_poll(struct datp_cno *cno, struct datp_evd **out)
{
	enum datp_err err = DATP_OK;

	datp_lock(&cno->lock);
	*out = take_locked(cno);
	if (!*out && cno->fd.orphaned)
		cno->fd.orphaned = false;
	else if (!*out)
		err = DATP_ERR_QUEUE_EMPTY;
	if (cno_has_fd_locked(cno))
		cno_fd_settle_locked(cno);
	datp_unlock(&cno->lock);
	return err;
}

enum datp_err cno_wait(DAT_CNO_HANDLE handle, uint32_t timeout, struct datp_evd **out)
{
	struct wait wait;
	enum datp_err err = DATP_ERR_HANDLE_CNO;

	cancel_off(&wait.cancel);
	wait.cno = obj_hold(NULL, handle, DATP_CNO);
	if (wait.cno) {
		wait.until = deadline_from(timeout);
		err = wait_loop(&wait, out);
	}
	cancel_restore(&wait.cancel);
	return err;
}

/* ------------------------------------------------------------------ the end */

/* The CNO has been retired. If its IA is closed, threads may wait on it, or be about to. */
static void cno_end(struct datp_cno *cno)
{
	bool call, has_fd;

	datp_lock(&cno->lock);
	cno->dead = true;
	has_fd = cno_has_fd_locked(cno);
	/* a thread that sleeps in poll(2) wakes before the descriptor is closed */
	call = agent_fire_locked(cno, NULL);
	datp_unlock(&cno->lock);
	cno_wake_waiters(cno);
	futex_await_zero(&cno->waiters);
	/* One that is about to wait is counted as a user already. It finds the CNO dead, and does not sleep. */
	for (unsigned int n = 0; atomic_load_explicit(&cno->obj.users, memory_order_acquire); n++)
		pause_briefly(n);
	/*
	 * The unlock is the last thing that a leaving waiter does: once this lock is taken, the
	 * waiter has left.
	 */
	datp_lock(&cno->lock);
	datp_unlock(&cno->lock);
	if (call)
		cno_call_agent(cno);
	if (has_fd)
		cno_fd_close(cno);
	obj_release(cno);
}

enum datp_err cno_free(struct datp_cno *cno)
{
	enum datp_err err = obj_retire(cno, false, DATP_ERR_STATE_CNO_IN_USE, DATP_ERR_HANDLE_CNO);

	if (err)
		return err;
	/* The consumer knows that the CNO goes, so the agent gets no call, not even one that is due. */
	if (cno_fd(cno) < 0)
		cno_set_agent(cno, no_agent);
	cno_end(cno);
	return DATP_OK;
}

void cno_destroy(struct datp_cno *cno)
{
	if (!obj_retire(cno, true, DATP_OK, DATP_ERR_HANDLE_CNO))
		cno_end(cno);
}

/* ------------------------------------------------------------------ the EVD's side */

enum datp_err evd_modify_cno(struct datp_evd *evd, DAT_CNO_HANDLE handle)
{
	struct evd_priv *priv = evd_priv(evd);
	struct datp_cno *cno = NULL, *old;
	uint32_t triggers = 0;
	bool call;

	if (handle != DAT_HANDLE_NULL) {
		cno = obj_hold(evd->obj.ia, handle, DATP_CNO);
		if (!cno)
			return DATP_ERR_HANDLE_CNO;
	}
	datp_lock(&priv->lock);
	if (evd_is_over_locked(evd)) {
		/* another thread frees it, which is the consumer's error; nobody would take it off the CNO again */
		datp_unlock(&priv->lock);
		obj_drop(cno);
		return DATP_ERR_HANDLE_EVD_REQUEST;
	}
	old = priv->cno;
	if (old) {
		triggers = cno_untold(old, evd);
		cno_detach(old, evd, false);
	}
	if (cno)
		cno_attach(cno, evd);
	priv->cno = cno;
	/* the new CNO reports what the old one has not reported */
	call = cno && triggers && cno_inherit(cno, evd, triggers);
	datp_unlock(&priv->lock);
	if (cno && triggers)
		cno_wake_waiters(cno);
	if (call)
		cno_call_agent(cno);
	obj_drop(old);
	evd_rearm(evd);
	return DATP_OK;
}

enum datp_err evd_enable(struct datp_evd *evd, bool on)
{
	struct evd_priv *priv = evd_priv(evd);

	datp_lock(&priv->lock);
	priv->disabled = !on;
	datp_unlock(&priv->lock);
	if (on)
		evd_rearm(evd);
	return DATP_OK;
}
