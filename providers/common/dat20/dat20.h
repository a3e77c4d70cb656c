/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 2.0 edge: the table of libdat2.so.2, on top of the edge of DAT 1.2. Each adapter of 2.0
 * has a table of 1.2 beneath its own, and each slot converts its arguments, calls the slot beneath,
 * and converts the results. Only events are written in the form of 2.0 directly, because an event
 * of 1.2 does not say which operation has completed.
 *
 * Types and values of 2.0 that differ from those of 1.2 are named DAT20_... here (dat20_types.h,
 * which is generated from the headers for programs).
 */
#ifndef DAT20_H
#define DAT20_H

#include "dat20_types.h"
#include "providers/common/core/core.h"

/* The first word of each object of such an adapter is the address of this struct. */
struct dat20_tables {
	struct dat20_provider shown;	/* first, because libdat2 knows only this table */
	DAT_PROVIDER beneath;
};

/*
 * Returns the table beneath that of an object. libdat2 has checked that the handle is an object of a live
 * provider.
 */
static inline const DAT_PROVIDER *dat20_beneath(DAT_HANDLE handle)
{
	return &(*(const struct dat20_tables *const *)handle)->beneath;
}

/* The most segments that one operation may have. The attributes of an IA show no higher number. */
enum { DAT20_IOV_MAX = 128 };

/* Converts a return value of 1.2 to that of 2.0, in which the subtypes have other numbers. */
DAT_RETURN dat20_ret(DAT_RETURN value);
/* Returns an error of this type, without a subtype. */
static inline DAT_RETURN dat20_error(DAT_RETURN type)
{
	return (DAT_RETURN)DAT_CLASS_ERROR | type;
}

/* Returns DAT_INVALID_PARAMETER for the argument at this position, which is counted from 1. */
static inline DAT_RETURN dat20_arg(unsigned int position)
{
	return dat20_error(DAT20_INVALID_PARAMETER) | ((DAT_RETURN)DAT20_INVALID_ARG1 + position - 1);
}

/*
 * Converts a length of 1.2 to one of 2.0, which has 32 bits. A length that does not fit becomes
 * UINT32_MAX.
 */
static inline DAT20_SEG_LENGTH dat20_length(uint64_t length)
{
	return length > UINT32_MAX ? UINT32_MAX : (DAT20_SEG_LENGTH)length;
}

/* Converts a segment of 2.0 to one of 1.2. */
static inline DAT_LMR_TRIPLET dat20_segment(const DAT20_LMR_TRIPLET *from)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = from->lmr_context,
				  .virtual_address = from->virtual_address,
				  .segment_length = from->segment_length };
}

/* dat20_table.c */
void dat20_table_fill(struct plugin *plugin);
/* Returns whether a table is the beginning of a struct dat20_tables of this library. */
bool dat20_made(const void *table);

/* dat20_ia.c */
DAT20_IA_OPEN_FUNC dat20_ia_opener(uint32_t nth);
DAT_RETURN dat20_ia_query(DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT20_IA_ATTR_MASK, DAT20_IA_ATTR *,
			  DAT20_PROVIDER_ATTR_MASK, DAT20_PROVIDER_ATTR *);

/* dat20_named.c: the list that an IA has from its opening to its end. dat20_named_make() returns false if there is no memory. */
bool dat20_named_make(struct datp_ia *ia);
void dat20_named_show(struct datp_ia *ia, DAT20_PROVIDER_ATTR *to);

/* dat20_extension.c: dat_extension_op() */
DAT20_HANDLE_EXTENDEDOP_FUNC dat20_extender(struct plugin *plugin);
/* dat_ib_open_query() of an adapter that `open` opens, with the arguments after the name, and dat_ib_close_query(). */
DAT_RETURN dat20_query_open(DAT20_IA_OPEN_FUNC open, const DAT_NAME_PTR name, va_list args);
DAT_RETURN dat20_query_close(DAT_HANDLE handle);

/* dat20_event.c: events and EVDs */
DAT_RETURN dat20_evd_dequeue(DAT_EVD_HANDLE, DAT20_EVENT *);
DAT_RETURN dat20_evd_wait(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT20_EVENT *, DAT_COUNT *);
DAT_RETURN dat20_evd_post_se(DAT_EVD_HANDLE, const DAT20_EVENT *);
DAT_RETURN dat20_evd_create(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT20_EVD_FLAGS, DAT_EVD_HANDLE *);
DAT_RETURN dat20_evd_query(DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT20_EVD_PARAM *);

/* dat20_cno.c */
DAT_RETURN dat20_cno_fd_create(DAT_IA_HANDLE, DAT20_FD *, DAT_CNO_HANDLE *);
DAT_RETURN dat20_cno_trigger(DAT_CNO_HANDLE, DAT_EVD_HANDLE *);
DAT_RETURN dat20_cno_modify_agent(DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT);
DAT_RETURN dat20_cno_query(DAT_CNO_HANDLE, DAT20_CNO_PARAM_MASK, DAT20_CNO_PARAM *);

/* dat20_ep.c */
DAT_RETURN dat20_ep_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
			   const DAT20_EP_ATTR *, DAT_EP_HANDLE *);
DAT_RETURN dat20_ep_create_with_srq(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
				    DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT20_EP_ATTR *,
				    DAT_EP_HANDLE *);
