/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loopback transport's EVDs: polls, and when to wake a waiter. Invariant: a message gets its
 * receive under the poll lock of the endpoint's EVD, so messages are received in order.
 */
#include <stdlib.h>
#include <string.h>

#include "core_loopback_priv.h"
#include "providers/common/base/futex.h"

static enum datp_err lo_evd_create(struct datp_evd *evd, int32_t qlen)
{
	return null_ops.evd_create(evd, qlen);
}

static void lo_evd_free(struct datp_evd *evd)
{
	struct lo_evd *lo = (struct lo_evd *)evd;

	pthread_mutex_lock(&lo_wire);
	while (lo->jobs)
		pthread_cond_wait(&lo_idle, &lo_wire);
	lo_queues_empty(&lo->done, NULL);
	pthread_mutex_unlock(&lo_wire);
	null_ops.evd_free(evd);
}

static void run_notify(void *arg)
{
	struct lo_evd *evd = arg;

	datp_evd_notify(&evd->base);
	pthread_mutex_lock(&lo_wire);
	evd->jobs--;
	pthread_cond_broadcast(&lo_idle);
	pthread_mutex_unlock(&lo_wire);
}

void lo_ring_locked(struct datp_evd *evd)
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

/*
 * Returns whether the EVD has a completion, or an endpoint of it has a message and a receive for
 * it.
 */
static bool ready_locked(struct datp_evd *evd)
{
	if (((struct lo_evd *)evd)->done.first)
		return true;
	for (struct lo_ep *ep = lo_eps; ep; ep = ep->next)
		if (ep->base.recv_evd == evd && !ep->over && ep->inbox.first)
			return true;
	return false;
}

static bool lo_evd_arm(struct datp_evd *evd, enum datp_arm arm, bool solicited_only)
{
	bool ready;

	(void)solicited_only;
	pthread_mutex_lock(&lo_wire);
	((struct lo_evd *)evd)->armed = arm;
	ready = ((struct lo_evd *)evd)->done.first != NULL;
	for (struct lo_ep *ep = lo_eps; ep && !ready; ep = ep->next)
		ready = ep->base.recv_evd == evd && !ep->over && ep->inbox.first &&
			ep->recvs.first;
	pthread_mutex_unlock(&lo_wire);
	return ready || loopback.always_ready;
}

/* As the default does. */
static void lo_evd_wake(struct datp_evd *evd)
{
	if (loopback.in_wake)
		loopback.in_wake(evd);
	futex_wake(evd->bell, false);
}

static bool lo_evd_pending(struct datp_evd *evd)
{
	bool ready;

	if (loopback.before_look)
		loopback.before_look(evd);
	pthread_mutex_lock(&lo_wire);
	ready = ready_locked(evd);
	pthread_mutex_unlock(&lo_wire);
	return ready;
}

/* Copies a message to its receive. Returns the status of the receive. */
static uint8_t deliver(const struct item *item, const struct lo_recv *recv)
{
	uint64_t at = 0;

	for (int i = 0; i < recv->n && at < item->len; i++) {
		uint64_t len =
			recv->iov[i].len < item->len - at ? recv->iov[i].len : item->len - at;

		memcpy((void *)(uintptr_t)recv->iov[i].addr, item->data + at, len);
		at += len;
	}
	return at < item->len ? DAT_DTO_ERR_LOCAL_LENGTH : DAT_DTO_SUCCESS;
}

static struct lo_recv *recv_of(struct lo_ep *ep)
{
	struct lo_srq *srq = (struct lo_srq *)ep->base.srq;
	struct lo_recv *recv;

	if (!srq) {
		pthread_mutex_lock(&lo_wire);
		recv = lo_recv_take(&ep->recvs);
		pthread_mutex_unlock(&lo_wire);
		return recv;
	}
	datp_lock(&srq->base.lock);
	recv = lo_recv_take(&srq->recvs);
	if (recv) {
		srq->count--;
		datp_srq_take(recv->wqe, &ep->base);
	}
	datp_unlock(&srq->base.lock);
	return recv;
}

/*
 * Takes the next message of an endpoint, if it has a receive for it. The poll lock of its EVD is
 * held.
 */
static bool receive(struct lo_ep *ep, struct item **item, struct lo_recv **recv)
{
	bool ready;

	pthread_mutex_lock(&lo_wire);
	ready = ep->inbox.first && !ep->over;
	pthread_mutex_unlock(&lo_wire);
	*recv = ready ? recv_of(ep) : NULL;
	if (!*recv)
		return false;
	pthread_mutex_lock(&lo_wire);
	*item = lo_take(&ep->inbox);
	pthread_mutex_unlock(&lo_wire);
	return true;
}

void lo_pump(struct lo_ep *ep)
{
	struct lo_recv *recv;
	struct item *item;

	while (receive(ep, &item, &recv)) {
		uint8_t status = deliver(item, recv);

		datp_lock(&ep->base.lock);
		datp_wqe_done(recv->wqe, status, item->len, item->solicited);
		datp_unlock(&ep->base.lock);
		free(item);
		free(recv);
	}
}

/* Returns the n-th endpoint that receives on the EVD, whose poll lock keeps it from being freed. */
static struct lo_ep *ep_at(struct datp_evd *evd, int n)
{
	struct lo_ep *ep;

	pthread_mutex_lock(&lo_wire);
	for (ep = lo_eps; ep && (ep->base.recv_evd != evd || n--);)
		ep = ep->next;
	pthread_mutex_unlock(&lo_wire);
	return ep;
}

static bool poll_done(struct lo_evd *evd, struct datp_completion *out)
{
	struct datp_ep *ep;
	struct item *item;

	for (;;) {
		pthread_mutex_lock(&lo_wire);
		item = lo_take(&evd->done);
		pthread_mutex_unlock(&lo_wire);
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
	struct lo_recv *recv;
	struct item *item;
	int n = 0;

	while (n < max && poll_done((struct lo_evd *)evd, &out[n]))
		n++;
	for (int i = 0; n < max && (ep = ep_at(evd, i)); i++) {
		while (n < max && receive(ep, &item, &recv)) {
			out[n] = (struct datp_completion){ .wqe = recv->wqe, .len = item->len,
							   .status = deliver(item, recv),
							   .solicited = item->solicited };
			datp_lock(&ep->base.lock);
			datp_wqe_finish(recv->wqe, out[n].status, item->len);
			datp_unlock(&ep->base.lock);
			free(item);
			free(recv);
			n++;
		}
	}
	if (n && loopback.in_poll)
		loopback.in_poll(evd);
	return n;
}

void lo_evd_ops(struct datp_ops *ops)
{
	ops->evd_wake = lo_evd_wake;
	ops->evd_create = lo_evd_create;
	ops->evd_free = lo_evd_free;
	ops->evd_poll = lo_evd_poll;
	ops->evd_pending = lo_evd_pending;
	ops->evd_arm = lo_evd_arm;
}
