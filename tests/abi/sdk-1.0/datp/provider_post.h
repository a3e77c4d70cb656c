/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path functions of the frozen table: libdatp's checks around the plugin's own ops.
 * DATP_PROVIDER inlines them into the plugin, so that a post costs the consumer one indirect call.
 * Include <datp/provider.h>, which includes this file. DATP_SIZE() is at the end.
 */
#ifndef DATP_PROVIDER_POST_H
#define DATP_PROVIDER_POST_H

/* The entries of DAT_PROVIDER that the plugin itself provides. */
struct datp_fast {
	DAT_EP_POST_SEND_FUNC post_send;
	DAT_EP_POST_RECV_FUNC post_recv;
	DAT_EP_POST_RDMA_READ_FUNC post_rdma_read;
	DAT_EP_POST_RDMA_WRITE_FUNC post_rdma_write;
	DAT_EVD_DEQUEUE_FUNC evd_dequeue;
};

DATP_STATIC_ASSERT(sizeof(struct datp_sge) == sizeof(DAT_LMR_TRIPLET) &&
		       offsetof(struct datp_sge, addr) ==
			       offsetof(DAT_LMR_TRIPLET, virtual_address) &&
		       offsetof(struct datp_sge, len) == offsetof(DAT_LMR_TRIPLET, segment_length),
	       "a 1.2 local segment is passed as it stands");
DATP_STATIC_ASSERT(sizeof(struct datp_rge) == sizeof(DAT_RMR_TRIPLET) &&
		       offsetof(struct datp_rge, addr) ==
			       offsetof(DAT_RMR_TRIPLET, target_address) &&
		       offsetof(struct datp_rge, len) == offsetof(DAT_RMR_TRIPLET, segment_length),
	       "a 1.2 remote segment is passed as it stands");

/*
 * Returns the DAT 1.2 value for an error of a post or of a dequeue, with the position of the
 * argument in those calls.
 */
DATP_API DAT_RETURN datp_ret(enum datp_err err);

/*
 * Handles a request on an endpoint that is not CONNECTED: completes it as flushed if the state is
 * DISCONNECTED, else returns the error. EP lock held.
 */
DATP_API enum datp_err datp_post_flushed(struct datp_ep *ep, struct datp_wqe *wqe);

/* Takes the first event off the list, or returns DATP_ERR_QUEUE_EMPTY. Takes the EVD lock. */
DATP_API enum datp_err datp_evd_take(struct datp_evd *evd, DAT_EVENT *event);
/*
 * Gives the slot of a receive back to its SRQ, and decrements `held` of its endpoint. Takes no
 * lock.
 */
DATP_API void datp_srq_reap(struct datp_wqe *wqe);
/*
 * Called when the ring is full: gives back the slots of suppressed operations that have completed.
 * Returns true if there is room now. EP lock held.
 */
DATP_API bool datp_wq_reclaim(struct datp_wq *wq);

/*
 * Called after a request or a bind was refused, for one of two reasons. If the ring is full, this
 * polls the transport for completions, because a program that posts only suppressed requests has no
 * reason to poll the EVD. If the endpoint is COMPLETION_PENDING, this waits up to 100 milliseconds
 * for the confirmation: a program that has seen the peer's data in its memory knows that the
 * connection is up, although the service thread may not have queued the event yet. No lock is held.
 */
DATP_API void datp_post_full(struct datp_ep *ep);

/* Records that an endpoint takes a receive of its SRQ. EP lock held. */
static inline void datp_srq_take(struct datp_wqe *wqe, struct datp_ep *ep)
{
	/* relaxed: another endpoint reads this only to see that it is not the taker itself */
	__atomic_store_n(&wqe->ep, ep, __ATOMIC_RELAXED);
	/* relaxed: this is only a count, and orders nothing */
	atomic_fetch_add_explicit(&ep->held, 1, memory_order_relaxed);
}

/* Returns true if the `len` bytes at `addr` are among the `size` bytes at `base`. Since SDK 0.6. */
static inline bool datp_range_holds(uint64_t base, uint64_t size, uint64_t addr, uint64_t len)
{
	/* what begins before the range is beyond its end, as an unsigned number */
	uint64_t at = addr - base;

	return at <= size && len <= size - at;
}

