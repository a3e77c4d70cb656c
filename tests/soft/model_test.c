/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The soft provider's protocol in shared memory, in every order of its steps that C11 allows: the ring of an event
 * queue (cells, sleepers, a sender that dies at any instruction), and the meeting of requests and receives between two
 * ports (engine word, attention lists, the end of a connection). What runs is the provider's own cq.c, engine.c,
 * send.c, recv.c and port.c; see model.h for how, and for what is not tried.
 */
#include "tests/soft/model.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/cq.h"
#include "providers/soft/engine.h"
#include "providers/soft/joint.h"
#include "providers/soft/port.h"
#include "providers/soft/recv.h"
#include "providers/soft/send.h"
#include "providers/soft/xfer.h"

#define CELLS 4
#define POSTS 4

struct side {
	struct soft_ep ep;
	struct soft_evd evd;
	struct datp_wqe recv[POSTS], request[POSTS];
	char out[POSTS], in[POSTS]; /* payloads, one byte each */
	_Atomic uint32_t lock;	    /* of what follows, as an EVD's */
	uint32_t done;		    /* completions so far, of receives and requests */
	uint8_t status[2 * POSTS];
};

static struct {
	struct soft_ia *ia;
	struct soft_peer peer[3]; /* [n] has the name n + 1 */
	struct side a, b;
	uint32_t next[2];	   /* the number of each sender's next message */
	uint32_t taken;
	bool lost;		    /* what model_peer_lost() says once somebody has died */
	_Atomic uint32_t no_region; /* what the receives are in is no more */
} t;

/* ------------------------------------------------------------------ what the provider's files ask of others */

int model_xfer(struct soft_peer *peer, bool to_peer, bool ordered, struct soft_list *local, struct soft_list *remote,
	       uint64_t len);
enum datp_err model_check_list(const struct soft_mr *table, uint32_t pz, const struct datp_sge *iov, int n,
			      bool local_write);
bool model_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote, uint32_t need);
bool model_peer_lost(struct soft_peer *peer);
void model_ep_heard(struct soft_ep *ep, uint32_t gen);
void model_ep_fail(struct soft_ep *ep);

/* Others may come between the bytes. */
int model_xfer(struct soft_peer *peer, bool to_peer, bool ordered, struct soft_list *local, struct soft_list *remote,
	       uint64_t len)
{
	struct soft_list *from = to_peer ? local : remote, *to = to_peer ? remote : local;

	(void)peer, (void)ordered;
	model_read(from->iov[0].iov_base);
	model_write(to->iov[0].iov_base);
	*(char *)to->iov[0].iov_base = *(char *)from->iov[0].iov_base;
	model_pause();
	model_read(from->iov[0].iov_base);
	model_write(to->iov[0].iov_base);
	soft_list_skip(local, len);
	soft_list_skip(remote, len);
	return 0;
}

enum datp_err model_check_list(const struct soft_mr *table, uint32_t pz, const struct datp_sge *iov, int n,
			      bool local_write)
{
	(void)table, (void)pz, (void)iov, (void)n;
	return local_write && atomic_load(&t.no_region) ? DATP_ERR_PRIV_WRITE : DATP_OK;
}

bool model_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote, uint32_t need)
{
	(void)table, (void)pz, (void)remote, (void)need;
	return true;
}

bool model_peer_lost(struct soft_peer *peer)
{
	(void)peer;
	return t.lost && model_dead(0);
}

void model_ep_heard(struct soft_ep *ep, uint32_t gen)
{
	(void)ep, (void)gen;
}

void model_ep_fail(struct soft_ep *ep)
{
	(void)ep;
	model_require(t.no_region || !"the connection failed");
}

ssize_t model_bell(int fd, const void *bytes, size_t size)
{
	(void)fd, (void)bytes;
	return (ssize_t)size;
}

static struct side *side_of(const struct datp_ep *ep)
{
	return ep == &t.a.ep.base ? &t.a : &t.b;
}

static void complete(struct side *side, uint8_t status)
{
	datp_lock(&side->lock);
	side->status[side->done++] = status;
	datp_unlock(&side->lock);
}

static uint32_t completed(struct side *side)
{
	uint32_t done;

	datp_lock(&side->lock);
	done = side->done;
	datp_unlock(&side->lock);
	return done;
}

