/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attributes of an adapter and of its provider, for `datctl show`.
 *
 * Compiled twice: here for uDAPL 1.2, whose library this program is linked with, and by show_attr20.c
 * for 2.0, whose calls have the same names and are looked up in libdat2.so.2.
 *
 * Invariant: every field of DAT_IA_ATTR and DAT_PROVIDER_ATTR is printed, in the order of the
 * structure. The values that both APIs know have the same names in names.c; the others are here.
 */
#include "config.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#ifdef SHOW_API_20
#include <dat2/udat.h>

#include "dat20.h"
#define API(call) ((__typeof__(&(call)))(uintptr_t)dat20_symbol(#call))
#define show_attributes show_attributes20
#else
#include <dat/udat.h>

#define API(call) call
#endif

#include "names.h"
#include "show.h"

#ifdef SHOW_API_20
#define NAME(id) { (uint64_t)(id), #id }

static const struct name extensions[] = { NAME(DAT_EXTENSION_NONE), NAME(DAT_EXTENSION_IB),
					  NAME(DAT_EXTENSION_IW), { 0, NULL } };

static const struct name rmr_scopes[] = { NAME(DAT_RMR_SCOPE_EP), NAME(DAT_RMR_SCOPE_PZ),
					  NAME(DAT_RMR_SCOPE_ANY), { 0, NULL } };

static const struct name load_balancings[] = { NAME(DAT_HA_LB_NONE), NAME(DAT_HA_LB_INTERCOMM),
					       NAME(DAT_HA_LB_INTRACOMM), { 0, NULL } };

static const struct name names_of_completion[] = {
	NAME(DAT_COMPLETION_DEFAULT_FLAG), NAME(DAT_COMPLETION_SUPPRESS_FLAG),
	NAME(DAT_COMPLETION_SOLICITED_WAIT_FLAG), NAME(DAT_COMPLETION_UNSIGNALLED_FLAG),
	NAME(DAT_COMPLETION_BARRIER_FENCE_FLAG), NAME(DAT_COMPLETION_EVD_THRESHOLD_FLAG),
	NAME(DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG), { 0, NULL }
};
#else
#define names_of_completion names_completion_flags
#endif

/*
 * The set of memory types is a union of 0, 1 and 2, so VIRTUAL has no bit: it is always supported.
 */
static void show_mem_types(const char *name, uint64_t types)
{
	char text[256];

	if (types == DAT_MEM_TYPE_VIRTUAL) {
		show_flags(name, names_mem_types, types);
		return;
	}
	names_of_flags(names_mem_types, types, text, sizeof(text));
	show(name, "DAT_MEM_TYPE_VIRTUAL | %s", text);
}

static void show_address(const char *name, DAT_IA_ADDRESS_PTR address)
{
	const struct sockaddr *sa = (const struct sockaddr *)address;
	char host[NI_MAXHOST];
	socklen_t size;

	if (sa == NULL) {
		show(name, "none");
		return;
	}
	size = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (getnameinfo(sa, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST) == 0)
		show(name, "%s", host);
	else
		show(name, "of the address family %d", sa->sa_family);
}

static void show_named(const char *prefix, const DAT_NAMED_ATTR *list, DAT_COUNT count)
{
	char name[256];

	for (DAT_COUNT i = 0; list != NULL && i < count; i++) {
		snprintf(name, sizeof(name), "%s.%s", prefix,
			 list[i].name != NULL ? list[i].name : "?");
		show(name, "%s", list[i].value != NULL ? list[i].value : "");
	}
}

/* Row R lists the event streams that may share an EVD with stream R. */
static void show_merging(const DAT_BOOLEAN table[6][6])
{
	static const char *const streams[6] = {
		"SOFTWARE", "CR", "DTO", "CONNECTION", "RMR_BIND", "ASYNC"
	};
	char name[64], text[96];

	for (int row = 0; row < 6; row++) {
		size_t used = 0;

		snprintf(text, sizeof(text), "none");
		for (int col = 0; col < 6; col++)
			if (table[row][col])
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
							 used ? " " : "", streams[col]);
		snprintf(name, sizeof(name), "evd_stream_merging_supported[%s]", streams[row]);
		show(name, "%s", text);
	}
}

#define TEXT(attr, field) show_text(#field, (attr)->field, sizeof((attr)->field))
#define U32(attr, field) show_u32(#field, (attr)->field)
#define U64(attr, field) show_u64(#field, (attr)->field)
#define COUNT(attr, field) show_count(#field, (attr)->field)
#define BOOLEAN(attr, field) show_enum(#field, names_boolean, (attr)->field)

