/* SPDX-License-Identifier: BSD-2-Clause */
/* Sparse tables: each is a mapping of its own. */
#include "sparse.h"
#include <sys/mman.h>

void *soft_sparse_new(size_t count, size_t size)
{
	void *table = mmap(NULL, count * size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return table == MAP_FAILED ? NULL : table;
}

void soft_sparse_free(void *table, size_t count, size_t size)
{
	if (table)
		munmap(table, count * size);
}
