/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executor. A request that is no eager message goes into its endpoint's queue in shared memory. The requests are executed in
 * order, by the side that comes second: mostly by the initiator, within its post; by the target if a send had to wait for the
 * receive that it posts. The execution lock of the initiator's port admits one side at a time. No thread waits for another to
 * execute a request, only for accesses to end (exec_wait.c). A side reads its own segments from private memory (posted.h).
 *
 * A request that can be executed at once goes into the queue as well: a thread that frees a region finds there whether the holder
 * of the execution lock may touch that region (quiesce.c).
 */
#include "exec.h"
#include "bounce.h"
#include "bound.h"
#include "conn.h"
#include "coop.h"
#include "cq.h"
#include "ia.h"
#include "mr.h"
#include "peer.h"
#include "recv.h"
#include "request.h"
#include "send.h"
#include "setup.h"
#include "share.h"
#include "strict.h"
#include "unready.h"
#include "xfer.h"
#include "log/limited.h"
#include <errno.h>

#ifndef EXEC_MOST
/* a call executes at most this many of the peer's requests, if more and more are added */
#define EXEC_MOST 1024u
#endif
#define EXEC_BYTES (64ull << 20) /* and no further one when it has moved so many bytes */
#define EXEC_COST  4096u	 /* what a request takes besides, as if it had so many bytes more */
#define EXEC_HELP  8		 /* a helper takes this many pieces before it does other work */

/* One direction of a connection, as seen from this process. */
struct soft_dir {
	struct soft_ep *ep;
	struct soft_peer *peer;
	struct soft_port *ip, *tp; /* the initiator's port, the target's */
	const struct soft_layout *il, *tl;
	/* their regions; this side's from its own copy, not as peers see them */
	struct soft_mr *imr, *tmr;
	uint32_t igen, tgen; /* the connection, as each side numbers it */
	bool initiator;	     /* this side is the initiator */
	bool announce;	     /* the target's ring needs a cell: receives of messages before `announced` are done */
	uint32_t announced;
	bool left;	     /* the execution lock has been left to the other side */
	bool targets;	     /* the next request has to be executed by the target, whose progress thread does it if nobody polls */
	bool alone;	     /* no more cooperative copies: one of them has failed */
	uint64_t moved;	     /* bytes, by this call */
	uint64_t waited;     /* soft_peer_waited() at its begin */
	bool again;	     /* it goes on with what an earlier call has left, and may be a poll */
	/* the right to access the peer's memory; right.seq is the request being executed, whatever the port says meanwhile */
	struct soft_right right;
};

static void dir_init(struct soft_dir *dir, struct soft_ep *ep, bool initiator)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	*dir = (struct soft_dir){ .ep = ep, .peer = ep->peer, .initiator = initiator };
	dir->waited = soft_peer_waited(ep->peer);
	dir->ip = initiator ? ep->port : ep->rport;
	dir->tp = initiator ? ep->rport : ep->port;
	dir->il = initiator ? &ep->layout : &ep->rlayout;
	dir->tl = initiator ? &ep->rlayout : &ep->layout;
	dir->imr = initiator ? ia->own : ep->peer->regions;
	dir->tmr = initiator ? ep->peer->regions : ia->own;
	dir->igen = initiator ? ep->gen : ep->rgen;
	dir->tgen = initiator ? ep->rgen : ep->gen;
	dir->right = (struct soft_right){ .open = &ep->rport->open,
					  .gen = ep->rgen,
					  .port = ep->rindex,
					  .initiator = initiator,
					  .copying = &ep->copying };
}

/*
 * Returns the protection zone of a side: this side's from private memory, the peer's from its port. The execution lock is held, or
 * its holder is being helped; otherwise that port may belong to another endpoint.
 */
static uint32_t dir_zone(const struct soft_dir *dir, bool initiator)
{
	return dir->initiator == initiator ? soft_pz_id(dir->ep->base.pz) : SOFT_ONCE(dir->ep->rport->pz);
}

/* Copies the initiator's request at `seq`. Returns false if the port holds invalid values. */
static bool dir_request(const struct soft_dir *dir, uint32_t seq, struct soft_request *r)
{
	if (dir->initiator)
		return soft_request_own(r, dir->ep, seq);
	return soft_request_copy(r, soft_port_sqe(dir->ip, dir->il, seq), dir->il);
}

/* Copies the list of the target's receive for message number `msg`. Returns as dir_request(). */
static bool dir_receive(const struct soft_dir *dir, uint32_t msg, struct soft_sink *sink)
{
	if (!dir->initiator)
		return soft_receive_own(sink, dir->ep, msg);
	return soft_sink_copy(sink, soft_port_desc(dir->tp, dir->tl, dir->tl->rq_base + msg), dir->tl);
}