void model_wqe_done(struct datp_wqe *wqe, uint8_t status, uint64_t len, bool solicited)
{
	struct side *side = side_of(wqe->ep);

	(void)solicited;
	datp_wqe_finish(wqe, status, len);
	complete(side, status);
	/* as libdatp does for an event that it queues: another thread may be asleep */
	atomic_fetch_add_explicit(&side->evd.cq.ring->bell, 1, memory_order_release);
	model_syscall(SYS_futex, &side->evd.cq.ring->bell);
}

/* ------------------------------------------------------------------ set-up */

static void watch_ring(struct soft_ring *ring)
{
	static const char *const cells[CELLS] = { "cell 0", "cell 1", "cell 2", "cell 3" };
	static const char *const claims[CELLS] = { "claim 0", "claim 1", "claim 2", "claim 3" };

	model_watch(&ring->tail, sizeof(ring->tail), "tail");
	model_watch(&ring->taken, sizeof(ring->taken), "taken");
	model_watch(&ring->attention, sizeof(ring->attention), "attention");
	model_watch(&ring->notify, sizeof(ring->notify), "notify");
	model_watch(&ring->bell, sizeof(ring->bell), "bell");
	for (uint32_t i = 0; i <= ring->mask; i++) {
		model_watch(&ring->cell[i].ready, sizeof(ring->cell[i].ready), cells[i]);
		model_watch(&soft_ring_claims(ring)[i], sizeof(soft_ring_claims(ring)[i]), claims[i]);
	}
	model_keep(ring, soft_ring_size(ring->mask + 1));
}

static void evd_open(struct soft_evd *evd, uint32_t cells)
{
	evd->base.obj.ia = &t.ia->base;
	evd->base.has_cq = true;
	REQUIRE(soft_cq_init(&evd->cq, t.ia, &evd->base, 1) == DATP_OK);
	soft_ring_init(evd->cq.ring, cells, 0);
	watch_ring(evd->cq.ring);
}

static void world_open(void)
{
	memset(&t, 0, sizeof(t));
	model_reset();
	t.ia = calloc(1, sizeof(*t.ia));
	REQUIRE(t.ia != NULL);
	t.ia->peer_slot = calloc(SOFT_PORT_MAX, sizeof(*t.ia->peer_slot));
	REQUIRE(t.ia->peer_slot != NULL && soft_ports_init(t.ia) == DATP_OK);
	REQUIRE(soft_arena_new(&t.ia->arena) == DATP_OK);
	for (uint32_t n = 0; n < 3; n++) {
		t.peer[n].ia = t.ia;
		t.peer[n].slot = n + 1;
		t.peer[n].self = true;
		t.ia->peer_slot[n + 1] = &t.peer[n];
	}
	model_keep(&t.next, sizeof(t.next));
	model_keep(&t.taken, sizeof(t.taken));
}

static void ring_open(void)
{
	world_open();
	evd_open(&t.b.evd, 1); /* so that each cell is used again */
	model_keep(&t.b.evd, sizeof(t.b.evd));
}

/* Here the tail may be set back by a sender that comes late, while another is ahead of it. */
static void ring_of_two_open(void)
{
	world_open();
	evd_open(&t.b.evd, 2);
	model_keep(&t.b.evd, sizeof(t.b.evd));
}

static void side_watch(struct side *side, const char *const name[11])
{
	struct soft_port *port = side->ep.port;

	model_watch(&port->open, sizeof(port->open), name[0]);
	model_watch(&port->rq_posted, sizeof(port->rq_posted), name[1]);
	model_watch(&port->sq_posted, sizeof(port->sq_posted), name[2]);
	model_watch(&port->sq_done, sizeof(port->sq_done), name[3]);
	model_watch(&port->engine, sizeof(port->engine), name[4]);
	model_watch(&port->pieces, sizeof(port->pieces), name[9]);
	model_watch(&port->pieces_failed, sizeof(port->pieces_failed), name[10]);
	for (int i = 0; i < 2; i++) {
		model_watch(&port->attention[i].next, sizeof(port->attention[i].next), name[5 + i]);
		model_watch(&port->attention[i].queued, sizeof(port->attention[i].queued), name[7 + i]);
	}
	model_keep(port, side->ep.port_mem.size);
	model_keep(side, sizeof(*side));
}

