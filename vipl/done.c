/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Returns descriptors to the program, by polling or by waiting. Invariant: only the first
 * descriptor of a queue is examined, and a thread that polls never blocks behind one that waits.
 */
#include "impl.h"

static VIP_RETURN done(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR **descriptor)
{
	struct vi *vi = vi_get(handle);
	struct queue *q;
	VIP_RETURN ret;

	if (vi == NULL || descriptor == NULL)
		return VIP_INVALID_PARAMETER;
	q = recv ? &vi->recvq : &vi->sendq;
	pthread_mutex_lock(&q->work->lock);
	ret = vi_exists(vi) ? queue_pop_locked(q, descriptor) : VIP_INVALID_PARAMETER;
	pthread_mutex_unlock(&q->work->lock);
	return ret;
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **descriptor)
{
	return done(vi, false, descriptor);
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **descriptor)
{
	return done(vi, true, descriptor);
}

static VIP_RETURN wait_locked(struct queue *q, uint64_t until, VIP_DESCRIPTOR **descriptor)
{
	VIP_RETURN ret;

	while ((ret = queue_pop_locked(q, descriptor)) == VIP_NOT_DONE) {
		if (now_ms() >= until)
			return VIP_TIMEOUT;
		work_wait_locked(q->work, until);
	}
	return ret;
}

static VIP_RETURN wait(VIP_VI_HANDLE handle, bool recv, VIP_ULONG timeout,
		       VIP_DESCRIPTOR **descriptor)
{
	struct vi *vi = vi_get(handle);
	struct queue *q;
	VIP_RETURN ret;

	if (vi == NULL || descriptor == NULL)
		return VIP_INVALID_PARAMETER;
	q = recv ? &vi->recvq : &vi->sendq;
	if (q->work->cq != NULL)
		return RULE_WAIT_WITH_CQ;
	pthread_mutex_lock(&q->work->lock);
	ret = vi_exists(vi) ? wait_locked(q, deadline_ms(timeout), descriptor) : VIP_INVALID_PARAMETER;
	pthread_mutex_unlock(&q->work->lock);
	return ret;
}

VIP_RETURN VipSendWait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **descriptor)
{
	return wait(vi, false, timeout, descriptor);
}

VIP_RETURN VipRecvWait(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **descriptor)
{
	return wait(vi, true, timeout, descriptor);
}
