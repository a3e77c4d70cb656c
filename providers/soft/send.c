/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requesting half of an endpoint. An eager message goes straight into a cell of the peer's
 * ring, its payload inline or in a slot of ours, and is complete. Everything else goes through the
 * endpoint's request queue, and the executor (exec.c) mostly executes it before the post returns.
 * If a request waits there, later ones wait behind it, because requests are executed in order.
 */
#include "send.h"
#include "arena.h"
#include "conn.h"
#include "coop.h"
#include "cq.h"
#include "exec.h"
#include "exec_short.h"
#include "mr.h"
#include "peer.h"
#include "recv.h"
#include "strict.h"
#include "window.h"
#include "xfer.h"
#include <string.h>

/*
 * A slot passes from one thread to another by way of the peer, which says that it has read it. The
 * thread sanitizer does not see what other processes do, so for it whoever fills a slot releases it
 * to the next.
 */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define SLOT_FILLED(slot) __tsan_release(&(slot)->busy)
#else
#define SLOT_FILLED(slot) ((void)(slot))
#endif

#define SLOT_FIRST 4u  /* the number of slots in use at first */
#define SLOT_TRIES 16u /* how many slots are tried before more come into use */
#define SLOT_NONE  UINT32_MAX
#define SLOT_WARM  4096u /* at most this much of the next slot is prefetched */

enum datp_err soft_slots_init(struct soft_ia *ia)
{
	uint32_t size = (ia->eager_limit + SOFT_LINE - 1) & ~(uint32_t)(SOFT_LINE - 1);
	enum datp_err err = soft_arena_alloc(
		ia, SOFT_KIND_OTHER, (uint64_t)SOFT_SLOTS * (sizeof(struct soft_slot) + size),
		&ia->slot_mem);

	if (err)
		return err;
	ia->slots_active = SLOT_FIRST;
	ia->slot_count = SOFT_SLOTS;
	ia->slot_size = size;
	return DATP_OK;
}

static struct soft_slot *slot_at(struct soft_ia *ia, uint32_t index)
{
	return soft_slot_at(ia->slot_mem.addr, ia->slot_size, index);
}

void soft_report_next(struct soft_ep *ep, DAT_CONTEXT cookie, unsigned int flags, uint64_t len, enum datp_op op)
{
	struct datp_wqe *wqe = datp_wq_next(&ep->base.sq, &ep->base, op, cookie, flags);

	if (!wqe) /* the caller has seen that there is a slot */
		return;
	ep->silent = 0;
	ep->base.sq.posted++;
	datp_wqe_done(wqe, DAT_DTO_SUCCESS, len, false);
}

/* Takes a free one of the first `active` slots. Returns its index, or SLOT_NONE. */
static uint32_t slot_search(struct soft_ia *ia, const struct soft_peer *peer, uint32_t active)
{
	uint32_t tries = active < SLOT_TRIES ? active : SLOT_TRIES;

	for (uint32_t i = 0; i < tries; i++) {
		/* relaxed: this only distributes the search */
		uint32_t index = atomic_fetch_add_explicit(&ia->slot_next, 1, memory_order_relaxed);
		struct soft_slot *slot = slot_at(ia, index % active);
		uint32_t zero = 0;

		/* acquire: the receiver has read the last payload */
		if (atomic_compare_exchange_strong_explicit(&slot->busy, &zero, peer->sender_id,
							    memory_order_acquire,
							    memory_order_relaxed))
			return index % active;
	}
	return SLOT_NONE;
}

/*
 * Takes a slot. A few slots that are used again and again stay in the caches, and each new one
 * costs a page fault at first: so more come into use only when those before them are busy.
 */
static uint32_t slot_get(struct soft_ia *ia, const struct soft_peer *peer)
{
	/* relaxed, here and below: a size, which only grows */
	uint32_t active = atomic_load_explicit(&ia->slots_active, memory_order_relaxed);
	uint32_t slot = slot_search(ia, peer, active);

	while (slot == SLOT_NONE && active < SOFT_SLOTS) {
		active *= 2;
		atomic_store_explicit(&ia->slots_active, active, memory_order_relaxed);
		slot = slot_search(ia, peer, active);
	}
	return slot;
}

/* Returns true if a slot says that a peer reads it which is not this one. ia.lock */
static bool slot_is_read(struct soft_ia *ia, uint32_t busy, const struct soft_peer *besides)
{
	const struct soft_peer *reader = soft_peer_by_sender_id(ia, busy);

	return reader && reader != besides;
}

