/* SPDX-License-Identifier: BSD-2-Clause */
/* CNOs: triggers, waiters, agents, and the effect of a thread that waits on the EVD itself. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

#define QUIET_US (API_QUIET_MS * 1000)
#define WAITS	   20
#define BETWEEN_US 3000 /* time for the threads to notice a message, and to sleep again */

/* What the proxy agent was called with. */
struct agent_log {
	int calls; /* atomic */
	DAT_EVD_HANDLE evd;
};

static void agent(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct agent_log *log = instance;

	log->evd = evd;
	__atomic_fetch_add(&log->calls, 1, __ATOMIC_RELEASE);
}

static int calls(struct agent_log *log)
{
	return __atomic_load_n(&log->calls, __ATOMIC_ACQUIRE);
}

static DAT_OS_WAIT_PROXY_AGENT agent_of(struct agent_log *log)
{
	return (DAT_OS_WAIT_PROXY_AGENT){ .instance_data = log, .proxy_agent_func = agent };
}

static DAT_CNO_HANDLE cno_with(struct agent_log *log)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_cno_create(api.ia, agent_of(log), &cno), DAT_SUCCESS);
	return cno;
}

static DAT_EVD_HANDLE se_evd(DAT_CNO_HANDLE cno)
{
	return api_evd_cno(64, DAT_EVD_SOFTWARE_FLAG, cno);
}

/* Checks that the CNO is triggered, and names this EVD. */
static void want_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)(uintptr_t)0xa5;

	REQUIRE_DAT(dat_cno_wait(cno, api_patience(), &hint), DAT_SUCCESS);
	CHECK(hint == evd);
}

static void want_no_trigger(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)(uintptr_t)0xa5;

	CHECK_DAT(dat_cno_wait(cno, QUIET_US, &hint), DAT_QUEUE_EMPTY);
	CHECK(hint == DAT_HANDLE_NULL);
}

