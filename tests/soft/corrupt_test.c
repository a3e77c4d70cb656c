/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that writes nonsense into the memory that it shares with this process, while messages and
 * transfers go on. Their connection may end, and its transfers may have any result. But this process
 * goes on, and neither its memory outside the buffers nor its other connections are affected.
 *
 * The peer corrupts words of receives, requests, cells, rings, regions and slots. It does not corrupt the execution locks,
 * because that can only make the other side wait.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "providers/soft/cq.h"
#include "providers/soft/send.h"

#define ROUNDS  40
#define CALLS   400
#define SIZE    ((size_t)256 << 10)
#define MOST    ((size_t)120000)
#define REGIONS 4 /* one of the first 4 entries of the table of regions is corrupted */
#define GUARD   ((size_t)64 << 10) /* bytes before and after the buffer, which must not change */

static struct api_end end;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static unsigned char *memory;

static void open_side(struct api_offer *offer)
{
	api_open();
	memory = api_memory(SIZE + 2 * GUARD);
	memset(memory, 0x5a, SIZE + 2 * GUARD);
	buf = api_buf_in(api.pz, memory + GUARD, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(offer, cr_evd, &buf);
}

/* Checks that the completion of a receive has values with which a program can go on. */
static void want_possible(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	CHECK(dto->ep_handle == end.ep);
	CHECK(dto->status != DAT_DTO_SUCCESS || dto->transfered_length <= MOST);
}

/* Makes a random call, on either side: any length, with one or two segments. Any result is accepted. */
static void call(unsigned int *seed, const DAT_RMR_TRIPLET *target)
{
	static const size_t lengths[] = { 8, 80, 3000, 60000, MOST };
	int what = rand_r(seed) % 5;
	size_t len = what < 3 ? lengths[(unsigned int)rand_r(seed) % 5] : MOST;
	DAT_LMR_TRIPLET two[2] = { api_seg(&buf, 0, len / 2), api_seg(&buf, len, len - len / 2) };
	DAT_RMR_TRIPLET there = *target;
	DAT_DTO_COOKIE cookie = api_cookie(1);
	DAT_EVENT event;

	there.segment_length = len;
	switch (what) {
	case 0:
		(void)dat_ep_post_send(end.ep, 2, two, cookie, 0);
		break;
	case 1:
		(void)api_write(end.ep, api_seg(&buf, 0, len), there, 2, 0);
		break;
	case 2:
		(void)api_read(end.ep, api_seg(&buf, 0, len), there, 3, 0);
		break;
	default:
		(void)dat_ep_post_recv(end.ep, 2, two, cookie, 0);
	}
	while (dat_evd_dequeue(end.recv, &event) == DAT_SUCCESS)
		want_possible(&event);
	while (dat_evd_dequeue(end.request, &event) == DAT_SUCCESS)
		;
}

/* ------------------------------------------------------------------ the peer */

/* The memory that the peer's thread corrupts, and its contents before. The pointers stay valid if the connection ends meanwhile. */
static struct {
	struct soft_port *port, *rport;
	struct soft_layout layout, rlayout;
	struct soft_ring *ring, *own;
	uint32_t mask;
	struct soft_mr *there_mr, was_mr[REGIONS];
	struct soft_header *here, *there, was_here, was_there;
	_Atomic bool over;
	pthread_t thread;
	unsigned int seed;
} corrupter;

static uint32_t any(void)
{
	static const uint32_t odd[] = { 0, 1, 2, 3, 16, 17, 89, 300, 65535, 1u << 20, 1u << 31,
					UINT32_MAX };

	return odd[(unsigned int)rand_r(&corrupter.seed) % (sizeof(odd) / sizeof(*odd))];
}

static void corrupt_receive(void)
{
	struct soft_desc *desc = soft_port_desc(corrupter.rport, &corrupter.rlayout, any());

	switch (rand_r(&corrupter.seed) % 9) {
	case 0: desc->n = any(); break;
	case 1: desc->sge[0].len = any(); break;
	case 2: desc->sge[0].addr += any(); break;
	case 3: desc->len = any(); break;
	case 4: desc->status = (uint8_t)any(); break;
	case 5: atomic_store(&desc->state, any()); break;
	case 6: desc->extra = (uint8_t)any(); break;
	case 7: desc->rmr = any(); break;
	default: desc->sge[0].lmr_context = any();
	}
}

static void corrupt_request(void)
{
	struct soft_sqe *e = rand_r(&corrupter.seed) % 2 ?
				     soft_port_sqe(corrupter.port, &corrupter.layout, any()) :
				     soft_port_sqe(corrupter.rport, &corrupter.rlayout, any());

	switch (rand_r(&corrupter.seed) % 7) {
	case 0: e->op = (uint8_t)any(); break;
	case 1: e->n = any(); break;
	case 2: e->msg = any(); break;
	case 3: e->len = any(); break;
	case 4: e->remote.rmr_context = any(); break;
	case 5: e->sge[0].lmr_context = any(); break;
	default: e->sge[0].len = any();
	}
}

static void corrupt_cell(void)
{
	struct soft_cell *cell = &corrupter.ring->cell[any() & corrupter.mask];

	switch (rand_r(&corrupter.seed) % 7) {
	case 0: cell->len = any(); break;
	case 1: cell->slot = any(); break;
	case 2: cell->flags = (uint16_t)any(); break;
	case 3: cell->kind = (uint16_t)any(); break;
	case 4: cell->from = any(); break;
	case 5: cell->gen = any(); break;
	default: cell->port = any();
	}
}

/* Corrupts a word of either side's ring. */
static void corrupt_ring(void)
{
	struct soft_ring *ring = rand_r(&corrupter.seed) % 2 ? corrupter.ring : corrupter.own;

	switch (rand_r(&corrupter.seed) % 4) {
	case 0: ring->mask = any(); break;
	case 1: atomic_store(&ring->tail, any()); break;
	case 2: atomic_store(&ring->ready_list, any()); break;
	default: atomic_store(&ring->notify, any());
	}
}

/* Corrupts a region of the other side. The peer's own regions stay as they are, because it uses them. */
static void corrupt_region(void)
{
	struct soft_mr *mr = &corrupter.there_mr[(unsigned int)rand_r(&corrupter.seed) % REGIONS];

	switch (rand_r(&corrupter.seed) % 4) {
	case 0: atomic_store(&mr->addr, any()); break;
	case 1: atomic_store(&mr->len, UINT64_MAX); break;
	case 2: atomic_store(&mr->priv, any()); break;
	default: atomic_store(&mr->pz, any());
	}
}

static void corrupt_slots(void)
{
	corrupter.here->slot_count = corrupter.there->slot_count = any();
	corrupter.here->slot_size = corrupter.there->slot_size = any();
}

static void *corrupt(void *arg)
{
	(void)arg;
	while (!atomic_load(&corrupter.over)) {
		corrupt_receive();
		corrupt_request();
		corrupt_cell();
		corrupt_ring();
		corrupt_region();
		corrupt_slots();
	}
	return NULL;
}

static void corrupt_begin(const struct soft_ep *ep, int round)
{
	corrupter.port = ep->port;
	corrupter.rport = ep->rport;
	corrupter.layout = ep->layout;
	corrupter.rlayout = ep->rlayout;
	corrupter.ring = ep->rring;
	corrupter.own = soft_evd(ep->base.recv_evd)->cq.ring;
	corrupter.mask = corrupter.ring->mask;
	corrupter.here = soft_ia(ep->base.obj.ia)->header;
	corrupter.there = ep->peer->header;
	corrupter.there_mr = ep->peer->mr;
	memcpy(corrupter.was_mr, corrupter.there_mr, sizeof(corrupter.was_mr));
	corrupter.was_here = *corrupter.here;
	corrupter.was_there = *corrupter.there;
	corrupter.seed = (unsigned int)round;
	atomic_store(&corrupter.over, false);
	REQUIRE(pthread_create(&corrupter.thread, NULL, corrupt, NULL) == 0);
}

/* Restores what the next connection needs to begin. */
static void corrupt_end(void)
{
	atomic_store(&corrupter.over, true);
	REQUIRE(pthread_join(corrupter.thread, NULL) == 0);
	memcpy(corrupter.there_mr, corrupter.was_mr, sizeof(corrupter.was_mr));
	corrupter.here->slot_count = corrupter.was_here.slot_count;
	corrupter.here->slot_size = corrupter.was_here.slot_size;
	corrupter.there->slot_count = corrupter.was_there.slot_count;
	corrupter.there->slot_size = corrupter.was_there.slot_size;
}

static void corrupt_connections(void *arg)
{
	struct api_offer mine, theirs;

	(void)arg;
	open_side(&mine);
	check_put(CHECK_PARENT, &mine, sizeof(mine));
	check_get(CHECK_PARENT, &theirs, sizeof(theirs));
	for (int i = 0; i < ROUNDS; i++) {
		unsigned int seed = (unsigned int)i;
		struct soft_ep *ep;

		check_await(CHECK_PARENT);
		api_end_make(&end, NULL);
		ep = (struct soft_ep *)end.ep;
		api_connect_to(&end, &theirs.address, theirs.qual);
		corrupt_begin(ep, i);
		check_signal(CHECK_PARENT);
		check_await(CHECK_PARENT);
		for (int n = 0; n < CALLS; n++)
			call(&seed, &theirs.target);
		corrupt_end();
		check_signal(CHECK_PARENT);
		check_await(CHECK_PARENT);
		api_end_free(&end);
	}
	api_close();
}

/* ------------------------------------------------------------------ the victim */

static struct api_pair pair;

static void want_guards(void)
{
	for (size_t i = 0; i < GUARD; i++)
		if (memory[i] != 0x5a || memory[GUARD + SIZE + i] != 0x5a)
			CHECK_FAIL("memory outside the region has changed, %zu from its ends", i);
}

static void suffer_a_round(pid_t peer, const DAT_RMR_TRIPLET *target, int round)
{
	unsigned int seed = 1000u + (unsigned int)round;

	check_signal(peer);
	api_end_make(&end, NULL);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(peer);
	check_signal(peer);
	for (int n = 0; n < CALLS; n++)
		call(&seed, target);
	check_await(peer);
	check_signal(peer);
	api_end_free(&end);
	api_pair_works(&pair, &buf);
}

static void corrupted_memory_harms_nobody(void)
{
	pid_t peer = check_fork(corrupt_connections, NULL);
	struct api_offer mine, theirs;

	open_side(&mine);
	api_pair_make(&pair, NULL);
	check_put(peer, &mine, sizeof(mine));
	check_get(peer, &theirs, sizeof(theirs));
	check_stderr_begin();
	for (int i = 0; i < ROUNDS; i++)
		suffer_a_round(peer, &theirs.target, i);
	check_stderr_end();
	want_guards();
	check_join(peer);
}

/* ------------------------------------------------------------------ one word at a time */

/* A connection within this process; its receiving half is `far`. */
static struct soft_ep *near_ep, *far_ep;

static void open_pair(void)
{
	api_open();
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	near_ep = (struct soft_ep *)pair.a.ep;
	far_ep = (struct soft_ep *)pair.b.ep;
}

static void want_broken(void)
{
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* Posts a receive of 1000 bytes at the far end, and returns its descriptor. */
static struct soft_desc *receive_posted(void)
{
	struct soft_desc *desc =
		soft_port_desc(far_ep->port, &far_ep->layout, far_ep->base.rq.posted);

	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 1000, 1), DAT_SUCCESS);
	return desc;
}

