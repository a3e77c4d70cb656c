/* SPDX-License-Identifier: BSD-2-Clause */
/* The stranger's connection: its id, event channel and queue pair, all in `raw`, of which a process has one. */
#include <netinet/in.h>
#include <poll.h>

#include "api.h"
#include "stranger.h"

struct stranger raw;

int raw_event(enum rdma_cm_event_type type, struct rdma_cm_id **id)
{
	struct pollfd fd = { .fd = raw.channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int status;

	REQUIRE_EQ_INT(poll(&fd, 1, (int)check_patience_ms()), 1);
	REQUIRE_EQ_INT(rdma_get_cm_event(raw.channel, &event), 0);
	REQUIRE_EQ_STR(rdma_event_str(event->event), rdma_event_str(type));
	status = event->status;
	raw.told = event->param.conn;
	if (id)
		*id = event->id;
	rdma_ack_cm_event(event);
	return status;
}

static void raw_modify(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	REQUIRE_EQ_INT(rdma_init_qp_attr(raw.id, &attr, &mask), 0);
	if (raw.reads)
		attr.max_rd_atomic = 1;
	REQUIRE_EQ_INT(ibv_modify_qp(raw.qp, &attr, mask), 0);
}

/* Creates a queue pair in the state INIT on the device of raw.id. */
static void raw_queue_pair(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC
	};

	/* librdmacm's context may have been opened before the fork, and the kernel refuses requests of a child through that one. */
	REQUIRE((raw.verbs = ibv_open_device(raw.id->verbs->device)) != NULL);
	REQUIRE((raw.pd = ibv_alloc_pd(raw.verbs)) != NULL);
	REQUIRE((raw.cq = ibv_create_cq(raw.verbs, 16, NULL, NULL, 0)) != NULL);
	REQUIRE((raw.mr = ibv_reg_mr(raw.pd, raw.mem, sizeof(raw.mem), IBV_ACCESS_LOCAL_WRITE)) !=
		NULL);
	attr.send_cq = attr.recv_cq = raw.cq;
	REQUIRE((raw.qp = ibv_create_qp(raw.pd, &attr)) != NULL);
	raw_modify(IBV_QPS_INIT);
}

void raw_connect(void)
{
	struct rdma_conn_param param = { .responder_resources = 1, .retry_count = 7 };
	struct sockaddr_in at;

	check_get(CHECK_PARENT, &at, sizeof(at));
	REQUIRE((raw.channel = rdma_create_event_channel()) != NULL);
	REQUIRE_EQ_INT(rdma_create_id(raw.channel, &raw.id, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(rdma_resolve_addr(raw.id, NULL, (struct sockaddr *)&at, 4000), 0);
	raw_event(RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	REQUIRE_EQ_INT(rdma_resolve_route(raw.id, 4000), 0);
	raw_event(RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	raw_queue_pair();
	param.qp_num = raw.qp->qp_num;
	REQUIRE_EQ_INT(rdma_connect(raw.id, &param), 0);
	raw_event(RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	raw_modify(IBV_QPS_RTR);
	raw_modify(IBV_QPS_RTS);
}

void raw_listen(void)
{
	struct rdma_cm_id *listener;
	struct sockaddr_in at;

	check_get(CHECK_PARENT, &at, sizeof(at));
	at.sin_port = htons(STRANGER_PORT);
	REQUIRE((raw.channel = rdma_create_event_channel()) != NULL);
	REQUIRE_EQ_INT(rdma_create_id(raw.channel, &listener, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(rdma_bind_addr(listener, (struct sockaddr *)&at), 0);
	REQUIRE_EQ_INT(rdma_listen(listener, 4), 0);
	check_signal(CHECK_PARENT);
}

void raw_accept(void)
{
	struct rdma_conn_param param = { .responder_resources = 1, .rnr_retry_count = 7 };

	raw_listen();
	raw_event(RDMA_CM_EVENT_CONNECT_REQUEST, &raw.id);
	raw_queue_pair();
	raw_modify(IBV_QPS_RTR);
	raw_modify(IBV_QPS_RTS);
	param.qp_num = raw.qp->qp_num;
	REQUIRE_EQ_INT(rdma_accept(raw.id, &param), 0);
	raw_event(RDMA_CM_EVENT_ESTABLISHED, NULL);
}

void raw_send(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)raw.mem,
			       .length = sizeof(raw.mem),
			       .lkey = raw.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	REQUIRE_EQ_INT(ibv_post_send(raw.qp, &wr, &bad), 0);
}

enum ibv_wc_status raw_read(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	struct ibv_sge sge = { .addr = (uintptr_t)raw.mem,
			       .length = sizeof(raw.mem),
			       .lkey = raw.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	DAT_RMR_TRIPLET from;
	struct ibv_wc wc;
	int got;

	check_get(CHECK_PARENT, &from, sizeof(from));
	wr.wr.rdma.remote_addr = from.target_address;
	wr.wr.rdma.rkey = from.rmr_context;
	REQUIRE_EQ_INT(ibv_post_send(raw.qp, &wr, &bad), 0);
	while ((got = ibv_poll_cq(raw.cq, 1, &wc)) == 0 && check_now_ms() < until)
		check_nap();
	REQUIRE_EQ_INT(got, 1);
	return wc.status;
}
