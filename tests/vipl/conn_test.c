/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients and servers: which requests arrive, are accepted and rejected, and the state of the VI after that. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static struct side a, b;	/* the server, the client */
static atomic_int lost;

/* The client's call in a thread of its own. */
static struct {
	pthread_t thread;
	bool running;
	VIP_ULONG timeout;
	union address local, remote;
	VIP_RETURN ret;
} asking;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context;
	if (what->ErrorCode == VIP_ERROR_CONN_LOST && what->ResourceCode == VIP_RESOURCE_VI)
		atomic_fetch_add(&lost, 1);
}

static void open_sides(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
	atomic_store(&lost, 0);
	REQUIRE_VIP(VipErrorCallback(b.nic, NULL, on_error), VIP_SUCCESS);
	REQUIRE_VIP(VipErrorCallback(a.nic, NULL, on_error), VIP_SUCCESS);
}

static void close_sides(void)
{
	if (asking.running)
		pthread_join(asking.thread, NULL);
	asking.running = false;
	side_close(&b);
	side_close(&a);
}

static void *ask(void *arg)
{
	(void)arg;
	asking.ret = VipConnectRequest(b.vi, &asking.local.net, &asking.remote.net, asking.timeout,
				       &b.remote);
	return NULL;
}

static void ask_start(const char *disc, VIP_ULONG timeout)
{
	address_make(&b, "me", &asking.local);
	address_make(&a, disc, &asking.remote);
	asking.timeout = timeout;
	REQUIRE(pthread_create(&asking.thread, NULL, ask, NULL) == 0);
	asking.running = true;
}

static void ask_ends(VIP_RETURN want)
{
	pthread_join(asking.thread, NULL);
	asking.running = false;
	REQUIRE_VIP(asking.ret, want);
}

static VIP_RETURN look(const char *disc, VIP_ULONG timeout, VIP_CONN_HANDLE *conn)
{
	union address local, remote = { .bytes = { 0 } };

	address_make(&a, disc, &local);
	return VipConnectWait(a.nic, &local.net, timeout, &remote.net, &a.remote, conn);
}

/* Lets the client send a request, and returns that request at the server. */
static VIP_CONN_HANDLE hear(VIP_ULONG client_timeout)
{
	VIP_CONN_HANDLE conn = NULL;

	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	ask_start("here", client_timeout);
	REQUIRE_VIP(look("here", check_patience_ms(), &conn), VIP_SUCCESS);
	REQUIRE(conn != NULL);
	return conn;
}

static VIP_RETURN request(const char *disc, VIP_ULONG timeout)
{
	union address local, remote;

	address_make(&b, "me", &local);
	address_make(&a, disc, &remote);
	return VipConnectRequest(b.vi, &local.net, &remote.net, timeout, &b.remote);
}

static void both_learn_the_others_attributes(void)
{
	a.attr.EnableRdmaRead = VIP_FALSE;
	a.attr.MaxTransferSize = b.attr.MaxTransferSize = 65536;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &a.attr), VIP_SUCCESS);
	REQUIRE_VIP(VipSetViAttributes(b.vi, &b.attr), VIP_SUCCESS);
	sides_connect(&a, &b);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_CONNECTED);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_CONNECTED);
	CHECK_EQ_INT(b.remote.ReliabilityLevel, VIP_SERVICE_RELIABLE_DELIVERY);
	CHECK_EQ_INT(b.remote.MaxTransferSize, 65536);
	CHECK_EQ_INT(b.remote.EnableRdmaRead, VIP_FALSE);
	CHECK_EQ_INT(b.remote.EnableRdmaWrite, VIP_TRUE);
	CHECK_EQ_INT(a.remote.EnableRdmaRead, VIP_TRUE);
	CHECK_EQ_INT(a.remote.MaxTransferSize, 65536);
}

