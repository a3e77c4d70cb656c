/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: their size, their completion channel, and who is told. Invariant: a CQ has an entry
 * for every completion that the queue pairs on it can have outstanding, whatever length its EVD was
 * asked to have; so it never overflows.
 *
 * Telling. `armed` says that the device will put an event into the channel, or has. Two read the channel:
 * a thread in evd_sleep sees that it is readable, and the next evd_arm takes the event out (a sleep may
 * be cancelled at any instant, so it takes nothing itself); and the service thread, if the EVD has a CNO
 * or an endpoint drains. Should the service thread take an event that a sleeper was to see, its
 * datp_evd_notify() rings that sleeper's bell.
 */
#include "rdma.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ size */

enum { CQ_MORE = 1024 }; /* at least so many entries at a time */

static enum datp_err cq_add(struct rdma_cqset *set, uint32_t size)
{
	struct rdma_ia *ia = set->ia;
	struct rdma_cq *cq = &set->cq[set->count];

	if (set->count == RDMA_CQ_MAX)
		return DATP_ERR_TEVD;
	if (size > (uint32_t)ia->dev.max_cqe)
		size = (uint32_t)ia->dev.max_cqe;
	cq->cq = ibv_create_cq(ia->verbs, (int)size, set, set->channel, 0);
	if (!cq->cq) {
		datp_log(2, "%s: cannot create a completion queue of %u entries: %s", ia->base.name,
			 size, strerror(errno));
		return DATP_ERR_TEVD;
	}
	cq->size = (uint32_t)cq->cq->cqe;
	cq->used = 0;
	if (set->armed)
		ibv_req_notify_cq(cq->cq, set->armed_solicited);
	set->count++;
	return DATP_OK;
}

/* Poll lock held: drivers do not expect a poll while they replace the queue. */
static bool cq_grow(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t need)
{
	uint32_t limit = (uint32_t)set->ia->dev.max_cqe, size = cq->size;

	if (need > limit || cq->used > limit - need)
		return false;
	while (size < cq->used + need)
		size = size < limit / 2 ? size * 2 : limit;
	if (ibv_resize_cq(cq->cq, (int)size))
		return false;
	cq->size = size;
	return true;
}

/*
 * Another CQ in place of the last one, which nothing completes into: that was as long as its EVD, and
 * endpoints need more. One CQ costs less to look at than two. Poll lock.
 */
static bool cq_replace(struct rdma_cqset *set, uint32_t size)
{
	struct rdma_cq old = set->cq[set->count - 1];

	if (old.used)
		return false;
	set->count--;
	if (cq_add(set, size)) {
		set->cq[set->count++] = old;
		return false;
	}
	if (ibv_destroy_cq(old.cq))
		datp_log(1, "%s: cannot free a completion queue: %s", set->ia->base.name,
			 strerror(errno));
	return true;
}

static enum datp_err reserve_locked(struct rdma_cqset *set, uint32_t need, struct rdma_cq **out)
{
	uint32_t more = CQ_MORE;
	struct rdma_cq *cq;
	enum datp_err err;

	for (uint32_t i = 0; i < set->count; i++) {
		cq = &set->cq[i];
		if (cq->size - cq->used >= need || cq_grow(set, cq, need)) {
			*out = cq;
			return DATP_OK;
		}
		more = more < UINT32_MAX - cq->size ? more + cq->size : UINT32_MAX;
	}
	/*
	 * Not every device can resize: siw cannot. Then one more, as large as all before, so that a few
	 * go a long way; if the device has no memory for that, one that is large enough for now.
	 */
	if (!cq_replace(set, need)) {
		err = cq_add(set, more > need ? more : need);
		if (err && more > need)
			err = cq_add(set, need);
		if (err)
			return err;
	}
	*out = &set->cq[set->count - 1];
	return (*out)->size >= need ? DATP_OK : DATP_ERR_TEVD;
}

enum datp_err rdma_cqset_reserve(struct rdma_cqset *set, uint32_t need, struct rdma_cq **cq)
{
	enum datp_err err;

