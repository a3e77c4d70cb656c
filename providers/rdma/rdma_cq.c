/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: their size, their completion channel, and who is told. Invariant: a CQ has an entry
 * for every completion that the queue pairs on it can have outstanding, whatever length its EVD was
 * asked to have; so it never overflows, except that of a queue pair that is deeper than any CQ of the device.
 *
 * Telling. `armed` says that the device will put an event into the channel, or has. Two read the channel:
 * a thread in evd_sleep sees that it is readable, and the next evd_arm takes the event out (a sleep may
 * be cancelled at any instant, so it takes nothing itself); and the service thread, if the EVD has a CNO
 * or an endpoint drains. Should the service thread take an event that a sleeper was to see, its
 * datp_evd_notify() rings that sleeper's bell.
 */
#include "rdma_cq.h"
#include "rdma_fork.h"
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

/* ------------------------------------------------------------------ arming */

/* A device that cannot tell of solicited messages in particular tells of all: better to wake somebody in vain. Poll lock. */
static void arm(struct rdma_ia *ia, struct ibv_cq *cq, bool solicited)
{
	int err = ibv_req_notify_cq(cq, solicited);

	if (err && solicited) {
		/* relaxed: a hint, which spares later calls the first attempt */
		atomic_store_explicit(&ia->solicited_unknown, true, memory_order_relaxed);
		err = ibv_req_notify_cq(cq, 0);
	}
	/* relaxed: it is said once */
	if (err && !atomic_exchange_explicit(&ia->deaf, true, memory_order_relaxed))
		datp_log(1, "%s: the device cannot be armed for completions: %s; threads that wait "
			    "may not be woken",
			 ia->base.name, strerror(err < 0 ? errno : err));
}

/* Whether the device can be asked to tell of solicited messages only, which its attributes do not say. */
static void probe_solicited(struct rdma_cqset *set)
{
	if (rdma_has(set->ia, RDMA_NO_SOLICITED) || ibv_req_notify_cq(set->one, 1))
		/* relaxed: as above */
		atomic_store_explicit(&set->ia->solicited_unknown, true, memory_order_relaxed);
}

/* ------------------------------------------------------------------ size */

enum {
	CQ_MORE = 1024, /* at least so many entries at a time */
	/* The first CQ of an EVD has room for so many endpoints where it cannot grow, up to CQ_SPARE entries. */
	CQ_ENDPOINTS = 16,
	CQ_SPARE = 65536,
	CQ_RECEIVES = 4, /* requests leave the receives one part of so many of a CQ that cannot grow */
};

/* Finds nothing, ever. */
static int poll_nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq, (void)n, (void)wc;
	return 0;
}

static struct ibv_context blank_context = { .ops = { .poll_cq = poll_nothing } };
static struct ibv_cq blank = { .context = &blank_context };

/*
 * A plain look polls one CQ. Where there are several it finds nothing, so that the look goes on in
 * rdma_dequeue_other(), which knows of all of them: the plain way need not count. Poll lock.
 */
static void count_locked(struct rdma_cqset *set)
{
	set->live = 0;
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++) {
		if (!set->cq[i].cq)
			continue;
		set->one = set->cq[i].cq;
		set->live++;
	}
	if (set->live != 1)
		set->one = &blank;
}

static struct rdma_cq *free_place(struct rdma_cqset *set)
{
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (!set->cq[i].cq)
			return &set->cq[i];
	return NULL;
}

/* Poll lock, but where the set is new. */
static enum datp_err cq_add(struct rdma_cqset *set, uint32_t size, uint32_t spare,
			    bool requests_only)
{
	struct rdma_cq *cq = free_place(set);
	struct rdma_ia *ia = set->ia;

	if (!cq) {
		errno = ENOSPC;
		return DATP_ERR_TEVD;
	}
	if (size > (uint32_t)ia->dev.max_cqe)
		size = (uint32_t)ia->dev.max_cqe;
	cq->cq = ibv_create_cq(ia->verbs, (int)size, set, set->channel, 0);
	if (!cq->cq)
		return DATP_ERR_TEVD;
	cq->size = (uint32_t)cq->cq->cqe;
	cq->used = 0;
	cq->spare = spare;
	cq->settled = false;
	cq->requests_only = requests_only;
	if (set->armed)
		arm(ia, cq->cq, set->armed_solicited);
	set->home[RDMA_REQUESTS] = cq;
	if (!requests_only)
		set->home[RDMA_RECEIVES] = cq;
	count_locked(set);
	return DATP_OK;
}

static void say_none(const struct rdma_cqset *set, uint32_t size)
{
	datp_log(2, "%s: cannot create a completion queue of %u entries: %s", set->ia->base.name,
		 size, strerror(errno));
}

