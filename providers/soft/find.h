/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the file behind a region of a peer. */
#ifndef SOFT_FIND_H
#define SOFT_FIND_H

#include "soft.h"

/*
 * Opens the file that a peer has mapped, shared, at a range of its addresses, if it may be mapped here. flags: O_RDWR or O_RDONLY.
 * Returns the descriptor, and sets *offset to the place of the range in the file; or returns -1. This takes a few system calls, and
 * at most the bound if the peer holds them up.
 */
int soft_find(struct soft_peer *peer, uint64_t addr, uint64_t len, int flags, uint64_t *offset);

#endif
