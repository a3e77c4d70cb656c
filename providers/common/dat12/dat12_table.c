/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frozen table of DAT 1.2. Each slot is assigned once, and by type, so a function that does not
 * fit its slot does not compile.
 */
#include <string.h>

#include "dat12.h"
#include "dat12_calls.h"
#include "dat12_refused.h"
#include "providers/common/base/cancel.h"

_Static_assert(sizeof(DAT_PROVIDER) == 560, "the table of DAT 1.2 has 70 slots");

/* ------------------------------------------------------------------ cancellation and refusals */

/*
 * A transport's system calls may be cancellation points, and a thread that ended there would keep
 * locks. So a thread is cancelled before or after such a call; calls that wait handle cancellation
 * themselves. A call that is refused says why at level debug.
 */
#define NAME(i, type, name, kind)     name
#define STORE(i, type, name, kind)    memcpy(&w[i], &(name), sizeof(name))
#define DESCRIBE(i, type, name, kind) { #name, DATP_ARG_##kind }
#define CALL(n, slot, ...)                                                                         \
	static DAT_RETURN whole_##slot(EACH##n(PARAM, 0, __VA_ARGS__))                             \
	{                                                                                          \
		static const struct datp_arg args[] = { EACH##n(DESCRIBE, 0, __VA_ARGS__) };       \
		static const struct dat12_call call = { #slot, n, args };                          \
		struct cancel own;                                                                 \
		DAT_RETURN ret;                                                                    \
                                                                                                   \
		cancel_off(&own);                                                                  \
		ret = dat12_##slot(EACH##n(NAME, 0, __VA_ARGS__));                                 \
		if (ret != DAT_SUCCESS) {                                                          \
			uint64_t w[n] = { 0 };                                                     \
                                                                                                   \
			EACH##n(STORE, 0, __VA_ARGS__);                                            \
			dat12_refused(&call, w, ret);                                              \
		}                                                                                  \
		cancel_restore(&own);                                                              \
		return ret;                                                                        \
	}
CONTROL_CALLS
#undef CALL

static DAT_RETURN whole_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
				   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
				   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
				   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
				   DAT_VADDR *registered_address)
{
	/* region_description is a union that does not fit into a word: its word is 0 */
	static const struct datp_arg args[] = {
		{ "ia_handle", DATP_ARG_HANDLE },	 { "mem_type", DATP_ARG_FLAGS },
		{ "region_description", DATP_ARG_HEX64 }, { "length", DATP_ARG_U64 },
		{ "pz_handle", DATP_ARG_HANDLE },	 { "mem_privileges", DATP_ARG_FLAGS },
		{ "lmr_handle", DATP_ARG_OUT_HANDLE },	 { "lmr_context", DATP_ARG_OUT_HEX32 },
	};
	static const struct dat12_call call = { "lmr_create", 8, args };
	struct cancel own;
	DAT_RETURN ret;

	cancel_off(&own);
	ret = dat12_lmr_create(ia, type, region, length, pz, priv, lmr, context, rmr_context,
			       registered_length, registered_address);
	if (ret != DAT_SUCCESS) {
		const uint64_t w[] = { (uintptr_t)ia, type, 0, length, (uintptr_t)pz, priv, (uintptr_t)lmr, (uintptr_t)context };

		dat12_refused(&call, w, ret);
	}
	cancel_restore(&own);
	return ret;
}

static DAT_RETURN whole_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno)
{
	/* agent is a struct that does not fit into a word: its word is 0, and dat12_cno_create() itself says why it refuses one */
	static const struct datp_arg args[] = {
		{ "ia_handle", DATP_ARG_HANDLE },
		{ "agent", DATP_ARG_HEX64 },
		{ "cno_handle", DATP_ARG_OUT_HANDLE },
	};
	static const struct dat12_call call = { "cno_create", 3, args };
	struct cancel own;
	DAT_RETURN ret;

	cancel_off(&own);
	ret = dat12_cno_create(ia, agent, cno);
	if (ret != DAT_SUCCESS) {
		const uint64_t w[] = { (uintptr_t)ia, 0, (uintptr_t)cno };

		dat12_refused(&call, w, ret);
	}
	cancel_restore(&own);
	return ret;
}

static DAT_RETURN whole_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	static const struct datp_arg args[] = {
		{ "cno_handle", DATP_ARG_HANDLE },
		{ "agent", DATP_ARG_HEX64 },
	};
	static const struct dat12_call call = { "cno_modify_agent", 2, args };
	struct cancel own;
	DAT_RETURN ret;

	cancel_off(&own);
	ret = dat12_cno_modify_agent(cno, agent);
	if (ret != DAT_SUCCESS) {
		const uint64_t w[] = { (uintptr_t)cno, 0 };

		dat12_refused(&call, w, ret);
	}
	cancel_restore(&own);
	return ret;
}

