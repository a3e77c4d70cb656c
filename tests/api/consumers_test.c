/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What existing uDAPL 1.2 programs depend on beyond the letter of the specification, one test each:
 * headers, registry, events. consumers2_test.c has the rest; the order of memory is order_test.c's.
 */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

static struct api_buf buf;

static void setup(void)
{
	api_open();
	buf = api_buf(1 << 20, DAT_MEM_PRIV_ALL_FLAG);
}

static void everybody_asks_for_version_1_2_not_thread_safe(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	CHECK_EQ_INT(DAT_VERSION_MAJOR, 1);
	CHECK_EQ_INT(DAT_VERSION_MINOR, 2);
	CHECK_EQ_INT(DAT_THREADSAFE, DAT_FALSE);
	REQUIRE_DAT(dat_ia_openv(api_ia_name(), 8, &async, &ia, 1, 2, DAT_FALSE), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static void old_names_are_aliases(void)
{
	DAT_EP_ATTR attr = { 0 };

	attr.max_mtu_size = 77;
	CHECK_EQ_INT(attr.max_message_size, 77);
	CHECK(DAT_IA_ALL == DAT_IA_FIELD_ALL);
	CHECK_EQ_INT(DAT_CLOSE_DEFAULT, DAT_CLOSE_ABRUPT_FLAG);
}

/* At most max entries are filled; pointers beyond the number of providers are not used. */
static void provider_list_touches_only_what_it_fills(void)
{
	DAT_PROVIDER_INFO one, two, *list[10] = { &one, &two }, *single[10] = { &one };
	DAT_COUNT count = -1, total = -1;

	for (int i = 2; i < 10; i++)
		list[i] = (DAT_PROVIDER_INFO *)(uintptr_t)8;
	for (int i = 1; i < 10; i++)
		single[i] = (DAT_PROVIDER_INFO *)(uintptr_t)8;
	memset(&one, 0xa5, sizeof(one));
	memset(&two, 0xa5, sizeof(two));
	CHECK_DAT(dat_registry_list_providers(0, &total, NULL), DAT_INVALID_PARAMETER);
	REQUIRE(total >= 1);
	CHECK_DAT(dat_registry_list_providers(1, &count, single), DAT_SUCCESS);
	CHECK_EQ_INT(count, 1);
	CHECK(strnlen(one.ia_name, sizeof(one.ia_name)) < sizeof(one.ia_name));
	CHECK_EQ_INT(one.dapl_version_major, 1);
	if (total > 2)
		check_skip("more than two adapters are listed here");
	CHECK_DAT(dat_registry_list_providers(10, &count, list), DAT_SUCCESS);
	CHECK_EQ_INT(count, total);
}

static void every_listed_name_is_opened_or_fails_at_once(void)
{
	DAT_PROVIDER_INFO infos[64], *list[64];
	DAT_COUNT count = 0;
	bool found = false;

	for (int i = 0; i < 64; i++)
		list[i] = &infos[i];
	REQUIRE_DAT(dat_registry_list_providers(64, &count, list), DAT_SUCCESS);
	for (DAT_COUNT i = 0; i < count; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		if (dat_ia_open(infos[i].ia_name, 8, &async, &ia) == DAT_SUCCESS) {
			CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
			found |= !strcmp(infos[i].ia_name, api_ia_name());
		} else {
			CHECK(async == DAT_HANDLE_NULL);
		}
	}
	CHECK(found);
}

static void unknown_name_is_provider_not_found_with_its_subtype(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "OpenIB-cma-nowhere";
	DAT_IA_HANDLE ia;

	CHECK_DAT(dat_ia_open(name, 8, &async, &ia),
		  DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED);
	CHECK(async == DAT_HANDLE_NULL);
}

static void ia_query_without_memory_for_the_answer_is_an_invalid_parameter(void)
{
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;

	CHECK_DAT(dat_ia_query(api.ia, &async, DAT_IA_ALL, &attr, 0, NULL), DAT_SUCCESS);
	CHECK_DAT(dat_ia_query(api.ia, &async, DAT_IA_ALL, NULL, 0, NULL), DAT_INVALID_PARAMETER);
}

/* Returns whether this address is one of a real interface of this host. */
static bool real_interface(struct in_addr want, bool *any)
{
	struct ifaddrs *all, *one;
	bool found = false;

	REQUIRE(getifaddrs(&all) == 0);
	for (one = all; one; one = one->ifa_next) {
		struct sockaddr_in in;

		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&in, one->ifa_addr, sizeof(in));
		if ((ntohl(in.sin_addr.s_addr) >> 24) == 127)
			continue;
		*any = true;
		found |= in.sin_addr.s_addr == want.s_addr;
	}
	freeifaddrs(all);
	return found;
}

static void ia_address_is_that_of_a_real_interface_where_there_is_one(void)
{
	struct sockaddr_in in;
	bool any = false, found;

	memcpy(&in, api_address(), sizeof(in));
	found = real_interface(in.sin_addr, &any);
	if (!any)
		check_skip("this host has the loopback interface only");
	CHECK(found);
}

static void every_address_of_this_host_is_connected_to(void)
{
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	struct sockaddr_in to;
	DAT_CONN_QUAL qual;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	/* a device's network does not reach the loopback address */
	for (int i = 0; i < (api_over_verbs() ? 1 : 2); i++) {
		struct api_end a, b;

		api_end_make(&a, NULL);
		api_end_make(&b, NULL);
		memcpy(&to, api_address(), sizeof(to));
		if (i)
			to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		REQUIRE_DAT(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&to, qual, api_patience(), 0,
					   NULL, 0, 0),
			    DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

static void graceful_close_with_live_objects_changes_nothing_and_abrupt_close_cleans_up(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 64, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 64);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api.ia = DAT_HANDLE_NULL;
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
}

static void endpoint_with_a_freed_zone_is_an_invalid_handle(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_PZ_HANDLE pz = api_pz();
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_pz_free(pz), DAT_SUCCESS);
	CHECK_DAT(dat_ep_create(api.ia, pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep),
		  DAT_INVALID_HANDLE);
}

static void query_with_a_handle_of_another_type_is_an_invalid_handle(void)
{
	DAT_EP_PARAM ep;
	DAT_EVD_PARAM evd;

	CHECK_DAT(dat_ep_query(buf.lmr, DAT_EP_FIELD_ALL, &ep), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_evd_query(api.pz, DAT_EVD_FIELD_ALL, &evd), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_lmr_free(&buf.lmr), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_evd_free((DAT_EVD_HANDLE)&api.async), DAT_INVALID_HANDLE);
}

static void one_evd_takes_requests_and_connection_events(void)
{
	DAT_EVD_HANDLE evd = api_evd(16, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE dto = api_evd(16, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE a, b;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, dto, dto, evd, NULL, &a), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, dto, dto, evd, NULL, &b), DAT_SUCCESS);
	api_listen(evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(api_connect(a, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(evd), b, 0, NULL), DAT_SUCCESS);
	API_CONN(evd, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(evd, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * One EVD serves both directions of many endpoints, whose queues together are far longer than the
 * EVD's.
 */
static void one_evd_serves_both_directions_of_many_endpoints(void)
{
	enum { PAIRS = 10, EACH = 20 };
	DAT_EVD_HANDLE dto = api_evd(4, DAT_EVD_DTO_FLAG),
		       conn = api_evd(16, DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE cr_evd = api_evd(16, DAT_EVD_CR_FLAG);
	int recvs = 0, sends = 0;
	DAT_EP_HANDLE a[PAIRS], b[PAIRS];
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	for (int i = 0; i < PAIRS; i++) {
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, dto, dto, conn, NULL, &a[i]),
			    DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, dto, dto, conn, NULL, &b[i]),
			    DAT_SUCCESS);
		REQUIRE_DAT(api_connect(a[i], qual), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b[i], 0, NULL), DAT_SUCCESS);
		API_CONN(conn, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
		API_CONN(conn, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
		for (int n = 0; n < EACH; n++)
			REQUIRE_DAT(api_recv(b[i], &buf, (i * EACH + n) * 64, 64, 1), DAT_SUCCESS);
	}
	for (int n = 0; n < EACH; n++)
		for (int i = 0; i < PAIRS; i++)
			REQUIRE_DAT(api_send(a[i], &buf, PAIRS * EACH * 64, 64, 2, 0), DAT_SUCCESS);
	for (int n = 0; n < 2 * PAIRS * EACH; n++) {
		API_EVENT(dto, &event);
		REQUIRE_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
		recvs += event.event_data.dto_completion_event_data.user_cookie.as_64 == 1;
		sends += event.event_data.dto_completion_event_data.user_cookie.as_64 == 2;
	}
	CHECK_EQ_INT(recvs, PAIRS * EACH);
	CHECK_EQ_INT(sends, PAIRS * EACH);
	API_EMPTY(dto);
	API_QUIET(api.async);
}

/*
 * The requested length is a minimum: endpoints with far longer queues use the EVD, and nothing
 * overflows.
 */
static void queue_of_an_evd_grows_with_its_endpoints(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 33, .max_request_dtos = 33 };
	DAT_EVD_HANDLE dto = api_evd(3, DAT_EVD_DTO_FLAG),
		       conn = api_evd(3, DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE cr_evd = api_evd(3, DAT_EVD_CR_FLAG);
	struct api_end b;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE a;

	api_end_make(&b, &attr);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, dto, dto, conn, &attr, &a), DAT_SUCCESS);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(api_connect(a, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(conn, a, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (uint64_t n = 0; n < 33; n++)
		REQUIRE_DAT(api_write(a, api_seg(&buf, 0, 64), api_target(&buf, 4096, 64), n, 0),
			    DAT_SUCCESS);
	usleep(20000);
	for (uint64_t n = 0; n < 33; n++)
		API_DTO(dto, a, n, DAT_DTO_SUCCESS, 64);
	API_QUIET(api.async);
}

static void evd_is_resized_under_live_streams(void)
{
	struct api_pair pair;
	uint64_t got = 0;

	api_pair_make(&pair, NULL);
	for (uint64_t n = 0; n < 8; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, n), DAT_SUCCESS);
	for (uint64_t n = 0; n < 200; n++) {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, n, 0), DAT_SUCCESS);
		if (n % 5 == 0)
			REQUIRE_DAT(dat_evd_resize(pair.b.recv, 70 + (DAT_COUNT)n * 10),
				    DAT_SUCCESS);
		if (n % 5 == 1)
			REQUIRE_DAT(dat_evd_resize(pair.a.request, 70 + (DAT_COUNT)n * 10),
				    DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, n, DAT_DTO_SUCCESS, 64);
		if (n % 4 == 3)
			for (int k = 0; k < 4; k++, got++) {
				API_DTO(pair.b.recv, pair.b.ep, got, DAT_DTO_SUCCESS, 64);
				REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, got + 8), DAT_SUCCESS);
			}
	}
	CHECK_EQ_INT(got, 200);
}

