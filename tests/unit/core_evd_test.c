/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues: waits, wake-ups, and what happens to them when the queue is freed. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core_world.h"
#include "providers/common/core/evd.h"

static DAT_EVD_HANDLE soft;

static void open_world(void)
{
	world_open();
	soft = world_evd(DAT_EVD_SOFTWARE_FLAG);
}

static DAT_RETURN post(DAT_EVD_HANDLE evd, uintptr_t what)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = (DAT_PVOID)what;
	return DAT->evd_post_se_func(evd, &event);
}

static DAT_EVD_PARAM query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0, sizeof(param));
	CHECK_DAT(DAT->evd_query_func(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

/* ------------------------------------------------------------------ a thread in dat_evd_wait */

struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold, nmore;
	DAT_EVENT event;
	DAT_RETURN ret;
	_Atomic bool left;
};

static void *waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = DAT->evd_wait_func(waiter->evd, waiter->timeout, waiter->threshold,
					 &waiter->event, &waiter->nmore);
	waiter->left = true;
	return NULL;
}

static void waiter_launch(struct waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold, DAT_TIMEOUT timeout)
{
	*waiter = (struct waiter){ .evd = evd, .timeout = timeout, .threshold = threshold };
	REQUIRE(!pthread_create(&waiter->thread, NULL, waiter_run, waiter));
}

/* Starts a waiter, and returns when it is in its wait. */
static void waiter_start(struct waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	waiter_launch(waiter, evd, threshold, DAT_TIMEOUT_INFINITE);
	REQUIRE_SOON(atomic_load(&((struct datp_evd *)evd)->waiter));
}

static DAT_RETURN waiter_end(struct waiter *waiter)
{
	REQUIRE_SOON(waiter->left);
	pthread_join(waiter->thread, NULL);
	return waiter->ret;
}

/* ------------------------------------------------------------------ queue */

