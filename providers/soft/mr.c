/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory. An LMR or RMR is one entry of a table in the arena: who wants to touch the memory, we or a
 * peer, finds the entry by its context, and holds the engine of the connection while it touches. So after
 * the context is cleared, and every engine held at that time has been let go, nobody touches it any more.
 */
#include "mr.h"
#include "arena.h"
#include "engine.h"
#include "peer.h"
#include <stdlib.h>
#include <string.h>

#define MR_GEN_MASK ((1u << SOFT_MR_GEN_BITS) - 1)
#define MR_REST	    4096u /* so many others are freed before an index is used again */

enum datp_err soft_mr_init(struct soft_ia *ia)
{
	enum datp_err err = soft_arena_alloc(ia, SOFT_KIND_OTHER,
					     SOFT_MR_COUNT * sizeof(struct soft_mr), &ia->mr_mem);

	if (err)
		return err;
	ia->mr = ia->mr_mem.addr;
	ia->lmrs =
		calloc(SOFT_MR_COUNT, sizeof *ia->lmrs); /* sparse: untouched pages cost nothing */
	ia->mr_gen = calloc(SOFT_MR_COUNT, sizeof *ia->mr_gen);
	ia->mr_free = calloc(SOFT_MR_COUNT, sizeof *ia->mr_free);
	ia->mr_used = 1; /* index 0 stays unused: no context is 0 */
	if (ia->lmrs && ia->mr_gen && ia->mr_free)
		return DATP_OK;
	soft_mr_fini(ia);
	return DATP_ERR_MEMORY;
}

void soft_mr_fini(struct soft_ia *ia)
{
	free(ia->lmrs);
	free(ia->mr_gen);
	free(ia->mr_free);
	ia->lmrs = NULL;
	ia->mr_gen = ia->mr_free = NULL;
}

/* 0: the table is full. */
static uint32_t mr_index_get(struct soft_ia *ia, struct datp_lmr *lmr)
{
	uint32_t index = 0;

	datp_lock(&ia->lock);
	if (ia->mr_free_count > MR_REST || (ia->mr_free_count && ia->mr_used == SOFT_MR_COUNT)) {
		index = ia->mr_free[ia->mr_free_head];
		ia->mr_free_head = (ia->mr_free_head + 1) % SOFT_MR_COUNT;
		ia->mr_free_count--;
	} else if (ia->mr_used < SOFT_MR_COUNT) {
		index = ia->mr_used++;
	}
	if (index)
		ia->lmrs[index] = lmr;
	datp_unlock(&ia->lock);
	return index;
}

static void mr_index_put(struct soft_ia *ia, uint32_t index)
{
	datp_lock(&ia->lock);
	ia->lmrs[index] = NULL;
	ia->mr_free[(ia->mr_free_head + ia->mr_free_count++) % SOFT_MR_COUNT] = index;
	datp_unlock(&ia->lock);
}

static uint32_t mr_next_context(struct soft_ia *ia, uint32_t index)
{
	uint32_t gen = (ia->mr_gen[index] + 1) & MR_GEN_MASK;

	ia->mr_gen[index] = gen;
	return index << SOFT_MR_GEN_BITS | gen;
}

static void mr_publish(struct soft_mr *mr, uint32_t context, uint64_t addr, uint64_t len,
		       uint32_t priv, uint32_t pz)
{
	mr->addr = addr;
	mr->len = len;
	mr->priv = priv;
	mr->pz = pz;
	/* release: who finds the context finds what belongs to it */
	atomic_store_explicit(&mr->context, context, memory_order_release);
}

/* Sequentially consistent: either an engine's holder sees 0, or our look at the engine finds it held. */
static void mr_kill(struct soft_mr *mr)
{
	atomic_store(&mr->context, 0);
}

enum datp_err soft_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	struct soft_ia *ia = soft_ia(lmr->obj.ia);
	uint32_t index = mr_index_get(ia, lmr);

	(void)cookie; /* shared memory is the same bytes in every process that maps it: nothing to look up */
	if (!index)
		return DATP_ERR_REGION;
	lmr->lmr_context = mr_next_context(ia, index);
	lmr->rmr_context = lmr->lmr_context;
	ia->mr[index].window = 0;
	mr_publish(&ia->mr[index], lmr->lmr_context, lmr->addr, lmr->len, lmr->priv,
		   soft_pz_id(lmr->pz));
	return DATP_OK;
}