static void very_long_queues_are_made(void)
{
	DAT_COUNT most = api.attr.max_dto_per_ep < 50000 ? api.attr.max_dto_per_ep : 50000;
	DAT_EP_ATTR attr = { .max_recv_dtos = most, .max_request_dtos = most };
	DAT_EVD_HANDLE small = api_evd(6000, DAT_EVD_DTO_FLAG),
		       large = api_evd(40000, DAT_EVD_DTO_FLAG);
	DAT_EVD_PARAM param;
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_evd_query(large, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
	CHECK(param.evd_qlen >= 40000);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, small, large, DAT_HANDLE_NULL, &attr, &ep),
		    DAT_SUCCESS);
	for (uint64_t n = 0; n < (uint64_t)most; n++)
		REQUIRE_DAT(api_recv(ep, &buf, 0, 64, n), DAT_SUCCESS);
}

/* Some programs only poll, so polling has to make progress by itself. */
static void dequeue_alone_makes_progress(void)
{
	struct api_pair pair;
	struct api_buf big = api_buf(4 << 20, DAT_MEM_PRIV_ALL_FLAG);
	DAT_EVENT event;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &big, 0, 2 << 20, 1), DAT_SUCCESS);
	api_fill(big.mem + (2 << 20), 2 << 20, 1);
	REQUIRE_DAT(api_send(pair.a.ep, &big, 2 << 20, 2 << 20, 2, 0), DAT_SUCCESS);
	REQUIRE_SOON(dat_evd_dequeue(pair.b.recv, &event) == DAT_SUCCESS);
	REQUIRE_SOON(dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS);
	CHECK_EQ_INT(api_mismatch(big.mem, 2 << 20, 1), -1);
	for (int i = 0; i < 100000; i++)
		REQUIRE_DAT(dat_evd_dequeue(pair.b.recv, &event), DAT_QUEUE_EMPTY);
}

