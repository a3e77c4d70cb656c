/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion flags and flushes: which completions are reported, when they wake a waiter, and what the
 * end of a connection flushes.
 */
#include <string.h>
#include <unistd.h>

#include "api.h"

#define MB	  ((size_t)1 << 20)
#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define UNSIG	  DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define FENCE	  DAT_COMPLETION_BARRIER_FENCE_FLAG

static struct api_pair pair;
static struct api_buf buf;

static void setup(void)
{
	api_open();
	buf = api_buf(8 * MB, DAT_MEM_PRIV_ALL_FLAG);
}

static void make(const DAT_EP_ATTR *attr)
{
	api_pair_make(&pair, attr);
}

static DAT_RETURN recv_with(struct api_end *end, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = api_seg(&buf, 4 * MB, 4096);

	return dat_ep_post_recv(end->ep, 1, &seg, api_cookie(cookie), flags);
}

static DAT_RETURN write_with(uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&buf, MB, 64), cookie, flags);
}

static DAT_RETURN read_with(uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return api_read(pair.a.ep, api_seg(&buf, 2 * MB, 64), api_target(&buf, MB, 64), cookie,
			flags);
}

static void suppressed_success_is_not_told(void)
{
	make(NULL);
	for (uint64_t n = 0; n < 3; n++)
		REQUIRE_DAT(recv_with(&pair.b, n, 0), DAT_SUCCESS);
	api_fill(buf.mem, 64, 3);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, SUPPRESS), DAT_SUCCESS);
	REQUIRE_DAT(write_with(2, SUPPRESS), DAT_SUCCESS);
	REQUIRE_DAT(read_with(3, SUPPRESS), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 4, 0), DAT_SUCCESS);
	/* This completion shows that all requests before it are complete. */
	API_DTO(pair.a.request, pair.a.ep, 4, DAT_DTO_SUCCESS, 64);
	CHECK_EQ_INT(api_mismatch(buf.mem + MB, 64, 3), -1);
	CHECK_EQ_INT(api_mismatch(buf.mem + 2 * MB, 64, 3), -1);
	API_QUIET(pair.a.request);
	API_DTO(pair.b.recv, pair.b.ep, 0, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 64);
}

/* Requests behind a completion that has not been taken keep their places: the queue gets full, and the completion stays. */
static void suppressed_requests_do_not_overtake_a_completion(void)
{
	enum { DEEP = 4, MANY = 4 * DEEP };
	DAT_EP_ATTR attr = { .max_request_dtos = DEEP, .max_recv_dtos = MANY };
	int posted = 0;

	make(&attr);
	for (uint64_t n = 0; n < MANY; n++)
		REQUIRE_DAT(recv_with(&pair.b, n, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	while (posted < MANY - 1 && api_send(pair.a.ep, &buf, 0, 64, 100, SUPPRESS) == DAT_SUCCESS)
		posted++;
	CHECK(posted < MANY - 1);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	API_QUIET(pair.a.request);
}

static void suppressed_failure_is_told(void)
{
	DAT_RMR_TRIPLET bad = api_target(&buf, MB, 64);

	if (api_declares("refused_access", "ends"))
		check_skip("that the other side refuses shows in the end of the connection only");
	make(NULL);
	bad.rmr_context = 0x7ffffff0;
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 64), bad, 1, SUPPRESS), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	REQUIRE_DAT(write_with(2, SUPPRESS), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
}

/*
 * No request after a failed one succeeds, even if it was executed: over iWARP, writes overtake a
 * read.
 */
static void nothing_behind_a_request_that_fails_succeeds(void)
{
	enum { N = 8 };
	DAT_RMR_TRIPLET bad = api_target(&buf, MB, 64);

	make(NULL);
	bad.rmr_context = 0x7ffffff0;
	REQUIRE_DAT(write_with(0, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, 64), bad, 1, 0), DAT_SUCCESS);
	for (uint64_t n = 2; n < N; n++)
		REQUIRE_DAT(write_with(n, n % 3 ? SUPPRESS : 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 0, DAT_DTO_SUCCESS, 64);
	for (uint64_t n = 1; n < N; n++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto;
		DAT_EVENT event;

		API_EVENT(pair.a.request, &event);
		dto = &event.event_data.dto_completion_event_data;
		REQUIRE_EQ_INT(dto->user_cookie.as_64, n);
		CHECK(dto->status != DAT_DTO_SUCCESS);
	}
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_QUIET(pair.a.request);
}

static void suppressed_posts_are_flushed_aloud(void)
{
	api_skip_where_nothing_waits();
	make(NULL);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, MB, 1, SUPPRESS),
		    DAT_SUCCESS); /* the peer has no receive */
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, MB, 2, SUPPRESS), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
}

