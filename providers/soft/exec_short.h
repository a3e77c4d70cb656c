/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA requests that are executed at once by loads and stores, because the peer's memory is mapped here; and, inlined, the way of
 * one to the region that is noted (struct soft_near). Invariant: that way accesses what exec_short.c would access at the same
 * moment, and nothing else. It does not repeat what exec_short.c and soft_share_note() have found; soft_near_opens() and
 * soft_near_holds() say why that cannot have changed, and soft_near_run() why the request is the next one.
 */
#ifndef SOFT_EXEC_SHORT_H
#define SOFT_EXEC_SHORT_H

#include "exec.h"
#include "guard_word.h"
#include "mr.h"
#include "send.h"
#include "share.h"

/*
 * A longer request is for exec.c: its copy has a record (copying.h), so that a thread that frees another region does not wait for
 * it, nor the service thread for the endpoint.
 */
#define SOFT_SHORT_MAX ((uint64_t)64 << 10)

static inline bool soft_short_fits(uint64_t len)
{
	return len - 1 < SOFT_SHORT_MAX; /* not for 0 */
}

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
 * Returns true if an RDMA request of `len` bytes and one segment may be such a request: no request waits before it, there are
 * slots for its private list, and the peer's memory may be mapped here. `remote` is the program's. The caller has read
 * soft_ep.maps; if that is of another connection, soft_short_rdma() finds no memory mapped. EP lock, open.
 */
static inline bool soft_is_short(const struct soft_ep *ep, uint64_t len, const struct datp_rge *remote)
{
	return soft_short_fits(len) && ep->requests.slots && !ep->failing && soft_send_is_next(ep, ep->base.sq.posted) &&
	       soft_share_may(ep->peer, remote->rmr_context);
}

/*
 * Puts such a request into the queue, executes it and completes it, or lets exec.c do so. wqe->len bytes are moved; the
 * segment `local` has been checked, and is at least that long. EP lock, soft_is_short().
 */
void soft_short_rdma(struct soft_ep *ep, struct datp_wqe *wqe, const struct datp_sge *local, const struct datp_rge *remote);

/* ------------------------------------------------------------------ to a region that is noted (struct soft_near) */

/*
 * Goes on with such a request that is in the port's queue, and that soft_near_run() has not executed: counts it as posted, and
 * lets exec_short.c or exec.c execute it. `held`: this thread holds the execution lock. There is a slot. EP lock, at work.
 */
void soft_near_failed(struct soft_ep *ep, const struct datp_sge *local, const struct datp_rge *remote, uint64_t len,
		      DAT_CONTEXT cookie, unsigned int flags, enum datp_op op, bool held);

/* Puts a request of one segment into the queue, at the position `seq`. EP lock */
static inline __attribute__((always_inline)) void soft_short_queue(struct soft_ep *ep, uint32_t seq, uint8_t op, uint64_t len,
								   const struct datp_sge *local,
								   const struct datp_rge *remote)
{
	struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, seq);

	soft_request_keep(ep, seq, op, len, local, 1);
	e->op = op;
	e->solicited = e->has_place = 0;
	e->n = 1;
	e->len = len;
	e->remote = *remote;
	e->sge[0] = *local;
	/* release: publishes the request; the executor acquires it */
	atomic_store_explicit(&ep->port->sq_posted, seq + 1, memory_order_release);
}

/*
 * Returns true if this access may be made by what is noted, as far as that can be said before the execution lock is taken: the
 * peer has given the right to it, within the bounds of the region and of the mapping here. No provider changes the fields of a
 * region while it lives. A peer that does so nevertheless may find that its own memory is accessed as it said before. EP lock
 */
static inline __attribute__((always_inline)) bool soft_near_opens(const struct soft_near *near, const struct datp_rge *remote,
								  uint64_t len, uint32_t need)
{
	return soft_short_fits(len) && near->rights & need && datp_range_holds(near->addr, near->len, remote->addr, len);
}

/*
 * Returns true if the connection is open on this side, the peer lives, the region lives, and its mapping is still there. Either
 * this finds what the peer or another thread has done to end one of these, or they find the execution lock held, or this thread
 * at work: the former is taken by a sequentially consistent compare-exchange before these loads, the latter is noted before
 * that, see soft_work_begin_with_lock().
 *
 * The table's entry of a region that has been freed may become the entry of a window. After some thousand binds the window has
 * the context that the region had, perhaps before the sweep has looked; so this function also checks that the entry is that of a
 * region. The sweep takes a mapping out of the list, counts share_ends, forces a full fence on this thread, and then looks whether
 * this thread is at work. So this function does not rely on what the peer has written: if the peer revives a context whose mapping
 * has gone, share_ends has another number.
 * Execution lock held.
 */
