/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The passive side learns that the peer is connected: by the RTU, or, if that has not been read, from the port, where the
 * peer's service thread writes it before its program hears of it. Invariant: the end of a connection and a connection request
 * are reported after the connections that the same adapter of the peer had established before, whichever sockets they came
 * through; and what a connection brings, after that connection. The rest has no such order: the peer's answer to a request of this
 * side, messages over other connections, and what the peer's program does with another adapter.
 */
#include "established.h"
#include "ia.h"
#include "setup.h"
#include "sock.h"
#include "providers/common/base/pause.h"

/* The accept was given up while it was being made, and the peer does not know that. */
static void unwanted_now(struct datp_ep *base)
{
	soft_ep_end_unreported(soft_ep(base), 0, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Reports the connection, if no other thread has. The caller counts in `establishing`. */
static void report(struct soft_ep *ep, uint32_t gen)
{
	uint32_t waiting = gen;

	/* the exchange releases the count, and decides which thread reports */
	if (atomic_compare_exchange_strong(&ep->accepting, &waiting, 0) && !datp_cm_established(&ep->base, NULL, 0))
		/* libdatp has ended the connection before. Without memory for this call, the reset ends it here */
		(void)datp_ep_call(&ep->base, unwanted_now);
}

void soft_ep_reported(struct soft_ep *ep)
{
	/* release: whoever sees this knows that it has been reported */
	atomic_fetch_sub_explicit(&ep->establishing, 1, memory_order_release);
}

void soft_ep_await_report(struct soft_ep *ep)
{
	/* acquire: pairs with the release in soft_ep_reported() */
	for (unsigned int n = 0; atomic_load_explicit(&ep->establishing, memory_order_acquire); n++)
		pause_briefly(n);
}

void soft_ep_established(struct soft_ep *ep, uint32_t gen)
{
	/* acquire: if another thread has set it to 0, that thread's count in `establishing` is seen below */
	if (atomic_load_explicit(&ep->accepting, memory_order_acquire) == gen && gen) {
		/* relaxed: see report() */
		atomic_fetch_add_explicit(&ep->establishing, 1, memory_order_relaxed);
		report(ep, gen);
		soft_ep_reported(ep);
	}
	/*
	 * What the peer has sent must complete after the report, so this waits for the thread that
	 * reports. That thread takes no lock that a poll holds.
	 */
	soft_ep_await_report(ep);
}

void soft_ep_look(struct soft_ep *ep)
{
	/* relaxed: soft_ep_established() looks again */
	uint32_t gen = atomic_load_explicit(&ep->accepting, memory_order_relaxed);
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool arrived;

	/* The endpoint keeps its port. The EP lock would do, too, but a peer may hold up the thread that has it */
	datp_lock(&ia->lock);
	/* acquire: see reply_open() */
	arrived = atomic_load_explicit(&ep->port->rtu_gen, memory_order_acquire) == gen;
	datp_unlock(&ia->lock);
	/* if it is 0, another thread may be reporting it now, and soft_ep_established() waits for that */
	if (!gen || arrived)
		soft_ep_established(ep, gen);
}

/*
 * Returns true if the peer is connected over a connection that was accepted over this socket, or if another thread has seen that
 * and may be reporting it. soft_ia.lock, under which the endpoint of the socket keeps its port
 */
static bool socket_has_arrived_locked(const struct soft_socket *sock)
{
	const struct soft_ep *ep = sock->ep;

	/* acquire: see reply_open(). relaxed: report() looks again */
	return ep && !sock->looked_at &&
	       (atomic_load_explicit(&ep->accepting, memory_order_relaxed) != sock->gen ||
		atomic_load_explicit(&ep->port->rtu_gen, memory_order_acquire) == sock->gen);
}

void soft_established_look(struct soft_ia *ia, struct soft_peer *peer)
{
	struct soft_ep *ep;
	uint32_t gen = 0;

	do {
		ep = NULL;
		datp_lock(&ia->lock);
		for (struct soft_socket *sock = peer->accepted; sock && !ep; sock = sock->next_of_peer) {
			if (!socket_has_arrived_locked(sock))
				continue;
			sock->looked_at = true;
			ep = sock->ep;
			gen = sock->gen;
			/* relaxed: under this lock the endpoint is not freed yet, and then soft_ep_free() waits for this count */
			atomic_fetch_add_explicit(&ep->establishing, 1, memory_order_relaxed);
		}
		datp_unlock(&ia->lock);
		if (ep) {
			report(ep, gen);
			soft_ep_reported(ep);
			soft_ep_await_report(ep); /* another thread may be reporting it */
		}
	} while (ep);
}

void soft_established_look_before(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_peer *peer;

	datp_lock(&ia->lock);
	peer = ep->peer;
	if (peer)
		peer->users++;
	datp_unlock(&ia->lock);
	if (!peer)
		return;
	soft_established_look(ia, peer);
	soft_peer_put(peer);
}
