/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge of IAs, and the calls that take any handle: contexts and types.
 */
#include <stdio.h>
#include <string.h>

#include "dat12.h"
#include "dat12_refused.h"
#include "providers/common/base/refuse.h"

enum { PROVIDER_MAJOR = 1, PROVIDER_MINOR = 0, MERGE_KINDS = 6 };

DAT_RETURN dat12_open(struct plugin *plugin, const char *name, DAT_COUNT qlen,
		      DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle)
{
	struct datp_ia *ia;
	enum datp_err err = ia_open(plugin, qlen, async, &ia);

	(void)name;
	if (err)
		return DAT12_RET(err, { DATP_ERR_BAD_QLEN, 2 });
	*handle = ia;
	return DAT_SUCCESS;
}

static DAT_RETURN ia_open_nth(uint32_t nth, const DAT_NAME_PTR name, DAT_COUNT qlen,
			      DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle)
{
	struct plugin *plugin;
	DAT_RETURN ret;

	plugin_refuse_begin();
	if (!name)
		return dat12_arg(1);
	if (!async)
		return dat12_arg(3);
	/* the length is not used if the EVD exists already */
	if (qlen < 0 || (!qlen && *async == DAT_HANDLE_NULL))
		return dat12_arg(2);
	if (!handle)
		return dat12_arg(4);
	plugin = plugin_get(name, nth);
	if (!plugin)
		return datp_ret(DATP_ERR_NOT_FOUND);
	/* the edge is the first member of the registered structure */
	ret = ((const struct dat12_edge *)plugin->edge)->open(plugin, name, qlen, async, handle);
	if (ret != DAT_SUCCESS)
		plugin_put(plugin);
	return ret;
}

/*
 * libdat passes only the name to an open function, and a name may have several registrations. So
 * each registration has a function of its own, which knows its number.
 */
#define X(nth)									\
	static DAT_RETURN open_##nth(const DAT_NAME_PTR name, DAT_COUNT qlen,	\
				     DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)	\
	{									\
		return ia_open_nth(nth, name, qlen, async, ia);			\
	}
DAT12_NTHS(X)
#undef X

DAT_IA_OPEN_FUNC dat12_ia_opener(uint32_t nth)
{
#define X(nth) open_##nth,
	static const DAT_IA_OPEN_FUNC openers[] = { DAT12_NTHS(X) };
#undef X
	_Static_assert(sizeof(openers) / sizeof(openers[0]) == PLUGIN_NTHS, "one for each");
	return openers[nth];
}

DAT_RETURN dat12_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	DAT_RETURN ret;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		ret = dat12_arg(2);
	else
		ret = datp_ret(ia_close(ia, flags == DAT_CLOSE_GRACEFUL_FLAG));
	if (ret != DAT_SUCCESS)
		dat12_close_refused(ia, flags, ret);
	return ret;
}

/* ------------------------------------------------------------------ query */

static void copy_name(char to[DAT_NAME_MAX_LENGTH], const char *from)
{
	snprintf(to, DAT_NAME_MAX_LENGTH, "%s", from);
}

static void ia_attr_fill(struct datp_ia *ia, DAT_IA_ATTR *out)
{
	const struct datp_ia_attr *attr = ia_attr(ia);

	copy_name(out->adapter_name, ia->name);
	copy_name(out->vendor_name, attr->vendor_name);
	out->hardware_version_major = attr->hw_major;
	out->hardware_version_minor = attr->hw_minor;
	out->firmware_version_major = attr->fw_major;
	out->firmware_version_minor = attr->fw_minor;
	out->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address;
	out->max_eps = attr->max_eps;
	out->max_dto_per_ep = attr->max_dto_per_ep;
	out->max_rdma_read_per_ep_in = attr->max_rdma_read_per_ep_in;
	out->max_rdma_read_per_ep_out = attr->max_rdma_read_per_ep_out;
	out->max_evds = attr->max_evds;
	out->max_evd_qlen = attr->max_evd_qlen;
	out->max_iov_segments_per_dto = attr->max_iov_per_dto;
	out->max_lmrs = attr->max_lmrs;
	out->max_lmr_block_size = attr->max_lmr_block;
	out->max_lmr_virtual_address = attr->max_lmr_address;
	out->max_pzs = attr->max_pzs;
	out->max_message_size = attr->max_message_size;
	out->max_rdma_size = attr->max_rdma_size;
	out->max_rmrs = attr->max_rmrs;
	out->max_rmr_target_address = attr->max_rmr_address;
	out->max_srqs = attr->max_srqs;
	out->max_ep_per_srq = attr->max_ep_per_srq;
	out->max_recv_per_srq = attr->max_recv_per_srq;
	out->max_iov_segments_per_rdma_read = attr->max_iov_per_rdma_read;
	out->max_iov_segments_per_rdma_write = attr->max_iov_per_rdma_write;
	out->max_rdma_read_in = attr->max_rdma_read_in;
	out->max_rdma_read_out = attr->max_rdma_read_out;
	out->max_rdma_read_per_ep_in_guaranteed = attr->read_in_guaranteed ? DAT_TRUE : DAT_FALSE;
	out->max_rdma_read_per_ep_out_guaranteed = attr->read_out_guaranteed ? DAT_TRUE : DAT_FALSE;
	out->num_transport_attr = attr->transport_attr_count;
	out->transport_attr = (DAT_NAMED_ATTR *)(uintptr_t)attr->transport_attr;
	out->num_vendor_attr = 0;
	out->vendor_attr = NULL;
}

