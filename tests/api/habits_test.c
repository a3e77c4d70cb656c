/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four programs that work like existing ones, each in two processes. The adapter has to do what they rely on beyond the
 * words of the standard. HABITS_ROUNDS is how often each of them does its work, 3 if it is not set.
 */
#include <stdlib.h>
#include <string.h>

#include "meet.h"

static uint64_t rounds(void)
{
	const char *many = getenv("HABITS_ROUNDS");

	return many ? strtoull(many, NULL, 10) : 3;
}

/* ------------------------------------------------------------------ a thread with eight endpoints and one EVD */

#define ENDS	 8u
#define SYNC_LEN 8u
#define DATA_LEN 16384u
#define READ_LEN 8u

/*
 * The objects of a process. Each endpoint has two receives: one for the sync message, one for the data.
 */
static struct {
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep[ENDS];
	struct api_buf buf;
	DAT_RMR_TRIPLET theirs; /* the part of the other side's memory that this side may read */
	/* What has completed in this round: the events of receives, in their order, their number, and the number of requests. */
	DAT_DTO_COMPLETION_EVENT_DATA seen[2 * ENDS];
	uint32_t received, done;
} many;

static size_t in_place(uint32_t end, uint32_t which)
{
	return (size_t)(2 * end + which) * DATA_LEN;
}

static size_t out_place(void)
{
	return in_place(ENDS, 0);
}

/*
 * Returns the offset of READ_LEN bytes that the other side reads, which are followed by as many
 * that this side has read.
 */
static size_t read_place(void)
{
	return out_place() + DATA_LEN;
}

static void many_open(void)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 2, .max_request_dtos = 2 };

	api_open();
	many.dto = api_evd(4 * ENDS, DAT_EVD_DTO_FLAG);
	many.connect = api_evd(ENDS, DAT_EVD_CONNECTION_FLAG);
	many.buf = api_buf(read_place() + 2 * (size_t)READ_LEN, DAT_MEM_PRIV_ALL_FLAG);
	for (uint32_t e = 0; e < ENDS; e++)
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, many.dto, many.dto, many.connect, &attr, &many.ep[e]),
			    DAT_SUCCESS);
}

static void many_post(void)
{
	for (uint32_t e = 0; e < ENDS; e++)
		for (uint32_t which = 0; which < 2; which++)
			REQUIRE_DAT(api_recv(many.ep[e], &many.buf, in_place(e, which), DATA_LEN, 2 * e + which),
				    DAT_SUCCESS);
}

/* Tells the other side which memory it may read, and is told the same by it. */
static void many_offer(pid_t other)
{
	DAT_RMR_TRIPLET mine = api_target(&many.buf, read_place(), READ_LEN);

	check_put(other, &mine, sizeof(mine));
	check_get(other, &many.theirs, sizeof(many.theirs));
}