/* Polling loops of existing programs compare the whole value, not its type. */
static void empty_queue_of_completions_is_the_bare_value(void)
{
	DAT_EVD_HANDLE dtos = api_evd(8, DAT_EVD_DTO_FLAG), hint;
	DAT_EVENT event;

	CHECK_EQ_INT(dat_evd_dequeue(dtos, &event), DAT_QUEUE_EMPTY);
	CHECK_EQ_INT(dat_evd_dequeue(api_evd(8, DAT_EVD_SOFTWARE_FLAG), &event), DAT_QUEUE_EMPTY);
	CHECK_EQ_INT(dat_cno_wait(api_cno(), 1000, &hint), DAT_QUEUE_EMPTY);
}

static void *event_thread(void *arg)
{
	struct api_waiter *waiter = arg;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		dat_evd_wait(waiter->evd, DAT_TIMEOUT_INFINITE, 1, &waiter->event, &waiter->nmore);
	return NULL;
}

static void cancelled_event_threads_leave_nothing_locked(void)
{
	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer does not survive asynchronous cancellation");
	for (int i = 0; i < 100; i++) {
		DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
		struct api_waiter waiter = { .evd = evd };
		DAT_EVENT event;
		DAT_CONN_QUAL qual;
		DAT_PSP_HANDLE psp = api_listen(evd, DAT_PSP_CONSUMER_FLAG, &qual);

		REQUIRE(pthread_create(&waiter.thread, NULL, event_thread, &waiter) == 0);
		REQUIRE_SOON(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_STATE);
		REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
		REQUIRE_SOON(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_STATE);
		REQUIRE(pthread_cancel(waiter.thread) == 0);
		api_wait_end(&waiter);
		CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
		CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	}
}

