/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory. An LMR or RMR is one entry of a table in the arena: a thread that accesses the
 * memory, of this process or a peer's, finds the entry by its context, and holds the execution lock
 * of the connection during the access. So after the context is cleared, and every execution lock
 * held at that time has been released, nobody accesses the memory any more.
 */
#include "mr.h"
#include "arena.h"
#include "bounce.h"
#include "convert.h"
#include "pages.h"
#include "peer.h"
#include "quiesce.h"
#include "request.h"
#include "sparse.h"
#include "window.h"
#include <string.h>

#define MR_GEN_MASK ((1u << SOFT_MR_GEN_BITS) - 1)
#define MR_REST	    4096u /* see index_pool.h */

enum datp_err soft_mr_init(struct soft_ia *ia)
{
	enum datp_err err = soft_arena_alloc(ia, SOFT_KIND_OTHER,
					     SOFT_MR_COUNT * sizeof(struct soft_mr), &ia->mr_mem);

	if (err)
		return err;
	ia->mr = ia->mr_mem.addr;
	ia->own = soft_sparse_new(SOFT_MR_COUNT, sizeof *ia->own);
	ia->arena->own = ia->own;
	ia->lmrs = soft_sparse_new(SOFT_MR_COUNT, sizeof *ia->lmrs);
	ia->mr_gen = soft_sparse_new(SOFT_MR_COUNT, sizeof *ia->mr_gen);
	ia->mr_used = 1; /* index 0 stays unused: no context is 0 */
	if (soft_index_pool_init(&ia->mr_pool, SOFT_MR_COUNT, MR_REST) && ia->own && ia->lmrs && ia->mr_gen &&
	    !soft_windows_init(ia))
		return DATP_OK;
	soft_mr_fini(ia);
	return DATP_ERR_MEMORY;
}

void soft_mr_fini(struct soft_ia *ia)
{
	soft_windows_fini(ia);
	soft_sparse_free(ia->lmrs, SOFT_MR_COUNT, sizeof *ia->lmrs);
	soft_sparse_free(ia->mr_gen, SOFT_MR_COUNT, sizeof *ia->mr_gen);
	soft_index_pool_fini(&ia->mr_pool);
	ia->own = NULL; /* it is freed with the arena */
	ia->lmrs = NULL;
	ia->mr_gen = NULL;
}

/* Returns 0 if the table is full. */
static uint32_t mr_index_get(struct soft_ia *ia, struct datp_lmr *lmr)
{
	uint32_t index = 0;

	datp_lock(&ia->lock);
	if (soft_index_take(&ia->mr_pool, &ia->mr_used, &index))
		ia->lmrs[index] = lmr;
	datp_unlock(&ia->lock);
	return index;
}

static void mr_index_put(struct soft_ia *ia, uint32_t index)
{
	datp_lock(&ia->lock);
	ia->lmrs[index] = NULL;
	soft_index_give(&ia->mr_pool, index);
	datp_unlock(&ia->lock);
}

/* The generation is not 0, because a window's context without generation stands for all of its contexts: see quiesce.h. */
static uint32_t mr_next_context(struct soft_ia *ia, uint32_t index)
{
	uint32_t gen;

	/*
	 * relaxed: it only has to be a number that no other bind of the window gets, on any
	 * endpoint
	 */
	do
		gen = (atomic_fetch_add_explicit(&ia->mr_gen[index], 1, memory_order_relaxed) + 1) & MR_GEN_MASK;
	while (!gen);
	return index << SOFT_MR_GEN_BITS | gen;
}

/*
 * Sequentially consistent: either an executor sees 0, or the check of the execution lock finds it
 * held.
 */
static uint32_t mr_kill(struct soft_mr *mr)
{
	return atomic_exchange(&mr->context, 0);
}

/*
 * Ends what a window was bound to and, in the same step unless `next` is 0, begins the next bind:
 * then this thread may write the entry's fields. Executors of several endpoints may execute binds
 * of one window at once, and nothing says which is the later one: a bind that finds another one
 * under way counts as executed before that, and has no more to do. It does not wait, because the
 * other process may have died, nor try for ever, because a peer could change the word all the time.
 * Returns the previous context, or 0 if there was none.
 */
