/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_create_with_srq, dat_srq_set_lw, dat_ep_set_watermark: endpoints of an SRQ, and the marks
 * on both.
 */
#include <string.h>

#include "t_srq.h"

static DAT_EP_PARAM ep_query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

CLAUSE_PASSIVE("EP_CREATE_SRQ-01", "EP_CREATE_SRQ-09", "EP_CREATE_SRQ-10", "EP_CREATE_SRQ-12",
	       "EP_CREATE_SRQ-21")
{
	DAT_EP_ATTR attr, got, later;
	struct kit_end end;
	DAT_EP_PARAM param;

	srq_setup();
	attr = kit_attr();
	attr.max_request_dtos = attr.max_request_dtos > 7 ? 7 : attr.max_request_dtos;
	attr.max_recv_dtos = SRQ_DEPTH;
	ABOUT("EP_CREATE_SRQ-01");
	MUST_RET(srq_end_create(&end, s.srq, &attr), DAT_SUCCESS);
	CHECK_NUM(kit_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	param = ep_query(end.ep);
	CHECK_THAT(param.srq_handle == s.srq && param.pz_handle == t.pz &&
		   param.recv_evd_handle == end.recv);
	got = param.ep_attr;
	ABOUT("EP_CREATE_SRQ-09");
	CHECK_THAT(got.max_request_dtos >= attr.max_request_dtos &&
		   got.max_request_iov >= attr.max_request_iov);
	ABOUT("EP_CREATE_SRQ-10");
	CHECK_NUM(got.max_recv_dtos, attr.max_recv_dtos);
	CHECK_NUM(got.max_message_size, attr.max_message_size);
	CHECK_NUM(got.max_rdma_size, attr.max_rdma_size);
	CHECK_NUM(got.max_rdma_read_in, attr.max_rdma_read_in);
	CHECK_NUM(got.max_rdma_read_out, attr.max_rdma_read_out);
	ABOUT("EP_CREATE_SRQ-12");
	CHECK_NUM(got.service_type, attr.service_type);
	CHECK_NUM(got.qos, attr.qos);
	CHECK_NUM(got.max_rdma_read_iov, attr.max_rdma_read_iov);
	CHECK_NUM(got.max_rdma_write_iov, attr.max_rdma_write_iov);
	ABOUT("EP_CREATE_SRQ-21");
	s.link[0].to = end;
	kit_end_a(&s.link[0].from, NULL);
	srq_join(0);
	later = ep_query(end.ep).ep_attr;
	CHECK_NUM(later.max_message_size, got.max_message_size);
	CHECK_NUM(later.max_request_dtos, got.max_request_dtos);
	CHECK_NUM(later.max_rdma_read_in, got.max_rdma_read_in);
	CHECK_NUM(later.max_rdma_read_out, got.max_rdma_read_out);
	CHECK_NUM(later.recv_completion_flags, got.recv_completion_flags);
}

CLAUSE("EP_CREATE_SRQ-02")
{
	DAT_EP_ATTR attr = kit_attr();
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	srq_setup();
	evd = kit_evd(64, DAT_EVD_DTO_FLAG);
	for (int i = 0; i < 500 && ret == DAT_SUCCESS; i++)
		ret = dat_ep_create_with_srq(t.ia, t.pz, evd, evd, DAT_HANDLE_NULL, s.srq, &attr,
					     &ep);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("EP_CREATE_SRQ-04", "EP_CREATE_SRQ-07", "EP_CREATE_SRQ-11", "EP_CREATE_SRQ-13",
       "EP_CREATE_SRQ-22")
{
	DAT_EP_ATTR attr = kit_attr(), bad = attr;
	struct kit_end end;

	srq_setup();
	ABOUT("EP_CREATE_SRQ-04");
	CHECK_RET(srq_end_create(&end, s.srq, NULL), DAT_INVALID_PARAMETER);
	ABOUT("EP_CREATE_SRQ-07");
	bad.max_rdma_read_iov = t.attr.max_iov_segments_per_rdma_read + 1;
	CHECK_RET(srq_end_create(&end, s.srq, &bad), DAT_INVALID_PARAMETER);
	ABOUT("EP_CREATE_SRQ-13");
	bad = attr;
	bad.max_request_dtos = t.attr.max_dto_per_ep + 1;
	CHECK_REFUSED(srq_end_create(&end, s.srq, &bad));
	bad = attr;
	bad.max_request_iov = t.attr.max_iov_segments_per_dto + 1;
	CHECK_REFUSED(srq_end_create(&end, s.srq, &bad));
	bad = attr;
	bad.max_message_size = t.attr.max_message_size + 1;
	if (bad.max_message_size)
		CHECK_REFUSED(srq_end_create(&end, s.srq, &bad));
	ABOUT("EP_CREATE_SRQ-11");
	bad = attr;
	bad.max_recv_iov = 1000000;
	CHECK_RET(srq_end_create(&end, s.srq, &bad), DAT_SUCCESS);
	ABOUT("EP_CREATE_SRQ-22");
	bad = attr;
	bad.max_rdma_read_out = 0;
	CHECK_RET_IN(srq_end_create(&end, s.srq, &bad), DAT_SUCCESS, DAT_INVALID_PARAMETER);
}

CLAUSE("EP_CREATE_SRQ-05")
{
	DAT_EP_ATTR attr = kit_attr();
	struct kit_end end;
	DAT_SRQ_HANDLE srq = srq_make(kit_pz());

	NEEDS(!t.prov.srq_ep_pz_difference_supported, "srq_ep_pz_difference_supported");
	CHECK_RET(srq_end_create(&end, srq, &attr), DAT_INVALID_PARAMETER);
}

/* The PZ of the SRQ applies to receives, that of the endpoint to everything else. */
CLAUSE_PASSIVE("EP_CREATE_SRQ-06")
{
	DAT_EP_ATTR attr = kit_attr();
	struct kit_buf buf, peers;
	DAT_PZ_HANDLE pz;

	srq_setup();
	NEEDS(t.prov.srq_ep_pz_difference_supported, "srq_ep_pz_difference_supported");
	pz = kit_pz();
	s.srq = srq_make(pz);
	s.recv = kit_buf_in(pz, 65536, KIT_LOCAL);
	kit_end_a(&s.link[0].from, NULL);
	MUST_RET(srq_end_create(&s.link[0].to, s.srq, &attr), DAT_SUCCESS);
	srq_join(0);
	srq_post_many(1, 1);
	srq_message(0, 1);
	buf = kit_buf(4096, KIT_REMOTE);
	peers = kit_buf_a(64, KIT_REMOTE);
	kit_buf_fill(&peers, 0, 64, 7);
	MUST_RET(kit_write(s.link[0].from.ep, kit_seg(&s.send, 0, 64), kit_target(&buf, 0, 64), 2,
			   DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(s.link[0].from.request, s.link[0].from.ep, 2, DAT_DTO_SUCCESS);
	MUST_RET(kit_read(s.link[0].to.ep, kit_seg(&buf, 64, 64), kit_target(&peers, 0, 64), 3,
			  DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(s.link[0].to.request, s.link[0].to.ep, 3, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(buf.mem, 64, 1) && kit_filled(buf.mem + 64, 64, 7));
}

CLAUSE("EP_CREATE_SRQ-08")
{
	DAT_EP_ATTR attr = kit_attr();
	DAT_EP_HANDLE ep;

	NEEDS(!t.prov.srq_supported, "srq_supported");
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					 DAT_HANDLE_NULL, DAT_HANDLE_NULL, &attr, &ep),
		  DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE("EP_CREATE_SRQ-14", "EP_CREATE_SRQ-16")
{
	struct kit_end end;
	DAT_EP_PARAM param;

	srq_setup();
	srq_end_make(&end, DAT_COMPLETION_DEFAULT_FLAG);
	ABOUT("EP_CREATE_SRQ-14");
	CHECK_RET_IN(kit_recv(end.ep, &s.recv, 0, 64, 1), DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
	CHECK_THAT(srq_counts(0, 0));
	kit_empty(end.recv);
	ABOUT("EP_CREATE_SRQ-16");
	memset(&param, 0, sizeof(param));
	CHECK_RET(dat_ep_modify(end.ep, DAT_EP_FIELD_SRQ_HANDLE, &param), DAT_INVALID_PARAMETER);
	param.srq_handle = srq_make(t.pz);
	CHECK_RET(dat_ep_modify(end.ep, DAT_EP_FIELD_SRQ_HANDLE, &param), DAT_INVALID_PARAMETER);
	CHECK_THAT(ep_query(end.ep).srq_handle == s.srq);
	CHECK_RET(dat_srq_free(s.srq), DAT_INVALID_STATE);
	CHECK_RET(dat_ep_free(end.ep), DAT_SUCCESS);
	CHECK_RET(dat_srq_free(s.srq), DAT_SUCCESS);
}

/* Each round is a new connection, which sees nothing of the one before. */
CLAUSE_PASSIVE("EP_CREATE_SRQ-15", "EP_CREATE_SRQ-20")
{
	srq_setup();
	srq_links(1);
	for (uint64_t round = 1; round <= 20; round++) {
		ABOUT("EP_CREATE_SRQ-15");
		srq_post_many(round, round);
		srq_message(0, round);
		ABOUT("EP_CREATE_SRQ-20");
		MUST_RET(dat_ep_disconnect(s.link[0].from.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		kit_conn(s.link[0].from.connect, s.link[0].from.ep,
			 DAT_CONNECTION_EVENT_DISCONNECTED);
		kit_over(s.link[0].to.connect, s.link[0].to.ep);
		MUST_RET(dat_ep_reset(s.link[0].from.ep), DAT_SUCCESS);
		MUST_RET(dat_ep_reset(s.link[0].to.ep), DAT_SUCCESS);
		CHECK_THAT(ep_query(s.link[0].to.ep).srq_handle == s.srq);
		srq_join(0);
	}
}

CLAUSE("EP_CREATE_SRQ-18")
{
	DAT_EVD_HANDLE evd, shared;
	DAT_EP_ATTR attr = kit_attr();
	DAT_EP_HANDLE ep;

	srq_setup();
	evd = kit_evd(64, DAT_EVD_DTO_FLAG);
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, evd, evd, DAT_HANDLE_NULL, s.srq, &attr, &ep),
		  DAT_SUCCESS);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, evd, evd, DAT_HANDLE_NULL, s.srq, &attr, &ep),
		  DAT_INVALID_PARAMETER);
	if (!t.prov.evd_stream_merging_supported[2][3])
		return;
	attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	shared = kit_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, shared, shared, shared, s.srq, &attr, &ep),
		  DAT_SUCCESS);
}

CLAUSE("EP_CREATE_SRQ-19")
{
	DAT_EVD_HANDLE evd, request;
	DAT_EP_ATTR attr = kit_attr();
	DAT_EP_HANDLE ep;

	srq_setup();
	evd = kit_evd(64, DAT_EVD_DTO_FLAG);
	request = kit_evd(64, DAT_EVD_DTO_FLAG);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, evd, request, DAT_HANDLE_NULL, s.srq, &attr,
					 &ep),
		  DAT_SUCCESS);
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, evd, request, DAT_HANDLE_NULL, s.srq, &attr,
					 &ep),
		  DAT_SUCCESS);
	/* adds a request stream to that EVD, and then receives of another kind */
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, evd, evd, DAT_HANDLE_NULL, s.srq, &attr, &ep),
		  DAT_INVALID_PARAMETER);
	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	CHECK_RET(dat_ep_create_with_srq(t.ia, t.pz, evd, request, DAT_HANDLE_NULL, s.srq, &attr,
					 &ep),
		  DAT_INVALID_PARAMETER);
}

