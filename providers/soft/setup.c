/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connection set-up. The active side connects to the listener of the service point and sends REQ
 * over that socket; REP or REJ comes back, and RTU completes the set-up. The socket stays open as
 * the liveness socket of the two IAs if they have none yet; else the passive side hangs up, or the active side when the time for
 * that is over. If data reach the passive side before RTU does, they have the same effect.
 */
#define _GNU_SOURCE
#include "setup.h"
#include "bounce.h"
#include "conn.h"
#include "connect.h"
#include "established.h"
#include "foreign.h"
#include "ia.h"
#include "liveness.h"
#include "pending.h"
#include "port.h"
#include "log/limited.h"
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static void msg_init(struct soft_msg *msg, enum soft_msg_type type)
{
	memset(msg, 0, sizeof *msg);
	msg->magic = SOFT_MSG_MAGIC;
	msg->version = SOFT_SHM_VERSION;
	msg->type = type;
}

static void remote_ep_of(const struct soft_msg *msg, struct soft_remote_ep *remote)
{
	*remote = (struct soft_remote_ep){ msg->my_port,	 msg->my_gen,	   msg->intro.sender_id, msg->port_ref,
				  msg->ring_ref, msg->request_ref, msg->layout };
}

/* Describes the endpoint for the peer. EP lock. */
static void msg_endpoint(struct soft_msg *msg, struct soft_ep *ep)
{
	msg->my_port = ep->index;
	msg->my_gen = ep->gen;
	msg->port_ref = ep->port_mem.ref;
	msg->layout = ep->layout;
	msg->ring_ref = soft_ep_recv_cq(ep)->mem.ref;
	msg->request_ref = soft_ep_request_cq(ep)->mem.ref;
	msg->port_qual = ep->base.local_port;
	msg->attr = ep->base.attr;
	memcpy(&msg->address, &ep->base.obj.ia->address, sizeof msg->address);
}

/* ---- the active side ---- */

enum datp_err soft_ep_connect(struct datp_ep *base, const struct datp_conn_param *param)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_ep *ep = soft_ep(base);
	struct soft_socket *sock;
	struct soft_msg msg;
	char key[INET6_ADDRSTRLEN];
	struct soft_listener listener;
	DAT_EVENT_NUMBER why;
	enum datp_err err = soft_address_key(param->address, key, sizeof key);
	struct datp_fork_own own;
	pid_t pid;
	bool sent;
	int fd;

	if (err)
		return err;
	datp_fork_hold(&own);
	fd = soft_listener_connect(ia, param, key, &listener, &pid, &why);
	sock = fd < 0 ? NULL : soft_socket_new(ia, fd, pid, true);
	datp_fork_release(&own);
	if (fd < 0 && !why)
		return DATP_ERR_DEVICE;
	if (fd < 0) {
		(void)datp_cm_failed(base, why);
		return DATP_OK;
	}
	if (!sock)
		return DATP_ERR_MEMORY;
	sock->sender_id = soft_sender_id_new(ia);
	msg_init(&msg, SOFT_MSG_REQ);
	soft_peer_introduce(ia, sock->sender_id, 0, &msg.intro);
	msg.qual = param->qual;
	msg.pdata_len = (uint16_t)param->pdata_len;
	if (param->pdata_len)
		memcpy(msg.pdata, param->pdata, param->pdata_len);
	soft_ep_await_end(ep); /* that of the previous connection */
	datp_lock(&base->lock);
	soft_port_begin(ep);
	msg_endpoint(&msg, ep);
	datp_unlock(&base->lock);
	datp_lock(&ia->lock);
	sock->ep = ep;
	sock->gen = msg.my_gen;
	ep->socket = sock;
	sent = sock->sender_id && (pid < 0 || soft_socket_send(sock, &msg));
	datp_unlock(&ia->lock);
	if (sent)
		err = pid < 0 ? soft_connect_retry(sock, &listener, &msg) : soft_socket_watch(sock);
	if (!sent || err) {
		soft_socket_end(sock);
		if (!err)
			(void)datp_cm_failed(base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	return err;
}

void soft_ep_cancel(struct soft_ep *ep)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_msg msg;

	msg_init(&msg, SOFT_MSG_CANCEL);
	datp_lock(&ia->lock);
	ep->stale = false;
	if (ep->socket && ep->socket->active) {
		struct soft_socket *sock = ep->socket;

		ep->socket = NULL;
		sock->ep = NULL;
		/*
		 * The service thread finds the socket hung up, and ends it: the other side may be stopped, and reads later what
		 * has been sent. But if the service thread is handling the answer just now, it sends the cancel, and the
		 * socket may have become the liveness socket of the two IAs.
		 */
		if (!sock->answered) {
			(void)soft_socket_send(sock, &msg);
			shutdown(sock->fd, SHUT_RDWR);
		}
	}
	datp_unlock(&ia->lock);
}

