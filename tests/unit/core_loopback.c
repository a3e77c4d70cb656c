/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loopback transport: its queues, its endpoints, and the plugin. Invariant: the list holds
 * exactly the endpoints that libdatp has.
 */
#include <stdlib.h>
#include <string.h>

#include "core_loopback_priv.h"

struct loopback_knobs loopback;

pthread_mutex_t lo_wire = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t lo_idle = PTHREAD_COND_INITIALIZER;
struct lo_ep *lo_eps;

/* ------------------------------------------------------------------ queues */

void lo_put(struct queue *queue, struct item *item)
{
	if (!queue->first)
		queue->last = &queue->first;
	item->next = NULL;
	*queue->last = item;
	queue->last = &item->next;
}

struct item *lo_take(struct queue *queue)
{
	struct item *item = queue->first;

	if (item)
		queue->first = item->next;
	return item;
}

struct lo_recv *lo_recv_make(struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	struct lo_recv *recv = calloc(1, sizeof(*recv));

	recv->wqe = wqe;
	recv->n = n;
	if (n)
		memcpy(recv->iov, iov, (size_t)n * sizeof(*iov));
	return recv;
}

void lo_recv_put(struct lo_recvs *recvs, struct lo_recv *recv)
{
	if (!recvs->first)
		recvs->last = &recvs->first;
	*recvs->last = recv;
	recvs->last = &recv->next;
}

struct lo_recv *lo_recv_take(struct lo_recvs *recvs)
{
	struct lo_recv *recv = recvs->first;

	if (recv)
		recvs->first = recv->next;
	return recv;
}

void lo_queues_empty(struct queue *queue, struct lo_recvs *recvs)
{
	struct lo_recv *recv;
	struct item *item;

	while ((item = lo_take(queue)))
		free(item);
	while (recvs && (recv = lo_recv_take(recvs)))
		free(recv);
}

/* ------------------------------------------------------------------ endpoints */

static enum datp_err lo_ep_create(struct datp_ep *ep)
{
	struct lo_ep *lo = (struct lo_ep *)ep;

	pthread_mutex_lock(&lo_wire);
	lo->next = lo_eps;
	lo_eps = lo;
	pthread_mutex_unlock(&lo_wire);
	return null_ops.ep_create(ep);
}

/* Drops the completions of an endpoint, which will not be polled any more. */
static void forget_done_locked(struct lo_ep *ep)
{
	struct lo_evd *evd = (struct lo_evd *)ep->base.request_evd;
	struct queue kept = { 0 };
	struct item *item;

	if (!evd)
		return;
	while ((item = lo_take(&evd->done))) {
		if (item->wqe->ep == &ep->base)
			free(item);
		else
			lo_put(&kept, item);
	}
	while ((item = lo_take(&kept)))
		lo_put(&evd->done, item);
}

static void unlink_locked(struct lo_ep *ep)
{
	struct link *link = ep->link;

	if (!link)
		return;
	link->dead = true;
	lo_job_post_locked(JOB_OVER, link, !ep->side, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, 0,
			   0);
	link->ep[ep->side] = NULL;
	while (ep->upcalls)
		pthread_cond_wait(&lo_idle, &lo_wire);
	ep->link = NULL;
	lo_link_put_locked(link);
}

static void forget_locked(struct lo_ep *ep)
{
	unlink_locked(ep);
	forget_done_locked(ep);
	lo_queues_empty(&ep->inbox, &ep->recvs);
	ep->over = false;
}

static enum datp_err lo_ep_reset(struct datp_ep *ep)
{
	pthread_mutex_lock(&lo_wire);
	forget_locked((struct lo_ep *)ep);
	pthread_mutex_unlock(&lo_wire);
	return DATP_OK;
}

static void lo_ep_free(struct datp_ep *ep)
{
	struct lo_ep **at = &lo_eps;

	/* a poll that uses the endpoint has to end first */
	if (ep->recv_evd)
		datp_lock(&ep->recv_evd->poll_lock);
	pthread_mutex_lock(&lo_wire);
	while (*at != (struct lo_ep *)ep)
		at = &(*at)->next;
	*at = (*at)->next;
	pthread_mutex_unlock(&lo_wire);
	if (ep->recv_evd)
		datp_unlock(&ep->recv_evd->poll_lock);
	pthread_mutex_lock(&lo_wire);
	forget_locked((struct lo_ep *)ep);
	pthread_mutex_unlock(&lo_wire);
	null_ops.ep_free(ep);
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

uint32_t loopback_traits;

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
	loop_ops.traits = loopback_traits;
	loop_ops.evd_size = sizeof(struct lo_evd);
	loop_ops.ep_size = sizeof(struct lo_ep);
	loop_ops.sp_size = sizeof(struct lo_sp);
	loop_ops.cr_size = sizeof(struct lo_cr);
	loop_ops.srq_size = sizeof(struct lo_srq);
	loop_ops.ia_query = lo_ia_query;
	loop_ops.ep_create = lo_ep_create;
	loop_ops.ep_reset = lo_ep_reset;
	loop_ops.ep_free = lo_ep_free;
	lo_evd_ops(&loop_ops);
	lo_data_ops(&loop_ops);
	lo_cm_ops(&loop_ops);
	memset(&loopback, 0, sizeof(loopback));
	datp_plugin_init(&loop_plugin, &loop_info, "");
	return null_registry.table;
}

void loopback_unload(void)
{
	datp_plugin_fini(&loop_plugin, &loop_info);
}
