/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The API that datperf is compiled for: PERF_API is 1 for uDAPL 1.2, and 2 for 2.0. The two have the same
 * names for different types, so the sources are compiled once for each. What differs between them
 * has one form here. Both programs send the same bytes, so the peer of one may be the other.
 */
#ifndef TOOLS_DATPERF_API_H
#define TOOLS_DATPERF_API_H

#if PERF_API == 2
#include <dat2/udat.h>

#define PERF_API_NAME	    "2.0"
#define PERF_TARGET_ADDRESS virtual_address	/* of DAT_RMR_TRIPLET */
#define PERF_ADDRESSES	    DAT_VA_TYPE_VA,	/* an argument of dat_lmr_create() */
#define perf_cr_reject(cr)  dat_cr_reject(cr, 0, NULL)
#else
#include <dat/udat.h>

#define PERF_API_NAME	    "1.2"
#define PERF_TARGET_ADDRESS target_address
#define PERF_ADDRESSES
#define perf_cr_reject(cr)  dat_cr_reject(cr)
#endif

#endif
