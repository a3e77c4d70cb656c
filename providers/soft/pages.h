/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process has at an address: asked before memory is registered. */
#ifndef SOFT_PAGES_H
#define SOFT_PAGES_H

#include "soft.h"

/* A descriptor to ask with, or -1: it works without, but slower. */
int soft_pages_open(void);

/*
 * Whether every page of a range can be read or, if `write`, written. Nothing is brought in or
 * changed by asking. DATP_ERR_BAD_MEMORY: part of it is not there (or cannot be read); DATP_ERR_BAD_PRIV: it
 * cannot be written. What becomes of it later is the program's affair. *shared: the range is within
 * one shared mapping of a file.
 */
enum datp_err soft_pages_check(int fd, uint64_t addr, uint64_t len, bool write, bool *shared);

/*
 * The same by other ways, for kernels that lack the first: the list of mappings as text; msync,
 * which tells of no sharing.
 */
enum datp_err soft_pages_check_text(uint64_t addr, uint64_t len, bool write, bool *shared);
enum datp_err soft_pages_check_mapped(uint64_t addr, uint64_t len);

/* A shared mapping of a file: its addresses in the process, and what is there. */
struct soft_backing {
	uint64_t start, end;
	uint64_t offset; /* in the file, of `start` */
	dev_t dev;
	ino_t ino;
	bool unsealed; /* the caller's: a file that can lose pages is good enough */
};

/*
 * What the range is in process `pid`; false: it is not within one shared mapping of a file, or the
 * process cannot be looked at.
 */
bool soft_pages_backing(pid_t pid, uint64_t addr, uint64_t len, struct soft_backing *backing);

#endif
