/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: their size, their completion channel, and notification. Invariant: a CQ has an
 * entry for every completion that the queue pairs on it can have outstanding, whatever length its
 * EVD was asked to have; so it never overflows, except that of a queue pair that is deeper than any
 * CQ of the device.
 *
 * Notification. `armed` says that the device will put an event into the channel, or has put one
 * there. Two threads read the channel. A thread in evd_sleep sees that the channel is readable, and
 * the next evd_arm takes the event out (a sleep may be cancelled at any instant, so it takes
 * nothing itself). The service thread reads it if the EVD has a CNO or an endpoint drains, or had one or the other before.
 * If the service thread takes an event that a sleeping thread waits for, it wakes that thread.
 */
#include "rdma_async.h"
#include "rdma_cq.h"
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

/*
 * A device that cannot report solicited messages only reports all messages: an unneeded wake-up is
 * better than a missing one. Poll lock.
 */
static void arm(struct rdma_ia *ia, struct ibv_cq *cq, bool solicited)
{
	int err = ibv_req_notify_cq(cq, solicited);

	if (err && solicited) {
		/* relaxed: a hint, which spares later calls the first attempt */
		atomic_store_explicit(&ia->solicited_unknown, true, memory_order_relaxed);
		err = ibv_req_notify_cq(cq, 0);
	}
	/* relaxed: it only decides which thread prints the message */
	if (err && !atomic_exchange_explicit(&ia->deaf, true, memory_order_relaxed))
		datp_log(1, "%s: the device cannot be armed for completions: %s; threads that wait "
			    "may not be woken",
			 ia->base.name, strerror(rdma_verbs_err(err)));
}

/*
 * Tries whether the device can be asked to report solicited messages only, because its attributes
 * do not say so.
 */
static void probe_solicited(struct rdma_cqset *set)
{
	if (rdma_has(set->ia, RDMA_NO_SOLICITED) || ibv_req_notify_cq(set->one, 1))
		/* relaxed: as above */
		atomic_store_explicit(&set->ia->solicited_unknown, true, memory_order_relaxed);
}

/* ------------------------------------------------------------------ size */

enum {
	CQ_MORE = 1024, /* the least number of entries by which a CQ grows */
	/*
	 * If CQs cannot grow, the first CQ of an EVD has room for this many endpoints, up to
	 * CQ_SPARE spare entries.
	 */
	CQ_ENDPOINTS = 16,
	CQ_SPARE = 65536,
	/*
	 * The first endpoint may be a small one, for control messages, and the others deep. So there are at least
	 * (cq_spare - CQ_KEPT) / CQ_FLOOR spare entries: 8192 for the first EVD of an adapter, and fewer for each further
	 * one. This minimum never uses the last CQ_KEPT entries, which are for EVDs whose first endpoint needs more.
	 */
	CQ_FLOOR = 64,
	CQ_KEPT = RDMA_CQ_SPARE / 2,
	/* on a CQ that cannot grow, requests leave this fraction (1/4) to the receives */
	CQ_RECEIVES = 4,
};

/* Never finds a completion. */
static int poll_nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq, (void)n, (void)wc;
	return 0;
}

static struct ibv_context blank_context = { .ops = { .poll_cq = poll_nothing } };
static struct ibv_cq blank = { .context = &blank_context };

/*
 * The fast path polls one CQ. If there are several, it polls `blank`, finds nothing, and so calls
 * rdma_dequeue_other(), which polls all of them: the fast path need not count them. Poll lock.
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

static struct rdma_cq *free_entry(struct rdma_cqset *set)
{
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (!set->cq[i].cq)
			return &set->cq[i];
	return NULL;
}

/* The poll lock is held unless the set is new. */
static enum datp_err cq_add(struct rdma_cqset *set, uint32_t size, uint32_t spare,
			    bool requests_only)
{
	struct rdma_cq *cq = free_entry(set);
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

/* No completions arrive in this CQ any more. cq_lock. */
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
 * Drops all CQs that no endpoint uses, except the one for new endpoints. If no requests are on a CQ
 * of their own, one such CQ is enough. cq_lock and poll lock.
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
		/* the CQ leaves the set first, because nobody may poll it after that */
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
	err = rdma_verbs_err(ibv_resize_cq(cq->cq, (int)size));
	if (err)
		set->ia->rigid = err == EOPNOTSUPP || err == ENOSYS || (!set->ia->asked_to_grow && err != ENOMEM);
	set->ia->asked_to_grow |= err != ENOMEM;
	if (err)
		return false;
	cq->size = size;
	return true;
}

