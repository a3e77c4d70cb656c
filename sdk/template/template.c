/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A uDAPL provider to begin from. It connects endpoints of one process and moves their data. Copy it,
 * rename `my`, and replace the wire (one mutex and memmove) with your own, piece by piece. datp(7)
 * says when each op is called and what it must do; the DUTY-nn below are explained there.
 *
 * How it works: a posted operation is a struct work. It waits in a queue of its endpoint until it
 * can be executed, and after that in another queue until libdatp has polled it (polled.h). If your
 * transport calls back when a transfer is done, begin from pushed.c, which is smaller.
 *
 * Invariant: an operation is in exactly one queue until libdatp has been told that it is done.
 */
#define _DEFAULT_SOURCE 1 /* declares IFF_UP under -std=c11 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <datp/lmr_table.h>
#include <datp/options.h>
#include <datp/provider.h>

#define MY_MAX_IOV   16
#define MY_MAX_PDATA 256

struct work {
	struct work *next;
	struct datp_wqe *wqe;
	struct datp_rge remote; /* RDMA */
	uint64_t len;		/* the bytes of the request; in a receive, those that have arrived */
	uint8_t status;
	bool solicited;
	int n;
	struct datp_sge iov[MY_MAX_IOV];
};

struct queue {
	struct work *first, **last;
};

/* The plugin's objects. The public head comes first; libdatp zeroes the rest when it creates an object. */
struct my_ia {
	struct datp_ia base;
	struct my_ia *next;
	struct datp_lmr_table lmrs; /* libdatp finds LMRs there, too */
	uint64_t max_message; /* an option */
};

struct my_cr {
	struct datp_cr base;
	struct my_ep *from; /* the endpoint that connects; NULL if it has given up */
};

struct my_ep {
	struct datp_ep base;
	struct my_ep *peer;   /* from the accept to the end of the connection */
	struct my_cr *cr;     /* this endpoint's request, until it is accepted or rejected */
	bool asking;	      /* from the connect to the accept, reject or abort */
	bool up;	      /* libdatp has been told that the connection is established */
	bool over;	      /* the connection has ended: libdatp flushes what is posted from now on */
	bool draining;	      /* a graceful disconnect waits for `requests` */
	DAT_EVENT_NUMBER why; /* the event by which the end is reported */
	struct queue requests, receives;
	struct queue done; /* completed operations, which tell_done() reports to libdatp */
	struct sockaddr_in target;
	uint64_t target_qual;
	uint32_t pdata_len; /* of the request, then of the answer */
	unsigned char pdata[MY_MAX_PDATA];
};

struct my_sp {
	struct datp_sp base;
	struct my_sp *next;
	int calls; /* the number of requests that are being delivered to it */
};

/*
 * This lock guards every field above that changes while the adapter is open, except the public heads and the table of LMRs,
 * which has a lock of its own. It is taken after the EP and SP locks. While it is held, no function of libdatp that takes a lock
 * is called, except those that queue work (DUTY-02) and those of that table.
 */
static pthread_mutex_t wire = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wire_calm = PTHREAD_COND_INITIALIZER;
static struct my_ia *ias;
static struct my_sp *sps;
static uint64_t next_port = 1;

/* ------------------------------------------------------------------ queues */

static void queue_put(struct queue *q, struct work *w)
{
	if (!q->first)
		q->last = &q->first;
	w->next = NULL;
	*q->last = w;
	q->last = &w->next;
}

static struct work *queue_take(struct queue *q)
{
	struct work *w = q->first;

	if (w)
		q->first = w->next;
	return w;
}

/* Frees the work of one endpoint, or of all. */
static void queue_drop(struct queue *q, const struct my_ep *ep)
{
	struct queue kept = { NULL, NULL };
	struct work *w;

	while ((w = queue_take(q))) {
		if (ep && w->wqe->ep != &ep->base)
			queue_put(&kept, w);
		else
			free(w);
	}
	while ((w = queue_take(&kept)))
		queue_put(q, w);
}

/* ------------------------------------------------------------------ interface adapters */

