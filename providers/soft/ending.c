/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The open connection and its end. While it is open, the peer may touch the buffers posted here.
 * The end, whoever brings it about, happens once: what has arrived is completed, the port is
 * closed, and every access that had begun is waited for. Only then does libdatp hear of it, and
 * flushes what is left.
 */
#include "conn.h"
#include "cq.h"
#include "engine.h"
#include "opening.h"
#include "peer.h"
#include "recv.h"
#include "send.h"
#include "sock.h"
#include "srq.h"
#include <sched.h>

static struct soft_cq *evd_cq(struct soft_ia *ia, struct datp_evd *evd)
{
	return evd ? &soft_evd(evd)->cq : &ia->sink;
}

struct soft_cq *soft_ep_recv_cq(struct soft_ep *ep)
{
	return evd_cq(soft_ia(ep->base.obj.ia), ep->base.recv_evd);
}

struct soft_cq *soft_ep_request_cq(struct soft_ep *ep)
{
	return evd_cq(soft_ia(ep->base.obj.ia), ep->base.request_evd);
}

bool soft_ep_open(struct soft_ep *ep, struct soft_peer *peer, const struct soft_far *far,
		  bool accepting)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_port *rport = soft_peer_port(peer, &far->port, &far->layout);
	uint32_t rmask, unused;
	struct soft_ring *rring = soft_peer_ring(peer, &far->ring, &rmask);
	struct soft_ring *rrequest = soft_peer_ring(peer, &far->request, &unused);

	if (!rport || !rring || !rrequest)
		return false;
	ep->rring = rring;
	ep->rmask = rmask;
	ep->rrequest = rrequest;
	ep->rlayout = far->layout;
	ep->rindex = far->index;
	ep->rgen = far->gen;
	ep->my_slot = far->my_slot;
	datp_lock(&ia->lock);
	peer->users++;
	ep->peer = peer;
	ep->rport = rport; /* from here on soft_mr_quiesce() looks at this connection */
	datp_unlock(&ia->lock);
	/*
	 * relaxed: who finds it set has found the endpoint open, under the EP lock, or by the
	 * socket's message
	 */
	atomic_store_explicit(&ep->accepting, accepting ? ep->gen : 0, memory_order_relaxed);
	ep->open = true;
	atomic_store(&ep->port->open, ep->gen);
	return true;
}

void soft_ep_tell(struct soft_ep *ep, const struct soft_msg *msg)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_socket *sock;

	datp_lock(&ia->lock);
	sock = ep->socket ? ep->socket : ep->peer->sockets;
	if (sock)
		(void)soft_socket_send(sock, msg); /* a peer that is gone needs no news */
	datp_unlock(&ia->lock);
}

/*
 * What follows the closing of the port: nobody begins an access any more; wait for those that had
 * begun.
 */
static void end_quiesce(struct soft_ep *ep, bool deliver)
{
	soft_engine_wait(ep->rport, ep->peer, false);
	soft_engine_wait(ep->port, ep->peer, true);
	/* acquire: see peer_buried() */
	if (atomic_load_explicit(&ep->peer->dead, memory_order_acquire))
		soft_engine_take_back(ep->port);
	datp_lock(&ep->base.lock);
	if (deliver)
		soft_recv_flush(ep);
	soft_sq_reap(ep);
	soft_recv_discard(ep);
	if (ep->base.srq)
		soft_srq_forget(ep);
	datp_unlock(&ep->base.lock);
}

/* Gives up what the connection held. */
static void end_release(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_peer *peer = ep->peer;

	/*
	 * off the attention lists: what is on them is looked at, and nothing is put there any more
	 */
	soft_cq_drain(soft_ep_recv_cq(ep));
	if (soft_ep_request_cq(ep) != soft_ep_recv_cq(ep))
		soft_cq_drain(soft_ep_request_cq(ep));
	datp_lock(&ia->lock);
	ep->rport = NULL;
	ep->peer = NULL;
	/* passive, and no RTU yet: what comes over it is of no interest to the endpoint */
	if (ep->socket) {
		ep->socket->ep = NULL;
		ep->socket = NULL;
	}
	datp_unlock(&ia->lock);
	soft_peer_put(peer);
}

/* Until the end that another thread has begun is over. No lock: it takes many. */
void soft_ep_await_end(struct soft_ep *ep)
{
	while (atomic_load(&ep->ending))
		sched_yield();
}

void soft_ep_ended(struct soft_ep *ep)
{
	atomic_store(&ep->ending, false);
}

