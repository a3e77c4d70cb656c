/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the herald, the thread of a NIC that calls the program's handlers. Invariant: no other thread calls them, and this one with
 * no lock held; while a thread looks at a struct work (`looked`), no other thread frees it.
 *
 * A peer can hold up the thread that looks for a completion, because it executes copies. Then the keeper starts another thread,
 * which is the herald from then on and leaves that work out. The one that is held up leaves what it finds to the herald, and ends.
 * A thread remains the herald while it does not look.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "log/limit.h"

enum { HELD_MS = 50 };	/* a look that takes longer is held up */

struct herald_thread {
	struct herald_thread *next;	/* nic->herald.threads */
	pthread_t thread;
	struct nic *nic;
	bool looks;			/* for a completion that it may take; herald.lock */
	uint64_t since;			/* when its last look has begun; milliseconds; herald.lock */
};

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
	bool first;

	pthread_mutex_lock(&h->lock);
	first = !w->watched;
	if (first) {
		w->watched = true;
		w->next_watched = h->watched;
		h->watched = w;
	}
	pthread_mutex_unlock(&h->lock);
	/* not with h->lock, which the keeper takes: this call polls the EVD, so a peer can hold it up */
	if (first)
		dat_evd_modify_cno(w->evd, h->cno);
}

/* Takes a work off the list of those that are watched. h->lock is held. */
static void unlist(struct herald *h, struct work *w)
{
	struct work **at;

	for (at = &h->watched; *at != w; at = &(*at)->next_watched)
		;
	*at = w->next_watched;
}

void herald_unwatch(struct work *w)
{
	struct herald *h = &w->nic->herald;

	pthread_mutex_lock(&h->lock);
	if (w->watched)
		unlist(h, w);
	w->watched = false;
	/* If this is the herald's thread, it runs a handler, and then it looks at no work. */
	while (w->looked)
		pthread_cond_wait(&h->changed, &h->lock);
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
	static struct log_limit lost, too_short;
	bool cq = what->ErrorCode == VIP_ERROR_VI_OVERRUN && what->ResourceCode == VIP_RESOURCE_CQ;
	const char *say = "an error";
	char omitted[64] = "";
	uint32_t left_out = 0;

	/* a peer can cause any number of these */
	if (what->ErrorCode == VIP_ERROR_CONN_LOST && !log_limit_pass(&lost, &left_out))
		return;
	if (cq && !log_limit_pass(&too_short, &left_out))
		return;
	if (left_out > 0)
		snprintf(omitted, sizeof(omitted), " (and %u more lines like this one were left out)",
			 left_out);
	if ((size_t)what->ErrorCode < sizeof(text) / sizeof(text[0]) && text[what->ErrorCode])
		say = text[what->ErrorCode];
	if (cq)
		say = "a completion queue is too short: make it longer";
	complain("%s: %s (VI %p, CQ %p, descriptor %p)%s", nic->attr.Name, say, what->ViHandle,
		 what->CQHandle, (void *)what->DescriptorPtr, omitted);
}

/* Takes an error off the list. Returns NULL if there is none, or this thread is not the herald. */
static struct async_error *next_error(struct herald_thread *self, VIP_ERROR_HANDLER *handler, void **context)
{
	struct herald *h = &self->nic->herald;
	struct async_error *error = NULL;

	pthread_mutex_lock(&h->lock);
	if (h->thread == self)
		error = h->errors;
	if (error != NULL) {
		h->errors = error->next;
		if (h->errors == NULL)
			h->last_error = &h->errors;
	}
	*handler = h->handler;
	*context = h->context;
	pthread_mutex_unlock(&h->lock);
	return error;
}

/* Passes one error to the error handler. Returns false if there is no error. */
static bool tell_error(struct herald_thread *self)
{
	VIP_ERROR_HANDLER handler;
	void *context;
	struct async_error *error = next_error(self, &handler, &context);

	if (error == NULL)
		return false;
	if (handler != NULL)
		handler(context, &error->what);
	else if (!error->normal)
		print_error(self->nic, &error->what);
	free(error);
	return true;
}

/* Moves a work to the end of the list. h->lock is held. */
static void put_last(struct herald *h, struct work *w)
{
	struct work **at;

	unlist(h, w);
	for (at = &h->watched; *at != NULL; at = &(*at)->next_watched)
		;
	w->next_watched = NULL;
	*at = w;
}

/* Begins a look at a work. Has the keeper visit the herald if it does not do so already. h->lock is held. */
static void look_begin(struct herald_thread *self, struct work *w)
{
	struct herald *h = &self->nic->herald;

	w->looked = true;
	self->looks = true;
	self->since = now_ms();
	if (!h->guarded)
		keeper_wake(self->nic);
	h->guarded = true;
}

/* Ends a look at a work. h->lock is held. */
static void look_end(struct herald_thread *self, struct work *w)
{
	self->looks = false;
	w->looked = false;
	pthread_cond_broadcast(&self->nic->herald.changed);
}

/*
 * Returns whether a thread that has found a completion may take it, because it is the herald still. Then no other thread becomes
 * the herald before the handler has been called. The work's lock is held.
 */
bool herald_may_take(struct herald_thread *self)
{
	struct herald *h = &self->nic->herald;
	bool may;

	pthread_mutex_lock(&h->lock);
	may = h->thread == self;
	self->looks = false;
	pthread_mutex_unlock(&h->lock);
	return may;
}

