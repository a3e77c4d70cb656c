/* SPDX-License-Identifier: BSD-2-Clause */
/* What existing programs depend on, second half: connections and data. */
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

#define MB ((size_t)1 << 20)

static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;

static void setup(void)
{
	api_open();
	buf = api_buf(4 * MB, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(16, DAT_EVD_CR_FLAG);
}

static struct api_end new_end(void)
{
	struct api_end end;

	api_end_make(&end, NULL);
	return end;
}

static void only_the_ip_of_an_address_counts(void)
{
	struct api_end a = new_end(), b = new_end();
	struct sockaddr_in to;
	DAT_CONN_QUAL qual;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	memcpy(&to, api_address(), sizeof(to));
	to.sin_port = htons(4711);
	REQUIRE_DAT(
		dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&to, qual, api_patience(), 0, NULL, 0, 0),
		DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * Programs make qualifiers of process ids and ranks. If one is taken, they try the next; one that
 * is freed can be used at once.
 */
static void qualifier_is_any_number_and_is_counted_up_when_taken(void)
{
	DAT_CONN_QUAL qual = ((DAT_CONN_QUAL)getpid() << 35) + 1;
	DAT_PSP_HANDLE first, second;

	REQUIRE_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &first),
		    DAT_SUCCESS);
	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &second),
		  DAT_CONN_QUAL_IN_USE);
	REQUIRE_DAT(dat_psp_create(api.ia, qual + 1, cr_evd, DAT_PSP_CONSUMER_FLAG, &second),
		    DAT_SUCCESS);
	for (int i = 0; i < 20; i++) {
		REQUIRE_DAT(dat_psp_free(first), DAT_SUCCESS);
		REQUIRE_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &first),
			    DAT_SUCCESS);
	}
}

static void qualifier_chosen_by_the_provider_is_a_port_number(void)
{
	DAT_CONN_QUAL qual = 0;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	CHECK(qual >= 1 && qual <= 65535);
}

static void connecting_to_oneself_works(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 100, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 200, 100, 2), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 100, 3, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 4096, 100, 4, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 100);
	API_DTO(pair.a.recv, pair.a.ep, 2, DAT_DTO_SUCCESS, 100);
}

static void private_data_arrive_with_their_exact_length(void)
{
	static const DAT_COUNT sizes[] = { 0, 4, 0, 1 };
	DAT_CONN_QUAL qual;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	for (int i = 0; i < 4; i++) {
		struct api_end a = new_end(), b = new_end();
		DAT_COUNT size = sizes[i];
		DAT_CR_PARAM param;
		DAT_CR_HANDLE cr;
		DAT_EVENT event;

		REQUIRE_DAT(dat_ep_connect(a.ep, api_address(), qual, api_patience(), size,
					   size ? buf.mem : NULL, 0, 0),
			    DAT_SUCCESS);
		cr = api_cr(cr_evd);
		REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
		CHECK_EQ_INT(param.private_data_size, size);
		REQUIRE_DAT(dat_cr_accept(cr, b.ep, 4 - size, size == 4 ? NULL : buf.mem),
			    DAT_SUCCESS);
		event = API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		CHECK_EQ_INT(event.event_data.connect_event_data.private_data_size, 4 - size);
		event = API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		CHECK_EQ_INT(event.event_data.connect_event_data.private_data_size, 0);
	}
}

static void first_message_that_finds_no_receive_waits(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_fill(buf.mem, 24, 1);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 24, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 24, 2, 0), DAT_SUCCESS);
	API_QUIET(pair.b.recv);
	API_QUIET(pair.b.connect);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, MB, 100, 3), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, MB, 100, 4), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 3, DAT_DTO_SUCCESS, 24);
	API_DTO(pair.b.recv, pair.b.ep, 4, DAT_DTO_SUCCESS, 24);
	CHECK_EQ_INT(api_mismatch(buf.mem + MB, 24, 1), -1);
}

static void endpoint_is_reset_and_used_again_after_a_failed_connect(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	for (int i = 0; i < 5; i++) {
		REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_reject(api_cr(cr_evd)), DAT_SUCCESS);
		API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
		REQUIRE_DAT(dat_ep_reset(a.ep), DAT_SUCCESS);
		REQUIRE_DAT(api_connect(a.ep, UINT64_C(0xdead000000000000)), DAT_SUCCESS);
		API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		REQUIRE_DAT(dat_ep_reset(a.ep), DAT_SUCCESS);
	}
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void disconnect_after_the_peers_is_a_success_without_an_event(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_disconnect(&pair);
	CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_QUIET(pair.b.connect);
	API_QUIET(pair.a.connect);
}

/* Queries the two endpoints again and again, until the third element is set. Returns NULL unless a query has failed. */
static void *watch_states(void *arg)
{
	DAT_EP_HANDLE *eps = arg;
	DAT_EP_PARAM param;

	while (__atomic_load_n(&eps[2], __ATOMIC_ACQUIRE) == NULL)
		for (int i = 0; i < 2; i++)
			if (dat_ep_query(eps[i], DAT_EP_FIELD_EP_STATE, &param) != DAT_SUCCESS)
				return arg;
	return NULL;
}

