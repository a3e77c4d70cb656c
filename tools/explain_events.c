/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What events, completion statuses and reasons mean; explain.h states the invariant.
 */
#include "config.h"

#include <stddef.h>

#include "explain.h"

#define ROW(id, text, remedy) { (uint64_t)(id), #id, text, remedy }
#define END { 0, NULL, NULL, NULL }

const struct meaning explain_events[] = {
	ROW(DAT_DTO_COMPLETION_EVENT,
	    "a transfer is complete; its status tells how it ended",
	    NULL),
	ROW(DAT_RMR_BIND_COMPLETION_EVENT,
	    "a bind is complete; its status tells how it ended",
	    NULL),
	ROW(DAT_CONNECTION_REQUEST_EVENT,
	    "a peer wants to connect: accept or reject it",
	    NULL),
	ROW(DAT_CONNECTION_EVENT_ESTABLISHED,
	    "the connection stands",
	    NULL),
	ROW(DAT_CONNECTION_EVENT_PEER_REJECTED,
	    "the program at the other side rejected the connection",
	    "ask it why: the peer called dat_cr_reject"),
	ROW(DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
	    "the other host was reached, but nobody listens there, the backlog is "
	    "full, or the two adapters found no agreement",
	    "see that the server runs and listens at this qualifier: on its host, "
	    "datctl check --listen QUAL"),
	ROW(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
	    "a connection was accepted, and could not be completed",
	    "see what the other side says; it may have given up"),
	ROW(DAT_CONNECTION_EVENT_DISCONNECTED,
	    "the connection was ended in order, by one side or the other",
	    NULL),
	ROW(DAT_CONNECTION_EVENT_BROKEN,
	    "the connection broke: the peer is gone, a transfer failed, or a "
	    "message found no receive",
	    "look at the status of the transfers that came before it, on both sides"),
	ROW(DAT_CONNECTION_EVENT_TIMED_OUT,
	    "nobody answered in the time given to dat_ep_connect",
	    "see that the peer runs and the network is up: datctl ping IA ADDRESS"),
	ROW(DAT_CONNECTION_EVENT_UNREACHABLE,
	    "there is no way to that address",
	    "give an address on the network of this adapter: datctl check --peer "
	    "ADDRESS:QUAL"),
	ROW(DAT_ASYNC_ERROR_EVD_OVERFLOW,
	    "an event queue was full and an event was lost",
	    "make the EVD longer, or take events off it faster"),
	ROW(DAT_ASYNC_ERROR_IA_CATASTROPHIC,
	    "the adapter is broken",
	    "close it with DAT_CLOSE_ABRUPT_FLAG and open it again; dmesg tells "
	    "what the driver says"),
	ROW(DAT_ASYNC_ERROR_EP_BROKEN,
	    "an endpoint is broken, or has reached its watermark; the reason tells "
	    "which",
	    NULL),
	ROW(DAT_ASYNC_ERROR_TIMED_OUT,
	    "an operation of the provider took too long",
	    NULL),
	ROW(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
	    "the provider failed, or an SRQ has reached its watermark; the reason "
	    "tells which",
	    "DAT_LOG=debug shows what the provider says"),
	ROW(DAT_SOFTWARE_EVENT,
	    "the program posted it itself, with dat_evd_post_se",
	    NULL),
	END
};

const struct meaning explain_dto[] = {
	ROW(DAT_DTO_SUCCESS,
	    "the transfer is complete",
	    NULL),
	ROW(DAT_DTO_ERR_FLUSHED,
	    "it was never started, since the connection was over",
	    "look at the transfer or event that ended the connection; this is a "
	    "consequence"),
	ROW(DAT_DTO_ERR_LOCAL_LENGTH,
	    "the message is longer than the memory of the receive it found, or the "
	    "segments do not fit",
	    "post receives as long as the longest message"),
	ROW(DAT_DTO_ERR_LOCAL_EP,
	    "the endpoint failed locally",
	    NULL),
	ROW(DAT_DTO_ERR_LOCAL_PROTECTION,
	    "the local memory has another PZ, lacks the right, or the segment "
	    "reaches beyond its region",
	    "compare the segment with what dat_lmr_create returned"),
	ROW(DAT_DTO_ERR_BAD_RESPONSE,
	    "the peer's answer made no sense",
	    NULL),
	ROW(DAT_DTO_ERR_REMOTE_ACCESS,
	    "the peer's memory has another key or PZ, lacks the right, or the "
	    "target reaches beyond its region",
	    "compare the target with the RMR context and address that the peer sent"),
	ROW(DAT_DTO_ERR_REMOTE_RESPONDER,
	    "the peer's adapter could not carry it out",
	    NULL),
	ROW(DAT_DTO_ERR_TRANSPORT,
	    "the peer or the network no longer answers",
	    "see that the peer runs; datctl ping IA ADDRESS"),
	ROW(DAT_DTO_ERR_RECEIVER_NOT_READY,
	    "the peer had no receive posted for this message",
	    "the peer has to post receives before they are needed; agree on credits"),
	ROW(DAT_DTO_ERR_PARTIAL_PACKET,
	    "only a part of the message arrived",
	    NULL),
	ROW(DAT_RMR_OPERATION_FAILED,
	    "the bind failed",
	    "the region has to be an LMR of the same PZ, with the rights that the "
	    "window is to give"),
	END
};

const struct meaning explain_reasons[] = {
	ROW(DAT_IA_CATASTROPHIC_ERROR,
	    "asynchronous, of an IA: the adapter is broken",
	    "close it with DAT_CLOSE_ABRUPT_FLAG and open it again"),
	ROW(DAT_IA_OTHER_ERROR,
	    "asynchronous, of an IA: something else",
	    "DAT_LOG=debug shows what the provider says"),
	ROW(DAT_EP_TRANSFER_TO_ERROR,
	    "asynchronous, of an endpoint: it failed",
	    "dat_ep_reset, and connect again"),
	ROW(DAT_EP_OTHER_ERROR,
	    "asynchronous, of an endpoint: something else",
	    NULL),
	ROW(DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT,
	    "asynchronous, of an endpoint: it holds more receives than its soft "
	    "watermark; no error",
	    NULL),
	ROW(DAT_EVD_OVERFLOW_ERROR,
	    "asynchronous, of an EVD: an event was lost",
	    "make the EVD longer"),
	ROW(DAT_EVD_OTHER_ERROR,
	    "asynchronous, of an EVD: something else",
	    NULL),
	ROW(DAT_SRQ_TRANSFER_TO_ERROR,
	    "asynchronous, of an SRQ: it failed",
	    "free its endpoints and the SRQ, and make new ones"),
	ROW(DAT_SRQ_OTHER_ERROR,
	    "asynchronous, of an SRQ: something else",
	    NULL),
	ROW(DAT_SRQ_LOW_WATERMARK_EVENT,
	    "asynchronous, of an SRQ: fewer buffers are left than its low "
	    "watermark; no error",
	    "post more buffers"),
	ROW(DAT_LMR_OTHER_ERROR,
	    "asynchronous, of an LMR",
	    NULL),
	ROW(DAT_RMR_OTHER_ERROR,
	    "asynchronous, of an RMR",
	    NULL),
	ROW(DAT_PZ_OTHER_ERROR,
	    "asynchronous, of a PZ",
	    NULL),
	END
};
