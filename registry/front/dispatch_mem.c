/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's calls on protection zones, memory regions and shared receive queues,
 * each passed on to its slot in the vtable. dat_lmr_create() and dat_rmr_bind() have other
 * arguments in each API, so they are in calls.c of dat12/ and dat20/.
 *
 * Invariant: a handle that is not an object of a live provider never reaches a provider, and a call
 * that the provider does not have returns DAT_NOT_IMPLEMENTED.
 */
#include "front.h"

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	REG_DISPATCH_IA(ia_handle, pz_create_func, ia_object, pz_handle);
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	REG_DISPATCH_QUERY(pz_handle, DAT_INVALID_HANDLE_PZ, pz_query_func, pz_param_mask,
			   DAT_PZ_FIELD_IA_HANDLE, pz_param);
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	REG_DISPATCH(pz_handle, DAT_INVALID_HANDLE_PZ, pz_free_func, pz_handle);
}

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	REG_DISPATCH_QUERY(lmr_handle, DAT_INVALID_HANDLE_LMR, lmr_query_func, lmr_param_mask,
			   DAT_LMR_FIELD_IA_HANDLE, lmr_param);
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	REG_DISPATCH(lmr_handle, DAT_INVALID_HANDLE_LMR, lmr_free_func, lmr_handle);
}

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	REG_DISPATCH_IA(ia_handle, lmr_sync_rdma_read_func, ia_object, local_segments,
			num_segments);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	REG_DISPATCH_IA(ia_handle, lmr_sync_rdma_write_func, ia_object, local_segments,
			num_segments);
}

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	REG_DISPATCH(pz_handle, DAT_INVALID_HANDLE_PZ, rmr_create_func, pz_handle, rmr_handle);
}

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	REG_DISPATCH_QUERY(rmr_handle, DAT_INVALID_HANDLE_RMR, rmr_query_func, rmr_param_mask,
			   DAT_RMR_FIELD_IA_HANDLE, rmr_param);
}

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	REG_DISPATCH(rmr_handle, DAT_INVALID_HANDLE_RMR, rmr_free_func, rmr_handle);
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
			  DAT_SRQ_HANDLE *srq_handle)
{
	REG_DISPATCH_IA(ia_handle, srq_create_func, ia_object, pz_handle, srq_attr, srq_handle);
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	REG_DISPATCH(srq_handle, DAT_INVALID_HANDLE_SRQ, srq_free_func, srq_handle);
}

REG_DISPATCH_TESTED(dat_srq_post_recv, srq_handle, DAT_INVALID_HANDLE_SRQ, srq_post_recv_func,
		    (DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
		     DAT_DTO_COOKIE user_cookie),
		    srq_handle, num_segments, local_iov, user_cookie)

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	REG_DISPATCH_QUERY(srq_handle, DAT_INVALID_HANDLE_SRQ, srq_query_func, srq_param_mask,
			   DAT_SRQ_FIELD_IA_HANDLE, srq_param);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	REG_DISPATCH(srq_handle, DAT_INVALID_HANDLE_SRQ, srq_resize_func, srq_handle,
		     srq_max_recv_dto);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	REG_DISPATCH(srq_handle, DAT_INVALID_HANDLE_SRQ, srq_set_lw_func, srq_handle,
		     low_watermark);
}
