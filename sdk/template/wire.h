/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport of pushed.c, in the place of yours: it connects endpoints of one process, and a thread of each adapter moves their
 * data, reports the ends of connections to libdatp, and calls on_done() when an operation is done. A part of pushed.c.
 *
 * `wire` guards the fields of endpoints other than the queues. It comes before the locks of libdatp, so upcalls are made with it
 * (DUTY-02), and a post, which has the EP lock, does not take it. The exception is datp_cm_request(), which may call the op
 * ep_create: it is made with `doors`, which comes before all other locks and guards the service points.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>

static struct {
	_Atomic(uint32_t) wire, doors;
	LIST_HEAD(, my_ep) eps;
	LIST_HEAD(, my_sp) sps;
	uint64_t last_port;
} all;

/* A child of fork() finds nothing of its parent's: zeroes are free locks and empty lists (DUTY-19). */
static void fork_child(void)
{
	memset(&all, 0, sizeof(all));
}

static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/* ------------------------------------------------------------------ data */

static void *local(const struct work *w)
{
	return (void *)(uintptr_t)w->local.addr;
}

/* A message meets its Receive. */
static uint8_t send_locked(struct my_ep *peer, const struct work *w, const struct work *into)
{
	uint8_t status = DAT_DTO_SUCCESS;

	if (check(&peer->base, into))
		status = DAT_DTO_ERR_LOCAL_PROTECTION;
	else if (w->len > into->len)
		status = DAT_DTO_ERR_LOCAL_LENGTH;
	else
		memmove(local(into), local(w), w->len);
	on_done(&peer->receives, status, w->len, w->wqe->post_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	return status ? DAT_DTO_ERR_REMOTE_RESPONDER : DAT_DTO_SUCCESS;
}

/* The side that owns the remote memory checks it. */
static uint8_t rdma_locked(const struct datp_ep *peer, const struct work *w)
{
	void *there = (void *)(uintptr_t)w->remote.addr;
	bool read = w->wqe->op == DATP_RDMA_READ;
	unsigned int right = read ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

	if (!datp_lmr_check_remote(&((struct my_ia *)peer->obj.ia)->lmrs, peer->pz, &w->remote, w->len, right))
		return DAT_DTO_ERR_REMOTE_ACCESS;
	memmove(read ? local(w) : there, read ? there : local(w), w->len);
	return DAT_DTO_SUCCESS;
}

/* Ends a connection or an attempt, and tells the peer. libdatp flushes what is left, and none of that completes (DUTY-11). */
static void end_locked(struct my_ep *my, DAT_EVENT_NUMBER why)
{
	struct my_ep *peer = my->peer;

	my->asking = my->draining = false;
	my->peer = NULL;
	if (peer) {
		peer->draining = false;
		peer->peer = NULL;
		datp_cm_disconnected(&peer->base, why);
	}
}

/* There may be something to do for the thread. Takes no lock. */
static void wire_wake(const struct my_ep *my)
{
	sem_post(&((struct my_ia *)my->base.obj.ia)->bell);
}

/*
 * Executes the first request of an endpoint, if it can be. This is the one place where two EP locks are held, and the wire is held
 * too: so no two threads wait for each other's.
 */
static void serve_locked(struct my_ep *my)
{
	struct my_ep *peer = my->peer;
	DAT_EVENT_NUMBER why = DAT_CONNECTION_EVENT_DISCONNECTED;
	uint8_t status = DAT_DTO_SUCCESS;
	struct work *w, *into;

	datp_lock(&my->base.lock);
	datp_lock(&peer->base.lock);
	w = STAILQ_FIRST(&my->requests);
	into = STAILQ_FIRST(&peer->receives);
	if (w && (w->wqe->op != DATP_SEND || into)) {
		if (check(&my->base, w))
			status = DAT_DTO_ERR_LOCAL_PROTECTION;
		else
			status = w->wqe->op == DATP_SEND ? send_locked(peer, w, into) : rdma_locked(&peer->base, w);
		on_done(&my->requests, status, w->len, false);
		wire_wake(my); /* there may be more to do */
	}
	datp_unlock(&peer->base.lock);
	datp_unlock(&my->base.lock);
	if (status)
		why = DAT_CONNECTION_EVENT_BROKEN;
	if (status || (my->draining && !w)) {
		end_locked(my, why);
		datp_cm_disconnected(&my->base, why);
	}
}

/* ------------------------------------------------------------------ the thread */

static void *thread_main(void *arg)
{
	struct my_ia *ia = arg;
	struct my_ep *my;

	while (sem_wait(&ia->bell), !ia->closing) {
		datp_lock(&all.wire);
		LIST_FOREACH(my, &all.eps, next)
			if (my->peer)
				serve_locked(my);
		datp_unlock(&all.wire);
	}
	return NULL;
}

/* Returns a value of errno. Signals are for the program's threads. */
static int wire_start(struct my_ia *ia)
{
	sigset_t every, before;
	int err;

	sem_init(&ia->bell, 0, 0);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	err = pthread_create(&ia->thread, NULL, thread_main, ia);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		sem_destroy(&ia->bell);
	return err;
}

static void wire_stop(struct my_ia *ia)
{
	ia->closing = true;
	sem_post(&ia->bell);
	pthread_join(ia->thread, NULL);
	sem_destroy(&ia->bell);
}

/* Returns when the thread moves nothing that it began to move before. */
static void wire_settle(void)
{
	datp_lock(&all.wire);
	datp_unlock(&all.wire);
}

/* ------------------------------------------------------------------ endpoints and connections */

static void wire_add(struct my_ep *my)
{
	datp_lock(&all.wire);
	my->base.local_port = ++all.last_port;
	LIST_INSERT_HEAD(&all.eps, my, next);
	datp_unlock(&all.wire);
}

static void wire_remove(struct my_ep *my)
{
	datp_lock(&all.wire);
	LIST_REMOVE(my, next);
	datp_unlock(&all.wire);
}

static void wire_end(struct my_ep *my)
{
	datp_lock(&all.wire);
	end_locked(my, DAT_CONNECTION_EVENT_DISCONNECTED);
	datp_unlock(&all.wire);
}

/* Has the thread end the connection when the requests have been executed. */
static void wire_drain(struct my_ep *my)
{
	datp_lock(&all.wire);
	my->draining = true;
	datp_unlock(&all.wire);
	wire_wake(my);
}

static struct my_sp *listener(uint64_t qual)
{
	struct my_sp *sp;

	LIST_FOREACH(sp, &all.sps, next)
		if (sp->base.qual == qual)
			break;
	return sp;
}

static bool wire_listen(struct my_sp *sp)
{
	bool taken;

	datp_lock(&all.doors);
	taken = listener(sp->base.qual) != NULL;
	if (!taken)
		LIST_INSERT_HEAD(&all.sps, sp, next);
	datp_unlock(&all.doors);
	return !taken;
}

/* A request on its way holds the lock, and none comes after this (DUTY-12). */
static void wire_close(struct my_sp *sp)
{
	datp_lock(&all.doors);
	LIST_REMOVE(sp, next);
	datp_unlock(&all.doors);
}

/* Each attempt has a port of its own, by which the answer to its request finds the endpoint. */
static void wire_connect(struct my_ep *my, const struct sockaddr_in *to, uint64_t qual, struct datp_cm_arrival *arrival)
{
	const struct sockaddr_in *mine = (const struct sockaddr_in *)&my->base.obj.ia->address;
	DAT_EVENT_NUMBER why = DAT_CONNECTION_EVENT_UNREACHABLE;
	struct my_sp *sp = NULL;
	struct datp_cr *cr;

	datp_lock(&all.wire);
	datp_lock(&my->base.lock);
	arrival->remote_port = my->base.local_port = ++all.last_port;
	datp_unlock(&my->base.lock);
	my->asking = true;
	datp_unlock(&all.wire);
	datp_lock(&all.doors);
	if (to->sin_addr.s_addr == mine->sin_addr.s_addr) {
		why = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
		sp = listener(qual);
	}
	if (!sp || datp_cm_request(&sp->base, arrival, &cr))
		datp_cm_failed(&my->base, why);
	datp_unlock(&all.doors);
}

/* The endpoint whose request this is, and which is answered now; or NULL, if it has given up or has been answered. */
static struct my_ep *take_asker_locked(const struct datp_cr *cr)
{
	struct my_ep *from;

	LIST_FOREACH(from, &all.eps, next)
		if (from->asking && from->base.local_port == cr->remote_port)
			break;
	if (from)
		from->asking = false;
	return from;
}

static void establish_locked(struct my_ep *my, struct my_ep *peer, const void *pdata, uint32_t len)
{
	my->peer = peer;
	datp_lock(&my->base.lock);
	my->base.remote_port = peer->base.local_port;
	datp_unlock(&my->base.lock);
	datp_cm_established(&my->base, pdata, len);
}

static void wire_accept(const struct datp_cr *cr, struct my_ep *my, const void *pdata, uint32_t len)
{
	struct my_ep *from;

	datp_lock(&all.wire);
	from = take_asker_locked(cr);
	if (from) {
		establish_locked(my, from, NULL, 0);
		establish_locked(from, my, pdata, len);
	} else {
		datp_cm_failed(&my->base, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	}
	datp_unlock(&all.wire);
	wire_wake(my);
}

static void wire_reject(const struct datp_cr *cr)
{
	struct my_ep *from;

	datp_lock(&all.wire);
	from = take_asker_locked(cr);
	if (from)
		datp_cm_failed(&from->base, DAT_CONNECTION_EVENT_PEER_REJECTED);
	datp_unlock(&all.wire);
}

/* Programs look for an adapter's address among the host's, and skip the loopback's if there is another. */
static struct in_addr wire_address(void)
{
	struct in_addr found = { htonl(INADDR_LOOPBACK) };
	struct ifaddrs *list = NULL, *at;

	if (getifaddrs(&list))
		return found;
	for (at = list; at; at = at->ifa_next)
		if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET && (at->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP)
			found = ((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr;
	freeifaddrs(list);
	return found;
}
