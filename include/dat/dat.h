/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uDAPL 1.2, the part that user space and kernel have in common: types, objects, events, calls. It
 * needs types of udat.h, and so it includes udat.h if the program has not.
 *
 * The following holds for every call, and is not repeated at each:
 *  - For a handle that is NULL, freed or of another kind, a call returns DAT_INVALID_HANDLE. For a
 *    NULL pointer as OUT parameter it returns DAT_INVALID_PARAMETER, unless the description of the
 *    parameter allows NULL. DAT_INTERNAL_ERROR means a fault of the provider, and
 *    DAT_NOT_IMPLEMENTED that the provider does not have the call.
 *  - DAT_GET_TYPE() gives the type of a return value. DAT_NOT_IMPLEMENTED and DAT_SUCCESS are
 *    compared with the whole value.
 *  - A call that fails has no effect, and sets OUT parameters only where its description says so.
 *  - Times are in microseconds, lengths and sizes in bytes, queue lengths in entries.
 *  - Thread safety: many threads may make a "safe" call at once; an "unsafe" call may be made by
 *    one thread at a time for each object. The standard promises this where is_thread_safe is
 *    DAT_TRUE.
 *
 * A comment that begins with two stars describes the declaration that follows it. For a function it
 * has each parameter (@name), Returns, States (the endpoint states in which the call is allowed,
 * and the state that it leads to), Thread safety, and Specification, which is the page of the
 * standard.
 */
#ifndef OPENDAT_UDAT_H
#include "udat.h"
#endif

#ifndef OPENDAT_DAT_H
#define OPENDAT_DAT_H

#include "dat_platform_specific.h"
#include "dat_error.h"
#include "dat_vendor_specific.h"

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

/**
 * enum dat_evd_flags - kinds of event stream that can feed an EVD
 * @DAT_EVD_SOFTWARE_FLAG: events of dat_evd_post_se()
 * @DAT_EVD_CR_FLAG: connection requests of service points
 * @DAT_EVD_DTO_FLAG: completions of transfers
 * @DAT_EVD_CONNECTION_FLAG: connection events of endpoints
 * @DAT_EVD_RMR_BIND_FLAG: completions of RMR binds
 * @DAT_EVD_ASYNC_FLAG: asynchronous errors of an IA
 * @DAT_EVD_DEFAULT_FLAG: all but software events
 */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG	= 0x1,
	DAT_EVD_CR_FLAG		= 0x10,
	DAT_EVD_DTO_FLAG	= 0x20,
	DAT_EVD_CONNECTION_FLAG	= 0x40,
	DAT_EVD_RMR_BIND_FLAG	= 0x80,
	DAT_EVD_ASYNC_FLAG	= 0x100,
	DAT_EVD_DEFAULT_FLAG	= 0x1f0
} DAT_EVD_FLAGS;

typedef struct dat_evd_param DAT_EVD_PARAM;

/**
 * struct dat_lmr_triplet - a piece of local memory, the element of the list a transfer gathers from
 *   or scatters to
 * @lmr_context: key of the LMR that holds the memory
 * @pad: unused
 * @virtual_address: where the piece starts
 * @segment_length: its length in bytes
 */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT lmr_context;
	DAT_UINT32 pad;
	DAT_VADDR virtual_address;
	DAT_VLEN segment_length;
} DAT_LMR_TRIPLET;

/**
 * struct dat_rmr_triplet - a piece of the peer's memory, the target of an RDMA transfer
 * @rmr_context: key that the peer made known, of an LMR or a bound RMR
 * @pad: unused
 * @target_address: where the piece starts, as the peer's virtual address
 * @segment_length: its length in bytes
 */
typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT rmr_context;
	DAT_UINT32 pad;
	DAT_VADDR target_address;
	DAT_VLEN segment_length;
} DAT_RMR_TRIPLET;

/**
 * enum dat_mem_priv_flags - rights to registered memory, to be combined
 * @DAT_MEM_PRIV_LOCAL_READ_FLAG: source of a Send or RDMA Write
 * @DAT_MEM_PRIV_LOCAL_WRITE_FLAG: sink of a Receive or RDMA Read
 * @DAT_MEM_PRIV_REMOTE_READ_FLAG: a peer may read it by RDMA
 * @DAT_MEM_PRIV_REMOTE_WRITE_FLAG: a peer may write it by RDMA
 */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x0,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x1,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x2,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33
} DAT_MEM_PRIV_FLAGS;
#define DAT_MEM_PRIV_READ_FLAG \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG \
	(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/** enum dat_lmr_param_mask - which fields of DAT_LMR_PARAM dat_lmr_query() is to fill */
typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x1,
	DAT_LMR_FIELD_MEM_TYPE			= 0x2,
	DAT_LMR_FIELD_REGION_DESC		= 0x4,
	DAT_LMR_FIELD_LENGTH			= 0x8,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x10,
	DAT_LMR_FIELD_MEM_PRIV			= 0x20,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x40,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x80,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x100,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x200,
	DAT_LMR_FIELD_ALL			= 0x3ff
} DAT_LMR_PARAM_MASK;

typedef struct dat_lmr_param DAT_LMR_PARAM;

/** enum dat_rmr_param_mask - which fields of DAT_RMR_PARAM dat_rmr_query() is to fill */
typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x1,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x2,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x4,
	DAT_RMR_FIELD_MEM_PRIV		= 0x8,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_ALL		= 0x1f
} DAT_RMR_PARAM_MASK;

/**
 * struct dat_rmr_param - what dat_rmr_query() tells
 * @lmr_triplet: memory of the last bind; like the next two undefined while the RMR is unbound
 * @mem_priv: remote rights of the last bind
 * @rmr_context: key that a peer uses
 */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_PARAM;

/** enum dat_qos - quality of service asked of a connection; best effort always works */
typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT	= 0x0,
	DAT_QOS_HIGH_THROUGHPUT	= 0x1,
	DAT_QOS_LOW_LATENCY	= 0x2,
	DAT_QOS_ECONOMY		= 0x4,
	DAT_QOS_PREMIUM		= 0x8
} DAT_QOS;

/**
 * enum dat_connect_flags - how to connect
 * @DAT_CONNECT_MULTIPATH_FLAG: ask for several paths; see supports_multipath
 */
typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x0,
	DAT_CONNECT_MULTIPATH_FLAG	= 0x1
} DAT_CONNECT_FLAGS;

/**
 * enum dat_completion_flags - how a completed transfer or bind is reported
 * @DAT_COMPLETION_DEFAULT_FLAG: queue an event and wake the waiter
 * @DAT_COMPLETION_SUPPRESS_FLAG: queue no event on success; a failure is always reported
 * @DAT_COMPLETION_SOLICITED_WAIT_FLAG: the peer's matching Receive wakes its waiter
 * @DAT_COMPLETION_UNSIGNALLED_FLAG: queue the event but wake no waiter; needs the same EP attribute
 * @DAT_COMPLETION_BARRIER_FENCE_FLAG: start only when all earlier RDMA Reads of the EP are done
 * @DAT_COMPLETION_EVD_THRESHOLD_FLAG: EP attribute: every completion counts towards the EVD's
 *   threshold
 */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG		= 0x0,
	DAT_COMPLETION_SUPPRESS_FLAG		= 0x1,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG	= 0x2,
	DAT_COMPLETION_UNSIGNALLED_FLAG		= 0x4,
	DAT_COMPLETION_BARRIER_FENCE_FLAG	= 0x8,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG	= 0x10
} DAT_COMPLETION_FLAGS;

