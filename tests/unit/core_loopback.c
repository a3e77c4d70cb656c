/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core_loopback.h"

struct loopback_knobs loopback;

/* A message, or a completion, that waits to be polled. */
struct item {
	struct item *next;
	struct datp_wqe *wqe;		/* completion */
	uint8_t status;
	bool solicited;
	uint64_t len;
	unsigned char data[];
};

struct queue {
	struct item *first, **last;
};

/* A posted receive. */
struct taker {
	struct taker *next;
	struct datp_wqe *wqe;
	int n;
	struct datp_sge iov[8];
};

struct takers {
	struct taker *first, **last;
};

/* A connection, from the request on. */
struct link {
	struct lo_ep *ep[2];		/* the active one first; NULL: not yet, or gone */
	int refs;
	bool up, dead;
	uint32_t pdata_len;
	unsigned char pdata[256];
};

struct lo_ep {
	struct datp_ep base;
	struct lo_ep *next;
	struct link *link;
	int side, upcalls;
	bool over; /* libdatp was told, or told us: nothing completes any more */
	struct queue inbox;
	struct takers takers;
};

struct lo_evd {
	struct datp_evd base;
	struct queue done;
	enum datp_arm armed;
	int jobs;
};

struct lo_sp {
	struct datp_sp base;
	struct lo_sp *next;
	int upcalls;
};

struct lo_cr {
	struct datp_cr base;
	struct link *link;
};

struct lo_srq {
	struct datp_srq base;
	struct takers takers;		/* SRQ lock */
	int32_t count;
};

static pthread_mutex_t wire = PTHREAD_MUTEX_INITIALIZER; /* all of the above, and these lists */
static pthread_cond_t wire_idle = PTHREAD_COND_INITIALIZER;
static struct lo_ep *eps;
static struct lo_sp *sps;
static uint64_t next_port = 1;

/* ------------------------------------------------------------------ queues */

static void put(struct queue *queue, struct item *item)
{
	if (!queue->first)
		queue->last = &queue->first;
	item->next = NULL;
	*queue->last = item;
	queue->last = &item->next;
}

static struct item *take(struct queue *queue)
{
	struct item *item = queue->first;

	if (item)
		queue->first = item->next;
	return item;
}

static struct taker *taker_make(struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	struct taker *taker = calloc(1, sizeof(*taker));

	taker->wqe = wqe;
	taker->n = n;
	if (n)
		memcpy(taker->iov, iov, (size_t)n * sizeof(*iov));
	return taker;
}

static void taker_put(struct takers *takers, struct taker *taker)
{
	if (!takers->first)
		takers->last = &takers->first;
	*takers->last = taker;
	takers->last = &taker->next;
}

static struct taker *taker_take(struct takers *takers)
{
	struct taker *taker = takers->first;

	if (taker)
		takers->first = taker->next;
	return taker;
}

static void queues_empty(struct queue *queue, struct takers *takers)
{
	struct taker *taker;
	struct item *item;

	while ((item = take(queue)))
		free(item);
	while (takers && (taker = taker_take(takers)))
		free(taker);
}

/*
 * ------------------------------------------------------------------ jobs for the service threads
 */

enum job_kind { JOB_REQUEST, JOB_ESTABLISHED, JOB_FAILED, JOB_OVER };

struct job {
	enum job_kind kind;
	struct link *link;
	int side;
	DAT_EVENT_NUMBER why;
	uint64_t qual;
	uint32_t pdata_len;
	unsigned char pdata[256];
};

static void pump(struct lo_ep *ep);

static void link_put_locked(struct link *link)
{
	if (link && --link->refs == 0)
		free(link);
}

static void request_prepare(struct datp_cr *cr, void *arg)
{
	((struct lo_cr *)cr)->link = arg;
	loopback.crs++;
}

/*
 * The request arrives at whoever listens. The active endpoint cannot go meanwhile: its upcalls are
 * counted.
 */
