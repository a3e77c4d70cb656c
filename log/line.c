/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a line to standard error without waiting; line.h states the invariant.
 *
 * Each kind of file has a way of its own to write without waiting, because O_NONBLOCK belongs to the open file, which other
 * processes share: a socket has MSG_DONTWAIT, a pipe RWF_NOWAIT since Linux 6.4. For a terminal, and for a pipe before, the file
 * is opened once more, through /proc, so that O_NONBLOCK holds for this line only. That fails if the process may not open it (it
 * has changed its user, say); then poll(2) tells whether there is room.
 */
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define AGAIN "/proc/self/fd/2"

/*
 * Both are relaxed: they order nothing else. The lines that were lost since the last one that was written, and whether the last
 * one ends in its middle.
 */
static atomic_uint lost;
static atomic_bool torn;

void line_guard_begin(struct line_guard *guard)
{
	sigset_t raised;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel);
	sigemptyset(&raised);
	sigaddset(&raised, SIGPIPE);
	sigaddset(&raised, SIGXFSZ);
	sigaddset(&raised, SIGTTOU); /* is not raised while it is blocked */
	pthread_sigmask(SIG_BLOCK, &raised, &guard->mask);
	sigemptyset(&guard->pending);
	sigpending(&guard->pending);
}

void line_guard_end(const struct line_guard *guard, bool failed)
{
	static const int raised[] = { SIGPIPE, SIGXFSZ };
	struct timespec none = { 0, 0 };
	sigset_t one;
	int i;

	for (i = 0; failed && i < 2; i++) {
		if (sigismember(&guard->pending, raised[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, raised[i]);
		TEMP_FAILURE_RETRY(sigtimedwait(&one, NULL, &none));
	}
	pthread_sigmask(SIG_SETMASK, &guard->mask, NULL);
	pthread_setcancelstate(guard->cancel, NULL);
}

/* True if a write has had its effect, or cannot have one now. False: the kernel does not offer this way, or a filter refuses it. */
static bool is_answer(ssize_t written)
{
	return written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != EPERM);
}

/*
 * Only what is open for writing may be, for a program may have closed its standard error and have another file there. And only
 * pipes and terminals: to open another device may do something, and to open the master of terminals makes a new one.
 */
static bool may_be_opened_again(const struct stat *file)
{
	int flags = fcntl(STDERR_FILENO, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
		return false;
	return S_ISFIFO(file->st_mode) ||
	       (S_ISCHR(file->st_mode) && file->st_rdev != makedev(5, 2) && isatty(STDERR_FILENO));
}

static ssize_t write_opened_again(const char *line, size_t n)
{
	ssize_t written;
	int error, fd = open(AGAIN, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		errno = ENOSYS;
		return -1;
	}
	written = TEMP_FAILURE_RETRY(write(fd, line, n));
	error = errno;
	close(fd);
	errno = error;
	return written;
}

static ssize_t write_if_ready(const char *line, size_t n)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (TEMP_FAILURE_RETRY(poll(&ready, 1, 0)) != 1 || !(ready.revents & POLLOUT))
		return -1;
	return TEMP_FAILURE_RETRY(write(STDERR_FILENO, line, n));
}

/* Returns how many bytes have been written, or -1. */
static ssize_t write_now(const struct stat *file, const char *line, size_t n)
{
	struct iovec all = { .iov_base = (void *)(uintptr_t)line, .iov_len = n };
	ssize_t written;

	if (S_ISREG(file->st_mode))
		return TEMP_FAILURE_RETRY(write(STDERR_FILENO, line, n));
	if (S_ISSOCK(file->st_mode))
		return TEMP_FAILURE_RETRY(send(STDERR_FILENO, line, n, MSG_DONTWAIT | MSG_NOSIGNAL));
	written = TEMP_FAILURE_RETRY(pwritev2(STDERR_FILENO, &all, 1, -1, RWF_NOWAIT));
	if (is_answer(written))
		return written;
	if (may_be_opened_again(file)) {
		written = write_opened_again(line, n);
		if (is_answer(written))
			return written;
	}
	return write_if_ready(line, n);
}

/* Makes the line, and says before it how many were lost. Returns its length, and -1 if there is no memory. */
static ssize_t line_make(char **line, const char *origin, const char *text, unsigned int missing, bool after_torn)
{
	char loss[200] = "";

	if (missing)
		snprintf(loss, sizeof(loss), "%.100s: %u line%s before this one could not be written and %s lost\n", origin,
			 missing, missing == 1 ? "" : "s", missing == 1 ? "is" : "are");
	*line = NULL;
	return asprintf(line, "%s%s%s: %s\n", after_torn ? "\n" : "", loss, origin, text);
}

/* A pipe takes no more in one piece, so that it has room for all or for nothing. Returns the length of what is left. */
static ssize_t line_cut(char *line, ssize_t length)
{
	ssize_t n = PIPE_BUF - 4; /* for "...\n" */

	if (length <= PIPE_BUF)
		return length;
	while (n > 0 && ((unsigned char)line[n] & 0xc0) == 0x80)
		n--; /* not within a character */
	memcpy(line + n, "...\n", 4);
	return n + 4;
}

static ssize_t line_put(char *line, ssize_t *n)
{
	struct line_guard guard;
	struct stat file;
	ssize_t written;

	if (*n < 0 || fstat(STDERR_FILENO, &file))
		return -1;
	if (!S_ISREG(file.st_mode) && !S_ISSOCK(file.st_mode))
		*n = line_cut(line, *n);
	line_guard_begin(&guard);
	written = write_now(&file, line, (size_t)*n);
	line_guard_end(&guard, written != *n);
	return written;
}

void line_write(const char *origin, const char *text)
{
	unsigned int missing = atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
	bool after_torn = atomic_exchange_explicit(&torn, false, memory_order_relaxed);
	char *line;
	ssize_t n = line_make(&line, origin, text, missing, after_torn);
	ssize_t written = line_put(line, &n);

	if (n < 0 || written != n) {
		atomic_fetch_add_explicit(&lost, missing + 1, memory_order_relaxed);
		if (written > 0 || after_torn)
			atomic_store_explicit(&torn, true, memory_order_relaxed);
	}
	if (n >= 0)
		free(line);
}
