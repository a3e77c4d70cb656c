/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cno_*: triggers, waiters, the proxy agent. */
#include <signal.h>
#include <string.h>

#include "kit.h"

#define QUIET_US (t.quiet_ms * 1000)

/* What a proxy agent was called with. It is static in tests, because the close of the IA calls agents after them. */
struct agent_log {
	int calls;	/* atomic */
	DAT_EVD_HANDLE evd;
};

static void agent_func(DAT_PVOID instance, DAT_EVD_HANDLE evd)
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
	return (DAT_OS_WAIT_PROXY_AGENT){ .instance_data = log, .proxy_agent_func = agent_func };
}

static DAT_CNO_HANDLE cno_with(struct agent_log *log)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	MUST_RET(dat_cno_create(t.ia, agent_of(log), &cno), DAT_SUCCESS);
	return cno;
}

static bool has_agent(DAT_CNO_HANDLE cno, const struct agent_log *log)
{
	DAT_CNO_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_cno_query(cno, API_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
	return param.API_AGENT.instance_data == log &&
	       param.API_AGENT.proxy_agent_func == (log ? agent_func : (DAT_AGENT_FUNC)NULL);
}

static DAT_EVD_HANDLE se_evd(DAT_CNO_HANDLE cno)
{
	return kit_evd_cno(16, DAT_EVD_SOFTWARE_FLAG, cno);
}

static void want_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE hint = KIT_BAD;

	CHECK_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
	CHECK_THAT(hint == evd);
}

static void want_no_trigger(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE hint = KIT_BAD;

	CHECK_RET(dat_cno_wait(cno, QUIET_US, &hint), DAT_QUEUE_EMPTY);
}

CLAUSE("CNO_CREATE-01", "CNO_CREATE-05", "CNO_CREATE-06", "CNO_FREE-01")
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE other = kit_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_CNO_PARAM param;

	ABOUT("CNO_CREATE-01");
	MUST_RET(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	CHECK_RET(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	ABOUT("CNO_CREATE-05");
	MUST_RET(kit_post_se(other, 1), DAT_SUCCESS);
	want_no_trigger(cno);
	ABOUT("CNO_CREATE-06");
	CHECK_RET(dat_cno_free(cno), DAT_SUCCESS);
	ABOUT("CNO_FREE-01");
	CHECK_RET(dat_cno_free(kit_cno()), DAT_SUCCESS);
}

CLAUSE("CNO_CREATE-02")
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_CNO_HANDLE cno;

	for (int i = 0; i < 1000 && ret == DAT_SUCCESS; i++)
		ret = dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("CNO_CREATE-04")
{
	CHECK_RET(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL), DAT_INVALID_PARAMETER);
}

