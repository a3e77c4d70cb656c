/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process forks, in one of its threads, just when another has got a socket from the kernel that
 * nobody else knows of yet. The child does not exec, and lives on when its parent is killed: it
 * must not have the socket, or else nobody would notice the death.
 *
 * The program defines the functions below in place of those of the C library, and they call the real ones.
 */
#include <dlfcn.h>
#include <sys/socket.h>

#include "orphan.h"

enum moment { CONNECT = 1, ACCEPT, LISTEN };

static struct api_end end;
static DAT_EVD_HANDLE cr_evd;

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int (*real)(int, const struct sockaddr *, socklen_t);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "connect");
	ret = real(fd, address, len);
	if (!ret && address->sa_family == AF_UNIX)
		orphan_moment(CONNECT);
	return ret;
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	int (*real)(int, struct sockaddr *, socklen_t *, int);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "accept4");
	ret = real(fd, address, len, flags);
	if (ret >= 0)
		orphan_moment(ACCEPT);
	return ret;
}

int listen(int fd, int backlog)
{
	int (*real)(int, int);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "listen");
	ret = real(fd, backlog);
	if (!ret)
		orphan_moment(LISTEN);
	return ret;
}

/* ------------------------------------------------------------------ the peer, which is killed */

static void open_side(void)
{
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
}

static void fork_while_connecting(void *arg)
{
	struct api_offer offer;

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	open_side();
	orphan_at(CONNECT);
	api_connect_to(&end, &offer.address, offer.qual);
	orphan_await();
}

static void fork_while_accepting(void *arg)
{
	struct api_offer offer;

	(void)arg;
	open_side();
	orphan_at(ACCEPT);
	api_offer_make(&offer, cr_evd, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	orphan_await();
}

static void fork_while_listening(void *arg)
{
	struct api_offer offer;

	(void)arg;
	open_side();
	orphan_at(LISTEN);
	api_offer_make(&offer, cr_evd, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	orphan_await();
}

/* ------------------------------------------------------------------ the tests */

static void kill_it(pid_t peer)
{
	orphan_of(peer);
	check_kill(peer);
}

static void close_side(void)
{
	api_close();
	orphan_end();
}

static void child_of_a_peer_that_connects_does_not_have_the_connection(void)
{
	pid_t peer = check_fork(fork_while_connecting, NULL);
	struct api_offer offer;

	open_side();
	api_offer_make(&offer, cr_evd, NULL);
	check_put(peer, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kill_it(peer);
	API_CONN_OVER(end.connect, end.ep);
}

static void child_of_a_peer_that_accepts_does_not_have_the_connection(void)
{
	pid_t peer = check_fork(fork_while_accepting, NULL);
	struct api_offer offer;

	open_side();
	check_get(peer, &offer, sizeof(offer));
	api_connect_to(&end, &offer.address, offer.qual);
	kill_it(peer);
	API_CONN_OVER(end.connect, end.ep);
}

static void child_of_a_peer_that_listens_does_not_have_the_qualifier(void)
{
	pid_t peer = check_fork(fork_while_listening, NULL);
	struct api_offer offer;
	DAT_PSP_HANDLE psp;

	open_side();
	check_get(peer, &offer, sizeof(offer));
	kill_it(peer);
	REQUIRE_SOON(dat_psp_create(api.ia, offer.qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp) ==
		     DAT_SUCCESS);
}

static const struct check_test tests[] = {
	CHECK_TEST(child_of_a_peer_that_connects_does_not_have_the_connection),
	CHECK_TEST(child_of_a_peer_that_accepts_does_not_have_the_connection),
	CHECK_TEST(child_of_a_peer_that_listens_does_not_have_the_qualifier), CHECK_END
};

static const struct check_suite forks = { .name = "fork", .teardown = close_side, .tests = tests };

CHECK_SUITES(&forks);
