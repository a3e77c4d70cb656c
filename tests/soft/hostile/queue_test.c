/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that changes the number of requests in the victim's queue: some are hidden, or there are some that the victim has not
 * posted. What the victim decides by the number of its requests, it decides by its own count: a disconnect that has nothing to
 * wait for ends, and a request that cannot complete any more ends the connection. And a peer that has left very much to execute: a
 * call does a part of it.
 *
 * The program defines epoll_wait() in place of that of the C library, which it calls, so that it can hold the service thread.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "api.h"
#include "hostile.h"
#include "providers/soft/cq.h"
#include "victim.h"

enum { SIZE = 1 << 20 }; /* of a message that waits for a receive on any adapter */

static pid_t attacker;

/* The attacker posts no receives, so a request of the victim waits, until the attacker writes that no request is posted. */
static void miscount(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	hostile_miscount(&h, (uint32_t)*(const int *)arg);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void connect_on(const char *adapter, int more)
{
	attacker = check_fork(miscount, &more);
	victim_opens_as(adapter, SIZE);
	victim_tells(attacker);
	victim_accepts();
}

static void let_it_miscount(void)
{
	check_signal(attacker);
	check_await(attacker);
}

static void others_are_served(void)
{
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

static void send_one(uint64_t cookie)
{
	REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, SIZE, cookie, 0), DAT_SUCCESS);
}

static void hidden_request_of_a_strict_adapter_ends_the_connection(void)
{
	connect_on("soft-strict", -1);
	send_one(1);
	let_it_miscount();
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	others_are_served();
}

static void disconnect_does_not_wait_for_a_request_that_was_not_posted(void)
{
	connect_on("soft0", 1);
	let_it_miscount();
	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	API_EMPTY(victim.end.request);
	others_are_served();
}

static void disconnect_with_a_hidden_request_ends(void)
{
	connect_on("soft0", -1);
	send_one(1);
	let_it_miscount();
	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	others_are_served();
}

/* ------------------------------------------------------------------ much to execute */

enum { REQUESTS = 60, PARTS = 16, LONG = PARTS * HOSTILE_DATA, MOST = 64 << 20, PEERS = 4, CELLS = 60 };

/* The victim's memory. */
struct target {
	uint64_t addr;
	uint32_t region;
};

static _Atomic bool frozen; /* the service thread does nothing, so no other thread executes what the program leaves */
static _Atomic bool thaws;  /* it goes on when one more request has been executed than so many */
static _Atomic uint32_t thaws_from;
static uint32_t executed(int n);

int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
	int (*real)(int, struct epoll_event *, int, int);
	int n;

	*(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
	n = real(fd, events, most, ms);
	while (atomic_load(&frozen) && !(atomic_load(&thaws) && executed(1) != atomic_load(&thaws_from)))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return n;
}

static bool sends; /* the requests are sends to an SRQ, which has a receive for each */

/* Says that a message has been filled into a receive of the victim, which is not true. */
static void publish_done(struct hostile *h, uint32_t msg)
{
	struct soft_ring *ring = hostile_ring_of_victim(h);
	uint64_t position = 0;
	struct soft_cell *cell = soft_ring_reserve(ring, ring->mask, h->theirs.intro.sender_id, &position);

	REQUIRE(cell != NULL);
	soft_ring_publish_done(cell, position, h->theirs.my_port, h->theirs.my_gen, msg);
}

/*
 * Leaves RDMA Writes, each of all its memory several times, and cells that have the victim look for them. It fills all entries, for
 * more requests of that kind.
 */
static void leave_much(void *arg)
{
	uint64_t where = victim_is_at();
	struct target target;
	struct hostile h;
	int cells = *(const int *)arg;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	check_get(CHECK_PARENT, &target, sizeof(target));
	for (uint32_t i = 0; i <= h.own.layout.sq_mask; i++) {
		struct soft_sqe *e = soft_port_sqe(h.own.port, &h.own.layout, i);

		*e = (struct soft_sqe){ .op = DATP_RDMA_WRITE, .n = PARTS, .len = LONG };
		for (unsigned int part = 0; part < PARTS; part++)
			e->sge[part] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, HOSTILE_DATA };
		e->remote = (struct datp_rge){ target.region, 0, target.addr, LONG };
		if (sends) {
			e->op = DATP_SEND;
			e->msg = i;
			e->has_place = 1;
		}
	}
	atomic_store(&h.own.port->sq_posted, REQUESTS);
	hostile_mark_ready(&h);
	for (int i = 0; i < cells; i++)
		publish_done(&h, sends ? (uint32_t)i + 1 : 1);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static pid_t peers[PEERS];
