/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that come over a connection before it is known whether it stands. A server that refuses is connected for a while, too,
 * and a client is connected before the accept has returned. What a peer sends then is received only if the connection stands. The
 * victim is the test itself; its keeper learns of the first connection when another thread has taken the messages off the queue.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "foe.h"

enum {
	SHORT = 32, LONG = 256, /* the two receives: of different kinds in libvipl */
	HEAD = 16,		/* of a message */
	APART = 1024,		/* in the foe's memory */
	PROBES = 4,		/* qualifiers at which a server may listen */
	POLLED = 8,
};

enum { ACCEPTS = 1, NO_MATCH = 2, REJECTS = 3 }; /* verdicts: vipl/wire.h */

static struct side s, honest;
static pid_t peer;

/* ------------------------------------------------------------------ the foe */

/* What the foe does, and the lengths of the data of its messages. */
static struct {
	const char *disc;
	unsigned int doors;
	unsigned char verdict;
	int count;
	uint32_t length[2];
} foes;

/* Sends all messages. They begin with the same text, and with a number. */
static void say_all(void)
{
	for (int i = 0; i < foes.count; i++) {
		unsigned char *at = foe.mem + i * APART;
		DAT_LMR_TRIPLET iov = { .lmr_context = foe.context, .virtual_address = (uintptr_t)at,
					.segment_length = HEAD + foes.length[i] };
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

		memset(at, 0, APART);
		at[0] = 1;
		strcpy((char *)at + HEAD, "foe");
		at[HEAD + 3] = (unsigned char)('0' + i);
		REQUIRE_DAT(dat_ep_post_send(foe.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	}
}

static void serve_and_say(void *arg)
{
	unsigned char data[20] = "VI\2";
	char disc[32];
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	(void)arg;
	foe_open();
	for (unsigned int i = 0; i < foes.doors; i++)
		REQUIRE_DAT(dat_psp_create(foe.ia, door_of(disc_make(foes.disc, disc), i), foe.cr, DAT_PSP_CONSUMER_FLAG, &psp),
			    DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	data[5] = foes.verdict;
	for (;;) {
		event = next(foe.cr);
		foe.ep = endpoint();
		REQUIRE_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, foe.ep, sizeof(data), data),
			    DAT_SUCCESS);
		while (next(foe.connect).event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			;
		say_all();
	}
}

static void ask_and_say(void *arg)
{
	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	ask_as_client(foes.disc, foes.disc, 0);
	REQUIRE_EQ_INT(verdict(), ACCEPTS);
	say_all();
	check_await(CHECK_PARENT);
}

/* ------------------------------------------------------------------ the victim */

/* The keeper of the victim waits with the event of a connection until so many messages are taken, and until it may go on. */
static struct {
	_Atomic int wanted; /* 0: it does not wait */
	_Atomic bool go;
	_Atomic int taken; /* off the victim's queues */
} gate;

static void keeper_waits(int wanted)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while ((atomic_load(&gate.taken) < wanted || !atomic_load(&gate.go)) && check_now_ms() < until)
		check_nap();
}

/* Replaces libdat's, also for libvipl. */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	static _Atomic(DAT_RETURN (*)(DAT_EVD_HANDLE, DAT_EVENT *)) real;
	DAT_RETURN ret;

	if (!atomic_load(&real))
		atomic_store(&real, (DAT_RETURN (*)(DAT_EVD_HANDLE, DAT_EVENT *))dlsym(RTLD_NEXT, "dat_evd_dequeue"));
	ret = atomic_load(&real)(evd, event);
	if (ret != DAT_SUCCESS)
		return ret;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT &&
	    event->event_data.dto_completion_event_data.status != DAT_DTO_ERR_FLUSHED)
		atomic_fetch_add(&gate.taken, 1);
	else if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		keeper_waits(atomic_exchange(&gate.wanted, 0));
	return ret;
}

/* The same. The keeper may go on when a thread gives up the attempt. */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	static _Atomic(DAT_RETURN (*)(DAT_EP_HANDLE, DAT_CLOSE_FLAGS)) real;

	if (!atomic_load(&real))
		atomic_store(&real, (DAT_RETURN (*)(DAT_EP_HANDLE, DAT_CLOSE_FLAGS))dlsym(RTLD_NEXT, "dat_ep_disconnect"));
	atomic_store(&gate.go, true);
	return atomic_load(&real)(ep, flags);
}

/* The thread that takes the receives of the victim, and what it has got. */
static struct {
	pthread_t thread;
	bool runs;
	_Atomic bool stop;
	_Atomic int count;
	VIP_DESCRIPTOR *descriptor[POLLED];
	VIP_RETURN ret[POLLED];
} poller;

