/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for accesses to end. Whoever touches registered memory for a request holds the execution
 * lock of the connection meanwhile. So when a region has died, this waits for the execution locks
 * that are held at that time and whose queue has a request that names the region; everybody else
 * finds the region dead. A peer may hold up a copy that a thread of this process makes with the help of the kernel or of the
 * peer. If the record of that copy (copying.h) says that it copies something else, the thread is not waited for, whatever
 * locks it has. It finds the region dead afterwards. A peer can also write to the execution lock and to its queue, so that it looks
 * as if nobody touched the region. So the threads of this process are looked for by what only this process writes: the EP lock,
 * soft_ep.at_work, and that record. Invariant: a peer is waited for no longer than the bound. When three quarters
 * of that have passed, it loses its right to touch the memory of this process, which it checks before
 * each piece that it copies (guard.c), and its connection ends; the rest is for the piece under way.
 */
#include "quiesce.h"
#include "bound.h"
#include "conn.h"
#include "copying.h"
#include "exec.h"
#include "ia.h"
#include "mr.h"
#include "peer.h"
#include "port.h"
#include "request.h"
#include "providers/common/base/pause.h"
#include <stdlib.h>

#define MR_GEN_MASK ((1u << SOFT_MR_GEN_BITS) - 1)
#define ACCESSES_FEW 16 /* so many accesses are awaited together, even if there is no memory for more */
/*
 * So many requests of a peer are looked at in one walk over its queues, which holds soft_ia.lock; others count as touching the
 * region. A peer can say that it has posted a million over each of its connections.
 */
#define QUIESCE_LOOKS 16384

/* Sequentially consistent: see mr_kill. */
static bool exec_held(const struct soft_port *port)
{
	return atomic_load(&port->exec_lock) & SOFT_EXEC_HELD;
}

/* One direction of a connection, as seen from outside. */
struct queue {
	struct soft_port *port; /* the initiator's */
	const struct soft_layout *layout;
	bool ours; /* the initiator is this side */
	bool binds; /* a bind counts as a request that touches any region */
	uint64_t walk;
};

/* Returns the number of a walk over the queues of all connections that begins now. ia.lock */
static uint64_t walk_begin(struct soft_ia *ia)
{
	return ++ia->walks;
}

/* Returns true if this walk has looked at enough requests of the peer. ia.lock */
static bool walk_is_over(struct soft_peer *peer, uint64_t walk)
{
	/* if a later one has begun, while this one waited, the two share what that may look at */
	if (walk > peer->walk) {
		peer->walk = walk;
		peer->walk_looks = 0;
	}
	return peer->walk_looks++ >= QUIESCE_LOOKS;
}

static bool list_names(const struct datp_sge *sge, uint32_t n, uint32_t context)
{
	for (uint32_t i = 0; i < n; i++)
		if (sge[i].len && sge[i].lmr_context == context)
			return true;
	return false;
}

/* Returns true if a request that names `named` may access the region or window whose context is, or was, `context`. */
static bool context_opens(const struct soft_ia *ia, uint32_t named, uint32_t context)
{
	uint32_t index = SOFT_MR_INDEX(named);
	struct soft_range range;

	if (named == context || (index == SOFT_MR_INDEX(context) && !(context & MR_GEN_MASK)))
		return true;
	/* A window is reached only by its own context, a region also by windows. relaxed: `use` was set when it was made */
	if (atomic_load_explicit(&ia->own[SOFT_MR_INDEX(context)].use, memory_order_relaxed) !=
	    SOFT_MR_REGION)
		return false;
	/* A request that names another region, which is live, cannot access this one. A window can that is, or was, bound to it. */
	if (index < SOFT_MR_COUNT && soft_mr_get(ia->own, named, &range))
		return false;
	return index >= SOFT_MR_COUNT || !soft_mr_get(ia->mr, named, &range) || range.lmr == context;
}

