/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions of several endpoints on one EVD are dequeued in the order in which the messages have arrived. Runs in a guest of the
 * lab, over the adapter that OPENDAT_TEST_IA names.
 */
#include <string.h>

#include "api.h"
#include "twist.h"

enum { ENDS = 24, ROUNDS = 6, BYTES = 64, LONG = 65536, MIXED = 8 };

/* Endpoints with queues so deep that the completions of a few of them fill a CQ. */
enum { DEEP = 1024, DEEP_FEW = 4, DEEP_MANY = 16 };

static struct api_pair pair[ENDS];
static struct api_buf from, to;
static DAT_EVD_HANDLE recv_evd;

/* Makes an endpoint whose receives complete on recv_evd. */
static void end_make(struct api_end *end)
{
	end->recv = recv_evd;
	end->request = api_evd(64, DAT_EVD_DTO_FLAG);
	end->connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end->recv, end->request, end->connect, NULL,
				  &end->ep),
		    DAT_SUCCESS);
}

static void open_for(int receives)
{
	api_open();
	from = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	/* The EVD may be short, because the provider sizes the CQ by the endpoints and not by the EVD. */
	recv_evd = api_evd(receives, DAT_EVD_DTO_FLAG);
}

static void post_receives_of(int ends, int each, DAT_VLEN bytes)
{
	for (int i = 0; i < ends; i++)
		for (int k = 0; k < each; k++)
			REQUIRE_DAT(api_recv(pair[i].b.ep, &to, 0, bytes, (uint64_t)i), DAT_SUCCESS);
}

static void post_receives(int ends, int each)
{
	post_receives_of(ends, each, BYTES);
}

/* Sends a message over pair i and waits until it has arrived: the RDMA Read behind it completes only after that. */
static void send_of(int i, DAT_VLEN bytes)
{
	const struct api_end *end = &pair[i].a;

	REQUIRE_DAT(api_send(end->ep, &from, 0, bytes, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_read(end->ep, api_seg(&from, 1024, 8), api_target(&to, 1024, 8), 2, 0),
		    DAT_SUCCESS);
	API_DTO(end->request, end->ep, 1, DAT_DTO_SUCCESS, bytes);
	API_DTO(end->request, end->ep, 2, DAT_DTO_SUCCESS, 8);
}

static void send_one(int i)
{
	send_of(i, BYTES);
}

/* Makes a pair whose end b has queues of this depth, with requests and receives on recv_evd. End a has EVDs of its own. */
static void pair_make_of(struct api_pair *one, DAT_COUNT depth)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = depth, .max_request_dtos = depth };

	one->b.recv = one->b.request = recv_evd;
	one->b.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, recv_evd, recv_evd, one->b.connect, &attr, &one->b.ep),
		    DAT_SUCCESS);
	api_end_make(&one->a, NULL);
}

static void deep_pair_make(struct api_pair *one)
{
	pair_make_of(one, DEEP);
}

/* Returns the cookie of the next completion, or -1 if there is none. */
static int take_one(void)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(recv_evd, &event) != DAT_SUCCESS)
		return -1;
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	return (int)event.event_data.dto_completion_event_data.user_cookie.as_64;
}

/* In each round every endpoint gets one message, in another order each time, before the EVD is polled. */
static void all_come_in_order(int ends)
{
	post_receives(ends, ROUNDS);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < ends; i++)
			send_one((ends - 1 - i + round) % ends);
		for (int i = 0; i < ends; i++)
			CHECK_EQ_INT(take_one(), (ends - 1 - i + round) % ends);
	}
	CHECK_EQ_INT(take_one(), -1);
}

/* Many programs connect an endpoint before they create the next one. */
static void messages_of_endpoints_made_one_after_the_other_come_in_order(void)
{
	enum { FEW = 4 };

	open_for(8);
	for (int i = 0; i < FEW; i++) {
		end_make(&pair[i].b);
		api_end_make(&pair[i].a, NULL);
		api_pair_meet(&pair[i]);
	}
	all_come_in_order(FEW);
}

/* The first CQ has no room for this many endpoints, all of which are created before any is connected. */
static void messages_of_many_endpoints_made_ahead_come_in_order(void)
{
	open_for(8);
	for (int i = 0; i < ENDS; i++) {
		end_make(&pair[i].b);
		api_end_make(&pair[i].a, NULL);
	}
	for (int i = 0; i < ENDS; i++)
		api_pair_meet(&pair[i]);
	all_come_in_order(ENDS);
}

static void deep_pairs_meet(int ends)
{
	open_for(8);
	for (int i = 0; i < ends; i++) {
		deep_pair_make(&pair[i]);
		api_pair_meet(&pair[i]);
	}
}

/* One EVD serves receives and requests, as in programs that have one EVD for each thread. */
static void messages_of_a_few_deep_endpoints_come_in_order(void)
{
	deep_pairs_meet(DEEP_FEW);
	all_come_in_order(DEEP_FEW);
}

/*
 * The queues of the first endpoint are short, as for control messages, and those of the others are deep, as for data. The provider
 * must not size the CQ by the first endpoint alone.
 */
