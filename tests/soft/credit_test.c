/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More short messages than a connection may have sent without a receive: the others wait at the
 * sender, keep their flags, and arrive in the end.
 */
#include "api.h"

#define CREDITS	 128 /* as SOFT_CREDITS */
#define MESSAGES 300
#define SIZE	 64

static struct api_pair pair;
static struct api_buf buf;

static void setup(void)
{
	api_open();
	buf = api_buf(MESSAGES * SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

/* Makes an end whose EVDs have room for all its events. */
static void end_make(struct api_end *end, DAT_SRQ_HANDLE srq, DAT_COMPLETION_FLAGS recv_flags)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = MESSAGES,
			     .max_request_dtos = MESSAGES,
			     .recv_completion_flags = recv_flags };

	end->recv = api_evd(MESSAGES, DAT_EVD_DTO_FLAG);
	end->request = api_evd(MESSAGES, DAT_EVD_DTO_FLAG);
	end->connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	if (srq)
		REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, end->recv, end->request,
						   end->connect, srq, &attr, &end->ep),
			    DAT_SUCCESS);
	else
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end->recv, end->request, end->connect,
					  &attr, &end->ep),
			    DAT_SUCCESS);
}

static void make(DAT_SRQ_HANDLE srq, DAT_COMPLETION_FLAGS recv_flags)
{
	end_make(&pair.a, DAT_HANDLE_NULL, DAT_COMPLETION_DEFAULT_FLAG);
	end_make(&pair.b, srq, recv_flags);
	api_pair_meet(&pair);
}

static void send_some(uint64_t first, uint64_t last, DAT_COMPLETION_FLAGS flags)
{
	for (uint64_t n = first; n <= last; n++)
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, SIZE, n, flags), DAT_SUCCESS);
}

static void receive_some(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, SIZE);
}

/*
 * The solicited one waits at its sender until the receiver has taken those before it; then the
 * sender's next post sends it, and it wakes the waiter when a receive is posted for it.
 */
static void solicited_message_beyond_the_credits_wakes_as_well(void)
{
	const DAT_COMPLETION_FLAGS solicited = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	struct api_waiter waiter;

	make(DAT_HANDLE_NULL, solicited);
	send_some(1, CREDITS, 0);
	send_some(CREDITS + 1, CREDITS + 1, solicited);
	for (uint64_t n = 1; n <= CREDITS; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, SIZE, SIZE, n), DAT_SUCCESS);
	receive_some(1, CREDITS);
	api_wait_start(&waiter, pair.b.recv, 1);
	send_some(CREDITS + 2, CREDITS + 2, 0);
	for (uint64_t n = 1; n <= CREDITS + 2; n++)
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, SIZE);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, SIZE, SIZE, CREDITS + 1), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64,
		     CREDITS + 1);
}

static void messages_wait_for_no_look_at_the_events_of_a_shared_queue(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = MESSAGES,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET seg = api_seg(&buf, SIZE, SIZE);
	DAT_SRQ_HANDLE srq;

	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	make(srq, DAT_COMPLETION_DEFAULT_FLAG);
	for (uint64_t n = 1; n <= MESSAGES; n++)
		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(n)), DAT_SUCCESS);
	send_some(1, MESSAGES, 0);
	for (uint64_t n = 1; n <= MESSAGES; n++)
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, SIZE);
	receive_some(1, MESSAGES);
}

static const struct check_test tests[] = {
	CHECK_TEST(solicited_message_beyond_the_credits_wakes_as_well),
	CHECK_TEST(messages_wait_for_no_look_at_the_events_of_a_shared_queue), CHECK_END
};

static const struct check_suite credit = {
	.name = "soft credits", .setup = setup, .teardown = api_close, .tests = tests
};

CHECK_SUITES(&credit);
