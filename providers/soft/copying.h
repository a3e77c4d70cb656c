/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The record of a copy that a thread of this process makes for an endpoint, and that the peer can hold up: by the kernel, which
 * waits for a page of the peer, or by the peer's bounce thread; or that takes a while, because it is long. The thread holds the EP
 * lock and an execution lock meanwhile. A thread that frees a region finds here whether the copy accesses that region, and waits
 * for it only then. So does one that ends what a window is bound to.
 *
 * Invariant: while the record stands, the thread accesses no memory of the program but the segments in it. What it accesses
 * afterwards, before it releases the EP lock, it checks after the end of the record, or it is in the same segments.
 *
 * The record is in private memory. It is written under the EP lock and read without it; a reader finds out whether it has changed
 * meanwhile. The functions use the compiler's builtins, because the model checker replaces C11's atomics in the files that use
 * them.
 */
#ifndef SOFT_COPYING_H
#define SOFT_COPYING_H

#include "shm.h"

struct soft_list;
struct soft_right;

/* How the thread that has the EP lock makes such a copy. */
enum soft_copy_way {
	SOFT_COPY_AS_CAN,  /* by the kernel, or by the peer's bounce thread if the kernel refuses */
	SOFT_COPY_KERNEL,  /* by the kernel */
	SOFT_COPY_BOUNDED, /* as it can, but awaited no longer than the bound: copier.c */
};

struct soft_copying {
	enum soft_copy_way way; /* EP lock */
	uint32_t count; /* odd while a copy is under way */
	uint32_t n;
	uint32_t window; /* the window of this process that the copy writes into besides, or 0 */
	bool initiator;	 /* the copy is for a request of this side */
	struct datp_sge sge[SOFT_MAX_IOV]; /* those of a remote access by the peer have the context that the peer names */
};

/* A region or window that is being freed: nobody accesses it who checks it from now on. */
struct soft_freed {
	uint32_t context;
	uint64_t addr, len; /* of a region; a window has the length 0 */
};

/* Begins the record of a copy between `local`, which names its segments, and memory of the peer. EP lock. */
void soft_copying_begin(struct soft_copying *copying, const struct soft_list *local, const struct soft_right *right);
/* Ends it. The checks that follow find what has been freed while the record stood. EP lock. */
void soft_copying_end(struct soft_copying *copying);
/* Returns true if a copy is under way now. No lock. */
bool soft_copying_stands(const struct soft_copying *copying);
/*
 * Returns true if a copy is under way that does not access what is being freed; then *initiator says for which side's request. The
 * thread that copies accesses it neither in that copy nor later. The caller has executed a full fence after it has made the context
 * invalid. No lock.
 */
bool soft_copying_spares(const struct soft_copying *copying, const struct soft_freed *freed, bool *initiator);

#endif
