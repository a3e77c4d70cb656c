/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are killed one after the other, at any instruction, while they do all kinds of operations. Each time the endpoint
 * gets an event, everything that was posted completes, and the endpoint connects to the next peer. Another peer, whose
 * messages come through the same queue, is not affected.
 *
 * KILL_ROUNDS is how often 24 of them are killed: 1 if it is not set.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"

#define VICTIMS 24
#define DEPTH	16u
#define LONGEST 700000u /* long enough to be copied by both sides */
#define STEADY	((uint64_t)1 << 32) /* the cookies of the connection with the peer that is not killed */

struct place {
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
};

/* An endpoint with as many operations as possible outstanding in both directions. */
struct busy {
	DAT_EP_HANDLE ep;
	struct place there;
	uint32_t requests, receives; /* outstanding */
};

static struct {
	DAT_EVD_HANDLE recv, request, connect;
	struct api_buf buf; /* the memory of all operations, those of the peer too */
	unsigned int seed;
	uint32_t pongs;
} my;

static pid_t steady, victims[VICTIMS];

static void open_side(unsigned int seed)
{
	memset(&my, 0, sizeof(my));
	my.seed = seed;
	api_open();
	my.recv = api_evd(64, DAT_EVD_DTO_FLAG);
	my.request = api_evd(64, DAT_EVD_DTO_FLAG);
	my.connect = api_evd(64, DAT_EVD_CONNECTION_FLAG);
	my.buf = api_buf(4 * LONGEST, DAT_MEM_PRIV_ALL_FLAG);
}

static DAT_EP_HANDLE make_endpoint(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = DEPTH, .max_request_dtos = DEPTH };
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.recv, my.request, my.connect, &attr, &ep),
		    DAT_SUCCESS);
	return ep;
}

static struct place here(void)
{
	return (struct place){ my.buf.rmr_context, (DAT_VADDR)(uintptr_t)my.buf.mem };
}