/** enum dat_service_type - kind of connection; reliable connected is the only one */
typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC	= 0
} DAT_SERVICE_TYPE;

/**
 * enum dat_ep_state - states of an endpoint
 * @DAT_EP_STATE_UNCONNECTED: idle, at the consumer's disposal
 * @DAT_EP_STATE_RESERVED: held by an RSP that no request has reached
 * @DAT_EP_STATE_PASSIVE_CONNECTION_PENDING: a request has reached its RSP and is not yet answered
 * @DAT_EP_STATE_ACTIVE_CONNECTION_PENDING: connecting; the outcome is not known yet
 * @DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING: made by the provider for a request to a PSP
 * @DAT_EP_STATE_CONNECTED: data may flow
 * @DAT_EP_STATE_DISCONNECT_PENDING: graceful disconnect under way; posted requests are draining
 * @DAT_EP_STATE_DISCONNECTED: the connection is over and posts are flushed. dat_ep_reset() leads
 *   back to UNCONNECTED.
 * @DAT_EP_STATE_COMPLETION_PENDING: accepted, not yet established
 * The UNCONFIGURED values are never reported. The state changes before the program can see the
 * event that reports the change.
 */
typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED			= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED		= 1,
	DAT_EP_STATE_RESERVED				= 2,
	DAT_EP_STATE_UNCONFIGURED_RESERVED		= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING		= 4,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE		= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING		= 6,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING	= 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE		= 8,
	DAT_EP_STATE_CONNECTED				= 9,
	DAT_EP_STATE_DISCONNECT_PENDING			= 10,
	DAT_EP_STATE_DISCONNECTED			= 11,
	DAT_EP_STATE_COMPLETION_PENDING			= 12
} DAT_EP_STATE;
/* An older name. */
#define DAT_EP_STATE_ERROR				DAT_EP_STATE_DISCONNECTED

/**
 * struct dat_ep_attr - attributes of an endpoint; a zero asks for the provider's default
 * @service_type: DAT_SERVICE_TYPE_RC
 * @max_message_size: longest message, in bytes
 * @max_rdma_size: longest RDMA transfer, in bytes
 * @qos: quality of service
 * @recv_completion_flags: UNSIGNALLED, SOLICITED_WAIT, EVD_THRESHOLD or 0
 * @request_completion_flags: UNSIGNALLED, EVD_THRESHOLD or 0
 * @max_recv_dtos: Receives that may be outstanding
 * @max_request_dtos: Sends, RDMA transfers and binds that may be outstanding
 * @max_recv_iov: segments of one Receive
 * @max_request_iov: segments of one Send
 * @max_rdma_read_in: RDMA Reads of the peer served at a time
 * @max_rdma_read_out: own RDMA Reads under way at a time
 * @srq_soft_hw: soft high watermark of an endpoint with an SRQ
 * @max_rdma_read_iov: segments of one RDMA Read
 * @max_rdma_write_iov: segments of one RDMA Write
 * @ep_transport_specific_count: length of ep_transport_specific
 * @ep_provider_specific_count: length of ep_provider_specific
 */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_VLEN max_message_size;
	DAT_VLEN max_rdma_size;
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

/**
 * struct dat_ep_param - what dat_ep_query() tells and dat_ep_modify() changes
 * @remote_ia_address_ptr: peer's address; like remote_port_qual undefined in UNCONNECTED, RESERVED
 *   and DISCONNECTED
 * @local_port_qual: bound from the start of a connection on
 * @srq_handle: DAT_HANDLE_NULL for an endpoint with a receive queue of its own
 */
typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

/* Fields of DAT_EP_PARAM for dat_ep_query() and dat_ep_modify(). */
typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE				UINT64_C(0x00000001)
#define DAT_EP_FIELD_EP_STATE				UINT64_C(0x00000002)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		UINT64_C(0x00000004)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			UINT64_C(0x00000008)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		UINT64_C(0x00000010)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			UINT64_C(0x00000020)
#define DAT_EP_FIELD_PZ_HANDLE				UINT64_C(0x00000040)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			UINT64_C(0x00000080)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			UINT64_C(0x00000100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			UINT64_C(0x00000200)
#define DAT_EP_FIELD_SRQ_HANDLE				UINT64_C(0x00000400)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		UINT64_C(0x00001000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		UINT64_C(0x00002000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		UINT64_C(0x00004000)
#define DAT_EP_FIELD_EP_ATTR_QOS			UINT64_C(0x00008000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	UINT64_C(0x00010000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	UINT64_C(0x00020000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		UINT64_C(0x00040000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		UINT64_C(0x00080000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		UINT64_C(0x00100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		UINT64_C(0x00200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		UINT64_C(0x00400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		UINT64_C(0x00800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		UINT64_C(0x01000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		UINT64_C(0x02000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		UINT64_C(0x04000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		UINT64_C(0x08000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL			UINT64_C(0x7FFFF000)
#define DAT_EP_FIELD_ALL				UINT64_C(0x7FFFF7FF)

/** enum dat_pz_param_mask - which fields of DAT_PZ_PARAM dat_pz_query() is to fill */
typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE	= 0x1,
	DAT_PZ_FIELD_ALL	= 0x1
} DAT_PZ_PARAM_MASK;

/** struct dat_pz_param - what dat_pz_query() tells */
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

/** struct dat_psp_param - what dat_psp_query() tells, as given to dat_psp_create() */
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

/** struct dat_rsp_param - what dat_rsp_query() tells, as given to dat_rsp_create() */
typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

/**
 * union dat_sp_handle - the service point a request came to; the consumer knows which kind it is
 */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
} DAT_SP_HANDLE;

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
 * struct dat_cr_param - what dat_cr_query() tells of a connection request
 * @remote_ia_address_ptr: address of the side that asks
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

/** enum dat_srq_state - state of a shared receive queue */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL	= 0,
	DAT_SRQ_STATE_ERROR		= 1
} DAT_SRQ_STATE;

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

/**
 * struct dat_srq_param - what dat_srq_query() tells
 * @available_dto_count: buffers that endpoints can still take, or DAT_VALUE_UNKNOWN
 * @outstanding_dto_count: posted buffers whose completion was not yet dequeued, or
 *   DAT_VALUE_UNKNOWN
 */
typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;
	DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

