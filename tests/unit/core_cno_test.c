/* SPDX-License-Identifier: BSD-2-Clause */
/* CNOs: one trigger for each event, waiters, the agent. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core_world.h"
#include "providers/common/core/evd.h"
#include "providers/common/base/notify.h"

static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE soft, soft2;

static DAT_EVD_HANDLE evd_on(DAT_CNO_HANDLE on, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	REQUIRE_DAT(DAT->evd_create_func(w.ia, 8, on, flags, &evd), DAT_SUCCESS);
	return evd;
}

static void open_world(void)
{
	world_open();
	REQUIRE_DAT(DAT->cno_create_func(w.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	soft = evd_on(cno, DAT_EVD_SOFTWARE_FLAG);
	soft2 = evd_on(cno, DAT_EVD_SOFTWARE_FLAG);
}

static void post(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	REQUIRE_DAT(DAT->evd_post_se_func(evd, &event), DAT_SUCCESS);
}

static void take(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	REQUIRE_DAT(DAT->evd_dequeue_func(evd, &event), DAT_SUCCESS);
}

#define CHECK_TRIGGER(wanted)							\
	do {									\
		DAT_EVD_HANDLE evd_ = NULL;					\
		CHECK_DAT(DAT->cno_wait_func(cno, world_patience(), &evd_), DAT_SUCCESS);	\
		CHECK(evd_ == (wanted));					\
	} while (0)

#define CHECK_QUIET(timeout)							\
	do {									\
		DAT_EVD_HANDLE evd_ = &evd_;					\
		CHECK_DAT(DAT->cno_wait_func(cno, timeout, &evd_), DAT_QUEUE_EMPTY);	\
		CHECK(evd_ == DAT_HANDLE_NULL);					\
	} while (0)

/* ------------------------------------------------------------------ waiters */

struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	_Atomic bool left;
};

static void *waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	waiter->evd = &waiter->evd;
	waiter->ret = DAT->cno_wait_func(cno, DAT_TIMEOUT_INFINITE, &waiter->evd);
	waiter->left = true;
	return NULL;
}

static void waiter_start(struct waiter *waiter, uint32_t count)
{
	memset(waiter, 0, sizeof(*waiter));
	REQUIRE(!pthread_create(&waiter->thread, NULL, waiter_run, waiter));
	REQUIRE_SOON(atomic_load(&((struct datp_cno *)cno)->waiters) == count);
}

static DAT_RETURN waiter_end(struct waiter *waiter)
{
	REQUIRE_SOON(waiter->left);
	pthread_join(waiter->thread, NULL);
	return waiter->ret;
}

/* ------------------------------------------------------------------ triggers */

static void a_trigger_names_its_queue_and_takes_no_event(void)
{
	post(soft2);
	CHECK_TRIGGER(soft2);
	take(soft2);
	CHECK_QUIET(0);
}

static void each_event_triggers_although_the_queue_never_becomes_empty(void)
{
	for (int i = 0; i < 3; i++)
		post(soft);
	CHECK_TRIGGER(soft);
	take(soft);
	post(soft);
	for (int i = 0; i < 3; i++) {
		CHECK_TRIGGER(soft);
		take(soft);
	}
	CHECK_QUIET(0);
}

static void a_drained_queue_triggers_no_more(void)
{
	for (int i = 0; i < 3; i++)
		post(soft);
	CHECK_TRIGGER(soft);
	for (int i = 0; i < 3; i++)
		take(soft);
	CHECK_QUIET(0);
	post(soft);
	CHECK_TRIGGER(soft);
}

static void triggers_of_several_queues_take_turns(void)
{
	DAT_EVD_HANDLE first, second;

	for (int i = 0; i < 2; i++) {
		post(soft);
		post(soft2);
	}
	REQUIRE_DAT(DAT->cno_wait_func(cno, 0, &first), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cno_wait_func(cno, 0, &second), DAT_SUCCESS);
	CHECK(first != second);
	CHECK_TRIGGER(first);
	CHECK_TRIGGER(second);
	CHECK_QUIET(0);
}

static void a_wait_that_runs_out_is_queue_empty_and_not_early(void)
{
	uint64_t start = datp_clock_us();

	CHECK_QUIET(20000);
	CHECK(datp_clock_us() - start >= 20000);
}

static void wait_checks_its_arguments(void)
{
	DAT_EVD_HANDLE evd;

	CHECK_DAT(DAT->cno_wait_func(NULL, 0, &evd), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->cno_wait_func(soft, 0, &evd), DAT_INVALID_HANDLE);
	CHECK_DAT(DAT->cno_wait_func(cno, 0, NULL), DAT_INVALID_PARAMETER);
}