static void side_create(struct side *side)
{
	struct datp_ep *ep = &side->ep.base;

	evd_open(&side->evd, CELLS);
	ep->obj.ia = &t.ia->base;
	ep->attr.max_recv_dtos = ep->attr.max_request_dtos = POSTS;
	ep->attr.max_recv_iov = ep->attr.max_request_iov = 1;
	ep->recv_evd = ep->request_evd = &side->evd.base;
	ep->rq.ring = side->recv;
	ep->sq.ring = side->request;
	ep->rq.mask = ep->sq.mask = POSTS - 1;
	ep->rq.max = ep->sq.max = POSTS;
	REQUIRE(soft_ep_create(ep) == DATP_OK);
	soft_port_begin(&side->ep);
}

/* As soft_ep_open() leaves it. */
static void side_join(struct side *side, struct side *to)
{
	struct soft_ep *ep = &side->ep;

	ep->peer = &t.peer[side == &t.a ? 1 : 0];
	ep->my_slot = side == &t.a ? 1 : 2;
	ep->rport = to->ep.port;
	ep->rring = ep->rrequest = to->evd.cq.ring;
	ep->rlayout = to->ep.layout;
	ep->rgen = to->ep.gen;
	ep->rindex = to->ep.index;
	ep->open = true;
	atomic_store(&ep->port->open, ep->gen);
	for (int i = 0; i < POSTS; i++)
		side->out[i] = (char)(i + 1);
}

static void pair_open(void)
{
	static const char *const a[] = { "a.open", "a.rq_posted", "a.sq_posted", "a.sq_done", "a.engine", "a.next r",
					 "a.next s", "a.queued r", "a.queued s", "a.pieces", "a.failed" };
	static const char *const b[] = { "b.open", "b.rq_posted", "b.sq_posted", "b.sq_done", "b.engine", "b.next r",
					 "b.next s", "b.queued r", "b.queued s", "b.pieces", "b.failed" };

	world_open();
	side_create(&t.a);
	side_create(&t.b);
	side_join(&t.a, &t.b);
	side_join(&t.b, &t.a);
	side_watch(&t.a, a);
	side_watch(&t.b, b);
	model_watch(&soft_port_desc(t.b.ep.port, &t.b.ep.layout, 0)->state, 4, "b.desc 0");
	model_watch(&soft_port_desc(t.b.ep.port, &t.b.ep.layout, 1)->state, 4, "b.desc 1");
}

static void world_close(void)
{
	if (!t.ia)
		return;
	if (t.a.evd.cq.ring)
		soft_cq_fini(&t.a.evd.cq);
	if (t.b.evd.cq.ring)
		soft_cq_fini(&t.b.evd.cq);
	soft_arena_put(t.ia->arena);
	soft_ports_fini(t.ia);
	free(t.ia->peer_slot);
	free(t.ia);
	t.ia = NULL;
}

static void explore(const struct model_scenario *scenario)
{
	CHECK(model_explore(scenario));
	fprintf(stderr, "# %s: %llu states\n", scenario->name, (unsigned long long)model_states());
	CHECK(model_states() > 100);
}

/* ------------------------------------------------------------------ the ring */

static void ring_send(uint32_t sender, uint32_t number)
{
	struct soft_cell *cell;
	uint64_t position;

	while (!(cell = soft_ring_claim(t.b.evd.cq.ring, sender + 1, &position)))
		model_yield();
	model_write(cell);
	cell->kind = SOFT_CELL_MESSAGE;
	cell->port = sender;
	cell->len = number;
	soft_ring_publish(cell, position);
}

static void ring_sender_0(void)
{
	ring_send(0, 0);
	ring_send(0, 1);
}

static void ring_sender_0_once(void)
{
	ring_send(0, 0);
}

static void ring_sender_1(void)
{
	ring_send(1, 0);
}

static void ring_waker_0(void)
{
	ring_send(0, 0);
	soft_ring_notify(t.b.evd.cq.ring, -1);
}

static void ring_waker_1(void)
{
	ring_send(1, 0);
	soft_ring_notify(t.b.evd.cq.ring, -1);
}