/* ---- the passive side ---- */

/* What request_prepare() copies into libdatp's new CR, before another thread can find that. */
struct request {
	struct soft_socket *sock;
	struct soft_peer *peer;
	const struct soft_msg *msg;
};

static void request_prepare(struct datp_cr *base, void *arg)
{
	struct soft_cr *cr = (struct soft_cr *)base;
	struct request *request = arg;
	struct soft_ia *ia = request->sock->ia;

	soft_peer_hold(request->peer);
	cr->peer = request->peer;
	remote_ep_of(request->msg, &cr->remote);
	datp_lock(&ia->lock);
	cr->socket = request->sock;
	request->sock->cr = cr;
	datp_unlock(&ia->lock);
}

/*
 * Refuses the request and hangs up. If the kernel has no memory for the message, the socket stays until the other side has got
 * it and hangs up, or its time limit is over.
 */
static void request_refuse(struct soft_socket *sock, DAT_EVENT_NUMBER why)
{
	struct soft_msg msg;
	bool waits;

	msg_init(&msg, SOFT_MSG_REJ);
	msg.why = why;
	datp_lock(&sock->ia->lock);
	waits = soft_socket_send(sock, &msg) && sock->out;
	sock->refused = true;
	datp_unlock(&sock->ia->lock);
	if (!waits)
		soft_conn_hangup(sock);
}

