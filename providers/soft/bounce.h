/* SPDX-License-Identifier: BSD-2-Clause */
/* The bounce path: a peer's thread moves the bytes where the kernel does not let us copy between processes. */
#ifndef SOFT_BOUNCE_H
#define SOFT_BOUNCE_H

#include "xfer.h"

/*
 * Asks the peer's bounce thread to move the first len bytes of the request that `right` names,
 * through our mailbox, and blocks until it has, or until the peer is dead or over the bound. Each piece of a long
 * request has that bound, and those pieces that take more than a part of it have one bound together.
 * Returns as soft_xfer(). The bounce thread finds out from the request what is to be written, and
 * in which order.
 */
int soft_bounce_ask(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
		    const struct soft_right *right, uint64_t len);

/*
 * Returns true if the peer's bounce thread has not answered our last question, so that it may still write to our mailbox if the
 * peer lives. Mailbox lock, or nobody else uses the peer.
 */
bool soft_bounce_owes(const struct soft_peer *peer);

/*
 * Returns how long threads of this process have waited for the peer's bounce thread, in milliseconds: whoever makes
 * several requests one after the other makes an end when that has grown too much.
 */
static inline uint64_t soft_bounce_waited(const struct soft_peer *peer)
{
	/* relaxed: the caller's own waits are in it, and those of other threads may be; a builtin for the model checker's sake */
	return __atomic_load_n(&peer->mailbox_waited, __ATOMIC_RELAXED);
}

/*
 * Serves the mailbox of a peer from now on, unless the peer is dead; starts the bounce thread with
 * the first peer. Service thread.
 */
enum datp_err soft_bounce_serve(struct soft_ia *ia, struct soft_peer *peer,
				const struct soft_ref *mailbox);
/*
 * Stops serving the peer. When this returns, the bounce thread touches neither the mailbox nor any
 * memory for that peer. Any thread.
 */
void soft_bounce_leave(struct soft_ia *ia, struct soft_peer *peer);
/*
 * Waits until no copy of the bounce thread that began before this call is still going on. Such a
 * copy moves at most one mailbox of bytes and waits for nobody. The caller may hold an EP lock and a poll lock, but not
 * soft_ia.lock.
 */
void soft_bounce_quiesce(struct soft_ia *ia);
/*
 * The same, but it waits only for a piece that is copied by this context of a window, whose record the caller has dropped: what
 * goes on for other connections is not waited for.
 */
void soft_bounce_await_window(struct soft_ia *ia, uint32_t context);
void soft_bounce_stop(struct soft_ia *ia);

/* What soft_ep.bounce_serves names: the receive of a message, or a request by its position in the port's queue. */
#define SOFT_BOUNCE_RECEIVE(msg) (UINT64_C(1) << 32 | (uint32_t)(msg))
#define SOFT_BOUNCE_REQUEST(seq) (UINT64_C(2) << 32 | (uint32_t)(seq))

/*
 * Waits until the bounce thread does not access the memory of this receive or request, which is counted as completed, any more: as
 * soft_bounce_quiesce(). EP lock.
 */
void soft_bounce_await(struct soft_ep *ep, uint64_t what);
/*
 * A receive or request has completed, and the private count that says so has been written: from now on the bounce thread refuses
 * questions about it. But a hostile peer can have it completed while the bounce thread copies a piece of it. So this waits for that
 * piece, before the program learns of the completion and uses its memory again. EP lock.
 */
static inline __attribute__((always_inline)) void soft_bounce_passed(struct soft_ep *ep, uint64_t what)
{
	/* the count comes before this load, for the fence in soft_bounce_serve() */
	atomic_signal_fence(memory_order_seq_cst);
	/* relaxed: either this finds it set, or that fence has made the count visible before the bounce thread serves the peer */
	if (__builtin_expect(atomic_load_explicit(&ep->peer->bounces, memory_order_relaxed), 0))
		soft_bounce_await(ep, what);
}

#endif
