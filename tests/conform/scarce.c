/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host that is short of something, for datconform. SCARCE_PROCESSES=N: the process of a test has at most N others at the same
 * time; one more is refused, or ends the test if SCARCE_STRICT is set. SCARCE_TIME=S: a library in /nonexistent is looked for
 * during S seconds.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t first; /* the process that the library is loaded into, which starts those of the tests */
static unsigned long running;

__attribute__((constructor)) static void load(void)
{
	first = getpid();
}

static bool is_refused(void)
{
	const char *processes = getenv("SCARCE_PROCESSES");

	return processes && running >= strtoul(processes, NULL, 10);
}

pid_t fork(void)
{
	pid_t (*really)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");

	/* the shell that starts datconform is left alone */
	if (getpid() == first || !strstr(program_invocation_short_name, "datconform"))
		return really();
	if (is_refused()) {
		if (getenv("SCARCE_STRICT"))
			abort();
		errno = EAGAIN;
		return -1;
	}
	running++;
	return really();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t (*really)(pid_t, int *, int) = (pid_t (*)(pid_t, int *, int))dlsym(RTLD_NEXT, "waitpid");
	pid_t ended = really(pid, status, options);

	if (ended > 0 && getpid() != first)
		running--;
	return ended;
}

void *dlopen(const char *file, int mode)
{
	void *(*really)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	const char *seconds = getenv("SCARCE_TIME");

	if (seconds && file && !strncmp(file, "/nonexistent/", strlen("/nonexistent/")))
		sleep((unsigned int)strtoul(seconds, NULL, 10));
	return really(file, mode);
}