static void *end_when_cancelled(void *arg)
{
	DAT_EP_HANDLE ep = arg;

	pthread_cancel(pthread_self());
	CHECK_DAT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
	pthread_testcancel();
	return NULL;
}

/*
 * A call completes whatever system calls it makes: a thread that ended in one of them would leave the endpoint in use, and
 * the adapter open.
 */
static void cancelled_thread_comes_to_the_end_of_its_call(void)
{
	struct api_pair pair;
	pthread_t thread;
	void *result;

	api_pair_make(&pair, NULL);
	REQUIRE(pthread_create(&thread, NULL, end_when_cancelled, pair.a.ep) == 0);
	REQUIRE(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

/* For each trigger, one event is taken, by wait or by dequeue, and the CNO is waited on again. */
static void cno_triggers_for_each_completion(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	struct api_pair pair;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(dat_evd_modify_cno(pair.b.recv, cno), DAT_SUCCESS);
	for (uint64_t n = 0; n < 8; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, n), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, 0, 0), DAT_SUCCESS);
	for (uint64_t n = 0; n < 7; n++) {
		REQUIRE_DAT(dat_cno_wait(cno, api_patience(), &hint), DAT_SUCCESS);
		CHECK(hint == pair.b.recv);
		/* another event comes before this one is taken, so the EVD is never empty */
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, 64, n + 1, 0), DAT_SUCCESS);
		if (n % 2)
			API_DTO(pair.b.recv, pair.b.ep, n, DAT_DTO_SUCCESS, 64);
		else
			REQUIRE_DAT(dat_evd_dequeue(pair.b.recv, &event), DAT_SUCCESS);
	}
	REQUIRE_DAT(dat_cno_wait(cno, api_patience(), &hint), DAT_SUCCESS);
}

