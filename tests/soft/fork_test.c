/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process forks, in one of its threads, just when another has got a socket from the kernel that
 * nobody else knows of yet. The child does not exec, and lives on when its parent is killed: it
 * must not have the socket, or else nobody would notice the death.
 *
 * The C library's functions are called by way of those below, which the program itself defines.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"

enum { CHILD_LIFE_S = 60 };

enum moment { NEVER, CONNECT, ACCEPT, LISTEN };

static _Atomic enum moment moment; /* the next call of this function is the moment to fork */
static _Atomic pid_t forker, child;
static sem_t forking;
static struct api_end end;
static DAT_EVD_HANDLE cr_evd;

static void *fork_here(void *arg)
{
	pid_t pid;

	(void)arg;
	atomic_store(&forker, gettid());
	sem_post(&forking);
	pid = fork();
	if (!pid) {
		alarm(CHILD_LIFE_S);
		for (;;)
			pause();
	}
	atomic_store(&child, pid);
	return NULL;
}

static bool sleeps(pid_t tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(file);
	return state == 'S';
}

/* Goes on when there is a child, or when the process will not have one for now. */
static void fork_at(enum moment now)
{
	pthread_t thread;

	if (!atomic_compare_exchange_strong(&moment, &(enum moment){ now }, NEVER))
		return;
	REQUIRE(pthread_create(&thread, NULL, fork_here, NULL) == 0);
	pthread_detach(thread);
	sem_wait(&forking);
	REQUIRE_SOON(atomic_load(&child) || sleeps(atomic_load(&forker)));
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int (*real)(int, const struct sockaddr *, socklen_t);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "connect");
	ret = real(fd, address, len);
	if (!ret && address->sa_family == AF_UNIX)
		fork_at(CONNECT);
	return ret;
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	int (*real)(int, struct sockaddr *, socklen_t *, int);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "accept4");
	ret = real(fd, address, len, flags);
	if (ret >= 0)
		fork_at(ACCEPT);
	return ret;
}

int listen(int fd, int backlog)
{
	int (*real)(int, int);
	int ret;

	*(void **)&real = dlsym(RTLD_NEXT, "listen");
	ret = real(fd, backlog);
	if (!ret)
		fork_at(LISTEN);
	return ret;
}

/* ------------------------------------------------------------------ the peer, which is killed */

static void open_side(void)
{
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
}

/* Tells which child there is, for the test to end it. */
static void live(void)
{
	pid_t pid;

	REQUIRE_SOON(atomic_load(&child) != 0);
	pid = atomic_load(&child);
	check_put(CHECK_PARENT, &pid, sizeof(pid));
	for (;;)
		pause();
}

static void fork_while_connecting(void *arg)
{
	struct api_offer offer;

	(void)arg;
	sem_init(&forking, 0, 0);
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	open_side();
	atomic_store(&moment, CONNECT);
	api_connect_to(&end, &offer.address, offer.qual);
	live();
}

static void fork_while_accepting(void *arg)
{
	struct api_offer offer;

	(void)arg;
	sem_init(&forking, 0, 0);
	open_side();
	atomic_store(&moment, ACCEPT);
	api_offer_make(&offer, cr_evd, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	live();
}

static void fork_while_listening(void *arg)
{
	struct api_offer offer;

	(void)arg;
	sem_init(&forking, 0, 0);
	open_side();
	atomic_store(&moment, LISTEN);
	api_offer_make(&offer, cr_evd, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	live();
}

/* ------------------------------------------------------------------ the tests */

static pid_t left; /* the child, when its parent has been killed */

static void kill_it(pid_t peer)
{
	check_get(peer, &left, sizeof(left));
	check_kill(peer);
}

static void close_side(void)
{
	api_close();
	if (left > 0)
		kill(left, SIGKILL);
	left = 0;
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