void soft_lmr_free(struct datp_lmr *lmr)
{
	struct soft_ia *ia = soft_ia(lmr->obj.ia);
	uint32_t index = SOFT_MR_INDEX(lmr->lmr_context);

	mr_kill(&ia->mr[index]);
	soft_mr_quiesce(ia);
	mr_index_put(ia, index);
}

struct datp_lmr *soft_lmr_find(struct datp_ia *base, uint32_t context)
{
	struct soft_ia *ia = soft_ia(base);
	uint32_t index = SOFT_MR_INDEX(context);
	struct datp_lmr *lmr = NULL;

	if (!context || index >= SOFT_MR_COUNT)
		return NULL;
	datp_lock(&ia->lock);
	if (atomic_load_explicit(&ia->mr[index].context, memory_order_relaxed) == context)
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
	ia->mr[rmr->index].window = 1;
	return DATP_OK;
}

void soft_rmr_free(struct datp_rmr *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_rmr *rmr = (struct soft_rmr *)base;

	mr_kill(&ia->mr[rmr->index]);
	soft_mr_quiesce(ia);
	mr_index_put(ia, rmr->index);
}

uint32_t soft_rmr_next_context(struct soft_ia *ia, struct soft_rmr *rmr)
{
	return mr_next_context(ia, rmr->index);
}

void soft_mr_bind(struct soft_mr *table, const struct soft_sqe *e, uint32_t pz)
{
	struct soft_mr *mr = &table[SOFT_MR_INDEX(e->remote.rmr_context)];

	mr_kill(mr);
	if (e->remote.len)
		mr_publish(mr, e->remote.rmr_context, e->remote.addr, e->remote.len, e->bind_priv,
			   pz);
}

/* Sequentially consistent: see mr_kill. */
static bool engine_held(const struct soft_port *port)
{
	return atomic_load(&port->engine) & SOFT_ENGINE_HELD;
}

void soft_mr_quiesce(struct soft_ia *ia)
{
	/*
	 * The IA's lock keeps the endpoints' connections where they are, but is not held while we wait: the peer that
	 * we wait for may have died, and who finds that out needs it. A port's memory stays mapped whatever
	 * becomes of it, and the peer's with the peer, which we hold.
	 */
	datp_lock(&ia->lock);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);
		struct soft_port *port, *rport;
		struct soft_peer *peer;

		if (!ep || !ep->rport || (!engine_held(ep->port) && !engine_held(ep->rport)))
			continue;
		port = ep->port;
		rport = ep->rport;
		peer = ep->peer;
		peer->users++;
		datp_unlock(&ia->lock);
		soft_engine_wait(port, peer, true);
		soft_engine_wait(rport, peer, false);
		soft_peer_put(peer);
		datp_lock(&ia->lock);
	}
	datp_unlock(&ia->lock);
}

/* The live entry of a context, or NULL. */
static const struct soft_mr *mr_find(const struct soft_mr *table, uint32_t context)
{
	uint32_t index = SOFT_MR_INDEX(context);

	if (!context || index >= SOFT_MR_COUNT)
		return NULL;
	/* sequentially consistent: see mr_kill; it also acquires what mr_publish released */
	return atomic_load(&table[index].context) == context ? &table[index] : NULL;
}

static bool mr_holds(const struct soft_mr *mr, uint64_t addr, uint64_t len)
{
	return addr >= mr->addr && len <= mr->len && addr - mr->addr <= mr->len - len;
}

enum datp_err soft_mr_check_iov(const struct soft_mr *table, uint32_t pz,
				const struct datp_sge *iov, int n, bool sink)
{
	for (int i = 0; i < n; i++) {
		const struct soft_mr *mr;

		if (!iov[i].len)
			continue;
		mr = mr_find(table, iov[i].lmr_context);
		if (!mr || mr->window)
			return sink ? DATP_ERR_PRIV_WRITE : DATP_ERR_PRIV_READ;
		if (mr->pz != pz)
			return DATP_ERR_PROTECTION;
		if (!mr_holds(mr, iov[i].addr, iov[i].len))
			return DATP_ERR_ARG3;
		/* reading needs any right at all: programs send from memory registered without LOCAL_READ */
		if (sink ? !(mr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) : !mr->priv)
			return sink ? DATP_ERR_PRIV_WRITE : DATP_ERR_PRIV_READ;
	}
	return DATP_OK;
}

bool soft_mr_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote,
			  uint32_t need)
{
	const struct soft_mr *mr;

	if (!remote->len)
		return true;
	mr = mr_find(table, remote->rmr_context);
	return mr && mr->pz == pz && (mr->priv & need) && mr_holds(mr, remote->addr, remote->len);
}