static void query_tells_ia_and_agent(void)
{
	struct agent_log log = { 0 };
	DAT_CNO_HANDLE cno = cno_with(&log), none = api_cno();
	DAT_CNO_PARAM param;

	REQUIRE_DAT(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia);
	CHECK(param.agent.instance_data == &log && param.agent.proxy_agent_func == agent);
	REQUIRE_DAT(dat_cno_query(none, DAT_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
	CHECK(param.agent.instance_data == NULL && param.agent.proxy_agent_func == NULL);
	REQUIRE_DAT(dat_cno_query(none, DAT_CNO_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia);
	CHECK_DAT(dat_cno_query(none, (DAT_CNO_PARAM_MASK)4, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_cno_query(none, (DAT_CNO_PARAM_MASK)-1, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_cno_query(none, DAT_CNO_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_cno_create(api.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(none), DAT_SUCCESS);
}

static void wait_times_out_with_queue_empty_and_no_evd(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)(uintptr_t)0xa5;
	uint64_t start = check_now_ms();

	CHECK_DAT(dat_cno_wait(cno, 30000, &hint), DAT_QUEUE_EMPTY);
	CHECK(check_now_ms() - start >= 29);
	CHECK(hint == DAT_HANDLE_NULL);
	hint = (DAT_EVD_HANDLE)(uintptr_t)0xa5;
	CHECK_DAT(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	CHECK(hint == DAT_HANDLE_NULL);
	CHECK_DAT(dat_cno_wait(cno, 0, NULL), DAT_INVALID_PARAMETER);
}

static void wait_names_the_evd_and_leaves_the_event(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE one = se_evd(cno), two = se_evd(cno);

	REQUIRE_DAT(api_post_se(two, 5), DAT_SUCCESS);
	want_trigger(cno, two);
	API_SE(two, 5);
	API_EMPTY(one);
}

static void waiter_wakes_when_an_event_comes(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct api_waiter waiter;

	api_cno_wait_start(&waiter, cno);
	REQUIRE_DAT(api_post_se(evd, 5), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK(waiter.hint == evd);
	API_SE(evd, 5);
}

static void wait_triggers_for_each_event_though_the_evd_never_was_empty(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	for (uint64_t n = 1; n <= 10; n++) {
		want_trigger(cno, evd);
		REQUIRE_DAT(api_post_se(evd, n + 1), DAT_SUCCESS);
		API_SE(evd, n);
	}
	want_trigger(cno, evd);
	API_SE(evd, 11);
}

static void disabled_evd_does_not_trigger(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	REQUIRE_DAT(dat_evd_disable(evd), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	want_no_trigger(cno);
	API_SE(evd, 1);
	REQUIRE_DAT(dat_evd_enable(evd), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 2), DAT_SUCCESS);
	want_trigger(cno, evd);
	API_SE(evd, 2);
}

static void unwaitable_evd_triggers_all_the_same(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	REQUIRE_DAT(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	want_trigger(cno, evd);
	REQUIRE_DAT(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 2), DAT_SUCCESS);
	want_trigger(cno, evd);
}

static void direct_waiter_keeps_the_cno_quiet(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct api_waiter waiter;

	api_wait_start(&waiter, evd, 2);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	want_no_trigger(cno);
	REQUIRE_DAT(api_post_se(evd, 2), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	want_no_trigger(cno);
	API_SE(evd, 2);
}

static void agent_is_called_once_with_its_data_and_the_evd(void)
{
	struct agent_log log = { 0 };
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_EVD_HANDLE evd = se_evd(cno);
	DAT_CNO_PARAM param;

	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	REQUIRE_SOON(calls(&log) == 1);
	CHECK(log.evd == evd);
	REQUIRE_DAT(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
	CHECK(param.agent.instance_data == NULL && param.agent.proxy_agent_func == NULL);
	API_SE(evd, 1);
	REQUIRE_DAT(api_post_se(evd, 2), DAT_SUCCESS);
	want_trigger(cno, evd);
	CHECK_EQ_INT(calls(&log), 1);
}

static void agent_is_called_besides_the_waiter(void)
{
	struct agent_log log = { 0 };
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct api_waiter waiter;

	api_cno_wait_start(&waiter, cno);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	REQUIRE_SOON(calls(&log) == 1);
}

static void modify_agent_replaces_rearms_and_removes(void)
{
	struct agent_log a = { 0 }, b = { 0 };
	DAT_CNO_HANDLE cno = cno_with(&a);
	DAT_EVD_HANDLE evd = se_evd(cno);
	DAT_CNO_PARAM param;

	REQUIRE_DAT(dat_cno_modify_agent(cno, agent_of(&b)), DAT_SUCCESS);
	REQUIRE_DAT(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
	CHECK(param.agent.instance_data == &b && param.agent.proxy_agent_func == agent);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	REQUIRE_SOON(calls(&b) == 1);
	REQUIRE_DAT(dat_cno_modify_agent(cno, agent_of(&b)), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 2), DAT_SUCCESS);
	REQUIRE_SOON(calls(&b) == 2);
	REQUIRE_DAT(dat_cno_modify_agent(cno, agent_of(&b)), DAT_SUCCESS);
	REQUIRE_DAT(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 3), DAT_SUCCESS);
	want_trigger(cno, evd);
	CHECK_EQ_INT(calls(&b), 2);
	CHECK_EQ_INT(calls(&a), 0);
}

static void free_is_refused_while_an_evd_refers_to_it(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	CHECK_DAT(dat_cno_free(cno), DAT_INVALID_STATE);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	want_trigger(cno, evd);
	REQUIRE_DAT(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
	cno = api_cno();
	REQUIRE_DAT(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_INVALID_STATE);
	REQUIRE_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
}

static void free_is_refused_while_a_thread_waits(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	struct api_waiter waiter;
	DAT_EVD_HANDLE evd;

	api_cno_wait_start(&waiter, cno);
	CHECK_DAT(dat_cno_free(cno), DAT_INVALID_STATE);
	CHECK(!api_wait_done(&waiter));
	/* To release such a waiter, a program gives an EVD to the CNO, and posts to that EVD. */
	evd = se_evd(DAT_HANDLE_NULL);
	REQUIRE_DAT(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK(waiter.hint == evd);
	REQUIRE_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
}

static void modify_cno_turns_later_events_to_the_new_one(void)
{
	DAT_CNO_HANDLE old = api_cno(), new = api_cno();
	DAT_EVD_HANDLE evd = se_evd(old);
	DAT_EVD_PARAM param;

	REQUIRE_DAT(dat_evd_modify_cno(evd, new), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
	CHECK(param.cno_handle == new);
	REQUIRE_DAT(api_post_se(evd, 1), DAT_SUCCESS);
	want_trigger(new, evd);
	want_no_trigger(old);
	CHECK_DAT(dat_cno_free(old), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
	CHECK(param.cno_handle == DAT_HANDLE_NULL);
	REQUIRE_DAT(api_post_se(evd, 2), DAT_SUCCESS);
	want_no_trigger(new);
	API_SE(evd, 1);
	API_SE(evd, 2);
}

static void every_event_is_found_behind_the_triggers_of_three_evds(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	DAT_EVD_HANDLE evds[3] = { se_evd(cno), se_evd(cno), se_evd(cno) }, hint;
	DAT_EVENT event;
	int found = 0;

	for (int i = 0; i < 3; i++)
		REQUIRE_DAT(api_post_se(evds[i], 1), DAT_SUCCESS);
	while (found < 3) {
		REQUIRE_DAT(dat_cno_wait(cno, api_patience(), &hint), DAT_SUCCESS);
		for (int i = 0; i < 3; i++)
			while (dat_evd_dequeue(evds[i], &event) == DAT_SUCCESS)
				found++;
	}
	CHECK_EQ_INT(found, 3);
}

static void on_signal(int number)
{
	(void)number;
}

static void signal_interrupts_a_wait(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	DAT_CNO_HANDLE cno = api_cno();
	struct api_waiter waiter;

	REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
	api_cno_wait_start(&waiter, cno);
	REQUIRE_SOON(pthread_kill(waiter.thread, SIGUSR1) != 0 || api_wait_done(&waiter));
	api_wait_end(&waiter);
	sigaction(SIGUSR1, &old, NULL);
	CHECK_DAT(waiter.ret, DAT_INTERRUPTED_CALL);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
}

static void free_of_every_evd_releases_waiters_and_agent_with_no_evd(void)
{
	struct agent_log log = { .evd = (DAT_EVD_HANDLE)(uintptr_t)0xa5 };
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_EVD_HANDLE one = se_evd(cno), two = se_evd(cno);
	struct api_waiter waiter;

	api_cno_wait_start(&waiter, cno);
	REQUIRE_DAT(dat_evd_free(one), DAT_SUCCESS);
	usleep(QUIET_US);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(dat_evd_free(two), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK(waiter.hint == DAT_HANDLE_NULL);
	REQUIRE_SOON(calls(&log) == 1);
	CHECK(log.evd == DAT_HANDLE_NULL);
}

static void close_of_the_ia_releases_waiters_and_agent_with_no_evd(void)
{
	struct agent_log log = { .evd = (DAT_EVD_HANDLE)(uintptr_t)0xa5 };
	DAT_CNO_HANDLE cno = cno_with(&log);
	struct api_waiter first, second;

	se_evd(cno);
	api_cno_wait_start(&first, cno);
	api_cno_wait_start(&second, cno);
	api_close();
	api_wait_end(&first);
	api_wait_end(&second);
	CHECK(first.hint == DAT_HANDLE_NULL);
	CHECK(second.hint == DAT_HANDLE_NULL);
	REQUIRE_SOON(calls(&log) == 1);
	CHECK(log.evd == DAT_HANDLE_NULL);
}

static void cno_of_another_ia_is_refused(void)
{
	DAT_IA_HANDLE other = api_open_another();
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE evd = se_evd(DAT_HANDLE_NULL), made;

	REQUIRE_DAT(dat_cno_create(other, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	CHECK(dat_evd_modify_cno(evd, cno) != DAT_SUCCESS);
	CHECK(dat_evd_create(api.ia, 8, cno, DAT_EVD_DTO_FLAG, &made) != DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
}

static void send_one(const struct api_pair *pair, const struct api_buf *buf)
{
	REQUIRE_DAT(api_send(pair->a.ep, buf, 2048, 100, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	API_DTO(pair->a.request, pair->a.ep, 2, DAT_DTO_SUCCESS, 100);
}

/* CNOs serve real streams, not only software events. */
static void connection_and_completion_events_trigger(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	struct api_pair pair;
	struct api_buf buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_EVD_HANDLE hint;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(dat_evd_modify_cno(pair.b.recv, cno), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 100, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 2048, 100, 2, DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	want_trigger(cno, pair.b.recv);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 100);
	REQUIRE_DAT(dat_evd_modify_cno(pair.b.connect, cno), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(dat_cno_wait(cno, api_patience(), &hint), DAT_SUCCESS);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * A provider that noticed the messages for the CNO may go on to do so when that is gone. Whoever notices the first message, it does
 * not end the wait, and the second one is noticed as well.
 */
static void waiter_wakes_at_its_threshold_after_the_cno_was_taken_away(void)
{
	struct api_buf buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_CNO_HANDLE cno = api_cno();
	struct api_waiter waiter;
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(dat_evd_modify_cno(pair.b.recv, cno), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 100, 1), DAT_SUCCESS);
	send_one(&pair, &buf);
	want_trigger(cno, pair.b.recv);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 100);
	REQUIRE_DAT(dat_evd_modify_cno(pair.b.recv, DAT_HANDLE_NULL), DAT_SUCCESS);
	for (int i = 0; i < WAITS; i++) {
		for (int message = 1; message <= 2; message++)
			REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 100, message), DAT_SUCCESS);
		api_wait_start(&waiter, pair.b.recv, 2);
		for (int message = 1; message <= 2; message++) {
			send_one(&pair, &buf);
			usleep(BETWEEN_US);
		}
		api_wait_end(&waiter);
		CHECK_DAT(waiter.ret, DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 100);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(query_tells_ia_and_agent),
	CHECK_TEST(wait_times_out_with_queue_empty_and_no_evd),
	CHECK_TEST(wait_names_the_evd_and_leaves_the_event),
	CHECK_TEST(waiter_wakes_when_an_event_comes),
	CHECK_TEST(wait_triggers_for_each_event_though_the_evd_never_was_empty),
	CHECK_TEST(disabled_evd_does_not_trigger),
	CHECK_TEST(unwaitable_evd_triggers_all_the_same),
	CHECK_TEST(direct_waiter_keeps_the_cno_quiet),
	CHECK_TEST(agent_is_called_once_with_its_data_and_the_evd),
	CHECK_TEST(agent_is_called_besides_the_waiter),
	CHECK_TEST(modify_agent_replaces_rearms_and_removes),
	CHECK_TEST(free_is_refused_while_an_evd_refers_to_it),
	CHECK_TEST(free_is_refused_while_a_thread_waits),
	CHECK_TEST(modify_cno_turns_later_events_to_the_new_one),
	CHECK_TEST(every_event_is_found_behind_the_triggers_of_three_evds),
	CHECK_TEST(signal_interrupts_a_wait),
	CHECK_TEST(free_of_every_evd_releases_waiters_and_agent_with_no_evd),
	CHECK_TEST(close_of_the_ia_releases_waiters_and_agent_with_no_evd),
	CHECK_TEST(cno_of_another_ia_is_refused),
	CHECK_TEST(connection_and_completion_events_trigger),
	CHECK_TEST(waiter_wakes_at_its_threshold_after_the_cno_was_taken_away),
	CHECK_END
};

static const struct check_suite cno = {
	.name = "cno",
	.setup = api_open,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&cno);
