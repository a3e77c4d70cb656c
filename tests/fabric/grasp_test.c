/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks by a connected peer: it accesses memory that it has no right to, sends messages for which there is no suitable receive,
 * and stops. The victim is the test itself. Memory that is not registered for the peer is neither changed nor read, the victim's
 * calls return, its connection ends with an event, and an honest peer is served. Runs in a guest of the lab, over the adapter that
 * OPENDAT_TEST_IA names.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "victim.h"

enum {
	PAGE = 4096,
	AREA = 3 * PAGE, /* the middle page of an area is registered */
	CANARY = 0x5a,
	REACH = 64, /* bytes that the attacker tries to access */
	LONG = 1 << 15,
	LITTLE_MS = 300,
};

static struct api_end end;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static struct hostile_target me;
static pid_t attacker;

/* ------------------------------------------------------------------ the victim */

static void victim_opens(void)
{
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	victim_listens(cr_evd, &me);
}

static void accept_attacker(void)
{
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		;
}

static void target_of_attacker(struct hostile_target *target)
{
	check_get(CHECK_PARENT, target, sizeof(*target));
}

/* ------------------------------------------------------------------ memory */

struct grasp {
	struct hostile_target at;
	enum ibv_wr_opcode op;
	bool ends;
};

struct seen {
	int status;
	bool secret; /* the attacker has received bytes of the victim's memory */
};

static bool has_canary(const unsigned char *mem)
{
	for (int i = 0; i < REACH; i++)
		if (mem[i] == CANARY)
			return true;
	return false;
}

static void grasp_once(const struct grasp *what)
{
	struct hostile h;
	struct seen seen;

	memset(&seen, 0, sizeof(seen));
	REQUIRE(hostile_connect(&h, &what->at));
	memset(h.mem, 0xa5, REACH);
	seen.status = hostile_do(&h, what->op, what->at.length, what->at.begin, what->at.key, check_patience_ms());
	/* When this read has completed, the victim's device has executed or refused the request before it. */
	hostile_do(&h, IBV_WR_RDMA_READ, 0, 0, 0, LITTLE_MS);
	seen.secret = has_canary(h.mem);
	hostile_close(&h);
	check_put(CHECK_PARENT, &seen, sizeof(seen));
}

static void grasp(void *arg)
{
	struct grasp what;

	(void)arg;
	for (;;) {
		check_get(CHECK_PARENT, &what, sizeof(what));
		if (what.ends)
			return;
		grasp_once(&what);
	}
}

struct area {
	unsigned char *mem;
	struct api_buf region; /* the middle page of `mem` */
};

static struct area area_make(DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges)
{
	struct area area = { .mem = api_memory(AREA) };

	memset(area.mem, CANARY, AREA);
	area.region = api_buf_in(pz, area.mem + PAGE, PAGE, privileges);
	return area;
}

static bool is_untouched(const struct area *area)
{
	for (int i = 0; i < AREA; i++)
		if (area->mem[i] != CANARY)
			return false;
	return true;
}

static struct seen reach_for(enum ibv_wr_opcode op, const struct area *area, int64_t offset, uint32_t key, uint32_t length)
{
	struct grasp what;
	struct seen seen;

	memset(&what, 0, sizeof(what)); /* the whole structure is sent, with its padding */
	what.at = me;
	what.at.begin = (uintptr_t)area->region.mem + (uint64_t)offset;
	what.at.key = key;
	what.at.length = length;
	what.op = op;
	check_put(attacker, &what, sizeof(what));
	accept_attacker();
	check_get(attacker, &seen, sizeof(seen));
	API_CONN_OVER(end.connect, end.ep);
	API_EMPTY(end.connect);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	return seen;
}

static void refused(enum ibv_wr_opcode op, const struct area *area, int64_t offset, uint32_t key)
{
	struct seen seen = reach_for(op, area, offset, key, REACH);

	/* Over iWARP a write completes when it has been sent, so its status does not show a refusal. */
	if (seen.status <= 0 && (op != IBV_WR_RDMA_WRITE || !api_declares("transport", "iWARP")))
		CHECK_FAIL("operation %d is not refused: status %d, where -1 is no completion in time", (int)op, seen.status);
	CHECK(!seen.secret);
	CHECK(is_untouched(area));
}

static void served(enum ibv_wr_opcode op, struct area *area)
{
	struct seen seen = reach_for(op, area, 0, area->region.rmr_context, REACH);

	CHECK_EQ_INT(seen.status, 0);
	if (op == IBV_WR_RDMA_READ)
		CHECK(seen.secret);
	else
		CHECK(!is_untouched(area));
	memset(area->mem, CANARY, AREA);
}

