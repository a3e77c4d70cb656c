/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <datp/fork.h>: descriptors that a child of fork() does not keep. Since SDK 0.6.
 *
 * A child that does not exec has a copy of each of its parent's descriptors. While it has, the kernel
 * keeps the connections and listeners of a parent that was killed, so that no peer notices the death.
 * A plugin therefore puts the descriptors of its connections, listeners and devices into a list; in
 * the child, /dev/null takes the place of each of them before fork() returns. Each number stays in
 * use: a child that was forked during a call to another library, or that runs that library's
 * destructors, must not find a file there that the child has opened itself.
 *
 *	struct my_conn { ...; struct datp_fork_fd held; };
 *
 *	datp_fork_hold(&own);				datp_fork_hold(&own);
 *	conn->fd = socket(...);				datp_fork_unlist(&conn->held);
 *	if (conn->fd >= 0)				close(conn->fd);
 *		datp_fork_list(&conn->held, conn->fd);	datp_fork_release(&own);
 *	datp_fork_release(&own);
 *
 * A plugin resets its other variables that must not keep their values in a child (DUTY-19) by a
 * handler of its own, with pthread_atfork(3).
 */
#ifndef DATP_FORK_H
#define DATP_FORK_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor in the list; a member of the object that has the descriptor. Only libdatp writes it. */
struct datp_fork_fd {
	struct datp_fork_fd *next, **prev;
	int fd;
};

/* The state of a thread between datp_fork_hold() and datp_fork_release(). */
struct datp_fork_own {
	int state, type; /* of cancellation, before it was disabled */
};

/*
 * Between these two calls the process does not fork, so that a descriptor is opened and listed, or
 * closed and unlisted, in one step. The calls may be nested, each with its own `own`, and a thread may
 * fork between them, as in a signal handler. They take and release a lock of the whole process:
 * between them, wait for nothing, and take only locks under which no thread calls datp_fork_hold().
 *
 * The thread is not cancelled meanwhile: opening and closing are cancellation points, and if a thread
 * ended there the process could never fork again. datp_fork_release() may not return: it restores the
 * thread's cancellation, and the thread may have been cancelled meanwhile.
 */
DATP_API void datp_fork_hold(struct datp_fork_own *own);
DATP_API void datp_fork_release(const struct datp_fork_own *own);
/*
 * Put a descriptor into the list, and remove it. Call them between datp_fork_hold() and
 * datp_fork_release(). A listed descriptor is open, and *held stays where it is.
 */
DATP_API void datp_fork_list(struct datp_fork_fd *held, int fd);
DATP_API void datp_fork_unlist(struct datp_fork_fd *held);

#ifdef __cplusplus
}
#endif

#endif
