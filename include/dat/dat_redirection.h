/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider's function types that do not depend on user space, and the macros that call through
 * the provider behind a handle.
 */
#ifndef OPENDAT_DAT_REDIRECTION_H
#define OPENDAT_DAT_REDIRECTION_H

#include "udat.h"
#include "dat_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_CR_REJECT(cr) \
	DAT_HANDLE_TO_PROVIDER(cr)->cr_reject_func((cr))
#define DAT_RMR_BIND(rmr, lmr, mem_priv, ep, cookie, flags, context) \
	DAT_HANDLE_TO_PROVIDER(rmr)->rmr_bind_func((rmr), (lmr), (mem_priv), (ep), (cookie), \
		(flags), (context))

typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(DAT_CR_HANDLE);
typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
		DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_REDIRECTION_H */
