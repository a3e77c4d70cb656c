/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions that are withheld while an access through a window goes on that the program would be told is over: of a bind, while
 * somebody accesses memory through the binding before it, or, if the bind fails, through its own; and of the receive of a message
 * that has invalidated a window. Peers of any connection of the same PZ may access it, and be stopped in the middle of that. No
 * thread waits: the tick looks again (tick.c). A look after three quarters of the bound takes away the right of whoever still
 * accesses the memory; from then on the wait takes as long as the rest of the bound, for the piece under way, even if that look
 * came late. But a thread of this process does not lose its right, and a peer may hold up its copy: that is waited for without a
 * bound, unless the connection over which the completion is withheld ends. Messages that come behind a receive that is withheld
 * wait as well: eager ones as unexpected messages, those that the executor has copied in their receives, and those to an SRQ in
 * the sender's queue.
 *
 * Invariant: as long as a receive is withheld, it is the oldest one of its endpoint, and nothing is delivered there; without an
 * SRQ `deferred` is set, so that the fast path takes no message either. What a peer could still write is not read again.
 */
#include "withheld.h"
#include "bounce.h"
#include "bound.h"
#include "exec.h"
#include "quiesce.h"
#include "tick.h"
#include "window.h"

/* What a look at a wait does if accesses go on: it takes away the right of whoever makes them, or completes all the same. */
struct look {
	bool take, late;
};

/* Returns true if there are `rest` milliseconds or less until the end of a wait that has begun. */
static bool is_near(const struct soft_wait *wait, uint32_t rest)
{
	return wait->until && soft_now_ms() + rest >= wait->until;
}

/* `late`: the caller can wait no longer. */
static struct look look_at(const struct soft_ia *ia, const struct soft_wait *wait, bool late)
{
	return (struct look){ .take = late || wait->last || is_near(wait, soft_bound_rest(ia)),
			      .late = late || (wait->last && is_near(wait, 0)) };
}

/* Returns the mark of a wait: of its first look, when the window that has ended was invalid. EP lock. */
static uint32_t mark_of(struct soft_wait *wait)
{
	if (!wait->since)
		wait->since = soft_work_mark();
	return wait->since;
}

/* Sets the end of a wait. relaxed: others read it without the lock as a hint. EP lock. */
static void wait_until(struct soft_wait *wait, uint64_t until)
{
	__atomic_store_n(&wait->until, until, __ATOMIC_RELAXED);
}

bool soft_withheld_is_any(const struct soft_ep *ep)
{
	/* relaxed, both: acquired with the count of such waits */
	return __atomic_load_n(&ep->bind_wait.until, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&ep->withheld.wait.until, __ATOMIC_RELAXED);
}

/*
 * Begins the wait, or goes on with it. The first look that has taken the right of the executors leaves them as long as any other
 * one, however late it comes. EP lock.
 */
static void wait_locked(struct soft_ia *ia, struct soft_wait *wait, bool taken)
{
	if (taken && !wait->last) {
		wait->last = true;
		wait_until(wait, soft_now_ms() + soft_bound_rest(ia) + 1);
	} else if (!wait->until) {
		wait_until(wait, soft_bound(ia));
		/* release: pairs with binds_serve(); the timer is set afterwards */
		atomic_fetch_add_explicit(&ia->binds_wait, 1, memory_order_release);
		soft_tick_set(ia);
	}
}

/* Ends the wait, if it has begun. EP lock. */
static void wait_end_locked(struct soft_ia *ia, struct soft_wait *wait)
{
	if (wait->until)
		atomic_fetch_sub_explicit(&ia->binds_wait, 1, memory_order_relaxed);
	wait_until(wait, 0);
	wait->last = false;
	wait->since = 0;
}

void soft_withheld_begin(struct soft_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr, uint32_t context, uint64_t len,
			 bool solicited)
{
	ep->withheld.wqe = wqe;
	ep->withheld.rmr = rmr;
	ep->withheld.context = context;
	ep->withheld.len = len;
	ep->withheld.solicited = solicited;
	wait_until(&ep->withheld.wait, 0);
	ep->withheld.wait.last = false;
	ep->withheld.wait.since = 0;
}

