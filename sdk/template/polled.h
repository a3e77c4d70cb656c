/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions that libdatp polls: an operation that is done waits in a queue of its event queue (EVD). Threads
 * that sleep there are woken, and the CNO of the EVD is notified. A part of template.c.
 */
struct my_evd {
	struct datp_evd base;
	struct queue done;
	enum datp_arm armed;
	int calls; /* of notify(), asked for and not yet over */
};

static void my_evd_free(struct datp_evd *evd)
{
	struct my_evd *my = (struct my_evd *)evd;

	pthread_mutex_lock(&wire);
	while (my->calls)
		pthread_cond_wait(&wire_calm, &wire);
	queue_drop(&my->done, NULL);
	pthread_mutex_unlock(&wire);
}

/* Service thread. */
static void notify(void *arg)
{
	struct my_evd *my = arg;

	datp_evd_notify(&my->base);
	pthread_mutex_lock(&wire);
	my->calls--;
	pthread_cond_broadcast(&wire_calm);
	pthread_mutex_unlock(&wire);
}

/* Somebody sleeps, or waits to be called, until this EVD has something to poll. */
static void wake_locked(struct my_evd *my)
{
	struct datp_ia *ia = my->base.obj.ia;

	if (my->armed == DATP_ARM_WAITER) {
		/* release: a thread that sees the new value of the bell sees the event */
		atomic_fetch_add_explicit(my->base.bell, 1, memory_order_release);
		ia->ops->evd_wake(&my->base);
	} else if (my->armed == DATP_ARM_CNO && !datp_loop_call(ia, notify, my)) {
		my->calls++;
	}
	my->armed = DATP_ARM_NONE;
}

static bool my_evd_arm(struct datp_evd *evd, enum datp_arm arm, bool solicited_only)
{
	struct my_evd *my = (struct my_evd *)evd;
	bool ready;

	(void)solicited_only; /* notifying too often is allowed */
	pthread_mutex_lock(&wire);
	my->armed = arm;
	ready = my->done.first != NULL;
	pthread_mutex_unlock(&wire);
	return ready;
}

/* The EP lock keeps the completion and a flush apart (DUTY-10). */
static bool complete(struct work *w, struct datp_completion *out)
{
	struct datp_ep *ep = w->wqe->ep;
	bool shown = w->status || !(w->wqe->post_flags & DAT_COMPLETION_SUPPRESS_FLAG);

	*out = (struct datp_completion){
		.wqe = w->wqe, .len = w->len, .status = w->status, .solicited = w->solicited
	};
	datp_lock(&ep->lock);
	if (shown)
		datp_wqe_finish(w->wqe, w->status, w->len);
	else
		datp_wqe_done(w->wqe, w->status, w->len, false);
	datp_unlock(&ep->lock);
	free(w);
	return shown;
}

static int my_evd_poll(struct datp_evd *evd, struct datp_completion *out, int max)
{
	struct my_evd *my = (struct my_evd *)evd;
	struct work *w = NULL;
	int n = 0;

	while (n < max) {
		pthread_mutex_lock(&wire);
		w = queue_take(&my->done);
		pthread_mutex_unlock(&wire);
		if (!w)
			break;
		n += complete(w, &out[n]);
	}
	return n;
}

static void done_locked(struct my_ep *my, struct work *w, uint8_t status, uint64_t len)
{
	struct datp_evd *evd = w->wqe->op == DATP_RECV ? my->base.recv_evd : my->base.request_evd;

	w->status = status;
	w->len = len;
	if (evd) {
		queue_put(&((struct my_evd *)evd)->done, w);
		wake_locked((struct my_evd *)evd);
	} else {
		queue_put(&my->done, w);
		datp_ep_call(&my->base, tell_done);
	}
}

/* The endpoint goes, and with it what was not polled; a poll under way ends first. */
static void forget_evd(const struct my_ep *my, struct datp_evd *evd)
{
	if (!evd)
		return;
	datp_lock(&evd->poll_lock);
	pthread_mutex_lock(&wire);
	queue_drop(&((struct my_evd *)evd)->done, my);
	pthread_mutex_unlock(&wire);
	datp_unlock(&evd->poll_lock);
}

static void forget_done(struct my_ep *my)
{
	forget_evd(my, my->base.recv_evd);
	forget_evd(my, my->base.request_evd);
	pthread_mutex_lock(&wire);
	queue_drop(&my->done, NULL);
	pthread_mutex_unlock(&wire);
}

#define MY_EVD_OPS \
	.evd_size = DATP_SIZE(struct my_evd, base, struct datp_evd), \
	.evd_free = my_evd_free, .evd_poll = my_evd_poll, .evd_arm = my_evd_arm
