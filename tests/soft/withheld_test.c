/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer invalidates an RMR while another peer is stopped in the middle of a write through it. No thread waits for that one: the
 * receive that tells of the invalidation is withheld until the access is over, or the bound has passed, and everything that is
 * not behind it goes on.
 *
 * In most tests all endpoints are in this process (writer.h). In the last ones the writer is in a process of its own, which is
 * stopped by SIGSTOP. The invalidation comes as its executor leaves it, because the API of 1.2 does not send it, or as a request
 * to an SRQ.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "providers/soft/bound.h"
#include "providers/soft/recv.h"
#include "providers/soft/send.h"
#include "writer.h"

#define LONGEST ((size_t)8 << 20) /* a write that takes long enough to be stopped in the middle */
#define PATTERN	77

static DAT_SRQ_HANDLE srq;

/*
 * As open_with(), with an SRQ for pair.b. These tests rewrite a request that is posted, as a peer can, while the service thread
 * may read it. The sanitizer would report that race, which a peer cannot be kept from.
 */
static void open_shared(uint32_t patience_ms)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SOFT_CREDITS + 8, .max_recv_iov = 2 };
	DAT_EP_ATTR shared = { .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG };

	if (THREAD_SANITIZER)
		check_skip("the test rewrites a request that another thread may read");
	api_open();
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	memset(&pair, 0, sizeof(pair));
	api_end_make(&pair.a, NULL);
	api_end_make_shared(&pair.b, srq, &shared);
	api_pair_meet(&pair);
	open_rest(patience_ms);
}

static void sends(size_t length)
{
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 8192, length, 9, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
}

static void bound_passes(void)
{
	open_with(SHORT_MS);
	post_receives(1, 1);
	begin_withheld();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	CHECK(check_now_ms() - withheld_from >= SHORT_MS);
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
	api_pair_works(&pair, &buf);
}

static void receive_awaits_the_last_piece_however_late_it_is(void)
{
	struct soft_ep *ep;

	open_with(LONG_MS);
	post_receives(1, 1);
	begin_withheld();
	ep = soft_of(&pair.b);
	nobody_looks_in_time(ep, &ep->withheld.wait);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	last_piece_was_awaited();
}

static void others_go_on(void)
{
	open_with(LONG_MS);
	post_receives(1, 1);
	begin_withheld();
	/* the other endpoints of this IA */
	REQUIRE_DAT(api_recv(writer.a.ep, &buf, 4096, 64, 5), DAT_SUCCESS);
	REQUIRE_DAT(api_send(writer.b.ep, &buf, 8192, 64, 6, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	API_DTO(writer.a.recv, writer.a.ep, 5, DAT_DTO_SUCCESS, 64);
	at_once("another endpoint received");
	service_goes_on();
	at_once("the service thread answered");
	/* the other direction of this connection */
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 4096, 4096, 7), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 8192, 4096, 8, 0), DAT_SUCCESS);
	API_DTO(pair.a.recv, pair.a.ep, 7, DAT_DTO_SUCCESS, 4096);
	API_DTO(pair.b.request, pair.b.ep, 8, DAT_DTO_SUCCESS, 4096);
	at_once("this side sent");
	nothing_comes(pair.b.recv);
	writer_ends();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	at_once("the receive came behind the access");
	api_pair_works(&pair, &buf);
}

/* What comes behind the receive that is withheld completes behind it, in order. The last receives are posted meanwhile. */
static void keep_their_order(const size_t *lengths, uint64_t n, uint64_t late)
{
	open_with(LONG_MS);
	for (uint64_t i = 1; i <= n + 1 - late; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4096, 400000, i), DAT_SUCCESS);
	begin_withheld();
	for (uint64_t i = 0; i < n; i++) {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 500000, lengths[i], 9, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
		if (i % 2)
			nothing_comes(pair.b.recv);
	}
	nothing_comes(pair.b.recv);
	at_once("they were sent");
	for (uint64_t i = n + 2 - late; i <= n + 1; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4096, 400000, i), DAT_SUCCESS);
	nothing_comes(pair.b.recv);
	writer_ends();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	for (uint64_t i = 0; i < n; i++)
		API_DTO(pair.b.recv, pair.b.ep, i + 2, DAT_DTO_SUCCESS, lengths[i]);
	at_once("they came");
	api_pair_works(&pair, &buf);
}