static void many_accept(const DAT_CONN_QUAL *qual, DAT_EVD_HANDLE cr_evd)
{
	check_put(CHECK_PARENT, qual, sizeof(*qual));
	for (uint32_t e = 0; e < ENDS; e++) {
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), many.ep[e], 0, NULL), DAT_SUCCESS);
		API_CONN(many.connect, many.ep[e], DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

/* Polls for the next completion. */
static void many_next(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	DAT_RETURN ret;

	/* Programs compare the whole return value, without DAT_GET_TYPE(), so it must have neither the class bit nor a subtype. */
	while ((ret = dat_evd_dequeue(many.dto, &event)) == DAT_QUEUE_EMPTY)
		REQUIRE(check_now_ms() < until);
	REQUIRE_DAT(ret, DAT_SUCCESS);
	dto = &event.event_data.dto_completion_event_data;
	REQUIRE_EQ_INT(dto->status, DAT_DTO_SUCCESS);
	if (dto->user_cookie.as_64 >= 2 * (uint64_t)ENDS) {
		many.done++;
		return;
	}
	REQUIRE(many.received < 2 * ENDS);
	many.seen[many.received++] = *dto;
}

static void many_await(uint32_t received, uint32_t done)
{
	while (many.received < received || many.done < done)
		many_next();
}

static void many_send(size_t length)
{
	for (uint32_t e = 0; e < ENDS; e++)
		REQUIRE_DAT(api_send(many.ep[e], &many.buf, out_place(), length, 100 + e, 0), DAT_SUCCESS);
}

/*
 * Waits until the sync messages have arrived. A device serves its queue pairs in an order of its own: it sends all that
 * is posted to one of them before it serves the next, so that data overtake the sync messages of others, although one
 * CQ of the device has the completions of all. siw has threads for that, and rxe (Linux 6.12; 6.1 sends within the
 * post) has a workqueue. When a read after a message is answered, the message has arrived.
 */
static void many_arrive(void)
{
	for (uint32_t e = 0; e < ENDS; e++)
		REQUIRE_DAT(api_read(many.ep[e], api_seg(&many.buf, read_place() + READ_LEN, READ_LEN),
				     many.theirs, 200 + e, 0),
			    DAT_SUCCESS);
	many_await(0, 2 * ENDS);
}

/* Makes a round: the other side's sync messages of all endpoints come first, then its data. */
static void many_round(pid_t other)
{
	bool verbs = api_over_verbs();

	many.received = many.done = 0;
	many_post();
	check_signal(other);
	check_await(other); /* both sides have posted */
	many_send(SYNC_LEN);
	if (verbs)
		many_arrive();
	many_send(DATA_LEN);
	many_await(2 * ENDS, (verbs ? 3 : 2) * ENDS);
	for (uint32_t n = 0; n < 2 * ENDS; n++) {
		REQUIRE_EQ_INT(many.seen[n].transfered_length, n < ENDS ? SYNC_LEN : DATA_LEN);
		REQUIRE_EQ_INT(many.seen[n].user_cookie.as_64 % 2, n < ENDS ? 0 : 1);
	}
	check_signal(other);
	check_await(other); /* both sides have received everything */
}

static void many_rounds(pid_t other)
{
	for (uint64_t n = 0; n < 10 * rounds(); n++) {
		many_round(other);
		check_alive();
	}
}

static void many_side(void *arg)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

	(void)arg;
	many_open();
	cr_evd = api_evd(ENDS, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	many_accept(&qual, cr_evd);
	many_offer(CHECK_PARENT);
	many_rounds(CHECK_PARENT);
	api_close();
}

static void sync_messages_of_eight_endpoints_come_before_their_data(void)
{
	pid_t peer = check_fork(many_side, NULL);
	DAT_CONN_QUAL qual;

	check_get(peer, &qual, sizeof(qual));
	many_open();
	for (uint32_t e = 0; e < ENDS; e++) {
		REQUIRE_DAT(api_connect(many.ep[e], qual), DAT_SUCCESS);
		API_CONN(many.connect, many.ep[e], DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	many_offer(peer);
	many_rounds(peer);
	check_join(peer);
}

/* ------------------------------------------------------------------ a server on RSPs */

#define WORD 64u

/*
 * The peer ends the connection as soon as it has this message. siw then may complete the send with an error, though it has sent
 * all of it: it looks first whether the connection ends, and then whether the message is complete.
 */
static void last_send_is_over(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	const char *siw = api_transport("quirk.errors_alike");
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	API_EVENT(evd, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	CHECK_EQ_INT(dto->user_cookie.as_64, cookie);
	if (!siw || dto->status != DAT_DTO_ERR_TRANSPORT)
		CHECK_EQ_INT(dto->status, DAT_DTO_SUCCESS);
}

/*
 * Serves one connection request. The event names the RSP that this side has created. The program frees the RSP once, after it
 * has accepted the request.
 */
static void rsp_serve(DAT_EVD_HANDLE cr_evd, const struct api_buf *buf, DAT_CONN_QUAL qual)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	struct api_end end;
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;

	api_end_make(&end, NULL);
	REQUIRE_DAT(api_recv(end.ep, buf, 0, WORD, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_rsp_create(api.ia, qual, end.ep, cr_evd, &rsp), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	API_EVENT(cr_evd, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	arrival = &event.event_data.cr_arrival_event_data;
	REQUIRE(arrival->sp_handle.rsp_handle == rsp);
	REQUIRE_EQ_INT(arrival->conn_qual, qual);
	REQUIRE_DAT(dat_cr_accept(arrival->cr_handle, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	REQUIRE_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_SUCCESS, WORD);
	REQUIRE_DAT(api_send(end.ep, buf, 0, WORD, 2, 0), DAT_SUCCESS);
	last_send_is_over(end.request, 2);
	API_CONN_OVER(end.connect, end.ep);
	api_end_free(&end);
}

static void rsp_server(void *arg)
{
	DAT_EVD_HANDLE cr_evd;
	struct api_buf buf;
	DAT_CONN_QUAL qual;

	(void)arg;
	api_open();
	cr_evd = api_evd(4, DAT_EVD_CR_FLAG);
	buf = api_buf(WORD, DAT_MEM_PRIV_ALL_FLAG);
	qual = api_free_qual(cr_evd);
	check_put(CHECK_PARENT, &qual, sizeof(qual));
	for (uint64_t n = 0; n < rounds(); n++)
		rsp_serve(cr_evd, &buf, qual);
	api_close();
}

static void rsp_client(const struct api_buf *buf, DAT_CONN_QUAL qual, uint64_t number)
{
	struct api_end end;

	api_end_make(&end, NULL);
	REQUIRE_DAT(api_recv(end.ep, buf, WORD, WORD, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	api_fill(buf->mem, WORD, number);
	REQUIRE_DAT(api_send(end.ep, buf, 0, WORD, 2, 0), DAT_SUCCESS);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_SUCCESS, WORD);
	CHECK_EQ_INT(api_mismatch(buf->mem + WORD, WORD, number), -1);
	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	api_end_free(&end);
}

static void server_on_rsps_finds_its_own_handles(void)
{
	pid_t peer = check_fork(rsp_server, NULL);
	struct api_buf buf;
	DAT_CONN_QUAL qual;

	check_get(peer, &qual, sizeof(qual));
	api_open();
	buf = api_buf(2 * WORD, DAT_MEM_PRIV_ALL_FLAG);
	for (uint64_t n = 0; n < rounds(); n++) {
		check_await(peer);
		rsp_client(&buf, qual, n);
		check_alive();
	}
	check_join(peer);
}

/* ------------------------------------------------------------------ a poller that posts upon the peer's write */

static void await_byte(const unsigned char *at, unsigned char value)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	/* acquire: makes visible what the peer has written before it */
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value)
		REQUIRE(check_now_ms() < until);
}

/* Polls only its memory, and answers; the event of the connection is taken afterwards. */
static void poll_serve(unsigned char number)
{
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 256, WORD, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(my.cr_evd), my.end.ep, 0, NULL), DAT_SUCCESS);
	await_byte(&my.buf.mem[WORD - 1], number);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, WORD, 2, 0), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	last_send_is_over(my.end.request, 2);
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	REQUIRE_DAT(dat_ep_reset(my.end.ep), DAT_SUCCESS);
}

static void poll_server(void *arg)
{
	(void)arg;
	meet_open(512);
	check_put(CHECK_PARENT, &my.offer, sizeof(my.offer));
	for (uint64_t n = 0; n < rounds(); n++) {
		poll_serve((unsigned char)(1 + n % 255));
		check_signal(CHECK_PARENT);
	}
	check_await(CHECK_PARENT);
	api_close();
}

static void poll_client(unsigned char number)
{
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, WORD, WORD, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	memset(my.buf.mem, number, WORD);
	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, 0, WORD), api_offer_part(&my.theirs, 0, WORD), 2, 0),
		    DAT_SUCCESS);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_SUCCESS, WORD);
	CHECK_EQ_MEM(my.buf.mem + WORD, my.buf.mem, WORD);
	API_DTO(my.end.request, my.end.ep, 2, DAT_DTO_SUCCESS, WORD);
	REQUIRE_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN_OVER(my.end.connect, my.end.ep);
	REQUIRE_DAT(dat_ep_reset(my.end.ep), DAT_SUCCESS);
}

