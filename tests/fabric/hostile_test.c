/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks by a peer while a connection is set up: by private data, by requests that it does not follow up, and by leaving at any
 * step. Each test is one attack. The victim is the test itself. It loses the connection to that peer and nothing else: its calls
 * return, and an honest peer is served. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA names, whose handshake_ms
 * in dat.conf is shorter than the time that a test may wait.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"
#include "victim.h"

enum {
	ASKS = 48,    /* requests with random private data */
	ANSWERS = 32, /* the victim's attempts to connect to a peer that answers at random */
	SILENT = 6,   /* connection requests whose accept the attacker never answers */
	FLOOD = 100,  /* requests that each of two processes sends at once */
	BACKLOG = 16, /* length of the victim's CR EVD during the flood */
	CARRIED = 251, /* bytes of private data that no device refuses for their number alone */
	FEW_LINES = 12, /* most lines of the log: a few causes, each of which is logged at most three times in ten seconds */
	GATHERED = 80, /* events that are collected before the service thread gets the first */
	CANARY = 0x5a,
	ATTACK = 0xee,
	MESSAGE = 64,
	LITTLE_MS = 1000,
	AT_ONCE_MOST = 64, /* most events that the service thread may handle before it polls its other descriptors */
};

static struct api_end end;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static struct hostile_target me;
static pid_t attacker;
static _Atomic int *progress; /* the number of attackers that are done, in memory that they share with the test */

/* ------------------------------------------------------------------ the service thread */

/*
 * The functions below replace those of librdmacm and the C library. They can make the victim's service thread wait until GATHERED
 * events are there. They count how many events it takes between two calls of epoll_wait(), and how many ids are destroyed.
 */
static struct {
	_Atomic bool gather;
	_Atomic int most;
	_Atomic int destroyed;
	struct rdma_cm_event *kept[GATHERED]; /* the collected events, which the service thread then gets in this order */
	int count, given;
} events;

static __thread int in_a_row;

typedef int get_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);

static void gather(get_event *real, struct rdma_event_channel *channel)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while (events.count < GATHERED && check_now_ms() < until)
		if (!real(channel, &events.kept[events.count]))
			events.count++;
		else
			check_nap();
	atomic_store(&events.gather, false);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static get_event *real;
	int rc = 0;

	if (!real)
		real = (get_event *)dlsym(RTLD_NEXT, "rdma_get_cm_event");
	if (atomic_load(&events.gather))
		gather(real, channel);
	if (events.given < events.count)
		*event = events.kept[events.given++];
	else
		rc = real(channel, event);
	if (!rc && ++in_a_row > atomic_load(&events.most))
		atomic_store(&events.most, in_a_row);
	return rc;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	static int (*real)(struct rdma_cm_id *);
	int rc;

	if (!real)
		real = (int (*)(struct rdma_cm_id *))dlsym(RTLD_NEXT, "rdma_destroy_id");
	rc = real(id);
	atomic_fetch_add(&events.destroyed, 1);
	return rc;
}

int epoll_wait(int fd, struct epoll_event *list, int max, int ms)
{
	static int (*real)(int, struct epoll_event *, int, int);

	if (!real)
		real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
	in_a_row = 0;
	return real(fd, list, max, ms);
}

/* ------------------------------------------------------------------ the victim */

static void share_progress(void)
{
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(progress != MAP_FAILED);
}

static void tear_down(void)
{
	atomic_store(&events.gather, false);
	api_close();
	munmap((void *)progress, sizeof(*progress));
}

static void victim_opens(DAT_COUNT backlog)
{
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(backlog, DAT_EVD_CR_FLAG);
	victim_listens(cr_evd, &me);
}

static bool is_end(DAT_EVENT_NUMBER number)
{
	return number != DAT_CONNECTION_EVENT_ESTABLISHED;
}

