/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way that most operations take, inlined into the plugins: a post of one segment without flags, and
 * the look for one completion that is a success. Invariant: what is not plain is left to the SDK's own
 * data path, and with it to rdma_post.c and rdma_poll.c, before anything has been changed; those take
 * the plain ones too, and do the same with them.
 */
#ifndef RDMA_FAST_H
#define RDMA_FAST_H

#include "rdma.h"
#include <string.h>

/* ------------------------------------------------------------------ locks */

/*
 * The same address, but the compiler does not know that: it then addresses a lock from its object in one
 * instruction each time, where it would keep the lock's own address in a register that has to be saved.
 */
static inline __attribute__((always_inline)) void *rdma_same(void *object)
{
	__asm__("" : "+r"(object));
	return object;
}

/*
 * As datp_unlock(), in two instructions. False: somebody may sleep on the lock, and it is still held;
 * one of the next two has to follow, which are out of line.
 */
static inline __attribute__((always_inline)) bool rdma_unlock(_Atomic uint32_t *lock)
{
	/* release: pairs with the acquire of who takes it next */
	return __builtin_expect(atomic_fetch_sub_explicit(lock, 1, memory_order_release) == 1, 1);
}

static __attribute__((noinline, unused)) DAT_RETURN rdma_unlock_waking_ep(struct datp_ep *ep)
{
	atomic_store_explicit(&ep->lock, 0, memory_order_release);
	datp_unlock_slow(&ep->lock);
	return DAT_SUCCESS;
}

static __attribute__((noinline, unused)) DAT_RETURN rdma_unlock_waking_evd(struct datp_evd *evd)
{
	atomic_store_explicit(&evd->poll_lock, 0, memory_order_release);
	datp_unlock_slow(&evd->poll_lock);
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------------ posting */

/*
 * Whether the handle is one of this type. Whoever calls has found this function by way of the handle's
 * first word, so it is neither NULL nor beside an object: the tag tells one that has been freed meanwhile,
 * or is of another type.
 */
static inline __attribute__((always_inline)) bool rdma_is(DAT_HANDLE handle, enum datp_type type)
{
	/* relaxed: as datp_object() */
	return atomic_load_explicit(&((struct datp_obj *)handle)->tag, memory_order_relaxed) ==
	       DATP_TAG(type);
}

/*
 * What can be said without the lock, and the lock, unless somebody else has it. True: it is held.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_enter(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		 DAT_COMPLETION_FLAGS flags)
{
	/* one segment and no flags: both terms are 0 */
	return __builtin_expect(!(((unsigned int)n - 1) | (unsigned int)flags) &&
					rdma_is(ep, DATP_EP) && iov &&
					datp_trylock(&((struct datp_ep *)ep)->lock),
				1);
}

/* Whether this is a segment of the LMR that the last one was of; `len` is at least 1. EP lock. */
static inline __attribute__((always_inline)) bool
rdma_plain_segment_locked(const struct rdma_window *window, const struct datp_sge *seg, uint64_t len)
{
	/* relaxed: nothing of the LMR is read */
	return __builtin_expect(seg->lmr_context == window->sge.lkey &&
					atomic_load_explicit(&window->lmr->life,
							     memory_order_relaxed) == window->life &&
					(int64_t)seg->addr >= window->begin &&
					seg->addr + len <= window->end,
				1);
}

/*
 * Whether the operation may go to the queue pair now; there is a slot; and the segments are good: neither
 * empty, which some devices take for 2 GiB, nor longer than `most`. Here and below `op` is a constant.
 * EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_fits_locked(const struct rdma_ep *ep, const struct datp_sge *seg,
		       const struct datp_rge *remote, enum datp_op op, uint64_t most)
{
	const struct rdma_run *run = op == DATP_RECV ? &ep->receives : &ep->requests;
	bool sink = op == DATP_RECV || op == DATP_RDMA_READ;

	if (seg->len - 1 >= most)
		return false;
	/* relaxed: written under the EP lock. An attempt that has failed leaves the queue pair as it was */
	if (op == DATP_RECV && atomic_load_explicit(&ep->base.state, memory_order_relaxed) ==
				       DAT_EP_STATE_DISCONNECTED)
		return false;
	if (run->next == run->stop)
		return false;
	if (op == DATP_RDMA_WRITE && (!remote || seg->len > remote->len))
		return false;
	if (op == DATP_RDMA_READ && (!remote || remote->len - 1 >= seg->len))
		return false;
	return rdma_plain_segment_locked(sink ? &ep->sink : &ep->source, seg, seg->len);
}

