/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs depend on beyond the specification's text: events, their queues, and waiters. */
#include <string.h>

#include "kit.h"

#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

/* Creates an endpoint on EVDs that the test chooses. */
static DAT_EP_HANDLE ep_on(DAT_EVD_HANDLE dto, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR own = attr ? *attr : kit_attr();
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	MUST_RET(dat_ep_create(t.ia, t.pz, dto, dto, connect, &own, &ep), DAT_SUCCESS);
	return ep;
}

/* Events of both sides and of two streams come on one EVD, in any order. */
static void want_established(DAT_EVD_HANDLE evd, int n)
{
	for (int i = 0; i < n; i++)
		kit_conn(evd, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CLAUSE("CONSUMER-16")
{
	DAT_EVD_HANDLE evd = kit_evd(16, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE dto = kit_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	DAT_EP_HANDLE a = ep_on(dto, evd, NULL), b = ep_on(dto, evd, NULL);
	struct kit_buf buf = kit_buf(4096, KIT_REMOTE);
	DAT_CONN_QUAL qual;

	kit_psp(evd, &qual);
	MUST_RET(kit_connect(a, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(evd), b, 0, NULL), DAT_SUCCESS);
	want_established(evd, 2);
	MUST_RET(kit_write(a, kit_seg(&buf, 0, 64), kit_target(&buf, 2048, 64), 7, DEFAULT),
		 DAT_SUCCESS);
	kit_dto(dto, a, 7, DAT_DTO_SUCCESS);
	kit_empty(evd);
}

/* Both directions of many endpoints share EVDs that were created shorter than all their queues together. */
CLAUSE("CONSUMER-17")
{
	enum { PAIRS = 6, EACH = 12 };
	DAT_EVD_HANDLE dto = kit_evd(4, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE conn = kit_evd(4, DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE cr_evd = kit_evd(4, DAT_EVD_CR_FLAG);
	struct kit_buf buf = kit_buf(8192, KIT_REMOTE);
	DAT_EP_HANDLE a[PAIRS], b[PAIRS];
	int recvs = 0, sends = 0;
	DAT_CONN_QUAL qual;

	kit_psp(cr_evd, &qual);
	for (int i = 0; i < PAIRS; i++) {
		a[i] = ep_on(dto, conn, NULL);
		b[i] = ep_on(dto, conn, NULL);
		MUST_RET(kit_connect(a[i], qual), DAT_SUCCESS);
		MUST_RET(dat_cr_accept(kit_cr(cr_evd), b[i], 0, NULL), DAT_SUCCESS);
		want_established(conn, 2);
		for (int n = 0; n < EACH; n++)
			MUST_RET(kit_recv(b[i], &buf, 0, 64, 1), DAT_SUCCESS);
	}
	for (int n = 0; n < EACH; n++)
		for (int i = 0; i < PAIRS; i++)
			MUST_RET(kit_send(a[i], &buf, 4096, 64, 2, DEFAULT), DAT_SUCCESS);
	for (int n = 0; n < 2 * PAIRS * EACH; n++) {
		DAT_EVENT event = kit_event(dto);

		MUST_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
		recvs += event.event_data.dto_completion_event_data.user_cookie.as_64 == 1;
		sends += event.event_data.dto_completion_event_data.user_cookie.as_64 == 2;
	}
	CHECK_NUM(recvs, PAIRS * EACH);
	CHECK_NUM(sends, PAIRS * EACH);
	kit_empty(dto);
	kit_quiet(t.async);	/* nothing has overflowed */
}

/* Posts `depth` writes, and reaps only when most of them are done. */
static void write_at_once(int qlen, int depth)
{
	struct kit_buf buf = kit_buf(8192, KIT_REMOTE);
	DAT_EVD_HANDLE dto = kit_evd(qlen, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE conn = kit_evd(qlen, DAT_EVD_CONNECTION_FLAG);
	DAT_EVD_HANDLE cr_evd = kit_evd(qlen, DAT_EVD_CR_FLAG);
	DAT_EP_ATTR attr = kit_attr();
	DAT_CONN_QUAL qual;
	struct kit_end b;
	DAT_EP_HANDLE a;

	attr.max_recv_dtos = attr.max_request_dtos = depth;
	kit_end(&b, &attr);
	a = ep_on(dto, conn, &attr);
	kit_psp(cr_evd, &qual);
	MUST_RET(kit_connect(a, qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(conn, a, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int n = 0; n < depth; n++)
		MUST_RET(kit_write(a, kit_seg(&buf, 0, 64), kit_target(&buf, 4096, 64), (uint64_t)n,
				   DEFAULT),
			 DAT_SUCCESS);
	kit_sleep_ms(t.quiet_ms);	/* most are done by now */
	for (int n = 0; n < depth; n++)
		kit_dto(dto, a, (uint64_t)n, DAT_DTO_SUCCESS);
	kit_quiet(t.async);
}

CLAUSE("CONSUMER-18")
{
	NEEDS(t.attr.max_dto_per_ep >= 33, "max_dto_per_ep");
	write_at_once(3, 33);
	write_at_once(16, 16);
}

CLAUSE("CONSUMER-19")
{
	struct kit_buf buf = kit_buf(8192, KIT_LOCAL);
	struct kit_pair p;
	uint64_t got = 0;

	kit_pair(&p, NULL);
	for (uint64_t n = 0; n < 8; n++)
		MUST_RET(kit_recv(p.b.ep, &buf, 0, 64, n), DAT_SUCCESS);
	for (uint64_t n = 0; n < 80; n++) {
		MUST_RET(kit_send(p.a.ep, &buf, 4096, 64, n, DEFAULT), DAT_SUCCESS);
		if (n % 5 == 0)
			MUST_RET(dat_evd_resize(p.b.recv, 70 + (DAT_COUNT)n * 10), DAT_SUCCESS);
		if (n % 5 == 1)
			MUST_RET(dat_evd_resize(p.a.request, 70 + (DAT_COUNT)n * 10), DAT_SUCCESS);
		kit_dto(p.a.request, p.a.ep, n, DAT_DTO_SUCCESS);
		for (int k = 0; n % 4 == 3 && k < 4; k++, got++) {
			kit_dto(p.b.recv, p.b.ep, got, DAT_DTO_SUCCESS);
			MUST_RET(kit_recv(p.b.ep, &buf, 0, 64, got + 8), DAT_SUCCESS);
		}
	}
	CHECK_NUM(got, 80);
}

CLAUSE("CONSUMER-20")
{
	static const DAT_COUNT lengths[] = { 6000, 40000 };
	DAT_EVD_PARAM param;

	for (int i = 0; i < 2; i++) {
		DAT_EVD_HANDLE evd;

		NEEDS(t.attr.max_evd_qlen >= lengths[i], "max_evd_qlen");
		evd = kit_evd(lengths[i], DAT_EVD_DTO_FLAG);
		MUST_RET(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
		CHECK_THAT(param.evd_qlen >= lengths[i]);
	}
}

CLAUSE("CONSUMER-21")
{
	enum { DEPTH = 50000 };
	struct kit_buf buf = kit_buf(4096, KIT_LOCAL);
	DAT_EP_ATTR attr = kit_attr();
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	NEEDS(t.attr.max_dto_per_ep >= DEPTH, "max_dto_per_ep");
	NEEDS(t.attr.max_evd_qlen >= 2 * DEPTH, "max_evd_qlen");
	evd = kit_evd(8, DAT_EVD_DTO_FLAG);
	attr.max_recv_dtos = attr.max_request_dtos = DEPTH;
	ep = ep_on(evd, kit_evd(8, DAT_EVD_CONNECTION_FLAG), &attr);
	for (uint64_t n = 0; n < DEPTH; n++)
		MUST_RET(kit_recv(ep, &buf, 0, 64, n), DAT_SUCCESS);
}

static bool polled(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return dat_evd_dequeue(evd, event) == DAT_SUCCESS;
}

/* Only calls of dat_evd_dequeue() can make a large transfer proceed: no thread waits, and there is no CNO. */
CLAUSE("CONSUMER-22")
{
	size_t size = t.attr.max_message_size < 1 << 20 ? t.attr.max_message_size : 1 << 20;
	struct kit_buf from = kit_buf(size, KIT_LOCAL), to = kit_buf(size, KIT_LOCAL);
	DAT_EP_ATTR attr = kit_attr();
	struct kit_pair p;
	DAT_EVENT event;

	attr.max_message_size = size;
	kit_pair(&p, &attr);
	kit_fill(from.mem, size, 1);
	MUST_RET(kit_recv(p.b.ep, &to, 0, size, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &from, 0, size, 2, DEFAULT), DAT_SUCCESS);
	MUST_SOON(polled(p.b.recv, &event));
	CHECK_THAT(kit_filled(to.mem, size, 1));
	MUST_SOON(polled(p.a.request, &event));
	for (int i = 0; i < 20000; i++)
		if (dat_evd_dequeue(p.b.recv, &event) == DAT_SUCCESS)
			MUST_NOT_COME_HERE("dat_evd_dequeue", "an empty queue", "event 0x%x",
					   (unsigned int)event.event_number);
}

static void *wait_for_ever(void *arg)
{
	struct kit_waiter *w = arg;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&w->tid, 1, __ATOMIC_RELEASE);
	for (;;)
		dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, 1, &w->event, &w->nmore);
	return NULL;
}

/* ThreadSanitizer does not survive asynchronous cancellation. */
#if defined(__SANITIZE_THREAD__)
#define CANCEL_WORKS false
#elif defined(__has_feature)
#define CANCEL_WORKS (!__has_feature(thread_sanitizer))
#else
#define CANCEL_WORKS true
#endif

CLAUSE("CONSUMER-23")
{
	NEEDS(CANCEL_WORKS, "the thread sanitizer");
	for (int i = 0; i < 10; i++) {
		DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
		struct kit_waiter w = { .evd = evd };
		DAT_CONN_QUAL qual;
		DAT_PSP_HANDLE psp = kit_psp(evd, &qual);

		MUST(pthread_create(&w.thread, NULL, wait_for_ever, &w) == 0);
		MUST_SOON(__atomic_load_n(&w.tid, __ATOMIC_ACQUIRE) != 0);
		if (i % 2)
			MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
		if (i > 1)
			kit_sleep_ms(t.quiet_ms);
		MUST(pthread_cancel(w.thread) == 0);
		kit_wait_end(&w);
		/* The cancelled thread holds no lock and does not count as a waiter. */
		CHECK_RET(dat_psp_free(psp), DAT_SUCCESS);
		CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
	}
}

/* The test takes one event for each trigger of the CNO, by a wait or a dequeue in turn. The EVD is never empty meanwhile. */
CLAUSE("CONSUMER-24")
{
	struct kit_buf buf = kit_buf(8192, KIT_LOCAL);
	DAT_CNO_HANDLE cno = kit_cno();
	DAT_EVD_HANDLE hint;
	struct kit_pair p;
	DAT_EVENT event;

	kit_pair(&p, NULL);
	MUST_RET(dat_evd_modify_cno(p.b.recv, cno), DAT_SUCCESS);
	for (uint64_t n = 0; n < 8; n++)
		MUST_RET(kit_recv(p.b.ep, &buf, 0, 64, n), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &buf, 4096, 64, 0, DEFAULT), DAT_SUCCESS);
	for (uint64_t n = 0; n < 7; n++) {
		MUST_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
		CHECK_THAT(hint == p.b.recv);
		MUST_RET(kit_send(p.a.ep, &buf, 4096, 64, n + 1, DEFAULT), DAT_SUCCESS);
		kit_dto(p.a.request, p.a.ep, n, DAT_DTO_SUCCESS);
		if (n % 2)
			kit_dto(p.b.recv, p.b.ep, n, DAT_DTO_SUCCESS);
		else
			MUST_SOON(polled(p.b.recv, &event));
	}
	MUST_RET(dat_cno_wait(cno, kit_patience(), &hint), DAT_SUCCESS);
}

CLAUSE("CONSUMER-25")
{
	struct kit_pair p;

	kit_pair(&p, NULL);
	for (int i = 0; i < 5; i++) {
		kit_disconnect(&p);
		kit_empty(p.a.connect);
		kit_empty(p.b.connect);
		kit_reconnect(&p);
		kit_empty(p.a.connect);
		kit_empty(p.b.connect);
	}
	kit_quiet(p.a.connect);
	kit_quiet(p.b.connect);
}

CLAUSE("CONSUMER-26")
{
	DAT_EVD_HANDLE cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL quals[2];
	DAT_PSP_HANDLE psps[2] = { kit_psp(cr_evd, &quals[0]), kit_psp(cr_evd, &quals[1]) };
	struct kit_end a;

	for (int i = 0; i < 2; i++) {
		DAT_EVENT event;

		kit_end(&a, NULL);
		MUST_RET(kit_connect(a.ep, quals[i]), DAT_SUCCESS);
		event = kit_event(cr_evd);
		MUST_NUM(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
		CHECK_THAT(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == psps[i]);
		CHECK_NUM(event.event_data.cr_arrival_event_data.conn_qual, quals[i]);
		CHECK_THAT(event.event_data.cr_arrival_event_data.cr_handle != DAT_HANDLE_NULL);
	}
}

/* An endpoint's receives have the default flag and its requests are UNSIGNALLED, on one EVD. */
static void mixed_end(struct kit_end *end)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	end->recv = end->request = kit_evd(64, DAT_EVD_DTO_FLAG);
	end->connect = kit_evd(8, DAT_EVD_CONNECTION_FLAG);
	MUST_RET(dat_ep_create(t.ia, t.pz, end->recv, end->request, end->connect, &attr, &end->ep),
		 DAT_SUCCESS);
}

CLAUSE("CONSUMER-61")
{
	struct kit_buf buf;
	struct kit_waiter w;
	struct kit_pair p;
	DAT_EP_HANDLE ep;

	NEEDS(judge_allows("mixed_completions"), "allow");
	buf = kit_buf(8192, KIT_REMOTE);
	kit_pair_unconnected(&p, NULL);
	mixed_end(&p.a);
	mixed_end(&p.b);
	kit_pair_connect(&p);
	ep = p.a.ep;
	MUST_RET(kit_recv(ep, &buf, 0, 64, 9), DAT_SUCCESS);
	kit_wait_start(&w, p.a.request, 1);
	for (uint64_t n = 1; n <= 3; n++)
		MUST_RET(kit_write(ep, kit_seg(&buf, 0, 64), kit_target(&buf, 4096, 64), n,
				   DAT_COMPLETION_UNSIGNALLED_FLAG),
			 DAT_SUCCESS);
	CHECK_THAT(kit_still_waits(&w));
	MUST_RET(kit_send(p.b.ep, &buf, 0, 64, 4, DAT_COMPLETION_UNSIGNALLED_FLAG), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	kit_dto(p.a.request, ep, 2, DAT_DTO_SUCCESS);
	kit_dto(p.a.request, ep, 3, DAT_DTO_SUCCESS);
	kit_dto(p.a.request, ep, 9, DAT_DTO_SUCCESS);
	kit_empty(p.a.request);
	kit_dto(p.b.request, p.b.ep, 4, DAT_DTO_SUCCESS);
}

CLAUSE("CONSUMER-62")
{
	static const DAT_EVD_FLAGS kinds[] = { DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG,
					       DAT_EVD_CONNECTION_FLAG };
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		CHECK_NUM(DAT_GET_TYPE(dat_evd_dequeue(kit_evd(8, kinds[i]), &event)),
			  DAT_QUEUE_EMPTY);
	CHECK_NUM(DAT_GET_TYPE(dat_cno_wait(kit_cno(), 1000, &hint)), DAT_QUEUE_EMPTY);
}

CLAUSE("CONSUMER-63")
{
	DAT_EVENT event;
	struct kit_pair p;

	CHECK_NUM(dat_evd_dequeue(kit_evd(8, DAT_EVD_DTO_FLAG), &event), DAT_QUEUE_EMPTY);
	kit_pair(&p, NULL);
	CHECK_NUM(dat_evd_dequeue(p.a.recv, &event), DAT_QUEUE_EMPTY);
	CHECK_NUM(dat_evd_dequeue(p.a.request, &event), DAT_QUEUE_EMPTY);
}

/* Connected endpoints: side a sends, and all receives of side b complete into one EVD. */
#define STREAMS 8

struct streams {
	DAT_EVD_HANDLE sent, got, connect;
	DAT_EP_HANDLE a[STREAMS], b[STREAMS];
	struct kit_buf from, to;
	size_t longest; /* the length of the second message of each endpoint */
};

static void streams_make(struct streams *s)
{
	DAT_EVD_HANDLE cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_EP_ATTR attr = kit_attr();
	DAT_CONN_QUAL qual;

	s->longest = attr.max_message_size;
	s->from = kit_buf(s->longest, KIT_SINK);
	s->to = kit_buf(s->longest, KIT_REMOTE);
	s->sent = kit_evd(64, DAT_EVD_DTO_FLAG);
	s->got = kit_evd(64, DAT_EVD_DTO_FLAG);
	s->connect = kit_evd(64, DAT_EVD_CONNECTION_FLAG);
	kit_psp(cr_evd, &qual);
	for (int i = 0; i < STREAMS; i++) {
		s->a[i] = ep_on(s->sent, s->connect, &attr);
		s->b[i] = ep_on(s->got, s->connect, &attr);
		for (uint64_t n = 0; n < 2; n++)
			MUST_RET(kit_recv(s->b[i], &s->to, 0, s->longest, n), DAT_SUCCESS);
		MUST_RET(kit_connect(s->a[i], qual), DAT_SUCCESS);
		MUST_RET(dat_cr_accept(kit_cr(cr_evd), s->b[i], 0, NULL), DAT_SUCCESS);
		want_established(s->connect, 2);
	}
}

/* Sends a message over each endpoint. The RDMA Read behind it completes only after the message has arrived. */
static void streams_send(const struct streams *s, size_t length)
{
	for (int i = 0; i < STREAMS; i++) {
		MUST_RET(kit_send(s->a[i], &s->from, 0, length, 1, DEFAULT), DAT_SUCCESS);
		MUST_RET(kit_read(s->a[i], kit_seg(&s->from, 0, 8), kit_target(&s->to, 0, 8), 2, DEFAULT),
			 DAT_SUCCESS);
		kit_dto(s->sent, s->a[i], 1, DAT_DTO_SUCCESS);
		kit_dto(s->sent, s->a[i], 2, DAT_DTO_SUCCESS);
	}
}

CLAUSE("CONSUMER-66")
{
	enum { ROUNDS = 20 };
	struct streams s;

	streams_make(&s);
	for (int round = 0; round < ROUNDS; round++) {
		streams_send(&s, 64);
		streams_send(&s, s.longest);
		for (uint64_t n = 0; n < 2; n++)
			for (int i = 0; i < STREAMS; i++)
				kit_dto(s.got, s.b[i], n, DAT_DTO_SUCCESS);
		for (int i = 0; i < STREAMS; i++)
			for (uint64_t n = 0; n < 2; n++)
				MUST_RET(kit_recv(s.b[i], &s.to, 0, s.longest, n), DAT_SUCCESS);
	}
}
