/* SPDX-License-Identifier: BSD-2-Clause */
/* EVDs: creation, queries, waits, thresholds, waitability, resize and free. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

static DAT_EVD_PARAM query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static void post(DAT_EVD_HANDLE evd, uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		REQUIRE_DAT(api_post_se(evd, n), DAT_SUCCESS);
}

static void new_evd_is_enabled_waitable_and_empty(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);
	DAT_EVD_PARAM param = query(evd);
	DAT_EVENT event;

	CHECK(param.ia_handle == api.ia);
	CHECK(param.evd_qlen >= 8);
	CHECK(param.cno_handle == DAT_HANDLE_NULL);
	CHECK_EQ_INT(param.evd_flags, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);
	CHECK(param.evd_state & DAT_EVD_STATE_ENABLED);
	CHECK(param.evd_state & DAT_EVD_STATE_WAITABLE);
	CHECK(!(param.evd_state & (DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE)));
	CHECK_DAT(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
}

static void query_fills_each_field_asked_for(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = api_evd_cno(8, DAT_EVD_CR_FLAG, cno);
	DAT_EVD_PARAM param;

	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia);
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
	CHECK(param.evd_qlen >= 8);
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &param), DAT_SUCCESS);
	CHECK(param.evd_state & DAT_EVD_STATE_ENABLED);
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
	CHECK(param.cno_handle == cno);
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_EVD_FLAGS, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.evd_flags, DAT_EVD_CR_FLAG);
}

static void query_refuses_bad_masks_and_no_memory(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_EVD_PARAM param;

	CHECK_DAT(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)(DAT_EVD_FIELD_ALL + 1), &param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)-1, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
}

static void queue_holds_at_least_what_was_asked_for(void)
{
	static const DAT_COUNT lengths[] = { 1, 2, 7, 100, 6000, 40000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		DAT_EVD_HANDLE evd = api_evd(lengths[i], DAT_EVD_SOFTWARE_FLAG);
		uint64_t n = (uint64_t)lengths[i];

		CHECK(query(evd).evd_qlen >= lengths[i]);
		post(evd, 1, n);
		for (uint64_t k = 1; k <= n; k++)
			API_SE(evd, k);
		CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	}
}

/* The order of DAT_EVD_FLAGS is that of the provider's matrix of streams that may be merged. */
static const DAT_EVD_FLAGS streams[6] = { DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG,
					  DAT_EVD_DTO_FLAG,	 DAT_EVD_CONNECTION_FLAG,
					  DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG };

static void streams_merge_as_the_provider_says(void)
{
	for (int i = 0; i < 6; i++) {
		CHECK(api.prov.evd_stream_merging_supported[i][i]);
		for (int j = 0; j < 6; j++) {
			DAT_EVD_FLAGS flags = streams[i] | streams[j];
			DAT_EVD_HANDLE evd;

			CHECK_EQ_INT(api.prov.evd_stream_merging_supported[i][j],
				     api.prov.evd_stream_merging_supported[j][i]);
			if (api.prov.evd_stream_merging_supported[i][j])
				CHECK_DAT(dat_evd_create(api.ia, 8, NULL, flags, &evd),
					  DAT_SUCCESS);
			else
				CHECK_DAT(dat_evd_create(api.ia, 8, NULL, flags, &evd),
					  DAT_MODEL_NOT_SUPPORTED);
		}
	}
}

