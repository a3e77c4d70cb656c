/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes: data both ways, memory handles that peers use unchanged, and killed peers. */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

/* The memory of a side, for RDMA by its peer. */
struct place {
	void *address;
	VIP_MEM_HANDLE handle;
};

static struct side s;
static pid_t peer;
static atomic_int lost;

static void close_side(void)
{
	side_close(&s);
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context;
	if (what->ErrorCode == VIP_ERROR_CONN_LOST)
		atomic_fetch_add(&lost, 1);
}

static void open_client(void)
{
	side_open_vi(&s);
	atomic_store(&lost, 0);
	REQUIRE_VIP(VipErrorCallback(s.nic, NULL, on_error), VIP_SUCCESS);
}

/* The server of every test: sends the description of its memory, and accepts one client. */
static void server_open(struct side *server)
{
	struct place here;

	side_open_vi(server);
	for (unsigned int i = 0; i < 8; i++)
		post_recv(server, i, 64);
	server_start(server, "two");
	memset(&here, 0, sizeof(here));	/* the padding is sent too, so it is initialised */
	here.address = buffer(server, 16);
	here.handle = server->handle;
	check_put(CHECK_PARENT, &here, sizeof(here));
	server_join(server);
}

static void serve_data(void *arg)
{
	struct side server = { .nic = NULL };

	(void)arg;
	server_open(&server);
	expect_recv(&server, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_STR((char *)buffer(&server, 0), "hello");
	strcpy((char *)buffer(&server, 8), "welcome");
	post_send(&server, 8, 16);
	expect_send(&server, 8, VIP_STATUS_OP_SEND);
	expect_recv(&server, 1, VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
	CHECK_EQ_INT(descriptor(&server, 1)->CS.ImmediateData, 5);
	CHECK_EQ_STR((char *)buffer(&server, 16), "written");
	strcpy((char *)buffer(&server, 16), "to be read");
	post_send(&server, 8, 16);
	expect_send(&server, 8, VIP_STATUS_OP_SEND);
	check_await(CHECK_PARENT);
	side_close(&server);
}

static void data_and_rdma_between_two_processes(void)
{
	struct place there;
	VIP_DESCRIPTOR *d;

	peer = check_fork(serve_data, NULL);
	open_client();
	check_get(peer, &there, sizeof(there));
	post_recv(&s, 0, 64);
	post_recv(&s, 1, 64);
	client_connect(&s, "two");
	strcpy((char *)buffer(&s, 4), "hello");
	post_send(&s, 4, 6);
	expect_recv(&s, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_STR((char *)buffer(&s, 0), "welcome");
	expect_send(&s, 4, VIP_STATUS_OP_SEND);

	strcpy((char *)buffer(&s, 5), "written");
	d = prepare_rdma(&s, 5, 8, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, there.address,
			 there.handle);
	d->CS.ImmediateData = 5;
	REQUIRE_VIP(VipPostSend(s.vi, d, s.handle), VIP_SUCCESS);
	expect_send(&s, 5, VIP_STATUS_OP_RDMA_WRITE);
	expect_recv(&s, 1, VIP_STATUS_OP_RECEIVE);
	d = prepare_rdma(&s, 6, 16, VIP_CONTROL_OP_RDMAREAD, there.address, there.handle);
	REQUIRE_VIP(VipPostSend(s.vi, d, s.handle), VIP_SUCCESS);
	expect_send(&s, 6, VIP_STATUS_OP_RDMA_READ);
	CHECK_EQ_STR((char *)buffer(&s, 6), "to be read");
	check_signal(peer);
	check_join(peer);
}

static void serve_until_killed(void *arg)
{
	struct side server = { .nic = NULL };

	(void)arg;
	server_open(&server);
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

static void a_killed_peer_is_an_error_and_the_vi_connects_again(void)
{
	struct place there;

	peer = check_fork(serve_until_killed, NULL);
	open_client();
	check_get(peer, &there, sizeof(there));
	post_recv(&s, 0, 64);
	client_connect(&s, "two");
	check_await(peer);
	check_kill(peer);
	expect_recv(&s, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	REQUIRE_SOON(state_of(&s) == VIP_STATE_ERROR);
	REQUIRE_SOON(atomic_load(&lost) == 1);
	CHECK_VIP(VipDisconnect(s.vi), VIP_SUCCESS);

	peer = check_fork(serve_until_killed, NULL);
	check_get(peer, &there, sizeof(there));
	client_connect(&s, "two");
	check_await(peer);
	/* The library's own handler prints the error. Over a device the kernel disconnects for a killed process. */
	REQUIRE_VIP(VipErrorCallback(s.nic, NULL, NULL), VIP_SUCCESS);
	check_stderr_begin();
	check_kill(peer);
	REQUIRE_SOON(state_of(&s) == VIP_STATE_ERROR);
	side_close(&s);
	if (strcmp(adapter(), "soft0") == 0)
		CHECK_HAS_STR(check_stderr_end(), "a connection has broken");
	else
		check_stderr_end();
}

/* The library's thread prints the error, to a pipe that nobody reads. The signal would end this process. */
static void a_killed_peer_raises_no_signal_where_nobody_reads_the_error(void)
{
	int ends[2], real = dup(STDERR_FILENO);
	struct place there;

	signal(SIGPIPE, SIG_DFL);
	peer = check_fork(serve_until_killed, NULL);
	open_client();
	REQUIRE_VIP(VipErrorCallback(s.nic, NULL, NULL), VIP_SUCCESS);
	check_get(peer, &there, sizeof(there));
	client_connect(&s, "two");
	check_await(peer);
	REQUIRE(real >= 0 && !pipe(ends) && dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[0]);
	close(ends[1]);
	check_kill(peer);
	CHECK_SOON(state_of(&s) == VIP_STATE_ERROR);
	side_close(&s);
	REQUIRE(dup2(real, STDERR_FILENO) >= 0);
	close(real);
}

/* Sends a request when it is told to. */
static void ask_and_wait(void *arg)
{
	(void)arg;
	client_ask_from_afar("two");
}

static VIP_RETURN look(VIP_ULONG timeout, VIP_CONN_HANDLE *conn)
{
	union address local, remote = { .bytes = { 0 } };

	address_make(&s, "two", &local);
	return VipConnectWait(s.nic, &local.net, timeout, &remote.net, &s.remote, conn);
}

static void accepting_a_client_that_was_killed_times_out(void)
{
	VIP_CONN_HANDLE conn;

	peer = check_fork(ask_and_wait, NULL);
	open_client();
	post_recv(&s, 0, 64);
	REQUIRE_VIP(look(0, &conn), VIP_TIMEOUT);
	check_signal(peer);
	REQUIRE_VIP(look(check_patience_ms(), &conn), VIP_SUCCESS);
	check_kill(peer);
	CHECK_VIP(VipConnectAccept(conn, s.vi), VIP_TIMEOUT);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
	CHECK_VIP(VipConnectAccept(conn, s.vi), VIP_INVALID_PARAMETER);

	/* the receive is still posted, and the next client uses it */
	peer = check_fork(ask_and_wait, NULL);
	check_signal(peer);
	REQUIRE_VIP(look(check_patience_ms(), &conn), VIP_SUCCESS);
	CHECK_VIP(VipConnectAccept(conn, s.vi), VIP_SUCCESS);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_CONNECTED);
	check_kill(peer);
	expect_recv(&s, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
}

static void peer_with_a_peer(void *arg)
{
	struct side other = { .nic = NULL };
	union address local, remote;

	(void)arg;
	side_open_vi(&other);
	address_make(&other, "bb", &local);
	address_make(&other, "aa", &remote);
	post_recv(&other, 0, 64);
	REQUIRE_VIP(VipConnectPeerRequest(other.vi, &local.net, &remote.net, check_patience_ms()),
		    VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(other.vi, &other.remote), VIP_SUCCESS);
	expect_recv(&other, 0, VIP_STATUS_OP_RECEIVE);
	check_await(CHECK_PARENT);
	side_close(&other);
}

static void peers_in_two_processes_connect(void)
{
	union address local, remote;

	peer = check_fork(peer_with_a_peer, NULL);
	open_client();
	address_make(&s, "aa", &local);
	address_make(&s, "bb", &remote);
	REQUIRE_VIP(VipConnectPeerRequest(s.vi, &local.net, &remote.net, check_patience_ms()),
		    VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(s.vi, &s.remote), VIP_SUCCESS);
	post_send(&s, 1, 8);
	expect_send(&s, 1, VIP_STATUS_OP_SEND);
	check_signal(peer);
	check_join(peer);
}

static const struct check_test tests[] = {
	CHECK_TEST(data_and_rdma_between_two_processes),
	CHECK_TEST(a_killed_peer_is_an_error_and_the_vi_connects_again),
	CHECK_TEST(a_killed_peer_raises_no_signal_where_nobody_reads_the_error),
	CHECK_TEST(accepting_a_client_that_was_killed_times_out),
	CHECK_TEST(peers_in_two_processes_connect),
	CHECK_END,
};
static const struct check_suite processes = {
	.name = "processes", .teardown = close_side, .tests = tests
};

CHECK_SUITES(&processes);
