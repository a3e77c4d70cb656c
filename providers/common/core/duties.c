/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of those duties of datp(7) that can only be checked after the plugin has run. Without
 * these checks the adapter would open, and hundreds of calls would then fail without naming the
 * reason. Invariant: an IA that is open has kept DUTY-15, DUTY-21 and DUTY-23, as far as they are
 * checked here.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "duties.h"
#include "providers/common/base/log.h"

/* Does the plugin itself have an op? In plugin->ops a default replaces a missing one. */
#define BRINGS(desc, op)                                                                           \
	((desc)->ops_size >= offsetof(struct datp_ops, op) + sizeof((desc)->ops->op) &&            \
	 (desc)->ops->op)

static void list_add(char *list, size_t size, const char *word)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? ", " : "", word);
}

/* ------------------------------------------------------------------ DUTY-15: attributes */

/*
 * The attributes that every transport needs. The limits on reads of a whole IA are not among them,
 * because some devices leave them at 0 and support reads nevertheless.
 */
#define MUST_BE_POSITIVE(X)                                                                        \
	X(max_eps) X(max_dto_per_ep) X(max_rdma_read_per_ep_in) X(max_rdma_read_per_ep_out)        \
	X(max_evds) X(max_evd_qlen) X(max_iov_per_dto) X(max_lmrs) X(max_pzs)                      \
	X(max_iov_per_rdma_read) X(max_iov_per_rdma_write) X(max_lmr_block) X(max_lmr_address)     \
	X(max_message_size) X(max_rdma_size) X(max_private_data) X(optimal_alignment)

static bool attr_given(const struct datp_ia *ia, const struct datp_plugin *desc,
		       const struct datp_ia_attr *attr)
{
	char list[512] = "";

#define X(field)                                                                                   \
	if (!(attr->field > 0))                                                                    \
		list_add(list, sizeof(list), #field);
	MUST_BE_POSITIVE(X)
#undef X
	if (!list[0])
		return true;
	datp_log(1, "%s: DUTY-15: plugin \"%s\" leaves attributes at 0 that have to be above 0: %s; set "
		 "them in its ia_query", ia->name, desc->name, list);
	return false;
}

/* Returns how the attributes of shared receive queues contradict each other, or NULL if they do not. */
static const char *srq_contradiction(const struct datp_ia_attr *attr)
{
	if (!attr->srq_supported)
		return attr->max_srqs > 0 ? "max_srqs is above 0 and srq_supported is false" : NULL;
	if (attr->max_srqs <= 0)
		return "srq_supported is true and max_srqs is 0";
	if (attr->max_ep_per_srq <= 0)
		return "srq_supported is true and max_ep_per_srq is 0";
	return attr->max_recv_per_srq <= 0 ? "srq_supported is true and max_recv_per_srq is 0" : NULL;
}

static const char *contradiction(const struct datp_ia_attr *attr)
{
	/* programs that do not query it align to DAT_OPTIMAL_ALIGNMENT */
	if (DAT_OPTIMAL_ALIGNMENT % attr->optimal_alignment)
		return "optimal_alignment does not divide DAT_OPTIMAL_ALIGNMENT";
	if (attr->max_lmr_block > attr->max_lmr_address)
		return "max_lmr_block is above max_lmr_address";
	if (attr->max_rmrs > 0 && !attr->max_rmr_address)
		return "max_rmrs is above 0 and max_rmr_address is 0";
	if (attr->transport_attr_count < 0 || (attr->transport_attr_count && !attr->transport_attr))
		return "transport_attr_count is not the length of transport_attr";
	if (attr->provider_attr_count < 0 || (attr->provider_attr_count && !attr->provider_attr))
		return "provider_attr_count is not the length of provider_attr";
	return srq_contradiction(attr);
}

static bool attr_consistent(const struct datp_ia *ia, const struct datp_plugin *desc,
			    const struct datp_ia_attr *attr)
{
	const char *what = contradiction(attr);

	if (what)
		datp_log(1, "%s: DUTY-15: the attributes of plugin \"%s\" contradict each other: %s; "
			 "correct its ia_query", ia->name, desc->name, what);
	return !what;
}

/* ------------------------------------------------------------------ DUTY-21: the address */

static bool address_set(const struct datp_ia *ia, const struct datp_plugin *desc)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&ia->address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ia->address;
	bool nowhere = ia->address.ss_family == AF_UNSPEC;

	if (ia->address.ss_family == AF_INET)
		nowhere = in->sin_addr.s_addr == htonl(INADDR_ANY);
	else if (ia->address.ss_family == AF_INET6)
		nowhere = IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
	if (nowhere)
		datp_log(1, "%s: DUTY-21: plugin \"%s\" has set no address that a peer can connect to; "
			 "set ia->address in its ia_open", ia->name, desc->name);
	return !nowhere;
}

/* ------------------------------------------------------------------ DUTY-23: ops for what is declared */

static bool ops_there(const struct datp_ia *ia, const struct datp_plugin *desc,
		      const struct datp_ia_attr *attr)
{
	char list[256] = "";

#define NEEDS(declared, op)                                                                        \
	if ((declared) && !BRINGS(desc, op))                                                       \
		list_add(list, sizeof(list), #op);
	NEEDS(attr->max_rmrs > 0, rmr_create)
	NEEDS(attr->max_rmrs > 0, rmr_bind)
	NEEDS(attr->srq_supported, srq_create)
	NEEDS(attr->srq_supported, srq_post_recv)
	NEEDS(attr->srq_watermarks, srq_set_lw)
	NEEDS(attr->srq_watermarks, ep_set_watermark)
	NEEDS(attr->srq_info, srq_query)
	NEEDS(attr->ep_recv_info, ep_recv_query)
#undef NEEDS
	if (!list[0])
		return true;
	datp_log(1, "%s: DUTY-23: plugin \"%s\" declares in its attributes what it has no ops for: %s; "
		 "set them in its struct datp_ops, or leave max_rmrs, srq_supported, srq_watermarks, "
		 "srq_info or ep_recv_info at 0", ia->name, desc->name, list);
	return false;
}

/* ------------------------------------------------------------------ */

enum datp_err duties_at_open(struct datp_ia *ia, const struct plugin *plugin)
{
	const struct datp_ia_attr *attr = ia_attr(ia);
	const struct datp_plugin *desc = plugin->desc;

	if (address_set(ia, desc) && attr_given(ia, desc, attr) && attr_consistent(ia, desc, attr) &&
	    ops_there(ia, desc, attr))
		return DATP_OK;
	return DATP_ERR_INTERNAL;
}

enum datp_err duties_of_lmr(const struct datp_lmr *lmr)
{
	const unsigned int remote = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	struct datp_ia *ia = lmr->obj.ia;
	const struct datp_plugin *desc = ia_priv(ia)->plugin->desc;
	const char *what = NULL;

	if (!lmr->lmr_context)
		what = "lmr_context";
	else if (!lmr->rmr_context && ((unsigned int)lmr->priv & remote))
		what = "rmr_context";
	if (!what)
		return DATP_OK;
	if (log_once(1, "DUTY-22", desc->name, strlen(desc->name)))
		datp_log(1, "%s: DUTY-22: plugin \"%s\" has registered memory and left its %s at 0; set "
			 "both contexts in its lmr_create", ia->name, desc->name, what);
	return DATP_ERR_INTERNAL;
}
