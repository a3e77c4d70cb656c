/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns VIs: an endpoint, two queues, and registered memory for the headers of messages. Invariant:
 * an idle VI has an unconnected endpoint to which nothing is posted; its receives are staged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

VIP_RETURN vi_check_attr(const struct nic *nic, VIP_VI_ATTRIBUTES *attr)
{
	VIP_RELIABILITY_LEVEL level = attr->ReliabilityLevel;

	/* exactly one level */
	if (level == 0 || (level & (level - 1)) || !(level & nic->attr.ReliabilityLevelSupport))
		return VIP_INVALID_RELIABILITY_LEVEL;
	if (attr->MaxTransferSize > nic->attr.MaxTransferSize)
		return VIP_INVALID_MTU;
	if (attr->MaxTransferSize == 0)
		attr->MaxTransferSize = nic->attr.MaxTransferSize;
	if (attr->EnableRdmaRead && !rule_level_has_rdma_read(level))
		return VIP_INVALID_RDMAREAD;
	return VIP_SUCCESS;
}

static int vi_create_ep(struct vi *vi)
{
	struct nic *nic = vi->nic;
	DAT_COUNT iov = (DAT_COUNT)nic->attr.MaxSegmentsPerDesc + 1;
	DAT_CONTEXT context = { .as_ptr = vi };
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.max_recv_dtos = (DAT_COUNT)queue_events(&vi->recvq);
	attr.max_request_dtos = (DAT_COUNT)queue_events(&vi->sendq);
	attr.max_recv_iov = attr.max_request_iov = iov;
	if (dat_ep_create(nic->ia, vi->ptag->pz, vi->recvq.work->evd, vi->sendq.work->evd,
			  nic->cm_evd, &attr, &ep) != DAT_SUCCESS)
		return -1;
	if (dat_set_consumer_context(ep, context) == DAT_SUCCESS) {
		vi->ep = ep;
		return 0;
	}
	dat_ep_free(ep);
	return -1;
}