CLAUSE("CNO_CREATE-07", "CNO_QUERY-01", "CNO_QUERY-04", "CNO_QUERY-05")
{
	static struct agent_log log;
	DAT_CNO_HANDLE cno = cno_with(&log), none = kit_cno();
	DAT_CNO_PARAM param;

	ABOUT("CNO_CREATE-07");
	CHECK_THAT(has_agent(cno, &log));
	CHECK_THAT(has_agent(none, NULL));
	ABOUT("CNO_QUERY-01");
	CHECK_RET(dat_cno_query(cno, DAT_CNO_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
	CHECK_RET(dat_cno_query(cno, API_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
	CHECK_RET(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia && param.API_AGENT.instance_data == &log);
	ABOUT("CNO_QUERY-04");
	CHECK_THAT(has_agent(none, NULL));
	ABOUT("CNO_QUERY-05");
	memset(&param, 0xa5, sizeof(param));
	CHECK_RET(dat_cno_query(none, DAT_CNO_FIELD_IA_HANDLE, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia);
}

CLAUSE("CNO_CREATE-08", "CNO_CREATE-09", "CNO_MODIFY_AGENT-07")
{
	static struct agent_log log;
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_EVD_HANDLE evd = se_evd(cno);

	ABOUT("CNO_CREATE-08");
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	MUST_SOON(calls(&log) == 1);
	CHECK_THAT(log.evd == evd);
	kit_se(evd, 1);
	ABOUT("CNO_CREATE-09");
	CHECK_THAT(has_agent(cno, NULL));
	MUST_RET(kit_post_se(evd, 2), DAT_SUCCESS);
	kit_se(evd, 2);
	kit_sleep_ms(t.quiet_ms);
	CHECK_NUM(calls(&log), 1);
	ABOUT("CNO_MODIFY_AGENT-07");
	MUST_RET(dat_cno_modify_agent(cno, agent_of(&log)), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 3), DAT_SUCCESS);
	CHECK_SOON(calls(&log) == 2);
}

CLAUSE("CNO_CREATE-10", "CNO_MODIFY_AGENT-04")
{
	static struct agent_log log;
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct kit_waiter w;

	ABOUT("CNO_CREATE-10");
	kit_cno_wait_start(&w, cno);
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_THAT(w.hint == evd);
	CHECK_SOON(calls(&log) == 1);
	kit_se(evd, 1);
	ABOUT("CNO_MODIFY_AGENT-04");
	MUST_RET(dat_cno_modify_agent(cno, agent_of(&log)), DAT_SUCCESS);
	kit_cno_wait_start(&w, cno);
	MUST_RET(kit_post_se(evd, 2), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_SOON(calls(&log) == 2);
}

CLAUSE("CNO_FREE-03", "CNO_FREE-04", "CNO_FREE-06", "EVD_FREE-08")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	ABOUT("CNO_FREE-03");
	CHECK_RET(dat_cno_free(cno), DAT_INVALID_STATE);
	ABOUT("CNO_FREE-04");
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	want_trigger(cno, evd);
	kit_se(evd, 1);
	ABOUT("CNO_FREE-06");
	MUST_RET(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	CHECK_RET(dat_cno_free(cno), DAT_SUCCESS);
	ABOUT("EVD_FREE-08");
	cno = kit_cno();
	MUST_RET(dat_evd_free(se_evd(cno)), DAT_SUCCESS);
	CHECK_RET(dat_cno_free(cno), DAT_SUCCESS);
}

CLAUSE("CNO_FREE-05", "CNO_FREE-08")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_SOFTWARE_FLAG);
	struct kit_waiter w;

	ABOUT("CNO_FREE-05");
	kit_cno_wait_start(&w, cno);
	CHECK_RET(dat_cno_free(cno), DAT_INVALID_STATE);
	CHECK_THAT(kit_still_waits(&w));
	ABOUT("CNO_FREE-08");
	MUST_RET(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	MUST_RET(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	CHECK_RET(dat_cno_free(cno), DAT_SUCCESS);
}

CLAUSE("CNO_FREE-07")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_SOFTWARE_FLAG), hint;
	DAT_CNO_PARAM param;

	MUST_RET(dat_cno_free(cno), DAT_SUCCESS);
	CHECK_RET(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_RET(dat_cno_wait(cno, 0, &hint), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_modify_cno(evd, cno), DAT_INVALID_HANDLE);
}

CLAUSE("CNO_MODIFY_AGENT-01", "CNO_MODIFY_AGENT-05", "CNO_MODIFY_AGENT-06")
{
	static struct agent_log a, b;
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	ABOUT("CNO_MODIFY_AGENT-01");
	CHECK_RET(dat_cno_modify_agent(cno, agent_of(&a)), DAT_SUCCESS);
	CHECK_THAT(has_agent(cno, &a));
	ABOUT("CNO_MODIFY_AGENT-06");
	MUST_RET(dat_cno_modify_agent(cno, agent_of(&b)), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	CHECK_SOON(calls(&b) == 1);
	CHECK_NUM(calls(&a), 0);
	want_trigger(cno, evd);
	kit_se(evd, 1);
	ABOUT("CNO_MODIFY_AGENT-05");
	MUST_RET(dat_cno_modify_agent(cno, agent_of(&a)), DAT_SUCCESS);
	MUST_RET(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 2), DAT_SUCCESS);
	want_trigger(cno, evd);
	kit_sleep_ms(t.quiet_ms);
	CHECK_NUM(calls(&a), 0);
	CHECK_NUM(calls(&b), 1);
}

CLAUSE("CNO_WAIT-01", "CNO_WAIT-09")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE one = se_evd(cno), two = se_evd(cno);

	ABOUT("CNO_WAIT-01");
	MUST_RET(kit_post_se(two, 5), DAT_SUCCESS);
	want_trigger(cno, two);
	ABOUT("CNO_WAIT-09");
	kit_se(two, 5);
	kit_empty(one);
}

CLAUSE("CNO_WAIT-02", "CNO_WAIT-03", "CNO_WAIT-04")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE hint = KIT_BAD;
	uint64_t start;

	ABOUT("CNO_WAIT-02");
	CHECK_RET(dat_cno_wait(cno, 10000, &hint), DAT_QUEUE_EMPTY);
	ABOUT("CNO_WAIT-03");
	CHECK_THAT(hint == DAT_HANDLE_NULL);
	hint = KIT_BAD;
	CHECK_RET(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	CHECK_THAT(hint == DAT_HANDLE_NULL);
	ABOUT("CNO_WAIT-04");
	start = judge_now_ms();
	CHECK_RET(dat_cno_wait(cno, 60000, &hint), DAT_QUEUE_EMPTY);
	CHECK_THAT(judge_now_ms() - start >= 59);
}

CLAUSE("CNO_WAIT-05")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct kit_waiter w;

	memset(&w, 0, sizeof(w));
	kit_cno_wait_start(&w, cno);	/* this wait has a much longer timeout than the suite's patience */
	CHECK_THAT(kit_still_waits(&w));
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_THAT(w.hint == evd);
}

CLAUSE("CNO_WAIT-07")
{
	CHECK_RET(dat_cno_wait(kit_cno(), 0, NULL), DAT_INVALID_PARAMETER);
}

static void on_signal(int number)
{
	(void)number;
}

CLAUSE("CNO_WAIT-08")
{
	struct sigaction action = { .sa_handler = on_signal };
	struct kit_waiter w;

	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	kit_cno_wait_start(&w, kit_cno());
	MUST(pthread_kill(w.thread, SIGUSR1) == 0);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_INTERRUPTED_CALL);
}

CLAUSE("CNO_WAIT-10", "EVD_DIS-05", "EVD_EN-05")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);

	MUST_RET(dat_evd_disable(evd), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	ABOUT("CNO_WAIT-10");
	want_no_trigger(cno);
	ABOUT("EVD_DIS-05");
	kit_se(evd, 1);
	MUST_RET(kit_post_se(evd, 5), DAT_SUCCESS);
	want_no_trigger(cno);
	kit_se(evd, 5);
	ABOUT("EVD_EN-05");
	MUST_RET(dat_evd_enable(evd), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 2), DAT_SUCCESS);
	want_trigger(cno, evd);
}

