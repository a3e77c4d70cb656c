/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what the APIs have different types for: events, segments and the names of extensions. It is compiled for DAT 1.2, and by
 * print_types20.c for 2.0, whose headers have the same names. Invariant: this includes no header that includes one of the two.
 */
#include <inttypes.h>

#ifdef TRACE_API_20
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#define TRACE_API      trace_api20
#define REMOTE_ADDRESS virtual_address
#else
#include <dat/udat.h>
#define TRACE_API      trace_api12
#define REMOTE_ADDRESS target_address
#endif

#include "text.h"

#define SEGMENTS_SHOWN 4

static const char *event_name(DAT_EVENT_NUMBER number)
{
#define NAME(e)                                                                                    \
	case e:                                                                                    \
		return #e
	switch (number) {
		NAME(DAT_DTO_COMPLETION_EVENT);
		NAME(DAT_RMR_BIND_COMPLETION_EVENT);
		NAME(DAT_CONNECTION_REQUEST_EVENT);
		NAME(DAT_CONNECTION_EVENT_ESTABLISHED);
		NAME(DAT_CONNECTION_EVENT_PEER_REJECTED);
		NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		NAME(DAT_CONNECTION_EVENT_DISCONNECTED);
		NAME(DAT_CONNECTION_EVENT_BROKEN);
		NAME(DAT_CONNECTION_EVENT_TIMED_OUT);
		NAME(DAT_CONNECTION_EVENT_UNREACHABLE);
		NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW);
		NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC);
		NAME(DAT_ASYNC_ERROR_EP_BROKEN);
		NAME(DAT_ASYNC_ERROR_TIMED_OUT);
		NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
		NAME(DAT_SOFTWARE_EVENT);
#ifdef TRACE_API_20
		NAME(DAT_HA_DOWN_TO_1);
		NAME(DAT_HA_UP_TO_MULTI_PATH);
	case (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT:
		return "DAT_IB_DTO_EVENT";
#endif
	default:
		return NULL;
	}
#undef NAME
}

static const char *status_name(DAT_DTO_COMPLETION_STATUS status)
{
#define NAME(e)                                                                                    \
	case e:                                                                                    \
		return #e
	switch (status) {
		NAME(DAT_DTO_SUCCESS);
		NAME(DAT_DTO_ERR_FLUSHED);
		NAME(DAT_DTO_ERR_LOCAL_LENGTH);
		NAME(DAT_DTO_ERR_LOCAL_EP);
		NAME(DAT_DTO_ERR_LOCAL_PROTECTION);
		NAME(DAT_DTO_ERR_BAD_RESPONSE);
		NAME(DAT_DTO_ERR_REMOTE_ACCESS);
		NAME(DAT_DTO_ERR_REMOTE_RESPONDER);
		NAME(DAT_DTO_ERR_TRANSPORT);
		NAME(DAT_DTO_ERR_RECEIVER_NOT_READY);
		NAME(DAT_DTO_ERR_PARTIAL_PACKET);
#ifdef TRACE_API_20
		NAME(DAT_DTO_ERR_LOCAL_MM_ERROR);
#endif
	default:
		return "?";
	}
#undef NAME
}

#ifdef TRACE_API_20
static const char *operation_name(unsigned int operation)
{
#define NAME(e)                                                                                    \
	case e:                                                                                    \
		return #e
	switch (operation) {
		NAME(DAT_DTO_SEND);
		NAME(DAT_DTO_RDMA_WRITE);
		NAME(DAT_DTO_RDMA_READ);
		NAME(DAT_DTO_RECEIVE);
		NAME(DAT_IB_DTO_RDMA_WRITE_IMMED);
		NAME(DAT_IB_DTO_RECV_IMMED);
		NAME(DAT_IB_DTO_FETCH_ADD);
		NAME(DAT_IB_DTO_CMP_SWAP);
	default:
		return "?";
	}
#undef NAME
}
#endif