static void messages_behind_it_keep_their_order(void)
{
	static const size_t lengths[] = { 100, 300000, 100, 300000, 300000, 100, 2000, 300000 };

	for (uint64_t n = 1; n <= sizeof(lengths) / sizeof(*lengths); n++)
		for (uint64_t late = 0; late <= 2 && late <= n; late++) {
			keep_their_order(lengths, n, late);
			api_close();
		}
}

/* The connection ends meanwhile. What has arrived completes; the service thread does not wait. */
static void peer_ends_the_connection(void)
{
	open_with(LONG_MS);
	post_receives(1, 3);
	begin_withheld();
	sends(100);
	nothing_comes(pair.b.recv);
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	service_goes_on();
	at_once("the service thread answered");
	nothing_comes(pair.b.recv);
	nothing_comes(pair.b.connect);
	writer_ends();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 100);
	API_DTO(pair.b.recv, pair.b.ep, 3, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	at_once("the end was reported");
}

static void peer_ends_the_connection_and_the_bound_passes(void)
{
	open_with(SHORT_MS);
	post_receives(1, 2);
	begin_withheld();
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

/* This side ends it: its call waits, as for any access, but no longer than the bound. */
static void this_side_ends_the_connection(void)
{
	open_with(SHORT_MS);
	post_receives(1, 2);
	begin_withheld();
	CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK(check_now_ms() - withheld_from >= SHORT_MS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

static void post_shared(uint64_t first, uint64_t last)
{
	DAT_LMR_TRIPLET seg = api_seg(&buf, 4096, LONG);

	for (uint64_t n = first; n <= last; n++)
		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(n)), DAT_SUCCESS);
}

/* The message that was sent last waits for a receive of the SRQ, and is made one that invalidates the RMR. */
static struct soft_sqe *becomes_an_invalidation(void)
{
	struct soft_ep *from = soft_of(&pair.a);
	struct soft_sqe *e;

	e = soft_port_sqe(from->port, &from->layout, atomic_load(&from->port->sq_posted) - 1);
	REQUIRE_EQ_INT(e->op, DATP_SEND);
	e->op = DATP_SEND_INVALIDATE;
	e->rmr = context;
	return e;
}

static void invalidation_waits_for_a_receive(void)
{
	sends(LONG);
	becomes_an_invalidation();
	nothing_comes(pair.b.recv);
}

/*
 * The sender has no credit for an eager message, so no cell keeps the place of a message that invalidates. It is executed all the
 * same, in its place, if nobody polls (`polled` is false), too.
 */
static void invalidation_without_credit(bool polled)
{
	open_shared(LONG_MS);
	for (uint64_t i = 0; i < SOFT_CREDITS; i++)
		sends(100);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 8192, 100, 9, 0), DAT_SUCCESS);
	CHECK_EQ_INT(becomes_an_invalidation()->has_place, 0);
	sends(100);
	if (polled)
		nothing_comes(pair.b.recv);
	post_shared(1, SOFT_CREDITS + 2);
	if (!polled)
		API_DTO(pair.a.request, pair.a.ep, 9, DAT_DTO_SUCCESS, 100);
	for (uint64_t i = 1; i <= SOFT_CREDITS + 2; i++)
		API_DTO(pair.b.recv, pair.b.ep, i, DAT_DTO_SUCCESS, 100);
	if (polled)
		API_DTO(pair.a.request, pair.a.ep, 9, DAT_DTO_SUCCESS, 100);
	CHECK_EQ_INT(atomic_load(&adapter->mr[SOFT_MR_INDEX(context)].context), 0);
}

static void invalidation_without_credit_is_polled_for(void)
{
	invalidation_without_credit(true);
}

static void invalidation_without_credit_is_served(void)
{
	invalidation_without_credit(false);
}

/* The service thread, or a thread that polls, executes the message to the SRQ, and holds the execution lock meanwhile. */
static void receive_of_an_srq(void)
{
	open_shared(LONG_MS);
	writer_begins();
	invalidation_waits_for_a_receive();
	began = check_now_ms();
	post_shared(1, 1);
	service_goes_on();
	nothing_comes(pair.b.recv);
	at_once("the service thread answered");
	CHECK_EQ_INT(atomic_load(&adapter->mr[SOFT_MR_INDEX(context)].context), 0);
	sends(100);
	sends(LONG);
	sends(100);
	nothing_comes(pair.b.recv);
	post_shared(2, 4);
	nothing_comes(pair.b.recv);
	service_goes_on();
	nothing_comes(pair.b.recv);
	at_once("messages came behind it");
	writer_ends();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 100);
	API_DTO(pair.b.recv, pair.b.ep, 3, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.b.recv, pair.b.ep, 4, DAT_DTO_SUCCESS, 100);
	at_once("they came");
}

