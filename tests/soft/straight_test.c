/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the middle size, for which there are two ways: one copy straight to a posted receive, or a slot, where they need
 * not wait for a receive.
 */
#include "api.h"

#define MIDDLE	  ((size_t)32 << 10) /* between SOFT_EAGER_SURE and SOFT_EAGER_DEFAULT */
#define LONG	  ((size_t)64 << 10) /* SOFT_COOP_MIN, and SOFT_EAGER_DEFAULT */
#define PLACES	  4
#define PLACE(n)  ((size_t)(n)*LONG)
#define SOURCE(n) ((size_t)(PLACES + (n)) * LONG)

static struct api_pair pair;
static struct api_buf buf;

static void setup_as(char *name)
{
	api_open_as(name);
	buf = api_buf(2 * PLACES * LONG, DAT_MEM_PRIV_ALL_FLAG);
}

static void setup(void)
{
	setup_as(api_ia_name());
}

static void setup_with_limit(void)
{
	setup_as("soft-eager");
}

static void receive_at(uint64_t n, size_t size)
{
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, PLACE(n), size, n), DAT_SUCCESS);
}

static void send_from(uint64_t n, size_t size)
{
	api_fill(buf.mem + SOURCE(n), size, n + 1);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, SOURCE(n), size, n, 0), DAT_SUCCESS);
}

static bool is_there(uint64_t n, size_t size)
{
	return api_mismatch(buf.mem + PLACE(n), size, n + 1) < 0;
}

static void sent(uint64_t n, size_t size)
{
	API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, size);
}

static void received(uint64_t n, size_t size)
{
	API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, size);
	CHECK(is_there(n, size));
}

/* The receiver has not polled yet when the message is copied. */
static void message_whose_receive_is_there_is_copied_once(void)
{
	api_pair_make(&pair, NULL);
	for (uint64_t n = 0; n < PLACES; n++) {
		receive_at(n, MIDDLE);
		send_from(n, MIDDLE);
		CHECK(is_there(n, MIDDLE));
		sent(n, MIDDLE);
		received(n, MIDDLE);
	}
}

/* If a message goes through a slot, the receiver does a part of the copying. Of a message of 64 KiB it copies a part either way. */
static void receiver_that_has_not_come_by_is_sent_on_ahead(void)
{
	api_pair_make(&pair, NULL);
	for (uint64_t n = 0; n < PLACES; n++)
		receive_at(n, LONG);
	send_from(0, MIDDLE);
	send_from(1, MIDDLE);
	send_from(2, MIDDLE);
	send_from(3, LONG);
	CHECK(is_there(0, MIDDLE));
	CHECK(!is_there(1, MIDDLE));
	CHECK(!is_there(2, MIDDLE));
	CHECK(is_there(3, LONG));
	for (uint64_t n = 0; n < PLACES; n++) {
		sent(n, n == 3 ? LONG : MIDDLE);
		received(n, n == 3 ? LONG : MIDDLE);
	}
}

static void message_without_a_receive_does_not_wait(void)
{
	api_pair_make(&pair, NULL);
	send_from(0, LONG);
	sent(0, LONG);
	memset(buf.mem + SOURCE(0), 0, LONG);
	receive_at(0, LONG);
	received(0, LONG);
}

/* The second message is copied straight before the first one is copied out of its slot. */
static void messages_of_both_ways_complete_in_order(void)
{
	api_pair_make(&pair, NULL);
	send_from(0, MIDDLE);
	for (uint64_t n = 0; n < 3; n++)
		receive_at(n, LONG);
	CHECK(!is_there(0, MIDDLE));
	send_from(1, LONG);
	CHECK(is_there(1, LONG));
	sent(0, MIDDLE);
	received(0, MIDDLE);
	sent(1, LONG);
	received(1, LONG);
	send_from(2, MIDDLE);
	send_from(3, MIDDLE);
	sent(2, MIDDLE);
	sent(3, MIDDLE);
	receive_at(3, LONG);
	received(2, MIDDLE);
	received(3, MIDDLE);
}

/* Only the owner of an SRQ can take a receive from it. */
static void message_for_a_shared_queue_does_not_wait(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR few = { .max_recv_dtos = 8, .max_request_dtos = 8 };
	DAT_LMR_TRIPLET seg = api_seg(&buf, PLACE(0), MIDDLE);
	DAT_SRQ_HANDLE srq;

	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	api_end_make(&pair.a, NULL);
	api_end_make_shared(&pair.b, srq, &few);
	api_pair_meet(&pair);
	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(0)), DAT_SUCCESS);
	send_from(0, MIDDLE);
	sent(0, MIDDLE);
	received(0, MIDDLE);
}

/* If dat.conf says up to which length messages go through slots, they do. */
static void limit_in_dat_conf_is_kept_to(void)
{
	api_pair_make(&pair, NULL);
	receive_at(0, MIDDLE);
	send_from(0, MIDDLE);
	sent(0, MIDDLE);
	CHECK(!is_there(0, MIDDLE));
	received(0, MIDDLE);
}

/* A new endpoint may have the memory of one that has been freed, with its receives in it. */
static void receive_of_a_freed_endpoint_gets_no_message(void)
{
	enum { NEVER_EAGER = 2 * LONG };

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, NEVER_EAGER, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, NEVER_EAGER, 1), DAT_SUCCESS);
	api_disconnect(&pair);
	api_end_free(&pair.a);
	api_end_free(&pair.b);
	api_pair_make(&pair, NULL);
	send_from(0, NEVER_EAGER);
	API_EMPTY(pair.b.recv);
	API_EMPTY(pair.a.request);
	CHECK(!is_there(0, NEVER_EAGER));
}

static const struct check_test tests[] = {
	CHECK_TEST(message_whose_receive_is_there_is_copied_once),
	CHECK_TEST(receiver_that_has_not_come_by_is_sent_on_ahead),
	CHECK_TEST(message_without_a_receive_does_not_wait),
	CHECK_TEST(messages_of_both_ways_complete_in_order),
	CHECK_TEST(message_for_a_shared_queue_does_not_wait),
	CHECK_TEST(receive_of_a_freed_endpoint_gets_no_message),
	CHECK_END
};

static const struct check_suite straight = {
	.name = "soft straight", .setup = setup, .teardown = api_close, .tests = tests
};

static const struct check_test limit_tests[] = { CHECK_TEST(limit_in_dat_conf_is_kept_to),
						 CHECK_END };

static const struct check_suite limit = {
	.name = "soft limit", .setup = setup_with_limit, .teardown = api_close, .tests = limit_tests
};

CHECK_SUITES(&straight, &limit);
