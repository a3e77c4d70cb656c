/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The open connection and its end. While it is open, the peer may access the buffers posted here. It ends once,
 * whatever the cause: what has arrived is completed, the port is closed, and every access that has begun is awaited.
 * Only then is the end reported to libdatp, which flushes what is left. A peer that is stopped is awaited no longer
 * than the bound, and little longer for all its connections together: closing the port has taken away its right to
 * access our memory (guard.c), and the port is left to it. The service thread waits for a moment at most, and looks
 * again at each tick (tick.c).
 */
#include "bounce.h"
#include "bound.h"
#include "conn.h"
#include "cq.h"
#include "established.h"
#include "exec.h"
#include "owed.h"
#include "peer.h"
#include "port.h"
#include "polling.h"
#include "progress.h"
#include "quiesce.h"
#include "recv.h"
#include "send.h"
#include "setup.h"
#include "sock.h"
#include "srq.h"
#include "tick.h"
#include "withheld.h"
#include "log/limited.h"
#include "providers/common/base/pause.h"

/*
 * The service thread waits this long where a connection has to have ended when the function
 * returns. A running peer has released the memory by then, because it is at most within one piece of
 * a copy.
 */
#define TEARDOWN_GRACE_MS 20
#define ENDS_LEAST	  16u /* such a part of the bound each connection of a peer is awaited, however many there are */
#define TRIED_SOCKETS	  16u /* of a peer, to tell it of an end */
#define PUT_OFF_BOUNDS	  4u /* so many peers may hold up the last messages of another for the whole bound */

static struct soft_cq *evd_cq(struct soft_ia *ia, struct datp_evd *evd)
{
	return evd ? &soft_evd(evd)->cq : &ia->null_cq;
}

struct soft_cq *soft_ep_recv_cq(struct soft_ep *ep)
{
	return evd_cq(soft_ia(ep->base.obj.ia), ep->base.recv_evd);
}

struct soft_cq *soft_ep_request_cq(struct soft_ep *ep)
{
	return evd_cq(soft_ia(ep->base.obj.ia), ep->base.request_evd);
}

/* The peer uses the endpoint's rings from now on. Returns false if there is no memory to note that. */
static bool tell_rings(struct soft_ep *ep, struct soft_peer *peer)
{
	bool told;

	datp_lock(&peer->ia->lock);
	told = soft_cq_tell_locked(soft_ep_recv_cq(ep), peer) && soft_cq_tell_locked(soft_ep_request_cq(ep), peer);
	datp_unlock(&peer->ia->lock);
	return told;
}

bool soft_ep_open(struct soft_ep *ep, struct soft_peer *peer, const struct soft_remote_ep *remote,
		  bool accepting)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_port *rport = soft_peer_port(peer, &remote->port, &remote->layout);
	uint32_t rmask, unused;
	/* acquire: whoever accepts opens the port before it answers; if that has ended meanwhile, so has this connection */
	bool ended = !accepting && rport && atomic_load_explicit(&rport->open, memory_order_acquire) != remote->gen;
	struct soft_ring *rring = soft_peer_ring(peer, &remote->ring, &rmask);
	struct soft_ring *rrequest = soft_peer_ring(peer, &remote->request, &unused);

	/* so that the peer can be told about the end even if there is no memory then */
	if (!ep->end_msg)
		ep->end_msg = soft_out_for_end();
	if (!rport || ended || !rring || !rrequest || !ep->end_msg || !tell_rings(ep, peer)) {
		soft_peer_unmap(peer, rport);
		soft_peer_unmap(peer, rring);
		soft_peer_unmap(peer, rrequest);
		return false;
	}
	ep->rring = rring;
	ep->rmask = rmask;
	ep->rrequest = rrequest;
	ep->rlayout = remote->layout;
	ep->rindex = remote->index;
	ep->rgen = remote->gen;
	ep->my_sender_id = remote->my_sender_id;
	ep->copying.way = peer->cma ? SOFT_COPY_KERNEL : SOFT_COPY_AS_CAN;
	datp_lock(&ia->lock);
	peer->users++;
	ep->peer = peer;
	ep->rport = rport; /* from here on soft_mr_quiesce() checks this connection */
	datp_unlock(&ia->lock);
	/*
	 * relaxed: a thread that finds it set has found the endpoint open under the EP lock, or has
	 * received the peer's RTU, which answers a reply that is sent after this
	 */
	atomic_store_explicit(&ep->accepting, accepting ? ep->gen : 0, memory_order_relaxed);
	ep->open = true;
	/* release: publishes the fields of the connection; the bounce thread acquires them */
	atomic_store_explicit(&ep->bounce_gen, ep->gen, memory_order_release);
	atomic_store(&ep->port->open, ep->gen);
	return true;
}