static int vi_register_heads(struct vi *vi)
{
	size_t size = heads_size(vi->recvq.mask + 1);
	DAT_REGION_DESCRIPTION region = { .for_va = vi->heads };
	DAT_LMR_HANDLE lmr;

	if (dat_lmr_create(vi->nic->ia, DAT_MEM_TYPE_VIRTUAL, region, size, vi->ptag->pz,
			   (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG |
						DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
			   &lmr, &vi->heads_context, NULL, NULL, NULL) != DAT_SUCCESS)
		return -1;
	vi->heads_lmr = lmr;
	return 0;
}

static void vi_drop_ep(struct vi *vi)
{
	if (vi->ep != DAT_HANDLE_NULL)
		dat_ep_free(vi->ep);
	if (vi->heads_lmr != DAT_HANDLE_NULL)
		dat_lmr_free(vi->heads_lmr);
	vi->ep = DAT_HANDLE_NULL;
	vi->heads_lmr = DAT_HANDLE_NULL;
}

static void next_generation(struct vi *vi)
{
	/* both relaxed: no operation of the endpoint is posted, and no request waits */
	atomic_fetch_add_explicit(&vi->generation, 1, memory_order_relaxed);
	atomic_store_explicit(&vi->awaits_greeting, false, memory_order_relaxed);
}

/*
 * Creates a new endpoint for an idle VI, perhaps in another protection zone. The receives of the
 * former endpoint are staged again. If this fails, the VI has no endpoint, and the next attempt to
 * connect tries again.
 */
int vi_renew_ep_locked(struct vi *vi)
{
	vi_drop_ep(vi);
	/* first: a thread that has taken a completion of the former endpoint must not change what is staged */
	next_generation(vi);
	queue_restage(&vi->recvq);
	if (vi_register_heads(vi))
		return -1;
	return vi_create_ep(vi);
}

/*
 * Lets a VI without a tag of its own adopt another tag, in two cases: the program has destroyed the present tag; or the
 * tag was guessed for an attempt to connect, and no descriptor is queued but `posting` ones, whose memory has not been
 * checked yet. Neither happens while uDAPL has operations of the VI's endpoint.
 */
static void vi_forget_ptag_locked(struct vi *vi, uint32_t posting)
{
	bool unused = vi->guessed && queue_length(&vi->sendq) + queue_length(&vi->recvq) == posting;

	if (vi->adopts && vi->uses != NULL && !vi->up && !vi->feeding &&
	    (unused || ptag_is_destroyed(vi->nic, vi->uses)))
		vi->uses = NULL;
}

/*
 * Prepares an attempt to connect: makes sure that there is an endpoint, in the zone of a tag that
 * stays. A VI without a tag of its own that has used no memory yet adopts the tag that the NIC's
 * memory has now.
 */
int vi_ready_ep_locked(struct vi *vi)
{
	struct ptag *former = vi->ptag;
	int err = 0;

	vi_forget_ptag_locked(vi, 0);
	if (vi->uses == NULL) {
		vi->ptag = vi->uses = ptag_adopt_likely(vi->nic);
		vi->guessed = true;
		if (vi->ptag != former)
			err = vi_renew_ep_locked(vi);
		ptag_abandon(vi->nic, former);
	}
	return !err && vi->ep == DAT_HANDLE_NULL ? vi_renew_ep_locked(vi) : err;
}

/* Tells the program, once for each VI, that it has to name the tag. */
static void warn_of_tags(struct vi *vi, VIP_MEM_HANDLE handle)
{
	if (vi->warned)
		return;
	vi->warned = true;
	complain("%s: VI %p was created without a protection tag and has taken on that of %s; memory handle %u has "
		 "another tag and is refused: name the tag in VIP_VI_ATTRIBUTES.Ptag",
		 vi->nic->attr.Name, (void *)vi,
		 vi->guessed ? "the NIC's memory when it connected, before it had used any" :
			       "the memory that it used first",
		 (unsigned int)handle);
}

/*
 * Handles the use of memory whose tag the VI does not use. Returns true if the VI uses that tag
 * from now on: a VI without a tag of its own adopts the tag of the first memory that it uses,
 * unless uDAPL has operations of its endpoint. `first`: the memory is that of a descriptor's control segment.
 */
bool vi_adopt_locked(struct vi *vi, VIP_MEM_HANDLE handle, bool first)
{
	struct ptag *former = vi->ptag, *ptag;

	if (!vi->adopts)
		return false;
	vi_forget_ptag_locked(vi, first ? 1 : 0); /* a data segment follows a control segment in memory of the present tag */
	if (vi->uses != NULL || vi->up || vi->feeding) {
		warn_of_tags(vi, handle);
		return false;
	}
	ptag = ptag_adopt(vi->nic, handle);
	if (ptag == NULL)
		return false;
	vi->ptag = vi->uses = ptag;
	vi->guessed = false;
	/*
	 * If there is no endpoint now, the attempt to connect tries again, and reports a failure.
	 */
	if (ptag != former)
		vi_renew_ep_locked(vi);
	ptag_abandon(vi->nic, former);
	return true;
}

/*
 * Resets the endpoint after a connection or an attempt, or creates a new one if that fails. The receives that are left are
 * staged.
 */
void vi_refresh_ep_locked(struct vi *vi)
{
	/* no thread posts, and a late completion is recognized by its generation */
	if (queue_outstanding(&vi->recvq) > 0 || vi->ep == DAT_HANDLE_NULL ||
	    dat_ep_reset(vi->ep) != DAT_SUCCESS) {
		vi_renew_ep_locked(vi);
		return;
	}
	next_generation(vi);
	queue_restage(&vi->recvq);
}

/*
 * Returns the memory of the VI that was destroyed first, or NULL if no more than DEAD_VIS are on the list for
 * reuse.
 */
static struct vi *vi_reuse(struct nic *nic)
{
	struct vi *vi = NULL;

	pthread_mutex_lock(&nic->lock);
	if (nic->dead_count > DEAD_VIS) {
		vi = nic->dead_vis;
		nic->dead_vis = vi->next;
		nic->dead_count--;
	}
	pthread_mutex_unlock(&nic->lock);
	if (vi != NULL) {
		vi->next = NULL;
		/* the members before `state` keep their values */
		memset(&vi->state, 0, sizeof(*vi) - offsetof(struct vi, state));
	}
	return vi;
}

/* Puts a destroyed VI on the list for reuse. nic->lock is held. */
static void vi_list_for_reuse(struct vi *vi)
{
	struct nic *nic = vi->nic;

	vi->next = NULL;
	if (nic->dead_count++ == 0)
		nic->dead_vis = vi;
	else
		nic->last_dead->next = vi;
	nic->last_dead = vi;
}

static struct vi *vi_alloc(struct nic *nic)
{
	struct vi *vi = vi_reuse(nic);

	if (vi != NULL)
		return vi;
	vi = calloc(1, sizeof(*vi));
	if (vi == NULL)
		return NULL;
	vi->nic = nic;
	pthread_mutex_init(&vi->lock, NULL);
	cond_init(&vi->changed);
	return vi;
}

static void vi_free(struct vi *vi)
{
	free(vi->heads);
	vi->heads = NULL;
	pthread_mutex_lock(&vi->nic->lock);
	vi_list_for_reuse(vi);
	pthread_mutex_unlock(&vi->nic->lock);
}

/* Returns the tag of a VI with these attributes, or NULL if they name one that does not exist. */
static struct ptag *vi_take_ptag(struct nic *nic, const VIP_VI_ATTRIBUTES *attr)
{
	return attr->Ptag == NULL ? ptag_adopt_likely(nic) : ptag_get(nic, attr->Ptag);
}

static void vi_give_ptag(struct nic *nic, struct ptag *ptag, bool adopted)
{
	if (adopted)
		ptag_abandon(nic, ptag);
	else
		ptag_put(nic, ptag);
}

static struct vi *vi_new(struct nic *nic, const VIP_VI_ATTRIBUTES *attr, struct ptag *ptag)
{
	struct vi *vi = vi_alloc(nic);
	uint32_t size = 1;

	if (vi == NULL)
		return NULL;
	while (size < nic->depth)
		size *= 2;
	vi->heads = aligned_alloc(64, (heads_size(size) + 63) / 64 * 64);
	if (vi->heads == NULL) {
		vi_free(vi);
		return NULL;
	}
	memset(vi->heads, 0, heads_size(size));
	vi->attr = *attr;
	vi->ptag = ptag;
	vi->adopts = attr->Ptag == NULL;
	vi->uses = vi->adopts ? NULL : ptag;
	return vi;
}

static VIP_RETURN vi_open(struct vi *vi, struct cq *send_cq, struct cq *recv_cq)
{
	VIP_RETURN ret = queue_open(&vi->sendq, vi, false, send_cq);

	if (ret != VIP_SUCCESS)
		return ret;
	ret = queue_open(&vi->recvq, vi, true, recv_cq);
	if (ret != VIP_SUCCESS)
		goto close_sendq;
	ret = VIP_ERROR_RESOURCE;
	if (vi_register_heads(vi))
		goto close_recvq;
	if (vi_create_ep(vi))
		goto free_heads;
	return VIP_SUCCESS;

free_heads:
	dat_lmr_free(vi->heads_lmr);
close_recvq:
	queue_close(&vi->recvq);
close_sendq:
	queue_close(&vi->sendq);
	return ret;
}

/*
 * Looks up a completion queue for a new VI. Returns false if the handle is neither NULL nor that of a completion queue
 * of this NIC. VipCreateVi() does this once only: if the queue has been destroyed, a second cq_get() returns NULL, as for
 * a VI that is to have none.
 */
static bool cq_look_up(const struct nic *nic, VIP_CQ_HANDLE handle, struct cq **cq)
{
	*cq = cq_get(handle);
	return handle == NULL || (*cq != NULL && (*cq)->work.nic == nic);
}

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE handle, VIP_VI_ATTRIBUTES *wanted, VIP_CQ_HANDLE send_cq,
		       VIP_CQ_HANDLE recv_cq, VIP_VI_HANDLE *out)
{
	struct nic *nic = nic_get(handle);
	struct cq *send, *recv;
	VIP_VI_ATTRIBUTES attr;
	struct ptag *ptag;
	struct vi *vi;
	VIP_RETURN ret;

	if (nic == NULL || wanted == NULL || out == NULL || !cq_look_up(nic, send_cq, &send) ||
	    !cq_look_up(nic, recv_cq, &recv))
		return VIP_INVALID_PARAMETER;
	attr = *wanted;
	ret = vi_check_attr(nic, &attr);
	if (ret != VIP_SUCCESS)
		return ret;
	ptag = vi_take_ptag(nic, &attr);
	if (ptag == NULL)
		return VIP_INVALID_PTAG;
	ret = VIP_ERROR_RESOURCE;
	vi = vi_new(nic, &attr, ptag);
	if (vi == NULL)
		goto put_ptag;
	ret = vi_open(vi, send, recv);
	if (ret != VIP_SUCCESS)
		goto free_vi;
	/* relaxed: no thread has the handle yet */
	atomic_store_explicit(&vi->magic, VI_MAGIC, memory_order_relaxed);
	pthread_mutex_lock(&nic->lock);
	vi->next = nic->vis;
	nic->vis = vi;
	pthread_mutex_unlock(&nic->lock);
	*out = vi;
	return VIP_SUCCESS;

free_vi:
	vi_free(vi);
put_ptag:
	vi_give_ptag(nic, ptag, attr.Ptag == NULL);
	return ret;
}

