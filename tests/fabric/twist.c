/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces functions of libibverbs, librdmacm and the C library in the whole process by functions that call them. Invariant:
 * while all switches are as they are at the start, nothing is changed, only counted. twist_device.c has what a device reports and
 * grants, twist_end.c how it ends a queue pair, and twist_event.c the events that are made up.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "twist.h"

enum { STALE_CONNECTION = 10 }; /* the reason in a rejection by the connection manager of InfiniBand */

struct twist twist;
__thread struct twist_here twist_here;

/* The last queue pair that the calling thread has changed to RTR, and the queue pair of the last rdma_accept(). */
static __thread struct ibv_qp *ready;
static _Atomic(struct ibv_qp *) answered;
/* The confirmation of that connection has been lost: its queue pair learns of the connection from what its peer sends next. */
static _Atomic bool unheard;

static _Atomic(struct ibv_async_event *) invented; /* the event that the switch `tells` has made, until it is acknowledged */
/* For `told_late`: the queue pair of this event, and the same once a thread destroys it. */
static _Atomic(struct ibv_qp *) told_of, going;

int rdma_disconnect(struct rdma_cm_id *id)
{
	int (*real)(struct rdma_cm_id *);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_disconnect");
	twist_send_all();
	return real(id);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int);
	bool halts = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR, ends = halts && !twist_is_halted(qp->qp_num);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_modify_qp");
	if (halts) {
		twist_qp_halts(qp);
		void (*call)(void) = atomic_exchange(&twist.at_halt, NULL);

		if (call)
			call();
	}
	if (qp == atomic_load(&going))
		atomic_fetch_add(&twist.late_stops, 1);
	if (twist_is_reset(qp->context))
		return EIO;
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTR)
		ready = qp;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && atomic_load(&twist.serves_none))
		attr->max_dest_rd_atomic = 0;
	if (mask & IBV_QP_MIN_RNR_TIMER) {
		atomic_fetch_add(&twist.timers, 1);
		if (attr->min_rnr_timer == 0)
			atomic_fetch_add(&twist.idle_timers, 1);
	}
	rc = real(qp, attr, mask);
	if (!rc && ends && qp->srq && atomic_load(&twist.last_wqe))
		twist_tell(qp->qp_num, IBV_EVENT_QP_LAST_WQE_REACHED);
	return rc;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int (*real)(struct rdma_event_channel *, struct rdma_cm_event **);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_get_cm_event");
	if (atomic_exchange(&twist.shut, false))
		sem_wait(&twist.gate);
	ret = real(channel, event);
	if (!ret && ((*event)->event == RDMA_CM_EVENT_DISCONNECTED || (*event)->event == RDMA_CM_EVENT_TIMEWAIT_EXIT))
		twist_id_ends((*event)->id);
	/* the program may learn of the connection, and post, before its confirmation would be sent */
	if (!ret && (*event)->event == RDMA_CM_EVENT_CONNECT_RESPONSE)
		atomic_store(&unheard, atomic_load(&twist.unconfirmed));
	if (!ret && atomic_load(&twist.comm_est) && (*event)->event == RDMA_CM_EVENT_ESTABLISHED)
		twist_tell(twist_id_qpn((*event)->id), IBV_EVENT_COMM_EST);
	if (!ret && (*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		atomic_store(&twist.shut, atomic_exchange(&twist.shuts, false));
	if (!ret && atomic_load(&twist.says_reads) &&
	    ((*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST || (*event)->event == RDMA_CM_EVENT_CONNECT_RESPONSE ||
	     (*event)->event == RDMA_CM_EVENT_ESTABLISHED))
		(*event)->param.conn.responder_resources = (*event)->param.conn.initiator_depth =
			(uint8_t)(atomic_load(&twist.says_reads) - 1);
	if (!ret && atomic_load(&twist.twisted) && (*event)->event == RDMA_CM_EVENT_DISCONNECTED) {
		(*event)->event = RDMA_CM_EVENT_UNREACHABLE;
		(*event)->status = -ETIMEDOUT;
	}
	if (!ret && (*event)->event == RDMA_CM_EVENT_ADDR_RESOLVED &&
	    atomic_exchange(&twist.early, false)) {
		(*event)->event = RDMA_CM_EVENT_UNREACHABLE;
		(*event)->status = -EINVAL;
	}
	if (!ret && (*event)->event == RDMA_CM_EVENT_ROUTE_RESOLVED && atomic_exchange(&twist.route_lost, false)) {
		(*event)->event = RDMA_CM_EVENT_ROUTE_ERROR;
		(*event)->status = -ETIMEDOUT;
	}
	if (!ret && atomic_load(&twist.stale) && (*event)->event == RDMA_CM_EVENT_REJECTED) {
		atomic_fetch_sub(&twist.stale, 1);
		(*event)->status = STALE_CONNECTION;
		(*event)->param.conn.private_data_len = 0;
	}
	return ret;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	int (*real)(struct rdma_cm_id *, struct sockaddr *, struct sockaddr *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_resolve_addr");
	if (twist_here.slow_to_connect) {
		twist_here.slow_to_connect = false;
		sem_post(&twist.reached);
		sem_wait(&twist.open);
	}
	if (atomic_exchange(&twist.resolve_fails, false)) {
		errno = ENETUNREACH;
		return -1;
	}
	return real(id, from, to, ms);
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	int (*real)(struct rdma_cm_id *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_resolve_route");
	atomic_fetch_add(&twist.routes, 1);
	atomic_store(&twist.route_ms, ms);
	return real(id, ms);
}

static void cut_off(void *arg)
{
	(void)arg;
	atomic_store(&twist.cut_off_ms, twist_now_ms());
	sem_post(&twist.open);
}

/* The address sanitizer does not notice that a cancellation ends a frame, so it must not check this one. */
__attribute__((no_sanitize("address"))) int rdma_connect(struct rdma_cm_id *id,
							 struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *, struct rdma_conn_param *);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_connect");
	if (atomic_exchange(&twist.never_connects, false)) {
		pthread_cleanup_push(cut_off, NULL);
		sem_post(&twist.reached);
		for (;;)
			pause();
		pthread_cleanup_pop(0);
	}
	if (atomic_load(&twist.ports_taken)) {
		atomic_fetch_sub(&twist.ports_taken, 1);
		errno = EADDRINUSE;
		return -1;
	}
	atomic_store(&twist.connector, gettid());
	twist_id_has(id, param->qp_num);
	atomic_store(&twist.asked_in, param->responder_resources);
	atomic_store(&twist.asked_out, param->initiator_depth);
	return real(id, param);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *, struct rdma_conn_param *);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_accept");
	atomic_fetch_add(&twist.accepts, 1);
	if (atomic_exchange(&twist.accept_fails, false)) {
		errno = EINVAL;
		return -1;
	}
	twist_id_has(id, param->qp_num);
	atomic_store(&answered, ready);
	atomic_store(&twist.answered_in, param->responder_resources);
	atomic_store(&twist.answered_out, param->initiator_depth);
	return real(id, param);
}

int rdma_establish(struct rdma_cm_id *id)
{
	int (*real)(struct rdma_cm_id *);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_establish");
	return atomic_load(&twist.unconfirmed) ? 0 : real(id);
}

/* Ends in the C library's write(), which is a cancellation point: a thread that connects has to be cancelled there. */
ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t (*real)(int, const void *, size_t);
	void (*call)(void) = twist_here.before_bell;

	*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (twist_here.doorbell_fails) {
		twist_here.doorbell_fails = false;
		errno = ENOTCONN;
		return -1;
	}
	if (twist_keeps(fd, data, size))
		return (ssize_t)size;
	twist_here.before_bell = NULL;
	if (call)
		call();
	if (twist_here.late_bell) {
		twist_here.late_bell = false;
		sem_post(&twist.reached);
		sem_wait(&twist.open);
	}
	return real(fd, data, size);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	void (*call)(void) = twist_here.before_sleep;

	*(void **)&real = dlsym(RTLD_NEXT, "ppoll");
	twist_here.before_sleep = NULL;
	if (call)
		call();
	twist_here.sleeps++;
	return real(fds, n, timeout, mask);
}

int eventfd(unsigned int count, int flags)
{
	int (*real)(unsigned int, int);

	*(void **)&real = dlsym(RTLD_NEXT, "eventfd");
	if (atomic_load(&twist.full)) {
		errno = EMFILE;
		return -1;
	}
	return real(count, flags);
}

/* Numbers of queue pairs that have been destroyed, and have not been given to others. */
static struct {
	pthread_mutex_t lock;
	uint32_t qpn[256];
	unsigned int count;
} gone = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_gone(uint32_t qpn)
{
	bool found = false;

	pthread_mutex_lock(&gone.lock);
	for (unsigned int i = 0; i < gone.count && i < 256 && !found; i++)
		found = gone.qpn[i] == qpn;
	pthread_mutex_unlock(&gone.lock);
	return found;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *), *qp;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_qp");
	twist_bare_begin(pd->context, NULL);
	if (!twist_means(pd->context))
		qp = real(pd, attr);
	else
		qp = twist_grants_qp(attr) ? twist_create_qp(pd, attr, real) : NULL;
	twist_bare_end(pd->context, NULL);
	if (qp) {
		twist_qp_begins(qp);
		twist_event_begins(qp);
	}
	pthread_mutex_lock(&gone.lock);
	for (unsigned int i = 0; qp && i < 256; i++)
		if (gone.qpn[i] == qp->qp_num)
			gone.qpn[i] = 0;
	pthread_mutex_unlock(&gone.lock);
	return qp;
}