/* Returns false if there is no such socket, or if it has hung up. soft_ia.lock */
static bool send_over(struct soft_ep *ep, struct soft_socket *sock, const struct soft_msg *msg)
{
	return sock && soft_socket_send_by(sock, msg, &ep->end_msg);
}

/*
 * Sends it over one of the first sockets of a peer's list. Returns false if these have hung up: a peer may hang up very many, and
 * each of their connections comes here. soft_ia.lock
 */
static bool send_over_any(struct soft_ep *ep, struct soft_socket *list, const struct soft_msg *msg)
{
	for (unsigned int n = 0; list && n < TRIED_SOCKETS; list = list->next_of_peer, n++)
		if (send_over(ep, list, msg))
			return true;
	return false;
}

void soft_ep_send_msg(struct soft_ep *ep, const struct soft_msg *msg)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	/* acquire: see peer_mark_dead(). All connections of the peer end then, and each would try all its sockets in vain */
	if (atomic_load_explicit(&ep->peer->dead, memory_order_acquire))
		return;
	datp_lock(&ia->lock);
	/*
	 * The active side may have hung up the socket of the set-up while this process was stopped before it read the RTU, and then
	 * the other socket may not be known yet to be one that stays. A peer that has gone need not be told.
	 */
	if (!send_over(ep, ep->socket, msg) && !send_over_any(ep, ep->peer->sockets, msg))
		(void)send_over_any(ep, ep->peer->accepted, msg);
	datp_unlock(&ia->lock);
}

/* Notes which accesses are under way after the port was closed; no thread begins one any more. */
static void teardown_look(struct soft_ep *ep)
{
	soft_exec_look(&ep->teardown.watch[0], ep, ep->rport);
	soft_exec_look(&ep->teardown.watch[1], ep, ep->port);
	soft_other_look(&ep->teardown.other, soft_ia(ep->base.obj.ia), ep);
}

/* Returns true if all accesses that teardown_look() has noted have ended. */
static bool teardown_is_quiet(const struct soft_ep *ep)
{
	const struct soft_exec_watch *w = ep->teardown.watch;

	if (soft_exec_own_works(&w[0]) || !soft_other_has_ended(&ep->teardown.other))
		return false;
	/* a peer that has died accesses nothing, even if a shared word still says that it holds the execution lock */
	return (soft_exec_let_go(&w[0]) && soft_exec_let_go(&w[1])) || soft_peer_lost(ep->peer);
}

/* Waits until these accesses have ended. Returns false if one of a peer still goes on at the time `until`. */
static bool teardown_wait(struct soft_ep *ep, uint64_t until)
{
	for (unsigned int n = 1; !soft_other_has_ended(&ep->teardown.other); n++)
		pause_briefly(n);
	return soft_exec_wait(ep, ep->rport, ep->peer, NULL, until) &&
	       soft_exec_wait(ep, ep->port, ep->peer, NULL, until);
}

/*
 * The accesses of this connection have ended: delivers what has arrived, and completes what has been executed. Returns false if a
 * receive or a bind is withheld because of an access over another connection (withheld.c), which does not happen if it is `late`.
 * The bind may be one that libdatp is going to flush.
 */
