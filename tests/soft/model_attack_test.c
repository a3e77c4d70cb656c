/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side of a connection while the other writes any value into any word that both can write to: model_attack.h. Each call
 * returns within a number of steps, accesses only memory that is registered for it, and makes no other connection fail.
 */
#include "tests/soft/model_attack.h"
#include "tests/soft/model_conn.h"
#include "tests/soft/model_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/conn.h"
#include "providers/soft/cq.h"
#include "providers/soft/established.h"
#include "providers/soft/exec.h"
#include "providers/soft/fast.h"
#include "providers/soft/skip.h"
#include "providers/soft/coop.h"
#include "providers/soft/mr.h"
#include "providers/soft/port.h"
#include "providers/soft/polling.h"
#include "providers/soft/recv.h"
#include "providers/soft/send.h"
#include "providers/soft/setup.h"
#include "providers/soft/xfer.h"

#define SIZE	((size_t)SOFT_COOP_MIN)
#define GUARD	256
#define REGIONS 4
#define STEPS	4000 /* far more than the longest call takes without an attacker */
#define RUNS	30000
#define CALLS	48

enum { OURS = 1, THEIRS, READ_ONLY };

/* Registered memory, and guards between that must not change. */
static struct {
	unsigned char guard[GUARD], ours[SIZE], guard2[GUARD], theirs[SIZE], guard3[GUARD], read_only[SIZE], guard4[GUARD];
} memory;

static struct soft_mr *own, *shown; /* SOFT_MR_COUNT, sparse */
static const uint64_t lengths[] = { 0, 1, 80, SOFT_INLINE, WORLD_MIDDLE, 1000, SIZE };

static uint32_t context(uint32_t region)
{
	return region << SOFT_MR_GEN_BITS | 1;
}

static void register_one(uint32_t region, const unsigned char *at, uint32_t priv)
{
	struct soft_mr *mr = &own[region];

	atomic_store(&mr->addr, (uintptr_t)at);
	atomic_store(&mr->len, SIZE);
	atomic_store(&mr->priv, priv);
	atomic_store(&mr->context, context(region));
	atomic_store(&mr->use, SOFT_MR_REGION);
}

static bool within(const void *at, uint64_t len, const void *whole, uint64_t size)
{
	uint64_t from = (uintptr_t)at - (uintptr_t)whole;

	return from <= size && len <= size - from;
}

/* Returns true if the memory is registered for this access. */
static bool is_registered(const void *at, uint64_t len, bool write)
{
	return within(at, len, memory.ours, SIZE) || within(at, len, memory.theirs, SIZE) ||
	       (!write && within(at, len, memory.read_only, SIZE));
}

static void copies(const struct soft_list *local, bool write, uint64_t len)
{
	for (int i = local->at; i < local->n && len; i++) {
		uint64_t step = local->iov[i].iov_len < len ? local->iov[i].iov_len : len;

		if (step && !is_registered(local->iov[i].iov_base, step, write))
			model_attack_wrong("a copy goes beyond what is registered");
		len -= step;
	}
	if (len)
		model_attack_wrong("a copy is longer than its list");
}

/* Checks each copy. Copies to and from the stack may be as long as a cell's payload. */
static void copied(const void *to, const void *from, uint64_t size)
{
	if (!model_attack_reaches(to, size) && !is_registered(to, size, true) &&
	    (size > SOFT_INLINE || within(to, 1, &memory, sizeof(memory))))
		model_attack_wrong("a payload is written where it does not belong");
	if (!model_attack_reaches(from, size) && !is_registered(from, size, false) &&
	    (size > SOFT_INLINE || within(from, 1, &memory, sizeof(memory))))
		model_attack_wrong("a payload is read where there is none");
}

static void fails(struct soft_ep *ep)
{
	if (ep != &world.b.ep && ep != &world.a.ep)
		model_attack_wrong("another connection fails");
	ep->failing = true;
}

/* ---- calls ---- */

static bool has_room(struct side *side, bool recv)
{
	struct datp_wq *wq = recv ? &side->ep.base.rq : &side->ep.base.sq;

	/* pretends that all events have been taken */
	atomic_store_explicit(&wq->reaped, wq->finished, memory_order_relaxed);
	return wq->posted - wq->finished < POSTS;
}

static unsigned char *buffer(const struct side *side)
{
	return side == &world.b ? memory.ours : memory.theirs;
}

static uint32_t region(const struct side *side)
{
	return context(side == &world.b ? OURS : THEIRS);
}

