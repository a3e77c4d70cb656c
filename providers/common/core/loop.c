/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the service thread of an IA: epoll for descriptors, an eventfd for wake-ups, its timers
 * (timer.c) and a queue of calls. Invariant: `running` names the callback that the thread is in,
 * and is set and cleared under the loop lock. So a callback that is neither listed nor running will
 * not run any more.
 *
 * The thread itself frees a deleted watch, at the beginning of its next round, because what
 * epoll_wait() just returned may still point at it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core.h"
#include "diag.h"
#include "timer.h"
#include "providers/common/base/cancel.h"

struct datp_watch {
	struct datp_watch *next, *prev; /* in the list of live or dead watches (loop lock) */
	struct loop *loop;
	int fd;
	bool dead; /* loop lock */
	void (*fn)(void *arg, uint32_t events);
	void *arg;
};

struct loop {
	/* the loop lock: no other lock is taken under it, and no callback runs under it */
	pthread_mutex_t lock;
	pthread_cond_t idle;  /* `running` has changed */
	pthread_t thread;
	int epoll_fd, event_fd;
	bool started, stop;
	bool asleep;	/* or about to sleep: anything queued from now on has to wake it */
	uint64_t until; /* while asleep: the latest time at which it wakes by itself */
	const void *running; /* the watch, timer or call whose callback is running */
	struct datp_watch *live, *dead;
	struct timers timers;
	struct loop_call *calls, **calls_tail;
	struct loop_call *spare; /* the reserve */
	unsigned int spares, spares_wanted;
};

uint64_t datp_clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static struct loop *loop_of(struct datp_ia *ia)
{
	return ia_priv(ia)->loop;
}

static bool inside(const struct loop *loop)
{
	return loop->started && pthread_equal(pthread_self(), loop->thread);
}

bool datp_loop_inside(struct datp_ia *ia)
{
	return inside(loop_of(ia));
}

/*
 * Needed only if the thread was `asleep` when the lock was held; otherwise it checks the queue
 * before it sleeps. A wake-up is the most expensive part of a call.
 */