static bool teardown_deliver(struct soft_ep *ep, bool late)
{
	bool delivered;

	/* waits for a copy that our bounce thread checked before the port was closed; after that it begins no copy */
	soft_bounce_quiesce(soft_ia(ep->base.obj.ia));
	/* acquire: see peer_mark_dead() */
	if (atomic_load_explicit(&ep->peer->dead, memory_order_acquire))
		soft_exec_take_back(ep->port);
	datp_lock(&ep->base.lock);
	if (!ep->teardown.binds_since)
		soft_binds_fail(ep, soft_sq_unexecuted(ep));
	delivered = soft_recv_flush(ep, ep->teardown.deliver, late);
	delivered = soft_sq_flush(ep, late) && soft_binds_may_flush(ep, late) && delivered;
	datp_unlock(&ep->base.lock);
	return delivered;
}

/*
 * Waits until `until` for the accesses of this connection, unless they are over (`quiet`), and then until `late` for one that
 * withholds a receive or a bind, which may be that of another peer, and delivers what has arrived. Returns true if the accesses of
 * this connection have ended.
 */
static bool teardown_settle(struct soft_ep *ep, bool quiet, uint64_t until, uint64_t late)
{
	quiet = quiet || teardown_wait(ep, until);
	while (!teardown_deliver(ep, soft_now_ms() >= late))
		pause_asleep();
	return quiet;
}

/* As soft_spend_locked(), for ends of connections. */
static uint64_t ends_waited(struct soft_ep *ep, uint64_t more)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint64_t waited;

	datp_lock(&ia->lock);
	waited = soft_spend_locked(ia, &ep->peer->ends, more);
	datp_unlock(&ia->lock);
	return waited;
}

/*
 * Returns until when a thread that may wait for the peer does so. The connections of a peer have one bound together: what was
 * waited for one is taken off that of the next. Each is awaited for a part of the bound nevertheless: the peer may run, and be in
 * the middle of a piece, after which it finds that it has lost its right.
 */
static uint64_t teardown_until(struct soft_ep *ep, uint64_t now)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint64_t until = ep->teardown.until, least = now + ia->patience_ms / ENDS_LEAST, waited = ends_waited(ep, 0);

	if (!waited || until <= least)
		return until;
	return until > least + waited ? until - waited : least;
}

/* As teardown_settle(), until that time, and notes how long that has taken. */
static bool teardown_settle_in_time(struct soft_ep *ep, bool quiet)
{
	uint64_t began = soft_now_ms(), until = teardown_until(ep, began), least, now, took;
	const uint64_t free = soft_bound_call(soft_ia(ep->base.obj.ia));

	least = began + TEARDOWN_GRACE_MS;
	quiet = teardown_settle(ep, quiet, until, ep->teardown.until > least ? ep->teardown.until : least);
	now = soft_now_ms();
	/* not what it took besides: this process may have been stopped, or may have waited for a thread of its own */
	if (now > until)
		now = until;
	took = now > began ? now - began : 0;
	/* and a peer that runs may take a while for a piece under way on a busy machine */
	if (quiet)
		took -= took < free ? took : free;
	(void)ends_waited(ep, took);
	return quiet;
}

/*
 * Executes what the peer has left, unless ends of its connections have waited for its bounce thread so long that they begin no
 * further wait: then these requests are lost, as those that come now. EP lock.
 */
static void teardown_execute(struct soft_ep *ep)
{
	uint64_t before = soft_bounce_waited(ep->peer), now;

	if (before && ends_waited(ep, 0) > soft_bound_call(soft_ia(ep->base.obj.ia)))
		return;
	(void)soft_recv_progress(ep);
	now = soft_bounce_waited(ep->peer);
	if (now != before)
		(void)ends_waited(ep, now - before);
}

/* Delivers and completes all of it. */
static void teardown_complete(struct soft_ep *ep)
{
	(void)teardown_deliver(ep, true);
	datp_lock(&ep->base.lock);
	soft_recv_discard(ep);
	if (ep->base.srq)
		soft_srq_forget(ep);
	datp_unlock(&ep->base.lock);
}

/* Leaves the port to a peer that has not released it, because the peer may continue its access. */
static void teardown_give_up(struct soft_ep *ep)
{
	static struct log_limit kept;

	log_limited(&kept, 2,
		    "soft: process %d had not released a connection when that ended; is the process "
		    "stopped? It cannot access registered memory any more",
		    (int)ep->peer->process.pid);
	soft_port_leave(ep);
}

