/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_evd_*: creation, queues, waiters, thresholds, the two switches, software events. t_cno.c has
 * the triggers.
 */
#include <signal.h>
#include <string.h>

#include "kit.h"

#define QUIET_US (t.quiet_ms * 1000)

static DAT_EVD_HANDLE se_evd(void)
{
	return kit_evd(16, DAT_EVD_SOFTWARE_FLAG);
}

static void post(DAT_EVD_HANDLE evd, int from, int to)
{
	for (int i = from; i <= to; i++)
		MUST_RET(kit_post_se(evd, (uint64_t)i), DAT_SUCCESS);
}

static DAT_EVD_PARAM query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static bool in_state(DAT_EVD_HANDLE evd, DAT_EVD_STATE bits)
{
	return ((unsigned int)query(evd).evd_state & (unsigned int)bits) == (unsigned int)bits;
}

static DAT_RETURN poll_se(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	return dat_evd_wait(evd, 0, 1, &event, &nmore);
}

CLAUSE("EVD_CREATE-01", "EVD_CREATE-03", "EVD_FREE-01")
{
	static const DAT_EVD_FLAGS flags[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};

	for (int i = 0; i < 6; i++) {
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
		DAT_EVENT event;

		ABOUT("EVD_CREATE-01");
		CHECK_RET(dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, flags[i], &evd), DAT_SUCCESS);
		ABOUT("EVD_CREATE-03");
		CHECK_THAT(in_state(evd, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE));
		CHECK_RET(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
		ABOUT("EVD_FREE-01");
		CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
	}
}

CLAUSE("EVD_CREATE-02", "EVD_CREATE-04", "EVD_QUERY-05")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = kit_evd_cno(13, DAT_EVD_SOFTWARE_FLAG, cno);

	ABOUT("EVD_CREATE-02");
	CHECK_THAT(query(evd).evd_qlen >= 13);
	post(evd, 1, 13);
	for (uint64_t i = 1; i <= 13; i++)
		kit_se(evd, i);
	ABOUT("EVD_CREATE-04");
	CHECK_THAT(query(evd).cno_handle == cno);
	CHECK_RET(dat_cno_free(cno), DAT_INVALID_STATE);
	CHECK_THAT(query(se_evd()).cno_handle == DAT_HANDLE_NULL);
	ABOUT("EVD_QUERY-05");
	CHECK_THAT(query(evd).ia_handle == t.ia);
	CHECK_NUM(query(evd).evd_flags, DAT_EVD_SOFTWARE_FLAG);
	CHECK_THAT(query(evd).cno_handle == cno);
}