/*
 * Returns how many entries the first CQ that endpoints use gets beyond `whole`, which its first endpoint needs. One CQ
 * keeps the order of the completions of several endpoints, and several CQs do not, because no device that cannot resize
 * CQs tells when a completion came. So on such a device that CQ is made large, within what the adapter may use for that.
 */
static uint32_t spare_of(const struct rdma_cqset *set, uint32_t whole)
{
	uint32_t limit = (uint32_t)set->ia->dev.max_cqe;
	uint32_t left = set->ia->cq_spare, floor = left > CQ_KEPT ? (left - CQ_KEPT) / CQ_FLOOR : 0;
	uint64_t spare = (uint64_t)whole * (CQ_ENDPOINTS - 1);

	if (!set->ia->rigid || set->live > 1 || whole >= limit)
		return 0;
	spare = spare > floor ? spare : floor;
	spare = spare < CQ_SPARE ? spare : CQ_SPARE;
	spare = spare < limit - whole ? spare : limit - whole;
	return spare < left ? (uint32_t)spare : left;
}

/* A CQ that has receives of connected endpoints gets another beside it. cq_lock and poll lock. */
static void say_another(const struct rdma_cqset *set, bool requests_only)
{
	datp_log(3, "%s: an EVD needs another completion queue, its number %u, %s, because %s: see opendat-ib(7) for what that "
		    "means for the order of completions",
		 set->ia->base.name, set->live, requests_only ? "for requests only" : "for receives as well",
		 set->ia->rigid ? "the device cannot resize one"
				: "the device has none that is large enough for all endpoints");
}

/*
 * Adds a CQ for all endpoints that are created or connected from now on, or only for their
 * requests. It is as large as all CQs before it together, so that few are needed. If the device has
 * no memory for that, the CQ has the size that the EVD needs, or only the size that the endpoint
 * needs. cq_lock and poll lock.
 */
static enum datp_err cq_another(struct rdma_cqset *set, uint32_t need, uint32_t whole,
				bool requests_only)
{
	uint32_t size = whole, spare, have = 0;
	bool stays = false;
	enum datp_err err;

	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++) {
		if (set->cq[i].used)
			have += set->cq[i].size;
		stays = stays || set->cq[i].settled;
	}
	if (have && size < have + CQ_MORE)
		size = have + CQ_MORE;
	/* only the first; with spare entries it is within the device's limit, so as many are charged as it gets */
	spare = have ? 0 : spare_of(set, whole);
	err = cq_add(set, size + spare, spare, requests_only);
	if (!err)
		set->ia->cq_spare -= spare;
	if (err && size + spare > whole)
		err = cq_add(set, whole, 0, requests_only);
	if (err && whole > need)
		err = cq_add(set, need, 0, requests_only);
	if (!err && stays)
		say_another(set, requests_only);
	return err;
}

static bool has_room(const struct rdma_cq *cq, uint32_t need)
{
	return cq->size - cq->used >= need;
}

/*
 * Finds out, once, whether the device can resize a CQ at all. A device that refuses it for a CQ which nothing uses yet is taken for
 * one that cannot, whatever the error, unless memory is short: the order of completions must not depend on later attempts. cq_lock
 * and poll lock.
 */
static void find_out_whether_rigid(struct rdma_cqset *set)
{
	struct rdma_cq *cq = set->home[RDMA_RECEIVES];

	if (!set->ia->asked_to_grow)
		cq_grow(set, cq, cq->size - cq->used + 1);
}

/*
 * Programs rely on the order of messages more than on that of their own requests, which take more
 * entries. So requests do not fill a CQ on which receives stay; what can still be moved goes to a
 * larger CQ together.
 */
static bool is_apart(enum rdma_use use, const struct rdma_cq *cq)
{
	return use == RDMA_REQUESTS && (cq->settled || cq->requests_only);
}

/*
 * Returns whether the CQ has the room, after making it larger if possible. cq_lock and poll lock.
 */
