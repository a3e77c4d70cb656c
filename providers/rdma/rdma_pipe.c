/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGPIPE where the driver may raise it. siw sends on its TCP socket within the doorbell of a post, and
 * without MSG_NOSIGNAL: to a peer that has just been killed that raises SIGPIPE in the thread that posts,
 * and would end a program which only wants its event. Invariant: what the program has set itself is not
 * changed.
 */
#include "rdma_pipe.h"
#include <signal.h>

/* Not SIG_IGN, which a program that is executed from here would inherit. */
static void ignore(int signal)
{
	(void)signal;
}

/*
 * Nobody takes it away again: a thread may still be within a post when the last adapter is closed, and
 * each plugin with a copy of this file would have to know of the others. The plugins stay mapped (-z
 * nodelete), the handler with them.
 *
 * Without a lock, which no lock of ours could be against the program's own threads: what another thread
 * has set between the look and the change is what the change returns, and is put back. Two opens at once
 * find the default or each other's handler, and put back at most the latter.
 */
void rdma_pipe_guard(void)
{
	const struct sigaction quiet = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	struct sigaction was;

	if (sigaction(SIGPIPE, NULL, &was) || was.sa_handler != SIG_DFL)
		return;
	if (!sigaction(SIGPIPE, &quiet, &was) && was.sa_handler != SIG_DFL)
		sigaction(SIGPIPE, &was, NULL);
}