/*
 * Returns true if executing a request of this side touches memory of ours by this context. One that has completed since the caller
 * has looked touches nothing any more; one that has not been posted, whatever the port says, is not known.
 */
static bool own_touches(const struct soft_ia *ia, const struct soft_ep *ep, const struct queue *q, uint32_t seq, uint32_t context)
{
	struct soft_request r;

	if (!soft_request_own(&r, ep, seq))
		return !soft_request_completed(ep, seq);
	if (r.op == DATP_BIND)
		return q->binds;
	return list_names(r.sge, r.n, context) || (r.op == DATP_READ_RMR && context_opens(ia, r.rmr, context));
}

/*
 * The same for a request of the peer. The peer can write the memory that its request lies in. If it forges that, this process waits
 * too little; but a peer that does so could as well copy without an execution lock, which nobody waits for.
 */
static bool their_touches(const struct soft_ia *ia, const struct soft_ep *ep, const struct queue *q, uint32_t seq, uint32_t context)
{
	const struct soft_sqe *e = soft_port_sqe(q->port, q->layout, seq);
	uint8_t op = SOFT_ONCE(e->op);
	struct soft_sink sink;

	if (op == DATP_BIND)
		return q->binds;
	if (op != DATP_SEND && op != DATP_SEND_INVALIDATE)
		return context_opens(ia, SOFT_ONCE(e->remote.rmr_context), context);
	/* with an SRQ this side executes the send; without a posted receive the send waits */
	return soft_receive_own(&sink, ep, SOFT_ONCE(e->msg)) && list_names(sink.sge, sink.n, context);
}

/*
 * Returns true if the holder of the execution lock may touch the region or window of the context, that
 * is if a request that is not done names it. *past is the position behind the last such request, or behind the last one that
 * this walk has not looked at.
 * A request that is posted or begun after this call finds the region dead: the holder takes the
 * execution lock, and whoever posts a request touches that lock, before they look at the region.
 * These operations and the caller's are sequentially consistent.
 */
static bool queue_touches(const struct soft_ia *ia, const struct soft_ep *ep, const struct queue *q,
			  uint32_t context, uint32_t *past)
{
	/* acquire, both: make visible what the initiator has written of the requests */
	uint32_t done = atomic_load_explicit(&q->port->sq_done, memory_order_acquire);
	uint32_t posted = atomic_load_explicit(&q->port->sq_posted, memory_order_acquire);

	*past = posted;
	if (posted - done > q->layout->sq_mask + 1)
		return true;
	for (; *past != done; --*past) {
		/* and so have those before it, however many the port says there are */
		if (q->ours && soft_request_completed(ep, *past - 1))
			return false;
		if (q->ours ? own_touches(ia, ep, q, *past - 1, context) :
			      walk_is_over(ep->peer, q->walk) || their_touches(ia, ep, q, *past - 1, context))
			return true;
	}
	return false;
}

/* An access that is awaited: the holder of an execution lock and the thread of this process that were there when it was noted. */
struct access {
	struct soft_exec_watch watch;
	struct soft_ep *ep;
	struct soft_peer *peer; /* a reference */
	uint32_t gen;		/* of the connection */
	uint32_t past;		/* the requests before this position are awaited */
	bool initiator;
};

/* All accesses to what is being freed. They are noted before the first one is awaited, so that each has the whole bound. */
struct accesses {
	struct access few[ACCESSES_FEW], *many; /* many: all of them, if they are more than that; else NULL */
	unsigned int count, room;
};

static struct access *access_at(struct accesses *all, unsigned int i)
{
	return &(all->many ? all->many : all->few)[i];
}

/* Returns true if there is room for another one, or could be made. */
static bool accesses_room(struct accesses *all)
{
	struct access *more;

	if (all->count < all->room)
		return true;
	more = realloc(all->many, 2 * all->room * sizeof *more);
	if (!more)
		return false;
	if (!all->many)
		memcpy(more, all->few, sizeof all->few);
	all->many = more;
	all->room *= 2;
	return true;
}

