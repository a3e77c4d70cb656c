/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints and their queue pairs. Invariant: a queue pair serves one connection attempt; after
 * that the endpoint gets a new one, as it gets a new id. The queue pair exists from the time when
 * the endpoint has a PZ, so that the device's limits take effect in dat_ep_create, but nothing is
 * posted to it before it is connected.
 */
#include "providers/common/base/cancel.h"
#include "rdma_async.h"
#include "rdma_end.h"
#include "rdma_conn.h"
#include "rdma_cq.h"
#include "rdma_defer.h"
#include "rdma_fit.h"
#include "rdma_ia.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_srq.h"
#include "rdma_timer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * How long a queue pair that has stopped may take to report everything that was posted to it, and
 * how often that is checked.
 */
enum { OWED_MS = 100, OWED_LOOK_MS = 1 };

/* ------------------------------------------------------------------ the list of queue pairs */

static void qp_list(struct rdma_ia *ia, struct rdma_ep *ep)
{
	datp_lock(&ia->qp_lock);
	ep->next = ia->eps;
	ep->prev = &ia->eps;
	if (ep->next)
		ep->next->prev = &ep->next;
	ia->eps = ep;
	datp_unlock(&ia->qp_lock);
	if (ep->base.srq)
		rdma_qpn_add(ep);
}

static void qp_unlist(struct rdma_ia *ia, struct rdma_ep *ep)
{
	if (ep->base.srq)
		rdma_qpn_remove(ep);
	datp_lock(&ia->qp_lock);
	*ep->prev = ep->next;
	if (ep->next)
		ep->next->prev = ep->prev;
	datp_unlock(&ia->qp_lock);
}

/* ------------------------------------------------------------------ queue pairs */

/*
 * A queue pair's completions go to one CQ, which on some devices (rxe) has fewer entries than a
 * send queue has work requests. A program that asks for more gets a CQ of its own with the largest size. It has
 * to make sure that no more completions wait in this CQ, as with other libraries, which make a CQ
 * as long as its EVD.
 */
static uint32_t entries_for(const struct rdma_ia *ia, uint32_t need)
{
	return need < (uint32_t)ia->dev.max_cqe ? need : (uint32_t)ia->dev.max_cqe;
}

static struct rdma_cqset *set_of(struct rdma_ia *ia, struct datp_evd *evd)
{
	return evd ? &rdma_evd(evd)->set : &ia->null_set;
}

/*
 * Reserves entries of a CQ for the endpoint's receives, and `requests` more for its requests if these
 * complete on the same EVD. An endpoint without receives needs a CQ too. The receives of an SRQ are
 * counted once for all its endpoints.
 */
static enum datp_err reserve_receives(struct rdma_ep *ep, uint32_t requests)
{
	int32_t most = ep->base.attr.max_recv_dtos;

	if (ep->base.srq)
		return rdma_srq_reserve(ep->base.srq, ep->recv_set, requests, &ep->recv_cq);
	ep->recv_need = entries_for(rdma_ep_ia(ep), most > 0 ? (uint32_t)most : 1);
	return rdma_cqset_reserve(ep->recv_set, RDMA_RECEIVES, ep->recv_need,
				  ep->recv_need + requests, &ep->recv_cq);
}

static void release_receives(struct rdma_ep *ep)
{
	if (ep->base.srq)
		rdma_srq_release(ep->base.srq, ep->recv_set);
	else
		rdma_cqset_release(ep->recv_set, ep->recv_cq, ep->recv_need);
}

/*
 * Reserves an entry of a CQ for each work request that the queues can hold: when a connection ends, all requests are
 * flushed, also those that complete without an event if they succeed.
 */
static enum datp_err reserve_cqs(struct rdma_ia *ia, struct rdma_ep *ep)
{
	enum datp_err err;
	bool together;

	ep->recv_set = set_of(ia, ep->base.recv_evd);
	ep->send_set = set_of(ia, ep->base.request_evd);
	ep->send_need = entries_for(ia, rdma_send_depth(&ep->base.attr, ep->read_sge));
	together = ep->recv_set == ep->send_set;
	err = reserve_receives(ep, together ? ep->send_need : 0);
	if (err)
		return err;
	err = rdma_cqset_reserve(ep->send_set, RDMA_REQUESTS, ep->send_need,
				 ep->send_need + (together && !ep->base.srq ? ep->recv_need : 0),
				 &ep->send_cq);
	if (err)
		release_receives(ep);
	else if (ep->base.srq)
		rdma_cqset_settle(ep->recv_set, ep->recv_cq);
	return err;
}

