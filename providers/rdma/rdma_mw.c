/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RMRs: memory windows of type 1 where the device has them, else each bind registers its range anew.
 * Either way a bind is a request of its endpoint and completes in order. Invariant: an emulated RMR's old
 * registration goes when the bind that replaces it has completed.
 */
#include "rdma.h"
#include <errno.h>
#include <string.h>

enum datp_err rdma_rmr_create(struct datp_rmr *base)
{
	struct rdma_rmr *rmr = (struct rdma_rmr *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);

	if (!ia->windows)
		return ia->opt.emulate_rmr ? DATP_OK : DATP_ERR_MODEL;
	rmr->mw = ibv_alloc_mw(((struct rdma_pz *)base->pz)->pd, IBV_MW_TYPE_1);
	return rmr->mw ? DATP_OK : DATP_ERR_REGION;
}

static void drop_mr(struct rdma_rmr *rmr, struct ibv_mr **mr)
{
	if (*mr && ibv_dereg_mr(*mr))
		datp_log(1, "%s: cannot deregister the range of an RMR: %s",
			 rmr->base.obj.ia->name, strerror(errno));
	*mr = NULL;
}

void rdma_rmr_free(struct datp_rmr *base)
{
	struct rdma_rmr *rmr = (struct rdma_rmr *)base;

	if (rmr->mw && ibv_dealloc_mw(rmr->mw))
		datp_log(1, "%s: cannot free a memory window: %s", base->obj.ia->name,
			 strerror(errno));
	drop_mr(rmr, &rmr->mr);
	drop_mr(rmr, &rmr->old);
}

/* ------------------------------------------------------------------ windows */

static enum datp_err bind_window(struct rdma_ep *ep, struct datp_wqe *wqe, struct rdma_rmr *rmr,
				 struct rdma_lmr *lmr, const struct ibv_mw_bind_info *info,
				 uint32_t *context)
{
	struct ibv_mw_bind bind = { .wr_id = (uintptr_t)wqe,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = *info };
	int rc;

	if (wqe->post_flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		bind.send_flags |= IBV_SEND_FENCE;
	/*
	 * An unbind is a bind of length 0. The drivers of rxe and irdma look into the region all the
	 * same, so it gets the last one.
	 */
	if (lmr)
		rmr->bound = lmr->mr;
	bind.bind_info.mr = lmr ? lmr->mr : rmr->bound;
	rc = ibv_bind_mw(ep->qp, rmr->mw, &bind);
	if (rc)
		return rdma_post_error(rc);
	*context = info->length ? rmr->mw->rkey : 0;
	return DATP_OK;
}

/* ------------------------------------------------------------------ emulation */

static enum datp_err bind_registration(struct rdma_ep *ep, struct datp_wqe *wqe,
				       struct rdma_rmr *rmr, const struct ibv_mw_bind_info *info,
				       uint32_t *context)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct ibv_mr *mr = NULL;
	int rc;

	if (info->length) {
		/*
		 * A region that may be written remotely is written locally too, as far as verbs go; the
		 * consumer has no name for it there.
		 */
		int access = (int)info->mw_access_flags;

		if (access & IBV_ACCESS_REMOTE_WRITE)
			access |= IBV_ACCESS_LOCAL_WRITE;
		mr = ibv_reg_mr(((struct rdma_pz *)rmr->base.pz)->pd,
				(void *)(uintptr_t)info->addr, info->length, access);
		if (!mr)
			return rdma_mr_error(ia, info->length, errno);
	}
	rc = rdma_post_said(rdma_post_marker(ep, (uintptr_t)wqe, true));
	if (rc) {
		if (mr)
			ibv_dereg_mr(mr);
		return rdma_post_error(rc);
	}
	/* two binds of one RMR in flight: the first one's range has had its day */
	drop_mr(rmr, &rmr->old);
	rmr->old = rmr->mr;
	rmr->mr = mr;
	*context = mr ? mr->rkey : 0;
	return DATP_OK;
}

void rdma_bind_done(struct rdma_rmr *rmr, bool good)
{
	/* A flushed bind never took place; but whoever could use the old context is gone as well. */
	(void)good;
	if (!rmr->mw)
		drop_mr(rmr, &rmr->old);
}

/* ------------------------------------------------------------------ both */

static enum datp_err bind_range(struct datp_ep *base, struct datp_wqe *wqe,
				struct datp_rmr *rmr_base, struct datp_lmr *lmr, uint64_t addr,
				uint64_t len, DAT_MEM_PRIV_FLAGS flags, uint32_t *context)
{
	struct rdma_rmr *rmr = (struct rdma_rmr *)rmr_base;
	struct rdma_ep *ep = rdma_ep(base);
	struct ibv_mw_bind_info info = { .addr = addr, .length = len };
	unsigned int priv = (unsigned int)flags;

	rdma_late_request_locked(ep);
	if (ep->over || ep->broken)
		return DATP_OK;
	if (len && (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG))
		info.mw_access_flags |= IBV_ACCESS_REMOTE_READ;
	if (len && (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		info.mw_access_flags |= IBV_ACCESS_REMOTE_WRITE;
	if (rmr->mw && (len || rmr->bound))
		return bind_window(ep, wqe, rmr, (struct rdma_lmr *)lmr, &info, context);
	return bind_registration(ep, wqe, rmr, &info, context);
}

enum datp_err rdma_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS flags, uint32_t *context)
{
	return rdma_run_follow(&rdma_ep(ep)->requests,
			       bind_range(ep, wqe, rmr, lmr, addr, len, flags, context));
}
