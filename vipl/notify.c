/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns notices: handlers that wait for a completion. Invariant: a notice is on its work's list
 * until it is dropped, or a completion has been taken for its call.
 */
#include <stdlib.h>

#include "impl.h"

/*
 * Appends a notice, and wakes the herald, because its completion may be there already. `vi` is NULL for a completion queue.
 * Frees the notice instead if the VI or the completion queue has been destroyed meanwhile. One that is destroyed later drops
 * the notice.
 */
static VIP_RETURN notice_add(struct work *w, struct notice *notice, const struct vi *vi)
{
	struct notice **at;
	int own = cancel_off();
	bool exists;

	pthread_mutex_lock(&w->lock);
	exists = vi == NULL ? cq_exists(w->cq) : vi_exists(vi);
	if (exists) {
		for (at = &w->notices; *at != NULL; at = &(*at)->next)
			;
		*at = notice;
		herald_watch(w);
	}
	pthread_mutex_unlock(&w->lock);
	if (exists)
		herald_wake(w->nic);
	else
		free(notice);
	cancel_restore(own);
	return exists ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

static VIP_RETURN notify(VIP_VI_HANDLE handle, bool recv, void *context, VIP_VI_HANDLER handler)
{
	struct vi *vi = vi_get(handle);
	struct notice *notice;
	struct queue *q;

	if (vi == NULL || handler == NULL)
		return VIP_INVALID_PARAMETER;
	q = recv ? &vi->recvq : &vi->sendq;
	if (q->work->cq != NULL)
		return RULE_WAIT_WITH_CQ;
	notice = calloc(1, sizeof(*notice));
	if (notice == NULL)
		return VIP_ERROR_RESOURCE;
	notice->queue = q;
	notice->context = context;
	notice->on_descriptor = handler;
	return notice_add(q->work, notice, vi);
}

VIP_RETURN VipSendNotify(VIP_VI_HANDLE vi, VIP_PVOID context, VIP_VI_HANDLER handler)
{
	return notify(vi, false, context, handler);
}

VIP_RETURN VipRecvNotify(VIP_VI_HANDLE vi, VIP_PVOID context, VIP_VI_HANDLER handler)
{
	return notify(vi, true, context, handler);
}

VIP_RETURN VipCQNotify(VIP_CQ_HANDLE handle, VIP_PVOID context, VIP_CQ_HANDLER handler)
{
	struct cq *cq = cq_get(handle);
	struct notice *notice;

	if (cq == NULL || handler == NULL)
		return VIP_INVALID_PARAMETER;
	notice = calloc(1, sizeof(*notice));
	if (notice == NULL)
		return VIP_ERROR_RESOURCE;
	notice->context = context;
	notice->on_entry = handler;
	return notice_add(&cq->work, notice, NULL);
}

/* Returns whether the completion for a notice is there. */
static bool ready_locked(struct work *w, const struct notice *notice)
{
	return notice->queue != NULL ? queue_ready_locked(notice->queue) : cq_ready_locked(w->cq);
}

/* Takes the first notice of a work, and the completion for it, which is there. */
static void take_locked(struct work *w, struct call *call)
{
	struct notice *notice = w->notices;
	struct cq_entry entry = { NULL, false };

	w->notices = notice->next;
	call->notice = notice;
	if (notice->queue != NULL) {
		queue_pop_locked(notice->queue, &call->descriptor);
		call->vi = notice->queue->vi;
		return;
	}
	cq_pop_locked(w->cq, &entry);
	call->vi = entry.vi;
	call->recv = entry.recv;
}

/*
 * Takes the completion for the first notice of a work. Returns false if there is none, or if this thread is no longer the herald.
 * All notices of a work wait for the same completions, so the oldest is called first.
 */
bool notice_take(struct work *w, struct herald_thread *self, struct call *call)
{
	bool taken;

	pthread_mutex_lock(&w->lock);
	/* the herald is asked last, because a peer can hold up this thread before */
	taken = w->notices != NULL && ready_locked(w, w->notices) && herald_may_take(self);
	if (taken)
		take_locked(w, call);
	pthread_mutex_unlock(&w->lock);
	return taken;
}

void call_make(const struct nic *nic, const struct call *call)
{
	const struct notice *n = call->notice;

	if (n->on_descriptor != NULL)
		n->on_descriptor(n->context, (VIP_NIC_HANDLE)(uintptr_t)nic, call->vi,
				 call->descriptor);
	else
		n->on_entry(n->context, (VIP_NIC_HANDLE)(uintptr_t)nic, call->vi,
			    call->recv ? VIP_TRUE : VIP_FALSE);
	free(call->notice);
}

/* Drops the notices of one queue, or all of them if `q` is NULL. */
void notices_forget_locked(struct work *w, const struct queue *q)
{
	struct notice **at = &w->notices, *notice;

	while ((notice = *at) != NULL) {
		if (q != NULL && notice->queue != q) {
			at = &notice->next;
			continue;
		}
		*at = notice->next;
		free(notice);
	}
}