/* Returns the table of a side's regions that peers see, which has its windows, too. */
static struct soft_mr *dir_windows(const struct soft_dir *dir, bool initiator)
{
	return dir->initiator == initiator ? soft_ia(dir->ep->base.obj.ia)->mr : dir->peer->mr;
}

static uint32_t dir_ipz(const struct soft_dir *dir)
{
	return dir_zone(dir, true);
}

static uint32_t dir_tpz(const struct soft_dir *dir)
{
	return dir_zone(dir, false);
}

/*
 * Returns true if the connection is open on both sides; checked before any memory of the other side is accessed. A thread that
 * closes a port and does not find the execution lock held is seen here; one that finds it held waits for its end.
 */
static bool dir_open(const struct soft_dir *dir)
{
	return atomic_load(&dir->ip->open) == dir->igen && atomic_load(&dir->tp->open) == dir->tgen;
}

/* The other side has written invalid values: nothing is executed any more, and the connection ends. */
static bool dir_nonsense(const struct soft_dir *dir)
{
	soft_ep_corrupted(dir->ep);
	return false;
}

/*
 * Returns true if only the target can execute the next request: a send to its SRQ whose place a cell keeps. Then the initiator must
 * not hold the execution lock even for a moment, because the target could find it held when it takes that cell, and would go on to
 * the next one. If the execution lock is held, the caller does not use the answer.
 */
static bool exec_is_targets(const struct soft_dir *dir)
{
	const struct soft_sqe *e;
	uint32_t done;

	if (!dir->initiator || !dir->tl->srq)
		return false;
	/* relaxed, both: sq_done was acquired with the execution lock, and this side writes sq_posted under the EP lock */
	done = atomic_load_explicit(&dir->ip->sq_done, memory_order_relaxed);
	if (done == atomic_load_explicit(&dir->ip->sq_posted, memory_order_relaxed))
		return false;
	e = soft_port_sqe(dir->ip, dir->il, done);
	return soft_is_message(e->op) && SOFT_ONCE(e->has_place);
}

/*
 * Returns the lock word after this thread's arrival: the holder makes another round, or this side holds the execution lock, or
 * leaves it to the target.
 */
static uint64_t exec_want(const struct soft_dir *dir, uint64_t word)
{
	if (word & SOFT_EXEC_HELD)
		return word | SOFT_EXEC_AGAIN;
	if (exec_is_targets(dir))
		return SOFT_EXEC_NEXT(word, dir->igen) | (word & SOFT_EXEC_HELPED);
	return word | SOFT_EXEC_HELD | (dir->initiator ? 0 : SOFT_EXEC_TARGET);
}

/*
 * Returns false if another thread holds the execution lock, or if it serves another connection by
 * now, or if the next request is for the other side alone.
 */
static bool exec_try(const struct soft_dir *dir)
{
	struct soft_port *port = dir->ip;
	/* acquire: makes visible what the last holder has executed */
	uint64_t word = atomic_load_explicit(&port->exec_lock, memory_order_acquire);

	for (unsigned int tries = SOFT_TRIES; SOFT_EXEC_GEN(word) == dir->igen; tries--) {
		uint64_t want = exec_want(dir, word);

		/*
		 * Sequentially consistent: if another thread closed a port or killed a region before, and did not find the
		 * execution lock held here, the checks that follow see that. With AGAIN it releases to the holder what was added;
		 * if the execution lock is left to the target, to the next holder.
		 */
		if (atomic_compare_exchange_weak(&port->exec_lock, &word, want))
			return !(word & SOFT_EXEC_HELD) && want & SOFT_EXEC_HELD;
		if (!tries)
			return dir_nonsense(dir);
	}
	return false;
}

/* Releases the execution lock. Returns false if another round was requested: it is still held then, unless `last` is set. */
static bool exec_release(const struct soft_dir *dir, bool last)
{
	struct soft_port *port = dir->ip;
	uint32_t gen = dir->igen;
	uint64_t word = atomic_load_explicit(&port->exec_lock, memory_order_relaxed);

	/* of another generation: its owner has taken it away, see soft_port_begin() */
	for (unsigned int tries = SOFT_TRIES; SOFT_EXEC_GEN(word) == gen; tries--) {
		bool again = word & SOFT_EXEC_AGAIN && !last;
		/* a helper that found nothing to do resets its own flag */
		uint64_t want = again ? word & ~(uint64_t)SOFT_EXEC_AGAIN :
					SOFT_EXEC_NEXT(word, gen) | (word & SOFT_EXEC_HELPED);

		/* acquire: makes visible what was requested; release: comes after all accesses to the peer's memory */
		if (atomic_compare_exchange_weak_explicit(&port->exec_lock, &word, want,
							  memory_order_acq_rel,
							  memory_order_relaxed))
			return !again;
		if (!tries)
			return !dir_nonsense(dir);
	}
	return true;
}