/*
 * Takes the port off the ready lists; no thread puts it there any more. On the service thread this returns false if a peer holds up
 * the thread that has a lock which this needs.
 */
static bool teardown_drain(struct soft_ep *ep)
{
	return soft_cq_drain(soft_ep_recv_cq(ep)) &&
	       (soft_ep_request_cq(ep) == soft_ep_recv_cq(ep) || soft_cq_drain(soft_ep_request_cq(ep)));
}

/* Releases what the connection held. quiet: all accesses have ended; if not, they are awaited no longer. */
static void teardown_release(struct soft_ep *ep, bool quiet)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_peer *peer = ep->peer;

	/* once more, because the peer may have been in the middle of putting the port there */
	(void)teardown_drain(ep);
	if (!quiet)
		teardown_give_up(ep);
	datp_lock(&ia->lock);
	soft_peer_unmap_locked(peer, ep->rport);
	soft_peer_unmap_locked(peer, ep->rring);
	soft_peer_unmap_locked(peer, ep->rrequest);
	ep->rport = NULL;
	ep->rring = ep->rrequest = NULL;
	ep->peer = NULL;
	/* on the passive side before the peer's RTU: later messages over this socket do not concern the endpoint */
	if (ep->socket) {
		ep->socket->ep = NULL;
		ep->socket = NULL;
	}
	datp_unlock(&ia->lock);
	soft_peer_put(peer);
}

/*
 * Waits until the teardown that another thread has begun is over. No lock is held: the teardown
 * takes many.
 */
void soft_ep_await_end(struct soft_ep *ep)
{
	if (!atomic_load(&ep->tearing_down))
		return;
	/* only the service thread finishes a teardown that waits for the peer, so here it must not wait for itself */
	if (datp_loop_inside(ep->base.obj.ia) && ep->teardown.waits)
		soft_teardown_finish(ep);
	for (unsigned int n = 0; atomic_load(&ep->tearing_down); n++)
		pause_briefly(n);
}

void soft_ep_ended(struct soft_ep *ep)
{
	atomic_store(&ep->tearing_down, false);
}

/* ---- a teardown that is put off, because messages before it cannot be taken yet ---- */

/* EP lock. */
static void put_off_forget(struct soft_ep *ep)
{
	if (!ep->put_off)
		return;
	__atomic_store_n(&ep->put_off, 0, __ATOMIC_RELAXED);
	atomic_fetch_sub_explicit(&soft_ia(ep->base.obj.ia)->put_off, 1, memory_order_relaxed);
}

/*
 * The peer has ended the connection, or a socket to it has hung up. Puts our teardown off if the peer's last messages may be behind
 * a cell that another sender has not published: then the tick looks again, until no cell is awaited, or for PUT_OFF_BOUNDS. Returns
 * true if it is put off. Service thread.
 */
static bool teardown_put_off(struct soft_ep *ep, const struct soft_owed_end *end)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_cq *cq = soft_ep_recv_cq(ep);
	bool off;

	/*
	 * If a lock is not free, teardown_try_begin() finds that, too. relaxed: the drain has just updated it; whatever it becomes
	 * later, the wait ends at the bound
	 */
	if (!soft_cq_drain(cq) || !atomic_load_explicit(&cq->late, memory_order_relaxed) || !soft_ep_try(ep))
		return false;
	off = ep->open && !ep->failing && (!end->gen || ep->gen == end->gen) &&
	      (!ep->put_off || soft_now_ms() < ep->put_off);
	if (off && !ep->put_off) {
		__atomic_store_n(&ep->put_off, soft_bound(ia) + (PUT_OFF_BOUNDS - 1) * (uint64_t)ia->patience_ms, __ATOMIC_RELAXED);
		ep->put_off_why = end->why;
		ep->put_off_event = end->peer_event;
		atomic_fetch_add_explicit(&ia->put_off, 1, memory_order_relaxed);
		soft_tick_set(ia);
	}
	datp_unlock(&ep->base.lock);
	return off;
}

