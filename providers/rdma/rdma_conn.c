/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who owns an rdma_cm_id, and until when. Invariant: an id is destroyed by the service thread (or when
 * that has ended), so that it is never destroyed under an event of its own; an endpoint's op returns with
 * its connection detached only when no event of that is being handled.
 *
 * A worker is a thread in rdma_connect on a device where that blocks. Nothing waits for it: an IA that is
 * closed meanwhile leaves it its connection and its hold on the channel, and it cleans up. Likewise a
 * thread that destroys an attempt there. An endpoint that gives its attempt up cancels the worker, since the
 * kernel does not let go of the queue pair before rdma_connect has returned; but not while the peer
 * may be about to answer: a connection that ends before siw has accepted it takes the peer's listener
 * along.
 */
#include "rdma_cm.h"
#include "rdma_conn.h"
#include "rdma_fork.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A host that is there answers within that, and rdma_connect returns: the connection lives on until
 * the peer's connection manager has answered, too.
 */
enum { HANDSHAKE_MS = 250 };

/* Guards rdma_conn.ia of connections with a worker; inside it, the IA mutex. */
static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ channels */

struct rdma_channel *rdma_channel_new(void)
{
	struct rdma_channel *channel = calloc(1, sizeof(*channel));
	struct rdma_cancel own;

	if (!channel)
		return NULL;
	atomic_init(&channel->refs, 1);
	rdma_fork_hold(&own);
	channel->channel = rdma_create_event_channel();
	if (channel->channel)
		rdma_fork_list(&channel->held, channel->channel->fd);
	rdma_fork_release(&own);
	if (channel->channel)
		return channel;
	free(channel);
	return NULL;
}

void rdma_channel_put(struct rdma_channel *channel)
{
	struct rdma_cancel own;

	/* acq_rel: the last one sees what the others did with it */
	if (atomic_fetch_sub_explicit(&channel->refs, 1, memory_order_acq_rel) > 1)
		return;
	rdma_fork_hold(&own);
	rdma_fork_unlist(&channel->held);
	rdma_destroy_event_channel(channel->channel);
	rdma_fork_release(&own);
	free(channel);
}

/* ------------------------------------------------------------------ life */

struct rdma_conn *rdma_conn_new(struct rdma_ia *ia, struct rdma_ep *ep, struct rdma_cm_id *id)
{
	struct rdma_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->ia = ia;
	conn->ep = ep;
	conn->making = ep != NULL;
	conn->channel = ia->channel;
	/* relaxed: the IA has a hold on it */
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
	/* with the mutex: the connection may be gone as soon as that is off */
	pthread_cond_broadcast(&ia->idle);
	pthread_mutex_unlock(&ia->lock);
}

static void unlink_locked(struct rdma_conn *conn)
{
	*conn->prev = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
}

/* Of an unlinked one. */
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

/* A thread that nobody waits for; no signal of the program's is delivered on it. errno-like. */
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
 * iWARP's connection manager does not let go of an attempt before the peer has answered, or 10 seconds have
 * passed: the service thread has other things to do.
 */
static void conn_destroy_aside(struct rdma_conn *conn, const struct rdma_kind *kind)
{
	bool slow = kind && kind->connect_blocks && conn->active && !conn->established;
	pthread_t thread;

	if (!slow || start_aside(&thread, destroyer, conn))
		conn_destroy(conn);
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
		if (!conn->dead || conn->working || conn->busy || conn->held)
			continue;
		unlink_locked(conn);
		conn->next = dead;
		dead = conn;
	}
	pthread_mutex_unlock(&ia->lock);
	while (dead) {
		conn = dead;
		dead = conn->next;
		conn_destroy_aside(conn, ia->kind);
	}
}