/* Moves a request's bytes. Returns false if the peer has gone or does not answer: then the connection ends. */
static bool dir_move(struct soft_dir *dir, bool to_target, bool ordered, struct soft_list *ilist,
		     struct soft_list *tlist, uint64_t len, uint8_t *status)
{
	struct soft_list *local = dir->initiator ? ilist : tlist;
	struct soft_list *remote = dir->initiator ? tlist : ilist;
	int error;

	dir->moved += len;
	remote->right = &dir->right;
	error = soft_xfer(dir->peer, to_target == dir->initiator, ordered, local, remote, len);
	if (error == ESRCH)
		return false;
	if (error == ETIMEDOUT) {
		soft_ep_unanswered(dir->ep);
		return false;
	}
	if (error) {
		static struct log_limit unmoved;

		log_limited(&unmoved, 2, "soft: the kernel cannot move %llu bytes: error %d; was registered memory unmapped?",
			    (unsigned long long)len, error);
		*status = DAT_DTO_ERR_TRANSPORT;
	}
	return true;
}

/* Puts a port on its owner's ready list. Only an owner that polls will see it, because nobody is woken. */
static void exec_call_help(struct soft_dir *dir)
{
	struct soft_ep *ep = dir->ep;

	if (dir->initiator)
		soft_ring_mark_ready(ep->rring, dir->tp, ep->rindex, SOFT_SIDE_RECV);
	else
		soft_ring_mark_ready(ep->rrequest, dir->ip, ep->rindex, SOFT_SIDE_REQUEST);
}

/* Returns true if both sides may make a copy together: it is long, and the kernel copies. */
static bool dir_may_coop(const struct soft_dir *dir, const struct soft_list *remote, uint64_t len)
{
	struct soft_reach reach;

	if (len < SOFT_COOP_MIN || dir->alone || !dir->peer->cma || dir->peer->self)
		return false;
	if (!soft_share_reach(dir->peer, remote, dir->initiator, &reach))
		return true;
	soft_share_leave(&reach);
	return false;
}

/* Makes a cooperative copy, as far as possible. Returns false if the peer has gone, or the other side finishes it (dir->left). */
static bool dir_coop_copy(struct soft_dir *dir, struct soft_list *local, struct soft_list *remote, uint64_t len)
{
	uint32_t seq = dir->right.seq;
	enum soft_coop_end end;
	int error;

	soft_coop_open(dir->ip, seq, len);
	exec_call_help(dir);
	error = soft_coop_copy(dir->ip, seq, len, dir->peer, dir->initiator, local, remote, UINT_MAX);
	end = soft_coop_settle(dir->ip, error);
	dir->left = end == SOFT_COOP_LEFT;
	return end == SOFT_COOP_DONE;
}

/* Moves a send's bytes. Returns as dir_move(); false also if the other side finishes it (dir->left). */
static bool dir_send(struct soft_dir *dir, const struct soft_request *r, const struct soft_sink *sink, uint8_t *status)
{
	struct soft_list ilist, tlist;
	struct soft_list *local = dir->initiator ? &ilist : &tlist;
	struct soft_list *remote = dir->initiator ? &tlist : &ilist;

	soft_list_sge(&ilist, r->sge, (int)r->n);
	soft_list_sge(&tlist, sink->sge, (int)sink->n);
	remote->right = &dir->right;
	if (dir_may_coop(dir, remote, r->len)) {
		dir->moved += r->len;
		if (!dir_coop_copy(dir, local, remote, r->len))
			return false;
		if (!soft_coop_failed(dir->ip))
			return true;
		/* this side may be able to copy what the other side cannot, so all of it is copied again */
		soft_list_sge(&ilist, r->sge, (int)r->n);
		soft_list_sge(&tlist, sink->sge, (int)sink->n);
	}
	return dir_move(dir, true, false, &ilist, &tlist, r->len, status);
}

/* Stores the result of a receive; *status becomes that of its send. `with` is what `extra` says that came with it. */
static void match_done(uint64_t len, uint8_t solicited, enum soft_extra extra, uint32_t with, struct soft_desc *desc,
		       uint8_t recv_status, uint8_t *status)
{
	if (recv_status != DAT_DTO_SUCCESS)
		*status = DAT_DTO_ERR_REMOTE_RESPONDER;
	desc->len = len;
	desc->status = recv_status;
	desc->solicited = solicited;
	desc->extra = (uint8_t)extra;
	desc->imm = with;
	/* release: publishes the data and the result; deliver_one() acquires them */
	atomic_store_explicit(&desc->state, SOFT_DESC_DONE, memory_order_release);
}

/*
 * Moves a send's bytes to its receive. *status is the sender's, *recv_status the receive's. Returns false as dir_send(), or if
 * the port holds invalid values.
 */
