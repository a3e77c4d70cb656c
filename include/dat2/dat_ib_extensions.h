/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The InfiniBand extensions of DAT 2.0, version 2.0.9: what dat_extension_op() does with an IA whose
 * extension_supported is DAT_EXTENSION_IB. The calls are macros over it. A call that a provider does
 * not have returns DAT_NOT_IMPLEMENTED.
 *
 * A transfer of an extension completes with DAT_IB_DTO_EVENT: its dto_completion_event_data are
 * those of any transfer, and its event_extension_data are a DAT_IB_EXTENSION_EVENT_DATA. After a
 * failure only the status counts.
 */
#ifndef OPENDAT_DAT2_DAT_IB_EXTENSIONS_H
#define OPENDAT_DAT2_DAT_IB_EXTENSIONS_H

#include "udat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In hundreds and ones, as extension_version of DAT_IA_ATTR. */
#define DAT_IB_EXTENSION_VERSION			209

/*
 * Names of attributes of the provider, whose values are "TRUE" or "FALSE": whether it has the
 * transfers, datagrams, counters and collective calls below.
 */
#define DAT_IB_ATTR_CMP_AND_SWAP			"DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_COUNTERS				"DAT_COUNTERS"
#define DAT_IB_ATTR_FETCH_AND_ADD			"DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_IMMED_DATA				"DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_UD					"DAT_IB_UD"
#define DAT_ATTR_COUNTERS				DAT_IB_ATTR_COUNTERS
#define DAT_IB_COLL_ALLGATHER				"DAT_COLL_ALLGATHER"
#define DAT_IB_COLL_ALLGATHERV				"DAT_COLL_ALLGATHERV"
#define DAT_IB_COLL_ALLREDUCE				"DAT_COLL_ALLREDUCE"
#define DAT_IB_COLL_ALLTOALL				"DAT_COLL_ALLTOALL"
#define DAT_IB_COLL_ALLTOALLV				"DAT_COLL_ALLTOALLV"
#define DAT_IB_COLL_BARRIER				"DAT_COLL_BARRIER"
#define DAT_IB_COLL_BROADCAST				"DAT_COLL_BROADCAST"
#define DAT_IB_COLL_GATHER				"DAT_COLL_GATHER"
#define DAT_IB_COLL_GATHERV				"DAT_COLL_GATHERV"
#define DAT_IB_COLL_READ_CLOCK				"DAT_COLL_READ_CLOCK"
#define DAT_IB_COLL_REDUCE				"DAT_COLL_REDUCE"
#define DAT_IB_COLL_REDUCE_SCATTER			"DAT_COLL_REDUCE_SCATTER"
#define DAT_IB_COLL_SCAN				"DAT_COLL_SCAN"
#define DAT_IB_COLL_SCATTER				"DAT_COLL_SCATTER"
#define DAT_IB_COLL_SCATTERV				"DAT_COLL_SCATTERV"
#define DAT_IB_COLL_SET_CLOCK				"DAT_COLL_SET_CLOCK"

/**
 * enum dat_ib_event_number - events of the extension
 * @DAT_IB_DTO_EVENT: a transfer of the extension has completed
 */
typedef enum dat_ib_event_number {
	DAT_IB_DTO_EVENT			= 0x40000,
	DAT_IB_UD_CONNECTION_REQUEST_EVENT	= 0x40001,
	DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED	= 0x40002,
	DAT_IB_UD_CONNECTION_REJECT_EVENT	= 0x40003,
	DAT_IB_UD_CONNECTION_ERROR_EVENT	= 0x40004,
	DAT_IB_COLLECTIVE_EVENT			= 0x40005
} DAT_IB_EVENT_NUMBER;