/* Marks a receive as completed, with an impossible length or status. The provider must report an error instead. */
static void result_is_refused(uint64_t len, uint8_t status)
{
	struct soft_desc *desc;

	open_pair();
	desc = receive_posted();
	desc->len = len;
	desc->status = status;
	atomic_store(&desc->state, SOFT_DESC_DONE);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 2000, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG),
		    DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_TRANSPORT, len);
	want_broken();
}

/* A program that gets a length beyond its receive may read beyond its buffer. */
static void receive_is_not_longer_than_it_was_posted(void)
{
	result_is_refused(1001, DAT_DTO_SUCCESS);
}

/*
 * The peer claims that a message has invalidated this context, which it was not given over this connection: a region's, or
 * that of an RMR which the other endpoint of this process has bound. The connection ends, and the context stays valid.
 */
static void claim_is_refused(enum soft_extra extra, bool of_rmr)
{
	const DAT_MEM_PRIV_FLAGS rights = (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_RMR_CONTEXT context;
	struct soft_desc *desc;
	DAT_RMR_HANDLE rmr;
	struct soft_ia *ia;

	open_pair();
	ia = soft_ia(far_ep->base.obj.ia);
	ia->invalidable = true;
	context = buf.rmr_context;
	if (of_rmr) {
		DAT_LMR_TRIPLET where = api_seg(&buf, 0, 64);

		REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
		REQUIRE_DAT(dat_rmr_bind(rmr, &where, rights, pair.a.ep, api_cookie(3), 0, &context), DAT_SUCCESS);
		API_BIND(pair.a.request, rmr, 3, DAT_RMR_BIND_SUCCESS);
	}
	desc = receive_posted();
	desc->len = 8;
	desc->status = DAT_DTO_SUCCESS;
	desc->extra = (uint8_t)extra;
	desc->rmr = context;
	atomic_store(&desc->state, SOFT_DESC_DONE);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 2000, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_TRANSPORT, API_ANY_LENGTH);
	want_broken();
	CHECK_EQ_INT(ia->mr[SOFT_MR_INDEX(context)].context, context);
}