/**
 * enum dat_event_number - the kind of an event, which also decides the member of DAT_EVENT_DATA
 *   that it carries
 * @DAT_CONNECTION_EVENT_PEER_REJECTED: the peer called dat_cr_reject()
 * @DAT_CONNECTION_EVENT_NON_PEER_REJECTED: no service point listens there, its backlog is full, or
 *   the two sides cannot agree on the attributes
 * @DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR: an accepted connection could not be established
 * @DAT_CONNECTION_EVENT_BROKEN: the connection failed: an access error, no Receive for a message,
 *   the hard watermark, or loss of the peer
 * @DAT_CONNECTION_EVENT_TIMED_OUT: the timeout of dat_ep_connect() has passed
 * @DAT_CONNECTION_EVENT_UNREACHABLE: the address cannot be reached
 * Each attempt to connect ends in exactly one event, and so does each connection.
 */
typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x1,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x1001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x2001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x4001,
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x4002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x4003,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x4004,
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x4005,
	DAT_CONNECTION_EVENT_BROKEN			= 0x4006,
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x4007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x4008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x8001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x8002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x8003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x8004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x8005,
	DAT_SOFTWARE_EVENT				= 0x10001
} DAT_EVENT_NUMBER;

/**
 * enum dat_dto_completion_status - how a transfer or bind ended; after a failure no later operation
 *   in that direction succeeds
 * @DAT_DTO_ERR_FLUSHED: not executed, because the connection was over
 * @DAT_DTO_SUCCESS: done: the memory of a Send or RDMA Write may be reused; that of a Receive or
 *   RDMA Read holds the data
 * @DAT_DTO_ERR_LOCAL_LENGTH: the message was longer than the Receive's memory
 * @DAT_DTO_ERR_LOCAL_EP: the endpoint itself could not execute it
 * @DAT_DTO_ERR_LOCAL_PROTECTION: the local memory has the wrong PZ, rights or bounds
 * @DAT_DTO_ERR_BAD_RESPONSE: the peer's response does not match the request
 * @DAT_DTO_ERR_REMOTE_ACCESS: the key, PZ, rights or bounds of the peer's memory do not allow it
 * @DAT_DTO_ERR_REMOTE_RESPONDER: the peer could not execute it, for example because its Receive is
 *   too short
 * @DAT_DTO_ERR_TRANSPORT: the peer does not answer, or has ended
 * @DAT_DTO_ERR_RECEIVER_NOT_READY: the peer had no Receive for a message
 * @DAT_DTO_ERR_PARTIAL_PACKET: only a part of the message arrived
 * @DAT_RMR_OPERATION_FAILED: a bind failed
 */
typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	DAT_DTO_ERR_FLUSHED		= 1,
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,
	DAT_DTO_ERR_LOCAL_EP		= 3,
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,
	DAT_DTO_ERR_BAD_RESPONSE	= 5,
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,
	DAT_DTO_ERR_TRANSPORT		= 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,
	DAT_RMR_OPERATION_FAILED	= 11
} DAT_DTO_COMPLETION_STATUS;
/* Older names. */
#define DAT_DTO_FAILURE					DAT_DTO_ERR_FLUSHED
#define DAT_DTO_LENGTH_ERROR				DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_RMR_BIND_COMPLETION_STATUS			DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS				DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE				DAT_DTO_ERR_FLUSHED

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
 * struct dat_dto_completion_event_data - a Send, Receive or RDMA transfer has ended
 * @user_cookie: as given when it was posted
 * @status: whether it succeeded; the next field is valid only then
 * @transfered_length: bytes moved
 */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_VLEN transfered_length;
} DAT_DTO_COMPLETION_EVENT_DATA;

/**
 * struct dat_rmr_bind_completion_event_data - an RMR bind has ended
 * @user_cookie: as given to dat_rmr_bind()
 */
typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/**
 * struct dat_cr_arrival_event_data - a peer wants to connect
 * @sp_handle: service point; an RSP's handle is good until dat_rsp_free()
 * @local_ia_address_ptr: address that was asked for
 * @conn_qual: connection qualifier that was asked for
 * @cr_handle: request to accept, reject or hand off
 */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
} DAT_CR_ARRIVAL_EVENT_DATA;

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
 * union dat_event_data - what an event carries; ep_handle comes first in both kinds that have one
 */
typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

/**
 * struct dat_event - an event, as dat_evd_wait() and dat_evd_dequeue() hand it over
 * @event_number: what happened
 * @evd_handle: EVD it was delivered to
 * @event_data: the member that goes with event_number
 */
typedef struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
} DAT_EVENT;

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
 * struct dat_ia_attr - what dat_ia_query() tells of the adapter; counts are limits of one IA unless
 *   they say "per"
 * @adapter_name: the name it was opened by
 * @ia_address_ptr: address that peers connect to, an AF_INET address; valid while the IA is open
 * @max_eps: endpoints in all states
 * @max_dto_per_ep: transfers and binds outstanding in one direction
 * @max_rdma_read_per_ep_in: RDMA Reads of the peer that one endpoint serves at a time
 * @max_rdma_read_per_ep_out: RDMA Reads that one endpoint has under way at a time
 * @max_evds: event dispatchers
 * @max_evd_qlen: events of one EVD
 * @max_iov_segments_per_dto: segments of one Send or Receive
 * @max_lmrs: registered regions
 * @max_lmr_block_size: bytes of one LMR
 * @max_lmr_virtual_address: highest address that can be registered
 * @max_pzs: protection zones
 * @max_message_size: bytes of one message; was max_mtu_size in 1.0 and 1.1
 * @max_rdma_size: bytes of one RDMA transfer
 * @max_rmrs: RMRs, bound or not
 * @max_rmr_target_address: highest address an RMR can be bound to
 * @max_srqs: shared receive queues
 * @max_ep_per_srq: endpoints that may share one
 * @max_recv_per_srq: buffers of one
 * @max_iov_segments_per_rdma_read: segments of one RDMA Read
 * @max_iov_segments_per_rdma_write: segments of one RDMA Write
 * @max_rdma_read_in: RDMA Reads served at a time by all endpoints
 * @max_rdma_read_out: RDMA Reads under way at a time on all endpoints
 * @max_rdma_read_per_ep_in_guaranteed: whether each endpoint always gets its share
 * @max_rdma_read_per_ep_out_guaranteed: the same for its own RDMA Reads
 * @num_transport_attr: length of transport_attr
 * @num_vendor_attr: length of vendor_attr
 */
typedef struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_VLEN max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_VLEN max_message_size;
	DAT_VLEN max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

/* Names these fields had in 1.0 and 1.1. */
#define max_mtu_size					max_message_size
#define max_rdma_read_per_ep				max_rdma_read_per_ep_in

