/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of the model checker's scenarios: it replaces the functions that the checked files call in the provider's other
 * files, libdatp, and the consumer. Invariant: all memory that changes while a scenario runs is known to the
 * checker (model_watch, model_keep).
 */
#include "tests/soft/model_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "providers/soft/arena.h"
#include "providers/soft/cq.h"
#include "providers/soft/fast.h"
#include "providers/soft/guard.h"
#include "providers/soft/port.h"
#include "providers/soft/polling.h"
#include "providers/soft/recv.h"
#include "providers/soft/request.h"
#include "providers/soft/send.h"
#include "providers/soft/share.h"
#include "providers/soft/srq.h"
#include "providers/soft/xfer.h"

/* The context of the region that contains all segments of world_post_plain(). */
#define REGION (1u << SOFT_MR_GEN_BITS)

struct world world;

/* ------------------------------------------------------------------ the functions that the checked files call */

int model_xfer(struct soft_peer *peer, bool to_peer, bool ordered, struct soft_list *local, struct soft_list *remote,
	       uint64_t len);
int model_copy_range(unsigned char *to, const unsigned char *from, uint64_t len, bool ordered, const struct soft_right *right);
unsigned char *model_share_one(struct soft_peer *peer, const struct datp_rge *buffer, bool write, struct soft_share **used);
void model_share_leave_one(struct soft_share *share);
enum datp_err model_check_list(const struct soft_mr *table, uint32_t pz, const struct datp_sge *iov, int n,
			      bool local_write);
bool model_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote, uint32_t need);
bool model_peer_lost(struct soft_peer *peer);
void model_ep_revoke_locked(struct soft_ep *ep, const struct soft_peer *peer, uint32_t gen);
void model_peer_wake(struct soft_peer *peer);
void model_tick_set(struct soft_ia *ia);
void model_ep_established(struct soft_ep *ep, uint32_t gen);
void model_ep_fail(struct soft_ep *ep);

/* The provider's own functions, under other names, because the model has functions of the same names. */
enum datp_err real_check_list(const struct soft_mr *table, uint32_t pz, const struct datp_sge *iov, int n,
			      bool local_write) __asm__("soft_mr_check_list");
bool real_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote,
		       uint32_t need) __asm__("soft_mr_check_remote");

/* Copies one byte. The checker sees accesses to it before and after a pause, in which other threads may run. */
int model_xfer(struct soft_peer *peer, bool to_peer, bool ordered, struct soft_list *local, struct soft_list *remote,
	       uint64_t len)
{
	struct soft_list *from = to_peer ? local : remote, *to = to_peer ? remote : local;

	(void)ordered;
	if (world.copies) {
		world.copies(local, !to_peer, len);
		if (peer && peer->self) /* the other side's memory is of this process, too */
			world.copies(remote, to_peer, len);
		soft_list_skip(local, len);
		soft_list_skip(remote, len);
		return 0;
	}
	if (world.lost && model_dead(0))
		return ESRCH;
	/* As in guard.c, the check and the copy are one step: a thread that is stopped is stopped before or after both. */
	world.copying++;
	if (remote->right && atomic_load(remote->right->open) != remote->right->gen) {
		world.copying--;
		return ESRCH;
	}
	model_read(from->iov[0].iov_base);
	model_write(to->iov[0].iov_base);
	*(char *)to->iov[0].iov_base = *(char *)from->iov[0].iov_base;
	model_pause();
	model_read(from->iov[0].iov_base);
	model_write(to->iov[0].iov_base);
	world.copying--;
	soft_list_skip(local, len);
	soft_list_skip(remote, len);
	return 0;
}

#ifndef MODEL_SHARES
/* The peer's memory is at the same address here. */
unsigned char *model_share_one(struct soft_peer *peer, const struct datp_rge *buffer, bool write, struct soft_share **used)
{
	(void)peer, (void)write;
	*used = NULL;
	return (unsigned char *)(uintptr_t)buffer->addr;
}

unsigned char *model_share_known(struct soft_peer *peer, const struct datp_rge *buffer, bool write)
{
	(void)peer, (void)write;
	return (unsigned char *)(uintptr_t)buffer->addr;
}

