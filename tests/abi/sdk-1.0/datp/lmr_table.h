/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <datp/lmr_table.h>: the LMRs of an IA by their contexts, found without a lock; and the checks of segments against
 * it. Since SDK 0.9.
 *
 *	struct my_ia { struct datp_ia base; struct datp_lmr_table lmrs; };
 *	struct my_lmr { struct datp_known_lmr known; ... };
 *
 *	.ia_size = DATP_SIZE(struct my_ia, base, struct datp_ia),
 *	.lmr_size = sizeof(struct my_lmr),
 *	.lmr_table = offsetof(struct my_ia, lmrs),
 *
 * Without an lmr_size an LMR is a struct datp_known_lmr.
 *
 * The contexts are those of the device, or the table gives them. libdatp makes the table before ia_open and frees
 * it after ia_close, and lmr_find has a default that looks there. lmr_create calls datp_lmr_add() and lmr_free
 * datp_lmr_remove().
 *
 * LMRs are type-stable memory, so a search without a lock may read one that another thread is just freeing or
 * registering anew. `registration` tells them apart: a reader that finds the same value before and after it has
 * read the other fields has read those of one registration. The first look is a load with memory_order_acquire,
 * and before the second one comes atomic_thread_fence(memory_order_acquire), because an acquire load does not keep
 * the reads before it from being executed after it. A transport that moves the data itself makes its
 * checks under a lock that its lmr_free takes after datp_lmr_remove(); then no region disappears meanwhile.
 *
 * The table is this process's own. A transport whose peers look up regions in shared memory needs a table there,
 * and finds its LMRs by that one's numbers.
 */
#ifndef DATP_LMR_TABLE_H
#define DATP_LMR_TABLE_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A power of two. Memory of the table is used only where there are regions. */
#define DATP_LMR_BUCKETS 65536u

/* An LMR that can be in a table: the first member of the plugin's own object. */
struct datp_known_lmr {
	struct datp_lmr base;
	/*
	 * While it is in the table: its context, and in the upper half the generation of this piece of memory; else
	 * 0. So the value identifies one registration.
	 */
	_Atomic(uint64_t) registration;
	_Atomic(struct datp_known_lmr *) next; /* in its bucket */
};

struct datp_lmr_table {
	_Atomic(struct datp_known_lmr *) *buckets; /* set while the IA is open; written under the lock, read without it */
	_Atomic(uint32_t) lock;			   /* no other lock is taken under it */
	uint32_t last;				   /* the context that was given last */
};

/*
 * Adds an LMR, whose head and plugin's part are complete, because other threads find it from now on. If its
 * lmr_context is 0, the table sets it and rmr_context to a number that no LMR of the table has, and that is given
 * again only when all others below 2^31 have been given. So a key of a device must not be 0.
 */
DATP_API void datp_lmr_add(struct datp_lmr_table *table, struct datp_known_lmr *lmr);
/* Removes it, so that a search which begins later does not find it. The contexts in its head stay as they are. */
DATP_API void datp_lmr_remove(struct datp_lmr_table *table, struct datp_known_lmr *lmr);

/* datp_lmr_get() for the rare search that meets a change of the table. Takes the lock. */
DATP_API struct datp_known_lmr *datp_lmr_get_slow(struct datp_lmr_table *table, uint32_t context) __attribute__((cold));

static inline _Atomic(struct datp_known_lmr *) *datp_lmr_bucket(struct datp_lmr_table *table, uint32_t context)
{
	/* some devices count in the high bytes of a key, others in the low ones */
	return &table->buckets[(context ^ context >> 8) % DATP_LMR_BUCKETS];
}

/*
 * Returns the LMR with this context, or NULL. Usually takes no lock: an LMR that is freed meanwhile can at worst
 * lead the search into another bucket, so a search that finds nothing is repeated with the lock.
 */
static inline struct datp_known_lmr *datp_lmr_get(struct datp_lmr_table *table, uint32_t context)
{
	/* acquire: pairs with the release that publishes an LMR, and with that of its registration */
	struct datp_known_lmr *lmr = atomic_load_explicit(datp_lmr_bucket(table, context), memory_order_acquire);

	for (int steps = 0; lmr && steps < 64; steps++) {
		uint64_t registration = atomic_load_explicit(&lmr->registration, memory_order_acquire);

		/* one that is being removed is not that of context 0 */
		if ((uint32_t)registration == context && registration)
			return lmr;
		lmr = atomic_load_explicit(&lmr->next, memory_order_acquire);
	}
	return datp_lmr_get_slow(table, context);
}

/*
 * Checks the local segments of an operation, in the order of datp(7): context, protection zone, bounds, rights.
 * `sink` says that the operation writes to them. Returns the error of a post.
 */
static inline enum datp_err datp_lmr_check_list(struct datp_lmr_table *table, const struct datp_pz *pz,
						const struct datp_sge *iov, int n, bool sink)
{
	enum datp_err err = DATP_OK;

	for (int i = 0; i < n && !err; i++) {
		const struct datp_known_lmr *lmr;

		if (!iov[i].len)
			continue;
		lmr = datp_lmr_get(table, iov[i].lmr_context);
		err = datp_lmr_check(lmr ? &lmr->base : NULL, pz, &iov[i], sink);
	}
	return err;
}

/*
 * Checks, where the remote memory is, the `len` bytes that an RDMA operation of a peer accesses there. `pz` is that
 * of the local endpoint, `need` the rights, all of which the region must give. With len = 0 nothing is accessed.
 * The table knows LMRs by their lmr_context, so this is only for transports whose LMRs have the same rmr_context.
 */
static inline bool datp_lmr_check_remote(struct datp_lmr_table *table, const struct datp_pz *pz,
					 const struct datp_rge *remote, uint64_t len, unsigned int need)
{
	const struct datp_known_lmr *lmr;

	if (!len)
		return true;
	lmr = datp_lmr_get(table, remote->rmr_context);
	return lmr && lmr->base.pz == pz && ((unsigned int)lmr->base.priv & need) == need &&
	       datp_range_holds(lmr->base.addr, lmr->base.len, remote->addr, len);
}

#ifdef __cplusplus
}
#endif

#endif