/* Programs look for an adapter's address among those of the host, and skip the loopback address. */
static void host_address(struct sockaddr_in *in)
{
	struct ifaddrs *all = NULL, *at;

	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (getifaddrs(&all))
		return;
	for (at = all; at; at = at->ifa_next)
		if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
		    (at->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP)
			break;
	if (at)
		in->sin_addr = ((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr;
	freeifaddrs(all);
}

/* A forked child may open adapters anew, and has none of its parent's objects (DUTY-19). */
static void fork_child(void)
{
	pthread_mutex_init(&wire, NULL);
	pthread_cond_init(&wire_calm, NULL);
	ias = NULL;
	sps = NULL;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/* Takes the address. It is the one word of the instance data that is not an option. */
static enum datp_err take_address(void *to, const char *word, char *why, size_t size)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&((struct my_ia *)to)->base.address;

	if (inet_pton(AF_INET, word, &in->sin_addr) == 1)
		return DATP_OK;
	snprintf(why, size, "\"%s\" in dat.conf is no IPv4 address; give one, or none", word);
	return DATP_ERR_ADDRESS_MALFORMED;
}

static const struct datp_option my_table[] = {
	DATP_OPTION_BYTES("max_message", struct my_ia, max_message, 1u << 30, 4096, 1u << 30,
			  "the longest message and the longest RDMA"),
};
static const struct datp_options my_options = DATP_OPTIONS(my_table, "ADDRESS", take_address);

static enum datp_err my_ia_open(struct datp_ia *ia, const char *params)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sockaddr_in *in = (struct sockaddr_in *)&ia->address;
	char why[DATP_WHY_MAX];
	enum datp_err err;

	pthread_once(&once, watch_forks);
	in->sin_family = AF_INET;
	host_address(in);
	datp_options_preset(&my_options, ia);
	err = datp_options_take(&my_options, params, ia, why, sizeof(why));
	if (err) {
		/* DUTY-05: tell the user what is wrong, and what to do */
		datp_log(1, "%s: %s", ia->name, why);
		return err;
	}
	pthread_mutex_lock(&wire);
	((struct my_ia *)ia)->next = ias;
	ias = (struct my_ia *)ia;
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static void my_ia_close(struct datp_ia *ia)
{
	struct my_ia **at = &ias;

	pthread_mutex_lock(&wire);
	while (*at != (struct my_ia *)ia)
		at = &(*at)->next;
	*at = (*at)->next;
	pthread_mutex_unlock(&wire);
}

static bool same_address(const struct datp_ia *ia, const struct sockaddr_in *in)
{
	return ((const struct sockaddr_in *)&ia->address)->sin_addr.s_addr == in->sin_addr.s_addr;
}

static void my_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr)
{
	static const DAT_NAMED_ATTR reach[] = { { "reach", "process" } };

	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "example");
	attr->hw_major = attr->fw_major = 1;
	attr->max_eps = attr->max_evds = attr->max_pzs = 65536;
	attr->max_dto_per_ep = attr->max_evd_qlen = 65536;
	attr->max_rdma_read_per_ep_in = attr->max_rdma_read_per_ep_out = 65536;
	attr->max_rdma_read_in = attr->max_rdma_read_out = INT32_MAX;
	attr->read_in_guaranteed = attr->read_out_guaranteed = true;
	attr->max_iov_per_dto = MY_MAX_IOV;
	attr->max_iov_per_rdma_read = attr->max_iov_per_rdma_write = MY_MAX_IOV;
	attr->max_lmrs = 1 << 20;
	attr->max_lmr_block = attr->max_lmr_address = UINT64_MAX;
	attr->max_message_size = attr->max_rdma_size = ((struct my_ia *)ia)->max_message;
	attr->max_private_data = MY_MAX_PDATA;
	attr->optimal_alignment = 64;
	/* No RMRs and no SRQs: their maxima stay 0, and their ops stay NULL. */
	attr->transport_attr = reach;
	attr->transport_attr_count = 1;
}

/* ------------------------------------------------------------------ memory */

/* The table chooses the contexts. It does not reuse a freed one for a long time, so that the use of a freed one is recognised. */
static enum datp_err my_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	(void)cookie;
	datp_lmr_add(&((struct my_ia *)lmr->obj.ia)->lmrs, (struct datp_known_lmr *)lmr);
	return DATP_OK;
}