/* Takes what is there; true if it took something. */
static bool ring_take(void)
{
	struct soft_cell *cell = soft_cq_peek(&t.b.evd.cq);

	if (!cell)
		return false;
	model_read(cell);
	if (cell->kind == SOFT_CELL_MESSAGE) {
		model_require(cell->port < 2);
		model_require(cell->len == t.next[cell->port]);
		t.next[cell->port]++;
		t.taken++;
	}
	soft_cq_next(&t.b.evd.cq);
	return true;
}

static void ring_poller(void)
{
	while (t.taken < 3)
		if (!ring_take())
			model_yield();
}

static void messages_arrive_once_whole_and_in_order(void)
{
	static const struct model_scenario scenario = {
		"two senders, three messages", NULL, { ring_sender_0, ring_sender_1, ring_poller }, NULL, 0, 2
	};

	explore(&scenario);
}

/* What the live sender sends arrives, whatever the other one left. */
static void ring_poller_of_the_living(void)
{
	bool buried = false;

	while (!t.next[1]) {
		if (ring_take())
			continue;
		if (!buried && model_dead(0)) {
			soft_cqs_bury(t.ia, &t.peer[0]);
			buried = true;
		} else {
			model_yield();
		}
	}
}

static void sender_that_dies_at_any_step_leaves_nothing_in_the_way(void)
{
	static const struct model_scenario scenario = {
		"a sender dies", NULL, { ring_sender_0_once, ring_sender_1, ring_poller_of_the_living }, NULL, 1, 2
	};

	explore(&scenario);
}

/* As libdatp waits: the bell is read, then all is looked at, then the transport armed, then slept. */
static void ring_sleep_until(uint32_t count)
{
	struct soft_cq *cq = &t.b.evd.cq;

	for (;;) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		while (ring_take())
			;
		if (t.taken >= count)
			return;
		if (!soft_cq_arm(cq, SOFT_NOTIFY_WAITER))
			model_futex_wait(&cq->ring->bell, seen);
	}
}

static void ring_sleeper(void)
{
	ring_sleep_until(2);
}

static void sleeper_is_woken_by_each_message(void)
{
	static const struct model_scenario scenario = {
		"a sleeper", NULL, { ring_waker_0, ring_waker_1, ring_sleeper }, NULL, 0, 3
	};

	explore(&scenario);
}

static void ring_sleeper_of_the_living(void)
{
	struct soft_cq *cq = &t.b.evd.cq;

	while (!t.next[1]) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		while (ring_take())
			;
		if (!t.next[1] && !soft_cq_arm(cq, SOFT_NOTIFY_WAITER))
			model_futex_wait(&cq->ring->bell, seen);
	}
}

/* It may have taken the request to be woken with it. Without a death there is nothing to bury. */
static void ring_undertaker_or_not(void)
{
	while (!model_dead(0)) {
		if (t.next[1])
			return;
		model_yield();
	}
	soft_cqs_bury(t.ia, &t.peer[0]);
}

static void sleeper_is_woken_although_a_sender_died(void)
{
	static const struct model_scenario scenario = {
		"a sender dies, and somebody sleeps", NULL,
		{ ring_waker_0, ring_waker_1, ring_sleeper_of_the_living, ring_undertaker_or_not }, NULL, 1, 1
	};

	explore(&scenario);
}

/* ------------------------------------------------------------------ two ports */

static void post(struct side *side, bool recv, const char *payload, uint64_t len)
{
	struct datp_ep *ep = &side->ep.base;
	struct datp_wq *wq = recv ? &ep->rq : &ep->sq;
	struct datp_wqe *wqe = &wq->ring[wq->posted & wq->mask];
	struct datp_sge sge = { .addr = (uintptr_t)payload, .len = len };

	datp_lock(&ep->lock);
	wqe->ep = ep;
	wqe->seq = wq->posted;
	wqe->op = recv ? DATP_RECV : DATP_SEND;
	wqe->len = len;
	wq->posted++;
	if (recv)
		soft_post_recv(ep, wqe, &sge, 1);
	else
		soft_post_send(ep, wqe, &sge, 1);
	datp_unlock(&ep->lock);
}