/* Checks that an attempt or a connection has ended with exactly one event, and resets the endpoint for another. */
static void endpoint_is_over(struct api_end *one)
{
	DAT_EVENT event;

	API_EVENT(one->connect, &event);
	if (!is_end(event.event_number)) {
		REQUIRE_DAT(dat_ep_disconnect(one->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(one->connect, one->ep);
	}
	API_EMPTY(one->connect);
	REQUIRE_DAT(dat_ep_reset(one->ep), DAT_SUCCESS);
}

static void target_of_attacker(struct hostile_target *target)
{
	check_get(CHECK_PARENT, target, sizeof(*target));
}

/* ------------------------------------------------------------------ private data */

/*
 * Fills `data` with random bytes that often end in a mark like those that providers append to private data and to a rejection.
 * Returns the length.
 */
static size_t craft(unsigned char *data, uint64_t *seed)
{
	static const unsigned char mark[2] = { 0xe7, 0x0d };
	static const size_t usual[2] = { 56, CARRIED };
	uint64_t kind = hostile_random(seed) % 3;
	size_t len = kind < 2 ? usual[kind] : hostile_random(seed) % (CARRIED + 1);

	for (size_t i = 0; i < len; i++)
		data[i] = hostile_random(seed) % 2 ? 0 : (unsigned char)hostile_random(seed);
	if (len >= 4 && hostile_random(seed) % 4) {
		memcpy(data + len - 4, mark, sizeof(mark));
		data[len - 2] = (unsigned char)(0xa7 + hostile_random(seed) % 4);
	}
	return len;
}

static void ask_with_anything(void *arg)
{
	struct hostile_target victim;
	unsigned char data[256];
	uint64_t seed = 7;

	(void)arg;
	target_of_attacker(&victim);
	for (int i = 0; i < ASKS; i++) {
		struct hostile h;
		size_t len = craft(data, &seed);

		hostile_reach(&h, &victim);
		h.param.retry_count = (uint8_t)(hostile_random(&seed) % 8);
		/* The kernel refuses a request with more private data than the device carries. */
		if (hostile_ask(&h, data, len) == 0)
			CHECK(!hostile_awaits(&h, RDMA_CM_EVENT_ESTABLISHED));
		hostile_close(&h);
	}
	atomic_store(progress, 1);
	check_await(CHECK_PARENT);
}

static void requests_with_any_private_data_are_shown_or_refused(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	int shown = 0;

	attacker = check_fork(ask_with_anything, NULL);
	victim_opens(64);
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	while (!atomic_load(progress))
		if (dat_evd_wait(cr_evd, 20000, 1, &event, &more) == DAT_SUCCESS) {
			victim_turns_down(event.event_data.cr_arrival_event_data.cr_handle);
			shown++;
		}
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	CHECK(shown > 0);
	check_signal(attacker);
	check_join(attacker);
	victim_serves(&buf);
}

static void answer_one(struct hostile *h, uint64_t *seed)
{
	static const unsigned char more[4] = { 0xe7, 0x0d, 0xa7, 2 };
	unsigned char data[256];
	size_t len = craft(data, seed);

	hostile_hear(h);
	switch (hostile_random(seed) % 5) {
	case 0:
		hostile_reject(h, more, sizeof(more));
		break;
	case 1:
		hostile_reject(h, data, len < 148 ? len : 148);
		break;
	case 2:
		break; /* The request is not answered; hostile_hear() destroys it. */
	default:
		hostile_accept(h, data, len < 196 ? len : 196);
	}
}

static void answer_with_anything(void *arg)
{
	struct hostile_target here;
	struct hostile h;
	uint64_t seed = 11;

	(void)arg;
	target_of_attacker(&here);
	hostile_listen(&h, &here);
	check_signal(CHECK_PARENT);
	for (;;)
		answer_one(&h, &seed);
}

static void ask_attacker(unsigned int len)
{
	static unsigned char data[256];
	DAT_EVENT event;

	REQUIRE_DAT(dat_ep_connect(end.ep, api_address(), me.qual, api_patience(), (DAT_COUNT)len, data,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_EVENT(end.connect, &event);
	if (!is_end(event.event_number)) {
		CHECK(event.event_data.connect_event_data.private_data_size <= 256);
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(end.connect, end.ep);
	}
	API_EMPTY(end.connect);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
}

static void answers_with_any_private_data_are_shown_or_refused(void)
{
	attacker = check_fork(answer_with_anything, NULL);
	victim_opens(8);
	me.qual = api_free_qual(cr_evd);
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	check_stderr_begin();
	for (unsigned int i = 0; i < ANSWERS; i++)
		ask_attacker(i % 2 ? i : (unsigned int)api.prov.max_private_data_size - i);
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	check_kill(attacker);
	victim_serves(&buf);
}

/* ------------------------------------------------------------------ requests that are not followed up */

static void ask_and_say_no_more(void *arg)
{
	static struct hostile many[SILENT];
	struct hostile_target victim;

	(void)arg;
	target_of_attacker(&victim);
	for (int i = 0; i < SILENT; i++) {
		hostile_reach(&many[i], &victim);
		REQUIRE_EQ_INT(hostile_ask(&many[i], NULL, 0), 0);
	}
	for (;;)
		pause();
}

/* Accepts `count` requests on new endpoints. Over iWARP an accept needs no confirmation by the peer's program. */
static void accept_on_each(struct api_end *ends, int count)
{
	for (int i = 0; i < count; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(api_recv(ends[i].ep, &buf, 0, 64, 1), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), ends[i].ep, 0, NULL), DAT_SUCCESS);
	}
}

static void accept_that_is_never_confirmed_fails_in_time(void)
{
	struct api_end ends[SILENT];
	DAT_EVENT event;

	attacker = check_fork(ask_and_say_no_more, NULL);
	victim_opens(64);
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	accept_on_each(ends, SILENT);
	victim_serves(&buf);
	for (int i = 0; i < SILENT; i++) {
		API_EVENT(ends[i].connect, &event);
		if (!api_declares("accept", "unconfirmed"))
			CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			REQUIRE_DAT(dat_ep_disconnect(ends[i].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
			API_CONN_OVER(ends[i].connect, ends[i].ep);
		}
		API_DTO(ends[i].recv, ends[i].ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
		REQUIRE_DAT(dat_ep_reset(ends[i].ep), DAT_SUCCESS);
	}
	check_stderr_end();
	victim_serves(&buf);
	check_kill(attacker);
}

/* An endpoint whose accept nobody confirms can be disconnected and freed, and so can its adapter. */
static void calls_do_not_wait_for_the_confirmation(void)
{
	struct api_end ends[SILENT];

	attacker = check_fork(ask_and_say_no_more, NULL);
	victim_opens(64);
	check_put(attacker, &me, sizeof(me));
	accept_on_each(ends, SILENT);
	REQUIRE_DAT(dat_ep_disconnect(ends[0].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(ends[1].ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	for (int i = 0; i < 2; i++)
		endpoint_is_over(&ends[i]);
	REQUIRE_DAT(dat_ep_free(ends[2].ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	api_close();
	check_kill(attacker);
	victim_opens(8);
	victim_serves(&buf);
}

static void connect_and_say_no_more(void *arg)
{
	struct hostile_target victim;
	struct hostile h;

	(void)arg;
	target_of_attacker(&victim);
	REQUIRE(hostile_connect(&h, &victim));
	for (;;)
		pause();
}

/* The attacker does not read the DISCONNECTED event, so nobody answers the victim's disconnect. */
static void connection_whose_end_nobody_answers_is_forgotten_in_time(void)
{
	int before;

	attacker = check_fork(connect_and_say_no_more, NULL);
	victim_opens(8);
	check_put(attacker, &me, sizeof(me));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	before = atomic_load(&events.destroyed);
	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	REQUIRE_SOON(atomic_load(&events.destroyed) > before);
	check_kill(attacker);
}

static void flood(void *arg)
{
	static struct hostile many[FLOOD];
	bool stays = *(const bool *)arg;
	struct hostile_target victim;

	target_of_attacker(&victim);
	for (int i = 0; i < FLOOD; i++)
		hostile_reach(&many[i], &victim);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	for (int i = 0; i < FLOOD; i++)
		hostile_ask(&many[i], NULL, 0);
	atomic_fetch_add(progress, 1);
	if (stays)
		check_await(CHECK_PARENT);
}

/* Answers each request that was queued before the flood filled the CR EVD, until the EVD is empty. */
static void answer_flood(void)
{
	DAT_EVENT event;
	int taken = 0;

	while (dat_evd_dequeue(cr_evd, &event) == DAT_SUCCESS) {
		DAT_CR_HANDLE cr = event.event_data.cr_arrival_event_data.cr_handle;

		if (++taken % 4) {
			REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
			continue;
		}
		REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		endpoint_is_over(&end);
	}
	CHECK(taken >= 1);
}

static void service_thread_does_not_stay_with_a_flood(void)
{
	static const bool stays = true;

	attacker = check_fork(flood, (void *)(uintptr_t)&stays);
	victim_opens(BACKLOG);
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	atomic_store(&events.most, 0);
	atomic_store(&events.gather, true);
	check_signal(attacker);
	REQUIRE_SOON(!atomic_load(&events.gather));
	victim_serves(&buf);
	CHECK_EQ_INT(events.count, GATHERED);
	CHECK(atomic_load(&events.most) <= AT_ONCE_MOST);
	check_signal(attacker);
	check_join(attacker);
}

static void flood_of_requests_leaves_others_served(void)
{
	static const bool stays = true, leaves = false;
	pid_t two[2] = { check_fork(flood, (void *)(uintptr_t)&stays), check_fork(flood, (void *)(uintptr_t)&leaves) };
	int files;

	victim_opens(BACKLOG);
	victim_serves(&buf);
	files = api_descriptors();
	for (int i = 0; i < 2; i++) {
		check_put(two[i], &me, sizeof(me));
		check_await(two[i]);
	}
	check_stderr_begin();
	for (int i = 0; i < 2; i++)
		check_signal(two[i]);
	do
		victim_serves(&buf);
	while (atomic_load(progress) < 2);
	check_join(two[1]);
	answer_flood();
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	victim_serves(&buf);
	check_signal(two[0]);
	check_join(two[0]);
	/* There may be fewer, because the test has closed its pipes to the attackers. */
	CHECK(api_descriptors() <= files);
}

/* ------------------------------------------------------------------ a peer that leaves */

enum step {
	BEFORE_ACCEPT, /* the peer destroys its request before the victim accepts */
	WITHOUT_CONFIRMING,
	TAKES_IT_BACK, /* the peer rejects the answer to its own request */
	AT_ONCE,       /* the peer destroys the connection as soon as it is established */
	BY_DYING,
	STEPS
};

static void leave(struct hostile *h, enum step step)
{
	switch (step) {
	case WITHOUT_CONFIRMING:
		check_await(CHECK_PARENT); /* the victim has accepted */
		break;
	case TAKES_IT_BACK:
		check_await(CHECK_PARENT);
		hostile_awaits(h, RDMA_CM_EVENT_CONNECT_RESPONSE);
		hostile_reject(h, NULL, 0);
		break;
	case AT_ONCE:
		check_await(CHECK_PARENT);
		hostile_awaits(h, RDMA_CM_EVENT_ESTABLISHED);
		break;
	case BY_DYING:
		check_await(CHECK_PARENT);
		hostile_awaits(h, RDMA_CM_EVENT_ESTABLISHED);
		raise(SIGKILL);
		break;
	default:
		break;
	}
	hostile_close(h);
}

static void leave_at(void *arg)
{
	enum step step = *(const enum step *)arg;
	struct hostile_target victim;
	struct hostile h;

	target_of_attacker(&victim);
	hostile_reach(&h, &victim);
	REQUIRE_EQ_INT(hostile_ask(&h, NULL, 0), 0);
	check_await(CHECK_PARENT); /* the victim has got the request */
	if (step == BEFORE_ACCEPT)
		hostile_close(&h);
	check_signal(CHECK_PARENT);
	if (step != BEFORE_ACCEPT)
		leave(&h, step);
	for (;;)
		pause();
}

static void leaves(enum step step)
{
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	attacker = check_fork(leave_at, &step);
	victim_opens(8);
	if (step == TAKES_IT_BACK && api_declares("accept", "unconfirmed"))
		check_skip("over iWARP there is nothing to reject after the answer");
	check_put(attacker, &me, sizeof(me));
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	cr = api_cr(cr_evd);
	check_signal(attacker);
	check_await(attacker);
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	if (step != BEFORE_ACCEPT)
		check_signal(attacker);
	API_EVENT(end.connect, &event);
	if (!is_end(event.event_number))
		API_CONN_OVER(end.connect, end.ep);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(end.connect);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	victim_serves(&buf);
	check_kill(attacker);
}

static void peer_that_forgets_its_request_is_noticed(void)
{
	leaves(BEFORE_ACCEPT);
}

static void peer_that_leaves_without_confirming_is_noticed(void)
{
	leaves(WITHOUT_CONFIRMING);
}

static void peer_that_rejects_the_answer_is_noticed(void)
{
	leaves(TAKES_IT_BACK);
}

static void peer_that_leaves_at_once_is_noticed(void)
{
	leaves(AT_ONCE);
}

static void peer_that_dies_at_once_is_noticed(void)
{
	leaves(BY_DYING);
}

/* ------------------------------------------------------------------ a peer that takes its request back, and goes on */

/* How many messages the peer sends before it rejects the answer to its request. Afterwards it sends one more, and writes. */
static const int none = 0, one = 1;

/* Connects its queue pair after the victim's answer, and does not confirm that. */
static void join_unconfirmed(struct hostile *h, struct hostile_target *victim)
{
	target_of_attacker(victim);
	hostile_reach(h, victim);
	REQUIRE_EQ_INT(hostile_ask(h, NULL, 0), 0);
	REQUIRE(hostile_awaits(h, RDMA_CM_EVENT_CONNECT_RESPONSE));
	REQUIRE(hostile_joins(h));
}

static void take_back_and_go_on(void *arg)
{
	int before = *(const int *)arg, accepted;
	struct hostile_target victim;
	struct hostile h;

	join_unconfirmed(&h, &victim);
	memset(h.mem, ATTACK, HOSTILE_ROOM);
	for (int i = 0; i < before; i++)
		REQUIRE_EQ_INT(hostile_do(&h, IBV_WR_SEND, MESSAGE, 0, 0, check_patience_ms()), 0);
	REQUIRE_EQ_INT(hostile_reject(&h, NULL, 0), 0);
	check_await(CHECK_PARENT); /* the attempt has failed there */
	accepted = hostile_do(&h, IBV_WR_SEND, MESSAGE, 0, 0, LITTLE_MS) == 0;
	accepted += hostile_do(&h, IBV_WR_RDMA_WRITE, MESSAGE, victim.begin, victim.key, LITTLE_MS) == 0;
	check_put(CHECK_PARENT, &accepted, sizeof(accepted));
	for (;;)
		pause();
}

/* Accepts the request, which the peer takes back, with the endpoint `end`. */
static void accept_what_is_taken_back(void)
{
	me.begin = (uintptr_t)buf.mem + MESSAGE;
	me.key = buf.rmr_context;
	check_put(attacker, &me, sizeof(me));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

/* Lets the attacker go on, and checks that this has no effect. */
static void nothing_follows(void)
{
	int accepted;

	check_signal(attacker);
	check_get(attacker, &accepted, sizeof(accepted));
	CHECK_EQ_INT(accepted, 0);
}

static void needs_confirmations(void)
{
	if (api_declares("accept", "unconfirmed"))
		check_skip("over iWARP there is nothing to reject after the answer");
}

static void peer_that_takes_its_request_back_reaches_no_memory(void)
{
	attacker = check_fork(take_back_and_go_on, (void *)(uintptr_t)&none);
	victim_opens(8);
	needs_confirmations();
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, MESSAGE, 1), DAT_SUCCESS);
	accept_what_is_taken_back();
	API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	memset(buf.mem, CANARY, buf.size);
	nothing_follows();
	for (size_t i = 0; i < buf.size; i++)
		if (buf.mem[i] != CANARY) {
			CHECK_FAIL("byte %zu is 0x%02x", i, buf.mem[i]);
			break;
		}
	check_kill(attacker);
}

static DAT_EVD_HANDLE shared; /* for the messages of two endpoints: `end`, and that of an honest connection */

static void honest_end_shares(struct api_pair *honest)
{
	api_end_make(&honest->a, NULL);
	honest->b = (struct api_end){ .recv = shared, .request = api_evd(64, DAT_EVD_DTO_FLAG),
				      .connect = api_evd(8, DAT_EVD_CONNECTION_FLAG) };
}

static void honest_end_connects(struct api_pair *honest)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;

	api_listen(evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(api_connect(honest->a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(evd), honest->b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(honest->a.connect, honest->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(honest->b.connect, honest->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Allocates memory of the sizes that the queues of an endpoint have, and overwrites it, as a program may. */
static void write_to_freed_memory(void)
{
	unsigned char *blocks[64];

	for (size_t i = 0; i < 64; i++) {
		REQUIRE((blocks[i] = malloc((i % 8 + 1) * 64)) != NULL);
		memset(blocks[i], CANARY, (i % 8 + 1) * 64);
	}
	for (size_t i = 0; i < 64; i++)
		free(blocks[i]);
}

/* The receives of another endpoint are flushed behind that of the attacker's message, and their memory is freed. */
static void message_before_a_rejection_is_not_used_after_its_flush(void)
{
	struct api_pair honest;
	DAT_EP_PARAM param;

	attacker = check_fork(take_back_and_go_on, (void *)(uintptr_t)&one);
	victim_opens(8);
	needs_confirmations();
	shared = end.recv;
	honest_end_shares(&honest);
	REQUIRE_DAT(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	param.ep_attr.max_recv_dtos = 4; /* so that what is freed is soon used again */
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, shared, honest.b.request, honest.b.connect, &param.ep_attr, &honest.b.ep),
		    DAT_SUCCESS);
	honest_end_connects(&honest);
	for (uint64_t i = 11; i < 13; i++)
		REQUIRE_DAT(api_recv(honest.b.ep, &buf, 1024, MESSAGE, i), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, MESSAGE, 1), DAT_SUCCESS);
	accept_what_is_taken_back();
	REQUIRE_DAT(dat_ep_disconnect(honest.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(honest.b.connect, honest.b.ep);
	API_DTO(shared, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(shared, honest.b.ep, 11, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(shared, honest.b.ep, 12, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	REQUIRE_DAT(dat_ep_free(honest.b.ep), DAT_SUCCESS);
	write_to_freed_memory();
	nothing_follows();
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	victim_serves(&buf);
	check_kill(attacker);
}

/* The two endpoints share a receive queue, too. */
static void message_before_a_rejection_costs_others_no_event(void)
{
	DAT_SRQ_ATTR room = { .max_recv_dtos = 16, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct api_pair honest;
	DAT_EP_ATTR attr = { 0 };
	DAT_SRQ_HANDLE srq;

	attacker = check_fork(take_back_and_go_on, (void *)(uintptr_t)&one);
	victim_opens(8);
	needs_confirmations();
	REQUIRE_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &room, &srq), DAT_SUCCESS);
	shared = end.recv;
	honest_end_shares(&honest);
	REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, shared, end.request, end.connect, srq, &attr, &end.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, shared, honest.b.request, honest.b.connect, srq, &attr, &honest.b.ep),
		    DAT_SUCCESS);
	honest_end_connects(&honest);
	for (uint64_t i = 1; i < 9; i++) {
		DAT_LMR_TRIPLET seg = api_seg(&buf, i * MESSAGE, MESSAGE);

		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(i)), DAT_SUCCESS);
	}
	accept_what_is_taken_back();
	nothing_follows();
	API_DTO(shared, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	for (uint64_t i = 2; i < 9; i++) {
		REQUIRE_DAT(api_send(honest.a.ep, &buf, 2048, MESSAGE, i, 0), DAT_SUCCESS);
		API_DTO(honest.a.request, honest.a.ep, i, DAT_DTO_SUCCESS, MESSAGE);
		API_DTO(shared, honest.b.ep, i, DAT_DTO_SUCCESS, MESSAGE);
	}
	API_QUIET(shared);
	check_kill(attacker);
}

static void send_one_too_long(void *arg)
{
	struct hostile_target victim;
	struct hostile h;

	(void)arg;
	join_unconfirmed(&h, &victim);
	REQUIRE_EQ_INT(hostile_do(&h, IBV_WR_SEND, MESSAGE, 0, 0, check_patience_ms()), 0);
	CHECK(hostile_do(&h, IBV_WR_SEND, 2 * MESSAGE, 0, 0, check_patience_ms()) != 0);
	for (;;)
		pause();
}

/* Both have arrived before this side knows of the connection. */
static void message_before_one_that_is_too_long_completes_once(void)
{
	DAT_EVENT event;

	attacker = check_fork(send_one_too_long, NULL);
	victim_opens(8);
	needs_confirmations();
	for (uint64_t i = 1; i < 4; i++)
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, MESSAGE, i), DAT_SUCCESS);
	check_put(attacker, &me, sizeof(me));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_EVENT(end.connect, &event);
	if (!is_end(event.event_number))
		API_CONN_OVER(end.connect, end.ep);
	for (uint64_t i = 1; i < 4; i++) {
		API_EVENT(end.recv, &event);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, i);
	}
	API_QUIET(end.recv);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	victim_serves(&buf);
	check_kill(attacker);
}

static const struct check_test data_tests[] = {
	CHECK_TEST(requests_with_any_private_data_are_shown_or_refused),
	CHECK_TEST(answers_with_any_private_data_are_shown_or_refused),
	CHECK_END
};

static const struct check_test request_tests[] = {
	CHECK_TEST(accept_that_is_never_confirmed_fails_in_time),
	CHECK_TEST(calls_do_not_wait_for_the_confirmation),
	CHECK_TEST(connection_whose_end_nobody_answers_is_forgotten_in_time),
	CHECK_TEST(flood_of_requests_leaves_others_served),
	CHECK_TEST(service_thread_does_not_stay_with_a_flood),
	CHECK_END
};

static const struct check_test leaving_tests[] = {
	CHECK_TEST(peer_that_forgets_its_request_is_noticed),
	CHECK_TEST(peer_that_leaves_without_confirming_is_noticed),
	CHECK_TEST(peer_that_rejects_the_answer_is_noticed),
	CHECK_TEST(peer_that_leaves_at_once_is_noticed),
	CHECK_TEST(peer_that_dies_at_once_is_noticed),
	CHECK_END
};

static const struct check_test return_tests[] = {
	CHECK_TEST(peer_that_takes_its_request_back_reaches_no_memory),
	CHECK_TEST(message_before_a_rejection_is_not_used_after_its_flush),
	CHECK_TEST(message_before_a_rejection_costs_others_no_event),
	CHECK_TEST(message_before_one_that_is_too_long_completes_once),
	CHECK_END
};

static const struct check_suite private_data = {
	.name = "hostile private data", .setup = share_progress, .teardown = tear_down, .tests = data_tests
};

static const struct check_suite requests = {
	.name = "hostile requests", .setup = share_progress, .teardown = tear_down, .tests = request_tests
};

static const struct check_suite leaving = {
	.name = "peers that leave", .setup = share_progress, .teardown = tear_down, .tests = leaving_tests
};

static const struct check_suite returning = {
	.name = "peers that go on", .setup = share_progress, .teardown = tear_down, .tests = return_tests
};

CHECK_SUITES(&private_data, &requests, &leaving, &returning);
