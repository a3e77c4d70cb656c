/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the attacker's connections. Invariant: each member of struct hostile that is not NULL refers to an object that exists.
 * The objects that all connections share are freed when the process ends.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hostile.h"

enum { RESOLVE_MS = 10000, ALL_RETRIES = 7, ENTRIES = 1024 };

uint16_t hostile_port(uint64_t qual)
{
	return (uint16_t)(qual > 0xffff ? qual % 32001 + 33534 : qual);
}

uint64_t hostile_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/*
 * Objects that all connections of an attacker share, so that a flood of requests does not use up memory. The context is the
 * attacker's own, because librdmacm's may be that of the test from which the attacker was forked.
 */
static struct {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	unsigned char *mem;
	uint64_t requests; /* the wr_id of the last request; that of each receive is 0 */
} own;

static void open_device(const char *name)
{
	struct ibv_device **list;
	int count;

	REQUIRE((list = ibv_get_device_list(&count)) != NULL);
	for (int i = 0; i < count; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			own.verbs = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	REQUIRE(own.verbs != NULL);
}

static void make_own(const char *device)
{
	open_device(device);
	REQUIRE((own.pd = ibv_alloc_pd(own.verbs)) != NULL);
	REQUIRE((own.cq = ibv_create_cq(own.verbs, ENTRIES, NULL, NULL, 0)) != NULL);
	REQUIRE((own.mem = calloc(1, HOSTILE_ROOM)) != NULL);
	REQUIRE((own.mr = ibv_reg_mr(own.pd, own.mem, HOSTILE_ROOM,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)) != NULL);
}

/* Returns an errno, or 0. */
static int move(struct hostile *h, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(h->id, &attr, &mask))
		return errno;
	/* Over iWARP the kernel changes the state of the queue pair, and the mask is 0. */
	return mask ? ibv_modify_qp(h->qp, &attr, mask) : 0;
}

static void make_queue_pair(struct hostile *h)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = HOSTILE_DEPTH, .max_recv_wr = HOSTILE_DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (!own.verbs)
		make_own(ibv_get_device_name(h->id->verbs->device));
	h->mr = own.mr;
	h->mem = own.mem;
	init.send_cq = init.recv_cq = own.cq;
	REQUIRE((h->qp = ibv_create_qp(own.pd, &init)) != NULL);
	REQUIRE_EQ_INT(move(h, IBV_QPS_INIT), 0);
	h->param.qp_num = h->qp->qp_num;
}

bool hostile_joins(struct hostile *h)
{
	return !move(h, IBV_QPS_RTR) && !move(h, IBV_QPS_RTS);
}

/* Confirms the victim's answer. Returns false if that fails, because the victim may have left. */
static bool confirm(struct hostile *h)
{
	return hostile_joins(h) && !rdma_establish(h->id);
}

static void begin(struct hostile *h)
{
	memset(h, 0, sizeof(*h));
	REQUIRE((h->channel = rdma_create_event_channel()) != NULL);
}

static bool is_over(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_UNREACHABLE ||
	       type == RDMA_CM_EVENT_CONNECT_ERROR || type == RDMA_CM_EVENT_DISCONNECTED ||
	       type == RDMA_CM_EVENT_ADDR_ERROR || type == RDMA_CM_EVENT_ROUTE_ERROR;
}

static bool comes(struct hostile *h, struct rdma_cm_event **event)
{
	struct pollfd fd = { .fd = h->channel->fd, .events = POLLIN };

	return poll(&fd, 1, (int)check_patience_ms()) == 1 && !rdma_get_cm_event(h->channel, event);
}

bool hostile_awaits(struct hostile *h, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type got;

	do {
		if (!comes(h, &event))
			return false;
		got = event->event;
		rdma_ack_cm_event(event);
		if (got == RDMA_CM_EVENT_CONNECT_RESPONSE && type == RDMA_CM_EVENT_ESTABLISHED)
			return confirm(h);
	} while (got != type && !is_over(got));
	return got == type;
}

