/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of the InfiniBand extensions of DAT 2.0: what they are made from, how they are read, printed and reset, and the
 * functions that count posts and events. Those functions are in the table only if the line of the adapter says counters=on, so
 * that another adapter's posts and dequeues do not pay for them. Without them such a counter stays 0.
 */
#include <stdio.h>
#include <string.h>

#include "dat20.h"
#include "providers/common/base/cancel.h"
#include "providers/common/core/ep.h"
#include "providers/common/core/evd.h"
#include "providers/common/dat12/dat12.h"

/* The names as the program's header has them, without DCNT_IA_ and so on. */
#define IA_COUNTERS(X)												\
	X(PZ_CREATE) X(PZ_FREE) X(LMR_CREATE) X(LMR_FREE) X(RMR_CREATE) X(RMR_FREE) X(PSP_CREATE)		\
	X(PSP_CREATE_ANY) X(PSP_FREE) X(RSP_CREATE) X(RSP_FREE) X(EVD_CREATE) X(EVD_FREE) X(EP_CREATE)		\
	X(EP_FREE) X(SRQ_CREATE) X(SRQ_FREE) X(SP_CR) X(SP_CR_ACCEPTED) X(SP_CR_REJECTED) X(MEM_ALLOC)		\
	X(MEM_ALLOC_DATA) X(MEM_FREE) X(ASYNC_ERROR) X(ASYNC_QP_ERROR) X(ASYNC_CQ_ERROR) X(CM_LISTEN)		\
	X(CM_REQ_TX) X(CM_REQ_RX) X(CM_REP_TX) X(CM_REP_RX) X(CM_RTU_TX) X(CM_RTU_RX) X(CM_USER_REJ_TX)		\
	X(CM_USER_REJ_RX) X(CM_ACTIVE_EST) X(CM_PASSIVE_EST) X(CM_AH_REQ_TX) X(CM_AH_REQ_RX) X(CM_AH_RESOLVED)	\
	X(CM_DREQ_TX) X(CM_DREQ_RX) X(CM_DREP_TX) X(CM_DREP_RX) X(CM_MRA_TX) X(CM_MRA_RX) X(CM_REQ_FULLQ_POLL)	\
	X(CM_ERR) X(CM_ERR_REQ_FULLQ) X(CM_ERR_REQ_DUP) X(CM_ERR_REQ_RETRY) X(CM_ERR_REP_DUP)			\
	X(CM_ERR_REP_RETRY) X(CM_ERR_RTU_DUP) X(CM_ERR_RTU_RETRY) X(CM_ERR_REFUSED) X(CM_ERR_RESET)		\
	X(CM_ERR_TIMEOUT) X(CM_ERR_REJ_TX) X(CM_ERR_REJ_RX) X(CM_ERR_DREQ_DUP) X(CM_ERR_DREQ_RETRY)		\
	X(CM_ERR_DREP_DUP) X(CM_ERR_DREP_RETRY) X(CM_ERR_MRA_DUP) X(CM_ERR_MRA_RETRY) X(CM_ERR_UNEXPECTED)	\
	X(LNK_ERR_RCV) X(LNK_ERR_RCV_REM_PHYS) X(LNK_ERR_RCV_CONSTRAINT) X(LNK_ERR_XMT_DISCARDS)		\
	X(LNK_ERR_XMT_CONTRAINT) X(LNK_ERR_INTEGRITY) X(LNK_ERR_EXC_BUF_OVERRUN) X(LNK_WARN_RCV_SW_RELAY)	\
	X(LNK_WARN_XMT_WAIT) X(DIAG_ERR_RQ_RAE) X(DIAG_ERR_RQ_OOS) X(DIAG_ERR_RQ_RIRE) X(DIAG_ERR_RQ_UDSDPRD)	\
	X(DIAG_ERR_SQ_RAE) X(DIAG_ERR_SQ_OOS) X(DIAG_ERR_SQ_RIRE) X(DIAG_ERR_SQ_RREE) X(DIAG_ERR_SQ_TREE)

