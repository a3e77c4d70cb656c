/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the connections (rdma_cm_id) and decides when they are destroyed. Invariant: an id is
 * destroyed by the service thread (or when that has ended), so that it is never destroyed while one
 * of its own events is handled; an endpoint's op returns with its connection detached only when no
 * event of that connection is being handled.
 *
 * A worker is a thread that runs rdma_connect() on a device where this call blocks. If the IA is
 * closed meanwhile, the worker keeps its connection and its reference to the channel, and cleans up.
 * The same applies to a thread that destroys an attempt over iWARP.
 * An endpoint that gives up its attempt cancels the worker, because the kernel does not release the
 * queue pair before rdma_connect() has returned; but it does not do so while the peer may be about
 * to answer, because siw loses the peer's listener if a connection ends before siw has accepted it.
 * A thread that frees, resets or disconnects an endpoint waits for that time, HANDSHAKE_US at most.
 * The service thread does so only if an agent of the program frees an endpoint there; otherwise its
 * timer cancels the worker then.
 */
#include "log/limited.h"
#include "rdma_cm.h"
#include "rdma_conn.h"
#include "rdma_timer.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * If the host is there, rdma_connect() returns within this time, and the connection stays until the
 * peer's connection manager has answered, too.
 */
enum { HANDSHAKE_US = 250000 };

