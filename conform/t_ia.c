/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open, _close, _query, the registry's list, dat_strerror. */
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

/* dat_ia_open() is a macro around dat_ia_openv(), which also takes the version and the thread safety. */
static DAT_RETURN openv(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia,
			DAT_UINT32 major, DAT_UINT32 minor)
{
	return dat_ia_openv((char *)name, qlen, async, ia, major, minor, DAT_FALSE);
}

static DAT_RETURN open_simply(DAT_IA_HANDLE *ia, DAT_EVD_HANDLE *async)
{
	*async = DAT_HANDLE_NULL;
	return openv(t.ia_name, 8, async, ia, API_MAJOR, API_MINOR);
}

CLAUSE_BARE("IA_OPEN-01", "IA_OPEN-08", "IA_QUERY-04", "IA_QUERY-05", "IA_CLOSE-01", "IA_CLOSE-13",
	    "IA_CLOSE-15", "IA_CLOSE-19", "IA_CLOSE-07")
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, asked = KIT_BAD, evd;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	DAT_IA_ATTR attr;
	DAT_HANDLE made;

	ABOUT("IA_CLOSE-07");
	CHECK_NUM(DAT_CLOSE_DEFAULT, DAT_CLOSE_ABRUPT_FLAG);
	ABOUT("IA_OPEN-01");
	MUST_RET(dat_ia_open((char *)t.ia_name, 20, &async, &ia), DAT_SUCCESS);
	CHECK_THAT(async != DAT_HANDLE_NULL && ia != DAT_HANDLE_NULL);
	ABOUT("IA_OPEN-08");
	CHECK_RET(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.evd_qlen >= 20 && param.cno_handle == DAT_HANDLE_NULL);
	CHECK_THAT((param.evd_flags & DAT_EVD_ASYNC_FLAG) != 0);
	ABOUT("IA_QUERY-04");
	CHECK_RET(dat_ia_query(ia, &asked, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK_THAT(asked == async);
	ABOUT("IA_QUERY-05");
	memset(&attr, 0xa5, sizeof(attr));
	CHECK_RET(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL),
		  DAT_SUCCESS);
	CHECK_THAT(!strncmp(attr.adapter_name, t.ia_name, DAT_NAME_MAX_LENGTH));
	ABOUT("IA_CLOSE-01");
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	ABOUT("IA_CLOSE-15");	/* the asynchronous EVD was still there */
	CHECK_RET(dat_ia_query(ia, &asked, 0, NULL, 0, NULL), DAT_INVALID_HANDLE);
	ABOUT("IA_CLOSE-13");
	CHECK_RET(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	ABOUT("IA_CLOSE-19");
	CHECK_RET(dat_pz_create(ia, &made), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
		  DAT_INVALID_HANDLE);
	CHECK_RET(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &made), DAT_INVALID_HANDLE);
	MUST_RET(open_simply(&ia, &async), DAT_SUCCESS);
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ABOUT("IA_CLOSE-13");
	CHECK_RET(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param), DAT_INVALID_HANDLE);
}

CLAUSE_BARE("IA_OPEN-02", "IA_OPEN-03", "IA_OPEN-04")
{
	char overlong[DAT_NAME_MAX_LENGTH + 50];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	memset(overlong, 'x', sizeof(overlong));
	overlong[sizeof(overlong) - 1] = '\0';
	ABOUT("IA_OPEN-02");
	CHECK_RET(openv("no such adapter", 8, &async, &ia, API_MAJOR, API_MINOR), DAT_PROVIDER_NOT_FOUND);
	CHECK_THAT(async == DAT_HANDLE_NULL);
	ABOUT("IA_OPEN-03");
	CHECK_RET(openv(t.ia_name, 8, &async, &ia, 9, API_MINOR), DAT_PROVIDER_NOT_FOUND);
	CHECK_RET(openv(t.ia_name, 8, &async, &ia, API_MAJOR, 77), DAT_PROVIDER_NOT_FOUND);
	ABOUT("IA_OPEN-04");
	CHECK_RET(openv(NULL, 8, &async, &ia, API_MAJOR, API_MINOR), DAT_INVALID_PARAMETER);
	CHECK_RET(openv(overlong, 8, &async, &ia, API_MAJOR, API_MINOR), DAT_INVALID_PARAMETER);
	CHECK_RET(openv(t.ia_name, 8, NULL, &ia, API_MAJOR, API_MINOR), DAT_INVALID_PARAMETER);
	CHECK_RET_IN(openv(t.ia_name, 8, &async, NULL, API_MAJOR, API_MINOR), DAT_INVALID_PARAMETER,
		     DAT_INVALID_HANDLE);
	CHECK_RET(openv(t.ia_name, 0, &async, &ia, API_MAJOR, API_MINOR), DAT_INVALID_PARAMETER);
	CHECK_RET(openv(t.ia_name, -1, &async, &ia, API_MAJOR, API_MINOR), DAT_INVALID_PARAMETER);
	CHECK_THAT(async == DAT_HANDLE_NULL);
}

