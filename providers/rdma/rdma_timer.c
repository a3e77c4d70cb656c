/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that is done a little later, by one timer of the IA; most of it is for iWARP.
 *
 * Deferred accept. Where a message that finds no receive ends the connection, programs that post their
 * first receive after ESTABLISHED lose a race. So their event is queued at once, and the active
 * side, which has to send first, gets the reply when a receive or a request has been posted, or
 * after late_ms. Invariant: while rdma_ep.deferral is DEFER_ACCEPT or DEFER_ACCEPT_CALLED, the peer
 * has no reply yet, receives are staged, and no request is on the queue pair.
 *
 * Nudges. siw's passive side sends its reply before it reads from its socket: data that arrive in
 * that instant stay in the socket until more arrive, which is impossible once the socket is full.
 * So the active side sends an RTR message (the "ready to receive" of RFC 6581), a read of length 0,
 * and its program gets ESTABLISHED, and may send, when that has been answered. Until then a few
 * writes of length 0, the nudges, make the passive side read its socket. The passive side must not
 * do the same, because siw's active side treats data that arrive with the reply as an error.
 *
 * Asking again. A connection request that the peer's connection manager took for a stale connection is sent
 * once more.
 *
 * Failing later. An op that has begun something must not fail any more, not even for lack of memory. So a failure
 * is an event, which this timer queues.
 *
 * Workers. The service thread gives up an attempt at once, and the timer cancels its worker when that may be
 * cancelled (rdma_conn.c).
 *
 * Limits. The kernel waits 69 seconds for a peer that does not send the RTU after an accept, or does not answer
 * the end of a connection, and longer if the peer's connection request has asked for that; nobody but this side
 * waits for the answer to an RTR message. A peer that has
 * stopped, or means harm, would keep endpoints and ids for so long; so the wait ends after
 * handshake_ms.
 */
#include "log/limited.h"
#include "providers/common/base/cancel.h"
#include "rdma_cm.h"
#include "rdma_end.h"
#include "rdma_conn.h"
#include "rdma_cq.h"
#include "rdma_defer.h"
#include "rdma_poll.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_timer.h"
#include <errno.h>
#include <string.h>

enum { NUDGE_FIRST_MS = 1, NUDGES = RDMA_NUDGES, MS = 1000 };

/* ------------------------------------------------------------------ the accept itself */

/* EP lock and IA mutex. Returns an errno, or 0. */
static int answer_locked(struct rdma_conn *conn, struct rdma_ep *ep)
{
	const struct rdma_conn_param *param = &conn->param;
	int err = rdma_qp_begin_locked(ep, conn->id);

	if (!err)
		err = rdma_qp_connect(ep, conn->id, param->responder_resources,
				      param->initiator_depth);
	if (!err)
		err = rdma_accept(conn->id, &conn->param) ? errno : 0;
	if (err)
		return err;
	/* the handler of the event that reports it takes the IA mutex first, and finds this set */
	conn->established = true;
	return 0;
}

static void accept_locked(struct rdma_ep *ep)
{
	static struct log_limit unaccepted;
	struct rdma_ia *ia = rdma_ep_ia(ep);
	int err = 0;

	ep->deferral = DEFER_NONE;
	rdma_defer_begin_locked(ep);
	pthread_mutex_lock(&ia->lock);
	if (ep->conn && ep->conn->id) {
		ep->conn->due_us = 0;
		err = answer_locked(ep->conn, ep);
	}
	pthread_mutex_unlock(&ia->lock);
	if (!err)
		return;
	/* most likely the active side has given up; ESTABLISHED has been queued */
	log_limited(&unaccepted, 3, "%s: cannot accept a request: %s", ia->base.name, strerror(err));
	rdma_ep_break_locked(ep);
}

void rdma_deferred_accept_locked(struct rdma_ep *ep)
{
	struct cancel own;

	if (ep->deferral != DEFER_ACCEPT && ep->deferral != DEFER_ACCEPT_CALLED)
		return;
	/* librdmacm and the log write(): a thread that is cancelled in a post would end there, with the locks that it holds */
	cancel_off(&own);
	accept_locked(ep);
	cancel_restore(&own);
}

static void accept_now(struct datp_ep *base)
{
	datp_lock(&base->lock);
	rdma_deferred_accept_locked(rdma_ep(base));
	datp_unlock(&base->lock);
}

void rdma_deferred_accept(struct rdma_ep *ep)
{
	accept_now(&ep->base);
}