static void the_server_learns_the_clients_address(void)
{
	char disc[32];
	union address local, remote = { .bytes = { 0 } };
	VIP_CONN_HANDLE conn;

	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	ask_start("here", check_patience_ms());
	address_make(&a, "here", &local);
	REQUIRE_VIP(VipConnectWait(a.nic, &local.net, check_patience_ms(), &remote.net, &a.remote,
				   &conn), VIP_SUCCESS);
	CHECK_EQ_INT(remote.net.HostAddressLen, 4);
	CHECK_EQ_INT(remote.net.DiscriminatorLen, strlen(disc_make("me", disc)));
	CHECK_EQ_MEM(remote.bytes + 4, b.nic_attr.LocalNicAddress, 4);
	CHECK_EQ_MEM(remote.bytes + 8, disc, strlen(disc));
	CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
	ask_ends(VIP_REJECT);
}

static void no_more_is_written_than_there_is_room_for(void)
{
	union address local, remote = { .net = { .HostAddressLen = 4, .DiscriminatorLen = 1 } };
	VIP_CONN_HANDLE conn;

	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	ask_start("here", check_patience_ms());
	address_make(&a, "here", &local);
	REQUIRE_VIP(VipConnectWait(a.nic, &local.net, check_patience_ms(), &remote.net, &a.remote,
				   &conn), VIP_SUCCESS);
	CHECK_EQ_INT(remote.net.DiscriminatorLen, 1);
	CHECK_EQ_INT(remote.bytes[8], 'm');
	CHECK_EQ_INT(remote.bytes[9], 0);
	CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
	ask_ends(VIP_REJECT);
}

/* Programs pass a VIP_NET_ADDRESS without room for an address, whose lengths are not set. */
static void a_bare_address_is_not_written_beyond(void)
{
	union address local, remote;
	VIP_CONN_HANDLE conn;

	side_close(&a);
	setenv("VIPL_SAFE_REMOTE_ADDR", "1", 1);
	side_open_vi(&a);
	unsetenv("VIPL_SAFE_REMOTE_ADDR");
	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	ask_start("here", check_patience_ms());
	address_make(&a, "here", &local);
	memset(&remote, 0xEE, sizeof(remote));
	remote.net.HostAddressLen = remote.net.DiscriminatorLen = 0;
	REQUIRE_VIP(VipConnectWait(a.nic, &local.net, check_patience_ms(), &remote.net, &a.remote,
				   &conn), VIP_SUCCESS);
	CHECK(4u + remote.net.HostAddressLen + remote.net.DiscriminatorLen <= sizeof(remote.net));
	for (size_t i = sizeof(remote.net); i < sizeof(remote); i++)
		CHECK_EQ_INT(remote.bytes[i], 0xEE);
	CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
	ask_ends(VIP_REJECT);
}

static void nobody_there_is_no_match(void)
{
	CHECK_VIP(request("nobody", check_patience_ms()), VIP_NO_MATCH);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
}

/* The hash of vipl/listen.c: two discriminators that lead to one door. */
static unsigned int door_of(const char *disc, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)disc[i]) * 16777619u;
	return (hash ^ hash >> 15) % 65536;
}

static unsigned int door(const char *name)
{
	char text[32];

	disc_make(name, text);
	return door_of(text, strlen(text));
}

static void a_neighbour_behind_the_same_door_is_no_match(void)
{
	VIP_CONN_HANDLE conn;
	char disc[12] = "";

	for (unsigned int i = 0; door(disc) != door("here"); i++)
		snprintf(disc, sizeof(disc), "n%u", i);
	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_VIP(request(disc, check_patience_ms()), VIP_NO_MATCH);
	CHECK_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	CHECK_VIP(look(disc, 0, &conn), VIP_TIMEOUT);
	ask_start(disc, check_patience_ms());
	CHECK_VIP(look(disc, check_patience_ms(), &conn), VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_SUCCESS);
	ask_ends(VIP_SUCCESS);
}

static void set_disc(union address *address, const char *disc, size_t length)
{
	address->net.DiscriminatorLen = (VIP_UINT16)length;
	memcpy(address->bytes + 4 + address->net.HostAddressLen, disc, length);
}