static void region_is_not_the_peers_to_invalidate(void)
{
	claim_is_refused(SOFT_EXTRA_INVALIDATED, false);
}

static void rmr_of_another_connection_is_not_the_peers_to_invalidate(void)
{
	claim_is_refused(SOFT_EXTRA_INVALIDATED, true);
}

static void message_brings_nothing_that_there_is_not(void)
{
	claim_is_refused((enum soft_extra)7, false);
}

/*
 * A peer has invalidated an RMR while another access through it is under way, and the program binds it anew before it has taken
 * the message that says so. The bind completes when the access has ended, as if nobody had invalidated the RMR.
 */
static void bind_waits_for_accesses_through_what_a_peer_has_invalidated(void)
{
	const DAT_MEM_PRIV_FLAGS rights = (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_LMR_TRIPLET where;
	DAT_RMR_CONTEXT context;
	struct soft_sqe *e;
	DAT_RMR_HANDLE rmr;
	struct soft_ia *ia;
	DAT_EVENT event;
	uint32_t posted;

	open_pair();
	ia = soft_ia(near_ep->base.obj.ia);
	ia->invalidable = true;
	ia->patience_ms = 100000;
	where = api_seg(&buf, 0, 64);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(rmr, &where, rights, pair.a.ep, api_cookie(3), 0, &context), DAT_SUCCESS);
	API_BIND(pair.a.request, rmr, 3, DAT_RMR_BIND_SUCCESS);
	/* the peer is executing a write through it */
	posted = atomic_load(&far_ep->port->sq_posted);
	e = soft_port_sqe(far_ep->port, &far_ep->layout, posted);
	*e = (struct soft_sqe){ .op = DATP_RDMA_WRITE,
				.n = 1,
				.len = 8,
				.remote = { context, 0, where.virtual_address, 8 } };
	e->sge[0] = (struct datp_sge){ buf.lmr_context, 0, where.virtual_address + 128, 8 };
	atomic_store(&far_ep->port->sq_posted, posted + 1);
	atomic_fetch_or(&far_ep->port->exec_lock, SOFT_EXEC_HELD);
	atomic_store(&ia->mr[SOFT_MR_INDEX(context)].context, 0);
	REQUIRE_DAT(dat_rmr_bind(rmr, &where, rights, pair.a.ep, api_cookie(4), 0, &context), DAT_SUCCESS);
	CHECK_DAT(dat_evd_dequeue(pair.a.request, &event), DAT_QUEUE_EMPTY);
	/* and has finished it */
	atomic_store(&far_ep->port->sq_posted, posted);
	atomic_fetch_and(&far_ep->port->exec_lock, ~(uint64_t)(SOFT_EXEC_HELD | SOFT_EXEC_AGAIN));
	API_BIND(pair.a.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
}

/* Changes the entry of the region that peers can write: it then covers all of memory. */
static void corrupt_table(void)
{
	struct soft_mr *mr = &soft_ia(near_ep->base.obj.ia)->mr[SOFT_MR_INDEX(buf.lmr_context)];

	atomic_store(&mr->addr, 0);
	atomic_store(&mr->len, UINT64_MAX);
}

static void receive_goes_to_registered_memory_alone(void)
{
	uint64_t *outside;
	struct soft_desc *desc;

	open_pair();
	outside = api_memory(4096);
	desc = receive_posted();
	corrupt_table();
	desc->sge[0].addr = (uintptr_t)outside;
	memset(buf.mem, 0x77, 8);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, 2, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	CHECK_EQ_INT(*outside, 0);
}

/* The write waits behind a send for the target's receive, so the target executes both. */
static void write_goes_to_registered_memory_alone(void)
{
	DAT_RMR_TRIPLET there;
	uint64_t *outside;

	open_pair();
	outside = api_memory(4096);
	memset(buf.mem, 0x77, 8);
	there = api_target(&buf, 0, 8);
	there.target_address = (uintptr_t)outside;
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 100000, 1, DAT_COMPLETION_SUPPRESS_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 8), there, 2, 0), DAT_SUCCESS);
	corrupt_table();
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 120000, 100000, 3), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 3, DAT_DTO_SUCCESS, 100000);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	want_broken();
	CHECK_EQ_INT(*outside, 0);
}

