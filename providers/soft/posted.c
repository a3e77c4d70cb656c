/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the private segment lists. */
#include "posted.h"
#include <stdlib.h>

enum datp_err soft_posted_init(struct soft_posted_ring *ring, uint32_t count, uint32_t most)
{
	ring->mask = count - 1;
	ring->stride = (uint32_t)(sizeof(struct soft_posted) + most * sizeof(struct datp_sge));
	ring->slots = calloc(count, ring->stride);
	return ring->slots ? DATP_OK : DATP_ERR_MEMORY;
}

void soft_posted_fini(struct soft_posted_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}
