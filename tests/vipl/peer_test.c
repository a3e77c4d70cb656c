/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections between peers, that is, both sides request the connection. */
#include <string.h>

#include "world.h"

static struct side a, b;

static void open_sides(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
}

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

static VIP_RETURN ask(struct side *s, const char *mine, const char *theirs, VIP_ULONG timeout)
{
	union address local, remote;

	address_make(s, mine, &local);
	address_make(s, theirs, &remote);
	return VipConnectPeerRequest(s->vi, &local.net, &remote.net, timeout);
}

static void data_flow(void)
{
	post_recv(&a, 0, 64);
	post_recv(&b, 0, 64);
	post_send(&a, 1, 8);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
}

static void peers_find_each_other_whoever_comes_first(void)
{
	for (int i = 0; i < 2; i++) {
		REQUIRE_VIP(ask(i ? &b : &a, i ? "two" : "one", i ? "one" : "two", VIP_INFINITE),
			    VIP_SUCCESS);
		REQUIRE_VIP(ask(i ? &a : &b, i ? "one" : "two", i ? "two" : "one", VIP_INFINITE),
			    VIP_SUCCESS);
		REQUIRE_VIP(VipConnectPeerWait(a.vi, &a.remote), VIP_SUCCESS);
		REQUIRE_VIP(VipConnectPeerWait(b.vi, &b.remote), VIP_SUCCESS);
		CHECK_EQ_INT(state_of(&a), VIP_STATE_CONNECTED);
		CHECK_EQ_INT(state_of(&b), VIP_STATE_CONNECTED);
		CHECK_EQ_INT(a.remote.EnableRdmaWrite, VIP_TRUE);
		CHECK_VIP(VipConnectPeerDone(a.vi, NULL), VIP_SUCCESS);
		data_flow();
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
		side_drain(&a);
		side_drain(&b);
	}
}

/* The peer that dials fails for a while, and its receives have to survive that. */
static void the_one_that_dials_is_early(void)
{
	post_recv(&a, 0, 64);
	REQUIRE_VIP(ask(&a, "aa", "zz", check_patience_ms()), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerDone(a.vi, NULL), VIP_NOT_DONE);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_CONNECT_PENDING);
	CHECK_VIP(VipConnectPeerWait(b.vi, NULL), VIP_INVALID_STATE);
	REQUIRE_VIP(ask(&b, "zz", "aa", check_patience_ms()), VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(b.vi, NULL), VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(a.vi, NULL), VIP_SUCCESS);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
}

static void times_out(const char *mine, const char *theirs)
{
	post_recv(&a, 0, 64);
	REQUIRE_VIP(ask(&a, mine, theirs, 60), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(a.vi, NULL), VIP_TIMEOUT);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
	CHECK_VIP(VipConnectPeerDone(a.vi, NULL), VIP_TIMEOUT);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_VIP(VipConnectPeerDone(a.vi, NULL), VIP_INVALID_STATE);
}

static void a_peer_that_never_comes_times_out(void)
{
	times_out("aa", "zz");
	times_out("zz", "aa");
}

static void disconnect_calls_it_off(void)
{
	REQUIRE_VIP(ask(&a, "aa", "zz", VIP_INFINITE), VIP_SUCCESS);
	CHECK_VIP(ask(&a, "aa", "zz", 60), VIP_INVALID_STATE);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
	REQUIRE_VIP(ask(&a, "zz", "aa", VIP_INFINITE), VIP_SUCCESS);
	CHECK_VIP(ask(&a, "zz", "aa", 60), VIP_INVALID_STATE);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
}

/*
 * Both sides get the reason, whichever side dials: the one that waits when its time has expired. Until then the other side has to
 * reach it, which takes long in a slow guest of the lab, where the tests have more patience.
 */
static void both_hear(VIP_RETURN why)
{
	VIP_ULONG timeout = (VIP_ULONG)check_patience_ms() / 20;

	REQUIRE_VIP(VipSetViAttributes(b.vi, &b.attr), VIP_SUCCESS);
	for (int i = 0; i < 2; i++) {
		REQUIRE_VIP(ask(&b, i ? "zz" : "aa", i ? "aa" : "zz", i ? timeout : (VIP_ULONG)check_patience_ms()), VIP_SUCCESS);
		REQUIRE_VIP(ask(&a, i ? "aa" : "zz", i ? "zz" : "aa", i ? (VIP_ULONG)check_patience_ms() : timeout), VIP_SUCCESS);
		CHECK_VIP(VipConnectPeerWait(b.vi, NULL), why);
		CHECK_VIP(VipConnectPeerWait(a.vi, NULL), why);
	}
}