static uint32_t mr_replace(struct soft_mr *mr, uint32_t next)
{
	/* sequentially consistent, both: as mr_kill, also if it was another bind that killed */
	uint32_t old = atomic_load(&mr->context);

	for (unsigned int tries = SOFT_TRIES; tries && !(old & SOFT_MR_BINDING); tries--)
		if (atomic_compare_exchange_weak(&mr->context, &old, next))
			return old;
	return old | SOFT_MR_BINDING;
}

/* Publishes an entry of the table, which is unused, or reserved by this thread's bind. */
static void mr_publish(struct soft_mr *mr, uint32_t context, const struct soft_range *range)
{
	/*
	 * release: a thread that finds a new field does not find the old context any more, see
	 * soft_mr_get()
	 */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&mr->addr, range->addr, memory_order_relaxed);
	atomic_store_explicit(&mr->len, range->len, memory_order_relaxed);
	atomic_store_explicit(&mr->priv, range->priv, memory_order_relaxed);
	atomic_store_explicit(&mr->pz, range->pz, memory_order_relaxed);
	atomic_store_explicit(&mr->lmr, range->lmr, memory_order_relaxed);
	atomic_store_explicit(&mr->conn, range->conn, memory_order_relaxed);
	/* release: a thread that finds the context finds its fields */
	atomic_store_explicit(&mr->context, context, memory_order_release);
}

static enum datp_err lmr_create(struct datp_lmr *lmr)
{
	bool shared;
	enum datp_err err = soft_pages_check(soft_ia(lmr->obj.ia)->maps_fd, lmr->addr, lmr->len,
					     (unsigned int)lmr->priv & SOFT_MR_WRITES, &shared);
	uint32_t kind = 0;

	if (err)
		return err;
	if (shared)
		kind = SOFT_MR_SHARED;
	else if (soft_convert(soft_ia(lmr->obj.ia), lmr))
		kind = SOFT_MR_CONVERTED;
	err = soft_lmr_add(lmr, kind);
	if (err)
		soft_convert_back(lmr);
	return err;
}

enum datp_err soft_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	struct datp_fork_own own;
	bool locked = soft_convert_lock(&own);
	enum datp_err err = lmr_create(lmr);

	/*
	 * shared memory has the same bytes in every process that maps it, so nothing has to be
	 * looked up
	 */
	(void)cookie;
	if (locked)
		datp_fork_release(&own);
	return err;
}

/* Records the length of a region before any peer can write to it. */
static void pz_lengthen(struct soft_pz *pz, uint64_t len)
{
	uint64_t longest = atomic_load_explicit(&pz->longest, memory_order_relaxed);

	/* relaxed: see soft_pz_longest() */
	while (longest < len && !atomic_compare_exchange_weak_explicit(&pz->longest, &longest, len, memory_order_relaxed,
								       memory_order_relaxed))
		;
}

enum datp_err soft_lmr_add(struct datp_lmr *lmr, uint32_t kind)
{
	struct soft_ia *ia = soft_ia(lmr->obj.ia);
	struct soft_range range = { .addr = lmr->addr,
				    .len = lmr->len,
				    .priv = (uint32_t)lmr->priv,
				    .pz = soft_pz_id(lmr->pz) };
	uint32_t index = mr_index_get(ia, lmr);

	if (!index)
		return DATP_ERR_REGION;
	lmr->lmr_context = mr_next_context(ia, index);
	lmr->rmr_context = lmr->lmr_context;
	pz_lengthen((struct soft_pz *)lmr->pz, lmr->len);
	mr_publish(&ia->own[index], lmr->lmr_context, &range);
	atomic_store(&ia->own[index].use, SOFT_MR_REGION);
	range.priv |= kind;
	(void)mr_kill(&ia->mr[index]); /* as in soft_rmr_create() */
	mr_publish(&ia->mr[index], lmr->lmr_context, &range);
	soft_convert_added();
	return DATP_OK;
}

