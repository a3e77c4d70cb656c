/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a device that rxe and siw do not have: asynchronous ones, and those of a completion channel. The providers sleep on the
 * descriptors of both, so this file puts others in their place, which are readable also when it has made up an event. It does so
 * where a switch that needs it is on when the device is opened, or the channel created.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "twist.h"

/* A channel takes four descriptors here, and a program may have a thousand in all, so only some channels have more events. */
enum { PLACES = 512, CHANNELS = 32, TOLD = 64 };

/* Combines two descriptors into one, which is readable if either of them is. */
struct joint {
	int real; /* the kernel's */
	int ours[2]; /* a pipe that has a byte while an event is made up */
	int both; /* an epoll descriptor for both */
};

/* `lock` is for all that follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct device {
	struct ibv_context *verbs; /* NULL: a free place */
	struct joint joint;
	struct ibv_async_event told[TOLD];
	unsigned int count;
	int fifo; /* readable when the device is reset; 0: it cannot be reset */
	bool dead; /* it has been reset */
} devices[PLACES];

static struct channel {
	struct ibv_comp_channel *channel; /* NULL: a free place */
	struct joint joint;
	struct ibv_cq *again; /* the queue of an event that comes once more; NULL: none does */
	void *context;
} channels[CHANNELS];

static struct ibv_qp *live[PLACES];

/* Completion queues whose made-up events have not been acknowledged, one entry for each event. */
static const struct ibv_cq *unreal[PLACES];

/* The queue pair of the event that a thread has got and not acknowledged. verbs does not let it be destroyed before. */
static const struct ibv_qp *handled[PLACES];
static __thread struct ibv_async_event *invented;
static __thread int handled_at;

/* Returns false if there are not enough descriptors. */
static bool join(struct joint *joint, int *fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	joint->real = *fd;
	if (pipe2(joint->ours, O_NONBLOCK | O_CLOEXEC))
		return false;
	joint->both = epoll_create1(EPOLL_CLOEXEC);
	if (joint->both >= 0 && !epoll_ctl(joint->both, EPOLL_CTL_ADD, joint->real, &event) &&
	    !epoll_ctl(joint->both, EPOLL_CTL_ADD, joint->ours[0], &event) &&
	    !fcntl(joint->real, F_SETFL, fcntl(joint->real, F_GETFL) | O_NONBLOCK)) {
		*fd = joint->both;
		return true;
	}
	if (joint->both >= 0)
		close(joint->both);
	close(joint->ours[0]);
	close(joint->ours[1]);
	return false;
}

static void part(struct joint *joint, int *fd)
{
	*fd = joint->real;
	close(joint->both);
	close(joint->ours[0]);
	close(joint->ours[1]);
}

static void raise_locked(struct joint *joint)
{
	ssize_t done = write(joint->ours[1], "", 1);

	(void)done; /* a full pipe is readable, too */
}