static void peers_whose_attributes_differ_do_not_connect(void)
{
	VIP_VI_ATTRIBUTES same = b.attr;

	b.attr.MaxTransferSize = 4096;
	both_hear(VIP_INVALID_MTU);
	b.attr = same;
	b.attr.QoS = &same;
	both_hear(VIP_INVALID_QOS);
	b.attr = same;
	b.attr.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
	b.attr.EnableRdmaRead = VIP_FALSE;
	both_hear(VIP_INVALID_RELIABILITY_LEVEL);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
}

/* Any program of the peer's host can send a request in its name. */
static void a_wrong_request_does_not_end_the_wait_for_the_right_one(void)
{
	struct side foe = { .nic = NULL };

	side_open_vi(&foe);
	foe.attr.MaxTransferSize = 4096;
	REQUIRE_VIP(VipSetViAttributes(foe.vi, &foe.attr), VIP_SUCCESS);
	REQUIRE_VIP(ask(&b, "zz", "aa", check_patience_ms()), VIP_SUCCESS);
	REQUIRE_VIP(ask(&foe, "aa", "zz", VIP_INFINITE), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(foe.vi, NULL), VIP_INVALID_MTU);
	CHECK_VIP(VipConnectPeerDone(b.vi, NULL), VIP_NOT_DONE);
	side_close(&foe);
	REQUIRE_VIP(ask(&a, "aa", "zz", check_patience_ms()), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(a.vi, NULL), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(b.vi, NULL), VIP_SUCCESS);
	data_flow();
}

static void a_stranger_is_not_taken_for_the_peer(void)
{
	union address local, remote;

	REQUIRE_VIP(ask(&b, "zz", "aa", VIP_INFINITE), VIP_SUCCESS);
	REQUIRE_VIP(ask(&a, "ab", "zz", 80), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(a.vi, NULL), VIP_TIMEOUT);
	address_make(&a, "aa", &local);
	address_make(&a, "zz", &remote);
	CHECK_VIP(VipConnectRequest(a.vi, &local.net, &remote.net, check_patience_ms(), NULL),
		  VIP_NO_MATCH);
	REQUIRE_VIP(ask(&a, "aa", "zz", VIP_INFINITE), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(a.vi, NULL), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(b.vi, NULL), VIP_SUCCESS);
}

/* The peer that waits checks both the host and the discriminator of a request. */
static void a_namesake_on_another_host_is_not_taken_for_the_peer(void)
{
	static const uint8_t elsewhere[4] = { 198, 51, 100, 7 };
	union address local, remote;

	REQUIRE_EQ_INT(a.nic_attr.NicAddressLen, 4);
	address_make(&b, "zz", &local);
	address_make(&a, "aa", &remote);
	memcpy(remote.bytes + 4, elsewhere, 4);
	REQUIRE_VIP(VipConnectPeerRequest(b.vi, &local.net, &remote.net, VIP_INFINITE),
		    VIP_SUCCESS);
	REQUIRE_VIP(ask(&a, "aa", "zz", 200), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(a.vi, NULL), VIP_TIMEOUT);
	CHECK_VIP(VipConnectPeerDone(b.vi, NULL), VIP_NOT_DONE);
}

static void bad_requests_are_refused(void)
{
	CHECK_VIP(ask(&a, "aa", "aa", 100), VIP_INVALID_PARAMETER);
	CHECK_VIP(ask(&a, "aa", "zz", 0), VIP_INVALID_PARAMETER);
	CHECK_VIP(ask(&a, "aa", "12345678901234567", 100), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectPeerDone(NULL, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectPeerDone(a.vi, NULL), VIP_INVALID_STATE);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
}

static const struct check_test tests[] = {
	CHECK_TEST(peers_find_each_other_whoever_comes_first),
	CHECK_TEST(the_one_that_dials_is_early),
	CHECK_TEST(a_peer_that_never_comes_times_out),
	CHECK_TEST(disconnect_calls_it_off),
	CHECK_TEST(peers_whose_attributes_differ_do_not_connect),
	CHECK_TEST(a_wrong_request_does_not_end_the_wait_for_the_right_one),
	CHECK_TEST(a_stranger_is_not_taken_for_the_peer),
	CHECK_TEST(a_namesake_on_another_host_is_not_taken_for_the_peer),
	CHECK_TEST(bad_requests_are_refused),
	CHECK_END,
};
static const struct check_suite peer = {
	.name = "peer", .setup = open_sides, .teardown = close_sides, .tests = tests
};

CHECK_SUITES(&peer);
