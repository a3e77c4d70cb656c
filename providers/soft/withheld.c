/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions that are withheld while an access through a window goes on that the program would be told is over: of a bind, while
 * somebody accesses memory through the binding before it, and of the receive of a message that has invalidated a window. Peers of
 * any connection of the same PZ may access it, and be stopped in the middle of that. No thread waits: the tick looks again
 * (tick.c). A look after three quarters of the bound takes away the right of whoever still accesses the memory; from then on the
 * wait takes as long as the rest of the bound, for the piece under way, even if that look came late. Messages that come behind a
 * receive that is withheld wait as well: eager ones as unexpected messages, those that the executor has copied in their receives,
 * and those to an SRQ in the sender's queue.
 *
 * Invariant: as long as a receive is withheld, it is the oldest one of its endpoint, and nothing is delivered there; without an
 * SRQ `deferred` is set, so that the fast path takes no message either. What a peer could still write is not read again.
 */
#include "withheld.h"
#include "bounce.h"
#include "bound.h"
#include "quiesce.h"
#include "tick.h"
#include "window.h"

/* Returns true if there are `rest` milliseconds or less until the end of a wait. 0 stands for a wait that has not begun. */
static bool is_near(uint64_t until, uint32_t rest)
{
	return until && soft_now_ms() + rest >= until;
}

void soft_withheld_begin(struct soft_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr, uint32_t context, uint64_t len,
			 bool solicited)
{
	ep->withheld.wqe = wqe;
	ep->withheld.rmr = rmr;
	ep->withheld.context = context;
	ep->withheld.len = len;
	ep->withheld.solicited = solicited;
	ep->withheld.until = 0;
	ep->withheld.last = false;
}

/* The first look that has taken the right of the executors leaves them as long as any other one, however late it comes. */
static void last_begins(const struct soft_ia *ia, uint64_t *until, bool *last)
{
	if (*last)
		return;
	*last = true;
	*until = soft_now_ms() + soft_bound_rest(ia) + 1;
}

bool soft_withheld_waits(struct soft_ep *ep, bool late)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool take = late || ep->withheld.last || is_near(ep->withheld.until, soft_bound_rest(ia));

	late = late || (ep->withheld.last && is_near(ep->withheld.until, 0));
	if (soft_mr_quiet_invalidated(ep, ep->withheld.context, take) || late)
		return false;
	if (take) {
		last_begins(ia, &ep->withheld.until, &ep->withheld.last);
	} else if (!ep->withheld.until) {
		ep->withheld.until = soft_bound(ia);
		/* relaxed: the timer is set afterwards */
		atomic_fetch_add_explicit(&ia->binds_wait, 1, memory_order_relaxed);
		soft_tick_set(ia);
	}
	return true;
}

struct datp_wqe *soft_withheld_end(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct datp_wqe *wqe = ep->withheld.wqe;

	/* the bounce thread may have found the window before; it copies one more piece at most */
	soft_bounce_quiesce(ia);
	soft_window_quiesced(ia, ep->withheld.context);
	if (ep->withheld.until)
		atomic_fetch_sub_explicit(&ia->binds_wait, 1, memory_order_relaxed);
	ep->withheld.until = 0;
	ep->withheld.wqe = NULL;
	return wqe;
}

void soft_bind_forget(struct soft_ep *ep)
{
	if (!ep->bind_until)
		return;
	ep->bind_until = 0;
	ep->bind_last = false;
	atomic_fetch_sub_explicit(&soft_ia(ep->base.obj.ia)->binds_wait, 1, memory_order_relaxed);
}

/*
 * Returns true if no access is still going on through a binding that this bind has ended. If it is `late`, the connections over
 * which one goes on are broken. Our own records say which bindings these are: peers can write to the request.
 */
static bool bind_is_quiet(struct soft_ep *ep, const struct datp_wqe *wqe, bool late)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint64_t before = UINT64_MAX;
	uint32_t context;
	bool quiet = true;

	while ((quiet || late) && (context = soft_window_ended_by(ia, wqe, &before)))
		quiet = soft_mr_quiet(ep, context, late) && quiet;
	return quiet;
}

bool soft_bind_may_complete(struct soft_ep *ep, const struct datp_wqe *wqe, bool late)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool take = late || ep->bind_last || is_near(ep->bind_until, soft_bound_rest(ia));

	late = late || (ep->bind_last && is_near(ep->bind_until, 0));
	if (bind_is_quiet(ep, wqe, take) || late) {
		soft_bind_forget(ep);
		return true;
	}
	/* at the end of the connection, the teardown looks again, within its own bound */
	if (take) {
		last_begins(ia, &ep->bind_until, &ep->bind_last);
	} else if (ep->open && !ep->bind_until) {
		ep->bind_until = soft_bound(ia);
		atomic_fetch_add_explicit(&ia->binds_wait, 1, memory_order_relaxed);
		soft_tick_set(ia);
	}
	return false;
}
