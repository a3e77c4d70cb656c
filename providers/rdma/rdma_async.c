/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of the device. Invariant: the loss of the device is reported once: BROKEN to
 * each connected endpoint, and a catastrophic error of the IA.
 */
#include "rdma_async.h"
#include "rdma_cm.h"
#include "rdma_end.h"
#include "rdma_qp.h"

static void break_all(struct rdma_ia *ia)
{
	datp_lock(&ia->qp_lock);
	/*
	 * datp_ep_call() takes no lock that comes before this one, and does not run the function
	 * itself
	 */
	for (struct rdma_ep *ep = ia->eps; ep; ep = ep->next)
		rdma_ep_break(ep);
	datp_unlock(&ia->qp_lock);
}

void rdma_device_lost(struct rdma_ia *ia)
{
	/* relaxed: only the service thread writes it */
	if (atomic_exchange_explicit(&ia->lost, true, memory_order_relaxed))
		return;
	datp_log(1, "%s: the RDMA device is gone: close the adapter, and open it again when it is back",
		 ia->base.name);
	break_all(ia);
	datp_ia_error(&ia->base, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
}

/*
 * A completion has been lost, or all further ones will be, and nobody knows whose. An event that
 * names no CQ belongs to no endpoint.
 */
static void queue_failed(struct rdma_ia *ia, const struct ibv_cq *cq)
{
	int entries = cq ? cq->cqe : 0;

	datp_log(1,
		 "%s: a completion queue of %d entries has overflowed or failed; the connections "
		 "of its endpoints are ended: dequeue events sooner, or have fewer operations "
		 "outstanding (max_recv_dtos and max_request_dtos of the endpoint; max_cqe of the "
		 "device is %d)",
		 ia->base.name, entries, ia->dev.max_cqe);
	datp_lock(&ia->qp_lock);
	for (struct rdma_ep *ep = ia->eps; ep && cq; ep = ep->next)
		if (ep->send_cq->cq == cq || ep->recv_cq->cq == cq)
			rdma_ep_break(ep);
	datp_unlock(&ia->qp_lock);
	datp_ia_error(&ia->base, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
}

/*
 * If a cable is pulled and the interface is then set down, the device sends two events about one
 * link.
 */
static void port_event(struct rdma_ia *ia, const struct ibv_async_event *event)
{
	bool down = event->event_type == IBV_EVENT_PORT_ERR;

	if (event->element.port_num != ia->port || down == ia->link_down)
		return;
	ia->link_down = down;
	if (down)
		datp_log(1,
			 "%s: the link is down: connect its cable, or `ip link set NETDEV up`; "
			 "connections end at once, or if it stays down",
			 ia->base.name);
	else
		datp_log(2, "%s: the link is up again", ia->base.name);
}

static void handle(struct rdma_ia *ia, const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		rdma_qp_failed(event->element.qp->qp_context);
		rdma_ep_lost(event->element.qp->qp_context, DAT_CONNECTION_EVENT_BROKEN);
		break;
	case IBV_EVENT_COMM_EST:
		/* a peer that only reads and writes sends no message that would stand in for the RTU */
		rdma_ep_heard(event->element.qp->qp_context);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		rdma_qp_took_last(event->element.qp->qp_context);
		break;
	case IBV_EVENT_CQ_ERR:
		queue_failed(ia, event->element.cq);
		break;
	case IBV_EVENT_SRQ_ERR:
		datp_log(1, "%s: a shared receive queue has failed: free it, and its endpoints",
			 ia->base.name);
		datp_ia_error(&ia->base, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		rdma_device_lost(ia);
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		port_event(ia, event);
		break;
	default: /* the connection manager reports what has to be done about the others */
		break;
	}
}

void rdma_async_event(void *arg, uint32_t events)
{
	struct rdma_ia *ia = arg;
	struct ibv_async_event event;

	while (!ibv_get_async_event(ia->verbs, &event)) {
		handle(ia, &event);
		/*
		 * an object cannot be destroyed before its event is acknowledged, so it has existed
		 * until here
		 */
		ibv_ack_async_event(&event);
	}
	if (rdma_is_gone(events)) {
		datp_loop_del(ia->async_watch);
		ia->async_watch = NULL;
		rdma_device_lost(ia);
	}
}
