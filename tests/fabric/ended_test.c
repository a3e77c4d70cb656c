/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How devices end a queue pair, and what they report of it, where rxe and siw do otherwise; imitated by the switches of twist.h.
 * Each test fails if the provider does not handle that. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "twist.h"

enum { BYTES = 64 };

static struct api_pair pair;
static struct api_buf buf;

static void pair_make(const DAT_EP_ATTR *attr)
{
	api_open();
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, attr);
}

static void forget(void)
{
	atomic_store(&twist.cleans, false);
	atomic_store(&twist.comm_est, false);
	atomic_store(&twist.dead_post, 0);
	atomic_store(&twist.extra_event, false);
	atomic_store(&twist.fails, 0);
	atomic_store(&twist.fatal_first, false);
	atomic_store(&twist.last_wqe, false);
	atomic_store(&twist.flush, TWIST_FLUSH_ALL);
	atomic_store(&twist.flush_late_ms, 0);
	atomic_store(&twist.held_ms, 0);
	atomic_store(&twist.late_ms, 0);
	atomic_store(&twist.says, TWIST_ERRNO);
	atomic_store(&twist.unconfirmed, false);
	atomic_store(&twist.unknown, false);
	twist_here.dies = false;
	unsetenv("DAT_LOG");
	api_close();
}

static void connect_again(void)
{
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	api_pair_connect(&pair);
}

/* ------------------------------------------------------------------ posts to a queue pair in the error state */

/* The queue pair goes to the error state before the post, and the provider does not know. */
static void dies_under(int err, enum twist_refusal says, DAT_COMPLETION_FLAGS flags)
{
	int refused = atomic_load(&twist.dead_refused);

	atomic_store(&twist.dead_post, err);
	atomic_store(&twist.says, says);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 1), DAT_SUCCESS);
	twist_here.dies = true;
	CHECK_DAT(api_send(pair.a.ep, &buf, 0, BYTES, 7, flags), DAT_SUCCESS);
	CHECK_EQ_INT(atomic_load(&twist.dead_refused), refused + 1);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_EMPTY(pair.a.request);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	connect_again();
}

/*
 * cxgb4, ocrdma, mana and erdma refuse a post to a queue pair in the error state, even before the program learns of that state.
 * The provider accepts such a post and completes it as flushed, as the other devices do.
 */
static void request_to_a_queue_pair_that_has_just_died_is_flushed(void)
{
	pair_make(NULL);
	dies_under(EIO, TWIST_MINUS, 0);
	dies_under(EIO, TWIST_ERRNO, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	dies_under(EINVAL, TWIST_ERRNO, 0);
	dies_under(EINVAL, TWIST_MINUS, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

static void receive_to_a_queue_pair_that_has_just_died_is_flushed(void)
{
	pair_make(NULL);
	atomic_store(&twist.dead_post, EINVAL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 1), DAT_SUCCESS);
	twist_here.dies = true;
	CHECK_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 2), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_EMPTY(pair.b.recv);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	connect_again();
}

/* ------------------------------------------------------------------ flushed completions */

enum { SENT = 3, POSTED = 8 };

static void post_receives(void)
{
	for (uint64_t i = 0; i < POSTED; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, i), DAT_SUCCESS);
}

static void each_receive_is_flushed_once(void)
{
	for (uint64_t i = 0; i < POSTED; i++)
		API_DTO(pair.b.recv, pair.b.ep, i, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_EMPTY(pair.b.recv);
}

static void end_it(void)
{
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

/* An E810 does not flush all receives. The provider does not wait for them for ever, and an endpoint can be connected again. */
static void receives_that_the_device_forgets_to_flush_are_flushed(void)
{
	pair_make(NULL);
	atomic_store(&twist.flush, TWIST_FLUSH_PART);
	for (int i = 0; i < 2; i++) {
		post_receives();
		end_it();
		each_receive_is_flushed_once();
		connect_again();
	}
}

/* The completions of the flushed receives come when the endpoint has a new connection, or would if the provider did not wait. */
static void completions_that_come_late_are_those_of_their_connection(void)
{
	enum { LATE_MS = 30 };

	pair_make(NULL);
	atomic_store(&twist.trapped, 0);
	atomic_store(&twist.flush_late_ms, LATE_MS);
	for (int i = 0; i < 2; i++) {
		post_receives();
		end_it();
		each_receive_is_flushed_once();
		connect_again();
	}
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 99), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 7, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 99, DAT_DTO_SUCCESS, BYTES);
	CHECK_EQ_INT(atomic_load(&twist.trapped), 0);
}

