/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates and flushes the work queues of endpoints. Invariant: each posted operation is either
 * completed, in the order of posting, or dropped with the endpoint; never both.
 */
#include <sched.h>
#include <stdlib.h>

#include "ep.h"
#include "providers/common/base/bias.h"
#include "providers/common/base/turn.h"
#include "srq.h"

#define MOMENT_US 1000 /* a thread that takes events rarely has a poll lock for longer */

/*
 * The ring of queues whose own ring has been freed: a late poster computes an address in it, but gets
 * no slot.
 */
static struct datp_wqe nowhere;

bool wq_init(struct datp_wq *wq, int32_t max)
{
	uint32_t size = 1;

	while (size < (uint32_t)max)
		size <<= 1;
	wq->ring = calloc(size, sizeof(*wq->ring));
	if (!wq->ring)
		return false;
	wq->mask = size - 1;
	return true;
}

void wq_free(struct datp_wq *wq)
{
	free(wq->ring);
	wq->ring = &nowhere;
	wq->mask = 0;
}

void ep_queues_open(struct datp_ep *ep)
{
	datp_lock(&ep->lock);
	ep->sq.max = (uint32_t)ep->attr.max_request_dtos;
	ep->rq.max = ep->srq ? 1 : (uint32_t)ep->attr.max_recv_dtos;
	datp_unlock(&ep->lock);
}

void ep_queues_close_locked(struct datp_ep *ep)
{
	ep->sq.max = ep->rq.max = 0;
}

void ep_queues_free(struct datp_ep *ep)
{
	datp_lock(&ep->lock);
	wq_free(&ep->rq);
	wq_free(&ep->sq);
	datp_unlock(&ep->lock);
}

static void flush_queue(struct datp_wq *wq)
{
	while (wq->finished != wq->posted)
		datp_wqe_done(&wq->ring[wq->finished & wq->mask], DAT_DTO_ERR_FLUSHED, 0, false);
}

void ep_flush_locked(struct datp_ep *ep)
{
	flush_queue(&ep->sq);
	if (ep->srq)
		srq_flush_ep(ep->srq, ep);
	else
		flush_queue(&ep->rq);
}

/*
 * Collects the EVDs with a poll lock, each once, in the order of their addresses, which is the
 * order of locking.
 */
static int poll_evds(const struct datp_ep *ep, struct datp_evd *evds[2])
{
	struct datp_evd *a = ep->recv_evd, *b = ep->request_evd;
	int n = 0;

	if ((uintptr_t)a > (uintptr_t)b) {
		a = ep->request_evd;
		b = ep->recv_evd;
	}
	if (a)
		evds[n++] = a;
	if (b && b != a)
		evds[n++] = b;
	return n;
}

void ep_poll_lock(struct datp_ep *ep)
{
	struct datp_evd *evds[2];
	int n = poll_evds(ep, evds);

	for (int i = 0; i < n; i++)
		datp_lock(&evds[i]->poll_lock);
	for (int i = 0; i < n; i++)
		evd_drain_locked(evds[i]);
}

/* Takes the poll locks if all are free, or biased to threads that are not inside. Returns false if it has taken none. */
static bool poll_trylock(struct datp_evd *evds[2], int n)
{
	for (int i = 0; i < n; i++)
		if (!datp_bias_trylock(&evds[i]->poll_lock)) {
			while (i--)
				datp_unlock(&evds[i]->poll_lock);
			return false;
		}
	return true;
}

bool ep_poll_try(struct datp_ep *ep)
{
	struct ia_priv *ia = ia_priv(ep->obj.ia);
	struct datp_evd *evds[2];
	int n = poll_evds(ep, evds);
	uint64_t until;

	if (!datp_loop_inside(ep->obj.ia)) {
		ep_poll_lock(ep);
		return true;
	}
	/* the ends that are put off are tried again together, so they share the moment */
	until = datp_clock_us() + MOMENT_US / (1 + ia->put_off);
	while (!poll_trylock(evds, n)) {
		if (datp_clock_us() >= until) {
			/* it needs both, and is not told which one it could not have */
			for (int i = 0; i < n; i++)
				datp_turn_want(&evds[i]->poll_lock);
			return false;
		}
		sched_yield();
	}
	for (int i = 0; i < n; i++) {
		datp_turn_had(&evds[i]->poll_lock);
		evd_drain_locked(evds[i]);
	}
	return true;
}

void ep_poll_unlock(struct datp_ep *ep)
{
	struct datp_evd *evds[2];
	int n = poll_evds(ep, evds);

	while (n--)
		datp_unlock(&evds[n]->poll_lock);
}

static void wq_forget(struct datp_wq *wq)
{
	wq->finished = wq->posted;
	/* release: as a reaper does, pairs with the poster's acquire */
	atomic_store_explicit(&wq->reaped, wq->posted, memory_order_release);
}

/* Completes the outstanding binds as flushed, which releases the LMRs that they hold. */
static void binds_end(struct datp_wq *sq)
{
	for (uint32_t s = sq->finished; s != sq->posted; s++)
		if (sq->ring[s & sq->mask].op == DATP_BIND)
			datp_bind_done(&sq->ring[s & sq->mask], DAT_DTO_ERR_FLUSHED);
}

void ep_purge(struct datp_ep *ep)
{
	struct datp_evd *evds[3] = { ep->recv_evd, ep->request_evd, ep->connect_evd };

	for (int i = 0; i < 3; i++)
		if (evds[i])
			evd_purge_ep(evds[i], ep);
	datp_lock(&ep->lock);
	/* with the lock, because a provider may report an error with it */
	evd_purge_async(ep->obj.ia, &ep->obj);
	if (ep_priv(ep)->loan && ep_conn_evd_locked(ep))
		evd_purge_ep(ep_conn_evd_locked(ep), ep);
	if (ep->srq)
		srq_forget_ep(ep->srq, ep);
	binds_end(&ep->sq);
	wq_forget(&ep->sq);
	wq_forget(&ep->rq);
	ep_priv(ep)->sq_from = ep->sq.posted;
	ep_priv(ep)->rq_from = ep->rq.posted;
	datp_unlock(&ep->lock);
}
