/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 2.0 edge of events and EVDs.
 */
#include <string.h>

#include "dat20.h"
#include "providers/common/core/cm.h"
#include "providers/common/core/evd_take.h"

/* ------------------------------------------------------------------ events */

/*
 * Returns true for a receive that is told as a success, and whose message has this flag. One that took a message before its
 * connection was established is flushed if the attempt fails, and keeps the flag.
 */
static bool has_taken(const struct datp_wqe *wqe, uint8_t flag)
{
	return wqe->op == DATP_RECV && wqe->status == DAT_DTO_SUCCESS && wqe->post_flags & flag;
}

/* Returns the kind of an operation of the extensions, of which a receive is one if it took immediate data; or -1. */
static int extension(const struct datp_wqe *wqe)
{
	switch (wqe->op) {
	case DATP_RECV:
		return has_taken(wqe, DATP_WQE_INVALIDATED) || !has_taken(wqe, DATP_WQE_IMMEDIATE) ?
			       -1 :
			       (int)DAT20_IB_RDMA_WRITE_IMMED_DATA;
	case DATP_WRITE_IMM:
		return DAT20_IB_RDMA_WRITE_IMMED;
	case DATP_CMP_SWAP:
		return DAT20_IB_CMP_AND_SWAP;
	case DATP_FETCH_ADD:
		return DAT20_IB_FETCH_AND_ADD;
	default:
		return -1;
	}
}

/* Turns the event of a DTO into that of an extension's. */
static void extend(const struct datp_wqe *wqe, int kind, DAT20_EVENT *event)
{
	static const DAT20_IB_DTOS operations[] = {
		[DAT20_IB_FETCH_AND_ADD] = DAT20_IB_DTO_FETCH_ADD,
		[DAT20_IB_CMP_AND_SWAP] = DAT20_IB_DTO_CMP_SWAP,
		[DAT20_IB_RDMA_WRITE_IMMED] = DAT20_IB_DTO_RDMA_WRITE_IMMED,
		[DAT20_IB_RDMA_WRITE_IMMED_DATA] = DAT20_IB_DTO_RECV_IMMED,
	};
	const DAT20_IB_EXTENSION_EVENT_DATA data = {
		.type = (DAT20_IB_EXT_TYPE)kind,
		.status = (DAT20_IB_STATUS)wqe->status,
		.val.immed.data = kind == DAT20_IB_RDMA_WRITE_IMMED_DATA ? wqe->imm : 0,
	};

	event->event_number = (DAT20_EVENT_NUMBER)DAT20_IB_DTO_EVENT;
	event->event_data.dto_completion_event_data.operation = (DAT20_DTOS)operations[kind];
	memcpy(event->event_extension_data, &data, sizeof(data));
}

/* Returns what the event of an operation says that it is, if it is of no extension. */
static DAT20_DTOS operation(const struct datp_wqe *wqe)
{
	switch (wqe->op) {
	case DATP_SEND_INVALIDATE:
		return DAT20_DTO_SEND;
	case DATP_READ_RMR:
		return DAT20_DTO_RDMA_READ;
	default:
		return has_taken(wqe, DATP_WQE_INVALIDATED) ? DAT20_DTO_RECEIVE_WITH_INVALIDATE : DAT20_DTO_RECEIVE;
	}
}

