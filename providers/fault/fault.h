/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the fault-injecting wrapper share. */
#ifndef FAULT_H
#define FAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <datp/wrap.h>

#include "layout.h"

/* What a rule applies to: a call, or a completion on its way to the program. */
enum fault_target { FAULT_CALL, FAULT_REQUEST, FAULT_RECV };

enum fault_action {
	FAULT_RETURN,	  /* the call is not made, and returns `value` */
	FAULT_DELAY,	  /* `value` milliseconds */
	FAULT_DISCONNECT, /* the endpoint's connection ends before the call */
	FAULT_LOST,	  /* likewise, as if the peer were gone: BROKEN */
	FAULT_STATUS,	  /* the completion has failed, with `value`; the connection is BROKEN */
	FAULT_EVENT,	  /* the attempt that ep_connect or cr_accept began ends with this event */
	FAULT_ASYNC,	  /* an asynchronous error */
};

struct fault_rule {
	struct fault_rule *next;
	enum fault_target target;
	enum datp_call call;
	enum fault_action action;
	uint32_t value;
	char *text;
	uint64_t seen, fired;		   /* fault.lock */
	uint64_t nth, after, every, times; /* 0: not given */
	uint32_t chance;		   /* of 2^32; 0: not given */
	bool warned;			   /* that it does not apply to an endpoint. fault.lock */
};

/* An endpoint with an injected fault; forgotten when it is reset or freed, or when its end is taken (fault_ep_freed). */
struct fault_ep {
	struct fault_ep *next;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE failed_on; /* later successes there are flushed */
	bool broken;		  /* DISCONNECTED is shown as BROKEN */
	bool over;		  /* its end has been reported: DISCONNECTED is not shown */
	bool freed;		  /* the endpoint is gone, and its end may be queued */
	DAT_EVENT_NUMBER fails_with;	  /* the event that replaces ESTABLISHED; 0: none */
};

/* An asynchronous error that has not been taken. */
struct fault_async {
	struct fault_async *next;
	bool told; /* to a thread that waits on the EVD's CNO */
	DAT_EVENT event;
};

struct fault {
	struct datp_wrap base;
	const struct fault_layout *layout; /* of the program's API */
	struct fault_rule *rules; /* constant except for their counts */
	bool has_async;
	pthread_mutex_t lock; /* no other lock is taken under it */
	uint64_t random;
	struct fault_ep *eps;
	struct fault_async *async;
};

/* rule.c: returns false after datp_wrap_refuse(). */
bool fault_rules_parse(struct fault *fault, const char *params);
void fault_rules_free(struct fault *fault);
/* Counts the call or completion, and returns whether the rule fires for it. */
bool fault_rule_fires(struct fault *fault, struct fault_rule *rule);
/* Likewise for a rule about ia_open, which counts all opens of the adapter in this process. */
bool fault_rule_fires_at_open(struct fault *fault, struct fault_rule *rule);

/* allowed.c */
const char *fault_allowed(enum datp_call id);
bool fault_may_return(enum datp_call id, const char *name);

void fault_nap(uint32_t ms);

/* event.c */
void fault_break(struct fault *fault, DAT_EP_HANDLE ep, bool broken);
void fault_attempt_fail(struct fault *fault, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER how);
void fault_forget(struct fault *fault, DAT_EP_HANDLE ep);
void fault_ep_freed(struct fault *fault, DAT_EP_HANDLE ep);
void fault_async_post(struct fault *fault, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep,
		      DAT_EVD_HANDLE evd);
/*
 * Returns true if there is an error that no wait on a CNO has reported yet, and marks all as
 * reported.
 */
bool fault_async_tell(struct fault *fault);
bool fault_async_take(struct fault *fault, DAT_EVENT *event);
/* Returns false if the program does not get the event. */
bool fault_event(struct fault *fault, DAT_EVENT *event);

#endif