static inline __attribute__((always_inline)) bool soft_near_holds(const struct soft_ep *ep, const struct soft_near *near,
								  uint32_t gen)
{
	return atomic_load(&ep->port->open) == gen &&
	       /* acquire: the flag is set before the pid can belong to another process */
	       !atomic_load_explicit(&ep->peer->dead, memory_order_acquire) &&
	       atomic_load(&ep->peer->share_ends) == near->ends && atomic_load(&near->mr->context) == near->context &&
	       /* relaxed: the load of the context has acquired it */
	       !atomic_load_explicit(&near->mr->lmr, memory_order_relaxed);
}

/* Copies, if the connection is open at the peer (struct soft_right). Returns false otherwise. Execution lock held. */
static inline __attribute__((always_inline)) bool soft_near_copy(const struct soft_ep *ep, unsigned char *there,
								 unsigned char *here, uint64_t len, bool write)
{
	const _Atomic uint32_t *open = &ep->rport->open;
	uint64_t word;

	if (write && len == sizeof word && !((uintptr_t)there & (sizeof word - 1))) {
		memcpy(&word, here, sizeof word);
		return soft_guard_word(open, ep->rgen, (uint64_t *)(void *)there, word);
	}
	return !soft_copy_range(write ? there : here, write ? here : there, len, write,
				&(struct soft_right){ .open = open, .gen = ep->rgen });
}

/*
 * Takes the execution lock, copies, and releases it, as exec_short.c's run() does. Returns false if this has not executed the
 * request, which is in the queue at `seq`; *held says whether the lock is held.
 *
 * The lock is taken only if its word is as the last short request of this side has left it. Each holding changes the word, and it
 * repeats only after 2^28 of them. So nobody has held the lock since this request was queued, and nobody else has executed it.
 * All requests before it have completed, and none of them has failed, as this side has noted in private memory:
 * soft_requests_done() and ep->failing. So sq_done is `seq`, and need not be read: if a peer has written something else there, this
 * corrects that. EP lock, at work.
 */
static inline __attribute__((always_inline)) bool soft_near_run(struct soft_ep *ep, uint32_t seq, unsigned char *there,
								unsigned char *here, uint64_t len, bool write, bool *held)
{
	/* relaxed: written under the EP lock */
	uint32_t gen = atomic_load_explicit(&ep->gen, memory_order_relaxed);
	struct soft_near *near = &ep->near;
	struct soft_port *port = ep->port;
	uint64_t word = near->word;

	/* sequentially consistent: as in exec_try() */
	*held = atomic_compare_exchange_strong(&port->exec_lock, &word, near->word | SOFT_EXEC_HELD);
	if (!*held || !soft_near_holds(ep, near, gen) || !soft_near_copy(ep, there, here, len, write))
		return false;
	ep->executed = seq + 1;
	soft_sq_reaped(ep, seq);
	near->word = SOFT_EXEC_NEXT(near->word, gen);
	/* release, both, and a store: as in run() */
	atomic_store_explicit(&port->sq_done, seq + 1, memory_order_release);
	atomic_store_explicit(&port->exec_lock, near->word, memory_order_release);
	return true;
}

/*
 * Posts a request to the region that is noted. Returns false if there is another way to go; then nothing has been posted. The
 * context is that of the region. EP lock, connected, open.
 */
static inline __attribute__((always_inline)) bool soft_near_rdma(struct soft_ep *ep, const struct datp_sge *local,
								 const struct datp_rge *remote, uint64_t len,
								 DAT_CONTEXT cookie, unsigned int flags, enum datp_op op)
{
	bool write = op == DATP_RDMA_WRITE, held;
	unsigned char *there = (unsigned char *)(uintptr_t)(remote->addr + ep->near.here);
	uint32_t seq = ep->sq_reaped; /* the position of the next request if the queue is empty, which is checked below */
	uint32_t reaped;

	/*
	 * The peer may be polling the end of what this write changes. This prefetches that line for writing while the work that
	 * precedes the store is done. The memory may not be mapped any more, which a prefetch does not mind
	 */
	if (write && len <= SOFT_LINE)
		soft_own(there + len - 1);
	if (!soft_near_opens(&ep->near, remote, len, write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG) ||
	    ep->failing || !soft_requests_done(ep) || !soft_mr_check_known(ep, local, !write) || !soft_has_slot(ep, &reaped))
		return false;
	soft_short_queue(ep, seq, (uint8_t)op, len, local, remote);
	soft_work_begin_with_lock(ep);
	if (__builtin_expect(!soft_near_run(ep, seq, there, (unsigned char *)(uintptr_t)local->addr, len, write, &held), 0)) {
		soft_near_failed(ep, local, remote, len, cookie, flags, op, held);
		return true;
	}
	soft_work_end(ep);
	soft_next_done(ep, cookie, flags, len, op, reaped);
	return true;
}

#endif