static void unsignalled_needs_an_endpoint_that_is_so(void)
{
	make(NULL);
	CHECK_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, UNSIG), DAT_INVALID_PARAMETER);
	CHECK_DAT(write_with(1, UNSIG), DAT_INVALID_PARAMETER);
	CHECK_DAT(read_with(1, UNSIG), DAT_INVALID_PARAMETER);
	CHECK_DAT(recv_with(&pair.a, 1, UNSIG), DAT_INVALID_PARAMETER);
	API_EMPTY(pair.a.request);
}

static void flags_that_do_not_fit_the_operation_are_refused(void)
{
	make(NULL);
	CHECK_DAT(recv_with(&pair.a, 1, SUPPRESS), DAT_INVALID_PARAMETER);
	CHECK_DAT(recv_with(&pair.a, 1, FENCE), DAT_INVALID_PARAMETER);
	CHECK_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, (DAT_COMPLETION_FLAGS)0x40),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(write_with(1, (DAT_COMPLETION_FLAGS)0x80), DAT_INVALID_PARAMETER);
	API_EMPTY(pair.a.request);
}

static DAT_COUNT queued(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore = 0;
	DAT_EVD_PARAM param;

	if (dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param) != DAT_SUCCESS)
		return 0;
	/*
	 * A wait whose threshold is not reached takes no event, and returns the number of events.
	 */
	dat_evd_wait(evd, 0, param.evd_qlen, &event, &nmore);
	return nmore;
}

static void unsignalled_requests_queue_silently(void)
{
	DAT_EP_ATTR attr = { .request_completion_flags = UNSIG };
	struct api_waiter waiter;

	make(&attr);
	api_wait_start(&waiter, pair.a.request, 1);
	REQUIRE_DAT(write_with(1, UNSIG), DAT_SUCCESS);
	REQUIRE_DAT(write_with(2, UNSIG), DAT_SUCCESS);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(write_with(3, 0), DAT_SUCCESS); /* the default still completes and wakes */
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	CHECK_EQ_INT(waiter.nmore, 2);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, 64);
}

static void unsignalled_event_can_be_dequeued(void)
{
	DAT_EP_ATTR attr = { .request_completion_flags = UNSIG };
	DAT_EVENT event;

	make(&attr);
	REQUIRE_DAT(write_with(1, UNSIG), DAT_SUCCESS);
	REQUIRE_SOON(dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
}

static void unsignalled_receive_queues_silently(void)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = UNSIG };
	struct api_waiter waiter;

	make(&attr);
	REQUIRE_DAT(recv_with(&pair.b, 1, UNSIG), DAT_SUCCESS);
	REQUIRE_DAT(recv_with(&pair.b, 2, 0), DAT_SUCCESS);
	api_wait_start(&waiter, pair.b.recv, 1);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	CHECK_EQ_INT(waiter.nmore, 1);
}

static void only_a_solicited_message_wakes_a_solicited_receiver(void)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = SOLICITED };
	struct api_waiter waiter;

	api_skip_where_any_message_wakes();
	make(&attr);
	for (uint64_t n = 1; n <= 3; n++)
		REQUIRE_DAT(recv_with(&pair.b, n, 0), DAT_SUCCESS);
	api_wait_start(&waiter, pair.b.recv, 1);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 3, SOLICITED), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	CHECK_EQ_INT(waiter.nmore, 2);
}

/*
 * The message has to wait behind one that the peer has no receive for, and keeps its flag
 * meanwhile.
 */
static void solicited_message_that_was_held_up_wakes_as_well(void)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = SOLICITED };
	struct api_waiter waiter;

	api_skip_where_nothing_waits();
	make(&attr);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, MB, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, SOLICITED), DAT_SUCCESS);
	api_wait_start(&waiter, pair.b.recv, 1);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4 * MB, MB, 3), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 6 * MB, 64, 4), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	API_DTO(pair.b.recv, pair.b.ep, 4, DAT_DTO_SUCCESS, 64);
}

