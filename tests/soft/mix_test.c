/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes with a dozen connections, and all kinds of operations at once in both directions: messages of every size,
 * receives posted early and late, and writes that the next message announces. All connections share one EVD, which is so
 * small that its ring is often full. Every message has to arrive once, whole, in order, and after its write.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

#define CONNECTIONS 12u
#define MESSAGES    150u
#define DEPTH	    8u
#define LONGEST	    100000u
#define HEADER	    (4 * sizeof(uint32_t))

enum progress { BY_DEQUEUE, BY_WAIT, BY_CNO };

/* The parameters of a test. The peer has the same, because it is forked after they are set. */
static struct {
	enum progress progress;
	bool srq;
	DAT_CONN_QUAL qual;
} how;

struct message {
	uint32_t connection, number, length,
		written; /* `written`: the number of the write that came before it; 0: none */
};

struct place {
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
};

struct connection {
	DAT_EP_HANDLE ep;
	struct place there;
	uint32_t sent, completed, received; /* messages */
	uint32_t requests;		    /* outstanding, writes too */
	uint32_t receives;		    /* posted */
	uint32_t lent;			    /* a bit for each buffer that is posted */
	uint32_t written;
};

static struct {
	struct connection at[CONNECTIONS];
	struct api_buf in, out, target, number;
	DAT_EVD_HANDLE recv, request, connect;
	DAT_CNO_HANDLE cno;
	DAT_SRQ_HANDLE srq;
	unsigned int seed;
	uint32_t left; /* messages still to send or to receive */
} my;

static size_t slot(uint32_t c, uint32_t n)
{
	return (size_t)(c * DEPTH + n % DEPTH) * LONGEST;
}

/* ------------------------------------------------------------------ opening */

static void make_endpoints(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = DEPTH, .max_request_dtos = 2 * DEPTH };
	DAT_SRQ_ATTR srq = { .max_recv_dtos = CONNECTIONS * DEPTH, .max_recv_iov = 1 };

	if (how.srq)
		REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &srq, &my.srq), DAT_SUCCESS);
	for (uint32_t c = 0; c < CONNECTIONS; c++) {
		DAT_EP_HANDLE *ep = &my.at[c].ep;

		if (how.srq)
			REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, my.recv, my.request,
							   my.connect, my.srq, &attr, ep),
				    DAT_SUCCESS);
		else
			REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.recv, my.request, my.connect,
						  &attr, ep),
				    DAT_SUCCESS);
	}
}