/*
 * Checks a local segment against the region that its context stands for, in the order of datp(7), and
 * returns the error of a post. `sink` says that the operation writes to the segment. `priv` is the
 * region's; `same_pz` says whether region and endpoint have the same protection zone. Segments of
 * length 0 are not checked, so do not call it for them. Since SDK 0.6.
 */
static inline enum datp_err datp_segment_check(const struct datp_sge *segment, bool sink, bool same_pz,
					       uint64_t base, uint64_t size, unsigned int priv)
{
	if (!same_pz)
		return DATP_ERR_PROTECTION;
	if (!datp_range_holds(base, size, segment->addr, segment->len))
		return DATP_ERR_BAD_SEGMENTS;
	if (sink)
		return priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ? DATP_OK : DATP_ERR_PRIV_WRITE;
	/*
	 * reading needs any right at all, because programs send from memory registered without
	 * LOCAL_READ
	 */
	return priv ? DATP_OK : DATP_ERR_PRIV_READ;
}

/*
 * The same for a region that is an LMR. A NULL `lmr` means that no LMR has the context. Since SDK
 * 0.6.
 */
static inline enum datp_err datp_lmr_check(const struct datp_lmr *lmr, const struct datp_pz *pz,
					   const struct datp_sge *segment, bool sink)
{
	if (!lmr)
		return sink ? DATP_ERR_PRIV_WRITE : DATP_ERR_PRIV_READ;
	return datp_segment_check(segment, sink, lmr->pz == pz, lmr->addr, lmr->len,
				  (unsigned int)lmr->priv);
}

/*
 * Marks an operation complete. EP lock held; the caller delivers it (evd_poll) or queues it
 * (datp_wqe_done).
 */
static inline void datp_wqe_finish(struct datp_wqe *wqe, uint8_t status, uint64_t len)
{
	struct datp_ep *ep = wqe->ep;

	wqe->status = status;
	wqe->len = len;
	/* relaxed: read under the EP lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_DONE, memory_order_relaxed);
	if (wqe->op != DATP_RECV)
		ep->sq.finished = wqe->seq + 1;
	else if (!ep->srq)
		ep->rq.finished = wqe->seq + 1;
	if (__builtin_expect(wqe->op == DATP_BIND, 0))
		datp_bind_done(wqe, status);
}

/*
 * Gives back the slot of an operation whose completion has been delivered, and with it the slots of
 * suppressed operations before it.
 */
static inline void datp_wqe_reap(struct datp_wqe *wqe)
{
	struct datp_ep *ep = wqe->ep;
	struct datp_wq *wq = wqe->op == DATP_RECV ? &ep->rq : &ep->sq;
	uint32_t next = wqe->seq + 1;
	uint32_t old;

	if (wqe->op == DATP_RECV && ep->srq) {
		datp_srq_reap(wqe);
		return;
	}
	/*
	 * release: this thread's reads of the slot come before the writes of the thread that posts.
	 * The loop never moves `reaped` backwards, even if a thread that reaped an earlier slot
	 * comes late.
	 */
	old = atomic_load_explicit(&wq->reaped, memory_order_relaxed);
	while ((int32_t)(next - old) > 0 &&
	       !atomic_compare_exchange_weak_explicit(&wq->reaped, &old, next, memory_order_release,
						      memory_order_relaxed))
		;
}

/* Writes the DAT event of a completed operation. */
static inline void datp_wqe_event(const struct datp_wqe *wqe, struct datp_evd *evd,
				  DAT_EVENT *event)
{
	event->evd_handle = evd;
	if (wqe->op == DATP_BIND) {
		event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
		event->event_data.rmr_completion_event_data.rmr_handle = wqe->rmr;
		event->event_data.rmr_completion_event_data.user_cookie = wqe->cookie;
		event->event_data.rmr_completion_event_data.status =
			(DAT_RMR_BIND_COMPLETION_STATUS)wqe->status;
		return;
	}
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->event_data.dto_completion_event_data.ep_handle = wqe->ep;
	event->event_data.dto_completion_event_data.user_cookie = wqe->cookie;
	event->event_data.dto_completion_event_data.status =
		(DAT_DTO_COMPLETION_STATUS)wqe->status;
	event->event_data.dto_completion_event_data.transfered_length = wqe->len;
}

/*
 * Checks the completion flags of a post. A post may be UNSIGNALLED only if the endpoint's attribute
 * is.
 */
static inline bool datp_post_flags_ok(const struct datp_ep *ep, unsigned int flags, enum datp_op op)
{
	unsigned int allowed = DAT_COMPLETION_UNSIGNALLED_FLAG;
	unsigned int has = op == DATP_RECV ? ep->attr.recv_flags : ep->attr.request_flags;

	if (op != DATP_RECV)
		allowed |= DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG;
	if (op == DATP_SEND)
		allowed |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (flags & ~allowed)
		return false;
	return !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) ||
	       (has & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

static inline int datp_post_max_iov(const struct datp_ep *ep, enum datp_op op)
{
	switch (op) {
	case DATP_RECV:
		return ep->attr.max_recv_iov;
	case DATP_RDMA_READ:
		return ep->attr.max_rdma_read_iov;
	case DATP_RDMA_WRITE:
		return ep->attr.max_rdma_write_iov;
	default:
		return ep->attr.max_request_iov;
	}
}

/* Adds up the bytes of a list. Returns false if the sum does not fit into 64 bits. */
static inline bool datp_iov_length(const struct datp_sge *iov, int n, uint64_t *len)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, iov[i].len, &sum))
			return false;
	*len = sum;
	return true;
}