#define EP_COUNTERS(X)												\
	X(CONNECT) X(DISCONNECT) X(POST_SEND) X(POST_SEND_DATA) X(POST_SEND_UD) X(POST_SEND_UD_DATA)		\
	X(POST_RECV) X(POST_RECV_DATA) X(POST_WRITE) X(POST_WRITE_DATA) X(POST_WRITE_IMM) X(POST_WRITE_IMM_DATA)	\
	X(POST_READ) X(POST_READ_DATA) X(POST_CMP_SWAP) X(POST_FETCH_ADD) X(RECV) X(RECV_DATA) X(RECV_UD)	\
	X(RECV_UD_DATA) X(RECV_IMM) X(RECV_IMM_DATA) X(RECV_RDMA_IMM) X(RECV_RDMA_IMM_DATA)

#define EVD_COUNTERS(X)												\
	X(WAIT) X(WAIT_BLOCKED) X(WAIT_NOTIFY) X(DEQUEUE) X(DEQUEUE_FOUND) X(DEQUEUE_NOT_FOUND) X(DEQUEUE_POLL)	\
	X(DEQUEUE_POLL_FOUND) X(CONN_CALLBACK) X(DTO_CALLBACK)

#define X(name) [DAT20_DCNT_IA_##name] = "DCNT_IA_" #name,
static const char *const ia_names[] = { IA_COUNTERS(X) };
#undef X
#define X(name) [DAT20_DCNT_EP_##name] = "DCNT_EP_" #name,
static const char *const ep_names[] = { EP_COUNTERS(X) };
#undef X
#define X(name) [DAT20_DCNT_EVD_##name] = "DCNT_EVD_" #name,
static const char *const evd_names[] = { EVD_COUNTERS(X) };
#undef X

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
_Static_assert(COUNT(ia_names) == IA_SHOWN && IA_SHOWN == (int)DAT20_DCNT_IA_ALL_COUNTERS &&
		       COUNT(ep_names) == EP_SHOWN && EP_SHOWN == (int)DAT20_DCNT_EP_ALL_COUNTERS &&
		       COUNT(evd_names) == EVD_SHOWN && EVD_SHOWN == (int)DAT20_DCNT_EVD_ALL_COUNTERS,
	       "each counter has a name and a value");
/* ------------------------------------------------------------------ an IA's values */

static uint64_t counted(const struct ia_priv *priv, enum ia_count what)
{
	/* relaxed: a snapshot */
	return atomic_load_explicit(&priv->counts[what], memory_order_relaxed);
}