void soft_lmr_free(struct datp_lmr *lmr)
{
	struct soft_ia *ia = soft_ia(lmr->obj.ia);
	uint32_t index = SOFT_MR_INDEX(lmr->lmr_context);

	(void)mr_kill(&ia->own[index]);
	/* sequentially consistent, as mr_kill(), for soft_mr_check_known(): whoever reads the new number finds the region dead */
	atomic_fetch_add(&ia->mr_ends, 1);
	(void)mr_kill(&ia->mr[index]);
	soft_mr_quiesce(ia, lmr->lmr_context, true);
	/* only now, because the bounce thread has served the executors that were waited for: see mr_owned() */
	atomic_store(&ia->own[index].use, SOFT_MR_UNUSED);
	soft_bounce_quiesce(ia);
	/* relaxed: set under the execution lock of an access to the region, and soft_mr_quiesce() has seen the release of it */
	if (atomic_load_explicit(&ia->mr[index].priv, memory_order_relaxed) & SOFT_MR_MAPPED)
		soft_peers_wake(ia);
	mr_index_put(ia, index);
	soft_convert_back(lmr);
}

/* Returns true if a region has a byte of the range. */
static bool lmr_touches(const struct datp_lmr *lmr, uint64_t addr, uint64_t len)
{
	return lmr->addr < addr + len && addr < lmr->addr + lmr->len;
}

bool soft_mr_touch(struct soft_ia *ia, uint64_t addr, uint64_t len)
{
	bool touch = false;

	datp_lock(&ia->lock);
	/* relaxed: it is written under the lock */
	for (uint32_t i = 0; i < atomic_load_explicit(&ia->mr_used, memory_order_relaxed) && !touch; i++) {
		const struct datp_lmr *lmr = ia->lmrs[i];

		touch = lmr && lmr_touches(lmr, addr, len);
	}
	datp_unlock(&ia->lock);
	return touch;
}

void soft_mr_cover(struct soft_ia *ia, const struct soft_cover *cover)
{
	uint64_t end = cover->addr + cover->len;

	datp_lock(&ia->lock);
	/* relaxed: it is written under the lock */
	for (uint32_t i = 0; i < atomic_load_explicit(&ia->mr_used, memory_order_relaxed); i++) {
		const struct datp_lmr *lmr = ia->lmrs[i];
		uint64_t first, last;

		if (!lmr || !lmr_touches(lmr, cover->addr, cover->len))
			continue;
		first = lmr->addr > cover->addr ? lmr->addr : cover->addr;
		last = (lmr->addr + lmr->len < end ? lmr->addr + lmr->len : end) - 1;
		cover->change[(first - cover->addr) / cover->page]++;
		cover->change[(last - cover->addr) / cover->page + 1]--;
	}
	datp_unlock(&ia->lock);
}

struct datp_lmr *soft_lmr_find(struct datp_ia *base, uint32_t context)
{
	struct soft_ia *ia = soft_ia(base);
	uint32_t index = SOFT_MR_INDEX(context);
	struct datp_lmr *lmr = NULL;

	if (!context || index >= SOFT_MR_COUNT)
		return NULL;
	datp_lock(&ia->lock);
	if (atomic_load_explicit(&ia->own[index].context, memory_order_relaxed) == context)
		lmr = ia->lmrs[index];
	datp_unlock(&ia->lock);
	return lmr;
}

enum datp_err soft_rmr_create(struct datp_rmr *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_rmr *rmr = (struct soft_rmr *)base;

	rmr->index = mr_index_get(ia, NULL);
	if (!rmr->index)
		return DATP_ERR_REGION;
	/*
	 * A peer may have written to the entry while it was unused. If that looked like a bind under way, all binds of this
	 * window would have no effect. The context goes first, as always. `rmr_gen` may have any value: a bind takes what it finds
	 */
	(void)mr_kill(&ia->mr[rmr->index]);
	mr_publish(&ia->mr[rmr->index], 0, &(struct soft_range){ 0 });
	/* relaxed: no bind has been posted, without which the bounce thread finds nothing */
	atomic_store_explicit(&ia->own[rmr->index].use, SOFT_MR_WINDOW, memory_order_relaxed);
	return DATP_OK;
}