/*
 * Both sides connect to each other. One of them rejects; the other resets its endpoint and accepts
 * the request that it could not accept before.
 */
static void crossing_connects_are_sorted_out(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_EVD_HANDLE b_crs = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_EP_HANDLE watched[3] = { a.ep, b.ep, NULL };
	DAT_CONN_QUAL to_a, to_b;
	DAT_CR_HANDLE at_a, at_b;
	DAT_CR_PARAM param;
	pthread_t watcher;
	void *bad = NULL;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &to_a);
	api_listen(b_crs, DAT_PSP_CONSUMER_FLAG, &to_b);
	REQUIRE(pthread_create(&watcher, NULL, watch_states, watched) == 0);
	CHECK_DAT(api_connect(a.ep, to_b), DAT_SUCCESS);
	CHECK_DAT(api_connect(b.ep, to_a), DAT_SUCCESS);
	at_a = api_cr(cr_evd);
	at_b = api_cr(b_crs);
	CHECK_DAT(dat_cr_accept(at_a, a.ep, 0, NULL), DAT_INVALID_STATE);
	CHECK_DAT(dat_cr_query(at_a, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	API_STATE(a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	/* b rejects a's request; a resets and takes b's. */
	CHECK_DAT(dat_cr_reject(at_b), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK_DAT(dat_ep_reset(a.ep), DAT_SUCCESS);
	CHECK_DAT(dat_cr_accept(at_a, a.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	__atomic_store_n(&watched[2], (DAT_EP_HANDLE)1, __ATOMIC_RELEASE);
	REQUIRE(pthread_join(watcher, &bad) == 0);
	CHECK(bad == NULL);
	API_QUIET(a.connect);
}

static void attributes_of_a_fresh_endpoint_are_good_for_another(void)
{
	struct api_end a = new_end(), b;
	DAT_EP_PARAM param, again;

	REQUIRE_DAT(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	api_end_make(&b, &param.ep_attr);
	REQUIRE_DAT(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &again), DAT_SUCCESS);
	CHECK_EQ_INT(again.ep_attr.max_message_size, param.ep_attr.max_message_size);
	CHECK_EQ_INT(again.ep_attr.max_recv_dtos, param.ep_attr.max_recv_dtos);
	CHECK_EQ_INT(again.ep_attr.max_request_dtos, param.ep_attr.max_request_dtos);
}

static void connected_endpoint_tells_both_addresses(void)
{
	struct api_pair pair;
	DAT_EP_PARAM param;
	struct sockaddr_in in;

	api_pair_make(&pair, NULL);
	for (int i = 0; i < 2; i++) {
		REQUIRE_DAT(dat_ep_query(i ? pair.b.ep : pair.a.ep, DAT_EP_FIELD_ALL, &param),
			    DAT_SUCCESS);
		REQUIRE(param.local_ia_address_ptr && param.remote_ia_address_ptr);
		memcpy(&in, param.local_ia_address_ptr, sizeof(in));
		CHECK_EQ_INT(in.sin_family, AF_INET);
		memcpy(&in, param.remote_ia_address_ptr, sizeof(in));
		CHECK_EQ_INT(in.sin_family, AF_INET);
	}
}

/* Messages of 24 bytes and RDMA work although the sizes were given as 0. */
static void zero_in_an_attribute_means_the_default(void)
{
	DAT_EP_ATTR attr = {
		.max_message_size = 0, .max_rdma_size = 0, .max_recv_dtos = 8, .max_request_dtos = 8
	};
	struct api_pair pair;

	api_pair_make(&pair, &attr);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 24, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, MB, 24, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 24);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 24);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, MB), api_target(&buf, MB, MB), 3, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, MB);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, MB), api_target(&buf, MB, MB), 4, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 4, DAT_DTO_SUCCESS, MB);
}

static void default_attributes_are_good_for_deep_queues_and_large_transfers(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	for (uint64_t n = 0; n < 100; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 2 * MB, n), DAT_SUCCESS);
	for (uint64_t n = 0; n < 100; n++)
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 2 * MB, n % 50 ? 64 : 2 * MB, n, 0),
			    DAT_SUCCESS);
	for (uint64_t n = 0; n < 100; n++) {
		API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, n % 50 ? 64 : 2 * MB);
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, API_ANY_LENGTH);
	}
}

static void default_post_wakes_though_the_endpoint_is_unsignalled(void)
{
	DAT_EP_ATTR attr = { .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG };
	struct api_waiter waiter;
	struct api_pair pair;

	api_pair_make(&pair, &attr);
	api_wait_start(&waiter, pair.a.request, 1);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&buf, MB, 64), 3, 0),
		    DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
}

