/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path, inlined into the plugins: a post of one segment without flags, and the poll for one successful
 * completion. Invariant: any other operation is passed to the SDK's own data path, and so to rdma_post.c and
 * rdma_poll.c, before anything has been changed. Those can execute the operations of the fast path too, with the same
 * result.
 *
 * rdma_fast20.c compiles it once more with RDMA_API_20, for programs of DAT 2.0.
 */
#ifndef RDMA_FAST_H
#define RDMA_FAST_H

#include <datp/bias.h>
#include "rdma_poll.h"
#include "rdma_post.h"
#include <string.h>

/* ------------------------------------------------------------------ the API of the program */

#ifdef RDMA_API_20
typedef const struct datp_sge20 rdma_local;
typedef struct datp_rge20 rdma_remote, rdma_target;
typedef struct datp_event20 rdma_event;
#define RDMA_ADDR		  addr
#define RDMA_LEN		  len
#define RDMA_REST(what)		  datp_##what##20
#define RDMA_FAST(what)		  rdma_fast20_##what
#define RDMA_OTHER(what)	  rdma_other20_##what
#define RDMA_QUEUE_EMPTY	  DATP_EMPTY20
#define RDMA_RET(ret)		  datp_ret20(ret)
#define RDMA_WQE_EVENT		  datp_wqe_event20
#else
typedef DAT_LMR_TRIPLET rdma_local;
typedef struct datp_rge rdma_remote; /* the same as the next one */
typedef DAT_RMR_TRIPLET rdma_target;
typedef DAT_EVENT rdma_event;
#define RDMA_ADDR		  virtual_address
#define RDMA_LEN		  segment_length
#define RDMA_REST(what)		  datp_fast_##what
#define RDMA_FAST(what)		  rdma_fast_##what
#define RDMA_OTHER(what)	  rdma_other_##what
#define RDMA_QUEUE_EMPTY	  datp_ret(DATP_ERR_QUEUE_EMPTY)
#define RDMA_RET(ret)		  (ret)
#define RDMA_WQE_EVENT		  datp_wqe_event
#endif

typedef DAT_RETURN (*rdma_rest_fn)(DAT_EVD_HANDLE, rdma_event *);

/* ------------------------------------------------------------------ locks */

/* Releases the EP lock, which is held by its bias or not. If not, this counts as an acquisition by this thread. */
static inline __attribute__((always_inline)) void rdma_ep_unlock(struct rdma_ep *ep, bool biased)
{
	datp_bias_unlock(&ep->bias, &ep->base.lock, biased);
}

/*
 * The same after a post. The thread that posts receives ahead may not be the thread that uses the endpoint, so a
 * receive does not count as an acquisition.
 */
static inline __attribute__((always_inline)) void rdma_post_unlock(struct rdma_ep *ep, enum datp_op op,
								   bool biased)
{
	if (op == DATP_RECV && !biased)
		datp_unlock(&ep->base.lock);
	else
		rdma_ep_unlock(ep, biased);
}

/* Lock and unlock for the SDK's own posts, which are not on the fast path. */
static inline bool rdma_any_post_lock(struct datp_ep *ep)
{
	return datp_bias_lock(&rdma_ep(ep)->bias, &ep->lock);
}

static inline void rdma_any_post_unlock(struct datp_ep *ep, enum datp_op op, bool biased)
{
	rdma_post_unlock(rdma_ep(ep), op, biased);
}

/* Called last on the fast path after datp_bias_leave() has returned false. */
static __attribute__((noinline, unused)) DAT_RETURN rdma_ep_left(struct rdma_ep *ep)
{
	datp_bias_left_slow(&ep->bias);
	return DAT_SUCCESS;
}

static __attribute__((noinline, unused)) DAT_RETURN rdma_evd_left(struct rdma_evd *evd)
{
	datp_bias_left_slow(&evd->bias);
	return DAT_SUCCESS;
}