/** enum dat_ib_op - numbers of the calls for dat_extension_op() */
typedef enum dat_ib_op {
	DAT_IB_FETCH_AND_ADD_OP			= 0x0,
	DAT_IB_CMP_AND_SWAP_OP			= 0x1,
	DAT_IB_RDMA_WRITE_IMMED_OP		= 0x2,
	DAT_IB_UD_SEND_OP			= 0x3,
	DAT_IB_QUERY_COUNTERS_OP		= 0x4,
	DAT_IB_PRINT_COUNTERS_OP		= 0x5,
	DAT_IB_COLLECTIVE_CREATE_MEMBER_OP	= 0x6,
	DAT_IB_COLLECTIVE_FREE_MEMBER_OP	= 0x7,
	DAT_IB_COLLECTIVE_CREATE_GROUP_OP	= 0x8,
	DAT_IB_COLLECTIVE_FREE_GROUP_OP		= 0x9,
	DAT_IB_COLLECTIVE_SET_CLOCK_OP		= 0xa,
	DAT_IB_COLLECTIVE_READ_CLOCK_OP		= 0xb,
	DAT_IB_COLLECTIVE_SCATTER_OP		= 0xc,
	DAT_IB_COLLECTIVE_SCATTERV_OP		= 0xd,
	DAT_IB_COLLECTIVE_GATHER_OP		= 0xe,
	DAT_IB_COLLECTIVE_GATHERV_OP		= 0xf,
	DAT_IB_COLLECTIVE_ALLGATHER_OP		= 0x10,
	DAT_IB_COLLECTIVE_ALLGATHERV_OP		= 0x11,
	DAT_IB_COLLECTIVE_ALLTOALL_OP		= 0x12,
	DAT_IB_COLLECTIVE_ALLTOALLV_OP		= 0x13,
	DAT_IB_COLLECTIVE_REDUCE_OP		= 0x14,
	DAT_IB_COLLECTIVE_ALLREDUCE_OP		= 0x15,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP	= 0x16,
	DAT_IB_COLLECTIVE_SCAN_OP		= 0x17,
	DAT_IB_COLLECTIVE_BROADCAST_OP		= 0x18,
	DAT_IB_COLLECTIVE_BARRIER_OP		= 0x19,
	DAT_IB_START_COUNTERS_OP		= 0x1a,
	DAT_IB_STOP_COUNTERS_OP			= 0x1b,
	DAT_IB_UD_CM_FREE_OP			= 0x1c,
	DAT_IB_UD_AH_FREE_OP			= 0x1d,
	DAT_IB_OPEN_QUERY_OP			= 0x1000,
	DAT_IB_CLOSE_QUERY_OP			= 0x2000
} DAT_IB_OP;
#define DAT_QUERY_COUNTERS_OP				DAT_IB_QUERY_COUNTERS_OP
#define DAT_PRINT_COUNTERS_OP				DAT_IB_PRINT_COUNTERS_OP

/**
 * enum dat_ib_ext_type - what has completed, and so which member of the event's data counts
 * @DAT_IB_RDMA_WRITE_IMMED: a write with immediate data, to the side that posted it
 * @DAT_IB_RDMA_WRITE_IMMED_DATA: the same, to the side whose Receive it took: val.immed counts
 * @DAT_IB_RECV_IMMED_DATA: a message that came with immediate data: val.immed counts
 */