/* The service thread is to destroy those that are dead. IA mutex held, and off on return. */
static void reap_soon_unlock(struct rdma_ia *ia)
{
	bool call = !ia->reaping;

	ia->reaping = true;
	pthread_mutex_unlock(&ia->lock);
	/* no memory: the next one takes it along, or the end of the IA */
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

void rdma_id_drop(struct rdma_ia *ia, struct rdma_cm_id *id)
{
	struct rdma_conn *conn = rdma_conn_new(ia, NULL, id);

	if (!conn) {
		datp_log(1, "%s: no memory to end a connection request", ia->base.name);
		return;
	}
	rdma_conn_dead(conn);
}

/* IA mutex held, and off while it waits: the connection is detached, and the caller's. */
static void worker_end_locked(struct rdma_conn *conn)
{
	int rc = 0;

	while (conn->connecting && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&conn->ia->idle, &conn->ia->lock, &conn->handshake);
	if (conn->connecting)
		pthread_cancel(conn->worker);
	conn->connecting = false;
}

struct rdma_conn *rdma_conn_detach(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	bool inside = datp_loop_inside(&ia->base);
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	/* what the service thread handles may detach it, too */
	while ((conn = ep->conn) != NULL && (conn->making || (conn->busy && !inside)))
		pthread_cond_wait(&ia->idle, &ia->lock);
	ep->conn = NULL;
	if (conn) {
		conn->ep = NULL;
		conn->held = true;
		worker_end_locked(conn);
	}
	pthread_mutex_unlock(&ia->lock);
	return conn;
}

/*
 * A connection is disconnected by message, and its id stays until the peer has answered, for a
 * destroyed id does not repeat a message that got lost. The event that says so ends it. False: there is
 * nothing to wait for.
 */
static bool say_goodbye(struct rdma_conn *conn)
{
	return conn->established && !conn->ended && !rdma_disconnect(conn->id);
}

/*
 * The peer has its answer, or will get it, and may be connected already though it has not confirmed that
 * yet. To destroy the id would tell it so once; so it stays until there is a connection to end. IA mutex.
 */
static bool is_unconfirmed(const struct rdma_conn *conn)
{
	return conn->ia->kind->three_way && conn->answered && !conn->established;
}

void rdma_conn_retire(struct rdma_conn *conn)
{
	struct rdma_ia *ia = conn->ia;
	bool waits, dead = false;

	pthread_mutex_lock(&ia->lock);
	waits = is_unconfirmed(conn);
	if (!waits) {
		/* it is held: nobody destroys it */
		pthread_mutex_unlock(&ia->lock);
		dead = !say_goodbye(conn);
		pthread_mutex_lock(&ia->lock);
	}
	conn->held = false;
	conn->dead |= dead;
	if (conn->dead)
		reap_soon_unlock(ia);
	else
		pthread_mutex_unlock(&ia->lock);
}

void rdma_conn_confirmed(struct rdma_conn *conn)
{
	bool held;

	pthread_mutex_lock(&conn->ia->lock);
	conn->established = true;
	held = conn->held; /* who holds it retires it next */
	pthread_mutex_unlock(&conn->ia->lock);
	if (!held && !say_goodbye(conn))
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
	dead = conn->dead;
	pthread_cond_broadcast(&ia->idle);
	pthread_mutex_unlock(&ia->lock);
	/* it may have been passed over while it was busy */
	if (dead)
		rdma_conn_dead(conn);
}

/* The service thread has ended. */
void rdma_conns_fini(struct rdma_ia *ia)
{
	struct rdma_conn *conn;

	pthread_mutex_lock(&workers_lock);
	pthread_mutex_lock(&ia->lock);
	while ((conn = ia->conns) != NULL) {
		bool working = conn->working;

		unlink_locked(conn);
		pthread_mutex_unlock(&ia->lock);
		if (working)
			conn->ia = NULL; /* the worker's */
		else
			conn_destroy_aside(conn, ia->kind);
		pthread_mutex_lock(&ia->lock);
	}
	pthread_mutex_unlock(&ia->lock);
	pthread_mutex_unlock(&workers_lock);
}

/* ------------------------------------------------------------------ workers */

struct result {
	struct rdma_conn *conn;
	int err;
};

/* Service thread. */
static void result_show(void *arg)
{
	struct result *result = arg;

	rdma_connect_result(result->conn, result->err);
	free(result);
}

/* With what rdma_connect has returned, or where it was cancelled: nobody wants to know then. */
static void worker_done(void *arg)
{
	struct result *result = arg;
	struct rdma_conn *conn = result->conn;
	struct rdma_ia *ia;

	pthread_mutex_lock(&workers_lock);
	ia = conn->ia;
	if (ia) {
		/* from here on the thread is not for others to cancel: it will be gone */
		pthread_mutex_lock(&ia->lock);
		conn->connecting = false;
		pthread_cond_broadcast(&ia->idle);
		pthread_mutex_unlock(&ia->lock);
		/*
		 * Queued with the lock held, while the IA is there. `working` goes with the call: until
		 * then the connection stays.
		 */
		if (datp_loop_call(&ia->base, result_show, result)) {
			free(result);
			pthread_mutex_lock(&ia->lock);
			conn->working = false;
			pthread_mutex_unlock(&ia->lock);
		}
	}
	pthread_mutex_unlock(&workers_lock);
	if (!ia) {
		free(result);
		conn_destroy(conn);
	}
}

/* Cancelled in rdma_connect only, which is a system call and what fills in its arguments. */
static void *worker(void *arg)
{
	struct result *result = arg;
	struct rdma_conn *conn = result->conn;
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_push(worker_done, result);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	result->err = rdma_connect(conn->id, &conn->param) ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_pop(1);
	return NULL;
}

static struct timespec in_ms(int ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += ms * 1000000L;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

static int start_worker(struct rdma_conn *conn)
{
	struct result *result = calloc(1, sizeof(*result));
	int rc;

	if (!result)
		return ENOMEM;
	result->conn = conn;
	result->err = ECANCELED;
	/* a worker that is through at once waits for its name to be written down */
	pthread_mutex_lock(&conn->ia->lock);
	conn->handshake = in_ms(HANDSHAKE_MS);
	rc = start_aside(&conn->worker, worker, result);
	conn->working = conn->connecting = !rc;
	pthread_mutex_unlock(&conn->ia->lock);
	if (rc)
		free(result);
	return rc;
}

int rdma_conn_connect(struct rdma_conn *conn)
{
	if (!conn->ia->kind->connect_blocks)
		return rdma_connect(conn->id, &conn->param) ? errno : 0;
	return start_worker(conn);
}
