/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of DAT 2.0 in the form of 1.2. A bind of 1.2 names its region by the context alone, so this
 * keeps the handle of each region that the process registers. Invariant: an entry stays when its
 * region is freed, so that a bind with the context of a freed region passes a freed handle.
 */
#define API_PLAIN
#include <pthread.h>
#include <stdlib.h>

#include "api.h"

static struct {
	pthread_mutex_t lock;
	struct region {
		DAT_LMR_CONTEXT context;
		DAT_LMR_HANDLE lmr;
	} *all;			/* under the lock, like the two below */
	size_t count, size;
} regions = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void region_keep(DAT_LMR_CONTEXT context, DAT_LMR_HANDLE lmr)
{
	pthread_mutex_lock(&regions.lock);
	if (regions.count == regions.size) {
		size_t size = 2 * regions.size + 64;
		struct region *all = realloc(regions.all, size * sizeof(*all));

		if (!all)
			abort();
		regions.all = all;
		regions.size = size;
	}
	regions.all[regions.count++] = (struct region){ context, lmr };
	pthread_mutex_unlock(&regions.lock);
}

/* Returns the latest region with this context, because a provider may use a context again. */
static DAT_LMR_HANDLE region_find(DAT_LMR_CONTEXT context)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;

	pthread_mutex_lock(&regions.lock);
	for (size_t i = regions.count; i-- > 0 && !lmr;)
		if (regions.all[i].context == context)
			lmr = regions.all[i].lmr;
	pthread_mutex_unlock(&regions.lock);
	return lmr;
}

DAT_RETURN api_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			  DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv, DAT_LMR_HANDLE *lmr,
			  DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
			  DAT_VADDR *address)
{
	DAT_RETURN ret = dat_lmr_create(ia, type, region, length, pz, priv, DAT_VA_TYPE_VA, lmr, context,
					rmr_context, size, address);

	if (ret == DAT_SUCCESS && lmr && context)
		region_keep(*context, *lmr);
	return ret;
}

DAT_RETURN api_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET *segment, DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_HANDLE lmr = segment ? region_find(segment->lmr_context) : DAT_HANDLE_NULL;

	return dat_rmr_bind(rmr, lmr, segment, priv, DAT_VA_TYPE_VA, ep, cookie, flags, context);
}

DAT_RETURN api_cr_reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}
