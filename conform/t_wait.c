/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait, _post_se, _resize: thresholds, timeouts, full queues, growth. */
#include <signal.h>
#include <string.h>

#include "kit.h"

static DAT_EVD_HANDLE se_evd(void)
{
	return kit_evd(16, DAT_EVD_SOFTWARE_FLAG);
}

static void post(DAT_EVD_HANDLE evd, int from, int to)
{
	for (int i = from; i <= to; i++)
		MUST_RET(kit_post_se(evd, (uint64_t)i), DAT_SUCCESS);
}

static DAT_COUNT qlen(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0, sizeof(param));
	MUST_RET(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
	return param.evd_qlen;
}

static uintptr_t number_of(const DAT_EVENT *event)
{
	return (uintptr_t)event->event_data.software_event_data.pointer;
}

CLAUSE("EVD_WAIT-01", "EVD_WAIT-26", "EVD_WAIT-11", "EVD_WAIT-24")
{
	DAT_EVD_HANDLE evd = se_evd();
	struct kit_waiter w;
	DAT_EVENT event;
	DAT_COUNT nmore = -1;

	ABOUT("EVD_WAIT-11");
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	post(evd, 1, 4);
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_SUCCESS);
	ABOUT("EVD_WAIT-01");
	CHECK_NUM(event.event_number, DAT_SOFTWARE_EVENT);
	CHECK_THAT(event.evd_handle == evd);
	CHECK_NUM(number_of(&event), 1);
	ABOUT("EVD_WAIT-24");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	CHECK_NUM(number_of(&event), 2);
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_SUCCESS);
	CHECK_NUM(number_of(&event), 3);
	ABOUT("EVD_WAIT-26");
	CHECK_RET(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_SUCCESS);
	CHECK_NUM(number_of(&event), 4);
	post(evd, 5, 7);
	CHECK_RET(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 3, &event, &nmore), DAT_SUCCESS);
	kit_se(evd, 6);
	kit_se(evd, 7);
	ABOUT("EVD_WAIT-01");
	kit_wait_start(&w, evd, 1);
	post(evd, 8, 8);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(number_of(&w.event), 8);
	CHECK_NUM(w.nmore, 0);
}