/* Makes the checks of a post that need no lock, and sets *len to the sum of the segments. */
static inline enum datp_err datp_post_check(const struct datp_ep *ep, const struct datp_sge *iov,
					    int n, const struct datp_rge *remote,
					    unsigned int flags, enum datp_op op, uint64_t *len)
{
	if (n < 0 || n > datp_post_max_iov(ep, op))
		return DATP_ERR_BAD_COUNT;
	if (n > 0 && !iov)
		return DATP_ERR_BAD_SEGMENTS;
	if (!datp_post_flags_ok(ep, flags, op))
		return DATP_ERR_PARAM;
	if (!datp_iov_length(iov, n, len))
		return DATP_ERR_BAD_SEGMENTS;
	if (op == DATP_RDMA_READ || op == DATP_RDMA_WRITE) {
		if (!remote)
			return DATP_ERR_BAD_TARGET;
		if (*len > ep->attr.max_rdma_size ||
		    (op == DATP_RDMA_WRITE ? *len > remote->len : remote->len > *len))
			return DATP_ERR_LENGTH;
	} else if (op == DATP_SEND && *len > ep->attr.max_message_size) {
		return DATP_ERR_BAD_SEGMENTS;
	}
	return DATP_OK;
}

static inline enum datp_err datp_post_op(struct datp_ep *ep, struct datp_wqe *wqe,
					 const struct datp_sge *iov, int n,
					 const struct datp_rge *remote, const struct datp_ops *ops)
{
	switch (wqe->op) {
	case DATP_SEND:
		return ops->post_send(ep, wqe, iov, n);
	case DATP_RECV:
		return ops->post_recv(ep, wqe, iov, n);
	case DATP_RDMA_WRITE:
		return ops->post_rdma_write(ep, wqe, iov, n, remote);
	default:
		return ops->post_rdma_read(ep, wqe, iov, n, remote);
	}
}

/*
 * Returns the next slot of a ring, or NULL if as many operations are outstanding as the ring is
 * deep. EP lock held.
 */
static inline struct datp_wqe *datp_wq_next(struct datp_wq *wq, struct datp_ep *ep, enum datp_op op,
					    DAT_CONTEXT cookie, unsigned int flags)
{
	/* acquire: the reaper has read what the slot held */
	uint32_t used = wq->posted - atomic_load_explicit(&wq->reaped, memory_order_acquire);
	struct datp_wqe *wqe = &wq->ring[wq->posted & wq->mask];

	if (__builtin_expect(used >= wq->max, 0) && !datp_wq_reclaim(wq))
		return NULL;
	/* relaxed: the EP lock orders it */
	atomic_store_explicit(&wqe->done, DATP_WQE_OPEN, memory_order_relaxed);
	wqe->ep = ep;
	wqe->cookie = cookie;
	wqe->seq = wq->posted;
	wqe->op = (uint8_t)op;
	wqe->post_flags = (uint8_t)flags;
	return wqe;
}