static inline __attribute__((always_inline)) void rdma_poll_unlock(struct rdma_evd *evd, bool biased)
{
	datp_bias_unlock(&evd->bias, &evd->base.poll_lock, biased);
}

/* ------------------------------------------------------------------ posting */

/*
 * Returns true if the handle is valid and of this type. The call has come here through the handle's first word, so
 * the handle points to memory of an object; the tag shows whether that has been freed or is of another type.
 */
static inline __attribute__((always_inline)) bool rdma_is(DAT_HANDLE handle, enum datp_type type)
{
	/* relaxed: as in datp_object() */
	return datp_word_is(&((struct datp_obj *)handle)->tag, DATP_TAG(type));
}

/* The checks that need no lock. */
static inline __attribute__((always_inline)) bool
rdma_fast_arguments(DAT_EP_HANDLE ep, DAT_COUNT n, const rdma_local *iov,
		    DAT_COMPLETION_FLAGS flags)
{
	/* one segment and no flags: both terms are 0 */
	return __builtin_expect(!(((unsigned int)n - 1) | (unsigned int)flags) && iov &&
					rdma_is(ep, DATP_EP),
				1);
}

/*
 * A local copy of a segment's address and length, because compilers reload them after an atomic operation. The
 * context is used only once, so it is not copied.
 */
static inline __attribute__((always_inline)) struct datp_sge
rdma_fast_segment(const rdma_local *iov)
{
	return (struct datp_sge){ .addr = iov->RDMA_ADDR, .len = iov->RDMA_LEN };
}

/*
 * Returns true if this segment is in the LMR that the last one was in; `len` is at least 1, and
 * `context` is the caller's. EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_fast_segment_locked(const struct rdma_lmr_cache *cache, const struct datp_sge *seg,
			 const DAT_LMR_CONTEXT *context)
{
	/* relaxed: nothing of the LMR is read */
	uint64_t registration = atomic_load_explicit(&cache->lmr->known.registration, memory_order_relaxed);

	return __builtin_expect(registration == cache->registration && *context == (uint32_t)registration &&
					(int64_t)seg->addr >= cache->begin &&
					seg->addr + seg->len <= cache->end,
				1);
}

/*
 * Returns true if the operation may go to the queue pair now, there is a slot, and the segment is
 * good: not empty, which some devices treat as 2 GiB, and not longer than `most`. Here and below
 * `op` is a constant. EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_fast_fits_locked(const struct rdma_ep *ep, const struct datp_sge *seg,
		      const DAT_LMR_CONTEXT *context, const rdma_remote *remote,
		      enum datp_op op, uint64_t most)
{
	const struct rdma_span *span = op == DATP_RECV ? &ep->receives : &ep->requests;
	bool sink = op == DATP_RECV || op == DATP_RDMA_READ;

	if (seg->len - 1 >= most)
		return false;
	/*
	 * relaxed: written under the EP lock. After a failed attempt to connect the queue pair still
	 * accepts receives, so the endpoint's state is checked
	 */
	if (op == DATP_RECV && atomic_load_explicit(&ep->base.state, memory_order_relaxed) ==
				       DAT_EP_STATE_DISCONNECTED)
		return false;
	if (span->next == span->stop)
		return false;
	if (op == DATP_RDMA_WRITE && (!remote || seg->len > remote->len))
		return false;
	if (op == DATP_RDMA_READ && (!remote || remote->len - 1 >= seg->len))
		return false;
	return rdma_fast_segment_locked(sink ? &ep->sink : &ep->source, seg, context);
}

/* The fields of struct datp_wqe, from `seq` on, that are written with one store. */
struct rdma_slot_head {
	uint32_t seq;
	uint8_t op, post_flags, status, done;
};

