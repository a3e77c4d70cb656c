/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that do not use libvipl, or that stop. They use <dat/udat.h>, and know libvipl's messages; they send other ones, send
 * nothing, or are stopped. The victim is the test itself. Its calls return, and an honest peer is served afterwards.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

#include "foe.h"

enum {
	MANY = 100,	   /* verdicts whose connections the peer does not end; libvipl keeps 64 of them */
	OPEN_MOST = 80,	   /* verdicts whose connections are open at once: a few more, because their ends arrive later */
	WAITING = 64,	   /* clients that libvipl keeps for VipConnectWait() */
	AT_ONCE_MOST = 64, /* connection events that libvipl may handle before it looks at what else there is to do */
	BREAKS = 10,	   /* connections that a peer breaks; libvipl has a line for three in ten seconds */
	GARBAGE = 48,	   /* requests */
	BEFORE = 20,	   /* of the private data, what is before the discriminators */
	RECEIVE = 256,
	ADAPTERS_MS = 30000, /* the time after which the adapter gives up an accept */
	SOON_MS = 1500,	   /* the time after which the library gives up a peer that has stopped */
	STEP_MS = 100,
};

static struct side s;
static pid_t peer;

/* ------------------------------------------------------------------ the victim's events */

/* How many events a thread takes off one EVD without a look at another one; a thread waits while `held` is set. */
static struct {
	_Atomic bool held;
	_Atomic int most;
} taken;

static __thread DAT_EVD_HANDLE taken_from;
static __thread int taken_in_a_row;

/* Replaces libdat's, also for libvipl. */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	static _Atomic(DAT_RETURN (*)(DAT_EVD_HANDLE, DAT_EVENT *)) real;
	DAT_RETURN ret;

	if (!atomic_load(&real))
		atomic_store(&real, (DAT_RETURN (*)(DAT_EVD_HANDLE, DAT_EVENT *))dlsym(RTLD_NEXT, "dat_evd_dequeue"));
	while (atomic_load(&taken.held))
		check_nap();
	ret = atomic_load(&real)(evd, event);
	taken_in_a_row = ret == DAT_SUCCESS && evd == taken_from ? taken_in_a_row + 1 : 1;
	taken_from = evd;
	if (taken_in_a_row > atomic_load(&taken.most))
		atomic_store(&taken.most, taken_in_a_row);
	return ret;
}

/* ------------------------------------------------------------------ the victim */

static void close_side(void)
{
	atomic_store(&taken.held, false);
	side_close(&s);
}

static VIP_RETURN look(VIP_ULONG timeout, VIP_CONN_HANDLE *conn)
{
	union address remote = { .bytes = { 0 } };

	address_make(&s, "victim", &s.local);
	return VipConnectWait(s.nic, &s.local.net, timeout, &remote.net, &s.remote, conn);
}

/* After the first VipConnectWait() the library listens. */
static void victim_listens(void)
{
	VIP_CONN_HANDLE conn;

	side_open_vi(&s);
	REQUIRE_VIP(look(0, &conn), VIP_TIMEOUT);
}

static void tell_foe(void)
{
	VIP_VI_ATTRIBUTES attr;
	uint32_t limit;

	REQUIRE_VIP(VipQueryVi(s.vi, NULL, &attr, NULL, NULL), VIP_SUCCESS);
	limit = (uint32_t)attr.MaxTransferSize;
	check_put(peer, &limit, sizeof(limit));
}

/* Checks that another VI on the same adapter can connect and exchange data. */
static void others_are_served(void)
{
	struct side a = { .nic = NULL }, b = { .nic = NULL };

	side_open_vi(&a);
	side_open_vi(&b);
	sides_connect(&a, &b);
	post_recv(&a, 0, 64);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	side_close(&b);
	side_close(&a);
}

static void accept_next(void)
{
	VIP_CONN_HANDLE conn;

	REQUIRE_VIP(look(check_patience_ms(), &conn), VIP_SUCCESS);
	REQUIRE_VIP(VipConnectAccept(conn, s.vi), VIP_SUCCESS);
}

