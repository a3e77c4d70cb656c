/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutants that break an order. That of memory: requests, of one segment each, are held and posted at
 * another time. That of completions: an event is kept back while the next one is given. Invariant:
 * what is held is posted in its own order, and what is held or kept comes once.
 */
#include <time.h>

#include "mutant.h"

/* Waits so long that a thread that polls memory meanwhile sees its present contents. */
static void pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static DAT_RETURN post_write(struct mutant *mutant, const struct request *r, uint32_t segments)
{
	const uint64_t words[] = { (uintptr_t)r->ep, segments,		 (uintptr_t)&r->seg,
				   r->cookie,	     (uintptr_t)&r->to, r->flags };

	return datp_wrap_beneath(&mutant->base, DATP_CALL_ep_post_rdma_write, words);
}

static DAT_RETURN post(struct mutant *mutant, const struct request *r)
{
	const uint64_t words[] = { (uintptr_t)r->ep, 1, (uintptr_t)&r->seg, r->cookie, r->flags };

	if (!r->is_send)
		return post_write(mutant, r, 1);
	return datp_wrap_beneath(&mutant->base, DATP_CALL_ep_post_send, words);
}

static void release_locked(struct mutant *mutant)
{
	for (int i = 0; i < mutant->held_count; i++)
		post(mutant, &mutant->held[i]);
	mutant->held_count = 0;
}

static DAT_RETURN hold_locked(struct mutant *mutant, const struct request *r)
{
	if (mutant->held_count == HELD_MAX)
		return ERROR(DAT_INSUFFICIENT_RESOURCES);
	mutant->held[mutant->held_count++] = *r;
	return DAT_SUCCESS;
}

/* Writes the last 8 bytes of an RDMA Write before the rest. */
static void post_tail(struct mutant *mutant, const struct request *r)
{
	struct request tail = *r;
	DAT_VLEN rest = r->seg.segment_length - 8;

	tail.seg.virtual_address += rest;
	tail.to.target_address += rest;
	tail.seg.segment_length = tail.to.segment_length = 8;
	tail.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	post(mutant, &tail);
	pause_a_little();
}

/* Completes a send before its data are read: another request is posted, and completes with the cookie of the send. */
static DAT_RETURN complete_early_locked(struct mutant *mutant, struct request *r)
{
	struct request none = *r;
	DAT_RETURN ret;

	none.to = mutant->last_target;
	none.to.segment_length = 0;
	ret = post_write(mutant, &none, 0);
	r->flags = DAT_COMPLETION_SUPPRESS_FLAG;
	return ret == DAT_SUCCESS ? hold_locked(mutant, r) : ret;
}

static DAT_RETURN take_locked(struct mutant *mutant, struct request *r)
{
	DAT_RETURN ret;

	if (!r->is_send)
		mutant->last_target = r->to;
	if (breaks(mutant, "suppressed_late") && (r->flags & DAT_COMPLETION_SUPPRESS_FLAG))
		return hold_locked(mutant, r);
	if (breaks(mutant, "write_waits_for_look") && !r->is_send)
		return hold_locked(mutant, r);
	if (breaks(mutant, "send_done_early")) {
		release_locked(mutant);
		if (r->is_send)
			return complete_early_locked(mutant, r);
	}
	if (breaks(mutant, "write_tail_first") && !r->is_send && r->seg.segment_length > 8)
		post_tail(mutant, r);
	ret = post(mutant, r);
	if (breaks(mutant, "suppressed_late") && mutant->held_count) {
		pause_a_little();
		release_locked(mutant);
	}
	return ret;
}

static bool breaks_order(const struct mutant *mutant)
{
	return breaks(mutant, "suppressed_late") || breaks(mutant, "write_waits_for_look") ||
	       breaks(mutant, "send_done_early") || breaks(mutant, "write_tail_first");
}

bool order_takes(struct mutant *mutant, struct datp_wrap_call *call)
{
	bool is_send = call->id == DATP_CALL_ep_post_send;
	struct request r = { .is_send = is_send };

	if (!breaks_order(mutant) || (DAT_COUNT)call->arg[1] != 1)
		return false;
	r.ep = (DAT_EP_HANDLE)(uintptr_t)call->arg[0];
	r.seg = *AT(call, 2, DAT_LMR_TRIPLET);
	r.cookie = call->arg[3];
	r.flags = (DAT_COMPLETION_FLAGS)call->arg[is_send ? 4 : 5];
	if (!is_send)
		r.to = *AT(call, 4, DAT_RMR_TRIPLET);
	pthread_mutex_lock(&mutant->lock);
	call->ret = take_locked(mutant, &r);
	pthread_mutex_unlock(&mutant->lock);
	return true;
}

void order_look(struct mutant *mutant)
{
	if (!breaks(mutant, "write_waits_for_look"))
		return;
	pthread_mutex_lock(&mutant->lock);
	release_locked(mutant);
	pthread_mutex_unlock(&mutant->lock);
}

bool order_gives_kept(struct mutant *mutant, struct datp_wrap_call *call, DAT_EVENT *event)
{
	bool gives;

	if (!breaks(mutant, "endpoints_overtake"))
		return false;
	pthread_mutex_lock(&mutant->lock);
	gives = mutant->kept_evd && mutant->kept_evd == (DAT_EVD_HANDLE)(uintptr_t)call->arg[0];
	if (gives) {
		*event = mutant->kept;
		mutant->kept_evd = DAT_HANDLE_NULL;
		call->ret = DAT_SUCCESS;
	}
	pthread_mutex_unlock(&mutant->lock);
	return gives;
}

static DAT_EP_HANDLE completed_ep(const DAT_EVENT *event)
{
	return event->event_number == DAT_DTO_COMPLETION_EVENT ?
		       event->event_data.dto_completion_event_data.ep_handle :
		       DAT_HANDLE_NULL;
}

void order_overtake(struct mutant *mutant, struct datp_wrap_call *call, DAT_EVENT *event)
{
	DAT_EVENT first = *event, next;
	const uint64_t words[] = { call->arg[0], (uintptr_t)&next };
	bool overtakes;

	if (!breaks(mutant, "endpoints_overtake") || !completed_ep(&first))
		return;
	pthread_mutex_lock(&mutant->lock);
	if (!mutant->kept_evd &&
	    datp_wrap_beneath(&mutant->base, DATP_CALL_evd_dequeue, words) == DAT_SUCCESS) {
		overtakes = completed_ep(&next) != completed_ep(&first);
		*event = overtakes ? next : first;
		mutant->kept = overtakes ? first : next;
		mutant->kept_evd = (DAT_EVD_HANDLE)(uintptr_t)call->arg[0];
	}
	pthread_mutex_unlock(&mutant->lock);
}
