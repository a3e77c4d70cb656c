/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process has at an address: asked before memory is registered. */
#ifndef SOFT_PAGES_H
#define SOFT_PAGES_H

#include "soft.h"

/* A descriptor to ask with, or -1: it works without, but slower. */
int soft_pages_open(void);

/*
 * Whether every page of a range can be read or, if `write`, written. Nothing is brought in or
 * changed by asking. DATP_ERR_ARG3: part of it is not there (or cannot be read); DATP_ERR_ARG6: it
 * cannot be written. What becomes of it later is the program's affair.
 */
enum datp_err soft_pages_check(int fd, uint64_t addr, uint64_t len, bool write);

/* The same by other ways, for kernels that lack the first: the list of mappings as text; msync. */
enum datp_err soft_pages_check_text(uint64_t addr, uint64_t len, bool write);
enum datp_err soft_pages_check_mapped(uint64_t addr, uint64_t len);

#endif
