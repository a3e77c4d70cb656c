/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge: one function per slot of the frozen table, named dat12_<slot>. Each checks
 * handles and arguments, calls the core and converts its result to a DAT_RETURN. The five slots of
 * the data path (ep_post_send, _recv, _rdma_read, _rdma_write, evd_dequeue) are the plugin's own.
 */
#ifndef DAT12_H
#define DAT12_H

#include "providers/common/core/core.h"

/* ------------------------------------------------------------------ errors */

/*
 * Returns DAT_INVALID_PARAMETER for the argument at this position, 1 to 10; at position 0, for no
 * argument in particular.
 */
static inline DAT_RETURN dat12_arg(unsigned int position)
{
	unsigned int sub = position ? DAT_INVALID_ARG1 + position - 1 : DAT_NO_SUBTYPE;

	return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_PARAMETER | (DAT_RETURN)sub;
}

/* Which argument of a call an error is about. */
struct dat12_arg {
	enum datp_err err;
	unsigned int position;
};

/*
 * Converts a result to a call's return value; a BAD_... that is not in `args` has no subtype.
 * `args` ends with DATP_OK.
 */
DAT_RETURN dat12_ret(enum datp_err err, const struct dat12_arg args[]);

/* dat12_ret() for a call whose arguments are named as { DATP_ERR_BAD_..., position }. */
#define DAT12_RET(err, ...)                                                                        \
	dat12_ret(err, (const struct dat12_arg[]){ __VA_ARGS__, { DATP_OK, 0 } })

/* ------------------------------------------------------------------ events */

/*
 * Takes the first event of an EVD and writes it as a DAT_EVENT. Returns false if there is none. The
 * EVD lock is held.
 */
bool dat12_event_pop_locked(struct datp_evd *evd, void *event);

/* ------------------------------------------------------------------ the table */

/* An edge whose adapters are opened by a call of DAT 1.2. */
struct dat12_edge {
	struct edge edge;
	/*
	 * The arguments have been checked, and plugin_get() has been called; on success the IA
	 * releases the plugin.
	 */
	DAT_RETURN (*open)(struct plugin *plugin, const char *name, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia);
};

/* The edge of plugins that are not wrappers. */
extern const struct edge *const dat12_edge;

/* Fills the data path with the plugin's functions, and all other slots with those of this edge. */
void dat12_table_fill(struct plugin *plugin);
/* The same for a table that libdat does not see: it gets no name and no open function. */
void dat12_table_make(const struct plugin *plugin, DAT_PROVIDER *table);
/*
 * If level debug is enabled, puts functions in front of those of the posts and of the bind, which
 * log why a call is refused.
 */
void dat12_diag_fill(DAT_PROVIDER *table);
/* Fills only what libdat itself reads: the name, and the open function. */
void dat12_table_name(struct plugin *plugin);
DAT_RETURN dat12_announce(struct plugin *plugin);
bool dat12_withdraw(struct plugin *plugin);
DAT_IA_HANDLE dat12_shown(struct datp_ia *ia);
DAT_RETURN dat12_open(struct plugin *plugin, const char *name, DAT_COUNT qlen,
		      DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia);

/*
 * Returns the open function of the nth registration of a name, because the call itself passes only
 * the name.
 */
DAT_IA_OPEN_FUNC dat12_ia_opener(uint32_t nth);
/* Expands to X() of each of the PLUGIN_NTHS numbers. */
#define DAT12_NTHS(X)						\
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)			\
	X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
DAT_RETURN dat12_ia_query(DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *,
			  DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *);