static void *poll_receives(void *arg)
{
	VIP_DESCRIPTOR *d;
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;
	VIP_RETURN ret;

	(void)arg;
	while (!atomic_load(&poller.stop)) {
		int n = atomic_load(&poller.count);

		if (s.cq != NULL && VipCQDone(s.cq, &vi, &recv) != VIP_SUCCESS) {
			check_nap();
			continue;
		}
		ret = VipRecvDone(s.vi, &d);
		if (s.cq != NULL)
			CHECK(recv && d != NULL && ret != VIP_NOT_DONE);
		if (d == NULL || n == POLLED) {
			check_nap();
			continue;
		}
		poller.descriptor[n] = d;
		poller.ret[n] = ret;
		atomic_store(&poller.count, n + 1);
	}
	return NULL;
}

/* Opens the sides, posts two receives, and begins to poll. The keeper waits for the foe's messages. */
static void begin(void (*run)(void *), bool with_cq)
{
	peer = check_fork(run, NULL);
	side_open(&s);
	if (with_cq)
		REQUIRE_VIP(VipCreateCQ(s.nic, 64, &s.cq), VIP_SUCCESS);
	s.attr = (VIP_VI_ATTRIBUTES){ .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY };
	side_create_vi(&s);
	side_open(&honest);
	honest.attr = s.attr;
	side_create_vi(&honest);
	post_recv(&s, 0, SHORT);
	post_recv(&s, 1, LONG);
	REQUIRE(pthread_create(&poller.thread, NULL, poll_receives, NULL) == 0);
	poller.runs = true;
	atomic_store(&gate.go, true);
	atomic_store(&gate.wanted, foes.count);
}

static void poller_stop(void)
{
	atomic_store(&poller.stop, true);
	if (poller.runs)
		pthread_join(poller.thread, NULL);
	poller.runs = false;
}

static void end(void)
{
	atomic_store(&gate.wanted, 0);
	atomic_store(&gate.go, true);
	poller_stop();
	if (peer > 0)
		check_kill(peer);
	peer = 0;
	side_close(&honest);
	side_close(&s);
	memset(&poller, 0, sizeof(poller));
	memset(&gate, 0, sizeof(gate));
	memset(&foes, 0, sizeof(foes));
}

/* The n-th receive that is completed is that of slot n, with this status, and its data begin with this text. */
static void expect_polled(int n, uint32_t status, const char *text)
{
	REQUIRE_SOON(atomic_load(&poller.count) > n);
	REQUIRE(poller.descriptor[n] == descriptor(&s, (unsigned int)n));
	CHECK_EQ_INT(poller.descriptor[n]->CS.Status, status | VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE);
	CHECK_VIP(poller.ret[n], status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
	if (text != NULL)
		CHECK_EQ_STR((const char *)buffer(&s, (unsigned int)n), text);
}

/* Checks that the connection that the victim has now is with the honest side, and that both receives were left for it. */
static void honest_is_received(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		strcpy((char *)buffer(&honest, 3 + i), i ? "more" : "honest");
		post_send(&honest, 3 + i, 8);
	}
	expect_polled(0, 0, "honest");
	expect_polled(1, 0, "more");
}

static VIP_RETURN request(const char *disc)
{
	union address local, remote;

	address_make(&s, "me", &local);
	address_make(&s, disc, &remote);
	return VipConnectRequest(s.vi, &local.net, &remote.net, check_patience_ms(), &s.remote);
}

/* The honest server listens at the second qualifier of the discriminator, because the foe has the first. */
static void without_a_match(bool with_cq)
{
	foes.disc = "victim";
	foes.verdict = NO_MATCH;
	foes.doors = foes.count = 1;
	foes.length[0] = 8;
	begin(serve_and_say, with_cq);
	check_await(peer);
	server_start(&honest, "victim");
	client_connect(&s, "victim");
	server_join(&honest);
	CHECK(atomic_load(&gate.taken) > 0);
	honest_is_received();
}

static void no_message_of_a_server_without_a_match_is_received(void)
{
	without_a_match(false);
}

static void nor_has_a_completion_queue_an_entry_for_it(void)
{
	without_a_match(true);
}

static void rejected(bool with_cq, uint32_t length)
{
	foes.disc = "victim";
	foes.verdict = REJECTS;
	foes.doors = PROBES;
	foes.count = 1;
	foes.length[0] = length;
	begin(serve_and_say, with_cq);
	check_await(peer);
	REQUIRE_VIP(request("victim"), VIP_REJECT);
	CHECK(atomic_load(&gate.taken) > 0);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	sides_connect(&honest, &s);
	honest_is_received();
}

static void no_message_of_a_server_that_rejects_is_received(void)
{
	rejected(false, 8);
	CHECK_EQ_INT(atomic_load(&poller.count), 2);
}