static void post_extended(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_sge *sge, const struct datp_rge *remote)
{
	const struct datp_atomic what = { .operand = 1, .swap = 2 };

	if ((int)wqe->op == DATP_WRITE_IMM) {
		soft_post_write_imm(ep, wqe, sge, 1, remote, 3);
		return;
	}
	wqe->len = sge->len = sizeof(uint64_t);
	soft_post_atomic(ep, wqe, sge, remote, &what);
}

static void post_of(struct side *side, enum datp_op op, uint64_t len)
{
	struct datp_ep *ep = &side->ep.base;
	struct datp_wq *wq = op == DATP_RECV ? &ep->rq : &ep->sq;
	struct datp_wqe *wqe = &wq->ring[wq->posted & wq->mask];
	struct datp_sge sge = { .lmr_context = region(side), .addr = (uintptr_t)buffer(side), .len = len };
	struct datp_rge remote = { .rmr_context = region(side == &world.b ? &world.a : &world.b),
				   .addr = (uintptr_t)buffer(side == &world.b ? &world.a : &world.b),
				   .len = len };

	if (!has_room(side, op == DATP_RECV))
		return;
	*wqe = (struct datp_wqe){ .ep = ep, .seq = wq->posted++, .op = (uint8_t)op, .len = len };
	if (op == DATP_RECV)
		soft_post_recv(ep, wqe, &sge, 1);
	else if (op == DATP_SEND)
		soft_post_send(ep, wqe, &sge, 1);
	else if (op == DATP_RDMA_WRITE)
		soft_post_rdma_write(ep, wqe, &sge, 1, &remote);
	else if (op == DATP_RDMA_READ)
		soft_post_rdma_read(ep, wqe, &sge, 1, &remote);
	else
		post_extended(ep, wqe, &sge, &remote);
}

static void post_one(struct side *side, enum datp_op op)
{
	post_of(side, op, lengths[model_attack_random(sizeof(lengths) / sizeof(*lengths))]);
}

static void post_plain(struct side *side, bool recv)
{
	struct datp_sge sge = { .lmr_context = region(side), .addr = (uintptr_t)buffer(side),
				.len = recv ? SIZE : model_attack_random(SOFT_INLINE) };
	const DAT_LMR_TRIPLET *triplet = (const DAT_LMR_TRIPLET *)&sge;
	DAT_CONTEXT cookie = { .as_64 = 0 };

	cookie.as_64 = (recv ? side->ep.base.rq.posted : side->ep.base.sq.posted) & (POSTS - 1);
	if (!has_room(side, recv))
		return;
	if (recv)
		(void)soft_plain_recv(&side->ep.base, 1, triplet, cookie, 0);
	else
		(void)soft_plain_send(&side->ep.base, 1, triplet, cookie, 0);
}

static void post_plain_rdma(struct side *side, enum datp_op op)
{
	struct side *other = side == &world.b ? &world.a : &world.b;
	struct datp_sge sge = { .lmr_context = region(side), .addr = (uintptr_t)buffer(side),
				.len = lengths[model_attack_random(sizeof(lengths) / sizeof(*lengths))] };
	struct datp_rge remote = { .rmr_context = region(other), .addr = (uintptr_t)buffer(other), .len = sge.len };
	DAT_CONTEXT cookie = { .as_64 = side->ep.base.sq.posted & (POSTS - 1) };

	if (has_room(side, false))
		(void)soft_plain_rdma(&side->ep.base, 1, (const DAT_LMR_TRIPLET *)&sge, cookie,
				      (const DAT_RMR_TRIPLET *)&remote, 0, op);
}

/* Ends a connection as teardown.c does, where no wait is longer than the bound. */
static void end_connection(struct side *side)
{
	struct soft_ep *ep = &side->ep;
	struct datp_wq *rq = &ep->base.rq, *sq = &ep->base.sq;

	ep->open = false;
	atomic_store(&ep->port->open, 0);
	soft_exec_wait(ep, ep->rport, ep->peer, NULL, 0);
	soft_exec_wait(ep, ep->port, ep->peer, NULL, 0);
	soft_exec_take_back(ep->port);
	ep->failing = false;
	(void)soft_recv_flush(ep, true, true);
	soft_recv_discard(ep);
	rq->posted = rq->finished;
	sq->posted = sq->finished;
	atomic_store(&rq->reaped, rq->finished);
	atomic_store(&sq->reaped, sq->finished);
}

static void begin_connection(struct side *side, struct side *to)
{
	soft_port_begin(&side->ep);
	side->received = side->ep.base.rq.posted;
	side->ep.rgen = to->ep.gen;
	to->ep.rgen = side->ep.gen;
	side->ep.rlayout = to->ep.layout;
	to->ep.rlayout = side->ep.layout;
	side->ep.open = true;
	atomic_store(&side->ep.port->open, side->ep.gen);
}