static void release_cqs(struct rdma_ep *ep)
{
	release_receives(ep);
	rdma_cqset_release(ep->send_set, ep->send_cq, ep->send_need);
}

static void fill_init(struct rdma_ep *ep, struct ibv_qp_init_attr *init)
{
	*init = (struct ibv_qp_init_attr){
		.qp_context = ep,
		.send_cq = ep->send_cq->cq,
		.recv_cq = ep->recv_cq->cq,
		.srq = ep->base.srq ? ((struct rdma_srq *)ep->base.srq)->srq : NULL,
		.qp_type = IBV_QPT_RC,
	};
	rdma_fit_cap(&ep->base.attr, ep->read_sge, &init->cap);
	if (ep->base.srq)
		init->cap.max_recv_wr = init->cap.max_recv_sge = 0;
}

/* Returns the next lower power of two, and finally 0. */
static uint32_t less_than(uint32_t bytes)
{
	uint32_t less = 1;

	while (less < bytes)
		less *= 2;
	return less / 2;
}

/*
 * No device reports how much it can inline, and the limit may depend on the depth of the queues:
 * the device accepts a length, or refuses the queue pair. A shorter length is better than none.
 */
static struct ibv_qp *create(struct rdma_ia *ia, struct rdma_ep *ep)
{
	struct ibv_pd *pd = ep->base.pz ? ((struct rdma_pz *)ep->base.pz)->pd : ia->pd;
	uint32_t bytes = ia->opt.inline_bytes;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;

	for (;;) {
		fill_init(ep, &init);
		init.cap.max_inline_data = bytes;
		errno = 0;
		qp = ibv_create_qp(pd, &init);
		if (qp || !bytes)
			break;
		bytes = less_than(bytes);
	}
	ep->max_inline = qp && bytes ? init.cap.max_inline_data : 0;
	return qp;
}

static bool overtook_make(struct rdma_ep *ep)
{
	free(ep->overtook);
	ep->overtook = calloc((size_t)ep->base.sq.mask + 1, 1);
	return ep->overtook != NULL;
}

/* ------------------------------------------------------------------ what rdma_fast.h uses */

/* Prepares work requests with all fields that are the same in each of them. EP lock. */
static void fast_prepare_locked(struct rdma_ep *ep)
{
	/* Its `registration` differs from that of the caches below, so the first post takes the slow path. */
	static const struct rdma_lmr none;
	const struct ibv_send_wr wr = { .sg_list = &ep->source.sge,
					.num_sge = 1,
					.send_flags = IBV_SEND_SIGNALED };

	ep->source = ep->sink = (struct rdma_lmr_cache){ .lmr = &none, .registration = UINT64_MAX };
	ep->requests = ep->receives = (struct rdma_span){ 0 };
	ep->long_wr = ep->wr[DATP_SEND] = ep->wr[DATP_RDMA_WRITE] = ep->wr[DATP_RDMA_READ] = wr;
	ep->wr[DATP_SEND].opcode = IBV_WR_SEND;
	ep->wr[DATP_RDMA_WRITE].opcode = IBV_WR_RDMA_WRITE;
	ep->wr[DATP_RDMA_READ].opcode = IBV_WR_RDMA_READ;
	ep->wr[DATP_RDMA_READ].sg_list = &ep->sink.sge;
	if (ep->max_inline) {
		ep->wr[DATP_SEND].send_flags |= IBV_SEND_INLINE;
		ep->wr[DATP_RDMA_WRITE].send_flags |= IBV_SEND_INLINE;
	}
	ep->recv_wr = (struct ibv_recv_wr){ .sg_list = &ep->sink.sge, .num_sge = 1 };
	ep->overtaking = 0;
	rdma_fast_end_locked(ep);
}

static uint64_t longest(int32_t segments, uint64_t attr)
{
	return segments < 1 ? 0 : attr < INT32_MAX ? attr : INT32_MAX;
}

static uint64_t inlined(const struct rdma_ep *ep, uint64_t most)
{
	return ep->max_inline && ep->max_inline < most ? ep->max_inline : most;
}

/*
 * Sets the fields of a ring's slots that the fast path leaves unchanged. Slots in use, which others
 * may read, have them already.
 */
