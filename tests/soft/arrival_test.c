/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eight endpoints whose receives complete on one queue, of one sender: their completions come in the order in which the
 * messages were sent, whatever way each of them took, and whether each endpoint has receives of its own or all share those
 * of an SRQ. With an SRQ a message may be overtaken by those of other endpoints. Invariant: the receives are posted
 * before, so nothing but the provider decides about the order.
 * ARRIVAL_ROUNDS=1000 is the long form.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

#define ENDS	8u
#define EACH	4u /* messages on each endpoint in a round, at most */
#define LONGEST 200000u
#define BURST	(ENDS * EACH)

/* How the receiver looks for completions. */
enum look { LATE, POLLING, WAITING };

static struct {
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE ep[ENDS];
	DAT_SRQ_HANDLE srq; /* or DAT_HANDLE_NULL: the receives are the endpoints' own */
	struct api_buf buf;
	uint32_t next[ENDS]; /* the least number that the next message of each endpoint has */
	unsigned int seed;
} my;

/* The parameters of a test, which the peer inherits by the fork, and the qualifier at which it listens. */
static struct {
	enum look look;
	bool mixed; /* mixed lengths; otherwise 64 bytes on each endpoint, and then 100,000 on each */
	bool shared; /* the receiver has an SRQ */
	unsigned int rounds;
	DAT_CONN_QUAL qual;
} how;

static size_t place(uint32_t n)
{
	return (size_t)n * LONGEST;
}

static unsigned int rounds(void)
{
	const char *many = getenv("ARRIVAL_ROUNDS");

	return many ? (unsigned int)atoi(many) : 60;
}

static DAT_RETURN make_end(DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = EACH, .max_request_dtos = EACH };

	return my.srq == DAT_HANDLE_NULL ?
		       dat_ep_create(api.ia, api.pz, my.recv, my.request, my.connect, &attr, ep) :
		       dat_ep_create_with_srq(api.ia, api.pz, my.recv, my.request, my.connect, my.srq, &attr, ep);
}

static void side_open(bool shared)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = BURST, .max_recv_iov = 1 };

	api_open();
	my.recv = api_evd(BURST, DAT_EVD_DTO_FLAG);
	my.request = api_evd(BURST, DAT_EVD_DTO_FLAG);
	my.connect = api_evd(ENDS, DAT_EVD_CONNECTION_FLAG);
	my.buf = api_buf(place(BURST), DAT_MEM_PRIV_ALL_FLAG);
	memset(my.next, 0, sizeof(my.next));
	my.srq = DAT_HANDLE_NULL;
	if (shared)
		REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &srq_attr, &my.srq), DAT_SUCCESS);
	for (uint32_t e = 0; e < ENDS; e++)
		REQUIRE_DAT(make_end(&my.ep[e]), DAT_SUCCESS);
}

static void established(void)
{
	DAT_EVENT event;

	API_EVENT(my.connect, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ------------------------------------------------------------------ the receiver */

/* Checks that the message comes behind the one before it on its endpoint, and belongs to this round. */
static void follow(uint32_t number, uint32_t got, DAT_EP_HANDLE ep)
{
	uint32_t e = 0;

	while (e < ENDS && my.ep[e] != ep)
		e++;
	REQUIRE(e < ENDS);
	CHECK_EQ_INT(got / BURST, number / BURST);
	CHECK(got >= my.next[e]);
	my.next[e] = got + 1;
}

/* Checks that the completion is of the next message in the order of their numbers. */
static void take(uint32_t *number, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	uint32_t got;

	REQUIRE_EQ_INT(event->event_number, DAT_DTO_COMPLETION_EVENT);
	REQUIRE_EQ_INT(dto->status, DAT_DTO_SUCCESS);
	memcpy(&got, my.buf.mem + place((uint32_t)dto->user_cookie.as_64), sizeof(got));
	if (how.shared)
		follow(*number, got, dto->ep_handle);
	else
		REQUIRE_EQ_INT(got, *number);
	++*number;
}

static void look_until(uint32_t *number, uint32_t end)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_EVENT event;
	DAT_COUNT more;

	while (*number != end && check_now_ms() < until) {
		DAT_RETURN ret = how.look == WAITING ? dat_evd_wait(my.recv, api_patience(), 1, &event, &more) :
						       dat_evd_dequeue(my.recv, &event);

		if (ret == DAT_SUCCESS)
			take(number, &event);
		else
			REQUIRE(DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	}
	REQUIRE_EQ_INT(*number, end);
}

/* Posts the receive for message `n` of a round. With an SRQ any message may take it. */
static DAT_RETURN post(uint32_t n)
{
	DAT_LMR_TRIPLET seg = api_seg(&my.buf, place(n), LONGEST);

	return my.srq == DAT_HANDLE_NULL ? api_recv(my.ep[n % ENDS], &my.buf, place(n), LONGEST, n) :
					   dat_srq_post_recv(my.srq, 1, &seg, api_cookie(n));
}

static void receive_all(void)
{
	uint32_t number = 0;

	for (unsigned int round = 0; round < how.rounds; round++) {
		uint32_t end;

		for (uint32_t n = 0; n < BURST; n++)
			REQUIRE_DAT(post(n), DAT_SUCCESS);
		check_signal(CHECK_PARENT);
		if (how.look == LATE) {
			check_await(CHECK_PARENT); /* all messages have been sent */
			nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
		}
		end = number + BURST;
		look_until(&number, end);
	}
}

static void receiver(void *arg)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;

	(void)arg;
	side_open(how.shared);
	cr_evd = api_evd(ENDS, DAT_EVD_CR_FLAG);
	psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &how.qual);
	check_put(CHECK_PARENT, &how.qual, sizeof(how.qual));
	for (uint32_t e = 0; e < ENDS; e++) {
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), my.ep[e], 0, NULL), DAT_SUCCESS);
		established();
	}
	receive_all();
	CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* ------------------------------------------------------------------ the sender */