static inline __attribute__((always_inline)) bool match_move(struct soft_dir *dir, const struct soft_request *r,
							     uint8_t *recv_status, uint8_t *status)
{
	struct soft_sink sink;

	if (!dir_receive(dir, r->msg, &sink))
		return dir_nonsense(dir);
	if (soft_mr_check_iov(dir->imr, dir_ipz(dir), r->sge, (int)r->n, false)) {
		*status = DAT_DTO_ERR_LOCAL_PROTECTION;
		return true; /* the receive stays: the message was never sent */
	}
	if (r->len > soft_sge_bytes(sink.sge, (int)sink.n))
		*recv_status = DAT_DTO_ERR_LOCAL_LENGTH;
	else if (soft_mr_check_iov(dir->tmr, dir_tpz(dir), sink.sge, (int)sink.n, true))
		*recv_status = DAT_DTO_ERR_LOCAL_PROTECTION;
	else
		return dir_send(dir, r, &sink, recv_status);
	return true;
}

/* Executes a send with its receive. *status is the sender's. */
static bool exec_match(struct soft_dir *dir, const struct soft_request *r, struct soft_desc *desc, uint8_t *status)
{
	uint8_t recv_status = DAT_DTO_SUCCESS;

	if (!match_move(dir, r, &recv_status, status))
		return false;
	if (*status == DAT_DTO_SUCCESS)
		match_done(r->len, r->solicited, SOFT_EXTRA_NONE, 0, desc, recv_status, status);
	return true;
}

/*
 * Returns true if a cell keeps the place of the next request, a send. Then the message must not go by
 * a cell of its own, which would come behind the messages that were sent meanwhile. Initiator,
 * execution lock held.
 */
static bool has_place(const struct soft_dir *dir, const struct soft_request *r)
{
	return r->has_place || (!dir->tl->srq && (int32_t)(dir->right.seq - dir->ep->places) < 0);
}

/*
 * Returns true if the receive at `seq` is posted. If it is not, this has marked the next request as waiting, so that
 * the target executes it when it posts that receive.
 */
static bool receive_posted(const struct soft_dir *dir, uint32_t seq)
{
	if (soft_recv_posted(dir->tp, seq))
		return true;
	/* relaxed: a thread that posts the receive reads this after the same kind of fence, see soft_desc_wanted() */
	atomic_store_explicit(&dir->ip->waits, 1, memory_order_relaxed);
	soft_fence();
	return soft_recv_posted(dir->tp, seq);
}

/* A message has no receive. Returns false if it has to wait, and true if it fails. */
static bool exec_not_ready(const struct soft_dir *dir, uint8_t *status)
{
	*status = DAT_DTO_ERR_RECEIVER_NOT_READY;
	if (dir->initiator)
		return soft_strict_not_ready(dir->ep, dir->right.seq);
	soft_unready_watch(dir->ep);
	return false;
}

static void receive_filled(struct soft_dir *dir, const struct soft_request *r)
{
	dir->announce = true;
	dir->announced = r->msg + 1;
}

/* A send to an SRQ is executed by the target. Returns as exec_send(). */
static bool exec_srq(struct soft_dir *dir, const struct soft_request *r, uint8_t *status)
{
	if (dir->initiator || !soft_srq_rendezvous(dir->ep, dir_ipz(dir), r, status))
		return false;
	dir->moved += r->len;
	return true;
}

/* Returns false if the send has to wait. */
static bool exec_send(struct soft_dir *dir, const struct soft_request *r, uint8_t *status)
{
	uint32_t seq = dir->tl->rq_base + r->msg;
	struct soft_desc *desc;

	if (r->len > soft_sge_bytes(r->sge, (int)r->n))
		return dir_nonsense(dir);
	if (dir->initiator && !has_place(dir, r) && soft_is_eager(dir->ep, r->msg, r->len)) {
		if (soft_mr_check_iov(dir->imr, dir_ipz(dir), r->sge, (int)r->n, false)) {
			*status = DAT_DTO_ERR_LOCAL_PROTECTION;
			return true;
		}
		if (soft_eager_send(dir->ep, r->sge, (int)r->n, r->len, r->solicited))
			return true;
	}
	if (dir->tl->srq)
		return exec_srq(dir, r, status);
	if (!receive_posted(dir, seq))
		return exec_not_ready(dir, status);
	desc = soft_port_desc(dir->tp, dir->tl, seq);
	if (!exec_match(dir, r, desc, status))
		return false;
	if (dir->initiator)
		dir->ep->last_unread = &desc->state;
	if (atomic_load_explicit(&desc->state, memory_order_relaxed) == SOFT_DESC_DONE)
		receive_filled(dir, r);
	return true;
}

/*
 * Executes a send that invalidates a window of the target, before the target can see that its receive is done. The copy is
 * never cooperative, because whoever ends it also ends the binding. Returns false if the request has to wait.
 */