/* All of memory is mapped here. */
void model_share_note(struct soft_ep *ep)
{
	struct soft_near *near = &ep->near;

	near->addr = near->here = 0;
	near->len = UINT64_MAX;
	near->rights = DAT_MEM_PRIV_ALL_FLAG;
	near->mr = &ep->peer->mr[SOFT_MR_INDEX(near->context)];
	near->ends = atomic_load(&ep->peer->share_ends);
}

void model_share_leave_one(struct soft_share *share)
{
	(void)share;
}
#endif

/* These check the right, and do not access the word of the peer. */
bool model_guard_fetch_add(const struct soft_right *right, uint64_t *word, uint64_t *value)
{
	(void)word, (void)value;
	return atomic_load(right->open) == right->gen;
}

bool model_guard_cmp_swap(const struct soft_right *right, uint64_t *word, uint64_t *value, uint64_t swap)
{
	(void)word, (void)value, (void)swap;
	return atomic_load(right->open) == right->gen;
}

/* Only a write is ordered. */
int model_copy_range(unsigned char *to, const unsigned char *from, uint64_t len, bool ordered, const struct soft_right *right)
{
	struct soft_list local, remote;

	int error;

	model_require(!world.gone || (to != world.gone && from != world.gone));
	soft_list_one(&local, (uintptr_t)(ordered ? from : to), len);
	soft_list_one(&remote, (uintptr_t)(ordered ? to : from), len);
	remote.right = right;
	error = model_xfer(NULL, ordered, ordered, &local, &remote, len);
	model_require(error || !world.gone || (to != world.gone && from != world.gone));
	return error;
}

/* Stores one byte of the word, as model_xfer() copies one. */
bool model_guard_word(const _Atomic uint32_t *open, uint32_t gen, uint64_t *to, uint64_t value)
{
	bool valid;

	world.copying++;
	valid = atomic_load(open) == gen;
	if (valid && !world.copies) {
		model_require(!world.gone || to != world.gone);
		model_write(to);
		*(char *)to = (char)value;
		model_pause();
		model_require(!world.gone || to != world.gone);
		model_write(to);
	}
	world.copying--;
	return valid;
}

/* The peer may be stopped for longer than the bound before any step, except the steps of a copy, and goes on later. */
bool model_bound_over(void)
{
	if (!world.stops || world.copying)
		return false;
	model_see_all();
	return true;
}

enum datp_err model_check_list(const struct soft_mr *table, uint32_t pz, const struct datp_sge *iov, int n,
			      bool local_write)
{
	if (world.copies)
		return real_check_list(table, pz, iov, n, local_write);
	return local_write && atomic_load(&world.no_region) ? DATP_ERR_PRIV_WRITE : DATP_OK;
}

bool model_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote, uint32_t need)
{
	return world.copies ? real_check_remote(table, pz, remote, need) : !atomic_load(&world.no_region);
}

/* An access of 8 bytes to this process's memory, which is checked as a copy is. */
uint64_t model_atomic(const struct soft_request *r)
{
	struct soft_list word;

	soft_list_one(&word, r->remote.addr, sizeof(uint64_t));
	if (world.copies)
		world.copies(&word, true, sizeof(uint64_t));
	return r->operand;
}

bool model_peer_lost(struct soft_peer *peer)
{
	(void)peer;
	return world.lost && model_dead(0);
}

void model_ep_established(struct soft_ep *ep, uint32_t gen)
{
	(void)ep, (void)gen;
}

void model_ep_fail(struct soft_ep *ep)
{
	if (world.fails)
		world.fails(ep);
	else
		model_require(world.no_region || !"the connection failed");
}

/* The scenarios in which a peer is stopped end the connection by themselves. */
void model_ep_revoke_locked(struct soft_ep *ep, const struct soft_peer *peer, uint32_t gen)
{
	(void)peer, (void)gen;
	if (world.fails)
		world.fails(ep);
	else
		model_require(world.stops);
}

/* ---- the service thread of b and d, if they have an SRQ: without one it has nothing to do */

enum { JOB_CALL = 1, JOB_SERVE = 2, JOB_OVER = 4 };

static void job_add(uint32_t job)
{
	/* release: what the job needs, such as `call`, has been written before */
	atomic_fetch_or_explicit(&world.shared.jobs, job, memory_order_release);
	model_futex_wake(&world.shared.jobs, true);
}