typedef enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD			= 0x0,
	DAT_IB_CMP_AND_SWAP			= 0x1,
	DAT_IB_RDMA_WRITE_IMMED			= 0x2,
	DAT_IB_RDMA_WRITE_IMMED_DATA		= 0x3,
	DAT_IB_RECV_IMMED_DATA			= 0x4,
	DAT_IB_UD_CONNECT_REQUEST		= 0x5,
	DAT_IB_UD_REMOTE_AH			= 0x6,
	DAT_IB_UD_PASSIVE_REMOTE_AH		= 0x7,
	DAT_IB_UD_SEND				= 0x8,
	DAT_IB_UD_RECV				= 0x9,
	DAT_IB_UD_CONNECT_REJECT		= 0xa,
	DAT_IB_UD_CONNECT_ERROR			= 0xb,
	DAT_IB_COLLECTIVE_CREATE_STATUS		= 0xc,
	DAT_IB_COLLECTIVE_CREATE_DATA		= 0xd,
	DAT_IB_COLLECTIVE_CLOCK_SET_STATUS	= 0xe,
	DAT_IB_COLLECTIVE_SCATTER_STATUS	= 0xf,
	DAT_IB_COLLECTIVE_SCATTERV_STATUS	= 0x10,
	DAT_IB_COLLECTIVE_GATHER_STATUS		= 0x11,
	DAT_IB_COLLECTIVE_GATHERV_STATUS	= 0x12,
	DAT_IB_COLLECTIVE_ALLGATHER_STATUS	= 0x13,
	DAT_IB_COLLECTIVE_ALLGATHERV_STATUS	= 0x14,
	DAT_IB_COLLECTIVE_ALLTOALL_STATUS	= 0x15,
	DAT_IB_COLLECTIVE_ALLTOALLV_STATUS	= 0x16,
	DAT_IB_COLLECTIVE_REDUCE_STATUS		= 0x17,
	DAT_IB_COLLECTIVE_ALLREDUCE_STATUS	= 0x18,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS	= 0x19,
	DAT_IB_COLLECTIVE_SCAN_STATUS		= 0x1a,
	DAT_IB_COLLECTIVE_BROADCAST_STATUS	= 0x1b,
	DAT_IB_COLLECTIVE_BARRIER_STATUS	= 0x1c
} DAT_IB_EXT_TYPE;

/** enum dat_ib_status - how a call ended; for a transfer this is its DAT_DTO_COMPLETION_STATUS */
typedef enum dat_ib_status {
	DAT_OP_SUCCESS		= 0,
	DAT_IB_OP_ERR		= 1,
	DAT_IB_COLL_COMP_ERR	= 2
} DAT_IB_STATUS;

/** enum dat_ib_return - types of DAT_RETURN of the extension */
typedef enum dat_ib_return {
	DAT_IB_ERR		= 0x10000000,
	DAT_IB_COLLECTIVE_ERR	= 0x10000001
} DAT_IB_RETURN;

/** enum dat_ib_dtos - kinds of transfer of the extension, beside DAT_DTOS */
typedef enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED	= 8,
	DAT_IB_DTO_RECV_IMMED		= 9,
	DAT_IB_DTO_FETCH_ADD		= 10,
	DAT_IB_DTO_CMP_SWAP		= 11,
	DAT_IB_DTO_RECV_MSG_IMMED	= 12,
	DAT_IB_DTO_SEND_UD		= 13,
	DAT_IB_DTO_RECV_UD		= 14,
	DAT_IB_DTO_RECV_UD_IMMED	= 15,
	DAT_IB_DTO_COLLECTIVES		= 16
} DAT_IB_DTOS;

/** enum dat_ib_handle_type - kinds of object of the extension, beside DAT_HANDLE_TYPE */
typedef enum dat_ib_handle_type {
	DAT_IB_HANDLE_TYPE_EXT		= 12,
	DAT_IB_HANDLE_TYPE_COLLECTIVE	= 13
} DAT_IB_HANDLE_TYPE;

/** enum dat_ib_evd_extension_flags - kinds of event stream of the extension, beside DAT_EVD_FLAGS */
typedef enum dat_ib_evd_extension_flags {
	DAT_IB_EVD_EXTENSION_FLAG	= 0x200
} DAT_IB_EVD_EXTENSION_FLAGS;

/**
 * enum dat_ib_mem_priv_flags - rights to memory of the extension, beside DAT_MEM_PRIV_FLAGS
 * @DAT_IB_MEM_PRIV_REMOTE_ATOMIC: a peer may change it by fetch-and-add and compare-and-swap
 */
typedef enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC	= 0x40
} DAT_IB_MEM_PRIV_FLAGS;

