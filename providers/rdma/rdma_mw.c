/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RMRs. Each bind creates a new object for its range: a memory window of type 1 if the device has
 * windows and the memory can have one, or else a registration of just that range. In both cases the
 * bind is a request of its endpoint and completes in order. Invariant: when a bind has completed
 * successfully, the objects of all binds before it are freed, once; the object of a failed bind is
 * freed at once. So a failed bind changes nothing. One window that is bound again and again cannot
 * guarantee that: a bind that is flushed may have been executed (rxe does so while earlier requests
 * wait for their answers), and then nobody knows which key the device accepts. Also, binds on
 * several endpoints do not depend on each other's keys.
 */
#include "rdma_mr.h"
#include "rdma_mw.h"
#include "rdma_post.h"
#include "rdma_timer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum datp_err rdma_rmr_create(struct datp_rmr *rmr)
{
	struct rdma_ia *ia = rdma_ia(rmr->obj.ia);

	if (rdma_has_windows(ia) || rdma_emulates(ia))
		return DATP_OK;
	datp_log(2, "%s: no RMR: verbs device %s has no memory windows, and rmr=device in dat.conf forbids emulated "
		    "ones; take that word away",
		 ia->base.name, ibv_get_device_name(ia->verbs->device));
	return DATP_ERR_MODEL;
}

/* ------------------------------------------------------------------ ranges */

static void say_no_window(const struct rdma_ia *ia, int why)
{
	datp_log(1,
		 "%s: cannot allocate a memory window (ibv_alloc_mw) of verbs device %s: %s; all programs together may "
		 "have %d: free RMRs, or end programs that use the device",
		 ia->base.name, ibv_get_device_name(ia->verbs->device), strerror(why), ia->dev.max_mw);
}

/*
 * Registers the range, or creates a window that is bound later. While requests are deferred it registers, because the bind of a
 * window could not be deferred behind them. EP lock.
 */
static enum datp_err range_new(struct rdma_ep *ep, const struct datp_rmr *rmr,
			       const struct rdma_lmr *lmr, const struct ibv_mw_bind_info *info,
			       struct rdma_range **out)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct ibv_pd *pd = ((struct rdma_pz *)rmr->pz)->pd;
	struct rdma_range *range = calloc(1, sizeof(*range));
	int access = (int)info->mw_access_flags;
	enum datp_err err = DATP_ERR_REGION;

	if (!range) {
		datp_log(1, "%s: no memory for a bind; raise the limit of memory (ulimit -v)", ia->base.name);
		return DATP_ERR_MEMORY;
	}
	range->written = (access & IBV_ACCESS_REMOTE_WRITE) != 0;
	if (lmr->windows && rdma_has_windows(ia) && !rdma_defers_locked(ep)) {
		range->mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
		if (!range->mw)
			say_no_window(ia, errno);
	} else {
		/*
		 * Verbs require the right to local writes for a region with the right to remote writes.
		 * The consumer does not get the lkey.
		 */
		range->mr = ibv_reg_mr(pd, (void *)(uintptr_t)info->addr, info->length,
				       range->written ? access | IBV_ACCESS_LOCAL_WRITE : access);
		if (range->mr)
			range->key = range->mr->rkey;
		else
			err = rdma_mr_error(ia, info->length, errno);
	}
	*out = range;
	if (range->mr || range->mw)
		return DATP_OK;
	free(range);
	return err;
}

/* When it returns, peers cannot use these ranges any more. */
static void ranges_free(struct rdma_ia *ia, struct rdma_range *range)
{
	bool written = false;

	while (range) {
		struct rdma_range *next = range->next;

		if (range->mw ? ibv_dealloc_mw(range->mw) : ibv_dereg_mr(range->mr))
			datp_log(1, "%s: cannot deregister the range of an RMR: %s", ia->base.name,
				 strerror(errno));
		written |= range->written;
		free(range);
		range = next;
	}
	if (written)
		rdma_mr_settle(ia);
}

static void range_add(struct rdma_ia *ia, struct rdma_rmr *rmr, struct rdma_range *range)
{
	datp_lock(&ia->rmr_lock);
	range->next = rmr->ranges;
	rmr->ranges = range;
	datp_unlock(&ia->rmr_lock);
}

