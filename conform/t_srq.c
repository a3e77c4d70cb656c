/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_*: posting to, taking from, counting, resizing and freeing a shared receive queue. */
#include <string.h>

#include "t_srq.h"

#define BUFFER ((size_t)1024)

struct srq_kit s;

DAT_SRQ_HANDLE srq_make(DAT_PZ_HANDLE pz)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH,
			      .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	NEEDS(t.prov.srq_supported, "srq_supported");
	MUST_RET(dat_srq_create(t.ia, pz, &attr, &srq), DAT_SUCCESS);
	return srq;
}

void srq_setup(void)
{
	s.srq = srq_make(t.pz);
	s.recv = kit_buf(128 * BUFFER, KIT_LOCAL);
	s.send = kit_buf_a(65536, KIT_LOCAL);
	s.cr_evd = kit_evd_b(8, DAT_EVD_CR_FLAG);
	kit_psp(s.cr_evd, &s.qual);
}

DAT_RETURN srq_end_create(struct kit_end *end, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr)
{
	end->recv = kit_evd(128, DAT_EVD_DTO_FLAG);
	end->request = kit_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	end->connect = kit_evd(8, DAT_EVD_CONNECTION_FLAG);
	return dat_ep_create_with_srq(t.ia, t.pz, end->recv, end->request, end->connect, srq, attr,
				      &end->ep);
}

void srq_end_make(struct kit_end *end, DAT_COMPLETION_FLAGS recv_flags)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.recv_completion_flags = recv_flags;
	MUST_RET(srq_end_create(end, s.srq, &attr), DAT_SUCCESS);
}

