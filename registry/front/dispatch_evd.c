/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's calls on event dispatchers and notification objects,
 * each passed on to its slot in the vtable.
 *
 * Invariant: a handle that is not an object of a live provider never reaches a provider, and a call
 * that the provider does not have returns DAT_NOT_IMPLEMENTED.
 */
#include "front.h"

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_resize_func, evd_handle,
		     evd_min_qlen);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_post_se_func, evd_handle,
		     event);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	REG_DISPATCH_QUERY(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_query_func,
			   evd_param_mask, DAT_EVD_FIELD_IA_HANDLE, evd_param);
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_free_func, evd_handle);
}

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle)
{
	REG_DISPATCH_IA(ia_handle, evd_create_func, ia_object, evd_min_qlen, cno_handle, evd_flags,
			evd_handle);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_modify_cno_func, evd_handle,
		     cno_handle);
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_enable_func, evd_handle);
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_disable_func, evd_handle);
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_set_unwaitable_func,
		     evd_handle);
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	REG_DISPATCH(evd_handle, DAT_INVALID_HANDLE_EVD_REQUEST, evd_clear_unwaitable_func,
		     evd_handle);
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	REG_DISPATCH_IA(ia_handle, cno_create_func, ia_object, agent, cno_handle);
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	REG_DISPATCH(cno_handle, DAT_INVALID_HANDLE_CNO, cno_modify_agent_func, cno_handle, agent);
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	REG_DISPATCH_QUERY(cno_handle, DAT_INVALID_HANDLE_CNO, cno_query_func, cno_param_mask,
			   DAT_CNO_FIELD_IA_HANDLE, cno_param);
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	REG_DISPATCH(cno_handle, DAT_INVALID_HANDLE_CNO, cno_free_func, cno_handle);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	REG_DISPATCH(cno_handle, DAT_INVALID_HANDLE_CNO, cno_wait_func, cno_handle, timeout,
		     evd_handle);
}

/*
 * Translates the handle in an asynchronous error, which may be about the IA itself: existing
 * plugins name the IA by their own pointer, and the consumer gets the handle that it knows.
 */
static REG_COLD DAT_RETURN async_event(DAT_EVENT *event)
{
	event->event_data.asynch_error_event_data.dat_handle =
		datreg_handle_shown(event->event_data.asynch_error_event_data.dat_handle);
	return DAT_SUCCESS;
}

/*
 * Returns what the provider returned, and translates the event if that is needed. This costs one
 * comparison for an event, and nothing for an empty queue.
 */
static inline DAT_RETURN event_result(DAT_RETURN rc, DAT_EVENT *event)
{
	if (rc != DAT_SUCCESS)
		return rc;
	if (REG_UNLIKELY(event->event_number >= DAT_ASYNC_ERROR_EVD_OVERFLOW &&
			 event->event_number <= DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR))
		return async_event(event);
	return DAT_SUCCESS;
}

static REG_COLD DAT_RETURN dat_evd_dequeue_unusual(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	const DAT_PROVIDER *provider = reg_provider(evd_handle);

	if (!provider)
		return datreg_refused(__func__, evd_handle, REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST));
	if (!provider->evd_dequeue_func)
		return datreg_refused(__func__, evd_handle, REG_ERROR(DAT_NOT_IMPLEMENTED, 0));
	return event_result(provider->evd_dequeue_func(evd_handle, event), event);
}

/* Like the calls that REG_DISPATCH_FAST defines, except that an event may have to be translated. */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	const DAT_PROVIDER *provider = reg_hot_provider(evd_handle);

	if (REG_UNLIKELY(!provider))
		return dat_evd_dequeue_unusual(evd_handle, event);
	return event_result(provider->evd_dequeue_func(evd_handle, event), event);
}

/* The thread may be cancelled while the call blocks, because no lock is held here. */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *n_more_events)
{
	const DAT_PROVIDER *provider = probe_provider(evd_handle);
	DAT_RETURN rc;

	if (REG_UNLIKELY(!provider))
		return datreg_refused(__func__, evd_handle, REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST));
	if (REG_UNLIKELY(!provider->evd_wait_func))
		return datreg_refused(__func__, evd_handle, REG_ERROR(DAT_NOT_IMPLEMENTED, 0));
	rc = provider->evd_wait_func(evd_handle, timeout, threshold, event, n_more_events);
	return event_result(rc, event);
}
