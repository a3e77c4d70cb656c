/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A limit to the messages that another process can provoke: a peer that fails a thousand times a second, or another
 * user's process that is refused as often, must not fill the log of this one. Invariant: of one cause no more than
 * LINES lines are written in a window of time, and what is left out is counted.
 */
#include "complain.h"
#include <datp/provider.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define LINES  3u
#define WINDOW 10 /* seconds */

/*
 * relaxed, all of it: two threads at once may count a line to the window before, which costs no more than a line
 */
static bool may_say(struct soft_complaint *cause)
{
	struct timespec now;
	uint64_t window;

	clock_gettime(CLOCK_MONOTONIC, &now);
	window = (uint64_t)now.tv_sec / WINDOW + 1;
	if (atomic_exchange_explicit(&cause->window, window, memory_order_relaxed) != window)
		atomic_store_explicit(&cause->said, 0, memory_order_relaxed);
	if (atomic_load_explicit(&cause->said, memory_order_relaxed) < LINES) {
		atomic_fetch_add_explicit(&cause->said, 1, memory_order_relaxed);
		return true;
	}
	atomic_fetch_add_explicit(&cause->left_out, 1, memory_order_relaxed);
	return false;
}

void soft_complain(struct soft_complaint *cause, int level, const char *fmt, ...)
{
	char text[512];
	uint32_t left_out;
	va_list args;

	if (!may_say(cause))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	left_out = atomic_exchange_explicit(&cause->left_out, 0, memory_order_relaxed);
	if (left_out)
		datp_log(level, "%s (and %u more lines like this one were left out)", text, left_out);
	else
		datp_log(level, "%s", text);
}