/*
 * Waits until each is over, or until that time, which moves for all of them by the time in which this process does not run. Those
 * that are over are removed. No lock.
 */
static void accesses_await(struct accesses *all, const struct soft_freed *freed, bool only_past, uint64_t until)
{
	uint64_t looked = soft_now_ms();
	unsigned int left = 0;

	for (unsigned int i = 0; i < all->count; i++) {
		struct access *a = access_at(all, i);
		const struct soft_exec_for what = { .past = only_past ? &a->past : NULL, .freed = freed,
						    .initiator = a->initiator };

		if (soft_exec_await(&a->watch, a->peer, &what, &until, &looked))
			soft_peer_put(a->peer);
		else
			*access_at(all, left++) = *a;
	}
	all->count = left;
}

/*
 * Waits for all of them. Those that go on at the time `until` lose their right; then the rest of the bound, from then on, is for
 * the pieces that they may be copying: a peer that runs is within one piece of its copy. This is not the end of the bound, because
 * a busy machine may have resumed this thread late, and a peer as well. It is one wait for all: a peer can have as many connections
 * as the program accepts. No lock.
 */
static void accesses_end(struct soft_ia *ia, struct accesses *all, const struct soft_freed *freed, uint64_t until)
{
	accesses_await(all, freed, true, until);
	if (!all->count)
		return;
	datp_lock(&ia->lock);
	for (unsigned int i = 0; i < all->count; i++) {
		const struct access *a = access_at(all, i);

		soft_ep_revoke_locked(a->ep, a->peer, a->gen);
	}
	datp_unlock(&ia->lock);
	accesses_await(all, freed, false, soft_now_ms() + soft_bound_rest(ia));
	for (unsigned int i = 0; i < all->count; i++)
		soft_peer_put(access_at(all, i)->peer);
	all->count = 0;
}

/* Notes an execution lock that is held for the region. ia.lock is held, and is released only if there is no memory. */
static void access_note_locked(struct soft_ia *ia, struct soft_ep *ep, const struct queue *q, const struct soft_freed *freed,
			       uint64_t until, struct accesses *all)
{
	struct access a = { .ep = ep, .peer = ep->peer, .initiator = q->ours };

	if (!exec_held(q->port) || !queue_touches(ia, ep, q, freed->context, &a.past))
		return;
	/* relaxed: the generation and rport do not change while the lock is held */
	a.gen = atomic_load_explicit(&ep->gen, memory_order_relaxed);
	a.peer->users++;
	soft_exec_look(&a.watch, ep, q->port);
	if (!accesses_room(all)) {
		datp_unlock(&ia->lock);
		accesses_end(ia, all, freed, until);
		datp_lock(&ia->lock);
	}
	*access_at(all, all->count++) = a;
}

/*
 * The same for a thread that copies a message under the EP lock. This does not sleep on that lock: its holder may at any time begin
 * a copy that does not end. Returns false if the lock is biased to another thread, for which this has not waited.
 */
static bool quiesce_copies_locked(struct soft_ia *ia, uint32_t index, const struct soft_freed *freed)
{
	struct soft_ep *ep = soft_port_ep(ia, index);
	bool initiator;

	if (datp_bias_mine(&ep->bias))
		return true;
	/* if the connection has ended meanwhile, so have its copies, and the endpoint may have been freed */
	for (unsigned int i = 1; soft_port_ep(ia, index) == ep && ep->rport; i++) {
		/* relaxed: whoever takes the bias from its owner after this sees what our caller has done */
		if (atomic_load_explicit(&ep->bias.owner, memory_order_relaxed))
			return false;
		if (datp_trylock(&ep->base.lock)) {
			datp_unlock(&ep->base.lock);
			return true;
		}
		if (soft_copying_spares(&ep->copying, freed, &initiator))
			return true;
		datp_unlock(&ia->lock);
		pause_briefly(i);
		datp_lock(&ia->lock);
	}
	return true;
}

