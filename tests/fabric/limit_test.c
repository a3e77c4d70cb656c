/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many work requests an endpoint's queues take, and what happens when all of them complete at once. Invariant of the
 * providers: a CQ has room for every request that its queue pairs can complete. The exception is an endpoint with more receives
 * than the device's largest CQ has entries. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA names.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "twist.h"

#define READS 1000
#define USUAL 1024 /* max_request_dtos of an endpoint whose program does not ask for a number */
#define PIECE (1 << 20) /* long enough that most reads are still outstanding when the last one is posted */

static struct api_buf from, to;
static struct api_pair pair;

/* Returns the default attributes, changed for `requests` reads of `segments` segments each. */
static DAT_EP_ATTR reads_of(DAT_COUNT requests, DAT_COUNT segments)
{
	DAT_EP_PARAM param;
	struct api_end plain;

	api_end_make(&plain, NULL);
	REQUIRE_DAT(dat_ep_query(plain.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	api_end_free(&plain);
	param.ep_attr.max_request_dtos = requests;
	param.ep_attr.max_rdma_read_iov = segments;
	return param.ep_attr;
}

static DAT_COUNT segments_of_a_read(void)
{
	return api.attr.max_iov_segments_per_rdma_read < 6 ? api.attr.max_iov_segments_per_rdma_read
							    : 6;
}

static void post_read(const struct api_end *end, DAT_COUNT segments, uint64_t cookie)
{
	DAT_RMR_TRIPLET remote = api_target(&from, 0, (size_t)segments * PIECE);
	DAT_LMR_TRIPLET iov[8];

	for (DAT_COUNT i = 0; i < segments; i++)
		iov[i] = api_seg(&to, (size_t)i * PIECE, PIECE);
	REQUIRE_DAT(dat_ep_post_rdma_read(end->ep, segments, iov, api_cookie(cookie), &remote,
					  DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
}

/* Takes `count` completions in order, where all that follow a flushed one are flushed. Returns how many reads succeeded. */
static uint64_t take_reads(const struct api_end *end, DAT_COUNT segments, uint64_t count)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	uint64_t done = 0;
	DAT_EVENT event;

	for (uint64_t i = 0; i < count; i++) {
		API_EVENT(end->request, &event);
		dto = &event.event_data.dto_completion_event_data;
		REQUIRE_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
		CHECK_EQ_INT(dto->user_cookie.as_64, i);
		if (dto->status == DAT_DTO_SUCCESS) {
			CHECK_EQ_INT(done++, i);
			CHECK_EQ_INT(dto->transfered_length, (DAT_VLEN)segments * PIECE);
		} else {
			CHECK_EQ_INT(dto->status, DAT_DTO_ERR_FLUSHED);
		}
	}
	return done;
}

static bool over_iwarp(void)
{
	return api_declares("transport", "iWARP");
}

/*
 * Fills the request queue with long reads and ends the connection while most of them are outstanding. Except over iWARP, the
 * first request is a send for which the peer has posted no receive, so that all reads stay behind it.
 */
static void post_reads_and_end(const DAT_EP_ATTR *attr)
{
	uint64_t done, reads;
	DAT_EP_PARAM param;
	DAT_COUNT segments;

	from = api_buf(8 * PIECE, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(8 * PIECE, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, attr);
	REQUIRE_DAT(dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	reads = (uint64_t)param.ep_attr.max_request_dtos;
	segments = param.ep_attr.max_rdma_read_iov;
	for (uint64_t i = 0; i < reads; i++)
		if (i == 0 && !over_iwarp())
			REQUIRE_DAT(api_send(pair.a.ep, &from, 0, 64, 0, 0), DAT_SUCCESS);
		else
			post_read(&pair.a, segments, i);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	done = take_reads(&pair.a, segments, reads);
	CHECK(done < reads / 2);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	/* An overflow of a CQ is reported as an asynchronous error of the adapter. */
	API_QUIET(api.async);
}

/*
 * The provider may post a read as several requests, of which only the last is signaled. When the connection ends, the device
 * flushes each of them with a completion of its own.
 */
static void all_reads_of_an_endpoint_may_be_flushed(void)
{
	DAT_EP_ATTR attr;

	api_open();
	attr = reads_of(READS, segments_of_a_read());
	post_reads_and_end(&attr);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	api_pair_connect(&pair);
	api_pair_works(&pair, &to);
	API_EMPTY(api.async);
}

/* The endpoint asks for more requests than the device has room for if each one is a read of the most segments. */
static void endpoint_takes_all_the_reads_that_it_shows(void)
{
	DAT_EP_ATTR attr = { 0 };

	api_open();
	if (!over_iwarp())
		check_skip("the device does each read at once");
	attr.max_request_dtos = api.attr.max_dto_per_ep / segments_of_a_read() + 100;
	post_reads_and_end(&attr);
}

/* ------------------------------------------------------------------ reads that are split */

/* A device that reads into more than two segments is made to report two. siw reads into one. */
static void read_goes_in_as_few_pieces_as_the_device_can(void)
{
	const DAT_COUNT segments = 5;

	api_open();
	if (!over_iwarp()) {
		api_close();
		atomic_store(&twist.read_sge, 2);
		api_open();
	}
	from = api_buf((size_t)segments * PIECE, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf((size_t)segments * PIECE, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(from.mem, from.size, 7);
	api_pair_make(&pair, NULL);
	post_read(&pair.a, segments, 1);
	CHECK_EQ_INT(twist_here.chain, over_iwarp() ? 5 : 3);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, (DAT_VLEN)segments * PIECE);
	CHECK_EQ_INT(api_mismatch(to.mem, to.size, 7), -1);
	API_EMPTY(pair.a.request);
}

/*
 * The device takes two requests of a read that needs more. They cannot be taken back, so the post succeeds and the connection
 * ends: only the flushed completion tells the program that the device no longer uses its memory.
 */
static void part_of_a_read_is_taken(int driver_says)
{
	const DAT_COUNT segments = 5;
	uint64_t first;

	REQUIRE_DAT(api_recv(pair.b.ep, &to, 0, 64, 1), DAT_SUCCESS);
	post_read(&pair.a, segments, 0);
	twist_here.takes = 2;
	twist_here.says = driver_says;
	post_read(&pair.a, segments, 1);
	CHECK_EQ_INT(twist_here.takes, 0);
	CHECK_DAT(api_send(pair.a.ep, &from, 0, 64, 2, 0), DAT_SUCCESS);
	first = take_reads(&pair.a, segments, 3);
	CHECK(first <= 1);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	api_fill(to.mem, to.size, 9);
	API_QUIET(pair.a.request);
	CHECK_EQ_INT(api_mismatch(to.mem, to.size, 9), -1);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	api_pair_connect(&pair);
	api_pair_works(&pair, &to);
}

static void read_that_the_device_takes_a_part_of_is_flushed(void)
{
	atomic_store(&twist.read_sge, 1);
	api_open();
	from = api_buf(5 * PIECE, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(5 * PIECE, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	part_of_a_read_is_taken(ENOMEM);
	/* libsiw returns 0 for a chain of which it has taken only a part. */
	part_of_a_read_is_taken(0);
}

/* ------------------------------------------------------------------ attributes that do not fit together */

/* Imitates a device with few work requests for a queue pair that reads into two segments. Returns max_dto_per_ep. */
static DAT_COUNT few_places(void)
{
	atomic_store(&twist.places, 1500);
	atomic_store(&twist.read_sge, 2);
	api_open();
	return api.attr.max_dto_per_ep;
}

/* Makes an endpoint with default attributes and changes it to these two. Returns what dat_ep_modify() returns. */
static DAT_RETURN end_of(const DAT_EP_ATTR *attr, struct api_end *end)
{
	DAT_EP_PARAM param;

	api_end_make(end, NULL);
	REQUIRE_DAT(dat_ep_query(end->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	param.ep_attr.max_request_dtos = attr->max_request_dtos;
	param.ep_attr.max_rdma_read_iov = attr->max_rdma_read_iov;
	return dat_ep_modify(end->ep,
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
				     DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
			     &param);
}

static void shows(const struct api_end *end, DAT_COUNT requests, DAT_COUNT segments)
{
	DAT_EP_PARAM param;

	REQUIRE_DAT(dat_ep_query(end->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_attr.max_request_dtos, requests);
	CHECK_EQ_INT(param.ep_attr.max_rdma_read_iov, segments);
}

/* Tests both an endpoint that is created with the attributes and one that is modified to have them. */
static void becomes(DAT_COUNT requests, DAT_COUNT segments, DAT_COUNT shown, DAT_COUNT shown_segments)
{
	const DAT_EP_ATTR attr = { .max_request_dtos = requests, .max_rdma_read_iov = segments };
	struct api_end made, modified;

	api_end_make(&made, &attr);
	shows(&made, shown, shown_segments);
	CHECK_DAT(end_of(&attr, &modified), DAT_SUCCESS);
	shows(&modified, shown, shown_segments);
	api_end_free(&made);
	api_end_free(&modified);
}

static void refused(DAT_COUNT requests, DAT_COUNT segments)
{
	const DAT_EP_ATTR attr = { .max_request_dtos = requests, .max_rdma_read_iov = segments };
	struct api_end modified;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	CHECK_DAT(end_of(&attr, &modified), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(dat_ep_query(modified.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ep_attr.max_request_dtos != requests);
	CHECK_DAT(dat_ep_create(api.ia, api.pz, modified.recv, modified.request, modified.connect,
				&attr, &ep),
		  DAT_INVALID_PARAMETER);
	api_end_free(&modified);
}

/* A read of five segments takes three of the device's requests. */
static void requests_that_the_device_has_no_room_for_are_refused(void)
{
	DAT_COUNT most = few_places();

	becomes(most, 2, most, 2);
	refused(most, 3);
	becomes(most / 3, 5, most / 3, 5);
	becomes(most / 3, 6, most / 3, 6);
	refused(most / 3 + 1, 5);
	refused(most + 1, 1);
}

/* If the two do not fit together, the provider first lowers the number of segments, and then that of requests. */
static void what_a_program_leaves_open_is_chosen_so_that_it_fits(void)
{
	DAT_COUNT most = few_places();
	struct api_end end;

	api_end_make(&end, NULL);
	shows(&end, USUAL, 2);
	api_end_free(&end);
	becomes(0, 0, USUAL, 2);
	becomes(most, 0, most, 2);
	becomes(most / 2, 0, most / 2, 4);
	becomes(0, 2, USUAL, 2);
	becomes(0, 5, most / 3, 5);
	atomic_store(&twist.places, 0);
	api_close();
	/* The device's own limits are large enough that nothing is lowered. */
	api_open();
	becomes(100, 6, 100, 6);
	becomes(0, 3, USUAL, 3);
}

/* ------------------------------------------------------------------ more than a completion queue has room for */

enum { CQ_ENTRIES = 1500, DEEP = 3000, SHORT = 64 };

/* Connects the pair and posts all receives of `b`, which are more than a CQ of the device has entries. */
static void deep_pair(void)
{
	const DAT_EP_ATTR attr = { .max_recv_dtos = DEEP, .max_request_dtos = 64, .max_rdma_read_iov = 1 };

	atomic_store(&twist.max_cqe, CQ_ENTRIES);
	api_open();
	from = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, &attr);
	for (uint64_t i = 0; i < DEEP; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &to, 0, SHORT, i), DAT_SUCCESS);
	CHECK_DAT(api_recv(pair.b.ep, &to, 0, SHORT, DEEP), DAT_INSUFFICIENT_RESOURCES);
}

/* Programs ask for deep queues that they never fill, and other DAT libraries allow that: they size a CQ by its EVD. */
static void endpoint_may_have_more_receives_than_a_queue_has_entries(void)
{
	deep_pair();
	for (uint64_t i = 0; i < DEEP; i++) {
		REQUIRE_DAT(api_send(pair.a.ep, &from, 0, SHORT, i, 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, i, DAT_DTO_SUCCESS, SHORT);
		API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_SUCCESS, SHORT);
	}
	API_EMPTY(api.async);
}

/* If completions overflow the CQ, the connection breaks, and each posted receive still completes or is flushed. */
static void queue_that_overflows_breaks_its_connections(void)
{
	uint64_t good = 0, flushed = 0, sent = 0;
	DAT_EVENT event;

	deep_pair();
	while (sent < DEEP && api_state(pair.a.ep) == DAT_EP_STATE_CONNECTED) {
		REQUIRE_DAT(api_send(pair.a.ep, &from, 0, SHORT, sent++, 0), DAT_SUCCESS);
		API_EVENT(pair.a.request, &event);
	}
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_EVENT(api.async, &event);
	CHECK_EQ_INT(event.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	while (good + flushed < DEEP) {
		API_EVENT(pair.b.recv, &event);
		if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
			good++;
		else
			flushed++;
	}
	API_EMPTY(pair.b.recv);
	CHECK(good >= CQ_ENTRIES / 2 && good < DEEP);
}

/* The CQ has no room for some completions, which are lost, and has room again for later ones. */
static void receives_whose_completions_are_lost_are_flushed(void)
{
	enum { POSTED = 40, LOST = 10 };
	bool seen[POSTED] = { false };
	DAT_EVENT event;

	api_open();
	from = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	for (uint64_t i = 0; i < POSTED; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &to, 0, SHORT, i), DAT_SUCCESS);
	atomic_store(&twist.loses, LOST);
	/* The message is too long for the first receive, so the device ends the connection and flushes the others. */
	REQUIRE_DAT(api_send(pair.a.ep, &from, 0, SHORT + 1, 0, 0), DAT_SUCCESS);
	for (int i = 0; i < POSTED; i++) {
		uint64_t number;

		API_EVENT(pair.b.recv, &event);
		number = event.event_data.dto_completion_event_data.user_cookie.as_64;
		CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
		REQUIRE(number < POSTED && !seen[number]);
		seen[number] = true;
	}
	API_EMPTY(pair.b.recv);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

/* The message names the attribute that is refused, the limit, and the IA attribute that states the limit. It comes only once. */
static void attributes_beyond_the_device_are_named(void)
{
	DAT_EP_ATTR attr = { 0 };
	const char *said;
	struct api_end end;
	DAT_EP_HANDLE ep;
	char most[32];

	api_open();
	api_end_make(&end, NULL);
	attr.max_recv_dtos = api.attr.max_dto_per_ep + 7;
	snprintf(most, sizeof(most), "limit of %d", api.attr.max_dto_per_ep);
	check_stderr_begin();
	CHECK_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.request, end.connect, &attr, &ep),
		  DAT_INVALID_PARAMETER);
	said = check_stderr_end();
	CHECK_HAS_STR(said, "max_recv_dtos");
	CHECK_HAS_STR(said, most);
	CHECK_HAS_STR(said, "max_dto_per_ep");
	check_stderr_begin();
	CHECK_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.request, end.connect, &attr, &ep),
		  DAT_INVALID_PARAMETER);
	CHECK_EQ_STR(check_stderr_end(), "");
}

/* ------------------------------------------------------------------ limits that no attribute has */

/* A device may have room for fewer receives than it reports. cxgb4 refuses a queue pair that is too deep with E2BIG. */
static void queue_pair_that_is_too_deep_is_refused_with_the_remedy(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 100 };
	struct api_end end;
	const char *said;

	api_open();
	end.recv = api_evd(8, DAT_EVD_DTO_FLAG);
	end.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	atomic_store(&twist.deepest, 99);
	check_stderr_begin();
	CHECK_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.recv, end.connect, &attr, &end.ep),
		  DAT_INVALID_PARAMETER);
	said = check_stderr_end();
	CHECK_HAS_STR(said, " and 100 receives of ");
	CHECK_HAS_STR(said, "ask for fewer max_request_dtos or max_recv_dtos");
	atomic_store(&twist.deepest, 100);
	CHECK_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.recv, end.connect, &attr, &end.ep),
		  DAT_SUCCESS);
}

/* Connects a pair whose attributes are left to the provider, checks that data go, and returns those attributes. */
static DAT_EP_ATTR usual_attr(void)
{
	DAT_EP_PARAM param;

	api_open();
	to = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &to);
	REQUIRE_DAT(dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param.ep_attr;
}

/* A program that does not ask for a depth gets one that the device has. */
static void endpoint_of_no_particular_depth_is_as_deep_as_the_device_takes(void)
{
	DAT_EP_ATTR attr;

	atomic_store(&twist.deepest, 99);
	attr = usual_attr();
	CHECK_EQ_INT(attr.max_recv_dtos, 64);
}

static void endpoint_is_as_wide_as_the_device_takes(const char *reason)
{
	enum { REQUESTS = 1024, ROOM = REQUESTS + 100, REQUEST_BYTES = 64 };
	const char *said;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	atomic_store(&twist.wide, ROOM * REQUEST_BYTES);
	attr = usual_attr();
	CHECK_EQ_INT(attr.max_request_dtos, REQUESTS);
	CHECK(attr.max_request_iov >= 1 && attr.max_request_iov <= 2);
	attr.max_request_iov = 4;
	check_stderr_begin();
	CHECK(dat_ep_create(api.ia, api.pz, pair.a.recv, pair.a.request, pair.a.connect, &attr, &ep) != DAT_SUCCESS);
	said = check_stderr_end();
	CHECK_HAS_STR(said, reason);
	CHECK_HAS_STR(said, "; ask for fewer max_request_dtos or max_recv_dtos, or for fewer segments of each");
	api_close();
}

/*
 * On irdma, mlx5 and bnxt_re the number of requests depends on their segments. A program that does not ask for a number of segments
 * gets fewer of them, and one that does is told what to do. mthca refuses a queue pair without an errno.
 */
static void endpoint_of_no_particular_width_is_as_wide_as_the_device_takes(void)
{
	endpoint_is_as_wide_as_the_device_takes(strerror(ENOMEM));
	atomic_store(&twist.no_errno, true);
	endpoint_is_as_wide_as_the_device_takes("no reason is given");
}

static void forget_switches(void)
{
	atomic_store(&twist.deepest, 0);
	atomic_store(&twist.wide, 0);
	atomic_store(&twist.no_errno, false);
	atomic_store(&twist.loses, 0);
	atomic_store(&twist.max_cqe, 0);
	atomic_store(&twist.places, 0);
	atomic_store(&twist.read_sge, 0);
	api_close();
}

static const struct check_test tests[] = {
	CHECK_TEST(all_reads_of_an_endpoint_may_be_flushed),
	CHECK_TEST(endpoint_takes_all_the_reads_that_it_shows),
	CHECK_TEST(read_goes_in_as_few_pieces_as_the_device_can),
	CHECK_TEST(read_that_the_device_takes_a_part_of_is_flushed),
	CHECK_TEST(requests_that_the_device_has_no_room_for_are_refused),
	CHECK_TEST(what_a_program_leaves_open_is_chosen_so_that_it_fits),
	CHECK_TEST(endpoint_may_have_more_receives_than_a_queue_has_entries),
	CHECK_TEST(queue_that_overflows_breaks_its_connections),
	CHECK_TEST(receives_whose_completions_are_lost_are_flushed),
	CHECK_TEST(attributes_beyond_the_device_are_named),
	CHECK_TEST(queue_pair_that_is_too_deep_is_refused_with_the_remedy),
	CHECK_TEST(endpoint_of_no_particular_depth_is_as_deep_as_the_device_takes),
	CHECK_TEST(endpoint_of_no_particular_width_is_as_wide_as_the_device_takes),
	CHECK_END
};

static const struct check_suite limits = { .name = "limit", .teardown = forget_switches, .tests = tests };

CHECK_SUITES(&limits);
