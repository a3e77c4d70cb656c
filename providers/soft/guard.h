/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies that a process which was stopped does not begin when it goes on, if it must not any more. */
#ifndef SOFT_GUARD_H
#define SOFT_GUARD_H

#include "xfer.h"

/*
 * process_vm_writev() or, unless `write` is set, process_vm_readv(), entered only while *right->open is
 * right->gen. Returns as they do, with ECANCELED in errno if it is not. Any thread, no lock.
 */
ssize_t soft_guard_copy(const struct soft_right *right, pid_t pid, bool write,
			const struct iovec *local, unsigned long local_n, const struct iovec *remote,
			unsigned long remote_n);

/*
 * memcpy() between memory of this process and memory that it shares with a peer, in pieces, each of which is copied only
 * while the right holds: when that has gone, at most one piece is half done, and is not gone on with. False: it has
 * gone. A piece may be copied more than once. Any thread, no lock.
 */
bool soft_guard_move(const struct soft_right *right, void *to, const void *from, uint64_t len);
/* One naturally aligned store of 1, 2, 4 or 8 bytes, which everything copied before is visible before. */
bool soft_guard_store(const struct soft_right *right, void *to, uint64_t value, unsigned int size);

/* Whether the look and the entry are one step on this machine, as guard.c says. */
bool soft_guard_holds(void);

#endif