_Static_assert(offsetof(struct datp_wqe, op) == offsetof(struct datp_wqe, seq) + 4 &&
		       offsetof(struct datp_wqe, post_flags) == offsetof(struct datp_wqe, op) + 1 &&
		       offsetof(struct datp_wqe, status) == offsetof(struct datp_wqe, op) + 2 &&
		       offsetof(struct datp_wqe, done) == offsetof(struct datp_wqe, op) + 3,
	       "the head of a slot is as struct rdma_slot_head");

/*
 * Returns the next slot of the span, which has at least one left; the slot's `ep` is set already. EP
 * lock.
 */
static inline __attribute__((always_inline)) struct datp_wqe *
rdma_fast_slot_locked(struct datp_wq *wq, struct rdma_span *span, DAT_CONTEXT cookie, uint64_t len,
		      enum datp_op op)
{
	struct rdma_slot_head head = { .seq = wq->posted,
				       .op = (uint8_t)op,
				       .done = DATP_WQE_OPEN };
	struct datp_wqe *wqe = span->next;

	memcpy((char *)wqe + offsetof(struct datp_wqe, seq), &head, sizeof(head));
	wqe->cookie = cookie;
	wqe->len = len;
	wq->posted++;
	span->next++;
	return wqe;
}

/* Returns an errno, or 0. EP lock. */
static inline __attribute__((always_inline)) int
rdma_fast_request_locked(struct rdma_ep *ep, struct ibv_send_wr *wr, const struct datp_wqe *wqe,
			 const struct datp_sge *seg, const rdma_remote *remote, uint64_t len,
			 enum datp_op op)
{
	struct rdma_lmr_cache *cache = op == DATP_RDMA_READ ? &ep->sink : &ep->source;

	wr->wr_id = (uintptr_t)wqe;
	if (op != DATP_SEND) {
		wr->wr.rdma.remote_addr = remote->addr;
		wr->wr.rdma.rkey = remote->rmr_context;
	}
	cache->sge.addr = seg->addr;
	cache->sge.length = (uint32_t)len;
	return ep->post_send(ep->qp, wr, &ep->bad);
}

/* Returns an errno, or 0. EP lock. */
static inline __attribute__((always_inline)) int
rdma_fast_recv_locked(struct rdma_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *seg)
{
	ep->recv_wr.wr_id = (uintptr_t)wqe;
	ep->sink.sge.addr = seg->addr;
	ep->sink.sge.length = (uint32_t)seg->len;
	return ep->post_recv(ep->qp, &ep->recv_wr, &ep->bad_recv);
}

/* Posts an operation for which the checks have succeeded. EP lock, which this releases. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_fast_post_locked(struct rdma_ep *ep, struct ibv_send_wr *wr, const struct datp_sge *seg,
		      DAT_CONTEXT cookie, const rdma_remote *remote, enum datp_op op, bool biased)
{
	struct datp_wq *wq = op == DATP_RECV ? &ep->base.rq : &ep->base.sq;
	struct rdma_span *span = op == DATP_RECV ? &ep->receives : &ep->requests;
	uint64_t len = op == DATP_RDMA_READ ? remote->len : seg->len;
	struct datp_wqe *wqe = rdma_fast_slot_locked(wq, span, cookie, len, op);
	int rc = op == DATP_RECV ? rdma_fast_recv_locked(ep, wqe, seg)
				 : rdma_fast_request_locked(ep, wr, wqe, seg, remote, len, op);

	if (__builtin_expect(rc, 0))
		return RDMA_RET(rdma_fast_refused_locked(&ep->base, wq, rc, biased));
	if (!biased)
		rdma_post_unlock(ep, op, false);
	else if (!datp_bias_leave(&ep->bias))
		return rdma_ep_left(ep);
	return DAT_SUCCESS;
}

/*
 * Returns the work request of a message that is too long to be inlined, or NULL if the operation is
 * off the fast path for another reason. EP lock.
 */
static inline __attribute__((always_inline)) struct ibv_send_wr *
rdma_long_wr_locked(struct rdma_ep *ep, uint64_t len, enum datp_op op)
{
	if (op == DATP_RECV || op == DATP_RDMA_READ || len - 1 < ep->quick[op])
		return NULL;
	ep->long_wr.opcode = op == DATP_SEND ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
	return &ep->long_wr;
}