static void ring_prepare(struct datp_wq *wq, struct datp_ep *ep)
{
	for (uint32_t i = 0; i <= wq->mask; i++)
		if (wq->ring[i].ep != ep)
			wq->ring[i].ep = ep;
}

static void fast_requests_begin_locked(struct rdma_ep *ep)
{
	const struct datp_ep_attr *attr = &ep->base.attr;

	ep->longest[DATP_SEND] = longest(attr->max_request_iov, attr->max_message_size);
	ep->longest[DATP_RDMA_WRITE] = longest(attr->max_rdma_write_iov, attr->max_rdma_size);
	ep->longest[DATP_RDMA_READ] = longest(attr->max_rdma_read_iov, attr->max_rdma_size);
	ep->quick[DATP_SEND] = inlined(ep, ep->longest[DATP_SEND]);
	ep->quick[DATP_RDMA_WRITE] = inlined(ep, ep->longest[DATP_RDMA_WRITE]);
	if (ep->readless)
		ep->longest[DATP_RDMA_READ] = 0;
	ep->quick[DATP_RDMA_READ] = ep->longest[DATP_RDMA_READ];
}

void rdma_fast_begin_locked(struct rdma_ep *ep)
{
	/* relaxed: written under the EP lock */
	int state = atomic_load_explicit(&ep->base.state, memory_order_relaxed);

	if (!ep->ready)
		return;
	if (!ep->base.srq) {
		ep->longest[DATP_RECV] = longest(ep->base.attr.max_recv_iov, UINT64_MAX);
		ep->quick[DATP_RECV] = ep->longest[DATP_RECV];
	}
	if (state == DAT_EP_STATE_CONNECTED && !rdma_defers_locked(ep))
		fast_requests_begin_locked(ep);
}

void rdma_fast_requests_end_locked(struct rdma_ep *ep)
{
	static const enum datp_op requests[] = { DATP_SEND, DATP_RDMA_WRITE, DATP_RDMA_READ };

	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		ep->longest[requests[i]] = ep->quick[requests[i]] = 0;
}

void rdma_fast_end_locked(struct rdma_ep *ep)
{
	memset(ep->longest, 0, sizeof(ep->longest));
	memset(ep->quick, 0, sizeof(ep->quick));
}

/* ------------------------------------------------------------------ creation and destruction */

/*
 * The limits that a device reports are for short requests: with some, the number that fits depends
 * on the segments (irdma, mlx5, bnxt_re), and a receive queue may be shorter than a send queue.
 */
static void say_refused(struct rdma_ep *ep, int why)
{
	const struct rdma_ia *ia = rdma_ep_ia(ep);
	struct ibv_qp_init_attr init;

	fill_init(ep, &init);
	datp_log(2,
		 "%s: verbs device %s refuses a queue pair of %u requests of %u segments and %u receives of %u segments: %s%s",
		 ia->base.name, ibv_get_device_name(ia->verbs->device), init.cap.max_send_wr,
		 init.cap.max_send_sge, init.cap.max_recv_wr, init.cap.max_recv_sge,
		 why ? strerror(why) : "no reason is given",
		 rdma_may_be_too_large(why)
			 ? "; ask for fewer max_request_dtos or max_recv_dtos, or for fewer segments of each"
			 : "");
}

/*
 * Posts to a device whose doorbell is a write(): a thread that has been cancelled would end there, in a post or a dequeue of the
 * program, with the locks that it holds.
 */
static int post_whole(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct cancel own;
	int rc;

	cancel_off(&own);
	rc = ibv_post_send(qp, wr, bad);
	cancel_restore(&own);
	return rc;
}

static enum datp_err qp_make(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct ibv_qp *qp = NULL;
	enum datp_err err;
	int why;

	ep->read_sge = rdma_read_segments(ia);
	err = reserve_cqs(ia, ep);
	if (err)
		return err;
	if (!ia->kind->reads_overtaken || overtook_make(ep))
		qp = create(ia, ep);
	if (!qp) {
		why = errno;
		say_refused(ep, why);
		release_cqs(ep);
		return why == EINVAL || why == E2BIG ? DATP_ERR_PARAM : DATP_ERR_TEP;
	}
	datp_lock(&ep->base.lock);
	ep->qp = qp;
	ep->post_send = rdma_bell_writes(ia) ? post_whole : qp->context->ops.post_send;
	ep->post_recv = qp->context->ops.post_recv;
	ep->qpn = qp->qp_num;
	ep->ready = ep->over = ep->up = ep->heard = ep->broken = ep->failed = ep->draining = false;
	ep->readless = ep->rtr_heard = false;
	ep->deferral = DEFER_NONE;
	ep->early = NULL;
	ep->owed = 0;
	ep->owed_last = NULL;
	ep->last_taken = false;
	ep->unsignaled = 0;
	fast_prepare_locked(ep);
	ep->signal_every = (uint32_t)ep->base.attr.max_request_dtos / 2 + 1;
	datp_unlock(&ep->base.lock);
	qp_list(ia, ep);
	return DATP_OK;
}