CLAUSE("EVD_CREATE-06")
{
	DAT_EVD_HANDLE evd;

	CHECK_RET(dat_evd_create(t.ia, 0, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_create(t.ia, -1, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0x4000, &evd),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
	if (t.attr.max_evd_qlen < 0x7fffffff)
		CHECK_RET_IN(dat_evd_create(t.ia, t.attr.max_evd_qlen + 1, DAT_HANDLE_NULL,
					    DAT_EVD_SOFTWARE_FLAG, &evd),
			     DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("EVD_CREATE-07", "IA_QUERY-13")
{
	static const DAT_EVD_FLAGS flags[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
		DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};

	for (int i = 0; i < 6; i++) {
		ABOUT("IA_QUERY-13");
		CHECK_NUM(t.prov.evd_stream_merging_supported[i][i], DAT_TRUE);
		for (int j = 0; j < 6; j++) {
			DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

			ABOUT("EVD_CREATE-07");
			CHECK_RET(
				dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, flags[i] | flags[j], &evd),
				t.prov.evd_stream_merging_supported[i][j]
					? DAT_SUCCESS
					: DAT_MODEL_NOT_SUPPORTED);
		}
	}
}

CLAUSE("EVD_CREATE-08")
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVD_HANDLE evd;

	for (int i = 0; i < 1000 && ret == DAT_SUCCESS; i++)
		ret = dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("EVD_SETUNW-01", "EVD_SETUNW-03", "EVD_SETUNW-05", "EVD_SETUNW-07", "EVD_SETUNW-08",
       "EVD_WAIT-16", "EVD_DEQ-16", "EVD_CLRUNW-01", "EVD_CLRUNW-03", "EVD_CLRUNW-04",
       "EVD_CLRUNW-06")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_EVENT event;

	ABOUT("EVD_SETUNW-01");
	CHECK_RET(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	ABOUT("EVD_SETUNW-03");
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_UNWAITABLE) &&
		   !in_state(evd, DAT_EVD_STATE_WAITABLE));
	ABOUT("EVD_SETUNW-07");
	post(evd, 1, 3);
	ABOUT("EVD_SETUNW-05");
	CHECK_RET(poll_se(evd), DAT_INVALID_STATE);
	ABOUT("EVD_WAIT-16");
	CHECK_RET(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &(DAT_COUNT){ 0 }),
		  DAT_INVALID_STATE);
	ABOUT("EVD_DEQ-16");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	ABOUT("EVD_SETUNW-08");
	CHECK_RET(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	CHECK_RET(poll_se(evd), DAT_INVALID_STATE);
	ABOUT("EVD_CLRUNW-01");
	CHECK_RET(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	ABOUT("EVD_CLRUNW-03");
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_WAITABLE) &&
		   !in_state(evd, DAT_EVD_STATE_UNWAITABLE));
	ABOUT("EVD_CLRUNW-04");
	kit_se(evd, 2);
	ABOUT("EVD_SETUNW-07");
	kit_se(evd, 3);
	ABOUT("EVD_CLRUNW-06");
	CHECK_RET(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_WAITABLE));
}

CLAUSE("EVD_SETUNW-04")
{
	DAT_EVD_HANDLE evd = se_evd();
	struct kit_waiter w;

	kit_wait_start(&w, evd, 1);
	MUST_RET(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_INVALID_STATE);
}

CLAUSE("EVD_SETUNW-06", "EVD_CLRUNW-05")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE evd = kit_evd_cno(8, DAT_EVD_SOFTWARE_FLAG, cno), hint = KIT_BAD;

	ABOUT("EVD_SETUNW-06");
	MUST_RET(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	post(evd, 1, 1);
	CHECK_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
	CHECK_THAT(hint == evd);
	ABOUT("EVD_CLRUNW-05");
	MUST_RET(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	CHECK_THAT(query(evd).cno_handle == cno);
	post(evd, 2, 2);
	CHECK_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
}

CLAUSE("EVD_DEQ-01", "EVD_DEQ-02", "EVD_DEQ-05", "EVD_DEQ-06", "EVD_DEQ-12", "EVD_DEQ-17")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_EVENT event;
	uint64_t start = judge_now_ms();

	ABOUT("EVD_DEQ-02");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	ABOUT("EVD_DEQ-17");
	for (int i = 0; i < 1000; i++)
		dat_evd_dequeue(evd, &event);
	CHECK_THAT(judge_now_ms() - start < 1000 + t.patience_ms);
	post(evd, 1, 8);
	ABOUT("EVD_DEQ-05");
	CHECK_RET(dat_evd_dequeue(evd, NULL), DAT_INVALID_PARAMETER);
	ABOUT("EVD_DEQ-06");
	memset(&event, 0xa5, sizeof(event));
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	CHECK_NUM(event.event_number, DAT_SOFTWARE_EVENT);
	CHECK_THAT(event.evd_handle == evd);
	ABOUT("EVD_DEQ-01");
	CHECK_NUM((uintptr_t)event.event_data.software_event_data.pointer, 1);
	ABOUT("EVD_DEQ-12");
	for (int i = 2; i <= 8; i++) {
		CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
		CHECK_NUM((uintptr_t)event.event_data.software_event_data.pointer, i);
	}
	ABOUT("EVD_DEQ-01");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

CLAUSE("EVD_DEQ-04", "EVD_WAIT-14", "EVD_WAIT-15")
{
	DAT_EVD_HANDLE evd = se_evd();
	struct kit_waiter w;
	DAT_EVENT event;

	kit_wait_start(&w, evd, 2);
	post(evd, 1, 1);
	ABOUT("EVD_DEQ-04");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE);
	ABOUT("EVD_WAIT-15");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE);
	ABOUT("EVD_WAIT-14");
	CHECK_RET(poll_se(evd), DAT_INVALID_STATE);
	CHECK_THAT(kit_still_waits(&w));
	post(evd, 2, 2);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	ABOUT("EVD_DEQ-04");
	CHECK_NUM((uintptr_t)w.event.event_data.software_event_data.pointer, 1);
	kit_se(evd, 2);
}

