/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a mock's vtable that only record how they were called: slot number and arguments,
 * each as one or two words, in the order in which the call has them.
 *
 * Invariant: the numbers are those of the binary contract, independent of the order in struct
 * dat_provider.
 */
#define NOTE(slot, ...) do {									\
	const uint64_t words_[] = { __VA_ARGS__ };						\
												\
	return mock_note(slot, words_, sizeof(words_) / sizeof(words_[0]));			\
} while (0)
#define WORD(x)		((uint64_t)(uintptr_t)(x))
#define UNION(x)	((x).as_64)

static DAT_RETURN mock_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	NOTE(5, WORD(dat_handle), UNION(context));
}

static DAT_RETURN mock_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	NOTE(6, WORD(dat_handle), WORD(context));
}

static DAT_RETURN mock_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	NOTE(7, WORD(dat_handle), WORD(handle_type));
}

static DAT_RETURN mock_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
				DAT_CR_PARAM *cr_param)
{
	NOTE(13, WORD(cr_handle), WORD(cr_param_mask), WORD(cr_param));
}

static DAT_RETURN mock_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
				 DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	NOTE(14, WORD(cr_handle), WORD(ep_handle), WORD(private_data_size), WORD(private_data));
}

static DAT_RETURN mock_cr_reject(DAT_CR_HANDLE cr_handle)
{
	NOTE(15, WORD(cr_handle));
}

static DAT_RETURN mock_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	NOTE(16, WORD(cr_handle), WORD(handoff));
}

static DAT_RETURN mock_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	NOTE(23, WORD(evd_handle), WORD(evd_min_qlen));
}

static DAT_RETURN mock_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	NOTE(24, WORD(evd_handle), WORD(event));
}

static DAT_RETURN mock_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	NOTE(25, WORD(evd_handle), WORD(event));
}

static DAT_RETURN mock_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
				 DAT_EVD_PARAM *evd_param)
{
	NOTE(18, WORD(evd_handle), WORD(evd_param_mask), WORD(evd_param));
}

static DAT_RETURN mock_evd_free(DAT_EVD_HANDLE evd_handle)
{
	NOTE(26, WORD(evd_handle));
}

static DAT_RETURN mock_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				 DAT_EVD_HANDLE recv_completion_evd_handle,
				 DAT_EVD_HANDLE request_completion_evd_handle,
				 DAT_EVD_HANDLE connect_evd_handle,
				 const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	NOTE(27, WORD(ia_handle), WORD(pz_handle), WORD(recv_completion_evd_handle),
	     WORD(request_completion_evd_handle), WORD(connect_evd_handle), WORD(ep_attributes),
	     WORD(ep_handle));
}

static DAT_RETURN mock_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
				DAT_EP_PARAM *ep_param)
{
	NOTE(28, WORD(ep_handle), WORD(ep_param_mask), WORD(ep_param));
}

static DAT_RETURN mock_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
				 const DAT_EP_PARAM *ep_param)
{
	NOTE(29, WORD(ep_handle), WORD(ep_param_mask), WORD(ep_param));
}

static DAT_RETURN mock_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
				  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
				  DAT_COUNT private_data_size, const DAT_PVOID private_data,
				  DAT_QOS quality_of_service, DAT_CONNECT_FLAGS connect_flags)
{
	NOTE(30, WORD(ep_handle), WORD(remote_ia_address), WORD(remote_conn_qual), WORD(timeout),
	     WORD(private_data_size), WORD(private_data), WORD(quality_of_service),
	     WORD(connect_flags));
}

static DAT_RETURN mock_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
				      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				      const DAT_PVOID private_data, DAT_QOS quality_of_service)
{
	NOTE(31, WORD(ep_handle), WORD(ep_dup_handle), WORD(timeout), WORD(private_data_size),
	     WORD(private_data), WORD(quality_of_service));
}

static DAT_RETURN mock_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags)
{
	NOTE(32, WORD(ep_handle), WORD(close_flags));
}

static DAT_RETURN mock_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				    DAT_COMPLETION_FLAGS completion_flags)
{
	NOTE(33, WORD(ep_handle), WORD(num_segments), WORD(local_iov), UNION(user_cookie),
	     WORD(completion_flags));
}