CLAUSE("CNO_WAIT-11", "EVD_WAIT-21", "EVD_EN-06")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct kit_waiter w;

	ABOUT("CNO_WAIT-11");
	kit_wait_start(&w, evd, 1);
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	want_no_trigger(cno);
	ABOUT("EVD_WAIT-21");	/* also if the threshold is not reached */
	kit_wait_start(&w, evd, 2);
	MUST_RET(kit_post_se(evd, 2), DAT_SUCCESS);
	want_no_trigger(cno);
	CHECK_THAT(!kit_wait_done(&w));
	MUST_RET(kit_post_se(evd, 3), DAT_SUCCESS);
	kit_wait_end(&w);
	want_no_trigger(cno);
	kit_se(evd, 3);
	ABOUT("EVD_EN-06");
	MUST_RET(dat_evd_disable(evd), DAT_SUCCESS);
	kit_wait_start(&w, evd, 1);
	MUST_RET(dat_evd_enable(evd), DAT_SUCCESS);
	MUST_RET(kit_post_se(evd, 4), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	want_no_trigger(cno);
}

CLAUSE("CNO_WAIT-12")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd[3] = { se_evd(cno), se_evd(cno), se_evd(cno) }, hint;
	uint64_t until = judge_now_ms() + t.patience_ms;
	int found = 0;
	DAT_EVENT event;

	for (int i = 0; i < 3; i++)
		MUST_RET(kit_post_se(evd[i], 1), DAT_SUCCESS);
	while (found < 3 && judge_now_ms() < until) {
		MUST_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
		MUST(hint == evd[0] || hint == evd[1] || hint == evd[2]);
		for (int i = 0; i < 3; i++)
			found += dat_evd_dequeue(evd[i], &event) == DAT_SUCCESS;
	}
	CHECK_NUM(found, 3);
}