/* A bind, and what only 2.0 has; <datp/fast20.h> has all others. */
DATP_API void datp_wqe_event20_other(const struct datp_wqe *wqe, struct datp_evd *evd, struct datp_event20 *to)
{
	DAT20_EVENT *event = (DAT20_EVENT *)to;
	DAT20_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT20_RMR_BIND_COMPLETION_EVENT_DATA *bind = &event->event_data.rmr_completion_event_data;
	int kind = extension(wqe);

	event->evd_handle = evd;
	if (wqe->op == DATP_BIND) {
		event->event_number = DAT20_RMR_BIND_COMPLETION_EVENT;
		bind->rmr_handle = wqe->rmr;
		bind->user_cookie = wqe->cookie;
		bind->status = (DAT20_DTO_COMPLETION_STATUS)wqe->status;
		return;
	}
	event->event_number = DAT20_DTO_COMPLETION_EVENT;
	dto->ep_handle = wqe->ep;
	dto->user_cookie = wqe->cookie;
	dto->status = (DAT20_DTO_COMPLETION_STATUS)wqe->status;
	dto->transfered_length = dat20_length(wqe->len);
	dto->operation = operation(wqe);
	dto->rmr_context = has_taken(wqe, DATP_WQE_INVALIDATED) ? wqe->rmr_context : 0;
	if (kind >= 0)
		extend(wqe, kind, event);
}

static inline void completion_event(const struct datp_wqe *wqe, struct datp_evd *evd, void *event)
{
	datp_wqe_event20(wqe, evd, event);
}

static void conn_event(const struct conn_note *note, DAT20_EVENT *event)
{
	event->event_data.connect_event_data = (DAT_CONNECTION_EVENT_DATA){
		.ep_handle = note->ep,
		.private_data_size = (DAT_COUNT)note->pdata_len,
		.private_data = (DAT_PVOID)(uintptr_t)note->pdata,
	};
}

static void cr_event(struct cr_note *note, DAT20_EVENT *event)
{
	struct datp_cr *cr = cr_of_note(note);
	DAT20_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;

	data->sp_handle.psp_handle = note->sp_shown;
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->obj.ia->address;
	data->conn_qual = cr->qual;
	data->cr_handle = cr;
	data->truncate_flag = DAT_FALSE;
}

static void note_event_locked(struct evd_priv *priv, struct evd_note *note, DAT20_EVENT *event)
{
	if (note->node.kind == NODE_SOFT) {
		event->event_data.software_event_data.pointer = note->about;
	} else if (note->node.kind == NODE_LEFT) {
		event->event_data.connect_event_data = (DAT_CONNECTION_EVENT_DATA){ .ep_handle = note->about };
	} else {
		event->event_data.asynch_error_event_data.dat_handle = note->about;
		event->event_data.asynch_error_event_data.reason = note->reason;
	}
	evd_note_give_locked(priv, note);
}

static void other_event(struct datp_evd *evd, struct datp_node *node, void *to)
{
	DAT20_EVENT *event = to;

	event->event_number = (DAT20_EVENT_NUMBER)node->number;
	event->evd_handle = evd;
	if (node->kind == NODE_CONN)
		conn_event((struct conn_note *)node, event);
	else if (node->kind == NODE_CR)
		cr_event((struct cr_note *)node, event);
	else
		note_event_locked(evd_priv(evd), (struct evd_note *)node, event);
}

static const struct evd_form dat20_form = { completion_event, other_event };

static bool event_pop_locked(struct datp_evd *evd, void *event)
{
	return evd_pop_locked(evd, event, &dat20_form);
}

/*
 * Takes a completion directly from the transport if no event is on the list. Returns whether there was one.
 */
static bool poll_one(struct datp_evd *evd, DAT20_EVENT *event)
{
	const struct datp_ops *ops = evd->obj.ia->ops;
	struct datp_completion c;
	int n = 0;

	/* relaxed, both: hints. What they miss was concurrent with this call. */
	if (atomic_load_explicit(&evd->queued, memory_order_relaxed) || !evd->has_cq ||
	    !ops->evd_pending(evd))
		return false;
	datp_lock(&evd->poll_lock);
	/* events that an earlier poll has put on the list go first */
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		n = ops->evd_poll(evd, &c, 1);
	if (n > 0) {
		completion_event(c.wqe, evd, event);
		datp_wqe_reap(c.wqe);
	}
	datp_unlock(&evd->poll_lock);
	return n > 0;
}

