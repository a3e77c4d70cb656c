/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How libvipl uses the adapter beneath: recorded by the trace wrapper, and over the wrapper odd.c, which
 * misbehaves. In the adapter `report`, that wrapper reports which call a thread has reached.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.h"

enum { CANARY = 0xc5 };

static struct side a, b;	/* a is on the adapter that is tested, b on soft0 or the same one */
static int told[2];		/* a pipe, from the wrapper to the test */
static int trace = -1;		/* the trace, one for all tests, because a process reads dat.conf once */

/* A thread that waits without a timeout, and its result. */
static struct sleeper {
	pthread_t thread;
	bool running;
	VIP_RETURN ret;
	VIP_VI_HANDLE vi;
	VIP_BOOLEAN recv;
	VIP_DESCRIPTOR *descriptor;
	union address local, remote;
} sleeper;

static void write_conf(void)
{
	char libs[PATH_MAX], path[PATH_MAX];
	const char *head = "u1.2 nonthreadsafe default";
	FILE *file;

	REQUIRE(getcwd(path, sizeof(path) - 10) != NULL);
	snprintf(libs, sizeof(libs), "%.4000s/.libs", path);
	snprintf(path, sizeof(path), "%s/dat.conf", check_tmpdir());
	file = fopen(path, "w");
	REQUIRE(file != NULL);
	fprintf(file, "soft0 %s %s/libdatsoft.so opendat.1.0 \"\" \"\"\n", head, libs);
	fprintf(file, "trace %s %s/libdat-trace.so opendat.1.0 \"soft0 file=%s%d\" \"\"\n", head,
		libs, "/proc/self/fd/", trace);
	fprintf(file, "report %s %s/odd.so opendat.1.0 \"soft0 report=%d\" \"\"\n", head, libs,
		told[1]);
	fprintf(file, "key0 %s %s/odd.so opendat.1.0 \"soft0 key0\" \"\"\n", head, libs);
	fprintf(file, "active-first %s %s/odd.so opendat.1.0 \"soft0 active-first\" \"\"\n", head,
		libs);
	fprintf(file, "other-family %s %s/odd.so opendat.1.0 \"soft0 other-family\" \"\"\n", head,
		libs);
	REQUIRE(fclose(file) == 0);
	setenv("DAT_OVERRIDE", path, 1);
}

static void set_up(void)
{
	char rest[64];

	if (trace < 0) {
		trace = memfd_create("trace", 0);
		REQUIRE(trace >= 0);
		REQUIRE(pipe2(told, O_NONBLOCK) == 0);
	}
	REQUIRE(ftruncate(trace, 0) == 0);
	while (read(told[0], rest, sizeof(rest)) > 0)
		;
	write_conf();
	setenv("OPENDAT_TEST_IA", "soft0", 1);
}

static void tear_down(void)
{
	if (sleeper.running)
		pthread_join(sleeper.thread, NULL);
	sleeper.running = false;
	side_close(&b);
	side_close(&a);
}

static void open_on(struct side *s, const char *name)
{
	setenv("OPENDAT_TEST_IA", name, 1);
	side_open_vi(s);
	setenv("OPENDAT_TEST_IA", "soft0", 1);
}

static void sleeper_start(void *(*sleep)(void *))
{
	REQUIRE(pthread_create(&sleeper.thread, NULL, sleep, NULL) == 0);
	sleeper.running = true;
}

static void sleeper_join(void)
{
	pthread_join(sleeper.thread, NULL);
	sleeper.running = false;
}

/* Returns true if the wrapper reports this call within the time. */
static bool call_comes(char what, unsigned int ms)
{
	struct pollfd fd = { .fd = told[0], .events = POLLIN };
	uint64_t until = check_now_ms() + ms;
	char got = 0;

	while (got != what) {
		if (check_now_ms() >= until || poll(&fd, 1, (int)ms) != 1)
			return false;
		REQUIRE(read(told[0], &got, 1) == 1);
	}
	return true;
}