enum datp_err model_loop_call(void (*fn)(void *arg), void *arg)
{
	world.shared.call = fn;
	world.shared.call_arg = arg;
	job_add(JOB_CALL);
	return DATP_OK;
}

void model_peer_wake(struct soft_peer *peer)
{
	if (world.b.ep.base.srq && peer == world.a.ep.peer)
		job_add(JOB_SERVE);
}

void world_over(void)
{
	job_add(JOB_OVER);
}

/* Does what soft_ia_serve() does: serves a queue only if a sender has requested that, or there is a ready list. */
static void look_at_queue(struct soft_cq *cq)
{
	if (atomic_load_explicit(&cq->ring->service, memory_order_relaxed) ||
	    atomic_load_explicit(&cq->ring->ready_list, memory_order_relaxed))
		soft_cq_drain(cq);
}

void world_serve(void)
{
	for (;;) {
		uint32_t jobs = atomic_load_explicit(&world.shared.jobs, memory_order_acquire);

		if (jobs & (JOB_CALL | JOB_SERVE)) {
			jobs = atomic_fetch_and_explicit(&world.shared.jobs, JOB_OVER, memory_order_acquire);
			if (jobs & JOB_SERVE)
				look_at_queue(&world.b.evd.cq);
			if (jobs & JOB_CALL)
				world.shared.call(world.shared.call_arg);
		} else if (jobs & JOB_OVER) {
			return;
		} else {
			model_futex_wait(&world.shared.jobs, jobs);
		}
	}
}

/* ---- */

/* The words of an SRQ are no atomics, so the checker does not see them. It watches the SRQ's address in place of them. */
void model_srq_take(struct datp_wqe *wqe, struct datp_ep *ep)
{
	model_write(ep->srq);
	(datp_srq_take)(wqe, ep);
}

void model_tick_set(struct soft_ia *ia)
{
	(void)ia;
}

static struct side *side_of(const struct datp_ep *ep)
{
	struct side *const sides[] = { &world.a, &world.b, &world.c, &world.d };
	int i = 0;

	while (ep != &sides[i]->ep.base)
		i++;
	return sides[i];
}

/* Returns the side whose queue gets the completions of this one. */
static struct side *queue_of(struct side *side)
{
	return side == &world.c ? &world.a : side == &world.d ? &world.b : side;
}

/* A receive of the SRQ completes once. */
static void complete_shared(const struct datp_wqe *wqe, struct side *side)
{
	uint32_t n = (uint32_t)(wqe - world.shared.recv);

	model_require(n < POSTS && !(world.shared.done & 1u << n));
	world.shared.done |= 1u << n;
	side->got[side->received++] = n;
}

/* Receives of an endpoint complete in the order in which they were posted. */
static void complete(const struct datp_wqe *wqe, uint8_t status)
{
	struct side *side = side_of(wqe->ep), *queue = queue_of(side);

	datp_lock(&queue->lock);
	queue->status[queue->done++ % (2 * POSTS)] = status;
	if (wqe->op == DATP_RECV) {
		if (side->ep.base.srq)
			complete_shared(wqe, side);
		else
			model_require(wqe->seq == side->received++);
		if (queue == &world.b)
			world.order[world.ordered++ % POSTS] = side;
	}
	datp_unlock(&queue->lock);
}

uint32_t world_completed(struct side *side)
{
	uint32_t done;

	datp_lock(&side->lock);
	done = side->done;
	datp_unlock(&side->lock);
	return done;
}

void model_wqe_done(struct datp_wqe *wqe, uint8_t status, uint64_t len, bool solicited)
{
	struct side *side = queue_of(side_of(wqe->ep));

	(void)solicited;
	if (wqe->op != DATP_RECV && wqe->seq != wqe->ep->sq.finished)
		world.overtakes = true;
	model_require(!world.overtakes);
	datp_wqe_finish(wqe, status, len);
	complete(wqe, status);
	/* as libdatp does for an event that it queues: another thread may be asleep */
	atomic_fetch_add_explicit(&side->evd.cq.ring->bell, 1, memory_order_release);
	model_futex_wake(&side->evd.cq.ring->bell, true);
}

/* The fence behaves as on a kernel that allows membarrier(). */
bool soft_fence_registered = true;

void soft_fence_init(void)
{
}

bool soft_fence_reaches(void)
{
	return true;
}

