/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loopback transport's data path: posts to endpoints and SRQs. Invariant: a request has moved
 * its data when its completion can be polled.
 */
#include <stdlib.h>
#include <string.h>

#include "core_loopback_priv.h"

static enum datp_err iov_check(struct datp_ia *ia, const struct datp_pz *pz,
			       const struct datp_sge *iov, int n, unsigned int need)
{
	for (int i = 0; i < n; i++) {
		struct datp_lmr *lmr = null_ops.lmr_find(ia, iov[i].lmr_context);

		if (!lmr || iov[i].addr < lmr->addr ||
		    iov[i].addr + iov[i].len > lmr->addr + lmr->len)
			return DATP_ERR_PARAM;
		if (lmr->pz != pz)
			return DATP_ERR_PROTECTION;
		if (need & ~(unsigned int)lmr->priv)
			return DATP_ERR_PRIV_WRITE;
	}
	return DATP_OK;
}

static enum datp_err lo_post_recv(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n)
{
	struct lo_ep *lo = (struct lo_ep *)ep;
	enum datp_err err = iov_check(ep->obj.ia, ep->pz, iov, n, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	if (err)
		return err;
	pthread_mutex_lock(&lo_wire);
	if (!lo->over) {
		lo_recv_put(&lo->recvs, lo_recv_make(wqe, iov, n));
		if (lo->inbox.first)
			lo_ring_locked(ep->recv_evd);
	}
	pthread_mutex_unlock(&lo_wire);
	return DATP_OK;
}

static struct item *gather(const struct datp_sge *iov, int n, uint64_t len)
{
	struct item *item = calloc(1, sizeof(*item) + len);

	for (int i = 0; i < n; i++) {
		memcpy(item->data + item->len, (void *)(uintptr_t)iov[i].addr, iov[i].len);
		item->len += iov[i].len;
	}
	return item;
}

/* Completes an operation. The EP lock is held, lo_wire is not. */
static void complete(struct datp_ep *ep, struct datp_wqe *wqe, uint8_t status)
{
	struct item *item;

	if (loopback.complete_in_post || !ep->request_evd) {
		datp_wqe_done(wqe, status, wqe->len, false);
		return;
	}
	item = calloc(1, sizeof(*item));
	item->wqe = wqe;
	item->status = status;
	item->len = wqe->len;
	pthread_mutex_lock(&lo_wire);
	lo_put(&((struct lo_evd *)ep->request_evd)->done, item);
	lo_ring_locked(ep->request_evd);
	pthread_mutex_unlock(&lo_wire);
}

static enum datp_err lo_post_send(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n)
{
	struct lo_ep *lo = (struct lo_ep *)ep, *peer;
	enum datp_err err = iov_check(ep->obj.ia, ep->pz, iov, n, 0);
	struct item *item;

	if (err)
		return err;
	item = gather(iov, n, wqe->len);
	item->solicited = wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	pthread_mutex_lock(&lo_wire);
	if (lo->over || !lo->link || lo->link->dead) {
		pthread_mutex_unlock(&lo_wire);
		free(item);
		return DATP_OK;	/* flushed by libdatp, soon */
	}
	peer = lo->link->ep[!lo->side];
	if (peer) {
		lo_put(&peer->inbox, item);
		lo_ring_locked(peer->base.recv_evd);
	} else {
		free(item);
	}
	pthread_mutex_unlock(&lo_wire);
	complete(ep, wqe, DAT_DTO_SUCCESS);
	return DATP_OK;
}

/* Executes an RDMA operation on memory of the peer's IA, under the wire lock. */
static enum datp_err rdma(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			  int n, const struct datp_rge *remote, bool write)
{
	struct lo_ep *lo = (struct lo_ep *)ep;
	unsigned int need = write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
	enum datp_err err = iov_check(ep->obj.ia, ep->pz, iov, n, 0);
	uint8_t status = DAT_DTO_ERR_REMOTE_ACCESS;
	uint64_t at = remote->addr;
	struct datp_lmr *lmr;

	if (err)
		return err;
	pthread_mutex_lock(&lo_wire);
	if (lo->link && lo->link->ep[!lo->side]) {
		lmr = null_ops.lmr_find(lo->link->ep[!lo->side]->base.obj.ia,
					remote->rmr_context - 256);
		if (lmr && !(need & ~(unsigned int)lmr->priv) && at >= lmr->addr &&
		    at + wqe->len <= lmr->addr + lmr->len)
			status = DAT_DTO_SUCCESS;
	}
	for (int i = 0; status == DAT_DTO_SUCCESS && i < n; i++) {
		void *here = (void *)(uintptr_t)iov[i].addr, *there = (void *)(uintptr_t)at;

		memcpy(write ? there : here, write ? here : there, iov[i].len);
		at += iov[i].len;
	}
	pthread_mutex_unlock(&lo_wire);
	complete(ep, wqe, status);
	if (status)
		loopback_break(ep);
	return DATP_OK;
}

static enum datp_err lo_post_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	return rdma(ep, wqe, iov, n, remote, true);
}

static enum datp_err lo_post_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	return rdma(ep, wqe, iov, n, remote, false);
}

/* ------------------------------------------------------------------ SRQ */

static enum datp_err lo_srq_create(struct datp_srq *srq)
{
	(void)srq;
	return DATP_OK;
}

static void lo_srq_free(struct datp_srq *srq)
{
	struct queue none = { 0 };

	lo_queues_empty(&none, &((struct lo_srq *)srq)->recvs);
}

static enum datp_err lo_srq_resize(struct datp_srq *srq, int32_t max)
{
	(void)srq, (void)max;
	return DATP_OK;
}

static enum datp_err lo_srq_post_recv(struct datp_srq *srq, struct datp_wqe *wqe,
				      const struct datp_sge *iov, int n)
{
	enum datp_err err = iov_check(srq->obj.ia, srq->pz, iov, n, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	if (err)
		return err;
	loopback.srq_len = wqe->len;
	lo_recv_put(&((struct lo_srq *)srq)->recvs, lo_recv_make(wqe, iov, n));
	((struct lo_srq *)srq)->count++;
	return DATP_OK;
}

/* Declares watermarks, so that libdatp checks the arguments, but cannot arm any. */
static enum datp_err lo_srq_set_lw(struct datp_srq *srq, int32_t low_watermark)
{
	(void)srq, (void)low_watermark;
	return DATP_ERR_MODEL;
}

static enum datp_err lo_ep_set_watermark(struct datp_ep *ep, int32_t soft, int32_t hard)
{
	(void)ep, (void)soft, (void)hard;
	return DATP_ERR_MODEL;
}

static enum datp_err lo_srq_query(struct datp_srq *srq, int32_t *available)
{
	datp_lock(&srq->lock);
	*available = ((struct lo_srq *)srq)->count;
	datp_unlock(&srq->lock);
	return DATP_OK;
}

void lo_data_ops(struct datp_ops *ops)
{
	ops->srq_create = lo_srq_create;
	ops->srq_free = lo_srq_free;
	ops->srq_resize = lo_srq_resize;
	ops->srq_post_recv = lo_srq_post_recv;
	ops->srq_query = lo_srq_query;
	ops->srq_set_lw = lo_srq_set_lw;
	ops->ep_set_watermark = lo_ep_set_watermark;
	ops->post_send = lo_post_send;
	ops->post_recv = lo_post_recv;
	ops->post_rdma_write = lo_post_write;
	ops->post_rdma_read = lo_post_read;
}