/* Returns true if the trace has a line with both words. */
static bool traced(const char *call, const char *word)
{
	char line[2000];
	bool found = false;
	FILE *file;

	snprintf(line, sizeof(line), "/proc/self/fd/%d", trace);
	file = fopen(line, "r");
	REQUIRE(file != NULL);
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = strstr(line, call) != NULL && strstr(line, word) != NULL;
	fclose(file);
	return found;
}

static void a_fence_is_one_for_udapl(void)
{
	VIP_DESCRIPTOR *d;

	open_on(&a, "trace");
	side_open_vi(&b);
	post_recv(&b, 0, 64);
	sides_connect(&b, &a);
	d = prepare_rdma(&a, 1, 8, VIP_CONTROL_OP_RDMAREAD, buffer(&b, 2), b.handle);
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	d = prepare_rdma(&a, 2, 8, VIP_CONTROL_OP_RDMAWRITE, buffer(&b, 2), b.handle);
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	CHECK(!traced("dat_ep_post", "completion_flags=0x8"));
	d = prepare_rdma(&a, 3, 8, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_QFENCE, buffer(&b, 2),
			 b.handle);
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	d = prepare_rdma(&a, 4, 8, VIP_CONTROL_OP_RDMAREAD | VIP_CONTROL_QFENCE, buffer(&b, 2),
			 b.handle);
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	d = prepare(&a, 5, 8);
	d->CS.Control = VIP_CONTROL_QFENCE;
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	expect_send(&a, 1, VIP_STATUS_OP_RDMA_READ);
	expect_send(&a, 2, VIP_STATUS_OP_RDMA_WRITE);
	expect_send(&a, 3, VIP_STATUS_OP_RDMA_WRITE);
	expect_send(&a, 4, VIP_STATUS_OP_RDMA_READ);
	expect_send(&a, 5, VIP_STATUS_OP_SEND);
	CHECK(traced("dat_ep_post_rdma_write", "completion_flags=0x8"));
	CHECK(traced("dat_ep_post_rdma_read", "completion_flags=0x8"));
	CHECK(traced("dat_ep_post_send", "completion_flags=0x8"));
}

static void *wait_for_recv(void *arg)
{
	(void)arg;
	sleeper.ret = VipRecvWait(a.vi, 0xFFFFFFFF, &sleeper.descriptor);
	return NULL;
}

/* A program that was written where VIP_ULONG has 32 bits passes 0xFFFFFFFF as the infinite timeout. */
static void the_32_bit_infinite_is_for_ever(void)
{
	union address local, remote;

	open_on(&a, "trace");
	side_open_vi(&b);
	post_recv(&a, 0, 64);
	server_start(&b, "server");
	address_make(&a, "client", &local);
	address_make(&b, "server", &remote);
	REQUIRE_VIP(VipConnectRequest(a.vi, &local.net, &remote.net, 0xFFFFFFFF, NULL),
		    VIP_SUCCESS);
	server_join(&b);
	CHECK(traced("dat_ep_connect", "timeout=infinite"));
	CHECK(!traced("dat_evd_wait", "timeout="));
	sleeper_start(wait_for_recv);
	/* In most runs the thread sleeps after this. If it does not, there is nothing to check, and nothing is wrong. */
	check_nap();
	check_nap();
	post_send(&b, 1, 8);
	sleeper_join();
	CHECK_VIP(sleeper.ret, VIP_SUCCESS);
	CHECK(!traced("dat_evd_wait", "timeout=") || traced("dat_evd_wait", "timeout=infinite"));
}

static void a_key_of_0_is_no_handle(void)
{
	open_on(&a, "key0");
	CHECK(a.handle != 0);
}

static void *wait_for_client(void *arg)
{
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	(void)arg;
	address_make(&a, "nobody", &sleeper.local);
	sleeper.ret = VipConnectWait(a.nic, &sleeper.local.net, VIP_INFINITE, &sleeper.remote.net,
				     &attr, &conn);
	return NULL;
}

/* The waiter listens (dat_psp_create) before it sleeps, and under the same lock. */
static void a_nic_is_not_closed_under_a_waiter(void)
{
	setenv("OPENDAT_TEST_IA", "report", 1);
	side_open(&a);
	sleeper_start(wait_for_client);
	REQUIRE(call_comes('p', check_patience_ms()));
	CHECK_VIP(VipCloseNic(a.nic), VIP_ERROR_RESOURCE);
	pthread_cancel(sleeper.thread);
	sleeper_join();
}