static void do_something(struct side *side)
{
	struct soft_cq *cq = &side->evd.cq;

	switch (model_attack_random(17)) {
	case 0: post_one(side, DATP_RECV); break;
	case 1: post_one(side, DATP_SEND); break;
	case 2: post_one(side, DATP_RDMA_WRITE); break;
	case 3: post_one(side, DATP_RDMA_READ); break;
	case 4: post_plain(side, true); break;
	case 5: post_plain(side, false); break;
	case 6: (void)soft_cq_arm(cq, SOFT_NOTIFY_WAITER | SOFT_NOTIFY_SERVICE); break;
	case 7: soft_cq_notify(cq); break;
	case 8: (void)soft_skip_look(cq); break;
	case 9: post_one(side, (enum datp_op)DATP_WRITE_IMM); break;
	case 10: post_one(side, (enum datp_op)DATP_CMP_SWAP); break;
	case 11: post_one(side, (enum datp_op)DATP_FETCH_ADD); break;
	case 12: post_plain_rdma(side, DATP_RDMA_WRITE); break;
	case 13: post_plain_rdma(side, DATP_RDMA_READ); break;
	default: world_poll(side);
	}
}

/* Makes the peer hold its execution lock and offer pieces of its next request, as if it were copying. */
static void begin_coop_copy(struct side *side)
{
	struct soft_port *port = side->ep.port;
	uint64_t word = atomic_load(&port->exec_lock);

	if (atomic_load(&port->sq_done) == atomic_load(&port->sq_posted) || (word & SOFT_EXEC_HELD) ||
	    SOFT_EXEC_GEN(word) != side->ep.gen)
		return;
	atomic_store(&port->exec_lock, word | SOFT_EXEC_HELD);
	soft_coop_open(port, atomic_load(&port->sq_done), SIZE);
	soft_ring_mark_ready(world.b.evd.cq.ring, world.b.ep.port, world.b.ep.index, SOFT_SIDE_RECV);
}

static void call(void)
{
	if (!model_attack_random(3)) { /* the peer does something valid */
		model_attack_pause(true);
		if (world.a.ep.failing) {
			end_connection(&world.a);
			begin_connection(&world.a, &world.b);
		}
		if (model_attack_random(4))
			do_something(&world.a);
		else
			begin_coop_copy(&world.a);
		model_attack_pause(false);
		return;
	}
	if (!world.b.ep.failing && model_attack_random(24)) {
		do_something(&world.b);
		return;
	}
	end_connection(&world.b);
	begin_connection(&world.b, &world.a);
}

static void begin_anew(void)
{
	end_connection(&world.a);
	end_connection(&world.b);
	begin_connection(&world.a, &world.b);
	begin_connection(&world.b, &world.a);
}

/* A long message that both sides copy: to the peer, which may claim that it helps, or from the peer, which has begun to copy. */
static void call_coop(void)
{
	bool send = model_attack_random(2);

	model_attack_pause(true);
	begin_anew();
	post_of(&world.a, send ? DATP_RECV : DATP_SEND, SIZE);
	if (!send)
		begin_coop_copy(&world.a);
	model_attack_pause(false);
	post_of(&world.b, send ? DATP_SEND : DATP_RECV, SIZE);
	model_attack_pause(true);
}

/* The peer has posted many valid requests, and may claim that there are more and more of them. */
static void call_requests(void)
{
	model_attack_pause(true);
	begin_anew();
	for (int i = 0; i < POSTS; i++)
		post_of(&world.a, DATP_RDMA_WRITE, 80);
	model_attack_pause(false);
	if (model_attack_random(2))
		post_of(&world.b, DATP_RECV, SIZE);
	else
		soft_recv_progress(&world.b.ep);
	model_attack_pause(true);
}

/*
 * The connection is one of this process with itself, and the attacker is another peer of the same adapter: either side may be the
 * caller, and nobody keeps to the protocol.
 */
static void call_self(void)
{
	struct side *side = model_attack_random(2) ? &world.a : &world.b;

	if (!world.a.ep.failing && !world.b.ep.failing && model_attack_random(24)) {
		do_something(side);
		return;
	}
	begin_anew();
}

/* ---- the beginning and the end of a connection ---- */