/* For `told_late`. */
static void await_told(struct ibv_qp *qp)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (atomic_load(&told_of) != qp)
		return;
	atomic_store(&told_of, NULL);
	atomic_store(&going, qp);
	sem_post(&twist.open);
	while (atomic_load(&invented))
		nanosleep(&pause, NULL);
	atomic_store(&going, NULL);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*real)(struct ibv_qp *);
	uint32_t qpn = qp->qp_num;
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_destroy_qp");
	await_told(qp);
	twist_event_goes(qp);
	twist_qp_goes(qp);
	rc = real(qp);
	pthread_mutex_lock(&gone.lock);
	if (!rc)
		gone.qpn[gone.count++ % 256] = qpn;
	pthread_mutex_unlock(&gone.lock);
	return rc;
}

static int (*poll_real)(struct ibv_cq *, int, struct ibv_wc *);

enum { LATE = 8192 };

/* Completions that a poll must not find yet, in their order. */
static struct {
	pthread_mutex_t lock;
	struct late {
		struct ibv_cq *cq;
		struct ibv_wc wc;
		uint64_t due_ms;
		int looks; /* asynchronous events that had been asked for when the completion came */
		bool found; /* an earlier poll would have found it */
	} one[LATE];
	unsigned int count;
} late = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic int looks; /* count: calls of ibv_get_async_event() */

