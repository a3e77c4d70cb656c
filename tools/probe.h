/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign code in a child process: what may crash, hang or print does so there.
 *
 * Invariant: probe_run() returns within its bound, with the child and whatever it started ended.
 */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stdbool.h>

struct probe_result {
	char *report;		/* "key value" lines that the child wrote with probe_say() */
	char *said;		/* what the child printed on stdout and stderr */
	bool timed_out;
	int signal;		/* that ended it, or 0 */
	int status;		/* its exit status otherwise */
};

/* In the child. */
typedef void probe_body(void *arg);
void probe_say(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns 0, or -errno when no child could be started. */
int probe_run(probe_body *body, void *arg, unsigned int seconds, struct probe_result *result);
void probe_free(struct probe_result *result);

/* The last value said under key, malloced, or NULL. */
char *probe_get(const struct probe_result *result, const char *key);

#endif