static void connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, struct place *there)
{
	struct place mine = here();
	DAT_EVENT event;

	REQUIRE_DAT(dat_ep_connect(ep, api_address(), qual, api_patience(), sizeof(mine), &mine,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_EVENT(my.connect, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	memcpy(there, event.event_data.connect_event_data.private_data, sizeof(*there));
}

static void accept_on(DAT_EVD_HANDLE cr_evd, DAT_EP_HANDLE ep, struct place *there)
{
	struct place mine = here();
	DAT_CR_HANDLE cr = api_cr(cr_evd);
	DAT_CR_PARAM param;

	REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	memcpy(there, param.private_data, sizeof(*there));
	REQUIRE_DAT(dat_cr_accept(cr, ep, sizeof(mine), &mine), DAT_SUCCESS);
	API_CONN(my.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ------------------------------------------------------------------ everything at once */

static DAT_RETURN post_request(struct busy *busy)
{
	size_t length = rand_r(&my.seed) % 4 ? (size_t)rand_r(&my.seed) % 10000 + 1
					     : (size_t)rand_r(&my.seed) % LONGEST + 1;
	DAT_LMR_TRIPLET local = api_seg(&my.buf, LONGEST, length);
	DAT_RMR_TRIPLET remote = { .rmr_context = busy->there.context,
				   .target_address = busy->there.address + 2 * LONGEST,
				   .segment_length = length };

	switch (rand_r(&my.seed) % 4) {
	case 0:
		return api_write(busy->ep, local, remote, 0, 0);
	case 1:
		return api_read(busy->ep, local, remote, 0, 0);
	default:
		return dat_ep_post_send(busy->ep, 1, &local, api_cookie(0), 0);
	}
}

/* Posts a request, and at random a receive, if there is room. A post that is refused does not count. */
static void go_on(struct busy *busy)
{
	if (busy->requests < DEPTH && post_request(busy) == DAT_SUCCESS)
		busy->requests++;
	if (busy->receives < DEPTH && rand_r(&my.seed) % 2 &&
	    api_recv(busy->ep, &my.buf, 0, LONGEST, 0) == DAT_SUCCESS)
		busy->receives++;
}

/* Takes all completions, of any connection. */
static void take(struct busy *busy)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(my.request, &event) == DAT_SUCCESS)
		if (event.event_data.dto_completion_event_data.user_cookie.as_64 == 0)
			busy->requests--;
	while (dat_evd_dequeue(my.recv, &event) == DAT_SUCCESS) {
		if (event.event_data.dto_completion_event_data.user_cookie.as_64 == 0)
			busy->receives--;
		else
			my.pongs++;
	}
}

static void victim(void *arg)
{
	struct busy busy = { 0 };
	DAT_CONN_QUAL qual;

	do /* 0 means that this peer has to wait longer, see others_wait() */
		check_get(CHECK_PARENT, &qual, sizeof(qual));
	while (!qual);
	open_side((unsigned int)(uintptr_t)arg);
	busy.ep = make_endpoint();
	connect_to(busy.ep, qual, &busy.there);
	for (;;) {
		go_on(&busy);
		take(&busy);
	}
}

/* ------------------------------------------------------------------ the steady peer */

static void answer_steadily(void *arg)
{
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	struct place there;
	DAT_EVENT event;
	DAT_COUNT more;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	open_side(0);
	ep = make_endpoint();
	for (uint64_t n = 0; n < DEPTH; n++)
		REQUIRE_DAT(api_recv(ep, &my.buf, 0, 64, n), DAT_SUCCESS);
	connect_to(ep, qual, &there);
	while (dat_evd_wait(my.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more) == DAT_SUCCESS &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
		REQUIRE_DAT(api_recv(ep, &my.buf, 0, 64, 0), DAT_SUCCESS);
		REQUIRE_DAT(api_send(ep, &my.buf, 0, 64, 0, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	}
	api_close();
}

/* Sends a message and blocks until the answer has come: the peer that died may have been about to wake this process. */
static void ping(DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	REQUIRE_DAT(api_recv(ep, &my.buf, 3 * LONGEST, 64, STEADY), DAT_SUCCESS);
	REQUIRE_DAT(api_send(ep, &my.buf, 3 * LONGEST, 64, STEADY, DAT_COMPLETION_SUPPRESS_FLAG),
		    DAT_SUCCESS);
	API_EVENT(my.recv, &event);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, STEADY);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

/* ------------------------------------------------------------------ the test */

static void fork_all(void)
{
	steady = check_fork(answer_steadily, NULL);
	for (uintptr_t i = 0; i < VICTIMS; i++)
		victims[i] = check_fork(victim, (void *)(i + 1));
}

/* Lets the peers that are still to be used wait longer, because their patience is limited. */
static void others_wait(int from)
{
	const DAT_CONN_QUAL not_yet = 0;

	for (int i = from; i < VICTIMS; i++)
		check_put(victims[i], &not_yet, sizeof(not_yet));
}

/* Exchanges data with the victim, which is killed after `rounds` rounds, until this side has learnt of its death. */
static void live_with(struct busy *busy, pid_t pid, unsigned int rounds)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	for (unsigned int n = 0; api_state(busy->ep) == DAT_EP_STATE_CONNECTED; n++) {
		REQUIRE(check_now_ms() < until);
		go_on(busy);
		take(busy);
		if (n == rounds)
			check_kill(pid);
	}
	API_CONN_OVER(my.connect, busy->ep);
	while ((busy->requests || busy->receives) && check_now_ms() < until)
		take(busy);
	CHECK_EQ_INT(busy->requests, 0);
	CHECK_EQ_INT(busy->receives, 0);
}

static struct {
	pthread_t thread;
	bool runs;
	_Atomic bool stop;
} freeing;

/* Frees memory all the time. A free waits for peers that may be accessing the memory, also for dead ones. */
static void *freeing_thread(void *arg)
{
	(void)arg;
	while (!atomic_load(&freeing.stop)) {
		DAT_REGION_DESCRIPTION region = { .for_va = my.buf.mem };
		DAT_LMR_CONTEXT lmr_context;
		DAT_RMR_CONTEXT rmr_context;
		DAT_LMR_HANDLE lmr;
		DAT_VADDR address;
		DAT_VLEN length;

		if (dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, api.pz,
				   DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &length,
				   &address) == DAT_SUCCESS)
			CHECK_DAT(dat_lmr_free(lmr), DAT_SUCCESS);
		sched_yield();
	}
	return NULL;
}

static void freeing_begin(void)
{
	atomic_store(&freeing.stop, false);
	REQUIRE(pthread_create(&freeing.thread, NULL, freeing_thread, NULL) == 0);
	freeing.runs = true;
}

static void freeing_end(void)
{
	if (!freeing.runs)
		return;
	atomic_store(&freeing.stop, true);
	pthread_join(freeing.thread, NULL);
	freeing.runs = false;
}

/* Called after a failure too, because the thread must not outlive the IA. */
static void close_side(void)
{
	freeing_end();
	api_close();
}

static void one_round(unsigned int round)
{
	DAT_EP_HANDLE pinged;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	struct busy busy = { 0 };
	struct place there;
	DAT_PSP_HANDLE psp;

	fork_all();
	open_side(77 + round);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	pinged = make_endpoint();
	check_put(steady, &qual, sizeof(qual));
	accept_on(cr_evd, pinged, &there);
	busy.ep = make_endpoint();
	freeing_begin();
	for (int i = 0; i < VICTIMS; i++) {
		check_put(victims[i], &qual, sizeof(qual));
		others_wait(i + 1);
		accept_on(cr_evd, busy.ep, &busy.there);
		live_with(&busy, victims[i], (unsigned int)rand_r(&my.seed) % 3000);
		for (int n = 0; n < 20; n++)
			ping(pinged);
		REQUIRE_DAT(dat_ep_reset(busy.ep), DAT_SUCCESS);
	}
	freeing_end();
	REQUIRE_DAT(dat_ep_disconnect(pinged, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	check_join(steady);
	CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
	api_close();
}

static void killed_peers_take_nobody_along(void)
{
	const char *text = getenv("KILL_ROUNDS");
	unsigned int rounds = text ? (unsigned int)strtoul(text, NULL, 10) : 1;

	for (unsigned int i = 0; i < rounds; i++) {
		one_round(i);
		check_alive();
	}
}

static const struct check_test tests[] = { CHECK_TEST(killed_peers_take_nobody_along), CHECK_END };

static const struct check_suite kills = { .name = "kill", .teardown = close_side, .tests = tests };

CHECK_SUITES(&kills);
