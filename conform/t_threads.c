/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that the standard lets several threads make at once. Four threads do the same, each on
 * objects of its own or all on one object; a provider that is built with sanitizers reports more. A
 * provider that is not thread safe is not tested: its attributes say so.
 */
#include <string.h>

#include "kit.h"

#define ROUNDS 50

/* What the threads share. */
static struct {
	struct kit_pair p;
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_EVD_HANDLE evd, cr_evd;
	DAT_CONN_QUAL qual, free_qual;
	int won;	/* atomic */
	int taken;	/* atomic */
} shared;

#define TOGETHER(id, setup, ...) TOGETHER_(__LINE__, id, setup, __VA_ARGS__)
#define TOGETHER_(n, ...)	 TOGETHER__(n, __VA_ARGS__)
/* The statement runs in each thread; `bad` counts failures, `who` is the thread's number. */
#define TOGETHER__(n, id, setup, ...) \
	static int work_##n(int who) \
	{ \
		int bad = 0; \
		(void)who; \
		for (int round = 0; round < ROUNDS; round++) { \
			__VA_ARGS__; \
		} \
		return bad; \
	} \
	CLAUSE(id) \
	{ \
		NEEDS(t.prov.is_thread_safe, "is_thread_safe"); \
		setup; \
		CHECK_NUM(kit_together(work_##n), 0); \
	}

static void nothing(void)
{
}

static void make_evd(void)
{
	shared.evd = kit_evd(64, DAT_EVD_SOFTWARE_FLAG);
}

static void make_cr(void)
{
	kit_pair_unconnected(&shared.p, NULL);
	MUST_RET(kit_connect(shared.p.a.ep, shared.p.qual), DAT_SUCCESS);
	shared.cr = kit_cr(shared.p.cr_evd);
}

static void make_sp(void)
{
	struct kit_end end;

	shared.cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	shared.psp = kit_psp(shared.cr_evd, &shared.qual);
	shared.free_qual = kit_unused_qual();
	kit_end(&end, NULL);
	MUST_RET(dat_rsp_create(t.ia, kit_unused_qual(), end.ep, shared.cr_evd, &shared.rsp),
		 DAT_SUCCESS);
}

static int makes_cno(void)
{
	DAT_CNO_HANDLE cno;

	return dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno) || dat_cno_free(cno);
}

static int makes_ep(void)
{
	DAT_EP_ATTR attr = kit_attr();
	DAT_EP_HANDLE ep;

	return dat_ep_create(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, &attr,
			     &ep) ||
	       dat_ep_free(ep);
}

static int gets_status(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return dat_ep_get_status(shared.p.a.ep, &state, &recv_idle, &request_idle) ||
	       state != DAT_EP_STATE_CONNECTED;
}

/* All threads but one get the error that another waits already, which is correct. */
static int waits(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret = DAT_GET_TYPE(dat_evd_wait(shared.evd, 100, 1, &event, &nmore));

	return ret != DAT_TIMEOUT_EXPIRED && ret != DAT_INVALID_STATE;
}

static int opens(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv((char *)t.ia_name, 8, &async, &ia, API_MAJOR, API_MINOR, DAT_FALSE) ||
	       dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

static int lists(void)
{
	struct kit_list all;
	DAT_COUNT n;
	int bad;

	if (!kit_list_make(&all))
		return 1;
	bad = dat_registry_list_providers(all.room, &n, all.list) != DAT_SUCCESS || n < 1;
	kit_list_free(&all);
	return bad;
}

/* Uses a qualifier of the thread's own, and one that all want, which only the first gets. */
static int makes_psp(int who)
{
	DAT_PSP_HANDLE psp;
	int bad = dat_psp_create(t.ia, shared.free_qual + 1000 + (DAT_CONN_QUAL)who, shared.cr_evd,
				 DAT_PSP_CONSUMER_FLAG, &psp) || dat_psp_free(psp);

	if (dat_psp_create(t.ia, shared.free_qual, shared.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp) ==
	    DAT_SUCCESS) {
		bad += __atomic_fetch_add(&shared.won, 1, __ATOMIC_ACQ_REL) != 0;
		__atomic_fetch_sub(&shared.won, 1, __ATOMIC_ACQ_REL);
		bad += dat_psp_free(psp) != DAT_SUCCESS;
	}
	return bad;
}

static int makes_rsp(int who)
{
	DAT_EP_ATTR attr = kit_attr();
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;

	return dat_ep_create(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, &attr,
			     &ep) ||
	       dat_rsp_create(t.ia, shared.free_qual + 2000 + (DAT_CONN_QUAL)who, ep, shared.cr_evd,
			      &rsp) ||
	       dat_rsp_free(rsp) || dat_ep_free(ep);
}

static int errs(void)
{
	const char *major = NULL, *minor = NULL;

	return dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_HANDLE, &major, &minor) != DAT_SUCCESS ||
	       !major || !minor;
}

TOGETHER("CNO_CREATE-11", nothing(), bad += makes_cno())
TOGETHER("CR_QUERY-08", make_cr(),
	 bad += dat_cr_query(shared.cr, DAT_CR_FIELD_ALL, &(DAT_CR_PARAM){ 0 }) != 0)
TOGETHER("EP_CREATE-25", nothing(), bad += makes_ep())
TOGETHER("EP_STATUS-07", kit_pair(&shared.p, NULL), bad += gets_status())
TOGETHER("EVD_CLRUNW-07", make_evd(), bad += dat_evd_clear_unwaitable(shared.evd) != 0)
TOGETHER("EVD_SETUNW-09", make_evd(), bad += dat_evd_set_unwaitable(shared.evd) != 0)
TOGETHER("EVD_DIS-08", make_evd(), bad += dat_evd_disable(shared.evd) != 0)
TOGETHER("EVD_WAIT-27", make_evd(), bad += waits())
TOGETHER("IA_OPEN-17", nothing(), if (round < 5) bad += opens())
TOGETHER("IA_QUERY-19", nothing(), bad += dat_ia_query(t.ia, NULL, 0, NULL, 0, NULL) != 0)
TOGETHER("PSP_CREATE-20", make_sp(), bad += makes_psp(who))
TOGETHER("PSP_QUERY-04", make_sp(),
	 bad += dat_psp_query(shared.psp, DAT_PSP_FIELD_ALL, &(DAT_PSP_PARAM){ 0 }) != 0)
TOGETHER("REG_LIST-11", nothing(), bad += lists())
TOGETHER("RSP_CREATE-17", make_sp(), bad += makes_rsp(who))
TOGETHER("RSP_QUERY-04", make_sp(),
	 bad += dat_rsp_query(shared.rsp, DAT_RSP_FIELD_ALL, &(DAT_RSP_PARAM){ 0 }) != 0)
TOGETHER("GEN-10", make_evd(), bad += makes_cno() + makes_ep() + waits() + lists() + errs())

/* This call is the registry's alone, which is thread safe whatever the provider is. */
static int errs_often(int who)
{
	int bad = 0;

	(void)who;
	for (int i = 0; i < 1000; i++)
		bad += errs();
	return bad;
}

CLAUSE("STRERROR-05")
{
	CHECK_NUM(kit_together(errs_often), 0);
}

#define EVENTS 60

static int takes(int who)
{
	uint64_t until = judge_now_ms() + t.patience_ms;
	DAT_EVENT event;

	(void)who;
	while (__atomic_load_n(&shared.taken, __ATOMIC_ACQUIRE) < EVENTS && judge_now_ms() < until)
		if (dat_evd_dequeue(shared.evd, &event) == DAT_SUCCESS)
			__atomic_fetch_add(&shared.taken, 1, __ATOMIC_ACQ_REL);
	return 0;
}

CLAUSE("EVD_DEQ-13", "EVD_DEQ-18")
{
	DAT_EVENT event;

	NEEDS(t.prov.is_thread_safe, "is_thread_safe");
	make_evd();
	for (uint64_t i = 0; i < EVENTS; i++)
		MUST_RET(kit_post_se(shared.evd, i), DAT_SUCCESS);
	kit_together(takes);
	CHECK_NUM(shared.taken, EVENTS);
	CHECK_RET(dat_evd_dequeue(shared.evd, &event), DAT_QUEUE_EMPTY);
}
