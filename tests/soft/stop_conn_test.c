/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are stopped (SIGSTOP) while a connection is set up or ended: a listener that does not answer, a requester that does
 * not confirm, and a peer of a connection that this side ends. Each call returns, each attempt and each connection ends with
 * the event that DAT names, and a new peer is served. stop_test has the peers that are stopped while they exchange data.
 *
 * In the last tests a peer is stopped at any instruction of its calls, STOP_ROUNDS times for each way to go on (2 if it is not
 * set); in every other round it continues.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define EPS	 4
#define SHORT_US 50000u
#define OVERDUE_US 1200000u /* more than the handshake has */
#define MESSAGE	 100u
#define ROUNDS	 2

static const char *adapter = "soft-hasty"; /* the handshake has a second, and a peer a tenth of a second */
static unsigned int seed = 1;

static DAT_EVD_HANDLE cr_evd;
static struct api_end end;
static struct api_buf buf;

static void open_side(void)
{
	memset(&end, 0, sizeof(end));
	api_open_as((char *)(uintptr_t)adapter);
	cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&end, NULL);
}

static void go_on(pid_t pid)
{
	REQUIRE(kill(pid, SIGCONT) == 0);
}

/* ------------------------------------------------------------------ a new peer */

/* Connects when it is told where to, and sends a message. */
static void newcomer(void *arg)
{
	struct api_offer offer;

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	open_side();
	api_connect_to(&end, &offer.address, offer.qual);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, MESSAGE, 1, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, MESSAGE);
	check_await(CHECK_PARENT);
	api_close();
}

static void serve_newcomer(pid_t pid)
{
	DAT_EVD_HANDLE requests = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_end other;
	struct api_offer offer;

	api_end_make(&other, NULL);
	REQUIRE_DAT(api_recv(other.ep, &buf, 0, MESSAGE, 7), DAT_SUCCESS);
	api_offer_make(&offer, requests, NULL);
	check_put(pid, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(requests), other.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(other.recv, other.ep, 7, DAT_DTO_SUCCESS, MESSAGE);
	check_signal(pid);
	check_join(pid);
}

/* ------------------------------------------------------------------ a listener that is stopped */

/*
 * Accepts what comes, and receives one message over it. A request whose client has given it up has any event but that of a
 * connection that lasts. It ends when a message has come.
 */
static void listener(void *arg)
{
	struct api_offer offer;
	DAT_EVENT event;
	DAT_COUNT more;

	(void)arg;
	open_side();
	api_offer_make(&offer, cr_evd, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	for (;;) {
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, MESSAGE, 7), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
		API_EVENT(end.connect, &event);
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			REQUIRE_DAT(dat_evd_wait(end.recv, api_patience(), 1, &event, &more), DAT_SUCCESS);
			if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
				break;
		}
		api_end_free(&end);
		api_end_make(&end, NULL);
	}
	check_await(CHECK_PARENT);
	api_close();
}

static pid_t peer, fresh;
static struct api_offer there;

static void open_with_listener(void)
{
	peer = check_fork(listener, NULL);
	fresh = check_fork(newcomer, NULL);
	check_get(peer, &there, sizeof(there));
	open_side();
	check_stop(peer);
}

/* The listener continues, and serves this side. */
static void listener_goes_on(void)
{
	struct api_end again;

	go_on(peer);
	api_end_make(&again, NULL);
	api_connect_to(&again, &there.address, there.qual);
	REQUIRE_DAT(api_send(again.ep, &buf, 0, MESSAGE, 1, 0), DAT_SUCCESS);
	API_DTO(again.request, again.ep, 1, DAT_DTO_SUCCESS, MESSAGE);
	check_signal(peer);
	check_join(peer);
}

