/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks by a peer that writes to the TCP connections beneath iWARP: in place of a connection request, in place of the reply
 * to one, and in the middle of a connection. Each test is one kind of attack. The victim is the test itself, which has a
 * connection to an honest peer all the while. The victim loses the attacker's connections, by an event, and nothing else. Runs
 * in a guest of the lab, over the adapter that OPENDAT_TEST_IA names, which is siw's.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "mpa.h"
#include "victim.h"

enum {
	REQUESTS = 24, /* eight kinds of garbage, each with three ways to leave */
	SILENT = 12,   /* connections that the attacker leaves open in the middle of a request */
	RECEIVE = 64,  /* bytes; it is shorter than MPA_LONG's message */
	CLOSED_MS = 20000, /* longer than siw waits for a request */
	CLOSES_MS = 3000, /* enough for siw to close a connection after most attacks */
	FEW_LINES = 24, /* the most lines in the log: of some causes, each at most three times in ten seconds */
	MARK = 0x5a,
};

static struct api_end end;
static struct api_pair honest;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static struct hostile_target me;
static pid_t attacker;

/* ------------------------------------------------------------------ the victim */

static void victim_opens(void)
{
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(16384, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	victim_listens(cr_evd, &me);
	victim_begins_pair(&honest, &buf);
}

/* Checks that the honest peer's connection goes on, and that a new one is served. */
static void others_are_served(void)
{
	api_pair_works(&honest, &buf);
	victim_serves(&buf);
}

static struct sockaddr_in target(void)
{
	struct hostile_target victim;

	check_get(CHECK_PARENT, &victim, sizeof(victim));
	victim.address.sin_port = htons(hostile_port(victim.qual));
	return victim.address;
}

/* ------------------------------------------------------------------ requests */

static unsigned char bytes[MPA_ROOM];

/* Writes an invalid request, or bytes that are not a request at all. Returns their length. */
static size_t spoiled_request(unsigned int round, uint64_t *seed)
{
	size_t size;

	switch (round % 8) {
	case 0:
		return mpa_request(bytes, 0, 1, 65535, 60000);
	case 1:
		return mpa_request(bytes, 0, 1, 257, 257);
	case 2:
		return mpa_request(bytes, 0, 1, 513, 513);
	case 3:
		return mpa_request(bytes, MPA_ENHANCED, 2, 2, 2); /* too short for its own read counts */
	case 4:
		return mpa_request(bytes, MPA_MARKERS | MPA_CRC, 1, 0, 0);
	case 5:
		return mpa_request(bytes, MPA_REJECT, 9, 0, 0);
	case 6:
		return mpa_reply(bytes, 0, 1, 0, 0);
	default:
		size = 1 + hostile_random(seed) % 3000;
		for (size_t i = 0; i < size; i++)
			bytes[i] = (unsigned char)hostile_random(seed);
		return size;
	}
}

static void ask_with_garbage(void *arg)
{
	struct sockaddr_in at = target();
	uint64_t seed = 5;

	(void)arg;
	for (unsigned int i = 0; i < REQUESTS; i++) {
		int fd = mpa_reach(&at);

		mpa_say(fd, bytes, spoiled_request(i, &seed));
		if (i / 8 % 3 == 0)
			CHECK(mpa_is_closed(fd, CLOSED_MS));
		if (i / 8 % 3 == 1)
			mpa_reset(fd);
		else
			close(fd);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void requests_of_garbage_are_refused(void)
{
	attacker = check_fork(ask_with_garbage, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	others_are_served();
	API_EMPTY(cr_evd);
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	check_signal(attacker);
	check_join(attacker);
}

/* The first connection sends nothing, and each other a longer part of a request than the one before. Then they are silent. */
static void ask_by_halves(void *arg)
{
	struct sockaddr_in at = target();
	int fd[SILENT];

	(void)arg;
	for (size_t i = 0; i < SILENT; i++) {
		fd[i] = mpa_reach(&at);
		mpa_request(bytes, 0, 1, 40, 40);
		if (i)
			mpa_say(fd[i], bytes, i * (MPA_HEAD + 40) / SILENT);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	for (int i = 0; i < SILENT; i++)
		CHECK(mpa_is_closed(fd[i], CLOSED_MS));
}

static void peers_that_send_half_a_request_hold_up_nobody(void)
{
	attacker = check_fork(ask_by_halves, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	others_are_served();
	check_signal(attacker);
	check_join(attacker);
	others_are_served();
	API_EMPTY(cr_evd);
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
}

/* Sends requests with private data of up to 256 bytes: the device may carry more to the victim than the provider itself sends. */
static void ask_with_all_the_room(void *arg)
{
	struct sockaddr_in at = target();
	const unsigned int sizes[] = { 0, 1, 200, 251, 252, 255, 256 };

	(void)arg;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int fd = mpa_reach(&at);

		mpa_say(fd, bytes, mpa_request(bytes, 0, 1, sizes[i], sizes[i]));
		(void)mpa_hear(fd); /* the victim may accept it, reject it or close the connection, and has done so now */
		close(fd);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

/* Reads each byte of the private data, and rejects the request. */
static void turn_down(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	DAT_COUNT i;

	REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.private_data_size <= api.prov.max_private_data_size);
	for (i = 0; i < param.private_data_size && !((const unsigned char *)param.private_data)[i]; i++)
		;
	CHECK_EQ_INT(i, param.private_data_size);
	REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
}

static void requests_with_much_private_data_are_shown_or_refused(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	int shown = 0;

	attacker = check_fork(ask_with_all_the_room, NULL);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	while (dat_evd_wait(cr_evd, 3000000, 1, &event, &more) == DAT_SUCCESS) {
		turn_down(event.event_data.cr_arrival_event_data.cr_handle);
		shown++;
	}
	CHECK(shown > 0);
	check_await(attacker);
	others_are_served();
	check_signal(attacker);
	check_join(attacker);
}

/* ------------------------------------------------------------------ replies */

enum reply {
	NO_REPLY,
	HALF_A_REPLY,
	GARBAGE_FOR_A_REPLY,
	REQUEST_FOR_A_REPLY,
	REPLY_TOO_LONG,
	REPLY_OF_ANOTHER_REVISION,
	REPLY_OF_MARKERS,
	REJECTION_TOO_LONG,
	RESET_FOR_A_REPLY,
	RESET_AFTER_THE_REPLY,
	REPLIES
};

static void answer(int fd, enum reply how, uint64_t *seed)
{
	switch (how) {
	case NO_REPLY:
		break;
	case HALF_A_REPLY:
		mpa_reply(bytes, 0, 1, 40, 40);
		mpa_say(fd, bytes, MPA_HEAD + 7);
		break;
	case GARBAGE_FOR_A_REPLY:
		mpa_do(fd, MPA_GARBAGE, seed);
		break;
	case REQUEST_FOR_A_REPLY:
		mpa_say(fd, bytes, mpa_request(bytes, 0, 1, 0, 0));
		break;
	case REPLY_TOO_LONG:
		mpa_say(fd, bytes, mpa_reply(bytes, 0, 1, 65535, 60000));
		break;
	case REPLY_OF_ANOTHER_REVISION:
		mpa_say(fd, bytes, mpa_reply(bytes, 0, 9, 0, 0));
		break;
	case REPLY_OF_MARKERS:
		mpa_say(fd, bytes, mpa_reply(bytes, MPA_MARKERS | MPA_CRC, 1, 0, 0));
		break;
	case REJECTION_TOO_LONG:
		mpa_say(fd, bytes, mpa_reply(bytes, MPA_REJECT, 1, 513, 513));
		break;
	default:
		/* the request asked for this revision, and for read counts */
		mpa_say(fd, bytes, mpa_reply(bytes, MPA_ENHANCED, 2, 4, 4));
		break;
	}
}

static void answer_each(void *arg)
{
	struct sockaddr_in at = target();
	int listener = mpa_listen(&at), fd;
	uint64_t seed = 9;

	(void)arg;
	check_signal(CHECK_PARENT);
	for (enum reply how = 0; how < REPLIES; how++) {
		fd = mpa_take(listener);
		CHECK(mpa_hear(fd) >= 0);
		if (how != RESET_FOR_A_REPLY)
			answer(fd, how, &seed);
		if (how >= RESET_FOR_A_REPLY)
			mpa_reset(fd);
		check_await(CHECK_PARENT);
		if (how < RESET_FOR_A_REPLY)
			close(fd);
	}
}

static void attempt_is_over(void)
{
	DAT_EVENT event;

	API_EVENT(end.connect, &event);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		API_CONN_OVER(end.connect, end.ep);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_EMPTY(end.connect);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
}

static void replies_of_garbage_end_the_attempt(void)
{
	attacker = check_fork(answer_each, NULL);
	victim_opens();
	me.qual = api_free_qual(cr_evd);
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	check_stderr_begin();
	for (enum reply how = 0; how < REPLIES; how++) {
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, RECEIVE, 1), DAT_SUCCESS);
		REQUIRE_DAT(api_connect(end.ep, me.qual), DAT_SUCCESS);
		api_pair_works(&honest, &buf);
		attempt_is_over();
		check_signal(attacker);
	}
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	check_join(attacker);
	others_are_served();
}

/* Answers neither request: ends the first connection, and leaves the second as it is. */
static void answer_nothing(void *arg)
{
	struct sockaddr_in at = target();
	int listener = mpa_listen(&at), fd;

	(void)arg;
	check_signal(CHECK_PARENT);
	fd = mpa_take(listener);
	CHECK(mpa_hear(fd) >= 0);
	close(fd);
	fd = mpa_take(listener);
	CHECK(mpa_hear(fd) >= 0);
	CHECK(mpa_is_closed(fd, CLOSED_MS));
}

#define ATTEMPT_ENDS_BY(number)                                        \
	do {                                                           \
		REQUIRE_DAT(api_connect(end.ep, me.qual), DAT_SUCCESS); \
		API_CONN(end.connect, end.ep, number);                 \
		API_EMPTY(end.connect);                                \
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);        \
	} while (0)

/*
 * siw gives up the wait for a request after five seconds, and that for a reply after ten. The first ends the TCP connection, so the
 * other host has been reached and has refused; the second is an attempt to which nothing is answered.
 */
static void attempt_that_either_device_gives_up_has_the_event_for_it(void)
{
	attacker = check_fork(answer_nothing, NULL);
	victim_opens();
	me.qual = api_free_qual(cr_evd);
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	ATTEMPT_ENDS_BY(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ATTEMPT_ENDS_BY(DAT_CONNECTION_EVENT_UNREACHABLE);
	check_join(attacker);
	others_are_served();
}

static void reply_and_say_no_more(void *arg)
{
	struct sockaddr_in at = target();
	int listener = mpa_listen(&at), fd;
	size_t size;

	(void)arg;
	check_signal(CHECK_PARENT);
	fd = mpa_take(listener);
	CHECK(mpa_hear(fd) >= 0);
	size = mpa_reply(bytes, MPA_ENHANCED, 2, 4, 4);
	bytes[MPA_HEAD + 1] = bytes[MPA_HEAD + 3] = 4; /* reads in each direction, so that the RTR message is one */
	mpa_say(fd, bytes, size);
	check_await(CHECK_PARENT);
	close(fd);
}

/* The program waits without a timeout. The peer never answers the RTR message. */
static void attempt_at_a_peer_that_says_nothing_after_its_reply_ends(void)
{
	attacker = check_fork(reply_and_say_no_more, NULL);
	victim_opens();
	me.qual = api_free_qual(cr_evd);
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	REQUIRE_DAT(dat_ep_connect(end.ep, api_address(), me.qual, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	check_signal(attacker);
	check_join(attacker);
	others_are_served();
}

/* ------------------------------------------------------------------ connections */

static void do_each_wrong(void *arg)
{
	struct sockaddr_in at = target();
	uint64_t seed = 3;

	(void)arg;
	for (enum mpa_wrong wrong = 0; wrong < MPA_WRONGS; wrong++) {
		int fd = mpa_reach(&at);

		mpa_say(fd, bytes, mpa_request(bytes, 0, 1, 0, 0));
		CHECK_EQ_INT(mpa_hear(fd), 0);
		mpa_do(fd, wrong, &seed);
		if (wrong != MPA_RESET) {
			/* siw may wait for the rest of what looks like a long message */
			mpa_is_closed(fd, CLOSES_MS);
			close(fd);
		}
		check_await(CHECK_PARENT);
	}
}

/* Nothing but the receive may have been written to. */
static void want_marks(enum mpa_wrong wrong)
{
	for (int i = RECEIVE; i < 16384; i++)
		if (buf.mem[i] != MARK) {
			CHECK_FAIL("attack %d has written beyond the receive, at %d", (int)wrong, i);
			return;
		}
}

static void connection_that_is_attacked_ends(enum mpa_wrong wrong)
{
	DAT_EVENT event;

	memset(buf.mem, MARK, 16384);
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, RECEIVE, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_EVENT(end.connect, &event);
	/* the attack may be over before the victim hears that the connection is established */
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		API_CONN_OVER(end.connect, end.ep);
	API_EVENT(end.recv, &event);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_EMPTY(end.connect);
	API_EMPTY(end.recv);
	want_marks(wrong);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
}

static void segment_of_garbage_ends_its_connection(void)
{
	attacker = check_fork(do_each_wrong, NULL);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	for (enum mpa_wrong wrong = 0; wrong < MPA_WRONGS; wrong++) {
		connection_that_is_attacked_ends(wrong);
		api_pair_works(&honest, &buf);
		check_signal(attacker);
	}
	check_join(attacker);
	others_are_served();
}

/* siw does not ask for checksums, but checks them if its peer asks for them. */
static void ask_for_checksums(void *arg)
{
	struct sockaddr_in at = target();
	int fd = mpa_reach(&at);
	uint64_t seed = 7;

	(void)arg;
	mpa_say(fd, bytes, mpa_request(bytes, MPA_CRC, 1, 0, 0));
	CHECK_EQ_INT(mpa_hear(fd), MPA_CRC);
	mpa_send_summed(fd, 1, true, &seed);
	mpa_send_summed(fd, 2, false, &seed);
	CHECK(mpa_is_closed(fd, CLOSED_MS));
	check_await(CHECK_PARENT);
}

static void segment_with_a_wrong_checksum_ends_its_connection(void)
{
	DAT_EVENT event;

	attacker = check_fork(ask_for_checksums, NULL);
	victim_opens();
	memset(buf.mem, MARK, 16384);
	check_put(attacker, &me, sizeof(me));
	for (size_t i = 0; i < 2; i++)
		REQUIRE_DAT(api_recv(end.ep, &buf, i * RECEIVE, RECEIVE, i + 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_SUCCESS, MPA_PAYLOAD);
	/* siw has begun this receive, so it may not be flushed, but fail */
	API_EVENT(end.recv, &event);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	for (size_t i = 2 * RECEIVE; i < 16384; i++)
		if (buf.mem[i] != MARK)
			CHECK_FAIL("byte %zu has been written to", i);
	others_are_served();
	check_signal(attacker);
	check_join(attacker);
}

static void say_no_more(void *arg)
{
	struct sockaddr_in at = target();
	uint64_t seed = 3;
	int fd[2];

	(void)arg;
	for (int i = 0; i < 2; i++) {
		fd[i] = mpa_reach(&at);
		mpa_say(fd[i], bytes, mpa_request(bytes, 0, 1, 0, 0));
		CHECK_EQ_INT(mpa_hear(fd[i]), 0);
		mpa_do(fd[i], i ? MPA_HALF : MPA_NOTHING, &seed);
	}
	check_await(CHECK_PARENT);
}

/*
 * The peer has connected, and then sends nothing, or half a message. The victim's requests leave all the same: over siw the
 * provider holds them back until the peer's first message has arrived (rdma_defer.c says why), but no longer than hold_ms. The
 * peer's TCP takes what fits into its buffer.
 */
static void peer_that_says_nothing_after_the_reply_holds_up_nobody(void)
{
	attacker = check_fork(say_no_more, NULL);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	for (int i = 0; i < 2; i++) {
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, RECEIVE, 1), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_DAT(api_send(end.ep, &buf, 0, RECEIVE, 2, 0), DAT_SUCCESS);
		API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, RECEIVE);
		others_are_served();
		REQUIRE_DAT(dat_ep_disconnect(end.ep, i ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(end.connect, end.ep);
		API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	}
	check_signal(attacker);
	check_join(attacker);
	others_are_served();
}

static void serve_no_reads(void *arg)
{
	struct sockaddr_in at = target();

	(void)arg;
	for (int i = 0; i < REQUESTS; i++) {
		int fd = mpa_reach(&at);

		memset(bytes, 0, sizeof(bytes)); /* no reads in either direction */
		mpa_say(fd, bytes, mpa_request(bytes, MPA_ENHANCED, 2, 4, 4));
		CHECK(mpa_hear(fd) >= 0);
		check_await(CHECK_PARENT);
		close(fd);
	}
}

static void reads_of_peers_that_serve_none_do_not_fill_the_log(void)
{
	DAT_RMR_TRIPLET there = { .rmr_context = 7, .target_address = 4096, .segment_length = RECEIVE };
	DAT_EVENT event;

	attacker = check_fork(serve_no_reads, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	for (int i = 0; i < REQUESTS; i++) {
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_DAT(api_read(end.ep, api_seg(&buf, 0, RECEIVE), there, 2, 0), DAT_SUCCESS);
		API_EVENT(end.request, &event);
		CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
		API_CONN_OVER(end.connect, end.ep);
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
		check_signal(attacker);
	}
	CHECK(victim_lines(check_stderr_end()) < REQUESTS);
	check_join(attacker);
	others_are_served();
}

static const struct check_test request_tests[] = {
	CHECK_TEST(requests_of_garbage_are_refused),
	CHECK_TEST(peers_that_send_half_a_request_hold_up_nobody),
	CHECK_TEST(requests_with_much_private_data_are_shown_or_refused),
	CHECK_END
};

static const struct check_test connection_tests[] = {
	CHECK_TEST(replies_of_garbage_end_the_attempt),
	CHECK_TEST(attempt_that_either_device_gives_up_has_the_event_for_it),
	CHECK_TEST(attempt_at_a_peer_that_says_nothing_after_its_reply_ends),
	CHECK_TEST(segment_of_garbage_ends_its_connection),
	CHECK_TEST(segment_with_a_wrong_checksum_ends_its_connection),
	CHECK_TEST(peer_that_says_nothing_after_the_reply_holds_up_nobody),
	CHECK_TEST(reads_of_peers_that_serve_none_do_not_fill_the_log),
	CHECK_END
};

static const struct check_suite requests = { .name = "MPA requests", .teardown = api_close, .tests = request_tests };
static const struct check_suite connections = { .name = "MPA and DDP", .teardown = api_close, .tests = connection_tests };

CHECK_SUITES(&requests, &connections);