/* Opens this side's endpoint, as a reply or an accept does. Returns false if the peer has ended what it had accepted. */
static bool open_connection(bool accepting)
{
	struct soft_ep *ep = &world.b.ep;
	const struct soft_remote_ep remote = { .index = world.a.ep.index,
					       .gen = world.a.ep.gen,
					       .my_sender_id = 2,
					       .layout = world.a.ep.layout };

	soft_port_begin(ep);
	world.b.received = ep->base.rq.posted;
	world.a.ep.rgen = ep->gen;
	if (soft_ep_open(ep, &world.peer[0], &remote, accepting))
		return true;
	if (accepting || ep->open)
		model_attack_wrong("the endpoint does not open");
	return false;
}

/* The peer does something valid: mostly it confirms the connection, or posts. */
static void peer_acts(void)
{
	model_attack_pause(true);
	if (model_attack_random(2))
		atomic_store(&world.b.ep.port->rtu_gen, world.b.ep.gen);
	else if (model_attack_random(4))
		do_something(&world.a);
	else
		begin_coop_copy(&world.a);
	model_attack_pause(false);
}

/* The service thread ends the connection: it never waits, but looks again at each tick, and the bound is over at some tick. */
static void service_ends(DAT_EVENT_NUMBER peer_event, bool only_failing)
{
	struct soft_ep *ep = &world.b.ep;

	model_conn.service = true;
	(void)soft_ep_end_and_report(ep, 0, peer_event, only_failing, DAT_CONNECTION_EVENT_BROKEN);
	while (soft_teardowns_serve(world.ia) || soft_teardowns_put_off_serve(world.ia) || world.ia->teardowns)
		;
	model_conn.service = false;
}

static void end_this_side(void)
{
	struct soft_ep *ep = &world.b.ep;

	switch (model_attack_random(5)) {
	case 0: /* the program disconnects */
		soft_ep_disconnect(&ep->base, DATP_CLOSE_ABRUPT);
		break;
	case 1: /* ... gracefully, and then, because the peer does not answer, abruptly */
		soft_ep_disconnect(&ep->base, DATP_CLOSE_GRACEFUL);
		world_poll(&world.b);
		soft_ep_disconnect(&ep->base, DATP_CLOSE_ABRUPT);
		break;
	case 2: /* the program frees or resets the endpoint */
		soft_ep_abandon(ep);
		break;
	case 3: /* the peer has disconnected, or died, or is to be told that its socket has hung up */
		atomic_store(&ep->peer->dead, model_attack_random(2));
		service_ends(model_attack_random(2) ? DAT_CONNECTION_EVENT_BROKEN : 0, false);
		break;
	default: /* an operation has failed */
		ep->failing = true;
		service_ends(DAT_CONNECTION_EVENT_BROKEN, true);
	}
}

/* From the opening to the end of a connection, whose events come once. */
static void call_connection(void)
{
	struct soft_ep *ep = &world.b.ep;
	bool accepting = model_attack_random(2);

	model_attack_pause(true);
	model_conn = (struct model_conn){ 0 };
	begin_anew();
	end_connection(&world.b);
	model_attack_pause(false);
	if (!open_connection(accepting)) {
		model_attack_pause(true);
		return;
	}
	for (uint32_t n = model_attack_random(6); n; n--) {
		peer_acts();
		if (!ep->failing)
			do_something(&world.b);
		soft_ep_look(ep);
	}
	end_this_side();
	model_attack_pause(true);
	if (ep->open || ep->peer || ep->rport || atomic_load(&ep->tearing_down) || world.ia->teardowns)
		model_attack_wrong("the connection has not ended");
	if (model_conn.ended > 1 || model_conn.established > accepting)
		model_attack_wrong("an event is reported twice");
}

static void unchanged(const unsigned char *guard, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (guard[i] != 0x5a)
			model_attack_wrong("memory is written that is not registered for it");
}

static void look(void)
{
	unchanged(memory.guard, GUARD);
	unchanged(memory.guard2, GUARD);
	unchanged(memory.guard3, GUARD);
	unchanged(memory.read_only, SIZE);
	unchanged(memory.guard4, GUARD);
	if (world.overtakes)
		model_attack_wrong("a request completes before an earlier one, which then never does");
	soft_recv_discard(&world.a.ep);
	soft_recv_discard(&world.b.ep);
	soft_cq_discard(&world.a.evd.cq);
	soft_cq_discard(&world.b.evd.cq);
}

/* ---- set-up ---- */

static void areas_add(void)
{
	struct soft_ia *ia = world.ia;
	struct side *const sides[] = { &world.a, &world.b };

	model_attack_reset();
	for (int i = 0; i < 2; i++) {
		model_attack_area(sides[i]->ep.port, sides[i]->ep.port_mem.size);
		model_attack_area(sides[i]->evd.cq.ring, soft_ring_size(sides[i]->evd.cq.mask + 1));
	}
	model_attack_area(ia->slot_mem.addr, ia->slot_mem.size);
	model_attack_area(shown, REGIONS * sizeof(*shown));
	model_attack_keep(own, REGIONS * sizeof(*own));
	model_attack_keep(&memory, sizeof(memory));
	model_attack_keep(&world, sizeof(world));
	model_attack_keep(ia, sizeof(*ia));
	model_attack_keep(&model_conn, sizeof(model_conn));
}