/* The numbers of objects. Returns false if the counter is another one. IA lock held. */
static bool objects_locked(const struct ia_priv *priv, int counter, uint64_t *value)
{
	const struct obj_list *live = priv->live;

#define PAIR(name)									\
	case DAT20_DCNT_IA_##name##_CREATE:						\
		*value = live[DATP_##name].made;					\
		return true;								\
	case DAT20_DCNT_IA_##name##_FREE:						\
		*value = live[DATP_##name].ended;					\
		return true;
	switch (counter) {
	PAIR(PZ)
	PAIR(LMR)
	PAIR(RMR)
	PAIR(EVD)
	PAIR(EP)
	PAIR(SRQ)
	case DAT20_DCNT_IA_SP_CR:
	case DAT20_DCNT_IA_CM_REQ_RX:
		*value = live[DATP_CR].made;
		return true;
	default:
		return false;
	}
#undef PAIR
}

/* Calls and events. Counters of what neither libdatp nor its transports see are 0. */
static uint64_t ia_events(const struct ia_priv *priv, int counter)
{
	switch (counter) {
	case DAT20_DCNT_IA_PSP_CREATE:
		return counted(priv, COUNT_PSP);
	case DAT20_DCNT_IA_PSP_CREATE_ANY:
		return counted(priv, COUNT_PSP_ANY);
	case DAT20_DCNT_IA_PSP_FREE:
		return counted(priv, COUNT_PSP_FREED);
	case DAT20_DCNT_IA_RSP_CREATE:
		return counted(priv, COUNT_RSP);
	case DAT20_DCNT_IA_RSP_FREE:
		return counted(priv, COUNT_RSP_FREED);
	case DAT20_DCNT_IA_CM_LISTEN:
		return counted(priv, COUNT_PSP) + counted(priv, COUNT_PSP_ANY) + counted(priv, COUNT_RSP);
	case DAT20_DCNT_IA_SP_CR_ACCEPTED:
	case DAT20_DCNT_IA_CM_REP_TX:
		return counted(priv, COUNT_ACCEPTS);
	case DAT20_DCNT_IA_SP_CR_REJECTED:
	case DAT20_DCNT_IA_CM_USER_REJ_TX:
		return counted(priv, COUNT_REJECTS);
	case DAT20_DCNT_IA_ASYNC_ERROR:
		return counted(priv, COUNT_ASYNC);
	case DAT20_DCNT_IA_ASYNC_QP_ERROR:
		return counted(priv, COUNT_ASYNC_EP);
	case DAT20_DCNT_IA_ASYNC_CQ_ERROR:
		return counted(priv, COUNT_ASYNC_EVD);
	case DAT20_DCNT_IA_CM_REQ_TX:
		return counted(priv, COUNT_ATTEMPTS);
	case DAT20_DCNT_IA_CM_REP_RX:
	case DAT20_DCNT_IA_CM_RTU_TX:
	case DAT20_DCNT_IA_CM_ACTIVE_EST:
		return counted(priv, COUNT_ESTABLISHED_ACTIVE);
	case DAT20_DCNT_IA_CM_RTU_RX:
	case DAT20_DCNT_IA_CM_PASSIVE_EST:
		return counted(priv, COUNT_ESTABLISHED_PASSIVE);
	case DAT20_DCNT_IA_CM_USER_REJ_RX:
		return counted(priv, COUNT_PEER_REJECTED);
	case DAT20_DCNT_IA_CM_DREQ_TX:
		return counted(priv, COUNT_DISCONNECTS);
	case DAT20_DCNT_IA_CM_DREQ_RX:
		return counted(priv, COUNT_DISCONNECTED);
	case DAT20_DCNT_IA_CM_ERR:
		return counted(priv, COUNT_NON_PEER_REJECTED) + counted(priv, COUNT_TIMED_OUT) +
		       counted(priv, COUNT_UNREACHABLE) + counted(priv, COUNT_ACCEPT_FAILED) + counted(priv, COUNT_BROKEN);
	case DAT20_DCNT_IA_CM_ERR_REFUSED:
		return counted(priv, COUNT_NON_PEER_REJECTED);
	case DAT20_DCNT_IA_CM_ERR_RESET:
		return counted(priv, COUNT_BROKEN);
	case DAT20_DCNT_IA_CM_ERR_TIMEOUT:
		return counted(priv, COUNT_TIMED_OUT);
	default:
		return 0;
	}
}

/* Writes the values of n counters from `first` on, since the last reset. */
static void ia_read(struct datp_ia *ia, int first, int n, bool reset, uint64_t *out)
{
	struct ia_priv *priv = ia_priv(ia);

	datp_lock(&priv->lock);
	for (int i = 0; i < n; i++) {
		_Atomic uint64_t *from = &priv->shown_from[first + i];
		uint64_t all;

		if (!objects_locked(priv, first + i, &all))
			all = ia_events(priv, first + i);
		/* relaxed, both: under the lock */
		out[i] = all - atomic_load_explicit(from, memory_order_relaxed);
		if (reset)
			atomic_store_explicit(from, all, memory_order_relaxed);
	}
	datp_unlock(&priv->lock);
}

/* ------------------------------------------------------------------ reading */

/* An object's counters. */
struct counters {
	DAT_HANDLE of;
	enum datp_type type;
	const char *const *names;
	int n;
};

static bool counters_of(DAT_HANDLE handle, struct counters *of)
{
	switch (obj_type(handle)) {
	case DATP_IA:
		*of = (struct counters){ handle, DATP_IA, ia_names, IA_SHOWN };
		return true;
	case DATP_EP:
		*of = (struct counters){ handle, DATP_EP, ep_names, EP_SHOWN };
		return true;
	case DATP_EVD:
		*of = (struct counters){ handle, DATP_EVD, evd_names, EVD_SHOWN };
		return true;
	default:
		return false;
	}
}

/* Returns the edge's own counts of an endpoint or EVD, or NULL if it does not count. */
static _Atomic uint64_t *ep_counts(struct datp_ep *ep)
{
	return ia_priv(ep->obj.ia)->plugin->counters ? (_Atomic uint64_t *)ep_priv(ep) - EP_SHOWN : NULL;
}

static _Atomic uint64_t *evd_counts(struct datp_evd *evd)
{
	return ia_priv(evd->obj.ia)->plugin->counters ? (_Atomic uint64_t *)evd_priv(evd) - EVD_SHOWN : NULL;
}

_Static_assert(EP_SHOWN * sizeof(uint64_t) % 16 == 0 && EVD_SHOWN * sizeof(uint64_t) % 16 == 0, "private parts stay aligned");

/* Returns the address of a counter of an endpoint or EVD, or NULL if nothing is counted there. */
static _Atomic uint64_t *counter_at(const struct counters *of, int i)
{
	_Atomic uint64_t *counts;

	if (of->type == DATP_EP) {
		if (i == DAT20_DCNT_EP_CONNECT)
			return &ep_priv(of->of)->connects;
		if (i == DAT20_DCNT_EP_DISCONNECT)
			return &ep_priv(of->of)->disconnects;
		counts = ep_counts(of->of);
	} else {
		if (i == DAT20_DCNT_EVD_CONN_CALLBACK)
			return &evd_priv(of->of)->conn_events;
		counts = evd_counts(of->of);
	}
	return counts ? &counts[i] : NULL;
}

static void counters_read(const struct counters *of, int first, int n, bool reset, uint64_t *out)
{
	if (of->type == DATP_IA) {
		ia_read(of->of, first, n, reset, out);
		return;
	}
	for (int i = 0; i < n; i++) {
		_Atomic uint64_t *counter = counter_at(of, first + i);

		/* relaxed, both: snapshots; an exchange loses nothing that is counted meanwhile */
		if (!counter)
			out[i] = 0;
		else if (reset)
			out[i] = atomic_exchange_explicit(counter, 0, memory_order_relaxed);
		else
			out[i] = atomic_load_explicit(counter, memory_order_relaxed);
	}
}

/* Checks the counter that a program has named; *first is its number and *n is 1, or they are those of all of them. */
static DAT_RETURN chosen(DAT_HANDLE handle, int counter, struct counters *of, int *first, int *n)
{
	if (!counters_of(handle, of))
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_EP));
	if (counter < 0 || counter > of->n)
		return dat20_arg(3);
	*first = counter == of->n ? 0 : counter;
	*n = counter == of->n ? of->n : 1;
	return DAT_SUCCESS;
}