/*
 * Calls one handler whose completion is there. Returns false if there is no such handler. The work of that handler is searched
 * last the next time, so that a peer that sends as fast as it can does not keep the handlers of others.
 */
static bool tell_notice(struct herald_thread *self)
{
	struct herald *h = &self->nic->herald;
	struct call call;
	bool found = false;
	struct work *w;

	pthread_mutex_lock(&h->lock);
	w = h->watched;
	while (h->thread == self && w != NULL && !found) {
		if (w->looked) {
			w = w->next_watched;
			continue;
		}
		look_begin(self, w);
		pthread_mutex_unlock(&h->lock);
		found = notice_take(w, self, &call);
		pthread_mutex_lock(&h->lock);
		look_end(self, w);
		/*
		 * Another thread may have taken it off the list meanwhile, but cannot free it before
		 * this one unlocks.
		 */
		if (found && w->watched)
			put_last(h, w);
		w = w->watched ? w->next_watched : h->watched;
	}
	pthread_mutex_unlock(&h->lock);
	if (found)
		call_make(self->nic, &call);
	return found;
}

static void drain_bell(struct herald *h)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(h->bell, &event) == DAT_SUCCESS)
		;
}

/* Returns whether this thread is the herald. Another one becomes it only while this one looks. */
static bool is_herald(struct herald_thread *self)
{
	struct herald *h = &self->nic->herald;
	bool is;

	pthread_mutex_lock(&h->lock);
	is = h->thread == self;
	pthread_mutex_unlock(&h->lock);
	return is;
}

static void *herald_main(void *arg)
{
	struct herald_thread *self = arg;
	struct herald *h = &self->nic->herald;
	DAT_EVD_HANDLE evd;
	bool stop = false;

	for (;;) {
		drain_bell(h);
		pthread_mutex_lock(&h->lock);
		h->woken = false;
		stop = h->stop;
		pthread_mutex_unlock(&h->lock);
		while (tell_error(self) || tell_notice(self))
			;
		if (stop || !is_herald(self))
			break;
		dat_cno_wait(h->cno, DAT_TIMEOUT_INFINITE, &evd);
	}
	/* the herald has left out the work that this thread has been held up with */
	herald_wake(self->nic);
	return NULL;
}

/* Makes a new thread the herald. Returns nonzero if there is no memory or no thread. h->lock is held. */
static int thread_new(struct nic *nic)
{
	struct herald_thread *thread = calloc(1, sizeof(*thread)), *before = nic->herald.thread;

	if (thread == NULL)
		return -1;
	thread->nic = nic;
	thread->since = now_ms();
	thread->next = nic->herald.threads;
	/* it waits for h->lock before it looks at this */
	nic->herald.thread = thread;
	if (thread_start(&thread->thread, herald_main, thread)) {
		nic->herald.thread = before;
		free(thread);
		return -1;
	}
	nic->herald.threads = thread;
	return 0;
}

/*
 * Frees the former heralds that have ended. Returns how many are left. Does not wait for one that ends now, because destructors of
 * the program's may run in it.
 */
static unsigned int reap(struct herald *h)
{
	struct herald_thread **at = &h->threads, *thread;
	unsigned int left = 0;

	while ((thread = *at) != NULL) {
		if (thread == h->thread || pthread_tryjoin_np(thread->thread, NULL) != 0) {
			left += thread != h->thread;
			at = &thread->next;
			continue;
		}
		*at = thread->next;
		free(thread);
	}
	return left;
}

/*
 * Makes another thread the herald if the herald is held up. The keeper calls this while the herald looks at completions now and
 * then. Returns when to call it again. The more threads are held up, the sooner is the next one: a peer may have many connections.
 */
uint64_t herald_guard(struct nic *nic)
{
	struct herald *h = &nic->herald;
	unsigned int patience = HELD_MS / (1 + reap(h)) + 1;
	uint64_t now = now_ms(), at = UINT64_MAX;

	pthread_mutex_lock(&h->lock);
	if (h->guarded && now >= h->thread->since + patience) {
		h->guarded = h->thread->looks;
		if (h->guarded && thread_new(nic))
			at = now + RETRY_MS;
	}
	if (h->guarded && at == UINT64_MAX)
		at = h->thread->since + patience;
	pthread_mutex_unlock(&h->lock);
	return at;
}

static void herald_free(struct herald *h)
{
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
}

int herald_start(struct nic *nic)
{
	struct herald *h = &nic->herald;
	int failed;

	h->last_error = &h->errors;
	if (dat_cno_create(nic->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &h->cno) != DAT_SUCCESS ||
	    dat_evd_create(nic->ia, 4, h->cno, DAT_EVD_SOFTWARE_FLAG, &h->bell) != DAT_SUCCESS)
		return -1;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	pthread_mutex_lock(&h->lock);
	failed = thread_new(nic);
	pthread_mutex_unlock(&h->lock);
	if (failed)
		herald_free(h);
	return failed;
}

/*
 * Ends the herald, after it has called the handlers of all that has happened until now. The keeper has ended, so there is no new
 * thread.
 */
void herald_stop(struct nic *nic)
{
	struct herald *h = &nic->herald;
	struct herald_thread *thread;

	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	herald_wake(nic);
	while ((thread = h->threads) != NULL) {
		h->threads = thread->next;
		pthread_join(thread->thread, NULL);
		free(thread);
	}
	herald_free(h);
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