/* How long a poll does not find this completion. */
static int lateness(const struct ibv_wc *wc)
{
	int all = atomic_load(&twist.late_ms), flushed = atomic_load(&twist.flush_late_ms);

	return wc->status == IBV_WC_WR_FLUSH_ERR && flushed > all ? flushed : all;
}

/* Returns true for a flushed completion that the driver makes when it is asked for an asynchronous event. */
static bool is_held(const struct late *one)
{
	return atomic_load(&twist.flush) == TWIST_FLUSH_BY_ASYNC && one->wc.status == IBV_WC_WR_FLUSH_ERR &&
	       one->looks == atomic_load(&looks) && !twist_is_halted(one->wc.qp_num);
}

/* Returns true for a failed request whose asynchronous event comes first. */
static bool is_preceded(const struct late *one)
{
	return atomic_load(&twist.fatal_first) && one->wc.status != IBV_WC_SUCCESS && one->wc.status != IBV_WC_WR_FLUSH_ERR &&
	       !one->found && !twist_has_ended(one->wc.qp_num);
}

/* For `fails`: the completion of a request gets that status. */
static void fail(struct ibv_wc *wc)
{
	int fails = wc->opcode & IBV_WC_RECV ? 0 : atomic_exchange(&twist.fails, 0);

	if (fails)
		wc->status = (enum ibv_wc_status)fails;
}