static void *wait_for_entry(void *arg)
{
	(void)arg;
	sleeper.ret = VipCQWait(a.cq, VIP_INFINITE, &sleeper.vi, &sleeper.recv);
	return NULL;
}

static void a_cq_is_not_destroyed_under_a_waiter(void)
{
	VIP_CQ_HANDLE cq;

	setenv("OPENDAT_TEST_IA", "report", 1);
	side_open(&a);
	REQUIRE_VIP(VipCreateCQ(a.nic, 64, &cq), VIP_SUCCESS);
	a.cq = cq;
	sleeper_start(wait_for_entry);
	REQUIRE(call_comes('w', check_patience_ms()));
	CHECK_VIP(VipDestroyCQ(cq), VIP_ERROR_RESOURCE);
	pthread_cancel(sleeper.thread);
	sleeper_join();
}

static VIP_RETURN look(const char *disc, VIP_CONN_HANDLE *conn)
{
	union address local, remote = { .bytes = { 0 } };

	address_make(&a, disc, &local);
	return VipConnectWait(a.nic, &local.net, 0, &remote.net, &a.remote, conn);
}

static VIP_RETURN request(const char *disc, VIP_ULONG timeout)
{
	union address local, remote;

	address_make(&b, "me", &local);
	address_make(&a, disc, &remote);
	return VipConnectRequest(b.vi, &local.net, &remote.net, timeout, NULL);
}

enum { CLIENT_MS = 30 };

/*
 * A program that says nothing of the length of its buffer has room for the longest address of the NIC. A client whose address is
 * longer is told what a client is that finds nobody.
 */
static void a_client_of_another_address_family_is_not_handed_out(void)
{
	VIP_CONN_HANDLE conn;
	size_t room;

	setenv("OPENDAT_TEST_IA", "other-family", 1);
	side_open(&a);
	setenv("OPENDAT_TEST_IA", "soft0", 1);
	side_open_vi(&b);
	REQUIRE_VIP(look("nobody", &conn), VIP_TIMEOUT); /* from now on the library listens */
	room = 4u + a.nic_attr.NicAddressLen + a.nic_attr.MaxDiscriminatorLen;
	REQUIRE(room < sizeof(sleeper.remote));
	memset(sleeper.remote.bytes, 0, room);
	memset(sleeper.remote.bytes + room, CANARY, sizeof(sleeper.remote) - room);
	sleeper_start(wait_for_client);
	CHECK_VIP(request("nobody", check_patience_ms()), VIP_NO_MATCH);
	pthread_cancel(sleeper.thread);
	sleeper_join();
	for (size_t i = room; i < sizeof(sleeper.remote); i++)
		CHECK_EQ_INT(sleeper.remote.bytes[i], CANARY);
}

/* Requests until one has arrived at the server's library. A request that is given up early may never arrive. */
static void ask_in_vain(const char *disc)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	do {
		REQUIRE(check_now_ms() < until);
		REQUIRE_VIP(request(disc, CLIENT_MS), VIP_TIMEOUT);
	} while (!call_comes('q', 1000));
}

/* One thread reads all requests, so when it reads the second one, the first is queued at its listener. */
static void a_client_that_has_given_up_is_not_handed_out(void)
{
	VIP_CONN_HANDLE conn;
	uint64_t then;

	open_on(&a, "report");
	side_open_vi(&b);
	REQUIRE_VIP(look("here", &conn), VIP_TIMEOUT);
	REQUIRE_VIP(look("there", &conn), VIP_TIMEOUT);
	ask_in_vain("here");
	ask_in_vain("there");
	then = check_now_ms() + CLIENT_MS;
	while (check_now_ms() <= then)
		check_nap();
	CHECK_VIP(look("here", &conn), VIP_TIMEOUT);
}

