/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns shared receive queues. Invariant: an element is on the free list, on the stack of those
 * coming back, or outstanding: posted (ep NULL), taken by an endpoint (ep set), or done and waiting
 * for its event to be taken.
 *
 * Elements come back by a stack without a lock, because that happens under the EVD lock, which is
 * below the SRQ lock. Pushers only push and the one popper takes all at once, so there is no ABA.
 */
#include <stdlib.h>

#include "diag.h"
#include "ep.h"
#include "srq.h"

static void store_add_locked(struct datp_srq *srq, struct srq_store *store)
{
	struct srq_priv *priv = srq_priv(srq);

	store->next = priv->stores;
	priv->stores = store;
	priv->elements += store->count;
	for (uint32_t i = 0; i < store->count; i++) {
		store->wqes[i].node.next = (struct datp_node *)srq->free;
		srq->free = &store->wqes[i];
	}
}

static struct srq_store *store_alloc(uint32_t count)
{
	struct srq_store *store = calloc(1, sizeof(*store) + count * sizeof(struct datp_wqe));

	if (store)
		store->count = count;
	return store;
}

/* Puts the returned elements onto the free list. SRQ lock held. */
static void collect_locked(struct datp_srq *srq)
{
	/* acquire: pairs with the release of datp_srq_reap() */
	struct datp_wqe *wqe =
		atomic_exchange_explicit(&srq_priv(srq)->returned, NULL, memory_order_acquire);

	while (wqe) {
		struct datp_wqe *next = (struct datp_wqe *)wqe->node.next;

		wqe->ep = NULL;
		wqe->node.next = (struct datp_node *)srq->free;
		srq->free = wqe;
		srq->outstanding--;
		wqe = next;
	}
}

DATP_API void datp_srq_reap(struct datp_wqe *wqe)
{
	struct srq_priv *priv = srq_priv(wqe->ep->srq);
	struct datp_wqe *top = atomic_load_explicit(&priv->returned, memory_order_relaxed);

	/* relaxed: only a count */
	atomic_fetch_sub_explicit(&wqe->ep->held, 1, memory_order_relaxed);
	do
		wqe->node.next = (struct datp_node *)top;
	/* release: this thread's reads of the element come before its next use */
	while (!atomic_compare_exchange_weak_explicit(&priv->returned, &top, wqe,
						      memory_order_release, memory_order_relaxed));
}

/* Takes away all elements; a late post finds none, and the transport is not called for it. */
static struct srq_store *stores_take(struct datp_srq *srq)
{
	struct srq_priv *priv = srq_priv(srq);
	struct srq_store *stores;

	datp_lock(&srq->lock);
	stores = priv->stores;
	priv->stores = NULL;
	srq->free = NULL;
	atomic_store_explicit(&priv->returned, NULL, memory_order_relaxed);
	datp_unlock(&srq->lock);
	return stores;
}

/* Returns whether the number is not above the limit, and logs it if it is. */
static bool within(struct datp_ia *ia, int32_t value, const struct limited *what)
{
	if (value > (int32_t)what->limit)
		diag_too_much(ia, what, (uint64_t)value);
	return value <= (int32_t)what->limit;
}

static bool recv_dtos_ok(struct datp_ia *ia, int32_t max_recv_dtos)
{
	return max_recv_dtos > 0 &&
	       within(ia, max_recv_dtos,
		      &(struct limited){ "SRQ", "max_recv_dtos", "max_recv_per_srq",
					 (uint64_t)ia_attr(ia)->max_recv_per_srq });
}

static bool recv_iov_ok(struct datp_ia *ia, int32_t max_recv_iov)
{
	return max_recv_iov >= 0 &&
	       within(ia, max_recv_iov,
		      &(struct limited){ "SRQ", "max_recv_iov", "max_iov_segments_per_dto",
					 (uint64_t)ia_attr(ia)->max_iov_per_dto });
}

