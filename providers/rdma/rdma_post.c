/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting. Invariant: a posted operation is on the device's queue, or staged until the endpoint has
 * a queue of the device; nothing here allocates once an endpoint is being connected, and the only
 * system call is the driver's.
 */
#include "log/limited.h"
#include "rdma_defer.h"
#include "rdma_mr.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_timer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rdma_post_said(const struct rdma_ia *ia, int rc)
{
	/*
	 * Drivers return an errno, or a negative errno. -1 is not an errno. From siw it means that
	 * the request is on its queue but the kernel has not been told; the connection is ending,
	 * and the request ends with it. From others (mthca, and mlx4's SRQs) it means that the
	 * queue is full.
	 */
	if (rc == -1)
		return rdma_has(ia, RDMA_SIGPIPE) ? 0 : ENOMEM;
	return rc < 0 ? -rc : rc;
}

/*
 * `err` is the driver's error. `object` is the handle that the program knows the queue by: an
 * endpoint or an SRQ.
 */
static void say_refused(const struct rdma_ia *ia, const char *what, const void *object, int err)
{
	datp_log(4, "%s: verbs device %s refuses %s of %p: %s (errno %d)", ia->base.name,
		 ibv_get_device_name(ia->verbs->device), what, object, strerror(err), err);
}

/*
 * Some drivers refuse a post to a queue pair that is in the error state (cxgb4, erdma, mana,
 * ocrdma), which this side may not know yet; and one returns EINVAL for a full queue (mana). Others
 * return it for a wrong request, which can only be this provider's fault.
 */
enum datp_err rdma_post_error_locked(struct rdma_ep *ep, const struct datp_wq *wq, int err)
{
	enum rdma_dead dead;

	say_refused(rdma_ep_ia(ep), wq == &ep->base.sq ? "a request" : "a receive", ep, err);
	if (err == ENOMEM)
		return DATP_ERR_CREDITS;
	dead = rdma_qp_is_dead(ep);
	if (dead == RDMA_DEAD || (dead == RDMA_MAYBE && err != EINVAL)) {
		rdma_qp_stop_locked(ep);
		return DATP_OK;
	}
	if (err != EINVAL)
		return DATP_ERR_DEVICE;
	/* the refused one has been counted already */
	return dead == RDMA_MAYBE && wq->posted - wq->finished > 1 ? DATP_ERR_CREDITS : DATP_ERR_PARAM;
}

static __attribute__((noinline)) enum datp_err refused_locked(struct rdma_ep *ep, struct datp_wq *wq,
							      int rc)
{
	rc = rdma_post_said(rdma_ep_ia(ep), rc);
	return rc ? rdma_post_error_locked(ep, wq, rc) : DATP_OK;
}

/* Returns the result of a post to one of the endpoint's own queues; `rc` is the driver's. EP lock. */
static inline __attribute__((always_inline)) enum datp_err result(struct rdma_ep *ep, struct datp_wq *wq,
								  int rc)
{
	if (__builtin_expect(!rc, 1))
		return DATP_OK;
	return refused_locked(ep, wq, rc);
}

DAT_RETURN rdma_fast_refused_locked(struct datp_ep *ep, struct datp_wq *wq, int rc, bool biased)
{
	enum datp_err err = refused_locked(rdma_ep(ep), wq, rc);

	wq->posted -= err != DATP_OK;
	rdma_span_end(wq == &ep->sq ? &rdma_ep(ep)->requests : &rdma_ep(ep)->receives);
	datp_bias_unlock(&rdma_ep(ep)->bias, &ep->lock, biased);
	if (!err)
		return DAT_SUCCESS;
	if (err == DATP_ERR_CREDITS && wq == &ep->sq)
		datp_post_full(ep);
	return datp_ret(err);
}

/*
 * Returns the LMR of a context, or NULL, and sets `registration` to that of the LMR. Values read from
 * the LMR later may belong to another registration.
 */
