/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 2.0 edge of IAs: how one is opened, and its attributes.
 */
#include <string.h>

#include "dat20.h"
#include "providers/common/dat12/dat12.h"

/* ------------------------------------------------------------------ open */

static DAT_RETURN open_nth(uint32_t nth, const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = async ? *async : DAT_HANDLE_NULL;
	DAT_IA_HANDLE opened;
	DAT_RETURN ret;

	ret = dat12_ia_opener(nth)(name, qlen, async ? &evd : NULL, ia ? &opened : NULL);
	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	if (!dat20_named_make(opened)) {
		(void)dat12_ia_close(opened, DAT_CLOSE_ABRUPT_FLAG);
		return dat20_ret(datp_ret(DATP_ERR_MEMORY));
	}
	*async = evd;
	*ia = opened;
	return DAT_SUCCESS;
}

/* As in dat12_ia.c, each registration of a name has a function of its own. */
#define X(nth)									\
	static DAT_RETURN open_##nth(const DAT_NAME_PTR name, DAT_COUNT qlen,	\
				     DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)	\
	{									\
		return open_nth(nth, name, qlen, async, ia);			\
	}
DAT12_NTHS(X)
#undef X

DAT20_IA_OPEN_FUNC dat20_ia_opener(uint32_t nth)
{
#define X(nth) open_##nth,
	static const DAT20_IA_OPEN_FUNC openers[] = { DAT12_NTHS(X) };
#undef X
	_Static_assert(sizeof(openers) / sizeof(openers[0]) == PLUGIN_NTHS, "one for each");
	return openers[nth];
}

/* ------------------------------------------------------------------ attributes */

/* The attributes that have the same type in both APIs. */
#define IA_ATTRS(X)											\
	X(hardware_version_major) X(hardware_version_minor) X(firmware_version_major)			\
	X(firmware_version_minor) X(ia_address_ptr) X(max_eps) X(max_dto_per_ep)			\
	X(max_rdma_read_per_ep_in) X(max_rdma_read_per_ep_out) X(max_evds) X(max_evd_qlen) X(max_lmrs)	\
	X(max_lmr_virtual_address) X(max_pzs) X(max_rmrs) X(max_rmr_target_address) X(max_srqs)		\
	X(max_ep_per_srq) X(max_recv_per_srq) X(max_rdma_read_in) X(max_rdma_read_out)			\
	X(max_rdma_read_per_ep_in_guaranteed) X(max_rdma_read_per_ep_out_guaranteed)			\
	X(num_transport_attr) X(transport_attr) X(num_vendor_attr) X(vendor_attr)

static DAT_COUNT segments_shown(DAT_COUNT n)
{
	return n > DAT20_IOV_MAX ? DAT20_IOV_MAX : n;
}

static void ia_attr_out(DAT20_IA_ATTR *to, const DAT_IA_ATTR *from, const struct datp_ext_attr *ext)
{
	memcpy(to->adapter_name, from->adapter_name, sizeof(to->adapter_name));
	memcpy(to->vendor_name, from->vendor_name, sizeof(to->vendor_name));
#define X(name) to->name = from->name;
	IA_ATTRS(X)
#undef X
	to->max_iov_segments_per_dto = segments_shown(from->max_iov_segments_per_dto);
	to->max_iov_segments_per_rdma_read = segments_shown(from->max_iov_segments_per_rdma_read);
	to->max_iov_segments_per_rdma_write = segments_shown(from->max_iov_segments_per_rdma_write);
	to->max_lmr_block_size = dat20_length(from->max_lmr_block_size);
	to->max_message_size = dat20_length(from->max_message_size);
	to->max_rdma_size = dat20_length(from->max_rdma_size);
	to->zb_supported = DAT_FALSE;
	to->extension_supported = ext->write_imm || ext->atomics ? DAT20_EXTENSION_IB : DAT20_EXTENSION_NONE;
	/* existing programs find this version also where no extension is supported */
	to->extension_version = DAT20_IB_EXTENSION_VERSION;
}

/* The attributes that have the same type in both APIs. */
#define PROVIDER_ATTRS(X)										\
	X(provider_version_major) X(provider_version_minor) X(dapl_version_major) X(dapl_version_minor)	\
	X(lmr_mem_types_supported) X(iov_ownership_on_return) X(is_thread_safe) X(max_private_data_size)	\
	X(supports_multipath) X(ep_creator) X(pz_support) X(optimal_buffer_alignment) X(srq_supported)	\
	X(srq_watermarks_supported) X(srq_ep_pz_difference_supported) X(srq_info_supported)		\
	X(ep_recv_info_supported) X(lmr_sync_req) X(dto_async_return_guaranteed)			\
	X(rdma_write_for_rdma_read_req)

static void provider_attr_out(DAT20_PROVIDER_ATTR *to, const DAT_PROVIDER_ATTR *from, struct datp_ia *ia)
{
	memcpy(to->provider_name, from->provider_name, sizeof(to->provider_name));
#define X(name) to->name = from->name;
	PROVIDER_ATTRS(X)
#undef X
	to->dat20_qos_supported = from->dat_qos_supported;
	to->completion_flags_supported = (DAT20_COMPLETION_FLAGS)from->completion_flags_supported;
	/* the field is const for programs only */
	memcpy((char *)to + offsetof(DAT20_PROVIDER_ATTR, evd_stream_merging_supported),
	       from->evd_stream_merging_supported, sizeof(from->evd_stream_merging_supported));
	to->rdma_read_lmr_rmr_context_exposure = ia_priv(ia)->ext.read_exposes_sink ? DAT_TRUE : DAT_FALSE;
	to->rmr_scope_supported = DAT20_RMR_SCOPE_PZ;
	to->is_signal_safe = DAT_FALSE;
	to->ha_supported = DAT_FALSE;
	to->ha_loadbalancing = DAT20_HA_LB_NONE;
	dat20_named_show(ia, to);
}

DAT_RETURN dat20_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT20_IA_ATTR_MASK ia_mask,
			  DAT20_IA_ATTR *ia_out, DAT20_PROVIDER_ATTR_MASK provider_mask,
			  DAT20_PROVIDER_ATTR *provider_out)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR adapter;
	DAT_RETURN ret;

	if (ia_mask & ~DAT20_IA_FIELD_ALL)
		return dat20_arg(3);
	if (ia_mask && !ia_out)
		return dat20_arg(4);
	if (provider_mask & ~DAT20_PROVIDER_FIELD_ALL)
		return dat20_arg(5);
	if (provider_mask && !provider_out)
		return dat20_arg(6);
	ret = dat20_beneath(ia)->ia_query_func(ia, async, DAT_IA_FIELD_ALL, &adapter, DAT_PROVIDER_FIELD_ALL,
					       &provider);
	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	if (ia_mask)
		ia_attr_out(ia_out, &adapter, &ia_priv(ia)->ext);
	if (provider_mask)
		provider_attr_out(provider_out, &provider, ia);
	return DAT_SUCCESS;
}