static void receive_of_an_srq_and_the_bound_passes(void)
{
	open_shared(SHORT_MS);
	writer_begins();
	invalidation_waits_for_a_receive();
	post_shared(1, 2);
	sends(100);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, LONG);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 100);
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

static void receive_of_an_srq_at_the_end(void)
{
	open_shared(LONG_MS);
	writer_begins();
	invalidation_waits_for_a_receive();
	began = check_now_ms();
	post_shared(1, 2);
	service_goes_on();
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	service_goes_on();
	nothing_comes(pair.b.recv);
	at_once("the service thread answered");
	writer_ends();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, LONG);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	at_once("the end was reported");
}

/*
 * Two sides execute such messages to each other's SRQs, with a read into the very RMR queued behind: each finds the other's
 * execution lock held. Here both locks are this side's, and the one that it looks at is held for a read into the RMR.
 */
static void read_into_the_rmr_is_queued(void)
{
	struct soft_ep *ep;
	struct soft_sqe *e;
	uint32_t posted;

	open_shared(LONG_MS);
	invalidation_waits_for_a_receive();
	ep = soft_of(&pair.b);
	posted = atomic_load(&ep->port->sq_posted);
	e = soft_port_sqe(ep->port, &ep->layout, posted);
	*e = (struct soft_sqe){ .op = DATP_READ_RMR,
				.n = 1,
				.len = 8,
				.remote = { buf.rmr_context, 0, where.virtual_address + 128, 8 },
				.rmr = context };
	e->sge[0] = (struct datp_sge){ buf.lmr_context, 0, where.virtual_address, 8 };
	atomic_store(&ep->port->sq_posted, posted + 1);
	atomic_fetch_or(&ep->port->exec_lock, SOFT_EXEC_HELD);
	began = check_now_ms();
	post_shared(1, 1);
	service_goes_on();
	nothing_comes(pair.b.recv);
	/* its own execution lock is free again, so the peer's thread would go on, and end the read */
	CHECK(!(atomic_load(&soft_of(&pair.a)->port->exec_lock) & SOFT_EXEC_HELD));
	at_once("the message was executed");
	atomic_fetch_sub(&ep->port->sq_posted, 1);
	atomic_fetch_and(&ep->port->exec_lock, ~(uint64_t)(SOFT_EXEC_HELD | SOFT_EXEC_AGAIN));
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, LONG);
	at_once("the receive came");
}

/* The adapter is closed while a receive is withheld. */
static void adapter_is_closed(void)
{
	open_with(SHORT_MS);
	post_receives(1, 2);
	begin_withheld();
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api.ia = DAT_HANDLE_NULL;
	/* not AT_ONCE: it waits for SHORT_MS twice, for the access and for the end of the connection */
	CHECK(check_now_ms() - began < LONG_MS);
}

/* ------------------------------------------------------------------ a peer that is stopped */

struct place {
	DAT_CONN_QUAL qual;
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
};

static struct {
	pid_t pid;
	struct api_end end;
	struct api_buf memory; /* what the RMR is bound to */
} stopped;