/** enum dat_ib_service_type - kinds of connection of the extension: unreliable datagrams */
typedef enum dat_ib_service_type {
	DAT_IB_SERVICE_TYPE_UD	= 1
} DAT_IB_SERVICE_TYPE;

/**
 * struct dat_ib_addr_handle - where a datagram goes
 * @ah: address handle of verbs
 * @qpn: number of the queue pair
 * @ia_addr: address of the IA
 */
typedef struct dat_ib_addr_handle {
	struct ibv_ah *ah;
	DAT_UINT32 qpn;
	DAT_SOCK_ADDR6 ia_addr;
} DAT_IB_ADDR_HANDLE;

/**
 * struct dat_ib_immed_data - immediate data
 * @data: the 32 bits as the peer has given them, in its byte order
 */
typedef struct dat_ib_immed_data {
	DAT_UINT32 data;
} DAT_IB_IMMED_DATA;

/** struct dat_ib_collective_event_data - a collective call has ended */
typedef struct dat_ib_collective_event_data {
	DAT_HANDLE handle;
	DAT_CONTEXT context;
} DAT_IB_COLLECTIVE_EVENT_DATA;

/**
 * struct dat_ib_extension_event_data - what event_extension_data of an event hold
 * @type: what has completed
 * @status: how it ended
 * @val: immediate data
 * @context: a value of the consumer's
 */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;
	DAT_IB_STATUS status;
	union {
		DAT_IB_IMMED_DATA immed;
	} val;
	__extension__ union {
		DAT_IB_ADDR_HANDLE remote_ah;
		DAT_IB_COLLECTIVE_EVENT_DATA coll;
	};
	DAT_CONTEXT context;
} DAT_IB_EXTENSION_EVENT_DATA;

/* Atomic transfers: 8 bytes, aligned, in the host's byte order; one local segment gets the old value. */
#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs) \
	dat_extension_op((ep), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)(add_val), \
		(DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf), \
		(DAT_COMPLETION_FLAGS)(flgs))
#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs) \
	dat_extension_op((ep), DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)(cmp_val), \
		(DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
		(DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

/* An RDMA Write that also takes a Receive of the peer, which completes with the immediate data. */
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs) \
	dat_extension_op((ep), DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)(size), \
		(DAT_LMR_TRIPLET *)(lbuf), (cookie), (DAT_RMR_TRIPLET *)(rbuf), \
		(DAT_UINT32)(idata), (DAT_COMPLETION_FLAGS)(flgs))

/* Datagrams. */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs) \
	dat_extension_op((ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments), \
		(DAT_LMR_TRIPLET *)(lbuf), (DAT_IB_ADDR_HANDLE *)(ah_ptr), (cookie), \
		(DAT_COMPLETION_FLAGS)(flgs))
#define dat_ib_post_recv_ud				dat_ep_post_recv
#define dat_ib_ud_cm_free(ep, cm) \
	dat_extension_op((ep), DAT_IB_UD_CM_FREE_OP, (cm))
#define dat_ib_ud_ah_free(ep, ah) \
	dat_extension_op((ep), DAT_IB_UD_AH_FREE_OP, (DAT_IB_ADDR_HANDLE *)(ah))

/* Attributes without an open: the handle that open_query returns is valid only for close_query. */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr) \
	dat_extension_op(NULL, DAT_IB_OPEN_QUERY_OP, (const DAT_NAME_PTR)(name), \
		(DAT_HANDLE *)(ia_handle), (DAT_IA_ATTR_MASK)(ia_mask), (DAT_IA_ATTR *)(ia_attr), \
		(DAT_PROVIDER_ATTR_MASK)(prov_mask), (DAT_PROVIDER_ATTR *)(prov_attr))
#define dat_ib_close_query(ia_handle) \
	dat_extension_op((ia_handle), DAT_IB_CLOSE_QUERY_OP)

