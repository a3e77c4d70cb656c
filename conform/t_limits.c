/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resources that run out. No test can exhaust them on every provider: each requests many and
 * accepts only one return code as a refusal. The outcome is recorded.
 */
#include <string.h>
#include <unistd.h>

#include "kit.h"

#define MANY 200

CLAUSE("PSP_CREATE-02")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_PSP_HANDLE psp;

	for (int i = 0; i < MANY && ret == DAT_SUCCESS; i++) {
		ret = dat_psp_create(t.ia, qual + (DAT_CONN_QUAL)i, evd, DAT_PSP_CONSUMER_FLAG,
				     &psp);
		if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
			ret = DAT_SUCCESS;	/* another program has this qualifier */
	}
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("PSP_ANY-02", "PSP_ANY-05")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	for (int i = 0; i < 5 * MANY && ret == DAT_SUCCESS; i++)
		ret = dat_psp_create_any(t.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_CONN_QUAL_UNAVAILABLE, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("RSP_CREATE-02", "RSP_CREATE-04")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual() + 5000;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_RSP_HANDLE rsp;
	struct kit_end end;

	ABOUT("RSP_CREATE-02");
	for (int i = 0; i < MANY / 2 && ret == DAT_SUCCESS; i++) {
		kit_end(&end, NULL);
		ret = dat_rsp_create(t.ia, qual + (DAT_CONN_QUAL)i, end.ep, evd, &rsp);
		if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
			ret = DAT_SUCCESS;
	}
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
	ABOUT("RSP_CREATE-04");	/* the transport decides which numbers it does not support */
	kit_end(&end, NULL);
	CHECK_RET_IN(dat_rsp_create(t.ia, ~(DAT_CONN_QUAL)0 - (DAT_CONN_QUAL)getpid(), end.ep, evd,
				    &rsp),
		     DAT_INVALID_PARAMETER, DAT_SUCCESS);
	kit_end(&end, NULL);
	CHECK_RET(dat_rsp_create(t.ia, qual, end.ep, evd, NULL), DAT_INVALID_PARAMETER);
}

CLAUSE("EP_CONNECT-05", "EP_DISC-04", "EP_DUP-06")
{
	DAT_EVD_HANDLE evd = kit_evd(3 * MANY, DAT_EVD_CR_FLAG);
	struct kit_end ends[MANY];
	struct kit_pair p;
	DAT_CONN_QUAL qual;
	DAT_RETURN ret = DAT_SUCCESS;
	int n;

	kit_psp(evd, &qual);
	ABOUT("EP_CONNECT-05");
	for (n = 0; n < MANY && ret == DAT_SUCCESS; n++) {
		kit_end(&ends[n], NULL);
		ret = kit_connect(ends[n].ep, qual);
	}
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
	ABOUT("EP_DISC-04");
	ret = DAT_SUCCESS;
	for (int i = 0; i < n - 1 && ret == DAT_SUCCESS; i++)
		ret = dat_ep_disconnect(ends[i].ep, DAT_CLOSE_ABRUPT_FLAG);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
	ABOUT("EP_DUP-06");
	kit_pair(&p, NULL);
	ret = DAT_SUCCESS;
	for (int i = 0; i < 50 && ret == DAT_SUCCESS; i++) {
		kit_end(&ends[0], NULL);
		ret = dat_ep_dup_connect(ends[0].ep, p.a.ep, kit_patience(), 0, NULL,
					 DAT_QOS_BEST_EFFORT);
	}
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("EVD_RESIZE-04")
{
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT most = t.attr.max_evd_qlen < 1000000 ? t.attr.max_evd_qlen : 1000000;

	CHECK_RET_IN(dat_evd_resize(evd, most), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

/*
 * With more completions than the EVD was created for, all of them come, or the asynchronous EVD
 * reports the overflow.
 */
CLAUSE("ASYNC-01", "IA_OPEN-11")
{
	DAT_EVD_HANDLE tiny = kit_evd(1, DAT_EVD_DTO_FLAG), async = t.async;
	DAT_EP_ATTR attr = kit_attr();
	struct kit_buf buf = kit_buf(4096, KIT_LOCAL);
	DAT_IA_HANDLE other = DAT_HANDLE_NULL;
	struct kit_pair p;
	DAT_EVENT event;
	int came = 0;

	MUST_RET(dat_ia_openv((char *)t.ia_name, 8, &async, &other, API_MAJOR, API_MINOR, DAT_FALSE),
		 DAT_SUCCESS);
	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_ep_create(t.ia, t.pz, tiny, p.b.request, p.b.connect, &attr, &p.b.ep),
		 DAT_SUCCESS);
	kit_pair_connect(&p);
	for (uint64_t i = 0; i < 16; i++) {
		MUST_RET(kit_recv(p.b.ep, &buf, 0, 64, i), DAT_SUCCESS);
		MUST_RET(kit_send(p.a.ep, &buf, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_SUCCESS);
	}
	ABOUT("ASYNC-01");
	if (dat_evd_wait(t.async, t.quiet_ms * 1000, 1, &event, &(DAT_COUNT){ 0 }) == DAT_SUCCESS) {
		judge_outcome("an overflow");
		CHECK_NUM(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
		CHECK_THAT(event.event_data.asynch_error_event_data.dat_handle == tiny);
		ABOUT("IA_OPEN-11");
		CHECK_THAT(event.evd_handle == t.async);
	} else {
		for (uint64_t i = 0; i < 16; i++, came++)
			kit_dto(tiny, p.b.ep, i, DAT_DTO_SUCCESS);
		judge_outcome("the EVD holds them all");
		CHECK_NUM(came, 16);
		ABOUT("IA_OPEN-11");
		judge_outcome("no asynchronous event can be brought about");
		CHECK_RET(dat_ia_query(other, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
		CHECK_THAT(async == t.async);
	}
	MUST_RET(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

CLAUSE_BARE("IA_OPEN-14")
{
	struct kit_list all;
	DAT_COUNT n = 0;
	bool ours = false;

	MUST(kit_list_make(&all));
	MUST_RET(dat_registry_list_providers(all.room, &n, all.list), DAT_SUCCESS);
	for (int i = 0; i < n; i++) {
		const DAT_PROVIDER_INFO *info = &all.infos[i];
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_RETURN ret;

		if (strcmp(info->ia_name, t.ia_name))
			continue;	/* other adapters are not under test */
		ours = true;
		ret = dat_ia_openv((char *)t.ia_name, 8, &async, &ia, info->dapl_version_major,
				   info->dapl_version_minor, info->is_thread_safe);
		CHECK_RET(ret, DAT_SUCCESS);
		CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	}
	CHECK_THAT(ours);
	kit_list_free(&all);
}
