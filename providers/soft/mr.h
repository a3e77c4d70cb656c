/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory: the table that peers check their accesses against, and our own checks. */
#ifndef SOFT_MR_H
#define SOFT_MR_H

#include "soft.h"

struct soft_request;

enum datp_err soft_mr_init(struct soft_ia *ia);
void soft_mr_fini(struct soft_ia *ia);

#define SOFT_MR_WRITES \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DATP_MEM_PRIV_REMOTE_ATOMIC)

/* Checks the memory first, and refuses what is not mapped. soft_lmr_add() does not check. */
enum datp_err soft_lmr_create(struct datp_lmr *lmr, const void *cookie);
/* kind: SOFT_MR_SHARED, SOFT_MR_CONVERTED or 0. */
enum datp_err soft_lmr_add(struct datp_lmr *lmr, uint32_t kind);
void soft_lmr_free(struct datp_lmr *lmr);
struct datp_lmr *soft_lmr_find(struct datp_ia *ia, uint32_t context);
/* Returns true if a region of this IA has a byte of the range. */
bool soft_mr_touch(struct soft_ia *ia, uint64_t addr, uint64_t len);

/* Which pages of a range regions have: from each page on, how many regions more or fewer than on the page before. */
struct soft_cover {
	uint64_t addr, len; /* whole pages */
	uint64_t page;
	int32_t *change; /* one for each page, and one more */
};

/* Adds the regions of this IA. */
void soft_mr_cover(struct soft_ia *ia, const struct soft_cover *cover);
enum datp_err soft_rmr_create(struct datp_rmr *rmr);
void soft_rmr_free(struct datp_rmr *rmr);

/*
 * Fills in what a bind that will be posted as `wqe` has to know of the window's RMR and region; the
 * caller has filled in address, length and privileges. Fails if there is no memory. EP lock.
 */
enum datp_err soft_rmr_prepare(struct soft_ia *ia, struct soft_rmr *rmr, const struct datp_wqe *wqe,
			       const struct datp_lmr *lmr, struct soft_sqe *e);
/*
 * Executes a bind: the old context becomes invalid, and the new one valid if the length is not 0. Does nothing if the window has
 * been freed. If another bind of the window is under way, this one counts as executed before it. Execution lock held.
 */
void soft_mr_bind(struct soft_mr *table, const struct soft_request *r, uint32_t pz, uint32_t conn);
/*
 * The bind with this context has failed. Takes back what a process has executed of it that died during that, or before it had
 * counted the bind. Returns true if there was such.
 */
bool soft_mr_bind_undo(struct soft_mr *table, uint32_t context);
/*
 * Returns true if a peer may invalidate the window over this connection; `conn` is the number that the owner of the window has
 * given to the connection. In that case soft_mr_invalidate() ends the binding of the window, and returns true if nothing else has
 * ended it meanwhile. Execution lock held.
 */
bool soft_mr_is_invalidable(const struct soft_mr *table, uint32_t context, uint32_t conn);
bool soft_mr_invalidate(struct soft_mr *table, uint32_t context, uint32_t conn);
/* A bind has completed. Returns true if the window is bound by it now, and not by a later bind. */
bool soft_rmr_done(struct datp_rmr *rmr, uint32_t context, uint64_t len, bool good);

/* What a context stands for. */
struct soft_range {
	uint64_t addr, len;
	uint32_t priv, pz, lmr;
	uint32_t conn; /* of a window: the connection that it was bound over; soft_mr_get() does not fill it in */
};

/*
 * Checks the sink of a read into a window. When the read was posted, the sink was translated into `seg`, a segment of the
 * window's region. The window has to be bound to that region still, contain the segment, and give the right to remote writes.
 * The rights of the region are checked elsewhere, as for any segment.
 */
bool soft_mr_check_sink(const struct soft_mr *table, uint32_t pz, uint32_t window, const struct datp_sge *seg);

/* Finds what a context stands for now. Returns false if it is invalid. */
static inline __attribute__((always_inline)) bool
soft_mr_get(const struct soft_mr *table, uint32_t context, struct soft_range *range)
{
	uint32_t index = SOFT_MR_INDEX(context);
	const struct soft_mr *mr = &table[index];

	/* sequentially consistent: see mr_kill; it also acquires what mr_publish released */
	if (!context || index >= SOFT_MR_COUNT || atomic_load(&mr->context) != context)
		return false;
	/*
	 * acquire, each: if one of them belongs to a later context, the second read of the context
	 * finds that; see mr_publish()
	 */
	range->addr = atomic_load_explicit(&mr->addr, memory_order_acquire);
	range->len = atomic_load_explicit(&mr->len, memory_order_acquire);
	range->priv = atomic_load_explicit(&mr->priv, memory_order_acquire) & SOFT_MR_RIGHTS;
	range->pz = atomic_load_explicit(&mr->pz, memory_order_acquire);
	range->lmr = atomic_load_explicit(&mr->lmr, memory_order_acquire);
	return atomic_load_explicit(&mr->context, memory_order_relaxed) == context;
}