/* Every pair of streams may share an EVD. The field is const for the consumer only. */
static void merging_fill(DAT_PROVIDER_ATTR *out)
{
	DAT_BOOLEAN all[MERGE_KINDS][MERGE_KINDS];

	for (int i = 0; i < MERGE_KINDS; i++)
		for (int j = 0; j < MERGE_KINDS; j++)
			all[i][j] = DAT_TRUE;
	memcpy((char *)out + offsetof(DAT_PROVIDER_ATTR, evd_stream_merging_supported), all,
	       sizeof(all));
}

static void provider_attr_fill(struct datp_ia *ia, DAT_PROVIDER_ATTR *out)
{
	const struct datp_ia_attr *attr = ia_attr(ia);
	const struct plugin *plugin = ia_priv(ia)->plugin;

	copy_name(out->provider_name, plugin->desc->name);
	out->provider_version_major = PROVIDER_MAJOR;
	out->provider_version_minor = PROVIDER_MINOR;
	out->dapl_version_major = plugin->info.dapl_version_major;
	out->dapl_version_minor = plugin->info.dapl_version_minor;
	/* a mask of values that start at 0: VIRTUAL, which is always supported, has no bit */
	out->lmr_mem_types_supported =
		(DAT_MEM_TYPE)(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
	out->iov_ownership_on_return = DAT_IOV_CONSUMER;
	out->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	out->completion_flags_supported =
		(DAT_COMPLETION_FLAGS)(DAT_COMPLETION_SUPPRESS_FLAG |
				       DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				       DAT_COMPLETION_UNSIGNALLED_FLAG |
				       DAT_COMPLETION_BARRIER_FENCE_FLAG |
				       DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	out->is_thread_safe = plugin->info.is_thread_safe;
	out->max_private_data_size = (DAT_COUNT)attr->max_private_data;
	out->supports_multipath = DAT_FALSE;
	out->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	out->pz_support = DAT_PZ_UNIQUE;
	out->optimal_buffer_alignment = attr->optimal_alignment ? attr->optimal_alignment : 1;
	merging_fill(out);
	out->srq_supported = attr->srq_supported ? DAT_TRUE : DAT_FALSE;
	out->srq_watermarks_supported = attr->srq_watermarks;
	out->srq_ep_pz_difference_supported = attr->srq_pz_difference ? DAT_TRUE : DAT_FALSE;
	out->srq_info_supported = attr->srq_info;
	out->ep_recv_info_supported = attr->ep_recv_info;
	out->lmr_sync_req = attr->lmr_sync_required ? DAT_TRUE : DAT_FALSE;
	out->dto_async_return_guaranteed = attr->async_return_guaranteed ? DAT_TRUE : DAT_FALSE;
	out->rdma_write_for_rdma_read_req = attr->write_for_read_required ? DAT_TRUE : DAT_FALSE;
	out->num_provider_specific_attr = attr->provider_attr_count;
	out->provider_specific_attr = (DAT_NAMED_ATTR *)(uintptr_t)attr->provider_attr;
}

DAT_RETURN dat12_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
			  DAT_IA_ATTR *ia_out, DAT_PROVIDER_ATTR_MASK provider_mask,
			  DAT_PROVIDER_ATTR *provider_out)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct ia_priv *priv;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (ia_mask & ~DAT_IA_FIELD_ALL)
		return dat12_arg(3);
	if (ia_mask && !ia_out)
		return dat12_arg(4);
	if (provider_mask & ~DAT_PROVIDER_FIELD_ALL)
		return dat12_arg(5);
	if (provider_mask && !provider_out)
		return dat12_arg(6);
	if (async) {
		priv = ia_priv(ia);
		datp_lock(&priv->async_lock);
		*async = priv->async_evd ? (DAT_EVD_HANDLE)priv->async_evd : DAT_EVD_OUT_OF_SCOPE;
		datp_unlock(&priv->async_lock);
	}
	if (ia_mask)
		ia_attr_fill(ia, ia_out);
	if (provider_mask)
		provider_attr_fill(ia, provider_out);
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------------ any handle */

DAT_RETURN dat12_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	if (obj_type(handle) < 0)
		return datp_ret(DATP_ERR_HANDLE);
	((struct datp_obj *)handle)->context = context;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	if (obj_type(handle) < 0)
		return datp_ret(DATP_ERR_HANDLE);
	if (!context)
		return dat12_arg(2);
	*context = ((struct datp_obj *)handle)->context;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	int found = obj_type(handle);

	if (found < 0)
		return datp_ret(DATP_ERR_HANDLE);
	if (!type)
		return dat12_arg(2);
	*type = (DAT_HANDLE_TYPE)found;
	return DAT_SUCCESS;
}