/*
 * Begins a new span if the old one is used up: free slots from the next one on, as far as they are
 * contiguous. EP lock.
 */
static inline void rdma_span_begin_locked(struct rdma_span *span, struct datp_wq *wq)
{
	uint32_t used, at, row;

	if (span->next != span->stop)
		return;
	/* acquire: the threads that reap have read the contents of the slots */
	used = wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire);
	if (used >= wq->max)
		return;
	at = wq->posted & wq->mask;
	row = wq->mask + 1 - at;
	span->next = &wq->ring[at];
	span->stop = span->next + (row < wq->max - used ? row : wq->max - used);
}

/*
 * Returns the work request of an operation that is nearly on the fast path: it is too long to be
 * inlined, or begins a new span of slots. Returns NULL for any other. EP lock.
 */
static inline __attribute__((always_inline)) struct ibv_send_wr *
rdma_nearly_fast_locked(struct rdma_ep *ep, const struct datp_sge *seg, const DAT_LMR_CONTEXT *context,
			const rdma_remote *remote, enum datp_op op)
{
	struct ibv_send_wr *wr = rdma_long_wr_locked(ep, seg->len, op);
	uint64_t most = wr ? ep->longest[op] : ep->quick[op];

	if (op == DATP_RECV)
		rdma_span_begin_locked(&ep->receives, &ep->base.rq);
	else
		rdma_span_begin_locked(&ep->requests, &ep->base.sq);
	if (!rdma_fast_fits_locked(ep, seg, context, remote, op, most))
		return NULL;
	return wr ? wr : &ep->wr[op];
}

/* ------------------------------------------------------------------ completions */

/* Returns the bytes of a slot from `op` on as one number, so that one comparison is enough. */
static inline __attribute__((always_inline)) uint32_t rdma_slot_word(const void *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * Returns true if a slot holds an open operation that needs nothing but its event: it is not a
 * bind, and not suppressed, which a receive cannot be. EP lock.
 */
static inline __attribute__((always_inline)) bool rdma_fast_open_locked(const struct datp_wqe *wqe)
{
	static const uint8_t not_fast[4] = { DATP_BIND, DAT_COMPLETION_SUPPRESS_FLAG, 0, 0xff };

	_Static_assert(DATP_BIND == 4 && DATP_RDMA_READ < 4 && DATP_WQE_OPEN == 0, "one bit each distinguishes the other cases");
	return !(rdma_slot_word((const char *)wqe + offsetof(struct datp_wqe, op)) &
		 rdma_slot_word(not_fast));
}

/* Writes the event of a successful operation. */
static inline __attribute__((always_inline)) void rdma_fast_event(struct rdma_ep *ep, const struct datp_wqe *wqe,
								  uint64_t len, struct datp_evd *evd,
								  rdma_event *event)
{
#ifdef RDMA_API_20
	static const uint8_t operations[] = { DATP_DTO20_SEND, DATP_DTO20_RECV, DATP_DTO20_RDMA_WRITE,
					      DATP_DTO20_RDMA_READ };

	(void)ep;
	/* no device has longer messages */
	datp_dto_event20(wqe, evd, DAT_DTO_SUCCESS, (uint32_t)len, operations[wqe->op], event);
#else
	event->evd_handle = evd;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = ep,
		.user_cookie = wqe->cookie,
		.status = DAT_DTO_SUCCESS,
		.transfered_length = len,
	};
#endif
}

/* The same as datp_wqe_finish(), the event's writing, and datp_wqe_reap(). Poll lock and EP lock. */
static inline __attribute__((always_inline)) void
rdma_fast_event_locked(struct rdma_ep *ep, struct datp_wqe *wqe, struct datp_wq *wq, uint64_t len,
		       struct datp_evd *evd, rdma_event *event)
{
	uint32_t next = wqe->seq + 1;

