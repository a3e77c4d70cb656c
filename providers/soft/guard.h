/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies that a stopped process does not begin when it continues after it has lost the right to them. */
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
 * memcpy() between memory of this process and memory that it shares with a peer, in pieces, each of
 * which is copied only while the right is valid. Returns false if the right is lost: then at most
 * one piece is half done, and it is not continued. A piece may be copied more than once. Any
 * thread, no lock.
 */
bool soft_guard_move(const struct soft_right *right, void *to, const void *from, uint64_t len);
/* Makes one naturally aligned store of 1, 2, 4 or 8 bytes, before which everything copied earlier is visible. */
bool soft_guard_store(const struct soft_right *right, void *to, uint64_t value, unsigned int size);

/*
 * One atomic operation on a word of memory that is shared with a peer, which is executed once. *value is what is added,
 * or what the word is compared with, and becomes what the word was. Return false if the right is lost; then the word is
 * as it was.
 */
bool soft_guard_fetch_add(const struct soft_right *right, uint64_t *word, uint64_t *value);
bool soft_guard_cmp_swap(const struct soft_right *right, uint64_t *word, uint64_t *value, uint64_t swap);

/* Returns true if the check and the copy are one step on this machine, see guard.c. */
bool soft_guard_is_atomic(void);

#endif
