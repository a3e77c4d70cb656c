/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider's function types of DAT 2.0 that do not depend on user space, and the macros that
 * call through the provider behind a handle. Those that are as in 1.2 are in <dat/dat_slots.h>.
 */
#ifndef OPENDAT_DAT2_DAT_REDIRECTION_H
#define OPENDAT_DAT2_DAT_REDIRECTION_H

#include <stdarg.h>

#include "udat.h"
#include "../dat/dat_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_CR_REJECT(cr, size, pdata) \
	DAT_HANDLE_TO_PROVIDER(cr)->cr_reject_func((cr), (size), (pdata))
#define DAT_RMR_BIND(rmr, lmr_handle, lmr, mem_priv, va_type, ep, cookie, flags, context) \
	DAT_HANDLE_TO_PROVIDER(rmr)->rmr_bind_func((rmr), (lmr_handle), (lmr), (mem_priv), \
		(va_type), (ep), (cookie), (flags), (context))
#define DAT_HANDLE_EXTENDEDOP(handle, op, args) \
	DAT_HANDLE_TO_PROVIDER(handle)->handle_extendedop_func((handle), (op), (args))

typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID);
typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *,
		DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE,
		DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);

/* Calls that OpenDAT does not support, or not over each adapter: their slots return DAT_MODEL_NOT_SUPPORTED. */
typedef DAT_RETURN (*DAT_CSP_CREATE_FUNC)(DAT_IA_HANDLE, DAT_COMM *, DAT_IA_ADDRESS_PTR,
		DAT_EVD_HANDLE, DAT_CSP_HANDLE *);
typedef DAT_RETURN (*DAT_CSP_QUERY_FUNC)(DAT_CSP_HANDLE, DAT_CSP_PARAM_MASK, DAT_CSP_PARAM *);
typedef DAT_RETURN (*DAT_CSP_FREE_FUNC)(DAT_CSP_HANDLE);
typedef DAT_RETURN (*DAT_EP_COMMON_CONNECT_FUNC)(DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_TIMEOUT,
		DAT_COUNT, const DAT_PVOID);
typedef DAT_RETURN (*DAT_RMR_CREATE_FOR_EP_FUNC)(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
typedef DAT_RETURN (*DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC)(DAT_EP_HANDLE, DAT_COUNT,
		DAT_LMR_TRIPLET *, DAT_DTO_COOKIE, DAT_COMPLETION_FLAGS, DAT_BOOLEAN,
		DAT_RMR_CONTEXT);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_TO_RMR_FUNC)(DAT_EP_HANDLE, const DAT_RMR_TRIPLET *,
		DAT_DTO_COOKIE, const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*DAT_IA_HA_RELATED_FUNC)(DAT_IA_HANDLE, const DAT_NAME_PTR, DAT_BOOLEAN *);

/* Takes the arguments of dat_extension_op(). */
typedef DAT_RETURN (*DAT_HANDLE_EXTENDEDOP_FUNC)(DAT_HANDLE, DAT_EXTENDED_OP, va_list);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT2_DAT_REDIRECTION_H */