static DAT_RETURN mock_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				    DAT_COMPLETION_FLAGS completion_flags)
{
	NOTE(34, WORD(ep_handle), WORD(num_segments), WORD(local_iov), UNION(user_cookie),
	     WORD(completion_flags));
}

static DAT_RETURN mock_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_iov,
					 DAT_COMPLETION_FLAGS completion_flags)
{
	NOTE(35, WORD(ep_handle), WORD(num_segments), WORD(local_iov), UNION(user_cookie),
	     WORD(remote_iov), WORD(completion_flags));
}

static DAT_RETURN mock_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					  const DAT_RMR_TRIPLET *remote_iov,
					  DAT_COMPLETION_FLAGS completion_flags)
{
	NOTE(36, WORD(ep_handle), WORD(num_segments), WORD(local_iov), UNION(user_cookie),
	     WORD(remote_iov), WORD(completion_flags));
}

static DAT_RETURN mock_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
				     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	NOTE(37, WORD(ep_handle), WORD(ep_state), WORD(recv_idle), WORD(request_idle));
}

static DAT_RETURN mock_ep_free(DAT_EP_HANDLE ep_handle)
{
	NOTE(38, WORD(ep_handle));
}

static DAT_RETURN mock_ep_reset(DAT_EP_HANDLE ep_handle)
{
	NOTE(56, WORD(ep_handle));
}

static DAT_RETURN mock_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
					  DAT_EVD_HANDLE recv_evd_handle,
					  DAT_EVD_HANDLE request_evd_handle,
					  DAT_EVD_HANDLE connect_evd_handle,
					  DAT_SRQ_HANDLE srq_handle,
					  const DAT_EP_ATTR *ep_attributes,
					  DAT_EP_HANDLE *ep_handle)
{
	NOTE(61, WORD(ia_handle), WORD(pz_handle), WORD(recv_evd_handle), WORD(request_evd_handle),
	     WORD(connect_evd_handle), WORD(srq_handle), WORD(ep_attributes), WORD(ep_handle));
}

static DAT_RETURN mock_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
				     DAT_COUNT *bufs_alloc_span)
{
	NOTE(62, WORD(ep_handle), WORD(nbufs_allocated), WORD(bufs_alloc_span));
}

static DAT_RETURN mock_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
					DAT_COUNT hard_high_watermark)
{
	NOTE(63, WORD(ep_handle), WORD(soft_high_watermark), WORD(hard_high_watermark));
}

static DAT_RETURN mock_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
				 DAT_LMR_PARAM *lmr_param)
{
	NOTE(40, WORD(lmr_handle), WORD(lmr_param_mask), WORD(lmr_param));
}

static DAT_RETURN mock_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	NOTE(41, WORD(lmr_handle));
}

static DAT_RETURN mock_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
					  const DAT_LMR_TRIPLET *local_segments,
					  DAT_VLEN num_segments)
{
	NOTE(59, WORD(ia_handle), WORD(local_segments), WORD(num_segments));
}

static DAT_RETURN mock_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
					   const DAT_LMR_TRIPLET *local_segments,
					   DAT_VLEN num_segments)
{
	NOTE(60, WORD(ia_handle), WORD(local_segments), WORD(num_segments));
}

static DAT_RETURN mock_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	NOTE(42, WORD(pz_handle), WORD(rmr_handle));
}

static DAT_RETURN mock_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
				 DAT_RMR_PARAM *rmr_param)
{
	NOTE(43, WORD(rmr_handle), WORD(rmr_param_mask), WORD(rmr_param));
}

static DAT_RETURN mock_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
				DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
				DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
				DAT_RMR_CONTEXT *context)
{
	NOTE(44, WORD(rmr_handle), WORD(lmr_triplet), WORD(mem_priv), WORD(ep_handle),
	     UNION(user_cookie), WORD(completion_flags), WORD(context));
}

static DAT_RETURN mock_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	NOTE(45, WORD(rmr_handle));
}

static DAT_RETURN mock_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
				  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
				  DAT_PSP_HANDLE *psp_handle)
{
	NOTE(46, WORD(ia_handle), WORD(conn_qual), WORD(evd_handle), WORD(psp_flags),
	     WORD(psp_handle));
}

static DAT_RETURN mock_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
				      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
				      DAT_PSP_HANDLE *psp_handle)
{
	NOTE(55, WORD(ia_handle), WORD(conn_qual), WORD(evd_handle), WORD(psp_flags),
	     WORD(psp_handle));
}