static void poller_answers_upon_the_write_of_its_peer(void)
{
	my.peer = check_fork(poll_server, NULL);
	check_get(my.peer, &my.theirs, sizeof(my.theirs));
	meet_open(512);
	for (uint64_t n = 0; n < rounds(); n++) {
		poll_client((unsigned char)(1 + n % 255));
		check_await(my.peer);
		check_alive();
	}
	check_signal(my.peer);
	check_join(my.peer);
}

/* ------------------------------------------------------------------ a ring of eager RDMA Writes */

#define SLOTS	  32u
#define SLOT_LEN  256u
#define CREDIT_AT (SLOTS * SLOT_LEN)	       /* in the sender's memory: the number of slots that have been read */
#define SOURCE_AT (CREDIT_AT + SLOT_LEN)       /* what this side writes: from its slot n to the peer's slot n */
#define RING_SIZE (SOURCE_AT + SLOTS * SLOT_LEN)
#define LAPS	  20u			       /* of the ring in a round */

/* Returns the flag of a slot, which is its last byte. It says which lap of the ring this is. */
static unsigned char flag_of(uint64_t n)
{
	return (unsigned char)(1 + n / SLOTS % 255);
}

/* Writes to the other side, and takes the completion, so that the queue has room. */
static void ring_write(size_t from, size_t to, size_t length, uint64_t cookie)
{
	DAT_EVENT event;

	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, from, length), api_offer_part(&my.theirs, to, length),
			      cookie, 0),
		    DAT_SUCCESS);
	API_EVENT(my.end.request, &event);
	REQUIRE_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

