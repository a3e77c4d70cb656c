/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's calls on endpoints, connection requests and service points,
 * each passed on to its slot in the vtable. dat_cr_reject() has other arguments in each API, so it
 * is in calls.c of dat12/ and dat20/.
 *
 * Invariant: a handle that is not an object of a live provider never reaches a provider, and a call
 * that the provider does not have returns DAT_NOT_IMPLEMENTED.
 */
#include "front.h"

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_completion_evd_handle,
			 DAT_EVD_HANDLE request_completion_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	REG_DISPATCH_IA(ia_handle, ep_create_func, ia_object, pz_handle, recv_completion_evd_handle,
			request_completion_evd_handle, connect_evd_handle, ep_attributes,
			ep_handle);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	REG_DISPATCH_QUERY(ep_handle, DAT_INVALID_HANDLE_EP, ep_query_func, ep_param_mask,
			   DAT_EP_FIELD_IA_HANDLE, ep_param);
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_modify_func, ep_handle, ep_param_mask,
		     ep_param);
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data,
			  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_connect_func, ep_handle,
		     remote_ia_address, remote_conn_qual, timeout, private_data_size, private_data,
		     quality_of_service, connect_flags);
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS quality_of_service)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_dup_connect_func, ep_handle,
		     ep_dup_handle, timeout, private_data_size, private_data, quality_of_service);
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_disconnect_func, ep_handle, close_flags);
}

REG_DISPATCH_FAST(dat_ep_post_send, ep_handle, DAT_INVALID_HANDLE_EP, ep_post_send_func,
		  (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
		   DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags),
		  ep_handle, num_segments, local_iov, user_cookie, completion_flags)

REG_DISPATCH_FAST(dat_ep_post_recv, ep_handle, DAT_INVALID_HANDLE_EP, ep_post_recv_func,
		  (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
		   DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags),
		  ep_handle, num_segments, local_iov, user_cookie, completion_flags)

REG_DISPATCH_FAST(dat_ep_post_rdma_read, ep_handle, DAT_INVALID_HANDLE_EP, ep_post_rdma_read_func,
		  (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
		   DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov,
		   DAT_COMPLETION_FLAGS completion_flags),
		  ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags)

REG_DISPATCH_FAST(dat_ep_post_rdma_write, ep_handle, DAT_INVALID_HANDLE_EP, ep_post_rdma_write_func,
		  (DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
		   DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov,
		   DAT_COMPLETION_FLAGS completion_flags),
		  ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags)

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_get_status_func, ep_handle, ep_state,
		     recv_idle, request_idle);
}

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_free_func, ep_handle);
}

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_reset_func, ep_handle);
}

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	REG_DISPATCH_IA(ia_handle, ep_create_with_srq_func, ia_object, pz_handle, recv_evd_handle,
			request_evd_handle, connect_evd_handle, srq_handle, ep_attributes,
			ep_handle);
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_recv_query_func, ep_handle,
		     nbufs_allocated, bufs_alloc_span);
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	REG_DISPATCH(ep_handle, DAT_INVALID_HANDLE_EP, ep_set_watermark_func, ep_handle,
		     soft_high_watermark, hard_high_watermark);
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	REG_DISPATCH(cr_handle, DAT_INVALID_HANDLE_CR, cr_query_func, cr_handle, cr_param_mask,
		     cr_param);
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	REG_DISPATCH(cr_handle, DAT_INVALID_HANDLE_CR, cr_accept_func, cr_handle, ep_handle,
		     private_data_size, private_data);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	REG_DISPATCH(cr_handle, DAT_INVALID_HANDLE_CR, cr_handoff_func, cr_handle, handoff);
}

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	REG_DISPATCH_IA(ia_handle, psp_create_func, ia_object, conn_qual, evd_handle, psp_flags,
			psp_handle);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	REG_DISPATCH_IA(ia_handle, psp_create_any_func, ia_object, conn_qual, evd_handle, psp_flags,
			psp_handle);
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	REG_DISPATCH_QUERY(psp_handle, DAT_INVALID_HANDLE_PSP, psp_query_func, psp_param_mask,
			   DAT_PSP_FIELD_IA_HANDLE, psp_param);
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	REG_DISPATCH(psp_handle, DAT_INVALID_HANDLE_PSP, psp_free_func, psp_handle);
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle)
{
	REG_DISPATCH_IA(ia_handle, rsp_create_func, ia_object, conn_qual, ep_handle, evd_handle,
			rsp_handle);
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	REG_DISPATCH_QUERY(rsp_handle, DAT_INVALID_HANDLE_RSP, rsp_query_func, rsp_param_mask,
			   DAT_RSP_FIELD_IA_HANDLE, rsp_param);
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	REG_DISPATCH(rsp_handle, DAT_INVALID_HANDLE_RSP, rsp_free_func, rsp_handle);
}
