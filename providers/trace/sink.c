/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The destination of records. Invariant: the file is valid after every record. A trace in JSON ends
 * with its closing bracket, which the next record overwrites; so it can be opened while the program
 * runs, and after it has crashed. Processes that share a file take turns by a lock on it; an
 * existing trace is continued.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace.h"

#define JSON_HEAD "[\n"
#define JSON_TAIL "\n]\n"
#define TAIL_LEN  3

struct trace_sink {
	struct trace_sink *next; /* sinks_lock */
	unsigned int users;	 /* sinks_lock */
	pid_t pid;		 /* a child of fork() gets a sink of its own: it would share the lock on this descriptor */
	enum trace_format format;
	int fd;
	/* one record at a time; threads of one process share the lock on the file */
	pthread_mutex_t lock;
	char file[PATH_MAX];
};

static pthread_mutex_t sinks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace_sink *sinks;

/* Another thread of the parent may have held the lock. */
static void fork_child(void)
{
	sinks_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/* Replaces each %p by the process's number. */
static void file_expand(const char *file, char out[PATH_MAX])
{
	size_t at = 0;

	for (; *file && at + 16 < PATH_MAX; file++) {
		if (file[0] == '%' && file[1] == 'p') {
			at += (size_t)snprintf(out + at, PATH_MAX - at, "%d", (int)getpid());
			file++;
		} else {
			out[at++] = *file;
		}
	}
	out[at] = '\0';
}

/* Returns whether an existing file ends as a trace does, so that no other file is damaged. */
static bool is_continued(int fd, off_t end)
{
	char tail[TAIL_LEN];

	return end >= TAIL_LEN && pread(fd, tail, TAIL_LEN, end - TAIL_LEN) == TAIL_LEN &&
	       !memcmp(tail, JSON_TAIL, TAIL_LEN);
}

static bool sink_begin(struct trace_sink *sink, char *why, size_t size)
{
	bool ok = true;
	off_t end;

	if (sink->format == TRACE_TEXT)
		return true;
	flock(sink->fd, LOCK_EX);
	end = lseek(sink->fd, 0, SEEK_END);
	if (end == 0)
		ok = pwrite(sink->fd, JSON_HEAD JSON_TAIL, 5, 0) == 5;
	else
		ok = is_continued(sink->fd, end);
	flock(sink->fd, LOCK_UN);
	if (!ok)
		snprintf(why, size,
			 "%s exists and is not a trace in this format; remove it or name another "
			 "file",
			 sink->file);
	return ok;
}

static struct trace_sink *sink_new(const char *file, enum trace_format format, char *why,
				   size_t size)
{
	struct trace_sink *sink = calloc(1, sizeof(*sink));

	if (!sink) {
		snprintf(why, size, "no memory for a trace; free some");
		return NULL;
	}
	sink->format = format;
	sink->pid = getpid();
	pthread_mutex_init(&sink->lock, NULL);
	snprintf(sink->file, sizeof(sink->file), "%s", file);
	if (*file)
		sink->fd = open(
			file, O_RDWR | O_CREAT | O_CLOEXEC | (format == TRACE_TEXT ? O_APPEND : 0),
			0666);
	else
		sink->fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (sink->fd < 0) {
		snprintf(why, size, "%s cannot be written: %s; name another file", file,
			 strerror(errno));
		goto free_sink;
	}
	if (sink_begin(sink, why, size))
		return sink;
	close(sink->fd);
free_sink:
	free(sink);
	return NULL;
}

struct trace_sink *trace_sink_open(const char *file, enum trace_format format, char *why,
				   size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char path[PATH_MAX];
	struct trace_sink *sink;

	pthread_once(&once, watch_forks);
	file_expand(file, path);
	pthread_mutex_lock(&sinks_lock);
	for (sink = sinks; sink; sink = sink->next)
		if (!strcmp(sink->file, path) && sink->format == format && sink->pid == getpid())
			break;
	if (!sink) {
		sink = sink_new(path, format, why, size);
		if (sink) {
			sink->next = sinks;
			sinks = sink;
		}
	}
	if (sink)
		sink->users++;
	pthread_mutex_unlock(&sinks_lock);
	return sink;
}

void trace_sink_close(struct trace_sink *sink)
{
	struct trace_sink **at;

	pthread_mutex_lock(&sinks_lock);
	if (--sink->users) {
		pthread_mutex_unlock(&sinks_lock);
		return;
	}
	for (at = &sinks; *at != sink; at = &(*at)->next)
		;
	*at = sink->next;
	pthread_mutex_unlock(&sinks_lock);
	close(sink->fd);
	free(sink);
}

/* A record that cannot be written is lost: a trace must not stop a program. */
static void write_json(struct trace_sink *sink, const char *record, size_t len)
{
	struct iovec parts[3] = {
		{ .iov_base = (char *)(uintptr_t) ",\n", .iov_len = 2 },
		{ .iov_base = (char *)(uintptr_t)record, .iov_len = len },
		{ .iov_base = (char *)(uintptr_t)JSON_TAIL, .iov_len = TAIL_LEN },
	};
	size_t whole = 2 + len + TAIL_LEN;
	bool first;
	off_t end;

	flock(sink->fd, LOCK_EX);
	end = lseek(sink->fd, 0, SEEK_END);
	first = end <= (off_t)strlen(JSON_HEAD JSON_TAIL);
	if (end < TAIL_LEN)
		end = TAIL_LEN;
	if (first)
		whole -= 2;
	/* a partial record is removed: the file ends as before */
	if (pwritev(sink->fd, parts + first, 3 - first, end - TAIL_LEN) != (ssize_t)whole &&
	    pwrite(sink->fd, JSON_TAIL, TAIL_LEN, end - TAIL_LEN) == TAIL_LEN &&
	    ftruncate(sink->fd, end) < 0)
		errno = 0;
	flock(sink->fd, LOCK_UN);
}

void trace_sink_write(struct trace_sink *sink, const char *record, size_t len)
{
	int saved = errno;

	pthread_mutex_lock(&sink->lock);
	if (sink->format == TRACE_CHROME)
		write_json(sink, record, len);
	else if (write(sink->fd, record, len) < 0)
		errno = 0;
	pthread_mutex_unlock(&sink->lock);
	errno = saved;
}
