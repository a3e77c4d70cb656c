/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line on standard error. libdat, libdatp and libvipl each hold a copy.
 *
 * Invariant: a line costs no more than a few system calls, whatever standard error is and whoever reads it, or does not. It
 * never waits for a reader, raises no signal, takes no lock (not stdio's either, which a thread may hold that waits for a reader),
 * is no point where a thread is cancelled, and leaves the flags of the descriptor as they are, because other processes share them.
 * What cannot be written now is lost and counted, and the next line says how many were.
 * Two things can take longer: a file, if its disk or its server does; and a pipe or a terminal where neither the kernel offers a
 * write that does not wait nor /proc opens it once more, if it has room for a part of the line only, or somebody else fills it at
 * that moment.
 */
#ifndef LOG_LINE_H
#define LOG_LINE_H

#include <signal.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Writes "origin: text" in one write. A pipe or a terminal gets PIPE_BUF bytes at most; what is longer is cut. May change errno. */
void line_write(const char *origin, const char *text);

/* What the calling thread had before it wrote. */
struct line_guard {
	sigset_t mask, pending;
	int cancel;
};

/*
 * Between the two, what the thread writes raises no signal (SIGPIPE, SIGXFSZ, SIGTTOU), and it is not cancelled. `failed`: a write
 * has not written all; only then a signal can have been raised, and is taken back. One that was there before stays.
 */
void line_guard_begin(struct line_guard *guard);
void line_guard_end(const struct line_guard *guard, bool failed);

#pragma GCC visibility pop
#endif