/* Fields of DAT_IA_ATTR for dat_ia_query(). The last three are older names. */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_NONE				UINT64_C(0x0)
#define DAT_IA_FIELD_IA_ADAPTER_NAME			UINT64_C(0x000000001)
#define DAT_IA_FIELD_IA_VENDOR_NAME			UINT64_C(0x000000002)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		UINT64_C(0x000000004)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		UINT64_C(0x000000008)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		UINT64_C(0x000000010)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		UINT64_C(0x000000020)
#define DAT_IA_FIELD_IA_ADDRESS_PTR			UINT64_C(0x000000040)
#define DAT_IA_FIELD_IA_MAX_EPS				UINT64_C(0x000000080)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			UINT64_C(0x000000100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		UINT64_C(0x000000200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	UINT64_C(0x000000400)
#define DAT_IA_FIELD_IA_MAX_EVDS			UINT64_C(0x000000800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			UINT64_C(0x000001000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	UINT64_C(0x000002000)
#define DAT_IA_FIELD_IA_MAX_LMRS			UINT64_C(0x000004000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		UINT64_C(0x000008000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		UINT64_C(0x000010000)
#define DAT_IA_FIELD_IA_MAX_PZS				UINT64_C(0x000020000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		UINT64_C(0x000040000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			UINT64_C(0x000080000)
#define DAT_IA_FIELD_IA_MAX_RMRS			UINT64_C(0x000100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		UINT64_C(0x000200000)
#define DAT_IA_FIELD_IA_MAX_SRQS			UINT64_C(0x000400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			UINT64_C(0x000800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		UINT64_C(0x001000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	UINT64_C(0x002000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	UINT64_C(0x004000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		UINT64_C(0x008000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		UINT64_C(0x010000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	UINT64_C(0x020000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	UINT64_C(0x040000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		UINT64_C(0x080000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR			UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL				UINT64_C(0x07FFFFFFFF)
#define DAT_IA_ALL					DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE			DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP			DAT_IA_FIELD_IA_MAX_DTO_PER_EP

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

typedef struct dat_provider_attr DAT_PROVIDER_ATTR;

/**
 * dat_ia_open() - open an adapter by its name
 * @name: name of the IA, as in dat.conf
 * @qlen: events its asynchronous EVD has to hold
 * @async_evd: on input DAT_HANDLE_NULL, or an EVD to use; on output the EVD in use
 * @ia: the open IA
 * Consumers call this. It calls dat_ia_openv() with the version of this header, and asks for a
 * thread-safe provider only if the program defines DAT_THREADSAFE as DAT_TRUE before it includes
 * the header. The default is DAT_FALSE, and no provider of OpenDAT promises thread safety. The
 * first open of a name loads the provider. Each open makes an instance of its own; objects of two
 * instances do not mix.
 * Returns: as dat_ia_openv().
 * Thread safety: safe. Specification: dat_ia_open(3DAT).
 */
#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
		     DAT_THREADSAFE)

/**
 * dat_ia_openv() - open an adapter, for a given version of the API
 * @provider: name of the IA, as in dat.conf; shorter than DAT_NAME_MAX_LENGTH
 * @asynch_evd_min_qlen: events its asynchronous EVD has to hold; unused if one is given
 * @asynch_evd_handle: DAT_HANDLE_NULL to have an EVD created and returned; an existing EVD to use
 *   it; DAT_EVD_ASYNC_EXISTS for none
 * @ia_handle: the open IA
 * @dat_major_version_number: version of the API, DAT_VERSION_MAJOR
 * @dat_minor_version_number: DAT_VERSION_MINOR; a provider with a higher one is accepted
 * @dat_thread_safety: DAT_TRUE if the provider has to be thread-safe
 * Consumers write dat_ia_open(), which fills in the last three. The first open of a name loads the
 * provider. Each open makes an instance of its own; objects of two instances do not mix.
 * Returns: DAT_SUCCESS; DAT_PROVIDER_NOT_FOUND when no registry entry matches: the subtype says
 *   whether the name, major version, minor version or thread safety differs; DAT_INVALID_PARAMETER;
 *   DAT_INVALID_HANDLE; DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_ia_open(3DAT).
 */
extern DAT_RETURN dat_ia_openv(IN const DAT_NAME_PTR provider, IN DAT_COUNT asynch_evd_min_qlen,
		INOUT DAT_EVD_HANDLE *asynch_evd_handle, OUT DAT_IA_HANDLE *ia_handle,
		IN DAT_UINT32 dat_major_version_number, IN DAT_UINT32 dat_minor_version_number,
		IN DAT_BOOLEAN dat_thread_safety);

/**
 * dat_ia_query() - ask for the attributes of an open IA and of its provider
 * @ia_handle: IA to ask
 * @async_evd_handle: its asynchronous EVD; may be NULL
 * @ia_attr_mask: DAT_IA_FIELD_ bits of the fields wanted
 * @ia_attr: filled; may be NULL if the mask is 0
 * @provider_attr_mask: DAT_PROVIDER_FIELD_ bits of the fields wanted
 * @provider_attr: filled; may be NULL if the mask is 0
 * Pointers and arrays in the answer belong to the provider and stay valid while the IA is open.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_ia_query(3DAT).
 */
extern DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle, OUT DAT_EVD_HANDLE *async_evd_handle,
		IN DAT_IA_ATTR_MASK ia_attr_mask, OUT DAT_IA_ATTR *ia_attr,
		IN DAT_PROVIDER_ATTR_MASK provider_attr_mask, OUT DAT_PROVIDER_ATTR *provider_attr);

/**
 * dat_ia_close() - close an instance of an IA
 * @ia_handle: IA to close
 * @close_flags: DAT_CLOSE_GRACEFUL_FLAG is refused while objects are left; DAT_CLOSE_ABRUPT_FLAG
 *   destroys them
 * An abrupt close ends waits on EVDs with DAT_ABORT and waits on CNOs with no EVD. The asynchronous
 * EVD goes too if dat_ia_open() made it. Other instances of the IA are not touched.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_INVALID_STATE for a graceful
 *   close while objects are left, which stay as they are.
 * Thread safety: unsafe. Specification: dat_ia_close(3DAT).
 */
extern DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS close_flags);

/**
 * dat_set_consumer_context() - attach a value to any object
 * @dat_handle: object
 * @context: value; it replaces the former one, NULL removes it
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_set_consumer_context(3DAT).
 */
extern DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle, IN DAT_CONTEXT context);

/**
 * dat_get_consumer_context() - get the value attached to an object
 * @dat_handle: object
 * @context: value last set, NULL if none was
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_get_consumer_context(3DAT).
 */
extern DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle, OUT DAT_CONTEXT *context);

/**
 * dat_get_handle_type() - get the type of the object behind a handle
 * @dat_handle: object
 * @handle_type: its kind
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_get_handle_type(3DAT).
 */
extern DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle, OUT DAT_HANDLE_TYPE *handle_type);

/**
 * dat_cr_query() - ask which peer wants to connect, and with what private data
 * @cr_handle: request
 * @cr_param_mask: DAT_CR_FIELD_ bits of the fields wanted
 * @cr_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_cr_query(3DAT).
 */
extern DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle, IN DAT_CR_PARAM_MASK cr_param_mask,
		OUT DAT_CR_PARAM *cr_param);