static void on_request(struct soft_socket *sock, struct soft_msg *msg, int *arena_fd)
{
	struct soft_ia *ia = sock->ia;
	uint32_t sender_id;
	struct request request = { .sock = sock, .msg = msg };
	struct datp_cm_arrival arrival = { .address = (struct sockaddr *)&msg->address,
					   .remote_port = msg->port_qual,
					   .pdata = msg->pdata,
					   .pdata_len = msg->pdata_len,
					   .attr = &msg->attr,
					   .prepare = request_prepare,
					   .arg = &request };
	struct soft_process process;
	struct soft_sp *sp;
	struct datp_cr *cr;
	enum datp_err err = DATP_ERR_STATE;

	/* a socket is for one request */
	if (sock->active || sock->peer || sock->refused || *arena_fd < 0 || !msg->intro.sender_id ||
	    msg->intro.sender_id >= SOFT_PORT_MAX) {
		soft_conn_hangup(sock);
		return;
	}
	datp_lock(&ia->lock);
	soft_pending_spoke(sock);
	soft_pending_renew(sock);
	datp_unlock(&ia->lock);
	sender_id = soft_sender_id_new(ia);
	if (!sender_id) {
		request_refuse(sock, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	if (soft_process_of(sock->fd, sock->pid, &process)) {
		request.peer = soft_peer_get(sock, &msg->intro, &process, *arena_fd, sender_id);
		*arena_fd = -1;
	}
	if (!request.peer) {
		soft_sender_id_free(ia, sender_id);
		request_refuse(sock, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	if (request.peer->sender_id != sender_id)
		soft_sender_id_forget(ia, sender_id); /* the peer has a sender ID already */
	datp_lock(&ia->lock);
	sock->peer = request.peer; /* soft_peer_get() has counted it */
	sp = ia->requesting = sock->sp;
	sock->sp = NULL;
	datp_unlock(&ia->lock);
	soft_established_look(ia, request.peer);
	if (sp)
		err = datp_cm_request(&sp->base, &arrival, &cr);
	datp_lock(&ia->lock);
	ia->requesting = NULL;
	datp_unlock(&ia->lock);
	if (err)
		request_refuse(sock, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void stale_now(struct datp_ep *base)
{
	struct soft_ep *ep = soft_ep(base);
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	bool stale;

	datp_lock(&ia->lock);
	stale = ep->stale;
	ep->stale = false;
	datp_unlock(&ia->lock);
	if (stale)
		(void)datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

/*
 * Moves the socket of a connection request to the accepting endpoint and answers. Returns false if the active
 * side has gone. EP lock, so whoever ends this connection has either done that before, or finds the
 * socket by which to tell the peer.
 */
static bool accept_answer(struct soft_cr *cr, struct soft_ep *ep, struct soft_msg *msg)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_socket *sock;

	datp_lock(&ia->lock);
	sock = cr->socket;
	if (sock) {
		cr->socket = NULL;
		sock->cr = NULL;
		sock->ep = ep;
		sock->gen = ep->gen;
		sock->my_sender_id = ep->my_sender_id;
		ep->socket = sock;
		soft_socket_list(&sock->peer->accepted, sock);
		soft_pending_renew(sock);
		/* if this fails, its hang-up is about to be reported */
		(void)soft_socket_send(sock, msg);
	} else {
		ep->stale = true;
	}
	datp_unlock(&ia->lock);
	return sock != NULL;
}

/* Opens the endpoint and answers. *stale becomes true if the active side has gone. */
static enum datp_err accept_open(struct soft_cr *cr, struct soft_ep *ep, struct soft_msg *msg,
				 bool *stale)
{
	struct datp_cr *base = &cr->base;
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	enum datp_err err = DATP_OK;

	soft_ep_await_end(ep); /* that of the previous connection */
	datp_lock(&ep->base.lock);
	soft_port_begin(ep);
	datp_lock(&ia->lock);
	if (cr->peer->my_sender_id)
		cr->remote.my_sender_id = cr->peer->my_sender_id;
	datp_unlock(&ia->lock);
	soft_peer_introduce(ia, cr->peer->sender_id, cr->remote.my_sender_id, &msg->intro);
	msg_endpoint(msg, ep);
	memcpy(&ep->base.remote_address, &base->remote_address, sizeof base->remote_address);
	ep->base.remote_port = base->remote_port;
	if (!soft_ep_open(ep, cr->peer, &cr->remote, true))
		err = DATP_ERR_MEMORY;
	else
		*stale = !accept_answer(cr, ep, msg);
	datp_unlock(&ep->base.lock);
	return err;
}

enum datp_err soft_cr_accept(struct datp_cr *base, struct datp_ep *ep_base, const void *pdata,
			     uint32_t len)
{
	struct soft_cr *cr = (struct soft_cr *)base;
	struct soft_ep *ep = soft_ep(ep_base);
	struct soft_msg msg;
	enum datp_err err;
	bool stale = false;

	msg_init(&msg, SOFT_MSG_REP);
	err = soft_peer_mailbox(cr->peer, &msg.mailbox);
	if (err)
		return err;
	msg.port = cr->remote.index;
	msg.gen = cr->remote.gen;
	msg.pdata_len = (uint16_t)len;
	if (len)
		memcpy(msg.pdata, pdata, len);
	err = accept_open(cr, ep, &msg, &stale);
	if (!err && stale) {
		atomic_store(&ep->accepting, 0);
		if (soft_ep_end(ep, 0))
			soft_ep_ended(ep);
		err = datp_ep_call(&ep->base, stale_now);
	}
	return err;
}

void soft_cr_reject(struct datp_cr *base)
{
	soft_cr_reject_with(base, NULL, 0);
}

void soft_cr_reject_with(struct datp_cr *base, const void *pdata, uint32_t len)
{
	struct soft_cr *cr = (struct soft_cr *)base;
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct soft_msg msg;

	msg_init(&msg, SOFT_MSG_REJ);
	msg.why = DAT_CONNECTION_EVENT_PEER_REJECTED;
	msg.pdata_len = (uint16_t)len;
	if (len)
		memcpy(msg.pdata, pdata, len);
	datp_lock(&ia->lock);
	if (cr->socket)
		(void)soft_socket_send(cr->socket, &msg);
	datp_unlock(&ia->lock);
}

void soft_cr_free(struct datp_cr *base)
{
	struct soft_cr *cr = (struct soft_cr *)base;
	struct soft_ia *ia = soft_ia(base->obj.ia);

	datp_lock(&ia->lock);
	if (cr->socket) { /* rejected, or never answered */
		cr->socket->cr = NULL;
		soft_pending_renew(cr->socket);
		if (!cr->socket->liveness)
			shutdown(cr->socket->fd, SHUT_WR);
		cr->socket = NULL;
	}
	datp_unlock(&ia->lock);
	if (cr->peer)
		soft_peer_put(cr->peer);
	cr->peer = NULL;
}

enum datp_err soft_cr_move(struct datp_cr *from_base, struct datp_cr *to_base)
{
	struct soft_cr *from = (struct soft_cr *)from_base, *to = (struct soft_cr *)to_base;
	struct soft_ia *ia = soft_ia(from_base->obj.ia);

	datp_lock(&ia->lock);
	to->socket = from->socket;
	to->peer = from->peer;
	to->remote = from->remote;
	if (to->socket)
		to->socket->cr = to;
	from->socket = NULL;
	from->peer = NULL;
	datp_unlock(&ia->lock);
	return DATP_OK;
}

/* ---- messages that come back ---- */

/* Takes the endpoint of an answer off its socket; returns NULL if it has given up. soft_ia.lock */
static struct soft_ep *socket_take_ep_locked(struct soft_socket *sock)
{
	struct soft_ep *ep = sock->ep;

	if (ep)
		ep->socket = NULL;
	sock->ep = NULL;
	return ep;
}

static struct soft_ep *socket_take_ep(struct soft_socket *sock)
{
	struct soft_ep *ep;

	datp_lock(&sock->ia->lock);
	ep = socket_take_ep_locked(sock);
	datp_unlock(&sock->ia->lock);
	return ep;
}

/*
 * Returns the peer that answers, which is the socket's from now on; or NULL if the answer is
 * invalid, or if there is no memory.
 */
static struct soft_peer *reply_peer(struct soft_socket *sock, struct soft_msg *msg, int *arena_fd)
{
	struct soft_ia *ia = sock->ia;
	uint32_t sender_id = msg->intro.my_sender_id;
	struct soft_process process;
	struct soft_peer *peer;

	if (sock->peer || *arena_fd < 0 || !msg->intro.sender_id || msg->intro.sender_id >= SOFT_PORT_MAX ||
	    !soft_process_of(sock->fd, sock->pid, &process))
		return NULL;
	/* the peer has the sender ID that our connection request gave it, or one that it got before */
	if (sender_id != sock->sender_id && !soft_sender_id_is_of(ia, sender_id, msg->intro.id, &process)) {
		soft_process_forget(&process);
		return NULL;
	}
	peer = soft_peer_get(sock, &msg->intro, &process, *arena_fd, sender_id);
	*arena_fd = -1;
	if (!peer)
		return NULL;
	if (sock->sender_id != sender_id)
		soft_sender_id_free(ia, sock->sender_id);
	sock->sender_id = 0;
	datp_lock(&ia->lock);
	sock->peer = peer;
	sock->my_sender_id = msg->intro.sender_id;
	datp_unlock(&ia->lock);
	return peer;
}

/*
 * Returns the endpoint that waits for the answer, or NULL if it has given up. It may still give up,
 * but then leaves it to this thread to tell the peer.
 */
static struct soft_ep *reply_ep(struct soft_socket *sock, const struct soft_msg *msg)
{
	struct soft_ep *ep;

	datp_lock(&sock->ia->lock);
	ep = sock->ep;
	if (ep && (ep->index != msg->port || sock->gen != msg->gen))
		ep = NULL;
	sock->answered = ep != NULL;
	datp_unlock(&sock->ia->lock);
	return ep;
}

/* Opens the endpoint. Returns false if the attempt was given up; a thread that gives it up later finds it open. */
static bool reply_open(struct soft_socket *sock, struct soft_ep *ep, struct soft_peer *peer,
		       const struct soft_msg *msg)
{
	struct soft_remote_ep remote;
	bool waits;

	remote_ep_of(msg, &remote);
	datp_lock(&ep->base.lock);
	datp_lock(&sock->ia->lock);
	waits = sock->ep == ep && ep->gen == sock->gen;
	datp_unlock(&sock->ia->lock);
	if (waits) {
		memcpy(&ep->base.remote_address, &msg->address, sizeof msg->address);
		ep->base.remote_port = msg->port_qual;
		waits = soft_ep_open(ep, peer, &remote, false);
	}
	/*
	 * If the accepting side has closed that port meanwhile, no later connection of it has this generation. It may report
	 * the connection, and its program post, before this side has reported it: what arrives then waits for
	 * `establishing`. release: pairs with soft_ep_look(); this side posts only after it
	 */
	if (waits) {
		/* relaxed: the store releases it */
		atomic_fetch_add_explicit(&ep->establishing, 1, memory_order_relaxed);
		atomic_store_explicit(&ep->rport->rtu_gen, ep->rgen, memory_order_release);
	}
	datp_unlock(&ep->base.lock);
	return waits;
}

/*
 * Has our bounce thread serve the peer's mailbox, if the peer needs that to copy. Returns false if it cannot
 * be served: each copy of the peer would wait for an answer until the bound is over.
 */
static bool mailbox_served(struct soft_socket *sock, struct soft_peer *peer,
			   const struct soft_msg *msg)
{
	static struct log_limit unserved;

	if (!msg->mailbox.extent_len || peer->self ||
	    !soft_bounce_serve(sock->ia, peer, &msg->mailbox))
		return true;
	/* relaxed: it only decides about the message, which a peer that has died does not need */
	if (!atomic_load_explicit(&peer->dead, memory_order_relaxed))
		log_limited(
			&unserved, 1,
			"soft: no thread or memory to copy for process %d, which the kernel "
			"does not allow to copy; the connection ends",
			(int)sock->pid);
	return false;
}

static void on_reply(struct soft_socket *sock, struct soft_msg *msg, int *arena_fd)
{
	struct soft_ep *ep = sock->active ? reply_ep(sock, msg) : NULL;
	struct soft_peer *peer = ep ? reply_peer(sock, msg, arena_fd) : NULL;
	struct soft_msg rtu;
	bool established, sent;

	msg_init(&rtu, SOFT_MSG_RTU);
	if (!peer || soft_peer_mailbox(peer, &rtu.mailbox) || !mailbox_served(sock, peer, msg) ||
	    !reply_open(sock, ep, peer, msg)) {
		soft_conn_hangup(sock); /* so that the other side notices it */
		return;
	}
	rtu.port = msg->my_port;
	rtu.gen = msg->my_gen;
	/* before the program hears of the connection: if it frees the endpoint at once, that takes this socket to tell the peer */
	rtu.liveness = soft_liveness_begin(sock, false);
	/*
	 * Since reply_open() the other side may know that this one is connected. If the attempt is given up at this moment, the
	 * other side may report a connection, and that it is BROKEN.
	 */
	established = datp_cm_established(&ep->base, msg->pdata, msg->pdata_len);
	soft_ep_reported(ep);
	if (!established) {
		rtu.type = SOFT_MSG_CANCEL;
		soft_ep_end_unreported(ep, msg->gen, 0);
	}
	socket_take_ep(sock);
	datp_lock(&sock->ia->lock);
	sent = soft_socket_send(sock, &rtu);
	sock->confirmed = true;
	if (!sock->liveness)
		soft_pending_renew(sock);
	datp_unlock(&sock->ia->lock);
	/* the other side does not wait for the RTU any more, or cannot be told */
	if (established && !sent)
		soft_ep_end_and_report(ep, msg->gen, DAT_CONNECTION_EVENT_BROKEN, false, DAT_CONNECTION_EVENT_BROKEN);
}

static void on_reject(struct soft_socket *sock, const struct soft_msg *msg)
{
	/*
	 * Only the passive side sends this. From the active side it counts as a hang-up, which ends the accept; so the endpoint
	 * stays with the socket, where soft_conn_hangup() finds it.
	 */
	struct soft_ep *ep = sock->active && !sock->liveness ? socket_take_ep(sock) : NULL;

	if (ep && msg->why == DAT_CONNECTION_EVENT_PEER_REJECTED)
		(void)datp_cm_rejected(&ep->base, msg->pdata, msg->pdata_len);
	else if (ep)
		(void)datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	soft_conn_hangup(sock);
}

/* Returns true if the message names the connection that was accepted over this socket, which it cannot before the accept. */
static bool rtu_is_current(struct soft_socket *sock, const struct soft_msg *msg)
{
	bool same;

	datp_lock(&sock->ia->lock);
	same = msg->gen && msg->gen == sock->gen;
	datp_unlock(&sock->ia->lock);
	return same;
}

static void on_ready(struct soft_socket *sock, const struct soft_msg *msg)
{
	struct soft_peer *peer = sock->peer;
	struct soft_ep *ep;
	bool served;

	if (!peer || sock->active || sock->liveness)
		return;
	if (!rtu_is_current(sock, msg)) {
		soft_conn_hangup(sock);
		return;
	}
	served = mailbox_served(sock, peer, msg);
	/*
	 * The RTU over the socket that is to be the liveness socket may not have come yet. Then this socket
	 * is one until it comes, because there has to be one by which to tell that a connection has ended.
	 */
	(void)soft_liveness_begin(sock, msg->liveness);
	ep = socket_take_ep(sock);
	if (ep)
		soft_ep_established(ep, msg->gen);
	if (ep && !served)
		soft_ep_end_and_report(ep, msg->gen, DAT_CONNECTION_EVENT_BROKEN, false,
				       DAT_CONNECTION_EVENT_BROKEN);
	if (!sock->liveness)
		soft_socket_end(sock);
	else
		soft_liveness_trim(sock->ia, peer);
}

/*
 * Ends a connection of which the socket has hung up, or whose peer has gone. The peer may have set `rtu_gen`, and ended before its
 * RTU was read. But it may also live, and read the reply later or have reported the connection just now, where this side has hung
 * up. So it is told in any case, and ignores that if it has no such connection.
 */
static void end_lost(struct soft_ep *ep, uint32_t gen)
{
	soft_ep_look(ep);
	soft_ep_end_and_report(ep, gen, DAT_CONNECTION_EVENT_BROKEN, false, DAT_CONNECTION_EVENT_BROKEN);
}

/* The active side gave up, or the socket hung up. The socket may already be the liveness socket. */
static void on_cancel(struct soft_socket *sock)
{
	struct soft_ep *ep;

	/* both under one lock: an accept either finds the socket before this, or does not find it */
	datp_lock(&sock->ia->lock);
	ep = socket_take_ep_locked(sock);
	if (sock->cr)
		sock->cr->socket = NULL;
	sock->cr = NULL;
	datp_unlock(&sock->ia->lock);
	/* the program sees NON_PEER_REJECTED; libdatp logs that nobody has rejected the request */
	if (ep && sock->active) {
		(void)datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_DISCONNECTED);
	} else if (ep) {
		end_lost(ep, sock->gen);
	}
}

/*
 * Returns the generation of the connection that the endpoint has with this peer; 0 if it has none.
 */
static uint32_t ep_gen_with(struct soft_ep *ep, const struct soft_peer *peer)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	uint32_t gen;

	datp_lock(&ia->lock);
	gen = peer && ep->peer == peer ? ep->gen : 0;
	datp_unlock(&ia->lock);
	return gen;
}

static void on_disconnect(struct soft_socket *sock, const struct soft_msg *msg)
{
	struct soft_ep *ep = soft_port_ep(sock->ia, msg->port);
	DAT_EVENT_NUMBER why = msg->why == DAT_CONNECTION_EVENT_BROKEN
				       ? DAT_CONNECTION_EVENT_BROKEN
				       : DAT_CONNECTION_EVENT_DISCONNECTED;

	if (!ep || !msg->gen || ep_gen_with(ep, sock->peer) != msg->gen)
		return;
	soft_ep_established(ep, msg->gen);
	soft_ep_end_and_report(ep, msg->gen, 0, false, why);
}

void soft_conn_message(struct soft_socket *sock, struct soft_msg *msg, int arena_fd)
{
	switch (msg->type) {
	case SOFT_MSG_REQ:
		on_request(sock, msg, &arena_fd);
		break;
	case SOFT_MSG_REP:
		on_reply(sock, msg, &arena_fd);
		break;
	case SOFT_MSG_REJ:
		on_reject(sock, msg);
		break;
	case SOFT_MSG_RTU:
		on_ready(sock, msg);
		break;
	case SOFT_MSG_CANCEL:
		/*
		 * Only the active side sends this; from the passive side it counts as a hang-up, and so does one before the
		 * accept: that socket has nothing to tell about a connection.
		 */
		if (msg->liveness && sock->peer && !sock->active && rtu_is_current(sock, msg))
			(void)soft_liveness_begin(sock, true);
		if (sock->liveness) {
			on_cancel(sock);
			soft_liveness_trim(sock->ia, sock->peer);
		} else {
			soft_conn_hangup(sock);
		}
		break;
	case SOFT_MSG_DISC:
		on_disconnect(sock, msg);
		break;
	default:
		break;
	}
	if (arena_fd >= 0)
		soft_foreign_close(arena_fd);
}

/* A socket has hung up, and that tells that the peer has died, or has closed its IA. */
static void peer_gone(struct soft_ia *ia, struct soft_peer *peer)
{
	soft_peer_died(peer);
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);
		uint32_t gen = ep ? ep_gen_with(ep, peer) : 0;

		if (gen)
			end_lost(ep, gen);
	}
}

void soft_conn_hangup(struct soft_socket *sock)
{
	struct soft_peer *peer;

	on_cancel(sock);
	peer = soft_liveness_tells(sock) ? sock->peer : NULL;
	if (peer) {
		soft_peer_hold(peer);
		peer_gone(sock->ia, peer);
	}
	soft_socket_end(sock);
	if (peer)
		soft_peer_put(peer);
}