static struct api_end ends[PEERS]; /* their connections; all have one event queue for receives */
static DAT_SRQ_HANDLE srq;	   /* of these, or DAT_HANDLE_NULL */

static void end_make(struct api_end *end)
{
	const DAT_EP_ATTR attr = { .max_message_size = LONG, .max_rdma_size = LONG, .max_request_dtos = 8, .max_request_iov = 1 };

	*end = (struct api_end){ .recv = victim.end.recv,
				 .request = api_evd(8, DAT_EVD_DTO_FLAG),
				 .connect = api_evd(8, DAT_EVD_CONNECTION_FLAG) };
	if (srq == DAT_HANDLE_NULL) {
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end->recv, end->request, end->connect, NULL, &end->ep), DAT_SUCCESS);
		REQUIRE_DAT(api_recv(end->ep, &victim.buf, 0, 8, 1), DAT_SUCCESS);
	} else {
		REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, end->recv, end->request, end->connect, srq, &attr, &end->ep),
			    DAT_SUCCESS);
	}
}

static void srq_make(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = REQUESTS, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET seg = api_seg(&victim.buf, 0, LONG);

	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	for (int i = 0; i < REQUESTS; i++)
		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(1)), DAT_SUCCESS);
}

/* Each of the peers connects, and leaves its requests. The service thread is held. */
static void peers_leave_much_to(int n, int cells, bool shared)
{
	for (int i = 0; i < n; i++)
		peers[i] = check_fork(leave_much, &cells);
	victim_opens_as("soft0", LONG);
	srq = DAT_HANDLE_NULL;
	if (shared)
		srq_make();
	for (int i = 0; i < n; i++) {
		end_make(&ends[i]);
		victim_tells(peers[i]);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), ends[i].ep, 0, NULL), DAT_SUCCESS);
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	atomic_store(&frozen, true);
	for (int i = 0; i < n; i++) {
		const struct target target = { (uintptr_t)victim.buf.mem, victim.buf.rmr_context };

		check_put(peers[i], &target, sizeof(target));
		check_await(peers[i]);
	}
}

static void peers_leave_much(int n, int cells)
{
	peers_leave_much_to(n, cells, false);
}

static void peers_end(int n)
{
	atomic_store(&frozen, false);
	victim_serves_others();
	for (int i = 0; i < n; i++) {
		check_signal(peers[i]);
		check_join(peers[i]);
	}
}

/* Returns how many requests of all peers have been executed. */
static uint32_t executed(int n)
{
	uint32_t done = 0;

	for (int i = 0; i < n; i++)
		done += atomic_load(&((struct soft_ep *)ends[i].ep)->rport->sq_done);
	return done;
}

/* Polls until all has been executed, and each time a part of it: at most 64 MiB for the ready list, and as much for the cells. */
static void calls_execute_parts(int n, uint64_t most)
{
	const uint32_t all = (uint32_t)n * REQUESTS;
	uint32_t before = executed(n), now = before;
	DAT_EVENT event;

	for (uint64_t until = check_now_ms() + check_patience_ms(); now < all && check_now_ms() < until; before = now) {
		(void)dat_evd_dequeue(victim.end.recv, &event);
		now = executed(n);
		CHECK((now - before) * (uint64_t)LONG <= most);
	}
	CHECK_EQ_INT(now, all);
}

static void call_executes_a_part_of_what_a_peer_has_left(void)
{
	peers_leave_much(1, 0);
	calls_execute_parts(1, MOST);
	peers_end(1);
}

static void cells_do_not_have_a_call_execute_more(void)
{
	peers_leave_much(1, CELLS);
	calls_execute_parts(1, 2 * MOST);
	peers_end(1);
}

static void sends_to_an_srq_count_as_well(void)
{
	sends = true;
	peers_leave_much_to(1, CELLS, true);
	calls_execute_parts(1, 2 * MOST);
	peers_end(1);
	sends = false;
}

static void calls_execute_all_for_an_endpoint_with_an_srq(void)
{
	peers_leave_much_to(1, 0, true);
	calls_execute_parts(1, 2 * MOST);
	peers_end(1);
}

/* A port has executed less than a whole part when the call ends at the next one. */
static void connections_do_not_have_a_call_execute_more(void)
{
	peers_leave_much(PEERS, 0);
	calls_execute_parts(PEERS, 2 * MOST);
	peers_end(PEERS);
}