static inline const struct rdma_lmr *lmr_of(struct rdma_ia *ia, uint32_t context, uint64_t *registration)
{
	const struct rdma_lmr *lmr = (const struct rdma_lmr *)datp_lmr_get(&ia->lmrs, context);

	*registration = 0;
	if (!lmr)
		return NULL;
	/* acquire: values read from it are not older than this */
	*registration = atomic_load_explicit(&lmr->known.registration, memory_order_acquire);
	return (uint32_t)*registration == context ? lmr : NULL;
}

/* The next segment is likely to be of the same LMR, unless `begin` cannot hold its address. */
static inline void lmr_cache_set(struct rdma_lmr_cache *cache, const struct rdma_lmr *lmr, uint64_t registration)
{
	if (lmr->base.addr > INT64_MAX)
		return;
	cache->lmr = lmr;
	cache->registration = registration;
	cache->begin = (int64_t)lmr->base.addr;
	cache->end = lmr->base.addr + lmr->base.len;
	cache->sge.lkey = (uint32_t)registration;
}

/*
 * Converts libdatp's segments to the device's, and checks them. Empty ones are left out, because
 * some devices treat a length of 0 as 2 GiB. `cache` has the LMR of the last segment; it may be NULL.
 */
static inline enum datp_err sges_of(struct datp_ia *ia, const struct datp_pz *pz,
				    const struct datp_sge *iov, int n, bool sink,
				    struct ibv_sge *sge, int *used, struct rdma_lmr_cache *cache)
{
	*used = 0;
	for (int i = 0; i < n; i++) {
		const struct rdma_lmr *lmr;
		enum datp_err err;
		uint64_t registration;

		if (!iov[i].len)
			continue;
		lmr = lmr_of(rdma_ia(ia), iov[i].lmr_context, &registration);
		err = datp_lmr_check(lmr ? &lmr->base : NULL, pz, &iov[i], sink);
		if (__builtin_expect(err, 0))
			return err;
		if (cache)
			lmr_cache_set(cache, lmr, registration);
		sge[(*used)++] = (struct ibv_sge){
			.addr = iov[i].addr,
			/*
			 * a receive may be longer than any message, but a segment of the device may
			 * not
			 */
			.length = iov[i].len > INT32_MAX ? INT32_MAX : (uint32_t)iov[i].len,
			.lkey = iov[i].lmr_context,
		};
	}
	return DATP_OK;
}

/* ------------------------------------------------------------------ requests */

/*
 * For a receive or a read of length 0. siw requires a segment nevertheless, and irdma and erdma use
 * the first one whatever the number of segments is; none accesses memory for a segment of length 0.
 */
static void give_segment(struct ibv_sge *sge, int *n)
{
	if (*n)
		return;
	sge[0] = (struct ibv_sge){ 0 };
	*n = 1;
}

/*
 * A read fills the front of its list, up to the length of the remote segment; verbs would fill the
 * whole list.
 */
static int cut(struct ibv_sge *sge, int n, uint64_t len)
{
	int used = 0;

	for (; used < n && len; used++) {
		if (sge[used].length > len)
			sge[used].length = (uint32_t)len;
		len -= sge[used].length;
	}
	return used;
}

/*
 * Returns the flag that asks the device for a completion. Suppressed requests ask for none, except
 * one from time to time, by which their slots of the queues are reclaimed.
 */
static unsigned int signal_of(struct rdma_ep *ep, const struct datp_wqe *wqe)
{
	if (!(wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG) ||
	    (wqe->op == DATP_RDMA_READ && ep->overtook) ||
	    ++ep->unsignaled >= ep->signal_every) {
		ep->unsignaled = 0;
		return IBV_SEND_SIGNALED;
	}
	return 0;
}