	rdma_fast_event(ep, wqe, len, evd, event);
	wq->finished = next;
	/* relaxed: read under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_DONE, memory_order_relaxed);
	/*
	 * release: as datp_wqe_reap(). A plain store, because no thread goes beyond what is
	 * finished, and that changes under the EP lock
	 */
	atomic_store_explicit(&wq->reaped, next, memory_order_release);
}

/*
 * Completes an open operation of the endpoint's present queue pair; a request must be the next in
 * order. Returns false if the operation is off the fast path, and then nothing has been done. Poll
 * lock and EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_fast_finish_locked(struct rdma_ep *ep, struct datp_wqe *wqe, const struct ibv_wc *wc,
			struct datp_evd *evd, rdma_event *event)
{
	if (__builtin_expect(ep->qpn != wc->qp_num || !rdma_fast_open_locked(wqe), 0))
		return false;
	if (wqe->op == DATP_RECV) {
		if (!ep->heard)
			return false;
		/* the length is that of the write; and in DAT 2.0 the receive has an event of the extension */
		if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			return false;
		rdma_fast_event_locked(ep, wqe, &ep->base.rq, wc->byte_len, evd, event);
	} else {
		if (__builtin_expect(wqe->seq != ep->base.sq.finished || ep->overtaking, 0))
			return false;
		rdma_fast_event_locked(ep, wqe, &ep->base.sq, wqe->len, evd, event);
	}
	return true;
}

/*
 * The CQs have nothing for this call; the list may have an event. Poll lock, which this releases.
 */
static inline DAT_RETURN rdma_dequeue_rest(struct rdma_evd *evd, rdma_event *event,
					   rdma_rest_fn rest, bool biased)
{
	rdma_poll_unlock(evd, biased);
	/* relaxed: a hint, as in datp_dequeue() */
	if (!atomic_load_explicit(&evd->base.queued, memory_order_relaxed))
		return RDMA_QUEUE_EMPTY;
	return rest(evd, event);
}

static inline __attribute__((always_inline)) struct datp_wqe *rdma_wqe_of(const struct ibv_wc *wc)
{
	return (struct datp_wqe *)(uintptr_t)wc->wr_id;
}

/*
 * Dequeues by way of rdma_poll.c, beginning with a completion that was polled already and is not one
 * of the fast path. The completion is passed as a value, because a variable whose address is taken
 * would be in memory on the fast path too. Poll lock, which this releases.
 */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_slow(struct rdma_evd *evd, rdma_event *event,
							    struct ibv_wc wc,
							    rdma_rest_fn rest, bool biased)
{
	struct datp_completion found;

	if (rdma_cqset_poll_on(&evd->set, &wc, &found) <= 0)
		return rdma_dequeue_rest(evd, event, rest, biased);
	RDMA_WQE_EVENT(found.wqe, &evd->base, event);
	datp_wqe_reap(found.wqe);
	rdma_poll_unlock(evd, biased);
	return DAT_SUCCESS;
}

/*
 * The same if the thread holds the EP lock by its bias, which may have been revoked meanwhile.
 * Releases both locks, the poll lock and the EP lock.
 */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_ep_revoked(struct rdma_evd *evd, rdma_event *event,
							      struct ibv_wc wc,
							      rdma_rest_fn rest, bool biased)
{
	rdma_ep_unlock(rdma_ep(rdma_wqe_of(&wc)->ep), true);
	return rdma_dequeue_slow(evd, event, wc, rest, biased);
}

