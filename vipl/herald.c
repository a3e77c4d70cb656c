/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the herald, the thread of a NIC that calls the program's handlers. Invariant: handlers are
 * called one after the other, with no lock held; while the herald looks at a struct work
 * (`current`), no other thread frees it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "log/limit.h"

/* Wakes the herald. Posts one event, however often this is called before the herald wakes. */
void herald_wake(struct nic *nic)
{
	struct herald *h = &nic->herald;
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = h->bell;
	pthread_mutex_lock(&h->lock);
	if (!h->woken)
		dat_evd_post_se(h->bell, &event);
	h->woken = true;
	pthread_mutex_unlock(&h->lock);
}

/* Makes the herald look at the completions of this work from now on. The work's lock is held. */
void herald_watch(struct work *w)
{
	struct herald *h = &w->nic->herald;

	pthread_mutex_lock(&h->lock);
	if (!w->watched) {
		w->watched = true;
		w->next_watched = h->watched;
		h->watched = w;
		dat_evd_modify_cno(w->evd, h->cno);
	}
	pthread_mutex_unlock(&h->lock);
}

void herald_unwatch(struct work *w)
{
	struct herald *h = &w->nic->herald;
	struct work **at;

	pthread_mutex_lock(&h->lock);
	if (w->watched) {
		for (at = &h->watched; *at != w; at = &(*at)->next_watched)
			;
		*at = w->next_watched;
		w->watched = false;
	}
	/* If this is the herald's thread, it runs a handler, and then `current` is NULL. */
	while (h->current == w)
		pthread_cond_wait(&h->free, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

/* Queues an error for the error handler. If there is no memory, the error is lost. */
static void queue_error(struct nic *nic, const VIP_ERROR_DESCRIPTOR *what, bool normal)
{
	struct async_error *error = calloc(1, sizeof(*error));
	struct herald *h = &nic->herald;

	if (error == NULL)
		return;
	error->what = *what;
	error->normal = normal;
	pthread_mutex_lock(&h->lock);
	*h->last_error = error;
	h->last_error = &error->next;
	pthread_mutex_unlock(&h->lock);
	herald_wake(nic);
}

void herald_error(struct nic *nic, struct vi *vi, struct cq *cq, VIP_DESCRIPTOR *descriptor,
		  VIP_RESOURCE_CODE resource, VIP_ERROR_CODE code)
{
	const VIP_ERROR_DESCRIPTOR what = {
		.NicHandle = nic,
		.ViHandle = vi,
		.CQHandle = cq,
		.DescriptorPtr = descriptor,
		.ResourceCode = resource,
		.ErrorCode = code,
	};

	queue_error(nic, &what, false);
}

/*
 * Reports that the connection of a VI is over. A program's handler is called for each end. The
 * library's own handler prints only an end that is not normal, because a program whose peer has
 * disconnected has succeeded.
 */
void herald_end(struct vi *vi, bool normal)
{
	const VIP_ERROR_DESCRIPTOR what = {
		.NicHandle = vi->nic,
		.ViHandle = vi,
		.ResourceCode = VIP_RESOURCE_VI,
		.ErrorCode = VIP_ERROR_CONN_LOST,
	};

	queue_error(vi->nic, &what, normal);
}

/* The library's own error handler, for programs that have not set one. */
static void print_error(const struct nic *nic, const VIP_ERROR_DESCRIPTOR *what)
{
	static const char *const text[] = {
		[VIP_ERROR_POST_DESC] =
			"a descriptor is not in registered memory of its VI's tag, or not aligned",
		[VIP_ERROR_CONN_LOST] = "a connection has broken: call VipDisconnect() for its VI",
		[VIP_ERROR_VI_OVERRUN] = "a queue of a VI is full: take completed descriptors off "
					 "it",
		[VIP_ERROR_CATASTROPHIC] = "the adapter has failed: close the NIC",
	};
	static struct log_limit lost;
	const char *say = "an error";
	char omitted[64] = "";
	uint32_t left_out = 0;

	/* a peer can cause any number of these */
	if (what->ErrorCode == VIP_ERROR_CONN_LOST && !log_limit_pass(&lost, &left_out))
		return;
	if (left_out > 0)
		snprintf(omitted, sizeof(omitted), " (and %u more lines like this one were left out)",
			 left_out);
	if ((size_t)what->ErrorCode < sizeof(text) / sizeof(text[0]) && text[what->ErrorCode])
		say = text[what->ErrorCode];
	if (what->ErrorCode == VIP_ERROR_VI_OVERRUN && what->ResourceCode == VIP_RESOURCE_CQ)
		say = "a completion queue is too short: make it longer";
	complain("%s: %s (VI %p, CQ %p, descriptor %p)%s", nic->attr.Name, say, what->ViHandle,
		 what->CQHandle, (void *)what->DescriptorPtr, omitted);
}

/* Passes one error to the error handler. Returns false if there is no error. */
static bool tell_error(struct nic *nic)
{
	struct herald *h = &nic->herald;
	VIP_ERROR_HANDLER handler;
	struct async_error *error;
	void *context;

	pthread_mutex_lock(&h->lock);
	error = h->errors;
	if (error != NULL) {
		h->errors = error->next;
		if (h->errors == NULL)
			h->last_error = &h->errors;
	}
	handler = h->handler;
	context = h->context;
	pthread_mutex_unlock(&h->lock);
	if (error == NULL)
		return false;
	if (handler != NULL)
		handler(context, &error->what);
	else if (!error->normal)
		print_error(nic, &error->what);
	free(error);
	return true;
}

/* Calls one handler whose completion is there. Returns false if there is no such handler. */
static bool tell_notice(struct nic *nic)
{
	struct herald *h = &nic->herald;
	struct call call;
	bool found = false;
	struct work *w;

	pthread_mutex_lock(&h->lock);
	w = h->watched;
	while (w != NULL && !found) {
		h->current = w;
		pthread_mutex_unlock(&h->lock);
		found = notice_take(w, &call);
		pthread_mutex_lock(&h->lock);
		h->current = NULL;
		pthread_cond_broadcast(&h->free);
		/*
		 * Another thread may have taken it off the list meanwhile, but cannot free it before
		 * this one unlocks.
		 */
		w = w->watched ? w->next_watched : h->watched;
	}
	pthread_mutex_unlock(&h->lock);
	if (found)
		call_make(nic, &call);
	return found;
}

static void drain_bell(struct herald *h)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(h->bell, &event) == DAT_SUCCESS)
		;
}

