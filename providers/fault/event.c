/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events that the program gets from endpoints with injected faults, and asynchronous errors.
 * Invariant: their sequence is one that the standard allows: a failed completion is followed by
 * flushed ones, the connection by one event of its end, and an attempt has one outcome.
 *
 * Events are used as those of DAT 1.2: what is used of them here is the same in 2.0 (layout.c), except for the length.
 */
#include <stdlib.h>

#include "fault.h"

/* DAT_IB_DTO_EVENT of <dat2/dat_ib_extensions.h>, which begins as the event of any other DTO. */
#define EXTENSION_DTO 0x40000u

static struct fault_ep *ep_find_locked(struct fault *fault, DAT_EP_HANDLE ep)
{
	struct fault_ep *at;

	for (at = fault->eps; at && at->ep != ep;)
		at = at->next;
	return at;
}

/* Returns NULL if there is no memory; then no fault is injected. */
static struct fault_ep *ep_get_locked(struct fault *fault, DAT_EP_HANDLE ep)
{
	struct fault_ep *at = ep_find_locked(fault, ep);

	if (at)
		return at;
	at = calloc(1, sizeof(*at));
	if (at) {
		at->ep = ep;
		at->next = fault->eps;
		fault->eps = at;
	}
	return at;
}

/* Drops the asynchronous errors about an endpoint that is freed or reset: its handle may soon be that of another endpoint. */
static void async_forget_locked(struct fault *fault, DAT_EP_HANDLE ep)
{
	struct fault_async **at = &fault->async, *async;

	while ((async = *at)) {
		if (async->event.event_data.asynch_error_event_data.dat_handle != ep) {
			at = &async->next;
			continue;
		}
		*at = async->next;
		free(async);
	}
}

void fault_forget(struct fault *fault, DAT_EP_HANDLE ep)
{
	struct fault_ep **at, *gone = NULL;

	pthread_mutex_lock(&fault->lock);
	async_forget_locked(fault, ep);
	for (at = &fault->eps; *at && (*at)->ep != ep;)
		at = &(*at)->next;
	if (*at) {
		gone = *at;
		*at = gone->next;
	}
	pthread_mutex_unlock(&fault->lock);
	free(gone);
}

/*
 * In DAT 2.0 the events of a connection outlive its endpoint, so what changes them does as well, until the end has been taken, or
 * another endpoint has the handle.
 */
void fault_ep_freed(struct fault *fault, DAT_EP_HANDLE ep)
{
	struct fault_ep *at;
	bool stays;

	pthread_mutex_lock(&fault->lock);
	async_forget_locked(fault, ep);
	at = ep_find_locked(fault, ep);
	stays = at && fault->layout->events_stay && (at->over || at->broken || at->fails_with);
	if (stays)
		at->freed = true;
	pthread_mutex_unlock(&fault->lock);
	if (!stays)
		fault_forget(fault, ep);
}

static void disconnect(struct fault *fault, DAT_EP_HANDLE ep)
{
	uint64_t arg[2] = { (uintptr_t)ep, DAT_CLOSE_ABRUPT_FLAG };

	datp_wrap_beneath(&fault->base, DATP_CALL_ep_disconnect, arg);
}

static bool is_connected(struct fault *fault, DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	DAT_BOOLEAN recv_idle, request_idle;
	uint64_t arg[4] = { (uintptr_t)ep, (uintptr_t)&state, (uintptr_t)&recv_idle,
			    (uintptr_t)&request_idle };

	return datp_wrap_beneath(&fault->base, DATP_CALL_ep_get_status, arg) == DAT_SUCCESS &&
	       (int)state == fault->layout->connected;
}

void fault_break(struct fault *fault, DAT_EP_HANDLE ep, bool broken)
{
	struct fault_ep *at;

	if (!is_connected(fault, ep))
		return;
	pthread_mutex_lock(&fault->lock);
	at = ep_get_locked(fault, ep);
	if (at)
		at->broken = broken;
	pthread_mutex_unlock(&fault->lock);
	disconnect(fault, ep);
}

void fault_attempt_fail(struct fault *fault, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER how)
{
	struct fault_ep *at;

	pthread_mutex_lock(&fault->lock);
	at = ep_get_locked(fault, ep);
	if (at)
		at->fails_with = how;
	pthread_mutex_unlock(&fault->lock);
}

/* ------------------------------------------------------------------ asynchronous errors */

/*
 * An error about an endpoint really breaks it, one about an EVD names the EVD, and all others name
 * the IA.
 */
void fault_async_post(struct fault *fault, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep,
		      DAT_EVD_HANDLE evd)
{
	DAT_ASYNCH_ERROR_EVENT_DATA about = { fault->base.ia, DAT_IA_OTHER_ERROR };
	struct fault_async *async, **last;

	if (number == DAT_ASYNC_ERROR_IA_CATASTROPHIC) {
		about.reason = DAT_IA_CATASTROPHIC_ERROR;
	} else if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW) {
		about.dat_handle = evd;
		about.reason = DAT_EVD_OVERFLOW_ERROR;
	} else if (number == DAT_ASYNC_ERROR_EP_BROKEN) {
		if (!is_connected(fault, ep))
			return;
		fault_break(fault, ep, true);
		about.dat_handle = ep;
		about.reason = DAT_EP_TRANSFER_TO_ERROR;
	}
	async = calloc(1, sizeof(*async));
	if (!async)
		return;
	async->event.event_number = number;
	async->event.evd_handle = fault->base.async;
	async->event.event_data.asynch_error_event_data = about;
	pthread_mutex_lock(&fault->lock);
	for (last = &fault->async; *last;)
		last = &(*last)->next;
	*last = async;
	pthread_mutex_unlock(&fault->lock);
}

