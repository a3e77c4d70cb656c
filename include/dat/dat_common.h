/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What DAT 1.2 and DAT 2.0 have in common: the types whose values and layout are the same in both.
 * A consumer includes <dat/udat.h>, which includes this file.
 */
#ifndef OPENDAT_DAT_COMMON_H
#define OPENDAT_DAT_COMMON_H

#include "dat_platform_specific.h"

/* The direction of a parameter. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** enum dat_boolean - truth value, as wide as an int */
typedef enum dat_boolean {
	DAT_FALSE	= 0,
	DAT_TRUE	= 1
} DAT_BOOLEAN;

/**
 * union dat_context - a value of the consumer's own that travels with an object or a transfer
 * @as_ptr: seen as a pointer
 * @as_64: seen as a 64-bit number
 * @as_index: seen as an index
 * The provider returns the value unchanged, and does not interpret it.
 */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;
typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/* What functions return: class in bits 31-30, type in bits 29-16, subtype in bits 15-0. */
typedef DAT_UINT32 DAT_RETURN;
#define DAT_CLASS_ERROR					0x80000000
#define DAT_CLASS_WARNING				0x40000000
#define DAT_CLASS_SUCCESS				0x00000000
#define DAT_TYPE_MASK					0x3fff0000
#define DAT_SUBTYPE_MASK				0x0000FFFF

#define DAT_GET_TYPE(status) \
	((DAT_UINT32)(status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status) \
	((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)
#define DAT_IS_WARNING(status) \
	((DAT_UINT32)(status) & DAT_CLASS_WARNING)

/*
 * A program refers to an object by its handle. The handle of an IA is a small number, the others
 * are addresses.
 */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;
typedef DAT_HANDLE DAT_CNO_HANDLE;

/*
 * The last two are used only by dat_ia_openv(): the caller wants no asynchronous EVD, and none was
 * created.
 */
#define DAT_HANDLE_NULL					((DAT_HANDLE)NULL)
#define DAT_EVD_ASYNC_EXISTS				((DAT_EVD_HANDLE) 0x1)
#define DAT_EVD_OUT_OF_SCOPE				((DAT_EVD_HANDLE) 0x2)

/*
 * A connection qualifier names a service point at an address, and a port qualifier an endpoint. A
 * context is a key to memory.
 */
typedef char *DAT_NAME_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;
typedef DAT_UINT64 DAT_VADDR;
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT32 DAT_TIMEOUT;
typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;

/* DAT_NAME_MAX_LENGTH includes the NUL. DAT_WATERMARK_INFINITE switches a watermark off. */
#define DAT_NAME_MAX_LENGTH				256
#define DAT_TIMEOUT_INFINITE				((DAT_TIMEOUT) ~0)
#define DAT_WATERMARK_INFINITE				((DAT_COUNT)~0)
#define DAT_HW_DEFAULT					DAT_WATERMARK_INFINITE
#define DAT_VALUE_UNKNOWN				(((DAT_COUNT) ~0)-1)
#define DAT_SRQ_LW_DEFAULT				0x0

/* Alignment in bytes that suits every provider; a program may set its own. */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT				256
#endif

/**
 * struct dat_named_attr - one attribute that a transport, vendor or provider adds, as two strings
 * @name: its name
 * @value: its value, in text
 */
typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

/**
 * enum dat_close_flags - how to close an IA or to disconnect an endpoint
 * @DAT_CLOSE_ABRUPT_FLAG: close at once and abandon unfinished operations. The default.
 * @DAT_CLOSE_GRACEFUL_FLAG: close an IA only if no object is left; disconnect an endpoint after the
 *   posted requests are done
 */
typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG	= 0x0,
	DAT_CLOSE_GRACEFUL_FLAG	= 0x1
} DAT_CLOSE_FLAGS;
#define DAT_CLOSE_DEFAULT				DAT_CLOSE_ABRUPT_FLAG

/** enum dat_qos - quality of service asked of a connection; best effort always works */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0x0,
	DAT_QOS_HIGH_THROUGHPUT	= 0x1,
	DAT_QOS_LOW_LATENCY	= 0x2,
	DAT_QOS_ECONOMY		= 0x4,
	DAT_QOS_PREMIUM		= 0x8
} DAT_QOS;

/** enum dat_pz_param_mask - which fields of DAT_PZ_PARAM dat_pz_query() is to fill */
typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x1,
	DAT_PZ_FIELD_ALL	= 0x1
} DAT_PZ_PARAM_MASK;

/** struct dat_pz_param - what dat_pz_query() returns */
typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

/**
 * enum dat_psp_flags - who creates the endpoint for a request to a PSP
 * @DAT_PSP_CONSUMER_FLAG: the consumer creates it, and passes it to dat_cr_accept()
 * @DAT_PSP_PROVIDER_FLAG: the provider creates it; the request has its handle
 */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG	= 0x0,
	DAT_PSP_PROVIDER_FLAG	= 0x1
} DAT_PSP_FLAGS;

/** enum dat_psp_param_mask - which fields of DAT_PSP_PARAM dat_psp_query() is to fill */
typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x1,
	DAT_PSP_FIELD_CONN_QUAL		= 0x2,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x4,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x8,
	DAT_PSP_FIELD_ALL		= 0xf
} DAT_PSP_PARAM_MASK;

/** struct dat_psp_param - what dat_psp_query() returns, as given to dat_psp_create() */
typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

/** enum dat_rsp_param_mask - which fields of DAT_RSP_PARAM dat_rsp_query() is to fill */
typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x1,
	DAT_RSP_FIELD_CONN_QUAL		= 0x2,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x4,
	DAT_RSP_FIELD_EP_HANDLE		= 0x8,
	DAT_RSP_FIELD_ALL		= 0xf
} DAT_RSP_PARAM_MASK;

