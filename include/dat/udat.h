/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uDAPL 1.2: the header a consumer includes. It holds what the standard gives to user space; dat.h,
 * which it includes, holds what user space and kernel have in common.
 */
#ifndef OPENDAT_UDAT_H
#define OPENDAT_UDAT_H

#include "udat_config.h"
#include "dat_platform_specific.h"
#include "udat_vendor_specific.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dat_mem_type - kinds of memory that dat_lmr_create() registers
 * @DAT_MEM_TYPE_VIRTUAL: a range of the process's own addresses
 * @DAT_MEM_TYPE_LMR: the memory of another LMR, registered once more
 * @DAT_MEM_TYPE_SHARED_VIRTUAL: shared memory; processes that give the same cookie share the region
 */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0,
	DAT_MEM_TYPE_LMR		= 1,
	DAT_MEM_TYPE_SHARED_VIRTUAL	= 2
} DAT_MEM_TYPE;

/** enum dat_handle_type - kinds of object, as dat_get_handle_type() tells them */
typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR	= 0,
	DAT_HANDLE_TYPE_EP	= 1,
	DAT_HANDLE_TYPE_EVD	= 2,
	DAT_HANDLE_TYPE_IA	= 3,
	DAT_HANDLE_TYPE_LMR	= 4,
	DAT_HANDLE_TYPE_PSP	= 5,
	DAT_HANDLE_TYPE_PZ	= 6,
	DAT_HANDLE_TYPE_RMR	= 7,
	DAT_HANDLE_TYPE_RSP	= 8,
	DAT_HANDLE_TYPE_CNO	= 9,
	DAT_HANDLE_TYPE_SRQ	= 10
} DAT_HANDLE_TYPE;

/** enum dat_evd_param_mask - which fields of DAT_EVD_PARAM dat_evd_query() is to fill */
typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE	= 0x1,
	DAT_EVD_FIELD_EVD_QLEN	= 0x2,
	DAT_EVD_FIELD_EVD_STATE	= 0x4,
	DAT_EVD_FIELD_CNO	= 0x8,
	DAT_EVD_FIELD_EVD_FLAGS	= 0x10,
	DAT_EVD_FIELD_ALL	= 0x1f
} DAT_EVD_PARAM_MASK;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

#ifdef __cplusplus
}
#endif

#include "dat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef DAT_HANDLE DAT_CNO_HANDLE;

/**
 * enum dat_evd_state - state of an EVD: one bit of each of the first two pairs, and one for when it
 *   wakes its waiter
 * @DAT_EVD_STATE_ENABLED: events trigger its CNO
 * @DAT_EVD_STATE_DISABLED: events are queued without triggering the CNO
 * @DAT_EVD_STATE_WAITABLE: dat_evd_wait() works
 * @DAT_EVD_STATE_UNWAITABLE: dat_evd_wait() is refused
 * @DAT_EVD_STATE_CONFIG_NOTIFY: wakes for each notification
 * @DAT_EVD_STATE_CONFIG_SOLICITED: wakes for solicited Receives
 * @DAT_EVD_STATE_CONFIG_THRESHOLD: wakes when the threshold is reached
 */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED		= 0x1,
	DAT_EVD_STATE_DISABLED		= 0x2,
	DAT_EVD_STATE_WAITABLE		= 0x4,
	DAT_EVD_STATE_UNWAITABLE	= 0x8,
	DAT_EVD_STATE_CONFIG_NOTIFY	= 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED	= 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD	= 0x30
} DAT_EVD_STATE;

/**
 * struct dat_evd_param - what dat_evd_query() tells
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

/* Names a shared region: a pointer to 40 bytes, which are not a string. */
#define DAT_LMR_COOKIE_SIZE				40
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/**
 * struct dat_shared_memory - memory shared between processes
 * @virtual_address: where this process has it
 * @shared_memory_id: cookie that names the region: all of its bytes count, and it is not a string
 */
typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/**
 * union dat_region_description - memory to register, by its DAT_MEM_TYPE; passed by value
 * @for_va: DAT_MEM_TYPE_VIRTUAL: first byte
 * @for_lmr_handle: DAT_MEM_TYPE_LMR: the other LMR
 * @for_shared_memory: DAT_MEM_TYPE_SHARED_VIRTUAL
 */
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