static void lower_locked(struct joint *joint)
{
	char bytes[64];

	while (read(joint->ours[0], bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		;
}

/* ------------------------------------------------------------------ asynchronous events */

static struct device *device_of_locked(const struct ibv_context *verbs)
{
	for (int i = 0; i < PLACES; i++)
		if (devices[i].verbs == verbs)
			return &devices[i];
	return NULL;
}

static bool makes_events(void)
{
	return getenv("TWIST_RESET") || atomic_load(&twist.comm_est) || atomic_load(&twist.last_wqe) ||
	       atomic_load(&twist.fatal_first) || atomic_load(&twist.flush) == TWIST_FLUSH_BY_ASYNC;
}

/* The FIFO is opened for both directions, so that it is not readable when its writer has gone. */
static void watch_fifo_locked(struct device *place)
{
	struct epoll_event event = { .events = EPOLLIN };
	const char *path = getenv("TWIST_RESET");
	int fd = path ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	place->fifo = fd;
	epoll_ctl(place->joint.both, EPOLL_CTL_ADD, fd, &event);
	atomic_store(&twist.resets, true);
}

/* Returns true once, when the FIFO has become readable. Nobody reads it, because it is for all devices. */
static bool dies_locked(struct device *place)
{
	struct pollfd polled = { .fd = place->fifo, .events = POLLIN };

	if (!place->fifo || place->dead || poll(&polled, 1, 0) <= 0)
		return false;
	epoll_ctl(place->joint.both, EPOLL_CTL_DEL, place->fifo, NULL);
	place->dead = true;
	return true;
}

bool twist_is_reset(const struct ibv_context *verbs)
{
	const struct device *place;
	bool dead;

	if (!atomic_load(&twist.resets))
		return false;
	pthread_mutex_lock(&lock);
	place = device_of_locked(verbs);
	dead = place && place->dead;
	pthread_mutex_unlock(&lock);
	return dead;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*real)(struct ibv_device *), *verbs;
	struct device *place;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_open_device");
	verbs = real(device);
	if (!verbs || !twist_means(verbs) || !makes_events())
		return verbs;
	pthread_mutex_lock(&lock);
	place = device_of_locked(NULL);
	if (place && join(&place->joint, &verbs->async_fd)) {
		place->verbs = verbs;
		watch_fifo_locked(place);
	}
	pthread_mutex_unlock(&lock);
	return verbs;
}

int ibv_close_device(struct ibv_context *verbs)
{
	int (*real)(struct ibv_context *);
	struct device *place;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_close_device");
	pthread_mutex_lock(&lock);
	place = device_of_locked(verbs);
	if (place) {
		part(&place->joint, &verbs->async_fd);
		if (place->fifo)
			close(place->fifo);
		*place = (struct device){ 0 };
	}
	pthread_mutex_unlock(&lock);
	return real(verbs);
}

static void tell_locked(struct ibv_qp *qp, enum ibv_event_type type)
{
	struct device *place = device_of_locked(qp->context);

	if (!place || place->count == TOLD)
		return;
	place->told[place->count++] = (struct ibv_async_event){ .event_type = type, .element.qp = qp };
	raise_locked(&place->joint);
}

void twist_tell(uint32_t qpn, enum ibv_event_type type)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < PLACES; i++)
		if (live[i] && live[i]->qp_num == qpn)
			tell_locked(live[i], type);
	pthread_mutex_unlock(&lock);
}

bool twist_told(struct ibv_context *verbs, struct ibv_async_event *event)
{
	struct device *place;
	bool some;

	pthread_mutex_lock(&lock);
	place = device_of_locked(verbs);
	if (place && dies_locked(place) && place->count < TOLD)
		place->told[place->count++] = (struct ibv_async_event){ .event_type = IBV_EVENT_DEVICE_FATAL };
	some = place && place->count;
	if (some) {
		*event = place->told[0];
		place->count--;
		for (unsigned int i = 0; i < place->count; i++)
			place->told[i] = place->told[i + 1];
		if (!place->count)
			lower_locked(&place->joint);
		invented = event;
		for (handled_at = 0; handled_at < PLACES - 1 && handled[handled_at]; handled_at++)
			;
		handled[handled_at] = event->element.qp;
	}
	pthread_mutex_unlock(&lock);
	return some;
}

int twist_real_event(struct ibv_context *verbs, struct ibv_async_event *event)
{
	int (*real)(struct ibv_context *, struct ibv_async_event *), rc;
	bool known;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_get_async_event");
	pthread_mutex_lock(&lock);
	known = device_of_locked(verbs) != NULL;
	pthread_mutex_unlock(&lock);
	if (!known)
		return real(verbs, event); /* which may wait */
	twist_bare_begin(verbs, NULL);
	rc = real(verbs, event);
	twist_bare_end(verbs, NULL);
	return rc;
}

bool twist_ack(const struct ibv_async_event *event)
{
	if (invented != event)
		return false;
	pthread_mutex_lock(&lock);
	handled[handled_at] = NULL;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&twist.last_told, event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
	invented = NULL;
	return true;
}

void twist_event_begins(struct ibv_qp *qp)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < PLACES; i++)
		if (!live[i]) {
			live[i] = qp;
			break;
		}
	pthread_mutex_unlock(&lock);
}

static void forget_locked(struct device *place, const struct ibv_qp *qp)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < place->count; i++)
		if (place->told[i].element.qp != qp)
			place->told[left++] = place->told[i];
	if (place->count && !left)
		lower_locked(&place->joint);
	place->count = left;
}

static bool is_handled_locked(const struct ibv_qp *qp)
{
	for (int i = 0; i < PLACES; i++)
		if (handled[i] == qp)
			return true;
	return false;
}