DAT_RETURN dat20_counters_query(DAT_HANDLE handle, va_list args)
{
	int counter = va_arg(args, int), first = 0, n = 0;
	DAT_UINT64 *out = va_arg(args, DAT_UINT64 *);
	int reset = va_arg(args, int);
	uint64_t values[IA_SHOWN];
	struct counters of;
	DAT_RETURN ret = chosen(handle, counter, &of, &first, &n);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!out)
		return dat20_arg(4);
	counters_read(&of, first, n, reset != 0, values);
	for (int i = 0; i < n; i++)
		out[i] = values[i];
	return DAT_SUCCESS;
}

DAT_RETURN dat20_counters_print(DAT_HANDLE handle, va_list args)
{
	int counter = va_arg(args, int), first = 0, n = 0;
	int reset = va_arg(args, int);
	uint64_t values[IA_SHOWN];
	struct counters of;
	struct cancel own;
	DAT_RETURN ret = chosen(handle, counter, &of, &first, &n);

	if (ret != DAT_SUCCESS)
		return ret;
	counters_read(&of, first, n, reset != 0, values);
	/* a thread that is cancelled while it prints would keep stdout locked */
	cancel_off(&own);
	for (int i = 0; i < n; i++)
		printf("%s %llu\n", of.names[first + i], (unsigned long long)values[i]);
	cancel_restore(&own);
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------------ counting */

/*
 * Adds 1 to a counter, and the bytes to the counter that follows it. The functions of this part run only where the edge
 * counts.
 */
static void ep_count(DAT_EP_HANDLE ep, DAT20_EP_COUNTERS counter, uint64_t bytes)
{
	_Atomic uint64_t *counts = ep_counts(ep);

	if (!counts)
		return;
	count_add(&counts[counter], 1);
	count_add(&counts[counter + 1], bytes);
}

static void evd_count(DAT_EVD_HANDLE evd, DAT20_EVD_COUNTERS counter)
{
	count_add(&evd_counts(evd)[counter], 1);
}

static uint64_t length_of(DAT_COUNT n, const DAT20_LMR_TRIPLET *iov)
{
	uint64_t length = 0;

	for (DAT_COUNT i = 0; iov && i < n && i < DAT20_IOV_MAX; i++)
		length += iov[i].segment_length;
	return length;
}

static DAT_RETURN counted_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       DAT20_COMPLETION_FLAGS flags)
{
	uint64_t length = length_of(n, iov);
	DAT_RETURN ret = dat20_ep_post_send(ep, n, iov, cookie, flags);

	if (ret == DAT_SUCCESS)
		ep_count(ep, DAT20_DCNT_EP_POST_SEND, length);
	return ret;
}

