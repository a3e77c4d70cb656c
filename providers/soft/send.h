/* SPDX-License-Identifier: BSD-2-Clause */
/* The requesting half of an endpoint: the post ops. */
#ifndef SOFT_SEND_H
#define SOFT_SEND_H

#include "cq.h"
#include "request.h"
#include "soft.h"
#include "xfer.h"

enum datp_err soft_slots_init(struct soft_ia *ia);
/* Frees the slots that a peer has not given back and never will: nothing of it is left, and nobody sends to it. */
void soft_slots_reclaim(struct soft_ia *ia, const struct soft_peer *peer);

/* Reserves a cell for a message. Returns NULL if no cell is free. EP lock. */
static inline __attribute__((always_inline)) struct soft_cell *soft_cell_reserve(struct soft_ep *ep,
										 uint64_t *position)
{
	struct soft_cell *cell =
		soft_ring_reserve(ep->rring, ep->rmask, ep->my_sender_id, position);

	if (cell)
		ep->next_cell = &ep->rring->cell[(*position + 1) & ep->rmask];
	return cell;
}

/*
 * The peer polls the lines of this cell, so they are in its cache. This prefetches them for writing
 * while the work that precedes the message is done; otherwise the stores would wait for them. The
 * polled line comes last, because it is written last.
 */
static inline __attribute__((always_inline)) void soft_cell_own(const struct soft_cell *cell)
{
	soft_own((const char *)cell + SOFT_LINE);
	soft_own(cell);
}

/* Something has come: prefetches the cell of its answer, which is probably answered like the last. No lock. */
static inline __attribute__((always_inline)) void soft_answer_own(struct soft_cq *cq)
{
	/* relaxed: a guess */
	const struct soft_cell *cell = atomic_load_explicit(&cq->answer, memory_order_relaxed);

	if (cell)
		soft_cell_own(cell);
}

/*
 * Called when a message of this endpoint has arrived. If the previous message was answered, this one probably
 * will be, and so will the next one, which most likely comes from the same sender, in the cell behind that. If an
 * endpoint only receives, this leaves the guesses that were made for other endpoints alone. Poll lock, EP lock, open.
 */
static inline __attribute__((always_inline)) void soft_answer_expect(struct soft_cq *cq,
								     struct soft_ep *ep)
{
	/* relaxed, all: guesses */
	const struct soft_cell *early = atomic_load_explicit(&cq->answer, memory_order_relaxed);
	const struct soft_cell *cell = ep->next_cell, *next = NULL;

	if (cell) {
		ep->next_cell = NULL;
		if (cell != early)
			soft_cell_own(cell);
		next = &ep->rring->cell[(atomic_load_explicit(&ep->rring->tail, memory_order_relaxed) + 1) & ep->rmask];
	}
	if (next != early)
		atomic_store_explicit(&cq->answer, next, memory_order_relaxed);
}

/* Writes the payload of one segment. Of the cell's two lines the polled one comes last: see soft_cell_address(). */
static inline __attribute__((always_inline)) void soft_cell_fill(struct soft_cell *cell,
								 const struct datp_sge *seg)
{
	enum { POLLED = SOFT_LINE - offsetof(struct soft_cell, data) };
	const unsigned char *from = (const void *)(uintptr_t)seg->addr;

	if (seg->len <= POLLED) {
		soft_copy_short(cell->data, from, seg->len);
		return;
	}
	soft_copy_short(cell->data + POLLED, from + POLLED, seg->len - POLLED);
	soft_in_order();
	soft_copy_short(cell->data, from, POLLED);
}

/*
 * Writes a message's cell except its payload, which is there already. A polling owner takes the
 * first line away from this CPU again and again, so everything in that line is written at a
 * stretch, with soft_ring_publish() right behind.
 */
static inline void soft_cell_address(struct soft_cell *cell, const struct soft_ep *ep, uint64_t len,
				     uint16_t flags)
{
	soft_in_order();
	cell->port = ep->rindex;
	cell->gen = ep->rgen;
	cell->len = (uint32_t)len;
	cell->kind = SOFT_CELL_MESSAGE;
	cell->flags = flags;
}

/*
 * Returns true if all posts before `next`, the position of the next one, have completed, so that it can complete at once. These
 * words are private: the queue in the port is empty as well then, but a peer could claim that while requests wait in it, and
 * what overtakes them would take away their completions. EP lock.
 */
static inline __attribute__((always_inline)) bool soft_send_is_next(const struct soft_ep *ep, uint32_t next)
{
	return ep->base.sq.finished == next;
}

/* Returns true if all requests of this side have completed. EP lock. */
static inline bool soft_requests_done(const struct soft_ep *ep)
{
	return soft_send_is_next(ep, ep->base.sq.posted);
}

/*
 * Returns true if the queue in the port holds as many requests as this side has posted. It does whenever no post is under way,
 * unless the peer has written to the count in the port: then requests are lost, or old ones are executed again. EP lock.
 */
static inline bool soft_queue_is_whole(const struct soft_ep *ep)
{
	const struct datp_wq *sq = &ep->base.sq;

	/* relaxed: written under the EP lock */
	return atomic_load_explicit(&ep->port->sq_posted, memory_order_relaxed) - ep->sq_reaped == sq->posted - sq->finished;
}

/* ---- requests that succeed within their post, which take a work request only where a completion needs one ---- */