/* What is written of a slot in one go: of struct datp_wqe, from `seq` on. */
struct rdma_slot_head {
	uint32_t seq;
	uint8_t op, post_flags, status, done;
};

_Static_assert(offsetof(struct datp_wqe, op) == offsetof(struct datp_wqe, seq) + 4 &&
		       offsetof(struct datp_wqe, post_flags) == offsetof(struct datp_wqe, op) + 1 &&
		       offsetof(struct datp_wqe, status) == offsetof(struct datp_wqe, op) + 2 &&
		       offsetof(struct datp_wqe, done) == offsetof(struct datp_wqe, op) + 3,
	       "the head of a slot is as struct rdma_slot_head");

/* The next slot of the run, which has one; its `ep` is there already. EP lock. */
static inline __attribute__((always_inline)) struct datp_wqe *
rdma_plain_slot_locked(struct datp_wq *wq, struct rdma_run *run, DAT_CONTEXT cookie, uint64_t len,
		       enum datp_op op)
{
	struct rdma_slot_head head = { .seq = wq->posted,
				       .op = (uint8_t)op,
				       .done = DATP_WQE_OPEN };
	struct datp_wqe *wqe = run->next;

	memcpy((char *)wqe + offsetof(struct datp_wqe, seq), &head, sizeof(head));
	wqe->cookie = cookie;
	wqe->len = len;
	wq->posted++;
	run->next++;
	return wqe;
}

/* EP lock. errno, or 0. */
static inline __attribute__((always_inline)) int
rdma_plain_request_locked(struct rdma_ep *ep, struct ibv_send_wr *wr, const struct datp_wqe *wqe,
			  const struct datp_sge *seg, const struct datp_rge *remote, uint64_t len,
			  enum datp_op op)
{
	struct rdma_window *window = op == DATP_RDMA_READ ? &ep->sink : &ep->source;

	wr->wr_id = (uintptr_t)wqe;
	if (op != DATP_SEND) {
		wr->wr.rdma.remote_addr = remote->addr;
		wr->wr.rdma.rkey = remote->rmr_context;
	}
	window->sge.addr = seg->addr;
	window->sge.length = (uint32_t)len;
	return ibv_post_send(ep->qp, wr, &ep->bad);
}

/* EP lock. errno, or 0. */
static inline __attribute__((always_inline)) int
rdma_plain_recv_locked(struct rdma_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *seg)
{
	ep->recv_wr.wr_id = (uintptr_t)wqe;
	ep->sink.sge.addr = seg->addr;
	ep->sink.sge.length = (uint32_t)seg->len;
	return ibv_post_recv(ep->qp, &ep->recv_wr, &ep->bad_recv);
}

/* What fits. EP lock, which it gives up. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_plain_post_locked(struct rdma_ep *ep, struct ibv_send_wr *wr, const struct datp_sge *seg,
		       DAT_CONTEXT cookie, const struct datp_rge *remote, enum datp_op op)
{
	struct datp_wq *wq = op == DATP_RECV ? &ep->base.rq : &ep->base.sq;
	struct rdma_run *run = op == DATP_RECV ? &ep->receives : &ep->requests;
	uint64_t len = op == DATP_RDMA_READ ? remote->len : seg->len;
	struct datp_wqe *wqe = rdma_plain_slot_locked(wq, run, cookie, len, op);
	int rc = op == DATP_RECV ? rdma_plain_recv_locked(ep, wqe, seg)
				 : rdma_plain_request_locked(ep, wr, wqe, seg, remote, len, op);

	if (__builtin_expect(rc, 0))
		return rdma_plain_refused_locked(&ep->base, wq, rc);
	ep = rdma_same(ep);
	if (!rdma_unlock(&ep->base.lock))
		return rdma_unlock_waking_ep(&ep->base);
	__asm__("" : "+r"(rc)); /* else gcc makes a second 0, which is known to be DAT_SUCCESS */
	return (DAT_RETURN)rc;
}

