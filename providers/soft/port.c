/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports. An endpoint has one from its creation, so that receives can be posted before there is a
 * connection; it is known to peers by index and generation, and every connection attempt gets a
 * generation of its own, so that what was meant for an earlier one is recognised and dropped.
 */
#include "port.h"
#include "arena.h"
#include "conn.h"
#include "cq.h"
#include "established.h"
#include "recv.h"
#include "request.h"
#include "send.h"
#include "sparse.h"
#include "srq.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT_REST 1024u /* see index_pool.h */

enum datp_err soft_ports_init(struct soft_ia *ia)
{
	ia->ports = soft_sparse_new(SOFT_PORT_MAX, sizeof *ia->ports);
	if (soft_index_pool_init(&ia->port_pool, SOFT_PORT_MAX, PORT_REST) && ia->ports)
		return DATP_OK;
	soft_ports_fini(ia);
	return DATP_ERR_MEMORY;
}

void soft_ports_fini(struct soft_ia *ia)
{
	soft_sparse_free(ia->ports, SOFT_PORT_MAX, sizeof *ia->ports);
	soft_index_pool_fini(&ia->port_pool);
	ia->ports = NULL;
}

static uint32_t pow2(int32_t n)
{
	uint32_t size = 1;

	while (size < (uint32_t)n)
		size <<= 1;
	return size;
}

static uint32_t max3(int32_t a, int32_t b, int32_t c)
{
	int32_t m = a > b ? a : b;

	return (uint32_t)(m > c ? m : c);
}

/* Allocates memory for a port with these attributes, and lays out its queues. */
static enum datp_err port_alloc(struct soft_ia *ia, const struct datp_ep *ep, struct soft_mem *mem,
				struct soft_layout *layout)
{
	uint32_t rq = ep->srq ? 1 : pow2(ep->attr.max_recv_dtos);
	uint32_t sq = pow2(ep->attr.max_request_dtos);
	uint32_t rq_stride =
		(uint32_t)(sizeof(struct soft_desc) +
			   (ep->srq ? 0 : (size_t)ep->attr.max_recv_iov * sizeof(struct datp_sge)));
	uint32_t sq_stride = (uint32_t)(sizeof(struct soft_sqe) +
					max3(ep->attr.max_request_iov, ep->attr.max_rdma_read_iov,
					     ep->attr.max_rdma_write_iov) *
						sizeof(struct datp_sge));
	uint64_t rq_bytes = (uint64_t)rq * rq_stride;
	struct soft_port *port;
	enum datp_err err = soft_arena_alloc(
		ia, SOFT_KIND_PORT, sizeof *port + rq_bytes + (uint64_t)sq * sq_stride, mem);

	if (err)
		return err;
	port = mem->addr;
	*layout = (struct soft_layout){ .rq_mask = rq - 1,
					.rq_stride = rq_stride,
					.sq_mask = sq - 1,
					.sq_stride = sq_stride,
					.rq_offset = sizeof *port,
					.sq_offset = sizeof *port + rq_bytes,
					.srq = ep->srq != NULL };
	port->pz = soft_pz_id(ep->pz);
	atomic_store_explicit(&port->open, 0, memory_order_relaxed);
	/* the memory may hold the receives of an endpoint that has been freed */
	atomic_store_explicit(&port->rq_posted, 0, memory_order_relaxed);
	return DATP_OK;
}

/* Makes the private lists of an endpoint whose port has this layout. Returns DATP_ERR_MEMORY if there is no memory. */
static enum datp_err lists_make(const struct datp_ep *ep, const struct soft_layout *layout, struct soft_posted_ring *receives,
				struct soft_posted_ring *requests)
{
	uint32_t most = (uint32_t)((layout->sq_stride - sizeof(struct soft_sqe)) / sizeof(struct datp_sge));

	soft_posted_init(requests, layout->sq_mask + 1, most);
	soft_posted_init(receives, layout->rq_mask + 1, ep->srq ? SOFT_MAX_IOV : (uint32_t)ep->attr.max_recv_iov);
	return soft_posted_alloc(receives);
}

/* Frees the lists, whether or not lists_make() has succeeded. */
static void lists_free(struct soft_posted_ring *receives, struct soft_posted_ring *requests)
{
	soft_posted_fini(receives);
	soft_posted_fini(requests);
}

static enum datp_err port_index_new(struct soft_ia *ia, struct soft_ep *ep)
{
	bool found;

