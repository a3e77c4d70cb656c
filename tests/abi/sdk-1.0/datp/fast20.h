/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path for programs of DAT 2.0, whose segments, events and errors differ from those of 1.2. <datp/provider.h>
 * includes this file. libdatp serves such programs over any plugin: it converts the arguments and calls the plugin's
 * functions for 1.2. A plugin whose struct datp_plugin has a struct datp_fast20 saves them that: its functions take the
 * arguments of 2.0 as they are. DATP_PROVIDER() generates these functions. Since SDK 0.8.
 */
#ifndef DATP_FAST20_H
#define DATP_FAST20_H

/* A local segment. It has the layout of DAT_LMR_TRIPLET of <dat2/udat.h>. */
struct datp_sge20 {
	uint64_t addr;
	uint32_t len;
	uint32_t lmr_context;
};

/* The remote segment of an RDMA operation. It has the layout of DAT_RMR_TRIPLET of <dat2/udat.h>. */
struct datp_rge20 {
	uint64_t addr;
	uint32_t len;
	uint32_t rmr_context;
};

/* The completion of a DTO. It has the layout of the beginning of DAT_EVENT of <dat2/udat.h>, whose rest it leaves alone. */
struct datp_event20 {
	uint32_t number; /* DAT_EVENT_NUMBER */
	uint32_t pad;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_CONTEXT cookie;
	uint32_t status;      /* DAT_DTO_COMPLETION_STATUS */
	uint32_t len;	      /* bytes transferred */
	uint32_t operation;   /* DAT_DTOS */
	uint32_t rmr_context; /* 0 */
};

/* The entries of the table of DAT 2.0 that the plugin itself provides. They return values of 2.0. */
struct datp_fast20 {
	DAT_RETURN (*post_send)(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*post_recv)(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*post_rdma_read)(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				     const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*post_rdma_write)(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				      const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*evd_dequeue)(DAT_EVD_HANDLE evd, struct datp_event20 *event);
};

/*
 * libdatp's own functions. A plugin's functions call them for what they do not handle, before they have changed
 * anything. A post converts its arguments and calls the plugin's function for 1.2.
 */
DATP_API DAT_RETURN datp_send20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
DATP_API DAT_RETURN datp_recv20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags);
DATP_API DAT_RETURN datp_read20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags);
DATP_API DAT_RETURN datp_write20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				 const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags);
DATP_API DAT_RETURN datp_dequeue20(DAT_EVD_HANDLE evd, struct datp_event20 *event);

/* Returns the value of DAT 2.0 for one of 1.2 that datp_ret() has returned. */
DATP_API DAT_RETURN datp_ret20(DAT_RETURN ret);

/* As datp_evd_take(), with an event of 2.0, whose whole size `event` has. */
DATP_API enum datp_err datp_evd_take20(struct datp_evd *evd, struct datp_event20 *event);

/* Writes the event of an operation that is no DTO, or that belongs to an extension. `event` has the size of a DAT_EVENT. */
DATP_API void datp_wqe_event20_other(const struct datp_wqe *wqe, struct datp_evd *evd, struct datp_event20 *event);

/* What a dequeue returns if an EVD with completions is empty. Programs compare the whole value with DAT_QUEUE_EMPTY. */
#define DATP_EMPTY20 ((DAT_RETURN)DAT_QUEUE_EMPTY)

/* Writes the completion of a DTO. `operation` is the value of DAT_DTOS. */
static inline __attribute__((always_inline)) void datp_dto_event20(const struct datp_wqe *wqe, struct datp_evd *evd,
								   uint32_t status, uint32_t len, uint32_t operation,
								   struct datp_event20 *event)
{
	event->number = DAT_DTO_COMPLETION_EVENT;
	event->evd = evd;
	event->ep = wqe->ep;
	event->cookie = wqe->cookie;
	event->status = status;
	event->len = len;
	event->operation = operation;
	event->rmr_context = 0;
}

/* Values of DAT_DTOS, in the order of enum datp_op. */
enum { DATP_DTO20_SEND = 0, DATP_DTO20_RECV = 3, DATP_DTO20_RDMA_WRITE = 1, DATP_DTO20_RDMA_READ = 2 };

/* Writes the event of a successful receive without immediate data. */
static inline __attribute__((always_inline)) void datp_recv_event20(const struct datp_wqe *wqe, struct datp_evd *evd,
								    uint32_t len, struct datp_event20 *event)
{
	datp_dto_event20(wqe, evd, DAT_DTO_SUCCESS, len, DATP_DTO20_RECV, event);
}

/* Writes the event of a completed operation. `event` has the size of a DAT_EVENT. */
static inline __attribute__((always_inline)) void datp_wqe_event20(const struct datp_wqe *wqe, struct datp_evd *evd,
								   struct datp_event20 *event)
{
	static const uint8_t operations[] = { DATP_DTO20_SEND, DATP_DTO20_RECV, DATP_DTO20_RDMA_WRITE,
					      DATP_DTO20_RDMA_READ };

	if (__builtin_expect(wqe->op >= DATP_BIND || (wqe->post_flags & DATP_WQE_IMMEDIATE), 0))
		datp_wqe_event20_other(wqe, evd, event);
	else
		datp_dto_event20(wqe, evd, wqe->status, wqe->len > UINT32_MAX ? UINT32_MAX : (uint32_t)wqe->len,
				 operations[wqe->op], event);
}

/* Returns true for a list of one segment. The functions below handle no other. */
static inline bool datp_is_one20(DAT_COUNT n, const struct datp_sge20 *iov)
{
	return __builtin_expect(n == 1 && iov, 1);
}

