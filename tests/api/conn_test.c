/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: connect, accept, reject, time out, disconnect, and the one event that reports each.
 * The same tests run with the passive side in this process and in another.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote.h"

#define BIG ((size_t)1 << 20)

static struct api_end local;
static struct api_buf buf;
static unsigned char data[REMOTE_DATA_MAX + 1];

static void open_both(bool forked)
{
	remote_start(forked);
	api_open();
	remote_open(NULL);
	api_end_make(&local, NULL);
	buf = api_buf(2 * BIG, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(data, sizeof(data), 1);
}

static void one_process(void)
{
	open_both(false);
}

static void two_processes(void)
{
	open_both(true);
}

static void end(void)
{
	api_close();
	remote_stop();
}

static DAT_RETURN connect_to(DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(local.ep, (DAT_IA_ADDRESS_PTR)&remote.address, qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void reset_both(void)
{
	REQUIRE_DAT(dat_ep_reset(local.ep), DAT_SUCCESS);
	API_STATE(local.ep, DAT_EP_STATE_UNCONNECTED);
	if (remote_state() != DAT_EP_STATE_UNCONNECTED)
		REQUIRE_DAT(remote_reset(), DAT_SUCCESS);
}

static void accepted_request_connects_both_ends(void)
{
	struct remote_cr cr;
	DAT_EP_PARAM param;

	REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
	API_STATE(local.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	cr = remote_cr();
	CHECK(cr.fields_ok);
	CHECK_EQ_INT(cr.private_data_size, 0);
	REQUIRE_DAT(dat_ep_query(local.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(cr.remote_port_qual, param.local_port_qual);
	CHECK_EQ_INT(cr.remote_address.sin_family, AF_INET);
	CHECK_EQ_INT(cr.remote_address.sin_addr.s_addr,
		     ((struct sockaddr_in *)api_address())->sin_addr.s_addr);
	API_QUIET(local.connect); /* not before the accept */
	REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_EQ_INT(remote_state(), DAT_EP_STATE_CONNECTED);
	API_QUIET(local.connect);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

static void want_data(DAT_COUNT size)
{
	DAT_CONNECTION_EVENT_DATA *up;
	struct remote_cr cr;
	DAT_EVENT event;

	REQUIRE_DAT(remote_connect(&local, size, size ? data : NULL, api_patience()), DAT_SUCCESS);
	cr = remote_cr();
	CHECK_EQ_INT(cr.private_data_size, size);
	CHECK_EQ_MEM(cr.private_data, data, (size_t)size);
	REQUIRE_DAT(remote_accept(size, data + 1), DAT_SUCCESS);
	event = API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_ESTABLISHED);
	up = &event.event_data.connect_event_data;
	REQUIRE_EQ_INT(up->private_data_size, size);
	if (size)
		CHECK_EQ_MEM(up->private_data, data + 1, (size_t)size);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
	/* It is the provider's memory, and valid until the endpoint is reset or freed. */
	if (size)
		CHECK_EQ_MEM(up->private_data, data + 1, (size_t)size);
	reset_both();
}

static void private_data_of_every_size_arrives_exactly(void)
{
	DAT_COUNT max = api.prov.max_private_data_size;
	DAT_COUNT sizes[] = { 0, 1, 3, 4, 5, 63, 64, max - 1, max };

	REQUIRE(max >= 64 && max <= REMOTE_DATA_MAX);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		want_data(sizes[i]);
}

static void private_data_beyond_the_limit_is_refused(void)
{
	DAT_COUNT max = api.prov.max_private_data_size;
	void *big = api_memory((size_t)max + 1);

	CHECK_DAT(remote_connect(&local, max + 1, big, api_patience()), DAT_INVALID_PARAMETER);
	CHECK_DAT(remote_connect(&local, -1, big, api_patience()), DAT_INVALID_PARAMETER);
	CHECK_DAT(remote_connect(&local, 4, NULL, api_patience()), DAT_INVALID_PARAMETER);
	API_STATE(local.ep, DAT_EP_STATE_UNCONNECTED);
	REQUIRE_DAT(remote_connect(&local, 0, big, api_patience()), DAT_SUCCESS);
	remote_cr();
	if (max < REMOTE_DATA_MAX)
		CHECK_DAT(remote_accept(max + 1, data), DAT_INVALID_PARAMETER);
	CHECK_DAT(remote_accept(-1, data), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void connect_refuses_bad_arguments(void)
{
	DAT_IA_ADDRESS_PTR to = (DAT_IA_ADDRESS_PTR)&remote.address;

	CHECK_DAT(dat_ep_connect(local.ep, NULL, remote.qual, api_patience(), 0, NULL, 0, 0),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_connect(local.ep, to, remote.qual, 0, 0, NULL, 0, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_connect(local.ep, to, remote.qual, api_patience(), 0, NULL, 0,
				 (DAT_CONNECT_FLAGS)0x10),
		  DAT_INVALID_PARAMETER);
	API_STATE(local.ep, DAT_EP_STATE_UNCONNECTED);
	API_EMPTY(local.connect);
}

static void address_of_no_family_is_refused_now_or_later(void)
{
	struct sockaddr_in odd = remote.address;
	DAT_RETURN ret;
	DAT_EVENT event;

	odd.sin_family = 250;
	ret = DAT_GET_TYPE(
		dat_ep_connect(local.ep, (DAT_IA_ADDRESS_PTR)&odd, remote.qual, 200000, 0, NULL, 0, 0));
	if (ret != DAT_SUCCESS) {
		CHECK(ret == DAT_INVALID_ADDRESS || ret == DAT_INVALID_PARAMETER);
		API_STATE(local.ep, DAT_EP_STATE_UNCONNECTED);
		return;
	}
	API_EVENT(local.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
	      event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* Nothing is sent to the network, and the endpoint does not change. */
static void address_that_is_nobodys_is_refused_at_once(void)
{
	static const uint32_t odd[] = { INADDR_ANY, INADDR_BROADCAST, 0xe0000001, 0xef0102ff };
	struct sockaddr_in to = remote.address;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		to.sin_addr.s_addr = htonl(odd[i]);
		CHECK_DAT(dat_ep_connect(local.ep, (DAT_IA_ADDRESS_PTR)&to, remote.qual, api_patience(),
					 0, NULL, 0, 0),
			  DAT_INVALID_ADDRESS | DAT_INVALID_ADDRESS_MALFORMED);
		API_STATE(local.ep, DAT_EP_STATE_UNCONNECTED);
	}
	API_QUIET(local.connect);
	remote_pair(&local);
}

static void dead_address_is_unreachable_or_times_out(void)
{
	struct sockaddr_in dead = remote.address;
	DAT_RETURN ret;
	DAT_EVENT event;

	dead.sin_addr.s_addr = htonl(0xc0000201); /* no host has 192.0.2.1, by RFC 5737 */
	ret = DAT_GET_TYPE(dat_ep_connect(local.ep, (DAT_IA_ADDRESS_PTR)&dead, remote.qual, 200000, 0,
					  NULL, 0, 0));
	if (ret != DAT_SUCCESS) {
		CHECK_EQ_INT(ret, DAT_INVALID_ADDRESS);
		return;
	}
	API_EVENT(local.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
	      event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT);
	API_STATE(local.ep, DAT_EP_STATE_DISCONNECTED);
}

/*
 * Checks a failed attempt: one event, the state DISCONNECTED, receives flushed, and the endpoint
 * can be connected again.
 */
static void want_failure_and_recovery(DAT_EVENT_NUMBER number)
{
	API_CONN(local.connect, local.ep, number);
	API_DTO(local.recv, local.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(local.recv, local.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(local.connect);
	API_EMPTY(local.recv);
	CHECK_DAT(connect_to(remote.qual, api_patience()), DAT_INVALID_STATE);
	CHECK_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_EMPTY(local.connect);
	reset_both();
	remote_pair(&local);
}

static void post_two_receives(void)
{
	REQUIRE_DAT(api_recv(local.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(local.ep, &buf, 64, 64, 2), DAT_SUCCESS);
}

static void nobody_listening_is_a_non_peer_reject(void)
{
	post_two_receives();
	REQUIRE_DAT(connect_to(0x1234567890abcdef, api_patience()), DAT_SUCCESS);
	want_failure_and_recovery(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void rejected_request_is_a_peer_reject(void)
{
	post_two_receives();
	REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
	remote_cr();
	REQUIRE_DAT(remote_reject(), DAT_SUCCESS);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
	want_failure_and_recovery(DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/*
 * Accepts a request whose sender has given up. Over a transport that does not confirm an accept, this
 * may look like a connection first.
 */
static void accept_too_late(void)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
	if (!api_declares("accept", "unconfirmed")) {
		REMOTE_CONN(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		return;
	}
	REQUIRE_DAT(remote_wait(REMOTE_EVD_CONNECT, api_patience(), 1, &event, &nmore), DAT_SUCCESS);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		REMOTE_CONN_OVER();
	else
		CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

static void unanswered_request_times_out_and_goes_stale(void)
{
	uint64_t start = check_now_ms();

	post_two_receives();
	REQUIRE_DAT(remote_connect(&local, 0, NULL, 100000), DAT_SUCCESS);
	remote_cr();
	API_EVENT(local.connect, &(DAT_EVENT){ 0 });
	CHECK(check_now_ms() - start >= 99);
	API_STATE(local.ep, DAT_EP_STATE_DISCONNECTED);
	/* The other side does not know of it: its accept succeeds, and then fails. */
	REQUIRE_DAT(remote_recv(0, 64, 5, 0), DAT_SUCCESS);
	REQUIRE_DAT(remote_recv(64, 64, 6, 0), DAT_SUCCESS);
	accept_too_late();
	CHECK_EQ_INT(remote_state(), DAT_EP_STATE_DISCONNECTED);
	REMOTE_DTO(REMOTE_EVD_RECV, 5, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	REMOTE_DTO(REMOTE_EVD_RECV, 6, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
	API_QUIET(local.connect);
}

static void timeout_is_told_as_such(void)
{
	post_two_receives();
	REQUIRE_DAT(remote_connect(&local, 0, NULL, 50000), DAT_SUCCESS);
	remote_cr();
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	REQUIRE_DAT(remote_reject(), DAT_SUCCESS);
	API_QUIET(local.connect);
}

static void disconnect_while_connecting(DAT_CLOSE_FLAGS flags)
{
	post_two_receives();
	REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
	remote_cr();
	REQUIRE_DAT(dat_ep_disconnect(local.ep, flags), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(local.recv, local.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(local.recv, local.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	accept_too_late();
	API_QUIET(local.connect);
	reset_both();
	remote_pair(&local);
}

static void abrupt_disconnect_aborts_a_connect(void)
{
	disconnect_while_connecting(DAT_CLOSE_ABRUPT_FLAG);
}

static void graceful_disconnect_aborts_a_connect_as_well(void)
{
	disconnect_while_connecting(DAT_CLOSE_GRACEFUL_FLAG);
}

static void free_while_connecting_leaves_a_stale_request(void)
{
	REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
	remote_cr();
	REQUIRE_DAT(dat_ep_free(local.ep), DAT_SUCCESS);
	accept_too_late();
}

/*
 * The accepting side disconnects at once: either the connection was established already, or it
 * never is.
 */
static void disconnect_right_after_accept_ends_in_one_event_a_side(void)
{
	for (int round = 0; round < 20; round++) {
		DAT_EVENT event;
		DAT_COUNT nmore;

		REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
		remote_cr();
		REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
		REQUIRE_DAT(remote_disconnect(DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		REQUIRE_DAT(remote_wait(REMOTE_EVD_CONNECT, api_patience() / 2, 1, &event, &nmore),
			    DAT_SUCCESS);
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			REQUIRE_DAT(
				remote_wait(REMOTE_EVD_CONNECT, api_patience() / 2, 1, &event, &nmore),
				DAT_SUCCESS);
		CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
		API_EVENT(local.connect, &event);
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			API_CONN_OVER(local.connect, local.ep);
		else
			CHECK(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
			      event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
			      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
		API_EMPTY(local.connect);
		reset_both();
	}
}

static void abrupt_disconnect_is_told_once_on_each_side(void)
{
	remote_pair(&local);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_EQ_INT(remote_state(), DAT_EP_STATE_DISCONNECTED);
	CHECK_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(remote_disconnect(DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(remote_disconnect(DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_QUIET(local.connect);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

static void disconnects_that_cross_are_told_once_on_each_side(void)
{
	for (int round = 0; round < 10; round++) {
		remote_pair(&local);
		REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		REQUIRE_DAT(remote_disconnect(DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
		API_EMPTY(local.connect);
		reset_both();
	}
	API_QUIET(local.connect);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

static void peers_disconnect_is_told_here(void)
{
	remote_pair(&local);
	REQUIRE_DAT(remote_disconnect(DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_QUIET(local.connect);
}

static void graceful_disconnect_lets_posted_requests_finish(void)
{
	enum { N = 20 };

	remote_pair(&local);
	REQUIRE_DAT(remote_recv_many(N + 3, 1024, 100), DAT_SUCCESS);
	api_fill(buf.mem, 1024, 9);
	for (uint64_t n = 0; n < N; n++)
		REQUIRE_DAT(api_send(local.ep, &buf, 0, 1024, n, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	for (uint64_t n = 0; n < N; n++)
		API_DTO(local.request, local.ep, n, DAT_DTO_SUCCESS, 1024);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t n = 0; n < N; n++) {
		REMOTE_DTO(REMOTE_EVD_RECV, 100 + n, DAT_DTO_SUCCESS, 1024);
		CHECK_EQ_INT(remote_mismatch(n * 1024, 1024, 9), -1);
	}
	for (uint64_t n = N; n < N + 3; n++)
		REMOTE_DTO(REMOTE_EVD_RECV, 100 + n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* A message without a receive delays a graceful disconnect; an abrupt one does not wait for it. */
static void graceful_disconnect_waits_and_an_abrupt_one_cuts_it_short(void)
{
	api_skip_where_nothing_waits();
	remote_pair(&local);
	REQUIRE_DAT(api_recv(local.ep, &buf, BIG, 64, 8), DAT_SUCCESS);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, BIG, 7, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_STATE(local.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	CHECK_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_STATE(local.ep, DAT_EP_STATE_DISCONNECT_PENDING);
	CHECK_DAT(api_send(local.ep, &buf, 0, 64, 9, 0), DAT_INVALID_STATE);
	API_QUIET(local.connect);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(local.request, local.ep, 7, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(local.recv, local.ep, 8, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	REMOTE_CONN_OVER();
	API_QUIET(local.connect);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

static void graceful_disconnect_ends_when_the_last_message_is_taken(void)
{
	api_skip_where_nothing_waits();
	remote_pair(&local);
	api_fill(buf.mem, BIG, 4);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, BIG, 7, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(remote_recv(0, BIG, 8, 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 8, DAT_DTO_SUCCESS, BIG);
	CHECK_EQ_INT(remote_mismatch(0, BIG, 4), -1);
	API_DTO(local.request, local.ep, 7, DAT_DTO_SUCCESS, BIG);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void peers_disconnect_ends_a_pending_graceful_one(void)
{
	remote_pair(&local);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, BIG, 7, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(remote_disconnect(DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(local.connect, local.ep);
	API_QUIET(local.connect);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

static void disconnect_refuses_bad_flags(void)
{
	remote_pair(&local);
	CHECK_DAT(dat_ep_disconnect(local.ep, (DAT_CLOSE_FLAGS)7), DAT_INVALID_PARAMETER);
	API_STATE(local.ep, DAT_EP_STATE_CONNECTED);
}

static void peer_that_frees_its_endpoint_ends_the_connection(void)
{
	remote_pair(&local);
	REQUIRE_DAT(remote_ep_free(), DAT_SUCCESS);
	API_CONN_OVER(local.connect, local.ep);
	API_QUIET(local.connect);
}

static void peer_that_closes_its_ia_ends_the_connection(void)
{
	if (!remote.forked)
		check_skip("both sides share the IA in one process");
	remote_pair(&local);
	REQUIRE_DAT(api_recv(local.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	remote_close_ia();
	API_CONN_OVER(local.connect, local.ep);
	API_DTO(local.recv, local.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(local.connect);
	REQUIRE_DAT(dat_ep_reset(local.ep), DAT_SUCCESS);
	REQUIRE_DAT(connect_to(remote.qual, api_patience()), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void peer_that_closes_its_ia_refuses_pending_requests(void)
{
	DAT_EVENT event;

	if (!remote.forked)
		check_skip("both sides share the IA in one process");
	REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
	remote_cr();
	remote_close_ia();
	API_EVENT(local.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	      event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED);
	API_STATE(local.ep, DAT_EP_STATE_DISCONNECTED);
	API_QUIET(local.connect);
}

static void refused_connect_leaves_the_connection_as_it_is(void)
{
	remote_pair(&local);
	CHECK_DAT(connect_to(remote.qual, api_patience()), DAT_INVALID_STATE);
	CHECK_DAT(dat_ep_reset(local.ep), DAT_INVALID_STATE);
	API_STATE(local.ep, DAT_EP_STATE_CONNECTED);
	REQUIRE_DAT(remote_recv(0, 64, 5, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, 64, 6, 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 5, DAT_DTO_SUCCESS, 64);
	API_DTO(local.request, local.ep, 6, DAT_DTO_SUCCESS, 64);
}

static void receives_posted_before_connect_take_the_first_messages(void)
{
	REQUIRE_DAT(remote_recv(0, 64, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(local.ep, &buf, 0, 64, 2), DAT_SUCCESS);
	remote_fill(1024, 64, 3);
	api_fill(buf.mem + 1024, 64, 4);
	remote_pair(&local);
	REQUIRE_DAT(remote_send(1024, 64, 5, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(local.ep, &buf, 1024, 64, 6, 0), DAT_SUCCESS);
	API_DTO(local.recv, local.ep, 2, DAT_DTO_SUCCESS, 64);
	REMOTE_DTO(REMOTE_EVD_RECV, 1, DAT_DTO_SUCCESS, 64);
	CHECK_EQ_INT(api_mismatch(buf.mem, 64, 3), -1);
	CHECK_EQ_INT(remote_mismatch(0, 64, 4), -1);
}

static void port_in_the_address_does_not_count(void)
{
	remote.address.sin_port = htons(12345);
	remote_pair(&local);
}

/* The second address is the one to which a Debian host resolves its own name. */
static void loopback_addresses_are_this_host(void)
{
	static const in_addr_t hosts[] = { INADDR_LOOPBACK, INADDR_LOOPBACK + 0x100 };

	for (int i = 0; i < 2; i++) {
		remote.address.sin_addr.s_addr = htonl(hosts[i]);
		remote_pair(&local);
		REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
		reset_both();
	}
}

static void freed_service_point_refuses_and_keeps_its_connections(void)
{
	remote_pair(&local);
	REQUIRE_DAT(remote_psp_free(), DAT_SUCCESS);
	REQUIRE_DAT(remote_recv(0, 64, 5, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, 64, 6, 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 5, DAT_DTO_SUCCESS, 64);
	REQUIRE_DAT(dat_ep_disconnect(local.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_DISCONNECTED);
	reset_both();
	REQUIRE_DAT(connect_to(remote.qual, api_patience()), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void request_outlives_its_service_point(void)
{
	REQUIRE_DAT(remote_connect(&local, 0, NULL, api_patience()), DAT_SUCCESS);
	remote_cr();
	REQUIRE_DAT(remote_psp_free(), DAT_SUCCESS);
	usleep(50000); /* no deadline on the passive side */
	REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void infinite_timeout_never_times_out(void)
{
	REQUIRE_DAT(remote_connect(&local, 0, NULL, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	remote_cr();
	API_QUIET(local.connect);
	API_STATE(local.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
	API_CONN(local.connect, local.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void attributes_are_not_changed_by_connecting(void)
{
	DAT_EP_PARAM before, after;

	REQUIRE_DAT(dat_ep_query(local.ep, DAT_EP_FIELD_ALL, &before), DAT_SUCCESS);
	remote_pair(&local);
	REQUIRE_DAT(dat_ep_query(local.ep, DAT_EP_FIELD_ALL, &after), DAT_SUCCESS);
	CHECK_EQ_INT(after.ep_attr.max_message_size, before.ep_attr.max_message_size);
	CHECK_EQ_INT(after.ep_attr.max_rdma_size, before.ep_attr.max_rdma_size);
	CHECK_EQ_INT(after.ep_attr.max_recv_dtos, before.ep_attr.max_recv_dtos);
	CHECK_EQ_INT(after.ep_attr.max_request_dtos, before.ep_attr.max_request_dtos);
	CHECK(after.recv_evd_handle == before.recv_evd_handle &&
	      after.pz_handle == before.pz_handle);
}

static const struct check_test tests[] = {
	CHECK_TEST(accepted_request_connects_both_ends),
	CHECK_TEST(private_data_of_every_size_arrives_exactly),
	CHECK_TEST(private_data_beyond_the_limit_is_refused),
	CHECK_TEST(connect_refuses_bad_arguments),
	CHECK_TEST(address_of_no_family_is_refused_now_or_later),
	CHECK_TEST(address_that_is_nobodys_is_refused_at_once),
	CHECK_TEST(dead_address_is_unreachable_or_times_out),
	CHECK_TEST(nobody_listening_is_a_non_peer_reject),
	CHECK_TEST(rejected_request_is_a_peer_reject),
	CHECK_TEST(unanswered_request_times_out_and_goes_stale),
	CHECK_TEST(timeout_is_told_as_such),
	CHECK_TEST(abrupt_disconnect_aborts_a_connect),
	CHECK_TEST(graceful_disconnect_aborts_a_connect_as_well),
	CHECK_TEST(free_while_connecting_leaves_a_stale_request),
	CHECK_TEST(disconnect_right_after_accept_ends_in_one_event_a_side),
	CHECK_TEST(abrupt_disconnect_is_told_once_on_each_side),
	CHECK_TEST(disconnects_that_cross_are_told_once_on_each_side),
	CHECK_TEST(peers_disconnect_is_told_here),
	CHECK_TEST(graceful_disconnect_lets_posted_requests_finish),
	CHECK_TEST(graceful_disconnect_waits_and_an_abrupt_one_cuts_it_short),
	CHECK_TEST(graceful_disconnect_ends_when_the_last_message_is_taken),
	CHECK_TEST(peers_disconnect_ends_a_pending_graceful_one),
	CHECK_TEST(disconnect_refuses_bad_flags),
	CHECK_TEST(peer_that_frees_its_endpoint_ends_the_connection),
	CHECK_TEST(peer_that_closes_its_ia_ends_the_connection),
	CHECK_TEST(peer_that_closes_its_ia_refuses_pending_requests),
	CHECK_TEST(refused_connect_leaves_the_connection_as_it_is),
	CHECK_TEST(receives_posted_before_connect_take_the_first_messages),
	CHECK_TEST(port_in_the_address_does_not_count),
	CHECK_TEST(loopback_addresses_are_this_host),
	CHECK_TEST(freed_service_point_refuses_and_keeps_its_connections),
	CHECK_TEST(request_outlives_its_service_point),
	CHECK_TEST(infinite_timeout_never_times_out),
	CHECK_TEST(attributes_are_not_changed_by_connecting),
	CHECK_END
};

static const struct check_suite inside = {
	.name = "conn in one process",
	.setup = one_process,
	.teardown = end,
	.tests = tests,
};

static const struct check_suite between = {
	.name = "conn between processes",
	.setup = two_processes,
	.teardown = end,
	.tests = tests,
};

CHECK_SUITES(&inside, &between);