static void no_segments_and_no_list_are_a_message_of_nothing(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(dat_ep_post_recv(pair.b.ep, 0, NULL, api_cookie(1), 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_post_send(pair.a.ep, 0, NULL, api_cookie(2), 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 0);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 0);
}

static void region_without_local_read_can_be_sent_from(void)
{
	struct api_buf wo = api_buf_in(api.pz, buf.mem, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_fill(buf.mem, 100, 3);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, MB, 100, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &wo, 0, 100, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 100);
	CHECK_EQ_INT(api_mismatch(buf.mem + MB, 100, 3), -1);
}

static void regions_overlap_repeat_and_start_anywhere(void)
{
	for (size_t i = 0; i < 40; i++) {
		struct api_buf one =
			api_buf_in(api.pz, buf.mem + i, 100 + i, DAT_MEM_PRIV_ALL_FLAG);
		struct api_buf two =
			api_buf_in(api.pz, buf.mem + i, 100 + i, DAT_MEM_PRIV_ALL_FLAG);

		CHECK(one.lmr_context != 0 && one.lmr_context < 0x80000000u);
		CHECK(one.rmr_context != 0 && one.rmr_context < 0x80000000u);
		CHECK(one.lmr_context != two.lmr_context);
		CHECK_DAT(dat_lmr_free(i % 2 ? one.lmr : two.lmr), DAT_SUCCESS);
	}
}

static void region_is_freed_with_receives_posted_and_while_connected(void)
{
	struct api_buf one = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG),
		       two = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &one, 0, 100, 1), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(one.lmr), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(two.lmr), DAT_SUCCESS);
	API_STATE(pair.b.ep, DAT_EP_STATE_CONNECTED);
}

/* Posts until a post is refused, reaps, and goes on, as every benchmark does. */
static void exhausted_queue_is_refused_and_works_again_after_reaping(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = 16, .max_recv_dtos = 16 };
	uint64_t posted = 0, reaped = 0, refused = 0;
	struct api_pair pair;

	api_pair_make(&pair, &attr);
	while (reaped < 500) {
		DAT_RETURN ret = DAT_SUCCESS;

		while (posted < 500) {
			ret = api_write(pair.a.ep, api_seg(&buf, 0, 4096),
					api_target(&buf, MB, 4096), posted, 0);
			if (ret != DAT_SUCCESS)
				break;
			posted++;
			REQUIRE(posted - reaped < 1000);
		}
		if (ret != DAT_SUCCESS) {
			refused++;
			REQUIRE_DAT(ret, DAT_INSUFFICIENT_RESOURCES);
			CHECK(posted - reaped >= 16);
		}
		API_DTO(pair.a.request, pair.a.ep, reaped++, DAT_DTO_SUCCESS, 4096);
	}
	CHECK(refused > 0);
}

static void running_out_of_objects_is_a_clean_error(void)
{
	enum { CAP = 20000 };
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_REGION_DESCRIPTION region = { .for_va = buf.mem };
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;

	for (int i = 0; i < CAP && ret == DAT_SUCCESS; i++)
		ret = dat_pz_create(api.ia, &pz);
	CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
	ret = DAT_SUCCESS;
	for (int i = 0; i < 3000 && ret == DAT_SUCCESS; i++)
		ret = dat_evd_create(api.ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd);
	CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
	ret = DAT_SUCCESS;
	for (int i = 0; i < CAP && ret == DAT_SUCCESS; i++)
		ret = dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, api.pz,
				     DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &size,
				     &address);
	CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
}

static const struct check_test tests[] = {
	CHECK_TEST(only_the_ip_of_an_address_counts),
	CHECK_TEST(qualifier_is_any_number_and_is_counted_up_when_taken),
	CHECK_TEST(qualifier_chosen_by_the_provider_is_a_port_number),
	CHECK_TEST(connecting_to_oneself_works),
	CHECK_TEST(private_data_arrive_with_their_exact_length),
	CHECK_TEST(first_message_that_finds_no_receive_waits),
	CHECK_TEST(endpoint_is_reset_and_used_again_after_a_failed_connect),
	CHECK_TEST(disconnect_after_the_peers_is_a_success_without_an_event),
	CHECK_TEST(crossing_connects_are_sorted_out),
	CHECK_TEST(attributes_of_a_fresh_endpoint_are_good_for_another),
	CHECK_TEST(connected_endpoint_tells_both_addresses),
	CHECK_TEST(zero_in_an_attribute_means_the_default),
	CHECK_TEST(default_attributes_are_good_for_deep_queues_and_large_transfers),
	CHECK_TEST(default_post_wakes_though_the_endpoint_is_unsignalled),
	CHECK_TEST(no_segments_and_no_list_are_a_message_of_nothing),
	CHECK_TEST(region_without_local_read_can_be_sent_from),
	CHECK_TEST(regions_overlap_repeat_and_start_anywhere),
	CHECK_TEST(region_is_freed_with_receives_posted_and_while_connected),
	CHECK_TEST(exhausted_queue_is_refused_and_works_again_after_reaping),
	CHECK_TEST(running_out_of_objects_is_a_clean_error),
	CHECK_END
};

static const struct check_suite consumers2 = {
	.name = "consumers (2)",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&consumers2);
