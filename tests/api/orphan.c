/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The child of a peer that forks. Invariant: the peer forks at most once, and it goes on only when the child exists, or when
 * the forking thread sleeps, that is, waits for a lock that the peer holds.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "orphan.h"

#define CHILD_LIFE_S 200 /* longer than any test waits */

static _Atomic int fork_at; /* the moment at which to fork; 0: never */
static _Atomic pid_t forker, child;
static sem_t forking;
static pid_t left; /* in the test: the peer's child, which orphan_end() kills */

void orphan_at(int moment)
{
	atomic_store(&fork_at, moment);
}

void orphan_now(void)
{
	pid_t pid = fork();

	if (!pid) {
		alarm(CHILD_LIFE_S);
		for (;;)
			pause();
	}
	atomic_store(&child, pid);
}

static void *fork_here(void *arg)
{
	atomic_store(&forker, gettid());
	sem_post(&forking);
	orphan_now();
	return arg;
}

void orphan_moment(int moment)
{
	pthread_t thread;

	if (!atomic_compare_exchange_strong(&fork_at, &moment, 0))
		return;
	REQUIRE(!sem_init(&forking, 0, 0));
	REQUIRE(pthread_create(&thread, NULL, fork_here, NULL) == 0);
	pthread_detach(thread);
	sem_wait(&forking);
	REQUIRE_SOON(atomic_load(&child) || check_sleeps(atomic_load(&forker)));
}

void orphan_await(void)
{
	pid_t pid;

	REQUIRE_SOON(atomic_load(&child) != 0);
	pid = atomic_load(&child);
	check_put(CHECK_PARENT, &pid, sizeof(pid));
	for (;;)
		pause();
}

pid_t orphan_of(pid_t peer)
{
	check_get(peer, &left, sizeof(left));
	REQUIRE(left > 0);
	return left;
}

void orphan_end(void)
{
	if (left > 0)
		kill(left, SIGKILL);
	left = 0;
}
