/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's calls of DAT 2.0 that have other arguments in 1.2, or that 1.2 does not have, each
 * passed on to its slot in the vtable.
 *
 * Invariant: as in the files of front/.
 */
#include "registry/front/front.h"

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			  DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
			  DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
			  DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	REG_DISPATCH_IA(ia_handle, lmr_create_func, ia_object, mem_type, region_description, length,
			pz_handle, privileges, va_type, lmr_handle, lmr_context, rmr_context,
			registered_length, registered_address);
}

REG_DISPATCH_TESTED(dat_rmr_bind, rmr_handle, DAT_INVALID_HANDLE_RMR, rmr_bind_func,
		    (DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
		     const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_priv,
		     DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
		     DAT_COMPLETION_FLAGS completion_flags, DAT_RMR_CONTEXT *context),
		    rmr_handle, lmr_handle, lmr_triplet, mem_priv, va_type, ep_handle, user_cookie,
		    completion_flags, context)

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	REG_DISPATCH(cr_handle, DAT_INVALID_HANDLE_CR, cr_reject_func, cr_handle, private_data_size,
		     private_data);
}

/* OFED's libdat2 does not have the calls that follow, and its provider refuses them. */
DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *cno_handle)
{
	REG_DISPATCH_IA(ia_handle, cno_fd_create_func, ia_object, fd, cno_handle);
}

DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle)
{
	REG_DISPATCH(cno_handle, DAT_INVALID_HANDLE_CNO, cno_trigger_func, cno_handle, evd_handle);
}

REG_DISPATCH_TESTED(dat_ep_post_send_with_invalidate, ep_handle, DAT_INVALID_HANDLE_EP, ep_post_send_with_invalidate_func,
		    (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
		     DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags, DAT_BOOLEAN invalidate_flag,
		     DAT_RMR_CONTEXT rmr_context),
		    ep_handle, num_segments, local_iov, user_cookie, completion_flags, invalidate_flag, rmr_context)

REG_DISPATCH_TESTED(dat_ep_post_rdma_read_to_rmr, ep_handle, DAT_INVALID_HANDLE_EP, ep_post_rdma_read_to_rmr_func,
		    (DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
		     const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags),
		    ep_handle, local_iov, user_cookie, remote_iov, completion_flags)