/** enum dat_ia_counters - counters of an IA */
typedef enum dat_ia_counters {
	DCNT_IA_PZ_CREATE		= 0,
	DCNT_IA_PZ_FREE			= 1,
	DCNT_IA_LMR_CREATE		= 2,
	DCNT_IA_LMR_FREE		= 3,
	DCNT_IA_RMR_CREATE		= 4,
	DCNT_IA_RMR_FREE		= 5,
	DCNT_IA_PSP_CREATE		= 6,
	DCNT_IA_PSP_CREATE_ANY		= 7,
	DCNT_IA_PSP_FREE		= 8,
	DCNT_IA_RSP_CREATE		= 9,
	DCNT_IA_RSP_FREE		= 10,
	DCNT_IA_EVD_CREATE		= 11,
	DCNT_IA_EVD_FREE		= 12,
	DCNT_IA_EP_CREATE		= 13,
	DCNT_IA_EP_FREE			= 14,
	DCNT_IA_SRQ_CREATE		= 15,
	DCNT_IA_SRQ_FREE		= 16,
	DCNT_IA_SP_CR			= 17,
	DCNT_IA_SP_CR_ACCEPTED		= 18,
	DCNT_IA_SP_CR_REJECTED		= 19,
	DCNT_IA_MEM_ALLOC		= 20,
	DCNT_IA_MEM_ALLOC_DATA		= 21,
	DCNT_IA_MEM_FREE		= 22,
	DCNT_IA_ASYNC_ERROR		= 23,
	DCNT_IA_ASYNC_QP_ERROR		= 24,
	DCNT_IA_ASYNC_CQ_ERROR		= 25,
	DCNT_IA_CM_LISTEN		= 26,
	DCNT_IA_CM_REQ_TX		= 27,
	DCNT_IA_CM_REQ_RX		= 28,
	DCNT_IA_CM_REP_TX		= 29,
	DCNT_IA_CM_REP_RX		= 30,
	DCNT_IA_CM_RTU_TX		= 31,
	DCNT_IA_CM_RTU_RX		= 32,
	DCNT_IA_CM_USER_REJ_TX		= 33,
	DCNT_IA_CM_USER_REJ_RX		= 34,
	DCNT_IA_CM_ACTIVE_EST		= 35,
	DCNT_IA_CM_PASSIVE_EST		= 36,
	DCNT_IA_CM_AH_REQ_TX		= 37,
	DCNT_IA_CM_AH_REQ_RX		= 38,
	DCNT_IA_CM_AH_RESOLVED		= 39,
	DCNT_IA_CM_DREQ_TX		= 40,
	DCNT_IA_CM_DREQ_RX		= 41,
	DCNT_IA_CM_DREP_TX		= 42,
	DCNT_IA_CM_DREP_RX		= 43,
	DCNT_IA_CM_MRA_TX		= 44,
	DCNT_IA_CM_MRA_RX		= 45,
	DCNT_IA_CM_REQ_FULLQ_POLL	= 46,
	DCNT_IA_CM_ERR			= 47,
	DCNT_IA_CM_ERR_REQ_FULLQ	= 48,
	DCNT_IA_CM_ERR_REQ_DUP		= 49,
	DCNT_IA_CM_ERR_REQ_RETRY	= 50,
	DCNT_IA_CM_ERR_REP_DUP		= 51,
	DCNT_IA_CM_ERR_REP_RETRY	= 52,
	DCNT_IA_CM_ERR_RTU_DUP		= 53,
	DCNT_IA_CM_ERR_RTU_RETRY	= 54,
	DCNT_IA_CM_ERR_REFUSED		= 55,
	DCNT_IA_CM_ERR_RESET		= 56,
	DCNT_IA_CM_ERR_TIMEOUT		= 57,
	DCNT_IA_CM_ERR_REJ_TX		= 58,
	DCNT_IA_CM_ERR_REJ_RX		= 59,
	DCNT_IA_CM_ERR_DREQ_DUP		= 60,
	DCNT_IA_CM_ERR_DREQ_RETRY	= 61,
	DCNT_IA_CM_ERR_DREP_DUP		= 62,
	DCNT_IA_CM_ERR_DREP_RETRY	= 63,
	DCNT_IA_CM_ERR_MRA_DUP		= 64,
	DCNT_IA_CM_ERR_MRA_RETRY	= 65,
	DCNT_IA_CM_ERR_UNEXPECTED	= 66,
	DCNT_IA_LNK_ERR_RCV		= 67,
	DCNT_IA_LNK_ERR_RCV_REM_PHYS	= 68,
	DCNT_IA_LNK_ERR_RCV_CONSTRAINT	= 69,
	DCNT_IA_LNK_ERR_XMT_DISCARDS	= 70,
	DCNT_IA_LNK_ERR_XMT_CONTRAINT	= 71,
	DCNT_IA_LNK_ERR_INTEGRITY	= 72,
	DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN	= 73,
	DCNT_IA_LNK_WARN_RCV_SW_RELAY	= 74,
	DCNT_IA_LNK_WARN_XMT_WAIT	= 75,
	DCNT_IA_DIAG_ERR_RQ_RAE		= 76,
	DCNT_IA_DIAG_ERR_RQ_OOS		= 77,
	DCNT_IA_DIAG_ERR_RQ_RIRE	= 78,
	DCNT_IA_DIAG_ERR_RQ_UDSDPRD	= 79,
	DCNT_IA_DIAG_ERR_SQ_RAE		= 80,
	DCNT_IA_DIAG_ERR_SQ_OOS		= 81,
	DCNT_IA_DIAG_ERR_SQ_RIRE	= 82,
	DCNT_IA_DIAG_ERR_SQ_RREE	= 83,
	DCNT_IA_DIAG_ERR_SQ_TREE	= 84,
	DCNT_IA_ALL_COUNTERS		= 85
} DAT_IA_COUNTERS;