bool soft_teardowns_put_off_serve(struct soft_ia *ia)
{
	/* relaxed: whoever counts a teardown sets the timer afterwards */
	if (!atomic_load_explicit(&ia->put_off, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);
		DAT_EVENT_NUMBER why = 0, event = 0;
		uint32_t gen = 0;

		/*
		 * relaxed: written by this thread, unless the teardown has begun meanwhile. An endpoint whose teardown is not put
		 * off is not locked, because its peer may hold up the thread that has the lock
		 */
		if (!ep || !__atomic_load_n(&ep->put_off, __ATOMIC_RELAXED))
			continue;
		if (!soft_ep_try(ep)) /* the next tick tries again */
			continue;
		if (ep->open && ep->put_off) {
			gen = ep->gen;
			why = ep->put_off_why;
			event = ep->put_off_event;
		}
		datp_unlock(&ep->base.lock);
		if (gen)
			soft_ep_end_and_report(ep, gen, event, false, why);
	}
	return atomic_load_explicit(&ia->put_off, memory_order_relaxed);
}

/* Closes the port of a connection that is to end. Returns true if this thread carries out the teardown. EP lock. */
static bool teardown_begin_locked(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER peer_event, bool only_failing)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool mine = ep->open && (!gen || ep->gen == gen) && (!only_failing || ep->failing);

	if (mine) {
		/* relaxed: revoked_now() has acquired it before it calls this; another caller that misses it waits longer */
		bool revoked = atomic_load_explicit(&ep->revoked, memory_order_relaxed) == ep->gen;

		teardown_execute(ep);
		soft_progress_forget(ep);
		ep->teardown.deliver = !ep->failing;
		ep->teardown.peer_event = peer_event;
		ep->teardown.why = 0;
		ep->teardown.binds_since = 0;
		/* a peer that has lost its right was awaited before, except for the piece that it may be copying */
		ep->teardown.until = revoked ? soft_now_ms() + soft_bound_rest(ia) : soft_bound(ia);
		ep->teardown.looked = soft_now_ms();
		ep->open = false;
		if (ep->draining)
			atomic_fetch_sub_explicit(&ia->draining, 1, memory_order_relaxed);
		__atomic_store_n(&ep->draining, false, __ATOMIC_RELAXED);
		soft_bind_forget(ep);
		put_off_forget(ep);
		atomic_store(&ep->tearing_down, true);
		/* sequentially consistent: either the bounce thread reads 0, or soft_bounce_quiesce() finds the bounce thread */
		atomic_store(&ep->bounce_gen, 0);
		/* sequentially consistent: see exec_try() */
		atomic_store(&ep->port->open, 0);
	}
	return mine;
}

/*
 * Takes what has arrived, and begins the teardown; *mine: this thread carries it out. Returns false if this is the service thread,
 * and a peer holds up the thread that has a lock which this needs.
 */
static bool teardown_try_begin(struct soft_ep *ep, const struct soft_owed_end *end, bool *mine)
{
	if (!soft_cq_drain(soft_ep_recv_cq(ep)) || !soft_ep_try(ep))
		return false;
	*mine = teardown_begin_locked(ep, end->gen, end->peer_event, end->only_failing);
	datp_unlock(&ep->base.lock);
	return true;
}

/*
 * The same for a teardown that cannot be put off: the service thread leaves in the queue what it cannot take. It has such a
 * teardown only of an endpoint for which no thread copies: an attempt has timed out, or was refused or given up.
 */
static bool teardown_begin(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER peer_event)
{
	bool mine;

	(void)soft_cq_drain(soft_ep_recv_cq(ep));
	datp_lock(&ep->base.lock);
	mine = teardown_begin_locked(ep, gen, peer_event, false);
	datp_unlock(&ep->base.lock);
	return mine;
}

static void teardown_finish(struct soft_ep *ep, bool quiet)
{
	struct soft_msg msg = { .magic = SOFT_MSG_MAGIC,
				.version = SOFT_SHM_VERSION,
				.type = SOFT_MSG_DISC,
				.port = ep->rindex,
				.gen = ep->rgen,
				.why = ep->teardown.peer_event };

	teardown_complete(ep);
	if (ep->teardown.peer_event)
		soft_ep_send_msg(ep, &msg);
	teardown_release(ep, quiet);
}

