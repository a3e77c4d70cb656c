/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that find no receive. A message waits on a soft adapter for as long as it takes, so a program that has forgotten to
 * post a receive would wait for ever without a word: the service thread tells it once for each connection. On a strict adapter
 * it also executes the requests that wait, so that their time runs out though no thread of the program looks (strict.c).
 *
 * Invariant: an endpoint with a message that may wait is marked, and soft_ia.unready is set after that; the look resets
 * soft_ia.unready before it reads the marks. So a mark that one look does not find is found by the next one.
 *
 * A program may find that each of its receives comes late, and must not pay for that with a system call for each message: so the
 * first look comes an interval after the first mark, and the timer runs at that pace.
 */
#include "unready.h"
#include "bound.h"
#include "owed.h"
#include "port.h"
#include "strict.h"
#include "tick.h"
#include "log/limited.h"

void soft_unready_watch(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	/* relaxed: written under the EP lock, and released by the exchange */
	atomic_store_explicit(&ep->unready, true, memory_order_relaxed);
	/*
	 * The timer is not set again while the tick is due, because messages in quick succession would put it off for ever.
	 * release: publishes the mark, which soft_unready_look() acquires. This is an exchange, because a load could find an old
	 * value after that look has begun
	 */
	if (!atomic_exchange_explicit(&ia->unready, true, memory_order_acq_rel))
		soft_tick_set(ia);
}

bool soft_unready_watches(struct soft_ia *ia)
{
	/* relaxed: whoever sets it sets the timer afterwards */
	return atomic_load_explicit(&ia->unready, memory_order_relaxed);
}

/* Returns true if a message of the peer waits for a receive of this side. EP lock. */
static bool message_waits(const struct soft_ep *ep)
{
	if (!ep->open || ep->failing || ep->draining || ep->withheld.wqe)
		return false;
	if (ep->unexpected)
		return true;
	/* relaxed, all: hints, which a peer may falsify; they decide about a message to the user only */
	return atomic_load_explicit(&ep->rport->waits, memory_order_relaxed) &&
	       atomic_load_explicit(&ep->rport->sq_posted, memory_order_relaxed) !=
		       atomic_load_explicit(&ep->rport->sq_done, memory_order_relaxed);
}

static void message_tell(struct soft_ep *ep)
{
	static struct log_limit waits;

	ep->unready_told = ep->gen;
	ep->unready_until = 0;
	log_limited(&waits, 2,
		    "soft: adapter %s: a message from process %d has waited %d ms for a receive on the endpoint %p, and "
		    "goes on waiting; post one %s before the messages come: many RDMA devices do not wait, and end the "
		    "connection, as strict=on does here (opendat-soft(7))",
		    ep->base.obj.ia->name, (int)ep->peer->process.pid, SOFT_UNREADY_MS, (void *)&ep->base,
		    ep->base.srq ? "to its SRQ" : "there");
}

/*
 * Tells the program if the oldest message of the peer has waited long enough. Returns true if it has to be looked at again. EP
 * lock.
 */
static bool receiver_look(struct soft_ep *ep)
{
	if (ep->unready_told == ep->gen || !message_waits(ep)) {
		ep->unready_until = 0;
		return false;
	}
	if (!ep->unready_until || ep->unready_msg != ep->in_msg) {
		ep->unready_looked = soft_now_ms();
		ep->unready_until = ep->unready_looked + SOFT_UNREADY_MS;
		ep->unready_msg = ep->in_msg;
	} else if (soft_bound_over(&ep->unready_until, &ep->unready_looked)) {
		message_tell(ep);
		return false;
	}
	return true;
}

/* Returns true if the endpoint has to be looked at again. */
static bool ep_look(struct soft_ep *ep)
{
	bool left;

	if (!soft_ep_try(ep))
		return true;
	left = soft_strict_look(ep);
	left = receiver_look(ep) || left;
	if (!left)
		atomic_store_explicit(&ep->unready, false, memory_order_relaxed);
	datp_unlock(&ep->base.lock);
	return left;
}

void soft_unready_look(struct soft_ia *ia)
{
	uint64_t now = soft_now_ms();
	bool left = false;

	/* half of it, because the timer that calls this may be a moment early */
	if (!ia->unready_next)
		ia->unready_next = now + SOFT_UNREADY_LOOK_MS / 2;
	if (now < ia->unready_next)
		return;
	/* acquire: makes the marks visible that were set before it */
	(void)atomic_exchange_explicit(&ia->unready, false, memory_order_acq_rel);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);

		/* relaxed: see above. The lock of an endpoint without a mark is left to the thread that it is biased to */
		if (ep && atomic_load_explicit(&ep->unready, memory_order_relaxed))
			left = ep_look(ep) || left;
	}
	if (left)
		atomic_store_explicit(&ia->unready, true, memory_order_relaxed);
	ia->unready_next = left ? now + SOFT_UNREADY_LOOK_MS / 2 : 0;
}