static uint64_t bytes_of(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;

	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/*
 * The device has accepted the first parts of a read, and refuses the next: `rc` is the driver's
 * error. The accepted parts cannot be taken back, and their memory may be written at any time until
 * the queue pair has stopped. So the read counts as posted, and is flushed with everything after
 * it. EP lock.
 */
static enum datp_err pieces_refused_locked(struct rdma_ep *ep, int rc)
{
	int why = rdma_post_said(rdma_ep_ia(ep), rc);

	datp_log(1, "%s: the device has accepted only a part of an RDMA Read: %s; its connection "
		    "is ended",
		 ep->base.obj.ia->name, why ? strerror(why) : "no reason is given");
	rdma_qp_stop_locked(ep);
	return DATP_OK;
}

/*
 * A read of more segments than the device supports in one (siw and others: 1; with more they read
 * wrongly or fail) is posted as several reads, and the last one reports the completion of all. The
 * send queue has been made long enough.
 */
static enum datp_err read_in_pieces(struct rdma_ep *ep, const struct ibv_send_wr *whole)
{
	struct ibv_send_wr wr[RDMA_SGE_MAX], *bad = NULL;
	uint64_t at = whole->wr.rdma.remote_addr;
	int n = rdma_read_pieces(whole->num_sge, ep->read_sge), rc;

	for (int i = 0; i < n; i++) {
		int begin = i * ep->read_sge, left = whole->num_sge - begin;

		wr[i] = *whole;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].sg_list = &whole->sg_list[begin];
		wr[i].num_sge = left < ep->read_sge ? left : ep->read_sge;
		wr[i].wr.rdma.remote_addr = at;
		at += bytes_of(&wr[i]);
		/* the first part waits as the request does, and each read for the one before it */
		if (i)
			wr[i].send_flags &= ~(unsigned int)IBV_SEND_FENCE;
		if (i + 1 < n)
			wr[i].send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	}
	rc = ep->post_send(ep->qp, wr, &bad);
	/*
	 * libsiw may nevertheless return 0, the result of the doorbell that it rings for the parts
	 * before
	 */
	return bad && bad != wr ? pieces_refused_locked(ep, rc) : result(ep, &ep->base.sq, rc);
}

static inline __attribute__((always_inline)) enum datp_err submit(struct rdma_ep *ep,
								  struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (wr->opcode == IBV_WR_RDMA_READ && __builtin_expect(wr->num_sge > ep->read_sge, 0))
		return read_in_pieces(ep, wr);
	return result(ep, &ep->base.sq, ep->post_send(ep->qp, wr, &bad));
}

/* The send queue of siw hangs at a read with a fence, so the provider has waited for the reads before it. */
static void drop_fence(struct rdma_ep *ep, struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_RDMA_READ && rdma_has(rdma_ep_ia(ep), RDMA_FENCE_READS))
		wr->send_flags &= ~(unsigned int)IBV_SEND_FENCE;
}

enum datp_err rdma_post_request(struct rdma_ep *ep, struct ibv_send_wr *wr)
{
	drop_fence(ep, wr);
	return submit(ep, wr);
}

/*
 * Posts a request; the caller has filled in what only this opcode has. The opcode is an argument, because a constant one
 * leaves a request only the branches that it needs. EP lock.
 */
static inline __attribute__((always_inline)) enum datp_err
post_filled(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
	    enum ibv_wr_opcode opcode, struct ibv_send_wr *wr)
{
	bool sink = opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    opcode == IBV_WR_ATOMIC_FETCH_AND_ADD; /* the segments are written to */
	struct rdma_ep *ep = rdma_ep(base);
	struct ibv_sge sge[RDMA_SGE_MAX];
	enum datp_err err;

