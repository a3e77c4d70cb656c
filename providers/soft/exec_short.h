/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA requests that are executed at once by loads and stores, because the peer's memory is mapped here. */
#ifndef SOFT_EXEC_SHORT_H
#define SOFT_EXEC_SHORT_H

#include "send.h"
#include "share.h"

/* Returns true if this connection can have such requests, and this context of the peer may open memory that is mapped here. */
static inline bool soft_maps(const struct soft_ep *ep, uint32_t context)
{
	const struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	return !ep->peer->self && !ia->strict && ia->want_share != SOFT_SHARE_OFF && soft_share_may(ep->peer, context);
}

/*
 * Notes whether it makes sense to try the short way first. Where the peer's memory is not mapped here, every attempt would
 * cost a lock. EP lock, open.
 */
static inline void soft_short_expect(struct soft_ep *ep, uint32_t context)
{
	bool maps = soft_maps(ep, context);

	/* relaxed, both: a hint, which is written only if it changes, because threads that post read it without the lock */
	if (atomic_load_explicit(&ep->maps, memory_order_relaxed) != maps)
		atomic_store_explicit(&ep->maps, maps, memory_order_relaxed);
}

/*
 * Returns true if an RDMA request of `len` bytes and one segment may be such a request: no request waits before it, and
 * the peer's memory may be mapped here. `remote` is the program's. The caller has read soft_ep.maps; if that is of another
 * connection, soft_short_rdma() finds no memory mapped. EP lock, open.
 */
static inline bool soft_is_short(const struct soft_ep *ep, uint64_t len, const struct datp_rge *remote)
{
	return len && !ep->failing && soft_send_is_next(ep, ep->base.sq.posted) &&
	       soft_share_may(ep->peer, remote->rmr_context);
}

/*
 * The peer may be polling the end of what this write changes. This prefetches that line for writing while the work that
 * precedes the store is done. The memory may not be mapped any more, which a prefetch does not mind. EP lock.
 */
static inline __attribute__((always_inline)) void soft_short_own(const struct soft_ep *ep, uint64_t len,
								 const struct datp_rge *remote)
{
	if (remote->rmr_context == ep->near_context && len <= SOFT_LINE)
		soft_own((const void *)(uintptr_t)(remote->addr + ep->near + len - 1));
}

/*
 * Puts such a request into the queue, executes it and completes it, or lets exec.c do so. wqe->len bytes are moved; the
 * segment `local` has been checked, and is at least that long. EP lock, soft_is_short().
 */
void soft_short_rdma(struct soft_ep *ep, struct datp_wqe *wqe, const struct datp_sge *local, const struct datp_rge *remote);

#endif
