/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs depend on beyond the specification's text: how connections begin and end. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

CLAUSE("CONSUMER-27")
{
	struct kit_pair p;
	struct sockaddr_in to;

	kit_pair_unconnected(&p, NULL);
	memcpy(&to, t.attr.ia_address_ptr, sizeof(to));
	to.sin_port = htons(4711);
	MUST_RET(dat_ep_connect(p.a.ep, (DAT_IA_ADDRESS_PTR)&to, p.qual, 4 * kit_patience(), 0,
				NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		 DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Creates a PSP at the first free qualifier from *qual on. */
static DAT_PSP_HANDLE count_up(DAT_EVD_HANDLE cr_evd, DAT_CONN_QUAL *qual)
{
	for (int i = 0; i < 1000; i++, ++*qual) {
		DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
		DAT_RETURN ret = dat_psp_create(t.ia, *qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);

		if (ret == DAT_SUCCESS)
			return psp;
		MUST_RET(ret, DAT_CONN_QUAL_IN_USE);
	}
	MUST_NOT_COME_HERE("dat_psp_create()", "a free qualifier among 1000", "none");
	return DAT_HANDLE_NULL;
}

/*
 * Programs compute qualifiers from process ids and ranks: such qualifiers are not ports, and a
 * freed one can be used again at once.
 */
CLAUSE("CONSUMER-28")
{
	const DAT_CONN_QUAL wanted[] = { (DAT_CONN_QUAL)getpid() + 100000,
					 ((DAT_CONN_QUAL)getpid() << 35) + 1 };
	DAT_EVD_HANDLE cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);

	for (int i = 0; i < 2; i++) {
		DAT_CONN_QUAL qual = wanted[i], next;
		DAT_PSP_HANDLE psp = count_up(cr_evd, &qual), other;
		struct kit_end a, b;

		CHECK_RET(dat_psp_create(t.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
			  DAT_CONN_QUAL_IN_USE);
		next = qual + 1;
		other = count_up(cr_evd, &next);
		for (int n = 0; n < 10; n++) {
			MUST_RET(dat_psp_free(psp), DAT_SUCCESS);
			MUST_RET(dat_psp_create(t.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
				 DAT_SUCCESS);
		}
		kit_end(&a, NULL);
		kit_end(&b, NULL);
		MUST_RET(kit_connect(a.ep, qual), DAT_SUCCESS);
		MUST_RET(dat_cr_accept(kit_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
		kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		CHECK_RET(dat_psp_free(psp), DAT_SUCCESS);
		CHECK_RET(dat_psp_free(other), DAT_SUCCESS);
	}
}

CLAUSE("CONSUMER-29")
{
	DAT_EVD_HANDLE cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);

	for (int i = 0; i < 5; i++) {
		DAT_CONN_QUAL qual = 0;

		kit_psp(cr_evd, &qual);
		CHECK_THAT(qual >= 1 && qual <= 65535);
	}
}

CLAUSE("CONSUMER-30")
{
	struct kit_pair p;

	kit_pair(&p, NULL);	/* from an adapter to itself, in one process */
	kit_exchange(&p.a, &p.b);
	kit_exchange(&p.b, &p.a);
}

CLAUSE("CONSUMER-31")
{
	static const DAT_COUNT sizes[] = { 0, 4, 0, 1 };
	static const char data[] = "abcd";
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	for (int i = 0; i < 4; i++) {
		DAT_COUNT size = sizes[i], back = 4 - size;
		DAT_CR_PARAM param;
		DAT_CR_HANDLE cr;
		DAT_EVENT event;

		kit_end(&p.a, NULL);
		kit_end(&p.b, NULL);
		MUST_RET(kit_connect_data(p.a.ep, p.qual, size, size ? data : NULL), DAT_SUCCESS);
		cr = kit_cr(p.cr_evd);
		MUST_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
		CHECK_NUM(param.private_data_size, size);
		CHECK_THAT(!size || !memcmp(param.private_data, data, (size_t)size));
		MUST_RET(dat_cr_accept(cr, p.b.ep, back, back ? (DAT_PVOID)data : NULL),
			 DAT_SUCCESS);
		event = kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		CHECK_NUM(event.event_data.connect_event_data.private_data_size, back);
		CHECK_THAT(!back || !memcmp(event.event_data.connect_event_data.private_data, data,
					    (size_t)back));
		event = kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		CHECK_NUM(event.event_data.connect_event_data.private_data_size, 0);
	}
}

CLAUSE("CONSUMER-32")
{
	struct kit_buf buf = kit_buf(8192, KIT_LOCAL);
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	for (uint64_t n = 1; n <= 3; n++) {
		MUST_RET(kit_recv(p.a.ep, &buf, 64 * n, 64, n), DAT_SUCCESS);
		MUST_RET(kit_recv(p.b.ep, &buf, 1024 + 64 * n, 64, n), DAT_SUCCESS);
	}
	kit_pair_connect(&p);
	kit_fill(buf.mem + 4096, 64, 1);
	for (uint64_t n = 1; n <= 3; n++) {
		MUST_RET(kit_send(p.a.ep, &buf, 4096, 64, n, DEFAULT), DAT_SUCCESS);
		kit_dto(p.b.recv, p.b.ep, n, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_filled(buf.mem + 1024 + 64 * n, 64, 1));
	}
	for (uint64_t n = 1; n <= 3; n++) {
		MUST_RET(kit_send(p.b.ep, &buf, 4096, 64, n, DEFAULT), DAT_SUCCESS);
		kit_dto(p.a.recv, p.a.ep, n, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_filled(buf.mem + 64 * n, 64, 1));
	}
}

/* A transport that cannot hold a message back until there is a receive, such as iWARP, ends the connection. */
CLAUSE("CONSUMER-33")
{
	struct kit_buf buf = kit_buf(8192, KIT_LOCAL);
	struct kit_pair p;
	DAT_EVENT event;

	kit_pair(&p, NULL);
	kit_fill(buf.mem, 24, 1);
	MUST_RET(kit_send(p.a.ep, &buf, 0, 24, 1, DEFAULT), DAT_SUCCESS);
	kit_sleep_ms(t.quiet_ms);
	kit_empty(p.b.recv);
	if (dat_evd_dequeue(p.b.connect, &event) == DAT_SUCCESS) {
		judge_outcome("the connection ends");
		CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
			   event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
		return;
	}
	judge_outcome("the message waits");
	MUST_RET(kit_recv(p.b.ep, &buf, 4096, 100, 3), DAT_SUCCESS);
	CHECK_NUM(kit_dto(p.b.recv, p.b.ep, 3, DAT_DTO_SUCCESS).transfered_length, 24);
	CHECK_THAT(kit_filled(buf.mem + 4096, 24, 1));
	kit_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	kit_exchange(&p.a, &p.b);
}

CLAUSE("CONSUMER-34")
{
	DAT_CONN_QUAL nobody = kit_unused_qual();
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	for (int i = 0; i < 3; i++) {
		DAT_EVENT event;

		MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
		MUST_RET(dat_cr_reject(kit_cr(p.cr_evd)), DAT_SUCCESS);
		event = kit_event(p.a.connect);
		CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
			   event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		CHECK_THAT(event.event_data.connect_event_data.ep_handle == p.a.ep);
		MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
		MUST_RET(kit_connect(p.a.ep, nobody), DAT_SUCCESS);
		event = kit_event(p.a.connect);
		CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
			   event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
			   event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT);
		judge_outcome("nobody listens: %s", kit_event_name(event.event_number));
		MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
	}
	kit_pair_connect(&p);
	kit_exchange(&p.a, &p.b);
}

CLAUSE("CONSUMER-35")
{
	struct kit_pair p;

	kit_pair(&p, NULL);
	kit_disconnect(&p);
	CHECK_RET(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat_ep_disconnect(p.b.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	kit_quiet(p.b.connect);
	kit_quiet(p.a.connect);
}

/* What was posted before a graceful disconnect arrives and completes. */
CLAUSE("CONSUMER-36")
{
	enum { SENDS = 8, SIZE = 4096 };
	struct kit_buf from = kit_buf(SENDS * SIZE, KIT_LOCAL),
		       to = kit_buf(SENDS * SIZE, KIT_LOCAL);
	struct kit_pair p;

	kit_pair(&p, NULL);
	kit_fill(from.mem, from.size, 5);
	for (size_t n = 0; n < SENDS; n++)
		MUST_RET(kit_recv(p.b.ep, &to, n * SIZE, SIZE, n), DAT_SUCCESS);
	for (size_t n = 0; n < SENDS; n++)
		MUST_RET(kit_send(p.a.ep, &from, n * SIZE, SIZE, n, DEFAULT), DAT_SUCCESS);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	for (uint64_t n = 0; n < SENDS; n++) {
		kit_dto(p.a.request, p.a.ep, n, DAT_DTO_SUCCESS);
		kit_dto(p.b.recv, p.b.ep, n, DAT_DTO_SUCCESS);
	}
	CHECK_THAT(kit_filled(to.mem, to.size, 5));
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

struct card {
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
};

/* Connects, and exits without a disconnect. */
static void connect_and_leave(int fd)
{
	struct card card;
	struct kit_end a;
	char word;

	kit_open();
	peer_hear(fd, &card, sizeof(card));
	kit_end(&a, NULL);
	MUST_RET(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&card.address, card.qual,
				4 * kit_patience(), 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	peer_hear(fd, &word, 1);
	_exit(0);
}

CLAUSE_BARE("CONSUMER-37")
{
	int fd = peer_start(connect_and_leave);
	DAT_EVD_HANDLE cr_evd;
	struct kit_buf buf;
	struct card card;
	struct kit_end b;

	kit_open();
	NEEDS_REACH();
	memcpy(&card.address, t.attr.ia_address_ptr, sizeof(card.address));
	kit_end(&b, NULL);
	buf = kit_buf(64, KIT_LOCAL);
	cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	kit_psp(cr_evd, &card.qual);
	peer_tell(fd, &card, sizeof(card));
	MUST_RET(dat_cr_accept(kit_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	MUST_RET(kit_recv(b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	peer_tell(fd, "x", 1);
	kit_over(b.connect, b.ep);
	kit_dto(b.recv, b.ep, 1, DAT_DTO_ERR_FLUSHED);
	kit_quiet(b.connect);
}

static struct {
	DAT_EP_HANDLE eps[2];
	bool over;	/* atomic */
	int bad;	/* written by the watcher until it is joined */
} watched;

static void *watch(void *arg)
{
	DAT_EP_PARAM param;

	while (!__atomic_load_n(&watched.over, __ATOMIC_ACQUIRE))
		for (int i = 0; i < 2; i++)
			watched.bad += dat_ep_query(watched.eps[i], DAT_EP_FIELD_EP_STATE,
						    &param) != DAT_SUCCESS;
	return arg;
}

/*
 * Both connect to each other. b rejects a's request; a is reset, and accepts b's request, which it
 * could not accept while it was connecting.
 */
CLAUSE("CONSUMER-38")
{
	DAT_EVD_HANDLE crs_of_a = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_EVD_HANDLE crs_of_b = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL to_a, to_b;
	DAT_CR_HANDLE at_a, at_b;
	DAT_CR_PARAM param;
	struct kit_end a, b;
	pthread_t watcher;
	DAT_EVENT event;

	kit_end(&a, NULL);
	kit_end(&b, NULL);
	kit_psp(crs_of_a, &to_a);
	kit_psp(crs_of_b, &to_b);
	watched.eps[0] = a.ep;
	watched.eps[1] = b.ep;
	MUST(pthread_create(&watcher, NULL, watch, NULL) == 0);
	MUST_RET(kit_connect(a.ep, to_b), DAT_SUCCESS);
	MUST_RET(kit_connect(b.ep, to_a), DAT_SUCCESS);
	at_a = kit_cr(crs_of_a);
	at_b = kit_cr(crs_of_b);
	CHECK_REFUSED(dat_cr_accept(at_a, a.ep, 0, NULL));
	CHECK_RET(dat_cr_query(at_a, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_NUM(kit_state(a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	MUST_RET(dat_cr_reject(at_b), DAT_SUCCESS);
	event = kit_event(a.connect);
	CHECK_THAT(event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
		   event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	MUST_RET(dat_ep_reset(a.ep), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(at_a, a.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	__atomic_store_n(&watched.over, true, __ATOMIC_RELEASE);
	MUST(pthread_join(watcher, NULL) == 0);
	CHECK_NUM(watched.bad, 0);
	kit_exchange(&b, &a);
}

CLAUSE("CONSUMER-39")
{
	DAT_EP_PARAM param, again;
	struct kit_end a, b;

	kit_end(&a, NULL);
	MUST_RET(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	kit_end(&b, &param.ep_attr);
	MUST_RET(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &again), DAT_SUCCESS);
	CHECK_NUM(again.ep_attr.max_message_size, param.ep_attr.max_message_size);
	CHECK_NUM(again.ep_attr.max_rdma_size, param.ep_attr.max_rdma_size);
	CHECK_NUM(again.ep_attr.max_recv_dtos, param.ep_attr.max_recv_dtos);
	CHECK_NUM(again.ep_attr.max_request_dtos, param.ep_attr.max_request_dtos);
}

static bool is_ipv4(DAT_IA_ADDRESS_PTR address)
{
	struct sockaddr_in in;

	if (!address)
		return false;
	memcpy(&in, address, sizeof(in));
	return in.sin_family == AF_INET && in.sin_addr.s_addr != INADDR_ANY;
}

CLAUSE("CONSUMER-40")
{
	struct kit_pair p;
	DAT_EP_PARAM param;

	kit_pair(&p, NULL);
	for (int i = 0; i < 2; i++) {
		MUST_RET(dat_ep_query(i ? p.b.ep : p.a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
		CHECK_THAT(is_ipv4(param.local_ia_address_ptr));
		CHECK_THAT(is_ipv4(param.remote_ia_address_ptr));
	}
}

/*
 * A server on RSPs compares each request's RSP handle with those that it created. A new RSP takes
 * the place of the used one, whose qualifier is free, and then the used RSP is freed.
 */
CLAUSE_PASSIVE("CONSUMER-60")
{
	DAT_EVD_HANDLE cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual = kit_unused_qual();

	for (int i = 0; i < 5; i++) {
		DAT_CR_ARRIVAL_EVENT_DATA *arrival;
		DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL, next = DAT_HANDLE_NULL;
		struct kit_end a, b, spare;
		DAT_CR_PARAM param;
		DAT_EVENT event;

		kit_end_a(&a, NULL);
		kit_end(&b, NULL);
		kit_end(&spare, NULL);
		MUST_RET(dat_rsp_create(t.ia, qual, b.ep, cr_evd, &rsp), DAT_SUCCESS);
		MUST_RET(kit_connect(a.ep, qual), DAT_SUCCESS);
		event = kit_event(cr_evd);
		MUST_NUM(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
		arrival = &event.event_data.cr_arrival_event_data;
		CHECK_THAT(arrival->sp_handle.rsp_handle == rsp);
		CHECK_THAT(arrival->conn_qual == qual);
		MUST_RET(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
		CHECK_THAT(param.local_ep_handle == b.ep);
		CHECK_RET(dat_rsp_create(t.ia, qual, spare.ep, cr_evd, &next), DAT_SUCCESS);
		CHECK_RET(dat_rsp_free(rsp), DAT_SUCCESS);
		CHECK_RET(dat_rsp_free(rsp), DAT_INVALID_HANDLE);
		CHECK_RET(dat_rsp_free(next), DAT_SUCCESS);
		CHECK_NUM(kit_state(b.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
		MUST_RET(dat_cr_accept(arrival->cr_handle, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
		kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		kit_conn(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		kit_exchange(&a, &b);
	}
}

/* Waits until the buffer's last byte has its value. Returns false if that takes too long. */
static bool shows(const struct kit_buf *buf, unsigned char value)
{
	uint64_t until = judge_now_ms() + t.patience_ms;

	while (kit_buf_peek(buf, buf->size - 1) != value)
		if (judge_now_ms() > until)
			return false;
	return true;
}

CLAUSE_PASSIVE("CONSUMER-64")
{
	enum { SIZE = 64, ROUNDS = 20 };
	struct kit_buf here = kit_buf_b(SIZE, KIT_REMOTE), there = kit_buf_a(SIZE, KIT_REMOTE);
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	kit_buf_set(&there, 0, SIZE, 7);
	for (int i = 0; i < ROUNDS; i++) {
		here.mem[SIZE - 1] = 0;
		MUST_RET(kit_recv(p.a.ep, &there, 0, SIZE, 1), DAT_SUCCESS);
		MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
		MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
		kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		MUST_RET(kit_write(p.a.ep, kit_seg(&there, 0, SIZE), kit_target(&here, 0, SIZE), 2,
				   DEFAULT),
			 DAT_SUCCESS);
		MUST(shows(&here, 7));
		CHECK_RET(kit_send(p.b.ep, &here, 0, SIZE, 3, DEFAULT), DAT_SUCCESS);
		kit_dto(p.a.recv, p.a.ep, 1, DAT_DTO_SUCCESS);
		kit_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
		kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		kit_dto(p.b.request, p.b.ep, 3, DAT_DTO_SUCCESS);
		kit_disconnect(&p);
		MUST_RET(dat_ep_reset(p.a.ep), DAT_SUCCESS);
		MUST_RET(dat_ep_reset(p.b.ep), DAT_SUCCESS);
	}
}

CLAUSE_BARE("CONSUMER-65")
{
	int said = memfd_create("said", 0), before = dup(STDERR_FILENO);
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp, other;
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;

	unsetenv("DAT_LOG");
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAPL_DBG_TYPE");
	kit_open();
	cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	qual = (DAT_CONN_QUAL)getpid() + 100000;
	psp = count_up(cr_evd, &qual);
	fflush(NULL);
	MUST(said >= 0 && before >= 0 && dup2(said, STDERR_FILENO) >= 0);
	ret = dat_psp_create(t.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &other);
	fflush(NULL);
	dup2(before, STDERR_FILENO);
	close(before);
	CHECK_RET(ret, DAT_CONN_QUAL_IN_USE);
	CHECK_NUM(lseek(said, 0, SEEK_END), 0);
	close(said);
	CHECK_RET(dat_psp_free(psp), DAT_SUCCESS);
}

/*
 * Disconnects the ends a, and resets them and the ends b. Each a is connected to some b, not always to that of the same
 * index. Each b has one receive posted.
 */
static void end_and_reset(struct kit_end *a, struct kit_end *b, int n)
{
	for (int i = 0; i < n; i++)
		MUST_RET(dat_ep_disconnect(a[i].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	for (int i = 0; i < n; i++) {
		kit_conn(a[i].connect, a[i].ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		kit_over(b[i].connect, b[i].ep);
		kit_dto(b[i].recv, b[i].ep, 1, DAT_DTO_ERR_FLUSHED);
		MUST_RET(dat_ep_reset(a[i].ep), DAT_SUCCESS);
		MUST_RET(dat_ep_reset(b[i].ep), DAT_SUCCESS);
	}
}

/* Eight requests are under way at once. Each is accepted, so each must succeed: programs do not try again. */
CLAUSE("CONSUMER-67")
{
	enum { ENDS = 8, ROUNDS = 5 };
	DAT_EVD_HANDLE cr_evd = kit_evd(ENDS, DAT_EVD_CR_FLAG);
	struct kit_buf buf = kit_buf(64, KIT_LOCAL);
	struct kit_end a[ENDS], b[ENDS];
	DAT_CONN_QUAL qual;

	kit_psp(cr_evd, &qual);
	for (int i = 0; i < ENDS; i++) {
		kit_end(&a[i], NULL);
		kit_end(&b[i], NULL);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < ENDS; i++)
			MUST_RET(kit_connect(a[i].ep, qual), DAT_SUCCESS);
		for (int i = 0; i < ENDS; i++) {
			MUST_RET(kit_recv(b[i].ep, &buf, 0, 64, 1), DAT_SUCCESS);
			MUST_RET(dat_cr_accept(kit_cr(cr_evd), b[i].ep, 0, NULL), DAT_SUCCESS);
		}
		for (int i = 0; i < ENDS; i++) {
			kit_conn(a[i].connect, a[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
			kit_conn(b[i].connect, b[i].ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		}
		end_and_reset(a, b, ENDS);
	}
}

/* A server greets as soon as it has ESTABLISHED. Its client takes that event later, and posts its receive then. */
CLAUSE("CONSUMER-68")
{
	enum { ROUNDS = 5 };
	struct kit_buf buf = kit_buf(8192, KIT_LOCAL);
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		kit_fill(buf.mem, 24, round);
		memset(buf.mem + 4096, 0, 24);
		MUST_RET(kit_recv(p.b.ep, &buf, 6144, 24, 1), DAT_SUCCESS);
		MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
		MUST_RET(dat_cr_accept(kit_cr(p.cr_evd), p.b.ep, 0, NULL), DAT_SUCCESS);
		kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		MUST_RET(kit_send(p.b.ep, &buf, 0, 24, 2, DEFAULT), DAT_SUCCESS);
		kit_sleep_ms(t.quiet_ms);
		kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		MUST_RET(kit_recv(p.a.ep, &buf, 4096, 100, 3), DAT_SUCCESS);
		CHECK_NUM(kit_dto(p.a.recv, p.a.ep, 3, DAT_DTO_SUCCESS).transfered_length, 24);
		CHECK_THAT(kit_filled(buf.mem + 4096, 24, round));
		kit_dto(p.b.request, p.b.ep, 2, DAT_DTO_SUCCESS);
		end_and_reset(&p.a, &p.b, 1);
	}
}