CLAUSE("EVD_DIS-01", "EVD_DIS-03", "EVD_DIS-04", "EVD_DIS-07", "EVD_DEQ-15", "EVD_WAIT-22",
       "EVD_EN-01", "EVD_EN-03", "EVD_EN-04", "EVD_QUERY-01", "EVD_QUERY-04")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	struct kit_waiter w;

	ABOUT("EVD_QUERY-01");
	for (unsigned int bit = 1; bit <= 0x10; bit <<= 1)
		CHECK_RET(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)bit, &param), DAT_SUCCESS);
	ABOUT("EVD_DIS-01");
	CHECK_RET(dat_evd_disable(evd), DAT_SUCCESS);
	ABOUT("EVD_DIS-03");
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_DISABLED) && !in_state(evd, DAT_EVD_STATE_ENABLED));
	ABOUT("EVD_DIS-04");
	CHECK_RET(dat_evd_disable(evd), DAT_SUCCESS);
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_DISABLED));
	ABOUT("EVD_QUERY-04");
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE));
	MUST_RET(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE));
	MUST_RET(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
	ABOUT("EVD_DEQ-15");
	post(evd, 1, 1);
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
	ABOUT("EVD_DIS-07");
	kit_wait_start(&w, evd, 1);
	post(evd, 2, 2);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	ABOUT("EVD_WAIT-22");
	CHECK_RET(w.ret, DAT_SUCCESS);
	post(evd, 3, 3);
	CHECK_RET(poll_se(evd), DAT_SUCCESS);
	ABOUT("EVD_EN-01");
	CHECK_RET(dat_evd_enable(evd), DAT_SUCCESS);
	ABOUT("EVD_EN-03");
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_ENABLED) && !in_state(evd, DAT_EVD_STATE_DISABLED));
	ABOUT("EVD_EN-04");
	CHECK_RET(dat_evd_enable(evd), DAT_SUCCESS);
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_ENABLED));
	ABOUT("EVD_QUERY-04");
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE));
	MUST_RET(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	CHECK_THAT(in_state(evd, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE));
}

