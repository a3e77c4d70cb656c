/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs foreign code in a child process, where it may crash, hang or print.
 *
 * Invariant: probe_run() returns within its time limit, and the child and all processes that it
 * started have ended.
 */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stdbool.h>

struct probe_result {
	char *report;		/* "key value" lines that the child wrote with probe_say() */
	char *said;		/* what the child printed on stdout and stderr */
	bool timed_out;
	int signal;		/* the signal that ended it, or 0 */
	int status;		/* its exit status otherwise */
};

/* In the child. */
typedef void probe_body(void *arg);
void probe_say(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns 0, or -errno if no child could be started. */
int probe_run(probe_body *body, void *arg, unsigned int seconds, struct probe_result *result);
void probe_free(struct probe_result *result);

/* Returns the last value reported with this key, malloced, or NULL. */
char *probe_get(const struct probe_result *result, const char *key);

#endif