static void each_end_gets_one_established_and_one_disconnected(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	for (int i = 0; i < 10; i++) {
		api_disconnect(&pair);
		API_EMPTY(pair.a.connect);
		REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		api_pair_connect(&pair);
		API_EMPTY(pair.a.connect);
		API_EMPTY(pair.b.connect);
	}
	API_QUIET(pair.a.connect);
	API_QUIET(pair.b.connect);
}

static void request_event_names_its_service_point_and_qualifier(void)
{
	DAT_EVD_HANDLE cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	struct sockaddr_in local;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	struct api_end a;
	DAT_EVENT event;

	api_end_make(&a, NULL);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	API_EVENT(cr_evd, &event);
	arrival = &event.event_data.cr_arrival_event_data;
	CHECK(arrival->sp_handle.psp_handle == psp);
	CHECK_EQ_INT(arrival->conn_qual, qual);
	REQUIRE(arrival->local_ia_address_ptr != NULL);
	memcpy(&local, arrival->local_ia_address_ptr, sizeof(local));
	CHECK_EQ_INT(local.sin_family, AF_INET);
}

static const struct check_test tests[] = {
	CHECK_TEST(everybody_asks_for_version_1_2_not_thread_safe),
	CHECK_TEST(old_names_are_aliases),
	CHECK_TEST(provider_list_touches_only_what_it_fills),
	CHECK_TEST(every_listed_name_is_opened_or_fails_at_once),
	CHECK_TEST(unknown_name_is_provider_not_found_with_its_subtype),
	CHECK_TEST(ia_query_without_memory_for_the_answer_is_an_invalid_parameter),
	CHECK_TEST(ia_address_is_that_of_a_real_interface_where_there_is_one),
	CHECK_TEST(every_address_of_this_host_is_connected_to),
	CHECK_TEST(graceful_close_with_live_objects_changes_nothing_and_abrupt_close_cleans_up),
	CHECK_TEST(endpoint_with_a_freed_zone_is_an_invalid_handle),
	CHECK_TEST(query_with_a_handle_of_another_type_is_an_invalid_handle),
	CHECK_TEST(one_evd_takes_requests_and_connection_events),
	CHECK_TEST(one_evd_serves_both_directions_of_many_endpoints),
	CHECK_TEST(queue_of_an_evd_grows_with_its_endpoints),
	CHECK_TEST(evd_is_resized_under_live_streams),
	CHECK_TEST(very_long_queues_are_made),
	CHECK_TEST(dequeue_alone_makes_progress),
	CHECK_TEST(empty_queue_of_completions_is_the_bare_value),
	CHECK_TEST(cancelled_event_threads_leave_nothing_locked),
	CHECK_TEST(cancelled_thread_comes_to_the_end_of_its_call),
	CHECK_TEST(cno_triggers_for_each_completion),
	CHECK_TEST(each_end_gets_one_established_and_one_disconnected),
	CHECK_TEST(request_event_names_its_service_point_and_qualifier),
	CHECK_END
};

static const struct check_suite consumers = {
	.name = "consumers",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&consumers);