static enum datp_err attr_check(struct datp_ia *ia, int32_t max_recv_dtos, int32_t max_recv_iov,
				int32_t low_watermark)
{
	if (!ia_attr(ia)->srq_supported)
		return DATP_ERR_MODEL;
	if (!recv_dtos_ok(ia, max_recv_dtos) || !recv_iov_ok(ia, max_recv_iov) ||
	    low_watermark != DAT_SRQ_LW_DEFAULT)
		return DATP_ERR_BAD_ATTR;
	return DATP_OK;
}

static void bias_begin(struct datp_srq *srq)
{
	struct srq_priv *priv = srq_priv(srq);

	datp_bias_init(&priv->bias);
	if (!(srq->obj.ia->ops->traits & DATP_TRAIT_SRQ_BIASED))
		datp_bias_fini(&priv->bias, &srq->lock);
}

enum datp_err srq_create(struct datp_ia *ia, DAT_PZ_HANDLE pz_handle, int32_t max_recv_dtos,
			 int32_t max_recv_iov, int32_t low_watermark, struct datp_srq **out)
{
	struct srq_store *store;
	struct datp_obj *obj;
	struct datp_srq *srq;
	struct datp_pz *pz;
	enum datp_err err;

	err = attr_check(ia, max_recv_dtos, max_recv_iov, low_watermark);
	if (err)
		return err;
	pz = obj_hold(ia, pz_handle, DATP_PZ);
	if (!pz)
		return DATP_ERR_HANDLE_PZ;
	err = obj_alloc(ia, DATP_SRQ, sizeof(struct srq_priv), ia->ops->srq_size, &obj);
	if (err)
		goto drop_pz;
	srq = (struct datp_srq *)obj;
	err = DATP_ERR_MEMORY;
	store = store_alloc((uint32_t)max_recv_dtos);
	if (!store)
		goto release;
	bias_begin(srq);
	srq->pz = pz;
	srq->max_recv_dtos = max_recv_dtos;
	srq->max_recv_iov = max_recv_iov;
	err = ia->ops->srq_create(srq);
	if (err)
		goto free_store;
	/* This comes last, so that a late post to an SRQ that was in this memory before finds no element until now. */
	datp_lock(&srq->lock);
	store_add_locked(srq, store);
	datp_unlock(&srq->lock);
	err = obj_publish(srq);
	if (err)
		goto free_transport;
	*out = srq;
	return DATP_OK;

free_transport:
	store = stores_take(srq);
	ia->ops->srq_free(srq);
free_store:
	free(store);
release:
	obj_release(srq);
drop_pz:
	obj_drop(pz);
	return err;
}

/* The SRQ has been retired, and has no endpoint. */
static void srq_end(struct datp_srq *srq)
{
	struct srq_store *store;

	datp_bias_fini(&srq_priv(srq)->bias, &srq->lock);
	store = stores_take(srq);
	srq->obj.ia->ops->srq_free(srq);
	/* from here on the provider reports nothing about it */
	evd_purge_async(srq->obj.ia, &srq->obj);
	while (store) {
		struct srq_store *next = store->next;

		free(store);
		store = next;
	}
	obj_drop(srq->pz);
	obj_release(srq);
}

enum datp_err srq_free(struct datp_srq *srq)
{
	enum datp_err err = obj_retire(srq, false, DATP_ERR_STATE_SRQ_IN_USE, DATP_ERR_HANDLE_SRQ);

	if (!err)
		srq_end(srq);
	return err;
}

void srq_destroy(struct datp_srq *srq)
{
	if (!obj_retire(srq, true, DATP_OK, DATP_ERR_HANDLE_SRQ))
		srq_end(srq);
}