static inline struct datp_sge datp_sge_of20(const struct datp_sge20 *from)
{
	struct datp_sge sge = { from->lmr_context, 0, from->addr, from->len };

	return sge;
}

static inline struct datp_rge datp_rge_of20(const struct datp_rge20 *from)
{
	struct datp_rge rge = { from->rmr_context, 0, from->addr, from->len };

	return rge;
}

/* Makes a whole post of one segment. The arguments from `op` on are constants where this is inlined. */
static inline __attribute__((always_inline)) DAT_RETURN
datp_post20(DAT_EP_HANDLE ep, const struct datp_sge20 *iov, DAT_CONTEXT cookie, const struct datp_rge20 *target,
	    DAT_COMPLETION_FLAGS flags, enum datp_op op, const struct datp_ops *ops, bool (*lock)(struct datp_ep *),
	    void (*unlock)(struct datp_ep *, enum datp_op, bool))
{
	struct datp_sge segment = datp_sge_of20(iov);
	struct datp_rge remote;
	DAT_RETURN ret;

	if (op == DATP_RDMA_WRITE || op == DATP_RDMA_READ)
		remote = datp_rge_of20(target);
	ret = datp_post(ep, 1, (const DAT_LMR_TRIPLET *)&segment, cookie,
			op == DATP_RDMA_WRITE || op == DATP_RDMA_READ ? (const DAT_RMR_TRIPLET *)&remote : NULL, flags,
			op, ops, lock, unlock);
	return __builtin_expect(ret == DAT_SUCCESS, 1) ? ret : datp_ret20(ret);
}

/* As datp_dequeue(). */
static inline __attribute__((always_inline)) DAT_RETURN
datp_dequeue_of20(DAT_EVD_HANDLE handle, struct datp_event20 *event, const struct datp_ops *ops)
{
	struct datp_evd *evd = (struct datp_evd *)datp_object(handle, DATP_EVD);
	struct datp_completion c;
	int n = 0;

	/* relaxed, both: hints. What they miss was concurrent with this call. */
	if (__builtin_expect(!evd || !event || !evd->has_cq ||
				     atomic_load_explicit(&evd->waiter, memory_order_relaxed) ||
				     atomic_load_explicit(&evd->queued, memory_order_relaxed),
			     0))
		return datp_dequeue20(handle, event);
	if (ops->evd_pending && !ops->evd_pending(evd))
		return DATP_EMPTY20;
	datp_lock(&evd->poll_lock);
	/* events that an earlier poll has put on the list go first */
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		n = ops->evd_poll(evd, &c, 1);
	if (n > 0) {
		datp_wqe_event20(c.wqe, evd, event);
		datp_wqe_reap(c.wqe);
	}
	datp_unlock(&evd->poll_lock);
	if (n > 0)
		return DAT_SUCCESS;
	return atomic_load_explicit(&evd->queued, memory_order_relaxed) ? datp_dequeue20(handle, event) : DATP_EMPTY20;
}

/*
 * Emits the five functions of struct datp_fast20, datp_fast20_send() and so on. The arguments are those of
 * DATP_FAST_PATH_LOCKED(). A macro without them would serve no plugin that biases its locks.
 */
#define DATP_FAST20_PATH_LOCKED(ops, lock, unlock)								\
	DATP_FAST_FUNCTION datp_fast20_send(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov,	\
					    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)			\
	{													\
		if (!datp_is_one20(n, iov))									\
			return datp_send20(ep, n, iov, cookie, flags);						\
		return datp_post20(ep, iov, cookie, NULL, flags, DATP_SEND, &(ops), lock, unlock);		\
	}													\
	DATP_FAST_FUNCTION datp_fast20_recv(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov,	\
					    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)			\
	{													\
		if (!datp_is_one20(n, iov))									\
			return datp_recv20(ep, n, iov, cookie, flags);						\
		return datp_post20(ep, iov, cookie, NULL, flags, DATP_RECV, &(ops), lock, unlock);		\
	}													\
	DATP_FAST_FUNCTION datp_fast20_read(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov,	\
					    DAT_DTO_COOKIE cookie, const struct datp_rge20 *target,		\
					    DAT_COMPLETION_FLAGS flags)						\
	{													\
		if (!datp_is_one20(n, iov) || !target)								\
			return datp_read20(ep, n, iov, cookie, target, flags);					\
		return datp_post20(ep, iov, cookie, target, flags, DATP_RDMA_READ, &(ops), lock, unlock);	\
	}													\
	DATP_FAST_FUNCTION datp_fast20_write(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov,	\
					     DAT_DTO_COOKIE cookie, const struct datp_rge20 *target,		\
					     DAT_COMPLETION_FLAGS flags)					\
	{													\
		if (!datp_is_one20(n, iov) || !target)								\
			return datp_write20(ep, n, iov, cookie, target, flags);					\
		return datp_post20(ep, iov, cookie, target, flags, DATP_RDMA_WRITE, &(ops), lock, unlock);	\
	}													\
	DATP_FAST_FUNCTION datp_fast20_dequeue(DAT_EVD_HANDLE evd, struct datp_event20 *event)			\
	{													\
		return datp_dequeue_of20(evd, event, &(ops));							\
	}

#define DATP_FAST20_PATH(ops) DATP_FAST20_PATH_LOCKED(ops, datp_post_lock, datp_post_unlock)

/* Initialises a struct datp_fast20 with those five functions. */
#define DATP_FAST20_GENERATED datp_fast20_send, datp_fast20_recv, datp_fast20_read, datp_fast20_write, datp_fast20_dequeue

#endif
