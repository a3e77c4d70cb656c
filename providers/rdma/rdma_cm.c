/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections over rdma_cm with external queue pairs: this provider changes the state of the queue
 * pair itself, and librdmacm never sees it. Invariant: outside the service thread, only the ops
 * here that libdatp calls access an endpoint's connection, and they detach it first.
 */
#include "log/limited.h"
#include "rdma_address.h"
#include "rdma_async.h"
#include "rdma_cm.h"
#include "rdma_conn.h"
#include "rdma_end.h"
#include "rdma_defer.h"
#include "rdma_parts.h"
#include "rdma_poll.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_timer.h"
#include "rdma_wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/*
 * ANSWER_MS: InfiniBand's connection manager does not give up a request within this time; it sends
 * it 16 times, and waits 4.1 s for the reply to each
 */
enum {
	RETRIES = 7,
	BACKLOG = 0,
	STALE_CONNECTION = 10,
	ANSWER_MS = 60000,
	ASK_MS = 50,
	MS = 1000,
	EVENTS_AT_ONCE = 64,
};

static uint8_t least(int64_t a, int64_t b)
{
	int64_t n = a < b ? a : b;

	return n < 0 ? 0 : n > 255 ? 255 : (uint8_t)n;
}

/* ------------------------------------------------------------------ the active side */

/*
 * Each side serves as many reads as the other may have outstanding, whatever the programs ask for: more than it serves
 * would end the connection. The peer's device is assumed to have the limit of this one.
 */
static void fill_usual_reads(const struct ibv_device_attr *dev, struct rdma_conn_param *param)
{
	uint8_t usual = least(RDMA_READS_USUAL, dev->max_qp_rd_atom);

	if (param->responder_resources < usual)
		param->responder_resources = usual;
	param->initiator_depth = least(usual, param->initiator_depth);
}

/*
 * librdmacm refuses more reads than the device supports, and siw ends the connection. libdatp has
 * kept the attributes within the device's limits; but the numbers on the wire have 8 bits, and 255
 * means "all of them".
 */
static void fill_param(struct rdma_ep *ep, struct rdma_conn_param *param)
{
	const struct ibv_device_attr *dev = &rdma_ep_ia(ep)->dev;

	param->responder_resources = least(ep->base.attr.max_rdma_read_in, dev->max_qp_rd_atom);
	param->initiator_depth =
		least(ep->base.attr.max_rdma_read_out, dev->max_qp_init_rd_atom);
	if (rdma_has(rdma_ep_ia(ep), RDMA_READS_UNSAID))
		fill_usual_reads(dev, param);
	if (!param->initiator_depth && rdma_has(rdma_ep_ia(ep), RDMA_DEAF_START))
		param->initiator_depth = 1;
	param->flow_control = 1;
	/* 7 means unlimited retries: a message waits for its receive */
	param->rnr_retry_count = RETRIES;
	param->srq = ep->base.srq != NULL;
	param->qp_num = ep->qpn;
}

enum datp_err rdma_ep_connect(struct datp_ep *base, const struct datp_conn_param *what)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct sockaddr_in to;
	struct rdma_cm_id *id;
	struct rdma_conn *conn;
	enum datp_err err;

	if (what->address->sa_family != AF_INET)
		return DATP_ERR_ADDRESS_UNSUPPORTED;
	memcpy(&to, what->address, sizeof(to));
	to.sin_port = htons(rdma_wire_port(what->qual));
	if (!to.sin_port)
		return DATP_ERR_BAD_QUAL;
	if (rdma_address_is_nobodys(&to))
		return DATP_ERR_ADDRESS_MALFORMED;
	err = rdma_qp_ensure(ep);
	if (err)
		return err;
	if (rdma_create_id(ia->channel->channel, &id, NULL, RDMA_PS_TCP)) {
		datp_log(1, "%s: cannot connect: %s", ia->base.name, strerror(errno));
		return DATP_ERR_TEP;
	}
	conn = rdma_conn_new(ia, ep, id);
	if (!conn) {
		rdma_destroy_id(id);
		return DATP_ERR_MEMORY;
	}
	conn->active = true;
	fill_param(ep, &conn->param);
	rdma_wire_pack(ia->kind, RDMA_REQUEST, what->pdata, what->pdata_len, conn->pdata,
		       &conn->param);
	if (rdma_wire_in_parts(ia->kind, what->pdata_len)) {
		memcpy(conn->whole, what->pdata, what->pdata_len);
		conn->whole_len = what->pdata_len;
	}
	/* if there is no route to the peer, this is an event, as it is when resolving takes time */
	if (rdma_address_resolve(conn, &to))
		conn->fails = DAT_CONNECTION_EVENT_UNREACHABLE;
	rdma_conn_made(conn);
	return DATP_OK;
}

