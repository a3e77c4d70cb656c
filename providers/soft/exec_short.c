/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executor of a short request: one RDMA read or write between a segment and memory of the peer that is mapped here,
 * within its post. It takes the execution lock, checks, copies and releases as exec.c does and in the same order, without
 * what only other requests need. Invariant: such a request is in the queue while it is executed, because a thread that
 * frees a region finds there whether the holder of the execution lock may touch that region (quiesce.c). So exec.c can
 * execute it instead, and does if anything is unusual, with or without the execution lock.
 */
#include "exec_short.h"
#include "exec.h"
#include "mr.h"
#include "recv.h"
#include "xfer.h"

/*
 * Takes the execution lock if nobody holds it, and no helper of an earlier copy (coop.c) has yet to reset its flag. *word
 * becomes what it was.
 */
static bool lock_take(struct soft_port *port, uint32_t gen, uint64_t *word)
{
	*word = atomic_load_explicit(&port->exec_lock, memory_order_relaxed);
	/* sequentially consistent: as in exec_try() */
	return SOFT_EXEC_GEN(*word) == gen && !(*word & (SOFT_EXEC_HELD | SOFT_EXEC_HELPED)) &&
	       atomic_compare_exchange_strong(&port->exec_lock, word, *word | SOFT_EXEC_HELD);
}

/*
 * Releases it. This is a store, which may overwrite what the other side has written since: that can only be AGAIN, and another
 * round would find the queue empty, because requests are added under the EP lock. HELPED is written only while a copy has
 * pieces left, and the generation is changed by a thread that has waited for this one.
 */
static void lock_release(struct soft_port *port, uint32_t gen, uint64_t word)
{
	/* release: comes after all accesses to the peer's memory. No other thread releases what this thread holds */
	atomic_store_explicit(&port->exec_lock, SOFT_EXEC_NEXT(word, gen), memory_order_release);
}

/* Returns true if the request at `seq` is the next one, and the connection is open on both sides. Execution lock held. */
static bool may_execute(const struct soft_ep *ep, uint32_t gen, uint32_t seq)
{
	/* relaxed, the first two: written under the execution lock. The others are sequentially consistent, as in dir_open() */
	return atomic_load_explicit(&ep->port->sq_done, memory_order_relaxed) == seq &&
	       !atomic_load_explicit(&ep->port->failed, memory_order_relaxed) &&
	       atomic_load(&ep->port->open) == gen && atomic_load(&ep->rport->open) == ep->rgen &&
	       /* acquire: the flag is set before the pid can belong to another process */
	       !atomic_load_explicit(&ep->peer->dead, memory_order_acquire);
}

/*
 * Returns true if the segment, which this post has checked, is still registered. Its region has not changed if its
 * context is valid.
 */
static bool local_lives(const struct soft_ep *ep, const struct datp_sge *local)
{
	const struct soft_mr *own = soft_ia(ep->base.obj.ia)->own;

	/* sequentially consistent: see mr_kill() */
	return atomic_load(&own[SOFT_MR_INDEX(local->lmr_context)].context) == local->lmr_context;
}

/* Checks both ranges, and copies. Returns false if exec.c has to execute the request. Execution lock held. */
static bool execute(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *local, const struct datp_rge *remote)
{
	const struct soft_right right = { .open = &ep->rport->open, .gen = ep->rgen };
	struct datp_rge target = { remote->rmr_context, 0, remote->addr, wqe->len };
	bool write = wqe->op == DATP_RDMA_WRITE;
	unsigned char *here = (unsigned char *)(uintptr_t)local->addr, *there;
	int error;

	if (!local_lives(ep, local) ||
	    !soft_mr_check_remote(ep->peer->mr, SOFT_ONCE(ep->rport->pz), &target,
				  write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG))
		return false;
	/* what has to be mapped first is for exec.c */
	there = soft_share_known(ep->peer, &target, write);
	if (!there)
		return false;
	ep->near_context = remote->rmr_context;
	ep->near = (uintptr_t)there - remote->addr;
	error = write ? soft_copy_range(there, here, wqe->len, true, &right) :
			soft_copy_range(here, there, wqe->len, false, &right);
	return !error;
}

/*
 * Executes the request at `seq`, the only one in the queue. Returns true if it has succeeded. Otherwise returns
 * false, and exec.c has taken the request over.
 */
static bool run(struct soft_ep *ep, const struct datp_wqe *wqe, uint32_t seq, const struct datp_sge *local,
		const struct datp_rge *remote)
{
	/* relaxed: written under the EP lock */
	uint32_t gen = atomic_load_explicit(&ep->gen, memory_order_relaxed);
	struct soft_port *port = ep->port;
	uint64_t word;
	bool done;

	soft_work_begin_with_lock(ep);
	if (!lock_take(port, gen, &word)) {
		soft_work_end(ep);
		soft_exec_run(ep, true);
		return false;
	}
	done = may_execute(ep, gen, seq) && execute(ep, wqe, local, remote);
	if (done) {
		ep->executed = seq + 1;
		/* release: a thread that waits for accesses to end takes the request for done */
		atomic_store_explicit(&port->sq_done, seq + 1, memory_order_release);
	}
	if (done)
		lock_release(port, gen, word);
	else
		soft_exec_go_on(ep);
	soft_work_end(ep);
	return done;
}

void soft_short_rdma(struct soft_ep *ep, struct datp_wqe *wqe, const struct datp_sge *local, const struct datp_rge *remote)
{
	/* relaxed: written under the EP lock */
	uint32_t posted = atomic_load_explicit(&ep->port->sq_posted, memory_order_relaxed);
	struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, posted);

	e->op = wqe->op;
	e->solicited = e->has_place = 0;
	e->n = 1;
	e->len = wqe->len;
	e->remote = *remote;
	e->sge[0] = *local;
	/* release: publishes the request; the executor acquires it */
	atomic_store_explicit(&ep->port->sq_posted, posted + 1, memory_order_release);
	if (!run(ep, wqe, posted, local, remote)) {
		soft_sq_reap(ep);
		return;
	}
	ep->sq_reaped++;
	soft_request_done(ep, wqe, wqe->len);
}
