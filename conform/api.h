/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The API that the suite is compiled for: CONFORM_API is 1 for uDAPL 1.2, and 2 for 2.0. The two
 * have the same names for different types, so the sources are compiled once for each. What differs
 * between them has one form here, which is that of 1.2. A test of what only 2.0 has defines
 * API_PLAIN, and calls 2.0 by its own functions.
 */
#ifndef CONFORM_API_H
#define CONFORM_API_H

#if CONFORM_API == 2
#include <dat2/udat.h>

#define API_NAME	    "2.0"
#define API_MAJOR	    2
#define API_MINOR	    0
#define API_OTHER_MAJOR	    1
#define API_REGISTRY_HEADER <dat2/dat_registry.h>
/* Members and masks that have another name. */
#define API_TARGET_ADDRESS  virtual_address	/* of DAT_RMR_TRIPLET */
#define API_AGENT	    proxy.agent		/* of DAT_CNO_PARAM */
#define API_CNO_FIELD_AGENT DAT_CNO_FIELD_PROXY

/* Registers memory by its virtual addresses. */
DAT_RETURN api_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			  DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv, DAT_LMR_HANDLE *lmr,
			  DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
			  DAT_VADDR *address);
/* Binds as 1.2 does. 2.0 needs the LMR's handle, too: that of the latest region with this context that api_lmr_create() made. */
DAT_RETURN api_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET *segment, DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);
/* Rejects a connection request without private data. */
DAT_RETURN api_cr_reject(DAT_CR_HANDLE cr);

#ifndef API_PLAIN
#define dat_lmr_create api_lmr_create
#define dat_rmr_bind   api_rmr_bind
#endif
#else
#include <dat/udat.h>

#define API_NAME	    "1.2"
#define API_MAJOR	    1
#define API_MINOR	    2
#define API_OTHER_MAJOR	    2
#define API_REGISTRY_HEADER <dat/dat_registry.h>
#define API_TARGET_ADDRESS  target_address
#define API_AGENT	    agent
#define API_CNO_FIELD_AGENT DAT_CNO_FIELD_AGENT

#define api_cr_reject dat_cr_reject
#endif

#endif /* CONFORM_API_H */
