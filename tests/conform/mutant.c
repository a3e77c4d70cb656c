/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutants of whatever provider is under test: preloaded into datconform, it stands between the
 * suite and libdat and breaks one rule, the one that MUTANT names. mutants.sh says which clause has
 * to turn red for each.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mutant.h"

bool is(const char *name)
{
	const char *mutant = getenv("MUTANT");

	return mutant && !strcmp(mutant, name);
}

/* What some call answers when it refuses, turned into success. */
#define LETS_PASS(function, mutant, type, params, args) \
	DAT_RETURN function params \
	{ \
		DAT_RETURN ret = NEXT(function) args; \
		return is(mutant) && TYPE(ret) == (DAT_RETURN)(type) ? DAT_SUCCESS : ret; \
	}

/* A call that says it is done, and does nothing. */
#define DOES_NOTHING(function, mutant, params, args) \
	DAT_RETURN function params \
	{ \
		return is(mutant) ? DAT_SUCCESS : NEXT(function) args; \
	}

LETS_PASS(dat_evd_free, "evd_free_busy", DAT_INVALID_STATE, (DAT_EVD_HANDLE evd), (evd))
LETS_PASS(dat_cno_free, "cno_free_busy", DAT_INVALID_STATE, (DAT_CNO_HANDLE cno), (cno))
LETS_PASS(dat_pz_free, "pz_free_busy", DAT_INVALID_STATE, (DAT_PZ_HANDLE pz), (pz))
LETS_PASS(dat_lmr_free, "lmr_free_bound", DAT_INVALID_STATE, (DAT_LMR_HANDLE lmr), (lmr))
LETS_PASS(dat_srq_free, "srq_free_used", DAT_INVALID_STATE, (DAT_SRQ_HANDLE srq), (srq))
LETS_PASS(dat_ep_free, "ep_free_reserved", DAT_INVALID_STATE, (DAT_EP_HANDLE ep), (ep))
LETS_PASS(dat_evd_post_se, "post_se_full", DAT_QUEUE_FULL, (DAT_EVD_HANDLE evd, const DAT_EVENT *e),
	  (evd, e))
LETS_PASS(dat_cr_reject, "cr_reject_twice", DAT_INVALID_HANDLE, (DAT_CR_HANDLE cr), (cr))
LETS_PASS(dat_rsp_free, "rsp_free_bad", DAT_INVALID_HANDLE, (DAT_RSP_HANDLE rsp), (rsp))

DOES_NOTHING(dat_evd_set_unwaitable, "set_unwaitable_nothing", (DAT_EVD_HANDLE evd), (evd))
DOES_NOTHING(dat_evd_clear_unwaitable, "clear_unwaitable_nothing", (DAT_EVD_HANDLE evd), (evd))
DOES_NOTHING(dat_evd_disable, "disable_nothing", (DAT_EVD_HANDLE evd), (evd))
DOES_NOTHING(dat_evd_enable, "enable_nothing", (DAT_EVD_HANDLE evd), (evd))
DOES_NOTHING(dat_evd_modify_cno, "modify_cno_nothing", (DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno),
	     (evd, cno))
DOES_NOTHING(dat_cno_modify_agent, "modify_agent_nothing",
	     (DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT a), (cno, a))
DOES_NOTHING(dat_psp_free, "psp_free_nothing", (DAT_PSP_HANDLE psp), (psp))
DOES_NOTHING(dat_srq_set_lw, "srq_lw_nothing", (DAT_SRQ_HANDLE srq, DAT_COUNT lw), (srq, lw))
DOES_NOTHING(dat_set_consumer_context, "context_nothing", (DAT_HANDLE h, DAT_CONTEXT c), (h, c))
DOES_NOTHING(dat_evd_resize, "resize_nothing", (DAT_EVD_HANDLE evd, DAT_COUNT n), (evd, n))

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep)
{
	DAT_RETURN ret = is("reset_nothing") ? DAT_SUCCESS : NEXT(dat_ep_reset)(ep);

	return is("reset_connected") && TYPE(ret) == DAT_INVALID_STATE ? DAT_SUCCESS : ret;
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN ret;

	if (is("graceful_is_abrupt"))
		flags = DAT_CLOSE_ABRUPT_FLAG;
	if (is("disconnect_twice")) {
		DAT_BOOLEAN idle;
		DAT_EP_STATE state;

		NEXT(dat_ep_get_status)(ep, &state, &idle, &idle);
		if (state == DAT_EP_STATE_DISCONNECTED)
			return ERROR(DAT_INVALID_STATE);
	}
	ret = NEXT(dat_ep_disconnect)(ep, flags);
	return is("disconnect_unconnected") && TYPE(ret) == DAT_INVALID_STATE ? DAT_SUCCESS : ret;
}