/* One poll of the queue. What is returned has been counted by us, what was queued by model_wqe_done(). */
static void poll(struct side *side)
{
	struct datp_completion c;

	datp_lock(&side->evd.base.poll_lock);
	if (soft_evd_poll(&side->evd.base, &c, 1) > 0)
		complete(side, c.status);
	datp_unlock(&side->evd.base.poll_lock);
}

static void sleep_until(struct side *side, uint32_t done)
{
	struct soft_cq *cq = &side->evd.cq;

	for (;;) {
		uint32_t seen = atomic_load_explicit(&cq->ring->bell, memory_order_acquire);

		poll(side);
		if (completed(side) >= done)
			return;
		if (!soft_cq_arm(cq, SOFT_NOTIFY_WAITER))
			model_futex_wait(&cq->ring->bell, seen);
	}
}

#define LONG 5000 /* longer than any cell; nothing is copied but one byte */

static void long_send(int i)
{
	model_write(&t.a.out[i]);
	post(&t.a, false, &t.a.out[i], LONG);
}

static void receive(int i)
{
	model_write(&t.b.in[i]);
	post(&t.b, true, &t.b.in[i], LONG);
}

static void check_received(uint32_t n)
{
	model_require(t.b.done == n);
	for (uint32_t i = 0; i < n; i++) {
		model_read(&t.b.in[i]);
		model_require(t.b.status[i] == DAT_DTO_SUCCESS);
		model_require(t.b.in[i] == t.a.out[i]);
	}
}

static void a_sends_one(void)
{
	long_send(0);
	sleep_until(&t.a, 1);
	model_write(&t.a.out[0]); /* it is its owner's again */
	model_require(t.a.done == 1 && t.a.status[0] == DAT_DTO_SUCCESS);
}

static void b_receives_one(void)
{
	receive(0);
	sleep_until(&t.b, 1);
	check_received(1);
}

static void send_meets_its_receive(void)
{
	static const struct model_scenario scenario = {
		"one send, one receive", NULL, { a_sends_one, b_receives_one }, NULL, 0, 3
	};

	explore(&scenario);
}

static void a_sends_two(void)
{
	long_send(0);
	long_send(1);
	sleep_until(&t.a, 2);
}

static void b_receives_two(void)
{
	receive(0);
	receive(1);
	sleep_until(&t.b, 2);
	check_received(2);
}

static void sends_meet_their_receives_in_order(void)
{
	static const struct model_scenario scenario = {
		"two sends, two receives", NULL, { a_sends_two, b_receives_two }, NULL, 0, 2
	};

	explore(&scenario);
}

/* As a program with two threads: one waits, the other posts. */
static void b_posts(void)
{
	receive(0);
}

static void b_waits(void)
{
	sleep_until(&t.b, 1);
	check_received(1);
}

static void receive_that_is_posted_late_wakes_who_waits(void)
{
	static const struct model_scenario scenario = {
		"a send, a receive of another thread", NULL, { a_sends_one, b_waits, b_posts }, NULL, 0, 1
	};

	explore(&scenario);
}

/* The end of the connection, as soft_ep_end() brings it about: nobody touches the buffer afterwards. */
static void b_ends(void)
{
	struct soft_ep *ep = &t.b.ep;

	receive(0);
	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_engine_wait(ep->rport, ep->peer, false);
	soft_engine_wait(ep->port, ep->peer, true);
	model_write(&t.b.in[0]);
}

static void a_sends_and_goes(void)
{
	long_send(0);
}

static void end_waits_for_who_is_at_the_memory(void)
{
	static const struct model_scenario scenario = {
		"a send, and the end", NULL, { a_sends_and_goes, b_ends }, NULL, 0, 0
	};

	explore(&scenario);
}

/* The same when the sender dies with the engine in its hand; it has one of b's requests in hand as well. */
static void b_sends_and_ends(void)
{
	struct soft_ep *ep = &t.b.ep;

	receive(0);
	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_engine_wait(ep->rport, ep->peer, false);
	soft_engine_wait(ep->port, ep->peer, true);
	if (model_dead(0))
		soft_engine_take_back(ep->port);
	model_write(&t.b.in[0]);
	model_require(!(atomic_load(&ep->port->engine) & SOFT_ENGINE_HELD));
}