/* Two discriminators of which one is the beginning of the other, and two of the same length, each two at the same door. */
static void a_discriminator_matches_as_a_whole(void)
{
	union address local, remote, heard, from = { .bytes = { 0 } };
	char disc[40] = "", other[40];
	VIP_CONN_HANDLE conn;
	size_t length;

	address_make(&b, "me", &local);
	address_make(&a, "x", &heard);
	remote = heard;
	disc_make("x", disc);
	length = strlen(disc);
	for (unsigned int i = 0; door_of(disc, length) != door_of(disc, length + 6); i++)
		snprintf(disc + length, sizeof(disc) - length, "%06x", i);
	set_disc(&heard, disc, length + 6);
	set_disc(&remote, disc, length);
	REQUIRE_VIP(VipConnectWait(a.nic, &heard.net, 0, &from.net, &a.remote, &conn),
		    VIP_TIMEOUT);
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, &remote.net, check_patience_ms(), NULL),
		  VIP_NO_MATCH);
	memcpy(other, disc, sizeof(other));
	for (unsigned int i = 0; door_of(disc, length + 6) != door_of(other, length + 6) ||
				 strcmp(disc, other) == 0; i++)
		snprintf(other + length, sizeof(other) - length, "%06x", i);
	set_disc(&remote, other, length + 6);
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, &remote.net, check_patience_ms(), NULL),
		  VIP_NO_MATCH);
}

/* One of many clients. */
struct one_of_many {
	pthread_t thread;
	VIP_VI_HANDLE vi;
	union address local, remote;
	VIP_RETURN ret;
	uint64_t ms; /* how long it has waited */
};

enum { MANY = 70, HEARD = 64, GIVES_UP_MS = 10000 };

static atomic_uint turned_away;

static void *ask_as_one_of_many(void *arg)
{
	struct one_of_many *one = arg;
	uint64_t began = check_now_ms();

	one->ret = VipConnectRequest(one->vi, &one->local.net, &one->remote.net, VIP_INFINITE,
				     NULL);
	one->ms = check_now_ms() - began;
	if (one->ret == VIP_NO_MATCH)
		atomic_fetch_add(&turned_away, 1);
	return NULL;
}

static void sixty_four_clients_may_wait(void)
{
	static struct one_of_many many[MANY];
	unsigned int rejected = 0;
	VIP_CONN_HANDLE conn;

	atomic_store(&turned_away, 0);
	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	for (int i = 0; i < MANY; i++) {
		REQUIRE_VIP(VipCreateVi(b.nic, &b.attr, NULL, NULL, &many[i].vi), VIP_SUCCESS);
		address_make(&b, "me", &many[i].local);
		address_make(&a, "here", &many[i].remote);
		REQUIRE(pthread_create(&many[i].thread, NULL, ask_as_one_of_many, &many[i]) == 0);
	}
	CHECK_SOON(atomic_load(&turned_away) == MANY - HEARD);
	while (look("here", 100, &conn) == VIP_SUCCESS) {
		CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
		rejected++;
	}
	CHECK_EQ_INT(rejected, HEARD);
	for (int i = 0; i < MANY; i++) {
		pthread_join(many[i].thread, NULL);
		/* siw gives up a request after ten seconds, whatever its timeout: vipl(7) */
		if (many[i].ret != VIP_NO_MATCH && (many[i].ret != VIP_TIMEOUT || many[i].ms < GIVES_UP_MS))
			CHECK_VIP(many[i].ret, VIP_REJECT);
		CHECK_VIP(VipDestroyVi(many[i].vi), VIP_SUCCESS);
	}
}

static void two_nics_listen_behind_doors_of_their_own(void)
{
	union address local, remote = { .bytes = { 0 } };
	VIP_CONN_HANDLE conn;
	char disc[12] = "";

	for (unsigned int i = 0; door(disc) != door("here"); i++)
		snprintf(disc, sizeof(disc), "n%u", i);
	address_make(&b, disc, &local);
	REQUIRE_VIP(VipConnectWait(b.nic, &local.net, 0, &remote.net, &b.remote, &conn),
		    VIP_TIMEOUT);
	conn = hear(check_patience_ms());
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_SUCCESS);
	ask_ends(VIP_SUCCESS);
}

