/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns completion queues: a struct work that several queues share, and a ring of entries that name
 * the queue of each completion. Invariant: every completion makes an entry, and VipCQDone(),
 * VipCQWait(), a handler, or the end of the VI removes it, even if the descriptor was taken before.
 */
#include <stdlib.h>

#include "impl.h"

/*
 * Appends an entry. An entry that does not fit is lost. The first such loss is reported to the error handler; further ones are
 * not until there has been room again, because peers can cause any number of them.
 */
void cq_push_locked(struct cq *cq, struct vi *vi, bool recv)
{
	if (cq->count == cq->size) {
		if (!cq->overrun)
			herald_error(cq->work.nic, vi, cq, NULL, VIP_RESOURCE_CQ, VIP_ERROR_VI_OVERRUN);
		cq->overrun = true;
		return;
	}
	cq->ring[(cq->first + cq->count) % cq->size] = (struct cq_entry){ vi, recv };
	cq->count++;
}

/*
 * Removes the entries of a VI that is destroyed. There are some if the program took descriptors by VipSendDone() or
 * VipRecvDone() and not their entries.
 */
void cq_forget(struct cq *cq, const struct vi *vi)
{
	uint32_t kept = 0;

	pthread_mutex_lock(&cq->work.lock);
	for (uint32_t i = 0; i < cq->count; i++) {
		struct cq_entry *entry = &cq->ring[(cq->first + i) % cq->size];

		if (entry->vi != vi)
			cq->ring[(cq->first + kept++) % cq->size] = *entry;
	}
	cq->count = kept;
	cq->overrun = cq->overrun && kept == cq->size;
	pthread_mutex_unlock(&cq->work.lock);
}

/* Returns whether there is an entry, and takes events off the EVD only until there is one. */
bool cq_ready_locked(struct cq *cq)
{
	while (cq->count == 0)
		if (!work_poll_locked(&cq->work))
			return false;
	return true;
}

bool cq_pop_locked(struct cq *cq, struct cq_entry *entry)
{
	if (!cq_ready_locked(cq))
		return false;
	*entry = cq->ring[cq->first];
	cq->first = (cq->first + 1) % cq->size;
	cq->count--;
	cq->overrun = false;
	return true;
}

/*
 * Makes room on the EVD for the events of one more queue of a VI, unless the completion queue has been destroyed meanwhile;
 * nic->lock is held.
 */
VIP_RETURN cq_use(struct cq *cq, uint32_t events)
{
	if (!cq_exists(cq))
		return VIP_INVALID_PARAMETER;
	if (dat_evd_resize(cq->work.evd, (DAT_COUNT)(cq->reserved + events)) != DAT_SUCCESS)
		return VIP_ERROR_RESOURCE;
	cq->reserved += events;
	cq->users++;
	return VIP_SUCCESS;
}

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE handle, VIP_ULONG entries, VIP_CQ_HANDLE *out)
{
	struct nic *nic = nic_get(handle);
	struct cq *cq;

	if (nic == NULL || out == NULL || entries == 0)
		return VIP_INVALID_PARAMETER;
	if (entries > nic->attr.MaxCQEntries)
		return VIP_ERROR_RESOURCE;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return VIP_ERROR_RESOURCE;
	cq->size = (uint32_t)entries;
	cq->ring = calloc(cq->size, sizeof(*cq->ring));
	if (cq->ring == NULL)
		goto free_cq;
	cq->reserved = 2;
	if (work_open(&cq->work, nic, cq, cq->reserved))
		goto free_ring;
	/* relaxed: no thread has the handle yet */
	atomic_store_explicit(&cq->magic, CQ_MAGIC, memory_order_relaxed);
	pthread_mutex_lock(&nic->lock);
	cq->next = nic->cqs;
	nic->cqs = cq;
	pthread_mutex_unlock(&nic->lock);
	*out = cq;
	return VIP_SUCCESS;

free_ring:
	free(cq->ring);
free_cq:
	free(cq);
	return VIP_ERROR_RESOURCE;
}

/* Makes the handle invalid, unless a VI uses the queue or a thread waits for it. nic->lock is held. */
static bool cq_refuse(struct cq *cq)
{
	bool idle;

	if (cq->users > 0)
		return false;
	/* no peer can hold up a thread that polls a queue without users */
	pthread_mutex_lock(&cq->work.lock);
	idle = !cq->work.leader && cq->work.waiters == 0;
	if (idle)
		/* relaxed: see cq_exists() */
		atomic_store_explicit(&cq->magic, 0, memory_order_relaxed);
	pthread_mutex_unlock(&cq->work.lock);
	return idle;
}

/* Moves the queue to the NIC's list of those that are destroyed. nic->lock is held. */
static void cq_unlist(struct cq *cq)
{
	struct nic *nic = cq->work.nic;
	struct cq **at;

	for (at = &nic->cqs; *at != cq; at = &(*at)->next)
		;
	*at = cq->next;
	cq->next = nic->dead_cqs;
	nic->dead_cqs = cq;
}

