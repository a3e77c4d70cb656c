/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the private segment lists. */
#include "posted.h"
#include <stdlib.h>

void soft_posted_init(struct soft_posted_ring *ring, uint32_t count, uint32_t most)
{
	ring->slots = NULL;
	ring->mask = count - 1;
	ring->stride = (uint32_t)(sizeof(struct soft_posted) + most * sizeof(struct datp_sge));
}

enum datp_err soft_posted_alloc(struct soft_posted_ring *ring)
{
	void *slots = calloc((size_t)ring->mask + 1, ring->stride);

	/* release: publishes the slots, which are empty; soft_posted_find() acquires them */
	__atomic_store(&ring->slots, &slots, __ATOMIC_RELEASE);
	return slots ? DATP_OK : DATP_ERR_MEMORY;
}

void soft_posted_fini(struct soft_posted_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}