/*
 * A post takes and releases the EP lock with these two functions, unless the plugin passes
 * functions of its own to DATP_FAST_PATH_LOCKED(). The first returns whether the lock is held by
 * its bias, and that value is passed to the second.
 */
static inline bool datp_post_lock(struct datp_ep *ep)
{
	datp_lock(&ep->lock);
	return false;
}

static inline void datp_post_unlock(struct datp_ep *ep, enum datp_op op, bool biased)
{
	(void)op;
	(void)biased;
	datp_unlock(&ep->lock);
}

/* Makes a whole post. The arguments from `op` on are constants where this is inlined. */
static inline __attribute__((always_inline)) DAT_RETURN
datp_post(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *triplets, DAT_CONTEXT cookie,
	  const DAT_RMR_TRIPLET *target, DAT_COMPLETION_FLAGS flags, enum datp_op op,
	  const struct datp_ops *ops, bool (*lock)(struct datp_ep *),
	  void (*unlock)(struct datp_ep *, enum datp_op, bool))
{
	struct datp_ep *ep = (struct datp_ep *)datp_object(handle, DATP_EP);
	const struct datp_sge *iov = (const struct datp_sge *)triplets;
	const struct datp_rge *remote = (const struct datp_rge *)target;
	struct datp_wq *wq;
	struct datp_wqe *wqe;
	enum datp_err err;
	uint64_t len = 0;
	bool biased;
	int state;

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	err = datp_post_check(ep, iov, n, remote, flags, op, &len);
	if (err)
		return datp_ret(err);
	if (op == DATP_RECV && ep->srq)
		return datp_ret(DATP_ERR_BAD_EP);
	wq = op == DATP_RECV ? &ep->rq : &ep->sq;
again:
	biased = lock(ep);
	/* relaxed: written under the lock we hold */
	state = atomic_load_explicit(&ep->state, memory_order_relaxed);
	wqe = datp_wq_next(wq, ep, op, cookie, (unsigned int)flags);
	if (__builtin_expect(state != DAT_EP_STATE_CONNECTED &&
				     (op != DATP_RECV || state == DAT_EP_STATE_DISCONNECTED),
			     0)) {
		err = datp_post_flushed(ep, wqe);
	} else if (!wqe) {
		err = DATP_ERR_CREDITS;
	} else {
		wqe->len = op == DATP_RDMA_READ ? remote->len : len;
		wq->posted++;
		err = datp_post_op(ep, wqe, iov, n, remote, ops);
		if (err)
			wq->posted--;
	}
	unlock(ep, op, biased);
	if (__builtin_expect(!err, 1))
		return DAT_SUCCESS;
	if (op != DATP_RECV && (err == DATP_ERR_CREDITS || state == DAT_EP_STATE_COMPLETION_PENDING))
		datp_post_full(ep);
	/* relaxed: this is a hint, and the repeated post checks the state under the lock */
	if (op != DATP_RECV && state == DAT_EP_STATE_COMPLETION_PENDING &&
	    atomic_load_explicit(&ep->state, memory_order_relaxed) == DAT_EP_STATE_CONNECTED)
		goto again;
	return datp_ret(err);
}

static inline __attribute__((always_inline)) DAT_RETURN
datp_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event, const struct datp_ops *ops)
{
	struct datp_evd *evd = (struct datp_evd *)datp_object(handle, DATP_EVD);
	struct datp_completion c;
	int n = 0;

	if (!evd)
		return datp_ret(DATP_ERR_HANDLE_EVD_REQUEST);
	if (!event)
		return datp_ret(DATP_ERR_BAD_OUT);
	/* relaxed, both: hints. What they miss was concurrent with this call. */
	if (atomic_load_explicit(&evd->waiter, memory_order_relaxed))
		return datp_ret(DATP_ERR_STATE_EVD_WAITER);
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed) && evd->has_cq &&
	    (!ops->evd_pending || ops->evd_pending(evd))) {
		datp_lock(&evd->poll_lock);
		/* events that an earlier poll has put on the list go first */
		if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
			n = ops->evd_poll(evd, &c, 1);
		if (n > 0) {
			datp_wqe_event(c.wqe, evd, event);
			datp_wqe_reap(c.wqe);
		}
		datp_unlock(&evd->poll_lock);
	}
	if (n > 0)
		return DAT_SUCCESS;
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return datp_ret(DATP_ERR_QUEUE_EMPTY);
	return datp_ret(datp_evd_take(evd, event));
}