DAT_RETURN dat12_ia_close(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
DAT_RETURN dat12_set_consumer_context(DAT_HANDLE, DAT_CONTEXT);
DAT_RETURN dat12_get_consumer_context(DAT_HANDLE, DAT_CONTEXT *);
DAT_RETURN dat12_get_handle_type(DAT_HANDLE, DAT_HANDLE_TYPE *);
DAT_RETURN dat12_cno_create(DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *);
DAT_RETURN dat12_cno_modify_agent(DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT);
DAT_RETURN dat12_cno_query(DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *);
DAT_RETURN dat12_cno_free(DAT_CNO_HANDLE);
DAT_RETURN dat12_cno_wait(DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *);
DAT_RETURN dat12_cr_query(DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *);
DAT_RETURN dat12_cr_accept(DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN dat12_cr_reject(DAT_CR_HANDLE);
DAT_RETURN dat12_cr_handoff(DAT_CR_HANDLE, DAT_CONN_QUAL);
DAT_RETURN dat12_evd_create(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
			    DAT_EVD_HANDLE *);
DAT_RETURN dat12_evd_query(DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *);
DAT_RETURN dat12_evd_modify_cno(DAT_EVD_HANDLE, DAT_CNO_HANDLE);
DAT_RETURN dat12_evd_enable(DAT_EVD_HANDLE);
DAT_RETURN dat12_evd_disable(DAT_EVD_HANDLE);
DAT_RETURN dat12_evd_wait(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
DAT_RETURN dat12_evd_resize(DAT_EVD_HANDLE, DAT_COUNT);
DAT_RETURN dat12_evd_post_se(DAT_EVD_HANDLE, const DAT_EVENT *);
DAT_RETURN dat12_evd_free(DAT_EVD_HANDLE);
DAT_RETURN dat12_ep_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
			   DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *);
DAT_RETURN dat12_ep_query(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *);
DAT_RETURN dat12_ep_modify(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *);
DAT_RETURN dat12_ep_connect(DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT,
			    DAT_COUNT, const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS);
DAT_RETURN dat12_ep_dup_connect(DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT,
				const DAT_PVOID, DAT_QOS);
DAT_RETURN dat12_ep_disconnect(DAT_EP_HANDLE, DAT_CLOSE_FLAGS);
DAT_RETURN dat12_ep_get_status(DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *);
DAT_RETURN dat12_ep_free(DAT_EP_HANDLE);
DAT_RETURN dat12_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
			    DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *,
			    DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN dat12_lmr_query(DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *);
DAT_RETURN dat12_lmr_free(DAT_LMR_HANDLE);
DAT_RETURN dat12_rmr_create(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN dat12_rmr_query(DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *);
DAT_RETURN dat12_rmr_bind(DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
			  DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);
DAT_RETURN dat12_rmr_free(DAT_RMR_HANDLE);
DAT_RETURN dat12_psp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
			    DAT_PSP_HANDLE *);
DAT_RETURN dat12_psp_query(DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *);
DAT_RETURN dat12_psp_free(DAT_PSP_HANDLE);
DAT_RETURN dat12_rsp_create(DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE,
			    DAT_RSP_HANDLE *);
DAT_RETURN dat12_rsp_query(DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *);
DAT_RETURN dat12_rsp_free(DAT_RSP_HANDLE);
DAT_RETURN dat12_pz_create(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
DAT_RETURN dat12_pz_query(DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *);
DAT_RETURN dat12_pz_free(DAT_PZ_HANDLE);
DAT_RETURN dat12_psp_create_any(DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
				DAT_PSP_HANDLE *);
DAT_RETURN dat12_ep_reset(DAT_EP_HANDLE);
DAT_RETURN dat12_evd_set_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN dat12_evd_clear_unwaitable(DAT_EVD_HANDLE);
DAT_RETURN dat12_lmr_sync_rdma_read(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dat12_lmr_sync_rdma_write(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dat12_ep_create_with_srq(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
				    DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *,
				    DAT_EP_HANDLE *);
DAT_RETURN dat12_ep_recv_query(DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *);
DAT_RETURN dat12_ep_set_watermark(DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT);
DAT_RETURN dat12_srq_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *);
DAT_RETURN dat12_srq_free(DAT_SRQ_HANDLE);
DAT_RETURN dat12_srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE);
DAT_RETURN dat12_srq_query(DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM *);
DAT_RETURN dat12_srq_resize(DAT_SRQ_HANDLE, DAT_COUNT);
DAT_RETURN dat12_srq_set_lw(DAT_SRQ_HANDLE, DAT_COUNT);

#endif