/*
 * This side is about to send, so the peer has to get its reply. rdma_defer.c decides whether this
 * side may send yet.
 */
void rdma_accept_before_request_locked(struct rdma_ep *ep)
{
	rdma_deferred_accept_locked(ep);
	rdma_defer_look_locked(ep);
}

void rdma_accept_after_receive_locked(struct rdma_ep *ep)
{
	if (ep->deferral != DEFER_ACCEPT)
		return;
	/* on the service thread, because a program that posts one receive often posts some more */
	ep->deferral = DEFER_ACCEPT_CALLED;
	if (datp_ep_call(&ep->base, accept_now))
		rdma_deferred_accept_locked(ep);
}

/* ------------------------------------------------------------------ when to wait, and how long */

static void look(void *arg);

/* The IA's timer serves all connections: it fires at the earliest of their times. */
static void look_by(struct rdma_ia *ia, uint64_t due_us)
{
	datp_timer_set_by(&ia->base, &ia->timer, due_us, look, ia);
}

static void set_due_locked(struct rdma_conn *conn, uint32_t ms)
{
	conn->due_us = datp_clock_us() + (uint64_t)ms * MS;
	look_by(conn->ia, conn->due_us);
}

void rdma_limit_locked(struct rdma_conn *conn)
{
	conn->limit_us = datp_clock_us() + (uint64_t)conn->ia->opt.handshake_ms * MS;
	look_by(conn->ia, conn->limit_us);
}

void rdma_cancel_later_locked(struct rdma_conn *conn)
{
	conn->due_us = conn->handshake_us;
	look_by(conn->ia, conn->due_us);
}

void rdma_fail_soon_locked(struct rdma_conn *conn)
{
	set_due_locked(conn, 0);
}

/*
 * Returns when something has to be done for the connection, or UINT64_MAX. A thread that has
 * detached the connection sets its limit anew when it retires it. IA mutex.
 */
static uint64_t due_locked(const struct rdma_conn *conn)
{
	uint64_t due = conn->due_us && (conn->ep || conn->connecting) ? conn->due_us : UINT64_MAX;

	if (conn->limit_us && conn->limit_us < due && !conn->detached && !conn->dead)
		due = conn->limit_us;
	return due;
}

/*
 * Returns a connection whose time had come at `now`, and marks it as being handled. If there is none, this function returns NULL,
 * and sets the timer for the next one. Sets *limit if the time is the end of a wait for the peer.
 */
static struct rdma_conn *one_due(struct rdma_ia *ia, uint64_t now, struct rdma_ep **ep, bool *limit)
{
	uint64_t next = UINT64_MAX, due;
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	for (conn = ia->conns; conn; conn = conn->next) {
		due = due_locked(conn);
		if (due <= now)
			break;
		if (due < next)
			next = due;
	}
	if (conn) {
		*limit = conn->limit_us && conn->limit_us <= now;
		*(*limit ? &conn->limit_us : &conn->due_us) = 0;
		conn->busy = true;
		*ep = conn->ep;
	} else if (next != UINT64_MAX) {
		look_by(ia, next);
	}
	pthread_mutex_unlock(&ia->lock);
	return conn;
}

static void nudge(struct rdma_conn *conn, struct rdma_ep *ep)
{
	/* the answer to the RTR message may have arrived; then a call that follows this one handles it */
	rdma_cqset_drain(ep->send_set);
	if (!conn->rtr_pending)
		return;
	datp_lock(&ep->base.lock);
	if (conn->nudges < NUDGES && !ep->over && !ep->broken)
		rdma_post_marker(ep, RDMA_ID_OURS, false);
	datp_unlock(&ep->base.lock);
	pthread_mutex_lock(&conn->ia->lock);
	/* after the last nudge the timer only checks for the answer */
	conn->nudges += conn->nudges < NUDGES;
	set_due_locked(conn, (uint32_t)NUDGE_FIRST_MS << conn->nudges);
	pthread_mutex_unlock(&conn->ia->lock);
}

void rdma_due_locked(struct rdma_ep *ep, uint32_t ms)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);

	pthread_mutex_lock(&ia->lock);
	if (ep->conn)
		set_due_locked(ep->conn, ms);
	pthread_mutex_unlock(&ia->lock);
}

void rdma_nudge_begin(struct rdma_conn *conn)
{
	pthread_mutex_lock(&conn->ia->lock);
	set_due_locked(conn, NUDGE_FIRST_MS);
	rdma_limit_locked(conn);
	pthread_mutex_unlock(&conn->ia->lock);
}