/*
 * Emits the five functions of struct datp_fast, datp_fast_send() and so on, made of libdatp's
 * checks and the plugin's own ops. `lock` and `unlock` take and release the EP lock in a post, as
 * datp_post_lock() and datp_post_unlock() do. A plugin that biases that lock (<datp/bias.h>) passes
 * functions of its own, because a post that took the lock without its bias would revoke the bias.
 * The functions are out of line, so that the fast path functions of a plugin (DATP_PROVIDER_FAST)
 * can call them for everything else. Since SDK 0.5.
 */
#define DATP_FAST_FUNCTION static __attribute__((noinline, unused)) DAT_RETURN
#define DATP_FAST_PATH_LOCKED(ops, lock, unlock)						   \
	DATP_FAST_FUNCTION datp_fast_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,	   \
					  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)	   \
	{											   \
		return datp_post(ep, n, iov, cookie, NULL, flags, DATP_SEND, &(ops), lock, unlock);\
	}											   \
	DATP_FAST_FUNCTION datp_fast_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,	   \
					  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)	   \
	{											   \
		return datp_post(ep, n, iov, cookie, NULL, flags, DATP_RECV, &(ops), lock, unlock);\
	}											   \
	DATP_FAST_FUNCTION datp_fast_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,	   \
					  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,	   \
					  DAT_COMPLETION_FLAGS flags)				   \
	{											   \
		return datp_post(ep, n, iov, cookie, remote, flags, DATP_RDMA_READ, &(ops), lock,  \
				 unlock);							   \
	}											   \
	DATP_FAST_FUNCTION datp_fast_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,	   \
					   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,   \
					   DAT_COMPLETION_FLAGS flags)				   \
	{											   \
		return datp_post(ep, n, iov, cookie, remote, flags, DATP_RDMA_WRITE, &(ops), lock, \
				 unlock);							   \
	}											   \
	DATP_FAST_FUNCTION datp_fast_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)		   \
	{											   \
		return datp_dequeue(evd, event, &(ops));					   \
	}

#define DATP_FAST_PATH(ops) DATP_FAST_PATH_LOCKED(ops, datp_post_lock, datp_post_unlock)

/* Initialises a struct datp_fast with those five functions. */
#define DATP_FAST_GENERATED datp_fast_send, datp_fast_recv, datp_fast_read, datp_fast_write, datp_fast_dequeue

#define DATP_FAST_INIT { DATP_FAST_GENERATED }

/*
 * The size of a plugin's own object, for struct datp_ops: .ep_size = DATP_SIZE(struct my_ep, base,
 * struct datp_ep). It compiles only if `head` is the first member of `type` and is a `public_head`,
 * because libdatp finds the head there (DUTY-06). Since SDK 0.5.
 */
#ifdef __cplusplus
extern "C++" {
template <typename Head, typename Public, size_t Offset, size_t Size> constexpr uint32_t datp_size()
{
	static_assert(Offset == 0, "DUTY-06: the public head is the first member of your object");
	static_assert(std::is_same<Head, Public>::value, "DUTY-06: it is the head of that object");
	return static_cast<uint32_t>(Size);
}
}
#define DATP_SIZE(type, head, public_head)                                                         \
	datp_size<decltype(static_cast<type *>(nullptr)->head), public_head,                       \
		  offsetof(type, head), sizeof(type)>()
#else
#define DATP_SIZE(type, head, public_head)                                                         \
	((uint32_t)(sizeof(type) +                                                                 \
		    0 * sizeof(struct {                                                            \
			    DATP_STATIC_ASSERT(                                                    \
				    offsetof(type, head) == 0,                                     \
				    "DUTY-06: the public head is the first member of your object"); \
			    DATP_STATIC_ASSERT(                                                    \
				    _Generic(((type *)0)->head, public_head: 1, default: 0),       \
				    "DUTY-06: it is the head of that object");                     \
			    char unused;                                                           \
		    })))
#endif

#endif