void soft_fence_everybody(void)
{
	model_fence_everybody();
}

/* ------------------------------------------------------------------ set-up */

static void watch_ring(struct soft_ring *ring)
{
	static const char *const cells[CELLS] = { "cell 0", "cell 1", "cell 2", "cell 3" };
	static const char *const reservations[CELLS] = { "reservation 0", "reservation 1", "reservation 2", "reservation 3" };

	model_watch(&ring->tail, sizeof(ring->tail), "tail");
	model_watch(&ring->taken, sizeof(ring->taken), "taken");
	model_watch(&ring->ready_list, sizeof(ring->ready_list), "ready_list");
	model_watch(&ring->notify, sizeof(ring->notify), "notify");
	model_watch(&ring->bell, sizeof(ring->bell), "bell");
	for (uint32_t i = 0; i <= ring->mask; i++) {
		model_watch(&ring->cell[i].ready, sizeof(ring->cell[i].ready), cells[i]);
		model_watch(&soft_ring_reservations(ring, ring->mask)[i],
			    sizeof(soft_ring_reservations(ring, ring->mask)[i]), reservations[i]);
	}
	model_keep(ring, soft_ring_size(ring->mask + 1));
}

static void evd_open(struct soft_evd *evd, uint32_t cells)
{
	evd->base.obj.ia = &world.ia->base;
	evd->base.has_cq = true;
	REQUIRE(soft_cq_init(&evd->cq, world.ia, &evd->base, 1) == DATP_OK);
	soft_ring_init(evd->cq.ring, cells, 0);
	soft_cq_use(&evd->cq, evd->cq.ring, cells - 1);
	evd->cq.mem.record->mask = cells - 1;
	datp_lock(&world.ia->lock);
	for (uint32_t n = 0; n < 3; n++)
		REQUIRE(soft_cq_tell_locked(&evd->cq, &world.peer[n]));
	datp_unlock(&world.ia->lock);
	watch_ring(evd->cq.ring);
}

/* All of memory, to read and to write. */
static void region_open(void)
{
	struct soft_mr *mr;

	world.ia->mr = calloc(SOFT_MR_INDEX(REGION) + 1, sizeof(*world.ia->mr));
	REQUIRE(world.ia->mr != NULL);
	world.ia->own = world.ia->mr;
	mr = &world.ia->mr[SOFT_MR_INDEX(REGION)];
	atomic_store(&mr->priv, DAT_MEM_PRIV_ALL_FLAG);
	atomic_store(&mr->len, UINT64_MAX);
	atomic_store(&mr->context, REGION);
	atomic_store(&world.pz.longest, UINT64_MAX);
}

static void shared_open(void)
{
	struct shared *shared = &world.shared;

	shared->srq.base.obj.ia = &world.ia->base;
	shared->srq.base.max_recv_dtos = POSTS;
	shared->srq.base.max_recv_iov = 1;
	REQUIRE(soft_srq_create(&shared->srq.base) == DATP_OK);
	model_keep(shared, sizeof(*shared));
	model_keep(shared->srq.ring, POSTS * sizeof(*shared->srq.ring));
	model_watch(&shared->jobs, sizeof(shared->jobs), "jobs");
}

static bool with_srq; /* the next world that is opened has an SRQ */
static uint32_t cells_of_queue = CELLS;

static void world_open(void)
{
	memset(&world, 0, sizeof(world));
	model_reset();
	world.ia = calloc(1, sizeof(*world.ia));
	REQUIRE(world.ia != NULL);
	world.ia->peer_of_sender_id = calloc(SOFT_PORT_MAX, sizeof(*world.ia->peer_of_sender_id));
	world.ia->want_share = SOFT_SHARE_ON;
	REQUIRE(world.ia->peer_of_sender_id != NULL && soft_ports_init(world.ia) == DATP_OK);
	REQUIRE(soft_arena_new(&world.ia->arena) == DATP_OK);
	region_open();
	for (uint32_t n = 0; n < 3; n++) {
		world.peer[n].ia = world.ia;
		world.peer[n].sender_id = n + 1;
		world.peer[n].self = true;
		world.peer[n].mr = world.ia->mr;
		world.peer[n].regions = world.ia->mr;
		world.ia->peer_of_sender_id[n + 1] = &world.peer[n];
	}
	model_keep(&world.next, sizeof(world.next));
	model_keep(&world.taken, sizeof(world.taken));
	if (with_srq)
		shared_open();
}