/* The endpoint is the passive side, reserved by an RSP. */
CLAUSE_PASSIVE("EP_CREATE_SRQ-23")
{
	struct kit_end reserved, plain;
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RSP_HANDLE rsp;

	srq_setup();
	srq_links(1);
	srq_post_many(1, 3);
	srq_message(0, 1);
	srq_end_make(&reserved, DAT_COMPLETION_DEFAULT_FLAG);
	MUST_RET(dat_rsp_create(t.ia, qual, reserved.ep, s.cr_evd, &rsp), DAT_SUCCESS);
	kit_end_a(&plain, NULL);
	MUST_RET(kit_connect(plain.ep, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(s.cr_evd), DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	kit_conn(reserved.connect, reserved.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(plain.connect, plain.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	MUST_RET(kit_send(plain.ep, &s.send, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(reserved.recv, reserved.ep, 2, DAT_DTO_SUCCESS);
}

/* The endpoint is the active side. */
CLAUSE_ACTIVE("EP_CREATE_SRQ-23")
{
	struct kit_end active, plain;
	struct kit_buf from;

	srq_setup();
	srq_post_many(1, 1);
	srq_end_make(&active, DAT_COMPLETION_DEFAULT_FLAG);
	kit_end_b(&plain, NULL);
	from = kit_buf_b(64, KIT_LOCAL);
	MUST_RET(kit_connect(active.ep, s.qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(s.cr_evd), plain.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(plain.connect, plain.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_exchange(&active, &plain);
	MUST_RET(kit_send(plain.ep, &from, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(active.recv, active.ep, 1, DAT_DTO_SUCCESS);
}

CLAUSE_PASSIVE("EP_RECV_QUERY-07")
{
	DAT_COUNT count = -7, span = -7;

	srq_setup();
	NEEDS(t.prov.ep_recv_info_supported, "ep_recv_info_supported");
	srq_links(1);
	srq_post_many(1, 3);
	CHECK_RET(dat_ep_recv_query(s.link[0].to.ep, &count, &span), DAT_SUCCESS);
	CHECK_THAT(count == 0 || count == DAT_VALUE_UNKNOWN);
	CHECK_THAT(span >= count || span == DAT_VALUE_UNKNOWN);
}

CLAUSE("EP_RECV_QUERY-04")
{
	DAT_COUNT count, span;
	struct kit_end end;

	NEEDS(!t.prov.ep_recv_info_supported, "ep_recv_info_supported");
	kit_end(&end, NULL);
	CHECK_RET_IN(dat_ep_recv_query(end.ep, &count, &span), DAT_MODEL_NOT_SUPPORTED,
		     DAT_SUCCESS);
}

/* Marks. */

static void marks_setup(int links)
{
	srq_setup();
	NEEDS(t.prov.srq_watermarks_supported, "srq_watermarks_supported");
	srq_links(links);
}

static void want_low_mark(void)
{
	DAT_EVENT event = kit_event(t.async);

	CHECK_THAT((event.event_number & 0x8000) != 0);
	CHECK_THAT(event.event_data.asynch_error_event_data.dat_handle == s.srq);
	CHECK_NUM(event.event_data.asynch_error_event_data.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
}

CLAUSE_PASSIVE("SRQ_LW-01", "SRQ_LW-03", "SRQ_LW-05", "SRQ_LW-06", "SRQ_LW-07", "ASYNC-02")
{
	marks_setup(1);
	srq_post_many(1, 5);
	ABOUT("SRQ_LW-01");
	CHECK_RET(dat_srq_set_lw(s.srq, 3), DAT_SUCCESS);
	CHECK_NUM(srq_query().low_watermark, 3);
	ABOUT("SRQ_LW-03");
	CHECK_RET(dat_srq_set_lw(s.srq, srq_query().max_recv_dtos + 1), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_srq_set_lw(s.srq, -3), DAT_INVALID_PARAMETER);
	ABOUT("SRQ_LW-05");
	srq_message(0, 1);
	srq_message(0, 2);
	kit_quiet(t.async);	/* three buffers are not fewer than the mark of three */
	srq_message(0, 3);
	want_low_mark();
	ABOUT("SRQ_LW-07");
	srq_message(0, 4);
	kit_quiet(t.async);
	ABOUT("SRQ_LW-06");
	MUST_RET(dat_srq_set_lw(s.srq, 3), DAT_SUCCESS);
	want_low_mark();
	ABOUT("SRQ_LW-07");
	srq_post_many(1, 5);
	MUST_RET(dat_srq_set_lw(s.srq, 6), DAT_SUCCESS);
	kit_quiet(t.async);
	ABOUT("ASYNC-02");
	srq_message(0, 5);
	want_low_mark();
}

CLAUSE("SRQ_LW-04")
{
	srq_setup();
	NEEDS(!t.prov.srq_watermarks_supported, "srq_watermarks_supported");
	CHECK_RET(dat_srq_set_lw(s.srq, 2), DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE_PASSIVE("SRQ_LW-08", "SRQ_LW-09")
{
	marks_setup(1);
	srq_post_many(1, 5);
	ABOUT("SRQ_LW-08");
	MUST_RET(dat_srq_set_lw(s.srq, 5), DAT_SUCCESS);
	MUST_RET(dat_srq_set_lw(s.srq, 1), DAT_SUCCESS);
	srq_message(0, 1);
	kit_quiet(t.async);
	ABOUT("SRQ_LW-09");
	MUST_RET(dat_srq_set_lw(s.srq, DAT_SRQ_LW_DEFAULT), DAT_SUCCESS);
	for (uint64_t n = 2; n <= 5; n++)
		srq_message(0, n);
	CHECK_THAT(srq_counts(0, 0));
	kit_quiet(t.async);
}

static DAT_RETURN marks(DAT_COUNT soft, DAT_COUNT hard)
{
	return dat_ep_set_watermark(s.link[0].to.ep, soft, hard);
}

static void want_soft_mark(void)
{
	DAT_EVENT event = kit_event(t.async);

	CHECK_THAT((event.event_number & 0x8000) != 0);
	CHECK_THAT(event.event_data.asynch_error_event_data.dat_handle == s.link[0].to.ep);
	CHECK_NUM(event.event_data.asynch_error_event_data.reason,
		  DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

/* Buffers that the endpoint took and whose completions nobody has dequeued count. */
CLAUSE_PASSIVE("EP_WM-01", "EP_WM-06", "EP_WM-07", "EP_WM-08", "EP_WM-11", "ASYNC-02")
{
	marks_setup(1);
	srq_post_many(1, 9);
	ABOUT("EP_WM-01");
	CHECK_RET(marks(5, 7), DAT_SUCCESS);
	ABOUT("EP_WM-06");
	MUST_RET(marks(1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	srq_send(0, 64, 1);
	kit_quiet(t.async);
	srq_send(0, 64, 2);
	want_soft_mark();
	ABOUT("EP_WM-07");
	srq_send(0, 64, 3);
	kit_quiet(t.async);
	ABOUT("EP_WM-08");
	MUST_RET(marks(1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	want_soft_mark();
	ABOUT("EP_WM-07");
	MUST_RET(marks(3, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	kit_quiet(t.async);
	ABOUT("ASYNC-02");
	srq_send(0, 64, 4);
	want_soft_mark();
	ABOUT("EP_WM-11");
	kit_quiet(s.link[0].to.connect);
	CHECK_NUM(kit_state(s.link[0].to.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE("EP_WM-03", "EP_WM-05")
{
	struct kit_at at;

	marks_setup(1);
	ABOUT("EP_WM-03");
	CHECK_RET(marks(-9, DAT_WATERMARK_INFINITE), DAT_INVALID_PARAMETER);
	CHECK_RET(marks(DAT_WATERMARK_INFINITE, -9), DAT_INVALID_PARAMETER);
	ABOUT("EP_WM-05");
	for (int i = 0; i < KIT_STATES; i++)
		if (kit_enter(&at, kit_states[i])) {
			CHECK_RET(dat_ep_set_watermark(at.ep, 5, 7), DAT_SUCCESS);
			CHECK_NUM(kit_state(at.ep), kit_states[i]);
		}
}

CLAUSE("EP_WM-04")
{
	struct kit_end end;

	NEEDS(!t.prov.srq_watermarks_supported, "srq_watermarks_supported");
	kit_end(&end, NULL);
	CHECK_RET(dat_ep_set_watermark(end.ep, 1, 2), DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE_PASSIVE("EP_WM-09", "EP_WM-10", "EP_WM-11")
{
	marks_setup(0);
	kit_end_a(&s.link[0].from, NULL);
	srq_end_make(&s.link[0].to, DAT_COMPLETION_DEFAULT_FLAG);
	ABOUT("EP_WM-10");
	MUST_RET(marks(DAT_WATERMARK_INFINITE, 1), DAT_SUCCESS);
	srq_join(0);
	srq_post_many(1, 8);
	srq_send(0, 64, 1);
	kit_quiet(s.link[0].to.connect);
	MUST_RET(kit_send(s.link[0].from.ep, &s.send, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_conn(s.link[0].to.connect, s.link[0].to.ep, DAT_CONNECTION_EVENT_BROKEN);
	ABOUT("EP_WM-09");
	CHECK_NUM(kit_state(s.link[0].to.ep), DAT_EP_STATE_DISCONNECTED);
	kit_over(s.link[0].from.connect, s.link[0].from.ep);
	ABOUT("EP_WM-11");
	/* 2.0 reports the end of an endpoint with an SRQ on this EVD as well */
	if (API_MAJOR == 2)
		CHECK_NUM(kit_event(t.async).event_number, DAT_ASYNC_ERROR_EP_BROKEN);
	kit_quiet(t.async);
}

CLAUSE_PASSIVE("EP_WM-12", "EP_WM-14")
{
	marks_setup(1);
	srq_post_many(1, 9);
	ABOUT("EP_WM-12");
	for (uint64_t n = 1; n <= 3; n++)
		srq_send(0, 64, n);
	kit_quiet(t.async);
	CHECK_NUM(kit_state(s.link[0].to.ep), DAT_EP_STATE_CONNECTED);
	for (uint64_t n = 1; n <= 3; n++)
		srq_want(0, n, 64, (unsigned int)n);
	ABOUT("EP_WM-14");
	MUST_RET(marks(5, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	MUST_RET(marks(1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	srq_send(0, 64, 4);
	kit_quiet(t.async);
	srq_send(0, 64, 5);
	want_soft_mark();
}