/* An X722 never completes a request that is posted in the error state. The end of the connection flushes it. */
static void request_that_the_device_never_flushes_is_flushed(void)
{
	pair_make(NULL);
	atomic_store(&twist.flush, TWIST_FLUSH_NEVER_SQ);
	for (int i = 0; i < 2; i++) {
		twist_here.dies = true;
		CHECK_DAT(api_send(pair.a.ep, &buf, 0, BYTES, 7, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
		API_CONN_OVER(pair.a.connect, pair.a.ep);
		API_EMPTY(pair.a.request);
		API_CONN_OVER(pair.b.connect, pair.b.ep);
		connect_again();
	}
}

/*
 * mana's driver makes the completions of a queue pair that has failed by itself when it is asked for the asynchronous event of that
 * failure, and not before. The provider asks for that event as soon as there is one. Here the other side, which knows why, does not
 * poll, and so cannot end the connection.
 */
static void receives_are_flushed_where_that_takes_an_asynchronous_event(void)
{
	DAT_RMR_TRIPLET nowhere;

	atomic_store(&twist.flush, TWIST_FLUSH_BY_ASYNC);
	pair_make(NULL);
	post_receives();
	nowhere = api_target(&buf, 0, BYTES);
	nowhere.rmr_context ^= 0x7f;
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 4096, BYTES), nowhere, 7, 0), DAT_SUCCESS);
	each_receive_is_flushed_once();
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	API_EMPTY(pair.a.request);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
}

/*
 * The side that wrote to memory without a right to it hears that its peer has disconnected, and has not polled yet. Its request
 * has failed with the cause, and is no flush of that end. A request behind it is one.
 */
static void request_keeps_its_error_when_the_end_is_heard_first(void)
{
	DAT_RMR_TRIPLET nowhere;

	pair_make(NULL);
	post_receives();
	nowhere = api_target(&buf, 0, BYTES);
	nowhere.rmr_context ^= 0x7f;
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 4096, BYTES), nowhere, 7, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 8, 0), DAT_SUCCESS);
	each_receive_is_flushed_once();
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	API_DTO(pair.a.request, pair.a.ep, 8, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_EMPTY(pair.a.request);
	connect_again();
}

/*
 * mana reports that a queue pair has failed before the completion with the cause can be polled. The program polls in vain, and then
 * learns of the end before it polls again.
 */
static void request_keeps_its_error_when_the_device_tells_of_it_first(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	bool found = false;
	DAT_EVENT event;

	atomic_store(&twist.fatal_told, 0);
	atomic_store(&twist.fatal_first, true);
	pair_make(NULL);
	atomic_store(&twist.fails, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 4096, BYTES), api_target(&buf, 0, BYTES), 7, 0), DAT_SUCCESS);
	/* the last call finds the completion if the end has been handled meanwhile */
	while (!atomic_load(&twist.fatal_told))
		found = dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS;
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	if (!found)
		API_EVENT(pair.a.request, &event);
	dto = &event.event_data.dto_completion_event_data;
	CHECK_EQ_INT(dto->user_cookie.as_64, 7);
	CHECK_EQ_INT(dto->status, DAT_DTO_ERR_REMOTE_ACCESS);
	API_EMPTY(pair.a.request);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

/* ------------------------------------------------------------------ the end of a queue pair */

static void messages_come(void)
{
	for (uint64_t i = 0; i < SENT; i++) {
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, i, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_SUCCESS, BYTES);
	}
	/* The read follows all messages in order, so they have arrived when it completes. */
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 1024, 8), api_target(&buf, 2048, 8), SENT, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, SENT, DAT_DTO_SUCCESS, 8);
}

/* Completions become visible after this time. If the provider does not wait for them, the endpoint is freed before that. */
enum { LATE_MS = 20 };

static void over(void)
{
	atomic_store(&twist.late_ms, LATE_MS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

/* qedr leaves the completions of a destroyed queue pair in the CQ, and a poll that finds one accesses freed memory. */
static void no_completion_of_a_queue_pair_is_looked_at_when_that_is_gone(void)
{
	DAT_EVENT event;
	uint64_t until;

	pair_make(NULL);
	atomic_store(&twist.trapped, 0);
	post_receives();
	messages_come();
	over();
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_free(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_free(pair.b.ep), DAT_SUCCESS);
	until = check_now_ms() + 2 * LATE_MS;
	while (check_now_ms() < until)
		dat_evd_dequeue(pair.b.recv, &event);
	CHECK_EQ_INT(atomic_load(&twist.trapped), 0);
}

/*
 * Most devices remove a queue pair's completions from the completion queue when it is destroyed, and with them all trace of the
 * SRQ's receives that it had taken. The provider first waits, for a limited time, for the event that says that the queue pair
 * takes no more receives (IBV_EVENT_QP_LAST_WQE_REACHED), and polls.
 */
static DAT_SRQ_HANDLE srq;
static DAT_LMR_TRIPLET seg;

/* Connects a pair whose side b has receives of an SRQ, and sends messages that the program does not take. */
static void messages_come_to_an_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = POSTED,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR with = { 0 };

	atomic_store(&twist.unknown, true);
	api_open();
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	seg = api_seg(&buf, 0, BYTES);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	atomic_store(&twist.cleans, true);
	for (uint64_t i = 0; i < POSTED; i++)
		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(i)), DAT_SUCCESS);
	api_end_make(&pair.a, NULL);
	api_end_make_shared(&pair.b, srq, &with);
	api_pair_meet(&pair);
	messages_come();
}

