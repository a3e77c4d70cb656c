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

void trace_put(struct trace_text *text, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->at, text->left, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= text->left)
		n = text->left ? (int)text->left - 1 : 0;
	text->at += n;
	text->left -= (size_t)n;
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

const char *trace_ret_name(const struct datp_wrap *wrap, DAT_RETURN ret, char *buf, size_t size)
{
	const char *type, *subtype;

	if (datp_wrap_strerror(wrap, ret, &type, &subtype) != DAT_SUCCESS) {
		snprintf(buf, size, "0x%x", ret);
		return buf;
	}
	if (!strcmp(subtype, "DAT_NO_SUBTYPE") || !*subtype)
		return type;
	snprintf(buf, size, "%s %s", type, subtype);
	return buf;
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
static void put_out(struct trace_text *text, const struct trace_api *api, enum datp_arg_kind kind, const void *at)
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
		api->put_event(text, at);
	}
}

static void put_value(struct trace_text *text, const struct trace_api *api, const struct datp_wrap_call *call,
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
		api->put_segments(text, at, call->ret == DAT_SUCCESS ? n : 0);
		break;
	case DATP_ARG_TARGET:
		if (call->ret == DAT_SUCCESS && at)
			api->put_target(text, at);
		break;
	case DATP_ARG_EVENT_IN:
		if (call->ret == DAT_SUCCESS && at)
			api->put_event(text, at);
		break;
	case DATP_ARG_OUT_HANDLE:
	case DATP_ARG_OUT_INT:
	case DATP_ARG_OUT_HEX32:
	case DATP_ARG_OUT_U64:
	case DATP_ARG_OUT_HEX64:
	case DATP_ARG_EVENT:
		if (call->ret == DAT_SUCCESS && at)
			put_out(text, api, args[i].kind, at);
		break;
	default:
		trace_put(text, "0x%" PRIx64, word);
	}
}

void trace_print_args(struct trace_text *text, const struct datp_wrap *wrap, const struct datp_wrap_call *call)
{
	const struct trace_api *api = datp_wrap_major(wrap) == 2 ? &trace_api20 : &trace_api12;
	const struct datp_arg *args;
	int n = datp_wrap_args(wrap, call->id, &args);

	for (int i = 0; i < n; i++) {
		put_name(text, args[i].name);
		if (call->id == DATP_CALL_extension_op && i == 1)
			api->put_op(text, (unsigned int)call->arg[i]);
		else
			put_value(text, api, call, args, i);
		put_end(text);
	}
}