static void vi_unlist(struct vi *vi)
{
	struct nic *nic = vi->nic;
	struct vi **at;

	pthread_mutex_lock(&nic->lock);
	for (at = &nic->vis; *at != vi; at = &(*at)->next)
		;
	*at = vi->next;
	vi_list_for_reuse(vi);
	pthread_mutex_unlock(&nic->lock);
}

static void notices_forget(struct queue *q)
{
	pthread_mutex_lock(&q->work->lock);
	notices_forget_locked(q->work, q);
	pthread_mutex_unlock(&q->work->lock);
}

/* Closes a VI. Its handle is refused already, and only late events can still name the VI. */
static void vi_close(struct vi *vi)
{
	notices_forget(&vi->sendq);
	notices_forget(&vi->recvq);
	vi_drop_ep(vi);
	queue_close(&vi->sendq);
	queue_close(&vi->recvq);
	free(vi->heads);
	vi->heads = NULL;
	vi_give_ptag(vi->nic, vi->ptag, vi->adopts);
	vi_unlist(vi);
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE handle)
{
	struct vi *vi = vi_get(handle);
	bool exists, free_now;
	int own;

	if (vi == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&vi->lock);
	exists = vi_exists(vi);
	free_now = exists && vi->state == VIP_STATE_IDLE && !vi->busy && queue_empty(&vi->sendq) &&
		   queue_empty(&vi->recvq);
	if (free_now)
		/* relaxed: see vi_exists() */
		atomic_store_explicit(&vi->magic, 0, memory_order_relaxed);
	pthread_mutex_unlock(&vi->lock);
	if (!free_now)
		return exists ? RULE_DESTROY_BUSY : VIP_INVALID_PARAMETER;
	own = cancel_off();
	vi_close(vi);
	cancel_restore(own);
	return VIP_SUCCESS;
}