static void victim_parts(void)
{
	CHECK_VIP(VipDisconnect(s.vi), VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	side_drain(&s);
}

/* ------------------------------------------------------------------ garbage */

static const char *victims_disc(void)
{
	static char disc[32];

	return disc_make("victim", disc);
}

static void spoil_hello(unsigned char *hello, DAT_COUNT *size, unsigned int round)
{
	static unsigned int seed = 3;

	switch (round % 8) {
	case 0:
		*size = 0;
		break;
	case 1:
		*size = 19;
		break;
	case 2:
		hello[round / 8 % 2 ? 2 : 4] = 99; /* another version, or no level */
		break;
	case 3:
		hello[5] = (unsigned char)(1 + round / 8 % 4); /* a verdict instead of a request */
		break;
	case 4:
		hello[7] = 17; /* longer than a discriminator may be */
		break;
	case 5:
		hello[6] = 16; /* longer than the data */
		break;
	case 6: /* the one discriminator is longer than it may be, and the other one so short that all of it is there */
		memset(hello + BEFORE, 'x', HELLO - BEFORE);
		*size = HELLO;
		hello[round / 8 % 2 ? 6 : 7] = 24;
		hello[round / 8 % 2 ? 7 : 6] = 8;
		break;
	default:
		*size = (DAT_COUNT)(round % (HELLO + 1));
		for (DAT_COUNT i = 0; i < *size; i++)
			hello[i] = (unsigned char)rand_r(&seed);
	}
}

static void ask_with_garbage(void *arg)
{
	unsigned char hello[HELLO];
	DAT_COUNT size;

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	for (unsigned int i = 0; i < GARBAGE; i++) {
		size = hello_to(victims_disc(), UINT32_MAX, hello);
		spoil_hello(hello, &size, i);
		ask(victims_disc(), size, hello);
		CHECK_EQ_INT(verdict(), -1);
		REQUIRE_DAT(dat_ep_free(foe.ep), DAT_SUCCESS);
	}
	/* a valid request is accepted, so the others were refused because of their errors */
	size = hello_to(victims_disc(), UINT32_MAX, hello);
	ask(victims_disc(), size, hello);
	CHECK_EQ_INT(verdict(), 1);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void requests_that_are_not_libvipls_are_refused(void)
{
	peer = check_fork(ask_with_garbage, NULL);
	victim_listens();
	tell_foe();
	accept_next();
	check_await(peer);
	victim_parts();
	check_signal(peer);
	check_join(peer);
	others_are_served();
}

static void answer_with_garbage(void *arg)
{
	unsigned char data[HELLO];
	unsigned int seed = 5;
	DAT_PSP_HANDLE psp;

	(void)arg;
	foe_open();
	for (unsigned int probe = 0; probe < 4; probe++)
		REQUIRE_DAT(dat_psp_create(foe.ia, door_of(victims_disc(), probe), foe.cr, DAT_PSP_CONSUMER_FLAG, &psp),
			    DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	for (unsigned int i = 0;; i++) {
		DAT_EVENT event = next(foe.cr);
		DAT_CR_HANDLE cr = event.event_data.cr_arrival_event_data.cr_handle;

		for (unsigned int at = 0; at < HELLO; at++)
			data[at] = (unsigned char)rand_r(&seed);
		if (i % 3 == 0)
			memcpy(data, "VI\2", 3);
		REQUIRE_DAT(dat_cr_accept(cr, endpoint(), (DAT_COUNT)(i % 2 ? HELLO : i % HELLO), data), DAT_SUCCESS);
	}
}

static VIP_RETURN request(const char *disc, VIP_ULONG timeout)
{
	union address local, remote;

	address_make(&s, "me", &local);
	address_make(&s, disc, &remote);
	return VipConnectRequest(s.vi, &local.net, &remote.net, timeout, &s.remote);
}

static void answers_that_are_not_libvipls_are_no_match(void)
{
	peer = check_fork(answer_with_garbage, NULL);
	check_await(peer);
	side_open_vi(&s);
	post_recv(&s, 0, 64);
	for (int i = 0; i < 6; i++) {
		CHECK_VIP(request("victim", check_patience_ms()), VIP_NO_MATCH);
		CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	}
	check_kill(peer);
	others_are_served();
}

/* ------------------------------------------------------------------ messages */

/* Messages that are sent to a receive of RECEIVE bytes. */
static const struct {
	unsigned char head[16];
	uint32_t length; /* of the whole message */
} messages[] = {
	{ { 0 }, 0 },
	{ { 1 }, 1 },
	{ { 1 }, 15 },
	{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 16 + 100 },
	{ { 2, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }, 16 },
	{ { 3 }, 16 },
	{ { 1 }, 16 + RECEIVE + 1 },
	{ { 1 }, MEMORY },
	{ { 1 }, 16 + 8 }, /* one that a libvipl could send */
};

enum { MESSAGES = sizeof(messages) / sizeof(messages[0]), CORRECT = MESSAGES - 1, TOO_LONG = MESSAGES - 2 };

static void say(unsigned int which)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = foe.context, .virtual_address = (uintptr_t)foe.mem,
				.segment_length = messages[which].length };
	DAT_DTO_COOKIE cookie = { .as_64 = which };

	memset(foe.mem, 0xee, sizeof(foe.mem));
	memcpy(foe.mem, messages[which].head, 16);
	REQUIRE_DAT(dat_ep_post_send(foe.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
}

static void say_each(void *arg)
{
	unsigned char hello[HELLO];

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	for (unsigned int i = 0; i < MESSAGES; i++) {
		DAT_COUNT size = hello_to(victims_disc(), UINT32_MAX, hello);

		hello[3] = i % 2 ? 8 : 0; /* announces a greeting that is never sent */
		ask(victims_disc(), size, hello);
		REQUIRE_EQ_INT(verdict(), 1);
		say(i);
		check_await(CHECK_PARENT);
		REQUIRE_DAT(dat_ep_free(foe.ep), DAT_SUCCESS);
		check_signal(CHECK_PARENT);
	}
}

/* Checks that nothing is written beyond the receive, and that its length is within it, unless it announces an RDMA write. */
static void receive_anything(void)
{
	uint8_t *memory = buffer(&s, 0);
	VIP_DESCRIPTOR *d;

	memset(memory, 0x11, SLOT_SIZE);
	post_recv(&s, 0, RECEIVE);
	accept_next();
	if (VipRecvWait(s.vi, SOON_MS, &d) == VIP_SUCCESS &&
	    (d->CS.Status & VIP_STATUS_OP_MASK) == VIP_STATUS_OP_RECEIVE)
		CHECK(d->CS.Length <= RECEIVE);
	for (int i = RECEIVE; i < SLOT_SIZE; i++)
		REQUIRE_EQ_INT(memory[i], 0x11);
}

static void messages_that_are_not_libvipls_stay_in_their_receive(void)
{
	peer = check_fork(say_each, NULL);
	victim_listens();
	tell_foe();
	for (int i = 0; i < MESSAGES; i++) {
		receive_anything();
		/* a side that has accepted and waits for a greeting does not wait for ever */
		if (i < 2)
			post_send(&s, 1, 8);
		victim_parts();
		check_signal(peer);
		check_await(peer);
	}
	check_join(peer);
	others_are_served();
}

/* ------------------------------------------------------------------ peers that do not disconnect */

static void ask_for_nobody(void *arg)
{
	static const char nobody[] = "nobody here";
	unsigned char hello[HELLO];
	int open = 0, most = 0;

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	for (int i = 0; i < MANY; i++) {
		DAT_COUNT size = hello_to(nobody, UINT32_MAX, hello);
		DAT_EVENT event;

		ask(victims_disc(), size, hello);
		do {
			event = next(foe.connect);
			open += event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED ? 1 : -1;
			most = open > most ? open : most;
		} while (event.event_data.connect_event_data.ep_handle != foe.ep);
		CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	CHECK(most <= OPEN_MOST);
	/* the victim ends all connections */
	while (open > 0) {
		next(foe.connect);
		open--;
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void clients_that_do_not_disconnect_are_disconnected(void)
{
	peer = check_fork(ask_for_nobody, NULL);
	victim_listens();
	tell_foe();
	check_await(peer);
	others_are_served();
	check_signal(peer);
	check_join(peer);
}

/* Sends all requests before the first is answered. */
static void ask_at_once(void *arg)
{
	unsigned char hello[HELLO];
	DAT_COUNT size;

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	size = hello_to("nobody here", UINT32_MAX, hello);
	check_await(CHECK_PARENT);
	for (int i = 0; i < MANY; i++)
		ask(victims_disc(), size, hello);
	check_signal(CHECK_PARENT);
	for (int i = 0; i < MANY;)
		i += next(foe.connect).event_number != DAT_CONNECTION_EVENT_DISCONNECTED;
	check_signal(CHECK_PARENT);
}

static void flood_of_requests_does_not_keep_the_library(void)
{
	peer = check_fork(ask_at_once, NULL);
	victim_listens();
	tell_foe();
	atomic_store(&taken.most, 0);
	atomic_store(&taken.held, true);
	check_signal(peer);
	check_await(peer);
	atomic_store(&taken.held, false);
	check_await(peer);
	CHECK(atomic_load(&taken.most) <= AT_ONCE_MOST);
	check_join(peer);
	others_are_served();
}

static void ask_many_times(void *arg)
{
	unsigned char hello[HELLO];
	DAT_COUNT size;

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	size = hello_to(victims_disc(), UINT32_MAX, hello);
	for (int i = 0; i <= WAITING; i++)
		ask(victims_disc(), size, hello);
	/* the one that finds no place gets a verdict, and the others none yet */
	CHECK_EQ_INT(verdict(), 2);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void clients_that_find_no_place_to_wait_are_told_so(void)
{
	peer = check_fork(ask_many_times, NULL);
	victim_listens();
	tell_foe();
	check_await(peer);
	others_are_served();
	check_signal(peer);
	check_join(peer);
}

/* Over an adapter where nobody greets a client's announcement of a greeting is wrong. Its first message is the program's. */
static void announce_a_greeting(void *arg)
{
	unsigned char hello[HELLO];
	DAT_COUNT size;

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	size = hello_to(victims_disc(), UINT32_MAX, hello);
	hello[3] = 8;
	ask(victims_disc(), size, hello);
	REQUIRE_EQ_INT(verdict(), 1);
	say(CORRECT);
	check_await(CHECK_PARENT);
}

static void greeting_where_nobody_greets_is_not_awaited(void)
{
	VIP_DESCRIPTOR *d;

	if (strncmp(adapter(), "iwarp-", 6) == 0)
		check_skip("over iWARP clients greet");
	peer = check_fork(announce_a_greeting, NULL);
	victim_listens();
	post_recv(&s, 0, RECEIVE);
	tell_foe();
	accept_next();
	REQUIRE_VIP(VipRecvWait(s.vi, check_patience_ms(), &d), VIP_SUCCESS);
	CHECK_EQ_INT(d->CS.Length, 8);
	victim_parts();
	check_signal(peer);
	check_join(peer);
	others_are_served();
}

static void break_each(void *arg)
{
	unsigned char hello[HELLO];

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	for (int i = 0; i < BREAKS; i++) {
		DAT_COUNT size = hello_to(victims_disc(), UINT32_MAX, hello);

		ask(victims_disc(), size, hello);
		REQUIRE_EQ_INT(verdict(), 1);
		check_await(CHECK_PARENT);
		say(TOO_LONG);
		check_await(CHECK_PARENT);
		REQUIRE_DAT(dat_ep_free(foe.ep), DAT_SUCCESS);
		check_signal(CHECK_PARENT);
	}
}

static int times_said(const char *text, const char *words)
{
	int times = 0;

	for (; (text = strstr(text, words)) != NULL; text++)
		times++;
	return times;
}

static void connections_that_break_do_not_use_up_the_log(void)
{
	VIP_DESCRIPTOR *d;

	peer = check_fork(break_each, NULL);
	victim_listens();
	tell_foe();
	check_stderr_begin();
	for (int i = 0; i < BREAKS; i++) {
		post_recv(&s, 0, RECEIVE);
		accept_next();
		check_signal(peer);
		/* over a device the VI learns of the break only when its completions are looked at */
		VipRecvWait(s.vi, check_patience_ms(), &d);
		REQUIRE_SOON(state_of(&s) == VIP_STATE_ERROR);
		CHECK_VIP(VipDisconnect(s.vi), VIP_SUCCESS);
		side_drain(&s);
		check_signal(peer);
		check_await(peer);
	}
	CHECK(times_said(check_stderr_end(), "a connection has broken") < BREAKS);
	check_join(peer);
	others_are_served();
}

/* ------------------------------------------------------------------ peers that are stopped */

static void ask_and_wait(void *arg)
{
	struct side client = { .nic = NULL };
	union address local, remote;

	side_open_vi(&client);
	check_await(CHECK_PARENT);
	address_make(&client, "me", &local);
	address_make(&client, "victim", &remote);
	VipConnectRequest(client.vi, &local.net, &remote.net, *(const VIP_ULONG *)arg, NULL);
	for (;;)
		pause();
}

/* Over iWARP the kernel confirms, and then the VI is connected. */
static void accept_a_stopped_client(VIP_ULONG timeout, uint64_t limit_ms)
{
	VIP_CONN_HANDLE conn;
	uint64_t since;
	VIP_RETURN ret;

	peer = check_fork(ask_and_wait, &timeout);
	victim_listens();
	post_recv(&s, 0, 64);
	check_signal(peer);
	REQUIRE_VIP(look(check_patience_ms(), &conn), VIP_SUCCESS);
	check_stop(peer);
	since = check_now_ms();
	ret = VipConnectAccept(conn, s.vi);
	CHECK(ret == VIP_TIMEOUT || ret == VIP_SUCCESS);
	/* the call returned at the client's timeout or its own, and not at the adapter's */
	CHECK(check_now_ms() - since < limit_ms);
	if (ret == VIP_SUCCESS) {
		post_send(&s, 1, 8);
		victim_parts();
	}
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	others_are_served();
	REQUIRE(kill(peer, SIGCONT) == 0);
	others_are_served();
	check_kill(peer);
}

static void accepting_a_stopped_client_returns_by_its_timeout(void)
{
	accept_a_stopped_client(SOON_MS, check_patience_ms() / 2);
}

static void accepting_a_stopped_client_without_a_timeout_returns(void)
{
	if (check_is_brief())
		check_skip("libvipl waits ten seconds for such a client");
	accept_a_stopped_client(VIP_INFINITE, ADAPTERS_MS);
}

static void peer_with_a_stopped_one(void *arg)
{
	struct side other = { .nic = NULL };
	union address local, remote;

	(void)arg;
	side_open_vi(&other);
	address_make(&other, "aa", &local);
	address_make(&other, "bb", &remote);
	check_await(CHECK_PARENT);
	VipConnectPeerRequest(other.vi, &local.net, &remote.net, VIP_INFINITE);
	/* the process is stopped during one of its attempts, or between two of them */
	for (;;)
		pause();
}

static void connecting_to_a_stopped_peer_ends_by_its_timeout(void)
{
	union address local, remote;

	for (unsigned int i = 0; i < 3; i++) {
		peer = check_fork(peer_with_a_stopped_one, NULL);
		side_open_vi(&s);
		address_make(&s, "bb", &local);
		address_make(&s, "aa", &remote);
		check_signal(peer);
		usleep(i * STEP_MS * 1000 / 3);
		check_stop(peer);
		REQUIRE_VIP(VipConnectPeerRequest(s.vi, &local.net, &remote.net, SOON_MS), VIP_SUCCESS);
		CHECK_VIP(VipConnectPeerWait(s.vi, &s.remote), VIP_TIMEOUT);
		CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
		check_kill(peer);
		side_close(&s);
	}
}

/* Asks as libvipl's VipConnectPeerRequest() of "aa" does. It is stopped when the answer comes. */
static void ask_as_a_peer(void *arg)
{
	unsigned char hello[HELLO];
	char from[32], to[32];
	DAT_COUNT size;

	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	disc_make("aa", from);
	size = hello_to(disc_make("bb", to), UINT32_MAX, hello);
	memcpy(hello + BEFORE, from, strlen(from));
	memcpy(hello + BEFORE + strlen(from), to, strlen(to));
	hello[3] = 1;
	hello[6] = (unsigned char)strlen(from);
	ask(to, size + hello[6], hello);
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

static void accepting_a_stopped_peer_ends_by_its_timeout(void)
{
	union address local, remote;
	uint64_t since;
	VIP_RETURN ret;

	peer = check_fork(ask_as_a_peer, NULL);
	side_open_vi(&s);
	post_recv(&s, 0, 64);
	address_make(&s, "bb", &local);
	address_make(&s, "aa", &remote);
	REQUIRE_VIP(VipConnectPeerRequest(s.vi, &local.net, &remote.net, 2 * SOON_MS), VIP_SUCCESS);
	since = check_now_ms();
	atomic_store(&taken.held, true);
	tell_foe();
	check_await(peer);
	usleep(STEP_MS * 1000); /* so that the request is mostly there before the peer stops */
	check_stop(peer);
	atomic_store(&taken.held, false);
	ret = VipConnectPeerWait(s.vi, &s.remote);
	/* over iWARP the kernel confirms */
	CHECK(ret == VIP_TIMEOUT || ret == VIP_SUCCESS);
	CHECK(check_now_ms() - since < ADAPTERS_MS);
	if (ret == VIP_SUCCESS)
		victim_parts();
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	others_are_served();
	check_kill(peer);
}

static void listen_and_be_stopped(void *arg)
{
	struct side server = { .nic = NULL };

	(void)arg;
	side_open_vi(&server);
	server_start(&server, "stopped");
	check_signal(CHECK_PARENT);
	server_join(&server);
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

static void asking_a_stopped_server_ends_by_its_timeout(void)
{
	peer = check_fork(listen_and_be_stopped, NULL);
	side_open_vi(&s);
	post_recv(&s, 0, 64);
	check_await(peer);
	check_stop(peer);
	CHECK_VIP(request("stopped", SOON_MS), VIP_TIMEOUT);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	others_are_served();
	check_kill(peer);
}

/* Ends everything while the peer is stopped, with messages outstanding and without a disconnect before. */
static void end_with_a_stopped_peer(bool goes_on)
{
	peer = check_fork(listen_and_be_stopped, NULL);
	side_open_vi(&s);
	for (unsigned int i = 0; i < 4; i++)
		post_recv(&s, i, 64);
	check_await(peer);
	REQUIRE_VIP(request("stopped", check_patience_ms()), VIP_SUCCESS);
	check_await(peer);
	for (unsigned int i = 4; i < 8; i++)
		post_send(&s, i, i % 2 ? 8 : SLOT_SIZE);
	check_stop(peer);
	for (unsigned int i = 8; i < 12; i++)
		VipPostSend(s.vi, prepare(&s, i, SLOT_SIZE), s.handle);
	victim_parts();
	/* calls VipDestroyVi(), VipDeregisterMem() and VipCloseNic() */
	side_close(&s);
	others_are_served();
	if (goes_on)
		REQUIRE(kill(peer, SIGCONT) == 0);
	others_are_served();
	check_kill(peer);
}

static void ending_a_connection_does_not_wait_for_a_stopped_peer(void)
{
	end_with_a_stopped_peer(true);
	end_with_a_stopped_peer(false);
}

static const struct check_test garbage_tests[] = {
	CHECK_TEST(requests_that_are_not_libvipls_are_refused),
	CHECK_TEST(answers_that_are_not_libvipls_are_no_match),
	CHECK_TEST(messages_that_are_not_libvipls_stay_in_their_receive),
	CHECK_TEST(greeting_where_nobody_greets_is_not_awaited),
	CHECK_TEST(clients_that_do_not_disconnect_are_disconnected),
	CHECK_TEST(flood_of_requests_does_not_keep_the_library),
	CHECK_TEST(clients_that_find_no_place_to_wait_are_told_so),
	CHECK_TEST(connections_that_break_do_not_use_up_the_log),
	CHECK_END,
};

static const struct check_test stopping_tests[] = {
	CHECK_TEST(accepting_a_stopped_client_returns_by_its_timeout),
	CHECK_TEST(accepting_a_stopped_client_without_a_timeout_returns),
	CHECK_TEST(connecting_to_a_stopped_peer_ends_by_its_timeout),
	CHECK_TEST(accepting_a_stopped_peer_ends_by_its_timeout),
	CHECK_TEST(asking_a_stopped_server_ends_by_its_timeout),
	CHECK_TEST(ending_a_connection_does_not_wait_for_a_stopped_peer),
	CHECK_END,
};

static const struct check_suite garbage = {
	.name = "what is not libvipl", .teardown = close_side, .tests = garbage_tests
};
static const struct check_suite stopping = {
	.name = "peers that stop", .teardown = close_side, .tests = stopping_tests
};

CHECK_SUITES(&garbage, &stopping);