static void solicited_message_is_harmless_elsewhere(void)
{
	make(NULL);
	REQUIRE_DAT(recv_with(&pair.b, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 2, SOLICITED), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
}

/* A send with a fence sends the data that the read before it has brought. */
static void fence_waits_for_the_reads_before_it(void)
{
	make(NULL);
	for (uint64_t n = 0; n < 50; n++) {
		size_t size = n % 2 ? 4096 : MB;

		api_fill(buf.mem + MB, size, n);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4 * MB, size, n), DAT_SUCCESS);
		REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 2 * MB, size),
				     api_target(&buf, MB, size), n, SUPPRESS),
			    DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 2 * MB, size, n, FENCE), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, size);
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, size);
		REQUIRE_EQ_INT(api_mismatch(buf.mem + 4 * MB, size, n), -1);
	}
	REQUIRE_DAT(write_with(1, FENCE), DAT_SUCCESS);
	REQUIRE_DAT(read_with(2, FENCE), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
}

/*
 * The same for a short send, whose data could be copied when it is posted: it sends the end of what a
 * long read brings.
 */
static void short_send_behind_a_fence_waits_as_well(void)
{
	make(NULL);
	for (uint64_t n = 0; n < 20; n++) {
		api_fill(buf.mem + 2 * MB - 64, 64, n);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4 * MB, 64, n), DAT_SUCCESS);
		REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 2 * MB, MB), api_target(&buf, MB, MB), n,
				     SUPPRESS),
			    DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 3 * MB - 64, 64, n, FENCE), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, 64);
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, 64);
		REQUIRE_EQ_INT(api_mismatch(buf.mem + 4 * MB, 64, n), -1);
	}
}

static void threshold_counts_completions(void)
{
	struct api_waiter waiter;

	make(NULL);
	for (uint64_t n = 1; n <= 3; n++)
		REQUIRE_DAT(recv_with(&pair.b, n, 0), DAT_SUCCESS);
	api_wait_start(&waiter, pair.b.recv, 3);
	for (uint64_t n = 1; n <= 2; n++)
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, n, 0), DAT_SUCCESS);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 3, 0), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.nmore, 2);
	CHECK_EQ_INT(queued(pair.b.recv), 2);
}