static void grasps_begin(void)
{
	attacker = check_fork(grasp, NULL);
	victim_opens();
}

static void grasps_end(void)
{
	struct grasp what;

	memset(&what, 0, sizeof(what));
	what.ends = true;
	check_put(attacker, &what, sizeof(what));
	check_join(attacker);
	victim_serves(&buf);
}

/* siw executes RDMA Reads whatever rights the memory has, as opendat-iwarp(7) states. */
static bool reads_are_checked(void)
{
	return !api_declares("read_right", "unchecked");
}

static void memory_without_the_right_is_neither_read_nor_written(void)
{
	struct area closed, read, written, open;

	grasps_begin();
	closed = area_make(api.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	read = area_make(api.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	written = area_make(api.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
					    DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	open = area_make(api.pz, DAT_MEM_PRIV_ALL_FLAG);
	refused(IBV_WR_RDMA_WRITE, &closed, 0, closed.region.rmr_context);
	refused(IBV_WR_RDMA_WRITE, &closed, 0, closed.region.lmr_context);
	refused(IBV_WR_RDMA_WRITE, &read, 0, read.region.rmr_context);
	if (reads_are_checked()) {
		refused(IBV_WR_RDMA_READ, &closed, 0, closed.region.rmr_context);
		refused(IBV_WR_RDMA_READ, &written, 0, written.region.rmr_context);
	}
	/* No region is registered for atomic operations. iWARP has no such operations. */
	if (!api_declares("transport", "iWARP"))
		CHECK(reach_for(IBV_WR_ATOMIC_FETCH_AND_ADD, &open, 0, open.region.rmr_context, 8).status > 0);
	CHECK(is_untouched(&open));
	served(IBV_WR_RDMA_WRITE, &open);
	served(IBV_WR_RDMA_READ, &open);
	grasps_end();
}

static void memory_beside_a_region_is_neither_read_nor_written(void)
{
	struct area area;

	grasps_begin();
	area = area_make(api.pz, DAT_MEM_PRIV_ALL_FLAG);
	refused(IBV_WR_RDMA_WRITE, &area, PAGE - REACH / 2, area.region.rmr_context);
	refused(IBV_WR_RDMA_READ, &area, PAGE, area.region.rmr_context);
	refused(IBV_WR_RDMA_WRITE, &area, -1, area.region.rmr_context);
	refused(IBV_WR_RDMA_READ, &area, -REACH, area.region.rmr_context);
	/* The range begins 8 bytes before the end of the address space and wraps around to address 0. */
	refused(IBV_WR_RDMA_WRITE, &area, -(int64_t)(uintptr_t)area.region.mem - 8, area.region.rmr_context);
	grasps_end();
}

static void memory_of_another_zone_and_memory_that_is_freed_is_out_of_reach(void)
{
	struct area foreign, gone;
	uint32_t key;

	grasps_begin();
	foreign = area_make(api_pz(), DAT_MEM_PRIV_ALL_FLAG);
	gone = area_make(api.pz, DAT_MEM_PRIV_ALL_FLAG);
	refused(IBV_WR_RDMA_WRITE, &foreign, 0, foreign.region.rmr_context);
	refused(IBV_WR_RDMA_READ, &foreign, 0, foreign.region.rmr_context);
	key = gone.region.rmr_context;
	served(IBV_WR_RDMA_WRITE, &gone);
	REQUIRE_DAT(dat_lmr_free(gone.region.lmr), DAT_SUCCESS);
	refused(IBV_WR_RDMA_WRITE, &gone, 0, key);
	refused(IBV_WR_RDMA_READ, &gone, 0, key);
	/* These are guessed keys: the key of another generation, and of another place in the device's table. */
	refused(IBV_WR_RDMA_WRITE, &foreign, 0, foreign.region.rmr_context ^ 0x80);
	refused(IBV_WR_RDMA_WRITE, &foreign, 0, foreign.region.rmr_context + 0x100000);
	grasps_end();
}

/* ------------------------------------------------------------------ messages */

static void send_what_nobody_wants(void *arg)
{
	struct hostile_target victim;
	int status = 0;
	struct hostile h;

	(void)arg;
	target_of_attacker(&victim);
	REQUIRE(hostile_connect(&h, &victim));
	for (int i = 0; i < HOSTILE_DEPTH && !status; i++)
		status = hostile_do(&h, IBV_WR_SEND, victim.length, 0, 0, LITTLE_MS);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* The attacker sends messages of `length` bytes. Returns how many of the victim's `receives` receives complete successfully. */
static int messages_come(uint32_t length, int receives)
{
	DAT_EVENT event;
	int good = 0;

	attacker = check_fork(send_what_nobody_wants, NULL);
	victim_opens();
	me.length = length;
	memset(buf.mem, CANARY, LONG);
	for (int i = 0; i < receives; i++)
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, REACH, (uint64_t)i), DAT_SUCCESS);
	check_put(attacker, &me, sizeof(me));
	accept_attacker();
	check_await(attacker);
	victim_serves(&buf);
	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	for (int i = 0; i < receives; i++) {
		API_EVENT(end.recv, &event);
		good += event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	}
	API_EMPTY(end.recv);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	check_signal(attacker);
	check_join(attacker);
	return good;
}

static void message_longer_than_its_receive_ends_only_its_connection(void)
{
	CHECK_EQ_INT(messages_come(LONG, 4), 0);
	for (int i = 300; i < LONG; i++)
		REQUIRE_EQ_INT(buf.mem[i], CANARY);
}

static void messages_without_a_receive_cost_only_their_connection(void)
{
	messages_come(REACH, 0);
}

static void write_with_immediate_data(void *arg)
{
	struct hostile_target victim;
	struct hostile h;

	(void)arg;
	target_of_attacker(&victim);
	REQUIRE(hostile_connect(&h, &victim));
	check_await(CHECK_PARENT); /* the victim knows of the connection */
	for (int i = 0; i < 2; i++)
		CHECK_EQ_INT(hostile_do(&h, IBV_WR_RDMA_WRITE_WITH_IMM, LONG, victim.begin, victim.key, check_patience_ms()), 0);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* A program of DAT 1.2 knows no immediate data. It reads as many bytes of the receive as the event says. */
static void write_with_immediate_data_is_no_longer_than_the_receive(void)
{
	struct api_buf written;
	DAT_EVENT event;

	attacker = check_fork(write_with_immediate_data, NULL);
	victim_opens();
	if (api_declares("accept", "unconfirmed"))
		check_skip("iWARP has no immediate data");
	written = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	me.begin = (uintptr_t)written.mem;
	me.key = written.rmr_context;
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, REACH, i), DAT_SUCCESS);
	check_put(attacker, &me, sizeof(me));
	accept_attacker();
	check_signal(attacker);
	check_await(attacker);
	REQUIRE_DAT(dat_evd_dequeue(end.recv, &event), DAT_SUCCESS);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.transfered_length, 0);
	API_EVENT(end.recv, &event);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.transfered_length, 0);
	check_signal(attacker);
	check_join(attacker);
}