static void create_is_enabled_waitable_and_empty(void)
{
	DAT_EVD_PARAM param = query(soft);

	CHECK_EQ_INT(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	CHECK_EQ_INT(param.evd_flags, DAT_EVD_SOFTWARE_FLAG);
	CHECK(param.evd_qlen >= 8);
	CHECK(param.cno_handle == DAT_HANDLE_NULL);
	CHECK(param.ia_handle == w.ia);
	CHECK_EMPTY(soft);
}

static void create_checks_its_arguments(void)
{
	DAT_EVD_HANDLE evd = &evd;

	CHECK_DAT(DAT->evd_create_func(NULL, 8, NULL, DAT_EVD_DTO_FLAG, &evd), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->evd_create_func(w.ia, 8, soft, DAT_EVD_DTO_FLAG, &evd),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_CNO);
	CHECK_DAT(DAT->evd_create_func(w.ia, 0, NULL, DAT_EVD_DTO_FLAG, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_create_func(w.ia, 1 << 20, NULL, DAT_EVD_DTO_FLAG, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_create_func(w.ia, 8, NULL, (DAT_EVD_FLAGS)0, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_create_func(w.ia, 8, NULL, (DAT_EVD_FLAGS)2, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_create_func(w.ia, 8, NULL, DAT_EVD_DTO_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK(evd == (DAT_EVD_HANDLE)&evd);
}

static void software_events_come_out_in_order(void)
{
	for (uintptr_t i = 1; i <= 5; i++)
		REQUIRE_DAT(post(soft, i), DAT_SUCCESS);
	for (uintptr_t i = 1; i <= 5; i++) {
		DAT_EVENT event;

		REQUIRE_DAT(DAT->evd_dequeue_func(soft, &event), DAT_SUCCESS);
		CHECK_EQ_INT(event.event_number, DAT_SOFTWARE_EVENT);
		CHECK(event.evd_handle == soft);
		CHECK(event.event_data.software_event_data.pointer == (DAT_PVOID)i);
	}
	CHECK_EMPTY(soft);
}

static void post_se_fills_the_queue_to_the_length_that_query_tells(void)
{
	DAT_COUNT qlen = query(soft).evd_qlen, n = 0;
	DAT_EVENT event;

	while (n <= qlen && post(soft, 1) == DAT_SUCCESS)
		n++;
	CHECK_EQ_INT(n, qlen);
	CHECK_DAT(post(soft, 1), DAT_QUEUE_FULL);
	CHECK_EMPTY(w.async);
	REQUIRE_DAT(DAT->evd_dequeue_func(soft, &event), DAT_SUCCESS);
	CHECK_DAT(post(soft, 1), DAT_SUCCESS);
}

static void post_se_wants_a_software_event_and_a_queue_for_it(void)
{
	DAT_EVENT event = { .event_number = DAT_DTO_COMPLETION_EVENT };

	CHECK_DAT(DAT->evd_post_se_func(soft, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_post_se_func(soft, &event), DAT_INVALID_PARAMETER);
	CHECK_DAT(post(w.dto, 1), DAT_INVALID_PARAMETER);
	CHECK_EMPTY(soft);
}

static void resize_keeps_what_is_queued_and_makes_room(void)
{
	DAT_COUNT qlen = query(soft).evd_qlen;
	DAT_EVENT event;

	for (DAT_COUNT i = 0; i < qlen; i++)
		REQUIRE_DAT(post(soft, (uintptr_t)i), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_resize_func(soft, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_resize_func(soft, 1 << 20), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(DAT->evd_resize_func(soft, 2 * qlen), DAT_SUCCESS);
	CHECK(query(soft).evd_qlen >= 2 * qlen);
	for (DAT_COUNT i = qlen; i < 2 * qlen; i++)
		REQUIRE_DAT(post(soft, (uintptr_t)i), DAT_SUCCESS);
	for (DAT_COUNT i = 0; i < 2 * qlen; i++) {
		REQUIRE_DAT(DAT->evd_dequeue_func(soft, &event), DAT_SUCCESS);
		CHECK(event.event_data.software_event_data.pointer == (DAT_PVOID)(uintptr_t)i);
	}
}

/* ------------------------------------------------------------------ waiting */

static void wait_returns_at_once_what_is_there(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
	REQUIRE_DAT(post(soft, 2), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_wait_func(soft, 0, 2, &event, &nmore), DAT_SUCCESS);
	CHECK(event.event_data.software_event_data.pointer == (DAT_PVOID)1);
	CHECK_EQ_INT(nmore, 1);
}

static void wait_that_runs_out_takes_nothing_and_counts(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore = -1;
	uint64_t start = datp_clock_us();

	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_wait_func(soft, 20000, 2, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	CHECK(datp_clock_us() - start >= 20000);
	CHECK_EQ_INT(nmore, 1);
	CHECK_DAT(DAT->evd_dequeue_func(soft, &event), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
}

static void wait_checks_its_arguments(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	CHECK_DAT(DAT->evd_wait_func(soft, 0, 0, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, -1, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, query(soft).evd_qlen + 1, &event, &nmore),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, NULL, &nmore), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, &event, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(DAT->evd_wait_func(w.pz, 0, 1, &event, &nmore), DAT_INVALID_HANDLE);
}

/* A handle of another type, or a freed one, is refused with the same subtype as by libdat. */
static void a_bad_handle_is_told_with_its_subtype(void)
{
	const DAT_RETURN bad = DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_REQUEST;
	DAT_EVD_HANDLE freed = world_evd(DAT_EVD_SOFTWARE_FLAG), handles[] = { w.pz, freed };
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	DAT_COUNT nmore;

	REQUIRE_DAT(DAT->evd_free_func(freed), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		CHECK_DAT(DAT->evd_query_func(handles[i], DAT_EVD_FIELD_ALL, &param), bad);
		CHECK_DAT(DAT->evd_modify_cno_func(handles[i], DAT_HANDLE_NULL), bad);
		CHECK_DAT(DAT->evd_enable_func(handles[i]), bad);
		CHECK_DAT(DAT->evd_disable_func(handles[i]), bad);
		CHECK_DAT(DAT->evd_wait_func(handles[i], 0, 1, &event, &nmore), bad);
		CHECK_DAT(DAT->evd_resize_func(handles[i], 16), bad);
		CHECK_DAT(post(handles[i], 1), bad);
		CHECK_DAT(DAT->evd_dequeue_func(handles[i], &event), bad);
		CHECK_DAT(DAT->evd_set_unwaitable_func(handles[i]), bad);
		CHECK_DAT(DAT->evd_clear_unwaitable_func(handles[i]), bad);
		CHECK_DAT(DAT->evd_free_func(handles[i]), bad);
	}
}

static void wait_wakes_for_the_threshold_and_not_before(void)
{
	struct waiter waiter;

	waiter_start(&waiter, soft, 3);
	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
	REQUIRE_DAT(post(soft, 2), DAT_SUCCESS);
	CHECK(!waiter.left);
	REQUIRE_DAT(post(soft, 3), DAT_SUCCESS);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	CHECK(waiter.event.event_data.software_event_data.pointer == (DAT_PVOID)1);
	CHECK_EQ_INT(waiter.nmore, 2);
}

/* As a peer can make it look that writes to what evd_arm looks at, or to the bell. */
static void wait_ends_in_time_though_there_may_always_be_a_completion(void)
{
	struct waiter waiter;

	loopback.always_ready = true;
	waiter_launch(&waiter, world_evd(DAT_EVD_DTO_FLAG), 1, 20000);
	CHECK_DAT(waiter_end(&waiter), DAT_TIMEOUT_EXPIRED);
}

static void a_second_waiter_and_a_dequeue_are_refused(void)
{
	struct waiter waiter;
	DAT_EVENT event;
	DAT_COUNT nmore;

	waiter_start(&waiter, soft, 1);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, &event, &nmore), DAT_INVALID_STATE);
	CHECK_DAT(DAT->evd_dequeue_func(soft, &event), DAT_INVALID_STATE);
	CHECK(!waiter.left);
	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
}

static void set_unwaitable_wakes_the_waiter_and_clear_lets_it_back(void)
{
	struct waiter waiter;
	DAT_EVENT event;
	DAT_COUNT nmore;

	waiter_start(&waiter, soft, 1);
	REQUIRE_DAT(DAT->evd_set_unwaitable_func(soft), DAT_SUCCESS);
	CHECK_DAT(waiter_end(&waiter), DAT_INVALID_STATE);
	CHECK_EQ_INT(query(soft).evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE);
	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, &event, &nmore), DAT_INVALID_STATE);
	REQUIRE_DAT(DAT->evd_clear_unwaitable_func(soft), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, &event, &nmore), DAT_SUCCESS);
}

static void nothing(int sig)
{
	(void)sig;
}

static void a_signal_interrupts_the_wait(void)
{
	struct sigaction action = { .sa_handler = nothing };
	struct waiter waiter;

	sigaction(SIGUSR1, &action, NULL);
	waiter_start(&waiter, soft, 1);
	/* the thread may not sleep yet, so the signal is repeated */
	while (!waiter.left) {
		pthread_kill(waiter.thread, SIGUSR1);
		usleep(1000);
	}
	CHECK_DAT(waiter_end(&waiter), DAT_INTERRUPTED_CALL);
	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
}

static void free_aborts_the_waiter(void)
{
	struct waiter waiter;

	waiter_start(&waiter, soft, 1);
	CHECK_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	/* the waiter has left when the free returns; the memory can still be read */
	CHECK(!atomic_load(&((struct datp_evd *)soft)->waiter));
	CHECK_DAT(waiter_end(&waiter), DAT_ABORT);
	CHECK_DAT(DAT->evd_free_func(soft), DAT_INVALID_HANDLE);
}

static void abrupt_close_aborts_all_waiters(void)
{
	DAT_EVD_HANDLE evds[4] = { soft, w.cr, w.dto, w.async };
	struct waiter waiters[4];

	for (int i = 0; i < 4; i++)
		waiter_start(&waiters[i], evds[i], 1);
	CHECK_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	w.ia = NULL;
	for (int i = 0; i < 4; i++)
		CHECK_DAT(waiter_end(&waiters[i]), DAT_ABORT);
}

static void *cancel_async_run(void *arg)
{
	struct waiter *waiter = arg;
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	return waiter_run(waiter);
}

/* Cancels a waiter while it sleeps, with either cancellation type, and checks that the EVD can be used as before. */
static void cancel_waiter(DAT_EVD_HANDLE evd, void *(*run)(void *))
{
	struct waiter waiter = { .evd = evd, .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };
	void *result;

	REQUIRE(!pthread_create(&waiter.thread, NULL, run, &waiter));
	REQUIRE_SOON(atomic_load(&((struct datp_evd *)evd)->waiter));
	pthread_cancel(waiter.thread);
	pthread_join(waiter.thread, &result);
	CHECK(result == PTHREAD_CANCELED);
	CHECK(!atomic_load(&((struct datp_evd *)evd)->waiter));
}

static void a_cancelled_waiter_leaves_the_queue_usable(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (int i = 0; i < 50; i++) {
		cancel_waiter(soft, waiter_run);
		cancel_waiter(soft, cancel_async_run);
		cancel_waiter(w.dto, waiter_run);
		cancel_waiter(w.dto, cancel_async_run);
	}
	REQUIRE_DAT(post(soft, 1), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_wait_func(soft, 0, 1, &event, &nmore), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_free_func(w.dto), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ completions */

static void completions_wake_a_waiter_and_count(void)
{
	DAT_EP_HANDLE a = world_ep(), b = world_ep_on(w.dto2, NULL);
	struct waiter waiter;

	world_pair(a, b);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_DAT(world_recv(b, 16 * i, 16, i), DAT_SUCCESS);
	waiter_start(&waiter, w.dto2, 3);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_DAT(world_send(a, 1024, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	CHECK_EQ_INT(waiter.nmore, 2);
	CHECK_DTO(w.dto2, 1, DAT_DTO_SUCCESS);
	CHECK_DTO(w.dto2, 2, DAT_DTO_SUCCESS);
}

static DAT_EVENT_NUMBER _Atomic first_taken;

static void *dequeue_run(void *evd)
{
	DAT_EVENT event;

	REQUIRE_SOON(DAT->evd_dequeue_func(evd, &event) == DAT_SUCCESS);
	first_taken = event.event_number;
	return NULL;
}

static pthread_t dequeuer;

/*
 * Queues an event and starts a thread that dequeues, when the poll has already got the earlier
 * completion.
 */
static void post_in_poll(struct datp_evd *evd)
{
	loopback.in_poll = NULL;
	REQUIRE_DAT(post(evd, 1), DAT_SUCCESS);
	REQUIRE(!pthread_create(&dequeuer, NULL, dequeue_run, evd));
	usleep(20000);
}

static void what_a_poll_found_goes_before_what_was_queued_meanwhile(void)
{
	DAT_EVD_HANDLE both = world_evd(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_EP_HANDLE a = world_ep(), b = world_ep_on(both, NULL);
	DAT_EP_STATE state;

	world_pair(a, b);
	REQUIRE_DAT(world_recv(b, 0, 16, 1), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 16, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	first_taken = 0;
	loopback.in_poll = post_in_poll;
	REQUIRE_DAT(DAT->ep_get_status_func(b, &state, NULL, NULL), DAT_SUCCESS);
	pthread_join(dequeuer, NULL);
	CHECK_EQ_INT(first_taken, DAT_DTO_COMPLETION_EVENT);
	world_expect(both, DAT_SOFTWARE_EVENT);
}

static DAT_EP_HANDLE ending;

/* Ends a connection whose events are on the EVD, and removes that event again. */
static void reset_in_poll(struct datp_evd *evd)
{
	uint32_t queued = atomic_load(&evd->queued);

	loopback.in_poll = NULL;
	REQUIRE_DAT(DAT->ep_disconnect_func(ending, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_SOON(atomic_load(&evd->queued) == queued + 1);
	REQUIRE_SOON(DAT->ep_reset_func(ending) == DAT_SUCCESS);
	CHECK_EQ_INT(atomic_load(&evd->queued), queued);
}

static void what_a_poll_found_stays_in_order_when_events_are_removed_meanwhile(void)
{
	DAT_EVD_HANDLE both = world_evd(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE a = world_ep(), b = world_ep_on(both, NULL), other = world_ep();
	DAT_EP_STATE state;

	world_pair(a, b);
	REQUIRE_DAT(DAT->ep_create_func(w.ia, w.pz, w.dto, w.dto, both, NULL, &ending), DAT_SUCCESS);
	REQUIRE_DAT(world_connect(ending, WORLD_QUAL, NULL), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cr_accept_func(world_request(), other, 0, NULL), DAT_SUCCESS);
	world_expect(both, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (uint64_t i = 1; i <= 3; i++) {
		REQUIRE_DAT(world_recv(b, 16 * i, 16, i), DAT_SUCCESS);
		REQUIRE_DAT(world_send(a, 1024, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
		if (i == 2)
			loopback.in_poll = reset_in_poll;
		REQUIRE_DAT(DAT->ep_get_status_func(b, &state, NULL, NULL), DAT_SUCCESS);
	}
	for (uint64_t i = 1; i <= 3; i++)
		CHECK_DTO(both, i, DAT_DTO_SUCCESS);
}

static void unsignalled_completions_do_not_wake_but_are_there(void)
{
	DAT_EP_ATTR attr = { .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
			     .recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG };
	DAT_EP_HANDLE a = world_ep_on(w.dto, &attr), b = world_ep_on(w.dto2, NULL);
	struct waiter waiter;
	DAT_EVENT event;
	DAT_COUNT nmore;

	world_pair(a, b);
	CHECK_EQ_INT(query(w.dto).evd_state & 0x30, DAT_EVD_STATE_CONFIG_NOTIFY);
	CHECK_DAT(DAT->evd_wait_func(w.dto, 0, 2, &event, &nmore), DAT_INVALID_STATE);
	waiter_start(&waiter, w.dto, 1);
	REQUIRE_DAT(world_send(a, 0, 16, 1, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(world_send(a, 0, 16, 2, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
	usleep(20000);
	CHECK(!waiter.left);
	REQUIRE_DAT(world_send(a, 0, 16, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	CHECK_EQ_INT(waiter.nmore, 2);
}

static void only_solicited_receives_wake_where_that_was_asked(void)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG };
	DAT_EVD_HANDLE requests = world_evd(DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE a = world_ep(), b;
	struct waiter waiter;

	REQUIRE_DAT(DAT->ep_create_func(w.ia, w.pz, w.dto2, requests, w.conn, &attr, &b),
		    DAT_SUCCESS);
	world_pair(a, b);
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(world_recv(b, 16 * i, 16, i), DAT_SUCCESS);
	waiter_start(&waiter, w.dto2, 1);
	REQUIRE_DAT(world_send(a, 64, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	usleep(20000);
	CHECK(!waiter.left);
	REQUIRE_DAT(world_send(a, 64, 16, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG), DAT_SUCCESS);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
}

static void free_of_a_fed_queue_is_refused(void)
{
	DAT_EP_HANDLE ep = world_ep();

	CHECK_DAT(DAT->evd_free_func(w.dto), DAT_INVALID_STATE);
	CHECK_DAT(DAT->evd_free_func(w.conn), DAT_INVALID_STATE);
	CHECK_DAT(DAT->evd_free_func(w.cr), DAT_INVALID_STATE);
	CHECK_DAT(DAT->evd_free_func(w.async), DAT_INVALID_STATE);
	REQUIRE_DAT(DAT->ep_free_func(ep), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_free_func(w.dto), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_free_func(w.conn), DAT_SUCCESS);
}

static void free_refuses_the_requests_that_nobody_saw(void)
{
	DAT_EP_HANDLE ep = world_ep();

	REQUIRE_DAT(world_connect(ep, WORLD_QUAL, NULL), DAT_SUCCESS);
	REQUIRE_SOON(loopback.crs == 1);
	REQUIRE_SOON(atomic_load(&((struct datp_evd *)w.cr)->queued) == 1);
	REQUIRE_DAT(DAT->psp_free_func(w.psp), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_free_func(w.cr), DAT_SUCCESS);
	world_expect(w.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK_EQ_INT(loopback.crs, 0);
}

/* Another thread has looked at the handle before it became invalid, and goes on when the queue has been freed. */
static void call_that_comes_too_late_for_a_queue_is_refused(void)
{
	struct datp_evd *freed = soft;
	DAT_CNO_HANDLE cno;

	REQUIRE_DAT(DAT->cno_create_func(w.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	CHECK_EQ_INT(evd_post_soft(freed, NULL), DATP_ERR_HANDLE_EVD_REQUEST);
	CHECK_EQ_INT(atomic_load(&freed->queued), 0);
	CHECK_EQ_INT(evd_resize(freed, 1024), DATP_ERR_HANDLE_EVD_REQUEST);
	CHECK_EQ_INT(evd_modify_cno(freed, cno), DATP_ERR_HANDLE_EVD_REQUEST);
	CHECK_DAT(DAT->cno_free_func(cno), DAT_SUCCESS);
}

static _Atomic bool in_wake, may_wake, is_freed;

static void hold_in_wake(struct datp_evd *evd)
{
	(void)evd;
	loopback.in_wake = NULL;
	in_wake = true;
	while (!may_wake)
		usleep(1000);
}

static void *poster_run(void *arg)
{
	(void)arg;
	CHECK_DAT(post(soft, 1), DAT_SUCCESS);
	return NULL;
}

static void *freer_run(void *arg)
{
	(void)arg;
	CHECK_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	is_freed = true;
	return NULL;
}

/* The waiter has its event, and frees the queue; the thread that has posted it is about to wake the waiter. */
static void free_waits_for_a_thread_that_wakes(void)
{
	struct sigaction action = { .sa_handler = nothing };
	pthread_t poster, freer;
	struct waiter waiter;

	sigaction(SIGUSR1, &action, NULL);
	in_wake = may_wake = is_freed = false;
	loopback.in_wake = hold_in_wake;
	waiter_start(&waiter, soft, 1);
	REQUIRE_SOON(atomic_load(&evd_priv(soft)->asleep));
	REQUIRE(!pthread_create(&poster, NULL, poster_run, NULL));
	REQUIRE_SOON(in_wake);
	while (!waiter.left) {
		pthread_kill(waiter.thread, SIGUSR1);
		usleep(1000);
	}
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	REQUIRE(!pthread_create(&freer, NULL, freer_run, NULL));
	usleep(50000);
	CHECK(!is_freed);
	may_wake = true;
	REQUIRE_SOON(is_freed);
	pthread_join(poster, NULL);
	pthread_join(freer, NULL);
}

static void *refuser_run(void *arg)
{
	(void)arg;
	CHECK_DAT(DAT->evd_set_unwaitable_func(soft), DAT_SUCCESS);
	return NULL;
}

/* The queue has been made unwaitable, which its program finds out and frees it, and the other thread is about to wake a waiter. */
static void free_waits_for_a_thread_that_makes_it_unwaitable(void)
{
	pthread_t refuser, freer;

	in_wake = may_wake = is_freed = false;
	loopback.in_wake = hold_in_wake;
	REQUIRE(!pthread_create(&refuser, NULL, refuser_run, NULL));
	REQUIRE_SOON(in_wake);
	REQUIRE(!pthread_create(&freer, NULL, freer_run, NULL));
	usleep(50000);
	CHECK(!is_freed);
	may_wake = true;
	REQUIRE_SOON(is_freed);
	pthread_join(refuser, NULL);
	pthread_join(freer, NULL);
}

static void async_errors_reach_the_async_queue(void)
{
	DAT_EP_HANDLE ep = world_ep();
	DAT_EVENT event;

	datp_ep_high(ep, false);
	event = world_next(w.async);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == ep);
	CHECK_EQ_INT(event.event_data.asynch_error_event_data.reason,
		     DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	datp_ia_error(w.ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	event = world_expect(w.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == w.ia);
}

static void async_errors_about_an_endpoint_go_when_it_is_freed(void)
{
	DAT_EP_HANDLE freed = world_ep(), kept = world_ep();
	DAT_COUNT qlen = query(w.async).evd_qlen;

	datp_ep_high(freed, false);
	datp_ep_high(kept, false);
	datp_ep_high(freed, false);
	REQUIRE_DAT(DAT->ep_free_func(freed), DAT_SUCCESS);
	CHECK(world_next(w.async).event_data.asynch_error_event_data.dat_handle == kept);
	CHECK_EMPTY(w.async);
	/* the queue has room for as many errors as before */
	for (DAT_COUNT i = 0; i < qlen; i++)
		datp_ep_high(kept, false);
	for (DAT_COUNT i = 0; i < qlen; i++)
		world_next(w.async);
	CHECK_EMPTY(w.async);
}

static void async_errors_about_an_endpoint_go_when_it_is_reset(void)
{
	DAT_EP_HANDLE a = world_ep(), b = world_ep_on(w.dto2, NULL);

	world_pair(a, b);
	datp_ep_high(a, false);
	datp_ep_high(b, false);
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (int i = 0; i < 2; i++)
		world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(DAT->ep_reset_func(a), DAT_SUCCESS);
	CHECK(world_next(w.async).event_data.asynch_error_event_data.dat_handle == b);
	CHECK_EMPTY(w.async);
}

static void async_errors_that_find_no_room_are_logged_once(void)
{
	const char *said;

	check_stderr_begin();
	for (int i = 0; i < 100; i++)
		datp_ia_error(w.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	/* the service thread logs it, and has nothing left to log when the adapter is closed */
	CHECK_SOON(check_stderr_holds("asynchronous errors are lost"));
	world_close();
	said = strstr(check_stderr_end(), "asynchronous errors are lost");
	world_open();
	REQUIRE(said != NULL);
	CHECK_HAS_STR(said, "take the events of that EVD, or open the adapter with a larger async_evd_min_qlen");
	CHECK(!strstr(said + 1, "asynchronous errors are lost"));
}

/* ------------------------------------------------------------------ many threads */

enum { POSTS = 2000, TAKERS = 3 };

static _Atomic int taken;

static void *taker_run(void *arg)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	bool wait = arg != NULL;

	while (taken < POSTS) {
		DAT_RETURN ret = wait ? DAT->evd_wait_func(soft, 1000, 1, &event, &nmore) :
				 DAT->evd_dequeue_func(soft, &event);

		if (ret == DAT_SUCCESS)
			taken++;
		else if (!wait)
			sched_yield();
	}
	return NULL;
}

static void every_event_is_taken_once_by_somebody(void)
{
	pthread_t threads[TAKERS];

	taken = 0;
	for (intptr_t i = 0; i < TAKERS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, taker_run, (void *)i));
	for (int i = 0; i < POSTS;) {
		if (post(soft, 1) == DAT_SUCCESS)
			i++;
		else
			sched_yield();
	}
	for (int i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ_INT(taken, POSTS);
	CHECK_EMPTY(soft);
}

static const struct check_test tests[] = {
	CHECK_TEST(create_is_enabled_waitable_and_empty),
	CHECK_TEST(create_checks_its_arguments),
	CHECK_TEST(software_events_come_out_in_order),
	CHECK_TEST(post_se_fills_the_queue_to_the_length_that_query_tells),
	CHECK_TEST(post_se_wants_a_software_event_and_a_queue_for_it),
	CHECK_TEST(resize_keeps_what_is_queued_and_makes_room),
	CHECK_TEST(wait_returns_at_once_what_is_there),
	CHECK_TEST(wait_that_runs_out_takes_nothing_and_counts),
	CHECK_TEST(wait_checks_its_arguments),
	CHECK_TEST(a_bad_handle_is_told_with_its_subtype),
	CHECK_TEST(wait_wakes_for_the_threshold_and_not_before),
	CHECK_TEST(wait_ends_in_time_though_there_may_always_be_a_completion),
	CHECK_TEST(a_second_waiter_and_a_dequeue_are_refused),
	CHECK_TEST(set_unwaitable_wakes_the_waiter_and_clear_lets_it_back),
	CHECK_TEST(a_signal_interrupts_the_wait),
	CHECK_TEST(free_aborts_the_waiter),
	CHECK_TEST(abrupt_close_aborts_all_waiters),
	CHECK_TEST(a_cancelled_waiter_leaves_the_queue_usable),
	CHECK_TEST(completions_wake_a_waiter_and_count),
	CHECK_TEST(what_a_poll_found_goes_before_what_was_queued_meanwhile),
	CHECK_TEST(what_a_poll_found_stays_in_order_when_events_are_removed_meanwhile),
	CHECK_TEST(unsignalled_completions_do_not_wake_but_are_there),
	CHECK_TEST(only_solicited_receives_wake_where_that_was_asked),
	CHECK_TEST(free_of_a_fed_queue_is_refused),
	CHECK_TEST(free_refuses_the_requests_that_nobody_saw),
	CHECK_TEST(call_that_comes_too_late_for_a_queue_is_refused),
	CHECK_TEST(free_waits_for_a_thread_that_wakes),
	CHECK_TEST(free_waits_for_a_thread_that_makes_it_unwaitable),
	CHECK_TEST(async_errors_reach_the_async_queue),
	CHECK_TEST(async_errors_about_an_endpoint_go_when_it_is_freed),
	CHECK_TEST(async_errors_about_an_endpoint_go_when_it_is_reset),
	CHECK_TEST(async_errors_that_find_no_room_are_logged_once),
	CHECK_TEST(every_event_is_taken_once_by_somebody),
	CHECK_END,
};

static const struct check_suite evd = {
	.name = "evd", .setup = open_world, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&evd);