static uint32_t length(uint32_t n)
{
	static const uint32_t some[] = { 8, 64, 80, 500, 4000, 7000, 20000, 65536, 100000, LONGEST };

	if (how.mixed)
		return some[(unsigned int)rand_r(&my.seed) % (sizeof(some) / sizeof(*some))];
	return n < ENDS ? 64 : 100000;
}

/* Chooses the endpoint of each message of a round. Each endpoint gets four messages, for which it has receives. */
static void deal(uint32_t *order)
{
	for (uint32_t n = 0; n < BURST; n++)
		order[n] = n % ENDS;
	for (uint32_t n = BURST - 1; how.mixed && n; n--) {
		uint32_t other = (uint32_t)rand_r(&my.seed) % (n + 1), end = order[n];

		order[n] = order[other];
		order[other] = end;
	}
}

static void send_round(pid_t peer, unsigned int round)
{
	uint32_t order[BURST];

	deal(order);
	for (uint32_t n = 0; n < BURST; n++) {
		uint32_t number = round * BURST + n;

		memcpy(my.buf.mem + place(n), &number, sizeof(number));
		REQUIRE_DAT(api_send(my.ep[order[n]], &my.buf, place(n), length(n), n, 0), DAT_SUCCESS);
	}
	if (how.look == LATE)
		check_signal(peer);
	for (uint32_t n = 0; n < BURST; n++) {
		DAT_EVENT event;

		API_EVENT(my.request, &event);
		REQUIRE_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	}
}

static void send_all(pid_t peer)
{
	for (unsigned int round = 0; round < how.rounds; round++) {
		check_await(peer); /* the receives are posted */
		send_round(peer, round);
		check_alive();
	}
}

static void run(enum look look, bool mixed, bool shared)
{
	pid_t peer;

	how.look = look;
	how.mixed = mixed;
	how.shared = shared;
	how.rounds = rounds();
	peer = check_fork(receiver, NULL);
	check_get(peer, &how.qual, sizeof(how.qual));
	side_open(false);
	my.seed = 1 + (unsigned int)look;
	for (uint32_t e = 0; e < ENDS; e++) {
		REQUIRE_DAT(api_connect(my.ep[e], how.qual), DAT_SUCCESS);
		established();
	}
	send_all(peer);
	check_await(peer);
	check_signal(peer);
	check_join(peer);
}

static void long_messages_do_not_overtake_short_ones_that_wait_in_the_queue(void)
{
	run(LATE, false, false);
}

static void messages_of_every_size_come_in_order_to_a_late_poller(void)
{
	run(LATE, true, false);
}

static void messages_of_every_size_come_in_order_to_a_poller(void)
{
	run(POLLING, true, false);
}

static void messages_of_every_size_come_in_order_to_a_waiter(void)
{
	run(WAITING, true, false);
}

static void with_an_srq_long_messages_do_not_overtake_short_ones_of_their_endpoint(void)
{
	run(LATE, false, true);
}

static void with_an_srq_messages_of_each_endpoint_come_in_order_to_a_late_poller(void)
{
	run(LATE, true, true);
}

static void with_an_srq_messages_of_each_endpoint_come_in_order_to_a_poller(void)
{
	run(POLLING, true, true);
}

