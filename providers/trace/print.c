/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a call and its arguments as text: NAME=VALUE, or "NAME": "VALUE" in JSON. Invariant: the
 * targets of OUT arguments are read only if the call succeeded, and no more of the caller's memory
 * is read than the call itself reads.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace.h"

#define SEGMENTS_SHOWN 4

void trace_put(struct trace_text *text, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->at, text->room, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= text->room)
		n = text->room ? (int)text->room - 1 : 0;
	text->at += n;
	text->room -= (size_t)n;
}

static void put_name(struct trace_text *text, const char *name)
{
	trace_put(text, text->json ? "%s\"%s\": \"" : "%s%s=", text->some ? ", " : "", name);
	text->some = true;
}

static void put_end(struct trace_text *text)
{
	if (text->json)
		trace_put(text, "\"");
}

/*
 * Appends a string that may have any characters, such as an adapter's name: those that could spoil
 * the record become "?".
 */
void trace_put_string(struct trace_text *text, const char *string)
{
	for (; string && *string; string++) {
		if ((unsigned char)*string < 0x20 || *string == '"' || *string == '\\' ||
		    (unsigned char)*string >= 0x7f)
			trace_put(text, "?");
		else
			trace_put(text, "%c", *string);
	}
}

const char *trace_ret_name(DAT_RETURN ret, char *room, size_t size)
{
	const char *type, *subtype;

	if (dat_strerror(ret, &type, &subtype) != DAT_SUCCESS) {
		snprintf(room, size, "0x%x", ret);
		return room;
	}
	if (!strcmp(subtype, "DAT_NO_SUBTYPE") || !*subtype)
		return type;
	snprintf(room, size, "%s %s", type, subtype);
	return room;
}

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
	default:
		return "?";
	}
#undef NAME
}

static void put_event(struct trace_text *text, const DAT_EVENT *event)
{
	const char *name = event_name(event->event_number);

	if (name)
		trace_put(text, "{%s", name);
	else
		trace_put(text, "{event 0x%x", event->event_number);
	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT: {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event->event_data.dto_completion_event_data;

		trace_put(text, " ep=%p cookie=0x%" PRIx64 " %s length=%" PRIu64, dto->ep_handle,
			  (uint64_t)dto->user_cookie.as_64, status_name(dto->status),
			  (uint64_t)dto->transfered_length);
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

static void put_segments(struct trace_text *text, const DAT_LMR_TRIPLET *iov, int n)
{
	trace_put(text, "[");
	for (int i = 0; iov && i < n && i < SEGMENTS_SHOWN; i++)
		trace_put(text, "%s{0x%x 0x%" PRIx64 "+%" PRIu64 "}", i ? " " : "",
			  iov[i].lmr_context, (uint64_t)iov[i].virtual_address,
			  (uint64_t)iov[i].segment_length);
	trace_put(text, n > SEGMENTS_SHOWN ? " ...]" : "]");
}

static void put_address(struct trace_text *text, const struct sockaddr *address)
{
	char words[INET6_ADDRSTRLEN] = "?";

	if (!address)
		trace_put(text, "(nil)");
	else if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, words,
			  sizeof(words));
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, words,
			  sizeof(words));
	if (address)
		trace_put(text, "%s", words);
}

static uint64_t word_at(const void *at, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, at, size);
	return word;
}

/* Appends the target of an OUT argument. The call has succeeded. */
static void put_out(struct trace_text *text, enum datp_arg_kind kind, const void *at)
{
	switch (kind) {
	case DATP_ARG_OUT_HANDLE:
		trace_put(text, "0x%" PRIx64, word_at(at, 8));
		break;
	case DATP_ARG_OUT_INT:
		trace_put(text, "%" PRId32, (int32_t)word_at(at, 4));
		break;
	case DATP_ARG_OUT_HEX32:
		trace_put(text, "0x%" PRIx64, word_at(at, 4));
		break;
	case DATP_ARG_OUT_U64:
		trace_put(text, "%" PRIu64, word_at(at, 8));
		break;
	case DATP_ARG_OUT_HEX64:
		trace_put(text, "0x%" PRIx64, word_at(at, 8));
		break;
	default:
		put_event(text, at);
	}
}

static void put_value(struct trace_text *text, const struct datp_wrap_call *call,
		      const struct datp_arg *args, int i)
{
	uint64_t word = call->arg[i];
	const void *at = (const void *)(uintptr_t)word;
	int n = i > 0 && args[i - 1].kind == DATP_ARG_INT ? (int32_t)call->arg[i - 1] : 1;

	switch (args[i].kind) {
	case DATP_ARG_INT:
		trace_put(text, "%" PRId32, (int32_t)word);
		break;
	case DATP_ARG_U64:
		trace_put(text, "%" PRIu64, word);
		break;
	case DATP_ARG_TIMEOUT:
		if ((uint32_t)word == DAT_TIMEOUT_INFINITE)
			trace_put(text, "infinite");
		else
			trace_put(text, "%" PRIu32 "us", (uint32_t)word);
		break;
	case DATP_ARG_STRING:
		trace_put_string(text, at);
		break;
	case DATP_ARG_ADDRESS:
		put_address(text, at);
		break;
	case DATP_ARG_IOV:
		/* if a call refused its arguments, the number may be wrong */
		put_segments(text, at, call->ret == DAT_SUCCESS ? n : 0);
		break;
	case DATP_ARG_TARGET:
		if (call->ret == DAT_SUCCESS && at)
			trace_put(text, "{0x%x 0x%" PRIx64 "+%" PRIu64 "}",
				  ((const DAT_RMR_TRIPLET *)at)->rmr_context,
				  (uint64_t)((const DAT_RMR_TRIPLET *)at)->target_address,
				  (uint64_t)((const DAT_RMR_TRIPLET *)at)->segment_length);
		break;
	case DATP_ARG_EVENT_IN:
		if (call->ret == DAT_SUCCESS && at)
			put_event(text, at);
		break;
	case DATP_ARG_OUT_HANDLE:
	case DATP_ARG_OUT_INT:
	case DATP_ARG_OUT_HEX32:
	case DATP_ARG_OUT_U64:
	case DATP_ARG_OUT_HEX64:
	case DATP_ARG_EVENT:
		if (call->ret == DAT_SUCCESS && at)
			put_out(text, args[i].kind, at);
		break;
	default:
		trace_put(text, "0x%" PRIx64, word);
	}
}

void trace_print_args(struct trace_text *text, const struct datp_wrap_call *call)
{
	const struct datp_arg *args;
	int n = datp_call_args(call->id, &args);

	for (int i = 0; i < n; i++) {
		put_name(text, args[i].name);
		put_value(text, call, args, i);
		put_end(text);
	}
}
