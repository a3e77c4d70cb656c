/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory=shared: registered memory is shared memory for as long as it is registered, so that peers access
 * it without the kernel (share.h), wherever the program has it from.
 */
#ifndef SOFT_CONVERT_H
#define SOFT_CONVERT_H

#include "soft.h"

/* A region that is longer stays as it is: its pages are copied when it is registered and when it is freed. */
#define SOFT_CONVERT_MAX ((uint64_t)256 << 20)

/* Begins and ends the use by an adapter with memory=shared. If the system does not allow it, a warning says so. */
void soft_convert_open(struct soft_ia *ia);
void soft_convert_close(struct soft_ia *ia);
/* In a child of fork(): forgets the parent's state. */
void soft_convert_forked(void);

/*
 * While a region is checked, converted and added, if an adapter with memory=shared was opened: keeps other threads from
 * exchanging pages, which would seem not to be mapped, and from making private what this region needs. Returns
 * false if that takes nothing; else end it by datp_fork_release().
 */
bool soft_convert_lock(struct datp_fork_own *own);
/*
 * After soft_convert_lock(), before a region is added to the table: makes its whole pages shared memory, if they can be. Returns
 * true if they are. They cannot be if another region has a part of them, if they are not private
 * memory of one mapping, or if no right is remote.
 */
bool soft_convert(const struct soft_ia *ia, const struct datp_lmr *lmr);
/* After a region was added: waits for a conversion that has not seen it. */
void soft_convert_added(void);
/* After a region was freed, or was not added: makes those of its pages private again of which no other region has a part. */
void soft_convert_back(const struct datp_lmr *lmr);

/* The whole pages of a range. *len is 0 if there are none. */
void soft_whole_pages(uint64_t *addr, uint64_t *len);

#endif