static inline bool soft_range_contains(const struct soft_range *range, uint64_t addr, uint64_t len)
{
	return datp_range_holds(range->addr, range->len, addr, len);
}

/* Returns true if one local segment is valid; `sink`: it will be written to. */
static inline __attribute__((always_inline)) bool
soft_mr_check_one(const struct soft_mr *table, uint32_t pz, const struct datp_sge *seg, bool sink)
{
	struct soft_range range;

	return soft_mr_get(table, seg->lmr_context, &range) && range.pz == pz && !range.lmr &&
	       soft_range_contains(&range, seg->addr, seg->len) &&
	       (sink ? range.priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG : range.priv);
}

/* Does what soft_mr_check_known() does, and notes the region. */
bool soft_mr_check_new(struct soft_ep *ep, const struct datp_sge *seg, bool sink, uint64_t ends);

/*
 * Returns true if one local segment is valid for this endpoint; `sink`: it will be written to. Most segments lie in the same
 * region as the last one, which need not be looked up again as long as no region has ended. EP lock: soft_lmr_free() waits
 * for the threads that hold it and have read `mr_ends` before soft_lmr_free() increased it, except in a copy of something else
 * (copying.h); so what has been checked is accessed before this thread copies anything else.
 */
static inline __attribute__((always_inline)) bool soft_mr_check_known(struct soft_ep *ep, const struct datp_sge *seg, bool sink)
{
	const struct soft_known *known = &ep->known[sink];
	/* acquire: with a new number, the lookup in soft_mr_check_new() finds which regions have ended */
	uint64_t ends = atomic_load_explicit(&soft_ia(ep->base.obj.ia)->mr_ends, memory_order_acquire);

	if (__builtin_expect(known->context != seg->lmr_context || known->ends != ends || known->pz != ep->base.pz, 0))
		return soft_mr_check_new(ep, seg, sink, ends);
	return datp_range_holds(known->addr, known->len, seg->addr, seg->len);
}

enum datp_err soft_mr_check_list(const struct soft_mr *table, uint32_t pz,
				 const struct datp_sge *iov, int n, bool sink);

/* Checks a local list; a single valid segment is recognised here. */
static inline __attribute__((always_inline)) enum datp_err
soft_mr_check_iov(const struct soft_mr *table, uint32_t pz, const struct datp_sge *iov, int n,
		  bool sink)
{
	if (__builtin_expect(n == 1 && soft_mr_check_one(table, pz, iov, sink), 1))
		return DATP_OK;
	return soft_mr_check_list(table, pz, iov, n, sink);
}

/* Checks a remote range: privileges, bounds and PZ. */
bool soft_mr_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote,
			  uint32_t need);
/*
 * Checks the word that an atomic operation changes. A region has to give the right to that; a window has no such
 * right of its own, so it has to give the rights to read and to write, and its region that to atomic operations.
 */
bool soft_mr_check_atomic(const struct soft_mr *table, uint32_t pz, const struct datp_rge *word);
/*
 * Checks a remote range in our memory, which this endpoint accesses as the target, for a peer that needs this right: bounds,
 * privileges and PZ, as soft_mr_check_remote() and soft_mr_check_atomic(), but in what no peer can write to. A window counts as
 * bound from the post of the bind until a later bind of the window completes (window.h); the table in shared memory says in
 * addition whether it is bound now. Execution lock held.
 */
bool soft_mr_check_own(const struct soft_ep *ep, const struct datp_rge *remote, uint32_t need);
/*
 * The same for memory of the peer if that is an adapter of this process, whose memory this process accesses by plain loads and
 * stores. Which region a window is bound to is said by the table that peers can write to; the region itself is not.
 */
bool soft_mr_check_near(const struct soft_ep *ep, const struct datp_rge *remote, uint32_t need);

/* Checks the remote range if it is memory of this process. */
static inline bool soft_mr_check_here(const struct soft_ep *ep, bool initiator, const struct datp_rge *remote, uint32_t need)
{
	if (!initiator)
		return soft_mr_check_own(ep, remote, need);
	return !ep->peer->self || soft_mr_check_near(ep, remote, need);
}

/*
 * The same checks for the bounce thread, which trusts nothing that the asking peer can write to. A
 * region is valid until soft_lmr_free() has waited for the peers, a window as its owner has bound
 * it (window.h). Segments are those of a posted request or receive.
 */
bool soft_mr_owns_segments(const struct soft_ia *ia, uint32_t pz, const struct datp_sge *sge, uint32_t n,
			   bool sink);
bool soft_mr_owns_target(struct soft_ia *ia, uint32_t pz, const struct datp_rge *remote,
			 uint32_t need);

#endif
