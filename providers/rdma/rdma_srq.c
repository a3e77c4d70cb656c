/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues of the device. libdatp counts the receives. The device matches messages and
 * receives, and a completion says which endpoint's queue pair took the receive.
 */
#include "rdma_cq.h"
#include "rdma_srq.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A queue that cannot be resized later is created larger. */
static uint32_t size_to_ask(const struct rdma_ia *ia, uint32_t asked)
{
	uint32_t size = asked;

	if (!(ia->dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		size = asked > 512 ? asked * 2 : 1024;
	return size < (uint32_t)ia->dev.max_srq_wr ? size : (uint32_t)ia->dev.max_srq_wr;
}

/* Limits the size that the device has granted to what a CQ can hold. The attribute max_recv_per_srq has the same limit. */
static uint32_t within_a_cq(const struct rdma_ia *ia, uint32_t given)
{
	uint32_t most = (uint32_t)(ia->dev.max_cqe - RDMA_SPARE_WR);

	return given < most ? given : most;
}

/* ------------------------------------------------------------------ the endpoint that has taken a receive */

/*
 * A completion names the queue pair that took the receive. The queue pair is looked up in a table
 * of the EVD, whose poll lock is held: so no other lock is needed, and the endpoint stays while it
 * is used.
 */
static struct rdma_ep **qpn_bucket_locked(const struct rdma_cqset *set, uint32_t qpn)
{
	return &set->qpn_table[qpn % RDMA_QPN_BUCKETS];
}

static void say_no_memory(const struct rdma_ia *ia)
{
	datp_log(1, "%s: no memory for an endpoint on a shared receive queue; raise the limit of memory (ulimit -v)",
		 ia->base.name);
}

static bool qpn_table_make(struct rdma_cqset *set)
{
	struct rdma_ep **table = calloc(RDMA_QPN_BUCKETS, sizeof(*table)), **spare = table;
	bool made;

	datp_lock(set->poll_lock);
	if (!set->qpn_table) {
		set->qpn_table = table;
		spare = NULL;
	}
	made = set->qpn_table != NULL;
	datp_unlock(set->poll_lock);
	free(spare);
	if (!made)
		say_no_memory(set->ia);
	return made;
}

void rdma_qpn_add(struct rdma_ep *ep)
{
	struct rdma_ep **bucket;

	datp_lock(ep->recv_set->poll_lock);
	bucket = qpn_bucket_locked(ep->recv_set, ep->qpn);
	ep->next_qpn = *bucket;
	*bucket = ep;
	datp_unlock(ep->recv_set->poll_lock);
}

void rdma_qpn_remove(struct rdma_ep *ep)
{
	struct rdma_ep **at;

	datp_lock(ep->recv_set->poll_lock);
	at = qpn_bucket_locked(ep->recv_set, ep->qpn);
	while (*at != ep)
		at = &(*at)->next_qpn;
	*at = ep->next_qpn;
	datp_unlock(ep->recv_set->poll_lock);
}

struct rdma_ep *rdma_qpn_find_locked(const struct rdma_cqset *set, uint32_t qpn)
{
	struct rdma_ep *ep = set->qpn_table ? *qpn_bucket_locked(set, qpn) : NULL;

	while (ep && ep->qpn != qpn)
		ep = ep->next_qpn;
	return ep;
}

/* ------------------------------------------------------------------ entries of the CQs */

/*
 * The receives of an SRQ have no more completions in the CQs of all its endpoints together than
 * max_recv_dtos, because libdatp counts a receive from its post until its completion has been
 * polled, and refuses a post beyond max_recv_dtos. A queue pair that fails flushes no receive of the
 * SRQ. The completions that a destroyed queue pair leaves in a CQ are polled before the receives of
 * its endpoint are given back to the SRQ. Therefore one reservation serves all endpoints whose
 * receives complete on one CQ set. Nobody knows on which of several CQ sets the completions will
 * be, so entries for all of them are reserved in each set.
 */
static struct rdma_srq_cqes *cqes_of(struct rdma_srq *srq, const struct rdma_cqset *set)
{
	struct rdma_srq_cqes *entries = srq->cqes;

	while (entries && entries->set != set)
		entries = entries->next;
	return entries;
}

static enum datp_err cqes_reserve(struct rdma_srq *srq, struct rdma_cqset *set, uint32_t requests)
{
	struct rdma_srq_cqes *entries;
	enum datp_err err;

	if (!qpn_table_make(set))
		return DATP_ERR_MEMORY;
	entries = calloc(1, sizeof(*entries));
	if (!entries) {
		say_no_memory(set->ia);
		return DATP_ERR_MEMORY;
	}
	entries->set = set;
	entries->need = srq->size;
	err = rdma_cqset_reserve(set, RDMA_RECEIVES, entries->need, entries->need + requests,
				  &entries->cq);
	if (err) {
		free(entries);
		return err;
	}
	entries->next = srq->cqes;
	srq->cqes = entries;
	return DATP_OK;
}

enum datp_err rdma_srq_reserve(struct datp_srq *base, struct rdma_cqset *set, uint32_t requests,
			       struct rdma_cq **cq)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;
	struct rdma_srq_cqes *entries;
	enum datp_err err = DATP_OK;

	pthread_mutex_lock(&srq->lock);
	if (!cqes_of(srq, set))
		err = cqes_reserve(srq, set, requests);
	entries = cqes_of(srq, set);
	if (entries) {
		entries->endpoints++;
		*cq = entries->cq;
	}
	pthread_mutex_unlock(&srq->lock);
	return err;
}

void rdma_srq_release(struct datp_srq *base, struct rdma_cqset *set)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;
	struct rdma_srq_cqes **at = &srq->cqes, *entries;

	pthread_mutex_lock(&srq->lock);
	while ((*at)->set != set)
		at = &(*at)->next;
	entries = *at;
	if (--entries->endpoints == 0) {
		*at = entries->next;
		rdma_cqset_release(set, entries->cq, entries->need);
		free(entries);
	}
	pthread_mutex_unlock(&srq->lock);
}

