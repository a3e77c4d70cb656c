/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. The buffers of one are in private memory, and only the owner matches them,
 * in the order in which messages come off its rings. For a message that cannot leave its sender
 * without a buffer the service thread does that if nobody polls (soft_ring_want_service()). An
 * endpoint that finds the queue empty is put on a list, and the service thread serves it when a
 * buffer is posted, because the poster must not take locks of endpoints.
 */
#include "srq.h"
#include "conn.h"
#include "cq.h"
#include "ia.h"
#include "mr.h"
#include "owed.h"
#include "port.h"
#include "polling.h"
#include "recv.h"
#include "setup.h"
#include <stdlib.h>
#include <string.h>

static uint32_t ring_size(int32_t max)
{
	uint32_t size = 16;

	while (size < (uint32_t)max)
		size <<= 1;
	return size;
}

enum datp_err soft_srq_create(struct datp_srq *base)
{
	struct soft_srq *srq = soft_srq(base);
	uint32_t size = ring_size(base->max_recv_dtos);

	srq->ring = calloc(size, sizeof *srq->ring);
	srq->mask = size - 1;
	srq->stalled_tail = &srq->stalled;
	return srq->ring ? DATP_OK : DATP_ERR_SRQ;
}

void soft_srq_free(struct datp_srq *base)
{
	struct soft_srq *srq = soft_srq(base);
	struct soft_srqe *ring;

	/* a thread that counts the buffers may still be running */
	datp_lock(&base->lock);
	ring = srq->ring;
	srq->ring = NULL;
	srq->posted = srq->taken = 0;
	datp_unlock(&base->lock);
	free(ring);
}

enum datp_err soft_srq_resize(struct datp_srq *base, int32_t max_recv_dtos)
{
	struct soft_srq *srq = soft_srq(base);
	uint32_t size = ring_size(max_recv_dtos);
	struct soft_srqe *ring = calloc(size, sizeof *ring), *old;

	if (!ring)
		return DATP_ERR_SRQ;
	datp_lock(&base->lock);
	if (!srq->ring || srq->posted - srq->taken > size) {
		datp_unlock(&base->lock);
		free(ring);
		return DATP_ERR_STATE;
	}
	for (uint32_t i = srq->taken; i != srq->posted; i++)
		ring[i & (size - 1)] = srq->ring[i & srq->mask];
	old = srq->ring;
	srq->ring = ring;
	srq->mask = size - 1;
	datp_unlock(&base->lock);
	free(old);
	return DATP_OK;
}

/* Takes the endpoint off the list that *at points to. SRQ lock. */
static void stalled_unlink(struct soft_srq *srq, struct soft_ep **at)
{
	struct soft_ep *ep = *at;

	*at = ep->srq_next;
	if (!*at)
		srq->stalled_tail = at;
	ep->srq_stalled = false;
}

/* Serves endpoints that were waiting. Service thread. */
static void srq_serve(void *arg)
{
	struct soft_srq *srq = arg;

	for (;;) {
		struct soft_ep *ep;

		datp_lock(&srq->base.lock);
		ep = srq->posted != srq->taken ? srq->stalled : NULL;
		if (ep) {
			stalled_unlink(srq, &srq->stalled);
		}
		datp_unlock(&srq->base.lock);
		if (!ep)
			return;
		/*
		 * type-stable memory: if the endpoint has been freed meanwhile, it is not open, or
		 * belongs to another
		 */
		if (!soft_ep_try(ep)) {
			soft_owe(ep, SOFT_OWED_SRQ);
			continue;
		}
		if (ep->open && ep->base.srq == &srq->base)
			(void)soft_recv_progress(ep);
		datp_unlock(&ep->base.lock);
	}
}

enum datp_err soft_srq_post_recv(struct datp_srq *base, struct datp_wqe *wqe,
				 const struct datp_sge *iov, int n)
{
	struct soft_srq *srq = soft_srq(base);
	struct soft_srqe *e = &srq->ring[srq->posted & srq->mask];
	enum datp_err err =
		soft_mr_check_iov(soft_ia(base->obj.ia)->own, soft_pz_id(base->pz), iov, n, true);

	if (err)
		return err;
	if (srq->posted - srq->taken > srq->mask)
		return DATP_ERR_SRQ;
	e->wqe = wqe;
	e->n = n;
	if (n) /* the list may be NULL */
		memcpy(e->sge, iov, (size_t)n * sizeof *iov);
	srq->posted++;
	if (srq->stalled)
		(void)datp_loop_call(base->obj.ia, srq_serve,
				     srq); /* without memory: at the next post */
	return DATP_OK;
}

