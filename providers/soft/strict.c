/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an adapter with strict=on punishes; see strict.h. Such an adapter sends nothing by cells (soft_ep.credits is 0), so that
 * each message is a request in the queue until the peer has posted its receive.
 */
#include "strict.h"
#include "bound.h"
#include "conn.h"
#include "exec.h"
#include "mr.h"
#include "progress.h"
#include "recv.h"
#include "send.h"
#include "unready.h"
#include "log/limited.h"

/* Returns true if each segment is in memory that has the right to remote writes. */
static bool sink_is_remote(const struct soft_mr *own, const struct datp_sge *iov, int n)
{
	struct soft_range range;

	for (int i = 0; i < n; i++)
		if (iov[i].len && soft_mr_get(own, iov[i].lmr_context, &range) &&
		    !(range.priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
			return false;
	return true;
}

enum datp_err soft_strict_check(struct soft_ep *ep, const struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	if (ep->suppressed >= ep->base.sq.max) {
		datp_log(1,
			 "soft: adapter %s: the completions of the last %u requests are suppressed, which is all that the "
			 "endpoint's queue holds; hardware reuses their entries when a later request completes, so request a "
			 "completion before that (strict=on)",
			 ia->base.name, ep->suppressed);
		return DATP_ERR_CREDITS;
	}
	if (wqe->op == DATP_RDMA_READ && !sink_is_remote(ia->own, iov, n)) {
		datp_log(1,
			 "soft: adapter %s: the memory that an RDMA Read goes to is not registered with "
			 "DAT_MEM_PRIV_REMOTE_WRITE_FLAG, which iWARP devices need (strict=on)",
			 ia->base.name);
		return DATP_ERR_PRIV_WRITE;
	}
	ep->suppressed = wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG ? ep->suppressed + 1 : 0;
	return DATP_OK;
}

/*
 * Returns true if requests of this side have not been executed, and the peer is late with its receives. That of an SRQ is never
 * late. EP lock.
 */
static bool is_waiting(const struct soft_ep *ep)
{
	return ep->open && !ep->failing && !ep->rlayout.srq && !soft_requests_done(ep);
}

void soft_strict_look_later(struct soft_ep *ep)
{
	if (is_waiting(ep))
		soft_unready_watch(ep);
}

bool soft_strict_not_ready(struct soft_ep *ep, uint32_t seq)
{
	static struct log_limit late;
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint64_t now;

	if (!ia->strict)
		return false;
	now = soft_now_ms();
	if (ep->rnr_until && ep->rnr_seq == seq) {
		if (now < ep->rnr_until)
			return false;
		log_limited(&late, 1,
			    "soft: adapter %s: a message has found no receive for %d ms, so its connection ends; post receives "
			    "at the peer before this side sends, as RDMA hardware needs it (strict=on)",
			    ia->base.name, SOFT_UNREADY_MS);
		return true;
	}
	ep->rnr_until = now + SOFT_UNREADY_MS;
	ep->rnr_seq = seq;
	return false;
}

bool soft_strict_look(struct soft_ep *ep)
{
	if (!soft_ia(ep->base.obj.ia)->strict || !is_waiting(ep))
		return false;
	if (!soft_progress_puts_off(ep, true))
		soft_exec_run(ep, true);
	soft_sq_reap(ep);
	/* a request that is not in the queue any more would never be found late */
	if (is_waiting(ep) && !soft_queue_is_whole(ep))
		soft_ep_corrupted(ep);
	return is_waiting(ep);
}