/*
 * Waits until the bias owner has left its section, or copies something else. ia.lock is not held, because the owner may take it
 * inside its section.
 */
static void quiesce_owner(struct soft_ep *ep, const struct soft_freed *freed)
{
	bool initiator;

	for (unsigned int i = 1; datp_bias_inside(&ep->bias) && !soft_copying_spares(&ep->copying, freed, &initiator); i++)
		pause_briefly(i);
}

/* Waits for all bias owners that are inside, with one fence for all. */
static void quiesce_biased_locked(struct soft_ia *ia, const struct soft_freed *freed)
{
	datp_bias_fence();
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);

		if (!ep || !datp_bias_inside(&ep->bias))
			continue;
		datp_unlock(&ia->lock);
		quiesce_owner(ep, freed);
		datp_lock(&ia->lock);
	}
}

/* ---- threads of this process, by what no peer can write ---- */

/* The other end of a connection between two adapters of this process: its threads access memory of this one under its locks. */
struct other_end {
	const struct soft_arena *arena;
	uint32_t index;
};

/* Returns true if the endpoint has such a connection. ia.lock */
static bool has_other_end(const struct soft_ia *ia, const struct soft_ep *ep, struct other_end *end)
{
	if (!ep || !ep->rport || !ep->peer->self || ep->peer->arena == ia->arena)
		return false;
	*end = (struct other_end){ ep->peer->arena, ep->rindex };
	return true;
}

/* Returns false if no endpoint from *index on has one; else *index is behind that, and *ep its other end, or NULL. No lock. */
static bool next_other_end(struct soft_ia *ia, uint32_t *index, const struct soft_ep **ep)
{
	struct other_end end = { 0 };
	bool found = false;

	datp_lock(&ia->lock);
	while (*index < ia->port_next && !found)
		found = has_other_end(ia, soft_port_ep(ia, (*index)++), &end);
	datp_unlock(&ia->lock);
	*ep = found ? soft_ia_ep_of(end.arena, end.index) : NULL;
	return found;
}

/*
 * Returns true if no thread of this process that works for the endpoint touches what was made invalid before the mark `since`.
 * `freed`: NULL if the record of what it copies does not name that. What is under way at the mark is waited for once, however often
 * the thread begins anew.
 */
static bool own_is_quiet(const struct soft_ep *ep, const struct soft_freed *freed, uint32_t since)
{
	/* acquire: if this access began after the mark, the one before it has ended */
	uint32_t mark = __atomic_load_n(&ep->work_mark, __ATOMIC_ACQUIRE);
	bool initiator;

	/* sequentially consistent, and after a load of the execution lock: see soft_work_begin_with_lock() */
	return (int32_t)(mark - since) >= 0 || !(__atomic_load_n(&ep->at_work, __ATOMIC_SEQ_CST) & 1) ||
	       (freed && soft_copying_spares(&ep->copying, freed, &initiator));
}

void soft_other_look(struct soft_other_work *other, struct soft_ia *ia, const struct soft_ep *ep)
{
	struct other_end end = { 0 };
	bool has;

	datp_lock(&ia->lock);
	has = has_other_end(ia, ep, &end);
	datp_unlock(&ia->lock);
	other->ep = has ? soft_ia_ep_of(end.arena, end.index) : NULL;
	other->since = other->ep ? soft_work_mark() : 0;
	if (other->ep)
		datp_bias_fence(); /* see soft_work_begin_with_lock() */
}

bool soft_other_has_ended(const struct soft_other_work *other)
{
	return !other->ep || own_is_quiet(other->ep, NULL, other->since);
}