static bool exec_send_invalidate(struct soft_dir *dir, const struct soft_request *r, uint8_t *status)
{
	uint32_t seq = dir->tl->rq_base + r->msg;
	struct soft_mr *windows = dir_windows(dir, false);
	struct soft_desc *desc = soft_port_desc(dir->tp, dir->tl, seq);
	uint8_t recv_status = DAT_DTO_SUCCESS;
	bool alone = dir->alone, moved;

	if (r->len > soft_sge_bytes(r->sge, (int)r->n))
		return dir_nonsense(dir);
	if (!soft_mr_is_invalidable(windows, r->rmr, dir->tgen)) {
		*status = DAT_DTO_ERR_REMOTE_ACCESS;
		return true;
	}
	if (dir->tl->srq)
		return exec_srq(dir, r, status);
	if (!receive_posted(dir, seq))
		return exec_not_ready(dir, status);
	dir->alone = true;
	moved = match_move(dir, r, &recv_status, status);
	dir->alone = alone;
	if (!moved || *status != DAT_DTO_SUCCESS)
		return moved;
	if (recv_status == DAT_DTO_SUCCESS && !soft_mr_invalidate(windows, r->rmr, dir->tgen)) {
		*status = DAT_DTO_ERR_REMOTE_ACCESS;
		return true;
	}
	match_done(r->len, r->solicited, SOFT_EXTRA_INVALIDATED, r->rmr, desc, recv_status, status);
	receive_filled(dir, r);
	return true;
}

static bool exec_rdma(struct soft_dir *dir, const struct soft_request *r, uint8_t *status)
{
	bool write = r->op != DATP_RDMA_READ;
	uint32_t need = write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
	struct datp_rge remote = r->remote;
	struct datp_sge target = { remote.rmr_context, 0, remote.addr, r->len };
	struct soft_list ilist, tlist;

	remote.len = r->len;
	if (r->len > soft_sge_bytes(r->sge, (int)r->n))
		return dir_nonsense(dir);
	if (soft_mr_check_iov(dir->imr, dir_ipz(dir), r->sge, (int)r->n, !write)) {
		*status = DAT_DTO_ERR_LOCAL_PROTECTION;
		return true;
	}
	if (!soft_mr_check_remote(dir_windows(dir, false), dir_tpz(dir), &remote, need) ||
	    !soft_mr_check_here(dir->ep, dir->initiator, &remote, need)) {
		*status = DAT_DTO_ERR_REMOTE_ACCESS;
		return true;
	}
	soft_list_sge(&ilist, r->sge, (int)r->n);
	soft_list_sge(&tlist, &target, 1);
	return dir_move(dir, write, write, &ilist, &tlist, r->len, status);
}

/* Executes a read into a window of the initiator, which has to be bound now to the region that the post has found. */
static bool exec_read_rmr(struct soft_dir *dir, struct soft_request *r, uint8_t *status)
{
	bool done;

	if (r->n != 1)
		return dir_nonsense(dir);
	if (!soft_mr_check_sink(dir_windows(dir, true), dir_ipz(dir), r->rmr, r->sge)) {
		*status = DAT_DTO_ERR_LOCAL_PROTECTION;
		return true;
	}
	r->op = DATP_RDMA_READ;
	/* the window is the initiator's */
	dir->right.window = dir->initiator ? r->rmr : 0;
	done = exec_rdma(dir, r, status);
	dir->right.window = 0;
	return done;
}

/* Does what exec_write_imm() does, with a receive of the target's SRQ, which only the SRQ's owner can provide. */
static bool exec_srq_imm(struct soft_dir *dir, const struct soft_request *r, uint8_t *status)
{
	struct datp_wqe *wqe = dir->initiator ? NULL : soft_srq_immediate_take(dir->ep, r);

	if (!wqe)
		return false;
	if (!exec_rdma(dir, r, status)) /* the connection ends */
		*status = DAT_DTO_ERR_REMOTE_RESPONDER;
	soft_srq_immediate_done(dir->ep, wqe, r, *status == DAT_DTO_SUCCESS);
	return true;
}

/*
 * Executes an RDMA Write that takes a receive. A write that fails takes none, because it breaks the connection.
 * Returns false if the request has to wait.
 */
static bool exec_write_imm(struct soft_dir *dir, const struct soft_request *r, uint8_t *status)
{
	uint32_t seq = dir->tl->rq_base + r->msg;

	if (dir->tl->srq)
		return exec_srq_imm(dir, r, status);
	if (!receive_posted(dir, seq))
		return exec_not_ready(dir, status);
	if (!exec_rdma(dir, r, status))
		return false;
	if (*status != DAT_DTO_SUCCESS)
		return true;
	match_done(r->len, r->solicited, SOFT_EXTRA_IMMEDIATE, r->imm, soft_port_desc(dir->tp, dir->tl, seq), DAT_DTO_SUCCESS,
		   status);
	receive_filled(dir, r);
	return true;
}

