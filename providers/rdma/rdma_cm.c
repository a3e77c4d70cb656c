/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections over rdma_cm, by an external queue pair: we take it through its states, librdmacm
 * never sees it. Invariant: of the ops here only those that libdatp calls touch an endpoint's
 * connection from outside the service thread, and they detach it first.
 */
#include "rdma_async.h"
#include "rdma_cm.h"
#include "rdma_conn.h"
#include "rdma_end.h"
#include "rdma_fork.h"
#include "rdma_hold.h"
#include "rdma_late.h"
#include "rdma_parts.h"
#include "rdma_poll.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ANSWER_MS: within it InfiniBand's connection manager gives no request up; it waits 4.3 s for the answer to each of 16 */
enum { RETRIES = 7, BACKLOG = 0, STALE_CONNECTION = 10, ANSWER_MS = 4000, ASK_MS = 50, MS = 1000000 };

static uint8_t least(int64_t a, int64_t b)
{
	int64_t n = a < b ? a : b;

	return n < 0 ? 0 : n > 255 ? 255 : (uint8_t)n;
}

/* ------------------------------------------------------------------ failing later */

/*
 * An op that has begun something must not fail any more; what failed is told as an event. The
 * service thread calls these.
 */
static void tell_unreachable(struct datp_ep *ep)
{
	datp_cm_failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static void tell_accept_failed(struct datp_ep *ep)
{
	datp_cm_failed(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

static enum datp_err fail_later(struct rdma_ep *ep, void (*tell)(struct datp_ep *ep))
{
	return datp_ep_call(&ep->base, tell);
}

/* ------------------------------------------------------------------ the active side */

/*
 * More reads than the device has are an error to librdmacm, and siw ends the connection. libdatp has kept
 * the attributes within them; but the numbers on the wire have 8 bits, of which 255 means "all of them".
 */
static void fill_param(struct rdma_ep *ep, struct rdma_conn_param *param)
{
	const struct ibv_device_attr *dev = &rdma_ep_ia(ep)->dev;

	param->responder_resources = least(ep->base.attr.max_rdma_read_in, dev->max_qp_rd_atom);
	param->initiator_depth =
		least(ep->base.attr.max_rdma_read_out, dev->max_qp_init_rd_atom);
	if (!param->initiator_depth && rdma_has(rdma_ep_ia(ep), RDMA_DEAF_START))
		param->initiator_depth = 1;
	param->flow_control = 1;
	param->rnr_retry_count = RETRIES; /* for ever: a message waits for its receive */
	param->srq = ep->base.srq != NULL;
	param->qp_num = ep->qpn;
}

/*
 * errno, or 0. A loopback address is no address of an RDMA device, but it is what many hosts find under their own
 * name (127.0.1.1 in Debian's /etc/hosts): this host, so our device as its peers know it.
 */
static int resolve(struct rdma_conn *conn, struct sockaddr_in *to)
{
	struct sockaddr_in from = *(struct sockaddr_in *)&conn->ia->base.address;

	from.sin_port = 0;
	if (ntohl(to->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
		to->sin_addr = from.sin_addr;
	return rdma_resolve_addr(conn->id, (struct sockaddr *)&from,
				 (struct sockaddr *)to, conn->ia->opt.resolve_ms)
		       ? errno
		       : 0;
}

/*
 * The broadcast address of a network looks like any other: the kernel knows its networks, and refuses
 * a socket that may not broadcast. Nothing is sent.
 */
static bool is_broadcast(const struct sockaddr_in *to)
{
	struct rdma_cancel own;
	bool refused = false;
	int fd;

	rdma_fork_hold(&own);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		refused = connect(fd, (const struct sockaddr *)to, sizeof(*to)) && errno == EACCES;
		close(fd);
	}
	rdma_fork_release(&own);
	return refused;
}

/*
 * An address that no adapter can have. rdma_cm takes them all, and nobody answers: over rxe the attempt would
 * last as long as its timeout.
 */
static bool is_nobodys(const struct sockaddr_in *to)
{
	uint32_t address = ntohl(to->sin_addr.s_addr);

	return address == INADDR_ANY || address == INADDR_BROADCAST || IN_MULTICAST(address) ||
	       is_broadcast(to);
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
	if (is_nobodys(&to))
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
	/* No way to the peer is an event, as it is when it takes time to find out. */
	if (resolve(conn, &to))
		err = fail_later(ep, tell_unreachable);
	rdma_conn_made(conn);
	return err;
}

static void learn_port(struct rdma_ep *ep, struct rdma_cm_id *id)
{
	datp_lock(&ep->base.lock);
	ep->base.local_port = ntohs(rdma_get_src_port(id));
	datp_unlock(&ep->base.lock);
}

/* The address is known, the route is, the request can go. Service thread. */
static void connect_now(struct rdma_conn *conn, struct rdma_ep *ep)
{
	int err = rdma_qp_begin(ep, conn->id);

	if (err) {
		datp_log(1, "%s: cannot bring up a queue pair: %s", conn->ia->base.name,
			 strerror(err));
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_UNREACHABLE);
		return;
	}
	learn_port(ep, conn->id);
	if (conn->whole_len)
		rdma_wire_pack_part(conn->ia->kind, conn->whole, conn->whole_len, ++conn->part,
				    conn->pdata);
	conn->asked_ns = rdma_now_ns();
	err = rdma_conn_connect(conn);
	if (err)
		rdma_connect_result(conn, err);
}

/*
 * siw connects its socket within rdma_connect, and says by an errno that nobody listens, or that
 * who listened has gone meanwhile: a host that says so has been reached.
 */
static DAT_EVENT_NUMBER failure_of(int err)
{
	return err == ECONNREFUSED || err == ECONNRESET || err == EPIPE
		       ? DAT_CONNECTION_EVENT_NON_PEER_REJECTED
		       : DAT_CONNECTION_EVENT_UNREACHABLE;
}

void rdma_connect_result(struct rdma_conn *conn, int err)
{
	struct rdma_ep *ep;

	rdma_conn_enter(conn->ia, conn->id, &ep);
	pthread_mutex_lock(&conn->ia->lock);
	conn->working = false;
	pthread_mutex_unlock(&conn->ia->lock);
	if (ep && err)
		datp_cm_failed(&ep->base, failure_of(err));
	rdma_conn_leave(conn);
}

/* ------------------------------------------------------------------ the passive side */

enum datp_err rdma_sp_listen(struct datp_sp *base)
{
	struct rdma_sp *sp = (struct rdma_sp *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	struct sockaddr_in at = *(struct sockaddr_in *)&ia->base.address;
	int err;

	at.sin_port = htons(rdma_wire_port(base->qual));
	/* port 0 would be any: nobody could connect to it */
	if (!at.sin_port)
		return DATP_ERR_QUAL_UNAVAILABLE;
	if (rdma_create_id(ia->channel->channel, &sp->id, sp, RDMA_PS_TCP))
		return DATP_ERR_DEVICE;
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

	/* Waits until the service thread has acknowledged what it has read: is through with it. */
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

/* `word`: a consumer's, or ours that asks for more; NULL: as if nobody listened. Service thread. */
static void refuse(struct rdma_ia *ia, struct rdma_cm_id *id, const unsigned char *word)
{
	rdma_reject(id, word, word ? RDMA_REJECT_BYTES : 0);
	rdma_id_drop(ia, id);
}

/* How much of the peer's private data the consumer is given. The standard has no event that could say of a cut. */
static uint32_t given(const struct rdma_ia *ia, struct rdma_cm_id *id, enum rdma_message what,
		      const struct rdma_conn_param *param)
{
	const struct sockaddr_in *peer = (struct sockaddr_in *)rdma_get_peer_addr(id);
	uint32_t len = rdma_wire_length(ia->kind, what, param);
	char from[INET_ADDRSTRLEN] = "?";

	if (!rdma_wire_is_cut(ia->kind, what, param))
		return len;
	inet_ntop(AF_INET, &peer->sin_addr, from, sizeof(from));
	datp_log(2,
		 "%s: the private data of %s are cut to their first %u bytes, because programs "
		 "have room for no more (max_private_data_size): send less there",
		 ia->base.name, from, len);
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

/* What goes wrong from here on is told by an event: the request is used up. */
static enum datp_err accept_begin(struct rdma_conn *conn, struct rdma_ep *ep,
				  const struct rdma_conn_param *offer)
{
	struct rdma_conn_param *param = &conn->param;

	fill_param(ep, param);
	/* nor more than the peer has offered: it serves no more, and has no more under way */
	param->responder_resources = least(param->responder_resources, offer->responder_resources);
	param->initiator_depth = least(param->initiator_depth, offer->initiator_depth);
	/* The peer may ask for no reads at all and read nevertheless, as uDAPL programs do. */
	if (!param->responder_resources)
		param->responder_resources = 1;
	learn_port(ep, conn->id);
	if (rdma_late_begin(conn, ep))
		return DATP_OK;
	datp_lock(&ep->base.lock);
	rdma_hold_begin_locked(ep);
	datp_unlock(&ep->base.lock);
	if (!rdma_qp_begin(ep, conn->id) &&
	    !rdma_qp_connect(ep, conn->id, param->responder_resources, param->initiator_depth) &&
	    !rdma_accept(conn->id, param)) {
		conn->answered = true;
		return DATP_OK;
	}
	/* the active side has given up, most likely */
	datp_log(3, "%s: cannot accept a request: %s", conn->ia->base.name, strerror(errno));
	return fail_later(ep, tell_accept_failed);
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
	err = accept_begin(conn, ep, &cr->offer);
	rdma_conn_made(conn);
	return err;
}

void rdma_cr_reject(struct datp_cr *base)
{
	struct rdma_cr *cr = (struct rdma_cr *)base;
	unsigned char word[RDMA_REJECT_BYTES];

	rdma_wire_reject(word);
	/* a request whose sender has gone needs no answer */
	if (cr->id)
		rdma_reject(cr->id, word, sizeof(word));
}

void rdma_cr_free(struct datp_cr *base)
{
	struct rdma_cr *cr = (struct rdma_cr *)base;

	if (cr->id)
		rdma_id_drop(rdma_ia(base->obj.ia), cr->id);
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
 * The reads of an active side's connection that the answer leaves in each direction. They are seen
 * from here: we may read as much as the peer serves, and the other way round. siw is the other way round
 * again: it tells of what it will serve itself as what the peer does.
 */
static uint8_t reads_in(const struct rdma_conn *conn, const struct rdma_conn_param *answer)
{
	return least(rdma_has(conn->ia, RDMA_CROSSED_READS) ? answer->initiator_depth : answer->responder_resources,
		     conn->param.responder_resources);
}

static uint8_t reads_out(const struct rdma_conn *conn, const struct rdma_conn_param *answer)
{
	return least(rdma_has(conn->ia, RDMA_CROSSED_READS) ? answer->responder_resources : answer->initiator_depth,
		     conn->param.initiator_depth);
}

/* It is a read, which the peer must have agreed to serve. */
static bool greet(struct rdma_conn *conn, struct rdma_ep *ep, const struct rdma_conn_param *param)
{
	bool posted;

	if (!conn->active || !rdma_has(conn->ia, RDMA_DEAF_START) || !reads_out(conn, param))
		return false;
	datp_lock(&ep->base.lock);
	posted = !ep->over && rdma_post_greeting(ep);
	datp_unlock(&ep->base.lock);
	return posted;
}

/*
 * The active side has its answer in `param`; the passive side has sent it in its own parameters.
 * Devices of iWARP but siw have no such answer to rely on: which of the numbers is which differs, and
 * version 1 of MPA carries none.
 */
static void agree(const struct rdma_conn *conn, struct rdma_ep *ep,
		  const struct rdma_conn_param *param)
{
	int32_t in = conn->param.responder_resources, out = conn->param.initiator_depth;

	if (!conn->ia->kind->three_way && !rdma_has(conn->ia, RDMA_CROSSED_READS))
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
	conn->greeting = greet(conn, ep, param);
	if (!conn->greeting) {
		rdma_established_show(ep, param->private_data, len);
		return;
	}
	conn->whole_len = len < sizeof(conn->whole) ? len : sizeof(conn->whole);
	if (conn->whole_len)
		memcpy(conn->whole, param->private_data, conn->whole_len);
	rdma_knock_begin(conn);
}

void rdma_ep_greeted(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct rdma_conn *conn;
	bool inside = false;

	pthread_mutex_lock(&ia->lock);
	conn = ep->conn;
	if (conn && !conn->greeting)
		conn = NULL;
	if (conn) {
		/* an event of it may be what this is part of */
		inside = conn->busy;
		conn->busy = true;
	}
	pthread_mutex_unlock(&ia->lock);
	if (!conn)
		return;
	conn->greeting = false;
	rdma_established_show(ep, conn->whole, conn->whole_len);
	if (!inside)
		rdma_conn_leave(conn);
}

/*
 * Has the peer taken its reply back? It does where it disconnects before our confirmation has come: it
 * has no connection to end yet, and its connection manager rejects. The kernel has no parameters for a
 * queue pair then.
 */
static bool taken_back(struct rdma_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	return rdma_init_qp_attr(conn->id, &attr, &mask) && errno == EINVAL;
}

/*
 * A peer that takes the first of two parts for all there is does not know of parts. Its consumer has
 * private data that end in the middle, and its reply is not taken.
 */
static void accepted_in_part(struct rdma_conn *conn, struct rdma_ep *ep)
{
	datp_log(1,
		 "%s: the peer has accepted the first part of %u bytes of private data as the "
		 "whole, so it is not OpenDAT: send it %u bytes at most",
		 conn->ia->base.name, conn->whole_len, conn->ia->kind->request_bytes);
	rdma_reject(conn->id, NULL, 0);
	datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* The peer's reply: our side of the queue pair, then the confirmation. Service thread. */
static void response(struct rdma_conn *conn, struct rdma_ep *ep,
		     const struct rdma_conn_param *param)
{
	uint8_t in = reads_in(conn, param);
	int err;

	if (conn->part == 1) {
		accepted_in_part(conn, ep);
		return;
	}
	/* a peer that asked for none may read nevertheless */
	err = rdma_qp_connect(ep, conn->id, in ? in : 1, reads_out(conn, param));
	if (err && taken_back(conn)) {
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	if (err) {
		datp_log(1, "%s: cannot connect a queue pair: %s", conn->ia->base.name,
			 strerror(err));
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_UNREACHABLE);
		return;
	}
	established(conn, ep, param);
	if (rdma_establish(conn->id))
		rdma_ep_lost(ep, taken_back(conn) ? DAT_CONNECTION_EVENT_DISCONNECTED
						  : DAT_CONNECTION_EVENT_BROKEN);
}

static void notify_heard(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_ia *ia = rdma_ep_ia(ep);

	pthread_mutex_lock(&ia->lock);
	if (ep->conn && ep->conn->id && !ep->conn->established && !ep->conn->active)
		rdma_notify(ep->conn->id, IBV_EVENT_COMM_EST);
	pthread_mutex_unlock(&ia->lock);
}

void rdma_ep_heard_locked(struct rdma_ep *ep)
{
	/* once: the first of those that are kept */
	if (rdma_ep_ia(ep)->kind->three_way && ep->early && !ep->early->next)
		datp_ep_call(&ep->base, notify_heard);
}

/* ------------------------------------------------------------------ events */

static void resolve_again(struct rdma_conn *conn, struct rdma_ep *ep, int status, bool route)
{
	struct sockaddr_in to = *(struct sockaddr_in *)rdma_get_peer_addr(conn->id);
	bool again = status == -ETIMEDOUT && ++conn->tries < conn->ia->opt.resolve_tries;
	int err = again ? 0 : EHOSTUNREACH;

	if (!err && route)
		err = rdma_resolve_route(conn->id, conn->ia->opt.resolve_ms) ? errno : 0;
	else if (!err)
		err = resolve(conn, &to);
	if (err)
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* One more request, by an id of its own. False: it cannot be sent. */
static bool send_another(struct rdma_conn *conn)
{
	struct sockaddr_in to = *(struct sockaddr_in *)rdma_get_peer_addr(conn->id);
	struct rdma_cm_id *id;

	if (rdma_create_id(conn->channel->channel, &id, conn, RDMA_PS_TCP))
		return false;
	rdma_ask_forget(conn);
	/* not at once: its event is not acknowledged yet */
	rdma_id_drop(conn->ia, conn->id);
	conn->id = id;
	return resolve(conn, &to) == 0;
}

void rdma_ask(struct rdma_conn *conn, struct rdma_ep *ep)
{
	if (!send_another(conn))
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/*
 * The same request once more, after a pause if it is not the first time. Returns false if that has been tried often
 * enough, or cannot be done.
 */
static bool ask_again(struct rdma_conn *conn)
{
	if (++conn->tries >= conn->ia->opt.resolve_tries)
		return false;
	if (conn->part)
		conn->part--;
	if (conn->tries == 1)
		return send_another(conn);
	rdma_ask_later(conn, (uint32_t)ASK_MS << (conn->tries < 8 ? conn->tries : 8));
	return true;
}

/*
 * The number of our queue pair is one that the peer's connection manager knows from a connection whose end it has missed, or
 * from an earlier request of this attempt. It gives that one up when it says so, or when it comes to the message that ends the
 * request, which it may do later than to the next request: hence the pauses. The same request is as good as any then.
 */
static bool stale(struct rdma_conn *conn, int status)
{
	return conn->ia->kind->three_way && status == STALE_CONNECTION && ask_again(conn);
}

/*
 * Linux says "unreachable" of each RoCE id whose peer's neighbour entry gets another hardware address, whatever the id is
 * doing. An attempt has not failed then: the request may have gone to the old address, so it is sent again, to the new one.
 */
static bool neighbour_moved(struct rdma_conn *conn, int status)
{
	bool early = !conn->asked_ns ||
		     rdma_now_ns() - conn->asked_ns < (uint64_t)ANSWER_MS * MS;

	return conn->ia->kind->three_way && conn->active && status == -ETIMEDOUT && early &&
	       ask_again(conn);
}

/*
 * A peer that disconnects before our confirmation has come has no other way to say so. Its id is gone, as
 * the connection is for the kernel: there is nobody to answer, and no further event to wait for.
 */
static void rejected_late(struct rdma_conn *conn, struct rdma_ep *ep)
{
	conn->established = false;
	rdma_ep_lost(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void rejected(struct rdma_conn *conn, struct rdma_ep *ep, const struct rdma_cm_event *event)
{
	if (conn->established) {
		rejected_late(conn, ep);
		return;
	}
	/* more private data are asked for */
	if (conn->part == 1 && rdma_wire_is_more(&event->param.conn) && send_another(conn))
		return;
	if (stale(conn, event->status))
		return;
	if (conn->ia->kind->rejected_by_consumer(event->status) &&
	    rdma_wire_is_reject(&event->param.conn))
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_PEER_REJECTED);
	else
		datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/*
 * Since Linux 6.0 UNREACHABLE also comes to an established connection over RoCE, when the neighbour's
 * hardware address changes: that one is broken, it has not failed to connect.
 */
static void unreachable(struct rdma_conn *conn, struct rdma_ep *ep, int status)
{
	/* siw's active side has found more than an answer */
	if (status == -EPROTO && !conn->ia->kind->three_way)
		datp_log(2,
			 "%s: the peer has sent a message together with its reply, which siw "
			 "treats as an error: let its program wait for the first message of this "
			 "side, or raise hold_ms there",
			 conn->ia->base.name);
	if (conn->established)
		rdma_ep_lost(ep, DAT_CONNECTION_EVENT_BROKEN);
	else if (!neighbour_moved(conn, status))
		datp_cm_failed(&ep->base, failure_of(-status));
}

/*
 * The peer's message is the same whether it wanted to go or had to, because it did what we do not
 * allow; but then our queue pair is in error already.
 */
static bool in_error(struct rdma_ep *ep)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR;
}

/* Both sides have to call rdma_disconnect: this side's answer lets the peer's connection go. */
static void disconnected(struct rdma_conn *conn, struct rdma_ep *ep)
{
	bool broken = conn->ia->kind->three_way && in_error(ep);

	/* iWARP's is in error either way; but the device has told before, if it was the reason */
	rdma_async_event(conn->ia, 0);
	rdma_ep_lost(ep, broken ? DAT_CONNECTION_EVENT_BROKEN : DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void handle(struct rdma_conn *conn, struct rdma_ep *ep, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(conn->id, conn->ia->opt.resolve_ms))
			datp_cm_failed(&ep->base, DAT_CONNECTION_EVENT_UNREACHABLE);
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
		disconnected(conn, ep);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rdma_ep_lost(ep, DAT_CONNECTION_EVENT_BROKEN);
		rdma_device_lost(conn->ia);
		break;
	default: /* TIMEWAIT_EXIT, ADDR_CHANGE: nothing follows from them */
		break;
	}
}

/* What ends an id that nobody has any more. */
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

	/* the endpoint's: nobody else looks at it now */
	if (ep && is_end(event->event)) {
		conn->answered = false;
		conn->ended = !ia->kind->three_way;
	}
	if (ep)
		handle(conn, ep, event);
	else if (is_end(event->event))
		rdma_conn_dead(conn);
	else if (event->event == RDMA_CM_EVENT_ESTABLISHED && conn->answered)
		rdma_conn_confirmed(conn);
	rdma_conn_leave(conn);
}

/*
 * An id of ours alone, or one that listens: its context is no connection. Such an id has no peer;
 * the family of its peer's address may be there all the same.
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
	while (!rdma_get_cm_event(ia->channel->channel, &event)) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			request(ia, event);
		else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL &&
			 has_no_connection(event->id))
			rdma_device_lost(ia);
		else
			conn_event(ia, event);
		rdma_ack_cm_event(event);
	}
}
