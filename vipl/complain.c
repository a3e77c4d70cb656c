/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the messages of libvipl on stderr. Invariant: each message is one line and one write,
 * because the processes of one program share stderr, and no thread waits for its reader: log/line.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "impl.h"
#include "log/line.h"

void complain(const char *fmt, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	line_write("vipl", text);
	free(text);
}
