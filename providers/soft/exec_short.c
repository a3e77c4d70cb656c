/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executor of a short request: one RDMA read or write between a segment and memory of the peer that is mapped here,
 * within its post. It takes the execution lock, checks the peer's side, copies and releases as exec.c does and in the same order,
 * without what only other requests need. The post has checked the segment. Invariant: such a request is in the queue while it is
 * executed, because a thread that frees a region finds there whether the holder of the execution lock may touch that region
 * (quiesce.c). So exec.c can execute it instead, and does if anything is unusual, with or without the execution lock.
 *
 * This also notes the region that is used most, to which exec_short.h has a shorter way.
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
 * Releases it, and returns the word that this leaves. This is a store, which may overwrite what the other side has written
 * since: that can only be AGAIN, and another round would find the queue empty, because requests are added under the EP lock.
 * HELPED is written only while a copy has pieces left, and the generation is changed by a thread that has waited for this one.
 */
static uint64_t lock_release(struct soft_port *port, uint32_t gen, uint64_t word)
{
	word = SOFT_EXEC_NEXT(word, gen);
	/* release: comes after all accesses to the peer's memory. No other thread releases what this thread holds */
	atomic_store_explicit(&port->exec_lock, word, memory_order_release);
	return word;
}

/* Returns true if the request at `seq` is the next one, and the connection is open on both sides. Execution lock held. */
static bool may_execute(const struct soft_ep *ep, uint32_t gen, uint32_t seq)
{
	/*
	 * relaxed, the first two: those who held the execution lock before have written them before they released it, and this
	 * thread has acquired that with the lock. The other side has executed the request if it held the lock since this was
	 * queued. The others are sequentially consistent, as in dir_open()
	 */
	return atomic_load_explicit(&ep->port->sq_done, memory_order_relaxed) == seq &&
	       !atomic_load_explicit(&ep->port->failed, memory_order_relaxed) &&
	       atomic_load(&ep->port->open) == gen && atomic_load(&ep->rport->open) == ep->rgen &&
	       /* acquire: the flag is set before the pid can belong to another process */
	       !atomic_load_explicit(&ep->peer->dead, memory_order_acquire);
}

/*
 * Notes the region that was used if it was the last one as well: a program that uses two in turn does not gain by that. If it
 * cannot be noted, as a window, this tries again only when a mapping has ended. EP lock, execution lock held.
 */
static void note(struct soft_ep *ep, const struct datp_rge *remote, const unsigned char *there)
{
	struct soft_near *near = &ep->near;

	if (near->context != remote->rmr_context) {
		near->context = remote->rmr_context;
		near->rights = 0;
		near->ends = UINT64_MAX;
		near->here = (uintptr_t)there - remote->addr;
	} else if (near->ends != atomic_load_explicit(&ep->peer->share_ends, memory_order_relaxed)) { /* relaxed: a hint */
		soft_share_note(ep);
	}
}

/*
 * Checks the remote range, and copies. This post has checked the segment, under the EP lock: as in soft_plain_send(), a thread that
 * frees its region waits for that lock, or is seen by soft_mr_check_known(). Returns false if exec.c has to execute the request.
 * Execution lock held.
 */
static bool execute(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *local, const struct datp_rge *remote)
{
	const struct soft_right right = { .open = &ep->rport->open, .gen = ep->rgen };
	struct datp_rge target = { remote->rmr_context, 0, remote->addr, wqe->len };
	bool write = wqe->op == DATP_RDMA_WRITE;
	unsigned char *here = (unsigned char *)(uintptr_t)local->addr, *there;
	int error;

	if (!soft_mr_check_remote(ep->peer->mr, SOFT_ONCE(ep->rport->pz), &target,
				  write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG))
		return false;
	/* what has to be mapped first is for exec.c */
	there = soft_share_known(ep->peer, &target, write);
	if (!there)
		return false;
	note(ep, remote, there);
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
		ep->near.word = lock_release(port, gen, word);
	else
		soft_exec_go_on(ep);
	soft_work_end(ep);
	return done;
}

void soft_short_rdma(struct soft_ep *ep, struct datp_wqe *wqe, const struct datp_sge *local, const struct datp_rge *remote)
{
	uint32_t seq = ep->sq_reaped;

	soft_short_queue(ep, seq, wqe->op, wqe->len, local, remote);
	if (!run(ep, wqe, seq, local, remote)) {
		soft_sq_reap(ep);
		return;
	}
	soft_sq_reaped(ep, seq);
	soft_request_done(ep, wqe, wqe->len);
}

/*
 * If the lock is not held, its word was not as this side had left it: the other side has held it, and may have executed the request
 * meanwhile, or holds it now. run() finds out.
 */
void soft_near_failed(struct soft_ep *ep, const struct datp_sge *local, const struct datp_rge *remote, uint64_t len,
		      DAT_CONTEXT cookie, unsigned int flags, enum datp_op op, bool held)
{
	struct datp_wqe *wqe = datp_wq_next(&ep->base.sq, &ep->base, op, cookie, flags);
	uint32_t seq = ep->sq_reaped;
	bool done = false;

	wqe->len = len;
	ep->silent = 0;
	ep->base.sq.posted++;
	if (held) {
		/* what was noted does not hold; the next request looks everything up */
		ep->near.rights = ep->near.context = 0;
		soft_exec_go_on(ep);
		soft_work_end(ep);
	} else {
		soft_work_end(ep);
		done = run(ep, wqe, seq, local, remote);
	}
	if (!done) {
		soft_sq_reap(ep);
		return;
	}
	soft_sq_reaped(ep, seq);
	soft_request_done(ep, wqe, len);
}