static void open_side(unsigned int seed)
{
	memset(&my, 0, sizeof(my));
	my.seed = seed;
	my.left = 2 * CONNECTIONS * MESSAGES;
	api_open();
	my.cno = how.progress == BY_CNO ? api_cno() : DAT_HANDLE_NULL;
	my.recv = api_evd_cno(64, DAT_EVD_DTO_FLAG, my.cno);
	my.request = api_evd_cno(64, DAT_EVD_DTO_FLAG, my.cno);
	my.connect = api_evd(64, DAT_EVD_CONNECTION_FLAG);
	my.in = api_buf((size_t)CONNECTIONS * DEPTH * LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	my.out = api_buf((size_t)CONNECTIONS * DEPTH * LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	my.target = api_buf(CONNECTIONS * sizeof(uint32_t), DAT_MEM_PRIV_ALL_FLAG);
	my.number = api_buf(CONNECTIONS * DEPTH * sizeof(uint32_t), DAT_MEM_PRIV_ALL_FLAG);
	make_endpoints();
}

static struct place place_of(uint32_t c)
{
	DAT_RMR_TRIPLET target = api_target(&my.target, c * sizeof(uint32_t), sizeof(uint32_t));

	return (struct place){ target.rmr_context, target.target_address };
}

static void await_established(struct place *there)
{
	DAT_EVENT event;

	API_EVENT(my.connect, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	if (there)
		memcpy(there, event.event_data.connect_event_data.private_data, sizeof(*there));
}

static void connect_all(void)
{
	for (uint32_t c = 0; c < CONNECTIONS; c++) {
		struct place here = place_of(c);

		REQUIRE_DAT(dat_ep_connect(my.at[c].ep, api_address(), how.qual, api_patience(),
					   sizeof(here), &here, DAT_QOS_BEST_EFFORT,
					   DAT_CONNECT_DEFAULT_FLAG),
			    DAT_SUCCESS);
		await_established(&my.at[c].there);
	}
}

static void accept_all(DAT_EVD_HANDLE cr_evd)
{
	for (uint32_t c = 0; c < CONNECTIONS; c++) {
		struct place here = place_of(c);
		DAT_CR_HANDLE cr = api_cr(cr_evd);
		DAT_CR_PARAM param;

		REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
		memcpy(&my.at[c].there, param.private_data, sizeof(my.at[c].there));
		REQUIRE_DAT(dat_cr_accept(cr, my.at[c].ep, sizeof(here), &here), DAT_SUCCESS);
		await_established(NULL);
	}
}

/* ------------------------------------------------------------------ going on */

static uint32_t draw(uint32_t below)
{
	return (uint32_t)rand_r(&my.seed) % below;
}

static uint32_t draw_length(void)
{
	switch (draw(8)) {
	case 0:
		return HEADER + draw(LONGEST - HEADER + 1);
	case 1:
	case 2:
		return HEADER + draw(9000);
	default:
		return HEADER + draw(100);
	}
}

/* The cookie of a request: its connection, and whether it is a message. */
#define SENT 0x100u

static void send_next(uint32_t c)
{
	struct connection *at = &my.at[c];
	struct message m = { c, at->sent, draw_length(), 0 };
	size_t out = slot(c, at->sent);

	/* a buffer is used again once its message has been completed */
	if (at->sent == MESSAGES || at->sent - at->completed == DEPTH ||
	    at->requests + 2 > 2 * DEPTH)
		return;
	if (!draw(3)) {
		size_t number = (c * DEPTH + at->sent % DEPTH) * sizeof(uint32_t);
		DAT_RMR_TRIPLET there = { .rmr_context = at->there.context,
					  .target_address = at->there.address,
					  .segment_length = sizeof(uint32_t) };

		m.written = at->sent + 1;
		memcpy(my.number.mem + number, &m.written, sizeof(m.written));
		REQUIRE_DAT(api_write(at->ep, api_seg(&my.number, number, sizeof(uint32_t)), there,
				      c, 0),
			    DAT_SUCCESS);
		at->requests++;
	}
	memcpy(my.out.mem + out, &m, sizeof(m));
	api_fill(my.out.mem + out + HEADER, m.length - HEADER, c * MESSAGES + m.number);
	REQUIRE_DAT(api_send(at->ep, &my.out, out, m.length, c | SENT, 0), DAT_SUCCESS);
	at->sent++;
	at->requests++;
}

static void receive_next(uint32_t c)
{
	struct connection *at = &my.at[c];
	/* the receives of an SRQ complete in any order */
	uint32_t buffer = (uint32_t)__builtin_ctz(~at->lent);
	DAT_LMR_TRIPLET seg = api_seg(&my.in, slot(c, buffer), LONGEST);
	uint64_t cookie = slot(c, buffer) | (uint64_t)c << 32;

	if (at->receives == DEPTH)
		return;
	if (how.srq)
		REQUIRE_DAT(dat_srq_post_recv(my.srq, 1, &seg, api_cookie(cookie)), DAT_SUCCESS);
	else
		REQUIRE_DAT(dat_ep_post_recv(at->ep, 1, &seg, api_cookie(cookie), 0), DAT_SUCCESS);
	at->lent |= 1u << buffer;
	at->receives++;
}

static void on_receive(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	/* the buffer's, and the endpoint's; with an SRQ they differ */
	struct connection *lender = &my.at[dto->user_cookie.as_64 >> 32], *at;
	const unsigned char *data = my.in.mem + (uint32_t)dto->user_cookie.as_64;
	struct message m;
	uint32_t c = 0, number;

	memcpy(&m, data, sizeof(m));
	while (c < CONNECTIONS && my.at[c].ep != dto->ep_handle)
		c++;
	REQUIRE(c < CONNECTIONS);
	at = &my.at[c];
	REQUIRE_EQ_INT(m.connection, c);
	REQUIRE_EQ_INT(m.number, at->received);
	REQUIRE_EQ_INT(dto->transfered_length, m.length);
	REQUIRE_EQ_INT(api_mismatch(data + HEADER, m.length - HEADER, c * MESSAGES + m.number), -1);
	number = __atomic_load_n((uint32_t *)(void *)(my.target.mem + c * sizeof(uint32_t)),
				 __ATOMIC_ACQUIRE);
	REQUIRE(number >= m.written);
	at->received++;
	lender->lent &= ~(1u << (uint32_t)dto->user_cookie.as_64 / LONGEST % DEPTH);
	lender->receives--;
	my.left--;
}

static void on_event(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct connection *at;

	REQUIRE_EQ_INT(event->event_number, DAT_DTO_COMPLETION_EVENT);
	REQUIRE_EQ_INT(dto->status, DAT_DTO_SUCCESS);
	if (event->evd_handle == my.recv) {
		on_receive(dto);
		return;
	}
	at = &my.at[dto->user_cookie.as_64 & 0xff];
	REQUIRE(at->ep == dto->ep_handle);
	at->requests--;
	if (dto->user_cookie.as_64 & SENT) {
		at->completed++;
		my.left--;
	}
}

static bool take_one(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		return false;
	on_event(&event);
	return true;
}

/* Blocks until there is something, in the way that the test is about; or not for long, as the other queue may be it. */
static void await_some(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	switch (how.progress) {
	case BY_DEQUEUE:
		sched_yield();
		break;
	case BY_WAIT:
		ret = dat_evd_wait(my.recv, 1000, 1, &event, &more);
		if (ret == DAT_SUCCESS)
			on_event(&event);
		else
			REQUIRE_DAT(ret, DAT_TIMEOUT_EXPIRED);
		break;
	default:
		dat_cno_wait(my.cno, 1000, &evd);
	}
}

static void go_on(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while (my.left && check_now_ms() < until) {
		bool some = false;

		for (uint32_t n = draw(CONNECTIONS); n; n--)
			send_next(draw(CONNECTIONS));
		for (uint32_t n = draw(CONNECTIONS); n; n--)
			receive_next(draw(CONNECTIONS));
		for (uint32_t n = draw(2 * CONNECTIONS); n; n--)
			some = take_one(draw(2) ? my.recv : my.request) || some;
		if (some) /* the patience is for a standstill: a busy machine is only slow */
			until = check_now_ms() + check_patience_ms();
		else
			await_some();
	}
	REQUIRE_EQ_INT(my.left, 0);
}

static void peer(void *arg)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;

	(void)arg;
	open_side(1);
	cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &how.qual);
	check_put(CHECK_PARENT, &how.qual, sizeof(how.qual));
	accept_all(cr_evd);
	go_on();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
	api_close();
}

static void run(enum progress progress, bool srq)
{
	pid_t pid;

	how.progress = progress;
	how.srq = srq;
	pid = check_fork(peer, NULL);
	check_get(pid, &how.qual, sizeof(how.qual));
	open_side(2);
	connect_all();
	go_on();
	check_await(pid);
	check_signal(pid);
	check_join(pid);
}

static void mixture_arrives_whole_when_polled_for(void)
{
	run(BY_DEQUEUE, false);
}

static void mixture_arrives_whole_when_waited_for(void)
{
	run(BY_WAIT, false);
}

static void mixture_arrives_whole_when_told_by_a_cno(void)
{
	run(BY_CNO, false);
}

static void mixture_arrives_whole_through_a_shared_queue_when_polled_for(void)
{
	run(BY_DEQUEUE, true);
}

static void mixture_arrives_whole_through_a_shared_queue_when_waited_for(void)
{
	run(BY_WAIT, true);
}

static void mixture_arrives_whole_through_a_shared_queue_when_told_by_a_cno(void)
{
	run(BY_CNO, true);
}

static const struct check_test tests[] = {
	CHECK_TEST(mixture_arrives_whole_when_polled_for),
	CHECK_TEST(mixture_arrives_whole_when_waited_for),
	CHECK_TEST(mixture_arrives_whole_when_told_by_a_cno),
	CHECK_TEST(mixture_arrives_whole_through_a_shared_queue_when_polled_for),
	CHECK_TEST(mixture_arrives_whole_through_a_shared_queue_when_waited_for),
	CHECK_TEST(mixture_arrives_whole_through_a_shared_queue_when_told_by_a_cno),
	CHECK_END
};

static const struct check_suite mix = { .name = "mix", .teardown = api_close, .tests = tests };

CHECK_SUITES(&mix);