/* Guards rdma_conn.ia of connections with a worker. It is taken before the IA mutex. */
static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of fork() has none of the workers, one of which may have held the lock. */
static void fork_child(void)
{
	pthread_mutex_init(&workers_lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/* ------------------------------------------------------------------ channels */

struct rdma_channel *rdma_channel_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rdma_channel *channel = calloc(1, sizeof(*channel));
	struct datp_fork_own own;

	pthread_once(&once, watch_forks);
	if (!channel)
		return NULL;
	atomic_init(&channel->refs, 1);
	datp_fork_hold(&own);
	channel->channel = rdma_create_event_channel();
	if (channel->channel)
		datp_fork_list(&channel->fork_fd, channel->channel->fd);
	datp_fork_release(&own);
	if (channel->channel)
		return channel;
	free(channel);
	return NULL;
}

void rdma_channel_put(struct rdma_channel *channel)
{
	struct datp_fork_own own;

	/* acq_rel: the last owner sees what the others did with the channel */
	if (atomic_fetch_sub_explicit(&channel->refs, 1, memory_order_acq_rel) > 1)
		return;
	datp_fork_hold(&own);
	datp_fork_unlist(&channel->fork_fd);
	rdma_destroy_event_channel(channel->channel);
	datp_fork_release(&own);
	free(channel);
}

/* ------------------------------------------------------------------ creation and destruction */

struct rdma_conn *rdma_conn_new(struct rdma_ia *ia, struct rdma_ep *ep, struct rdma_cm_id *id)
{
	struct rdma_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->ia = ia;
	conn->ep = ep;
	conn->making = ep != NULL;
	conn->channel = ia->channel;
	/* relaxed: the IA holds a reference */
	atomic_fetch_add_explicit(&ia->channel->refs, 1, memory_order_relaxed);
	pthread_mutex_lock(&ia->lock);
	conn->id = id;
	id->context = conn;
	conn->next = ia->conns;
	conn->prev = &ia->conns;
	if (conn->next)
		conn->next->prev = &conn->next;
	ia->conns = conn;
	if (ep)
		ep->conn = conn;
	pthread_mutex_unlock(&ia->lock);
	return conn;
}

void rdma_conn_made(struct rdma_conn *conn)
{
	struct rdma_ia *ia = conn->ia;

	pthread_mutex_lock(&ia->lock);
	conn->making = false;
	if (conn->answered)
		rdma_limit_locked(conn);
	if (conn->fails)
		rdma_fail_soon_locked(conn);
	/* with the mutex held, because the connection may be freed as soon as `making` is false */
	pthread_cond_broadcast(&ia->idle);
	pthread_mutex_unlock(&ia->lock);
}

static void unlink_locked(struct rdma_conn *conn)
{
	*conn->prev = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
}

/* Frees a connection that has been unlinked. */
static void conn_destroy(struct rdma_conn *conn)
{
	if (conn->id)
		rdma_destroy_id(conn->id);
	rdma_channel_put(conn->channel);
	free(conn);
}

static void *destroyer(void *arg)
{
	conn_destroy(arg);
	return NULL;
}

/*
 * Starts a thread that nobody joins; the program's signals are not delivered to it. Returns an
 * errno, or 0.
 */
static int start_aside(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/*
 * The connection manager of iWARP does not release an attempt before the peer has answered, or 10
 * seconds have passed; the service thread must not wait for that.
 */
static void conn_destroy_aside(struct rdma_conn *conn, const struct rdma_kind *kind)
{
	bool slow = kind && kind->attempts_linger && conn->active && !conn->established;
	pthread_t thread;

	if (!slow || start_aside(&thread, destroyer, conn))
		conn_destroy(conn);
}

/* The connections are linked by `next`. */
static void all_destroy_aside(struct rdma_conn *conns, const struct rdma_kind *kind)
{
	while (conns) {
		struct rdma_conn *next = conns->next;

		conn_destroy_aside(conns, kind);
		conns = next;
	}
}

/* Service thread. */
static void reap(void *arg)
{
	struct rdma_ia *ia = arg;
	struct rdma_conn *conn, *next, *dead = NULL;

	pthread_mutex_lock(&ia->lock);
	ia->reaping = false;
	for (conn = ia->conns; conn; conn = next) {
		next = conn->next;
		if (!conn->dead || conn->working || conn->busy || conn->detached)
			continue;
		unlink_locked(conn);
		conn->next = dead;
		dead = conn;
	}
	pthread_mutex_unlock(&ia->lock);
	all_destroy_aside(dead, ia->kind);
}

/*
 * Has the service thread destroy the dead connections. The IA mutex is held, and released on
 * return.
 */
static void reap_soon_unlock(struct rdma_ia *ia)
{
	bool call = !ia->reaping;

	ia->reaping = true;
	pthread_mutex_unlock(&ia->lock);
	/* if there is no memory for the call, a later call destroys them, too, or the end of the IA does */
	if (call && datp_loop_call(&ia->base, reap, ia)) {
		pthread_mutex_lock(&ia->lock);
		ia->reaping = false;
		pthread_mutex_unlock(&ia->lock);
	}
}

void rdma_conn_dead(struct rdma_conn *conn)
{
	struct rdma_ia *ia = conn->ia;

	pthread_mutex_lock(&ia->lock);
	conn->dead = true;
	reap_soon_unlock(ia);
}

bool rdma_id_drop(struct rdma_ia *ia, struct rdma_cm_id *id)
{
	struct rdma_conn *conn = rdma_conn_new(ia, NULL, id);
	static struct log_limit no_memory;

	if (!conn) {
		log_limited(&no_memory, 1, "%s: no memory to end a connection request", ia->base.name);
		return false;
	}
	rdma_conn_dead(conn);
	return true;
}

void rdma_worker_cancel_locked(struct rdma_conn *conn)
{
	if (conn->connecting)
		pthread_cancel(conn->worker);
	conn->connecting = false;
}

/* Waits for a change of a connection until the worker of this one may be cancelled. Returns ETIMEDOUT then. IA mutex. */
static int idle_wait_locked(struct rdma_ia *ia, const struct rdma_conn *conn)
{
	const struct timespec at = { .tv_sec = (time_t)(conn->handshake_us / 1000000),
				     .tv_nsec = (long)(conn->handshake_us % 1000000) * 1000 };

	return pthread_cond_timedwait(&ia->idle, &ia->lock, &at);
}

/*
 * The IA mutex is held, and released while this waits. The connection is detached, and belongs to
 * the caller; or the service thread has ended.
 */
static void worker_end_locked(struct rdma_conn *conn)
{
	int rc = 0;

	while (conn->connecting && rc != ETIMEDOUT)
		rc = idle_wait_locked(conn->ia, conn);
	rdma_worker_cancel_locked(conn);
}

void rdma_workers_of_qp_end(struct rdma_ia *ia, uint32_t qpn)
{
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	for (;;) {
		/* from the head each time: the connection may be freed while this waits */
		for (conn = ia->conns; conn; conn = conn->next)
			if (!conn->ep && conn->connecting && conn->param.qp_num == qpn)
				break;
		if (!conn)
			break;
		if (datp_clock_us() >= conn->handshake_us)
			rdma_worker_cancel_locked(conn);
		else
			idle_wait_locked(ia, conn);
	}
	pthread_mutex_unlock(&ia->lock);
}

/* Cancels, when it may, each worker that the service thread's timer was to cancel. That thread has ended. */
static void workers_end(struct rdma_ia *ia)
{
	pthread_mutex_lock(&ia->lock);
	/* no connection leaves the list meanwhile, because only the service thread destroys them */
	for (struct rdma_conn *conn = ia->conns; conn; conn = conn->next)
		if (!conn->ep)
			worker_end_locked(conn);
	pthread_mutex_unlock(&ia->lock);
}

struct rdma_conn *rdma_conn_detach(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	bool inside = datp_loop_inside(&ia->base);
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	/* the handler on the service thread may detach the connection, too */
	while ((conn = ep->conn) != NULL && (conn->making || (conn->busy && !inside)))
		pthread_cond_wait(&ia->idle, &ia->lock);
	ep->conn = NULL;
	if (conn) {
		conn->ep = NULL;
		conn->detached = true;
		if (!inside)
			worker_end_locked(conn);
		else if (conn->connecting)
			rdma_cancel_later_locked(conn);
	}
	pthread_mutex_unlock(&ia->lock);
	return conn;
}

/*
 * A connection is ended by a message, and its id stays until the peer has answered, because a
 * destroyed id does not repeat a message that was lost. The event for the answer ends the id.
 * Returns false if there is nothing to wait for.
 */
static bool say_goodbye(struct rdma_conn *conn)
{
	return conn->established && !conn->ended && !rdma_disconnect(conn->id);
}

/*
 * The peer has our answer, or will get it, and may be connected although its RTU has not
 * arrived yet. Destroying the id would tell the peer about the end only once, so the id stays until
 * there is a connection to end. IA mutex.
 */
static bool awaits_rtu(const struct rdma_conn *conn)
{
	return conn->ia->kind->has_rtu && conn->answered && !conn->established;
}

void rdma_conn_retire(struct rdma_conn *conn)
{
	struct rdma_ia *ia = conn->ia;
	bool waits, dead = false;

	pthread_mutex_lock(&ia->lock);
	waits = awaits_rtu(conn);
	if (!waits) {
		/* the connection is still `detached`, so no other thread destroys it */
		pthread_mutex_unlock(&ia->lock);
		dead = !say_goodbye(conn);
		pthread_mutex_lock(&ia->lock);
	}
	conn->detached = false;
	conn->dead |= dead;
	if (conn->dead) {
		reap_soon_unlock(ia);
		return;
	}
	rdma_limit_locked(conn);
	pthread_mutex_unlock(&ia->lock);
}

void rdma_retired_established(struct rdma_conn *conn)
{
	bool detached;

	pthread_mutex_lock(&conn->ia->lock);
	conn->established = true;
	detached = conn->detached; /* The thread that has detached the connection retires it. */
	pthread_mutex_unlock(&conn->ia->lock);
	if (!detached && !say_goodbye(conn))
		rdma_conn_dead(conn);
}

struct rdma_conn *rdma_conn_enter(struct rdma_ia *ia, struct rdma_cm_id *id, struct rdma_ep **ep)
{
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	conn = id->context;
	while (conn->making)
		pthread_cond_wait(&ia->idle, &ia->lock);
	conn->busy = true;
	*ep = conn->ep;
	pthread_mutex_unlock(&ia->lock);
	return conn;
}

void rdma_conn_leave(struct rdma_conn *conn)
{
	struct rdma_ia *ia = conn->ia;
	bool dead;

	pthread_mutex_lock(&ia->lock);
	conn->busy = false;
	/* the endpoint does not wait for the peer any more */
	if (conn->ep && !conn->rtr_pending && (conn->established || !conn->answered))
		conn->limit_us = 0;
	dead = conn->dead;
	pthread_cond_broadcast(&ia->idle);
	pthread_mutex_unlock(&ia->lock);
	/* it may have been skipped while it was busy */
	if (dead)
		rdma_conn_dead(conn);
}

/* The service thread has ended. */
void rdma_conns_fini(struct rdma_ia *ia)
{
	struct rdma_conn *conn, *idle = NULL;

	/* without workers_lock, which a worker takes before it is done */
	workers_end(ia);
	pthread_mutex_lock(&workers_lock);
	pthread_mutex_lock(&ia->lock);
	while ((conn = ia->conns) != NULL) {
		unlink_locked(conn);
		/* a worker that has told its result does not touch the connection any more */
		if (conn->working && !conn->told) {
			conn->ia = NULL; /* the worker frees it */
		} else {
			conn->next = idle;
			idle = conn;
		}
	}
	pthread_mutex_unlock(&ia->lock);
	pthread_mutex_unlock(&workers_lock);
	/* without the locks, because this may wait for a peer */
	all_destroy_aside(idle, ia->kind);
}

/* ------------------------------------------------------------------ workers */

/* Service thread. */
static void result_show(void *arg)
{
	struct rdma_conn *conn = arg;

	rdma_connect_result(conn, conn->result);
}

/* The connection has the result of rdma_connect(), or the worker was cancelled there, and nobody needs a result. */
static void worker_done(void *arg)
{
	struct rdma_conn *conn = arg;
	struct rdma_ia *ia;

	pthread_mutex_lock(&workers_lock);
	ia = conn->ia;
	if (ia) {
		/* other threads must not cancel this thread from here on, because it ends */
		pthread_mutex_lock(&ia->lock);
		conn->connecting = false;
		pthread_cond_broadcast(&ia->idle);
		pthread_mutex_unlock(&ia->lock);
		/*
		 * The call is queued with workers_lock held, while the IA exists. It resets `working`,
		 * and until then the connection is not destroyed, unless the service thread ends before.
		 */
		conn->told = true;
		if (datp_loop_call(&ia->base, result_show, conn)) {
			pthread_mutex_lock(&ia->lock);
			conn->working = false;
			pthread_mutex_unlock(&ia->lock);
		}
	}
	pthread_mutex_unlock(&workers_lock);
	if (!ia)
		conn_destroy(conn);
}

/*
 * The thread can be cancelled in rdma_connect() only: a system call, and the code that prepares its
 * arguments.
 */
static void *worker(void *arg)
{
	struct rdma_conn *conn = arg;
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_push(worker_done, conn);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	conn->result = rdma_connect(conn->id, &conn->param) ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_pop(1);
	return NULL;
}

static int start_worker(struct rdma_conn *conn)
{
	int rc;

	conn->result = ECANCELED;
	conn->told = false;
	/*
	 * with the mutex held, so that a worker which ends at once waits until its thread ID is
	 * stored
	 */
	pthread_mutex_lock(&conn->ia->lock);
	conn->handshake_us = datp_clock_us() + HANDSHAKE_US;
	rc = start_aside(&conn->worker, worker, conn);
	conn->working = conn->connecting = !rc;
	pthread_mutex_unlock(&conn->ia->lock);
	return rc;
}

int rdma_conn_connect(struct rdma_conn *conn)
{
	if (!rdma_has(conn->ia, RDMA_CONNECT_BLOCKS))
		return rdma_connect(conn->id, &conn->param) ? errno : 0;
	return start_worker(conn);
}