static void with_an_srq_messages_of_each_endpoint_come_in_order_to_a_waiter(void)
{
	run(WAITING, true, true);
}

/* ------------------------------------------------------------------ as many messages as the EVD is long */

#define LENGTH 128u

static struct api_pair pair[ENDS];

/* Sends `count` messages, over one endpoint after the other, and takes their completions only after the last of them. */
static void burst(uint32_t count)
{
	DAT_EVENT event;

	for (uint32_t n = 0; n < count; n++)
		REQUIRE_DAT(api_recv(pair[n % ENDS].b.ep, &my.buf, 0, 64, n), DAT_SUCCESS);
	for (uint32_t n = 0; n < count; n++)
		REQUIRE_DAT(api_send(pair[n % ENDS].a.ep, &my.buf, 64, 64, n, 0), DAT_SUCCESS);
	for (uint32_t n = 0; n < count; n++) {
		API_EVENT(my.recv, &event);
		CHECK_EQ_INT((int)event.event_data.dto_completion_event_data.user_cookie.as_64, (int)n);
	}
	for (uint32_t n = 0; n < count; n++)
		API_EVENT(my.request, &event);
}

/* A program that has no more receives outstanding than its EVD is long gets them in order, wherever in the ring they begin. */
static void as_many_messages_as_the_evd_is_long_come_in_order(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = LENGTH / ENDS, .max_request_dtos = LENGTH / ENDS };

	api_open();
	my.buf = api_buf(128, DAT_MEM_PRIV_ALL_FLAG);
	my.recv = api_evd(LENGTH, DAT_EVD_DTO_FLAG);
	my.request = api_evd(2 * LENGTH, DAT_EVD_DTO_FLAG);
	for (uint32_t e = 0; e < ENDS; e++) {
		struct api_end *ends[] = { &pair[e].a, &pair[e].b };

		for (int i = 0; i < 2; i++) {
			ends[i]->recv = my.recv;
			ends[i]->request = my.request;
			ends[i]->connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
			REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.recv, my.request, ends[i]->connect, &attr, &ends[i]->ep),
				    DAT_SUCCESS);
		}
		api_pair_meet(&pair[e]);
	}
	for (uint32_t skew = 0; skew < LENGTH / 4; skew++) {
		burst(skew);
		burst(LENGTH);
	}
}

static const struct check_test length_tests[] = {
	CHECK_TEST(as_many_messages_as_the_evd_is_long_come_in_order),
	CHECK_END
};

static const struct check_suite length_suite = { .name = "arrival, the EVD full", .teardown = api_close, .tests = length_tests };

static const struct check_test tests[] = {
	CHECK_TEST(long_messages_do_not_overtake_short_ones_that_wait_in_the_queue),
	CHECK_TEST(messages_of_every_size_come_in_order_to_a_late_poller),
	CHECK_TEST(messages_of_every_size_come_in_order_to_a_poller),
	CHECK_TEST(messages_of_every_size_come_in_order_to_a_waiter),
	CHECK_TEST(with_an_srq_long_messages_do_not_overtake_short_ones_of_their_endpoint),
	CHECK_TEST(with_an_srq_messages_of_each_endpoint_come_in_order_to_a_late_poller),
	CHECK_TEST(with_an_srq_messages_of_each_endpoint_come_in_order_to_a_poller),
	CHECK_TEST(with_an_srq_messages_of_each_endpoint_come_in_order_to_a_waiter),
	CHECK_END
};

static const struct check_suite arrival = { .name = "arrival", .teardown = api_close, .tests = tests };

/* A process for each processor that only computes, so that each side is preempted in the middle of its work. */
#define HOGS 64
static pid_t hog[HOGS];

static int hogs_start(void)
{
	long many = sysconf(_SC_NPROCESSORS_ONLN);

	for (long n = 0; n < many && n < HOGS; n++) {
		hog[n] = fork();
		if (hog[n] < 0)
			return -1;
		while (!hog[n])
			if (getppid() == 1)
				_exit(0);
	}
	return 0;
}

static int hogs_end(void)
{
	for (int n = 0; n < HOGS && hog[n] > 0; n++) {
		kill(hog[n], SIGKILL);
		waitpid(hog[n], NULL, 0);
		hog[n] = 0;
	}
	return 0;
}

static const struct check_suite busy = {
	.name = "arrival, all processors busy",
	.teardown = api_close,
	.tests = tests,
	.init = hogs_start,
	.cleanup = hogs_end,
};

CHECK_SUITES(&length_suite, &arrival, &busy);