static void put_event(struct trace_text *text, const void *of)
{
	const DAT_EVENT *event = of;
	const char *name = event_name(event->event_number);

	if (name)
		trace_put(text, "{%s", name);
	else
		trace_put(text, "{event 0x%x", event->event_number);
	switch (event->event_number) {
#ifdef TRACE_API_20
	case (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT:
#endif
	case DAT_DTO_COMPLETION_EVENT: {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event->event_data.dto_completion_event_data;

		trace_put(text, " ep=%p cookie=0x%" PRIx64 " %s length=%" PRIu64, dto->ep_handle,
			  (uint64_t)dto->user_cookie.as_64, status_name(dto->status),
			  (uint64_t)dto->transfered_length);
#ifdef TRACE_API_20
		if (dto->status == DAT_DTO_SUCCESS)
			trace_put(text, " %s", operation_name((unsigned int)dto->operation));
#endif
		break;
	}
	case DAT_RMR_BIND_COMPLETION_EVENT: {
		const DAT_RMR_BIND_COMPLETION_EVENT_DATA *rmr =
			&event->event_data.rmr_completion_event_data;

		trace_put(text, " rmr=%p cookie=0x%" PRIx64 " %s", rmr->rmr_handle,
			  (uint64_t)rmr->user_cookie.as_64, status_name(rmr->status));
		break;
	}
	case DAT_CONNECTION_REQUEST_EVENT: {
		const DAT_CR_ARRIVAL_EVENT_DATA *cr = &event->event_data.cr_arrival_event_data;

		trace_put(text, " cr=%p qual=%" PRIu64, cr->cr_handle, (uint64_t)cr->conn_qual);
		break;
	}
	case DAT_SOFTWARE_EVENT:
		trace_put(text, " pointer=%p", event->event_data.software_event_data.pointer);
		break;
	default:
		if ((event->event_number & 0xff000) == (DAT_CONNECTION_EVENT_ESTABLISHED & 0xff000))
			trace_put(text, " ep=%p private_data_size=%d",
				  event->event_data.connect_event_data.ep_handle,
				  event->event_data.connect_event_data.private_data_size);
	}
	trace_put(text, "}");
}

static void put_segments(struct trace_text *text, const void *list, int n)
{
	const DAT_LMR_TRIPLET *iov = list;

	trace_put(text, "[");
	for (int i = 0; iov && i < n && i < SEGMENTS_SHOWN; i++)
		trace_put(text, "%s{0x%x 0x%" PRIx64 "+%" PRIu64 "}", i ? " " : "",
			  iov[i].lmr_context, (uint64_t)iov[i].virtual_address,
			  (uint64_t)iov[i].segment_length);
	trace_put(text, n > SEGMENTS_SHOWN ? " ...]" : "]");
}

static void put_target(struct trace_text *text, const void *of)
{
	const DAT_RMR_TRIPLET *target = of;

	trace_put(text, "{0x%x 0x%" PRIx64 "+%" PRIu64 "}", target->rmr_context, (uint64_t)target->REMOTE_ADDRESS,
		  (uint64_t)target->segment_length);
}

static void put_op(struct trace_text *text, unsigned int op)
{
#ifdef TRACE_API_20
	static const struct {
		unsigned int op;
		const char *name;
	} ops[] = {
#define OP(name) { name, #name }
		OP(DAT_IB_FETCH_AND_ADD_OP), OP(DAT_IB_CMP_AND_SWAP_OP), OP(DAT_IB_RDMA_WRITE_IMMED_OP),
		OP(DAT_IB_UD_SEND_OP), OP(DAT_IB_QUERY_COUNTERS_OP), OP(DAT_IB_PRINT_COUNTERS_OP),
#undef OP
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (ops[i].op != op)
			continue;
		trace_put(text, "%s", ops[i].name);
		return;
	}
#endif
	trace_put(text, "0x%x", op);
}

const struct trace_api TRACE_API = { put_event, put_segments, put_target, put_op };