bool fault_async_tell(struct fault *fault)
{
	bool found = false;

	pthread_mutex_lock(&fault->lock);
	for (struct fault_async *async = fault->async; async; async = async->next) {
		found |= !async->told;
		async->told = true;
	}
	pthread_mutex_unlock(&fault->lock);
	return found;
}

bool fault_async_take(struct fault *fault, DAT_EVENT *event)
{
	struct fault_async *async;

	pthread_mutex_lock(&fault->lock);
	async = fault->async;
	if (async)
		fault->async = async->next;
	pthread_mutex_unlock(&fault->lock);
	if (async)
		*event = async->event;
	free(async);
	return async != NULL;
}

/* ------------------------------------------------------------------ events */

/* Warns once that a rule does not apply to an endpoint that has one EVD for Receives and requests. */
static void warn_shared(struct fault *fault, struct fault_rule *rule)
{
	bool warned;

	pthread_mutex_lock(&fault->lock);
	warned = rule->warned;
	rule->warned = true;
	pthread_mutex_unlock(&fault->lock);
	if (!warned)
		datp_log(2,
			 "fault: %s: rule \"%s\" does not apply to an endpoint that has one EVD for Receives and requests, because "
			 "events of DAT 1.2 do not say which of them completes; give the endpoint two EVDs, or write a rule about "
			 "the call that posts, such as ep_post_send",
			 fault->base.name, rule->text);
}

/*
 * Returns whether a completion is one that the rule is about. In DAT 1.2 the EVD that it came on decides; if the endpoint has one
 * EVD for Receives and requests, the rule is about none of its completions.
 */
static bool is_of(struct fault *fault, const DAT_EVENT *event, struct fault_rule *rule)
{
	DAT_EP_HANDLE ep = event->event_data.dto_completion_event_data.ep_handle;
	DAT_EP_PARAM param;
	uint64_t arg[3] = { (uintptr_t)ep, DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE,
			    (uintptr_t)&param };

	if (fault->layout->is_recv)
		return fault->layout->is_recv(event) == (rule->target == FAULT_RECV);
	if (datp_wrap_beneath(&fault->base, DATP_CALL_ep_query, arg) != DAT_SUCCESS)
		return false;
	if (param.recv_evd_handle == param.request_evd_handle) {
		warn_shared(fault, rule);
		return false;
	}
	return event->evd_handle == (rule->target == FAULT_RECV ? param.recv_evd_handle : param.request_evd_handle);
}

static void completion_fail(struct fault *fault, DAT_EVENT *event, uint32_t status)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct fault_ep *at;

	if (!is_connected(fault, dto->ep_handle))
		return;
	pthread_mutex_lock(&fault->lock);
	at = ep_get_locked(fault, dto->ep_handle);
	if (at) {
		at->failed_on = event->evd_handle;
		at->broken = true;
	}
	pthread_mutex_unlock(&fault->lock);
	if (!at)
		return;
	dto->status = (DAT_DTO_COMPLETION_STATUS)status;
	fault->layout->no_length(event);
	disconnect(fault, dto->ep_handle);
}

static void completion(struct fault *fault, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct fault_ep *at;
	bool flushed;

	if (dto->status != DAT_DTO_SUCCESS)
		return;
	pthread_mutex_lock(&fault->lock);
	at = ep_find_locked(fault, dto->ep_handle);
	flushed = at && at->failed_on == event->evd_handle;
	pthread_mutex_unlock(&fault->lock);
	if (flushed) {
		dto->status = DAT_DTO_ERR_FLUSHED;
		fault->layout->no_length(event);
		return;
	}
	for (struct fault_rule *rule = fault->rules; rule; rule = rule->next) {
		if (rule->target == FAULT_CALL || !is_of(fault, event, rule) ||
		    !fault_rule_fires(fault, rule))
			continue;
		if (rule->action == FAULT_DELAY)
			fault_nap(rule->value);
		else if (rule->action == FAULT_ASYNC)
			fault_async_post(fault, (DAT_EVENT_NUMBER)rule->value, dto->ep_handle,
					 event->evd_handle);
		else if (dto->status == DAT_DTO_SUCCESS)
			completion_fail(fault, event, rule->value);
	}
}

static bool connection(struct fault *fault, DAT_EVENT *event)
{
	DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	struct fault_ep *at;
	bool shown = true, fails = false, gone = false;

	pthread_mutex_lock(&fault->lock);
	at = ep_find_locked(fault, conn->ep_handle);
	if (at && event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED && at->fails_with) {
		event->event_number = at->fails_with;
		conn->private_data_size = 0;
		at->fails_with = (DAT_EVENT_NUMBER)0;
		at->over = true;
		fails = !at->freed;
	} else if (at && event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
		shown = !at->over;
		if (at->broken)
			event->event_number = DAT_CONNECTION_EVENT_BROKEN;
		at->over = at->broken = false;
	} else if (at && event->event_number == DAT_CONNECTION_EVENT_BROKEN) {
		shown = !at->over;
		at->over = at->broken = false;
	} else if (at) {
		at->fails_with = (DAT_EVENT_NUMBER)0;
	}
	gone = at && at->freed && !at->over && !at->broken && !at->fails_with;
	pthread_mutex_unlock(&fault->lock);
	if (fails)
		disconnect(fault, conn->ep_handle);
	if (gone)
		fault_forget(fault, conn->ep_handle);
	return shown;
}

bool fault_event(struct fault *fault, DAT_EVENT *event)
{
	if (!fault->rules)
		return true;
	switch ((unsigned int)event->event_number) {
	case EXTENSION_DTO:
	case DAT_DTO_COMPLETION_EVENT:
		completion(fault, event);
		return true;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return connection(fault, event);
	default:
		return true;
	}
}
