/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that are cancelled while they wait: the objects that they used can be used by others. The result must be the
 * same whether the thread sleeps already when it is cancelled, so the tests do not wait for that: in some
 * rounds the thread sleeps, in others it is about to.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

enum { ROUNDS = 20 };

static struct side a, b;	/* the server, the client */

/* A thread that waits, and its results. */
struct sleeper {
	pthread_t thread;
	bool running;
	bool finished;			/* the call has returned, so the thread was not cancelled in it */
	VIP_RETURN ret;
	VIP_DESCRIPTOR *descriptor;
	VIP_VI_HANDLE vi;
	VIP_BOOLEAN recv;
	VIP_CONN_HANDLE conn;
	union address local, remote;
};

static struct sleeper one, two;

static void sleeper_start(struct sleeper *s, void *(*wait)(void *))
{
	s->finished = false;
	REQUIRE(pthread_create(&s->thread, NULL, wait, s) == 0);
	s->running = true;
}

static void sleeper_join(struct sleeper *s)
{
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

/* Cancels the thread; in every other round after a nap, in which it can fall asleep. */
static void sleeper_cancel(struct sleeper *s, int round)
{
	if (round % 2)
		check_nap();
	pthread_cancel(s->thread);
	sleeper_join(s);
	CHECK(!s->finished);
}

static void open_connected(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
	sides_connect(&a, &b);
}

static void open_with_cq(void)
{
	sides_open_with_cq(&a, &b);
}

static void open_sides(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
}

static void close_sides(void)
{
	sleeper_join(&one);
	sleeper_join(&two);
	side_close(&b);
	side_close(&a);
}

static void *wait_for_recv(void *arg)
{
	struct sleeper *s = arg;

	s->ret = VipRecvWait(a.vi, VIP_INFINITE, &s->descriptor);
	s->finished = true;
	return NULL;
}

/* If two threads wait for one queue, one of them sleeps in uDAPL, and the other waits for that one. */
static void whoever_is_left_gets_the_message(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct sleeper *goes = i / 2 % 2 ? &one : &two, *stays = i / 2 % 2 ? &two : &one;

		post_recv(&a, 0, 64);
		sleeper_start(&one, wait_for_recv);
		if (i % 2)
			check_nap();
		sleeper_start(&two, wait_for_recv);
		sleeper_cancel(goes, i);
		post_send(&b, 1, 8);
		sleeper_join(stays);
		REQUIRE_VIP(stays->ret, VIP_SUCCESS);
		CHECK(stays->descriptor == descriptor(&a, 0));
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
	}
}

static void *post_and_wait(void *arg)
{
	struct sleeper *s = arg;

	post_send(&a, 1, 8);
	s->ret = VipSendWait(a.vi, VIP_INFINITE, &s->descriptor);
	s->finished = true;
	return NULL;
}

/* A send completes whether or not the thread that waits for it is cancelled. */
static void a_send_outlives_the_thread_that_waits_for_it(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		post_recv(&b, 0, 64);
		sleeper_start(&one, post_and_wait);
		if (i % 2)
			check_nap();
		pthread_cancel(one.thread);
		sleeper_join(&one);
		expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
		if (!one.finished)
			expect_send(&a, 1, VIP_STATUS_OP_SEND);
	}
}

static void *wait_for_entry(void *arg)
{
	struct sleeper *s = arg;

	s->ret = VipCQWait(a.cq, VIP_INFINITE, &s->vi, &s->recv);
	s->finished = true;
	return NULL;
}

static void a_completion_queue_goes_on(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct sleeper *goes = i / 2 % 2 ? &one : &two, *stays = i / 2 % 2 ? &two : &one;
		VIP_DESCRIPTOR *d;

		post_recv(&a, 0, 64);
		sleeper_start(&one, wait_for_entry);
		if (i % 2)
			check_nap();
		sleeper_start(&two, wait_for_entry);
		sleeper_cancel(goes, i);
		post_send(&b, 1, 8);
		sleeper_join(stays);
		REQUIRE_VIP(stays->ret, VIP_SUCCESS);
		CHECK(stays->vi == a.vi && stays->recv == VIP_TRUE);
		CHECK_VIP(VipRecvDone(a.vi, &d), VIP_SUCCESS);
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
	}
}

