/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small uDAPL provider to begin from, for a transport that pushes: it has a thread of its own, and calls back when a transfer is
 * done. Copy it, rename `my`, and replace the transport, wire.h, by your own. datp(7) explains each op, and the DUTY-nn below.
 *
 * How it works: a post puts a struct work into a queue of its endpoint. When the transport's thread has moved the data it calls
 * on_done(), which tells libdatp by datp_wqe_done(): that queues the event, wakes the threads that wait and triggers CNOs. So an
 * event queue (EVD) has no part of the plugin's, and evd_poll finds nothing.
 */
#define _DEFAULT_SOURCE 1 /* declares IFF_UP under -std=c11 */
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <datp/lmr_table.h>
#include <datp/provider.h>

/* A posted operation. This transport takes one segment at a time, and the attributes say so. */
struct work {
	STAILQ_ENTRY(work) next;
	struct datp_wqe *wqe;
	struct datp_sge local; /* copied, because the program's list is valid during the post only */
	struct datp_rge remote;
	uint64_t len;
};

/* The plugin's objects. libdatp's head comes first (DUTY-06), and libdatp zeroes the rest when it creates an object. */
struct my_ia {
	struct datp_ia base;
	struct datp_lmr_table lmrs; /* libdatp finds LMRs there, too */
	pthread_t thread;
	sem_t bell; /* posted when there may be something to do for the thread */
	_Atomic(bool) closing;
};

struct my_sp {
	struct datp_sp base;
	LIST_ENTRY(my_sp) next;
};

struct my_ep {
	struct datp_ep base;
	LIST_ENTRY(my_ep) next;
	struct my_ep *peer; /* while there is a connection */
	bool asking;	    /* its connection request has not been answered */
	bool draining;	    /* a graceful disconnect waits until `requests` is empty */
	STAILQ_HEAD(queue, work) requests, receives; /* the EP lock guards the queues, and the wire the rest */
};

/* ------------------------------------------------------------------ memory */

/* The table gives the contexts, and does not give one again for long, so that the use of a freed one is recognised. */
static enum datp_err my_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	(void)cookie;
	datp_lmr_add(&((struct my_ia *)lmr->obj.ia)->lmrs, (struct datp_known_lmr *)lmr);
	return DATP_OK;
}

/* Checks the local segment: at the post, and again when the data are moved, because the region may have been freed meanwhile. */
static enum datp_err check(const struct datp_ep *ep, const struct work *w)
{
	return datp_lmr_check_list(&((struct my_ia *)ep->obj.ia)->lmrs, ep->pz, &w->local, 1,
				   w->wqe->op == DATP_RECV || w->wqe->op == DATP_RDMA_READ);
}

/* ------------------------------------------------------------------ what the transport calls */

/*
 * Called when the first operation of a queue is done. The EP lock keeps this and a flush apart, and completions are in the order of
 * the queue (DUTY-10). If your transport calls back with a lock held that a post takes too, let a thread do this.
 */
static void on_done(struct queue *queue, uint8_t status, uint64_t len, bool solicited)
{
	struct work *w = STAILQ_FIRST(queue);

	STAILQ_REMOVE_HEAD(queue, next);
	datp_wqe_done(w->wqe, status, status ? 0 : len, solicited);
	free(w);
}

#include "wire.h"

/* When this returns, nobody accesses the memory (DUTY-08): the thread does not find the region any more, or has moved its data. */
static void my_lmr_free(struct datp_lmr *lmr)
{
	datp_lmr_remove(&((struct my_ia *)lmr->obj.ia)->lmrs, (struct datp_known_lmr *)lmr);
	wire_settle();
}

/* ------------------------------------------------------------------ adapters */

static enum datp_err my_ia_open(struct datp_ia *ia, const char *params)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ia->address;
	int err = wire_start((struct my_ia *)ia);

	(void)params; /* the instance data of the line in dat.conf: <datp/options.h> reads options from it */
	in->sin_family = AF_INET;
	in->sin_addr = wire_address();
	if (err) /* DUTY-05: tell the user what is wrong, and what to do */
		datp_log(1, "%s: no thread for it: %s; allow more threads (ulimit -u)", ia->name, strerror(err));
	return err ? DATP_ERR_DEVICE : DATP_OK;
}

/* No thread of the plugin may be left, because the plugin may be unloaded after this (DUTY-13). */
static void my_ia_close(struct datp_ia *ia)
{
	wire_stop((struct my_ia *)ia);
}

/* Attributes that are not set are 0: there are no RMRs and no SRQs, and their ops are NULL. */
static void my_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr)
{
	static const DAT_NAMED_ATTR reach[] = { { "reach", "process" } }; /* remove this if your wire connects processes */

	(void)ia;
	strcpy(attr->vendor_name, "example");
	attr->max_eps = attr->max_evds = attr->max_pzs = attr->max_dto_per_ep = attr->max_evd_qlen = 65536;
	attr->max_rdma_read_per_ep_in = attr->max_rdma_read_per_ep_out = 65536;
	attr->max_rdma_read_in = attr->max_rdma_read_out = INT32_MAX;
	attr->read_in_guaranteed = attr->read_out_guaranteed = attr->async_return_guaranteed = true;
	attr->max_iov_per_dto = attr->max_iov_per_rdma_read = attr->max_iov_per_rdma_write = 1;
	attr->max_lmrs = 1 << 20;
	attr->max_lmr_block = attr->max_lmr_address = UINT64_MAX;
	attr->max_message_size = attr->max_rdma_size = 1 << 30;
	attr->max_private_data = 256;
	attr->optimal_alignment = 64;
	attr->transport_attr = reach;
	attr->transport_attr_count = 1;
}