/* ------------------------------------------------------------------ a peer that stops */

enum traffic { SENDS, LONG_SENDS, WRITES, READS };
enum call { ABRUPT, GRACEFUL, FREE, LMR_FREE, CLOSE };

/* The peer posts no receives, but its memory has all remote rights. check_stop() stops it. */
static void be_stopped(void *arg)
{
	struct hostile_target victim, mine;
	struct hostile h;

	(void)arg;
	target_of_attacker(&victim);
	REQUIRE(hostile_connect(&h, &victim));
	memset(&mine, 0, sizeof(mine));
	mine.begin = (uintptr_t)h.mem;
	mine.key = h.mr->rkey;
	check_put(CHECK_PARENT, &mine, sizeof(mine));
	for (;;)
		hostile_do(&h, IBV_WR_RDMA_READ, 0, 0, 0, 1);
}

static void post(enum traffic traffic, const struct hostile_target *there, uint64_t cookie)
{
	DAT_RMR_TRIPLET remote = { .rmr_context = there->key, .target_address = there->begin,
				   .segment_length = LONG };

	switch (traffic) {
	case WRITES:
		REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, LONG), remote, cookie, 0), DAT_SUCCESS);
		break;
	case READS:
		REQUIRE_DAT(api_read(end.ep, api_seg(&buf, 0, LONG), remote, cookie, 0), DAT_SUCCESS);
		break;
	default:
		REQUIRE_DAT(api_send(end.ep, &buf, 0, traffic == SENDS ? 8 : LONG, cookie, 0), DAT_SUCCESS);
	}
}

static void end_by(enum call call)
{
	switch (call) {
	case GRACEFUL:
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		/* The graceful disconnect may wait forever for a receive of the peer, and the abrupt one ends that. */
		(void)dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG);
		API_CONN_OVER(end.connect, end.ep);
		break;
	case FREE:
		REQUIRE_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
		break;
	case LMR_FREE:
		REQUIRE_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(end.connect, end.ep);
		break;
	case CLOSE:
		api_close();
		break;
	default:
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(end.connect, end.ep);
	}
}

