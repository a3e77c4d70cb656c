/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider's share.c under the model checker. It never maps anything there: a scenario puts its share into the peer's list, and
 * learns from model_unmap() when that is unmapped.
 */
#define _GNU_SOURCE
#include "tests/soft/model_share.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <datp/bias.h>

#include "providers/soft/unmap.h"

#define datp_bias_fence()  model_fence_everybody()
#define munmap(at, length) model_unmap(at)
#define free(share)	   ((void)(share))
#define soft_unmap_later(mapping) model_unmap((mapping)->at)
#define SWEEP_SPINS	   1
#include "providers/soft/share.c"