static bool is_due(const struct late *one)
{
	return !is_held(one) && !is_preceded(one) && (!lateness(&one->wc) || one->due_ms <= twist_now_ms());
}

/* Returns true if one of the first `n` completions is of the same queue pair, and so has to be found before this one. */
static bool is_behind_locked(const struct late *one, unsigned int n)
{
	for (unsigned int i = 0; i < n && atomic_load(&twist.fatal_first); i++)
		if (late.one[i].cq == one->cq && late.one[i].wc.qp_num == one->wc.qp_num)
			return true;
	return false;
}

static int late_take_locked(const struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	unsigned int left = 0;
	int got = 0;

	for (unsigned int i = 0; i < late.count; i++)
		if (late.one[i].cq == cq && got < n && is_due(&late.one[i]) && !is_behind_locked(&late.one[i], left))
			wc[got++] = late.one[i].wc;
		else
			late.one[left++] = late.one[i];
	for (unsigned int i = 0; i < left; i++)
		late.one[i].found |= late.one[i].cq == cq;
	late.count = left;
	return got;
}

static int poll_late(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	bool some = atomic_load(&twist.late_ms) || atomic_load(&twist.flush_late_ms) ||
		    atomic_load(&twist.flush) == TWIST_FLUSH_BY_ASYNC || atomic_load(&twist.fatal_first);
	int got = 0;

	pthread_mutex_lock(&late.lock);
	while (some && late.count < LATE && poll_real(cq, 1, &late.one[late.count].wc) > 0) {
		struct late *one = &late.one[late.count++];
		bool preceded;

		one->cq = cq;
		one->due_ms = twist_now_ms() + (uint64_t)lateness(&one->wc);
		one->looks = atomic_load(&looks);
		one->found = false;
		fail(&one->wc);
		/* Asked before the event, because the provider ends the queue pair as soon as it hears of that. */
		preceded = is_preceded(one);
		atomic_fetch_add(&twist.fatal_told, preceded);
		if (is_held(one) || preceded)
			twist_tell(one->wc.qp_num, IBV_EVENT_QP_FATAL);
	}
	if (late.count)
		got = late_take_locked(cq, n, wc);
	pthread_mutex_unlock(&late.lock);
	return got || some ? got : poll_real(cq, n, wc);
}

/* Polls, and drops completions of destroyed queue pairs if the device cleans its queues. Returns how many are left. */
static int poll_living(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got, left;

	do {
		got = poll_late(cq, n, wc);
		left = 0;
		for (int i = 0; i < got; i++) {
			bool dead = is_gone(wc[i].qp_num);

			atomic_fetch_add(&twist.trapped, dead);
			if (dead && atomic_load(&twist.dead_fatal))
				twist_trap("a completion of a queue pair is found that has been destroyed");
			if (!twist_has_made(cq, &wc[i]) && (!dead || !atomic_load(&twist.cleans)))
				wc[left++] = wc[i];
		}
	} while (got > 0 && !left);
	return got < 0 ? got : left;
}

static bool is_lost(const struct ibv_wc *wc)
{
	if (twist_flush_is_lost(wc))
		return true;
	return wc->status == IBV_WC_WR_FLUSH_ERR && atomic_load(&twist.loses) > 0 &&
	       atomic_fetch_sub(&twist.loses, 1) > 0;
}

/* Polls, and drops the completions that are lost. Returns how many are left. */
static int poll_losing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got, left;

	do {
		got = poll_living(cq, n, wc);
		left = 0;
		for (int i = 0; i < got; i++)
			if (!is_lost(&wc[i]))
				wc[left++] = wc[i];
	} while (got > 0 && !left);
	return got < 0 ? got : left;
}

