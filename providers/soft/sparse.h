/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sparse table: an array of this process's own that has room for the most there can be, begins as zeros, and uses memory only
 * for the pages that are touched. calloc() promises the last only for memory that is new to the process: it clears, and so
 * touches, all of what an IA that was closed before has freed.
 */
#ifndef SOFT_SPARSE_H
#define SOFT_SPARSE_H

#include <stddef.h>

/* Returns `count` zeroed entries of `size` bytes, or NULL if there is no memory. */
void *soft_sparse_new(size_t count, size_t size);

/* `table` may be NULL; count and size are those it was made with. */
void soft_sparse_free(void *table, size_t count, size_t size);

#endif