struct datp_wqe *soft_srq_take(struct soft_ep *ep, const struct datp_sge **sge, int *count,
			       uint32_t *pz)
{
	struct soft_srq *srq = soft_srq(ep->base.srq);
	struct datp_wqe *wqe = NULL;
	struct soft_posted *taken;
	bool low = false;

	datp_lock(&srq->base.lock);
	if (srq->taken == srq->posted) {
		if (!ep->srq_stalled) {
			ep->srq_next = NULL;
			*srq->stalled_tail = ep;
			srq->stalled_tail = &ep->srq_next;
			ep->srq_stalled = true;
		}
	} else {
		struct soft_srqe *e = &srq->ring[srq->taken++ & srq->mask];

		wqe = e->wqe;
		wqe->op = DATP_RECV;
		datp_srq_take(wqe, &ep->base);
		/* a copy: the entry is free from now on */
		taken = soft_posted_at(&ep->receives, 0);
		soft_posted_put(taken, 0, e->sge, (uint32_t)e->n);
		*sge = taken->sge;
		*count = e->n;
		*pz = soft_pz_id(srq->base.pz);
		low = srq->low && srq->posted - srq->taken < (uint32_t)srq->low;
		if (low)
			srq->low = 0; /* one event for each setting */
	}
	datp_unlock(&srq->base.lock);
	if (low)
		datp_srq_low(&srq->base);
	if (wqe)
		soft_ep_marks(ep);
	return wqe;
}

void soft_srq_forget(struct soft_ep *ep)
{
	struct soft_srq *srq = soft_srq(ep->base.srq);

	datp_lock(&srq->base.lock);
	if (ep->srq_stalled) {
		struct soft_ep **at = &srq->stalled;

		while (*at != ep)
			at = &(*at)->srq_next;
		stalled_unlink(srq, at);
	}
	datp_unlock(&srq->base.lock);
}

/* Takes what has arrived at the endpoints of this queue, so that its counts are up to date. */
static void srq_drain(struct soft_srq *srq)
{
	struct soft_ia *ia = soft_ia(srq->base.obj.ia);
	struct soft_cq *last = NULL;

	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);
		struct soft_cq *cq;

		if (!ep || ep->base.srq != &srq->base)
			continue;
		/* type-stable memory, if the endpoint is freed meanwhile; mostly they share one EVD */
		cq = soft_ep_recv_cq(ep);
		if (cq != last)
			(void)soft_cq_drain(cq);
		last = cq;
	}
}

enum datp_err soft_srq_query(struct datp_srq *base, int32_t *available)
{
	struct soft_srq *srq = soft_srq(base);

	srq_drain(srq);
	datp_lock(&base->lock);
	*available = (int32_t)(srq->posted - srq->taken);
	datp_unlock(&base->lock);
	return DATP_OK;
}

enum datp_err soft_srq_set_lw(struct datp_srq *base, int32_t low_watermark)
{
	struct soft_srq *srq = soft_srq(base);
	bool now;

	/* comes before the look at what has arrived: from here on the service thread is notified of arrivals */
	soft_ia_watch(soft_ia(base->obj.ia));
	srq_drain(srq);
	datp_lock(&base->lock);
	now = low_watermark > 0 && srq->posted - srq->taken < (uint32_t)low_watermark;
	srq->low = now ? 0 : low_watermark;
	datp_unlock(&base->lock);
	if (now)
		datp_srq_low(base);
	return DATP_OK;
}

/*
 * Returns the number of buffers that this endpoint holds: posted to it and not completed, or taken
 * from its SRQ and not reaped.
 */
static int32_t ep_held(struct soft_ep *ep)
{
	if (ep->base.srq)
		return (int32_t)atomic_load_explicit(&ep->base.held, memory_order_relaxed);
	return (int32_t)(ep->base.rq.posted - ep->base.rq.finished);
}

enum datp_err soft_ep_recv_query(struct datp_ep *base, int32_t *allocated, int32_t *span)
{
	struct soft_ep *ep = soft_ep(base);

	(void)soft_cq_drain(soft_ep_recv_cq(ep));
	datp_lock(&base->lock);
	*allocated = *span = ep_held(ep);
	datp_unlock(&base->lock);
	return DATP_OK;
}

/* The endpoint has taken one more buffer: checks whether it has passed a watermark. EP lock. */
void soft_ep_marks(struct soft_ep *ep)
{
	int32_t held = ep_held(ep);

	if (ep->soft_mark >= 0 && held > ep->soft_mark) {
		ep->soft_mark = -1; /* one event for each setting */
		datp_ep_high(&ep->base, false);
	}
	if (ep->hard_mark >= 0 && held > ep->hard_mark) {
		ep->hard_mark = -1;
		soft_ep_fail(ep);
	}
}

enum datp_err soft_ep_set_watermark(struct datp_ep *base, int32_t soft, int32_t hard)
{
	struct soft_ep *ep = soft_ep(base);

	datp_lock(&base->lock);
	ep->soft_mark = soft;
	ep->hard_mark = hard;
	datp_unlock(&base->lock);
	soft_ia_watch(soft_ia(base->obj.ia));
	(void)soft_cq_drain(soft_ep_recv_cq(ep));
	datp_lock(&base->lock);
	soft_ep_marks(ep);
	datp_unlock(&base->lock);
	return DATP_OK;
}
