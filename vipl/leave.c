/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the end of a program that exits while VIs are connected: they are disconnected, so that each
 * peer sees what VipDisconnect() would have shown it. Invariant: no other thread of the program
 * learns of that: the VI stays connected for it, and an operation that is flushed is not completed.
 *
 * exit() may be called by a signal handler that has interrupted this library. Then that thread holds
 * locks that nobody will release. So the thread that exits leaves the work to the keepers, and waits
 * for them within a bound; whatever is not done by then ends with the process.
 */
#include <unistd.h>

#include "impl.h"

enum {
	LEAVE_MS = 500,			/* for all of it */
	LOCK_MS = 50,			/* for a lock that may never be released */
};

static struct {
	pthread_mutex_t lock;		/* taken in this file only, and never when the program calls */
	pthread_cond_t changed;
	unsigned int keepers;		/* that have not left yet; lock */
} leaving = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * What is flushed becomes staged, and is not completed. Without the work's lock, for which a thread
 * that polls leaves little time.
 */
static void queue_silence(struct queue *q)
{
	/* relaxed: a thread that sees the flush takes it off the EVD, to which it comes after this */
	atomic_store_explicit(&q->survive, true, memory_order_relaxed);
}

/* Disconnects the VI. Returns false if there is no end to wait for. */
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
 * What the keeper hears now is nobody's. It stays until the process ends or another thread closes the
 * NIC even now, since that one joins it.
 */
static void wait_for_stop(struct nic *nic)
{
	DAT_EVD_HANDLE evd;

	for (;;) {
		take_ends(nic);
		/* Looked at only now, acquire: as keeper_main() */
		if (atomic_load_explicit(&nic->stop, memory_order_acquire))
			return;
		dat_cno_wait(nic->cno, DAT_TIMEOUT_INFINITE, &evd);
	}
}

/* The keeper's last act, after leave_all() has asked for it. */
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

/* A child of fork() leaves the connections of its parent alone, whose keepers it has not got. */
static bool ask_to_leave(struct nic *nic, void *arg)
{
	(void)arg;
	if (nic->owner != getpid())
		return false;
	pthread_mutex_lock(&leaving.lock);
	leaving.keepers++;
	pthread_mutex_unlock(&leaving.lock);
	/* release: the keeper counts itself out after this has counted it in */
	atomic_store_explicit(&nic->leaving, true, memory_order_release);
	keeper_ring(nic);
	return false;
}

/*
 * After the program's own functions for exit() and its destructors have run. A program that ends by
 * _exit(), or is killed, does not come here.
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
