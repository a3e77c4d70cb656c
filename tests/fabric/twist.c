/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands before functions of libibverbs, librdmacm and the C library in the whole process, and does what they
 * do. Invariant: with all switches as they are at the start nothing is different but that it is counted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "twist.h"

enum { STALE_CONNECTION = 10 }; /* the reason in a rejection by the connection manager of InfiniBand */

struct twist twist;
__thread struct twist_here twist_here;

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_modify_qp");
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR) {
		void (*call)(void) = atomic_exchange(&twist.at_halt, NULL);

		if (call)
			call();
	}
	if (mask & IBV_QP_MIN_RNR_TIMER) {
		atomic_fetch_add(&twist.timers, 1);
		if (attr->min_rnr_timer == 0)
			atomic_fetch_add(&twist.idle_timers, 1);
	}
	return real(qp, attr, mask);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int (*real)(struct rdma_event_channel *, struct rdma_cm_event **);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_get_cm_event");
	if (atomic_exchange(&twist.shut, false))
		sem_wait(&twist.gate);
	ret = real(channel, event);
	if (!ret && (*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		atomic_store(&twist.shut, atomic_exchange(&twist.shuts, false));
	if (!ret && atomic_load(&twist.twisted) && (*event)->event == RDMA_CM_EVENT_DISCONNECTED) {
		(*event)->event = RDMA_CM_EVENT_UNREACHABLE;
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
	return real(id, from, to, ms);
}

static void cut_off(void *arg)
{
	struct timespec now;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &now);
	atomic_store(&twist.cut_off_ms,
		     (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
	sem_post(&twist.open);
}

/* A frame that is left by a cancellation is still there to the address sanitizer. */
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
	return real(id, param);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *, struct rdma_conn_param *);

	*(void **)&real = dlsym(RTLD_NEXT, "rdma_accept");
	atomic_fetch_add(&twist.accepts, 1);
	return real(id, param);
}

/* The C library's own does the rest: a thread that connects has to be cancelled in it. */
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

static int (*poll_real)(struct ibv_cq *, int, struct ibv_wc *);

static int poll_failing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = poll_real(cq, n, wc);

	for (int i = 0; i < got; i++)
		if (!(wc[i].opcode & IBV_WC_RECV) && atomic_exchange(&twist.fails, false))
			wc[i].status = IBV_WC_LOC_QP_OP_ERR;
	return got;
}

static int (*post_real)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);

/* The first `takes` of a chain, which has more. */
static int post_some(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *last = wr, *rest;
	int rc;

	while (--twist_here.takes)
		last = last->next;
	rest = last->next;
	last->next = NULL;
	rc = post_real(qp, wr, bad);
	last->next = rest;
	if (rc)
		return rc;
	*bad = rest;
	return twist_here.says;
}

/* The next post is not for the device. Returns what its driver says, 0: it takes the post. */
static int refusal(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int says = twist_here.refuses ? twist_here.refuses : twist_here.dies;

	if (qp && twist_here.dies)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	twist_here.refuses = twist_here.dies = 0;
	return says;
}

/* As irdma and erdma do, whatever the number of segments; the latter reads through a NULL in a read, too. */
static void look_at_first(const struct ibv_sge *list, int n, bool read)
{
	if (!n && (list ? list->length || list->addr : read))
		atomic_fetch_add(&twist.first_segments, 1);
}

static int (*recv_real)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);

static int recv_twisted(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int says = refusal(qp);

	look_at_first(wr->sg_list, wr->num_sge, false);
	*bad = wr;
	return says ? says : recv_real(qp, wr, bad);
}

static int (*shared_real)(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);

static int shared_twisted(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int says = refusal(NULL);

	look_at_first(wr->sg_list, wr->num_sge, false);
	*bad = wr;
	return says ? says : shared_real(srq, wr, bad);
}

static int (*arm_real)(struct ibv_cq *, int);

static int arm_twisted(struct ibv_cq *cq, int solicited)
{
	return solicited && atomic_load(&twist.no_solicited) ? EOPNOTSUPP : arm_real(cq, solicited);
}

static int post_counting(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int says = refusal(qp);

	if (says) {
		*bad = wr;
		return says;
	}
	look_at_first(wr->sg_list, wr->num_sge, wr->opcode == IBV_WR_RDMA_READ);
	twist_here.chain = 0;
	for (const struct ibv_send_wr *one = wr; one; one = one->next)
		twist_here.chain++;
	if (twist_here.takes && twist_here.takes < twist_here.chain)
		return post_some(qp, wr, bad);
	return post_real(qp, wr, bad);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int entries, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *(*real)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_cq");
	if (verbs->ops.poll_cq != poll_failing) {
		poll_real = verbs->ops.poll_cq;
		verbs->ops.poll_cq = poll_failing;
		post_real = verbs->ops.post_send;
		verbs->ops.post_send = post_counting;
		recv_real = verbs->ops.post_recv;
		verbs->ops.post_recv = recv_twisted;
		shared_real = verbs->ops.post_srq_recv;
		verbs->ops.post_srq_recv = shared_twisted;
		arm_real = verbs->ops.req_notify_cq;
		verbs->ops.req_notify_cq = arm_twisted;
	}
	if (atomic_load(&twist.entries) && entries > atomic_load(&twist.entries)) {
		errno = ENOMEM;
		return NULL;
	}
	return real(verbs, entries, context, channel, vector);
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	int (*real)(struct ibv_context *, struct ibv_device_attr *);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_query_device");
	rc = real(verbs, attr);
	if (atomic_load(&twist.unknown)) {
		attr->vendor_id = 1;
		attr->max_mw = 1000;
	}
	if (atomic_load(&twist.reads))
		attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = atomic_load(&twist.reads);
	if (atomic_load(&twist.max_cqe))
		attr->max_cqe = atomic_load(&twist.max_cqe);
	if (atomic_load(&twist.places))
		attr->max_qp_wr = atomic_load(&twist.places);
	if (atomic_load(&twist.read_sge))
		attr->max_sge_rd = atomic_load(&twist.read_sge);
	return rc;
}

/* An event of our own is about no object, and is not counted. */
int ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *event)
{
	int (*real)(struct ibv_context *, struct ibv_async_event *);
	int tells = atomic_exchange(&twist.tells, 0);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_get_async_event");
	if (!tells)
		return real(verbs, event);
	*event = (struct ibv_async_event){ .event_type = (enum ibv_event_type)(tells - 1) };
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	void (*real)(struct ibv_async_event *);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_ack_async_event");
	if (event->element.qp)
		real(event);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");
	atomic_store(&twist.rights, access);
	return real(pd, addr, len, iova, access);
}
