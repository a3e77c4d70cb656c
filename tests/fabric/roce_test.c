/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks by a peer that writes RoCE packets by hand: requests and answers of connection management with any content, and packets
 * to the queue pairs of others. Each test is one kind of attack. The victim is the test itself, which has a connection to an
 * honest peer all the while. The victim loses the attacker's connections, by an event, and nothing else. Runs in a guest of the
 * lab, over the adapter that OPENDAT_TEST_IA names, whose device hostile_test.sh has made.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "roce.h"
#include "victim.h"

enum {
	GARBAGE = 400,	 /* datagrams */
	REQUESTS = 16,	 /* by hand */
	REPLIES = 8,
	QUEUE_PAIRS = 64, /* the numbers of queue pairs that packets go to; the device counts them from 17 on */
	OPCODES = 0x20,	 /* of reliable connections */
	HEARD_MS = 10000,
	FEW_LINES = 24, /* some causes, each of which is logged at most three times in ten seconds */
};

static struct api_end end;
static struct api_pair honest;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static struct hostile_target me;
static pid_t attacker;
static int card = -1;

/* ------------------------------------------------------------------ the victim */

static bool link_is_up(void)
{
	FILE *file = fopen("/sys/class/infiniband/" ROCE_DEVICE "/ports/1/state", "re");
	char line[64] = "";

	REQUIRE(file != NULL);
	REQUIRE(fgets(line, sizeof(line), file) != NULL);
	fclose(file);
	return strstr(line, "ACTIVE") != NULL;
}

static void set_up(void)
{
	if (!roce_attach(&card))
		check_skip("there is no card " ROCE_CARD);
	REQUIRE_SOON(link_is_up());
}

static void tear_down(void)
{
	api_close();
	if (card >= 0)
		close(card);
	card = -1;
}

static void victim_opens(void)
{
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
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

static uint16_t target_port(void)
{
	struct hostile_target victim;

	check_get(CHECK_PARENT, &victim, sizeof(victim));
	return hostile_port(victim.qual);
}

static void fill(unsigned char *at, size_t size, uint64_t *seed)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)hostile_random(seed);
}

/* ------------------------------------------------------------------ garbage */

/* Sends a datagram of random bytes, or one of connection management whose content, or whose class and method, are random. */
static void send_garbage(unsigned int round, uint64_t *seed)
{
	unsigned char mad[ROCE_MAD];

	roce_cm(mad, CM_REQ + round % (CM_LAST - CM_REQ), (uint32_t)hostile_random(seed), (uint32_t)hostile_random(seed));
	switch (round % 4) {
	case 0:
		fill(mad, sizeof(mad), seed);
		roce_bytes(card, mad, hostile_random(seed) % sizeof(mad));
		return;
	case 1:
		fill(mad + CM_LOCAL, sizeof(mad) - CM_LOCAL, seed);
		break;
	case 2:
		fill(mad + 1, 3, seed);
		break;
	default:
		/* a valid request in which one byte is changed */
		roce_request(mad, (uint16_t)hostile_random(seed), (uint32_t)hostile_random(seed));
		mad[CM_LOCAL + hostile_random(seed) % (ROCE_MAD - CM_LOCAL)] ^= (unsigned char)hostile_random(seed);
		break;
	}
	roce_mad(card, mad);
}

static void be_garbage(void *arg)
{
	uint64_t seed = 21;

	(void)arg;
	target_port();
	for (unsigned int i = 0; i < GARBAGE; i++)
		send_garbage(i, &seed);
	check_signal(CHECK_PARENT);
}