static void nor_has_a_completion_queue_an_entry_for_that(void)
{
	rejected(true, 8);
	CHECK_EQ_INT(atomic_load(&poller.count), 2);
}

static void one_that_is_too_long_uses_up_no_receive(void)
{
	rejected(false, SHORT + 1);
}

static void nor_does_one_without_a_header(void)
{
	rejected(false, (uint32_t)-8);
}

static void no_message_of_a_peer_that_rejects_is_received(void)
{
	union address local, remote;

	foes.disc = "zz";
	foes.verdict = REJECTS;
	foes.doors = PROBES;
	foes.count = 1;
	foes.length[0] = 8;
	begin(serve_and_say, false);
	check_await(peer);
	address_make(&s, "aa", &local);
	address_make(&s, "zz", &remote);
	REQUIRE_VIP(VipConnectPeerRequest(s.vi, &local.net, &remote.net, check_patience_ms()), VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(s.vi, NULL), VIP_REJECT);
	CHECK(atomic_load(&gate.taken) > 0);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	sides_connect(&honest, &s);
	honest_is_received();
}

static void accepted(bool with_cq, uint32_t second)
{
	foes.disc = "victim";
	foes.verdict = ACCEPTS;
	foes.doors = 1;
	foes.count = 2;
	foes.length[0] = 8;
	foes.length[1] = second;
	begin(serve_and_say, with_cq);
	check_await(peer);
	REQUIRE_VIP(request("victim"), VIP_SUCCESS);
	CHECK(atomic_load(&gate.taken) >= 2);
	expect_polled(0, 0, "foe0");
	CHECK_EQ_INT(descriptor(&s, 0)->CS.Length, 8);
}

static void early_messages_of_a_server_that_accepts_are_received_in_order(void)
{
	accepted(false, 64);
	expect_polled(1, 0, "foe1");
	CHECK_EQ_INT(descriptor(&s, 1)->CS.Length, 64);
}

static void and_have_entries_of_a_completion_queue(void)
{
	accepted(true, 64);
	expect_polled(1, 0, "foe1");
}

static void an_early_message_that_is_too_long_breaks_the_connection(void)
{
	accepted(false, LONG + 1);
	expect_polled(1, VIP_STATUS_LENGTH_ERROR, NULL);
	REQUIRE_SOON(state_of(&s) == VIP_STATE_ERROR);
}

static void *accept_foe(void *conn)
{
	VipConnectAccept(conn, s.vi);
	CHECK_FAIL("the accept is not cancelled");
	return NULL;
}

static void no_message_of_an_accept_that_is_cancelled_is_received(void)
{
	union address remote = { .bytes = { 0 } };
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	pthread_t thread;

	foes.disc = "victim";
	foes.count = 1;
	foes.length[0] = 8;
	begin(ask_and_say, false);
	atomic_store(&gate.go, false);
	address_make(&s, "victim", &s.local);
	REQUIRE_VIP(VipConnectWait(s.nic, &s.local.net, 0, &remote.net, &s.remote, &conn), VIP_TIMEOUT);
	REQUIRE_VIP(VipQueryVi(s.vi, NULL, &attr, NULL, NULL), VIP_SUCCESS);
	mtu = (uint32_t)attr.MaxTransferSize;
	check_put(peer, &mtu, sizeof(mtu));
	REQUIRE_VIP(VipConnectWait(s.nic, &s.local.net, check_patience_ms(), &remote.net, &s.remote, &conn), VIP_SUCCESS);
	REQUIRE(pthread_create(&thread, NULL, accept_foe, conn) == 0);
	CHECK_SOON(atomic_load(&gate.taken) > 0);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	sides_connect(&honest, &s);
	honest_is_received();
}

static const struct check_test tests[] = {
	CHECK_TEST(no_message_of_a_server_without_a_match_is_received),
	CHECK_TEST(nor_has_a_completion_queue_an_entry_for_it),
	CHECK_TEST(no_message_of_a_server_that_rejects_is_received),
	CHECK_TEST(nor_has_a_completion_queue_an_entry_for_that),
	CHECK_TEST(one_that_is_too_long_uses_up_no_receive),
	CHECK_TEST(nor_does_one_without_a_header),
	CHECK_TEST(no_message_of_a_peer_that_rejects_is_received),
	CHECK_TEST(early_messages_of_a_server_that_accepts_are_received_in_order),
	CHECK_TEST(and_have_entries_of_a_completion_queue),
	CHECK_TEST(an_early_message_that_is_too_long_breaks_the_connection),
	CHECK_TEST(no_message_of_an_accept_that_is_cancelled_is_received),
	CHECK_END,
};
static const struct check_suite verdict_suite = { .name = "before the verdict", .teardown = end, .tests = tests };

CHECK_SUITES(&verdict_suite);