static void a_disabled_queue_does_not_trigger(void)
{
	REQUIRE_DAT(DAT->evd_disable_func(soft), DAT_SUCCESS);
	post(soft);
	CHECK_QUIET(0);
	take(soft);
	REQUIRE_DAT(DAT->evd_enable_func(soft), DAT_SUCCESS);
	post(soft);
	CHECK_TRIGGER(soft);
}

static void *evd_waiter_run(void *arg)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	*(DAT_RETURN *)arg = DAT->evd_wait_func(soft, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	return NULL;
}

static void a_waiter_on_the_queue_goes_before_the_cno(void)
{
	DAT_RETURN ret = DAT_ABORT;
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, evd_waiter_run, &ret));
	REQUIRE_SOON(atomic_load(&((struct datp_evd *)soft)->waiter));
	post(soft);
	pthread_join(thread, NULL);
	CHECK_DAT(ret, DAT_SUCCESS);
	CHECK_QUIET(0);
}

static void modify_cno_moves_the_triggers(void)
{
	DAT_CNO_HANDLE first = cno, other;
	DAT_EVD_PARAM param;

	REQUIRE_DAT(DAT->cno_create_func(w.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &other), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_modify_cno_func(soft, other), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_query_func(soft, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
	CHECK(param.cno_handle == other);
	post(soft);
	CHECK_QUIET(0);
	cno = other;
	CHECK_TRIGGER(soft);
	CHECK_DAT(DAT->evd_modify_cno_func(soft, w.pz), DAT_INVALID_HANDLE);
	REQUIRE_DAT(DAT->evd_modify_cno_func(soft, DAT_HANDLE_NULL), DAT_SUCCESS);
	CHECK_DAT(DAT->cno_free_func(other), DAT_SUCCESS);
	CHECK_DAT(DAT->cno_free_func(first), DAT_INVALID_STATE);
}

static void completions_and_connection_events_trigger(void)
{
	DAT_EP_HANDLE a = world_ep(), b = world_ep_on(w.dto2, NULL);

	world_pair(a, b);
	REQUIRE_DAT(DAT->evd_modify_cno_func(w.dto2, cno), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_modify_cno_func(w.conn, cno), DAT_SUCCESS);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_DAT(world_recv(b, 16 * i, 16, i), DAT_SUCCESS);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_DAT(world_send(a, 1024, 16, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_TRIGGER(w.dto2);
		CHECK_DTO(w.dto2, i, DAT_DTO_SUCCESS);
	}
	CHECK_QUIET(0);
	REQUIRE_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_TRIGGER(w.conn);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_TRIGGER(w.conn);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ------------------------------------------------------------------ waiting and freeing */

static void free_is_refused_while_referenced_or_waited_on(void)
{
	struct waiter waiter;

	CHECK_DAT(DAT->cno_free_func(cno), DAT_INVALID_STATE);
	post(soft);
	CHECK_TRIGGER(soft);
	REQUIRE_DAT(DAT->evd_modify_cno_func(soft, DAT_HANDLE_NULL), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_modify_cno_func(soft2, DAT_HANDLE_NULL), DAT_SUCCESS);
	waiter_start(&waiter, 1);
	CHECK_DAT(DAT->cno_free_func(cno), DAT_INVALID_STATE);
	CHECK(!waiter.left);
	REQUIRE_DAT(DAT->evd_modify_cno_func(soft2, cno), DAT_SUCCESS);
	post(soft2);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	CHECK(waiter.evd == soft2);
	REQUIRE_DAT(DAT->evd_free_func(soft2), DAT_SUCCESS);
	CHECK_DAT(DAT->cno_free_func(cno), DAT_SUCCESS);
	CHECK_DAT(DAT->cno_free_func(cno), DAT_INVALID_HANDLE);
}

static void freeing_the_last_queue_ends_the_waits_with_none(void)
{
	struct waiter waiters[2];

	waiter_start(&waiters[0], 1);
	waiter_start(&waiters[1], 2);
	REQUIRE_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	CHECK(!waiters[0].left);
	REQUIRE_DAT(DAT->evd_free_func(soft2), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		CHECK_DAT(waiter_end(&waiters[i]), DAT_SUCCESS);
		CHECK(waiters[i].evd == DAT_HANDLE_NULL);
	}
	CHECK_QUIET(0);
}

static void abrupt_close_ends_the_waits_with_none(void)
{
	struct waiter waiters[2];

	waiter_start(&waiters[0], 1);
	waiter_start(&waiters[1], 2);
	REQUIRE_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	w.ia = NULL;
	for (int i = 0; i < 2; i++) {
		waiter_end(&waiters[i]);
		CHECK(waiters[i].evd == DAT_HANDLE_NULL);
	}
}

static _Atomic bool closed;

static void *closer_run(void *ia)
{
	CHECK_DAT(DAT->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	closed = true;
	return NULL;
}

/* The test is that thread: it has checked the handle, as cno_wait() does first. */
static void abrupt_close_waits_for_a_thread_that_is_about_to_wait(void)
{
	pthread_t closer;

	closed = false;
	REQUIRE(obj_hold(NULL, cno, DATP_CNO) == cno);
	REQUIRE(!pthread_create(&closer, NULL, closer_run, w.ia));
	usleep(50000);
	CHECK(!closed);
	obj_drop(cno);
	REQUIRE_SOON(closed);
	pthread_join(closer, NULL);
	w.ia = NULL;
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
	waiter_start(&waiter, 1);
	while (!waiter.left) {
		pthread_kill(waiter.thread, SIGUSR1);
		usleep(1000);
	}
	CHECK_DAT(waiter_end(&waiter), DAT_INTERRUPTED_CALL);
}

static void a_cancelled_waiter_leaves_the_cno_usable(void)
{
	struct waiter waiter;
	void *result;

	for (int i = 0; i < 50; i++) {
		waiter_start(&waiter, 1);
		pthread_cancel(waiter.thread);
		pthread_join(waiter.thread, &result);
		CHECK(result == PTHREAD_CANCELED);
		CHECK_EQ_INT(atomic_load(&((struct datp_cno *)cno)->waiters), 0);
	}
	post(soft);
	CHECK_TRIGGER(soft);
	REQUIRE_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_free_func(soft2), DAT_SUCCESS);
	CHECK_DAT(DAT->cno_free_func(cno), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ the agent */

static _Atomic int calls;
static DAT_EVD_HANDLE _Atomic called_with;
static DAT_PVOID _Atomic called_as;

static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	called_as = instance;
	called_with = evd;
	calls++;
}

static void arm(DAT_PVOID as)
{
	DAT_OS_WAIT_PROXY_AGENT what = { as, agent };

	REQUIRE_DAT(DAT->cno_modify_agent_func(cno, what), DAT_SUCCESS);
}

static void the_agent_is_called_once_and_then_gone(void)
{
	DAT_CNO_PARAM param;

	calls = 0;
	arm(&cno);
	REQUIRE_DAT(DAT->cno_query_func(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.agent.proxy_agent_func == agent);
	CHECK(param.agent.instance_data == &cno);
	post(soft);
	CHECK_EQ_INT(calls, 1);
	CHECK(called_as == (DAT_PVOID)&cno);
	CHECK(called_with == soft);
	post(soft);
	CHECK_EQ_INT(calls, 1);
	REQUIRE_DAT(DAT->cno_query_func(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(!param.agent.proxy_agent_func);
	CHECK(!param.agent.instance_data);
	arm(NULL);
	post(soft);
	CHECK_EQ_INT(calls, 2);
}

static void the_agent_is_called_besides_the_waiter(void)
{
	struct waiter waiter;

	calls = 0;
	arm(NULL);
	waiter_start(&waiter, 1);
	post(soft);
	CHECK_DAT(waiter_end(&waiter), DAT_SUCCESS);
	CHECK_EQ_INT(calls, 1);
}

static void the_agent_hears_of_what_the_transport_brings(void)
{
	DAT_EP_HANDLE ep = world_ep();

	calls = 0;
	REQUIRE_DAT(DAT->evd_modify_cno_func(w.cr, cno), DAT_SUCCESS);
	arm(NULL);
	REQUIRE_DAT(world_connect(ep, WORLD_QUAL, NULL), DAT_SUCCESS);
	REQUIRE_SOON(calls == 1);
	CHECK(called_with == w.cr);
}

static void the_agent_hears_of_the_end_with_no_queue(void)
{
	calls = 0;
	arm(NULL);
	REQUIRE_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	CHECK_EQ_INT(calls, 0);
	REQUIRE_DAT(DAT->evd_free_func(soft2), DAT_SUCCESS);
	CHECK_EQ_INT(calls, 1);
	CHECK(called_with == DAT_HANDLE_NULL);
	arm(NULL);
	REQUIRE_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	w.ia = NULL;
	CHECK_EQ_INT(calls, 2);
}

static _Atomic bool loop_held, loop_may_go;

/* Service thread. It makes no call of the agent meanwhile. */
static void hold_loop(void *arg)
{
	(void)arg;
	loop_held = true;
	while (!loop_may_go)
		usleep(1000);
}

/* A call of the agent is due, and waits for the service thread. */
static void make_call_due(void)
{
	calls = 0;
	loop_held = loop_may_go = false;
	REQUIRE_DAT(DAT->evd_modify_cno_func(w.async, cno), DAT_SUCCESS);
	arm(NULL);
	REQUIRE(!datp_loop_call(w.ia, hold_loop, NULL));
	REQUIRE_SOON(loop_held);
	datp_ia_error(w.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
}

static void ran(void *arg)
{
	*(_Atomic bool *)arg = true;
}

/* Lets the service thread go on, and returns how often it has called the agent. */
static int calls_made(void)
{
	_Atomic bool over = false;

	REQUIRE(!datp_loop_call(w.ia, ran, &over));
	loop_may_go = true;
	REQUIRE_SOON(over);
	return calls;
}

static void a_call_that_is_due_is_made(void)
{
	make_call_due();
	CHECK_EQ_INT(calls_made(), 1);
}

/* The program frees what its agent uses when the CNO is gone. */
static void no_call_is_made_after_the_free(void)
{
	make_call_due();
	REQUIRE_DAT(DAT->evd_modify_cno_func(w.async, DAT_HANDLE_NULL), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_free_func(soft), DAT_SUCCESS);
	REQUIRE_DAT(DAT->evd_free_func(soft2), DAT_SUCCESS);
	REQUIRE_DAT(DAT->cno_free_func(cno), DAT_SUCCESS);
	CHECK_EQ_INT(calls_made(), 0);
}

static void no_call_is_made_after_the_agent_was_taken_away(void)
{
	make_call_due();
	REQUIRE_DAT(DAT->cno_modify_agent_func(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	CHECK_EQ_INT(calls_made(), 0);
	/* what has not been told is not lost */
	CHECK_TRIGGER(w.async);
}

/* The program frees what its former agent uses; the new one is told what that one was not. */
static void no_call_is_made_after_the_agent_was_replaced(void)
{
	make_call_due();
	called_as = NULL;
	arm(&cno);
	CHECK_EQ_INT(calls_made(), 1);
	CHECK(called_as == &cno);
}

static void an_agent_without_a_function_is_none(void)
{
	DAT_OS_WAIT_PROXY_AGENT what = { &cno, NULL };

	CHECK_DAT(DAT->cno_modify_agent_func(cno, what), DAT_INVALID_PARAMETER);
	calls = 0;
	arm(NULL);
	REQUIRE_DAT(DAT->cno_modify_agent_func(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	post(soft);
	CHECK_EQ_INT(calls, 0);
}

/* ------------------------------------------------------------------ a queue that is never empty */

static DAT_EVD_HANDLE never_empty;

/* As a peer can make a queue look that writes to what evd_arm looks at, or that sends all the time. */
static void make_never_empty(void)
{
	never_empty = evd_on(cno, DAT_EVD_DTO_FLAG);
	loopback.always_ready = true;
}

static void notify(void *evd)
{
	datp_evd_notify(evd);
}

static void the_service_thread_serves_others_than_a_queue_that_is_never_empty(void)
{
	struct datp_timer timer = { 0 };
	_Atomic bool called = false, timed = false;

	make_never_empty();
	REQUIRE(!datp_loop_call(w.ia, notify, never_empty));
	REQUIRE(!datp_loop_call(w.ia, ran, (void *)&called));
	datp_timer_set(w.ia, &timer, datp_clock_us() + 10000, ran, (void *)&timed);
	REQUIRE_SOON(called && timed);
	datp_timer_cancel(w.ia, &timer);
}

static void calls_on_a_queue_that_is_never_empty_return(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	make_never_empty();
	CHECK_DAT(DAT->evd_wait_func(never_empty, 20000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	CHECK_DAT(DAT->evd_disable_func(never_empty), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_enable_func(never_empty), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_modify_cno_func(never_empty, cno), DAT_SUCCESS);
	CHECK_DAT(DAT->evd_free_func(never_empty), DAT_SUCCESS);
}

/* It is armed as soon as that is over, so what comes then triggers. */
static void a_queue_that_was_never_empty_triggers_later(void)
{
	DAT_EP_HANDLE a = world_ep(), b;

	make_never_empty();
	CHECK_DAT(DAT->evd_enable_func(never_empty), DAT_SUCCESS);
	b = world_ep_on(never_empty, NULL);
	world_pair(a, b);
	REQUIRE_DAT(world_recv(b, 0, 16, 1), DAT_SUCCESS);
	loopback.always_ready = false;
	REQUIRE_DAT(world_send(a, 64, 16, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	CHECK_TRIGGER(never_empty);
}

/* ------------------------------------------------------------------ many threads */

enum { POSTS = 1000, TAKERS = 3 };

static _Atomic int taken;

static void *taker_run(void *arg)
{
	(void)arg;
	while (taken < POSTS) {
		DAT_EVD_HANDLE evd;
		DAT_EVENT event;

		if (DAT->cno_wait_func(cno, 1000, &evd) == DAT_SUCCESS && evd &&
		    DAT->evd_dequeue_func(evd, &event) == DAT_SUCCESS)
			taken++;
	}
	return NULL;
}

static void one_event_for_each_trigger_takes_them_all(void)
{
	pthread_t threads[TAKERS];

	taken = 0;
	for (int i = 0; i < TAKERS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, taker_run, NULL));
	for (int i = 0; i < POSTS;) {
		DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

		if (DAT->evd_post_se_func(i & 1 ? soft : soft2, &event) == DAT_SUCCESS)
			i++;
		else
			sched_yield();
	}
	for (int i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ_INT(taken, POSTS);
}

/* The number of times that the poll lock can still be had. */
static unsigned int free_times;

static bool take_while_free(struct datp_evd *evd)
{
	if (!free_times)
		return false;
	free_times--;
	return datp_trylock(&evd->poll_lock);
}

/* The drain takes the lock, and then the arming, which comes again as long as something has arrived. */
static void a_notification_does_not_wait_for_the_lock(void)
{
	struct datp_evd *evd = (struct datp_evd *)evd_on(cno, DAT_EVD_DTO_FLAG);

	for (unsigned int n = 0; n < 2; n++) {
		free_times = n;
		CHECK(!datp_evd_notify_by(evd, take_while_free));
		CHECK_EQ_INT(free_times, 0);
	}
	free_times = 2;
	CHECK(datp_evd_notify_by(evd, take_while_free));
	CHECK_EQ_INT(free_times, 0);
	/* it has left the lock free each time */
	REQUIRE(datp_trylock(&evd->poll_lock));
	datp_unlock(&evd->poll_lock);
	REQUIRE_DAT(DAT->evd_free_func((DAT_EVD_HANDLE)evd), DAT_SUCCESS);
}

static const struct check_test tests[] = {
	CHECK_TEST(a_trigger_names_its_queue_and_takes_no_event),
	CHECK_TEST(each_event_triggers_although_the_queue_never_becomes_empty),
	CHECK_TEST(a_drained_queue_triggers_no_more),
	CHECK_TEST(triggers_of_several_queues_take_turns),
	CHECK_TEST(a_notification_does_not_wait_for_the_lock),
	CHECK_TEST(a_wait_that_runs_out_is_queue_empty_and_not_early),
	CHECK_TEST(wait_checks_its_arguments),
	CHECK_TEST(a_disabled_queue_does_not_trigger),
	CHECK_TEST(a_waiter_on_the_queue_goes_before_the_cno),
	CHECK_TEST(modify_cno_moves_the_triggers),
	CHECK_TEST(completions_and_connection_events_trigger),
	CHECK_TEST(free_is_refused_while_referenced_or_waited_on),
	CHECK_TEST(freeing_the_last_queue_ends_the_waits_with_none),
	CHECK_TEST(abrupt_close_ends_the_waits_with_none),
	CHECK_TEST(abrupt_close_waits_for_a_thread_that_is_about_to_wait),
	CHECK_TEST(a_signal_interrupts_the_wait),
	CHECK_TEST(a_cancelled_waiter_leaves_the_cno_usable),
	CHECK_TEST(the_agent_is_called_once_and_then_gone),
	CHECK_TEST(the_agent_is_called_besides_the_waiter),
	CHECK_TEST(the_agent_hears_of_what_the_transport_brings),
	CHECK_TEST(the_agent_hears_of_the_end_with_no_queue),
	CHECK_TEST(a_call_that_is_due_is_made),
	CHECK_TEST(no_call_is_made_after_the_free),
	CHECK_TEST(no_call_is_made_after_the_agent_was_taken_away),
	CHECK_TEST(no_call_is_made_after_the_agent_was_replaced),
	CHECK_TEST(an_agent_without_a_function_is_none),
	CHECK_TEST(the_service_thread_serves_others_than_a_queue_that_is_never_empty),
	CHECK_TEST(calls_on_a_queue_that_is_never_empty_return),
	CHECK_TEST(a_queue_that_was_never_empty_triggers_later),
	CHECK_TEST(one_event_for_each_trigger_takes_them_all),
	CHECK_END,
};

static const struct check_suite suite = {
	.name = "cno", .setup = open_world, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&suite);
