/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of DAT 2.0. Each slot is assigned once, and by type. The calls whose arguments are the
 * same in DAT 1.2 are here: they are passed on to the table beneath, which handles cancellation,
 * and its return values are converted.
 */
#include "dat20.h"
#include "providers/common/dat12/dat12.h"
#include "providers/common/dat12/dat12_calls.h"

_Static_assert(sizeof(struct dat20_provider) == 648, "the table of DAT 2.0 has 81 slots");

/*
 * Generates a function for each call of the list, which passes its arguments on. It is used for the
 * calls that are the same in both APIs; a function of any other call does not fit its slot, so it
 * would not compile there.
 */
#define FIRST(type, name, ...)	name
#define NAME(i, type, name, kind) name
#define CALL(n, slot, ...)									\
	static __attribute__((unused)) DAT_RETURN same_##slot(EACH##n(PARAM, 0, __VA_ARGS__))	\
	{											\
		const DAT_PROVIDER *beneath = dat20_beneath(FIRST(__VA_ARGS__));		\
												\
		return dat20_ret(beneath->slot##_func(EACH##n(NAME, 0, __VA_ARGS__)));		\
	}
WRAPPED_CALLS
#undef CALL

/* Two calls that are the same in both APIs and are not in the list. */
static DAT_RETURN same_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno)
{
	return dat20_ret(dat20_beneath(ia)->cno_create_func(ia, agent, cno));
}

static DAT_RETURN same_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	return dat20_ret(dat20_beneath(ia)->ia_close_func(ia, flags));
}

static DAT_RETURN get_handle_type(DAT_HANDLE handle, DAT20_HANDLE_TYPE *type)
{
	DAT_HANDLE_TYPE found;
	DAT_RETURN ret = dat20_beneath(handle)->get_handle_type_func(handle, type ? &found : NULL);

	if (ret == DAT_SUCCESS)
		*type = (DAT20_HANDLE_TYPE)found;
	return dat20_ret(ret);
}

/* ------------------------------------------------------------------ what is not served */

/*
 * Calls for common service points, RMRs of one endpoint, and high availability.
 */
#define REFUSED(slot, ...) static DAT_RETURN no_##slot(__VA_ARGS__) { return dat20_error(DAT20_MODEL_NOT_SUPPORTED); }

#define UNUSED(name) name __attribute__((unused))
REFUSED(csp_create, DAT_IA_HANDLE UNUSED(a), DAT20_COMM *UNUSED(b), DAT_IA_ADDRESS_PTR UNUSED(c),
	DAT_EVD_HANDLE UNUSED(d), DAT20_CSP_HANDLE *UNUSED(e))
REFUSED(csp_query, DAT20_CSP_HANDLE UNUSED(a), DAT20_CSP_PARAM_MASK UNUSED(b), DAT20_CSP_PARAM *UNUSED(c))
REFUSED(csp_free, DAT20_CSP_HANDLE UNUSED(a))
REFUSED(ep_common_connect, DAT_EP_HANDLE UNUSED(a), DAT_IA_ADDRESS_PTR UNUSED(b), DAT_TIMEOUT UNUSED(c),
	DAT_COUNT UNUSED(d), const DAT_PVOID UNUSED(e))
REFUSED(rmr_create_for_ep, DAT_PZ_HANDLE UNUSED(a), DAT_RMR_HANDLE *UNUSED(b))
REFUSED(ia_ha_related, DAT_IA_HANDLE UNUSED(a), const DAT_NAME_PTR UNUSED(b), DAT_BOOLEAN *UNUSED(c))

/* ------------------------------------------------------------------ the table */

static const struct dat20_provider dat20_template = {
	.ia_query_func = dat20_ia_query,
	.ia_close_func = same_ia_close,
	.set_consumer_context_func = same_set_consumer_context,
	.get_consumer_context_func = same_get_consumer_context,
	.get_handle_type_func = get_handle_type,
	.cno_create_func = same_cno_create,
	.cno_modify_agent_func = dat20_cno_modify_agent,
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
	.ep_post_send_with_invalidate_func = dat20_ep_post_send_with_invalidate,
	.ep_post_rdma_read_to_rmr_func = dat20_ep_post_rdma_read_to_rmr,
	.cno_fd_create_func = dat20_cno_fd_create,
	.cno_trigger_func = dat20_cno_trigger,
	.ia_ha_related_func = no_ia_ha_related,
};

bool dat20_made(const void *table)
{
	return ((const struct dat20_provider *)table)->ia_close_func == same_ia_close;
}

void dat20_table_fill(struct plugin *plugin)
{
	struct dat20_tables *tables = plugin->table;

	tables->shown = dat20_template;
	tables->shown.device_name = plugin->info.ia_name;
	tables->shown.ia_open_func = dat20_ia_opener(plugin->nth);
	tables->shown.handle_extendedop_func = dat20_extender(plugin);
	dat20_fast_fill(plugin->desc, &tables->shown);
	if (plugin->counters)
		dat20_counters_fill(&tables->shown);
	dat12_table_make(plugin, &tables->beneath);
}
