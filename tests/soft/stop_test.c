/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are stopped (SIGSTOP) in the middle of a transfer, at any instruction. Every call that must return returns, the
 * connection ends with its event, everything that was posted completes, and other connections are not affected. When the
 * peer goes on, which it does in every other round, it does not write to memory that it may not access any more.
 *
 * STOP_ROUNDS is how often each kind of traffic meets each call: 1 if it is not set. An odd number of
 * rounds has each of them once more without SIGCONT.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define DEPTH	4u
#define LENGTH	((size_t)2 << 20)
#define STEADY	((uint64_t)1 << 32) /* the cookies of the connection with the peer that is never stopped */
#define PATTERN 77u

/* What a victim does until it is stopped. */
enum traffic { SENDS, WRITES, READS, TRAFFICS };

/* What must return. */
enum call {
	ABRUPT,	   /* dat_ep_disconnect */
	GRACEFUL,  /* dat_ep_disconnect, graceful and then abrupt */
	UNRELATED, /* dat_lmr_free of memory that no operation uses */
	USED,	   /* dat_lmr_free of memory that the victim is accessing */
	FREE,	   /* dat_ep_free */
	FAIL,	   /* an operation that fails, so that the connection ends on the service thread */
	POST,	   /* posts, as many as there is room for */
	RESET,	   /* dat_ep_disconnect, dat_ep_reset, and another connection of the endpoint */
	CLOSE,	   /* dat_ia_close, abrupt */
	CALLS
};
static const char *const names[CALLS] = { "disconnect abruptly", "disconnect gracefully", "free other memory",
					  "free memory", "free the endpoint", "fail", "post", "reset", "close" };

struct place {
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
	char adapter[32];
	enum traffic traffic;
};

struct busy {
	DAT_EP_HANDLE ep;
	struct place there;
	enum traffic traffic;
	uint32_t requests, receives; /* outstanding */
};

static struct {
	DAT_EVD_HANDLE recv, request, connect;
	struct api_buf out, in; /* source of sends and sink of reads; sink of receives, which the peer reads and writes */
	uint32_t pongs;
} my;

static unsigned int seed = 1;
static char *adapter;
static bool asks;   /* this side asks the victim to copy, and ends the connection if that does not answer within 100 ms */
static bool shared; /* the victims map the memory of writes and reads */
/* Of the victims' requests. With a barrier fence, an RDMA request into mapped memory does not take the short way. */
static size_t length = LENGTH;
static DAT_COMPLETION_FLAGS way;

static struct api_buf memory(size_t size)
{
	void *mem;
	int fd;

	if (!shared)
		return api_buf(size, DAT_MEM_PRIV_ALL_FLAG);
	fd = memfd_create("stop_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	/* peers map only memory that is sealed */
	REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(mem != MAP_FAILED); /* the descriptor stays open, because a victim finds the file by it */
	return api_buf_in(api.pz, mem, size, DAT_MEM_PRIV_ALL_FLAG);
}

static void open_side(void)
{
	memset(&my, 0, sizeof(my));
	api_open_as(adapter);
	my.recv = api_evd(64, DAT_EVD_DTO_FLAG);
	my.request = api_evd(64, DAT_EVD_DTO_FLAG);
	my.connect = api_evd(64, DAT_EVD_CONNECTION_FLAG);
	my.out = memory(LENGTH);
	my.in = memory(LENGTH);
}

static DAT_EP_HANDLE make_endpoint(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = DEPTH, .max_request_dtos = DEPTH };
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.recv, my.request, my.connect, &attr, &ep),
		    DAT_SUCCESS);
	return ep;
}