static DAT_RETURN mock_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
				 DAT_PSP_PARAM *psp_param)
{
	NOTE(47, WORD(psp_handle), WORD(psp_param_mask), WORD(psp_param));
}

static DAT_RETURN mock_psp_free(DAT_PSP_HANDLE psp_handle)
{
	NOTE(48, WORD(psp_handle));
}

static DAT_RETURN mock_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
				  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
				  DAT_RSP_HANDLE *rsp_handle)
{
	NOTE(49, WORD(ia_handle), WORD(conn_qual), WORD(ep_handle), WORD(evd_handle),
	     WORD(rsp_handle));
}

static DAT_RETURN mock_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
				 DAT_RSP_PARAM *rsp_param)
{
	NOTE(50, WORD(rsp_handle), WORD(rsp_param_mask), WORD(rsp_param));
}

static DAT_RETURN mock_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	NOTE(51, WORD(rsp_handle));
}

static DAT_RETURN mock_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	NOTE(52, WORD(ia_handle), WORD(pz_handle));
}

static DAT_RETURN mock_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
				DAT_PZ_PARAM *pz_param)
{
	NOTE(53, WORD(pz_handle), WORD(pz_param_mask), WORD(pz_param));
}

static DAT_RETURN mock_pz_free(DAT_PZ_HANDLE pz_handle)
{
	NOTE(54, WORD(pz_handle));
}

static DAT_RETURN mock_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	NOTE(64, WORD(ia_handle), WORD(pz_handle), WORD(srq_attr), WORD(srq_handle));
}

static DAT_RETURN mock_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	NOTE(65, WORD(srq_handle));
}

static DAT_RETURN mock_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
				     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	NOTE(66, WORD(srq_handle), WORD(num_segments), WORD(local_iov), UNION(user_cookie));
}

static DAT_RETURN mock_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
				 DAT_SRQ_PARAM *srq_param)
{
	NOTE(67, WORD(srq_handle), WORD(srq_param_mask), WORD(srq_param));
}

static DAT_RETURN mock_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	NOTE(68, WORD(srq_handle), WORD(srq_max_recv_dto));
}

static DAT_RETURN mock_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	NOTE(69, WORD(srq_handle), WORD(low_watermark));
}

static DAT_RETURN mock_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
				  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
				  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
				  DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
				  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
				  DAT_VADDR *registered_address)
{
	NOTE(39, WORD(ia_handle), WORD(mem_type),
	     WORD(region_description.for_shared_memory.virtual_address),
	     WORD(region_description.for_shared_memory.shared_memory_id), WORD(length),
	     WORD(pz_handle), WORD(privileges), WORD(lmr_handle), WORD(lmr_context),
	     WORD(rmr_context), WORD(registered_length), WORD(registered_address));
}

static DAT_RETURN mock_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
				  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
				  DAT_EVD_HANDLE *evd_handle)
{
	NOTE(17, WORD(ia_handle), WORD(evd_min_qlen), WORD(cno_handle), WORD(evd_flags),
	     WORD(evd_handle));
}

static DAT_RETURN mock_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	NOTE(19, WORD(evd_handle), WORD(cno_handle));
}

static DAT_RETURN mock_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
				  DAT_CNO_HANDLE *cno_handle)
{
	NOTE(8, WORD(ia_handle), WORD(agent.instance_data), WORD(agent.proxy_agent_func),
	     WORD(cno_handle));
}

static DAT_RETURN mock_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	NOTE(9, WORD(cno_handle), WORD(agent.instance_data), WORD(agent.proxy_agent_func));
}

static DAT_RETURN mock_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
				 DAT_CNO_PARAM *cno_param)
{
	NOTE(10, WORD(cno_handle), WORD(cno_param_mask), WORD(cno_param));
}

static DAT_RETURN mock_cno_free(DAT_CNO_HANDLE cno_handle)
{
	NOTE(11, WORD(cno_handle));
}

static DAT_RETURN mock_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
				DAT_EVD_HANDLE *evd_handle)
{
	NOTE(12, WORD(cno_handle), WORD(timeout), WORD(evd_handle));
}

static DAT_RETURN mock_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	NOTE(20, WORD(evd_handle));
}