static void stops(enum traffic traffic, enum call call, bool goes_on)
{
	struct hostile_target there;

	attacker = check_fork(be_stopped, NULL);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	for (int i = 0; i < 4; i++)
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, REACH, 0), DAT_SUCCESS);
	accept_attacker();
	check_get(attacker, &there, sizeof(there));
	for (uint64_t i = 0; i < 4; i++)
		post(traffic, &there, i);
	check_stop(attacker);
	for (uint64_t i = 0; i < 4 && api_state(end.ep) == DAT_EP_STATE_CONNECTED; i++)
		post(traffic, &there, i);
	end_by(call);
	if (call == CLOSE)
		victim_opens();
	if (call == LMR_FREE)
		buf = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	victim_serves(&buf);
	if (goes_on)
		REQUIRE(kill(attacker, SIGCONT) == 0);
	victim_serves(&buf);
	check_kill(attacker);
	drain(api.async);
	api_close();
}

static void abrupt_disconnect_does_not_wait_for_a_stopped_peer(void)
{
	stops(SENDS, ABRUPT, true);
	stops(LONG_SENDS, ABRUPT, false);
	stops(READS, ABRUPT, true);
}

static void graceful_disconnect_does_not_wait_for_a_stopped_peer(void)
{
	stops(SENDS, GRACEFUL, false);
	stops(WRITES, GRACEFUL, true);
}

static void freeing_does_not_wait_for_a_stopped_peer(void)
{
	stops(LONG_SENDS, FREE, true);
	stops(READS, FREE, false);
	stops(WRITES, LMR_FREE, true);
	stops(LONG_SENDS, LMR_FREE, false);
}

static void closing_does_not_wait_for_a_stopped_peer(void)
{
	stops(LONG_SENDS, CLOSE, false);
	stops(READS, CLOSE, true);
}

/* The peer takes a connection request and stops before it answers. */
static void hear_and_stop(void *arg)
{
	struct hostile_target here;
	struct hostile h;

	(void)arg;
	target_of_attacker(&here);
	hostile_listen(&h, &here);
	check_signal(CHECK_PARENT);
	hostile_hear(&h);
	check_signal(CHECK_PARENT);
	raise(SIGSTOP);
	hostile_accept(&h, NULL, 0);
	for (;;)
		pause();
}

static void attempt_at_a_stopped_peer_ends_by_its_timeout(void)
{
	struct api_end given_up;

	attacker = check_fork(hear_and_stop, NULL);
	victim_opens();
	me.qual = api_free_qual(cr_evd);
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	REQUIRE_DAT(dat_ep_connect(end.ep, api_address(), me.qual, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	check_await(attacker);
	REQUIRE_EQ_INT(waitpid(attacker, NULL, WUNTRACED), attacker);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	/* The program gives up one more attempt, and another one ends when the adapter is closed. */
	api_end_make(&given_up, NULL);
	REQUIRE_DAT(api_connect(given_up.ep, me.qual), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(end.ep, me.qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(given_up.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(given_up.connect, given_up.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	victim_serves(&buf);
	REQUIRE(kill(attacker, SIGCONT) == 0);
	victim_serves(&buf);
	api_close();
	check_kill(attacker);
}

static const struct check_test memory_tests[] = {
	CHECK_TEST(memory_without_the_right_is_neither_read_nor_written),
	CHECK_TEST(memory_beside_a_region_is_neither_read_nor_written),
	CHECK_TEST(memory_of_another_zone_and_memory_that_is_freed_is_out_of_reach),
	CHECK_END
};

static const struct check_test message_tests[] = {
	CHECK_TEST(message_longer_than_its_receive_ends_only_its_connection),
	CHECK_TEST(messages_without_a_receive_cost_only_their_connection),
	CHECK_TEST(write_with_immediate_data_is_no_longer_than_the_receive),
	CHECK_END
};

static const struct check_test stopping_tests[] = {
	CHECK_TEST(abrupt_disconnect_does_not_wait_for_a_stopped_peer),
	CHECK_TEST(graceful_disconnect_does_not_wait_for_a_stopped_peer),
	CHECK_TEST(freeing_does_not_wait_for_a_stopped_peer),
	CHECK_TEST(closing_does_not_wait_for_a_stopped_peer),
	CHECK_TEST(attempt_at_a_stopped_peer_ends_by_its_timeout),
	CHECK_END
};

static const struct check_suite memory = { .name = "grasp at memory", .teardown = api_close, .tests = memory_tests };
static const struct check_suite messages = { .name = "unwanted messages", .teardown = api_close, .tests = message_tests };
static const struct check_suite stopping = { .name = "peers that stop", .teardown = api_close, .tests = stopping_tests };

CHECK_SUITES(&memory, &messages, &stopping);
