/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the service thread owes. A peer may hold up a thread of the program in a copy by the kernel, with the EP lock, and maybe
 * with the poll lock of a queue. The service thread serves all connections, so it does not wait for such a thread: it tries these
 * locks, and if it cannot have them, notes what it was about to do, and the tick (tick.c) tries again until it can. Other endpoints
 * do not notice that, unless they have the queue whose poll lock is held.
 *
 * Invariant: what is noted at an endpoint is noted and taken under soft_ia.lock, under which the endpoint is in the table of ports;
 * whoever frees the endpoint takes it out of there first. An end is noted with the generation of its connection, so it does nothing
 * if another thread has ended that connection meanwhile. Whoever notes something sets the timer afterwards.
 *
 * libdatp does the same where the end of a connection or attempt is reported to it: see ep_end().
 */
#include "owed.h"
#include "bounce.h"
#include "conn.h"
#include "cq.h"
#include "exec.h"
#include "ia.h"
#include "lost.h"
#include "port.h"
#include "progress.h"
#include "providers/common/base/bias.h"
#include "providers/common/base/pause.h"
#include "recv.h"
#include "setup.h"
#include "tick.h"

#define MOMENT_US 1000	/* a copy that nobody holds up rarely takes longer */
#define AGAIN_US  100	/* the service thread has waited for the lock before */
#define LONG_US	  20000 /* whatever else the holder does is over by then, unless the peer has left it very much to do */

/* `copying`: the record of the lock's holder, which is waited for longer while it makes no copy; or NULL. */
static bool try_for_a_moment(const struct soft_ia *ia, _Atomic uint32_t *lock, const struct soft_copying *copying)
{
	bool again = !soft_progress_inside(ia) && ia->owes_now;
	uint64_t began = datp_clock_us(), moment = again ? AGAIN_US : MOMENT_US;

	for (unsigned int i = 1;; i++) {
		uint64_t waited;

		if (datp_bias_trylock(lock))
			return true;
		waited = datp_clock_us() - began;
		if (waited >= moment && (waited >= LONG_US || !copying || soft_copying_stands(copying)))
			return false;
		pause_briefly(i);
	}
}

bool soft_ep_try_slow(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	if (soft_progress_inside(ia) || datp_loop_inside(&ia->base))
		return try_for_a_moment(ia, &ep->base.lock, &ep->copying);
	datp_lock(&ep->base.lock);
	return true;
}

bool soft_cq_try(struct soft_cq *cq)
{
	_Atomic uint32_t *lock = soft_cq_lock(cq);

	if (!datp_trylock(lock)) {
		if (!datp_loop_inside(&cq->ia->base)) {
			datp_lock(lock);
			return true;
		}
		if (!try_for_a_moment(cq->ia, lock, NULL)) {
			datp_turn_want(lock);
			return false;
		}
	}
	if (datp_turn_is_wanted(lock) && datp_loop_inside(&cq->ia->base))
		datp_turn_had(lock);
	return true;
}

/* ---- what is noted */

/* Whether something is owed to an endpoint. soft_ia.lock. */
static bool is_owed_locked(const struct soft_ep *ep)
{
	return ep->owed || ep->owed_end.gen;
}

/* Returns true if the endpoint is still there. soft_ia.lock. */
static bool is_there_locked(struct soft_ia *ia, const struct soft_ep *ep)
{
	/* relaxed: it changes under this lock */
	return atomic_load_explicit(&ia->ports[ep->index], memory_order_relaxed) == ep;
}

void soft_owe_end(struct soft_ep *ep, const struct soft_owed_end *end)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	/* relaxed: if it changes, the connection that was to end has ended */
	uint32_t gen = atomic_load_explicit(&ep->gen, memory_order_relaxed);

	datp_lock(&ia->lock);
	/* the first end of a connection counts */
	if (is_there_locked(ia, ep) && (!end->gen || end->gen == gen) && ep->owed_end.gen != gen) {
		ep->owed_end = *end;
		ep->owed_end.gen = gen;
		ia->owes = true;
	}
	datp_unlock(&ia->lock);
	soft_tick_set(ia);
}

void soft_owe(struct soft_ep *ep, enum soft_owed what)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	datp_lock(&ia->lock);
	if (is_there_locked(ia, ep)) {
		ep->owed |= what;
		ia->owes = true;
	}
	datp_unlock(&ia->lock);
	soft_tick_set(ia);
}

void soft_owe_serve(struct soft_ia *ia)
{
	datp_lock(&ia->lock);
	ia->owes = ia->owes_serve = true;
	datp_unlock(&ia->lock);
	soft_tick_set(ia);
}

void soft_owe_find(struct soft_cq *cq)
{
	cq->lost = true;
	soft_owe_serve(cq->ia);
}

void soft_owe_ready(struct soft_ep *ep, enum soft_side side)
{
	ep->look[side].waited = true;
	soft_owe_find(side == SOFT_SIDE_RECV ? soft_ep_recv_cq(ep) : soft_ep_request_cq(ep));
}

/* ---- the tick */

/* The endpoint waited for a buffer of its SRQ, and there is one. */
static void srq_again(struct soft_ep *ep)
{
	if (!soft_ep_try(ep)) {
		soft_owe(ep, SOFT_OWED_SRQ);
		return;
	}
	if (ep->open && ep->base.srq)
		(void)soft_recv_progress(ep);
	datp_unlock(&ep->base.lock);
}

/*
 * Returns the next endpoint, from *index on, to which the service thread owes something, or NULL. *what and *end become what it
 * owes, which is not noted at the endpoint any more.
 */
static struct soft_ep *owed_next(struct soft_ia *ia, uint32_t *index, uint32_t *what, struct soft_owed_end *end)
{
	struct soft_ep *ep = NULL;

	datp_lock(&ia->lock);
	for (; *index < ia->port_next && !ep; ++*index) {
		/* relaxed: it changes under this lock */
		ep = atomic_load_explicit(&ia->ports[*index], memory_order_relaxed);
		if (!ep || !is_owed_locked(ep)) {
			ep = NULL;
			continue;
		}
		*what = ep->owed;
		*end = ep->owed_end;
		ep->owed = 0;
		ep->owed_end.gen = 0;
		soft_ep_calls_again_locked(ep, *what);
	}
	datp_unlock(&ia->lock);
	return ep;
}

bool soft_owed_serve(struct soft_ia *ia)
{
	struct soft_owed_end end = { .gen = 0 };
	struct soft_ep *ep;
	uint32_t index = 0, what = 0;
	bool serve, owes;

	datp_lock(&ia->lock);
	owes = ia->owes;
	serve = ia->owes_serve;
	ia->owes = ia->owes_serve = false;
	datp_unlock(&ia->lock);
	if (!owes)
		return false;
	ia->owes_now = true;
	while ((ep = owed_next(ia, &index, &what, &end))) {
		if (what & SOFT_OWED_SRQ)
			srq_again(ep);
		if (end.gen)
			soft_ep_end_and_report(ep, end.gen, end.peer_event, end.only_failing, end.why);
	}
	if (serve) {
		soft_lost_find(ia);
		soft_ia_serve(ia);
	}
	ia->owes_now = false;
	datp_lock(&ia->lock);
	owes = ia->owes;
	datp_unlock(&ia->lock);
	return owes;
}