CLAUSE("EVD_FREE-03", "EVD_FREE-04", "EVD_FREE-05", "EVD_FREE-07", "PSP_CREATE-18")
{
	struct kit_pair pair;
	DAT_EVD_HANDLE rsp_evd, evd;
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
	struct kit_end reserved;
	DAT_EP_PARAM param;
	DAT_EVENT event;

	kit_pair(&pair, NULL);
	kit_end(&reserved, NULL);
	rsp_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	MUST_RET(dat_rsp_create(t.ia, kit_unused_qual(), reserved.ep, rsp_evd, &rsp), DAT_SUCCESS);
	ABOUT("EVD_FREE-03");
	CHECK_RET(dat_evd_free(pair.a.recv), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_free(pair.a.request), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_free(pair.a.connect), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_free(pair.cr_evd), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_free(rsp_evd), DAT_INVALID_STATE);
	ABOUT("PSP_CREATE-18");
	CHECK_RET(dat_evd_free(pair.cr_evd), DAT_INVALID_STATE);
	ABOUT("EVD_FREE-04");
	kit_exchange(&pair.a, &pair.b);
	kit_disconnect(&pair);
	ABOUT("EVD_FREE-05");
	MUST_RET(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	evd = pair.a.connect;
	memset(&param, 0, sizeof(param));
	param.connect_evd_handle = kit_evd(8, DAT_EVD_CONNECTION_FLAG);
	MUST_RET(dat_ep_modify(pair.a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), DAT_SUCCESS);
	pair.a.connect = param.connect_evd_handle;
	CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
	kit_pair_connect(&pair);
	ABOUT("EVD_FREE-07");
	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE);
	CHECK_RET(poll_se(evd), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &(DAT_EVD_PARAM){ 0 }), DAT_INVALID_HANDLE);
}

CLAUSE("EVD_FREE-06")
{
	DAT_EVD_HANDLE evd = se_evd();

	post(evd, 1, 5);
	CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
}

CLAUSE("EVD_FREE-09", "EVD_WAIT-18", "IA_CLOSE-09")
{
	DAT_EVD_HANDLE evd = se_evd();
	DAT_IA_HANDLE ia = t.ia;
	struct kit_waiter w, w2;
	DAT_RETURN ret;

	ABOUT("EVD_FREE-09");
	kit_wait_start(&w, evd, 1);
	ret = dat_evd_free(evd);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INVALID_STATE);
	if (ret == DAT_SUCCESS) {
		kit_wait_end(&w);
		CHECK_RET(w.ret, DAT_ABORT);
	} else {
		CHECK_THAT(kit_still_waits(&w));
	}
	ABOUT("EVD_WAIT-18");
	kit_wait_start(&w2, se_evd(), 1);
	t.ia = DAT_HANDLE_NULL;
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_wait_end(&w2);
	CHECK_RET(w2.ret, DAT_ABORT);
	ABOUT("IA_CLOSE-09");
	kit_wait_end(&w);
	CHECK_RET(w2.ret, DAT_ABORT);
	CHECK_RET(w.ret, DAT_ABORT);
}