/* Requests are posted on both sides, and first on the side that has accepted. */
static void an_accepted_vi_waits_for_the_greeting(bool with_cq)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	setenv("OPENDAT_TEST_IA", "active-first", 1);
	side_open(&a);
	if (with_cq)
		REQUIRE_VIP(VipCreateCQ(a.nic, 64, &a.cq), VIP_SUCCESS);
	a.attr = (VIP_VI_ATTRIBUTES){ .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY };
	side_create_vi(&a);
	side_open(&b);
	b.attr = (VIP_VI_ATTRIBUTES){ .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY };
	side_create_vi(&b);
	for (unsigned int i = 0; i < 20; i++) {
		VIP_DESCRIPTOR *d = NULL;

		post_recv(&b, 0, 64);
		post_recv(&a, 0, 64);
		server_start(&a, "server");
		client_connect(&b, "server");
		server_join(&a);
		post_send(&a, 1, 8);
		expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
		CHECK_EQ_INT(descriptor(&b, 0)->CS.Length, 8);
		if (with_cq) {
			REQUIRE_VIP(VipCQWait(a.cq, check_patience_ms(), &vi, &recv), VIP_SUCCESS);
			CHECK_EQ_INT(recv, VIP_FALSE);
		}
		REQUIRE_SOON(VipSendDone(a.vi, &d) == VIP_SUCCESS);
		if (with_cq)
			CHECK_VIP(VipCQDone(a.cq, &vi, &recv), VIP_NOT_DONE);
		CHECK_VIP(VipRecvDone(a.vi, &d), VIP_NOT_DONE);
		CHECK_VIP(VipDisconnect(i % 2 ? a.vi : b.vi), VIP_SUCCESS);
		CHECK_VIP(VipDisconnect(i % 2 ? b.vi : a.vi), VIP_SUCCESS);
		side_drain(&a);
		side_drain(&b);
		while (with_cq && VipCQDone(a.cq, &vi, &recv) == VIP_SUCCESS)
			;
	}
}

static void where_the_active_side_sends_first_libvipl_does(void)
{
	an_accepted_vi_waits_for_the_greeting(false);
}

static void and_no_completion_queue_reports_it(void)
{
	an_accepted_vi_waits_for_the_greeting(true);
}

/* Both sides send at once, after both have requested the connection. */
static void nor_does_a_peer_have_to_care(void)
{
	struct side *sides[2] = { &a, &b };
	union address local, remote;

	open_on(&a, "active-first");
	open_on(&b, "active-first");
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 2; j++) {
			post_recv(sides[j], 0, 64);
			address_make(sides[j], j ? "two" : "one", &local);
			address_make(sides[!j], j ? "one" : "two", &remote);
			REQUIRE_VIP(VipConnectPeerRequest(sides[j]->vi, &local.net, &remote.net,
							  check_patience_ms()), VIP_SUCCESS);
		}
		/* b has the greater discriminator, and so it is the one that accepts */
		REQUIRE_VIP(VipConnectPeerWait(b.vi, NULL), VIP_SUCCESS);
		post_send(&b, 1, 8);
		REQUIRE_VIP(VipConnectPeerWait(a.vi, NULL), VIP_SUCCESS);
		post_send(&a, 1, 8);
		for (int j = 0; j < 2; j++) {
			expect_recv(sides[j], 0, VIP_STATUS_OP_RECEIVE);
			expect_send(sides[j], 1, VIP_STATUS_OP_SEND);
		}
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(a_fence_is_one_for_udapl),
	CHECK_TEST(the_32_bit_infinite_is_for_ever),
	CHECK_TEST(a_key_of_0_is_no_handle),
	CHECK_TEST(a_nic_is_not_closed_under_a_waiter),
	CHECK_TEST(a_cq_is_not_destroyed_under_a_waiter),
	CHECK_TEST(a_client_of_another_address_family_is_not_handed_out),
	CHECK_TEST(a_client_that_has_given_up_is_not_handed_out),
	CHECK_TEST(where_the_active_side_sends_first_libvipl_does),
	CHECK_TEST(and_no_completion_queue_reports_it),
	CHECK_TEST(nor_does_a_peer_have_to_care),
	CHECK_END,
};
static const struct check_suite below = {
	.name = "below", .setup = set_up, .teardown = tear_down, .tests = tests
};

CHECK_SUITES(&below);