static void receives_of_an_srq_come_back_when_their_queue_pair_goes(void)
{
	DAT_EVENT event;

	messages_come_to_an_srq();
	over();
	REQUIRE_DAT(dat_ep_free(pair.b.ep), DAT_SUCCESS);
	while (dat_evd_dequeue(pair.b.recv, &event) == DAT_SUCCESS)
		;
	for (uint64_t i = 0; i < SENT; i++)
		CHECK_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(i)), DAT_SUCCESS);
	CHECK_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(9)), DAT_INSUFFICIENT_RESOURCES);
}

/*
 * mlx5, mlx4 and hns report that the queue pair takes no more receives, and from then on nothing has to be waited for. rxe does so
 * since Linux 6.12. At level debug the provider says if it has waited in vain.
 */
static void nothing_is_waited_for_when_the_last_receive_has_been_taken(void)
{
	setenv("DAT_LOG", "debug", 1);
	atomic_store(&twist.last_wqe, true);
	atomic_store(&twist.last_told, 0);
	messages_come_to_an_srq();
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	while (!atomic_load(&twist.last_told))
		check_nap();
	check_stderr_begin();
	REQUIRE_DAT(dat_ep_free(pair.b.ep), DAT_SUCCESS);
	CHECK(!strstr(check_stderr_end(), "has not completed all that was posted"));
}

/* rxe (Linux 6.12) flushes a request that it cannot send, and gives no other sign that the connection is lost. */
static void request_that_is_flushed_without_a_cause_breaks_the_connection(void)
{
	pair_make(NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 1), DAT_SUCCESS);
	atomic_store(&twist.fails, IBV_WC_WR_FLUSH_ERR);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 7, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
}

/*
 * iWARP hardware completes a send when it has copied the message, before it has sent it. If the queue pair is stopped then, the
 * hardware resets the connection, and the message is lost.
 */
static void last_message_before_a_graceful_end_arrives(void)
{
	enum { FOR_EVER_MS = 3600000 };

	pair_make(NULL);
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, i), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 1, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 0, DAT_DTO_SUCCESS, BYTES);
	atomic_store(&twist.held_ms, FOR_EVER_MS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, BYTES);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Each message may be sent a while after it has completed, and all arrive, in their order. */
static void messages_that_complete_before_they_are_sent_arrive_in_order(void)
{
	enum { HELD_MS = 5, MESSAGES = 40 };

	atomic_store(&twist.held_ms, HELD_MS);
	pair_make(NULL);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, i), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, i, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_SUCCESS, BYTES);
		if (i % 3 == 0) {
			REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 1024, 8), api_target(&buf, 2048, 8), i, 0), DAT_SUCCESS);
			API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_SUCCESS, 8);
		}
	}
	for (uint64_t i = 0; i < MESSAGES; i++)
		API_DTO(pair.b.recv, pair.b.ep, i, DAT_DTO_SUCCESS, BYTES);
}

/* ------------------------------------------------------------------ events that report no error */

/*
 * mlx4, mlx5, hns and ocrdma report the first packet that a queue pair receives (IBV_EVENT_COMM_EST). Here the passive side learns
 * of the connection only by that event: the peer's confirmation is lost, and the peer writes but sends no message.
 */
static void peer_that_only_writes_is_heard_of_though_its_confirmation_is_lost(void)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

	atomic_store(&twist.comm_est, true);
	api_open();
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&pair.a, NULL);
	api_end_make(&pair.b, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	atomic_store(&twist.unconfirmed, true);
	REQUIRE_DAT(api_connect(pair.a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), pair.b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, BYTES), api_target(&buf, 4096, BYTES), 1, 0),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, BYTES);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, BYTES, 2), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 4096, BYTES, 3, 0), DAT_SUCCESS);
	API_DTO(pair.b.request, pair.b.ep, 3, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.a.recv, pair.a.ep, 2, DAT_DTO_SUCCESS, BYTES);
}

/* A thread that sleeps gets the message, as it does with one event for each. */
static void wakes(uint64_t cookie)
{
	struct api_waiter waiter;

	api_wait_start(&waiter, pair.b.recv, 1);
	while (!check_sleeps(waiter.tid))
		check_nap();
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, cookie, 0), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, cookie, DAT_DTO_SUCCESS, BYTES);
}