/*
 * Moves an idle VI to the tag that its new attributes name, or to one that it adopts if they name
 * none.
 */
static VIP_RETURN vi_change_ptag_locked(struct vi *vi, const VIP_VI_ATTRIBUTES *attr)
{
	struct ptag *former = vi->ptag, *ptag = vi_take_ptag(vi->nic, attr);
	bool adopted = vi->adopts;
	VIP_RETURN ret = VIP_SUCCESS;

	if (ptag == NULL)
		return VIP_INVALID_PTAG;
	if (ptag != former && (!queue_empty(&vi->sendq) || !queue_empty(&vi->recvq))) {
		vi_give_ptag(vi->nic, ptag, attr->Ptag == NULL);
		return VIP_ERROR_RESOURCE;
	}
	vi->ptag = ptag;
	vi->adopts = attr->Ptag == NULL;
	vi->guessed = false;
	vi->uses = vi->adopts ? NULL : ptag;
	if (ptag != former && vi_renew_ep_locked(vi))
		ret = VIP_ERROR_RESOURCE;
	vi_give_ptag(vi->nic, former, adopted);
	return ret;
}

static VIP_RETURN vi_change_locked(struct vi *vi, const VIP_VI_ATTRIBUTES *attr)
{
	VIP_RETURN ret = VIP_SUCCESS;

	if (!vi_exists(vi))
		return VIP_INVALID_PARAMETER;
	if (vi->state != VIP_STATE_IDLE || vi->busy)
		return RULE_ATTRIBUTES_BUSY;
	if (attr->Ptag != vi->attr.Ptag)
		ret = vi_change_ptag_locked(vi, attr);
	if (ret == VIP_SUCCESS)
		vi->attr = *attr;
	return ret;
}

VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE handle, VIP_VI_ATTRIBUTES *wanted)
{
	struct vi *vi = vi_get(handle);
	VIP_VI_ATTRIBUTES attr;
	VIP_RETURN ret;
	int own;

	if (vi == NULL || wanted == NULL)
		return VIP_INVALID_PARAMETER;
	attr = *wanted;
	ret = vi_check_attr(vi->nic, &attr);
	if (ret != VIP_SUCCESS)
		return ret;
	own = cancel_off();
	pthread_mutex_lock(&vi->lock);
	ret = vi_change_locked(vi, &attr);
	pthread_mutex_unlock(&vi->lock);
	cancel_restore(own);
	return ret;
}

VIP_RETURN VipQueryVi(VIP_VI_HANDLE handle, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *attr,
		      VIP_BOOLEAN *send_empty, VIP_BOOLEAN *recv_empty)
{
	struct vi *vi = vi_get(handle);
	bool exists;

	if (vi == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&vi->lock);
	exists = vi_exists(vi);
	if (exists && state != NULL)
		*state = vi->state;
	if (exists && attr != NULL)
		*attr = vi->attr;
	pthread_mutex_unlock(&vi->lock);
	if (!exists)
		return VIP_INVALID_PARAMETER;
	if (send_empty != NULL)
		*send_empty = queue_empty(&vi->sendq) ? VIP_TRUE : VIP_FALSE;
	if (recv_empty != NULL)
		*recv_empty = queue_empty(&vi->recvq) ? VIP_TRUE : VIP_FALSE;
	return VIP_SUCCESS;
}

void VipSetUserData(VIP_VI_HANDLE handle, VIP_PVOID data)
{
	struct vi *vi = vi_get(handle);

	if (vi == NULL)
		return;
	pthread_mutex_lock(&vi->lock);
	vi->user_data = data;
	pthread_mutex_unlock(&vi->lock);
}

VIP_PVOID VipGetUserData(VIP_VI_HANDLE handle)
{
	struct vi *vi = vi_get(handle);
	void *data;

	if (vi == NULL)
		return NULL;
	pthread_mutex_lock(&vi->lock);
	data = vi->user_data;
	pthread_mutex_unlock(&vi->lock);
	return data;
}
