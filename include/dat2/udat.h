/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DAT 2.0: the header a consumer includes. It holds what the standard gives to user space; dat.h,
 * which it includes, holds what user space and kernel have in common.
 */
#ifdef OPENDAT_UDAT_H
#error "<dat/udat.h> and <dat2/udat.h> declare the same names: a file is for DAT 1.2 or for DAT 2.0"
#endif
#ifndef OPENDAT_DAT2_UDAT_H
#define OPENDAT_DAT2_UDAT_H

/* Programs test this: events and attributes have the members for extensions. */
#define DAT_EXTENSIONS					1

#include "udat_config.h"
#include "dat_platform_specific.h"
#include "../dat/dat_common.h"
#include "udat_vendor_specific.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dat_handle_type - kinds of object, as dat_get_handle_type() returns them
 * @DAT_HANDLE_TYPE_EXTENSION_BASE: the first of the kinds that an extension defines
 */
typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR		= 0,
	DAT_HANDLE_TYPE_EP		= 1,
	DAT_HANDLE_TYPE_EVD		= 2,
	DAT_HANDLE_TYPE_IA		= 3,
	DAT_HANDLE_TYPE_LMR		= 4,
	DAT_HANDLE_TYPE_PSP		= 5,
	DAT_HANDLE_TYPE_PZ		= 6,
	DAT_HANDLE_TYPE_RMR		= 7,
	DAT_HANDLE_TYPE_RSP		= 8,
	DAT_HANDLE_TYPE_CNO		= 9,
	DAT_HANDLE_TYPE_SRQ		= 10,
	DAT_HANDLE_TYPE_CSP		= 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE	= 12
} DAT_HANDLE_TYPE;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

#ifdef __cplusplus
}
#endif

#include "dat.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dat_evd_param - what dat_evd_query() returns
 * @evd_qlen: events it holds, as many as were asked for or more
 * @cno_handle: DAT_HANDLE_NULL if it has none
 */
struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
};

/**
 * struct dat_lmr_param - what dat_lmr_query() returns: arguments and results of dat_lmr_create()
 * @length: bytes that were asked for
 * @va_type: what its addresses count from
 * @registered_size: bytes that were registered: as many as were asked for, or more
 * @registered_address: where they start
 */
struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

/**
 * enum dat_proxy_type - how a CNO reports an event
 * @DAT_PROXY_TYPE_AGENT: it calls a function; if there is none, it only wakes dat_cno_wait()
 * @DAT_PROXY_TYPE_FD: its file descriptor becomes readable
 */
typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE	= 0x0,
	DAT_PROXY_TYPE_AGENT	= 0x1,
	DAT_PROXY_TYPE_FD	= 0x2
} DAT_PROXY_TYPE;

/**
 * enum dat_cno_param_mask - which fields of DAT_CNO_PARAM dat_cno_query() is to fill; the values
 *   are not single bits, and it fills all fields
 */
typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE		= 0x1,
	DAT_CNO_FIELD_PROXY_TYPE	= 0x2,
	DAT_CNO_FIELD_PROXY		= 0x3,
	DAT_CNO_FIELD_ALL		= 0x4
} DAT_CNO_PARAM_MASK;

/**
 * struct dat_cno_param - what dat_cno_query() returns
 * @proxy_type: which member of proxy counts
 */
typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PROXY_TYPE proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;
		DAT_FD fd;
		DAT_PVOID none;
	} proxy;
} DAT_CNO_PARAM;

/* Fields of DAT_PROVIDER_ATTR for dat_ia_query(). */
#define DAT_PROVIDER_FIELD_NONE				UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		UINT64_C(0x00000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	UINT64_C(0x00000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	UINT64_C(0x00000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		UINT64_C(0x00000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		UINT64_C(0x00000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	UINT64_C(0x00000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		UINT64_C(0x00000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		UINT64_C(0x00000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	UINT64_C(0x00000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		UINT64_C(0x00000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	UINT64_C(0x00000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		UINT64_C(0x00000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR			UINT64_C(0x00001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT			UINT64_C(0x00002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	UINT64_C(0x00004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	UINT64_C(0x00008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		UINT64_C(0x00010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	UINT64_C(0x00020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	UINT64_C(0x00040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		UINT64_C(0x00080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	UINT64_C(0x00100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			UINT64_C(0x00200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	UINT64_C(0x00400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	UINT64_C(0x00800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	UINT64_C(0x01000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED		UINT64_C(0x02000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE		UINT64_C(0x04000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED			UINT64_C(0x08000000)
#define DAT_PROVIDER_FIELD_HA_LB			UINT64_C(0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x40000000)
#define DAT_PROVIDER_FIELD_ALL				UINT64_C(0x7fffffff)