/* Reports the end to libdatp, if it has to be reported. */
static void teardown_report(struct soft_ep *ep)
{
	if (!ep->teardown.why)
		;
	else if (atomic_exchange(&ep->accepting, 0))
		/* on the passive side, before anything has come from the peer: the connection was never established */
		(void)datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	else
		(void)datp_cm_disconnected(&ep->base, ep->teardown.why);
	soft_ep_ended(ep);
}

bool soft_ep_end(struct soft_ep *ep, DAT_EVENT_NUMBER peer_event)
{
	bool quiet;

	if (!teardown_begin(ep, 0, peer_event)) {
		/* if another thread is ending it, this waits for that end */
		soft_ep_await_end(ep);
		return false;
	}
	teardown_look(ep);
	quiet = teardown_is_quiet(ep);
	if (!(quiet && teardown_deliver(ep, false))) {
		if (datp_loop_inside(ep->base.obj.ia) && ep->teardown.until > soft_now_ms() + TEARDOWN_GRACE_MS)
			ep->teardown.until = soft_now_ms() + TEARDOWN_GRACE_MS;
		quiet = teardown_settle_in_time(ep, quiet);
	}
	(void)teardown_drain(ep);
	teardown_finish(ep, quiet);
	return true;
}

/* Finishes a teardown that has begun: now, or, on the service thread, when the peer has released the port or the bound is over. */
static void teardown_go_on(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool quiet;

	teardown_look(ep);
	quiet = teardown_is_quiet(ep);
	if (!datp_loop_inside(&ia->base)) {
		quiet = teardown_settle_in_time(ep, quiet);
		(void)teardown_drain(ep);
	} else if ((!(quiet && teardown_deliver(ep, false)) &&
		    (soft_now_ms() < ep->teardown.until || !soft_other_has_ended(&ep->teardown.other))) ||
		   !teardown_drain(ep)) {
		ep->teardown.waits = true;
		ep->teardown.next = ia->teardowns;
		ia->teardowns = ep;
		soft_tick_set(ia);
		return;
	}
	teardown_finish(ep, quiet);
	teardown_report(ep);
}

void soft_ep_end_unreported(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER peer_event)
{
	if (teardown_begin(ep, gen, peer_event))
		teardown_go_on(ep);
	else if (!datp_loop_inside(ep->base.obj.ia))
		soft_ep_await_end(ep);
}

bool soft_ep_end_and_report(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER peer_event,
			    bool only_failing, DAT_EVENT_NUMBER why)
{
	const struct soft_owed_end end = { gen, peer_event, why, only_failing };
	bool inside = datp_loop_inside(ep->base.obj.ia), mine = false;

	if (inside)
		soft_established_look_before(ep);
	/* it ends neither because the program here has asked for that, nor because an operation has failed */
	if (peer_event != DAT_CONNECTION_EVENT_DISCONNECTED && !only_failing && inside && teardown_put_off(ep, &end))
		return true;
	if (!teardown_try_begin(ep, &end, &mine)) {
		soft_owe_end(ep, &end);
		return true;
	}
	if (!mine) {
		if (!inside)
			soft_ep_await_end(ep);
		return false;
	}
	ep->teardown.why = why;
	teardown_go_on(ep);
	return true;
}

/* ---- teardowns that wait. Service thread ---- */

static void teardown_unlist(struct soft_ep *ep)
{
	struct soft_ep **p = &soft_ia(ep->base.obj.ia)->teardowns;

	while (*p != ep)
		p = &(*p)->teardown.next;
	*p = ep->teardown.next;
	ep->teardown.waits = false;
}

void soft_teardown_finish(struct soft_ep *ep)
{
	uint64_t until = soft_now_ms() + TEARDOWN_GRACE_MS;
	bool quiet;

	teardown_unlist(ep);
	quiet = teardown_settle(ep, false, until, until);
	(void)teardown_drain(ep);
	teardown_finish(ep, quiet);
	teardown_report(ep);
}

