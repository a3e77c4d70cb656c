/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The meaning of events, completion statuses and reasons; explain.h states the invariant.
 */
#include "config.h"

#include <stddef.h>

#include "explain.h"

#define ROW(id, text, remedy) { (uint64_t)(id), #id, text, remedy }
#define END { 0, NULL, NULL, NULL }

const struct meaning explain_events[] = {
	ROW(DAT_DTO_COMPLETION_EVENT,
	    "a transfer is complete; its status says how it ended",
	    NULL),
	ROW(DAT_RMR_BIND_COMPLETION_EVENT,
	    "a bind is complete; its status says how it ended",
	    NULL),
	ROW(DAT_CONNECTION_REQUEST_EVENT,
	    "a peer wants to connect: accept or reject it",
	    NULL),
	ROW(DAT_CONNECTION_EVENT_ESTABLISHED,
	    "the connection is established",
	    NULL),
	ROW(DAT_CONNECTION_EVENT_PEER_REJECTED,
	    "the program on the other side rejected the connection",
	    "find out why that program called dat_cr_reject"),
	ROW(DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
	    "the other host was reached, but no program listens there, the backlog "
	    "is full, or the two adapters could not agree on the connection",
	    "check that the server runs and listens at this qualifier: on its host, "
	    "datctl check --listen QUAL"),
	ROW(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
	    "a connection request was accepted, but the connection could not be completed",
	    "see what the other side reports; it may have stopped waiting"),
	ROW(DAT_CONNECTION_EVENT_DISCONNECTED,
	    "one of the two sides disconnected the connection",
	    NULL),
	ROW(DAT_CONNECTION_EVENT_BROKEN,
	    "the connection broke: the peer is gone, a transfer failed, or a "
	    "message found no receive",
	    "look at the status of the transfers before this event, on both sides"),
	ROW(DAT_CONNECTION_EVENT_TIMED_OUT,
	    "the peer did not answer within the timeout of dat_ep_connect",
	    "check that the peer runs and the network is up: datctl ping IA ADDRESS"),
	ROW(DAT_CONNECTION_EVENT_UNREACHABLE,
	    "this adapter has no route to that address, or nothing answers there",
	    "give an address on the network of this adapter: datctl check --peer "
	    "ADDRESS:QUAL"),
	ROW(DAT_ASYNC_ERROR_EVD_OVERFLOW,
	    "an event queue was full and an event was lost",
	    "make the EVD longer, or take events off it faster"),
	ROW(DAT_ASYNC_ERROR_IA_CATASTROPHIC,
	    "the adapter is broken",
	    "close it with DAT_CLOSE_ABRUPT_FLAG and open it again; dmesg prints "
	    "what the driver reports"),
	ROW(DAT_ASYNC_ERROR_EP_BROKEN,
	    "an endpoint is broken, or has reached its watermark; the reason says "
	    "which",
	    NULL),
	ROW(DAT_ASYNC_ERROR_TIMED_OUT,
	    "an operation of the provider took too long",
	    NULL),
	ROW(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
	    "the provider failed, or an SRQ has reached its watermark; the reason "
	    "says which",
	    "run the program with DAT_LOG=debug to see what the provider reports"),
	ROW(DAT_SOFTWARE_EVENT,
	    "the program posted this event itself, with dat_evd_post_se",
	    NULL),
#ifdef EXPLAIN_API_20
	ROW(DAT_HA_DOWN_TO_1,
	    "a connection with several paths has one path left",
	    "look for the link that has gone down"),
	ROW(DAT_HA_UP_TO_MULTI_PATH,
	    "a connection has several paths again",
	    NULL),
	ROW(DAT_EXTENSION_EVENT,
	    "an event of an extension; the extension says which",
	    NULL),
	ROW(DAT_IB_EXTENSION_RANGE_BASE,
	    "the first number of the events of the InfiniBand extensions",
	    NULL),
	ROW(DAT_IB_DTO_EVENT,
	    "a transfer of the InfiniBand extensions is complete; its status says "
	    "how it ended",
	    NULL),
	ROW(DAT_IB_UD_CONNECTION_REQUEST_EVENT,
	    "a peer asks for the address of a datagram endpoint",
	    NULL),
	ROW(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
	    "the address of the peer's datagram endpoint is known",
	    NULL),
	ROW(DAT_IB_UD_CONNECTION_REJECT_EVENT,
	    "the peer rejected the request for the address of its datagram endpoint",
	    "find out why the program on the other side called dat_cr_reject"),
	ROW(DAT_IB_UD_CONNECTION_ERROR_EVENT,
	    "the address of the peer's datagram endpoint could not be obtained",
	    "check that the peer runs and the network is up"),
	ROW(DAT_IB_COLLECTIVE_EVENT,
	    "a collective operation is complete",
	    NULL),
	ROW(DAT_IW_EXTENSION_RANGE_BASE,
	    "the first number of the events of the iWARP extensions",
	    NULL),
#endif
	END
};