static bool find_room(struct rdma_cqset *set, enum rdma_use use, struct rdma_cq *cq, uint32_t need,
		      uint32_t whole)
{
	uint32_t most = set->ia->rigid ? cq->size : (uint32_t)set->ia->dev.max_cqe;
	uint32_t left = is_apart(use, cq) && !cq->requests_only ? most / CQ_RECEIVES : 0;

	if ((uint64_t)cq->used + need + left > most)
		return false;
	if (!set->ia->rigid)
		return has_room(cq, need) || cq_grow(set, cq, need);
	/* the first CQ has the length of its EVD so far */
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

/* ------------------------------------------------------------------ notification */

/* Takes all events from the channel; after that the CQs have to be armed again. Poll lock. */
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

/*
 * The poll lock is held. Returns true if the caller has to poll again, because a completion may
 * have come before the arming.
 */
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
	/*
	 * a completion that came just before may have been solicited: only the channel shows that
	 */
	atomic_store_explicit(&set->solicited, true, memory_order_relaxed);
	return true;
}

/* Polls until no completion comes before the next arming. Service thread. */
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

/* The service thread does not watch the channel of a device that is gone. */
static void unwatch(struct rdma_cqset *set)
{
	datp_lock(set->poll_lock);
	atomic_store_explicit(&set->gone, true, memory_order_relaxed);
	/* else rdma_cqset_fini() deletes it */
	if (!set->stopping) {
		datp_loop_del(set->watch);
		set->watch = NULL;
	}
	datp_unlock(set->poll_lock);
}

static void channel_event(void *arg, uint32_t events)
{
	struct rdma_cqset *set = arg;

	datp_lock(set->poll_lock);
	channel_take(set);
	atomic_store_explicit(&set->solicited, true, memory_order_relaxed);
	datp_unlock(set->poll_lock);
	/*
	 * A thread that sleeps had armed for the event that was just taken, and only that thread arms anew, also if the completion
	 * gives it nothing to return with. relaxed: it has announced itself before it armed, which takes the poll lock.
	 */
	if (set->evd && atomic_load_explicit(&set->evd->waiter, memory_order_relaxed))
		rdma_evd_wake(set->evd);
	serve(set);
	if (rdma_is_gone(events))
		unwatch(set);
}

