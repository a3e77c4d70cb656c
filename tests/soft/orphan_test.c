/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer has a child that keeps all of its descriptors, and is killed. The kernel does not close the peer's sockets then, and
 * still the connection ends at once, everything that was posted completes, and the adapter serves others. A child of fork()
 * gets /dev/null in place of the provider's descriptors; so these peers call the kernel, as a peer that does not use the
 * provider might.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"
#include "hostile/hostile.h"

#define SIZE ((size_t)256 << 10)

#ifndef SO_PEERPIDFD /* since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

static struct api_end end;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static struct api_offer here;
static pid_t orphan;
static pid_t next; /* connects when the peer is dead */

/* Skips the test where the kernel gives no handle of a process that is at the other end of a socket. */
static void need_handles(void)
{
	int pair[2], handle = -1;
	socklen_t len = sizeof handle;

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	if (getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &handle, &len) < 0 && errno == ENOPROTOOPT)
		check_skip("the kernel has no SO_PEERPIDFD (Linux 6.5)");
	REQUIRE(handle >= 0);
	close(handle);
	close(pair[0]);
	close(pair[1]);
}

/* ------------------------------------------------------------------ the peers */

/* Makes the child, and waits to be killed. */
static void leave_a_child(void)
{
	long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	pid_t pid = (pid_t)child;

	REQUIRE(child >= 0);
	if (!child)
		for (;;)
			syscall(SYS_pause);
	check_put(CHECK_PARENT, &pid, sizeof pid);
	for (;;)
		pause();
}

static void open_side(void)
{
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_offer_make(&here, cr_evd, &buf);
}

static void accept_one(void)
{
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void connect_to_parent(void)
{
	struct api_offer there;

	check_get(CHECK_PARENT, &there, sizeof there);
	open_side();
	api_connect_to(&end, &there.address, there.qual);
}

static void connects(void *arg)
{
	(void)arg;
	connect_to_parent();
	leave_a_child();
}

static void listens(void *arg)
{
	(void)arg;
	open_side();
	check_put(CHECK_PARENT, &here, sizeof here);
	accept_one();
	leave_a_child();
}

/* The thread that is left when the first one of the process has ended. */
static void *goes_on(void *arg)
{
	char path[64], state = 0;

	(void)arg;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	while (state != 'Z') {
		FILE *file = fopen(path, "re");

		REQUIRE(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
		fclose(file);
		sched_yield();
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, 8, 2, 0), DAT_SUCCESS);
	for (;;)
		pause();
	return NULL;
}

static void loses_its_first_thread(void *arg)
{
	pthread_t thread;

	(void)arg;
	connect_to_parent();
	REQUIRE(pthread_create(&thread, NULL, goes_on, NULL) == 0);
	syscall(SYS_exit, 0);
}

static void does_not_confirm(void *arg)
{
	struct hostile h;
	struct api_offer there;

	(void)arg;
	check_get(CHECK_PARENT, &there, sizeof there);
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_request(&h, there.qual);
	hostile_await_answer(&h);
	leave_a_child();
}

static void connects_and_goes(void *arg)
{
	(void)arg;
	connect_to_parent();
	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	api_close();
}

/* ------------------------------------------------------------------ the tests */

/* Forks both before this process has threads. */
static pid_t peers_make(void (*run)(void *arg))
{
	pid_t peer = check_fork(run, NULL);

	next = check_fork(connects_and_goes, NULL);
	return peer;
}

static void kill_it(pid_t peer)
{
	check_get(peer, &orphan, sizeof orphan);
	check_kill(peer);
}

static void end_orphan(void)
{
	if (orphan > 0)
		kill(orphan, SIGKILL);
	orphan = 0;
	api_close();
}

/* A receive that gets no message, and a message that is too long to be sent before its receive. */
static void post(void)
{
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, SIZE, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, SIZE, 2, 0), DAT_SUCCESS);
}

static void want_the_end(void)
{
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_DTO(end.request, end.ep, 2, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
}

static void want_service(void)
{
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	check_put(next, &here, sizeof here);
	accept_one();
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	check_join(next);
}

static void a_peer_that_has_connected_dies(void)
{
	pid_t peer;

	peer = peers_make(connects);
	open_side();
	check_put(peer, &here, sizeof here);
	accept_one();
	post();
	kill_it(peer);
	want_the_end();
	want_service();
}

static void a_peer_that_was_connected_to_dies(void)
{
	struct api_offer there;
	pid_t peer;

	peer = peers_make(listens);
	check_get(peer, &there, sizeof there);
	open_side();
	api_connect_to(&end, &there.address, there.qual);
	post();
	kill_it(peer);
	want_the_end();
	want_service();
}

/* The time limit of a handshake is longer than the test waits. */
static void a_peer_dies_before_its_confirmation(void)
{
	pid_t peer;

	peer = peers_make(does_not_confirm);
	open_side();
	check_put(peer, &here, sizeof here);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	kill_it(peer);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	want_service();
}

/* The first thread has ended. The handle of the process was made for that thread, which has the number of the process. */
static void a_peer_without_its_first_thread_lives(void)
{
	pid_t peer = peers_make(loses_its_first_thread);

	open_side();
	check_put(peer, &here, sizeof here);
	accept_one();
	check_await(peer);
	API_QUIET(end.connect);
	REQUIRE_DAT(api_recv(end.ep, &buf, 0, 8, 1), DAT_SUCCESS);
	check_signal(peer);
	API_DTO(end.recv, end.ep, 1, DAT_DTO_SUCCESS, 8);
	check_kill(peer);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	want_service();
}

static const struct check_test tests[] = {
	CHECK_TEST(a_peer_that_has_connected_dies),
	CHECK_TEST(a_peer_that_was_connected_to_dies),
	CHECK_TEST(a_peer_dies_before_its_confirmation),
	CHECK_TEST(a_peer_without_its_first_thread_lives),
	CHECK_END
};

static const struct check_suite suite = { .name = "peers that die and leave a child",
					  .setup = need_handles,
					  .teardown = end_orphan,
					  .tests = tests };

CHECK_SUITES(&suite);