/* Returns true if one more request can be posted. *reaped is the position before which all slots have been given back. EP lock. */
static inline __attribute__((always_inline)) bool soft_has_slot(struct soft_ep *ep, uint32_t *reaped)
{
	struct datp_wq *sq = &ep->base.sq;

	/* acquire, both: as in datp_wq_next() */
	*reaped = atomic_load_explicit(&sq->reaped, memory_order_acquire);
	if (__builtin_expect(sq->posted - *reaped < sq->max, 1))
		return true;
	if (!datp_wq_reclaim(sq))
		return false;
	*reaped = atomic_load_explicit(&sq->reaped, memory_order_acquire);
	return true;
}

/* Posts a request that has succeeded already, and reports its completion. There is a slot. EP lock. */
void soft_report_next(struct soft_ep *ep, DAT_CONTEXT cookie, unsigned int flags, uint64_t len, enum datp_op op);

/*
 * Posts a request that has succeeded already, and reports its completion unless the flags suppress it. Then no work request is
 * written: others would only read the mark of its slot. And the slot, with those before it, is given back at once if all that are
 * not yet given back are of such requests, so that no thread is about to take an event of one of them. `reaped` is that of
 * soft_has_slot(). Whoever posts a request otherwise resets `silent`. EP lock, soft_requests_done().
 */
static inline __attribute__((always_inline)) void soft_next_done(struct soft_ep *ep, DAT_CONTEXT cookie, unsigned int flags,
								 uint64_t len, enum datp_op op, uint32_t reaped)
{
	struct datp_wq *sq = &ep->base.sq;
	uint32_t seq = sq->posted;

	if (!(flags & DAT_COMPLETION_SUPPRESS_FLAG)) {
		soft_report_next(ep, cookie, flags, len, op);
		return;
	}
	sq->posted = sq->finished = seq + 1;
	if (__builtin_expect(seq - reaped <= ep->silent, 1)) {
		ep->silent = 0;
		/*
		 * release: pairs with the acquire of the thread that reuses the slot, as a reaper's does. No other thread changes
		 * the word: no event is left that could be taken, and a reaper that is late never moves it backwards
		 */
		atomic_store_explicit(&sq->reaped, seq + 1, memory_order_release);
	} else {
		ep->silent++;
		/* relaxed: read under the EP lock */
		atomic_store_explicit(&sq->ring[seq & sq->mask].done, DATP_WQE_SILENT, memory_order_relaxed);
	}
}

/* Completes a request that has succeeded, the last one that was posted: as datp_wqe_done(). EP lock. */
static inline __attribute__((always_inline)) void soft_request_done(struct soft_ep *ep, struct datp_wqe *wqe, uint64_t len)
{
	struct datp_wq *sq = &ep->base.sq;

	/*
	 * A suppressed completion that no other one precedes only gives its slot back. acquire: pairs with a reaper's release.
	 * No other thread changes the word, because every slot that has been posted is free
	 */
	if ((wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG) &&
	    atomic_load_explicit(&sq->reaped, memory_order_acquire) == wqe->seq) {
		/* relaxed: read under the EP lock */
		atomic_store_explicit(&wqe->done, DATP_WQE_SILENT, memory_order_relaxed);
		sq->finished = wqe->seq + 1;
		/* release: pairs with the acquire of the thread that reuses the slot, as a reaper's does */
		atomic_store_explicit(&sq->reaped, wqe->seq + 1, memory_order_release);
	} else {
		datp_wqe_done(wqe, DAT_DTO_SUCCESS, len, false);
	}
}

/* Returns true if there is credit for one more eager message to the peer. EP lock, open. */
static inline bool soft_send_credit(struct soft_ep *ep)
{
	if (__builtin_expect(ep->msg - ep->credit < ep->credits, 1))
		return true;
	/* acquire: pairs with the receiver's release in soft_recv_count() */
	ep->credit = atomic_load_explicit(&ep->rport->delivered, memory_order_acquire);
	return ep->msg - ep->credit < ep->credits;
}

/* Returns true if the receive at position `seq` is posted, by the peer or by us: whoever owns the port. */
static inline bool soft_recv_posted(const struct soft_port *target, uint32_t seq)
{
	/* acquire: makes the list of the receive visible */
	return (int32_t)(atomic_load_explicit(&target->rq_posted, memory_order_acquire) - seq) > 0;
}

/* Returns true if message number `msg`, which is not a short one, should be copied to its receive at once. EP lock. */
bool soft_send_straight(const struct soft_ep *ep, uint32_t msg, uint64_t len);

/* Returns true if message number `msg` should be sent by soft_eager_send(). EP lock. */
static inline __attribute__((always_inline)) bool soft_is_eager(const struct soft_ep *ep,
								uint32_t msg, uint64_t len)
{
	const struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	return len <= ia->eager_sure ||
	       (len <= ia->eager_limit && !soft_send_straight(ep, msg, len));
}

/*
 * Sends a message of up to the eager limit by the peer's ring. Returns false if there is no cell,
 * slot or credit. EP lock.
 */
bool soft_eager_send(struct soft_ep *ep, const struct datp_sge *iov, int n, uint64_t len,
		     bool solicited);

enum datp_err soft_post_send(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);
enum datp_err soft_post_rdma_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n,
				   const struct datp_rge *remote);
enum datp_err soft_post_rdma_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote);
enum datp_err soft_post_write_imm(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
				  const struct datp_rge *remote, uint32_t imm);
enum datp_err soft_post_atomic(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *sink,
			       const struct datp_rge *remote, const struct datp_atomic *what);
enum datp_err soft_post_send_invalidate(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
					uint32_t rmr_context);
enum datp_err soft_post_read_rmr(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_rge *sink,
				 const struct datp_rge *remote);
enum datp_err soft_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS priv, uint32_t *context);

#endif
