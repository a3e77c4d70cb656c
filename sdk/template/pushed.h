/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions that the transport pushes: it calls back when a transfer is done, and is never asked.
 * What is done waits in a queue of its endpoint, and the service thread, which stands for the
 * transport's own callback, tells libdatp in tell_done() by datp_wqe_done(), which queues the event,
 * wakes the threads that wait and triggers CNOs. An event queue (EVD) has no part of ours. A part of template.c.
 *
 * A transport that calls back on a thread of its own calls tell_done() there; then ep_reset and
 * ep_free have to wait until it is over, as they do of what datp_ep_call() runs.
 */

/*
 * The callback. It runs without the EP lock and cannot take it: the thread that posts holds the lock of
 * one endpoint, and its post completes an operation of another. So each endpoint is told by a call of
 * its own. Calls run in their order, so all completions are told before the end of the connection.
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