/* ------------------------------------------------------------------ endpoints and posts */

static enum datp_err my_ep_create(struct datp_ep *ep)
{
	STAILQ_INIT(&((struct my_ep *)ep)->requests);
	STAILQ_INIT(&((struct my_ep *)ep)->receives);
	wire_add((struct my_ep *)ep);
	return DATP_OK;
}

static void my_ep_disconnect(struct datp_ep *ep, enum datp_close how)
{
	if (how == DATP_CLOSE_GRACEFUL)
		wire_drain((struct my_ep *)ep);
	else
		wire_end((struct my_ep *)ep);
}

static enum datp_err my_ep_reset(struct datp_ep *ep)
{
	struct my_ep *my = (struct my_ep *)ep;
	struct work *w;

	wire_end(my);
	STAILQ_CONCAT(&my->requests, &my->receives);
	while ((w = STAILQ_FIRST(&my->requests))) {
		STAILQ_REMOVE_HEAD(&my->requests, next);
		free(w);
	}
	return DATP_OK;
}

static void my_ep_free(struct datp_ep *ep)
{
	my_ep_reset(ep);
	wire_remove((struct my_ep *)ep);
}

/* EP lock held. Operations that are posted after the end of a connection stay in the queue until ep_reset (DUTY-11). */
static enum datp_err post(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov, int n,
			  const struct datp_rge *remote)
{
	struct my_ep *my = (struct my_ep *)ep;
	struct work *w = calloc(1, sizeof(*w));
	enum datp_err err;

	if (!w)
		return DATP_ERR_MEMORY;
	w->wqe = wqe;
	w->len = wqe->len;
	if (n)
		w->local = *iov;
	if (remote)
		w->remote = *remote;
	err = check(ep, w);
	if (err) {
		free(w);
		return err;
	}
	STAILQ_INSERT_TAIL(wqe->op == DATP_RECV ? &my->receives : &my->requests, w, next);
	wire_wake(my);
	return DATP_OK;
}

static enum datp_err my_post(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov, int n)
{
	return post(ep, wqe, iov, n, NULL);
}

/* ------------------------------------------------------------------ connections */

static enum datp_err my_sp_listen(struct datp_sp *sp)
{
	return wire_listen((struct my_sp *)sp) ? DATP_OK : DATP_ERR_QUAL_IN_USE;
}

static void my_sp_close(struct datp_sp *sp)
{
	wire_close((struct my_sp *)sp);
}

/* libdatp has compared the length of private data with max_private_data, here and in cr_accept. */
static enum datp_err my_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param)
{
	struct datp_cm_arrival arrival = { .address = (const struct sockaddr *)&ep->obj.ia->address, .attr = &ep->attr,
					   .pdata = param->pdata, .pdata_len = param->pdata_len };

	if (param->address->sa_family != AF_INET)
		return DATP_ERR_ADDRESS_UNSUPPORTED;
	wire_connect((struct my_ep *)ep, (const struct sockaddr_in *)(const void *)param->address, param->qual, &arrival);
	return DATP_OK;
}

static enum datp_err my_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata, uint32_t len)
{
	wire_accept(cr, (struct my_ep *)ep, pdata, len);
	return DATP_OK;
}

/* Also the op cr_free: the wire does not know the request any more if it has been answered by then. */
static void my_cr_reject(struct datp_cr *cr)
{
	wire_reject(cr);
}

/* ------------------------------------------------------------------ the plugin */

static int my_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n)
{
	(void)evd, (void)out, (void)n;
	return 0;
}

/* Ops that are not set have their defaults. */
static const struct datp_ops my_ops = {
	.ia_size = DATP_SIZE(struct my_ia, base, struct datp_ia),
	.ep_size = DATP_SIZE(struct my_ep, base, struct datp_ep),
	.sp_size = DATP_SIZE(struct my_sp, base, struct datp_sp),
	.ia_open = my_ia_open, .ia_close = my_ia_close, .ia_query = my_ia_query,
	.lmr_create = my_lmr_create, .lmr_free = my_lmr_free, .lmr_table = offsetof(struct my_ia, lmrs), .evd_poll = my_evd_poll,
	.ep_create = my_ep_create, .ep_reset = my_ep_reset, .ep_free = my_ep_free,
	.post_send = my_post, .post_recv = my_post, .post_rdma_write = post, .post_rdma_read = post,
	.sp_listen = my_sp_listen, .sp_close = my_sp_close,
	.ep_connect = my_ep_connect, .ep_disconnect = my_ep_disconnect,
	.cr_accept = my_cr_accept, .cr_reject = my_cr_reject, .cr_free = my_cr_reject,
};

DATP_PROVIDER("pushed", my_ops)