/**
 * struct dat_provider_attr - what dat_ia_query() returns about the provider
 * @provider_name: its name
 * @provider_version_major: its own version
 * @dapl_version_major: version of the API it serves
 * @lmr_mem_types_supported: DAT_MEM_TYPE values that it supports, combined
 * @iov_ownership_on_return: to whom a segment list belongs when the post has returned
 * @dat_qos_supported: DAT_QOS values, combined
 * @completion_flags_supported: DAT_COMPLETION_FLAGS, combined
 * @is_thread_safe: whether the calls marked safe are thread-safe
 * @max_private_data_size: bytes of private data with a connection, at most
 * @supports_multipath: whether DAT_CONNECT_MULTIPATH_FLAG works
 * @pz_support: what protection its PZs give
 * @srq_supported: whether there are SRQs
 * @srq_ep_pz_difference_supported: whether an endpoint and its SRQ may be in different PZs
 * @num_provider_specific_attr: length of provider_specific_attr
 * @ep_creator: whether a PSP can make endpoints
 * @optimal_buffer_alignment: bytes; divides DAT_OPTIMAL_ALIGNMENT
 * @evd_stream_merging_supported: whether streams i and j may feed one EVD, in the order software,
 *   CR, DTO, connection, RMR bind, asynchronous
 * @srq_watermarks_supported: whether dat_srq_set_lw() and dat_ep_set_watermark() work; 0 for no
 * @srq_info_supported: which counts dat_srq_query() knows
 * @ep_recv_info_supported: which counts dat_ep_recv_query() knows
 * @lmr_sync_req: whether dat_lmr_sync_rdma_read() and dat_lmr_sync_rdma_write() are needed
 * @dto_async_return_guaranteed: whether a post never waits for the transfer
 * @rdma_write_for_rdma_read_req: whether the sink of an RDMA Read needs REMOTE_WRITE
 * @rdma_read_lmr_rmr_context_exposure: whether an RDMA Read makes the key of its sink known
 * @rmr_scope_supported: what RMRs can be tied to
 * @is_signal_safe: whether calls may be made in a signal handler
 * @ha_supported: whether connections have several paths
 * @ha_loadbalancing: how it spreads the load over them, DAT_HA_LB_ values combined
 */
struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment;
#ifdef __cplusplus
	/* A const member would keep C++ programs from declaring the struct at all. */
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
#else
	const DAT_BOOLEAN evd_stream_merging_supported[6][6];
#endif
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_signal_safe;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

/**
 * dat_lmr_create() - register memory for transfers
 * @ia_handle: IA
 * @mem_type: kind of memory
 * @region_description: the memory
 * @length: bytes, more than 0; ignored for DAT_MEM_TYPE_LMR
 * @pz_handle: protection zone
 * @privileges: rights to the memory, local and of peers
 * @va_type: what its addresses count from
 * @lmr_handle: the LMR
 * @lmr_context: key for local use, in segment lists; may be NULL
 * @rmr_context: key for the peer; 0 if no remote right was given; may be NULL
 * @registered_length: bytes registered, length or more; may be NULL
 * @registered_address: where they start; may be NULL
 * Any alignment is allowed, and registrations may overlap.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_LENGTH_ERROR for a length of 0; DAT_INVALID_STATE for memory that is not shared as asked;
 *   DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_lmr_create(3DAT).
 */
extern DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
		IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
		IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS privileges,
		IN DAT_VA_TYPE va_type, OUT DAT_LMR_HANDLE *lmr_handle,
		OUT DAT_LMR_CONTEXT *lmr_context, OUT DAT_RMR_CONTEXT *rmr_context,
		OUT DAT_VLEN *registered_length, OUT DAT_VADDR *registered_address);

/**
 * dat_cno_fd_create() - make a CNO with a descriptor to sleep on
 * @ia_handle: IA
 * @fd: the descriptor; readable while dat_cno_trigger() has a trigger to return. The program only
 *   waits for it, by poll(2) and the like: it neither reads nor closes it
 * @cno_handle: the CNO
 * dat_cno_free() closes the descriptor, and so does the end of the IA. A child of fork() does not
 * get it.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_MODEL_NOT_SUPPORTED from a provider without such CNOs.
 * OpenDAT's library has this call, and OFED's has not.
 * Thread safety: safe.
 */