static void messages_of_deep_endpoints_behind_a_small_one_come_in_order(void)
{
	open_for(8);
	for (int i = 0; i <= DEEP_FEW; i++) {
		pair_make_of(&pair[i], i ? DEEP : ROUNDS);
		api_pair_meet(&pair[i]);
	}
	all_come_in_order(DEEP_FEW + 1);
}

/* Each endpoint gets a short message, and then each gets a long one, before the EVD is polled. */
static void short_and_long_messages_come_in_order(void)
{
	open_for(8);
	for (int i = 0; i < MIXED; i++) {
		deep_pair_make(&pair[i]);
		api_pair_meet(&pair[i]);
	}
	post_receives_of(MIXED, 2 * ROUNDS, LONG);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2 * MIXED; i++)
			send_of((i + round) % MIXED, i < MIXED ? BYTES : LONG);
		for (int i = 0; i < 2 * MIXED; i++)
			CHECK_EQ_INT(take_one(), (i + round) % MIXED);
	}
	CHECK_EQ_INT(take_one(), -1);
}

/* The endpoints can have more completions than the first CQ has room for. */
static void messages_of_many_deep_endpoints_come_in_order(void)
{
	deep_pairs_meet(DEEP_MANY);
	all_come_in_order(DEEP_MANY);
}

static void messages_of_deep_endpoints_made_ahead_come_in_order(void)
{
	open_for(8);
	for (int i = 0; i < DEEP_MANY; i++)
		deep_pair_make(&pair[i]);
	for (int i = 0; i < DEEP_MANY; i++)
		api_pair_meet(&pair[i]);
	all_come_in_order(DEEP_MANY);
}

/*
 * Over iWARP a request completes before the peer's answer to it arrives, so the event of the request comes first, whichever CQs the
 * two completions are in.
 */
static void request_of_a_deep_endpoint_is_told_before_the_answer_to_it(void)
{
	deep_pairs_meet(DEEP_MANY);
	if (!api_declares("transport", "iWARP"))
		check_skip("the acknowledgement and the answer may pass each other in a device of InfiniBand");
	post_receives(DEEP_MANY, ROUNDS);
	for (int i = 0; i < DEEP_MANY * ROUNDS; i++) {
		struct api_pair *one = &pair[i % DEEP_MANY];

		REQUIRE_DAT(api_recv(one->a.ep, &to, 0, BYTES, 3), DAT_SUCCESS);
		REQUIRE_DAT(api_send(one->b.ep, &from, 0, BYTES, ENDS, 0), DAT_SUCCESS);
		API_DTO(one->a.recv, one->a.ep, 3, DAT_DTO_SUCCESS, BYTES);
		send_one(i % DEEP_MANY);
		CHECK_EQ_INT(take_one(), ENDS);
		CHECK_EQ_INT(take_one(), i % DEEP_MANY);
	}
	CHECK_EQ_INT(take_one(), -1);
}

/*
 * On a device without large CQs the endpoints may be on different CQs. Completions that are there when the program polls are
 * delivered before those that arrive later, whichever CQ they are in.
 */
static void what_comes_after_a_look_is_told_after_what_it_has_found(void)
{
	open_for(8);
	atomic_store(&twist.entries, 7000);
	for (int i = 0; i < 2; i++) {
		end_make(&pair[i].b);
		api_end_make(&pair[i].a, NULL);
		api_pair_meet(&pair[i]);
	}
	atomic_store(&twist.entries, 0);
	post_receives(2, 4 * ROUNDS);
	for (int round = 0; round < ROUNDS; round++) {
		int seen;

		send_one(1);
		send_one(0);
		seen = take_one();
		CHECK(seen == 0 || seen == 1);
		send_one(seen);
		send_one(1 - seen);
		CHECK_EQ_INT(take_one(), 1 - seen);
		CHECK(take_one() >= 0);
		CHECK(take_one() >= 0);
		CHECK_EQ_INT(take_one(), -1);
	}
}

static void forget(void)
{
	atomic_store(&twist.entries, 0);
	api_close();
}

static const struct check_test tests[] = {
	CHECK_TEST(messages_of_endpoints_made_one_after_the_other_come_in_order),
	CHECK_TEST(messages_of_many_endpoints_made_ahead_come_in_order),
	CHECK_TEST(messages_of_a_few_deep_endpoints_come_in_order),
	CHECK_TEST(messages_of_deep_endpoints_behind_a_small_one_come_in_order),
	CHECK_TEST(short_and_long_messages_come_in_order),
	CHECK_TEST(messages_of_many_deep_endpoints_come_in_order),
	CHECK_TEST(messages_of_deep_endpoints_made_ahead_come_in_order),
	CHECK_TEST(request_of_a_deep_endpoint_is_told_before_the_answer_to_it),
	CHECK_TEST(what_comes_after_a_look_is_told_after_what_it_has_found),
	CHECK_END
};

static const struct check_suite order = { .name = "order", .teardown = forget, .tests = tests };

CHECK_SUITES(&order);