void soft_rmr_free(struct datp_rmr *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_rmr *rmr = (struct soft_rmr *)base;

	/* from now on a bind in a request queue has no effect, and one that is being executed ends */
	atomic_fetch_add(&ia->mr[rmr->index].rmr_gen, 1);
	soft_mr_quiesce(ia, rmr->index << SOFT_MR_GEN_BITS, false);
	(void)mr_kill(&ia->mr[rmr->index]);
	soft_mr_quiesce(ia, rmr->index << SOFT_MR_GEN_BITS, false);
	atomic_store(&ia->own[rmr->index].use, SOFT_MR_UNUSED);
	soft_window_close(rmr);
	soft_bounce_quiesce(ia);
	mr_index_put(ia, rmr->index);
}

enum datp_err soft_rmr_prepare(struct soft_ia *ia, struct soft_rmr *rmr, const struct datp_wqe *wqe,
			       const struct datp_lmr *lmr, struct soft_sqe *e)
{
	struct soft_range range = { .addr = e->remote.addr,
				    .len = e->remote.len,
				    .priv = e->bind_priv,
				    .pz = soft_pz_id(rmr->base.pz),
				    .lmr = lmr ? lmr->lmr_context : 0,
				    /* relaxed: written under the EP lock */
				    .conn = atomic_load_explicit(&soft_ep(wqe->ep)->gen, memory_order_relaxed) };

	if (ia->invalidable)
		e->bind_priv |= SOFT_MR_INVALIDABLE;
	e->remote.rmr_context = mr_next_context(ia, rmr->index);
	e->bind_lmr = range.lmr;
	/* relaxed: it changes when the RMR is freed, and then this call is an error */
	e->bind_gen = atomic_load_explicit(&ia->mr[rmr->index].rmr_gen, memory_order_relaxed);
	/* otherwise it will be flushed, and no peer hears of it */
	return soft_ep(wqe->ep)->open ? soft_window_post(rmr, wqe, e->remote.rmr_context, &range) : DATP_OK;
}

void soft_mr_bind(struct soft_mr *table, const struct soft_request *r, uint32_t pz, uint32_t conn)
{
	uint32_t index = SOFT_MR_INDEX(r->remote.rmr_context);
	struct soft_mr *mr = &table[index];
	uint32_t old;

	if (index >= SOFT_MR_COUNT)
		return;
	/*
	 * sequentially consistent: the execution lock is held, so soft_rmr_free waits for us, or we
	 * see its count
	 */
	if (atomic_load(&mr->rmr_gen) != r->bind_gen)
		return;
	old = mr_replace(mr, r->remote.len ? r->remote.rmr_context | SOFT_MR_BINDING : 0);
	if (r->remote.len && !(old & SOFT_MR_BINDING))
		mr_publish(mr, r->remote.rmr_context,
			   &(struct soft_range){ .addr = r->remote.addr,
						 .len = r->remote.len,
						 .priv = r->bind_priv,
						 .pz = pz,
						 .lmr = r->bind_lmr,
						 .conn = conn });
}

/* The words are tried in the order in which an execution stores them. A later bind that has replaced them has another context. */
bool soft_mr_bind_undo(struct soft_mr *table, uint32_t context)
{
	struct soft_mr *mr = &table[SOFT_MR_INDEX(context)];
	uint32_t left = context | SOFT_MR_BINDING, bound = context;

	return atomic_compare_exchange_strong(&mr->context, &left, 0) || atomic_compare_exchange_strong(&mr->context, &bound, 0);
}

bool soft_mr_is_invalidable(const struct soft_mr *table, uint32_t context, uint32_t conn)
{
	const struct soft_mr *mr = &table[SOFT_MR_INDEX(context)];
	struct soft_range range;

	/* acquire, both: as in soft_mr_get(), whose second read of the context is repeated behind them */
	return soft_mr_get(table, context, &range) && range.lmr &&
	       atomic_load_explicit(&mr->priv, memory_order_acquire) & SOFT_MR_INVALIDABLE &&
	       atomic_load_explicit(&mr->conn, memory_order_acquire) == conn &&
	       atomic_load_explicit(&mr->context, memory_order_relaxed) == context;
}