/*
 * Returns the value for an empty queue, or for a wait that has timed out. Existing programs compare
 * the whole value with the type, because the library that they were written for returns it without
 * the class for an EVD that has completions, and with the class for any other EVD.
 */
static DAT_RETURN nothing_came(const struct datp_evd *evd, DAT_RETURN type)
{
	return evd->has_cq ? type : dat20_error(type);
}

static DAT_RETURN event_ret(const struct datp_evd *evd, enum datp_err err)
{
	if (err == DATP_ERR_QUEUE_EMPTY)
		return nothing_came(evd, DAT20_QUEUE_EMPTY);
	if (err == DATP_ERR_TIMEOUT)
		return nothing_came(evd, DAT20_TIMEOUT_EXPIRED);
	return err == DATP_ERR_BAD_THRESHOLD ? dat20_arg(3) : dat20_ret(datp_ret(err));
}

DAT_RETURN dat20_evd_dequeue(DAT_EVD_HANDLE handle, DAT20_EVENT *event)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	if (!evd)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_EVD_REQUEST));
	if (!event) /* the function beneath refuses it too, and at level debug says so */
		return dat20_ret(dat20_beneath(evd)->evd_dequeue_func(evd, NULL));
	/* relaxed, both: hints, as above */
	if (atomic_load_explicit(&evd->waiter, memory_order_relaxed))
		return dat20_ret(datp_ret(DATP_ERR_STATE_EVD_WAITER));
	if (poll_one(evd, event))
		return DAT_SUCCESS;
	if (!atomic_load_explicit(&evd->queued, memory_order_relaxed))
		return event_ret(evd, DATP_ERR_QUEUE_EMPTY);
	return event_ret(evd, evd_take(evd, event, &dat20_form));
}

DATP_API enum datp_err datp_evd_take20(struct datp_evd *evd, struct datp_event20 *event)
{
	return evd_take(evd, event, &dat20_form);
}

DAT_RETURN dat20_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT20_EVENT *event,
			  DAT_COUNT *nmore)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);
	const struct evd_want want = { event_pop_locked, event };

	if (!evd)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_EVD_REQUEST));
	if (!event)
		return dat20_arg(4);
	if (!nmore)
		return dat20_arg(5);
	return event_ret(evd, evd_wait(evd, timeout, threshold, &want, nmore));
}

DAT_RETURN dat20_evd_post_se(DAT_EVD_HANDLE evd, const DAT20_EVENT *event)
{
	DAT_EVENT soft = { .event_number = DAT_SOFTWARE_EVENT };

	if (!event || event->event_number != DAT20_SOFTWARE_EVENT)
		return dat20_arg(2);
	soft.event_data.software_event_data = event->event_data.software_event_data;
	return dat20_ret(dat20_beneath(evd)->evd_post_se_func(evd, &soft));
}

/* ------------------------------------------------------------------ EVDs */

/*
 * The flag for events of an extension is accepted and dropped, because the events of the extensions
 * that are offered are those of DTOs.
 */
DAT_RETURN dat20_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT20_EVD_FLAGS flags,
			    DAT_EVD_HANDLE *evd)
{
	unsigned int known = (unsigned int)flags & ~(unsigned int)DAT20_EVD_EXTENSION_BASE;

	return dat20_ret(dat20_beneath(ia)->evd_create_func(ia, qlen, cno, (DAT_EVD_FLAGS)known, evd));
}

DAT_RETURN dat20_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT20_EVD_PARAM *param)
{
	DAT_EVD_PARAM found;
	DAT_RETURN ret = dat20_beneath(evd)->evd_query_func(evd, mask, param ? &found : NULL);

	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	*param = (DAT20_EVD_PARAM){ .ia_handle = found.ia_handle,
				    .evd_qlen = found.evd_qlen,
				    .evd_state = found.evd_state,
				    .cno_handle = found.cno_handle,
				    .evd_flags = (DAT20_EVD_FLAGS)found.evd_flags };
	return DAT_SUCCESS;
}