static VIP_RETURN cq_end(struct cq *cq)
{
	struct nic *nic = cq->work.nic;
	VIP_RETURN ret = VIP_SUCCESS;

	pthread_mutex_lock(&nic->lock);
	if (!cq_exists(cq))
		ret = VIP_INVALID_PARAMETER;
	else if (!cq_refuse(cq))
		ret = VIP_ERROR_RESOURCE;
	pthread_mutex_unlock(&nic->lock);
	return ret;
}

VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE handle)
{
	struct cq *cq = cq_get(handle);
	struct nic *nic;
	VIP_RETURN ret;
	int own;

	if (cq == NULL)
		return VIP_INVALID_PARAMETER;
	nic = cq->work.nic;
	ret = cq_end(cq);
	if (ret != VIP_SUCCESS)
		return ret;
	own = cancel_off();
	work_close(&cq->work);
	cancel_restore(own);
	free(cq->ring);
	cq->ring = NULL;
	/* last: then the NIC can be closed */
	pthread_mutex_lock(&nic->lock);
	cq_unlist(cq);
	pthread_mutex_unlock(&nic->lock);
	return VIP_SUCCESS;
}

/* Moves the entries to *ring, which has room for `size`. On success *ring becomes the former ring. */
static VIP_RETURN cq_resize_locked(struct cq *cq, struct cq_entry **ring, uint32_t size)
{
	struct cq_entry *former = cq->ring;

	if (!cq_exists(cq))
		return VIP_INVALID_PARAMETER;
	if (cq->count > size)
		return VIP_ERROR_RESOURCE;
	for (uint32_t i = 0; i < cq->count; i++)
		(*ring)[i] = former[(cq->first + i) % cq->size];
	cq->ring = *ring;
	cq->size = size;
	cq->first = 0;
	cq->overrun = cq->overrun && cq->count == size;
	*ring = former;
	return VIP_SUCCESS;
}

VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE handle, VIP_ULONG entries)
{
	struct cq *cq = cq_get(handle);
	struct cq_entry *ring;
	VIP_RETURN ret;

	if (cq == NULL || entries == 0)
		return VIP_INVALID_PARAMETER;
	if (entries > cq->work.nic->attr.MaxCQEntries)
		return VIP_ERROR_RESOURCE;
	ring = calloc(entries, sizeof(*ring));
	if (ring == NULL)
		return VIP_ERROR_RESOURCE;
	pthread_mutex_lock(&cq->work.lock);
	ret = cq_resize_locked(cq, &ring, (uint32_t)entries);
	pthread_mutex_unlock(&cq->work.lock);
	free(ring);
	return ret;
}

VIP_RETURN VipCQDone(VIP_CQ_HANDLE handle, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
	struct cq *cq = cq_get(handle);
	struct cq_entry entry;
	bool exists, found;

	if (cq == NULL || vi == NULL || recv == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&cq->work.lock);
	exists = cq_exists(cq);
	found = exists && cq_pop_locked(cq, &entry);
	pthread_mutex_unlock(&cq->work.lock);
	if (!found)
		return exists ? VIP_NOT_DONE : VIP_INVALID_PARAMETER;
	*vi = entry.vi;
	*recv = entry.recv ? VIP_TRUE : VIP_FALSE;
	return VIP_SUCCESS;
}

static bool wait_locked(struct cq *cq, uint64_t until, struct cq_entry *entry)
{
	while (!cq_pop_locked(cq, entry)) {
		if (now_ms() >= until)
			return false;
		work_wait_locked(&cq->work, until);
	}
	return true;
}

VIP_RETURN VipCQWait(VIP_CQ_HANDLE handle, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
	struct cq *cq = cq_get(handle);
	struct cq_entry entry;
	bool exists, found;

	if (cq == NULL || vi == NULL || recv == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&cq->work.lock);
	exists = cq_exists(cq);
	found = exists && wait_locked(cq, deadline_ms(timeout), &entry);
	pthread_mutex_unlock(&cq->work.lock);
	if (!found)
		return exists ? VIP_TIMEOUT : VIP_INVALID_PARAMETER;
	*vi = entry.vi;
	*recv = entry.recv ? VIP_TRUE : VIP_FALSE;
	return VIP_SUCCESS;
}

/* Not supported, because uDAPL cannot distinguish messages before they have been received. */
VIP_RETURN VipAddTagCQ(VIP_CQ_HANDLE handle, VIP_EVENT_HANDLE *event, VIP_ULONG tag,
		       VIP_ULONG priority)
{
	(void)event;
	(void)tag;
	(void)priority;
	return cq_get(handle) != NULL ? VIP_ERROR_NOT_SUPPORTED : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRemoveTagCQ(VIP_CQ_HANDLE handle, VIP_EVENT_HANDLE event, VIP_ULONG tag)
{
	(void)event;
	(void)tag;
	return cq_get(handle) != NULL ? VIP_ERROR_NOT_SUPPORTED : VIP_INVALID_PARAMETER;
}