static void disconnect_flushes_both_queues_in_order(void)
{
	make(NULL);
	for (uint64_t n = 0; n < 5; n++) {
		REQUIRE_DAT(recv_with(&pair.a, n, 0), DAT_SUCCESS);
		REQUIRE_DAT(recv_with(&pair.b, 10 + n, 0), DAT_SUCCESS);
	}
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 10, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
	api_disconnect(&pair);
	for (uint64_t n = 0; n < 5; n++)
		API_DTO(pair.a.recv, pair.a.ep, n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	for (uint64_t n = 1; n < 5; n++)
		API_DTO(pair.b.recv, pair.b.ep, 10 + n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(pair.a.recv);
	API_EMPTY(pair.b.recv);
}

/*
 * The successful completions come first; after the first failure no request of that direction
 * succeeds.
 */
static void abrupt_disconnect_completes_every_request_once(void)
{
	enum { N = 12 };
	bool failed = false;
	int seen = 0;

	make(NULL);
	for (uint64_t n = 0; n < 4; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4 * MB, MB, n), DAT_SUCCESS);
	for (uint64_t n = 0; n < N; n++)
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, n % 2 ? 64 : MB, n, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (uint64_t n = 0; n < N; n++, seen++) {
		DAT_EVENT event;

		API_EVENT(pair.a.request, &event);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			failed = true;
		else
			CHECK(!failed);
	}
	CHECK(failed);
	CHECK_EQ_INT(seen, N);
	API_QUIET(pair.a.request);
}

static void posts_after_the_end_are_flushed_at_once(void)
{
	make(NULL);
	api_disconnect(&pair);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(write_with(2, 0), DAT_SUCCESS);
	REQUIRE_DAT(read_with(3, 0), DAT_SUCCESS);
	REQUIRE_DAT(recv_with(&pair.a, 4, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.a.recv, pair.a.ep, 4, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
}

static void successes_come_before_the_disconnect_on_a_shared_evd(void)
{
	DAT_EVD_HANDLE all = api_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_end b;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE a;

	api_end_make(&b, NULL);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, all, all, all, NULL, &a), DAT_SUCCESS);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	for (uint64_t n = 0; n < 10; n++)
		REQUIRE_DAT(recv_with(&b, n, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(a, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(all, a, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (uint64_t n = 0; n < 10; n++)
		REQUIRE_DAT(api_send(a, &buf, 0, 64, n, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(a, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	for (uint64_t n = 0; n < 10; n++)
		API_DTO(all, a, n, DAT_DTO_SUCCESS, 64);
	API_CONN(all, a, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_QUIET(all);
}

static void cookies_come_back_unchanged(void)
{
	static const uint64_t cookies[] = {
		0, 1, UINT64_MAX, 0x8000000000000000, 0x123456789abcdef0, 1
	};

	make(NULL);
	for (size_t i = 0; i < sizeof(cookies) / sizeof(*cookies); i++) {
		REQUIRE_DAT(recv_with(&pair.b, cookies[i], 0), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, ~cookies[i], 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, cookies[i], DAT_DTO_SUCCESS, 64);
		API_DTO(pair.a.request, pair.a.ep, ~cookies[i], DAT_DTO_SUCCESS, 64);
		REQUIRE_DAT(write_with(cookies[i], 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, cookies[i], DAT_DTO_SUCCESS, 64);
		REQUIRE_DAT(read_with(cookies[i], 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, cookies[i], DAT_DTO_SUCCESS, 64);
	}
}

/* The segment list belongs to the consumer again when the provider says so; it is never changed. */
static void iov_is_left_as_it_was(void)
{
	DAT_LMR_TRIPLET iov[2] = { api_seg(&buf, 0, 40), api_seg(&buf, 100, 60) }, before[2];

	make(NULL);
	memcpy(before, iov, sizeof(iov));
	api_fill(buf.mem, 200, 7);
	REQUIRE_DAT(recv_with(&pair.b, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_post_send(pair.a.ep, 2, iov, api_cookie(2), 0), DAT_SUCCESS);
	if (api.prov.iov_ownership_on_return == DAT_IOV_CONSUMER)
		memset(iov, 0xa5, sizeof(iov));
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 100);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 100);
	CHECK_EQ_MEM(buf.mem + 4 * MB, buf.mem, 40);
	CHECK_EQ_MEM(buf.mem + 4 * MB + 40, buf.mem + 100, 60);
	if (api.prov.iov_ownership_on_return == DAT_IOV_PROVIDER_NOMOD)
		CHECK_EQ_MEM(iov, before, sizeof(iov));
}

static void queue_is_still_usable_after_very_many_suppressed_posts(void)
{
	enum { N = 49996 };
	DAT_EP_ATTR attr = { .max_request_dtos = 50000 };

	if (api.attr.max_dto_per_ep < 50000)
		check_skip("the adapter has no such deep queues");
	make(&attr);
	for (int round = 0; round < 2; round++) {
		for (int n = 0; n < N; n++)
			REQUIRE_DAT(write_with((uint64_t)n, SUPPRESS), DAT_SUCCESS);
		REQUIRE_DAT(write_with(N, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, N, DAT_DTO_SUCCESS, 64);
		API_EMPTY(pair.a.request);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(suppressed_success_is_not_told),
	CHECK_TEST(suppressed_requests_do_not_overtake_a_completion),
	CHECK_TEST(suppressed_failure_is_told),
	CHECK_TEST(nothing_behind_a_request_that_fails_succeeds),
	CHECK_TEST(suppressed_posts_are_flushed_aloud),
	CHECK_TEST(unsignalled_needs_an_endpoint_that_is_so),
	CHECK_TEST(flags_that_do_not_fit_the_operation_are_refused),
	CHECK_TEST(unsignalled_requests_queue_silently),
	CHECK_TEST(unsignalled_event_can_be_dequeued),
	CHECK_TEST(unsignalled_receive_queues_silently),
	CHECK_TEST(only_a_solicited_message_wakes_a_solicited_receiver),
	CHECK_TEST(solicited_message_that_was_held_up_wakes_as_well),
	CHECK_TEST(solicited_message_is_harmless_elsewhere),
	CHECK_TEST(fence_waits_for_the_reads_before_it),
	CHECK_TEST(short_send_behind_a_fence_waits_as_well),
	CHECK_TEST(threshold_counts_completions),
	CHECK_TEST(disconnect_flushes_both_queues_in_order),
	CHECK_TEST(abrupt_disconnect_completes_every_request_once),
	CHECK_TEST(posts_after_the_end_are_flushed_at_once),
	CHECK_TEST(successes_come_before_the_disconnect_on_a_shared_evd),
	CHECK_TEST(cookies_come_back_unchanged),
	CHECK_TEST(iov_is_left_as_it_was),
	CHECK_TEST(queue_is_still_usable_after_very_many_suppressed_posts),
	CHECK_END
};

static const struct check_suite completion_flags = {
	.name = "flags",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&completion_flags);
