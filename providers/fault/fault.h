/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the fault-injecting wrapper share. */
#ifndef FAULT_H
#define FAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <datp/wrap.h>

/* What a rule waits for: a call, or a completion on its way to the program. */
enum fault_target { FAULT_CALL, FAULT_REQUEST, FAULT_RECV };

enum fault_action {
	FAULT_RETURN,	  /* the call is not made, and returns `value` */
	FAULT_DELAY,	  /* `value` milliseconds */
	FAULT_DISCONNECT, /* the endpoint's connection ends before the call */
	FAULT_LOST,	  /* likewise, as if the peer were gone: BROKEN */
	FAULT_STATUS,	  /* the completion has failed, with `value`; the connection is BROKEN */
	FAULT_EVENT,	  /* what ep_connect or cr_accept began comes to this end */
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
	uint64_t nth, after, every, times; /* 0: does not matter */
	uint32_t chance;		   /* of 2^32; 0: does not matter */
};

/* An endpoint that something has been done to; forgotten with its reset or free. */
struct fault_ep {
	struct fault_ep *next;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE failed_on; /* later successes there are flushed */
	bool broken;		  /* DISCONNECTED is shown as BROKEN */
	bool over;		  /* its end has been told: DISCONNECTED is not shown */
	DAT_EVENT_NUMBER doom;	  /* what ESTABLISHED is turned into; 0: nothing */
};

/* An asynchronous error that nobody has taken. */
struct fault_async {
	struct fault_async *next;
	bool told; /* to who waits for its CNO */
	DAT_EVENT event;
};

struct fault {
	struct datp_wrap base;
	struct fault_rule *rules; /* never change but for their counts */
	bool has_async;
	pthread_mutex_t lock; /* innermost: nothing is called under it */
	uint64_t random;
	struct fault_ep *eps;
	struct fault_async *async;
};

/* rule.c: false: datp_wrap_refuse() knows why. */
bool fault_rules_parse(struct fault *fault, const char *params);
void fault_rules_free(struct fault *fault);
/* Is it time? Counts. */
bool fault_rule_fires(struct fault *fault, struct fault_rule *rule);
/* Likewise for a rule about ia_open, which counts all opens of the adapter in this process. */
bool fault_rule_fires_at_open(struct fault *fault, struct fault_rule *rule);

/* allowed.c */
const char *fault_allowed(enum datp_call id);
bool fault_may_return(enum datp_call id, const char *name);

void fault_nap(uint32_t ms);

/* event.c */
void fault_break(struct fault *fault, DAT_EP_HANDLE ep, bool broken);
void fault_doom(struct fault *fault, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER how);
void fault_forget(struct fault *fault, DAT_EP_HANDLE ep);
void fault_async_post(struct fault *fault, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep,
		      DAT_EVD_HANDLE evd);
/* True: there is one that no CNO has told of yet. */
bool fault_async_tell(struct fault *fault);
bool fault_async_take(struct fault *fault, DAT_EVENT *event);
/* False: the program is not to see it. */
bool fault_event(struct fault *fault, DAT_EVENT *event);

#endif
