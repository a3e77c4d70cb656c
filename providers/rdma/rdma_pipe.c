/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGPIPE where the driver may raise it. siw sends on its TCP socket within the doorbell of a post,
 * without MSG_NOSIGNAL. If the peer has just been killed, this raises SIGPIPE in the thread that
 * posts, which would end a program before it gets its event. Invariant: a handler that the program
 * has set itself is not changed.
 */
#include "rdma_pipe.h"
#include <signal.h>

/* A handler is used instead of SIG_IGN, because a program that is executed from here would inherit that. */
static void ignore(int signal)
{
	(void)signal;
}

/*
 * The handler is never removed: a thread may still be within a post when the last adapter is
 * closed, and each plugin with a copy of this file would have to know about the others. The plugins
 * stay mapped (-z nodelete), and the handler with them.
 *
 * There is no lock, because no lock here could exclude the program's own threads: if another thread
 * sets a handler between the check and the change, the change returns that handler, and it is put
 * back. Two opens at the same time find the default or each other's handler, and put back at most
 * the latter.
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