static void a_rejected_client_hears_so_and_can_ask_again(void)
{
	VIP_CONN_HANDLE conn = hear(check_patience_ms());

	CHECK_EQ_INT(state_of(&b), VIP_STATE_CONNECT_PENDING);
	CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
	ask_ends(VIP_REJECT);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
	CHECK_VIP(VipConnectReject(conn), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_INVALID_PARAMETER);
	sides_connect(&a, &b);
}

static void differing_attributes_are_told_and_the_client_hears_nothing(void)
{
	VIP_VI_ATTRIBUTES attr = a.attr;
	VIP_CONN_HANDLE conn = hear(check_patience_ms());

	/* every adapter has this level, though without RDMA reads */
	attr.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
	attr.EnableRdmaRead = VIP_FALSE;
	attr.MaxTransferSize = 4096;
	attr.QoS = &a;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &attr), VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_INVALID_RELIABILITY_LEVEL);
	attr.ReliabilityLevel = a.attr.ReliabilityLevel;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &attr), VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_INVALID_MTU);
	attr.MaxTransferSize = a.attr.MaxTransferSize;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &attr), VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_INVALID_QOS);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_CONNECT_PENDING);
	attr.QoS = NULL;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &attr), VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_SUCCESS);
	ask_ends(VIP_SUCCESS);
}

static void accepting_with_a_connected_vi_is_invalid_state(void)
{
	struct side c = { .nic = NULL };
	VIP_CONN_HANDLE conn;

	sides_connect(&a, &b);
	c = b;		/* so that side_close() can be called if a check fails */
	REQUIRE_VIP(VipCreateVi(b.nic, &b.attr, NULL, NULL, &b.vi), VIP_SUCCESS);
	conn = hear(check_patience_ms());
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_INVALID_STATE);
	CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
	ask_ends(VIP_REJECT);
	CHECK_VIP(VipDestroyVi(b.vi), VIP_SUCCESS);
	b.vi = c.vi;
	CHECK_VIP(request("here", 100), VIP_INVALID_STATE);
}

static void a_client_without_patience_times_out(void)
{
	VIP_CONN_HANDLE conn;

	CHECK_VIP(request("here", 0), VIP_INVALID_PARAMETER);
	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	CHECK_VIP(request("here", 30), VIP_TIMEOUT);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
	/* The client has given up. The server may learn that only when it accepts. */
	if (look("here", 50, &conn) == VIP_SUCCESS)
		CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_TIMEOUT);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
}

static void receives_survive_a_failed_request(void)
{
	VIP_CONN_HANDLE conn;
	VIP_DESCRIPTOR *d;

	for (unsigned int i = 0; i < 4; i++)
		post_recv(&b, i, 64);
	CHECK_VIP(request("nobody", check_patience_ms()), VIP_NO_MATCH);
	CHECK_VIP(VipRecvDone(b.vi, &d), VIP_NOT_DONE);
	conn = hear(check_patience_ms());
	CHECK_VIP(VipConnectReject(conn), VIP_SUCCESS);
	ask_ends(VIP_REJECT);
	CHECK_VIP(VipRecvDone(b.vi, &d), VIP_NOT_DONE);
	sides_connect(&a, &b);
	for (unsigned int i = 0; i < 4; i++) {
		post_send(&a, i, 10 + i);
		expect_recv(&b, i, VIP_STATUS_OP_RECEIVE);
		CHECK_EQ_INT(descriptor(&b, i)->CS.Length, 10 + i);
	}
}