static DAT_RETURN counted_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       DAT20_COMPLETION_FLAGS flags)
{
	uint64_t length = length_of(n, iov);
	DAT_RETURN ret = dat20_ep_post_recv(ep, n, iov, cookie, flags);

	if (ret == DAT_SUCCESS)
		ep_count(ep, DAT20_DCNT_EP_POST_RECV, length);
	return ret;
}

static DAT_RETURN counted_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			       const DAT20_RMR_TRIPLET *from, DAT20_COMPLETION_FLAGS flags)
{
	uint64_t length = length_of(n, iov);
	DAT_RETURN ret = dat20_ep_post_rdma_read(ep, n, iov, cookie, from, flags);

	if (ret == DAT_SUCCESS)
		ep_count(ep, DAT20_DCNT_EP_POST_READ, length);
	return ret;
}

static DAT_RETURN counted_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				const DAT20_RMR_TRIPLET *to, DAT20_COMPLETION_FLAGS flags)
{
	uint64_t length = length_of(n, iov);
	DAT_RETURN ret = dat20_ep_post_rdma_write(ep, n, iov, cookie, to, flags);

	if (ret == DAT_SUCCESS)
		ep_count(ep, DAT20_DCNT_EP_POST_WRITE, length);
	return ret;
}

static DAT_RETURN counted_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT20_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					       DAT20_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	uint64_t length = length_of(n, iov);
	DAT_RETURN ret = dat20_ep_post_send_with_invalidate(ep, n, iov, cookie, flags, invalidate, context);

	if (ret == DAT_SUCCESS)
		ep_count(ep, DAT20_DCNT_EP_POST_SEND, length);
	return ret;
}