/*
 * Executes an atomic operation. It is atomic in respect of the target's own instructions, because a processor
 * executes it: in this process if the target is in it or the word is mapped here, otherwise in the target's process.
 * So the initiator leaves the latter to the target; then this returns false. The old value goes into the request, where
 * the initiator finds it.
 */
static bool exec_atomic(struct soft_dir *dir, struct soft_sqe *e, const struct soft_request *r, uint8_t *status)
{
	const struct datp_rge word = { r->remote.rmr_context, 0, r->remote.addr, sizeof(uint64_t) };

	if (r->n != 1 || r->len != word.len || word.addr % word.len)
		return dir_nonsense(dir);
	if (!soft_mr_check_atomic(dir_windows(dir, false), dir_tpz(dir), &word) ||
	    !soft_mr_check_here(dir->ep, dir->initiator, &word, DATP_MEM_PRIV_REMOTE_ATOMIC)) {
		*status = DAT_DTO_ERR_REMOTE_ACCESS;
		return true;
	}
	if (dir->initiator && !dir->peer->self) {
		dir->targets = !soft_exec_atomic(dir->peer, &dir->right, r, &word, e);
		return !dir->targets;
	}
	e->old = soft_request_atomic(r);
	return true;
}

/*
 * The target's receives of the messages before `announced` are done, or are being done: they
 * complete when everything before this cell has been taken. Returns false if there is no cell.
 */
static bool cell_announce(struct soft_ep *ep, uint32_t announced)
{
	uint64_t position;
	struct soft_cell *cell = soft_ring_reserve(ep->rring, ep->rmask, ep->my_sender_id, &position);

	if (!cell)
		return false;
	soft_ring_publish_done(cell, position, ep->rindex, ep->rgen, announced);
	return true;
}

/*
 * Tells the target that some of its receives are done; or, if none is, that this side waits for it.
 * Only the owner of an SRQ can provide one of its buffers, and that must not wait until somebody
 * polls the event queue: so the service thread there is told, too.
 */
static void exec_notify_target(struct soft_dir *dir, bool blocked)
{
	struct soft_ep *ep = dir->ep;
	bool bell = false, announced = dir->announce && cell_announce(ep, dir->announced);

	if (dir->announce && !announced)
		/* relaxed: soft_ring_mark_ready() releases it */
		atomic_store_explicit(&dir->tp->announced, dir->announced, memory_order_relaxed);
	if (blocked || !announced)
		bell = soft_ring_mark_ready(ep->rring, dir->tp, ep->rindex, SOFT_SIDE_RECV) &&
		       (dir->tl->srq || dir->targets);
	soft_ring_notify(ep->rring, dir->peer);
	if (bell)
		soft_peer_wake(dir->peer);
}

static void exec_notify_initiator(struct soft_dir *dir)
{
	struct soft_ep *ep = dir->ep;

	soft_ring_mark_ready(ep->rrequest, dir->ip, ep->rindex, SOFT_SIDE_REQUEST);
	soft_ring_notify(ep->rrequest, dir->peer);
	/* sequentially consistent with the owner's store, after which it checks sq_done itself */
	if (atomic_load(&dir->ip->want_wake))
		soft_peer_wake(dir->peer);
}

/* A thread that sees the last byte of a write also finds the receives of the sends before it. */
static void dir_announce(struct soft_dir *dir)
{
	if (!dir->announce)
		return;
	if (dir->initiator)
		exec_notify_target(dir, false);
	else
		soft_recv_announce(dir->ep, dir->announced);
	dir->announce = false;
}

static bool exec(struct soft_dir *dir, uint32_t seq, struct soft_sqe *e, uint8_t *status)
{
	struct soft_request r;

	dir->right.seq = seq;
	if (!dir_request(dir, seq, &r))
		return dir_nonsense(dir);
	switch (r.op) {
	case DATP_SEND:
		return exec_send(dir, &r, status);
	case DATP_BIND:
		soft_mr_bind(dir_windows(dir, true), &r, dir_ipz(dir), dir->igen);
		return true;
	case DATP_RDMA_READ:
	case DATP_RDMA_WRITE:
		dir_announce(dir);
		return exec_rdma(dir, &r, status);
	case DATP_WRITE_IMM:
		dir_announce(dir);
		return exec_write_imm(dir, &r, status);
	case DATP_SEND_INVALIDATE:
		return exec_send_invalidate(dir, &r, status);
	case DATP_READ_RMR:
		dir_announce(dir);
		return exec_read_rmr(dir, &r, status);
	case DATP_CMP_SWAP:
	case DATP_FETCH_ADD:
		dir_announce(dir);
		return exec_atomic(dir, e, &r, status);
	default:
		return dir_nonsense(dir);
	}
}

/*
 * Returns true if this side has executed the request at `seq`, of which the port says that it is the next one. A peer can say that
 * again and again, so that this side would execute its own requests without end. Execution lock held.
 */
