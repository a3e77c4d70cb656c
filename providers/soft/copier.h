/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies by the kernel that their caller awaits no longer than the bound. */
#ifndef SOFT_COPIER_H
#define SOFT_COPIER_H

#include "xfer.h"

/* Starts the adapter's copier if there is none. Returns false if that fails. Progress thread. */
bool soft_copier_ready(struct soft_ia *ia);

/*
 * As soft_cma() to or from a peer, but returns ETIMEDOUT if the kernel does not end a piece of the copy in time, ESRCH if the
 * right is lost, and EAGAIN if there is no memory. The memory of this process is accessed only while this runs; that of the peer
 * is, after ETIMEDOUT, as long as the kernel goes on. Progress thread.
 */
int soft_copier_move(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
		     uint64_t len);

/* The peer is being freed. No thread uses it. */
void soft_copier_forget(struct soft_peer *peer);
/* Ends the copier of an adapter whose progress thread has ended. */
void soft_copier_stop(struct soft_ia *ia);

#endif
