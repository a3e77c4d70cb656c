/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A limit on the messages that another process can provoke: a peer that fails a thousand times a
 * second, or another user's process that is refused as often, must not fill the log of this one.
 * Invariant: for one cause no more than LOG_LIMIT_LINES lines are written in a window of time, except that threads which log
 * it at the same moment may each write one more, and the lines left out are counted. Inlined into libdatp, the providers,
 * libvipl and the tools.
 */
#ifndef LOG_LIMIT_H
#define LOG_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define LOG_LIMIT_LINES	 3u
#define LOG_LIMIT_WINDOW 10 /* seconds */

/* One cause: a static object beside the message, which is zeroed at first. */
struct log_limit {
	_Atomic uint64_t window; /* the one in which `said` was counted */
	_Atomic uint32_t said, left_out;
};

/*
 * Returns true if a line may be written now; then *left_out is the number of lines left out since
 * the last one. Any thread may call it, under any lock.
 *
 * All accesses are relaxed, and the comparison with the limit and the increment are two steps: threads that call it at the same
 * moment may each pass the limit once, or count a line for the previous window. Each of them costs at most a line.
 */
static inline bool log_limit_pass(struct log_limit *cause, uint32_t *left_out)
{
	struct timespec now;
	uint64_t window;

	clock_gettime(CLOCK_MONOTONIC, &now);
	window = (uint64_t)now.tv_sec / LOG_LIMIT_WINDOW + 1;
	if (atomic_exchange_explicit(&cause->window, window, memory_order_relaxed) != window)
		atomic_store_explicit(&cause->said, 0, memory_order_relaxed);
	if (atomic_load_explicit(&cause->said, memory_order_relaxed) >= LOG_LIMIT_LINES) {
		atomic_fetch_add_explicit(&cause->left_out, 1, memory_order_relaxed);
		return false;
	}
	atomic_fetch_add_explicit(&cause->said, 1, memory_order_relaxed);
	*left_out = atomic_exchange_explicit(&cause->left_out, 0, memory_order_relaxed);
	return true;
}

#endif
