/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mutant wrapper: mutants.sh says which clause has to turn red for each rule that it breaks.
 * Invariant: what is not about that rule passes as it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mutant.h"

/* Rules that are broken by changing the return value of a call. */
static const struct {
	const char *rule;
	enum datp_call call;
	DAT_RETURN_TYPE from, to;
} answers[] = {
	{ "evd_free_busy", DATP_CALL_evd_free, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "cno_free_busy", DATP_CALL_cno_free, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "pz_free_busy", DATP_CALL_pz_free, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "lmr_free_bound", DATP_CALL_lmr_free, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "srq_free_used", DATP_CALL_srq_free, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "ep_free_reserved", DATP_CALL_ep_free, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "post_se_full", DATP_CALL_evd_post_se, DAT_QUEUE_FULL, DAT_SUCCESS },
	{ "reset_connected", DATP_CALL_ep_reset, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "disconnect_unconnected", DATP_CALL_ep_disconnect, DAT_INVALID_STATE, DAT_SUCCESS },
	{ "abort_is_state", DATP_CALL_evd_wait, DAT_ABORT, DAT_INVALID_STATE },
	{ "second_waiter", DATP_CALL_evd_wait, DAT_INVALID_STATE, DAT_TIMEOUT_EXPIRED },
	{ "interrupted_is_timeout", DATP_CALL_evd_wait, DAT_INTERRUPTED_CALL,
	  DAT_TIMEOUT_EXPIRED },
	{ "dequeue_beside_waiter", DATP_CALL_evd_dequeue, DAT_INVALID_STATE, DAT_QUEUE_EMPTY },
	{ "empty_has_class", DATP_CALL_evd_dequeue, DAT_QUEUE_EMPTY, DAT_QUEUE_EMPTY },
	{ "empty_is_timeout", DATP_CALL_evd_dequeue, DAT_QUEUE_EMPTY, DAT_TIMEOUT_EXPIRED },
	{ "empty_region_is_parameter", DATP_CALL_lmr_create, DAT_LENGTH_ERROR, DAT_INVALID_PARAMETER },
	{ "cno_timed_out", DATP_CALL_cno_wait, DAT_QUEUE_EMPTY, DAT_TIMEOUT_EXPIRED },
};

/* Calls that return success and do nothing. */
static const struct {
	const char *rule;
	enum datp_call call;
} idle[] = {
	{ "set_unwaitable_nothing", DATP_CALL_evd_set_unwaitable },
	{ "clear_unwaitable_nothing", DATP_CALL_evd_clear_unwaitable },
	{ "disable_nothing", DATP_CALL_evd_disable },
	{ "enable_nothing", DATP_CALL_evd_enable },
	{ "modify_cno_nothing", DATP_CALL_evd_modify_cno },
	{ "resize_nothing", DATP_CALL_evd_resize },
	{ "modify_agent_nothing", DATP_CALL_cno_modify_agent },
	{ "psp_free_nothing", DATP_CALL_psp_free },
	{ "rsp_free_nothing", DATP_CALL_rsp_free },
	{ "cr_reject_nothing", DATP_CALL_cr_reject },
	{ "srq_lw_nothing", DATP_CALL_srq_set_lw },
	{ "context_nothing", DATP_CALL_set_consumer_context },
	{ "reset_nothing", DATP_CALL_ep_reset },
};