static void open_attacked(void)
{
	world_open_processes();
	memset(&memory, 0x5a, sizeof(memory));
	own = calloc(SOFT_MR_COUNT, sizeof(*own));
	shown = calloc(SOFT_MR_COUNT, sizeof(*shown));
	REQUIRE(own && shown);
	register_one(OURS, memory.ours, DAT_MEM_PRIV_ALL_FLAG | DATP_MEM_PRIV_REMOTE_ATOMIC);
	register_one(THEIRS, memory.theirs, DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED);
	register_one(READ_ONLY, memory.read_only, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	memcpy(shown, own, REGIONS * sizeof(*shown));
	atomic_store(&world.pz.longest, SIZE);
	free(world.ia->mr);
	world.ia->mr = shown;
	world.ia->own = own;
	world.ia->windows = calloc(SOFT_MR_COUNT, sizeof(*world.ia->windows)); /* no window is bound */
	REQUIRE(world.ia->windows);
	for (int n = 0; n < 3; n++) {
		world.peer[n].mr = shown;
		world.peer[n].regions = shown;
		world.peer[n].users = 1u << 20;
	}
	world.ia->service_fd = -1;
	world.stops = true;
	world.copies = copies;
	world.fails = fails;
	model_copied = copied;
	areas_add();
}

static void close_attacked(void)
{
	model_copied = NULL;
	model_attack_reset();
	if (world.ia) {
		world.ia->mr = NULL;
		free(world.ia->windows);
		world.ia->windows = NULL;
	}
	world_close();
	free(own);
	free(shown);
}

/* A connection of the process with itself: copies are checked against the record of its regions that no peer can write to. */
static void open_self(void)
{
	open_attacked();
	for (int n = 0; n < 3; n++) {
		world.peer[n].self = true;
		world.peer[n].regions = own;
	}
	areas_add();
}

static void attack_all(const struct model_attack *attack)
{
	const char *seed = getenv("ATTACK_SEED"), *runs = getenv("ATTACK_RUNS");

	CHECK(model_attack(attack, seed ? strtoull(seed, NULL, 0) : 1,
			   runs ? (unsigned int)strtoul(runs, NULL, 0) : check_is_brief() ? RUNS / 10 : RUNS));
}

static void calls_end_and_keep_to_their_memory_whatever_the_peer_writes(void)
{
	static const struct model_attack attack = { "an attacker", call, look, CALLS, STEPS };

	attack_all(&attack);
}

static void coop_copies_end_whatever_the_peer_writes(void)
{
	static const struct model_attack attack = { "an attacker of a cooperative copy", call_coop, look, CALLS, STEPS };

	attack_all(&attack);
}

static void requests_end_however_many_the_peer_adds(void)
{
	static const struct model_attack attack = { "an attacker that adds requests", call_requests, look, CALLS, STEPS };

	attack_all(&attack);
}

static void connections_begin_and_end_whatever_the_peer_writes(void)
{
	static const struct model_attack attack = { "an attacker of the beginning and the end", call_connection, look, 1, STEPS };

	attack_all(&attack);
}

static void connection_within_the_process_keeps_to_its_memory_whatever_another_peer_writes(void)
{
	static const struct model_attack attack = { "another peer than the two of a connection", call_self, look, CALLS, STEPS };

	attack_all(&attack);
}

static const struct check_test tests[] = {
	CHECK_TEST(calls_end_and_keep_to_their_memory_whatever_the_peer_writes),
	CHECK_TEST(coop_copies_end_whatever_the_peer_writes),
	CHECK_TEST(requests_end_however_many_the_peer_adds),
	CHECK_TEST(connections_begin_and_end_whatever_the_peer_writes),
	CHECK_END
};
static const struct check_test self_tests[] = {
	CHECK_TEST(connection_within_the_process_keeps_to_its_memory_whatever_another_peer_writes),
	CHECK_END
};

static const struct check_suite attacks = {
	.name = "soft model attack", .setup = open_attacked, .teardown = close_attacked, .tests = tests
};

static const struct check_suite selves = {
	.name = "soft model attack, itself", .setup = open_self, .teardown = close_attacked, .tests = self_tests
};

CHECK_SUITES(&attacks, &selves);