/* Data are moved under the wire's lock, so nobody accesses the memory after this (DUTY-08). */
static void my_lmr_free(struct datp_lmr *lmr)
{
	pthread_mutex_lock(&wire);
	datp_lmr_remove(&((struct my_ia *)lmr->obj.ia)->lmrs, (struct datp_known_lmr *)lmr);
	pthread_mutex_unlock(&wire);
}

static enum datp_err local_check_locked(const struct datp_ep *ep, enum datp_op op,
					const struct datp_sge *iov, int n)
{
	return datp_lmr_check_list(&((struct my_ia *)ep->obj.ia)->lmrs, ep->pz, iov, n,
				   op == DATP_RECV || op == DATP_RDMA_READ);
}

/* Returns true if a peer of this endpoint may access this range. */
static bool remote_check_locked(const struct datp_ep *ep, const struct datp_rge *remote,
				uint64_t len, unsigned int need)
{
	return datp_lmr_check_remote(&((struct my_ia *)ep->obj.ia)->lmrs, ep->pz, remote, len, need);
}

/* ------------------------------------------------------------------ completions */

/*
 * Reports the completed operations in the endpoint's queue to libdatp. The EP lock keeps completions and
 * a flush apart, and the queue keeps their order (DUTY-10).
 */
static void tell_done(struct datp_ep *ep)
{
	struct my_ep *my = (struct my_ep *)ep;
	struct work *w;

	datp_lock(&ep->lock);
	for (;;) {
		pthread_mutex_lock(&wire);
		w = queue_take(&my->done);
		pthread_mutex_unlock(&wire);
		if (!w)
			break;
		datp_wqe_done(w->wqe, w->status, w->len, w->solicited);
		free(w);
	}
	datp_unlock(&ep->lock);
}

/* How completed operations are reported to libdatp: done_locked(), forget_done() and MY_EVD_OPS. */
#include "polled.h"

/* ------------------------------------------------------------------ the end of a connection */

static DAT_EVENT_NUMBER why_over(const struct datp_ep *ep)
{
	DAT_EVENT_NUMBER why;

	pthread_mutex_lock(&wire);
	why = ((const struct my_ep *)ep)->why;
	pthread_mutex_unlock(&wire);
	return why;
}

static void tell_over(struct datp_ep *ep)
{
	datp_cm_disconnected(ep, why_over(ep));
}

static void tell_failed(struct datp_ep *ep)
{
	datp_cm_failed(ep, why_over(ep));
}

/* Ends all transfers of a connection. Operations that have completed already can still be polled. */
static void cut_locked(struct my_ep *my)
{
	my->peer = NULL;
	my->up = my->draining = my->asking = false;
	my->over = true;
	queue_drop(&my->requests, NULL);
	queue_drop(&my->receives, NULL);
	if (my->cr)
		my->cr->from = NULL;
	my->cr = NULL;
}

static void end_locked(struct my_ep *my, bool tell_me, DAT_EVENT_NUMBER why)
{
	struct my_ep *peer = my->peer;

	if (peer) {
		peer->why = why;
		cut_locked(peer);
		datp_ep_call(&peer->base, tell_over);
	}
	my->why = why;
	cut_locked(my);
	if (tell_me)
		datp_ep_call(&my->base, tell_over);
}

/* ------------------------------------------------------------------ data */

/* Copies from one list of segments to another, as many bytes as fit into both. */
static void copy(const struct datp_sge *to, int nto, const struct datp_sge *from, int nfrom)
{
	uint64_t to_at = 0, from_at = 0;

	while (nto && nfrom) {
		uint64_t len = to->len - to_at;

		if (len > from->len - from_at)
			len = from->len - from_at;
		memmove((void *)(uintptr_t)(to->addr + to_at),
			(const void *)(uintptr_t)(from->addr + from_at), len);
		to_at += len;
		from_at += len;
		if (to_at == to->len)
			to++, nto--, to_at = 0;
		if (from_at == from->len)
			from++, nfrom--, from_at = 0;
	}
}

static uint64_t length(const struct work *w)
{
	uint64_t len = 0;

	for (int i = 0; i < w->n; i++)
		len += w->iov[i].len;
	return len;
}

