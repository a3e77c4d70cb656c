/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutants: a wrapper that breaks one rule of whatever adapter is beneath. Its instance data:
 *
 *	NAME RULE
 *
 * What most of them do is in the tables of mutant.c; those of an order are in mutant_order.c.
 */
#ifndef MUTANT_H
#define MUTANT_H

#include <pthread.h>
#include <string.h>

#include <datp/wrap.h>

#define HELD_MAX 64

/* A request of one segment. */
struct request {
	bool is_send;
	DAT_EP_HANDLE ep;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET to;
	uint64_t cookie;
	DAT_COMPLETION_FLAGS flags;
};

struct mutant {
	struct datp_wrap base;
	char rule[64]; /* the one to break */
	DAT_RMR_CONTEXT first_context; /* of a bind; atomic */
	DAT_LMR_CONTEXT unwritable;    /* of the last region without LOCAL_WRITE; atomic */
	DAT_EP_HANDLE unheard;	       /* accepted, its ESTABLISHED not taken yet; atomic */
	DAT_EP_HANDLE accepted;	       /* the last one that was accepted; atomic */
	DAT_PZ_HANDLE window_pz;       /* of the first window; atomic */
	DAT_SRQ_HANDLE srq;	       /* of the last endpoint that was created with one; atomic */
	unsigned int established;      /* events; atomic */

	pthread_mutex_t lock;
	struct request held[HELD_MAX]; /* lock */
	int held_count;		       /* lock */
	DAT_RMR_TRIPLET last_target;   /* lock */
	DAT_EVENT kept;		       /* the next event of kept_evd (lock) */
	DAT_EVD_HANDLE kept_evd;       /* DAT_HANDLE_NULL: no event is kept (lock) */
};

static inline bool breaks(const struct mutant *mutant, const char *rule)
{
	return !strcmp(mutant->rule, rule);
}

#define TYPE(ret)   ((DAT_RETURN)DAT_GET_TYPE(ret))
#define ERROR(type) (DAT_CLASS_ERROR | (DAT_RETURN)(type))

/* The ith argument of a call, as a pointer. */
#define AT(call, i, type) ((type *)(uintptr_t)(call)->arg[i])

/* Returns true if it has posted this send or RDMA Write itself; call->ret is the result. */
bool order_takes(struct mutant *mutant, struct datp_wrap_call *call);

/* Called before a dequeue or a wait. */
void order_look(struct mutant *mutant);

/* Returns true if it has returned the event that was overtaken from this dequeue or wait; call->ret is the result. */
bool order_gives_kept(struct mutant *mutant, struct datp_wrap_call *call, DAT_EVENT *event);

/* Has the completion behind this one overtake it, if that is of another endpoint. */
void order_overtake(struct mutant *mutant, struct datp_wrap_call *call, DAT_EVENT *event);

#endif