void world_open_ring(void)
{
	world_open();
	evd_open(&world.b.evd, 1); /* with two cells, so that each cell is used again */
	model_keep(&world.b.evd, sizeof(world.b.evd));
}

void world_open_ring_of_two(void)
{
	world_open();
	evd_open(&world.b.evd, 2);
	model_keep(&world.b.evd, sizeof(world.b.evd));
}

static void side_watch(struct side *side, const char *const name[13])
{
	struct soft_port *port = side->ep.port;

	model_watch(&port->open, sizeof(port->open), name[0]);
	model_watch(&port->rq_posted, sizeof(port->rq_posted), name[1]);
	model_watch(&port->sq_posted, sizeof(port->sq_posted), name[2]);
	model_watch(&port->sq_done, sizeof(port->sq_done), name[3]);
	model_watch(&port->exec_lock, sizeof(port->exec_lock), name[4]);
	model_watch(&port->pieces, sizeof(port->pieces), name[9]);
	model_watch(&port->pieces_failed, sizeof(port->pieces_failed), name[10]);
	model_watch(&port->waits, sizeof(port->waits), name[11]);
	model_watch(&port->announced, sizeof(port->announced), name[12]);
	for (int i = 0; i < 2; i++) {
		model_watch(&port->ready_link[i].next, sizeof(port->ready_link[i].next), name[5 + i]);
		model_watch(&port->ready_link[i].queued, sizeof(port->ready_link[i].queued), name[7 + i]);
	}
	model_keep(port, side->ep.port_mem.size);
	model_keep(side, sizeof(*side));
	model_keep(&world.copying, sizeof(world.copying));
}

static void side_create(struct side *side)
{
	struct datp_ep *ep = &side->ep.base;

	if (world.shared.srq.ring && queue_of(side) == &world.b)
		ep->srq = &world.shared.srq.base;

	if (queue_of(side) == side)
		evd_open(&side->evd, cells_of_queue);
	ep->obj.ia = &world.ia->base;
	atomic_store(&ep->obj.tag, DATP_TAG(DATP_EP));
	atomic_store(&ep->state, DAT_EP_STATE_CONNECTED);
	ep->attr.max_message_size = ep->attr.max_rdma_size = UINT64_MAX;
	ep->attr.max_recv_dtos = ep->attr.max_request_dtos = POSTS;
	ep->attr.max_recv_iov = ep->attr.max_request_iov = 1;
	ep->attr.max_rdma_read_iov = ep->attr.max_rdma_write_iov = 1;
	ep->pz = &world.pz.base;
	ep->recv_evd = ep->request_evd = &queue_of(side)->evd.base;
	ep->rq.ring = side->recv;
	ep->sq.ring = side->request;
	ep->rq.mask = ep->sq.mask = POSTS - 1;
	ep->rq.max = ep->sq.max = POSTS;
	REQUIRE(soft_ep_create(ep) == DATP_OK);
	REQUIRE(soft_posted_alloc(&soft_ep(ep)->requests) == DATP_OK);
	soft_port_begin(&side->ep);
}

/* Connects the endpoint: sets the fields that soft_ep_open() sets. */
static void side_join(struct side *side, struct side *to)
{
	struct soft_ep *ep = &side->ep;

	ep->peer = &world.peer[queue_of(side) == &world.a ? 1 : 0];
	ep->my_sender_id = queue_of(side) == &world.a ? 1 : 2;
	ep->rport = to->ep.port;
	ep->rring = ep->rrequest = queue_of(to)->evd.cq.ring;
	ep->rmask = queue_of(to)->evd.cq.mask;
	ep->rlayout = to->ep.layout;
	ep->rgen = to->ep.gen;
	ep->rindex = to->ep.index;
	ep->open = true;
	atomic_store(&ep->port->open, ep->gen);
	for (int i = 0; i < POSTS; i++)
		side->out[i] = (char)(i + 1);
}

