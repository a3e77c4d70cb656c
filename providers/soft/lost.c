/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of one peer that another peer has overwritten. All peers of an adapter write to the
 * word at which a queue's ready list begins, and to the words that name the thread to wake. A faulty
 * peer may overwrite what the others have written there, and the others do not write it again. So if
 * there are several peers, the service thread looks twice a second for three things:
 *
 * - A port whose flag says that it is on its queue's ready list, now and at the last look, although it
 *   is not on the list. The service thread serves the port itself. It does not put the port back on
 *   the list, because the faulty peer may overwrite the list at any time.
 *
 * - A cell or a ready list that nobody has taken from its queue since the last look. The service
 *   thread wakes all threads that sleep at that queue, and notifies the other consumers.
 *
 * - A ring whose words no sender can have left like that. skip.c puts them right.
 *
 * Mostly the first two are events that the program has not polled yet. Invariant: what is done here changes
 * no result, whatever is found: if nothing was lost, a look only does early what a poll does.
 *
 * No thread waits for this one, and a look holds a lock for no longer than one pass through the
 * ports.
 */
#include "lost.h"
#include "bound.h"
#include "conn.h"
#include "cq.h"
#include "ia.h"
#include "port.h"
#include "polling.h"
#include "recv.h"
#include "setup.h"
#include "skip.h"

/*
 * The number of checks that are due while there are several peers. Each check that is made subtracts one. So two more are made
 * after all peers but one have gone, which is enough to find what a peer overwrote just before it went.
 */
#define LOOKS_AFTER 3u

void soft_lost_begin_locked(struct soft_ia *ia)
{
	if (ia->peers && ia->peers->next)
		ia->lost_looks = LOOKS_AFTER;
}

bool soft_lost_watches(struct soft_ia *ia)
{
	bool watches;

	datp_lock(&ia->lock);
	soft_lost_begin_locked(ia);
	watches = ia->lost_looks;
	datp_unlock(&ia->lock);
	return watches;
}

/* Notes whether a port is on a list. soft_ia.lock, so the port, the connection and its queues stay. */
static void port_look_locked(struct soft_ep *ep, enum soft_side side)
{
	/* relaxed: the next look finds what this one does not, and whoever serves the port acquires */
	bool queued =
		atomic_load_explicit(&ep->port->ready_link[side].queued, memory_order_relaxed);

	if (queued && ep->look[side].waited)
		(side == SOFT_SIDE_RECV ? soft_ep_recv_cq(ep) : soft_ep_request_cq(ep))->lost =
			true;
	ep->look[side].waited = queued;
}

/*
 * Looks at all ports, without the endpoints' locks: most of these are biased to threads of the
 * program, and to take a lock from such a thread makes it pass a memory fence. A port's memory
 * changes only while the endpoint has no peer, or under soft_ia.lock.
 */
static void ports_look(struct soft_ia *ia)
{
	datp_lock(&ia->lock);
	if (ia->lost_looks)
		ia->lost_looks--;
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);

		if (!ep || !ep->peer)
			continue;
		port_look_locked(ep, SOFT_SIDE_RECV);
		port_look_locked(ep, SOFT_SIDE_REQUEST);
	}
	datp_unlock(&ia->lock);
}

/* Returns true if something waits here that waited at the last check, too. */
static bool cq_look(struct soft_cq *cq)
{
	uint64_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	bool pending = soft_cq_pending(cq),
	     again = pending && cq->waited && cq->waited_head == head;

	cq->waited = pending;
	cq->waited_head = head;
	return again;
}

static bool cq_any(const struct soft_cq *cq)
{
	(void)cq;
	return true;
}

static void find(struct soft_cq *cq)
{
	bool lost = cq->lost;

	cq->lost = false; /* what cannot be served now sets it again */
	if (lost)
		soft_ready_find(cq);
}

static bool cq_has_lost(const struct soft_cq *cq)
{
	return cq->lost;
}

void soft_lost_find(struct soft_ia *ia)
{
	struct soft_cq *cq;

	ia->round++;
	while ((cq = soft_cq_hold_next(ia, cq_has_lost))) {
		find(cq);
		soft_cq_release(cq);
	}
}

static void cqs_look(struct soft_ia *ia)
{
	struct soft_cq *cq;
	bool ring = false;

	ia->round++;
	while ((cq = soft_cq_hold_next(ia, cq_any))) {
		find(cq);
		if (soft_skip_suspects(cq))
			soft_skip_try(cq);
		if (cq_look(cq)) {
			soft_cq_wake_all(cq);
			ring = true;
		}
		soft_cq_release(cq);
	}
	/*
	 * As a wake-up of the service thread does, this notifies consumers and arms their queues, because the last arming may
	 * have been overwritten.
	 */
	if (ring)
		soft_ia_serve(ia);
}

void soft_lost_look(struct soft_ia *ia)
{
	uint64_t now = soft_now_ms();

	if (now < ia->lost_next)
		return;
	/* half of it, because the timer that calls this may be a moment early */
	ia->lost_next = now + SOFT_LOST_LOOK_MS / 2;
	ports_look(ia);
	cqs_look(ia);
}
