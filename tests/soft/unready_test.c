/* SPDX-License-Identifier: BSD-2-Clause */
/* A message for which no receive is posted waits, and the log of the receiving side says so; see providers/soft/unready.c. */
#include <stdio.h>
#include <string.h>

#include "api.h"

enum { SIZE = 1 << 20, HALF = SIZE / 2, MOMENT_US = 20000 };

static struct api_buf buf;
static struct api_pair pair;

static void setup(void)
{
	api_open();
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

/* Waits for a completion for a moment, as a receiver does that has forgotten to post a receive. */
static void wait_for_nothing(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK_DAT(dat_evd_wait(evd, MOMENT_US, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}

/* Waits until the text has been printed, or patience ends. */
static void await(DAT_EVD_HANDLE evd, const char *text)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while (!check_stderr_holds(text) && check_now_ms() < until)
		wait_for_nothing(evd);
}

static const char *told(DAT_EVD_HANDLE evd, const char *text)
{
	await(evd, text);
	return check_stderr_end();
}

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* The user is told, at the default level, whether the message is in a cell or a slot, or waits at its sender. */
static void tell_program(void)
{
	static const size_t sizes[] = { 8, 5000, HALF };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char endpoint[64];
		const char *text;

		api_pair_make(&pair, NULL);
		snprintf(endpoint, sizeof(endpoint), "ms for a receive on the endpoint %p, ", (void *)pair.b.ep);
		check_stderr_begin();
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, sizes[i], 1, 0), DAT_SUCCESS);
		text = told(pair.b.recv, endpoint);
		CHECK(strstr(text, endpoint) && strstr(text, "post one there before the messages come"));
		/* the message waits on, and is received when there is a receive */
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, sizes[i], 2), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, sizes[i]);
		api_disconnect(&pair);
		api_end_free(&pair.a);
		api_end_free(&pair.b);
	}
}

static void tell_of_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EP_ATTR mine = { .max_message_size = 64 };
	DAT_SRQ_HANDLE srq;

	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	api_end_make(&pair.a, NULL);
	api_end_make_shared(&pair.b, srq, &mine);
	api_pair_meet(&pair);
	check_stderr_begin();
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
	CHECK(strstr(told(pair.b.recv, "; post one to its SRQ before"), "; post one to its SRQ before") != NULL);
}

static void report_twice(void)
{
	struct api_pair other;
	char one[64], two[64];
	const char *text;

	api_pair_make(&pair, NULL);
	api_pair_make(&other, NULL);
	snprintf(one, sizeof(one), "on the endpoint %p, ", (void *)pair.b.ep);
	snprintf(two, sizeof(two), "on the endpoint %p, ", (void *)other.b.ep);
	check_stderr_begin();
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
	await(pair.b.recv, one);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 8, 2), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 8);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
	wait_for_nothing(pair.b.recv);
	/* the first message has waited for longer when this one is reported to the user */
	REQUIRE_DAT(api_send(other.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
	await(other.b.recv, two);
	text = check_stderr_end();
	CHECK_EQ_INT(count(text, one), 1);
	CHECK_EQ_INT(count(text, two), 1);
}

/* Each message waits for its receive for a moment. Together they wait for longer than a second. */
static void receive_late(void)
{
	uint64_t until = check_now_ms() + 2000;
	bool kept = true;

	api_pair_make(&pair, NULL);
	check_stderr_begin();
	while (check_now_ms() < until) {
		uint64_t begun = check_now_ms();

		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 8, 1, 0), DAT_SUCCESS);
		wait_for_nothing(pair.b.recv);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 8, 2), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 8);
		API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 8);
		kept = kept && check_now_ms() - begun < 1000;
	}
	/* if the machine is so busy that a receive was late by a second, this shows nothing */
	CHECK(!strstr(check_stderr_end(), "ms for a receive") || !kept);
}

/* In a process of its own, because only a few messages about one cause are printed in ten seconds. */
static void run_apart(void *arg)
{
	void (*const *body)(void) = arg;

	setup();
	(*body)();
	api_close();
}

static void apart(void (*body)(void))
{
	check_join(check_fork(run_apart, &body));
}

static void program_without_a_receive_is_told(void)
{
	apart(tell_program);
}

static void endpoint_with_an_srq_is_told_too(void)
{
	apart(tell_of_srq);
}

static void connection_is_reported_once(void)
{
	apart(report_twice);
}

static void receive_that_is_late_by_less_than_a_second_is_not_told_of(void)
{
	apart(receive_late);
}

static const struct check_test tests[] = {
	CHECK_TEST(program_without_a_receive_is_told),
	CHECK_TEST(endpoint_with_an_srq_is_told_too),
	CHECK_TEST(connection_is_reported_once),
	CHECK_TEST(receive_that_is_late_by_less_than_a_second_is_not_told_of),
	CHECK_END
};

static const struct check_suite unready = { .name = "unready", .tests = tests };

CHECK_SUITES(&unready);