/*
 * The work request of a message that is too long to be inlined; NULL: that is not what does not fit. EP lock.
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
 * A new run, if the old one is over: free slots from the next one on, as far as they lie in a row. True:
 * there is one now, and there was none before. EP lock.
 */
static inline bool rdma_run_begin_locked(struct rdma_run *run, struct datp_wq *wq)
{
	/* acquire: the reapers have read what the slots held */
	uint32_t used = wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire);
	uint32_t at = wq->posted & wq->mask, row = wq->mask + 1 - at;

	if (run->next != run->stop || used >= wq->max)
		return false;
	run->next = &wq->ring[at];
	run->stop = run->next + (row < wq->max - used ? row : wq->max - used);
	return true;
}

/* What does not fit: gives the lock back. True: it may fit now, since there is a new run of slots. */
static inline bool rdma_unplain(struct rdma_ep *ep, bool recv)
{
	bool again = rdma_run_begin_locked(recv ? &ep->receives : &ep->requests,
					   recv ? &ep->base.rq : &ep->base.sq);

	datp_unlock(&ep->base.lock);
	return again;
}

/* ------------------------------------------------------------------ completions */

/* The bytes of a slot from `op` on as one number, to be compared at once. */
static inline __attribute__((always_inline)) uint32_t rdma_slot_word(const void *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * Whether a slot holds an open operation that needs nothing but its event: none that is a bind, nor one that
 * is suppressed, which a receive cannot be. EP lock.
 */
static inline __attribute__((always_inline)) bool rdma_plain_open_locked(const struct datp_wqe *wqe)
{
	static const uint8_t not_plain[4] = { DATP_BIND, DAT_COMPLETION_SUPPRESS_FLAG, 0, 0xff };

	_Static_assert(DATP_BIND == 4 && DATP_RDMA_READ < 4 && DATP_WQE_OPEN == 0, "bits that tell");
	return !(rdma_slot_word((const char *)wqe + offsetof(struct datp_wqe, op)) &
		 rdma_slot_word(not_plain));
}

/* As datp_wqe_finish(), datp_wqe_event() and datp_wqe_reap(). Poll lock and EP lock. */
static inline __attribute__((always_inline)) void
rdma_plain_event_locked(struct rdma_ep *ep, struct datp_wqe *wqe, struct datp_wq *wq, uint64_t len,
			struct datp_evd *evd, DAT_EVENT *event)
{
	uint32_t next = wqe->seq + 1;

	event->evd_handle = evd;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = ep,
		.user_cookie = wqe->cookie,
		.status = DAT_DTO_SUCCESS,
		.transfered_length = len,
	};
	wq->finished = next;
	/* relaxed: read under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_DONE, memory_order_relaxed);
	/*
	 * release: as datp_wqe_reap(). A plain store, since nobody goes beyond what is finished, and
	 * that moves under the EP lock
	 */
	atomic_store_explicit(&wq->reaped, next, memory_order_release);
}

/*
 * An operation that is open and of the endpoint's present queue pair; a request that is the next in order.
 * False: it is not plain, and nothing has been done with it. Poll lock and EP lock.
 */
static inline __attribute__((always_inline)) bool
rdma_plain_finish_locked(struct rdma_ep *ep, struct datp_wqe *wqe, const struct ibv_wc *wc,
			 struct datp_evd *evd, DAT_EVENT *event)
{
	if (__builtin_expect(ep->qpn != wc->qp_num || !rdma_plain_open_locked(wqe), 0))
		return false;
	if (wqe->op == DATP_RECV) {
		if (!ep->up)
			return false;
		rdma_plain_event_locked(ep, wqe, &ep->base.rq, wc->byte_len, evd, event);
	} else {
		if (__builtin_expect(wqe->seq != ep->base.sq.finished || ep->overtaking, 0))
			return false;
		rdma_plain_event_locked(ep, wqe, &ep->base.sq, wqe->len, evd, event);
	}
	return true;
}