	if (__builtin_expect(ep->over | ep->deferral, 0)) {
		rdma_accept_before_request_locked(ep);
		if (ep->over || ep->broken)
			return DATP_OK;
	}
	err = sges_of(base->obj.ia, base->pz, iov, n, sink, sge, &wr->num_sge,
		      sink ? &ep->sink : &ep->source);
	if (__builtin_expect(err, 0))
		return err;
	wr->wr_id = (uintptr_t)wqe;
	wr->next = NULL;
	/* irdma accesses the first segment, whatever their number is */
	wr->sg_list = sink || wr->num_sge ? sge : NULL;
	wr->opcode = opcode;
	wr->send_flags = signal_of(ep, wqe);
	if (wqe->post_flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) {
		wr->send_flags |= IBV_SEND_FENCE;
		rdma_defer_fence_locked(ep, wr);
		if (!rdma_defers_locked(ep))
			drop_fence(ep, wr);
	}
	if ((opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM) &&
	    (wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		wr->send_flags |= IBV_SEND_SOLICITED;
	/*
	 * not behind a fence, because inline data are read now, and a read before it may still
	 * change them
	 */
	if (!sink && wqe->len <= ep->max_inline && !(wqe->post_flags & DAT_COMPLETION_BARRIER_FENCE_FLAG))
		wr->send_flags |= IBV_SEND_INLINE;
	if (sink) {
		wr->num_sge = cut(sge, wr->num_sge, wqe->len);
		give_segment(sge, &wr->num_sge);
	}
	if (__builtin_expect(rdma_defers_locked(ep), 0))
		return rdma_defer_request_locked(ep, wr);
	return submit(ep, wr);
}

static inline __attribute__((always_inline)) enum datp_err
post_request(struct datp_ep *base, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
	     const struct datp_rge *remote, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr;

	if (remote) {
		wr.wr.rdma.remote_addr = remote->addr;
		wr.wr.rdma.rkey = remote->rmr_context;
	}
	return post_filled(base, wqe, iov, n, opcode, &wr);
}

enum datp_err rdma_post_send(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n)
{
	return rdma_span_follow(&rdma_ep(ep)->requests,
			       post_request(ep, wqe, iov, n, NULL, IBV_WR_SEND));
}

enum datp_err rdma_post_rdma_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	return rdma_span_follow(&rdma_ep(ep)->requests,
			       post_request(ep, wqe, iov, n, remote, IBV_WR_RDMA_WRITE));
}

/* A read that the peer does not serve breaks the connection, as it does where devices send it. EP lock. */
static __attribute__((noinline)) enum datp_err readless_locked(struct rdma_ep *ep)
{
	static struct log_limit unserved;

	log_limited(&unserved, 2,
		    "%s: an RDMA Read to a peer that serves none (max_rdma_read_in 0 there) ends the connection: let the peer's "
		    "program ask for the reads that it serves",
		    ep->base.obj.ia->name);
	rdma_qp_stop_locked(ep);
	return DATP_OK;
}

enum datp_err rdma_post_rdma_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	if (__builtin_expect(rdma_ep(ep)->readless, 0) && !rdma_ep(ep)->over)
		return rdma_span_follow(&rdma_ep(ep)->requests, readless_locked(rdma_ep(ep)));
	return rdma_span_follow(&rdma_ep(ep)->requests,
			       post_request(ep, wqe, iov, n, remote, IBV_WR_RDMA_READ));
}

/* The immediate data travel as the program has given them, in its byte order, as with other providers of DAT 2.0. */
enum datp_err rdma_post_write_imm(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
				  const struct datp_rge *remote, uint32_t imm)
{
	struct ibv_send_wr wr = { .imm_data = imm,
				  .wr.rdma = { .remote_addr = remote->addr, .rkey = remote->rmr_context } };

	return rdma_span_follow(&rdma_ep(ep)->requests, post_filled(ep, wqe, iov, n, IBV_WR_RDMA_WRITE_WITH_IMM, &wr));
}

enum datp_err rdma_post_atomic(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *sink,
			       const struct datp_rge *remote, const struct datp_atomic *what)
{
	enum ibv_wr_opcode opcode = (int)wqe->op == DATP_CMP_SWAP ? IBV_WR_ATOMIC_CMP_AND_SWP :
								    IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_send_wr wr = { .wr.atomic = { .remote_addr = remote->addr,
						 .rkey = remote->rmr_context,
						 .compare_add = what->operand,
						 .swap = what->swap } };

	return rdma_span_follow(&rdma_ep(ep)->requests, post_filled(ep, wqe, sink, 1, opcode, &wr));
}

int rdma_post_marker(struct rdma_ep *ep, uint64_t wr_id, bool signaled)
{
	/* of length 0: it needs no right to any memory, and nothing is at address 0 */
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	wr.send_flags = signaled ? IBV_SEND_SIGNALED : 0;
	if (rdma_defers_locked(ep))
		return rdma_defer_request_locked(ep, &wr) ? ENOMEM : 0;
	return ep->post_send(ep->qp, &wr, &bad);
}

