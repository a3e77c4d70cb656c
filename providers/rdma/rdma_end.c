/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection: because the program ends it, or because it has broken. Invariant: an
 * endpoint's connection is taken away from it once, and its queue pair stops before libdatp flushes
 * what is left; but over iWARP the peer is told about a graceful end before the queue pair stops.
 */
#include "rdma_async.h"
#include "rdma_conn.h"
#include "rdma_cq.h"
#include "rdma_end.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_timer.h"

enum { GOODBYE_MS = 3000 }; /* how long a peer may take to answer a graceful disconnect */

/*
 * Polls both CQs before the end, so that an operation which caused it completes with its own error: from the end on, every error
 * counts as a flush. The peer's end may be heard before the program has polled, and the error may be on the other CQ. A completion
 * that is found here need not bring about the end, which comes anyway. Over iWARP no completion waits for this: siw completes with
 * errors of other kinds what a peer's orderly end flushes, and the event of a failed queue pair takes the completions there.
 */
static void take_causes(struct rdma_ep *ep)
{
	if (!rdma_ep_ia(ep)->kind->has_rtu)
		return;
	datp_lock(&ep->base.lock);
	ep->broken = true;
	datp_unlock(&ep->base.lock);
	rdma_cqset_drain(ep->send_set);
	rdma_cqset_drain(ep->recv_set);
}

void rdma_ep_lost(struct rdma_ep *ep, DAT_EVENT_NUMBER why)
{
	struct rdma_conn *conn;

	/* this comes first: an ESTABLISHED that waits for the answer to the RTR message must precede the end */
	rdma_ep_rtr_answered(&ep->base);
	take_causes(ep);
	rdma_qp_stop(ep);
	datp_cm_disconnected(&ep->base, why);
	conn = rdma_conn_detach(ep);
	if (conn)
		rdma_conn_retire(conn);
}

/*
 * The peer's message is the same whether it disconnected on purpose or because of an error on this
 * side; but in the latter case our queue pair is already in the error state.
 */
static bool in_error(struct rdma_ep *ep)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR;
}

/*
 * Both sides have to call rdma_disconnect(), and rdma_ep_lost() does: the answer of this side lets the peer release its
 * connection.
 */
void rdma_ep_disconnected(struct rdma_ep *ep, struct rdma_conn *conn)
{
	struct rdma_ia *ia = conn->ia;
	bool broken = ia->kind->has_rtu && in_error(ep), over;

	/*
	 * over iWARP the queue pair is in error in both cases; but if there was an error, the
	 * device has reported it before
	 */
	rdma_async_event(ia, 0);
	pthread_mutex_lock(&ia->lock);
	over = !conn->ep;
	pthread_mutex_unlock(&ia->lock);
	/* if that has ended the connection, the program may have freed the endpoint, or may connect it anew */
	if (!over)
		rdma_ep_lost(ep, broken ? DAT_CONNECTION_EVENT_BROKEN : DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * The queue pair may be connected already, and the peer may have taken its request back nevertheless, because the messages of the
 * connection managers go their own way. If it did not stop, the peer could write into the receives that libdatp flushes.
 */
static void attempt_over(struct rdma_ep *ep)
{
	rdma_qp_stop_if_begun(ep);
	rdma_ask_forget(ep);
}

void rdma_ep_failed(struct rdma_ep *ep, DAT_EVENT_NUMBER why)
{
	attempt_over(ep);
	datp_cm_failed(&ep->base, why);
}

void rdma_ep_rejected(struct rdma_ep *ep, const void *pdata, uint32_t pdata_len)
{
	attempt_over(ep);
	datp_cm_rejected(&ep->base, pdata, pdata_len);
}

static void broke(struct datp_ep *ep)
{
	rdma_ep_lost(rdma_ep(ep), DAT_CONNECTION_EVENT_BROKEN);
}

void rdma_ep_break(struct rdma_ep *ep)
{
	if (datp_ep_call(&ep->base, broke))
		datp_log(1, "%s: no memory to end a broken connection: the program has to "
			    "disconnect it",
			 ep->base.obj.ia->name);
}

void rdma_ep_break_locked(struct rdma_ep *ep)
{
	if (!ep->broken)
		rdma_ep_break(ep);
	ep->broken = true;
}

/*
 * On iWARP hardware (irdma, cxgb4), stopping a queue pair resets the TCP connection, and data that
 * the peer has not acknowledged are lost, although their completion was a success. So the peer is
 * told about a graceful end first, and the queue pair stops when the event of that end has come, or
 * when it does not come in time. Service thread.
 */
static bool hang_up(struct rdma_ep *ep)
{
	struct rdma_ia *ia = rdma_ep_ia(ep);
	struct rdma_conn *conn;
	bool alive;

	if (ia->kind->has_rtu)
		return false;
	pthread_mutex_lock(&ia->lock);
	/* only this thread destroys it */
	conn = ep->conn;
	alive = conn && conn->established && !conn->ended;
	pthread_mutex_unlock(&ia->lock);
	if (!alive || rdma_disconnect(conn->id))
		return false;
	conn->hung_up = true;
	rdma_due_locked(ep, GOODBYE_MS);
	return true;
}

static void drained(struct datp_ep *base)
{
	struct rdma_ep *ep = rdma_ep(base);

	if (!hang_up(ep))
		rdma_ep_lost(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void rdma_ep_drained_locked(struct rdma_ep *ep)
{
	if (datp_ep_call(&ep->base, drained))
		datp_log(1, "%s: no memory to end a connection: disconnect it abruptly",
			 ep->base.obj.ia->name);
}

/* Posts a request after all others, whose completion shows that they are done. */
static void drain(struct rdma_ep *ep)
{
	bool idle;
	int rc = 0;

	datp_lock(&ep->base.lock);
	/* the endpoint is not CONNECTED any more, so libdatp refuses later requests */
	rdma_fast_requests_end_locked(ep);
	idle = ep->base.sq.posted == ep->base.sq.finished;
	ep->draining = !idle;
	if (!idle && !ep->over)
		rc = rdma_post_marker(ep, (uintptr_t)ep | RDMA_ID_DRAIN, true);
	if (rc)
		ep->draining = false; /* nothing has to be waited for */
	if (idle || rc)
		rdma_ep_drained_locked(ep);
	datp_unlock(&ep->base.lock);
	if (!idle && !rc)
		rdma_cqset_watch(ep->send_set, 1);
}

void rdma_ep_disconnect(struct datp_ep *base, enum datp_close how)
{
	struct rdma_ep *ep = rdma_ep(base);
	struct rdma_conn *conn;

	/* answers a peer that still waits, so that it gets the connection and its end, as the consumer does */
	rdma_deferred_accept(ep);
	if (how == DATP_CLOSE_GRACEFUL) {
		drain(ep);
		return;
	}
	rdma_qp_stop(ep);
	conn = rdma_conn_detach(ep);
	if (conn)
		rdma_conn_retire(conn);
}