void rdma_rmr_free(struct datp_rmr *base)
{
	struct rdma_rmr *rmr = (struct rdma_rmr *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	struct rdma_range *ranges;

	datp_lock(&ia->rmr_lock);
	ranges = rmr->ranges;
	rmr->ranges = NULL;
	datp_unlock(&ia->rmr_lock);
	ranges_free(ia, ranges);
}

/*
 * The completion of an unbind says that the memory belongs to the program alone again, so
 * everything that has to end ends before that.
 */
bool rdma_rmr_done(struct datp_rmr *base, uint32_t context, uint64_t len, bool good)
{
	struct rdma_rmr *rmr = (struct rdma_rmr *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	struct rdma_range **at = &rmr->ranges, *over = NULL, *range;

	datp_lock(&ia->rmr_lock);
	while ((range = *at) != NULL) {
		bool this = len && range->key == context;

		if (good ? range->bound && !this : this) {
			*at = range->next;
			range->next = over;
			over = range;
			continue;
		}
		range->bound |= this;
		at = &range->next;
	}
	datp_unlock(&ia->rmr_lock);
	ranges_free(ia, over);
	return good;
}

/* ------------------------------------------------------------------ posting */

static int post_window(struct rdma_ep *ep, const struct datp_wqe *wqe, struct rdma_range *range,
		       const struct rdma_lmr *lmr, const struct ibv_mw_bind_info *info)
{
	struct ibv_mw_bind bind = { .wr_id = (uintptr_t)wqe,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = *info };
	int rc;

	if (wqe->post_flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		bind.send_flags |= IBV_SEND_FENCE;
	bind.bind_info.mr = lmr->mr;
	rc = ibv_bind_mw(ep->qp, range->mw, &bind);
	/* the bind gives the window a new key, which the driver has chosen within the call */
	range->key = range->mw->rkey;
	return rc;
}

/* mana allocates windows, but its library cannot bind one: only the bind itself shows that. */
static bool cannot_bind(int rc)
{
	return rc == EOPNOTSUPP || rc == ENOSYS;
}

static enum datp_err windows_end(struct rdma_ia *ia)
{
	/* relaxed: a hint, which spares later binds the attempt */
	if (atomic_exchange_explicit(&ia->windows, false, memory_order_relaxed))
		datp_log(2, "%s: verbs device %s has memory windows, but its driver cannot bind them: %s", ia->base.name,
			 ibv_get_device_name(ia->verbs->device),
			 rdma_emulates(ia) ? "RMRs are emulated from now on" : "with rmr=emulate "
										 "in dat.conf RMRs "
										 "are emulated");
	return DATP_ERR_MODEL;
}

/*
 * An unbind is also a marker in the queue, and not a bind of length 0: the previous binding ends
 * when the marker has completed.
 */
static enum datp_err post_range(struct rdma_ep *ep, struct datp_wqe *wqe, struct rdma_range *range,
				const struct rdma_lmr *lmr, const struct ibv_mw_bind_info *info)
{
	int rc = range && range->mw ? post_window(ep, wqe, range, lmr, info)
				    : rdma_post_marker(ep, (uintptr_t)wqe, true);

	rc = rc ? rdma_post_said(rdma_ep_ia(ep), rc) : 0;
	if (range && range->mw && cannot_bind(rc))
		return windows_end(rdma_ep_ia(ep));
	return rc ? rdma_post_error_locked(ep, &ep->base.sq, rc) : DATP_OK;
}

/*
 * Creates a range, and posts the request that completes its bind; if the device turns out to have
 * no windows, this is done once more with a registration. `*range` is NULL for an unbind, and after an
 * error.
 */
static enum datp_err range_bind(struct rdma_ep *ep, struct datp_wqe *wqe, const struct rdma_rmr *rmr,
				const struct rdma_lmr *lmr, const struct ibv_mw_bind_info *info,
				struct rdma_range **range)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	enum datp_err err;
	bool window;

	do {
		*range = NULL;
		if (info->length) {
			err = range_new(ep, &rmr->base, lmr, info, range);
			if (err)
				return err;
		}
		err = post_range(ep, wqe, *range, lmr, info);
		if (!err)
			return DATP_OK;
		window = *range && (*range)->mw;
		ranges_free(ia, *range);
		*range = NULL;
	} while (err == DATP_ERR_MODEL && window && rdma_emulates(ia));
	return err;
}

/* With the EP lock held, nobody sees the completion before the range is in the list. */
static enum datp_err bind_range(struct rdma_ep *ep, struct datp_wqe *wqe, struct rdma_rmr *rmr,
				const struct rdma_lmr *lmr, const struct ibv_mw_bind_info *info,
				uint32_t *context)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct rdma_range *range;
	enum datp_err err;

	*context = 0;
	rdma_accept_before_request_locked(ep);
	/* accepted, and will be flushed */
	if (ep->over || ep->broken)
		return DATP_OK;
	err = range_bind(ep, wqe, rmr, lmr, info, &range);
	if (err)
		return err;
	if (range) {
		range_add(ia, rmr, range);
		*context = range->key;
	}
	return DATP_OK;
}

enum datp_err rdma_rmr_bind(struct datp_ep *base, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS flags, uint32_t *context)
{
	struct ibv_mw_bind_info info = { .addr = addr, .length = len };
	unsigned int priv = (unsigned int)flags;
	struct rdma_ep *ep = rdma_ep(base);

	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		info.mw_access_flags |= IBV_ACCESS_REMOTE_READ;
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		info.mw_access_flags |= IBV_ACCESS_REMOTE_WRITE;
	return rdma_span_follow(&ep->requests,
			       bind_range(ep, wqe, (struct rdma_rmr *)rmr, (struct rdma_lmr *)lmr,
					  &info, context));
}