/** struct dat_rsp_param - what dat_rsp_query() returns, as given to dat_rsp_create() */
typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

/** enum dat_cr_param_mask - which fields of DAT_CR_PARAM dat_cr_query() is to fill */
typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x1,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x2,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x4,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x8,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1f
} DAT_CR_PARAM_MASK;

/**
 * struct dat_cr_param - what dat_cr_query() returns about a connection request
 * @remote_ia_address_ptr: address of the side that wants to connect
 * @remote_port_qual: port qualifier of its endpoint
 * @private_data_size: bytes of private data, exactly as many as were sent
 * @private_data: the bytes; valid until the request is accepted, rejected or handed off
 * @local_ep_handle: endpoint made or reserved for it, or DAT_HANDLE_NULL
 */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
} DAT_CR_PARAM;

/**
 * struct dat_srq_attr - attributes of a shared receive queue
 * @max_recv_dtos: buffers it holds
 * @max_recv_iov: segments of one buffer
 * @low_watermark: DAT_SRQ_LW_DEFAULT at creation: no event
 */
typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

/** enum dat_srq_param_mask - which fields of DAT_SRQ_PARAM dat_srq_query() is to fill */
typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x1,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x2,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x4,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x8,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x80,
	DAT_SRQ_FIELD_ALL			= 0xff
} DAT_SRQ_PARAM_MASK;

/** enum dat_evd_param_mask - which fields of DAT_EVD_PARAM dat_evd_query() is to fill */
typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE	= 0x1,
	DAT_EVD_FIELD_EVD_QLEN	= 0x2,
	DAT_EVD_FIELD_EVD_STATE	= 0x4,
	DAT_EVD_FIELD_CNO	= 0x8,
	DAT_EVD_FIELD_EVD_FLAGS	= 0x10,
	DAT_EVD_FIELD_ALL	= 0x1f
} DAT_EVD_PARAM_MASK;

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

/** enum ia_async_error_reason - reason in an asynchronous event of an IA */
typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR	= 0,
	DAT_IA_OTHER_ERROR		= 1
} DAT_IA_ASYNC_ERROR_REASON;

/**
 * enum ep_async_error_reason - reason in an asynchronous event of an endpoint
 * @DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT: it holds more Receives than its soft watermark, which is not
 *   an error
 */
typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR		= 0,
	DAT_EP_OTHER_ERROR			= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT	= 2
} DAT_EP_ASYNC_ERROR_REASON;

/** enum evd_async_error_reason - reason in an asynchronous event of an EVD */
typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR	= 0,
	DAT_EVD_OTHER_ERROR	= 1
} DAT_EVD_ASYNC_ERROR_REASON;

/**
 * enum srq_async_error_reason - reason in an asynchronous event of an SRQ
 * @DAT_SRQ_LOW_WATERMARK_EVENT: it has fewer buffers left than its low watermark, which is not an
 *   error
 */
typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR	= 0,
	DAT_SRQ_OTHER_ERROR		= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT	= 2
} DAT_SRQ_ASYNC_ERROR_REASON;

/** enum lmr_async_error_reason - reason in an asynchronous event of an LMR */
typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR	= 0
} DAT_LMR_ASYNC_ERROR_REASON;

/** enum rmr_async_error_reason - reason in an asynchronous event of an RMR */
typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR	= 0
} DAT_RMR_ASYNC_ERROR_REASON;

/** enum pz_async_error_reason - reason in an asynchronous event of a PZ */
typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR	= 0
} DAT_PZ_ASYNC_ERROR_REASON;

/**
 * struct dat_connection_event_data - a connection is established, failed or over
 * @private_data_size: bytes that the peer sent with its acceptance; 0 on the accepting side
 * @private_data: the bytes; valid until dat_ep_reset() or dat_ep_free()
 */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

/**
 * struct dat_asynch_error_event_data - an error that no call can report
 * @dat_handle: object it happened to
 * @reason: a DAT_..._ASYNC_ERROR_REASON of the type of the object
 */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;
	DAT_COUNT reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

/**
 * struct dat_software_event_data - an event of dat_evd_post_se()
 * @pointer: a value of the consumer; the memory that it points to stays the consumer's
 */
typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

/**
 * struct dat_provider_info - how an IA is known to the registry: what dat.conf, consumer and plugin
 *   have to agree on
 * @ia_name: name for dat_ia_open(), ended by a NUL
 * @dapl_version_major: version of the API, 1 here
 * @dapl_version_minor: 2 here
 * @is_thread_safe: whether the provider is
 */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

/**
 * enum dat_iov_ownership - to whom the segment list of a post belongs until the transfer has ended
 * @DAT_IOV_CONSUMER: the consumer; it may be reused when the post returns
 * @DAT_IOV_PROVIDER_NOMOD: the provider, which only reads it
 * @DAT_IOV_PROVIDER_MOD: the provider, which may change it
 */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER	= 0,
	DAT_IOV_PROVIDER_NOMOD	= 1,
	DAT_IOV_PROVIDER_MOD	= 2
} DAT_IOV_OWNERSHIP;

/** enum dat_ep_creator_for_psp - whether a PSP can make endpoints for its requests */
typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2
} DAT_EP_CREATOR_FOR_PSP;

/**
 * enum dat_pz_support - what protection the provider's PZs give
 * @DAT_PZ_UNIQUE: zones are kept apart
 * @DAT_PZ_SHAREABLE: the hardware may treat several zones as one
 */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE		= 0,
	DAT_PZ_SHAREABLE	= 1
} DAT_PZ_SUPPORT;

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_COMMON_H */