void rdma_ask_later(struct rdma_conn *conn, uint32_t ms)
{
	pthread_mutex_lock(&conn->ia->lock);
	conn->asks = true;
	set_due_locked(conn, ms);
	pthread_mutex_unlock(&conn->ia->lock);
}

void rdma_ask_forget(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);

	pthread_mutex_lock(&ia->lock);
	if (ep->conn && ep->conn->asks) {
		ep->conn->due_us = 0;
		ep->conn->asks = false;
	}
	pthread_mutex_unlock(&ia->lock);
}

/*
 * The peer of an active side may not read its socket yet; or the program has had enough time to post a receive; or
 * there are deferred requests, on either side.
 */
static void due(struct rdma_conn *conn, struct rdma_ep *ep)
{
	if (conn->active)
		nudge(conn, ep);
	else
		rdma_deferred_accept(ep);
	rdma_defer_timer(ep);
}

/* Returns true if the answer to the RTR message has arrived, and a call is to follow that reports ESTABLISHED. */
static bool rtr_is_heard(struct rdma_ep *ep)
{
	bool heard;

	/* nobody may have polled since */
	rdma_cqset_drain(ep->send_set);
	datp_lock(&ep->base.lock);
	heard = ep->rtr_heard;
	datp_unlock(&ep->base.lock);
	return heard;
}

/*
 * The peer has had enough time. An endpoint whose accept got no RTU fails, and so does an attempt whose RTR message
 * got no answer; a connection that no endpoint has any more is destroyed.
 */
static void limit_reached(struct rdma_conn *conn, struct rdma_ep *ep)
{
	if (!ep) {
		rdma_conn_dead(conn);
	} else if (conn->answered && !conn->established) {
		/* destroyed at once, instead of being kept for a late RTU */
		conn->answered = false;
		rdma_ep_lost(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	} else if (conn->rtr_pending && !rtr_is_heard(ep)) {
		conn->rtr_pending = false;
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	}
}

static void worker_cancel(struct rdma_conn *conn)
{
	pthread_mutex_lock(&conn->ia->lock);
	rdma_worker_cancel_locked(conn);
	pthread_mutex_unlock(&conn->ia->lock);
}

static void look(void *arg)
{
	struct rdma_ia *ia = arg;
	/* what becomes due meanwhile waits for the timer, so that thousands of connections leave time for other events */
	uint64_t now = datp_clock_us();
	struct rdma_conn *conn;
	struct rdma_ep *ep;
	bool limit;

	while ((conn = one_due(ia, now, &ep, &limit)) != NULL) {
		if (limit)
			limit_reached(conn, ep);
		else if (!ep)
			worker_cancel(conn);
		else if (conn->fails)
			rdma_ep_failed(ep, conn->fails);
		else if (conn->hung_up)
			rdma_ep_lost(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		else if (conn->asks)
			rdma_ask(conn, ep);
		else
			due(conn, ep);
		rdma_conn_leave(conn);
	}
}

/* Service thread. */
static void report_established(struct datp_ep *base)
{
	rdma_established_show(rdma_ep(base), NULL, 0);
}

bool rdma_accept_defer(struct rdma_conn *conn, struct rdma_ep *ep)
{
	struct rdma_ia *ia = conn->ia;
	bool waits;

	/*
	 * on an endpoint with an SRQ nothing is posted to the endpoint itself: receives may be
	 * there already, or threads of other endpoints post them
	 */
	if (!ia->kind->impatient || !ia->opt.late_ms || ep->base.srq)
		return false;
	datp_lock(&ep->base.lock);
	waits = !ep->staged && !datp_ep_call(&ep->base, report_established);
	if (waits)
		ep->deferral = DEFER_ACCEPT;
	/* the numbers that the reply will have; the call that queues ESTABLISHED needs the lock, so it comes after this */
	if (waits && rdma_has(ia, RDMA_CROSSED_READS))
		rdma_qp_agreed_locked(ep, conn->param.responder_resources,
				      conn->param.initiator_depth);
	datp_unlock(&ep->base.lock);
	if (!waits)
		return false;
	pthread_mutex_lock(&ia->lock);
	set_due_locked(conn, (uint32_t)ia->opt.late_ms);
	pthread_mutex_unlock(&ia->lock);
	return true;
}

void rdma_timer_close(struct rdma_ia *ia)
{
	datp_timer_cancel(&ia->base, &ia->timer);
}