/* The receive is valid when it is posted, and its memory is deregistered before it is needed. */
static void a_receive_whose_memory_is_gone_fails_alone(void)
{
	VIP_MEM_ATTRIBUTES mem = { .Ptag = NULL };
	VIP_DESCRIPTOR *d = aligned_alloc(4096, 4096), *got;
	VIP_MEM_HANDLE handle;

	REQUIRE(d != NULL);
	REQUIRE_VIP(VipRegisterMem(b.nic, d, 4096, &mem, &handle), VIP_SUCCESS);
	memcpy(d, prepare(&b, 0, 64), sizeof(*d));
	REQUIRE_VIP(VipPostRecv(b.vi, d, handle), VIP_SUCCESS);
	post_recv(&b, 1, 64);
	REQUIRE_VIP(VipDeregisterMem(b.nic, d, handle), VIP_SUCCESS);
	sides_connect(&a, &b);
	REQUIRE_VIP(VipRecvWait(b.vi, check_patience_ms(), &got), VIP_DESCRIPTOR_ERROR);
	CHECK(got == d);
	CHECK_EQ_INT(d->CS.Status, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DONE |
					   VIP_STATUS_PROTECTION_ERROR);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_CONNECTED);
	post_send(&a, 0, 8);
	expect_recv(&b, 1, VIP_STATUS_OP_RECEIVE);
	free(d);
}