static DAT_RETURN mock_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
				DAT_EVENT *event, DAT_COUNT *n_more_events)
{
	NOTE(22, WORD(evd_handle), WORD(timeout), WORD(threshold), WORD(event),
	     WORD(n_more_events));
}

static DAT_RETURN mock_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	NOTE(21, WORD(evd_handle));
}

static DAT_RETURN mock_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	NOTE(57, WORD(evd_handle));
}

static DAT_RETURN mock_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	NOTE(58, WORD(evd_handle));
}

#define MOCK_SLOTS \
	.set_consumer_context_func = mock_set_consumer_context, \
	.get_consumer_context_func = mock_get_consumer_context, \
	.get_handle_type_func = mock_get_handle_type, \
	.cno_create_func = mock_cno_create, \
	.cno_modify_agent_func = mock_cno_modify_agent, \
	.cno_query_func = mock_cno_query, \
	.cno_free_func = mock_cno_free, \
	.cno_wait_func = mock_cno_wait, \
	.cr_query_func = mock_cr_query, \
	.cr_accept_func = mock_cr_accept, \
	.cr_reject_func = mock_cr_reject, \
	.cr_handoff_func = mock_cr_handoff, \
	.evd_create_func = mock_evd_create, \
	.evd_query_func = mock_evd_query, \
	.evd_modify_cno_func = mock_evd_modify_cno, \
	.evd_enable_func = mock_evd_enable, \
	.evd_disable_func = mock_evd_disable, \
	.evd_wait_func = mock_evd_wait, \
	.evd_resize_func = mock_evd_resize, \
	.evd_post_se_func = mock_evd_post_se, \
	.evd_dequeue_func = mock_evd_dequeue, \
	.evd_free_func = mock_evd_free, \
	.ep_create_func = mock_ep_create, \
	.ep_query_func = mock_ep_query, \
	.ep_modify_func = mock_ep_modify, \
	.ep_connect_func = mock_ep_connect, \
	.ep_dup_connect_func = mock_ep_dup_connect, \
	.ep_disconnect_func = mock_ep_disconnect, \
	.ep_post_send_func = mock_ep_post_send, \
	.ep_post_recv_func = mock_ep_post_recv, \
	.ep_post_rdma_read_func = mock_ep_post_rdma_read, \
	.ep_post_rdma_write_func = mock_ep_post_rdma_write, \
	.ep_get_status_func = mock_ep_get_status, \
	.ep_free_func = mock_ep_free, \
	.lmr_create_func = mock_lmr_create, \
	.lmr_query_func = mock_lmr_query, \
	.lmr_free_func = mock_lmr_free, \
	.rmr_create_func = mock_rmr_create, \
	.rmr_query_func = mock_rmr_query, \
	.rmr_bind_func = mock_rmr_bind, \
	.rmr_free_func = mock_rmr_free, \
	.psp_create_func = mock_psp_create, \
	.psp_query_func = mock_psp_query, \
	.psp_free_func = mock_psp_free, \
	.rsp_create_func = mock_rsp_create, \
	.rsp_query_func = mock_rsp_query, \
	.rsp_free_func = mock_rsp_free, \
	.pz_create_func = mock_pz_create, \
	.pz_query_func = mock_pz_query, \
	.pz_free_func = mock_pz_free, \
	.psp_create_any_func = mock_psp_create_any, \
	.ep_reset_func = mock_ep_reset, \
	.evd_set_unwaitable_func = mock_evd_set_unwaitable, \
	.evd_clear_unwaitable_func = mock_evd_clear_unwaitable, \
	.lmr_sync_rdma_read_func = mock_lmr_sync_rdma_read, \
	.lmr_sync_rdma_write_func = mock_lmr_sync_rdma_write, \
	.ep_create_with_srq_func = mock_ep_create_with_srq, \
	.ep_recv_query_func = mock_ep_recv_query, \
	.ep_set_watermark_func = mock_ep_set_watermark, \
	.srq_create_func = mock_srq_create, \
	.srq_free_func = mock_srq_free, \
	.srq_post_recv_func = mock_srq_post_recv, \
	.srq_query_func = mock_srq_query, \
	.srq_resize_func = mock_srq_resize, \
	.srq_set_lw_func = mock_srq_set_lw,