extern DAT_RETURN dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_FD *fd,
		OUT DAT_CNO_HANDLE *cno_handle);

/**
 * dat_cno_trigger() - take the next trigger of a CNO without sleeping
 * @cno_handle: CNO, with a descriptor or without
 * @evd_handle: the EVD that has triggered the CNO; DAT_HANDLE_NULL if the last EVD of the CNO was
 *   freed, or if there is no trigger
 * Dequeue from that EVD until it is empty. Each event that has come to it triggers once; a trigger
 * whose event was taken meanwhile is not returned.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_EMPTY, without the
 *   class of errors, if there is no trigger; DAT_MODEL_NOT_SUPPORTED from a provider without it.
 * OpenDAT's library has this call, and OFED's has not.
 * Thread safety: safe.
 */
extern DAT_RETURN dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle, OUT DAT_EVD_HANDLE *evd_handle);

/**
 * dat_ep_post_send_with_invalidate() - send a message that invalidates an RMR of the peer
 * @ep_handle: endpoint
 * @num_segments: length of local_iov
 * @local_iov: pieces of the message, sent in this order; LOCAL_READ
 * @user_cookie: comes back with the completion
 * @completion_flags: SUPPRESS, SOLICITED_WAIT, UNSIGNALLED, BARRIER_FENCE or 0
 * @invalidate_flag: DAT_FALSE for a Send without more
 * @rmr_context: key of the RMR, which the peer has bound over this connection
 * The Receive that takes the message completes as DAT_DTO_RECEIVE_WITH_INVALIDATE, with the key. By
 * then the RMR is unbound: nobody gets through it, and dat_rmr_bind() can bind it anew. A key that
 * is not valid, or that is not one of an RMR bound over this connection, completes with
 * DAT_DTO_ERR_REMOTE_ACCESS, invalidates nothing and breaks the connection.
 * Returns: as dat_ep_post_send(); DAT_INVALID_PARAMETER for the key 0; DAT_MODEL_NOT_SUPPORTED from
 *   an adapter whose named attribute OPENDAT_SEND_WITH_INVALIDATE is not TRUE.
 * States: as dat_ep_post_send().
 * OpenDAT's library has this call, and OFED's has not.
 * Thread safety: unsafe.
 */
extern DAT_RETURN dat_ep_post_send_with_invalidate(IN DAT_EP_HANDLE ep_handle,
		IN DAT_COUNT num_segments, IN DAT_LMR_TRIPLET *local_iov,
		IN DAT_DTO_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
		IN DAT_BOOLEAN invalidate_flag, IN DAT_RMR_CONTEXT rmr_context);

/**
 * dat_ep_post_rdma_read_to_rmr() - read data from the peer's memory into an RMR of this side
 * @ep_handle: endpoint
 * @local_iov: where the data go: a piece of a bound RMR of the endpoint's PZ, by the RMR's key
 * @user_cookie: comes back with the completion
 * @remote_iov: the peer's memory; REMOTE_READ
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE or 0
 * The RMR gives REMOTE_WRITE, and its LMR LOCAL_WRITE. If it is not bound so any more when the
 * transfer begins, the completion is DAT_DTO_ERR_LOCAL_PROTECTION, nothing is written, and the
 * connection breaks.
 * Returns: as dat_ep_post_rdma_read(); DAT_INVALID_PARAMETER if the RMR is not bound, or not to that
 *   piece; DAT_PROTECTION_VIOLATION if it is of another PZ; DAT_PRIVILEGES_VIOLATION without the
 *   right; DAT_MODEL_NOT_SUPPORTED from an adapter whose named attribute OPENDAT_RDMA_READ_TO_RMR is
 *   not TRUE.
 * States: as dat_ep_post_send().
 * OpenDAT's library has this call, and OFED's has not.
 * Thread safety: unsafe.
 */
extern DAT_RETURN dat_ep_post_rdma_read_to_rmr(IN DAT_EP_HANDLE ep_handle,
		IN const DAT_RMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN const DAT_RMR_TRIPLET *remote_iov, IN DAT_COMPLETION_FLAGS completion_flags);

#ifdef __cplusplus
}
#endif

#include "../dat/dat_calls.h"

#endif /* OPENDAT_DAT2_UDAT_H */