/** enum dat_ep_counters - counters of an endpoint; a name in DATA counts bytes */
typedef enum dat_ep_counters {
	DCNT_EP_CONNECT			= 0,
	DCNT_EP_DISCONNECT		= 1,
	DCNT_EP_POST_SEND		= 2,
	DCNT_EP_POST_SEND_DATA		= 3,
	DCNT_EP_POST_SEND_UD		= 4,
	DCNT_EP_POST_SEND_UD_DATA	= 5,
	DCNT_EP_POST_RECV		= 6,
	DCNT_EP_POST_RECV_DATA		= 7,
	DCNT_EP_POST_WRITE		= 8,
	DCNT_EP_POST_WRITE_DATA		= 9,
	DCNT_EP_POST_WRITE_IMM		= 10,
	DCNT_EP_POST_WRITE_IMM_DATA	= 11,
	DCNT_EP_POST_READ		= 12,
	DCNT_EP_POST_READ_DATA		= 13,
	DCNT_EP_POST_CMP_SWAP		= 14,
	DCNT_EP_POST_FETCH_ADD		= 15,
	DCNT_EP_RECV			= 16,
	DCNT_EP_RECV_DATA		= 17,
	DCNT_EP_RECV_UD			= 18,
	DCNT_EP_RECV_UD_DATA		= 19,
	DCNT_EP_RECV_IMM		= 20,
	DCNT_EP_RECV_IMM_DATA		= 21,
	DCNT_EP_RECV_RDMA_IMM		= 22,
	DCNT_EP_RECV_RDMA_IMM_DATA	= 23,
	DCNT_EP_ALL_COUNTERS		= 24
} DAT_EP_COUNTERS;