/* After the cancellation no thread waits, so the queue can be destroyed. */
static void a_completion_queue_can_be_destroyed(void)
{
	VIP_CQ_HANDLE cq = a.cq;

	sleeper_start(&one, wait_for_entry);
	check_nap();
	sleeper_start(&two, wait_for_entry);
	sleeper_cancel(&two, 1);
	sleeper_cancel(&one, 1);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	side_drain(&a);
	CHECK_VIP(VipDestroyVi(a.vi), VIP_SUCCESS);
	a.vi = NULL;
	CHECK_VIP(VipDestroyCQ(cq), VIP_SUCCESS);
	a.cq = NULL;
}

static void *wait_for_client(void *arg)
{
	struct sleeper *s = arg;
	VIP_VI_ATTRIBUTES attr;

	address_make(&a, "server", &s->local);
	memset(&s->remote, 0, sizeof(s->remote));
	s->ret = VipConnectWait(a.nic, &s->local.net, VIP_INFINITE, &s->remote.net, &attr,
				&s->conn);
	s->finished = true;
	return NULL;
}

static void *ask(void *arg)
{
	struct sleeper *s = arg;

	address_make(&b, "me", &s->local);
	address_make(&a, "server", &s->remote);
	s->ret = VipConnectRequest(b.vi, &s->local.net, &s->remote.net, VIP_INFINITE, NULL);
	s->finished = true;
	return NULL;
}

static void be_heard(void)
{
	union address local, remote = { .bytes = { 0 } };
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	address_make(&a, "server", &local);
	REQUIRE_VIP(VipConnectWait(a.nic, &local.net, 0, &remote.net, &attr, &conn), VIP_TIMEOUT);
}

static void another_thread_hears_the_client(void)
{
	be_heard();
	for (int i = 0; i < ROUNDS; i++) {
		sleeper_start(&one, wait_for_client);
		sleeper_cancel(&one, i);
	}
	sleeper_start(&one, wait_for_client);
	sleeper_start(&two, wait_for_client);
	sleeper_cancel(&two, 1);
	sleeper_start(&two, ask);
	sleeper_join(&one);
	REQUIRE_VIP(one.ret, VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(one.conn, a.vi), VIP_SUCCESS);
	sleeper_join(&two);
	CHECK_VIP(two.ret, VIP_SUCCESS);
}

/* Nobody answers the request. After the cancellation the VI is idle, keeps its receives, and can connect again. */
static void a_client_that_is_cancelled_leaves_an_idle_vi(void)
{
	be_heard();
	for (unsigned int i = 0; i < 4; i++)
		post_recv(&b, i, 64);
	for (int i = 0; i < 6; i++) {
		VIP_DESCRIPTOR *d;

		sleeper_start(&one, ask);
		sleeper_cancel(&one, i);
		CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
		CHECK_VIP(VipRecvDone(b.vi, &d), VIP_NOT_DONE);
	}
	server_start(&a, "other");
	client_connect(&b, "other");
	server_join(&a);
	for (unsigned int i = 0; i < 4; i++) {
		post_send(&a, i, 8);
		expect_recv(&b, i, VIP_STATUS_OP_RECEIVE);
	}
}

static void *wait_for_peer(void *arg)
{
	struct sleeper *s = arg;

	s->ret = VipConnectPeerWait(a.vi, NULL);
	s->finished = true;
	return NULL;
}

static void ask_as_peer(struct side *s, const char *mine, const char *theirs)
{
	union address local, remote;

	address_make(s, mine, &local);
	address_make(s, theirs, &remote);
	REQUIRE_VIP(VipConnectPeerRequest(s->vi, &local.net, &remote.net, VIP_INFINITE),
		    VIP_SUCCESS);
}

static void peers_connect_without_the_thread(void)
{
	ask_as_peer(&a, "one", "two");
	for (int i = 0; i < ROUNDS; i++) {
		sleeper_start(&one, wait_for_peer);
		sleeper_cancel(&one, i);
	}
	ask_as_peer(&b, "two", "one");
	CHECK_VIP(VipConnectPeerWait(a.vi, NULL), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(b.vi, NULL), VIP_SUCCESS);
}

static void *disconnect(void *arg)
{
	struct sleeper *s = arg;

	/* The cancellation is pending during the call, and takes effect after it. */
	pthread_cancel(pthread_self());
	s->ret = VipDisconnect(a.vi);
	pthread_testcancel();
	s->finished = true;
	return NULL;
}

