/* SPDX-License-Identifier: BSD-2-Clause */
/* The requesting half of an endpoint: the post ops. */
#ifndef SOFT_SEND_H
#define SOFT_SEND_H

#include "cq.h"
#include "soft.h"
#include "xfer.h"

enum datp_err soft_slots_init(struct soft_ia *ia);
/*
 * Those that a peer has not given back and never will: nothing of it is left, and nobody sends to
 * it.
 */
void soft_slots_reclaim(struct soft_ia *ia, const struct soft_peer *peer);

/* A cell for a message, or NULL. EP lock. */
static inline __attribute__((always_inline)) struct soft_cell *soft_cell_claim(struct soft_ep *ep,
									       uint64_t *position)
{
	struct soft_cell *cell =
		soft_ring_claim(ep->rring, ep->rmask, ep->my_slot, position);

	if (cell)
		ep->next_cell = &ep->rring->cell[(*position + 1) & ep->rmask];
	return cell;
}

/*
 * The lines of a cell that the peer looks at all the time are in its cache. They set out now, so that they are here
 * when what has to be done before the message is done: else it would wait for them then. The one that is polled comes
 * last, as it is written last.
 */
static inline __attribute__((always_inline)) void soft_cell_own(const struct soft_cell *cell)
{
	soft_own((const char *)cell + SOFT_LINE);
	soft_own(cell);
}

/* Something has come: the cell of the answer to it, if it is like the last. Without a lock. */
static inline __attribute__((always_inline)) void soft_answer_own(struct soft_cq *cq)
{
	/* relaxed: a guess */
	const struct soft_cell *cell = atomic_load_explicit(&cq->answer, memory_order_relaxed);

	if (cell)
		soft_cell_own(cell);
}

/*
 * It is a message of this endpoint. If the one before was answered, this one will be; and whoever sends the next, most
 * likely the same, is answered in the cell behind that. Who only receives takes nothing away. Poll lock, EP lock.
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

/* The payload of one segment; of its two lines the one that is polled comes last: see soft_cell_address(). */
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
 * A message's cell, but for its payload, which is there already: whoever polls takes the first line from
 * under us again and again, so what is in it is written at a stretch, with soft_ring_publish() right
 * behind.
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

/* Whether the peer has room for one more message of ours. EP lock, open. */
static inline bool soft_send_credit(struct soft_ep *ep)
{
	if (__builtin_expect(ep->msg - ep->credit < SOFT_WINDOW, 1))
		return true;
	/* acquire: pairs with the receiver's release; only the count is used */
	ep->credit = atomic_load_explicit(&ep->rport->delivered, memory_order_acquire);
	return ep->msg - ep->credit < SOFT_WINDOW;
}

/* Whether the receive at position `seq` is posted: by the peer, whose port it is, or by us. */
static inline bool soft_recv_posted(const struct soft_port *target, uint32_t seq)
{
	/* acquire: the receive's list */
	return (int32_t)(atomic_load_explicit(&target->rq_posted, memory_order_acquire) - seq) > 0;
}

/* Whether message number `msg`, not a short one, is to be copied to its receive at once. EP lock. */
bool soft_send_straight(const struct soft_ep *ep, uint32_t msg, uint64_t len);

/* Whether message number `msg` is for soft_eager_send(). EP lock. */
static inline __attribute__((always_inline)) bool soft_is_eager(const struct soft_ep *ep,
								uint32_t msg, uint64_t len)
{
	const struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	return len <= ia->eager_sure ||
	       (len <= ia->eager_limit && !soft_send_straight(ep, msg, len));
}

/*
 * A message of up to the eager limit goes to the peer's ring. False: no cell, slot or credit. EP
 * lock.
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
enum datp_err soft_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS priv, uint32_t *context);

#endif