/*
 * The same for an endpoint whose lock is not biased to this thread. Here the completion may be one of
 * the fast path, since that has not been checked. Poll lock, which this releases.
 */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_ep_unbiased(struct rdma_evd *evd, rdma_event *event,
								struct ibv_wc wc,
								rdma_rest_fn rest, bool biased)
{
	struct datp_wqe *wqe = rdma_wqe_of(&wc);
	struct rdma_ep *ep = rdma_ep(wqe->ep);
	bool done;

	if (!datp_trylock(&ep->base.lock))
		return rdma_dequeue_slow(evd, event, wc, rest, biased);
	done = rdma_fast_finish_locked(ep, wqe, &wc, &evd->base, event);
	rdma_ep_unlock(ep, false);
	if (!done)
		return rdma_dequeue_slow(evd, event, wc, rest, biased);
	rdma_poll_unlock(evd, biased);
	return DAT_SUCCESS;
}

/*
 * Returns true if the list has an event, which an earlier poll left there and which goes first, or
 * if a thread waits, which excludes a dequeue. Both are hints, as in datp_dequeue().
 */
static inline __attribute__((always_inline)) bool rdma_listed(const struct datp_evd *evd)
{
	_Static_assert(offsetof(struct datp_evd, waiter) ==
			       offsetof(struct datp_evd, queued) + sizeof(evd->queued),
		       "two words that are looked at as one");
#if defined(__x86_64__) && defined(__LP64__) && !defined(DATP_WORDS_IN_C)
	bool none;

	__asm__ volatile("cmpq $0, %1" : "=@cce"(none) : "m"(evd->queued), "m"(evd->waiter));
	return !none;
#else
	/* relaxed: hints */
	return atomic_load_explicit(&evd->queued, memory_order_relaxed) |
	       atomic_load_explicit(&evd->waiter, memory_order_relaxed);
#endif
}

/*
 * Dequeues if rdma_listed() is true, if the only CQ is empty, or if there are several CQs. Poll lock,
 * which this releases.
 */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_other(struct rdma_evd *evd, rdma_event *event,
							       rdma_rest_fn rest, bool biased)
{
	struct rdma_cqset *set = &evd->set;

	if (rdma_listed(&evd->base)) {
		rdma_poll_unlock(evd, biased);
		return rest(evd, event);
	}
	if (set->live > 1)
		rdma_cqset_poll(set, NULL, 1);
	/* All CQs have been polled, so an event in the channel would be for a completion that has been taken. */
	atomic_store_explicit(&set->solicited, false, memory_order_relaxed);
	return rdma_dequeue_rest(evd, event, rest, biased);
}

/* Poll lock, which this releases. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_dequeue_locked(struct rdma_evd *evd, rdma_event *event, rdma_rest_fn rest, bool biased)
{
	struct rdma_ep *ep;
	struct ibv_wc wc;
	uintptr_t self;

	if (__builtin_expect(rdma_listed(&evd->base), 0) ||
	    ibv_poll_cq(evd->set.one, 1, &wc) <= 0)
		return rdma_dequeue_other(evd, event, rest, biased);
	if (__builtin_expect(wc.status != IBV_WC_SUCCESS || (wc.wr_id & RDMA_ID_MASK) != RDMA_ID_WQE, 0))
		return rdma_dequeue_slow(evd, event, wc, rest, biased);
	ep = rdma_ep(rdma_wqe_of(&wc)->ep);
	self = datp_thread_again();
	if (!datp_bias_is(&ep->bias, self))
		return rdma_dequeue_ep_unbiased(evd, event, wc, rest, biased);
	if (!datp_bias_enter(&ep->bias, self) ||
	    __builtin_expect(!rdma_fast_finish_locked(ep, rdma_wqe_of(&wc), &wc, &evd->base, event), 0))
		return rdma_dequeue_ep_revoked(evd, event, wc, rest, biased);
	if (!datp_bias_leave(&ep->bias))
		rdma_ep_left(ep);
	if (!biased)
		rdma_poll_unlock(evd, false);
	else if (!datp_bias_leave(&evd->bias))
		return rdma_evd_left(evd);
	return DAT_SUCCESS;
}

/* Dequeues if the poll lock of the queue is not biased to the calling thread. */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_evd_unbiased(struct rdma_evd *evd, rdma_event *event,
								rdma_rest_fn rest)
{
	/* relaxed: a hint, as in datp_dequeue() */
	if (atomic_load_explicit(&evd->base.waiter, memory_order_relaxed) || !evd->base.has_cq ||
	    !datp_trylock(&evd->base.poll_lock))
		return rest(evd, event);
	return rdma_dequeue_locked(evd, event, rest, false);
}