/* ------------------------------------------------------------------ the table */

static const DAT_PROVIDER dat12_template = {
	.ia_query_func = whole_ia_query,
	.ia_close_func = dat12_ia_close,
	.set_consumer_context_func = whole_set_consumer_context,
	.get_consumer_context_func = whole_get_consumer_context,
	.get_handle_type_func = whole_get_handle_type,
	.cno_create_func = whole_cno_create,
	.cno_modify_agent_func = whole_cno_modify_agent,
	.cno_query_func = whole_cno_query,
	.cno_free_func = whole_cno_free,
	.cno_wait_func = dat12_cno_wait,
	.cr_query_func = whole_cr_query,
	.cr_accept_func = whole_cr_accept,
	.cr_reject_func = whole_cr_reject,
	.cr_handoff_func = whole_cr_handoff,
	.evd_create_func = whole_evd_create,
	.evd_query_func = whole_evd_query,
	.evd_modify_cno_func = whole_evd_modify_cno,
	.evd_enable_func = whole_evd_enable,
	.evd_disable_func = whole_evd_disable,
	.evd_wait_func = dat12_evd_wait,
	.evd_resize_func = whole_evd_resize,
	.evd_post_se_func = whole_evd_post_se,
	.evd_free_func = whole_evd_free,
	.ep_create_func = whole_ep_create,
	.ep_query_func = whole_ep_query,
	.ep_modify_func = whole_ep_modify,
	.ep_connect_func = whole_ep_connect,
	.ep_dup_connect_func = whole_ep_dup_connect,
	.ep_disconnect_func = whole_ep_disconnect,
	.ep_get_status_func = whole_ep_get_status,
	.ep_free_func = whole_ep_free,
	.lmr_create_func = whole_lmr_create,
	.lmr_query_func = whole_lmr_query,
	.lmr_free_func = whole_lmr_free,
	.rmr_create_func = whole_rmr_create,
	.rmr_query_func = whole_rmr_query,
	.rmr_bind_func = whole_rmr_bind,
	.rmr_free_func = whole_rmr_free,
	.psp_create_func = whole_psp_create,
	.psp_query_func = whole_psp_query,
	.psp_free_func = whole_psp_free,
	.rsp_create_func = whole_rsp_create,
	.rsp_query_func = whole_rsp_query,
	.rsp_free_func = whole_rsp_free,
	.pz_create_func = whole_pz_create,
	.pz_query_func = whole_pz_query,
	.pz_free_func = whole_pz_free,
	.psp_create_any_func = whole_psp_create_any,
	.ep_reset_func = whole_ep_reset,
	.evd_set_unwaitable_func = whole_evd_set_unwaitable,
	.evd_clear_unwaitable_func = whole_evd_clear_unwaitable,
	.lmr_sync_rdma_read_func = whole_lmr_sync_rdma_read,
	.lmr_sync_rdma_write_func = whole_lmr_sync_rdma_write,
	.ep_create_with_srq_func = whole_ep_create_with_srq,
	.ep_recv_query_func = whole_ep_recv_query,
	.ep_set_watermark_func = whole_ep_set_watermark,
	.srq_create_func = whole_srq_create,
	.srq_free_func = whole_srq_free,
	.srq_post_recv_func = dat12_srq_post_recv,
	.srq_query_func = whole_srq_query,
	.srq_resize_func = whole_srq_resize,
	.srq_set_lw_func = whole_srq_set_lw,
};

void dat12_table_name(struct plugin *plugin)
{
	DAT_PROVIDER *table = plugin->table;

	table->device_name = plugin->info.ia_name;
	table->ia_open_func = dat12_ia_opener(plugin->nth);
}

void dat12_table_make(const struct plugin *plugin, DAT_PROVIDER *table)
{
	const struct datp_fast *fast = &plugin->desc->fast;

	*table = dat12_template;
	table->ep_post_send_func = fast->post_send;
	table->ep_post_recv_func = fast->post_recv;
	table->ep_post_rdma_read_func = fast->post_rdma_read;
	table->ep_post_rdma_write_func = fast->post_rdma_write;
	table->evd_dequeue_func = fast->evd_dequeue;
	dat12_diag_fill(table);
	dat12_refused_fill(table);
}

void dat12_table_fill(struct plugin *plugin)
{
	dat12_table_make(plugin, plugin->table);
	dat12_table_name(plugin);
}