CLAUSE("EVD_FREE-10")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	struct kit_end active;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = kit_psp(evd, &qual);
	DAT_EVENT event;

	kit_end(&active, NULL);
	MUST_RET(dat_ep_connect(active.ep, t.attr.ia_address_ptr, qual, 500000, 0, NULL,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_sleep_ms(t.quiet_ms);	/* the request is on its way, or has arrived */
	MUST_RET(dat_psp_free(psp), DAT_SUCCESS);
	CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
	event = kit_event(active.connect);
	CHECK_THAT(event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
	judge_outcome("%s", kit_event_name(event.event_number));
}

CLAUSE("EVD_FREE-11")
{
	CHECK_RET_IN(dat_evd_free(t.async), DAT_INVALID_STATE, DAT_SUCCESS);
}

CLAUSE("EVD_MODCNO-01", "EVD_MODCNO-03", "EVD_MODCNO-04", "EVD_MODCNO-06", "EVD_MODCNO-07",
       "EVD_MODCNO-09")
{
	DAT_CNO_HANDLE one = kit_cno(), two = kit_cno();
	DAT_EVD_HANDLE evd = se_evd(), hint;

	ABOUT("EVD_MODCNO-01");
	CHECK_RET(dat_evd_modify_cno(evd, one), DAT_SUCCESS);
	ABOUT("EVD_MODCNO-03");
	CHECK_THAT(query(evd).cno_handle == one);
	ABOUT("EVD_MODCNO-01");
	CHECK_RET(dat_evd_modify_cno(evd, two), DAT_SUCCESS);
	ABOUT("EVD_MODCNO-04");
	CHECK_THAT(query(evd).cno_handle == two);
	post(evd, 1, 1);
	CHECK_RET(dat_cno_wait(two, kit_patience(), &hint), DAT_SUCCESS);
	CHECK_RET(dat_cno_wait(one, QUIET_US, &hint), DAT_QUEUE_EMPTY);
	ABOUT("EVD_MODCNO-09");
	CHECK_RET(dat_cno_free(one), DAT_SUCCESS);
	ABOUT("EVD_MODCNO-06");
	one = kit_cno();
	MUST_RET(dat_evd_disable(evd), DAT_SUCCESS);
	MUST_RET(dat_evd_modify_cno(evd, one), DAT_SUCCESS);
	MUST_RET(dat_evd_enable(evd), DAT_SUCCESS);
	post(evd, 2, 2);
	CHECK_RET(dat_cno_wait(one, kit_patience(), &hint), DAT_SUCCESS);
	CHECK_RET(dat_cno_wait(two, QUIET_US, &hint), DAT_QUEUE_EMPTY);
	ABOUT("EVD_MODCNO-01");
	CHECK_RET(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	ABOUT("EVD_MODCNO-03");
	CHECK_THAT(query(evd).cno_handle == DAT_HANDLE_NULL);
	ABOUT("EVD_MODCNO-07");
	post(evd, 3, 3);
	CHECK_RET(dat_cno_wait(one, QUIET_US, &hint), DAT_QUEUE_EMPTY);
	kit_se(evd, 1);
	kit_se(evd, 2);
	kit_se(evd, 3);
}

/* Posts while another thread changes the CNO: the trigger goes to one of the two CNOs, never to none. */
struct flip {
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;
};

static void *flip_cno(void *arg)
{
	struct flip *flip = arg;

	flip->ret = dat_evd_modify_cno(flip->evd, flip->cno);
	return NULL;
}

CLAUSE("EVD_MODCNO-05")
{
	DAT_CNO_HANDLE cno[2] = { kit_cno(), kit_cno() };
	DAT_EVD_HANDLE evd = kit_evd_cno(16, DAT_EVD_SOFTWARE_FLAG, cno[0]), hint;

	for (int i = 1; i <= 50; i++) {
		struct flip flip = { .evd = evd, .cno = cno[i % 2] };
		pthread_t thread;
		int woken = 0;

		MUST(pthread_create(&thread, NULL, flip_cno, &flip) == 0);
		post(evd, i, i);
		pthread_join(thread, NULL);
		MUST_RET(flip.ret, DAT_SUCCESS);
		for (int c = 0; c < 2; c++)
			woken += dat_cno_wait(cno[c], 0, &hint) == DAT_SUCCESS;
		MUST(woken >= 1);
		kit_se(evd, (uint64_t)i);
	}
	CHECK_THAT(true);
}

CLAUSE("EVD_MODCNO-10", "EVD_RESIZE-08", "IA_OPEN-09", "ASYNC-03")
{
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVENT event;
	DAT_EVD_HANDLE hint;

	ABOUT("EVD_MODCNO-10");
	CHECK_RET(dat_evd_modify_cno(t.async, cno), DAT_SUCCESS);
	CHECK_THAT(query(t.async).cno_handle == cno);
	ABOUT("EVD_RESIZE-08");
	CHECK_RET(dat_evd_resize(t.async, 32), DAT_SUCCESS);
	CHECK_THAT(query(t.async).evd_qlen >= 32);
	ABOUT("IA_OPEN-09");
	CHECK_THAT(query(t.async).evd_qlen >= 32 && query(t.async).cno_handle == cno);
	ABOUT("ASYNC-03");
	CHECK_RET(poll_se(t.async), DAT_TIMEOUT_EXPIRED);
	CHECK_RET(dat_evd_dequeue(t.async, &event), DAT_QUEUE_EMPTY);
	CHECK_RET(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
}