/* From now on the service thread watches the channel. Poll lock. */
static void watch_locked(struct rdma_cqset *set)
{
	if (set->watch || set->stopping || atomic_load_explicit(&set->gone, memory_order_relaxed))
		return;
	if (datp_loop_add(&set->ia->base, set->channel->fd, EPOLLIN, channel_event, set,
			  &set->watch))
		datp_log(1, "%s: a completion channel is not watched: CNOs are not triggered",
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

/* ------------------------------------------------------------------ creation and end */

enum datp_err rdma_cqset_init(struct rdma_cqset *set, struct rdma_ia *ia, struct datp_evd *evd,
			      _Atomic uint32_t *poll_lock, uint32_t size)
{
	struct datp_fork_own own;
	enum datp_err err;
	int flags;

	set->ia = ia;
	set->evd = evd;
	set->poll_lock = poll_lock;
	datp_fork_hold(&own);
	set->channel = ibv_create_comp_channel(ia->verbs);
	if (set->channel)
		datp_fork_list(&set->fork_fd, set->channel->fd);
	datp_fork_release(&own);
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
	struct rdma_ep **table;
	struct datp_fork_own own;

	if (!set->channel)
		return;
	datp_lock(set->poll_lock);
	set->stopping = true;
	watch = set->watch;
	datp_unlock(set->poll_lock);
	if (watch)
		datp_loop_del(watch);
	channel_take(set);
	/*
	 * A thread that read the handle before the EVD was freed may still poll: from here on there
	 * is nothing to poll.
	 */
	datp_lock(set->poll_lock);
	memcpy(cq, set->cq, sizeof(cq));
	memset(set->cq, 0, sizeof(set->cq));
	memset(set->home, 0, sizeof(set->home));
	count_locked(set);
	table = set->qpn_table;
	set->qpn_table = NULL;
	datp_unlock(set->poll_lock);
	free(table);
	pthread_mutex_lock(&set->ia->cq_lock);
	for (uint32_t i = 0; i < RDMA_CQ_MAX; i++)
		if (cq[i].cq)
			cq_end(set->ia, &cq[i]);
	pthread_mutex_unlock(&set->ia->cq_lock);
	datp_fork_hold(&own);
	datp_fork_unlist(&set->fork_fd);
	ibv_destroy_comp_channel(set->channel);
	datp_fork_release(&own);
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
	/* The event queue is libdatp's list; the size of the CQ depends on the endpoints on it. */
	(void)evd, (void)qlen;
	return DATP_OK;
}

void rdma_evd_free(struct datp_evd *base)
{
	struct rdma_evd *evd = rdma_evd(base);
	/* relaxed: no other thread has the EVD any more */
	int fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);

	/* this comes first, because the bias owner polls the CQ without the lock */
	datp_bias_fini(&evd->bias, &base->poll_lock);
	rdma_cqset_fini(&evd->set);
	if (fd >= 0)
		close(fd);
}

/* ------------------------------------------------------------------ sleeping */

/* the interval at which a sleeping thread without a wake-up descriptor checks its bell */
enum { BLIND_MS = 10 };

/*
 * Creates the descriptor only when a thread waits, because most EVDs of a large program are polled,
 * and descriptors are few. Poll lock. relaxed: evd_wake reads it after `rung`, see there.
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
 * Takes the wake-ups so far, so that the next sleep is for later ones. Poll lock. Returns false if
 * the caller has to poll again.
 *
 * No wake-up is lost. A waker increments the bell, then sets `rung`, and writes to the descriptor
 * if `rung` was not set. So while `rung` is set, either a write is about to come, or the descriptor
 * is readable, or no thread has slept since. If `rung` were still set when this function returns,
 * with its write already read, none of these would hold, and the next waker would not write. Hence
 * the loop, which ends only when it finds `rung` false.
 *
 * acq_rel: a waker that comes after the last check finds `rung` false and the descriptor set, and
 * writes; the sleep sees the bell of a waker that came before.
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

/* An EVD without completions has only the bell. */
static int sleep_on_bell(struct datp_evd *evd, uint32_t seen, const struct timespec *deadline)
{
	int type, err;
	long rc;

	/* a cancellation point, as in libdatp's own function: no lock is held here */
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
	/* acquire: events that were queued before the bell are seen */
	if (atomic_load_explicit(base->bell, memory_order_acquire) != seen)
		return 0;
	fds[0] = (struct pollfd){ .fd = evd->set.channel->fd, .events = POLLIN };
	if (atomic_load_explicit(&evd->set.gone, memory_order_relaxed))
		fds[0].fd = -1; /* poll() ignores it */
	/* relaxed: this thread has created it when it armed; poll() ignores a descriptor of -1 */
	fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);
	fds[1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (deadline)
		left = time_left(deadline);
	until = deadline && (fd >= 0 || (!left.tv_sec && left.tv_nsec <= blind.tv_nsec));
	rc = ppoll(fds, 2, until ? &left : fd < 0 ? &blind : NULL, NULL);
	if (rc > 0 && rdma_is_gone((uint32_t)fds[0].revents))
		atomic_store_explicit(&evd->set.gone, true, memory_order_relaxed);
	if (rc > 0 && fds[0].revents) {
		atomic_store_explicit(&evd->set.fired, true, memory_order_relaxed);
		atomic_store_explicit(&evd->set.solicited, true, memory_order_relaxed);
	}
	/*
	 * A waker that has set `rung` may write only after `rung` has been reset: then the
	 * descriptor is readable although no new wake-up has come, and no sleep on it would last.
	 * Setting `rung` here makes the next wake_taken() read the descriptor. It does not stop a
	 * waker from a write that is needed, because this thread is awake and resets `rung` before
	 * it sleeps again. acq_rel: a plain store could come between a waker and wake_taken().
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
	int fd, own;

	if (!base->has_cq) {
		syscall(SYS_futex, base->bell, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL,
			0);
		return;
	}
	/* acq_rel: pairs with the one in wake_taken() */
	if (atomic_exchange_explicit(&evd->rung, true, memory_order_acq_rel))
		return;
	/* relaxed: see wake_fd_locked(); if there is no descriptor, no thread has ever waited */
	fd = atomic_load_explicit(&evd->wake_fd, memory_order_relaxed);
	/* write() is a cancellation point, and a post may come here with locks */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own);
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		datp_log(1, "%s: cannot wake a waiter: %s", base->obj.ia->name, strerror(errno));
	pthread_setcancelstate(own, NULL);
}