bool soft_mr_invalidate(struct soft_mr *table, uint32_t context, uint32_t conn)
{
	/* sequentially consistent: as mr_kill() */
	return soft_mr_is_invalidable(table, context, conn) &&
	       atomic_compare_exchange_strong(&table[SOFT_MR_INDEX(context)].context, &context, 0);
}

bool soft_rmr_done(struct datp_rmr *base, uint32_t context, uint64_t len, bool good)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	const struct soft_mr *mr = &ia->mr[((struct soft_rmr *)base)->index];

	if (!good) {
		soft_window_forget(ia, context);
		(void)soft_mr_bind_undo(ia->mr, context);
	}
	/* relaxed: another executor may bind the window at any time anyway */
	return good && atomic_load_explicit(&mr->context, memory_order_relaxed) ==
			       (len ? context : 0);
}

enum datp_err soft_mr_check_list(const struct soft_mr *table, uint32_t pz,
				 const struct datp_sge *iov, int n, bool sink)
{
	enum datp_err err;

	for (const struct datp_sge *seg = iov; seg < iov + n; seg++) {
		struct soft_range range;

		if (!seg->len)
			continue;
		if (!soft_mr_get(table, seg->lmr_context, &range) || range.lmr)
			return sink ? DATP_ERR_PRIV_WRITE : DATP_ERR_PRIV_READ;
		err = datp_segment_check(seg, sink, range.pz == pz, range.addr, range.len, range.priv);
		if (err)
			return err;
	}
	return DATP_OK;
}

bool soft_mr_check_new(struct soft_ep *ep, const struct datp_sge *seg, bool sink, uint64_t ends)
{
	const struct datp_pz *pz = ep->base.pz;
	const struct soft_mr *own = soft_ia(ep->base.obj.ia)->own;
	struct soft_range range;

	if (!soft_mr_check_one(own, soft_pz_id(pz), seg, sink) || !soft_mr_get(own, seg->lmr_context, &range))
		return false;
	ep->known[sink] = (struct soft_known){ seg->lmr_context, ends, pz, range.addr, range.len };
	return true;
}

bool soft_mr_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote,
			  uint32_t need)
{
	struct soft_range range, region;

	if (!remote->len)
		return true;
	if (!soft_mr_get(table, remote->rmr_context, &range) || range.pz != pz ||
	    !(range.priv & need) || !soft_range_contains(&range, remote->addr, remote->len))
		return false;
	/* a window onto a freed region: its next bind was posted first, and executed last */
	return !range.lmr || soft_mr_get(table, range.lmr, &region);
}

bool soft_mr_check_sink(const struct soft_mr *table, uint32_t pz, uint32_t window, const struct datp_sge *seg)
{
	struct soft_range range;

	return soft_mr_get(table, window, &range) && range.lmr && range.lmr == seg->lmr_context && range.pz == pz &&
	       range.priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG && soft_range_contains(&range, seg->addr, seg->len);
}

bool soft_mr_check_atomic(const struct soft_mr *table, uint32_t pz, const struct datp_rge *word)
{
	struct soft_range range, region;

	if (!soft_mr_get(table, word->rmr_context, &range) || range.pz != pz ||
	    !soft_range_contains(&range, word->addr, word->len))
		return false;
	if (!range.lmr)
		return range.priv & DATP_MEM_PRIV_REMOTE_ATOMIC;
	return range.priv & DAT_MEM_PRIV_REMOTE_READ_FLAG && range.priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	       soft_mr_get(table, range.lmr, &region) && region.priv & DATP_MEM_PRIV_REMOTE_ATOMIC;
}

bool soft_mr_check_own(const struct soft_ep *ep, const struct datp_rge *remote, uint32_t need)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint32_t pz = soft_pz_id(ep->base.pz);
	uint32_t window = need == DATP_MEM_PRIV_REMOTE_ATOMIC ?
				  DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
				  need;
	uint32_t region = need == DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? SOFT_MR_WRITES : need;
	struct soft_range range, own;

	if (!remote->len)
		return true;
	if (soft_mr_get(ia->own, remote->rmr_context, &own))
		return own.pz == pz && own.priv & need && soft_range_contains(&own, remote->addr, remote->len);
	return soft_window_get(ia, remote->rmr_context, &range) && range.pz == pz && (range.priv & window) == window &&
	       soft_range_contains(&range, remote->addr, remote->len) && soft_mr_get(ia->own, range.lmr, &own) &&
	       own.pz == pz && soft_range_contains(&own, remote->addr, remote->len) &&
	       (own.priv & region || !(region & SOFT_MR_WRITES));
}