/* 2.0 has no lower minor version. */
CLAUSE_BARE("IA_OPEN-16")
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	CHECK_RET(openv(t.ia_name, 8, &async, &ia, API_MAJOR, API_MINOR - 1), DAT_SUCCESS);
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

CLAUSE("IA_OPEN-06")
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_IA_HANDLE ia[64];
	DAT_EVD_HANDLE async;
	int n = 0;

	while (n < 64 && (ret = open_simply(&ia[n], &async)) == DAT_SUCCESS)
		n++;
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
	while (n)
		CHECK_RET(dat_ia_close(ia[--n], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

CLAUSE("IA_OPEN-07", "IA_QUERY-17", "IA_CLOSE-17")
{
	DAT_IA_HANDLE other = kit_open_another();
	struct kit_pair p;
	DAT_IA_ATTR attr;

	ABOUT("IA_OPEN-07");
	CHECK_THAT(other != t.ia);
	ABOUT("IA_QUERY-17");
	memset(&attr, 0, sizeof(attr));
	CHECK_RET(dat_ia_query(other, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), DAT_SUCCESS);
	CHECK_THAT(attr.max_eps == t.attr.max_eps &&
		   attr.max_message_size == t.attr.max_message_size &&
		   attr.max_evd_qlen == t.attr.max_evd_qlen && attr.max_lmrs == t.attr.max_lmrs &&
		   attr.max_dto_per_ep == t.attr.max_dto_per_ep);
	ABOUT("IA_CLOSE-17");
	kit_pair(&p, NULL);
	MUST_RET(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_exchange(&p.a, &p.b);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE("IA_OPEN-10", "IA_OPEN-12", "IA_CLOSE-14", "IA_OPEN-05")
{
	DAT_EVD_HANDLE async = t.async, asked = KIT_BAD;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_EVD_PARAM before, after;
	DAT_EVENT event;
	static uint64_t garbage[32];
	DAT_RETURN ret;

	ABOUT("IA_OPEN-10");
	MUST_RET(dat_evd_query(t.async, DAT_EVD_FIELD_ALL, &before), DAT_SUCCESS);
	MUST_RET(openv(t.ia_name, 30000, &async, &ia, API_MAJOR, API_MINOR), DAT_SUCCESS);
	CHECK_THAT(async == t.async);
	MUST_RET(dat_evd_query(t.async, DAT_EVD_FIELD_ALL, &after), DAT_SUCCESS);
	CHECK_NUM(after.evd_qlen, before.evd_qlen);
	ABOUT("IA_CLOSE-14");
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat_evd_dequeue(t.async, &event), DAT_QUEUE_EMPTY);
	ABOUT("IA_OPEN-12");
	async = DAT_EVD_ASYNC_EXISTS;
	ret = openv(t.ia_name, 8, &async, &ia, API_MAJOR, API_MINOR);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INVALID_HANDLE);
	if (ret == DAT_SUCCESS) {
		CHECK_RET(dat_ia_query(ia, &asked, 0, NULL, 0, NULL), DAT_SUCCESS);
		CHECK_THAT(asked == DAT_EVD_OUT_OF_SCOPE || asked == t.async);
		MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	}
	ABOUT("IA_OPEN-05");
	async = &garbage[8];
	CHECK_RET_IN(openv(t.ia_name, 8, &async, &ia, API_MAJOR, API_MINOR), DAT_INVALID_HANDLE, DAT_SUCCESS);
	CHECK_THAT(async == &garbage[8]);
}

CLAUSE("IA_CLOSE-02", "IA_CLOSE-03")
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct kit_pair p;
	struct kit_buf buf;
	DAT_HANDLE one;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;

	ABOUT("IA_CLOSE-02");
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG),
		  DAT_INVALID_STATE); /* because each test begins with a PZ */
	buf = kit_buf(4096, KIT_LOCAL);
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	MUST_RET(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	if (t.attr.max_rmrs > 0) {
		MUST_RET(dat_rmr_create(t.pz, &one), DAT_SUCCESS);
		CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
		MUST_RET(dat_rmr_free(one), DAT_SUCCESS);
	}
	if (t.prov.srq_supported) {
		MUST_RET(dat_srq_create(t.ia, t.pz, &srq_attr, &one), DAT_SUCCESS);
		CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
		MUST_RET(dat_srq_free(one), DAT_SUCCESS);
	}
	MUST_RET(dat_pz_free(t.pz), DAT_SUCCESS);
	/* a provider may require that an endpoint has a PZ; without a PZ the endpoint is the only object */
	if (dat_ep_create(t.ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			  NULL, &one) == DAT_SUCCESS) {
		CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
		MUST_RET(dat_ep_free(one), DAT_SUCCESS);
	}
	evd = kit_evd(8, DAT_EVD_CR_FLAG);
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	one = kit_psp(evd, &qual);
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	MUST_RET(dat_psp_free(one), DAT_SUCCESS);
	MUST_RET(dat_evd_free(evd), DAT_SUCCESS);
	one = kit_cno();
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	MUST_RET(dat_cno_free(one), DAT_SUCCESS);
	ABOUT("IA_CLOSE-03");
	t.pz = kit_pz();
	kit_pair(&p, NULL);
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	kit_exchange(&p.a, &p.b);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE("IA_CLOSE-05")
{
	CHECK_RET(dat_ia_close(t.ia, (DAT_CLOSE_FLAGS)0x40), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ia_query(t.ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
}

CLAUSE("IA_CLOSE-08")
{
	struct kit_pair p, q;
	struct kit_buf buf = kit_buf(4096, KIT_REMOTE);
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_HANDLE_TYPE type;
	DAT_IA_HANDLE ia = t.ia;

	kit_pair(&p, NULL);
	kit_pair_unconnected(&q, NULL);
	MUST_RET(kit_connect(q.a.ep, q.qual), DAT_SUCCESS);
	cr = kit_cr(q.cr_evd);
	if (t.attr.max_rmrs > 0)
		MUST_RET(dat_rmr_create(t.pz, &rmr), DAT_SUCCESS);
	MUST_RET(kit_recv(p.a.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	t.ia = DAT_HANDLE_NULL;
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat_get_handle_type(p.a.ep, &type), DAT_INVALID_HANDLE);
	CHECK_RET(dat_ep_free(p.b.ep), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_dequeue(p.a.recv, &event), DAT_INVALID_HANDLE);
	CHECK_RET(dat_psp_free(p.psp), DAT_INVALID_HANDLE);
	CHECK_RET(dat_cr_reject(cr), DAT_INVALID_HANDLE);
	CHECK_RET(dat_lmr_free(buf.lmr), DAT_INVALID_HANDLE);
	CHECK_RET(dat_rmr_free(rmr), DAT_INVALID_HANDLE);
	CHECK_RET(dat_cno_free(cno), DAT_INVALID_HANDLE);
	CHECK_RET(dat_pz_free(t.pz), DAT_INVALID_HANDLE);
}

/* Checks what peers see of an IA that was closed abruptly: one connected, one that waits, one that connects now. */
static void judge_closed(struct kit_end *connected, struct kit_end *pending, struct kit_end *late,
			 DAT_CONN_QUAL qual)
{
	DAT_EVENT event;

	ABOUT("IA_CLOSE-11");
	kit_over(connected->connect, connected->ep);
	CHECK_NUM(kit_state(connected->ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("IA_CLOSE-12");
	event = kit_event(pending->connect);
	judge_outcome("%s", kit_event_name(event.event_number));
	CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		   event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
		   event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
		   event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	MUST_RET(kit_connect(late->ep, qual), DAT_SUCCESS);
	kit_conn(late->connect, late->ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* The other side is a second instance of the IA in this process. */
CLAUSE("IA_CLOSE-11", "IA_CLOSE-12")
{
	DAT_IA_HANDLE first = t.ia, other = kit_open_another();
	struct kit_end active, pending, late;
	DAT_PZ_HANDLE pz = t.pz;
	DAT_EVD_HANDLE cr_evd;
	struct kit_end passive;
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_PSP_HANDLE psp;

	kit_end(&active, NULL);
	kit_end(&pending, NULL);
	kit_end(&late, NULL);
	t.ia = other;
	MUST_RET(dat_pz_create(other, &t.pz), DAT_SUCCESS);
	cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	MUST_RET(dat_psp_create(other, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
	kit_end(&passive, NULL);
	t.ia = first;
	t.pz = pz;
	MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(cr_evd), passive.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	MUST_RET(kit_connect(pending.ep, qual), DAT_SUCCESS);
	kit_cr(cr_evd);
	MUST_RET(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	judge_closed(&active, &pending, &late, qual);
}

/* The other side is a process of its own. */
CLAUSE_ACTIVE("IA_CLOSE-11", "IA_CLOSE-12")
{
	DAT_CONN_QUAL qual = kit_unused_qual();
	struct kit_end pending, late;
	DAT_PSP_HANDLE psp;
	struct kit_pair p;

	NEEDS_REACH();
	kit_pair(&p, NULL);
	kit_end(&pending, NULL);
	kit_end(&late, NULL);
	kit_exchange(&p.a, &p.b);
	MUST_RET(dat_psp_create(kit_ia_b(), qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		 DAT_SUCCESS);
	MUST_RET(kit_connect(pending.ep, qual), DAT_SUCCESS);
	kit_cr(p.cr_evd);
	MUST_RET(dat_ia_close(t.remote.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	judge_closed(&p.a, &pending, &late, qual);
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

CLAUSE_BARE("IA_CLOSE-16", "IA_CLOSE-06")
{
	struct kit_pair p;
	int after_first = 0, n = 0;

	ABOUT("IA_CLOSE-16");
	for (int i = 0; i < 30; i++) {
		kit_open();
		kit_pair(&p, NULL);
		kit_exchange(&p.a, &p.b);
		ABOUT("IA_CLOSE-06");
		CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		t.ia = DAT_HANDLE_NULL;
		n = open_fds();
		if (i == 4)	/* what is loaded only once is loaded by now */
			after_first = n;
	}
	ABOUT("IA_CLOSE-16");
	CHECK_THAT(n <= after_first);
}

CLAUSE("IA_QUERY-01", "IA_QUERY-03", "IA_QUERY-06", "IA_QUERY-07", "IA_QUERY-10", "IA_QUERY-11",
       "IA_QUERY-12", "IA_QUERY-15", "IA_QUERY-16", "IA_QUERY-18", "GEN-11")
{
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
	struct kit_pair p;

	ABOUT("IA_QUERY-01");
	CHECK_RET(dat_ia_query(t.ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
	for (int bit = 0; UINT64_C(1) << bit < DAT_IA_FIELD_ALL; bit++)
		CHECK_RET(dat_ia_query(t.ia, NULL, UINT64_C(1) << bit, &attr, 0, NULL),
			  DAT_SUCCESS);
	for (int bit = 0; UINT64_C(1) << bit < DAT_PROVIDER_FIELD_ALL; bit++)
		CHECK_RET(dat_ia_query(t.ia, NULL, 0, NULL, UINT64_C(1) << bit, &prov),
			  DAT_SUCCESS);
	ABOUT("IA_QUERY-03");
	CHECK_RET(dat_ia_query(t.ia, NULL, UINT64_C(1) << 50, &attr, 0, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ia_query(t.ia, NULL, 0, NULL, UINT64_C(1) << 50, &prov),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ia_query(t.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ia_query(t.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
		  DAT_INVALID_PARAMETER);
	ABOUT("IA_QUERY-06");
	MUST(t.attr.ia_address_ptr != NULL);
	kit_pair(&p, NULL);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	ABOUT("IA_QUERY-07");
	CHECK_THAT(t.attr.max_eps > 0 && t.attr.max_dto_per_ep > 0 && t.attr.max_evds > 0 &&
		   t.attr.max_evd_qlen > 0 && t.attr.max_iov_segments_per_dto > 0 &&
		   t.attr.max_lmrs > 0 && t.attr.max_pzs > 0);
	CHECK_THAT(t.attr.max_message_size > 0 && t.attr.max_rdma_size > 0 &&
		   t.attr.max_lmr_block_size > 0);
	ABOUT("IA_QUERY-10");
	CHECK_THAT(t.prov.iov_ownership_on_return <= DAT_IOV_PROVIDER_MOD);
	ABOUT("IA_QUERY-11");
	CHECK_NUM(t.prov.completion_flags_supported & 0xf, 0xf);
	ABOUT("IA_QUERY-12");
	MUST(t.prov.optimal_buffer_alignment > 0 && t.prov.optimal_buffer_alignment <= 256);
	CHECK_NUM(DAT_OPTIMAL_ALIGNMENT % t.prov.optimal_buffer_alignment, 0);
	ABOUT("IA_QUERY-15");
	CHECK_NUM(t.prov.dapl_version_major, API_MAJOR);
	CHECK_THAT(t.prov.dapl_version_minor + 1 > API_MINOR);
	ABOUT("IA_QUERY-16");
	CHECK_THAT(t.attr.num_transport_attr >= 0 && t.attr.num_vendor_attr >= 0);
	for (int i = 0; i < t.attr.num_transport_attr; i++)
		CHECK_THAT(t.attr.transport_attr[i].name && t.attr.transport_attr[i].value);
	for (int i = 0; i < t.attr.num_vendor_attr; i++)
		CHECK_THAT(t.attr.vendor_attr[i].name && t.attr.vendor_attr[i].value);
	for (int i = 0; i < t.prov.num_provider_specific_attr; i++)
		CHECK_THAT(t.prov.provider_specific_attr[i].name &&
			   t.prov.provider_specific_attr[i].value);
	/* the tests of optional features rely on these attributes; this checks that they have valid values */
	ABOUT("IA_QUERY-18");
	CHECK_THAT(t.prov.pz_support <= DAT_PZ_SHAREABLE && t.prov.srq_supported <= DAT_TRUE &&
		   t.prov.supports_multipath <= DAT_TRUE &&
		   t.prov.srq_ep_pz_difference_supported <= DAT_TRUE);
	ABOUT("GEN-11");
	CHECK_THAT(t.prov.is_thread_safe == DAT_TRUE || t.prov.is_thread_safe == DAT_FALSE);
}

CLAUSE_BARE("REG_LIST-01", "REG_LIST-02", "REG_LIST-03", "REG_LIST-04", "REG_LIST-06",
	    "REG_LIST-07", "REG_LIST-08", "REG_LIST-10")
{
	struct kit_list all, again;
	DAT_COUNT n = -1, m = -1;
	const DAT_PROVIDER_INFO *ours = NULL;
	DAT_RETURN ret;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	MUST(kit_list_make(&all) && kit_list_make(&again));
	ABOUT("REG_LIST-01");
	MUST_RET(dat_registry_list_providers(all.room, &n, all.list), DAT_SUCCESS);
	MUST(n >= 1 && n <= all.room);
	ABOUT("REG_LIST-04");
	for (int i = 0; i < n; i++) {
		const DAT_PROVIDER_INFO *info = &all.infos[i];

		MUST(memchr(info->ia_name, '\0', DAT_NAME_MAX_LENGTH) != NULL);
		CHECK_THAT(info->ia_name[0] != '\0' && info->dapl_version_major >= 1);
		CHECK_THAT(info->is_thread_safe == DAT_TRUE || info->is_thread_safe == DAT_FALSE);
		if (!strcmp(info->ia_name, t.ia_name))
			ours = info;
	}
	ABOUT("REG_LIST-07");
	for (int i = 0; i < all.room; i++)
		CHECK_THAT(all.list[i] == &all.infos[i]);
	for (int i = n; i < all.room; i++)
		CHECK_NUM((unsigned char)all.infos[i].ia_name[0], 0xa5);
	ABOUT("REG_LIST-10");
	CHECK_RET(dat_registry_list_providers(n, &m, again.list), DAT_SUCCESS);
	CHECK_NUM(m, n);
	ABOUT("REG_LIST-06");
	for (int i = 0; i < n; i++)
		CHECK_THAT(!strcmp(all.infos[i].ia_name, again.infos[i].ia_name));
	ABOUT("REG_LIST-02");
	m = -1;
	CHECK_RET(dat_registry_list_providers(n, &m, NULL), DAT_INVALID_PARAMETER);
	ABOUT("REG_LIST-03");
	CHECK_NUM(m, n);
	m = -1;
	ABOUT("REG_LIST-02");
	CHECK_RET(dat_registry_list_providers(0, &m, again.list), DAT_INVALID_PARAMETER);
	ABOUT("REG_LIST-03");
	CHECK_NUM(m, n);
	/* other vendors' registries fill as much as there is room for, and programs rely on it */
	if (n > 1) {
		ABOUT("REG_LIST-02");
		ret = dat_registry_list_providers(n - 1, &m, again.list);
		CHECK_RET_IN(ret, DAT_INVALID_PARAMETER, DAT_SUCCESS);
		ABOUT("REG_LIST-03");
		CHECK_NUM(m, ret == DAT_SUCCESS ? n - 1 : n);
	}
	ABOUT("REG_LIST-08");
	MUST(ours != NULL);
	CHECK_RET(openv(t.ia_name, 8, &async, &ia, ours->dapl_version_major,
			ours->dapl_version_minor),
		  DAT_SUCCESS);
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	async = DAT_HANDLE_NULL;
	CHECK_RET(openv(t.ia_name, 8, &async, &ia, ours->dapl_version_major + 1, 0),
		  DAT_PROVIDER_NOT_FOUND);
	CHECK_RET(openv(t.ia_name, 8, &async, &ia, ours->dapl_version_major,
			ours->dapl_version_minor + 1),
		  DAT_PROVIDER_NOT_FOUND);
	kit_list_free(&all);
	kit_list_free(&again);
}

CLAUSE_BARE("STRERROR-01", "STRERROR-02", "STRERROR-03", "STRERROR-04", "GEN-04")
{
	const char *major = NULL, *minor = NULL, *seen[21];

	ABOUT("STRERROR-02");
	CHECK_RET(dat_strerror(DAT_SUCCESS, &major, &minor), DAT_SUCCESS);
	CHECK_THAT(major && minor);
	for (DAT_RETURN type = 0; type <= 0x14; type++) {
		ABOUT("STRERROR-01");
		major = minor = NULL;
		CHECK_RET(dat_strerror(DAT_CLASS_ERROR | type << 16, &major, &minor), DAT_SUCCESS);
		MUST(major && minor);
		ABOUT("STRERROR-04");
		seen[type] = major;
		for (DAT_RETURN other = 0; other < type; other++)
			CHECK_THAT(strcmp(seen[other], major) != 0);
	}
	ABOUT("STRERROR-03");
	CHECK_RET(dat_strerror(DAT_CLASS_ERROR | 0x7770000, &major, &minor), DAT_INVALID_PARAMETER);
	ABOUT("GEN-04");
	CHECK_RET(dat_strerror(dat_pz_free(DAT_HANDLE_NULL), &major, &minor), DAT_SUCCESS);
	CHECK_NUM(DAT_GET_TYPE(dat_pz_free(DAT_HANDLE_NULL)), DAT_INVALID_HANDLE);
}

/* Every provider has three memory types: two are bits of the mask; the third is 0, and is used everywhere. */
CLAUSE("IA_QUERY-09")
{
	CHECK_THAT((t.prov.lmr_mem_types_supported & DAT_MEM_TYPE_LMR) != 0);
	CHECK_THAT((t.prov.lmr_mem_types_supported & DAT_MEM_TYPE_SHARED_VIRTUAL) != 0);
	CHECK_THAT(kit_buf(4096, KIT_LOCAL).lmr != DAT_HANDLE_NULL);
}

CLAUSE("ASYNC-02")
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;
	DAT_EVENT event;

	NEEDS(t.prov.srq_supported && t.prov.srq_watermarks_supported, "srq_watermarks_supported");
	MUST_RET(dat_srq_create(t.ia, t.pz, &attr, &srq), DAT_SUCCESS);
	kit_empty(t.async);
	MUST_RET(dat_srq_set_lw(srq, 2), DAT_SUCCESS);	/* the SRQ has no buffers at all */
	event = kit_event(t.async);
	CHECK_THAT(event.event_data.asynch_error_event_data.dat_handle == srq);
	CHECK_NUM(event.event_data.asynch_error_event_data.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
}