void hostile_reach(struct hostile *h, const struct hostile_target *to)
{
	struct sockaddr_in from = to->address, at = to->address;

	begin(h);
	from.sin_port = 0;
	at.sin_port = htons(hostile_port(to->qual));
	REQUIRE_EQ_INT(rdma_create_id(h->channel, &h->id, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(rdma_resolve_addr(h->id, (struct sockaddr *)&from, (struct sockaddr *)&at,
					 RESOLVE_MS), 0);
	REQUIRE(hostile_awaits(h, RDMA_CM_EVENT_ADDR_RESOLVED));
	REQUIRE_EQ_INT(rdma_resolve_route(h->id, RESOLVE_MS), 0);
	REQUIRE(hostile_awaits(h, RDMA_CM_EVENT_ROUTE_RESOLVED));
	h->param = (struct rdma_conn_param){ .responder_resources = 4, .initiator_depth = 4,
					     .retry_count = ALL_RETRIES,
					     .rnr_retry_count = ALL_RETRIES };
	make_queue_pair(h);
}

static void carry(struct hostile *h, const void *pdata, size_t len)
{
	h->param.private_data = len ? pdata : NULL;
	h->param.private_data_len = (uint8_t)len;
}

int hostile_ask(struct hostile *h, const void *pdata, size_t len)
{
	carry(h, pdata, len);
	return rdma_connect(h->id, &h->param) ? errno : 0;
}

bool hostile_connect(struct hostile *h, const struct hostile_target *to)
{
	hostile_reach(h, to);
	return !hostile_ask(h, NULL, 0) && hostile_awaits(h, RDMA_CM_EVENT_ESTABLISHED);
}

void hostile_listen(struct hostile *h, const struct hostile_target *at)
{
	struct sockaddr_in here = at->address;

	begin(h);
	here.sin_port = htons(hostile_port(at->qual));
	REQUIRE_EQ_INT(rdma_create_id(h->channel, &h->listener, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(rdma_bind_addr(h->listener, (struct sockaddr *)&here), 0);
	REQUIRE_EQ_INT(rdma_listen(h->listener, 0), 0);
}

void hostile_hear(struct hostile *h)
{
	struct rdma_cm_event *event;

	hostile_forget(h);
	for (;;) {
		REQUIRE(comes(h, &event));
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			break;
		rdma_ack_cm_event(event);
	}
	h->id = event->id;
	h->param = (struct rdma_conn_param){ .responder_resources = 1, .initiator_depth = 1,
					     .rnr_retry_count = ALL_RETRIES };
	rdma_ack_cm_event(event);
	make_queue_pair(h);
}

int hostile_accept(struct hostile *h, const void *pdata, size_t len)
{
	carry(h, pdata, len);
	if (!hostile_joins(h))
		return EINVAL;
	return rdma_accept(h->id, &h->param) ? errno : 0;
}

int hostile_reject(struct hostile *h, const void *pdata, size_t len)
{
	return rdma_reject(h->id, pdata, (uint8_t)len) ? errno : 0;
}

/*
 * Returns the status of the completion of this request, or -1 if there is none within `ms` milliseconds. Drops others, which may be
 * of earlier queue pairs.
 */
static int completion(uint64_t request, unsigned int ms)
{
	uint64_t until = check_now_ms() + ms;
	struct ibv_wc wc;

	do {
		while (ibv_poll_cq(own.cq, 1, &wc) == 1)
			if (wc.wr_id == request)
				return (int)wc.status;
		check_nap();
	} while (check_now_ms() < until);
	return -1;
}

int hostile_do(struct hostile *h, enum ibv_wr_opcode op, uint32_t bytes, uint64_t remote, uint32_t key, unsigned int ms)
{
	struct ibv_sge sge = { .addr = (uintptr_t)h->mem, .length = bytes, .lkey = h->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = ++own.requests, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = key;
	}
	return ibv_post_send(h->qp, &wr, &bad) ? -1 : completion(wr.wr_id, ms);
}

void hostile_receive(struct hostile *h, int count, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)h->mem, .length = bytes, .lkey = h->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (count--)
		REQUIRE_EQ_INT(ibv_post_recv(h->qp, &wr, &bad), 0);
}

void hostile_forget(struct hostile *h)
{
	if (h->qp)
		ibv_destroy_qp(h->qp);
	if (h->id)
		rdma_destroy_id(h->id);
	h->id = NULL;
	h->qp = NULL;
}

void hostile_close(struct hostile *h)
{
	hostile_forget(h);
	if (h->listener)
		rdma_destroy_id(h->listener);
	rdma_destroy_event_channel(h->channel);
	memset(h, 0, sizeof(*h));
}