	pthread_mutex_lock(&set->ia->cq_lock);
	datp_lock(set->poll_lock);
	err = reserve_locked(set, need, cq);
	if (!err)
		(*cq)->used += need;
	datp_unlock(set->poll_lock);
	pthread_mutex_unlock(&set->ia->cq_lock);
	return err;
}

void rdma_cqset_release(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t need)
{
	pthread_mutex_lock(&set->ia->cq_lock);
	cq->used -= need;
	pthread_mutex_unlock(&set->ia->cq_lock);
}

bool rdma_cqset_extend(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t more)
{
	bool room;

	pthread_mutex_lock(&set->ia->cq_lock);
	datp_lock(set->poll_lock);
	room = cq->size - cq->used >= more || cq_grow(set, cq, more);
	if (room)
		cq->used += more;
	datp_unlock(set->poll_lock);
	pthread_mutex_unlock(&set->ia->cq_lock);
	return room;
}

/* ------------------------------------------------------------------ telling */

/* Takes what is in the channel; the CQs have to be armed anew. Poll lock. */
static void channel_take(struct rdma_cqset *set)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(set->channel, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		set->armed = false;
	}
	if (!set->armed)
		atomic_store_explicit(&set->fired, false, memory_order_relaxed);
}

/* Poll lock held. True: look again, something may have come before. */
bool rdma_cqset_arm(struct rdma_cqset *set, bool solicited)
{
	/* better to wake somebody in vain than not at all */
	solicited = solicited && !set->ia->kind->solicited_unknown;
	if (atomic_load_explicit(&set->fired, memory_order_relaxed))
		channel_take(set);
	if (set->armed && (!set->armed_solicited || solicited))
		return false;
	for (uint32_t i = 0; i < set->count; i++)
		ibv_req_notify_cq(set->cq[i].cq, solicited);
	set->armed = true;
	set->armed_solicited = solicited;
	/* what came just before may have been solicited: only the channel tells */
	atomic_store_explicit(&set->solicited, true, memory_order_relaxed);
	return true;
}

/* Looks at what has come until nothing comes before the next arming. Service thread. */
static void serve(struct rdma_cqset *set)
{
	bool again;

	do {
		if (set->evd)
			datp_evd_notify(set->evd);
		else
			rdma_cqset_drain(set);
		datp_lock(set->poll_lock);
		again = set->drains && rdma_cqset_arm(set, false);
		datp_unlock(set->poll_lock);
	} while (again);
}

static void channel_event(void *arg, uint32_t events)
{
	struct rdma_cqset *set = arg;

	(void)events;
	datp_lock(set->poll_lock);
	channel_take(set);
	atomic_store_explicit(&set->solicited, true, memory_order_relaxed);
	datp_unlock(set->poll_lock);
	serve(set);
}

/* The service thread watches the channel from now on. Poll lock. */
static void watch_locked(struct rdma_cqset *set)
{
	if (set->watch || set->stopping)
		return;
	if (datp_loop_add(&set->ia->base, set->channel->fd, EPOLLIN, channel_event, set,
			  &set->watch))
		datp_log(1, "%s: no memory to watch a completion channel: CNOs are not triggered",
			 set->ia->base.name);
}

void rdma_cqset_watch(struct rdma_cqset *set, int drains)
{
	bool look;

	datp_lock(set->poll_lock);
	set->drains += (uint32_t)drains;
	watch_locked(set);
	look = set->drains && rdma_cqset_arm(set, false);
	datp_unlock(set->poll_lock);
	if (look)
		rdma_cqset_drain(set);
}

/* ------------------------------------------------------------------ life */