/*
 * With the lock held, because the kernel gives the handle of a queue pair that is being destroyed to the next one, which another
 * endpoint may have: qp_unmake() takes the queue pair from the endpoint under the lock first. EP lock.
 */
static void halt_locked(struct rdma_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (ep->qp && ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE))
		datp_log(3, "%s: cannot stop a queue pair: %s", ep->base.obj.ia->name,
			 strerror(errno));
}

/* Returns the number of the first request that the device has not been given. EP lock. */
static uint32_t sent_locked(const struct rdma_ep *ep)
{
	return ep->deferred ? ((const struct datp_wqe *)(uintptr_t)ep->deferred->wr.wr_id)->seq : ep->base.sq.posted;
}

/* Counts what the device will report for a queue pair that stops. EP lock. */
static void owed_count_locked(struct rdma_ep *ep)
{
	const struct datp_wq *rq = &ep->base.rq, *sq = &ep->base.sq;
	uint32_t sent = sent_locked(ep);
	const struct datp_wqe *last = &sq->ring[(sent - 1) & sq->mask];

	ep->owed = ep->base.srq ? 0 : rq->posted - rq->finished;
	for (const struct datp_node *early = ep->early; early; early = early->next)
		ep->owed -= ep->owed != 0;
	ep->owed_last = NULL;
	if (ep->draining && !ep->deferred)
		ep->owed_last = ep;
	else if (sent != sq->finished && !(last->post_flags & DAT_COMPLETION_SUPPRESS_FLAG))
		ep->owed_last = last;
	/* from now on all completions take the slow path, which counts them down */
	ep->heard = false;
	ep->overtaking++;
}

static void over_locked(struct rdma_ep *ep)
{
	if (ep->ready)
		owed_count_locked(ep);
	ep->over = true;
	/* the event queue links receives that are flushed by the same node */
	ep->early = NULL;
	/* libdatp flushes later receives */
	ep->ready = false;
	rdma_fast_end_locked(ep);
	ep->deferral = DEFER_NONE;
}

void rdma_qp_stop_if_begun(struct rdma_ep *ep)
{
	bool begun;

	datp_lock(&ep->base.lock);
	begun = ep->ready;
	if (begun) {
		over_locked(ep);
		halt_locked(ep);
	}
	datp_unlock(&ep->base.lock);
}

bool rdma_qp_is_over(struct rdma_ep *ep)
{
	bool over;

	datp_lock(&ep->base.lock);
	over = ep->over;
	datp_unlock(&ep->base.lock);
	return over;
}

/* Returns whether the queue pair has reported everything that it will report. No lock held. */
static bool has_told_all(struct rdma_ep *ep)
{
	const struct rdma_ia *ia = rdma_ep_ia(ep);
	bool all;

	/* relaxed: a thread that does not see it yet looks again. Each endpoint of such a device would wait in vain. */
	if (atomic_load_explicit(&ia->lost, memory_order_relaxed))
		return true;
	datp_lock(&ep->base.lock);
	all = !ep->owed && !ep->owed_last;
	if (ep->base.srq && ep->over && !rdma_has(ia, RDMA_NO_LAST_WQE))
		all &= ep->last_taken;
	datp_unlock(&ep->base.lock);
	return all;
}

/*
 * Waits, before a queue pair is destroyed, until it has reported everything. Some devices remove
 * its completions from the CQs when it is destroyed, with the receives of an SRQ that it has taken
 * (mlx5 and most others); with one, what is left there leads to freed memory (qedr). Not all
 * devices flush everything (X722, E810), so there is a bound. No lock held.
 */