static void attempt_ends_at_its_timeout(void)
{
	open_with_listener();
	REQUIRE_DAT(api_offer_connect(end.ep, &there, SHORT_US), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	API_STATE(end.ep, DAT_EP_STATE_DISCONNECTED);
	/* the endpoint can be used again, also while the listener is still stopped */
	CHECK_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	REQUIRE_DAT(api_offer_connect(end.ep, &there, SHORT_US), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	serve_newcomer(fresh);
	listener_goes_on();
}

static void attempts_of_many_endpoints_end_at_their_timeouts(void)
{
	struct api_end ends[8 * EPS];

	open_with_listener();
	for (int i = 0; i < 8 * EPS; i++) {
		api_end_make(&ends[i], NULL);
		REQUIRE_DAT(api_offer_connect(ends[i].ep, &there, SHORT_US), DAT_SUCCESS);
	}
	for (int i = 0; i < 8 * EPS; i++) {
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_TIMED_OUT);
		CHECK_DAT(dat_ep_free(ends[i].ep), DAT_SUCCESS);
	}
	serve_newcomer(fresh);
	listener_goes_on();
}

static void attempt_without_a_timeout_can_be_given_up(void)
{
	open_with_listener();
	REQUIRE_DAT(api_offer_connect(end.ep, &there, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	REQUIRE_DAT(api_offer_connect(end.ep, &there, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	serve_newcomer(fresh);
	listener_goes_on();
}

static void endpoint_of_an_attempt_can_be_freed(void)
{
	open_with_listener();
	REQUIRE_DAT(api_offer_connect(end.ep, &there, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	CHECK_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
	API_EMPTY(end.connect);
	serve_newcomer(fresh);
	listener_goes_on();
}

static void adapter_of_an_attempt_can_be_closed(void)
{
	open_with_listener();
	REQUIRE_DAT(api_offer_connect(end.ep, &there, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	api_close();
	open_side();
	serve_newcomer(fresh);
	listener_goes_on();
}

/* ------------------------------------------------------------------ a requester that is stopped */

static struct api_end first; /* of an earlier connection between the same adapters, which have a liveness socket then */

/*
 * Asks for a connection, and reports the event of the attempt, and then that a connection is over. It has another connection before
 * that if `arg` is not NULL.
 */
static void requester(void *arg)
{
	DAT_EVENT event;

	check_get(CHECK_PARENT, &there, sizeof(there));
	open_side();
	if (arg) {
		api_end_make(&first, NULL);
		api_connect_to(&first, &there.address, there.qual);
	}
	REQUIRE_DAT(api_offer_connect(end.ep, &there, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	API_EVENT(end.connect, &event);
	check_put(CHECK_PARENT, &event.event_number, sizeof(event.event_number));
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		API_CONN_OVER(end.connect, end.ep);
	check_signal(CHECK_PARENT);
	api_close();
}

static DAT_CR_HANDLE cr;

/* Takes the request for the connection before the one that a test is about. */
static void accept_first(void)
{
	api_end_make(&first, NULL);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), first.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(first.connect, first.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The requester has asked for a connection; for another one, if it is to have `earlier`. */
static void open_requested(struct api_end *earlier)
{
	peer = check_fork(requester, earlier);
	fresh = check_fork(newcomer, NULL);
	open_side();
	api_offer_make(&there, cr_evd, NULL);
	check_put(peer, &there, sizeof(there));
	if (earlier)
		accept_first();
	check_await(peer);
}

static void open_with_requester_of(struct api_end *earlier)
{
	open_requested(earlier);
	check_stop(peer);
	cr = api_cr(cr_evd);
}

static void open_with_requester(void)
{
	open_with_requester_of(NULL);
}

/* The requester continues, and has no connection that lasts. */
static void requester_goes_on(void)
{
	DAT_EVENT_NUMBER number;

	go_on(peer);
	check_get(peer, &number, sizeof(number));
	check_await(peer);
	check_join(peer);
}

static void accept_that_is_not_confirmed_fails(void)
{
	open_with_requester();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	serve_newcomer(fresh);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	CHECK_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
	requester_goes_on();
}

/* The two adapters have another connection, so the end of the socket of this one says nothing about the peer. */
static void requester_that_is_too_late_has_no_connection_either(void)
{
	open_with_requester_of(&first);
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	requester_goes_on();
	API_CONN_OVER(first.connect, first.ep);
	serve_newcomer(fresh);
}

/* Accepts, and is stopped before it can have read that the requester is connected. When it goes on, it has the connection. */
static void acceptor(void *arg)
{
	(void)arg;
	open_side();
	api_offer_make(&there, cr_evd, NULL);
	check_put(CHECK_PARENT, &there, sizeof(there));
	accept_first();
	cr = api_cr(cr_evd);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_QUIET(end.connect);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	api_close();
}

static void accept_that_is_confirmed_while_the_acceptor_is_stopped_stands(void)
{
	DAT_EVENT_NUMBER number;
	pid_t listens;

	adapter = "soft-unhurried"; /* the acceptor is stopped in time on a busy machine, too */
	listens = check_fork(acceptor, NULL);
	peer = check_fork(requester, &first);
	adapter = "soft-hasty";
	check_get(listens, &there, sizeof(there));
	check_put(peer, &there, sizeof(there));
	check_await(peer);
	check_await(listens);
	check_stop(peer);
	check_signal(listens);
	check_await(listens);
	check_stop(listens);
	go_on(peer);
	check_get(peer, &number, sizeof(number));
	CHECK_EQ_INT(number, DAT_CONNECTION_EVENT_ESTABLISHED);
	usleep(3 * OVERDUE_US);
	go_on(listens);
	check_await(peer);
	check_join(peer);
	check_join(listens);
}

static void accept_that_is_confirmed_in_time_stands(void)
{
	DAT_EVENT_NUMBER number;

	open_with_requester();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	go_on(peer);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_get(peer, &number, sizeof(number));
	CHECK_EQ_INT(number, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	check_await(peer);
	check_join(peer);
	serve_newcomer(fresh);
}

static void accept_can_be_given_up(void)
{
	open_with_requester();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	CHECK_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	serve_newcomer(fresh);
	requester_goes_on();
}

static void endpoint_of_an_accept_can_be_freed(void)
{
	open_with_requester();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	CHECK_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
	serve_newcomer(fresh);
	requester_goes_on();
}

static void adapter_of_an_accept_can_be_closed(void)
{
	open_with_requester();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	api_close();
	open_side();
	serve_newcomer(fresh);
	requester_goes_on();
}

/* Messages that are posted before the accept is confirmed complete. */
static void posts_of_an_accept_that_fails_complete(void)
{
	open_with_requester();
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, MESSAGE, 3), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	API_DTO(end.recv, end.ep, 3, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	serve_newcomer(fresh);
	requester_goes_on();
}

static void requester_that_is_rejected_hears_it_when_it_goes_on(void)
{
	DAT_EVENT_NUMBER number;

	open_with_requester();
	CHECK_DAT(dat_cr_reject(cr), DAT_SUCCESS);
	serve_newcomer(fresh);
	go_on(peer);
	check_get(peer, &number, sizeof(number));
	CHECK_EQ_INT(number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	check_await(peer);
	check_join(peer);
}

/* The requester never continues: the request is answered, or left behind. */
static void requester_that_dies_while_it_is_stopped_is_forgotten(void)
{
	open_with_requester();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	check_kill(peer);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	serve_newcomer(fresh);
}

static void request_that_is_not_answered_goes_with_the_adapter(void)
{
	open_with_requester();
	api_close();
	open_side();
	serve_newcomer(fresh);
	requester_goes_on();
}

/* ------------------------------------------------------------------ a connection whose peer is stopped */

static void open_connected(void)
{
	DAT_EVENT_NUMBER number;

	open_requested(NULL);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_get(peer, &number, sizeof(number));
	REQUIRE_EQ_INT(number, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_stop(peer);
}

/* The peer continues, and hears of the end. */
static void peer_goes_on(void)
{
	go_on(peer);
	check_await(peer);
	check_join(peer);
}

static void connection_that_rests_ends_gracefully(void)
{
	open_connected();
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_STATE(end.ep, DAT_EP_STATE_DISCONNECTED);
	serve_newcomer(fresh);
	peer_goes_on();
}

/* The message waits for a receive of the peer, and so does the graceful end, until the program ends it abruptly. */
static void graceful_end_behind_a_message_can_be_made_abrupt(void)
{
	open_connected();
	REQUIRE_DAT(api_send(end.ep, &buf, 0, MESSAGE, 3, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, 4096, 4, 0), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	serve_newcomer(fresh);
	peer_goes_on();
}

static void connection_ends_abruptly(void)
{
	open_connected();
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, MESSAGE, 3), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(end.recv, end.ep, 3, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	serve_newcomer(fresh);
	peer_goes_on();
}

static void endpoint_of_a_connection_can_be_freed(void)
{
	open_connected();
	CHECK_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
	serve_newcomer(fresh);
	peer_goes_on();
}

/* ------------------------------------------------------------------ at any instruction */

/* How this side goes on when the peer is stopped. */
enum way { ACCEPTS, REJECTS, DISCONNECTS, GRACEFULLY, FREES, CLOSES, WAYS };

/*
 * Several endpoints that connect, or are connected to, again and again: an endpoint whose connection is over is replaced. The
 * memory of both sides is the same.
 */
static struct api_end ends[EPS];
static bool busy[EPS]; /* an attempt or a connection has not ended */

static void renew(int i)
{
	api_end_free(&ends[i]);
	api_end_make(&ends[i], NULL);
	busy[i] = false;
}

static void take_connection_event(int i)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(ends[i].connect, &event) != DAT_SUCCESS)
		return;
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		(void)api_send(ends[i].ep, &buf, 0, MESSAGE, 1, DAT_COMPLETION_SUPPRESS_FLAG);
		if (rand_r(&seed) % 2)
			(void)dat_ep_disconnect(ends[i].ep, rand_r(&seed) % 2 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
	} else {
		busy[i] = false;
	}
}

/* A side that connects. */
static void connect_some(void)
{
	for (int i = 0; i < EPS; i++) {
		take_connection_event(i);
		if (busy[i])
			continue;
		renew(i);
		busy[i] = api_offer_connect(ends[i].ep, &there, api_patience()) == DAT_SUCCESS;
	}
}

static DAT_CR_HANDLE next_cr(void)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(cr_evd, &event) != DAT_SUCCESS)
		return DAT_HANDLE_NULL;
	return event.event_data.cr_arrival_event_data.cr_handle;
}

/* A side that listens. */
static void accept_some(bool rejects)
{
	for (int i = 0; i < EPS; i++) {
		DAT_CR_HANDLE next;

		take_connection_event(i);
		if (busy[i] || !(next = next_cr()))
			continue;
		if (rejects || rand_r(&seed) % 4 == 0) {
			CHECK_DAT(dat_cr_reject(next), DAT_SUCCESS);
			continue;
		}
		renew(i);
		(void)api_recv(ends[i].ep, &buf, 0, MESSAGE, 1);
		busy[i] = dat_cr_accept(next, ends[i].ep, 0, NULL) == DAT_SUCCESS;
		CHECK(busy[i]);
	}
}

static void open_ends(void)
{
	open_side();
	for (int i = 0; i < EPS; i++) {
		api_end_make(&ends[i], NULL);
		busy[i] = false;
	}
}

static void connect_always(void *arg)
{
	(void)arg;
	check_get(CHECK_PARENT, &there, sizeof(there));
	open_ends();
	for (;;)
		connect_some();
}

static void accept_always(void *arg)
{
	(void)arg;
	open_ends();
	api_offer_make(&there, cr_evd, NULL);
	check_put(CHECK_PARENT, &there, sizeof(there));
	for (;;)
		accept_some(false);
}

static bool is_over(int i)
{
	take_connection_event(i);
	return !busy[i];
}

/* Ends all connections, each of which has its event. */
static void end_all(DAT_CLOSE_FLAGS how)
{
	for (int i = 0; i < EPS; i++) {
		if (!busy[i])
			continue;
		if (how == DAT_CLOSE_GRACEFUL_FLAG)
			CHECK_DAT(dat_ep_disconnect(ends[i].ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		CHECK_DAT(dat_ep_disconnect(ends[i].ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		CHECK_SOON(is_over(i));
	}
}

/* The peer had confirmed the accept before it was stopped, or the accept has ended with its event. */
static bool is_settled(int i)
{
	return is_over(i) || api_state(ends[i].ep) == DAT_EP_STATE_CONNECTED;
}

/* All requests that have arrived are answered; an accept that is not confirmed ends with its event. */
static void answer_all(bool rejects)
{
	for (int n = 0; n < 4 * EPS; n++)
		accept_some(rejects);
	for (int i = 0; i < EPS; i++)
		if (busy[i] && api_state(ends[i].ep) == DAT_EP_STATE_COMPLETION_PENDING)
			CHECK_SOON(is_settled(i));
	end_all(DAT_CLOSE_ABRUPT_FLAG);
}

static void go_this_way(enum way way)
{
	switch (way) {
	case ACCEPTS:
	case REJECTS:
		answer_all(way == REJECTS);
		break;
	case DISCONNECTS:
		end_all(DAT_CLOSE_ABRUPT_FLAG);
		break;
	case GRACEFULLY:
		end_all(DAT_CLOSE_GRACEFUL_FLAG);
		break;
	case FREES:
		for (int i = 0; i < EPS; i++)
			CHECK_DAT(dat_ep_free(ends[i].ep), DAT_SUCCESS);
		break;
	default:
		break;
	}
}

static void one_round(bool listens, enum way way, bool cont)
{
	unsigned int turns = 1 + (unsigned int)rand_r(&seed) % 3000;
	uint64_t began;

	peer = check_fork(listens ? connect_always : accept_always, NULL);
	fresh = check_fork(newcomer, NULL);
	if (!listens)
		check_get(peer, &there, sizeof(there));
	open_ends();
	if (listens) {
		api_offer_make(&there, cr_evd, NULL);
		check_put(peer, &there, sizeof(there));
	}
	while (turns--) {
		if (listens)
			accept_some(false);
		else
			connect_some();
	}
	check_stop(peer);
	began = check_now_ms();
	go_this_way(way);
	if (way == CLOSES) {
		api_close();
		open_side();
	}
	if (cont)
		go_on(peer);
	serve_newcomer(fresh);
	api_close();
	if (check_now_ms() - began >= check_patience_ms())
		CHECK_FAIL("way %d: it took %llu ms", (int)way, (unsigned long long)(check_now_ms() - began));
	check_kill(peer);
}

static void rounds(bool listens)
{
	const char *text = getenv("STOP_ROUNDS");
	int count = text ? atoi(text) : ROUNDS;

	for (int i = 0; i < count; i++)
		for (int way = 0; way < WAYS; way++) {
			one_round(listens, (enum way)way, (i + way) % 2);
			check_alive();
		}
}

static void requester_that_is_stopped_anywhere_holds_up_nobody(void)
{
	rounds(true);
}

static void listener_that_is_stopped_anywhere_holds_up_nobody(void)
{
	rounds(false);
}

static const struct check_test listeners[] = {
	CHECK_TEST(attempt_ends_at_its_timeout),
	CHECK_TEST(attempts_of_many_endpoints_end_at_their_timeouts),
	CHECK_TEST(attempt_without_a_timeout_can_be_given_up),
	CHECK_TEST(endpoint_of_an_attempt_can_be_freed),
	CHECK_TEST(adapter_of_an_attempt_can_be_closed),
	CHECK_END
};
static const struct check_test requesters[] = {
	CHECK_TEST(accept_that_is_not_confirmed_fails),
	CHECK_TEST(requester_that_is_too_late_has_no_connection_either),
	CHECK_TEST(accept_that_is_confirmed_while_the_acceptor_is_stopped_stands),
	CHECK_TEST(accept_that_is_confirmed_in_time_stands),
	CHECK_TEST(accept_can_be_given_up),
	CHECK_TEST(endpoint_of_an_accept_can_be_freed),
	CHECK_TEST(adapter_of_an_accept_can_be_closed),
	CHECK_TEST(posts_of_an_accept_that_fails_complete),
	CHECK_TEST(requester_that_is_rejected_hears_it_when_it_goes_on),
	CHECK_TEST(requester_that_dies_while_it_is_stopped_is_forgotten),
	CHECK_TEST(request_that_is_not_answered_goes_with_the_adapter),
	CHECK_END
};
static const struct check_test connections[] = {
	CHECK_TEST(connection_that_rests_ends_gracefully),
	CHECK_TEST(graceful_end_behind_a_message_can_be_made_abrupt),
	CHECK_TEST(connection_ends_abruptly),
	CHECK_TEST(endpoint_of_a_connection_can_be_freed),
	CHECK_END
};
static const struct check_test anywhere[] = {
	CHECK_TEST(requester_that_is_stopped_anywhere_holds_up_nobody),
	CHECK_TEST(listener_that_is_stopped_anywhere_holds_up_nobody),
	CHECK_END
};
static const struct check_suite listener_suite = {
	.name = "stopped listener", .teardown = api_close, .tests = listeners
};
static const struct check_suite requester_suite = {
	.name = "stopped requester", .teardown = api_close, .tests = requesters
};
static const struct check_suite connection_suite = {
	.name = "stopped peer of a connection", .teardown = api_close, .tests = connections
};
static const struct check_suite anywhere_suite = {
	.name = "stopped anywhere", .teardown = api_close, .tests = anywhere
};

CHECK_SUITES(&listener_suite, &requester_suite, &connection_suite, &anywhere_suite);