const struct meaning explain_dto[] = {
	ROW(DAT_DTO_SUCCESS,
	    "the transfer is complete",
	    NULL),
	ROW(DAT_DTO_ERR_FLUSHED,
	    "the transfer was not completed, because the connection ended",
	    "look for the transfer or event that ended the connection; this one is "
	    "only a consequence"),
	ROW(DAT_DTO_ERR_LOCAL_LENGTH,
	    "the message is longer than the receive that it was matched with, or "
	    "the segments do not fit",
	    "post receives as long as the longest message"),
	ROW(DAT_DTO_ERR_LOCAL_EP,
	    "the endpoint failed locally",
	    NULL),
	ROW(DAT_DTO_ERR_LOCAL_PROTECTION,
	    "the local memory has another PZ than the endpoint or lacks the "
	    "privilege, or the segment is not within its region",
	    "compare the segment with the region that dat_lmr_create returned"),
	ROW(DAT_DTO_ERR_BAD_RESPONSE,
	    "the peer's response is invalid",
	    NULL),
	ROW(DAT_DTO_ERR_REMOTE_ACCESS,
	    "the peer's memory has another key or PZ or lacks the privilege, or the "
	    "target is not within its region",
	    "compare the target with the RMR context and address that the peer sent"),
	ROW(DAT_DTO_ERR_REMOTE_RESPONDER,
	    "the peer's adapter could not execute the transfer",
	    NULL),
	ROW(DAT_DTO_ERR_TRANSPORT,
	    "the peer or the network no longer answers",
	    "check that the peer runs; datctl ping IA ADDRESS"),
	ROW(DAT_DTO_ERR_RECEIVER_NOT_READY,
	    "the peer had no receive posted for this message",
	    "have the peer post receives before messages arrive, for example by "
	    "credits that the two programs agree on"),
	ROW(DAT_DTO_ERR_PARTIAL_PACKET,
	    "only a part of the message has arrived",
	    NULL),
	ROW(DAT_RMR_OPERATION_FAILED,
	    "the bind failed",
	    "bind to an LMR of the same PZ, which has the privileges that the window "
	    "grants"),
#ifdef EXPLAIN_API_20
	ROW(DAT_DTO_ERR_LOCAL_MM_ERROR,
	    "a memory management operation of the endpoint failed locally",
	    NULL),
#endif
	END
};

const struct meaning explain_reasons[] = {
	ROW(DAT_IA_CATASTROPHIC_ERROR,
	    "asynchronous error of an IA: the adapter is broken",
	    "close it with DAT_CLOSE_ABRUPT_FLAG and open it again"),
	ROW(DAT_IA_OTHER_ERROR,
	    "asynchronous error of an IA: any other error",
	    "run the program with DAT_LOG=debug to see what the provider reports"),
	ROW(DAT_EP_TRANSFER_TO_ERROR,
	    "asynchronous error of an endpoint: it has failed",
	    "call dat_ep_reset, and connect again"),
	ROW(DAT_EP_OTHER_ERROR,
	    "asynchronous error of an endpoint: any other error",
	    NULL),
	ROW(DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT,
	    "no error: an endpoint holds more receives than its soft high watermark",
	    NULL),
	ROW(DAT_EVD_OVERFLOW_ERROR,
	    "asynchronous error of an EVD: it was full, and an event was lost",
	    "make the EVD longer"),
	ROW(DAT_EVD_OTHER_ERROR,
	    "asynchronous error of an EVD: any other error",
	    NULL),
	ROW(DAT_SRQ_TRANSFER_TO_ERROR,
	    "asynchronous error of an SRQ: it has failed",
	    "free its endpoints and the SRQ, and create new ones"),
	ROW(DAT_SRQ_OTHER_ERROR,
	    "asynchronous error of an SRQ: any other error",
	    NULL),
	ROW(DAT_SRQ_LOW_WATERMARK_EVENT,
	    "no error: an SRQ holds fewer buffers than its low watermark",
	    "post more buffers"),
	ROW(DAT_LMR_OTHER_ERROR,
	    "asynchronous error of an LMR",
	    NULL),
	ROW(DAT_RMR_OTHER_ERROR,
	    "asynchronous error of an RMR",
	    NULL),
	ROW(DAT_PZ_OTHER_ERROR,
	    "asynchronous error of a PZ",
	    NULL),
	END
};