/* Nothing completes into it any more. cq_lock. */
static void cq_end(struct rdma_ia *ia, const struct rdma_cq *cq)
{
	ia->cq_spare += cq->spare;
	if (ibv_destroy_cq(cq->cq))
		datp_log(1, "%s: cannot free a completion queue: %s", ia->base.name,
			 strerror(errno));
}

static bool is_home(const struct rdma_cqset *set, const struct rdma_cq *cq)
{
	return cq == set->home[RDMA_RECEIVES] || cq == set->home[RDMA_REQUESTS];
}

/*
 * All that no endpoint is on, except that for new endpoints: one is enough when nobody's requests are on one of their own.
 * cq_lock and poll lock.
 */
static void drop_unused_locked(struct rdma_cqset *set)
{
	if (!set->home[RDMA_REQUESTS]->used)
		set->home[RDMA_REQUESTS] = set->home[RDMA_RECEIVES];
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++) {
		struct rdma_cq old = set->cq[i];

		if (!old.cq || old.used)
			continue;
		set->cq[i].settled = false;
		if (is_home(set, &set->cq[i]))
			continue;
		/* first, because nobody may poll it from then on */
		set->cq[i] = (struct rdma_cq){ 0 };
		count_locked(set);
		cq_end(set->ia, &old);
	}
}

/* Poll lock held: drivers do not expect a poll while they replace the queue. */
static bool cq_grow(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t need)
{
	uint32_t limit = (uint32_t)set->ia->dev.max_cqe, size = cq->size;
	int err;

	if (set->ia->rigid || need > limit || cq->used > limit - need)
		return false;
	while (size < cq->used + need)
		size = size < limit / 2 ? size * 2 : limit;
	err = ibv_resize_cq(cq->cq, (int)size);
	/* some drivers return the number, others leave it in errno */
	err = err < 0 ? errno : err;
	if (err) {
		set->ia->rigid = err == EOPNOTSUPP || err == ENOSYS;
		return false;
	}
	cq->size = size;
	return true;
}

/*
 * A CQ of an EVD keeps the order in which its endpoints' completions have come, and several do not: no device that
 * cannot resize a CQ says when a completion came. So where a CQ cannot grow the first one that endpoints are on is made
 * large, as long as the adapter has not been given too much for that.
 */
static uint32_t spare_of(const struct rdma_cqset *set, uint32_t whole)
{
	uint32_t limit = (uint32_t)set->ia->dev.max_cqe;
	uint64_t spare = (uint64_t)whole * (CQ_ENDPOINTS - 1);

	if (!set->ia->rigid || set->live > 1 || whole >= limit)
		return 0;
	spare = spare < CQ_SPARE ? spare : CQ_SPARE;
	spare = spare < limit - whole ? spare : limit - whole;
	return spare < set->ia->cq_spare ? (uint32_t)spare : set->ia->cq_spare;
}

/*
 * Another CQ, for all endpoints that are made or connected from now on, or for their requests alone: as large as all
 * before, so that a few go a long way. If the device has no memory for that, one that is large enough for the endpoint, or
 * for now. cq_lock and poll lock.
 */
static enum datp_err cq_another(struct rdma_cqset *set, uint32_t need, uint32_t whole,
				bool requests_only)
{
	uint32_t size = whole, spare = spare_of(set, whole), have = 0;
	enum datp_err err;

	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (set->cq[i].used)
			have += set->cq[i].size;
	if (have && size < have + CQ_MORE)
		size = have + CQ_MORE;
	err = cq_add(set, size + spare, spare, requests_only);
	if (!err)
		set->ia->cq_spare -= spare;
	if (err && size + spare > whole)
		err = cq_add(set, whole, 0, requests_only);
	if (err && whole > need)
		err = cq_add(set, need, 0, requests_only);
	return err;
}

static bool has_room(const struct rdma_cq *cq, uint32_t need)
{
	return cq->size - cq->used >= need;
}

/* Whether the device can resize a CQ at all is asked once. cq_lock and poll lock. */
static void find_out_whether_rigid(struct rdma_cqset *set)
{
	struct rdma_cq *cq = set->home[RDMA_RECEIVES];

	if (!set->ia->asked_to_grow)
		cq_grow(set, cq, cq->size - cq->used + 1);
	set->ia->asked_to_grow = true;
}

/*
 * Programs rely on the order of messages more than on that of their own requests, which take more entries: so requests do
 * not fill a CQ with receives that stay there. What can still move goes to a larger one together.
 */