	datp_lock(&ia->lock);
	found = soft_index_take(&ia->port_pool, &ia->port_next, &ep->index);
	if (found) /* release: see soft_port_ep */
		atomic_store_explicit(&ia->ports[ep->index], ep, memory_order_release);
	datp_unlock(&ia->lock);
	return found ? DATP_OK : DATP_ERR_TEP;
}

static void port_index_free(struct soft_ia *ia, uint32_t index)
{
	datp_lock(&ia->lock);
	atomic_store_explicit(&ia->ports[index], NULL, memory_order_relaxed);
	soft_index_give(&ia->port_pool, index);
	datp_unlock(&ia->lock);
}

void soft_port_begin(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_port *port = ep->port;
	uint64_t word;

	do /* relaxed: a number that no other connection of this IA has */
		ep->gen = atomic_fetch_add_explicit(&ia->next_gen, 1, memory_order_relaxed);
	while (!ep->gen);
	ep->layout.rq_base = ep->base.rq.finished;
	/*
	 * If a peer of an earlier connection holds the execution lock at this moment, this takes it
	 * away: the peer finds that connection closed, and touches nothing. What it writes to the
	 * word meanwhile does not matter, because no other word has this generation. release:
	 * comes after our use of the port so far; whoever takes the execution lock acquires it.
	 */
	word = atomic_load_explicit(&port->exec_lock, memory_order_relaxed);
	(void)atomic_exchange_explicit(&port->exec_lock, SOFT_EXEC_NEXT(word, ep->gen),
				       memory_order_acq_rel);
	/* relaxed: the peer learns of the port by a message that is sent after this */
	atomic_store_explicit(&port->rtu_gen, 0, memory_order_relaxed);
	atomic_store_explicit(&port->delivered, 0, memory_order_relaxed);
	atomic_store_explicit(&port->sq_posted, 0, memory_order_relaxed);
	atomic_store_explicit(&port->sq_done, 0, memory_order_relaxed);
	atomic_store_explicit(&port->waits, 0, memory_order_relaxed);
	atomic_store_explicit(&port->failed, 0, memory_order_relaxed);
	atomic_store_explicit(&port->want_wake, 0, memory_order_relaxed);
	atomic_store_explicit(&port->pieces, 0, memory_order_relaxed);
	atomic_store_explicit(&port->announced, 0, memory_order_relaxed);
	for (int side = 0; side < 2; side++)
		atomic_store_explicit(&port->ready_link[side].queued, 0, memory_order_relaxed);
	ep->last_unread = NULL;
	ep->next_cell = NULL;
	ep->msg = ep->credit = ep->in_msg = ep->announced = ep->executed = ep->places = 0;
	/* relaxed: see soft_posted_put() */
	__atomic_store_n(&ep->sq_reaped, 0, __ATOMIC_RELAXED);
	ep->credits = soft_ia(ep->base.obj.ia)->strict ? 0 : SOFT_CREDITS;
	ep->rnr_until = ep->unready_until = ep->suppressed = 0;
	ep->moved = 0;
	ep->failing = ep->draining_done = ep->deferred = ep->place_expired = ep->rest[0] = ep->rest[1] = false;
	/* relaxed: the service thread reads it without the lock as a hint */
	__atomic_store_n(&ep->draining, false, __ATOMIC_RELAXED);
	/* relaxed: a hint; but a strict adapter checks every request, which the short way does not (strict.h) */
	atomic_store_explicit(&ep->maps, !ia->strict, memory_order_relaxed);
	ep->near = (struct soft_near){ 0 };
	ep->silent = 0;
}

enum datp_err soft_ep_create(struct datp_ep *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_ep *ep = soft_ep(base);
	enum datp_err err = port_alloc(ia, base, &ep->port_mem, &ep->layout);

	if (err)
		return err;
	err = lists_make(base, &ep->layout, &ep->receives, &ep->requests);
	if (err) {
		soft_arena_free(ia, &ep->port_mem);
		return err;
	}
	datp_bias_init(&ep->bias);
	ep->port = ep->port_mem.addr;
	ep->unexpected_tail = &ep->unexpected;
	ep->soft_mark = ep->hard_mark = -1;
	base->local_port =
		(uint64_t)atomic_fetch_add_explicit(&ia->next_qual, 1, memory_order_relaxed) << 32 |
		(uint32_t)getpid();
	err = port_index_new(ia, ep);
	if (err) {
		lists_free(&ep->receives, &ep->requests);
		soft_arena_free(ia, &ep->port_mem);
	}
	return err;
}

/*
 * Copies the posted receives to another port and its private lists. Returns DATP_ERR_STATE if one has more segments than the
 * endpoint may have there.
 */