/**
 * dat_cr_accept() - accept a connection request
 * @cr_handle: request; gone after success, still there after a failure
 * @ep_handle: endpoint to connect, or DAT_HANDLE_NULL if the request has one already
 * @private_data_size: bytes for the peer's ESTABLISHED event, up to max_private_data_size
 * @private_data: the bytes; may be NULL if there are none
 * The outcome is an event on the endpoint's connection EVD: DAT_CONNECTION_EVENT_ESTABLISHED, or
 * DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR.
 * Returns: DAT_SUCCESS: under way; DAT_INVALID_HANDLE, also for a missing endpoint;
 *   DAT_INVALID_PARAMETER; DAT_INVALID_STATE of the endpoint.
 * States: UNCONNECTED, or PASSIVE or TENTATIVE_CONNECTION_PENDING of the request's own endpoint, to
 *   COMPLETION_PENDING.
 * Thread safety: unsafe. Specification: dat_cr_accept(3DAT).
 */
extern DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
		IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data);

/**
 * dat_cr_reject() - turn a connection request down
 * @cr_handle: request, gone afterwards
 * The peer gets DAT_CONNECTION_EVENT_PEER_REJECTED; this side gets no event.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * States: the endpoint of an RSP goes back to UNCONNECTED, one that the provider made is gone.
 * Thread safety: unsafe. Specification: dat_cr_reject(3DAT).
 */
extern DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle);

/**
 * dat_cr_handoff() - pass a connection request on to another service point of this IA
 * @cr_handle: request, gone after success
 * @handoff: connection qualifier of that service point, which gets a request of its own
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER when nothing listens there;
 *   DAT_MODEL_NOT_SUPPORTED.
 * States: as dat_cr_reject().
 * Thread safety: unsafe. Specification: dat_cr_handoff(3DAT).
 */
extern DAT_RETURN dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

/**
 * dat_evd_resize() - change the length of an EVD's queue; no event is lost
 * @evd_handle: EVD
 * @evd_min_qlen: events it has to hold; may come out longer
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_INVALID_STATE when more events are queued.
 * Thread safety: unsafe. Specification: dat_evd_resize(3DAT).
 */
extern DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_min_qlen);

/**
 * dat_evd_post_se() - post a software event
 * @evd_handle: EVD made with DAT_EVD_SOFTWARE_FLAG
 * @event: its event_number is DAT_SOFTWARE_EVENT; the pointer in it is delivered as it is
 * Wakes a waiter, or triggers the CNO, like any other event.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_FULL, which posts no
 *   overflow error.
 * Thread safety: unsafe. Specification: dat_evd_post_se(3DAT).
 */
extern DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event);

/**
 * dat_evd_dequeue() - take the first event off an EVD, without waiting
 * @evd_handle: EVD, whether or not it is enabled or waitable
 * @event: the event
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER; DAT_QUEUE_EMPTY, without an
 *   error's class bit; DAT_INVALID_STATE while a thread is blocked in dat_evd_wait().
 * Thread safety: safe. Specification: dat_evd_dequeue(3DAT).
 */
extern DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

/**
 * dat_evd_query() - ask for the parameters of an EVD
 * @evd_handle: EVD
 * @evd_param_mask: DAT_EVD_FIELD_ bits of the fields wanted
 * @evd_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_evd_query(3DAT).
 */
extern DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle, IN DAT_EVD_PARAM_MASK evd_param_mask,
		OUT DAT_EVD_PARAM *evd_param);

/**
 * dat_evd_free() - destroy an EVD, and the events on it
 * @evd_handle: EVD
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an endpoint or service point
 *   feeds it.
 * Thread safety: unsafe. Specification: dat_evd_free(3DAT).
 */
extern DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

/**
 * dat_ep_create() - create an endpoint, one end of a connection
 * @ia_handle: IA
 * @pz_handle: protection zone its memory has to be in
 * @recv_completion_evd_handle: EVD for completed Receives, or DAT_HANDLE_NULL to drop them
 * @request_completion_evd_handle: EVD for completed Sends, RDMA transfers and binds, or
 *   DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @ep_attributes: the attributes that it has to have; NULL for the provider's defaults
 * @ep_handle: the endpoint
 * The three EVDs may be the same, if its flags allow it and the completion flags of all endpoints
 * that feed it agree.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 *   DAT_MODEL_NOT_SUPPORTED.
 * States: comes in UNCONNECTED.
 * Thread safety: safe. Specification: dat_ep_create(3DAT).
 */
extern DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		IN DAT_EVD_HANDLE recv_completion_evd_handle,
		IN DAT_EVD_HANDLE request_completion_evd_handle,
		IN DAT_EVD_HANDLE connect_evd_handle, IN const DAT_EP_ATTR *ep_attributes,
		OUT DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_query() - ask for the parameters of an endpoint
 * @ep_handle: endpoint
 * @ep_param_mask: DAT_EP_FIELD_ bits of the fields wanted
 * @ep_param: filled with the values in use
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * States: any.
 * Thread safety: unsafe. Specification: dat_ep_query(3DAT).
 */
extern DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
		OUT DAT_EP_PARAM *ep_param);

/**
 * dat_ep_modify() - change parameters of an endpoint: all that the mask names, or none if it fails
 * @ep_handle: endpoint
 * @ep_param_mask: DAT_EP_FIELD_ bits of the fields to change
 * @ep_param: new values
 * IA, state, addresses, port qualifiers and SRQ never change.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_PARAMETER for a bad value or a fixed field;
 *   DAT_INVALID_STATE when the state forbids it.
 * States: UNCONNECTED, TENTATIVE_CONNECTION_PENDING; all but the PZ also RESERVED and
 *   PASSIVE_CONNECTION_PENDING. Receive flags only before the first Receive.
 * Thread safety: unsafe. Specification: dat_ep_modify(3DAT).
 */
extern DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
		IN const DAT_EP_PARAM *ep_param);

/**
 * dat_ep_connect() - ask a remote service point for a connection
 * @ep_handle: endpoint
 * @remote_ia_address: address of the peer's IA; the port in it is not looked at
 * @remote_conn_qual: connection qualifier the peer listens on
 * @timeout: microseconds until the attempt is given up, more than 0; or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes for the peer's request, up to max_private_data_size
 * @private_data: the bytes; may be NULL if there are none
 * @quality_of_service: DAT_QOS_BEST_EFFORT always works
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG or DAT_CONNECT_MULTIPATH_FLAG
 * Exactly one event on the connection EVD reports the outcome: DAT_CONNECTION_EVENT_ESTABLISHED
 * with the peer's private data, or DAT_CONNECTION_EVENT_ followed by PEER_REJECTED,
 * NON_PEER_REJECTED, UNREACHABLE or TIMED_OUT. After a failure reset the endpoint before you
 * connect it again.
 * Returns: DAT_SUCCESS: under way; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_ADDRESS,
 *   DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES; DAT_MODEL_NOT_SUPPORTED for a quality not
 *   offered.
 * States: UNCONNECTED to ACTIVE_CONNECTION_PENDING.
 * Thread safety: unsafe. Specification: dat_ep_connect(3DAT).
 */