static void result_is_one_that_there_is(void)
{
	result_is_refused(8, 200);
}

static void message_in_a_ring_of_another_queue_is_nobodys(void)
{
	struct soft_cq *cq;
	struct soft_cell *cell;
	uint64_t position = 0;

	open_pair();
	end.recv = api_evd(8, DAT_EVD_DTO_FLAG);
	cq = &soft_evd(end.recv)->cq;
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 1000, 1), DAT_SUCCESS);
	cell = soft_ring_reserve(cq->ring, cq->mask, near_ep->my_sender_id, &position);
	REQUIRE(cell != NULL);
	soft_cell_address(cell, near_ep, 8, 0);
	soft_ring_publish(cell, position);
	API_EMPTY(end.recv);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 2000, 100, 2, DAT_COMPLETION_SUPPRESS_FLAG),
		    DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 100);
}

/*
 * The ready list is shared by all peers of a queue. If one of them overwrites it with something that is no port, the ports of
 * the others are lost from it, although their flags say that they are on it, so that nobody adds them again.
 */
static void events_behind_an_entry_that_is_no_port_are_found(void)
{
	struct soft_ring *ring;

	open_pair();
	ring = soft_evd(near_ep->base.request_evd)->cq.ring;
	for (uint64_t n = 0; n < 3; n++) {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 100000, n, 0), DAT_SUCCESS);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 120000, 100000, n), DAT_SUCCESS);
		REQUIRE(atomic_load(&ring->ready_list) != 0);
		/* the last port that there can be, one beyond it, and a list that never ends */
		atomic_store(&ring->ready_list, 2 * SOFT_PORT_MAX - 1 + 2 * (uint32_t)(n == 1));
		if (n == 2) {
			uint32_t self = (far_ep->index << 1 | SOFT_SIDE_REQUEST) + 1;

			atomic_store(&far_ep->port->ready_link[SOFT_SIDE_REQUEST].next, self);
			atomic_store(&ring->ready_list, self);
		}
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, 100000);
		API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, 100000);
	}
}