/*
 * Waits for the flag of a slot, behind which the rest of the slot is there. Over verbs that is not guaranteed (opendat-ib(7)): rxe
 * and siw may write the last byte first, so this waits for the rest as well.
 */
static void await_slot(const unsigned char *slot, uint64_t n)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	await_byte(&slot[SLOT_LEN - 1], flag_of(n));
	while (api_over_verbs() && api_mismatch(slot, SLOT_LEN - 1, n) != -1)
		REQUIRE(check_now_ms() < until);
	REQUIRE_EQ_INT(api_mismatch(slot, SLOT_LEN - 1, n), -1);
}

static void ring_receive(void *arg)
{
	uint64_t end = LAPS * SLOTS * rounds();

	(void)arg;
	meet_accept(RING_SIZE);
	for (uint64_t n = 0; n < end; n++) {
		unsigned char *slot = my.buf.mem + n % SLOTS * SLOT_LEN;
		uint64_t read = n + 1;

		await_slot(slot, n);
		if (read % (SLOTS / 4) == 0) {
			memcpy(my.buf.mem + SOURCE_AT, &read, sizeof(read));
			ring_write(SOURCE_AT, CREDIT_AT, sizeof(read), n);
		}
	}
	API_CONN_OVER(my.end.connect, my.end.ep);
	api_close();
}

static void await_credit(uint64_t n)
{
	const uint64_t *credit = (const uint64_t *)(void *)(my.buf.mem + CREDIT_AT);
	uint64_t until = check_now_ms() + check_patience_ms();

	/* acquire: the slots have been read before */
	while (n - __atomic_load_n(credit, __ATOMIC_ACQUIRE) >= SLOTS)
		REQUIRE(check_now_ms() < until);
}

static void ring_of_writes_is_read_by_polling_memory(void)
{
	uint64_t end = LAPS * SLOTS * rounds();

	meet_start(ring_receive, RING_SIZE);
	for (uint64_t n = 0; n < end; n++) {
		size_t slot = n % SLOTS * SLOT_LEN;

		await_credit(n);
		api_fill(my.buf.mem + SOURCE_AT + slot, SLOT_LEN - 1, n);
		my.buf.mem[SOURCE_AT + slot + SLOT_LEN - 1] = flag_of(n);
		ring_write(SOURCE_AT + slot, slot, SLOT_LEN, n);
		if (!(n % SLOTS))
			check_alive();
	}
	await_credit(end + SLOTS - 1); /* the other side has read everything */
	REQUIRE_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN_OVER(my.end.connect, my.end.ep);
	check_join(my.peer);
}

static const struct check_test tests[] = {
	CHECK_TEST(sync_messages_of_eight_endpoints_come_before_their_data),
	CHECK_TEST(server_on_rsps_finds_its_own_handles),
	CHECK_TEST(poller_answers_upon_the_write_of_its_peer),
	CHECK_TEST(ring_of_writes_is_read_by_polling_memory),
	CHECK_END
};

static const struct check_suite habits = { .name = "habits", .teardown = api_close, .tests = tests };

CHECK_SUITES(&habits);
