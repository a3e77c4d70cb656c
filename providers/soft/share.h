/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a peer that can be mapped here, so that no system call is needed to access it. */
#ifndef SOFT_SHARE_H
#define SOFT_SHARE_H

#include "soft.h"
#include "unmap.h"
#include "xfer.h"

/* A region that was mapped, or that could not be. Constant except `next`, `out` and `users`. */
struct soft_share {
	struct soft_unmap map;		 /* what is mapped here, if `at` is not NULL */
	struct soft_share *_Atomic next; /* written under share_lock */
	struct soft_share *out;		 /* in the list of those that were taken out. Of the thread that has done that */
	_Atomic uint32_t users;	 /* copies that are running; only with share_lock does one more begin */
	uint32_t context;
	uint64_t addr, len; /* in the peer's address space */
	bool writable;
	unsigned char *at; /* where `addr` is mapped here; NULL if it cannot be accessed */
};

/* A list of a peer's buffers at the addresses where they are mapped here, with references to those mappings. */
struct soft_reach {
	struct soft_list list;
	struct soft_share *used[SOFT_MAX_IOV];
	int n;
};

/*
 * Returns true if all buffers of a peer's list can be accessed here, and writes their addresses here
 * to `reach`. The list must name its regions (soft_list.sge). The first use of a region maps it, which
 * takes a few system calls; whether that succeeded is remembered. write: the buffers will be written.
 * The caller holds the execution lock of the connection, and has checked rights and bounds.
 */
bool soft_share_reach(struct soft_peer *peer, const struct soft_list *remote, bool write,
		      struct soft_reach *reach);
void soft_share_leave(struct soft_reach *reach);

/*
 * The same for one buffer. Returns its address here, and *used for soft_share_leave_one(); returns NULL if it cannot be
 * accessed here. The parameter `share` must not be off.
 */
unsigned char *soft_share_one(struct soft_peer *peer, const struct datp_rge *buffer, bool write, struct soft_share **used);
void soft_share_leave_one(struct soft_share *share);

/* Returns where a buffer of the peer is mapped here, or NULL. */
static inline unsigned char *soft_share_at(const struct soft_share *share, uint64_t addr, uint64_t len, bool write)
{
	uint64_t offset = addr - share->addr;

	if (!share->at || (write && !share->writable) || offset > share->len || len > share->len - offset)
		return NULL;
	return share->at + offset;
}

/*
 * The same for a buffer in a region that has been mapped before, or in a window onto it, without a reference: the address
 * is good until the caller calls soft_work_end(). It has called soft_work_begin_with_lock() and taken the execution lock
 * after that. So either shares_take_dead() finds it at work, or it does not find here what that has taken out.
 */
#ifdef soft_share_known /* a test has one of its own */
unsigned char *soft_share_known(struct soft_peer *peer, const struct datp_rge *buffer, bool write);
#else
static inline unsigned char *soft_share_known(struct soft_peer *peer, const struct datp_rge *buffer, bool write)
{
	/* relaxed: the check of the access acquired the entry */
	uint32_t window_of = atomic_load_explicit(&peer->mr[SOFT_MR_INDEX(buffer->rmr_context)].lmr, memory_order_relaxed);
	uint32_t context = window_of ? window_of : buffer->rmr_context;
	/* sequentially consistent: see soft_work_begin_with_lock(); acquires what share_get() has released, as the next ones do */
	const struct soft_share *share = atomic_load(&peer->shares[SOFT_MR_INDEX(context) % SOFT_SHARE_BUCKETS]);

	while (share && share->context != context)
		share = atomic_load_explicit(&share->next, memory_order_acquire);
	return share ? soft_share_at(share, buffer->addr, buffer->len, write) : NULL;
}
#endif

/*
 * Notes in ep->near all of the region ep->near.context, where it is mapped here. An access by that context has just been checked
 * and has found it mapped. EP lock, execution lock held, at work.
 */
void soft_share_note(struct soft_ep *ep);

/*
 * Returns false if no memory that is mapped here belongs to this context, which the program has passed. The answer may be out of
 * date when it is used.
 */
static inline bool soft_share_may(const struct soft_peer *peer, uint32_t context)
{
	const struct soft_mr *mr = &peer->mr[SOFT_MR_INDEX(context)];

	/* relaxed, both: whoever accesses the memory looks again when the access has been checked */
	return SOFT_MR_INDEX(context) < SOFT_MR_COUNT &&
	       (atomic_load_explicit(&mr->priv, memory_order_relaxed) & SOFT_MR_FILE ||
		atomic_load_explicit(&mr->lmr, memory_order_relaxed));
}

/* Unmaps the regions that no longer exist. Service thread. */
void soft_shares_sweep(struct soft_ia *ia);
/* Looks again for those that were in use. Returns true if some still are. Tick. */
bool soft_shares_again(struct soft_ia *ia);
/* Unmaps all regions of a peer that nobody uses any more. */
void soft_shares_drop(struct soft_peer *peer);

#endif