extern DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
		IN DAT_IA_ADDRESS_PTR remote_ia_address, IN DAT_CONN_QUAL remote_conn_qual,
		IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
		IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service,
		IN DAT_CONNECT_FLAGS connect_flags);

/**
 * dat_ep_dup_connect() - ask for a connection to the service point that another endpoint is
 *   connected to
 * @ep_handle: endpoint to connect
 * @ep_dup_handle: connected endpoint to copy address, qualifier and connect flags from
 * @timeout: microseconds, as for dat_ep_connect()
 * @private_data_size: bytes for the peer's request, up to max_private_data_size
 * @private_data: the bytes; may be NULL if there are none
 * @quality_of_service: as for dat_ep_connect()
 * Events as for dat_ep_connect(). The other endpoint is not touched.
 * Returns: DAT_SUCCESS: under way; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * States: UNCONNECTED to ACTIVE_CONNECTION_PENDING; the other one CONNECTED.
 * Thread safety: unsafe. Specification: dat_ep_dup_connect(3DAT).
 */
extern DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_HANDLE ep_dup_handle,
		IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
		IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service);

/**
 * dat_ep_disconnect() - end a connection, or an attempt at one
 * @ep_handle: endpoint
 * @close_flags: in CONNECTED, DAT_CLOSE_GRACEFUL_FLAG lets posted requests finish first
 * Each side gets DAT_CONNECTION_EVENT_DISCONNECTED once. Outstanding operations are flushed in the
 * order in which they were posted.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_INSUFFICIENT_RESOURCES.
 * States: CONNECTED, ACTIVE_CONNECTION_PENDING, COMPLETION_PENDING and DISCONNECT_PENDING to
 *   DISCONNECTED, by way of DISCONNECT_PENDING if graceful; DISCONNECTED: nothing to do.
 * Thread safety: unsafe. Specification: dat_ep_disconnect(3DAT).
 */
extern DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle, IN DAT_CLOSE_FLAGS close_flags);

/**
 * dat_ep_post_send() - send a message to the peer, which receives it into one Receive
 * @ep_handle: endpoint
 * @num_segments: length of local_iov; 0 sends an empty message
 * @local_iov: pieces of memory, sent in this order; LOCAL_READ
 * @user_cookie: comes back with the completion
 * @completion_flags: SUPPRESS, SOLICITED_WAIT, UNSIGNALLED, BARRIER_FENCE or 0
 * After the completion the memory may be reused. The call never blocks while the endpoint is
 * connected.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES when
 *   max_request_dtos are outstanding.
 * States: CONNECTED; DISCONNECTED, where it is flushed at once; COMPLETION_PENDING, where providers
 *   made with OpenDAT wait up to 100 milliseconds for the confirmation of the connection, and post
 *   then or return DAT_INVALID_STATE.
 * Thread safety: unsafe. Specification: dat_ep_post_send(3DAT).
 */
extern DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_recv() - provide memory for one message of the peer
 * @ep_handle: endpoint without an SRQ
 * @num_segments: length of local_iov; 0 takes an empty message
 * @local_iov: pieces of memory, filled in this order; LOCAL_WRITE
 * @user_cookie: comes back with the completion
 * @completion_flags: UNSIGNALLED or 0
 * Receives are filled in the order in which they were posted. A message that is longer than its
 * Receive completes it with DAT_DTO_ERR_LOCAL_LENGTH.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES when
 *   max_recv_dtos are outstanding.
 * States: any; in DISCONNECTED it is flushed at once.
 * Thread safety: unsafe. Specification: dat_ep_post_recv(3DAT).
 */
extern DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_read() - read data from the peer's memory
 * @ep_handle: endpoint
 * @num_segments: length of local_iov
 * @local_iov: pieces of memory, filled in this order; LOCAL_WRITE
 * @user_cookie: comes back with the completion
 * @remote_iov: the peer's memory; REMOTE_READ
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE or 0
 * The peer takes no part and sees no event. A fault at the peer's memory completes with
 * DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 * Returns: DAT_SUCCESS: posted; DAT_LENGTH_ERROR when the local memory is too small; else as
 *   dat_ep_post_send().
 * States: as dat_ep_post_send().
 * Thread safety: unsafe. Specification: dat_ep_post_rdma_read(3DAT).
 */
extern DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN const DAT_RMR_TRIPLET *remote_iov, IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_post_rdma_write() - write data into the peer's memory
 * @ep_handle: endpoint
 * @num_segments: length of local_iov
 * @local_iov: pieces of memory, written in this order; LOCAL_READ
 * @user_cookie: comes back with the completion
 * @remote_iov: the peer's memory; REMOTE_WRITE
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE or 0
 * The peer takes no part and sees no event; what is sent afterwards arrives after the data. A fault
 * at the peer's memory completes with DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 * Returns: DAT_SUCCESS: posted; DAT_LENGTH_ERROR when the remote memory is too small; else as
 *   dat_ep_post_send().
 * States: as dat_ep_post_send().
 * Thread safety: unsafe. Specification: dat_ep_post_rdma_write(3DAT).
 */
extern DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
		IN const DAT_RMR_TRIPLET *remote_iov, IN DAT_COMPLETION_FLAGS completion_flags);

/**
 * dat_ep_get_status() - get the state of an endpoint at this moment
 * @ep_handle: endpoint
 * @ep_state: its state
 * @recv_idle: DAT_TRUE if no Receive is outstanding
 * @request_idle: DAT_TRUE if no Send, RDMA transfer or bind is outstanding
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * States: any.
 * Thread safety: safe. Specification: dat_ep_get_status(3DAT).
 */
extern DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
		OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle);

/**
 * dat_ep_free() - destroy an endpoint; the peer sees its connection end
 * @ep_handle: endpoint
 * Completions not yet dequeued may be lost.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * States: all but RESERVED, PASSIVE and TENTATIVE_CONNECTION_PENDING, which dat_rsp_free() and
 *   dat_cr_reject() end.
 * Thread safety: unsafe. Specification: dat_ep_free(3DAT).
 */
extern DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_reset() - make a disconnected endpoint ready to connect again
 * @ep_handle: endpoint
 * Completions that were not dequeued may be lost. The private data of the connection are no longer
 * valid.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * States: DISCONNECTED to UNCONNECTED; UNCONNECTED: nothing to do, Receives stay posted.
 * Thread safety: unsafe. Specification: dat_ep_reset(3DAT).
 */
extern DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/**
 * dat_ep_create_with_srq() - create an endpoint that takes its Receives from an SRQ
 * @ia_handle: IA
 * @pz_handle: protection zone; may have to be that of the SRQ, see srq_ep_pz_difference_supported
 * @recv_evd_handle: EVD for completed Receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completed requests, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @srq_handle: SRQ, for as long as the endpoint lives
 * @ep_attributes: what it has to be able to do, not NULL; max_recv_iov is not looked at
 * @ep_handle: the endpoint
 * Returns: as dat_ep_create(); DAT_MODEL_NOT_SUPPORTED without SRQs.
 * States: comes in UNCONNECTED.
 * Thread safety: safe. Specification: dat_ep_create_with_srq(3DAT).
 */
