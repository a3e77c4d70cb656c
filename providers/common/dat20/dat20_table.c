/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of DAT 2.0. Each slot is assigned once, and by type. The calls whose arguments are the
 * same in DAT 1.2 are here: they are passed on to the table beneath, and what that returns is
 * converted. It deals with cancellation.
 */
#include "dat20.h"
#include "providers/common/dat12/dat12.h"

_Static_assert(sizeof(struct dat20_provider) == 648, "the table of DAT 2.0 has 81 slots");

/* A call with n arguments, which are passed on as they are: type and name of each. The first is the object. */
#define SAME(slot, parameters, object, ...)							\
	static DAT_RETURN same_##slot parameters						\
	{											\
		return dat20_ret(dat20_beneath(object)->slot##_func(__VA_ARGS__));		\
	}

SAME(cno_create, (DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno_handle),
     ia_handle, ia_handle, agent, cno_handle)
SAME(cno_modify_agent, (DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent),
     cno_handle, cno_handle, agent)
SAME(cno_free, (DAT_CNO_HANDLE cno_handle),
     cno_handle, cno_handle)
SAME(cno_wait, (DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle),
     cno_handle, cno_handle, timeout, evd_handle)
SAME(set_consumer_context, (DAT_HANDLE dat_handle, DAT_CONTEXT context),
     dat_handle, dat_handle, context)
SAME(get_consumer_context, (DAT_HANDLE dat_handle, DAT_CONTEXT *context),
     dat_handle, dat_handle, context)
SAME(cr_query, (DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask, DAT_CR_PARAM *cr_param),
     cr_handle, cr_handle, cr_param_mask, cr_param)
SAME(cr_accept, (DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_COUNT private_data_size,
      const DAT_PVOID private_data),
     cr_handle, cr_handle, ep_handle, private_data_size, private_data)
SAME(cr_handoff, (DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff),
     cr_handle, cr_handle, handoff)
SAME(evd_modify_cno, (DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle),
     evd_handle, evd_handle, cno_handle)
SAME(evd_enable, (DAT_EVD_HANDLE evd_handle),
     evd_handle, evd_handle)
SAME(evd_disable, (DAT_EVD_HANDLE evd_handle),
     evd_handle, evd_handle)
SAME(evd_resize, (DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen),
     evd_handle, evd_handle, evd_min_qlen)
SAME(evd_free, (DAT_EVD_HANDLE evd_handle),
     evd_handle, evd_handle)
SAME(ep_dup_connect, (DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
      DAT_COUNT private_data_size, const DAT_PVOID private_data, DAT_QOS quality_of_service),
     ep_handle, ep_handle, ep_dup_handle, timeout, private_data_size, private_data, quality_of_service)
SAME(ep_disconnect, (DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags),
     ep_handle, ep_handle, close_flags)
SAME(ep_free, (DAT_EP_HANDLE ep_handle),
     ep_handle, ep_handle)
SAME(lmr_free, (DAT_LMR_HANDLE lmr_handle),
     lmr_handle, lmr_handle)
SAME(rmr_create, (DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle),
     pz_handle, pz_handle, rmr_handle)
SAME(rmr_free, (DAT_RMR_HANDLE rmr_handle),
     rmr_handle, rmr_handle)
SAME(psp_create, (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd_handle,
      DAT_PSP_FLAGS psp_flags, DAT_PSP_HANDLE *psp_handle),
     ia_handle, ia_handle, conn_qual, evd_handle, psp_flags, psp_handle)
SAME(psp_query, (DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask, DAT_PSP_PARAM *psp_param),
     psp_handle, psp_handle, psp_param_mask, psp_param)
SAME(psp_free, (DAT_PSP_HANDLE psp_handle),
     psp_handle, psp_handle)
SAME(rsp_create, (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
      DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle),
     ia_handle, ia_handle, conn_qual, ep_handle, evd_handle, rsp_handle)
SAME(rsp_query, (DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask, DAT_RSP_PARAM *rsp_param),
     rsp_handle, rsp_handle, rsp_param_mask, rsp_param)
SAME(rsp_free, (DAT_RSP_HANDLE rsp_handle),
     rsp_handle, rsp_handle)
SAME(pz_create, (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle),
     ia_handle, ia_handle, pz_handle)
SAME(pz_query, (DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask, DAT_PZ_PARAM *pz_param),
     pz_handle, pz_handle, pz_param_mask, pz_param)
SAME(pz_free, (DAT_PZ_HANDLE pz_handle),
     pz_handle, pz_handle)
SAME(psp_create_any, (DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd_handle,
      DAT_PSP_FLAGS psp_flags, DAT_PSP_HANDLE *psp_handle),
     ia_handle, ia_handle, conn_qual, evd_handle, psp_flags, psp_handle)
SAME(ep_reset, (DAT_EP_HANDLE ep_handle),
     ep_handle, ep_handle)
SAME(evd_set_unwaitable, (DAT_EVD_HANDLE evd_handle),
     evd_handle, evd_handle)
SAME(evd_clear_unwaitable, (DAT_EVD_HANDLE evd_handle),
     evd_handle, evd_handle)
SAME(ep_recv_query, (DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated, DAT_COUNT *bufs_alloc_span),
     ep_handle, ep_handle, nbufs_allocated, bufs_alloc_span)
SAME(ep_set_watermark, (DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark, DAT_COUNT hard_high_watermark),
     ep_handle, ep_handle, soft_high_watermark, hard_high_watermark)
SAME(srq_create, (DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
      DAT_SRQ_HANDLE *srq_handle),
     ia_handle, ia_handle, pz_handle, srq_attr, srq_handle)
SAME(srq_free, (DAT_SRQ_HANDLE srq_handle),
     srq_handle, srq_handle)
SAME(srq_resize, (DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto),
     srq_handle, srq_handle, srq_max_recv_dto)
SAME(srq_set_lw, (DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark),
     srq_handle, srq_handle, low_watermark)
SAME(ia_close, (DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags),
     ia_handle, ia_handle, close_flags)

static DAT_RETURN get_handle_type(DAT_HANDLE handle, DAT20_HANDLE_TYPE *type)
{
	DAT_HANDLE_TYPE found;
	DAT_RETURN ret = dat20_beneath(handle)->get_handle_type_func(handle, type ? &found : NULL);

	if (ret == DAT_SUCCESS)
		*type = (DAT20_HANDLE_TYPE)found;
	return dat20_ret(ret);
}

/* ------------------------------------------------------------------ what is not served */

#define MODEL_NOT_SUPPORTED	((DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT20_MODEL_NOT_SUPPORTED)

/* Common service points, windows of one endpoint, invalidation, CNOs with a descriptor, high availability. */
#define REFUSED(slot, ...) static DAT_RETURN no_##slot(__VA_ARGS__) { return MODEL_NOT_SUPPORTED; }

#define UNUSED(name) name __attribute__((unused))
REFUSED(csp_create, DAT_IA_HANDLE UNUSED(a), DAT20_COMM *UNUSED(b), DAT_IA_ADDRESS_PTR UNUSED(c),
	DAT_EVD_HANDLE UNUSED(d), DAT20_CSP_HANDLE *UNUSED(e))
REFUSED(csp_query, DAT20_CSP_HANDLE UNUSED(a), DAT20_CSP_PARAM_MASK UNUSED(b), DAT20_CSP_PARAM *UNUSED(c))
REFUSED(csp_free, DAT20_CSP_HANDLE UNUSED(a))
REFUSED(ep_common_connect, DAT_EP_HANDLE UNUSED(a), DAT_IA_ADDRESS_PTR UNUSED(b), DAT_TIMEOUT UNUSED(c),
	DAT_COUNT UNUSED(d), const DAT_PVOID UNUSED(e))
REFUSED(rmr_create_for_ep, DAT_PZ_HANDLE UNUSED(a), DAT_RMR_HANDLE *UNUSED(b))
REFUSED(ep_post_send_with_invalidate, DAT_EP_HANDLE UNUSED(a), DAT_COUNT UNUSED(b), DAT20_LMR_TRIPLET *UNUSED(c),
	DAT_DTO_COOKIE UNUSED(d), DAT20_COMPLETION_FLAGS UNUSED(e),
	DAT_BOOLEAN UNUSED(f), DAT_RMR_CONTEXT UNUSED(g))
REFUSED(ep_post_rdma_read_to_rmr, DAT_EP_HANDLE UNUSED(a), const DAT20_RMR_TRIPLET *UNUSED(b),
	DAT_DTO_COOKIE UNUSED(c), const DAT20_RMR_TRIPLET *UNUSED(d),
	DAT20_COMPLETION_FLAGS UNUSED(e))
REFUSED(cno_fd_create, DAT_IA_HANDLE UNUSED(a), DAT20_FD *UNUSED(b), DAT_CNO_HANDLE *UNUSED(c))
REFUSED(cno_trigger, DAT_CNO_HANDLE UNUSED(a), DAT_EVD_HANDLE *UNUSED(b))
REFUSED(ia_ha_related, DAT_IA_HANDLE UNUSED(a), const DAT_NAME_PTR UNUSED(b), DAT_BOOLEAN *UNUSED(c))

/* No extension is offered, as the attributes say. */
static DAT_RETURN no_extendedop(DAT_HANDLE UNUSED(handle), DAT20_EXTENDED_OP UNUSED(op), va_list UNUSED(args))
{
	return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT20_NOT_IMPLEMENTED;
}

/* ------------------------------------------------------------------ the table */

static const struct dat20_provider dat20_template = {
	.ia_query_func = dat20_ia_query,
	.ia_close_func = same_ia_close,
	.set_consumer_context_func = same_set_consumer_context,
	.get_consumer_context_func = same_get_consumer_context,
	.get_handle_type_func = get_handle_type,
	.cno_create_func = same_cno_create,
	.cno_modify_agent_func = same_cno_modify_agent,
	.cno_query_func = dat20_cno_query,
	.cno_free_func = same_cno_free,
	.cno_wait_func = same_cno_wait,
	.cr_query_func = same_cr_query,
	.cr_accept_func = same_cr_accept,
	.cr_reject_func = dat20_cr_reject,
	.cr_handoff_func = same_cr_handoff,
	.evd_create_func = dat20_evd_create,
	.evd_query_func = dat20_evd_query,
	.evd_modify_cno_func = same_evd_modify_cno,
	.evd_enable_func = same_evd_enable,
	.evd_disable_func = same_evd_disable,
	.evd_wait_func = dat20_evd_wait,
	.evd_resize_func = same_evd_resize,
	.evd_post_se_func = dat20_evd_post_se,
	.evd_free_func = same_evd_free,
	.ep_create_func = dat20_ep_create,
	.ep_query_func = dat20_ep_query,
	.ep_modify_func = dat20_ep_modify,
	.ep_connect_func = dat20_ep_connect,
	.ep_dup_connect_func = same_ep_dup_connect,
	.ep_disconnect_func = same_ep_disconnect,
	.ep_get_status_func = dat20_ep_get_status,
	.ep_free_func = same_ep_free,
	.lmr_create_func = dat20_lmr_create,
	.lmr_query_func = dat20_lmr_query,
	.lmr_free_func = same_lmr_free,
	.rmr_create_func = same_rmr_create,
	.rmr_query_func = dat20_rmr_query,
	.rmr_bind_func = dat20_rmr_bind,
	.rmr_free_func = same_rmr_free,
	.psp_create_func = same_psp_create,
	.psp_query_func = same_psp_query,
	.psp_free_func = same_psp_free,
	.rsp_create_func = same_rsp_create,
	.rsp_query_func = same_rsp_query,
	.rsp_free_func = same_rsp_free,
	.pz_create_func = same_pz_create,
	.pz_query_func = same_pz_query,
	.pz_free_func = same_pz_free,
	.psp_create_any_func = same_psp_create_any,
	.ep_reset_func = same_ep_reset,
	.evd_set_unwaitable_func = same_evd_set_unwaitable,
	.evd_clear_unwaitable_func = same_evd_clear_unwaitable,
	.lmr_sync_rdma_read_func = dat20_lmr_sync_rdma_read,
	.lmr_sync_rdma_write_func = dat20_lmr_sync_rdma_write,
	.ep_create_with_srq_func = dat20_ep_create_with_srq,
	.ep_recv_query_func = same_ep_recv_query,
	.ep_set_watermark_func = same_ep_set_watermark,
	.srq_create_func = same_srq_create,
	.srq_free_func = same_srq_free,
	.srq_post_recv_func = dat20_srq_post_recv,
	.srq_query_func = dat20_srq_query,
	.srq_resize_func = same_srq_resize,
	.srq_set_lw_func = same_srq_set_lw,
	.ep_post_send_func = dat20_ep_post_send,
	.ep_post_recv_func = dat20_ep_post_recv,
	.ep_post_rdma_read_func = dat20_ep_post_rdma_read,
	.ep_post_rdma_write_func = dat20_ep_post_rdma_write,
	.evd_dequeue_func = dat20_evd_dequeue,
	.csp_create_func = no_csp_create,
	.csp_query_func = no_csp_query,
	.csp_free_func = no_csp_free,
	.ep_common_connect_func = no_ep_common_connect,
	.rmr_create_for_ep_func = no_rmr_create_for_ep,
	.ep_post_send_with_invalidate_func = no_ep_post_send_with_invalidate,
	.ep_post_rdma_read_to_rmr_func = no_ep_post_rdma_read_to_rmr,
	.cno_fd_create_func = no_cno_fd_create,
	.cno_trigger_func = no_cno_trigger,
	.ia_ha_related_func = no_ia_ha_related,
	.handle_extendedop_func = no_extendedop,
};

void dat20_table_fill(struct plugin *plugin)
{
	struct dat20_tables *tables = plugin->table;

	tables->shown = dat20_template;
	tables->shown.device_name = plugin->info.ia_name;
	tables->shown.ia_open_func = dat20_ia_opener(plugin);
	dat12_table_make(plugin, &tables->beneath);
}