static void await_owed(struct rdma_ep *ep)
{
	struct timespec pause = { .tv_nsec = OWED_LOOK_MS * 1000000L };
	uint64_t until = datp_clock_us() + OWED_MS * UINT64_C(1000);

	for (;;) {
		bool told = has_told_all(ep);

		/*
		 * The device reports that the last receive was taken after it has queued the completion
		 * of that receive. So the CQs are polled once more after everything has been reported.
		 */
		rdma_cqset_drain(ep->recv_set);
		if (ep->send_set != ep->recv_set)
			rdma_cqset_drain(ep->send_set);
		if (told || has_told_all(ep))
			return;
		if (datp_clock_us() >= until)
			break;
		if (datp_loop_inside(ep->base.obj.ia))
			rdma_async_event(rdma_ep_ia(ep), 0);
		nanosleep(&pause, NULL);
	}
	datp_log(3, "%s: a queue pair that has stopped has not completed all that was posted to "
		    "it: %u receives are missing%s",
		 ep->base.obj.ia->name, ep->owed, ep->owed_last ? ", and a request" : "");
}

void rdma_qp_took_last(struct rdma_ep *ep)
{
	datp_lock(&ep->base.lock);
	ep->last_taken = true;
	datp_unlock(&ep->base.lock);
}

/* Destroys the queue pair, after its completions have been taken from the CQs. No thread posts. */
static void qp_unmake(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct ibv_qp *qp = ep->qp;
	bool draining;

	if (!qp)
		return;
	datp_lock(&ep->base.lock);
	rdma_fast_end_locked(ep);
	draining = ep->draining;
	ep->draining = false;
	datp_unlock(&ep->base.lock);
	/* the service thread does not have to handle its completions any more */
	if (draining)
		rdma_cqset_watch(ep->send_set, -1);
	rdma_qp_stop_if_begun(ep);
	await_owed(ep);
	/*
	 * The kernel waits for the worker of an attempt with this queue pair. A worker that has not called the kernel yet would
	 * connect the next queue pair that gets the same number. This may be the service thread, in an agent of the program, so
	 * its timer does not end the worker.
	 */
	rdma_workers_of_qp_end(ia, ep->qpn);
	datp_lock(&ep->base.lock);
	ep->qp = NULL;
	datp_unlock(&ep->base.lock);
	if (ibv_destroy_qp(qp))
		datp_log(1, "%s: cannot free a queue pair: %s", ia->base.name, strerror(errno));
	/*
	 * On some devices, completions that came after the last poll are still in the CQs, and the
	 * receives of an SRQ among them have to be given back. So the CQs are polled again, although
	 * qedr may access freed memory if await_owed() has timed out.
	 */
	rdma_cqset_drain(ep->recv_set);
	rdma_cqset_drain(ep->send_set);
	qp_unlist(ia, ep);
	release_cqs(ep);
	datp_lock(&ep->base.lock);
	ep->qpn = 0;
	ep->ready = false;
	datp_unlock(&ep->base.lock);
}

static void staged_free_locked(struct rdma_ep *ep)
{
	struct rdma_staged *staged = ep->staged;

	ep->staged = NULL;
	while (staged) {
		struct rdma_staged *next = staged->next;

		free(staged);
		staged = next;
	}
	rdma_defer_forget_locked(ep);
}

static void staged_free(struct rdma_ep *ep)
{
	datp_lock(&ep->base.lock);
	staged_free_locked(ep);
	datp_unlock(&ep->base.lock);
}

/*
 * Returns whether the endpoint's EVD has got another CQ since the queue pair was created. Then the
 * endpoint needs a queue pair on the new CQ, so that its completions come in order with those of the
 * endpoints that are connected from now on. Receives of an SRQ have a CQ of their own.
 */
static bool is_left_behind(const struct rdma_ep *ep)
{
	return !rdma_cqset_is_home(ep->send_set, ep->send_cq) ||
	       (!ep->base.srq && !rdma_cqset_is_home(ep->recv_set, ep->recv_cq));
}

enum datp_err rdma_qp_ensure(struct rdma_ep *ep)
{
	enum datp_err err = DATP_OK;

	if (ep->qp && is_left_behind(ep))
		qp_unmake(ep);
	if (!ep->qp)
		err = qp_make(ep);
	if (!err)
		rdma_cqset_settle(ep->recv_set, ep->recv_cq);
	return err;
}

/* ------------------------------------------------------------------ transitions */