static bool is_apart(enum rdma_use use, const struct rdma_cq *cq)
{
	return use == RDMA_REQUESTS && (cq->settled || cq->requests_only);
}

/* Whether the CQ has the room, or gets it. cq_lock and poll lock. */
static bool find_room(struct rdma_cqset *set, enum rdma_use use, struct rdma_cq *cq, uint32_t need,
		      uint32_t whole)
{
	uint32_t most = set->ia->rigid ? cq->size : (uint32_t)set->ia->dev.max_cqe;
	uint32_t left = is_apart(use, cq) && !cq->requests_only ? most / CQ_RECEIVES : 0;

	if ((uint64_t)cq->used + need + left > most)
		return false;
	if (!set->ia->rigid)
		return has_room(cq, need) || cq_grow(set, cq, need);
	/* the first one has the length of its EVD so far */
	return cq->used || cq->size >= whole + spare_of(set, whole);
}

/* cq_lock and poll lock. */
static enum datp_err reserve_locked(struct rdma_cqset *set, enum rdma_use use, uint32_t need,
				    uint32_t whole, struct rdma_cq **out)
{
	struct rdma_cq *cq = set->home[use];
	bool apart = is_apart(use, cq);

	find_out_whether_rigid(set);
	if (!find_room(set, use, cq, need, whole) &&
	    cq_another(set, need, apart ? need : whole, apart) && !has_room(cq, need)) {
		say_none(set, need);
		return DATP_ERR_TEVD;
	}
	*out = cq = set->home[use];
	if (!has_room(cq, need))
		return DATP_ERR_TEVD;
	cq->used += need;
	drop_unused_locked(set);
	return DATP_OK;
}

enum datp_err rdma_cqset_reserve(struct rdma_cqset *set, enum rdma_use use, uint32_t need,
				 uint32_t whole, struct rdma_cq **cq)
{
	enum datp_err err;

	pthread_mutex_lock(&set->ia->cq_lock);
	datp_lock(set->poll_lock);
	err = reserve_locked(set, use, need, whole, cq);
	datp_unlock(set->poll_lock);
	pthread_mutex_unlock(&set->ia->cq_lock);
	return err;
}

void rdma_cqset_release(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t need)
{
	pthread_mutex_lock(&set->ia->cq_lock);
	datp_lock(set->poll_lock);
	cq->used -= need;
	drop_unused_locked(set);
	datp_unlock(set->poll_lock);
	pthread_mutex_unlock(&set->ia->cq_lock);
}

void rdma_cqset_settle(struct rdma_cqset *set, struct rdma_cq *cq)
{
	pthread_mutex_lock(&set->ia->cq_lock);
	cq->settled = true;
	pthread_mutex_unlock(&set->ia->cq_lock);
}

bool rdma_cqset_is_home(struct rdma_cqset *set, const struct rdma_cq *cq)
{
	bool is;

	pthread_mutex_lock(&set->ia->cq_lock);
	is = is_home(set, cq);
	pthread_mutex_unlock(&set->ia->cq_lock);
	return is;
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
	/* relaxed: a hint */
	solicited = solicited && !atomic_load_explicit(&set->ia->solicited_unknown, memory_order_relaxed);
	if (atomic_load_explicit(&set->fired, memory_order_relaxed))
		channel_take(set);
	if (set->armed && (!set->armed_solicited || solicited))
		return false;
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (set->cq[i].cq)
			arm(set->ia, set->cq[i].cq, solicited);
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
		datp_log(2, "%s: cannot create a completion channel: %s; raise `ulimit -n` if the "
			    "process has too many open files",
			 ia->base.name, strerror(errno));
		return DATP_ERR_TEVD;
	}
	flags = fcntl(set->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(set->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return DATP_ERR_DEVICE;
	err = cq_add(set, size, 0, false);
	if (err)
		say_none(set, size);
	else if (!evd)
		probe_solicited(set);
	return err;
}

void rdma_cqset_fini(struct rdma_cqset *set)
{
	struct rdma_cq cq[RDMA_CQ_MAX];
	struct datp_watch *watch;
	struct rdma_ep **takers;
	struct rdma_cancel own;

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
	memcpy(cq, set->cq, sizeof(cq));
	memset(set->cq, 0, sizeof(set->cq));
	memset(set->home, 0, sizeof(set->home));
	count_locked(set);
	takers = set->takers;
	set->takers = NULL;
	datp_unlock(set->poll_lock);
	free(takers);
	pthread_mutex_lock(&set->ia->cq_lock);
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (cq[i].cq)
			cq_end(set->ia, &cq[i]);
	pthread_mutex_unlock(&set->ia->cq_lock);
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
