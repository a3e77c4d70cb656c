/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loopback transport's connections, which the service threads establish and end. Invariant: a
 * link exists as long as an endpoint, a CR or a job of it does.
 */
#include <stdlib.h>
#include <string.h>

#include "core_loopback_priv.h"

static struct lo_sp *sps;	/* lo_wire */
static uint64_t next_port = 1;	/* lo_wire */

struct job {
	enum job_kind kind;
	struct link *link;
	int side;
	DAT_EVENT_NUMBER why;
	uint64_t qual;
	uint32_t pdata_len;
	unsigned char pdata[256];
};

void lo_link_put_locked(struct link *link)
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
 * Delivers a request to the service point that listens. The active endpoint cannot be freed
 * meanwhile, because its upcalls are counted.
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

	pthread_mutex_lock(&lo_wire);
	for (sp = sps; sp && sp->base.qual != job->qual;)
		sp = sp->next;
	if (sp) {
		sp->upcalls++;
		job->link->refs++;	/* the CR's */
	}
	pthread_mutex_unlock(&lo_wire);
	if (sp) {
		err = datp_cm_request(&sp->base, &arrival, &cr);
		pthread_mutex_lock(&lo_wire);
		if (err)
			lo_link_put_locked(job->link);
		sp->upcalls--;
		pthread_cond_broadcast(&lo_idle);
		pthread_mutex_unlock(&lo_wire);
	}
	if (err)
		datp_cm_failed(&from->base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void run_job(void *arg)
{
	struct job *job = arg;
	struct lo_ep *ep;

	pthread_mutex_lock(&lo_wire);
	ep = job->link->ep[job->side];
	if (ep)
		ep->upcalls++;
	pthread_mutex_unlock(&lo_wire);
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
			lo_pump(ep);
			pthread_mutex_lock(&lo_wire);
			ep->over = true;
			pthread_mutex_unlock(&lo_wire);
			if (ep->base.recv_evd)
				datp_unlock(&ep->base.recv_evd->poll_lock);
			datp_cm_disconnected(&ep->base, job->why);
		}
	}
	pthread_mutex_lock(&lo_wire);
	if (ep) {
		ep->upcalls--;
		pthread_cond_broadcast(&lo_idle);
	}
	lo_link_put_locked(job->link);
	pthread_mutex_unlock(&lo_wire);
	free(job);
}

struct job *lo_job_post_locked(enum job_kind kind, struct link *link, int side,
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

/* ------------------------------------------------------------------ connections */

static enum datp_err lo_sp_listen(struct datp_sp *sp)
{
	struct lo_sp *lo = (struct lo_sp *)sp, *at;

	pthread_mutex_lock(&lo_wire);
	for (at = sps; at && at->base.qual != sp->qual;)
		at = at->next;
	if (!at) {
		lo->next = sps;
		sps = lo;
		null_ops.sp_listen(sp);
	}
	pthread_mutex_unlock(&lo_wire);
	return at ? DATP_ERR_QUAL_IN_USE : DATP_OK;
}

static void lo_sp_close(struct datp_sp *sp)
{
	struct lo_sp **at = &sps;

	pthread_mutex_lock(&lo_wire);
	while (*at != (struct lo_sp *)sp)
		at = &(*at)->next;
	*at = (*at)->next;
	while (((struct lo_sp *)sp)->upcalls)
		pthread_cond_wait(&lo_idle, &lo_wire);
	null_ops.sp_close(sp);
	pthread_mutex_unlock(&lo_wire);
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
	pthread_mutex_lock(&lo_wire);
	lo->link = calloc(1, sizeof(*lo->link));
	lo->link->refs = 1;
	lo->link->ep[0] = lo;
	lo->side = 0;
	ep->local_port = next_port++;
	if (!loopback.drop_requests)
		lo_job_post_locked(JOB_REQUEST, lo->link, 0, 0, param->pdata, param->pdata_len,
				   param->qual);
	pthread_mutex_unlock(&lo_wire);
	if (loopback.in_connect)
		loopback.in_connect(ep);
	return DATP_OK;
}

static enum datp_err lo_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
				  uint32_t len)
{
	struct link *link = ((struct lo_cr *)cr)->link;
	struct lo_ep *lo = (struct lo_ep *)ep;
	enum datp_err err = answer_once(&loopback.accept_answer);

	if (loopback.in_accept)
		loopback.in_accept(cr);
	if (err)
		return err;
	pthread_mutex_lock(&lo_wire);
	lo->link = link;
	lo->side = 1;
	link->refs++;
	link->ep[1] = lo;
	ep->local_port = next_port++;
	if (link->dead) {
		lo_job_post_locked(JOB_FAILED, link, 1,
				   DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, NULL, 0, 0);
	} else {
		link->up = true;
		link->ep[0]->base.remote_port = ep->local_port;
		lo_job_post_locked(JOB_ESTABLISHED, link, 0, 0, pdata, len, 0);
		lo_job_post_locked(JOB_ESTABLISHED, link, 1, 0, NULL, 0, 0);
	}
	pthread_mutex_unlock(&lo_wire);
	return DATP_OK;
}

static void lo_cr_reject(struct datp_cr *cr)
{
	struct link *link = ((struct lo_cr *)cr)->link;

	pthread_mutex_lock(&lo_wire);
	loopback.rejects++;
	lo_job_post_locked(JOB_FAILED, link, 0, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL, 0, 0);
	pthread_mutex_unlock(&lo_wire);
}

static void lo_cr_free(struct datp_cr *cr)
{
	pthread_mutex_lock(&lo_wire);
	lo_link_put_locked(((struct lo_cr *)cr)->link);
	loopback.crs--;
	pthread_mutex_unlock(&lo_wire);
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
		lo_pump(lo);
	}
	pthread_mutex_lock(&lo_wire);
	lo->link->dead = true;
	lo_job_post_locked(JOB_OVER, lo->link, !lo->side, DAT_CONNECTION_EVENT_DISCONNECTED, NULL,
			   0, 0);
	if (graceful)
		lo_job_post_locked(JOB_OVER, lo->link, lo->side, DAT_CONNECTION_EVENT_DISCONNECTED,
				   NULL, 0, 0);
	else
		lo->over = true;
	pthread_mutex_unlock(&lo_wire);
	if (!graceful && ep->recv_evd)
		datp_unlock(&ep->recv_evd->poll_lock);
}

void loopback_break(DAT_EP_HANDLE handle)
{
	struct lo_ep *ep = handle;

	pthread_mutex_lock(&lo_wire);
	if (ep->link) {
		ep->link->dead = true;
		lo_job_post_locked(JOB_OVER, ep->link, 0, DAT_CONNECTION_EVENT_BROKEN, NULL, 0, 0);
		lo_job_post_locked(JOB_OVER, ep->link, 1, DAT_CONNECTION_EVENT_BROKEN, NULL, 0, 0);
	}
	pthread_mutex_unlock(&lo_wire);
}

void lo_cm_ops(struct datp_ops *ops)
{
	ops->sp_listen = lo_sp_listen;
	ops->sp_close = lo_sp_close;
	ops->ep_connect = lo_ep_connect;
	ops->cr_accept = lo_cr_accept;
	ops->cr_reject = lo_cr_reject;
	ops->cr_free = lo_cr_free;
	ops->cr_move = lo_cr_move;
	ops->ep_disconnect = lo_ep_disconnect;
}