DAT_RETURN dat20_ep_query(DAT_EP_HANDLE, DAT20_EP_PARAM_MASK, DAT20_EP_PARAM *);
DAT_RETURN dat20_ep_modify(DAT_EP_HANDLE, DAT20_EP_PARAM_MASK, const DAT20_EP_PARAM *);
DAT_RETURN dat20_ep_get_status(DAT_EP_HANDLE, DAT20_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *);
DAT_RETURN dat20_ep_connect(DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT,
			    const DAT_PVOID, DAT_QOS, DAT20_CONNECT_FLAGS);
DAT_RETURN dat20_cr_reject(DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID);
DAT_RETURN dat20_srq_query(DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT20_SRQ_PARAM *);

/* dat20_post.c */
DAT_RETURN dat20_ep_post_send(DAT_EP_HANDLE, DAT_COUNT, DAT20_LMR_TRIPLET *, DAT_DTO_COOKIE,
			      DAT20_COMPLETION_FLAGS);
DAT_RETURN dat20_ep_post_recv(DAT_EP_HANDLE, DAT_COUNT, DAT20_LMR_TRIPLET *, DAT_DTO_COOKIE,
			      DAT20_COMPLETION_FLAGS);
DAT_RETURN dat20_ep_post_rdma_read(DAT_EP_HANDLE, DAT_COUNT, DAT20_LMR_TRIPLET *, DAT_DTO_COOKIE,
				   const DAT20_RMR_TRIPLET *, DAT20_COMPLETION_FLAGS);
DAT_RETURN dat20_ep_post_rdma_write(DAT_EP_HANDLE, DAT_COUNT, DAT20_LMR_TRIPLET *, DAT_DTO_COOKIE,
				    const DAT20_RMR_TRIPLET *, DAT20_COMPLETION_FLAGS);
DAT_RETURN dat20_srq_post_recv(DAT_SRQ_HANDLE, DAT_COUNT, DAT20_LMR_TRIPLET *, DAT_DTO_COOKIE);

/* dat20_rmr_post.c: posts that name an RMR, and what they share with those of the extensions. */
DAT_RETURN dat20_ep_post_send_with_invalidate(DAT_EP_HANDLE, DAT_COUNT, DAT20_LMR_TRIPLET *, DAT_DTO_COOKIE,
					      DAT20_COMPLETION_FLAGS, DAT_BOOLEAN, DAT_RMR_CONTEXT);
DAT_RETURN dat20_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE, const DAT20_RMR_TRIPLET *, DAT_DTO_COOKIE,
					  const DAT20_RMR_TRIPLET *, DAT20_COMPLETION_FLAGS);

/* The positions in a call of the arguments that an error of a post can be about. */
struct dat20_positions {
	unsigned char count, segments, target, flags;
};

DAT_RETURN dat20_post_ret(enum datp_err err, struct dat20_positions at);
/* Converts the remote segment. Returns NULL if the program has passed NULL. */
const struct datp_rge *dat20_remote(const DAT20_RMR_TRIPLET *from, struct datp_rge *to);

/* dat20_fast.c: takes a plugin's own functions for the data path. */
void dat20_fast_fill(const struct datp_plugin *desc, struct dat20_provider *table);

/*
 * dat20_counters.c: the counters of IAs, endpoints and EVDs. The first two serve the calls of the extension; the third replaces
 * the functions that move data by ones that count, for an adapter whose line says counters=on.
 */
DAT_RETURN dat20_counters_query(DAT_HANDLE handle, va_list args);
DAT_RETURN dat20_counters_print(DAT_HANDLE handle, va_list args);
void dat20_counters_fill(struct dat20_provider *table);
/* Counts a post of an extension that has succeeded, if the line says so. */
void dat20_counters_posted(struct datp_ep *ep, DAT20_IB_OP op, uint64_t bytes);

/* dat20_mem.c */
DAT_RETURN dat20_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN, DAT_PZ_HANDLE,
			    DAT20_MEM_PRIV_FLAGS, DAT20_VA_TYPE, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *,
			    DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN dat20_lmr_query(DAT_LMR_HANDLE, DAT20_LMR_PARAM_MASK, DAT20_LMR_PARAM *);
DAT_RETURN dat20_lmr_sync_rdma_read(DAT_IA_HANDLE, const DAT20_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dat20_lmr_sync_rdma_write(DAT_IA_HANDLE, const DAT20_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dat20_rmr_query(DAT_RMR_HANDLE, DAT20_RMR_PARAM_MASK, DAT20_RMR_PARAM *);
DAT_RETURN dat20_rmr_bind(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT20_LMR_TRIPLET *, DAT20_MEM_PRIV_FLAGS,
			  DAT20_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT20_COMPLETION_FLAGS,
			  DAT_RMR_CONTEXT *);

/*
 * dat20_plugin.c: registrations, whose table begins with a struct dat20_provider. dat20_registry_function() returns the function
 * of libdat2 with this name, or NULL.
 */
DAT_RETURN dat20_announce(struct plugin *plugin);
bool dat20_withdraw(struct plugin *plugin);
DAT_IA_HANDLE dat20_shown(struct datp_ia *ia);
void *dat20_registry_function(const char *name);
extern const struct edge *const dat20_edge;

#endif
