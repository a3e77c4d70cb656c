/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving half of an endpoint: matches messages that arrive with posted receives. */
#ifndef SOFT_RECV_H
#define SOFT_RECV_H

#include "bounce.h"
#include "soft.h"
#include <string.h>

struct soft_request;

/*
 * Does all that can be done now for the receives of this endpoint. Returns false if this is the service thread, and the progress
 * thread will execute what the peer requests. EP lock.
 */
bool soft_recv_progress(struct soft_ep *ep);
/*
 * Takes a cell: *out and *n get a completion, unless `out` is NULL or completions are on libdatp's list. Returns false if the cell
 * has to wait. On the service thread it also waits for the lock of its endpoint. Poll lock.
 */
bool soft_recv_cell(struct soft_cq *cq, struct soft_cell *cell, struct datp_completion *out, int *n);
/*
 * The peer has something for our receives that no cell announces, or that it was executing when its cell was taken. This helps at
 * once: what is done completes, and what waits for a buffer of our SRQ gets one in its place. Returns true if the port is on the
 * ready list again. Poll lock, EP lock.
 */
bool soft_recv_ready(struct soft_cq *cq, struct soft_ep *ep);
/*
 * As the target, this side has filled the receives of the messages before `msg`: publishes a cell,
 * so that they complete when all that came to the queue before has been taken. EP lock.
 */
void soft_recv_announce(struct soft_ep *ep, uint32_t msg);
/*
 * At the end of a connection: completes the receives that the executor filled before the port was closed, or, without `deliver`,
 * only the one that is withheld. Returns false if a receive is withheld still, which happens only if it is not `late`. EP lock.
 */
bool soft_recv_flush(struct soft_ep *ep, bool deliver, bool late);
/* Completes the receive that is withheld, and what comes behind it, if the accesses that it waits for are over. EP lock. */
void soft_recv_again(struct soft_ep *ep);
/*
 * The rendezvous of a waiting send with our SRQ: executes it as the target. pz: the sender's.
 * Returns false if messages come before this one or the SRQ is empty. EP lock, execution lock held.
 */
bool soft_srq_rendezvous(struct soft_ep *ep, uint32_t pz, const struct soft_request *r,
			 uint8_t *status);
/*
 * For a write with immediate data to our SRQ: takes its receive, or returns NULL if it is not the next message or the SRQ is
 * empty; and completes that receive, as flushed if the write has failed. EP lock, execution lock held.
 */
struct datp_wqe *soft_srq_immediate_take(struct soft_ep *ep, const struct soft_request *r);
void soft_srq_immediate_done(struct soft_ep *ep, struct datp_wqe *wqe, const struct soft_request *r, bool good);
/* Returns true if a message before this one has not been completed and has a receive. A peer may name any message. EP lock. */
bool soft_recv_is_ahead(const struct soft_ep *ep, uint32_t msg);
/* Returns true if the executor has filled the oldest receive. There is one; it is no SRQ's. EP lock. */
bool soft_recv_filled(const struct soft_ep *ep);
/* Completes requests that the peer or we executed. EP lock. */
void soft_sq_reap(struct soft_ep *ep);
/* The same at the end of a connection. Returns false if a bind is withheld, which happens only if it is not `late`. EP lock. */
bool soft_sq_flush(struct soft_ep *ep, bool late);
/* Returns the number of the oldest request, as libdatp counts them, that has not been executed. EP lock. */
uint32_t soft_sq_unexecuted(const struct soft_ep *ep);

/* Ops. */
enum datp_err soft_post_recv(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);

/* Returns a peer's slot, or NULL if the peer has no slot of this index. */
static inline struct soft_slot *soft_peer_slot(const struct soft_peer *peer, uint32_t index)
{
	return index < peer->slot_count ? soft_slot_at(peer->slots, peer->slot_size, index) : NULL;
}

/* Gives a peer's slot back. */
static inline void soft_slot_drop(struct soft_slot *slot)
{
	/* release: comes after our reads of its content; the sender acquires it when it takes the slot again */
	atomic_store_explicit(&slot->busy, 0, memory_order_release);
}

/*
 * Finds a message's payload. Returns false if the cell holds values that cannot be. Each value is
 * read once, so what is checked is what is used, although the sender could still change the cell.
 */
static inline bool soft_payload_get(const struct soft_peer *peer, const struct soft_cell *cell,
				    struct soft_payload *p)
{
	uint16_t flags = SOFT_ONCE(cell->flags);

	p->data = cell->data;
	p->len = SOFT_ONCE(cell->len);
	p->slot = NULL;
	p->solicited = flags & SOFT_CELL_SOLICITED;
	if (!(flags & SOFT_CELL_SLOT))
		return p->len <= SOFT_INLINE;
	p->slot = soft_peer_slot(peer, SOFT_ONCE(cell->slot));
	if (!p->slot || p->len > peer->slot_size)
		return false;
	p->data = p->slot->data;
	/* prefetch for write: the slot's head is written when it is given back, after the payload is read */
	soft_own(p->slot);
	return true;
}

/* Gives the payload's slot back, since the payload has been read. */
static inline void soft_payload_drop(const struct soft_payload *p)
{
	if (p->slot)
		soft_slot_drop(p->slot);
}

/* Writes the list of a receive into a port, where the peer may execute by it. */
static inline __attribute__((always_inline)) void soft_desc_fill(struct soft_desc *desc, const struct datp_sge *iov, uint32_t n)
{
	desc->n = n;
	if (n) /* the list may be NULL */
		memcpy(desc->sge, iov, n * sizeof *iov);
	atomic_store_explicit(&desc->state, SOFT_DESC_POSTED, memory_order_relaxed);
}

/* Posts a receive, and publishes it to the peer. EP lock. */
static inline __attribute__((always_inline)) void
soft_desc_post(struct soft_ep *ep, uint32_t seq, const struct datp_sge *iov, int n)
{
	soft_posted_put(soft_posted_at(&ep->receives, seq), SOFT_POSTED_TAG(0, seq), iov, (uint32_t)n);
	soft_desc_fill(soft_port_desc(ep->port, &ep->layout, seq), iov, (uint32_t)n);
	/* release: publishes the descriptor; exec_send() acquires it */
	atomic_store_explicit(&ep->port->rq_posted, seq + 1, memory_order_release);
}

/* Returns true if the peer may be waiting for the receive that was just posted. EP lock, open. */
static inline bool soft_desc_wanted(const struct soft_ep *ep)
{
	/*
	 * Pairs with the fence in exec_send(): whoever executes the sender's request sets `waits`
	 * and then looks for a receive. Either that look finds this receive, or we see `waits`
	 * here.
	 */
	soft_fence();
	return ep->unexpected || atomic_load_explicit(&ep->rport->waits, memory_order_relaxed);
}

/* Counts a message whose receive has completed. EP lock. */
static inline void soft_recv_count(struct soft_ep *ep)
{
	/* relaxed: soft_posted_put() releases it */
	__atomic_store_n(&ep->in_msg, ep->in_msg + 1, __ATOMIC_RELAXED);
	/*
	 * The sender reads `delivered` only when its credits look used up. It is written only now
	 * and then, so that its line is seldom transferred. release: the receives of these messages
	 * are free again.
	 */
	if ((ep->in_msg & (SOFT_CREDITS / 4 - 1)) == 0)
		atomic_store_explicit(&ep->port->delivered, ep->in_msg, memory_order_release);
	soft_bounce_passed(ep, SOFT_BOUNCE_RECEIVE(ep->in_msg - 1));
}

/* Frees the unexpected messages. EP lock. */
void soft_recv_discard(struct soft_ep *ep);

#endif