static void show_ia(const DAT_IA_ATTR *ia)
{
	show_heading("DAT_IA_ATTR");
	TEXT(ia, adapter_name);
	TEXT(ia, vendor_name);
	U32(ia, hardware_version_major);
	U32(ia, hardware_version_minor);
	U32(ia, firmware_version_major);
	U32(ia, firmware_version_minor);
	show_address("ia_address_ptr", ia->ia_address_ptr);
	COUNT(ia, max_eps);
	COUNT(ia, max_dto_per_ep);
	COUNT(ia, max_rdma_read_per_ep_in);
	COUNT(ia, max_rdma_read_per_ep_out);
	COUNT(ia, max_evds);
	COUNT(ia, max_evd_qlen);
	COUNT(ia, max_iov_segments_per_dto);
	COUNT(ia, max_lmrs);
	U64(ia, max_lmr_block_size);
	U64(ia, max_lmr_virtual_address);
	COUNT(ia, max_pzs);
	U64(ia, max_message_size);
	U64(ia, max_rdma_size);
	COUNT(ia, max_rmrs);
	U64(ia, max_rmr_target_address);
	COUNT(ia, max_srqs);
	COUNT(ia, max_ep_per_srq);
	COUNT(ia, max_recv_per_srq);
	COUNT(ia, max_iov_segments_per_rdma_read);
	COUNT(ia, max_iov_segments_per_rdma_write);
	COUNT(ia, max_rdma_read_in);
	COUNT(ia, max_rdma_read_out);
	BOOLEAN(ia, max_rdma_read_per_ep_in_guaranteed);
	BOOLEAN(ia, max_rdma_read_per_ep_out_guaranteed);
#ifdef SHOW_API_20
	BOOLEAN(ia, zb_supported);
	show_enum("extension_supported", extensions, (uint64_t)ia->extension_supported);
	COUNT(ia, extension_version);
#endif
	COUNT(ia, num_transport_attr);
	show_named("transport_attr", ia->transport_attr, ia->num_transport_attr);
	COUNT(ia, num_vendor_attr);
	show_named("vendor_attr", ia->vendor_attr, ia->num_vendor_attr);
}

static void show_provider(const DAT_PROVIDER_ATTR *pr)
{
	show_heading("DAT_PROVIDER_ATTR");
	TEXT(pr, provider_name);
	U32(pr, provider_version_major);
	U32(pr, provider_version_minor);
	U32(pr, dapl_version_major);
	U32(pr, dapl_version_minor);
	show_mem_types("lmr_mem_types_supported", pr->lmr_mem_types_supported);
	show_enum("iov_ownership_on_return", names_iov_ownership, pr->iov_ownership_on_return);
	show_flags("dat_qos_supported", names_qos, pr->dat_qos_supported);
	show_flags("completion_flags_supported", names_of_completion,
		   pr->completion_flags_supported);
	BOOLEAN(pr, is_thread_safe);
	COUNT(pr, max_private_data_size);
	BOOLEAN(pr, supports_multipath);
	show_enum("ep_creator", names_ep_creator, pr->ep_creator);
	show_enum("pz_support", names_pz_support, pr->pz_support);
	U32(pr, optimal_buffer_alignment);
	show_merging(pr->evd_stream_merging_supported);
	BOOLEAN(pr, srq_supported);
	COUNT(pr, srq_watermarks_supported);
	BOOLEAN(pr, srq_ep_pz_difference_supported);
	COUNT(pr, srq_info_supported);
	COUNT(pr, ep_recv_info_supported);
	BOOLEAN(pr, lmr_sync_req);
	BOOLEAN(pr, dto_async_return_guaranteed);
	BOOLEAN(pr, rdma_write_for_rdma_read_req);
#ifdef SHOW_API_20
	BOOLEAN(pr, rdma_read_lmr_rmr_context_exposure);
	show_enum("rmr_scope_supported", rmr_scopes, pr->rmr_scope_supported);
	BOOLEAN(pr, is_signal_safe);
	BOOLEAN(pr, ha_supported);
	show_enum("ha_loadbalancing", load_balancings, pr->ha_loadbalancing);
#endif
	COUNT(pr, num_provider_specific_attr);
	show_named("provider_specific_attr", pr->provider_specific_attr,
		   pr->num_provider_specific_attr);
}

#ifdef SHOW_API_20
static void failed(const char *call, const char *adapter, DAT_RETURN ret)
{
	const char *type, *subtype;

	if (API(dat_strerror)(ret, &type, &subtype) != DAT_SUCCESS)
		type = subtype = "";
	show_failed20(call, adapter, ret, type, subtype);
}
#else
#define failed show_failed
#endif

static bool show_opened(DAT_IA_HANDLE ia, const char *adapter)
{
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	DAT_EVD_HANDLE async_evd;
	DAT_RETURN ret;

	memset(&ia_attr, 0, sizeof(ia_attr));
	memset(&provider_attr, 0, sizeof(provider_attr));
	ret = API(dat_ia_query)(ia, &async_evd, DAT_IA_FIELD_ALL, &ia_attr, DAT_PROVIDER_FIELD_ALL,
				 &provider_attr);
	if (ret != DAT_SUCCESS) {
		failed("dat_ia_query", adapter, ret);
		return false;
	}
	show_begin();
	show_ia(&ia_attr);
	show_structure_end("\n");
	show_provider(&provider_attr);
	show_structure_end("");
	show_end();
	return true;
}

bool show_attributes(const char *adapter)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	bool shown;

	ret = API(dat_ia_openv)((const DAT_NAME_PTR)adapter, 8, &async_evd, &ia, DAT_VERSION_MAJOR,
				DAT_VERSION_MINOR, DAT_FALSE);
	if (ret != DAT_SUCCESS) {
		failed("dat_ia_open", adapter, ret);
		return false;
	}
	shown = show_opened(ia, adapter);
	ret = API(dat_ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret != DAT_SUCCESS)
		failed("dat_ia_close", adapter, ret);
	return shown && ret == DAT_SUCCESS;
}
