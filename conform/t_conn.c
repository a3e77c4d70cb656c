/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_connect, dat_cr_*: establishment from both sides, its failures, private data. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define MS 1000	/* in microseconds */

static DAT_RETURN connect_for(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(ep, kit_address_of(t.b_remote), qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_CR_PARAM cr_query(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static DAT_EP_PARAM ep_query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

/* Posts receives with cookies 1..n on an endpoint, into memory that no test reads. */
static void post_recvs(struct kit_end *end, int n)
{
	struct kit_buf buf = kit_buf_of(end, 4096, KIT_LOCAL);

	for (int i = 1; i <= n; i++)
		MUST_RET(kit_recv(end->ep, &buf, 0, 64, (uint64_t)i), DAT_SUCCESS);
}

static void want_flushed(struct kit_end *end, int n)
{
	for (int i = 1; i <= n; i++)
		kit_dto(end->recv, end->ep, (uint64_t)i, DAT_DTO_ERR_FLUSHED);
	kit_empty(end->recv);
}

CLAUSE_EACH("EP_CONNECT-01", "EP_CONNECT-02", "EP_CONNECT-03", "EP_CONNECT-04", "CR_QUERY-01",
	    "CR_QUERY-04", "CR_ACCEPT-01", "CR_ACCEPT-10", "CR_ACCEPT-11", "CR_ACCEPT-12",
	    "CR_ACCEPT-14", "CR_ACCEPT-18", "EP_CONNECT-22", "EP_CONNECT-23", "EVD_DEQ-10",
	    "PSP_CREATE-09", "PSP_CREATE-12", "EP_QUERY-10", "GEN-12", "EP_QUERY-04", "EP_QUERY-06")
{
	struct kit_pair p;
	DAT_EVENT event;
	DAT_CR_PARAM cr;
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;
	DAT_EP_PARAM a, b;
	DAT_EP_STATE state;

	kit_pair_unconnected(&p, NULL);
	ABOUT("EP_CONNECT-01");
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	ABOUT("EP_CONNECT-02");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	ABOUT("EP_CONNECT-04");
	event = kit_event(p.cr_evd);
	MUST_NUM(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	CHECK_THAT(data->conn_qual == p.qual && data->cr_handle != DAT_HANDLE_NULL);
	CHECK_THAT(data->local_ia_address_ptr != NULL);
	ABOUT("GEN-12");
	CHECK_THAT(event.evd_handle == p.cr_evd);
	ABOUT("PSP_CREATE-09");
	CHECK_THAT(data->sp_handle.psp_handle == p.psp && data->conn_qual == p.qual);
	ABOUT("CR_QUERY-01");
	cr = cr_query(data->cr_handle);
	for (unsigned int bit = 1; bit <= 0x10; bit <<= 1)
		CHECK_RET(
			dat_cr_query(data->cr_handle, (DAT_CR_PARAM_MASK)bit, &(DAT_CR_PARAM){ 0 }),
			DAT_SUCCESS);
	ABOUT("CR_QUERY-04");
	MUST(cr.remote_ia_address_ptr != NULL);
	CHECK_THAT(kit_same_address(cr.remote_ia_address_ptr, kit_address_of(t.a_remote)));
	ABOUT("EP_CONNECT-03");
	CHECK_THAT(cr.remote_port_qual == ep_query(p.a.ep).local_port_qual);
	ABOUT("PSP_CREATE-12");
	CHECK_THAT(cr.local_ep_handle == DAT_HANDLE_NULL);
	ABOUT("CR_ACCEPT-12");
	kit_quiet(p.a.connect);
	ABOUT("CR_ACCEPT-01");
	MUST_RET(dat_cr_accept(data->cr_handle, p.b.ep, 0, NULL), DAT_SUCCESS);
	ABOUT("CR_ACCEPT-10");
	state = kit_state(p.b.ep);
	CHECK_THAT(state == DAT_EP_STATE_COMPLETION_PENDING || state == DAT_EP_STATE_CONNECTED);
	ABOUT("CR_ACCEPT-18");
	CHECK_RET(dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &cr), DAT_INVALID_HANDLE);
	CHECK_RET(dat_cr_accept(data->cr_handle, p.b.ep, 0, NULL), DAT_INVALID_HANDLE);
	CHECK_RET(dat_cr_reject(data->cr_handle), DAT_INVALID_HANDLE);
	ABOUT("CR_ACCEPT-11");
	event = kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	ABOUT("CR_ACCEPT-14");
	CHECK_NUM(event.event_data.connect_event_data.private_data_size, 0);
	ABOUT("EVD_DEQ-10");
	CHECK_NUM(event.event_data.connect_event_data.private_data_size, 0);
	ABOUT("CR_ACCEPT-10");
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_CONNECTED);
	ABOUT("EP_CONNECT-22");
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	ABOUT("EP_CONNECT-23");
	kit_quiet(p.a.connect);
	kit_quiet(p.b.connect);
	a = ep_query(p.a.ep);
	b = ep_query(p.b.ep);
	ABOUT("EP_QUERY-10");
	CHECK_THAT(a.remote_port_qual == b.local_port_qual &&
		   b.remote_port_qual == a.local_port_qual);
	ABOUT("EP_QUERY-04");
	MUST(a.remote_ia_address_ptr && b.remote_ia_address_ptr);
	CHECK_THAT(kit_same_address(a.remote_ia_address_ptr, kit_address_of(t.b_remote)));
	CHECK_THAT(kit_same_address(b.remote_ia_address_ptr, kit_address_of(t.a_remote)));
	CHECK_THAT(b.remote_port_qual == cr.remote_port_qual ||
		   b.remote_port_qual == a.local_port_qual);
	ABOUT("EP_QUERY-06");
	CHECK_THAT(a.local_port_qual == b.remote_port_qual);
}

CLAUSE_ACTIVE("EP_CONNECT-06", "EP_CONNECT-07", "EP_CONNECT-08", "EP_CONNECT-13", "EP_CONNECT-15",
	      "EP_CONNECT-26")
{
	static char data[65536];
	struct kit_pair p;
	DAT_RETURN ret;

	kit_pair_unconnected(&p, NULL);
	ABOUT("EP_CONNECT-06");
	CHECK_RET(dat_ep_connect(p.a.ep, NULL, p.qual, 1000 * MS, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG), DAT_INVALID_PARAMETER);
	CHECK_RET(kit_connect_data(p.a.ep, p.qual, -1, data), DAT_INVALID_PARAMETER);
	CHECK_RET(kit_connect_data(p.a.ep, p.qual, 8, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ep_connect(p.a.ep, kit_address_of(true), p.qual, 1000 * MS, 0, NULL,
				 DAT_QOS_BEST_EFFORT, (DAT_CONNECT_FLAGS)0x40),
		  DAT_INVALID_PARAMETER);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_UNCONNECTED);
	ABOUT("EP_CONNECT-07");
	MUST(t.prov.max_private_data_size < (DAT_COUNT)sizeof(data));
	CHECK_RET(kit_connect_data(p.a.ep, p.qual, t.prov.max_private_data_size + 1, data),
		  DAT_INVALID_PARAMETER);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_UNCONNECTED);
	ABOUT("EP_CONNECT-08");
	CHECK_RET(connect_for(p.a.ep, p.qual, 0), DAT_INVALID_PARAMETER);
	ABOUT("EP_CONNECT-13");
	if (!(t.prov.dat_qos_supported & DAT_QOS_PREMIUM)) {
		CHECK_RET(dat_ep_connect(p.a.ep, kit_address_of(true), p.qual, 1000 * MS, 0, NULL,
					 DAT_QOS_PREMIUM, DAT_CONNECT_DEFAULT_FLAG),
			  DAT_MODEL_NOT_SUPPORTED);
		CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_UNCONNECTED);
	} else {
		CHECK_THAT(t.prov.dat_qos_supported & DAT_QOS_PREMIUM);
		judge_outcome("every quality of service is supported");
	}
	ABOUT("EP_CONNECT-15");
	kit_pair_connect(&p);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	kit_disconnect(&p);
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	ABOUT("EP_CONNECT-26");
	ret = dat_ep_connect(p.a.ep, kit_address_of(true), p.qual, 1000 * MS, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_FLAG);
	if (t.prov.supports_multipath)
		CHECK_RET(ret, DAT_SUCCESS);
	else
		CHECK_RET_IN(ret, DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE_EACH("EP_CONNECT-11", "EP_CONNECT-12")
{
	struct kit_pair p;
	struct kit_end reserved, active;
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_EVD_HANDLE evd = kit_evd_b(8, DAT_EVD_CR_FLAG);
	DAT_RSP_HANDLE rsp;

	kit_pair(&p, NULL);
	kit_end_b(&reserved, NULL);
	kit_end_a(&active, NULL);
	ABOUT("EP_CONNECT-11");
	CHECK_RET(kit_connect(p.a.ep, p.qual), DAT_INVALID_STATE);
	CHECK_RET(kit_connect(p.b.ep, p.qual), DAT_INVALID_STATE);
	MUST_RET(dat_rsp_create(kit_ia_b(), qual, reserved.ep, evd, &rsp), DAT_SUCCESS);
	CHECK_RET(kit_connect(reserved.ep, p.qual), DAT_INVALID_STATE);
	MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
	CHECK_RET(kit_connect(active.ep, p.qual), DAT_INVALID_STATE);
	kit_cr(evd);
	CHECK_NUM(kit_state(reserved.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	CHECK_RET(kit_connect(reserved.ep, p.qual), DAT_INVALID_STATE);
	ABOUT("EP_CONNECT-12");
	kit_exchange(&p.a, &p.b);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	ABOUT("EP_CONNECT-11");
	kit_disconnect(&p);
	CHECK_RET(kit_connect(p.a.ep, p.qual), DAT_INVALID_STATE);
}

CLAUSE("EP_CONNECT-09", "EP_CONNECT-19")
{
	struct kit_end end;
	struct sockaddr_in odd = { .sin_family = AF_INET }, dead = { .sin_family = AF_INET };
	DAT_RETURN ret;
	DAT_EVENT event;

	odd.sin_addr.s_addr = htonl(0xe0000001);	/* a multicast group */
	dead.sin_addr.s_addr = htonl(0xc0000201);	/* 192.0.2.1, which no host has */
	kit_end(&end, NULL);
	ABOUT("EP_CONNECT-09");
	ret = dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&odd, 4711, 300 * MS, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INVALID_ADDRESS);
	if (ret == DAT_SUCCESS) {
		event = kit_event(end.connect);
		CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
			   event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
			   event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT);
		MUST_RET(dat_ep_reset(end.ep), DAT_SUCCESS);
	}
	ABOUT("EP_CONNECT-19");
	MUST_RET(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&dead, 4711, 300 * MS, 0, NULL,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		 DAT_SUCCESS);
	event = kit_event(end.connect);
	judge_outcome("%s", kit_event_name(event.event_number));
	CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
		   event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT);
	CHECK_NUM(kit_state(end.ep), DAT_EP_STATE_DISCONNECTED);
}

CLAUSE_EACH("EP_CONNECT-16", "EP_CONNECT-28", "EP_CONNECT-29")
{
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	post_recvs(&p.a, 2);
	ABOUT("EP_CONNECT-16");
	MUST_RET(kit_connect(p.a.ep, kit_unused_qual()), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("EP_CONNECT-28");
	want_flushed(&p.a, 2);
	ABOUT("EP_CONNECT-29");
	CHECK_RET(kit_connect(p.a.ep, p.qual), DAT_INVALID_STATE);
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	kit_pair_connect(&p);
}

/* Uses a qualifier of its own, because one that dat_psp_create_any() chose may be chosen again for another program. */
CLAUSE_EACH("PSP_FREE-03")
{
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_PSP_HANDLE psp;
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_psp_create(kit_ia_b(), qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		 DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_disconnect(&p);
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	MUST_RET(dat_psp_free(psp), DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, qual), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* Returns how many of the endpoints have been refused; *last is the last of them. */
static int refused(struct kit_end *ends, int n, int *last)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		if (kit_state(ends[i].ep) == DAT_EP_STATE_DISCONNECTED) {
			*last = i;
			count++;
		}
	return count;
}

CLAUSE_EACH("EP_CONNECT-17", "PSP_CREATE-10", "PSP_CREATE-11")
{
	DAT_EVD_HANDLE evd = kit_evd_b(2, DAT_EVD_CR_FLAG);
	DAT_EVD_PARAM param;
	DAT_CONN_QUAL qual;
	struct kit_end *ends;
	int n, one = 0;

	kit_psp(evd, &qual);
	MUST_RET(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
	n = param.evd_qlen;
	NEEDS(n + 2 < 512, "evd_qlen: queues are too long to be filled");
	ends = calloc((size_t)n + 2, sizeof(*ends));
	MUST(ends != NULL);
	for (int i = 0; i < n + 2; i++)
		kit_end_a(&ends[i], NULL);
	ABOUT("EP_CONNECT-17");
	for (int i = 0; i < n + 1; i++)
		MUST_RET(kit_connect(ends[i].ep, qual), DAT_SUCCESS);
	/* Whichever request arrives last exceeds the backlog. */
	MUST_SOON(refused(ends, n + 1, &one) > 0);
	kit_conn(ends[one].connect, ends[one].ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ABOUT("PSP_CREATE-10");
	kit_quiet(kit_async_b());
	CHECK_NUM(refused(ends, n + 1, &one), 1);
	ABOUT("PSP_CREATE-11");
	kit_cr(evd);
	MUST_RET(kit_connect(ends[n + 1].ep, qual), DAT_SUCCESS);
	kit_quiet(ends[n + 1].connect);
	CHECK_NUM(kit_state(ends[n + 1].ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	free(ends);
}

CLAUSE_EACH("EP_CONNECT-18", "CR_REJECT-01", "CR_REJECT-03", "CR_REJECT-04", "CR_REJECT-05",
	    "CR_REJECT-08", "CR_REJECT-09", "CR_REJECT-10")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	post_recvs(&p.b, 1);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	ABOUT("CR_REJECT-01");
	CHECK_RET(dat_cr_reject(cr), DAT_SUCCESS);
	ABOUT("CR_REJECT-05");
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &(DAT_CR_PARAM){ 0 }), DAT_INVALID_HANDLE);
	ABOUT("CR_REJECT-03");
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ABOUT("EP_CONNECT-18");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("CR_REJECT-08");
	kit_quiet(p.b.connect);
	kit_empty(p.b.recv);
	kit_empty(p.cr_evd);
	ABOUT("CR_REJECT-09");
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	CHECK_THAT(cr != DAT_HANDLE_NULL);
	ABOUT("CR_REJECT-10");
	MUST_RET(dat_ep_free(p.b.ep), DAT_SUCCESS);
	CHECK_RET(dat_cr_reject(cr), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ABOUT("CR_REJECT-04");
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	kit_end_b(&p.b, NULL);
	kit_pair_connect(&p);
}

CLAUSE_ACTIVE("EP_CONNECT-20")
{
	struct kit_pair p;
	uint64_t start;

	kit_pair_unconnected(&p, NULL);
	start = judge_now_ms();
	MUST_RET(connect_for(p.a.ep, p.qual, 200 * MS), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	CHECK_THAT(judge_now_ms() - start >= 199);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
}

CLAUSE_ACTIVE("EP_CONNECT-21")
{
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(connect_for(p.a.ep, p.qual, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	kit_sleep_ms(1000);
	kit_quiet(p.a.connect);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}

/* Sends private data of this size with the request, and with the acceptance. */
static void private_data(struct kit_pair *p, DAT_COUNT size)
{
	unsigned char *out = calloc(1, (size_t)size + 1), *back = calloc(1, (size_t)size + 1);
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	MUST(out && back);
	kit_fill(out, (size_t)size, (unsigned int)size);
	kit_fill(back, (size_t)size, (unsigned int)size + 1);
	MUST_RET(kit_connect_data(p->a.ep, p->qual, size, size ? out : NULL), DAT_SUCCESS);
	memset(out, 0, (size_t)size);	/* the buffer belongs to the consumer again */
	cr = kit_cr(p->cr_evd);
	param = cr_query(cr);
	ABOUT("EP_CONNECT-24");
	CHECK_NUM(param.private_data_size, size);
	CHECK_THAT(kit_filled(param.private_data, (size_t)size, (unsigned int)size));
	ABOUT("CR_QUERY-05");
	CHECK_NUM(param.private_data_size, size);
	CHECK_THAT(kit_filled(param.private_data, (size_t)size, (unsigned int)size));
	ABOUT("CR_ACCEPT-13");
	MUST_RET(dat_cr_accept(cr, p->b.ep, size, size ? back : NULL), DAT_SUCCESS);
	memset(back, 0, (size_t)size);
	kit_conn(p->b.connect, p->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	event = kit_conn(p->a.connect, p->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_NUM(data->private_data_size, size);
	MUST(!size || data->private_data != NULL);
	CHECK_THAT(kit_filled(data->private_data, (size_t)size, (unsigned int)size + 1));
	ABOUT("EVD_DEQ-08");
	CHECK_NUM(data->private_data_size, size);
	ABOUT("EVD_DEQ-11");
	CHECK_NUM(data->private_data_size, size);
	CHECK_THAT(kit_filled(data->private_data, (size_t)size, (unsigned int)size + 1));
	ABOUT("EVD_DEQ-09");
	kit_exchange(&p->a, &p->b);
	CHECK_THAT(kit_filled(data->private_data, (size_t)size, (unsigned int)size + 1));
	kit_disconnect(p);
	CHECK_THAT(kit_filled(data->private_data, (size_t)size, (unsigned int)size + 1));
	MUST_RET(dat_ep_reset(p->a.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_reset(p->b.ep), DAT_SUCCESS);
	free(out);
	free(back);
}

CLAUSE_EACH("EP_CONNECT-24", "CR_QUERY-05", "CR_ACCEPT-13", "EVD_DEQ-08", "EVD_DEQ-09",
	    "EVD_DEQ-11", "IA_QUERY-08", "EVD_WAIT-23")
{
	static const DAT_COUNT sizes[] = { 0, 1, 4, 55, 63, 64 };
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	ABOUT("IA_QUERY-08");
	CHECK_THAT(t.prov.max_private_data_size >= 64);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] < t.prov.max_private_data_size)
			private_data(&p, sizes[i]);
	private_data(&p, t.prov.max_private_data_size);
	ABOUT("IA_QUERY-08");
	CHECK_THAT(t.prov.max_private_data_size >= 64);	/* and private_data() above has sent that many bytes */
	ABOUT("EVD_WAIT-23");	/* every event above came through dat_evd_wait() */
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_UNCONNECTED);
}

CLAUSE_PASSIVE("CR_QUERY-07", "EVD_DEQ-07", "PSP_CREATE-17")
{
	struct kit_pair p, other;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	unsigned char data[64];
	DAT_COUNT size = t.prov.max_private_data_size;

	kit_pair_unconnected(&p, NULL);
	size = size < (DAT_COUNT)sizeof(data) ? size : (DAT_COUNT)sizeof(data);
	kit_fill(data, sizeof(data), 7);
	MUST_RET(kit_connect_data(p.a.ep, p.qual, size, data), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	param = cr_query(cr);
	kit_pair(&other, NULL);
	kit_exchange(&other.a, &other.b);
	kit_sleep_ms(300);
	ABOUT("CR_QUERY-07");
	CHECK_THAT(kit_filled(param.private_data, (size_t)size, 7));
	ABOUT("EVD_DEQ-07");
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	ABOUT("PSP_CREATE-17");
	CHECK_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CLAUSE_PASSIVE("CR_ACCEPT-03", "CR_ACCEPT-04", "CR_ACCEPT-05", "CR_ACCEPT-07", "CR_ACCEPT-08",
	       "CR_ACCEPT-09", "CR_ACCEPT-19")
{
	static char data[65536];
	struct kit_pair p, other;
	struct kit_end reserved;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	kit_pair_unconnected(&p, NULL);
	kit_pair(&other, NULL);
	kit_end(&reserved, NULL);
	MUST_RET(dat_rsp_create(t.ia, kit_unused_qual(), reserved.ep, p.cr_evd, &rsp), DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	ABOUT("CR_ACCEPT-03");
	CHECK_RET(dat_cr_accept(cr, p.b.ep, -1, data), DAT_INVALID_PARAMETER);
	ABOUT("CR_ACCEPT-04");
	CHECK_RET(dat_cr_accept(cr, p.b.ep, 4, NULL), DAT_INVALID_PARAMETER);
	ABOUT("CR_ACCEPT-05");
	CHECK_RET(dat_cr_accept(cr, p.b.ep, t.prov.max_private_data_size + 1, data),
		  DAT_INVALID_PARAMETER);
	ABOUT("CR_ACCEPT-07");
	CHECK_RET(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_HANDLE);
	ABOUT("CR_ACCEPT-08");
	CHECK_REFUSED(dat_cr_accept(cr, other.b.ep, 0, NULL));
	CHECK_REFUSED(dat_cr_accept(cr, reserved.ep, 0, NULL));
	ABOUT("CR_ACCEPT-09");
	CHECK_NUM(kit_state(other.b.ep), DAT_EP_STATE_CONNECTED);
	CHECK_NUM(kit_state(reserved.ep), DAT_EP_STATE_RESERVED);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_UNCONNECTED);
	kit_quiet(p.a.connect);
	ABOUT("CR_ACCEPT-19");
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	ABOUT("CR_ACCEPT-05");
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	ABOUT("CR_ACCEPT-04");
	kit_exchange(&p.a, &p.b);
}

/* Accepts with the endpoint that connects, which is possible because both are in one process here. */
CLAUSE("CR_ACCEPT-08")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	CHECK_REFUSED(dat_cr_accept(cr, p.a.ep, 0, NULL));
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	CHECK_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The active side goes away in some way while its request waits, so the acceptance comes too late. */
static void accept_too_late(struct kit_pair *p, DAT_CR_HANDLE cr)
{
	NEEDS(judge_accepts_are_confirmed(), "accept");
	post_recvs(&p->b, 3);
	MUST_RET(dat_cr_accept(cr, p->b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p->b.connect, p->b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

CLAUSE_EACH("CR_ACCEPT-15", "CR_ACCEPT-16", "CR_ACCEPT-17", "EP_DISC-22", "EP_DISC-24",
	    "EP_DISC-26")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	post_recvs(&p.a, 2);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	ABOUT("EP_DISC-22");
	CHECK_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("EP_DISC-24");
	want_flushed(&p.a, 2);
	ABOUT("CR_ACCEPT-15");
	accept_too_late(&p, cr);
	ABOUT("CR_ACCEPT-16");
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
	ABOUT("CR_ACCEPT-17");
	want_flushed(&p.b, 3);
	ABOUT("EP_DISC-26");
	MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_reset(p.b.ep), DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	CHECK_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	accept_too_late(&p, cr);
}

CLAUSE_EACH("EP_FREE-10")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	MUST_RET(dat_ep_free(p.a.ep), DAT_SUCCESS);
	accept_too_late(&p, cr);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
}

/* The active side's process has been killed. */
CLAUSE_PASSIVE("CR_ACCEPT-15", "CR_ACCEPT-16")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;

	NEEDS_REACH();
	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	remote_die();
	ABOUT("CR_ACCEPT-15");
	accept_too_late(&p, cr);
	ABOUT("CR_ACCEPT-16");
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
}

CLAUSE_EACH("EP_DISC-23")
{
	struct kit_pair p;
	DAT_EVENT event;

	for (int i = 0; i < 2; i++) {
		kit_pair_unconnected(&p, NULL);
		MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
		MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
		CHECK_RET(dat_ep_disconnect(p.b.ep,
					    i ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG),
			  DAT_SUCCESS);
		event = kit_event(p.b.connect);
		/* the connection may have been established in the meantime */
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			event = kit_event(p.b.connect);
		CHECK_NUM(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
		CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
		kit_quiet(p.b.connect);
	}
}

CLAUSE_EACH("CR_ACCEPT-20", "EP_RECV-09")
{
	struct kit_pair p;
	struct kit_buf source = kit_buf_a(64, KIT_LOCAL), sink = kit_buf_b(64, KIT_LOCAL);

	kit_pair_unconnected(&p, NULL);
	kit_buf_fill(&source, 0, 64, 3);
	MUST_RET(kit_recv(p.b.ep, &sink, 0, 64, 1), DAT_SUCCESS);
	ABOUT("EP_RECV-09");
	kit_quiet(p.b.recv);
	kit_pair_connect(&p);
	ABOUT("CR_ACCEPT-20");
	MUST_RET(kit_send(p.a.ep, &source, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_buf_filled(&sink, 0, 64, 3));
	ABOUT("EP_RECV-09");
	CHECK_THAT(kit_buf_filled(&sink, 0, 64, 3));
}

CLAUSE_EACH("CR_ACCEPT-21", "EP_CONNECT-30")
{
	struct kit_pair p;
	DAT_EP_ATTR before[2], after[2];

	kit_pair_unconnected(&p, NULL);
	before[0] = ep_query(p.a.ep).ep_attr;
	before[1] = ep_query(p.b.ep).ep_attr;
	kit_pair_connect(&p);
	after[0] = ep_query(p.a.ep).ep_attr;
	after[1] = ep_query(p.b.ep).ep_attr;
	for (int i = 0; i < 2; i++) {
		if (i)
			ABOUT("CR_ACCEPT-21");
		else
			ABOUT("EP_CONNECT-30");
		CHECK_THAT(before[i].max_message_size == after[i].max_message_size);
		CHECK_THAT(before[i].max_rdma_size == after[i].max_rdma_size);
		CHECK_NUM(after[i].max_recv_dtos, before[i].max_recv_dtos);
		CHECK_NUM(after[i].max_request_dtos, before[i].max_request_dtos);
		CHECK_NUM(after[i].max_recv_iov, before[i].max_recv_iov);
		CHECK_NUM(after[i].recv_completion_flags, before[i].recv_completion_flags);
		CHECK_NUM(after[i].request_completion_flags, before[i].request_completion_flags);
	}
}

CLAUSE_EACH("CR_ACCEPT-22", "EP_CONNECT-25", "CR_ACCEPT-23")
{
	struct kit_pair p;
	DAT_EP_ATTR attr = kit_attr();
	DAT_EVENT event;

	ABOUT("CR_ACCEPT-23");
	attr.max_rdma_read_in = attr.max_rdma_read_out = 0;
	kit_pair(&p, &attr);
	kit_exchange(&p.a, &p.b);
	attr = kit_attr();
	attr.max_rdma_read_out = t.attr.max_rdma_read_per_ep_out;
	kit_end_a(&p.a, &attr);
	attr.max_rdma_read_in = 1;
	kit_end_b(&p.b, &attr);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
	ABOUT("CR_ACCEPT-22");
	event = kit_event(p.b.connect);
	CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED ||
		   event.event_number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ABOUT("EP_CONNECT-25");
	event = kit_event(p.a.connect);
	judge_outcome("%s", kit_event_name(event.event_number));
	CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED ||
		   event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		   event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK_THAT(kit_state(p.a.ep) == DAT_EP_STATE_CONNECTED ||
		   kit_state(p.a.ep) == DAT_EP_STATE_DISCONNECTED);
}

CLAUSE_ACTIVE("EP_CONNECT-27")
{
	struct kit_pair p;
	DAT_EP_ATTR attr = kit_attr();

	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_ep_create(t.ia, t.pz, p.a.recv, p.a.request, DAT_HANDLE_NULL, &attr, &p.a.ep),
		 DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
	CHECK_SOON(kit_state(p.a.ep) == DAT_EP_STATE_CONNECTED);
}

static DAT_RETURN handoff(struct kit_pair *p, DAT_CR_HANDLE *cr, DAT_CONN_QUAL qual)
{
	MUST_RET(kit_connect_data(p->a.ep, p->qual, 4, "abcd"), DAT_SUCCESS);
	*cr = kit_cr(p->cr_evd);
	return dat_cr_handoff(*cr, qual);
}

CLAUSE_PASSIVE("CR_HANDOFF-01", "CR_HANDOFF-04", "CR_HANDOFF-05")
{
	struct kit_pair p;
	DAT_EVD_HANDLE evd2 = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual2;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	kit_pair_unconnected(&p, NULL);
	kit_psp(evd2, &qual2);
	ret = handoff(&p, &cr, qual2);
	NEEDS(DAT_GET_TYPE(ret) != DAT_MODEL_NOT_SUPPORTED &&
		      DAT_GET_TYPE(ret) != DAT_GET_TYPE(DAT_NOT_IMPLEMENTED),
	      "dat_cr_handoff answers that it is not supported, which the readings accept");
	ABOUT("CR_HANDOFF-01");
	MUST_RET(ret, DAT_SUCCESS);
	ABOUT("CR_HANDOFF-04");
	CHECK_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	ABOUT("CR_HANDOFF-05");
	cr = kit_cr(evd2);
	param = cr_query(cr);
	CHECK_NUM(param.private_data_size, 4);
	CHECK_THAT(!memcmp(param.private_data, "abcd", 4));
	MUST_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CLAUSE_PASSIVE("CR_HANDOFF-03", "CR_HANDOFF-06")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	kit_pair_unconnected(&p, NULL);
	ret = handoff(&p, &cr, kit_unused_qual());
	NEEDS(DAT_GET_TYPE(ret) != DAT_MODEL_NOT_SUPPORTED &&
		      DAT_GET_TYPE(ret) != DAT_GET_TYPE(DAT_NOT_IMPLEMENTED),
	      "dat_cr_handoff answers that it is not supported, which the readings accept");
	ABOUT("CR_HANDOFF-03");
	CHECK_RET(ret, DAT_INVALID_PARAMETER);
	ABOUT("CR_HANDOFF-06");
	CHECK_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}
