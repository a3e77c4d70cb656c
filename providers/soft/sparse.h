/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sparse table: a private array with room for the largest possible number of entries. It begins as zeros, and uses memory only
 * for pages that are touched. calloc() would not do: it clears, and so touches, memory that a closed IA has freed before.
 */
#ifndef SOFT_SPARSE_H
#define SOFT_SPARSE_H

#include <stddef.h>

/* Returns `count` zeroed entries of `size` bytes, or NULL if there is no memory. */
void *soft_sparse_new(size_t count, size_t size);

/* Frees a table, which may be NULL; count and size are those that it was made with. */
void soft_sparse_free(void *table, size_t count, size_t size);

#endif