/* The same, with the endpoint's lock, unless somebody else has it. Poll lock. */
static inline __attribute__((always_inline)) bool
rdma_plain_finish(const struct ibv_wc *wc, struct datp_evd *evd, DAT_EVENT *event)
{
	struct datp_wqe *wqe = (struct datp_wqe *)(uintptr_t)wc->wr_id;
	struct rdma_ep *ep;
	bool plain;

	if (wc->status != IBV_WC_SUCCESS || (wc->wr_id & RDMA_ID_MASK) != RDMA_ID_WQE)
		return false;
	ep = rdma_ep(wqe->ep);
	if (__builtin_expect(!datp_trylock(&ep->base.lock), 0))
		return false;
	plain = rdma_plain_finish_locked(ep, wqe, wc, evd, event);
	ep = rdma_same(ep);
	if (!rdma_unlock(&ep->base.lock))
		rdma_unlock_waking_ep(&ep->base);
	return plain;
}

/* The CQs have nothing for this call; the list may. Poll lock, which it gives up. */
static inline DAT_RETURN rdma_dequeue_rest(struct datp_evd *evd, DAT_EVENT *event,
					   DAT_EVD_DEQUEUE_FUNC rest)
{
	datp_unlock(&evd->poll_lock);
	/* relaxed: a hint, as in datp_dequeue() */
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return datp_ret(DATP_ERR_QUEUE_EMPTY);
	return rest(evd, event);
}

/*
 * Of a completion that is not plain, and of what comes after it. It is passed as a value, so that the plain
 * way does not keep its address. Poll lock, which it gives up.
 */
static __attribute__((noinline)) DAT_RETURN rdma_dequeue_on(struct datp_evd *evd, DAT_EVENT *event,
							    struct ibv_wc wc,
							    DAT_EVD_DEQUEUE_FUNC rest)
{
	struct datp_completion found;

	if (rdma_cqset_poll_on(&rdma_evd(evd)->set, &wc, &found) <= 0)
		return rdma_dequeue_rest(evd, event, rest);
	datp_wqe_event(found.wqe, evd, event);
	datp_wqe_reap(found.wqe);
	datp_unlock(&evd->poll_lock);
	return DAT_SUCCESS;
}

/*
 * There is something on the list, which an earlier poll left there and which goes first, or nothing in the
 * first CQ. Poll lock, which it gives up.
 */
static __attribute__((noinline)) DAT_RETURN
rdma_dequeue_other(struct datp_evd *evd, DAT_EVENT *event, DAT_EVD_DEQUEUE_FUNC rest)
{
	struct rdma_cqset *set = &rdma_evd(evd)->set;
	struct ibv_wc wc;

	/* relaxed: a hint, as in datp_dequeue() */
	if (atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return rdma_dequeue_rest(evd, event, rest);
	for (uint32_t i = 1; i < set->count; i++)
		if (ibv_poll_cq(set->cq[i].cq, 1, &wc) > 0)
			return rdma_dequeue_on(evd, event, wc, rest);
	/* all is polled: what comes now is not what the channel told of */
	atomic_store_explicit(&set->solicited, false, memory_order_relaxed);
	return rdma_dequeue_rest(evd, event, rest);
}

/* As datp_dequeue(); `rest` does what is not about the device's completions. */
static inline __attribute__((always_inline)) DAT_RETURN
rdma_plain_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event, DAT_EVD_DEQUEUE_FUNC rest)
{
	struct datp_evd *evd = handle;
	struct ibv_cq *cq;
	struct ibv_wc wc;

	/* relaxed: a hint, as in datp_dequeue() */
	if (__builtin_expect(!rdma_is(evd, DATP_EVD) || !event ||
				     atomic_load_explicit(&evd->waiter, memory_order_relaxed) ||
				     !evd->has_cq || !datp_trylock(&evd->poll_lock),
			     0))
		return rest(handle, event);
	/* what an earlier poll left on the list goes first; an EVD that has been freed meanwhile has no CQ */
	cq = rdma_evd(evd)->set.cq[0].cq;
	if (__builtin_expect(atomic_load_explicit(&evd->queued, memory_order_relaxed), 0) ||
	    __builtin_expect(!cq, 0) || ibv_poll_cq(cq, 1, &wc) <= 0)
		return rdma_dequeue_other(evd, event, rest);
	if (__builtin_expect(!rdma_plain_finish(&wc, evd, event), 0))
		return rdma_dequeue_on(evd, event, wc, rest);
	evd = rdma_same(evd);
	return rdma_unlock(&evd->poll_lock) ? DAT_SUCCESS : rdma_unlock_waking_evd(evd);
}