/* Checks the operation's memory again, because its region may have been freed since the post. */
static bool still_there_locked(const struct my_ep *my, const struct work *w)
{
	return !local_check_locked(&my->base, w->wqe->op, w->iov, w->n);
}

static uint8_t rdma_locked(struct my_ep *my, struct work *w)
{
	bool write = w->wqe->op == DATP_RDMA_WRITE;
	unsigned int need = write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
	struct datp_sge there = { .addr = w->remote.addr, .len = w->len };

	if (!remote_check_locked(&my->peer->base, &w->remote, w->len, need))
		return DAT_DTO_ERR_REMOTE_ACCESS;
	if (write)
		copy(&there, 1, w->iov, w->n);
	else
		copy(w->iov, w->n, &there, 1);
	return DAT_DTO_SUCCESS;
}

static uint8_t send_locked(struct my_ep *my, struct work *w)
{
	struct my_ep *peer = my->peer;
	struct work *into = queue_take(&peer->receives);
	uint8_t status = DAT_DTO_SUCCESS;

	if (!still_there_locked(peer, into))
		status = DAT_DTO_ERR_LOCAL_PROTECTION;
	else if (w->len > length(into))
		status = DAT_DTO_ERR_LOCAL_LENGTH;
	else
		copy(into->iov, into->n, w->iov, w->n);
	into->solicited = w->wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	done_locked(peer, into, status, status ? 0 : w->len);
	return status ? DAT_DTO_ERR_REMOTE_RESPONDER : DAT_DTO_SUCCESS;
}