static bool is_read(const struct ibv_send_wr *wr)
{
	/* a read that the provider splits completes only with its last piece */
	return wr->opcode == IBV_WR_RDMA_READ && (wr->send_flags & IBV_SEND_SIGNALED);
}

static int poll_failing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got;

	if (twist_is_reset(cq->context))
		return 0;
	got = twist_poll_made(cq, n, wc);
	if (!got)
		got = poll_losing(cq, n, wc);
	for (int i = 0; i < got; i++) {
		if (wc[i].status == IBV_WC_SUCCESS && wc[i].opcode == IBV_WC_RDMA_READ)
			atomic_fetch_sub(&twist.reading, 1);
		fail(&wc[i]);
	}
	return got;
}

static int (*post_real)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);

static bool has_rkey(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_READ;
}

/* Posts with the device's own keys. */
static int post_device(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int rc;

	for (struct ibv_send_wr *one = wr; one; one = one->next)
		twist_keys_replace(one->sg_list, one->num_sge, has_rkey(one) ? &one->wr.rdma.rkey : NULL);
	rc = post_real(qp, wr, bad);
	twist_keys_restore();
	return rc;
}

/* Posts the first `takes` requests of a chain that has more. */
static int post_some(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *last = wr, *rest;
	int rc;

	while (--twist_here.takes)
		last = last->next;
	rest = last->next;
	last->next = NULL;
	rc = post_device(qp, wr, bad);
	last->next = rest;
	if (rc)
		return rc;
	*bad = rest;
	return twist_here.says;
}

/* Returns the error of the next post if the driver is to refuse it, or 0 if it takes the post. `qp` is NULL for an SRQ. */
static int refusal(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int says = twist_here.refuses;

	twist_here.refuses = 0;
	if (qp && twist_here.dies) {
		twist_here.dies = false;
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	}
	if (says || !qp || !atomic_load(&twist.dead_post) || !twist_is_dead(qp))
		return says == ENOMEM ? twist_says(says) : says;
	atomic_fetch_add(&twist.dead_refused, 1);
	return twist_says(atomic_load(&twist.dead_post));
}

/*
 * Checks the first entry of a list of no segments, which irdma and erdma read all the same. For an RDMA Read, erdma does so even if
 * the list is NULL.
 */
static void look_at_first(const struct ibv_sge *list, int n, bool read)
{
	if (n || !(list ? list->length || list->addr : read))
		return;
	atomic_fetch_add(&twist.first_segments, 1);
	if (atomic_load(&twist.first_fatal))
		twist_trap("the first segment of an empty list is not empty");
}

static int (*recv_real)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
static int (*shared_real)(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);

/* Posts receives with the device's own keys; `srq` or `qp` is NULL. */
static int receive(struct ibv_qp *qp, struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int rc;

	for (struct ibv_recv_wr *one = wr; one; one = one->next)
		twist_keys_replace(one->sg_list, one->num_sge, NULL);
	rc = qp ? recv_real(qp, wr, bad) : shared_real(srq, wr, bad);
	twist_keys_restore();
	return rc;
}

static int recv_twisted(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int says = refusal(qp);

	if (twist_is_reset(qp->context))
		return 0;
	look_at_first(wr->sg_list, wr->num_sge, false);
	twist_posts_receives(wr);
	*bad = wr;
	return says ? says : twist_says(receive(qp, NULL, wr, bad));
}

static int shared_twisted(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int says = refusal(NULL);

	if (twist_is_reset(srq->context))
		return 0;
	look_at_first(wr->sg_list, wr->num_sge, false);
	*bad = wr;
	return says ? says : twist_says(receive(NULL, srq, wr, bad));
}

static int (*bind_real)(struct ibv_qp *, struct ibv_mw *, struct ibv_mw_bind *);