/** enum dat_evd_counters - counters of an EVD */
typedef enum dat_evd_counters {
	DCNT_EVD_WAIT			= 0,
	DCNT_EVD_WAIT_BLOCKED		= 1,
	DCNT_EVD_WAIT_NOTIFY		= 2,
	DCNT_EVD_DEQUEUE		= 3,
	DCNT_EVD_DEQUEUE_FOUND		= 4,
	DCNT_EVD_DEQUEUE_NOT_FOUND	= 5,
	DCNT_EVD_DEQUEUE_POLL		= 6,
	DCNT_EVD_DEQUEUE_POLL_FOUND	= 7,
	DCNT_EVD_CONN_CALLBACK		= 8,
	DCNT_EVD_DTO_CALLBACK		= 9,
	DCNT_EVD_ALL_COUNTERS		= 10
} DAT_EVD_COUNTERS;

/** enum dat_ia_counter_type - groups of an IA's counters */
typedef enum dat_ia_counter_type {
	DCNT_IA_CM	= 0,
	DCNT_IA_LNK	= 1,
	DCNT_IA_DIAG	= 2
} DAT_IA_COUNTER_TYPE;

/*
 * Counters of an object: cntr is the name of one, or the one in ALL_COUNTERS for all of them;
 * p_cntrs_out gets 64 bits for each, and reset other than 0 sets them to 0.
 */
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
	dat_extension_op((dat_handle), DAT_QUERY_COUNTERS_OP, (int)(cntr), \
		(DAT_UINT64 *)(p_cntrs_out), (int)(reset))
#define dat_ib_print_counters(dat_handle, cntr, reset) \
	dat_extension_op((dat_handle), DAT_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))
#define dat_query_counters				dat_ib_query_counters
#define dat_print_counters				dat_ib_print_counters

/* Collective calls, which no provider of OpenDAT has. */
typedef DAT_HANDLE DAT_IB_COLLECTIVE_HANDLE;
typedef unsigned int DAT_IB_COLLECTIVE_RANK;
typedef unsigned int DAT_IB_COLLECTIVE_ID;
typedef void *DAT_IB_COLLECTIVE_MEMBER;

/** enum dat_ib_collective_data_type - types of what is reduced */
typedef enum dat_ib_collective_data_type {
	DAT_IB_COLLECTIVE_TYPE_INT8		= 0,
	DAT_IB_COLLECTIVE_TYPE_UINT8		= 1,
	DAT_IB_COLLECTIVE_TYPE_INT16		= 2,
	DAT_IB_COLLECTIVE_TYPE_UINT16		= 3,
	DAT_IB_COLLECTIVE_TYPE_INT32		= 4,
	DAT_IB_COLLECTIVE_TYPE_UINT32		= 5,
	DAT_IB_COLLECTIVE_TYPE_INT64		= 6,
	DAT_IB_COLLECTIVE_TYPE_UINT64		= 7,
	DAT_IB_COLLECTIVE_TYPE_FLOAT		= 8,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE		= 9,
	DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE	= 10,
	DAT_IB_COLLECTIVE_TYPE_SHORT_INT	= 11,
	DAT_IB_COLLECTIVE_TYPE_2INT		= 12,
	DAT_IB_COLLECTIVE_TYPE_FLOAT_INT	= 13,
	DAT_IB_COLLECTIVE_TYPE_LONG_INT		= 14,
	DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT	= 15
} DAT_IB_COLLECTIVE_DATA_TYPE;

/** enum dat_ib_collective_reduce_data_op - how it is reduced */
typedef enum dat_ib_collective_reduce_data_op {
	DAT_IB_COLLECTIVE_REDUCE_OP_MAX		= 0,
	DAT_IB_COLLECTIVE_REDUCE_OP_MIN		= 1,
	DAT_IB_COLLECTIVE_REDUCE_OP_SUM		= 2,
	DAT_IB_COLLECTIVE_REDUCE_OP_PROD	= 3,
	DAT_IB_COLLECTIVE_REDUCE_OP_LAND	= 4,
	DAT_IB_COLLECTIVE_REDUCE_OP_BAND	= 5,
	DAT_IB_COLLECTIVE_REDUCE_OP_LOR		= 6,
	DAT_IB_COLLECTIVE_REDUCE_OP_BOR		= 7,
	DAT_IB_COLLECTIVE_REDUCE_OP_LXOR	= 8,
	DAT_IB_COLLECTIVE_REDUCE_OP_BXOR	= 9,
	DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC	= 10,
	DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC	= 11
} DAT_IB_COLLECTIVE_REDUCE_DATA_OP;