/**
 * struct dat_lmr_param - what dat_lmr_query() tells, as given to and returned by dat_lmr_create()
 * @length: bytes that were asked for
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
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

/* Called on a thread of the provider; it should do no more than wake a thread. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID, DAT_EVD_HANDLE);

/**
 * struct dat_os_wait_proxy_agent - a function for a CNO to call when it is triggered; passed by
 *   value
 * @instance_data: first argument for it
 * @proxy_agent_func: the function; its second argument is the EVD, or DAT_HANDLE_NULL
 */
typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

/* No agent. Standard C++ has no compound literals, so it has its own definition. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define DAT_OS_WAIT_PROXY_AGENT_NULL	(DAT_OS_WAIT_PROXY_AGENT{ NULL, NULL })
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	(DAT_OS_WAIT_PROXY_AGENT) { (DAT_PVOID) NULL, (DAT_AGENT_FUNC) NULL }
#endif

/** enum dat_cno_param_mask - which fields of DAT_CNO_PARAM dat_cno_query() is to fill */
typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE	= 0x1,
	DAT_CNO_FIELD_AGENT	= 0x2,
	DAT_CNO_FIELD_ALL	= 0x3
} DAT_CNO_PARAM_MASK;

/** struct dat_cno_param - what dat_cno_query() tells */
typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
} DAT_CNO_PARAM;

/**
 * enum dat_pz_support - what protection the provider's PZs give
 * @DAT_PZ_UNIQUE: zones are kept apart
 * @DAT_PZ_SHAREABLE: zones may be one and the same to the hardware
 */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE		= 0,
	DAT_PZ_SHAREABLE	= 1
} DAT_PZ_SUPPORT;

/* Fields of DAT_PROVIDER_ATTR for dat_ia_query(). */
#define DAT_PROVIDER_FIELD_NONE				UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		UINT64_C(0x0000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	UINT64_C(0x0000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	UINT64_C(0x0000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		UINT64_C(0x0000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		UINT64_C(0x0000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	UINT64_C(0x0000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		UINT64_C(0x0000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		UINT64_C(0x0000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	UINT64_C(0x0000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		UINT64_C(0x0000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	UINT64_C(0x0000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		UINT64_C(0x0000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR			UINT64_C(0x0001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT			UINT64_C(0x0002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	UINT64_C(0x0004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	UINT64_C(0x0008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		UINT64_C(0x0010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	UINT64_C(0x0020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	UINT64_C(0x0040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		UINT64_C(0x0080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	UINT64_C(0x0100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			UINT64_C(0x0200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	UINT64_C(0x0400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	UINT64_C(0x0800000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL				UINT64_C(0x3FFFFFF)

/**
 * struct dat_provider_attr - what dat_ia_query() tells of the provider
 * @provider_name: its name
 * @provider_version_major: its own version
 * @dapl_version_major: version of the API it serves
 * @lmr_mem_types_supported: DAT_MEM_TYPE values that it supports, combined
 * @iov_ownership_on_return: whose segment lists are
 * @dat_qos_supported: DAT_QOS values, combined
 * @completion_flags_supported: DAT_COMPLETION_FLAGS, combined
 * @is_thread_safe: whether calls marked safe are
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
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

/**
 * dat_lmr_create() - register memory for transfers
 * @ia_handle: IA
 * @mem_type: kind of memory
 * @region_description: the memory
 * @length: bytes, more than 0; not looked at for DAT_MEM_TYPE_LMR
 * @pz_handle: protection zone
 * @privileges: who may do what with it
 * @lmr_handle: the LMR
 * @lmr_context: key for local use, in segment lists
 * @rmr_context: key for the peer; 0 if no remote right was given; may be NULL
 * @registered_length: bytes registered, length or more; may be NULL
 * @registered_address: where they start; may be NULL
 * Any alignment will do, and registrations may overlap.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_LENGTH_ERROR for a length of 0; DAT_INVALID_STATE for memory that is not shared as asked;
 *   DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_lmr_create(3DAT).
 */
extern DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
		IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
		IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS privileges,
		OUT DAT_LMR_HANDLE *lmr_handle, OUT DAT_LMR_CONTEXT *lmr_context,
		OUT DAT_RMR_CONTEXT *rmr_context, OUT DAT_VLEN *registered_length,
		OUT DAT_VADDR *registered_address);