bool soft_teardowns_serve(struct soft_ia *ia)
{
	struct soft_ep *ep = ia->teardowns, *next;

	for (; ep; ep = next) {
		bool quiet = teardown_is_quiet(ep);

		next = ep->teardown.next;
		if (!(quiet && teardown_deliver(ep, false)) &&
		    (!soft_bound_over(&ep->teardown.until, &ep->teardown.looked) || !soft_other_has_ended(&ep->teardown.other)))
			continue;
		if (!teardown_drain(ep))
			continue;
		teardown_unlist(ep);
		teardown_finish(ep, quiet);
		teardown_report(ep);
	}
	return ia->teardowns != NULL;
}

/* ---- what ends a connection ---- */

static void fail_now(struct datp_ep *base)
{
	struct soft_ep *ep = soft_ep(base);

	soft_ep_end_and_report(ep, 0, DAT_CONNECTION_EVENT_BROKEN, true,
			       DAT_CONNECTION_EVENT_BROKEN);
}

void soft_ep_fail(struct soft_ep *ep)
{
	if (ep->failing || !ep->open)
		return;
	ep->failing = true;
	if (datp_ep_call(&ep->base, fail_now))
		datp_log(
			1,
			"soft: no memory to break a connection that failed; the program has to "
			"disconnect it");
}

void soft_ep_unanswered(struct soft_ep *ep)
{
	static struct log_limit silent;

	if (!ep->failing)
		log_limited(&silent, 1,
			    "soft: process %d does not answer; is it stopped? The connection ends "
			    "(peer_timeout=%u)",
			    (int)ep->peer->process.pid, soft_ia(ep->base.obj.ia)->patience_ms);
	soft_ep_fail(ep);
}

/* Service thread. The port is closed already. */
static void revoked_now(struct datp_ep *base)
{
	struct soft_ep *ep = soft_ep(base);

	if (!soft_ep_try(ep)) {
		soft_owe(ep, SOFT_OWED_REVOKED);
		return;
	}
	/* acquire: the port was closed before it was set */
	if (ep->open && ep->gen == atomic_load_explicit(&ep->revoked, memory_order_acquire)) {
		soft_ep_unanswered(ep);
		ep->failing = true;
	}
	datp_unlock(&ep->base.lock);
	fail_now(base);
}

void soft_ep_revoke_locked(struct soft_ep *ep, const struct soft_peer *peer, uint32_t gen)
{
	/* relaxed: it does not change while the lock is held and ep->peer is this peer */
	if (ep->peer != peer || atomic_load_explicit(&ep->gen, memory_order_relaxed) != gen)
		return;
	/* relaxed: written under the lock, which the caller holds */
	if (atomic_load_explicit(&ep->revoked, memory_order_relaxed) == gen)
		return;
	/* sequentially consistent, both: as in teardown_begin() */
	atomic_store(&ep->bounce_gen, 0);
	atomic_store(&ep->port->open, 0);
	/* release: see revoked_now() */
	atomic_store_explicit(&ep->revoked, gen, memory_order_release);
	if (datp_ep_call(&ep->base, revoked_now))
		datp_log(1,
			 "soft: no memory to break a connection whose peer does not answer; the "
			 "program has to disconnect it");
}

void soft_ep_corrupted(struct soft_ep *ep)
{
	static struct log_limit corrupted;

	if (!ep->failing)
		log_limited(
			&corrupted, 1,
			"soft: process %d has corrupted the memory that it shares with this "
			"one; the connection ends",
			(int)ep->peer->process.pid);
	soft_ep_fail(ep);
}

static void drained_now(struct datp_ep *base)
{
	struct soft_ep *ep = soft_ep(base);
	uint32_t gen;
	bool drained;

	if (!soft_ep_try(ep)) {
		soft_owe(ep, SOFT_OWED_DRAINED);
		return;
	}
	drained = ep->open && ep->draining && ep->draining_done && !ep->failing;
	gen = ep->gen;
	datp_unlock(&ep->base.lock);
	if (drained)
		soft_ep_end_and_report(ep, gen, DAT_CONNECTION_EVENT_DISCONNECTED, false,
				       DAT_CONNECTION_EVENT_DISCONNECTED);
}