enum datp_err rdma_cqset_init(struct rdma_cqset *set, struct rdma_ia *ia, struct datp_evd *evd,
			      _Atomic uint32_t *poll_lock, uint32_t size)
{
	struct rdma_cancel own;
	enum datp_err err;
	int flags;

	set->ia = ia;
	set->evd = evd;
	set->poll_lock = poll_lock;
	rdma_fork_hold(&own);
	set->channel = ibv_create_comp_channel(ia->verbs);
	if (set->channel)
		rdma_fork_list(&set->held, set->channel->fd);
	rdma_fork_release(&own);
	if (!set->channel) {
		datp_log(2, "%s: cannot create a completion channel: %s; `ulimit -n`?",
			 ia->base.name, strerror(errno));
		return DATP_ERR_TEVD;
	}
	flags = fcntl(set->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(set->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return DATP_ERR_DEVICE;
	err = cq_add(set, size);
	return err;
}

void rdma_cqset_fini(struct rdma_cqset *set)
{
	struct rdma_cq cq[RDMA_CQ_MAX];
	struct datp_watch *watch;
	struct rdma_ep **takers;
	struct rdma_cancel own;
	uint32_t count;

	if (!set->channel)
		return;
	datp_lock(set->poll_lock);
	set->stopping = true;
	watch = set->watch;
	datp_unlock(set->poll_lock);
	if (watch)
		datp_loop_del(watch);
	channel_take(set);
	/* Who has looked at the handle before it went, may poll still: from here on there is nothing to poll. */
	datp_lock(set->poll_lock);
	count = set->count;
	memcpy(cq, set->cq, count * sizeof(*cq));
	memset(set->cq, 0, count * sizeof(*cq));
	set->count = 0;
	takers = set->takers;
	set->takers = NULL;
	datp_unlock(set->poll_lock);
	free(takers);
	while (count)
		if (ibv_destroy_cq(cq[--count].cq))
			datp_log(1, "%s: cannot free a completion queue: %s", set->ia->base.name,
				 strerror(errno));
	rdma_fork_hold(&own);
	rdma_fork_unlist(&set->held);
	ibv_destroy_comp_channel(set->channel);
	rdma_fork_release(&own);
	set->channel = NULL;
}

enum datp_err rdma_evd_create(struct datp_evd *base, int32_t qlen)
{
	struct rdma_evd *evd = rdma_evd(base);
	enum datp_err err;

	atomic_init(&evd->wake_fd, -1);
	datp_bias_init(&evd->bias);
	if (!base->has_cq)
		return DATP_OK;
	err = rdma_cqset_init(&evd->set, rdma_ia(base->obj.ia), base, &base->poll_lock,
			      qlen > 0 ? (uint32_t)qlen : 1);
	if (err)
		rdma_evd_free(base);
	return err;
}

enum datp_err rdma_evd_resize(struct datp_evd *evd, int32_t qlen)
{
	/* The queue is libdatp's list; how large the CQ is follows from the endpoints on it. */
	(void)evd, (void)qlen;
	return DATP_OK;
}

void rdma_evd_free(struct datp_evd *base)
{
	struct rdma_evd *evd = rdma_evd(base);
	/* relaxed: nobody else knows the EVD any more */
	int fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);

	/* first: who has the bias relies on the CQ */
	datp_bias_fini(&evd->bias, &base->poll_lock);
	rdma_cqset_fini(&evd->set);
	if (fd >= 0)
		close(fd);
}

/* ------------------------------------------------------------------ sleeping */

enum { BLIND_MS = 10 }; /* a sleeper without a descriptor to be woken by looks so often */

/*
 * Not before somebody waits: most EVDs of a large program are polled, and descriptors are few.
 * Poll lock. relaxed: who rings reads it after `rung`, see there.
 */
static int wake_fd_locked(struct rdma_evd *evd)
{
	int fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_store_explicit(&evd->wake_fd, fd, memory_order_relaxed);
	return fd;
}

/*
 * Takes the wake-ups so far: the next sleep is for later ones. Poll lock. False: look again.
 *
 * No wake-up is lost. Who rings counts the bell up, then sets `rung`, and writes if it was not set. So as
 * long as `rung` is set, a write is to come, or the descriptor is readable, or nobody has slept since:
 * that it is true at the end of this, with its write read away, would be none of those, and who rings
 * next would leave it at that. Hence the loop, whose last look finds it false.
 *
 * acq_rel: who rings after that look finds `rung` false and the descriptor there, and writes; the bell of
 * whoever rang before is seen by the sleep.
 */
static bool wake_taken(struct rdma_evd *evd)
{
	int fd = wake_fd_locked(evd);
	uint64_t count;

	while (atomic_exchange_explicit(&evd->rung, false, memory_order_acq_rel))
		if (fd >= 0 && read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
			return false;
	return true;
}

bool rdma_evd_arm(struct datp_evd *base, enum datp_arm arm, bool solicited_only)
{
	struct rdma_evd *evd = rdma_evd(base);

	if (!base->has_cq || arm == DATP_ARM_NONE)
		return false;
	if (arm == DATP_ARM_CNO)
		watch_locked(&evd->set);
	else if (!wake_taken(evd))
		return true;
	return rdma_cqset_arm(&evd->set, solicited_only && !evd->set.drains);
}

/* An EVD without completions: its bell is all there is. */
static int sleep_on_bell(struct datp_evd *evd, uint32_t seen, const struct timespec *deadline)
{
	int type, err;
	long rc;

	/* a cancellation point, as in libdatp's own: nothing is held here */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	rc = syscall(SYS_futex, evd->bell, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, deadline,
		     NULL, FUTEX_BITSET_MATCH_ANY);
	err = rc ? errno : 0;
	pthread_setcanceltype(type, NULL);
	return err == ETIMEDOUT || err == EINTR ? err : 0;
}

static struct timespec time_left(const struct timespec *deadline)
{
	struct timespec now, left = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	left.tv_sec = deadline->tv_sec - now.tv_sec;
	left.tv_nsec = deadline->tv_nsec - now.tv_nsec;
	if (left.tv_nsec < 0) {
		left.tv_sec--;
		left.tv_nsec += 1000000000;
	}
	if (left.tv_sec < 0)
		left = (struct timespec){ 0 };
	return left;
}

int rdma_evd_sleep(struct datp_evd *base, uint32_t seen, const struct timespec *deadline)
{
	struct rdma_evd *evd = rdma_evd(base);
	const struct timespec blind = { .tv_nsec = BLIND_MS * 1000000L };
	struct pollfd fds[2];
	struct timespec left;
	bool until;
	int fd, rc;

	if (!base->has_cq)
		return sleep_on_bell(base, seen, deadline);
	/* acquire: what was queued before the bell was rung is seen */
	if (atomic_load_explicit(base->bell, memory_order_acquire) != seen)
		return 0;
	fds[0] = (struct pollfd){ .fd = evd->set.channel->fd, .events = POLLIN };
	/* relaxed: this thread has made it when it armed; poll passes over one that is not there */
	fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);
	fds[1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (deadline)
		left = time_left(deadline);
	until = deadline && (fd >= 0 || (!left.tv_sec && left.tv_nsec <= blind.tv_nsec));
	rc = ppoll(fds, 2, until ? &left : fd < 0 ? &blind : NULL, NULL);
	if (rc > 0 && fds[0].revents) {
		atomic_store_explicit(&evd->set.fired, true, memory_order_relaxed);
		atomic_store_explicit(&evd->set.solicited, true, memory_order_relaxed);
	}
	/*
	 * Who set `rung` may come to write only after that has been taken: the descriptor is readable then
	 * though nobody rings, and no sleep on it would last. Set here, for the next to read it, it keeps
	 * nobody from writing who has to: this thread is awake, and takes it before it sleeps again.
	 * acq_rel: a plain store would come between somebody who has rung and wake_taken().
	 */
	if (rc > 0 && fds[1].revents)
		atomic_exchange_explicit(&evd->rung, true, memory_order_acq_rel);
	if (rc)
		return rc < 0 && errno == EINTR ? EINTR : 0;
	return until ? ETIMEDOUT : 0;
}

void rdma_evd_wake(struct datp_evd *base)
{
	struct rdma_evd *evd = rdma_evd(base);
	uint64_t one = 1;
	int fd;

	if (!base->has_cq) {
		syscall(SYS_futex, base->bell, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL,
			0);
		return;
	}
	/* acq_rel: pairs with the one in wake_taken() */
	if (atomic_exchange_explicit(&evd->rung, true, memory_order_acq_rel))
		return;
	/* relaxed: see there; nobody has ever waited where it is not there */
	fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		datp_log(1, "%s: cannot wake a waiter: %s", base->obj.ia->name, strerror(errno));
}