static void learn_port(struct rdma_ep *ep, struct rdma_cm_id *id)
{
	datp_lock(&ep->base.lock);
	ep->base.local_port = ntohs(rdma_get_src_port(id));
	datp_unlock(&ep->base.lock);
}

/* The address and the route have been resolved, and the connection request can be sent. Service thread. */
static void connect_now(struct rdma_conn *conn, struct rdma_ep *ep)
{
	int err = rdma_qp_begin(ep, conn->id);

	if (err) {
		static struct log_limit not_begun;

		log_limited(&not_begun, 1, "%s: cannot bring up a queue pair: %s", conn->ia->base.name, strerror(err));
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
		return;
	}
	learn_port(ep, conn->id);
	if (conn->whole_len)
		rdma_wire_pack_part(conn->ia->kind, conn->whole, conn->whole_len, ++conn->part,
				    conn->pdata);
	conn->asked_us = datp_clock_us();
	err = rdma_conn_connect(conn);
	if (err)
		rdma_connect_result(conn, err);
}

/* ------------------------------------------------------------------ the passive side */

enum datp_err rdma_sp_listen(struct datp_sp *base)
{
	struct rdma_sp *sp = (struct rdma_sp *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	struct sockaddr_in at = *(struct sockaddr_in *)&ia->base.address;
	int err;

	at.sin_port = htons(rdma_wire_port(base->qual));
	/* port 0 would mean any port, to which nobody could connect */
	if (!at.sin_port)
		return DATP_ERR_QUAL_UNAVAILABLE;
	if (rdma_create_id(ia->channel->channel, &sp->id, sp, RDMA_PS_TCP))
		return DATP_ERR_DEVICE;
	rdma_address_mark(ia, sp->id);
	if (!rdma_bind_addr(sp->id, (struct sockaddr *)&at) && !rdma_listen(sp->id, BACKLOG))
		return DATP_OK;
	err = errno;
	rdma_destroy_id(sp->id);
	sp->id = NULL;
	switch (err) {
	case EBUSY:
	case EADDRINUSE:
	case EADDRNOTAVAIL:
		return DATP_ERR_QUAL_IN_USE;
	case EACCES:
	case EPERM:
		datp_log(1,
			 "%s: port %u needs CAP_NET_BIND_SERVICE: "
			 "use connection qualifiers from 1024",
			 ia->base.name, ntohs(at.sin_port));
		return DATP_ERR_QUAL_UNAVAILABLE;
	default:
		datp_log(1, "%s: cannot listen on port %u: %s", ia->base.name, ntohs(at.sin_port),
			 strerror(err));
		return DATP_ERR_QUAL_UNAVAILABLE;
	}
}

void rdma_sp_close(struct datp_sp *base)
{
	struct rdma_sp *sp = (struct rdma_sp *)base;

	/* waits until the service thread has acknowledged the events that it has read */
	if (sp->id)
		rdma_destroy_id(sp->id);
	sp->id = NULL;
}

static void cr_prepare(struct datp_cr *base, void *arg)
{
	const struct rdma_cm_event *event = arg;
	struct rdma_cr *cr = (struct rdma_cr *)base;

	cr->id = event->id;
	cr->offer = event->param.conn;
	cr->offer.private_data = NULL;
}

/*
 * Rejects a connection request. `word` is that of a consumer's rejection, or the one that asks for the second
 * part; with NULL, the peer sees the same as if no program listened. Service thread.
 */
static void refuse(struct rdma_ia *ia, struct rdma_cm_id *id, const unsigned char *word)
{
	rdma_reject(id, word, word ? RDMA_REJECT_BYTES : 0);
	(void)rdma_id_drop(ia, id);
}

/*
 * Returns how much of the peer's private data the consumer gets. No event of the standard could
 * report that they are cut.
 */
static uint32_t given(const struct rdma_ia *ia, struct rdma_cm_id *id, enum rdma_message what,
		      const struct rdma_conn_param *param)
{
	const struct sockaddr_in *peer = (struct sockaddr_in *)rdma_get_peer_addr(id);
	uint32_t len = rdma_wire_length(ia->kind, what, param);
	char from[INET_ADDRSTRLEN] = "?";
	static struct log_limit cut;

	if (!rdma_wire_is_cut(ia->kind, what, param))
		return len;
	inet_ntop(AF_INET, &peer->sin_addr, from, sizeof(from));
	log_limited(&cut, 2,
		    "%s: the private data of %s are cut to their first %u bytes, because programs "
		    "have room for no more (max_private_data_size): send less there", ia->base.name, from, len);
	return len;
}

/* Service thread. */
static void request(struct rdma_ia *ia, struct rdma_cm_event *event)
{
	struct rdma_sp *sp = event->listen_id->context;
	const struct rdma_conn_param *param = &event->param.conn;
	unsigned char whole[RDMA_PDATA_MAX], word[RDMA_REJECT_BYTES];
	struct datp_cm_arrival arrival = {
		.address = rdma_get_peer_addr(event->id),
		.remote_port = ntohs(rdma_get_dst_port(event->id)),
		.pdata = param->private_data,
		.pdata_len = given(ia, event->id, RDMA_REQUEST, param),
		.prepare = cr_prepare,
		.arg = event,
	};

	switch (rdma_parts_join(ia, event, whole, &arrival.pdata_len)) {
	case RDMA_PARTS_NONE:
		break;
	case RDMA_PARTS_MORE:
		rdma_wire_more(word);
		refuse(ia, event->id, word);
		return;
	case RDMA_PARTS_WHOLE:
		arrival.pdata = whole;
		break;
	case RDMA_PARTS_BAD:
		refuse(ia, event->id, NULL);
		return;
	}
	if (datp_cm_request(&sp->base, &arrival, NULL))
		refuse(ia, event->id, NULL);
}

/*
 * No more reads than the peer has offered: it serves no more, and has no more outstanding. But it may
 * ask for no reads and read nevertheless, as uDAPL programs do.
 */
static void fit_offer(const struct rdma_ia *ia, const struct rdma_conn_param *offer,
		      struct rdma_conn_param *param)
{
	if (!rdma_has(ia, RDMA_READS_UNSAID)) {
		param->responder_resources = least(param->responder_resources, offer->responder_resources);
		param->initiator_depth = least(param->initiator_depth, offer->initiator_depth);
	}
	if (!param->responder_resources)
		param->responder_resources = 1;
}

/* A failure from here on is reported by an event, because the connection request is used up. */
static void accept_begin(struct rdma_conn *conn, struct rdma_ep *ep, const struct rdma_conn_param *offer)
{
	static struct log_limit unaccepted;
	struct rdma_conn_param *param = &conn->param;

	fill_param(ep, param);
	fit_offer(conn->ia, offer, param);
	learn_port(ep, conn->id);
	if (rdma_accept_defer(conn, ep))
		return;
	datp_lock(&ep->base.lock);
	rdma_defer_begin_locked(ep);
	datp_unlock(&ep->base.lock);
	if (!rdma_qp_begin(ep, conn->id) &&
	    !rdma_qp_connect(ep, conn->id, param->responder_resources, param->initiator_depth) &&
	    !rdma_accept(conn->id, param)) {
		conn->answered = true;
		return;
	}
	log_limited(&unaccepted, 3, "%s: cannot accept a request, most likely because the peer has given up: %s",
		    conn->ia->base.name, strerror(errno));
	conn->fails = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
}

enum datp_err rdma_cr_accept(struct datp_cr *base, struct datp_ep *ep_base, const void *pdata,
			     uint32_t len)
{
	struct rdma_cr *cr = (struct rdma_cr *)base;
	struct rdma_ep *ep = rdma_ep(ep_base);
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct rdma_conn *conn;
	enum datp_err err = rdma_qp_ensure(ep);

	if (err)
		return err;
	conn = rdma_conn_new(ia, ep, cr->id);
	if (!conn)
		return DATP_ERR_MEMORY;
	cr->id = NULL;
	rdma_wire_pack(ia->kind, RDMA_REPLY, pdata, len, conn->pdata, &conn->param);
	accept_begin(conn, ep, &cr->offer);
	rdma_conn_made(conn);
	return DATP_OK;
}

void rdma_cr_reject(struct datp_cr *base)
{
	struct rdma_cr *cr = (struct rdma_cr *)base;
	unsigned char word[RDMA_REJECT_BYTES];

	rdma_wire_reject(word);
	/* if the sender of the connection request has gone, the request needs no answer */
	if (cr->id)
		rdma_reject(cr->id, word, sizeof(word));
}

void rdma_cr_reject_with(struct datp_cr *base, const void *pdata, uint32_t len)
{
	struct rdma_cr *cr = (struct rdma_cr *)base;
	unsigned char wire[RDMA_PDATA_MAX];

	if (cr->id)
		rdma_reject(cr->id, wire, rdma_wire_pack_reject(rdma_ia(base->obj.ia)->kind, pdata, len, wire));
}

void rdma_cr_free(struct datp_cr *base)
{
	struct rdma_cr *cr = (struct rdma_cr *)base;

	if (cr->id)
		(void)rdma_id_drop(rdma_ia(base->obj.ia), cr->id);
	cr->id = NULL;
}

enum datp_err rdma_cr_move(struct datp_cr *from_base, struct datp_cr *to_base)
{
	struct rdma_cr *from = (struct rdma_cr *)from_base, *to = (struct rdma_cr *)to_base;