/* Waits for threads that work for other adapters of this process on what is being freed, without a bound. No lock. */
static void quiesce_other_adapters(struct soft_ia *ia)
{
	const struct soft_ep *ep;
	uint32_t index = 0, since = 0;

	while (next_other_end(ia, &index, &ep)) {
		if (!since) {
			since = soft_work_mark();
			datp_bias_fence(); /* see soft_work_begin_with_lock() */
		}
		for (unsigned int n = 1; ep && !own_is_quiet(ep, NULL, since); n++)
			pause_briefly(n);
	}
}

/* Waits for threads that execute requests for this adapter, each once, without a bound. No lock. */
static void quiesce_works(struct soft_ia *ia, const struct soft_freed *freed)
{
	uint32_t since = soft_work_mark();
	const struct soft_ep *ep;

	datp_bias_fence(); /* see soft_work_begin_with_lock() */
	datp_lock(&ia->lock);
	for (uint32_t i = 0; i < ia->port_next; i++)
		/* if the connection has ended meanwhile, so have its accesses */
		for (unsigned int n = 1; (ep = soft_port_ep(ia, i)) && ep->rport &&
					 !own_is_quiet(ep, ep->peer->self ? NULL : freed, since); n++) {
			datp_unlock(&ia->lock);
			pause_briefly(n);
			datp_lock(&ia->lock);
		}
	datp_unlock(&ia->lock);
}

/* own_is_quiet() for threads that work for other adapters of this process. No lock of an adapter. */
static bool other_adapters_are_quiet(struct soft_ia *ia, uint32_t since)
{
	const struct soft_ep *ep;
	uint32_t index = 0;

	while (next_other_end(ia, &index, &ep))
		if (ep && !own_is_quiet(ep, NULL, since))
			return false;
	return true;
}

/* ---- all of it ---- */

/* Waits for the execution locks that are held now for what is being freed. No lock. */
static void quiesce_execs(struct soft_ia *ia, const struct soft_freed *freed)
{
	uint64_t until = soft_bound(ia) - soft_bound_rest(ia), walk;
	struct accesses all = { .room = ACCESSES_FEW };

	datp_lock(&ia->lock);
	walk = walk_begin(ia);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);
		struct queue ours, theirs;

		if (!ep || !ep->rport)
			continue;
		ours = (struct queue){ ep->port, &ep->layout, true, true, walk };
		theirs = (struct queue){ ep->rport, &ep->rlayout, false, true, walk };
		access_note_locked(ia, ep, &ours, freed, until, &all);
		if (ep->rport == theirs.port) /* else the connection has ended meanwhile */
			access_note_locked(ia, ep, &theirs, freed, until, &all);
	}
	datp_unlock(&ia->lock);
	accesses_end(ia, &all, freed, until);
	free(all.many);
}

/* Returns what is being freed. The entry of the table keeps its bounds until the index is given to another region. */
static struct soft_freed freed_of(const struct soft_ia *ia, uint32_t context)
{
	const struct soft_mr *own = &ia->own[SOFT_MR_INDEX(context)];
	struct soft_freed freed = { .context = context };

	/* relaxed, all: written when it was registered */
	if (atomic_load_explicit(&own->use, memory_order_relaxed) != SOFT_MR_REGION)
		return freed;
	freed.addr = atomic_load_explicit(&own->addr, memory_order_relaxed);
	freed.len = atomic_load_explicit(&own->len, memory_order_relaxed);
	return freed;
}

void soft_mr_quiesce(struct soft_ia *ia, uint32_t context, bool receives)
{
	/*
	 * The IA's lock keeps the endpoints' connections as they are. This does not hold it while
	 * it waits, because the peer may have died, and whoever finds that out needs the lock.
	 * Meanwhile a port's memory stays mapped, and the peer's memory stays while we hold a
	 * reference; endpoints are type-stable.
	 */
	const struct soft_freed freed = freed_of(ia, context);
	bool biased = false;

	/* a thread that takes a lock which is found free below sees what the caller did; see also soft_copying_end() */
	soft_fence();
	quiesce_other_adapters(ia); /* first: what the execution locks say of these is awaited for a bound only */
	quiesce_execs(ia, &freed);
	if (!receives) {
		quiesce_works(ia, &freed);
		return;
	}
	datp_lock(&ia->lock);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		const struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);

		if (ep && ep->rport && !quiesce_copies_locked(ia, i, &freed))
			biased = true;
	}
	if (biased)
		quiesce_biased_locked(ia, &freed);
	datp_unlock(&ia->lock);
}