/* Limits inlining to the path's MTU, which is known now, on devices that refuse to inline more than that (quirk inline_mtu). */
static void fit_inline(struct rdma_ep *ep, enum ibv_mtu mtu)
{
	uint32_t bytes = UINT32_C(128) << mtu;

	if (rdma_has(rdma_ep_ia(ep), RDMA_INLINE_MTU) && ep->max_inline > bytes)
		ep->max_inline = bytes;
}

static int modify(struct rdma_ep *ep, struct rdma_cm_id *id, enum ibv_qp_state state,
		  uint8_t reads_in, uint8_t reads_out)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return errno;
	/* there may be nothing to set: iWARP's queue pair changes its state by itself */
	if (!mask)
		return 0;
	/*
	 * librdmacm allows the peer's reads and atomic operations only if the connection's number of
	 * incoming reads is not 0, which it does not know yet on the active side, and else they would
	 * fail. So they are always allowed; the LMRs protect the memory.
	 */
	if (mask & IBV_QP_ACCESS_FLAGS)
		attr.qp_access_flags |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
					(rdma_has_atomics(rdma_ep_ia(ep)) ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic = reads_in;
	/*
	 * A queue pair that may have no reads outstanding would keep a read for ever (rxe), and so would all requests behind it
	 * wait. With one, a peer that said that it serves none executes the read, as OpenDAT does, or refuses it.
	 */
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic = reads_out ? reads_out : 1;
	if (mask & IBV_QP_PATH_MTU)
		fit_inline(ep, attr.path_mtu);
	rdma_ep_ia(ep)->kind->tune(&attr, &mask);
	return ibv_modify_qp(ep->qp, &attr, mask);
}

static int post_staged_locked(struct rdma_ep *ep)
{
	int rc = 0;

	ring_prepare(&ep->base.rq, &ep->base);
	ring_prepare(&ep->base.sq, &ep->base);
	for (struct rdma_staged *s = ep->staged; s && !rc; s = s->next) {
		struct ibv_recv_wr wr = { .wr_id = (uintptr_t)s->wqe,
					  .sg_list = s->sge,
					  .num_sge = s->n },
				   *bad;

		if (s->pz != ep->base.pz)
			wr.wr_id |= RDMA_ID_FOREIGN;
		rc = ibv_post_recv(ep->qp, &wr, &bad);
	}
	ep->ready = true;
	rdma_fast_begin_locked(ep);
	return rc;
}

int rdma_qp_begin_locked(struct rdma_ep *ep, struct rdma_cm_id *id)
{
	int rc = modify(ep, id, IBV_QPS_INIT, 0, 0);

	if (rc)
		return rc;
	rc = post_staged_locked(ep);
	staged_free_locked(ep);
	return rc;
}

int rdma_qp_begin(struct rdma_ep *ep, struct rdma_cm_id *id)
{
	int rc;

	datp_lock(&ep->base.lock);
	rc = rdma_qp_begin_locked(ep, id);
	datp_unlock(&ep->base.lock);
	return rc;
}

int rdma_qp_connect(struct rdma_ep *ep, struct rdma_cm_id *id, uint8_t reads_in, uint8_t reads_out)
{
	int rc = modify(ep, id, IBV_QPS_RTR, reads_in, reads_out);

	return rc ? rc : modify(ep, id, IBV_QPS_RTS, reads_in, reads_out);
}

void rdma_qp_agreed_locked(struct rdma_ep *ep, int32_t reads_in, int32_t reads_out)
{
	struct datp_ep_attr *attr = &ep->base.attr;

	/* siw refuses such a read only when it takes it from its queue, and never completes it */
	ep->readless = !reads_out && !rdma_ep_ia(ep)->kind->has_rtu;
	if (ep->base.srq || ep->agreed)
		return;
	ep->asked_in = attr->max_rdma_read_in;
	ep->asked_out = attr->max_rdma_read_out;
	ep->agreed = true;
	/*
	 * never more than the program asked for, although the connection may allow reads that it did
	 * not ask for
	 */
	if (reads_in < attr->max_rdma_read_in)
		attr->max_rdma_read_in = reads_in;
	if (reads_out < attr->max_rdma_read_out)
		attr->max_rdma_read_out = reads_out;
}

static void agreed_forget_locked(struct rdma_ep *ep)
{
	if (!ep->agreed)
		return;
	ep->base.attr.max_rdma_read_in = ep->asked_in;
	ep->base.attr.max_rdma_read_out = ep->asked_out;
	ep->agreed = false;
}

