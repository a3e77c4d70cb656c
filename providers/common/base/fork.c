/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of the descriptors that a child of fork() does not keep. Invariant: whenever the process
 * forks, each descriptor in the list is open and belongs to the object that listed it.
 */
#include <datp/fork.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "cancel.h"

/* A thread takes the lock twice if it forks in a signal handler while it holds the lock. */
static struct {
	pthread_mutex_t lock;
	struct datp_fork_fd *all;
	bool handled; /* the handlers are registered; under the lock */
} forks = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

static void fork_child(void)
{
	int null = forks.all ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	pthread_mutexattr_t attr;

	for (struct datp_fork_fd *entry = forks.all; entry; entry = entry->next)
		if (null < 0 || dup3(null, entry->fd, O_CLOEXEC) < 0)
			close(entry->fd);
	if (null >= 0)
		close(null);
	/* only once, because later these numbers may be other descriptors */
	forks.all = NULL;
	/*
	 * It is held by a thread of the parent, whose thread ID it contains. So the child cannot unlock it,
	 * and makes it anew; it tries only because the thread sanitizer takes a lock that was made anew for one
	 * that is still held.
	 */
	(void)pthread_mutex_unlock(&forks.lock);
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
 * Cancellation is disabled in most ops already, by libdatp or, when an adapter is opened or closed, by
 * libdat; but not in posts and polls, nor in threads of a plugin's own. The lock is one for the whole
 * process, so it does not rely on its callers.
 */
void datp_fork_hold(struct datp_fork_own *own)
{
	struct cancel cancel;

	cancel_off(&cancel);
	own->state = cancel.state;
	own->type = cancel.type;
	pthread_mutex_lock(&forks.lock);
	/* from the first use on: before that there is nothing in the list */
	if (!forks.handled)
		forks.handled = pthread_atfork(fork_waits, fork_parent, fork_child) == 0;
}

void datp_fork_release(const struct datp_fork_own *own)
{
	const struct cancel cancel = { .state = own->state, .type = own->type };

	pthread_mutex_unlock(&forks.lock);
	cancel_restore(&cancel);
}

void datp_fork_list(struct datp_fork_fd *entry, int fd)
{
	entry->fd = fd;
	entry->next = forks.all;
	entry->prev = &forks.all;
	if (entry->next)
		entry->next->prev = &entry->next;
	forks.all = entry;
}

void datp_fork_unlist(struct datp_fork_fd *entry)
{
	*entry->prev = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
}
