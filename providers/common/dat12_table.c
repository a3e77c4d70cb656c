/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frozen table of DAT 1.2. Each slot is assigned once, and by type, so a function that does not
 * fit its slot does not compile.
 */
#include "dat12.h"

_Static_assert(sizeof(DAT_PROVIDER) == 560, "the table of DAT 1.2 has 70 slots");

static const DAT_PROVIDER dat12_template = {
	.ia_query_func = dat12_ia_query,
	.ia_close_func = dat12_ia_close,
	.set_consumer_context_func = dat12_set_consumer_context,
	.get_consumer_context_func = dat12_get_consumer_context,
	.get_handle_type_func = dat12_get_handle_type,
	.cno_create_func = dat12_cno_create,
	.cno_modify_agent_func = dat12_cno_modify_agent,
	.cno_query_func = dat12_cno_query,
	.cno_free_func = dat12_cno_free,
	.cno_wait_func = dat12_cno_wait,
	.cr_query_func = dat12_cr_query,
	.cr_accept_func = dat12_cr_accept,
	.cr_reject_func = dat12_cr_reject,
	.cr_handoff_func = dat12_cr_handoff,
	.evd_create_func = dat12_evd_create,
	.evd_query_func = dat12_evd_query,
	.evd_modify_cno_func = dat12_evd_modify_cno,
	.evd_enable_func = dat12_evd_enable,
	.evd_disable_func = dat12_evd_disable,
	.evd_wait_func = dat12_evd_wait,
	.evd_resize_func = dat12_evd_resize,
	.evd_post_se_func = dat12_evd_post_se,
	.evd_free_func = dat12_evd_free,
	.ep_create_func = dat12_ep_create,
	.ep_query_func = dat12_ep_query,
	.ep_modify_func = dat12_ep_modify,
	.ep_connect_func = dat12_ep_connect,
	.ep_dup_connect_func = dat12_ep_dup_connect,
	.ep_disconnect_func = dat12_ep_disconnect,
	.ep_get_status_func = dat12_ep_get_status,
	.ep_free_func = dat12_ep_free,
	.lmr_create_func = dat12_lmr_create,
	.lmr_query_func = dat12_lmr_query,
	.lmr_free_func = dat12_lmr_free,
	.rmr_create_func = dat12_rmr_create,
	.rmr_query_func = dat12_rmr_query,
	.rmr_bind_func = dat12_rmr_bind,
	.rmr_free_func = dat12_rmr_free,
	.psp_create_func = dat12_psp_create,
	.psp_query_func = dat12_psp_query,
	.psp_free_func = dat12_psp_free,
	.rsp_create_func = dat12_rsp_create,
	.rsp_query_func = dat12_rsp_query,
	.rsp_free_func = dat12_rsp_free,
	.pz_create_func = dat12_pz_create,
	.pz_query_func = dat12_pz_query,
	.pz_free_func = dat12_pz_free,
	.psp_create_any_func = dat12_psp_create_any,
	.ep_reset_func = dat12_ep_reset,
	.evd_set_unwaitable_func = dat12_evd_set_unwaitable,
	.evd_clear_unwaitable_func = dat12_evd_clear_unwaitable,
	.lmr_sync_rdma_read_func = dat12_lmr_sync_rdma_read,
	.lmr_sync_rdma_write_func = dat12_lmr_sync_rdma_write,
	.ep_create_with_srq_func = dat12_ep_create_with_srq,
	.ep_recv_query_func = dat12_ep_recv_query,
	.ep_set_watermark_func = dat12_ep_set_watermark,
	.srq_create_func = dat12_srq_create,
	.srq_free_func = dat12_srq_free,
	.srq_post_recv_func = dat12_srq_post_recv,
	.srq_query_func = dat12_srq_query,
	.srq_resize_func = dat12_srq_resize,
	.srq_set_lw_func = dat12_srq_set_lw,
};

void dat12_table_fill(DAT_PROVIDER *table, const char *device_name, uint32_t nth,
		      const struct datp_fast *fast)
{
	*table = dat12_template;
	table->device_name = device_name;
	table->ia_open_func = dat12_ia_opener(nth);
	table->ep_post_send_func = fast->post_send;
	table->ep_post_recv_func = fast->post_recv;
	table->ep_post_rdma_read_func = fast->post_rdma_read;
	table->ep_post_rdma_write_func = fast->post_rdma_write;
	table->evd_dequeue_func = fast->evd_dequeue;
}
