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

struct trace_output {
	struct trace_output *next; /* outputs_lock */
	unsigned int users;	 /* outputs_lock */
	pid_t pid;		 /* a child of fork() gets an output of its own: it would share the lock on this descriptor */
	enum trace_format format;
	int fd;
	/* one record at a time; threads of one process share the lock on the file */
	pthread_mutex_t lock;
	char file[PATH_MAX];
};

static pthread_mutex_t outputs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace_output *outputs;

/* Another thread of the parent may have held the lock. */
static void fork_child(void)
{
	outputs_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
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

static bool output_begin(struct trace_output *output, char *why, size_t size)
{
	bool ok = true;
	off_t end;

	if (output->format == TRACE_TEXT)
		return true;
	flock(output->fd, LOCK_EX);
	end = lseek(output->fd, 0, SEEK_END);
	if (end == 0)
		ok = pwrite(output->fd, JSON_HEAD JSON_TAIL, 5, 0) == 5;
	else
		ok = is_continued(output->fd, end);
	flock(output->fd, LOCK_UN);
	if (!ok)
		snprintf(why, size,
			 "%s exists and is not a trace in this format; remove it or name another "
			 "file",
			 output->file);
	return ok;
}

static struct trace_output *output_new(const char *file, enum trace_format format, char *why,
				       size_t size)
{
	struct trace_output *output = calloc(1, sizeof(*output));

	if (!output) {
		snprintf(why, size, "no memory for a trace; free some");
		return NULL;
	}
	output->format = format;
	output->pid = getpid();
	pthread_mutex_init(&output->lock, NULL);
	snprintf(output->file, sizeof(output->file), "%s", file);
	if (*file)
		output->fd = open(
			file, O_RDWR | O_CREAT | O_CLOEXEC | (format == TRACE_TEXT ? O_APPEND : 0),
			0666);
	else
		output->fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (output->fd < 0) {
		snprintf(why, size, "%s cannot be written: %s; name another file", file,
			 strerror(errno));
		goto free_output;
	}
	if (output_begin(output, why, size))
		return output;
	close(output->fd);
free_output:
	free(output);
	return NULL;
}

struct trace_output *trace_output_open(const char *file, enum trace_format format, char *why,
				       size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char path[PATH_MAX];
	struct trace_output *output;

	pthread_once(&once, watch_forks);
	file_expand(file, path);
	pthread_mutex_lock(&outputs_lock);
	for (output = outputs; output; output = output->next)
		if (!strcmp(output->file, path) && output->format == format && output->pid == getpid())
			break;
	if (!output) {
		output = output_new(path, format, why, size);
		if (output) {
			output->next = outputs;
			outputs = output;
		}
	}
	if (output)
		output->users++;
	pthread_mutex_unlock(&outputs_lock);
	return output;
}

void trace_output_close(struct trace_output *output)
{
	struct trace_output **at;

	pthread_mutex_lock(&outputs_lock);
	if (--output->users) {
		pthread_mutex_unlock(&outputs_lock);
		return;
	}
	for (at = &outputs; *at != output; at = &(*at)->next)
		;
	*at = output->next;
	pthread_mutex_unlock(&outputs_lock);
	close(output->fd);
	free(output);
}

/* A record that cannot be written is lost: a trace must not stop a program. */
static void write_json(struct trace_output *output, const char *record, size_t len)
{
	struct iovec parts[3] = {
		{ .iov_base = (char *)(uintptr_t) ",\n", .iov_len = 2 },
		{ .iov_base = (char *)(uintptr_t)record, .iov_len = len },
		{ .iov_base = (char *)(uintptr_t)JSON_TAIL, .iov_len = TAIL_LEN },
	};
	size_t whole = 2 + len + TAIL_LEN;
	bool first;
	off_t end;

	flock(output->fd, LOCK_EX);
	end = lseek(output->fd, 0, SEEK_END);
	first = end <= (off_t)strlen(JSON_HEAD JSON_TAIL);
	if (end < TAIL_LEN)
		end = TAIL_LEN;
	if (first)
		whole -= 2;
	/* a partial record is removed: the file ends as before */
	if (pwritev(output->fd, parts + first, 3 - first, end - TAIL_LEN) != (ssize_t)whole &&
	    pwrite(output->fd, JSON_TAIL, TAIL_LEN, end - TAIL_LEN) == TAIL_LEN &&
	    ftruncate(output->fd, end) < 0)
		errno = 0;
	flock(output->fd, LOCK_UN);
}

void trace_output_write(struct trace_output *output, const char *record, size_t len)
{
	int saved = errno;

	pthread_mutex_lock(&output->lock);
	if (output->format == TRACE_CHROME)
		write_json(output, record, len);
	else if (write(output->fd, record, len) < 0)
		errno = 0;
	pthread_mutex_unlock(&output->lock);
	errno = saved;
}