static void disconnect_flushes_and_the_vi_is_idle_at_once(void)
{
	post_recv(&b, 0, 64);
	sides_connect(&a, &b);
	post_recv(&b, 1, 64);
	CHECK_VIP(VipDestroyVi(b.vi), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	expect_recv(&b, 1, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
}

static void the_other_side_is_told_and_flushed(void)
{
	post_recv(&a, 0, 64);
	sides_connect(&a, &b);
	CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	REQUIRE_SOON(atomic_load(&lost) == 1);
	post_recv(&a, 1, 64);
	expect_recv(&a, 1, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
}

static void sent_before_disconnect_is_received(void)
{
	for (unsigned int i = 0; i < 8; i++)
		post_recv(&a, i, 64);
	sides_connect(&a, &b);
	for (unsigned int i = 0; i < 8; i++) {
		post_send(&b, i, 8);
		expect_send(&b, i, VIP_STATUS_OP_SEND);
	}
	CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	for (unsigned int i = 0; i < 8; i++)
		expect_recv(&a, i, VIP_STATUS_OP_RECEIVE);
}

/* This holds also if the queues of the VI are empty. */
static void a_vi_that_is_not_idle_is_neither_destroyed_nor_changed(void)
{
	VIP_CONN_HANDLE conn = hear(check_patience_ms());

	CHECK_VIP(VipDestroyVi(b.vi), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipSetViAttributes(b.vi, &b.attr), VIP_INVALID_STATE);
	CHECK_VIP(VipDisconnect(b.vi), VIP_INVALID_STATE);
	REQUIRE_VIP(VipConnectAccept(conn, a.vi), VIP_SUCCESS);
	ask_ends(VIP_SUCCESS);
	CHECK_VIP(VipDestroyVi(a.vi), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipSetViAttributes(a.vi, &a.attr), VIP_INVALID_STATE);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
	CHECK_VIP(VipDestroyVi(b.vi), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipSetViAttributes(b.vi, &b.attr), VIP_INVALID_STATE);
}

static void a_vi_connects_again_and_again(void)
{
	for (unsigned int i = 0; i < 40; i++) {
		post_recv(&a, 0, 64);
		sides_connect(&a, &b);
		post_send(&b, 1, 8);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
		if (i % 2) {
			CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
			CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		} else {
			CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
			CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
		}
		side_drain(&a);
		side_drain(&b);
	}
}

static void addresses_are_checked(void)
{
	union address local, remote, bad;
	VIP_CONN_HANDLE conn;

	address_make(&b, "me", &local);
	address_make(&a, "12345678901234567", &bad);	/* 17 bytes */
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, &bad.net, 100, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectRequest(b.vi, &bad.net, &local.net, 100, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectRequest(b.vi, NULL, &local.net, 100, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, NULL, 100, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectRequest(NULL, &local.net, &local.net, 100, NULL),
		  VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectWait(a.nic, &bad.net, 0, &remote.net, &a.remote, &conn),
		  VIP_INVALID_PARAMETER);
	bad = local;
	bad.bytes[4] ^= 0x55;	/* the address of another host */
	CHECK_VIP(VipConnectWait(a.nic, &bad.net, 0, &remote.net, &a.remote, &conn),
		  VIP_INVALID_PARAMETER);
	bad.net.HostAddressLen = 3;
	CHECK_VIP(VipConnectWait(a.nic, &bad.net, 0, &remote.net, &a.remote, &conn),
		  VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectAccept(NULL, a.vi), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipConnectReject(NULL), VIP_INVALID_PARAMETER);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
}

static void clients_between_two_waits_are_kept(void)
{
	VIP_CONN_HANDLE conn;

	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	ask_start("here", check_patience_ms());
	/* Only this call shows that the request has arrived. */
	REQUIRE_SOON(look("here", 0, &conn) == VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, a.vi), VIP_SUCCESS);
	ask_ends(VIP_SUCCESS);
}

static void *accept_and_send(void *arg)
{
	union address local, remote = { .bytes = { 0 } };
	VIP_CONN_HANDLE conn;

	(void)arg;
	address_make(&a, "here", &local);
	a.served = VipConnectWait(a.nic, &local.net, check_patience_ms(), &remote.net, &a.remote,
				  &conn);
	if (a.served == VIP_SUCCESS)
		a.served = VipConnectAccept(conn, a.vi);
	if (a.served == VIP_SUCCESS)
		a.served = VipPostSend(a.vi, prepare(&a, 1, 8), a.handle);
	return NULL;
}

/* Some transports require that the other side sends first. The library hides that from programs. */
static void whoever_accepted_may_be_the_first_to_send(void)
{
	VIP_CONN_HANDLE conn;

	REQUIRE_VIP(look("here", 0, &conn), VIP_TIMEOUT);
	for (int i = 0; i < 8; i++) {
		post_recv(&b, 0, 64);
		REQUIRE(pthread_create(&a.thread, NULL, accept_and_send, NULL) == 0);
		a.serving = true;
		client_connect(&b, "here");
		expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
		server_join(&a);
		expect_send(&a, 1, VIP_STATUS_OP_SEND);
		CHECK_VIP(VipDisconnect(i % 2 ? a.vi : b.vi), VIP_SUCCESS);
		CHECK_VIP(VipDisconnect(i % 2 ? b.vi : a.vi), VIP_SUCCESS);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(both_learn_the_others_attributes),
	CHECK_TEST(the_server_learns_the_clients_address),
	CHECK_TEST(no_more_is_written_than_there_is_room_for),
	CHECK_TEST(a_bare_address_is_not_written_beyond),
	CHECK_TEST(nobody_there_is_no_match),
	CHECK_TEST(a_neighbour_behind_the_same_door_is_no_match),
	CHECK_TEST(a_discriminator_matches_as_a_whole),
	CHECK_TEST(sixty_four_clients_may_wait),
	CHECK_TEST(two_nics_listen_behind_doors_of_their_own),
	CHECK_TEST(a_rejected_client_hears_so_and_can_ask_again),
	CHECK_TEST(differing_attributes_are_told_and_the_client_hears_nothing),
	CHECK_TEST(accepting_with_a_connected_vi_is_invalid_state),
	CHECK_TEST(a_client_without_patience_times_out),
	CHECK_TEST(receives_survive_a_failed_request),
	CHECK_TEST(a_receive_whose_memory_is_gone_fails_alone),
	CHECK_TEST(disconnect_flushes_and_the_vi_is_idle_at_once),
	CHECK_TEST(the_other_side_is_told_and_flushed),
	CHECK_TEST(sent_before_disconnect_is_received),
	CHECK_TEST(a_vi_that_is_not_idle_is_neither_destroyed_nor_changed),
	CHECK_TEST(a_vi_connects_again_and_again),
	CHECK_TEST(addresses_are_checked),
	CHECK_TEST(clients_between_two_waits_are_kept),
	CHECK_TEST(whoever_accepted_may_be_the_first_to_send),
	CHECK_END,
};
static const struct check_suite conn = {
	.name = "connection", .setup = open_sides, .teardown = close_sides, .tests = tests
};

CHECK_SUITES(&conn);