void srq_join(int i)
{
	MUST_RET(kit_connect(s.link[i].from.ep, s.qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(s.cr_evd), s.link[i].to.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(s.link[i].to.connect, s.link[i].to.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(s.link[i].from.connect, s.link[i].from.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void srq_links(int count)
{
	for (int i = 0; i < count; i++) {
		kit_end_a(&s.link[i].from, NULL);
		srq_end_make(&s.link[i].to, DAT_COMPLETION_DEFAULT_FLAG);
		srq_join(i);
	}
}

DAT_SRQ_PARAM srq_query(void)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_srq_query(s.srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

bool srq_counts(DAT_COUNT available, DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param = srq_query();

	return (param.available_dto_count == available ||
		param.available_dto_count == DAT_VALUE_UNKNOWN) &&
	       (param.outstanding_dto_count == outstanding ||
		param.outstanding_dto_count == DAT_VALUE_UNKNOWN);
}

DAT_RETURN srq_post(uint64_t cookie, size_t size)
{
	DAT_LMR_TRIPLET seg = kit_seg(&s.recv, BUFFER * (size_t)cookie, size);

	return dat_srq_post_recv(s.srq, size ? 1 : 0, size ? &seg : NULL, kit_cookie(cookie));
}

void srq_post_many(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		MUST_RET(srq_post(n, BUFFER), DAT_SUCCESS);
}

void srq_send(int i, size_t size, uint64_t seed)
{
	struct kit_end *from = &s.link[i].from;

	kit_buf_fill(&s.send, 0, size, (unsigned int)seed);
	MUST_RET(kit_send(from->ep, &s.send, 0, size, seed, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_dto(from->request, from->ep, seed, DAT_DTO_SUCCESS);
}

void srq_want(int i, uint64_t cookie, size_t size, unsigned int seed)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto =
		kit_dto(s.link[i].to.recv, s.link[i].to.ep, cookie, DAT_DTO_SUCCESS);

	CHECK_NUM(dto.transfered_length, size);
	CHECK_THAT(kit_filled(s.recv.mem + BUFFER * cookie, size, seed));
}

void srq_message(int i, uint64_t cookie)
{
	srq_send(i, 64, cookie);
	srq_want(i, cookie, 64, (unsigned int)cookie);
}

CLAUSE("SRQ_CREATE-01", "SRQ_CREATE-06", "SRQ_CREATE-07", "SRQ_CREATE-09", "SRQ_QUERY-01",
       "SRQ_QUERY-08", "PZ_FREE-06")
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 7, .max_recv_iov = 1, .low_watermark = 3 };
	DAT_SRQ_HANDLE other;
	DAT_SRQ_PARAM param;
	DAT_RETURN ret;

	srq_setup();
	ABOUT("SRQ_CREATE-01");
	CHECK_RET(dat_srq_free(srq_make(t.pz)), DAT_SUCCESS);
	ABOUT("SRQ_CREATE-06");
	param = srq_query();
	CHECK_THAT(param.max_recv_dtos >= SRQ_DEPTH && param.max_recv_iov >= 2);
	srq_post_many(1, SRQ_DEPTH);
	ABOUT("SRQ_QUERY-08");
	CHECK_THAT(param.ia_handle == t.ia && param.pz_handle == t.pz);
	CHECK_NUM(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	CHECK_NUM(param.low_watermark, DAT_SRQ_LW_DEFAULT);
	ABOUT("SRQ_QUERY-01");
	for (unsigned int bit = 1; bit < DAT_SRQ_FIELD_ALL; bit <<= 1)
		CHECK_RET(dat_srq_query(s.srq, (DAT_SRQ_PARAM_MASK)bit, &param), DAT_SUCCESS);
	ABOUT("SRQ_CREATE-09");
	CHECK_RET(dat_pz_free(t.pz), DAT_INVALID_STATE);
	ABOUT("PZ_FREE-06");
	param.pz_handle = kit_pz();
	other = srq_make(param.pz_handle);
	CHECK_RET(dat_pz_free(param.pz_handle), DAT_INVALID_STATE);
	CHECK_RET(dat_srq_free(other), DAT_SUCCESS);
	CHECK_RET(dat_pz_free(param.pz_handle), DAT_SUCCESS);
	ABOUT("SRQ_CREATE-07");
	kit_quiet(t.async);
	ret = dat_srq_create(t.ia, t.pz, &attr, &other);
	if (ret == DAT_SUCCESS)
		CHECK_THAT(kit_event(t.async).event_data.asynch_error_event_data.dat_handle ==
			   other);
	else
		CHECK_RET(ret, DAT_INVALID_PARAMETER);
	judge_outcome("low watermark at creation: %s", judge_ret_name(ret));
}

CLAUSE("SRQ_CREATE-02")
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 1 };
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_SRQ_HANDLE srq;

	NEEDS(t.prov.srq_supported, "srq_supported");
	for (int i = 0; i < 500 && ret == DAT_SUCCESS; i++)
		ret = dat_srq_create(t.ia, t.pz, &attr, &srq);
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("SRQ_CREATE-04")
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 1 }, bad = attr;
	DAT_SRQ_HANDLE srq;

	NEEDS(t.prov.srq_supported, "srq_supported");
	CHECK_RET(dat_srq_create(t.ia, t.pz, NULL, &srq), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_srq_create(t.ia, t.pz, &attr, NULL), DAT_INVALID_PARAMETER);
	bad.max_recv_dtos = 0;
	CHECK_RET(dat_srq_create(t.ia, t.pz, &bad, &srq), DAT_INVALID_PARAMETER);
	bad.max_recv_dtos = -5;
	CHECK_RET(dat_srq_create(t.ia, t.pz, &bad, &srq), DAT_INVALID_PARAMETER);
	if (t.attr.max_recv_per_srq < 0x7fffffff) {
		bad.max_recv_dtos = t.attr.max_recv_per_srq + 1;
		CHECK_RET(dat_srq_create(t.ia, t.pz, &bad, &srq), DAT_INVALID_PARAMETER);
	}
	bad = attr;
	bad.max_recv_iov = t.attr.max_iov_segments_per_dto + 1;
	CHECK_RET(dat_srq_create(t.ia, t.pz, &bad, &srq), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_srq_create(t.ia, t.pz, &attr, &srq), DAT_SUCCESS);
}

CLAUSE("SRQ_CREATE-05")
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;

	NEEDS(!t.prov.srq_supported, "srq_supported");
	CHECK_RET(dat_srq_create(t.ia, t.pz, &attr, &srq), DAT_MODEL_NOT_SUPPORTED);
}

CLAUSE("SRQ_CREATE-08", "SRQ_POST-04", "SRQ_POST-05", "SRQ_POST-06")
{
	struct kit_buf other, ro, gone;
	DAT_LMR_TRIPLET segs[64];
	DAT_COUNT most;

	srq_setup();
	other = kit_buf_in(kit_pz(), BUFFER, KIT_LOCAL);
	ro = kit_buf(BUFFER, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	gone = kit_buf(BUFFER, KIT_LOCAL);
	MUST_RET(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	most = srq_query().max_recv_iov;
	for (int i = 0; i < 64; i++)
		segs[i] = kit_seg(&s.recv, (size_t)i * 10, 10);
	ABOUT("SRQ_POST-04");
	if (most < 64)
		CHECK_RET(dat_srq_post_recv(s.srq, most + 1, segs, kit_cookie(1)),
			  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_srq_post_recv(s.srq, -1, segs, kit_cookie(1)), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_srq_post_recv(s.srq, 1, NULL, kit_cookie(1)), DAT_INVALID_PARAMETER);
	segs[0] = kit_seg(&s.recv, s.recv.size - 10, 5000);
	CHECK_RET(dat_srq_post_recv(s.srq, 1, segs, kit_cookie(1)), DAT_INVALID_PARAMETER);
	segs[0] = kit_seg(&other, 0, 10);
	ABOUT("SRQ_POST-05");
	CHECK_RET(dat_srq_post_recv(s.srq, 1, segs, kit_cookie(1)), DAT_PROTECTION_VIOLATION);
	ABOUT("SRQ_CREATE-08");
	CHECK_RET(dat_srq_post_recv(s.srq, 1, segs, kit_cookie(1)), DAT_PROTECTION_VIOLATION);
	ABOUT("SRQ_POST-06");
	segs[0] = kit_seg(&ro, 0, 10);
	CHECK_RET(dat_srq_post_recv(s.srq, 1, segs, kit_cookie(1)), DAT_PRIVILEGES_VIOLATION);
	segs[0] = kit_seg(&gone, 0, 10);
	CHECK_RET_IN(dat_srq_post_recv(s.srq, 1, segs, kit_cookie(1)), DAT_PRIVILEGES_VIOLATION,
		     DAT_PROTECTION_VIOLATION);
	CHECK_THAT(srq_counts(0, 0));
}

/* If no buffer is posted, the connection breaks, or the message waits for one. */
CLAUSE_PASSIVE("SRQ_CREATE-10", "EP_WM-13")
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	srq_setup();
	srq_links(1);
	MUST_RET(kit_send(s.link[0].from.ep, &s.send, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	if (dat_evd_wait(s.link[0].to.connect, 4 * t.quiet_ms * 1000, 1, &event, &nmore) ==
	    DAT_SUCCESS) {
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			NEEDS(judge_breaks_are_sure(), "broken");
		CHECK_NUM(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
		CHECK_NUM(kit_state(s.link[0].to.ep), DAT_EP_STATE_DISCONNECTED);
		judge_outcome("DAT_CONNECTION_EVENT_BROKEN");
		return;
	}
	CHECK_NUM(kit_state(s.link[0].to.ep), DAT_EP_STATE_CONNECTED);
	kit_empty(s.link[0].to.recv);
	MUST_RET(srq_post(5, 64), DAT_SUCCESS);
	kit_dto(s.link[0].to.recv, s.link[0].to.ep, 5, DAT_DTO_SUCCESS);
	judge_outcome("the message waits for a buffer");
}

CLAUSE_PASSIVE("SRQ_CREATE-11", "SRQ_CREATE-13", "SRQ_POST-08")
{
	static const char *const ids[] = { "SRQ_CREATE-11", "SRQ_CREATE-13", "SRQ_POST-08" };
	bool used[SRQ_DEPTH] = { false };

	srq_setup();
	srq_links(3);
	srq_post_many(1, 9);
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int i = 0; i < 3; i++)
			srq_send((int)i, 100 + round, 10 * round + i);
	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int round = 0; round < 3; round++) {
			DAT_EVENT event = kit_event(s.link[i].to.recv);
			DAT_DTO_COMPLETION_EVENT_DATA *dto =
				&event.event_data.dto_completion_event_data;
			uint64_t cookie = dto->user_cookie.as_64;

			ABOUT(ids[2]);
			CHECK_THAT(dto->ep_handle == s.link[i].to.ep);
			MUST(cookie >= 1 && cookie <= 9 && !used[cookie]);
			used[cookie] = true;
			CHECK_THAT(kit_filled(s.recv.mem + BUFFER * cookie, 100 + round,
					      10 * round + i));
			ABOUT(ids[0]);
			CHECK_NUM(dto->status, DAT_DTO_SUCCESS);
			CHECK_NUM(dto->transfered_length, 100 + round);
		}
		ABOUT(ids[1]);
		kit_empty(s.link[i].to.recv);
	}
}

static int work_on_srqs(int who)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_DEPTH, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;
	int failures = 0;

	(void)who;
	for (int i = 0; i < 200; i++) {
		failures += dat_srq_create(t.ia, t.pz, &attr, &srq) != DAT_SUCCESS;
		failures += dat_srq_free(srq) != DAT_SUCCESS;
	}
	return failures;
}

CLAUSE("SRQ_CREATE-14")
{
	NEEDS(t.prov.srq_supported, "srq_supported");
	NEEDS(t.prov.is_thread_safe, "is_thread_safe");
	CHECK_NUM(kit_together(work_on_srqs), 0);
}

CLAUSE_PASSIVE("SRQ_FREE-01", "SRQ_FREE-03", "SRQ_FREE-04", "SRQ_FREE-05")
{
	DAT_SRQ_PARAM param;

	srq_setup();
	srq_links(1);
	srq_post_many(1, 2);
	ABOUT("SRQ_FREE-03");
	CHECK_RET(dat_srq_free(s.srq), DAT_INVALID_STATE);
	CHECK_NUM(DAT_GET_SUBTYPE(dat_srq_free(s.srq)), DAT_INVALID_STATE_SRQ_IN_USE);
	ABOUT("SRQ_FREE-04");
	srq_message(0, 1);
	MUST_RET(dat_ep_disconnect(s.link[0].to.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_over(s.link[0].to.connect, s.link[0].to.ep);
	ABOUT("SRQ_FREE-03");
	CHECK_RET(dat_srq_free(s.srq), DAT_INVALID_STATE);
	MUST_RET(dat_ep_free(s.link[0].to.ep), DAT_SUCCESS);
	ABOUT("SRQ_FREE-01");
	CHECK_RET(dat_srq_free(s.srq), DAT_SUCCESS);
	ABOUT("SRQ_FREE-05");
	CHECK_RET(dat_srq_query(s.srq, DAT_SRQ_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_RET(srq_post(1, 64), DAT_INVALID_HANDLE);
	CHECK_THAT(srq_make(t.pz) != s.srq);
}

CLAUSE_PASSIVE("SRQ_POST-01", "SRQ_POST-11", "SRQ_POST-07")
{
	srq_setup();
	ABOUT("SRQ_POST-01");
	CHECK_RET(srq_post(1, 64), DAT_SUCCESS);
	ABOUT("SRQ_POST-11");
	kit_end_a(&s.link[0].from, NULL);
	srq_end_make(&s.link[0].to, DAT_COMPLETION_DEFAULT_FLAG);
	CHECK_THAT(srq_counts(1, 1));
	kit_quiet(s.link[0].to.recv);
	srq_join(0);
	srq_message(0, 1);
	ABOUT("SRQ_POST-01");
	CHECK_RET(srq_post(2, 64), DAT_SUCCESS);
	srq_message(0, 2);
	ABOUT("SRQ_POST-07");
	CHECK_RET(srq_post(3, 0), DAT_SUCCESS);
	srq_send(0, 0, 3);
	srq_want(0, 3, 0, 3);
}

CLAUSE("SRQ_POST-03")
{
	DAT_COUNT depth;

	srq_setup();
	depth = srq_query().max_recv_dtos;
	for (DAT_COUNT n = 0; n < depth; n++)
		MUST_RET(srq_post((uint64_t)n % 100, 64), DAT_SUCCESS);
	CHECK_RET(srq_post(1, 64), DAT_INSUFFICIENT_RESOURCES);
	CHECK_THAT(srq_counts(depth, depth));
}

/* A waiter is woken by any message unless the endpoint waits for solicited ones. */
CLAUSE_PASSIVE("SRQ_POST-09", "EP_CREATE_SRQ-17")
{
	static const DAT_COMPLETION_FLAGS flags[] = { DAT_COMPLETION_UNSIGNALLED_FLAG,
						      DAT_COMPLETION_EVD_THRESHOLD_FLAG };
	struct kit_waiter w;

	srq_setup();
	ABOUT("EP_CREATE_SRQ-17");
	for (int i = 0; i < 2; i++) {
		kit_end_a(&s.link[i].from, NULL);
		srq_end_make(&s.link[i].to, flags[i]);
		srq_join(i);
		srq_post_many(1, 1);
		kit_wait_start(&w, s.link[i].to.recv, 1);
		srq_send(i, 64, 1);
		kit_wait_end(&w);
		CHECK_RET(w.ret, DAT_SUCCESS);
		ABOUT("SRQ_POST-09");
	}
	kit_end_a(&s.link[2].from, NULL);
	srq_end_make(&s.link[2].to, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	srq_join(2);
	srq_post_many(1, 2);
	kit_wait_start(&w, s.link[2].to.recv, 1);
	srq_send(2, 64, 1);
	if (judge_solicited_are_known())
		CHECK_THAT(kit_still_waits(&w));
	MUST_RET(kit_send(s.link[2].from.ep, &s.send, 0, 64, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		 DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	if (judge_solicited_are_known())
		CHECK_NUM(w.nmore, 1);
}

CLAUSE_PASSIVE("SRQ_POST-10")
{
	struct kit_waiter w;

	srq_setup();
	kit_end_a(&s.link[0].from, NULL);
	srq_end_make(&s.link[0].to, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	srq_join(0);
	srq_post_many(1, 2);
	kit_wait_start(&w, s.link[0].to.recv, 2);
	srq_send(0, 64, 1);
	CHECK_THAT(kit_still_waits(&w));
	srq_send(0, 64, 2);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(w.nmore, 1);
}

/* Buffers that the endpoint has taken may be flushed; all others remain for the other endpoints. */
CLAUSE_PASSIVE("SRQ_POST-12")
{
	DAT_COUNT flushed = 0;
	DAT_EVENT event;

	srq_setup();
	srq_links(2);
	srq_post_many(1, 6);
	MUST_RET(dat_ep_disconnect(s.link[0].to.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_over(s.link[0].to.connect, s.link[0].to.ep);
	kit_sleep_ms(t.quiet_ms);
	while (dat_evd_dequeue(s.link[0].to.recv, &event) == DAT_SUCCESS) {
		CHECK_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
		flushed++;
	}
	judge_outcome("%d taken and flushed", (int)flushed);
	MUST(flushed < 6);
	CHECK_THAT(srq_counts(6 - flushed, 6 - flushed));
	for (DAT_COUNT n = flushed; n < 6; n++) {
		srq_send(1, 64, 9);
		event = kit_event(s.link[1].to.recv);
		CHECK_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	}
}

CLAUSE_PASSIVE("SRQ_POST-13")
{
	static const uint64_t cookies[] = { 0, ~0ull, 0xfedcba9876543210 };
	unsigned char sent[100];
	DAT_LMR_TRIPLET segs[2];

	srq_setup();
	srq_links(1);
	kit_fill(sent, sizeof(sent), 5);
	/* the first segment has the higher address */
	segs[0] = kit_seg(&s.recv, 2 * BUFFER, 40);
	segs[1] = kit_seg(&s.recv, BUFFER, 60);
	for (int i = 0; i < 3; i++) {
		memset(s.recv.mem, 0, 4 * BUFFER);
		MUST_RET(dat_srq_post_recv(s.srq, 2, segs, kit_cookie(cookies[i])), DAT_SUCCESS);
		srq_send(0, 100, 5);
		kit_dto(s.link[0].to.recv, s.link[0].to.ep, cookies[i], DAT_DTO_SUCCESS);
		CHECK_THAT(memcmp(s.recv.mem + 2 * BUFFER, sent, 40) == 0);
		CHECK_THAT(memcmp(s.recv.mem + BUFFER, sent + 40, 60) == 0);
		CHECK_NUM(s.recv.mem[2 * BUFFER + 40], 0);
	}
}

/*
 * Returns when the messages that link 0 has sent have arrived: the answer to a read comes behind them. The completion of a send
 * does not say that over iWARP.
 */
static void srq_await_arrival(const struct kit_buf *source, const struct kit_buf *sink)
{
	struct kit_end *from = &s.link[0].from;

	MUST_RET(kit_read(from->ep, kit_seg(sink, 0, 8), kit_target(source, 0, 8), 99, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	kit_dto(from->request, from->ep, 99, DAT_DTO_SUCCESS);
}

/*
 * An endpoint has taken receives, and is freed before their completions are dequeued. As soon as its EVD is empty, or
 * freed, the SRQ again takes and delivers as many receives as it says. Every second round disconnects the endpoint
 * before it frees it.
 */
CLAUSE_PASSIVE("SRQ_CREATE-06")
{
	struct kit_buf source, sink;
	DAT_COUNT depth;
	DAT_EVENT event;

	srq_setup();
	source = kit_buf(8, KIT_REMOTE);
	sink = kit_buf_a(8, KIT_SINK);
	depth = srq_query().max_recv_dtos;
	for (int round = 0; round < 4; round++) {
		struct kit_end *from = &s.link[0].from, *to = &s.link[0].to;

		srq_links(1);
		srq_post_many(1, SRQ_DEPTH / 2);
		for (uint64_t n = 1; n <= SRQ_DEPTH / 2; n++)
			srq_send(0, 64, n);
		srq_await_arrival(&source, &sink);
		if (round % 2) {
			MUST_RET(dat_ep_disconnect(to->ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
			kit_over(to->connect, to->ep);
		}
		MUST_RET(dat_ep_free(to->ep), DAT_SUCCESS);
		kit_over(from->connect, from->ep);
		if (round < 2)
			while (dat_evd_dequeue(to->recv, &event) == DAT_SUCCESS)
				;
		else
			MUST_RET(dat_evd_free(to->recv), DAT_SUCCESS);
	}
	for (DAT_COUNT n = 0; n < depth; n++)
		MUST_RET(srq_post((uint64_t)n % 100, 64), DAT_SUCCESS);
	CHECK_THAT(srq_counts(depth, depth));
	srq_links(1);
	for (DAT_COUNT n = 0; n < depth; n++) {
		srq_send(0, 64, 9);
		event = kit_event(s.link[0].to.recv);
		CHECK_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	}
}

static pthread_mutex_t posting = PTHREAD_MUTEX_INITIALIZER;

static int post_serialised(int who)
{
	int failures = 0;

	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&posting);
		failures += srq_post((uint64_t)(1 + 2 * who + i), 64) != DAT_SUCCESS;
		pthread_mutex_unlock(&posting);
	}
	return failures;
}

CLAUSE_PASSIVE("SRQ_POST-14")
{
	bool used[9] = { false };

	srq_setup();
	srq_links(1);
	CHECK_NUM(kit_together(post_serialised), 0);
	for (unsigned int n = 0; n < 8; n++) {
		DAT_EVENT event;
		uint64_t cookie;

		srq_send(0, 64, n);
		event = kit_event(s.link[0].to.recv);
		cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
		MUST(cookie >= 1 && cookie <= 8 && !used[cookie]);
		used[cookie] = true;
	}
}

CLAUSE_PASSIVE("SRQ_QUERY-04", "SRQ_QUERY-05", "SRQ_QUERY-06")
{
	srq_setup();
	NEEDS(t.prov.srq_info_supported, "srq_info_supported");
	srq_links(1);
	srq_post_many(1, 3);
	ABOUT("SRQ_QUERY-04");
	CHECK_THAT(srq_counts(3, 3));
	ABOUT("SRQ_QUERY-05");
	srq_send(0, 100, 1);
	CHECK_SOON(srq_counts(2, 3));
	ABOUT("SRQ_QUERY-06");
	srq_want(0, 1, 100, 1);
	CHECK_SOON(srq_counts(2, 2));
	ABOUT("SRQ_QUERY-04");
	srq_post_many(4, 4);
	CHECK_THAT(srq_counts(3, 3));
}

CLAUSE("SRQ_QUERY-07")
{
	DAT_SRQ_PARAM param;

	srq_setup();
	srq_post_many(1, 3);
	param = srq_query();
	if (!t.prov.srq_info_supported) {
		CHECK_NUM(param.available_dto_count, DAT_VALUE_UNKNOWN);
		CHECK_NUM(param.outstanding_dto_count, DAT_VALUE_UNKNOWN);
	} else {
		CHECK_THAT(param.available_dto_count == 3 || param.outstanding_dto_count == 3);
		CHECK_THAT(srq_counts(3, 3));
	}
}

CLAUSE_PASSIVE("SRQ_RESIZE-01", "SRQ_RESIZE-03", "SRQ_RESIZE-07", "SRQ_RESIZE-08")
{
	DAT_COUNT depth;

	srq_setup();
	srq_links(1);
	srq_post_many(1, 5);
	ABOUT("SRQ_RESIZE-01");
	CHECK_RET(dat_srq_resize(s.srq, 100), DAT_SUCCESS);
	depth = srq_query().max_recv_dtos;
	CHECK_THAT(depth >= 100);
	srq_post_many(6, 100);
	ABOUT("SRQ_RESIZE-03");
	CHECK_RET(dat_srq_resize(s.srq, 0), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_srq_resize(s.srq, -1), DAT_INVALID_PARAMETER);
	if (t.attr.max_recv_per_srq < 0x7fffffff)
		CHECK_RET(dat_srq_resize(s.srq, t.attr.max_recv_per_srq + 1),
			  DAT_INVALID_PARAMETER);
	CHECK_NUM(srq_query().max_recv_dtos, depth);
	ABOUT("SRQ_RESIZE-07");
	CHECK_THAT(srq_counts(100, 100));
	for (uint64_t n = 1; n <= 100; n++) {
		srq_send(0, 64, n);
		if (n % 10 == 0)
			CHECK_RET(dat_srq_resize(s.srq, 100 + (DAT_COUNT)n), DAT_SUCCESS);
		srq_want(0, n, 64, (unsigned int)n);
	}
	ABOUT("SRQ_RESIZE-08");
	CHECK_RET(dat_srq_resize(s.srq, SRQ_DEPTH), DAT_SUCCESS);
	depth = srq_query().max_recv_dtos;
	CHECK_THAT(depth >= SRQ_DEPTH);
	for (DAT_COUNT n = 0; n < depth && n < 100; n++)
		CHECK_RET(srq_post((uint64_t)n, 64), DAT_SUCCESS);
}

CLAUSE_PASSIVE("SRQ_RESIZE-04")
{
	DAT_COUNT most = t.attr.max_recv_per_srq < 65536 ? t.attr.max_recv_per_srq : 65536;

	srq_setup();
	CHECK_RET_IN(dat_srq_resize(s.srq, most), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
	srq_links(1);
	srq_post_many(1, 1);
	srq_message(0, 1);
}

CLAUSE_PASSIVE("SRQ_RESIZE-05", "SRQ_RESIZE-06")
{
	DAT_COUNT depth;

	srq_setup();
	srq_links(1);
	depth = srq_query().max_recv_dtos;
	srq_post_many(1, 3);
	ABOUT("SRQ_RESIZE-05");
	srq_send(0, 64, 1);
	CHECK_RET(dat_srq_resize(s.srq, 2), DAT_INVALID_STATE);
	CHECK_NUM(srq_query().max_recv_dtos, depth);
	srq_want(0, 1, 64, 1);
	CHECK_RET(dat_srq_resize(s.srq, 2), DAT_SUCCESS);
	srq_message(0, 2);
	ABOUT("SRQ_RESIZE-06");
	NEEDS(t.prov.srq_watermarks_supported, "srq_watermarks_supported");
	MUST_RET(dat_srq_resize(s.srq, 10), DAT_SUCCESS);
	MUST_RET(dat_srq_set_lw(s.srq, 5), DAT_SUCCESS);
	depth = srq_query().max_recv_dtos;
	CHECK_RET(dat_srq_resize(s.srq, 4), DAT_INVALID_STATE);
	CHECK_NUM(srq_query().max_recv_dtos, depth);
}