CLAUSE("CNO_WAIT-13")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno), hint = KIT_BAD;

	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	CHECK_RET(dat_cno_wait(cno, 0, &hint), DAT_SUCCESS);
	CHECK_THAT(hint == evd);
}

CLAUSE("CNO_WAIT-14", "IA_CLOSE-10")
{
	static struct agent_log log;
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_IA_HANDLE ia = t.ia;
	struct kit_waiter one, two;

	log.evd = KIT_BAD;
	se_evd(cno);
	kit_cno_wait_start(&one, cno);
	kit_cno_wait_start(&two, cno);
	t.ia = DAT_HANDLE_NULL;
	ABOUT("CNO_WAIT-14");
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_wait_end(&one);
	kit_wait_end(&two);
	CHECK_THAT(one.hint == DAT_HANDLE_NULL);
	CHECK_THAT(two.hint == DAT_HANDLE_NULL);
	judge_outcome("%s", judge_ret_name(one.ret));
	ABOUT("IA_CLOSE-10");
	CHECK_THAT(one.hint == DAT_HANDLE_NULL && two.hint == DAT_HANDLE_NULL);
	CHECK_SOON(calls(&log) == 1);
	CHECK_THAT(log.evd == DAT_HANDLE_NULL);
}

CLAUSE("CNO_WAIT-15", "CNO_WAIT-16")
{
	static struct agent_log log;
	DAT_CNO_HANDLE cno = cno_with(&log);
	DAT_EVD_HANDLE one = se_evd(cno), two = se_evd(cno);
	struct kit_waiter w;

	log.evd = KIT_BAD;
	ABOUT("CNO_WAIT-15");
	kit_cno_wait_start(&w, cno);
	MUST_RET(dat_evd_free(one), DAT_SUCCESS);
	CHECK_THAT(kit_still_waits(&w));
	MUST_RET(dat_evd_free(two), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_THAT(w.hint == DAT_HANDLE_NULL);
	judge_outcome("%s", judge_ret_name(w.ret));
	ABOUT("CNO_WAIT-16");
	CHECK_SOON(calls(&log) == 1);
	CHECK_THAT(log.evd == DAT_HANDLE_NULL);
}

CLAUSE("CNO_WAIT-17")
{
	DAT_IA_HANDLE other = kit_open_another();
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_SOFTWARE_FLAG), made;
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	MUST_RET(dat_cno_create(other, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	CHECK_REFUSED(dat_evd_modify_cno(evd, cno));
	CHECK_REFUSED(dat_evd_create(t.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &made));
}

CLAUSE("CNO_WAIT-18")
{
	NEEDS(t.prov.is_thread_safe, "is_thread_safe");

	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(cno);
	struct kit_waiter w[4];
	DAT_EVENT event;

	for (int i = 0; i < 4; i++)
		kit_cno_wait_start(&w[i], cno);
	for (int round = 0; round < 4; round++) {
		int before = 0;

		for (int i = 0; i < 4; i++)
			before += kit_wait_done(&w[i]);
		if (before == 4)
			break;
		MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
		MUST_SOON(kit_wait_done(&w[0]) + kit_wait_done(&w[1]) + kit_wait_done(&w[2]) +
			  kit_wait_done(&w[3]) > before);
	}
	for (int i = 0; i < 4; i++) {
		kit_wait_end(&w[i]);
		CHECK_RET(w[i].ret, DAT_SUCCESS);
	}
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
}