/* Rules that give an event another number. */
static const struct {
	const char *rule;
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------ before */

/* Passes a call on with one argument changed. */
static bool passes_changed(struct mutant *mutant, struct datp_wrap_call *call, int i,
			   uint64_t value)
{
	uint64_t words[DATP_CALL_ARGS];
	const struct datp_arg *args;
	int n = datp_call_args(call->id, &args);

	memcpy(words, call->arg, (size_t)n * sizeof(words[0]));
	words[i] = value;
	call->ret = datp_wrap_beneath(&mutant->base, call->id, words);
	return false;
}

static bool answers_itself(struct datp_wrap_call *call, DAT_RETURN ret)
{
	call->ret = ret;
	return false;
}

static bool before_wait(struct mutant *mutant, struct datp_wrap_call *call)
{
	DAT_COUNT threshold = (DAT_COUNT)call->arg[2];

	order_look(mutant);
	if (order_gives_kept(mutant, call, AT(call, 3, DAT_EVENT))) {
		*AT(call, 4, DAT_COUNT) = 0;
		return false;
	}
	if ((breaks(mutant, "threshold_ignored") && threshold > 1) ||
	    (breaks(mutant, "threshold_unchecked") && threshold < 1))
		return passes_changed(mutant, call, 2, 1);
	return true;
}

/*
 * An endpoint that was accepted is not posted to before its ESTABLISHED was taken, as by a provider
 * that goes by the state alone.
 */
static bool is_too_early(struct mutant *mutant, const struct datp_wrap_call *call)
{
	return breaks(mutant, "post_needs_established") && call->id == DATP_CALL_ep_post_send &&
	       (DAT_EP_HANDLE)(uintptr_t)call->arg[0] ==
		       __atomic_load_n(&mutant->unheard, __ATOMIC_ACQUIRE);
}

/* Behaves like a device that ends the connection if a message of the passive side finds no receive. */
static bool breaks_early_send(struct mutant *mutant, struct datp_wrap_call *call)
{
	const uint64_t words[] = { call->arg[0], DAT_CLOSE_ABRUPT_FLAG };

	if (!breaks(mutant, "early_send_breaks") || call->id != DATP_CALL_ep_post_send ||
	    (DAT_EP_HANDLE)(uintptr_t)call->arg[0] !=
		    __atomic_load_n(&mutant->accepted, __ATOMIC_ACQUIRE))
		return false;
	datp_wrap_beneath(&mutant->base, DATP_CALL_ep_disconnect, words);
	return true;
}

/* Asks for the right of a sink where that of a source is enough: a segment is in the last region without LOCAL_WRITE. */
static bool refuses_source(const struct mutant *mutant, const struct datp_wrap_call *call)
{
	DAT_LMR_CONTEXT unwritable = __atomic_load_n(&mutant->unwritable, __ATOMIC_ACQUIRE);

	if (!unwritable || !((breaks(mutant, "send_needs_write") && call->id == DATP_CALL_ep_post_send) ||
			     (breaks(mutant, "write_needs_write") && call->id == DATP_CALL_ep_post_rdma_write)))
		return false;
	for (DAT_COUNT i = 0; i < (DAT_COUNT)call->arg[1]; i++)
		if (AT(call, 2, DAT_LMR_TRIPLET)[i].lmr_context == unwritable)
			return true;
	return false;
}

/* Sends and receives have their flags in the fourth argument after the endpoint, RDMA in the fifth. */
static bool before_post(struct mutant *mutant, struct datp_wrap_call *call)
{
	int at = call->id == DATP_CALL_ep_post_send || call->id == DATP_CALL_ep_post_recv ? 4 : 5;
	DAT_COMPLETION_FLAGS without = 0;

	if (is_too_early(mutant, call))
		return answers_itself(call, ERROR(DAT_INVALID_STATE));
	if (breaks_early_send(mutant, call))
		return answers_itself(call, DAT_SUCCESS);
	if (refuses_source(mutant, call))
		return answers_itself(call, ERROR(DAT_PRIVILEGES_VIOLATION));
	if (breaks(mutant, "suppress_ignored"))
		without = DAT_COMPLETION_SUPPRESS_FLAG;
	if (breaks(mutant, "unsignalled_unchecked") || breaks(mutant, "mixed_wakes"))
		without = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (breaks(mutant, "mixed_lost") && call->arg[at] == DAT_COMPLETION_UNSIGNALLED_FLAG)
		return passes_changed(mutant, call, at, DAT_COMPLETION_SUPPRESS_FLAG);
	if (without)
		return passes_changed(mutant, call, at, call->arg[at] & ~(uint64_t)without);
	if (call->id != DATP_CALL_ep_post_send && call->id != DATP_CALL_ep_post_rdma_write)
		return true;
	return !order_takes(mutant, call);
}

static bool before_disconnect(struct mutant *mutant, struct datp_wrap_call *call)
{
	DAT_BOOLEAN busy;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	const uint64_t words[] = { call->arg[0], (uintptr_t)&state, (uintptr_t)&busy,
				   (uintptr_t)&busy };

	if (breaks(mutant, "graceful_is_abrupt"))
		return passes_changed(mutant, call, 1, DAT_CLOSE_ABRUPT_FLAG);
	if (!breaks(mutant, "disconnect_twice"))
		return true;
	datp_wrap_beneath(&mutant->base, DATP_CALL_ep_get_status, words);
	return state != DAT_EP_STATE_DISCONNECTED || answers_itself(call, ERROR(DAT_INVALID_STATE));
}

/* The endpoint is in the zone of the window, so the window's zone does not keep the endpoint's peer out. */
static bool before_endpoint(struct mutant *mutant, struct datp_wrap_call *call)
{
	DAT_PZ_HANDLE pz = __atomic_load_n(&mutant->window_pz, __ATOMIC_ACQUIRE);

	if (!breaks(mutant, "window_zone_unchecked") || !pz)
		return true;
	return passes_changed(mutant, call, 1, (uintptr_t)pz);
}

/* Memory can be written to locally, although the program has asked for no right or for that to read it. */
static bool before_region(struct mutant *mutant, struct datp_wrap_call *call)
{
	if ((breaks(mutant, "none_is_writable") && call->arg[6] == DAT_MEM_PRIV_NONE_FLAG) ||
	    (breaks(mutant, "read_is_writable") && call->arg[6] == DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return passes_changed(mutant, call, 6, call->arg[6] | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	return true;
}

/* Prints as much as a sanitizer, so that the first summary is not among the last lines. */
static void report_as_sanitizer(void)
{
	fputs("==1==ERROR: MutantSanitizer: heap-use-after-free on address 0x1\n", stderr);
	for (int i = 0; i < 40; i++)
		fprintf(stderr, "    #%d 0x%08x in a_function_of_the_provider file.c:%d\n", i, i,
			i);
	fputs("SUMMARY: MutantSanitizer: heap-use-after-free file.c:7 in ep_free\n", stderr);
	for (int i = 0; i < 40; i++)
		fprintf(stderr, "  0x%08x: fa fa fa fa fa fa fa fa fd fd fd fd fd fd fd fd\n", i);
	fputs("SUMMARY: MutantSanitizer: what came of it\n==1==ABORTING\n", stderr);
}

static void misbehave(const struct mutant *mutant)
{
	if (breaks(mutant, "crash"))
		abort();
	if (breaks(mutant, "exit"))
		_exit(0);
	if (breaks(mutant, "hang"))
		pause();
	if (breaks(mutant, "close_files")) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		pause();
	}
	if (breaks(mutant, "summary_then_crash") || breaks(mutant, "summary_then_exit") ||
	    breaks(mutant, "summary_then_hang"))
		report_as_sanitizer();
	if (breaks(mutant, "summary_then_crash"))
		abort();
	if (breaks(mutant, "summary_then_exit"))
		_exit(66);
	if (breaks(mutant, "summary_then_hang"))
		pause();
	if (breaks(mutant, "words_then_crash")) {
		fputs("loading\n\nmutant: assertion failed\n\n", stderr);
		abort();
	}
	if (breaks(mutant, "leave_process") && fork() == 0) {
		/* In a session of its own, so that a kill of the test's process group misses it, for longer than a test takes. */
		setsid();
		alarm(60);
		pause();
		_exit(0);
	}
}

static bool mutant_before(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct mutant *mutant = (struct mutant *)wrap;

	for (size_t i = 0; i < COUNT(idle); i++)
		if (call->id == idle[i].call && breaks(mutant, idle[i].rule))
			return answers_itself(call, DAT_SUCCESS);
	switch (call->id) {
	case DATP_CALL_evd_wait: return before_wait(mutant, call);
	case DATP_CALL_evd_dequeue:
		order_look(mutant);
		return !order_gives_kept(mutant, call, AT(call, 1, DAT_EVENT));
	case DATP_CALL_ep_post_send:
	case DATP_CALL_ep_post_recv:
	case DATP_CALL_ep_post_rdma_read:
	case DATP_CALL_ep_post_rdma_write: return before_post(mutant, call);
	case DATP_CALL_ep_disconnect: return before_disconnect(mutant, call);
	case DATP_CALL_ep_create: return before_endpoint(mutant, call);
	case DATP_CALL_lmr_create: return before_region(mutant, call);
	case DATP_CALL_ia_close:
		if (breaks(mutant, "close_busy") && call->arg[1] == DAT_CLOSE_GRACEFUL_FLAG)
			return answers_itself(call, DAT_SUCCESS);
		return true;
	case DATP_CALL_ep_connect:
		if (breaks(mutant, "private_data_truncated") && (DAT_COUNT)call->arg[4] > 64)
			return passes_changed(mutant, call, 4, 64);
		return true;
	case DATP_CALL_ep_query:
		if (breaks(mutant, "mask_unchecked"))
			return passes_changed(mutant, call, 1, call->arg[1] & DAT_EP_FIELD_ALL);
		return true;
	case DATP_CALL_cno_wait:
		if (call->arg[2])
			call->scratch[0] = (uintptr_t)*AT(call, 2, DAT_EVD_HANDLE);
		return true;
	case DATP_CALL_cno_query: misbehave(mutant); return true;
	default: return true;
	}
}

/* ------------------------------------------------------------------ after */

static void bend_connection(struct mutant *mutant, DAT_EVENT *event)
{
	DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;

	for (size_t i = 0; i < COUNT(numbers); i++)
		if (event->event_number == numbers[i].from && breaks(mutant, numbers[i].rule)) {
			event->event_number = numbers[i].to;
			return;
		}
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		DAT_EP_HANDLE heard = conn->ep_handle;

		__atomic_compare_exchange_n(&mutant->unheard, &heard, DAT_HANDLE_NULL, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		if (breaks(mutant, "some_unreachable") &&
		    __atomic_add_fetch(&mutant->established, 1, __ATOMIC_RELAXED) % 16 == 0)
			event->event_number = DAT_CONNECTION_EVENT_UNREACHABLE;
		if (breaks(mutant, "private_data_short") && conn->private_data_size)
			conn->private_data_size--;
		if (breaks(mutant, "private_data_padded") && !conn->private_data_size)
			conn->private_data_size = 4;
	}
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT && breaks(mutant, "cr_without_sp"))
		event->event_data.cr_arrival_event_data.sp_handle.psp_handle = DAT_HANDLE_NULL;
}

/* Flushes a receive that is too short; depending on the rule, the adapter declares that it does so. */
static bool flushes_short(const struct mutant *mutant)
{
	return breaks(mutant, "short_flushed") || breaks(mutant, "short_flushed_declared");
}

static void bend_dto(struct mutant *mutant, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (breaks(mutant, "cookie_cut"))
		dto->user_cookie.as_64 &= 0xffffffff;
	if (breaks(mutant, "length_more"))
		dto->transfered_length++;
	if (breaks(mutant, "flushed_is_transport") && dto->status == DAT_DTO_ERR_FLUSHED)
		dto->status = DAT_DTO_ERR_TRANSPORT;
	if (breaks(mutant, "flushed_is_success") && dto->status == DAT_DTO_ERR_FLUSHED)
		dto->status = DAT_DTO_SUCCESS;
	if (breaks(mutant, "length_error_is_success") && dto->status == DAT_DTO_ERR_LOCAL_LENGTH)
		dto->status = DAT_DTO_SUCCESS;
	if (breaks(mutant, "long_send_is_transport") && dto->status == DAT_DTO_ERR_REMOTE_RESPONDER)
		dto->status = DAT_DTO_ERR_TRANSPORT;
	if (flushes_short(mutant) && dto->status == DAT_DTO_ERR_LOCAL_LENGTH)
		dto->status = DAT_DTO_ERR_FLUSHED;
}

/* Changes an event that the program gets, if the mutant's rule is about it. */
static void bend(struct mutant *mutant, DAT_EVENT *event)
{
	DAT_SOFTWARE_EVENT_DATA *se = &event->event_data.software_event_data;

	bend_connection(mutant, event);
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		bend_dto(mutant, &event->event_data.dto_completion_event_data);
	if (event->event_number == DAT_SOFTWARE_EVENT && breaks(mutant, "se_pointer_cut"))
		se->pointer = (DAT_PVOID)((uintptr_t)se->pointer & 0xffffffff);
	if (breaks(mutant, "event_without_evd"))
		event->evd_handle = DAT_HANDLE_NULL;
}

/* The CNO of an EVD whose waiter has got an event. */
static void trigger_cno(struct mutant *mutant, DAT_EVD_HANDLE evd)
{
	static const DAT_EVENT se = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE other = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param = { .cno_handle = DAT_HANDLE_NULL };
	const uint64_t query[] = { (uintptr_t)evd, DAT_EVD_FIELD_ALL, (uintptr_t)&param };

	datp_wrap_beneath(&mutant->base, DATP_CALL_evd_query, query);
	if (!param.cno_handle)
		return;
	const uint64_t create[] = { (uintptr_t)mutant->base.ia, 1, (uintptr_t)param.cno_handle,
				    DAT_EVD_SOFTWARE_FLAG, (uintptr_t)&other };

	if (datp_wrap_beneath(&mutant->base, DATP_CALL_evd_create, create) != DAT_SUCCESS)
		return;
	const uint64_t post[] = { (uintptr_t)other, (uintptr_t)&se };

	datp_wrap_beneath(&mutant->base, DATP_CALL_evd_post_se, post);
}

static bool is_lost(struct mutant *mutant, const DAT_EVENT *event)
{
	if (breaks(mutant, "break_lost") && (event->event_number == DAT_CONNECTION_EVENT_BROKEN ||
					     event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED))
		return true;
	return breaks(mutant, "flush_lost") && event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       event->event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED;
}

static void after_wait(struct mutant *mutant, struct datp_wrap_call *call)
{
	DAT_COUNT *nmore = AT(call, 4, DAT_COUNT);

	while (call->ret == DAT_SUCCESS && is_lost(mutant, AT(call, 3, DAT_EVENT)))
		call->ret = datp_wrap_beneath(&mutant->base, call->id, call->arg);
	if (call->ret == DAT_SUCCESS) {
		order_overtake(mutant, call, AT(call, 3, DAT_EVENT));
		bend(mutant, AT(call, 3, DAT_EVENT));
		if (breaks(mutant, "nmore_zero"))
			*nmore = 0;
		if (breaks(mutant, "cno_beside_waiter"))
			trigger_cno(mutant, (DAT_EVD_HANDLE)(uintptr_t)call->arg[0]);
	}
	if (breaks(mutant, "nmore_timeout") && TYPE(call->ret) == DAT_TIMEOUT_EXPIRED)
		*nmore = 0;
}

static void after_status(struct mutant *mutant, struct datp_wrap_call *call)
{
	static const struct {
		const char *rule;
		DAT_EP_STATE from, to;
	} states[] = {
		{ "reserved_hidden", DAT_EP_STATE_RESERVED, DAT_EP_STATE_UNCONNECTED },
		{ "connected_late", DAT_EP_STATE_CONNECTED,
		  DAT_EP_STATE_ACTIVE_CONNECTION_PENDING },
		{ "disconnected_late", DAT_EP_STATE_DISCONNECTED, DAT_EP_STATE_CONNECTED },
	};
	DAT_EP_STATE *state = AT(call, 1, DAT_EP_STATE);

	for (size_t i = 0; state && i < COUNT(states); i++)
		if (*state == states[i].from && breaks(mutant, states[i].rule)) {
			*state = states[i].to;
			break;
		}
	if (call->arg[2] && breaks(mutant, "recv_always_idle"))
		*AT(call, 2, DAT_BOOLEAN) = DAT_TRUE;
}

/* Attributes that excuse a device: the first one is true of this adapter, the second one is not. */
static void declare(struct mutant *mutant, DAT_IA_ATTR *attr)
{
	static DAT_NAMED_ATTR flushed = { .name = "short_receive", .value = "flushed" };
	static DAT_NAMED_ATTR unchecked = { .name = "read_right", .value = "unchecked" };

	if (!attr)
		return;
	if (breaks(mutant, "short_flushed_declared"))
		attr->transport_attr = &flushed;
	else if (breaks(mutant, "reads_unchecked_declared"))
		attr->transport_attr = &unchecked;
	else
		return;
	attr->num_transport_attr = 1;
}

/* Attributes that have no name or no value, among them those that datconform looks for. */
static void leave_unnamed(struct mutant *mutant, DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR *provider)
{
	static DAT_NAMED_ATTR transport[] = { { NULL, "process" }, { "short_receive", NULL } };
	static DAT_NAMED_ATTR specific[] = { { NULL, "TRUE" }, { "allow", NULL } };

	if (!breaks(mutant, "attributes_unnamed"))
		return;
	if (attr) {
		attr->num_transport_attr = COUNT(transport);
		attr->transport_attr = transport;
	}
	if (provider) {
		provider->num_provider_specific_attr = COUNT(specific);
		provider->provider_specific_attr = specific;
	}
}

static void after_query(struct mutant *mutant, struct datp_wrap_call *call)
{
	DAT_CR_PARAM *cr = AT(call, 2, DAT_CR_PARAM);

	if (call->id == DATP_CALL_ep_query && breaks(mutant, "ep_without_pz"))
		AT(call, 2, DAT_EP_PARAM)->pz_handle = DAT_HANDLE_NULL;
	if (call->id == DATP_CALL_evd_query && breaks(mutant, "evd_short"))
		AT(call, 2, DAT_EVD_PARAM)->evd_qlen = 1;
	if (call->id == DATP_CALL_cr_query && breaks(mutant, "request_data_short") &&
	    cr->private_data_size)
		cr->private_data_size--;
	if (call->id == DATP_CALL_srq_query && breaks(mutant, "srq_counts_posted"))
		AT(call, 2, DAT_SRQ_PARAM)->available_dto_count =
			AT(call, 2, DAT_SRQ_PARAM)->outstanding_dto_count;
}

static void after_memory(struct mutant *mutant, struct datp_wrap_call *call)
{
	DAT_RMR_CONTEXT none = 0;

	if (call->id == DATP_CALL_rmr_bind && breaks(mutant, "bind_same_context")) {
		DAT_RMR_CONTEXT *context = AT(call, 6, DAT_RMR_CONTEXT);

		if (!__atomic_compare_exchange_n(&mutant->first_context, &none, *context, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			*context = none;
	}
	if (call->id == DATP_CALL_lmr_create && breaks(mutant, "local_has_key") && call->arg[9] &&
	    !*AT(call, 9, DAT_RMR_CONTEXT))
		*AT(call, 9, DAT_RMR_CONTEXT) = 1;
	if (call->id == DATP_CALL_lmr_create && breaks(mutant, "registered_less") && call->arg[10])
		*AT(call, 10, DAT_VLEN) = call->arg[4] / 2;
	if (call->id == DATP_CALL_lmr_create && call->arg[8] && !(call->arg[6] & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		__atomic_store_n(&mutant->unwritable, *AT(call, 8, DAT_LMR_CONTEXT), __ATOMIC_RELEASE);
}

/* The receives that the endpoint has taken keep one place of the SRQ for good. */
static void after_endpoint_free(struct mutant *mutant)
{
	DAT_SRQ_HANDLE srq = __atomic_exchange_n(&mutant->srq, DAT_HANDLE_NULL, __ATOMIC_ACQ_REL);
	const uint64_t words[] = { (uintptr_t)srq, 0, 0, 0 };

	if (srq && breaks(mutant, "srq_place_lost"))
		datp_wrap_beneath(&mutant->base, DATP_CALL_srq_post_recv, words);
}

/* Stores what the rules about later calls need. */
static void remember(struct mutant *mutant, const struct datp_wrap_call *call)
{
	DAT_PZ_HANDLE none = DAT_HANDLE_NULL;

	if (call->id == DATP_CALL_rmr_create)
		__atomic_compare_exchange_n(&mutant->window_pz, &none, (DAT_PZ_HANDLE)(uintptr_t)call->arg[0], false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	if (call->id == DATP_CALL_ep_create_with_srq)
		__atomic_store_n(&mutant->srq, (DAT_SRQ_HANDLE)(uintptr_t)call->arg[5], __ATOMIC_RELEASE);
}

/* Changes what a successful call has returned in its OUT parameters. */
static void bend_results(struct mutant *mutant, struct datp_wrap_call *call)
{
	switch (call->id) {
	case DATP_CALL_evd_dequeue:
		order_overtake(mutant, call, AT(call, 1, DAT_EVENT));
		bend(mutant, AT(call, 1, DAT_EVENT));
		break;
	case DATP_CALL_ia_query:
		declare(mutant, AT(call, 3, DAT_IA_ATTR));
		leave_unnamed(mutant, AT(call, 3, DAT_IA_ATTR), AT(call, 5, DAT_PROVIDER_ATTR));
		break;
	case DATP_CALL_ep_get_status: after_status(mutant, call); break;
	case DATP_CALL_ep_query:
	case DATP_CALL_evd_query:
	case DATP_CALL_srq_query:
	case DATP_CALL_cr_query: after_query(mutant, call); break;
	case DATP_CALL_rmr_create:
	case DATP_CALL_ep_create_with_srq: remember(mutant, call); break;
	case DATP_CALL_ep_free: after_endpoint_free(mutant); break;
	case DATP_CALL_rmr_bind:
	case DATP_CALL_lmr_create: after_memory(mutant, call); break;
	case DATP_CALL_cr_accept:
		__atomic_store_n(&mutant->unheard, (DAT_EP_HANDLE)(uintptr_t)call->arg[1],
				 __ATOMIC_RELEASE);
		__atomic_store_n(&mutant->accepted, (DAT_EP_HANDLE)(uintptr_t)call->arg[1],
				 __ATOMIC_RELEASE);
		break;
	case DATP_CALL_get_handle_type:
		if (breaks(mutant, "evd_is_cno") &&
		    *AT(call, 1, DAT_HANDLE_TYPE) == DAT_HANDLE_TYPE_EVD)
			*AT(call, 1, DAT_HANDLE_TYPE) = DAT_HANDLE_TYPE_CNO;
		break;
	default: break;
	}
}

static void mutant_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct mutant *mutant = (struct mutant *)wrap;

	if (call->id == DATP_CALL_evd_wait)
		after_wait(mutant, call);
	if (call->id == DATP_CALL_cno_wait && call->arg[2] &&
	    TYPE(call->ret) == DAT_QUEUE_EMPTY && breaks(mutant, "cno_evd_untouched"))
		*AT(call, 2, DAT_EVD_HANDLE) = (DAT_EVD_HANDLE)(uintptr_t)call->scratch[0];
	if (call->id == DATP_CALL_cr_accept && TYPE(call->ret) != DAT_SUCCESS &&
	    breaks(mutant, "refused_accept_rejects"))
		datp_wrap_beneath(wrap, DATP_CALL_cr_reject, call->arg);
	if (call->ret == DAT_SUCCESS)
		bend_results(mutant, call);
	if (call->id == DATP_CALL_psp_create && TYPE(call->ret) == DAT_CONN_QUAL_IN_USE &&
	    breaks(mutant, "taken_is_told"))
		fprintf(stderr, "the qualifier is taken\n");
	for (size_t i = 0; i < COUNT(answers); i++)
		if (call->id == answers[i].call && TYPE(call->ret) == (DAT_RETURN)answers[i].from &&
		    breaks(mutant, answers[i].rule)) {
			call->ret = answers[i].to ? ERROR(answers[i].to) : DAT_SUCCESS;
			break;
		}
}

/* ------------------------------------------------------------------ opening */

static enum datp_err mutant_open(struct datp_wrap *wrap, const char *params)
{
	struct mutant *mutant = (struct mutant *)wrap;

	snprintf(mutant->rule, sizeof(mutant->rule), "%s", params);
	pthread_mutex_init(&mutant->lock, NULL);
	if (breaks(mutant, "open_crash"))
		abort();
	if (breaks(mutant, "open_exit"))
		_exit(0);
	if (breaks(mutant, "open_hang"))
		pause();
	return DATP_OK;
}

static void mutant_close(struct datp_wrap *wrap)
{
	pthread_mutex_destroy(&((struct mutant *)wrap)->lock);
}

static const struct datp_wrap_ops mutant_ops = {
	.wrap_size = sizeof(struct mutant),
	.open = mutant_open,
	.close = mutant_close,
	.before = mutant_before,
	.after = mutant_after,
};

DATP_WRAPPER("mutant", mutant_ops)