static bool executed_before(const struct soft_dir *dir, uint32_t seq)
{
	return dir->initiator && (int32_t)(seq - dir->ep->executed) < 0;
}

/* Records that the request at `seq` has been executed, whatever is in sq_done now. Execution lock held. */
static void request_done(struct soft_dir *dir, uint32_t seq, struct soft_sqe *e, uint8_t status)
{
	e->status = status;
	/* relaxed, and written only if needed: if it stays set too long, it costs time only; see exec_send() */
	if (atomic_load_explicit(&dir->ip->waits, memory_order_relaxed))
		atomic_store_explicit(&dir->ip->waits, 0, memory_order_relaxed);
	if (status != DAT_DTO_SUCCESS)
		atomic_store_explicit(&dir->ip->failed, 1, memory_order_relaxed);
	if (dir->initiator)
		dir->ep->executed = seq + 1;
	/* release: publishes the status, and the data for an initiator that reads */
	atomic_store_explicit(&dir->ip->sq_done, seq + 1, memory_order_release);
}

/* What threads here have waited for the peer during this call, in bytes: a part of the bound is EXEC_BYTES. */
static uint64_t exec_waited(const struct soft_dir *dir)
{
	uint64_t ms = soft_peer_waited(dir->peer) - dir->waited;

	return __builtin_expect(ms != 0, 0) ? ms * (EXEC_BYTES / (soft_bound_call(dir->peer->ia) + 1)) : 0;
}

/* Returns true if this call has done enough for a peer. What this side has posted itself does not grow, but may wait each time. */
static bool exec_enough(const struct soft_dir *dir, unsigned int count, unsigned int most)
{
	return count >= most || (!dir->initiator && dir->moved >= EXEC_BYTES) || exec_waited(dir) >= EXEC_BYTES;
}

/* Executes at most `most` requests. Returns their number; *blocked: the next request has to wait. */
static unsigned int exec_round(struct soft_dir *dir, unsigned int most, bool *blocked)
{
	struct soft_port *ip = dir->ip;
	unsigned int count = 0;

	*blocked = false;
	while (!exec_enough(dir, count, most)) {
		uint32_t done = atomic_load_explicit(&ip->sq_done, memory_order_relaxed);
		struct soft_sqe *e = soft_port_sqe(ip, dir->il, done);
		uint8_t status = DAT_DTO_SUCCESS;
		/* acquire: makes the requests visible, which were written as a whole before they were counted */
		uint32_t posted = atomic_load_explicit(&ip->sq_posted, memory_order_acquire);

		if (done == posted)
			return count;
		/* a peer that claims more requests than the queue holds would occupy this thread for very long */
		if (posted - done > dir->il->sq_mask + 1 || executed_before(dir, done)) {
			dir_nonsense(dir);
			return count;
		}
		if (!dir_open(dir) || atomic_load_explicit(&ip->failed, memory_order_relaxed))
			return count;
		if (!exec(dir, done, e, &status)) {
			*blocked = !dir->left;
			return count;
		}
		request_done(dir, done, e, status);
		count++;
	}
	return count;
}

/* This call has executed enough, and continues at the next poll. */
static void help_again(struct soft_ep *ep, bool initiator)
{
	if (initiator)
		soft_ring_mark_ready(soft_ep_request_cq(ep)->ring, ep->port, ep->index, SOFT_SIDE_REQUEST);
	else
		soft_ring_mark_ready(soft_ep_recv_cq(ep)->ring, ep->port, ep->index, SOFT_SIDE_RECV);
}

void soft_exec_later(struct soft_ep *ep, bool initiator)
{
	ep->rest[initiator] = true;
	help_again(ep, initiator);
	/* the service thread has them executed if nobody polls */
	soft_cq_notify(initiator ? soft_ep_request_cq(ep) : soft_ep_recv_cq(ep));
	soft_ia_wake(soft_ia(ep->base.obj.ia));
}

/*
 * Takes pieces of the copy that the other side is making. The copy may end at any time, and another one begin. Returns true if
 * there was no error.
 */
static bool help_copy(struct soft_dir *dir)
{
	struct soft_list ilist, tlist;
	struct soft_list *local = dir->initiator ? &ilist : &tlist;
	struct soft_list *remote = dir->initiator ? &tlist : &ilist;
	struct soft_request r;
	struct soft_sink sink;
	uint32_t seq;

	if (!soft_coop_offered(dir->ip, &seq) || !dir_open(dir) || !dir_request(dir, seq, &r) || r.op != DATP_SEND ||
	    r.len < SOFT_COOP_MIN)
		return false;
	if (!dir_receive(dir, r.msg, &sink) ||
	    r.len > soft_sge_bytes(sink.sge, (int)sink.n) ||
	    soft_mr_check_iov(dir->imr, dir_ipz(dir), r.sge, (int)r.n, false) ||
	    soft_mr_check_iov(dir->tmr, dir_tpz(dir), sink.sge, (int)sink.n, true))
		return false;
	soft_list_sge(&ilist, r.sge, (int)r.n);
	soft_list_sge(&tlist, sink.sge, (int)sink.n);
	remote->right = &dir->right;
	return !soft_coop_copy(dir->ip, seq, r.len, dir->peer, dir->initiator, local, remote, EXEC_HELP);
}