/* What an event says. */
static void bend(DAT_EVENT *event)
{
	DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	static const struct {
		const char *mutant;
		DAT_EVENT_NUMBER from, to;
	} numbers[] = {
		{ "disconnected_is_broken", DAT_CONNECTION_EVENT_DISCONNECTED,
		  DAT_CONNECTION_EVENT_BROKEN },
		{ "broken_is_disconnected", DAT_CONNECTION_EVENT_BROKEN,
		  DAT_CONNECTION_EVENT_DISCONNECTED },
		{ "peer_is_non_peer", DAT_CONNECTION_EVENT_PEER_REJECTED,
		  DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
		{ "non_peer_is_peer", DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		  DAT_CONNECTION_EVENT_PEER_REJECTED },
		{ "timed_out_is_unreachable", DAT_CONNECTION_EVENT_TIMED_OUT,
		  DAT_CONNECTION_EVENT_UNREACHABLE },
		{ "accept_error_is_disconnected", DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		  DAT_CONNECTION_EVENT_DISCONNECTED },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (event->event_number == numbers[i].from && is(numbers[i].mutant)) {
			event->event_number = numbers[i].to;
			break;
		}
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (is("private_data_short") && conn->private_data_size)
			conn->private_data_size--;
		if (is("private_data_padded") && !conn->private_data_size)
			conn->private_data_size = 4;
	}
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT && is("cr_without_sp"))
		event->event_data.cr_arrival_event_data.sp_handle.psp_handle = DAT_HANDLE_NULL;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		if (is("cookie_cut"))
			dto->user_cookie.as_64 &= 0xffffffff;
		if (is("length_more"))
			dto->transfered_length++;
		if (is("flushed_is_transport") && dto->status == DAT_DTO_ERR_FLUSHED)
			dto->status = DAT_DTO_ERR_TRANSPORT;
		if (is("flushed_is_success") && dto->status == DAT_DTO_ERR_FLUSHED)
			dto->status = DAT_DTO_SUCCESS;
		if (is("length_error_is_success") && dto->status == DAT_DTO_ERR_LOCAL_LENGTH)
			dto->status = DAT_DTO_SUCCESS;
	}
	if (event->event_number == DAT_SOFTWARE_EVENT && is("se_pointer_cut"))
		event->event_data.software_event_data.pointer =
			(DAT_PVOID)((uintptr_t)event->event_data.software_event_data.pointer &
				    0xffffffff);
	if (is("event_without_evd"))
		event->evd_handle = DAT_HANDLE_NULL;
}