static DAT_RETURN counted_read_to_rmr(DAT_EP_HANDLE ep, const DAT20_RMR_TRIPLET *sink, DAT_DTO_COOKIE cookie,
				      const DAT20_RMR_TRIPLET *from, DAT20_COMPLETION_FLAGS flags)
{
	uint64_t length = sink ? sink->segment_length : 0;
	DAT_RETURN ret = dat20_ep_post_rdma_read_to_rmr(ep, sink, cookie, from, flags);

	if (ret == DAT_SUCCESS)
		ep_count(ep, DAT20_DCNT_EP_POST_READ, length);
	return ret;
}

void dat20_counters_posted(struct datp_ep *ep, DAT20_IB_OP op, uint64_t bytes)
{
	if (!ia_priv(ep->obj.ia)->plugin->counters)
		return;
	if (op == DAT20_IB_RDMA_WRITE_IMMED_OP)
		ep_count(ep, DAT20_DCNT_EP_POST_WRITE_IMM, bytes);
	else
		count_add(&ep_counts(ep)[op == DAT20_IB_CMP_AND_SWAP_OP ? DAT20_DCNT_EP_POST_CMP_SWAP :
									  DAT20_DCNT_EP_POST_FETCH_ADD], 1);
}

/* Counts what an event says of its endpoint: a message that has arrived. */
static void event_count(const DAT20_EVENT *event)
{
	const DAT20_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	bool message = event->event_number == DAT20_DTO_COMPLETION_EVENT &&
		       (dto->operation == DAT20_DTO_RECEIVE || dto->operation == DAT20_DTO_RECEIVE_WITH_INVALIDATE);
	bool immediate = event->event_number == (DAT20_EVENT_NUMBER)DAT20_IB_DTO_EVENT &&
			 dto->operation == (DAT20_DTOS)DAT20_IB_DTO_RECV_IMMED;

	/* the endpoint may have been freed after its event had been taken */
	if ((!message && !immediate) || dto->status != DAT20_DTO_SUCCESS || !obj_get(NULL, dto->ep_handle, DATP_EP))
		return;
	ep_count(dto->ep_handle, message ? DAT20_DCNT_EP_RECV : DAT20_DCNT_EP_RECV_RDMA_IMM, dto->transfered_length);
}

static DAT_RETURN counted_dequeue(DAT_EVD_HANDLE evd, DAT20_EVENT *event)
{
	DAT_RETURN ret = dat20_evd_dequeue(evd, event);

	if (!obj_get(NULL, evd, DATP_EVD))
		return ret;
	evd_count(evd, DAT20_DCNT_EVD_DEQUEUE);
	if (ret == DAT_SUCCESS) {
		evd_count(evd, DAT20_DCNT_EVD_DEQUEUE_FOUND);
		event_count(event);
	} else if (DAT_GET_TYPE(ret) == DAT20_QUEUE_EMPTY) {
		evd_count(evd, DAT20_DCNT_EVD_DEQUEUE_NOT_FOUND);
	}
	return ret;
}

static DAT_RETURN counted_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT20_EVENT *event,
			       DAT_COUNT *nmore)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);
	DAT_RETURN ret;

	if (evd) {
		evd_count(evd, DAT20_DCNT_EVD_WAIT);
		/* relaxed: a hint */
		if (!atomic_load_explicit(&evd->queued, memory_order_relaxed) &&
		    !(evd->has_cq && evd->obj.ia->ops->evd_pending(evd)))
			evd_count(evd, DAT20_DCNT_EVD_WAIT_BLOCKED);
	}
	ret = dat20_evd_wait(handle, timeout, threshold, event, nmore);
	if (ret == DAT_SUCCESS)
		event_count(event);
	return ret;
}

void dat20_counters_fill(struct dat20_provider *table)
{
	table->ep_post_send_func = counted_send;
	table->ep_post_recv_func = counted_recv;
	table->ep_post_rdma_read_func = counted_read;
	table->ep_post_rdma_write_func = counted_write;
	table->ep_post_send_with_invalidate_func = counted_send_with_invalidate;
	table->ep_post_rdma_read_to_rmr_func = counted_read_to_rmr;
	table->evd_dequeue_func = counted_dequeue;
	table->evd_wait_func = counted_wait;
}