/*
 * Posts a read of length 0: its answer shows that siw's passive side reads its socket, and makes
 * the active side read its own, see rdma_timer.c. Returns false if it cannot be posted.
 */
bool rdma_post_rtr_message(struct rdma_ep *ep)
{
	/* the device requires one segment in a read, and accesses no memory for one of length 0 */
	struct ibv_sge nothing = { 0 };
	struct ibv_send_wr wr = { .wr_id = (uintptr_t)ep | RDMA_ID_RTR_MESSAGE,
				  .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &nothing,
				  .num_sge = 1 },
			   *bad;
	int rc = ep->post_send(ep->qp, &wr, &bad);

	if (rc)
		datp_log(3, "%s: cannot send the RTR message, the connecting side's first message: "
			    "%s", ep->base.obj.ia->name, strerror(rc));
	return rc == 0;
}

/* ------------------------------------------------------------------ receives */

/*
 * Keeps a receive until the endpoint is being connected, because an endpoint can be modified until
 * then, and a queue pair cannot.
 */
static enum datp_err stage_locked(struct rdma_ep *ep, struct datp_wqe *wqe,
				  const struct ibv_sge *sge, int n)
{
	struct rdma_staged *staged = malloc(sizeof(*staged) + (size_t)n * sizeof(struct ibv_sge));

	if (!staged)
		return DATP_ERR_MEMORY;
	staged->next = NULL;
	staged->wqe = wqe;
	staged->pz = ep->base.pz;
	staged->n = n;
	memcpy(staged->sge, sge, (size_t)n * sizeof(*sge));
	if (!ep->staged)
		ep->staged_tail = &ep->staged;
	*ep->staged_tail = staged;
	ep->staged_tail = &staged->next;
	rdma_accept_after_receive_locked(ep);
	return DATP_OK;
}

static inline enum datp_err post_receive(struct datp_ep *base, struct datp_wqe *wqe,
					 const struct datp_sge *iov, int n)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct ibv_sge sge[RDMA_SGE_MAX];
	struct ibv_recv_wr wr, *bad;
	enum datp_err err;

	err = sges_of(base->obj.ia, base->pz, iov, n, true, sge, &wr.num_sge, &ep->sink);
	if (__builtin_expect(err, 0))
		return err;
	give_segment(sge, &wr.num_sge);
	if (__builtin_expect(!ep->ready, 0))
		return ep->over ? DATP_OK : stage_locked(ep, wqe, sge, wr.num_sge);
	wr.wr_id = (uintptr_t)wqe;
	wr.next = NULL;
	wr.sg_list = sge;
	return result(ep, &base->rq, ibv_post_recv(ep->qp, &wr, &bad));
}

enum datp_err rdma_post_recv(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n)
{
	return rdma_span_follow(&rdma_ep(ep)->receives, post_receive(ep, wqe, iov, n));
}

enum datp_err rdma_srq_post_recv(struct datp_srq *base, struct datp_wqe *wqe,
				 const struct datp_sge *iov, int n)
{
	struct ibv_sge sge[RDMA_SGE_MAX];
	struct ibv_recv_wr wr = { .wr_id = (uintptr_t)wqe | RDMA_ID_SRQ, .sg_list = sge }, *bad;
	enum datp_err err;
	int rc;

	err = sges_of(base->obj.ia, base->pz, iov, n, true, sge, &wr.num_sge, NULL);
	if (err)
		return err;
	give_segment(sge, &wr.num_sge);
	rc = ibv_post_srq_recv(((struct rdma_srq *)base)->srq, &wr, &bad);
	if (__builtin_expect(!rc, 1))
		return DATP_OK;
	rc = rdma_post_said(rdma_ia(base->obj.ia), rc);
	if (rc)
		say_refused(rdma_ia(base->obj.ia), "a receive", base, rc);
	return !rc ? DATP_OK : rc == ENOMEM ? DATP_ERR_CREDITS : rc == EINVAL ? DATP_ERR_PARAM : DATP_ERR_DEVICE;
}
