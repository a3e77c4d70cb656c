/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread. Where no thread of the program polls, the service thread takes what arrives, and finds requests that this
 * side has to execute: sends to an SRQ, atomic operations, and what waits behind them. To execute a request it would have to copy
 * to or from the peer's memory, and a peer can hold up that copy. So the service thread, which serves all connections, notes at
 * the endpoint that requests are to be executed, and the progress thread executes them as a thread of the program does that posts:
 * under the EP lock, and no other. A cell whose message it is to complete is hidden meanwhile (place.c), so that the order stays.
 * The progress thread itself is held up no longer than the bound, because the copier makes its copies (copier.c). Connections
 * with this process have no other process that could hold up a copy; the service thread executes their requests itself.
 *
 * The thread is started when it is first needed, and sleeps while nothing is to be executed. If it or the copier cannot be started,
 * the tick tries again.
 *
 * Invariant: soft_ep.to_execute changes under the EP lock. Whoever sets it rings the bell afterwards.
 */
#define _GNU_SOURCE
#include "progress.h"
#include "copier.h"
#include "exec.h"
#include "ia.h"
#include "owed.h"
#include "port.h"
#include "recv.h"
#include "run.h"
#include "send.h"
#include "setup.h"
#include "tick.h"
#include "log/limited.h"
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXECUTE_THEIRS = 1, EXECUTE_OURS = 2 };

/*
 * A thread-local variable would not do: the C library allocates a plugin's variables when a thread first uses one, and ends the
 * program if it cannot.
 */
bool soft_progress_inside(const struct soft_ia *ia)
{
	/* relaxed: only that thread itself asks for the value that it has stored; any other value is not the caller's */
	return pthread_equal(atomic_load_explicit(&ia->progress.self, memory_order_relaxed), pthread_self());
}

static void ring_bell(struct soft_progress *p)
{
	/* release: what is to be executed was noted before */
	atomic_fetch_add_explicit(&p->bell, 1, memory_order_release);
	syscall(SYS_futex, &p->bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- the thread ---- */

/* Executes what is to be executed for an endpoint. EP lock. */
static void execute_locked(struct soft_ep *ep)
{
	uint32_t what = atomic_load_explicit(&ep->to_execute, memory_order_relaxed);
	struct soft_cq *cq = soft_ep_recv_cq(ep);
	enum soft_copy_way way = ep->copying.way;

	ep->copying.way = SOFT_COPY_BOUNDED;
	if (what & EXECUTE_THEIRS)
		(void)soft_recv_progress(ep);
	if (what & EXECUTE_OURS && !ep->failing)
		soft_exec_run(ep, true);
	ep->copying.way = way;
	soft_progress_forget(ep);
	if (what & EXECUTE_OURS)
		soft_sq_reap(ep);
	/* The service thread has hidden a cell under the EP lock, and takes it and what is behind it now. relaxed: a hint else */
	if (__atomic_load_n(&cq->place_held, __ATOMIC_RELAXED)) {
		atomic_store_explicit(&cq->again, true, memory_order_relaxed);
		soft_ia_wake(cq->ia);
	}
}

/* Returns the next endpoint, from *index on, for which something is to be executed, or NULL. */
static struct soft_ep *next_ep(struct soft_ia *ia, uint32_t *index)
{
	struct soft_ep *ep = NULL;

	datp_lock(&ia->lock);
	for (; *index < ia->port_next && !ep; ++*index) {
		/* relaxed, both: the table changes under this lock; the note is read again under the EP lock */
		ep = atomic_load_explicit(&ia->ports[*index], memory_order_relaxed);
		if (ep && !soft_progress_is_due(ep))
			ep = NULL;
	}
	datp_unlock(&ia->lock);
	return ep;
}

/* Returns true if something is left: a peer holds up a thread of the program that has an EP lock, or there is no copier. */
static bool execute_all(struct soft_ia *ia)
{
	struct soft_ep *ep;
	uint32_t index = 0;
	bool left = false;

	while ((ep = next_ep(ia, &index))) {
		if ((ia->want_cma && !soft_copier_ready(ia)) || !soft_ep_try(ep)) {
			left = true;
			continue;
		}
		/* type-stable memory: if the endpoint has been freed meanwhile, it is not open, or belongs to another adapter */
		if (ep->open && ep->base.obj.ia == &ia->base)
			execute_locked(ep);
		soft_ep_leave(ep);
	}
	return left;
}

static void *run(void *arg)
{
	struct soft_ia *ia = arg;
	struct soft_progress *p = &ia->progress;

	atomic_store_explicit(&p->self, pthread_self(), memory_order_relaxed);
	/* acquire: its end is asked for by a thread that has done all else */
	while (!atomic_load_explicit(&p->stop, memory_order_acquire)) {
		/* acquire: makes visible what was noted before */
		uint32_t seen = atomic_load_explicit(&p->bell, memory_order_acquire);

		if (execute_all(ia)) {
			atomic_store_explicit(&p->left, true, memory_order_relaxed);
			soft_tick_set(ia);
		}
		syscall(SYS_futex, &p->bell, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	}
	return NULL;
}

/* ---- the service thread ---- */

/* Starts the thread. Returns false if that has failed. */
static bool start(struct soft_ia *ia)
{
	static struct log_limit none;
	struct soft_progress *p = &ia->progress;
	int error;

	if (p->runs)
		return true;
	error = soft_run(&p->thread, run, ia);
	p->runs = !error;
	if (error)
		log_limited(&none, 1, "soft: adapter %s: cannot start a thread: %s; requests of peers wait", ia->base.name,
			    strerror(error));
	return !error;
}

bool soft_progress_puts_off(struct soft_ep *ep, bool initiator)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	/* in this order: the service thread may have ended before the progress thread does */
	if (soft_progress_inside(ia) || ep->peer->self || !datp_loop_inside(&ia->base))
		return false;
	atomic_fetch_or_explicit(&ep->to_execute, initiator ? EXECUTE_OURS : EXECUTE_THEIRS, memory_order_relaxed);
	if (start(ia)) {
		ring_bell(&ia->progress);
	} else {
		atomic_store_explicit(&ia->progress.left, true, memory_order_relaxed);
		soft_tick_set(ia);
	}
	return true;
}

bool soft_progress_serve(struct soft_ia *ia)
{
	/* relaxed: whoever sets it sets the timer afterwards */
	if (!atomic_load_explicit(&ia->progress.left, memory_order_relaxed))
		return false;
	if (!start(ia))
		return true;
	atomic_store_explicit(&ia->progress.left, false, memory_order_relaxed);
	ring_bell(&ia->progress);
	return false;
}

void soft_progress_stop(struct soft_ia *ia)
{
	struct soft_progress *p = &ia->progress;

	if (p->runs) {
		atomic_store_explicit(&p->stop, true, memory_order_release);
		ring_bell(p);
		pthread_join(p->thread, NULL);
		atomic_store_explicit(&p->self, 0, memory_order_relaxed);
		p->runs = false;
	}
	soft_copier_stop(ia);
}