static void a_disconnect_is_done_to_its_end(void)
{
	post_recv(&a, 0, 64);
	one.ret = VIP_NOT_DONE;
	sleeper_start(&one, disconnect);
	sleeper_join(&one);
	CHECK(!one.finished);
	CHECK_VIP(one.ret, VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
}

/* A client in a process of its own, which can be stopped before it hears the answer. */
static pid_t peer;

static void ask_from_afar(void *arg)
{
	(void)arg;
	client_ask_from_afar("server");
}

static void *accept_client(void *arg)
{
	struct sleeper *s = arg;

	s->ret = VipConnectAccept(s->conn, a.vi);
	s->finished = true;
	return NULL;
}

static void an_accept_that_is_cancelled_leaves_an_idle_vi(void)
{
	VIP_DESCRIPTOR *d;

	peer = check_fork(ask_from_afar, NULL);
	side_open_vi(&a);
	post_recv(&a, 0, 64);
	be_heard();
	check_signal(peer);
	sleeper_start(&one, wait_for_client);
	sleeper_join(&one);
	REQUIRE_VIP(one.ret, VIP_SUCCESS);
	check_stop(peer);
	sleeper_start(&one, accept_client);
	check_nap();
	pthread_cancel(one.thread);
	sleeper_join(&one);
	kill(peer, SIGCONT);
	if (one.finished) {	/* the peer's kernel has confirmed, although the peer is stopped */
		REQUIRE_VIP(one.ret, VIP_SUCCESS);
		check_kill(peer);
		return;
	}
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
	CHECK_VIP(VipConnectAccept(one.conn, a.vi), VIP_INVALID_PARAMETER);
	check_kill(peer);
	side_open_vi(&b);
	server_start(&a, "server");
	client_connect(&b, "server");
	server_join(&a);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_NOT_DONE);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
}

/*
 * The client takes the answer, so in some rounds the thread is cancelled when the connection is established
 * already, but the call has not returned.
 */
static void a_connection_that_nobody_took_leaves_the_receives(void)
{
	VIP_DESCRIPTOR *d;

	be_heard();
	for (int i = 0; i < 5 * ROUNDS; i++) {
		post_recv(&a, 0, 64);
		sleeper_start(&two, ask);
		sleeper_start(&one, wait_for_client);
		sleeper_join(&one);
		REQUIRE_VIP(one.ret, VIP_SUCCESS);
		sleeper_start(&one, accept_client);
		if (i % 5 == 0)
			check_nap();
		for (int spin = 0; spin < i % 20 * 100; spin++)
			atomic_signal_fence(memory_order_seq_cst);
		pthread_cancel(one.thread);
		sleeper_join(&one);
		if (!one.finished) {
			CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
			CHECK_VIP(VipRecvDone(a.vi, &d), VIP_NOT_DONE);
		}
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
		sleeper_join(&two);
		CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	}
}

static const struct check_test connected_tests[] = {
	CHECK_TEST(whoever_is_left_gets_the_message),
	CHECK_TEST(a_send_outlives_the_thread_that_waits_for_it),
	CHECK_TEST(a_disconnect_is_done_to_its_end),
	CHECK_END,
};
static const struct check_suite connected = {
	.name = "cancel", .setup = open_connected, .teardown = close_sides, .tests = connected_tests
};

static const struct check_test cq_tests[] = {
	CHECK_TEST(a_completion_queue_goes_on),
	CHECK_TEST(a_completion_queue_can_be_destroyed),
	CHECK_END,
};
static const struct check_suite cq = {
	.name = "cancel", .setup = open_with_cq, .teardown = close_sides, .tests = cq_tests
};

static const struct check_test idle_tests[] = {
	CHECK_TEST(another_thread_hears_the_client),
	CHECK_TEST(a_client_that_is_cancelled_leaves_an_idle_vi),
	CHECK_TEST(a_connection_that_nobody_took_leaves_the_receives),
	CHECK_TEST(peers_connect_without_the_thread),
	CHECK_END,
};
static const struct check_suite idle = {
	.name = "cancel", .setup = open_sides, .teardown = close_sides, .tests = idle_tests
};

static const struct check_test afar_tests[] = {
	CHECK_TEST(an_accept_that_is_cancelled_leaves_an_idle_vi),
	CHECK_END,
};
static const struct check_suite afar = {
	.name = "cancel", .teardown = close_sides, .tests = afar_tests
};

CHECK_SUITES(&connected, &cq, &idle, &afar);