static void messages_without_credit_are_not_kept_for_ever(void)
{
	open_pair();
	check_stderr_begin();
	for (uint64_t n = 0; n <= SOFT_CREDITS; n++) {
		near_ep->credit = near_ep->msg;
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, n, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
		API_EMPTY(pair.b.recv);
	}
	want_broken();
	check_stderr_end();
}

static void no_more_requests_are_executed_than_there_can_be(void)
{
	struct soft_port *port;

	open_pair();
	port = near_ep->port;
	for (uint32_t i = 0; i <= near_ep->layout.sq_mask; i++) {
		struct soft_sqe *e = soft_port_sqe(port, &near_ep->layout, i);

		e->op = DATP_RDMA_WRITE;
		e->n = 0;
		e->len = 0;
	}
	check_stderr_begin();
	atomic_store(&port->sq_posted, atomic_load(&port->sq_done) - 1);
	atomic_store(&port->waits, 1);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 1000, 1), DAT_SUCCESS);
	want_broken();
	check_stderr_end();
}

static void setup(void)
{
	/* The corrupting thread writes without synchronisation on purpose, which the thread sanitizer reports. */
	if (THREAD_SANITIZER)
		check_skip("the corrupter is a race by itself");
}

static const struct check_test tests[] = {
	CHECK_TEST(corrupted_memory_harms_nobody),
	CHECK_TEST(receive_is_not_longer_than_it_was_posted),
	CHECK_TEST(receive_goes_to_registered_memory_alone),
	CHECK_TEST(write_goes_to_registered_memory_alone),
	CHECK_TEST(result_is_one_that_there_is),
	CHECK_TEST(region_is_not_the_peers_to_invalidate),
	CHECK_TEST(rmr_of_another_connection_is_not_the_peers_to_invalidate),
	CHECK_TEST(message_brings_nothing_that_there_is_not),
	CHECK_TEST(bind_waits_for_accesses_through_what_a_peer_has_invalidated),
	CHECK_TEST(message_in_a_ring_of_another_queue_is_nobodys),
	CHECK_TEST(events_behind_an_entry_that_is_no_port_are_found),
	CHECK_TEST(messages_without_credit_are_not_kept_for_ever),
	CHECK_TEST(no_more_requests_are_executed_than_there_can_be),
	CHECK_END
};

static const struct check_suite corrupt_suite = {
	.name = "corrupted memory", .setup = setup, .teardown = api_close, .tests = tests
};

CHECK_SUITES(&corrupt_suite);
