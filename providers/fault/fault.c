/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault-injecting wrapper: makes another adapter fail on purpose, so that a program's error
 * handling can be tested. Its instance data:
 *
 *	NAME [seed=N] [script=FILE] [RULE]...
 *
 * rule.c describes the rules. Invariant: unless a rule fires, every call passes unchanged, and only
 * what the standard allows is injected.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"

/* The interval at which a wait that may return asynchronous errors checks for injected ones. */
#define SLICE_US 20000

static bool is_wait(const struct datp_wrap_call *call)
{
	return call->id == DATP_CALL_evd_wait || call->id == DATP_CALL_evd_dequeue;
}

static DAT_EVENT *event_of(const struct datp_wrap_call *call)
{
	return (DAT_EVENT *)(uintptr_t)call->arg[call->id == DATP_CALL_evd_wait ? 3 : 1];
}

void fault_nap(uint32_t ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&time, NULL);
}

/* Answers a dat_evd_wait for one event with an injected error. Returns false if there is none. */
static bool answers_wait(struct fault *fault, const uint64_t *arg)
{
	if (arg[2] != 1 || !arg[3] || !arg[4] ||
	    !fault_async_take(fault, (DAT_EVENT *)(uintptr_t)arg[3]))
		return false;
	*(DAT_COUNT *)(uintptr_t)arg[4] = 0;
	return true;
}

/*
 * Answers a dat_cno_wait on the CNO of the EVD for asynchronous errors, if there is an injected
 * error that no such wait has reported yet. Returns false otherwise.
 */
static bool answers_cno_wait(struct fault *fault, const uint64_t *arg)
{
	uint64_t param[FAULT_PARAM_MAX / sizeof(uint64_t)] = { 0 };
	uint64_t query[3] = { (uintptr_t)fault->base.async, fault->layout->evd_cno, (uintptr_t)param };

	if (!arg[2] ||
	    datp_wrap_beneath(&fault->base, DATP_CALL_evd_query, query) != DAT_SUCCESS ||
	    fault->layout->cno(param) != (DAT_CNO_HANDLE)(uintptr_t)arg[0] || !fault_async_tell(fault))
		return false;
	*(DAT_EVD_HANDLE *)(uintptr_t)arg[2] = fault->base.async;
	return true;
}

/* Waits in slices, because an injected error cannot wake the wait. */
static DAT_RETURN sliced_wait(struct fault *fault, const struct datp_wrap_call *call,
			      bool (*answers)(struct fault *fault, const uint64_t *arg))
{
	const struct datp_arg *args;
	uint64_t slice[DATP_CALL_ARGS];
	uint32_t left = (uint32_t)call->arg[1];
	bool for_ever = left == DAT_TIMEOUT_INFINITE;
	DAT_RETURN ret;

	memcpy(slice, call->arg, (size_t)datp_wrap_args(&fault->base, call->id, &args) * sizeof(*slice));
	for (;;) {
		if (answers(fault, call->arg))
			return DAT_SUCCESS;
		slice[1] = for_ever || left > SLICE_US ? SLICE_US : left;
		ret = datp_wrap_beneath(&fault->base, call->id, slice);
		if ((DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		     DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY) ||
		    (!for_ever && left <= SLICE_US))
			return ret;
		left -= for_ever ? 0 : SLICE_US;
	}
}

/* Returns true if the call is answered here. */
static bool async_call(struct fault *fault, struct datp_wrap_call *call)
{
	if (!fault->has_async || !fault->base.async)
		return false;
	if (call->id == DATP_CALL_cno_wait) {
		call->ret = sliced_wait(fault, call, answers_cno_wait);
		return true;
	}
	if (!is_wait(call) || (DAT_EVD_HANDLE)(uintptr_t)call->arg[0] != fault->base.async)
		return false;
	if (call->id == DATP_CALL_evd_wait) {
		call->ret = sliced_wait(fault, call, answers_wait);
		return true;
	}
	call->ret = DAT_SUCCESS;
	return event_of(call) && fault_async_take(fault, event_of(call));
}

/*
 * Returns the endpoint that a call connects; for an accept that names none, the one that came with
 * the request.
 */
static DAT_EP_HANDLE endpoint_of(struct fault *fault, const struct datp_wrap_call *call)
{
	DAT_CR_PARAM param = { .local_ep_handle = DAT_HANDLE_NULL };
	uint64_t arg[3] = { call->arg[0], DAT_CR_FIELD_LOCAL_EP_HANDLE, (uintptr_t)&param };

	if (call->id != DATP_CALL_cr_accept)
		return (DAT_EP_HANDLE)(uintptr_t)call->arg[0];
	if (call->arg[1])
		return (DAT_EP_HANDLE)(uintptr_t)call->arg[1];
	datp_wrap_beneath(&fault->base, DATP_CALL_cr_query, arg);
	return param.local_ep_handle;
}

static bool has_completions(struct fault *fault, DAT_HANDLE evd)
{
	uint64_t param[FAULT_PARAM_MAX / sizeof(uint64_t)] = { 0 };
	uint64_t query[3] = { (uintptr_t)evd, fault->layout->evd_flags, (uintptr_t)param };

	return datp_wrap_beneath(&fault->base, DATP_CALL_evd_query, query) == DAT_SUCCESS &&
	       fault->layout->has_completions(param);
}

/*
 * Returns the value by which the call reports this type. Programs compare the whole value of an empty queue and of a wait that has
 * timed out, so it has the class only where libdatp sets it, too.
 */