/* Dequeues if the poll lock was biased to the calling thread, and another thread has just revoked the bias. */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_evd_revoked(struct rdma_evd *evd, rdma_event *event,
							      rdma_rest_fn rest)
{
	rdma_poll_unlock(evd, true);
	return rdma_dequeue_evd_unbiased(evd, event, rest);
}

/* The same as datp_dequeue(); `rest` handles everything but the device's completions. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_dequeue(DAT_EVD_HANDLE handle, rdma_event *event, rdma_rest_fn rest)
{
	struct rdma_evd *evd = handle;
	uintptr_t self;

	if (__builtin_expect(!rdma_is(evd, DATP_EVD) || !event, 0))
		return rest(handle, event);
	/* a queue without a CQ has no owner, and neither has one that is being freed */
	self = datp_thread_again();
	if (!datp_bias_is(&evd->bias, self))
		return rdma_dequeue_evd_unbiased(evd, event, rest);
	if (!datp_bias_enter(&evd->bias, self))
		return rdma_dequeue_evd_revoked(evd, event, rest);
	return rdma_dequeue_locked(evd, event, rest, true);
}

/* ------------------------------------------------------------------ the plugin */

/* How a thread holds the EP lock when its post leaves the fast path. */
enum rdma_bias { BIAS_NONE, BIAS_HELD, BIAS_REVOKED };

/* Takes the EP lock, or keeps it. Returns false if another thread holds it. */
static inline __attribute__((always_inline)) bool rdma_post_lock(struct rdma_ep *ep, enum rdma_bias bias)
{
	if (bias == BIAS_HELD)
		return true;
	if (bias == BIAS_REVOKED)
		rdma_ep_unlock(ep, true);
	return datp_trylock(&ep->base.lock);
}

/*
 * A post. An endpoint whose lock is biased to the calling thread takes the fast path; an operation
 * that is nearly on it, or an endpoint that threads share, takes a function of its own; all others
 * go to the SDK. These functions are out of line and called last, so that nothing has to be kept
 * across calls on the fast path. rdma_other_*() is for one segment without flags. So the number of
 * segments and the flags are not passed to it; the register of one of them says how the EP lock is
 * held, and all other arguments stay in the registers in which they came.
 */
#define RDMA_FAST_POST(what, op, params, args, other_params, other_args, remote)                   \
	static __attribute__((noinline)) DAT_RETURN RDMA_OTHER(what) other_params                  \
	{                                                                                          \
		bool biased = bias == BIAS_HELD;                                                   \
		struct datp_sge seg = rdma_fast_segment(iov);                                      \
		struct rdma_ep *own = ep;                                                          \
		struct ibv_send_wr *wr;                                                            \
                                                                                                   \
		if (!rdma_post_lock(own, bias))                                                    \
			return RDMA_REST(what) args(1, DAT_COMPLETION_DEFAULT_FLAG);               \
		wr = rdma_nearly_fast_locked(own, &seg, &iov->lmr_context, remote, op);            \
		if (wr)                                                                            \
			return rdma_fast_post_locked(own, wr, &seg, cookie, remote, op, biased);   \
		rdma_post_unlock(own, op, biased);                                                 \
		return RDMA_REST(what) args(1, DAT_COMPLETION_DEFAULT_FLAG);                       \
	}                                                                                          \
	static DAT_RETURN RDMA_FAST(what) params                                                   \
	{                                                                                          \
		struct rdma_ep *own = ep;                                                          \
		struct datp_sge seg;                                                               \
		uintptr_t self;                                                                    \
                                                                                                   \
		if (!rdma_fast_arguments(ep, n, iov, flags))                                       \
			return RDMA_REST(what) args(n, flags);                                     \
		self = datp_thread_again();                                                        \
		if (!datp_bias_is(&own->bias, self))                                               \
			return RDMA_OTHER(what) other_args(BIAS_NONE);                             \
		if (!datp_bias_enter(&own->bias, self))                                            \
			return RDMA_OTHER(what) other_args(BIAS_REVOKED);                          \
		seg = rdma_fast_segment(iov);                                                      \
		if (!rdma_fast_fits_locked(own, &seg, &iov->lmr_context, remote, op,               \
					   own->quick[op]))                                        \
			return RDMA_OTHER(what) other_args(BIAS_HELD);                             \
		return rdma_fast_post_locked(own, &own->wr[op], &seg, cookie, remote, op, true);   \
	}

