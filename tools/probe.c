/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign code in a child process; probe.h states the invariant.
 *
 * The child leads a process group of its own, so that the processes it starts are ended with it. It
 * ends through _exit(): the destructors of a faulty plugin do not matter.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define KEPT 16384 /* bytes kept of each stream; the rest is read and dropped */
#define CHUNK 4096 /* bytes read at a time */

enum stream { REPORT, SAID, STREAMS };

struct buffer {
	char *text;
	size_t length;
};

static int report_fd = -1;

void probe_say(const char *key, const char *fmt, ...)
{
	char line[2048];
	size_t used = (size_t)snprintf(line, sizeof(line), "%s ", key);
	va_list args;

	va_start(args, fmt);
	vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
	va_end(args);
	for (char *p = line; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
	strcat(line, "\n");
	/* The parent reads the pipe all the time; if the parent has ended, this process ends. */
	if (write(report_fd, line, strlen(line)) < 0)
		_exit(1);
}

__attribute__((noreturn)) static void child(probe_body *body, void *arg, int pipes[STREAMS][2],
					    pid_t parent)
{
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setrlimit(RLIMIT_CORE, &no_core);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(pipes[SAID][1], STDOUT_FILENO);
	dup2(pipes[SAID][1], STDERR_FILENO);
	report_fd = pipes[REPORT][1];
	/* so that what it starts, and nobody hears any more, ends when it writes */
	for (int i = 0; i < STREAMS; i++)
		close(pipes[i][0]);
	body(arg);
	fflush(NULL);
	_exit(0);
}

static bool take(int fd, struct buffer *buffer)
{
	char chunk[CHUNK];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	if (buffer->length + (size_t)n > KEPT)
		n = (ssize_t)(KEPT - buffer->length);
	memcpy(buffer->text + buffer->length, chunk, (size_t)n);
	buffer->length += (size_t)n;
	buffer->text[buffer->length] = '\0';
	return true;
}

static int milliseconds_until(const struct timespec *end)
{
	struct timespec now;
	long long left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (end->tv_sec - now.tv_sec) * 1000LL + (end->tv_nsec - now.tv_nsec) / 1000000;
	return left < 0 ? 0 : (int)left;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/*
 * Reads both streams until the child has closed them. A process that the child started may keep
 * them open longer: `over` says that the child itself has ended; then only what is already in the
 * streams is read, and no more of it than is kept, because such a process may write without pause.
 * So may the child, so the time is looked at whether there is something to read or not.
 *
 * Returns false if the child has not ended in time.
 */
static bool listen_to(const int fds[STREAMS], struct buffer buffers[STREAMS], pid_t pid,
		      unsigned int seconds)
{
	struct pollfd polled[STREAMS];
	struct timespec end;
	int open_streams = STREAMS, last_reads = KEPT / CHUNK;
	bool over = false;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	for (int i = 0; i < STREAMS; i++)
		polled[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	while (open_streams > 0) {
		int left = milliseconds_until(&end);
		int ready = poll(polled, STREAMS, over ? 0 : left < 100 ? left : 100);

		if (over && (ready == 0 || last_reads-- == 0))
			return true;
		for (int i = 0; i < STREAMS && ready > 0; i++) {
			if (polled[i].revents != 0 && !take(polled[i].fd, &buffers[i])) {
				polled[i].fd = -1;
				open_streams--;
			}
		}
		over = has_ended(pid);
		if (!over && left == 0)
			return false;
	}
	/*
	 * Both streams are closed. A child that closes them and does not end gets the rest of the
	 * time.
	 */
	while (!over && milliseconds_until(&end) > 0) {
		poll(NULL, 0, 10);
		over = has_ended(pid);
	}
	return over;
}

static int parent_side(const int fds[STREAMS], pid_t pid, unsigned int seconds,
		       struct probe_result *result)
{
	struct buffer buffers[STREAMS] = { 0 };
	int status = 0;

	for (int i = 0; i < STREAMS; i++)
		buffers[i].text = calloc(1, KEPT + 1);
	if (buffers[REPORT].text != NULL && buffers[SAID].text != NULL)
		result->timed_out = !listen_to(fds, buffers, pid, seconds);
	/* the group contains only this child's processes, and has the child's number */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);  /* in case the child has not created the group yet */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	result->report = buffers[REPORT].text;
	result->said = buffers[SAID].text;
	if (WIFSIGNALED(status) && !result->timed_out)
		result->signal = WTERMSIG(status);
	else if (WIFEXITED(status))
		result->status = WEXITSTATUS(status);
	return result->report != NULL && result->said != NULL ? 0 : -ENOMEM;
}

int probe_run(probe_body *body, void *arg, unsigned int seconds, struct probe_result *result)
{
	int pipes[STREAMS][2], fds[STREAMS];
	pid_t self = getpid(), pid;
	int err;

	memset(result, 0, sizeof(*result));
	if (pipe2(pipes[REPORT], O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(pipes[SAID], O_CLOEXEC) < 0) {
		err = -errno;
		goto close_report;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(body, arg, pipes, self);
	err = pid < 0 ? -errno : 0;
	for (int i = 0; i < STREAMS; i++) {
		close(pipes[i][1]);
		fds[i] = pipes[i][0];
	}
	if (pid > 0)
		err = parent_side(fds, pid, seconds, result);
	close(pipes[SAID][0]);
	close(pipes[REPORT][0]);
	return err;

close_report:
	close(pipes[REPORT][0]);
	close(pipes[REPORT][1]);
	return err;
}

void probe_free(struct probe_result *result)
{
	free(result->report);
	free(result->said);
}

char *probe_get(const struct probe_result *result, const char *key)
{
	size_t length = strlen(key);
	const char *found = NULL;

	for (const char *line = result->report; line != NULL && *line != '\0';) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			found = line + length + 1;
		line = *end != '\0' ? end + 1 : end;
	}
	return found != NULL ? strndup(found, strcspn(found, "\n")) : NULL;
}
