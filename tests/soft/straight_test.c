/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of middling length, for which there are two ways: one copy, straight to a receive that is there, and a slot,
 * where they do not wait for one.
 */
#include "api.h"

#define SIZE	  ((size_t)32 << 10) /* between SOFT_EAGER_SURE and SOFT_EAGER_DEFAULT */
#define PLACES	  4
#define PLACE(n)  ((size_t)(n)*SIZE)
#define SOURCE(n) ((size_t)(PLACES + (n)) * SIZE)

static struct api_pair pair;
static struct api_buf buf;

static void setup_as(char *name)
{
	api_open_as(name);
	buf = api_buf(2 * PLACES * SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static void setup(void)
{
	setup_as(api_ia_name());
}

static void setup_with_limit(void)
{
	setup_as("soft-eager");
}

static void receive_at(uint64_t n)
{
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, PLACE(n), SIZE, n), DAT_SUCCESS);
}

static void send_from(uint64_t n)
{
	api_fill(buf.mem + SOURCE(n), SIZE, n + 1);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, SOURCE(n), SIZE, n, 0), DAT_SUCCESS);
}

static bool is_there(uint64_t n)
{
	return api_mismatch(buf.mem + PLACE(n), SIZE, n + 1) < 0;
}

static void sent(uint64_t n)
{
	API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, SIZE);
}

static void received(uint64_t n)
{
	API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, SIZE);
	CHECK(is_there(n));
}

/* Nobody has looked at the receiver's events yet. */
static void message_whose_receive_is_there_is_copied_once(void)
{
	api_pair_make(&pair, NULL);
	receive_at(0);
	receive_at(1);
	send_from(0);
	CHECK(is_there(0));
	send_from(1);
	CHECK(is_there(1));
	for (uint64_t n = 0; n < 2; n++) {
		sent(n);
		received(n);
	}
}

static void message_without_a_receive_does_not_wait(void)
{
	api_pair_make(&pair, NULL);
	send_from(0);
	sent(0);
	memset(buf.mem + SOURCE(0), 0, SIZE);
	receive_at(0);
	received(0);
}

/* The second one is in its place before the first one has left its slot. */
static void messages_of_both_ways_complete_in_order(void)
{
	api_pair_make(&pair, NULL);
	send_from(0);
	for (uint64_t n = 0; n < 3; n++)
		receive_at(n);
	CHECK(!is_there(0));
	send_from(1);
	CHECK(is_there(1));
	for (uint64_t n = 0; n < 2; n++) {
		sent(n);
		received(n);
	}
	send_from(2);
	send_from(3);
	sent(2);
	sent(3);
	receive_at(3);
	received(2);
	received(3);
}

/* Only who owns it can take a buffer from a shared queue. */
static void message_for_a_shared_queue_does_not_wait(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR few = { .max_recv_dtos = 8, .max_request_dtos = 8 };
	DAT_LMR_TRIPLET seg = api_seg(&buf, PLACE(0), SIZE);
	DAT_SRQ_HANDLE srq;

	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	api_end_make(&pair.a, NULL);
	pair.b.recv = api_evd(8, DAT_EVD_DTO_FLAG);
	pair.b.request = api_evd(8, DAT_EVD_DTO_FLAG);
	pair.b.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, pair.b.recv, pair.b.request,
					   pair.b.connect, srq, &few, &pair.b.ep),
		    DAT_SUCCESS);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair.psp = api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	api_pair_connect(&pair);
	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(0)), DAT_SUCCESS);
	send_from(0);
	sent(0);
	received(0);
}

/* Where dat.conf says what is to go through slots, it does. */
static void limit_in_dat_conf_is_kept_to(void)
{
	api_pair_make(&pair, NULL);
	receive_at(0);
	send_from(0);
	sent(0);
	CHECK(!is_there(0));
	received(0);
}

static const struct check_test tests[] = {
	CHECK_TEST(message_whose_receive_is_there_is_copied_once),
	CHECK_TEST(message_without_a_receive_does_not_wait),
	CHECK_TEST(messages_of_both_ways_complete_in_order),
	CHECK_TEST(message_for_a_shared_queue_does_not_wait), CHECK_END
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