/* Executes the operations that an endpoint has posted, in order, until one has to wait. */
static void progress_locked(struct my_ep *my)
{
	uint8_t status = DAT_DTO_SUCCESS;
	struct work *w;

	while (!status && my->up && my->peer->up && (w = my->requests.first)) {
		if (!still_there_locked(my, w))
			status = DAT_DTO_ERR_LOCAL_PROTECTION;
		else if (w->wqe->op != DATP_SEND)
			status = rdma_locked(my, w);
		else if (my->peer->receives.first)
			status = send_locked(my, w);
		else
			return;
		done_locked(my, queue_take(&my->requests), status, status ? 0 : w->len);
	}
	if (status)
		end_locked(my, true, DAT_CONNECTION_EVENT_BROKEN);
	else if (my->draining && !my->requests.first)
		end_locked(my, true, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Used by all posts. EP lock held. After the end of a connection a post is accepted and not executed (DUTY-11). */
static enum datp_err post(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			  int n, const struct datp_rge *remote)
{
	struct my_ep *my = (struct my_ep *)ep;
	struct work *w = calloc(1, sizeof(*w));
	enum datp_err err;

	if (!w)
		return DATP_ERR_MEMORY;
	w->wqe = wqe;
	w->len = wqe->len;
	w->n = n;
	if (n)
		memcpy(w->iov, iov, (size_t)n * sizeof(*iov));
	if (remote)
		w->remote = *remote;
	pthread_mutex_lock(&wire);
	err = local_check_locked(ep, wqe->op, iov, n);
	if (err || my->over) {
		free(w);
	} else if (wqe->op == DATP_RECV) {
		queue_put(&my->receives, w);
		if (my->peer)
			progress_locked(my->peer);
	} else {
		queue_put(&my->requests, w);
		progress_locked(my);
	}
	pthread_mutex_unlock(&wire);
	return err;
}

static enum datp_err my_post(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n)
{
	return post(ep, wqe, iov, n, NULL);
}

/* ------------------------------------------------------------------ connections */

static enum datp_err my_sp_listen(struct datp_sp *sp)
{
	struct my_sp *at;

	pthread_mutex_lock(&wire);
	for (at = sps; at && at->base.qual != sp->qual;)
		at = at->next;
	if (!at) {
		((struct my_sp *)sp)->next = sps;
		sps = (struct my_sp *)sp;
	}
	pthread_mutex_unlock(&wire);
	return at ? DATP_ERR_QUAL_IN_USE : DATP_OK;
}

/* When this returns, no request is being delivered to the service point (DUTY-12). */
static void my_sp_close(struct datp_sp *sp)
{
	struct my_sp **at = &sps;

	pthread_mutex_lock(&wire);
	while (*at != (struct my_sp *)sp)
		at = &(*at)->next;
	*at = (*at)->next;
	while (((struct my_sp *)sp)->calls)
		pthread_cond_wait(&wire_calm, &wire);
	pthread_mutex_unlock(&wire);
}

/* Returns the service point that a request goes to, or NULL, and sets *why to the reason. */
static struct my_sp *sp_find_locked(const struct my_ep *from, DAT_EVENT_NUMBER *why)
{
	*why = DAT_CONNECTION_EVENT_UNREACHABLE;
	for (struct my_ia *ia = ias; ia; ia = ia->next)
		if (same_address(&ia->base, &from->target))
			*why = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	for (struct my_sp *sp = sps; sp; sp = sp->next)
		if (sp->base.qual == from->target_qual &&
		    same_address(sp->base.obj.ia, &from->target))
			return sp;
	return NULL;
}

/* libdatp calls this for a new CR. Nobody can accept the CR before this returns. */
static void request_prepare(struct datp_cr *cr, void *arg)
{
	struct my_ep *from = arg;

	pthread_mutex_lock(&wire);
	if (from->asking) {
		((struct my_cr *)cr)->from = from;
		from->cr = (struct my_cr *)cr;
	}
	pthread_mutex_unlock(&wire);
}

/* Delivers the request of an endpoint. Called on the service thread. */
static void request_deliver(struct datp_ep *ep)
{
	struct my_ep *from = (struct my_ep *)ep;
	struct datp_cm_arrival arrival = {
		.address = (const struct sockaddr *)&ep->obj.ia->address,
		.remote_port = ep->local_port,
		.pdata = from->pdata,
		.pdata_len = from->pdata_len,
		.attr = &ep->attr,
		.prepare = request_prepare,
		.arg = from,
	};
	enum datp_err err = DATP_ERR_NOT_FOUND;
	DAT_EVENT_NUMBER why;
	struct datp_cr *cr;
	struct my_sp *sp;

	pthread_mutex_lock(&wire);
	sp = sp_find_locked(from, &why);
	if (sp)
		sp->calls++;
	pthread_mutex_unlock(&wire);
	if (sp) {
		err = datp_cm_request(&sp->base, &arrival, &cr);
		pthread_mutex_lock(&wire);
		sp->calls--;
		pthread_cond_broadcast(&wire_calm);
		pthread_mutex_unlock(&wire);
	}
	if (err)
		datp_cm_failed(ep, why);
}

/* The outcome is reported on the service thread, because this op must not wait (DUTY-09). */
static enum datp_err my_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param)
{
	struct my_ep *my = (struct my_ep *)ep;

	if (param->address->sa_family != AF_INET)
		return DATP_ERR_ADDRESS_UNSUPPORTED;
	pthread_mutex_lock(&wire);
	memcpy(&my->target, param->address, sizeof(my->target));
	my->target_qual = param->qual;
	my->pdata_len = param->pdata_len;
	if (param->pdata_len)
		memcpy(my->pdata, param->pdata, param->pdata_len);
	my->asking = true;
	pthread_mutex_unlock(&wire);
	return datp_ep_call(ep, request_deliver);
}

static void tell_up(struct datp_ep *ep)
{
	struct my_ep *my = (struct my_ep *)ep;

	/* the active side learns from the answer which endpoint it is connected to */
	datp_lock(&ep->lock);
	pthread_mutex_lock(&wire);
	if (my->peer)
		ep->remote_port = my->peer->base.local_port;
	pthread_mutex_unlock(&wire);
	datp_unlock(&ep->lock);
	if (!datp_cm_established(ep, my->pdata, my->pdata_len))
		return;
	pthread_mutex_lock(&wire);
	my->up = my->peer != NULL;
	if (my->up) {
		progress_locked(my);
		if (my->peer)
			progress_locked(my->peer);
	}
	pthread_mutex_unlock(&wire);
}

static enum datp_err my_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
				  uint32_t len)
{
	struct my_ep *my = (struct my_ep *)ep, *from;

	if (len > MY_MAX_PDATA)
		return DATP_ERR_PARAM;
	pthread_mutex_lock(&wire);
	from = ((struct my_cr *)cr)->from;
	if (from) {
		((struct my_cr *)cr)->from = NULL;
		from->cr = NULL;
		from->asking = false;
		from->peer = my;
		from->pdata_len = len;
		if (len)
			memcpy(from->pdata, pdata, len);
		my->peer = from;
		datp_ep_call(ep, tell_up);
		datp_ep_call(&from->base, tell_up);
	} else {
		/* the active side gave up before the answer */
		my->why = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
		datp_ep_call(ep, tell_failed);
	}
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

/* This is the op cr_free, too: a request that is freed before the program has answered it is rejected. */
static void my_cr_reject(struct datp_cr *cr)
{
	struct my_cr *my = (struct my_cr *)cr;

	pthread_mutex_lock(&wire);
	if (my->from) {
		my->from->cr = NULL;
		my->from->asking = false;
		my->from->why = DAT_CONNECTION_EVENT_PEER_REJECTED;
		datp_ep_call(&my->from->base, tell_failed);
	}
	my->from = NULL;
	pthread_mutex_unlock(&wire);
}

static enum datp_err my_cr_move(struct datp_cr *from, struct datp_cr *to)
{
	struct my_cr *old = (struct my_cr *)from, *new = (struct my_cr *)to;

	pthread_mutex_lock(&wire);
	new->from = old->from;
	if (new->from)
		new->from->cr = new;
	old->from = NULL;
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static void my_ep_disconnect(struct datp_ep *ep, enum datp_close how)
{
	struct my_ep *my = (struct my_ep *)ep;

	pthread_mutex_lock(&wire);
	if (how == DATP_CLOSE_GRACEFUL && my->peer) {
		my->draining = true;
		progress_locked(my);
	} else if (how != DATP_CLOSE_GRACEFUL) {
		end_locked(my, false, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	pthread_mutex_unlock(&wire);
	/* operations that have completed are reported before libdatp flushes the rest */
	if (how != DATP_CLOSE_GRACEFUL)
		tell_done(ep);
}

/* ------------------------------------------------------------------ endpoints */

/* The plugin's fields begin as zeros. The port is the same in all connections of the endpoint. */
static enum datp_err my_ep_create(struct datp_ep *ep)
{
	pthread_mutex_lock(&wire);
	ep->local_port = next_port++;
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

static void my_ep_free(struct datp_ep *ep)
{
	pthread_mutex_lock(&wire);
	end_locked((struct my_ep *)ep, false, DAT_CONNECTION_EVENT_DISCONNECTED);
	pthread_mutex_unlock(&wire);
	forget_done((struct my_ep *)ep);
}

static enum datp_err my_ep_reset(struct datp_ep *ep)
{
	my_ep_free(ep);
	pthread_mutex_lock(&wire);
	((struct my_ep *)ep)->over = false;
	pthread_mutex_unlock(&wire);
	return DATP_OK;
}

/* ------------------------------------------------------------------ the plugin */

static const struct datp_ops my_ops = {
	.ia_size = DATP_SIZE(struct my_ia, base, struct datp_ia),
	.ep_size = DATP_SIZE(struct my_ep, base, struct datp_ep),
	.sp_size = DATP_SIZE(struct my_sp, base, struct datp_sp),
	.cr_size = DATP_SIZE(struct my_cr, base, struct datp_cr),
	.ia_open = my_ia_open,
	.ia_close = my_ia_close,
	.ia_query = my_ia_query,
	.lmr_create = my_lmr_create,
	.lmr_free = my_lmr_free,
	.lmr_table = offsetof(struct my_ia, lmrs),
	MY_EVD_OPS,
	.ep_create = my_ep_create,
	.ep_reset = my_ep_reset,
	.ep_free = my_ep_free,
	.post_send = my_post,
	.post_recv = my_post,
	.post_rdma_write = post,
	.post_rdma_read = post,
	.sp_listen = my_sp_listen,
	.sp_close = my_sp_close,
	.ep_connect = my_ep_connect,
	.cr_accept = my_cr_accept,
	.cr_reject = my_cr_reject,
	.cr_free = my_cr_reject,
	.cr_move = my_cr_move,
	.ep_disconnect = my_ep_disconnect,
};

DATP_PROVIDER("template", my_ops)