void soft_slots_reclaim(struct soft_ia *ia, const struct soft_peer *peer)
{
	for (uint32_t i = 0; i < SOFT_SLOTS; i++) {
		_Atomic uint32_t *busy = &slot_at(ia, i)->busy;
		uint32_t reader = atomic_load_explicit(busy, memory_order_relaxed);

		/*
		 * Also one that says the number of nobody, because a peer may have written that there. relaxed: its reader is
		 * gone, or there was none
		 */
		if (reader && !slot_is_read(ia, reader, peer))
			atomic_compare_exchange_strong_explicit(busy, &reader, 0, memory_order_relaxed, memory_order_relaxed);
	}
}

/*
 * Prefetches the next slot while a message travels, up to the length of this message, which the
 * next is taken to have. Its lines are still in the cache of their last reader.
 */
static void slot_warm(struct soft_ia *ia, uint64_t len)
{
	/* relaxed, both: a guess */
	uint32_t next = atomic_load_explicit(&ia->slot_next, memory_order_relaxed);
	uint32_t active = atomic_load_explicit(&ia->slots_active, memory_order_relaxed);
	const unsigned char *slot = (const unsigned char *)slot_at(ia, next % active);
	uint64_t size = sizeof(struct soft_slot) + (len < SLOT_WARM ? len : SLOT_WARM);

	for (uint64_t at = 0; at < size; at += SOFT_LINE)
		soft_own(slot + at);
}

/* Fills a cell. Several segments are gathered in a buffer first, because a cell is written in an order of its own. */
static void cell_gather(struct soft_cell *cell, const struct datp_sge *iov, int n, uint64_t len)
{
	unsigned char whole[SOFT_INLINE];
	struct datp_sge one = { .addr = n == 1 ? iov->addr : (uintptr_t)whole, .len = len };

	if (n != 1)
		soft_gather(whole, iov, n, len);
	soft_cell_fill(cell, &one);
}

/*
 * If the execution lock is held the message is queued nevertheless, but whoever holds the execution
 * lock finds the receive. If the peer has not read our last message yet, this one is given a slot:
 * two copies by two CPUs, one behind the other, have more throughput than one copy by ours. Longer
 * messages are copied by both sides anyway.
 */
bool soft_send_straight(const struct soft_ep *ep, uint32_t msg, uint64_t len)
{
	const struct soft_layout *to = &ep->rlayout;

	/* relaxed: a hint */
	if (len < SOFT_COOP_MIN && ep->last_unread &&
	    atomic_load_explicit(ep->last_unread, memory_order_relaxed))
		return false;
	return (ep->peer->cma || ep->peer->self) && !to->srq &&
	       soft_recv_posted(ep->rport, to->rq_base + msg);
}

bool soft_eager_send(struct soft_ep *ep, const struct datp_sge *iov, int n, uint64_t len,
		     bool solicited)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint16_t flags = solicited ? SOFT_CELL_SOLICITED : 0;
	uint32_t slot = SLOT_NONE;
	struct soft_cell *cell;
	uint64_t position;

	if (!soft_send_credit(ep))
		return false;
	if (len > SOFT_INLINE) {
		slot = slot_get(ia, ep->peer);
		if (slot == SLOT_NONE)
			return false;
		soft_gather(slot_at(ia, slot)->data, iov, n, len);
		SLOT_FILLED(slot_at(ia, slot));
	}
	cell = soft_cell_reserve(ep, &position);
	if (!cell) {
		if (slot != SLOT_NONE)
			atomic_store_explicit(&slot_at(ia, slot)->busy, 0, memory_order_release);
		return false;
	}
	if (slot == SLOT_NONE) {
		cell_gather(cell, iov, n, len);
	} else {
		flags |= SOFT_CELL_SLOT;
		cell->from = ep->my_sender_id;
		cell->slot = slot;
		ep->last_unread = &slot_at(ia, slot)->busy;
	}
	soft_cell_address(cell, ep, len, flags);
	soft_ring_publish(cell, position);
	soft_ring_notify(ep->rring, ep->peer);
	if (slot != SLOT_NONE)
		slot_warm(ia, len);
	return true;
}

/*
 * Returns true if a send of this length, queued at `posted`, should keep its place by a cell: only
 * its target can execute it, because the SRQ is there, or it follows such a send, or there is no
 * slot. Without credit there is no cell: the target is behind by all credits, so the send waits
 * for credit, and mostly still goes eagerly.
 */
static bool place_is_kept(struct soft_ep *ep, uint32_t posted, uint64_t len)
{
	/* relaxed: a hint, which may be too small */
	uint32_t done = atomic_load_explicit(&ep->port->sq_done, memory_order_relaxed);

	if (!ep->rlayout.srq)
		return false;
	return len > soft_ia(ep->base.obj.ia)->eager_limit || (int32_t)(done - ep->places) < 0 ||
	       (done == posted && soft_send_credit(ep));
}