static int bind_twisted(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_mr *shown = bind->bind_info.mr, own;
	int rc;

	if (atomic_load(&twist.no_bind))
		return EOPNOTSUPP;
	if (shown) {
		own = *shown;
		own.lkey = twist_key_real(shown->lkey);
		own.rkey = twist_key_real(shown->rkey);
		bind->bind_info.mr = &own;
	}
	mw->rkey = twist_key_real(mw->rkey);
	rc = bind_real(qp, mw, bind);
	mw->rkey = twist_key_shown(mw->rkey);
	bind->bind_info.mr = shown;
	return rc;
}

static int (*arm_real)(struct ibv_cq *, int);

static int arm_twisted(struct ibv_cq *cq, int solicited)
{
	if (solicited && atomic_load(&twist.no_solicited))
		return EOPNOTSUPP;
	twist_armed(cq);
	return arm_real(cq, solicited);
}

/* Returns true if the device ignores the fence of the request: cxgb4 waits at that of a send only. */
static bool is_unfenced(const struct ibv_send_wr *wr)
{
	if (!(wr->send_flags & IBV_SEND_FENCE))
		return false;
	return (wr->opcode == IBV_WR_RDMA_WRITE && atomic_load(&twist.unfenced)) ||
	       (wr->opcode == IBV_WR_RDMA_READ && atomic_load(&twist.unfenced_reads));
}

/* Posts a request without its fence. A read is among those that `reading` counts. */
static int post_unfenced(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr bare = *wr;
	int rc;

	bare.send_flags &= ~(unsigned int)IBV_SEND_FENCE;
	atomic_fetch_add(&twist.overtaken, atomic_load(&twist.reading) > (wr->opcode == IBV_WR_RDMA_READ));
	rc = post_device(qp, &bare, bad);
	*bad = wr;
	return rc;
}

enum { MOST_REQUESTS = 64 };

/* Posts a chain without its flags for inline data, as if the driver ignored them, and then sets the flags again. */
static int post_uncopied(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint64_t inlined = 0;
	int rc, at = 0;

	for (struct ibv_send_wr *one = wr; one && at < MOST_REQUESTS; one = one->next, at++) {
		inlined |= (uint64_t)!!(one->send_flags & IBV_SEND_INLINE) << at;
		one->send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	}
	rc = post_device(qp, wr, bad);
	at = 0;
	for (struct ibv_send_wr *one = wr; one && at < MOST_REQUESTS; one = one->next, at++)
		if (inlined >> at & 1)
			one->send_flags |= IBV_SEND_INLINE;
	atomic_fetch_add(&twist.uncopied, inlined != 0);
	return rc;
}

enum { SMALL_MTU = 256 };

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	int (*real)(struct rdma_cm_id *, struct ibv_qp_attr *, int *);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_init_qp_attr");
	rc = real(id, attr, mask);
	if (!rc && (*mask & IBV_QP_AV)) {
		atomic_store(&twist.traffic, attr->ah_attr.grh.traffic_class + 1);
		atomic_store(&twist.gid, attr->ah_attr.grh.sgid_index + 1);
	}
	if (!rc && (*mask & IBV_QP_PATH_MTU) && atomic_load(&twist.inline_mtu))
		attr->path_mtu = IBV_MTU_256;
	return rc;
}

/*
 * Returns true if the device would refuse the request, because it is to inline more than the MTU of the path (hns), or more than
 * the queue pair was created for.
 */
static bool inlines_too_much(const struct ibv_send_wr *wr)
{
	int told = atomic_load(&twist.inlines_told);
	uint32_t bytes = 0;

	if (!(wr->send_flags & IBV_SEND_INLINE))
		return false;
	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return (atomic_load(&twist.inline_mtu) && bytes > SMALL_MTU) || (told && bytes > (uint32_t)told - 1);
}

/* Posts as those switches say that concern a single post. */
static int post_changed(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (is_unfenced(wr))
		return post_unfenced(qp, wr, bad);
	if (twist_here.takes && twist_here.takes < twist_here.chain)
		return post_some(qp, wr, bad);
	if (atomic_load(&twist.no_inline_copy))
		return post_uncopied(qp, wr, bad);
	return post_device(qp, wr, bad);
}