static void create_refuses_bad_arguments(void)
{
	DAT_EVD_HANDLE evd;

	CHECK_DAT(dat_evd_create(api.ia, 0, NULL, DAT_EVD_DTO_FLAG, &evd), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_create(api.ia, -1, NULL, DAT_EVD_DTO_FLAG, &evd), DAT_INVALID_PARAMETER);
	if (api.attr.max_evd_qlen < 0x7fffffff)
		CHECK_DAT(dat_evd_create(api.ia, api.attr.max_evd_qlen + 1, NULL, DAT_EVD_DTO_FLAG,
					 &evd),
			  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_create(api.ia, 8, NULL, (DAT_EVD_FLAGS)0, &evd), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_create(api.ia, 8, NULL, (DAT_EVD_FLAGS)0x1000, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_create(api.ia, 8, NULL, (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | 0x2), &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_create(api.ia, 8, NULL, DAT_EVD_DTO_FLAG, NULL), DAT_INVALID_PARAMETER);
}

static void disable_and_unwaitable_show_in_the_state(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);

	CHECK_DAT(dat_evd_disable(evd), DAT_SUCCESS);
	CHECK_DAT(dat_evd_disable(evd), DAT_SUCCESS);
	CHECK((query(evd).evd_state & 0xf) == (DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE));
	CHECK_DAT(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	CHECK_DAT(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	CHECK((query(evd).evd_state & 0xf) == (DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE));
	CHECK_DAT(dat_evd_enable(evd), DAT_SUCCESS);
	CHECK_DAT(dat_evd_enable(evd), DAT_SUCCESS);
	CHECK((query(evd).evd_state & 0xf) == (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE));
	CHECK_DAT(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	CHECK_DAT(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	CHECK((query(evd).evd_state & 0xf) == (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE));
}

static void dequeue_takes_events_in_order(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;

	post(evd, 1, 5);
	for (uintptr_t n = 1; n <= 5; n++) {
		memset(&event, 0xa5, sizeof(event));
		REQUIRE_DAT(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
		CHECK_EQ_INT(event.event_number, DAT_SOFTWARE_EVENT);
		CHECK(event.evd_handle == evd);
		CHECK((uintptr_t)event.event_data.software_event_data.pointer == n);
	}
	CHECK_DAT(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	CHECK_DAT(dat_evd_dequeue(evd, NULL), DAT_INVALID_PARAMETER);
}

static void wait_takes_the_first_event_and_tells_how_many_are_left(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;
	DAT_COUNT nmore = -1;

	post(evd, 1, 5);
	REQUIRE_DAT(dat_evd_wait(evd, api_patience(), 3, &event, &nmore), DAT_SUCCESS);
	CHECK((uintptr_t)event.event_data.software_event_data.pointer == 1);
	CHECK_EQ_INT(nmore, 4);
	REQUIRE_DAT(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_SUCCESS);
	CHECK((uintptr_t)event.event_data.software_event_data.pointer == 2);
	CHECK_EQ_INT(nmore, 3);
}

static void wait_and_dequeue_take_turns_in_order(void)
{
	DAT_EVD_HANDLE evd = api_evd(32, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;

	post(evd, 1, 20);
	for (uintptr_t n = 1; n <= 20; n += 2) {
		API_SE(evd, n);
		REQUIRE_DAT(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
		CHECK((uintptr_t)event.event_data.software_event_data.pointer == n + 1);
	}
}

static void wait_of_zero_polls(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;
	DAT_COUNT nmore;

	CHECK_DAT(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	post(evd, 1, 1);
	CHECK_DAT(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_SUCCESS);
}

static void wait_that_times_out_takes_nothing(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;
	DAT_COUNT nmore = -1;
	uint64_t start;

	post(evd, 1, 2);
	start = check_now_ms();
	CHECK_DAT(dat_evd_wait(evd, 30000, 3, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	CHECK(check_now_ms() - start >= 29); /* 29, because of the clock's granularity */
	CHECK_EQ_INT(nmore, 2);
	API_SE(evd, 1);
	API_SE(evd, 2);
}

static void wait_refuses_bad_arguments(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen = query(evd).evd_qlen, nmore;
	DAT_EVENT event;

	post(evd, 1, 1);
	CHECK_DAT(dat_evd_wait(evd, 0, 0, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_wait(evd, 0, -1, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_wait(evd, 0, qlen + 1, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_wait(evd, 0, 1, NULL, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_wait(evd, 0, 1, &event, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_wait(evd, 0, qlen, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	API_SE(evd, 1);
}

static void waiter_wakes_at_its_threshold(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct api_waiter waiter;

	api_wait_start(&waiter, evd, 3);
	post(evd, 1, 2);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	post(evd, 3, 3);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK((uintptr_t)waiter.event.event_data.software_event_data.pointer == 1);
	CHECK_EQ_INT(waiter.nmore, 2);
}

static void second_waiter_is_refused_and_the_first_undisturbed(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct api_waiter waiter;
	DAT_EVENT event;
	DAT_COUNT nmore;

	api_wait_start(&waiter, evd, 2);
	CHECK_DAT(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_INVALID_STATE);
	post(evd, 1, 1);
	CHECK_DAT(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_INVALID_STATE);
	CHECK(!api_wait_done(&waiter));
	post(evd, 2, 2);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	API_SE(evd, 2);
}

static void set_unwaitable_wakes_the_waiter(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct api_waiter waiter;

	api_wait_start(&waiter, evd, 1);
	CHECK_DAT(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
}

static void unwaitable_evd_refuses_waits_and_keeps_its_events(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;
	DAT_COUNT nmore;

	REQUIRE_DAT(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	post(evd, 1, 2);
	CHECK_DAT(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_INVALID_STATE);
	REQUIRE_DAT(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	CHECK((uintptr_t)event.event_data.software_event_data.pointer == 1);
	REQUIRE_DAT(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	API_SE(evd, 2);
}

static void waiter_wakes_on_a_disabled_evd(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct api_waiter waiter;

	REQUIRE_DAT(dat_evd_disable(evd), DAT_SUCCESS);
	api_wait_start(&waiter, evd, 1);
	post(evd, 7, 7);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK((uintptr_t)waiter.event.event_data.software_event_data.pointer == 7);
}

static void on_signal(int number)
{
	(void)number;
}

static void signal_interrupts_a_wait_and_takes_nothing(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct api_waiter waiter;

	REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
	api_wait_start(&waiter, evd, 2);
	post(evd, 1, 1);
	/* A signal that comes just before the thread sleeps is lost, so it is repeated. */
	REQUIRE_SOON(pthread_kill(waiter.thread, SIGUSR1) != 0 || api_wait_done(&waiter));
	api_wait_end(&waiter);
	sigaction(SIGUSR1, &old, NULL);
	CHECK_DAT(waiter.ret, DAT_INTERRUPTED_CALL);
	API_SE(evd, 1);
}

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static atomic_int signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static atomic_bool waited;

static void *wait_without_a_timeout(void *arg)
{
	struct api_waiter *waiter = arg;

	waiter->ret = dat_evd_wait(waiter->evd, DAT_TIMEOUT_INFINITE, 1, &waiter->event, &waiter->nmore);
	waited = true;
	return NULL;
}

/* Profilers and timers of a program set their handlers so. */
static void handler_that_restarts_ends_no_wait(void)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART }, old;
	struct api_waiter waiter = { .evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG) };

	if (api_over_verbs())
		check_skip("the wait is in poll(2), which each handler ends");
	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS)
		check_skip("before Linux 5.16 each handler ends the wait");
	REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
	waited = false;
	REQUIRE(pthread_create(&waiter.thread, NULL, wait_without_a_timeout, &waiter) == 0);
	for (signals = 0; signals < 20 && !waited;) {
		REQUIRE(pthread_kill(waiter.thread, SIGUSR1) == 0);
		usleep(2000);
	}
	CHECK(!waited);
	post(waiter.evd, 1, 1);
	REQUIRE(pthread_join(waiter.thread, NULL) == 0);
	sigaction(SIGUSR1, &old, NULL);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
}

static void *wait_asynchronously(void *arg)
{
	struct api_waiter *waiter = arg;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	dat_evd_wait(waiter->evd, DAT_TIMEOUT_INFINITE, 1, &waiter->event, &waiter->nmore);
	return NULL;
}

/* Programs end their event threads this way, then free the EVD. */
static void cancelled_waiter_is_no_waiter_any_more(void)
{
	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer does not survive asynchronous cancellation");
	for (int round = 0; round < 20; round++) {
		DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
		struct api_waiter waiter = { .evd = evd };
		DAT_EVENT event;

		REQUIRE(pthread_create(&waiter.thread, NULL, wait_asynchronously, &waiter) == 0);
		REQUIRE_SOON(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_STATE);
		REQUIRE(pthread_cancel(waiter.thread) == 0);
		api_wait_end(&waiter);
		if (round & 1) {
			post(evd, 1, 2);
			API_SE(evd, 1);
			REQUIRE_DAT(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
		}
		CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	}
}

static void software_event_travels_unchanged(void)
{
	static const uintptr_t odd[] = { 0, 1, UINTPTR_MAX, 0xdeadbeefcafef00d };
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);

	for (int i = 0; i < 4; i++)
		REQUIRE_DAT(api_post_se(evd, odd[i]), DAT_SUCCESS);
	for (int i = 0; i < 4; i++)
		API_SE(evd, odd[i]);
}

static void full_queue_refuses_software_events_and_loses_nothing(void)
{
	DAT_EVD_HANDLE evd = api_evd(4, DAT_EVD_SOFTWARE_FLAG);
	uint64_t qlen = (uint64_t)query(evd).evd_qlen;

	post(evd, 1, qlen);
	CHECK_DAT(api_post_se(evd, qlen + 1), DAT_QUEUE_FULL);
	CHECK_DAT(api_post_se(evd, qlen + 1), DAT_QUEUE_FULL);
	for (uint64_t n = 1; n <= qlen; n++)
		API_SE(evd, n);
	API_EMPTY(evd);
	API_QUIET(api.async);
	post(evd, 1, 1);
	API_SE(evd, 1);
}

static void post_se_refuses_what_is_no_software_event(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG), dto = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVENT event = { .event_number = DAT_DTO_COMPLETION_EVENT };

	CHECK_DAT(dat_evd_post_se(evd, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_post_se(evd, &event), DAT_INVALID_PARAMETER);
	CHECK_DAT(api_post_se(dto, 1), DAT_INVALID_PARAMETER);
	API_EMPTY(evd);
	API_EMPTY(dto);
}

static void resize_grows_the_queue_and_keeps_events(void)
{
	DAT_EVD_HANDLE evd = api_evd(4, DAT_EVD_SOFTWARE_FLAG);
	uint64_t qlen = (uint64_t)query(evd).evd_qlen;

	post(evd, 1, qlen);
	REQUIRE_DAT(dat_evd_resize(evd, (DAT_COUNT)qlen + 100), DAT_SUCCESS);
	CHECK(query(evd).evd_qlen >= (DAT_COUNT)qlen + 100);
	post(evd, qlen + 1, qlen + 100);
	for (uint64_t n = 1; n <= qlen + 100; n++)
		API_SE(evd, n);
	API_EMPTY(evd);
}

static void resize_below_the_fill_loses_nothing(void)
{
	DAT_EVD_HANDLE evd = api_evd(16, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT before = query(evd).evd_qlen;
	DAT_RETURN ret;

	post(evd, 1, 8);
	ret = dat_evd_resize(evd, 4);
	if (ret != DAT_SUCCESS) {
		CHECK_DAT(ret, DAT_INVALID_STATE);
		CHECK_EQ_INT(query(evd).evd_qlen, before);
	}
	for (uint64_t n = 1; n <= 8; n++)
		API_SE(evd, n);
	CHECK_DAT(dat_evd_resize(evd, 4), DAT_SUCCESS);
	CHECK(query(evd).evd_qlen >= 4);
	post(evd, 1, 4);
	for (uint64_t n = 1; n <= 4; n++)
		API_SE(evd, n);
}

static void resize_again_and_again_keeps_the_order(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	uint64_t in = 1, out = 1;

	for (DAT_COUNT round = 0; round < 50; round++) {
		REQUIRE_DAT(dat_evd_resize(evd, 20 + round * 37 % 100), DAT_SUCCESS);
		for (int k = 0; k < 7; k++)
			REQUIRE_DAT(api_post_se(evd, in++), DAT_SUCCESS);
		for (int k = 0; k < 7 - (round < 10); k++)
			API_SE(evd, out++);
	}
	while (out < in)
		API_SE(evd, out++);
	API_EMPTY(evd);
}

static void resize_refuses_bad_lengths(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);

	CHECK_DAT(dat_evd_resize(evd, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_resize(evd, -1), DAT_INVALID_PARAMETER);
	if (api.attr.max_evd_qlen < 0x7fffffff)
		CHECK_DAT(dat_evd_resize(evd, api.attr.max_evd_qlen + 1), DAT_INVALID_PARAMETER);
	CHECK(query(evd).evd_qlen >= 8);
}

static void async_evd_can_be_resized_waited_on_and_given_a_cno(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_PARAM param = query(api.async);
	DAT_EVENT event;
	DAT_COUNT nmore;

	CHECK(param.evd_flags & DAT_EVD_ASYNC_FLAG);
	CHECK(param.evd_qlen >= 8);
	CHECK(param.cno_handle == DAT_HANDLE_NULL);
	CHECK_DAT(dat_evd_resize(api.async, 100), DAT_SUCCESS);
	CHECK(query(api.async).evd_qlen >= 100);
	CHECK_DAT(dat_evd_modify_cno(api.async, cno), DAT_SUCCESS);
	CHECK(query(api.async).cno_handle == cno);
	CHECK_DAT(dat_evd_modify_cno(api.async, DAT_HANDLE_NULL), DAT_SUCCESS);
	CHECK_DAT(dat_evd_wait(api.async, 1000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
}

static void free_with_events_queued_succeeds(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);

	post(evd, 1, 5);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
}

static void free_is_refused_while_an_endpoint_feeds_the_evd(void)
{
	struct api_end end;

	api_end_make(&end, NULL);
	CHECK_DAT(dat_evd_free(end.recv), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_free(end.request), DAT_INVALID_STATE);
	CHECK_DAT(dat_evd_free(end.connect), DAT_INVALID_STATE);
	CHECK(query(end.recv).evd_qlen > 0);
	api_end_free(&end);
}

static void free_is_refused_while_a_service_point_feeds_the_evd(void)
{
	DAT_EVD_HANDLE psp_evd = api_evd(8, DAT_EVD_CR_FLAG), rsp_evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
	struct api_end end;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = api_listen(psp_evd, DAT_PSP_CONSUMER_FLAG, &qual);

	CHECK_DAT(dat_evd_free(psp_evd), DAT_INVALID_STATE);
	/* This frees the qualifier, which the RSP below then uses: the adapter is known to accept it. */
	REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(psp_evd), DAT_SUCCESS);
	api_end_make(&end, NULL);
	REQUIRE_DAT(dat_rsp_create(api.ia, qual, end.ep, rsp_evd, &rsp), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(rsp_evd), DAT_INVALID_STATE);
	REQUIRE_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(rsp_evd), DAT_SUCCESS);
}

/*
 * A mistake of the consumer's: both readings of the specification are accepted, a hang or a crash
 * is not.
 */
static void free_under_a_waiter_aborts_it_or_is_refused(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct api_waiter waiter;
	DAT_RETURN ret;

	api_wait_start(&waiter, evd, 1);
	ret = dat_evd_free(evd);
	if (ret != DAT_SUCCESS) {
		CHECK_DAT(ret, DAT_INVALID_STATE);
		CHECK(!api_wait_done(&waiter));
		post(evd, 1, 1);
	}
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, ret == DAT_SUCCESS ? DAT_ABORT : DAT_SUCCESS);
}

static void close_of_the_ia_aborts_waiters(void)
{
	DAT_EVD_HANDLE one = api_evd(8, DAT_EVD_SOFTWARE_FLAG), two = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_waiter first, second;

	api_wait_start(&first, one, 1);
	api_wait_start(&second, two, 1);
	api_close();
	api_wait_end(&first);
	api_wait_end(&second);
	CHECK_DAT(first.ret, DAT_ABORT);
	CHECK_DAT(second.ret, DAT_ABORT);
}

static const struct check_test tests[] = {
	CHECK_TEST(new_evd_is_enabled_waitable_and_empty),
	CHECK_TEST(query_fills_each_field_asked_for),
	CHECK_TEST(query_refuses_bad_masks_and_no_memory),
	CHECK_TEST(queue_holds_at_least_what_was_asked_for),
	CHECK_TEST(streams_merge_as_the_provider_says),
	CHECK_TEST(create_refuses_bad_arguments),
	CHECK_TEST(disable_and_unwaitable_show_in_the_state),
	CHECK_TEST(dequeue_takes_events_in_order),
	CHECK_TEST(wait_takes_the_first_event_and_tells_how_many_are_left),
	CHECK_TEST(wait_and_dequeue_take_turns_in_order),
	CHECK_TEST(wait_of_zero_polls),
	CHECK_TEST(wait_that_times_out_takes_nothing),
	CHECK_TEST(wait_refuses_bad_arguments),
	CHECK_TEST(waiter_wakes_at_its_threshold),
	CHECK_TEST(second_waiter_is_refused_and_the_first_undisturbed),
	CHECK_TEST(set_unwaitable_wakes_the_waiter),
	CHECK_TEST(unwaitable_evd_refuses_waits_and_keeps_its_events),
	CHECK_TEST(waiter_wakes_on_a_disabled_evd),
	CHECK_TEST(signal_interrupts_a_wait_and_takes_nothing),
	CHECK_TEST(handler_that_restarts_ends_no_wait),
	CHECK_TEST(cancelled_waiter_is_no_waiter_any_more),
	CHECK_TEST(software_event_travels_unchanged),
	CHECK_TEST(full_queue_refuses_software_events_and_loses_nothing),
	CHECK_TEST(post_se_refuses_what_is_no_software_event),
	CHECK_TEST(resize_grows_the_queue_and_keeps_events),
	CHECK_TEST(resize_below_the_fill_loses_nothing),
	CHECK_TEST(resize_again_and_again_keeps_the_order),
	CHECK_TEST(resize_refuses_bad_lengths),
	CHECK_TEST(async_evd_can_be_resized_waited_on_and_given_a_cno),
	CHECK_TEST(free_with_events_queued_succeeds),
	CHECK_TEST(free_is_refused_while_an_endpoint_feeds_the_evd),
	CHECK_TEST(free_is_refused_while_a_service_point_feeds_the_evd),
	CHECK_TEST(free_under_a_waiter_aborts_it_or_is_refused),
	CHECK_TEST(close_of_the_ia_aborts_waiters),
	CHECK_END
};

static const struct check_suite evd = {
	.name = "evd",
	.setup = api_open,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&evd);