static void a_sends_one_mortal(void)
{
	long_send(0);
}

static void end_does_not_wait_for_the_dead(void)
{
	static const struct model_scenario scenario = {
		"a send, a death, and the end", NULL, { a_sends_one_mortal, b_sends_and_ends }, NULL, 1, 3
	};

	t.lost = true;
	explore(&scenario);
}

/* ------------------------------------------------------------------ a long message, copied by both sides */

static char joint_from[SOFT_JOINT_MIN], joint_to[SOFT_JOINT_MIN];

/* The first byte of each piece stands for it. */
static void joint_write(char *payload)
{
	for (uint32_t i = 0; i < SOFT_JOINT_MIN; i += SOFT_JOINT_PIECE_MAX)
		model_write(&payload[i]);
}

static void joint_check(void)
{
	model_require(t.b.done == 1 && t.b.status[0] == DAT_DTO_SUCCESS);
	for (uint32_t i = 0; i < SOFT_JOINT_MIN; i += SOFT_JOINT_PIECE_MAX) {
		model_read(&joint_to[i]);
		model_require(joint_to[i] == joint_from[i]);
	}
}

static void joint_prepare(void)
{
	for (int n = 0; n < 3; n++) {
		t.peer[n].self = false;
		t.peer[n].cma = true;
	}
	memset(joint_from, 7, sizeof(joint_from));
}

static void joint_post(struct side *side)
{
	post(side, side == &t.b, side == &t.b ? joint_to : joint_from, SOFT_JOINT_MIN);
}

static void joint_receive_is_there(void)
{
	memset(joint_to, 0, sizeof(joint_to));
	joint_post(&t.b);
}

static void joint_send_is_there(void)
{
	memset(joint_to, 0, sizeof(joint_to));
	joint_post(&t.a);
}

static void a_waits_for_its_send(void)
{
	sleep_until(&t.a, 1);
	joint_write(joint_from); /* it is its owner's again */
	model_require(t.a.done == 1 && t.a.status[0] == DAT_DTO_SUCCESS);
}

static void a_sends_jointly(void)
{
	joint_post(&t.a);
	a_waits_for_its_send();
}

static void b_waits_jointly(void)
{
	sleep_until(&t.b, 1);
	joint_check();
}

static void b_receives_jointly(void)
{
	joint_post(&t.b);
	b_waits_jointly();
}

static void receiver_that_polls_takes_its_part(void)
{
	static const struct model_scenario scenario = {
		"a joint send, and who polls", joint_receive_is_there, { a_sends_jointly, b_waits_jointly }, NULL, 0, 3
	};

	joint_prepare();
	explore(&scenario);
}

static void sender_that_polls_takes_its_part(void)
{
	static const struct model_scenario scenario = {
		"a joint send, and a late receive", joint_send_is_there, { a_waits_for_its_send, b_receives_jointly },
		NULL, 0, 3
	};

	joint_prepare();
	explore(&scenario);
}

/* The end of a side's connection while the other one may be at its memory. `mortal`: the other one may have died. */
static void joint_end(struct side *side, char *memory, bool mortal)
{
	struct soft_ep *ep = &side->ep;

	datp_lock(&ep->base.lock);
	ep->open = false;
	atomic_store(&ep->port->open, 0);
	datp_unlock(&ep->base.lock);
	soft_engine_wait(ep->rport, ep->peer, false);
	soft_engine_wait(ep->port, ep->peer, true);
	if (mortal && model_dead(0))
		soft_engine_take_back(ep->port);
	joint_write(memory);
}

static void a_posts_jointly(void)
{
	joint_post(&t.a);
}

static void b_polls(void)
{
	poll(&t.b);
}

/* Another thread polls at the same time, and may be at a piece. */
static void b_ends_jointly(void)
{
	joint_end(&t.b, joint_to, false);
}

static void end_waits_for_both_sides(void)
{
	static const struct model_scenario scenario = {
		"a joint send, who polls, and the end", joint_receive_is_there,
		{ a_posts_jointly, b_polls, b_ends_jointly }, NULL, 0, 2
	};

	joint_prepare();
	explore(&scenario);
}