void world_open_pair(void)
{
	static const char *const a[] = { "a.open", "a.rq_posted", "a.sq_posted", "a.sq_done", "a.exec_lock", "a.next r",
					 "a.next s", "a.queued r", "a.queued s", "a.pieces", "a.failed",
					 "a.waits", "a.announced" };
	static const char *const b[] = { "b.open", "b.rq_posted", "b.sq_posted", "b.sq_done", "b.exec_lock", "b.next r",
					 "b.next s", "b.queued r", "b.queued s", "b.pieces", "b.failed",
					 "b.waits", "b.announced" };

	world_open();
	side_create(&world.a);
	side_create(&world.b);
	side_join(&world.a, &world.b);
	side_join(&world.b, &world.a);
	side_watch(&world.a, a);
	side_watch(&world.b, b);
	model_watch(&soft_port_desc(world.b.ep.port, &world.b.ep.layout, 0)->state, 4, "b.desc 0");
	model_watch(&soft_port_desc(world.b.ep.port, &world.b.ep.layout, 1)->state, 4, "b.desc 1");
	model_watch(&soft_port_desc(world.b.ep.port, &world.b.ep.layout, 2)->state, 4, "b.desc 2");
}

void world_open_processes(void)
{
	world_open_pair();
	world.ia->eager_sure = SOFT_INLINE;
	world.ia->eager_limit = WORLD_MIDDLE;
	world.ia->header = calloc(1, sizeof(*world.ia->header));
	REQUIRE(world.ia->header != NULL && soft_slots_init(world.ia) == DATP_OK);
	for (int n = 0; n < 3; n++) {
		world.peer[n].self = false;
		world.peer[n].cma = true;
		world.peer[n].slots = world.ia->slot_mem.addr;
		world.peer[n].slot_count = world.ia->slot_count;
		world.peer[n].slot_size = world.ia->slot_size;
	}
	/* the few messages of a scenario use no more */
	for (uint32_t n = 0; n < 2 * POSTS; n++) {
		struct soft_slot *slot = soft_slot_at(world.ia->slot_mem.addr, world.ia->slot_size, n);

		model_watch(&slot->busy, sizeof(slot->busy), "slot");
		model_keep(slot, sizeof(*slot) + world.ia->slot_size);
	}
	model_keep(&world.ia->slot_next, sizeof(world.ia->slot_next));
	model_keep(&world.ia->slots_active, sizeof(world.ia->slots_active));
}

void world_open_two(void)
{
	static const char *const c[] = { "c.open", "c.rq_posted", "c.sq_posted", "c.sq_done", "c.exec_lock", "c.next r",
					 "c.next s", "c.queued r", "c.queued s", "c.pieces", "c.failed",
					 "c.waits", "c.announced" };
	static const char *const d[] = { "d.open", "d.rq_posted", "d.sq_posted", "d.sq_done", "d.exec_lock", "d.next r",
					 "d.next s", "d.queued r", "d.queued s", "d.pieces", "d.failed",
					 "d.waits", "d.announced" };

	world_open_processes();
	side_create(&world.c);
	side_create(&world.d);
	side_join(&world.c, &world.d);
	side_join(&world.d, &world.c);
	side_watch(&world.c, c);
	side_watch(&world.d, d);
	model_watch(&soft_port_desc(world.d.ep.port, &world.d.ep.layout, 0)->state, 4, "d.desc 0");
	model_keep(world.order, sizeof(world.order));
	model_keep(&world.ordered, sizeof(world.ordered));
}

void world_open_shared(void)
{
	with_srq = true;
	world_open_two();
	with_srq = false;
	model_watch(&world.b.evd.cq.ring->service, sizeof(world.b.evd.cq.ring->service), "service");
}

void world_open_narrow(void (*set_up)(void))
{
	cells_of_queue = 2;
	set_up();
	cells_of_queue = CELLS;
}

void world_close(void)
{
	if (!world.ia)
		return;
	if (world.shared.srq.ring)
		soft_srq_free(&world.shared.srq.base);
	if (world.a.evd.cq.ring)
		soft_cq_fini(&world.a.evd.cq);
	if (world.b.evd.cq.ring)
		soft_cq_fini(&world.b.evd.cq);
	soft_arena_put(world.ia->arena);
	for (uint32_t n = 0; n < 3; n++)
		free(world.peer[n].rings);
	soft_ports_fini(world.ia);
	free(world.ia->mr);
	free(world.ia->peer_of_sender_id);
	free(world.ia->header);
	free(world.ia);
	world.ia = NULL;
}

