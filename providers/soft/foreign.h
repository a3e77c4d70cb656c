/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that other processes have given to this one, and sockets over which they may have sent some. */
#ifndef SOFT_FOREIGN_H
#define SOFT_FOREIGN_H

#include <stdbool.h>
#include <sys/socket.h>

#define SOFT_FOREIGN_MOST 253 /* the kernel passes no more descriptors with one message */

/* Closes a descriptor that came with a message, whatever it is, or of a peer's file, without waiting for that. Any thread. */
void soft_foreign_close(int fd);
/* Returns the first descriptor that came with a message, or -1 if none came, and closes the others. */
int soft_foreign_take(struct msghdr *hdr);
/* Hangs up a Unix socket whose other end is not ours, and closes it. The caller has taken it off the list of <datp/fork.h>. */
void soft_foreign_hangup(int fd);
/* The same for a listener, whose name is free afterwards. */
void soft_foreign_end_listener(int fd);
/* Returns true if so many descriptors wait to be closed that no more should be received: no connection is accepted then. */
bool soft_foreign_is_full(void);
/*
 * Returns true if far more wait than honest processes send, and the next message on the socket brings further ones that would have
 * to wait. The socket is to be hung up then: they stay in it, and it is one descriptor.
 */
bool soft_foreign_is_too_much(int fd);
/* Gives the threads a moment, of a few milliseconds at most, if descriptors wait to be closed. */
void soft_foreign_nap(void);
/* In the child of fork(), which has none of the threads. */
void soft_foreign_forked(void);

#endif