extern DAT_RETURN dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		IN DAT_EVD_HANDLE recv_evd_handle, IN DAT_EVD_HANDLE request_evd_handle,
		IN DAT_EVD_HANDLE connect_evd_handle, IN DAT_SRQ_HANDLE srq_handle,
		IN const DAT_EP_ATTR *ep_attributes, OUT DAT_EP_HANDLE *ep_handle);

/**
 * dat_ep_recv_query() - ask how many Receives an endpoint holds
 * @ep_handle: endpoint
 * @nbufs_allocated: Receives posted, or taken from the SRQ, and not completed; may be NULL
 * @bufs_alloc_span: Receives from the first to the last that is held; may be NULL
 * A count that the provider does not know is DAT_VALUE_UNKNOWN.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * States: any.
 * Thread safety: unsafe. Specification: dat_ep_recv_query(3DAT).
 */
extern DAT_RETURN dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle, OUT DAT_COUNT *nbufs_allocated,
		OUT DAT_COUNT *bufs_alloc_span);

/**
 * dat_ep_set_watermark() - set how many Receives an endpoint may hold
 * @ep_handle: endpoint
 * @soft_high_watermark: Receives; when more are held, one asynchronous event comes for each setting
 * @hard_high_watermark: Receives; when more are held, the connection breaks
 * DAT_WATERMARK_INFINITE, the default, switches a mark off.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * States: any.
 * Thread safety: unsafe. Specification: dat_ep_set_watermark(3DAT).
 */
extern DAT_RETURN dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT soft_high_watermark,
		IN DAT_COUNT hard_high_watermark);

/**
 * dat_lmr_query() - ask for the parameters of an LMR
 * @lmr_handle: LMR
 * @lmr_param_mask: DAT_LMR_FIELD_ bits of the fields wanted
 * @lmr_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_lmr_query(3DAT).
 */
extern DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle, IN DAT_LMR_PARAM_MASK lmr_param_mask,
		OUT DAT_LMR_PARAM *lmr_param);

/**
 * dat_lmr_free() - end the registration of memory; the memory itself stays
 * @lmr_handle: LMR
 * After it has returned, no peer can access the memory through this LMR. While endpoints are
 * connected this may take some milliseconds over a device that does not guarantee it by itself.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an RMR is bound to it.
 * Thread safety: unsafe. Specification: dat_lmr_free(3DAT).
 */
extern DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/**
 * dat_lmr_sync_rdma_read() - make local stores visible to later RDMA Reads of peers
 * @ia_handle: IA
 * @local_segments: pieces of memory, of any LMRs
 * @num_segments: how many
 * Needed where lmr_sync_req is DAT_TRUE, harmless elsewhere.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_lmr_sync_rdma_read(3DAT).
 */
extern DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
		IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments);

/**
 * dat_lmr_sync_rdma_write() - make RDMA Writes of peers visible to later local loads
 * @ia_handle: IA
 * @local_segments: pieces of memory, of any LMRs
 * @num_segments: how many
 * Needed where lmr_sync_req is DAT_TRUE, harmless elsewhere.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_lmr_sync_rdma_write(3DAT).
 */
extern DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
		IN const DAT_LMR_TRIPLET *local_segments, IN DAT_VLEN num_segments);

/**
 * dat_rmr_create() - create a memory window, which can be bound to registered memory for a peer
 * @pz_handle: protection zone
 * @rmr_handle: the RMR, unbound
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_rmr_create(3DAT).
 */
extern DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle, OUT DAT_RMR_HANDLE *rmr_handle);

/**
 * dat_rmr_query() - ask for the parameters of an RMR
 * @rmr_handle: RMR
 * @rmr_param_mask: DAT_RMR_FIELD_ bits of the fields wanted
 * @rmr_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_rmr_query(3DAT).
 */
extern DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle, IN DAT_RMR_PARAM_MASK rmr_param_mask,
		OUT DAT_RMR_PARAM *rmr_param);

/**
 * dat_rmr_bind() - bind an RMR to a piece of an LMR, or unbind it
 * @rmr_handle: RMR
 * @lmr_triplet: the piece; a length of 0 unbinds
 * @mem_priv: remote rights to give
 * @ep_handle: endpoint whose request queue executes the bind, and whose peer gets the rights
 * @user_cookie: comes back with the completion
 * @completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE or 0
 * @context: key for the peer, valid from the completion on; the previous key becomes invalid then
 * The bind completes with DAT_RMR_BIND_COMPLETION_EVENT; later requests of the endpoint are
 * executed after it. A bind that fails after the call has returned breaks the connection and
 * changes nothing else: the RMR stays bound as it was, to the same LMR.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION, DAT_INSUFFICIENT_RESOURCES,
 *   DAT_MODEL_NOT_SUPPORTED.
 * States: CONNECTED; DISCONNECTED, where it is flushed at once; COMPLETION_PENDING, as of
 *   dat_ep_post_send().
 * Thread safety: unsafe. Specification: dat_rmr_bind(3DAT).
 */
extern DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN const DAT_LMR_TRIPLET *lmr_triplet,
		IN DAT_MEM_PRIV_FLAGS mem_priv, IN DAT_EP_HANDLE ep_handle,
		IN DAT_RMR_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
		OUT DAT_RMR_CONTEXT *context);

/**
 * dat_rmr_free() - destroy an RMR, bound or not; its key becomes invalid
 * @rmr_handle: RMR
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_rmr_free(3DAT).
 */
extern DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

/**
 * dat_psp_create() - listen on a connection qualifier until dat_psp_free()
 * @ia_handle: IA
 * @conn_qual: qualifier, any number
 * @evd_handle: EVD for the requests, made with DAT_EVD_CR_FLAG; its length is the backlog
 * @psp_flags: who makes the endpoints
 * @psp_handle: the PSP; it listens
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_CONN_QUAL_IN_USE,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_psp_create(3DAT).
 */
extern DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
		IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
		OUT DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_create_any() - listen on a connection qualifier that the provider chooses
 * @ia_handle: IA
 * @conn_qual: the qualifier
 * @evd_handle: EVD for the requests, made with DAT_EVD_CR_FLAG
 * @psp_flags: who makes the endpoints
 * @psp_handle: the PSP; it listens
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_CONN_QUAL_UNAVAILABLE,
 *   DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_psp_create_any(3DAT).
 */
extern DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle, OUT DAT_CONN_QUAL *conn_qual,
		IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
		OUT DAT_PSP_HANDLE *psp_handle);

/**
 * dat_psp_query() - ask for the parameters of a PSP
 * @psp_handle: PSP
 * @psp_param_mask: DAT_PSP_FIELD_ bits of the fields wanted
 * @psp_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_psp_query(3DAT).
 */