	to->id = from->id;
	to->offer = from->offer;
	from->id = NULL;
	return DATP_OK;
}

/* ------------------------------------------------------------------ established */

/*
 * The number of reads in each direction that the reply to an active side's connection request allows. They are
 * seen from this side: it may read as many as the peer serves, and vice versa. siw exchanges the
 * two numbers.
 */
static uint8_t reads_in(const struct rdma_conn *conn, const struct rdma_conn_param *answer)
{
	uint8_t said = rdma_has(conn->ia, RDMA_CROSSED_READS) ? answer->initiator_depth : answer->responder_resources;

	return rdma_has(conn->ia, RDMA_READS_UNSAID) ? conn->param.responder_resources
						      : least(said, conn->param.responder_resources);
}

static uint8_t reads_out(const struct rdma_conn *conn, const struct rdma_conn_param *answer)
{
	uint8_t said = rdma_has(conn->ia, RDMA_CROSSED_READS) ? answer->responder_resources : answer->initiator_depth;

	return rdma_has(conn->ia, RDMA_READS_UNSAID) ? conn->param.initiator_depth
						      : least(said, conn->param.initiator_depth);
}

/* The RTR message is a read, which the peer must have agreed to serve. */
static bool send_rtr_message(struct rdma_conn *conn, struct rdma_ep *ep, const struct rdma_conn_param *param)
{
	bool posted;

	if (!conn->active || !rdma_has(conn->ia, RDMA_DEAF_START) || !reads_out(conn, param))
		return false;
	datp_lock(&ep->base.lock);
	posted = !ep->over && rdma_post_rtr_message(ep);
	datp_unlock(&ep->base.lock);
	return posted;
}

/*
 * The active side has the reply in `param`; the passive side has sent the reply in its own
 * parameters. On iWARP devices other than siw the reply is not reliable: they differ in the order
 * of the two numbers, and version 1 of MPA carries none.
 */
static void agree(const struct rdma_conn *conn, struct rdma_ep *ep,
		  const struct rdma_conn_param *param)
{
	int32_t in = conn->param.responder_resources, out = conn->param.initiator_depth;

	if (!conn->ia->kind->has_rtu && !rdma_has(conn->ia, RDMA_CROSSED_READS))
		return;
	if (conn->active) {
		in = reads_in(conn, param);
		out = reads_out(conn, param);
	}
	datp_lock(&ep->base.lock);
	rdma_qp_agreed_locked(ep, in, out);
	datp_unlock(&ep->base.lock);
}

static void established(struct rdma_conn *conn, struct rdma_ep *ep,
			const struct rdma_conn_param *param)
{
	uint32_t len = conn->active ? given(conn->ia, conn->id, RDMA_REPLY, param) : 0;

	agree(conn, ep, param);
	conn->established = true;
	conn->rtr_pending = send_rtr_message(conn, ep, param);
	if (!conn->rtr_pending) {
		rdma_established_show(ep, param->private_data, len);
		return;
	}
	conn->whole_len = len < sizeof(conn->whole) ? len : sizeof(conn->whole);
	if (conn->whole_len)
		memcpy(conn->whole, param->private_data, conn->whole_len);
	rdma_nudge_begin(conn);
}

void rdma_ep_rtr_answered(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct rdma_conn *conn;
	bool inside = false;

	pthread_mutex_lock(&ia->lock);
	conn = ep->conn;
	if (conn && !conn->rtr_pending)
		conn = NULL;
	if (conn) {
		/* this may be part of the handling of one of its events */
		inside = conn->busy;
		conn->busy = true;
	}
	pthread_mutex_unlock(&ia->lock);
	if (!conn)
		return;
	conn->rtr_pending = false;
	rdma_established_show(ep, conn->whole, conn->whole_len);
	if (!inside)
		rdma_conn_leave(conn);
}

/*
 * Returns true if the peer has taken its reply back, because it has disconnected before our
 * RTU has arrived: it has no connection to end yet, so its connection manager rejects. Then
 * the kernel has no parameters for a queue pair.
 */
static bool taken_back(struct rdma_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	return rdma_init_qp_attr(conn->id, &attr, &mask) && errno == EINVAL;
}

/*
 * A peer that takes the first of two parts for the whole does not know about parts. Its consumer
 * has private data that are cut in the middle, so its reply is not accepted.
 */
static void accepted_in_part(struct rdma_conn *conn, struct rdma_ep *ep)
{
	static struct log_limit partly;

	log_limited(&partly, 1,
		    "%s: the peer has accepted the first part of %u bytes of private data as the "
		    "whole, so it is not OpenDAT: send it %u bytes at most",
		    conn->ia->base.name, conn->whole_len, conn->ia->kind->request_bytes);
	rdma_reject(conn->id, NULL, 0);
	rdma_ep_failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/*
 * The peer's reply has arrived: connect this side of the queue pair, then send the RTU. It is sent before the program hears of the
 * connection, so that it is ahead of what the program does next, such as to end another connection. What the peer sends at once
 * is kept as an early receive. Service thread.
 */
static void response(struct rdma_conn *conn, struct rdma_ep *ep,
		     const struct rdma_conn_param *param)
{
	uint8_t in = reads_in(conn, param);
	DAT_EVENT_NUMBER end = 0;
	int err;

	rdma_ask_forget(ep); /* an earlier request has been answered */
	if (conn->part == 1) {
		accepted_in_part(conn, ep);
		return;
	}
	/* a peer that asked for no reads may read nevertheless */
	err = rdma_qp_connect(ep, conn->id, in ? in : 1, reads_out(conn, param));
	if (err && taken_back(conn)) {
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	if (err) {
		static struct log_limit unconnected;

		log_limited(&unconnected, 1, "%s: cannot connect a queue pair: %s", conn->ia->base.name,
			    strerror(err));
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
		return;
	}
	if (rdma_establish(conn->id))
		end = taken_back(conn) ? DAT_CONNECTION_EVENT_DISCONNECTED : DAT_CONNECTION_EVENT_BROKEN;
	established(conn, ep, param);
	if (end)
		rdma_ep_lost(ep, end);
}

void rdma_ep_heard(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_ia *ia = rdma_ep_ia(ep);

	if (!ia->kind->has_rtu)
		return;
	pthread_mutex_lock(&ia->lock);
	if (ep->conn && ep->conn->id && !ep->conn->established && !ep->conn->active)
		rdma_notify(ep->conn->id, IBV_EVENT_COMM_EST);
	pthread_mutex_unlock(&ia->lock);
}

void rdma_ep_heard_locked(struct rdma_ep *ep)
{
	/* only once: for the first early receive */
	if (rdma_ep_ia(ep)->kind->has_rtu && ep->early && !ep->early->next)
		datp_ep_call(&ep->base, rdma_ep_heard);
}

/* ------------------------------------------------------------------ events */

static void resolve_again(struct rdma_conn *conn, struct rdma_ep *ep, int status, bool route)
{
	struct sockaddr_in to = *(struct sockaddr_in *)rdma_get_peer_addr(conn->id);
	const struct rdma_options *opt = &conn->ia->opt;
	bool again = status == -ETIMEDOUT &&
		     (route ? ++conn->routes < opt->route_tries : ++conn->tries < opt->resolve_tries);
	int err = again ? 0 : EHOSTUNREACH;

	if (!err && route)
		err = rdma_resolve_route(conn->id, opt->route_ms) ? errno : 0;
	else if (!err)
		err = rdma_address_resolve(conn, &to);
	if (err)
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* Sends one more connection request, with an id of its own. Returns false if it cannot be sent, or the attempt is over. */
static bool send_another(struct rdma_conn *conn)
{
	struct sockaddr_in to = *(struct sockaddr_in *)rdma_get_peer_addr(conn->id);
	struct rdma_cm_id *id;

	if (rdma_qp_is_over(conn->ep) || rdma_create_id(conn->channel->channel, &id, conn, RDMA_PS_TCP))
		return false;
	rdma_ask_forget(conn->ep);
	/* not destroyed at once, because its event is not acknowledged yet */
	if (!rdma_id_drop(conn->ia, conn->id)) {
		rdma_destroy_id(id);
		return false;
	}
	conn->id = id;
	return rdma_address_resolve(conn, &to) == 0;
}

void rdma_ask(struct rdma_conn *conn, struct rdma_ep *ep)
{
	if (!send_another(conn))
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/*
 * Sends the same connection request once more, after a pause if it is not the first time. Returns false if
 * this has been tried often enough, or fails, or if the attempt is over.
 */
static bool ask_again(struct rdma_conn *conn)
{
	if (++conn->tries >= conn->ia->opt.resolve_tries || rdma_qp_is_over(conn->ep))
		return false;
	if (conn->part)
		conn->part--;
	if (conn->tries == 1)
		return send_another(conn);
	rdma_ask_later(conn, (uint32_t)ASK_MS << (conn->tries < 8 ? conn->tries : 8));
	return true;
}

/*
 * siw connects its socket within rdma_connect(). Its errno says that nobody listens, or that the
 * listener has gone meanwhile: in both cases the host has been reached.
 */
static DAT_EVENT_NUMBER failure_of(int err)
{
	return err == ECONNREFUSED || err == ECONNRESET || err == EPIPE
		       ? DAT_CONNECTION_EVENT_NON_PEER_REJECTED
		       : DAT_CONNECTION_EVENT_UNREACHABLE;
}

/*
 * librdmacm draws a local port that none of its ids has. Over siw, a TCP connection may have it: one
 * of another program, or one of our own to the same peer that has just ended. Another id gets
 * another port.
 */
static bool port_is_taken(int err)
{
	return err == EADDRINUSE || err == EADDRNOTAVAIL;
}

static void connect_failed(struct rdma_conn *conn, struct rdma_ep *ep, int err)
{
	static struct log_limit unreached;

	if (port_is_taken(err) && ask_again(conn))
		return;
	if (failure_of(err) == DAT_CONNECTION_EVENT_UNREACHABLE)
		log_limited(&unreached, 1, "%s: rdma_connect() fails: %s", conn->ia->base.name, strerror(err));
	rdma_ep_failed(ep, failure_of(err));
}

void rdma_connect_result(struct rdma_conn *conn, int err)
{
	struct rdma_ep *ep;

	rdma_conn_enter(conn->ia, conn->id, &ep);
	pthread_mutex_lock(&conn->ia->lock);
	conn->working = false;
	pthread_mutex_unlock(&conn->ia->lock);
	if (ep && err)
		connect_failed(conn, ep, err);
	rdma_conn_leave(conn);
}

/*
 * The peer's connection manager knows the number of our queue pair from a connection whose end it
 * has missed, or from an earlier connection request of this attempt. It gives up that connection when it says
 * so, or when it receives the message that ends the request, which may be later than the next
 * request: hence the pauses. After that the same request is valid.
 */
static bool stale(struct rdma_conn *conn, int status)
{
	return conn->ia->kind->has_rtu && conn->active && status == STALE_CONNECTION && ask_again(conn);
}

/*
 * Linux reports "unreachable" for each RoCE id when the neighbour entry of its peer gets another
 * hardware address, whatever the state of the id. The attempt has not failed in this case: the
 * request may have gone to the old address, so it is sent again, to the new one.
 */
static bool neighbour_moved(struct rdma_conn *conn, int status)
{
	bool early = !conn->asked_us || datp_clock_us() - conn->asked_us < (uint64_t)ANSWER_MS * MS;

	return conn->ia->kind->has_rtu && conn->active && status == -ETIMEDOUT && early && ask_again(conn);
}

/*
 * A peer that disconnects before our RTU has arrived has no other way to report that. Its
 * id is gone, and so is the connection in the kernel: there is nobody to answer, and no further
 * event to wait for.
 */
static void rejected_late(struct rdma_conn *conn, struct rdma_ep *ep)
{
	conn->established = false;
	rdma_ep_lost(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void rejected(struct rdma_conn *conn, struct rdma_ep *ep, const struct rdma_cm_event *event)
{
	const struct rdma_kind *kind = conn->ia->kind;
	const unsigned char *data;
	uint32_t len;

	if (conn->established) {
		rejected_late(conn, ep);
		return;
	}
	/* the peer asks for the rest of the private data */
	if (conn->part == 1 && rdma_wire_is_more(&event->param.conn) && send_another(conn))
		return;
	if (stale(conn, event->status))
		return;
	if (kind->rejected_by_consumer(event->status) && rdma_wire_is_reject(&event->param.conn)) {
		len = rdma_wire_reject_length(kind, &event->param.conn, &data);
		rdma_ep_rejected(ep, data, len);
	} else {
		rdma_ep_failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
}

/*
 * Since Linux 6.0 UNREACHABLE also comes to an established connection over RoCE, when the
 * neighbour's hardware address changes: that connection is broken, it has not failed to connect.
 */
static void unreachable(struct rdma_conn *conn, struct rdma_ep *ep, int status)
{
	static struct log_limit refused;

	/* EINVAL is what siw of Linux 6.1 reports */
	if ((status == -EPROTO || status == -EINVAL) && !conn->ia->kind->has_rtu)
		log_limited(&refused, 1,
			    "%s: the device refuses the peer's reply, as siw does if a message arrives "
			    "together with it: let the peer's program wait for the first message of "
			    "this side, or raise hold_ms there",
			    conn->ia->base.name);
	if (conn->established)
		rdma_ep_lost(ep, DAT_CONNECTION_EVENT_BROKEN);
	else if (!neighbour_moved(conn, status))
		rdma_ep_failed(ep, failure_of(-status));
}

static void handle(struct rdma_conn *conn, struct rdma_ep *ep, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(conn->id, conn->ia->opt.route_ms))
			rdma_ep_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_now(conn, ep);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		resolve_again(conn, ep, event->status, event->event == RDMA_CM_EVENT_ROUTE_ERROR);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		response(conn, ep, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (!conn->established)
			established(conn, ep, &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rejected(conn, ep, event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		unreachable(conn, ep, event->status);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_ep_disconnected(ep, conn);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rdma_ep_lost(ep, DAT_CONNECTION_EVENT_BROKEN);
		rdma_device_lost(conn->ia);
		break;
	default: /* TIMEWAIT_EXIT, ADDR_CHANGE: nothing has to be done */
		break;
	}
}

/* Returns true if this event ends an id that no endpoint has any more. */
static bool is_end(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		return false;
	}
}

static void conn_event(struct rdma_ia *ia, struct rdma_cm_event *event)
{
	struct rdma_ep *ep;
	struct rdma_conn *conn = rdma_conn_enter(ia, event->id, &ep);

	/* this is the endpoint's connection, and nobody else accesses it now */
	if (ep && is_end(event->event)) {
		conn->answered = false;
		conn->ended = !ia->kind->has_rtu;
	}
	if (ep)
		handle(conn, ep, event);
	else if (is_end(event->event))
		rdma_conn_dead(conn);
	else if (event->event == RDMA_CM_EVENT_ESTABLISHED && conn->answered)
		rdma_retired_established(conn);
	rdma_conn_leave(conn);
}

/*
 * An id that only this file uses, or one that listens: its context is not a connection. Such an id
 * has no peer, although the family of its peer's address may be set. Apart from connection requests, only the
 * removal of the device matters there: a bond that fails over to an interface of another hardware address also
 * reports ADDR_CHANGE.
 */
static bool has_no_connection(struct rdma_cm_id *id)
{
	const struct sockaddr_in *peer = (struct sockaddr_in *)rdma_get_peer_addr(id);

	return !id->context || peer->sin_family != AF_INET || !peer->sin_addr.s_addr;
}

void rdma_cm_event(void *arg, uint32_t events)
{
	struct rdma_ia *ia = arg;
	struct rdma_cm_event *event;

	(void)events;
	/*
	 * the rest is left to the loop's next iteration, because peers may send requests as fast as this thread
	 * refuses them, and it has timers and other events to handle
	 */
	for (int i = 0; i < EVENTS_AT_ONCE && !rdma_get_cm_event(ia->channel->channel, &event); i++) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			request(ia, event);
		else if (!has_no_connection(event->id))
			conn_event(ia, event);
		else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			rdma_device_lost(ia);
		rdma_ack_cm_event(event);
	}
}