static enum datp_err post_locked(struct datp_srq *srq, const struct datp_sge *iov, int n,
				 uint64_t len, DAT_CONTEXT cookie)
{
	struct datp_wqe *wqe;
	enum datp_err err;

	if (!srq->free || srq->outstanding >= (uint32_t)srq->max_recv_dtos)
		collect_locked(srq);
	wqe = srq->free;
	if (!wqe || srq->outstanding >= (uint32_t)srq->max_recv_dtos)
		return DATP_ERR_CREDITS;
	srq->free = (struct datp_wqe *)wqe->node.next;
	wqe->ep = NULL;
	wqe->cookie = cookie;
	wqe->len = len;
	wqe->op = DATP_RECV;
	wqe->post_flags = 0;
	wqe->seq = srq_priv(srq)->posts++;
	/* relaxed: under the SRQ lock */
	atomic_store_explicit(&wqe->done, DATP_WQE_OPEN, memory_order_relaxed);
	srq->outstanding++;
	err = srq->obj.ia->ops->srq_post_recv(srq, wqe, iov, n);
	if (err) {
		srq->outstanding--;
		wqe->node.next = (struct datp_node *)srq->free;
		srq->free = wqe;
	}
	return err;
}

enum datp_err srq_post_recv(struct datp_srq *srq, const struct datp_sge *iov, int n,
			    DAT_CONTEXT cookie)
{
	struct srq_priv *priv = srq_priv(srq);
	enum datp_err err;
	uint64_t len;
	bool biased;

	if (n < 0 || n > srq->max_recv_iov)
		return DATP_ERR_BAD_COUNT;
	if ((n > 0 && !iov) || !datp_iov_length(iov, n, &len))
		return DATP_ERR_BAD_SEGMENTS;
	biased = datp_bias_lock(&priv->bias, &srq->lock);
	err = post_locked(srq, iov, n, len, cookie);
	datp_bias_unlock(&priv->bias, &srq->lock, biased);
	return err;
}

enum datp_err srq_resize(struct datp_srq *srq, int32_t max_recv_dtos)
{
	struct srq_priv *priv = srq_priv(srq);
	struct srq_store *store = NULL;
	enum datp_err err = DATP_OK;

	if (!recv_dtos_ok(srq->obj.ia, max_recv_dtos))
		return DATP_ERR_BAD_QLEN;
	/*
	 * Only this changes `elements`, and the consumer has to prevent concurrent resizes of an
	 * SRQ.
	 */
	if ((uint32_t)max_recv_dtos > priv->elements) {
		store = store_alloc((uint32_t)max_recv_dtos - priv->elements);
		if (!store)
			return DATP_ERR_MEMORY;
	}
	datp_lock(&srq->lock);
	collect_locked(srq);
	if (srq->outstanding > (uint32_t)max_recv_dtos || max_recv_dtos < srq->low_watermark)
		err = DATP_ERR_STATE;
	datp_unlock(&srq->lock);
	if (!err)
		err = srq->obj.ia->ops->srq_resize(srq, max_recv_dtos);
	if (err) {
		free(store);
		return err;
	}
	datp_lock(&srq->lock);
	if (!priv->stores)
		/* it has been freed meanwhile, which is the consumer's error */
		err = DATP_ERR_HANDLE_SRQ;
	else if (store)
		store_add_locked(srq, store);
	srq->max_recv_dtos = max_recv_dtos;
	datp_unlock(&srq->lock);
	if (err)
		free(store);
	return err;
}

enum datp_err srq_set_lw(struct datp_srq *srq, int32_t low_watermark)
{
	enum datp_err err;

	if (low_watermark < 0 || low_watermark > srq->max_recv_dtos)
		return DATP_ERR_BAD_WATERMARK;
	err = srq->obj.ia->ops->srq_set_lw(srq, low_watermark);
	if (!err) {
		datp_lock(&srq->lock);
		srq->low_watermark = low_watermark;
		datp_unlock(&srq->lock);
	}
	return err;
}

enum datp_err srq_count(struct datp_srq *srq, struct srq_counts *counts)
{
	int32_t available = -1;
	enum datp_err err = srq->obj.ia->ops->srq_query(srq, &available);