/* As soft_lmr_free(): no lock of the endpoint's is taken. */
static void b_frees(void)
{
	struct soft_ep *ep = &t.b.ep;

	(void)atomic_exchange(&t.no_region, 1);
	soft_engine_wait(ep->port, ep->peer, true);
	soft_engine_wait(ep->rport, ep->peer, false);
	joint_write(joint_to);
}

static void freed_memory_is_touched_by_neither(void)
{
	static const struct model_scenario scenario = {
		"a joint send, who polls, and its region is freed", joint_receive_is_there,
		{ a_posts_jointly, b_polls, b_frees }, NULL, 0, 2
	};

	joint_prepare();
	model_watch(&t.no_region, sizeof(t.no_region), "no region");
	model_keep(&t.no_region, sizeof(t.no_region));
	explore(&scenario);
}

static void freed_memory_is_not_touched_after_a_death(void)
{
	static const struct model_scenario scenario = {
		"a joint send, a death, and the region is freed", joint_receive_is_there,
		{ a_posts_jointly, b_polls, b_frees }, NULL, 1, 1
	};

	joint_prepare();
	t.lost = true;
	model_watch(&t.no_region, sizeof(t.no_region), "no region");
	model_keep(&t.no_region, sizeof(t.no_region));
	explore(&scenario);
}

static void b_ends_mortally(void)
{
	joint_end(&t.b, joint_to, true);
}

static void end_does_not_wait_for_a_dead_sender(void)
{
	static const struct model_scenario scenario = {
		"a joint send, a death, and the end", joint_receive_is_there,
		{ a_posts_jointly, b_polls, b_ends_mortally }, NULL, 1, 1
	};

	joint_prepare();
	t.lost = true;
	explore(&scenario);
}

static void a_posts_jointly_and_ends(void)
{
	joint_post(&t.a);
	joint_end(&t.a, joint_from, true);
}

static void sender_does_not_wait_for_a_dead_helper(void)
{
	static const struct model_scenario scenario = {
		"a joint send, a helper's death, and the end", joint_receive_is_there,
		{ b_polls, a_posts_jointly_and_ends }, NULL, 1, 3
	};

	joint_prepare();
	t.lost = true;
	explore(&scenario);
}

static const struct check_test ring_tests[] = {
	CHECK_TEST(messages_arrive_once_whole_and_in_order),
	CHECK_TEST(sender_that_dies_at_any_step_leaves_nothing_in_the_way),
	CHECK_TEST(sleeper_is_woken_by_each_message),
	CHECK_TEST(sleeper_is_woken_although_a_sender_died),
	CHECK_END
};

static const struct check_test ring_of_two_tests[] = {
	CHECK_TEST(messages_arrive_once_whole_and_in_order),
	CHECK_TEST(sender_that_dies_at_any_step_leaves_nothing_in_the_way),
	CHECK_END
};

static const struct check_test port_tests[] = {
	CHECK_TEST(send_meets_its_receive),
	CHECK_TEST(sends_meet_their_receives_in_order),
	CHECK_TEST(receive_that_is_posted_late_wakes_who_waits),
	CHECK_TEST(end_waits_for_who_is_at_the_memory),
	CHECK_TEST(end_does_not_wait_for_the_dead),
	CHECK_TEST(receiver_that_polls_takes_its_part),
	CHECK_TEST(sender_that_polls_takes_its_part),
	CHECK_TEST(end_waits_for_both_sides),
	CHECK_TEST(freed_memory_is_touched_by_neither),
	CHECK_TEST(freed_memory_is_not_touched_after_a_death),
	CHECK_TEST(end_does_not_wait_for_a_dead_sender),
	CHECK_TEST(sender_does_not_wait_for_a_dead_helper),
	CHECK_END
};

static const struct check_suite ring = {
	.name = "soft ring model", .setup = ring_open, .teardown = world_close, .tests = ring_tests
};

static const struct check_suite ring_of_two = {
	.name = "soft ring model, two cells", .setup = ring_of_two_open, .teardown = world_close,
	.tests = ring_of_two_tests
};

static const struct check_suite ports = {
	.name = "soft port model", .setup = pair_open, .teardown = world_close, .tests = port_tests
};

CHECK_SUITES(&ring, &ring_of_two, &ports);