bool soft_mr_check_near(const struct soft_ep *ep, const struct datp_rge *remote, uint32_t need)
{
	const struct soft_peer *peer = ep->peer;
	uint32_t region = need == DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? SOFT_MR_WRITES : need;
	struct soft_range range, own;

	if (!remote->len)
		return true;
	if (soft_mr_get(peer->regions, remote->rmr_context, &own))
		return own.priv & need && soft_range_contains(&own, remote->addr, remote->len);
	return soft_mr_get(peer->mr, remote->rmr_context, &range) && soft_mr_get(peer->regions, range.lmr, &own) &&
	       soft_range_contains(&own, remote->addr, remote->len) && (own.priv & region || !(region & SOFT_MR_WRITES));
}

/*
 * Finds the region with this context, as its owner knows it. Returns false if there is none, or if
 * dat_lmr_free() has returned.
 */
static bool mr_owned(const struct soft_ia *ia, uint32_t context, struct soft_range *own)
{
	uint32_t index = SOFT_MR_INDEX(context);
	const struct soft_mr *mr = &ia->own[index];

	/*
	 * Sequentially consistent: either this load finds the 0 of soft_lmr_free(), or soft_lmr_free()
	 * finds the bounce thread that this is called from and waits for it. It also acquires the fields, which
	 * do not change before that wait is over. The context itself is gone while the peers are waited
	 * for; but it is the last that was given to this index.
	 */
	if (!context || index >= SOFT_MR_COUNT || atomic_load(&mr->use) != SOFT_MR_REGION ||
	    ((atomic_load_explicit(&ia->mr_gen[index], memory_order_relaxed) ^ context) & MR_GEN_MASK))
		return false;
	own->addr = atomic_load_explicit(&mr->addr, memory_order_relaxed);
	own->len = atomic_load_explicit(&mr->len, memory_order_relaxed);
	own->priv = atomic_load_explicit(&mr->priv, memory_order_relaxed);
	own->pz = atomic_load_explicit(&mr->pz, memory_order_relaxed);
	return true;
}

bool soft_mr_owns_segments(const struct soft_ia *ia, uint32_t pz, const struct datp_sge *sge, uint32_t n,
			   bool sink)
{
	struct soft_range own;

	for (uint32_t i = 0; i < n; i++)
		if (sge[i].len &&
		    (!mr_owned(ia, sge[i].lmr_context, &own) || own.pz != pz ||
		     !soft_range_contains(&own, sge[i].addr, sge[i].len) ||
		     !(sink ? own.priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG : own.priv)))
			return false;
	return true;
}

bool soft_mr_owns_target(struct soft_ia *ia, uint32_t pz, const struct datp_rge *remote,
			 uint32_t need)
{
	uint32_t index = SOFT_MR_INDEX(remote->rmr_context);
	struct soft_range range, own;

	if (index >= SOFT_MR_COUNT)
		return false;
	if (mr_owned(ia, remote->rmr_context, &own))
		return own.pz == pz && (own.priv & need) &&
		       soft_range_contains(&own, remote->addr, remote->len);
	/*
	 * The context is that of a window. The load is sequentially consistent, as in mr_owned(): either it
	 * finds the 0 that soft_rmr_free() stores, or soft_rmr_free() waits for this access
	 */
	return atomic_load(&ia->own[index].use) == SOFT_MR_WINDOW &&
	       soft_window_get(ia, remote->rmr_context, &range) && range.pz == pz &&
	       (range.priv & need) && soft_range_contains(&range, remote->addr, remote->len) &&
	       mr_owned(ia, range.lmr, &own) && own.pz == pz &&
	       soft_range_contains(&own, remote->addr, remote->len) &&
	       (!(need & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) || (own.priv & SOFT_MR_WRITES));
}