CLAUSE("EVD_WAIT-03", "EVD_WAIT-04", "EVD_WAIT-05")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_EVENT event;
	DAT_COUNT nmore;

	ABOUT("EVD_WAIT-03");
	CHECK_RET(dat_evd_wait(evd, 0, 0, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_wait(evd, 0, -1, &event, &nmore), DAT_INVALID_PARAMETER);
	ABOUT("EVD_WAIT-04");
	CHECK_RET(dat_evd_wait(evd, 0, qlen(evd) + 1, &event, &nmore), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_wait(evd, 0, qlen(evd), &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ABOUT("EVD_WAIT-05");
	post(evd, 1, 1);
	CHECK_RET(dat_evd_wait(evd, 0, 1, NULL, &nmore), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_wait(evd, 0, 1, &event, NULL), DAT_INVALID_PARAMETER);
	kit_se(evd, 1);
}

CLAUSE("EVD_WAIT-06", "EVD_WAIT-07", "EVD_WAIT-08", "EVD_WAIT-09", "EVD_WAIT-13")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_EVENT event;
	DAT_COUNT nmore = -1;
	uint64_t start = judge_now_ms();

	post(evd, 1, 2);
	ABOUT("EVD_WAIT-06");
	CHECK_RET(dat_evd_wait(evd, 50000, 3, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ABOUT("EVD_WAIT-13");
	CHECK_THAT(judge_now_ms() - start >= 49);
	ABOUT("EVD_WAIT-08");
	CHECK_NUM(nmore, 2);
	ABOUT("EVD_WAIT-07");
	kit_se(evd, 1);
	kit_se(evd, 2);
	kit_empty(evd);
	ABOUT("EVD_WAIT-09");
	post(evd, 1, 5);
	CHECK_RET(dat_evd_wait(evd, 0, 3, &event, &nmore), DAT_SUCCESS);
	CHECK_NUM(nmore, 4);
	CHECK_NUM(number_of(&event), 1);
}

CLAUSE("EVD_WAIT-10", "EVD_WAIT-12", "EVD_SE-09")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(), hint;
	struct kit_waiter w;

	ABOUT("EVD_WAIT-12");
	kit_wait_start(&w, evd, 3);
	CHECK_THAT(kit_still_waits(&w));
	ABOUT("EVD_WAIT-10");
	post(evd, 1, 2);
	CHECK_THAT(kit_still_waits(&w));
	post(evd, 3, 3);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(w.nmore, 2);
	CHECK_NUM(number_of(&w.event), 1);
	ABOUT("EVD_WAIT-12");
	CHECK_RET(w.ret, DAT_SUCCESS);
	ABOUT("EVD_SE-09");
	CHECK_RET(w.ret, DAT_SUCCESS);
	MUST_RET(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
	post(evd, 4, 4);
	CHECK_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
}

static void on_signal(int number)
{
	(void)number;
}

CLAUSE("EVD_WAIT-19")
{
	struct sigaction action = { .sa_handler = on_signal };
	DAT_EVD_HANDLE evd = se_evd();
	struct kit_waiter w;

	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	kit_wait_start(&w, evd, 2);
	post(evd, 1, 1);
	MUST(pthread_kill(w.thread, SIGUSR1) == 0);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_INTERRUPTED_CALL);
	kit_se(evd, 1);
	kit_empty(evd);
}

CLAUSE("EVD_SE-01", "EVD_SE-05", "EVD_SE-06", "EVD_SE-10", "EVD_SE-11")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_COUNT n = qlen(evd);

	ABOUT("EVD_SE-01");
	CHECK_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	kit_se(evd, 1);
	post(evd, 1, n);
	ABOUT("EVD_SE-05");
	CHECK_RET(kit_post_se(evd, 99), DAT_QUEUE_FULL);
	ABOUT("EVD_SE-06");
	CHECK_RET(kit_post_se(evd, 99), DAT_QUEUE_FULL);
	kit_quiet(t.async);
	ABOUT("EVD_SE-10");
	for (int i = 1; i <= n; i++)
		kit_se(evd, (uint64_t)i);
	CHECK_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	ABOUT("EVD_SE-06");
	kit_se(evd, 1);
	kit_empty(evd);
	ABOUT("EVD_SE-11");	/* posted one by one, none is lost */
	for (int i = 1; i <= 1000; i++) {
		post(evd, i, i);
		kit_se(evd, (uint64_t)i);
	}
	kit_empty(evd);
}

CLAUSE("EVD_SE-03", "EVD_SE-04", "EVD_SE-07", "EVD_SE-08")
{
	DAT_EVD_HANDLE evd = se_evd(), dto = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	ABOUT("EVD_SE-03");
	CHECK_RET(dat_evd_post_se(evd, NULL), DAT_INVALID_PARAMETER);
	event.event_number = DAT_DTO_COMPLETION_EVENT;
	CHECK_RET(dat_evd_post_se(evd, &event), DAT_INVALID_PARAMETER);
	kit_empty(evd);
	ABOUT("EVD_SE-04");
	CHECK_RET(kit_post_se(dto, 1), DAT_INVALID_PARAMETER);
	kit_empty(dto);
	ABOUT("EVD_SE-07");
	MUST_RET(kit_post_se(evd, 0xdeadbeefcafe), DAT_SUCCESS);
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	CHECK_THAT(number_of(&event) == 0xdeadbeefcafe);
	ABOUT("EVD_SE-08");	/* posts a pointer that nobody may dereference */
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	kit_se(evd, 1);
	CHECK_THAT(true);
}

CLAUSE("EVD_RESIZE-01", "EVD_RESIZE-03", "EVD_RESIZE-05", "EVD_RESIZE-06", "EVD_RESIZE-07")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_COUNT n = qlen(evd), more;
	DAT_RETURN ret;
	int next = 1, posted = 0;

	ABOUT("EVD_RESIZE-03");
	CHECK_RET(dat_evd_resize(evd, 0), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_resize(evd, -1), DAT_INVALID_PARAMETER);
	if (t.attr.max_evd_qlen < 0x7fffffff)
		CHECK_RET(dat_evd_resize(evd, t.attr.max_evd_qlen + 1), DAT_INVALID_PARAMETER);
	CHECK_NUM(qlen(evd), n);
	ABOUT("EVD_RESIZE-01");
	CHECK_RET(dat_evd_resize(evd, n + 20), DAT_SUCCESS);
	more = qlen(evd);
	CHECK_THAT(more >= n + 20);
	ABOUT("EVD_RESIZE-07");
	post(evd, 1, n + 5);
	for (int i = 1; i <= n + 5; i++)
		kit_se(evd, (uint64_t)i);
	ABOUT("EVD_RESIZE-05");
	post(evd, 1, 8);
	ret = dat_evd_resize(evd, 4);
	CHECK_RET_IN(ret, DAT_INVALID_STATE, DAT_SUCCESS);
	CHECK_THAT(ret == DAT_SUCCESS ? qlen(evd) >= 8 : qlen(evd) == more);
	for (uint64_t i = 1; i <= 8; i++)
		kit_se(evd, i);
	ABOUT("EVD_RESIZE-01");
	CHECK_RET(dat_evd_resize(evd, 4), DAT_SUCCESS);
	CHECK_THAT(qlen(evd) >= 4);
	ABOUT("EVD_RESIZE-06");
	for (int round = 0; round < 40; round++) {
		while (posted < next + 3)
			post(evd, posted + 1, posted + 1), posted++;
		MUST_RET(dat_evd_resize(evd, round % 2 ? 8 : 40), DAT_SUCCESS);
		kit_se(evd, (uint64_t)next++);
	}
	while (next <= posted)
		kit_se(evd, (uint64_t)next++);
	kit_empty(evd);
}

/* The backlog of a service point is its EVD's queue, so a longer EVD holds more requests. */
CLAUSE("EVD_RESIZE-09")
{
	DAT_EVD_HANDLE evd = kit_evd(1, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;
	DAT_COUNT n;
	struct kit_end end;

	kit_psp(evd, &qual);
	n = qlen(evd);
	NEEDS(n < 200, "evd_qlen: queues are too long to be filled");
	MUST_RET(dat_evd_resize(evd, n + 4), DAT_SUCCESS);
	for (int i = 0; i < n + 4; i++) {
		kit_end(&end, NULL);
		MUST_RET(kit_connect(end.ep, qual), DAT_SUCCESS);
		kit_sleep_ms(1);
	}
	for (int i = 0; i < n + 4; i++)
		CHECK_THAT(kit_cr(evd) != DAT_HANDLE_NULL);
}