bool soft_ep_end(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER tell, bool only_failing)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_msg msg = { .magic = SOFT_MSG_MAGIC,
				.version = SOFT_SHM_VERSION,
				.type = SOFT_MSG_DISC };
	bool mine, deliver = false;

	soft_cq_drain(soft_ep_recv_cq(ep));
	datp_lock(&ep->base.lock);
	mine = ep->open && (!gen || ep->gen == gen) && (!only_failing || ep->failing);
	if (mine) {
		soft_recv_progress(ep);
		deliver = !ep->failing;
		ep->open = false;
		if (ep->draining)
			atomic_fetch_sub_explicit(&ia->draining, 1, memory_order_relaxed);
		ep->draining = false;
		atomic_store(&ep->ending, true);
		/* sequentially consistent: see engine_try */
		atomic_store(&ep->port->open, 0);
		msg.port = ep->rindex;
		msg.gen = ep->rgen;
		msg.why = tell;
	}
	datp_unlock(&ep->base.lock);
	if (!mine) {
		/* if another thread is at it, its end is ours */
		soft_ep_await_end(ep);
		return false;
	}
	end_quiesce(ep, deliver);
	if (tell)
		soft_ep_tell(ep, &msg);
	end_release(ep);
	return true;
}

bool soft_ep_end_and_tell(struct soft_ep *ep, uint32_t gen, DAT_EVENT_NUMBER tell,
			  bool only_failing, DAT_EVENT_NUMBER why)
{
	if (!soft_ep_end(ep, gen, tell, only_failing))
		return false;
	/* passive, and never heard of the peer: then this was no connection yet */
	if (atomic_exchange(&ep->accepting, 0))
		(void)datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	else
		(void)datp_cm_disconnected(&ep->base, why);
	soft_ep_ended(ep);
	return true;
}

/* ---- who brings it about ---- */

static void fail_now(struct datp_ep *base)
{
	struct soft_ep *ep = soft_ep(base);

	soft_ep_end_and_tell(ep, 0, DAT_CONNECTION_EVENT_BROKEN, true, DAT_CONNECTION_EVENT_BROKEN);
}

void soft_ep_fail(struct soft_ep *ep)
{
	if (ep->failing || !ep->open)
		return;
	ep->failing = true;
	if (datp_ep_call(&ep->base, fail_now))
		datp_log(
			1,
			"soft: no memory to break a connection that failed; disconnect it by hand");
}

void soft_ep_spoiled(struct soft_ep *ep)
{
	if (!ep->failing)
		datp_log(1,
			 "soft: process %d has spoiled the memory that it shares with this one; "
			 "the connection ends",
			 (int)ep->peer->pid);
	soft_ep_fail(ep);
}

static void drained_now(struct datp_ep *base)
{
	struct soft_ep *ep = soft_ep(base);
	uint32_t gen;
	bool drained;

	datp_lock(&ep->base.lock);
	drained = ep->open && ep->draining && ep->draining_done && !ep->failing;
	gen = ep->gen;
	datp_unlock(&ep->base.lock);
	if (drained)
		soft_ep_end_and_tell(ep, gen, DAT_CONNECTION_EVENT_DISCONNECTED, false,
				     DAT_CONNECTION_EVENT_DISCONNECTED);
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
 * Whether both directions are still: the end of a connection waits for who copies, which a graceful
 * disconnect must not. A hint.
 */
static bool engines_rest(struct soft_ep *ep)
{
	return !((atomic_load_explicit(&ep->port->engine, memory_order_relaxed) |
		  atomic_load_explicit(&ep->rport->engine, memory_order_relaxed)) &
		 SOFT_ENGINE_HELD);
}

/* EP lock. Nothing is left to be done: the connection can end here and now. */
static bool drained_already(struct soft_ep *ep)
{
	soft_engine_run(ep, true);
	soft_sq_reap(ep);
	return !ep->failing &&
	       ep->sq_reaped ==
		       atomic_load_explicit(&ep->port->sq_posted, memory_order_relaxed) &&
	       engines_rest(ep);
}

static void disconnect_gracefully(struct soft_ep *ep)
{
	uint32_t gen = 0;

	datp_lock(&ep->base.lock);
	if (ep->open && !ep->draining && drained_already(ep)) {
		gen = ep->gen;
	} else if (ep->open && !ep->draining) {
		ep->draining = true;
		ep->draining_done = false;
		atomic_fetch_add_explicit(&soft_ia(ep->base.obj.ia)->draining, 1,
					  memory_order_relaxed);
		/*
		 * sequentially consistent with engine_tell_initiator: it rings, or we see what it
		 * did since our own look
		 */
		atomic_store(&ep->port->want_bell, 1);
		soft_sq_reap(ep);
	}
	datp_unlock(&ep->base.lock);
	if (gen)
		soft_ep_end_and_tell(ep, gen, DAT_CONNECTION_EVENT_DISCONNECTED, false,
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
		if (soft_ep_end(ep, 0, DAT_CONNECTION_EVENT_DISCONNECTED, false))
			soft_ep_ended(ep);
		break;
	default:
		soft_ep_abandon(ep);
	}
}

void soft_ep_abandon(struct soft_ep *ep)
{
	/*
	 * in this order: an answer that was being taken when we cancelled has opened the endpoint
	 */
	soft_ep_cancel(ep);
	atomic_store(&ep->accepting, 0);
	if (soft_ep_end(ep, 0, DAT_CONNECTION_EVENT_DISCONNECTED, false))
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