void world_explore(const struct model_scenario *scenario)
{
	CHECK(model_explore(scenario));
	fprintf(stderr, "# %s: %llu states\n", scenario->name, (unsigned long long)model_states());
	CHECK(model_states() > 100);
}

/* ------------------------------------------------------------------ the consumer */

static void post(struct side *side, bool recv, const struct datp_sge *sge)
{
	struct datp_ep *ep = &side->ep.base;
	struct datp_wq *wq = recv ? &ep->rq : &ep->sq;
	struct datp_wqe *wqe = &wq->ring[wq->posted & wq->mask];

	datp_lock(&ep->lock);
	wqe->ep = ep;
	wqe->seq = wq->posted;
	wqe->op = recv ? DATP_RECV : DATP_SEND;
	wqe->len = sge->len;
	wq->posted++;
	if (recv)
		soft_post_recv(ep, wqe, sge, 1);
	else
		soft_post_send(ep, wqe, sge, 1);
	datp_unlock(&ep->lock);
}

void world_post(struct side *side, bool recv, const char *payload, uint64_t len)
{
	struct datp_sge sge = { .addr = (uintptr_t)payload, .len = len };

	post(side, recv, &sge);
}

void world_post_plain(struct side *side, bool recv, const char *payload, uint64_t len)
{
	struct datp_sge sge = { .lmr_context = REGION, .addr = (uintptr_t)payload, .len = len };
	const DAT_LMR_TRIPLET *triplet = (const DAT_LMR_TRIPLET *)&sge;
	DAT_CONTEXT cookie = { .as_64 = recv ? side->ep.base.rq.posted : side->ep.base.sq.posted };

	if (!(recv ? soft_plain_recv(&side->ep.base, 1, triplet, cookie, 0)
		   : soft_plain_send(&side->ep.base, 1, triplet, cookie, 0)))
		post(side, recv, &sge);
}

bool world_write(struct side *side, const char *from, const char *to, uint64_t len, unsigned int flags)
{
	struct datp_sge sge = { .lmr_context = REGION, .addr = (uintptr_t)from, .len = len };
	struct datp_rge remote = { .rmr_context = REGION, .addr = (uintptr_t)to, .len = len };
	DAT_CONTEXT cookie = { .as_64 = side->ep.base.sq.posted };

	return soft_plain_rdma(&side->ep.base, 1, (const DAT_LMR_TRIPLET *)&sge, cookie, (const DAT_RMR_TRIPLET *)&remote,
			       flags, DATP_RDMA_WRITE);
}

/* Gives each receive an element of its own, as libdatp does. */
void world_post_shared(const char *payload, uint64_t len)
{
	struct datp_sge sge = { .lmr_context = REGION, .addr = (uintptr_t)payload, .len = len };
	struct soft_srq *srq = &world.shared.srq;
	struct datp_wqe *wqe;

	datp_lock(&srq->base.lock);
	model_write(srq);
	wqe = &world.shared.recv[srq->posted];
	wqe->op = DATP_RECV;
	wqe->len = len;
	wqe->seq = srq->posted;
	model_require(soft_srq_post_recv(&srq->base, wqe, &sge, 1) == DATP_OK);
	datp_unlock(&srq->base.lock);
}

static void complete_event(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct side *side = side_of((const struct datp_ep *)dto->ep_handle);

	complete(&side->recv[dto->user_cookie.as_64], (uint8_t)dto->status);
}

void world_poll(struct side *side)
{
	struct datp_evd *evd = &side->evd.base;
	struct datp_completion c;
	DAT_EVENT event;

	datp_lock(&evd->poll_lock);
	if (soft_plain_take(evd, &event, SOFT_API_12))
		complete_event(&event.event_data.dto_completion_event_data);
	else if (soft_evd_poll(evd, &c, 1) > 0)
		complete(c.wqe, c.status);
	datp_unlock(&evd->poll_lock);
}

void world_sleep_until(struct side *side, uint32_t done)
{
	struct soft_cq *cq = &side->evd.cq;

	for (;;) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		world_poll(side);
		if (world_completed(side) >= done)
			return;
		if (!soft_cq_arm(cq, SOFT_NOTIFY_WAITER) && !soft_skip_look(cq))
			model_futex_wait(&cq->ring->bell, seen);
	}
}