static void datagrams_of_garbage_harm_nobody(void)
{
	set_up();
	attacker = check_fork(be_garbage, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	api_pair_works(&honest, &buf);
	check_await(attacker);
	others_are_served();
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	check_join(attacker);
}

/* ------------------------------------------------------------------ requests */

/* Makes a request that the kernel takes, and in which one thing is odd. */
static void odd_request(unsigned char *mad, unsigned int round, uint16_t port, uint64_t *seed)
{
	static const unsigned char mark[3] = { 0xe7, 0x0d, 0xa7 };
	unsigned char *data = mad + CM_REQ_DATA + 36;

	roce_request(mad, port, 0x2100 + round);
	fill(data, CM_REQ_ROOM, seed);
	switch (round % 8) {
	case 0: /* no queue pair has this number */
		memset(mad + CM_REQ_QP, 0xff, 3);
		break;
	case 1: /* more reads than a device can have */
		mad[CM_REQ_QP + 3] = mad[CM_REQ_QP + 7] = 0xff;
		break;
	case 2: /* none */
		mad[CM_REQ_QP + 3] = mad[CM_REQ_QP + 7] = 0;
		break;
	case 3: /* the path's MTU */
		mad[CM_REQ_PATH + 2] = (unsigned char)(mad[CM_REQ_PATH + 2] | 0xf0);
		break;
	default: /* the trailer of private data, or of a part of them: a random length */
		memcpy(data + CM_REQ_ROOM - 4, mark, sizeof(mark));
		data[CM_REQ_ROOM - 2] = (unsigned char)(data[CM_REQ_ROOM - 2] + round % 4);
		if (round % 8 == 7)
			mad[CM_REQ_QP + 15] = (unsigned char)(mad[CM_REQ_QP + 15] & ~7u); /* no retries */
	}
}

static void ask_by_hand(void *arg)
{
	uint16_t port = target_port();
	unsigned char mad[ROCE_MAD];
	uint64_t seed = 8;

	(void)arg;
	for (unsigned int i = 0; i < REQUESTS; i++) {
		odd_request(mad, i, port, &seed);
		roce_mad(card, mad);
	}
	check_await(CHECK_PARENT);
}

/* The attacker never confirms, so the attempt ends by a limit, or at once if the kernel refuses the request's values. */
static void accept_in_vain(DAT_CR_HANDLE cr)
{
	DAT_RETURN ret;

	REQUIRE_DAT(api_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	ret = dat_cr_accept(cr, end.ep, 0, NULL);
	if (ret == DAT_SUCCESS) {
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
		return;
	}
	api_end_free(&end);
	api_end_make(&end, NULL);
}

static void requests_by_hand_are_shown_and_their_accept_ends(void)
{
	DAT_EVENT event;
	DAT_COUNT more;
	int shown = 0;

	set_up();
	attacker = check_fork(ask_by_hand, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	while (dat_evd_wait(cr_evd, shown ? 3000000 : api_patience(), 1, &event, &more) == DAT_SUCCESS) {
		if (shown++ % 4 == 0)
			accept_in_vain(event.event_data.cr_arrival_event_data.cr_handle);
		else
			victim_turns_down(event.event_data.cr_arrival_event_data.cr_handle);
		api_pair_works(&honest, &buf);
	}
	CHECK(shown > 0);
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	others_are_served();
	check_signal(attacker);
	check_join(attacker);
}

/* ------------------------------------------------------------------ connections */

static void confirm(const unsigned char *reply)
{
	unsigned char mad[ROCE_MAD];

	roce_cm(mad, CM_RTU, roce_get32(reply + CM_REMOTE), roce_get32(reply + CM_LOCAL));
	roce_mad(card, mad);
}

/* Connects, ends the connection with numbers that are wrong, and then with the right ones if `again`. */
static void connect_by_hand(void *arg)
{
	bool again = *(const bool *)arg;
	uint16_t port = target_port();
	unsigned char mad[ROCE_MAD], reply[ROCE_MAD];
	uint32_t local = 0x3100, remote;

	roce_request(mad, port, local);
	roce_mad(card, mad);
	REQUIRE(roce_hear(card, CM_REP, reply, HEARD_MS));
	remote = roce_get32(reply + CM_LOCAL);
	confirm(reply);
	check_await(CHECK_PARENT);
	for (unsigned int message = CM_REQ; message < CM_LAST; message++) {
		roce_cm(mad, message, local, remote + 1);
		roce_mad(card, mad);
	}
	/* the queue pair is another one */
	roce_cm(mad, CM_DREQ, local, remote);
	roce_mad(card, mad);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	if (again) {
		memcpy(mad + CM_DREQ_QP, reply + CM_REP_QP, 3);
		roce_mad(card, mad);
	}
	check_await(CHECK_PARENT);
}

static void connection_by_hand(bool again)
{
	DAT_EVENT event;

	set_up();
	attacker = check_fork(connect_by_hand, &again);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(attacker);
	check_await(attacker);
	others_are_served();
	API_QUIET(end.connect);
	check_signal(attacker);
	if (!again) { /* the attacker has no queue pair that could acknowledge it */
		REQUIRE_DAT(api_send(end.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
		API_EVENT(end.request, &event);
		CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	}
	API_CONN_OVER(end.connect, end.ep);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	others_are_served();
	check_signal(attacker);
	check_join(attacker);
}

/* Rejects each reply as if it named a stale connection. */
static void call_each_stale(void *arg)
{
	unsigned char mad[ROCE_MAD], reply[ROCE_MAD];
	uint16_t port = target_port();

	(void)arg;
	for (unsigned int i = 0; i < REQUESTS; i++) {
		roce_request(mad, port, 0x5100 + i);
		mad[CM_REQ_QP + 2] = (unsigned char)(0x40 + i);
		roce_mad(card, mad);
		REQUIRE(roce_hear(card, CM_REP, reply, HEARD_MS));
		roce_cm(mad, CM_REJ, 0x5100 + i, roce_get32(reply + CM_LOCAL));
		mad[24 + 8] = 1 << 6; /* what is rejected: a reply */
		mad[CM_REJ_REASON + 1] = 10;
		roce_mad(card, mad);
		check_await(CHECK_PARENT);
	}
}

static void replies_that_are_called_stale_fail_and_do_not_fill_the_log(void)
{
	set_up();
	attacker = check_fork(call_each_stale, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	for (int i = 0; i < REQUESTS; i++) {
		REQUIRE_DAT(api_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
		check_signal(attacker);
	}
	CHECK(victim_lines(check_stderr_end()) < REQUESTS);
	check_join(attacker);
	others_are_served();
}

static void disconnect_that_names_another_connection_is_ignored(void)
{
	connection_by_hand(true);
}

static void peer_without_a_queue_pair_costs_its_connection(void)
{
	connection_by_hand(false);
}

/* ------------------------------------------------------------------ answers */

/* Fills in a reply that the victim takes. */
static void accept_in(unsigned char *mad)
{
	mad[CM_REP_QP + 2] = 0x21;
	mad[24 + 24] = mad[24 + 25] = 4;
	mad[24 + 27] = 7 << 5;
}

static void answer(const unsigned char *request, unsigned int round, uint64_t *seed)
{
	unsigned char mad[ROCE_MAD];

	roce_cm(mad, round % 2 ? CM_REP : CM_REJ, 0x4100 + round, roce_get32(request + CM_LOCAL));
	switch (round) {
	case 0: /* a rejection with a reason that does not exist, and with private data */
		fill(mad + CM_REJ_REASON, ROCE_MAD - CM_REJ_REASON, seed);
		break;
	case 1: /* a random reply */
		fill(mad + CM_REMOTE + 4, ROCE_MAD - CM_REMOTE - 4, seed);
		break;
	case 2: /* the provider's own word for "in two parts", which it did not ask for */
		mad[CM_REJ_REASON + 1] = 28;
		memcpy(mad + 24 + 84, "\xe7\x0d\xa7\x02", 4);
		break;
	case 3: /* more reads than a device can have, and no queue pair */
		memset(mad + CM_REP_QP, 0xff, 3);
		memset(mad + 24 + 24, 0xff, 2);
		fill(mad + CM_REP_DATA, ROCE_MAD - CM_REP_DATA, seed);
		break;
	case 5: /* a reply that is a good one; what follows it does not come */
		accept_in(mad);
		break;
	case 6: /* "wait for longer than any timeout" */
		roce_cm(mad, CM_MRA, 0x4100 + round, roce_get32(request + CM_LOCAL));
		mad[24 + 8] = 0x00;
		mad[24 + 9] = 31 << 3;
		break;
	case 7: /* nothing */
		return;
	default:
		break;
	}
	roce_mad(card, mad);
}

static void answer_by_hand(void *arg)
{
	unsigned char request[ROCE_MAD];
	uint64_t seed = 4;

	(void)arg;
	target_port();
	for (unsigned int i = 0; i < REPLIES; i++) {
		check_await(CHECK_PARENT);
		if (roce_hear(card, CM_REQ, request, HEARD_MS))
			answer(request, i, &seed);
		else
			CHECK_FAIL("the victim's request %u has not come", i);
		check_signal(CHECK_PARENT);
	}
	check_await(CHECK_PARENT);
}

static void connect_to_attacker(DAT_TIMEOUT timeout)
{
	struct sockaddr_in there = me.address;

	there.sin_addr.s_addr = inet_addr(ROCE_ATTACKER);
	REQUIRE_DAT(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&there, me.qual, timeout, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
}

static void ask_attacker(void)
{
	DAT_EVENT event;

	REQUIRE_DAT(api_recv(end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	connect_to_attacker(3000000);
	check_signal(attacker);
	check_await(attacker);
	api_pair_works(&honest, &buf);
	API_EVENT(end.connect, &event);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		CHECK(event.event_data.connect_event_data.private_data_size <= 256);
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(end.connect, end.ep);
	}
	API_EMPTY(end.connect);
	api_end_free(&end);
	api_end_make(&end, NULL);
}

static void answers_by_hand_end_the_attempt(void)
{
	set_up();
	attacker = check_fork(answer_by_hand, NULL);
	victim_opens();
	check_stderr_begin();
	check_put(attacker, &me, sizeof(me));
	for (unsigned int i = 0; i < REPLIES; i++)
		ask_attacker();
	CHECK(victim_lines(check_stderr_end()) <= FEW_LINES);
	check_signal(attacker);
	check_join(attacker);
	others_are_served();
}

/* ------------------------------------------------------------------ packets */

/* ------------------------------------------------------------------ a neighbour that moves */

enum { MOVES = 3, LATE_MS = 5000 };

/*
 * Gives the attacker's address another hardware address, so that Linux 6.0 and later reports "unreachable" for the victim's
 * attempt.
 */
static void move_neighbour(int n)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "ip neigh replace " ROCE_ATTACKER " lladdr 52:54:00:09:07:%02x dev " ROCE_CARD " nud permanent", 0x10 + n);
	REQUIRE_EQ_INT(system(command), 0);
}

/* Hears the requests of one attempt, each of which has another ID. Writes the last one to `request`. */
static void hear_requests(unsigned char *request)
{
	uint32_t id = 0;

	target_port();
	for (int i = 0; i < MOVES; i++) {
		do
			REQUIRE(roce_hear(card, CM_REQ, request, HEARD_MS));
		while (i && roce_get32(request + CM_LOCAL) == id);
		id = roce_get32(request + CM_LOCAL);
		check_signal(CHECK_PARENT);
		check_await(CHECK_PARENT);
	}
}

/* The victim is about to repeat its request when the answer to the one before arrives. */
static void answer_before_it_is_asked_again(void *arg)
{
	bool accepts = *(const bool *)arg, goes_on;
	unsigned char request[ROCE_MAD], mad[ROCE_MAD];

	hear_requests(request);
	roce_cm(mad, accepts ? CM_REP : CM_REJ, 0x6100, roce_get32(request + CM_LOCAL));
	if (accepts) {
		accept_in(mad);
	} else {
		mad[CM_REJ_REASON + 1] = 28; /* by the consumer */
		memcpy(mad + 24 + 84, "\1\2", 2);
	}
	roce_mad(card, mad);
	if (accepts)
		CHECK(roce_hear(card, CM_RTU, mad, HEARD_MS));
	goes_on = roce_hear(card, accepts ? CM_DREQ : CM_REQ, mad, LATE_MS);
	check_put(CHECK_PARENT, &goes_on, sizeof(goes_on));
	check_await(CHECK_PARENT);
}

static void answer_ends_the_attempt(bool accepts, DAT_EVENT_NUMBER number)
{
	bool goes_on;

	set_up();
	attacker = check_fork(answer_before_it_is_asked_again, &accepts);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	connect_to_attacker(DAT_TIMEOUT_INFINITE);
	for (int i = 0; i < MOVES; i++) {
		check_await(attacker);
		move_neighbour(i);
		check_signal(attacker);
	}
	API_CONN(end.connect, end.ep, number);
	check_get(attacker, &goes_on, sizeof(goes_on));
	CHECK(!goes_on);
	API_QUIET(end.connect);
	check_signal(attacker);
	check_join(attacker);
	move_neighbour(2 - 0x10); /* as it was */
}

static void reply_to_a_request_that_would_be_repeated_connects(void)
{
	answer_ends_the_attempt(true, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void rejection_of_a_request_that_would_be_repeated_ends_the_attempt(void)
{
	answer_ends_the_attempt(false, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* ------------------------------------------------------------------ packets to queue pairs */

/* Sends each kind of packet of a reliable connection to each queue pair, with a random number and content. */
static void send_packets(void *arg)
{
	const char *from = arg;
	unsigned char rest[256];
	uint64_t seed = 6;

	target_port();
	for (uint32_t qp = 1; qp < 17 + QUEUE_PAIRS; qp++)
		for (unsigned int opcode = 0; opcode < OPCODES; opcode++) {
			fill(rest, sizeof(rest), &seed);
			roce_packet(card, from, opcode, qp, (uint32_t)hostile_random(&seed) & 0x80ffffff, rest,
				    hostile_random(&seed) % sizeof(rest));
		}
	check_signal(CHECK_PARENT);
}

static void packets_of_a_stranger_harm_no_connection(void)
{
	set_up();
	attacker = check_fork(send_packets, (void *)(uintptr_t)ROCE_ATTACKER);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	api_pair_works(&honest, &buf);
	check_await(attacker);
	others_are_served();
	check_join(attacker);
}

/* They may break the connection that they are of: RoCE authenticates nobody. */
static void packets_in_the_name_of_a_peer_harm_no_other_connection(void)
{
	set_up();
	attacker = check_fork(send_packets, (void *)(uintptr_t)ROCE_VICTIM);
	victim_opens();
	check_put(attacker, &me, sizeof(me));
	check_await(attacker);
	victim_serves(&buf);
	check_join(attacker);
}

static const struct check_test management_tests[] = {
	CHECK_TEST(datagrams_of_garbage_harm_nobody),
	CHECK_TEST(requests_by_hand_are_shown_and_their_accept_ends),
	CHECK_TEST(disconnect_that_names_another_connection_is_ignored),
	CHECK_TEST(replies_that_are_called_stale_fail_and_do_not_fill_the_log),
	CHECK_TEST(peer_without_a_queue_pair_costs_its_connection),
	CHECK_TEST(answers_by_hand_end_the_attempt),
	CHECK_TEST(reply_to_a_request_that_would_be_repeated_connects),
	CHECK_TEST(rejection_of_a_request_that_would_be_repeated_ends_the_attempt),
	CHECK_END
};

static const struct check_test packet_tests[] = {
	CHECK_TEST(packets_of_a_stranger_harm_no_connection),
	CHECK_TEST(packets_in_the_name_of_a_peer_harm_no_other_connection),
	CHECK_END
};

static const struct check_suite management = { .name = "RoCE management", .teardown = tear_down, .tests = management_tests };
static const struct check_suite packets = { .name = "RoCE packets", .teardown = tear_down, .tests = packet_tests };

CHECK_SUITES(&management, &packets);