static DAT_RETURN value_of(struct fault *fault, const struct datp_wrap_call *call, uint32_t type)
{
	bool bare = type == DAT_QUEUE_EMPTY;

	if (fault->layout->completions_bare && is_wait(call) && (bare || type == DAT_TIMEOUT_EXPIRED))
		bare = has_completions(fault, (DAT_HANDLE)(uintptr_t)call->arg[0]);
	return (DAT_RETURN)(bare ? type : DAT_CLASS_ERROR | type);
}

/* Returns false if the call is not made. */
static bool rule_apply(struct fault *fault, struct fault_rule *rule, struct datp_wrap_call *call)
{
	DAT_HANDLE about = (DAT_HANDLE)(uintptr_t)call->arg[0];

	switch (rule->action) {
	case FAULT_RETURN:
		call->ret = value_of(fault, call, rule->value);
		return false;
	case FAULT_DELAY:
		fault_nap(rule->value);
		return true;
	case FAULT_DISCONNECT:
	case FAULT_LOST:
		fault_break(fault, about, rule->action == FAULT_LOST);
		return true;
	case FAULT_EVENT:
		/* before the call, because the outcome may come before it returns */
		call->scratch[0] = (uintptr_t)endpoint_of(fault, call);
		fault_attempt_fail(fault, (DAT_EP_HANDLE)(uintptr_t)call->scratch[0],
			   (DAT_EVENT_NUMBER)rule->value);
		return true;
	case FAULT_ASYNC:
		fault_async_post(fault, (DAT_EVENT_NUMBER)rule->value, about, about);
		return true;
	default:
		return true;
	}
}

static bool fault_before(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct fault *fault = (struct fault *)wrap;
	struct fault_rule *rule;

	for (rule = fault->rules; rule; rule = rule->next)
		if (rule->target == FAULT_CALL && rule->call == call->id &&
		    fault_rule_fires(fault, rule) && !rule_apply(fault, rule, call))
			return false;
	return !async_call(fault, call);
}

static void fault_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct fault *fault = (struct fault *)wrap;

	if (call->ret != DAT_SUCCESS && call->scratch[0])
		fault_attempt_fail(fault, (DAT_EP_HANDLE)(uintptr_t)call->scratch[0], (DAT_EVENT_NUMBER)0);
	if (call->ret != DAT_SUCCESS || !call->made)
		return;
	switch (call->id) {
	case DATP_CALL_ep_reset:
		fault_forget(fault, (DAT_EP_HANDLE)(uintptr_t)call->arg[0]);
		break;
	case DATP_CALL_ep_free:
		fault_ep_freed(fault, (DAT_EP_HANDLE)(uintptr_t)call->arg[0]);
		break;
	case DATP_CALL_ep_create:
		fault_forget(fault, *(DAT_EP_HANDLE *)(uintptr_t)call->arg[6]);
		break;
	case DATP_CALL_ep_create_with_srq:
		fault_forget(fault, *(DAT_EP_HANDLE *)(uintptr_t)call->arg[7]);
		break;
	case DATP_CALL_evd_wait:
	case DATP_CALL_evd_dequeue:
		while (call->ret == DAT_SUCCESS && !fault_event(fault, event_of(call)))
			call->ret = datp_wrap_beneath(wrap, call->id, call->arg);
		break;
	default:
		break;
	}
}

/* Converts one of the types that fault_allowed() lists for ia_open. */
static enum datp_err open_error(uint32_t type)
{
	switch (type) {
	case DAT_INSUFFICIENT_RESOURCES:
		return DATP_ERR_MEMORY;
	case DAT_PROVIDER_NOT_FOUND:
		return DATP_ERR_NOT_FOUND;
	case DAT_INVALID_HANDLE:
		return DATP_ERR_HANDLE_EVD_ASYNC;
	default:
		return DATP_ERR_PARAM;
	}
}

static enum datp_err apply_at_open(struct fault *fault)
{
	for (struct fault_rule *rule = fault->rules; rule; rule = rule->next) {
		if (rule->target != FAULT_CALL || rule->call != DATP_CALL_ia_open ||
		    !fault_rule_fires_at_open(fault, rule))
			continue;
		if (rule->action == FAULT_DELAY) {
			fault_nap(rule->value);
		} else if (rule->action == FAULT_ASYNC) {
			fault_async_post(fault, (DAT_EVENT_NUMBER)rule->value, NULL, NULL);
		} else {
			datp_wrap_refuse("rule \"%s\" makes it fail; remove the rule if this is "
					 "not intended",
					 rule->text);
			return open_error(rule->value);
		}
	}
	return DATP_OK;
}

static void fault_close(struct datp_wrap *wrap)
{
	struct fault *fault = (struct fault *)wrap;
	DAT_EVENT event;

	while (fault_async_take(fault, &event))
		;
	while (fault->eps)
		fault_forget(fault, fault->eps->ep);
	fault_rules_free(fault);
}

static enum datp_err fault_open(struct datp_wrap *wrap, const char *params)
{
	struct fault *fault = (struct fault *)wrap;
	enum datp_err err;

	pthread_mutex_init(&fault->lock, NULL);
	fault->layout = datp_wrap_major(wrap) == 2 ? &fault_layout20 : &fault_layout12;
	if (!fault_rules_parse(fault, params))
		return DATP_ERR_PARAM;
	err = apply_at_open(fault);
	if (err)
		fault_close(wrap);
	return err;
}

static const struct datp_wrap_ops fault_ops = {
	.wrap_size = sizeof(struct fault),
	.open = fault_open,
	.close = fault_close,
	.before = fault_before,
	.after = fault_after,
	.apis = DATP_WRAP_API_20,
};

DATP_WRAPPER("fault", fault_ops)