/** struct dat_ib_collective_group - the ranks of a group, and where they run */
typedef struct dat_ib_collective_group {
	int local_size;
	int local_rank;
	int *local_ranks;
	int external_size;
	int external_rank;
	int *external_ranks;
	int *intranode_table;
	int *internode_table;
	int is_comm_world;
} DAT_IB_COLLECTIVE_GROUP;

#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size) \
	dat_extension_op((ia_handle), DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, (void *)(progress_func), \
		(DAT_IB_COLLECTIVE_MEMBER *)(member), (DAT_UINT32 *)(member_size))
#define dat_ib_collective_free_member(ia_handle, member) \
	dat_extension_op((ia_handle), DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
		(DAT_IB_COLLECTIVE_MEMBER)(member))
#define dat_ib_collective_create_group(members, group_size, self, group_id, group_info, evd, \
		pd, user_context) \
	dat_extension_op((evd), DAT_IB_COLLECTIVE_CREATE_GROUP_OP, \
		(DAT_IB_COLLECTIVE_MEMBER *)(members), (DAT_COUNT)(group_size), \
		(DAT_IB_COLLECTIVE_RANK)(self), (DAT_IB_COLLECTIVE_ID)(group_id), \
		(DAT_IB_COLLECTIVE_GROUP *)(group_info), (DAT_PZ_HANDLE)(pd), (user_context))
#define dat_ib_collective_free_group(coll_handle) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_FREE_GROUP_OP)
#define dat_ib_collective_read_clock(coll_handle, clock_value) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
		(DAT_UINT64 *)(clock_value))
#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root, \
		user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SCATTER_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(DAT_IB_COLLECTIVE_RANK)(root), (user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, recvbuf, recvsize, \
		root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SCATTERV_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT *)(sendsizes), (DAT_COUNT *)(displs), (DAT_PVOID)(recvbuf), \
		(DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
		(DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root, \
		user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_GATHER_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(DAT_IB_COLLECTIVE_RANK)(root), (user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, displs, \
		root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_GATHERV_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbufs), (DAT_COUNT *)(recvsizes), \
		(DAT_COUNT *)(displs), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
		(DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
		user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLGATHER_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, \
		displs, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLGATHERV_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes), \
		(DAT_COUNT *)(displs), (user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
		user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLTOALL_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes, senddspls, recvbuf, \
		recvsizes, recvdispls, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLTOALLV_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT *)(sendsizes), (DAT_COUNT *)(senddspls), (DAT_PVOID)(recvbuf), \
		(DAT_COUNT *)(recvsizes), (DAT_COUNT *)(recvdispls), (user_context), \
		(DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
		root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_REDUCE_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), (DAT_IB_COLLECTIVE_DATA_TYPE)(type), \
		(DAT_IB_COLLECTIVE_RANK)(root), (user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, \
		type, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLREDUCE_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), (DAT_IB_COLLECTIVE_DATA_TYPE)(type), \
		(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, \
		op, type, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes), \
		(DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), (DAT_IB_COLLECTIVE_DATA_TYPE)(type), \
		(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
		user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SCAN_OP, (DAT_PVOID)(sendbuf), \
		(DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
		(DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), (DAT_IB_COLLECTIVE_DATA_TYPE)(type), \
		(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_BROADCAST_OP, (DAT_PVOID)(buf), \
		(DAT_COUNT)(size), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
		(DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_barrier(coll_handle, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_BARRIER_OP, (user_context), \
		(DAT_COMPLETION_FLAGS)(flags))

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT2_DAT_IB_EXTENSIONS_H */
