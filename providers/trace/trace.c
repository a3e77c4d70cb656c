/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracing wrapper: writes down each DAT call on its way to another adapter, with its arguments
 * by name, its result, how long it took and who made it; as text, or as Chrome trace JSON, which
 * Perfetto opens. Its instance data:
 *
 *	NAME [file=FILE] [format=text|chrome] [polls=on|off]
 *
 * Invariant: a record is written when its call is over, on the thread of the call, and in one
 * piece.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

#define RECORD_MAX 4096

struct trace {
	struct datp_wrap base;
	struct trace_sink *sink;
	enum trace_format format;
	bool polls; /* whether dequeues of an empty queue are logged */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool trace_before(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	(void)wrap;
	call->scratch[0] = now_ns();
	return true;
}

/* One line of text: time, thread, call, result, duration. */
static size_t record_text(const struct datp_wrap_call *call, const char *ret, uint64_t from,
			  uint64_t took, char *record)
{
	struct trace_text text = { .at = record, .room = RECORD_MAX - 2 };

	trace_put(&text, "%" PRIu64 ".%06u %d/%d dat_%s(", from / 1000000000,
		  (unsigned int)(from / 1000 % 1000000), (int)getpid(), (int)gettid(),
		  datp_call_name(call->id));
	trace_print_args(&text, call);
	trace_put(&text, ") = %s <%" PRIu64 ".%03uus>", ret, took / 1000,
		  (unsigned int)(took % 1000));
	*text.at++ = '\n';
	return (size_t)(text.at - record);
}

/*
 * A complete event ("X") of the trace event format; if a record is too long, arguments are left
 * out, not its end.
 */
static size_t record_json(const struct datp_wrap *wrap, const struct datp_wrap_call *call,
			  const char *ret, uint64_t from, uint64_t took, char *record)
{
	char args[RECORD_MAX - 1024], beneath[DAT_NAME_MAX_LENGTH];
	struct trace_text text = { .at = args, .room = sizeof(args), .json = true };
	struct trace_text name = { .at = beneath, .room = sizeof(beneath) };
	char *end;

	trace_put_string(&name, wrap->beneath);
	trace_print_args(&text, call);
	if (text.room <= 1) {
		/* back to the end of an argument */
		end = strstr(args, "\", \"") ? args + sizeof(args) - 1 : args;
		while (end > args && strncmp(end, "\", \"", 4) != 0)
			end--;
		strcpy(end, end > args ? "\"" : "");
	}
	return (size_t)snprintf(record, RECORD_MAX,
				"{\"name\": \"dat_%s\", \"cat\": \"%s\", \"ph\": \"X\", "
				"\"ts\": %" PRIu64 ".%03u, \"dur\": %" PRIu64 ".%03u, "
				"\"pid\": %d, \"tid\": %d, "
				"\"args\": {%s%s\"result\": \"%s\"}}",
				datp_call_name(call->id), beneath, from / 1000,
				(unsigned int)(from % 1000), took / 1000,
				(unsigned int)(took % 1000), (int)getpid(), (int)gettid(), args,
				args[0] ? ", " : "", ret);
}

static void trace_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct trace *trace = (struct trace *)wrap;
	uint64_t now = now_ns(), from = call->scratch[0] ? call->scratch[0] : now;
	char record[RECORD_MAX], room[128];
	const char *ret;
	size_t len;

	if (!trace->polls && call->id == DATP_CALL_evd_dequeue &&
	    DAT_GET_TYPE(call->ret) == DAT_QUEUE_EMPTY)
		return;
	ret = trace_ret_name(call->ret, room, sizeof(room));
	if (trace->format == TRACE_TEXT)
		len = record_text(call, ret, from, now - from, record);
	else
		len = record_json(wrap, call, ret, from, now - from, record);
	trace_sink_write(trace->sink, record, len);
}

/* One word of the instance data. */
static bool option(struct trace *trace, const char *word, const char **file)
{
	if (!strncmp(word, "file=", 5))
		*file = word + 5;
	else if (!strcmp(word, "format=text"))
		trace->format = TRACE_TEXT;
	else if (!strcmp(word, "format=chrome"))
		trace->format = TRACE_CHROME;
	else if (!strcmp(word, "polls=on"))
		trace->polls = true;
	else if (!strcmp(word, "polls=off"))
		trace->polls = false;
	else
		return false;
	return true;
}

static enum datp_err trace_open(struct datp_wrap *wrap, const char *params)
{
	struct trace *trace = (struct trace *)wrap;
	char *copy = strdup(params), *rest = copy, *word;
	const char *file = "";
	enum datp_err err = DATP_ERR_PARAM;
	char why[512];

	if (!copy)
		return DATP_ERR_MEMORY;
	trace->polls = true;
	while ((word = strtok_r(rest, " \t", &rest))) {
		if (option(trace, word, &file))
			continue;
		datp_wrap_refuse("\"%s\" is not an option of a trace; the options are file=FILE, "
				 "format=text|chrome, polls=on|off",
				 word);
		goto free_copy;
	}
	if (trace->format == TRACE_CHROME && !*file) {
		datp_wrap_refuse("format=chrome needs a file; add file=FILE");
		goto free_copy;
	}
	trace->sink = trace_sink_open(file, trace->format, why, sizeof(why));
	err = trace->sink ? DATP_OK : DATP_ERR_DEVICE;
	if (err)
		datp_wrap_refuse("%s", why);
free_copy:
	free(copy);
	return err;
}

static void trace_close(struct datp_wrap *wrap)
{
	trace_sink_close(((struct trace *)wrap)->sink);
}

static const struct datp_wrap_ops trace_ops = {
	.wrap_size = sizeof(struct trace),
	.open = trace_open,
	.close = trace_close,
	.before = trace_before,
	.after = trace_after,
};

DATP_WRAPPER("trace", trace_ops)
