/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the messages of libvipl on stderr. Invariant: each message is one line and one write,
 * because the processes of one program share stderr.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "impl.h"

void complain(const char *fmt, ...)
{
	char *text, *line;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	/* glibc splits what fprintf() formats for an unbuffered stream into several writes. */
	if (asprintf(&line, "vipl: %s\n", text) >= 0) {
		fputs(line, stderr);
		free(line);
	}
	free(text);
}