extern DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle, IN DAT_PSP_PARAM_MASK psp_param_mask,
		OUT DAT_PSP_PARAM *psp_param);

/**
 * dat_psp_free() - stop listening; requests that have arrived stay valid
 * @psp_handle: PSP
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * Thread safety: unsafe. Specification: dat_psp_free(3DAT).
 */
extern DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/**
 * dat_rsp_create() - listen for one request, with an endpoint reserved for it
 * @ia_handle: IA
 * @conn_qual: qualifier
 * @ep_handle: endpoint to set aside
 * @evd_handle: EVD for the request, made with DAT_EVD_CR_FLAG
 * @rsp_handle: the RSP; when its request arrives it gives up its qualifier and its EVD; its handle
 *   stays valid until dat_rsp_free()
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 *   DAT_CONN_QUAL_IN_USE, DAT_INSUFFICIENT_RESOURCES.
 * States: UNCONNECTED to RESERVED; with the request to PASSIVE_CONNECTION_PENDING.
 * Thread safety: safe. Specification: dat_rsp_create(3DAT).
 */
extern DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
		IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle,
		OUT DAT_RSP_HANDLE *rsp_handle);

/**
 * dat_rsp_query() - ask for the parameters of an RSP
 * @rsp_handle: RSP
 * @rsp_param_mask: DAT_RSP_FIELD_ bits of the fields wanted
 * @rsp_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_rsp_query(3DAT).
 */
extern DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle, IN DAT_RSP_PARAM_MASK rsp_param_mask,
		OUT DAT_RSP_PARAM *rsp_param);

/**
 * dat_rsp_free() - stop listening; a request that has arrived stays valid
 * @rsp_handle: RSP
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * States: RESERVED back to UNCONNECTED.
 * Thread safety: unsafe. Specification: dat_rsp_free(3DAT).
 */
extern DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

/**
 * dat_pz_create() - create a protection zone: endpoints can use only memory of their own zone
 * @ia_handle: IA
 * @pz_handle: the PZ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_pz_create(3DAT).
 */
extern DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle);

/**
 * dat_pz_query() - ask for the parameters of a PZ
 * @pz_handle: PZ
 * @pz_param_mask: DAT_PZ_FIELD_ bits of the fields wanted
 * @pz_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: safe. Specification: dat_pz_query(3DAT).
 */
extern DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle, IN DAT_PZ_PARAM_MASK pz_param_mask,
		OUT DAT_PZ_PARAM *pz_param);

/**
 * dat_pz_free() - destroy a protection zone
 * @pz_handle: PZ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE while an EP, LMR, RMR or SRQ is in
 *   it.
 * Thread safety: unsafe. Specification: dat_pz_free(3DAT).
 */
extern DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

/**
 * dat_srq_create() - create a queue of Receives that many endpoints take from
 * @ia_handle: IA
 * @pz_handle: protection zone of its buffers
 * @srq_attr: its size; low_watermark is DAT_SRQ_LW_DEFAULT
 * @srq_handle: the SRQ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 *   DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: safe. Specification: dat_srq_create(3DAT).
 */
extern DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
		IN DAT_SRQ_ATTR *srq_attr, OUT DAT_SRQ_HANDLE *srq_handle);

/**
 * dat_srq_free() - destroy an SRQ and the buffers posted to it
 * @srq_handle: SRQ
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE; DAT_INVALID_STATE with subtype
 *   DAT_INVALID_STATE_SRQ_IN_USE while an endpoint uses it.
 * Thread safety: unsafe. Specification: dat_srq_free(3DAT).
 */
extern DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

/**
 * dat_srq_post_recv() - provide memory for one message to any endpoint of an SRQ
 * @srq_handle: SRQ
 * @num_segments: length of local_iov; 0 takes an empty message
 * @local_iov: pieces of memory, filled in this order; LOCAL_WRITE, in the SRQ's PZ
 * @user_cookie: comes back with the completion
 * The completion arrives on the Receive EVD of the endpoint that took the buffer.
 * Returns: DAT_SUCCESS: posted; DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 *   DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION; DAT_INSUFFICIENT_RESOURCES when it is full.
 * States: endpoints take buffers while CONNECTED or DISCONNECT_PENDING.
 * Thread safety: unsafe. Specification: dat_srq_post_recv(3DAT).
 */
extern DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT num_segments,
		IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie);

/**
 * dat_srq_query() - ask for the parameters of an SRQ
 * @srq_handle: SRQ
 * @srq_param_mask: DAT_SRQ_FIELD_ bits of the fields wanted
 * @srq_param: filled
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Thread safety: unsafe. Specification: dat_srq_query(3DAT).
 */
extern DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle, IN DAT_SRQ_PARAM_MASK srq_param_mask,
		OUT DAT_SRQ_PARAM *srq_param);

/**
 * dat_srq_resize() - change the length of an SRQ; no buffer is lost
 * @srq_handle: SRQ
 * @srq_max_recv_dto: buffers it has to hold; may come out longer
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 *   DAT_INVALID_STATE when more are outstanding, or the low watermark is higher.
 * Thread safety: unsafe. Specification: dat_srq_resize(3DAT).
 */
extern DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT srq_max_recv_dto);

/**
 * dat_srq_set_lw() - ask for an asynchronous event when an SRQ runs low
 * @srq_handle: SRQ
 * @low_watermark: buffers; one event comes when fewer are left, at once if fewer are left now
 * DAT_SRQ_LW_DEFAULT asks for no event. After the event the mark has to be set again.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 * Thread safety: unsafe. Specification: dat_srq_set_lw(3DAT).
 */
extern DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark);

/**
 * dat_registry_list_providers() - list the IAs that the registry knows, without loading any
 *   provider
 * @max_to_return: length of dat_provider_list; 0 asks for the number alone
 * @entries_returned: number of entries filled; if max_to_return is 0, the number of entries that
 *   exist
 * @dat_provider_list: pointers to structs of the caller, filled in the order of dat.conf
 * Returns: DAT_SUCCESS; DAT_INVALID_PARAMETER, also if max_to_return is 0;
 *   DAT_INSUFFICIENT_RESOURCES.
 * Thread safety: safe. Specification: dat_registry_list_providers(3DAT).
 */
extern DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
		OUT DAT_COUNT *entries_returned, OUT DAT_PROVIDER_INFO *(dat_provider_list[]));

/**
 * dat_strerror() - translate a return value into text
 * @dat_function_return: what a DAT function returned
 * @major_message_string: name of its type
 * @minor_message_string: name of its subtype, empty if it has none; may be NULL
 * The strings are constants of the library. They are set to a printable text in every case.
 * Returns: DAT_SUCCESS; DAT_INVALID_PARAMETER for a value that the standard does not define.
 * Thread safety: safe. Specification: dat_strerror(3DAT).
 */
extern DAT_RETURN dat_strerror(IN DAT_RETURN dat_function_return,
		OUT const char **major_message_string, OUT const char **minor_message_string);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_H */
