/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the end of a program that exits while VIs are connected: they are disconnected, so that each
 * peer sees the same as after VipDisconnect(), unless another one holds up the keeper meanwhile. Invariant: no
 * other thread of the program notices that: the VI stays connected for it, and an operation that is flushed is not
 * completed.
 *
 * exit() may be called by a signal handler that has interrupted this library. Then the exiting
 * thread holds locks that no thread will release. So it leaves the work to the keepers, and waits
 * for them for a bounded time; the process then ends whether they have finished or not.
 */
#include <unistd.h>

#include "impl.h"

enum {
	LEAVE_MS = 500,			/* for all VIs */
	LOCK_MS = 50,			/* for a lock that may never be released */
};

static struct {
	pthread_mutex_t lock;		/* taken in this file only, so no call of libvipl holds it when the program exits */
	pthread_cond_t changed;
	unsigned int keepers;		/* keepers that have not finished yet; lock */
} leaving = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Makes flushed operations staged instead of completed. Does not take the work's lock, because a
 * thread that polls may hold it most of the time.
 */
static void queue_silence(struct queue *q)
{
	/*
	 * relaxed: a thread that sees the flush has taken it off the EVD, which gets it after this
	 * store
	 */
	atomic_store_explicit(&q->survive, true, memory_order_relaxed);
}

/* Disconnects the VI. Returns false if there is no event of its end to wait for. */
static bool vi_leave(struct vi *vi)
{
	if (!lock_within(&vi->lock, LOCK_MS))
		return false;
	if (vi->up) {
		queue_silence(&vi->sendq);
		queue_silence(&vi->recvq);
		vi->leaving = dat_ep_disconnect(vi->ep, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
	}
	pthread_mutex_unlock(&vi->lock);
	return vi->leaving;
}

/* Takes the connection events that are there. Returns how many of the connections have ended. */
static unsigned int take_ends(struct nic *nic)
{
	DAT_CONTEXT context;
	unsigned int ended = 0;
	DAT_EVENT event;
	struct vi *vi;

	while (dat_evd_dequeue(nic->cm_evd, &event) == DAT_SUCCESS) {
		if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
		    event.event_number != DAT_CONNECTION_EVENT_BROKEN)
			continue;
		if (dat_get_consumer_context(event.event_data.connect_event_data.ep_handle,
					     &context) != DAT_SUCCESS)
			continue;
		vi = context.as_ptr;
		if (vi != NULL && vi->leaving)
			ended++;
	}
	return ended;
}

/*
 * Discards all further events. The keeper stays until the process ends, or until another thread
 * closes the NIC at this late time and joins the keeper.
 */
static void wait_for_stop(struct nic *nic)
{
	DAT_EVD_HANDLE evd;

	for (;;) {
		take_ends(nic);
		/* checked only now, and with acquire, as in keeper_main() */
		if (atomic_load_explicit(&nic->stop, memory_order_acquire))
			return;
		dat_cno_wait(nic->cno, DAT_TIMEOUT_INFINITE, &evd);
	}
}

/* Disconnects the VIs of a NIC: the last task of its keeper, which leave_all() requests. */
void leave_nic(struct nic *nic)
{
	uint64_t until = now_ms() + LEAVE_MS, now;
	unsigned int open = 0;
	DAT_EVD_HANDLE evd;

	if (lock_within(&nic->lock, LOCK_MS)) {
		for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next)
			open += vi_leave(vi);
		pthread_mutex_unlock(&nic->lock);
	}
	while ((open -= take_ends(nic)) > 0 && (now = now_ms()) < until)
		dat_cno_wait(nic->cno, (DAT_TIMEOUT)(until - now) * 1000, &evd);
	pthread_mutex_lock(&leaving.lock);
	leaving.keepers--;
	pthread_cond_signal(&leaving.changed);
	pthread_mutex_unlock(&leaving.lock);
	wait_for_stop(nic);
}

/*
 * Asks the keeper of a NIC to disconnect its VIs. A child of fork() leaves the connections of its
 * parent alone, because the keepers run in the parent.
 */
static bool ask_to_leave(struct nic *nic, void *arg)
{
	(void)arg;
	if (nic->owner != getpid())
		return false;
	pthread_mutex_lock(&leaving.lock);
	leaving.keepers++;
	pthread_mutex_unlock(&leaving.lock);
	/* release: the keeper decrements `keepers` after the increment above */
	atomic_store_explicit(&nic->leaving, true, memory_order_release);
	keeper_wake(nic);
	return false;
}

/*
 * Runs after the program's own functions for exit() and its destructors. It does not run if a
 * program ends by _exit() or is killed.
 */
static __attribute__((destructor)) void leave_all(void)
{
	uint64_t until = now_ms() + LEAVE_MS;

	cond_init(&leaving.changed);
	nic_visit_within(ask_to_leave, NULL, LOCK_MS);
	pthread_mutex_lock(&leaving.lock);
	while (leaving.keepers > 0 && cond_wait_until(&leaving.changed, &leaving.lock, until))
		;
	pthread_mutex_unlock(&leaving.lock);
}