static void wake(struct loop *loop)
{
	uint64_t one = 1;
	struct cancel own;

	cancel_off(&own);
	/* If the counter is full (EAGAIN), the thread wakes as well. */
	if (write(loop->event_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		core_log(1, "cannot wake the service thread: errno %d", errno);
	cancel_restore(&own);
}

/* Waits until the callback of `what` is over, if it is running on another thread. */
static void wait_not_running_locked(struct loop *loop, const void *what)
{
	if (inside(loop))
		return;
	while (loop->running == what)
		pthread_cond_wait(&loop->idle, &loop->lock);
}

/* ------------------------------------------------------------------ the thread */

static void run_begin_locked(struct loop *loop, const void *what)
{
	loop->running = what;
	pthread_mutex_unlock(&loop->lock);
}

static void run_end_locked(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->running = NULL;
	pthread_cond_broadcast(&loop->idle);
}

static void bury_locked(struct loop *loop)
{
	while (loop->dead) {
		struct datp_watch *watch = loop->dead;

		loop->dead = watch->next;
		free(watch);
	}
}

static void run_timers_locked(struct loop *loop)
{
	uint64_t now = datp_clock_us();

	while (loop->timers.first && timer_when(loop->timers.first) <= now) {
		struct datp_timer *timer = loop->timers.first;
		void (*fn)(void *arg) = timer->fn;
		void *arg = timer->arg;

		timers_remove(&loop->timers, timer);
		run_begin_locked(loop, timer);
		fn(arg); /* may free the timer */
		run_end_locked(loop);
	}
}

static void call_put_locked(struct loop *loop, struct loop_call *call)
{
	if (loop->spares >= loop->spares_wanted) {
		free(call);
		return;
	}
	call->next = loop->spare;
	loop->spare = call;
	loop->spares++;
}

static void spares_trim_locked(struct loop *loop)
{
	while (loop->spares > loop->spares_wanted) {
		struct loop_call *call = loop->spare;

		loop->spare = call->next;
		loop->spares--;
		free(call);
	}
}

static void run_calls_locked(struct loop *loop)
{
	while (loop->calls) {
		struct loop_call *call = loop->calls;

		loop->calls = call->next;
		if (!loop->calls)
			loop->calls_tail = &loop->calls;
		run_begin_locked(loop, call);
		call->fn(call->arg);
		run_end_locked(loop);
		call_put_locked(loop, call);
	}
}

static void run_watches_locked(struct loop *loop, const struct epoll_event *events, int n)
{
	for (int i = 0; i < n; i++) {
		struct datp_watch *watch = events[i].data.ptr;

		if (!watch) {
			uint64_t count;

			if (read(loop->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
				core_log(1, "cannot read the service thread's eventfd: errno %d",
					 errno);
			continue;
		}
		if (watch->dead)
			continue;
		run_begin_locked(loop, watch);
		watch->fn(watch->arg, events[i].events);
		run_end_locked(loop);
	}
}

/* The milliseconds to the first timer, rounded up so that the timer is due afterwards. */
static int wait_ms_locked(struct loop *loop)
{
	uint64_t now, ms;

	loop->until = UINT64_MAX;
	if (loop->calls || loop->stop)
		return 0;
	if (!loop->timers.first)
		return -1;
	loop->until = timer_when(loop->timers.first);
	now = datp_clock_us();
	if (loop->until <= now)
		return 0;
	ms = (loop->until - now + 999) / 1000;
	return ms > 60000 ? 60000 : (int)ms;
}

static void *loop_thread(void *arg)
{
	struct loop *loop = arg;
	struct epoll_event events[16];
	int n, ms;

	pthread_setname_np(pthread_self(), "datp");
	pthread_mutex_lock(&loop->lock);
	for (;;) {
		bury_locked(loop);
		run_timers_locked(loop);
		run_calls_locked(loop);
		if (loop->stop)
			break;
		ms = wait_ms_locked(loop);
		loop->asleep = true;
		pthread_mutex_unlock(&loop->lock);
		n = epoll_wait(loop->epoll_fd, events, 16, ms);
		pthread_mutex_lock(&loop->lock);
		loop->asleep = false;
		run_watches_locked(loop, events, n);
	}
	pthread_mutex_unlock(&loop->lock);
	return NULL;
}

/* ------------------------------------------------------------------ start and end */

/* Logs what this process cannot do, and why. Returns the error for that. */
static enum datp_err refused(const char *what, int error, const char *remedy)
{
	datp_log(1, "cannot %s: %s; %s", what, strerror(error), remedy);
	return error == ENOMEM || error == EAGAIN ? DATP_ERR_MEMORY : DATP_ERR_DEVICE;
}

static enum datp_err loop_start(struct loop *loop)
{
	sigset_t all, old;
	int rc;

	/* Signals are for the program's own threads: none is delivered on this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* The lock holds the thread back until loop->thread is set. */
	pthread_mutex_lock(&loop->lock);
	rc = pthread_create(&loop->thread, NULL, loop_thread, loop);
	loop->started = rc == 0;
	pthread_mutex_unlock(&loop->lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		return DATP_OK;
	return refused("start the service thread", rc, "raise the limits of memory (ulimit -v) and of processes (ulimit -u)");
}

static enum datp_err descriptors_open(struct loop *loop)
{
	static const char remedy[] = "raise the limit of open files (ulimit -n)";
	struct epoll_event event = { .events = EPOLLIN };

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return refused("make an epoll descriptor for the service thread", errno, remedy);
	loop->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->event_fd < 0)
		return refused("make an eventfd for the service thread", errno, remedy);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->event_fd, &event))
		return refused("watch the service thread's eventfd", errno, "raise fs.epoll.max_user_watches (sysctl)");
	return DATP_OK;
}

enum datp_err loop_create(struct loop **out)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	enum datp_err err;

	if (!loop)
		return DATP_ERR_MEMORY;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->idle, NULL);
	loop->calls_tail = &loop->calls;
	loop->event_fd = -1;
	err = descriptors_open(loop);
	if (!err)
		err = loop_start(loop);
	if (err)
		goto destroy;
	*out = loop;
	return DATP_OK;

destroy:
	loop_destroy(loop);
	return err;
}

void loop_stop(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->stop = true;
	pthread_mutex_unlock(&loop->lock);
	wake(loop);
	pthread_join(loop->thread, NULL);
	loop->started = false;
}