static void request(struct job *job, struct lo_ep *from)
{
	struct datp_cm_arrival arrival = {
		.address = (const struct sockaddr *)&from->base.obj.ia->address,
		.remote_port = from->base.local_port,
		.pdata = job->pdata,
		.pdata_len = job->pdata_len,
		.attr = &from->base.attr,
		.prepare = request_prepare,
		.arg = job->link,
	};
	enum datp_err err = DATP_ERR_NOT_FOUND;
	struct datp_cr *cr;
	struct lo_sp *sp;

	pthread_mutex_lock(&wire);
	for (sp = sps; sp && sp->base.qual != job->qual;)
		sp = sp->next;
	if (sp) {
		sp->upcalls++;
		job->link->refs++;	/* the CR's */
	}
	pthread_mutex_unlock(&wire);
	if (sp) {
		err = datp_cm_request(&sp->base, &arrival, &cr);
		pthread_mutex_lock(&wire);
		if (err)
			link_put_locked(job->link);
		sp->upcalls--;
		pthread_cond_broadcast(&wire_idle);
		pthread_mutex_unlock(&wire);
	}
	if (err)
		datp_cm_failed(&from->base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void run_job(void *arg)
{
	struct job *job = arg;
	struct lo_ep *ep;

	pthread_mutex_lock(&wire);
	ep = job->link->ep[job->side];
	if (ep)
		ep->upcalls++;
	pthread_mutex_unlock(&wire);
	if (ep) {
		loopback.upcalls++;
		if (job->kind == JOB_REQUEST) {
			request(job, ep);
		} else if (job->kind == JOB_ESTABLISHED) {
			datp_cm_established(&ep->base, job->pdata, job->pdata_len);
		} else if (job->kind == JOB_FAILED) {
			datp_cm_failed(&ep->base, job->why);
		} else {
			if (ep->base.recv_evd)
				datp_lock(&ep->base.recv_evd->poll_lock);
			pump(ep);
			pthread_mutex_lock(&wire);
			ep->over = true;
			pthread_mutex_unlock(&wire);
			if (ep->base.recv_evd)
				datp_unlock(&ep->base.recv_evd->poll_lock);
			datp_cm_disconnected(&ep->base, job->why);
		}
	}
	pthread_mutex_lock(&wire);
	if (ep) {
		ep->upcalls--;
		pthread_cond_broadcast(&wire_idle);
	}
	link_put_locked(job->link);
	pthread_mutex_unlock(&wire);
	free(job);
}

/* Nothing, if that side is gone. */
static struct job *job_post_locked(enum job_kind kind, struct link *link, int side,
				   DAT_EVENT_NUMBER why, const void *pdata, uint32_t pdata_len,
				   uint64_t qual)
{
	struct job *job;

	if (!link->ep[side])
		return NULL;
	job = calloc(1, sizeof(*job));
	*job = (struct job){ .kind = kind, .link = link, .side = side, .why = why, .qual = qual };
	if (pdata_len)
		memcpy(job->pdata, pdata, pdata_len);
	job->pdata_len = pdata_len;
	link->refs++;
	datp_loop_call(link->ep[side]->base.obj.ia, run_job, job);
	return job;
}

/* ------------------------------------------------------------------ EVDs */

static enum datp_err lo_evd_create(struct datp_evd *evd, int32_t qlen)
{
	return null_ops.evd_create(evd, qlen);
}

static void lo_evd_free(struct datp_evd *evd)
{
	struct lo_evd *lo = (struct lo_evd *)evd;

	pthread_mutex_lock(&wire);
	while (lo->jobs)
		pthread_cond_wait(&wire_idle, &wire);
	queues_empty(&lo->done, NULL);
	pthread_mutex_unlock(&wire);
	null_ops.evd_free(evd);
}

static void run_notify(void *arg)
{
	struct lo_evd *evd = arg;

	datp_evd_notify(&evd->base);
	pthread_mutex_lock(&wire);
	evd->jobs--;
	pthread_cond_broadcast(&wire_idle);
	pthread_mutex_unlock(&wire);
}

/* There is something to poll. */
static void ring_locked(struct datp_evd *evd)
{
	struct lo_evd *lo = (struct lo_evd *)evd;

	if (!evd)
		return;
	if (lo->armed == DATP_ARM_CNO) {
		lo->jobs++;
		datp_loop_call(evd->obj.ia, run_notify, lo);
	} else if (lo->armed == DATP_ARM_WAITER) {
		atomic_fetch_add(evd->bell, 1);
		evd->obj.ia->ops->evd_wake(evd);
	}
	lo->armed = DATP_ARM_NONE;
}

/* Whether an endpoint of the EVD has a message and a place for it. */
static bool ready_locked(struct datp_evd *evd)
{
	if (((struct lo_evd *)evd)->done.first)
		return true;
	for (struct lo_ep *ep = eps; ep; ep = ep->next)
		if (ep->base.recv_evd == evd && !ep->over && ep->inbox.first)
			return true;
	return false;
}

static bool lo_evd_arm(struct datp_evd *evd, enum datp_arm arm, bool solicited_only)
{
	bool ready;

	(void)solicited_only;
	pthread_mutex_lock(&wire);
	((struct lo_evd *)evd)->armed = arm;
	ready = ((struct lo_evd *)evd)->done.first != NULL;
	for (struct lo_ep *ep = eps; ep && !ready; ep = ep->next)
		ready = ep->base.recv_evd == evd && !ep->over && ep->inbox.first &&
			ep->takers.first;
	pthread_mutex_unlock(&wire);
	return ready;
}

static bool lo_evd_pending(struct datp_evd *evd)
{
	bool ready;

	pthread_mutex_lock(&wire);
	ready = ready_locked(evd);
	pthread_mutex_unlock(&wire);
	return ready;
}

/* Copies a message to where it goes; the status of the receive. */
static uint8_t deliver(const struct item *item, const struct taker *taker)
{
	uint64_t at = 0;

	for (int i = 0; i < taker->n && at < item->len; i++) {
		uint64_t len =
			taker->iov[i].len < item->len - at ? taker->iov[i].len : item->len - at;

		memcpy((void *)(uintptr_t)taker->iov[i].addr, item->data + at, len);
		at += len;
	}
	return at < item->len ? DAT_DTO_ERR_LOCAL_LENGTH : DAT_DTO_SUCCESS;
}

static struct taker *taker_of(struct lo_ep *ep)
{
	struct lo_srq *srq = (struct lo_srq *)ep->base.srq;
	struct taker *taker;

	if (!srq) {
		pthread_mutex_lock(&wire);
		taker = taker_take(&ep->takers);
		pthread_mutex_unlock(&wire);
		return taker;
	}
	datp_lock(&srq->base.lock);
	taker = taker_take(&srq->takers);
	if (taker) {
		srq->count--;
		datp_srq_take(taker->wqe, &ep->base);
	}
	datp_unlock(&srq->base.lock);
	return taker;
}

/* The next message of an endpoint, if it has a receive for it. The poll lock of its EVD is held. */
static bool receive(struct lo_ep *ep, struct item **item, struct taker **taker)
{
	bool ready;

	pthread_mutex_lock(&wire);
	ready = ep->inbox.first && !ep->over;
	pthread_mutex_unlock(&wire);
	*taker = ready ? taker_of(ep) : NULL;
	if (!*taker)
		return false;
	pthread_mutex_lock(&wire);
	*item = take(&ep->inbox);
	pthread_mutex_unlock(&wire);
	return true;
}

static void pump(struct lo_ep *ep)
{
	struct taker *taker;
	struct item *item;

	while (receive(ep, &item, &taker)) {
		uint8_t status = deliver(item, taker);

		datp_lock(&ep->base.lock);
		datp_wqe_done(taker->wqe, status, item->len, item->solicited);
		datp_unlock(&ep->base.lock);
		free(item);
		free(taker);
	}
}

/* The n-th endpoint that receives by the EVD, kept from going by the poll lock. */
static struct lo_ep *ep_at(struct datp_evd *evd, int n)
{
	struct lo_ep *ep;

	pthread_mutex_lock(&wire);
	for (ep = eps; ep && (ep->base.recv_evd != evd || n--);)
		ep = ep->next;
	pthread_mutex_unlock(&wire);
	return ep;
}

static bool poll_done(struct lo_evd *evd, struct datp_completion *out)
{
	struct datp_ep *ep;
	struct item *item;

	for (;;) {
		pthread_mutex_lock(&wire);
		item = take(&evd->done);
		pthread_mutex_unlock(&wire);
		if (!item)
			return false;
		ep = item->wqe->ep;
		*out = (struct datp_completion){ .wqe = item->wqe,
						 .len = item->len,
						 .status = item->status };
		datp_lock(&ep->lock);
		if (!(item->wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG) || item->status) {
			datp_wqe_finish(item->wqe, item->status, item->len);
			datp_unlock(&ep->lock);
			free(item);
			return true;
		}
		datp_wqe_done(item->wqe, item->status, item->len, false);
		datp_unlock(&ep->lock);
		free(item);
	}
}

static int lo_evd_poll(struct datp_evd *evd, struct datp_completion *out, int max)
{
	struct lo_ep *ep;
	struct taker *taker;
	struct item *item;
	int n = 0;

	while (n < max && poll_done((struct lo_evd *)evd, &out[n]))
		n++;
	for (int i = 0; n < max && (ep = ep_at(evd, i)); i++) {
		while (n < max && receive(ep, &item, &taker)) {
			out[n] = (struct datp_completion){ .wqe = taker->wqe, .len = item->len,
							   .status = deliver(item, taker),
							   .solicited = item->solicited };
			datp_lock(&ep->base.lock);
			datp_wqe_finish(taker->wqe, out[n].status, item->len);
			datp_unlock(&ep->base.lock);
			free(item);
			free(taker);
			n++;
		}
	}
	if (n && loopback.in_poll)
		loopback.in_poll(evd);
	return n;
}

/* ------------------------------------------------------------------ endpoints */

static enum datp_err lo_ep_create(struct datp_ep *ep)
{
	struct lo_ep *lo = (struct lo_ep *)ep;

	pthread_mutex_lock(&wire);
	lo->next = eps;
	eps = lo;
	pthread_mutex_unlock(&wire);
	return null_ops.ep_create(ep);
}

/* The completions of an endpoint that nobody will poll any more. */
static void forget_done_locked(struct lo_ep *ep)
{
	struct lo_evd *evd = (struct lo_evd *)ep->base.request_evd;
	struct queue kept = { 0 };
	struct item *item;

	if (!evd)
		return;
	while ((item = take(&evd->done))) {
		if (item->wqe->ep == &ep->base)
			free(item);
		else
			put(&kept, item);
	}
	while ((item = take(&kept)))
		put(&evd->done, item);
}

static void unlink_locked(struct lo_ep *ep)
{
	struct link *link = ep->link;

	if (!link)
		return;
	link->dead = true;
	job_post_locked(JOB_OVER, link, !ep->side, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0, 0);
	link->ep[ep->side] = NULL;
	while (ep->upcalls)
		pthread_cond_wait(&wire_idle, &wire);
	ep->link = NULL;
	link_put_locked(link);
}

static void forget_locked(struct lo_ep *ep)
{
	unlink_locked(ep);
	forget_done_locked(ep);
	queues_empty(&ep->inbox, &ep->takers);
	ep->over = false;
}

static enum datp_err lo_ep_reset(struct datp_ep *ep)
{
	pthread_mutex_lock(&wire);
	forget_locked((struct lo_ep *)ep);
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static void lo_ep_free(struct datp_ep *ep)
{
	struct lo_ep **at = &eps;

	/* a poll that is looking at it has to end first */
	if (ep->recv_evd)
		datp_lock(&ep->recv_evd->poll_lock);
	pthread_mutex_lock(&wire);
	while (*at != (struct lo_ep *)ep)
		at = &(*at)->next;
	*at = (*at)->next;
	pthread_mutex_unlock(&wire);
	if (ep->recv_evd)
		datp_unlock(&ep->recv_evd->poll_lock);
	pthread_mutex_lock(&wire);
	forget_locked((struct lo_ep *)ep);
	pthread_mutex_unlock(&wire);
	null_ops.ep_free(ep);
}

/* ------------------------------------------------------------------ data */

static enum datp_err iov_check(struct datp_ia *ia, const struct datp_pz *pz,
			       const struct datp_sge *iov, int n, unsigned int need)
{
	for (int i = 0; i < n; i++) {
		struct datp_lmr *lmr = null_ops.lmr_find(ia, iov[i].lmr_context);

		if (!lmr || iov[i].addr < lmr->addr ||
		    iov[i].addr + iov[i].len > lmr->addr + lmr->len)
			return DATP_ERR_PARAM;
		if (lmr->pz != pz)
			return DATP_ERR_PROTECTION;
		if (need & ~(unsigned int)lmr->priv)
			return DATP_ERR_PRIV_WRITE;
	}
	return DATP_OK;
}

static enum datp_err lo_post_recv(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n)
{
	struct lo_ep *lo = (struct lo_ep *)ep;
	enum datp_err err = iov_check(ep->obj.ia, ep->pz, iov, n, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	if (err)
		return err;
	pthread_mutex_lock(&wire);
	if (!lo->over) {
		taker_put(&lo->takers, taker_make(wqe, iov, n));
		if (lo->inbox.first)
			ring_locked(ep->recv_evd);
	}
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static struct item *gather(const struct datp_sge *iov, int n, uint64_t len)
{
	struct item *item = calloc(1, sizeof(*item) + len);

	for (int i = 0; i < n; i++) {
		memcpy(item->data + item->len, (void *)(uintptr_t)iov[i].addr, iov[i].len);
		item->len += iov[i].len;
	}
	return item;
}

/* EP lock held, wire not. */
static void complete(struct datp_ep *ep, struct datp_wqe *wqe, uint8_t status)
{
	struct item *item;

	if (loopback.complete_in_post || !ep->request_evd) {
		datp_wqe_done(wqe, status, wqe->len, false);
		return;
	}
	item = calloc(1, sizeof(*item));
	item->wqe = wqe;
	item->status = status;
	item->len = wqe->len;
	pthread_mutex_lock(&wire);
	put(&((struct lo_evd *)ep->request_evd)->done, item);
	ring_locked(ep->request_evd);
	pthread_mutex_unlock(&wire);
}

static enum datp_err lo_post_send(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n)
{
	struct lo_ep *lo = (struct lo_ep *)ep, *peer;
	enum datp_err err = iov_check(ep->obj.ia, ep->pz, iov, n, 0);
	struct item *item;

	if (err)
		return err;
	item = gather(iov, n, wqe->len);
	item->solicited = wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	pthread_mutex_lock(&wire);
	if (lo->over || !lo->link || lo->link->dead) {
		pthread_mutex_unlock(&wire);
		free(item);
		return DATP_OK;	/* flushed by libdatp, soon */
	}
	peer = lo->link->ep[!lo->side];
	if (peer) {
		put(&peer->inbox, item);
		ring_locked(peer->base.recv_evd);
	} else {
		free(item);
	}
	pthread_mutex_unlock(&wire);
	complete(ep, wqe, DAT_DTO_SUCCESS);
	return DATP_OK;
}

/* RDMA: to and from memory of the peer's IA, under the wire lock. */
static enum datp_err rdma(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			  int n, const struct datp_rge *remote, bool write)
{
	struct lo_ep *lo = (struct lo_ep *)ep;
	unsigned int need = write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
	enum datp_err err = iov_check(ep->obj.ia, ep->pz, iov, n, 0);
	uint8_t status = DAT_DTO_ERR_REMOTE_ACCESS;
	uint64_t at = remote->addr;
	struct datp_lmr *lmr;

	if (err)
		return err;
	pthread_mutex_lock(&wire);
	if (lo->link && lo->link->ep[!lo->side]) {
		lmr = null_ops.lmr_find(lo->link->ep[!lo->side]->base.obj.ia,
					remote->rmr_context - 256);
		if (lmr && !(need & ~(unsigned int)lmr->priv) && at >= lmr->addr &&
		    at + wqe->len <= lmr->addr + lmr->len)
			status = DAT_DTO_SUCCESS;
	}
	for (int i = 0; status == DAT_DTO_SUCCESS && i < n; i++) {
		void *here = (void *)(uintptr_t)iov[i].addr, *there = (void *)(uintptr_t)at;

		memcpy(write ? there : here, write ? here : there, iov[i].len);
		at += iov[i].len;
	}
	pthread_mutex_unlock(&wire);
	complete(ep, wqe, status);
	if (status)
		loopback_break(ep);
	return DATP_OK;
}

static enum datp_err lo_post_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	return rdma(ep, wqe, iov, n, remote, true);
}

static enum datp_err lo_post_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote)
{
	return rdma(ep, wqe, iov, n, remote, false);
}

/* ------------------------------------------------------------------ SRQ */

static enum datp_err lo_srq_create(struct datp_srq *srq)
{
	(void)srq;
	return DATP_OK;
}

static void lo_srq_free(struct datp_srq *srq)
{
	struct queue none = { 0 };

	queues_empty(&none, &((struct lo_srq *)srq)->takers);
}

static enum datp_err lo_srq_resize(struct datp_srq *srq, int32_t max)
{
	(void)srq, (void)max;
	return DATP_OK;
}

static enum datp_err lo_srq_post_recv(struct datp_srq *srq, struct datp_wqe *wqe,
				      const struct datp_sge *iov, int n)
{
	enum datp_err err = iov_check(srq->obj.ia, srq->pz, iov, n, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

	if (err)
		return err;
	taker_put(&((struct lo_srq *)srq)->takers, taker_make(wqe, iov, n));
	((struct lo_srq *)srq)->count++;
	return DATP_OK;
}

static enum datp_err lo_srq_query(struct datp_srq *srq, int32_t *available)
{
	datp_lock(&srq->lock);
	*available = ((struct lo_srq *)srq)->count;
	datp_unlock(&srq->lock);
	return DATP_OK;
}

/* ------------------------------------------------------------------ connections */

static enum datp_err lo_sp_listen(struct datp_sp *sp)
{
	struct lo_sp *lo = (struct lo_sp *)sp, *at;

	pthread_mutex_lock(&wire);
	for (at = sps; at && at->base.qual != sp->qual;)
		at = at->next;
	if (!at) {
		lo->next = sps;
		sps = lo;
		null_ops.sp_listen(sp);
	}
	pthread_mutex_unlock(&wire);
	return at ? DATP_ERR_QUAL_IN_USE : DATP_OK;
}

static void lo_sp_close(struct datp_sp *sp)
{
	struct lo_sp **at = &sps;

	pthread_mutex_lock(&wire);
	while (*at != (struct lo_sp *)sp)
		at = &(*at)->next;
	*at = (*at)->next;
	while (((struct lo_sp *)sp)->upcalls)
		pthread_cond_wait(&wire_idle, &wire);
	null_ops.sp_close(sp);
	pthread_mutex_unlock(&wire);
}

static enum datp_err answer_once(enum datp_err *answer)
{
	enum datp_err err = *answer;

	*answer = DATP_OK;
	return err;
}

static enum datp_err lo_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param)
{
	struct lo_ep *lo = (struct lo_ep *)ep;
	enum datp_err err = answer_once(&loopback.connect_answer);

	if (err)
		return err;
	pthread_mutex_lock(&wire);
	lo->link = calloc(1, sizeof(*lo->link));
	lo->link->refs = 1;
	lo->link->ep[0] = lo;
	lo->side = 0;
	ep->local_port = next_port++;
	if (!loopback.drop_requests)
		job_post_locked(JOB_REQUEST, lo->link, 0, 0, param->pdata, param->pdata_len,
				param->qual);
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static enum datp_err lo_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
				  uint32_t len)
{
	struct link *link = ((struct lo_cr *)cr)->link;
	struct lo_ep *lo = (struct lo_ep *)ep;
	enum datp_err err = answer_once(&loopback.accept_answer);

	if (err)
		return err;
	pthread_mutex_lock(&wire);
	lo->link = link;
	lo->side = 1;
	link->refs++;
	link->ep[1] = lo;
	ep->local_port = next_port++;
	if (link->dead) {
		job_post_locked(JOB_FAILED, link, 1, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
				NULL, 0, 0);
	} else {
		link->up = true;
		link->ep[0]->base.remote_port = ep->local_port;
		job_post_locked(JOB_ESTABLISHED, link, 0, 0, pdata, len, 0);
		job_post_locked(JOB_ESTABLISHED, link, 1, 0, NULL, 0, 0);
	}
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static void lo_cr_reject(struct datp_cr *cr)
{
	struct link *link = ((struct lo_cr *)cr)->link;

	pthread_mutex_lock(&wire);
	loopback.rejects++;
	job_post_locked(JOB_FAILED, link, 0, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL, 0, 0);
	pthread_mutex_unlock(&wire);
}

static void lo_cr_free(struct datp_cr *cr)
{
	pthread_mutex_lock(&wire);
	link_put_locked(((struct lo_cr *)cr)->link);
	loopback.crs--;
	pthread_mutex_unlock(&wire);
}

static enum datp_err lo_cr_move(struct datp_cr *from, struct datp_cr *to)
{
	((struct lo_cr *)to)->link = ((struct lo_cr *)from)->link;
	return DATP_OK;
}

static void lo_ep_disconnect(struct datp_ep *ep, enum datp_close how)
{
	struct lo_ep *lo = (struct lo_ep *)ep;
	bool graceful = how == DATP_CLOSE_GRACEFUL;

	if (!graceful) {
		if (ep->recv_evd)
			datp_lock(&ep->recv_evd->poll_lock);
		pump(lo);
	}
	pthread_mutex_lock(&wire);
	lo->link->dead = true;
	job_post_locked(JOB_OVER, lo->link, !lo->side, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0,
			0);
	if (graceful)
		job_post_locked(JOB_OVER, lo->link, lo->side, DAT_CONNECTION_EVENT_DISCONNECTED,
				NULL, 0, 0);
	else
		lo->over = true;
	pthread_mutex_unlock(&wire);
	if (!graceful && ep->recv_evd)
		datp_unlock(&ep->recv_evd->poll_lock);
}

void loopback_break(DAT_EP_HANDLE handle)
{
	struct lo_ep *ep = handle;

	pthread_mutex_lock(&wire);
	if (ep->link) {
		ep->link->dead = true;
		job_post_locked(JOB_OVER, ep->link, 0, DAT_CONNECTION_EVENT_BROKEN, NULL, 0, 0);
		job_post_locked(JOB_OVER, ep->link, 1, DAT_CONNECTION_EVENT_BROKEN, NULL, 0, 0);
	}
	pthread_mutex_unlock(&wire);
}

/* ------------------------------------------------------------------ the plugin */

static void lo_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr)
{
	null_ops.ia_query(ia, attr);
	attr->max_srqs = 4;
	attr->max_ep_per_srq = 64;
	attr->max_recv_per_srq = 256;
	attr->srq_supported = attr->srq_info = attr->srq_watermarks = true;
}

static struct datp_ops loop_ops;

DATP_FAST_PATH(loop_ops)

static const DAT_PROVIDER_INFO loop_info = { "loop0", 1, 2, DAT_FALSE };

static const struct datp_plugin loop_plugin = {
	.name = "loop", .ops = &loop_ops, .ops_size = sizeof(loop_ops),
	.sdk_major = DATP_SDK_MAJOR, .sdk_minor = DATP_SDK_MINOR, .fast = DATP_FAST_INIT,
};

const DAT_PROVIDER *loopback_load(void)
{
	loop_ops = null_ops;
	loop_ops.evd_size = sizeof(struct lo_evd);
	loop_ops.ep_size = sizeof(struct lo_ep);
	loop_ops.sp_size = sizeof(struct lo_sp);
	loop_ops.cr_size = sizeof(struct lo_cr);
	loop_ops.srq_size = sizeof(struct lo_srq);
	loop_ops.ia_query = lo_ia_query;
	loop_ops.evd_create = lo_evd_create;
	loop_ops.evd_free = lo_evd_free;
	loop_ops.evd_poll = lo_evd_poll;
	loop_ops.evd_pending = lo_evd_pending;
	loop_ops.evd_arm = lo_evd_arm;
	loop_ops.srq_create = lo_srq_create;
	loop_ops.srq_free = lo_srq_free;
	loop_ops.srq_resize = lo_srq_resize;
	loop_ops.srq_post_recv = lo_srq_post_recv;
	loop_ops.srq_query = lo_srq_query;
	loop_ops.ep_create = lo_ep_create;
	loop_ops.ep_reset = lo_ep_reset;
	loop_ops.ep_free = lo_ep_free;
	loop_ops.post_send = lo_post_send;
	loop_ops.post_recv = lo_post_recv;
	loop_ops.post_rdma_write = lo_post_write;
	loop_ops.post_rdma_read = lo_post_read;
	loop_ops.sp_listen = lo_sp_listen;
	loop_ops.sp_close = lo_sp_close;
	loop_ops.ep_connect = lo_ep_connect;
	loop_ops.cr_accept = lo_cr_accept;
	loop_ops.cr_reject = lo_cr_reject;
	loop_ops.cr_free = lo_cr_free;
	loop_ops.cr_move = lo_cr_move;
	loop_ops.ep_disconnect = lo_ep_disconnect;
	memset(&loopback, 0, sizeof(loopback));
	datp_plugin_init(&loop_plugin, &loop_info, "");
	return null_registry.table;
}

void loopback_unload(void)
{
	datp_plugin_fini(&loop_plugin, &loop_info);
}