static void *herald_main(void *arg)
{
	struct nic *nic = arg;
	struct herald *h = &nic->herald;
	DAT_EVD_HANDLE evd;
	bool stop = false;

	while (!stop) {
		drain_bell(h);
		pthread_mutex_lock(&h->lock);
		h->woken = false;
		stop = h->stop;
		pthread_mutex_unlock(&h->lock);
		while (tell_error(nic) || tell_notice(nic))
			;
		if (!stop)
			dat_cno_wait(h->cno, DAT_TIMEOUT_INFINITE, &evd);
	}
	return NULL;
}

int herald_start(struct nic *nic)
{
	struct herald *h = &nic->herald;

	h->last_error = &h->errors;
	if (dat_cno_create(nic->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &h->cno) != DAT_SUCCESS ||
	    dat_evd_create(nic->ia, 4, h->cno, DAT_EVD_SOFTWARE_FLAG, &h->bell) != DAT_SUCCESS)
		return -1;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->free, NULL);
	if (thread_start(&h->thread, herald_main, nic) == 0)
		return 0;
	pthread_cond_destroy(&h->free);
	pthread_mutex_destroy(&h->lock);
	return -1;
}

/* Ends the herald, after it has called the handlers of all that has happened until now. */
void herald_stop(struct nic *nic)
{
	struct herald *h = &nic->herald;

	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	herald_wake(nic);
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->free);
	pthread_mutex_destroy(&h->lock);
}

VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE handle, VIP_PVOID context, VIP_ERROR_HANDLER handler)
{
	struct nic *nic = nic_get(handle);

	if (nic == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&nic->herald.lock);
	nic->herald.handler = handler;
	nic->herald.context = context;
	pthread_mutex_unlock(&nic->herald.lock);
	return VIP_SUCCESS;
}