static enum datp_err receives_move(const struct soft_ep *ep, uint32_t most, struct soft_port *port,
				   const struct soft_layout *layout, const struct soft_posted_ring *receives)
{
	const struct datp_wq *rq = &ep->base.rq;

	for (uint32_t seq = rq->finished; !ep->base.srq && seq != rq->posted; seq++) {
		const struct soft_posted *from = soft_posted_at(&ep->receives, seq);

		if (from->n > most)
			return DATP_ERR_STATE;
		soft_posted_put(soft_posted_at(receives, seq), from->tag, from->sge, from->n);
		soft_desc_fill(soft_port_desc(port, layout, seq), from->sge, from->n);
	}
	atomic_store_explicit(&port->rq_posted, rq->posted, memory_order_relaxed);
	return DATP_OK;
}

/*
 * New queue sizes need a new port; posted receives are moved. There is no connection, so nobody
 * else sees it.
 */
enum datp_err soft_ep_modify(struct datp_ep *base, const struct datp_ep *next)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_ep *ep = soft_ep(base);
	struct soft_posted_ring receives, requests;
	struct soft_layout layout;
	struct soft_mem mem;
	enum datp_err err = port_alloc(ia, next, &mem, &layout);

	if (err)
		return err;
	err = lists_make(next, &layout, &receives, &requests);
	if (!err)
		err = receives_move(ep, (uint32_t)next->attr.max_recv_iov, mem.addr, &layout, &receives);
	if (err) {
		lists_free(&receives, &requests);
		soft_arena_free(ia, &mem);
		return err;
	}
	soft_arena_free(ia, &ep->port_mem);
	lists_free(&ep->receives, &ep->requests);
	ep->port_mem = mem;
	ep->port = mem.addr;
	ep->layout = layout;
	ep->receives = receives;
	ep->requests = requests;
	return DATP_OK;
}

/* Memory that was left to a peer. */
struct soft_retired {
	struct soft_retired *next;
	struct soft_mem mem;
};

void soft_mem_leave_locked(struct soft_peer *peer, const struct soft_mem *mem)
{
	struct soft_retired *old = malloc(sizeof *old);

	if (!old) /* then nobody uses the piece again as long as the arena exists */
		return;
	*old = (struct soft_retired){ peer->retired, *mem };
	peer->retired = old;
}

void soft_port_leave(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_layout layout;
	struct soft_mem mem;

	if (port_alloc(ia, &ep->base, &mem, &layout)) {
		datp_log(1, "soft: no memory to take an endpoint away from process %d, which may "
			    "disturb its next connection when that process continues",
			 (int)ep->peer->process.pid);
		return;
	}
	atomic_store_explicit(&((struct soft_port *)mem.addr)->rq_posted, ep->base.rq.posted,
			      memory_order_relaxed);
	datp_lock(&ep->base.lock);
	datp_lock(&ia->lock);
	soft_mem_leave_locked(ep->peer, &ep->port_mem);
	ep->port_mem = mem;
	ep->port = mem.addr;
	ep->layout = layout;
	datp_unlock(&ia->lock);
	datp_unlock(&ep->base.lock);
}

void soft_ports_reclaim(struct soft_peer *peer)
{
	while (peer->retired) {
		struct soft_retired *old = peer->retired;

		peer->retired = old->next;
		/*
		 * acquire: all that the peer has written. If it is not dead it may still write
		 * there, so nobody uses the piece again
		 */
		if (atomic_load_explicit(&peer->dead, memory_order_acquire))
			soft_arena_free(peer->ia, &old->mem);
		free(old);
	}
}

enum datp_err soft_ep_reset(struct datp_ep *base)
{
	/* mostly this does nothing; soft_port_begin() does the rest at the next connection attempt */
	soft_ep_abandon(soft_ep(base));
	return DATP_OK;
}

void soft_ep_free(struct datp_ep *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_ep *ep = soft_ep(base);

	soft_ep_abandon(ep);
	if (base->srq) {
		datp_lock(&base->lock);
		soft_srq_forget(ep);
		datp_unlock(&base->lock);
	}
	port_index_free(ia, ep->index);
	/* a poll that found the endpoint by its index has finished when this call has had the lock */
	soft_ep_unpoll(ep);
	/* the thread that has reported the connection may have to end its count yet */
	soft_ep_await_report(ep);
	datp_bias_fini(&ep->bias, &base->lock);
	soft_arena_free(ia, &ep->port_mem);
	lists_free(&ep->receives, &ep->requests);
	free(ep->end_msg);
}
