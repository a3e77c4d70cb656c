/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uDAPL 1.2, the part that user space and kernel have in common: types, objects, events. It needs
 * types of udat.h, and so it includes udat.h if the program has not. What DAT 2.0 has as well is in
 * dat_common.h and dat_calls.h.
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

#include "dat_common.h"
#include "dat_error.h"
#include "dat_vendor_specific.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * struct dat_rmr_param - what dat_rmr_query() returns
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
 * @DAT_EP_STATE_UNCONNECTED: idle; the consumer may connect it
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
 * struct dat_ep_param - what dat_ep_query() returns and dat_ep_modify() changes
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

/**
 * union dat_sp_handle - the service point a request came to; the consumer knows which kind it is
 */
typedef union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
} DAT_SP_HANDLE;

/** enum dat_srq_state - state of a shared receive queue */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL	= 0,
	DAT_SRQ_STATE_ERROR		= 1
} DAT_SRQ_STATE;

/**
 * struct dat_srq_param - what dat_srq_query() returns
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
 * @sp_handle: service point; an RSP's handle is valid until dat_rsp_free()
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
 * struct dat_event - an event, as dat_evd_wait() and dat_evd_dequeue() return it
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
 * struct dat_ia_attr - what dat_ia_query() returns about the adapter; counts are limits of one IA
 *   unless they say "per"
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

typedef struct dat_provider_attr DAT_PROVIDER_ATTR;

/**
 * dat_cr_reject() - reject a connection request
 * @cr_handle: request, gone afterwards
 * The peer gets DAT_CONNECTION_EVENT_PEER_REJECTED; this side gets no event.
 * Returns: DAT_SUCCESS, DAT_INVALID_HANDLE.
 * States: the endpoint of an RSP goes back to UNCONNECTED, one that the provider made is destroyed.
 * Thread safety: unsafe. Specification: dat_cr_reject(3DAT).
 */
extern DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle);

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

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_H */