/*
 * Keeps the place of message `msg`, posted at `posted`: its cell comes behind what is in the
 * target's ring, where the service thread takes it if nobody polls. EP lock.
 */
static void place_keep(struct soft_ep *ep, struct soft_cell *cell, uint64_t position, uint32_t posted, uint32_t msg)
{
	ep->places = posted + 1;
	soft_ring_publish_done(cell, position, ep->rindex, ep->rgen, msg + 1);
	soft_ring_notify(ep->rring, ep->peer);
	soft_ring_want_service(ep->rring, ep->peer);
}

/*
 * Puts a request into the queue and executes what can be executed; the caller has filled in
 * `particular` what only this operation has.
 */
static void queue_request(struct soft_ep *ep, const struct datp_wqe *wqe,
			  const struct datp_sge *iov, int n, const struct soft_sqe *particular)
{
	/* the position in the port's queue; the peer may have written another one there */
	uint32_t posted = ep->sq_reaped + (wqe->seq - ep->base.sq.finished);
	struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, posted);
	struct soft_cell *kept = NULL;
	uint64_t position;

	/* positions wrap: a place before all that the queue can hold is none, and must not seem to be one of a later request */
	if (posted - ep->places > ep->layout.sq_mask + 1)
		ep->places = posted;
	if (soft_is_message(wqe->op) && place_is_kept(ep, posted, wqe->len))
		kept = soft_ring_reserve(ep->rring, ep->rmask, ep->my_sender_id, &position);
	soft_request_keep(ep, posted, wqe->op, wqe->len, iov, (uint32_t)n);
	memcpy(e, particular, sizeof *e);
	e->op = wqe->op;
	e->has_place = kept != NULL;
	e->solicited = (wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0;
	e->len = wqe->len;
	e->n = (uint32_t)n;
	if (n) /* the list may be NULL */
		memcpy(e->sge, iov, (size_t)n * sizeof *iov);
	/* release: publishes the request; the executor acquires it */
	atomic_store_explicit(&ep->port->sq_posted, posted + 1, memory_order_release);
	/* only now, when the target can find the request */
	if (kept)
		place_keep(ep, kept, position, posted, particular->msg);
	soft_exec_run(ep, true);
	if (soft_is_message(wqe->op))
		soft_exec_keep_place(ep, posted, particular->msg);
	soft_sq_reap(ep);
	soft_strict_waits(ep);
}

/*
 * Completes what the executor has executed meanwhile, which comes before anything new. Returns true
 * if no request waits before this one.
 */
static bool queue_empty(struct soft_ep *ep, const struct datp_wqe *wqe)
{
	if (soft_send_is_next(ep, wqe->seq))
		return true;
	soft_sq_reap(ep);
	return soft_send_is_next(ep, wqe->seq);
}

/*
 * Begins each post that does not end with soft_next_done(), and gives the endpoint its private lists of requests, if it has none:
 * a Send may turn out to need them when it has found no cell. Returns whether the request can be posted.
 */
static inline enum datp_err post_begin(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	enum datp_err err = ep->requests.slots ? DATP_OK : soft_posted_alloc(&ep->requests);

	ep->silent = 0;
	return err ? err : soft_strict_post(ep, wqe, iov, n);
}

enum datp_err soft_post_send(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n)
{
	struct soft_ep *ep = soft_ep(base);
	struct soft_ia *ia = soft_ia(base->obj.ia);
	bool solicited = wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	struct soft_sqe e = { .msg = ep->msg };
	enum datp_err err = soft_mr_check_iov(ia->own, soft_pz_id(base->pz), iov, n, false);

	if (!err)
		err = post_begin(ep, wqe, iov, n);
	if (err ||
	    !ep->open) /* The connection has just ended, and its state will say so in a moment: the request is left for the flush */
		return err;
	if (queue_empty(ep, wqe) && !ep->failing && soft_is_eager(ep, ep->msg, wqe->len) &&
	    soft_eager_send(ep, iov, n, wqe->len, solicited)) {
		ep->msg++;
		datp_wqe_done(wqe, DAT_DTO_SUCCESS, wqe->len, false);
		return DATP_OK;
	}
	ep->msg++;
	queue_request(ep, wqe, iov, n, &e);
	return DATP_OK;
}

/* Queues an RDMA request, unless the connection has just ended: then it is left for the flush, as in soft_post_send(). */
static inline void queue_rdma(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n,
			      const struct datp_rge *remote)
{
	struct soft_sqe e = { .remote = *remote };

	if (!ep->open)
		return;
	soft_short_expect(ep, remote->rmr_context);
	queue_request(ep, wqe, iov, n, &e);
}