bool soft_withheld_waits(struct soft_ep *ep, bool late)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct look look = look_at(ia, &ep->withheld.wait, late);
	bool here = false;

	if (soft_mr_quiet_invalidated(ep, ep->withheld.context, mark_of(&ep->withheld.wait), look.take, &here) ||
	    (look.late && (late || !here)))
		return false;
	wait_locked(ia, &ep->withheld.wait, look.take);
	return true;
}

struct datp_wqe *soft_withheld_end(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct datp_wqe *wqe = ep->withheld.wqe;

	/* the bounce thread may have found the window before; it copies one more piece at most */
	soft_bounce_quiesce(ia);
	soft_window_quiesced(ia, ep->withheld.context);
	wait_end_locked(ia, &ep->withheld.wait);
	ep->withheld.wqe = NULL;
	return wqe;
}

void soft_bind_forget(struct soft_ep *ep)
{
	wait_end_locked(soft_ia(ep->base.obj.ia), &ep->bind_wait);
}

/*
 * Returns true if no access is still going on through a binding that this bind has ended. If it is `late`, the connections over
 * which one goes on are broken. *here: see soft_mr_quiet(). Our own records say which bindings these are: peers can write to the
 * request.
 */
static bool bind_is_quiet(struct soft_ep *ep, const struct datp_wqe *wqe, bool late, bool *here)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint64_t before = UINT64_MAX;
	uint32_t context;
	bool quiet = true;

	while ((quiet || late) && (context = soft_window_ended_by(ia, wqe, &before)))
		quiet = soft_mr_quiet(ep, context, mark_of(&ep->bind_wait), late, here) && quiet;
	return quiet;
}

/* The same for the binding of a bind that fails. */
static bool failed_is_quiet(struct soft_ep *ep, const struct datp_wqe *wqe, bool late, bool *here)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint32_t context;

	if (soft_window_fail(ia, wqe, true)) /* an older mark would leave out accesses that began before this call */
		ep->bind_wait.since = 0;
	context = soft_window_failed(ia, wqe);
	return !context || soft_mr_quiet(ep, context, mark_of(&ep->bind_wait), late, here);
}

bool soft_bind_may_complete(struct soft_ep *ep, const struct datp_wqe *wqe, bool good, bool late)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct look look = look_at(ia, &ep->bind_wait, late);
	bool here = false;
	bool quiet = good ? bind_is_quiet(ep, wqe, look.take, &here) : failed_is_quiet(ep, wqe, look.take, &here);

	if (quiet || (look.late && (late || !here))) {
		soft_bind_forget(ep);
		return true;
	}
	/* at the end of the connection, the teardown looks again, within its own bound */
	if (ep->open || look.take)
		wait_locked(ia, &ep->bind_wait, look.take);
	return false;
}

void soft_binds_fail(struct soft_ep *ep, uint32_t first)
{
	const struct datp_wq *sq = &ep->base.sq;

	for (uint32_t i = first; i != sq->posted; i++) {
		const struct datp_wqe *wqe = &sq->ring[i & sq->mask];

		/* requests are counted one by one, so only the first one can have been executed without that */
		if (wqe->op == DATP_BIND)
			(void)soft_window_fail(soft_ia(ep->base.obj.ia), wqe, i == first);
	}
	ep->teardown.bind = first;
	ep->teardown.binds_since = soft_work_mark();
}

bool soft_binds_may_flush(struct soft_ep *ep, bool late)
{
	const struct datp_wq *sq = &ep->base.sq;
	bool here = false;

	for (; ep->teardown.bind != sq->posted; ep->teardown.bind++) {
		const struct datp_wqe *wqe = &sq->ring[ep->teardown.bind & sq->mask];
		uint32_t context = wqe->op == DATP_BIND ? soft_window_failed(soft_ia(ep->base.obj.ia), wqe) : 0;

		if (context && !soft_mr_quiet(ep, context, ep->teardown.binds_since, late, &here) && !late)
			return false;
	}
	return true;
}