void soft_ep_calls_again_locked(struct soft_ep *ep, uint32_t owed)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	if (owed & SOFT_OWED_REVOKED && datp_ep_call(&ep->base, revoked_now))
		ep->owed |= SOFT_OWED_REVOKED;
	if (owed & SOFT_OWED_DRAINED && datp_ep_call(&ep->base, drained_now))
		ep->owed |= SOFT_OWED_DRAINED;
	ia->owes = ia->owes || ep->owed;
}

void soft_ep_drained(struct soft_ep *ep)
{
	if (ep->draining_done)
		return;
	ep->draining_done = true;
	if (datp_ep_call(&ep->base, drained_now))
		ep->draining_done = false; /* the next reap tries again */
}

/*
 * Returns true if nobody holds the execution lock of either direction. The end of a connection
 * waits for a thread that copies, and a graceful disconnect must not wait. The answer may be out of
 * date when it is used.
 */
static bool exec_rests(struct soft_ep *ep)
{
	return !((atomic_load_explicit(&ep->port->exec_lock, memory_order_relaxed) |
		  atomic_load_explicit(&ep->rport->exec_lock, memory_order_relaxed)) &
		 SOFT_EXEC_HELD);
}

/* Returns true if nothing is outstanding, so that the connection can end at once. EP lock. */
static bool drained_already(struct soft_ep *ep)
{
	soft_exec_run(ep, true);
	soft_sq_reap(ep);
	/* a peer that took a request out of the queue would leave it outstanding for ever */
	if (!soft_requests_done(ep) && !soft_queue_is_whole(ep))
		soft_ep_corrupted(ep);
	return !ep->failing && soft_requests_done(ep) && exec_rests(ep);
}

static void disconnect_gracefully(struct soft_ep *ep)
{
	uint32_t gen = 0;

	datp_lock(&ep->base.lock);
	if (ep->open && !ep->draining && drained_already(ep)) {
		gen = ep->gen;
	} else if (ep->open && !ep->draining) {
		__atomic_store_n(&ep->draining, true, __ATOMIC_RELAXED);
		ep->draining_done = false;
		/* release: see soft_ia_serve() */
		atomic_fetch_add_explicit(&soft_ia(ep->base.obj.ia)->draining, 1, memory_order_release);
		/*
		 * sequentially consistent with exec_notify_initiator(): either the peer wakes the
		 * service thread, or this thread sees what the peer has executed since
		 * drained_already()
		 */
		atomic_store(&ep->port->want_wake, 1);
		soft_sq_reap(ep);
	}
	datp_unlock(&ep->base.lock);
	if (gen)
		soft_ep_end_and_report(ep, gen, DAT_CONNECTION_EVENT_DISCONNECTED, false,
				       DAT_CONNECTION_EVENT_DISCONNECTED);
}

void soft_ep_disconnect(struct datp_ep *base, enum datp_close how)
{
	struct soft_ep *ep = soft_ep(base);

	switch (how) {
	case DATP_CLOSE_GRACEFUL:
		disconnect_gracefully(ep);
		break;
	case DATP_CLOSE_ABRUPT:
		if (soft_ep_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED))
			soft_ep_ended(ep);
		break;
	default:
		soft_ep_abandon(ep);
	}
}

void soft_ep_abandon(struct soft_ep *ep)
{
	/* the cancel comes first: a reply handled meanwhile may open the endpoint, which is ended below */
	soft_ep_cancel(ep);
	atomic_store(&ep->accepting, 0);
	if (soft_ep_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED))
		soft_ep_ended(ep);
}

void soft_ep_unpoll(struct soft_ep *ep)
{
	struct soft_cq *cqs[2] = { soft_ep_recv_cq(ep), soft_ep_request_cq(ep) };

	for (int i = 0; i < 2; i++) {
		datp_lock(soft_cq_lock(cqs[i]));
		datp_unlock(soft_cq_lock(cqs[i]));
	}
}
