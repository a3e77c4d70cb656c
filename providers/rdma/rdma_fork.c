/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a child of fork() must not keep: the descriptors of the open adapters' connections and
 * devices. While a child has a copy, the kernel keeps the connections and listeners of a parent
 * that was killed. Invariant: whenever the process forks, an open descriptor is in the list, and a
 * closed one is not.
 *
 * librdmacm's own context of each device is not in the list: a child that opens an adapter needs
 * it, and it keeps no connection.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "rdma_fork.h"
#include <fcntl.h>
#include <unistd.h>

/*
 * A thread takes the lock twice if it forks in a signal handler while it holds the lock. A leaf
 * lock, which is held for short times only.
 */
static struct {
	pthread_mutex_t lock;
	struct rdma_held *all;
	bool fork_handler;
} forks = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

/*
 * Each number stays in use, and becomes /dev/null: a child that was forked during a call to
 * librdmacm, or that runs its destructors, must not find a file there that the child has opened
 * itself.
 */
static void fork_child(void)
{
	int null = forks.all ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	pthread_mutexattr_t attr;

	for (struct rdma_held *held = forks.all; held; held = held->next)
		if (null < 0 || dup3(null, held->fd, O_CLOEXEC) < 0)
			close(held->fd);
	if (null >= 0)
		close(null);
	/* only once, because the adapters are the parent's */
	forks.all = NULL;
	/* it is held by a thread of the parent, whose thread ID it contains */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&forks.lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void fork_waits(void)
{
	pthread_mutex_lock(&forks.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&forks.lock);
}

/*
 * Opening and closing are cancellation points: a thread that ended there would keep the lock, and
 * the process could not be forked any more. The type is set as well as the state, and first,
 * because a signal of the C library that is on its way to a thread with asynchronous cancellation
 * checks the type only.
 */
void rdma_fork_hold(struct rdma_cancel *own)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &own->type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own->state);
	pthread_mutex_lock(&forks.lock);
	/* from the first use on: before that there is nothing in the list */
	if (!forks.fork_handler)
		forks.fork_handler = pthread_atfork(fork_waits, fork_parent, fork_child) == 0;
}

void rdma_fork_release(const struct rdma_cancel *own)
{
	int ignored;

	pthread_mutex_unlock(&forks.lock);
	pthread_setcancelstate(own->state, &ignored);
	pthread_setcanceltype(own->type, &ignored);
}

void rdma_fork_list(struct rdma_held *held, int fd)
{
	held->fd = fd;
	held->next = forks.all;
	held->prev = &forks.all;
	if (held->next)
		held->next->prev = &held->next;
	forks.all = held;
}

void rdma_fork_unlist(struct rdma_held *held)
{
	*held->prev = held->next;
	if (held->next)
		held->next->prev = held->prev;
}

#if HAVE_DECL_IBV_IS_FORK_INITIALIZED
/*
 * Since Linux 5.12 a fork copies registered pages. Before that, the first of parent and child that
 * writes to such a page gets a new one: if that is the parent, the device continues to use the old
 * page, which the parent does not see any more. ibv_fork_init() prevents this, but is not called
 * here: it has to come before the first registration of the process, and a child cannot access
 * registered memory at all after it, so the user decides.
 */
void rdma_fork_check(const struct rdma_ia *ia)
{
	static _Atomic bool told;

	/* relaxed: only decides who prints the message */
	if (ibv_is_fork_initialized() != IBV_FORK_DISABLED ||
	    atomic_exchange_explicit(&told, true, memory_order_relaxed))
		return;
	datp_log(2,
		 "%s: on this kernel, data that arrive after a fork may be lost: if this process "
		 "forks, set RDMAV_FORK_SAFE=1 in its environment, or use Linux 5.12 or later",
		 ia->base.name);
}
#else
void rdma_fork_check(const struct rdma_ia *ia)
{
	(void)ia;
}
#endif