/*
 * Helps the thread that holds the execution lock. Returns true if that thread has left the
 * execution lock to this side. Then the request is done (*n becomes 1), or, if one side could not
 * copy its part, still has to be executed.
 */
static bool exec_help(struct soft_dir *dir, unsigned int *n)
{
	struct soft_port *ip = dir->ip;
	uint8_t status = DAT_DTO_SUCCESS;
	struct soft_desc *desc;
	struct soft_sqe *e;
	uint32_t seq;
	bool well;

	if (!dir->peer->cma || dir->peer->self ||
	    !soft_coop_enter(ip, dir->igen, dir->initiator))
		return false;
	well = help_copy(dir);
	if (!soft_coop_leave(ip, dir->igen, dir->initiator)) {
		if (well && soft_coop_wanted(ip))
			help_again(dir->ep, dir->initiator);
		return false;
	}
	dir->alone = soft_coop_failed(ip);
	seq = atomic_load_explicit(&ip->sq_done, memory_order_relaxed);
	/* a request that this side has not posted, or that is done, is for exec_round() to find */
	if (dir->alone || executed_before(dir, seq) || (dir->initiator && !soft_request_is_kept(dir->ep, seq)))
		return true;
	e = soft_port_sqe(ip, dir->il, seq);
	desc = soft_port_desc(dir->tp, dir->tl, dir->tl->rq_base + e->msg);
	match_done(e->len, e->solicited, SOFT_EXTRA_NONE, 0, desc, DAT_DTO_SUCCESS, &status);
	dir->announce = true;
	dir->announced = SOFT_ONCE(e->msg) + 1;
	request_done(dir, seq, e, status);
	*n = 1;
	return true;
}

/*
 * Executes requests until no other round has been requested. A peer can request one each time, and add a request each time, so a
 * part is left for later. Execution lock held; `n` requests have been executed.
 */
static bool exec_rounds(struct soft_dir *dir, unsigned int n)
{
	bool initiator = dir->initiator, blocked, last = false;
	unsigned int most = initiator ? 2 * (dir->il->sq_mask + 1) : EXEC_MOST;
	unsigned int count = 0, rounds = SOFT_TRIES;

	do {
		n += exec_round(dir, count < most ? most - count : 0, &blocked);
		count += n;
		last = !--rounds || exec_enough(dir, count, most);
		/* a target that has executed tells only itself, and that needs no execution lock */
		if (!initiator)
			dir_announce(dir);
		/* the other side has the execution lock, and sees what was done here: this side must not access anything */
		if (dir->left)
			break;
		if (initiator && (dir->announce || blocked) && dir_open(dir))
			exec_notify_target(dir, blocked);
		if (!initiator && n && dir_open(dir))
			exec_notify_initiator(dir);
		dir->announce = false;
		n = 0;
	} while (!exec_release(dir, last));
	if (last && !dir->left && !dir->ep->failing)
		soft_exec_later(dir->ep, initiator);
	if (!initiator || dir->again)
		dir->ep->moved += exec_waited(dir) + (initiator ? 0 : dir->moved + count * EXEC_COST);
	return count != 0;
}

bool soft_exec_run(struct soft_ep *ep, bool initiator)
{
	struct soft_dir dir;
	unsigned int n = 0;
	bool any = false;

	dir_init(&dir, ep, initiator);
	dir.again = ep->rest[initiator];
	ep->rest[initiator] = false;
	soft_work_begin(ep);
	if (exec_try(&dir) || exec_help(&dir, &n))
		any = exec_rounds(&dir, n);
	soft_work_end(ep);
	return any;
}

void soft_exec_go_on(struct soft_ep *ep)
{
	struct soft_dir dir;

	dir_init(&dir, ep, true);
	exec_rounds(&dir, 0);
}

void soft_exec_keep_place(struct soft_ep *ep, uint32_t seq, uint32_t msg)
{
	/*
	 * A done request may have been executed by the other side: that side counts it first, and
	 * publishes a cell of its own after that.
	 */
	if (ep->executed == seq + 1 || ep->rlayout.srq || /* `seq` is the last one posted */
	    !soft_recv_posted(ep->rport, ep->rlayout.rq_base + msg))
		return;
	if (!cell_announce(ep, msg + 1))
		return;
	ep->places = seq + 1;
	soft_ring_notify(ep->rring, ep->peer);
}