void twist_event_goes(const struct ibv_qp *qp)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct device *place;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < PLACES; i++)
		if (live[i] == qp)
			live[i] = NULL;
	place = device_of_locked(qp->context);
	if (place)
		forget_locked(place, qp);
	while (is_handled_locked(qp)) {
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ completion channels */

static struct channel *channel_of_locked(const struct ibv_comp_channel *channel)
{
	for (int i = 0; i < CHANNELS; i++)
		if (channels[i].channel == channel)
			return &channels[i];
	return NULL;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *verbs)
{
	struct ibv_comp_channel *(*real)(struct ibv_context *), *channel;
	struct channel *place;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_comp_channel");
	channel = real(verbs);
	if (!channel || !twist_means(verbs) || !atomic_load(&twist.extra_event))
		return channel;
	pthread_mutex_lock(&lock);
	place = channel_of_locked(NULL);
	if (place && join(&place->joint, &channel->fd))
		place->channel = channel;
	pthread_mutex_unlock(&lock);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	int (*real)(struct ibv_comp_channel *);
	struct channel *place;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_destroy_comp_channel");
	pthread_mutex_lock(&lock);
	place = channel_of_locked(channel);
	if (place) {
		part(&place->joint, &channel->fd);
		*place = (struct channel){ 0 };
	}
	pthread_mutex_unlock(&lock);
	return real(channel);
}

static bool get_again_locked(struct channel *place, struct ibv_cq **cq, void **context)
{
	int at = 0;

	if (!place || !place->again)
		return false;
	while (at < PLACES && unreal[at])
		at++;
	if (at == PLACES)
		return false;
	unreal[at] = *cq = place->again;
	*context = place->context;
	place->again = NULL;
	lower_locked(&place->joint);
	atomic_fetch_add(&twist.extra_events, 1);
	return true;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	int (*real)(struct ibv_comp_channel *, struct ibv_cq **, void **), rc;
	struct ibv_comp_channel bare = *channel;
	struct channel *place;
	bool again;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_get_cq_event");
	pthread_mutex_lock(&lock);
	place = channel_of_locked(channel);
	again = get_again_locked(place, cq, context);
	if (place)
		bare.fd = place->joint.real;
	pthread_mutex_unlock(&lock);
	if (again)
		return 0;
	rc = real(&bare, cq, context);
	if (rc || !place)
		return rc;
	pthread_mutex_lock(&lock);
	place->again = *cq;
	place->context = *context;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* The event comes once more after the next arming, when the program has taken the first one and sleeps again. */
void twist_armed(const struct ibv_cq *cq)
{
	struct channel *place;

	if (!atomic_load(&twist.extra_event))
		return;
	pthread_mutex_lock(&lock);
	place = cq->channel ? channel_of_locked(cq->channel) : NULL;
	if (place && place->again)
		raise_locked(&place->joint);
	pthread_mutex_unlock(&lock);
}

/* Takes the made-up events of the queue from a number of events that are acknowledged. */
static unsigned int real_of_locked(const struct ibv_cq *cq, unsigned int n)
{
	for (int i = 0; i < PLACES && n; i++)
		if (unreal[i] == cq) {
			unreal[i] = NULL;
			n--;
		}
	return n;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	void (*real)(struct ibv_cq *, unsigned int);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_ack_cq_events");
	pthread_mutex_lock(&lock);
	n = real_of_locked(cq, n);
	pthread_mutex_unlock(&lock);
	if (n)
		real(cq, n);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	int (*real)(struct ibv_cq *);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_destroy_cq");
	twist_cq_goes(cq);
	pthread_mutex_lock(&lock);
	real_of_locked(cq, PLACES);
	for (int i = 0; i < CHANNELS; i++)
		if (channels[i].again == cq) {
			channels[i].again = NULL;
			lower_locked(&channels[i].joint);
		}
	pthread_mutex_unlock(&lock);
	return real(cq);
}

/* ------------------------------------------------------------------ calls that name a descriptor to the kernel */

/* Held while the kernel's own descriptors are in their places. The threads that sleep on the others have read them before. */
static pthread_mutex_t bare_lock = PTHREAD_MUTEX_INITIALIZER;

static void set_locked(struct ibv_context *verbs, struct ibv_comp_channel *channel, bool real)
{
	struct device *device = device_of_locked(verbs);
	struct channel *place = channel ? channel_of_locked(channel) : NULL;

	if (device)
		verbs->async_fd = real ? device->joint.real : device->joint.both;
	if (place)
		channel->fd = real ? place->joint.real : place->joint.both;
}

void twist_bare_begin(struct ibv_context *verbs, struct ibv_comp_channel *channel)
{
	pthread_mutex_lock(&bare_lock);
	pthread_mutex_lock(&lock);
	set_locked(verbs, channel, true);
	pthread_mutex_unlock(&lock);
}

void twist_bare_end(struct ibv_context *verbs, struct ibv_comp_channel *channel)
{
	pthread_mutex_lock(&lock);
	set_locked(verbs, channel, false);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&bare_lock);
}