static void connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, struct place *there)
{
	DAT_EVENT event;

	REQUIRE_DAT(dat_ep_connect(ep, api_address(), qual, api_patience(), 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_EVENT(my.connect, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	memcpy(there, event.event_data.connect_event_data.private_data, sizeof(*there));
}

static void accept_on(DAT_EVD_HANDLE cr_evd, DAT_EP_HANDLE ep, enum traffic traffic)
{
	struct place mine = { my.in.rmr_context, (DAT_VADDR)(uintptr_t)my.in.mem, "", traffic };

	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), ep, sizeof(mine), &mine), DAT_SUCCESS);
	API_CONN(my.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ------------------------------------------------------------------ traffic */

static DAT_RETURN post_request(struct busy *busy)
{
	size_t size = busy->traffic == SENDS ? LENGTH : length;
	DAT_LMR_TRIPLET local = api_seg(&my.out, 0, size);
	DAT_RMR_TRIPLET remote = { .rmr_context = busy->there.context,
				   .target_address = busy->there.address,
				   .segment_length = size };

	switch (busy->traffic) {
	case WRITES:
		return api_write(busy->ep, local, remote, 0, way);
	case READS:
		return api_read(busy->ep, local, remote, 0, way);
	default:
		return dat_ep_post_send(busy->ep, 1, &local, api_cookie(0), 0);
	}
}

/* Posts a request or receive if there is room. A post that is refused does not count. */
static void go_on(struct busy *busy)
{
	if (busy->requests < DEPTH && post_request(busy) == DAT_SUCCESS)
		busy->requests++;
	if (busy->receives < DEPTH && api_recv(busy->ep, &my.in, 0, LENGTH, 0) == DAT_SUCCESS)
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

/* Makes the traffic that the test has chosen until the connection is over, and reports that. */
static void victim(void *arg)
{
	struct busy busy = { 0 };
	DAT_CONN_QUAL qual;

	(void)arg;
	do /* 0 means that this victim has to wait longer */
		check_get(CHECK_PARENT, &qual, sizeof(qual));
	while (!qual);
	open_side();
	busy.ep = make_endpoint();
	connect_to(busy.ep, qual, &busy.there);
	busy.traffic = busy.there.traffic;
	while (api_state(busy.ep) == DAT_EP_STATE_CONNECTED) {
		go_on(&busy);
		take(&busy);
	}
	check_signal(CHECK_PARENT);
	api_close();
}

static void answer_steadily(void *arg)
{
	struct place there;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT more;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	open_side();
	ep = make_endpoint();
	for (uint64_t n = 0; n < DEPTH; n++)
		REQUIRE_DAT(api_recv(ep, &my.in, 0, 64, n), DAT_SUCCESS);
	connect_to(ep, qual, &there);
	while (dat_evd_wait(my.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more) == DAT_SUCCESS &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
		REQUIRE_DAT(api_recv(ep, &my.in, 0, 64, 0), DAT_SUCCESS);
		REQUIRE_DAT(api_send(ep, &my.out, 0, 64, 0, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	}
	api_close();
}

/* ------------------------------------------------------------------ the calls */

/* This side of a round. */
struct round {
	struct busy busy;
	DAT_EP_HANDLE pinged, mate; /* connected to the steady peer; to the endpoint that was reset */
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct api_buf other, ball; /* memory that the victim cannot access */
};

/* Checks that a message that is sent at `from` leads to one that is received at `to`. */
static void message(struct round *r, DAT_EP_HANDLE from, DAT_EP_HANDLE to, size_t size)
{
	uint32_t before = my.pongs;
	uint64_t until = check_now_ms() + check_patience_ms();

	REQUIRE_DAT(api_recv(to, &r->ball, 0, size, STEADY), DAT_SUCCESS);
	REQUIRE_DAT(api_send(from, &r->ball, 0, size, STEADY, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	while (my.pongs == before && check_now_ms() < until)
		take(&r->busy);
	CHECK_EQ_INT(my.pongs, before + 1);
}

/* Checks that the steady peer answers, whatever the victim does. */
static void ping(struct round *r)
{
	message(r, r->pinged, r->pinged, 64);
}

/* Resets the endpoint whose peer is stopped, and connects it with another one of this process. */
static void use_again(struct round *r)
{
	DAT_EVD_HANDLE connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);

	CHECK_DAT(dat_ep_reset(r->busy.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.recv, my.request, connect, NULL, &r->mate), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(r->busy.ep, r->qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(r->cr_evd), r->mate, 0, NULL), DAT_SUCCESS);
	API_CONN(connect, r->mate, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(my.connect, r->busy.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	message(r, r->busy.ep, r->mate, LENGTH);
	message(r, r->mate, r->busy.ep, LENGTH);
}

/* Waits for the event of the end, and for the completions of everything that was posted. */
static void over(struct round *r)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	API_CONN_OVER(my.connect, r->busy.ep);
	while ((r->busy.requests || r->busy.receives) && check_now_ms() < until)
		take(&r->busy);
	CHECK_EQ_INT(r->busy.requests, 0);
	CHECK_EQ_INT(r->busy.receives, 0);
}

/*
 * Checks that the service thread still works: a connection request that nobody answers times out. The endpoint has an EVD of
 * its own, because the busy connection may end meanwhile.
 */
static void times_out(struct round *r)
{
	DAT_EVD_HANDLE connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.recv, my.request, connect, NULL, &ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_connect(ep, api_address(), r->qual, 10000, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_CONN(connect, ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(connect), DAT_SUCCESS);
	CHECK_DAT(dat_cr_reject(api_cr(r->cr_evd)), DAT_SUCCESS);
}

static void post_what_fails(struct round *r)
{
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 1, .segment_length = 1 };

	while (r->busy.requests == DEPTH && api_state(r->busy.ep) == DAT_EP_STATE_CONNECTED &&
	       dat_evd_dequeue(my.request, &(DAT_EVENT){ 0 }) == DAT_SUCCESS)
		r->busy.requests--;
	if (api_write(r->busy.ep, api_seg(&my.out, 0, 1), nowhere, 0, 0) == DAT_SUCCESS)
		r->busy.requests++;
}

/* Makes the call. Returns true if the connection ends by it in any case. */
static bool make_call(struct round *r, enum call call)
{
	DAT_EP_HANDLE ep = r->busy.ep;

	switch (call) {
	case ABRUPT:
	case RESET:
		CHECK_DAT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		return true;
	case GRACEFUL:
		CHECK_DAT(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		CHECK_DAT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		return true;
	case UNRELATED:
		CHECK_DAT(dat_lmr_free(r->other.lmr), DAT_SUCCESS);
		CHECK(asks || api_state(ep) == DAT_EP_STATE_CONNECTED);
		return false;
	case USED:
		CHECK_DAT(dat_lmr_free(my.in.lmr), DAT_SUCCESS);
		CHECK_DAT(dat_lmr_free(my.out.lmr), DAT_SUCCESS);
		return false; /* the connection ends only if the victim was accessing the memory */
	case FAIL:
		post_what_fails(r);
		times_out(r);
		return false; /* the operation may be waiting behind others */
	case POST:
		for (unsigned int i = 0; i < 3 * DEPTH; i++) {
			go_on(&r->busy);
			take(&r->busy);
		}
		return false;
	default:
		return false;
	}
}

/* Lets the victim go on. It must not write to memory that belongs to this side again, and its connection must be over. */
static void goes_on(pid_t pid, const unsigned char *mine)
{
	CHECK(kill(pid, SIGCONT) == 0);
	check_await(pid);
	for (size_t i = 0; i < LENGTH; i++)
		if (mine[i] != PATTERN) {
			CHECK_FAIL("byte %zu of memory that was freed has been written to", i);
			break;
		}
	check_join(pid);
}

static void finish(struct round *r, pid_t pid, enum call call, bool cont)
{
	bool ended = make_call(r, call);

	if (call == CLOSE || call == FREE)
		return;
	ping(r);
	if (!ended)
		(void)dat_ep_disconnect(r->busy.ep, DAT_CLOSE_ABRUPT_FLAG);
	over(r);
	ping(r);
	if (call == RESET)
		use_again(r);
	if (!cont) {
		check_kill(pid);
		return;
	}
	memset(my.in.mem, PATTERN, LENGTH);
	goes_on(pid, my.in.mem);
	ping(r);
	if (call == RESET) {
		message(r, r->busy.ep, r->mate, LENGTH);
		message(r, r->mate, r->busy.ep, LENGTH);
	}
}

static void round_open(struct round *r)
{
	memset(r, 0, sizeof(*r));
	open_side();
	r->other = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	r->ball = api_buf(LENGTH, DAT_MEM_PRIV_ALL_FLAG);
	r->cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	r->psp = api_listen(r->cr_evd, DAT_PSP_CONSUMER_FLAG, &r->qual);
}

/*
 * Exchanges data with the victim for a while, and then stops it. The time is bounded because a sanitizer looks at each byte of the
 * 2 MiB of a message: 2,000 of them would take a minute.
 */
static void live_with(struct round *r, pid_t pid)
{
	unsigned int rounds = 20 + (unsigned int)rand_r(&seed) % 2000;
	uint64_t until = check_now_ms() + 100;

	while (rounds-- && check_now_ms() < until) {
		go_on(&r->busy);
		take(&r->busy);
	}
	check_stop(pid);
}

static void one_round(enum traffic traffic, enum call call, bool cont)
{
	pid_t steady = check_fork(answer_steadily, NULL), pid = check_fork(victim, NULL);
	struct round r;
	uint64_t began;

	round_open(&r);
	r.busy.traffic = traffic;
	r.pinged = make_endpoint();
	check_put(steady, &r.qual, sizeof(r.qual));
	accept_on(r.cr_evd, r.pinged, traffic);
	r.busy.ep = make_endpoint();
	/* the victim's requests access our memory, and ours do not access the victim's */
	r.busy.traffic = SENDS;
	check_put(pid, &r.qual, sizeof(r.qual));
	accept_on(r.cr_evd, r.busy.ep, traffic);
	live_with(&r, pid);
	began = check_now_ms();
	finish(&r, pid, call, cont);
	if (call == FREE)
		CHECK_DAT(dat_ep_free(r.busy.ep), DAT_SUCCESS);
	if (call == FREE)
		ping(&r);
	api_close();
	if (check_now_ms() - began >= check_patience_ms())
		CHECK_FAIL("traffic %d: it took %llu ms to %s", (int)traffic,
			   (unsigned long long)(check_now_ms() - began), names[call]);
	if (call == CLOSE || call == FREE)
		check_kill(pid);
	check_join(steady);
}

static void campaign(enum traffic traffic)
{
	const char *text = getenv("STOP_ROUNDS");
	int rounds = text ? atoi(text) : 1;

	for (int i = 0; i < rounds; i++)
		for (int call = 0; call < CALLS; call++) {
			one_round(traffic, (enum call)call, (i + call) % 2);
			check_alive();
		}
}

static void sender_that_is_stopped_holds_up_nobody(void)
{
	campaign(SENDS);
}

static void writer_that_is_stopped_holds_up_nobody(void)
{
	campaign(WRITES);
}

static void reader_that_is_stopped_holds_up_nobody(void)
{
	campaign(READS);
}

static void use(const char *name, bool maps, size_t size, DAT_COMPLETION_FLAGS flags)
{
	adapter = (char *)(uintptr_t)name;
	asks = false;
	shared = maps;
	length = size;
	way = flags;
}

static void by_system_calls(void)
{
	use("soft-hasty", false, LENGTH, DAT_COMPLETION_DEFAULT_FLAG);
}

static void by_bounce(void)
{
	use("soft-hasty-bounce", false, LENGTH, DAT_COMPLETION_DEFAULT_FLAG);
	asks = true;
}

static void by_mappings(void)
{
	use("soft-hasty", true, LENGTH, DAT_COMPLETION_DEFAULT_FLAG);
}

/* The copy is so short that most victims are stopped before or after it. */
static void by_mappings_of_words(void)
{
	use("soft-hasty", true, 16, DAT_COMPLETION_DEFAULT_FLAG);
}

static void by_mappings_generally(void)
{
	use("soft-hasty", true, LENGTH, DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

static const struct check_test tests[] = { CHECK_TEST(sender_that_is_stopped_holds_up_nobody),
					   CHECK_TEST(writer_that_is_stopped_holds_up_nobody),
					   CHECK_TEST(reader_that_is_stopped_holds_up_nobody), CHECK_END };
static const struct check_test rdma_tests[] = { CHECK_TEST(writer_that_is_stopped_holds_up_nobody),
						CHECK_TEST(reader_that_is_stopped_holds_up_nobody), CHECK_END };

static const struct check_suite calls = {
	.name = "stop, system calls", .setup = by_system_calls, .teardown = api_close, .tests = tests
};
static const struct check_suite bounced = {
	.name = "stop, bounce path", .setup = by_bounce, .teardown = api_close, .tests = tests
};
static const struct check_suite mappings = {
	.name = "stop, mappings", .setup = by_mappings, .teardown = api_close, .tests = tests
};
static const struct check_suite words = {
	.name = "stop, words by mappings", .setup = by_mappings_of_words, .teardown = api_close, .tests = rdma_tests
};
static const struct check_suite fenced = {
	.name = "stop, mappings, the general way", .setup = by_mappings_generally, .teardown = api_close, .tests = rdma_tests
};

CHECK_SUITES(&calls, &bounced, &mappings, &words, &fenced);