/* A call that has the provider notify a CNO looks at the queue until nothing is there or the service thread is to look. */
static void a_cno_does_not_have_a_call_execute_more(void)
{
	DAT_CNO_HANDLE cno;
	DAT_COUNT more;
	DAT_EVENT event;
	uint32_t before;

	peers_leave_much(1, 0);
	cno = api_cno();
	CHECK_DAT(dat_evd_modify_cno(victim.end.recv, cno), DAT_SUCCESS);
	before = executed(1);
	CHECK(before > 0 && before * (uint64_t)LONG <= MOST);
	CHECK_DAT(dat_evd_enable(victim.end.recv), DAT_SUCCESS);
	CHECK((executed(1) - before) * (uint64_t)LONG <= MOST);
	before = executed(1);
	CHECK_DAT(dat_evd_wait(victim.end.recv, 1, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	CHECK((executed(1) - before) * (uint64_t)LONG <= 3 * MOST);
	calls_execute_parts(1, MOST);
	peers_end(1);
	CHECK_DAT(dat_evd_modify_cno(victim.end.recv, DAT_HANDLE_NULL), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ much to execute, and others */

enum { ENDS = 5, POLLS = 20 }; /* the polls that the end of a connection may take on average */

/* Connects two endpoints of the victim, one of which has the queue where the peer's requests are found. */
static void pair_make(struct api_pair *pair)
{
	*pair = (struct api_pair){ .a.ep = DAT_HANDLE_NULL };
	end_make(&pair->a);
	api_end_make(&pair->b, NULL);
	api_pair_meet(pair);
}

/* The peer leaves more, and says so. */
static void leave_more(void)
{
	struct soft_ep *ep = (struct soft_ep *)ends[0].ep;

	atomic_store(&ep->rport->sq_posted, atomic_load(&ep->rport->sq_done) + REQUESTS);
	(void)soft_ring_mark_ready(((struct soft_evd *)victim.end.recv)->cq.ring, ep->port, ep->index, SOFT_SIDE_RECV);
}

static bool all_is_executed(void)
{
	struct soft_port *port = ((struct soft_ep *)ends[0].ep)->rport;

	return atomic_load(&port->sq_done) == atomic_load(&port->sq_posted);
}

/* Polls until the end of a connection is reported. *left is how many polls more may execute requests. Returns whether it was. */
static bool ends_beside_polls(const struct api_end *end, int *left)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_EVENT event;

	while (*left > 0 && check_now_ms() < until) {
		uint32_t before = executed(1);

		(void)dat_evd_dequeue(victim.end.recv, &event);
		leave_more();
		*left -= executed(1) != before;
		if (dat_evd_dequeue(end->connect, &event) == DAT_SUCCESS)
			return event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
	}
	return false;
}

/*
 * Each of the polls has the queue's lock for long, and hardly any time passes between two of them. The service thread learns of
 * each end during a poll.
 */
static void polls_do_not_keep_other_connections_from_ending(void)
{
	struct api_pair pairs[ENDS];
	int left = ENDS * POLLS;
	bool ended = true;

	peers_leave_much(1, 0);
	atomic_store(&frozen, false);
	for (int i = 0; i < ENDS; i++)
		pair_make(&pairs[i]);
	leave_more();
	for (int i = 0; i < ENDS && ended; i++) {
		CHECK_SOON(all_is_executed());
		atomic_store(&thaws_from, executed(1));
		atomic_store(&thaws, true);
		atomic_store(&frozen, true);
		REQUIRE_DAT(dat_ep_disconnect(pairs[i].b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		leave_more();
		ended = ends_beside_polls(&pairs[i].a, &left);
		atomic_store(&frozen, false);
		atomic_store(&thaws, false);
	}
	CHECK(ended);
	peers_end(1);
}

static const struct check_test tests[] = {
	CHECK_TEST(hidden_request_of_a_strict_adapter_ends_the_connection),
	CHECK_TEST(disconnect_does_not_wait_for_a_request_that_was_not_posted),
	CHECK_TEST(disconnect_with_a_hidden_request_ends),
	CHECK_TEST(call_executes_a_part_of_what_a_peer_has_left),
	CHECK_TEST(cells_do_not_have_a_call_execute_more),
	CHECK_TEST(sends_to_an_srq_count_as_well),
	CHECK_TEST(calls_execute_all_for_an_endpoint_with_an_srq),
	CHECK_TEST(connections_do_not_have_a_call_execute_more),
	CHECK_TEST(a_cno_does_not_have_a_call_execute_more),
	CHECK_TEST(polls_do_not_keep_other_connections_from_ending),
	CHECK_END
};

static void close_all(void)
{
	atomic_store(&frozen, false);
	api_close();
}

static const struct check_suite suite = { .name = "requests of victim and attacker", .teardown = close_all, .tests = tests };

CHECK_SUITES(&suite);