/* Reserves more entries in all CQ sets. If one of them cannot grow, those that have grown keep their spare entries. */
static bool cqes_grow_locked(struct rdma_srq *srq, uint32_t need)
{
	for (struct rdma_srq_cqes *entries = srq->cqes; entries; entries = entries->next) {
		if (entries->need >= need)
			continue;
		if (!rdma_cqset_extend(entries->set, entries->cq, need - entries->need))
			return false;
		entries->need = need;
	}
	return true;
}

/* ------------------------------------------------------------------ made, resized, freed */

/* As with queue pairs, the device may refuse a length within its limit (max_srq_wr), which is for receives of few segments. */
static void say_refused(const struct rdma_ia *ia, const struct ibv_srq_attr *asked, int why)
{
	datp_log(2,
		 "%s: verbs device %s refuses a shared receive queue (ibv_create_srq) of %u receives of %u segments: %s; "
		 "ask for fewer max_recv_dtos or max_recv_iov, or free shared receive queues, of which all programs "
		 "together may have %d",
		 ia->base.name, ibv_get_device_name(ia->verbs->device), asked->max_wr, asked->max_sge, strerror(why),
		 ia->dev.max_srq);
}

enum datp_err rdma_srq_create(struct datp_srq *base)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	struct ibv_srq_init_attr init = { .srq_context = srq };
	struct ibv_srq_attr asked;
	int why;

	init.attr.max_wr = size_to_ask(ia, (uint32_t)base->max_recv_dtos);
	init.attr.max_sge = base->max_recv_iov > 0 ? (uint32_t)base->max_recv_iov : 1;
	asked = init.attr; /* the driver writes what it grants into `init` */
	srq->srq = ibv_create_srq(((struct rdma_pz *)base->pz)->pd, &init);
	if (!srq->srq) {
		why = errno;
		say_refused(ia, &asked, why);
		return why == EINVAL ? DATP_ERR_BAD_ATTR : DATP_ERR_SRQ;
	}
	srq->size = within_a_cq(ia, init.attr.max_wr);
	pthread_mutex_init(&srq->lock, NULL);
	return DATP_OK;
}

/* Logs why the queue stays as long as it is, and returns the error for that. */
static enum datp_err stays(const struct rdma_srq *srq, int32_t max_recv_dtos, const char *why)
{
	datp_log(2,
		 "%s: a shared receive queue of %u receives cannot be resized to %d: %s; create it with max_recv_dtos %d",
		 srq->base.obj.ia->name, srq->size, max_recv_dtos, why, max_recv_dtos);
	return DATP_ERR_SRQ;
}

static enum datp_err resize_locked(struct rdma_srq *srq, int32_t max_recv_dtos)
{
	struct ibv_srq_attr attr = { .max_wr = (uint32_t)max_recv_dtos };
	int err;

	if (!(rdma_ia(srq->base.obj.ia)->dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		return stays(srq, max_recv_dtos, "the device cannot resize one");
	if (!cqes_grow_locked(srq, (uint32_t)max_recv_dtos))
		return stays(srq, max_recv_dtos, "a completion queue of its endpoints cannot grow (ibv_resize_cq)");
	err = rdma_verbs_err(ibv_modify_srq(srq->srq, &attr, IBV_SRQ_MAX_WR));
	if (err)
		return stays(srq, max_recv_dtos, strerror(err));
	srq->size = (uint32_t)max_recv_dtos;
	return DATP_OK;
}

enum datp_err rdma_srq_resize(struct datp_srq *base, int32_t max_recv_dtos)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;
	enum datp_err err;

	/* libdatp keeps to the requested size; the device may have granted a longer queue than that */
	if ((uint32_t)max_recv_dtos <= srq->size)
		return DATP_OK;
	pthread_mutex_lock(&srq->lock);
	err = resize_locked(srq, max_recv_dtos);
	pthread_mutex_unlock(&srq->lock);
	return err;
}

void rdma_srq_free(struct datp_srq *base)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;

	if (ibv_destroy_srq(srq->srq))
		datp_log(1, "%s: cannot free a shared receive queue: %s", base->obj.ia->name,
			 strerror(errno));
	pthread_mutex_destroy(&srq->lock);
}