/*
 * Returns true if nobody touches the context under this execution lock. If somebody may and it is
 * `late`, breaks the connection. *here becomes true if that may be a thread of this process. ia.lock held.
 */
static bool exec_quiet_locked(struct soft_ia *ia, struct soft_ep *ep, const struct queue *q, uint32_t context,
			      bool late, bool *here)
{
	uint32_t past;

	if (!exec_held(q->port) || !queue_touches(ia, ep, q, context, &past))
		return true;
	if (late)
		soft_ep_revoke_locked(ep, ep->peer,
				      atomic_load_explicit(&ep->gen, memory_order_relaxed));
	/* sequentially consistent: after the load of the lock that was found held, see soft_work_begin_with_lock() */
	if (__atomic_load_n(&ep->at_work, __ATOMIC_SEQ_CST) & 1)
		*here = true;
	return false;
}

/*
 * Returns true if no access through a window is under way. The context is that of the window. Checks all connections but that of
 * `ended`, an endpoint whose connection is over, or NULL. `self` is the endpoint whose lock the caller has, so no other thread
 * works for that.
 * `over`: an endpoint whose peer is past its last request that may touch the context, or NULL. Binds do not count, because they
 * access no memory through a window. If they did, a connection would be broken for a bind of another window that waits behind
 * a long transfer; and two sides that execute messages that invalidate windows, to each other's SRQs, would each find the other
 * one's execution lock held with a bind behind the message, and put off both receives.
 */
static bool mr_quiet(const struct soft_ep *self, uint32_t context, uint32_t since, bool late, const struct soft_ep *over,
		     const struct soft_ep *ended, bool *here)
{
	struct soft_ia *ia = soft_ia(self->base.obj.ia);
	bool quiet = SOFT_MR_INDEX(context) < SOFT_MR_COUNT, others = false;
	struct soft_freed freed;
	struct other_end end = { 0 };
	uint64_t walk;

	if (!quiet) /* a peer has made up the context */
		return true;
	freed = freed_of(ia, context);
	soft_fence(); /* as above */
	datp_lock(&ia->lock);
	walk = walk_begin(ia);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);
		struct queue ours, theirs;

		if (!ep || !ep->rport || ep == ended)
			continue;
		ours = (struct queue){ ep->port, &ep->layout, true, false, walk };
		theirs = (struct queue){ ep->rport, &ep->rlayout, false, false, walk };
		quiet = exec_quiet_locked(ia, ep, &ours, context, late, here) && quiet;
		quiet = (ep == over || exec_quiet_locked(ia, ep, &theirs, context, late, here)) && quiet;
		others = others || has_other_end(ia, ep, &end);
		if (ep != self && !own_is_quiet(ep, ep->peer->self ? NULL : &freed, since)) {
			*here = true;
			quiet = false;
		}
	}
	datp_unlock(&ia->lock);
	if (quiet && others && !other_adapters_are_quiet(ia, since)) {
		*here = true;
		quiet = false;
	}
	return quiet;
}

bool soft_mr_quiet(struct soft_ep *ep, uint32_t context, uint32_t since, bool late, bool *here)
{
	return mr_quiet(ep, context, since, late, NULL, ep->open ? NULL : ep, here);
}

bool soft_mr_quiet_invalidated(struct soft_ep *ep, uint32_t context, uint32_t since, bool late, bool *here)
{
	return mr_quiet(ep, context, since, late, ep, NULL, here);
}
