/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the keeper, the thread of a NIC that takes connection events and asynchronous errors off
 * their EVDs. Invariant: it never waits for the program or a peer, and no other thread reads these EVDs.
 *
 * An event of a VI that it cannot reach, because a peer holds up a thread that has the VI's lock, is kept as a `late` one. The
 * events of a VI stay in their order.
 */
#include <stdlib.h>
#include <string.h>

#include "impl.h"

enum {
	CM_EVENTS = 256,	/* the most connection requests, of all doors, that can be pending */
	EVENTS_AT_ONCE = 64,
};

/* A connection event that waits until its VI can be reached; on nic->late, the oldest first. */
struct late {
	struct late *next;
	struct vi *vi;
	DAT_EP_HANDLE ep;
	DAT_EVENT_NUMBER number;
	size_t size;
	uint8_t data[WIRE_HELLO_MAX];
};

void keeper_wake(struct nic *nic)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = nic->cm_evd;
	dat_evd_post_se(nic->cm_evd, &event);
}

/* Takes vi->lock if it can be had soon. Otherwise returns false: a peer may hold up the thread that has it. */
bool vi_reach(struct vi *vi)
{
	return lock_within(&vi->lock, REACH_MS);
}

static bool has_late(const struct late *first, const struct late *end, const struct vi *vi)
{
	while (first != end && first->vi != vi)
		first = first->next;
	return first != end;
}

static bool late_add(struct nic *nic, struct vi *vi, DAT_EVENT_NUMBER number, const DAT_CONNECTION_EVENT_DATA *data)
{
	struct late *late = calloc(1, sizeof(*late)), **at;

	if (late == NULL)
		return false;
	late->vi = vi;
	late->ep = data->ep_handle;
	late->number = number;
	late->size = (size_t)data->private_data_size;
	if (late->size > sizeof(late->data))
		late->size = sizeof(late->data);
	if (late->size > 0)
		memcpy(late->data, data->private_data, late->size);
	for (at = &nic->late; *at != NULL; at = &(*at)->next)
		;
	*at = late;
	return true;
}

/* Handles the late events whose VIs can be reached now. Returns when to call it again. */
static uint64_t late_run(struct nic *nic)
{
	struct late **at = &nic->late, *late;

	if (nic->late == NULL)
		return UINT64_MAX;
	if (now_ms() < nic->late_at)
		return nic->late_at;
	while ((late = *at) != NULL) {
		if (has_late(nic->late, late, late->vi) ||
		    !vi_outcome(late->vi, late->ep, late->number, late->data, late->size)) {
			at = &late->next;
			continue;
		}
		*at = late->next;
		free(late);
	}
	nic->late_at = now_ms() + RETRY_MS;
	return nic->late != NULL ? nic->late_at : UINT64_MAX;
}

void keeper_free_all(struct nic *nic)
{
	struct late *late;

	while ((late = nic->late) != NULL) {
		nic->late = late->next;
		free(late);
	}
}

/* Without memory for a late event it waits. */
static void event_of_vi(struct nic *nic, struct vi *vi, DAT_EVENT_NUMBER number, const DAT_CONNECTION_EVENT_DATA *data)
{
	while (has_late(nic->late, NULL, vi) ||
	       !vi_outcome(vi, data->ep_handle, number, data->private_data, (size_t)data->private_data_size)) {
		if (late_add(nic, vi, number, data))
			return;
		late_run(nic);
	}
}

static void connection_event(struct nic *nic, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	DAT_CONTEXT context = { .as_64 = 0 };

	if (dat_get_consumer_context(data->ep_handle, &context) != DAT_SUCCESS)
		return;
	if (context.as_ptr != NULL)
		event_of_vi(nic, context.as_ptr, event->event_number, data);
	else if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		answer_end(nic, data->ep_handle);
}

/*
 * Handles connection events. Returns true if there may be more: a call handles a limited number,
 * because clients may send requests as fast as they are answered, and the keeper has other work.
 */
static bool read_cm(struct nic *nic)
{
	DAT_EVENT event;

	for (int i = 0; i < EVENTS_AT_ONCE; i++) {
		if (dat_evd_dequeue(nic->cm_evd, &event) != DAT_SUCCESS)
			return false;
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			listen_request(nic, event.event_data.cr_arrival_event_data.cr_handle);
		else if (event.event_number != DAT_SOFTWARE_EVENT)
			connection_event(nic, &event);
	}
	return true;
}

static void read_async(struct nic *nic)
{
	DAT_EVENT event;

	/* The end of an endpoint is also reported by a connection event. */
	while (dat_evd_dequeue(nic->async_evd, &event) == DAT_SUCCESS)
		if (event.event_number != DAT_ASYNC_ERROR_EP_BROKEN)
			herald_error(nic, NULL, NULL, NULL, VIP_RESOURCE_NIC,
				     VIP_ERROR_CATASTROPHIC);
}

static DAT_TIMEOUT until_us(uint64_t at)
{
	uint64_t now = now_ms();

	if (at == UINT64_MAX)
		return DAT_TIMEOUT_INFINITE;
	if (at <= now)
		return 0;
	return at - now > 1000000 ? 1000000000u : (DAT_TIMEOUT)(at - now) * 1000;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void *keeper_main(void *arg)
{
	struct nic *nic = arg;
	uint64_t next;
	DAT_EVD_HANDLE evd;
	bool more;

	for (;;) {
		more = read_cm(nic);
		read_async(nic);
		/*
		 * `stop` is checked only now, because read_cm() may have taken the event that came
		 * with it, which then does not end the next wait. acquire: the thread that sets it
		 * has finished its use of the NIC.
		 */
		if (atomic_load_explicit(&nic->stop, memory_order_acquire))
			break;
		/* acquire: see ask_to_leave() */
		if (atomic_load_explicit(&nic->leaving, memory_order_acquire)) {
			leave_nic(nic);
			break;
		}
		helpers_reap(nic);
		next = earlier(late_run(nic), vi_break_violated(nic));
		next = earlier(next, peer_run(nic));
		next = earlier(next, answers_run(nic));
		next = earlier(next, herald_guard(nic));
		if (!more)
			dat_cno_wait(nic->cno, until_us(next), &evd);
	}
	return NULL;
}

int keeper_start(struct nic *nic)
{
	if (dat_cno_create(nic->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &nic->cno) != DAT_SUCCESS)
		return -1;
	if (dat_evd_create(nic->ia, CM_EVENTS, nic->cno,
			   (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
					   DAT_EVD_SOFTWARE_FLAG),
			   &nic->cm_evd) != DAT_SUCCESS)
		return -1;
	if (dat_evd_modify_cno(nic->async_evd, nic->cno) != DAT_SUCCESS)
		return -1;
	return thread_start(&nic->keeper, keeper_main, nic) ? -1 : 0;
}

void keeper_stop(struct nic *nic)
{
	/* release: see keeper_main() */
	atomic_store_explicit(&nic->stop, true, memory_order_release);
	keeper_wake(nic);
	pthread_join(nic->keeper, NULL);
	helpers_end(nic);
}