static int post_counting(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int says = inlines_too_much(wr) ? EINVAL : refusal(qp);

	if (twist_is_reset(qp->context))
		return 0;
	if (says) {
		*bad = wr;
		return says;
	}
	look_at_first(wr->sg_list, wr->num_sge, wr->opcode == IBV_WR_RDMA_READ);
	if (atomic_load(&twist.comm_est) && atomic_exchange(&unheard, false))
		twist_tell(atomic_load(&answered)->qp_num, IBV_EVENT_COMM_EST);
	twist_posts_requests(qp, wr);
	twist_here.chain = 0;
	for (const struct ibv_send_wr *one = wr; one; one = one->next) {
		twist_here.chain++;
		atomic_fetch_add(&twist.reading, is_read(one));
	}
	return twist_says(atomic_load(&twist.held_ms) ? twist_post_held(qp, wr, bad, post_changed) :
							post_changed(qp, wr, bad));
}

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int entries, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *(*real)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int), *cq;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_cq");
	if (!twist_means(verbs))
		return real(verbs, entries, context, channel, vector);
	if (verbs->ops.poll_cq != poll_failing) {
		poll_real = verbs->ops.poll_cq;
		verbs->ops.poll_cq = poll_failing;
		post_real = verbs->ops.post_send;
		verbs->ops.post_send = post_counting;
		recv_real = verbs->ops.post_recv;
		verbs->ops.post_recv = recv_twisted;
		shared_real = verbs->ops.post_srq_recv;
		verbs->ops.post_srq_recv = shared_twisted;
		bind_real = verbs->ops.bind_mw;
		verbs->ops.bind_mw = bind_twisted;
		arm_real = verbs->ops.req_notify_cq;
		verbs->ops.req_notify_cq = arm_twisted;
	}
	if (atomic_load(&twist.entries) && entries > atomic_load(&twist.entries)) {
		errno = ENOMEM;
		return NULL;
	}
	twist_bare_begin(verbs, channel);
	cq = real(verbs, entries, context, channel, vector);
	twist_bare_end(verbs, channel);
	return cq;
}

/*
 * IBV_EVENT_QP_LAST_WQE_REACHED says that all completions of a queue pair can be polled. While completions are late that is not
 * true, so this drops the event, which rxe has since Linux 6.12; and if that event is made up it comes once.
 */
static int real_event(struct ibv_context *verbs, struct ibv_async_event *event)
{
	int rc = twist_real_event(verbs, event);

	if (rc || event->event_type != IBV_EVENT_QP_LAST_WQE_REACHED ||
	    (!atomic_load(&twist.late_ms) && !atomic_load(&twist.last_wqe)))
		return rc;
	ibv_ack_async_event(event);
	errno = EAGAIN;
	return -1;
}

static bool is_of_a_queue_pair(int type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_COMM_EST;
}

/* An event that `tells` makes is about no object, or about a queue pair. verbs does not count it as unacknowledged. */
int ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *event)
{
	int tells = atomic_exchange(&twist.tells, 0);

	atomic_fetch_add(&looks, 1);
	if (!tells)
		return twist_told(verbs, event) ? 0 : real_event(verbs, event);
	*event = (struct ibv_async_event){ .event_type = (enum ibv_event_type)(tells - 1) };
	if (is_of_a_queue_pair(tells - 1))
		event->element.qp = atomic_load(&answered);
	atomic_store(&invented, event);
	if (atomic_exchange(&twist.told_late, false)) {
		atomic_store(&told_of, event->element.qp);
		sem_post(&twist.reached);
		sem_wait(&twist.open);
	}
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_async_event *ours = event;
	void (*real)(struct ibv_async_event *);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_ack_async_event");
	if (!twist_ack(event) && !atomic_compare_exchange_strong(&invented, &ours, NULL))
		real(event);
}
