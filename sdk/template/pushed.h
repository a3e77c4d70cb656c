/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions that the transport pushes: it calls back when a transfer is done, and is never asked.
 * What is done waits in a queue of its endpoint, and the service thread, which stands for the
 * transport's own callback, tells libdatp by datp_wqe_done(), which queues the event, wakes who waits
 * and triggers CNOs. An event queue (EVD) has no part of ours. A part of template.c.
 *
 * A transport that calls back on a thread of its own calls tell_done() there; then ep_reset and
 * ep_free have to wait until it is over, as they do of what datp_ep_call() runs.
 */

/* The EP lock keeps completions and a flush apart, and the queue their order (DUTY-10). */
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

/*
 * The callback. It has not the EP lock, and cannot take it: who posts has that of one endpoint, and
 * what it posts completes an operation of another. So each endpoint is told by a call of its own. What
 * is called before is run before: all that was done is told before the end of the connection.
 */
static void done_locked(struct my_ep *my, struct work *w, uint8_t status, uint64_t len)
{
	w->status = status;
	w->len = len;
	queue_put(&my->done, w);
	datp_ep_call(&my->base, tell_done);
}

/* No tell_done() is under way or comes: datp_ep_call() sees to that. */
static void forget_done(struct my_ep *my)
{
	pthread_mutex_lock(&wire);
	queue_drop(&my->done, NULL);
	pthread_mutex_unlock(&wire);
}

/* Nothing is ever there to be taken. */
static int my_evd_poll(struct datp_evd *evd, struct datp_completion *out, int max)
{
	(void)evd, (void)out, (void)max;
	return 0;
}

static bool my_evd_pending(struct datp_evd *evd)
{
	(void)evd;
	return false;
}

#define MY_EVD_OPS .evd_poll = my_evd_poll, .evd_pending = my_evd_pending
