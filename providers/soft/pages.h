/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process has mapped at an address: checked before memory is registered. */
#ifndef SOFT_PAGES_H
#define SOFT_PAGES_H

#include "soft.h"

/* Returns a descriptor for these queries, or -1: then they work as well, but slower. */
int soft_pages_open(void);

/*
 * Checks that every page of a range can be read or, if `write`, written, without faulting pages in
 * or changing them. Returns DATP_ERR_BAD_MEMORY if a part is not mapped (or cannot be read),
 * DATP_ERR_BAD_PRIV if a part cannot be written. The program may change the mapping later. *shared:
 * the range is within one shared mapping of a file.
 */
enum datp_err soft_pages_check(int fd, uint64_t addr, uint64_t len, bool write, bool *shared);

/*
 * The same for kernels without the ioctl: by the list of mappings as text, and by msync(), which
 * only tells whether the range is mapped.
 */
enum datp_err soft_pages_check_text(uint64_t addr, uint64_t len, bool write, bool *shared);
enum datp_err soft_pages_check_mapped(uint64_t addr, uint64_t len);

/* A shared mapping of a file: its addresses in the process, and the file. */
struct soft_backing {
	uint64_t start, end;
	uint64_t offset; /* in the file, of `start` */
	dev_t dev;
	ino_t ino;
	bool writable, executable; /* by the process, through this mapping */
	bool unsealed; /* set by the caller: a file that can lose pages is acceptable */
};

/*
 * Finds the mapping of a range in process `pid`. Returns false if the range is not within one
 * shared mapping of a file, with errno ENOENT, or if the process cannot be inspected.
 */
bool soft_pages_backing(pid_t pid, uint64_t addr, uint64_t len, struct soft_backing *backing);

/*
 * Returns true if a range of this process is within one mapping of private, anonymous, writable memory
 * that cannot be executed and is not the main thread's stack. While the process has locked memory (mlock(2)) this is true of no
 * range, because other pages in their place would not be locked.
 */
bool soft_pages_movable(uint64_t addr, uint64_t len);

#endif