/* Writes through the RMR until the connection ends. */
static void write_always(void *arg)
{
	DAT_RMR_TRIPLET remote = { .segment_length = LONGEST };
	struct place there;
	struct api_end end;
	struct api_buf from;
	DAT_EVENT event;

	(void)arg;
	check_get(CHECK_PARENT, &there, sizeof(there));
	api_open();
	from = api_buf(LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&end, NULL);
	REQUIRE_DAT(api_connect(end.ep, there.qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	remote.rmr_context = there.context;
	remote.target_address = there.address;
	while (api_state(end.ep) == DAT_EP_STATE_CONNECTED) {
		(void)api_write(end.ep, api_seg(&from, 0, LONGEST), remote, 1, 0);
		(void)dat_evd_dequeue(end.request, &event);
	}
	API_CONN_OVER(end.connect, end.ep);
	check_signal(CHECK_PARENT);
	api_close();
}

/* Stops the writer while it holds the execution lock. */
static void stop_in_a_write(void)
{
	struct soft_ep *ep = soft_of(&stopped.end);

	for (;;) {
		check_stop(stopped.pid);
		if (atomic_load(&ep->rport->exec_lock) & SOFT_EXEC_HELD)
			return;
		REQUIRE(kill(stopped.pid, SIGCONT) == 0);
		sched_yield();
	}
}

static void open_stopped(uint32_t patience_ms)
{
	struct place there;
	DAT_EVD_HANDLE cr_evd;

	stopped.pid = check_fork(write_always, NULL);
	open_with(patience_ms);
	stopped.memory = api_buf(LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	where = api_seg(&stopped.memory, 0, LONGEST);
	bind_rmr(&pair.b, 4);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	(void)api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &there.qual);
	there.context = context;
	there.address = where.virtual_address;
	api_end_make(&stopped.end, NULL);
	check_put(stopped.pid, &there, sizeof(there));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), stopped.end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(stopped.end.connect, stopped.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	post_receives(1, 1);
	stop_in_a_write();
	began = check_now_ms();
}

/* The program has heard that nobody accesses the memory any more: it is the program's alone, whatever the writer does. */
static void memory_is_ours(void)
{
	API_CONN_OVER(stopped.end.connect, stopped.end.ep);
	memset(stopped.memory.mem, PATTERN, LONGEST);
	REQUIRE(kill(stopped.pid, SIGCONT) == 0);
	check_await(stopped.pid);
	for (size_t i = 0; i < LONGEST; i++)
		if (stopped.memory.mem[i] != PATTERN) {
			CHECK_FAIL("byte %zu has been written to", i);
			break;
		}
	check_join(stopped.pid);
}

static void process_is_stopped(void)
{
	open_stopped(SHORT_MS);
	invalidation_arrives();
	nothing_comes(pair.b.recv);
	service_goes_on();
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	CHECK(check_now_ms() - began + 1 >= SHORT_MS);
	memory_is_ours();
	api_pair_works(&pair, &buf);
}

static void process_is_stopped_and_goes_on(void)
{
	open_stopped(LONG_MS * 10);
	invalidation_arrives();
	nothing_comes(pair.b.recv);
	REQUIRE(kill(stopped.pid, SIGCONT) == 0);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 8);
	/* its next write finds no window, which ends its connection */
	memory_is_ours();
	api_pair_works(&pair, &buf);
}

static void process_is_stopped_and_the_connection_of_an_unbind_ends(void)
{
	open_stopped(SHORT_MS);
	where.segment_length = 0;
	bind_rmr(&pair.b, 5);
	nothing_comes(pair.b.request);
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	memory_is_ours();
}

static void process_is_stopped_and_the_rmr_is_freed(void)
{
	open_stopped(SHORT_MS);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	CHECK(check_now_ms() - began + 1 >= SHORT_MS);
	memory_is_ours();
	api_pair_works(&pair, &buf);
}

static const struct check_test tests[] = {
	CHECK_TEST(bound_passes),
	CHECK_TEST(receive_awaits_the_last_piece_however_late_it_is),
	CHECK_TEST(others_go_on),
	CHECK_TEST(messages_behind_it_keep_their_order),
	CHECK_TEST(peer_ends_the_connection),
	CHECK_TEST(peer_ends_the_connection_and_the_bound_passes),
	CHECK_TEST(this_side_ends_the_connection),
	CHECK_TEST(receive_of_an_srq),
	CHECK_TEST(invalidation_without_credit_is_polled_for),
	CHECK_TEST(invalidation_without_credit_is_served),
	CHECK_TEST(receive_of_an_srq_and_the_bound_passes),
	CHECK_TEST(receive_of_an_srq_at_the_end),
	CHECK_TEST(read_into_the_rmr_is_queued),
	CHECK_TEST(adapter_is_closed),
	CHECK_TEST(process_is_stopped),
	CHECK_TEST(process_is_stopped_and_goes_on),
	CHECK_TEST(process_is_stopped_and_the_connection_of_an_unbind_ends),
	CHECK_TEST(process_is_stopped_and_the_rmr_is_freed),
	CHECK_END,
};
static const struct check_suite suite = { .name = "receives that are withheld", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