enum datp_err soft_post_rdma_write(struct datp_ep *base, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	enum datp_err err =
		soft_mr_check_iov(soft_ia(base->obj.ia)->own, soft_pz_id(base->pz), iov, n, false);

	if (!err)
		err = post_begin(soft_ep(base), wqe, iov, n);
	if (!err)
		queue_rdma(soft_ep(base), wqe, iov, n, remote);
	return err;
}

enum datp_err soft_post_rdma_read(struct datp_ep *base, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	enum datp_err err =
		soft_mr_check_iov(soft_ia(base->obj.ia)->own, soft_pz_id(base->pz), iov, n, true);

	if (!err)
		err = post_begin(soft_ep(base), wqe, iov, n);
	if (!err)
		queue_rdma(soft_ep(base), wqe, iov, n, remote);
	return err;
}

/* Checks the segments, which the operation writes to if they are its `sink`, and queues the request. */
static enum datp_err post_extended(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov, int n, bool sink,
				   struct soft_sqe *particular)
{
	struct soft_ep *ep = soft_ep(base);
	enum datp_err err = soft_mr_check_iov(soft_ia(base->obj.ia)->own, soft_pz_id(base->pz), iov, n, sink);

	if (!err)
		err = post_begin(ep, wqe, iov, n);
	if (err || !ep->open)
		return err;
	if (soft_is_message(wqe->op))
		particular->msg = ep->msg++;
	queue_request(ep, wqe, iov, n, particular);
	return DATP_OK;
}

enum datp_err soft_post_write_imm(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
				  const struct datp_rge *remote, uint32_t imm)
{
	struct soft_sqe e = { .remote = *remote };

	e.imm = imm;
	return post_extended(base, wqe, iov, n, false, &e);
}

enum datp_err soft_post_atomic(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *sink,
			       const struct datp_rge *remote, const struct datp_atomic *what)
{
	struct soft_sqe e = { .remote = *remote };

	e.operand = what->operand;
	e.swap = what->swap;
	return post_extended(base, wqe, sink, 1, true, &e);
}

enum datp_err soft_post_send_invalidate(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
					uint32_t rmr_context)
{
	struct soft_sqe e = { .rmr = rmr_context };

	return post_extended(base, wqe, iov, n, false, &e);
}

/*
 * Finds the segment of memory that a range of a window is, by the last bind that was posted. Whether the window is bound so
 * when the read is executed the executor checks.
 */
static enum datp_err sink_of(struct soft_ia *ia, uint32_t pz, const struct datp_rge *sink, struct datp_sge *seg)
{
	struct soft_range range;

	if (!soft_window_get(ia, sink->rmr_context, &range))
		return DATP_ERR_BAD_SEGMENTS;
	if (range.pz != pz)
		return DATP_ERR_PROTECTION;
	if (!soft_range_contains(&range, sink->addr, sink->len))
		return DATP_ERR_BAD_SEGMENTS;
	if (!(range.priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return DATP_ERR_PRIV_WRITE;
	*seg = (struct datp_sge){ range.lmr, 0, sink->addr, sink->len };
	return DATP_OK;
}

enum datp_err soft_post_read_rmr(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_rge *sink,
				 const struct datp_rge *remote)
{
	struct soft_sqe e = { .remote = *remote };
	struct datp_sge seg;
	enum datp_err err;

	/* as in soft_post_send(); a bind that will be flushed has opened nothing */
	if (!soft_ep(base)->open)
		return post_begin(soft_ep(base), wqe, NULL, 0);
	err = sink_of(soft_ia(base->obj.ia), soft_pz_id(base->pz), sink, &seg);
	e.rmr = sink->rmr_context;
	return err ? err : post_extended(base, wqe, &seg, 1, true, &e);
}

enum datp_err soft_rmr_bind(struct datp_ep *base, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS priv, uint32_t *context)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_sqe e = { .bind_priv = (uint32_t)priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG |
							     DAT_MEM_PRIV_REMOTE_WRITE_FLAG) };

	enum datp_err err;

	e.remote.addr = addr;
	e.remote.len = len;
	err = post_begin(soft_ep(base), wqe, NULL, 0);
	if (!err)
		err = soft_rmr_prepare(ia, (struct soft_rmr *)rmr, wqe, lmr, &e);
	if (err)
		return err;
	*context = e.remote.rmr_context;
	if (soft_ep(base)->open)
		queue_request(soft_ep(base), wqe, NULL, 0, &e);
	return DATP_OK;
}