static bool lost(const DAT_EVENT *event)
{
	return is("flush_lost") && event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       event->event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED;
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore)
{
	DAT_RETURN ret;

	order_look();
	if (is("threshold_ignored") && threshold > 1)
		threshold = 1;
	if (is("threshold_unchecked") && threshold < 1)
		threshold = 1;
	do {
		ret = NEXT(dat_evd_wait)(evd, timeout, threshold, event, nmore);
	} while (ret == DAT_SUCCESS && lost(event));
	if (ret == DAT_SUCCESS) {
		bend(event);
		if (is("nmore_zero"))
			*nmore = 0;
	}
	if (is("nmore_timeout") && TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		*nmore = 0;
	if (is("abort_is_state") && TYPE(ret) == DAT_ABORT)
		return ERROR(DAT_INVALID_STATE);
	if (is("second_waiter") && TYPE(ret) == DAT_INVALID_STATE)
		return ERROR(DAT_TIMEOUT_EXPIRED);
	if (is("interrupted_is_timeout") && TYPE(ret) == DAT_INTERRUPTED_CALL)
		return ERROR(DAT_TIMEOUT_EXPIRED);
	return ret;
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret;

	order_look();
	ret = NEXT(dat_evd_dequeue)(evd, event);
	if (ret == DAT_SUCCESS)
		bend(event);
	return is("dequeue_beside_waiter") && TYPE(ret) == DAT_INVALID_STATE
		       ? ERROR(DAT_QUEUE_EMPTY)
		       : ret;
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	DAT_EVD_HANDLE hint = DAT_HANDLE_NULL;
	DAT_RETURN ret = NEXT(dat_cno_wait)(cno, timeout, evd ? &hint : NULL);

	if (TYPE(ret) == DAT_QUEUE_EMPTY && is("cno_timed_out"))
		ret = ERROR(DAT_TIMEOUT_EXPIRED);
	if (evd && !(TYPE(ret) == DAT_QUEUE_EMPTY && is("cno_evd_untouched")))
		*evd = hint;
	return ret;
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	if (is("crash"))
		abort();
	if (is("hang"))
		pause();
	return NEXT(dat_cno_query)(cno, mask, param);
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			     DAT_BOOLEAN *request_idle)
{
	DAT_RETURN ret = NEXT(dat_ep_get_status)(ep, state, recv_idle, request_idle);

	if (ret != DAT_SUCCESS)
		return ret;
	if (is("recv_always_idle"))
		*recv_idle = DAT_TRUE;
	if (is("reserved_hidden") && *state == DAT_EP_STATE_RESERVED)
		*state = DAT_EP_STATE_UNCONNECTED;
	if (is("connected_late") && *state == DAT_EP_STATE_CONNECTED)
		*state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
	if (is("disconnected_late") && *state == DAT_EP_STATE_DISCONNECTED)
		*state = DAT_EP_STATE_CONNECTED;
	return ret;
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	DAT_RETURN ret = NEXT(dat_ep_query)(
		ep, is("mask_unchecked") ? mask & DAT_EP_FIELD_ALL : mask, param);

	if (ret == DAT_SUCCESS && is("ep_without_pz"))
		param->pz_handle = DAT_HANDLE_NULL;
	return ret;
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	DAT_RETURN ret = NEXT(dat_evd_query)(evd, mask, param);

	if (ret == DAT_SUCCESS && is("evd_short"))
		param->evd_qlen = 1;
	return ret;
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	DAT_RETURN ret = NEXT(dat_cr_query)(cr, mask, param);

	if (ret == DAT_SUCCESS && is("request_data_short") && param->private_data_size)
		param->private_data_size--;
	return ret;
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS flags)
{
	if (is("private_data_truncated") && size > 64)
		size = 64;
	return NEXT(dat_ep_connect)(ep, address, qual, timeout, size, data, qos, flags);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret;

	if (is("suppress_ignored"))
		flags &= ~DAT_COMPLETION_SUPPRESS_FLAG;
	if (is("unsignalled_unchecked"))
		flags &= ~DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (order_takes_send(ep, n, iov, cookie, flags, &ret))
		return ret;
	return NEXT(dat_ep_post_send)(ep, n, iov, cookie, flags);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *seg, DAT_MEM_PRIV_FLAGS priv,
			DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context)
{
	static DAT_RMR_CONTEXT first;
	DAT_RETURN ret = NEXT(dat_rmr_bind)(rmr, seg, priv, ep, cookie, flags, context);

	if (ret == DAT_SUCCESS && is("bind_same_context"))
		*context = first = first ? first : *context;
	return ret;
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			  DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			  DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size, DAT_VADDR *address)
{
	DAT_RETURN ret = NEXT(dat_lmr_create)(ia, type, region, length, pz, priv, lmr, context,
					      rmr_context, size, address);

	if (ret == DAT_SUCCESS && is("local_has_key") && rmr_context && !*rmr_context)
		*rmr_context = 1;
	if (ret == DAT_SUCCESS && is("registered_less") && size)
		*size = length / 2;
	return ret;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	if (is("close_always_abrupt") && flags == DAT_CLOSE_GRACEFUL_FLAG)
		flags = DAT_CLOSE_ABRUPT_FLAG;
	return NEXT(dat_ia_close)(ia, flags);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	DAT_RETURN ret = NEXT(dat_get_handle_type)(handle, type);

	if (ret == DAT_SUCCESS && is("evd_is_cno") && *type == DAT_HANDLE_TYPE_EVD)
		*type = DAT_HANDLE_TYPE_CNO;
	return ret;
}