void loop_destroy(struct loop *loop)
{
	while (loop->live) {
		struct datp_watch *watch = loop->live;

		loop->live = watch->next;
		free(watch);
	}
	bury_locked(loop);
	while (loop->calls) {
		struct loop_call *call = loop->calls;

		loop->calls = call->next;
		free(call);
	}
	loop->spares_wanted = 0;
	spares_trim_locked(loop); /* no other thread uses the loop any more */
	loop_forget(loop);
	pthread_cond_destroy(&loop->idle);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

void loop_forget(struct loop *loop)
{
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	if (loop->event_fd >= 0)
		close(loop->event_fd);
	loop->epoll_fd = loop->event_fd = -1;
}

/* ------------------------------------------------------------------ watches and calls */

enum datp_err datp_loop_add(struct datp_ia *ia, int fd, uint32_t epoll_events,
			    void (*fn)(void *arg, uint32_t events), void *arg,
			    struct datp_watch **out)
{
	struct loop *loop = loop_of(ia);
	struct datp_watch *watch = calloc(1, sizeof(*watch));
	struct epoll_event event = { .events = epoll_events, .data.ptr = watch };
	int error;

	if (!watch)
		return refused("watch a descriptor", ENOMEM, "raise the limit of memory (ulimit -v)");
	watch->loop = loop;
	watch->fd = fd;
	watch->fn = fn;
	watch->arg = arg;
	pthread_mutex_lock(&loop->lock);
	/* Set before the first callback can run, which needs the lock. */
	*out = watch;
	error = epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
	if (!error) {
		watch->next = loop->live;
		if (loop->live)
			loop->live->prev = watch;
		loop->live = watch;
	}
	pthread_mutex_unlock(&loop->lock);
	if (!error)
		return DATP_OK;
	*out = NULL;
	free(watch);
	return refused("watch a descriptor (epoll_ctl)", error, "raise fs.epoll.max_user_watches (sysctl)");
}

void datp_loop_del(struct datp_watch *watch)
{
	struct loop *loop = watch->loop;

	pthread_mutex_lock(&loop->lock);
	wait_not_running_locked(loop, watch);
	watch->dead = true;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	if (watch->prev)
		watch->prev->next = watch->next;
	else
		loop->live = watch->next;
	if (watch->next)
		watch->next->prev = watch->prev;
	watch->prev = NULL;
	watch->next = loop->dead;
	loop->dead = watch;
	pthread_mutex_unlock(&loop->lock);
}

bool loop_reserve(struct datp_ia *ia, unsigned int n)
{
	struct loop *loop = loop_of(ia);

	for (unsigned int i = 0; i < n; i++) {
		struct loop_call *call = malloc(sizeof(*call));

		if (!call) {
			loop_unreserve(ia, i);
			return false;
		}
		pthread_mutex_lock(&loop->lock);
		loop->spares_wanted++;
		call_put_locked(loop, call);
		pthread_mutex_unlock(&loop->lock);
	}
	return true;
}

void loop_unreserve(struct datp_ia *ia, unsigned int n)
{
	struct loop *loop = loop_of(ia);

	pthread_mutex_lock(&loop->lock);
	loop->spares_wanted -= n;
	spares_trim_locked(loop);
	pthread_mutex_unlock(&loop->lock);
}

struct loop_call *loop_call_get(struct datp_ia *ia)
{
	struct loop *loop = loop_of(ia);
	struct loop_call *call = malloc(sizeof(*call));

	if (call)
		return call;
	pthread_mutex_lock(&loop->lock);
	call = loop->spare;
	if (call) {
		loop->spare = call->next;
		loop->spares--;
	}
	pthread_mutex_unlock(&loop->lock);
	return call;
}

void loop_call_put(struct datp_ia *ia, struct loop_call *call)
{
	struct loop *loop = loop_of(ia);

	pthread_mutex_lock(&loop->lock);
	call_put_locked(loop, call);
	pthread_mutex_unlock(&loop->lock);
}

void loop_call_queue(struct datp_ia *ia, struct loop_call *call)
{
	struct loop *loop = loop_of(ia);
	bool asleep;

	call->next = NULL;
	pthread_mutex_lock(&loop->lock);
	*loop->calls_tail = call;
	loop->calls_tail = &call->next;
	asleep = loop->asleep;
	pthread_mutex_unlock(&loop->lock);
	if (asleep)
		wake(loop);
}

enum datp_err datp_loop_call(struct datp_ia *ia, void (*fn)(void *arg), void *arg)
{
	struct loop_call *call = loop_call_get(ia);

	if (!call)
		return DATP_ERR_MEMORY;
	call->fn = fn;
	call->arg = arg;
	loop_call_queue(ia, call);
	return DATP_OK;
}

/* ------------------------------------------------------------------ timers */

/* Loop lock. Returns true if the thread sleeps, and would sleep for longer than until then. */
static bool timer_set_locked(struct loop *loop, struct datp_timer *timer, uint64_t when, void (*fn)(void *arg), void *arg)
{
	if (timer_when(timer))
		timers_remove(&loop->timers, timer);
	timer->fn = fn;
	timer->arg = arg;
	timers_add(&loop->timers, timer, when);
	return loop->asleep && when < loop->until;
}

void datp_timer_set(struct datp_ia *ia, struct datp_timer *timer, uint64_t when, void (*fn)(void *arg), void *arg)
{
	struct loop *loop = loop_of(ia);
	bool late;

	pthread_mutex_lock(&loop->lock);
	late = timer_set_locked(loop, timer, when, fn, arg);
	pthread_mutex_unlock(&loop->lock);
	if (late)
		wake(loop);
}

void datp_timer_set_by(struct datp_ia *ia, struct datp_timer *timer, uint64_t when, void (*fn)(void *arg), void *arg)
{
	struct loop *loop = loop_of(ia);
	bool late = false;

	pthread_mutex_lock(&loop->lock);
	if (!timer_when(timer) || when < timer_when(timer))
		late = timer_set_locked(loop, timer, when, fn, arg);
	pthread_mutex_unlock(&loop->lock);
	if (late)
		wake(loop);
}

bool datp_timer_cancel(struct datp_ia *ia, struct datp_timer *timer)
{
	struct loop *loop = loop_of(ia);
	bool was_set;

	pthread_mutex_lock(&loop->lock);
	/* The wait for the callback comes first, because the callback may set the timer again. */
	wait_not_running_locked(loop, timer);
	was_set = timer_when(timer) != 0;
	if (was_set)
		timers_remove(&loop->timers, timer);
	pthread_mutex_unlock(&loop->lock);
	return was_set;
}