#define RDMA_MESSAGE_ARGS(n, flags)   (ep, n, iov, cookie, flags)
#define RDMA_OTHER_MESSAGE_ARGS(bias) (ep, bias, iov, cookie)
#define RDMA_FAST_MESSAGE(what, op)                                                                \
	RDMA_FAST_POST(what, op,                                                                   \
		       (DAT_EP_HANDLE ep, DAT_COUNT n, rdma_local *iov,                            \
			DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags),                        \
		       RDMA_MESSAGE_ARGS,                                                          \
		       (DAT_EP_HANDLE ep, enum rdma_bias bias, rdma_local *iov,               \
			DAT_DTO_COOKIE cookie),                                                    \
		       RDMA_OTHER_MESSAGE_ARGS, NULL)

#define RDMA_TRANSFER_ARGS(n, flags)   (ep, n, iov, cookie, target, flags)
#define RDMA_OTHER_TRANSFER_ARGS(bias) (ep, bias, iov, cookie, target)
#define RDMA_FAST_TRANSFER(what, op)                                                               \
	RDMA_FAST_POST(what, op,                                                                   \
		       (DAT_EP_HANDLE ep, DAT_COUNT n, rdma_local *iov,                            \
			DAT_DTO_COOKIE cookie, const rdma_target *target,                          \
			DAT_COMPLETION_FLAGS flags),                                               \
		       RDMA_TRANSFER_ARGS,                                                         \
		       (DAT_EP_HANDLE ep, enum rdma_bias bias, rdma_local *iov,               \
			DAT_DTO_COOKIE cookie, const rdma_target *target),                         \
		       RDMA_OTHER_TRANSFER_ARGS, (const rdma_remote *)target)

/* The four posts and the dequeue. */
#define RDMA_FAST_PATH                                                                             \
	RDMA_FAST_MESSAGE(send, DATP_SEND)                                                         \
	RDMA_FAST_MESSAGE(recv, DATP_RECV)                                                         \
	RDMA_FAST_TRANSFER(read, DATP_RDMA_READ)                                                   \
	RDMA_FAST_TRANSFER(write, DATP_RDMA_WRITE)                                                 \
	static DAT_RETURN RDMA_FAST(dequeue)(DAT_EVD_HANDLE evd, rdma_event *event)                \
	{                                                                                          \
		return rdma_dequeue(evd, event, RDMA_REST(dequeue));                               \
	}

/* rdma_fast20.c */
extern const struct datp_fast20 rdma_fast20;

/* A plugin with the fast path before the SDK's data path, which uses the lock functions. */
#define RDMA_PROVIDER(plugin_name, plugin_ops)                                                     \
	DATP_FAST_PATH_LOCKED(plugin_ops, rdma_any_post_lock, rdma_any_post_unlock)                \
	RDMA_FAST_PATH                                                                             \
	DATP_PROVIDER_FAST20(plugin_name, plugin_ops, &rdma_fast20, rdma_fast_send,                \
			     rdma_fast_recv, rdma_fast_read, rdma_fast_write, rdma_fast_dequeue)

#endif