/* ------------------------------------------------------------------ the plugin */

/*
 * A post: the plain way; else, where that makes a difference, the same without inlining the segment; else
 * the SDK's. Those are out of line and called last, so that nothing has to be kept across calls on the plain
 * way. rdma_long and rdma_unplain are entered with the EP lock held, and give it up.
 */
#define RDMA_FAST_POST(what, op, params, args, remote)                                             \
	static __attribute__((noinline)) DAT_RETURN datp_fast_##what params;                       \
	static DAT_RETURN rdma_fast_##what params;                                                 \
	static __attribute__((noinline)) DAT_RETURN rdma_unplain_##what params                     \
	{                                                                                          \
		return rdma_unplain((struct rdma_ep *)ep, op == DATP_RECV)                         \
			       ? rdma_fast_##what args                                             \
			       : datp_fast_##what args;                                            \
	}                                                                                          \
	static __attribute__((noinline)) DAT_RETURN rdma_long_##what params                        \
	{                                                                                          \
		struct datp_sge seg = *(const struct datp_sge *)iov;                               \
		struct ibv_send_wr *wr = rdma_long_wr_locked(ep, seg.len, op);                            \
                                                                                                   \
		if (!wr || !rdma_plain_fits_locked(ep, &seg, remote, op,                           \
						   ((struct rdma_ep *)ep)->longest[op]))           \
			return rdma_unplain_##what args;                                           \
		return rdma_plain_post_locked(ep, wr, &seg, cookie, remote, op);                   \
	}                                                                                          \
	static DAT_RETURN rdma_fast_##what params                                                  \
	{                                                                                          \
		struct datp_sge seg;                                                               \
                                                                                                   \
		if (!rdma_plain_enter(ep, n, iov, flags))                                          \
			return datp_fast_##what args;                                              \
		/* read once: compilers do not keep what they have read before an atomic */        \
		seg = *(const struct datp_sge *)iov;                                               \
		if (!rdma_plain_fits_locked(ep, &seg, remote, op,                                  \
					    ((struct rdma_ep *)ep)->quick[op]))                    \
			return rdma_long_##what args;                                              \
		return rdma_plain_post_locked(ep, &((struct rdma_ep *)ep)->wr[op], &seg, cookie,   \
					      remote, op);                                         \
	}

#define RDMA_FAST_MESSAGE(what, op)                                                                \
	RDMA_FAST_POST(what, op,                                                                   \
		       (DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,                       \
			DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags),                        \
		       (ep, n, iov, cookie, flags), NULL)

#define RDMA_FAST_TRANSFER(what, op)                                                               \
	RDMA_FAST_POST(what, op,                                                                   \
		       (DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,                       \
			DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *target,                      \
			DAT_COMPLETION_FLAGS flags),                                               \
		       (ep, n, iov, cookie, target, flags), (const struct datp_rge *)target)

/* DATP_PROVIDER, with the plain way before the SDK's. */
#define RDMA_PROVIDER(plugin_name, plugin_ops)                                                     \
	RDMA_FAST_MESSAGE(send, DATP_SEND)                                                         \
	RDMA_FAST_MESSAGE(recv, DATP_RECV)                                                         \
	RDMA_FAST_TRANSFER(read, DATP_RDMA_READ)                                                   \
	RDMA_FAST_TRANSFER(write, DATP_RDMA_WRITE)                                                 \
	static __attribute__((noinline)) DAT_RETURN datp_fast_dequeue(DAT_EVD_HANDLE, DAT_EVENT *); \
	static DAT_RETURN rdma_fast_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)                  \
	{                                                                                          \
		return rdma_plain_dequeue(evd, event, datp_fast_dequeue);                          \
	}                                                                                          \
	DATP_PROVIDER(plugin_name, plugin_ops)

/* What that puts into the plugin's table. */
#undef DATP_FAST_INIT
#define DATP_FAST_INIT                                                                             \
	{                                                                                          \
		.post_send = rdma_fast_send, .post_recv = rdma_fast_recv,                          \
		.post_rdma_read = rdma_fast_read, .post_rdma_write = rdma_fast_write,              \
		.evd_dequeue = rdma_fast_dequeue,                                                  \
	}

#endif
