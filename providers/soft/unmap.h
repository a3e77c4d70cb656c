/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings of peers' files, of which this process may have the last one. */
#ifndef SOFT_UNMAP_H
#define SOFT_UNMAP_H

#include <stddef.h>

struct soft_unmap {
	struct soft_unmap *next; /* of those that wait */
	void *at;
	size_t len;
};

/*
 * Unmaps it in a thread of its own, or here if there can be none, and then frees the memory of `mapping`, which is the first member
 * of an object from malloc(). Any thread.
 */
void soft_unmap_later(struct soft_unmap *mapping);
/* In the child of fork(), which does not have the thread. */
void soft_unmap_forked(void);

#endif