/**
 * dat_evd_create() - create an event dispatcher, a queue of events
 * @ia_handle: IA
 * @evd_min_qlen: events it has to hold, more than 0; may come out longer
 * @cno_handle: CNO to trigger, or DAT_HANDLE_NULL
 * @evd_flags: kinds of event stream that will feed it
 * @evd_handle: the EVD, empty, enabled and waitable
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_MODEL_NOT_SUPPORTED for streams that may not merge.
 * Thread safety: safe. Specification: libdat(3LIB).
 */
extern DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
		IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags,
		OUT DAT_EVD_HANDLE *evd_handle);

/**
 * dat_evd_modify_cno() - give an EVD another CNO
 * @evd_handle: EVD
 * @cno_handle: CNO that later events trigger, or DAT_HANDLE_NULL
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_evd_modify_cno(3DAT).
 */
extern DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle, IN DAT_CNO_HANDLE cno_handle);

/**
 * dat_cno_create() - create a notification object, by which a thread waits for many EVDs
 * @ia_handle: IA
 * @agent: function called once, at the first trigger; or DAT_OS_WAIT_PROXY_AGENT_NULL
 * @cno_handle: the CNO
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_cno_create(3DAT).
 */
extern DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle, IN DAT_OS_WAIT_PROXY_AGENT agent,
		OUT DAT_CNO_HANDLE *cno_handle);

/**
 * dat_cno_modify_agent() - give a CNO another agent, or arm the agent again after it was called
 * @cno_handle: CNO
 * @agent: the agent, or DAT_OS_WAIT_PROXY_AGENT_NULL
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_cno_modify_agent(3DAT).
 */
extern DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
		IN DAT_OS_WAIT_PROXY_AGENT agent);

/**
 * dat_cno_query() - ask for the parameters of a CNO
 * @cno_handle: CNO
 * @cno_param_mask: DAT_CNO_FIELD_ bits of the fields wanted
 * @cno_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_cno_query(3DAT).
 */
extern DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle, IN DAT_CNO_PARAM_MASK cno_param_mask,
		OUT DAT_CNO_PARAM *cno_param);

/**
 * dat_cno_free() - destroy a CNO
 * @cno_handle: CNO
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an EVD uses it or a thread
 *   waits.
 * Thread safety: unsafe. Specification: dat_cno_free(3DAT).
 */
extern DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

/**
 * dat_cno_wait() - wait until an EVD triggers a CNO
 * @cno_handle: CNO
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @evd_handle: EVD that probably has an event, which is a hint; DAT_HANDLE_NULL after a timeout, or
 *   when the last EVD is gone
 * The event stays on its EVD. A trigger while no thread waits is kept for the next call.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_EMPTY when the timeout
 *   has expired; DAT_INTERRUPTED_CALL.
 * Thread safety: safe. Specification: dat_cno_wait(3DAT).
 */
extern DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
		OUT DAT_EVD_HANDLE *evd_handle);

/**
 * dat_evd_enable() - let events of an EVD trigger its CNO
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_enable(3DAT).
 */
extern DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_wait() - wait for events and take the first
 * @evd_handle: waitable EVD that no other thread waits for
 * @timeout: microseconds; 0 only looks; or DAT_TIMEOUT_INFINITE
 * @threshold: events that have to be queued, 1 up to the queue's length
 * @event: the first event
 * @n_more_events: events that are left; after a timeout, events that are queued
 * Many threads may call this at once, but only one at a time can wait for an EVD: for a second one
 * it returns DAT_INVALID_STATE. While a thread waits here the CNO is not triggered. A threshold
 * above 1 needs endpoints whose completions all count.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_TIMEOUT_EXPIRED, nothing
 *   taken; DAT_INVALID_STATE when another thread waits or the EVD is unwaitable; DAT_ABORT when the
 *   EVD or its IA is gone; DAT_INTERRUPTED_CALL.
 * Thread safety: safe. Specification: dat_evd_wait(3DAT).
 */
extern DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
		IN DAT_COUNT threshold, OUT DAT_EVENT *event, OUT DAT_COUNT *n_more_events);

/**
 * dat_evd_disable() - keep events of an EVD from triggering its CNO; they are still queued
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_disable(3DAT).
 */
extern DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_set_unwaitable() - make dat_evd_wait() fail; a thread that waits returns with
 *   DAT_INVALID_STATE
 * @evd_handle: EVD; events still arrive, and dat_evd_dequeue() still works
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_set_unwaitable(3DAT).
 */
extern DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_evd_clear_unwaitable() - allow dat_evd_wait() again
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: safe. Specification: dat_evd_clear_unwaitable(3DAT).
 */
extern DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_UDAT_H */