/*
 * irdma may put one event more into a completion channel than it was armed for. The thread that it wakes finds no completion, and
 * sleeps until its time is over, or until a completion comes.
 */
static void event_without_a_completion_ends_no_wait(void)
{
	/* one that the event ends, one until the time is over, and one more that is left by an earlier wait */
	enum { WAIT_MS = 200, MOST_SLEEPS = 3 };
	DAT_EVENT event;
	uint64_t begun;
	DAT_COUNT more;
	int extra;

	atomic_store(&twist.extra_event, true);
	pair_make(NULL);
	for (uint64_t i = 0; i < SENT; i++) {
		extra = atomic_load(&twist.extra_events);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, i), DAT_SUCCESS);
		begun = check_now_ms();
		twist_here.sleeps = 0;
		CHECK_DAT(dat_evd_wait(pair.b.recv, WAIT_MS * 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
		CHECK(check_now_ms() - begun >= WAIT_MS);
		CHECK(twist_here.sleeps <= MOST_SLEEPS);
		CHECK(i == 0 || atomic_load(&twist.extra_events) > extra);
		wakes(i);
	}
}

/* ------------------------------------------------------------------ which of the two ends it is */

enum { ENDS_FOUND = 20 };

/* Side a has posted a request of `cookie`, which may have completed before the peer's device found the error. */
static void broken_there_and_over_here(uint64_t cookie)
{
	DAT_EVENT event;

	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	API_EVENT(pair.a.request, &event);
	CHECK(event.event_data.dto_completion_event_data.user_cookie.as_64 == cookie);
	connect_again();
}

/*
 * siw raises an event of the queue pair, and ends the connection as it would for a peer that disconnects. The other side learns
 * from siw that the connection is over, and not why.
 */
static void side_whose_device_finds_an_error_gets_broken(void)
{
	DAT_RMR_TRIPLET beyond;

	pair_make(NULL);
	beyond = api_target(&buf, 0, BYTES);
	beyond.target_address += buf.size;
	for (uint64_t i = 0; i < ENDS_FOUND; i++) {
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES / 4, 1), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, i, 0), DAT_SUCCESS);
		API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_LOCAL_LENGTH, API_ANY_LENGTH);
		broken_there_and_over_here(i);
		REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 4096, BYTES), beyond, i, 0), DAT_SUCCESS);
		broken_there_and_over_here(i);
	}
}

static const struct check_test iw_tests[] = {
	CHECK_TEST(side_whose_device_finds_an_error_gets_broken),
	CHECK_TEST(last_message_before_a_graceful_end_arrives),
	CHECK_TEST(messages_that_complete_before_they_are_sent_arrive_in_order),
	CHECK_TEST(request_that_the_device_never_flushes_is_flushed),
	CHECK_END
};

static const struct check_test ib_tests[] = {
	CHECK_TEST(receives_of_an_srq_come_back_when_their_queue_pair_goes),
	CHECK_TEST(request_that_is_flushed_without_a_cause_breaks_the_connection),
	CHECK_TEST(receives_are_flushed_where_that_takes_an_asynchronous_event),
	CHECK_TEST(request_keeps_its_error_when_the_end_is_heard_first),
	CHECK_TEST(request_keeps_its_error_when_the_device_tells_of_it_first),
	CHECK_TEST(peer_that_only_writes_is_heard_of_though_its_confirmation_is_lost),
	CHECK_END
};

static const struct check_test all_tests[] = {
	CHECK_TEST(request_to_a_queue_pair_that_has_just_died_is_flushed),
	CHECK_TEST(receive_to_a_queue_pair_that_has_just_died_is_flushed),
	CHECK_TEST(receives_that_the_device_forgets_to_flush_are_flushed),
	CHECK_TEST(completions_that_come_late_are_those_of_their_connection),
	CHECK_TEST(no_completion_of_a_queue_pair_is_looked_at_when_that_is_gone),
	CHECK_TEST(event_without_a_completion_ends_no_wait),
	CHECK_END
};

/* A process reads DAT_LOG once, before its first message, so this suite runs in a process of its own. */
static const struct check_test debug_tests[] = {
	CHECK_TEST(nothing_is_waited_for_when_the_last_receive_has_been_taken),
	CHECK_END
};

static const struct check_suite ib_ends = { .name = "ib end", .teardown = forget, .tests = ib_tests };
static const struct check_suite iw_ends = { .name = "iw end", .teardown = forget, .tests = iw_tests };
static const struct check_suite all_ends = { .name = "any end", .teardown = forget, .tests = all_tests };

static const struct check_suite debug_ends = { .name = "end at level debug", .teardown = forget, .tests = debug_tests };

CHECK_SUITES(&ib_ends, &iw_ends, &all_ends, &debug_ends);