enum rdma_dead rdma_qp_is_dead(const struct rdma_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init;

	if (!ep->qp || ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init))
		return RDMA_MAYBE;
	switch (attr.qp_state) {
	case IBV_QPS_ERR:
	case IBV_QPS_SQE:
	case IBV_QPS_SQD:
		return RDMA_DEAD;
	case IBV_QPS_RESET: /* siw does not report a state */
		return RDMA_MAYBE;
	default:
		return RDMA_ALIVE;
	}
}

/*
 * siw reports that a queue pair has failed before the completion with the cause is there. When the
 * queue pair has halted, the completion is there, and it is taken before the end of the connection
 * would flush it.
 */
void rdma_qp_failed(struct rdma_ep *ep)
{
	datp_lock(&ep->base.lock);
	halt_locked(ep);
	datp_unlock(&ep->base.lock);
	rdma_cqset_drain(ep->recv_set);
}

void rdma_qp_stop_locked(struct rdma_ep *ep)
{
	over_locked(ep);
	/* this comes first, because the connection manager may report an end caused by the peer, too */
	rdma_ep_break_locked(ep);
	halt_locked(ep);
}

void rdma_qp_stop(struct rdma_ep *ep)
{
	datp_lock(&ep->base.lock);
	over_locked(ep);
	halt_locked(ep);
	staged_free_locked(ep);
	datp_unlock(&ep->base.lock);
}

/* ------------------------------------------------------------------ endpoints */

enum datp_err rdma_ep_create(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);

	datp_bias_init(&ep->bias);
	/* an endpoint without a PZ will be modified, so the queue pair waits for that */
	return base->pz ? qp_make(ep) : DATP_OK;
}

/* Returns whether a queue pair made for one endpoint can serve the other. */
static bool same_qp(const struct datp_ep *a, const struct datp_ep *b)
{
	return a->pz == b->pz && a->recv_evd == b->recv_evd && a->request_evd == b->request_evd &&
	       a->attr.max_recv_dtos == b->attr.max_recv_dtos &&
	       a->attr.max_request_dtos == b->attr.max_request_dtos &&
	       a->attr.max_recv_iov == b->attr.max_recv_iov &&
	       a->attr.max_request_iov == b->attr.max_request_iov &&
	       a->attr.max_rdma_read_iov == b->attr.max_rdma_read_iov &&
	       a->attr.max_rdma_write_iov == b->attr.max_rdma_write_iov;
}

enum datp_err rdma_ep_modify(struct datp_ep *base, const struct datp_ep *next)
{
	if (!same_qp(base, next))
		qp_unmake(rdma_ep(base)); /* the connection creates the new one */
	return DATP_OK;
}

enum datp_err rdma_ep_reset(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_conn *conn = rdma_conn_detach(ep);

	if (conn)
		rdma_conn_retire(conn);
	qp_unmake(ep);
	staged_free(ep);
	datp_lock(&base->lock);
	ep->over = false;
	ep->early = NULL;
	agreed_forget_locked(ep);
	datp_unlock(&base->lock);
	return qp_make(ep);
}

/*
 * The device matches messages and receives in order, so all receives between two that are in use
 * are in use, too.
 */
enum datp_err rdma_ep_recv_query(struct datp_ep *base, int32_t *allocated, int32_t *span)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_cqset *set;

	datp_lock(&base->lock);
	set = ep->qp ? ep->recv_set : NULL;
	datp_unlock(&base->lock);
	/* messages that have arrived do not count as posted any more */
	if (set)
		rdma_cqset_drain(set);
	datp_lock(&base->lock);
	/* relaxed: only a count */
	*allocated = base->srq ? (int32_t)atomic_load_explicit(&base->held, memory_order_relaxed)
			       : (int32_t)(base->rq.posted - base->rq.finished);
	*span = *allocated;
	datp_unlock(&base->lock);
	return DATP_OK;
}

void rdma_ep_free(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_conn *conn;

	datp_bias_fini(&ep->bias, &base->lock);
	rdma_deferred_accept(ep);
	conn = rdma_conn_detach(ep);
	if (conn) {
		rdma_qp_stop(ep);
		rdma_conn_retire(conn);
	}
	qp_unmake(ep);
	staged_free(ep);
	free(ep->overtook);
	ep->overtook = NULL;
}