	if (err == DATP_ERR_MODEL)
		available = -1;
	else if (err)
		return err;
	datp_lock(&srq->lock);
	collect_locked(srq);
	counts->outstanding = (int32_t)srq->outstanding;
	datp_unlock(&srq->lock);
	counts->available = available;
	return DATP_OK;
}

/* ------------------------------------------------------------------ what endpoints have taken */

/*
 * Returns the first posted of the open elements that the endpoint has taken, or NULL if there is
 * none.
 */
static struct datp_wqe *first_open_locked(struct datp_srq *srq, const struct datp_ep *ep)
{
	struct datp_wqe *first = NULL;

	for (struct srq_store *store = srq_priv(srq)->stores; store; store = store->next) {
		for (uint32_t i = 0; i < store->count; i++) {
			struct datp_wqe *wqe = &store->wqes[i];

			/*
			 * relaxed, both: the fields of this endpoint are written under the EP lock,
			 * which is held
			 */
			if (__atomic_load_n(&wqe->ep, __ATOMIC_RELAXED) == ep &&
			    atomic_load_explicit(&wqe->done, memory_order_relaxed) ==
				    DATP_WQE_OPEN &&
			    (!first || (int32_t)(wqe->seq - first->seq) < 0))
				first = wqe;
		}
	}
	return first;
}

const struct datp_wqe *srq_failed(struct datp_srq *srq, const struct datp_ep *ep)
{
	const struct datp_wqe *found = NULL;

	datp_lock(&srq->lock);
	for (struct srq_store *store = srq_priv(srq)->stores; store && !found; store = store->next) {
		for (uint32_t i = 0; i < store->count && !found; i++) {
			const struct datp_wqe *wqe = &store->wqes[i];

			/*
			 * relaxed: the fields of this endpoint are written under the EP lock, which
			 * is held
			 */
			if (__atomic_load_n(&wqe->ep, __ATOMIC_RELAXED) == ep && wqe_failed(wqe))
				found = wqe;
		}
	}
	datp_unlock(&srq->lock);
	return found;
}

void srq_flush_ep(struct datp_srq *srq, struct datp_ep *ep)
{
	struct datp_wqe *wqe;

	for (;;) {
		datp_lock(&srq->lock);
		/* returned elements do not belong to the endpoint any more */
		collect_locked(srq);
		wqe = first_open_locked(srq, ep);
		datp_unlock(&srq->lock);
		if (!wqe)
			return;
		datp_wqe_done(wqe, DAT_DTO_ERR_FLUSHED, 0, false);
	}
}

void srq_forget_ep(struct datp_srq *srq, struct datp_ep *ep)
{
	struct datp_wqe *wqe;

	datp_lock(&srq->lock);
	collect_locked(srq);
	while ((wqe = first_open_locked(srq, ep)) != NULL) {
		atomic_fetch_sub_explicit(&ep->held, 1, memory_order_relaxed);
		wqe->ep = NULL;
		wqe->node.next = (struct datp_node *)srq->free;
		srq->free = wqe;
		srq->outstanding--;
	}
	datp_unlock(&srq->lock);
}

bool srq_busy_with(struct datp_srq *srq, struct datp_ep *ep)
{
	struct datp_wqe *wqe;

	datp_lock(&srq->lock);
	collect_locked(srq);
	wqe = first_open_locked(srq, ep);
	datp_unlock(&srq->lock);
	return wqe != NULL;
}

/* ------------------------------------------------------------------ watermarks */

/*
 * The standard names reasons for these events but no event number of their own. The handle and the
 * reason say what the event is about; the number is that of the object's kind, or the general one.
 */
DATP_API void datp_srq_low(struct datp_srq *srq)
{
	diag_srq_low(srq);
	evd_post_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, &srq->obj,
		       DAT_SRQ_LOW_WATERMARK_EVENT);
}
